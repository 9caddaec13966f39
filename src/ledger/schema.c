/* Schema: see schema.h. Never does I/O; the order of columns here is that of tables and JSON. */
#include "ledger/schema.h"

#include "ledger/ledger.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define INT(row, member, name)                                                                     \
    {                                                                                              \
        name, COLUMN_INT, offsetof(struct row, member), NULL, 0                                    \
    }
#define BOOL(row, member, name)                                                                    \
    {                                                                                              \
        name, COLUMN_BOOL, offsetof(struct row, member), NULL, 0                                   \
    }
#define TEXT_(row, member, name)                                                                   \
    {                                                                                              \
        name, COLUMN_TEXT, offsetof(struct row, member), NULL, 0                                   \
    }
#define JSON(row, member, name)                                                                    \
    {                                                                                              \
        name, COLUMN_JSON, offsetof(struct row, member), NULL, 0                                   \
    }
#define WORD(row, member, name, words)                                                             \
    {                                                                                              \
        name, COLUMN_INT, offsetof(struct row, member), words, COUNT_OF(words)                     \
    }

static const char *const kind_words[ROW_KIND_COUNT];

static const struct column meta[] = {
    TEXT_(row_meta, name, "name"),
    TEXT_(row_meta, value, "value"),
};

static const struct column lease[] = {
    TEXT_(row_lease, name, "name"),  TEXT_(row_lease, holder, "holder"),
    INT(row_lease, fence, "fence"),  INT(row_lease, beat, "beat"),
    INT(row_lease, ttl_ms, "ttlMs"),
};

static const struct column token[] = {
    TEXT_(row_token, hash, "hash"),     TEXT_(row_token, name, "name"),
    TEXT_(row_token, user, "user"),     TEXT_(row_token, ns, "namespace"),
    TEXT_(row_token, rights, "rights"), INT(row_token, until, "until"),
    INT(row_token, rev, "rev"),
};

static const struct column queue[] = {
    TEXT_(row_queue, name, "name"),     INT(row_queue, seq, "seq"),
    TEXT_(row_queue, parent, "parent"), WORD(row_queue, state, "state", queue_state_words),
    JSON(row_queue, spec, "spec"),      INT(row_queue, rev, "rev"),
};

static const struct column node[] = {
    TEXT_(row_node, name, "name"),
    INT(row_node, seq, "seq"),
    WORD(row_node, state, "state", node_state_words),
    BOOL(row_node, is_cordoned, "cordoned"),
    TEXT_(row_node, cordoned_by, "cordonedBy"),
    TEXT_(row_node, cordon_reason, "cordonReason"),
    INT(row_node, cordoned_at, "cordonedAt"),
    BOOL(row_node, is_draining, "draining"),
    TEXT_(row_node, disabled, "disabled"),
    INT(row_node, disabled_at, "disabledAt"),
    INT(row_node, generation, "generation"),
    INT(row_node, facts, "facts"),
    TEXT_(row_node, boot_id, "bootId"),
    JSON(row_node, offers, "offers"),
    JSON(row_node, labels, "labels"),
    JSON(row_node, taints, "taints"),
    JSON(row_node, agent_labels, "agentLabels"),
    JSON(row_node, set_labels, "setLabels"),
    JSON(row_node, images, "images"),
    TEXT_(row_node, identity, "identity"),
    JSON(row_node, info, "info"),
    TEXT_(row_node, address, "address"),
    INT(row_node, registered_at, "registeredAt"),
    INT(row_node, first_at, "firstAt"),
    INT(row_node, heard_at, "heardAt"),
    INT(row_node, ttl_ms, "ttlMs"),
    INT(row_node, beat_ms, "beatMs"),
    INT(row_node, rev, "rev"),
};

static const struct column beat[] = {
    TEXT_(row_beat, node, "node"),
    INT(row_beat, generation, "generation"),
    INT(row_beat, beat, "beat"),
    INT(row_beat, heard_at, "heardAt"),
};

static const struct column job[] = {
    INT(row_job, id, "id"),
    TEXT_(row_job, ns, "namespace"),
    TEXT_(row_job, name, "name"),
    TEXT_(row_job, user, "user"),
    TEXT_(row_job, queue, "queue"),
    INT(row_job, priority, "priority"),
    WORD(row_job, state, "state", job_state_words),
    BOOL(row_job, is_admitted, "admitted"),
    BOOL(row_job, is_held, "held"),
    BOOL(row_job, is_suspended, "suspended"),
    BOOL(row_job, is_degraded, "degraded"),
    WORD(row_job, stop_cause, "stopCause", cause_words),
    TEXT_(row_job, stop_by, "stopBy"),
    TEXT_(row_job, reason, "reason"),
    JSON(row_job, spec, "spec"),
    JSON(row_job, labels, "labels"),
    INT(row_job, version, "version"),
    INT(row_job, n_tasks, "nTasks"),
    INT(row_job, n_pending, "nPending"),
    INT(row_job, n_live, "nLive"),
    INT(row_job, n_running, "nRunning"),
    INT(row_job, n_succeeded, "nSucceeded"),
    INT(row_job, n_failed, "nFailed"),
    INT(row_job, n_cancelled, "nCancelled"),
    INT(row_job, code, "code"),
    INT(row_job, submitted_at, "submittedAt"),
    INT(row_job, started_at, "startedAt"),
    INT(row_job, ended_at, "endedAt"),
    INT(row_job, pending_at, "pendingAt"),
    INT(row_job, running_at, "runningAt"),
    INT(row_job, degraded_at, "degradedAt"),
    INT(row_job, rev, "rev"),
};

static const struct column task[] = {
    INT(row_task, job, "job"),   INT(row_task, grp, "group"),
    INT(row_task, idx, "index"), WORD(row_task, state, "state", task_state_words),
    INT(row_task, code, "code"), INT(row_task, rev, "rev"),
};

static const struct column attempt[] = {
    INT(row_attempt, job, "job"),
    INT(row_attempt, grp, "group"),
    INT(row_attempt, idx, "index"),
    INT(row_attempt, number, "number"),
    TEXT_(row_attempt, node, "node"),
    INT(row_attempt, generation, "generation"),
    WORD(row_attempt, state, "state", attempt_state_words),
    BOOL(row_attempt, is_stop_wanted, "stopWanted"),
    WORD(row_attempt, cause, "cause", cause_words),
    WORD(row_attempt, detail, "detail", detail_words),
    INT(row_attempt, grace_ms, "graceMs"),
    INT(row_attempt, code, "code"),
    INT(row_attempt, signal, "signal"),
    WORD(row_attempt, then, "then", then_words),
    INT(row_attempt, not_before, "notBefore"),
    INT(row_attempt, tries, "tries"),
    INT(row_attempt, evictions, "evictions"),
    JSON(row_attempt, timings, "timings"),
    JSON(row_attempt, peaks, "peaks"),
    TEXT_(row_attempt, message, "message"),
    TEXT_(row_attempt, decision, "decision"),
    INT(row_attempt, evicted_for, "evictedFor"),
    INT(row_attempt, bound_at, "boundAt"),
    INT(row_attempt, acked_at, "ackedAt"),
    INT(row_attempt, started_at, "startedAt"),
    INT(row_attempt, ended_at, "endedAt"),
    INT(row_attempt, rev, "rev"),
};

static const struct column idem[] = {
    TEXT_(row_idem, ns, "namespace"),  TEXT_(row_idem, key, "key"),
    TEXT_(row_idem, digest, "digest"), INT(row_idem, job, "job"),
    INT(row_idem, until, "until"),
};

static const struct column memo[] = {
    TEXT_(row_memo, name, "name"),
    TEXT_(row_memo, value, "value"),
    INT(row_memo, rev, "rev"),
};

static const struct column reservation[] = {
    INT(row_reservation, job, "job"),
    INT(row_reservation, id, "id"),
    WORD(row_reservation, purpose, "purpose", purpose_words),
    WORD(row_reservation, state, "state", reservation_state_words),
    WORD(row_reservation, why, "why", release_words),
    BOOL(row_reservation, is_used, "used"),
    TEXT_(row_reservation, reason, "reason"),
    TEXT_(row_reservation, decision, "decision"),
    INT(row_reservation, version, "version"),
    JSON(row_reservation, victims, "victims"),
    INT(row_reservation, ttl_ms, "ttlMs"),
    INT(row_reservation, until, "until"),
    INT(row_reservation, made_at, "madeAt"),
    INT(row_reservation, ended_at, "endedAt"),
    INT(row_reservation, taken_by, "takenBy"),
    INT(row_reservation, rev, "rev"),
};

static const struct column part[] = {
    INT(row_part, job, "job"),
    INT(row_part, grp, "group"),
    INT(row_part, idx, "index"),
    INT(row_part, reservation, "reservation"),
    TEXT_(row_part, node, "node"),
    WORD(row_part, state, "state", reservation_state_words),
    WORD(row_part, why, "why", release_words),
    JSON(row_part, waits, "waits"),
    INT(row_part, rev, "rev"),
};

static const struct column order[] = {
    TEXT_(row_order, key, "key"),
    TEXT_(row_order, pool, "pool"),
    JSON(row_order, shape, "shape"),
    INT(row_order, job, "job"),
    WORD(row_order, state, "state", order_state_words),
    TEXT_(row_order, provider, "provider"),
    TEXT_(row_order, reason, "reason"),
    INT(row_order, made_at, "madeAt"),
    INT(row_order, ended_at, "endedAt"),
    INT(row_order, rev, "rev"),
};

static const struct column quota[] = {
    TEXT_(row_quota, ns, "namespace"),
    TEXT_(row_quota, name, "name"),
    JSON(row_quota, hard, "hard"),
    INT(row_quota, rev, "rev"),
};

static const struct column event[] = {
    INT(row_event, rev, "rev"),           INT(row_event, at, "at"),
    TEXT_(row_event, type, "type"),       WORD(row_event, row_kind, "kind", kind_words),
    TEXT_(row_event, subject, "subject"), TEXT_(row_event, by, "by"),
    TEXT_(row_event, batch, "batch"),     INT(row_event, job, "job"),
    JSON(row_event, body, "body"),
};

#define KIND(kind, table, keys, sql)                                                               \
    [kind] = { #table, sizeof(struct row_##table), table, COUNT_OF(table), keys, 0, 0, 0, sql }

const struct kind schema[ROW_KIND_COUNT] = {
    KIND(ROW_META, meta, 1, NULL),
    KIND(ROW_LEASE, lease, 1, NULL),
    KIND(ROW_TOKEN, token, 1, NULL),
    KIND(ROW_QUEUE, queue, 1, NULL),
    KIND(ROW_NODE, node, 1, NULL),
    KIND(ROW_BEAT, beat, 1, NULL),
    KIND(ROW_JOB, job, 1,
         "CREATE INDEX job_live ON job (id) WHERE state < 3;"
         "CREATE INDEX job_ended ON job (endedAt) WHERE state >= 3;"),
    KIND(ROW_TASK, task, 3, NULL),
    [ROW_ATTEMPT] = { "attempt", sizeof(struct row_attempt), attempt, COUNT_OF(attempt), 4, 3, 6,
                      ATTEMPT_ENDED,
                      "CREATE INDEX attempt_node ON attempt (node) WHERE state < 4;" },
    KIND(ROW_IDEM, idem, 2,
         "CREATE INDEX idem_job ON idem (job);"
         "CREATE INDEX idem_until ON idem (until);"),
    KIND(ROW_MEMO, memo, 1, NULL),
    KIND(ROW_EVENT, event, 1, "CREATE INDEX event_job ON event (job) WHERE job > 0;"),
    [ROW_RESERVATION] = { "reservation", sizeof(struct row_reservation), reservation,
                          COUNT_OF(reservation), 2, 1, 3, RESERVATION_USED, NULL },
    [ROW_PART] = { "reservation_part", sizeof(struct row_part), part, COUNT_OF(part), 4, 3, 5,
                   RESERVATION_USED, NULL },
    [ROW_ORDER] = { "machine_order", sizeof(struct row_order), order, COUNT_OF(order), 1, 0, 0, 0,
                    NULL },
    KIND(ROW_QUOTA, quota, 2, NULL),
};

static const char *const kind_words[ROW_KIND_COUNT] = {
    [ROW_META] = "meta",
    [ROW_LEASE] = "lease",
    [ROW_TOKEN] = "token",
    [ROW_QUEUE] = "queue",
    [ROW_NODE] = "node",
    [ROW_BEAT] = "beat",
    [ROW_JOB] = "job",
    [ROW_TASK] = "task",
    [ROW_ATTEMPT] = "attempt",
    [ROW_IDEM] = "idem",
    [ROW_MEMO] = "memo",
    [ROW_EVENT] = "event",
    [ROW_RESERVATION] = "reservation",
    [ROW_PART] = "part",
    [ROW_ORDER] = "order",
    [ROW_QUOTA] = "quota",
};

_Static_assert(JOB_SUCCEEDED == 3 && ATTEMPT_ENDED == 4 && RESERVATION_USED == 1,
               "the indexes above name these");

/* ---- counted texts and rows ---- */

struct text {
    _Atomic uint32_t refs;
    char data[];
};

struct head {
    _Atomic uint64_t refs;
    struct row_note note;
    uint64_t filler; /* keeps the row behind it aligned for any type */
};
_Static_assert(sizeof(struct head) % _Alignof(max_align_t) == 0, "a row is aligned");

/* All empty texts are this one, which is never counted. */
static char empty[1];

static char *text_new(const char *from, size_t n)
{
    struct text *text;

    if (n == 0)
        return empty;
    text = mem_resize(NULL, sizeof(*text) + n + 1, 1);
    text->refs = 1;
    memcpy(text->data, from, n);
    text->data[n] = '\0';
    return text->data;
}

/* NOLINTNEXTLINE(readability-non-const-parameter) it is counted in front of the text */
static void text_ref(char *data)
{
    if (data != empty)
        atomic_fetch_add_explicit(&CONTAINER(data, struct text, data)->refs, 1,
                                  memory_order_relaxed);
}

static void text_unref(char *data)
{
    struct text *text;

    if (data == empty)
        return;
    text = CONTAINER(data, struct text, data);
    if (atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) == 1)
        mem_free(text);
}

static bool is_text(const struct column *column)
{
    return column->type == COLUMN_TEXT || column->type == COLUMN_JSON;
}

static char **text_at(const void *row, const struct column *column)
{
    return (char **)((char *)row + column->offset);
}

static struct head *head_of(const void *row)
{
    return (struct head *)((char *)row - sizeof(struct head));
}

static void *alloc_row(enum row_kind kind)
{
    struct head *head = mem_zero(1, sizeof(*head) + schema[kind].size);

    assert(schema[kind].columns);
    head->refs = 1;
    return head + 1;
}

void *row_new(enum row_kind kind)
{
    const struct kind *k = &schema[kind];
    void *row = alloc_row(kind);

    for (size_t i = 0; i < k->n_columns; i++)
        if (is_text(&k->columns[i]))
            *text_at(row, &k->columns[i]) = empty;
    return row;
}

void *row_copy(enum row_kind kind, const void *row)
{
    const struct kind *k = &schema[kind];
    void *copy = alloc_row(kind);

    memcpy(copy, row, k->size);
    for (size_t i = 0; i < k->n_columns; i++)
        if (is_text(&k->columns[i]))
            text_ref(*text_at(copy, &k->columns[i]));
    return copy;
}

void *row_ref(const void *row)
{
    if (row)
        atomic_fetch_add_explicit(&head_of(row)->refs, 1, memory_order_relaxed);
    return (void *)row;
}

void row_free(enum row_kind kind, void *row)
{
    const struct kind *k = &schema[kind];

    if (!row || atomic_fetch_sub_explicit(&head_of(row)->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < k->n_columns; i++)
        if (is_text(&k->columns[i]))
            text_unref(*text_at(row, &k->columns[i]));
    mem_free(head_of(row));
}

struct row_note *row_note(const void *row)
{
    return &head_of(row)->note;
}

void row_set(char **at, const char *text)
{
    char *was = *at;

    if (!text)
        text = "";
    if (strcmp(was, text) == 0)
        return;
    *at = text_new(text, strlen(text));
    text_unref(was);
}

int64_t row_int(const void *row, const struct column *column)
{
    return *(const int64_t *)((const char *)row + column->offset);
}

const char *row_text(const void *row, const struct column *column)
{
    return *text_at(row, column);
}

void row_put_int(void *row, const struct column *column, int64_t value)
{
    *(int64_t *)((char *)row + column->offset) = value;
}

void row_put_text(void *row, const struct column *column, const char *text, size_t n)
{
    char **at = text_at(row, column);

    text_unref(*at);
    *at = text_new(text, n);
}

static int cmp_column(const void *a, const void *b, const struct column *column)
{
    int64_t x, y;

    if (is_text(column))
        return strcmp(row_text(a, column), row_text(b, column));
    x = row_int(a, column);
    y = row_int(b, column);
    return (x > y) - (x < y);
}

int row_cmp(enum row_kind kind, const void *a, const void *b)
{
    const struct kind *k = &schema[kind];
    int r = 0;

    for (size_t i = 0; i < k->n_keys && r == 0; i++)
        r = cmp_column(a, b, &k->columns[i]);
    return r;
}

bool row_eq(enum row_kind kind, const void *a, const void *b)
{
    const struct kind *k = &schema[kind];

    for (size_t i = 0; i < k->n_columns; i++)
        if (cmp_column(a, b, &k->columns[i]) != 0)
            return false;
    return true;
}

/* ---- JSON out ---- */

static char *put_bytes(char *at, const char *from, size_t n)
{
    memcpy(at, from, n);
    return at + n;
}

static char *put_int(char *at, int64_t value)
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char digits[20], *first = digits + sizeof(digits);

    do
        *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *at++ = '-';
    return put_bytes(at, first, (size_t)(digits + sizeof(digits) - first));
}

/* Most bytes of a value: six for each of a text, if all of them have to be escaped. */
static size_t room_of(const struct column *column, size_t text_len)
{
    return (column->type == COLUMN_TEXT ? text_len * 6 : text_len) + 40;
}

/* Room was made, see room_of. */
static char *put_string(char *at, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";

    *at++ = '"';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            *at++ = '\\';
            *at++ = (char)c;
        } else if (c < 0x20) {
            at = put_bytes(at, "\\u00", 4);
            *at++ = hex[c >> 4];
            *at++ = hex[c & 15];
        } else {
            *at++ = (char)c;
        }
    }
    *at++ = '"';
    return at;
}

static char *put_value(char *at, const struct column *column, const void *row, size_t text_len)
{
    int64_t value;

    if (column->type == COLUMN_JSON)
        return put_bytes(at, row_text(row, column), text_len);
    if (column->type == COLUMN_TEXT)
        return put_string(at, row_text(row, column), text_len);
    value = row_int(row, column);
    if (column->type == COLUMN_BOOL)
        return value ? put_bytes(at, "true", 4) : put_bytes(at, "false", 5);
    if (column->words) {
        assert(value >= 0 && (size_t)value < column->n_words);
        return put_string(at, column->words[value], strlen(column->words[value]));
    }
    return put_int(at, value);
}

/* A state is said even where it is the first of its words; a cause that is none is not. */
static bool is_left_out(const struct column *column, const void *row)
{
    if (is_text(column))
        return row_text(row, column)[0] == '\0';
    return row_int(row, column) == 0 && (!column->words || column->words[0][0] == '\0');
}

/* About as much as the whole takes, so that it is made at once, and no larger than it must be: thousands of
 * them are kept. */
static size_t guess_size(const struct kind *k, const void *row)
{
    size_t n = 300;

    for (size_t i = 0; i < k->n_columns; i++)
        if (k->columns[i].type == COLUMN_JSON)
            n += strlen(row_text(row, &k->columns[i]));
    return n;
}

void row_to_json(enum row_kind kind, const void *row, struct str *out)
{
    const struct kind *k = &schema[kind];

    str_room(out, guess_size(k, row));
    str_add_char(out, '{');
    for (size_t i = 0; i < k->n_columns; i++) {
        const struct column *column = &k->columns[i];
        size_t n_name = strlen(column->name), n_text = 0;
        char *at, *start;

        if (i >= k->n_keys && is_left_out(column, row))
            continue;
        if (is_text(column))
            n_text = strlen(row_text(row, column));
        start = at = str_room(out, n_name + room_of(column, n_text));
        if (i > 0)
            *at++ = ',';
        at = put_string(at, column->name, n_name);
        *at++ = ':';
        at = put_value(at, column, row, n_text);
        out->len += (size_t)(at - start);
    }
    str_add_char(out, '}');
}

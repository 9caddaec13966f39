/* Readers: looks at what the store holds, each from a connection of its own. See ledger.h. */
#include "ledger/ledger.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "ledger/batch.h"
#include "ledger/inside.h"

struct reader {
    struct store *store;
    bool is_open; /* a look is */
};

int reader_open(struct ledger *ledger, struct reader **out, struct err *err)
{
    struct reader *reader = NEW0(struct reader);
    int r = store_open_reader(ledger->store, &reader->store, err);

    if (r < 0) {
        mem_free(reader);
        return r;
    }
    *out = reader;
    return 0;
}

void reader_close(struct reader *reader)
{
    if (!reader)
        return;
    reader_end(reader);
    store_close(reader->store);
    mem_free(reader);
}

int reader_begin(struct reader *reader, uint64_t *revision, struct err *err)
{
    int r = store_begin(reader->store, revision, err);

    reader->is_open = r >= 0;
    return r;
}

void reader_end(struct reader *reader)
{
    if (reader->is_open)
        store_rollback(reader->store);
    reader->is_open = false;
}

int reader_base(struct reader *reader, struct batch **out, struct err *err)
{
    return base_make(reader->store, out, err);
}

/* ---- one row ---- */

/* A row by a key of one text. */
static int get_named(struct reader *reader, enum row_kind kind, const char *name, void **out,
                     struct err *err)
{
    void *key = row_new(kind);
    int r;

    row_put_text(key, &schema[kind].columns[0], name, strlen(name));
    r = store_get(reader->store, kind, key, out, err);
    row_free(kind, key);
    return r;
}

int reader_job(struct reader *reader, uint64_t id, struct row_job **out, struct err *err)
{
    struct row_job *key = row_new(ROW_JOB);
    int r;

    key->id = id;
    r = store_get(reader->store, ROW_JOB, key, (void **)out, err);
    row_free(ROW_JOB, key);
    return r;
}

int reader_node(struct reader *reader, const char *name, struct row_node **out, struct err *err)
{
    return get_named(reader, ROW_NODE, name, (void **)out, err);
}

int reader_queue(struct reader *reader, const char *name, struct row_queue **out, struct err *err)
{
    return get_named(reader, ROW_QUEUE, name, (void **)out, err);
}

static int64_t max_limit_of(const struct row_queue *queue)
{
    json_t *spec = *queue->spec ? json_loads(queue->spec, 0, NULL) : NULL;
    int64_t ms = json_integer_value(json_object_get(spec, "maxLimit"));

    json_decref(spec);
    return ms;
}

/* Reads a queue, yours, and goes on to the one above it; 1: there is none of that name. */
static int read_up(struct reader *reader, char **name, struct row_queue **out, struct err *err)
{
    int r;

    if (!**name)
        return READER_NONE;
    r = reader_queue(reader, *name, out, err);
    if (r != 0)
        return r;
    mem_free(*name);
    *name = text_copy((*out)->parent);
    return 0;
}

int reader_closed(struct reader *reader, const char *name, struct row_queue **closed,
                  struct err *err)
{
    CLEANUP(freep) char *next = text_copy(name);
    int r = 0;

    *closed = NULL;
    for (size_t i = 0; i <= QUEUE_DEPTH_MAX && !*closed; i++) {
        struct row_queue *queue = NULL;

        r = read_up(reader, &next, &queue, err);
        if (r != 0)
            break;
        if (queue->state != QUEUE_OPEN)
            *closed = queue;
        else
            row_free(ROW_QUEUE, queue);
    }
    return r < 0 ? r : 0;
}

int reader_max_limit(struct reader *reader, const char *name, int64_t *most_ms, char **whose,
                     struct err *err)
{
    CLEANUP(freep) char *next = text_copy(name);
    int r = 0;

    *most_ms = 0;
    *whose = NULL;
    for (size_t i = 0; i <= QUEUE_DEPTH_MAX; i++) {
        struct row_queue *queue = NULL;
        int64_t ms;

        r = read_up(reader, &next, &queue, err);
        if (r != 0)
            break;
        ms = max_limit_of(queue);
        if (ms && (!*most_ms || ms < *most_ms)) {
            mem_free(*whose);
            *whose = text_copy(queue->name);
            *most_ms = ms;
        }
        row_free(ROW_QUEUE, queue);
    }
    return r < 0 ? r : 0;
}

int reader_order(struct reader *reader, const char *key, struct row_order **out, struct err *err)
{
    return get_named(reader, ROW_ORDER, key, (void **)out, err);
}

int reader_token(struct reader *reader, const char *hash, struct row_token **out, struct err *err)
{
    return get_named(reader, ROW_TOKEN, hash, (void **)out, err);
}

int reader_lease(struct reader *reader, const char *name, struct row_lease **out, struct err *err)
{
    return get_named(reader, ROW_LEASE, name, (void **)out, err);
}

static struct row_attempt *attempt_key_row(const struct attempt_key *key)
{
    struct row_attempt *row = row_new(ROW_ATTEMPT);

    row->job = key->job;
    row->grp = key->group;
    row->idx = key->index;
    row->number = key->number;
    return row;
}

int reader_attempt(struct reader *reader, const struct attempt_key *key, struct row_attempt **out,
                   struct err *err)
{
    struct row_attempt *row = attempt_key_row(key);
    int r = store_get(reader->store, ROW_ATTEMPT, row, (void **)out, err);

    row_free(ROW_ATTEMPT, row);
    return r;
}

/* ---- jobs ---- */

struct jobs {
    const struct job_filter *filter;
    row_fn *fn;
    void *arg;
    size_t n;
};

/* Whether a job's labels have the key with the value. */
static bool has_label(const struct row_job *job, const char *key, const char *value)
{
    json_t *labels = json_loads(job->labels, 0, NULL);
    const char *has = json_string_value(json_object_get(labels, key));
    bool is_so = has && (!value || strcmp(has, value) == 0);

    json_decref(labels);
    return is_so;
}

static int pass_job(const void *row, void *arg)
{
    struct jobs *jobs = arg;
    const struct job_filter *filter = jobs->filter;
    const struct row_job *job = row;
    int r;

    if (filter->since && job->submitted_at < filter->since && job->ended_at < filter->since)
        return 0;
    if (filter->label_key && !has_label(job, filter->label_key, filter->label_value))
        return 0;
    r = jobs->fn(row, jobs->arg);
    return r == 0 && ++jobs->n == filter->limit ? 1 : r;
}

int reader_jobs(struct reader *reader, const struct job_filter *filter, row_fn *fn, void *arg,
                struct err *err)
{
    struct store_query query = { .kind = ROW_JOB, .is_backward = true };
    struct jobs jobs = { filter, fn, arg, 0 };
    const struct {
        const char *column, *text;
    } texts[] = { { "namespace", filter->ns },
                  { "user", filter->user },
                  { "queue", filter->queue },
                  { "name", filter->name } };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].text)
            store_where_text(&query, texts[i].column, texts[i].text);
    if (filter->states)
        store_where(&query, "state", STORE_IN, filter->states);
    if (filter->before_id)
        store_where(&query, "id", STORE_LT, (int64_t)filter->before_id);
    return store_find(reader->store, &query, pass_job, &jobs, err);
}

/* ---- attempts and tasks ---- */

int reader_attempts(struct reader *reader, uint64_t job, const struct attempt_key *after,
                    size_t limit, row_fn *fn, void *arg, struct err *err)
{
    struct row_attempt *row = after ? attempt_key_row(after) : NULL;
    struct store_query query = { .kind = ROW_ATTEMPT, .after = row, .limit = limit };
    int r;

    store_where(&query, "job", STORE_EQ, (int64_t)job);
    r = store_find(reader->store, &query, fn, arg, err);
    row_free(ROW_ATTEMPT, row);
    return r;
}

struct lasts {
    struct row_attempt *held; /* the last so far of its task */
    row_fn *fn;
    void *arg;
    size_t n, limit;
};

static int pass_held(struct lasts *lasts)
{
    int r = lasts->fn(lasts->held, lasts->arg);

    return r == 0 && ++lasts->n == lasts->limit ? 1 : r;
}

static int pass_last(const void *row, void *arg)
{
    struct lasts *lasts = arg;
    const struct row_attempt *attempt = row, *held = lasts->held;
    int r = 0;

    if (held && (held->grp != attempt->grp || held->idx != attempt->idx))
        r = pass_held(lasts);
    row_free(ROW_ATTEMPT, lasts->held);
    lasts->held = r == 0 ? row_ref(row) : NULL;
    return r;
}

int reader_last_attempts(struct reader *reader, uint64_t job, const struct attempt_key *after,
                         size_t limit, row_fn *fn, void *arg, struct err *err)
{
    struct attempt_key behind = after ? *after : (struct attempt_key){ 0 };
    struct lasts lasts = { .fn = fn, .arg = arg, .limit = limit };
    int r;

    behind.number = UINT32_MAX; /* behind all tries of that task */
    r = reader_attempts(reader, job, after ? &behind : NULL, 0, pass_last, &lasts, err);
    if (r >= 0 && lasts.held)
        r = pass_held(&lasts);
    row_free(ROW_ATTEMPT, lasts.held);
    return r < 0 ? r : 0;
}

static int read_of_job(struct reader *reader, enum row_kind kind, uint64_t job, row_fn *fn,
                       void *arg, struct err *err)
{
    struct store_query query = { .kind = kind };

    store_where(&query, "job", STORE_EQ, (int64_t)job);
    return store_find(reader->store, &query, fn, arg, err);
}

int reader_ended_tasks(struct reader *reader, uint64_t job, row_fn *fn, void *arg, struct err *err)
{
    return read_of_job(reader, ROW_TASK, job, fn, arg, err);
}

int reader_reservations(struct reader *reader, uint64_t job, row_fn *fn, void *arg, struct err *err)
{
    return read_of_job(reader, ROW_RESERVATION, job, fn, arg, err);
}

int reader_parts(struct reader *reader, uint64_t job, row_fn *fn, void *arg, struct err *err)
{
    return read_of_job(reader, ROW_PART, job, fn, arg, err);
}

int reader_node_attempts(struct reader *reader, const char *node, row_fn *fn, void *arg,
                         struct err *err)
{
    struct store_query query = { .kind = ROW_ATTEMPT };

    store_where_text(&query, "node", node);
    store_where(&query, "state", STORE_LT, ATTEMPT_ENDED);
    return store_find(reader->store, &query, fn, arg, err);
}

/* ---- all of a kind ---- */

static int read_all(struct reader *reader, enum row_kind kind, row_fn *fn, void *arg,
                    struct err *err)
{
    return store_find(reader->store, &(struct store_query){ .kind = kind }, fn, arg, err);
}

int reader_nodes(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_NODE, fn, arg, err);
}

int reader_queues(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_QUEUE, fn, arg, err);
}

int reader_quotas(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_QUOTA, fn, arg, err);
}

int reader_tokens(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_TOKEN, fn, arg, err);
}

int reader_orders(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_ORDER, fn, arg, err);
}

int reader_beats(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_BEAT, fn, arg, err);
}

int reader_beat(struct reader *reader, const char *node, struct row_beat **out, struct err *err)
{
    return get_named(reader, ROW_BEAT, node, (void **)out, err);
}

int reader_memos(struct reader *reader, row_fn *fn, void *arg, struct err *err)
{
    return read_all(reader, ROW_MEMO, fn, arg, err);
}

static int read_oldest(struct reader *reader, uint64_t *oldest, struct err *err)
{
    struct row_meta *row = NULL;
    int64_t number = 1;
    int r = get_named(reader, ROW_META, "oldest", (void **)&row, err);

    if (r == 0 && text_to_int(row->value, 1, INT64_MAX, &number) < 0)
        r = err_set(err, -EBADMSG, "meta oldest is \"%s\"", row->value);
    row_free(ROW_META, row);
    if (r >= 0)
        *oldest = (uint64_t)number;
    return r < 0 ? r : 0;
}

int reader_events(struct reader *reader, uint64_t after, size_t limit, uint64_t *oldest, row_fn *fn,
                  void *arg, struct err *err)
{
    struct store_query query = { .kind = ROW_EVENT, .limit = limit };
    int r = read_oldest(reader, oldest, err);

    if (r < 0 || after + 1 < *oldest)
        return r;
    store_where(&query, "rev", STORE_GT, (int64_t)after);
    return store_find(reader->store, &query, fn, arg, err);
}

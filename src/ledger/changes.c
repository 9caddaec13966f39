/* Changes: see changes.h. */
#include "ledger/changes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "ledger/batch.h"

void changes_begin(struct changes *changes, struct mirror *mirror, const char *batch, int64_t now)
{
    static _Atomic uint64_t last;
    uint64_t number = ++last;

    *changes = (struct changes){ .mirror = mirror,
                                 .revision = mirror->revision,
                                 .number = number,
                                 .batch = batch,
                                 .by = "",
                                 .now = now };
}

static void change_fini(struct change *change)
{
    row_free(change->undo.kind, change->last);
    mirror_undo_fini(&change->undo);
    mem_free(change->subject);
    mem_free(change->by);
    mem_free(change->body);
    job_spec_free(change->spec);
}

void changes_take_back(struct changes *changes, size_t n)
{
    while (changes->list.n > n) {
        struct change *change = &changes->list.at[--changes->list.n];
        const struct row_note *note = change->undo.was ? row_note(change->undo.was) : NULL;

        if (note && note->batch == changes->number)
            changes->list.at[note->entry].is_superseded = false;
        if (change->rev)
            changes->revision = change->rev - 1;
        mirror_take_back(changes->mirror, &change->undo);
        change_fini(change);
    }
}

void changes_settle(struct changes *changes)
{
    changes->mirror->revision = changes->revision;
    mirror_settle(changes->mirror);
    changes->mirror = NULL;
}

void changes_fini(struct changes *changes)
{
    if (changes->mirror)
        changes_take_back(changes, 0);
    VEC_EACH (change, &changes->list)
        change_fini(change);
    VEC_FINI(&changes->list);
    VEC_FINI(&changes->retired);
}

/* ---- what an event is about ---- */

static char *task_subject(const struct changes *changes, uint64_t id, int64_t grp, int64_t idx,
                          int64_t number)
{
    const struct mirror_job *job = mirror_job(changes->mirror, id);
    char name[NAME_ATTEMPT_SIZE];

    if (number)
        name_attempt(id, job->groups[grp].name, (uint32_t)idx, (uint32_t)number, name);
    else
        name_task(id, job->groups[grp].name, (uint32_t)idx, name);
    return text_copy(name);
}

static char *subject_of(const struct changes *changes, enum row_kind kind, const void *row)
{
    const struct row_attempt *attempt = row;
    const struct row_task *task = row;
    const struct row_job *job = row;
    const struct row_token *token = row;
    const struct row_quota *quota = row;
    char name[NAME_ATTEMPT_SIZE];

    if (kind == ROW_ATTEMPT)
        return task_subject(changes, attempt->job, attempt->grp, attempt->idx, attempt->number);
    if (kind == ROW_TASK || kind == ROW_PART)
        return task_subject(changes, task->job, task->grp, task->idx, 0);
    if (kind == ROW_RESERVATION) {
        name_job(*(const uint64_t *)row, name);
        return text_copy(name);
    }
    if (kind == ROW_JOB) {
        name_job(job->id, name);
        return text_copy(name);
    }
    if (kind == ROW_TOKEN)
        return text_copy(token->name);
    if (kind == ROW_QUOTA)
        return text_format("%s/%s", quota->ns, quota->name);
    return text_copy(row_text(row, &schema[kind].columns[0]));
}

static uint64_t job_of(enum row_kind kind, const void *row)
{
    if (kind == ROW_JOB || kind == ROW_TASK || kind == ROW_ATTEMPT || kind == ROW_RESERVATION ||
        kind == ROW_PART)
        return *(const uint64_t *)row; /* their first column */
    return 0;
}

static void set_rev(enum row_kind kind, void *row, uint64_t rev)
{
    const struct column *last = &schema[kind].columns[schema[kind].n_columns - 1];

    if (strcmp(last->name, "rev") == 0)
        row_put_int(row, last, (int64_t)rev);
}

static void fill_event(struct changes *changes, struct change *change, void *row, const char *type)
{
    struct str body = { 0 };

    row_to_json(change->undo.kind, row, &body);
    change->rev = changes->revision;
    change->type = type;
    change->by = text_copy(changes->by);
    change->subject = subject_of(changes, change->undo.kind, row);
    change->job = job_of(change->undo.kind, row);
    change->body = str_take(&body);
}

/* Notes on the row which change has it, and marks the one that had it before. */
static void note_row(struct changes *changes, struct change *change)
{
    const void *was = change->undo.was;

    if (was && row_note(was)->batch == changes->number)
        changes->list.at[row_note(was)->entry].is_superseded = true;
    if (change->undo.now)
        *row_note(change->undo.now) =
            (struct row_note){ changes->number, (size_t)(change - changes->list.at) };
}

static void put(struct changes *changes, enum row_kind kind, void *row, const struct job_spec *spec,
                const char *type)
{
    struct change *change = VEC_ADD(&changes->list);
    struct err err = { 0 };
    int r;

    if (type)
        set_rev(kind, row, ++changes->revision);
    r = mirror_put(changes->mirror, kind, row, spec, &change->undo, &err);
    assert(r == 0); /* the judge looked */
    (void)r;
    if (type)
        fill_event(changes, change, row, type);
    if (spec)
        change->spec = job_spec_ref(spec);
    note_row(changes, change);
    row_free(kind, row); /* the mirror and the undo have their own */
}

void changes_put(struct changes *changes, enum row_kind kind, void *row, const char *type)
{
    put(changes, kind, row, NULL, type);
}

void changes_put_job(struct changes *changes, struct row_job *row, const struct job_spec *spec,
                     const char *type)
{
    put(changes, ROW_JOB, row, spec, type);
}

void changes_put_quiet(struct changes *changes, enum row_kind kind, void *row)
{
    put(changes, kind, row, NULL, NULL);
}

void changes_del(struct changes *changes, enum row_kind kind, void *row, const char *type)
{
    struct change *change = VEC_ADD(&changes->list);

    set_rev(kind, row, ++changes->revision);
    mirror_del(changes->mirror, kind, row, &change->undo);
    fill_event(changes, change, row, type);
    note_row(changes, change);
    change->last = row;
}

void changes_del_quiet(struct changes *changes, enum row_kind kind, const void *row)
{
    struct change *change = VEC_ADD(&changes->list);

    mirror_del(changes->mirror, kind, row, &change->undo);
    note_row(changes, change);
}

/* ---- into the store ---- */

static int write_event(const struct changes *changes, const struct change *change,
                       struct store *store, struct err *err)
{
    struct row_event *event = row_new(ROW_EVENT);
    int r;

    event->rev = change->rev;
    event->at = changes->now;
    row_set(&event->type, change->type);
    event->row_kind = change->undo.kind;
    row_set(&event->subject, change->subject);
    row_set(&event->by, change->by);
    row_set(&event->batch, changes->batch);
    event->job = change->job;
    row_set(&event->body, change->body);
    r = store_put(store, ROW_EVENT, event, err);
    row_free(ROW_EVENT, event);
    return r;
}

static int erase_job(struct store *store, enum row_kind kind, const char *column, uint64_t job,
                     struct err *err)
{
    struct store_query query = { .kind = kind };

    store_where(&query, column, STORE_EQ, (int64_t)job);
    return store_erase(store, &query, err);
}

static int write_retired(const struct changes *changes, struct store *store, struct err *err)
{
    static const struct {
        enum row_kind kind;
        const char *column;
    } parts[] = { { ROW_ATTEMPT, "job" },     { ROW_TASK, "job" }, { ROW_PART, "job" },
                  { ROW_RESERVATION, "job" }, { ROW_IDEM, "job" }, { ROW_EVENT, "job" },
                  { ROW_JOB, "id" } };
    int r = 0;

    for (size_t at = 0; at < changes->retired.n; at++)
        for (size_t i = 0; i < COUNT_OF(parts) && r >= 0; i++)
            r = erase_job(store, parts[i].kind, parts[i].column, changes->retired.at[at], err);
    if (r >= 0 && changes->forgets_keys) {
        struct store_query query = { .kind = ROW_IDEM };
        store_where(&query, "until", STORE_LT, changes->now);
        r = store_erase(store, &query, err);
    }
    return r;
}

int changes_write(const struct changes *changes, struct store *store, struct err *err)
{
    int r;

    for (size_t i = 0; i < changes->list.n; i++) {
        const struct change *change = &changes->list.at[i];
        enum row_kind kind = change->undo.kind;
        if (!change->undo.now) {
            r = store_del(store, kind, change->undo.was, err);
        } else {
            r = change->is_superseded ? 0 : store_put(store, kind, change->undo.now, err);
        }
        if (r >= 0 && change->rev)
            r = write_event(changes, change, store, err);
        if (r < 0)
            return r;
    }
    return write_retired(changes, store, err);
}

static bool is_attempt(const struct row_attempt *row, const struct attempt_key *key)
{
    return row->job == key->job && row->grp == key->group && row->idx == key->index &&
           row->number == key->number;
}

const struct row_attempt *changes_attempt(const struct changes *changes,
                                          const struct attempt_key *key)
{
    for (size_t i = changes->list.n; i-- > 0;) {
        const struct change *change = &changes->list.at[i];
        if (change->undo.kind == ROW_ATTEMPT && is_attempt(change->undo.now, key))
            return change->undo.now;
    }
    return NULL;
}

static size_t count_events(const struct changes *changes)
{
    size_t n = 0;

    for (size_t i = 0; i < changes->list.n; i++)
        n += changes->list.at[i].rev != 0;
    return n;
}

struct batch *changes_publish(struct changes *changes)
{
    struct batch *batch = batch_new(changes->revision, count_events(changes));
    size_t n = 0;

    for (size_t i = 0; i < changes->list.n; i++) {
        struct change *change = &changes->list.at[i];
        struct batch_event *event;
        if (change->rev == 0)
            continue;
        event = batch_event(batch, n++);
        event->rev = change->rev;
        event->at = changes->now;
        event->type = change->type;
        event->subject = batch_text(batch, change->subject);
        event->by = batch_text(batch, change->by);
        event->body = batch_take(batch, TAKE(change->body));
        event->spec = change->spec ? job_spec_ref(change->spec) : NULL;
        event->is_deleted = !change->undo.now;
        batch_event_row(event, change->undo.kind,
                        event->is_deleted ? change->last : change->undo.now);
    }
    return batch;
}

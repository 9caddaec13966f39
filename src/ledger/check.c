/*
 * The history checker: see check.h. It folds the events into a memory store, row by row; before
 * a row is replaced, old and new are held against each other and against what is worked out
 * here: which task has which attempt, how much of each node is used. Nothing here is the
 * mirror's or the judge's.
 */
#include "ledger/check.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/check_inside.h"
#include "ledger/inside.h"

void check_find(struct check *c, const char *fmt, ...)
{
    struct ledger_report *report = c->report;
    char text[180];
    va_list args;

    if (report->n_findings++ >= LEDGER_FINDINGS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(report->findings[report->n_findings - 1], sizeof(report->findings[0]),
             "event %" PRIu64 ", %.40s: %s", c->rev, c->subject, text);
}

/* ---- nodes: invariant 1 ---- */

static struct use *use_of(struct seen_node *node, const char *resource)
{
    struct use *use;

    for (size_t i = 0; i < node->uses.n; i++)
        if (strcmp(node->uses.at[i].resource, resource) == 0)
            return &node->uses.at[i];
    use = VEC_ADD(&node->uses);
    use->resource = text_copy(resource);
    return use;
}

static void see_node(struct check *c, const struct row_node *was, const struct row_node *row)
{
    struct seen_node *node = map_get(&c->nodes, row->name);
    json_t *offers = json_loads(row->offers, 0, NULL), *value;
    const char *resource;

    if (!node) {
        node = NEW0(struct seen_node);
        node->name = text_copy(row->name);
        map_put(&c->nodes, node->name, node);
    }
    for (size_t i = 0; i < node->uses.n; i++)
        node->uses.at[i].is_offered = false;
    json_object_foreach(offers, resource, value)
    {
        struct use *use = use_of(node, resource);
        use->offered = json_integer_value(value);
        use->is_offered = true;
    }
    json_decref(offers);
    if (was && (row->generation < was->generation || row->facts < was->facts))
        check_find(c, "generation or facts of the node went back");
    if (was && row->generation > was->generation + 1)
        check_find(c, "a registration left generations out");
}

static void check_room(struct check *c, const struct seen_node *node)
{
    for (size_t i = 0; i < node->uses.n; i++) {
        const struct use *use = &node->uses.at[i];
        int64_t offered = use->is_offered ? use->offered : 0;
        if (strcmp(use->resource, "pods") == 0 && !use->is_offered)
            continue;
        if (use->used > offered)
            check_find(c, "binds %" PRId64 " of %s on a node that offers %" PRId64, use->used,
                       use->resource, offered);
    }
}

static void move_use(struct check *c, const struct row_attempt *row, const struct job_spec *spec,
                     int sign)
{
    struct seen_node *node = map_get(&c->nodes, row->node);
    const struct job_group *group = &spec->groups[row->grp];

    if (!node) {
        check_find(c, "is on a node %s that never registered", row->node);
        return;
    }
    for (size_t i = 0; i < group->holds.n; i++)
        if (strcmp(group->holds.at[i].resource, "pods") != 0 && group->holds.at[i].value)
            use_of(node, group->holds.at[i].resource)->used += sign * group->holds.at[i].value;
    use_of(node, "pods")->used += sign * 1000;
    if (sign < 0)
        return;
    check_room(c, node);
    check_held_room(c, node, row);
}

static void check_node_takes(struct check *c, const struct row_attempt *row)
{
    struct row_node *key = row_new(ROW_NODE), *node = NULL;

    row_set(&key->name, row->node);
    if (store_get(c->fold, ROW_NODE, key, (void **)&node, c->err) == 0) {
        if (node->state != NODE_READY || row_node_is_closed(node))
            check_find(c, "is bound to %s, which takes no work", row->node);
        if (row->generation != node->generation)
            check_find(c, "is bound to another generation of %s", row->node);
    }
    row_free(ROW_NODE, node);
    row_free(ROW_NODE, key);
}

/* ---- jobs and their tasks: invariants 2, 3, 5, 7, 10 ---- */

static struct seen_job *job_of(struct check *c, uint64_t id, int64_t grp, int64_t idx)
{
    struct seen_job *job = map_get_int(&c->jobs, id);

    if (job && grp >= 0 && (size_t)grp < job->spec->n_groups && idx >= 0 &&
        idx < job->spec->groups[grp].replicas)
        return job;
    check_find(c, "is of no task that was submitted and is not over");
    return NULL;
}

uint32_t check_task_at(const struct seen_job *job, int64_t grp, int64_t idx)
{
    uint32_t at = (uint32_t)idx;

    for (int64_t g = 0; g < grp; g++)
        at += job->spec->groups[g].replicas;
    return at;
}

static void seen_job_free(struct seen_job *job)
{
    job_spec_free(job->spec);
    mem_free(job->queue);
    mem_free(job->ns);
    mem_free(job->numbers);
    mem_free(job->is_live);
    mem_free(job->group_met);
    mem_free(job->group_lost);
    mem_free(job);
}

static void move_task(struct seen_job *job, int64_t grp, enum task_state from, enum task_state to)
{
    job->counts[from]--;
    job->counts[to]++;
    job->group_met[grp] -= from == TASK_LIVE || from == TASK_SUCCEEDED;
    job->group_met[grp] += to == TASK_LIVE || to == TASK_SUCCEEDED;
    job->group_lost[grp] += to == TASK_FAILED || to == TASK_CANCELLED;
}

static void check_bind(struct check *c, struct seen_job *job, const struct row_attempt *row)
{
    uint32_t at = check_task_at(job, row->grp, row->idx);

    if (job->is_live[at])
        check_find(c, "its task has a live attempt");
    if (row->number != job->numbers[at] + 1)
        check_find(c, "its number follows %u", job->numbers[at]);
    if (row->state != ATTEMPT_BOUND)
        check_find(c, "it begins as %s", attempt_state_words[row->state]);
    check_node_takes(c, row);
    job->numbers[at] = (uint32_t)row->number;
    job->is_live[at] = true;
    move_task(job, row->grp, TASK_PENDING, TASK_LIVE);
    move_use(c, row, job->spec, 1);
    check_queue_use(c, job, row->grp, 1);
    check_namespace_use(c, job, row->grp, 1);
}

static void check_end(struct check *c, struct seen_job *job, const struct row_attempt *row)
{
    static const enum task_state after[THEN_COUNT] = {
        [THEN_AGAIN] = TASK_PENDING,
        [THEN_SUCCEEDED] = TASK_SUCCEEDED,
        [THEN_FAILED] = TASK_FAILED,
        [THEN_CANCELLED] = TASK_CANCELLED,
    };

    job->is_live[check_task_at(job, row->grp, row->idx)] = false;
    if (row->then == THEN_NONE || row->cause == CAUSE_NONE)
        check_find(c, "it ended without cause or consequence");
    else
        move_task(job, row->grp, TASK_LIVE, after[row->then]);
    if (row->cause == CAUSE_EVICTED && !row->evicted_for && !*row->message)
        check_find(c, "it was evicted for nobody and nothing");
    move_use(c, row, job->spec, -1);
    check_queue_use(c, job, row->grp, -1);
    check_namespace_use(c, job, row->grp, -1);
}

static void check_step(struct check *c, const struct row_attempt *was,
                       const struct row_attempt *row)
{
    if (was->state == ATTEMPT_ENDED)
        check_find(c, "it had ended");
    if (row->state < was->state || (was->state == ATTEMPT_BOUND && row->state == ATTEMPT_RUNNING))
        check_find(c, "it went from %s to %s", attempt_state_words[was->state],
                   attempt_state_words[row->state]);
    if (was->is_stop_wanted && !row->is_stop_wanted)
        check_find(c, "a stop was forgotten");
    if (strcmp(was->node, row->node) != 0)
        check_find(c, "it moved from %s to %s", was->node, row->node);
}

static void see_attempt(struct check *c, const struct row_attempt *was,
                        const struct row_attempt *row)
{
    struct seen_job *job = job_of(c, row->job, row->grp, row->idx);

    if (!job)
        return;
    if (!was)
        check_bind(c, job, row);
    else
        check_step(c, was, row);
    if (row->state == ATTEMPT_ENDED && (!was || was->state != ATTEMPT_ENDED))
        check_end(c, job, row);
}

static void see_task(struct check *c, const struct row_task *was, const struct row_task *row)
{
    struct seen_job *job = job_of(c, row->job, row->grp, row->idx);

    if (!job)
        return;
    if (was)
        check_find(c, "the task had ended");
    else if (job->is_live[check_task_at(job, row->grp, row->idx)])
        check_find(c, "the task ended while an attempt is live");
    else
        move_task(job, row->grp, TASK_PENDING, (enum task_state)row->state);
}

static void add_job(struct check *c, const struct row_job *row)
{
    struct seen_job *job = NEW0(struct seen_job);
    struct err err = { 0 };

    if (job_spec_from_canonical(row->spec, &job->spec, &err) < 0) {
        check_find(c, "its spec cannot be read: %s", err.text);
        mem_free(job);
        return;
    }
    job->queue = text_copy(row->queue);
    job->ns = text_copy(row->ns);
    job->numbers = NEW0_N(uint32_t, job->spec->n_tasks);
    job->is_live = NEW0_N(bool, job->spec->n_tasks);
    job->group_met = NEW0_N(uint32_t, job->spec->n_groups);
    job->group_lost = NEW0_N(uint32_t, job->spec->n_groups);
    job->counts[TASK_PENDING] = job->spec->n_tasks;
    map_put_int(&c->jobs, row->id, job);
    check_queue_limit(c, job, true, 0);
}

static void see_limit(struct check *c, struct seen_job *job, const struct row_job *row)
{
    int64_t was_ms = job->spec->limit_ms;
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct err err = { 0 };

    if (job_spec_from_canonical(row->spec, &spec, &err) < 0) {
        check_find(c, "its spec cannot be read: %s", err.text);
        return;
    }
    job->spec->limit_ms = spec->limit_ms;
    check_queue_limit(c, job, false, was_ms);
}

static bool is_short(uint32_t met, uint32_t minimum, uint32_t n, uint32_t lost)
{
    uint32_t most = n - lost;

    return met < (minimum < most ? minimum : most);
}

static void check_gang(struct check *c, const struct seen_job *job)
{
    if (is_short(job->counts[TASK_LIVE] + job->counts[TASK_SUCCEEDED], job->spec->min_available,
                 job->spec->n_tasks, job->counts[TASK_FAILED] + job->counts[TASK_CANCELLED]))
        check_find(c, "it starts with %u of a minimum of %u", job->counts[TASK_LIVE],
                   job->spec->min_available);
    for (size_t g = 0; g < job->spec->n_groups; g++)
        if (is_short(job->group_met[g], job->spec->groups[g].min_available,
                     job->spec->groups[g].replicas, job->group_lost[g]))
            check_find(c, "it starts with too few of group %s", job->spec->groups[g].name);
}

static bool is_step_known(int64_t from, int64_t to)
{
    static const bool known[JOB_STATE_COUNT][JOB_STATE_COUNT] = {
        [JOB_PENDING] = { [JOB_PENDING] = true,
                          [JOB_RUNNING] = true,
                          [JOB_FAILED] = true,
                          [JOB_CANCELLED] = true },
        [JOB_RUNNING] = { [JOB_PENDING] = true,
                          [JOB_RUNNING] = true,
                          [JOB_STOPPING] = true,
                          [JOB_SUCCEEDED] = true,
                          [JOB_FAILED] = true,
                          [JOB_CANCELLED] = true },
        [JOB_STOPPING] = { [JOB_STOPPING] = true, [JOB_FAILED] = true, [JOB_CANCELLED] = true },
    };

    return known[from][to];
}

static void check_counts(struct check *c, const struct seen_job *job, const struct row_job *row)
{
    if (row->n_pending != job->counts[TASK_PENDING] || row->n_live != job->counts[TASK_LIVE] ||
        row->n_succeeded != job->counts[TASK_SUCCEEDED] ||
        row->n_failed != job->counts[TASK_FAILED] ||
        row->n_cancelled != job->counts[TASK_CANCELLED] || row->n_tasks != job->spec->n_tasks)
        check_find(c, "its counts are not those of its tasks");
}

static void see_job(struct check *c, const struct row_job *was, const struct row_job *row)
{
    struct seen_job *job;

    if (!was) {
        add_job(c, row);
        if (row->id != c->rev)
            check_find(c, "its id is not the revision of its submit");
    }
    job = map_get_int(&c->jobs, row->id);
    if (!job) {
        check_find(c, "it was over, or never submitted");
        return;
    }
    if (was && !is_step_known(was->state, row->state))
        check_find(c, "it went from %s to %s", job_state_words[was->state],
                   job_state_words[row->state]);
    if (was && strcmp(was->spec, row->spec) != 0)
        see_limit(c, job, row);
    check_counts(c, job, row);
    if (was && was->state == JOB_PENDING && row->state == JOB_RUNNING)
        check_gang(c, job);
    if (row->state == JOB_STOPPING && (row->n_pending || !row->n_live))
        check_find(c, "it stops with pending tasks, or without live ones");
    if (!job_is_over((enum job_state)row->state))
        return;
    if (row->n_live || row->n_pending)
        check_find(c, "it is over with live or pending tasks");
    map_remove_int(&c->jobs, row->id);
    seen_job_free(job);
}

/* ---- events: invariants 6 and 13 ---- */

static void check_order(struct check *c, const struct row_event *event)
{
    if (event->rev <= c->last || (event->rev > c->oldest && event->rev != c->last + 1))
        check_find(c, "it follows event %" PRIu64, c->last);
    c->last = event->rev;
}

static void see(struct check *c, enum row_kind kind, const void *was, const void *row, bool is_gone)
{
    if (kind == ROW_NODE)
        see_node(c, was, row);
    else if (kind == ROW_JOB)
        see_job(c, was, row);
    else if (kind == ROW_TASK)
        see_task(c, was, row);
    else if (kind == ROW_ATTEMPT)
        see_attempt(c, was, row);
    else if (kind == ROW_QUEUE)
        check_see_queue(c, row);
    else if (kind == ROW_QUOTA)
        check_see_quota(c, row, is_gone);
    else if (kind == ROW_RESERVATION)
        check_see_reservation(c, was, row);
    else if (kind == ROW_PART)
        check_see_part(c, was, row);
}

/* A transaction is over when the next one's events begin. */
static void see_batch(struct check *c, const char *batch)
{
    if (c->batch && strcmp(c->batch, batch) == 0)
        return;
    c->subject = "the end of a transaction";
    check_held_stands(c);
    mem_free(c->batch);
    c->batch = text_copy(batch);
}

static bool is_deleted(const char *type)
{
    size_t n = strlen(type);

    return n > 8 && strcmp(type + n - 8, ".deleted") == 0;
}

static int fold_event(const void *data, void *arg)
{
    const struct row_event *event = data;
    struct check *c = arg;
    enum row_kind kind = (enum row_kind)event->row_kind;
    struct err wrong = { 0 };
    void *row = NULL, *was = NULL;
    int r;

    see_batch(c, event->batch);
    c->rev = event->rev;
    c->subject = event->subject;
    c->report->n_events++;
    check_order(c, event);
    if (row_from_json(kind, event->body, strlen(event->body), &row, &wrong) < 0) {
        check_find(c, "its body cannot be read: %s", wrong.text);
        return 0;
    }
    r = store_get(c->fold, kind, row, &was, c->err);
    if (r >= 0)
        see(c, kind, was, row, is_deleted(event->type));
    if (r >= 0)
        r = is_deleted(event->type) ? store_del(c->fold, kind, row, c->err)
                                    : store_put(c->fold, kind, row, &wrong);
    if (r == -EEXIST) {
        check_find(c, "%s", wrong.text);
        r = 0;
    }
    row_free(kind, was);
    row_free(kind, row);
    return r < 0 ? r : 0;
}

/* ---- the tables ---- */

struct compare {
    struct check *check;
    struct store *other;
    enum row_kind kind;
    const char *missing;
    size_t n;
};

static int compare_row(const void *row, void *arg)
{
    struct compare *compare = arg;
    struct check *c = compare->check;
    struct str text = { 0 };
    void *other = NULL;
    int r = store_get(compare->other, compare->kind, row, &other, c->err);

    compare->n++;
    if (r == READER_NONE || (r == 0 && !row_eq(compare->kind, row, other))) {
        row_to_json(compare->kind, row, &text);
        check_find(c, "%s %s %.120s",
                   r == READER_NONE ? compare->missing : "tables and events differ in",
                   schema[compare->kind].name, str_text(&text));
    }
    str_fini(&text);
    row_free(compare->kind, other);
    return r < 0 ? r : 0;
}

static int compare_kind(struct check *c, struct store *store, enum row_kind kind, size_t *n)
{
    struct compare there = { c, c->fold, kind, "no event made the row of", 0 };
    struct compare here = { c, store, kind, "the tables lack the row of", 0 };
    struct store_query query = { .kind = kind };
    int r = store_find(store, &query, compare_row, &there, c->err);

    if (r >= 0)
        r = store_find(c->fold, &query, compare_row, &here, c->err);
    *n = there.n;
    return r;
}

static int compare_tables(struct check *c, struct store *store)
{
    struct ledger_report *report = c->report;
    size_t ignored;
    const struct {
        enum row_kind kind;
        size_t *n;
    } kinds[] = { { ROW_QUEUE, &ignored },        { ROW_QUOTA, &ignored },
                  { ROW_TOKEN, &ignored },        { ROW_MEMO, &ignored },
                  { ROW_NODE, &report->n_nodes }, { ROW_JOB, &report->n_jobs },
                  { ROW_TASK, &ignored },         { ROW_ATTEMPT, &report->n_attempts },
                  { ROW_RESERVATION, &ignored },  { ROW_PART, &ignored },
                  { ROW_ORDER, &ignored } };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(kinds) && r >= 0; i++)
        r = compare_kind(c, store, kinds[i].kind, kinds[i].n);
    return r;
}

/* ---- the whole ---- */

static int read_oldest(struct check *c, struct store *store)
{
    struct row_meta *key = row_new(ROW_META), *row = NULL;
    int64_t oldest = 1;
    int r;

    row_set(&key->name, "oldest");
    r = store_get(store, ROW_META, key, (void **)&row, c->err);
    if (r == 0 && text_to_int(row->value, 1, INT64_MAX, &oldest) < 0)
        r = err_set(c->err, -EBADMSG, "meta oldest is \"%s\"", row->value);
    c->oldest = (uint64_t)oldest;
    row_free(ROW_META, row);
    row_free(ROW_META, key);
    return r < 0 ? r : 0;
}

static int run(struct check *c, struct store *store, uint64_t revision)
{
    uint64_t none;
    int r = read_oldest(c, store);

    if (r >= 0)
        r = store_begin(c->fold, &none, c->err);
    if (r < 0)
        return r;
    r = store_find(store, &(struct store_query){ .kind = ROW_EVENT }, fold_event, c, c->err);
    c->subject = "at the end";
    if (r >= 0)
        check_held_stands(c);
    if (r >= 0 && c->last != revision)
        check_find(c, "the store says revision %" PRIu64, revision);
    if (r >= 0)
        r = compare_tables(c, store);
    store_rollback(c->fold);
    return r;
}

static void check_fini(struct check *c)
{
    MAP_EACH (entry, &c->jobs)
        seen_job_free(entry->value);
    map_fini(&c->jobs);
    MAP_EACH (entry, &c->nodes) {
        struct seen_node *node = entry->value;
        for (size_t i = 0; i < node->uses.n; i++)
            mem_free(node->uses.at[i].resource);
        VEC_FINI(&node->uses);
        mem_free(node->name);
        mem_free(node);
    }
    map_fini(&c->nodes);
    check_held_fini(c);
    check_queues_fini(c);
    check_quotas_fini(c);
    mem_free(c->batch);
    store_close(c->fold);
}

int check_store(struct store *store, uint64_t revision, struct ledger_report *report,
                struct err *err)
{
    CLEANUP(check_fini)
    struct check c = { .report = report, .subject = "at the start", .err = err };
    int r = store_open("memory:", &c.fold, err);

    if (r < 0)
        return r;
    *report = (struct ledger_report){ .revision = revision };
    return run(&c, store, revision);
}

int ledger_check(const char *address, struct ledger_report *report, struct err *err)
{
    struct store *store;
    uint64_t revision;
    int r = store_open_to_read(address, &store, err);

    if (r < 0)
        return r;
    r = store_begin(store, &revision, err);
    if (r >= 0)
        r = check_store(store, revision, report, err);
    store_close(store);
    return r;
}

/* ---- a running ledger ---- */

static int check_mirrors(const struct mirror *lived, struct store *store, uint64_t revision,
                         struct err *err)
{
    CLEANUP(mirror_fini) struct mirror loaded = { 0 };
    CLEANUP(mirror_fini) struct mirror followed = { 0 };
    int r = mirror_load(&loaded, store, revision, err);

    if (r >= 0)
        r = mirror_compare(lived, &loaded, true, err);
    if (r < 0)
        return err_wrap(err, "the mirror is not what the tables say");
    if (mirror_find(&loaded, ROW_META, "oldest"))
        return 0; /* not all events are there any more */
    r = mirror_catch_up(&followed, store, revision, err);
    if (r >= 0)
        r = mirror_compare(&followed, &loaded, false, err);
    return r < 0 ? err_wrap(err, "a follower") : 0;
}

int ledger_check_open(struct ledger *ledger, struct err *err)
{
    CLEANUP(freep) struct ledger_report *report = NEW0(struct ledger_report);
    struct store *reader;
    uint64_t revision;
    int r = store_open_reader(ledger->store, &reader, err);

    if (r < 0)
        return r;
    r = store_begin(reader, &revision, err);
    if (r >= 0)
        r = check_store(reader, revision, report, err);
    if (r >= 0 && report->n_findings)
        r = err_set(err, -EBADMSG, "%s", report->findings[0]);
    if (r >= 0)
        r = check_mirrors(&ledger->mirror, reader, revision, err);
    store_close(reader);
    return r;
}

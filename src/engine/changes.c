/*
 * The smallest changes that would place a job: see berth/questions.h.
 *
 * Each candidate is supposed, a cycle is run, and it is taken back. Where a field has many values
 * the nearest one that will do is found by halving, so that few cycles are needed. Candidates that
 * plain sums rule out are not tried.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "engine/detail.h"
#include "engine/explain.h"
#include "engine/plugins.h"
#include "engine/shape.h"
#include "engine/victims.h"

enum {
    MOST = 3,
    MAX_RUNS = 48,
    VALUES_MAX = 64, /* of one field that are told apart */
    WAKES_MAX = 3,   /* times that are tried, one after the other */
    TRIES_MAX = 8,   /* like candidates that are tried one by one: labels, queues, holders */
};

const char *const berth_change_words[BERTH_CHANGE_KIND_COUNT] = {
    [BERTH_CHANGE_HOLD] = "hold",
    [BERTH_CHANGE_MINIMUM] = "minimum",
    [BERTH_CHANGE_AMOUNT] = "amount",
    [BERTH_CHANGE_LABEL] = "label",
    [BERTH_CHANGE_TOLERATION] = "toleration",
    [BERTH_CHANGE_QUEUE] = "queue",
    [BERTH_CHANGE_PRIORITY] = "priority",
    [BERTH_CHANGE_BUDGET] = "budget",
    [BERTH_CHANGE_TASKS_END] = "tasks-end",
    [BERTH_CHANGE_JOB_ENDS] = "job-ends",
    [BERTH_CHANGE_NODE_RETURNS] = "node-returns",
    [BERTH_CHANGE_UNCORDON] = "uncordon",
    [BERTH_CHANGE_TIME] = "time",
};

struct search {
    struct berth_engine *engine;
    struct model *model;
    struct berth_cycle_in in;
    const char *job_id;
    uint32_t group_at;
    struct arena *arena, *own;
    size_t most, max_runs, n_runs;
    bool is_limited;
    struct err err; /* of an engine that cannot run at all */
    VEC_OF(struct berth_change) fields, events;
    enum wait_code *fails;      /* by node->at: why it does not take the task, as things are */
    VEC_OF(int64_t) priorities; /* with which it would go before somebody else */
    int max_priority;
    int64_t wake_at_ms; /* when time alone would change something */
};

/* Nothing of the model stays where it is over a supposition: it is looked up each time. */
static struct job *job_of(const struct search *q)
{
    return job_find(q->model, q->job_id);
}

static const struct kind *kind_of(const struct search *q)
{
    return job_of(q)->groups[q->group_at].kind;
}

static bool is_spent(struct search *q)
{
    if (q->n_runs < q->max_runs && !q->err.code)
        return false;
    q->is_limited = true;
    return true;
}

/* Runs a cycle as the model stands; false: it cannot be. */
static bool run(struct search *q, struct berth_decisions *decisions)
{
    if (is_spent(q))
        return false;
    q->n_runs++;
    return berth_engine_cycle(q->engine, &q->in, decisions, &q->err) == 0;
}

/* Whether a cycle places the job as the model stands. */
static bool is_placed(struct search *q, uint32_t *n_evicted)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    struct outcome outcome;

    if (!run(q, &decisions))
        return false;
    outcome = outcome_of(&decisions, q->job_id);
    if (n_evicted)
        *n_evicted = outcome.n_evicted;
    return outcome.starts;
}

/* Whether it would be with these. */
static bool would_place(struct search *q, const struct berth_delta *deltas, size_t n,
                        uint32_t *n_evicted)
{
    bool is;

    if (is_spent(q) || berth_engine_suppose(q->engine, deltas, n, &q->err) < 0)
        return false;
    is = is_placed(q, n_evicted);
    berth_engine_forget(q->engine);
    return is;
}

/* --- Fields of the job */

/* The job as it is, with its groups as a copy that may be changed. */
struct edit {
    struct berth_job job;
    struct berth_task_group *group; /* the one in question; NULL: it is of another job */
};

static struct edit edit_begin(const struct search *q)
{
    const struct berth_job *kept = job_of(q)->kept;
    struct berth_task_group *groups =
        arena_copy(q->own, kept->groups, kept->n_groups * sizeof(*groups));
    struct edit edit = { .job = *kept };

    edit.job.groups = groups;
    edit.group = &groups[q->group_at];
    return edit;
}

static struct edit edit_other(const struct search *q, const char *job)
{
    return (struct edit){ .job = *job_find(q->model, job)->kept };
}

static bool edit_places(struct search *q, const struct edit *edit, uint32_t *n_evicted)
{
    /* What is supposed is copied, and the job's texts stand until then. */
    struct berth_job *job = shape_copy(shape_of[BERTH_JOB], &edit->job);
    struct berth_delta delta = { .kind = BERTH_JOB, .job = job };
    bool is = would_place(q, &delta, 1, n_evicted);

    mem_free(job);
    return is;
}

static void add_field(struct search *q, struct berth_change change)
{
    change.group_at = q->group_at;
    VEC_PUSH(&q->fields, change);
}

static void try_hold(struct search *q)
{
    struct edit edit = edit_begin(q);
    struct berth_change change = { .kind = BERTH_CHANGE_HOLD };

    if (edit.job.withheld != WAIT_HELD && edit.job.withheld != WAIT_SUSPENDED)
        return;
    edit.job.withheld = WAIT_NONE;
    if (edit_places(q, &edit, &change.n_evicted))
        add_field(q, change);
}

static void try_labels(struct search *q)
{
    size_t n = job_of(q)->kept->groups[q->group_at].node_selector.n;

    for (size_t i = 0; i < n && i < TRIES_MAX; i++) {
        struct edit edit = edit_begin(q);
        struct berth_label *labels =
            arena_copy(q->own, edit.group->node_selector.at, n * sizeof(*labels));
        struct berth_change change = { .kind = BERTH_CHANGE_LABEL,
                                       .key = arena_text(q->arena, labels[i].key),
                                       .wants = arena_text(q->arena, labels[i].value) };
        memmove(&labels[i], &labels[i + 1], (n - i - 1) * sizeof(*labels));
        edit.group->node_selector = (struct berth_labels){ labels, n - 1 };
        if (edit_places(q, &edit, &change.n_evicted))
            add_field(q, change);
    }
}

/* The taints for which nodes are refused, each once. */
static size_t list_taints(struct search *q, struct berth_taint *out)
{
    const struct kind *kind = kind_of(q);
    size_t n = 0;

    NODE_EACH (node, q->model) {
        if (q->fails[node->at] != WAIT_TAINT_NOT_TOLERATED)
            continue;
        for (size_t i = 0; i < node->kept->n_taints; i++) {
            const struct berth_taint *taint = &node->kept->taints[i];
            size_t k = 0;
            if (kind_tolerates(kind, taint))
                continue;
            while (k < n &&
                   !(text_eq(out[k].key, taint->key) && text_eq(out[k].value, taint->value) &&
                     out[k].effect == taint->effect))
                k++;
            if (k == n && n < TRIES_MAX)
                out[n++] =
                    (struct berth_taint){ arena_text(q->own, taint->key),
                                          arena_text(q->own, taint->value ? taint->value : ""),
                                          taint->effect };
        }
    }
    return n;
}

static void try_tolerations(struct search *q)
{
    struct berth_taint taints[TRIES_MAX];
    size_t n = list_taints(q, taints);

    for (size_t i = 0; i < n; i++) {
        struct edit edit = edit_begin(q);
        size_t n_was = edit.group->n_tolerations;
        struct berth_toleration *list = ARENA_NEW0_N(q->own, struct berth_toleration, n_was + 1);
        struct berth_change change = { .kind = BERTH_CHANGE_TOLERATION,
                                       .wants = taint_text(&taints[i], q->arena) };
        if (n_was)
            memcpy(list, edit.group->tolerations, n_was * sizeof(*list));
        list[n_was] = (struct berth_toleration){ .key = taints[i].key,
                                                 .value = taints[i].value,
                                                 .effect = taints[i].effect };
        edit.group->tolerations = list;
        edit.group->n_tolerations = n_was + 1;
        if (edit_places(q, &edit, &change.n_evicted))
            add_field(q, change);
    }
}

static void try_queues(struct search *q)
{
    size_t n = 0;
    VEC_OF(const char *) names = { 0 };
    const struct queue *own = job_of(q)->queue;

    VEC_EACH (queue, &q->model->queues)
        if (*queue != own && (*queue)->kept->state == QUEUE_OPEN && n++ < TRIES_MAX &&
            !text_eq((*queue)->name, "root"))
            VEC_PUSH(&names, arena_text(q->arena, (*queue)->name));
    VEC_EACH (name, &names) {
        struct edit edit = edit_begin(q);
        struct berth_change change = { .kind = BERTH_CHANGE_QUEUE, .wants = *name };
        edit.job.queue = *name;
        if (edit_places(q, &edit, &change.n_evicted))
            add_field(q, change);
    }
    VEC_FINI(&names);
}

/* --- Fields with many values */

typedef void set_fn(struct edit *edit, const char *resource, int64_t value, struct search *q);

/* Values from the nearest to the farthest. */
struct ladder {
    int64_t at[VALUES_MAX];
    size_t n;
};

/* Adds the first value of the ladder that will do; later ones are taken to do too. */
static void climb(struct search *q, const struct ladder *ladder, set_fn *set,
                  struct berth_change change)
{
    size_t low = 0, high = ladder->n;
    uint32_t n_evicted = 0;
    bool has = false;

    while (low < high && !is_spent(q)) {
        /* The farthest is asked first: where it will not do none is looked for. */
        size_t middle = has ? low + (high - low) / 2 : high - 1;
        struct edit edit = change.job ? edit_other(q, change.job) : edit_begin(q);
        set(&edit, change.resource, ladder->at[middle], q);
        if (edit_places(q, &edit, &n_evicted)) {
            has = true;
            change.to = ladder->at[middle];
            change.n_evicted = n_evicted;
            high = middle;
        } else if (has) {
            low = middle + 1;
        } else {
            return;
        }
    }
    if (has)
        add_field(q, change);
}

static void set_minimum(struct edit *edit, const char *resource, int64_t value, struct search *q)
{
    (void)resource;
    (void)q;
    edit->job.min_available = (uint32_t)value;
    edit->job.has_min_available = true;
    edit->job.minima = NULL; /* the roles' own would stand above it */
    edit->job.n_minima = 0;
}

static void try_minimum(struct search *q)
{
    const struct job *job = job_of(q);
    struct ladder ladder = { 0 };
    int64_t from = job->min_available, step = 1 + from / VALUES_MAX;

    if (from < 2 || job->kept->n_minima)
        return;
    for (int64_t value = from - 1; value > 1 && ladder.n < VALUES_MAX - 1; value -= step)
        ladder.at[ladder.n++] = value;
    ladder.at[ladder.n++] = 1;
    climb(q, &ladder, set_minimum,
          (struct berth_change){ .kind = BERTH_CHANGE_MINIMUM, .from = from });
}

static void set_priority(struct edit *edit, const char *resource, int64_t value, struct search *q)
{
    (void)resource;
    (void)q;
    edit->job.priority = (int)value;
    edit->job.priority_class = NULL;
}

static int up(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int down(const void *a, const void *b)
{
    return up(b, a);
}

/* Sorts, and keeps each once and not too many: where there are more, the first and last stay. */
static void ladder_make(int64_t *values, size_t n, int (*cmp)(const void *, const void *),
                        struct ladder *out)
{
    size_t n_apart = 0, step;

    if (n)
        qsort(values, n, sizeof(*values), cmp);
    for (size_t i = 0; i < n; i++)
        if (!i || values[i] != values[i - 1])
            values[n_apart++] = values[i];
    step = 1 + n_apart / VALUES_MAX;
    for (size_t i = 0; i < n_apart && out->n < VALUES_MAX - 1; i += step)
        out->at[out->n++] = values[i];
    if (n_apart && out->at[out->n - 1] != values[n_apart - 1])
        out->at[out->n++] = values[n_apart - 1];
}

/* --- Budgets of others */

static void set_budget(struct edit *edit, const char *resource, int64_t value, struct search *q)
{
    (void)resource;
    (void)q;
    edit->job.budget.value = (uint32_t)value;
}

/* The budget, nearest to what it is, with which so many of those that run may go. */
static int64_t budget_for(const struct job *job, int64_t n_to_go)
{
    const struct berth_budget *budget = &job->kept->budget;
    int64_t running = job->n[BERTH_TASK_RUNNING], all = job->n_tasks;
    int64_t ended = job->n[BERTH_TASK_SUCCEEDED] + job->n[BERTH_TASK_FAILED];
    int64_t missing = all - ended - running + n_to_go, there = running - n_to_go;

    if (!budget->is_percent)
        return budget->is_max_unavailable ? missing : there;
    return budget->is_max_unavailable ? (missing - 1) * 100 / all + 1 : there * 100 / all;
}

struct ids {
    VEC_OF(const char *) list;
};

static bool decisions_evict(const struct berth_decisions *decisions, const char *job)
{
    for (size_t i = 0; i < decisions->n_groups; i++)
        for (size_t k = 0; k < decisions->groups[i].n_parts; k++)
            if (decisions->groups[i].parts[k].kind == BERTH_PART_EVICT &&
                text_eq(decisions->groups[i].parts[k].task.job, job))
                return true;
    return false;
}

/* Those who went in a cycle come first. */
static void put_evicted_first(const struct berth_decisions *decisions, struct ids *jobs)
{
    size_t n = 0;

    for (size_t i = 0; i < jobs->list.n; i++) {
        const char *id = jobs->list.at[i];
        if (!decisions_evict(decisions, id))
            continue;
        memmove(&jobs->list.at[n + 1], &jobs->list.at[n], (i - n) * sizeof(id));
        jobs->list.at[n++] = id;
    }
}

/* Where they are too many to try each: first those who would go if none of these had a budget. */
static void order_budgets(struct search *q, struct ids *jobs)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    VEC_OF(struct berth_delta) deltas = { 0 };

    VEC_EACH (id, &jobs->list) {
        struct edit edit = edit_other(q, *id);
        edit.job.budget.is_given = false;
        VEC_PUSH(&deltas,
                 ((struct berth_delta){ .kind = BERTH_JOB,
                                        .job = shape_copy(shape_of[BERTH_JOB], &edit.job) }));
    }
    if (!is_spent(q) && berth_engine_suppose(q->engine, deltas.at, deltas.n, &q->err) == 0) {
        if (run(q, &decisions))
            put_evicted_first(&decisions, jobs);
        berth_engine_forget(q->engine);
    }
    VEC_EACH (delta, &deltas)
        mem_free((void *)delta->job);
    VEC_FINI(&deltas);
}

static void try_budget(struct search *q, const char *id)
{
    const struct job *job = job_find(q->model, id);
    const struct berth_budget *budget = &job->kept->budget;
    struct berth_change change = { .kind = BERTH_CHANGE_BUDGET,
                                   .job = arena_text(q->arena, job->id),
                                   .is_percent = budget->is_percent,
                                   .from = budget->value };
    int64_t may_lose = job_may_lose(job), running = job->n[BERTH_TASK_RUNNING];
    int64_t step = 1 + running / VALUES_MAX;
    struct ladder ladder = { 0 };

    change.key = budget->is_max_unavailable ? "maxUnavailable" : "minAvailable";
    change.namespace_ = job->kept->namespace_ ? arena_text(q->arena, job->kept->namespace_) : NULL;
    for (int64_t n = may_lose < 0 ? 1 : may_lose + 1; n < running && ladder.n < VALUES_MAX - 1;
         n += step)
        ladder.at[ladder.n++] = budget_for(job, n);
    ladder.at[ladder.n++] = budget_for(job, running);
    climb(q, &ladder, set_budget, change);
}

/* Jobs whose budget forbids an eviction that would help. */
static void try_budgets(struct search *q)
{
    struct ids jobs = { 0 };

    if (!setup_has_plugin(engine_setup(q->engine), "pdb"))
        return;
    JOB_EACH (job, q->model)
        if (!text_eq(job->id, q->job_id) && job_may_lose(job) < (int64_t)job->n[BERTH_TASK_RUNNING])
            VEC_PUSH(&jobs.list, arena_text(q->own, job->id));
    if (jobs.list.n > TRIES_MAX)
        order_budgets(q, &jobs);
    for (size_t i = 0; i < jobs.list.n && i < TRIES_MAX; i++)
        try_budget(q, jobs.list.at[i]);
    VEC_FINI(&jobs.list);
}

static void add_priority(struct search *q, int64_t from, int64_t value)
{
    if (value > from && value <= q->max_priority)
        VEC_PUSH(&q->priorities, value);
}

/* One more than somebody has who stands above, or holds room. Who waited, or waited before it
 * started, has a rank above its priority; of the job's own rank what it waited is no part where it
 * takes room from others. */
static void note_priorities(struct search *q, const struct session *s)
{
    const struct job *own = job_of(q);
    int64_t from = own->priority, aged = priority_rank_at(s, own, s->in.now_ms) - from;

    JOB_EACH (job, q->model) {
        int64_t rank = priority_rank_at(s, job, s->in.now_ms);
        if (job == own)
            continue;
        add_priority(q, from, (int64_t)job->priority + 1);
        if (!s->policy->aging_step_ms)
            continue;
        add_priority(q, from, rank + 1);
        add_priority(q, from, rank + 1 - aged);
        add_priority(q, from, priority_start_rank(s, job) + 1);
    }
}

static void try_priority(struct search *q)
{
    struct ladder ladder = { 0 };
    int64_t from = job_of(q)->priority;

    ladder_make(q->priorities.at, q->priorities.n, up, &ladder);
    climb(q, &ladder, set_priority,
          (struct berth_change){ .kind = BERTH_CHANGE_PRIORITY, .from = from });
}

static void set_amount(struct edit *edit, const char *resource, int64_t value, struct search *q)
{
    struct berth_amounts *asks = &edit->group->asks;
    struct berth_amount *at = arena_copy(q->own, asks->at, asks->n * sizeof(*at));

    for (size_t i = 0; i < asks->n; i++)
        if (text_eq(at[i].name, resource))
            at[i].value = value;
    asks->at = at;
}

/* In what steps people write such an amount: whole units where it was a whole one. */
static int64_t step_of(const char *resource, int64_t asked)
{
    enum quantity_unit unit = quantity_unit_of(resource);

    if (unit == QUANTITY_BYTES)
        return asked >= (int64_t)1 << 30 ? (int64_t)64 << 20 : (int64_t)1 << 20;
    if (asked % 1000 == 0 && asked > 1000)
        return 1000;
    return text_eq(resource, "cpu") ? 100 : 1000;
}

/* What nodes have free of it, for one task or for several on one node. */
static void try_amount(struct search *q, uint32_t dim)
{
    const struct column *column = &q->model->columns[dim];
    const char *resource = arena_text(q->arena, q->model->dims.at[dim]->name);
    const struct kind *kind = kind_of(q);
    int64_t asked = 0, step;
    uint32_t most_on_one = job_of(q)->min_available;
    VEC_OF(int64_t) values = { 0 };
    struct ladder ladder = { 0 };

    for (size_t i = 0; i < kind->spec->asks.n; i++)
        if (text_eq(kind->spec->asks.at[i].name, resource))
            asked = kind->spec->asks.at[i].value;
    if (!asked)
        return;
    step = step_of(resource, asked);
    most_on_one = most_on_one > TRIES_MAX ? TRIES_MAX : most_on_one ? most_on_one : 1;
    NODE_EACH (node, q->model) {
        int64_t idle = column_idle(column, node->at);
        if (q->fails[node->at] && q->fails[node->at] != q->model->dims.at[dim]->code)
            continue;
        for (uint32_t k = 1; idle > 0 && k <= most_on_one; k++) {
            int64_t value = idle / k / step * step;
            if (value > 0 && value < asked)
                VEC_PUSH(&values, value);
        }
    }
    ladder_make(values.at, values.n, down, &ladder);
    VEC_FINI(&values);
    climb(
        q, &ladder, set_amount,
        (struct berth_change){ .kind = BERTH_CHANGE_AMOUNT, .resource = resource, .from = asked });
}

static void try_amounts(struct search *q)
{
    VEC_OF(uint32_t) dims = { 0 };
    const struct kind *kind = kind_of(q);

    for (size_t i = 0; i < kind->asks.n; i++)
        if (kind->asks.at[i].dim != DIM_PODS)
            VEC_PUSH(&dims, kind->asks.at[i].dim);
    VEC_EACH (dim, &dims)
        try_amount(q, *dim);
    VEC_FINI(&dims);
}

/* --- Events in sight */

static void add_event(struct search *q, const struct berth_change *change)
{
    VEC_PUSH(&q->events, *change);
}

/* A job that holds room where the task would like to be. */
struct holding {
    const char *job, *node; /* node NULL: wherever it is */
    int64_t by_ms;          /* the last limit of its tasks; BERTH_NEVER: one has none */
    uint64_t seq;
};

static int by_end(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;

    if (x->by_ms != y->by_ms)
        return x->by_ms < y->by_ms ? -1 : 1;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->node ? x->node : "", y->node ? y->node : "");
}

static void widen(struct holding *holding, const struct task *task)
{
    int64_t at = task->limit_at_ms ? task->limit_at_ms : BERTH_NEVER;

    if (at > holding->by_ms)
        holding->by_ms = at;
}

/* Whether the node would have room for a task if the job's tasks left it. */
static bool would_fit(const struct search *q, const struct node *node, const struct job *job)
{
    const struct kind *kind = kind_of(q);

    for (size_t i = 0; i < kind->asks.n; i++) {
        uint32_t dim = kind->asks.at[i].dim;
        int64_t room = column_idle(&q->model->columns[dim], node->at);
        VEC_EACH (task, &node->tasks)
            if ((*task)->group->job == job && state_holds((*task)->state))
                room = wrap_add(room, asks_of(task_asks(*task), dim));
        if (room < kind->asks.at[i].value)
            return false;
    }
    return true;
}

struct holdings {
    VEC_OF(struct holding) list;
};

static void list_on_node(struct search *q, const struct node *node, struct holdings *out)
{
    size_t before = out->list.n;

    VEC_EACH (task, &node->tasks) {
        const struct job *job = (*task)->group->job;
        size_t i = before;
        if (!state_holds((*task)->state) || text_eq(job->id, q->job_id))
            continue;
        while (i < out->list.n && !text_eq(out->list.at[i].job, job->id))
            i++;
        if (i == out->list.n) {
            if (!would_fit(q, node, job))
                continue;
            VEC_PUSH(&out->list, ((struct holding){ .job = arena_text(q->own, job->id),
                                                    .node = arena_text(q->own, node->id),
                                                    .seq = job->kept->seq }));
        }
        widen(&out->list.at[i], *task);
    }
}

static bool is_short_of_room(const struct search *q, const struct node *node)
{
    return q->fails[node->at] >= WAIT_INSUFFICIENT_SLOTS || q->fails[node->at] == WAIT_PORT_TAKEN ||
           q->fails[node->at] == WAIT_NODE_BUSY;
}

/* The jobs that hold room on nodes where only room is short, each on each; then each as a whole. */
static struct holdings list_holdings(struct search *q, bool is_whole)
{
    struct holdings all = { 0 };

    NODE_EACH (node, q->model)
        if (is_short_of_room(q, node) && node->tasks.n < 1000)
            list_on_node(q, node, &all);
    if (is_whole) {
        struct holdings whole = { 0 };
        VEC_EACH (one, &all.list) {
            size_t i = 0;
            while (i < whole.list.n && !text_eq(whole.list.at[i].job, one->job))
                i++;
            if (i == whole.list.n)
                VEC_PUSH(&whole.list, ((struct holding){ .job = one->job, .seq = one->seq }));
        }
        VEC_FINI(&all.list);
        all = whole;
        VEC_EACH (one, &all.list) {
            const struct job *job = job_find(q->model, one->job);
            for (size_t i = 0; i < job->n_tasks; i++)
                if (state_holds(job->tasks[i].state))
                    widen(one, &job->tasks[i]);
        }
    }
    if (all.list.n)
        qsort(all.list.at, all.list.n, sizeof(*all.list.at), by_end);
    return all;
}

static void try_end(struct search *q, const struct holding *holding)
{
    const struct job *job = job_find(q->model, holding->job);
    VEC_OF(struct berth_delta) deltas = { 0 };
    struct berth_change change = { .kind = holding->node ? BERTH_CHANGE_TASKS_END
                                                         : BERTH_CHANGE_JOB_ENDS,
                                   .job = arena_text(q->arena, job->id),
                                   .by_ms = holding->by_ms == BERTH_NEVER ? 0 : holding->by_ms };

    change.namespace_ = job->kept->namespace_ ? arena_text(q->arena, job->kept->namespace_) : NULL;
    change.node = holding->node ? arena_text(q->arena, holding->node) : NULL;
    for (size_t i = 0; i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        struct berth_task *ended;
        if (!state_holds(task->state) ||
            (holding->node && !(task->node && text_eq(task->node->id, holding->node))))
            continue;
        ended = ARENA_NEW0(q->own, struct berth_task);
        *ended = (struct berth_task){ .job = job->id,
                                      .group = task->group->spec->name,
                                      .index = task->index,
                                      .state = BERTH_TASK_SUCCEEDED,
                                      .attempt = task->attempt };
        if (task_comes_back(task))
            ended->state = BERTH_TASK_PENDING; /* and it may have the room that it leaves */
        VEC_PUSH(&deltas, ((struct berth_delta){ .kind = BERTH_TASK, .task = ended }));
    }
    change.n_tasks = (uint32_t)deltas.n;
    if (would_place(q, deltas.at, deltas.n, &change.n_evicted))
        add_event(q, &change);
    VEC_FINI(&deltas);
}

static bool has_event_of(const struct search *q, const char *job)
{
    VEC_EACH (event, &q->events)
        if (text_eq(event->job, job))
            return true;
    return false;
}

static void try_ends(struct search *q)
{
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        struct holdings holdings = list_holdings(q, is_whole);
        for (size_t i = 0; i < holdings.list.n && i < TRIES_MAX && q->events.n < q->most; i++)
            if (!has_event_of(q, holdings.list.at[i].job))
                try_end(q, &holdings.list.at[i]);
        VEC_FINI(&holdings.list);
    }
}

/* Nodes that are away or closed and would come back: they are asked as if they had. */
static void try_nodes(struct search *q)
{
    VEC_OF(const char *) ids = { 0 };

    NODE_EACH (node, q->model) {
        bool is_away = q->fails[node->at] == WAIT_NODE_NOT_READY &&
                       (node->kept->state == NODE_UNREACHABLE || node->kept->state == NODE_LOST);
        if ((is_away || q->fails[node->at] == WAIT_NODE_CORDONED) && ids.n < TRIES_MAX)
            VEC_PUSH(&ids, arena_text(q->arena, node->id));
    }
    VEC_EACH (id, &ids) {
        struct berth_node *node = shape_copy(shape_of[BERTH_NODE], node_find(q->model, *id)->kept);
        struct berth_delta delta = { .kind = BERTH_NODE, .node = node };
        struct berth_change change = { .node = *id };
        change.kind =
            node_takes_work(node->state) ? BERTH_CHANGE_UNCORDON : BERTH_CHANGE_NODE_RETURNS;
        if (change.kind == BERTH_CHANGE_UNCORDON)
            node->cordoned = node->draining = false;
        node->state = NODE_READY;
        if (q->events.n < q->most && would_place(q, &delta, 1, &change.n_evicted))
            add_event(q, &change);
        mem_free(node);
    }
    VEC_FINI(&ids);
}

/* When it is due: a start time, or the end of a back-off. Else when time alone changes something: who is spared for having
 * begun only now may be evicted then. */
static void try_time(struct search *q, const struct berth_task_ref *ref)
{
    const struct task *task = task_find(q->model, ref);
    int64_t was_ms = q->in.now_ms, at_ms = job_of(q)->kept->not_before_ms;
    struct berth_change change = { .kind = BERTH_CHANGE_TIME };

    if (task->not_before_ms > at_ms)
        at_ms = task->not_before_ms;
    if (at_ms <= was_ms)
        at_ms = q->wake_at_ms;
    for (int i = 0; i < WAKES_MAX && at_ms < BERTH_NEVER; i++) {
        CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
        struct outcome outcome;
        q->in.now_ms = change.by_ms = at_ms;
        if (!run(q, &decisions))
            break;
        outcome = outcome_of(&decisions, q->job_id);
        change.n_evicted = outcome.n_evicted;
        if (outcome.starts) {
            add_event(q, &change);
            break;
        }
        at_ms = decisions.wake_at_ms;
    }
    q->in.now_ms = was_ms;
}

/* --- The search */

static void note_state(struct search *q, const struct task *task)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    struct session *s = explain_run(q->engine, &q->in, task, &decisions);

    q->fails = ARENA_NEW0_N(q->own, enum wait_code, q->model->nodes.n + 1);
    NODE_EACH (node, q->model)
        q->fails[node->at] = fail_code(q->model, explain_fail(s, task->group->kind, node));
    note_priorities(q, s);
    q->wake_at_ms = decisions.wake_at_ms;
    session_close(s);
}

static void search_all(struct search *q, const struct berth_task_ref *ref)
{
    try_hold(q);
    try_time(q, ref);
    try_ends(q);
    try_labels(q);
    try_tolerations(q);
    try_amounts(q);
    try_minimum(q);
    try_budgets(q);
    try_nodes(q);
    try_queues(q);
    try_priority(q);
}

/* One event whose time is known comes first, then fields, then what else there is. */
static void choose(struct search *q, struct berth_changes *out)
{
    struct berth_change *at = ARENA_NEW0_N(q->arena, struct berth_change, q->most + 1);
    bool has_first = q->events.n && q->events.at[0].by_ms;

    if (has_first)
        at[out->n++] = q->events.at[0];
    for (size_t i = 0; i < q->fields.n && out->n < q->most; i++)
        at[out->n++] = q->fields.at[i];
    for (size_t i = has_first; i < q->events.n && out->n < q->most; i++)
        at[out->n++] = q->events.at[i];
    out->at = at;
}

int berth_engine_changes(struct berth_engine *engine, const struct berth_cycle_in *in,
                         const struct berth_task_ref *ref, const struct berth_search *search,
                         struct arena *arena, struct berth_changes *out, struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct task *task = task_named(engine_model(engine), ref, err);
    struct search q = { .engine = engine,
                        .model = engine_model(engine),
                        .in = *in,
                        .job_id = ref->job,
                        .arena = arena,
                        .own = &own,
                        .most = search->most ? search->most : MOST,
                        .max_runs = search->max_runs ? search->max_runs : MAX_RUNS,
                        .max_priority = search->max_priority ? search->max_priority : INT32_MAX };

    if (!task)
        return -ENOENT;
    q.in.skip_digest = true;
    q.group_at = task->group->at;
    *out = (struct berth_changes){ 0 };
    out->is_placed = is_placed(&q, NULL);
    if (!out->is_placed && !q.err.code) {
        note_state(&q, task);
        search_all(&q, ref);
        choose(&q, out);
    }
    out->is_limited = q.is_limited;
    out->n_runs = q.n_runs;
    VEC_FINI(&q.fields);
    VEC_FINI(&q.events);
    VEC_FINI(&q.priorities);
    if (!q.err.code)
        return 0;
    *err = q.err;
    return err->code;
}

/* Questions about the model as it stands: see berth/engine.h. Each opens a session and closes it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "engine/fit.h"

struct task *task_named(struct model *model, const struct berth_task_ref *ref, struct err *err)
{
    struct task *task = task_find(model, ref);

    if (!task)
        err_set(err, -ENOENT, "task %s/%s.%u: not known", ref->job, ref->group ? ref->group : "",
                ref->index);
    return task;
}

struct node *node_named(struct model *model, const char *id, struct err *err)
{
    struct node *node = node_find(model, id);

    if (node && node->kept)
        return node;
    err_set(err, -ENOENT, "node %s: not known", id ? id : "");
    return NULL;
}

int berth_engine_feasible(struct berth_engine *engine, const struct berth_cycle_in *in,
                          const struct berth_task_ref *ref, const char *id, bool *out,
                          struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct model *model = engine_model(engine);
    struct task *task = task_named(model, ref, err);
    struct node *node = task ? node_named(model, id, err) : NULL;
    struct session *s;

    if (!node)
        return -ENOENT;
    s = session_open(model, engine_setup(engine), in, &own);
    *out = !fit_predicate(s, task->group->kind, node);
    session_close(s);
    return 0;
}

int berth_engine_node_scores(struct berth_engine *engine, const struct berth_cycle_in *in,
                             const struct berth_task_ref *ref, const struct berth_words *ids,
                             double *out, struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct model *model = engine_model(engine);
    struct task *task = task_named(model, ref, err);
    struct node **nodes;
    struct session *s;

    if (!task)
        return -ENOENT;
    nodes = ARENA_NEW0_N(&own, struct node *, ids->n + 1);
    for (size_t i = 0; i < ids->n; i++) {
        nodes[i] = node_named(model, ids->at[i], err);
        if (!nodes[i])
            return -ENOENT;
    }
    s = session_open(model, engine_setup(engine), in, &own);
    fit_scores(s, task, nodes, ids->n, out);
    session_close(s);
    return 0;
}

static struct berth_amounts sums_show(const struct model *model, struct arena *arena,
                                      const wide *sums, size_t n)
{
    struct berth_amount *at = ARENA_NEW0_N(arena, struct berth_amount, n + 1);
    size_t shown = 0;

    for (size_t d = 0; sums && d < n; d++)
        if (sums[d] != 0)
            at[shown++] = (struct berth_amount){ arena_text(arena, model->dims.at[d]->name),
                                                 wide_clamp(sums[d]) };
    return (struct berth_amounts){ at, shown };
}

static struct berth_amounts amounts_copy(const struct berth_amounts *from, struct arena *arena)
{
    struct berth_amount *at = ARENA_NEW0_N(arena, struct berth_amount, from->n + 1);

    for (size_t i = 0; i < from->n; i++)
        at[i] = (struct berth_amount){ arena_text(arena, from->at[i].name), from->at[i].value };
    return (struct berth_amounts){ at, from->n };
}

static enum berth_phase phase_of(struct session *s, const struct job *job);

/* Whether a queue is the one above, or anywhere beneath it: what is told of a queue counts both. */
static bool is_within(const struct model *model, const struct queue *queue,
                      const struct queue *above)
{
    for (int depth = 0; queue && queue->kept && depth <= QUEUE_DEPTH_MAX; depth++) {
        if (queue == above)
            return true;
        queue = queue->kept->parent ? queue_find(model, queue->kept->parent) : NULL;
    }
    return false;
}

/* Adds what a queue's own tasks hold, and what they hold and wait for. */
static void add_use(const struct queue *queue, wide *allocated, wide *requested)
{
    for (size_t d = 0; d < queue->n_sums; d++) {
        allocated[d] += queue->allocated[d];
        requested[d] += queue->allocated[d] + queue->pending[d];
    }
}

static void add_asks(wide *to, const struct asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        to[asks->at[i].dim] += asks->at[i].value;
}

/* Adds what a queue's own tasks that are being stopped have on their nodes. */
static void add_stopping(const struct queue *queue, wide *to)
{
    for (const struct job *job = queue->first; job; job = job->queue_next)
        for (size_t i = 0; job->n[BERTH_TASK_RELEASING] && i < job->n_tasks; i++)
            if (job->tasks[i].state == BERTH_TASK_RELEASING && job->tasks[i].node)
                add_asks(to, task_asks(&job->tasks[i]));
}

/* The task for which a part of a reservation is held; NULL: it waits no more, or may not have it. */
static const struct task *held_for(struct session *s, const struct berth_reservation *r,
                                   size_t part)
{
    const struct task *task = task_find(s->model, &r->parts[part].task);

    return task && task->state == BERTH_TASK_PENDING && reservation_holds(s, r) ? task : NULL;
}

/* Adds what is held for tasks of a queue and of those beneath it. */
static void add_held(struct session *s, const struct queue *queue, wide *to)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_RESERVATION];

    VEC_EACH (item, &shelf->items) {
        const struct berth_reservation *r = (*item)->kept;
        for (size_t i = 0; i < r->n_parts; i++) {
            const struct task *task = held_for(s, r, i);
            if (task && is_within(s->model, task->group->job->queue, queue))
                add_asks(to, task_asks(task));
        }
    }
}

static void count_jobs(struct session *s, const struct queue *queue, struct berth_queue_view *out)
{
    for (const struct job *job = queue->first; job; job = job->queue_next) {
        switch (phase_of(s, job)) {
        case BERTH_PHASE_PENDING:
        case BERTH_PHASE_INQUEUE:
            out->n_pending++;
            break;
        case BERTH_PHASE_RUNNING:
        case BERTH_PHASE_UNKNOWN:
            out->n_running++;
            break;
        case BERTH_PHASE_COMPLETED:
        case BERTH_PHASE_COUNT:
            out->n_ended++;
            break;
        }
    }
}

int berth_engine_queue(struct berth_engine *engine, const struct berth_cycle_in *in,
                       const char *name, struct arena *arena, struct berth_queue_view *out,
                       struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct model *model = engine_model(engine);
    const struct queue *queue = queue_find(model, name);
    const struct hooked *deserved = &engine_setup(engine)->hooked[HOOKED_DESERVED];
    const struct hooked *fair = &engine_setup(engine)->hooked[HOOKED_FAIR_SHARE];
    const struct hooked *demand = &engine_setup(engine)->hooked[HOOKED_DEMAND];
    struct session *s;
    wide *allocated, *requested, *stopping, *held;

    if (!queue || !queue->kept)
        return err_set(err, -ENOENT, "queue %s: not known", name ? name : "");
    *out = (struct berth_queue_view){ 0 };
    s = session_open(model, engine_setup(engine), in, &own);
    allocated = ARENA_NEW0_N(&own, wide, model->dims.n + 1);
    requested = ARENA_NEW0_N(&own, wide, model->dims.n + 1);
    stopping = ARENA_NEW0_N(&own, wide, model->dims.n + 1);
    held = ARENA_NEW0_N(&own, wide, model->dims.n + 1);
    VEC_EACH (each, &model->queues) {
        if (!is_within(model, *each, queue))
            continue;
        add_use(*each, allocated, requested);
        add_stopping(*each, stopping);
        count_jobs(s, *each, out);
    }
    out->requested = sums_show(model, arena, requested, model->dims.n);
    out->allocated = sums_show(model, arena, allocated, model->dims.n);
    add_held(s, queue, held);
    out->stopping = sums_show(model, arena, stopping, model->dims.n);
    out->held = sums_show(model, arena, held, model->dims.n);
    for (size_t i = 0; i < deserved->n; i++) {
        const wide *share = deserved->at[i]->plugin->deserved(s, deserved->at[i], queue);
        if (share && !out->deserved.n)
            out->deserved = sums_show(model, arena, share, model->dims.n);
    }
    out->fair_share = out->deserved;
    for (size_t i = 0; i < fair->n; i++) {
        const wide *share = fair->at[i]->plugin->fair_share(s, fair->at[i], queue);
        if (share)
            out->fair_share = sums_show(model, arena, share, model->dims.n);
    }
    out->demand = out->requested;
    for (size_t i = 0; i < demand->n; i++) {
        const wide *share = demand->at[i]->plugin->demand(s, demand->at[i], queue);
        if (share)
            out->demand = sums_show(model, arena, share, model->dims.n);
    }
    out->cap = amounts_copy(&queue->kept->capability, arena);
    session_close(s);
    return 0;
}

/* Who has it comes before who will have it. */
static int kind_of_holder(const struct berth_holder *holder)
{
    return holder->is_promised ? 2 : holder->is_leaving;
}

static int by_amount(const void *a, const void *b)
{
    const struct berth_holder *x = a, *y = b;

    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    if (kind_of_holder(x) != kind_of_holder(y))
        return kind_of_holder(x) - kind_of_holder(y);
    return strcmp(x->job, y->job);
}

struct holders {
    VEC_OF(struct berth_holder) list;
};

static void add_holder(struct holders *holders, const struct job *job, int64_t amount,
                       enum berth_task_state state)
{
    if (amount)
        VEC_PUSH(&holders->list,
                 ((struct berth_holder){ .job = job->id,
                                         .namespace_ = job->kept->namespace_,
                                         .group = "",
                                         .amount = amount,
                                         .is_leaving = state == BERTH_TASK_RELEASING,
                                         .is_promised = state == BERTH_TASK_PENDING }));
}

/* How much of a dimension a job's tasks have been given, and what those have who are being stopped. */
static void add_job(struct holders *holders, const struct job *job, uint32_t dim)
{
    int64_t given = 0, leaving = 0;

    for (size_t i = 0; i < job->n_tasks; i++) {
        int64_t amount = asks_of(task_asks(&job->tasks[i]), dim);
        if (state_is_allocated(job->tasks[i].state))
            given = wrap_add(given, amount);
        else if (job->tasks[i].state == BERTH_TASK_RELEASING && job->tasks[i].node)
            leaving = wrap_add(leaving, amount);
    }
    add_holder(holders, job, given, BERTH_TASK_RUNNING);
    add_holder(holders, job, leaving, BERTH_TASK_RELEASING);
}

static void add_promised(struct holders *holders, struct session *s, const struct queue *queue,
                         uint32_t dim)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_RESERVATION];

    VEC_EACH (item, &shelf->items) {
        const struct berth_reservation *r = (*item)->kept;
        const struct job *owner = job_find(s->model, r->owner);
        int64_t amount = 0;
        for (size_t i = 0; i < r->n_parts; i++) {
            const struct task *task = held_for(s, r, i);
            if (task)
                amount = wrap_add(amount, asks_of(task_asks(task), dim));
        }
        if (owner && is_within(s->model, owner->queue, queue))
            add_holder(holders, owner, amount, BERTH_TASK_PENDING);
    }
}

int berth_engine_queue_holders(struct berth_engine *engine, const struct berth_cycle_in *in,
                               const char *name, const char *resource, size_t most,
                               struct arena *arena, struct berth_holders *out, struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct model *model = engine_model(engine);
    const struct queue *queue = queue_find(model, name);
    uint32_t dim = dim_find(model, resource);
    struct holders all = { 0 };
    struct berth_holder *at;
    struct session *s;

    if (!queue || !queue->kept)
        return err_set(err, -ENOENT, "queue %s: not known", name ? name : "");
    s = session_open(model, engine_setup(engine), in, &own);
    VEC_EACH (each, &model->queues) {
        const struct job *first = is_within(model, *each, queue) ? (*each)->first : NULL;

        for (const struct job *job = first; job && dim != NOWHERE; job = job->queue_next)
            add_job(&all, job, dim);
    }
    if (dim != NOWHERE)
        add_promised(&all, s, queue, dim);
    session_close(s);
    if (all.list.n)
        qsort(all.list.at, all.list.n, sizeof(*all.list.at), by_amount);
    out->n = all.list.n < most ? all.list.n : most;
    out->n_more = all.list.n - out->n;
    at = ARENA_NEW0_N(arena, struct berth_holder, out->n + 1);
    for (size_t i = 0; i < out->n; i++) {
        at[i] = all.list.at[i];
        at[i].job = arena_text(arena, at[i].job);
        if (at[i].namespace_)
            at[i].namespace_ = arena_text(arena, at[i].namespace_);
    }
    out->at = at;
    VEC_FINI(&all.list);
    return 0;
}

static uint32_t releasing_placed(const struct job *job)
{
    uint32_t n = 0;

    for (size_t i = 0; job->n[BERTH_TASK_RELEASING] && i < job->n_tasks; i++)
        n += job->tasks[i].state == BERTH_TASK_RELEASING && job->tasks[i].node;
    return n;
}

static enum berth_phase phase_of(struct session *s, const struct job *job)
{
    uint32_t ended = job->n[BERTH_TASK_SUCCEEDED] + job->n[BERTH_TASK_FAILED];
    uint32_t leaving = releasing_placed(job);
    uint32_t scheduled = job->n[BERTH_TASK_RUNNING] + job->n[BERTH_TASK_BOUND] + ended + leaving;
    bool ready = job_n_ready(job) + job_n_best_effort(job) >= job->min_available;
    bool excused = leaving && !job->n[BERTH_TASK_PENDING] && !job->n[BERTH_TASK_PIPELINED] &&
                   scheduled >= job->min_available;

    if (s->setup->is_reference && (!job->queue || !job->queue->kept))
        return job->kept->phase; /* there nobody looks at it */
    if (job->n[BERTH_TASK_RUNNING] && setup_has_plugin(s->setup, "gang") && !ready && !excused)
        return BERTH_PHASE_UNKNOWN;
    if (scheduled >= job->min_available)
        return scheduled == ended ? BERTH_PHASE_COMPLETED : BERTH_PHASE_RUNNING;
    return job->kept->phase == BERTH_PHASE_INQUEUE ? BERTH_PHASE_INQUEUE : BERTH_PHASE_PENDING;
}

int berth_engine_job_phase(struct berth_engine *engine, const struct berth_cycle_in *in,
                           const char *id, enum berth_phase *out, struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    const struct job *job = job_find(engine_model(engine), id);
    struct session *s;

    if (!job || !job->kept)
        return err_set(err, -ENOENT, "job %s: not known", id ? id : "");
    s = session_open(engine_model(engine), engine_setup(engine), in, &own);
    *out = phase_of(s, job);
    session_close(s);
    return 0;
}

int berth_engine_node(struct berth_engine *engine, const char *id, struct arena *arena,
                      struct berth_node_view *out, struct err *err)
{
    const struct model *model = engine_model(engine);
    const struct node *node = node_named(engine_model(engine), id, err);
    CLEANUP(arena_fini) struct arena own = { 0 };
    wide *sums[4];

    if (!node)
        return -ENOENT;
    for (int i = 0; i < 4; i++)
        sums[i] = ARENA_NEW0_N(&own, wide, model->dims.n + 1);
    for (size_t d = 0; d < model->dims.n; d++) {
        const struct column *c = &model->columns[d];
        if (c->offers[node->at] == UNLIMITED)
            continue;
        sums[0][d] = c->offers[node->at];
        sums[1][d] = c->used[node->at];
        sums[2][d] = column_idle(c, node->at);
        sums[3][d] = c->pipelined[node->at];
    }
    *out = (struct berth_node_view){
        .offers = sums_show(model, arena, sums[0], model->dims.n),
        .used = sums_show(model, arena, sums[1], model->dims.n),
        .free = sums_show(model, arena, sums[2], model->dims.n),
        .reserved = sums_show(model, arena, sums[3], model->dims.n),
        .n_tasks = (uint32_t)node->tasks.n,
    };
    devices_show(node, arena, out);
    return 0;
}

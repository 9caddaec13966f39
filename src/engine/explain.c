/* Why a task waits, node by node: see berth/questions.h. */
#include "engine/explain.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/detail.h"
#include "engine/devices.h"
#include "engine/room.h"
#include "engine/victims.h"

struct outcome outcome_of(const struct berth_decisions *decisions, const char *job)
{
    struct outcome outcome = { 0 };

    for (size_t i = 0; i < decisions->n_groups; i++) {
        const struct berth_group *group = &decisions->groups[i];
        if (!text_eq(group->job, job))
            continue;
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            if (part->kind == BERTH_PART_EVICT) {
                outcome.n_evicted++;
            } else if (text_eq(part->task.job, job)) {
                outcome.starts = true;
                outcome.is_promised = group->kind == BERTH_GROUP_RESERVE;
                outcome.part = part;
            }
        }
    }
    return outcome;
}

/* Takes a placement of the session out of its log. */
static void take_out(struct session *s, size_t i)
{
    statement_take_out(s, &s->log.at[i]);
    memmove(&s->log.at[i], &s->log.at[i + 1], (s->log.n - i - 1) * sizeof(s->log.at[i]));
    s->log.n--;
}

/* Takes back what the session decided for the task's job, as far as it is not committed. */
static void set_back(struct session *s, const struct task *task)
{
    const struct job *job = task->group->job;
    struct statement stmt;

    for (size_t i = s->log.n; i-- > 0;) {
        const struct op *op = &s->log.at[i];
        if (op->kind == OP_ALLOCATE && op->task->state == BERTH_TASK_ALLOCATED &&
            (op->task == task || (!op->is_sealed && op->task->group->job == job)))
            take_out(s, i);
    }
    stmt = statement_open(s);
    for (size_t i = 0; i < job->n_tasks; i++)
        if (job->tasks[i].state == BERTH_TASK_PIPELINED && job->tasks[i].node->at != NOWHERE)
            statement_unpipeline(&stmt, &job->tasks[i]);
}

struct session *explain_run(struct berth_engine *engine, const struct berth_cycle_in *in,
                            const struct task *task, struct berth_decisions *out)
{
    struct session *s = engine_run(engine, in, out);

    set_back(s, task);
    return s;
}

/* What keeps a class from room that is not free yet; FAIL_NONE: no amount. */
static fail_t fails_now(const struct model *model, const struct kind *kind, const struct node *node)
{
    uint32_t dim = kind_device_dim(model, kind);

    for (size_t i = 0; i < kind->asks.n; i++)
        if (kind->asks.at[i].value > column_idle(&model->columns[kind->asks.at[i].dim], node->at))
            return FAIL_DIM + kind->asks.at[i].dim;
    for (uint32_t d = 0; d < model->dims.n; d++)
        if (column_idle(&model->columns[d], node->at) < 0)
            return FAIL_DIM + d; /* it holds more than it offers */
    return dim != NOWHERE ? FAIL_DIM + dim : FAIL_NONE;
}

fail_t explain_fail(struct session *s, const struct kind *kind, const struct node *node)
{
    enum room room;
    fail_t fail = fit_fail(s, kind, node, &room);
    bool comes = room == ROOM_FUTURE || room == ROOM_FUTURE_OUTSIDE;

    return fail == FAIL_NONE && comes ? fails_now(s->model, kind, node) : fail;
}

/* Details are of a class of tasks; which of the holders are the job's own, they do not say. */
static void mark_own(const struct job *job, struct arena *arena, struct berth_node_reason *out)
{
    struct berth_holder *list =
        out->n_holders ? arena_copy(arena, out->holders, out->n_holders * sizeof(*list)) : NULL;

    for (size_t i = 0; i < out->n_holders; i++)
        list[i].is_own = text_eq(list[i].job, job->id);
    out->holders = list;
}

static void explain_node(struct session *s, const struct task *task, struct node *node,
                         struct arena *arena, struct berth_node_reason *out)
{
    const struct kind *kind = task->group->kind;
    fail_t fail = explain_fail(s, kind, node);

    out->node = arena_text(arena, node->id);
    detail_of(s->model, kind, node, fail, arena, out);
    mark_own(task->group->job, arena, out);
    if (fail == FAIL_NONE)
        fit_scores(s, task, &node, 1, &out->score);
}

static bool is_waiting(const struct job *job)
{
    return job->n[BERTH_TASK_PENDING] && !job->kept->stopping;
}

/* Where a job stands among those of its queue that wait and may be looked at. */
static void find_place(struct session *s, struct job *job, struct berth_explanation *out)
{
    struct why why;

    if (!is_waiting(job) || !job_is_open(s, job, &why))
        return;
    JOB_EACH (other, s->model) {
        if (other->queue != job->queue || !is_waiting(other) || !job_is_open(s, other, &why))
            continue;
        out->of++;
        out->place += job_cmp(s, other, job) <= 0;
    }
}

/* The verdict of a cycle on one task. */
static void take_verdict(const struct berth_decisions *decisions, const struct task *task,
                         struct berth_explanation *out)
{
    for (size_t i = 0; i < decisions->n_verdicts; i++) {
        const struct berth_verdict *v = &decisions->verdicts[i];
        if (strcmp(v->job, task->group->job->id) != 0 ||
            (v->group && strcmp(v->group, task->group->spec->name) != 0))
            continue;
        out->state = v->reason->code;
        out->reason = v->reason;
    }
}

static bool is_placed(const struct berth_decisions *decisions, const struct task *task)
{
    for (size_t i = 0; i < decisions->n_groups; i++) {
        const struct berth_group *group = &decisions->groups[i];
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            if (part->kind == BERTH_PART_BIND && part->task.index == task->index &&
                strcmp(part->task.job, task->group->job->id) == 0 &&
                strcmp(part->task.group, task->group->spec->name) == 0)
                return true;
        }
    }
    return false;
}

/* The verdicts on all groups of the job, as copies. */
static void keep_verdicts(const struct berth_decisions *decisions, const char *job,
                          struct arena *arena, struct berth_explanation *out)
{
    struct berth_verdict *list;
    size_t n = 0;

    for (size_t i = 0; i < decisions->n_verdicts; i++)
        n += text_eq(decisions->verdicts[i].job, job);
    list = ARENA_NEW0_N(arena, struct berth_verdict, n + 1);
    for (size_t i = 0; i < decisions->n_verdicts; i++) {
        const struct berth_verdict *from = &decisions->verdicts[i];
        if (!text_eq(from->job, job))
            continue;
        list[out->n_verdicts++] = (struct berth_verdict){
            .job = arena_text(arena, from->job),
            .group = from->group ? arena_text(arena, from->group) : NULL,
            .n_tasks = from->n_tasks,
            .reason = reason_copy(from->reason, arena),
        };
    }
    out->verdicts = list;
}

/* ---- who comes back ---- */

bool task_comes_back(const struct task *task)
{
    return task->state == BERTH_TASK_RELEASING && task->comes_back &&
           !task->group->job->kept->stopping;
}

struct returns {
    VEC_OF(struct berth_delta) deltas;
};

/* All that is being stopped and waits again afterwards, as it will be then. */
static struct returns list_returns(struct model *model, struct arena *own)
{
    struct returns returns = { 0 };

    JOB_EACH (job, model) {
        for (size_t i = 0; job->n[BERTH_TASK_RELEASING] && i < job->n_tasks; i++) {
            const struct task *task = &job->tasks[i];
            struct berth_task *after;
            if (!task_comes_back(task))
                continue;
            after = ARENA_NEW0(own, struct berth_task);
            *after = (struct berth_task){ .job = job->id,
                                          .group = task->group->spec->name,
                                          .index = task->index,
                                          .state = BERTH_TASK_PENDING,
                                          .attempt = task->attempt,
                                          .tries = task->tries,
                                          .evictions = task->evictions };
            VEC_PUSH(&returns.deltas, ((struct berth_delta){ .kind = BERTH_TASK, .task = after }));
        }
    }
    return returns;
}

/*
 * Room that is being freed may go to who gives it up: evicted for a job that is gone since, it waits
 * again once it has ended and may stand in front. So what a cycle promises the task on such room is
 * looked at as it will be then, and if the task has none of it, what is said then is the reason.
 */
static int mind_returns(struct berth_engine *engine, const struct berth_cycle_in *in,
                        const struct task *task, struct arena *arena, struct arena *own,
                        struct berth_explanation *out, struct err *err)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    const char *job = arena_text(own, task->group->job->id);
    struct berth_explanation then = { 0 };
    struct returns returns = { 0 };
    int r = 0;

    if (out->state == WAIT_WAITING_FOR_EVICTION)
        returns = list_returns(engine_model(engine), own);
    if (returns.deltas.n)
        r = berth_engine_suppose(engine, returns.deltas.at, returns.deltas.n, err);
    if (r == 0 && returns.deltas.n) {
        r = berth_engine_cycle(engine, in, &decisions, err);
        if (r == 0 && !outcome_of(&decisions, job).starts)
            keep_verdicts(&decisions, job, arena, &then);
        berth_engine_forget(engine);
    }
    VEC_FINI(&returns.deltas);
    if (r < 0 || !then.n_verdicts)
        return r;
    out->verdicts = then.verdicts;
    out->n_verdicts = then.n_verdicts;
    out->reason = then.verdicts[0].reason;
    out->state = out->reason->code;
    return 0;
}

/* ---- whose end it waits for ---- */

static bool is_listed(const struct berth_explanation *out, const char *node)
{
    for (size_t i = 0; i < out->n_stopping; i++)
        if (text_eq(out->stopping[i].node, node))
            return true;
    return false;
}

static void list_stopping_on(struct session *s, struct node *node, struct arena *arena,
                             struct berth_stopping *list, size_t *n)
{
    struct victims there = node_tasks(s, node);

    for (size_t i = 0; i < there.n && *n < BERTH_STOPPING_MAX; i++) {
        const struct task *task = there.at[i];
        const struct job *job = task->group->job;
        const char *ns = job->kept->namespace_;
        if (!room_waits_for(s->model, task))
            continue;
        list[(*n)++] = (struct berth_stopping){ .job = arena_text(arena, job->id),
                                                .namespace_ = ns ? arena_text(arena, ns) : NULL,
                                                .group = arena_text(arena, task->group->spec->name),
                                                .node = arena_text(arena, node->id),
                                                .index = task->index,
                                                .attempt = task->attempt };
    }
}

/* Those who are being stopped where the session promised the job's tasks room. */
static void list_stopping(struct session *s, const struct job *job, struct arena *arena,
                          struct berth_explanation *out)
{
    struct berth_stopping *list = ARENA_NEW0_N(arena, struct berth_stopping, BERTH_STOPPING_MAX);

    out->stopping = list;
    for (size_t i = 0; job->n[BERTH_TASK_PIPELINED] && i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        if (task->state == BERTH_TASK_PIPELINED && task->node->at != NOWHERE &&
            !task_is_on_machine(task) && !is_listed(out, task->node->id))
            list_stopping_on(s, task->node, arena, list, &out->n_stopping);
    }
}

/* ---- the queue's share ---- */

static const wide *fair_share_of(struct session *s, const struct queue *queue)
{
    const struct hooked *fair = &s->setup->hooked[HOOKED_FAIR_SHARE];
    const wide *found = NULL;

    for (size_t i = 0; i < fair->n && !found; i++)
        found = fair->at[i]->plugin->fair_share(s, fair->at[i], queue);
    return found;
}

static bool others_hold(const struct session *s, const struct queue *mine, uint32_t dim)
{
    VEC_EACH (queue, &s->model->queues)
        if (*queue != mine && (*queue)->kept && dim < (*queue)->n_sums &&
            (*queue)->allocated[dim] > 0 && !(*queue)->kept->not_reclaimable)
            return true;
    return false;
}

/* The queue that holds most of a resource, of those from which nothing may be taken back. */
static const struct queue *keeper_of(const struct session *s, const struct queue *mine,
                                     uint32_t dim)
{
    const struct queue *most = NULL;

    VEC_EACH (each, &s->model->queues) {
        const struct queue *queue = *each;
        if (queue != mine && queue->kept && queue->kept->not_reclaimable && dim < queue->n_sums &&
            queue->allocated[dim] > (most ? most->allocated[dim] : 0))
            most = queue;
    }
    return most;
}

/* How many tasks must begin together. */
static uint32_t n_needed(const struct job *job)
{
    uint32_t there = job_n_ready(job) + job->n[BERTH_TASK_PIPELINED];

    return there + 1 < job->min_available ? job->min_available - there : 1;
}

/* A queue within its share may take back what others hold of a resource, but from some queues nothing. */
static void find_keeper(struct session *s, const struct queue *mine, uint32_t dim,
                        struct arena *arena, struct berth_explanation *out)
{
    const struct queue *keeper = keeper_of(s, mine, dim);

    if (!keeper)
        return;
    out->keeper = arena_text(arena, keeper->name);
    out->keeper_resource = arena_text(arena, s->model->dims.at[dim]->name);
    out->keeper_allocated = wide_clamp(keeper->allocated[dim]);
}

/* Whether what it is short of is kept from it by its queue's fair share, or by one that gives nothing back. */
static void find_share(struct session *s, const struct task *task, struct arena *arena,
                       struct berth_explanation *out)
{
    const struct queue *queue = task->group->job->queue;
    uint32_t dim = out->reason && out->reason->resource && out->reason->node
                       ? dim_find(s->model, out->reason->resource)
                       : NOWHERE;
    const wide *fair = queue && queue->kept ? fair_share_of(s, queue) : NULL;
    wide allocated, asked;

    if (dim == NOWHERE || !fair || s->policy->reclaim == RECLAIM_BY_PLUGINS ||
        (!setup_has_action(s->setup, "reclaim") && !setup_has_action(s->setup, "gangreclaim")) ||
        out->reason->asked > out->reason->limit || out->reason->code == WAIT_LARGER_THAN_CLUSTER)
        return;
    allocated = dim < queue->n_sums ? queue->allocated[dim] : 0;
    asked = (wide)asks_of(&task->group->kind->asks, dim) * n_needed(task->group->job);
    if (allocated + asked <= fair[dim]) {
        find_keeper(s, queue, dim, arena, out);
        return;
    }
    if (!others_hold(s, queue, dim))
        return;
    out->share_resource = arena_text(arena, s->model->dims.at[dim]->name);
    out->share_fair = wide_clamp(fair[dim]);
    out->share_allocated = wide_clamp(allocated);
}

int berth_engine_explain(struct berth_engine *engine, const struct berth_cycle_in *in,
                         const struct berth_task_ref *ref, struct arena *arena,
                         struct berth_explanation *out, struct err *err)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct model *model = engine_model(engine);
    struct task *task = task_named(model, ref, err);
    struct berth_node_reason *nodes;
    struct session *s;
    int r = 0;

    if (!task)
        return -ENOENT;
    *out = (struct berth_explanation){ 0 };
    s = session_open(model, engine_setup(engine), in, &own);
    find_place(s, task->group->job, out);
    session_close(s);
    s = engine_run(engine, in, &decisions);
    list_stopping(s, task->group->job, arena, out);
    set_back(s, task);
    if (!is_placed(&decisions, task))
        take_verdict(&decisions, task, out);
    if (out->reason)
        out->reason = reason_copy(out->reason, arena);
    keep_verdicts(&decisions, ref->job, arena, out);
    nodes = ARENA_NEW0_N(arena, struct berth_node_reason, model->nodes.n + 1);
    for (size_t i = 0; i < model->nodes.n; i++)
        explain_node(s, task, model->nodes.at[i], arena, &nodes[i]);
    find_share(s, task, arena, out);
    session_close(s);
    out->nodes = nodes;
    out->n_nodes = model->nodes.n;
    if (!outcome_of(&decisions, ref->job)
             .starts) /* else it has the room held for it, and nobody else gets that */
        r = mind_returns(engine, in, task, arena, &own, out, err);
    if (out->state != WAIT_WAITING_FOR_EVICTION)
        out->n_stopping = 0;
    return r;
}

int berth_engine_never(struct berth_engine *engine, const struct berth_cycle_in *in, const char *id,
                       struct arena *arena, const struct berth_verdict **out, size_t *n,
                       struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct job *job = job_find(engine_model(engine), id);
    struct berth_verdict *list;
    struct session *s;

    if (!job || !job->kept)
        return err_set(err, -ENOENT, "job %s: not known", id ? id : "");
    *n = 0;
    list = ARENA_NEW0_N(arena, struct berth_verdict, job->n_groups + 1);
    s = session_open(engine_model(engine), engine_setup(engine), in, &own);
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        const struct berth_reason *reason = kind_never(s, job, group->kind);
        if (reason)
            list[(*n)++] = (struct berth_verdict){ .job = arena_text(arena, job->id),
                                                   .group = arena_text(arena, group->spec->name),
                                                   .n_tasks = group->spec->replicas,
                                                   .reason = reason_copy(reason, arena) };
    }
    session_close(s);
    *out = list;
    return 0;
}

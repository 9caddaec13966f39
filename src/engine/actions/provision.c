/*
 * Provision: machines for tasks that find no room, and in profile beam the whole of a task's way.
 *
 * There each waiting task, oldest job first, goes the whole way before the next one does: a node
 * that is available, one on its way, what stands in for its private pool, a new machine. Quotas
 * are asked first, whether there is room or not. In other profiles the action comes after those
 * that place, sees to what they left, and gives nobody up.
 *
 * At the end each pool that has too little free gets one machine more.
 */
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/beam.h"
#include "engine/serverless.h"
#include "engine/take.h"
#include "engine/tenants.h"

struct way {
    struct session *s;
    struct tenants *tenants;
    bool is_whole;   /* profile beam */
    bool is_reserve; /* available nodes are reserved, not bound to: the rest of a gang is to come */
};

enum outcome {
    OUT_BOUND,
    OUT_ROOM,    /* reserved, or ordered */
    OUT_WAITS,   /* what there is is full */
    OUT_NOWHERE, /* no pool and no node could ever take it */
    OUT_SPENT    /* so many machines were ordered in vain */
};

static const struct berth_pool *private_pool(struct session *s, const struct kind *kind)
{
    const struct berth_pool *pool = pool_find(s, kind->spec->pool_selector);

    return pool && pool->is_private ? pool : NULL;
}

/* --- Nodes that are available */

static bool on_available(struct way *way, struct statement *stmt, struct task *task,
                         struct kind *kind)
{
    struct session *s = way->s;
    struct choice choice;
    struct why why;
    bool found;

    if (!way->is_whole && !queue_may_allocate(s, task->group->job->queue, kind, &why))
        return false; /* what is there may be kept for others */
    s->as = kind;
    found = fit_best(s, task, &choice);
    s->as = NULL;
    if (!found || choice.room > ROOM_IDLE_OUTSIDE)
        return false;
    if (way->is_reserve)
        statement_pipeline(stmt, task, choice.node, false, choice.score);
    else
        statement_allocate(stmt, task, choice.node, choice.score);
    return true;
}

/* --- Nodes on their way */

struct coming {
    struct node *node;
    struct machine *machine; /* or NULL */
    struct standing standing;
    int64_t free; /* more is better; for ties */
};

static bool has_future_room(const struct session *s, const struct asks *asks,
                            const struct node *node)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].value > column_future(&s->model->columns[asks->at[i].dim], node->at))
            return false;
    return true;
}

static int64_t machine_free(const struct session *s, const struct kind *kind,
                            const struct machine *machine)
{
    uint32_t gpu = dim_find(s->model, "gpu");
    int64_t sum = machine->left[DIM_CPU] + (machine->left[DIM_MEMORY] >> 20);

    if (gpu != NOWHERE && asks_of(&kind->asks, gpu))
        sum += machine->left[gpu] / 1000 * 1000000;
    return sum;
}

static bool is_better(const struct session *s, const struct coming *a, const struct coming *b)
{
    if (a->standing.rank != b->standing.rank)
        return a->standing.rank < b->standing.rank;
    if (a->standing.score != b->standing.score)
        return a->standing.score > b->standing.score;
    if (a->free != b->free && s->policy->tie == TIE_SPREAD)
        return a->free > b->free;
    if (a->free != b->free && s->policy->tie == TIE_PACK)
        return a->free < b->free;
    return strcmp(a->node->id, b->node->id) < 0;
}

static void consider(struct session *s, struct coming *best, const struct coming *other)
{
    s->n_steps++;
    if (!best->node || is_better(s, other, best))
        *best = *other;
}

static struct coming best_coming(struct session *s, const struct kind *kind)
{
    struct beam *beam = beam_of(s);
    struct coming best = { 0 };

    beam_list_coming(s);
    for (size_t i = 0; i < beam->n_coming; i++) {
        struct node *node = beam->coming[i];
        struct coming one = { .node = node, .standing = *standing_of(s, kind, node) };
        if (one.standing.code || !has_future_room(s, &kind->asks, node) ||
            fit_coming(s, kind, node))
            continue;
        one.free = fit_free_sum(s->model, kind, node);
        consider(s, &best, &one);
    }
    VEC_EACH (each, &beam->machines) {
        struct machine *machine = *each;
        struct coming one = { .node = &machine->node, .machine = machine };
        if (wish_of(s, kind)->is_pinned || !machine_has_room(machine, &kind->asks))
            continue;
        one.standing = wish_standing(s, wish_of(s, kind), &machine->kept);
        if (one.standing.code || fit_fixed(s, kind, &machine->node))
            continue;
        one.free = machine_free(s, kind, machine);
        consider(s, &best, &one);
    }
    return best;
}

static void promise(struct statement *stmt, struct task *task, const struct coming *where)
{
    if (where->machine)
        machine_take(where->machine, task_asks(task), 1);
    statement_pipeline(stmt, task, where->node, false, (double)where->standing.score);
}

static bool on_coming(struct way *way, struct statement *stmt, struct task *task,
                      const struct kind *kind)
{
    struct coming best = best_coming(way->s, kind);

    if (best.node)
        promise(stmt, task, &best);
    return best.node != NULL;
}

/* --- New machines */

/* Whether a node that is there would take the task if it were empty. */
static bool is_known_somewhere(struct session *s, const struct kind *kind)
{
    NODE_EACH (node, s->model)
        if (node->kept->state != NODE_LOST && node->kept->state != NODE_GONE &&
            !standing_of(s, kind, node)->code)
            return true;
    return false;
}

/* What a task waits for: a pool that orders nothing for a while, since a machine did not come. */
static void note_pool(struct way *way, const struct task *task, const struct berth_pool *pool)
{
    struct session *s = way->s;
    int64_t until_ms = pool->backoff_until_ms;
    struct seat *seat = seat_of(s, task->group->job);

    if (!seat->notes)
        seat->notes = ARENA_NEW0_N(&s->arena, struct wait_note, task->group->job->n_groups + 1);
    seat->notes[task->group->at] =
        (struct wait_note){ .why = { .code =
                                         way->is_whole ? WAIT_RETRY_BACKOFF : WAIT_PROVISION_FAILED,
                                     .dim = NOWHERE,
                                     .blocker = pool->name },
                            .until_ms = until_ms };
    session_wake_at(s, until_ms);
}

static enum outcome on_new(struct way *way, struct statement *stmt, struct task *task,
                           const struct kind *kind)
{
    struct session *s = way->s;
    struct wish *wish = wish_of(s, kind);
    const struct berth_pool *backed_off = NULL;

    wish_list_pools(s, wish);
    for (size_t i = 0; i < wish->n_pools; i++) {
        const struct berth_pool *pool = wish->pools[i];
        struct coming where = { 0 };
        if (!pool_may_grow(s, pool))
            continue;
        if (pool->backoff_until_ms > s->in.now_ms) {
            if (!backed_off || pool->backoff_until_ms < backed_off->backoff_until_ms)
                backed_off = pool;
            continue;
        }
        where.machine = machine_new(s, pool, task_asks(task));
        where.node = &where.machine->node;
        where.standing = wish_standing(s, wish, &where.machine->kept);
        if (!fit_fixed(s, kind, where.node) && machine_has_room(where.machine, task_asks(task))) {
            promise(stmt, task, &where);
            return OUT_ROOM;
        }
        machines_drop(s, beam_of(s)->machines.n - 1);
    }
    if (backed_off)
        note_pool(way, task, backed_off);
    return wish->n_pools || is_known_somewhere(s, kind) ? OUT_WAITS : OUT_NOWHERE;
}

/* --- One task */

bool provision_is_spent(const struct session *s, const struct group *group)
{
    int64_t most = s->policy->provision_attempts;

    return most && (int64_t)group->spec->provision_attempts >= most;
}

/* Tries nodes on their way, and then a new machine. */
static enum outcome on_later(struct way *way, struct statement *stmt, struct task *task,
                             const struct kind *kind)
{
    if (on_coming(way, stmt, task, kind))
        return OUT_ROOM;
    if (wish_of(way->s, kind)->is_pinned || !way->s->model->shelves[BERTH_POOL].items.n)
        return OUT_WAITS;
    if (provision_is_spent(way->s, task->group))
        return OUT_SPENT;
    return on_new(way, stmt, task, kind);
}

/* A private pool that has no room and may not grow is left for the others. */
static bool falls_back(struct session *s, const struct kind *kind)
{
    const struct berth_pool *pool = private_pool(s, kind);

    return pool && !kind->spec->durable_disk && !wish_of(s, kind)->is_pinned &&
           !pool_may_grow(s, pool);
}

static enum outcome fall_back(struct way *way, struct statement *stmt, struct task *task)
{
    struct kind *kind = beam_unselected(way->s, task->group->job, task->group->kind);
    enum outcome out;

    if (way->is_whole && on_available(way, stmt, task, kind))
        return way->is_reserve ? OUT_ROOM : OUT_BOUND;
    out = on_later(way, stmt, task, kind);
    return out == OUT_ROOM ? out : OUT_WAITS; /* for its own pool */
}

/* Whether some pool may give a machine for the class. */
static bool has_pool_for(struct session *s, const struct kind *kind)
{
    struct wish *wish = wish_of(s, kind);

    wish_list_pools(s, wish);
    for (size_t i = 0; i < wish->n_pools && !wish->is_pinned; i++) {
        const struct berth_pool *pool = wish->pools[i];
        struct berth_node kept = pool_node(pool, pool->name);
        struct node node = { .kept = &kept, .at = NOWHERE, .alike = NOWHERE };
        if (pool_may_grow(s, pool) && !fit_fixed(s, kind, &node))
            return true;
    }
    return false;
}

bool provision_may_serve(struct session *s, const struct group *group)
{
    if (!s->model->shelves[BERTH_POOL].items.n || !setup_has_action(s->setup, "provision"))
        return false;
    return has_pool_for(s, falls_back(s, group->kind) ? beam_unselected(s, group->job, group->kind)
                                                      : group->kind);
}

/*
 * Whether nobody would take it back from a task at once. What is left over of held room that was taken is not for who
 * goes beyond its share: whoever lost it looks for room in the next cycle. Nor does a job get more beside what is held
 * for it while others could take that: they would have all of it.
 */
static bool keeps(struct session *s, const struct task *task)
{
    const struct job *job = task->group->job;

    return !s->setup->takes_back || queue_is_preemptive(s, job->queue, task, true) ||
           (!s->n_taken && !(job->n[BERTH_TASK_PIPELINED] && take_has_claimants(s, job, true)));
}

/* Whether its queue may have more: no machine is ordered for what it could not use. */
static bool queue_lets(struct way *way, const struct task *task)
{
    const struct queue *queue = task->group->job->queue;
    struct why why;

    return way->is_whole || !queue ||
           (!queue_is_overused(way->s, queue) &&
            queue_may_ride(way->s, queue, task->group->kind, &why) && keeps(way->s, task));
}

/* Goes a task's whole way; what is done stands in the statement. */
static enum outcome go(struct way *way, struct statement *stmt, struct task *task)
{
    struct session *s = way->s;
    struct kind *kind = task->group->kind;
    struct wish *wish = wish_of(s, kind);
    enum outcome out = OUT_WAITS;

    if ((way->is_whole || way->is_reserve) && on_available(way, stmt, task, kind))
        return way->is_reserve ? OUT_ROOM : OUT_BOUND;
    if (!queue_lets(way, task))
        return OUT_WAITS;
    /* Others like it found nothing, and nothing was added since. */
    if (wish->failed_turn == beam_of(s)->turn && !provision_is_spent(s, task->group))
        return OUT_WAITS;
    if (falls_back(s, kind))
        out = on_coming(way, stmt, task, kind) ? OUT_ROOM : fall_back(way, stmt, task);
    else
        out = on_later(way, stmt, task, kind);
    if (out == OUT_WAITS && !seat_of(s, task->group->job)->notes)
        wish->failed_turn = beam_of(s)->turn;
    return out;
}

/* Seals what was done, and says it. */
static void finish(struct way *way, struct statement *stmt, struct job *job)
{
    struct session *s = way->s;
    size_t n = s->log.n - stmt->mark;
    struct op *ops = n ? arena_copy(&s->arena, &s->log.at[stmt->mark], n * sizeof(*ops)) : NULL;

    if (statement_commit(stmt, job))
        beam_answer(s, job, ops, n);
}

static void give_up(struct way *way, struct task *task, enum wait_code code, const char *resource)
{
    struct statement stmt = statement_open(way->s);

    if (task->group->job->n_tasks == 1)
        answer_fail(way->s, task->group->job, code, resource);
    else
        answer_fail_task(way->s, task, code, resource);
    statement_fail(&stmt, task);
    statement_commit(&stmt, task->group->job);
}

/* What became of a task is settled: it is bound, has room, waits, or is given up. */
static void settle(struct way *way, struct statement *stmt, struct task *task, enum outcome out)
{
    finish(way, stmt, task->group->job);
    if (!way->is_whole)
        return;
    if (out == OUT_NOWHERE || out == OUT_SPENT)
        tenants_leave(way->tenants, task);
    if (out == OUT_NOWHERE)
        give_up(way, task, WAIT_NO_NODE_KNOWN, NULL);
    else if (out == OUT_SPENT)
        give_up(way, task, WAIT_PROVISION_FAILED, NULL);
}

/* Notes that a task that is bound uses room that was held for it, there or elsewhere. */
static void use_held(struct session *s, const struct statement *stmt, const struct held *held)
{
    for (size_t i = stmt->mark; held && i < s->log.n; i++)
        if (s->log.at[i].kind == OP_ALLOCATE && s->log.at[i].task == held->task)
            s->log.at[i].reservation = held->by->id;
}

static void go_alone(struct way *way, struct task *task)
{
    struct statement stmt = statement_open(way->s);
    enum outcome out = go(way, &stmt, task);

    settle(way, &stmt, task, out);
}

/* Whether the held room is of another pool than the task's own private one. */
static bool has_left_pool(struct session *s, const struct kind *kind, const struct node *node)
{
    return falls_back(s, kind) && !text_eq(node->kept->pool, kind->spec->pool_selector);
}

/* Whether the machine is there and is too small for what was held on it. */
static bool came_smaller(const struct session *s, const struct task *task, const struct held *held,
                         const struct node *node)
{
    return held->by->purpose == BERTH_FOR_MACHINE && held->by->n_parts == 1 &&
           node->kept->state == NODE_READY && !has_future_room(s, task_asks(task), node);
}

/* A task for which room is held looks for an available node all the same, and else waits on. */
static void go_held(struct way *way, struct task *task)
{
    struct session *s = way->s;
    const struct held *held = beam_held(s, task);
    const struct node *node = task->node;
    struct kind *kind = task->group->kind;
    struct statement stmt = statement_open(s);
    bool is_bound, is_smaller;

    if (!held)
        return;
    statement_unpipeline(&stmt, task);
    is_smaller = came_smaller(s, task, held, node);
    is_bound = on_available(way, &stmt, task, kind);
    if (!is_bound && has_left_pool(s, kind, node))
        is_bound = on_available(way, &stmt, task, beam_unselected(s, task->group->job, kind));
    if (!is_bound && !is_smaller) {
        statement_discard(&stmt);
        return;
    }
    use_held(s, &stmt, held);
    beam_of(s)->turn++; /* its room is free for others */
    finish(way, &stmt, task->group->job);
    if (is_bound)
        return;
    answer_release(s, held->by->id, "NODE_CHANGED");
    go_alone(way, task);
}

/* Whether the quota lets the task in; it is given up otherwise. */
static bool is_admitted(struct way *way, struct task *task)
{
    struct job *job = task->group->job;
    struct seat *seat = seat_of(way->s, job);
    const char *over;

    if (!way->is_whole || job->kept->phase != BERTH_PHASE_PENDING)
        return true; /* it counts already */
    over = tenants_admit(way->tenants, task);
    if (over) {
        give_up(way, task, WAIT_OVER_CAP, over);
        return false;
    }
    seat->is_pending = false;
    if (tenants_has_quota(way->tenants, task->group->kind->namespace_))
        seat->was_admitted = true;
    return true;
}

/* --- Gangs */

static uint32_t n_placed(const struct job *job)
{
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED];
}

/* Binds a gang whole, or nothing of it. */
static bool bind_gang(struct way *way, struct job *job, const struct victims *tasks)
{
    struct session *s = way->s;
    struct statement stmt = statement_open(s);

    for (size_t i = 0; i < tasks->n; i++) {
        struct task *task = tasks->at[i];
        const struct held *held = beam_held(s, task);
        if (task->state == BERTH_TASK_PIPELINED)
            statement_unpipeline(&stmt, task);
        if (on_available(way, &stmt, task, task->group->kind))
            use_held(s, &stmt, held);
    }
    if (!job_has_minimum(job)) {
        statement_discard(&stmt);
        return false;
    }
    beam_of(s)->turn++;
    finish(way, &stmt, job);
    return true;
}

/* Reserves room for as much of a gang as it needs, or nothing. */
static enum outcome reserve_gang(struct way *way, struct job *job, const struct victims *tasks)
{
    struct session *s = way->s;
    struct statement stmt = statement_open(s);
    size_t n_machines = beam_of(s)->machines.n;
    enum outcome out = OUT_ROOM;

    way->is_reserve = true;
    for (size_t i = 0; i < tasks->n && job_lacks(job, job->min_available) && out == OUT_ROOM; i++)
        if (tasks->at[i]->state == BERTH_TASK_PENDING &&
            group_is_lacking(tasks->at[i]->group, job->min_available))
            out = go(way, &stmt, tasks->at[i]);
    way->is_reserve = false;
    if (!job_lacks(job, job->min_available)) {
        finish(way, &stmt, job);
        return OUT_ROOM;
    }
    seat_of(s, job)->placed = n_placed(job);
    for (size_t i = stmt.mark; i < s->log.n; i++)
        if (s->log.at[i].kind == OP_PIPELINE && s->log.at[i].node->at == NOWHERE)
            machine_take(CONTAINER(s->log.at[i].node, struct machine, node),
                         task_asks(s->log.at[i].task), -1);
    statement_discard(&stmt);
    machines_drop(s, n_machines);
    beam_of(s)->turn++;
    return out;
}

static void give_up_job(struct way *way, struct job *job, const struct victims *tasks,
                        enum wait_code code)
{
    struct statement stmt = statement_open(way->s);

    answer_fail(way->s, job, code, NULL);
    for (size_t i = 0; i < tasks->n; i++) {
        if (tasks->at[i]->state != BERTH_TASK_PENDING)
            continue;
        tenants_leave(way->tenants, tasks->at[i]);
        statement_fail(&stmt, tasks->at[i]);
    }
    statement_commit(&stmt, job);
}

static bool has_held(struct session *s, const struct victims *tasks)
{
    for (size_t i = 0; i < tasks->n; i++)
        if (beam_held(s, tasks->at[i]))
            return true;
    return false;
}

static void go_gang(struct way *way, struct job *job, const struct victims *tasks)
{
    struct seat *seat = seat_of(way->s, job);
    bool binds = way->is_whole || has_held(way->s, tasks);
    enum outcome out;

    if ((binds && bind_gang(way, job, tasks)) || !job_lacks(job, job->min_available))
        return;
    out = reserve_gang(way, job, tasks);
    if (out == OUT_ROOM)
        return;
    for (size_t i = 0; i < tasks->n && !seat->stuck; i++)
        if (tasks->at[i]->state == BERTH_TASK_PENDING)
            seat->stuck = tasks->at[i]->group->kind;
    if (!way->is_whole)
        return;
    if (out == OUT_SPENT)
        give_up_job(way, job, tasks, WAIT_PROVISION_FAILED);
    else if (out == OUT_NOWHERE)
        give_up_job(way, job, tasks, WAIT_NO_NODE_KNOWN);
}

/* --- All tasks */

/* The tasks that wait and may be placed, and those for which room is held. */
static struct victims waiting(struct way *way, struct job *job)
{
    uint32_t n = job->n[BERTH_TASK_PENDING] + job->n[BERTH_TASK_PIPELINED];
    struct victims list = { ARENA_NEW0_N(&way->s->arena, struct task *, n + 1), 0 };

    for (size_t i = 0; i < job->n_tasks; i++) {
        struct task *task = &job->tasks[i];
        if (task->state == BERTH_TASK_PIPELINED && beam_held(way->s, task) &&
            task_is_due(way->s, task))
            list.at[list.n++] = task;
        else if (task->state == BERTH_TASK_PENDING && task_is_due(way->s, task) &&
                 is_admitted(way, task))
            list.at[list.n++] = task;
    }
    return list;
}

/* Whether something keeps the job from machines too: what is kept free for others is so of what is there alone. */
static bool is_kept_back(const struct seat *seat)
{
    return seat->why.code && seat->why.code != WAIT_OVER_GUARANTEE_NOT_RECLAIMABLE;
}

static void visit(struct way *way, struct job *job)
{
    struct seat *seat = seat_of(way->s, job);
    struct victims tasks;
    uint32_t n_failed;

    if (is_kept_back(seat) || !job_is_open(way->s, job, &seat->why) ||
        (!way->is_whole && !job_is_admitted(way->s, job)))
        return;
    seat->was_tried = true;
    n_failed = job->n[BERTH_TASK_FAILED];
    tasks = waiting(way, job);
    if (!job_has_minimum(job) && (job->min_available > 1 || job->has_roles)) {
        if (job->n[BERTH_TASK_FAILED] > n_failed)
            give_up_job(way, job, &tasks, WAIT_OVER_CAP); /* a gang is let in whole */
        else
            go_gang(way, job, &tasks);
        if (!job_has_minimum(job))
            return;
    }
    for (size_t i = 0; i < tasks.n && !session_is_spent(way->s); i++) {
        if (tasks.at[i]->state == BERTH_TASK_PIPELINED)
            go_held(way, tasks.at[i]);
        else if (tasks.at[i]->state == BERTH_TASK_PENDING)
            go_alone(way, tasks.at[i]);
    }
}

static int by_age(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    int cmp;

    if (x->kept->created_at_ms != y->kept->created_at_ms)
        return x->kept->created_at_ms < y->kept->created_at_ms ? -1 : 1;
    cmp = strcmp(x->kept->name ? x->kept->name : "", y->kept->name ? y->kept->name : "");
    return cmp ? cmp : strcmp(x->id, y->id);
}

static void visit_all(struct way *way)
{
    struct session *s = way->s;
    struct job **jobs = ARENA_NEW0_N(&s->arena, struct job *, s->model->jobs.n + 1);
    size_t n = 0;

    JOB_EACH (job, s->model)
        if (job->n[BERTH_TASK_PENDING] || job->n[BERTH_TASK_PIPELINED])
            jobs[n++] = job;
    if (way->is_whole) /* elsewhere by rank */
        qsort(jobs, n, sizeof(*jobs), by_age);
    for (size_t i = 0; i < n && !session_is_spent(s); i++)
        visit(way, jobs[i]);
}

/* --- What is kept free */

/* What a pool has free: of available nodes what is left, of those on their way all. */
static wide free_in(struct session *s, const struct berth_pool *pool, const char *name)
{
    uint32_t dim = dim_find(s->model, name);
    wide sum = 0;

    NODE_EACH (node, s->model) {
        const struct berth_node *kept = node->kept;
        int64_t idle, future;
        if (dim == NOWHERE || !text_eq(kept->pool, pool->name) || kept->cordoned || kept->draining)
            continue;
        if (kept->state == NODE_COMING)
            sum += s->model->columns[dim].offers[node->at];
        if (kept->state != NODE_READY || node->silent & SILENT_PRIVATE)
            continue;
        idle = column_idle(&s->model->columns[dim], node->at);
        future = column_future(&s->model->columns[dim], node->at);
        idle = idle < future ? idle : future;
        sum += idle > 0 ? idle : 0;
    }
    VEC_EACH (machine, &beam_of(s)->machines)
        for (size_t i = 0; (*machine)->pool == pool && i < (*machine)->shape.n; i++)
            if (strcmp((*machine)->shape.at[i].name, name) == 0)
                sum += (*machine)->shape.at[i].value;
    return sum;
}

static bool is_short(struct session *s, const struct berth_pool *pool)
{
    for (size_t i = 0; i < pool->min_free.n; i++)
        if (free_in(s, pool, pool->min_free.at[i].name) < pool->min_free.at[i].value)
            return true;
    return false;
}

static void keep_free(struct session *s)
{
    struct shelf *shelf = &s->model->shelves[BERTH_POOL];

    shelf_sort(shelf);
    for (size_t i = 0; i < shelf->items.n; i++) {
        const struct berth_pool *pool = shelf->items.at[i]->kept;
        if (!pool->has_machine || !is_short(s, pool) || !pool_may_grow(s, pool))
            continue;
        if (pool->backoff_until_ms > s->in.now_ms)
            session_wake_at(s, pool->backoff_until_ms);
        else
            beam_answer_machine(s, machine_new(s, pool, NULL));
    }
}

/* Without a pool, and no machine on its way, it looks at nobody. */
static bool is_idle(const struct session *s)
{
    return !s->setup->is_beam && !s->model->shelves[BERTH_POOL].items.n && !s->model->n_coming;
}

static void run(struct session *s, const struct berth_value *arguments)
{
    struct way way = { .s = s, .is_whole = s->setup->is_beam };

    (void)arguments;
    beam_list_coming(s);
    if (!way.is_whole && !s->model->shelves[BERTH_POOL].items.n && !beam_of(s)->n_coming)
        return; /* no machine is on its way, and none can be ordered */
    if (way.is_whole) {
        beam_release(s);
        way.tenants = tenants_new(s);
    }
    visit_all(&way);
    keep_free(s);
    tenants_free(way.tenants);
}

const struct action action_provision = { .name = "provision", .sees_lines = is_idle, .run = run };

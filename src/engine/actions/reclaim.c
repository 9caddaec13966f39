/*
 * Reclaim: a job that is short of its minimum takes back, from other queues, what its own queue
 * deserves.
 */
#include "engine/actions.h"
#include "engine/fit.h"
#include "engine/lines.h"
#include "engine/take.h"
#include "engine/victims.h"

static bool may_go(const struct task *task, const struct task *victim)
{
    const struct queue *mine = task->group->job->queue, *theirs = victim->group->job->queue;

    return victim->state == BERTH_TASK_RUNNING && !victim->group->spec->not_preemptable && theirs &&
           theirs != mine && theirs->kept && !theirs->kept->not_reclaimable;
}

/* The victims of a node, who may be none; false: nobody there could be one. */
static bool find_victims(struct session *s, const struct task *task, const struct node *node,
                         struct victims *set)
{
    struct victims from = node_tasks(s, node);
    size_t n = 0;

    for (size_t i = 0; i < from.n; i++)
        if (may_go(task, from.at[i]))
            from.at[n++] = from.at[i];
    from.n = n;
    if (!n)
        return false;
    *set = victims_agree(s, true, task, &from);
    victims_heap(s, set, task->group->job);
    return true;
}

/* Takes from one node until sums say that the task fits. */
static bool take_from(struct session *s, struct task *task, struct node *node)
{
    struct statement stmt = statement_open(s);
    struct victims set = { 0 };
    bool evicted = false;

    /* Where somebody could have been taken from and nobody need be, the room is promised. */
    if (!find_victims(s, task, node, &set) || !fits_future(s, task, node, &set))
        return false;
    while (!fits_future(s, task, node, NULL) && set.n) {
        statement_evict(&stmt, victims_pop(s, &set, task->group->job), "reclaim");
        evicted = true;
    }
    if (!fits_future(s, task, node, NULL) ||
        (s->policy->evict == EVICT_ONLY_IF_PLACED && fit_predicate(s, task->group->kind, node))) {
        statement_discard(&stmt);
        return false;
    }
    statement_pipeline(&stmt, task, node, evicted, 0);
    return true;
}

static bool reclaim(struct session *s, struct task *task)
{
    bool outside = s->setup->shard_mode == BERTH_SHARD_SOFT;

    for (int part = 0; part < (outside ? 2 : 1); part++)
        for (size_t i = 0; i < s->model->nodes.n; i++) {
            struct node *node = s->model->nodes.at[i];
            if ((!outside || node->in_shard == (part == 0)) &&
                fit_is_resolvable(s, task->group->kind, node) && take_from(s, task, node))
                return true;
        }
    return false;
}

static bool visit(struct session *s, struct job *job)
{
    struct statement stmt = statement_open(s);
    struct victims tasks;

    if (!s->setup->is_reference)
        return take_room(s, job, true);
    tasks = tasks_pending(s, job, true);
    for (size_t i = 0; i < tasks.n && job_is_starving(s, job); i++) {
        struct task *task = tasks.at[i];
        if (task_may_preempt(task) && queue_is_preemptive(s, job->queue, task, false))
            reclaim(s, task);
    }
    if (!job_is_pipelined(s, job)) {
        statement_discard(&stmt);
        return false;
    }
    if (!statement_commit(&stmt, job))
        return false;
    seat_of(s, job)->why.code = WAIT_NONE;
    return true;
}

/* Whether a queue other than this has what could be taken. */
static bool have_others(const struct session *s, const struct queue *mine)
{
    VEC_EACH (each, &s->model->queues) {
        const struct queue *queue = *each;
        if (queue != mine && !queue->kept->not_reclaimable && queue->n_sums &&
            queue->allocated[DIM_PODS] > 0)
            return true;
    }
    VEC_EACH (each, &s->rooms) {
        const struct queue *queue = (*each)->job->queue;
        if (queue && queue != mine && queue->kept && !queue->kept->not_reclaimable)
            return true;
    }
    return false;
}

static bool may_look(struct session *s, struct job *job)
{
    return job_is_seeking(s, job) && job_is_admitted(s, job) &&
           (s->setup->is_reference || have_others(s, job->queue));
}

static bool may_take(struct session *s, struct job *job)
{
    return may_look(s, job) && take_is_wanted(s, job);
}

static void run(struct session *s, const struct berth_value *arguments)
{
    struct rounds rounds;
    struct queue *queue;
    struct job *job;

    (void)arguments;
    lines_part_placed(s);
    rounds_init(&rounds, s);
    VEC_EACH (each, &s->watched) {
        if (!may_look(s, *each))
            continue;
        rounds_add_queue(&rounds, (*each)->queue);
        if (take_is_wanted(s, *each))
            rounds_return_job(&rounds, *each);
    }
    rounds_add_lines(&rounds, may_take);
    while ((queue = rounds_queue(&rounds))) {
        if (queue_is_overused(s, queue))
            continue;
        while ((job = rounds_job(&rounds, queue))) {
            bool took = visit(s, job);
            rounds_go_on(&rounds, job);
            if (took)
                rounds_stir(&rounds, queue);
            if (!s->setup->is_reference && queue_is_overused(s, queue))
                break; /* there a queue whose turn it is has it to the end */
        }
    }
    rounds_fini(&rounds);
}

const struct action action_reclaim = { .name = "reclaim", .sees_lines = sees_lines, .run = run };

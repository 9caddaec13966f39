/*
 * Take: how a job that is short of its minimum gets room that others hold, for preempt and for
 * reclaim. Evictions and the placement that they serve are one statement: it is committed only
 * if the job has all it needs, every check included, so no work is ended in vain.
 *
 * Room that is held for others, who do not run yet, may be had too: from the same jobs as if they
 * ran. It costs no work, so it goes before anybody who does.
 *
 * Victims go as units: a job loses tasks above its minimum, or all of them, never a part of its
 * gang; a reservation is taken whole. Of the ways to make room the one that costs least is taken,
 * and who need not go is given back.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/actions/clear.h"
#include "engine/actions/elsewhere.h"
#include "engine/actions/gangs.h"
#include "engine/actions/give_back.h"
#include "engine/actions/search.h"
#include "engine/demand.h"
#include "engine/devices.h"
#include "engine/hunt.h"
#include "engine/protect.h"
#include "engine/res.h"
#include "engine/room.h"
#include "engine/take.h"
#include "engine/topology.h"
#include "engine/victims.h"

static int64_t min_runtime(const struct session *s, const struct job *job)
{
    const struct berth_queue *queue = job->queue ? job->queue->kept : NULL;

    return queue && queue->min_runtime_ms > 0 ? queue->min_runtime_ms : s->policy->min_runtime_ms;
}

/* One young member spares the whole gang. */
static bool is_young(struct session *s, const struct job *job)
{
    int64_t least = min_runtime(s, job);

    for (size_t i = 0; least > 0 && i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        if (state_is_allocated(task->state) && task->started_at_ms + least > s->in.now_ms) {
            session_wake_at(s, task->started_at_ms + least);
            return true;
        }
    }
    return false;
}

/* Whether nobody for whom the room is held is spared evictions. */
static bool may_be_taken(const struct held_room *room)
{
    for (size_t i = 0; i < room->n; i++)
        if (!task_is_preemptable(room->at[i]))
            return false;
    return true;
}

bool take_may_go(struct session *s, const struct job *mine, const struct task *victim, bool reclaim)
{
    const struct job *theirs = victim->group->job;
    const struct held_room *room = task_room(s, victim);

    if (!room && (!victim->is_told ||
                  (victim->state != BERTH_TASK_BOUND && victim->state != BERTH_TASK_RUNNING)))
        return false;
    if (victim == s->stays || theirs == mine || !theirs->queue || !theirs->queue->kept)
        return false;
    if (room && seat_of(s, (struct job *)theirs)->keeps_rooms)
        return false;
    /* What is only held has no work to lose, however young it is. */
    if (room ? !may_be_taken(room) : !task_is_preemptable(victim) || is_young(s, theirs))
        return false;
    return reclaim ? theirs->queue != mine->queue && !theirs->queue->kept->not_reclaimable
                   : theirs->queue == mine->queue;
}

void take_room_whole(struct statement *stmt, const struct held_room *room, const char *reason)
{
    for (size_t i = 0; i < room->n; i++)
        if (room->at[i]->state == BERTH_TASK_PIPELINED)
            statement_take(stmt, room->at[i], room, reason);
}

bool take_may_try(struct session *s, const struct kind *kind, const struct node *node)
{
    if (node->kept->state == NODE_COMING)
        return !s->only_there && s->rooms.n && fit_suits(s, kind, node);
    return fit_is_resolvable(s, kind, node);
}

/* The node that costs least, when each has to be tried. */
static struct node *cheapest(struct session *s, struct task *task, bool reclaim)
{
    struct cost least = { 0 };
    struct node *best = NULL;

    for (size_t i = 0; i < s->model->nodes.n; i++) {
        struct node *node = s->model->nodes.at[i];
        struct cost cost;
        int cmp;
        if (!take_may_try(s, task->group->kind, node))
            continue;
        s->n_steps++;
        if (!clear_cost(s, task, node, reclaim, &cost))
            continue;
        cmp = best ? cost_cmp(&cost, &least) : -1;
        if (cmp < 0 || (cmp == 0 && node->name_at < best->name_at)) {
            best = node;
            least = cost;
        }
    }
    return best;
}

/* Clears the node where that costs least, and promises its room to the task. */
static bool take_cheapest(struct session *s, struct task *task, bool reclaim)
{
    struct node *best = hunt_is_kept(s, task, reclaim) ? hunt_best(s, task, reclaim, clear_cost)
                                                       : cheapest(s, task, reclaim);
    struct statement stmt = statement_open(s);

    if (!best || !clear_node(&stmt, task, best, reclaim)) {
        statement_discard(&stmt);
        return false;
    }
    statement_pipeline(&stmt, task, best, best->kept->state != NODE_COMING, 0);
    return true;
}

void take_free(struct session *s, struct task *task)
{
    struct statement stmt = statement_open(s);
    struct choice choice;
    struct why why;

    if (queue_may_allocate(s, task->group->job->queue, task->group->kind, &why) &&
        protect_best(s, task, &choice))
        statement_pipeline(&stmt, task, choice.node, false, choice.score);
}

/* Whether some of what a job was promised is on machines on their way. */
static bool job_rides(const struct session *s, const struct job *job)
{
    for (size_t i = 0; s->model->n_coming && job->n[BERTH_TASK_PIPELINED] && i < job->n_tasks; i++)
        if (job->tasks[i].state == BERTH_TASK_PIPELINED && task_is_on_machine(&job->tasks[i]))
            return true;
    return false;
}

bool take_may_reclaim(struct session *s, const struct task *task)
{
    const struct job *job = task->group->job;

    return queue_is_preemptive(s, job->queue, task, job_rides(s, job));
}

/* Whether a queue may have no more however much others give back: for its own sake, not for those above it or beside it. */
static bool is_full_itself(struct session *s, const struct task *task)
{
    const struct queue *queue = task->group->job->queue;
    struct why why = { 0 };

    if (queue_may_allocate(s, queue, task->group->kind, &why))
        return false;
    return why.code != WAIT_OVER_GUARANTEE_NOT_RECLAIMABLE &&
           (why.code != WAIT_OVER_CAP || text_eq(why.blocker, queue->name));
}

bool take_held(struct session *s, struct task *task, bool reclaim)
{
    int64_t wake_at_ms = s->wake_at_ms;
    bool may_be, took = false;

    if (!task_may_preempt(task) ||
        (reclaim && (is_full_itself(s, task) || !take_may_reclaim(s, task))))
        return false;
    may_be = victims_may_be(s, task->group->job, reclaim);
    /* On a machine on its way there may be room that nobody need lose. */
    if (may_be || (s->rooms.n && s->model->n_coming && !s->only_there) || s->in.is_cold)
        took = take_cheapest(s, task, reclaim);
    if (!may_be)
        s->wake_at_ms = wake_at_ms; /* who is young and no victim need not grow older */
    return took;
}

uint32_t take_goal(const struct session *s, const struct job *job)
{
    return s->policy->preempt_for == PREEMPT_FOR_MINIMUM ? job->min_available
                                                         : (uint32_t)job->n_tasks;
}

bool take_is_gang(const struct session *s, const struct job *job)
{
    return take_goal(s, job) > 1 || job->has_roles;
}

bool take_is_short(const struct session *s, const struct job *job)
{
    return job_lacks(job, take_goal(s, job));
}

bool take_is_of_use(const struct session *s, const struct task *task)
{
    return group_is_lacking(task->group, take_goal(s, task->group->job));
}

bool take_is_wanted(struct session *s, struct job *job)
{
    struct statement loose = statement_open(s);
    bool is_wanted, rides;

    if (s->setup->is_reference)
        return job_is_starving(s, job);
    rides = rides_let_go(&loose, job);
    /* For more than the minimum jobs are not starving, and yet may take room. */
    is_wanted = take_is_short(s, job) &&
                (s->policy->preempt_for == PREEMPT_FOR_ALL || job_is_starving(s, job));
    if (rides)
        rooms_hold_on(&loose, job);
    return is_wanted;
}

static bool has_nothing(const struct job *job)
{
    return !job_n_ready(job) && !job->n[BERTH_TASK_PIPELINED];
}

/* Of the widest domain in which it may be; INT_MAX: it may be anywhere. */
static int tier_of(struct session *s, const struct job *job)
{
    int tier;

    return topology_tier(s, &job->kept->topology, &tier) ? tier : INT_MAX;
}

/*
 * Of many jobs alike that cannot get room one is tried: where it failed, one that is no more
 * urgent and needs no less fails too, as long as nothing changed; but for those that let go what is held for them.
 */
static bool has_failed(struct session *s, struct job *job, bool reclaim)
{
    const struct take_failure *f = &job->groups[0].kind->take_failed[reclaim];

    /* Where room is kept for a job, it also matters how long one runs. */
    return job->n_groups == 1 && f->number == s->number && !s->in.is_cold && !s->protect &&
           f->n_log == s->log.n && job->priority <= f->priority && take_goal(s, job) >= f->needed &&
           tier_of(s, job) <= f->tier && !job->kept->n_sub_groups && has_nothing(job) &&
           !seat_of(s, job)->is_loose;
}

/* Whether machines on their way are left out of a try, so that its failure says nothing of them. */
static bool looks_at_some(const struct session *s)
{
    return s->only_there && s->model->n_coming;
}

/* Of n tasks that could be placed; with fewer than it needs a failure says nothing of others. */
static void note_failed(struct session *s, struct job *job, size_t n, bool reclaim)
{
    struct take_failure *f = &job->groups[0].kind->take_failed[reclaim];

    if (job->n_groups == 1 && has_nothing(job) && n >= take_goal(s, job) && !looks_at_some(s) &&
        !seat_of(s, job)->is_loose && !job->kept->n_sub_groups)
        *f = (struct take_failure){ s->number, s->log.n, job->priority, take_goal(s, job),
                                    tier_of(s, job) };
}

/* Whether it promises room on a machine on its way. */
static bool op_rides(const struct op *op)
{
    return op->kind == OP_PIPELINE && op->node->kept->state == NODE_COMING;
}

/* Whether some of what is promised is on machines on their way. */
static bool has_rides(const struct statement *stmt)
{
    for (size_t i = stmt->mark; i < stmt->s->log.n; i++)
        if (op_rides(&stmt->s->log.at[i]))
            return true;
    return false;
}

/* Whether all that was promised is free, now that others have lost what was held for them. */
static bool is_all_free(const struct statement *stmt)
{
    const struct session *s = stmt->s;

    for (size_t i = stmt->mark; i < s->log.n; i++)
        if (s->log.at[i].kind == OP_EVICT || op_rides(&s->log.at[i]))
            return false;
    return true;
}

/* Who loses what is held for it keeps no promise of this session either: it would be of half a gang. */
static void end_promises(struct statement *stmt)
{
    struct session *s = stmt->s;

    for (size_t i = stmt->mark, n = s->log.n; i < n; i++) {
        struct job *loser = s->log.at[i].task->group->job;
        if (s->log.at[i].kind != OP_TAKE)
            continue;
        for (size_t k = 0; loser->n[BERTH_TASK_PIPELINED] && k < loser->n_tasks; k++)
            if (loser->tasks[k].state == BERTH_TASK_PIPELINED &&
                !task_is_on_machine(&loser->tasks[k]))
                statement_unpipeline(stmt, &loser->tasks[k]);
    }
}

static void settle(struct statement *stmt, struct job *job)
{
    struct session *s = stmt->s;
    struct saved done;
    struct statement binds;

    end_promises(stmt);
    done = statement_save(stmt);
    if (!is_all_free(stmt))
        return;
    binds = statement_open(s);
    for (size_t i = 0; i < done.n; i++)
        if (done.at[i].kind == OP_PIPELINE)
            statement_unpipeline(&binds, done.at[i].task);
    for (size_t i = 0; i < done.n; i++) {
        struct why why;
        bool idle;
        if (done.at[i].kind != OP_PIPELINE)
            continue;
        if (room_fail(s->model, done.at[i].task->group->kind, done.at[i].node, &idle) !=
                FAIL_NONE ||
            !idle || !task_may_start(s, done.at[i].task, &why)) {
            statement_discard(&binds);
            return;
        }
        statement_allocate(&binds, done.at[i].task, done.at[i].node, done.at[i].score);
    }
    if (!job_is_ready(s, job))
        statement_discard(&binds);
}

/* Whether a job's queue is at or under its fair share, in what the job asks for, if it held so much less. */
static bool is_within(struct session *s, const struct job *job, const wide *less, bool rides)
{
    for (size_t g = 0; g < job->n_groups; g++)
        if (!queue_is_within(s, job->queue, &job->groups[g], less, rides))
            return false;
    return true;
}

/* Whether a queue is at or under its fair share in what the job asks for. */
static bool is_queue_within(struct session *s, const struct queue *queue, const struct job *job,
                            bool rides)
{
    const wide *none = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    for (size_t g = 0; g < job->n_groups; g++)
        if (!queue_is_within(s, queue, &job->groups[g], none, rides))
            return false;
    return true;
}

bool take_is_within(struct session *s, const struct job *job)
{
    return is_queue_within(s, job->queue, job, job_rides(s, job));
}

bool take_is_over(struct session *s, const struct job *job)
{
    const struct queue *queue = job->queue;
    bool is_over = false;

    if (!s->setup->takes_back)
        return false;
    s->lists = &s->scratch; /* asked of each that gets something */
    for (int depth = 0; queue && queue->kept && !is_over && depth <= QUEUE_DEPTH_MAX; depth++) {
        is_over = !is_queue_within(s, queue, job, false);
        queue = queue_find(s->model, queue->kept->parent);
    }
    s->lists = &s->arena;
    arena_clear(&s->scratch);
    return is_over;
}

/*
 * Whether what the job holds and is promised keeps its queue at or under its fair share, beside those of the
 * queue that are no less urgent. Those that are less urgent are counted only if the queue is over it with
 * them, and then what of them nobody could evict: it cannot be taken back before this one. (`rides`: with what is held
 * on machines on their way, for which nobody is evicted.)
 */
static bool stays_within(struct session *s, const struct job *job, bool rides)
{
    wide *below = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    if (is_within(s, job, below, rides))
        return true;
    for (const struct job *other = job->queue->first; other; other = other->queue_next)
        if (other->priority < job->priority)
            job_add_losable(s, other, rides, below);
    return is_within(s, job, below, rides);
}

/* Whether some machine on its way could take a task of the class if nobody had room there. */
static bool may_ride(struct session *s, const struct kind *kind)
{
    const struct asks *asks = &kind->asks;

    NODE_EACH (node, s->model) {
        size_t i = 0;
        if (node->kept->state != NODE_COMING || !fit_suits(s, kind, node))
            continue;
        while (i < asks->n &&
               asks->at[i].value <= s->model->columns[asks->at[i].dim].offers[node->at])
            i++;
        if (i == asks->n)
            return true;
    }
    return false;
}

/* Whether a task waits for room of a sort; who rides would rather have some that is there. */
static bool is_waiting(const struct task *task, bool rides)
{
    return task->state == BERTH_TASK_PENDING || (!rides && task_is_on_machine(task));
}

/* Whether a waiting job could take room back from another queue, now and somewhere. */
static bool is_claimant(struct session *s, struct job *job, bool rides)
{
    const struct group *last = NULL;
    struct why why;

    if (!job_is_seeking(s, job) || !job_is_open(s, job, &why) || !demand_could_start(s, job))
        return false;
    for (size_t i = 0; i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        if (!is_waiting(task, rides) || task->group == last)
            continue;
        last = task->group;
        if (task_may_preempt(task) && queue_is_preemptive(s, job->queue, task, rides) &&
            task_may_start(s, task, &why) &&
            (rides ? may_ride(s, task->group->kind) : kind_n_ever(s, task->group->kind) > 0))
            return true;
    }
    return false;
}

static void find_claimants(struct session *s, struct claimants *found, bool rides)
{
    size_t n = 0;

    JOB_EACH (job, s->model)
        if (n < COUNT_OF(found->at) && job->queue && job->queue != found->at[0] &&
            is_claimant(s, job, rides))
            found->at[n++] = job->queue;
    found->is_known = true;
}

bool take_has_claimants(struct session *s, const struct job *mine, bool rides)
{
    struct claimants *found = &s->claimants[rides];

    if (mine->queue->kept->not_reclaimable)
        return false;
    if (!found->is_known)
        find_claimants(s, found, rides);
    for (size_t i = 0; i < COUNT_OF(found->at); i++)
        if (found->at[i] && found->at[i] != mine->queue)
            return true;
    return false;
}

bool take_may_evict(const struct statement *stmt, const struct job *job)
{
    struct session *s = stmt->s;
    bool rides;

    if (!s->setup->takes_back || !statement_has_losers(stmt))
        return true;
    rides = has_rides(stmt);
    return stays_within(s, job, rides) || !take_has_claimants(s, job, rides);
}

/* Whether no room could be made for it in its turn before, and nobody got or lost any since. */
static bool was_in_vain(struct session *s, struct job *job, bool reclaim)
{
    return seat_of(s, job)->in_vain[reclaim] == s->log.n + 1 && !s->protect && !s->in.is_cold;
}

/* false, for those who found none. */
static bool note_in_vain(struct session *s, struct job *job, bool reclaim)
{
    if (!looks_at_some(s))
        seat_of(s, job)->in_vain[reclaim] = s->log.n + 1;
    return false;
}

/* Whether some of what is promised hangs on company that is only promised itself, to others. */
static bool relies_on_others(const struct statement *stmt)
{
    for (size_t i = stmt->mark; i < stmt->s->log.n; i++) {
        const struct task *task = stmt->s->log.at[i].task;
        if (task->state == BERTH_TASK_PIPELINED && task_relies(stmt->s, task, false))
            return true;
    }
    return false;
}

/* Whether who goes is the company of somebody for whom others were evicted: they would have gone in vain. */
static bool robs_of_company(struct session *s)
{
    VEC_EACH (task, &s->in_company)
        if ((*task)->state == BERTH_TASK_PIPELINED && !task_relies(s, *task, true) &&
            task_relies(s, *task, false))
            return true;
    return false;
}

bool take_is_in_vain(const struct statement *stmt)
{
    bool evicts = false;

    for (size_t i = stmt->mark; i < stmt->s->log.n && !evicts; i++)
        evicts = stmt->s->log.at[i].kind == OP_EVICT;
    return (evicts && (has_rides(stmt) || robs_of_company(stmt->s))) || relies_on_others(stmt);
}

/* Where members got no room one by one, in their order and onto what is free first, the gang may yet as a whole. */
static bool search_as_a_whole(struct statement *stmt, struct job *job, const struct victims *tasks,
                              bool reclaim)
{
    const struct ways ways = { .promises = true,
                               .clears = true,
                               .reclaim = reclaim,
                               .steps = stmt->s->policy->gang_search_steps };

    statement_discard(stmt);
    return take_is_gang(stmt->s, job) && gang_search(stmt, job, tasks, &ways) &&
           (!reclaim || take_is_within(stmt->s, job));
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

wide take_least(struct session *s, const struct victims *tasks, size_t n, uint32_t dim)
{
    int64_t *asked = ARENA_NEW0_N(s->lists, int64_t, tasks->n + 1);
    wide sum = 0;

    for (size_t i = 0; i < tasks->n; i++)
        asked[i] = asks_of(task_asks(tasks->at[i]), dim);
    qsort(asked, tasks->n, sizeof(*asked), by_value);
    for (size_t i = 0; i < n; i++)
        sum += asked[i];
    return sum;
}

/* Whether what a job needs at least, in what each of its tasks asks for, is within its queue's share: else none of it is tried. */
static bool may_be_within(struct session *s, const struct job *job, const struct victims *tasks)
{
    size_t has = job_n_ready(job) + job->n[BERTH_TASK_PIPELINED], needs = take_goal(s, job);
    wide *least = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    if (needs < has + 2 || tasks->n < needs - has)
        return true;
    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (take_least(s, tasks, 1, d)) /* none of them asks for nothing */
            least[d] = take_least(s, tasks, needs - has, d);
    return queue_may_take_back(s, job->queue, tasks->at[0]->group, least);
}

/* Members take room one by one, in their order, until the job has what it needs. */
static void take_in_order(struct session *s, struct job *job, const struct victims *tasks,
                          bool reclaim)
{
    /* What nobody holds comes first, so that the share is judged with all of the placement. */
    for (size_t i = 0; i < tasks->n && take_is_short(s, job); i++)
        if (take_is_of_use(s, tasks->at[i]))
            take_free(s, tasks->at[i]);
    for (size_t i = 0, n = s->log.n; i < tasks->n && take_is_short(s, job); i++) {
        if (tasks->at[i]->state != BERTH_TASK_PENDING || !take_is_of_use(s, tasks->at[i]))
            continue;
        /* Who went for another may have left more than that needs; the share is judged all the same. */
        if (s->log.n > n && (!reclaim || take_may_reclaim(s, tasks->at[i])))
            take_free(s, tasks->at[i]);
        if (tasks->at[i]->state == BERTH_TASK_PENDING)
            take_held(s, tasks->at[i], reclaim);
    }
}

/* All that a job needs in one domain, in a statement; or nothing. */
static bool find_domain(struct statement *stmt, struct job *job, bool reclaim)
{
    struct session *s = stmt->s;
    int64_t wake_at_ms = s->wake_at_ms;
    bool may_be = victims_may_be(s, job, reclaim);

    if ((may_be || s->in.is_cold) && gang_find_room(stmt, job, reclaim))
        return true;
    if (!may_be)
        s->wake_at_ms = wake_at_ms; /* as in take_held */
    if (!s->model->n_coming)        /* as below */
        note_failed(s, job, tasks_pending(s, job, true).n, reclaim);
    return note_in_vain(s, job, reclaim);
}

/* All that a job needs, in a statement; or nothing. */
static bool find_room(struct statement *stmt, struct job *job, bool reclaim)
{
    struct session *s = stmt->s;
    struct victims tasks;
    bool is_short, is_hopeless;

    if (!take_is_short(s, job) || was_in_vain(s, job, reclaim) || seat_of(s, job)->was_taken)
        return false;
    if (has_failed(s, job, reclaim))
        return false;
    if (job_has_topology(s, job))
        return find_domain(stmt, job, reclaim);
    tasks = tasks_pending(s, job, true); /* who asks for nothing may be short of a slot */
    is_hopeless = reclaim && !may_be_within(s, job, &tasks);
    if (!is_hopeless)
        take_in_order(s, job, &tasks, reclaim);
    is_short = is_hopeless || ((take_is_short(s, job) || !job_is_pipelined(s, job)) &&
                               !search_as_a_whole(stmt, job, &tasks, reclaim));
    if (is_short || !statement_has_losers(stmt)) {
        statement_discard(stmt);
        note_in_vain(s, job, reclaim);
        if (is_short) /* one that needs nobody's room says nothing of those that need more */
            note_failed(s, job, tasks.n, reclaim);
        return false;
    }
    if (s->policy->victim_set == VICTIM_SET_MINIMAL)
        give_back(stmt, job, reclaim);
    if (!gang_stands_alone(stmt, job, reclaim) || !protect_admits(s, job) ||
        take_is_in_vain(stmt)) {
        statement_discard(stmt);
        return false;
    }
    if (!reclaim && !take_may_evict(stmt, job)) {
        statement_discard(stmt);
        if (!s->model->n_coming) /* who may not evict the same ones may ride */
            note_failed(s, job, tasks.n, reclaim);
        return false;
    }
    return true;
}

bool take_keep(struct statement *stmt, struct job *job)
{
    settle(stmt, job);
    seat_of(stmt->s, job)->why.code = WAIT_NONE; /* of allocate */
    return statement_commit(stmt, job);
}

bool take_room(struct session *s, struct job *job, bool reclaim)
{
    struct statement loose = statement_open(s), stmt;
    bool rides = rides_let_go(&loose, job), took;

    stmt = statement_open(s);
    took = find_room(&stmt, job, reclaim) && take_keep(&stmt, job);
    if (rides)
        rooms_hold_on(&loose, job);
    return took;
}

static enum given take_by(struct session *s, struct job *job, bool reclaim, bool puts_off)
{
    struct statement stmt = statement_open(s);

    if (!find_room(&stmt, job, reclaim))
        return GIVEN_NOTHING;
    if (puts_off && !take_is_within(s, job)) {
        statement_discard(&stmt);
        return GIVEN_LATER;
    }
    return take_keep(&stmt, job) ? GIVEN_ROOM : GIVEN_NOTHING;
}

enum given take_in_turn(struct session *s, struct job *job, bool puts_off)
{
    const struct setup *setup = s->setup;
    const char *action = s->action;
    enum given given = GIVEN_NOTHING;

    if (setup->is_reference || setup->is_beam || !take_is_wanted(s, job))
        return GIVEN_NOTHING;
    if (seat_of(s, job)->is_loose && !seat_of(s, job)->rides)
        return GIVEN_NOTHING; /* room is made for it already */
    s->only_there = true;     /* others may begin on what is free, and give up what they ride on */
    for (size_t i = 0; i < setup->n_actions && given == GIVEN_NOTHING; i++) {
        s->action = setup->actions[i]->name;
        if (setup->actions[i] == &action_preempt || setup->actions[i] == &action_reclaim)
            given = take_by(s, job, setup->actions[i] == &action_reclaim, puts_off);
    }
    s->only_there = false;
    s->action = action;
    return given;
}

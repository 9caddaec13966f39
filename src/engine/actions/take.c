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
#include <string.h>

#include "engine/actions.h"
#include "engine/actions/clear.h"
#include "engine/actions/give_back.h"
#include "engine/demand.h"
#include "engine/devices.h"
#include "engine/hunt.h"
#include "engine/protect.h"
#include "engine/res.h"
#include "engine/room.h"
#include "engine/take.h"
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
    if (theirs == mine || !theirs->queue || !theirs->queue->kept)
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

/* Clears a node, says what that cost, and takes it all back. */
static bool try_node(struct session *s, struct task *task, struct node *node, bool reclaim,
                     struct cost *cost)
{
    struct statement stmt = statement_open(s);
    bool cleared;

    s->lists = &s->scratch; /* tried nodes are many; what they leave must not add up */
    cleared = clear_node(&stmt, task, node, reclaim);
    s->lists = &s->arena;
    arena_clear(&s->scratch);
    if (cleared) {
        *cost = cost_of(s, stmt.mark);
        cost->is_late = node->kept->state == NODE_COMING;
    }
    statement_discard(&stmt);
    return cleared;
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
        if (!try_node(s, task, node, reclaim, &cost))
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
    struct node *best = hunt_is_kept(s, task, reclaim) ? hunt_best(s, task, reclaim, try_node)
                                                       : cheapest(s, task, reclaim);
    struct statement stmt = statement_open(s);

    if (!best || !clear_node(&stmt, task, best, reclaim)) {
        statement_discard(&stmt);
        return false;
    }
    statement_pipeline(&stmt, task, best, best->kept->state != NODE_COMING, 0);
    return true;
}

/* Promises a task room that nobody holds, if its queue may have more. */
static void take_free(struct session *s, struct task *task)
{
    struct statement stmt = statement_open(s);
    struct choice choice;
    struct why why;

    if (queue_may_allocate(s, task->group->job->queue, task->group->kind, &why) &&
        protect_best(s, task, &choice))
        statement_pipeline(&stmt, task, choice.node, false, choice.score);
}

static void take_held(struct session *s, struct task *task, bool reclaim)
{
    const struct queue *queue = task->group->job->queue;
    int64_t wake_at_ms = s->wake_at_ms;
    struct why why;
    bool may_be;

    if (!task_may_preempt(task) ||
        (reclaim && (!queue_may_allocate(s, queue, task->group->kind, &why) ||
                     !queue_is_preemptive(s, queue, task))))
        return;
    may_be = victims_may_be(s, task->group->job, reclaim);
    /* On a machine on its way there may be room that nobody need lose. */
    if (may_be || (s->rooms.n && s->model->n_coming && !s->only_there) || s->in.is_cold)
        take_cheapest(s, task, reclaim);
    if (!may_be)
        s->wake_at_ms = wake_at_ms; /* who is young and no victim need not grow older */
}

/* How many tasks it may evict for. */
static uint32_t takes_for(const struct session *s, const struct job *job)
{
    return s->policy->preempt_for == PREEMPT_FOR_MINIMUM ? job->min_available
                                                         : (uint32_t)job->n_tasks;
}

bool take_is_short(const struct session *s, const struct job *job)
{
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED] < takes_for(s, job);
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

static bool is_loss(const struct op *op)
{
    return op->kind == OP_EVICT || op->kind == OP_TAKE;
}

/*
 * What others lose first: what is promised may need the room of several, found one after the
 * other. Of that what is only held first, so that those who run are asked first to stay.
 */
static struct saved losses_first(struct session *s, const struct saved *from)
{
    struct saved to = { ARENA_NEW0_N(&s->arena, struct op, from->n + 1), 0 };

    for (int rest = 0; rest < 3; rest++)
        for (size_t i = 0; i < from->n; i++)
            if ((from->at[i].kind == OP_TAKE ? 0 : from->at[i].kind == OP_EVICT ? 1 : 2) == rest)
                to.at[to.n++] = from->at[i];
    return to;
}

/* Whether two losses are of what goes and comes back together: a reservation, or (whole) a gang. */
static bool is_of_unit(const struct op *a, const struct op *b, bool whole)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == OP_TAKE ? a->room == b->room
                              : whole && a->task->group->job == b->task->group->job;
}

/* Does operations again, as far as the queue may have what they promise. */
static bool redo(struct statement *stmt, const struct saved *saved)
{
    struct statement own = statement_open(stmt->s);
    struct why why;

    for (size_t i = 0; i < saved->n; i++) {
        const struct task *task = saved->at[i].task;
        struct saved one = { &saved->at[i], 1 };
        if ((saved->at[i].kind == OP_PIPELINE &&
             !queue_may_allocate(stmt->s, task->group->job->queue, task->group->kind, &why)) ||
            !statement_recover(stmt, &one)) {
            statement_discard(&own);
            return false;
        }
    }
    return true;
}

static struct victims list_evicted(const struct statement *stmt)
{
    struct session *s = stmt->s;
    struct victims evicted = { ARENA_NEW0_N(&s->arena, struct task *, s->log.n - stmt->mark + 1),
                               0 };

    for (size_t i = stmt->mark; i < s->log.n; i++)
        if (s->log.at[i].kind == OP_EVICT)
            evicted.at[evicted.n++] = s->log.at[i].task;
    return evicted;
}

/* Whether the queue of one that is promised room may have all that is evicted too: if so it hangs
 * on none of them. */
static bool has_room_beside(struct session *s, const struct task *task,
                            const struct victims *evicted)
{
    wide *sum = ARENA_NEW0_N(&s->arena, wide, s->model->dims.n + 1);
    const struct kind *own = task->group->kind;
    struct asks asks = { ARENA_NEW0_N(&s->arena, struct ask, s->model->dims.n + 1), 0 };
    struct kind all;
    struct why why;

    if (own->wants_devices || own->spec->claims.n || own->spec->gpu_memory)
        return false; /* there amounts are not all */
    for (size_t i = 0; i < evicted->n; i++)
        res_add_asks(sum, task_asks(evicted->at[i]), 1);
    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (sum[d] > 0)
            asks.at[asks.n++] = (struct ask){ d, wide_clamp(sum[d]) };
    all = kind_asking(s->model, own, asks);
    return queue_may_allocate(s, task->group->job->queue, &all, &why);
}

/* Whether the queue may have all that is promised though nobody is evicted, found by doing it. */
static bool is_allowed_alone(struct statement *stmt)
{
    struct session *s = stmt->s;
    struct saved found = statement_save(stmt);
    bool allowed = true;
    struct why why;

    statement_discard(stmt);
    for (size_t i = 0; i < found.n && allowed; i++) {
        struct task *task = found.at[i].task;
        if (found.at[i].kind == OP_EVICT)
            continue;
        allowed = queue_may_allocate(s, task->group->job->queue, task->group->kind, &why);
        if (allowed)
            statement_pipeline(stmt, task, found.at[i].node, true, 0);
    }
    statement_discard(stmt);
    return statement_recover(stmt, &found) && allowed;
}

/* Whether its queue may have what a job is promised, whoever of those evicted for it comes back. */
static bool is_allowed_anyway(struct statement *stmt, const struct job *job)
{
    struct session *s = stmt->s;
    struct victims evicted = list_evicted(stmt);
    bool is_alike = job->n_groups == 1;

    return !victims_are_guarded(s, &evicted) &&
           ((is_alike && has_room_beside(s, &job->tasks[0], &evicted)) || is_allowed_alone(stmt));
}

/* Takes units back, most urgent first, without which everything still fits. */
static void give_back(struct statement *stmt, const struct job *job)
{
    struct session *s = stmt->s;
    struct saved found, all;

    if (can_give_back(stmt) && is_allowed_anyway(stmt, job)) {
        give_back_units(stmt);
        return;
    }
    found = statement_save(stmt);
    all = losses_first(s, &found);
    for (size_t i = all.n; i-- > 0;) {
        struct saved without = { ARENA_NEW0_N(&s->arena, struct op, all.n + 1), 0 };
        const struct job *theirs = all.at[i].task->group->job;
        bool whole = job_n_ready(theirs) < theirs->min_available;
        if (!is_loss(&all.at[i]))
            continue;
        /* A gang that went whole comes back whole. */
        for (size_t k = 0; k < all.n; k++)
            if (k != i && !is_of_unit(&all.at[i], &all.at[k], whole))
                without.at[without.n++] = all.at[k];
        statement_discard(stmt);
        if (redo(stmt, &without)) {
            bool holds = true;
            for (size_t k = 0; k < without.n && holds; k++)
                holds = is_loss(&without.at[k]) ||
                        fit_suits(s, without.at[k].task->group->kind, without.at[k].node);
            if (holds) {
                all = without;
                i = i < all.n ? i : all.n;
                continue;
            }
            statement_discard(stmt);
        }
        if (!statement_recover(stmt, &all))
            return; /* cannot be: it stood a moment ago */
    }
}

static bool has_nothing(const struct job *job)
{
    return !job_n_ready(job) && !job->n[BERTH_TASK_PIPELINED];
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
           f->n_log == s->log.n && job->priority <= f->priority && takes_for(s, job) >= f->needed &&
           has_nothing(job) && !seat_of(s, job)->is_loose;
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

    if (job->n_groups == 1 && has_nothing(job) && n >= takes_for(s, job) && !looks_at_some(s) &&
        !seat_of(s, job)->is_loose)
        *f = (struct take_failure){ s->number, s->log.n, job->priority, takes_for(s, job) };
}

/* Whether all that was promised is free, now that others have lost what was held for them. */
static bool is_all_free(const struct statement *stmt)
{
    const struct session *s = stmt->s;

    for (size_t i = stmt->mark; i < s->log.n; i++) {
        const struct op *op = &s->log.at[i];
        if (op->kind == OP_EVICT ||
            (op->kind == OP_PIPELINE && op->node->kept->state == NODE_COMING))
            return false;
    }
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

void take_settle(struct statement *stmt, struct job *job)
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
static bool is_within(struct session *s, const struct job *job, const wide *less)
{
    for (size_t g = 0; g < job->n_groups; g++)
        if (!queue_is_within(s, job->queue, &job->groups[g], less))
            return false;
    return true;
}

/* Whether a queue is at or under its fair share in what the job asks for. */
static bool is_queue_within(struct session *s, const struct queue *queue, const struct job *job)
{
    const wide *none = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    for (size_t g = 0; g < job->n_groups; g++)
        if (!queue_is_within(s, queue, &job->groups[g], none))
            return false;
    return true;
}

bool take_is_over(struct session *s, const struct job *job)
{
    const struct queue *queue = job->queue;
    bool is_over = false;

    if (!s->setup->takes_back)
        return false;
    s->lists = &s->scratch; /* asked of each that gets something */
    for (int depth = 0; queue && queue->kept && !is_over && depth <= QUEUE_DEPTH_MAX; depth++) {
        is_over = !is_queue_within(s, queue, job);
        queue = queue_find(s->model, queue->kept->parent);
    }
    s->lists = &s->arena;
    arena_clear(&s->scratch);
    return is_over;
}

/*
 * Whether what the job holds and is promised keeps its queue at or under its fair share, beside those of the
 * queue that are no less urgent. Those that are less urgent are counted only if the queue is over it with
 * them, and then what of them nobody could evict: it cannot be taken back before this one.
 */
static bool stays_within(struct session *s, const struct job *job)
{
    wide *below = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    if (is_within(s, job, below))
        return true;
    for (const struct job *other = job->queue->first; other; other = other->queue_next)
        if (other->priority < job->priority)
            job_add_losable(s, other, below);
    return is_within(s, job, below);
}

/* Whether a waiting job could take room back from another queue, now and somewhere. */
static bool is_claimant(struct session *s, struct job *job)
{
    const struct group *last = NULL;
    struct why why;

    if (!job_is_seeking(s, job) || !job_is_open(s, job, &why) || !demand_could_start(s, job))
        return false;
    for (size_t i = 0; i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        if (task->state != BERTH_TASK_PENDING || task->group == last)
            continue;
        last = task->group;
        if (task_may_preempt(task) && queue_is_preemptive(s, job->queue, task) &&
            task_may_start(s, task, &why) && kind_n_ever(s, task->group->kind) > 0)
            return true;
    }
    return false;
}

static void find_claimants(struct session *s)
{
    size_t n = 0;

    JOB_EACH (job, s->model)
        if (n < COUNT_OF(s->claimants) && job->queue && job->queue != s->claimants[0] &&
            is_claimant(s, job))
            s->claimants[n++] = job->queue;
    s->knows_claimants = true;
}

/* Whether somebody waits, or waited when it was first asked, who could take room back from the job's queue. */
static bool has_claimants(struct session *s, const struct job *mine)
{
    if (mine->queue->kept->not_reclaimable)
        return false;
    if (!s->knows_claimants)
        find_claimants(s);
    for (size_t i = 0; i < COUNT_OF(s->claimants); i++)
        if (s->claimants[i] && s->claimants[i] != mine->queue)
            return true;
    return false;
}

bool take_may_evict(const struct statement *stmt, const struct job *job)
{
    const struct session *s = stmt->s;

    if (!s->setup->takes_back)
        return true;
    for (size_t i = stmt->mark; i < s->log.n; i++)
        if (s->log.at[i].kind == OP_EVICT)
            return stays_within(stmt->s, job) || !has_claimants(stmt->s, job);
    return true;
}

/* Whether no room could be made for it in its turn before, and nobody got or lost any since. */
static bool was_in_vain(struct session *s, struct job *job, bool reclaim)
{
    return seat_of(s, job)->in_vain[reclaim] == s->log.n + 1 && !s->protect && !s->in.is_cold;
}

/* Whether some are evicted for a job that waits for a machine all the same. */
static bool is_in_vain(const struct statement *stmt)
{
    bool evicts = false, rides = false;

    for (size_t i = stmt->mark; i < stmt->s->log.n; i++) {
        const struct op *op = &stmt->s->log.at[i];
        evicts = evicts || op->kind == OP_EVICT;
        rides = rides || (op->kind == OP_PIPELINE && op->node->kept->state == NODE_COMING);
    }
    return evicts && rides;
}

/* All that a job needs, in a statement; or nothing. */
static bool find_room(struct statement *stmt, struct job *job, bool reclaim)
{
    struct session *s = stmt->s;
    struct victims tasks;
    bool is_short;

    if (!take_is_short(s, job) || job->kept->topology.mode || job->kept->n_sub_groups)
        return false;
    if (has_failed(s, job, reclaim) || was_in_vain(s, job, reclaim) || seat_of(s, job)->was_taken)
        return false;
    tasks = tasks_pending(s, job, true); /* who asks for nothing may be short of a slot */
    /* What nobody holds comes first, so that the share is judged with all of the placement. */
    for (size_t i = 0; i < tasks.n && take_is_short(s, job); i++)
        take_free(s, tasks.at[i]);
    for (size_t i = 0, n = s->log.n; i < tasks.n && take_is_short(s, job); i++) {
        if (tasks.at[i]->state != BERTH_TASK_PENDING)
            continue;
        /* Who went for another may have left more than that needs; the share is judged all the same. */
        if (s->log.n > n && (!reclaim || queue_is_preemptive(s, job->queue, tasks.at[i])))
            take_free(s, tasks.at[i]);
        if (tasks.at[i]->state == BERTH_TASK_PENDING)
            take_held(s, tasks.at[i], reclaim);
    }
    is_short = take_is_short(s, job) || !job_is_pipelined(s, job);
    if (is_short || !statement_has_losers(stmt)) {
        statement_discard(stmt);
        if (!looks_at_some(s))
            seat_of(s, job)->in_vain[reclaim] = s->log.n + 1;
        if (is_short) /* one that needs nobody's room says nothing of those that need more */
            note_failed(s, job, tasks.n, reclaim);
        return false;
    }
    if (s->policy->victim_set == VICTIM_SET_MINIMAL)
        give_back(stmt, job);
    if (!protect_admits(s, job) || is_in_vain(stmt)) {
        statement_discard(stmt);
        return false;
    }
    if (!reclaim && !take_may_evict(stmt, job)) {
        statement_discard(stmt);
        note_failed(s, job, tasks.n, reclaim);
        return false;
    }
    return true;
}

static bool keep_room(struct statement *stmt, struct job *job)
{
    take_settle(stmt, job);
    seat_of(stmt->s, job)->why.code = WAIT_NONE; /* of allocate */
    return statement_commit(stmt, job);
}

bool take_room(struct session *s, struct job *job, bool reclaim)
{
    struct statement loose = statement_open(s), stmt;
    bool rides = rides_let_go(&loose, job), took;

    stmt = statement_open(s);
    took = find_room(&stmt, job, reclaim) && keep_room(&stmt, job);
    if (rides)
        rooms_hold_on(&loose, job);
    return took;
}

static enum given take_by(struct session *s, struct job *job, bool reclaim, bool puts_off)
{
    struct statement stmt = statement_open(s);

    if (!find_room(&stmt, job, reclaim))
        return GIVEN_NOTHING;
    if (puts_off && !is_queue_within(s, job->queue, job)) {
        statement_discard(&stmt);
        return GIVEN_LATER;
    }
    return keep_room(&stmt, job) ? GIVEN_ROOM : GIVEN_NOTHING;
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

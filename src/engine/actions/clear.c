/*
 * Clear: who must go from a node so that a task fits. Victims go as units: a job loses tasks above its minimum, or
 * all of them, never a part of its gang; a reservation is taken whole. Of the sets that would do the first in
 * order is found, who need not go of it is kept, and then sets that cost less are looked for.
 */
#include "engine/actions/clear.h"

#include <stdlib.h>
#include <string.h>

#include "engine/actions.h"
#include "engine/fit.h"
#include "engine/protect.h"
#include "engine/room.h"
#include "engine/sheet.h"
#include "engine/take.h"
#include "engine/victims.h"

static const char *reason_of(bool reclaim)
{
    return reclaim ? "reclaim" : "preempt";
}

/* Held room goes before anybody who runs, else the order stays. */
static void put_held_first(struct session *s, struct victims *set)
{
    struct task **sorted = ARENA_NEW0_N(s->lists, struct task *, set->n + 1);
    size_t n = 0;

    if (!s->rooms.n)
        return;
    for (int runs = 0; runs < 2; runs++)
        for (size_t i = 0; i < set->n; i++)
            if ((set->at[i]->state != BERTH_TASK_PIPELINED) == runs)
                sorted[n++] = set->at[i];
    set->at = sorted;
}

/* Those whom their jobs can spare before those with whom a gang goes, where they are equally urgent. */
static void put_spare_first(struct session *s, struct victims *set)
{
    struct task **sorted = ARENA_NEW0_N(s->lists, struct task *, set->n + 1);
    size_t n = 0, end;

    for (size_t from = 0; from < set->n; from = end) {
        int64_t priority = set->at[from]->group->job->priority;
        for (end = from; end < set->n && set->at[end]->group->job->priority == priority;)
            end++;
        for (int whole = 0; whole < 2; whole++)
            for (size_t i = from; i < end; i++) {
                const struct job *job = set->at[i]->group->job;
                uint32_t ready = job_n_ready(job);
                if ((ready > 1 && ready <= job->min_available) == whole)
                    sorted[n++] = set->at[i];
            }
    }
    set->at = sorted;
}

static struct victims find_victims(struct session *s, const struct task *task,
                                   const struct node *node, bool reclaim)
{
    struct victims from = node_tasks(s, node), set;
    size_t n = 0;

    for (size_t i = 0; i < from.n; i++)
        if (take_may_go(s, task->group->job, from.at[i], reclaim) &&
            (!task->group->kind->best_effort || from.at[i]->group->kind->best_effort))
            from.at[n++] = from.at[i];
    from.n = n;
    if (!n)
        return from;
    /* Plugins name as many as a share or a budget spares: those whom it costs least to lose. */
    victims_sort(s, &from, task->group->job);
    put_spare_first(s, &from);
    set = victims_agree(s, reclaim, task, &from); /* in that order */
    put_held_first(s, &set);
    return set;
}

/* Whether it is there to be evicted, or holds room, yet. */
static bool is_there(const struct session *s, const struct task *task)
{
    return state_is_allocated(task->state) || task_room(s, task);
}

/* Evicts a task that its job can spare, or with it all of its job; or takes what is held with it. */
static void evict_unit(struct statement *stmt, struct task *task, const char *reason)
{
    struct job *job = task->group->job;
    const struct held_room *room = task_room(stmt->s, task);

    if (room) {
        take_room_whole(stmt, room, reason);
        return;
    }
    if (stmt->s->policy->victim_unit == UNIT_TASK || job_n_ready(job) > job->min_available) {
        statement_evict(stmt, task, reason);
        return;
    }
    for (size_t i = 0; i < job->n_tasks; i++)
        if (state_is_allocated(job->tasks[i].state))
            statement_evict(stmt, &job->tasks[i], reason);
}

static bool fits(struct session *s, const struct task *task, const struct node *node)
{
    struct why why;

    return queue_may_allocate(s, task->group->job->queue, task->group->kind, &why) &&
           fits_future(s, task, node, NULL) && fit_suits(s, task->group->kind, node) &&
           protect_allows(s, task, node);
}

static void add_held(struct cost *cost, const struct job *job)
{
    if (job->priority > cost->held_priority)
        cost->held_priority = job->priority;
    cost->n_held++;
}

static void add_lost(const struct session *s, struct cost *cost, const struct task *task)
{
    int64_t from =
        task->checkpoint_at_ms > task->started_at_ms ? task->checkpoint_at_ms : task->started_at_ms;

    if (task->group->job->priority > cost->priority)
        cost->priority = task->group->job->priority;
    if (from && s->in.now_ms > from)
        cost->lost += (wide)(s->in.now_ms - from) * (1 + asks_of(task_asks(task), DIM_CPU));
    cost->n++;
}

static struct cost cost_none(void)
{
    return (struct cost){ .priority = INT64_MIN, .held_priority = INT64_MIN };
}

struct cost cost_of(const struct session *s, size_t mark)
{
    struct cost cost = cost_none();

    for (size_t i = mark; i < s->log.n; i++) {
        const struct task *task = s->log.at[i].task;
        if (s->log.at[i].kind == OP_TAKE)
            add_held(&cost, task->group->job);
        if (s->log.at[i].kind != OP_EVICT)
            continue;
        cost.n_broken += job_may_lose(task->group->job) < 0;
        add_lost(s, &cost, task);
    }
    return cost;
}

int cost_cmp(const struct cost *a, const struct cost *b)
{
    if (a->n_broken != b->n_broken)
        return a->n_broken < b->n_broken ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    if (a->held_priority != b->held_priority)
        return a->held_priority < b->held_priority ? -1 : 1;
    return (a->n_held > b->n_held) - (a->n_held < b->n_held);
}

/* Evicts those marked, in their order. */
static void evict_marked(struct statement *stmt, const struct victims *set, const bool *marked,
                         const char *reason)
{
    for (size_t i = 0; i < set->n; i++)
        if (marked[i] && is_there(stmt->s, set->at[i]))
            evict_unit(stmt, set->at[i], reason);
}

/* Whether evicting one of them is always evicting just that one. */
static bool go_one_by_one(const struct session *s, const struct victims *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct held_room *room = task_room(s, set->at[i]);
        if (room && room->n > 1)
            return false;
    }
    for (size_t i = 0; i < set->n && s->policy->victim_unit != UNIT_TASK; i++) {
        const struct job *job = set->at[i]->group->job;
        uint32_t n = job_n_ready(job);
        if (n > 1 && n < job->min_available + set->n)
            return false;
    }
    return true;
}

/* Whether room for amounts is all that can keep the task from the node, whoever of them goes. */
static bool is_about_amounts(struct session *s, const struct task *task, const struct node *node,
                             const struct victims *set)
{
    struct why why;

    return !s->in.is_cold && !s->protect && !node->n_over && sheet_is_plain(s, task->group->kind) &&
           !fit_predicate(s, task->group->kind, node) &&
           queue_may_allocate(s, task->group->job->queue, task->group->kind, &why) &&
           !victims_are_guarded(s, set);
}

/* Marks in order until the task would fit, then takes back each without whom it would too. */
static void mark_by_amounts(const struct session *s, const struct task *task,
                            const struct node *node, const struct victims *set, bool *marked)
{
    size_t n = 0;

    while (n < set->n && !fits_without(s, task, node, set, marked))
        marked[n++] = true;
    for (size_t i = n; s->policy->victim_set == VICTIM_SET_MINIMAL && i-- > 0;) {
        marked[i] = false;
        if (!fits_without(s, task, node, set, marked))
            marked[i] = true;
    }
}

/* The same by evicting and asking all checks; false: it cannot be. */
static bool mark_by_trial(struct statement *stmt, const struct task *task, const struct node *node,
                          const struct victims *set, bool *marked, const char *reason)
{
    struct session *s = stmt->s;
    size_t n = 0;

    for (; n < set->n && !fits(s, task, node); n++) {
        marked[n] = true;
        if (is_there(s, set->at[n]))
            evict_unit(stmt, set->at[n], reason);
    }
    if (!fits(s, task, node)) {
        statement_discard(stmt);
        return false;
    }
    for (size_t i = n; s->policy->victim_set == VICTIM_SET_MINIMAL && i-- > 0;) {
        statement_discard(stmt);
        marked[i] = false;
        evict_marked(stmt, set, marked, reason);
        if (!fits(s, task, node))
            marked[i] = true;
    }
    statement_discard(stmt);
    return true;
}

/* --- What costs less than the first in order */

enum { MOST_STEPS = 100 }; /* of a search; all sets of six victims are fewer */

/* One who might go, and what would be lost with it. */
struct offer {
    struct task *task;
    size_t at; /* in the order */
    struct cost cost;
};

struct bargain {
    struct statement *stmt;
    const struct task *task;
    const struct node *node;
    const char *reason;
    struct offer *offers; /* the cheapest first */
    size_t n, steps;
    bool *goes, *best; /* by place in the order */
    struct cost least;
    const struct victims *set;
    bool one_by_one; /* each goes alone */
};

static int by_cost(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    int cmp = cost_cmp(&x->cost, &y->cost);

    return cmp ? cmp : (x->at > y->at) - (x->at < y->at);
}

/* What going costs at least: nobody else with it, and no budget broken. */
static struct cost cost_alone(const struct session *s, const struct task *task)
{
    struct cost cost = cost_none();

    if (task->state == BERTH_TASK_PIPELINED)
        add_held(&cost, task->group->job);
    else
        add_lost(s, &cost, task);
    return cost;
}

/* How many more must go at least, as none of them frees more than the largest. */
static int64_t n_needed(const struct bargain *b)
{
    const struct session *s = b->stmt->s;
    const struct asks *asks = &b->task->group->kind->asks;
    int64_t needed = 1;

    for (size_t i = 0; i < asks->n && b->one_by_one; i++) {
        uint32_t d = asks->at[i].dim;
        int64_t most = 1;
        int64_t lacks = asks->at[i].value - column_future(&s->model->columns[d], b->node->at);
        for (size_t k = 0; k < b->set->n; k++) {
            int64_t frees = asks_of(task_asks(b->set->at[k]), d);
            most = frees > most ? frees : most;
        }
        if (lacks > 0 && lacks / most + (lacks % most > 0) > needed)
            needed = lacks / most + (lacks % most > 0);
    }
    return needed;
}

/* Whether a set could cost less than the least that is known: so many as must go, each as cheap as the
 * cheapest in all. */
static bool may_be_cheaper(const struct bargain *b)
{
    struct cost bound = { .priority = INT64_MAX, .held_priority = INT64_MIN };
    int64_t n = n_needed(b);
    wide lost = -1;

    for (size_t i = 0; i < b->set->n; i++) {
        struct cost cost = cost_alone(b->stmt->s, b->set->at[i]);
        bound.priority = cost.priority < bound.priority ? cost.priority : bound.priority;
        lost = lost < 0 || cost.lost < lost ? cost.lost : lost;
        if (!cost.n)
            return true; /* what is held for it costs no work */
    }
    bound.lost = lost * n;
    bound.n = (size_t)n;
    return cost_cmp(&bound, &b->least) < 0;
}

static void list_offers(struct bargain *b, const struct victims *set)
{
    for (size_t i = 0; i < set->n; i++) {
        struct statement own = statement_open(b->stmt->s);
        evict_unit(&own, set->at[i], b->reason);
        b->offers[i] = (struct offer){ set->at[i], i, cost_of(own.s, own.mark) };
        statement_discard(&own);
    }
    b->n = set->n;
    qsort(b->offers, b->n, sizeof(*b->offers), by_cost);
}

/* Whether the offers from i on could still make a set that costs less: they are no cheaper than the first of
 * them, but for the work of those that are more urgent. */
static bool is_hopeless(const struct bargain *b, const struct cost *so_far, size_t i, int64_t n)
{
    const struct cost *next = &b->offers[i].cost;
    struct cost bound = *so_far;

    if (!next->n)
        return false;
    bound.priority = next->priority > bound.priority ? next->priority : bound.priority;
    if (next->priority == b->offers[b->n - 1].cost.priority && !b->offers[b->n - 1].cost.n_broken) {
        bound.lost += next->lost * n;
        bound.n += (size_t)n;
    }
    return cost_cmp(&bound, &b->least) >= 0;
}

/* All sets that cost less, one victim more at a time. */
static void bargain_on(struct bargain *b, const struct cost *so_far, size_t from)
{
    struct session *s = b->stmt->s;
    int64_t n = n_needed(b);

    for (size_t i = from; i < b->n && b->steps < MOST_STEPS; i++) {
        struct statement own = statement_open(s);
        struct cost cost;
        if (!is_there(s, b->offers[i].task))
            continue; /* it went with another */
        if (is_hopeless(b, so_far, i, n))
            return;
        b->steps++;
        evict_unit(&own, b->offers[i].task, b->reason);
        b->goes[b->offers[i].at] = true;
        cost = cost_of(s, b->stmt->mark);
        if (cost_cmp(&cost, &b->least) < 0) {
            if (!fits(s, b->task, b->node)) {
                bargain_on(b, &cost, i + 1);
            } else {
                b->least = cost;
                memcpy(b->best, b->goes, b->n * sizeof(*b->best));
            }
        }
        b->goes[b->offers[i].at] = false;
        statement_discard(&own);
    }
}

/* What those marked cost; where no budget has a say and each goes alone, without trying it. */
static struct cost cost_of_marked(struct bargain *b, const bool *marked)
{
    struct session *s = b->stmt->s;
    struct cost cost = cost_none();
    bool adds_up = b->one_by_one;

    for (size_t i = 0; i < b->set->n && adds_up; i++) {
        const struct task *task = b->set->at[i];
        adds_up = task->state != BERTH_TASK_PIPELINED && !task->group->job->kept->budget.is_given;
        if (marked[i])
            add_lost(s, &cost, task);
    }
    if (adds_up)
        return cost;
    evict_marked(b->stmt, b->set, marked, b->reason);
    cost = cost_of(s, b->stmt->mark);
    statement_discard(b->stmt);
    return cost;
}

/*
 * Marks others where that costs less: who comes first in order may be of a gang that goes whole, or have worked
 * for long. Of sets that cost the same the one in order stays.
 */
static void mark_cheapest(struct statement *stmt, const struct task *task, const struct node *node,
                          const struct victims *set, bool *marked, const char *reason)
{
    struct session *s = stmt->s;
    struct bargain b = { .stmt = stmt,
                         .task = task,
                         .node = node,
                         .reason = reason,
                         .best = marked,
                         .set = set,
                         .one_by_one = go_one_by_one(s, set) };
    struct cost none = cost_none();

    b.least = cost_of_marked(&b, marked);
    if (!may_be_cheaper(&b))
        return;
    b.offers = ARENA_NEW0_N(s->lists, struct offer, set->n + 1);
    b.goes = ARENA_NEW0_N(s->lists, bool, set->n + 1);
    list_offers(&b, set);
    bargain_on(&b, &none, 0);
}

bool clear_node(struct statement *stmt, struct task *task, struct node *node, bool reclaim)
{
    struct session *s = stmt->s;
    struct victims set = find_victims(s, task, node, reclaim);
    bool *marked = ARENA_NEW0_N(s->lists, bool, set.n + 1);

    if (!set.n || !fits_future(s, task, node, &set))
        return false;
    if (go_one_by_one(s, &set) && is_about_amounts(s, task, node, &set))
        mark_by_amounts(s, task, node, &set, marked);
    else if (!mark_by_trial(stmt, task, node, &set, marked, reason_of(reclaim)))
        return false;
    if (s->policy->victim_set == VICTIM_SET_MINIMAL)
        mark_cheapest(stmt, task, node, &set, marked, reason_of(reclaim));
    evict_marked(stmt, &set, marked, reason_of(reclaim));
    return fits(s, task, node);
}

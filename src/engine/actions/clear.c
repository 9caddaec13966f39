/*
 * Clear: who must go from a node so that a task fits. Victims go as units: a job loses tasks above its minimum, or
 * all of them, never a part of its gang; a reservation is taken whole. Of the sets that would do the first in
 * order is found, and who need not go of it is kept. Then sets that cost less are looked for, or, where those
 * first in order use up a budget or a share and are not enough, any set that will do.
 */
#include "engine/actions/clear.h"

#include <string.h>

#include "engine/actions.h"
#include "engine/actions/bargain.h"
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
    struct task **sorted;
    size_t n = 0;

    if (!s->rooms.n)
        return;
    sorted = ARENA_NEW0_N(s->lists, struct task *, set->n + 1);
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
                const struct group *group = set->at[i]->group;
                if ((job_n_ready(group->job) > 1 && !group_spares(group)) == whole)
                    sorted[n++] = set->at[i];
            }
    }
    set->at = sorted;
}

/* Whether none of a job ever takes others with it. */
static bool goes_one_by_one(const struct session *s, const struct job *job)
{
    /* Of one that is all its job has none goes with it. */
    return s->policy->victim_unit == UNIT_TASK || job_n_ready(job) == 1;
}

size_t clear_spares(const struct session *s, const struct job *job)
{
    return goes_one_by_one(s, job) ? SIZE_MAX : job_spares(job);
}

bool clear_can_spare(const struct session *s, const struct victims *gone, const struct task *task)
{
    return goes_one_by_one(s, task->group->job) || victims_spare(gone, task);
}

/* Who goes with a whole job, those on the node first; none if one of them is not to be evicted. */
static struct victims list_whole(const struct clearing *c, const struct job *job)
{
    struct victims whole = { ARENA_NEW0_N(c->stmt->s->lists, struct task *, job->n_tasks + 1), 0 };

    for (int elsewhere = 0; elsewhere < 2; elsewhere++)
        for (size_t i = 0; i < job->n_tasks; i++) {
            struct task *task = &job->tasks[i];
            if (!state_is_allocated(task->state) || (task->node != c->node) != elsewhere)
                continue;
            if (!task->is_told || !task_is_preemptable(task) ||
                (task->state != BERTH_TASK_BOUND && task->state != BERTH_TASK_RUNNING))
                return (struct victims){ whole.at, 0 };
            whole.at[whole.n++] = task;
        }
    return whole;
}

wide *clear_lacks(const struct clearing *c)
{
    const struct session *s = c->stmt->s;
    const struct asks *asks = &c->task->group->kind->asks;
    wide *lacks = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    for (size_t i = 0; i < asks->n; i++) {
        uint32_t d = asks->at[i].dim;
        lacks[d] = (wide)asks->at[i].value - column_future(&s->model->columns[d], c->node->at);
    }
    return lacks;
}

bool clear_may_go_whole(const struct clearing *c, const struct job *job)
{
    struct session *s = c->stmt->s;
    struct victims whole = list_whole(c, job), named;
    struct taking taking = { .job = c->task->group->job, .reclaim = c->reclaim };

    if (!whole.n)
        return false;
    taking.lacks = clear_lacks(c);
    taking.unit = ARENA_NEW0_N(s->lists, size_t, whole.n);
    named = victims_agree_on(s, &taking, c->task, &whole);
    return named.n == whole.n;
}

/*
 * Leaves out those who would take their job with them where it may not go whole: of a job that can spare some,
 * none, or (`most`) all but as many as it can spare.
 */
static void keep_movable(const struct clearing *c, struct victims *set, bool most)
{
    struct session *s = c->stmt->s;
    const struct job *last = NULL;
    bool whole = false;
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct job *job = set->at[i]->group->job;
        const struct victims before = { set->at, most ? n : 0 };
        if (!task_room(s, set->at[i]) && !clear_can_spare(s, &before, set->at[i])) {
            whole = last == job ? whole : clear_may_go_whole(c, job);
            last = job;
            if (!whole)
                continue;
        }
        set->at[n++] = set->at[i];
    }
    set->n = n;
}

/* Whether one of them may take others with it. */
static bool have_gangs(const struct session *s, const struct victims *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct job *job = set->at[i]->group->job;
        if (!goes_one_by_one(s, job) && job_spares_any(job) < set->n)
            return true;
    }
    return false;
}

static struct victims list_candidates(const struct clearing *c)
{
    struct session *s = c->stmt->s;
    struct victims from = node_tasks(s, c->node);
    size_t n = 0;

    for (size_t i = 0; i < from.n; i++)
        if (take_may_go(s, c->task->group->job, from.at[i], c->reclaim) &&
            (!c->task->group->kind->best_effort || from.at[i]->group->kind->best_effort))
            from.at[n++] = from.at[i];
    from.n = n;
    return from;
}

static bool have_budgets(const struct victims *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->at[i]->group->job->kept->budget.is_given)
            return true;
    return false;
}

/*
 * Those that plugins name each for itself: of those whom they do not name with others, whom they do without. Where
 * they name none there is none, but one plugin may spend a budget, or a share, on somebody whom another spares.
 */
static struct victims add_each_alone(const struct clearing *c, const struct victims *from,
                                     const struct victims *together)
{
    struct session *s = c->stmt->s;
    struct victims all = *together, rest, more;
    size_t n = 0;

    if (all.n == from->n)
        return *from;
    all.at = ARENA_NEW0_N(s->lists, struct task *, from->n + 1);
    if (all.n)
        memcpy(all.at, together->at, all.n * sizeof(*all.at));
    rest.at = ARENA_NEW0_N(s->lists, struct task *, from->n + 1);
    do {
        rest.n = 0;
        for (size_t i = 0; i < from->n; i++)
            if (!victims_have(&all, from->at[i]))
                rest.at[rest.n++] = from->at[i];
        more = rest.n ? victims_agree(s, c->reclaim, c->task, &rest) : rest;
        for (size_t i = 0; i < more.n; i++)
            all.at[all.n++] = more.at[i];
    } while (more.n);
    for (size_t i = 0; have_budgets(&rest) && i < rest.n; i++) {
        struct victims one = { &rest.at[i], 1 };
        if (victims_agree(s, c->reclaim, c->task, &one).n)
            all.at[all.n++] = rest.at[i];
    }
    for (size_t i = 0; i < from->n; i++) /* in their order */
        if (victims_have(&all, from->at[i]))
            rest.at[n++] = from->at[i];
    rest.n = n;
    return rest;
}

/*
 * Whom plugins let go. Asked about many they name, in that order, as many as a share or a budget spares; `first`
 * are those. Of the others each may do alone what the first do not.
 */
static void find_victims(struct clearing *c, struct victims *first)
{
    struct session *s = c->stmt->s;
    struct victims from = list_candidates(c);
    size_t n = from.n;
    bool has_gangs;

    if (!n || !fits_future(s, c->task, c->node, &from))
        return;
    /* Those whom it costs least to lose. */
    victims_sort(s, &from, c->task->group->job);
    put_spare_first(s, &from);
    has_gangs = have_gangs(s, &from);
    if (has_gangs)
        keep_movable(c, &from, false);
    *first = victims_agree(s, c->reclaim, c->task, &from); /* in that order */
    c->set = add_each_alone(c, &from, first);
    if (c->set.n < n && !fits_future(s, c->task, c->node, &c->set))
        c->set.n = 0;
    if (has_gangs)
        keep_movable(c, first, true);
    c->is_free = first->n == c->set.n;
    put_held_first(s, first);
    put_held_first(s, &c->set);
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
    if (stmt->s->policy->victim_unit == UNIT_TASK || group_spares(task->group)) {
        statement_evict(stmt, task, reason);
        return;
    }
    for (size_t i = 0; i < job->n_tasks; i++)
        if (state_is_allocated(job->tasks[i].state))
            statement_evict(stmt, &job->tasks[i], reason);
}

static bool queue_allows(struct session *s, const struct task *task, const struct node *node)
{
    const struct queue *queue = task->group->job->queue;
    const struct kind *kind = task->group->kind;
    struct why why;

    return node->kept->state == NODE_COMING ? queue_may_ride(s, queue, kind, &why)
                                            : queue_may_allocate(s, queue, kind, &why);
}

static bool fits(struct session *s, const struct task *task, const struct node *node)
{
    return queue_allows(s, task, node) && fits_future(s, task, node, NULL) &&
           fit_suits(s, task->group->kind, node) && protect_allows(s, task, node);
}

static void evict_marked(struct statement *stmt, const struct victims *set, const bool *marked,
                         const char *reason)
{
    for (size_t i = 0; i < set->n; i++)
        if (marked[i] && is_there(stmt->s, set->at[i]))
            evict_unit(stmt, set->at[i], reason);
}

void clear_evict(struct clearing *c)
{
    evict_marked(c->stmt, &c->set, c->marked, reason_of(c->reclaim));
}

bool clear_fits(const struct clearing *c)
{
    return fits(c->stmt->s, c->task, c->node);
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
        if (job_n_ready(job) > 1 && job_spares_any(job) < set->n)
            return false;
    }
    return true;
}

/* Whether room for amounts is all that can keep the task from the node, whoever of them goes. */
static bool is_about_amounts(struct session *s, const struct task *task, const struct node *node,
                             const struct victims *set)
{
    return !s->in.is_cold && !s->protect && !node->n_over &&
           !sheet_minds_leaving(s, task->group->kind) &&
           !fit_predicate(s, task->group->kind, node) && queue_allows(s, task, node) &&
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

/* Marks whom it takes of the first when they are gone through in order; false: it cannot be. */
static bool mark_in_order(struct clearing *c, const struct victims *first)
{
    struct session *s = c->stmt->s;
    bool *marked = c->marked;

    if (!c->is_free && !fits_future(s, c->task, c->node, first))
        return false;
    if (!c->is_free)
        marked = ARENA_NEW0_N(s->lists, bool, first->n + 1);
    if (c->is_one_by_one && c->is_about_amounts)
        mark_by_amounts(s, c->task, c->node, first, marked);
    else if (!mark_by_trial(c->stmt, c->task, c->node, first, marked, reason_of(c->reclaim)))
        return false;
    for (size_t i = 0, k = 0; !c->is_free && i < first->n; i++, k++) {
        while (c->set.at[k] != first->at[i])
            k++;
        c->marked[k] = marked[i];
    }
    return true;
}

/* Whether some of the set could do where those first in order do not, nor all of it: plugins would not let
 * all go, or with some what a queue is guaranteed, or company that the task needs. */
static bool may_do_with_fewer(const struct clearing *c)
{
    struct session *s = c->stmt->s;

    return !c->is_free || victims_are_guarded(s, &c->set) ||
           (!sheet_is_local(s, c->task->group->kind) &&
            sheet_minds_leaving(s, c->task->group->kind));
}

bool clear_node(struct statement *stmt, struct task *task, struct node *node, bool reclaim)
{
    struct session *s = stmt->s;
    struct clearing c = { .stmt = stmt, .task = task, .node = node, .reclaim = reclaim };
    struct victims first = { 0 };
    bool found;

    if (node->kept->state == NODE_COMING && reclaim &&
        !queue_is_preemptive(s, task->group->job->queue, task, true))
        return false;
    if (node->kept->state == NODE_COMING && fits(s, task, node))
        return true; /* it rides there, and nobody need lose what is held elsewhere */
    find_victims(&c, &first);
    if (!c.set.n)
        return false;
    c.marked = ARENA_NEW0_N(s->lists, bool, c.set.n + 1);
    c.is_one_by_one = go_one_by_one(s, &c.set);
    c.is_about_amounts = is_about_amounts(s, task, node, &c.set);
    found = mark_in_order(&c, &first);
    if (!found && !may_do_with_fewer(&c))
        return false;
    if ((!found || s->policy->victim_set == VICTIM_SET_MINIMAL) && !bargain(&c, found))
        return false;
    clear_evict(&c);
    return fits(s, task, node);
}

bool clear_cost(struct session *s, struct task *task, struct node *node, bool reclaim,
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

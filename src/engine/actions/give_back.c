/*
 * Giving back: victims without whom everything still fits stay. Most urgent first, one unit after
 * the other, each judged with those that were given back before it.
 *
 * What is judged is whether the statement could be done again without the unit. Where tasks want
 * amounts alone, that hangs on the unit's nodes only, so only their steps are gone through.
 */
#include <assert.h>
#include <string.h>

#include "engine/actions/elsewhere.h"
#include "engine/actions/give_back.h"
#include "engine/devices.h"
#include "engine/res.h"
#include "engine/room.h"
#include "engine/sheet.h"
#include "engine/victims.h"

/* Operations grouped, each group in the order in which they came. */
struct grouped {
    size_t *order;
    size_t *first; /* by operation: where its group begins in `order` */
};

/* The operations of a statement. */
struct steps {
    struct session *s;
    struct op *ops;
    size_t n;
    struct grouped nodes, jobs;
    bool *is_gone;   /* given back, or looked at as if it were */
    bool *is_undone; /* given back */
    int64_t *room;   /* by dimension, while a node's steps are gone through */
};

static uint32_t node_of(const struct op *op)
{
    return op->node->at;
}

static uint32_t job_of(const struct op *op)
{
    return op->task->group->job->at;
}

struct sorter {
    const struct op *ops;
    uint32_t (*of)(const struct op *op);
};

static int by_group(const void *a, const void *b, void *arg)
{
    const struct sorter *sorter = arg;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    uint32_t i = sorter->of(&sorter->ops[x]), k = sorter->of(&sorter->ops[y]);

    return i != k ? (i > k) - (i < k) : (x > y) - (x < y);
}

static struct grouped group_by(const struct steps *steps, uint32_t (*of)(const struct op *op))
{
    struct grouped g = { ARENA_NEW0_N(&steps->s->scratch, size_t, steps->n + 1),
                         ARENA_NEW0_N(&steps->s->scratch, size_t, steps->n + 1) };
    struct sorter sorter = { steps->ops, of };

    for (size_t i = 0; i < steps->n; i++)
        g.order[i] = i;
    qsort_r(g.order, steps->n, sizeof(*g.order), by_group, &sorter);
    for (size_t i = 0, first = 0; i < steps->n; i++) {
        if (of(&steps->ops[g.order[first]]) != of(&steps->ops[g.order[i]]))
            first = i;
        g.first[g.order[i]] = first;
    }
    return g;
}

static void add(const struct steps *steps, const struct op *op, int sign)
{
    const struct asks *asks = task_asks(op->task);

    if (op->kind == OP_PIPELINE)
        sign = -sign;
    for (size_t i = 0; i < asks->n; i++)
        steps->room[asks->at[i].dim] =
            wrap_add(steps->room[asks->at[i].dim], sign * asks->at[i].value);
}

/* Whether the steps on the node of operation `of` could be done again without those gone, the
 * evictions first. */
static bool can_redo(const struct steps *steps, size_t of)
{
    const struct model *model = steps->s->model;
    const struct node *node = steps->ops[of].node;
    const size_t *order = steps->nodes.order;
    size_t first = steps->nodes.first[of], end = first;

    for (size_t d = 0; d < model->dims.n; d++)
        steps->room[d] = column_future(&model->columns[d], node->at);
    for (; end < steps->n && steps->ops[order[end]].node == node; end++)
        if (!steps->is_undone[order[end]])
            add(steps, &steps->ops[order[end]], -1);
    for (size_t i = first; i < end; i++)
        if (steps->ops[order[i]].kind == OP_EVICT && !steps->is_gone[order[i]])
            add(steps, &steps->ops[order[i]], 1);
    for (size_t i = first; i < end; i++) {
        const struct op *op = &steps->ops[order[i]];
        const struct asks *asks = &op->task->group->kind->asks;
        if (op->kind == OP_EVICT)
            continue;
        for (size_t k = 0; k < asks->n; k++)
            if (asks->at[k].value > steps->room[asks->at[k].dim])
                return false;
        add(steps, op, 1);
    }
    return true;
}

/* What is left, the evictions first. */
static size_t close_up(struct steps *steps)
{
    struct op *left = ARENA_NEW0_N(&steps->s->scratch, struct op, steps->n + 1);
    size_t n = 0;

    for (int rest = 0; rest < 2; rest++)
        for (size_t i = 0; i < steps->n; i++)
            if ((steps->ops[i].kind != OP_EVICT) == rest && !steps->is_undone[i])
                left[n++] = steps->ops[i];
    memcpy(steps->ops, left, n * sizeof(*left));
    return n;
}

/* The evictions that go back with i: itself, or all that are left of its job. */
static size_t list_unit(const struct steps *steps, size_t i, size_t *unit)
{
    const struct job *job = steps->ops[i].task->group->job;
    const size_t *order = steps->jobs.order;
    size_t n = 0;

    if (job_has_minimum(job)) {
        unit[0] = i;
        return 1;
    }
    for (size_t k = steps->jobs.first[i];
         k < steps->n && steps->ops[order[k]].task->group->job == job; k++)
        if (steps->ops[order[k]].kind == OP_EVICT && !steps->is_undone[order[k]])
            unit[n++] = order[k];
    return n;
}

static void try_unit(struct steps *steps, const size_t *unit, size_t n)
{
    bool holds = true;

    for (size_t k = 0; k < n; k++)
        steps->is_gone[unit[k]] = true;
    for (size_t k = 0; k < n && holds; k++)
        holds = can_redo(steps, unit[k]);
    for (size_t k = 0; k < n; k++) {
        steps->is_gone[unit[k]] = steps->is_undone[unit[k]] = holds;
        if (holds)
            statement_take_out(steps->s, &steps->ops[unit[k]]);
    }
}

static bool can_reckon(const struct statement *stmt)
{
    struct session *s = stmt->s;

    if (s->in.is_cold)
        return false;
    for (size_t i = stmt->mark; i < s->log.n; i++) {
        const struct op *op = &s->log.at[i];
        struct kind *kind = op->task->group->kind;
        if ((op->kind != OP_EVICT && op->kind != OP_PIPELINE) || op->node->at == NOWHERE ||
            op->node->n_over)
            return false;
        if (op->kind == OP_PIPELINE &&
            (!sheet_is_plain(s, kind) || fit_predicate(s, kind, op->node)))
            return false;
    }
    return true;
}

static void give_back_units(struct statement *stmt)
{
    struct session *s = stmt->s;
    size_t n = s->log.n - stmt->mark;
    struct steps steps = { .s = s, .ops = &s->log.at[stmt->mark], .n = n };
    size_t *unit = ARENA_NEW0_N(&s->scratch, size_t, n + 1);

    steps.nodes = group_by(&steps, node_of);
    steps.jobs = group_by(&steps, job_of);
    steps.is_gone = ARENA_NEW0_N(&s->scratch, bool, n + 1);
    steps.is_undone = ARENA_NEW0_N(&s->scratch, bool, n + 1);
    steps.room = ARENA_NEW0_N(&s->scratch, int64_t, s->model->dims.n + 1);
    for (size_t i = n; i-- > 0;)
        if (steps.ops[i].kind == OP_EVICT && !steps.is_undone[i])
            try_unit(&steps, unit, list_unit(&steps, i, unit));
    s->log.n = stmt->mark + close_up(&steps);
    arena_clear(&s->scratch);
}

/* --- By doing it again */

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

bool is_of_unit(const struct op *a, const struct op *b, bool whole)
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

/* Takes units back, most urgent first, without which everything still fits where it is. */
static void give_back_in_place(struct statement *stmt, const struct job *job)
{
    struct session *s = stmt->s;
    struct saved found, all;

    if (can_reckon(stmt) && is_allowed_anyway(stmt, job)) {
        give_back_units(stmt);
        return;
    }
    found = statement_save(stmt);
    all = losses_first(s, &found);
    for (size_t i = all.n; i-- > 0;) {
        struct saved without = { ARENA_NEW0_N(&s->arena, struct op, all.n + 1), 0 };
        const struct job *theirs = all.at[i].task->group->job;
        bool whole = !job_has_minimum(theirs);
        if (!op_is_loss(&all.at[i]))
            continue;
        /* A gang that went whole comes back whole. */
        for (size_t k = 0; k < all.n; k++)
            if (k != i && !is_of_unit(&all.at[i], &all.at[k], whole))
                without.at[without.n++] = all.at[k];
        statement_discard(stmt);
        if (redo(stmt, &without)) {
            bool holds = true;
            for (size_t k = 0; k < without.n && holds; k++)
                holds = op_is_loss(&without.at[k]) ||
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

void give_back(struct statement *stmt, struct job *job, bool reclaim)
{
    give_back_in_place(stmt, job);
    give_back_elsewhere(stmt, job, reclaim);
}

/*
 * Giving back: victims without whom everything still fits stay. Most urgent first, one unit after
 * the other, each judged with those that were given back before it.
 *
 * What is judged is whether the statement could be done again without the unit. Where tasks want
 * amounts alone, that hangs on the unit's nodes only, so only their steps are gone through.
 */
#include <assert.h>
#include <string.h>

#include "engine/actions/give_back.h"
#include "engine/room.h"
#include "engine/sheet.h"

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

    if (job_n_ready(job) >= job->min_available) {
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

bool can_give_back(const struct statement *stmt)
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

void give_back_units(struct statement *stmt)
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

/*
 * Judge of orders: a machine that is asked for, and what becomes of it. From the moment that an
 * order is accepted its node has a row, coming, under the order's key, on which room may be held.
 * The machine registers under that name; then it is a node as any other.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>

#include "base/name.h"

static void put_order(struct trial *t, struct row_order *row)
{
    static const char *const types[ORDER_STATE_COUNT] = {
        [ORDER_WANTED] = "order.wanted",       [ORDER_PLACED] = "order.placed",
        [ORDER_CAME] = "order.came",           [ORDER_FAILED] = "order.failed",
        [ORDER_CANCELLED] = "order.cancelled", [ORDER_RELEASED] = "order.released",
    };

    if (order_is_over((enum order_state)row->state))
        row->ended_at = t->now;
    changes_put(t->changes, ROW_ORDER, row, types[row->state]);
}

static bool is_order_good(struct trial *t, const struct op_order *op)
{
    if (!op->key || !name_is_valid_node(op->key))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/key", "it cannot name a node");
    else if (!op->shape || !are_offers_valid(op->shape))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/shape",
                    "it must be an object of resources and amounts in 0..2^60");
    else if (op->n_rooms && !op->job)
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "room is held for a job");
    else if (mirror_node(t->mirror, op->key) || mirror_find(t->mirror, ROW_ORDER, op->key))
        problem_set(t->problem, PROBLEM_CONFLICT, "there is a node or an order %s already",
                    op->key);
    return t->problem->code == PROBLEM_NONE;
}

static void put_coming(struct trial *t, const struct op_order *op)
{
    struct row_node *row = row_new(ROW_NODE);

    row_set(&row->name, op->key);
    row->seq = t->changes->revision + 1;
    row->state = NODE_COMING;
    row->facts = 1;
    row_set(&row->offers, op->shape);
    row_set(&row->labels, "{}");
    row_set(&row->taints, "[]");
    row_set(&row->info, "{}");
    changes_put(t->changes, ROW_NODE, row, "node.coming");
}

static enum wait_code hold_on_machine(struct trial *t, const struct op_order *op,
                                      const struct mirror_job *job, const struct op_room *room)
{
    const struct mirror_task *task = mirror_task(job, room->group, room->index);
    enum wait_code code;

    if (!task || task->state != TASK_PENDING || mirror_part(job, room->group, room->index))
        return WAIT_CAPACITY_CHANGED;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) no job has no task */
    code = room_for(t, mirror_node(t->mirror, op->key), &job->groups[room->group]);
    if (code)
        return code;
    held_put_part(t, job, op->reservation,
                  &(struct op_room){ .group = room->group, .index = room->index, .node = op->key },
                  "");
    return WAIT_NONE;
}

/* The job for whom it is, as it was decided on; else NULL and refused. */
static struct mirror_job *owner_of(struct trial *t, const struct op_order *op)
{
    enum wait_code code;
    const char *why;
    struct mirror_job *job = job_to_place(t, op->job, op->version, &code, &why);

    if (!job)
        problem_set(t->problem, PROBLEM_CHANGED_SINCE, "j-%" PRIu64 ": %s", op->job, why);
    return job;
}

static void hold_all(struct trial *t, struct op_order *op, struct mirror_job *job)
{
    size_t n_refused = 0;

    op->reservation = t->changes->revision + 1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) rooms are refused where no job is named */
    if (job->reservation) /* a gang may need several machines */
        held_carry_on(t, job, op->reservation, op->rooms, op->n_rooms);
    for (size_t i = 0; i < op->n_rooms; i++) {
        op->rooms[i].refused = hold_on_machine(t, op, job, &op->rooms[i]);
        n_refused += op->rooms[i].refused != WAIT_NONE;
    }
    if (n_refused)
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "%zu of %zu tasks of j-%" PRIu64 " are not for that machine", n_refused,
                    op->n_rooms, op->job);
    else
        held_open(t, job,
                  &(struct held_open){ .job = op->job,
                                       .version = op->version,
                                       .id = op->reservation,
                                       .purpose = PURPOSE_MACHINE,
                                       .reason = "provision",
                                       .decision = op->decision,
                                       .victims = "",
                                       .ttl_ms = op->ttl_ms });
}

void judge_order(struct trial *t, struct op_order *op)
{
    struct mirror_job *job = NULL;
    struct row_order *row;

    op->reservation = 0;
    if (!trial_is_steward(t, op->fence) || !is_order_good(t, op))
        return;
    if (op->job) {
        job = owner_of(t, op);
        if (!job)
            return;
    }
    row = row_new(ROW_ORDER);
    row_set(&row->key, op->key);
    row_set(&row->pool, op->pool);
    row_set(&row->shape, op->shape);
    row->job = op->job;
    row->made_at = t->now;
    put_order(t, row);
    put_coming(t, op);
    if (op->n_rooms)
        hold_all(t, op, job);
}

/* The machine will not come: nobody waits for its node any more. */
static void forget_machine(struct trial *t, const char *key)
{
    struct mirror_node *node = mirror_node(t->mirror, key);
    struct row_node *row;

    if (!node || node->row->state != NODE_COMING)
        return;
    held_end_node(t, node, RELEASE_NOT_CAME);
    row = row_copy(ROW_NODE, node->row);
    row->state = NODE_GONE;
    changes_put(t->changes, ROW_NODE, row, "node.gone");
}

void judge_order_state(struct trial *t, struct op_order_state *op)
{
    const struct row_order *was = mirror_find(t->mirror, ROW_ORDER, op->key);
    bool is_new = was && was->state != (int64_t)op->state;
    struct row_order *row;

    if (op->fence && !trial_is_steward(t, op->fence))
        return;
    if (!was) {
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no order %s", op->key);
        return;
    }
    if (is_new && (op->state >= ORDER_STATE_COUNT || op->state == ORDER_CAME ||
                   !order_may_become((enum order_state)was->state, op->state))) {
        problem_set(t->problem, PROBLEM_CONFLICT, "order %s is %s and cannot become %s", op->key,
                    order_state_words[was->state],
                    op->state < ORDER_STATE_COUNT ? order_state_words[op->state] : "that");
        return;
    }
    row = row_copy(ROW_ORDER, was);
    row->state = op->state;
    if (op->provider)
        row_set(&row->provider, op->provider);
    if (op->reason)
        row_set(&row->reason, op->reason);
    if (row_eq(ROW_ORDER, row, was)) { /* said before */
        row_free(ROW_ORDER, row);
        return;
    }
    put_order(t, row);
    if (is_new && order_is_over(op->state))
        forget_machine(t, op->key);
}

void order_came(struct trial *t, const char *key)
{
    const struct row_order *was = mirror_find(t->mirror, ROW_ORDER, key);
    struct row_order *row;

    if (!was || order_is_over((enum order_state)was->state))
        return;
    row = row_copy(ROW_ORDER, was);
    row->state = ORDER_CAME;
    put_order(t, row);
    held_came(t, mirror_node(t->mirror, key));
}

/* ---- what is over for long ---- */

/* While its machine is there its order says of which pool it is. */
static bool may_forget(const struct trial *t, const struct row_order *order, int64_t ended_before)
{
    const struct mirror_node *node = mirror_node(t->mirror, order->key);

    return order_is_over((enum order_state)order->state) && order->ended_at < ended_before &&
           (!node || (node->row->state == NODE_GONE && !node->live.n && !node->parts.n));
}

/* A machine that came and went is a node as any other: whoever knew it may ask for it by name. */
static void forget(struct trial *t, const struct row_order *order)
{
    const struct mirror_node *node = mirror_node(t->mirror, order->key);

    if (node && !node->row->generation)
        changes_del(t->changes, ROW_NODE, row_copy(ROW_NODE, node->row), "node.deleted");
    changes_del(t->changes, ROW_ORDER, row_copy(ROW_ORDER, order), "order.deleted");
}

void orders_forget(struct trial *t, int64_t ended_before, size_t most)
{
    CLEANUP(freep) const char **keys = NULL;
    size_t n, n_forgotten = 0;

    keys = mirror_names(t->mirror, ROW_ORDER, &n);
    for (size_t i = 0; i < n && n_forgotten < most; i++) {
        const struct row_order *order = mirror_find(t->mirror, ROW_ORDER, keys[i]);
        if (!order || !may_forget(t, order, ended_before))
            continue;
        forget(t, order);
        n_forgotten++;
    }
}

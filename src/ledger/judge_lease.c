/*
 * Judge of leases and memos. A lease is a counter that stands still once its holder does: who
 * saw it unchanged for its ttl, by a clock of their own, may take it, and the fence rises.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <string.h>

static void take(struct trial *t, struct op_lease *op, const struct row_lease *was)
{
    struct row_lease *row;

    /* One without a holder is free for anybody. */
    if (is_on(t, RULE_LEASE) && was && *was->holder &&
        (was->fence != op->seen_fence || was->beat != op->seen_beat)) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE, "lease %s is held by %s, who is alive",
                    op->name, was->holder);
        return;
    }
    row = was ? row_copy(ROW_LEASE, was) : row_new(ROW_LEASE);
    row_set(&row->name, op->name);
    row_set(&row->holder, op->server);
    row->fence++;
    row->beat = 0;
    row->ttl_ms = op->ttl_ms;
    op->fence = row->fence;
    changes_put(t->changes, ROW_LEASE, row, "lease.taken");
}

void judge_lease(struct trial *t, struct op_lease *op)
{
    const struct row_lease *was = mirror_find(t->mirror, ROW_LEASE, op->name);
    struct row_lease *row;

    op->fence = 0;
    if (op->is_take) {
        take(t, op, was);
        return;
    }
    if (!was || strcmp(was->holder, op->server) != 0) {
        problem_set(t->problem, PROBLEM_CONFLICT, "lease %s is held by %s", op->name,
                    was && *was->holder ? was->holder : "nobody");
        return;
    }
    row = row_copy(ROW_LEASE, was);
    row->beat++;
    op->fence = row->fence;
    changes_put_quiet(t->changes, ROW_LEASE, row);
}

void judge_memo(struct trial *t, struct op_memo *op)
{
    const struct row_memo *was = mirror_find(t->mirror, ROW_MEMO, op->name);
    struct row_memo *row;

    if (!trial_is_steward(t, op->fence))
        return;
    if (!op->value) {
        if (was)
            changes_del(t->changes, ROW_MEMO, row_copy(ROW_MEMO, was), "memo.deleted");
        return;
    }
    if (was && strcmp(was->value, op->value) == 0)
        return;
    row = was ? row_copy(ROW_MEMO, was) : row_new(ROW_MEMO);
    row_set(&row->name, op->name);
    row_set(&row->value, op->value);
    changes_put(t->changes, ROW_MEMO, row, "memo.set");
}

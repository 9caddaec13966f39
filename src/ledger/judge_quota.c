/* Judge of quotas: what namespaces may have. Whoever puts one that is below what is used ends
 * nothing by it; nothing more is bound. */
#include "ledger/judge_part.h"

#include <string.h>

#include "base/name.h"

static bool is_quota_valid(struct trial *t, const struct op_quota *op)
{
    if (!name_is_valid(op->ns))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/namespace", "it must be [a-z0-9-]{1,63}");
    else if (!op->name || !*op->name)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/name", "it must not be empty");
    else if (op->hard && !are_offers_valid(op->hard))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/hard", "it must be an object of amounts");
    else
        return true;
    return false;
}

void judge_quota(struct trial *t, struct op_quota *op)
{
    const struct row_quota *was;
    struct row_quota *row;

    if (!is_quota_valid(t, op))
        return;
    was = mirror_quota(t->mirror, op->ns, op->name);
    if (!op->hard) {
        if (was)
            changes_del(t->changes, ROW_QUOTA, row_copy(ROW_QUOTA, was), "quota.deleted");
        return;
    }
    row = was ? row_copy(ROW_QUOTA, was) : row_new(ROW_QUOTA);
    row_set(&row->ns, op->ns);
    row_set(&row->name, op->name);
    row_set(&row->hard, op->hard);
    if (was && row_eq(ROW_QUOTA, row, was))
        row_free(ROW_QUOTA, row);
    else
        changes_put(t->changes, ROW_QUOTA, row, was ? "quota.changed" : "quota.created");
}

/* Cycle, decisions to operations: see cycle_ops.h. */
#include "server/cycle_ops.h"

#include <inttypes.h>

#include "base/str.h"

enum { OVERDUE_MOST = 500 /* in one cycle; the others in the next */ };

static struct op *add_op(const struct cycle_ops_in *in, enum op_kind kind, struct cycle_ops *out)
{
    struct op *op = op_new(kind, in->done, NULL);

    op->arg = in->new_arg(op, in->maker);
    VEC_PUSH(out, op);
    return op;
}

/* Whether every part names a group of the job. */
static bool parts_are_known(const struct cycle_ops_in *in, const struct berth_group *group,
                            uint64_t job)
{
    for (size_t i = 0; i < group->n_parts; i++)
        if (feed_group_index(in->feed, job, group->parts[i].task.group) < 0)
            return false;
    return true;
}

static void add_bind(const struct cycle_ops_in *in, const struct berth_group *group, uint64_t job,
                     struct cycle_ops *out)
{
    struct op_bind *bind = &add_op(in, OP_BIND, out)->bind;

    bind->job = job;
    bind->version = group->job_version;
    bind->fence = in->fence;
    bind->decision =
        text_format("%" PRIu64 "/%s", in->revision, group->action ? group->action : "");
    bind->parts = NEW0_N(struct op_bind_part, group->n_parts);
    bind->n_parts = group->n_parts;
    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];

        bind->parts[i] = (struct op_bind_part){
            .group = (uint32_t)feed_group_index(in->feed, job, part->task.group),
            .index = part->task.index,
            .number = part->task.attempt,
            .node = text_copy(part->node),
            .facts = part->facts,
        };
    }
}

static void add_fail(const struct cycle_ops_in *in, const struct berth_group *group, uint64_t job,
                     struct cycle_ops *out)
{
    /* Without parts it is the job that fails. */
    for (size_t i = 0; i < group->n_parts || i == 0; i++) {
        struct op_fail *fail = &add_op(in, OP_FAIL, out)->fail;

        fail->job = job;
        fail->version = group->job_version;
        fail->fence = in->fence;
        fail->code = group->code;
        fail->reason = text_copy(group->resource ? group->resource : "");
        if (i == group->n_parts)
            return;
        fail->is_task = true;
        fail->group = (uint32_t)feed_group_index(in->feed, job, group->parts[i].task.group);
        fail->index = group->parts[i].task.index;
    }
}

static void add_admit(const struct cycle_ops_in *in, const struct berth_group *group, uint64_t job,
                      struct cycle_ops *out)
{
    struct op_admit *admit = &add_op(in, OP_ADMIT, out)->admit;

    admit->job = job;
    admit->version = group->job_version;
    admit->is_admitted = group->kind == BERTH_GROUP_ADMIT;
    admit->fence = in->fence;
}

/* The ledger keeps texts; bytes travel as hex digits. */
static void add_memo(const struct cycle_ops_in *in, const struct berth_group *group,
                     struct cycle_ops *out)
{
    struct op_memo *memo = &add_op(in, OP_MEMO, out)->memo;
    const unsigned char *bytes = group->data;
    struct str hex = { 0 };

    memo->name = text_copy(group->name);
    memo->fence = in->fence;
    if (!bytes)
        return; /* forget it */
    for (size_t i = 0; i < group->size; i++)
        str_addf(&hex, "%02x", bytes[i]);
    memo->value = str_take(&hex);
}

/* The victims are stopped; what they make room for is bound once they have ended: the engine sees
 * them releasing. */
static void add_evictions(const struct cycle_ops_in *in, const struct berth_group *group,
                          struct cycle_ops *out)
{
    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];
        uint64_t job = feed_job_number(part->task.job);
        int64_t place = feed_group_index(in->feed, job, part->task.group);
        struct op_stop *stop;

        if (part->kind != BERTH_PART_EVICT || place < 0)
            continue;
        stop = &add_op(in, OP_STOP, out)->stop;
        stop->job = job;
        stop->is_attempt = true;
        stop->attempt =
            (struct attempt_key){ job, (uint32_t)place, part->task.index, part->task.attempt };
        stop->cause = CAUSE_EVICTED;
        stop->grace_ms = -1;
        stop->fence = in->fence;
        stop->by = text_copy("steward");
        stop->reason = text_format("%s%s%s", group->reason ? group->reason : "evicted",
                                   group->job ? " for " : "", group->job ? group->job : "");
    }
}

static void add_group(const struct cycle_ops_in *in, const struct berth_group *group,
                      struct cycle_ops *out)
{
    uint64_t job = feed_job_number(group->job);

    switch (group->kind) {
    case BERTH_GROUP_BIND:
        if (parts_are_known(in, group, job))
            add_bind(in, group, job, out);
        return;
    case BERTH_GROUP_FAIL:
        if (parts_are_known(in, group, job))
            add_fail(in, group, job, out);
        return;
    case BERTH_GROUP_ADMIT:
    case BERTH_GROUP_UNADMIT:
        add_admit(in, group, job, out);
        return;
    case BERTH_GROUP_MEMO:
        add_memo(in, group, out);
        return;
    case BERTH_GROUP_EVICT:
        add_evictions(in, group, out);
        return;
    case BERTH_GROUP_RESERVE:
    case BERTH_GROUP_RELEASE:
    case BERTH_GROUP_ORDER:
    case BERTH_GROUP_KIND_COUNT:
        break;
    }
    out->n_left_out++;
}

static enum wait_code waited_for(const struct verdicts *verdicts, uint64_t job)
{
    size_t n;
    const struct berth_verdict *verdict = verdicts_find(verdicts, job, &n);

    if (!verdict || !verdict->reason || verdict->reason->code == WAIT_NONE)
        return WAIT_NOT_YET_CONSIDERED;
    return verdict->reason->code;
}

void cycle_ops_fail_overdue(const struct cycle_ops_in *in, int64_t now_ms,
                            const struct verdicts *verdicts, struct cycle_ops *out)
{
    struct feed_due due[OVERDUE_MOST];
    size_t n = feed_overdue(in->feed, now_ms, due, COUNT_OF(due));

    for (size_t i = 0; i < n; i++) {
        struct op_fail *fail = &add_op(in, OP_FAIL, out)->fail;

        fail->job = due[i].job;
        fail->version = due[i].version;
        fail->fence = in->fence;
        fail->code = waited_for(verdicts, due[i].job);
        fail->reason = text_copy("it had not started by its deadline");
    }
}

void cycle_ops_make(const struct cycle_ops_in *in, const struct berth_decisions *decisions,
                    struct cycle_ops *out)
{
    for (size_t i = 0; i < decisions->n_groups; i++)
        add_group(in, &decisions->groups[i], out);
}

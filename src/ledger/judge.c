/* Judge: see judge.h. The table of operations, and what several of them share. */
#include "ledger/judge.h"

#include <inttypes.h>

#include "ledger/judge_part.h"

bool trial_is_steward(struct trial *t, uint64_t fence)
{
    const struct row_lease *lease = mirror_find(t->mirror, ROW_LEASE, "steward");

    if (!is_on(t, RULE_FENCE) || (lease && lease->fence == fence))
        return true;
    problem_set(t->problem, PROBLEM_CONFLICT,
                "fence %" PRIu64 " is not the steward's, which is %" PRIu64
                ": another server decides now",
                fence, lease ? lease->fence : 0);
    return false;
}

static void judge_kind(struct trial *t, struct op *op)
{
    switch (op->kind) {
    case OP_SUBMIT:
        judge_submit(t, &op->submit);
        break;
    case OP_STOP:
        judge_stop(t, &op->stop);
        break;
    case OP_PATCH:
        judge_patch(t, &op->patch);
        break;
    case OP_BIND:
        judge_bind(t, &op->bind);
        break;
    case OP_EVICT:
        judge_evict(t, &op->evict);
        break;
    case OP_RELEASE:
        judge_release(t, &op->release);
        break;
    case OP_ORDER:
        judge_order(t, &op->order);
        break;
    case OP_ORDER_STATE:
        judge_order_state(t, &op->order_state);
        break;
    case OP_FAIL:
        judge_fail(t, &op->fail);
        break;
    case OP_ADMIT:
        judge_admit(t, &op->admit);
        break;
    case OP_MEMO:
        judge_memo(t, &op->memo);
        break;
    case OP_ACK:
        judge_ack(t, &op->ack);
        break;
    case OP_REPORT:
        judge_report(t, &op->report);
        break;
    case OP_REGISTER:
        judge_register(t, &op->reg);
        break;
    case OP_BEAT:
        judge_beat(t, &op->beat);
        break;
    case OP_LEAVE:
        judge_leave(t, &op->leave);
        break;
    case OP_CORDON:
        judge_cordon(t, &op->cordon);
        break;
    case OP_NODE_LABEL:
        judge_node_label(t, &op->node_label);
        break;
    case OP_NODE_DELETE:
        judge_node_delete(t, &op->node_delete);
        break;
    case OP_NODE_STATE:
        judge_node_state(t, &op->node_state);
        break;
    case OP_QUEUE_PUT:
        judge_queue_put(t, &op->queue_put);
        break;
    case OP_QUEUE_DELETE:
        judge_queue_delete(t, &op->queue_delete);
        break;
    case OP_QUOTA:
        judge_quota(t, &op->quota);
        break;
    case OP_TOKEN_PUT:
        judge_token_put(t, &op->token_put);
        break;
    case OP_TOKEN_DELETE:
        judge_token_delete(t, &op->token_delete);
        break;
    case OP_LEASE:
        judge_lease(t, &op->lease);
        break;
    case OP_RETAIN:
        judge_retain(t, &op->retain);
        break;
    case OP_KIND_COUNT:
        break;
    }
}

/* Who asked, as events name them. */
static const char *asker(const struct op *op)
{
    switch (op->kind) {
    case OP_SUBMIT:
        return op->submit.user;
    case OP_STOP:
        return op->stop.by;
    case OP_PATCH:
        return op->patch.by;
    case OP_CORDON:
        return op->cordon.by;
    case OP_NODE_LABEL:
        return op->node_label.by;
    case OP_NODE_DELETE:
        return op->node_delete.by;
    case OP_QUEUE_PUT:
        return op->queue_put.by;
    case OP_QUEUE_DELETE:
        return op->queue_delete.by;
    case OP_ACK:
        return op->ack.node;
    case OP_REPORT:
        return op->report.node;
    case OP_REGISTER:
        return op->reg.node;
    case OP_LEAVE:
        return op->leave.node;
    case OP_BEAT:
        return op->beat.node;
    case OP_BIND:
    case OP_EVICT:
    case OP_RELEASE:
    case OP_ORDER:
    case OP_FAIL:
    case OP_ADMIT:
    case OP_MEMO:
    case OP_NODE_STATE:
    case OP_LEASE:
    case OP_RETAIN:
        return "steward";
    case OP_ORDER_STATE:
        return op->order_state.by ? op->order_state.by : "steward";
    case OP_QUOTA:
        return "berth";
    case OP_TOKEN_PUT:
    case OP_TOKEN_DELETE:
    case OP_KIND_COUNT:
        break;
    }
    return "admin";
}

void judge(struct changes *changes, const struct past *past, struct op *op)
{
    struct trial t = { .mirror = changes->mirror,
                       .changes = changes,
                       .past = past,
                       .problem = &op->problem,
                       .now = changes->now,
                       .without = changes->without };
    const char *by = asker(op);
    size_t n = changes->list.n;

    changes->by = by ? by : "";
    problem_clear(&op->problem);
    judge_kind(&t, op);
    if (op->problem.code)
        changes_take_back(changes, n); /* nothing, where the rules were looked at first */
    op->revision = changes->revision;
}

void judge_settle(struct changes *changes)
{
    struct mirror *mirror = changes->mirror;

    changes->by = "";
    /* A job's counts are in its row once a batch: for a busy one that saves nearly all of them. */
    for (size_t i = 0; i < mirror->touched.n; i++) {
        struct mirror_job *job = mirror->touched.at[i];
        struct row_job *row = row_copy(ROW_JOB, job->row);
        mirror_count(job, row);
        if (row_eq(ROW_JOB, row, job->row))
            row_free(ROW_JOB, row);
        else
            changes_put(changes, ROW_JOB, row, "job.changed");
    }
}

struct wants judge_wants(const struct changes *changes, const struct op *op)
{
    const struct mirror *mirror = changes->mirror;
    struct wants wants = { 0 };

    switch (op->kind) {
    case OP_SUBMIT:
        wants.ns = op->submit.spec->ns;
        wants.key = op->submit.key;
        break;
    case OP_STOP:
        wants.job = op->stop.is_attempt ? op->stop.attempt.job : op->stop.job;
        if (op->stop.is_attempt)
            wants.attempt = &op->stop.attempt;
        break;
    case OP_PATCH:
        wants.job = op->patch.job;
        break;
    case OP_ACK:
        wants.attempt = &op->ack.attempt;
        break;
    case OP_REPORT:
        wants.attempt = &op->report.attempt;
        break;
    case OP_RETAIN:
        wants.ended_before = op->retain.ended_before;
        wants.most = op->retain.most;
        break;
    case OP_BIND:
    case OP_EVICT:
    case OP_RELEASE:
    case OP_ORDER:
    case OP_ORDER_STATE:
    case OP_FAIL:
    case OP_ADMIT:
    case OP_MEMO:
    case OP_REGISTER:
    case OP_BEAT:
    case OP_LEAVE:
    case OP_CORDON:
    case OP_NODE_LABEL:
    case OP_NODE_DELETE:
    case OP_NODE_STATE:
    case OP_QUEUE_PUT:
    case OP_QUEUE_DELETE:
    case OP_QUOTA:
    case OP_TOKEN_PUT:
    case OP_TOKEN_DELETE:
    case OP_LEASE:
    case OP_KIND_COUNT:
        break;
    }
    if (wants.job && mirror_job(mirror, wants.job))
        wants.job = 0;
    if (wants.attempt) {
        const struct attempt_key *key = wants.attempt;
        const struct mirror_job *job = mirror_job(mirror, key->job);
        const struct mirror_task *task = job ? mirror_task(job, key->group, key->index) : NULL;
        if (task && task->live && task->number == key->number)
            wants.attempt = NULL;
    }
    return wants;
}

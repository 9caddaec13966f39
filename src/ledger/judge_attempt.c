/*
 * Judge of attempts: acks and reports of agents, stops, and what becomes of a task when its
 * attempt has ended. The arrows themselves are in base/states.c.
 */
#include "ledger/judge_part.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"

void attempt_put(struct trial *t, struct row_attempt *row)
{
    static const char *const types[ATTEMPT_STATE_COUNT] = {
        [ATTEMPT_BOUND] = "attempt.bound",     [ATTEMPT_STARTING] = "attempt.starting",
        [ATTEMPT_RUNNING] = "attempt.running", [ATTEMPT_STOPPING] = "attempt.stopping",
        [ATTEMPT_ENDED] = "attempt.ended",
    };

    changes_put(t->changes, ROW_ATTEMPT, row, types[row->state]);
}

/* Doubles with each try, up to the job's limit. */
static int64_t backoff(const struct mirror_job *job, int64_t tries)
{
    int64_t wait = job->backoff_ms;

    for (int64_t i = 1; i < tries && wait < job->backoff_max_ms; i++)
        wait *= 2;
    return wait < job->backoff_max_ms ? wait : job->backoff_max_ms;
}

/* What becomes of the task; fills in then, tries, evictions and not_before. */
static void set_then(const struct trial *t, const struct mirror_job *job, struct row_attempt *row)
{
    int shell = cause_shell_code((enum cause)row->cause, (enum detail)row->detail, (int)row->code,
                                 (int)row->signal);

    row->evictions += row->cause == CAUSE_EVICTED;
    if (cause_spends_try((enum cause)row->cause, shell))
        row->tries++;
    if (row->cause == CAUSE_COMPLETED && shell == 0)
        row->then = THEN_SUCCEEDED;
    else if (row->cause == CAUSE_LIMIT_REACHED)
        row->then = THEN_FAILED;
    else if (row->cause == CAUSE_CANCELLED)
        row->then = THEN_CANCELLED;
    else if (cause_spends_try((enum cause)row->cause, shell) && row->tries > job->retries_max)
        row->then = THEN_FAILED;
    else if (job->row->state == JOB_STOPPING)
        row->then = THEN_CANCELLED; /* no other try is due in a job that stops */
    else
        row->then = THEN_AGAIN;
    if (row->then == THEN_AGAIN && cause_spends_try((enum cause)row->cause, shell) &&
        job->backoff_ms > 0)
        row->not_before = t->now + backoff(job, row->tries);
}

void attempt_end(struct trial *t, const struct row_attempt *attempt, const struct attempt_end *how)
{
    struct mirror_job *job = mirror_job(t->mirror, attempt->job);
    struct mirror_node *node = mirror_node(t->mirror, attempt->node);
    struct row_attempt *row = row_copy(ROW_ATTEMPT, attempt);

    row->state = ATTEMPT_ENDED;
    row->cause = how->cause;
    row->detail = how->detail;
    row->code = how->code;
    row->signal = how->signal;
    if (how->started_at && !row->started_at)
        row->started_at = how->started_at;
    /* What ended while nobody looked did not run until it was found: the instants are the agent's,
     * where it says them, and by its clock. */
    row->ended_at = row->started_at && how->ended_at >= row->started_at ? how->ended_at : t->now;
    if (how->timings)
        row_set(&row->timings, how->timings);
    if (how->peaks)
        row_set(&row->peaks, how->peaks);
    if (how->message)
        row_set(&row->message, how->message);
    if (how->evicted_for)
        row->evicted_for = how->evicted_for;
    set_then(t, job, row);
    attempt_put(t, row); /* the room comes back here */
    held_review(t, node, row);
    if (row->then == THEN_FAILED && job->stops_on_failure && job->row->state != JOB_STOPPING)
        job_stop(t, job,
                 &(struct job_end){ (enum cause)row->cause, "", "a task of it failed", -1 });
    else
        job_review(t, job);
    node_review(t, node);
}

void attempt_stop(struct trial *t, const struct row_attempt *attempt,
                  const struct attempt_stop *how)
{
    int next = attempt_next((enum attempt_state)attempt->state, ATTEMPT_ON_STOP);
    const char *reason = how->reason ? how->reason : "";
    bool is_stronger =
        !attempt->is_stop_wanted || cause_is_stronger(how->cause, (enum cause)attempt->cause);
    struct row_attempt *row;

    assert(next >= 0);
    if (next == ATTEMPT_ENDED) {
        attempt_end(t, attempt,
                    &(struct attempt_end){ .cause = how->cause,
                                           .message = *reason ? reason : NULL,
                                           .evicted_for = how->evicted_for });
        return;
    }
    if (!is_stronger && how->grace_ms >= attempt->grace_ms)
        return;
    row = row_copy(ROW_ATTEMPT, attempt);
    row->state = next;
    row->is_stop_wanted = 1;
    if (is_stronger) {
        row->cause = how->cause;
        row_set(&row->message, reason);
    }
    if (how->evicted_for)
        row->evicted_for = how->evicted_for;
    row->grace_ms = how->grace_ms;
    attempt_put(t, row);
}

/* ---- what agents say ---- */

static int stale(struct trial *t, const struct attempt_key *key, const char *why)
{
    return problem_set(t->problem, PROBLEM_STALE_ATTEMPT,
                       "j-%" PRIu64 ", group %u, index %u, attempt %u: %s", key->job, key->group,
                       key->index, key->number, why);
}

/* Whether a message is from the node's present life; else it is refused. */
static bool is_of_now(struct trial *t, const struct attempt_key *key, const char *name,
                      uint64_t generation)
{
    const struct mirror_node *node = mirror_node(t->mirror, name);

    if (!node || (is_on(t, RULE_GENERATION) && node->row->generation != generation)) {
        stale(t, key, "the node has another generation by now; register again");
        return false;
    }
    return true;
}

/* The live attempt that the key means, if it is on this node; else the message is refused. It then
 * is of the node's present life too: a registration adopts or ends each live attempt. */
static struct row_attempt *attempt_here(struct trial *t, const struct attempt_key *key,
                                        const char *node)
{
    struct row_attempt *attempt = mirror_live(t->mirror, key);

    if (!attempt)
        stale(t, key, "it is not live");
    else if (is_on(t, RULE_HERE) && strcmp(attempt->node, node) != 0)
        stale(t, key, "it is on another node");
    else
        return attempt;
    return NULL;
}

void judge_ack(struct trial *t, struct op_ack *op)
{
    struct row_attempt *attempt, *row;

    if (!is_of_now(t, &op->attempt, op->node, op->generation))
        return;
    attempt = attempt_here(t, &op->attempt, op->node);
    if (!attempt || attempt->state == ATTEMPT_STARTING) /* the latter: asked again */
        return;
    if (is_on(t, RULE_ACK) &&
        attempt_next((enum attempt_state)attempt->state, ATTEMPT_ON_ACK) < 0) {
        stale(t, &op->attempt, "it may not start: it runs, or its end is wanted");
        return;
    }
    row = row_copy(ROW_ATTEMPT, attempt);
    row->state = ATTEMPT_STARTING;
    row->acked_at = t->now;
    attempt_put(t, row);
}

static void report_running(struct trial *t, const struct op_report *op)
{
    struct row_attempt *attempt = attempt_here(t, &op->attempt, op->node), *row;

    if (!attempt || attempt->state == ATTEMPT_RUNNING || attempt->state == ATTEMPT_STOPPING)
        return; /* said before, or overtaken by a stop */
    if (is_on(t, RULE_STARTED) &&
        attempt_next((enum attempt_state)attempt->state, ATTEMPT_ON_STARTED) < 0) {
        stale(t, &op->attempt, "it was not let start");
        return;
    }
    row = row_copy(ROW_ATTEMPT, attempt);
    row->state = ATTEMPT_RUNNING;
    row->started_at = op->started_at ? op->started_at : t->now;
    if (op->timings)
        row_set(&row->timings, op->timings);
    attempt_put(t, row);
}

/* Whether a report says again what ended an attempt. */
static bool is_repeat(const struct row_attempt *row, const struct op_report *op)
{
    return row && row->state == ATTEMPT_ENDED && strcmp(row->node, op->node) == 0 &&
           row->code == op->code && row->signal == op->signal &&
           (row->cause == (int64_t)op->cause || row->is_stop_wanted);
}

static void report_ended(struct trial *t, const struct op_report *op)
{
    const struct row_attempt *over = changes_attempt(t->changes, &op->attempt), *attempt;
    struct attempt_end how = { .cause = op->cause,
                               .detail = op->detail,
                               .code = op->code,
                               .signal = op->signal,
                               .timings = op->timings,
                               .peaks = op->peaks,
                               .message = op->message,
                               .started_at = op->started_at,
                               .ended_at = op->ended_at };

    if (!over)
        over = t->past->attempt;
    if (is_repeat(over, op))
        return;
    attempt = attempt_here(t, &op->attempt, op->node);
    if (!attempt)
        return;
    /* One that was only bound has no end, but where the agent cannot take it under its name. */
    if (attempt_next((enum attempt_state)attempt->state, ATTEMPT_ON_EXIT) < 0 &&
        op->cause != CAUSE_OTHER_LIFE) {
        stale(t, &op->attempt, "it was not let start");
        return;
    }
    /* An end that was wanted before the exit is its cause, whatever the exit was. */
    if (attempt->is_stop_wanted) {
        how.cause = (enum cause)attempt->cause;
        how.detail = DETAIL_NONE;
    }
    attempt_end(t, attempt, &how);
}

/* What an agent can know of. Whom it ended for another's sake only the ledger says: where that
 * wants no end, it ended the attempt by itself. */
static enum cause said_by_agent(enum cause cause)
{
    bool is_the_ledgers = cause == CAUSE_CANCELLED || cause == CAUSE_EVICTED ||
                          cause == CAUSE_DRAINED || cause == CAUSE_DISOWNED ||
                          cause == CAUSE_REQUEUED;

    return is_the_ledgers ? CAUSE_SHUTDOWN : cause;
}

static bool is_json_or_none(const char *text, char opens)
{
    return !text || !*text || json_is_well(text, opens);
}

void judge_report(struct trial *t, struct op_report *op)
{
    if (!is_of_now(t, &op->attempt, op->node, op->generation))
        return;
    if (!is_json_or_none(op->timings, '[') || !is_json_or_none(op->peaks, '{') ||
        (op->is_ended && (op->cause <= CAUSE_NONE || op->cause >= CAUSE_COUNT)) ||
        op->detail >= DETAIL_COUNT) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST,
                    "a report needs a cause, a list of timings and an object of peaks");
        return;
    }
    op->cause = said_by_agent(op->cause);
    if (op->is_ended)
        report_ended(t, op);
    else
        report_running(t, op);
}

/* ---- a stop of one attempt; of a job: judge_job.c ---- */

/* A stop of what is not live any more. */
static void stop_past(struct trial *t, struct op_stop *op)
{
    if (!t->past->job)
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no job j-%" PRIu64, op->job);
    else if (op->is_attempt)
        stale(t, &op->attempt, "it is not live");
    else if (op->cause == CAUSE_REQUEUED)
        problem_set(t->problem, PROBLEM_CONFLICT, "j-%" PRIu64 " is over", op->job);
    else
        op->state = (enum job_state)t->past->job->state; /* over already: as wanted */
}

static void stop_job(struct trial *t, struct mirror_job *job, struct op_stop *op)
{
    bool is_over = job_is_over((enum job_state)job->row->state);

    if (op->cause == CAUSE_REQUEUED && is_over)
        problem_set(t->problem, PROBLEM_CONFLICT, "j-%" PRIu64 " is over", op->job);
    else if (op->cause == CAUSE_REQUEUED)
        job_requeue(t, job, op);
    else if (!is_over)
        job_stop(t, job, &(struct job_end){ op->cause, op->by, op->reason, op->grace_ms });
    op->state = (enum job_state)job->row->state;
}

void judge_stop(struct trial *t, struct op_stop *op)
{
    const struct attempt_key *key = &op->attempt;
    struct mirror_job *job = mirror_job(t->mirror, op->is_attempt ? key->job : op->job);
    const struct row_attempt *attempt;

    if (op->is_attempt)
        op->job = key->job;
    if (op->fence && !trial_is_steward(t, op->fence))
        return;
    if (!job) {
        stop_past(t, op);
        return;
    }
    if (op->is_attempt && !cause_is_stronger(op->cause, CAUSE_NONE)) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "nothing is stopped for %s",
                    op->cause < CAUSE_COUNT ? cause_words[op->cause] : "that");
        return;
    }
    if (op->cause == CAUSE_EVICTED && (!op->reason || !*op->reason)) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "nothing is evicted without a reason");
        return;
    }
    if (!op->is_attempt && op->cause != CAUSE_CANCELLED && op->cause != CAUSE_REQUEUED) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST,
                    "a job is stopped to cancel or requeue it, not for %s", cause_words[op->cause]);
        return;
    }
    if (!op->is_attempt) {
        stop_job(t, job, op);
        return;
    }
    attempt = mirror_live(t->mirror, key);
    if (!attempt)
        stale(t, key, "it is not live");
    else
        attempt_stop(t, attempt,
                     &(struct attempt_stop){ op->cause,
                                             op->grace_ms < 0 ? job->grace_ms : op->grace_ms,
                                             op->reason, 0 });
    op->state = (enum job_state)job->row->state;
}

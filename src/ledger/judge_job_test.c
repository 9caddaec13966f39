/* Judge of jobs: submit and keys, stop, patch, fail, admit, retain, and what tasks make of them. */
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

static const char offers[] = "{\"cpu\":64000}";

static void open_world(struct world *w)
{
    world_open(w, "memory:");
    world_lead(w);
    CHECK_EQ(world_register(w, "n1", offers), PROBLEM_NONE);
}

static void close_world(struct world *w)
{
    struct err err = { 0 };

    CHECK_OK(ledger_check_open(w->ledger, &err), &err);
    world_close(w);
}

static enum problem_code put_queue_under(struct world *w, const char *name, const char *parent)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy(name);
    op->queue_put.parent = text_copy(parent);
    op->queue_put.is_create = true;
    return world_run(w, op);
}

static enum problem_code put_queue(struct world *w, const char *name, enum queue_state state)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy(name);
    op->queue_put.is_create = state == QUEUE_OPEN;
    op->queue_put.state = state;
    return world_run(w, op);
}

/* ---- submit ---- */

static const struct {
    const char *name, *queue;
    enum problem_code code;
    const char *says;
} queues[] = {
    { "the default queue", "default", PROBLEM_NONE, NULL },
    { "an open queue", "research", PROBLEM_NONE, NULL },
    { "a closed queue", "shut", PROBLEM_CONFLICT, "queue shut is closed" },
    { "a draining queue", "dry", PROBLEM_CONFLICT, "queue dry is draining" },
    { "beneath a closed queue", "low", PROBLEM_CONFLICT,
      "queue low is beneath shut, which is closed and takes no new jobs" },
    { "beneath one that is beneath a draining queue", "lower", PROBLEM_CONFLICT,
      "queue lower is beneath dry, which is draining and takes no new jobs" },
    { "a misspelt queue", "reserach", PROBLEM_INVALID_FIELD, "did you mean research?" },
    { "an unknown queue", "zzz", PROBLEM_INVALID_FIELD, "there is no queue zzz" },
};

TEST(a_job_needs_an_open_queue)
{
    struct world w = { 0 };

    open_world(&w);
    CHECK_EQ(put_queue(&w, "research", QUEUE_OPEN), PROBLEM_NONE);
    CHECK_EQ(put_queue(&w, "shut", QUEUE_OPEN), PROBLEM_NONE);
    CHECK_EQ(put_queue_under(&w, "low", "shut"), PROBLEM_NONE);
    CHECK_EQ(put_queue(&w, "shut", QUEUE_CLOSED), PROBLEM_NONE);
    CHECK_EQ(put_queue(&w, "dry", QUEUE_OPEN), PROBLEM_NONE);
    CHECK_EQ(put_queue_under(&w, "damp", "dry"), PROBLEM_NONE);
    CHECK_EQ(put_queue_under(&w, "lower", "damp"), PROBLEM_NONE);
    CHECK_EQ(put_queue(&w, "dry", QUEUE_DRAINING), PROBLEM_NONE);
    ROW_EACH (c, queues) {
        CLEANUP(freep) char *json = text_format("{\"queue\":\"%s\"}", c->queue);
        CHECK_EQ(world_run(&w, world_submit_op(json)), c->code);
        if (c->code == PROBLEM_INVALID_FIELD) {
            CHECK_TEXT(w.problem.fields[0].pointer, "/queue");
            CHECK(strstr(w.problem.fields[0].text, c->says));
        } else if (c->says) {
            CHECK(strstr(w.problem.detail, c->says));
        }
    }
    close_world(&w);
}

static enum problem_code submit_key(struct world *w, const char *ns, const char *key,
                                    const char *digest, uint64_t *job, bool *is_replay)
{
    CLEANUP(freep) char *json = text_format("{\"namespace\":\"%s\"}", ns);
    struct op *op = world_submit_op(json);
    enum problem_code code;

    op->submit.key = text_copy(key);
    op->submit.digest = text_copy(digest);
    code = world_do(w, op);
    *job = op->submit.job;
    *is_replay = op->submit.is_replay;
    op_free(op);
    return code;
}

TEST(a_key_gives_the_first_answer_again)
{
    struct world w = { 0 };
    uint64_t first, again, other, revision;
    bool is_replay;

    open_world(&w);
    CHECK_EQ(submit_key(&w, "lab", "k1", "d1", &first, &is_replay), PROBLEM_NONE);
    CHECK(!is_replay);
    revision = w.revision;
    CHECK_EQ(submit_key(&w, "lab", "k1", "d1", &again, &is_replay), PROBLEM_NONE);
    CHECK(is_replay);
    CHECK_EQ(again, first);
    CHECK_EQ(w.revision, revision);
    CHECK_EQ(submit_key(&w, "lab", "k1", "d2", &other, &is_replay), PROBLEM_KEY_REUSED);
    CHECK(!is_replay);
    CHECK_EQ(submit_key(&w, "shop", "k1", "d2", &other, &is_replay), PROBLEM_NONE);
    CHECK(other != first);
    w.now += 25 * 3600 * 1000; /* it is forgotten after a day */
    CHECK_EQ(submit_key(&w, "lab", "k1", "d2", &other, &is_replay), PROBLEM_NONE);
    CHECK(!is_replay && other != first);
    close_world(&w);
}

/* It names what was asked for, not what has become of it: a repeat starts nothing anew. */
TEST(a_key_of_a_job_that_stops_or_is_over_gives_that_job)
{
    struct world w = { 0 };
    uint64_t first, again, revision;
    bool is_replay;

    open_world(&w);
    CHECK_EQ(submit_key(&w, "lab", "k1", "d1", &first, &is_replay), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, first, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, first, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop(&w, first), PROBLEM_NONE);
    CHECK_EQ(world_job_state(&w, first), JOB_STOPPING);
    revision = w.revision;
    CHECK_EQ(submit_key(&w, "lab", "k1", "d1", &again, &is_replay), PROBLEM_NONE);
    CHECK(is_replay && again == first && w.revision == revision);
    CHECK_EQ(world_ended(&w, first, 0, 1, "n1", 0), PROBLEM_NONE);
    CHECK_EQ(world_job_state(&w, first), JOB_CANCELLED);
    CHECK_EQ(submit_key(&w, "lab", "k1", "d1", &again, &is_replay), PROBLEM_NONE);
    CHECK(is_replay && again == first);
    close_world(&w);
}

TEST(a_key_without_a_digest_is_held_against_the_spec)
{
    struct world w = { 0 };
    uint64_t first, again;
    bool is_replay;

    open_world(&w);
    CHECK_EQ(submit_key(&w, "lab", "k1", NULL, &first, &is_replay), PROBLEM_NONE);
    CHECK_EQ(submit_key(&w, "lab", "k1", NULL, &again, &is_replay), PROBLEM_NONE);
    CHECK(is_replay && again == first);
    close_world(&w);
}

static int n_done;

static void count_done(struct op *op, void *arg)
{
    (void)op;
    (void)arg;
    n_done++;
}

TEST(a_key_holds_within_a_batch)
{
    struct world w = { 0 };
    struct op *ops[3];

    n_done = 0;
    open_world(&w);
    for (size_t i = 0; i < 3; i++) {
        ops[i] = world_submit_op("{}");
        ops[i]->done = count_done;
        ops[i]->submit.key = text_copy("k");
        ops[i]->submit.digest = text_copy(i < 2 ? "d" : "e");
    }
    ledger_send_all(w.ledger, ops, 3);
    CHECK_EQ(world_run(&w, world_submit_op("{}")), PROBLEM_NONE); /* behind them */
    CHECK_EQ(n_done, 3);
    CHECK_EQ(ops[0]->submit.job, ops[1]->submit.job);
    CHECK(ops[1]->submit.is_replay);
    CHECK_EQ(ops[2]->problem.code, PROBLEM_KEY_REUSED);
    for (size_t i = 0; i < 3; i++)
        op_free(ops[i]);
    close_world(&w);
}

/* ---- what tasks make of a job ---- */

static void run_task(struct world *w, uint64_t job, uint32_t index, uint32_t number, int code)
{
    CHECK_EQ(world_bind(w, job, index, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(w, job, index, number, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_running(w, job, index, number, "n1"), PROBLEM_NONE);
    if (code >= 0)
        CHECK_EQ(world_ended(w, job, index, number, "n1", code), PROBLEM_NONE);
}

static const char *counts(struct world *w, uint64_t id)
{
    static char text[120];
    struct row_job *job = world_job(w, id);

    snprintf(text, sizeof(text), "%s: %d pending %d live (%d run) %d well %d failed %d cancelled",
             job_state_words[job->state], (int)job->n_pending, (int)job->n_live,
             (int)job->n_running, (int)job->n_succeeded, (int)job->n_failed, (int)job->n_cancelled);
    row_free(ROW_JOB, job);
    return text;
}

TEST(a_failed_task_stops_the_rest)
{
    struct world w = { 0 };
    struct row_job *row;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":4,\"onFailure\":\"stop\"}");
    run_task(&w, job, 0, 1, 0);
    run_task(&w, job, 1, 1, -1);
    run_task(&w, job, 2, 1, 7);
    CHECK_TEXT(counts(&w, job), "stopping: 0 pending 1 live (0 run) 1 well 1 failed 1 cancelled");
    CHECK_TEXT(world_attempt_says(&w, job, 1, 1), "stopping CANCELLED");
    CHECK_EQ(world_bind(&w, job, 3, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_ended(&w, job, 1, 1, "n1", 143), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "failed: 0 pending 0 live (0 run) 1 well 1 failed 2 cancelled");
    row = world_job(&w, job);
    CHECK_EQ(row->code, 143);
    CHECK(row->ended_at > 0);
    row_free(ROW_JOB, row);
    close_world(&w);
}

TEST(a_failed_task_lets_the_rest_go_on)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":3,\"minAvailable\":3,\"onFailure\":\"continue\"}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 3, "n1")), PROBLEM_NONE);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(world_ack(&w, job, i, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 7), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "running: 0 pending 2 live (0 run) 0 well 1 failed 0 cancelled");
    CHECK_EQ(world_stop_attempt(&w, job, 1, 1, CAUSE_EVICTED), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 1, 1, "n1", 143), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 2, 1, "n1", 0), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "pending: 1 pending 0 live (0 run) 1 well 1 failed 0 cancelled");
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_NONE); /* as whole as it can be */
    CHECK_EQ(world_ack(&w, job, 1, 2, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 1, 2, "n1", 0), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "failed: 0 pending 0 live (0 run) 2 well 1 failed 0 cancelled");
    close_world(&w);
}

TEST(a_cancelled_job_is_cancelled_whatever_failed_before)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2,\"onFailure\":\"continue\"}");
    run_task(&w, job, 0, 1, 7);
    run_task(&w, job, 1, 1, -1);
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 1, 1, "n1", 143), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "cancelled: 0 pending 0 live (0 run) 0 well 1 failed 1 cancelled");
    close_world(&w);
}

static void check_times(struct world *w, uint64_t id, int64_t started_at, int64_t ended_at)
{
    struct row_job *job = world_job(w, id);

    CHECK_EQ(job->submitted_at, 1000000);
    CHECK_EQ(job->started_at, started_at);
    CHECK_EQ(job->ended_at, ended_at);
    row_free(ROW_JOB, job);
}

TEST(a_job_starts_once_and_ends_once)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2,\"retries\":{\"max\":1,\"backoff\":\"0s\"}}");
    check_times(&w, job, 0, 0);
    w.now = 1000100;
    run_task(&w, job, 0, 1, 1); /* it is pending again */
    check_times(&w, job, 1000100, 0);
    w.now = 1000200;
    run_task(&w, job, 0, 2, 0);
    run_task(&w, job, 1, 1, -1);
    check_times(&w, job, 1000100, 0);
    w.now = 1000300;
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    check_times(&w, job, 1000100, 0);
    w.now = 1000400;
    CHECK_EQ(world_ended(&w, job, 1, 1, "n1", 143), PROBLEM_NONE);
    check_times(&w, job, 1000100, 1000400);
    close_world(&w);
}

enum { LET_AT = 1000100, HEARD_AT = 1009000 };

/* What its agent, whose clock may be another, says of its only attempt. */
static const struct {
    const char *name;
    int64_t started_at, said, ended_at;
} ends[] = {
    { "while its server was away", LET_AT + 5, LET_AT + 505, LET_AT + 505 },
    { "not said", LET_AT + 5, 0, HEARD_AT },
    { "by a clock that is behind: as long after it was let start", 77, 577, LET_AT + 500 },
    { "by one that is ahead: not before it was heard of", LET_AT + 100000, LET_AT + 100500,
      HEARD_AT },
};

TEST(a_job_ended_with_its_last_attempt)
{
    ROW_EACH (c, ends) {
        struct world w = { 0 };
        struct op *op;
        uint64_t job;

        open_world(&w);
        job = world_submit(&w, "{}");
        w.now = LET_AT;
        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
        w.now = HEARD_AT;
        op = world_ended_op(&w, job, 0, 1, "n1", 0);
        op->report.started_at = c->started_at;
        op->report.ended_at = c->said;
        CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
        check_times(&w, job, LET_AT, c->ended_at);
        close_world(&w);
    }
}

TEST(a_job_ended_with_the_last_that_ended_not_the_last_heard_of)
{
    static const int64_t said[] = { LET_AT + 700, LET_AT + 300 };
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2}");
    w.now = LET_AT;
    for (uint32_t i = 0; i < 2; i++)
        run_task(&w, job, i, 1, -1);
    w.now = HEARD_AT;
    for (uint32_t i = 0; i < 2; i++) {
        struct op *op = world_ended_op(&w, job, i, 1, "n1", 0);

        op->report.started_at = LET_AT;
        op->report.ended_at = said[i];
        CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
    }
    check_times(&w, job, LET_AT, LET_AT + 700);
    close_world(&w);
}

static void check_since(struct world *w, uint64_t id, int64_t pending_at, int64_t running_at)
{
    struct row_job *job = world_job(w, id);

    CHECK_EQ(job->pending_at, pending_at);
    CHECK_EQ(job->running_at, running_at);
    row_free(ROW_JOB, job);
}

TEST(a_job_says_since_when_it_waits_and_runs)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"retries\":{\"max\":1,\"backoff\":\"0s\"}}");
    check_since(&w, job, 0, 0);
    w.now = 1000100;
    run_task(&w, job, 0, 1, -1);
    check_since(&w, job, 0, 1000100);
    w.now = 1000200;
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 1), PROBLEM_NONE); /* it is pending again */
    check_since(&w, job, 1000200, 1000100);
    w.now = 1000300;
    run_task(&w, job, 0, 2, 0);
    check_since(&w, job, 1000200, 1000300);
    check_times(&w, job, 1000100, 1000300);
    close_world(&w);
}

TEST(a_pending_job_is_cancelled_at_once)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":3}");
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "cancelled: 0 pending 0 live (0 run) 0 well 0 failed 3 cancelled");
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE); /* again */
    CHECK_EQ(world_stop(&w, job + 50), PROBLEM_NOT_FOUND);
    close_world(&w);
}

TEST(a_requeued_job_waits_again_and_spends_no_try)
{
    struct world w = { 0 };
    struct row_attempt *attempt;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":3,\"minAvailable\":1}");
    CHECK_EQ(world_requeue(&w, job, false), PROBLEM_NONE); /* nothing of it runs */
    CHECK_TEXT(counts(&w, job), "pending: 3 pending 0 live (0 run) 0 well 0 failed 0 cancelled");
    run_task(&w, job, 0, 1, 0);
    run_task(&w, job, 1, 1, -1);
    CHECK_EQ(world_bind(&w, job, 2, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_requeue(&w, job, false), PROBLEM_NONE);
    /* What was only bound waits at once, what runs when it has ended; what is over stays so. */
    CHECK_TEXT(counts(&w, job), "running: 1 pending 1 live (0 run) 1 well 0 failed 0 cancelled");
    CHECK_TEXT(world_attempt_says(&w, job, 1, 1), "stopping REQUEUED");
    CHECK_EQ(world_requeue(&w, job, false), PROBLEM_NONE); /* again */
    CHECK_EQ(world_ended(&w, job, 1, 1, "n1", 143), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "pending: 2 pending 0 live (0 run) 1 well 0 failed 0 cancelled");
    attempt = world_attempt(&w, job, 1, 1);
    CHECK_EQ(attempt->then, THEN_AGAIN);
    CHECK_EQ(attempt->tries, 0);
    CHECK_EQ(attempt->evictions, 0);
    CHECK_TEXT(attempt->message, "requeued by ann");
    row_free(ROW_ATTEMPT, attempt);
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_EQ(world_requeue(&w, job, false), PROBLEM_CONFLICT);
    close_world(&w);
}

TEST(a_suspended_job_waits_until_it_is_resumed)
{
    struct world w = { 0 };
    struct row_job *row;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{}");
    run_task(&w, job, 0, 1, -1);
    CHECK_EQ(world_requeue(&w, job, true), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 143), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "pending: 1 pending 0 live (0 run) 0 well 0 failed 0 cancelled");
    row = world_job(&w, job);
    CHECK_EQ(row->is_suspended, 1);
    CHECK_EQ(row->version, 2);
    row_free(ROW_JOB, row);
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_resume(&w, job), PROBLEM_NONE);
    run_task(&w, job, 0, 2, 0);
    CHECK_TEXT(counts(&w, job), "succeeded: 0 pending 0 live (0 run) 1 well 0 failed 0 cancelled");
    CHECK_EQ(world_requeue(&w, job, true), PROBLEM_CONFLICT);
    CHECK_EQ(world_resume(&w, job), PROBLEM_CONFLICT);
    close_world(&w);
}

TEST(a_job_is_stopped_to_cancel_it_only)
{
    struct world w = { 0 };
    struct op *op = op_new(OP_STOP, NULL, NULL);

    open_world(&w);
    op->stop.job = world_submit(&w, "{}");
    op->stop.cause = CAUSE_EVICTED;
    CHECK_EQ(world_run(&w, op), PROBLEM_BAD_REQUEST);
    close_world(&w);
}

/* ---- patch ---- */

static struct op *patch_op(uint64_t job)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = job;
    op->patch.has_priority = true;
    op->patch.priority = 7;
    return op;
}

TEST(a_patch_needs_the_revision_that_was_seen)
{
    struct world w = { 0 };
    struct row_job *row;
    struct op *op;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{}");
    row = world_job(&w, job);
    op = patch_op(job);
    op->patch.if_rev = row->rev + 1;
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op->patch.if_rev = row->rev;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    op->patch.if_rev = 0;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE); /* as it is: nothing happens */
    op_free(op);
    row_free(ROW_JOB, row);
    row = world_job(&w, job);
    CHECK_EQ(row->priority, 7);
    CHECK_EQ(row->version, 2);
    row_free(ROW_JOB, row);
    close_world(&w);
}

TEST(a_patch_is_held_against_the_limits)
{
    struct world w = { 0 };
    struct op *op;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{}");
    op = patch_op(job);
    op->patch.priority = JOB_PRIORITY_MAX + 1;
    CHECK_EQ(world_do(&w, op), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].pointer, "/priority");
    op->patch.priority = JOB_PRIORITY_MIN - 1;
    CHECK_EQ(world_do(&w, op), PROBLEM_INVALID_FIELD);
    op->patch.priority = JOB_PRIORITY_MIN;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    op->patch.labels = text_format("{\"note\":\"%0*d\"}", JOB_LABELS_MAX_BYTES - 4, 0);
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    mem_free(op->patch.labels);
    op->patch.labels = text_copy("{\"x\":\"\"}"); /* one byte more than there may be in all */
    CHECK_EQ(world_do(&w, op), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].pointer, "/labels");
    op_free(op);
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, patch_op(job)), PROBLEM_CONFLICT); /* over */
    CHECK_EQ(world_run(&w, patch_op(job + 90)), PROBLEM_NOT_FOUND);
    close_world(&w);
}

/* What runs is touched, so that all who follow hear of it; the rest of the specification stays. */
TEST(a_patch_of_the_limit_goes_on_to_what_runs)
{
    struct world w = { 0 };
    struct row_job *row;
    struct op *op;
    uint64_t job, before;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2,\"limit\":\"1h\",\"grace\":\"5s\"}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    op = op_new(OP_PATCH, NULL, NULL);
    op->patch.job = job;
    op->patch.has_limit = true;
    op->patch.limit_ms = 7200000;
    before = w.revision;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(w.revision, before + 2); /* the job, and the one attempt that is live */
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(w.revision, before + 2); /* as it is: nothing happens */
    row = world_job(&w, job);
    CHECK(strstr(row->spec, "\"limit\":\"2h\"") && strstr(row->spec, "\"grace\":\"5s\""));
    CHECK_EQ(row->version, 2);
    row_free(ROW_JOB, row);
    op->patch.limit_ms = 0;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    row = world_job(&w, job);
    CHECK(!strstr(row->spec, "\"limit\""));
    row_free(ROW_JOB, row);
    op->patch.limit_ms = JOB_DURATION_MAX_MS + 1;
    CHECK_EQ(world_do(&w, op), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].pointer, "/limit");
    op_free(op);
    close_world(&w);
}

/* Each change is laid over what is there when it is judged, not over what its sender had read. */
TEST(a_patch_merges_labels)
{
    static const struct {
        const char *name, *changes;
        enum problem_code code;
        const char *then, *pointer;
    } rows[] = {
        { "set", "{\"a\":\"1\",\"b\":\"2\"}", PROBLEM_NONE, "{\"a\":\"1\",\"b\":\"2\"}", "" },
        { "taken away and set", "{\"b\":null,\"c\":\"3\"}", PROBLEM_NONE,
          "{\"a\":\"1\",\"c\":\"3\"}", "" },
        { "taking away what is not there", "{\"none\":null}", PROBLEM_NONE,
          "{\"a\":\"1\",\"c\":\"3\"}", "" },
        { "nothing", "{}", PROBLEM_NONE, "{\"a\":\"1\",\"c\":\"3\"}", "" },
        { "no text", "{\"a\":7}", PROBLEM_INVALID_FIELD, "{\"a\":\"1\",\"c\":\"3\"}", "/labels/a" },
        { "no name", "{\"a b\":\"7\"}", PROBLEM_INVALID_FIELD, "{\"a\":\"1\",\"c\":\"3\"}",
          "/labels/a b" },
        { "no object", "[]", PROBLEM_INVALID_FIELD, "{\"a\":\"1\",\"c\":\"3\"}", "/labels" },
        { "no JSON", "{\"a\":", PROBLEM_INVALID_FIELD, "{\"a\":\"1\",\"c\":\"3\"}", "/labels" },
        { "all taken away", "{\"a\":null,\"c\":null}", PROBLEM_NONE, "{}", "" },
    };
    struct world w = { 0 };
    struct row_job *row;
    struct op *op;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{}");
    ROW_EACH (c, rows) {
        op = op_new(OP_PATCH, NULL, NULL);
        op->patch.job = job;
        op->patch.labels = text_copy(c->changes);
        CHECK_EQ(world_do(&w, op), c->code);
        if (c->code)
            CHECK_TEXT(w.problem.fields[0].pointer, c->pointer);
        op_free(op);
        row = world_job(&w, job);
        CHECK_TEXT(row->labels, c->then);
        row_free(ROW_JOB, row);
    }
    close_world(&w);
}

/* ---- the engine's words ---- */

static struct op *fail_op(struct world *w, uint64_t job, bool is_task)
{
    struct op *op = op_new(OP_FAIL, NULL, NULL);

    op->fail.job = job;
    op->fail.version = 1;
    op->fail.is_task = is_task;
    op->fail.code = WAIT_LARGER_THAN_ANY_NODE;
    op->fail.reason = text_copy("memory");
    op->fail.fence = w->fence;
    return op;
}

TEST(the_engine_gives_a_job_up)
{
    struct world w = { 0 };
    struct row_job *row;
    struct op *op;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2}");
    op = fail_op(&w, job, false);
    op->fail.fence++;
    CHECK_EQ(world_do(&w, op), PROBLEM_CONFLICT);
    op->fail.fence--;
    op->fail.version = 2;
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op->fail.version = 1;
    op->fail.code = WAIT_NONE;
    CHECK_EQ(world_do(&w, op), PROBLEM_BAD_REQUEST);
    op->fail.code = WAIT_LARGER_THAN_ANY_NODE;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE); /* it is over */
    op_free(op);
    CHECK_TEXT(counts(&w, job), "failed: 0 pending 0 live (0 run) 0 well 2 failed 0 cancelled");
    row = world_job(&w, job);
    CHECK_TEXT(row->reason, "memory");
    CHECK_EQ(row->code, 1);
    row_free(ROW_JOB, row);
    job = world_submit(&w, "{\"replicas\":2}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, fail_op(&w, job, false)), PROBLEM_CHANGED_SINCE); /* it runs */
    close_world(&w);
}

TEST(the_engine_gives_a_task_up)
{
    struct world w = { 0 };
    struct op *op;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2,\"onFailure\":\"continue\"}");
    op = fail_op(&w, job, true);
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "pending: 1 pending 0 live (0 run) 0 well 1 failed 0 cancelled");
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE); /* it is not pending */
    op->fail.index = 9;
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op_free(op);
    job = world_submit(&w, "{\"replicas\":2,\"onFailure\":\"stop\"}");
    CHECK_EQ(world_run(&w, fail_op(&w, job, true)), PROBLEM_NONE);
    CHECK_TEXT(counts(&w, job), "failed: 0 pending 0 live (0 run) 0 well 1 failed 1 cancelled");
    close_world(&w);
}

TEST(a_job_is_admitted_and_not_any_more)
{
    struct world w = { 0 };
    struct row_job *row;
    struct op *op = op_new(OP_ADMIT, NULL, NULL);
    uint64_t revision;

    open_world(&w);
    op->admit.job = world_submit(&w, "{}");
    op->admit.version = 1;
    op->admit.is_admitted = true;
    op->admit.fence = w.fence + 1;
    CHECK_EQ(world_do(&w, op), PROBLEM_CONFLICT);
    op->admit.fence = w.fence;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    revision = w.revision;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision);
    row = world_job(&w, op->admit.job);
    CHECK(row->is_admitted);
    CHECK_EQ(row->version, 1); /* what is decided with it in one cycle still holds */
    row_free(ROW_JOB, row);
    op->admit.version = 2;
    op->admit.is_admitted = false;
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op_free(op);
    close_world(&w);
}

TEST(a_job_on_which_nobody_votes_is_admitted_as_it_is_submitted)
{
    struct world w = { 0 };

    open_world(&w);
    for (int i = 0; i < 2; i++) {
        struct op *op = world_submit_op("{}");
        struct row_job *row;

        op->submit.is_admitted = i == 1;
        CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
        row = world_job(&w, op->submit.job);
        CHECK_EQ(row->is_admitted, i);
        row_free(ROW_JOB, row);
        op_free(op);
    }
    close_world(&w);
}

/* ---- retention ---- */

static int count_row(const void *row, void *arg)
{
    (void)row;
    ++*(size_t *)arg;
    return 0;
}

static size_t count_events(struct world *w, uint64_t after, uint64_t *oldest)
{
    struct reader *reader;
    struct err err = { 0 };
    uint64_t revision;
    size_t n = 0;

    CHECK_OK(reader_open(w->ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    CHECK_OK(reader_events(reader, after, 1000, oldest, count_row, &n, &err), &err);
    reader_close(reader);
    return n;
}

TEST(what_ended_long_ago_goes_with_its_events)
{
    struct world w = { 0 };
    uint64_t first, second, third, oldest = 0, is_job;
    bool is_replay;
    struct op *op = op_new(OP_RETAIN, NULL, NULL);

    open_world(&w);
    CHECK_EQ(submit_key(&w, "lab", "k", "d", &first, &is_replay), PROBLEM_NONE);
    run_task(&w, first, 0, 1, 0);
    w.now += 1000;
    second = world_submit(&w, "{}");
    CHECK_EQ(world_stop(&w, second), PROBLEM_NONE);
    third = world_submit(&w, "{}");
    CHECK(count_events(&w, 0, &oldest) > 0);
    CHECK_EQ(oldest, 1);
    op->retain.ended_before = w.now;
    op->retain.most = 10;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK(!world_job(&w, first));
    CHECK_TEXT(world_attempt_says(&w, first, 0, 1), "none");
    CHECK_EQ(world_job_state(&w, second), JOB_CANCELLED);
    CHECK_EQ(world_job_state(&w, third), JOB_PENDING);
    CHECK_EQ(count_events(&w, 0, &oldest), 0); /* a follower from the start has missed some */
    CHECK(oldest > first);
    CHECK(count_events(&w, oldest - 1, &oldest) > 0);
    CHECK_EQ(submit_key(&w, "lab", "k", "d", &is_job, &is_replay), PROBLEM_NONE);
    CHECK(!is_replay);
    op_free(op);
    close_world(&w);
}

/* Else no event would tell the revision, or one would tell of a job that none made. */
TEST(the_job_of_the_last_event_is_not_retired)
{
    struct world w = { 0 };
    struct op *op = op_new(OP_RETAIN, NULL, NULL);
    uint64_t job, revision;

    open_world(&w);
    job = world_submit(&w, "{}");
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    revision = w.revision;
    op->retain.ended_before = w.now + 1;
    op->retain.most = 1;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(world_job_state(&w, job), JOB_CANCELLED);
    CHECK(world_submit(&w, "{}") == revision + 1); /* no revision is given out twice */
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK(!world_job(&w, job));
    op_free(op);
    close_world(&w);
}

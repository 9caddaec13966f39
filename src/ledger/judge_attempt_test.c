/*
 * Judge of attempts: a row is a story of one task, told in words; after it stand the answer to
 * the last word, how the last attempt stands and what became of the job.
 *
 *     bind ack run end:CODE oom limit fail    the steward, then the agent
 *     stop evict drain cancel                 a person: the job; the attempt
 *     lose register:BOOT register:BOOT:list   of the node
 *     old-ack old-end                         with the generation before
 *     other-ack other-end                     from another node
 *     wait                                    a minute passes
 */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

static const char offers[] = "{\"cpu\":4000}";

struct story {
    struct world w;
    uint64_t job;
    uint32_t number;
};

static struct op *report(struct story *s, enum cause cause, int code, int signal)
{
    struct op *op = op_new(OP_REPORT, NULL, NULL);
    struct row_node *node = world_node(&s->w, "n1");

    op->report.node = text_copy("n1");
    op->report.generation = node->generation;
    op->report.attempt = (struct attempt_key){ s->job, 0, 0, s->number };
    op->report.is_ended = true;
    op->report.cause = cause;
    op->report.code = code;
    op->report.signal = signal;
    if (cause == CAUSE_START_FAILED)
        op->report.detail = DETAIL_COMMAND_NOT_FOUND;
    row_free(ROW_NODE, node);
    return op;
}

static struct op *ack(struct story *s)
{
    struct op *op = op_new(OP_ACK, NULL, NULL);
    struct row_node *node = world_node(&s->w, "n1");

    op->ack.node = text_copy("n1");
    op->ack.generation = node->generation;
    op->ack.attempt = (struct attempt_key){ s->job, 0, 0, s->number };
    row_free(ROW_NODE, node);
    return op;
}

static enum problem_code tell_register(struct story *s, const char *word)
{
    struct op *op = world_register_op("n1", "", offers);
    const char *boot = word + strlen("register:"), *list = strstr(boot, ":list");

    mem_free(op->reg.boot_id);
    op->reg.boot_id = list ? text_format("%.*s", (int)(list - boot), boot) : text_copy(boot);
    if (list) {
        op->reg.held = NEW0_N(struct held_attempt, 1);
        op->reg.n_held = 1;
        op->reg.held[0].attempt = (struct attempt_key){ s->job, 0, 0, s->number };
    }
    return world_run(&s->w, op);
}

/* What a person or the node's end does. */
static enum problem_code tell_other(struct story *s, const char *word)
{
    if (strcmp(word, "stop") == 0)
        return world_stop(&s->w, s->job);
    if (strcmp(word, "evict") == 0)
        return world_stop_attempt(&s->w, s->job, 0, s->number, CAUSE_EVICTED);
    if (strcmp(word, "drain") == 0)
        return world_stop_attempt(&s->w, s->job, 0, s->number, CAUSE_DRAINED);
    if (strcmp(word, "cancel") == 0)
        return world_stop_attempt(&s->w, s->job, 0, s->number, CAUSE_CANCELLED);
    if (strcmp(word, "for-nothing") == 0)
        return world_stop_attempt(&s->w, s->job, 0, s->number, CAUSE_COMPLETED);
    if (strcmp(word, "lose") == 0)
        return world_node_state(&s->w, "n1", NODE_LOST);
    if (strncmp(word, "register:", 9) == 0)
        return tell_register(s, word);
    CHECK(strcmp(word, "wait") == 0);
    s->w.now += 60000;
    return PROBLEM_NONE;
}

static enum problem_code tell(struct story *s, const char *word)
{
    struct op *op;

    if (strcmp(word, "bind") == 0) {
        s->number++;
        return world_bind(&s->w, s->job, 0, "n1");
    }
    if (strcmp(word, "ack") == 0)
        return world_run(&s->w, ack(s));
    if (strcmp(word, "run") == 0)
        return world_running(&s->w, s->job, 0, s->number, "n1");
    if (strncmp(word, "end:", 4) == 0)
        return world_run(&s->w, report(s, CAUSE_COMPLETED, atoi(word + 4), 0));
    if (strcmp(word, "oom") == 0)
        return world_run(&s->w, report(s, CAUSE_OUT_OF_MEMORY, 0, 9));
    if (strcmp(word, "limit") == 0)
        return world_run(&s->w, report(s, CAUSE_LIMIT_REACHED, 0, 0));
    if (strcmp(word, "signal") == 0)
        return world_run(&s->w, report(s, CAUSE_COMPLETED, 0, 11));
    if (strcmp(word, "fail") == 0)
        return world_run(&s->w, report(s, CAUSE_START_FAILED, 0, 0));
    if (strcmp(word, "causeless") == 0)
        return world_run(&s->w, report(s, CAUSE_NONE, 0, 0));
    if (strcmp(word, "unknown-ack") == 0) {
        op = ack(s);
        mem_free(op->ack.node);
        op->ack.node = text_copy("n9");
        return world_run(&s->w, op);
    }
    if (strcmp(word, "old-ack") == 0 || strcmp(word, "other-ack") == 0) {
        op = ack(s);
        op->ack.generation -= *word == 'o' && word[1] == 'l';
        if (word[1] == 't') {
            mem_free(op->ack.node);
            op->ack.node = text_copy("n2");
        }
        return world_run(&s->w, op);
    }
    if (strcmp(word, "old-end") == 0 || strcmp(word, "other-end") == 0) {
        op = report(s, CAUSE_COMPLETED, 0, 0);
        op->report.generation -= word[1] == 'l';
        if (word[1] == 't') {
            mem_free(op->report.node);
            op->report.node = text_copy("n2");
        }
        return world_run(&s->w, op);
    }
    return tell_other(s, word);
}

#define RETRY "{\"retries\":{\"max\":2,\"backoff\":\"10s\",\"backoffMax\":\"15s\"}}"

static const struct {
    const char *name, *spec, *words;
    enum problem_code code; /* to the last word */
    const char *attempt;    /* how the last attempt stands */
    enum job_state job;
    int tries, wait_ms, shell; /* of the task; until the next try; the job's code */
} rows[] = {
    { "bound", "{}", "bind", PROBLEM_NONE, "bound", JOB_RUNNING, 0, 0, 0 },
    { "let start", "{}", "bind ack", PROBLEM_NONE, "starting", JOB_RUNNING, 0, 0, 0 },
    { "let start, asked again", "{}", "bind ack ack", PROBLEM_NONE, "starting", JOB_RUNNING, 0, 0,
      0 },
    { "let start by an old life of the node", "{}", "bind old-ack", PROBLEM_STALE_ATTEMPT, "bound",
      JOB_RUNNING, 0, 0, 0 },
    { "let start from another node", "{}", "bind other-ack", PROBLEM_STALE_ATTEMPT, "bound",
      JOB_RUNNING, 0, 0, 0 },
    { "let start from a node that nobody knows", "{}", "bind unknown-ack", PROBLEM_STALE_ATTEMPT,
      "bound", JOB_RUNNING, 0, 0, 0 },
    { "running", "{}", "bind ack run", PROBLEM_NONE, "running", JOB_RUNNING, 0, 0, 0 },
    { "running, said again", "{}", "bind ack run run", PROBLEM_NONE, "running", JOB_RUNNING, 0, 0,
      0 },
    { "running, and asks to start", "{}", "bind ack run ack", PROBLEM_STALE_ATTEMPT, "running",
      JOB_RUNNING, 0, 0, 0 },
    { "running without an ack", "{}", "bind run", PROBLEM_STALE_ATTEMPT, "bound", JOB_RUNNING, 0, 0,
      0 },
    { "ended without an ack", "{}", "bind end:0", PROBLEM_STALE_ATTEMPT, "bound", JOB_RUNNING, 0, 0,
      0 },
    { "ended for no cause", "{}", "bind ack causeless", PROBLEM_BAD_REQUEST, "starting",
      JOB_RUNNING, 0, 0, 0 },
    { "ended well", "{}", "bind ack run end:0", PROBLEM_NONE, "ended COMPLETED succeeded",
      JOB_SUCCEEDED, 0, 0, 0 },
    { "ended well, said again", "{}", "bind ack run end:0 end:0", PROBLEM_NONE,
      "ended COMPLETED succeeded", JOB_SUCCEEDED, 0, 0, 0 },
    { "ended well, and then otherwise", "{}", "bind ack run end:0 end:1", PROBLEM_STALE_ATTEMPT,
      "ended COMPLETED succeeded", JOB_SUCCEEDED, 0, 0, 0 },
    { "ended well, from an old life", "{}", "bind ack run old-end", PROBLEM_STALE_ATTEMPT,
      "running", JOB_RUNNING, 0, 0, 0 },
    { "ended well, from another node", "{}", "bind ack run other-end", PROBLEM_STALE_ATTEMPT,
      "running", JOB_RUNNING, 0, 0, 0 },
    { "ended, and then runs", "{}", "bind ack end:0 run", PROBLEM_STALE_ATTEMPT,
      "ended COMPLETED succeeded", JOB_SUCCEEDED, 0, 0, 0 },
    { "failed, no try left", "{}", "bind ack run end:3", PROBLEM_NONE, "ended COMPLETED failed",
      JOB_FAILED, 1, 0, 3 },
    { "failed by a signal", "{}", "bind ack run signal", PROBLEM_NONE, "ended COMPLETED failed",
      JOB_FAILED, 1, 0, 139 },
    { "out of memory", "{}", "bind ack run oom", PROBLEM_NONE, "ended OUT_OF_MEMORY failed",
      JOB_FAILED, 1, 0, 137 },
    { "its start failed", "{}", "bind ack fail", PROBLEM_NONE, "ended START_FAILED failed",
      JOB_FAILED, 1, 0, 127 },
    { "failed, a try is left", RETRY, "bind ack run end:3", PROBLEM_NONE, "ended COMPLETED again",
      JOB_PENDING, 1, 10000, 0 },
    { "failed twice, the wait doubles up to its limit", RETRY, "bind ack end:3 wait bind ack end:3",
      PROBLEM_NONE, "ended COMPLETED again", JOB_PENDING, 2, 15000, 0 },
    { "failed, and the next try is due at once", "{\"retries\":{\"max\":1,\"backoff\":\"0s\"}}",
      "bind ack end:3", PROBLEM_NONE, "ended COMPLETED again", JOB_PENDING, 1, 0, 0 },
    { "failed three times", RETRY, "bind ack end:3 wait bind ack end:3 wait bind ack end:4",
      PROBLEM_NONE, "ended COMPLETED failed", JOB_FAILED, 3, 0, 4 },
    { "failed, then well", RETRY, "bind ack end:3 wait bind ack end:0", PROBLEM_NONE,
      "ended COMPLETED succeeded", JOB_SUCCEEDED, 1, 0, 0 },
    { "limit reached, whatever tries are left", RETRY, "bind ack run limit", PROBLEM_NONE,
      "ended LIMIT_REACHED failed", JOB_FAILED, 0, 0, 1 },
    { "evicted before it started", "{}", "bind evict", PROBLEM_NONE, "ended EVICTED again",
      JOB_PENDING, 0, 0, 0 },
    { "evicted while it runs", "{}", "bind ack run evict", PROBLEM_NONE, "stopping EVICTED",
      JOB_RUNNING, 0, 0, 0 },
    { "evicted, and gone", "{}", "bind ack run evict end:143", PROBLEM_NONE, "ended EVICTED again",
      JOB_PENDING, 0, 0, 0 },
    { "evicted, yet it ended well by itself", "{}", "bind ack run evict end:0", PROBLEM_NONE,
      "ended EVICTED again", JOB_PENDING, 0, 0, 0 },
    { "evicted, and its end said again", "{}", "bind ack run evict end:143 end:143", PROBLEM_NONE,
      "ended EVICTED again", JOB_PENDING, 0, 0, 0 },
    { "evicted, then drained: the first cause stands", "{}", "bind ack run evict drain",
      PROBLEM_NONE, "stopping EVICTED", JOB_RUNNING, 0, 0, 0 },
    { "evicted, then cancelled: the stronger stands", "{}", "bind ack run evict cancel",
      PROBLEM_NONE, "stopping CANCELLED", JOB_RUNNING, 0, 0, 0 },
    { "cancelled, then evicted", "{}", "bind ack run cancel evict", PROBLEM_NONE,
      "stopping CANCELLED", JOB_RUNNING, 0, 0, 0 },
    { "drained, and gone", "{}", "bind ack run drain end:0", PROBLEM_NONE, "ended DRAINED again",
      JOB_PENDING, 0, 0, 0 },
    { "stopped for nothing that stops", "{}", "bind ack run for-nothing", PROBLEM_BAD_REQUEST,
      "running", JOB_RUNNING, 0, 0, 0 },
    { "an end is wanted, and it asks to start", "{}", "bind ack evict ack", PROBLEM_STALE_ATTEMPT,
      "stopping EVICTED", JOB_RUNNING, 0, 0, 0 },
    { "an end is wanted, and it runs", "{}", "bind ack evict run", PROBLEM_NONE, "stopping EVICTED",
      JOB_RUNNING, 0, 0, 0 },
    { "evicted when it has ended", "{}", "bind ack end:0 evict", PROBLEM_STALE_ATTEMPT,
      "ended COMPLETED succeeded", JOB_SUCCEEDED, 0, 0, 0 },
    { "its task is cancelled", "{}", "bind ack run cancel end:143", PROBLEM_NONE,
      "ended CANCELLED cancelled", JOB_CANCELLED, 0, 0, 143 },
    { "the job is cancelled before it started", RETRY, "bind stop", PROBLEM_NONE,
      "ended CANCELLED cancelled", JOB_CANCELLED, 0, 0, 0 },
    { "the job is cancelled while it runs", RETRY, "bind ack run stop", PROBLEM_NONE,
      "stopping CANCELLED", JOB_STOPPING, 0, 0, 0 },
    { "the job is cancelled twice", RETRY, "bind ack run stop stop", PROBLEM_NONE,
      "stopping CANCELLED", JOB_STOPPING, 0, 0, 0 },
    { "the job is cancelled, and it ends", RETRY, "bind ack run stop end:143", PROBLEM_NONE,
      "ended CANCELLED cancelled", JOB_CANCELLED, 0, 0, 143 },
    { "the job is cancelled when it is over", "{}", "bind ack run end:0 stop", PROBLEM_NONE,
      "ended COMPLETED succeeded", JOB_SUCCEEDED, 0, 0, 0 },
    { "the job is cancelled between tries", RETRY, "bind ack run end:1 stop", PROBLEM_NONE,
      "ended COMPLETED again", JOB_CANCELLED, 1, 10000, 0 },
    { "the node is lost", "{}", "bind ack run lose", PROBLEM_NONE, "ended NODE_LOST again",
      JOB_PENDING, 0, 0, 0 },
    { "the node is lost before it started", "{}", "bind lose", PROBLEM_NONE,
      "ended NODE_LOST again", JOB_PENDING, 0, 0, 0 },
    { "the node is lost while it stops", "{}", "bind ack run stop lose", PROBLEM_NONE,
      "ended NODE_LOST cancelled", JOB_CANCELLED, 0, 0, 0 },
    { "the node is lost, and it ends", "{}", "bind ack run lose end:0", PROBLEM_STALE_ATTEMPT,
      "ended NODE_LOST again", JOB_PENDING, 0, 0, 0 },
    { "registered without it", "{}", "bind ack run register:boot-1", PROBLEM_NONE,
      "ended DISOWNED failed", JOB_FAILED, 1, 0, 1 },
    { "registered with it", "{}", "bind ack run register:boot-1:list", PROBLEM_NONE, "running",
      JOB_RUNNING, 0, 0, 0 },
    { "registered with it, then it ends", "{}", "bind ack run register:boot-1:list end:0",
      PROBLEM_NONE, "ended COMPLETED succeeded", JOB_SUCCEEDED, 0, 0, 0 },
    { "registered with it, and the old life reports", "{}",
      "bind ack run register:boot-1:list old-end", PROBLEM_STALE_ATTEMPT, "running", JOB_RUNNING, 0,
      0, 0 },
    { "registered after another boot", "{}", "bind ack run register:boot-2", PROBLEM_NONE,
      "ended NODE_LOST again", JOB_PENDING, 0, 0, 0 },
    { "registered after another boot, with it", "{}", "bind ack run register:boot-2:list",
      PROBLEM_NONE, "ended NODE_LOST again", JOB_PENDING, 0, 0, 0 },
    { "registered before it started", "{}", "bind register:boot-1", PROBLEM_NONE, "bound",
      JOB_RUNNING, 0, 0, 0 },
    { "registered after another boot before it started", "{}", "bind register:boot-2 ack",
      PROBLEM_NONE, "starting", JOB_RUNNING, 0, 0, 0 },
};

static void check_task(struct story *s, int tries, int wait_ms)
{
    struct row_attempt *row = world_attempt(&s->w, s->job, 0, s->number);

    CHECK_EQ(row->tries, tries);
    CHECK_EQ(row->not_before, wait_ms ? row->ended_at + wait_ms : 0);
    row_free(ROW_ATTEMPT, row);
}

TEST(what_becomes_of_an_attempt)
{
    ROW_EACH (c, rows) {
        struct story s = { 0 };
        CLEANUP(freep) char *words = text_copy(c->words);
        struct err err = { 0 };
        struct row_job *job;
        enum problem_code code = PROBLEM_NONE;
        char *rest = words, *word;

        world_open(&s.w, "memory:");
        world_lead(&s.w);
        CHECK_EQ(world_register(&s.w, "n1", offers), PROBLEM_NONE);
        CHECK_EQ(world_register(&s.w, "n2", offers), PROBLEM_NONE);
        s.job = world_submit(&s.w, c->spec);
        CHECK(s.job);
        while ((word = strsep(&rest, " "))) {
            CHECK_EQ(code, PROBLEM_NONE); /* of those before the last */
            code = tell(&s, word);
            CHECK_OK(ledger_check_open(s.w.ledger, &err), &err);
        }
        CHECK_EQ(code, c->code);
        CHECK_TEXT(world_attempt_says(&s.w, s.job, 0, s.number), c->attempt);
        check_task(&s, c->tries, c->wait_ms);
        job = world_job(&s.w, s.job);
        CHECK_TEXT(job_state_words[job->state], job_state_words[c->job]);
        CHECK_EQ(job->code, c->shell);
        row_free(ROW_JOB, job);
        world_close(&s.w);
    }
}

TEST(an_attempt_that_never_was_is_stale)
{
    struct story s = { 0 };

    world_open(&s.w, "memory:");
    world_lead(&s.w);
    CHECK_EQ(world_register(&s.w, "n1", offers), PROBLEM_NONE);
    s.job = world_submit(&s.w, "{}");
    s.number = 1;
    CHECK_EQ(tell(&s, "ack"), PROBLEM_STALE_ATTEMPT);
    CHECK_EQ(tell(&s, "end:0"), PROBLEM_STALE_ATTEMPT);
    CHECK_EQ(tell(&s, "evict"), PROBLEM_STALE_ATTEMPT);
    s.job += 1000;
    CHECK_EQ(tell(&s, "ack"), PROBLEM_STALE_ATTEMPT);
    CHECK_EQ(tell(&s, "stop"), PROBLEM_NOT_FOUND);
    world_close(&s.w);
}

TEST(an_eviction_of_an_old_steward_changes_nothing)
{
    struct story s = { 0 };
    struct op *op = op_new(OP_STOP, NULL, NULL);

    world_open(&s.w, "memory:");
    world_lead(&s.w);
    CHECK_EQ(world_register(&s.w, "n1", offers), PROBLEM_NONE);
    s.job = world_submit(&s.w, "{}");
    CHECK_EQ(tell(&s, "bind"), PROBLEM_NONE);
    op->stop.is_attempt = true;
    op->stop.attempt = (struct attempt_key){ s.job, 0, 0, 1 };
    op->stop.cause = CAUSE_EVICTED;
    op->stop.reason = text_copy("shuffle");
    op->stop.fence = s.w.fence + 1;
    CHECK_EQ(world_do(&s.w, op), PROBLEM_CONFLICT);
    op->stop.fence = s.w.fence;
    CHECK_EQ(world_do(&s.w, op), PROBLEM_NONE);
    op_free(op);
    world_close(&s.w);
}

/* A job of one task whose first attempt was let start. */
static void begin_acked(struct story *s)
{
    world_open(&s->w, "memory:");
    world_lead(&s->w);
    CHECK_EQ(world_register(&s->w, "n1", offers), PROBLEM_NONE);
    s->job = world_submit(&s->w, "{}");
    CHECK_EQ(world_bind(&s->w, s->job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(tell(s, "ack"), PROBLEM_NONE);
}

TEST(timings_and_peaks_must_be_json)
{
    struct story s = { .number = 1 };
    struct op *op;

    begin_acked(&s);
    op = report(&s, CAUSE_COMPLETED, 0, 0);
    op->report.timings = text_copy("[{\"phase\":]");
    CHECK_EQ(world_do(&s.w, op), PROBLEM_BAD_REQUEST);
    mem_free(op->report.timings);
    op->report.timings = text_copy("[{\"phase\":\"image\",\"startUs\":0}]");
    op->report.peaks = text_copy("[]");
    CHECK_EQ(world_do(&s.w, op), PROBLEM_BAD_REQUEST);
    mem_free(op->report.peaks);
    op->report.peaks = text_copy("{\"memory\":1}");
    CHECK_EQ(world_do(&s.w, op), PROBLEM_NONE);
    op_free(op);
    world_close(&s.w);
}

TEST(an_end_keeps_what_the_agent_says_of_it)
{
    struct story s = { .number = 1 };
    struct row_attempt *row;
    struct op *op;

    begin_acked(&s);
    op = report(&s, CAUSE_START_FAILED, 0, 0);
    op->report.started_at = 77;
    op->report.timings = text_copy("[1]");
    op->report.peaks = text_copy("{}");
    op->report.message = text_copy("no such file");
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    row = world_attempt(&s.w, s.job, 0, 1);
    CHECK_EQ(row->started_at, 77);
    CHECK_EQ(row->acked_at, s.w.now);
    CHECK_EQ(row->ended_at, s.w.now);
    CHECK_TEXT(row->timings, "[1]");
    CHECK_TEXT(row->peaks, "{}");
    CHECK_TEXT(row->message, "no such file");
    CHECK_EQ(row->detail, DETAIL_COMMAND_NOT_FOUND);
    row_free(ROW_ATTEMPT, row);
    world_close(&s.w);
}

enum { STARTED_AT = 77, NOW = -1 /* the ledger's */, AHEAD = 1 << 30 };

static const struct {
    const char *name;
    int64_t said, ended_at;
} ends[] = {
    { "while its agent was away", 99, 99 },
    { "not said", 0, NOW },
    { "before its start: no clock to go by", 76, NOW },
    { "by a clock that is ahead", AHEAD, AHEAD },
};

TEST(an_attempt_ended_when_its_agent_says)
{
    ROW_EACH (c, ends) {
        struct story s = { .number = 1 };
        struct row_attempt *row;
        struct op *op;

        begin_acked(&s);
        CHECK(s.w.now > STARTED_AT && s.w.now < AHEAD);
        op = report(&s, CAUSE_COMPLETED, 0, 0);
        op->report.started_at = STARTED_AT;
        op->report.ended_at = c->said;
        CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
        row = world_attempt(&s.w, s.job, 0, 1);
        CHECK_EQ(row->ended_at, c->ended_at == NOW ? s.w.now : c->ended_at);
        row_free(ROW_ATTEMPT, row);
        world_close(&s.w);
    }
}

TEST(the_first_instant_and_its_timings_stay)
{
    struct story s = { .number = 1 };
    struct row_attempt *row;
    struct op *op;

    begin_acked(&s);
    op = report(&s, CAUSE_NONE, 0, 0);
    op->report.is_ended = false;
    op->report.started_at = 77;
    op->report.timings = text_copy("[1]");
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    op = report(&s, CAUSE_COMPLETED, 0, 0);
    op->report.started_at = 99;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    row = world_attempt(&s.w, s.job, 0, 1);
    CHECK_EQ(row->started_at, 77);
    CHECK_TEXT(row->timings, "[1]");
    row_free(ROW_ATTEMPT, row);
    world_close(&s.w);
}

TEST(an_agent_evicts_nobody)
{
    static const enum cause causes[] = { CAUSE_EVICTED, CAUSE_CANCELLED, CAUSE_DRAINED,
                                         CAUSE_DISOWNED, CAUSE_REQUEUED };

    for (size_t i = 0; i < COUNT_OF(causes); i++) {
        struct story s = { .number = 1 };
        struct err err = { 0 };

        begin_acked(&s);
        CHECK_EQ(world_run(&s.w, report(&s, causes[i], 0, 15)), PROBLEM_NONE);
        CHECK_TEXT(world_attempt_says(&s.w, s.job, 0, 1), "ended SHUTDOWN again");
        CHECK_EQ(world_run(&s.w, report(&s, causes[i], 0, 15)), PROBLEM_NONE); /* said again */
        CHECK_OK(ledger_check_open(s.w.ledger, &err), &err);
        world_close(&s.w);
    }
}

static void stop_with_grace(struct story *s, bool is_attempt, int64_t grace_ms, const char *reason)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = s->job;
    op->stop.is_attempt = is_attempt;
    op->stop.attempt = (struct attempt_key){ s->job, 0, 0, 1 };
    op->stop.cause = is_attempt ? CAUSE_EVICTED : CAUSE_CANCELLED;
    op->stop.grace_ms = grace_ms;
    op->stop.reason = text_copy(reason);
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void check_grace(struct story *s, enum cause cause, int64_t grace_ms, const char *message)
{
    struct row_attempt *row = world_attempt(&s->w, s->job, 0, 1);

    CHECK_EQ(row->cause, cause);
    CHECK_EQ(row->grace_ms, grace_ms);
    CHECK_TEXT(row->message, message);
    row_free(ROW_ATTEMPT, row);
}

TEST(the_stronger_cause_and_the_shorter_grace_hold)
{
    struct story s = { .number = 1 };
    struct row_job *job;

    world_open(&s.w, "memory:");
    world_lead(&s.w);
    CHECK_EQ(world_register(&s.w, "n1", offers), PROBLEM_NONE);
    s.job = world_submit(&s.w, "{\"grace\":\"20s\"}");
    CHECK_EQ(world_bind(&s.w, s.job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(tell(&s, "ack"), PROBLEM_NONE);
    stop_with_grace(&s, true, -1, "for j-9");
    check_grace(&s, CAUSE_EVICTED, 20000, "for j-9");
    stop_with_grace(&s, true, 30000, "again");
    check_grace(&s, CAUSE_EVICTED, 20000, "for j-9");
    stop_with_grace(&s, true, 10000, "again");
    check_grace(&s, CAUSE_EVICTED, 10000, "for j-9");
    stop_with_grace(&s, false, 15000, "not needed");
    check_grace(&s, CAUSE_CANCELLED, 15000, "");
    stop_with_grace(&s, false, 0, "now");
    check_grace(&s, CAUSE_CANCELLED, 0, "");
    job = world_job(&s.w, s.job);
    CHECK_TEXT(job->reason, "not needed");
    row_free(ROW_JOB, job);
    world_close(&s.w);
}

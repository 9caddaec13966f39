/* Judge of time limits: what a queue bounds, when a limit is said and when it is changed. */
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

enum { HOUR = 3600000 };

static void put_queue(struct world *w, const char *name, const char *parent, const char *spec,
                      bool is_create)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy(name);
    op->queue_put.parent = text_copy(parent);
    op->queue_put.spec = text_copy(spec);
    op->queue_put.is_create = is_create;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

/* `lab` with 4 h is above `lab-short` with 2 h and `lab-long`, which says 9 h; `free` has none. */
static void open_world(struct world *w)
{
    world_open(w, "memory:");
    world_lead(w);
    CHECK_EQ(world_register(w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    put_queue(w, "lab", "root", "{\"maxLimit\":14400000}", true);
    put_queue(w, "lab-short", "lab", "{\"maxLimit\":7200000}", true);
    put_queue(w, "lab-long", "lab", "{\"maxLimit\":32400000}", true);
    put_queue(w, "free", "root", "{}", true);
}

static void close_world(struct world *w)
{
    struct err err = { 0 };

    CHECK_OK(ledger_check_open(w->ledger, &err), &err);
    world_close(w);
}

/* "2h", "none", or "2h of 3h" where it was submitted with another. */
static char *limit_of(struct world *w, uint64_t job)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct row_job *row = world_job(w, job);
    struct str out = { 0 };
    struct err err = { 0 };

    CHECK_OK(job_spec_from_canonical(row->spec, &spec, &err), &err);
    row_free(ROW_JOB, row);
    if (spec->limit_ms)
        duration_format(spec->limit_ms, &out);
    else
        str_add(&out, "none");
    if (spec->limit_submitted_ms != LIMIT_UNCHANGED) {
        str_add(&out, " of ");
        duration_format(spec->limit_submitted_ms, &out);
    }
    return str_take(&out);
}

static const struct {
    const char *name, *job;
    const char *limit; /* as limit_of; NULL: refused */
    const char *says;
} submits[] = {
    { "no bound, no limit", "{\"queue\":\"free\"}", "none", NULL },
    { "no bound", "{\"queue\":\"free\",\"limit\":\"100d\"}", "100d", NULL },
    { "a limit at the bound", "{\"queue\":\"lab-short\",\"limit\":\"2h\"}", "2h", NULL },
    { "above it", "{\"queue\":\"lab-short\",\"limit\":\"2h1ms\"}", NULL,
      "2h1ms is above the longest limit of queue lab-short, which is 2h" },
    { "within its own and above the parent's", "{\"queue\":\"lab-long\",\"limit\":\"5h\"}", NULL,
      "5h is above the longest limit of queue lab, which is 4h" },
    { "none gets the bound", "{\"queue\":\"lab-short\"}", "2h of 0s", NULL },
    { "0s is none", "{\"queue\":\"lab-short\",\"limit\":\"0s\"}", "2h of 0s", NULL },
    { "none gets the least of all above", "{\"queue\":\"lab-long\"}", "4h of 0s", NULL },
};

TEST(a_submit_is_held_against_the_longest_limit_of_its_queue)
{
    struct world w = { 0 };

    open_world(&w);
    ROW_EACH (c, submits) {
        struct op *op = world_submit_op(c->job);

        CHECK_EQ(world_do(&w, op), c->limit ? PROBLEM_NONE : PROBLEM_INVALID_FIELD);
        if (c->limit) {
            CLEANUP(freep) char *limit = limit_of(&w, op->submit.job);
            CHECK_TEXT(limit, c->limit);
        } else {
            CHECK_TEXT(w.problem.fields[0].pointer, "/limit");
            CHECK_TEXT(w.problem.fields[0].text, c->says);
        }
        op_free(op);
    }
    close_world(&w);
}

/* The key knows what the user said, not what the queue made of it. */
TEST(a_submit_is_the_same_whatever_the_queue_bounds_by_then)
{
    struct world w = { 0 };
    struct op *op;
    uint64_t job = 0;

    open_world(&w);
    for (int i = 0; i < 2; i++) {
        op = world_submit_op("{\"queue\":\"lab-short\"}");
        op->submit.key = text_copy("k");
        CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
        CHECK_EQ(op->submit.is_replay, i == 1);
        job = i ? job : op->submit.job;
        CHECK_EQ(op->submit.job, job);
        op_free(op);
        put_queue(&w, "lab-short", "lab", "{\"maxLimit\":3600000}", false);
    }
    close_world(&w);
}

static const struct {
    const char *name;
    bool is_change;
    int64_t limit_ms;
    const char *limit; /* afterwards, of one that was submitted with 1 h in lab-short */
    const char *says;  /* NULL: taken */
} patches[] = {
    { "more", true, HOUR / 2, "1h30m of 1h", NULL },
    { "up to the bound", true, HOUR / 2, "2h of 1h", NULL },
    { "beyond it", true, 1, "2h of 1h",
      "2h1ms is above the longest limit of queue lab-short, which is 2h" },
    { "beyond it at once", false, 3 * HOUR, "2h of 1h",
      "3h is above the longest limit of queue lab-short, which is 2h" },
    { "none at all", false, 0, "2h of 1h",
      "no limit is above the longest limit of queue lab-short, which is 2h" },
    { "less", true, -HOUR, "1h", NULL },
    { "less than there is", true, -2 * HOUR, "1h", "nothing is left of its 1h" },
    { "all of it", true, -HOUR, "1h", "nothing is left of its 1h" },
    { "below nothing", false, -1, "1h", "nothing is left of its 1h" },
    { "longer than any", false, JOB_DURATION_MAX_MS + 1, "1h",
      "is longer than 3650d, the longest that may be" },
    { "as it is", true, 0, "1h", NULL },
};

static enum problem_code patch(struct world *w, uint64_t job, bool is_change, int64_t limit_ms)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = job;
    op->patch.has_limit = true;
    op->patch.limit_is_change = is_change;
    op->patch.limit_ms = limit_ms;
    return world_run(w, op);
}

TEST(a_limit_is_changed_within_the_longest_of_the_queue)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"queue\":\"lab-short\",\"limit\":\"1h\"}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    ROW_EACH (c, patches) {
        CLEANUP(freep) char *limit = NULL;

        CHECK_EQ(patch(&w, job, c->is_change, c->limit_ms),
                 c->says ? PROBLEM_INVALID_FIELD : PROBLEM_NONE);
        if (c->says)
            CHECK_TEXT(w.problem.fields[0].text, c->says);
        limit = limit_of(&w, job);
        CHECK_TEXT(limit, c->limit);
    }
    close_world(&w);
}

TEST(what_has_no_limit_cannot_be_moved)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"queue\":\"free\"}");
    CHECK_EQ(patch(&w, job, true, HOUR), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].text,
               "there is none that could be moved; say how long it is to be");
    CHECK_EQ(patch(&w, job, false, HOUR), PROBLEM_NONE);
    CHECK_EQ(patch(&w, job, true, HOUR), PROBLEM_NONE);
    close_world(&w);
}

/* Jobs that are there keep what they have, and may have less, never more. */
TEST(a_bound_that_comes_later_leaves_the_jobs_alone)
{
    static const char *const queues[] = { "free", "lab-short" };
    struct world w = { 0 };

    open_world(&w);
    for (size_t i = 0; i < COUNT_OF(queues); i++) {
        CLEANUP(freep)
        char *json = text_format("{\"queue\":\"%s\",\"limit\":\"2h\"}", queues[i]);
        CLEANUP(freep) char *limit = NULL, *after = NULL;
        uint64_t job = world_submit(&w, json), revision;
        struct row_job *row;

        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        row = world_job(&w, job);
        revision = row->rev;
        row_free(ROW_JOB, row);
        put_queue(&w, queues[i], i ? "lab" : "root", "{\"maxLimit\":600000}", false);
        row = world_job(&w, job);
        CHECK_EQ(row->rev, revision);
        row_free(ROW_JOB, row);
        limit = limit_of(&w, job);
        CHECK_TEXT(limit, "2h");
        CHECK_EQ(patch(&w, job, true, 1), PROBLEM_INVALID_FIELD);
        CHECK_EQ(patch(&w, job, false, 0), PROBLEM_INVALID_FIELD);
        CHECK_EQ(patch(&w, job, true, -HOUR / 2), PROBLEM_NONE);
        after = limit_of(&w, job);
        CHECK_TEXT(after, "1h30m of 2h");
    }
    close_world(&w);
}

static enum problem_code stop(struct world *w, uint64_t job, bool suspends)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = job;
    op->stop.cause = CAUSE_REQUEUED;
    op->stop.grace_ms = -1;
    op->stop.suspends = suspends;
    op->stop.by = text_copy("ops");
    op->stop.reason = text_copy("");
    return world_run(w, op);
}

/* Whoever wants a job to begin anew is told that it may not run so long any more. */
TEST(a_requeue_is_held_against_the_longest_limit)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"queue\":\"lab-short\",\"limit\":\"2h\"}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    put_queue(&w, "lab", "root", "{\"maxLimit\":600000}", false);
    CHECK_EQ(stop(&w, job, false), PROBLEM_CONFLICT);
    CHECK(strstr(w.problem.detail,
                 "has a limit of 2h, above the longest limit of queue lab, which is 10m by now: "
                 "give it a limit of 10m at most first") != NULL);
    CHECK_EQ(stop(&w, job, true), PROBLEM_NONE); /* to stop it is no more */
    CHECK_EQ(patch(&w, job, false, 600000), PROBLEM_NONE);
    CHECK_EQ(stop(&w, job, false), PROBLEM_NONE);
    job = world_submit(&w, "{\"queue\":\"free\"}");
    CHECK_EQ(stop(&w, job, false), PROBLEM_NONE);
    put_queue(&w, "free", "root", "{\"maxLimit\":600000}", false);
    CHECK_EQ(stop(&w, job, false), PROBLEM_CONFLICT);
    CHECK(strstr(w.problem.detail, "has no limit, above the longest limit of queue free") != NULL);
    close_world(&w);
}

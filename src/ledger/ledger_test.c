/* The main path through writer, judge and store, on the memory store. */
#include "base/test.h"
#include "ledger/world.h"

static const char offers[] = "{\"cpu\":4000,\"memory\":1073741824,\"pods\":10000}";

TEST(a_job_runs_from_submit_to_its_end)
{
    struct world w = { 0 };
    struct row_job *row;
    uint64_t job;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    job = world_submit(&w, "{\"name\":\"a\",\"resources\":{\"cpu\":1}}");
    CHECK(job > 0);
    CHECK_EQ(world_job_state(&w, job), JOB_PENDING);
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_job_state(&w, job), JOB_RUNNING);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "bound");
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "starting");
    CHECK_EQ(world_running(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "running");
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 0), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "ended COMPLETED succeeded");
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 0), PROBLEM_NONE); /* said again */
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 1), PROBLEM_STALE_ATTEMPT);
    row = world_job(&w, job);
    CHECK_EQ(row->state, JOB_SUCCEEDED);
    CHECK_EQ(row->n_succeeded, 1);
    CHECK_EQ(row->n_live, 0);
    row_free(ROW_JOB, row);
    world_close(&w);
}

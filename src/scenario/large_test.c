/*
 * A document of 10,000 nodes and 200,000 tasks, made here, read and run: what is large works, and
 * under a sanitizer nothing of it is out of bounds or left behind.
 */
#include "scenario/scenario.h"

#include "base/test.h"

enum { N_NODES = 10000, N_JOBS = 2000, TASKS_PER_JOB = 100, N_KINDS = 20 };

/* A quarter of the nodes have a label that every fourth kind of task wants. */
static void add_nodes(struct str *out)
{
    str_add(out, "\"nodes\": [");
    for (int i = 0; i < N_NODES; i++)
        str_addf(out,
                 "%s{\"name\": \"n%05d\", \"resources\": {\"cpu\": \"16\", \"memory\": \"64Gi\", "
                 "\"pods\": \"40\"}, \"labels\": {\"disk\": \"%s\"}}",
                 i ? ",\n" : "", i, i % 4 ? "sata" : "nvme");
    str_add(out, "],\n");
}

static void add_task(struct str *out, int job, int task)
{
    int kind = job % N_KINDS;

    str_addf(out,
             "%s{\"name\": \"t%d-%d\", \"resources\": {\"cpu\": \"%dm\", \"memory\": \"%dMi\"}%s}",
             task ? "," : "", job, task, 300 + 25 * kind, 512 + 64 * kind,
             kind % 4 ? "" : ", \"nodeSelector\": {\"disk\": \"nvme\"}");
}

static void add_jobs(struct str *out)
{
    str_add(out, "\"jobs\": [");
    for (int job = 0; job < N_JOBS; job++) {
        str_addf(out,
                 "%s{\"name\": \"j%d\", \"namespace\": \"c\", \"queue\": \"q%d\", "
                 "\"priority\": %d, \"minAvailable\": %d, \"tasks\": [",
                 job ? ",\n" : "", job, job % 4, job % 3, job % 5 ? 1 : TASKS_PER_JOB);
        for (int task = 0; task < TASKS_PER_JOB; task++)
            add_task(out, job, task);
        str_add(out, "]}");
    }
    str_add(out, "],\n");
}

TEST(a_scenario_of_200000_tasks_is_read_and_run)
{
    CLEANUP(str_fini) struct str text = { 0 };
    CLEANUP(scenario_freep) struct scenario *s = NULL;
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    size_t n;

    str_add(&text, "{\"config\": {\"profile\": \"berth\"}, \"queues\": [");
    for (int i = 0; i < 4; i++)
        str_addf(&text, "%s{\"name\": \"q%d\", \"weight\": %d}", i ? "," : "", i, i + 1);
    str_add(&text, "],\n");
    add_nodes(&text);
    add_jobs(&text);
    /* There is room for all: 107,500 of 160,000 cores, and 40 slots on each node. */
    str_addf(&text, "\"expect\": {\"bindCount\": %d, \"evictCount\": 0}}", N_JOBS * TASKS_PER_JOB);
    s = scenario_read(str_text(&text), text.len);
    CHECK_EQ(scenario_problem(s)->code, PROBLEM_NONE);
    scenario_deltas(s, &n);
    CHECK(n >= N_NODES + N_JOBS);
    CHECK_EQ(scenario_check(s, &result), 0);
    CHECK_TEXT(str_text(&result.faults), "");
    CHECK(result.passed);
}

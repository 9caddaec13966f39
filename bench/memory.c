/*
 * bench-memory: what a node and a task cost the engine in memory (B12).
 *
 * Counted is what was handed out by malloc between before and after, so pages that are shared with
 * something else or not given back yet do not blur it.
 */
#include <malloc.h>

#include "cluster.h"

enum { NODES = 10000, TASKS = 1000000, A_JOB = 100 };

static double in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return (double)(info.uordblks + info.hblkhd);
}

static void cycle(struct berth_engine *engine)
{
    struct berth_cycle_in in = { .revision = 1, .now_ms = 1000000, .max_tasks = 1000 };
    struct berth_decisions out = { 0 };
    struct err err = { 0 };

    if (berth_engine_cycle(engine, &in, &out, &err) < 0)
        bench_fail(err.text);
    berth_decisions_free(&out);
}

static void submit(struct berth_engine *engine, uint32_t replicas, bool run)
{
    for (size_t i = 0; i < TASKS / replicas; i++) {
        struct bench_job job = { "job", "default", i, replicas, 1, 0, 100, 64 * MIB };
        bench_submit(engine, &job);
        for (uint32_t k = 0; run && k < replicas; k++)
            bench_runs(engine, &job, k, (i * replicas + k) % NODES);
    }
}

static void measure(const char *name, uint32_t replicas, bool run, const char *note)
{
    double before = in_use(), nodes, tasks;
    struct berth_engine *engine = bench_engine(&(struct berth_config){ .profile = "berth" });

    bench_tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "default", .seq = 1 });
    for (size_t i = 0; i < NODES; i++)
        bench_node(engine, i, 64000, 256 * GIB);
    cycle(engine);
    nodes = in_use();
    if (run && replicas == A_JOB)
        bench_figure("memory.node_bytes", (nodes - before) / NODES, "bytes",
                     "10,000 nodes, two resources; target at most 1024");
    submit(engine, replicas, run);
    cycle(engine);
    tasks = in_use();
    bench_figure(name, (tasks - nodes) / TASKS, "bytes", note);
    berth_engine_free(engine);
}

int main(void)
{
    measure("memory.task_running_bytes", A_JOB, true,
            "1,000,000 running tasks in jobs of 100, jobs included; target at most 256");
    measure("memory.task_pending_bytes", A_JOB, false,
            "1,000,000 pending tasks in jobs of 100, jobs included; target at most 256");
    measure("memory.job_of_one_bytes", 1, false, "1,000,000 pending jobs of one task, all of each");
    return 0;
}

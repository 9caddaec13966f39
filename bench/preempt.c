/*
 * bench-preempt: what it costs to make room on a full cluster (B6).
 *
 *     bench-preempt                 the table
 *     bench-preempt reclaim NODES   one cycle: a gang of half the cluster takes it from another queue
 *     bench-preempt preempt NODES   one cycle: a high task a node, four low ones on each node
 *
 * With an argument the digest of the cycle is printed too, so that two builds can be compared.
 */
#include <math.h>
#include <string.h>

#include "base/mem_keep.h"
#include "cluster.h"

enum { SLOTS = 8, BEST_OF = 3 };

static const char *const actions[] = { "allocate", "preempt", "reclaim" };

static struct berth_engine *cluster(size_t n)
{
    struct berth_engine *engine = bench_engine(&(struct berth_config){
        .profile = "berth", .has_actions = true, .actions = { actions, 3 } });

    bench_tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "rich", .seq = 1 });
    bench_tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "poor", .seq = 2 });
    for (size_t i = 0; i < n; i++)
        bench_node(engine, i, SLOTS * 1000, SLOTS * GIB);
    return engine;
}

/* Every node is full of one-task jobs of the one queue; the other wants its half, as one gang. */
static struct berth_engine *reclaim(size_t n)
{
    struct berth_engine *engine = cluster(n);

    for (size_t i = 0; i < n * SLOTS; i++) {
        struct bench_job job = { "low", "rich", i, 1, 1, 0, 1000, GIB };
        bench_submit(engine, &job);
        bench_runs(engine, &job, 0, i / SLOTS);
    }
    bench_submit(engine, &(struct bench_job){ "large", "poor", 0, (uint32_t)n, (uint32_t)n, 0,
                                              SLOTS / 2 * 1000, SLOTS / 2 * GIB });
    return engine;
}

/* Four tasks of low priority on each node, which they fill; one of high priority for each node. */
static struct berth_engine *preempt(size_t n)
{
    struct berth_engine *engine = cluster(n);

    for (size_t i = 0; i < n * 4; i++) {
        struct bench_job job = { "low", "rich", i, 1, 1, 0, SLOTS / 4 * 1000, SLOTS / 4 * GIB };
        bench_submit(engine, &job);
        bench_runs(engine, &job, 0, i / 4);
    }
    for (size_t i = 0; i < n; i++)
        bench_submit(engine, &(struct bench_job){ "high", "rich", i, 1, 1, 100, SLOTS / 4 * 1000,
                                                  SLOTS / 4 * GIB });
    return engine;
}

/* Returns nanoseconds of the cycle. */
static double run(struct berth_engine *engine, size_t n, bool shows)
{
    struct berth_decisions out = { 0 };
    double ns = bench_cycle(engine, 1, shows, &out);

    if (out.counts.tasks_reserved != n)
        bench_fail("not all tasks were promised room");
    if (shows)
        printf("%.3f ms, %" PRIu64 " evicted, %" PRIu64 " steps, digest %s\n", ns / 1e6,
               out.counts.tasks_evicted, out.counts.steps, out.digest);
    berth_decisions_free(&out);
    return ns;
}

static double measure(struct berth_engine *(*make)(size_t n), size_t n)
{
    double least = 1e18;

    for (int i = 0; i < BEST_OF; i++) {
        struct berth_engine *engine = make(n);
        double ns = run(engine, n, false);
        least = ns < least ? ns : least;
        berth_engine_free(engine);
    }
    return least;
}

int main(int argc, char **argv)
{
    static const size_t nodes[] = { 10, 50, 100, 500, 1000 };
    char name[64];
    double first = 0, last = 0, ns;

    mem_keep(); /* as the server does */
    if (argc == 3) {
        size_t n = strtoul(argv[2], NULL, 10);
        struct berth_engine *engine = strcmp(argv[1], "reclaim") == 0 ? reclaim(n) : preempt(n);
        run(engine, n, true);
        berth_engine_free(engine);
        return 0;
    }
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
        ns = measure(reclaim, nodes[i]);
        first = nodes[i] == 100 ? ns : first;
        last = ns;
        snprintf(name, sizeof(name), "preempt.reclaim.%zu_ms", nodes[i]);
        bench_figure(name, ns / 1e6, "ms", "a gang of half the cluster takes it back");
    }
    bench_figure("preempt.reclaim.slope", log(last / first) / log(10), "",
                 "log time over log nodes, 100 to 1,000 nodes; target at most 1.2");
    ns = measure(preempt, 5000);
    bench_figure("preempt.5000_ms", ns / 1e6, "ms",
                 "5,000 nodes, 20,000 low and 5,000 high tasks; target: ends in seconds");
    return 0;
}

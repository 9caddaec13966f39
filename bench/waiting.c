/*
 * bench-waiting: what a cycle costs while many jobs wait that do not fit.
 *
 *     bench-waiting              the table
 *     bench-waiting NODES JOBS   one such cycle, for counting its instructions
 *
 * A cluster of 1,000 nodes is full and N one-task jobs of 20 shapes wait; in each cycle one node's
 * facts were told again. What it costs should follow that, and not N: a brief cycle's does; one that
 * lists all verdicts costs as many as wait.
 */
#include "base/mem_keep.h"
#include "cluster.h"

enum { CYCLES = 5 };

static struct berth_engine *cluster(size_t n, size_t n_jobs)
{
    struct berth_engine *engine = bench_engine(&(struct berth_config){ .profile = "berth" });

    bench_tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "default", .seq = 1 });
    for (size_t i = 0; i < n; i++) {
        struct bench_job filler = { "filler", "default", i, 1, 1, 0, 64000, 256 * GIB };
        bench_node(engine, i, 64000, 256 * GIB);
        bench_submit(engine, &filler);
        bench_runs(engine, &filler, 0, i);
    }
    for (size_t i = 0; i < n_jobs; i++)
        bench_submit(engine, &(struct bench_job){ "job", "default", i, 1, 1, 0,
                                                  1000 + (int64_t)(i % 20) * 100, GIB });
    return engine;
}

static double cycle(struct berth_engine *engine, size_t at, bool is_brief)
{
    struct berth_cycle_in in = {
        .revision = at, .now_ms = 1000000, .skip_digest = true, .is_brief = is_brief
    };
    struct berth_decisions out = { 0 };
    double ns;

    bench_node(engine, at % 100, 64000, 256 * GIB);
    ns = bench_cycle_in(engine, &in, &out);
    berth_decisions_free(&out);
    return ns;
}

static void measure_kind(struct berth_engine *engine, size_t n_jobs, bool is_brief)
{
    double least = 1e18;
    char name[64], note[64];

    for (size_t i = 0; i < CYCLES; i++) {
        double ns = cycle(engine, i, is_brief);
        least = ns < least ? ns : least;
    }
    snprintf(name, sizeof(name), "waiting.%zu%s_ms", n_jobs, is_brief ? "_brief" : "");
    snprintf(note, sizeof(note), "%.0f ns a waiting job", least / (double)n_jobs);
    bench_figure(name, least / 1e6, "ms", note);
}

static void measure(size_t n_jobs)
{
    struct berth_engine *engine = cluster(1000, n_jobs);

    measure_kind(engine, n_jobs, false);
    measure_kind(engine, n_jobs, true);
    berth_engine_free(engine);
}

int main(int argc, char **argv)
{
    static const size_t jobs[] = { 1000, 10000, 100000 };

    mem_keep();
    if (argc == 3) {
        struct berth_engine *engine =
            cluster(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
        for (size_t i = 0; i < CYCLES; i++)
            printf("%.0f ns\n", cycle(engine, i, false));
        berth_engine_free(engine);
        return 0;
    }
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
        measure(jobs[i]);
    return 0;
}

/*
 * bench-gangs: what a member of a gang costs, beside the same members as single tasks (B5).
 *
 *     bench-gangs            5,000 nodes and three shapes; gangs that cannot fit
 *     bench-gangs trace      gangs of the sizes on stdin, one a line in the order of arrival
 *     bench-gangs GANGS SIZE NODES   one cycle, for counting its instructions
 *
 * Each figure is the best of three cycles on engines built anew, in CPU time of the thread.
 */
#include <string.h>

#include "cluster.h"

enum { NODES = 5000, CORES = 64, BEST_OF = 3, BATCH = 500, GPUS = 8 };

static const char *const actions[] = { "allocate" };

struct shape {
    size_t gangs;
    uint32_t size;
};

static struct berth_engine *cluster(size_t n)
{
    struct berth_engine *engine = bench_engine(&(struct berth_config){
        .profile = "berth", .has_actions = true, .actions = { actions, 1 } });

    bench_tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "q", .seq = 1 });
    for (size_t i = 0; i < n; i++)
        bench_node(engine, i, CORES * 1000, CORES * GIB);
    return engine;
}

static void submit(struct berth_engine *engine, size_t n, uint32_t size)
{
    for (size_t i = 0; i < n; i++)
        bench_submit(engine, &(struct bench_job){ "gang", "q", i, size, size, 0, 1000, GIB });
}

/* One cycle in nanoseconds; `placed` must come of it. */
static double cycle(struct berth_engine *engine, size_t placed)
{
    struct berth_decisions out = { 0 };
    double ns = bench_cycle(engine, 1, false, &out);

    if (out.counts.tasks_placed != placed)
        bench_fail("not as many tasks were placed as should be");
    berth_decisions_free(&out);
    return ns;
}

static double measure(size_t nodes, struct shape shape, size_t placed)
{
    double least = 1e18;

    for (int i = 0; i < BEST_OF; i++) {
        struct berth_engine *engine = cluster(nodes);
        double ns;
        submit(engine, shape.gangs, shape.size);
        ns = cycle(engine, placed);
        least = ns < least ? ns : least;
        berth_engine_free(engine);
    }
    return least;
}

static void show_shape(struct shape shape)
{
    size_t members = shape.gangs * shape.size;
    double gangs = measure(NODES, shape, members);
    double single = measure(NODES, (struct shape){ members, 1 }, members);
    char name[64], note[128];

    snprintf(name, sizeof(name), "gangs.%zux%u_ns", shape.gangs, shape.size);
    snprintf(note, sizeof(note), "a member; %zu members in %.1f ms", members, gangs / 1e6);
    bench_figure(name, gangs / (double)members, "ns", note);
    snprintf(name, sizeof(name), "gangs.%zux%u_ratio", shape.gangs, shape.size);
    snprintf(note, sizeof(note), "to single tasks, %.0f ns each; target at most 1.3",
             single / (double)members);
    bench_figure(name, gangs / single, "x", note);
    if (members == 50000)
        bench_figure("gangs.50000_members_ms", gangs / 1e6, "ms", "target under 1,000");
}

/* On nodes that are one core short of the gang, and on nodes that have just enough. */
static void show_failure(uint32_t size)
{
    size_t nodes = size / CORES;
    double fails = measure(nodes, (struct shape){ 1, size + 1 }, 0);
    double fits = measure(nodes, (struct shape){ 1, size }, size);
    char name[64];

    snprintf(name, sizeof(name), "gangs.fails.%u_ratio", size);
    bench_figure(name, fails / fits, "x", "a gang one core too large, to one that just fits");
}

/* Ten gangs alike that cannot fit, to one of them. */
static void show_many_failures(uint32_t size)
{
    double one = measure(size / CORES, (struct shape){ 1, size + 1 }, 0);
    double ten = measure(size / CORES, (struct shape){ 10, size + 1 }, 0);

    bench_figure("gangs.fails.ten_ratio", ten / one, "x", "ten gangs that cannot fit, to one");
}

/* --- A trace */

struct trace {
    uint32_t *sizes;
    size_t n, members;
};

static struct trace read_trace(void)
{
    struct trace trace = { 0 };
    size_t cap = 0;
    unsigned size;

    while (scanf("%u", &size) == 1) {
        if (!size || size > NODES * GPUS)
            bench_fail("a gang of no size, or too large");
        if (trace.n == cap) {
            cap = cap ? cap * 2 : 1024;
            trace.sizes = realloc(trace.sizes, cap * sizeof(*trace.sizes));
            if (!trace.sizes)
                bench_fail("no memory");
        }
        trace.sizes[trace.n++] = size;
        trace.members += size;
    }
    return trace;
}

/* One gang, or its members one by one, each asking for a GPU. */
static void arrive(struct berth_engine *engine, size_t i, uint32_t size, bool single)
{
    struct berth_amount asks[2] = { { "cpu", 4000 }, { "gpu", 1000 } };
    struct berth_task_group group = { .name = "task", .asks = { asks, 2 } };
    char id[48];

    group.replicas = single ? 1 : size;
    for (uint32_t k = 0; k < (single ? size : 1); k++) {
        snprintf(id, sizeof(id), "job-%zu-%u", i, k);
        bench_tell(engine, BERTH_JOB,
                   &(struct berth_job){ .id = id,
                                        .seq = i * 1000 + k + 1,
                                        .queue = "q",
                                        .phase = BERTH_PHASE_INQUEUE,
                                        .min_available = group.replicas,
                                        .groups = &group,
                                        .n_groups = 1 });
    }
}

static void leave(struct berth_engine *engine, size_t i, uint32_t size, bool single)
{
    struct berth_delta delta = { .kind = BERTH_JOB, .end = true };
    struct berth_job job = { 0 };
    struct err err = { 0 };
    char id[48];

    for (uint32_t k = 0; k < (single ? size : 1); k++) {
        snprintf(id, sizeof(id), "job-%zu-%u", i, k);
        job.id = id;
        delta.job = &job;
        if (berth_engine_apply(engine, &delta, 1, &err) < 0)
            bench_fail(err.text);
    }
}

/* Cycles of BATCH arrivals each; who was placed in one leaves before the next. */
static double play(const struct trace *trace, bool single)
{
    struct berth_engine *engine = cluster(0);
    double ns = 0;

    for (size_t i = 0; i < NODES; i++) {
        struct berth_amount offers[2] = { { "cpu", CORES * 1000 }, { "gpu", GPUS * 1000 } };
        char id[32];
        snprintf(id, sizeof(id), "node-%06zu", i);
        bench_tell(engine, BERTH_NODE,
                   &(struct berth_node){
                       .id = id, .seq = i + 1, .state = NODE_READY, .offers = { offers, 2 } });
    }
    for (size_t from = 0; from < trace->n; from += BATCH) {
        size_t to = from + BATCH < trace->n ? from + BATCH : trace->n, members = 0;
        for (size_t i = from; i < to; i++) {
            arrive(engine, i, trace->sizes[i], single);
            members += trace->sizes[i];
        }
        ns += cycle(engine, members);
        for (size_t i = from; i < to; i++)
            leave(engine, i, trace->sizes[i], single);
    }
    berth_engine_free(engine);
    return ns;
}

static void show_trace(void)
{
    struct trace trace = read_trace();
    double gangs = 1e18, single = 1e18;
    char note[128];

    if (!trace.n)
        bench_fail("no gangs on stdin");
    for (int i = 0; i < BEST_OF; i++) {
        double ns = play(&trace, false);
        gangs = ns < gangs ? ns : gangs;
        ns = play(&trace, true);
        single = ns < single ? ns : single;
    }
    snprintf(note, sizeof(note), "a member; %zu gangs, %zu members", trace.n, trace.members);
    bench_figure("gangs.trace_ns", gangs / (double)trace.members, "ns", note);
    bench_figure("gangs.trace_ratio", gangs / single, "x",
                 "to the same members as single tasks; target at most 1.3");
    free(trace.sizes);
}

int main(int argc, char **argv)
{
    static const struct shape shapes[] = { { 3000, 3 }, { 9, 1000 }, { 10, 5000 } };

    if (argc == 2 && strcmp(argv[1], "trace") == 0) {
        show_trace();
        return 0;
    }
    if (argc == 4) {
        struct shape shape = { strtoul(argv[1], NULL, 10), (uint32_t)strtoul(argv[2], NULL, 10) };
        struct berth_engine *engine = cluster(strtoul(argv[3], NULL, 10));
        submit(engine, shape.gangs, shape.size);
        printf("%.3f ms\n", cycle(engine, shape.gangs * shape.size) / 1e6);
        berth_engine_free(engine);
        return 0;
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        show_shape(shapes[i]);
    show_failure(6400);
    show_failure(64000);
    show_many_failures(6400);
    return 0;
}

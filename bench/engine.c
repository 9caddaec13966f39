/*
 * bench-engine: what a placement costs, beside a plain loop over all nodes (B2).
 *
 *     bench-engine                        the table: profiles, nodes, shapes
 *     bench-engine PROFILE NODES SHAPES TASKS [TIMES]   one cycle, for counting its instructions, or the
 *                                         fastest of several
 *     bench-engine scan NODES TASKS       the loop alone, likewise
 *
 * SHAPES is 0 where every task asks for something else. The nodes are of one size and have random
 * amounts free. Each task is a job of its own, but for `one-job`. The loop beside it finds the same nodes: the first
 * by id among those with the best least-requested score, from plain arrays.
 */
#include <string.h>

#include "base/mem_keep.h"
#include "cluster.h"

enum { CPU = 64000, BEST_OF = 3 };
static const int64_t memory_bytes = 256 * GIB;

struct cluster {
    size_t n, n_tasks, n_shapes;
    bool is_one_job;                                        /* of one shape: all tasks in it */
    int64_t *has_cpu, *has_memory, *free_cpu, *free_memory; /* by node */
    int64_t *cpu, *memory;                                  /* by task */
};

static void *array(size_t n, size_t size)
{
    void *at = calloc(n + 1, size);

    if (!at)
        bench_fail("no memory");
    return at;
}

static void cluster_init(struct cluster *c, size_t n, size_t n_shapes, size_t n_tasks)
{
    uint64_t random = 42;

    *c = (struct cluster){ .n = n, .n_tasks = n_tasks, .n_shapes = n_shapes };
    c->has_cpu = array(n, sizeof(int64_t));
    c->has_memory = array(n, sizeof(int64_t));
    c->free_cpu = array(n, sizeof(int64_t));
    c->free_memory = array(n, sizeof(int64_t));
    c->cpu = array(n_tasks, sizeof(int64_t));
    c->memory = array(n_tasks, sizeof(int64_t));
    for (size_t i = 0; i < n; i++) {
        c->has_cpu[i] = CPU;
        c->has_memory[i] = memory_bytes;
        c->free_cpu[i] = CPU - (int64_t)(1 + bench_random(&random) % 55) * 1000;
        c->free_memory[i] = memory_bytes - (int64_t)(1 + bench_random(&random) % 223) * GIB;
    }
    for (size_t i = 0; i < n_tasks; i++) {
        size_t shape = n_shapes ? i % n_shapes : i;
        c->cpu[i] = 100 + (int64_t)(shape % 40) * 10;
        c->memory[i] = 256 * MIB + (int64_t)(shape / 40) * MIB + (int64_t)(shape % 40) * 16 * MIB;
    }
}

static void cluster_fini(struct cluster *c)
{
    free(c->has_cpu);
    free(c->has_memory);
    free(c->free_cpu);
    free(c->free_memory);
    free(c->cpu);
    free(c->memory);
}

static struct berth_engine *cluster_engine(const struct cluster *c, const char *profile)
{
    struct berth_engine *engine = bench_engine(&(struct berth_config){ .profile = profile });

    bench_tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "default", .seq = 1 });
    for (size_t i = 0; i < c->n; i++) {
        struct bench_job filler = {
            "filler", "default", i, 1, 1, 0, CPU - c->free_cpu[i], memory_bytes - c->free_memory[i]
        };
        bench_node(engine, i, CPU, memory_bytes);
        bench_submit(engine, &filler);
        bench_runs(engine, &filler, 0, i);
    }
    if (c->is_one_job)
        bench_submit(engine, &(struct bench_job){ "job", "default", 0, (uint32_t)c->n_tasks, 1, 0,
                                                  c->cpu[0], c->memory[0] });
    for (size_t i = 0; i < c->n_tasks && !c->is_one_job; i++)
        bench_submit(engine,
                     &(struct bench_job){ "job", "default", i, 1, 1, 0, c->cpu[i], c->memory[i] });
    return engine;
}

/* The loop: whole points of least requested, 0 to 100, the mean of cpu and memory. */
static int64_t score(const struct cluster *c, size_t i, int64_t cpu, int64_t memory)
{
    return ((c->free_cpu[i] - cpu) * 100 / c->has_cpu[i] +
            (c->free_memory[i] - memory) * 100 / c->has_memory[i]) /
           2;
}

__attribute__((noinline)) static size_t scan(const struct cluster *c, int64_t cpu, int64_t memory)
{
    size_t best = SIZE_MAX;
    int64_t most = -1;

    for (size_t i = 0; i < c->n; i++) {
        int64_t now;
        if (c->free_cpu[i] < cpu || c->free_memory[i] < memory)
            continue;
        now = score(c, i, cpu, memory);
        if (now > most) {
            most = now;
            best = i;
        }
    }
    return best;
}

/* The least that looks at every node: two comparisons, and one number added up. */
__attribute__((noinline)) static size_t sweep(const struct cluster *c, int64_t cpu, int64_t memory)
{
    size_t fit = 0;

    for (size_t i = 0; i < c->n; i++)
        fit += (size_t)((c->free_cpu[i] >= cpu) & (c->free_memory[i] >= memory));
    return fit;
}

/* Places the tasks by the loop; the nodes come in *at. Returns nanoseconds a task. */
static double run_scan(struct cluster *c, size_t n_tasks, size_t *at)
{
    double from = bench_cpu_ns();

    for (size_t i = 0; i < n_tasks; i++) {
        at[i] = scan(c, c->cpu[i], c->memory[i]);
        if (at[i] == SIZE_MAX)
            bench_fail("the loop found no node");
        c->free_cpu[at[i]] -= c->cpu[i];
        c->free_memory[at[i]] -= c->memory[i];
    }
    return (bench_cpu_ns() - from) / (double)n_tasks;
}

static double run_sweep(const struct cluster *c, size_t times)
{
    double from = bench_cpu_ns();
    size_t sum = 0;

    for (size_t i = 0; i < times; i++)
        sum += sweep(c, c->cpu[i % c->n_tasks], c->memory[i % c->n_tasks]);
    if (!sum)
        bench_fail("nothing fits");
    return (bench_cpu_ns() - from) / (double)times;
}

static double run_cycle(struct berth_engine *engine, size_t n_tasks, struct berth_decisions *out)
{
    struct berth_cycle_in in = { .revision = 1, .now_ms = 1000000, .skip_digest = true };
    struct err err = { 0 };
    double from = bench_cpu_ns();

    if (berth_engine_cycle(engine, &in, out, &err) < 0)
        bench_fail(err.text);
    if (out->counts.tasks_placed != n_tasks)
        bench_fail("not all tasks were placed");
    return (bench_cpu_ns() - from) / (double)n_tasks;
}

/* Whether the engine, when it scores as the loop does, chose what the loop chose. */
static void compare(const struct berth_decisions *out, const size_t *at, size_t n)
{
    size_t next = 0;

    for (size_t i = 0; i < out->n_groups && next < n; i++) {
        char node[32];
        if (out->groups[i].kind != BERTH_GROUP_BIND)
            continue;
        snprintf(node, sizeof(node), "node-%06zu", at[next++]);
        if (strcmp(out->groups[i].parts[0].node, node) != 0)
            bench_fail("the engine chose another node than the loop");
    }
}

struct row {
    const char *name;
    size_t n_shapes, n_tasks;
    bool is_one_job;
};

static void measure(const char *profile, size_t n_nodes, const struct row *row)
{
    size_t n_scans = row->n_tasks < 2000000 / n_nodes ? row->n_tasks : 2000000 / n_nodes;
    double engine_ns = 1e18, scan_ns = 1e18, sweep_ns = 1e18;
    char name[80], note[160];

    for (int i = 0; i < BEST_OF; i++) {
        struct cluster c;
        struct berth_decisions out = { 0 };
        struct berth_engine *engine;
        size_t *at = array(n_scans, sizeof(*at));
        double ns;
        cluster_init(&c, n_nodes, row->n_shapes, row->n_tasks);
        c.is_one_job = row->is_one_job;
        engine = cluster_engine(&c, profile);
        for (int k = 0; k < BEST_OF; k++) {
            berth_decisions_free(&out);
            ns = run_cycle(engine, row->n_tasks, &out);
            engine_ns = ns < engine_ns ? ns : engine_ns;
        }
        ns = run_sweep(&c, n_scans);
        sweep_ns = ns < sweep_ns ? ns : sweep_ns;
        ns = run_scan(&c, n_scans, at);
        scan_ns = ns < scan_ns ? ns : scan_ns;
        if (strcmp(profile, "bench") == 0)
            compare(&out, at, n_scans); /* in the order of the tasks */
        berth_decisions_free(&out);
        berth_engine_free(engine);
        cluster_fini(&c);
        free(at);
    }
    snprintf(name, sizeof(name), "engine.%s.%zu.%s_ns", profile, n_nodes, row->name);
    snprintf(note, sizeof(note), "%.0f/s; loop %.0f ns: ratio %.4f; bare sweep %.0f ns: ratio %.4f",
             1e9 / engine_ns, scan_ns, engine_ns / scan_ns, sweep_ns, engine_ns / sweep_ns);
    bench_figure(name, engine_ns, "ns", note);
}

static void count(const char *profile, size_t n_nodes, size_t n_shapes, size_t n_tasks, int times)
{
    struct cluster c;
    double least = 1e18;

    cluster_init(&c, n_nodes, n_shapes, n_tasks);
    if (strcmp(profile, "scan") == 0) {
        size_t *at = array(n_tasks, sizeof(*at));
        printf("%.0f ns\n", run_scan(&c, n_tasks, at));
        free(at);
    } else {
        struct berth_engine *engine = cluster_engine(&c, profile);
        struct berth_decisions out = { 0 };
        for (int i = 0; i < times; i++) {
            double ns = run_cycle(engine, n_tasks, &out);
            least = ns < least ? ns : least;
            berth_decisions_free(&out);
        }
        printf("%.0f ns\n", least);
        berth_engine_free(engine);
    }
    cluster_fini(&c);
}

int main(int argc, char **argv)
{
    static const char *const profiles[] = { "bench", "berth" };
    static const size_t nodes[] = { 1000, 10000, 100000 };
    static const struct row rows[] = { { "different", 0, 1000, false },
                                       { "20-shapes", 20, 20000, false },
                                       { "one-shape", 1, 20000, false },
                                       { "one-job", 1, 20000, true } };

    mem_keep();
    if (argc == 5 || argc == 6)
        count(argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
              strtoul(argv[4], NULL, 10), argc == 6 ? atoi(argv[5]) : 1);
    if (argc > 1)
        return argc == 5 || argc == 6 ? 0 : 2;
    for (size_t p = 0; p < 2; p++)
        for (size_t n = 0; n < 3; n++)
            for (size_t r = 0; r < 4; r++)
                measure(profiles[p], nodes[n], &rows[r]);
    return 0;
}

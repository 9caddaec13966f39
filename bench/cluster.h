/*
 * For the benchmarks of the engine: clusters of random nodes, and the time of a thread's own
 * work, which neighbours on the machine cannot lengthen.
 */
#ifndef BENCH_CLUSTER_H
#define BENCH_CLUSTER_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "berth/engine.h"

#define GIB ((int64_t)1 << 30)
#define MIB ((int64_t)1 << 20)

/* Numbers that are the same in each run. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = (*state += 0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* What this thread worked, in nanoseconds. */
static inline double bench_cpu_ns(void)
{
    struct timespec at;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* One line of the table: name, value, unit, note, with tabs between. */
static inline void bench_figure(const char *name, double value, const char *unit, const char *note)
{
    printf("%s\t%.6g\t%s\t%s\n", name, value, unit, note);
    fflush(stdout);
}

static inline _Noreturn void bench_fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline struct berth_engine *bench_engine(const struct berth_config *config)
{
    struct err err = { 0 };
    struct berth_engine *engine = berth_engine_new(&err);
    struct berth_delta delta = { BERTH_CONFIG, false, { .config = config } };

    if (!engine || berth_engine_apply(engine, &delta, 1, &err) < 0)
        bench_fail(err.text);
    return engine;
}

static inline void bench_tell(struct berth_engine *engine, enum berth_kind kind, const void *object)
{
    struct berth_delta delta = { kind, false, { .any = object } };
    struct err err = { 0 };

    if (berth_engine_apply(engine, &delta, 1, &err) < 0)
        bench_fail(err.text);
}

/* cpu in thousandths, memory in bytes. */
static inline void bench_node(struct berth_engine *engine, size_t i, int64_t cpu, int64_t memory)
{
    struct berth_amount offers[2] = { { "cpu", cpu }, { "memory", memory } };
    char id[32];

    snprintf(id, sizeof(id), "node-%06zu", i);
    bench_tell(
        engine, BERTH_NODE,
        &(struct berth_node){
            .id = id, .seq = i + 1, .state = NODE_READY, .facts = 1, .offers = { offers, 2 } });
}

/* A job of one group of like tasks. */
struct bench_job {
    const char *prefix, *queue;
    size_t i;
    uint32_t replicas, least;
    int priority;
    int64_t cpu, memory;
};

static inline const char *bench_job_id(const struct bench_job *job, char id[48])
{
    snprintf(id, 48, "%s-%zu", job->prefix, job->i);
    return id;
}

static inline void bench_submit(struct berth_engine *engine, const struct bench_job *job)
{
    struct berth_amount asks[2] = { { "cpu", job->cpu }, { "memory", job->memory } };
    struct berth_task_group group = { .name = "task",
                                      .replicas = job->replicas,
                                      .asks = { asks, 2 } };
    static uint64_t seq;
    char id[48];

    bench_tell(engine, BERTH_JOB,
               &(struct berth_job){ .id = bench_job_id(job, id),
                                    .seq = ++seq,
                                    .name = "bench",
                                    .queue = job->queue,
                                    .priority = job->priority,
                                    .phase = BERTH_PHASE_INQUEUE,
                                    .preemptable = BERTH_YES,
                                    .min_available = job->least,
                                    .groups = &group,
                                    .n_groups = 1 });
}

/* A task of such a job that runs on node `at`. */
static inline void bench_runs(struct berth_engine *engine, const struct bench_job *job,
                              uint32_t index, size_t at)
{
    char id[48], node[32];

    snprintf(node, sizeof(node), "node-%06zu", at);
    bench_tell(engine, BERTH_TASK,
               &(struct berth_task){ .job = bench_job_id(job, id),
                                     .group = "task",
                                     .index = index,
                                     .state = BERTH_TASK_RUNNING,
                                     .attempt = 1,
                                     .started_at_ms = 1000,
                                     .node = node });
}

/* One cycle at second 1,000, in nanoseconds; what came of it is yours to free. */
static inline double bench_cycle_in(struct berth_engine *engine, const struct berth_cycle_in *in,
                                    struct berth_decisions *out)
{
    struct err err = { 0 };
    double from = bench_cpu_ns();

    if (berth_engine_cycle(engine, in, out, &err) < 0)
        bench_fail(err.text);
    return bench_cpu_ns() - from;
}

static inline double bench_cycle(struct berth_engine *engine, uint64_t revision, bool has_digest,
                                 struct berth_decisions *out)
{
    struct berth_cycle_in in = { .revision = revision,
                                 .now_ms = 1000000,
                                 .skip_digest = !has_digest };
    return bench_cycle_in(engine, &in, out);
}

#endif

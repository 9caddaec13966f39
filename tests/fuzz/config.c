/* Configurations: any text is read, or refused with faults that can be written; what is read is
 * taken by an engine, which decides by it, and what that exports is taken by another. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void tell(struct berth_engine *engine, enum berth_kind kind, const void *object)
{
    struct berth_delta delta = { .kind = kind, .any = object };
    struct err err = { 0 };

    if (berth_engine_apply(engine, &delta, 1, &err) < 0)
        abort();
}

/* A cluster with something for each action to do. */
static void populate(struct berth_engine *engine)
{
    static const struct berth_amount four[] = { { "cpu", 4000 }, { "memory", 8 << 20 } };
    static const struct berth_amount two[] = { { "cpu", 2000 }, { "memory", 1 << 20 } };
    static const struct berth_task_group group = { .name = "t", .replicas = 2, .asks = { two, 2 } };
    static const char *const queues[] = { "a", "b" };

    for (uint64_t i = 0; i < 2; i++) {
        tell(engine, BERTH_QUEUE, &(struct berth_queue){ .name = queues[i], .seq = i });
        tell(engine, BERTH_NODE,
             &(struct berth_node){ .id = queues[i], .seq = i, .offers = { four, 2 }, .pool = "p" });
    }
    tell(engine, BERTH_POOL, &(struct berth_pool){ .name = "p", .provisions = true });
    for (uint64_t i = 0; i < 4; i++) {
        static const char *const ids[] = { "i", "j", "k", "l" };
        tell(engine, BERTH_JOB,
             &(struct berth_job){ .id = ids[i],
                                  .seq = i,
                                  .queue = queues[i % 2],
                                  .priority = (int)i,
                                  .min_available = 2,
                                  .groups = &group,
                                  .n_groups = 1 });
    }
    for (uint32_t i = 0; i < 2; i++)
        tell(engine, BERTH_TASK,
             &(struct berth_task){
                 .job = "i", .group = "t", .index = i, .state = BERTH_TASK_RUNNING, .node = "a" });
}

static int hand_on(const struct berth_delta *delta, void *arg)
{
    struct err err = { 0 };

    return berth_engine_apply(arg, delta, 1, &err);
}

static void decide(struct berth_engine *engine, char digest[33])
{
    struct berth_cycle_in in = { .now_ms = 1000000, .max_steps = 1000000 };
    struct berth_decisions out = { 0 };
    struct err err = { 0 };

    if (berth_engine_cycle(engine, &in, &out, &err) < 0)
        abort();
    memcpy(digest, out.digest, 33);
    berth_decisions_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scenario_config *config = NULL;
    struct problem problem = { 0 };
    CLEANUP(str_fini) struct str lines = { 0 };
    struct berth_engine *engine, *again;
    struct err err = { 0 };
    char first[33], second[33];

    if (scenario_config_read((const char *)data, n, &config, &problem) < 0) {
        problem_write(&problem, "fuzz", &lines);
        assert(lines.len && !config);
        return 0;
    }
    engine = berth_engine_new(&err);
    again = berth_engine_new(&err);
    tell(engine, BERTH_CONFIG, scenario_config_get(config));
    scenario_config_free(config); /* the engine keeps nothing of it */
    populate(engine);
    if (berth_engine_export(engine, hand_on, again) < 0)
        abort();
    decide(engine, first);
    decide(again, second);
    assert(strcmp(first, second) == 0);
    berth_engine_free(again);
    berth_engine_free(engine);
    return 0;
}

#include "engine/testing.h"

/* Plugin usage with arguments, room beside it; and two nodes that are alike but for their use. */
static void begin(struct world *w, const struct berth_value *arguments)
{
    struct berth_plugin_use uses[] = { { .name = "predicates" },
                                       { .name = "usage", .arguments = arguments } };
    struct berth_tier tier = { uses, COUNT_OF(uses) };

    world_init(w);
    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_tiers = true, .tiers = &tier, .n_tiers = 1 });
    world_queue(w, "default");
    world_node(w, "n1", 8);
    world_node(w, "n2", 8);
}

static void measure(struct world *w, const char *node, double cpu, double memory, int64_t age_ms)
{
    world_tell(w, BERTH_MEASURE,
               &(struct berth_measure){ .node = node,
                                        .cpu_percent = cpu,
                                        .memory_percent = memory,
                                        .measured_at_ms = w->in.now_ms - age_ms });
}

static const struct {
    const char *name;
    double cpu[2], memory[2]; /* of n1, n2; below 0: never measured */
    int64_t age_ms;
    const char *node, *code; /* where the task goes, or why not */
} rows[] = {
    { "the least used", { 60, 20 }, { 10, 10 }, 0, "n2", "" },
    { "by both in sum", { 60, 20 }, { 0, 70 }, 0, "n1", "" },
    { "at the threshold", { 80, 79 }, { 80, 81 }, 0, "n1", "" },
    { "above it in one", { 81, 90 }, { 0, 0 }, 0, "", "NODE_BUSY" },
    { "above it in memory", { 0, 10 }, { 80.5, 10 }, 0, "n2", "" },
    { "never measured is not used", { -1, 1 }, { -1, 1 }, 0, "n2", "" },
    { "just young enough", { 99, 1 }, { 99, 1 }, 300000, "n2", "" },
    { "too old to say anything", { 99, 99 }, { 99, 99 }, 300001, "n1", "" },
};

TEST(usage_keeps_off_busy_nodes_and_prefers_idle_ones)
{
    ROW_EACH (c, rows) {
        struct world w;
        static const char *const nodes[] = { "n1", "n2" };
        begin(&w, NULL);
        for (int i = 0; i < 2; i++)
            if (c->cpu[i] >= 0)
                measure(&w, nodes[i], c->cpu[i], c->memory[i], c->age_ms);
        world_job(&w, "j", 1, 1, 1);
        world_cycle(&w);
        CHECK_TEXT(world_groups(&w),
                   c->node[0] ? arena_format(&w.arena, "bind j/task.0>%s", c->node) : "");
        CHECK_TEXT(world_waits(&w, "j"), c->code);
        world_fini(&w);
    }
}

/* Time alone makes a measurement stale; nothing that is kept may outlive it. */
TEST(usage_forgets_with_time)
{
    struct world w;

    begin(&w, NULL);
    measure(&w, "n1", 90, 0, 0);
    measure(&w, "n2", 90, 0, 0);
    world_job(&w, "j", 3, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "j"), "NODE_BUSY");
    w.in.now_ms += 300001;
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 3);
    world_fini(&w);
}

TEST(usage_takes_thresholds_and_weights)
{
    struct berth_value most[] = { { .key = "cpu", .kind = BERTH_VALUE_INT, .number = 50 },
                                  { .key = "mem", .kind = BERTH_VALUE_DOUBLE, .real = 95.5 } };
    struct berth_value list[] = {
        { .key = "thresholds", .kind = BERTH_VALUE_OBJECT, .members = most, .n_members = 2 },
        { .key = "cpu.weight", .kind = BERTH_VALUE_INT, .number = 0 },
        { .key = "memory.weight", .kind = BERTH_VALUE_INT, .number = 1 },
    };
    struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT, .members = list, .n_members = 3 };
    struct world w;

    begin(&w, &arguments);
    measure(&w, "n1", 0, 95, 0);
    measure(&w, "n2", 50, 90, 0); /* only memory counts */
    world_job(&w, "j", 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j/task.0>n2");
    measure(&w, "n2", 51, 90, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j/task.0>n1");
    world_fini(&w);
}

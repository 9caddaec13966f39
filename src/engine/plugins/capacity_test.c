#include "engine/testing.h"

static void begin(struct world *w, bool is_tree, const char *action)
{
    struct berth_plugin_use uses[] = {
        { .name = "gang" },
        { .name = "predicates" },
        { .name = "capacity",
          .has_enabled = true,
          .enabled = BERTH_HOOKS_DEFAULT | (is_tree ? BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY) : 0) },
    };
    struct berth_tier tier = { uses, COUNT_OF(uses) };
    const char *const actions[] = { "allocate", action };

    world_init(w);
    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_actions = true,
                                       .actions = { actions, action ? 2 : 1 },
                                       .has_tiers = true,
                                       .tiers = &tier,
                                       .n_tiers = 1 });
    world_node(w, "n", 10);
}

/* Cores; below 0: not stated. */
static void tell_queue(struct world *w, const char *name, const char *parent, int64_t deserved,
                       int64_t cap, int64_t guarantee)
{
    int64_t values[3] = { deserved, cap, guarantee };
    struct berth_amount at[3];
    struct berth_amounts amounts[3];

    for (int i = 0; i < 3; i++) {
        at[i] = (struct berth_amount){ "cpu", values[i] * 1000 };
        amounts[i] = (struct berth_amounts){ &at[i], values[i] >= 0 };
    }
    world_tell(w, BERTH_QUEUE,
               &(struct berth_queue){ .name = name,
                                      .seq = ++w->seq,
                                      .parent = parent,
                                      .deserved = amounts[0],
                                      .has_deserved = deserved >= 0,
                                      .capability = amounts[1],
                                      .guarantee = amounts[2] });
}

static void tell_job(struct world *w, const char *id, const char *queue, uint32_t replicas)
{
    struct berth_task_group group = { .name = "task",
                                      .replicas = replicas,
                                      .asks = world_amounts(w, 1, 1) };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = queue,
                                    .min_available = 1,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static const struct {
    const char *name;
    int64_t deserved, cap, guarantee; /* of queue a */
    int64_t kept;                     /* guaranteed to queue b, which has no job */
    uint64_t placed;                  /* of twelve tasks of a */
    const char *code;
} rows[] = {
    { "it borrows all there is, and no more", 2, -1, -1, -1, 10, "OVER_CAP" },
    { "up to its cap", 2, 4, -1, -1, 4, "OVER_CAP" },
    { "a cap of nothing is no cap of cpu", 2, 0, -1, -1, 10, "OVER_CAP" },
    { "what another is guaranteed stays free", 2, -1, -1, 3, 7, "OVER_CAP" },
    { "its own guarantee is its own", 2, -1, 3, 3, 7, "OVER_CAP" },
};

TEST(capacity_lends_up_to_the_cap)
{
    ROW_EACH (c, rows) {
        struct world w;
        begin(&w, false, NULL);
        tell_queue(&w, "a", NULL, c->deserved, c->cap, c->guarantee);
        tell_queue(&w, "b", NULL, -1, -1, c->kept);
        tell_job(&w, "j", "a", 12);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, c->placed);
        CHECK_TEXT(world_waits(&w, "j"), c->code);
        world_fini(&w);
    }
}

TEST(capacity_takes_back_what_a_queue_deserves)
{
    struct world w;

    begin(&w, false, "reclaim");
    tell_queue(&w, "a", NULL, 6, -1, -1);
    tell_queue(&w, "b", NULL, 4, -1, -1);
    tell_job(&w, "borrows", "a", 10);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 10);
    world_accept(&w, BERTH_TASK_RUNNING);
    tell_job(&w, "wants", "b", 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_evicted, 1);
    CHECK_TEXT(w.out.groups[0].job, "wants");
    world_fini(&w);
}

TEST(capacity_leaves_what_a_queue_deserves)
{
    struct world w;

    begin(&w, false, "reclaim");
    tell_queue(&w, "a", NULL, 10, -1, -1);
    tell_queue(&w, "b", NULL, 4, -1, -1);
    tell_job(&w, "holds", "a", 10);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    tell_job(&w, "wants", "b", 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_evicted, 0);
    world_fini(&w);
}

/* root - up (cap 5) - { a, b (cap 3) }: each limit holds for what is beneath it. */
TEST(capacity_holds_the_limits_of_a_tree)
{
    struct world w;

    begin(&w, true, NULL);
    tell_queue(&w, "root", NULL, -1, -1, -1);
    tell_queue(&w, "up", "root", -1, 5, -1);
    tell_queue(&w, "a", "up", -1, -1, -1);
    tell_queue(&w, "b", "up", -1, 3, -1);
    tell_job(&w, "j", "b", 9);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 3);
    CHECK_TEXT(world_reason(&w, "j")->blocker, "b");
    world_accept(&w, BERTH_TASK_RUNNING);
    tell_job(&w, "k", "a", 9);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 2);
    CHECK_TEXT(world_waits(&w, "k"), "OVER_CAP");
    CHECK_TEXT(world_reason(&w, "k")->blocker, "up");
    world_fini(&w);
}

TEST(capacity_gives_nothing_in_a_broken_tree)
{
    static const struct {
        const char *name, *root, *parent, *of_parent;
    } trees[] = {
        { "no root", "top", "root", "root" },
        { "a circle", "root", "up", "a" },
        { "a parent that is not there", "root", "nobody", "root" },
        { "jobs in an inner queue", "root", "root", "a" },
    };

    ROW_EACH (c, trees) {
        struct world w;
        begin(&w, true, NULL);
        tell_queue(&w, c->root, NULL, -1, -1, -1);
        tell_queue(&w, "a", c->parent, -1, -1, -1);
        tell_queue(&w, "up", c->of_parent, -1, -1, -1);
        tell_job(&w, "j", "a", 1);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, 0);
        CHECK_TEXT(world_waits(&w, "j"), "QUEUE_UNKNOWN");
        world_fini(&w);
    }
}

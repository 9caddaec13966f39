#include "engine/testing.h"

enum { HOUR_MS = 3600000 };

static const struct berth_value zone = { .key = "tdm.revocable-zone.night",
                                         .kind = BERTH_VALUE_TEXT,
                                         .text = "22:00-06:00" };

/* A node that is lent at night, one that is not, and the hour. */
static void begin(struct world *w, const char *profile, int64_t hour)
{
    struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT, .members = &zone, .n_members = 1 };
    struct berth_plugin_use uses[] = { { .name = "gang" },
                                       { .name = "predicates" },
                                       { .name = "tdm", .arguments = &arguments } };
    struct berth_tier tier = { uses, COUNT_OF(uses) };
    static const char *const actions[] = { "allocate", "shuffle" };

    world_init(w);
    w->in.now_ms = hour * HOUR_MS;
    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .profile = profile,
                                       .has_actions = true,
                                       .actions = { actions, 2 },
                                       .has_tiers = true,
                                       .tiers = &tier,
                                       .n_tiers = 1 });
    world_queue(w, "default");
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = "lent",
                                     .seq = 1,
                                     .state = NODE_READY,
                                     .revocable_zone = "night",
                                     .offers = world_amounts(w, 8, (int64_t)1 << 30) });
}

static void tell_job(struct world *w, const char *id, bool accepts, uint32_t replicas,
                     struct berth_budget budget)
{
    struct berth_task_group group = { .name = "task",
                                      .replicas = replicas,
                                      .asks = world_amounts(w, 1, 1),
                                      .revocable_zone = accepts ? "*" : NULL };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .min_available = 1,
                                    .budget = budget,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static const struct {
    const char *name, *profile;
    int64_t hour;
    bool accepts, goes;
} rows[] = {
    { "at night", "berth", 23, true, true },
    { "past midnight", "berth", 24 + 3, true, true },
    { "past midnight, where today's zone alone counts", "volcano", 24 + 3, true, false },
    { "by day", "berth", 12, true, false },
    { "at night, and does not put up with it", "berth", 23, false, false },
    { "as it opens", "berth", 22, true, true },
    { "as it closes", "berth", 24 + 6, true, true },
};

TEST(tdm_lends_a_node_while_its_zone_is_open)
{
    ROW_EACH (c, rows) {
        struct world w;
        begin(&w, c->profile, c->hour);
        tell_job(&w, "j", c->accepts, 1, (struct berth_budget){ 0 });
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, c->goes);
        CHECK_TEXT(world_waits(&w, "j"), c->goes ? "" : "ZONE_CLOSED");
        world_fini(&w);
    }
}

TEST(tdm_prefers_what_is_lent)
{
    struct world w;

    begin(&w, "berth", 23);
    world_node(&w, "a", 64);
    tell_job(&w, "j", true, 1, (struct berth_budget){ 0 });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j/task.0>lent");
    world_fini(&w);
}

/* It wakes when the zone opens, and a task that waits for it goes. */
TEST(tdm_wakes_as_the_zone_opens)
{
    struct world w;

    begin(&w, "berth", 20);
    tell_job(&w, "j", true, 1, (struct berth_budget){ 0 });
    world_cycle(&w);
    CHECK_EQ(w.out.wake_at_ms, 22 * (int64_t)HOUR_MS);
    w.in.now_ms = w.out.wake_at_ms;
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 1);
    world_fini(&w);
}

static const struct {
    const char *name;
    struct berth_budget budget;
    uint32_t replicas, goes; /* how many may go at a time */
} budgets[] = {
    { "none said: one", { 0 }, 4, 1 },
    { "at most two away", { true, true, false, 2 }, 4, 2 },
    { "half of five, rounded up", { true, true, true, 50 }, 5, 3 },
    { "three must stay", { true, false, false, 3 }, 4, 1 },
    { "all must stay", { true, false, true, 100 }, 4, 0 },
};

TEST(tdm_takes_the_node_back_within_the_budget)
{
    ROW_EACH (c, budgets) {
        struct world w;
        begin(&w, "berth", 23);
        tell_job(&w, "j", true, c->replicas, c->budget);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, c->replicas);
        world_accept(&w, BERTH_TASK_RUNNING);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_evicted, 0); /* it is still night */
        w.in.now_ms = 31 * (int64_t)HOUR_MS;     /* seven in the morning */
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_evicted, c->goes);
        world_accept(&w, BERTH_TASK_RUNNING);
        world_cycle(&w); /* not again within the period */
        CHECK_EQ(w.out.counts.tasks_evicted, 0);
        world_fini(&w);
    }
}

TEST(tdm_refuses_zones_that_are_no_times)
{
    static const char *const wrong[] = {
        "", "22:00", "22:00-", "22:60-06:00", "24:00-06:00", "22:00-06:00x", "22-06", "-"
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct berth_value bad = { .key = "tdm.revocable-zone.z",
                                   .kind = BERTH_VALUE_TEXT,
                                   .text = wrong[i] };
        struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT,
                                         .members = &bad,
                                         .n_members = 1 };
        struct berth_plugin_use use = { .name = "tdm", .arguments = &arguments };
        struct berth_tier tier = { &use, 1 };
        struct err err = { 0 };
        CHECK_EQ(
            berth_config_check(
                &(struct berth_config){ .has_tiers = true, .tiers = &tier, .n_tiers = 1 }, &err),
            -EINVAL);
        CHECK(
            strstr(err.text, "/tiers/0/plugins/0/arguments/tdm.revocable-zone.z: a time such as"));
    }
}

/* Past use: how it fades, and that it decides the order of queues. */
#include "engine/testing.h"

#include "engine/past.h"

enum { HOUR = 3600000 };

static const struct {
    const char *name;
    int64_t dt_ms, half_ms;
    uint64_t left; /* in 2^-32, within 2^-12 of it */
} fades[] = {
    { "nothing went by", 0, HOUR, 4294967296 },
    { "time went back", -5, HOUR, 4294967296 },
    { "a half-life", HOUR, HOUR, 2147483648 },
    { "three", 3 * HOUR, HOUR, 536870912 },
    { "half of one", HOUR / 2, HOUR, 3037000500 },
    { "a tenth of one", HOUR / 10, HOUR, 4007346185 },
    { "two and a third", HOUR * 7 / 3, HOUR, 852229450 },
    { "very long", INT64_MAX, HOUR, 0 },
};

TEST(past_fades_by_half_lives)
{
    ROW_EACH (c, fades) {
        uint64_t left = past_left(c->dt_ms, c->half_ms);
        CHECK(left <= c->left + (1 << 20) && left + (1 << 20) >= c->left);
    }
}

static void configure(struct world *w, const char *half)
{
    const struct berth_value argument = { .key = "halfLife",
                                          .kind = BERTH_VALUE_TEXT,
                                          .text = half };
    const struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT,
                                           .members = &argument,
                                           .n_members = 1 };
    const struct berth_plugin_use uses[] = { { .name = "gang" },
                                             { .name = "share", .arguments = &arguments },
                                             { .name = "predicates" } };
    const struct berth_tier tier = { uses, 3 };
    static const char *const words[] = { "allocate" };

    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_actions = true,
                                       .actions = { words, 1 },
                                       .has_tiers = true,
                                       .tiers = &tier,
                                       .n_tiers = 1 });
}

static void submit(struct world *w, const char *id, const char *queue)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };

    group.asks = world_amounts(w, 1, 1);
    world_tell(w, BERTH_JOB,
               &(struct berth_job){
                   .id = id, .seq = ++w->seq, .queue = queue, .groups = &group, .n_groups = 1 });
}

/* One core; "greedy" had it for an hour, then both want it. Who gets it? */
static const char *play(const char *half, int64_t later_ms)
{
    static char first[64];
    struct world w;

    world_init(&w);
    configure(&w, half);
    world_queue(&w, "greedy");
    world_queue(&w, "modest");
    world_node(&w, "n1", 1);
    submit(&w, "g1", "greedy");
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    w.in.now_ms += HOUR;
    world_cycle(&w); /* notes what is held */
    world_accept(&w, BERTH_TASK_RUNNING);
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "g1" });
    w.in.now_ms += later_ms;
    submit(&w, "g2", "greedy");
    submit(&w, "m1", "modest");
    world_cycle(&w);
    snprintf(first, sizeof(first), "%s", world_groups(&w));
    world_fini(&w);
    return first;
}

TEST(past_puts_a_queue_behind_that_held_much)
{
    CHECK_TEXT(play("1h", 1000), "bind m1/task.0>n1");
    CHECK_TEXT(play("1h", 40 * (int64_t)HOUR), "bind g2/task.0>n1"); /* forgotten: by rank */
    CHECK_TEXT(play("0s", 1000), "bind g2/task.0>n1");
}

TEST(past_is_noted_from_time_to_time)
{
    struct world w;

    world_init(&w);
    configure(&w, "1h");
    world_queue(&w, "greedy");
    world_node(&w, "n1", 1);
    world_cycle(&w);
    CHECK_EQ(w.out.n_groups, 1);
    CHECK_TEXT(w.out.groups[0].name, PAST_MEMO);
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + HOUR / 1000);
    world_accept(&w, BERTH_TASK_RUNNING);
    w.in.now_ms += HOUR / 1000 - 1;
    world_cycle(&w);
    CHECK_EQ(w.out.n_groups, 0);
    w.in.now_ms++;
    world_cycle(&w);
    CHECK_EQ(w.out.n_groups, 1);
    world_fini(&w);
}

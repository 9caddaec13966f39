/*
 * Serverless placement and the profile `ledger`, where a scenario document cannot look: groups
 * and their parts, wakeAt, what is left after a cycle.
 */
#include "engine/testing.h"

static void use_profile(struct world *w, const char *profile)
{
    world_tell(w, BERTH_CONFIG, &(struct berth_config){ .profile = profile });
}

static void tell_request(struct world *w, const char *id, int64_t cpu, uint32_t attempts)
{
    struct berth_task_group group = { .name = "task",
                                      .replicas = 1,
                                      .asks = world_amounts(w, cpu, 4 << 20),
                                      .provision_attempts = attempts };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .name = id,
                                    .seq = ++w->seq,
                                    .namespace_ = "ws",
                                    .created_at_ms = (int64_t)w->seq,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static void tell_pool(struct world *w, int64_t backoff_until_ms)
{
    world_tell(w, BERTH_POOL,
               &(struct berth_pool){ .name = "p",
                                     .provisions = true,
                                     .has_machine = true,
                                     .machine = world_amounts(w, 2, 1 << 30),
                                     .backoff_until_ms = backoff_until_ms });
}

static void tell_node(struct world *w, const char *id, int64_t cpu, enum node_state state)
{
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = id,
                                     .seq = ++w->seq,
                                     .state = state,
                                     .pool = "p",
                                     .offers = world_amounts(w, cpu, 1 << 30) });
}

static const struct berth_group *group_of(const struct world *w, enum berth_group_kind kind)
{
    for (size_t i = 0; i < w->out.n_groups; i++)
        if (w->out.groups[i].kind == kind)
            return &w->out.groups[i];
    return NULL;
}

TEST(serverless_orders_a_machine_and_others_ride_on_it)
{
    struct world w;
    const struct berth_group *order;
    char *before, *after;

    world_init(&w);
    use_profile(&w, "beam");
    tell_pool(&w, 0);
    tell_request(&w, "a", 1, 0);
    tell_request(&w, "b", 1, 0);
    before = world_export(w.engine);
    world_cycle(&w);
    after = world_export(w.engine);
    CHECK_TEXT(before, after);
    free(before);
    free(after);
    order = group_of(&w, BERTH_GROUP_ORDER);
    CHECK(order != NULL);
    CHECK_TEXT(order->pool, "p");
    CHECK_TEXT(order->job, "a");
    CHECK_EQ(order->until_ms, w.in.now_ms + 180000);
    CHECK_EQ(order->n_parts, 1);
    CHECK_TEXT(order->parts[0].node, order->name);
    CHECK_TEXT(world_groups(&w), arena_format(&w.arena, "order a/task.0>%s; reserve b/task.0>%s",
                                              order->name, order->name));
    CHECK_TEXT(world_waits(&w, "a"), "WAITING_FOR_MACHINE");
    CHECK_TEXT(world_reason(&w, "b")->blocker, order->name);
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 180001);
    world_fini(&w);
}

/* A machine that was ordered for a task, and its reservation. */
static const char *order_one(struct world *w)
{
    const char *key;

    world_init(w);
    use_profile(w, "beam");
    tell_pool(w, 0);
    tell_request(w, "a", 1, 0);
    world_cycle(w);
    CHECK(group_of(w, BERTH_GROUP_ORDER) != NULL);
    key = arena_text(&w->arena, group_of(w, BERTH_GROUP_ORDER)->name);
    world_accept(w, BERTH_TASK_BOUND);
    w->in.revision++;
    world_cycle(w);
    CHECK_TEXT(world_groups(w), "");
    CHECK_TEXT(world_waits(w, "a"), "WAITING_FOR_MACHINE");
    return key;
}

TEST(serverless_binds_through_the_reservation_once_the_machine_is_there)
{
    struct world w;
    const char *key = order_one(&w);

    tell_node(&w, key, 2, NODE_READY);
    world_cycle(&w);
    CHECK(group_of(&w, BERTH_GROUP_BIND) != NULL);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_BIND)->parts[0].node, key);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_BIND)->parts[0].reservation, key);
    world_accept(&w, BERTH_TASK_BOUND);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), ""); /* nothing is left of it */
    world_fini(&w);
}

TEST(serverless_uses_the_reservation_up_where_it_binds_elsewhere)
{
    struct world w;
    const char *key = order_one(&w);

    tell_node(&w, "other", 2, NODE_READY);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind a/task.0>other");
    CHECK_TEXT(w.out.groups[0].parts[0].reservation, key);
    world_fini(&w);
}

TEST(serverless_releases_what_was_held_too_long)
{
    struct world w;
    const char *key = order_one(&w);

    w.in.now_ms += 180000;
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    w.in.now_ms += 1;
    world_cycle(&w);
    CHECK(group_of(&w, BERTH_GROUP_RELEASE) != NULL);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_RELEASE)->name, key);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_RELEASE)->reason, "TIMED_OUT");
    /* The machine is still on its way: room on it is reserved anew. */
    CHECK(group_of(&w, BERTH_GROUP_RESERVE) != NULL);
    world_fini(&w);
}

TEST(serverless_releases_what_was_held_on_a_node_that_is_lost)
{
    struct world w;
    const char *key = order_one(&w);

    tell_node(&w, key, 2, NODE_LOST);
    w.in.revision++;
    world_cycle(&w);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_RELEASE)->reason, "NODE_CHANGED");
    CHECK(group_of(&w, BERTH_GROUP_ORDER) != NULL);
    CHECK(strcmp(group_of(&w, BERTH_GROUP_ORDER)->name, key) != 0);
    world_fini(&w);
}

TEST(serverless_orders_anew_if_the_machine_came_smaller)
{
    struct world w;
    const char *key = order_one(&w);

    world_tell(&w, BERTH_NODE,
               &(struct berth_node){ .id = key,
                                     .seq = 9,
                                     .state = NODE_READY,
                                     .pool = "p",
                                     .offers = world_amounts(&w, 0, 1 << 30) });
    world_cycle(&w);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_RELEASE)->name, key);
    CHECK_TEXT(group_of(&w, BERTH_GROUP_RELEASE)->reason, "NODE_CHANGED");
    CHECK(group_of(&w, BERTH_GROUP_ORDER) != NULL);
    world_fini(&w);
}

TEST(serverless_wakes_when_a_back_off_ends)
{
    struct world w;

    world_init(&w);
    use_profile(&w, "beam");
    tell_pool(&w, w.in.now_ms + 5000);
    tell_request(&w, "a", 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "a"), "RETRY_BACKOFF");
    CHECK_EQ(world_reason(&w, "a")->until_ms, w.in.now_ms + 5000);
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 5000);
    w.in.now_ms += 5000;
    world_cycle(&w);
    CHECK(group_of(&w, BERTH_GROUP_ORDER) != NULL);
    world_fini(&w);
}

TEST(serverless_gives_a_task_up_and_says_nothing_more_of_it)
{
    struct world w;

    world_init(&w);
    use_profile(&w, "beam");
    tell_pool(&w, 0);
    tell_request(&w, "a", 1, 3);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "fail");
    CHECK_EQ(w.out.groups[0].code, WAIT_PROVISION_FAILED);
    CHECK_EQ(w.out.n_verdicts, 0);
    world_fini(&w);
}

TEST(serverless_keeps_held_room_from_others_and_says_so)
{
    struct berth_reservation_part part = { .task = { .job = "later", .group = "task" },
                                           .node = "n" };
    struct world w;

    world_init(&w);
    use_profile(&w, "beam");
    tell_node(&w, "n", 2, NODE_READY);
    tell_request(&w, "early", 2, 0);
    tell_request(&w, "later", 2, 0);
    world_tell(
        &w, BERTH_RESERVATION,
        &(struct berth_reservation){ .id = "r", .owner = "later", .parts = &part, .n_parts = 1 });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind later/task.0>n");
    CHECK_TEXT(world_waits(&w, "early"), "INSUFFICIENT_CPU");
    /* A task in back-off keeps its room and does not use it yet. */
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){
                   .job = "later", .group = "task", .not_before_ms = w.in.now_ms + 1000 });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "early"), "RESERVED_FOR_OTHER");
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 1000);
    world_fini(&w);
}

TEST(serverless_private_nodes_fall_silent_by_time_alone)
{
    struct world w;

    world_init(&w);
    use_profile(&w, "beam");
    world_tell(&w, BERTH_POOL, &(struct berth_pool){ .name = "p", .is_private = true });
    world_tell(&w, BERTH_NODE,
               &(struct berth_node){ .id = "n",
                                     .state = NODE_READY,
                                     .pool = "p",
                                     .heard_at_ms = w.in.now_ms,
                                     .offers = world_amounts(&w, 1, 1 << 30) });
    tell_request(&w, "a", 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind a/task.0>n");
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 60001);
    w.in.now_ms += 60000;
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind a/task.0>n");
    w.in.now_ms += 1;
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "a"), "NODE_NOT_READY");
    world_fini(&w);
}

/* --- Profile ledger */

static void tell_ledger_node(struct world *w, const char *id, int weight, const char *tier,
                             int64_t heard_at_ms)
{
    static const char *const versions[] = { "image@2.1" };
    struct berth_label label = { "tier", tier };

    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = id,
                                     .seq = ++w->seq,
                                     .state = NODE_READY,
                                     .labels = { &label, 1 },
                                     .capabilities = { versions, 1 },
                                     .weight = weight,
                                     .heard_at_ms = heard_at_ms,
                                     .offers = world_amounts(w, 8, 1 << 30) });
}

static void tell_ledger_job(struct world *w, const char *id, uint32_t replicas, const char *prefers,
                            const char *capability)
{
    struct berth_label label = { "tier", prefers };
    struct berth_task_group group = { .name = "task",
                                      .replicas = replicas,
                                      .asks = world_amounts(w, 1, 1 << 20),
                                      .preferred_labels = { &label, prefers ? 1 : 0 },
                                      .capability = capability };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .name = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .groups = &group,
                                    .n_groups = 1,
                                    .phase = BERTH_PHASE_INQUEUE });
}

static void ledger_world(struct world *w)
{
    world_init(w);
    use_profile(w, "ledger");
    world_queue(w, "default");
}

TEST(ledger_prefers_labels_to_weight_and_weight_to_rest)
{
    struct berth_task_ref task = { .job = "a", .group = "task" };
    const char *const ids[] = { "heavy", "light", "wanted" };
    struct berth_words nodes = { ids, COUNT_OF(ids) };
    double scores[3];
    struct err err = { 0 };
    struct world w;

    ledger_world(&w);
    tell_ledger_node(&w, "light", 100, "a", w.in.now_ms);
    tell_ledger_node(&w, "heavy", 115, "a", w.in.now_ms);
    tell_ledger_node(&w, "wanted", 1, "b", w.in.now_ms);
    tell_ledger_job(&w, "a", 1, "b", "image@2.1");
    CHECK_OK(berth_engine_node_scores(w.engine, &w.in, &task, &nodes, scores, &err), &err);
    CHECK(scores[0] == 115000 && scores[1] == 100000 && scores[2] == 1001000);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind a/task.0>wanted");
    world_fini(&w);
}

TEST(ledger_counts_what_runs_and_ends_ties_by_id)
{
    struct world w;

    ledger_world(&w);
    tell_ledger_node(&w, "n2", 100, "a", w.in.now_ms);
    tell_ledger_node(&w, "n1", 100, "a", w.in.now_ms);
    tell_ledger_node(&w, "n0", 85, "a", w.in.now_ms);
    tell_ledger_job(&w, "a", 5, NULL, NULL);
    world_cycle(&w);
    /* 100000 90000 80000 85000: n1 n2, n1 n2 at 90000, then n0 at 85000 before 80000. */
    CHECK_TEXT(world_groups(&w), "bind a/task.0>n1; bind a/task.1>n2; bind a/task.2>n1; "
                                 "bind a/task.3>n2; bind a/task.4>n0");
    world_fini(&w);
}

TEST(ledger_wants_the_exact_version_and_a_fresh_heartbeat)
{
    struct world w;

    ledger_world(&w);
    tell_ledger_node(&w, "silent", 100, "a", w.in.now_ms - 60001);
    tell_ledger_node(&w, "fresh", 1, "a", w.in.now_ms - 60000);
    tell_ledger_job(&w, "a", 1, NULL, "image@2.1");
    tell_ledger_job(&w, "b", 1, NULL, "image@2.10");
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind a/task.0>fresh");
    CHECK_TEXT(world_waits(&w, "b"), "NODE_NOT_READY");
    CHECK_EQ(world_reason(&w, "b")->n_counts, 2);
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 1);
    world_fini(&w);
}

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

/* --- Against a plain reckoning */

enum { N_NODES = 12, N_POOLS = 3, N_REQUESTS = 30 };

struct plain_node {
    const char *id;
    int64_t cpu, memory, gpu; /* free */
    int pool, model;          /* -1: no GPU */
};

struct plain_request {
    int64_t cpu, memory, gpu;
    int first; /* model; the next one is listed too; -1: no GPU */
    int selector;
};

static const char *const plain_models[] = { "A10G", "T4", "L40S" };
static const char *const plain_pools[] = { "p0", "p1", "p2" };
static const int priorities[N_POOLS] = { 0, 1, 3 };

static int64_t with_headroom(int64_t memory)
{
    int64_t mi = 1 << 20;

    return (memory * 5 / 4 + (memory % 4 != 0) + mi - 1) / mi * mi;
}

static int64_t plain_score(const struct plain_request *r, const struct plain_node *n)
{
    return priorities[n->pool] + 10 - (r->first >= 0 && n->model != r->first ? 1 : 0);
}

static int64_t plain_free(const struct plain_request *r, const struct plain_node *n)
{
    return n->cpu + n->memory / (1 << 20) + (r->first >= 0 ? n->gpu / 1000 * 1000000 : 0);
}

static bool plain_fits(const struct plain_request *r, const struct plain_node *n)
{
    if (r->selector >= 0 ? n->pool != r->selector : n->pool == 2) /* which requires a selector */
        return false;
    if ((r->first >= 0) != (n->model >= 0))
        return false;
    if (r->first >= 0 && n->model != r->first && n->model != (r->first + 1) % 3)
        return false;
    return r->cpu <= n->cpu && with_headroom(r->memory) <= n->memory && r->gpu <= n->gpu;
}

/* The node that a request must get, by going through all of them; it is taken. */
static const char *plain_place(const struct plain_request *r, struct plain_node *nodes, bool spread)
{
    struct plain_node *best = NULL;

    for (int i = 0; i < N_NODES; i++) {
        struct plain_node *n = &nodes[i];
        int64_t more;
        if (!plain_fits(r, n))
            continue;
        more = best ? plain_score(r, n) - plain_score(r, best) : 1;
        if (!more)
            more = (plain_free(r, n) - plain_free(r, best)) * (spread ? 1 : -1);
        if (more > 0 || (!more && strcmp(n->id, best->id) < 0))
            best = n;
    }
    if (!best)
        return NULL;
    best->cpu -= r->cpu;
    best->memory -= with_headroom(r->memory);
    best->gpu -= r->gpu;
    return best->id;
}

static struct berth_amounts plain_amounts(struct world *w, int64_t cpu, int64_t memory, int64_t gpu)
{
    struct berth_amount *at = ARENA_NEW0_N(&w->arena, struct berth_amount, 3);

    at[0] = (struct berth_amount){ "cpu", cpu };
    at[1] = (struct berth_amount){ "gpu", gpu };
    at[2] = (struct berth_amount){ "memory", memory };
    return (struct berth_amounts){ at, 3 };
}

static void tell_plain_node(struct world *w, uint64_t *random, int i, struct plain_node *n)
{
    *n = (struct plain_node){
        .id = arena_format(&w->arena, "n%d", (i * 7) % N_NODES),
        .cpu = 1000 + (int64_t)(test_random(random) % 4) * 500,
        .memory = (int64_t)(1 + test_random(random) % 4) << 28,
        .pool = (int)(test_random(random) % N_POOLS),
        .model = (int)(test_random(random) % 5) - 2,
    };
    n->model = n->model < 0 ? -1 : n->model;
    n->gpu = n->model >= 0 ? 1000 + (int64_t)(test_random(random) % 2) * 1000 : 0;
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = n->id,
                                     .seq = (uint64_t)i,
                                     .state = NODE_READY,
                                     .pool = plain_pools[n->pool],
                                     .gpu_model = n->model >= 0 ? plain_models[n->model] : NULL,
                                     .offers = plain_amounts(w, n->cpu, n->memory, n->gpu) });
}

static void tell_plain_request(struct world *w, uint64_t *random, int i, struct plain_request *r)
{
    const char *listed[2];
    struct berth_task_group group = { .name = "task", .replicas = 1 };

    *r = (struct plain_request){
        .cpu = (int64_t)(test_random(random) % 4) * 250,
        .memory = (int64_t)(test_random(random) % 200000000),
        .first = test_random(random) % 2 ? (int)(test_random(random) % 3) : -1,
        .selector = test_random(random) % 4 ? -1 : (int)(test_random(random) % N_POOLS),
    };
    r->gpu = r->first >= 0 ? 1000 : 0;
    group.asks = plain_amounts(w, r->cpu, r->memory, r->gpu);
    if (r->first >= 0) {
        listed[0] = plain_models[r->first];
        listed[1] = plain_models[(r->first + 1) % 3];
        group.gpu_models = (struct berth_words){ listed, 2 };
    }
    group.pool_selector = r->selector >= 0 ? plain_pools[r->selector] : NULL;
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = arena_format(&w->arena, "r%03d", i),
                                    .name = "r",
                                    .seq = (uint64_t)i + 1,
                                    .namespace_ = "ws",
                                    .created_at_ms = 5,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static const char *where_bound(const struct world *w, const char *job)
{
    for (size_t i = 0; i < w->out.n_groups; i++)
        if (w->out.groups[i].kind == BERTH_GROUP_BIND && text_eq(w->out.groups[i].job, job))
            return w->out.groups[i].parts[0].node;
    return "nowhere";
}

TEST(serverless_chooses_as_a_plain_reckoning_does)
{
    uint64_t random = test_seed();
    int n_bound = 0;

    for (int round = 0; round < 60; round++) {
        const struct berth_value tie = { .key = "tie",
                                         .kind = BERTH_VALUE_TEXT,
                                         .text = round % 2 ? "spread" : "pack" };
        const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                            .members = &tie,
                                            .n_members = 1 };
        struct plain_node nodes[N_NODES];
        struct plain_request requests[N_REQUESTS];
        struct world w;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG,
                   &(struct berth_config){ .profile = "beam", .policy = &policy });
        for (int i = 0; i < N_POOLS; i++)
            world_tell(&w, BERTH_POOL,
                       &(struct berth_pool){ .name = plain_pools[i],
                                             .priority = priorities[i],
                                             .requires_selector = i == 2 });
        for (int i = 0; i < N_NODES; i++)
            tell_plain_node(&w, &random, i, &nodes[i]);
        for (int i = 0; i < N_REQUESTS; i++)
            tell_plain_request(&w, &random, i, &requests[i]);
        world_cycle(&w);
        for (int i = 0; i < N_REQUESTS; i++) {
            const char *want = plain_place(&requests[i], nodes, round % 2);
            CHECK_TEXT(where_bound(&w, arena_format(&w.arena, "r%03d", i)),
                       want ? want : "nowhere");
            n_bound += want != NULL;
        }
        world_fini(&w);
    }
    CHECK(n_bound > 100);
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

/* In profile berth, where such a task had no attempt: its pool is named, and when that orders again. */
TEST(what_waits_for_a_pool_in_back_off_is_told_so)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    tell_pool(&w, w.in.now_ms + 5000);
    world_job(&w, "a", 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "a"), "PROVISION_FAILED");
    CHECK_TEXT(world_reason(&w, "a")->blocker, "p");
    CHECK_EQ(world_reason(&w, "a")->until_ms, w.in.now_ms + 5000);
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 5000);
    w.in.now_ms += 5000;
    world_cycle(&w);
    CHECK(group_of(&w, BERTH_GROUP_ORDER) != NULL);
    world_fini(&w);
}

/* In profile berth: what asks for nothing is placed by backfill, which must leave it on its machine. */
TEST(room_on_a_machine_that_comes_is_held_once_for_who_asks_for_nothing)
{
    static const int64_t cores[] = { 0, 1 };

    for (size_t i = 0; i < COUNT_OF(cores); i++) {
        struct berth_reservation_part part = { .task = { .job = "a", .group = "task" },
                                               .node = "n1" };
        struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };
        struct world w;

        world_init(&w);
        world_queue(&w, "default");
        world_tell(&w, BERTH_POOL,
                   &(struct berth_pool){ .name = "p",
                                         .provisions = true,
                                         .has_machine = true,
                                         .machine = world_amounts(&w, 2, 1 << 30) });
        world_tell(&w, BERTH_NODE,
                   &(struct berth_node){ .id = "n1",
                                         .seq = ++w.seq,
                                         .pool = "p",
                                         .state = NODE_COMING,
                                         .offers = world_amounts(&w, 2, 1 << 30) });
        if (cores[i])
            group.asks = world_amounts(&w, cores[i], 1 << 20);
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){ .id = "a",
                                        .name = "a",
                                        .seq = ++w.seq,
                                        .queue = "default",
                                        .phase = BERTH_PHASE_INQUEUE,
                                        .min_available = 1,
                                        .groups = &group,
                                        .n_groups = 1 });
        world_tell(&w, BERTH_RESERVATION,
                   &(struct berth_reservation){ .id = "r-a",
                                                .owner = "a",
                                                .purpose = BERTH_FOR_MACHINE,
                                                .made_at_ms = w.in.now_ms - 1000,
                                                .parts = &part,
                                                .n_parts = 1 });
        world_cycle(&w);
        CHECK_EQ(w.out.n_groups, 0); /* neither released nor held anew */
        CHECK_EQ(world_reason(&w, "a")->code, WAIT_WAITING_FOR_MACHINE);
        world_fini(&w);
    }
}

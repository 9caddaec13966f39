/*
 * Random histories: an engine that lived through one and an engine rebuilt from its export hold
 * the same and decide the same; so does one whose deltas came in another order.
 */
#include "engine/testing.h"

enum { N_NODES = 6, N_JOBS = 8, N_QUEUES = 3, N_POOLS = 3, N_STEPS = 60 };

static const char *const models[] = { "A10G", "T4", "NVIDIA A100-SXM4-80GB", "any" };
static const char *const sizes[] = { "small", "large" };

static char *name(struct world *w, const char *prefix, uint64_t i)
{
    return arena_format(&w->arena, "%s%" PRIu64, prefix, i);
}

static struct berth_amounts with_gpu(struct world *w, struct berth_amounts amounts, int64_t gpus)
{
    struct berth_amount *at = ARENA_NEW0_N(&w->arena, struct berth_amount, amounts.n + 1);

    memcpy(at, amounts.at, amounts.n * sizeof(*at));
    at[amounts.n] = (struct berth_amount){ "gpu", gpus * 1000 };
    return (struct berth_amounts){ at, amounts.n + 1 };
}

static const uint32_t core_ids[] = { 0, 1, 2, 4, 5, 6 };

static void tell_node(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_label label = { "size", sizes[test_random(random) % 2] };
    struct berth_node node = {
        .id = name(w, "n", i),
        .seq = i % 4,
        .state = test_random(random) % 8 ? NODE_READY : NODE_UNREACHABLE,
        .cordoned = test_random(random) % 8 == 0,
        .labels = { &label, 1 },
        .offers = world_amounts(w, 1 + (int64_t)(test_random(random) % 8), 1 << 30),
    };

    if (test_random(random) % 3 == 0)
        node.state = NODE_COMING;
    if (test_random(random) % 2)
        node.pool = name(w, "p", test_random(random) % N_POOLS);
    if (test_random(random) % 3 == 0) {
        node.gpu_model = models[test_random(random) % 3];
        node.offers = with_gpu(w, node.offers, (int64_t)(test_random(random) % 3));
    }
    if (test_random(random) % 4 == 0)
        node.heard_at_ms = 940000 + (int64_t)(test_random(random) % 8) * 500;
    if (test_random(random) % 2)
        node.cores = (struct berth_numbers){ core_ids, test_random(random) % COUNT_OF(core_ids) };
    if (test_random(random) % 6 == 0)
        node.owner = name(w, "ns", test_random(random) % 2);

    if (test_random(random) % 5 == 0)
        world_end(w, BERTH_NODE, &node);
    else
        world_tell(w, BERTH_NODE, &node);
}

static const char *const uuids[] = { "GPU-a", "GPU-b", "GPU-c", "GPU-d" };

static void tell_device(struct world *w, uint64_t *random)
{
    uint64_t i = test_random(random) % COUNT_OF(uuids);
    struct berth_device device = {
        .node = name(w, "n", test_random(random) % N_NODES),
        .class_name = test_random(random) % 8 ? "gpu" : "fpga",
        .uuid = uuids[i],
        .index = (uint32_t)(test_random(random) % 3),
        .model = test_random(random) % 4 ? models[test_random(random) % 3] : NULL,
        .memory = (int64_t)(test_random(random) % 3) << 34,
        .unhealthy = test_random(random) % 5 == 0,
        .quarantined = test_random(random) % 6 == 0,
    };

    if (test_random(random) % 6 == 0)
        world_end(w, BERTH_DEVICE, &device);
    else
        world_tell(w, BERTH_DEVICE, &device);
}

/* A group's wish for devices or cores. */
static void wish_devices(struct world *w, uint64_t *random, struct berth_task_group *group)
{
    static const int64_t parts[] = { 250, 500, 1000, 1500, 2000 };
    struct berth_amount *at = ARENA_NEW0_N(&w->arena, struct berth_amount, group->asks.n + 1);

    switch (test_random(random) % 4) {
    case 0:
        memcpy(at, group->asks.at, group->asks.n * sizeof(*at));
        at[group->asks.n] =
            (struct berth_amount){ "gpu", parts[test_random(random) % COUNT_OF(parts)] };
        group->asks = (struct berth_amounts){ at, group->asks.n + 1 };
        break;
    case 1:
        group->gpu_memory = (int64_t)(1 + test_random(random) % 4) << 33;
        break;
    case 2:
        group->whole_cores = true;
        break;
    default:
        break;
    }
}

static void tell_queue(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_queue queue = { .name = name(w, "q", i),
                                 .seq = i,
                                 .weight = 1 + (int)(test_random(random) % 3),
                                 .priority = (int)(test_random(random) % 2) };

    if (test_random(random) % 6 == 0)
        world_end(w, BERTH_QUEUE, &queue);
    else
        world_tell(w, BERTH_QUEUE, &queue);
}

static void tell_job(struct world *w, uint64_t *random, uint64_t i)
{
    const struct berth_pod_term by_size = { .topology_key = "size", .weight = 1 };
    const struct berth_affinity spread = { .spread = &by_size,
                                           .n_spread = 1,
                                           .spread_preferred = &by_size,
                                           .n_spread_preferred = test_random(random) % 2 };
    struct berth_label label = { "size", "large" };
    struct berth_task_group groups[2] = { { .name = "a", .role = "a" }, { .name = "b" } };
    struct berth_job job = { .id = name(w, "j", i),
                             .name = "job",
                             .seq = 100 + i % 5,
                             .namespace_ = name(w, "ns", i % 2),
                             .queue = test_random(random) % 4
                                          ? name(w, "q", test_random(random) % N_QUEUES)
                                          : NULL,
                             .priority = (int)(test_random(random) % 3),
                             .min_available = (uint32_t)(test_random(random) % 4),
                             .created_at_ms = (int64_t)(test_random(random) % 1000000),
                             .groups = groups,
                             .n_groups = 1 + test_random(random) % 2 };

    for (size_t g = 0; g < job.n_groups; g++) {
        groups[g].replicas = (uint32_t)(test_random(random) % 5);
        groups[g].asks = world_amounts(w, (int64_t)(test_random(random) % 4), 1 << 20);
        wish_devices(w, random, &groups[g]);
        groups[g].priority = (int)(test_random(random) % 2);
        if (test_random(random) % 3 == 0)
            groups[g].node_selector = (struct berth_labels){ &label, 1 };
        if (test_random(random) % 6 == 0)
            groups[g].affinity = &spread;
        if (test_random(random) % 3 == 0)
            groups[g].gpu_models = (struct berth_words){ &models[test_random(random) % 3],
                                                         1 + test_random(random) % 2 };
        if (test_random(random) % 4 == 0)
            groups[g].pool_selector = name(w, "p", test_random(random) % (N_POOLS + 1));
        groups[g].allow_preemptible = test_random(random) % 2;
        groups[g].provision_attempts = (uint32_t)(test_random(random) % 4);
    }
    if (test_random(random) % 5 == 0)
        world_end(w, BERTH_JOB, &job);
    else
        world_tell(w, BERTH_JOB, &job);
}

static void tell_task(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_share shares[2];
    struct berth_task task = {
        .job = name(w, "j", i),
        .group = test_random(random) % 2 ? "a" : "b",
        .index = (uint32_t)(test_random(random) % 5),
        .state = (enum berth_task_state)(test_random(random) % BERTH_TASK_STATE_COUNT),
        .attempt = (uint32_t)(test_random(random) % 3),
        .not_before_ms = (int64_t)(test_random(random) % 2) * 1000500,
        .node = name(w, "n", test_random(random) % N_NODES),
    };

    if (test_random(random) % 3 == 0) {
        for (size_t k = 0; k < COUNT_OF(shares); k++)
            shares[k] = (struct berth_share){ .class_name = "gpu",
                                              .uuid = uuids[test_random(random) % COUNT_OF(uuids)],
                                              .milli = 1 + (int64_t)(test_random(random) % 1000) };
        task.shares = shares;
        task.n_shares = 1 + test_random(random) % COUNT_OF(shares);
    }
    if (test_random(random) % 4 == 0)
        task.cores = (struct berth_numbers){ core_ids, test_random(random) % 3 };
    if (test_random(random) % 4 == 0)
        task.holds = world_amounts(w, 1 + (int64_t)(test_random(random) % 3), 1 << 21);
    if (test_random(random) % 3 == 0)
        world_end(w, BERTH_TASK, &task);
    else
        world_tell(w, BERTH_TASK, &task);
}

static void tell_pool(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_pool pool = {
        .name = name(w, "p", i),
        .seq = i,
        .priority = (int)(test_random(random) % 4),
        .gpu_model = test_random(random) % 2 ? models[test_random(random) % 3] : NULL,
        .preemptible = test_random(random) % 4 == 0,
        .requires_selector = test_random(random) % 3 == 0,
        .is_private = test_random(random) % 3 == 0,
        .provisions = test_random(random) % 3 != 0,
        .has_machine = test_random(random) % 2,
        .max_machines = (uint32_t)(test_random(random) % 4),
        .backoff_until_ms = test_random(random) % 4 ? 0 : 1000600,
    };

    if (pool.has_machine)
        pool.machine = world_amounts(w, 2, 1 << 24);
    if (test_random(random) % 3 == 0)
        pool.min_free = world_amounts(w, 4, 1 << 20);
    if (test_random(random) % 6 == 0)
        world_end(w, BERTH_POOL, &pool);
    else
        world_tell(w, BERTH_POOL, &pool);
}

static void tell_chain(struct world *w, uint64_t *random)
{
    const char *pools[2] = { name(w, "p", test_random(random) % N_POOLS),
                             name(w, "p", test_random(random) % (N_POOLS + 1)) };
    struct berth_chain chain = { .model = models[test_random(random) % 3],
                                 .pools = { pools, 1 + test_random(random) % 2 } };

    if (test_random(random) % 4 == 0)
        world_end(w, BERTH_CHAIN, &chain);
    else
        world_tell(w, BERTH_CHAIN, &chain);
}

static void tell_quota(struct world *w, uint64_t *random)
{
    struct berth_quota quota = {
        .name = "q",
        .namespace_ = name(w, "ns", test_random(random) % 2),
        .hard = world_amounts(w, (int64_t)(test_random(random) % 12), 1 << 30),
    };

    if (test_random(random) % 2)
        world_end(w, BERTH_QUOTA, &quota);
    else
        world_tell(w, BERTH_QUOTA, &quota);
}

static void tell_reservation(struct world *w, uint64_t *random)
{
    struct berth_reservation_part part = {
        .task = { .job = name(w, "j", test_random(random) % N_JOBS),
                  .group = test_random(random) % 2 ? "a" : "b",
                  .index = (uint32_t)(test_random(random) % 3) },
        .node = name(w, "n", test_random(random) % N_NODES),
    };
    struct berth_reservation reservation = {
        .id = name(w, "r", test_random(random) % 4),
        .seq = test_random(random) % 3,
        .owner = part.task.job,
        .purpose = BERTH_FOR_MACHINE,
        .made_at_ms = 1000000 - (int64_t)(test_random(random) % 4) * 60000,
        .parts = &part,
        .n_parts = 1,
    };

    if (test_random(random) % 4 == 0)
        world_end(w, BERTH_RESERVATION, &reservation);
    else
        world_tell(w, BERTH_RESERVATION, &reservation);
}

/* Which kinds of decisions there were. */
static bool seen[BERTH_GROUP_KIND_COUNT];
static bool seen_shares, seen_parts, seen_cores;

static void note_kinds(const struct world *w)
{
    for (size_t i = 0; i < w->out.n_groups; i++)
        seen[w->out.groups[i].kind] = true;
    for (size_t i = 0; i < w->out.n_groups; i++)
        for (size_t k = 0; k < w->out.groups[i].n_parts; k++) {
            const struct berth_part *part = &w->out.groups[i].parts[k];
            if (part->kind != BERTH_PART_BIND)
                continue;
            seen_shares = seen_shares || part->n_shares;
            seen_parts = seen_parts || (part->n_shares && part->shares[0].milli < 1000);
            seen_cores = seen_cores || part->cores.n;
        }
}

static void step(struct world *w, uint64_t *random)
{
    switch (test_random(random) % 14) {
    case 0:
    case 1:
        tell_node(w, random, test_random(random) % N_NODES);
        break;
    case 2:
        tell_queue(w, random, test_random(random) % N_QUEUES);
        break;
    case 3:
    case 4:
        tell_job(w, random, test_random(random) % N_JOBS);
        break;
    case 5:
        tell_task(w, random, test_random(random) % N_JOBS);
        break;
    case 6:
        tell_pool(w, random, test_random(random) % N_POOLS);
        break;
    case 7:
        tell_chain(w, random);
        tell_quota(w, random);
        break;
    case 8:
        tell_reservation(w, random);
        break;
    case 9:
    case 10:
        tell_device(w, random);
        break;
    default:
        w->in.revision++;
        world_cycle(w);
        note_kinds(w);
        world_accept(w, test_random(random) % 2 ? BERTH_TASK_RUNNING : BERTH_TASK_BOUND);
        w->in.now_ms += 250;
        w->in.seed++;
        break;
    }
}

/* A history of some length. */
static void begin(struct world *w, uint64_t *random)
{
    for (uint64_t i = 0; i < N_POOLS; i++)
        tell_pool(w, random, i);
    for (int i = 0; i < N_NODES; i++)
        tell_device(w, random);
    for (int i = 0; i < N_STEPS; i++)
        step(w, random);
}

static struct berth_engine *rebuild(struct berth_engine *engine)
{
    struct err err = { 0 };
    struct berth_engine *other = berth_engine_new(&err);

    CHECK_EQ(berth_engine_export(engine, world_feed, other), 0);
    return other;
}

/* Both decide the same over the next cycles, each accepting its own decisions. */
static void live_on_alike(struct world *w, struct berth_engine *other)
{
    struct world twin = { .engine = other, .in = w->in, .seq = w->seq };

    for (int cycle = 0; cycle < 10; cycle++) {
        char *a = world_export(w->engine), *b = world_export(twin.engine);
        CHECK_TEXT(a, b);
        free(a);
        free(b);
        world_cycle(w);
        world_cycle(&twin);
        note_kinds(w);
        CHECK_TEXT(world_groups(w), world_groups(&twin));
        CHECK_TEXT(w->out.digest, twin.out.digest);
        world_accept(w, BERTH_TASK_RUNNING);
        world_accept(&twin, BERTH_TASK_RUNNING);
        w->in.now_ms = twin.in.now_ms += 250;
        w->in.seed = ++twin.in.seed;
        w->in.revision = ++twin.in.revision;
    }
    berth_decisions_free(&twin.out);
    arena_fini(&twin.arena);
}

static const struct berth_plugin_use device_uses[] = {
    { .name = "priority" },   { .name = "gang" },          { .name = "share" },
    { .name = "predicates" }, { .name = "fragmentation" },
};
static const struct berth_tier device_tier = { device_uses, COUNT_OF(device_uses) };

static const struct berth_value own_policy = { .key = "policy",
                                               .kind = BERTH_VALUE_TEXT,
                                               .text = "berth" };
static const struct berth_value own_arguments = { .kind = BERTH_VALUE_OBJECT,
                                                  .members = &own_policy,
                                                  .n_members = 1 };
static const struct berth_plugin_use own_uses[] = {
    { .name = "priority" },
    { .name = "gang" },
    { .name = "share" },
    { .name = "predicates" },
    { .name = "fragmentation", .arguments = &own_arguments },
};
static const struct berth_tier own_tier = { own_uses, COUNT_OF(own_uses) };

static const struct berth_config configs[] = {
    { .profile = "berth" },
    { .profile = "volcano" },
    { .profile = "bench" },
    { .profile = "beam" },
    { .profile = "ledger" },
    { .profile = "beam" },
    { .profile = "berth", .has_tiers = true, .tiers = &device_tier, .n_tiers = 1 },
    { .profile = "berth", .has_tiers = true, .tiers = &own_tier, .n_tiers = 1 },
};

/* Else the histories would prove little. */
static bool each_kind_is_seen(void)
{
    return seen[BERTH_GROUP_BIND] && seen[BERTH_GROUP_ORDER] && seen[BERTH_GROUP_RESERVE] &&
           seen[BERTH_GROUP_RELEASE] && seen[BERTH_GROUP_FAIL] && seen[BERTH_GROUP_MEMO] &&
           seen_shares && seen_parts && seen_cores;
}

TEST(engine_rebuilt_from_its_export_decides_the_same)
{
    uint64_t random = test_seed();

    for (int history = 0; history < 60 || (history < 600 && !each_kind_is_seen()); history++) {
        struct world w;
        struct berth_engine *other;
        char *before, *after;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG, &configs[history % COUNT_OF(configs)]);
        begin(&w, &random);
        other = rebuild(w.engine);
        before = world_export(w.engine);
        world_cycle(&w);
        after = world_export(w.engine);
        CHECK_TEXT(before, after);
        free(before);
        free(after);
        live_on_alike(&w, other);
        berth_engine_free(other);
        world_fini(&w);
    }
    CHECK(each_kind_is_seen());
}

struct one_kind {
    struct berth_engine *to;
    int kind;
};

static int feed_kind(const struct berth_delta *delta, void *arg)
{
    const struct one_kind *one = arg;

    return (int)delta->kind == one->kind ? world_feed(delta, one->to) : 0;
}

TEST(engine_takes_deltas_of_different_objects_in_any_order)
{
    uint64_t random = test_seed();

    for (int history = 0; history < 40; history++) {
        struct world w, other;
        char *a, *b;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG, &configs[history % COUNT_OF(configs)]);
        begin(&w, &random);
        /* Kinds from the last to the first; and then all of it once more. */
        world_init(&other);
        other.in = w.in;
        for (int kind = BERTH_KIND_COUNT - 1; kind >= 0; kind--)
            CHECK_EQ(
                berth_engine_export(w.engine, feed_kind, &(struct one_kind){ other.engine, kind }),
                0);
        a = world_export(w.engine);
        b = world_export(other.engine);
        CHECK_TEXT(a, b);
        free(a);
        free(b);
        world_cycle(&w);
        world_cycle(&other);
        CHECK_TEXT(w.out.digest, other.out.digest);
        world_fini(&w);
        world_fini(&other);
    }
}

TEST(engine_forgets_random_suppositions)
{
    uint64_t random = test_seed();

    for (int history = 0; history < 40; history++) {
        struct world w;
        struct err err = { 0 };
        struct berth_node node = { .id = "n1" };
        struct berth_queue queue = { .name = "q1", .seq = 9 };
        struct berth_job job = { .id = "j3" };
        struct berth_task task = { .job = "j2", .group = "a", .state = BERTH_TASK_FAILED };
        struct berth_device device = {
            .node = "n2", .class_name = "gpu", .uuid = uuids[history % 4], .unhealthy = true
        };
        struct berth_delta deltas[] = {
            { BERTH_NODE, true, { .node = &node } },
            { BERTH_QUEUE, false, { .queue = &queue } },
            { BERTH_JOB, true, { .job = &job } },
            { BERTH_TASK, false, { .task = &task } },
            { BERTH_DEVICE, history % 2, { .device = &device } },
            { BERTH_CONFIG, false, { .config = &(struct berth_config){ .profile = "volcano" } } },
        };
        char *before, *after;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG, &configs[history % COUNT_OF(configs)]);
        begin(&w, &random);
        before = world_export(w.engine);
        CHECK_OK(berth_engine_suppose(w.engine, deltas, COUNT_OF(deltas), &err), &err);
        world_cycle(&w);
        berth_engine_forget(w.engine);
        after = world_export(w.engine);
        CHECK_TEXT(before, after);
        free(before);
        free(after);
        world_fini(&w);
    }
}

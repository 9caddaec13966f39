/*
 * Devices and cores over random clusters: what is decided never gives one out twice, whole and
 * shared use never meet, who is not healthy gets nothing, and amounts are those of the shares.
 */
#include "engine/testing.h"

enum { N_NODES = 5, N_DEVICES = 4, N_CORES = 6, N_JOBS = 40, N_HISTORIES = 40 };

static const char *const models[] = { "T4", "A100-40", "NVIDIA A100-SXM4-80GB" };

/* What the test knows of a device and a core. */
struct known_device {
    const char *model;
    int64_t memory, used;
    bool is_off;
};

struct cluster {
    struct world w;
    struct known_device devices[N_NODES][N_DEVICES];
    uint32_t cores[N_NODES][N_CORES]; /* how many hold each */
    uint64_t random;
};

static const uint32_t core_ids[N_CORES] = { 0, 2, 4, 6, 8, 10 };
static const char *const node_ids[N_NODES] = { "n0", "n1", "n2", "n3", "n4" };
static const char *const uuids[N_DEVICES] = { "u0", "u1", "u2", "u3" };

static void tell_device(struct cluster *c, size_t n, size_t d)
{
    const struct known_device *known = &c->devices[n][d];

    world_tell(&c->w, BERTH_DEVICE,
               &(struct berth_device){ .node = node_ids[n],
                                       .class_name = "gpu",
                                       .uuid = uuids[d],
                                       .index = (uint32_t)d,
                                       .model = known->model,
                                       .memory = known->memory,
                                       .unhealthy = known->is_off && d % 2,
                                       .quarantined = known->is_off && d % 2 == 0 });
}

static void tell_cluster(struct cluster *c)
{
    world_init(&c->w);
    world_queue(&c->w, "default");
    for (size_t n = 0; n < N_NODES; n++) {
        world_tell(
            &c->w, BERTH_NODE,
            &(struct berth_node){ .id = node_ids[n],
                                  .seq = n + 1,
                                  .state = NODE_READY,
                                  .cores = { core_ids, test_random(&c->random) % (N_CORES + 1) },
                                  .offers = world_amounts(&c->w, 24, (int64_t)1 << 40) });
        for (size_t d = 0; d < N_DEVICES; d++) {
            c->devices[n][d] = (struct known_device){
                .model = models[test_random(&c->random) % COUNT_OF(models)],
                .memory = (int64_t)(1 + test_random(&c->random) % 3) << 34,
                .is_off = test_random(&c->random) % 5 == 0,
            };
            tell_device(c, n, d);
        }
    }
}

static void tell_job(struct cluster *c, uint64_t i)
{
    static const int64_t parts[] = { 100, 250, 500, 700, 1000, 2000, 3000 };
    struct berth_amount asks[2] = { { "cpu", 500 + (int64_t)(test_random(&c->random) % 4) * 500 } };
    const char *wanted[2] = { models[test_random(&c->random) % 3],
                              models[test_random(&c->random) % 3] };
    struct berth_task_group group = { .name = "t", .replicas = 1, .asks = { asks, 1 } };

    switch (test_random(&c->random) % 4) {
    case 0:
        group.gpu_memory = (int64_t)(1 + test_random(&c->random) % 5) << 32;
        break;
    case 1:
        group.whole_cores = true;
        break;
    default:
        asks[1] = (struct berth_amount){ "gpu", parts[test_random(&c->random) % 7] };
        group.asks.n = 2;
        break;
    }
    if (test_random(&c->random) % 3 == 0)
        group.gpu_models = (struct berth_words){ wanted, 1 + test_random(&c->random) % 2 };
    world_tell(&c->w, BERTH_JOB,
               &(struct berth_job){ .id = arena_format(&c->w.arena, "j%" PRIu64, i),
                                    .name = "j",
                                    .seq = i + 1,
                                    .queue = "default",
                                    .groups = &group,
                                    .n_groups = 1 });
}

static size_t node_at(const char *id)
{
    size_t n = 0;

    while (strcmp(node_ids[n], id) != 0)
        n++;
    return n;
}

static int64_t held(const struct berth_part *part)
{
    for (size_t i = 0; i < part->holds.n; i++)
        if (strcmp(part->holds.at[i].name, "gpu") == 0)
            return part->holds.at[i].value;
    return 0;
}

static void check_part(struct cluster *c, const struct berth_part *part)
{
    size_t n = node_at(part->node);
    int64_t sum = 0;

    for (size_t i = 0; i < part->n_shares; i++) {
        struct known_device *device = &c->devices[n][part->shares[i].index];
        CHECK(!device->is_off);
        CHECK_TEXT(part->shares[i].uuid, uuids[part->shares[i].index]);
        device->used += part->shares[i].milli;
        CHECK(device->used <= 1000);
        sum += part->shares[i].milli;
    }
    CHECK_EQ(sum, held(part));
    for (size_t i = 0; i < part->cores.n; i++) {
        size_t at = part->cores.at[i] / 2;
        CHECK_EQ(++c->cores[n][at], 1);
    }
}

/* What the engine's own view of a node says. */
static void check_view(struct cluster *c, size_t n)
{
    struct berth_node_view view = { 0 };
    struct err err = { 0 };

    CHECK_OK(berth_engine_node(c->w.engine, node_ids[n], &c->w.arena, &view, &err), &err);
    CHECK_EQ(view.n_devices, N_DEVICES);
    for (size_t d = 0; d < N_DEVICES; d++) {
        CHECK_EQ(view.devices[d].used, c->devices[n][d].used);
        CHECK_EQ(view.devices[d].is_off, c->devices[n][d].is_off);
    }
    for (size_t i = 0; i < view.free.n; i++)
        CHECK(view.free.at[i].value >= 0);
}

TEST(devices_are_never_given_out_twice)
{
    uint64_t random = test_seed();
    size_t n_bound = 0;

    for (int history = 0; history < N_HISTORIES; history++) {
        struct cluster c = { .random = test_random(&random) };
        uint64_t n_jobs = 0;
        tell_cluster(&c);
        for (int cycle = 0; cycle < 4; cycle++) {
            size_t n = test_random(&c.random) % N_NODES, d = test_random(&c.random) % N_DEVICES;
            for (int i = 0; i < N_JOBS / 4; i++)
                tell_job(&c, n_jobs++);
            c.devices[n][d].is_off = !c.devices[n][d].is_off; /* what runs there is left */
            tell_device(&c, n, d);
            world_cycle(&c.w);
            for (size_t g = 0; g < c.w.out.n_groups; g++) {
                for (size_t p = 0; p < c.w.out.groups[g].n_parts; p++)
                    check_part(&c, &c.w.out.groups[g].parts[p]);
                n_bound += c.w.out.groups[g].n_parts;
            }
            world_accept(&c.w, BERTH_TASK_RUNNING);
            for (size_t k = 0; k < N_NODES; k++)
                check_view(&c, k);
        }
        world_fini(&c.w);
    }
    CHECK(n_bound > N_HISTORIES * 5);
}

/* A task's device by its place, after one cycle. */
static uint32_t device_given(struct world *w)
{
    CHECK_EQ(w->out.n_groups, 1);
    CHECK_EQ(w->out.groups[0].n_parts, 1);
    CHECK_EQ(w->out.groups[0].parts[0].n_shares, 1);
    return w->out.groups[0].parts[0].shares[0].index;
}

TEST(devices_come_in_any_order_with_their_node)
{
    struct berth_amount asks[] = { { "gpu", 1000 } };
    struct berth_task_group group = { .name = "t", .replicas = 1, .asks = { asks, 1 } };
    struct berth_share share = { .class_name = "gpu", .uuid = "u0", .milli = 1000 };
    struct world w;

    world_init(&w);
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){ .job = "a",
                                     .group = "t",
                                     .state = BERTH_TASK_RUNNING,
                                     .node = "n",
                                     .attempt = 1,
                                     .shares = &share,
                                     .n_shares = 1 });
    for (uint32_t d = 0; d < 2; d++)
        world_tell(&w, BERTH_DEVICE,
                   &(struct berth_device){
                       .node = "n", .class_name = "gpu", .uuid = uuids[d], .index = d });
    for (int i = 0; i < 2; i++)
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){ .id = i ? "b" : "a",
                                        .seq = (uint64_t)i + 1,
                                        .queue = "default",
                                        .groups = &group,
                                        .n_groups = 1 });
    world_node(&w, "n", 4);
    world_queue(&w, "default");
    world_cycle(&w);
    CHECK_EQ(device_given(&w), 1);
    world_end(&w, BERTH_DEVICE,
              &(struct berth_device){ .node = "n", .class_name = "gpu", .uuid = "u0" });
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "b"), "INSUFFICIENT_DEVICE"); /* a is on some device still */
    world_end(&w, BERTH_TASK, &(struct berth_task){ .job = "a", .group = "t" });
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "a" });
    world_cycle(&w);
    CHECK_EQ(device_given(&w), 1);
    world_fini(&w);
}

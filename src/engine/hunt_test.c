/*
 * Hunts: what is kept about clearing nodes decides as if each were tried each time, where tasks want company or
 * keep away from others. Clusters are full, so that whoever comes has to evict.
 */
#include "engine/testing.h"

enum { NODES = 20, ZONES = 8, TAKERS = 4, CYCLES = 3 };

static const char *const apps[] = { "none", "a", "b", "c" };

struct drawn {
    struct world w;
    uint64_t random;
    uint64_t n_apps; /* of those who run; who comes may be of another */
};

static uint64_t n_evicted, n_begun;

static uint64_t draw(struct drawn *d, uint64_t n)
{
    return test_random(&d->random) % n;
}

static struct berth_labels label(struct drawn *d, const char *key, const char *value)
{
    struct berth_label *one = ARENA_NEW0(&d->w.arena, struct berth_label);

    *one = (struct berth_label){ key, value };
    return (struct berth_labels){ one, 1 };
}

/* Of tasks of an app, on the node or in its zone. */
static struct berth_pod_term *draw_term(struct drawn *d)
{
    struct berth_pod_term *term = ARENA_NEW0(&d->w.arena, struct berth_pod_term);
    struct berth_match *match = ARENA_NEW0(&d->w.arena, struct berth_match);
    const char **value = ARENA_NEW0(&d->w.arena, const char *);

    *value = apps[1 + draw(d, COUNT_OF(apps) - 1)];
    *match = (struct berth_match){ .key = "app", .op = BERTH_IN, .values = { value, 1 } };
    *term =
        (struct berth_pod_term){ .selector = { .matches = match, .n_matches = 1 },
                                 .topology_key = draw(d, 2) ? "zone" : "kubernetes.io/hostname" };
    return term;
}

static const struct berth_affinity *draw_affinity(struct drawn *d)
{
    struct berth_affinity *affinity = ARENA_NEW0(&d->w.arena, struct berth_affinity);

    affinity->pod_required = draw_term(d);
    affinity->anti_required = draw_term(d);
    affinity->n_pod_required = draw(d, 4) != 0;
    affinity->n_anti_required = draw(d, 3) == 0;
    return affinity;
}

static struct berth_task_group draw_group(struct drawn *d, uint64_t most, uint64_t n_apps)
{
    return (struct berth_task_group){
        .name = "task",
        .role = "task",
        .replicas = 1 + (uint32_t)draw(d, most),
        .asks = world_amounts(&d->w, 1 + (int64_t)draw(d, 2), 1 << 20),
        .labels = label(d, "app", apps[draw(d, n_apps)]),
    };
}

/* Two jobs on each node, some of which are spread over it and the next: a gang goes whole. */
static void tell_victims(struct drawn *d, uint64_t node)
{
    struct world *w = &d->w;

    for (uint64_t i = 0; i < 2; i++) {
        struct berth_task_group group = draw_group(d, 2, d->n_apps);
        struct berth_job job = { .id = arena_format(&w->arena, "v%" PRIu64 "-%" PRIu64, node, i),
                                 .seq = ++w->seq,
                                 .queue = draw(d, 2) ? "own" : "other",
                                 .priority = (int)draw(d, 3),
                                 .min_available = 1 + (uint32_t)draw(d, group.replicas),
                                 .groups = &group,
                                 .n_groups = 1 };
        if (draw(d, 4) == 0)
            group.affinity = draw_affinity(d);
        world_tell(w, BERTH_JOB, &job);
        for (uint32_t k = 0; k < group.replicas; k++)
            world_tell(w, BERTH_TASK,
                       &(struct berth_task){
                           .job = job.id,
                           .group = "task",
                           .index = k,
                           .attempt = 1,
                           .state = BERTH_TASK_RUNNING,
                           .started_at_ms = 1000 + (int64_t)draw(d, 5),
                           .node = arena_format(&w->arena, "n%" PRIu64, (node + k) % NODES) });
    }
}

static void tell_taker(struct drawn *d, uint64_t i)
{
    struct world *w = &d->w;
    struct berth_task_group group = draw_group(d, 6, COUNT_OF(apps));
    struct berth_job job = { .id = arena_format(&w->arena, "t%" PRIu64, i),
                             .seq = ++w->seq,
                             .queue = "own",
                             .priority = 1 + (int)draw(d, 4),
                             .min_available = 1 + (uint32_t)draw(d, group.replicas),
                             .groups = &group,
                             .n_groups = 1 };

    group.affinity = draw_affinity(d);
    world_tell(w, BERTH_JOB, &job);
}

static void tell_cluster(struct drawn *d)
{
    struct world *w = &d->w;

    world_queue(w, "own");
    world_queue(w, "other");
    for (uint64_t i = 0; i < NODES; i++) {
        struct berth_node node = {
            .id = arena_format(&w->arena, "n%" PRIu64, i),
            .seq = i,
            .state = NODE_READY,
            .labels = label(d, "zone", arena_format(&w->arena, "z%" PRIu64, draw(d, ZONES))),
            .offers = world_amounts(w, 2 + (int64_t)draw(d, 4), 1 << 30)
        };
        world_tell(w, BERTH_NODE, &node);
    }
    for (uint64_t i = 0; i < NODES; i++)
        tell_victims(d, i);
}

static void check_cycle(struct world *w)
{
    char kept[sizeof(w->out.digest)];

    w->in.revision++;
    w->in.is_cold = false;
    world_cycle(w);
    memcpy(kept, w->out.digest, sizeof(kept));
    w->in.is_cold = true;
    world_cycle(w);
    CHECK_TEXT(kept, w->out.digest);
    n_evicted += w->out.counts.tasks_evicted;
    n_begun += w->out.counts.tasks_placed;
}

TEST(company_that_comes_and_goes_is_not_missed)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 150; round++) {
        struct drawn d = { .random = test_random(&random) };
        d.n_apps = 1 + draw(&d, COUNT_OF(apps));
        world_init(&d.w);
        tell_cluster(&d);
        for (uint64_t i = 0; i < TAKERS; i++)
            tell_taker(&d, i);
        for (int i = 0; i < CYCLES; i++) {
            check_cycle(&d.w);
            world_accept(&d.w, BERTH_TASK_RUNNING);
            d.w.in.now_ms += 1000;
        }
        world_fini(&d.w);
    }
    CHECK(n_evicted > 100);
    CHECK(n_begun > 30);
}

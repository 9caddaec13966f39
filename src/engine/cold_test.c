/*
 * Nothing that is kept changes an answer: over random histories a cycle that believes what was
 * kept decides, to the byte, as one that asks each node anew.
 */
#include "engine/testing.h"

enum { NODES = 24, JOBS = 40, QUEUES = 4, CLAIMS = 3, STEPS = 60 };

static const char *name(struct world *w, const char *prefix, uint64_t i)
{
    return arena_format(&w->arena, "%s%" PRIu64, prefix, i);
}

static uint64_t draw(uint64_t *random, uint64_t n)
{
    return test_random(random) % n;
}

static void tell_node(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_label label = { "size", draw(random, 2) ? "large" : "small" };
    struct berth_amount devices = { "cards", 1000 * (1 + (int64_t)draw(random, 3)) };
    struct berth_node node = {
        .id = name(w, "node", i * 7 % 97),
        .seq = i,
        .state = draw(random, 12) ? NODE_READY : NODE_UNREACHABLE,
        .cordoned = draw(random, 12) == 0,
        .draining = draw(random, 15) == 0,
        .labels = { &label, 1 },
        .device_classes = { &devices, draw(random, 3) ? 1 : 0 },
        .offers =
            world_amounts(w, 4 + (int64_t)draw(random, 8), (int64_t)(4 + draw(random, 12)) << 30),
    };

    if (draw(random, 10) == 0)
        world_end(w, BERTH_NODE, &node);
    else
        world_tell(w, BERTH_NODE, &node);
}

static void tell_queue(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_queue queue = { .name = name(w, "q", i),
                                 .seq = i,
                                 .weight = 1 + (int)draw(random, 3) };

    if (draw(random, 3) == 0)
        queue.capability = world_amounts(w, 20 + (int64_t)draw(random, 80), (int64_t)200 << 30);
    if (draw(random, 3) == 0)
        queue.deserved = world_amounts(w, 10 + (int64_t)draw(random, 40), (int64_t)90 << 30);
    if (draw(random, 5) == 0)
        queue.guarantee = world_amounts(w, (int64_t)draw(random, 10), 0);
    if (draw(random, 4) == 0)
        queue.min_runtime_ms = 600;
    world_tell(w, BERTH_QUEUE, &queue);
}

/* Three racks, two of them in one room. */
static void tell_domains(struct world *w)
{
    const char *nodes[NODES], *racks[] = { "rack0", "rack1" };

    for (uint64_t rack = 0; rack < 3; rack++) {
        struct berth_domain domain = {
            .name = name(w, "rack", rack), .seq = rack, .tier = 1, .nodes = { nodes, 0 }
        };
        for (uint64_t i = rack; i < NODES; i += 3)
            nodes[domain.nodes.n++] = name(w, "node", i * 7 % 97);
        world_tell(w, BERTH_DOMAIN, &domain);
    }
    world_tell(
        w, BERTH_DOMAIN,
        &(struct berth_domain){ .name = "room", .seq = 3, .tier = 2, .children = { racks, 2 } });
}

/* Devices that tasks of a namespace share, on whichever node the first of them came to. */
static void tell_claims(struct world *w)
{
    for (uint64_t i = 0; i < 2 * CLAIMS; i++)
        world_tell(w, BERTH_CLAIM,
                   &(struct berth_claim){ .name = name(w, "claim", i / 2),
                                          .namespace_ = name(w, "ns", i % 2),
                                          .device_class = "cards",
                                          .count = 1 });
}

/* The namespace's tasks are to be spread over the sizes of nodes, or had better be, or over the nodes. */
static const struct berth_affinity *spread_of(struct world *w, uint64_t *random)
{
    struct berth_pod_term *term = ARENA_NEW0(&w->arena, struct berth_pod_term);
    struct berth_affinity *affinity = ARENA_NEW0(&w->arena, struct berth_affinity);

    *term = (struct berth_pod_term){ .topology_key = "size", .weight = 1 + (int)draw(random, 6) };
    *affinity = (struct berth_affinity){ .spread = term,
                                         .n_spread = draw(random, 3) != 0,
                                         .spread_preferred = term,
                                         .n_spread_preferred = draw(random, 2) };
    if (!affinity->n_spread && draw(random, 2))
        term->topology_key = "kubernetes.io/hostname";
    return affinity;
}

/* Whom it wants near, keeps away, or would rather have so: those of a label, of the same size of node or on the node. */
static const struct berth_affinity *company_of(struct world *w, uint64_t *random)
{
    struct berth_pod_term *term = ARENA_NEW0(&w->arena, struct berth_pod_term);
    struct berth_affinity *affinity = ARENA_NEW0(&w->arena, struct berth_affinity);
    struct berth_match *match = ARENA_NEW0(&w->arena, struct berth_match);
    const char **value = ARENA_NEW0(&w->arena, const char *);
    uint64_t which = draw(random, 4);

    *value = draw(random, 2) ? "a" : "b";
    *match = (struct berth_match){ .key = "app", .op = BERTH_IN, .values = { value, 1 } };
    *term = (struct berth_pod_term){ .selector = { .matches = match, .n_matches = 1 },
                                     .topology_key =
                                         draw(random, 2) ? "size" : "kubernetes.io/hostname",
                                     .weight = 1 + (int)draw(random, 6) };
    affinity->pod_required = affinity->anti_required = term;
    affinity->pod_preferred = affinity->anti_preferred = term;
    affinity->n_pod_required = which == 0;
    affinity->n_anti_required = which == 1;
    affinity->n_pod_preferred = which == 2;
    affinity->n_anti_preferred = which == 3;
    return affinity;
}

static void label_group(struct world *w, uint64_t *random, struct berth_task_group *group)
{
    struct berth_label *label = ARENA_NEW0(&w->arena, struct berth_label);

    *label = (struct berth_label){ "app", draw(random, 2) ? "a" : "b" };
    group->labels = (struct berth_labels){ label, 1 };
}

static void fill_group(struct world *w, uint64_t *random, struct berth_task_group *group)
{
    static const uint16_t port = 80;
    struct berth_label *label = ARENA_NEW0(&w->arena, struct berth_label);

    *label = (struct berth_label){ "size", "large" };
    group->replicas = (uint32_t)draw(random, draw(random, 3) ? 8 : 24);
    group->asks = world_amounts(w, (int64_t)draw(random, 5), (int64_t)draw(random, 4) << 30);
    group->priority = (int)draw(random, 2);
    if (draw(random, 6) == 0)
        group->node_selector = (struct berth_labels){ label, 1 };
    if (draw(random, 6) == 0)
        group->preferred_labels = (struct berth_labels){ label, 1 };
    if (draw(random, 6) == 0) {
        const char **claim = ARENA_NEW0(&w->arena, const char *);
        *claim = name(w, "claim", draw(random, CLAIMS));
        group->claims = (struct berth_words){ claim, 1 };
    }
    if (draw(random, 6) == 0)
        group->affinity = draw(random, 2) ? spread_of(w, random) : company_of(w, random);
    if (draw(random, 2))
        label_group(w, random, group);
    if (draw(random, 8) == 0) {
        group->host_ports = &port;
        group->n_host_ports = 1;
    }
}

static void tell_job(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_task_group groups[2] = { { .name = "a", .role = "a" }, { .name = "b" } };
    struct berth_job job = {
        .id = name(w, "j", i),
        .seq = 100 + i,
        .namespace_ = name(w, "ns", i % 2),
        .queue = name(w, "q", draw(random, QUEUES)),
        .priority = (int)draw(random, 4),
        .min_available = (uint32_t)draw(random, 6),
        .phase = BERTH_PHASE_INQUEUE,
        .preemptable = draw(random, 6) ? BERTH_YES : BERTH_UNSAID,
        .groups = groups,
        .n_groups = 1 + (draw(random, 4) == 0),
    };

    fill_group(w, random, &groups[0]);
    fill_group(w, random, &groups[1]);
    if (draw(random, 4) == 0)
        job.topology = (struct berth_topology){ .mode = draw(random, 4) ? BERTH_TOPOLOGY_HARD
                                                                        : BERTH_TOPOLOGY_SOFT,
                                                .has_tier = true,
                                                .highest_tier = 1 + (int)draw(random, 2) };
    if (draw(random, 3))
        job.budget = (struct berth_budget){ .is_given = true,
                                            .is_max_unavailable = draw(random, 2),
                                            .is_percent = draw(random, 4) == 0,
                                            .value = (uint32_t)draw(random, 6) };
    if (draw(random, 8) == 0)
        world_end(w, BERTH_JOB, &job);
    else
        world_tell(w, BERTH_JOB, &job);
}

static void tell_task(struct world *w, uint64_t *random)
{
    world_tell(w, BERTH_TASK,
               &(struct berth_task){ .job = name(w, "j", draw(random, JOBS)),
                                     .group = "a",
                                     .index = (uint32_t)draw(random, 8),
                                     .state = draw(random, 2) ? BERTH_TASK_SUCCEEDED
                                                              : BERTH_TASK_PENDING });
}

static size_t n_evictions, n_taken, n_binds;

static void note(const struct world *w)
{
    n_evictions += w->out.counts.tasks_evicted;
    n_taken += w->out.counts.rooms_taken;
    n_binds += w->out.counts.tasks_placed;
}

static void step(struct world *w, uint64_t *random)
{
    char warm[sizeof(w->out.digest)];

    switch (draw(random, 8)) {
    case 0:
        tell_node(w, random, draw(random, NODES));
        return;
    case 1:
    case 2:
    case 3:
        tell_job(w, random, draw(random, JOBS));
        return;
    case 4:
        tell_task(w, random);
        return;
    default:
        break;
    }
    w->in.revision++;
    w->in.is_cold = false;
    world_cycle(w);
    memcpy(warm, w->out.digest, sizeof(warm));
    w->in.is_cold = true;
    world_cycle(w);
    CHECK_TEXT(warm, w->out.digest);
    note(w);
    world_accept(w, BERTH_TASK_RUNNING);
    w->in.now_ms += 250;
}

static void live(uint64_t *random, const char *profile, uint64_t mix)
{
    static const char *const actions[] = { "enqueue", "allocate", "preempt", "reclaim",
                                           "backfill" };
    static const char *const unit[] = { "spare-or-whole", "task" };
    struct berth_value policy[] = {
        { .key = "victimUnit", .kind = BERTH_VALUE_TEXT, .text = unit[draw(random, 2)] },
    };
    struct berth_config config = {
        .profile = profile,
        .has_actions = true,
        .actions = { actions, COUNT_OF(actions) },
        .policy = &(struct berth_value){ .kind = BERTH_VALUE_OBJECT,
                                         .members = policy,
                                         .n_members = COUNT_OF(policy) },
    };
    struct world w;

    world_init(&w);
    world_mix(&w, mix, &config);
    world_tell(&w, BERTH_CONFIG, &config);
    world_tell(&w, BERTH_QUEUE, &(struct berth_queue){ .name = "root", .seq = QUEUES });
    for (uint64_t i = 0; i < QUEUES; i++)
        tell_queue(&w, random, i);
    for (uint64_t i = 0; i < NODES; i++)
        tell_node(&w, random, i);
    tell_claims(&w);
    tell_domains(&w);
    for (uint64_t i = 0; i < JOBS / 2; i++)
        tell_job(&w, random, i);
    for (int i = 0; i < STEPS; i++)
        step(&w, random);
    world_fini(&w);
}

TEST(engine_decides_the_same_with_nothing_kept)
{
    static const char *const profiles[] = {
        "berth", "berth", "berth", "ledger", "bench", "volcano"
    };
    uint64_t random = test_seed();

    for (size_t i = 0; i < 96; i++)
        live(&random, profiles[i % COUNT_OF(profiles)],
             strcmp(profiles[i % COUNT_OF(profiles)], "berth") == 0 ? draw(&random, WORLD_MIXES)
                                                                    : 0);
    /* The histories are worth something. */
    CHECK(n_binds > 100);
    CHECK(n_evictions > 30);
    CHECK(n_taken > 5);
}

/* A cycle that nobody heeds is taken back: as many touches as it made, each node read once. */
TEST(what_was_taken_back_is_as_it_was_before)
{
    struct world w;
    const char *cold;

    world_init(&w);
    world_queue(&w, "default");
    for (uint64_t i = 0; i < 600; i++)
        world_node(&w, name(&w, "n", i), 4);
    for (uint64_t i = 0; i < 110; i++)
        world_job(&w, name(&w, "j", i), 1, 1, 1);
    w.in.is_cold = true;
    world_cycle(&w);
    cold = world_groups(&w);
    w.in.is_cold = false;
    for (int i = 0; i < 3; i++) {
        world_cycle(&w);
        CHECK_TEXT(world_groups(&w), cold);
    }
    world_fini(&w);
}

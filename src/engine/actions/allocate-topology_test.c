/*
 * Gangs of unlike tasks in network domains, held against all ways to place them: they begin where some domain has room
 * for them, others go where one has it then, and nobody goes without whom one would have it too.
 */
#include <stdlib.h>

#include "engine/testing.h"

enum { MOST_NODES = 5, MOST_RACKS = 3, MOST_TASKS = 4, MOST_VICTIMS = 7 };

struct play {
    struct world w;
    size_t n_nodes, n_tasks, n_least, n_victims;
    int64_t free[MOST_NODES];
    uint64_t rack[MOST_NODES];
    int64_t asks[MOST_TASKS]; /* the least first */
    struct {
        size_t node;
        int64_t cpu;
    } victims[MOST_VICTIMS];
};

static uint64_t n_begun, n_made_room, n_waited;

static int by_amount(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Whether the first n tasks, the largest first, find room on a rack's nodes. */
static bool fit_on(const struct play *p, int64_t *free, uint64_t rack, size_t n)
{
    bool do_fit = n == 0;

    for (size_t i = 0; i < p->n_nodes && !do_fit; i++) {
        if (p->rack[i] != rack || free[i] < p->asks[n - 1])
            continue;
        free[i] -= p->asks[n - 1];
        do_fit = fit_on(p, free, rack, n - 1);
        free[i] += p->asks[n - 1];
    }
    return do_fit;
}

/* Whether the least of them do on some rack, once the victims of a set are gone. */
static bool fit_without(const struct play *p, uint64_t gone)
{
    int64_t free[MOST_NODES];
    bool do_fit = false;

    memcpy(free, p->free, sizeof(free));
    for (size_t i = 0; i < p->n_victims; i++)
        if (gone >> i & 1)
            free[p->victims[i].node] += p->victims[i].cpu;
    for (uint64_t rack = 0; rack < MOST_RACKS && !do_fit; rack++)
        do_fit = fit_on(p, free, rack, p->n_least);
    return do_fit;
}

static void tell_job(struct world *w, const char *id, int priority, uint32_t least,
                     struct berth_task_group *groups, size_t n, struct berth_topology topology)
{
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .priority = priority,
                                    .min_available = least,
                                    .topology = topology,
                                    .groups = groups,
                                    .n_groups = n });
}

static void add_victim(struct play *p, uint64_t *random)
{
    size_t node = test_random(random) % p->n_nodes;
    int64_t cpu = 1 + (int64_t)(test_random(random) % 2);
    struct berth_task_group group = { .name = "task",
                                      .replicas = 1,
                                      .asks = world_amounts(&p->w, cpu, 1) };
    const char *id = arena_format(&p->w.arena, "v%zu", p->n_victims);

    if (p->free[node] < cpu)
        return;
    p->free[node] -= cpu;
    p->victims[p->n_victims].node = node;
    p->victims[p->n_victims++].cpu = cpu;
    tell_job(&p->w, id, 1 + (int)(test_random(random) % 2), 1, &group, 1,
             (struct berth_topology){ 0 });
    world_tell(&p->w, BERTH_TASK,
               &(struct berth_task){ .job = id,
                                     .group = "task",
                                     .attempt = 1,
                                     .node = arena_format(&p->w.arena, "n%zu", node),
                                     .started_at_ms = 1000,
                                     .state = BERTH_TASK_RUNNING });
}

static void add_rack(struct play *p, uint64_t rack)
{
    const char *nodes[MOST_NODES];
    struct berth_domain domain = { .name = arena_format(&p->w.arena, "rack%" PRIu64, rack),
                                   .seq = rack,
                                   .tier = 1,
                                   .nodes = { nodes, 0 } };

    for (size_t i = 0; i < p->n_nodes; i++)
        if (p->rack[i] == rack)
            nodes[domain.nodes.n++] = arena_format(&p->w.arena, "n%zu", i);
    if (domain.nodes.n)
        world_tell(&p->w, BERTH_DOMAIN, &domain);
}

/* Each of its tasks is a group of its own. */
static void add_gang(struct play *p, uint64_t *random)
{
    static const char *const names[MOST_TASKS] = { "a", "b", "c", "d" };
    struct berth_task_group groups[MOST_TASKS];

    p->n_tasks = 1 + test_random(random) % MOST_TASKS;
    p->n_least = test_random(random) % 2 ? p->n_tasks : 1 + test_random(random) % p->n_tasks;
    for (size_t i = 0; i < p->n_tasks; i++) {
        p->asks[i] = 1 + (int64_t)(test_random(random) % 3);
        groups[i] = (struct berth_task_group){ .name = names[i],
                                               .replicas = 1,
                                               .asks = world_amounts(&p->w, p->asks[i], 1) };
    }
    qsort(p->asks, p->n_tasks, sizeof(*p->asks), by_amount);
    tell_job(&p->w, "gang", 9, (uint32_t)p->n_least, groups, p->n_tasks,
             (struct berth_topology){
                 .mode = BERTH_TOPOLOGY_HARD, .has_tier = true, .highest_tier = 1 });
}

static void play_init(struct play *p, uint64_t *random)
{
    *p = (struct play){ .n_nodes = 2 + test_random(random) % (MOST_NODES - 1) };
    world_init(&p->w);
    world_queue(&p->w, "default");
    for (size_t i = 0; i < p->n_nodes; i++) {
        p->free[i] = 2 + (int64_t)(test_random(random) % 3);
        p->rack[i] = test_random(random) % MOST_RACKS;
        world_node(&p->w, arena_format(&p->w.arena, "n%zu", i), p->free[i]);
    }
    for (uint64_t rack = 0; rack < MOST_RACKS; rack++)
        add_rack(p, rack);
    for (size_t i = test_random(random) % (MOST_VICTIMS + 1); i > 0; i--)
        add_victim(p, random);
    add_gang(p, random);
}

/* The victims that go, as a set; n: the members that get room, now or by it. */
static uint64_t read_decisions(const struct play *p, size_t *n)
{
    uint64_t gone = 0;

    *n = 0;
    for (size_t i = 0; i < p->w.out.n_groups; i++)
        for (size_t k = 0; k < p->w.out.groups[i].n_parts; k++) {
            const struct berth_part *part = &p->w.out.groups[i].parts[k];
            if (part->kind == BERTH_PART_EVICT)
                gone |= (uint64_t)1 << (part->task.job[1] - '0');
            else if (text_eq(part->task.job, "gang"))
                ++*n;
        }
    return gone;
}

static void check(const struct play *p)
{
    uint64_t all = ((uint64_t)1 << p->n_victims) - 1;
    size_t n;
    uint64_t gone = read_decisions(p, &n);

    CHECK_EQ(n >= p->n_least, fit_without(p, all));
    CHECK(n == 0 || n >= p->n_least);
    CHECK(!gone || !fit_without(p, 0));
    for (size_t i = 0; i < p->n_victims; i++)
        CHECK(!(gone >> i & 1) || !fit_without(p, gone & ~((uint64_t)1 << i)));
    n_begun += n && !gone;
    n_made_room += gone != 0;
    n_waited += !n;
}

TEST(topology_all_ways_to_place_a_gang_in_a_domain)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 3000; round++) {
        struct play p;
        play_init(&p, &random);
        world_cycle(&p.w);
        check(&p);
        world_fini(&p.w);
    }
    CHECK(n_begun > 20);
    CHECK(n_made_room > 20);
    CHECK(n_waited > 20);
}

/* Places for gangs of unlike tasks, held against all ways to place them. */
#include <stdlib.h>

#include "engine/testing.h"

enum { MOST_NODES = 3, MOST_TASKS = 6 };

static void configure(struct world *w, int64_t steps)
{
    const struct berth_value option = { .key = "gangSearchSteps",
                                        .kind = BERTH_VALUE_INT,
                                        .number = steps };
    const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                        .members = &option,
                                        .n_members = 1 };
    static const char *const actions[] = { "allocate" };

    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){
                   .policy = &policy, .has_actions = true, .actions = { actions, 1 } });
}

/* A node by cores and GiB. */
static void node(struct world *w, const char *id, int64_t cpu, int64_t memory)
{
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = id,
                                     .seq = ++w->seq,
                                     .state = NODE_READY,
                                     .offers = world_amounts(w, cpu, memory << 30) });
}

struct shape {
    int64_t cpu, memory;
};

/* A job of one task of each shape. */
static void gang(struct world *w, const char *id, const struct shape *shapes, uint32_t n,
                 uint32_t least)
{
    struct berth_task_group *groups = ARENA_NEW0_N(&w->arena, struct berth_task_group, n);

    for (uint32_t i = 0; i < n; i++)
        groups[i] = (struct berth_task_group){
            .name = arena_format(&w->arena, "t%u", i),
            .role = arena_format(&w->arena, "t%u", i),
            .replicas = 1,
            .asks = world_amounts(w, shapes[i].cpu, shapes[i].memory << 30),
        };
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .min_available = least,
                                    .groups = groups,
                                    .n_groups = n });
}

/* In order the small ones take the room of the large one. */
static void begin_small_first(struct world *w, int64_t steps)
{
    static const struct shape shapes[] = { { 1, 1 }, { 2, 1 }, { 3, 1 } };

    world_init(w);
    configure(w, steps);
    world_queue(w, "default");
    node(w, "n1", 3, 8);
    node(w, "n2", 3, 8);
    gang(w, "g", shapes, 3, 3);
}

TEST(search_places_the_largest_first_where_the_order_fails)
{
    struct world w;

    begin_small_first(&w, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "g"), "GANG_INCOMPLETE");
    world_fini(&w);
    begin_small_first(&w, 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 3);
    CHECK_EQ(w.out.n_groups, 1);
    world_fini(&w);
}

/* Of 3 + 3 + 2 + 2 + 2 on two nodes of 6 the two large ones must share a node. */
static void begin_tight(struct world *w, int64_t steps)
{
    static const struct shape shapes[] = { { 3, 1 }, { 3, 1 }, { 2, 1 }, { 2, 1 }, { 2, 1 } };

    world_init(w);
    configure(w, steps);
    world_queue(w, "default");
    node(w, "n1", 6, 8);
    node(w, "n2", 6, 8);
    gang(w, "g", shapes, 5, 5);
}

TEST(search_goes_through_the_ways_where_the_largest_first_fail)
{
    struct world w;

    begin_tight(&w, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    world_fini(&w);
    begin_tight(&w, 10000);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 5);
    world_fini(&w);
}

TEST(search_leaves_out_what_the_minimum_does_not_need)
{
    static const struct shape shapes[] = { { 1, 1 }, { 9, 1 }, { 3, 1 }, { 2, 1 } };
    struct world w;

    world_init(&w);
    configure(&w, 100);
    world_queue(&w, "default");
    node(&w, "n1", 3, 8);
    node(&w, "n2", 3, 8);
    gang(&w, "g", shapes, 4, 3);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 3);
    CHECK_TEXT(world_waits(&w, "g"), "LARGER_THAN_ANY_NODE");
    world_fini(&w);
}

/* --- All ways */

struct plain {
    struct shape free[MOST_NODES], shapes[MOST_TASKS];
    size_t n_nodes, n_tasks;
};

/* Whether `left` of the tasks from i on have a place. */
static bool has_way(struct plain *p, size_t i, size_t left)
{
    if (!left)
        return true;
    if (p->n_tasks - i < left)
        return false;
    for (size_t k = 0; k < p->n_nodes; k++) {
        bool way;
        if (p->free[k].cpu < p->shapes[i].cpu || p->free[k].memory < p->shapes[i].memory)
            continue;
        p->free[k].cpu -= p->shapes[i].cpu;
        p->free[k].memory -= p->shapes[i].memory;
        way = has_way(p, i + 1, left - 1);
        p->free[k].cpu += p->shapes[i].cpu;
        p->free[k].memory += p->shapes[i].memory;
        if (way)
            return true;
    }
    return has_way(p, i + 1, left);
}

static bool engine_finds(struct plain *p, uint32_t least, int64_t steps)
{
    struct world w;
    uint64_t placed;

    world_init(&w);
    configure(&w, steps);
    world_queue(&w, "default");
    for (size_t i = 0; i < p->n_nodes; i++)
        node(&w, arena_format(&w.arena, "n%zu", i), p->free[i].cpu, p->free[i].memory);
    gang(&w, "g", p->shapes, (uint32_t)p->n_tasks, least);
    world_cycle(&w);
    placed = w.out.counts.tasks_placed;
    CHECK(placed == 0 || placed >= least);
    world_fini(&w);
    return placed > 0;
}

TEST(search_finds_a_way_whenever_there_is_one)
{
    uint64_t random = test_seed();
    size_t n_found = 0, n_hard = 0, n_none = 0;

    for (int round = 0; round < 1500; round++) {
        struct plain p = { .n_nodes = 1 + test_random(&random) % MOST_NODES,
                           .n_tasks = 2 + test_random(&random) % (MOST_TASKS - 1) };
        uint32_t least = (uint32_t)(p.n_tasks - test_random(&random) % 2);
        bool way;
        for (size_t i = 0; i < p.n_nodes; i++)
            p.free[i] = (struct shape){ 3 + (int64_t)(test_random(&random) % 7),
                                        3 + (int64_t)(test_random(&random) % 7) };
        for (size_t i = 0; i < p.n_tasks; i++)
            p.shapes[i] = (struct shape){ 1 + (int64_t)(test_random(&random) % 4),
                                          1 + (int64_t)(test_random(&random) % 4) };
        way = has_way(&p, 0, least);
        CHECK_EQ(engine_finds(&p, least, 10000), way);
        n_found += way;
        n_none += !way;
        n_hard += way && !engine_finds(&p, least, 0);
    }
    CHECK(n_found > 200 && n_none > 200 && n_hard > 20);
}

/* --- Who wants whom near */

static uint64_t rounds(uint64_t few)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? strtoull(given, NULL, 10) : few;
}

enum { APPS = 2, NOBODY = APPS };

struct member {
    int64_t cpu;
    int app;   /* what it is */
    int wants; /* whom it wants on its node: an app, or NOBODY */
};

struct friendly {
    int64_t free[MOST_NODES];
    uint32_t n_of[MOST_NODES][APPS]; /* who stands there */
    struct member members[MOST_TASKS];
    size_t n_nodes, n_members;
    struct str text;
};

static bool is_welcome(const struct friendly *f, const struct member *m, size_t node)
{
    uint32_t n = 0;

    if (m->wants == NOBODY || f->n_of[node][m->wants])
        return true;
    for (size_t i = 0; i < f->n_nodes; i++)
        n += f->n_of[i][m->wants];
    return !n && m->app == m->wants; /* the first of its sort may stand anywhere */
}

/* Whether `left` of the members that are not placed yet have places, in some order. */
static bool has_order(struct friendly *f, uint32_t placed, size_t left)
{
    if (!left)
        return true;
    for (size_t i = 0; i < f->n_members; i++)
        for (size_t k = 0; k < f->n_nodes; k++) {
            const struct member *m = &f->members[i];
            bool way;
            if (placed & 1u << i || f->free[k] < m->cpu || !is_welcome(f, m, k))
                continue;
            f->free[k] -= m->cpu;
            f->n_of[k][m->app]++;
            way = has_order(f, placed | 1u << i, left - 1);
            f->free[k] += m->cpu;
            f->n_of[k][m->app]--;
            if (way)
                return true;
        }
    return false;
}

static const struct berth_label app_labels[APPS] = { { "app", "x" }, { "app", "y" } };

static const struct berth_pod_term near[APPS] = {
    { .selector = { .labels = { &app_labels[0], 1 } }, .topology_key = "host" },
    { .selector = { .labels = { &app_labels[1], 1 } }, .topology_key = "host" },
};

static void tell_friends(struct world *w, struct friendly *f, uint32_t least)
{
    struct berth_task_group *groups = ARENA_NEW0_N(&w->arena, struct berth_task_group, MOST_TASKS);
    struct berth_affinity *affinities = ARENA_NEW0_N(&w->arena, struct berth_affinity, MOST_TASKS);

    str_addf(&f->text, "least %u:", least);
    for (size_t i = 0; i < f->n_members; i++) {
        const struct member *m = &f->members[i];
        groups[i] = (struct berth_task_group){
            .name = arena_format(&w->arena, "t%zu", i),
            .replicas = 1,
            .labels = { &app_labels[m->app], 1 },
            .asks = world_amounts(w, m->cpu, 0),
        };
        str_addf(&f->text, " %" PRId64 "%s", m->cpu, m->app ? "y" : "x");
        if (m->wants == NOBODY)
            continue;
        str_addf(&f->text, " near %s", m->wants ? "y" : "x");
        affinities[i] =
            (struct berth_affinity){ .pod_required = &near[m->wants], .n_pod_required = 1 };
        groups[i].affinity = &affinities[i];
    }
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = "g",
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .min_available = least,
                                    .groups = groups,
                                    .n_groups = f->n_members });
}

static void tell_places(struct world *w, struct friendly *f)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        struct berth_label *host = ARENA_NEW0(&w->arena, struct berth_label);
        *host = (struct berth_label){ "host", arena_format(&w->arena, "n%zu", i) };
        str_addf(&f->text, "%s: %" PRId64 "\n", host->value, f->free[i]);
        world_tell(w, BERTH_NODE,
                   &(struct berth_node){ .id = host->value,
                                         .seq = ++w->seq,
                                         .state = NODE_READY,
                                         .labels = { host, 1 },
                                         .offers = world_amounts(w, f->free[i], 1 << 30) });
    }
}

static bool friends_begin(struct friendly *f, uint32_t least)
{
    struct world w;
    uint64_t placed;

    world_init(&w);
    configure(&w, 10000);
    world_queue(&w, "default");
    tell_places(&w, f);
    tell_friends(&w, f, least);
    world_cycle(&w);
    placed = w.out.counts.tasks_placed;
    CHECK(placed == 0 || placed >= least);
    world_fini(&w);
    return placed > 0;
}

TEST(search_places_who_wants_whom_near_in_some_order)
{
    uint64_t random = test_seed();
    size_t n_found = 0, n_none = 0;

    for (uint64_t round = 0; round < rounds(6000); round++) {
        struct friendly f = { .n_nodes = 1 + test_random(&random) % MOST_NODES,
                              .n_members = 2 + test_random(&random) % 4 };
        uint32_t least = (uint32_t)(f.n_members - test_random(&random) % 2);
        bool way, begins;
        for (size_t i = 0; i < f.n_nodes; i++)
            f.free[i] = 1 + (int64_t)(test_random(&random) % 6);
        for (size_t i = 0; i < f.n_members; i++)
            f.members[i] = (struct member){ 1 + (int64_t)(test_random(&random) % 4),
                                            (int)(test_random(&random) % APPS),
                                            (int)(test_random(&random) % (APPS + 1)) };
        way = has_order(&f, 0, least);
        begins = friends_begin(&f, least);
        if (begins != way)
            print_error("%s\n", str_text(&f.text));
        CHECK_EQ(begins, way);
        n_found += way;
        n_none += !way;
        str_fini(&f.text);
    }
    CHECK(rounds(6000) < 100 || (n_found > 20 && n_none > 20));
}

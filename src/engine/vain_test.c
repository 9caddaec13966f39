/*
 * In vain: what a cycle of profile `berth` begins is evicted by no later one while nothing arrives and nothing ends,
 * for preempt and reclaim would take only what allocate leaves to nobody else.
 *
 * That holds where room is as good as any other: on one node, or where all tasks are alike and nodes hold a
 * whole number of them. Elsewhere a job may wait for room in one piece that another's share is spread over.
 *
 * Where work runs already and more arrives, who begins from then on is evicted by nobody who arrived with it, in one
 * queue: an urgent job that has to evict has its turn before less urgent ones get what is free.
 *
 * BERTH_PROOF_ROUNDS says how many clusters are drawn.
 */
#include <stdlib.h>

#include "engine/testing.h"

enum { QUEUES = 5, JOBS = 10, CYCLES = 5, STEP_MS = 5000 };

static uint64_t n_random, n_gangs_begun, n_waiting, n_evicted;

struct drawn {
    struct world w;
    uint64_t random;
    struct str text; /* what was drawn, to be printed */
    bool is_alike;   /* all tasks ask for one cpu; else there is one node */
    uint64_t cpu;    /* of all nodes */
    uint64_t n_queues;
    bool is_leaf[QUEUES];
};

static uint64_t rounds(uint64_t few)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? strtoull(given, NULL, 10) : few;
}

static uint64_t draw(struct drawn *d, uint64_t n)
{
    return test_random(&d->random) % n;
}

/* Neighbours, or a tree two deep. */
static void draw_queues(struct drawn *d)
{
    bool is_tree = draw(d, 2);

    d->n_queues = 2 + draw(d, QUEUES - 1);
    for (uint64_t i = 0; i < d->n_queues; i++) {
        struct berth_queue queue = { .name = arena_format(&d->w.arena, "q%" PRIu64, i), .seq = i };
        queue.weight = 1 + (int)draw(d, 3);
        d->is_leaf[i] = true;
        if (is_tree && i >= 2) {
            uint64_t up = draw(d, 2);
            queue.parent = arena_format(&d->w.arena, "q%" PRIu64, up);
            d->is_leaf[up] = false;
        }
        world_tell(&d->w, BERTH_QUEUE, &queue);
        str_addf(&d->text, "%s under %s, weight %d\n", queue.name,
                 queue.parent ? queue.parent : "-", (int)queue.weight);
    }
}

static void draw_nodes(struct drawn *d)
{
    uint64_t n = d->is_alike ? 1 + draw(d, 3) : 1;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t cpu = 2 + draw(d, d->is_alike ? 4 : 10);
        world_node(&d->w, arena_format(&d->w.arena, "n%" PRIu64, i), (int64_t)cpu);
        d->cpu += cpu;
        str_addf(&d->text, "n%" PRIu64 ": %" PRIu64 " cpu\n", i, cpu);
    }
}

static void draw_job(struct drawn *d, uint64_t i)
{
    struct berth_task_group group = { .name = "task", .role = "task" };
    struct berth_job job = { .id = arena_format(&d->w.arena, "j%" PRIu64, i), .seq = 100 + i };
    uint64_t queue, cpu = d->is_alike ? 1 : 1 + draw(d, 4);

    do
        queue = draw(d, d->n_queues);
    while (!d->is_leaf[queue]);
    group.replicas = 1 + (uint32_t)draw(d, 5);
    group.asks = world_amounts(&d->w, (int64_t)cpu, 1 << 20);
    job.name = job.id;
    job.queue = arena_format(&d->w.arena, "q%" PRIu64, queue);
    job.priority = (int)draw(d, 3);
    job.min_available = draw(d, 2) ? group.replicas : 1 + (uint32_t)draw(d, group.replicas);
    job.created_at_ms = 1000;
    job.groups = &group;
    job.n_groups = 1;
    world_tell(&d->w, BERTH_JOB, &job);
    str_addf(&d->text, "%s in %s: priority %d, %u of %" PRIu64 " cpu, least %u\n", job.id,
             job.queue, (int)job.priority, group.replicas, cpu, job.min_available);
}

static void draw_cluster(struct drawn *d)
{
    uint64_t n_jobs = 3 + draw(d, JOBS - 2);

    world_init(&d->w);
    draw_queues(d);
    draw_nodes(d);
    for (uint64_t i = 0; i < n_jobs; i++)
        draw_job(d, i);
}

/* Whether another queue took something back; who was passed by less urgent ones of its own may evict those. */
static bool is_taken_back(const struct world *w)
{
    for (size_t i = 0; i < w->out.n_groups; i++)
        if (w->out.groups[i].kind == BERTH_GROUP_EVICT &&
            text_eq(w->out.groups[i].reason, "reclaim"))
            return true;
    return false;
}

static void hold_nothing_taken_back(struct drawn *d, int cycle)
{
    world_cycle(&d->w);
    str_addf(&d->text, "cycle %d: %s\n", cycle, world_groups(&d->w));
    if (is_taken_back(&d->w))
        print_error("%s\n", str_text(&d->text));
    CHECK(!is_taken_back(&d->w));
    for (size_t i = 0; i < d->w.out.n_groups; i++)
        n_gangs_begun += d->w.out.groups[i].n_parts > 1;
    n_waiting += d->w.out.n_verdicts;
    world_accept(&d->w, BERTH_TASK_RUNNING);
    d->w.in.now_ms += STEP_MS;
}

static void prove(uint64_t n, bool is_alike)
{
    uint64_t random = test_seed();

    n_gangs_begun = n_waiting = n_random = 0;
    for (; n_random < n; n_random++) {
        struct drawn d = { .random = test_random(&random), .is_alike = is_alike };
        draw_cluster(&d);
        for (int cycle = 1; cycle <= CYCLES; cycle++)
            hold_nothing_taken_back(&d, cycle);
        str_fini(&d.text);
        world_fini(&d.w);
    }
    CHECK(n < 100 || (n_gangs_begun > n / 3 && n_waiting > n));
}

TEST(vain_nothing_begins_to_be_evicted_where_tasks_are_alike)
{
    prove(rounds(1500), true);
}

TEST(vain_nothing_begins_to_be_evicted_on_one_node)
{
    prove(rounds(1500), false);
}

/* Tasks that were evicted in the last cycle have ended, and wait again. */
static void end_evicted(struct drawn *d, const struct berth_group *group)
{
    for (size_t i = 0; i < group->n_parts; i++)
        if (group->parts[i].kind == BERTH_PART_EVICT)
            world_tell(&d->w, BERTH_TASK,
                       &(struct berth_task){ .job = group->parts[i].task.job,
                                             .group = group->parts[i].task.group,
                                             .index = group->parts[i].task.index,
                                             .attempt = group->parts[i].task.attempt,
                                             .state = BERTH_TASK_PENDING });
}

/* Adds who begins by a group to a list; whether it evicts one of the list. */
static bool evicts_one_of(struct drawn *d, const struct berth_group *group, struct str *begun)
{
    bool does = false;

    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];
        const char *name = arena_format(&d->w.arena, " %s.%" PRIu32 "#%" PRIu32 " ", part->task.job,
                                        part->task.index, part->task.attempt);
        if (part->kind == BERTH_PART_BIND)
            str_add(begun, name);
        does = does || (part->kind == BERTH_PART_EVICT && strstr(str_text(begun), name));
        n_evicted += part->kind == BERTH_PART_EVICT;
    }
    return does;
}

static void hold_nobody_new_evicted(struct drawn *d, struct str *begun)
{
    bool evicts = false;

    for (size_t i = 0; i < d->w.out.n_groups; i++)
        end_evicted(d, &d->w.out.groups[i]);
    world_cycle(&d->w);
    str_addf(&d->text, "%s\n", world_groups(&d->w));
    for (size_t i = 0; i < d->w.out.n_groups; i++)
        evicts = evicts_one_of(d, &d->w.out.groups[i], begun) || evicts;
    if (evicts)
        print_error("%s\n", str_text(&d->text));
    CHECK(!evicts);
    world_accept(&d->w, BERTH_TASK_RUNNING);
    d->w.in.now_ms += STEP_MS;
}

static void prove_arrival(uint64_t n, bool is_alike)
{
    uint64_t random = test_seed();

    for (n_random = n_evicted = 0; n_random < n; n_random++) {
        struct drawn d = { .random = test_random(&random), .is_alike = is_alike, .n_queues = 1 };
        uint64_t n_jobs = 0;
        d.is_leaf[0] = true;
        world_init(&d.w);
        world_queue(&d.w, "q0");
        draw_nodes(&d);
        while (n_jobs < 2 + n_random % 4)
            draw_job(&d, n_jobs++);
        for (int time = 0; time < 2; time++) {
            CLEANUP(str_fini) struct str begun = { 0 };
            for (int cycle = 0; cycle < CYCLES; cycle++)
                hold_nobody_new_evicted(&d, &begun);
            while (!time && n_jobs < JOBS)
                draw_job(&d, n_jobs++);
        }
        str_fini(&d.text);
        world_fini(&d.w);
    }
    CHECK(n < 100 || n_evicted > n / 5);
}

TEST(vain_nobody_new_is_evicted_where_tasks_are_alike)
{
    prove_arrival(rounds(1000), true);
}

TEST(vain_nobody_new_is_evicted_on_one_node)
{
    prove_arrival(rounds(1000), false);
}

/*
 * By brute force on small clusters: of all sets of victims within the rules none costs less than the one that is taken.
 * Nobody has a budget: there the rules go by the order in which plugins are asked.
 *
 * BERTH_PROOF_ROUNDS says how many clusters are drawn.
 */
#include <stdlib.h>

#include "engine/take.h"
#include "engine/testing.h"

enum { NODES = 2, JOBS = 4, TASKS = 3, ON_A_NODE = 6, NOW_MS = 1000000 };

struct drawn_task {
    int node;
    int64_t started_at_ms;
    bool goes;
};

struct drawn_job {
    int64_t cpu;
    int priority;
    uint32_t n, least;
    struct drawn_task tasks[TASKS];
};

struct drawn {
    struct world w;
    uint64_t random;
    struct str text;
    struct drawn_job jobs[JOBS];
    size_t n_jobs;
    int64_t free[NODES], asks;
    size_t n_on[NODES];
};

static size_t n_sets, n_several;

static uint64_t rounds(uint64_t few)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? strtoull(given, NULL, 10) : few;
}

static uint64_t draw(struct drawn *d, uint64_t n)
{
    return test_random(&d->random) % n;
}

static const char *job_name(struct drawn *d, size_t j)
{
    return arena_format(&d->w.arena, "j%zu", j);
}

static void tell_job(struct drawn *d, size_t j)
{
    const struct drawn_job *job = &d->jobs[j];
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = job->n };
    struct berth_job told = { .id = job_name(d, j), .seq = ++d->w.seq, .queue = "default" };

    group.asks = (struct berth_amounts){ &(struct berth_amount){ "cpu", job->cpu }, 1 };
    told.priority = job->priority;
    told.min_available = job->least;
    told.phase = BERTH_PHASE_RUNNING;
    told.groups = &group;
    told.n_groups = 1;
    world_tell(&d->w, BERTH_JOB, &told);
    for (uint32_t i = 0; i < job->n; i++) {
        const struct drawn_task *t = &job->tasks[i];
        world_tell(&d->w, BERTH_TASK,
                   &(struct berth_task){ .job = told.id,
                                         .group = "task",
                                         .index = i,
                                         .attempt = 1,
                                         .node = t->node ? "n1" : "n0",
                                         .started_at_ms = t->started_at_ms,
                                         .state = BERTH_TASK_RUNNING });
        str_addf(&d->text,
                 "%s.%u on n%d since %" PRId64 ": %" PRId64 " cpu, priority %d, least %u\n",
                 told.id, i, t->node, t->started_at_ms, job->cpu, job->priority, job->least);
    }
}

static void draw_job(struct drawn *d)
{
    struct drawn_job *job = &d->jobs[d->n_jobs];

    job->cpu = 1000 * (1 + (int64_t)draw(d, 3));
    job->priority = (int)draw(d, 3);
    for (uint64_t n = 1 + draw(d, TASKS); job->n < n; job->n++) {
        struct drawn_task *t = &job->tasks[job->n];
        t->node = (int)draw(d, NODES);
        if (d->n_on[t->node] == ON_A_NODE)
            break;
        t->started_at_ms = NOW_MS - 1000 * (1 + (int64_t)draw(d, 4));
        d->n_on[t->node]++;
    }
    if (!job->n)
        return;
    job->least = 1 + (uint32_t)draw(d, job->n);
    tell_job(d, d->n_jobs++);
}

/* Nodes that those who run on them fill but for a core or two. */
static void draw_cluster(struct drawn *d)
{
    uint64_t n = 2 + draw(d, JOBS - 1);
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };

    world_init(&d->w);
    d->w.in.now_ms = NOW_MS;
    world_queue(&d->w, "default");
    while (n--)
        draw_job(d);
    for (int i = 0; i < NODES; i++) {
        int64_t used = 0;
        for (size_t j = 0; j < d->n_jobs; j++)
            for (uint32_t k = 0; k < d->jobs[j].n; k++)
                used += d->jobs[j].tasks[k].node == i ? d->jobs[j].cpu : 0;
        d->free[i] = 1000 * (int64_t)draw(d, 2);
        world_node(&d->w, i ? "n1" : "n0", (used + d->free[i]) / 1000);
    }
    d->asks = 1000 * (2 + (int64_t)draw(d, 5));
    str_addf(&d->text, "free %" PRId64 " %" PRId64 ", asked %" PRId64 "\n", d->free[0], d->free[1],
             d->asks);
    group.asks = (struct berth_amounts){ &(struct berth_amount){ "cpu", d->asks }, 1 };
    world_tell(&d->w, BERTH_JOB,
               &(struct berth_job){ .id = "taker",
                                    .seq = ++d->w.seq,
                                    .queue = "default",
                                    .priority = 100,
                                    .min_available = 1,
                                    .groups = &group,
                                    .n_groups = 1 });
}

/* Of a job either no more go than it can spare, or all. */
static bool keeps_units(const struct drawn *d)
{
    for (size_t j = 0; j < d->n_jobs; j++) {
        const struct drawn_job *job = &d->jobs[j];
        uint32_t n = 0;
        for (uint32_t i = 0; i < job->n; i++)
            n += job->tasks[i].goes;
        if (n > job->n - job->least && n < job->n)
            return false;
    }
    return true;
}

static bool makes_room(const struct drawn *d)
{
    for (int i = 0; i < NODES; i++) {
        int64_t room = d->free[i];
        for (size_t j = 0; j < d->n_jobs; j++)
            for (uint32_t k = 0; k < d->jobs[j].n; k++)
                room +=
                    d->jobs[j].tasks[k].goes && d->jobs[j].tasks[k].node == i ? d->jobs[j].cpu : 0;
        if (room >= d->asks)
            return true;
    }
    return false;
}

/* What those who go cost, as the design says. */
static struct cost cost_drawn(const struct drawn *d)
{
    struct cost cost = { .priority = INT64_MIN, .held_priority = INT64_MIN };

    for (size_t j = 0; j < d->n_jobs; j++) {
        const struct drawn_job *job = &d->jobs[j];
        uint32_t n = 0;
        for (uint32_t i = 0; i < job->n; i++) {
            if (!job->tasks[i].goes)
                continue;
            n++;
            cost.lost += (wide)(NOW_MS - job->tasks[i].started_at_ms) * (1 + job->cpu);
            cost.priority = job->priority > cost.priority ? job->priority : cost.priority;
        }
        cost.n += n;
    }
    return cost;
}

static size_t n_tasks(const struct drawn *d)
{
    return d->n_on[0] + d->n_on[1];
}

/* Whether each goes, by the bits of a number. */
static void set_who_goes(struct drawn *d, uint64_t set)
{
    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t i = 0; i < d->jobs[j].n; i++, set >>= 1)
            d->jobs[j].tasks[i].goes = set & 1;
}

static bool find_least(struct drawn *d, struct cost *least)
{
    bool found = false;

    for (uint64_t set = 1; set < (uint64_t)1 << n_tasks(d); set++) {
        struct cost cost;
        set_who_goes(d, set);
        if (!keeps_units(d) || !makes_room(d))
            continue;
        cost = cost_drawn(d);
        n_sets++;
        if (!found || cost_cmp(&cost, least) < 0)
            *least = cost;
        found = true;
    }
    return found;
}

static void set_who_went(struct drawn *d)
{
    const struct berth_group *group = &d->w.out.groups[0];

    set_who_goes(d, 0);
    for (size_t k = 0; k < group->n_parts; k++)
        if (group->parts[k].kind == BERTH_PART_EVICT)
            d->jobs[group->parts[k].task.job[1] - '0'].tasks[group->parts[k].task.index].goes =
                true;
}

static void hold_cheapest(struct drawn *d)
{
    struct cost least, came;
    bool found = find_least(d, &least);

    world_cycle(&d->w);
    str_addf(&d->text, "%s\n", world_groups(&d->w));
    if (!d->w.out.counts.tasks_evicted) {
        CHECK(!found || makes_room((set_who_goes(d, 0), d)));
        return;
    }
    set_who_went(d);
    came = cost_drawn(d);
    if (!found || cost_cmp(&came, &least) != 0)
        print_error("%s", str_text(&d->text));
    CHECK(found && keeps_units(d) && makes_room(d));
    CHECK_EQ(cost_cmp(&came, &least), 0);
    n_several += came.n > 1;
}

TEST(clear_takes_the_cheapest_set_of_victims)
{
    uint64_t random = test_seed(), n = rounds(400);

    for (uint64_t round = 0; round < n; round++) {
        struct drawn d = { .random = test_random(&random) };
        draw_cluster(&d);
        if (d.n_jobs)
            hold_cheapest(&d);
        str_fini(&d.text);
        world_fini(&d.w);
    }
    CHECK(n < 100 || (n_several > n / 5 && n_sets > 10 * n));
}

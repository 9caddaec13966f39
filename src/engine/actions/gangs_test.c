/* Room for whole gangs: random clusters, held against what must be so. */
#include "engine/testing.h"

enum { N_JOBS = 5, MOST_TASKS = 4, N_NODES = 3 };

struct victim {
    const char *id;
    int priority;
    uint32_t n, least;
    int64_t cpu;
    size_t node[MOST_TASKS];
    bool evicted[MOST_TASKS];
};

struct play {
    struct world w;
    int64_t cpu[N_NODES], used[N_NODES];
    size_t n_nodes;
    struct victim jobs[N_JOBS];
    uint32_t members;
    int64_t member_cpu;
    int priority;
};

static void configure(struct world *w, const char *action)
{
    const char *const actions[] = { "allocate", action };

    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_actions = true, .actions = { actions, 2 } });
}

static void submit(struct world *w, const char *id, const char *queue, int priority, uint32_t n,
                   uint32_t least, int64_t cpu)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = n };

    group.asks = world_amounts(w, cpu, 1);
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = queue,
                                    .priority = priority,
                                    .min_available = least,
                                    .groups = &group,
                                    .n_groups = 1 });
}

/* Places a running task wherever there is room; false if there is none. */
static bool place(struct play *p, struct victim *job, uint32_t task)
{
    for (size_t i = 0; i < p->n_nodes; i++) {
        size_t at = (i + task) % p->n_nodes;
        if (p->cpu[at] - p->used[at] < job->cpu)
            continue;
        p->used[at] += job->cpu;
        job->node[task] = at;
        world_tell(&p->w, BERTH_TASK,
                   &(struct berth_task){ .job = job->id,
                                         .group = "task",
                                         .index = task,
                                         .attempt = 1,
                                         .node = arena_format(&p->w.arena, "n%zu", at),
                                         .started_at_ms = 1000,
                                         .state = BERTH_TASK_RUNNING });
        return true;
    }
    return false;
}

static void play_init(struct play *p, uint64_t *random, const char *action, const char *queue)
{
    *p = (struct play){ 0 };
    world_init(&p->w);
    configure(&p->w, action);
    world_queue(&p->w, "mine");
    world_queue(&p->w, "theirs");
    p->n_nodes = 1 + test_random(random) % N_NODES;
    for (size_t i = 0; i < p->n_nodes; i++) {
        p->cpu[i] = 3 + (int64_t)(test_random(random) % 6);
        world_node(&p->w, arena_format(&p->w.arena, "n%zu", i), p->cpu[i]);
    }
    for (size_t j = 0; j < N_JOBS; j++) {
        struct victim *job = &p->jobs[j];
        uint32_t placed = 0;
        job->id = arena_format(&p->w.arena, "v%zu", j);
        job->priority = (int)(test_random(random) % 3);
        job->n = 1 + (uint32_t)(test_random(random) % MOST_TASKS);
        job->least = 1 + (uint32_t)(test_random(random) % job->n);
        job->cpu = 1 + (int64_t)(test_random(random) % 2);
        submit(&p->w, job->id, queue, job->priority, job->n, job->least, job->cpu);
        while (placed < job->n && place(p, job, placed))
            placed++;
        if (placed < job->least) {
            for (uint32_t t = 0; t < placed; t++)
                p->used[job->node[t]] -= job->cpu;
            world_end(&p->w, BERTH_JOB, &(struct berth_job){ .id = job->id });
            placed = 0;
        }
        job->n = placed;
    }
    p->members = 1 + (uint32_t)(test_random(random) % 4);
    p->member_cpu = 1 + (int64_t)(test_random(random) % 3);
    p->priority = 1 + (int)(test_random(random) % 2);
    submit(&p->w, "gang", "mine", p->priority, p->members, p->members, p->member_cpu);
}

/* How many members fit if those marked have left, `but` aside: a job's task, or (-1) all of it. */
static uint32_t members_that_fit(const struct play *p, const struct victim *but, int task)
{
    uint32_t fit = 0;

    for (size_t i = 0; i < p->n_nodes; i++) {
        int64_t free = p->cpu[i] - p->used[i];
        for (size_t j = 0; j < N_JOBS; j++)
            for (uint32_t t = 0; t < p->jobs[j].n; t++)
                if (p->jobs[j].evicted[t] && p->jobs[j].node[t] == i &&
                    !(but == &p->jobs[j] && (task < 0 || task == (int)t)))
                    free += p->jobs[j].cpu;
        fit += (uint32_t)(free / p->member_cpu);
    }
    return fit;
}

static uint32_t mark_evicted(struct play *p)
{
    uint32_t reserved = 0;

    for (size_t i = 0; i < p->w.out.n_groups; i++) {
        const struct berth_group *group = &p->w.out.groups[i];
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            reserved += part->kind == BERTH_PART_RESERVE && text_eq(group->job, "gang");
            for (size_t j = 0; j < N_JOBS; j++)
                if (part->kind == BERTH_PART_EVICT && text_eq(part->task.job, p->jobs[j].id))
                    p->jobs[j].evicted[part->task.index] = true;
        }
    }
    return reserved;
}

static uint32_t n_evicted(const struct victim *job)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < job->n; t++)
        n += job->evicted[t];
    return n;
}

/* Nobody in vain, no gang cut, nobody who need not. */
static void check_victims(const struct play *p, bool preempts, uint32_t reserved)
{
    uint32_t all = 0;

    for (size_t j = 0; j < N_JOBS; j++) {
        const struct victim *job = &p->jobs[j];
        uint32_t n = n_evicted(job);
        all += n;
        if (!n)
            continue;
        CHECK(n == job->n || job->n - n >= job->least);
        CHECK(!preempts || job->priority < p->priority);
        if (job->n - n >= job->least) {
            for (uint32_t t = 0; t < job->n; t++)
                CHECK(!job->evicted[t] || members_that_fit(p, job, (int)t) < p->members);
        } else {
            CHECK(members_that_fit(p, job, -1) < p->members);
        }
    }
    CHECK_EQ(reserved, all ? p->members : 0);
    if (all)
        CHECK(members_that_fit(p, NULL, 0) >= p->members);
}

static size_t play_all(const char *action, const char *queue)
{
    uint64_t random = test_seed();
    size_t n = 0;

    for (int round = 0; round < 300; round++) {
        struct play p;
        uint32_t reserved;
        play_init(&p, &random, action, queue);
        world_cycle(&p.w);
        reserved = mark_evicted(&p);
        check_victims(&p, text_eq(queue, "mine"), reserved);
        n += reserved > 0;
        world_fini(&p.w);
    }
    return n;
}

TEST(gangpreempt_evicts_units_that_are_needed_and_no_others)
{
    CHECK(play_all("gangpreempt", "mine") > 20);
}

TEST(gangreclaim_evicts_units_that_are_needed_and_no_others)
{
    CHECK(play_all("gangreclaim", "theirs") > 20);
}

TEST(gangpreempt_finds_room_where_there_is_some)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 200; round++) {
        struct play p;
        uint32_t fit = 0;
        play_init(&p, &random, "gangpreempt", "mine");
        world_cycle(&p.w);
        for (size_t j = 0; j < N_JOBS; j++)
            for (uint32_t t = 0; t < p.jobs[j].n; t++)
                p.jobs[j].evicted[t] = p.jobs[j].priority < p.priority;
        fit = members_that_fit(&p, NULL, 0);
        CHECK_EQ(p.w.out.counts.tasks_placed + p.w.out.counts.tasks_reserved,
                 fit >= p.members ? p.members : 0);
        world_fini(&p.w);
    }
}

TEST(gangpreempt_binds_the_gang_when_its_victims_have_left)
{
    struct world w;
    struct victim low = { .id = "low", .n = 2 };

    world_init(&w);
    configure(&w, "gangpreempt");
    world_queue(&w, "mine");
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 1);
    submit(&w, low.id, "mine", 0, 2, 2, 1);
    for (uint32_t i = 0; i < 2; i++)
        world_tell(&w, BERTH_TASK,
                   &(struct berth_task){ .job = low.id,
                                         .group = "task",
                                         .index = i,
                                         .attempt = 1,
                                         .node = i ? "n2" : "n1",
                                         .started_at_ms = 1000,
                                         .state = BERTH_TASK_RUNNING });
    submit(&w, "gang", "mine", 1, 2, 2, 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_evicted, 2);
    CHECK_TEXT(w.out.groups[0].action, "gangpreempt");
    CHECK_TEXT(world_waits(&w, "gang"), "WAITING_FOR_EVICTION");
    world_accept(&w, BERTH_TASK_RUNNING);
    world_end(&w, BERTH_TASK, &(struct berth_task){ .job = "low", .group = "task", .index = 0 });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), ""); /* one of its two places is not free yet */
    world_end(&w, BERTH_TASK, &(struct berth_task){ .job = "low", .group = "task", .index = 1 });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind gang/task.0>n1,gang/task.1>n2");
    world_fini(&w);
}

/* What is held for others goes before who runs, and whole. */
TEST(gangpreempt_has_what_is_held_first)
{
    struct berth_reservation_part parts[] = {
        { .task = { .job = "mid", .group = "task" }, .node = "n1" },
        { .task = { .job = "mid", .group = "task", .index = 1 }, .node = "n2" },
    };
    struct berth_reservation r = {
        .id = "r-mid", .seq = 7, .owner = "mid", .parts = parts, .n_parts = 2
    };
    struct world w;

    world_init(&w);
    configure(&w, "gangpreempt");
    world_queue(&w, "mine");
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 1);
    world_node(&w, "n3", 2);
    submit(&w, "gone", "mine", 0, 2, 2, 1);
    submit(&w, "low", "mine", 0, 2, 1, 1);
    for (uint32_t i = 0; i < 4; i++)
        world_tell(
            &w, BERTH_TASK,
            &(struct berth_task){ .job = i < 2 ? "gone" : "low",
                                  .group = "task",
                                  .index = i % 2,
                                  .attempt = 1,
                                  .node = i == 0   ? "n1"
                                          : i == 1 ? "n2"
                                                   : "n3",
                                  .started_at_ms = 1000,
                                  .state = i < 2 ? BERTH_TASK_RELEASING : BERTH_TASK_RUNNING });
    submit(&w, "mid", "mine", 1, 2, 2, 1);
    world_tell(&w, BERTH_RESERVATION, &r);
    submit(&w, "gang", "mine", 2, 2, 2, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "reserve gang/task.0>n1,gang/task.1>n2");
    CHECK_EQ(w.out.groups[0].n_takes, 1);
    CHECK_TEXT(w.out.groups[0].takes[0].reservation, "r-mid");
    CHECK_TEXT(w.out.groups[0].action, "gangpreempt");
    world_fini(&w);
}

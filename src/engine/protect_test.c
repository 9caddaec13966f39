/* Looking ahead, against a plain reckoning of when a job can start. */
#include "engine/testing.h"

enum { MINUTE = 60000, MOST = 64 };

static void configure(struct world *w, const char *after)
{
    const struct berth_value option = { .key = "protectAfter",
                                        .kind = BERTH_VALUE_TEXT,
                                        .text = after };
    const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                        .members = &option,
                                        .n_members = 1 };
    static const char *const actions[] = { "allocate" };

    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){
                   .policy = &policy, .has_actions = true, .actions = { actions, 1 } });
}

static void submit(struct world *w, const char *id, const char *queue, uint32_t replicas,
                   int64_t cpu, int64_t limit_ms)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = replicas };

    group.asks = world_amounts(w, cpu, 1);
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = queue,
                                    .min_available = replicas,
                                    .limit_ms = limit_ms,
                                    .created_at_ms = w->in.now_ms,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static void run(struct world *w, const char *job, const char *node)
{
    world_tell(w, BERTH_TASK,
               &(struct berth_task){ .job = job,
                                     .group = "task",
                                     .attempt = 1,
                                     .node = node,
                                     .started_at_ms = w->in.now_ms,
                                     .state = BERTH_TASK_RUNNING });
}

/* Four cores, two of them taken for an hour; the head needs all four. */
static void begin(struct world *w, const char *after)
{
    world_init(w);
    w->in.now_ms = 1000 * MINUTE;
    configure(w, after);
    world_queue(w, "default");
    world_node(w, "n1", 4);
    submit(w, "runs", "default", 1, 2, 60 * MINUTE);
    run(w, "runs", "n1");
    submit(w, "head", "default", 1, 4, 60 * MINUTE);
}

TEST(protect_lets_pass_who_ends_before_the_head_begins)
{
    struct world w;

    begin(&w, "0s");
    submit(&w, "long", "default", 1, 1, 61 * MINUTE);
    submit(&w, "endless", "default", 1, 1, 0);
    submit(&w, "short", "default", 1, 1, 60 * MINUTE);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind short/task.0>n1");
    CHECK_TEXT(world_waits(&w, "long"), "PROTECTED_HEAD");
    CHECK_TEXT(world_reason(&w, "long")->blocker, "head");
    CHECK_TEXT(world_waits(&w, "endless"), "PROTECTED_HEAD");
    CHECK_TEXT(world_waits(&w, "head"), "INSUFFICIENT_CPU");
    world_fini(&w);
}

TEST(protect_lets_pass_who_fits_beside_the_head)
{
    struct world w;

    begin(&w, "0s");
    world_node(&w, "n1", 6);
    submit(&w, "beside", "default", 1, 2, 0); /* two of six cores are nobody's even then */
    submit(&w, "more", "default", 1, 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind head/task.0>n1");
    world_fini(&w);
    begin(&w, "0s");
    world_node(&w, "n1", 5);
    submit(&w, "beside", "default", 1, 1, 0);
    submit(&w, "more", "default", 1, 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind beside/task.0>n1");
    CHECK_TEXT(world_waits(&w, "more"), "PROTECTED_HEAD");
    world_fini(&w);
}

TEST(protect_takes_jobs_without_a_limit_as_endless)
{
    struct world w;

    begin(&w, "0s");
    submit(&w, "other", "default", 1, 1, 0);
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){ .job = "other",
                                     .group = "task",
                                     .attempt = 1,
                                     .node = "n1",
                                     .state = BERTH_TASK_RUNNING });
    submit(&w, "endless", "default", 1, 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind endless/task.0>n1"); /* nobody knows when four are free */
    world_fini(&w);
}

TEST(protect_begins_when_a_job_waited_long_enough)
{
    struct world w;

    begin(&w, "10m");
    world_cycle(&w);
    CHECK_EQ(w.out.wake_at_ms, w.in.now_ms + 10 * MINUTE);
    w.in.now_ms += 10 * MINUTE - 1;
    submit(&w, "before", "default", 1, 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind before/task.0>n1");
    w.in.now_ms++;
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    world_fini(&w);
    begin(&w, "never");
    submit(&w, "endless", "default", 1, 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind endless/task.0>n1");
    world_fini(&w);
}

TEST(protect_holds_against_other_queues_and_leaves_other_nodes_alone)
{
    struct world w;

    begin(&w, "0s");
    world_queue(&w, "other");
    submit(&w, "long", "other", 1, 1, 0);
    world_job(&w, "first", 1, 1, 1); /* of the queue that holds less: it comes first */
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "first" });
    run(&w, "runs", "n1");
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind long/task.0>n1"); /* its queue is ahead */
    world_node(&w, "n2", 2);
    submit(&w, "longer", "default", 1, 2, 0);
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "long" });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind longer/task.0>n2");
    world_fini(&w);
}

TEST(protect_keeps_the_cap_of_the_heads_queue)
{
    struct world w;
    struct berth_queue queue = { .name = "default", .seq = 1 };

    begin(&w, "0s");
    world_node(&w, "n2", 4);
    queue.capability = world_amounts(&w, 6, 1 << 20);
    world_tell(&w, BERTH_QUEUE, &queue);
    run(&w, "runs", "n1");
    submit(&w, "fills", "default", 1, 3, 0);
    run(&w, "fills", "n2"); /* five of six cores: the head is kept waiting by its queue's cap */
    submit(&w, "next", "default", 1, 1, 0);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind next/task.0>n1"); /* what it waits for is no node */
    queue.capability = world_amounts(&w, 9, 1 << 20);
    world_tell(&w, BERTH_QUEUE, &queue);
    world_cycle(&w); /* the cap lets the head start, and then nothing beside it */
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "next"), "PROTECTED_HEAD");
    queue.capability = world_amounts(&w, 10, 1 << 20);
    world_tell(&w, BERTH_QUEUE, &queue);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind next/task.0>n2");
    world_fini(&w);
}

/* --- The plain reckoning */

struct plain_task {
    size_t node;
    int64_t cpu, ends_at_ms;
};

struct plain {
    int64_t cpu[4];
    size_t n_nodes;
    struct plain_task tasks[MOST * 8];
    size_t n_tasks;
};

/* How many tasks of that size fit at an instant. */
static int64_t room_at(const struct plain *p, int64_t at_ms, int64_t cpu)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->n_nodes; i++) {
        int64_t free = p->cpu[i];
        for (size_t k = 0; k < p->n_tasks; k++)
            if (p->tasks[k].node == i && p->tasks[k].ends_at_ms > at_ms)
                free -= p->tasks[k].cpu;
        sum += free > 0 ? free / cpu : 0;
    }
    return sum;
}

static int64_t earliest(const struct plain *p, int64_t now_ms, int64_t n, int64_t cpu)
{
    int64_t at = BERTH_NEVER;

    if (room_at(p, now_ms, cpu) >= n)
        return now_ms;
    for (size_t k = 0; k < p->n_tasks; k++)
        if (p->tasks[k].ends_at_ms < at && p->tasks[k].ends_at_ms > now_ms &&
            room_at(p, p->tasks[k].ends_at_ms, cpu) >= n)
            at = p->tasks[k].ends_at_ms;
    return at;
}

struct plain_job {
    const char *id;
    int64_t n, cpu, limit_ms;
    bool started, ended;
    int64_t ends_at_ms;
};

struct play {
    struct world w;
    struct plain plain;
    struct plain_job jobs[MOST];
    size_t n_jobs;
    uint64_t random;
};

static void play_submit(struct play *p)
{
    struct plain_job *job = &p->jobs[p->n_jobs];

    *job = (struct plain_job){ arena_format(&p->w.arena, "j%zu", p->n_jobs),
                               1 + (int64_t)(test_random(&p->random) % 3),
                               1 + (int64_t)(test_random(&p->random) % 4),
                               MINUTE * (int64_t)(test_random(&p->random) % 6),
                               false,
                               false,
                               BERTH_NEVER };
    p->n_jobs++;
    submit(&p->w, job->id, "default", (uint32_t)job->n, job->cpu, job->limit_ms);
}

/* Takes over what was decided; tasks of jobs with a limit run until it. */
static void play_bind(struct play *p, const struct berth_group *group)
{
    for (size_t j = 0; j < p->n_jobs; j++) {
        struct plain_job *job = &p->jobs[j];
        if (!text_eq(job->id, group->job))
            continue;
        job->started = true;
        if (job->limit_ms)
            job->ends_at_ms = p->w.in.now_ms + job->limit_ms;
        for (size_t k = 0; k < group->n_parts; k++)
            p->plain.tasks[p->plain.n_tasks++] =
                (struct plain_task){ (size_t)(group->parts[k].node[1] - '0'), job->cpu,
                                     job->ends_at_ms };
    }
}

static void play_end(struct play *p)
{
    size_t n = 0;

    for (size_t j = 0; j < p->n_jobs; j++)
        if (!p->jobs[j].ended && p->jobs[j].ends_at_ms <= p->w.in.now_ms) {
            p->jobs[j].ended = true;
            world_end(&p->w, BERTH_JOB, &(struct berth_job){ .id = p->jobs[j].id });
        }
    for (size_t k = 0; k < p->plain.n_tasks; k++)
        if (p->plain.tasks[k].ends_at_ms > p->w.in.now_ms)
            p->plain.tasks[n++] = p->plain.tasks[k];
    p->plain.n_tasks = n;
}

/* One cycle: those that were bound after a job that still waits must not have delayed it. */
static void play_cycle(struct play *p, size_t *n_passed)
{
    const struct plain_job *head = NULL;
    int64_t before, after;

    world_cycle(&p->w);
    for (size_t i = 0; i < p->w.out.n_groups; i++) {
        const struct berth_group *group = &p->w.out.groups[i];
        for (size_t j = 0; j < p->n_jobs && !head; j++) {
            bool bound = false;
            for (size_t k = 0; k < p->w.out.n_groups; k++)
                bound = bound || text_eq(p->w.out.groups[k].job, p->jobs[j].id);
            if (!p->jobs[j].started && !bound)
                head = &p->jobs[j];
        }
        /* Jobs are named by their rank: those behind the head pass it. */
        if (!head || atoll(group->job + 1) < head - p->jobs) {
            play_bind(p, group);
            continue;
        }
        before = earliest(&p->plain, p->w.in.now_ms, head->n, head->cpu);
        play_bind(p, group);
        after = earliest(&p->plain, p->w.in.now_ms, head->n, head->cpu);
        CHECK_EQ(after, before);
        ++*n_passed;
    }
    world_accept(&p->w, BERTH_TASK_RUNNING);
}

TEST(protect_never_delays_the_head)
{
    uint64_t random = test_seed();
    size_t n_passed = 0;

    for (int round = 0; round < 150; round++) {
        struct play *p = NEW0(struct play);
        p->random = random;
        world_init(&p->w);
        p->w.in.now_ms = 1000 * MINUTE;
        configure(&p->w, "0s");
        world_queue(&p->w, "default");
        p->plain.n_nodes = 1 + test_random(&p->random) % 3;
        for (size_t i = 0; i < p->plain.n_nodes; i++) {
            p->plain.cpu[i] = 2 + (int64_t)(test_random(&p->random) % 5);
            world_node(&p->w, arena_format(&p->w.arena, "n%zu", i), p->plain.cpu[i]);
        }
        for (int step = 0; step < 12; step++) {
            for (uint64_t n = test_random(&p->random) % 5; n && p->n_jobs < MOST; n--)
                play_submit(p);
            play_cycle(p, &n_passed);
            p->w.in.now_ms += MINUTE / 2 * (int64_t)(1 + test_random(&p->random) % 3);
            play_end(p);
        }
        random = p->random;
        world_fini(&p->w);
        free(p);
    }
    CHECK(n_passed > 200); /* that is what it was about */
}

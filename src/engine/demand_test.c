#include "engine/testing.h"

enum { MOST_NODES = 4, MOST_JOBS = 5, N_QUEUES = 3, N_GROUPS = 2, MOST_DEVICES = 3, STEPS = 12 };
enum { N_DIMS = 2 };

static const char *const dims[N_DIMS] = { "cpu", "gpu" };

/* --- By brute force: random fleets, jobs and queues, one of which changes at each step */

struct tried_node {
    char id[24];
    bool is_there, cordoned, draining, in_zone;
    enum node_state state;
    int64_t cpu;
    size_t n_devices;
    bool off[MOST_DEVICES];
};

struct tried_group {
    uint32_t n, n_running, n_late;
    int64_t asks[N_DIMS];
    bool wants_zone;
    int pinned; /* to a node, or -1 */
};

enum hold { HOLD_NONE, HOLD_WITHHELD, HOLD_STOPPING, HOLD_UNTIL, HOLD_COUNT };

struct tried_job {
    char id[24];
    int queue;
    uint32_t least;
    enum hold hold;
    int64_t until_ms; /* of HOLD_UNTIL, and of tasks that are late */
    struct tried_group groups[N_GROUPS];
};

/* The second queue is beneath the first. */
struct tried_queue {
    char name[24];
    int64_t cap; /* of cpu; -1: none */
    bool is_closed;
};

struct tried {
    struct tried_node nodes[MOST_NODES];
    struct tried_job jobs[MOST_JOBS];
    struct tried_queue queues[N_QUEUES];
    int64_t quota; /* of cpu; -1: none */
    size_t n_nodes, n_jobs;
};

static int64_t draw(uint64_t *random, int64_t from, int64_t to)
{
    return from + (int64_t)(test_random(random) % (uint64_t)(to - from + 1));
}

static bool one_in(uint64_t *random, unsigned n)
{
    return test_random(random) % n == 0;
}

static void draw_node(struct tried_node *node, uint64_t *random)
{
    static const enum node_state states[] = { NODE_READY,  NODE_READY, NODE_READY,      NODE_READY,
                                              NODE_COMING, NODE_LOST,  NODE_UNREACHABLE };

    node->is_there = !one_in(random, 6);
    node->cordoned = one_in(random, 6);
    node->draining = one_in(random, 6);
    node->in_zone = one_in(random, 2);
    node->state = states[test_random(random) % COUNT_OF(states)];
    node->cpu = draw(random, 1, 8) * 1000;
    node->n_devices = (size_t)draw(random, 0, MOST_DEVICES);
    for (size_t i = 0; i < MOST_DEVICES; i++)
        node->off[i] = one_in(random, 3);
}

static void draw_job(struct tried_job *job, size_t n_nodes, uint64_t *random)
{
    job->queue = (int)draw(random, 0, N_QUEUES - 1);
    job->hold = one_in(random, 2) ? HOLD_NONE : (enum hold)draw(random, 0, HOLD_COUNT - 1);
    job->until_ms = 1000000 + draw(random, -2, 4) * 1000;
    job->least = 0;
    for (int g = 0; g < N_GROUPS; g++) {
        struct tried_group *group = &job->groups[g];
        group->n = (uint32_t)draw(random, 1, 4);
        group->n_running = one_in(random, 3) ? (uint32_t)draw(random, 0, group->n) : 0;
        group->n_late =
            one_in(random, 3) ? (uint32_t)draw(random, 0, group->n - group->n_running) : 0;
        group->asks[0] = draw(random, 1, 9) * 1000;
        group->asks[1] = one_in(random, 2) ? draw(random, 1, 2) * 1000 : 0;
        group->wants_zone = one_in(random, 3);
        group->pinned = one_in(random, 6) ? (int)draw(random, 0, (int64_t)n_nodes - 1) : -1;
        job->least += one_in(random, 2) ? group->n : 0;
    }
    if (one_in(random, 3)) { /* of one class */
        uint32_t n = job->groups[1].n, n_running = job->groups[1].n_running;
        uint32_t n_late = job->groups[1].n_late;
        job->groups[1] = job->groups[0];
        job->groups[1].n = n;
        job->groups[1].n_running = n_running;
        job->groups[1].n_late = n_late;
    }
}

static void draw_queue(struct tried_queue *queue, uint64_t *random)
{
    queue->cap = one_in(random, 3) ? draw(random, 0, 20) * 1000 : -1;
    queue->is_closed = one_in(random, 5);
}

static struct berth_amounts amounts(struct world *w, int64_t cpu, int64_t gpu)
{
    struct berth_amount *at = ARENA_NEW0_N(&w->arena, struct berth_amount, N_DIMS);
    size_t n = 0;

    if (cpu >= 0)
        at[n++] = (struct berth_amount){ "cpu", cpu };
    if (gpu > 0)
        at[n++] = (struct berth_amount){ "gpu", gpu };
    return (struct berth_amounts){ at, n };
}

static void tell_node(struct world *w, const struct tried_node *node, size_t i)
{
    struct berth_label label = { "zone", "a" };
    struct berth_node told = { .id = node->id,
                               .seq = i + 1,
                               .state = node->state,
                               .cordoned = node->cordoned,
                               .draining = node->draining,
                               .offers = amounts(w, node->cpu, 0) };
    char uuid[] = "d0";

    if (node->in_zone)
        told.labels = (struct berth_labels){ &label, 1 };
    for (size_t d = 0; d < MOST_DEVICES; d++) {
        struct berth_device device = { .node = node->id,
                                       .class_name = "gpu",
                                       .uuid = uuid,
                                       .index = (uint32_t)d,
                                       .unhealthy = node->off[d] };
        uuid[1] = (char)('0' + d);
        if (d < node->n_devices)
            world_tell(w, BERTH_DEVICE, &device);
        else
            world_end(w, BERTH_DEVICE, &device);
    }
    if (node->is_there)
        world_tell(w, BERTH_NODE, &told);
    else
        world_end(w, BERTH_NODE, &told);
}

static void tell_tasks(struct world *w, const struct tried *t, const struct tried_job *job,
                       const struct tried_group *group, const char *name)
{
    for (uint32_t i = 0; i < group->n; i++) {
        struct berth_task task = { .job = job->id, .group = name, .index = i };
        if (i < group->n_running) {
            task.state = BERTH_TASK_RUNNING;
            task.node = t->nodes[0].id;
        } else if (i < group->n_running + group->n_late) {
            task.not_before_ms = job->until_ms;
        }
        world_tell(w, BERTH_TASK, &task);
    }
}

static void tell_job(struct world *w, const struct tried *t, const struct tried_job *job)
{
    static const char *const names[N_GROUPS] = { "g0", "g1" };
    struct berth_label label = { "zone", "a" };
    struct berth_task_group groups[N_GROUPS] = { 0 };
    struct berth_job told = { .id = job->id,
                              .seq = (uint64_t)(job - t->jobs) + 1,
                              .queue = t->queues[job->queue].name,
                              .namespace_ = "n",
                              .phase = BERTH_PHASE_INQUEUE,
                              .min_available = job->least,
                              .withheld = job->hold == HOLD_WITHHELD ? WAIT_HELD : WAIT_NONE,
                              .stopping = job->hold == HOLD_STOPPING,
                              .not_before_ms = job->hold == HOLD_UNTIL ? job->until_ms : 0,
                              .groups = groups,
                              .n_groups = N_GROUPS };

    world_end(w, BERTH_JOB, &told);
    for (int g = 0; g < N_GROUPS; g++) {
        const struct tried_group *group = &job->groups[g];
        groups[g] = (struct berth_task_group){ .name = names[g],
                                               .replicas = group->n,
                                               .asks = amounts(w, group->asks[0], group->asks[1]) };
        if (group->wants_zone)
            groups[g].node_selector = (struct berth_labels){ &label, 1 };
        if (group->pinned >= 0)
            groups[g].pinned_to = t->nodes[group->pinned].id;
    }
    world_tell(w, BERTH_JOB, &told);
    for (int g = 0; g < N_GROUPS; g++)
        tell_tasks(w, t, job, &job->groups[g], names[g]);
}

static void tell_queue(struct world *w, const struct tried *t, size_t i)
{
    const struct tried_queue *queue = &t->queues[i];
    struct berth_queue told = { .name = queue->name,
                                .seq = i + 1,
                                .parent = i == 1 ? t->queues[0].name : NULL,
                                .capability = amounts(w, queue->cap, 0),
                                .state = queue->is_closed ? QUEUE_CLOSED : QUEUE_OPEN };

    world_tell(w, BERTH_QUEUE, &told);
}

static void tell_quota(struct world *w, const struct tried *t)
{
    struct berth_quota quota = { .name = "q", .namespace_ = "n", .hard = amounts(w, t->quota, 0) };

    world_tell(w, BERTH_QUOTA, &quota);
}

static uint32_t fewer(uint32_t a, int64_t b)
{
    return b < (int64_t)a ? (uint32_t)(b < 0 ? 0 : b) : a;
}

/* How many tasks of a group could run at a time. */
static uint32_t reckon_most(const struct tried *t, int queue, const struct tried_group *group)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < t->n_nodes; i++) {
        const struct tried_node *node = &t->nodes[i];
        uint32_t here = (uint32_t)(node->cpu / group->asks[0]), n_on = 0;
        for (size_t d = 0; d < node->n_devices; d++)
            n_on += !node->off[d];
        if (group->asks[1])
            here = fewer(here, n_on * 1000 / group->asks[1]);
        if (node->is_there && !node->cordoned && !node->draining &&
            (node->state == NODE_READY || node->state == NODE_COMING) &&
            (!group->wants_zone || node->in_zone) &&
            (group->pinned < 0 || (size_t)group->pinned == i))
            sum += here;
    }
    if (t->queues[queue].cap >= 0)
        sum = fewer(sum, t->queues[queue].cap / group->asks[0]);
    if (queue == 1 && t->queues[0].cap >= 0)
        sum = fewer(sum, t->queues[0].cap / group->asks[0]);
    if (t->quota >= 0)
        sum = fewer(sum, t->quota / group->asks[0]);
    return sum;
}

static bool is_alike(const struct tried_group *a, const struct tried_group *b)
{
    return a->asks[0] == b->asks[0] && a->asks[1] == b->asks[1] && a->pinned == b->pinned &&
           a->wants_zone == b->wants_zone;
}

static uint32_t reckon_due(const struct tried_job *job, int g, int64_t now_ms)
{
    const struct tried_group *group = &job->groups[g];

    return group->n - group->n_running - (job->until_ms > now_ms ? group->n_late : 0);
}

/* Whether the job could have its minimum, as things stand. */
static bool could_start(const struct tried *t, const struct tried_job *job, int64_t now_ms)
{
    const struct tried_group *a = &job->groups[0], *b = &job->groups[1];
    uint32_t most_a = reckon_most(t, job->queue, a), most_b = reckon_most(t, job->queue, b);
    uint32_t due_a = reckon_due(job, 0, now_ms), due_b = reckon_due(job, 1, now_ms);
    uint32_t n = a->n_running + b->n_running;

    if (job->hold == HOLD_WITHHELD || job->hold == HOLD_STOPPING ||
        (job->hold == HOLD_UNTIL && job->until_ms > now_ms) || t->queues[job->queue].is_closed ||
        (job->queue == 1 && t->queues[0].is_closed))
        return false;
    if (is_alike(a, b))
        n += fewer(due_a + due_b, most_a);
    else
        n += fewer(due_a, most_a) + fewer(due_b, most_b);
    return n >= (job->least ? job->least : 1);
}

static int64_t reckon_demand(const struct tried *t, int queue, int dim, int64_t now_ms)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->n_jobs; i++) {
        const struct tried_job *job = &t->jobs[i];
        bool starts = could_start(t, job, now_ms);
        if (job->queue != queue && !(queue == 0 && job->queue == 1))
            continue;
        for (int g = 0; g < N_GROUPS; g++) {
            const struct tried_group *group = &job->groups[g];
            sum += group->asks[dim] * group->n_running;
            if (starts && reckon_most(t, job->queue, group))
                sum += group->asks[dim] * reckon_due(job, g, now_ms);
        }
    }
    return sum;
}

static int64_t amount_in(const struct berth_amounts *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return list->at[i].value;
    return 0;
}

static void compare(struct world *w, const struct tried *t)
{
    for (int q = 0; q < N_QUEUES; q++) {
        struct berth_queue_view view;
        struct err err = { 0 };
        CHECK_OK(berth_engine_queue(w->engine, &w->in, t->queues[q].name, &w->arena, &view, &err),
                 &err);
        for (int d = 0; d < N_DIMS; d++)
            CHECK_EQ(amount_in(&view.demand, dims[d]), reckon_demand(t, q, d, w->in.now_ms));
    }
}

/* Changes one thing, and tells it. */
static void change(struct world *w, struct tried *t, uint64_t *random)
{
    size_t node = (size_t)draw(random, 0, (int64_t)t->n_nodes - 1);
    size_t job = (size_t)draw(random, 0, (int64_t)t->n_jobs - 1);
    size_t queue = (size_t)draw(random, 0, N_QUEUES - 1);

    switch (draw(random, 0, 5)) {
    case 0:
    case 1:
        draw_node(&t->nodes[node], random);
        tell_node(w, &t->nodes[node], node);
        break;
    case 2:
        draw_job(&t->jobs[job], t->n_nodes, random);
        tell_job(w, t, &t->jobs[job]);
        break;
    case 3:
        draw_queue(&t->queues[queue], random);
        tell_queue(w, t, queue);
        break;
    case 4:
        t->quota = one_in(random, 2) ? -1 : draw(random, 0, 12) * 1000;
        tell_quota(w, t);
        break;
    case 5:
        w->in.now_ms = 1000000 + draw(random, -3, 5) * 1000; /* a question may be about the past */
        break;
    }
}

static void init(struct world *w, struct tried *t, uint64_t *random)
{
    *t = (struct tried){ .quota = -1,
                         .n_nodes = (size_t)draw(random, 1, MOST_NODES),
                         .n_jobs = (size_t)draw(random, 1, MOST_JOBS) };
    world_init(w);
    for (size_t i = 0; i < N_QUEUES; i++) {
        snprintf(t->queues[i].name, sizeof(t->queues[i].name), "q%zu", i);
        draw_queue(&t->queues[i], random);
        tell_queue(w, t, i);
    }
    for (size_t i = 0; i < t->n_nodes; i++) {
        snprintf(t->nodes[i].id, sizeof(t->nodes[i].id), "n%zu", i);
        draw_node(&t->nodes[i], random);
        tell_node(w, &t->nodes[i], i);
    }
    for (size_t i = 0; i < t->n_jobs; i++) {
        snprintf(t->jobs[i].id, sizeof(t->jobs[i].id), "j%zu", i);
        draw_job(&t->jobs[i], t->n_nodes, random);
        tell_job(w, t, &t->jobs[i]);
    }
}

TEST(demand_agrees_with_brute_force)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 1500; round++) {
        struct world w;
        struct tried t;
        init(&w, &t, &random);
        for (int step = 0; step < STEPS; step++) {
            compare(&w, &t);
            if (one_in(&random, 3))
                world_cycle(&w); /* what it does is undone, and may leave nothing behind */
            change(&w, &t, &random);
        }
        w.in.is_cold = true;
        compare(&w, &t);
        world_fini(&w);
    }
}

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
    bool wants_zone, has_port;
    bool is_shunned, shuns; /* who shuns wants none of those in the same zone */
    int pinned;             /* to a node, or -1 */
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

/* Makes a group's tasks of the class of another's, in one queue. */
static void take_class(struct tried_group *group, const struct tried_group *from)
{
    memcpy(group->asks, from->asks, sizeof(group->asks));
    group->wants_zone = from->wants_zone;
    group->has_port = from->has_port;
    group->is_shunned = from->is_shunned;
    group->shuns = from->shuns;
    group->pinned = from->pinned;
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
        group->has_port = one_in(random, 4);
        group->is_shunned = one_in(random, 2);
        group->shuns = one_in(random, 4);
        group->pinned = one_in(random, 6) ? (int)draw(random, 0, (int64_t)n_nodes - 1) : -1;
        job->least += one_in(random, 2) ? group->n : 0;
    }
    if (one_in(random, 3))
        take_class(&job->groups[1], &job->groups[0]);
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

static void tell_devices(struct world *w, const struct tried_node *node)
{
    char uuid[] = "d0";

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

    if (node->in_zone)
        told.labels = (struct berth_labels){ &label, 1 };
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

static const struct berth_label app_x = { "app", "x" };
static const struct berth_pod_term near_in_zone = { .selector = { .labels = { &app_x, 1 } },
                                                    .topology_key = "zone" };
static const struct berth_affinity not_near_x = { .anti_required = &near_in_zone,
                                                  .n_anti_required = 1 };
static const uint16_t port = 80;

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
        if (group->has_port)
            groups[g].host_ports = &port, groups[g].n_host_ports = 1;
        if (group->is_shunned)
            groups[g].labels = (struct berth_labels){ &app_x, 1 };
        if (group->shuns)
            groups[g].affinity = &not_near_x;
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

static uint32_t n_on(const struct tried_node *node)
{
    uint32_t n = 0;

    for (size_t d = 0; d < node->n_devices; d++)
        n += !node->off[d];
    return n;
}

/* Whether a group's tasks may stand on a node at all. */
static bool serves(const struct tried *t, size_t i, const struct tried_group *group)
{
    const struct tried_node *node = &t->nodes[i];

    return node->is_there && !node->cordoned && !node->draining &&
           (node->state == NODE_READY || node->state == NODE_COMING) &&
           (!group->wants_zone || node->in_zone) &&
           (group->pinned < 0 || (size_t)group->pinned == i);
}

/* How many tasks of a group could run at a time, but for those that they keep off themselves. */
static uint32_t reckon_most(const struct tried *t, int queue, const struct tried_group *group)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < t->n_nodes; i++) {
        const struct tried_node *node = &t->nodes[i];
        uint32_t here = (uint32_t)(node->cpu / group->asks[0]);
        if (group->asks[1])
            here = fewer(here, n_on(node) * 1000 / group->asks[1]);
        if (serves(t, i, group))
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

/* Whether so many of both groups may stand on a node, beside each other alone. */
static bool may_stand(const struct tried *t, const struct tried_job *job, size_t i,
                      const uint32_t n[N_GROUPS])
{
    int64_t cpu = t->nodes[i].cpu, gpu = n_on(&t->nodes[i]) * (int64_t)1000;
    uint32_t n_ports = 0;

    for (int g = 0; g < N_GROUPS; g++) {
        const struct tried_group *group = &job->groups[g];
        cpu -= group->asks[0] * n[g];
        gpu -= group->asks[1] * n[g];
        n_ports += group->has_port ? n[g] : 0;
        if (n[g] && !serves(t, i, group))
            return false;
    }
    return cpu >= 0 && gpu >= 0 && n_ports <= 1;
}

/* Whether so many of both groups may stand in the zone. */
static bool bear_each_other(const struct tried_job *job, const uint32_t n[N_GROUPS])
{
    for (int g = 0; g < N_GROUPS; g++)
        for (int h = 0; h < N_GROUPS; h++)
            if (job->groups[g].shuns && job->groups[h].is_shunned && n[g] && n[h] &&
                (g != h || n[g] > 1))
                return false;
    return true;
}

/* Whether so many of both groups can stand on the nodes from one on: every way is tried. */
static bool can_stand(const struct tried *t, const struct tried_job *job, size_t from,
                      const uint32_t left[N_GROUPS], const uint32_t zone[N_GROUPS])
{
    if (!left[0] && !left[1])
        return true;
    if (from == t->n_nodes)
        return false;
    for (uint32_t a = 0; a <= left[0]; a++)
        for (uint32_t b = 0; b <= left[1]; b++) {
            bool in_zone = t->nodes[from].in_zone;
            uint32_t here[N_GROUPS] = { a, b }, rest[N_GROUPS] = { left[0] - a, left[1] - b };
            uint32_t now[N_GROUPS] = { zone[0] + (in_zone ? a : 0), zone[1] + (in_zone ? b : 0) };
            if (may_stand(t, job, from, here) && bear_each_other(job, now) &&
                can_stand(t, job, from + 1, rest, now))
                return true;
        }
    return false;
}

/* Whether what the job lacks of its minimum can stand on the nodes together, were they empty. */
static bool could_together(const struct tried *t, const struct tried_job *job, uint32_t needed)
{
    const uint32_t none[N_GROUPS] = { 0 };
    uint32_t most[N_GROUPS];

    for (int g = 0; g < N_GROUPS; g++)
        most[g] = reckon_most(t, job->queue, &job->groups[g])
                      ? job->groups[g].n - job->groups[g].n_running
                      : 0;
    for (uint32_t a = 0; a <= most[0] && a <= needed; a++) {
        uint32_t left[N_GROUPS] = { a, needed - a };
        if (left[1] <= most[1] && can_stand(t, job, 0, left, none))
            return true;
    }
    return false;
}

static bool is_alike(const struct tried_group *a, const struct tried_group *b)
{
    return a->has_port == b->has_port && a->is_shunned == b->is_shunned && a->shuns == b->shuns &&
           a->asks[0] == b->asks[0] && a->asks[1] == b->asks[1] && a->pinned == b->pinned &&
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
    if (n < (job->least ? job->least : 1))
        return false;
    n = a->n_running + b->n_running;
    return job->least < n + 2 || could_together(t, job, job->least - n);
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
        draw_node(&t->nodes[node], random);
        tell_devices(w, &t->nodes[node]);
        tell_node(w, &t->nodes[node], node);
        break;
    case 1:
        t->nodes[node].cpu = draw(random, 1, 8) * 1000;
        tell_node(w, &t->nodes[node], node);
        break;
    case 2:
        draw_job(&t->jobs[job], t->n_nodes, random);
        if (one_in(random, 2)) { /* classes of the first job */
            t->jobs[job].queue = t->jobs[0].queue;
            take_class(&t->jobs[job].groups[0], &t->jobs[0].groups[0]);
        }
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
        tell_devices(w, &t->nodes[i]);
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

/* --- What a plugin refuses for good, and what passes */

static const struct berth_label zone_a = { "zone", "a" };
static const char *const on_n1[] = { "n1" }, *const on_n9[] = { "n9" };
static const char *const held[] = { "held" }, *const other[] = { "other" };
static const char *const unknown[] = { "unknown" };
static const char *const too_many[] = { "too-many" };

static const struct berth_match match_n1 = { "metadata.name", BERTH_IN, { on_n1, 1 } };
static const struct berth_match match_n9 = { "metadata.name", BERTH_IN, { on_n9, 1 } };
static const struct berth_node_term term_n1 = { .selector = { .matches = &match_n1,
                                                              .n_matches = 1 } };
static const struct berth_node_term term_n9 = { .selector = { .matches = &match_n9,
                                                              .n_matches = 1 } };
static const struct berth_pod_term near_in_rack = { .selector = { .labels = { &app_x, 1 } },
                                                    .topology_key = "rack" };
static const struct berth_pod_term over_zones = { .topology_key = "zone", .weight = 1 };
static const struct berth_pod_term over_racks = { .topology_key = "rack", .weight = 1 };

static const struct berth_affinity is_n1 = { .node_required = &term_n1, .n_node_required = 1 };
static const struct berth_affinity is_n9 = { .node_required = &term_n9, .n_node_required = 1 };
static const struct berth_affinity near_x = { .pod_required = &near_in_zone, .n_pod_required = 1 };
static const struct berth_affinity in_rack = { .pod_required = &near_in_rack, .n_pod_required = 1 };
static const struct berth_affinity spread = { .spread = &over_zones, .n_spread = 1 };
static const struct berth_affinity spread_racks = { .spread = &over_racks, .n_spread = 1 };

/* Nodes n1 and n2 of 4 cpu each, in zone a; n2 is lent at night, n1 of a group of which the queue may
 * have 3 cpu. A job of one task. */
static const struct {
    const char *name, *plugin;
    struct berth_task_group group;
    int64_t cpu, demand;
} lasting[] = {
    { "by name, one that there is", NULL, { .affinity = &is_n1 }, 1, 1 },
    { "by name, one that there is not", NULL, { .affinity = &is_n9 }, 1, 0 },
    { "near who may come yet", NULL, { .affinity = &near_x }, 1, 1 },
    { "near others, by a label that no node has", NULL, { .affinity = &in_rack }, 1, 0 },
    { "spread over zones", NULL, { .affinity = &spread }, 1, 1 },
    { "spread over what no node is of", NULL, { .affinity = &spread_racks }, 1, 0 },
    { "a claim of a device that somebody has", NULL, { .claims = { held, 1 } }, 1, 1 },
    { "a claim of a device that others hold", NULL, { .claims = { other, 1 } }, 1, 1 },
    { "a claim that there is not", NULL, { .claims = { unknown, 1 } }, 1, 0 },
    { "a claim of more devices than a node has", NULL, { .claims = { too_many, 1 } }, 1, 0 },
    { "not on lent nodes, one is not", "tdm", { .pinned_to = "n1" }, 1, 1 },
    { "not on lent nodes, this one is", "tdm", { .pinned_to = "n2" }, 1, 0 },
    { "on lent nodes, which are closed for now",
      "tdm",
      { .pinned_to = "n2", .revocable_zone = "*" },
      1,
      1 },
    { "as much as it may have of a group", "nodegroup", { .name = NULL }, 3, 3 },
    { "more than it may have of a group", "nodegroup", { .name = NULL }, 4, 0 },
    { "a port that is taken",
      NULL,
      { .host_ports = (const uint16_t[]){ 80 }, .n_host_ports = 1 },
      1,
      1 },
};

static const struct berth_claim claims[] = {
    { .name = "held", .namespace_ = "", .device_class = "d", .count = 1 },
    { .name = "other", .namespace_ = "", .device_class = "d", .count = 1 },
    { .name = "too-many", .namespace_ = "", .device_class = "d", .count = 2 },
};

static void tell_lasting(struct world *w, const char *plugin)
{
    static const struct berth_amount limit[] = { { "cpu", 3000 } }, has[] = { { "d", 1000 } };
    static const char *const required[] = { "g" };
    static const struct berth_group_limit limits[] = { { "g", { limit, 1 } } };
    struct berth_value zone = { .key = "tdm.revocable-zone.night",
                                .kind = BERTH_VALUE_TEXT,
                                .text = "22:00-06:00" };
    struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT, .members = &zone, .n_members = 1 };
    struct berth_plugin_use uses[] = { { .name = "share" },
                                       { .name = "predicates" },
                                       { .name = plugin } };
    struct berth_tier tier = { uses, plugin ? 3 : 2 };

    if (plugin && strcmp(plugin, "tdm") == 0)
        uses[2].arguments = &arguments;
    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_tiers = true, .tiers = &tier, .n_tiers = 1 });
    world_tell(w, BERTH_QUEUE,
               &(struct berth_queue){ .name = "default",
                                      .group_required = { required, 1 },
                                      .group_limits = limits,
                                      .n_group_limits = 1 });
    for (int i = 1; i <= 2; i++)
        world_tell(w, BERTH_NODE,
                   &(struct berth_node){ .id = i == 1 ? "n1" : "n2",
                                         .seq = (uint64_t)i,
                                         .state = NODE_READY,
                                         .labels = { &zone_a, 1 },
                                         .node_group = i == 1 ? "g" : NULL,
                                         .revocable_zone = i == 2 ? "night" : NULL,
                                         .device_classes = { has, 1 },
                                         .offers = world_amounts(w, 4, (int64_t)1 << 30) });
    world_tell(
        w, BERTH_CLAIM,
        &(struct berth_claim){ .name = "held", .namespace_ = "", .device_class = "d", .count = 1 });
    for (size_t i = 0; i < COUNT_OF(claims); i++)
        world_tell(w, BERTH_CLAIM, &claims[i]);
}

/* Somebody runs on both nodes that holds the claim and the port. */
static void tell_runners(struct world *w)
{
    static const uint16_t ports[] = { 80 };
    struct berth_task_group group = {
        .name = "task", .replicas = 2, .claims = { held, 1 }, .host_ports = ports, .n_host_ports = 1
    };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = "runs", .seq = 1, .groups = &group, .n_groups = 1 });
    for (uint32_t i = 0; i < 2; i++)
        world_tell(w, BERTH_TASK,
                   &(struct berth_task){ .job = "runs",
                                         .group = "task",
                                         .index = i,
                                         .state = BERTH_TASK_RUNNING,
                                         .node = i ? "n2" : "n1" });
}

static int64_t cpu_demand(struct world *w)
{
    struct berth_queue_view view;
    struct err err = { 0 };

    CHECK_OK(berth_engine_queue(w->engine, &w->in, "default", &w->arena, &view, &err), &err);
    return amount_in(&view.demand, "cpu") / 1000;
}

TEST(demand_leaves_out_what_is_refused_for_good)
{
    ROW_EACH (c, lasting) {
        struct berth_task_group group = c->group;
        struct world w;
        world_init(&w);
        tell_lasting(&w, c->plugin);
        tell_runners(&w);
        group.name = "task";
        group.replicas = 1;
        group.asks = world_amounts(&w, c->cpu, 0);
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){
                       .id = "j", .seq = 2, .queue = "default", .groups = &group, .n_groups = 1 });
        CHECK_EQ(cpu_demand(&w), c->demand);
        world_fini(&w);
    }
}

/* A gang is counted further than a single task of its class was. */
TEST(demand_counts_on_for_who_needs_more)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    world_node(&w, "n2", 2);
    world_job(&w, "one", 1, 1, 1);
    CHECK_EQ(cpu_demand(&w), 1);
    world_job(&w, "four", 4, 4, 1);
    CHECK_EQ(cpu_demand(&w), 5);
    world_job(&w, "five", 5, 5, 1);
    CHECK_EQ(cpu_demand(&w), 5);
    world_fini(&w);
}

/* --- Machines that may be ordered */

static const struct {
    const char *name;
    struct berth_pool pool;
    struct berth_task_group group;
    int64_t demand;
} orders[] = {
    { "one that grows", { .provisions = true }, { .replicas = 1 }, 8 },
    { "a gang of any size", { .provisions = true }, { .replicas = 9 }, 72 },
    { "one that orders nothing", { .provisions = false }, { .replicas = 1 }, 0 },
    { "one that is as large as it may be",
      { .provisions = true, .max_machines = 1 },
      { .replicas = 1 },
      0 },
    { "one that may have one more",
      { .provisions = true, .max_machines = 2 },
      { .replicas = 1 },
      8 },
    { "ordered in vain as often as is tried",
      { .provisions = true },
      { .replicas = 1, .provision_attempts = 3 },
      0 },
    { "labels that its machines lack",
      { .provisions = true },
      { .replicas = 1, .node_selector = { &app_x, 1 } },
      0 },
    { "a node by name", { .provisions = true }, { .replicas = 1, .pinned_to = "n1" }, 0 },
    { "another pool", { .provisions = true }, { .replicas = 1, .pool_selector = "q" }, 0 },
    { "machines that may be taken away",
      { .provisions = true, .preemptible = true },
      { .replicas = 1 },
      0 },
    { "its private one, which may not grow, and no other",
      { .is_private = true },
      { .replicas = 1, .pool_selector = "p" },
      0 },
};

TEST(demand_counts_machines_that_may_be_ordered)
{
    ROW_EACH (c, orders) {
        struct berth_pool pool = c->pool;
        struct berth_task_group group = c->group;
        struct world w;
        world_init(&w);
        world_queue(&w, "default");
        pool.name = "p";
        world_tell(&w, BERTH_POOL, &pool);
        world_tell(&w, BERTH_NODE,
                   &(struct berth_node){ .id = "n1",
                                         .pool = "p",
                                         .state = NODE_READY,
                                         .offers = world_amounts(&w, 4, (int64_t)1 << 30) });
        group.name = "task";
        group.asks = world_amounts(&w, 8, 0);
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){ .id = "j",
                                        .queue = "default",
                                        .min_available = group.replicas,
                                        .groups = &group,
                                        .n_groups = 1 });
        CHECK_EQ(cpu_demand(&w), c->demand);
        world_fini(&w);
    }
}

/* --- What cannot start changes nothing for others */

static void tell_drawn_job(struct world *w, uint64_t seed, int i)
{
    static const char *const queues[] = { "a", "b", "c" };
    struct berth_task_group group = { .name = "task", .role = "task" };
    struct berth_job job = { .id = arena_format(&w->arena, "j%02d", i),
                             .seq = (uint64_t)i,
                             .groups = &group,
                             .n_groups = 1 };

    group.replicas = (uint32_t)draw(&seed, 1, 4);
    group.asks = world_amounts(w, draw(&seed, 1, 4), 1);
    job.queue = queues[draw(&seed, 0, 2)];
    job.priority = (int)draw(&seed, 0, 2);
    job.min_available = one_in(&seed, 2) ? group.replicas : 1;
    world_tell(w, BERTH_JOB, &job);
}

/* One more that cannot start, for one of the reasons. */
static void tell_idle_job(struct world *w, uint64_t seed, int i)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };
    struct berth_job job = { .id = arena_format(&w->arena, "idle%02d", i),
                             .seq = (uint64_t)draw(&seed, 0, 20),
                             .queue = one_in(&seed, 2) ? "b" : "c",
                             .priority = (int)draw(&seed, 0, 2),
                             .groups = &group,
                             .n_groups = 1 };

    group.asks = world_amounts(w, 4, 1);
    switch (draw(&seed, 0, 4)) {
    case 0:
        job.withheld = one_in(&seed, 2) ? WAIT_HELD : WAIT_DEPENDENCY;
        break;
    case 1:
        job.not_before_ms = w->in.now_ms + 1000000;
        break;
    case 2:
        group.node_selector = (struct berth_labels){ &zone_a, 1 };
        break;
    case 3:
        group.asks = world_amounts(w, 99, 1);
        break;
    case 4:
        group.replicas = job.min_available = 99;
        break;
    }
    world_tell(w, BERTH_JOB, &job);
}

TEST(demand_of_what_cannot_start_changes_nothing_for_others)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 1000; round++) {
        int n_nodes = (int)draw(&random, 1, 3), n_jobs = (int)draw(&random, 3, 9);
        struct world with, without;
        struct world *const worlds[] = { &with, &without };
        uint64_t seed = random;
        for (int k = 0; k < 2; k++) {
            struct world *w = worlds[k];
            random = seed;
            world_init(w);
            world_queue(w, "a");
            world_queue(w, "b");
            world_queue(w, "c");
            for (int i = 0; i < n_nodes; i++)
                world_node(w, arena_format(&w->arena, "n%d", i), draw(&random, 2, 9));
            for (int i = 0; i < n_jobs; i++)
                tell_drawn_job(w, test_random(&random), i);
            for (int i = 0; i < 3; i++) {
                uint64_t own = test_random(&random);
                if (w == &with)
                    tell_idle_job(w, own, i);
            }
        }
        for (int cycle = 0; cycle < 4; cycle++) {
            uint64_t more = test_random(&random);
            world_cycle(&with);
            world_cycle(&without);
            CHECK_TEXT(world_groups(&with), world_groups(&without));
            world_accept(&with, BERTH_TASK_RUNNING);
            world_accept(&without, BERTH_TASK_RUNNING);
            for (int k = 0; k < 2; k++)
                tell_drawn_job(worlds[k], more, 50 + cycle);
        }
        world_fini(&with);
        world_fini(&without);
    }
}

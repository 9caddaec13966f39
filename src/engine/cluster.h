/*
 * For tests: a random cluster with books of its own, so that what the engine decides can be held
 * against plain sums. Nodes offer cpu and memory; jobs have one group of like tasks; queues have
 * weights, some a cap.
 */
#ifndef ENGINE_CLUSTER_H
#define ENGINE_CLUSTER_H

#include "engine/testing.h"

enum { CLUSTER_NODES = 5, CLUSTER_QUEUES = 3, CLUSTER_JOBS = 12, CLUSTER_TASKS = 5 };
enum { CLUSTER_DIMS = 2 };

struct cluster_task {
    enum berth_task_state state; /* pending, running, releasing, succeeded */
    int node;                    /* -1: none */
    uint32_t attempt, evictions;
    int64_t started_at_ms;
};

struct cluster_job {
    char id[24];
    bool is_there;
    int queue, priority;
    uint32_t replicas, least;
    int64_t asks[CLUSTER_DIMS];
    struct cluster_task tasks[CLUSTER_TASKS];
};

struct cluster_node {
    char id[24];
    int64_t offers[CLUSTER_DIMS];
    bool cordoned;
};

struct cluster {
    struct world w;
    uint64_t random;
    struct cluster_node nodes[CLUSTER_NODES];
    struct cluster_job jobs[CLUSTER_JOBS];
    int64_t caps[CLUSTER_QUEUES];  /* of cpu; 0: none */
    int64_t slots[CLUSTER_QUEUES]; /* of pods; 0: none */
    size_t n_nodes, n_jobs;
};

static inline uint64_t cluster_dice(struct cluster *c, uint64_t n)
{
    return test_random(&c->random) % n;
}

static inline struct berth_amounts cluster_amounts(struct cluster *c, const int64_t v[CLUSTER_DIMS])
{
    struct berth_amount *at = ARENA_NEW0_N(&c->w.arena, struct berth_amount, CLUSTER_DIMS);

    at[0] = (struct berth_amount){ "cpu", v[0] };
    at[1] = (struct berth_amount){ "memory", v[1] };
    return (struct berth_amounts){ at, CLUSTER_DIMS };
}

static inline void cluster_tell_node(struct cluster *c, size_t i)
{
    const struct cluster_node *n = &c->nodes[i];
    struct berth_node node = {
        .id = n->id, .seq = i, .state = NODE_READY, .cordoned = n->cordoned
    };

    node.offers = cluster_amounts(c, n->offers);
    world_tell(&c->w, BERTH_NODE, &node);
}

static inline void cluster_tell_task(struct cluster *c, size_t j, uint32_t i)
{
    const struct cluster_task *t = &c->jobs[j].tasks[i];

    world_tell(&c->w, BERTH_TASK,
               &(struct berth_task){ .job = c->jobs[j].id,
                                     .group = "task",
                                     .index = i,
                                     .state = t->state,
                                     .attempt = t->attempt,
                                     .evictions = t->evictions,
                                     .node = t->node < 0 ? NULL : c->nodes[t->node].id,
                                     .started_at_ms = t->started_at_ms });
}

static inline void cluster_tell_job(struct cluster *c, size_t j)
{
    const struct cluster_job *job = &c->jobs[j];
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = job->replicas };

    group.asks = cluster_amounts(c, job->asks);
    world_tell(&c->w, BERTH_JOB,
               &(struct berth_job){ .id = job->id,
                                    .name = job->id,
                                    .seq = 10 + j,
                                    .queue = arena_format(&c->w.arena, "q%d", job->queue),
                                    .priority = job->priority,
                                    .min_available = job->least,
                                    .created_at_ms = 1000 + (int64_t)j,
                                    .groups = &group,
                                    .n_groups = 1 });
}

/* Of as many as there may be, no more is added. */
static inline void cluster_add_job(struct cluster *c)
{
    size_t j = c->n_jobs;
    struct cluster_job *job = &c->jobs[j];

    if (j == CLUSTER_JOBS)
        return;
    c->n_jobs++;
    snprintf(job->id, sizeof(job->id), "j%zu", j);
    job->is_there = true;
    job->queue = (int)cluster_dice(c, CLUSTER_QUEUES);
    job->priority = (int)cluster_dice(c, 4);
    job->replicas = 1 + (uint32_t)cluster_dice(c, CLUSTER_TASKS);
    job->least = 1 + (uint32_t)cluster_dice(c, job->replicas);
    job->asks[0] = 500 * (1 + (int64_t)cluster_dice(c, 4));
    job->asks[1] = 1000 * (1 + (int64_t)cluster_dice(c, 3));
    for (uint32_t i = 0; i < job->replicas; i++)
        job->tasks[i].node = -1;
    cluster_tell_job(c, j);
}

static inline void cluster_init(struct cluster *c, uint64_t seed, const char *profile)
{
    memset(c, 0, sizeof(*c));
    c->random = seed;
    world_init(&c->w);
    /* No room is kept for later: that is no plain sum. */
    world_tell(
        &c->w, BERTH_CONFIG,
        &(struct berth_config){ .profile = profile,
                                .policy = &(struct berth_value){
                                    .kind = BERTH_VALUE_OBJECT,
                                    .members = &(struct berth_value){ .key = "protectAfter",
                                                                      .kind = BERTH_VALUE_TEXT,
                                                                      .text = "never" },
                                    .n_members = 1 } });
    for (uint64_t i = 0; i < CLUSTER_QUEUES; i++) {
        struct berth_queue queue = { .name = arena_format(&c->w.arena, "q%d", (int)i), .seq = i };
        struct berth_amount cap[2] = { { "cpu", 0 }, { "pods", 0 } };
        queue.weight = 1 + (int)cluster_dice(c, 3);
        c->caps[i] = cap[0].value =
            cluster_dice(c, 3) ? 0 : 1000 * (2 + (int64_t)cluster_dice(c, 6));
        c->slots[i] = cap[1].value =
            cluster_dice(c, 3) ? 0 : 1000 * (1 + (int64_t)cluster_dice(c, 5));
        queue.capability = (struct berth_amounts){ cap[0].value ? cap : &cap[1],
                                                   (cap[0].value > 0) + (cap[1].value > 0) };
        world_tell(&c->w, BERTH_QUEUE, &queue);
    }
    c->n_nodes = 1 + cluster_dice(c, CLUSTER_NODES);
    for (size_t i = 0; i < c->n_nodes; i++) {
        struct cluster_node *n = &c->nodes[i];
        snprintf(n->id, sizeof(n->id), "n%zu", i);
        n->offers[0] = 1000 * (1 + (int64_t)cluster_dice(c, 6));
        n->offers[1] = 2000 * (1 + (int64_t)cluster_dice(c, 6));
        cluster_tell_node(c, i);
    }
}

static inline void cluster_fini(struct cluster *c)
{
    world_fini(&c->w);
}

static inline int cluster_node_at(const struct cluster *c, const char *id)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        if (text_eq(c->nodes[i].id, id))
            return (int)i;
    return -1;
}

static inline struct cluster_job *cluster_job_at(struct cluster *c, const char *id)
{
    for (size_t i = 0; i < c->n_jobs; i++)
        if (text_eq(c->jobs[i].id, id))
            return &c->jobs[i];
    return NULL;
}

/* What tasks hold on a node; running and releasing alike. */
static inline int64_t cluster_used(const struct cluster *c, int node, int d)
{
    int64_t sum = 0;

    for (size_t j = 0; j < c->n_jobs; j++)
        for (uint32_t i = 0; i < c->jobs[j].replicas; i++)
            if (c->jobs[j].tasks[i].node == node)
                sum += c->jobs[j].asks[d];
    return sum;
}

static inline uint32_t cluster_running(const struct cluster_job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->replicas; i++)
        n += job->tasks[i].state == BERTH_TASK_RUNNING;
    return n;
}

/* The books after what was decided. */
static inline void cluster_note(struct cluster *c)
{
    for (size_t g = 0; g < c->w.out.n_groups; g++)
        for (size_t k = 0; k < c->w.out.groups[g].n_parts; k++) {
            const struct berth_part *part = &c->w.out.groups[g].parts[k];
            struct cluster_job *job = cluster_job_at(c, part->task.job);
            struct cluster_task *t = &job->tasks[part->task.index];
            if (part->kind == BERTH_PART_BIND)
                *t = (struct cluster_task){ .state = BERTH_TASK_RUNNING,
                                            .node = cluster_node_at(c, part->node),
                                            .attempt = part->task.attempt,
                                            .evictions = t->evictions,
                                            .started_at_ms = c->w.in.now_ms };
            else if (part->kind == BERTH_PART_EVICT)
                t->state = BERTH_TASK_RELEASING;
        }
}

/* A cycle whose decisions stand, in the books and in the engine. */
static inline void cluster_decide(struct cluster *c)
{
    c->w.in.revision++;
    world_cycle(&c->w);
}

static inline void cluster_accept(struct cluster *c)
{
    cluster_note(c);
    world_accept(&c->w, BERTH_TASK_RUNNING);
}

/* What was evicted is gone: its tasks are pending again. */
static inline void cluster_end_releasing(struct cluster *c)
{
    for (size_t j = 0; j < c->n_jobs; j++)
        for (uint32_t i = 0; i < c->jobs[j].replicas; i++) {
            struct cluster_task *t = &c->jobs[j].tasks[i];
            if (t->state != BERTH_TASK_RELEASING)
                continue;
            *t = (struct cluster_task){ .node = -1,
                                        .attempt = t->attempt,
                                        .evictions = t->evictions + 1 };
            cluster_tell_task(c, j, i);
        }
}

/* Now and then something changes that no cycle decided. */
static inline void cluster_stir(struct cluster *c)
{
    size_t i = cluster_dice(c, c->n_nodes), j = c->n_jobs ? cluster_dice(c, c->n_jobs) : 0;

    switch (cluster_dice(c, 6)) {
    case 0:
        c->nodes[i].cordoned = !c->nodes[i].cordoned;
        cluster_tell_node(c, i);
        break;
    case 1: /* a node shrinks or grows */
        c->nodes[i].offers[0] = 1000 * (1 + (int64_t)cluster_dice(c, 6));
        cluster_tell_node(c, i);
        break;
    case 2: /* a task ends well */
        for (uint32_t k = 0; c->n_jobs && k < c->jobs[j].replicas; k++) {
            struct cluster_task *t = &c->jobs[j].tasks[k];
            if (t->state != BERTH_TASK_RUNNING)
                continue;
            t->state = BERTH_TASK_SUCCEEDED;
            t->node = -1;
            cluster_tell_task(c, j, k);
            break;
        }
        break;
    default:
        if (c->n_jobs < CLUSTER_JOBS)
            cluster_add_job(c);
        break;
    }
}

#endif

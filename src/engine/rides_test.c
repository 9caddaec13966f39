/*
 * Rides: histories of profile `berth` with pools to order from, in which machines come, come smaller or never,
 * and jobs of all sorts arrive and end. After each cycle it holds that
 *
 * - nobody waits, or rides on a machine on its way, who would fit into what is free;
 * - no machine is ordered for a task that has room on one that is on its way;
 * - what a ledger would refuse is not decided;
 * - nothing kept changes it: a cold cycle decides the same;
 * - in one queue without gangs, while nobody is being stopped, who begins and who is evicted hangs on no
 *   machine that is on its way, up to an eviction that leaves something over;
 * - without arrivals it comes to rest, though time passes and no machine comes.
 *
 * BERTH_PROOF_ROUNDS says how many histories are drawn.
 */
#include <stdlib.h>

#include "engine/testing.h"

enum { QUEUES = 3, JOBS = 24, TASKS = 4, NODES = 400, FIRST_NODES = 24, STEPS = 14, REST = 60 };
enum { HELD_NOWHERE = -1 };

static uint64_t n_moved, n_orders, n_evictions, n_failed;

struct machine_row {
    const char *id, *pool;
    int64_t cpu;
    enum node_state state;
};

struct task_row {
    enum berth_task_state state; /* pending, running or releasing */
    int node, held;              /* where it runs; where room is held for it */
    int promised;                /* where the cycle promised it what is being freed */
    uint32_t attempt;
};

struct job_row {
    const char *id;
    uint32_t n, least;
    int64_t cpu, held_at_ms;
    uint64_t seq;
    bool is_over, was_taken;
    struct task_row tasks[TASKS];
};

struct story {
    struct world w;
    uint64_t random;
    struct str text; /* what was drawn and decided, to be printed */
    uint64_t n_queues, n_first;
    struct job_row jobs[JOBS];
    struct machine_row nodes[NODES];
    int n_jobs, n_nodes, n_before; /* nodes: before the cycle */
    int64_t backoff_until_ms;
    bool has_gangs;
    bool took, moved, promises; /* in the cycle, which others do not see the rest of */
};

static uint64_t rounds(uint64_t few)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? strtoull(given, NULL, 10) : few;
}

static uint64_t draw(struct story *t, uint64_t n)
{
    return test_random(&t->random) % n;
}

static void wrong(struct story *t, const char *what)
{
    fputs(str_text(&t->text), stderr); /* print_error cuts what is long */
    CHECK_TEXT(what, "");
}

/* --- Telling the engine */

static void tell_node(struct story *t, int i)
{
    const struct machine_row *node = &t->nodes[i];

    world_tell(
        &t->w, BERTH_NODE,
        &(struct berth_node){ .id = node->id,
                              .seq = (uint64_t)i + 1,
                              .state = node->state,
                              .pool = node->pool,
                              .offers = world_amounts(&t->w, node->cpu, (int64_t)64 << 30) });
}

static int add_node(struct story *t, const char *id, int64_t cpu, enum node_state state)
{
    CHECK(t->n_nodes < NODES);
    t->nodes[t->n_nodes] = (struct machine_row){ arena_text(&t->w.arena, id),
                                                 state == NODE_COMING ? "p" : NULL, cpu, state };
    tell_node(t, t->n_nodes);
    return t->n_nodes++;
}

static void tell_pool(struct story *t)
{
    world_tell(&t->w, BERTH_POOL,
               &(struct berth_pool){ .name = "p",
                                     .provisions = true,
                                     .has_machine = true,
                                     .machine = world_amounts(&t->w, 4, (int64_t)8 << 30),
                                     .max_machines = 3,
                                     .backoff_until_ms = t->backoff_until_ms });
}

static void tell_task(struct story *t, const struct job_row *job, uint32_t i)
{
    const struct task_row *task = &job->tasks[i];

    world_tell(&t->w, BERTH_TASK,
               &(struct berth_task){
                   .job = job->id,
                   .group = "task",
                   .index = i,
                   .attempt = task->attempt,
                   .node = task->state == BERTH_TASK_PENDING ? NULL : t->nodes[task->node].id,
                   .started_at_ms = t->w.in.now_ms,
                   .comes_back = task->state == BERTH_TASK_RELEASING,
                   .state = task->state });
}

/* A job has one reservation, of all that is held for it. */
static void tell_reservation(struct story *t, const struct job_row *job)
{
    struct berth_reservation_part *parts =
        ARENA_NEW0_N(&t->w.arena, struct berth_reservation_part, TASKS);
    struct berth_reservation r = { .id = arena_format(&t->w.arena, "r-%s", job->id),
                                   .seq = job->seq,
                                   .owner = job->id,
                                   .purpose = BERTH_FOR_EVICTION,
                                   .made_at_ms = job->held_at_ms,
                                   .parts = parts };

    for (uint32_t i = 0; i < job->n; i++) {
        const struct task_row *task = &job->tasks[i];
        if (task->held == HELD_NOWHERE)
            continue;
        if (t->nodes[task->held].state == NODE_COMING)
            r.purpose = BERTH_FOR_MACHINE;
        parts[r.n_parts++] = (struct berth_reservation_part){
            .task = { .job = job->id, .group = "task", .index = i, .attempt = task->attempt + 1 },
            .node = t->nodes[task->held].id
        };
    }
    if (r.n_parts)
        world_tell(&t->w, BERTH_RESERVATION, &r);
    else
        world_end(&t->w, BERTH_RESERVATION, &r);
}

/* --- What is drawn */

static void draw_job(struct story *t)
{
    struct job_row *job = &t->jobs[t->n_jobs];
    struct berth_task_group group = { .name = "task", .role = "task" };
    struct berth_job spec = { .seq = 100 + (uint64_t)t->n_jobs };

    if (t->n_jobs == JOBS)
        return;
    *job = (struct job_row){ .id = arena_format(&t->w.arena, "j%d", t->n_jobs++) };
    job->n = 1 + (uint32_t)draw(t, TASKS);
    job->least = t->has_gangs ? 1 + (uint32_t)draw(t, job->n) : 1;
    job->cpu = 1 + (int64_t)draw(t, 4);
    for (uint32_t i = 0; i < TASKS; i++)
        job->tasks[i] = (struct task_row){ .state = BERTH_TASK_PENDING,
                                           .held = HELD_NOWHERE,
                                           .promised = HELD_NOWHERE };
    group.replicas = job->n;
    group.asks = world_amounts(&t->w, job->cpu, 1 << 20);
    spec.id = spec.name = job->id;
    spec.queue = arena_format(&t->w.arena, "q%" PRIu64, draw(t, t->n_queues));
    spec.priority = (int)draw(t, 3);
    spec.preemptable = draw(t, 4) ? BERTH_YES : BERTH_NO;
    spec.min_available = job->least;
    spec.groups = &group;
    spec.n_groups = 1;
    world_tell(&t->w, BERTH_JOB, &spec);
    str_addf(&t->text, "%s in %s: priority %d%s, %u of %d cpu, least %u\n", job->id, spec.queue,
             (int)spec.priority, spec.preemptable == BERTH_NO ? " not preemptable" : "", job->n,
             (int)job->cpu, job->least);
}

/* One that is on its way, or -1. */
static int any_coming(struct story *t)
{
    int n = 0, found = -1;

    for (int i = 0; i < t->n_nodes; i++)
        if (t->nodes[i].state == NODE_COMING && !draw(t, (uint64_t)++n))
            found = i;
    return found;
}

static void drop_held(struct story *t, int node)
{
    for (int i = 0; i < t->n_jobs; i++) {
        struct job_row *job = &t->jobs[i];
        bool had = false;
        for (uint32_t k = 0; k < job->n; k++) {
            if (job->tasks[k].held != node)
                continue;
            job->tasks[k].held = HELD_NOWHERE;
            had = true;
        }
        if (had)
            tell_reservation(t, job);
    }
}

/* It comes, with more or less than was ordered, or it never will. */
static void end_order(struct story *t, bool comes)
{
    int i = any_coming(t);
    struct machine_row *node;
    int64_t held = 0;

    if (i < 0)
        return;
    node = &t->nodes[i];
    node->state = comes ? NODE_READY : NODE_GONE;
    for (int j = 0; j < t->n_jobs; j++)
        for (uint32_t k = 0; k < t->jobs[j].n; k++)
            held += t->jobs[j].tasks[k].held == i ? t->jobs[j].cpu : 0;
    if (comes && !draw(t, 3))
        node->cpu = 1 + (int64_t)draw(t, 5);
    str_addf(&t->text, "%s %s, %d cpu\n", node->id, comes ? "comes" : "is not to be had",
             (int)node->cpu);
    if (!comes || held > node->cpu)
        drop_held(t, i);
    world_end(&t->w, BERTH_ORDER, &(struct berth_order){ .key = node->id });
    tell_node(t, i);
    if (comes)
        return;
    n_failed++;
    t->backoff_until_ms = t->w.in.now_ms + 5000;
    tell_pool(t);
}

static void end_job(struct story *t)
{
    struct job_row *job = &t->jobs[t->n_jobs ? (int)draw(t, (uint64_t)t->n_jobs) : 0];

    if (!t->n_jobs || job->is_over)
        return;
    job->is_over = true;
    for (uint32_t i = 0; i < job->n; i++)
        job->tasks[i].held = HELD_NOWHERE;
    str_addf(&t->text, "%s is over\n", job->id);
    tell_reservation(t, job);
    world_end(&t->w, BERTH_JOB, &(struct berth_job){ .id = job->id });
}

static void end_releasing(struct story *t)
{
    for (int i = 0; i < t->n_jobs; i++)
        for (uint32_t k = 0; k < t->jobs[i].n && !t->jobs[i].is_over; k++)
            if (t->jobs[i].tasks[k].state == BERTH_TASK_RELEASING) {
                t->jobs[i].tasks[k].state = BERTH_TASK_PENDING;
                tell_task(t, &t->jobs[i], k);
            }
}

static void draw_event(struct story *t)
{
    switch (draw(t, 8)) {
    case 0:
        end_order(t, true);
        break;
    case 1:
        end_order(t, false);
        break;
    case 2:
    case 3:
        end_job(t);
        break;
    case 4:
        end_releasing(t);
        break;
    case 5:
        t->w.in.now_ms += draw(t, 2) ? 6000 : 200000; /* which ends back-offs, and held room */
        break;
    default:
        draw_job(t);
    }
}

static void begin(struct story *t)
{
    world_init(&t->w);
    t->has_gangs = draw(t, 3);
    t->n_queues = 1 + draw(t, 2) * (1 + draw(t, QUEUES - 1));
    for (uint64_t i = 0; i < t->n_queues; i++)
        world_queue(&t->w, arena_format(&t->w.arena, "q%" PRIu64, i));
    t->n_first = draw(t, 4) ? 1 + draw(t, 3) : FIRST_NODES; /* many: hunts are kept */
    for (uint64_t i = 0; i < t->n_first; i++) {
        int64_t cpu = t->n_first == FIRST_NODES ? 1 : 2 + (int64_t)draw(t, 5);
        add_node(t, arena_format(&t->w.arena, "n%02" PRIu64, i), cpu, NODE_READY);
        str_addf(&t->text, "n%02" PRIu64 ": %d cpu\n", i, (int)cpu);
    }
    tell_pool(t);
    for (int i = 0; i < 4; i++)
        draw_job(t);
}

/* --- What a server does with the answer */

static struct job_row *job_named(struct story *t, const char *id)
{
    for (int i = 0; i < t->n_jobs; i++)
        if (text_eq(t->jobs[i].id, id))
            return &t->jobs[i];
    return NULL;
}

static int node_named(const struct story *t, const char *id)
{
    for (int i = 0; i < t->n_nodes; i++)
        if (text_eq(t->nodes[i].id, id))
            return i;
    return -1;
}

/* What nobody has of a node, and nobody is held or promised. */
static int64_t free_on(const struct story *t, int node)
{
    int64_t idle = t->nodes[node].cpu, future = idle;

    for (int i = 0; i < t->n_jobs; i++)
        for (uint32_t k = 0; k < t->jobs[i].n && !t->jobs[i].is_over; k++) {
            const struct task_row *task = &t->jobs[i].tasks[k];
            bool is_there = task->state != BERTH_TASK_PENDING && task->node == node;
            if (is_there)
                idle -= t->jobs[i].cpu;
            if ((is_there && task->state == BERTH_TASK_RUNNING) || task->held == node ||
                task->promised == node)
                future -= t->jobs[i].cpu;
        }
    return idle < future ? idle : future;
}

static void take_rooms(struct story *t, const struct berth_group *group)
{
    for (size_t i = 0; i < group->n_takes; i++) {
        struct job_row *job = job_named(t, group->takes[i].owner);
        job->was_taken = t->took = true;
        for (uint32_t k = 0; k < job->n; k++)
            job->tasks[k].held = HELD_NOWHERE;
        tell_reservation(t, job);
    }
}

static void accept_part(struct story *t, const struct berth_part *part)
{
    struct job_row *job = job_named(t, part->task.job);
    struct task_row *task = &job->tasks[part->task.index];
    int node = node_named(t, part->node);

    if (part->kind == BERTH_PART_RESERVE) {
        task->held = node;
        job->held_at_ms = t->w.in.now_ms;
        return;
    }
    if (part->kind == BERTH_PART_EVICT) {
        task->state = BERTH_TASK_RELEASING;
        t->took = true; /* what that leaves over is for the next cycle */
        n_evictions++;
    } else {
        if (t->nodes[node].state != NODE_READY)
            wrong(t, "a task is bound to a node that is not there");
        task->state = BERTH_TASK_RUNNING;
        task->node = node;
        task->held = HELD_NOWHERE;
        if (free_on(t, node) < 0)
            wrong(t, "a task is bound where there is no room");
    }
    task->attempt = part->task.attempt;
    tell_task(t, job, part->task.index);
}

static void accept_order(struct story *t, const struct berth_group *group)
{
    int64_t cpu = group->shape.n ? group->shape.at[0].value / 1000 : 0;

    add_node(t, group->name, cpu, NODE_COMING);
    world_tell(&t->w, BERTH_ORDER,
               &(struct berth_order){ .key = t->nodes[t->n_nodes - 1].id,
                                      .seq = (uint64_t)t->n_nodes,
                                      .pool = "p",
                                      .shape = group->shape,
                                      .state = BERTH_ORDER_PLACED,
                                      .made_at_ms = t->w.in.now_ms });
    n_orders++;
}

static void accept_group(struct story *t, const struct berth_group *group)
{
    struct job_row *job = group->job ? job_named(t, group->job) : NULL;

    take_rooms(t, group);
    if (group->kind == BERTH_GROUP_RELEASE && text_begins(group->name, "r-")) {
        job = job_named(t, group->name + 2);
        for (uint32_t i = 0; i < job->n; i++)
            job->tasks[i].held = HELD_NOWHERE;
    }
    if (group->kind == BERTH_GROUP_ORDER)
        accept_order(t, group);
    for (size_t i = 0; i < group->n_parts; i++)
        if (group->parts[i].kind == BERTH_PART_BIND) { /* it holds no room for itself any more */
            int *held = &job->tasks[group->parts[i].task.index].held;
            if (*held != HELD_NOWHERE && *held != node_named(t, group->parts[i].node)) {
                t->moved = true; /* whose turn came before has what that leaves in the next cycle */
                n_moved++;
            }
            *held = HELD_NOWHERE;
        }
    for (int evicts = 1; evicts >= 0; evicts--)
        for (size_t i = 0; i < group->n_parts; i++)
            if ((group->parts[i].kind == BERTH_PART_EVICT) == evicts)
                accept_part(t, &group->parts[i]);
    if (job)
        tell_reservation(t, job);
}

/* --- What must hold */

/* Whether more comes free than those who go go for. */
static bool leaves_over(struct story *t, const struct berth_group *group)
{
    int64_t sum = 0;

    for (size_t i = 0; i < group->n_parts; i++) {
        int64_t cpu = job_named(t, group->parts[i].task.job)->cpu;
        sum += group->parts[i].kind == BERTH_PART_EVICT ? cpu : -cpu;
    }
    return sum > 0;
}

/* Who is bound and who is evicted, until an eviction leaves something over: that is promised to the first who
 * waits, but not to who rides, since a promise is no better than a ride. */
static const char *begun(struct story *t)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct world *w = &t->w;
    bool is_over = false;

    for (size_t i = 0; i < w->out.n_groups && !is_over; i++) {
        const struct berth_group *group = &w->out.groups[i];
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            if (part->kind != BERTH_PART_RESERVE)
                str_addf(&text, " %s %s.%" PRIu32 ">%s",
                         part->kind == BERTH_PART_EVICT ? "evict" : "bind", part->task.job,
                         part->task.index, part->node);
        }
        is_over = leaves_over(t, group);
    }
    return arena_text(&w->arena, str_text(&text));
}

/* What was decided, by which action, and what it takes. */
static const char *decided(struct world *w)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < w->out.n_groups; i++) {
        const struct berth_group *group = &w->out.groups[i];
        if (group->kind == BERTH_GROUP_ADMIT || group->kind == BERTH_GROUP_MEMO)
            continue;
        str_addf(&text, "; %s %s", group->action, berth_group_kind_words[group->kind]);
        for (size_t k = 0; k < group->n_parts; k++)
            str_addf(&text, " %s.%" PRIu32 ">%s", group->parts[k].task.job,
                     group->parts[k].task.index, group->parts[k].node);
        for (size_t k = 0; k < group->n_takes; k++)
            str_addf(&text, " takes %s", group->takes[k].reservation);
    }
    return arena_text(&w->arena, str_text(&text));
}

static void decide_without_machines(struct story *t, const char *with)
{
    struct berth_delta *deltas = ARENA_NEW0_N(&t->w.arena, struct berth_delta, t->n_nodes + 1);
    struct err err = { 0 };
    const char *without, *all;
    size_t n = 0;

    for (int i = 0; i < t->n_nodes; i++)
        if (t->nodes[i].state == NODE_COMING) {
            struct berth_node *node = ARENA_NEW0(&t->w.arena, struct berth_node);
            node->id = t->nodes[i].id;
            deltas[n++] = (struct berth_delta){ .kind = BERTH_NODE, .end = true, .node = node };
        }
    CHECK_OK(berth_engine_suppose(t->w.engine, deltas, n, &err), &err);
    world_cycle(&t->w);
    without = begun(t);
    all = decided(&t->w);
    berth_engine_forget(t->w.engine);
    if (!text_eq(with, without)) {
        str_addf(&t->text, "with machines on their way:%s\nwithout:%s%s\n", with, without, all);
        wrong(t, "what begins hangs on a machine that is on its way");
    }
}

static bool is_any_releasing(const struct story *t)
{
    for (int i = 0; i < t->n_jobs; i++)
        for (uint32_t k = 0; k < t->jobs[i].n && !t->jobs[i].is_over; k++)
            if (t->jobs[i].tasks[k].state == BERTH_TASK_RELEASING)
                return true;
    return false;
}

/* The cycle that is heeded comes last. */
static void decide(struct story *t)
{
    const char *cold, *with;

    t->w.in.revision++;
    world_cycle(&t->w);
    with = begun(t);
    if (t->n_queues == 1 && !t->has_gangs && !is_any_releasing(t))
        decide_without_machines(t, with);
    t->w.in.is_cold = true;
    world_cycle(&t->w);
    cold = decided(&t->w);
    t->w.in.is_cold = false;
    world_cycle(&t->w);
    str_addf(&t->text, "%d: %s\n", (int)(t->w.in.now_ms / 1000), decided(&t->w));
    if (!text_eq(cold, decided(&t->w))) {
        str_addf(&t->text, "cold: %s\n", cold);
        wrong(t, "a cold cycle decides something else");
    }
}

static bool could_begin(const struct story *t, const struct job_row *job)
{
    int64_t n_fit = 0;
    uint32_t n_there = 0, n_wait = 0, needed;

    for (uint32_t i = 0; i < job->n; i++) {
        n_there += job->tasks[i].state == BERTH_TASK_RUNNING;
        n_wait += job->tasks[i].state == BERTH_TASK_PENDING &&
                  job->tasks[i].promised == HELD_NOWHERE &&
                  (job->tasks[i].held == HELD_NOWHERE ||
                   t->nodes[job->tasks[i].held].state == NODE_COMING);
    }
    for (int i = 0; i < t->n_nodes; i++)
        if (t->nodes[i].state == NODE_READY)
            n_fit += free_on(t, i) / job->cpu;
    needed = n_there < job->least ? job->least - n_there : 1;
    return n_wait >= needed && n_fit >= needed;
}

/* Of room that is being freed; it is said anew in each cycle. */
static void note_promises(struct story *t)
{
    for (size_t i = 0; i < t->w.out.n_promised; i++) {
        const struct berth_part *part = &t->w.out.promised[i];
        struct task_row *task = &job_named(t, part->task.job)->tasks[part->task.index];
        if (task->held != HELD_NOWHERE)
            continue;
        task->promised = node_named(t, part->node);
        t->promises = true;
    }
}

/* A gang of which a part is held may have been given room for the rest, which is not said either. */
static bool is_held_in_part(const struct job_row *job)
{
    uint32_t n_there = 0, n_held = 0;

    for (uint32_t i = 0; i < job->n; i++) {
        n_there += job->tasks[i].state == BERTH_TASK_RUNNING;
        n_held += job->tasks[i].held != HELD_NOWHERE;
    }
    return n_held && n_there < job->least && n_there + n_held < job->least;
}

static void hold_use_of_room(struct story *t)
{
    note_promises(t);
    for (int i = 0; i < t->n_jobs; i++)
        t->promises = t->promises || (!t->jobs[i].is_over && is_held_in_part(&t->jobs[i]));
    for (int i = 0; i < t->n_jobs && !t->took && !t->moved && !t->promises; i++)
        if (!t->jobs[i].is_over && could_begin(t, &t->jobs[i])) {
            str_addf(&t->text, "%s: %s\n", t->jobs[i].id, world_waits(&t->w, t->jobs[i].id));
            wrong(t, "room is free that somebody waits for");
        }
}

static void hold_use_of_orders(struct story *t)
{
    for (int i = t->n_before; i < t->n_nodes; i++) {
        int64_t most = 0; /* for whom it was ordered; others ride along */
        for (int j = 0; j < t->n_jobs; j++)
            for (uint32_t k = 0; k < t->jobs[j].n; k++)
                if (t->jobs[j].tasks[k].held == i && t->jobs[j].cpu > most)
                    most = t->jobs[j].cpu;
        if (!most)
            wrong(t, "a machine is ordered for nobody");
        for (int k = 0; k < t->n_before; k++)
            if (t->nodes[k].state == NODE_COMING && free_on(t, k) >= most)
                wrong(t, "a machine is ordered though one on its way has room");
    }
}

static void step(struct story *t)
{
    t->n_before = t->n_nodes;
    t->took = t->moved = t->promises = false;
    for (int i = 0; i < t->n_jobs; i++)
        for (uint32_t k = 0; k < t->jobs[i].n; k++)
            t->jobs[i].tasks[k].promised = HELD_NOWHERE;
    decide(t);
    for (size_t i = 0; i < t->w.out.n_groups; i++)
        accept_group(t, &t->w.out.groups[i]);
    for (int i = 0; i < t->n_nodes; i++)
        if (t->nodes[i].state == NODE_COMING && free_on(t, i) < 0)
            wrong(t, "more is held on a machine than it will have");
    hold_use_of_room(t);
    hold_use_of_orders(t);
}

static void come_to_rest(struct story *t)
{
    for (int i = 0; i < REST; i++) {
        step(t);
        end_releasing(t);
        t->w.in.now_ms += 1000;
        if (!world_groups(&t->w)[0] && i > 10)
            return;
    }
    wrong(t, "it comes to no rest");
}

TEST(rides_histories_with_machines_to_order)
{
    uint64_t random = test_seed(), n = rounds(300);

    for (uint64_t i = 0; i < n; i++) {
        struct story *t = NEW0(struct story);
        t->random = test_random(&random);
        begin(t);
        for (int k = 0; k < STEPS; k++) {
            step(t);
            draw_event(t);
            draw_event(t);
        }
        come_to_rest(t);
        str_fini(&t->text);
        world_fini(&t->w);
        free(t);
    }
    /* They are worth something. */
    CHECK(n < 100 || (n_moved > n / 20 && n_orders > n && n_evictions > n / 2 && n_failed > n / 4));
}

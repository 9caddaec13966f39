/*
 * Running: see run.h. Everything that a decision changes is told to the engine as a ledger
 * would, and kept at the document's tasks for the comparison.
 */
#include "scenario/run.h"

#include <errno.h>
#include <string.h>

static int apply(struct run *run, enum berth_kind kind, const void *object, bool end,
                 struct err *err)
{
    struct berth_delta delta = { .kind = kind, .end = end, .any = object };

    return berth_engine_apply(run->engine, &delta, 1, err);
}

int run_begin(struct run *run, struct scenario *s, struct err *err)
{
    *run = (struct run){
        .s = s,
        .in = { .revision = 1, .now_ms = s->times.now_ms, .seed = s->times.seed },
    };
    run->engine = berth_engine_new(err);
    if (!run->engine)
        return err->code;
    for (size_t i = 0; i < s->config.n_plugins; i++)
        if (berth_engine_add_plugin(run->engine, &s->config.plugins[i], err) < 0)
            return err->code;
    return berth_engine_apply(run->engine, s->deltas.at, s->deltas.n, err);
}

void run_end(struct run *run)
{
    berth_decisions_free(&run->last);
    berth_engine_free(run->engine);
    VEC_FINI(&run->orders);
}

/* Copies that live as long as the scenario. */
static const char *keep_text(struct run *run, const char *text)
{
    return text ? arena_text(&run->s->arena, text) : NULL;
}

static struct berth_amounts keep_amounts(struct run *run, const struct berth_amounts *amounts)
{
    struct berth_amount *at = ARENA_NEW0_N(&run->s->arena, struct berth_amount, amounts->n + 1);

    for (size_t i = 0; i < amounts->n; i++)
        at[i] = (struct berth_amount){ keep_text(run, amounts->at[i].name), amounts->at[i].value };
    return (struct berth_amounts){ at, amounts->n };
}

static const struct berth_share *keep_shares(struct run *run, const struct berth_part *part)
{
    struct berth_share *shares =
        ARENA_NEW0_N(&run->s->arena, struct berth_share, part->n_shares + 1);

    for (size_t i = 0; i < part->n_shares; i++) {
        shares[i] = part->shares[i];
        shares[i].class_name = keep_text(run, shares[i].class_name);
        shares[i].uuid = keep_text(run, shares[i].uuid);
    }
    return shares;
}

static int find_part(struct run *run, const struct berth_part *part, struct known_task **out,
                     struct err *err)
{
    *out = known_task_find(run->s, part->task.job, part->task.group);
    if (*out)
        return 0;
    return err_set(err, -EINVAL, "the engine speaks of task %s of %s, which is not there",
                   part->task.group, part->task.job);
}

static struct berth_reservation *find_reservation(struct run *run, const char *id)
{
    VEC_EACH (each, &run->s->reservations)
        if (text_eq((*each)->id, id))
            return *each;
    return NULL;
}

static int end_reservation(struct run *run, const char *id, struct err *err)
{
    struct berth_reservation *reservation = find_reservation(run, id);

    if (!reservation)
        return err_set(err, -EINVAL, "the engine speaks of reservation %s, which is not there", id);
    for (size_t i = 0; i < run->s->reservations.n; i++)
        if (run->s->reservations.at[i] == reservation)
            VEC_SWAP_OUT(&run->s->reservations, i);
    return apply(run, BERTH_RESERVATION, reservation, true, err);
}

/* One part of a reservation is used: it ends with its last one. */
static int use_reservation(struct run *run, const char *id, const struct known_task *task,
                           struct err *err)
{
    struct berth_reservation *reservation = find_reservation(run, id);
    struct berth_reservation_part *left;
    size_t n = 0;

    if (!reservation || reservation->n_parts <= 1)
        return end_reservation(run, id, err);
    left = ARENA_NEW0_N(&run->s->arena, struct berth_reservation_part, reservation->n_parts);
    for (size_t i = 0; i < reservation->n_parts; i++)
        if (!text_eq(reservation->parts[i].task.job, task->ref.job) ||
            !text_eq(reservation->parts[i].task.group, task->ref.group))
            left[n++] = reservation->parts[i];
    reservation->parts = left;
    reservation->n_parts = n;
    return n ? apply(run, BERTH_RESERVATION, reservation, false, err)
             : end_reservation(run, id, err);
}

static bool is_for(const struct berth_reservation *reservation, const struct berth_task_ref *task)
{
    for (size_t i = 0; i < reservation->n_parts; i++)
        if (text_eq(reservation->parts[i].task.job, task->job) &&
            text_eq(reservation->parts[i].task.group, task->group))
            return true;
    return false;
}

/* Who is bound, or held room elsewhere, needs none any more that was held for it before. */
static int drop_reservations(struct run *run, const struct known_task *task, struct err *err)
{
    for (size_t i = run->s->reservations.n; i-- > 0;) {
        struct berth_reservation *reservation = run->s->reservations.at[i];
        int r =
            is_for(reservation, &task->ref) ? use_reservation(run, reservation->id, task, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int bind_part(struct run *run, const struct berth_part *part, struct err *err)
{
    struct known_task *task = NULL;
    int r = find_part(run, part, &task, err);

    if (r < 0)
        return r;
    if (task->state.state != BERTH_TASK_PENDING && task->state.state != BERTH_TASK_PIPELINED)
        return err_set(err, -EINVAL, "task %s is bound and was not pending", task->key);
    task->bound = keep_text(run, part->node);
    task->state.state = BERTH_TASK_BINDING;
    task->state.node = task->bound;
    task->state.attempt = part->task.attempt ? part->task.attempt : task->state.attempt + 1;
    task->state.holds = keep_amounts(run, &part->holds);
    task->state.shares = keep_shares(run, part);
    task->state.n_shares = part->n_shares;
    task->state.cores.at =
        arena_copy(&run->s->arena, part->cores.at ? part->cores.at : (const uint32_t[]){ 0 },
                   (part->cores.n ? part->cores.n : 1) * sizeof(uint32_t));
    task->state.cores.n = part->cores.n;
    task->is_placed = true;
    run->n_bound++;
    r = apply(run, BERTH_TASK, &task->state, false, err);
    if (r == 0 && part->reservation)
        r = use_reservation(run, part->reservation, task, err);
    return r < 0 ? r : drop_reservations(run, task, err);
}

static int evict_part(struct run *run, const struct berth_part *part, struct err *err)
{
    struct known_task *task = NULL;
    int r = find_part(run, part, &task, err);

    if (r < 0)
        return r;
    if (!task->state.node)
        return err_set(err, -EINVAL, "task %s is evicted and holds nothing", task->key);
    task->is_evicted = true;
    task->state.state = BERTH_TASK_RELEASING;
    run->n_evicted++;
    return apply(run, BERTH_TASK, &task->state, false, err);
}

static bool is_coming(const struct run *run, const char *node)
{
    const struct known_node *known = map_get(&run->s->node_by_name, node);

    return !known || known->node.state == NODE_COMING;
}

static const struct berth_task_ref *keep_waits(struct run *run, const struct berth_part *part)
{
    struct berth_task_ref *waits =
        ARENA_NEW0_N(&run->s->arena, struct berth_task_ref, part->n_waits + 1);

    for (size_t i = 0; i < part->n_waits; i++) {
        waits[i] = part->waits[i];
        waits[i].job = keep_text(run, waits[i].job);
        waits[i].group = keep_text(run, waits[i].group);
    }
    return waits;
}

/* A reservation takes the place of its owner's, and what is left of that one it holds on. */
static int follow(struct run *run, struct berth_reservation *made, struct err *err)
{
    const struct berth_reservation *was = find_reservation(run, made->id);
    struct berth_reservation_part *parts;

    if (!was)
        return 0;
    parts = ARENA_NEW0_N(&run->s->arena, struct berth_reservation_part,
                         made->n_parts + was->n_parts + 1);
    memcpy(parts, made->parts, made->n_parts * sizeof(*parts));
    made->parts = parts;
    for (size_t i = 0; i < was->n_parts; i++)
        parts[made->n_parts++] = was->parts[i];
    return end_reservation(run, made->id, err);
}

/* The parts of a group that are reserved become one reservation. */
static int reserve_parts(struct run *run, const struct berth_group *group, struct err *err)
{
    struct arena *arena = &run->s->arena;
    struct berth_reservation *made = ARENA_NEW0(arena, struct berth_reservation);
    struct berth_reservation_part *parts =
        ARENA_NEW0_N(arena, struct berth_reservation_part, group->n_parts + 1);

    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];
        struct known_task *task = NULL;
        int r;
        if (part->kind != BERTH_PART_RESERVE)
            continue;
        r = find_part(run, part, &task, err);
        if (r == 0)
            r = drop_reservations(run, task, err);
        if (r < 0)
            return r;
        made->owner = task->ref.job;
        made->purpose = is_coming(run, part->node) ? BERTH_FOR_MACHINE : BERTH_FOR_EVICTION;
        parts[made->n_parts++] = (struct berth_reservation_part){
            .task = task->ref,
            .node = keep_text(run, part->node),
            .holds = keep_amounts(run, &part->holds),
            .shares = keep_shares(run, part),
            .n_shares = part->n_shares,
            .waits = keep_waits(run, part),
            .n_waits = part->n_waits,
        };
    }
    if (!made->n_parts)
        return 0;
    made->id = group->name ? keep_text(run, group->name)
                           : arena_format(arena, "made-%zu", run->s->reservations.n);
    made->seq = run->in.revision << 20 | run->s->reservations.n;
    made->made_at_ms = run->in.now_ms;
    made->until_ms = group->until_ms;
    made->parts = parts;
    if (follow(run, made, err) < 0)
        return err->code;
    VEC_PUSH(&run->s->reservations, made);
    return apply(run, BERTH_RESERVATION, made, false, err);
}

/* An order is a machine on its way: its row is there from now on. */
static int order_machine(struct run *run, const struct berth_group *group, struct err *err)
{
    struct arena *arena = &run->s->arena;
    struct berth_order *order = ARENA_NEW0(arena, struct berth_order);
    const struct berth_pool *pool =
        group->pool ? map_get(&run->s->pool_by_name, group->pool) : NULL;
    struct known_node *known = ARENA_NEW0(arena, struct known_node);
    int r;

    if (!pool)
        return err_set(err, -EINVAL, "the engine orders from a pool that is not there");
    *order = (struct berth_order){ .key = keep_text(run, group->name),
                                   .seq = run->orders.n + 1,
                                   .pool = pool->name,
                                   .shape = keep_amounts(run, &group->shape),
                                   .state = BERTH_ORDER_PLACED,
                                   .made_at_ms = run->in.now_ms };
    known->node = (struct berth_node){ .id = order->key,
                                       .seq = run->s->nodes.n + 1000000,
                                       .state = NODE_COMING,
                                       .pool = pool->name,
                                       .offers = order->shape,
                                       .gpu_model = pool->gpu_model,
                                       .runtime = pool->runtime,
                                       .heard_at_ms = run->in.now_ms,
                                       .order = order->key };
    *VEC_ADD(&run->orders) = (struct ordered){ pool->name, order->shape };
    r = apply(run, BERTH_ORDER, order, false, err);
    return r < 0 ? r : apply(run, BERTH_NODE, &known->node, false, err);
}

static int set_phase(struct run *run, const struct berth_group *group, enum berth_phase phase,
                     struct err *err)
{
    struct known_job *known = map_get(&run->s->job_by_id, group->job);

    if (!known)
        return err_set(err, -EINVAL, "the engine speaks of job %s, which is not there", group->job);
    known->job.phase = phase;
    known->job.admitted_at_ms = phase == BERTH_PHASE_INQUEUE ? run->in.now_ms : 0;
    return apply(run, BERTH_JOB, &known->job, false, err);
}

static int fail_task(struct run *run, const struct berth_group *group, struct known_task *task,
                     struct err *err)
{
    task->failed = group->code;
    task->failed_resource = keep_text(run, group->resource);
    task->state.state = BERTH_TASK_FAILED;
    task->is_placed = true;
    return apply(run, BERTH_TASK, &task->state, false, err);
}

static int fail_group(struct run *run, const struct berth_group *group, struct err *err)
{
    struct known_job *known = group->job ? map_get(&run->s->job_by_id, group->job) : NULL;
    struct known_task *task = NULL;
    int r = 0;

    for (size_t i = 0; i < group->n_parts && r == 0; i++) {
        r = find_part(run, &group->parts[i], &task, err);
        if (r == 0)
            r = fail_task(run, group, task, err);
    }
    if (group->n_parts || r < 0)
        return r;
    if (!known)
        return err_set(err, -EINVAL, "the engine fails a job that is not there");
    for (size_t i = 0; i < known->job.n_groups && r == 0; i++)
        if (known->tasks[i].state.state == BERTH_TASK_PENDING)
            r = fail_task(run, group, &known->tasks[i], err);
    return r;
}

static int keep_memo(struct run *run, const struct berth_group *group, struct err *err)
{
    struct berth_memo memo = { .name = group->name, .data = group->data, .size = group->size };

    return apply(run, BERTH_MEMO, &memo, false, err);
}

static int accept_parts(struct run *run, const struct berth_group *group, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < group->n_takes && r == 0; i++)
        r = end_reservation(run, group->takes[i].reservation, err);
    for (size_t i = 0; i < group->n_parts && r == 0; i++)
        if (group->parts[i].kind == BERTH_PART_EVICT)
            r = evict_part(run, &group->parts[i], err);
    for (size_t i = 0; i < group->n_parts && r == 0; i++)
        if (group->parts[i].kind == BERTH_PART_BIND)
            r = bind_part(run, &group->parts[i], err);
    return r < 0 ? r : reserve_parts(run, group, err);
}

static int accept_group(struct run *run, const struct berth_group *group, struct err *err)
{
    int r;

    switch (group->kind) {
    case BERTH_GROUP_BIND:
    case BERTH_GROUP_EVICT:
    case BERTH_GROUP_RESERVE:
        return accept_parts(run, group, err);
    case BERTH_GROUP_ORDER:
        r = order_machine(run, group, err);
        return r < 0 ? r : accept_parts(run, group, err);
    case BERTH_GROUP_RELEASE:
        return end_reservation(run, group->name, err);
    case BERTH_GROUP_ADMIT:
        return set_phase(run, group, BERTH_PHASE_INQUEUE, err);
    case BERTH_GROUP_UNADMIT:
        return set_phase(run, group, BERTH_PHASE_PENDING, err);
    case BERTH_GROUP_FAIL:
        return fail_group(run, group, err);
    case BERTH_GROUP_MEMO:
        return keep_memo(run, group, err);
    case BERTH_GROUP_KIND_COUNT:
        break;
    }
    return err_set(err, -EINVAL, "the engine answers with a group of no kind");
}

/* Which room is promised or reserved on listed nodes, and why each task waits. */
static void note_state(struct run *run)
{
    struct scenario *s = run->s;

    VEC_EACH (known, &s->jobs)
        for (size_t i = 0; i < (*known)->job.n_groups; i++)
            (*known)->tasks[i].reserved = NULL;
    VEC_EACH (each, &s->reservations) {
        for (size_t i = 0; i < (*each)->n_parts; i++) {
            const struct berth_reservation_part *part = &(*each)->parts[i];
            struct known_task *task = known_task_find(s, part->task.job, part->task.group);
            if (task && map_get(&s->node_by_name, part->node))
                task->reserved = part->node;
        }
    }
    for (size_t i = 0; i < run->last.n_promised; i++) {
        const struct berth_part *part = &run->last.promised[i];
        struct known_task *task = known_task_find(s, part->task.job, part->task.group);
        if (task)
            task->pipelined = keep_text(run, part->node);
    }
    for (size_t v = 0; v < run->last.n_verdicts; v++) {
        const struct berth_verdict *verdict = &run->last.verdicts[v];
        struct known_job *known = map_get(&s->job_by_id, verdict->job);
        for (size_t i = 0; known && i < known->job.n_groups; i++)
            if (!verdict->group || text_eq(verdict->group, known->tasks[i].ref.group))
                known->tasks[i].reason = verdict->reason;
    }
}

int run_cycle(struct run *run, struct err *err)
{
    int r;

    VEC_EACH (known, &run->s->jobs)
        for (size_t i = 0; i < (*known)->job.n_groups; i++)
            (*known)->tasks[i].pipelined = NULL, (*known)->tasks[i].reason = NULL;
    berth_decisions_free(&run->last);
    run->last = (struct berth_decisions){ 0 };
    r = berth_engine_cycle(run->engine, &run->in, &run->last, err);
    for (size_t i = 0; r == 0 && i < run->last.n_groups; i++) {
        r = accept_group(run, &run->last.groups[i], err);
        if (r < 0)
            return err_wrap(err, "cycle %llu, group %zu", (unsigned long long)run->in.revision, i);
    }
    if (r == 0)
        note_state(run);
    return r;
}

static int step_task(struct run *run, struct known_task *task, struct err *err)
{
    struct berth_task *state = &task->state;

    if (state->state == BERTH_TASK_BINDING || state->state == BERTH_TASK_BOUND) {
        state->state = BERTH_TASK_RUNNING;
        state->started_at_ms = run->in.now_ms;
        state->limit_at_ms = task->job->job.limit_ms ? run->in.now_ms + task->job->job.limit_ms : 0;
        return apply(run, BERTH_TASK, state, false, err);
    }
    if (state->state == BERTH_TASK_RELEASING && task->is_evicted) {
        *state = (struct berth_task){ .job = state->job,
                                      .group = state->group,
                                      .attempt = state->attempt,
                                      .tries = state->tries,
                                      .evictions = state->evictions + 1 };
        return apply(run, BERTH_TASK, state, false, err);
    }
    return 0;
}

int run_step(struct run *run, struct err *err)
{
    run->in.revision++;
    run->in.now_ms += run->s->times.step_ms;
    VEC_EACH (known, &run->s->jobs) {
        for (size_t i = 0; i < (*known)->job.n_groups; i++) {
            int r = step_task(run, &(*known)->tasks[i], err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

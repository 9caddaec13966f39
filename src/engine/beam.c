/* Beam: see beam.h. */
#include "engine/beam.h"

#include <inttypes.h>
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "engine/fit.h"
#include "engine/serverless.h"

struct beam *beam_of(struct session *s)
{
    if (!s->beam) {
        s->beam = ARENA_NEW0(&s->arena, struct beam);
        s->beam->turn = 1;
    }
    return s->beam;
}

void beam_close(struct session *s)
{
    struct beam *beam = s->beam;

    if (!beam)
        return;
    machines_drop(s, 0);
    VEC_FINI(&beam->machines);
    VEC_EACH (kind, &beam->kinds)
        kind_unref(s->model, *kind);
    VEC_FINI(&beam->kinds);
    VEC_FINI(&beam->ended);
    map_fini(&beam->held);
    map_fini(&beam->n_machines);
}

/* --- Room that is held */

/* Whether the node may still be what the room was held on. */
static bool is_good(struct session *s, const struct task *task, const struct node *node)
{
    const struct berth_node *kept = node->kept;
    const struct kind *kind = task->group->kind;
    const struct berth_pool *own;

    if (!kept || (kept->state != NODE_COMING && kept->state != NODE_READY &&
                  kept->state != NODE_UNREACHABLE))
        return false;
    if (kept->cordoned || kept->draining)
        return false;
    if (fit_fixed(s, kind, node) == WAIT_NONE)
        return true;
    /* A task of a private pool may have left it. */
    own = pool_find(s, kind->spec->pool_selector);
    return own && own->is_private &&
           fit_fixed(s, beam_unselected(s, task->group->job, kind), node) == WAIT_NONE;
}

/* How many of its parts hold room. */
static size_t hold_parts(struct session *s, const struct berth_reservation *r)
{
    struct beam *beam = beam_of(s);
    size_t n = 0;

    for (size_t i = 0; i < r->n_parts; i++) {
        struct task *task = task_find(s->model, &r->parts[i].task);
        struct node *node = node_find(s->model, r->parts[i].node);
        struct statement stmt = statement_open(s);
        struct held *held;
        if (!task || !node || task->state != BERTH_TASK_PENDING || task->group->job->kept->stopping)
            continue;
        if (beam_held(s, task) || !is_good(s, task, node))
            continue;
        held = ARENA_NEW0(&s->arena, struct held);
        *held = (struct held){ task, r };
        map_put_int(&beam->held, (uintptr_t)task, held);
        statement_pipeline(&stmt, task, node, r->purpose == BERTH_FOR_EVICTION, 0);
        n++;
    }
    return n;
}

static int by_rank(const void *a, const void *b)
{
    const struct berth_reservation *x = *(const struct berth_reservation *const *)a;
    const struct berth_reservation *y = *(const struct berth_reservation *const *)b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->id, y->id);
}

void beam_hold(struct session *s)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_RESERVATION];
    struct beam *beam = beam_of(s);
    const struct berth_reservation **sorted;

    if (beam->is_held)
        return;
    beam->is_held = true;
    if (!shelf->items.n)
        return;
    sorted = ARENA_NEW0_N(&s->arena, const struct berth_reservation *, shelf->items.n);
    for (size_t i = 0; i < shelf->items.n; i++)
        sorted[i] = shelf->items.at[i]->kept;
    qsort(sorted, shelf->items.n, sizeof(*sorted), by_rank);
    for (size_t i = 0; i < shelf->items.n; i++)
        if (!reservation_holds(s, sorted[i]) || !hold_parts(s, sorted[i]))
            VEC_PUSH(&beam->ended, sorted[i]);
}

static const char *why_ended(struct session *s, const struct berth_reservation *r)
{
    const struct job *owner = job_find(s->model, r->owner);

    if (!reservation_holds(s, r))
        return "TIMED_OUT";
    return owner && owner->kept && !owner->kept->stopping ? "NODE_CHANGED" : "OWNER_GONE";
}

void beam_release(struct session *s)
{
    VEC_EACH (r, &beam_of(s)->ended)
        answer_release(s, (*r)->id, why_ended(s, *r));
    beam_of(s)->ended.n = 0;
}

const struct held *beam_held(struct session *s, const struct task *task)
{
    return map_get_int(&beam_of(s)->held, (uintptr_t)task);
}

void beam_list_coming(struct session *s)
{
    struct beam *beam = beam_of(s);

    if (beam->is_listed)
        return;
    beam->is_listed = true;
    if (!s->model->n_coming)
        return;
    beam->coming = ARENA_NEW0_N(&s->arena, struct node *, s->model->nodes.n + 1);
    NODE_EACH (node, s->model)
        if (node->kept->state == NODE_COMING && !node->kept->cordoned && !node->kept->draining)
            beam->coming[beam->n_coming++] = node;
}

struct kind *beam_unselected(struct session *s, const struct job *job, const struct kind *kind)
{
    struct wish *wish = wish_of(s, kind);
    struct berth_task_group spec = *kind->spec;

    if (!wish->unselected) {
        spec.pool_selector = NULL;
        wish->unselected = kind_ref(s->model, job->kept, &spec);
        VEC_PUSH(&beam_of(s)->kinds, wish->unselected);
    }
    return wish->unselected;
}

/* --- Machines */

static uint32_t *count_of(struct session *s, const char *pool)
{
    struct beam *beam = beam_of(s);
    uint32_t *n = map_get(&beam->n_machines, pool);

    if (!n) {
        n = ARENA_NEW0(&s->arena, uint32_t);
        map_put(&beam->n_machines, pool, n);
    }
    return n;
}

bool pool_may_grow(struct session *s, const struct berth_pool *pool)
{
    struct beam *beam = beam_of(s);
    uint32_t n;

    if (!pool->provisions)
        return false;
    if (!pool->max_machines)
        return true;
    if (!beam->is_counted) {
        beam->is_counted = true;
        NODE_EACH (node, s->model)
            if (node->kept->pool && node->kept->state != NODE_LOST &&
                node->kept->state != NODE_GONE)
                ++*count_of(s, node->kept->pool);
    }
    n = *count_of(s, pool->name);
    VEC_EACH (machine, &beam->machines)
        n += (*machine)->pool == pool;
    return n < pool->max_machines;
}

/* A key that no node and no order has. */
static const char *new_key(struct session *s, const struct berth_pool *pool)
{
    const struct shelf *orders = &s->model->shelves[BERTH_ORDER];
    struct beam *beam = beam_of(s);
    const char *key;

    do {
        key = arena_format(&s->arena, "%s-%" PRIu64 "-%" PRIu32, pool->name, s->in.revision,
                           ++beam->n_named);
    } while (node_find(s->model, key) || shelf_get(orders, key));
    return key;
}

static int64_t *amount_in(struct berth_amount *at, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(at[i].name, name) == 0)
            return &at[i].value;
    at[*n].name = name;
    return &at[(*n)++].value;
}

static struct berth_amounts shape_of_machine(struct session *s, const struct berth_pool *pool,
                                             const struct asks *asks)
{
    size_t n_asks = asks ? asks->n : 0, n = 0;
    struct berth_amount *at =
        ARENA_NEW0_N(&s->arena, struct berth_amount, pool->machine.n + n_asks + 1);

    /* In a private pool a machine is what the task needs. */
    for (size_t i = 0; i < pool->machine.n && !(pool->is_private && asks); i++)
        at[n++] = pool->machine.at[i];
    for (size_t i = 0; i < n_asks; i++) {
        int64_t *value;
        if (asks->at[i].dim == DIM_PODS)
            continue;
        value = amount_in(at, &n, s->model->dims.at[asks->at[i].dim]->name);
        if (*value < asks->at[i].value)
            *value = asks->at[i].value < QUANTITY_MAX ? asks->at[i].value : QUANTITY_MAX;
    }
    return (struct berth_amounts){ at, n };
}

struct machine *machine_new(struct session *s, const struct berth_pool *pool,
                            const struct asks *asks)
{
    struct machine *machine = ARENA_NEW0(&s->arena, struct machine);
    const char *key = new_key(s, pool);

    machine->pool = pool;
    machine->shape = shape_of_machine(s, pool, asks);
    machine->kept = pool_node(pool, key);
    machine->kept.offers = machine->shape;
    machine->node.id = (char *)key;
    machine->node.kept = &machine->kept;
    machine->node.at = machine->node.alike = NOWHERE;
    machine->left = ARENA_NEW0_N(&s->arena, int64_t, s->model->dims.n + 1);
    machine->left[DIM_PODS] = UNLIMITED;
    for (size_t i = 0; i < machine->shape.n; i++) {
        uint32_t dim = dim_find(s->model, machine->shape.at[i].name);
        if (dim != NOWHERE)
            machine->left[dim] = machine->shape.at[i].value;
    }
    VEC_PUSH(&beam_of(s)->machines, machine);
    beam_of(s)->turn++;
    return machine;
}

bool machine_has_room(const struct machine *machine, const struct asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].value > machine->left[asks->at[i].dim])
            return false;
    return true;
}

void machine_take(struct machine *machine, const struct asks *asks, int sign)
{
    for (size_t i = 0; i < asks->n; i++)
        machine->left[asks->at[i].dim] -= sign * asks->at[i].value;
}

void machines_drop(struct session *s, size_t n)
{
    struct beam *beam = beam_of(s);

    while (beam->machines.n > n) {
        struct machine *machine = beam->machines.at[--beam->machines.n];
        VEC_FINI(&machine->node.tasks);
    }
}

/* --- The answer */

static int64_t end_of_room(struct session *s)
{
    int64_t ttl_ms = s->policy->reservation_ttl_ms;

    if (s->in.now_ms >= BERTH_NEVER - ttl_ms)
        return 0;
    session_wake_at(s, s->in.now_ms + ttl_ms + 1);
    return s->in.now_ms + ttl_ms;
}

static const char *new_reservation(struct session *s)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_RESERVATION];
    const char *id;

    do {
        id = arena_format(s->out, "room-%" PRIu64 "-%" PRIu32, s->in.revision,
                          ++beam_of(s)->n_named);
    } while (shelf_get(shelf, id));
    return id;
}

static struct berth_amounts shape_keep(struct session *s, const struct berth_amounts *shape)
{
    struct berth_amount *at = ARENA_NEW0_N(s->out, struct berth_amount, shape->n + 1);

    for (size_t i = 0; i < shape->n; i++)
        at[i] = (struct berth_amount){ arena_text(s->out, shape->at[i].name), shape->at[i].value };
    return (struct berth_amounts){ at, shape->n };
}

static void answer_order(struct session *s, struct machine *machine, const struct job *job,
                         const struct op *ops, size_t n)
{
    struct berth_group *group = answer_room(s, BERTH_GROUP_ORDER, job, ops, n, &machine->node);

    machine->is_ordered = true;
    group->name = arena_text(s->out, machine->node.id);
    group->pool = arena_text(s->out, machine->pool->name);
    group->shape = shape_keep(s, &machine->shape);
    group->until_ms = group->n_parts ? end_of_room(s) : 0;
}

static void answer_reserve(struct session *s, const struct job *job, const struct op *ops, size_t n,
                           const struct node *node)
{
    struct berth_group *group = answer_room(s, BERTH_GROUP_RESERVE, job, ops, n, node);

    group->name = new_reservation(s);
    group->until_ms = end_of_room(s);
}

/* Whether an op before the i-th promises room on the same node. */
static bool was_said(const struct op *ops, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (ops[k].kind == OP_PIPELINE && ops[k].node == ops[i].node)
            return true;
    return false;
}

void beam_answer(struct session *s, const struct job *job, const struct op *ops, size_t n)
{
    bool on_known = false;

    for (size_t i = 0; i < n; i++) {
        struct machine *machine;
        if (ops[i].kind != OP_PIPELINE)
            continue;
        if (ops[i].node->at != NOWHERE) {
            on_known = true;
            continue;
        }
        if (was_said(ops, i))
            continue;
        machine = CONTAINER(ops[i].node, struct machine, node);
        if (machine->is_ordered)
            answer_reserve(s, job, ops, n, &machine->node);
        else
            answer_order(s, machine, job, ops, n);
    }
    if (on_known)
        answer_reserve(s, job, ops, n, NULL);
}

void beam_answer_machine(struct session *s, struct machine *machine)
{
    answer_order(s, machine, NULL, NULL, 0);
}

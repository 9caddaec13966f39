/*
 * Share: what queues deserve, what is fair now, and what nobody may pass.
 *
 * A queue deserves what it states; where it states nothing, its weight's part of what its
 * parent's other children leave. Its fair share goes by demand, which is what it holds and what of
 * its waiting tasks could start (demand.h): everybody first gets the lesser of demand and deserved,
 * what is left goes by weight to those who want more, within their caps.
 * Order and reclaim go by the fair share, so two queues cannot take from each other in a circle.
 * Caps hold for a queue and all above it, a guarantee is kept free even while its queue is empty,
 * and a namespace stays within its quotas. What begins is held against caps and quotas as the ledger holds it:
 * beside all that has not ended, and by slots where one names `pods`.
 */
#include <string.h>

#include "base/str.h"
#include "engine/demand.h"
#include "engine/devices.h"
#include "engine/past.h"
#include "engine/plugins.h"
#include "engine/res.h"

enum { DEEPEST = 32 };

struct arguments {
    int64_t half_ms; /* of past use in the order of queues; 0: it does not count */
};

struct account {
    const struct queue *queue; /* NULL: the top of the tree */
    struct account *up;
    size_t depth;
    wide weight;
    wide *wants; /* what its own waiting tasks ask that could start */
    wide *allocated, *demand, *cap, *deserved, *fair, *guarantee;
    wide *there;  /* what of that is not on machines on their way */
    wide *past;   /* what it held on average, or NULL */
    bool *stated; /* dimensions of which deserved was said */
    bool has_cap, has_children;
};

struct tenant {
    const char *namespace_;
    wide *held, *limit; /* held: with what is promised, without who is evicted */
    const char *quota;
    const struct space *space; /* NULL: it has no jobs */
};

struct share_state {
    struct account *at; /* by queue->at; the top is at[n] */
    size_t n;
    bool has_guarantee, has_cap;
    size_t *deepest_first; /* places in `at`, where a guarantee is given */
    wide *kept;            /* scratch, likewise by place */
    struct tenant *tenant_list;
    size_t n_tenants;
    wide *live; /* scratch */
};

static struct account *account_of(struct plugin_use *use, const struct queue *queue)
{
    struct share_state *state = use->state;

    return queue && queue->at < state->n ? &state->at[queue->at] : NULL;
}

/* --- The accounts */

static void account_init(struct session *s, struct account *a, const struct queue *queue)
{
    bool *has_cap = ARENA_NEW0_N(&s->arena, bool, s->model->dims.n + 1);

    a->queue = queue;
    a->weight = queue && queue->kept->weight > 0 ? queue->kept->weight : 1;
    a->allocated = res_new(s);
    a->there = res_new(s);
    a->demand = res_new(s);
    a->cap = res_new(s);
    a->deserved = res_new(s);
    a->fair = res_new(s);
    a->guarantee = res_new(s);
    a->stated = ARENA_NEW0_N(&s->arena, bool, s->model->dims.n + 1);
    if (queue) {
        for (size_t d = 0; d < queue->n_sums; d++)
            a->allocated[d] = a->there[d] = a->demand[d] = queue->allocated[d];
        res_add_amounts(s, a->cap, has_cap, &queue->kept->capability);
        a->has_cap = queue->kept->capability.n > 0;
        res_add_amounts(s, a->deserved, a->stated, &queue->kept->deserved);
        res_add_amounts(s, a->guarantee, NULL, &queue->kept->guarantee);
    }
    for (size_t d = 0; d < s->model->dims.n; d++)
        if (!has_cap[d])
            a->cap[d] = RES_INFINITE;
}

static void join_tree(struct session *s, struct share_state *state)
{
    struct account *top = &state->at[state->n];

    for (size_t i = 0; i < state->n; i++) {
        const struct queue *up = queue_find(s->model, state->at[i].queue->kept->parent);
        bool fine = up && up->kept && up != state->at[i].queue;
        state->at[i].up = fine ? &state->at[up->at] : top;
    }
    for (size_t i = 0; i < state->n; i++) {
        size_t depth = 0;
        for (const struct account *a = &state->at[i]; a->up && depth < DEEPEST; a = a->up)
            depth++;
        if (depth == DEEPEST)
            state->at[i].up = top; /* a circle, or too deep: it hangs under the top */
    }
    for (size_t i = 0; i < state->n; i++) {
        state->at[i].up->has_children = true;
        for (const struct account *a = &state->at[i]; a->up; a = a->up)
            state->at[i].depth++;
    }
}

static void add_up(struct session *s, struct share_state *state)
{
    for (size_t i = 0; i < state->n; i++) {
        const struct queue *queue = state->at[i].queue;
        for (struct account *up = state->at[i].up; up; up = up->up)
            for (size_t d = 0; d < queue->n_sums; d++) {
                up->allocated[d] += queue->allocated[d];
                up->there[d] += queue->allocated[d];
                up->demand[d] += queue->allocated[d];
            }
    }
    for (size_t i = 0; i < state->n; i++)
        for (struct account *a = &state->at[i]; a; a = a->up)
            for (size_t d = 0; d < s->model->dims.n; d++)
                a->demand[d] += state->at[i].wants[d];
}

static wide smaller(wide a, wide b)
{
    return a < b ? a : b;
}

static wide larger(wide a, wide b)
{
    return a > b ? a : b;
}

/* By weight, of what those that state it leave of their parent's. */
static void set_deserved(struct share_state *state, struct account *up, uint32_t d)
{
    wide rest = up->deserved[d], weights = 0;

    for (size_t i = 0; i < state->n; i++) {
        if (state->at[i].up != up)
            continue;
        if (state->at[i].stated[d])
            rest -= state->at[i].deserved[d];
        else
            weights += state->at[i].weight;
    }
    for (size_t i = 0; i < state->n; i++) {
        struct account *a = &state->at[i];
        if (a->up != up)
            continue;
        /* NOLINTBEGIN(clang-analyzer-core.DivideZero) its own weight is among them */
        if (!a->stated[d])
            a->deserved[d] = smaller(larger(rest, 0) * a->weight / weights, a->cap[d]);
        /* NOLINTEND(clang-analyzer-core.DivideZero) */
        set_deserved(state, a, d);
    }
}

static wide wanted(const struct account *a, uint32_t d)
{
    return smaller(a->demand[d], a->cap[d]);
}

/* One round: each that wants more gets its weight's part of the rest, at most what it wants. */
static wide pour(struct share_state *state, const struct account *up, uint32_t d, wide rest)
{
    wide weights = 0, left = rest;

    for (size_t i = 0; i < state->n; i++)
        if (state->at[i].up == up && state->at[i].fair[d] < wanted(&state->at[i], d))
            weights += state->at[i].weight;
    for (size_t i = 0; weights && i < state->n; i++) {
        struct account *a = &state->at[i];
        wide part;
        if (a->up != up || a->fair[d] >= wanted(a, d))
            continue;
        part = smaller(larger(rest * a->weight / weights, 1), wanted(a, d) - a->fair[d]);
        part = smaller(part, left);
        a->fair[d] += part;
        left -= part;
    }
    return left;
}

static void set_fair(struct share_state *state, struct account *up, uint32_t d)
{
    wide rest = up->fair[d], before;

    for (size_t i = 0; i < state->n; i++) {
        struct account *a = &state->at[i];
        if (a->up != up)
            continue;
        a->fair[d] = smaller(wanted(a, d), larger(a->deserved[d], a->guarantee[d]));
        /* What a guarantee keeps free is nobody's to share. */
        rest -= larger(a->fair[d], a->guarantee[d]);
    }
    do {
        before = rest;
        if (rest > 0)
            rest = pour(state, up, d, rest);
    } while (rest > 0 && rest != before);
    for (size_t i = 0; i < state->n; i++)
        if (state->at[i].up == up)
            set_fair(state, &state->at[i], d);
}

/* --- Namespaces */

static void add_tenants(struct session *s, struct share_state *state)
{
    struct shelf *shelf = &s->model->shelves[BERTH_QUOTA];

    if (!shelf->items.n)
        return;
    shelf_sort(shelf);
    state->tenant_list = ARENA_NEW0_N(&s->arena, struct tenant, shelf->items.n);
    for (size_t i = 0; i < shelf->items.n; i++) {
        const struct berth_quota *quota = shelf->items.at[i]->kept;
        struct tenant *t = &state->tenant_list[state->n_tenants++];
        *t = (struct tenant){ .namespace_ = quota->namespace_,
                              .held = res_new(s),
                              .limit = res_new(s),
                              .quota = quota->name,
                              .space = space_find(s->model, quota->namespace_) };
        for (size_t d = 0; d < s->model->dims.n; d++)
            t->limit[d] = RES_INFINITE;
        for (size_t k = 0; k < quota->hard.n; k++) {
            uint32_t d = dim_find(s->model, quota->hard.at[k].name);
            if (d != NOWHERE)
                t->limit[d] = quota->hard.at[k].value;
        }
        for (size_t d = 0; t->space && d < t->space->n_sums; d++)
            t->held[d] = t->space->live[d];
    }
}

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument known[] = {
        { "halfLife", ARG_DURATION, offsetof(struct arguments, half_ms) },
    };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);

    *out = a;
    return arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
}

static int by_depth(const void *a, const void *b, void *arg)
{
    const struct share_state *state = arg;
    size_t x = state->at[*(const size_t *)a].depth, y = state->at[*(const size_t *)b].depth;

    return (x < y) - (x > y);
}

static void sort_by_depth(struct session *s, struct share_state *state)
{
    state->deepest_first = ARENA_NEW0_N(&s->arena, size_t, state->n + 1);
    state->kept = ARENA_NEW0_N(&s->arena, wide, state->n + 1);
    for (size_t i = 0; i < state->n; i++)
        state->deepest_first[i] = i;
    qsort_r(state->deepest_first, state->n, sizeof(size_t), by_depth, state);
}

/* What queues held counts for all above them. */
static void add_past(struct session *s, struct share_state *state, int64_t half_ms)
{
    wide **past = past_use(s, half_ms);

    for (size_t i = 0; i <= state->n; i++)
        state->at[i].past = res_new(s);
    for (size_t i = 0; i < state->n; i++)
        for (struct account *a = &state->at[i]; a; a = a->up)
            for (size_t d = 0; d < s->model->dims.n; d++)
                a->past[d] += past[i][d];
}

static void add_wants(struct session *s, struct share_state *state)
{
    wide **wants = ARENA_NEW0_N(&s->arena, wide *, state->n + 1);

    for (size_t i = 0; i < state->n; i++)
        wants[i] = state->at[i].wants = res_new(s);
    demand_add(s, wants);
}

static void open_session(struct session *s, struct plugin_use *use)
{
    struct share_state *state = ARENA_NEW0(&s->arena, struct share_state);
    const struct arguments *args = use->config;
    struct account *top;

    use->state = state;
    state->n = s->model->queues.n;
    state->at = ARENA_NEW0_N(&s->arena, struct account, state->n + 1);
    state->live = res_new(s);
    top = &state->at[state->n];
    account_init(s, top, NULL);
    for (size_t i = 0; i < state->n; i++) {
        account_init(s, &state->at[i], s->model->queues.at[i]);
        state->has_guarantee = state->has_guarantee || state->at[i].queue->kept->guarantee.n;
        state->has_cap = state->has_cap || state->at[i].has_cap;
    }
    join_tree(s, state);
    if (state->has_guarantee)
        sort_by_depth(s, state);
    add_wants(s, state);
    add_up(s, state);
    for (uint32_t d = 0; d < s->model->dims.n; d++) {
        top->deserved[d] = top->fair[d] = s->total[d];
        set_deserved(state, top, d);
        set_fair(state, top, d);
    }
    add_tenants(s, state);
    if (args->half_ms > 0)
        add_past(s, state, args->half_ms);
}

/* --- Order */

/*
 * How much of its fair share a queue has: the dimension in which it is furthest. Where the past
 * counts, what it holds and held is held against what it deserves: its share of now says nothing
 * about then.
 */
static struct share used_of(const struct session *s, const struct account *a)
{
    struct share most = { 0, 1 };

    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide used = a->allocated[d] + (a->past ? a->past[d] : 0);
        wide of = a->past ? a->deserved[d] : a->fair[d];
        struct share one = { used, of > 0 ? of : 1 };
        if (d != DIM_PODS && used > 0 && share_cmp(one, most) > 0)
            most = one;
    }
    return most;
}

static int queue_order(struct session *s, struct plugin_use *use, const struct queue *a,
                       const struct queue *b)
{
    const struct account *x = account_of(use, a), *y = account_of(use, b);

    if (a->kept->priority != b->kept->priority)
        return a->kept->priority > b->kept->priority ? -1 : 1;
    if (!x || !y)
        return 0;
    while (x->depth > y->depth && x->up != y)
        x = x->up;
    while (y->depth > x->depth && y->up != x)
        y = y->up;
    while (x->up != y->up && x->up && y->up && x->depth == y->depth) {
        x = x->up;
        y = y->up;
    }
    return share_cmp(used_of(s, x), used_of(s, y));
}

/* --- What may be taken */

static bool refuse(struct why *why, enum wait_code code, uint32_t dim, wide asked, wide free,
                   wide limit, const char *blocker)
{
    if (why)
        *why = (struct why){ code, dim, asked, free < 0 ? 0 : free, limit, blocker };
    return false;
}

/* Whether so much may come to what is held; a limit of `pods` counts the slot that each task takes. */
static bool is_room(const wide *held, const wide *limit, const struct asks *asks, uint32_t *over)
{
    for (size_t i = 0; i < asks->n; i++) {
        *over = asks->at[i].dim;
        if (asks->at[i].value > 0 && held[*over] + asks->at[i].value > limit[*over])
            return false;
    }
    return true;
}

/* As it is beside what is held of a queue's cap. */
static bool within_cap(const struct account *a, const wide *held, const struct asks *asks,
                       struct why *why)
{
    uint32_t d;
    wide asked;

    if (is_room(held, a->cap, asks, &d))
        return true;
    asked = asks_of(asks, d);
    return refuse(why, asked > a->cap[d] ? WAIT_LARGER_THAN_QUEUE : WAIT_OVER_CAP, d, asked,
                  a->cap[d] - held[d], a->cap[d], a->queue->name);
}

static bool within_caps(const struct account *a, const struct asks *asks, struct why *why)
{
    for (; a && a->queue; a = a->up)
        if (a->has_cap && !within_cap(a, a->allocated, asks, why))
            return false;
    return true;
}

static bool is_above(const struct account *a, const struct account *b)
{
    for (; b; b = b->up)
        if (a == b)
            return true;
    return false;
}

/*
 * What others are guaranteed of a resource and do not use: a queue as much as those beneath it, or what it lacks itself, of
 * which theirs is a part. Of those above one's own only what others beneath them lack counts.
 */
static wide kept_for_others(const struct share_state *state, const struct account *mine, uint32_t d)
{
    wide *kept = state->kept;

    memset(kept, 0, (state->n + 1) * sizeof(*kept));
    for (size_t i = 0; i < state->n; i++) {
        size_t at = state->deepest_first[i];
        const struct account *a = &state->at[at];
        wide lacks = is_above(a, mine) ? 0 : a->guarantee[d] - a->there[d];
        kept[a->up - state->at] += larger(lacks, kept[at]);
    }
    return kept[state->n];
}

/* The queue for which most is kept. */
static const char *keeper_of(const struct share_state *state, const struct account *mine,
                             uint32_t d)
{
    const struct account *most = NULL;

    for (size_t i = 0; i < state->n; i++) {
        const struct account *a = &state->at[i];
        if (!is_above(a, mine) && a->guarantee[d] > a->there[d] &&
            (!most || a->guarantee[d] - a->there[d] > most->guarantee[d] - most->there[d]))
            most = a;
    }
    return most ? most->queue->name : NULL;
}

/* What others are guaranteed and do not use stays free of what is there, unless one's own guarantee covers it. */
static bool leaves_guarantees(const struct share_state *state, const struct account *mine,
                              const struct asks *asks, struct why *why)
{
    const struct account *top = &state->at[state->n];

    for (size_t i = 0; i < asks->n; i++) {
        uint32_t d = asks->at[i].dim;
        wide kept, free;
        if (d == DIM_PODS || mine->there[d] + asks->at[i].value <= mine->guarantee[d])
            continue;
        kept = kept_for_others(state, mine, d);
        free = top->deserved[d] - top->there[d] - kept;
        if (kept && asks->at[i].value > free)
            return refuse(why, WAIT_OVER_GUARANTEE_NOT_RECLAIMABLE, d, asks->at[i].value, free,
                          top->deserved[d], why ? keeper_of(state, mine, d) : NULL);
    }
    return true;
}

static bool within_quota(const struct tenant *t, const wide *held, const struct asks *asks,
                         struct why *why)
{
    uint32_t d;
    wide asked;

    if (is_room(held, t->limit, asks, &d))
        return true;
    asked = asks_of(asks, d);
    return refuse(why, asked > t->limit[d] ? WAIT_LARGER_THAN_QUEUE : WAIT_OVER_CAP, d, asked,
                  t->limit[d] - held[d], t->limit[d], t->quota);
}

static bool within_quotas(const struct share_state *state, const struct kind *kind,
                          const struct asks *asks, struct why *why)
{
    for (size_t i = 0; i < state->n_tenants; i++) {
        const struct tenant *t = &state->tenant_list[i];
        if (text_eq(t->namespace_, kind->namespace_) && !within_quota(t, t->held, asks, why))
            return false;
    }
    return true;
}

/* --- What may begin */

/* What tasks hold as things stand in this session, those that are being stopped too: of a queue with all below it. */
static void add_live(const struct share_state *state, const struct account *of, wide *to)
{
    for (size_t i = 0; i < state->n; i++) {
        const struct queue *queue = state->at[i].queue;
        if (&state->at[i] != of && (!of->has_children || !is_above(of, &state->at[i])))
            continue;
        for (size_t d = 0; d < queue->n_sums; d++)
            to[d] += queue->live[d];
    }
}

/* What is promised does not count, and who is evicted does: so the ledger counts. */
static bool may_begin_in_queue(const struct session *s, const struct share_state *state,
                               const struct account *a, const struct asks *asks, struct why *why)
{
    for (; a && a->queue; a = a->up) {
        if (!a->has_cap)
            continue;
        memset(state->live, 0, s->model->dims.n * sizeof(*state->live));
        add_live(state, a, state->live);
        if (!within_cap(a, state->live, asks, why))
            return false;
    }
    return true;
}

static bool may_begin_in_namespace(const struct session *s, const struct share_state *state,
                                   const struct tenant *t, const struct asks *asks, struct why *why)
{
    memset(state->live, 0, s->model->dims.n * sizeof(*state->live));
    for (size_t d = 0; t->space && d < t->space->n_sums; d++)
        state->live[d] = t->space->live[d];
    return within_quota(t, state->live, asks, why);
}

static bool startable(struct session *s, struct plugin_use *use, const struct kind *kind,
                      struct why *why)
{
    const struct share_state *state = use->state;
    const struct asks *asks = kind_charge(s->model, kind);

    if (state->has_cap &&
        !may_begin_in_queue(s, state, account_of(use, queue_find(s->model, kind->queue)), asks,
                            why))
        return false;
    for (size_t i = 0; i < state->n_tenants; i++) {
        const struct tenant *t = &state->tenant_list[i];
        if (text_eq(t->namespace_, kind->namespace_) &&
            !may_begin_in_namespace(s, state, t, asks, why))
            return false;
    }
    return true;
}

/* A machine on its way is no part of what is kept free. */
static bool rideable(struct session *s, struct plugin_use *use, const struct queue *queue,
                     const struct kind *kind, struct why *why)
{
    const struct account *a = account_of(use, queue);
    const struct asks *asks = kind_charge(s->model, kind);

    return !a || (within_caps(a, asks, why) && within_quotas(use->state, kind, asks, why));
}

static bool allocatable(struct session *s, struct plugin_use *use, const struct queue *queue,
                        const struct kind *kind, struct why *why)
{
    const struct share_state *state = use->state;
    const struct account *a = account_of(use, queue);

    return rideable(s, use, queue, kind, why) &&
           (!a || !state->has_guarantee ||
            leaves_guarantees(state, a, kind_charge(s->model, kind), why));
}

/* Whether who loses all of them would hold less than it is guaranteed: the rest must stay free. */
static bool guards(struct session *s, struct plugin_use *use, const struct victims *victims)
{
    const struct share_state *state = use->state;
    wide *sum;

    if (!state->has_guarantee)
        return false;
    sum = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);
    for (size_t i = 0; i < victims->n; i++)
        if (!task_is_on_machine(victims->at[i]))
            res_add_asks(sum, task_asks(victims->at[i]), 1);
    for (size_t i = 0; i < victims->n; i++)
        for (const struct account *a = account_of(use, victims->at[i]->group->job->queue); a;
             a = a->up)
            for (size_t d = 0; d < s->model->dims.n; d++)
                if (a->guarantee[d] > 0 && sum[d] && a->there[d] - sum[d] < a->guarantee[d])
                    return true;
    return false;
}

/*
 * What of a queue is held against its fair share, which is one of what is there: what it has on machines on their way
 * counts on such machines alone. Else its own rides would take a queue over its share, and others would evict
 * for it whom it may have back at once, since it lets its rides go for that.
 */
static wide *held_of(const struct account *a, bool rides)
{
    return rides ? a->allocated : a->there;
}

/* A queue may take back what keeps it at or under its fair share. */
static bool preemptive(struct session *s, struct plugin_use *use, const struct queue *queue,
                       const struct task *task, bool rides)
{
    const struct account *a = account_of(use, queue);

    if (s->policy->reclaim == RECLAIM_BY_PLUGINS)
        return true; /* it is left to the others */
    return a && res_over(held_of(a, rides), task_asks(task), a->fair) == NOWHERE;
}

/* What a queue holds while victims are gone through, made on first use; NULL: it has no account. */
static wide *left_of(struct session *s, struct plugin_use *use, wide **left,
                     const struct task *victim)
{
    bool rides = task_is_on_machine(victim);
    const struct queue *queue = victim->group->job->queue;
    const struct account *a = account_of(use, queue);
    wide **at;

    if (!a)
        return NULL;
    at = &left[2 * queue->at + rides];
    if (!*at) {
        *at = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);
        res_copy(s, *at, held_of(a, rides));
    }
    return *at;
}

/*
 * In which of the resources that a task asks for its queue may have no more as it is, for the sake of queues above it, of
 * its namespace or of what is kept free: who gives some of those back may help as who makes room on the node does.
 */
static bool *refused_of(struct session *s, struct plugin_use *use, const struct task *task)
{
    const struct share_state *state = use->state;
    const struct account *a = account_of(use, task->group->job->queue);
    const struct asks *asks = task_asks(task);
    bool *refused = ARENA_NEW0_N(s->lists, bool, s->model->dims.n + 1);

    for (size_t i = 0; a && i < asks->n; i++) {
        const struct asks one = { &asks->at[i], 1 };
        refused[asks->at[i].dim] =
            !within_caps(a, &one, NULL) || !within_quotas(state, task->group->kind, &one, NULL) ||
            (state->has_guarantee && !leaves_guarantees(state, a, &one, NULL));
    }
    return refused;
}

/* From queues that are over their fair share in what the node is short of, or the taker's queue. */
static enum vote reclaimable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    const struct asks *asks = task_asks(task);
    struct share_state *state = use->state;
    wide **left = ARENA_NEW0_N(s->lists, wide *, 2 * state->n + 1);
    const bool *refused;

    if (s->policy->reclaim == RECLAIM_BY_PLUGINS)
        return VOTE_ABSTAIN;
    refused = refused_of(s, use, task);
    for (size_t i = 0; i < from->n; i++) {
        const struct account *a = account_of(use, from->at[i]->group->job->queue);
        wide *held = left_of(s, use, left, from->at[i]);
        bool over = true, helps = false;
        if (!held)
            continue;
        for (size_t k = 0; k < asks->n; k++) {
            uint32_t d = asks->at[k].dim;
            const struct column *c = &s->model->columns[d];
            if (d == DIM_PODS || !asks_of(task_asks(from->at[i]), d) ||
                (asks->at[k].value <= column_future(c, from->at[i]->node->at) && !refused[d]))
                continue;
            helps = true;
            over = over && held[d] > a->fair[d];
        }
        if (!helps || !over)
            continue;
        res_add_asks(held, task_asks(from->at[i]), -1);
        to->at[to->n++] = from->at[i];
    }
    return VOTE_PERMIT;
}

/* Some other queue must be over its fair share. */
static bool has_victims(struct session *s, struct plugin_use *use, const struct job *job,
                        bool reclaim)
{
    const struct share_state *state = use->state;

    if (!reclaim || s->policy->reclaim == RECLAIM_BY_PLUGINS)
        return true;
    for (size_t i = 0; i < state->n; i++) {
        const struct account *a = &state->at[i];
        for (uint32_t d = 0; a->queue != job->queue && d < s->model->dims.n; d++)
            if (d != DIM_PODS && a->allocated[d] > a->fair[d])
                return true;
    }
    return false;
}

/* Whether a queue is over its fair share in all that the taker lacks and the victim holds. */
static bool is_over(const struct account *a, const wide *held, const struct task *victim,
                    const wide *lacks)
{
    const struct asks *asks = task_asks(victim);
    bool helps = false;

    for (size_t i = 0; i < asks->n; i++) {
        uint32_t d = asks->at[i].dim;
        if (d == DIM_PODS || lacks[d] <= 0)
            continue;
        helps = true;
        if (held[d] <= a->fair[d])
            return false;
    }
    return helps;
}

/* A unit that cannot be divided may take its queue under its share, if it was over it before. */
static enum vote evictable(struct session *s, struct plugin_use *use, const struct taking *taking,
                           const struct victims *from, struct victims *to)
{
    struct share_state *state = use->state;
    wide **left = ARENA_NEW0_N(s->lists, wide *, 2 * state->n + 1);
    bool over = false;

    if (!taking->reclaim || s->policy->reclaim == RECLAIM_BY_PLUGINS)
        return VOTE_ABSTAIN;
    for (size_t i = 0; i < from->n; i++) {
        wide *held = left_of(s, use, left, from->at[i]);
        if (!held)
            continue;
        if (!i || taking->unit[i] != taking->unit[i - 1])
            over = is_over(account_of(use, from->at[i]->group->job->queue), held, from->at[i],
                           taking->lacks);
        if (!over)
            continue;
        res_add_asks(held, task_asks(from->at[i]), -1);
        to->at[to->n++] = from->at[i];
    }
    return VOTE_PERMIT;
}

/*
 * A queue that is over its fair share by more than any node holds stays so whichever node is
 * cleared, and one that is not over gives nothing. Only in between does it matter how much it has,
 * and where a guarantee is to be kept free.
 */
static uint64_t victims_stamp(struct session *s, struct plugin_use *use, const struct kind *kind,
                              bool reclaim)
{
    struct share_state *state = use->state;
    const struct queue *mine = queue_find(s->model, kind->queue);
    bool allowed = allocatable(s, use, mine, kind, NULL);
    uint64_t stamp = allowed;

    for (size_t i = 0; i < state->n && (reclaim || !allowed); i++) {
        const struct account *a = &state->at[i];
        for (size_t k = 0; k < kind->asks.n; k++) {
            uint32_t d = kind->asks.at[k].dim;
            wide over = a->there[d] - a->fair[d];
            bool far = a->guarantee[d] <= 0 && (over <= 0 || over > res_most_on_a_node(s, d));
            if (reclaim && s->model->n_coming) /* who rides there goes by the rest, too */
                stamp = stamp_fold(stamp, a->allocated[d]);
            /* Nobody is a victim for the slots of his queue, nor for the queue's own jobs. */
            if (allowed && a->guarantee[d] <= 0 && (d == DIM_PODS || a->queue == mine))
                continue;
            stamp = stamp_fold(stamp, allowed && far ? over > 0 : a->there[d]);
            if (!allowed) /* caps count rides */
                stamp = stamp_fold(stamp, a->allocated[d]);
        }
    }
    for (size_t k = 0; k < kind->asks.n && state->has_guarantee && reclaim; k++)
        stamp = stamp_fold(stamp, state->at[state->n].there[kind->asks.at[k].dim]);
    for (size_t i = 0; i < state->n_tenants && !allowed; i++)
        for (size_t k = 0; k < kind->asks.n; k++)
            stamp = stamp_fold(stamp, state->tenant_list[i].held[kind->asks.at[k].dim]);
    return stamp;
}

static const wide *deserved(struct session *s, struct plugin_use *use, const struct queue *queue)
{
    const struct account *a = account_of(use, queue);

    (void)s;
    return a ? a->deserved : NULL;
}

static const wide *fair_share(struct session *s, struct plugin_use *use, const struct queue *queue)
{
    const struct account *a = account_of(use, queue);

    (void)s;
    return a ? a->fair : NULL;
}

static const wide *demand(struct session *s, struct plugin_use *use, const struct queue *queue)
{
    const struct account *a = account_of(use, queue);

    (void)s;
    return a ? a->demand : NULL;
}

static void count(struct plugin_use *use, const struct task *task, int sign)
{
    const struct share_state *state = use->state;

    for (struct account *a = account_of(use, task->group->job->queue); a; a = a->up) {
        res_add_asks(a->allocated, task_asks(task), sign);
        if (!task_is_on_machine(task))
            res_add_asks(a->there, task_asks(task), sign);
    }
    for (size_t i = 0; i < state->n_tenants; i++)
        if (text_eq(state->tenant_list[i].namespace_, task->group->kind->namespace_))
            res_add_asks(state->tenant_list[i].held, task_asks(task), sign);
}

static void on_allocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    (void)s;
    count(use, task, 1);
}

static void on_deallocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    (void)s;
    count(use, task, -1);
}

const struct plugin plugin_share = {
    .name = "share",
    .sees_lines = true,
    .configure = configure,
    .open = open_session,
    .queue_order = queue_order,
    .allocatable = allocatable,
    .rideable = rideable,
    .startable = startable,
    .guards = guards,
    .preemptive = preemptive,
    .reclaimable = reclaimable,
    .has_victims = has_victims,
    .victims_stamp = victims_stamp,
    .evictable = evictable,
    .deserved = deserved,
    .fair_share = fair_share,
    .demand = demand,
    .on_allocate = on_allocate,
    .on_deallocate = on_deallocate,
};

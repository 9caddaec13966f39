/*
 * Capacity: each queue deserves what its configuration says, may borrow up to its cap, and gives
 * back what others deserve. With `hierarchy`, queues form a tree: jobs are in its leaves, and every
 * limit of an ancestor holds for what is beneath it.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/claims.h"
#include "engine/devices.h"
#include "engine/plugins.h"
#include "engine/res.h"
#include "engine/victims.h"

enum { DEEPEST = 32 };

struct arguments {
    int64_t level;
    bool claims, ignored;
};

static const struct argument known[] = {
    { "ancestorReclaimLevel", ARG_INT, offsetof(struct arguments, level) },
    { "capacity.DynamicResourceAllocationEnable", ARG_TRUTH, offsetof(struct arguments, claims) },
    { "capacity.DRAConsumableCapacityEnable", ARG_TRUTH, offsetof(struct arguments, ignored) },
};

struct account {
    const struct queue *queue;
    struct account *up; /* its parent, in a tree */
    size_t depth;
    bool is_inner; /* it has children */
    wide *allocated, *inqueue, *elastic, *guarantee, *deserved, *cap, *real;
    bool *names;    /* of which something is deserved */
    bool *stated;   /* of which deserved says something, be it nothing */
    bool *has_cap;  /* dimensions that the cap names, or inherits */
    bool *real_has; /* dimensions of which real says something */
    wide *left;     /* while victims are chosen */
    bool has_deserved;
};

struct capacity {
    struct account *at; /* by queue->at */
    size_t n;
    bool is_tree, is_broken;
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);

    *out = a;
    if (r == 0 && a->level < 0)
        return err_set(err, -EINVAL, "/ancestorReclaimLevel: 0 or more");
    return r;
}

static struct account *account_of(struct plugin_use *use, const struct queue *queue)
{
    struct capacity *c = use->state;

    return queue && queue->at < c->n ? &c->at[queue->at] : NULL;
}

/* --- Building the accounts */

static void account_init(struct session *s, struct account *a, const struct queue *queue)
{
    size_t n = s->model->dims.n;

    a->queue = queue;
    a->allocated = res_new(s);
    a->inqueue = res_new(s);
    a->elastic = res_new(s);
    a->guarantee = res_new(s);
    a->deserved = res_new(s);
    a->cap = res_new(s);
    a->real = res_new(s);
    a->names = ARENA_NEW0_N(&s->arena, bool, n + 1);
    a->stated = ARENA_NEW0_N(&s->arena, bool, n + 1);
    a->has_cap = ARENA_NEW0_N(&s->arena, bool, n + 1);
    a->real_has = ARENA_NEW0_N(&s->arena, bool, n + 1);
    for (size_t d = 0; d < queue->n_sums; d++)
        a->allocated[d] = queue->allocated[d];
    res_reserved(s, queue, a->inqueue, a->elastic);
    res_add_amounts(s, a->guarantee, a->stated, &queue->kept->guarantee);
    res_add_amounts(s, a->deserved, a->stated, &queue->kept->deserved);
    res_add_amounts(s, a->cap, a->has_cap, &queue->kept->capability);
    for (uint32_t d = DIM_CPU; d <= DIM_MEMORY; d++)
        if (a->cap[d] <= 0)
            a->has_cap[d] = false; /* nothing of it stated is no limit on it */
}

static bool join_tree(struct capacity *c, struct model *model)
{
    bool fine = queue_find(model, "root") && queue_find(model, "root")->kept;

    for (size_t i = 0; i < c->n; i++) {
        struct account *a = &c->at[i];
        const char *parent = a->queue->kept->parent ? a->queue->kept->parent : "root";
        const struct queue *up = queue_find(model, parent);
        if (text_eq(a->queue->name, "root"))
            continue;
        if (!up || !up->kept) {
            fine = false;
            continue;
        }
        a->up = &c->at[up->at];
        a->up->is_inner = true;
    }
    for (size_t i = 0; i < c->n; i++) {
        size_t depth = 0;
        for (const struct account *at = c->at[i].up; at && depth <= c->n; at = at->up)
            depth++;
        c->at[i].depth = depth;
        if (depth > c->n || depth >= DEEPEST)
            return false; /* a circle */
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].is_inner && c->at[i].queue->n_jobs)
            fine = false;
    return fine;
}

static void add_up(struct session *s, struct capacity *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct account *a = &c->at[i];
        if (a->is_inner)
            continue;
        for (struct account *up = a->up; up; up = up->up)
            for (size_t d = 0; d < s->model->dims.n; d++) {
                up->allocated[d] += a->allocated[d];
                up->inqueue[d] += a->inqueue[d];
                up->elastic[d] += a->elastic[d];
            }
    }
}

static void note_names(const struct session *s, struct account *a)
{
    for (size_t d = 0; d < s->model->dims.n; d++) {
        a->names[d] = a->deserved[d] > 0;
        /* Of cpu and memory nothing stated is nothing said. */
        a->stated[d] = (a->stated[d] && d != DIM_CPU && d != DIM_MEMORY) || a->names[d];
        a->has_deserved = a->has_deserved || (a->names[d] && d != DIM_PODS);
    }
}

/* What a queue may hold: what is not guaranteed to its neighbours, within its cap. */
static void set_real(struct session *s, struct account *a, const wide *whole, const bool *has,
                     const wide *guaranteed)
{
    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide rest = whole[d] > guaranteed[d] ? whole[d] - guaranteed[d] : 0;
        a->real[d] = rest + a->guarantee[d];
        a->real_has[d] = has[d] || a->guarantee[d] > 0;
        if (a->has_cap[d] && a->real_has[d] && a->cap[d] < a->real[d])
            a->real[d] = a->cap[d];
    }
}

static void set_flat(struct session *s, struct capacity *c, const bool *there)
{
    wide *guaranteed = res_new(s);

    for (size_t i = 0; i < c->n; i++)
        for (size_t d = 0; d < s->model->dims.n; d++)
            guaranteed[d] += c->at[i].guarantee[d];
    for (size_t i = 0; i < c->n; i++) {
        struct account *a = &c->at[i];
        set_real(s, a, s->total, there, guaranteed);
        for (size_t d = 0; d < s->model->dims.n; d++) {
            if ((a->real_has[d] || d == DIM_CPU || d == DIM_MEMORY) && a->deserved[d] > a->real[d])
                a->deserved[d] = a->real[d];
            if (a->deserved[d] < a->guarantee[d])
                a->deserved[d] = a->guarantee[d];
        }
        note_names(s, a);
    }
}

/* A cap that leaves a dimension out has its parent's. */
static void inherit(struct session *s, struct account *a)
{
    for (size_t d = 0; d < s->model->dims.n; d++) {
        if (a->deserved[d] < a->guarantee[d])
            a->deserved[d] = a->guarantee[d];
        if (!a->has_cap[d] && a->up->has_cap[d]) {
            a->has_cap[d] = true;
            a->cap[d] = a->up->cap[d];
        }
    }
}

static void set_children(struct session *s, struct capacity *c, struct account *up)
{
    wide *guaranteed = res_new(s);

    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].up == up)
            for (size_t d = 0; d < s->model->dims.n; d++)
                guaranteed[d] += c->at[i].guarantee[d];
    for (size_t i = 0; i < c->n; i++) {
        struct account *a = &c->at[i];
        if (a->up != up)
            continue;
        inherit(s, a);
        set_real(s, a, up->real, up->real_has, guaranteed);
        note_names(s, a);
        set_children(s, c, a);
    }
}

static void set_tree(struct session *s, struct capacity *c, const bool *there)
{
    struct account *root = &c->at[queue_find(s->model, "root")->at];

    memset(root->guarantee, 0, s->model->dims.n * sizeof(wide));
    memset(root->deserved, 0, s->model->dims.n * sizeof(wide));
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].up == root)
            for (size_t d = 0; d < s->model->dims.n; d++) {
                root->guarantee[d] += c->at[i].guarantee[d];
                root->deserved[d] += c->at[i].deserved[d];
            }
    for (size_t d = 0; d < s->model->dims.n; d++) {
        root->real[d] = root->has_cap[d] ? root->cap[d] : RES_INFINITE;
        root->real_has[d] = true;
    }
    (void)there;
    note_names(s, root);
    set_children(s, c, root);
}

static void open_session(struct session *s, struct plugin_use *use)
{
    struct capacity *c = ARENA_NEW0(&s->arena, struct capacity);
    bool *there = ARENA_NEW0_N(&s->arena, bool, s->model->dims.n + 1);

    use->state = c;
    c->n = s->model->queues.n;
    c->at = ARENA_NEW0_N(&s->arena, struct account, c->n + 1);
    c->is_tree = use->enabled & BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY);
    for (size_t d = 0; d < s->model->dims.n; d++)
        there[d] = d == DIM_CPU || d == DIM_MEMORY || s->total[d] > 0;
    for (size_t i = 0; i < c->n; i++)
        account_init(s, &c->at[i], s->model->queues.at[i]);
    if (!c->is_tree) {
        set_flat(s, c, there);
        return;
    }
    c->is_broken = !join_tree(c, s->model);
    if (c->is_broken)
        return;
    add_up(s, c);
    set_tree(s, c, there);
}

/* --- Orders */

static struct share share_of(const struct session *s, const struct account *a)
{
    struct share most = { 0, 1 };

    if (!a->has_deserved)
        return (struct share){ 1, 1 };
    for (size_t d = 0; d < s->model->dims.n; d++) {
        struct share one = { a->allocated[d], a->deserved[d] };
        if (a->names[d] && share_cmp(one, most) > 0)
            most = one;
    }
    return most;
}

static const struct account *at_depth(const struct account *a, size_t depth)
{
    while (a->depth > depth)
        a = a->up;
    return a;
}

/* How far down from the root two queues share their ancestors (themselves left out). */
static size_t common_depth(const struct account *a, const struct account *b)
{
    size_t depth = 0;

    while (depth + 1 < a->depth && depth + 1 < b->depth &&
           at_depth(a, depth + 1) == at_depth(b, depth + 1))
        depth++;
    return depth;
}

static int by_share(const struct session *s, const struct account *x, const struct account *y)
{
    int cmp = share_cmp(share_of(s, x), share_of(s, y));

    return cmp ? cmp : (int)y->has_deserved - (int)x->has_deserved;
}

static int queue_order(struct session *s, struct plugin_use *use, const struct queue *a,
                       const struct queue *b)
{
    const struct capacity *c = use->state;
    const struct account *x = account_of(use, a), *y = account_of(use, b);

    if (a->kept->priority != b->kept->priority)
        return a->kept->priority > b->kept->priority ? -1 : 1;
    if (!x || !y || c->is_broken)
        return 0;
    if (!c->is_tree)
        return by_share(s, x, y);
    if (x->is_inner != y->is_inner)
        return x->is_inner ? 1 : -1;
    if (!x->is_inner && x->depth && y->depth) {
        size_t depth = common_depth(x, y) + 1;
        return by_share(s, at_depth(x, depth), at_depth(y, depth));
    }
    return by_share(s, x, y);
}

static int victim_queue_order(struct session *s, struct plugin_use *use, const struct queue *a,
                              const struct queue *b, const struct queue *for_queue)
{
    const struct capacity *c = use->state;
    const struct account *x = account_of(use, a), *y = account_of(use, b);
    const struct account *taker = account_of(use, for_queue);
    size_t n, m;

    (void)s;
    if (!c->is_tree || c->is_broken || !x || !y || !taker)
        return 0;
    n = common_depth(x, taker);
    m = common_depth(y, taker);
    return n == m ? 0 : n > m ? -1 : 1;
}

/* --- Room */

static bool why_not(struct why *why, enum wait_code code, const struct account *a, uint32_t dim,
                    wide asked)
{
    if (why)
        *why = (struct why){ .code = code,
                             .dim = dim,
                             .asked = asked,
                             .free = dim == NOWHERE ? 0 : a->real[dim] - a->allocated[dim],
                             .limit = dim == NOWHERE ? 0 : a->real[dim],
                             .blocker = a->queue->name };
    return false;
}

static bool is_beneath(const struct account *a, const struct account *top)
{
    while (a && a != top)
        a = a->up;
    return a;
}

/* What the tasks of a queue and of those beneath it hold. */
static void claims_held(struct session *s, const struct capacity *c, const struct account *top,
                        struct claims *claims)
{
    for (size_t q = 0; q < c->n; q++) {
        if (!is_beneath(&c->at[q], top))
            continue;
        for (const struct job *job = c->at[q].queue->first; job; job = job->queue_next)
            for (size_t i = 0; i < job->n_tasks; i++)
                if (state_is_allocated(job->tasks[i].state) ||
                    job->tasks[i].state == BERTH_TASK_PIPELINED)
                    claims_add(s, claims, job->tasks[i].group->kind);
    }
}

/* The class of devices that a dimension counts, or NULL. */
static const char *class_of(const struct session *s, uint32_t d)
{
    static const char prefix[] = "deviceclass/";
    const char *name = s->model->dims.at[d]->name;

    return text_begins(name, prefix) ? name + strlen(prefix) : NULL;
}

static bool caps_devices(const struct session *s, const struct account *a)
{
    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (a->has_cap[d] && class_of(s, d))
            return true;
    return false;
}

/*
 * Classes of devices that the queue caps: what it holds and what is asked for, each claim once. Of
 * a class of which nothing new is asked for nothing is said.
 */
static bool claims_fit(struct session *s, const struct capacity *c, const struct account *a,
                       const struct kind *kind, struct why *why)
{
    CLEANUP(claims_fini) struct claims claims = { 0 };
    size_t n_held;

    if (!caps_devices(s, a))
        return true;
    claims_held(s, c, a, &claims);
    n_held = claims.list.n;
    claims_add(s, &claims, kind);
    for (uint32_t d = 0; d < s->model->dims.n; d++) {
        const char *class = class_of(s, d);
        struct claims held = claims;
        int64_t n;
        if (!a->has_cap[d] || !class)
            continue;
        held.list.n = n_held;
        n = claims_count(&claims, class);
        if (n > claims_count(&held, class) && (wide)n * 1000 > a->cap[d])
            return why_not(why, WAIT_OVER_CAP, a, d, (wide)n * 1000);
    }
    return true;
}

static bool within_real(const struct account *a, const struct asks *asks, struct why *why)
{
    uint32_t dim = res_over(a->allocated, asks, a->real);

    if (dim == NOWHERE)
        return true;
    return why_not(why, asks_of(asks, dim) > a->real[dim] ? WAIT_LARGER_THAN_QUEUE : WAIT_OVER_CAP,
                   a, dim, asks_of(asks, dim));
}

static bool allocatable(struct session *s, struct plugin_use *use, const struct queue *queue,
                        const struct kind *kind, struct why *why)
{
    const struct capacity *c = use->state;
    const struct arguments *args = use->config;
    const struct account *a = account_of(use, queue);

    if (!a || c->is_broken)
        return a ? why_not(why, WAIT_QUEUE_UNKNOWN, a, NOWHERE, 0) : false;
    if (queue->kept->state != QUEUE_OPEN)
        return why_not(why, WAIT_QUEUE_CLOSED, a, NOWHERE, 0);
    if (c->is_tree && a->is_inner)
        return why_not(why, WAIT_QUEUE_UNKNOWN, a, NOWHERE, 0);
    for (; a; a = a->up)
        if ((args->claims && kind->spec->claims.n && !claims_fit(s, c, a, kind, why)) ||
            !within_real(a, kind_charge(s->model, kind), why))
            return false;
    return true;
}

/* Whether in some dimension that is asked for the queue stays within what it deserves. */
static bool stays_deserved(const struct account *a, const struct asks *asks)
{
    for (size_t i = 0; i < asks->n; i++) {
        uint32_t d = asks->at[i].dim;
        if (d != DIM_PODS && a->allocated[d] + asks->at[i].value <= a->deserved[d])
            return true;
    }
    return false;
}

static bool preemptive(struct session *s, struct plugin_use *use, const struct queue *queue,
                       const struct task *task, bool rides)
{
    const struct capacity *c = use->state;
    const struct arguments *args = use->config;
    const struct account *a = account_of(use, queue);
    const struct asks *asks = task_asks(task);

    (void)s, (void)rides;
    if (!a || c->is_broken || queue->kept->state != QUEUE_OPEN || !within_real(a, asks, NULL))
        return false;
    if (stays_deserved(a, asks))
        return true;
    a = a->up;
    for (int64_t i = 0; c->is_tree && i < args->level && a && a->up; i++, a = a->up)
        if (stays_deserved(a, asks))
            return true;
    return false;
}

/* --- Victims */

static bool share_a_name(const struct asks *a, const struct asks *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].dim != DIM_PODS && asks_of(b, a->at[i].dim))
            return true;
    return false;
}

/* The queue's deserved amounts say nothing about what the victim holds. */
static bool says_nothing(const struct account *a, const struct asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        if (a->names[asks->at[i].dim])
            return false;
    return true;
}

static wide *left_of(struct session *s, struct account *a)
{
    if (!a->left) {
        a->left = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);
        res_copy(s, a->left, a->allocated);
    }
    return a->left;
}

static bool exceeds(struct session *s, struct account *a, const struct asks *asks)
{
    const wide *left = left_of(s, a);

    for (size_t i = 0; i < asks->n; i++) {
        uint32_t d = asks->at[i].dim;
        if (d != DIM_PODS && a->stated[d] && left[d] > a->deserved[d])
            return true;
    }
    return false;
}

static bool keeps_guarantee(struct session *s, struct account *a, const struct asks *asks)
{
    const wide *left = left_of(s, a);

    for (size_t d = 0; d < s->model->dims.n; d++)
        if (a->guarantee[d] > 0 && left[d] - asks_of(asks, (uint32_t)d) < a->guarantee[d])
            return false;
    return true;
}

static const struct account *ancestor(const struct account *a, int64_t distance)
{
    while (a && distance-- > 0)
        a = a->up;
    return a;
}

/* Ancestors up to the level that are not the taker's too must be above what they deserve. */
static bool ancestors_exceed(struct session *s, struct account *a, const struct account *taker,
                             int64_t level, const struct asks *asks)
{
    for (int64_t i = 1; i <= level; i++) {
        const struct account *mine = ancestor(a, i);
        if (!mine || !mine->up || mine == ancestor(taker, i))
            continue;
        if (!says_nothing(mine, asks) && !exceeds(s, (struct account *)mine, asks))
            return false;
    }
    return true;
}

static bool share_an_ancestor(const struct account *a, const struct account *b, int64_t level)
{
    for (int64_t i = 1; i <= level; i++) {
        const struct account *mine = ancestor(a, i);
        for (int64_t k = 1; mine && mine->up && k <= level; k++)
            if (ancestor(b, k) == mine)
                return true;
    }
    return false;
}

static bool is_victim(struct session *s, const struct arguments *args, const struct capacity *c,
                      struct account *taker, const struct task *task, const struct task *victim,
                      struct account *a)
{
    const struct asks *asks = task_asks(victim);
    int64_t level = c->is_tree ? args->level : 0;
    bool immediate = says_nothing(a, asks);

    if (!share_a_name(task_asks(task), asks) || !keeps_guarantee(s, a, asks))
        return false;
    if (!immediate && !exceeds(s, a, asks))
        return false;
    if (level && !ancestors_exceed(s, a, taker, level, asks))
        return false;
    return !(immediate && level && share_an_ancestor(a, taker, level) &&
             says_nothing(taker, task_asks(task)));
}

static enum vote reclaimable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    const struct capacity *c = use->state;
    const struct arguments *args = use->config;
    struct account *taker = account_of(use, task->group->job->queue);
    struct victims sorted = { arena_copy(s->lists, from->n ? (void *)from->at : (void *)"",
                                         from->n * sizeof(*from->at)),
                              from->n };

    if (!taker || c->is_broken)
        return VOTE_REJECT;
    victims_sort(s, &sorted, task->group->job);
    for (size_t i = 0; i < c->n; i++)
        c->at[i].left = NULL;
    for (size_t i = 0; i < sorted.n; i++) {
        struct account *a = account_of(use, sorted.at[i]->group->job->queue);
        int64_t level = c->is_tree ? args->level : 0;
        if (!a || !is_victim(s, args, c, taker, task, sorted.at[i], a))
            continue;
        to->at[to->n++] = sorted.at[i];
        res_add_asks(left_of(s, a), task_asks(sorted.at[i]), -1);
        for (struct account *up = a->up; up && level > 0; up = up->up, level--)
            res_add_asks(left_of(s, up), task_asks(sorted.at[i]), -1);
    }
    return VOTE_PERMIT;
}

/*
 * A queue that is over what it deserves, and over its guarantee, by more than any node holds stays
 * so whichever node is looked at; one that is not gives nothing. Only in between does it matter how
 * much it has.
 */
static uint64_t victims_stamp(struct session *s, struct plugin_use *use, const struct kind *kind,
                              bool reclaim)
{
    const struct capacity *c = use->state;
    bool allowed = allocatable(s, use, queue_find(s->model, kind->queue), kind, NULL);
    uint64_t stamp = allowed;

    for (size_t i = 0; i < c->n && !c->is_broken && (reclaim || !allowed); i++)
        for (uint32_t d = 0; d < s->model->dims.n; d++) {
            const struct account *a = &c->at[i];
            wide over = a->allocated[d] - a->deserved[d], spare = a->allocated[d] - a->guarantee[d];
            wide most = res_most_on_a_node(s, d);
            bool far = (over <= 0 || over > most) && (spare < 0 || spare > most);
            stamp =
                stamp_fold(stamp, allowed && far ? 2 * (over > 0) + (spare > 0) : a->allocated[d]);
        }
    return stamp;
}

/* In the order in which they are named; within the own queue there is nothing to guard. */
static enum vote evictable(struct session *s, struct plugin_use *use, const struct taking *taking,
                           const struct victims *from, struct victims *to)
{
    const struct capacity *c = use->state;

    for (size_t i = 0; i < c->n; i++)
        c->at[i].left = NULL;
    for (size_t i = 0; i < from->n; i++) {
        struct account *a = account_of(use, from->at[i]->group->job->queue);
        const struct asks *asks = task_asks(from->at[i]);
        if (taking->reclaim && (!a || c->is_broken || !keeps_guarantee(s, a, asks) ||
                                (!says_nothing(a, asks) && !exceeds(s, a, asks))))
            continue;
        to->at[to->n++] = from->at[i];
        if (taking->reclaim)
            res_add_asks(left_of(s, a), asks, -1);
    }
    return VOTE_PERMIT;
}

/* --- Admission */

static bool admits(struct session *s, const struct account *a, const wide *least, struct why *why)
{
    for (uint32_t d = 0; d < s->model->dims.n; d++) {
        wide used = a->allocated[d] + a->inqueue[d] - a->elastic[d];
        if (d == DIM_PODS || least[d] <= 0 || least[d] + used <= a->real[d])
            continue;
        return why_not(why, WAIT_NOT_ADMITTED, a, d, least[d]);
    }
    return true;
}

static enum vote job_enqueueable(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why)
{
    const struct capacity *c = use->state;
    const struct account *a = account_of(use, job->queue);
    wide *least = res_new(s);

    if (!a || c->is_broken || a->is_inner)
        return VOTE_REJECT;
    if (job->queue->kept->state != QUEUE_OPEN) {
        why_not(why, WAIT_QUEUE_CLOSED, a, NOWHERE, 0);
        return VOTE_REJECT;
    }
    res_minimum(s, job, least);
    for (; a; a = a->up)
        if (!admits(s, a, least, why))
            return VOTE_REJECT;
    return VOTE_PERMIT;
}

static void job_enqueued(struct session *s, struct plugin_use *use, const struct job *job)
{
    const struct capacity *c = use->state;

    if (c->is_broken)
        return; /* another plugin's word let it in; there may be a circle */
    for (struct account *a = account_of(use, job->queue); a; a = a->up)
        res_minimum(s, job, a->inqueue);
}

static void count(struct plugin_use *use, const struct task *task, int sign)
{
    const struct capacity *c = use->state;

    if (c->is_broken)
        return;
    for (struct account *a = account_of(use, task->group->job->queue); a; a = a->up)
        res_add_asks(a->allocated, task_asks(task), sign);
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

static const wide *deserved(struct session *s, struct plugin_use *use, const struct queue *queue)
{
    const struct account *a = account_of(use, queue);

    (void)s;
    return a ? a->deserved : NULL;
}

const struct plugin plugin_capacity = {
    .name = "capacity",
    .sees_lines = true,
    .configure = configure,
    .open = open_session,
    .queue_order = queue_order,
    .victim_queue_order = victim_queue_order,
    .allocatable = allocatable,
    .preemptive = preemptive,
    .reclaimable = reclaimable,
    .victims_stamp = victims_stamp,
    .evictable = evictable,
    .job_enqueueable = job_enqueueable,
    .job_enqueued = job_enqueued,
    .deserved = deserved,
    .on_allocate = on_allocate,
    .on_deallocate = on_deallocate,
};

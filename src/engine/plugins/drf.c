/*
 * Dominant resource fairness: the job that holds the smallest share of what it holds most of goes
 * first; with `hierarchy`, queues by their place in a tree of weights.
 * Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011; Bhattacharya et al.,
 * "Hierarchical Scheduling for Diverse Datacenter Workloads", SoCC 2013.
 */
#include <string.h>

#include "base/str.h"
#include "engine/plugins.h"
#include "engine/res.h"

/* A step of a queue's place, or a job beneath it. */
struct branch {
    const char *name;
    int64_t weight;
    wide *allocated, *request; /* request of jobs only */
    struct share share;
    bool saturated;
    const struct job *job; /* a leaf */
    struct branch *parent;
    VEC_OF(struct branch *) children;
};

struct drf {
    struct branch *root;
    wide *held;     /* by all jobs together */
    bool *demanded; /* by dimension: not all of it is held */
};

static struct share job_share(struct session *s, const struct job *job, const struct asks *more)
{
    wide held[64] = { 0 }, *at = s->model->dims.n <= COUNT_OF(held) ? held : res_new(s);

    res_job(s, job, true, at);
    if (more)
        res_add_asks(at, more, 1);
    return res_dominant(s, at, s->total);
}

static int job_order(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b)
{
    (void)use;
    return share_cmp(job_share(s, a, NULL), job_share(s, b, NULL));
}

/* What a victim job would have left, as more and more of its tasks are named. */
struct remainder {
    const struct job *job;
    wide *left;
};

static wide *left_of(struct session *s, struct remainder *list, size_t *n, const struct job *job)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i].job == job)
            return list[i].left;
    list[*n] = (struct remainder){ job, res_new(s) };
    res_job(s, job, true, list[*n].left);
    return list[(*n)++].left;
}

static enum vote preemptable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    struct share mine = job_share(s, task->group->job, task_asks(task));
    struct remainder *list = ARENA_NEW0_N(&s->arena, struct remainder, from->n + 1);
    size_t n = 0;

    (void)use;
    for (size_t i = 0; i < from->n; i++) {
        wide *left = left_of(s, list, &n, from->at[i]->group->job);
        struct share theirs;
        res_add_asks(left, task_asks(from->at[i]), -1);
        theirs = res_dominant(s, left, s->total);
        if (share_cmp(mine, theirs) < 0 || share_near(mine, theirs))
            to->at[to->n++] = from->at[i];
    }
    return VOTE_PERMIT;
}

/* --- The tree */

static struct branch *branch_new(struct session *s, const char *name, int64_t weight,
                                 struct branch *parent)
{
    struct branch *b = ARENA_NEW0(&s->arena, struct branch);
    struct branch **children;

    b->name = name;
    b->weight = weight < 1 ? 1 : weight;
    b->allocated = res_new(s);
    b->parent = parent;
    if (!parent)
        return b;
    children = ARENA_NEW0_N(&s->arena, struct branch *, parent->children.n + 1);
    if (parent->children.n)
        memcpy(children, parent->children.at, parent->children.n * sizeof(*children));
    children[parent->children.n] = b;
    parent->children.at = children;
    parent->children.n++;
    return b;
}

/* The next step of "a/b/c", or NULL at the end. */
static char *next_step(struct session *s, const char **text)
{
    size_t n;
    char *step;

    if (!*text || !**text)
        return NULL;
    n = strcspn(*text, "/");
    step = arena_copy(&s->arena, *text, n + 1);
    step[n] = '\0';
    *text += n + ((*text)[n] == '/');
    return step;
}

static struct branch *branch_of(struct session *s, struct drf *drf, const struct queue *queue)
{
    const char *steps = queue->kept->hierarchy, *weights = queue->kept->hierarchy_weights;
    struct branch *at = drf->root;
    char *step, *weight;

    (void)next_step(s, &steps); /* the root's */
    (void)next_step(s, &weights);
    while ((step = next_step(s, &steps))) {
        struct branch *child = NULL;
        int64_t value = 1;
        weight = next_step(s, &weights);
        for (size_t i = 0; i < at->children.n; i++)
            if (text_eq(at->children.at[i]->name, step) && !at->children.at[i]->job)
                child = at->children.at[i];
        if (!child) {
            if (!weight || text_to_int(weight, 1, INT32_MAX, &value) < 0)
                value = 1;
            child = branch_new(s, step, value, at);
        }
        at = child;
    }
    return at;
}

/* A leaf wants no more, or cannot get more of what it lacks. */
static bool leaf_is_full(const struct session *s, const struct drf *drf, const struct branch *b)
{
    for (size_t d = 0; d < s->model->dims.n; d++) {
        if (b->allocated[d] && b->request[d] && b->allocated[d] >= b->request[d])
            return true;
        if (b->allocated[d] && !drf->demanded[d] && b->request[d])
            return true;
    }
    return false;
}

/* by/of of an amount, to the nearest whole one: what is equal must not differ by a rest that was cut. */
static wide scaled(wide amount, struct share by, struct share of)
{
    wide up, down;

    if (!__builtin_mul_overflow(amount, by.num, &up) && !__builtin_mul_overflow(up, of.den, &up) &&
        !__builtin_mul_overflow(by.den, of.num, &down))
        return (up + down / 2) / down;
    return (wide)((double)amount * ((double)by.num / (double)by.den) *
                      ((double)of.den / (double)of.num) +
                  0.5);
}

static void scale_add(const struct session *s, wide *to, const wide *from, struct share by,
                      struct share of)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        to[d] += scaled(from[d], by, of);
}

static void branch_work_out(struct session *s, struct drf *drf, struct branch *b)
{
    struct share least = { 1, 1 };

    if (b->job) {
        b->saturated = leaf_is_full(s, drf, b);
        b->share = res_dominant(s, b->allocated, s->total);
        return;
    }
    b->saturated = true;
    memset(b->allocated, 0, s->model->dims.n * sizeof(wide));
    for (size_t i = 0; i < b->children.n; i++) {
        struct branch *child = b->children.at[i];
        branch_work_out(s, drf, child);
        b->saturated = b->saturated && child->saturated;
        if (!child->saturated && child->share.num && share_cmp(child->share, least) < 0)
            least = child->share;
    }
    for (size_t i = 0; i < b->children.n; i++) {
        const struct branch *child = b->children.at[i];
        if (!child->share.num)
            continue;
        if (child->saturated)
            for (size_t d = 0; d < s->model->dims.n; d++)
                b->allocated[d] += child->allocated[d];
        else
            scale_add(s, b->allocated, child->allocated, least, child->share);
    }
    b->share = res_dominant(s, b->allocated, s->total);
}

/* Shares anew, after somebody came to hold more or less. */
static void work_out(struct session *s, struct drf *drf)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        drf->demanded[d] = drf->held[d] < s->total[d];
    branch_work_out(s, drf, drf->root);
}

static void hold(struct drf *drf, struct branch *leaf, const struct task *task, int sign)
{
    res_add_asks(leaf->allocated, task_asks(task), sign);
    res_add_asks(drf->held, task_asks(task), sign);
}

static int branch_cmp(const struct branch *a, const struct branch *b)
{
    if (a->saturated != b->saturated)
        return a->saturated ? 1 : -1;
    return fraction_cmp(a->share.num, a->share.den * a->weight, b->share.num,
                        b->share.den * b->weight);
}

static size_t path_of(struct branch *b, struct branch *path[32])
{
    size_t n = 0, i;

    for (struct branch *at = b; at && n < 32; at = at->parent)
        path[n++] = at;
    for (i = 0; i < n / 2; i++) {
        struct branch *swap = path[i];
        path[i] = path[n - 1 - i];
        path[n - 1 - i] = swap;
    }
    return n;
}

static int compare_places(struct session *s, struct drf *drf, const struct queue *a,
                          const struct queue *b)
{
    struct branch *x[32], *y[32];
    size_t n = path_of(branch_of(s, drf, a), x), m = path_of(branch_of(s, drf, b), y);

    for (size_t i = 0; i < n && i < m; i++) {
        int cmp = x[i] == y[i] ? 0 : branch_cmp(x[i], y[i]);
        if (cmp)
            return cmp;
    }
    return 0;
}

static bool has_tree(const struct plugin_use *use)
{
    return use->enabled & BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY);
}

static void open_session(struct session *s, struct plugin_use *use)
{
    struct drf *drf = ARENA_NEW0(&s->arena, struct drf);

    use->state = drf;
    if (!has_tree(use))
        return;
    drf->root = branch_new(s, "root", 1, NULL);
    drf->held = res_new(s);
    drf->demanded = ARENA_NEW0_N(&s->arena, bool, s->model->dims.n + 1);
    JOB_EACH (job, s->model) {
        struct branch *leaf;
        if (!job->queue || !job->queue->kept)
            continue;
        leaf = branch_new(s, job->id, 1, branch_of(s, drf, job->queue));
        leaf->job = job;
        leaf->request = res_new(s);
        res_job(s, job, false, leaf->allocated);
        res_job(s, job, false, drf->held);
        res_copy(s, leaf->request, leaf->allocated);
        for (size_t g = 0; g < job->n_groups; g++)
            res_add_asks(leaf->request, &job->groups[g].kind->asks,
                         job->groups[g].n[BERTH_TASK_PENDING]);
    }
    work_out(s, drf);
}

static int queue_order(struct session *s, struct plugin_use *use, const struct queue *a,
                       const struct queue *b)
{
    return has_tree(use) ? compare_places(s, use->state, a, b) : 0;
}

static struct branch *leaf_of(struct branch *b, const struct job *job)
{
    struct branch *found = b->job == job ? b : NULL;

    for (size_t i = 0; !found && i < b->children.n; i++)
        found = leaf_of(b->children.at[i], job);
    return found;
}

static void changed(struct session *s, struct plugin_use *use, const struct task *task, int sign)
{
    struct drf *drf = use->state;
    struct branch *leaf;

    if (!has_tree(use))
        return;
    leaf = leaf_of(drf->root, task->group->job);
    if (!leaf)
        return;
    hold(drf, leaf, task, sign);
    work_out(s, drf);
}

static void on_allocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    changed(s, use, task, 1);
}

static void on_deallocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    changed(s, use, task, -1);
}

/* A victim is one without which the taker's queue still comes before the victim's. */
static enum vote reclaimable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    struct drf *drf = use->state;
    struct branch *mine;

    if (!has_tree(use))
        return VOTE_ABSTAIN;
    mine = leaf_of(drf->root, task->group->job);
    hold(drf, mine, task, 1);
    for (size_t i = 0; i < from->n; i++) {
        struct branch *leaf = leaf_of(drf->root, from->at[i]->group->job);
        hold(drf, leaf, from->at[i], -1);
        work_out(s, drf);
        if (compare_places(s, drf, task->group->job->queue, from->at[i]->group->job->queue) < 0)
            to->at[to->n++] = from->at[i];
        hold(drf, leaf, from->at[i], 1);
    }
    hold(drf, mine, task, -1);
    work_out(s, drf);
    return VOTE_PERMIT;
}

const struct plugin plugin_drf = {
    .name = "drf",
    .open = open_session,
    .job_order = job_order,
    .queue_order = queue_order,
    .preemptable = preemptable,
    .reclaimable = reclaimable,
    .on_allocate = on_allocate,
    .on_deallocate = on_deallocate,
};

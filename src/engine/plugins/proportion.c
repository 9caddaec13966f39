/*
 * Proportion: the cluster is divided among the queues that have jobs, by weight, up to what each
 * asks for and may have; what one leaves goes to the others.
 */
#include <string.h>

#include "engine/devices.h"
#include "engine/plugins.h"
#include "engine/res.h"

/*
 * Divided in 2^-20 of a unit, so that rounds of division lose nothing. At the end the rest of a
 * unit is dropped, but for what division may have lost: a task that just fits must.
 */
enum { FINE = 20, LOST = 1 << 10 };

struct portion {
    const struct queue *queue;
    wide weight;
    wide *deserved, *allocated, *request, *inqueue, *elastic, *guarantee, *real;
    bool met;
};

struct proportion {
    struct portion *at; /* by queue->at; queue NULL for those without jobs */
    size_t n;
};

static struct portion *portion_of(struct plugin_use *use, const struct queue *queue)
{
    struct proportion *p = use->state;

    if (!queue || queue->at >= p->n || !p->at[queue->at].queue)
        return NULL;
    return &p->at[queue->at];
}

/* What a queue may have at most: what no other is guaranteed, within its cap. */
static void set_real(struct session *s, struct portion *q, const wide *guaranteed)
{
    const struct berth_amounts *cap = &q->queue->kept->capability;
    wide *limit = res_new(s);
    bool *has = ARENA_NEW0_N(&s->arena, bool, s->model->dims.n + 1);

    res_add_amounts(s, limit, has, cap);
    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide rest = s->total[d] > guaranteed[d] ? s->total[d] - guaranteed[d] : 0;
        q->real[d] = rest + q->guarantee[d];
        if (has[d] && (d >= DIM_OTHER || d == DIM_PODS || limit[d] > 0) && limit[d] < q->real[d])
            q->real[d] = limit[d];
    }
}

static bool is_met(const struct session *s, const struct portion *q)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        if ((q->request[d] << FINE) > q->deserved[d] + ((wide)1 << FINE) / 10)
            return false;
    return true;
}

static wide smaller(wide a, wide b)
{
    return a < b ? a : b;
}

/* One queue's part of what remains in this round. */
static void take_part(struct session *s, struct portion *q, const wide *remaining, wide weights,
                      wide *balance)
{
    bool same = true;

    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide before = q->deserved[d];
        wide now = before + remaining[d] * q->weight / weights;
        now = smaller(now, q->real[d] << FINE);
        now = smaller(now, q->request[d] << FINE);
        if (now < q->guarantee[d] << FINE)
            now = q->guarantee[d] << FINE;
        q->deserved[d] = now;
        same = same && now == before;
        balance[d] += now - before;
    }
    q->met = is_met(s, q) || same;
}

static bool has_rest(const struct session *s, const wide *remaining)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        if (d != DIM_PODS && remaining[d] >= ((wide)1 << FINE) / 10)
            return true;
    return false;
}

static void fill(struct session *s, struct proportion *p)
{
    size_t n = s->model->dims.n;
    wide *remaining = res_new(s), *balance = res_new(s);

    for (size_t d = 0; d < n; d++)
        remaining[d] = s->total[d] << FINE;
    for (size_t round = 0; round < 16 * p->n + 64; round++) {
        wide weights = 0;
        bool same = true;
        for (size_t i = 0; i < p->n; i++)
            if (p->at[i].queue && !p->at[i].met)
                weights += p->at[i].weight;
        if (!weights)
            break;
        memset(balance, 0, n * sizeof(wide));
        for (size_t i = 0; i < p->n; i++)
            if (p->at[i].queue && !p->at[i].met)
                take_part(s, &p->at[i], remaining, weights, balance);
        for (size_t d = 0; d < n; d++) {
            wide rest = remaining[d] > balance[d] ? remaining[d] - balance[d] : 0;
            same = same && rest == remaining[d];
            remaining[d] = rest;
        }
        if (same || !has_rest(s, remaining))
            break;
    }
    for (size_t i = 0; i < p->n; i++)
        for (size_t d = 0; p->at[i].queue && d < n; d++)
            p->at[i].deserved[d] = (p->at[i].deserved[d] + LOST) >> FINE;
}

static void portion_init(struct session *s, struct portion *q, const struct queue *queue)
{
    q->queue = queue;
    q->weight = queue->kept->weight > 0 ? queue->kept->weight : 1;
    q->deserved = res_new(s);
    q->allocated = res_new(s);
    q->request = res_new(s);
    q->inqueue = res_new(s);
    q->elastic = res_new(s);
    q->guarantee = res_new(s);
    q->real = res_new(s);
    for (size_t d = 0; d < queue->n_sums; d++) {
        q->allocated[d] = queue->allocated[d];
        q->request[d] = queue->allocated[d] + queue->pending[d];
    }
    res_add_amounts(s, q->guarantee, NULL, &queue->kept->guarantee);
    res_reserved(s, queue, q->inqueue, q->elastic);
}

static void open_session(struct session *s, struct plugin_use *use)
{
    struct proportion *p = ARENA_NEW0(&s->arena, struct proportion);
    wide *guaranteed = res_new(s);

    use->state = p;
    p->n = s->model->queues.n;
    p->at = ARENA_NEW0_N(&s->arena, struct portion, p->n + 1);
    for (size_t i = 0; i < p->n; i++) {
        const struct queue *queue = s->model->queues.at[i];
        res_add_amounts(s, guaranteed, NULL, &queue->kept->guarantee);
        if (queue->n_jobs)
            portion_init(s, &p->at[i], queue);
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].queue)
            set_real(s, &p->at[i], guaranteed);
    fill(s, p);
}

static int queue_order(struct session *s, struct plugin_use *use, const struct queue *a,
                       const struct queue *b)
{
    const struct portion *x = portion_of(use, a), *y = portion_of(use, b);

    if (a->kept->priority != b->kept->priority)
        return a->kept->priority > b->kept->priority ? -1 : 1;
    if (!x || !y)
        return 0;
    return share_cmp(res_dominant(s, x->allocated, x->deserved),
                     res_dominant(s, y->allocated, y->deserved));
}

static bool overused(struct session *s, struct plugin_use *use, const struct queue *queue)
{
    const struct portion *q = portion_of(use, queue);

    return q && res_within(s, q->deserved, q->allocated);
}

static bool may_take(const struct portion *q, const struct asks *asks, struct why *why)
{
    uint32_t dim;

    if (!q)
        return true;
    if (q->queue->kept->state != QUEUE_OPEN) {
        if (why)
            *why = (struct why){ .code = WAIT_QUEUE_CLOSED,
                                 .dim = NOWHERE,
                                 .blocker = q->queue->name };
        return false;
    }
    dim = res_over(q->allocated, asks, q->deserved);
    if (dim == NOWHERE)
        return true;
    if (why)
        *why = (struct why){ .code = WAIT_OVER_CAP,
                             .dim = dim,
                             .asked = asks_of(asks, dim),
                             .free = q->deserved[dim] - q->allocated[dim],
                             .limit = q->deserved[dim],
                             .blocker = q->queue->name };
    return false;
}

static bool allocatable(struct session *s, struct plugin_use *use, const struct queue *queue,
                        const struct kind *kind, struct why *why)
{
    return may_take(portion_of(use, queue), kind_charge(s->model, kind), why);
}

static bool preemptive(struct session *s, struct plugin_use *use, const struct queue *queue,
                       const struct task *task, bool rides)
{
    (void)s, (void)rides;
    return may_take(portion_of(use, queue), task_asks(task), NULL);
}

/* In any dimension; slots, which tasks that ask do not name, say nothing but in the reference. */
static bool is_over(const struct session *s, const wide *held, const struct portion *q)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        if (held[d] > q->deserved[d] && (d != DIM_PODS || s->setup->is_reference))
            return true;
    return false;
}

static enum vote reclaimable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    struct proportion *p = use->state;
    wide **left = ARENA_NEW0_N(s->lists, wide *, p->n + 1);

    (void)task;
    for (size_t i = 0; i < from->n; i++) {
        const struct queue *queue = from->at[i]->group->job->queue;
        const struct portion *q = portion_of(use, queue);
        if (!q)
            continue;
        if (!left[queue->at]) {
            left[queue->at] = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);
            res_copy(s, left[queue->at], q->allocated);
        }
        if (!is_over(s, left[queue->at], q))
            continue;
        res_add_asks(left[queue->at], task_asks(from->at[i]), -1);
        to->at[to->n++] = from->at[i];
    }
    return VOTE_PERMIT;
}

/*
 * Whose queue is over what it deserves by more than any node holds is a victim whichever node is
 * looked at, and whose is not over is none; only in between does it matter how much it has.
 */
static uint64_t victims_stamp(struct session *s, struct plugin_use *use, const struct kind *kind,
                              bool reclaim)
{
    const struct proportion *p = use->state;
    bool allowed = allocatable(s, use, queue_find(s->model, kind->queue), kind, NULL);
    uint64_t stamp = allowed;

    for (size_t i = 0; i < p->n && (reclaim || !allowed); i++)
        for (uint32_t d = 0; p->at[i].queue && d < s->model->dims.n; d++) {
            wide over = p->at[i].allocated[d] - p->at[i].deserved[d];
            bool far = over <= 0 || over > res_most_on_a_node(s, d);
            stamp = stamp_fold(stamp, allowed && far ? over > 0 : p->at[i].allocated[d]);
        }
    return stamp;
}

static enum vote job_enqueueable(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why)
{
    const struct portion *q = portion_of(use, job->queue);
    wide *least = res_new(s);

    if (!q)
        return VOTE_PERMIT;
    if (q->queue->kept->state != QUEUE_OPEN) {
        *why = (struct why){ .code = WAIT_QUEUE_CLOSED, .dim = NOWHERE, .blocker = q->queue->name };
        return VOTE_REJECT;
    }
    res_minimum(s, job, least);
    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide used = q->allocated[d] + q->inqueue[d] - q->elastic[d];
        if (d == DIM_PODS || least[d] <= 0 || least[d] + used <= q->real[d])
            continue;
        *why = (struct why){ .code = WAIT_NOT_ADMITTED,
                             .dim = (uint32_t)d,
                             .asked = least[d],
                             .free = q->real[d] - used,
                             .limit = q->real[d],
                             .blocker = q->queue->name };
        return VOTE_REJECT;
    }
    return VOTE_PERMIT;
}

static void job_enqueued(struct session *s, struct plugin_use *use, const struct job *job)
{
    const struct portion *q = portion_of(use, job->queue);

    if (q)
        res_minimum(s, job, q->inqueue);
}

static const wide *deserved(struct session *s, struct plugin_use *use, const struct queue *queue)
{
    const struct portion *q = portion_of(use, queue);

    (void)s;
    return q ? q->deserved : NULL;
}

static void on_allocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    const struct portion *q = portion_of(use, task->group->job->queue);

    (void)s;
    if (q)
        res_add_asks(q->allocated, task_asks(task), 1);
}

static void on_deallocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    const struct portion *q = portion_of(use, task->group->job->queue);

    (void)s;
    if (q)
        res_add_asks(q->allocated, task_asks(task), -1);
}

const struct plugin plugin_proportion = {
    .name = "proportion",
    .sees_lines = true,
    .open = open_session,
    .queue_order = queue_order,
    .overused = overused,
    .allocatable = allocatable,
    .preemptive = preemptive,
    .reclaimable = reclaimable,
    .victims_stamp = victims_stamp,
    .job_enqueueable = job_enqueueable,
    .job_enqueued = job_enqueued,
    .deserved = deserved,
    .on_allocate = on_allocate,
    .on_deallocate = on_deallocate,
};

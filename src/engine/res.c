/* Res: see res.h. */
#include "engine/res.h"

#include <string.h>

#include "base/str.h"

wide *res_new(struct session *s)
{
    return ARENA_NEW0_N(&s->arena, wide, s->model->dims.n + 1);
}

void res_copy(const struct session *s, wide *to, const wide *from)
{
    memcpy(to, from, s->model->dims.n * sizeof(wide));
}

void res_add_asks(wide *to, const struct asks *asks, wide times)
{
    for (size_t i = 0; i < asks->n; i++)
        to[asks->at[i].dim] += asks->at[i].value * times;
}

bool res_name_counts(const struct session *s, const char *name)
{
    if (!s->setup->is_reference)
        return true;
    if (text_begins(name, "count/"))
        return false;
    return strchr(name, '/') || text_begins(name, "attachable-volumes-") || text_eq(name, "cpu") ||
           text_eq(name, "memory") || text_eq(name, "pods") || text_eq(name, "ephemeral-storage") ||
           text_begins(name, "hugepages-");
}

void res_add_amounts(struct session *s, wide *to, bool *has, const struct berth_amounts *amounts)
{
    for (size_t i = 0; i < amounts->n; i++) {
        uint32_t dim = dim_find(s->model, amounts->at[i].name);
        if (dim == NOWHERE || !res_name_counts(s, amounts->at[i].name))
            continue; /* of what nobody has and nobody asks for */
        to[dim] += amounts->at[i].value;
        if (has)
            has[dim] = true;
    }
}

void res_job(const struct session *s, const struct job *job, bool promised, wide *to)
{
    (void)s;
    if (job->n_odd) {
        for (size_t i = 0; i < job->n_tasks; i++) {
            const struct task *task = &job->tasks[i];
            if (state_is_allocated(task->state) ||
                (promised && task->state == BERTH_TASK_PIPELINED && !task->is_told))
                res_add_asks(to, task_asks(task), 1);
        }
        return;
    }
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *g = &job->groups[i];
        uint32_t n = group_n_allocated(g) + (promised ? g->n[BERTH_TASK_PIPELINED] : 0);
        if (n)
            res_add_asks(to, &g->kind->asks, n);
    }
}

void res_minimum(struct session *s, const struct job *job, wide *to)
{
    res_add_amounts(s, to, NULL, &job->kept->min_resources);
}

int share_cmp(struct share a, struct share b)
{
    return fraction_cmp(a.num, a.den, b.num, b.den);
}

bool share_near(struct share a, struct share b)
{
    /* In 2^-40: fine enough for a millionth, and no product overflows. */
    wide x = (a.num << 40) / a.den, y = (b.num << 40) / b.den;

    return (x > y ? x - y : y - x) <= ((wide)1 << 40) / 1000000;
}

struct share res_dominant(const struct session *s, const wide *part, const wide *whole)
{
    struct share most = { 0, 1 };

    for (size_t d = 0; d < s->model->dims.n; d++) {
        struct share one = { part[d], whole[d] };
        if (whole[d] > 0 && share_cmp(one, most) > 0)
            most = one;
    }
    return most;
}

uint32_t res_over(const wide *used, const struct asks *asks, const wide *limit)
{
    for (size_t i = 0; i < asks->n; i++) {
        uint32_t dim = asks->at[i].dim;
        if (dim != DIM_PODS && used[dim] + asks->at[i].value > limit[dim])
            return dim;
    }
    return NOWHERE;
}

bool res_within(const struct session *s, const wide *a, const wide *b)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        if (a[d] > b[d])
            return false;
    return true;
}

/* Once it runs, a job that lost tasks needed for its minimum has nothing reserved. */
static bool has_reserved(const struct job *job)
{
    enum berth_phase phase = job->kept->phase;

    return job->kept->has_min_resources &&
           (phase == BERTH_PHASE_INQUEUE ||
            (phase == BERTH_PHASE_RUNNING && job_n_allocated(job) >= job->min_available));
}

wide res_most_on_a_node(struct session *s, uint32_t dim)
{
    const struct model *model = s->model;

    if (!s->on_a_node) {
        s->on_a_node = ARENA_NEW0_N(&s->arena, wide, model->dims.n + 1);
        for (size_t i = 0; i < model->dims.n; i++)
            for (size_t at = 0; at < model->nodes.n; at++)
                if (model->columns[i].used[at] > s->on_a_node[i])
                    s->on_a_node[i] = model->columns[i].used[at];
    }
    return s->on_a_node[dim];
}

uint64_t stamp_fold(uint64_t stamp, wide value)
{
    stamp = (stamp ^ (uint64_t)value) * 0x9e3779b97f4a7c15;
    return stamp ^ stamp >> 29 ^ (uint64_t)(value >> 64);
}

/* What a job has reserved and does not hold yet, and (elastic not NULL) what it holds above it. */
static void add_reserved(struct session *s, const struct job *job, wide *const scratch[2],
                         wide *inqueue, wide *elastic)
{
    size_t n = s->model->dims.n;
    wide *held = scratch[0], *least = scratch[1];
    bool reserves = has_reserved(job);

    if (!reserves && !(elastic && job_n_allocated(job)))
        return;
    memset(held, 0, n * sizeof(wide));
    memset(least, 0, n * sizeof(wide));
    res_job(s, job, false, held);
    res_minimum(s, job, least);
    for (size_t d = 0; d < n; d++) {
        if (reserves && least[d] > held[d])
            inqueue[d] += least[d] - held[d];
        if (elastic && held[d] > least[d])
            elastic[d] += held[d] - least[d];
    }
}

void res_add_reserved(struct session *s, const struct job *job, wide *const scratch[2],
                      wide *inqueue)
{
    add_reserved(s, job, scratch, inqueue, NULL);
}

void res_reserved(struct session *s, const struct queue *queue, wide *inqueue, wide *elastic)
{
    wide *const scratch[2] = { res_new(s), res_new(s) };

    for (const struct job *job = queue->first; job; job = job->queue_next)
        add_reserved(s, job, scratch, inqueue, elastic);
}

/* Cost: see cost.h. */
#include "engine/actions/cost.h"

#include "engine/victims.h"

struct cost cost_none(void)
{
    return (struct cost){ .priority = INT64_MIN, .held_priority = INT64_MIN };
}

void cost_add_held(struct cost *cost, const struct job *job)
{
    if (job->priority > cost->held_priority)
        cost->held_priority = job->priority;
    cost->n_held++;
}

void cost_add_lost(const struct session *s, struct cost *cost, const struct task *task)
{
    int64_t from =
        task->checkpoint_at_ms > task->started_at_ms ? task->checkpoint_at_ms : task->started_at_ms;

    if (task->group->job->priority > cost->priority)
        cost->priority = task->group->job->priority;
    if (from && s->in.now_ms > from)
        cost->lost += (wide)(s->in.now_ms - from) * (1 + asks_of(task_asks(task), DIM_CPU));
    cost->n++;
}

struct cost cost_of(const struct session *s, size_t mark)
{
    struct cost cost = cost_none();

    for (size_t i = mark; i < s->log.n; i++) {
        const struct task *task = s->log.at[i].task;
        if (s->log.at[i].kind == OP_TAKE)
            cost_add_held(&cost, task->group->job);
        if (s->log.at[i].kind != OP_EVICT)
            continue;
        cost.n_broken += job_may_lose(task->group->job) < 0;
        cost_add_lost(s, &cost, task);
    }
    return cost;
}

int cost_cmp(const struct cost *a, const struct cost *b)
{
    if (a->is_late != b->is_late)
        return a->is_late ? 1 : -1;
    if (a->n_broken != b->n_broken)
        return a->n_broken < b->n_broken ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    if (a->held_priority != b->held_priority)
        return a->held_priority < b->held_priority ? -1 : 1;
    return (a->n_held > b->n_held) - (a->n_held < b->n_held);
}

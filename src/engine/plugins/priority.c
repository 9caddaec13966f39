/*
 * Priority: the more urgent first. With aging a job's rank grows while it waits, in whole
 * points, so that nothing waits for ever.
 */
#include "engine/plugins.h"

static int64_t rank_of(const struct session *s, const struct job *job)
{
    int64_t waited, points;

    if (!s->policy->aging_step_ms || !job->kept->created_at_ms || job_n_ready(job))
        return job->priority;
    waited = s->in.now_ms - job->kept->created_at_ms;
    points = waited <= 0 ? 0 : waited / s->policy->aging_step_ms;
    return job->priority + (points > s->policy->aging_max ? s->policy->aging_max : points);
}

static int job_order(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b)
{
    int64_t x = rank_of(s, a), y = rank_of(s, b);

    (void)use;
    return (x < y) - (x > y);
}

static int64_t job_key(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)use;
    return -rank_of(s, job);
}

static int task_order(struct session *s, struct plugin_use *use, const struct task *a,
                      const struct task *b)
{
    int x = a->group->spec->priority, y = b->group->spec->priority;

    (void)s, (void)use;
    return (x < y) - (x > y);
}

static int sub_job_order(struct session *s, struct plugin_use *use, const struct sub_job *a,
                         const struct sub_job *b)
{
    (void)s, (void)use;
    return (a->priority < b->priority) - (a->priority > b->priority);
}

static enum vote preemptable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    const struct job *job = task->group->job;

    (void)s, (void)use;
    for (size_t i = 0; i < from->n; i++) {
        const struct group *victim = from->at[i]->group;
        bool below = victim->job == job ? victim->spec->priority < task->group->spec->priority
                                        : victim->job->priority < job->priority;
        if (below)
            to->at[to->n++] = from->at[i];
    }
    return VOTE_PERMIT;
}

/* Among those of its queue somebody must be less urgent; its own tasks are not asked for here. */
static bool has_victims(struct session *s, struct plugin_use *use, const struct job *job,
                        bool reclaim)
{
    (void)use;
    if (reclaim || !job->queue)
        return true;
    VEC_EACH (placed, &job->queue->placed)
        if (placed->priority < job->priority)
            return true;
    VEC_EACH (room, &s->rooms)
        if ((*room)->job->queue == job->queue && (*room)->job->priority < job->priority)
            return true;
    return false;
}

static enum vote evictable(struct session *s, struct plugin_use *use, const struct taking *taking,
                           const struct victims *from, struct victims *to)
{
    (void)s, (void)use;
    for (size_t i = 0; i < from->n; i++)
        if (taking->reclaim || from->at[i]->group->job->priority < taking->job->priority)
            to->at[to->n++] = from->at[i];
    return VOTE_PERMIT;
}

static bool job_starving(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)s, (void)use;
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED] < job->n_tasks;
}

const struct plugin plugin_priority = {
    .name = "priority",
    .sees_lines = true,
    .job_order = job_order,
    .job_key = job_key,
    .task_order = task_order,
    .sub_job_order = sub_job_order,
    .has_local_victims = true,
    .has_victims = has_victims,
    .preemptable = preemptable,
    .evictable = evictable,
    .job_starving = job_starving,
};

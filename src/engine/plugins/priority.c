/*
 * Priority: the more urgent first. With aging a job's rank grows while it waits, in whole
 * points, so that nothing waits for ever.
 */
#include "engine/plugins.h"

int64_t priority_rank_at(const struct session *s, const struct job *job, int64_t at_ms)
{
    int64_t waited, points;

    if (!s->policy->aging_step_ms || !job->kept->created_at_ms)
        return job->priority;
    waited = at_ms - job->kept->created_at_ms;
    points = waited <= 0 ? 0 : waited / s->policy->aging_step_ms;
    return job->priority + (points > s->policy->aging_max ? s->policy->aging_max : points);
}

static int64_t rank_of(const struct session *s, const struct job *job)
{
    return job_n_ready(job) ? job->priority : priority_rank_at(s, job, s->in.now_ms);
}

/* Of what runs by its first instant, of what is bound as it would be now. Of one that runs since
 * nobody knows when it is the priority. */
int64_t priority_start_rank(const struct session *s, const struct job *job)
{
    int64_t first_ms = s->in.now_ms;

    for (size_t i = 0; i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        bool runs = task->state == BERTH_TASK_RUNNING || task->state == BERTH_TASK_RELEASING;
        if (runs && !task->started_at_ms)
            return job->priority;
        if ((runs || task->state == BERTH_TASK_BOUND) && task->started_at_ms &&
            task->started_at_ms < first_ms)
            first_ms = task->started_at_ms;
    }
    return priority_rank_at(s, job, first_ms);
}

/*
 * Whether a task is less urgent than another job. Its job has its place by the rank at which it started:
 * else one that went first for its age would lose it at once to the one that it went before.
 */
static bool is_below(const struct session *s, const struct task *task, const struct job *other)
{
    const struct job *job = task->group->job;

    if (job->priority >= other->priority)
        return false;
    if (priority_rank_at(s, job, s->in.now_ms) < other->priority)
        return true;
    return (task->state == BERTH_TASK_PIPELINED ? rank_of(s, job) : priority_start_rank(s, job)) <
           other->priority;
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

    (void)use;
    for (size_t i = 0; i < from->n; i++) {
        const struct group *victim = from->at[i]->group;
        bool below = victim->job == job ? victim->spec->priority < task->group->spec->priority
                                        : is_below(s, from->at[i], job);
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
    (void)use;
    for (size_t i = 0; i < from->n; i++)
        if (taking->reclaim || is_below(s, from->at[i], taking->job))
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

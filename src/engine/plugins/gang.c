/*
 * Gang: a job starts with its minimum or not at all, and is not cut below it.
 */
#include "engine/plugins.h"
#include "engine/victims.h"

static bool job_valid(struct session *s, struct plugin_use *use, const struct job *job,
                      struct why *why)
{
    (void)s, (void)use;
    if (job_roles_hold(job, 2) && sub_jobs_exist(s, job) && job_n_valid(job) >= job->min_available)
        return true;
    *why = (struct why){ .code = WAIT_GANG_BROKEN,
                         .dim = NOWHERE,
                         .asked = job->min_available,
                         .free = job_n_valid(job) };
    return false;
}

static int64_t job_key(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)s, (void)use;
    return job_n_ready(job) + job_n_best_effort(job) >= job->min_available;
}

static int job_order(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b)
{
    return (int)(job_key(s, use, a) - job_key(s, use, b));
}

static bool sub_is_ready(const struct sub_job *sub)
{
    return sub_job_count(sub, 0) >= sub->min_available;
}

static int sub_job_order(struct session *s, struct plugin_use *use, const struct sub_job *a,
                         const struct sub_job *b)
{
    (void)s, (void)use;
    return (int)sub_is_ready(a) - (int)sub_is_ready(b);
}

static bool job_ready(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)use;
    return job_n_ready(job) + job_n_best_effort(job) >= job->min_available &&
           job_roles_hold(job, 0) && sub_jobs_hold(s, job, 0);
}

static bool sub_job_ready(struct session *s, struct plugin_use *use, const struct sub_job *sub)
{
    (void)s, (void)use;
    return sub_is_ready(sub);
}

static enum vote job_pipelined(struct session *s, struct plugin_use *use, const struct job *job)
{
    uint32_t n = job_n_ready(job) + job_n_best_effort(job) + job->n[BERTH_TASK_PIPELINED];

    (void)use;
    return n >= job->min_available && job_roles_hold(job, 1) && sub_jobs_hold(s, job, 1)
               ? VOTE_PERMIT
               : VOTE_REJECT;
}

static enum vote sub_job_pipelined(struct session *s, struct plugin_use *use,
                                   const struct sub_job *sub)
{
    (void)s, (void)use;
    return sub_job_count(sub, 1) >= sub->min_available ? VOTE_PERMIT : VOTE_REJECT;
}

static bool job_starving(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)use;
    return job_is_short(job) || (!s->setup->is_reference && job_lacks_roles(job));
}

/* Whether with those given a job has more than its minimum; the reference does not look at roles. */
static bool has_more(const struct session *s, const struct victims *given, const struct task *task)
{
    const struct job *job = task->group->job;
    uint32_t n = 0;

    if (!s->setup->is_reference)
        return victims_spare(given, task);
    for (size_t i = 0; i < given->n; i++)
        n += given->at[i]->group->job == job && given->at[i]->state != BERTH_TASK_PIPELINED;
    return job_n_ready(job) > job->min_available + n;
}

/* In list order a job gives tasks until it is down to its minimum. */
static enum vote spare(struct session *s, struct plugin_use *use, const struct task *task,
                       const struct victims *from, struct victims *to)
{
    const struct job *last = NULL;
    bool whole = false;

    (void)use, (void)task;
    for (size_t i = 0; i < from->n; i++) {
        const struct job *job = from->at[i]->group->job;
        if (job != last)
            whole =
                s->policy->victim_unit == UNIT_SPARE_OR_WHOLE && job_may_go_whole(s, job, false);
        last = job;
        /* Whole gangs may go, unless some of theirs are spared, and what is held for one; who takes them
         * sees to it that they go whole. */
        if (whole || from->at[i]->state == BERTH_TASK_PIPELINED || has_more(s, to, from->at[i]))
            to->at[to->n++] = from->at[i];
    }
    return VOTE_PERMIT;
}

/* Who takes for a whole job sees to it that gangs go whole. */
static enum vote evictable(struct session *s, struct plugin_use *use, const struct taking *taking,
                           const struct victims *from, struct victims *to)
{
    (void)s, (void)use, (void)taking;
    for (size_t i = 0; i < from->n; i++)
        to->at[to->n++] = from->at[i];
    return VOTE_PERMIT;
}

const struct plugin plugin_gang = {
    .name = "gang",
    .sees_lines = true,
    .job_valid = job_valid,
    .job_order = job_order,
    .job_key = job_key,
    .sub_job_order = sub_job_order,
    .job_ready = job_ready,
    .sub_job_ready = sub_job_ready,
    .job_pipelined = job_pipelined,
    .sub_job_pipelined = sub_job_pipelined,
    .job_starving = job_starving,
    .has_local_victims = true,
    .preemptable = spare,
    .reclaimable = spare,
    .evictable = evictable,
};

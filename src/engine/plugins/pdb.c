/*
 * Pdb: disruption budgets. Of a job no more running tasks are evicted than its budget lets go.
 */
#include "engine/plugins.h"
#include "engine/victims.h"

/* Whether a job's gang must stay, as its budget does not let all of it go: then none of those goes without whom
 * it would have to. */
static bool keeps_gang(const struct session *s, const struct job *job)
{
    return !s->setup->is_reference && s->policy->victim_unit != UNIT_TASK &&
           job_may_lose(job) < (int64_t)job_n_ready(job);
}

/* In list order, as long as the budget of each one's job lasts. */
static enum vote keep_budgets(struct session *s, const struct victims *from, struct victims *to)
{
    const struct job *last = NULL;
    int64_t left = 0;

    for (size_t i = 0; i < from->n; i++) {
        struct task *task = from->at[i];
        const struct job *job = task->group->job;
        if (s->setup->is_reference && !task->group->spec->labels.n)
            continue; /* the reference asks only about tasks with labels, and drops the others */
        if (job != last) {
            left = job_may_lose(job);
            for (size_t k = 0; k < to->n; k++)
                left -= left != INT64_MAX && to->at[k]->group->job == job &&
                        to->at[k]->state != BERTH_TASK_PIPELINED;
            last = job;
        }
        if (task->state == BERTH_TASK_PIPELINED) { /* it does not run: no budget counts it */
            to->at[to->n++] = task;
            continue;
        }
        if (left <= 0 || (keeps_gang(s, job) && !victims_spare(to, task)))
            continue;
        left -= left != INT64_MAX;
        to->at[to->n++] = task;
    }
    return VOTE_PERMIT;
}

static enum vote single(struct session *s, struct plugin_use *use, const struct task *task,
                        const struct victims *from, struct victims *to)
{
    (void)use, (void)task;
    return keep_budgets(s, from, to);
}

/* In profile volcano it names whoever its budget spares not; elsewhere it only guards. */
static void find_victims(struct session *s, struct plugin_use *use, struct victims *to)
{
    struct victims running = { 0 }, kept;
    size_t n = 0;

    (void)use;
    if (!s->setup->is_reference)
        return;
    JOB_EACH (job, s->model)
        n += job->n[BERTH_TASK_RUNNING];
    running.at = ARENA_NEW0_N(&s->arena, struct task *, n + 1);
    kept = (struct victims){ ARENA_NEW0_N(&s->arena, struct task *, n + 1), 0 };
    JOB_EACH (job, s->model)
        for (size_t i = 0; job->n[BERTH_TASK_RUNNING] && i < job->n_tasks; i++)
            if (job->tasks[i].state == BERTH_TASK_RUNNING)
                running.at[running.n++] = &job->tasks[i];
    keep_budgets(s, &running, &kept);
    for (size_t i = 0; i < kept.n; i++)
        to->at[to->n++] = kept.at[i];
}

const struct plugin plugin_pdb = {
    .name = "pdb",
    .sees_lines = true,
    .has_local_victims = true,
    .preemptable = single,
    .reclaimable = single,
    .victims = find_victims,
};

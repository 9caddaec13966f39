/* Roles: see roles.h. */
#include "engine/actions/roles.h"

#include "base/str.h"
#include "engine/fit.h"
#include "engine/protect.h"

static uint32_t minima_sum(const struct job *job)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < job->kept->n_minima; i++)
        sum += job->kept->minima[i].n;
    return sum;
}

static bool same_role(const struct group *a, const struct group *b)
{
    return text_eq(a->spec->role, b->spec->role);
}

static bool has_role(const struct group *group)
{
    return group->spec->role && group->spec->role[0];
}

static uint32_t role_minimum(const struct job *job, const struct group *group)
{
    for (size_t i = 0; i < job->kept->n_minima; i++)
        if (text_eq(job->kept->minima[i].role, group->spec->role ? group->spec->role : ""))
            return job->kept->minima[i].n;
    return 0;
}

/* Those that ask for nothing are as good as placed. */
static uint32_t role_ready(const struct job *job, const struct group *of)
{
    uint32_t n = 0;

    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *g = &job->groups[i];
        if (!same_role(g, of))
            continue;
        n += group_n_ready(g);
        if (g->kind->best_effort)
            n += g->n[BERTH_TASK_PENDING];
    }
    return n;
}

bool roles_may_go_on(const struct session *s, const struct job *job, const bool *failed)
{
    uint32_t n = job_n_ready(job);

    if (job->min_available >= job->n_tasks)
        return false;
    if (job->kept->n_sub_groups || !s->setup->is_reference)
        return true;
    if (job->min_available < minima_sum(job)) {
        for (size_t i = 0; i < job->n_groups; i++)
            if (!failed[i])
                n += job->groups[i].n[BERTH_TASK_PENDING];
        return n >= job->min_available;
    }
    for (size_t i = 0; i < job->n_groups; i++)
        if (failed[i] && role_ready(job, &job->groups[i]) < role_minimum(job, &job->groups[i]))
            return false;
    return true;
}

void roles_note_failure(const struct task *task, bool *failed)
{
    const struct job *job = task->group->job;

    for (size_t i = 0; i < job->n_groups; i++)
        if (&job->groups[i] == task->group || same_role(&job->groups[i], task->group))
            failed[i] = true;
}

bool role_is_skipped(const struct session *s, const struct task *task, const bool *failed,
                     const struct kind *stuck)
{
    return failed[task->group->at] &&
           (s->setup->is_reference ? has_role(task->group) : task->group->kind == stuck);
}

/* --- Nodes that are closed to a role */

/* Whether two groups of one role want different things. */
static bool are_mixed(const struct job *job)
{
    for (size_t i = 0; i < job->n_groups; i++) {
        size_t first = 0;
        if (!has_role(&job->groups[i]))
            continue;
        while (!same_role(&job->groups[first], &job->groups[i]))
            first++;
        if (job->groups[first].kind != job->groups[i].kind)
            return true;
    }
    return false;
}

struct closed closed_none(struct session *s, const struct job *job, bool is_on)
{
    struct closed closed = { 0 };

    if (s->setup->is_reference && is_on && are_mixed(job))
        closed.nodes = ARENA_NEW0_N(&s->arena, bool *, job->n_groups + 1);
    return closed;
}

bool *closed_to(struct session *s, struct closed *closed, const struct task *task)
{
    const struct job *job = task->group->job;
    size_t first = 0;

    if (!closed->nodes || !has_role(task->group))
        return NULL;
    while (!same_role(&job->groups[first], task->group))
        first++;
    if (!closed->nodes[first])
        closed->nodes[first] = ARENA_NEW0_N(&s->arena, bool, s->model->nodes.n + 1);
    return closed->nodes[first];
}

bool role_best_of(struct session *s, struct closed *closed, const struct task *task,
                  const struct nodes_of *among, struct choice *out)
{
    bool *shut = closed_to(s, closed, task);
    struct node *const *nodes = among ? among->at : s->model->nodes.at;
    size_t n = among ? among->n : s->model->nodes.n, n_open = 0;
    struct node **open;

    if (!shut)
        return among ? protect_best_of(s, task, nodes, n, out) : protect_best(s, task, out);
    open = ARENA_NEW0_N(&s->arena, struct node *, n + 1);
    for (size_t i = 0; i < n; i++) {
        enum room room;
        if (shut[nodes[i]->at])
            continue;
        shut[nodes[i]->at] = fit_fail(s, task->group->kind, nodes[i], &room) != FAIL_NONE;
        if (!shut[nodes[i]->at])
            open[n_open++] = nodes[i];
    }
    return n_open && protect_best_of(s, task, open, n_open, out);
}

/*
 * Resource quota: a job is admitted only while its namespace stays within each of its quotas.
 */
#include <string.h>

#include "base/str.h"
#include "engine/plugins.h"
#include "engine/res.h"

/* What jobs admitted in this session have taken, by namespace. */
struct taken {
    const char *namespace_;
    wide *sums;
};

struct quotas {
    VEC_OF(struct taken) list; /* in the arena */
};

static void open_session(struct session *s, struct plugin_use *use)
{
    struct quotas *q = ARENA_NEW0(&s->arena, struct quotas);

    q->list.at = ARENA_NEW0_N(&s->arena, struct taken, s->model->n_jobs + 1);
    use->state = q;
}

static wide *taken_of(struct session *s, struct quotas *q, const char *namespace_)
{
    for (size_t i = 0; i < q->list.n; i++)
        if (text_eq(q->list.at[i].namespace_, namespace_))
            return q->list.at[i].sums;
    q->list.at[q->list.n] = (struct taken){ namespace_, res_new(s) };
    return q->list.at[q->list.n++].sums;
}

/* What the namespace's tasks hold. */
static void add_used(struct session *s, const char *namespace_, wide *used)
{
    JOB_EACH (job, s->model)
        if (text_eq(job->kept->namespace_, namespace_))
            res_job(s, job, false, used);
}

static enum vote job_enqueueable(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why)
{
    struct shelf *shelf = &s->model->shelves[BERTH_QUOTA];
    wide *least, *used = NULL;

    if (!job->kept->has_min_resources)
        return VOTE_PERMIT;
    least = res_new(s);
    res_minimum(s, job, least);
    shelf_sort(shelf);
    for (size_t i = 0; i < shelf->items.n; i++) {
        const struct berth_quota *quota = shelf->items.at[i]->kept;
        if (!text_eq(quota->namespace_, job->kept->namespace_))
            continue;
        if (!used) {
            used = res_new(s);
            add_used(s, quota->namespace_, used);
        }
        for (size_t k = 0; k < quota->hard.n; k++) {
            uint32_t d = dim_find(s->model, quota->hard.at[k].name);
            wide sum;
            if (d == NOWHERE || least[d] <= 0)
                continue;
            sum = used[d] + taken_of(s, use->state, quota->namespace_)[d] + least[d];
            if (sum <= quota->hard.at[k].value)
                continue;
            *why = (struct why){ .code = WAIT_NOT_ADMITTED,
                                 .dim = d,
                                 .asked = least[d],
                                 .free = quota->hard.at[k].value - (sum - least[d]),
                                 .limit = quota->hard.at[k].value,
                                 .blocker = quota->name };
            return VOTE_REJECT;
        }
    }
    return VOTE_PERMIT;
}

static void job_enqueued(struct session *s, struct plugin_use *use, const struct job *job)
{
    if (job->kept->namespace_)
        res_minimum(s, job, taken_of(s, use->state, job->kept->namespace_));
}

const struct plugin plugin_resourcequota = {
    .name = "resourcequota",
    .open = open_session,
    .job_enqueueable = job_enqueueable,
    .job_enqueued = job_enqueued,
};

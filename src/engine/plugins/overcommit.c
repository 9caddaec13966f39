/*
 * Overcommit: jobs are admitted until their least resources together are what the cluster has, and
 * a little more, since not all of them will run at once.
 */
#include <errno.h>

#include "engine/plugins.h"
#include "engine/res.h"

struct arguments {
    double factor;
};

static const struct argument known[] = {
    { "overcommit-factor", ARG_DOUBLE, offsetof(struct arguments, factor) },
};

struct overcommit {
    wide *idle, *inqueue;
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r;

    a->factor = 1.2;
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
    if (a->factor < 1 || a->factor > 1000)
        a->factor = 1.2;
    return r;
}

static int check(const struct berth_value *arguments, struct err *err)
{
    const struct berth_value *factor = berth_value_get(arguments, "overcommit-factor");
    double number;

    if (!factor || !value_number(factor, &number) || (number >= 1 && number <= 1000))
        return 0;
    return err_set(err, -EINVAL, "/overcommit-factor: a number from 1 to 1000, not %g", number);
}

static void open_session(struct session *s, struct plugin_use *use)
{
    const struct arguments *a = use->config;
    struct overcommit *o = ARENA_NEW0(&s->arena, struct overcommit);
    int64_t factor = (int64_t)(a->factor * 1000000 + 0.5);
    wide *scratch[2] = { res_new(s), res_new(s) };

    o->idle = res_new(s);
    o->inqueue = res_new(s);
    use->state = o;
    for (size_t d = 0; d < s->model->dims.n; d++) {
        o->idle[d] = s->total[d] * factor / 1000000;
        for (size_t i = 0; i < s->model->nodes.n; i++)
            o->idle[d] -= s->model->columns[d].used[i];
    }
    JOB_EACH (job, s->model) {
        if (!job->queue || !job->queue->kept)
            continue;
        /* Of a job that waits to start all of it, whatever it holds; of one that runs the rest. */
        if (job->kept->phase == BERTH_PHASE_INQUEUE)
            res_minimum(s, job, o->inqueue);
        else if (job->kept->phase == BERTH_PHASE_RUNNING)
            res_add_reserved(s, job, scratch, o->inqueue);
    }
}

static enum vote job_enqueueable(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why)
{
    const struct overcommit *o = use->state;
    wide *least = res_new(s);

    if (!job->kept->has_min_resources)
        return VOTE_PERMIT;
    res_minimum(s, job, least);
    for (uint32_t d = 0; d < s->model->dims.n; d++) {
        if (d == DIM_PODS || least[d] <= 0 || o->inqueue[d] + least[d] <= o->idle[d])
            continue;
        *why = (struct why){ .code = WAIT_NOT_ADMITTED,
                             .dim = d,
                             .asked = least[d],
                             .free = o->idle[d] - o->inqueue[d],
                             .limit = o->idle[d] };
        return VOTE_REJECT;
    }
    return VOTE_PERMIT;
}

static void job_enqueued(struct session *s, struct plugin_use *use, const struct job *job)
{
    const struct overcommit *o = use->state;

    res_minimum(s, job, o->inqueue);
}

const struct plugin plugin_overcommit = {
    .name = "overcommit",
    .configure = configure,
    .check = check,
    .open = open_session,
    .job_enqueueable = job_enqueueable,
    .job_enqueued = job_enqueued,
};

/*
 * Judge of time limits: how long a job's tasks may run, held against the longest limit of its queue
 * and of those above it. It is looked at when a limit is said, at submit or later, and when somebody
 * asks for a job to begin anew; else what a queue bounds from then on leaves the jobs that it has
 * alone.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>

#include "base/quantity.h"

/* 0 is no limit: longer than any. */
static bool is_longer(int64_t a_ms, int64_t b_ms)
{
    return b_ms != 0 && (a_ms == 0 || a_ms > b_ms);
}

static bool refuse_long(struct problem *problem, int64_t limit_ms, int64_t most_ms,
                        const char *whose)
{
    CLEANUP(str_fini) struct str limit = { 0 }, most = { 0 };

    if (limit_ms)
        duration_format(limit_ms, &limit);
    else
        str_add(&limit, "no limit");
    duration_format(most_ms, &most);
    problem_add(problem, PROBLEM_INVALID_FIELD, "/limit",
                "%s is above the longest limit of queue %s, which is %s", str_text(&limit), whose,
                str_text(&most));
    return false;
}

bool ledger_bound_limit(struct job_spec *spec, int64_t most_ms, const char *whose,
                        struct problem *problem)
{
    int64_t own_ms = job_spec_own_limit(spec); /* a batch may be judged again */

    if (own_ms && is_longer(own_ms, most_ms))
        return refuse_long(problem, own_ms, most_ms, whose);
    job_spec_set_limit(spec, own_ms ? own_ms : most_ms);
    return true;
}

bool limit_of_submit(struct trial *t, struct op_submit *op)
{
    const char *whose = "";
    int64_t most_ms = mirror_max_limit(t->mirror, op->spec->queue, &whose);
    int64_t was_ms = op->spec->limit_ms;

    if (!ledger_bound_limit(op->spec, most_ms, whose, t->problem))
        return false;
    if (op->spec->limit_ms == was_ms)
        return true;
    mem_free(op->text);
    op->text = job_spec_to_text(op->spec, NULL);
    return true;
}

bool limit_of_requeue(struct trial *t, const struct row_job *job)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    CLEANUP(str_fini) struct str limit = { 0 }, most = { 0 };
    struct err err = { 0 };
    const char *whose = "";
    int64_t most_ms = mirror_max_limit(t->mirror, job->queue, &whose);

    if (!most_ms || job_spec_from_canonical(job->spec, &spec, &err) < 0 ||
        !is_longer(spec->limit_ms, most_ms))
        return true;
    if (spec->limit_ms)
        duration_format(spec->limit_ms, &limit);
    duration_format(most_ms, &most);
    problem_set(t->problem, PROBLEM_CONFLICT,
                "j-%" PRIu64 " has %s%s, above the longest limit of queue %s, which is %s by now: "
                "give it a limit of %s at most first",
                job->id, spec->limit_ms ? "a limit of " : "no limit", str_text(&limit), whose,
                str_text(&most), str_text(&most));
    return false;
}

/* What the limit will be; false and refused where that is none. */
static bool limit_after(struct trial *t, const struct op_patch *op, int64_t now_ms, int64_t *out)
{
    CLEANUP(str_fini) struct str now = { 0 };
    int64_t limit_ms = op->limit_ms;

    duration_format(now_ms, &now);
    if (op->limit_is_change)
        limit_ms += now_ms;
    if (op->limit_is_change && !now_ms)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/limit",
                    "there is none that could be moved; say how long it is to be");
    else if (limit_ms < 0 || (op->limit_is_change && !limit_ms))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/limit", "nothing is left of its %s",
                    str_text(&now));
    else if (limit_ms > JOB_DURATION_MAX_MS)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/limit",
                    "is longer than 3650d, the longest that may be");
    *out = limit_ms;
    return t->problem->code == PROBLEM_NONE;
}

bool limit_of_patch(struct trial *t, const struct op_patch *op, const struct row_job *job,
                    char **text)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct err err = { 0 };
    const char *whose = "";
    int64_t most_ms = mirror_max_limit(t->mirror, job->queue, &whose), limit_ms;

    if (!op->has_limit || job_spec_from_canonical(job->spec, &spec, &err) < 0)
        return true;
    if (!limit_after(t, op, spec->limit_ms, &limit_ms))
        return false;
    /* Less than it has is never too much, though the queue may allow less by now. */
    if (is_longer(limit_ms, most_ms) && is_longer(limit_ms, spec->limit_ms))
        return refuse_long(t->problem, limit_ms, most_ms, whose);
    job_spec_set_limit(spec, limit_ms);
    *text = job_spec_to_text(spec, NULL);
    return true;
}

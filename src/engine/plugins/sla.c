/*
 * Sla: a job that has waited as long as it was promised is let in, and keeps the room it was
 * placed on. Works only before plugins that would refuse it.
 */
#include "engine/plugins.h"

struct arguments {
    int64_t wait_ms;
};

static const struct argument known[] = {
    { "sla-waiting-time", ARG_DURATION, offsetof(struct arguments, wait_ms) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);

    *out = a;
    return arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
}

/* When the job's wait is over; BERTH_NEVER if it has none. */
static int64_t due_at(const struct session *s, const struct plugin_use *use, const struct job *job)
{
    const struct arguments *a = use->config;
    int64_t wait = job->kept->sla_wait_ms > 0 ? job->kept->sla_wait_ms : a->wait_ms;
    int64_t from = job->kept->created_at_ms ? job->kept->created_at_ms : s->in.now_ms;

    return wait > 0 ? from + wait : BERTH_NEVER;
}

static int job_order(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b)
{
    int64_t x = due_at(s, use, a), y = due_at(s, use, b);

    return (x > y) - (x < y);
}

static enum vote vote(struct session *s, struct plugin_use *use, const struct job *job)
{
    int64_t at = due_at(s, use, job);

    if (at > s->in.now_ms) {
        if (at != BERTH_NEVER)
            session_wake_at(s, at);
        return VOTE_ABSTAIN;
    }
    return VOTE_PERMIT;
}

static enum vote job_enqueueable(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why)
{
    (void)why;
    return vote(s, use, job);
}

const struct plugin plugin_sla = {
    .name = "sla",
    .configure = configure,
    .job_order = job_order,
    .job_enqueueable = job_enqueueable,
    .job_pipelined = vote,
};

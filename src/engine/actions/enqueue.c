/*
 * Enqueue: admits pending jobs, one of each queue in turn. A job that states no least resources is
 * admitted without asking; one that is refused does not block those behind it.
 */
#include "engine/actions.h"

static void admit(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);
    struct why why = { .code = WAIT_NOT_ADMITTED, .dim = NOWHERE };

    if (job->kept->has_min_resources && !job_may_enqueue(s, job, &why)) {
        seat->why = why;
        return;
    }
    if (job->kept->has_min_resources)
        job_note_enqueued(s, job);
    seat->is_pending = false;
    seat->was_admitted = true;
    if (s->setup->is_reference)
        answer_admit(s, job);
}

/* An admission that led to nothing is given back, so that it holds no quota for ever. */
static void take_back(struct session *s, struct job *job)
{
    int64_t most = s->policy->inqueue_timeout_ms, from = job->kept->admitted_at_ms;

    if (s->policy->enqueue != ENQUEUE_BOUNDED || job->kept->phase != BERTH_PHASE_INQUEUE ||
        most == BERTH_NEVER || !from || !job->kept->has_min_resources || job_n_ready(job) ||
        job->n[BERTH_TASK_RELEASING])
        return;
    if (from + most > s->in.now_ms) {
        session_wake_at(s, from + most);
        return;
    }
    seat_of(s, job)->is_pending = true;
    seat_of(s, job)->why = (struct why){ .code = WAIT_NOT_ADMITTED, .dim = NOWHERE };
    answer_unadmit(s, job, WAIT_NOT_ADMITTED);
}

static void run(struct session *s, const struct berth_value *arguments)
{
    struct rounds rounds;
    struct queue *queue;

    (void)arguments;
    rounds_init(&rounds, s);
    VEC_EACH (each, &s->watched) {
        struct job *job = *each;
        struct seat *seat = seat_of(s, job);
        if (!job->queue || !job->queue->kept)
            continue;
        rounds_add_queue(&rounds, job->queue);
        take_back(s, job);
        if (job->kept->phase == BERTH_PHASE_PENDING && seat->is_pending &&
            job_is_open(s, job, &seat->why))
            rounds_return_job(&rounds, job);
    }
    while ((queue = rounds_queue(&rounds))) {
        struct job *job = rounds_job(&rounds, queue);
        if (!job)
            continue;
        admit(s, job);
        rounds_return_queue(&rounds, queue);
    }
    rounds_fini(&rounds);
}

const struct action action_enqueue = { .name = "enqueue", .sees_lines = sees_lines, .run = run };

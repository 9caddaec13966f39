/* Rounds: queues in their order, each with its jobs in theirs. */
#include "engine/actions.h"

static int cmp_jobs(struct session *s, const void *a, const void *b)
{
    return job_cmp(s, a, b);
}

static struct pq_key key_job(struct session *s, const void *job)
{
    struct pq_key key = { { 0 } };

    job_keys(s, job, key.at);
    key.at[JOB_KEYS] = ((const struct job *)job)->at;
    return key;
}

static int cmp_queues(struct session *s, const void *a, const void *b)
{
    return queue_cmp(s, a, b);
}

void rounds_init(struct rounds *rounds, struct session *s)
{
    *rounds = (struct rounds){ .s = s, .queues = { .cmp = cmp_queues, .s = s } };
}

void rounds_fini(struct rounds *rounds)
{
    VEC_EACH (queue, &rounds->listed) {
        struct queue_seat *seat = queue_seat_of(rounds->s, *queue);
        if (seat->jobs)
            pq_fini(seat->jobs);
        seat->jobs = NULL;
        seat->is_listed = false;
    }
    VEC_FINI(&rounds->listed);
    pq_fini(&rounds->queues);
}

void rounds_add_queue(struct rounds *rounds, struct queue *queue)
{
    struct queue_seat *seat = queue_seat_of(rounds->s, queue);

    if (seat->is_listed)
        return;
    seat->is_listed = true;
    VEC_PUSH(&rounds->listed, queue);
    pq_push(&rounds->queues, queue);
}

void rounds_return_job(struct rounds *rounds, struct job *job)
{
    struct queue_seat *seat = queue_seat_of(rounds->s, job->queue);

    if (!seat->jobs) {
        seat->jobs = ARENA_NEW0(&rounds->s->arena, struct pq);
        seat->jobs->cmp = cmp_jobs;
        seat->jobs->key = job_has_key(rounds->s) ? key_job : NULL;
        seat->jobs->s = rounds->s;
    }
    pq_push(seat->jobs, job);
}

void rounds_add_job(struct rounds *rounds, struct job *job)
{
    rounds_add_queue(rounds, job->queue);
    rounds_return_job(rounds, job);
}

struct queue *rounds_queue(struct rounds *rounds)
{
    return pq_pop(&rounds->queues);
}

struct job *rounds_job(struct rounds *rounds, struct queue *queue)
{
    struct queue_seat *seat = queue_seat_of(rounds->s, queue);

    return seat->jobs ? pq_pop(seat->jobs) : NULL;
}

void rounds_return_queue(struct rounds *rounds, struct queue *queue)
{
    pq_push(&rounds->queues, queue);
}

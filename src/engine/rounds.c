/* Rounds: queues in their order, each with its jobs in theirs. */
#include <assert.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/lines.h"

static int cmp_jobs(struct session *s, const void *a, const void *b)
{
    return job_cmp(s, a, b);
}

static struct pq_key key_job(struct session *s, const void *job)
{
    struct pq_key key = { { 0 } };

    static_assert(JOB_KEYS < COUNT_OF(key.at), "the rank comes behind them");

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
    *rounds = (struct rounds){ .s = s, .queues = { .cmp = cmp_queues, .s = s }, .read = s->log.n };
}

void rounds_fini(struct rounds *rounds)
{
    VEC_EACH (queue, &rounds->listed) {
        struct queue_seat *seat = queue_seat_of(rounds->s, *queue);
        if (seat->jobs)
            pq_fini(seat->jobs);
        seat->jobs = NULL;
        seat->is_listed = seat->has_left = false;
    }
    VEC_FINI(&rounds->listed);
    VEC_FINI(&rounds->in_vain);
    pq_fini(&rounds->queues);
}

/* What neighbours hold counts for them and for those above them, which are not among them. */
static bool are_neighbours(const struct queue *a, const struct queue *b)
{
    return text_eq(a->kept->parent, b->kept->parent) &&
           text_eq(a->kept->hierarchy, b->kept->hierarchy);
}

void rounds_add_queue(struct rounds *rounds, struct queue *queue)
{
    struct queue_seat *seat = queue_seat_of(rounds->s, queue);

    if (seat->is_listed)
        return;
    seat->is_listed = true;
    VEC_PUSH(&rounds->listed, queue);
    rounds->is_tree = rounds->is_tree || !are_neighbours(rounds->listed.at[0], queue);
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

/*
 * Whether queues that wait for their turn may have changed places: tasks of theirs were evicted, or they hang
 * on the branch that got something. Else how often others had a turn in vain, which lines make fewer, would
 * say who comes first.
 */
static bool is_outdated(struct rounds *rounds)
{
    const struct session *s = rounds->s;
    bool changed = s->log.n < rounds->read;

    if (s->setup->is_reference)
        return false;
    for (size_t i = rounds->read; i < s->log.n && !changed; i++)
        changed = rounds->is_tree || s->log.at[i].task->group->job->queue != rounds->turn;
    rounds->read = s->log.n;
    return changed;
}

struct queue *rounds_queue(struct rounds *rounds)
{
    struct queue *queue;

    if (is_outdated(rounds))
        pq_renew(&rounds->queues);
    queue = pq_pop(&rounds->queues);
    rounds->turn = queue;
    return queue;
}

struct job *rounds_job(struct rounds *rounds, struct queue *queue)
{
    struct queue_seat *seat = queue_seat_of(rounds->s, queue);

    return seat->jobs ? pq_pop(seat->jobs) : NULL;
}

bool sees_lines(const struct session *s)
{
    (void)s;
    return true;
}

void rounds_add_lines(struct rounds *rounds, bool (*may)(struct session *s, struct job *job))
{
    LINE_EACH (line, rounds->s) {
        struct job *head = lines_head(rounds->s, line);
        line->is_stuck = false;
        if (head && may(rounds->s, head))
            rounds_add_job(rounds, head);
    }
}

/* Who comes to stand first was in vain before: what was said of the one before it holds. */
static void inherit(struct seat *seat, const struct seat *from)
{
    seat->why = from->why;
    seat->stuck = from->stuck;
    seat->placed = from->placed;
    seat->was_tried = from->was_tried;
}

void rounds_go_on(struct rounds *rounds, struct job *job)
{
    struct session *s = rounds->s;
    struct line *line = job->line;
    struct job *next;

    if (s->in.is_cold && lines_hold(s, job))
        VEC_PUSH(&rounds->in_vain, job);
    if (!line || !line_is_used(s, line) || job != line->head)
        return; /* it stands for itself */
    if (lines_cover(s, job)) {
        line->is_stuck = true;
        line->stuck = job;
        rounds->n_stuck++;
        return;
    }
    next = lines_head(s, line);
    if (!next)
        return;
    if (line->stuck)
        inherit(seat_of(s, next), seat_of(s, line->stuck));
    rounds_return_job(rounds, next);
}

/* A queue that had left the round is back in it, if it has jobs. */
static void come_back(struct rounds *rounds, struct queue *queue)
{
    struct queue_seat *seat = queue_seat_of(rounds->s, queue);

    if (!seat->has_left || !seat->jobs || !seat->jobs->items.n)
        return;
    seat->has_left = false;
    pq_push(&rounds->queues, queue);
}

void rounds_stir(struct rounds *rounds, const struct queue *queue)
{
    LINE_EACH (line, rounds->s) {
        if (line->is_stuck && (!queue || line->head->queue == queue)) {
            line->is_stuck = false;
            rounds->n_stuck--;
            rounds_return_job(rounds, line->head);
        }
    }
    for (size_t i = rounds->in_vain.n; i-- > 0;) {
        struct job *job = rounds->in_vain.at[i];
        if (queue && job->queue != queue)
            continue;
        VEC_SWAP_OUT(&rounds->in_vain, i);
        rounds_return_job(rounds, job);
    }
    VEC_EACH (left, &rounds->listed)
        come_back(rounds, *left);
}

bool rounds_have_stuck(const struct rounds *rounds)
{
    return rounds->n_stuck || rounds->in_vain.n;
}

void rounds_leave(struct rounds *rounds, struct queue *queue)
{
    queue_seat_of(rounds->s, queue)->has_left = true;
}

void rounds_return_queue(struct rounds *rounds, struct queue *queue)
{
    pq_push(&rounds->queues, queue);
}

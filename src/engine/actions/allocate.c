/*
 * Allocate: queue by queue, job by job, task by task onto the best node. A job that is not ready
 * yet is placed in one go up to its minimum, or not at all; a ready one gets one task a turn, so
 * that equal jobs and queues take turns.
 */
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/actions/roles.h"
#include "engine/actions/search.h"
#include "engine/fit.h"
#include "engine/lines.h"
#include "engine/protect.h"
#include "engine/res.h"
#include "engine/take.h"
#include "engine/topology.h"

bool job_is_admitted(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);
    struct why was = seat->why;

    if ((was.code && seat->is_pending) || seat->was_taken)
        return false;
    /* What allocate was refused says nothing about what could be taken from others. */
    if (!job_is_open(s, job, &seat->why))
        return false;
    if (seat->is_pending) {
        seat->why.code = WAIT_NOT_ADMITTED;
        return false;
    }
    if (!job_is_valid(s, job, &seat->why)) {
        if (!seat->why.code)
            seat->why.code = WAIT_GANG_BROKEN;
        return false;
    }
    seat->why = was;
    return true;
}

static void note_failure(struct seat *seat, const struct task *task)
{
    seat->stuck = task->group->kind;
    roles_note_failure(task, seat->failed);
}

void place_task(struct statement *stmt, struct task *task, const struct choice *choice)
{
    struct seat *seat = seat_of(stmt->s, task->group->job);

    if (choice->room <= ROOM_IDLE_OUTSIDE && task_may_start(stmt->s, task, &seat->why))
        statement_allocate(stmt, task, choice->node, choice->score);
    else if (!seat->is_loose) /* what is only promised is no better than what it has */
        statement_pipeline(stmt, task, choice->node, false, choice->score);
}

struct statement allocate_tasks(struct session *s, struct job *job, bool *done)
{
    struct statement stmt = statement_open(s);
    struct seat *seat = seat_of(s, job);
    struct closed closed = closed_none(s, job, !seat->forgets);

    *done = false;
    while (seat->next < seat->list.n) {
        struct task *task = seat->list.at[seat->next++];
        struct choice choice;
        if (task->state != BERTH_TASK_PENDING ||
            !queue_may_allocate(s, job->queue, task->group->kind, &seat->why) ||
            role_is_skipped(s, task, seat->failed, seat->stuck))
            continue;
        if (!role_best_of(s, &closed, task, NULL, &choice)) {
            note_failure(seat, task);
            if (roles_may_go_on(s, job, seat->failed))
                continue;
            break;
        }
        place_task(&stmt, task, &choice);
        if (job_is_ready(s, job))
            break;
    }
    if (statement_is_refused(&stmt, job))
        return stmt;
    if (job_is_ready(s, job) || job_is_pipelined(s, job)) {
        *done = true;
        return stmt;
    }
    seat->promised = job->n[BERTH_TASK_PIPELINED];
    seat->placed = job_n_ready(job) + seat->promised;
    statement_discard(&stmt);
    return stmt;
}

static bool is_any_being_freed(const struct session *s)
{
    for (size_t d = 0; d < s->model->dims.n; d++)
        for (size_t i = 0; i < s->model->nodes.n; i++)
            if (s->model->columns[d].releasing[i])
                return true;
    return false;
}

static void forget_failures(struct seat *seat, const struct job *job)
{
    seat->stuck = NULL;
    seat->why.code = WAIT_NONE;
    memset(seat->failed, 0, job->n_groups * sizeof(*seat->failed));
}

static bool search_on(struct session *s, struct job *job, bool idle_only, struct statement *stmt)
{
    const struct ways ways = { .idle_only = idle_only, .steps = s->policy->gang_search_steps };

    *stmt = statement_open(s);
    return gang_search(stmt, job, &seat_of(s, job)->list, &ways);
}

/* Other ways than in order: one that starts the job now, or (if it has nothing) one that will. */
static bool search_further(struct session *s, struct job *job, bool promised,
                           struct statement *stmt)
{
    struct seat *seat = seat_of(s, job);
    struct saved saved = statement_save(stmt);
    bool found;

    statement_discard(stmt);
    found =
        search_on(s, job, true, stmt) ||
        (!promised && !seat->is_loose && is_any_being_freed(s) && search_on(s, job, false, stmt));
    if (!found)
        return promised && statement_recover(stmt, &saved);
    forget_failures(seat, job);
    seat->next = 0; /* who was left out has another try */
    return true;
}

/*
 * Of many gangs alike that do not fit one is tried: where it failed for want of room, one that
 * needs no less fails too, as long as nothing changed. One that lets go what is held for it stands for itself.
 */
static bool has_failed(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);
    struct kind *kind = job->groups[0].kind;
    const struct gang_failure *f = &kind->gang_failed;

    if (s->setup->is_reference || job->n_groups != 1 || job_n_ready(job) || seat->is_loose ||
        f->number != s->number || f->n_log != s->log.n || job->min_available < f->needed ||
        s->protect)
        return false;
    seat->stuck = kind;
    seat->placed = f->placed;
    return true;
}

static void note_failed(struct session *s, struct job *job)
{
    const struct seat *seat = seat_of(s, job);

    if (job->n_groups == 1 && !job_n_ready(job) && !seat->is_loose && !seat->why.code &&
        seat->stuck)
        job->groups[0].kind->gang_failed =
            (struct gang_failure){ s->number, s->log.n, job->min_available, seat->placed };
}

/* A job that has its place; where there is more of it, it comes to its turn again. */
static void settle(struct session *s, struct rounds *rounds, struct job *job)
{
    struct seat *seat = seat_of(s, job);

    if (job_is_ready(s, job) && seat->next < seat->list.n)
        rounds_return_job(rounds, job);
}

/* All of its tasks from one on have another try. */
static void begin_anew(struct seat *seat, const struct job *job, size_t next)
{
    forget_failures(seat, job);
    seat->next = next;
}

/*
 * What nobody holds is not enough: room is made in the job's turn, not in an action behind this one. Else those
 * behind it would take some of what is free, and be evicted for it a cycle later, or keep it waiting.
 */
static enum given make_room(struct session *s, struct rounds *rounds, struct job *job,
                            bool puts_off)
{
    struct seat *seat = seat_of(s, job);
    enum given given = take_in_turn(s, job, puts_off);

    if (given != GIVEN_ROOM)
        return given;
    begin_anew(seat, job, 0);
    settle(s, rounds, job);
    rounds_stir(rounds, NULL);
    return given;
}

/* What nobody holds, in the domain that suits best. */
static enum given give_domain(struct session *s, struct rounds *rounds, struct job *job)
{
    size_t n = s->log.n;

    if (allocate_topology(s, job))
        rounds_return_job(rounds, job);
    return s->log.n > n ? GIVEN_ROOM : GIVEN_NOTHING;
}

/* What nobody holds, as far as it gets. */
static enum given give_free(struct session *s, struct rounds *rounds, struct job *job,
                            bool puts_off)
{
    bool done;
    struct statement stmt = allocate_tasks(s, job, &done);

    if ((job->min_available > 1 || job->has_roles) && s->policy->gang_search_steps &&
        !job_is_ready(s, job))
        done = search_further(s, job, done, &stmt);
    if (!done)
        note_failed(s, job);
    if (done && protect_admits(s, job)) {
        if (puts_off && s->log.n > stmt.mark) {
            statement_discard(&stmt);
            return GIVEN_LATER;
        }
        if (!job_is_ready(s, job))
            return GIVEN_ROOM; /* what is only promised keeps its place until the session ends */
        statement_commit(&stmt, job);
        settle(s, rounds, job);
        return GIVEN_ROOM;
    }
    statement_discard(&stmt);
    return GIVEN_NOTHING;
}

/* Where `puts_off`, nothing is given to the job yet; true: for that alone it got nothing, and is to be
 * visited again. */
static bool visit(struct session *s, struct rounds *rounds, struct job *job, bool puts_off)
{
    struct seat *seat = seat_of(s, job);
    enum given given = GIVEN_NOTHING;
    size_t next = seat->next;

    if (seat->is_refused || seat->was_taken)
        return false;
    seat->was_tried = true;
    seat->why.code = WAIT_NONE;
    if (job_has_topology(s, job))
        given = puts_off ? GIVEN_LATER : give_domain(s, rounds, job);
    else if (!has_failed(s, job))
        given = give_free(s, rounds, job, puts_off);
    if (given == GIVEN_ROOM && rounds_have_stuck(rounds) && take_is_over(s, job))
        rounds_stir(rounds, NULL); /* what others found to be within its share may be had back */
    if (given == GIVEN_NOTHING)
        given = make_room(s, rounds, job, puts_off);
    if (given == GIVEN_NOTHING)
        protect_head(s, job);
    if (given == GIVEN_LATER)
        begin_anew(seat, job, next);
    seat->found_none = given == GIVEN_NOTHING;
    return given == GIVEN_LATER;
}

static void note_over(struct session *s, struct rounds *rounds, struct queue *queue)
{
    struct job *job;

    while ((job = rounds_job(rounds, queue))) {
        struct seat *seat = seat_of(s, job);
        if (!seat->why.code)
            seat->why =
                (struct why){ .code = WAIT_OVER_CAP, .dim = NOWHERE, .blocker = queue->name };
    }
}

/* From which task on it goes: that of its last turn, or the first if that was in vain. */
static void begin_turn(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);

    if (!seat->is_listed) {
        seat_list(s, job);
        seat->next = 0;
    }
    if (seat->found_none)
        begin_anew(seat, job, 0);
    seat->found_none = false;
}

/* Where no action admits, what is pending is admitted as it is met; the reference notes it. */
static void admit_unasked(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);

    if (!seat->is_pending || s->setup->admits)
        return;
    seat->is_pending = false;
    if (s->setup->is_reference && job->queue && job->queue->kept)
        answer_admit(s, job);
}

/* Whether it has tasks for a round. */
static bool is_ready_to_go(struct session *s, struct job *job)
{
    struct statement loose = statement_open(s);
    bool is_loose;

    admit_unasked(s, job);
    if (!job_is_seeking(s, job) || !job_is_admitted(s, job))
        return false;
    is_loose = rooms_let_go(&loose, job);
    seat_list(s, job);
    if (is_loose)
        rooms_hold_on(&loose, job);
    seat_of(s, job)->next = 0;
    return seat_of(s, job)->list.n > 0;
}

/* --- Whose turn it is */

/*
 * The queues' turns. First those in which a queue has what it could take back; when it comes to a job that
 * would go beyond that, it waits until all the others have come to theirs. Else what goes beyond might be taken
 * back at once. A job that finds no room anyhow is no reason to wait: else it would matter how many of
 * those that are alike are looked at.
 *
 * Who waits so hides those behind it of its queue, some of whom could take room back all the same. Before
 * anybody begins beyond its share, those of all other queues pass.
 */
enum stage {
    STAGE_WITHIN,  /* only what could be taken back is given yet */
    STAGE_PASSING, /* likewise, and who would go beyond is passed by those behind it */
    STAGE_ALL
};

struct turns {
    struct rounds rounds;
    enum stage stage;
    VEC_OF(struct queue *) waiting; /* for the next stage */
    VEC_OF(struct job *) passed;
    const struct queue *first; /* all others were let pass for its sake; NULL: none was yet */
    bool all_passed;
    bool forgets; /* which nodes refused a role */
};

/* What the first pending tasks of a job ask for together, at most so many of them. */
static wide *sum_of_next(struct session *s, const struct victims *list, size_t n)
{
    wide *sum = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);

    for (size_t i = 0; i < list->n && n; i++) {
        if (list->at[i]->state != BERTH_TASK_PENDING)
            continue;
        res_add_asks(sum, task_asks(list->at[i]), 1);
        n--;
    }
    return sum;
}

/* Whether the next that a job needs (its minimum, then task by task) is more than its queue could
 * take back. */
static bool goes_beyond(struct session *s, struct job *job)
{
    const struct seat *seat = seat_of(s, job);
    uint32_t ready = job_n_ready(job);
    size_t next = seat->next;
    bool beyond;

    while (next < seat->list.n && seat->list.at[next]->state != BERTH_TASK_PENDING)
        next++;
    if (next == seat->list.n)
        return false;
    if (ready + 1 >= job->min_available)
        return !queue_is_preemptive(s, job->queue, seat->list.at[next], false);
    s->lists = &s->scratch; /* turns are many; what they leave must not add up */
    beyond = !queue_may_take_back(s, job->queue, seat->list.at[next]->group,
                                  sum_of_next(s, &seat->list, job->min_available - ready));
    s->lists = &s->arena;
    arena_clear(&s->scratch);
    return beyond;
}

/* In its turn; true: it waits for another stage, and its queue with it. */
static bool is_put_off(struct session *s, struct turns *turns, struct job *job)
{
    bool puts_off = turns->stage == STAGE_WITHIN ||
                    (turns->stage == STAGE_ALL && !turns->all_passed &&
                     job->queue != turns->first && turns->rounds.queues.items.n > 0);

    if (turns->stage == STAGE_PASSING && goes_beyond(s, job)) {
        VEC_PUSH(&turns->passed, job);
        return false;
    }
    if (visit(s, &turns->rounds, job, puts_off && goes_beyond(s, job))) {
        rounds_return_job(&turns->rounds, job);
        return true;
    }
    rounds_go_on(&turns->rounds, job);
    return false;
}

/* The turn of a queue; true: it waits for another stage. */
static bool give_turn(struct session *s, struct turns *turns, struct queue *queue)
{
    struct statement loose = statement_open(s);
    struct job *job;
    bool is_off, is_loose;

    if (queue_is_overused(s, queue)) {
        note_over(s, &turns->rounds, queue);
        return false;
    }
    job = rounds_job(&turns->rounds, queue);
    if (!job && turns->stage == STAGE_PASSING)
        return true;
    if (!job) {
        rounds_leave(&turns->rounds, queue);
        return false;
    }
    begin_turn(s, job);
    seat_of(s, job)->forgets = turns->forgets;
    is_loose = rooms_let_go(&loose, job);
    is_off = is_put_off(s, turns, job);
    if (is_loose && rooms_hold_on(&loose, job) && !is_off) {
        begin_anew(seat_of(s, job), job, 0);
        is_off = is_put_off(s, turns, job); /* beside what it has, the rest may be promised it */
    } else if (is_loose && s->log.n > loose.mark) {
        rounds_stir(&turns->rounds, NULL); /* what it let go may be what others found none of */
    }
    if (!is_off)
        rounds_return_queue(&turns->rounds, queue);
    return is_off;
}

static void return_waiting(struct turns *turns)
{
    VEC_EACH (job, &turns->passed)
        rounds_return_job(&turns->rounds, *job);
    VEC_EACH (queue, &turns->waiting)
        rounds_return_queue(&turns->rounds, *queue);
    turns->passed.n = turns->waiting.n = 0;
}

static void give_turns(struct session *s, struct turns *turns, enum stage stage)
{
    struct queue *queue;

    turns->stage = stage;
    while (!session_is_spent(s) && (queue = rounds_queue(&turns->rounds))) {
        if (!give_turn(s, turns, queue))
            continue;
        VEC_PUSH(&turns->waiting, queue);
        if (stage == STAGE_ALL) {
            turns->all_passed = turns->first;
            turns->first = queue;
            give_turns(s, turns, STAGE_PASSING);
            turns->stage = stage;
        }
    }
    return_waiting(turns);
}

static const struct argument known[] = { { "predicateErrorCacheEnable", ARG_TRUTH, 0 } };

static void run(struct session *s, const struct berth_value *arguments)
{
    struct {
        bool cache;
    } read = { true };
    struct err err = { 0 };
    struct turns turns = { .all_passed = !s->setup->takes_back };

    if (arguments_read(arguments, known, COUNT_OF(known), NULL, &read, &err) < 0)
        return; /* was checked when the configuration came */
    turns.forgets = !read.cache;
    reservations_hold(s);
    lines_part_placed(s);
    rounds_init(&turns.rounds, s);
    VEC_EACH (job, &s->watched)
        if (is_ready_to_go(s, *job))
            rounds_add_job(&turns.rounds, *job);
    rounds_add_lines(&turns.rounds, is_ready_to_go);
    if (!turns.all_passed)
        give_turns(s, &turns, STAGE_WITHIN);
    give_turns(s, &turns, STAGE_ALL);
    VEC_FINI(&turns.waiting);
    VEC_FINI(&turns.passed);
    rounds_fini(&turns.rounds);
}

static int check(const struct berth_value *arguments, struct err *err)
{
    struct {
        bool cache;
    } read;

    return arguments_read(arguments, known, COUNT_OF(known), NULL, &read, err);
}

const struct action action_allocate = {
    .name = "allocate", .check = check, .sees_lines = sees_lines, .run = run
};

/*
 * The actions, and what several of them share.
 */
#ifndef ENGINE_ACTIONS_H
#define ENGINE_ACTIONS_H

#include "engine/fit.h"
#include "engine/pq.h"
#include "engine/session.h"

extern const struct action action_allocate, action_backfill, action_enqueue, action_gangpreempt,
    action_gangreclaim, action_preempt, action_reclaim, action_provision, action_shuffle;

/* Queues in their order, each with its jobs in theirs. */
struct rounds {
    struct session *s;
    struct pq queues;
    VEC_OF(struct queue *) listed; /* every queue that was pushed */
    VEC_OF(struct job *) in_vain;  /* in cold cycles: of lines, and found no place */
    const struct queue *turn;      /* whose turn it is */
    size_t n_stuck;                /* lines whose first found no place in this round */
    size_t read;                   /* operations of the session's log that `queues` knows */
    bool is_tree;                  /* what one of them holds may count for others */
};

void rounds_init(struct rounds *rounds, struct session *s);
void rounds_fini(struct rounds *rounds);
/** Puts a queue into the round, once. */
void rounds_add_queue(struct rounds *rounds, struct queue *queue);
/** Puts a job into its queue's heap, and the queue into the round. */
void rounds_add_job(struct rounds *rounds, struct job *job);
/**
 * The first queue, taken out; NULL at the end. In profile `volcano` queues stand as they stood when they
 * were put in, elsewhere as they would now.
 */
struct queue *rounds_queue(struct rounds *rounds);
/** The first job of a queue, taken out, or NULL. */
struct job *rounds_job(struct rounds *rounds, struct queue *queue);
void rounds_return_queue(struct rounds *rounds, struct queue *queue);
void rounds_return_job(struct rounds *rounds, struct job *job);

/** For actions that look at no more than lines and s->watched. */
bool sees_lines(const struct session *s);
/** Puts the first of each line into the round, if it may: those behind it are as it is. */
void rounds_add_lines(struct rounds *rounds, bool (*may)(struct session *s, struct job *job));
/**
 * After the first of a line was visited: if it found a place, whoever is first now has a turn; if
 * not, none behind it would find one.
 */
void rounds_go_on(struct rounds *rounds, struct job *job);
/**
 * A queue's lines (NULL: those of all) whose first found no place in this round have another try, as something
 * changed; in cold cycles each of their jobs. Queues that had left the round come back for it.
 */
void rounds_stir(struct rounds *rounds, const struct queue *queue);
/** Whether some would have another try then. */
bool rounds_have_stuck(const struct rounds *rounds);
/** Says that a queue that was taken out has no more jobs. */
void rounds_leave(struct rounds *rounds, struct queue *queue);

/** Whether a job may be placed in this session: open, admitted, valid. Notes why not. */
bool job_is_admitted(struct session *s, struct job *job);

/**
 * Takes room that others hold for a job that is short of its minimum, in its queue or (reclaim) in
 * others; all it needs, or nothing.
 */
bool take_room(struct session *s, struct job *job, bool reclaim);
enum given { GIVEN_NOTHING, GIVEN_ROOM, GIVEN_LATER };
/**
 * Likewise in the turn that a job has in allocate, by those actions that the configuration names. Where
 * `puts_off`, GIVEN_LATER says that it could, and would go beyond its queue's share.
 */
enum given take_in_turn(struct session *s, struct job *job, bool puts_off);
/** Holds the room of all reservations for their owners, and binds what is free of it. */
void reservations_hold(struct session *s);
/** Whether a job has tasks that look for room, those among them who are held some. */
bool job_is_seeking(struct session *s, struct job *job);
/**
 * Lets go what is held for a job that has not begun, or rides on machines on their way, so that it looks
 * for room as if it had none; first in its statement. True: it did, and rooms_hold_on is to come at the end.
 */
MUST_CHECK bool rooms_let_go(struct statement *loose, struct job *job);
/** Likewise, if it rides. */
MUST_CHECK bool rides_let_go(struct statement *loose, struct job *job);
/**
 * Unless something was done for the job since, all is as it was; else what it needs yet is held on.
 * True if it found nothing, and what is held for it is too little and not on machines on their way.
 */
bool rooms_hold_on(struct statement *loose, struct job *job);
/** Gives a task room that is free, if it may begin beside all that has not ended; else it is promised. */
void place_task(struct statement *stmt, struct task *task, const struct choice *choice);
/** Places tasks of a job until it is ready; what was done stands in the statement. */
struct statement allocate_tasks(struct session *s, struct job *job, bool *done);

#endif

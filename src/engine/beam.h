/*
 * Beam: what a session knows of room that is held and of machines that are on their way or that
 * it orders itself. Named for the profile that lives by it; the action `provision` of any
 * profile uses it.
 *
 * A task for which room is held is promised it (pipelined) from the beginning of the session, so
 * that nobody else gets it. A machine that the session orders is a node that is not one of the
 * model: tasks are promised room on it like on any other that is coming.
 */
#ifndef ENGINE_BEAM_H
#define ENGINE_BEAM_H

#include "base/map.h"
#include "engine/session.h"

/* A machine that the session orders. */
struct machine {
    struct node node; /* at NOWHERE */
    struct berth_node kept;
    const struct berth_pool *pool;
    struct berth_amounts shape;
    int64_t *left;   /* by dimension */
    bool is_ordered; /* the answer has it */
};

/* Room that is held for a task. */
struct held {
    struct task *task;
    const struct berth_reservation *by;
};

struct beam {
    struct map held; /* struct held by its task */
    VEC_OF(struct machine *) machines;
    VEC_OF(struct kind *) kinds; /* that were made for this session */
    struct map n_machines;       /* by pool's name, of the model; counted on first use */
    struct node **coming;        /* nodes on their way, by rank */
    size_t n_coming;
    bool is_listed, is_counted, is_held;
    uint64_t turn; /* rises when room on its way grows */
    uint32_t n_named;
    VEC_OF(const struct berth_reservation *) ended; /* that hold nothing any more */
};

struct beam *beam_of(struct session *s);
/** Promises room that is held to those for whom it is; once in a session. */
void beam_hold(struct session *s);
/** Says which reservations ended. */
void beam_release(struct session *s);
/** Ends what is not of the session's arena, once its changes were taken back. */
void beam_close(struct session *s);

/** The room that is held for a task, or NULL. */
const struct held *beam_held(struct session *s, const struct task *task);
/** The nodes on their way, save those that take nothing. */
void beam_list_coming(struct session *s);
/** The kind of the same tasks without a pool selector. */
struct kind *beam_unselected(struct session *s, const struct job *job, const struct kind *kind);

/** Whether another machine of the pool may be ordered at some time. */
bool pool_may_grow(struct session *s, const struct berth_pool *pool);
/** A machine of the pool, as large as the pool's and as a task needs (asks NULL: no task). */
struct machine *machine_new(struct session *s, const struct berth_pool *pool,
                            const struct asks *asks);
bool machine_has_room(const struct machine *machine, const struct asks *asks);
/** Takes asks off what is left, `sign` times. */
void machine_take(struct machine *machine, const struct asks *asks, int sign);
/** Forgets all but the first n machines, on which nobody stands. */
void machines_drop(struct session *s, size_t n);

/** Whether a machine may be ordered, some time, for tasks of a group's class: see actions/provision.c. */
bool provision_may_serve(struct session *s, const struct group *group);
/** Whether so many machines were ordered in vain for a group's tasks that none is any more. */
bool provision_is_spent(const struct session *s, const struct group *group);

/** Groups of the answer out of what ops promise: machines that are ordered, room on others. */
void beam_answer(struct session *s, const struct job *job, const struct op *ops, size_t n);
/** A machine that nobody stands on yet. */
void beam_answer_machine(struct session *s, struct machine *machine);

#endif

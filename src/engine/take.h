/*
 * Take: what the actions that evict have in common in other profiles than volcano.
 */
#ifndef ENGINE_TAKE_H
#define ENGINE_TAKE_H

#include "engine/actions/cost.h"
#include "engine/session.h"

/**
 * Whether a task may be evicted for a job, or lose the room that is held for it: of its queue, or
 * (reclaim) of another.
 */
bool take_may_go(struct session *s, const struct job *taker, const struct task *victim,
                 bool reclaim);

/** Takes a reservation whole, as far as its room is only promised yet. */
void take_room_whole(struct statement *stmt, const struct held_room *room, const char *reason);

/** Promises a task room that nobody holds, if its queue may have more. */
void take_free(struct session *s, struct task *task);
/**
 * Whether a task's queue may take room back for it. Of a job of which some would ride all is held against the share, with
 * all that rides.
 */
bool take_may_reclaim(struct session *s, const struct task *task);
/** Promises a task room where that costs others least, and takes it from them; false: there is none. */
bool take_held(struct session *s, struct task *task, bool reclaim);

/** How many tasks a job may evict for: its minimum, or all; of its roles it needs their minima. */
uint32_t take_goal(const struct session *s, const struct job *job);
/** Whether several tasks of a job may have to begin together, or it matters which do. */
bool take_is_gang(const struct session *s, const struct job *job);
/** Whether a job has less than it may evict for. */
bool take_is_short(const struct session *s, const struct job *job);
/** Whether a task more, like this one, brings its job nearer to what it may evict for: of some roles it lacks none. */
bool take_is_of_use(const struct session *s, const struct task *task);
/** Whether room is to be made for a job at all. */
bool take_is_wanted(struct session *s, struct job *job);

/** Whether a job's queue is at or under its fair share, with all that is promised, in what the job asks for. */
bool take_is_within(struct session *s, const struct job *job);
/**
 * Whether a job's queue, or one above it, is over its fair share, with all that is promised, in what the job asks
 * for: others may have it back.
 */
bool take_is_over(struct session *s, const struct job *job);
/**
 * Whether somebody waits, or waited when it was first asked in this session, who could take room back from the job's
 * queue: on nodes that are there, or (rides) on machines on their way.
 */
bool take_has_claimants(struct session *s, const struct job *job, bool rides);
/**
 * Whether a job may evict those of its own queue that a statement evicts for it, and take what is held for them. Where
 * somebody waits who could take room back, one that goes beyond its queue's share does so to nobody there either: less
 * urgent ones that stay within the share may pass it, and keep what they got. Else that would be taken back from it,
 * and go round for ever.
 */
bool take_may_evict(const struct statement *stmt, const struct job *job);

/**
 * Whether some would lose something in vain: for a job that waits all the same, as some of it is to go on a machine on
 * its way, or hangs on company that others are only promised and may lose; or for another, whose company is evicted.
 */
bool take_is_in_vain(const struct statement *stmt);

/** What so many of the tasks ask of a resource at least, whichever they are. */
wide take_least(struct session *s, const struct victims *tasks, size_t n, uint32_t dim);

/**
 * Keeps what a job takes: who loses what is held for it loses all that it was promised, and where nobody need end for
 * the job, and all that it was promised is free, it is bound there and then. False: it came to nothing.
 */
bool take_keep(struct statement *stmt, struct job *job);

/**
 * Whether clearing the node could make room for a class: it takes work and suits, or it is on its
 * way, and what could be had there is what is held for others.
 */
bool take_may_try(struct session *s, const struct kind *kind, const struct node *node);

#endif

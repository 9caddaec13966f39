/*
 * Hunts: what clearing each node would cost a class of tasks that takes room, kept for a session.
 *
 * Trying a node is dear, and most nodes are as they were when the next task looks. A node is tried
 * again only if something changed that its answer went by: itself, how much a job with tasks on it
 * can spare, company in its part of the cluster, or what the plugins go by beside that (their stamps, the order of
 * the queues).
 */
#ifndef ENGINE_HUNT_H
#define ENGINE_HUNT_H

#include "engine/take.h"

/* Tries a node and leaves nothing behind; false: it cannot be cleared. */
typedef bool hunt_try_fn(struct session *s, struct task *task, struct node *node, bool reclaim,
                         struct cost *cost);

/** Whether answers for the task may be kept; else every node must be tried each time. */
bool hunt_is_kept(struct session *s, const struct task *task, bool reclaim);
/** The node where it costs least, of equals the lesser id; NULL if none can be cleared. */
struct node *hunt_best(struct session *s, struct task *task, bool reclaim, hunt_try_fn *try);
/** A job is about to have, or had, one allocated task more or less. */
void hunts_note(struct session *s, struct job *job);
/** Frees what hangs on the session. */
void hunts_close(struct session *s);

#endif

/*
 * Demand: what of the work that waits could start, however full the nodes are.
 *
 * Queues share by what they hold and by this. Who is held, waits for another job or for a later
 * time, or asks for what could never be had here, cannot use room, and so keeps it from nobody.
 */
#ifndef ENGINE_DEMAND_H
#define ENGINE_DEMAND_H

#include "engine/session.h"

/**
 * Adds what the pending tasks ask for that could start: of jobs that are open and could have their
 * minimum, those that are due and of whose class at least one could run. Notes when time alone
 * would change that. As things stand when the session opens.
 *
 * @wants  by queue->at and dimension; what is in queues that are not known counts nowhere
 */
void demand_add(struct session *s, wide *const *wants);

/** Whether a job's minimum could run at a time, however full the nodes are: each class by itself. */
bool demand_could_start(struct session *s, const struct job *job);

#endif

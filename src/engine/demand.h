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

/** Whether a job's minimum could run at a time, however full the nodes are: each class by itself, and all
 * together as far as that is soon found out (together.h). */
bool demand_could_start(struct session *s, struct job *job);

/** How many of what a job's minimum still needs could run together, at most so many. */
uint64_t demand_together(struct session *s, struct job *job, uint64_t needed);

/**
 * How many of what a job's minimum needs one of the network domains in which it must be kept could hold, each class by itself;
 * its minimum where no domain binds it.
 */
uint64_t demand_in_domain(struct session *s, struct job *job);

/** What a node gives out of a dimension at most: devices that are off count for nothing. */
int64_t demand_offered(const struct model *model, const struct node *node, uint32_t dim);

#endif

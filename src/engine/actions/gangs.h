/*
 * Gangs: room for a whole job in one network domain.
 */
#ifndef ENGINE_ACTIONS_GANGS_H
#define ENGINE_ACTIONS_GANGS_H

#include "engine/session.h"

/**
 * All that a job with a network topology, or with sub-groups, needs, in a statement: in the domain where that costs others least, of its queue
 * or (reclaim) of others. False: there is none, or nobody need go for it, and nothing stands. In other profiles than volcano.
 */
bool gang_find_room(struct statement *stmt, struct job *job, bool reclaim);

#endif

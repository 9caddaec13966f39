/*
 * Elsewhere: whom a gang need not evict if its members go to other places.
 */
#ifndef ENGINE_ACTIONS_ELSEWHERE_H
#define ENGINE_ACTIONS_ELSEWHERE_H

#include "engine/session.h"

/**
 * Takes evictions for a gang out of a statement, and room taken from others, most urgent first, without which its
 * members have places all the same, though not those that they have; of a job that goes whole, all but some that
 * it can spare.
 */
void give_back_elsewhere(struct statement *stmt, struct job *job, bool reclaim);

#endif

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
/**
 * Whether all members that are promised room have it without those who go for them: one may want near it whom
 * another's place costs. They may go elsewhere for that; false: there is no way, and nothing stands.
 */
bool gang_stands_alone(struct statement *stmt, struct job *job, bool reclaim);

#endif

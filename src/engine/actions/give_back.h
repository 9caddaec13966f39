/*
 * Giving back: victims without whom everything still fits stay.
 */
#ifndef ENGINE_GIVE_BACK_H
#define ENGINE_GIVE_BACK_H

#include "engine/session.h"

/**
 * Takes evictions for a job out of a statement, and room taken from others, without which the job has what it
 * needs all the same: most urgent first; where it is a gang, also if its members go elsewhere for it.
 */
void give_back(struct statement *stmt, struct job *job, bool reclaim);
/** Whether two losses are of what goes and comes back together: a reservation, or (whole) a gang. */
bool is_of_unit(const struct op *a, const struct op *b, bool whole);

#endif

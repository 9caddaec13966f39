/*
 * Bargain: of the sets of victims on a node that would do, the one that costs least.
 */
#ifndef ENGINE_ACTIONS_BARGAIN_H
#define ENGINE_ACTIONS_BARGAIN_H

#include "engine/actions/clear.h"

/**
 * Marks others where that costs less than those that are marked; found: those will do. Of sets that
 * cost the same those stay. False: no set was found. Leaves nothing evicted.
 */
bool bargain(struct clearing *c, bool found);

#endif

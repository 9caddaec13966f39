/*
 * Giving back: victims without whom everything still fits stay.
 */
#ifndef ENGINE_GIVE_BACK_H
#define ENGINE_GIVE_BACK_H

#include "engine/session.h"

/** Whether a statement is of evictions, and of promises to tasks that want amounts alone. */
bool can_give_back(const struct statement *stmt);
/** Takes evictions out of it, most urgent first, without which it could be done again. */
void give_back_units(struct statement *stmt);

#endif

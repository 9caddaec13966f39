/*
 * Verdicts, the cycle's side: making one. What others do with it is in cycle.h.
 */
#ifndef SERVER_CYCLE_VERDICTS_H
#define SERVER_CYCLE_VERDICTS_H

#include "server/cycle.h"

/** Takes a cycle's decisions (NULL: none yet), which stay to be read; yours to verdicts_unref. */
struct verdicts *verdicts_make(const struct berth_decisions *decisions, uint64_t revision);
struct verdicts *verdicts_ref(struct verdicts *verdicts);

#endif

/*
 * Missing: what to say of a node or queue that is not there: the one that may have been meant.
 */
#ifndef SERVER_MISSING_H
#define SERVER_MISSING_H

#include "server/call.h"

/** Sets NOT_FOUND for a node, with the nearest name. Returns 0, or below 0 an error of the store. */
MUST_CHECK int missing_node(struct call *call, struct reader *reader, const char *name,
                            struct err *err);
/** The same for a queue. */
MUST_CHECK int missing_queue(struct call *call, struct reader *reader, const char *name,
                             struct err *err);

#endif

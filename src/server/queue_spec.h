/*
 * What a queue is made of: its object, as the API takes it, as an operation of the ledger.
 */
#ifndef SERVER_QUEUE_SPEC_H
#define SERVER_QUEUE_SPEC_H

#include "server/call.h"

/**
 * A queue's operation from its object.
 *
 * @path_name  what the path calls it; NULL: the object must
 * Returns     yours to send; NULL: the problem is set
 */
struct op *queue_spec_read(struct call *call, const json_t *body, const char *path_name);
/** The cap has two names: scenario documents call it a capability. Renames it; NULL is fine. */
void queue_spec_rename(json_t *body);

#endif

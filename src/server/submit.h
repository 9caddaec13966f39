/*
 * Submit: what one job and a batch of them are read by.
 */
#ifndef SERVER_SUBMIT_H
#define SERVER_SUBMIT_H

#include "api/job.h"
#include "server/call.h"

/** The Idempotency-Key; NULL: there is none. False: it will not do, and the problem is set. */
bool submit_read_key(struct call *call, const char **out);
/**
 * A job in the caller's namespace, where it names none.
 *
 * Returns  yours, or NULL: the problem is set
 */
struct job_spec *submit_read_spec(const struct call *call, json_t *object, struct problem *problem);
/** The operation, which owns the specification and the key (or NULL). */
struct op *submit_op(const struct call *call, struct job_spec *spec, char *key);

#endif

/*
 * Hide: whoever is bound to a namespace is told of other jobs that stood in the way of its own, not
 * which jobs of other namespaces they are.
 */
#ifndef SERVER_HIDE_H
#define SERVER_HIDE_H

#include <jansson.h>

#include "ledger/ledger.h"
#include "server/auth.h"

/* What stands where a name is hidden. */
#define HIDDEN_JOB "a job of another namespace"

/** Whether a job is in a namespace; one that is not known is in none. */
typedef bool job_in_fn(void *arg, uint64_t job, const char *ns);

/**
 * Hides names in an attempt, a task, a reservation, an order, a node, as the API shows them:
 * evictedFor, takenBy, victims, job, info.orphans, info.kept, and a message that ends with "for j-12".
 */
void hide_jobs(json_t *object, const struct who *who, job_in_fn *is_in, void *arg);
/** The same in each of a list. */
void hide_jobs_of(json_t *list, const struct who *who, job_in_fn *is_in, void *arg);
/** job_in_fn of a reader, which is the argument. */
bool hide_by_reader(void *reader, uint64_t job, const char *ns);

#endif

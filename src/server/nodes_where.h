/*
 * Where: which nodes each job has live attempts on. Written by the node loop, asked by any thread.
 */
#ifndef SERVER_NODES_WHERE_H
#define SERVER_NODES_WHERE_H

#include <pthread.h>

#include "base/map.h"

struct where {
    pthread_mutex_t lock; /* of all of it, for a few instructions */
    struct map jobs;      /* by number: struct where_job * */
};

void where_init(struct where *where);
void where_fini(struct where *where);
/** Forgets all jobs. */
void where_clear(struct where *where);

/** An attempt of the job lives on the node. The name is borrowed and must outlive it. */
void where_add(struct where *where, uint64_t id, const char *node);
/** One that was added does not any more. */
void where_drop(struct where *where, uint64_t id, const char *node);

/**
 * The nodes of a job, by name.
 *
 * @out     out[n_max], borrowed names of the first ones
 * Returns  how many nodes there are, n_max or not
 */
size_t where_find(struct where *where, uint64_t id, const char **out, size_t n_max);

#endif

/*
 * Guarantees against what there is: what all queues are guaranteed together is kept free of others,
 * also where no machine has it. Then nothing may be left for anybody without a guarantee.
 */
#ifndef SERVER_GUARANTEES_H
#define SERVER_GUARANTEES_H

#include <jansson.h>

#include "ledger/ledger.h"

struct guarantees {
    json_t *all;     /* what all queues are guaranteed, by resource, as rows have amounts */
    json_t *offered; /* what the nodes that take new work offer */
    json_t *known; /* likewise what any node offers, or a queue is bounded by: names alone count */
    size_t n_nodes;
};

/** @out  { 0 }; to guarantees_fini, also after a failure */
MUST_CHECK int guarantees_read(struct reader *reader, struct guarantees *out, struct err *err);
void guarantees_fini(struct guarantees *guarantees);
/** Whether more of a resource is guaranteed than the nodes offer; with no node at all nobody
 * knows. */
bool guarantees_exceed(const struct guarantees *guarantees, const char *resource);

/** Adds `warnings` to a queue as shown, one for each resource that its guarantee helps to
 * exceed. */
MUST_CHECK int guarantees_warn(struct reader *reader, const struct row_queue *row, json_t *shown,
                               struct err *err);
/** Adds to a queue's arithmetic of a resource what all are guaranteed of it, and what there is. */
void guarantees_show(const struct guarantees *guarantees, const char *resource, json_t *object);

#endif

/*
 * Terms: what a task says of others, and of the parts of the cluster that a key of nodes' labels makes (zones, racks,
 * machines).
 */
#ifndef ENGINE_TERMS_H
#define ENGINE_TERMS_H

#include "engine/session.h"

/** Whether a term of a class speaks of tasks of another. */
bool term_means(const struct berth_pod_term *term, const struct kind *owner,
                const struct kind *other);
/** Whether its parts are single machines. */
bool term_is_by_node(const struct berth_pod_term *term);
/** Of which part a node is: the value of its label, a machine's name where it has none; NULL: of none. */
const char *term_value(const struct berth_pod_term *term, const struct node *node);
/** Whether two nodes, or one, are of the same part. */
bool term_joins(const struct berth_pod_term *term, const struct node *a, const struct node *b);
/**
 * Numbers the parts from 0 on.
 *
 * @takes_part  by node->at: which nodes are of any; NULL: all that have a value
 * @part_of     out: by node->at; NOWHERE: of none
 * Returns      how many parts there are
 */
size_t term_divide(struct session *s, const struct berth_pod_term *term, const bool *takes_part,
                   uint32_t *part_of);

#endif

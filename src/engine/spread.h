/*
 * Spread: how evenly tasks that a selector means stand over the parts of the cluster that a label of nodes
 * makes (zones, racks, machines): as a limit, and as a score.
 */
#ifndef ENGINE_SPREAD_H
#define ENGINE_SPREAD_H

#include "engine/framework.h"
#include "engine/session.h"

/* Counts for classes of tasks; they follow what nodes were touched. */
struct spread;

/** Whether the constraints of a class are to be asked at all. */
bool spread_is_asked(const struct kind *kind);
/** Whether the node is of some part for each constraint; of a class that has some. */
bool spread_has_parts(const struct kind *kind, const struct node *node);
/** Whether the class would rather be spread. */
bool spread_is_preferred(const struct kind *kind);
/**
 * Whether a task more on the node leaves no part fuller than the emptiest by more than is allowed. Parts are
 * those with a node that the class may use by labels; what is ending counts for none.
 *
 * @kept  what was counted before, or NULL; in the session's arena
 */
bool spread_holds(struct session *s, struct spread **kept, const struct kind *kind,
                  const struct node *node);
/**
 * Adds to the scores of the candidates how few of the meant tasks their parts have, 0 to 100 times the
 * weight: 100 * (most + least - its own) / most, where a node's own is the sum over the constraints of tasks
 * in its part times ln(parts + 2), and maxSkew - 1. A node that is of no part for one of them gets nothing.
 */
void spread_score(struct session *s, struct spread **kept, const struct kind *kind,
                  const struct candidates *candidates, int64_t weight);

#endif

/*
 * Spread: how evenly tasks that a selector means stand over the parts of the cluster that a label of nodes
 * makes (zones, racks, machines).
 */
#ifndef ENGINE_SPREAD_H
#define ENGINE_SPREAD_H

#include "engine/session.h"

/* Counts for one class of tasks, as of some touch of the nodes. */
struct spread;

/** Whether the constraints of a class are to be asked at all. */
bool spread_is_asked(const struct kind *kind);
/**
 * Whether a task more on the node leaves no part fuller than the emptiest by more than is allowed. Parts are
 * those with a node that the class may use by labels; what is ending counts for none.
 *
 * @kept  what was counted before, or NULL; in the session's arena
 */
bool spread_holds(struct session *s, struct spread **kept, const struct kind *kind,
                  const struct node *node);

#endif

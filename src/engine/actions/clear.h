/*
 * Clear: who must go from a node so that a task fits.
 */
#ifndef ENGINE_ACTIONS_CLEAR_H
#define ENGINE_ACTIONS_CLEAR_H

#include "engine/session.h"

/**
 * Makes room on a node: evicts in order until the task fits, then keeps back each, most urgent
 * first, without whom it fits too; others, where that costs less. What was done stands in the
 * statement, also where it was in vain.
 */
bool clear_node(struct statement *stmt, struct task *task, struct node *node, bool reclaim);

#endif

/*
 * Clear: who must go from a node so that a task fits.
 */
#ifndef ENGINE_ACTIONS_CLEAR_H
#define ENGINE_ACTIONS_CLEAR_H

#include "engine/actions/cost.h"
#include "engine/session.h"
#include "engine/wide.h"

/* A node that is being cleared for a task. */
struct clearing {
    struct statement *stmt;
    struct task *task;
    struct node *node;
    bool reclaim;
    struct victims set;    /* whom plugins let go, each for itself; in the order in which they go */
    bool *marked;          /* of those: who goes */
    bool is_free;          /* any of them may go together */
    bool is_one_by_one;    /* evicting one of them is always evicting just that one */
    bool is_about_amounts; /* room for amounts is all that can keep the task away, whoever goes */
};

/**
 * Makes room on a node: evicts in order until the task fits, then keeps back each, most urgent
 * first, without whom it fits too; others, where that costs less. What was done stands in the
 * statement, also where it was in vain.
 */
bool clear_node(struct statement *stmt, struct task *task, struct node *node, bool reclaim);

/** Clears a node, says what that costs, and takes it all back; false: it cannot be. */
bool clear_cost(struct session *s, struct task *task, struct node *node, bool reclaim,
                struct cost *cost);

/** Evicts those marked, in their order, and who goes with them. */
void clear_evict(struct clearing *c);
/** Whether the task fits the node as things are. */
bool clear_fits(const struct clearing *c);
/** By dimension what the node is short of, above 0, or has more of than the task asks for. */
wide *clear_lacks(const struct clearing *c);
/** Whether a job may go whole where it can spare no more. */
bool clear_may_go_whole(const struct clearing *c, const struct job *job);
/** How many tasks a job can spare at most without going whole; which, its roles say. */
size_t clear_spares(const struct session *s, const struct job *job);
/** Whether with all that go of a job one more of it can go without the rest. */
bool clear_can_spare(const struct session *s, const struct victims *gone, const struct task *task);

#endif

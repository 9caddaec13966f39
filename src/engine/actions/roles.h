/*
 * Roles: what a task that found no node means for the others of its job.
 *
 * In profile `volcano` a role of which one task failed is not tried again; and a node that refused
 * one task of a role is closed to the rest of it for as long as one try lasts, even to those that
 * want something else.
 */
#ifndef ENGINE_ACTIONS_ROLES_H
#define ENGINE_ACTIONS_ROLES_H

#include "engine/session.h"

struct choice;

/* Nodes to choose from. */
struct nodes_of {
    struct node *const *at;
    size_t n;
};

/* Which nodes are closed to which roles of a job, in one try. */
struct closed {
    bool **nodes; /* by the first group of a role, by node->at; NULL: nothing is kept */
};

/**
 * Whether the job's minimum may still be met; failed: by group, whether a task of its role failed. Elsewhere than
 * in profile `volcano` others of the role, which want something else, may find a node.
 */
bool roles_may_go_on(const struct session *s, const struct job *job, const bool *failed);
/** Marks the groups of the task's role. */
void roles_note_failure(const struct task *task, bool *failed);
/** Whether a task is not tried as one of its role failed, or (elsewhere) one like it; stuck: who failed last. */
bool role_is_skipped(const struct session *s, const struct task *task, const bool *failed,
                     const struct kind *stuck);

/** Begins a try; is_on: whether refusals are kept (predicateErrorCacheEnable). */
struct closed closed_none(struct session *s, const struct job *job, bool is_on);
/** The nodes closed to the task's role, by node->at, to read and to mark; NULL: nothing is kept. */
bool *closed_to(struct session *s, struct closed *closed, const struct task *task);
/** The best node for a task among some, or (NULL) all, that are open to its role; closes others. */
bool role_best_of(struct session *s, struct closed *closed, const struct task *task,
                  const struct nodes_of *among, struct choice *out);

#endif

/*
 * Cost: what evictions, and room taken from those who do not run yet, cost others.
 */
#ifndef ENGINE_ACTIONS_COST_H
#define ENGINE_ACTIONS_COST_H

#include "engine/session.h"
#include "engine/wide.h"

/* What room costs, what weighs most first: whoever runs weighs more than all that is held. */
struct cost {
    bool is_late;     /* the room is on a machine on its way */
    size_t n_broken;  /* victims whose jobs are below their budgets then */
    int64_t priority; /* the highest among the victims */
    wide lost;        /* milliseconds of work since the start or the last checkpoint, times cpu */
    size_t n;
    int64_t held_priority; /* the highest among those whose held room is taken */
    size_t n_held;         /* tasks that it was held for */
};

/** Of nothing. */
struct cost cost_none(void);
/** Adds the work of one who runs. */
void cost_add_lost(const struct session *s, struct cost *cost, const struct task *task);
/** Adds room that is held for a task of the job. */
void cost_add_held(struct cost *cost, const struct job *job);
/** What was taken since a mark in the log costs. */
struct cost cost_of(const struct session *s, size_t mark);
int cost_cmp(const struct cost *a, const struct cost *b);

#endif

/*
 * Take: what the actions that evict have in common in other profiles than volcano.
 */
#ifndef ENGINE_TAKE_H
#define ENGINE_TAKE_H

#include "engine/session.h"

/** Whether a task may be evicted for a job: of its queue, or (reclaim) of another. */
bool take_may_go(struct session *s, const struct job *taker, const struct task *victim,
                 bool reclaim);

/** Whether a job has less than it may evict for: its minimum, or all its tasks. */
bool take_is_short(const struct session *s, const struct job *job);
/** Whether room is to be made for a job at all. */
bool take_is_wanted(struct session *s, const struct job *job);

/* What a set of evictions costs, what weighs most first. */
struct cost {
    size_t n_broken;  /* victims whose jobs are below their budgets then */
    int64_t priority; /* the highest among the victims */
    wide lost;        /* milliseconds of work since the start or the last checkpoint, times cpu */
    size_t n;
};

/** What the evictions since a mark in the log cost. */
struct cost cost_of(const struct session *s, size_t mark);
int cost_cmp(const struct cost *a, const struct cost *b);

#endif

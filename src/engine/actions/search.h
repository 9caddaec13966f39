/*
 * Search: a place for a gang of unlike tasks that found none in their order.
 */
#ifndef ENGINE_ACTIONS_SEARCH_H
#define ENGINE_ACTIONS_SEARCH_H

#include "engine/actions/roles.h"
#include "engine/session.h"

/** What a search may do to place a gang, and how long. */
struct ways {
    bool idle_only; /* on what is free now; else on what is being freed too */
    bool
        promises; /* places are promised, up to what may be evicted for; else given where they can be */
    bool clears;                  /* others may go for it, as take_may_go says */
    bool reclaim;                 /* those of other queues */
    const struct nodes_of *among; /* on these nodes alone; NULL: on all */
    int64_t steps;                /* members that are put on a node, at most */
    int64_t *left;                /* less what was done, in steps; NULL: nobody counts */
};

/**
 * Looks for a way to place a job's tasks so that it has its minimum. True if there is one, which then stands in
 * the statement; else nothing does.
 */
bool gang_search(struct statement *stmt, struct job *job, const struct victims *tasks,
                 const struct ways *ways);

#endif

/* Stop: how a shutdown splits its time, and how far it is. */
#ifndef AGENT_STOP_H
#define AGENT_STOP_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct timer;

/* Shares of a budget, in its order; none is negative, and their sum is the budget. */
struct stop_split {
    int64_t drain_ms; /* what runs may end by itself */
    int64_t grace_ms; /* TERM to KILL */
    int64_t force_ms; /* KILL to the end */
    int64_t clean_ms; /* removing, and the last reports */
};
struct stop_split stop_split(int64_t budget_ms);

enum stop_stage { STOP_NOT, STOP_DRAINS, STOP_TERMS, STOP_FORCES, STOP_IS_OVER };

struct stopping {
    enum stop_stage stage;
    struct stop_split split;
    struct timer *timer;
};

/** Begins, or goes on to the next stage at once if it is under way. */
void stop_begin(struct agent *agent, int64_t budget_ms);

#endif

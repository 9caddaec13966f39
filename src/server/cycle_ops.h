/*
 * Cycle, decisions to operations: what the engine decided, in the ledger's words.
 */
#ifndef SERVER_CYCLE_OPS_H
#define SERVER_CYCLE_OPS_H

#include "base/vec.h"
#include "server/cycle.h"
#include "server/feed.h"

struct cycle_ops {
    VEC_OF(struct op *);
};

/* What all operations of one cycle share. */
struct cycle_ops_in {
    const struct feed *feed;
    uint64_t revision, fence;
    int64_t now_ms; /* that was decided at */
    void (*done)(struct op *op, void *arg);
    void *(*new_arg)(struct op *op, void *maker); /* makes each operation's arg */
    void *maker;
};

/** Adds the failures of jobs that did not start by their deadlines, with what they waited for. */
void cycle_ops_fail_overdue(const struct cycle_ops_in *in, const struct verdicts *verdicts,
                            struct cycle_ops *out);

/** Adds the ends of reservations whose time is over. */
void cycle_ops_release_overdue(const struct cycle_ops_in *in, struct cycle_ops *out);

/** Adds the failures of orders that are as old as that: nobody brought the machine. */
void cycle_ops_fail_orders(const struct cycle_ops_in *in, int64_t ttl_ms, struct cycle_ops *out);

/** Adds the end of all that runs of gangs that have run short for too long: they are pending
 * again. */
void cycle_ops_stop_short(const struct cycle_ops_in *in, int64_t timeout_ms, struct cycle_ops *out);

/**
 * Makes the operations of a cycle, in its order.
 *
 * @out  gains them; yours to send
 */
void cycle_ops_make(const struct cycle_ops_in *in, const struct berth_decisions *decisions,
                    struct cycle_ops *out);

#endif

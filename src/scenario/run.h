/*
 * Running a document: cycles, and what was decided fed back as if it had been accepted.
 */
#ifndef SCENARIO_RUN_H
#define SCENARIO_RUN_H

#include "scenario/inside.h"

/* A machine that was ordered. */
struct ordered {
    const char *pool;
    struct berth_amounts shape;
};

struct run {
    struct scenario *s;
    struct berth_engine *engine;
    struct berth_cycle_in in;      /* of the next cycle */
    struct berth_decisions last;   /* of the last one */
    VEC_OF(struct ordered) orders; /* of all cycles */
    size_t n_bound, n_evicted;
};

/** A new engine with the document's objects. Yours to run_end, also after an error. */
MUST_CHECK int run_begin(struct run *run, struct scenario *s, struct err *err);
/** One cycle; what it decides holds from then on. */
MUST_CHECK int run_cycle(struct run *run, struct err *err);
/** Time passes: what was bound runs, what was evicted has left its node and is pending. */
MUST_CHECK int run_step(struct run *run, struct err *err);
void run_end(struct run *run);

#endif

/*
 * Explain: what the files that answer why a task waits share.
 */
#ifndef ENGINE_EXPLAIN_H
#define ENGINE_EXPLAIN_H

#include "engine/engine.h"

/** A task or (known) node by key; NULL: the error is set. */
struct task *task_named(struct model *model, const struct berth_task_ref *ref, struct err *err);
struct node *node_named(struct model *model, const char *id, struct err *err);

/**
 * Holds what is reserved, as a cycle does first: for others than the job, whose own room does not
 * stand in its way.
 */
void explain_hold(struct session *s, const struct job *job);

/* What a cycle would do for a job. */
struct outcome {
    bool starts;      /* it binds a task of it, or makes room for one */
    bool is_promised; /* that room is not free yet, though nobody is evicted for it */
    uint32_t n_evicted;
    const struct berth_part *part; /* that is bound, or for which room is made */
};
/** Reads it from the decisions; the part lives with them. */
struct outcome outcome_of(const struct berth_decisions *decisions, const char *job);

#endif

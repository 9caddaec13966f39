/*
 * Explain: what the files that answer why a task waits share.
 */
#ifndef ENGINE_EXPLAIN_H
#define ENGINE_EXPLAIN_H

#include "engine/engine.h"
#include "engine/fit.h"

/** A task or (known) node by key; NULL: the error is set. */
struct task *task_named(struct model *model, const struct berth_task_ref *ref, struct err *err);
struct node *node_named(struct model *model, const char *id, struct err *err);

/**
 * Runs a cycle and leaves its session open, as it is at the end: reasons count nodes then. What the
 * cycle promised the task's own job, and a place that it gave the task, do not stand in its way.
 */
struct session *explain_run(struct berth_engine *engine, const struct berth_cycle_in *in,
                            const struct task *task, struct berth_decisions *out);
/** Why a node has no room for a class now, though it may come free; FAIL_NONE: it has. */
fail_t explain_fail(struct session *s, const struct kind *kind, const struct node *node);

/** Whether a task is being stopped and waits again once it has ended. */
bool task_comes_back(const struct task *task);

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

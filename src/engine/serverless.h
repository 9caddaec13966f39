/*
 * Serverless placement: which nodes and pools a task may use, and in which order of preference.
 */
#ifndef ENGINE_SERVERLESS_H
#define ENGINE_SERVERLESS_H

#include "engine/session.h"

/* How a task looks for its place. */
struct wish {
    const struct kind *kind;
    const char *selector;            /* the pool it keeps to, or NULL */
    bool wants_gpu, any;             /* any GPU */
    const struct berth_chain *chain; /* of pools that stand in, or NULL */
};

/** How a task of the kind looks; unselected leaves its selector out. */
struct wish wish_of(struct session *s, const struct kind *kind, bool unselected);
/** The first filter that keeps the task from the node, room and the node's state aside. */
enum wait_code wish_filter(struct session *s, const struct wish *wish, const struct node *node);
/** How far down its chain the node stands: 0 for a listed model. */
size_t wish_rank(struct session *s, const struct wish *wish, const struct node *node);
/** Pool priority, plus 10 if it is there, less the model's place in the list. */
int64_t wish_score(struct session *s, const struct wish *wish, const struct node *node);

/** A pool by name, or NULL. */
const struct berth_pool *pool_find(const struct session *s, const char *name);
/** Whether a machine of the pool would take the task, room aside. */
bool wish_takes_pool(struct session *s, const struct wish *wish, const struct berth_pool *pool);
/** The pools that could get a machine for it, in their order; the number of them. */
size_t wish_pools(struct session *s, const struct wish *wish, const struct berth_pool **out);

/** Whether two names of GPU models mean the same one. */
bool gpu_model_eq(const char *a, const char *b);

#endif

/*
 * Protect: looking ahead for a job that waits too long.
 *
 * The first job of a queue that found no room when its turn came, has waited `protectAfter` and
 * could run is a head. By the time limits of what runs it is worked out when it can start, and
 * where: that room is kept. Others may use it if they end before the head begins, or fit
 * beside what the head will hold. Worked out anew in each cycle, and stored nowhere.
 */
#ifndef ENGINE_PROTECT_H
#define ENGINE_PROTECT_H

#include "engine/fit.h"
#include "engine/session.h"

/* What a head will hold on a node, and what is left beside it when it begins. */
struct kept {
    struct node *node;
    int64_t *planned; /* by dimension */
    int64_t *spare;   /* likewise; true while no node was touched since `read` */
    uint64_t read;
};

struct head {
    struct job *job;
    int64_t at_ms; /* when it can start */
    struct kept *kept;
    size_t n_kept;
    uint32_t *place;    /* by node->at: 1 + its place in kept, or 0 */
    struct kind bundle; /* all that it needs, as one class */
};

struct protect {
    struct head *heads; /* as many as there are queues */
    size_t n;
    struct kind *refused; /* the last class that found nothing beside heads */
    int64_t refused_end_ms;
    uint64_t refused_read;
};

/** When a task that holds room ends by its limit, at the latest; BERTH_NEVER without one. */
int64_t protect_ends_at(struct session *s, const struct task *task);
/** Makes a job that found no room a head, if it may be one. */
void protect_head(struct session *s, struct job *job);
/** Works out when and where a job can start; false if it cannot be foreseen. */
bool protect_plan(struct session *s, struct job *job, struct head *out);
/** What heads are to hold on a node in a dimension. */
int64_t protect_planned(const struct session *s, const struct node *node, uint32_t dim);

/** Whether a task may go to a node, for all that heads need. */
bool protect_allows(struct session *s, const struct task *task, const struct node *node);
/** As fit_best and fit_best_of, among the nodes that are allowed. */
bool protect_best(struct session *s, const struct task *task, struct choice *out);
bool protect_best_of(struct session *s, const struct task *task, struct node *const *nodes,
                     size_t n, struct choice *out);
/** Whether the heads' queues still admit them, now that a job's tasks have their places. */
bool protect_admits(struct session *s, struct job *job);

#endif

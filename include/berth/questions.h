/*
 * Questions about the model as it stands, at in->now_ms: why a task waits, node by node and check
 * by check; what would place it; the arithmetic of a queue and a node.
 *
 * A part of berth/engine.h, which includes it. Questions change nothing. A name that is not known
 * is -ENOENT. Lists and texts live in the arena that is passed. What is said to place a task was
 * tried: the engine ran a cycle with it supposed.
 */
#ifndef BERTH_QUESTIONS_H
#define BERTH_QUESTIONS_H

#include "berth/engine.h"

/* --- Why a task waits --- */

/* A task that holds, or is promised, room on a node. */
struct berth_holder {
    const char *job, *namespace_; /* namespace_ may be NULL */
    const char *group;
    uint32_t index, attempt;
    int64_t amount;      /* of the dimension in question; 0 where it is none */
    int64_t limit_at_ms; /* when its limit ends it; 0: nothing does */
    bool is_leaving;     /* it is being stopped */
    bool is_promised;    /* it is not there yet: its room is held for it; then attempt is 0 */
    bool is_own;         /* it is of the job that is explained */
};

enum { BERTH_HOLDERS_MAX = 8 };

/* What a task asked of a node and what the node has: an amount or words. */
struct berth_node_reason {
    const char *node;
    enum wait_code code;  /* the first check it fails; WAIT_NONE: the task fits */
    const char *resource; /* the dimension that is short, or NULL */
    int64_t asked, free;
    const char *wants;                  /* what was asked, where it is no amount: disk=nvme */
    const char *has;                    /* what the node has instead; NULL: nothing */
    const struct berth_holder *holders; /* who holds the rest: the largest first */
    size_t n_holders;                   /* at most BERTH_HOLDERS_MAX */
    size_t n_more;                      /* that hold some too and are not listed */
    double score;                       /* where the task fits */
};

/* A task that is being stopped, or is to be, and whose end somebody waits for. */
struct berth_stopping {
    const char *job, *namespace_, *group, *node; /* namespace_ may be NULL */
    uint32_t index, attempt;
};

enum { BERTH_STOPPING_MAX = 20 };

struct berth_explanation {
    enum wait_code state; /* the reason a cycle would give; WAIT_NONE if it would be placed */
    const struct berth_reason *reason;
    const struct berth_node_reason *nodes; /* every node, by rank */
    size_t n_nodes;
    uint32_t place, of; /* among the jobs of its queue that wait, from 1; 0: it waits for none */
    const struct berth_verdict *verdicts; /* on the groups of the job */
    size_t n_verdicts;
    /* Why its queue takes nothing back from others: with what the job needs it would hold more of
     * this than is fair. NULL: that is not why, or nobody takes anything back. */
    const char *share_resource;
    int64_t share_fair, share_allocated;
    /* The queue from which its queue, within its share, may take none of this back (not `reclaimable`), and which holds most of
     * it; NULL: that is not why. */
    const char *keeper, *keeper_resource;
    int64_t keeper_allocated;
    /* Where room is being freed for the task (WAIT_WAITING_FOR_EVICTION): whose ends it, and those
     * who begin with it, wait for. Nothing need be changed. At most BERTH_STOPPING_MAX. */
    const struct berth_stopping *stopping;
    size_t n_stopping;
};

/** Everything about why a task waits, or where it would go. */
MUST_CHECK int berth_engine_explain(struct berth_engine *engine, const struct berth_cycle_in *in,
                                    const struct berth_task_ref *task, struct arena *arena,
                                    struct berth_explanation *out, struct err *err);

/**
 * Which groups of a job the cluster as it is could never run, however long they wait, and why: no
 * node is large enough or has what they ask for, the gang is larger than all nodes, a task than its
 * queue's cap. Runs no cycle.
 */
MUST_CHECK int berth_engine_never(struct berth_engine *engine, const struct berth_cycle_in *in,
                                  const char *job, struct arena *arena,
                                  const struct berth_verdict **out, size_t *n, struct err *err);

/* One check of a node. */
struct berth_check {
    const char *name; /* "ready", "label disk", "memory" ... */
    struct berth_node_reason result;
};

/**
 * Asks a node check by check, in the order in which reasons count: whether it takes work, each
 * constraint that the task states, each amount that it asks for. One that fails is there if and
 * only if the task does not fit.
 */
MUST_CHECK int berth_engine_checks(struct berth_engine *engine, const struct berth_cycle_in *in,
                                   const struct berth_task_ref *task, const char *node,
                                   struct arena *arena, const struct berth_check **out, size_t *n,
                                   struct err *err);

enum berth_change_kind {
    /* one field of the job */
    BERTH_CHANGE_HOLD,       /* it is released */
    BERTH_CHANGE_MINIMUM,    /* minAvailable: from, to */
    BERTH_CHANGE_AMOUNT,     /* what a task of the group asks of resource: from, to */
    BERTH_CHANGE_LABEL,      /* the group's nodeSelector without `key`, which wants `wants` */
    BERTH_CHANGE_TOLERATION, /* the group tolerates the taint `wants` */
    BERTH_CHANGE_QUEUE,      /* another queue: `wants` */
    BERTH_CHANGE_PRIORITY,   /* from, to */
    /* one field of another job */
    BERTH_CHANGE_BUDGET, /* the budget of job, which forbids evictions: its `key`, from, to */
    /* one event in sight */
    BERTH_CHANGE_TASKS_END,    /* of job on node */
    BERTH_CHANGE_JOB_ENDS,     /* all of job's tasks */
    BERTH_CHANGE_NODE_RETURNS, /* node is ready again */
    BERTH_CHANGE_UNCORDON,     /* node */
    BERTH_CHANGE_TIME,         /* until then it is withheld, in back-off, or others are spared */
    BERTH_CHANGE_KIND_COUNT
};
#define BERTH_CHANGE_FIRST_EVENT BERTH_CHANGE_TASKS_END
extern const char *const berth_change_words[BERTH_CHANGE_KIND_COUNT];

/* A change that would place the job, as a cycle said. */
struct berth_change {
    enum berth_change_kind kind;
    uint32_t group_at;    /* the group's place in the job */
    const char *resource; /* amount */
    int64_t from, to;
    bool is_percent; /* budget: from and to are percentages */
    const char *key, *wants;
    const char *job, *namespace_; /* whose tasks end, or whose budget it is */
    const char *node;
    uint32_t n_tasks;   /* that end */
    int64_t by_ms;      /* when it comes about by itself at the latest; 0: nobody knows */
    uint32_t n_evicted; /* tasks that would be evicted for it */
};

struct berth_search {
    size_t most;      /* changes wanted; 0: 3 */
    size_t max_runs;  /* cycles to try at most; 0: 48 */
    int max_priority; /* the highest that a job may have; 0: any */
};

struct berth_changes {
    const struct berth_change *at; /* an event with a known time first, then fields, then others */
    size_t n;
    bool is_placed;  /* a cycle places it as things are */
    bool is_limited; /* the search ended before all was tried */
    size_t n_runs;
};

/**
 * Searches for the smallest changes, each by itself, with which a cycle would bind the task's job
 * (or make room for it by evictions): one field of the job, the budget of another, or one event in
 * sight.
 */
MUST_CHECK int berth_engine_changes(struct berth_engine *engine, const struct berth_cycle_in *in,
                                    const struct berth_task_ref *task,
                                    const struct berth_search *search, struct arena *arena,
                                    struct berth_changes *out, struct err *err);

/* When a job starts at the latest, if nothing new comes and all that runs uses its limit up. */
struct berth_start {
    int64_t latest_ms;            /* 0: what it waits for has no limit, or it was not reached */
    const char *job, *namespace_; /* whose limit brings the last room it needs; NULL: none does */
    const char *node;             /* where */
    bool is_limited;              /* the rehearsal ended before the job started */
};

/**
 * Rehearses the time ahead: what runs ends at its limits, cycles place what waits in their order.
 * Tasks that are being stopped count as gone with the first that ends. Of very many ends several
 * are taken as one, at the time of the last: the answer may be later than it could be, not
 * earlier.
 *
 * @max_cycles  0: 64
 */
MUST_CHECK int berth_engine_start(struct berth_engine *engine, const struct berth_cycle_in *in,
                                  const struct berth_task_ref *task, size_t max_cycles,
                                  struct arena *arena, struct berth_start *out, struct err *err);

/* --- Single answers --- */

/** Whether the predicate hooks let the task onto the node, room aside. */
MUST_CHECK int berth_engine_feasible(struct berth_engine *engine, const struct berth_cycle_in *in,
                                     const struct berth_task_ref *task, const char *node, bool *out,
                                     struct err *err);

/** What the node order hooks give each of the nodes in sum, these being the candidates. */
MUST_CHECK int berth_engine_node_scores(struct berth_engine *engine,
                                        const struct berth_cycle_in *in,
                                        const struct berth_task_ref *task,
                                        const struct berth_words *nodes, double *out,
                                        struct err *err);

/* A queue's arithmetic; all of it is of the queue and those beneath it. Requested is what tasks hold and
 * wait for, all of them; demand is what its fair share goes by where the profile has one: what they
 * hold, and wait for and could start. */
struct berth_queue_view {
    struct berth_amounts deserved, fair_share, demand, allocated, requested, cap;
    struct berth_amounts
        stopping; /* of tasks that are being stopped: on their nodes, and no part of allocated */
    struct berth_amounts held; /* room that is held for waiting tasks: a part of requested */
    uint32_t n_pending, n_running, n_ended; /* jobs */
};
MUST_CHECK int berth_engine_queue(struct berth_engine *engine, const struct berth_cycle_in *in,
                                  const char *queue, struct arena *arena,
                                  struct berth_queue_view *out, struct err *err);

struct berth_holders {
    const struct berth_holder *at;
    size_t n, n_more; /* n_more: that hold some too and are not listed */
};

/**
 * Who holds a queue's share of a resource, in it or beneath it: one holder a job (its tasks in sum), the largest first,
 * at most `most`. What a job's tasks that are being stopped still have, and what is held for those that wait, stands by
 * itself (is_leaving, is_promised).
 */
MUST_CHECK int berth_engine_queue_holders(struct berth_engine *engine,
                                          const struct berth_cycle_in *in, const char *queue,
                                          const char *resource, size_t most, struct arena *arena,
                                          struct berth_holders *out, struct err *err);

/** The phase that a job's tasks make. */
MUST_CHECK int berth_engine_job_phase(struct berth_engine *engine, const struct berth_cycle_in *in,
                                      const char *job, enum berth_phase *out, struct err *err);

/* How much of a device is held. */
struct berth_device_use {
    const char *class_name, *uuid;
    uint32_t index;
    int64_t used; /* thousandths */
    bool is_off;  /* not given out */
};

/* A node's arithmetic. */
struct berth_node_view {
    struct berth_amounts offers, used, free, reserved;
    struct berth_numbers cores_held;
    const struct berth_device_use *devices; /* by class, index, uuid */
    size_t n_devices;
    uint32_t n_tasks;
};
MUST_CHECK int berth_engine_node(struct berth_engine *engine, const char *node, struct arena *arena,
                                 struct berth_node_view *out, struct err *err);

/**
 * Adds a reason as profile volcano's messages say it: "0/3 nodes are unavailable: 1 node(s) were
 * unschedulable, 2 Insufficient cpu." Nodes on which the task would fit are not among them.
 */
void berth_reason_text(const struct berth_reason *reason, struct str *out);

/* What a message about a job is made of. */
struct berth_job_message {
    uint32_t n[BERTH_TASK_STATE_COUNT]; /* its tasks by state */
    uint32_t min_available;
    bool is_ready;
    uint32_t n_schedulable; /* of those pending: had a place while others of their gang had none */
    const char *task;       /* that found no node, or NULL */
    const struct berth_reason *reason; /* why it did not, or why the job waits; NULL: for nothing */
};

/** Likewise of a job: whether it is ready, its tasks by state, what its pending ones wait for. */
void berth_job_text(const struct berth_job_message *message, struct str *out);

#endif

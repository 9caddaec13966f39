/*
 * Plugins from outside: what a shared object must export to take part in decisions.
 *
 * It exports one object, `const struct berth_plugin berth_plugin_v1`. The server and the simulator
 * load it by its absolute path (docs/plugins.md); the engine opens nothing.
 *
 * A plugin sees opaque handles and asks about them through `struct berth_view`, a table of
 * functions that stays as it is for an ABI version; new members come at its end, and `size` says
 * which are there. Handles and texts are borrowed for the call, those of a cycle until its `close`.
 *
 * An answer must go by nothing but the handles and what the view says of them: no clock, file,
 * thread, environment or memory that outlives the cycle. Only so do the same objects give the same
 * decisions. One thread calls at a time; several engines may hold the plugin at once.
 *
 * Amounts are integers: thousandths of cpu, devices and counters, bytes of memory and storage.
 * Times are milliseconds since 1970.
 */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BERTH_PLUGIN_ABI    1
#define BERTH_PLUGIN_SYMBOL "berth_plugin_v1"

struct berth_plugin_arguments; /* what a configuration gives the plugin */
struct berth_plugin_session;   /* one cycle */
struct berth_plugin_class;     /* a class of like tasks: same needs, namespace and queue */
struct berth_plugin_task;
struct berth_plugin_job;
struct berth_plugin_queue;
struct berth_plugin_node;

/* What can be asked; read only. NULL is "none" where a text or handle may be missing. */
struct berth_view {
    size_t size; /* of the table that the engine gives */

    /* --- Arguments, of those that the plugin lists. NULL or false: not given, or of another type */
    const char *(*argument_text)(const struct berth_plugin_arguments *a, const char *name);
    bool (*argument_number)(const struct berth_plugin_arguments *a, const char *name, double *out);
    bool (*argument_bool)(const struct berth_plugin_arguments *a, const char *name, bool *out);

    /* --- The cycle */
    int64_t (*now_ms)(const struct berth_plugin_session *s);
    uint64_t (*seed)(const struct berth_plugin_session *s);
    /** Nodes by rank; NULL behind the last. */
    const struct berth_plugin_node *(*node_at)(const struct berth_plugin_session *s, size_t i);

    /* --- Nodes */
    const char *(*node_id)(const struct berth_plugin_node *n);
    const char *(*node_label)(const struct berth_plugin_node *n, const char *key);
    const char *(*node_pool)(const struct berth_plugin_node *n);
    const char *(*node_gpu_model)(const struct berth_plugin_node *n);
    int64_t (*node_weight)(const struct berth_plugin_node *n);
    int64_t (*node_offers)(const struct berth_plugin_session *s, const struct berth_plugin_node *n,
                           const char *resource);
    /** What nobody holds now; below 0 where the node shrank below its use. */
    int64_t (*node_free)(const struct berth_plugin_session *s, const struct berth_plugin_node *n,
                         const char *resource);
    /** The tasks that hold room on it or are promised it, in no order; NULL behind the last. */
    const struct berth_plugin_task *(*node_task_at)(const struct berth_plugin_node *n, size_t i);

    /* --- Classes of tasks */
    const char *(*class_namespace)(const struct berth_plugin_class *c);
    const char *(*class_queue)(const struct berth_plugin_class *c);
    const char *(*class_label)(const struct berth_plugin_class *c, const char *key);
    const char *(*class_capability)(const struct berth_plugin_class *c);
    /** What one task asks for; 0 for what it does not name. */
    int64_t (*class_asks)(const struct berth_plugin_session *s, const struct berth_plugin_class *c,
                          const char *resource);

    /* --- Tasks */
    const struct berth_plugin_job *(*task_job)(const struct berth_plugin_task *t);
    const struct berth_plugin_class *(*task_class)(const struct berth_plugin_task *t);
    const char *(*task_group)(const struct berth_plugin_task *t);
    uint32_t (*task_index)(const struct berth_plugin_task *t);
    int64_t (*task_started_at_ms)(const struct berth_plugin_task *t); /* 0: it has not */
    /** Where it holds room or is promised it. */
    const struct berth_plugin_node *(*task_node)(const struct berth_plugin_task *t);

    /* --- Jobs and queues */
    const char *(*job_id)(const struct berth_plugin_job *j);
    const char *(*job_namespace)(const struct berth_plugin_job *j);
    int64_t (*job_priority)(const struct berth_plugin_job *j);
    int64_t (*job_created_at_ms)(const struct berth_plugin_job *j);
    uint32_t (*job_min_available)(const struct berth_plugin_job *j);
    uint32_t (*job_n_tasks)(const struct berth_plugin_job *j);
    /** How many of them hold room, or have ended well. */
    uint32_t (*job_n_ready)(const struct berth_plugin_job *j);
    const struct berth_plugin_queue *(*job_queue)(const struct berth_plugin_job *j);
    const char *(*queue_name)(const struct berth_plugin_queue *q);
    int64_t (*queue_weight)(const struct berth_plugin_queue *q);
    int64_t (*queue_priority)(const struct berth_plugin_queue *q);
    /** What its tasks hold in sum. */
    int64_t (*queue_allocated)(const struct berth_plugin_session *s,
                               const struct berth_plugin_queue *q, const char *resource);
};

/* What a hook is called with. */
struct berth_plugin_call {
    const struct berth_view *view;
    const struct berth_plugin_session *session;
    void *config; /* of `configure`; shared by all cycles, and read only */
    void *state;  /* of `open` */
};

/*
 * The plugin. A hook that it does not have is NULL. `abi` and `size` stay where they are in every
 * version; new members come at the end.
 */
struct berth_plugin {
    uint32_t abi;  /* BERTH_PLUGIN_ABI */
    uint32_t size; /* sizeof(struct berth_plugin) */
    const char *name, *version;
    const char *const *arguments; /* the names that a configuration may give, NULL at the end */
    /* Whether `filter` and `score` go by class, node and the node's tasks alone, so that an answer
     * may be kept until the node changes. */
    bool is_local;

    /** Reads the arguments. Below 0: they will not do, `why` (n bytes) says which and why. */
    int (*configure)(const struct berth_view *view, const struct berth_plugin_arguments *arguments,
                     void **config, char *why, size_t n);
    /** Ends what `configure` made. */
    void (*destroy)(void *config);
    /** A cycle begins: what is returned is `state` until `close`. */
    void *(*open)(const struct berth_plugin_call *call);
    void (*close)(const struct berth_plugin_call *call);

    /** Whether tasks of the class may run on the node, room aside. */
    bool (*filter)(const struct berth_plugin_call *call, const struct berth_plugin_class *class_,
                   const struct berth_plugin_node *node);
    /** Added to the node's score, -1e9..1e9; what is no number counts as 0. */
    double (*score)(const struct berth_plugin_call *call, const struct berth_plugin_class *class_,
                    const struct berth_plugin_node *node);
    /** Orders: below 0 if a goes first, 0 if it has no say. They must order any three alike. */
    int (*compare_jobs)(const struct berth_plugin_call *call, const struct berth_plugin_job *a,
                        const struct berth_plugin_job *b);
    int (*compare_queues)(const struct berth_plugin_call *call, const struct berth_plugin_queue *a,
                          const struct berth_plugin_queue *b);
    /** Whether a job may be admitted now. */
    bool (*admit)(const struct berth_plugin_call *call, const struct berth_plugin_job *job);
    /** Whether the victim must not be evicted for the task (of another queue, if is_reclaim). */
    bool (*spare)(const struct berth_plugin_call *call, const struct berth_plugin_task *task,
                  const struct berth_plugin_task *victim, bool is_reclaim);
    /**
     * A task took room, or a promise of it. Below 0: it must not; then the decision of which this
     * is a part is taken back whole, and the job waits. Whatever it returns, `on_deallocate`
     * follows if the placement is taken back within the cycle.
     */
    int (*on_allocate)(const struct berth_plugin_call *call, const struct berth_plugin_task *task);
    void (*on_deallocate)(const struct berth_plugin_call *call,
                          const struct berth_plugin_task *task);
};

#endif

/*
 * The model: what the engine was told, joined up.
 *
 * Objects are kept as they were given (`kept`), for the export and for who wants to read them,
 * and beside that as what decisions need: nodes' amounts as one array a dimension, tasks in
 * rows, classes of like tasks and like nodes. What refers to something that is not there yet
 * hangs on a stand-in that is not known (`kept` NULL) and is joined when it comes.
 *
 * A session changes the model through task_place alone, and takes each change back by it.
 * Dense places (node->at, dims) are private: they reach no order, hash or answer.
 */
#ifndef ENGINE_MODEL_H
#define ENGINE_MODEL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "berth/engine.h"
#include "engine/models.h"
#include "engine/wide.h"

struct kept;
struct line;
struct wish;
struct setup;

enum { DIM_PODS, DIM_CPU, DIM_MEMORY, DIM_OTHER };
enum { POD_MILLI = 1000, NOWHERE = UINT32_MAX };
/* What a node offers of `pods` if it does not say. */
#define UNLIMITED ((int64_t)1 << 62)

struct dim {
    char *name;
    uint32_t id;
    enum wait_code code; /* why a task waits that finds too little of it */
};

struct ask {
    uint32_t dim;
    int64_t value; /* above 0 */
};

/* Amounts by dimension: pods, cpu, memory, then by name. */
struct asks {
    struct ask *at;
    size_t n;
};

/* The nodes' amounts of one dimension, by node->at. */
struct column {
    int64_t *offers, *used, *releasing, *pipelined; /* used counts what is releasing too */
    int64_t *idle, *future; /* what these leave: offers - used; idle + releasing - pipelined */
    int64_t *shared;        /* of nodes in service what they offer; of others, and where more is */
    wide sum_shared;        /* used, what is used there; unlimited counts as nothing */
};

/* What a scan reads of nodes beside their amounts, by node->at. */
struct rows {
    uint32_t *alike, *name; /* as node->alike, node->name_at */
    uint8_t *takes_work;    /* by its state */
    uint8_t *serves;        /* ready, not cordoned, not draining: queues share what it offers */
    uint8_t *is_over;       /* more is used than it offers: node->n_over */
};

/*
 * What scores go by, of cpu and of memory, as doubles, which compilers make vectors of. They are
 * exact as long as all is below 2^46; beyond that (`is_huge`) the columns must do.
 */
struct gauge {
    double *offers, *said; /* by node->at; used and promised */
    int32_t *n_unsaid;     /* of its tasks, those that ask for none */
};
#define GAUGE_LIMIT ((int64_t)1 << 46)

struct item {
    char *key;
    void *kept;
};

/* The objects of a kind that need no joining, by key. */
struct shelf {
    struct map map;
    VEC_OF(struct item *) items;
    bool sorted;
};

/* A device of a node; amounts in thousandths, as in a column. */
struct device {
    const struct berth_device *kept; /* the shelf's */
    uint32_t dim;                    /* its class */
    uint32_t model;                  /* its place in model->gpu_models; NOWHERE: it says none */
    int64_t used, releasing, pipelined;
};

/* A node's devices in short, where all are of one class; by [0] later, [1] now. */
struct brief {
    uint32_t dim;        /* NOWHERE: they are of several, or there are none */
    uint32_t n_whole[2]; /* that are wholly free */
    int64_t most[2];     /* free on the emptiest of the others */
    int64_t named[2];    /* held of them all */
    uint64_t turn;       /* rises with each change of them */
};

/* How many tasks hold a core whole. */
struct core_use {
    uint16_t used, releasing, pipelined;
};

/* What of a node's devices and cores a task holds. */
struct hold_share {
    uint32_t at; /* its place in node->devices */
    int64_t milli;
};
struct hold {
    struct hold_share *shares;
    uint32_t *cores; /* their places in the node's list */
    size_t n_shares, n_cores;
    struct asks asks; /* all that the task takes; none: what its class asks for */
};

struct node {
    char *id;
    const struct berth_node *kept; /* NULL: only referred to */
    uint32_t at;                   /* its place among the known by rank, or NOWHERE */
    uint32_t name_at;              /* its place among the known by id */
    uint32_t alike;                /* its class of like nodes */
    VEC_OF(struct task *) tasks;   /* that hold room, or are promised it; in no order */
    const struct berth_measure *measure;
    bool in_shard;
    uint32_t n_refs;               /* reservations' parts */
    uint32_t n_over;               /* dimensions of which more is used than it offers */
    VEC_OF(struct device) devices; /* by class, index, uuid */
    uint32_t sort;                 /* its class of nodes with like devices; 0: it has none */
    uint32_t n_off;                /* devices that are not given out */
    struct brief brief;
    struct core_use *cores; /* of kept->cores; NULL: nobody holds one */
    uint8_t silent;         /* heard of too long ago: SILENT_... bits, see serverless.h */
};

/* How many tasks of a queue's jobs of one priority have a place. */
struct placed {
    int32_t priority;
    uint64_t n;
};

struct queue {
    char *name;
    const struct berth_queue *kept; /* NULL: only referred to */
    uint32_t at;                    /* its place among the known by rank, or NOWHERE */
    uint32_t n_jobs;
    wide *allocated, *pending; /* sums over its tasks by dimension; n_sums of them */
    wide *live;                /* likewise of those that hold room, though they are being stopped */
    size_t n_sums;
    VEC_OF(struct placed) placed; /* by priority, in no order; none is 0 */
    struct job *first;            /* its jobs, in no order */
    void *seat;                   /* a session's own state of it */
    uint64_t seated;              /* by which session */
};

/* A namespace that has jobs. */
struct space {
    char *name;
    uint32_t n_jobs;
    wide *live; /* what its tasks hold, those that are being stopped too; n_sums of them */
    size_t n_sums;
};

struct task_extra {
    struct berth_task *kept; /* as it was given: holds, shares, cores */
    struct asks holds;       /* what it holds, where that is not what its group asks */
    bool has_holds;
    struct hold hold; /* the told devices and cores that the node has */
};

/* A row. Pending without `is_told` is what its group implies. */
struct task {
    struct group *group;
    struct node *node; /* where it holds room or is promised it, or NULL */
    uint32_t index;
    uint32_t slot; /* its place in node->tasks */
    uint8_t state; /* enum berth_task_state */
    bool is_told;
    bool evicted; /* in this session; of a promised one: an eviction makes its room */
    bool comes_back;
    uint32_t attempt, tries, evictions;
    uint64_t version;
    int64_t started_at_ms, checkpoint_at_ms, limit_at_ms, not_before_ms;
    struct task_extra *extra; /* NULL mostly */
    const struct hold *hold;  /* devices and cores; NULL: none by name */
};

struct group {
    struct job *job;
    const struct berth_task_group *spec;
    struct kind *kind; /* its class of like tasks */
    struct task *tasks;
    uint32_t at;
    uint32_t role; /* the place of its role's minimum in its job's list; NOWHERE: none binds */
    uint32_t n[BERTH_TASK_STATE_COUNT];
    uint32_t n_backed_off; /* tasks with a not_before_ms */
    uint32_t weighed;      /* how many were pending when the job was weighed */
    bool has_number;       /* the number behind the last dash of a name of three parts */
    int64_t number;
};

struct job {
    char *id;
    struct berth_job *kept; /* NULL: only referred to */
    uint32_t at;            /* its place in model->jobs, or NOWHERE */
    struct queue *queue;    /* NULL: it names none */
    struct job *queue_next, **queue_link;
    struct space *space;
    int32_t priority;
    uint32_t min_available;
    struct group *groups;
    struct task *tasks;
    size_t n_groups, n_tasks;
    uint32_t n[BERTH_TASK_STATE_COUNT];
    bool has_roles;                      /* some of its roles have minima that bind */
    uint32_t n_odd;                      /* tasks whose holds are not what their group asks */
    VEC_OF(struct berth_task *) orphans; /* told of tasks that it does not have (yet) */
    struct line *line;                   /* in which it waits, or NULL: see lines.h */
    struct job *line_prev, *line_next;
    uint32_t odd_at; /* its place in model->odd */
    bool is_odd;
    struct {             /* how many of what was pending could run together: see demand.c */
        uint64_t read;   /* for which model->fleet; 0: not asked yet */
        uint64_t needed; /* as many were asked for */
        uint64_t most;
    } weighed;
    struct { /* how many of its tasks one of its domains could hold: likewise */
        uint64_t read, most;
    } in_domain;
    void *seat;      /* a session's own state of it */
    uint64_t seated; /* by which session */
};

/* A class of like tasks: same needs, namespace and queue. */
struct kind {
    char *key;
    uint32_t n_refs;
    const struct berth_task_group *spec; /* a copy of its own */
    const char *namespace_, *queue;
    struct asks asks;      /* what a task takes, pods too */
    struct asks requires_; /* what the node must have in all */
    bool best_effort;      /* asks for nothing */
    bool no_cpu, no_memory;
    bool wants_devices; /* asks for more than pods, cpu and memory, or for whole cores */
    uint8_t *verdicts;  /* by node class: what the fixed checks say, see fit.c */
    size_t n_verdicts;
    uint64_t verdicts_epoch;
    struct kept *kept; /* see kept.h */
    uint64_t n_uses;
    uint64_t judged; /* the session in which the next four were made, see sheet.h */
    bool is_local, is_tracked, is_plain, minds_leaving;
    struct company *company; /* of session `company_of`, see company.h */
    uint64_t company_of;
    uint64_t answered; /* the session in which the next three were made */
    const struct berth_amounts *shown;
    const struct berth_reason *reason;
    uint64_t n_ever;      /* see reasons.c; UINT64_MAX: not counted yet */
    struct could {        /* how many could run at a time: see demand.c */
        uint64_t read;    /* for which model->fleet; 0: not asked yet */
        uint64_t number;  /* in which session */
        uint64_t n;       /* so many on the nodes at least, */
        bool is_all;      /* and no more */
        uint32_t at;      /* the node that is looked at first */
        bool may_come;    /* any number on machines that may be ordered */
        uint64_t allowed; /* by caps and quotas */
    } could;
    uint64_t failed_epoch, failed_read, failed_number; /* when all nodes refused it */
    struct wish *wish;                                 /* of session `wished`, see serverless.h */
    uint64_t wished;
    int32_t *gpu_places; /* by model->gpu_models: the place among those wanted, or -1 */
    size_t n_gpu_places;
    uint8_t *suits; /* by node->sort: 1 and what devices_suit says of it; 0: not asked yet */
    size_t n_suits;
    struct asks charge; /* see kind_charge */
    uint64_t charged;   /* for which model->device_turn */
    struct take_failure {
        uint64_t number; /* of the session, */
        size_t n_log;    /* while its log was so long */
        int64_t priority;
        uint32_t needed;
        int tier;     /* of the domain in which it is to be; INT_MAX: in none */
    } take_failed[2]; /* when nobody could be evicted for so urgent a task; see take.c */
    struct gang_failure {
        uint64_t number;
        size_t n_log; /* likewise */
        uint32_t needed, placed;
    } gang_failed; /* when a gang of it found too few nodes; see allocate.c */
};

/** Whether a task of the queue may evict others; NULL: of none. */
static inline bool queue_may_preempt(const struct queue *queue)
{
    return !queue || !queue->kept || !queue->kept->never_preempts;
}

/** Whether a task may evict others: neither it nor its queue says never. */
static inline bool task_may_preempt(const struct task *task)
{
    return !task->group->spec->never_preempts && queue_may_preempt(task->group->job->queue);
}

struct alike {
    char *key;
    uint32_t id, n;
};

struct model {
    struct map dim_map, sort_map; /* of node->sort by what the devices are: the number */
    VEC_OF(struct dim *) dims;
    struct column *columns; /* by dimension */
    struct rows rows;
    struct gauge gauges[DIM_MEMORY + 1]; /* of cpu and memory */
    bool is_huge;                        /* some amount was ever beyond what gauges can hold */
    size_t n_coming;                     /* nodes that are on their way */
    size_t n_lacking;                    /* nodes that offer no cpu, or no memory */
    size_t columns_cap;                  /* nodes, of columns, rows and gauges */

    struct map node_map, job_map, queue_map, space_map, kind_map, alike_map;
    VEC_OF(struct node *) nodes;   /* known, by rank */
    VEC_OF(struct job *) jobs;     /* known, by rank; NULL where one ended */
    VEC_OF(struct queue *) queues; /* known, by rank */
    VEC_OF(struct alike *) alikes; /* by id */
    size_t n_jobs;
    uint64_t n_pending; /* tasks, of all jobs */
    struct map line_map;
    VEC_OF(struct line *) lines; /* see lines.h; in no order */
    VEC_OF(struct job *) odd;    /* jobs to be looked at that stand in none; in no order */
    bool names_sorted;           /* node->name_at holds */
    struct shelf shelves[BERTH_KIND_COUNT];

    uint64_t epoch;           /* rises when something changed that no touch tells of */
    uint64_t fleet;           /* rises, too, with what changed of nodes beside what they hold */
    VEC_OF(uint32_t) touched; /* node->at, in order; the first is number touched_base */
    uint64_t touched_base;
    uint64_t clock;                         /* rises with each session */
    struct kind *newest_kept, *oldest_kept; /* classes with kept answers, by last use */
    size_t n_kept;
    size_t n_in_between; /* tasks on known nodes that are being freed or only promised room */
    VEC_OF(struct kind *) anti_kinds;   /* classes of tasks that keep others away */
    VEC_OF(struct kind *) choosy_kinds; /* those that would rather be near others, or not */
    uint32_t n_soft_taints;             /* taints of known nodes that only ask to stay away */
    int64_t memory_milli; /* of what a task asks, what it holds: headroom in thousandths */
    VEC_OF(struct gpu_model) gpu_models; /* of devices */
    VEC_OF(int64_t) gpu_counts;          /* by gpu_models: how many GPUs are of it */
    int64_t n_gpus;                      /* those of no model too */
    uint64_t mix_seen;    /* by which mix the kept scores of plugin fragmentation go */
    uint64_t device_turn; /* rises with each change of a device */
    bool gpu_implied;     /* gpuModels without an amount ask for one */
};

void model_init(struct model *model);
void model_fini(struct model *model);

/** The dimension of a name, made if it is new. */
uint32_t dim_of(struct model *model, const char *name);
/** Makes the dimensions of all names. */
void dims_of(struct model *model, const struct berth_amounts *amounts);
/** The dimension of a name, or NOWHERE. */
uint32_t dim_find(const struct model *model, const char *name);
/** Whether dimension a comes before b in what is shown: pods, cpu, memory, then by name. */
bool dim_before(const struct model *model, uint32_t a, uint32_t b);
/** Amounts as asks, without zeros; yours to asks_fini. */
struct asks asks_from(struct model *model, const struct berth_amounts *amounts);
void asks_add(const struct model *model, struct asks *asks, uint32_t dim, int64_t value);
void asks_fini(struct asks *asks);
/** How much of a dimension is asked. */
int64_t asks_of(const struct asks *asks, uint32_t dim);

/** What a node has beside what is used and promised; idle leaves out what is being freed. */
static inline int64_t column_idle(const struct column *c, uint32_t at)
{
    return c->idle[at];
}
static inline int64_t column_future(const struct column *c, uint32_t at)
{
    return c->future[at];
}
/** Works out what hangs on what a node offers, or on whether it serves, after that changed. */
void column_offer(struct model *model, uint32_t dim, uint32_t at);
/** Likewise on used, releasing and pipelined. */
void column_renew(struct model *model, uint32_t dim, uint32_t at);

/** Counts tasks of a priority that a queue has placed, up or down. */
void queue_count(struct queue *queue, int32_t priority, int64_t by);
/** A node, queue or job by key, or NULL; the _ref ones make a stand-in. */
struct node *node_find(const struct model *model, const char *id);
struct node *node_ref(struct model *model, const char *id);
/** Ends a stand-in that nothing hangs on any more. */
void node_tidy(struct model *model, struct node *node);
struct queue *queue_find(const struct model *model, const char *name);
/** The namespace of that name, NULL being "", if it has jobs; NULL. */
const struct space *space_find(const struct model *model, const char *name);
struct queue *queue_ref(struct model *model, const char *name);
void queue_tidy(struct model *model, struct queue *queue);
struct job *job_find(const struct model *model, const char *id);
struct group *group_find(const struct job *job, const char *name);
struct task *task_find(const struct model *model, const struct berth_task_ref *ref);

/** Takes over a copy of an object that was checked, or (NULL) ends the one of that key. */
void node_put(struct model *model, const char *id, struct berth_node *kept);
void queue_put(struct model *model, const char *name, struct berth_queue *kept);
void job_put(struct model *model, const char *id, struct berth_job *kept);
/** Ends a job and all that was told of its tasks. */
void job_forget(struct model *model, struct job *job);
void task_put(struct model *model, const struct berth_task *told);
void task_end(struct model *model, const struct berth_task *key);
/** Works out the jobs' priorities anew: a priority class changed. */
void jobs_rank(struct model *model);

/** The kept object under a composed key, or NULL. */
void *shelf_get(const struct shelf *shelf, const char *key);
/** Takes over kept, or (NULL) ends what is there. */
void shelf_put(struct shelf *shelf, const char *key, void *kept);
/** Puts the items into the order of their keys. */
void shelf_sort(struct shelf *shelf);
void shelf_fini(struct shelf *shelf);
/** The key of an object of a kind without joining, composed of its key's members. */
void shelf_key(enum berth_kind kind, const void *object, struct str *out);

/** Whether a task in the state counts into `used`, or into what is allocated. */
bool state_holds(enum berth_task_state state);
bool state_is_allocated(enum berth_task_state state);
/** How many of a job's tasks, or of a group's, are. */
static inline uint32_t job_n_allocated(const struct job *job)
{
    return job->n[BERTH_TASK_ALLOCATED] + job->n[BERTH_TASK_BINDING] + job->n[BERTH_TASK_BOUND] +
           job->n[BERTH_TASK_RUNNING];
}
static inline uint32_t group_n_allocated(const struct group *group)
{
    return group->n[BERTH_TASK_ALLOCATED] + group->n[BERTH_TASK_BINDING] +
           group->n[BERTH_TASK_BOUND] + group->n[BERTH_TASK_RUNNING];
}
/** Likewise, or have succeeded: what counts for a minimum. */
static inline uint32_t group_n_ready(const struct group *group)
{
    return group_n_allocated(group) + group->n[BERTH_TASK_SUCCEEDED];
}

/** Whether a task's room is being freed, or only promised to it. */
static inline bool task_is_in_between(const struct task *task)
{
    return task->state == BERTH_TASK_PIPELINED || task->state == BERTH_TASK_RELEASING;
}
/** What a task takes or would take. */
const struct asks *task_asks(const struct task *task);

/**
 * Changes a task's state and place, with all sums and counts. The one way in which a session
 * changes the model, and its own opposite.
 */
void task_place(struct model *model, struct task *task, enum berth_task_state state,
                struct node *node);

/** Adds what a task takes to its (known) node's columns, `sign` times. */
void task_count(struct model *model, const struct task *task, int sign);
/** Counts anew in how many dimensions a known node is over its size. */
void node_weigh(struct model *model, struct node *node);
/** Sets what a known node offers. */
void node_offer(struct model *model, struct node *node);
/** Notes that a node's amounts changed. */
void node_touch(struct model *model, const struct node *node);
/** Notes a change that no touch tells of. */
void model_turn(struct model *model);

struct kind *kind_ref(struct model *model, const struct berth_job *job,
                      const struct berth_task_group *spec);
void kind_unref(struct model *model, struct kind *kind);
/** The id of the class of nodes like this one. */
uint32_t alike_of(struct model *model, const struct node *node);
/** Sorts the known nodes by id into node->name_at. */
void nodes_sort_names(struct model *model);

/** Order of jobs by rank; of nodes and queues likewise. */
int job_rank_cmp(const struct job *a, const struct job *b);
int node_rank_cmp(const struct node *a, const struct node *b);
int queue_rank_cmp(const struct queue *a, const struct queue *b);

/* Walks the known ones by rank; `break` only goes on to the next. */
#define NODE_EACH(each, model)                                                                     \
    for (size_t at_##each = 0; at_##each < (model)->nodes.n; at_##each++)                          \
        for (struct node *each = (model)->nodes.at[at_##each], *once_##each = each; once_##each;   \
             once_##each = NULL)
#define JOB_EACH(each, model)                                                                      \
    for (size_t at_##each = 0; at_##each < (model)->jobs.n; at_##each++)                           \
        for (struct job *each = (model)->jobs.at[at_##each], *once_##each = each; once_##each;     \
             once_##each = NULL)

#endif

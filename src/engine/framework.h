/*
 * The framework: where plugins and actions take part, and how several answers become one.
 *
 * A plugin is one file with one `struct plugin`, listed in plugins.c; a hook that it does not
 * have is NULL. An action likewise, in actions.c. What a plugin keeps for a session hangs on
 * its `state`, made in `open` from the session's arena; it has no other memory.
 */
#ifndef ENGINE_FRAMEWORK_H
#define ENGINE_FRAMEWORK_H

#include "engine/model.h"

struct session;
struct plugin_use;

enum vote { VOTE_REJECT = -1, VOTE_ABSTAIN = 0, VOTE_PERMIT = 1 };

/* Why something was refused: a code and the numbers behind it. */
struct why {
    enum wait_code code;
    uint32_t dim; /* NOWHERE: none */
    wide asked, free, limit;
    const char *blocker; /* a queue or quota; NULL */
};

/* Tasks that may be evicted, in the order in which they were found. */
struct victims {
    struct task **at;
    size_t n;
};

/* For whom room is made in one go: a job, and what it is short of. */
struct taking {
    struct job *job;
    bool reclaim;       /* from other queues, else from its own */
    const wide *lacks;  /* by dimension, above 0 where it is short */
    const size_t *unit; /* of each that is asked about: those of one go together */
};

/* A set of nodes that a task may go to, and their scores. */
struct candidates {
    struct node **nodes;
    double *scores;
    size_t n;
};

/* Network domains and sub-jobs: see topology.h. */
struct domain;
struct domain_list;
struct sub_job;

struct plugin {
    const char *name;
    /**
     * What it says of a job without a place goes by its needs, priority, minimum, limit and rank:
     * of those in a line (lines.h) it says the same, and once one of them is refused a node or its
     * queue, later placements do not make up for that.
     */
    bool sees_lines;
    /** Reads arguments into *out, in the setup's arena; NULL: the plugin takes none. */
    int (*configure)(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err);
    /** Refuses what configure takes for profile volcano alone, whose reference does; NULL: nothing is. */
    int (*check)(const struct berth_value *arguments, struct err *err);
    void (*open)(struct session *s, struct plugin_use *use);

    /* Orders: below 0 if a goes first. */
    int (*job_order)(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b);
    /** The same as a number, the smaller first; NULL: it has none. */
    int64_t (*job_key)(struct session *s, struct plugin_use *use, const struct job *job);
    int (*task_order)(struct session *s, struct plugin_use *use, const struct task *a,
                      const struct task *b);
    int (*queue_order)(struct session *s, struct plugin_use *use, const struct queue *a,
                       const struct queue *b);
    int (*sub_job_order)(struct session *s, struct plugin_use *use, const struct sub_job *a,
                         const struct sub_job *b);
    /** Whose tasks are evicted first for a job of queue `for_queue`. */
    int (*victim_queue_order)(struct session *s, struct plugin_use *use, const struct queue *a,
                              const struct queue *b, const struct queue *for_queue);

    /** Whether the job has enough live tasks to be looked at; fills why otherwise. */
    bool (*job_valid)(struct session *s, struct plugin_use *use, const struct job *job,
                      struct why *why);
    bool (*job_ready)(struct session *s, struct plugin_use *use, const struct job *job);
    enum vote (*job_pipelined)(struct session *s, struct plugin_use *use, const struct job *job);
    bool (*job_starving)(struct session *s, struct plugin_use *use, const struct job *job);
    bool (*sub_job_ready)(struct session *s, struct plugin_use *use, const struct sub_job *sub);
    enum vote (*sub_job_pipelined)(struct session *s, struct plugin_use *use,
                                   const struct sub_job *sub);
    enum vote (*job_enqueueable)(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why);
    void (*job_enqueued)(struct session *s, struct plugin_use *use, const struct job *job);

    /**
     * Whether answers about a kind go by the kind, the node and its tasks alone, so that they may
     * be kept until the node is touched. NULL: they always do.
     */
    bool (*is_local)(struct session *s, struct plugin_use *use, const struct kind *kind);
    /** Of one that is not: whether `predicate` goes by company (company.h) beside those, and by nothing else; NULL: no. */
    bool (*is_local_but_for_company)(struct session *s, struct plugin_use *use,
                                     const struct kind *kind);
    /** By the node's fixed properties (its class) and the kind alone: WAIT_NONE or a code. */
    enum wait_code (*predicate_fixed)(struct session *s, struct plugin_use *use,
                                      const struct kind *kind, const struct node *node);
    /** By anything else. */
    enum wait_code (*predicate)(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node);
    /** Whether `predicate` refuses the node for good: whatever anybody holds, at any time, until the
     * node itself, the configuration or a queue changes; NULL: it does not. Plugins need not be open. */
    bool (*never)(struct session *s, struct plugin_use *use, const struct kind *kind,
                  const struct node *node);
    /** Whether it keeps tasks of two kinds from standing on these two nodes at a time, which may be one; NULL:
     * it does not. */
    bool (*excludes)(struct session *s, struct plugin_use *use, const struct kind *a,
                     const struct node *on_a, const struct kind *b, const struct node *on_b);
    /** Whether `predicate` could refuse a kind any node; NULL: it could. */
    bool (*minds)(struct session *s, struct plugin_use *use, const struct kind *kind);
    /** Whether `predicate` could refuse a kind a node because somebody leaves; NULL: if it minds. */
    bool (*minds_leaving)(struct session *s, struct plugin_use *use, const struct kind *kind);
    /**
     * Whether `predicate` lets a task be where it is only for others who are not there yet, and are only promised what they have;
     * NULL: no. `counts_leaving`: those who are evicted in this session count as if they stayed.
     */
    bool (*relies)(struct session *s, struct plugin_use *use, const struct task *task,
                   bool counts_leaving);
    double (*score)(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node);
    /** Adds the scores of n nodes, from place `from` on; the same as `score`, in one pass. */
    void (*score_run)(struct session *s, struct plugin_use *use, const struct kind *kind,
                      uint32_t from, size_t n, double *scores);
    /** Nodes of a lower rank come first, whatever their score. As local as the score. */
    uint32_t (*rank)(struct session *s, struct plugin_use *use, const struct kind *kind,
                     const struct node *node);
    /**
     * Which device of a node goes first for so many thousandths of one: the smaller order, then
     * the first. false: the plugin has no say.
     */
    bool (*device_order)(struct session *s, struct plugin_use *use, const struct kind *kind,
                         const struct node *node, size_t device, int64_t milli, int64_t *order);
    /** Adds to the scores of all candidates at once; for what goes by the others' values. */
    void (*score_all)(struct session *s, struct plugin_use *use, const struct task *task,
                      const struct candidates *candidates);

    /** Keeps those of `from` that may go for `task`, in `to`. */
    enum vote (*preemptable)(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to);
    enum vote (*reclaimable)(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to);
    /** Whether it would let anybody at all go for the job, as things are; NULL: perhaps. Asked so
     * that no node need be tried where it would not. */
    bool (*has_victims)(struct session *s, struct plugin_use *use, const struct job *job,
                        bool reclaim);
    /** What it says of victims goes by the taker's class and priorities, by the node, its tasks and
     * how many tasks their jobs have alone. */
    bool has_local_victims;
    /** Else what it goes by beside those, as a number: while that stays, so do its answers, and
     * whether a queue may take more. Evictions may change it. */
    uint64_t (*victims_stamp)(struct session *s, struct plugin_use *use, const struct kind *kind,
                              bool reclaim);
    /** Likewise for all of a job at once; it has no switch. */
    enum vote (*evictable)(struct session *s, struct plugin_use *use, const struct taking *taking,
                           const struct victims *from, struct victims *to);
    /** Adds tasks that must go for no other's sake. */
    void (*victims)(struct session *s, struct plugin_use *use, struct victims *to);
    bool (*overused)(struct session *s, struct plugin_use *use, const struct queue *queue);
    /** Whether the queue may take room back for this task; `rides`: on a machine on its way. */
    bool (*preemptive)(struct session *s, struct plugin_use *use, const struct queue *queue,
                       const struct task *task, bool rides);
    bool (*allocatable)(struct session *s, struct plugin_use *use, const struct queue *queue,
                        const struct kind *kind, struct why *why);
    /** Likewise on a machine on its way; NULL: as `allocatable` says. No stricter than that. */
    bool (*rideable)(struct session *s, struct plugin_use *use, const struct queue *queue,
                     const struct kind *kind, struct why *why);
    /** Whether a task may begin beside all that is there yet: who is evicted in this session, too. */
    bool (*startable)(struct session *s, struct plugin_use *use, const struct kind *kind,
                      struct why *why);
    /** Whether some of these victims leave what must stay free, so that `allocatable` may refuse once
     * they are gone what it allows before; NULL: never. */
    bool (*guards)(struct session *s, struct plugin_use *use, const struct victims *victims);

    /** Adds to the scores of domains in which a sub-job's tasks would fit. */
    void (*domain_scores)(struct session *s, struct plugin_use *use, const struct sub_job *sub,
                          struct domain *const *domains, size_t n, double *scores);
    /** Which domains beneath top to try, in which order; false: the plugin has no say. */
    bool (*gradients)(struct session *s, struct plugin_use *use, const struct sub_job *sub,
                      struct domain *top, struct domain_list *out);

    /** What a queue deserves, and what is fair now, by dimension; NULL: the plugin has no say. */
    const wide *(*deserved)(struct session *s, struct plugin_use *use, const struct queue *queue);
    const wide *(*fair_share)(struct session *s, struct plugin_use *use, const struct queue *queue);
    /** What it could use when the session opened, with all beneath it; NULL: the plugin has no say. */
    const wide *(*demand)(struct session *s, struct plugin_use *use, const struct queue *queue);
    /** A task took room (or a promise of it), or gave it up. */
    void (*on_allocate)(struct session *s, struct plugin_use *use, const struct task *task);
    void (*on_deallocate)(struct session *s, struct plugin_use *use, const struct task *task);
    /** The cycle ends; its changes still stand. For memos. */
    void (*close)(struct session *s, struct plugin_use *use);
};

/* A plugin in a configuration. */
struct plugin_use {
    const struct plugin *plugin;
    uint32_t enabled; /* BERTH_HOOK_BITs */
    size_t tier;
    void *config; /* its arguments, read */
    void *state;  /* of the open session */
};

/* Each hook's uses, in the order of the tiers. */
enum hooked_what {
    HOOKED_JOB_ORDER,
    HOOKED_TASK_ORDER,
    HOOKED_QUEUE_ORDER,
    HOOKED_SUB_JOB_ORDER,
    HOOKED_VICTIM_QUEUE_ORDER,
    HOOKED_JOB_VALID,
    HOOKED_JOB_READY,
    HOOKED_JOB_PIPELINED,
    HOOKED_JOB_STARVING,
    HOOKED_SUB_JOB_READY,
    HOOKED_SUB_JOB_PIPELINED,
    HOOKED_JOB_ENQUEUEABLE,
    HOOKED_JOB_ENQUEUED,
    HOOKED_IS_LOCAL,
    HOOKED_PREDICATE_FIXED,
    HOOKED_PREDICATE,
    HOOKED_NEVER,
    HOOKED_EXCLUDES,
    HOOKED_SCORE,
    HOOKED_RANK,
    HOOKED_DEVICE_ORDER,
    HOOKED_SCORE_ALL,
    HOOKED_PREEMPTABLE,
    HOOKED_RECLAIMABLE,
    HOOKED_EVICTABLE,
    HOOKED_VICTIMS,
    HOOKED_OVERUSED,
    HOOKED_PREEMPTIVE,
    HOOKED_ALLOCATABLE,
    HOOKED_STARTABLE,
    HOOKED_DOMAIN_SCORES,
    HOOKED_GRADIENTS,
    HOOKED_DESERVED,
    HOOKED_FAIR_SHARE,
    HOOKED_DEMAND,
    HOOKED_ON_ALLOCATE,
    HOOKED_ON_DEALLOCATE,
    HOOKED_CLOSE,
    HOOKED_COUNT
};

struct hooked {
    struct plugin_use **at;
    size_t n;
};

struct action {
    const char *name;
    /** Checks arguments; NULL: it takes none. */
    int (*check)(const struct berth_value *arguments, struct err *err);
    /** Whether it now looks at lines (lines.h) and s->watched alone; NULL: never. */
    bool (*sees_lines)(const struct session *s);
    void (*run)(struct session *s, const struct berth_value *arguments);
};

extern const struct plugin *const plugins[];
extern const size_t n_plugins;
extern const struct action *const actions[];
extern const size_t n_actions;

/** Puts each use into the lists of the hooks that it has and that are on. */
void framework_hook(struct plugin_use *uses, size_t n, struct arena *arena,
                    struct hooked hooked[HOOKED_COUNT]);

int job_cmp(struct session *s, const struct job *a, const struct job *b);
/** Only what plugins say: 0 where they are indifferent. */
int job_plugin_cmp(struct session *s, const struct job *a, const struct job *b);
/* Plugins whose orders of jobs can be had as numbers together. */
enum { JOB_KEYS = 3 };
/** Whether job_cmp is an order by these numbers, and then by rank. */
bool job_has_key(const struct session *s);
void job_keys(struct session *s, const struct job *job, int64_t keys[JOB_KEYS]);
int queue_cmp(struct session *s, const struct queue *a, const struct queue *b);
int task_cmp(struct session *s, const struct task *a, const struct task *b);
int sub_job_cmp(struct session *s, const struct sub_job *a, const struct sub_job *b);
/** Whether the tasks of queue a are evicted before those of b. */
bool victim_queue_before(struct session *s, const struct queue *a, const struct queue *b,
                         const struct queue *for_queue);

bool job_is_valid(struct session *s, const struct job *job, struct why *why);
bool job_is_ready(struct session *s, const struct job *job);
bool job_is_pipelined(struct session *s, const struct job *job);
bool job_is_starving(struct session *s, const struct job *job);
bool sub_job_is_ready(struct session *s, const struct sub_job *sub);
bool sub_job_is_pipelined(struct session *s, const struct sub_job *sub);
bool job_may_enqueue(struct session *s, const struct job *job, struct why *why);
void job_note_enqueued(struct session *s, const struct job *job);
bool queue_is_overused(struct session *s, const struct queue *queue);
/** Whether a queue may take room back for a task: on nodes that are there, or (rides) on a machine on its way. */
bool queue_is_preemptive(struct session *s, const struct queue *queue, const struct task *task,
                         bool rides);
/**
 * Whether a queue may take so much back on nodes that are there, asked as if it were one task.
 *
 * @like  a group of the job
 * @need  need[n_dims]
 */
bool queue_may_take_back(struct session *s, const struct queue *queue, const struct group *like,
                         const wide *need);
/**
 * Whether a queue would hold no more than it could take back, in what tasks of a group ask for, if it held
 * so much less; `rides`: with what it holds on machines on their way.
 *
 * @less  less[n_dims]
 */
bool queue_is_within(struct session *s, const struct queue *queue, const struct group *like,
                     const wide *less, bool rides);
bool queue_may_allocate(struct session *s, const struct queue *queue, const struct kind *kind,
                        struct why *why);
/** Likewise on a machine on its way. */
bool queue_may_ride(struct session *s, const struct queue *queue, const struct kind *kind,
                    struct why *why);
/** Whether what a task's queue may have may begin at once, beside all that has not ended yet. */
bool task_may_start(struct session *s, const struct task *task, struct why *why);
/**
 * Whether a task may be where it has its place only for others who are not there yet, and are only promised what they have.
 * `counts_leaving`: those who are evicted in this session count as if they stayed.
 */
bool task_relies(struct session *s, const struct task *task, bool counts_leaving);
/** Whether a queue that may have more now may be refused it once some of the victims are gone. */
bool victims_are_guarded(struct session *s, const struct victims *victims);
/** Whether all plugins that have a say could let somebody go for the job. */
bool victims_may_be(struct session *s, const struct job *job, bool reclaim);
/** The victims among `from`, after all tiers; lists live in the session's arena. */
struct victims victims_agree(struct session *s, bool reclaim, const struct task *task,
                             const struct victims *from);
/**
 * Likewise for all of a job at once. In other profiles than volcano the word of a plugin that knows
 * single tasks only counts as well, asked about the job's first.
 */
struct victims victims_agree_on(struct session *s, const struct taking *taking,
                                const struct task *first, const struct victims *from);

/* Arguments: typed members of an object with a default; an error names the member. Numbers lie between
 * -2147483648 and 2147483647, whole or not; ARG_TRUTH, for names of the reference's, is also a word for yes
 * or no. */
struct argument {
    const char *name;
    enum {
        ARG_BOOL,
        ARG_TRUTH,
        ARG_INT,
        ARG_DOUBLE,
        ARG_TEXT,
        ARG_DURATION,
        ARG_OBJECT,
        ARG_ANY
    } kind;
    size_t at; /* bool, int64_t, double, const char *, int64_t ms, const struct berth_value * */
};
/** Reads known members into out. Those whose names begin with the one of `family` (NULL: none) are held to be of
 * its kind, and left to the caller; any other name is an error. */
MUST_CHECK int arguments_read(const struct berth_value *object, const struct argument *known,
                              size_t n, const struct argument *family, void *out, struct err *err);
/** Puts a pointer's step in front of an error's text; returns its code. */
int err_under(struct err *err, const char *step);
enum { POINTER_STEP_SIZE = 120 };
/** A key that somebody wrote as a step of a pointer: "/" and the key, escaped, cut where it is long. */
const char *pointer_step(const char *key, char out[POINTER_STEP_SIZE]);
/** A number of kind int or double, within the bounds of arguments. */
bool value_number(const struct berth_value *value, double *out);

#endif

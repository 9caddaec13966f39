/*
 * Mirror: the live rows in memory, complete at a revision, and what rules ask of them.
 *
 * It holds every queue, quota, node, token, lease, memo and order, and of the jobs those that are not
 * over, with what is held for them.
 * What is derived (a node's, queue's or namespace's used amounts, a job's counts, a task's state) follows from
 * the rows put in, and only from them. It knows no rule. One thread owns it.
 */
#ifndef LEDGER_MIRROR_H
#define LEDGER_MIRROR_H

#include "api/job.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "ledger/rows.h"
#include "ledger/store.h"

enum { POD = 1000 /* one task in the unit of `pods` */ };

/* A task, small: a job may have 10,000. */
struct mirror_task {
    struct row_attempt *live; /* its live attempt, or NULL */
    int64_t not_before;       /* pending: wall ms */
    uint32_t number;          /* of its last attempt; 0 none */
    uint32_t tries, evictions;
    uint8_t state; /* enum task_state */
};
_Static_assert(sizeof(struct mirror_task) <= 40, "a job of 10,000 tasks costs little");

struct mirror_amount {
    char *resource;
    int64_t value;
};

/* A group, as far as rules ask. */
struct mirror_group {
    char *name;
    uint32_t first, replicas; /* its tasks among the job's */
    uint32_t min_available;
    uint32_t counts[TASK_STATE_COUNT];
    struct mirror_amount *asks;
    size_t n_asks;
};

struct attempt_key;

/* Room held for a task, as long as it is open. */
struct mirror_part {
    struct row_part *row;
    const struct mirror_group *group; /* of the task: what it asks is held */
    struct attempt_key *waits;        /* whose end it waits for, or waited */
    size_t n_waits;
};

struct mirror_job {
    struct row_job *row;
    struct mirror_task *tasks; /* [n_tasks], by group, then index */
    struct mirror_group *groups;
    uint32_t n_tasks, n_groups;
    uint32_t counts[TASK_STATE_COUNT];
    uint32_t n_running; /* of the live */
    int64_t code;       /* the largest of its tasks' */
    int64_t ended_at;   /* wall ms: when the last of its tasks that are over ended; 0 none by an
                           attempt */
    uint32_t min_available, retries_max;
    int64_t backoff_ms, backoff_max_ms, grace_ms;
    struct row_reservation *reservation; /* the open one, or NULL */
    VEC_OF(struct mirror_part *) parts;  /* the open ones, in no order */
    bool stops_on_failure;
    bool keeps_on_disconnect;
    bool is_touched; /* in the list of the mirror */
};

struct mirror_room {
    char *resource;
    int64_t offered; /* 0: not any more, or never */
    int64_t used;
    int64_t held; /* by open parts */
};

struct mirror_node {
    struct row_node *row;
    char *name;
    VEC_OF(struct mirror_room) rooms;
    VEC_OF(struct mirror_task *) live;  /* in no order */
    VEC_OF(struct mirror_part *) parts; /* likewise: what is held on it; the jobs own them */
    bool is_pods_offered;
};

#define MIRROR_NO_CAP INT64_MAX

/* Of a queue or namespace, of one resource. */
struct mirror_share {
    char *resource;
    int64_t cap; /* MIRROR_NO_CAP: none; of a namespace the least of its quotas */
    int64_t used;
};

/* What live attempts use: of a queue's jobs and of the queues' below it, or of a namespace's; and its
 * bounds. */
struct mirror_account {
    char *name;
    int64_t max_limit_ms; /* of a queue's jobs, and those of the queues below it; 0 none */
    VEC_OF(struct mirror_share) shares;
};

/* A row that is found by one text. */
struct mirror_cell {
    void *row;
    char name[];
};

struct mirror {
    uint64_t revision;
    struct map jobs;                     /* by id: struct mirror_job */
    struct map nodes;                    /* struct mirror_node */
    struct map queues;                   /* struct mirror_account: of each that ever was */
    struct map namespaces;               /* likewise */
    struct map cells[ROW_KIND_COUNT];    /* struct mirror_cell: meta, lease, token, queue, beat,
                                         idem (of this batch), memo, order, quota */
    VEC_OF(struct mirror_job *) touched; /* since the last settle */
};

/* What a change replaced. */
struct mirror_undo {
    enum row_kind kind;
    void *was, *now; /* counted; NULL none */
    struct mirror_task task;
    int64_t code, ended_at;
};

void mirror_init(struct mirror *mirror);
void mirror_fini(struct mirror *mirror);

/**
 * Puts a row in, counting it up.
 *
 * @spec    of a new job, if it is at hand; else it is read from the row
 * @undo    out: what takes it back; NULL for none
 * Returns  0; -EBADMSG a row that does not fit the others, or cannot be read; nothing changed
 */
MUST_CHECK int mirror_put(struct mirror *mirror, enum row_kind kind, void *row,
                          const struct job_spec *spec, struct mirror_undo *undo, struct err *err);
/** Takes out the row with this key, which is there (a queue, token, memo). */
void mirror_del(struct mirror *mirror, enum row_kind kind, const void *key,
                struct mirror_undo *undo);
/** Takes a change back; those after it were taken back before. */
void mirror_take_back(struct mirror *mirror, struct mirror_undo *undo);
void mirror_undo_fini(struct mirror_undo *undo);
/** After a commit: jobs that are over leave, keys of the batch are forgotten. */
void mirror_settle(struct mirror *mirror);

/** Calls fn with each live row of a store, borrowed, within a transaction or look: queues, nodes,
 * tokens, leases, memos, beats; then each job that is not over, with its tasks and attempts. */
MUST_CHECK int live_walk(struct store *store, int (*fn)(enum row_kind kind, void *row, void *arg),
                         void *arg, struct err *err);
/** Loads all live rows within a transaction or look that is open at the revision. */
MUST_CHECK int mirror_load(struct mirror *mirror, struct store *store, uint64_t revision,
                           struct err *err);
/** Applies the events after its revision up to the one given. */
MUST_CHECK int mirror_catch_up(struct mirror *mirror, struct store *store, uint64_t revision,
                               struct err *err);

struct mirror_job *mirror_job(const struct mirror *mirror, uint64_t id);
struct mirror_node *mirror_node(const struct mirror *mirror, const char *name);
/** What is used of a queue; NULL: nothing ever was, and it has no cap. */
const struct mirror_account *mirror_queue(const struct mirror *mirror, const char *name);
/** Likewise of a namespace. */
const struct mirror_account *mirror_namespace(const struct mirror *mirror, const char *name);
/**
 * The longest time limit that a job of a queue may have: the smallest of its own and those above it.
 *
 * @whose   out: the queue whose it is
 * Returns  milliseconds; 0: no queue bounds it
 */
int64_t mirror_max_limit(const struct mirror *mirror, const char *name, const char **whose);
/** The queue above one; NULL: none. */
const char *mirror_queue_parent(const struct mirror *mirror, const char *queue);
/** The row of a kind that is found by one text, or NULL. */
void *mirror_find(const struct mirror *mirror, enum row_kind kind, const char *name);
struct row_idem *mirror_idem(const struct mirror *mirror, const char *ns, const char *key);
/** A quota of a namespace, or NULL. */
struct row_quota *mirror_quota(const struct mirror *mirror, const char *ns, const char *name);
/** A job's task, or NULL if there is none of that group and index. */
struct mirror_task *mirror_task(const struct mirror_job *job, int64_t grp, int64_t idx);
/** The live attempts on a node, in key order; yours to mem_free. */
struct row_attempt **mirror_node_attempts(const struct mirror_node *node, size_t *n);
/** The parts held on a node, or of a job, in key order; yours to mem_free. */
struct mirror_part **mirror_node_parts(const struct mirror_node *node, size_t *n);
struct mirror_part **mirror_job_parts(const struct mirror_job *job, size_t *n);
/** The open part of a task, or NULL. */
struct mirror_part *mirror_part(const struct mirror_job *job, int64_t grp, int64_t idx);
/** The live attempt that a key means, or NULL. */
struct row_attempt *mirror_live(const struct mirror *mirror, const struct attempt_key *key);
/** Reads the keys of attempts as rows keep them; false if they cannot be. *out: yours to
 * mem_free. */
bool attempt_keys_read(const char *text, struct attempt_key **out, size_t *n);
/** Adds them so. */
void attempt_keys_write(const struct attempt_key *keys, size_t n, struct str *out);
/** Of a job's names: all names of a kind of cells, for suggestions; yours to mem_free. */
const char **mirror_names(const struct mirror *mirror, enum row_kind kind, size_t *n);
/** Likewise of the nodes. */
const char **mirror_node_names(const struct mirror *mirror, size_t *n);
/** Copies a job's counts into an unpublished row. */
void mirror_count(const struct mirror_job *job, struct row_job *row);

/**
 * Whether two hold the same, derived values included; else the reason.
 *
 * @with_quiet  also what changes without an event: beats, leases, meta
 */
MUST_CHECK int mirror_compare(const struct mirror *a, const struct mirror *b, bool with_quiet,
                              struct err *err);

#endif

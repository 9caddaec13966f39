/*
 * Between the parts of the history checker: check.c, check_held.c, check_queue.c,
 * check_quota.c. It shares no rule with the
 * judge.
 */
#ifndef LEDGER_CHECK_INSIDE_H
#define LEDGER_CHECK_INSIDE_H

#include "base/map.h"
#include "base/vec.h"
#include "ledger/ledger.h"
#include "ledger/store.h"

struct use {
    char *resource;
    int64_t offered, used;
    bool is_offered;
};

struct seen_node {
    char *name;
    VEC_OF(struct use) uses;
};

/* A queue: what its own jobs use, and its cap (as `offered`); the longest limit, 0 none. */
struct seen_queue {
    char *name, *parent;
    int64_t max_limit_ms;
    VEC_OF(struct use) uses;
};

/* What the jobs of a namespace use. */
struct seen_namespace {
    char *name;
    VEC_OF(struct use) uses;
};

/* What a quota lets a namespace have of one resource. */
struct seen_limit {
    char *ns, *quota, *resource;
    int64_t most;
};

struct seen_job {
    struct job_spec *spec;
    char *queue, *ns;
    uint32_t *numbers; /* of the last attempt of each task */
    bool *is_live;     /* whether it is live */
    uint32_t counts[TASK_STATE_COUNT];
    uint32_t *group_met, *group_lost; /* of each group: live or succeeded; failed or cancelled */
};

/* Room that is held. */
struct seen_part {
    uint64_t job, reservation;
    int64_t grp, idx;
    char *node;
    struct attempt_key *waits;
    size_t n_waits;
};

struct check {
    struct ledger_report *report;
    struct store *fold;
    struct map nodes;      /* by name: seen_node */
    struct map jobs;       /* by id: seen_job */
    struct map queues;     /* by name: seen_queue */
    struct map namespaces; /* by name: seen_namespace */
    VEC_OF(struct seen_limit) limits;
    VEC_OF(struct seen_part) parts;
    VEC_OF(uint64_t) owners; /* jobs with an open reservation */
    uint64_t rev;            /* of the event at hand */
    uint64_t last;           /* of the one before */
    uint64_t oldest;
    char *batch; /* of the one before */
    const char *subject;
    struct err *err;
};

/** Notes what is wrong with the event at hand. */
void check_find(struct check *c, const char *fmt, ...) FORMAT(2, 3);
/** The place of a task among all of its job. */
uint32_t check_task_at(const struct seen_job *job, int64_t grp, int64_t idx);

/** Puts in a queue as it is now. */
void check_see_queue(struct check *c, const struct row_queue *row);
/** Moves what a job's queue uses; after a bind: no queue is above its cap by it. */
void check_queue_use(struct check *c, const struct seen_job *job, int64_t grp, int sign);
/** A limit that is said is within the longest of each queue from the job's up, or less than before. */
void check_queue_limit(struct check *c, const struct seen_job *job, bool is_new, int64_t was_ms);
void check_queues_fini(struct check *c);

/** Puts in a quota as it is now, or takes it out. */
void check_see_quota(struct check *c, const struct row_quota *row, bool is_gone);
/** Moves what a job's namespace uses; after a bind: it is above none of its quotas by it. */
void check_namespace_use(struct check *c, const struct seen_job *job, int64_t grp, int sign);
void check_quotas_fini(struct check *c);

void check_see_reservation(struct check *c, const struct row_reservation *was,
                           const struct row_reservation *row);
void check_see_part(struct check *c, const struct row_part *was, const struct row_part *row);
/** After a bind: it took neither room that is held and ready, nor room that was promised. */
void check_held_room(struct check *c, const struct seen_node *node, const struct row_attempt *row);
/** Between two transactions: what is held is held for somebody who waits, on a node that takes
 * work. */
void check_held_stands(struct check *c);
void check_held_fini(struct check *c);

#endif

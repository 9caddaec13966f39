/*
 * Topology: the tree of network domains of a session, and the sub-jobs that are kept together
 * in them.
 */
#ifndef ENGINE_TOPOLOGY_H
#define ENGINE_TOPOLOGY_H

#include "engine/framework.h"
#include "engine/model.h"

struct session;

struct domain {
    const char *name;
    int tier;
    const char *tier_name;
    struct domain *parent; /* NULL: the implied top */
    size_t depth;          /* steps beneath the top */
    struct node **nodes;   /* all beneath it, by rank */
    size_t n_nodes;
    bool *has; /* by node->at */
};

/* The domains of a session; at[0] is the implied top, which holds every node. */
struct topology {
    struct domain *at;
    size_t n;
    int least_tier;       /* of those listed */
    struct domain **leaf; /* by node->at: the lowest that lists it; the top for others */
};

/* Domains in groups that are tried one after the other. */
struct domain_list {
    struct domain **at;
    size_t *ends; /* of each group: the place behind its last */
    size_t n, n_groups;
};

/*
 * Tasks that are kept together: those of a sub-group that have the same values, the rest of the
 * job, or (in a job without sub-groups) all of it.
 */
struct sub_job {
    struct job *job;
    const char *id;
    int64_t match_index;
    bool is_grouped;                    /* its job has sub-groups */
    const struct berth_sub_group *spec; /* NULL: the tasks of no group */
    struct task **tasks;
    size_t n_tasks;
    uint32_t min_available;
    int priority;
    struct domain *domain; /* that holds its placed tasks, or NULL */
    bool is_required;
    bool is_whole;      /* the job as such, not one of its parts */
    bool for_evictions; /* room is to be made: what domains offer counts, the widest first */
};

/** The session's domains, made on first use. */
struct topology *topology_of(struct session *s);
/** The lowest domain that holds both; b may be NULL. */
struct domain *domain_join(struct domain *a, struct domain *b);
/** The lowest domain that holds all placed tasks of a list, or NULL. */
struct domain *domain_of_tasks(struct session *s, struct task *const *tasks, size_t n);
/**
 * The highest tier that a topology allows, soft ones that of the top; `within` bounds it. False
 * if it sets no limit.
 */
bool topology_tier(struct session *s, const struct berth_topology *wanted, int *tier);
/** Whether a job's tasks are to be kept together, or it has sub-groups. */
bool job_has_topology(struct session *s, const struct job *job);

/** The sub-jobs of a job, made on first use; one for a job without sub-groups. */
struct sub_job *sub_jobs_of(struct session *s, const struct job *job, size_t *n);
/** The job as such, as one sub-job. */
struct sub_job sub_job_whole(struct session *s, struct job *job);
/** The sub-jobs in the order in which they are placed: those that the job needs first. */
struct sub_job **sub_jobs_ordered(struct session *s, struct job *job, size_t *n);
/** Its pending tasks that ask for something, in task order. */
struct victims sub_job_pending(struct session *s, const struct sub_job *sub);
/** How many of its tasks are ready (0), or promised too (1); those that ask for nothing count. */
uint32_t sub_job_count(const struct sub_job *sub, int what);
/** Whether each group has as many sub-jobs as it needs, or so many ready (0) or promised (1). */
bool sub_jobs_exist(struct session *s, const struct job *job);
bool sub_jobs_hold(struct session *s, const struct job *job, int what);

/** Which domains to try for a sub-job (its job, if is_job) beneath top. */
struct domain_list gradients_of(struct session *s, const struct sub_job *sub, struct domain *top);
/** Places a job with topology; true if something was done and tasks are left to try. */
bool allocate_topology(struct session *s, struct job *job);
/**
 * Places the sub-jobs in a domain until the job is ready (s->promises: has been promised enough);
 * the log holds what was done, also if it came to nothing.
 */
bool topology_place_job(struct session *s, struct job *job, struct domain *domain, double *score);

#endif

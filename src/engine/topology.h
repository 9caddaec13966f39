/*
 * Topology: the tree of network domains of a session, and the sub-jobs that are kept together
 * in them.
 */
#ifndef ENGINE_TOPOLOGY_H
#define ENGINE_TOPOLOGY_H

#include "engine/model.h"

struct domain {
    const char *name;
    int tier;
    const char *tier_name;
    struct domain *parent, **children;
    size_t n_children;
    struct node **nodes; /* all beneath it, by rank */
    size_t n_nodes;
    size_t at;
};

/* Domains in groups that are tried one after the other. */
struct domain_list {
    struct domain **at;
    size_t *ends; /* of each group */
    size_t n, n_groups;
};

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
    enum berth_topology_mode mode; /* hard once it was worked out */
    int highest_tier;
    struct domain *domain; /* that holds its placed tasks, or NULL */
};

struct session;

/** The sub-jobs of a job that has sub-groups, made on first use; n is 0 for others. */
struct sub_job *sub_jobs_of(struct session *s, const struct job *job, size_t *n);
/** How many of its tasks are ready (0), or promised too (1); those that ask for nothing count. */
uint32_t sub_job_count(const struct sub_job *sub, int what);
/** Whether each group has as many sub-jobs as it needs, or so many ready (0) or promised (1). */
bool sub_jobs_exist(struct session *s, const struct job *job);
bool sub_jobs_hold(struct session *s, const struct job *job, int what);

#endif

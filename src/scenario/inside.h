/*
 * Inside a scenario: what the document became, and how its tasks are named in an engine.
 *
 * A task of a document is a group of one task, named as the task: the engine's key of
 * "c1/p1" of job "c1/pg1" is ("c1/pg1", "p1", 0). Task names are unique in a namespace, so a
 * job's namespace and a group's name lead back.
 */
#ifndef SCENARIO_INSIDE_H
#define SCENARIO_INSIDE_H

#include "base/map.h"
#include "base/vec.h"
#include "scenario/config.h"
#include "scenario/scenario.h"
#include "scenario/take.h"

/* A task, and how it stands while the document is run. */
struct known_task {
    const char *key; /* NAMESPACE/TASK */
    struct berth_task_ref ref;
    const struct berth_task_group *group;
    const struct known_job *job;
    struct berth_task state; /* as it is now */
    bool is_placed;          /* state differs from that of a task that was never tried */
    bool ran_before;         /* it was placed or over when the run began */
    /* What came of it; texts live as long as the scenario. */
    const char *bound, *pipelined, *reserved; /* node names, or NULL */
    bool is_evicted;
    enum wait_code failed;
    const char *failed_resource;
    const struct berth_reason *reason; /* of the last cycle, while the run lives; or NULL */
};

struct known_job {
    struct berth_job job;
    struct known_task *tasks; /* as many as the job has groups */
};

struct known_node {
    struct berth_node node;
    struct berth_device *devices;
    size_t n_devices;
};

struct scenario {
    struct arena arena;
    json_t *document;
    struct problem problem;
    const char *name;
    struct scenario_times times;
    struct taken_config config;
    const json_t *expect; /* of the document, or NULL */
    VEC_OF(struct berth_delta) deltas;
    VEC_OF(struct known_node *) nodes;
    VEC_OF(struct known_job *) jobs;
    VEC_OF(const struct berth_domain *) domains;
    VEC_OF(struct berth_reservation *) reservations;
    struct map node_by_name, job_by_id, task_by_key, queue_by_name, pool_by_name;
};

/** Adds an object to what goes into an engine; it must live as long as the scenario. */
void scenario_add(struct scenario *s, enum berth_kind kind, const void *object);

void read_queues(struct scenario *s, struct reader *r, const struct json_at *top);
void read_nodes(struct scenario *s, struct reader *r, const struct json_at *top);
void read_domains(struct scenario *s, struct reader *r, const struct json_at *top);
void read_pools(struct scenario *s, struct reader *r, const struct json_at *top);
void read_quotas(struct scenario *s, struct reader *r, const struct json_at *top);
void read_jobs(struct scenario *s, struct reader *r, const struct json_at *top);
void read_reservations(struct scenario *s, struct reader *r, const struct json_at *top);
/** Holds the keys, words and names of `expect` against the document. */
void read_expect(struct scenario *s, const struct json_at *top);

/** The task that an engine speaks of, or NULL. */
struct known_task *known_task_find(const struct scenario *s, const char *job, const char *group);
/** Puts value under key, or refuses the second of a name. */
bool known_once(struct map *map, const char *key, void *value, const struct json_at *at);

#endif

/*
 * Job specification: what a user submits, read from JSON, YAML, #BERTH lines or flags,
 * validated whole, defaulted, and written back in one canonical form.
 *
 * The canonical JSON (all defaults filled in, keys in the order of docs/job-format.md) is what
 * the ledger keeps; its SHA-256 is what an Idempotency-Key is held against.
 */
#ifndef API_JOB_H
#define API_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/problem.h"
#include "base/err.h"
#include "base/quantity.h"

#define JOB_DURATION_MAX_MS DURATION_MAX_MS
#define LIMIT_UNCHANGED     INT64_C(-1)

/* The limits of a job; each is stated in GET /v1/limits and tested. */
enum {
    JOB_BODY_MAX_BYTES = 1 << 20,
    JOB_TASKS_MAX = 10000,
    JOB_GROUPS_MAX = 50,
    JOB_LABELS_MAX_BYTES = 4096,
    JOB_AFFINITY_MAX_BYTES = 16 << 10,
    JOB_TIER_MAX = 1000,
    JOB_ENV_MAX_BYTES = 64 << 10,
    JOB_ARGS_MAX_BYTES = 128 << 10,
    JOB_PRIORITY_MIN = -1000,
    JOB_PRIORITY_MAX = 100000,
    JOB_GRACE_MAX_MS = 600000,
    JOB_RETRIES_MAX = 1000,
    JOB_HEADROOM_MAX_MILLI = 100000,
    JOB_TOLERATIONS_MAX = 50,
    JOB_RESOURCES_MAX = 64,
};

enum job_on_failure { ON_FAILURE_STOP, ON_FAILURE_CONTINUE };
enum job_on_disconnect { ON_DISCONNECT_STOP, ON_DISCONNECT_KEEP };
enum job_topology { JOB_TOPOLOGY_NONE, JOB_TOPOLOGY_SOFT, JOB_TOPOLOGY_HARD };
enum job_budget { JOB_BUDGET_NONE, JOB_BUDGET_MIN_AVAILABLE, JOB_BUDGET_MAX_UNAVAILABLE };
enum job_network { JOB_NETWORK_HOST, JOB_NETWORK_NONE };

/* An amount of a resource, in its quantity_unit. */
struct amount {
    char *resource; /* cpu, memory, or a counter's name */
    int64_t value;  /* 0..QUANTITY_MAX */
};

struct label {
    char *key, *value;
};

struct toleration {
    char *key;      /* "" tolerates every key */
    bool is_exists; /* operator Exists; else Equal */
    char *value;
    char *effect; /* NoSchedule, PreferNoSchedule, NoExecute; "" all */
};

struct labels {
    struct label *at;
    size_t n; /* sorted by key, each key once */
};

struct amounts {
    struct amount *at;
    size_t n; /* sorted by resource, each once; none is 0 */
};

struct texts {
    char **at;
    size_t n;
};

/* A group of like tasks. */
struct job_group {
    char *name;
    uint32_t replicas;      /* 1.. */
    uint32_t min_available; /* of this group; 0 says nothing */
    char *image;            /* "oci:PATH", "dir:PATH", or "" (runtime process only) */
    struct texts command;   /* instead of the image's entry point; may be empty */
    struct texts args;
    struct labels env;        /* as key and value */
    char *work_dir;           /* "" the image's */
    char *user;               /* "" the image's */
    char *runtime;            /* "" the node's default; crun, runc, process */
    struct amounts resources; /* what each task asks */
    struct amounts holds;     /* and holds: the same, but for the job's headroom of memory */
    struct amounts requires_; /* that the node must have, used or not */
    char *capability;         /* "" any; that the node must have to the letter: image@2.1 */
    char *node;               /* "" any; the one it may run on */
    struct labels node_selector;
    struct labels preferred_labels;
    struct toleration *tolerations;
    size_t n_tolerations;
    enum job_topology topology;
    bool has_tier; /* the highest tier of a domain that will do, by number */
    int tier;
    char *tier_name;  /* or by name; "" neither, or by number */
    json_t *affinity; /* as a pod's, keys sorted; NULL none. Who places the job knows its form */
    enum job_network network;
};

struct job_spec {
    char *name;
    char *ns; /* namespace */
    char *queue;
    int32_t priority;
    uint32_t min_available;     /* 1..n_tasks: how many start together or none */
    int64_t limit_ms;           /* for each task from its first instruction; 0 none */
    int64_t limit_submitted_ms; /* what it was, where that is no longer so; else LIMIT_UNCHANGED */
    int64_t deadline_ms;        /* fail if not started so long after submit; 0 none */
    uint32_t retries_max;
    int64_t backoff_ms, backoff_max_ms;
    enum job_on_failure on_failure;
    enum job_on_disconnect on_disconnect;
    int64_t grace_ms; /* TERM to KILL */
    struct labels labels;
    bool is_preemptable;
    enum job_budget budget; /* how much of it evictions leave, or take, at a time */
    bool budget_is_percent; /* of its tasks */
    uint32_t budget_value;
    struct job_group *groups;
    size_t n_groups;
    uint32_t n_tasks; /* over all groups */
    int64_t
        memory_milli; /* what a task holds of memory, in thousandths of what it asks; 1000 as asked */
    _Atomic int n_more; /* that have it, beside the first */
};

/** One more that has it, on any thread; nobody changes it from then on. Returns what that one
 * frees. */
struct job_spec *job_spec_ref(const struct job_spec *spec);
/** The last one that has it ends it. NULL is fine. */
void job_spec_free(struct job_spec *spec);
void job_spec_freep(struct job_spec **spec);

/**
 * Gives its tasks headroom of memory, before anybody else has it: whoever accepts a job fixes it,
 * and no user's file says it.
 *
 * @memory_milli  1000 to 100,000, in thousandths of what is asked (quantity_with_headroom)
 */
void job_spec_set_headroom(struct job_spec *spec, int64_t memory_milli);

/**
 * Reads a job from its object, checks every field and fills in the defaults.
 *
 * @object    borrowed; an unknown key, or one that comes later, is a problem
 * @fallback  the name where the object has none (a file's name); NULL: "job"
 * @problem   { 0 }; gains every fault found (up to PROBLEM_FIELDS_MAX), each with its pointer
 * Returns    0 and *out, yours; -EINVAL
 */
MUST_CHECK int job_spec_from_json(const json_t *object, const char *fallback, struct job_spec **out,
                                  struct problem *problem);

/**
 * Reads a job file's text: JSON if it begins with '{', a script if with "#!", else YAML.
 *
 * @path      for the messages; its last part without ending is the fallback name
 * @problem   as above; fields of YAML carry the line
 * Returns    0 and *out, yours; -EINVAL
 */
MUST_CHECK int job_spec_from_text(const char *path, const char *text, size_t n,
                                  struct job_spec **out, struct problem *problem);

/**
 * Reads a file's text to an object without checking it as a job: JSON, YAML, or a script with
 * #BERTH lines (its text begins with "#!").
 *
 * Returns  0 and *out, yours to json_decref; -EINVAL (and *out where the only faults are numbers
 *          too large to hold: check it as well, then all faults are known)
 */
MUST_CHECK int job_object_from_text(const char *path, const char *text, size_t n, json_t **out,
                                    struct problem *problem);

/** Sets line and column of the fields that a check of that object found. */
void job_text_locate(const char *text, size_t n, struct problem *problem);

/** The name that a file gives its job: its last part without ending, letters made to fit. */
void job_name_of_path(const char *path, char out[64]);

/** The canonical object; yours to json_decref. */
json_t *job_spec_to_json(const struct job_spec *spec);
/** The canonical text; and the SHA-256 in hex, if digest (DIGEST_HEX_SIZE bytes) is not NULL, of
 * what the user said of it: all but the headroom and what its limit became. */
char *job_spec_to_text(const struct job_spec *spec, char *digest);
/**
 * Gives it another limit, before anybody else has it: what it was submitted with is kept beside it.
 *
 * @limit_ms  0 to JOB_DURATION_MAX_MS; 0 none
 */
void job_spec_set_limit(struct job_spec *spec, int64_t limit_ms);
/** The limit that it was submitted with, whatever it is now; 0 none. */
int64_t job_spec_own_limit(const struct job_spec *spec);

/** Reads what job_spec_to_text wrote: a row of the ledger. */
MUST_CHECK int job_spec_from_canonical(const char *text, struct job_spec **out, struct err *err);

#endif

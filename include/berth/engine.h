/*
 * The engine: the scheduling core as a library without I/O.
 *
 * An engine is a model that is fed and asked. It is fed objects as deltas, is asked for a cycle
 * and answers with decisions; the cycle itself changes nothing, so what was decided comes back
 * as deltas once it was accepted. The same objects, config, now and seed give the same answer,
 * byte for byte.
 *
 * Texts, lists and structs that go in are borrowed for the call. Amounts are integers in
 * 0..QUANTITY_MAX (base/quantity.h): thousandths of cpu, devices, counters and `pods`, bytes of
 * memory and storage. Times are milliseconds since 1970; 0 where there is none. A zeroed
 * struct is valid but for its key; what zero means stands beside each member.
 *
 * One thread owns an engine; a process may have several.
 */
#ifndef BERTH_ENGINE_H
#define BERTH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code.h"
#include "base/err.h"
#include "base/states.h"

struct arena;
struct str;
struct berth_engine;
struct berth_plugin; /* berth/plugin.h */

#define BERTH_ENGINE_VERSION "1"
#define BERTH_NEVER          INT64_MAX /* an instant that does not come */

/* --- Values ------------------------------------------------------------------------------- */

struct berth_amount {
    const char *name; /* cpu, memory, pods, gpu, or any counter */
    int64_t value;
};

struct berth_amounts {
    const struct berth_amount *at;
    size_t n;
};

struct berth_label {
    const char *key, *value;
};

struct berth_labels {
    const struct berth_label *at;
    size_t n;
};

struct berth_words {
    const char *const *at;
    size_t n;
};

struct berth_numbers {
    const uint32_t *at;
    size_t n;
};

/* A part of a configuration: what JSON or YAML can say. */
enum berth_value_kind {
    BERTH_VALUE_NULL,
    BERTH_VALUE_BOOL,
    BERTH_VALUE_INT,
    BERTH_VALUE_DOUBLE,
    BERTH_VALUE_TEXT,
    BERTH_VALUE_LIST,
    BERTH_VALUE_OBJECT
};

struct berth_value {
    const char *key; /* within an object; NULL within a list */
    enum berth_value_kind kind;
    bool truth;
    int64_t number;
    double real;
    const char *text;
    const struct berth_value *members; /* of a list or object */
    size_t n_members;
};

/** The member of an object by key, or NULL. */
const struct berth_value *berth_value_get(const struct berth_value *object, const char *key);

/* --- Objects ------------------------------------------------------------------------------ */

enum berth_effect { BERTH_NO_SCHEDULE, BERTH_PREFER_NO_SCHEDULE, BERTH_NO_EXECUTE };

struct berth_taint {
    const char *key, *value; /* value may be NULL */
    enum berth_effect effect;
};

struct berth_toleration {
    const char *key; /* NULL or "": every key, with exists */
    const char *value;
    bool exists;      /* operator Exists; else Equal */
    bool all_effects; /* no effect was named */
    enum berth_effect effect;
};

enum berth_operator {
    BERTH_IN,
    BERTH_NOT_IN,
    BERTH_EXISTS,
    BERTH_DOES_NOT_EXIST,
    BERTH_GREATER,
    BERTH_LESS
};

/* One requirement on a label. */
struct berth_match {
    const char *key;
    enum berth_operator op;
    struct berth_words values;
};

/* Requirements that must all hold: matchLabels and matchExpressions. An empty one holds. */
struct berth_selector {
    struct berth_labels labels;
    const struct berth_match *matches;
    size_t n_matches;
};

/* A term about nodes. Required terms: one of them must hold. */
struct berth_node_term {
    struct berth_selector selector; /* on labels; matchFields on metadata.name have this key */
    int weight;                     /* of a preferred term, 1..100 */
};

/* A term about the tasks on nodes of the same topology. Required terms: all must hold. */
struct berth_pod_term {
    struct berth_selector selector;
    struct berth_words namespaces; /* none: the task's own */
    const char *topology_key;
    int weight; /* of a preferred term, 1..100; of a spread by how many one part may lead another */
};

struct berth_affinity {
    const struct berth_node_term *node_required, *node_preferred;
    const struct berth_pod_term *pod_required, *pod_preferred;
    const struct berth_pod_term *anti_required, *anti_preferred;
    size_t n_node_required, n_node_preferred;
    size_t n_pod_required, n_pod_preferred;
    size_t n_anti_required, n_anti_preferred;
    const struct berth_pod_term
        *spread; /* over the parts that each topology key makes; all must hold */
    size_t n_spread;
    const struct berth_pod_term *spread_preferred; /* likewise, and none must */
    size_t n_spread_preferred;
};

enum berth_topology_mode { BERTH_TOPOLOGY_NONE, BERTH_TOPOLOGY_SOFT, BERTH_TOPOLOGY_HARD };

struct berth_topology {
    enum berth_topology_mode mode;
    bool has_tier; /* highest_tier was given */
    int highest_tier;
    const char *tier_name; /* or by name; NULL */
};

/* Yes and no, where "not said" differs from both. */
enum berth_tri { BERTH_UNSAID, BERTH_YES, BERTH_NO };

struct berth_queue {
    const char *name;   /* the key */
    uint64_t seq;       /* the rank */
    const char *parent; /* NULL: root */
    int weight;         /* 0: not said, which is 1 */
    int priority;
    struct berth_amounts capability; /* the cap; a name that is missing has none */
    struct berth_amounts deserved;
    struct berth_amounts guarantee;
    bool has_deserved; /* deserved was stated, even if it is empty */
    bool not_reclaimable;
    enum queue_state state;
    int64_t min_runtime_ms; /* -1: the policy's */
    const char *hierarchy, *hierarchy_weights;
    struct berth_words group_required, group_preferred; /* nodeGroupAffinity */
    struct berth_words group_anti_required, group_anti_preferred;
    const struct berth_group_limit *group_limits;
    size_t n_group_limits;
    int64_t created_at_ms;
    bool never_preempts; /* its jobs evict nobody, in their own queue or in others */
};

struct berth_group_limit {
    const char *node_group;
    struct berth_amounts limit;
};

struct berth_node {
    const char *id; /* the key */
    uint64_t seq;   /* the rank: of its first registration */
    enum node_state state;
    bool cordoned, draining;
    uint64_t generation, facts;
    const char *pool; /* NULL: none */
    struct berth_labels labels;
    const struct berth_taint *taints;
    size_t n_taints;
    struct berth_words capabilities;
    struct berth_words image_folders; /* that images may come from; none: any */
    struct berth_amounts offers;      /* allocatable; without `pods` any number of tasks fits */
    struct berth_amounts
        device_classes; /* thousandths of devices of each class that claims can take */
    int weight;         /* profile ledger */
    const char *gpu_model;
    const char *owner; /* the namespace it belongs to; NULL: everybody */
    bool managed;      /* the operator manages it, whoever owns it */
    const char *runtime;
    struct berth_amounts rented; /* left to tasks pinned to it */
    const char *node_group, *revocable_zone;
    struct berth_words volumes;
    struct berth_numbers cores; /* ids of the cores that can be given whole */
    int64_t heard_at_ms;
    const char *order; /* the key of the order that brought or brings it; NULL */
};

/* One device of a node. A node without device objects for a class has a plain count of it. */
struct berth_device {
    const char *node, *class_name, *uuid; /* the key */
    uint32_t index;                       /* for show, and the order of choice */
    const char *model;
    int64_t memory;
    bool unhealthy, quarantined;
};

/* A group of like tasks. A task's key is (job, group, index). */
struct berth_task_group {
    const char *name; /* unique in the job */
    const char *role; /* what minima count by; NULL: without a role */
    uint32_t replicas;
    struct berth_amounts asks;      /* one task; zero is no request */
    struct berth_amounts requires_; /* the node must have so much, used or not */
    int priority;                   /* within the job; bigger first */
    int64_t created_at_ms;          /* 0: the job's */
    struct berth_labels labels;
    struct berth_labels node_selector;
    struct berth_labels preferred_labels;
    const struct berth_toleration *tolerations;
    size_t n_tolerations;
    const struct berth_affinity *affinity; /* NULL: none */
    bool not_preemptable;
    bool never_preempts; /* preemptionPolicy: Never */
    bool whole_cores;
    const char *capability;        /* exact, such as image@2.1 */
    const char *image;             /* the path of its image, or a folder above it; NULL: none */
    const char *pinned_to;         /* the one node */
    struct berth_words gpu_models; /* best first; "any" alone: the catalogue */
    int64_t gpu_memory;            /* of one device */
    const char *revocable_zone;    /* "*" or NULL */
    const uint16_t *host_ports;
    size_t n_host_ports;
    struct berth_words volumes;
    struct berth_words claims;  /* names of device claims of the namespace */
    const char *priority_class; /* system-node-critical and the like are never victims */
    /* serverless */
    const char *pool_selector;
    bool allow_preemptible, allow_marketplace;
    bool storage, durable_disk, docker;
    struct berth_words host_mounts;
    uint32_t provision_attempts;
    const struct berth_checkpoint *checkpoint; /* NULL: none */
};

struct berth_checkpoint {
    bool available;
    bool filesystem_only;
    const char *runtime, *gpu_model; /* NULL: any */
};

/* Tasks that carry all keys form one sub-job for each set of values. */
struct berth_sub_group {
    const char *name;
    struct berth_words match_label_keys;
    uint32_t size;     /* members that a sub-job needs; 0: not said, which is 1 */
    uint32_t min_jobs; /* sub-jobs that the job needs */
    struct berth_topology topology;
    struct berth_labels match_labels; /* a task must have them to belong */
};

struct berth_minimum {
    const char *role; /* "" for tasks without a role */
    uint32_t n;
};

enum berth_phase {
    BERTH_PHASE_PENDING, /* not admitted */
    BERTH_PHASE_INQUEUE, /* admitted */
    BERTH_PHASE_RUNNING,
    BERTH_PHASE_UNKNOWN, /* some run, the gang is short */
    BERTH_PHASE_COMPLETED,
    BERTH_PHASE_COUNT
};

/* How much of a job may be missing at a time. */
struct berth_budget {
    bool is_given;
    bool is_max_unavailable; /* else minAvailable */
    bool is_percent;
    uint32_t value;
};

struct berth_job {
    const char *id;                        /* the key: j-1204, or NAMESPACE/NAME in a scenario */
    uint64_t seq;                          /* the rank: revision and place of its submit */
    const char *name, *namespace_, *queue; /* queue NULL: none (serverless) */
    uint64_t version;
    int priority;
    const char *priority_class; /* wins over priority if it is known; NULL */
    uint32_t min_available;     /* the gang; 0 is 1 unless it was stated */
    bool has_min_available;     /* it was stated, perhaps as 0 */
    const struct berth_minimum *minima;
    size_t n_minima;
    struct berth_amounts min_resources;
    bool has_min_resources;
    enum berth_phase phase;
    int64_t admitted_at_ms; /* when it went from pending to inqueue; 0: not known */
    /* Why it must not be considered, as its feeder says: HELD, SUSPENDED, DEPENDENCY,
     * DEPENDENCY_FAILED, RATE_LIMITED, BEFORE_START_TIME; WAIT_NONE if it may. */
    enum wait_code withheld;
    int64_t not_before_ms; /* a start time, or until when it is withheld; 0 */
    bool stopping;         /* an end is wanted; no task of it is placed */
    int64_t created_at_ms;
    int64_t limit_ms;       /* how long each task may run; 0: for ever */
    int64_t deadline_at_ms; /* it fails if it has not started by then; 0 */
    int64_t sla_wait_ms;    /* the job's own waiting time for plugin sla; 0 */
    enum berth_tri preemptable;
    const char *revocable_zone;
    struct berth_budget budget;
    struct berth_topology topology;
    const struct berth_sub_group *sub_groups;
    size_t n_sub_groups;
    const struct berth_task_group *groups;
    size_t n_groups;
};

enum berth_task_state {
    BERTH_TASK_PENDING,
    BERTH_TASK_ALLOCATED, /* only in scenarios: placed, its gang not complete */
    BERTH_TASK_PIPELINED, /* only in scenarios: placed on room that is being freed */
    BERTH_TASK_BINDING,   /* decided, not committed */
    BERTH_TASK_BOUND,     /* bound and starting */
    BERTH_TASK_RUNNING,
    BERTH_TASK_RELEASING, /* stopping; holds its room */
    BERTH_TASK_SUCCEEDED,
    BERTH_TASK_FAILED,
    BERTH_TASK_CANCELLED,
    BERTH_TASK_UNKNOWN,
    BERTH_TASK_STATE_COUNT
};
extern const char *const berth_task_state_words[BERTH_TASK_STATE_COUNT];
extern const char *const berth_phase_words[BERTH_PHASE_COUNT];

/* A part of a device that a task holds, or is given. */
struct berth_share {
    const char *class_name, *uuid;
    uint32_t index; /* of the device on its node, for show */
    int64_t milli;  /* 1..1000 */
};

/* A task that left the state in which its group implies it: pending, never tried. Its end
 * takes it back there. */
struct berth_task {
    const char *job, *group; /* the key, with index */
    uint32_t index;
    enum berth_task_state state;
    uint32_t attempt;           /* the number of its last attempt; 0: none */
    uint64_t version;           /* of that attempt */
    const char *node;           /* of a task that holds room, else NULL */
    struct berth_amounts holds; /* none: what its group asks for */
    const struct berth_share *shares;
    size_t n_shares;
    struct berth_numbers cores; /* whole cores that it holds */
    int64_t started_at_ms;
    int64_t checkpoint_at_ms; /* when its work was last saved; 0 */
    int64_t limit_at_ms;      /* when its limit ends it; 0 */
    int64_t not_before_ms;    /* pending: the end of its back-off; 0 */
    uint32_t tries, evictions;
    bool comes_back; /* being stopped, and it waits again once it has ended: it was evicted, say */
};

/* A task by its key. */
struct berth_task_ref {
    const char *job, *group;
    uint32_t index;
    uint32_t attempt; /* where an attempt is meant; else 0 */
};

enum berth_purpose { BERTH_FOR_EVICTION, BERTH_FOR_MACHINE };

struct berth_reservation_part {
    struct berth_task_ref task;
    const char *node; /* perhaps coming */
    struct berth_amounts holds;
    const struct berth_share *shares;
    size_t n_shares;
    const struct berth_task_ref *waits; /* the attempts whose end it waits for */
    size_t n_waits;
};

struct berth_reservation {
    const char *id;    /* the key */
    uint64_t seq;      /* the rank */
    const char *owner; /* a job */
    enum berth_purpose purpose;
    int64_t until_ms;   /* 0: no end */
    int64_t made_at_ms; /* 0: not known */
    const struct berth_reservation_part *parts;
    size_t n_parts;
};

enum berth_order_state {
    BERTH_ORDER_WANTED,
    BERTH_ORDER_PLACED,
    BERTH_ORDER_CAME,
    BERTH_ORDER_FAILED
};

struct berth_order {
    const char *key; /* the key */
    uint64_t seq;    /* the rank */
    const char *pool;
    struct berth_amounts shape;
    enum berth_order_state state;
    int64_t made_at_ms;
};

struct berth_domain {
    const char *name; /* the key */
    uint64_t seq;     /* the rank */
    int tier;
    const char *tier_name; /* NULL: none */
    struct berth_words nodes, children;
};

struct berth_quota {
    const char *name, *namespace_; /* the key */
    struct berth_amounts hard;
};

struct berth_claim {
    const char *name, *namespace_; /* the key */
    const char *device_class;
    int64_t count; /* devices, not thousandths */
};

struct berth_priority_class {
    const char *name; /* the key */
    int value;
    bool is_default; /* of jobs that say nothing */
};

struct berth_pool {
    const char *name; /* the key */
    uint64_t seq;     /* the rank */
    int priority;
    const char *gpu_model; /* NULL: none */
    bool preemptible, requires_selector, requires_storage;
    bool is_private, marketplace, provisions;
    struct berth_amounts machine; /* the least that is ordered */
    bool has_machine;
    uint32_t max_machines; /* 0: no limit */
    int64_t backoff_until_ms;
    struct berth_amounts min_free;
    const char *runtime; /* of its machines; NULL: runc */
};

/* The pools that stand in for a GPU model, in order. */
struct berth_chain {
    const char *model; /* the key */
    struct berth_words pools;
};

/* Measured use of a node. */
struct berth_measure {
    const char *node; /* the key */
    double cpu_percent, memory_percent;
    int64_t measured_at_ms; /* with age: now - age */
};

/* Bytes that an action or plugin wants to find again; the only way to remember. */
struct berth_memo {
    const char *name; /* the key */
    const void *data;
    size_t size;
};

/* --- Configuration ------------------------------------------------------------------------ */

/* The hooks of a plugin, by the words of the scenario document. */
enum berth_hook {
    BERTH_HOOK_JOB_ORDER,
    BERTH_HOOK_TASK_ORDER,
    BERTH_HOOK_QUEUE_ORDER,
    BERTH_HOOK_SUB_JOB_ORDER,
    BERTH_HOOK_JOB_READY,
    BERTH_HOOK_JOB_PIPELINED,
    BERTH_HOOK_JOB_STARVING,
    BERTH_HOOK_JOB_ENQUEUED,
    BERTH_HOOK_SUB_JOB_READY,
    BERTH_HOOK_SUB_JOB_PIPELINED,
    BERTH_HOOK_PREDICATE,
    BERTH_HOOK_NODE_ORDER,
    BERTH_HOOK_BEST_NODE,
    BERTH_HOOK_HYPER_NODE_ORDER,
    BERTH_HOOK_HYPER_NODE_GRADIENT,
    BERTH_HOOK_PREEMPTABLE,
    BERTH_HOOK_RECLAIMABLE,
    BERTH_HOOK_PREEMPTIVE,
    BERTH_HOOK_OVERUSED,
    BERTH_HOOK_ALLOCATABLE,
    BERTH_HOOK_VICTIM,
    BERTH_HOOK_HIERARCHY,
    BERTH_HOOK_COUNT
};
extern const char *const berth_hook_words[BERTH_HOOK_COUNT];
#define BERTH_HOOK_BIT(hook) ((uint32_t)1 << (hook))
/* What is on where a plugin says nothing. */
#define BERTH_HOOKS_DEFAULT                                                                        \
    (BERTH_HOOK_BIT(BERTH_HOOK_COUNT) - 1 - BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY))

struct berth_plugin_use {
    const char *name;
    bool has_enabled;                    /* else BERTH_HOOKS_DEFAULT */
    uint32_t enabled;                    /* BERTH_HOOK_BITs */
    const struct berth_value *arguments; /* an object, or NULL */
};

struct berth_tier {
    const struct berth_plugin_use *plugins;
    size_t n;
};

enum berth_shard_mode { BERTH_SHARD_NONE, BERTH_SHARD_SOFT, BERTH_SHARD_HARD };

/*
 * What the engine is configured to do. It starts from the built-in profile and replaces the
 * parts that are given.
 */
struct berth_config {
    const char *profile;         /* NULL: berth */
    bool has_actions, has_tiers; /* given, even if empty */
    struct berth_words actions;
    const struct berth_tier *tiers;
    size_t n_tiers;
    const struct berth_value *action_arguments; /* object of objects, or NULL */
    const struct berth_value *policy;           /* object, or NULL */
    enum berth_shard_mode shard_mode;
    struct berth_words shard_nodes;
};

/**
 * Checks a configuration without an engine: names, types and ranges.
 *
 * Returns  0; -EINVAL, the text beginning with the JSON pointer of what is wrong, beneath the
 *          configuration ("/tiers/0/plugins/1/name: ...")
 */
MUST_CHECK int berth_config_check(const struct berth_config *config, struct err *err);

/* A plugin that the caller has loaded. */
struct berth_plugin_file {
    const struct berth_plugin *plugin; /* must outlive every engine that it is given to */
    const char *hash;                  /* of the file it came from: enters the digest */
};

/** The same where the configuration may name these plugins too. */
MUST_CHECK int berth_config_check_with(const struct berth_config *config,
                                       const struct berth_plugin_file *plugins, size_t n,
                                       struct err *err);

typedef void berth_fault_fn(const char *text, void *arg);

/**
 * Tells all that is wrong with a configuration, each as berth_config_check says the first. What goes by a profile that does
 * not exist is read as of the one that is nearest to its name.
 *
 * @plugins  n of them; !are_all: others could not be read, so nobody is told that a plugin is not known
 *
 * Returns  how many there are
 */
size_t berth_config_faults(const struct berth_config *config,
                           const struct berth_plugin_file *plugins, size_t n, bool are_all,
                           berth_fault_fn *tell, void *arg);

/** The i-th name of the built-in profiles, actions or plugins; NULL behind the last. */
const char *berth_profile_at(size_t i);
const char *berth_action_at(size_t i);
const char *berth_plugin_at(size_t i);
/** A built-in profile, or NULL. */
const struct berth_config *berth_profile_find(const char *name);

/* --- In ----------------------------------------------------------------------------------- */

enum berth_kind {
    BERTH_CONFIG, /* has no key: the last one counts; its end is the default */
    BERTH_QUEUE,
    BERTH_NODE,
    BERTH_DEVICE,
    BERTH_JOB,
    BERTH_TASK,
    BERTH_RESERVATION,
    BERTH_ORDER,
    BERTH_DOMAIN,
    BERTH_QUOTA,
    BERTH_CLAIM,
    BERTH_PRIORITY_CLASS,
    BERTH_POOL,
    BERTH_CHAIN,
    BERTH_MEASURE,
    BERTH_MEMO,
    BERTH_KIND_COUNT
};
extern const char *const berth_kind_words[BERTH_KIND_COUNT];

/* The full new value of one object, or its end (then only the key's members are read). */
struct berth_delta {
    enum berth_kind kind;
    bool end;
    union {
        const struct berth_config *config;
        const struct berth_queue *queue;
        const struct berth_node *node;
        const struct berth_device *device;
        const struct berth_job *job;
        const struct berth_task *task;
        const struct berth_reservation *reservation;
        const struct berth_order *order;
        const struct berth_domain *domain;
        const struct berth_quota *quota;
        const struct berth_claim *claim;
        const struct berth_priority_class *priority_class;
        const struct berth_pool *pool;
        const struct berth_chain *chain;
        const struct berth_measure *measure;
        const struct berth_memo *memo;
        const void *any;
    };
};

/** A new, empty engine with the default configuration. Yours to berth_engine_free. */
MUST_CHECK struct berth_engine *berth_engine_new(struct err *err);
void berth_engine_free(struct berth_engine *engine);

/**
 * Adds a plugin, which configurations applied from now on may name. Its name, version and hash
 * are part of the digest of every cycle that it takes part in.
 *
 * Returns  0; -EINVAL: another ABI version, no name, or the name of a plugin that is there
 */
MUST_CHECK int berth_engine_add_plugin(struct berth_engine *engine,
                                       const struct berth_plugin_file *file, struct err *err);

/**
 * Applies deltas. Applying one twice changes nothing; order matters only between deltas of one
 * object. One that refers to what is not there is kept and joined when that comes.
 *
 * Returns  0; -EINVAL or -ERANGE for a delta that no engine could hold (no key, an amount
 *          beyond QUANTITY_MAX, a configuration that names what does not exist), the text
 *          naming the object and member. Those before it were applied, it and those
 *          behind it were not
 */
MUST_CHECK int berth_engine_apply(struct berth_engine *engine, const struct berth_delta *deltas,
                                  size_t n, struct err *err);

/* --- Out ---------------------------------------------------------------------------------- */

enum berth_group_kind {
    BERTH_GROUP_BIND,    /* parts: all of them, or none */
    BERTH_GROUP_EVICT,   /* parts are evicted; parts of `reserve` are reserved or bound for them */
    BERTH_GROUP_RESERVE, /* without evictions: room on machines on their way */
    BERTH_GROUP_RELEASE, /* the reservation `name` ends, with `code` */
    BERTH_GROUP_ORDER, /* a machine: name is the key, pool, shape; may come with parts to reserve */
    BERTH_GROUP_ADMIT,
    BERTH_GROUP_UNADMIT,
    BERTH_GROUP_FAIL, /* the job (or the tasks of parts) fails with code and resource */
    BERTH_GROUP_MEMO, /* name, data */
    BERTH_GROUP_KIND_COUNT
};
extern const char *const berth_group_kind_words[BERTH_GROUP_KIND_COUNT];

enum berth_part_kind { BERTH_PART_BIND, BERTH_PART_EVICT, BERTH_PART_RESERVE };

/* One task of a group. */
struct berth_part {
    enum berth_part_kind kind;
    struct berth_task_ref task; /* bind: attempt is the number to make; evict: the one to end */
    uint64_t version;           /* evict: of the attempt */
    const char *node;
    uint64_t facts, generation; /* of the node, as decided on */
    struct berth_amounts holds; /* bind, reserve: what it takes; evict: what it frees */
    const struct berth_share *shares;
    size_t n_shares;
    struct berth_numbers cores;
    const uint16_t *host_ports;
    size_t n_host_ports;
    const char *reservation;            /* bind: the one it uses, or NULL */
    double score;                       /* bind: the node's */
    const struct berth_task_ref *waits; /* reserve: the attempts whose end it waits for */
    size_t n_waits;
};

/* A reservation whose room goes to who could have preempted its owner: it ends with the group. */
struct berth_take {
    const char *reservation, *owner;
    uint64_t seq; /* its rank as decided on: another one of that key is not meant */
};

/* A decision, to be accepted or refused whole. */
struct berth_group {
    enum berth_group_kind kind;
    const char *action; /* that made it: allocate, preempt, ... */
    const char *job;    /* bind, admit, fail; of an evict: for whom; NULL where there is none */
    uint64_t job_version;
    const struct berth_part *parts;
    size_t n_parts;
    const struct berth_take *takes; /* bind, evict, reserve: what others held */
    size_t n_takes;
    enum wait_code code;        /* fail, unadmit, release */
    const char *reason;         /* evict: preempt, reclaim, shuffle, drain; and where it takes */
    const char *resource;       /* fail: which, or NULL */
    const char *name;           /* release, order, memo, and the reservation that is made: it takes
                                 * the place of one of that name, and holds on what that held besides */
    const char *pool;           /* order */
    struct berth_amounts shape; /* order */
    int64_t until_ms;           /* reserve */
    const void *data;           /* memo */
    size_t size;
};

/* How many nodes count under a code, and the numbers of the one that came nearest. */
struct berth_node_count {
    enum wait_code code;
    const char *resource; /* that is short, or NULL */
    uint32_t n;
};

/* Why a class of tasks waits. The counts add up to the number of nodes, or there are none. */
struct berth_reason {
    enum wait_code code;
    const char *resource;    /* what is short, or NULL */
    int64_t asked;           /* of that resource, by one task (or the gang, the queue's job) */
    int64_t free;            /* the most that any one node (the queue, the cluster) has free */
    int64_t limit;           /* the most that any could ever give: the largest node, the cap */
    const char *node;        /* where `free` is, or NULL */
    const char *blocker;     /* who holds the rest: a job, queue or reservation; NULL */
    int64_t until_ms;        /* when time alone ends it; 0 */
    uint32_t placed, needed; /* gang: members with a place, members needed */
    uint32_t promised;       /* of those with a place, on room that is being freed */
    const char *stuck_group; /* gang: the group whose member found no node; NULL */
    const char *wants;       /* what was asked of the node, where that is no amount: disk=nvme */
    const char *has;         /* what `node` has instead; NULL: nothing */
    const struct berth_node_count *counts;
    size_t n_counts;
};

/* The verdict on the waiting tasks of a group. */
struct berth_verdict {
    const char *job, *group;           /* group NULL: all of the job's */
    uint32_t n_tasks;                  /* how many of it wait */
    const struct berth_reason *reason; /* may be shared by many verdicts */
};

struct berth_counts {
    uint64_t jobs, tasks_waiting, tasks_placed, tasks_evicted, tasks_reserved, steps;
    uint64_t rooms_taken; /* reservations */
};

/* Everything that hangs here lives until berth_decisions_free. */
struct berth_decisions {
    const struct berth_group *groups; /* in the order of the decisions */
    size_t n_groups;
    const struct berth_verdict
        *verdicts; /* every waiting task is in one, by job seq; is_brief: fewer */
    size_t n_verdicts;
    const struct berth_part *promised; /* tasks that this cycle promised room that is being */
    size_t n_promised;                 /* freed, decided on or not; by job seq */
    int64_t wake_at_ms;                /* when time alone could change the answer; BERTH_NEVER */
    struct berth_counts counts;
    bool limited; /* a limit ended it before all was looked at: ask again */
    char digest[33];
    struct arena *arena;
};

void berth_decisions_free(struct berth_decisions *out);

struct berth_cycle_in {
    uint64_t revision;
    int64_t now_ms;
    uint64_t seed;
    uint64_t max_tasks; /* to place; 0: no limit */
    uint64_t max_steps; /* of work; 0: no limit */
    bool skip_digest;   /* where nobody keeps it: it costs a text of all that wait */
    /* Verdicts only of what was looked at: of jobs alike, the first. A list of all costs as many as
     * wait; all else is the same. */
    bool is_brief;
    /* For tests: nothing that was kept is believed, and each job has a turn of its own. It decides
     * the same. Of jobs alike, who are else told together why they wait, each is told how it was at
     * its own turn; and as more is looked at, wake_at_ms may be sooner. */
    bool is_cold;
};

/**
 * Decides. Opens a session, runs the actions, and takes all of it back: when it returns the
 * model is what was applied.
 *
 * @out     zeroed, or one that was freed; filled, yours to berth_decisions_free
 * Returns  0; an error only for a configuration that cannot run
 */
MUST_CHECK int berth_engine_cycle(struct berth_engine *engine, const struct berth_cycle_in *in,
                                  struct berth_decisions *out, struct err *err);

/* --- What if ------------------------------------------------------------------------------ */

/** Applies deltas under a mark, which nests. Errors as berth_engine_apply; then nothing holds. */
MUST_CHECK int berth_engine_suppose(struct berth_engine *engine, const struct berth_delta *deltas,
                                    size_t n, struct err *err);
/** Takes back what was last supposed. */
void berth_engine_forget(struct berth_engine *engine);

/** Whether jobs may have to wait for their admission: they state least resources, an action admits
 * and a plugin votes on it, as it is configured now; or, serverless, a namespace has a quota. */
bool berth_engine_asks_admission(const struct berth_engine *engine);
/** Whether nobody sees to it that a job starts with its minimum, as it is configured now: in mode
 * `reference` that is plugin `gang`'s word. */
bool berth_engine_starts_parts(const struct berth_engine *engine);

/** Whether what is configured now heeds the quotas of namespaces at all. */
bool berth_engine_holds_quotas(const struct berth_engine *engine);
/** Whether no task is bound that would take its namespace above a quota, as it is configured now;
 * else quotas are held against what is let in, or not at all. */
bool berth_engine_binds_by_quotas(const struct berth_engine *engine);
/** What a task holds of memory, in thousandths of what it asks, as it is configured now: 1000 or more. */
int64_t berth_engine_memory_headroom(const struct berth_engine *engine);

/** Is given the deltas that build the engine anew; below 0 ends the export with it. */
typedef int berth_sink_fn(const struct berth_delta *delta, void *arg);
/** Exports in key order within each kind, kinds in the order of enum berth_kind. */
int berth_engine_export(const struct berth_engine *engine, berth_sink_fn *sink, void *arg);
/** Adds a delta's canonical text; for comparing exports. */
void berth_delta_write(const struct berth_delta *delta, struct str *out);

#include "berth/questions.h"

#endif

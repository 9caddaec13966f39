/*
 * Setup: a configuration, checked and worked out: profile, actions, the plugins' hooks in the
 * order of their tiers, and the policy.
 */
#ifndef ENGINE_SETUP_H
#define ENGINE_SETUP_H

#include "base/arena.h"
#include "base/vec.h"
#include "berth/engine.h"
#include "engine/framework.h"

struct outsiders;

enum policy_mode { MODE_BATCH, MODE_SERVERLESS, MODE_REFERENCE };
enum policy_victims { VICTIMS_EVERY_TIER, VICTIMS_FIRST_TIER };
enum policy_victim_unit { UNIT_SPARE_OR_WHOLE, UNIT_TASK };
enum policy_reclaim { RECLAIM_WITHIN_SHARE, RECLAIM_BY_PLUGINS };
enum policy_victim_set { VICTIM_SET_MINIMAL, VICTIM_SET_GREEDY };
enum policy_evict { EVICT_ONLY_IF_PLACED, EVICT_BY_SUM };
enum policy_preempt_for { PREEMPT_FOR_MINIMUM, PREEMPT_FOR_ALL };
enum policy_reservations { RESERVATIONS_DURABLE, RESERVATIONS_NONE };
enum policy_search { SEARCH_EXACT, SEARCH_SAMPLE };
enum policy_tie { TIE_ID, TIE_RANK, TIE_HASH, TIE_SPREAD, TIE_PACK };
enum policy_enqueue { ENQUEUE_BOUNDED, ENQUEUE_REFERENCE };
enum policy_capacity { CAPACITY_USABLE, CAPACITY_ALL };
enum policy_job_tie { JOB_TIE_SEQ, JOB_TIE_CREATED };
enum policy_any_gpu { ANY_GPU_CATALOGUE, ANY_GPU_POOL };
enum policy_gpu_models { GPU_MODELS_ORDER, GPU_MODELS_SET };
enum policy_deciders { DECIDERS_ONE, DECIDERS_MANY };

struct policy {
    int mode, victims, victim_unit, reclaim, victim_set, evict, preempt_for, reservations, search,
        tie;
    int enqueue, capacity, job_tie, any_gpu, gpu_models, deciders;
    int commit, wake; /* of one word each: said so that nobody has to ask */
    bool failover;
    int64_t min_runtime_ms, protect_after_ms, reservation_ttl_ms, inqueue_timeout_ms,
        gang_timeout_ms;
    int64_t heartbeat_timeout_ms, boot_time_ms;
    int64_t aging_step_ms, aging_max; /* step 0: no aging */
    int64_t gang_search_steps, provision_attempts;
    int64_t memory_milli;
    bool has_default_quota;
    int64_t default_cpu, default_gpu; /* -1: no limit */
};

struct faults;
struct setup {
    struct arena arena;
    struct berth_config *kept; /* as it was given; NULL: the default */
    const struct outsiders *others;
    const char *profile;
    const struct action *const *actions;
    const struct berth_value *const *action_arguments; /* of each action, or NULL */
    size_t n_actions;
    struct plugin_use *uses; /* in the order of the tiers */
    size_t n_uses, n_tiers;
    struct hooked hooked[HOOKED_COUNT];
    struct policy policy;
    bool admits; /* action enqueue is among those that are run */
    bool
        takes_back; /* queues take back what others hold beyond their shares, not by the reference's laws */
    enum berth_shard_mode shard_mode;
    bool is_reference; /* mode: the quirks of the batch scheduler that is compared with */
    bool is_beam;      /* mode: serverless, one job at a time goes the whole way */
};

/* The built-in profiles, made by the build out of share/berth/profiles/. */
extern const struct berth_config profiles[];
extern const size_t n_profiles;

/**
 * Works a configuration out (NULL: the default), which may name `others` too. Errors as
 * berth_config_check.
 */
MUST_CHECK int setup_new(const struct berth_config *config, const struct outsiders *others,
                         struct setup **out, struct err *err);
/** The same; on -EINVAL `faults` was told all that is wrong. */
MUST_CHECK int setup_new_told(const struct berth_config *config, const struct outsiders *others,
                              struct setup **out, struct faults *faults);
void setup_free(struct setup *setup);
/** Whether a plugin is in use. */
bool setup_has_plugin(const struct setup *setup, const char *name);
/** Whether an action is among those that are run. */
bool setup_has_action(const struct setup *setup, const char *name);

/** Applies the members of a policy object on top of what policy holds. */
MUST_CHECK int policy_read(const struct berth_value *object, struct policy *policy,
                           struct err *err);

#endif

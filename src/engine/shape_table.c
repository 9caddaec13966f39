/* The tables of members: see shape.h. In the order of berth/engine.h. */
#include "engine/shape.h"

#define ROW(type, member, kind, use)                                                               \
    {                                                                                              \
#member, kind, offsetof(struct type, member), 0, use, NULL                                 \
    }
#define SUB(type, member, kind, use, shape)                                                        \
    {                                                                                              \
#member, kind, offsetof(struct type, member), 0, use, &shape                               \
    }
#define MANY(type, member, count, kind, use, shape)                                                \
    {                                                                                              \
#member, kind, offsetof(struct type, member), offsetof(struct type, count), use, shape     \
    }
#define SHAPE(name, type, members)                                                                 \
    {                                                                                              \
        name, sizeof(struct type), members, COUNT_OF(members)                                      \
    }

static const struct shape shape_value; /* its members are values too */
static const struct member value_members[] = {
    ROW(berth_value, key, M_TEXT, 0),
    ROW(berth_value, kind, M_INT, 0),
    ROW(berth_value, truth, M_BOOL, 0),
    ROW(berth_value, number, M_I64, 0),
    ROW(berth_value, real, M_DOUBLE, 0),
    ROW(berth_value, text, M_TEXT, 0),
    MANY(berth_value, members, n_members, M_LIST, 0, &shape_value),
};
static const struct shape shape_value = SHAPE("value", berth_value, value_members);

static const struct member taint_members[] = {
    ROW(berth_taint, key, M_TEXT, USE_CLASS),
    ROW(berth_taint, value, M_TEXT, USE_CLASS),
    ROW(berth_taint, effect, M_INT, USE_CLASS),
};
static const struct shape shape_taint = SHAPE("taint", berth_taint, taint_members);

static const struct member toleration_members[] = {
    ROW(berth_toleration, key, M_TEXT, USE_CLASS),
    ROW(berth_toleration, value, M_TEXT, USE_CLASS),
    ROW(berth_toleration, exists, M_BOOL, USE_CLASS),
    ROW(berth_toleration, all_effects, M_BOOL, USE_CLASS),
    ROW(berth_toleration, effect, M_INT, USE_CLASS),
};
static const struct shape shape_toleration =
    SHAPE("toleration", berth_toleration, toleration_members);

static const struct member match_members[] = {
    ROW(berth_match, key, M_TEXT, USE_CLASS),
    ROW(berth_match, op, M_INT, USE_CLASS),
    ROW(berth_match, values, M_WORDS, USE_CLASS),
};
static const struct shape shape_match = SHAPE("match", berth_match, match_members);

static const struct member selector_members[] = {
    ROW(berth_selector, labels, M_LABELS, USE_CLASS),
    MANY(berth_selector, matches, n_matches, M_LIST, USE_CLASS, &shape_match),
};
static const struct shape shape_selector = SHAPE("selector", berth_selector, selector_members);

static const struct member node_term_members[] = {
    SUB(berth_node_term, selector, M_STRUCT, USE_CLASS, shape_selector),
    ROW(berth_node_term, weight, M_INT, USE_CLASS),
};
static const struct shape shape_node_term = SHAPE("node_term", berth_node_term, node_term_members);

static const struct member pod_term_members[] = {
    SUB(berth_pod_term, selector, M_STRUCT, USE_CLASS, shape_selector),
    ROW(berth_pod_term, namespaces, M_WORDS, USE_CLASS),
    ROW(berth_pod_term, topology_key, M_TEXT, USE_CLASS),
    ROW(berth_pod_term, weight, M_INT, USE_CLASS),
};
static const struct shape shape_pod_term = SHAPE("pod_term", berth_pod_term, pod_term_members);

static const struct member affinity_members[] = {
    MANY(berth_affinity, node_required, n_node_required, M_LIST, USE_CLASS, &shape_node_term),
    MANY(berth_affinity, node_preferred, n_node_preferred, M_LIST, USE_CLASS, &shape_node_term),
    MANY(berth_affinity, pod_required, n_pod_required, M_LIST, USE_CLASS, &shape_pod_term),
    MANY(berth_affinity, pod_preferred, n_pod_preferred, M_LIST, USE_CLASS, &shape_pod_term),
    MANY(berth_affinity, anti_required, n_anti_required, M_LIST, USE_CLASS, &shape_pod_term),
    MANY(berth_affinity, anti_preferred, n_anti_preferred, M_LIST, USE_CLASS, &shape_pod_term),
    MANY(berth_affinity, spread, n_spread, M_LIST, USE_CLASS, &shape_pod_term),
    MANY(berth_affinity, spread_preferred, n_spread_preferred, M_LIST, USE_CLASS, &shape_pod_term),
};
static const struct shape shape_affinity = SHAPE("affinity", berth_affinity, affinity_members);

static const struct member topology_members[] = {
    ROW(berth_topology, mode, M_INT, 0),
    ROW(berth_topology, has_tier, M_BOOL, 0),
    ROW(berth_topology, highest_tier, M_INT, 0),
    ROW(berth_topology, tier_name, M_TEXT, 0),
};
static const struct shape shape_topology = SHAPE("topology", berth_topology, topology_members);

static const struct member group_limit_members[] = {
    ROW(berth_group_limit, node_group, M_TEXT, 0),
    ROW(berth_group_limit, limit, M_AMOUNTS, 0),
};
static const struct shape shape_group_limit =
    SHAPE("group_limit", berth_group_limit, group_limit_members);

static const struct member queue_members[] = {
    ROW(berth_queue, name, M_TEXT, USE_KEY),
    ROW(berth_queue, seq, M_U64, 0),
    ROW(berth_queue, parent, M_TEXT, 0),
    ROW(berth_queue, weight, M_INT, 0),
    ROW(berth_queue, priority, M_INT, 0),
    ROW(berth_queue, capability, M_AMOUNTS, 0),
    ROW(berth_queue, deserved, M_AMOUNTS, 0),
    ROW(berth_queue, guarantee, M_AMOUNTS, 0),
    ROW(berth_queue, has_deserved, M_BOOL, 0),
    ROW(berth_queue, not_reclaimable, M_BOOL, 0),
    ROW(berth_queue, state, M_INT, 0),
    ROW(berth_queue, min_runtime_ms, M_I64, 0),
    ROW(berth_queue, hierarchy, M_TEXT, 0),
    ROW(berth_queue, hierarchy_weights, M_TEXT, 0),
    ROW(berth_queue, group_required, M_WORDS, 0),
    ROW(berth_queue, group_preferred, M_WORDS, 0),
    ROW(berth_queue, group_anti_required, M_WORDS, 0),
    ROW(berth_queue, group_anti_preferred, M_WORDS, 0),
    MANY(berth_queue, group_limits, n_group_limits, M_LIST, 0, &shape_group_limit),
    ROW(berth_queue, created_at_ms, M_I64, 0),
    ROW(berth_queue, never_preempts, M_BOOL, 0),
};
static const struct shape shape_queue = SHAPE("queue", berth_queue, queue_members);

static const struct member node_members[] = {
    ROW(berth_node, id, M_TEXT, USE_KEY),
    ROW(berth_node, seq, M_U64, 0),
    ROW(berth_node, state, M_INT, USE_CLASS),
    ROW(berth_node, cordoned, M_BOOL, USE_CLASS),
    ROW(berth_node, draining, M_BOOL, USE_CLASS),
    ROW(berth_node, generation, M_U64, 0),
    ROW(berth_node, facts, M_U64, 0),
    ROW(berth_node, pool, M_TEXT, USE_CLASS),
    ROW(berth_node, labels, M_LABELS, USE_CLASS),
    MANY(berth_node, taints, n_taints, M_LIST, USE_CLASS, &shape_taint),
    ROW(berth_node, capabilities, M_WORDS, USE_CLASS),
    ROW(berth_node, image_folders, M_WORDS, USE_CLASS),
    ROW(berth_node, offers, M_AMOUNTS, 0),
    ROW(berth_node, device_classes, M_AMOUNTS, 0),
    ROW(berth_node, weight, M_INT, 0),
    ROW(berth_node, gpu_model, M_TEXT, USE_CLASS),
    ROW(berth_node, owner, M_TEXT, USE_CLASS),
    ROW(berth_node, managed, M_BOOL, USE_CLASS),
    ROW(berth_node, runtime, M_TEXT, USE_CLASS),
    ROW(berth_node, rented, M_AMOUNTS, 0),
    ROW(berth_node, node_group, M_TEXT, USE_CLASS),
    ROW(berth_node, revocable_zone, M_TEXT, USE_CLASS),
    ROW(berth_node, volumes, M_WORDS, USE_CLASS),
    ROW(berth_node, cores, M_NUMBERS, 0),
    ROW(berth_node, heard_at_ms, M_I64, 0),
    ROW(berth_node, order, M_TEXT, 0),
};
static const struct shape shape_node = SHAPE("node", berth_node, node_members);

static const struct member device_members[] = {
    ROW(berth_device, node, M_TEXT, USE_KEY), ROW(berth_device, class_name, M_TEXT, USE_KEY),
    ROW(berth_device, uuid, M_TEXT, USE_KEY), ROW(berth_device, index, M_U32, 0),
    ROW(berth_device, model, M_TEXT, 0),      ROW(berth_device, memory, M_I64, 0),
    ROW(berth_device, unhealthy, M_BOOL, 0),  ROW(berth_device, quarantined, M_BOOL, 0),
};
static const struct shape shape_device = SHAPE("device", berth_device, device_members);

static const struct member checkpoint_members[] = {
    ROW(berth_checkpoint, available, M_BOOL, USE_CLASS),
    ROW(berth_checkpoint, filesystem_only, M_BOOL, USE_CLASS),
    ROW(berth_checkpoint, runtime, M_TEXT, USE_CLASS),
    ROW(berth_checkpoint, gpu_model, M_TEXT, USE_CLASS),
};
static const struct shape shape_checkpoint =
    SHAPE("checkpoint", berth_checkpoint, checkpoint_members);

static const struct member task_group_members[] = {
    ROW(berth_task_group, name, M_TEXT, 0),
    ROW(berth_task_group, role, M_TEXT, 0),
    ROW(berth_task_group, replicas, M_U32, 0),
    ROW(berth_task_group, asks, M_AMOUNTS, USE_CLASS),
    ROW(berth_task_group, requires_, M_AMOUNTS, USE_CLASS),
    ROW(berth_task_group, priority, M_INT, 0),
    ROW(berth_task_group, created_at_ms, M_I64, 0),
    ROW(berth_task_group, labels, M_LABELS, USE_CLASS),
    ROW(berth_task_group, node_selector, M_LABELS, USE_CLASS),
    ROW(berth_task_group, preferred_labels, M_LABELS, USE_CLASS),
    MANY(berth_task_group, tolerations, n_tolerations, M_LIST, USE_CLASS, &shape_toleration),
    SUB(berth_task_group, affinity, M_POINTER, USE_CLASS, shape_affinity),
    ROW(berth_task_group, not_preemptable, M_BOOL, USE_CLASS),
    ROW(berth_task_group, never_preempts, M_BOOL, USE_CLASS),
    ROW(berth_task_group, whole_cores, M_BOOL, USE_CLASS),
    ROW(berth_task_group, capability, M_TEXT, USE_CLASS),
    ROW(berth_task_group, image, M_TEXT, USE_CLASS),
    ROW(berth_task_group, pinned_to, M_TEXT, USE_CLASS),
    ROW(berth_task_group, gpu_models, M_WORDS, USE_CLASS),
    ROW(berth_task_group, gpu_memory, M_I64, USE_CLASS),
    ROW(berth_task_group, revocable_zone, M_TEXT, USE_CLASS),
    MANY(berth_task_group, host_ports, n_host_ports, M_PORTS, USE_CLASS, NULL),
    ROW(berth_task_group, volumes, M_WORDS, USE_CLASS),
    ROW(berth_task_group, claims, M_WORDS, USE_CLASS),
    ROW(berth_task_group, priority_class, M_TEXT, 0),
    ROW(berth_task_group, pool_selector, M_TEXT, USE_CLASS),
    ROW(berth_task_group, allow_preemptible, M_BOOL, USE_CLASS),
    ROW(berth_task_group, allow_marketplace, M_BOOL, USE_CLASS),
    ROW(berth_task_group, storage, M_BOOL, USE_CLASS),
    ROW(berth_task_group, durable_disk, M_BOOL, USE_CLASS),
    ROW(berth_task_group, docker, M_BOOL, USE_CLASS),
    ROW(berth_task_group, host_mounts, M_WORDS, USE_CLASS),
    ROW(berth_task_group, provision_attempts, M_U32, 0),
    SUB(berth_task_group, checkpoint, M_POINTER, USE_CLASS, shape_checkpoint),
};
const struct shape shape_task_group = SHAPE("task_group", berth_task_group, task_group_members);

static const struct member sub_group_members[] = {
    ROW(berth_sub_group, name, M_TEXT, 0),
    ROW(berth_sub_group, match_label_keys, M_WORDS, 0),
    ROW(berth_sub_group, size, M_U32, 0),
    ROW(berth_sub_group, min_jobs, M_U32, 0),
    SUB(berth_sub_group, topology, M_STRUCT, 0, shape_topology),
    ROW(berth_sub_group, match_labels, M_LABELS, 0),
};
static const struct shape shape_sub_group = SHAPE("sub_group", berth_sub_group, sub_group_members);

static const struct member minimum_members[] = {
    ROW(berth_minimum, role, M_TEXT, 0),
    ROW(berth_minimum, n, M_U32, 0),
};
static const struct shape shape_minimum = SHAPE("minimum", berth_minimum, minimum_members);

static const struct member budget_members[] = {
    ROW(berth_budget, is_given, M_BOOL, 0),
    ROW(berth_budget, is_max_unavailable, M_BOOL, 0),
    ROW(berth_budget, is_percent, M_BOOL, 0),
    ROW(berth_budget, value, M_U32, 0),
};
static const struct shape shape_budget = SHAPE("budget", berth_budget, budget_members);

static const struct member job_members[] = {
    ROW(berth_job, id, M_TEXT, USE_KEY),
    ROW(berth_job, seq, M_U64, 0),
    ROW(berth_job, name, M_TEXT, 0),
    ROW(berth_job, namespace_, M_TEXT, 0),
    ROW(berth_job, queue, M_TEXT, 0),
    ROW(berth_job, version, M_U64, 0),
    ROW(berth_job, priority, M_INT, 0),
    ROW(berth_job, priority_class, M_TEXT, 0),
    ROW(berth_job, min_available, M_U32, 0),
    ROW(berth_job, has_min_available, M_BOOL, 0),
    MANY(berth_job, minima, n_minima, M_LIST, 0, &shape_minimum),
    ROW(berth_job, min_resources, M_AMOUNTS, 0),
    ROW(berth_job, has_min_resources, M_BOOL, 0),
    ROW(berth_job, phase, M_INT, 0),
    ROW(berth_job, admitted_at_ms, M_I64, 0),
    ROW(berth_job, withheld, M_INT, 0),
    ROW(berth_job, not_before_ms, M_I64, 0),
    ROW(berth_job, stopping, M_BOOL, 0),
    ROW(berth_job, created_at_ms, M_I64, 0),
    ROW(berth_job, limit_ms, M_I64, 0),
    ROW(berth_job, deadline_at_ms, M_I64, 0),
    ROW(berth_job, sla_wait_ms, M_I64, 0),
    ROW(berth_job, preemptable, M_INT, 0),
    ROW(berth_job, revocable_zone, M_TEXT, 0),
    SUB(berth_job, budget, M_STRUCT, 0, shape_budget),
    SUB(berth_job, topology, M_STRUCT, 0, shape_topology),
    MANY(berth_job, sub_groups, n_sub_groups, M_LIST, 0, &shape_sub_group),
    MANY(berth_job, groups, n_groups, M_LIST, 0, &shape_task_group),
};
static const struct shape shape_job = SHAPE("job", berth_job, job_members);

static const struct member share_members[] = {
    ROW(berth_share, class_name, M_TEXT, 0),
    ROW(berth_share, uuid, M_TEXT, 0),
    ROW(berth_share, index, M_U32, 0),
    ROW(berth_share, milli, M_I64, 0),
};
static const struct shape shape_share = SHAPE("share", berth_share, share_members);

static const struct member task_members[] = {
    ROW(berth_task, job, M_TEXT, USE_KEY),
    ROW(berth_task, group, M_TEXT, USE_KEY),
    ROW(berth_task, index, M_U32, USE_KEY),
    ROW(berth_task, state, M_INT, 0),
    ROW(berth_task, attempt, M_U32, 0),
    ROW(berth_task, version, M_U64, 0),
    ROW(berth_task, node, M_TEXT, 0),
    ROW(berth_task, holds, M_AMOUNTS, 0),
    MANY(berth_task, shares, n_shares, M_LIST, 0, &shape_share),
    ROW(berth_task, cores, M_NUMBERS, 0),
    ROW(berth_task, started_at_ms, M_I64, 0),
    ROW(berth_task, checkpoint_at_ms, M_I64, 0),
    ROW(berth_task, limit_at_ms, M_I64, 0),
    ROW(berth_task, not_before_ms, M_I64, 0),
    ROW(berth_task, tries, M_U32, 0),
    ROW(berth_task, evictions, M_U32, 0),
    ROW(berth_task, comes_back, M_BOOL, 0),
};
static const struct shape shape_task = SHAPE("task", berth_task, task_members);

static const struct member task_ref_members[] = {
    ROW(berth_task_ref, job, M_TEXT, 0),
    ROW(berth_task_ref, group, M_TEXT, 0),
    ROW(berth_task_ref, index, M_U32, 0),
    ROW(berth_task_ref, attempt, M_U32, 0),
};
static const struct shape shape_task_ref = SHAPE("task_ref", berth_task_ref, task_ref_members);

static const struct member reservation_part_members[] = {
    SUB(berth_reservation_part, task, M_STRUCT, 0, shape_task_ref),
    ROW(berth_reservation_part, node, M_TEXT, 0),
    ROW(berth_reservation_part, holds, M_AMOUNTS, 0),
    MANY(berth_reservation_part, shares, n_shares, M_LIST, 0, &shape_share),
    MANY(berth_reservation_part, waits, n_waits, M_LIST, 0, &shape_task_ref),
};
static const struct shape shape_reservation_part =
    SHAPE("reservation_part", berth_reservation_part, reservation_part_members);

static const struct member reservation_members[] = {
    ROW(berth_reservation, id, M_TEXT, USE_KEY),
    ROW(berth_reservation, seq, M_U64, 0),
    ROW(berth_reservation, owner, M_TEXT, 0),
    ROW(berth_reservation, purpose, M_INT, 0),
    ROW(berth_reservation, until_ms, M_I64, 0),
    ROW(berth_reservation, made_at_ms, M_I64, 0),
    MANY(berth_reservation, parts, n_parts, M_LIST, 0, &shape_reservation_part),
};
static const struct shape shape_reservation =
    SHAPE("reservation", berth_reservation, reservation_members);

static const struct member order_members[] = {
    ROW(berth_order, key, M_TEXT, USE_KEY), ROW(berth_order, seq, M_U64, 0),
    ROW(berth_order, pool, M_TEXT, 0),      ROW(berth_order, shape, M_AMOUNTS, 0),
    ROW(berth_order, state, M_INT, 0),      ROW(berth_order, made_at_ms, M_I64, 0),
};
static const struct shape shape_order = SHAPE("order", berth_order, order_members);

static const struct member domain_members[] = {
    ROW(berth_domain, name, M_TEXT, USE_KEY), ROW(berth_domain, seq, M_U64, 0),
    ROW(berth_domain, tier, M_INT, 0),        ROW(berth_domain, tier_name, M_TEXT, 0),
    ROW(berth_domain, nodes, M_WORDS, 0),     ROW(berth_domain, children, M_WORDS, 0),
};
static const struct shape shape_domain = SHAPE("domain", berth_domain, domain_members);

static const struct member quota_members[] = {
    ROW(berth_quota, name, M_TEXT, USE_KEY),
    ROW(berth_quota, namespace_, M_TEXT, USE_KEY),
    ROW(berth_quota, hard, M_AMOUNTS, 0),
};
static const struct shape shape_quota = SHAPE("quota", berth_quota, quota_members);

static const struct member claim_members[] = {
    ROW(berth_claim, name, M_TEXT, USE_KEY),
    ROW(berth_claim, namespace_, M_TEXT, USE_KEY),
    ROW(berth_claim, device_class, M_TEXT, 0),
    ROW(berth_claim, count, M_I64, 0),
};
static const struct shape shape_claim = SHAPE("claim", berth_claim, claim_members);

static const struct member priority_class_members[] = {
    ROW(berth_priority_class, name, M_TEXT, USE_KEY),
    ROW(berth_priority_class, value, M_INT, 0),
    ROW(berth_priority_class, is_default, M_BOOL, 0),
};
static const struct shape shape_priority_class =
    SHAPE("priority_class", berth_priority_class, priority_class_members);

static const struct member pool_members[] = {
    ROW(berth_pool, name, M_TEXT, USE_KEY),       ROW(berth_pool, seq, M_U64, 0),
    ROW(berth_pool, priority, M_INT, 0),          ROW(berth_pool, gpu_model, M_TEXT, 0),
    ROW(berth_pool, preemptible, M_BOOL, 0),      ROW(berth_pool, requires_selector, M_BOOL, 0),
    ROW(berth_pool, requires_storage, M_BOOL, 0), ROW(berth_pool, is_private, M_BOOL, 0),
    ROW(berth_pool, marketplace, M_BOOL, 0),      ROW(berth_pool, provisions, M_BOOL, 0),
    ROW(berth_pool, machine, M_AMOUNTS, 0),       ROW(berth_pool, has_machine, M_BOOL, 0),
    ROW(berth_pool, max_machines, M_U32, 0),      ROW(berth_pool, backoff_until_ms, M_I64, 0),
    ROW(berth_pool, min_free, M_AMOUNTS, 0),      ROW(berth_pool, runtime, M_TEXT, 0),
};
static const struct shape shape_pool = SHAPE("pool", berth_pool, pool_members);

static const struct member chain_members[] = {
    ROW(berth_chain, model, M_TEXT, USE_KEY),
    ROW(berth_chain, pools, M_WORDS, 0),
};
static const struct shape shape_chain = SHAPE("chain", berth_chain, chain_members);

static const struct member measure_members[] = {
    ROW(berth_measure, node, M_TEXT, USE_KEY),
    ROW(berth_measure, cpu_percent, M_DOUBLE, 0),
    ROW(berth_measure, memory_percent, M_DOUBLE, 0),
    ROW(berth_measure, measured_at_ms, M_I64, 0),
};
static const struct shape shape_measure = SHAPE("measure", berth_measure, measure_members);

static const struct member memo_members[] = {
    ROW(berth_memo, name, M_TEXT, USE_KEY),
    MANY(berth_memo, data, size, M_BYTES, 0, NULL),
};
static const struct shape shape_memo = SHAPE("memo", berth_memo, memo_members);

static const struct member plugin_use_members[] = {
    ROW(berth_plugin_use, name, M_TEXT, 0),
    ROW(berth_plugin_use, has_enabled, M_BOOL, 0),
    ROW(berth_plugin_use, enabled, M_U32, 0),
    SUB(berth_plugin_use, arguments, M_POINTER, 0, shape_value),
};
static const struct shape shape_plugin_use =
    SHAPE("plugin_use", berth_plugin_use, plugin_use_members);

static const struct member tier_members[] = {
    MANY(berth_tier, plugins, n, M_LIST, 0, &shape_plugin_use),
};
static const struct shape shape_tier = SHAPE("tier", berth_tier, tier_members);

static const struct member config_members[] = {
    ROW(berth_config, profile, M_TEXT, 0),
    ROW(berth_config, has_actions, M_BOOL, 0),
    ROW(berth_config, has_tiers, M_BOOL, 0),
    ROW(berth_config, actions, M_WORDS, 0),
    MANY(berth_config, tiers, n_tiers, M_LIST, 0, &shape_tier),
    SUB(berth_config, action_arguments, M_POINTER, 0, shape_value),
    SUB(berth_config, policy, M_POINTER, 0, shape_value),
    ROW(berth_config, shard_mode, M_INT, 0),
    ROW(berth_config, shard_nodes, M_WORDS, 0),
};
static const struct shape shape_config = SHAPE("config", berth_config, config_members);

static const struct member part_members[] = {
    ROW(berth_part, kind, M_INT, 0),
    SUB(berth_part, task, M_STRUCT, 0, shape_task_ref),
    ROW(berth_part, version, M_U64, 0),
    ROW(berth_part, node, M_TEXT, 0),
    ROW(berth_part, facts, M_U64, 0),
    ROW(berth_part, generation, M_U64, 0),
    ROW(berth_part, holds, M_AMOUNTS, 0),
    MANY(berth_part, shares, n_shares, M_LIST, 0, &shape_share),
    ROW(berth_part, cores, M_NUMBERS, 0),
    MANY(berth_part, host_ports, n_host_ports, M_PORTS, 0, NULL),
    ROW(berth_part, reservation, M_TEXT, 0),
    ROW(berth_part, score, M_DOUBLE, 0),
    MANY(berth_part, waits, n_waits, M_LIST, 0, &shape_task_ref),
};
static const struct shape shape_part = SHAPE("part", berth_part, part_members);

static const struct member take_members[] = {
    ROW(berth_take, reservation, M_TEXT, 0),
    ROW(berth_take, owner, M_TEXT, 0),
    ROW(berth_take, seq, M_U64, 0),
};
static const struct shape shape_take = SHAPE("take", berth_take, take_members);

static const struct member group_members[] = {
    ROW(berth_group, kind, M_INT, 0),
    ROW(berth_group, action, M_TEXT, 0),
    ROW(berth_group, job, M_TEXT, 0),
    ROW(berth_group, job_version, M_U64, 0),
    MANY(berth_group, parts, n_parts, M_LIST, 0, &shape_part),
    MANY(berth_group, takes, n_takes, M_LIST, 0, &shape_take),
    ROW(berth_group, code, M_INT, 0),
    ROW(berth_group, reason, M_TEXT, 0),
    ROW(berth_group, resource, M_TEXT, 0),
    ROW(berth_group, name, M_TEXT, 0),
    ROW(berth_group, pool, M_TEXT, 0),
    ROW(berth_group, shape, M_AMOUNTS, 0),
    ROW(berth_group, until_ms, M_I64, 0),
    MANY(berth_group, data, size, M_BYTES, 0, NULL),
};
const struct shape shape_group = SHAPE("group", berth_group, group_members);

static const struct member node_count_members[] = {
    ROW(berth_node_count, code, M_INT, 0),
    ROW(berth_node_count, resource, M_TEXT, 0),
    ROW(berth_node_count, n, M_U32, 0),
};
static const struct shape shape_node_count =
    SHAPE("node_count", berth_node_count, node_count_members);

static const struct member reason_members[] = {
    ROW(berth_reason, code, M_INT, 0),
    ROW(berth_reason, resource, M_TEXT, 0),
    ROW(berth_reason, asked, M_I64, 0),
    ROW(berth_reason, free, M_I64, 0),
    ROW(berth_reason, limit, M_I64, 0),
    ROW(berth_reason, node, M_TEXT, 0),
    ROW(berth_reason, blocker, M_TEXT, 0),
    ROW(berth_reason, until_ms, M_I64, 0),
    ROW(berth_reason, placed, M_U32, 0),
    ROW(berth_reason, needed, M_U32, 0),
    ROW(berth_reason, stuck_group, M_TEXT, 0),
    ROW(berth_reason, wants, M_TEXT, 0),
    ROW(berth_reason, has, M_TEXT, 0),
    MANY(berth_reason, counts, n_counts, M_LIST, 0, &shape_node_count),
};
const struct shape shape_reason = SHAPE("reason", berth_reason, reason_members);

static const struct member verdict_members[] = {
    ROW(berth_verdict, job, M_TEXT, 0),
    ROW(berth_verdict, group, M_TEXT, 0),
    ROW(berth_verdict, n_tasks, M_U32, 0),
    SUB(berth_verdict, reason, M_POINTER, 0, shape_reason),
};
const struct shape shape_verdict = SHAPE("verdict", berth_verdict, verdict_members);

const struct shape *const shape_of[BERTH_KIND_COUNT] = {
    [BERTH_CONFIG] = &shape_config,
    [BERTH_QUEUE] = &shape_queue,
    [BERTH_NODE] = &shape_node,
    [BERTH_DEVICE] = &shape_device,
    [BERTH_JOB] = &shape_job,
    [BERTH_TASK] = &shape_task,
    [BERTH_RESERVATION] = &shape_reservation,
    [BERTH_ORDER] = &shape_order,
    [BERTH_DOMAIN] = &shape_domain,
    [BERTH_QUOTA] = &shape_quota,
    [BERTH_CLAIM] = &shape_claim,
    [BERTH_PRIORITY_CLASS] = &shape_priority_class,
    [BERTH_POOL] = &shape_pool,
    [BERTH_CHAIN] = &shape_chain,
    [BERTH_MEASURE] = &shape_measure,
    [BERTH_MEMO] = &shape_memo,
};

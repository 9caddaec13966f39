/*
 * The plugins: one file each in plugins/.
 */
#ifndef ENGINE_PLUGINS_H
#define ENGINE_PLUGINS_H

#include "engine/session.h"
#include "engine/topology.h"

extern const struct plugin plugin_binpack, plugin_capacity, plugin_conformance, plugin_drf,
    plugin_gang, plugin_ledger, plugin_network_topology_aware, plugin_nodegroup, plugin_nodeorder,
    plugin_overcommit, plugin_pools, plugin_predicates, plugin_priority, plugin_proportion,
    plugin_resource_strategy_fit, plugin_resourcequota, plugin_share, plugin_sla, plugin_tdm,
    plugin_usage, plugin_deviceshare, plugin_fragmentation, plugin_pdb, plugin_cdp,
    plugin_rescheduling, plugin_task_topology;

/* Of plugin priority: ranks are priorities and, with aging, what waiting adds to them. */

/** The rank that a job has, or would have, if it waits until then. */
int64_t priority_rank_at(const struct session *s, const struct job *job, int64_t at_ms);
/** The rank at which a job started. */
int64_t priority_start_rank(const struct session *s, const struct job *job);

#endif

/* The plugins by name. */
#include "engine/plugins.h"

#include "base/mem.h"

const struct plugin *const plugins[] = {
    &plugin_binpack,       &plugin_capacity,
    &plugin_cdp,           &plugin_conformance,
    &plugin_deviceshare,   &plugin_drf,
    &plugin_fragmentation, &plugin_gang,
    &plugin_ledger,        &plugin_network_topology_aware,
    &plugin_nodegroup,     &plugin_nodeorder,
    &plugin_overcommit,    &plugin_pdb,
    &plugin_pools,         &plugin_predicates,
    &plugin_priority,      &plugin_proportion,
    &plugin_rescheduling,  &plugin_resource_strategy_fit,
    &plugin_resourcequota, &plugin_share,
    &plugin_sla,           &plugin_task_topology,
    &plugin_tdm,           &plugin_usage,
};
const size_t n_plugins = COUNT_OF(plugins);

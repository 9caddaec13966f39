/* The plugins by name. */
#include "engine/plugins.h"

#include "base/mem.h"

const struct plugin *const plugins[] = {
    &plugin_conformance, &plugin_gang, &plugin_nodeorder, &plugin_predicates, &plugin_priority,
};
const size_t n_plugins = COUNT_OF(plugins);

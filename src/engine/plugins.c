/* The plugins by name. */
#include "engine/plugins.h"

#include "base/mem.h"

const struct plugin *const plugins[] = {
    &plugin_conformance, &plugin_drf,      &plugin_gang,       &plugin_nodeorder,
    &plugin_predicates,  &plugin_priority, &plugin_proportion,
};
const size_t n_plugins = COUNT_OF(plugins);

/*
 * The plugins: one file each in plugins/.
 */
#ifndef ENGINE_PLUGINS_H
#define ENGINE_PLUGINS_H

#include "engine/session.h"
#include "engine/topology.h"

extern const struct plugin plugin_conformance, plugin_drf, plugin_gang, plugin_nodeorder,
    plugin_predicates, plugin_priority, plugin_proportion;

#endif

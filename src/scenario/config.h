/*
 * Configurations: from an object to what an engine takes.
 */
#ifndef SCENARIO_CONFIG_H
#define SCENARIO_CONFIG_H

#include "scenario/take.h"

/* What an engine is made by: a configuration, and plugins that it must be given before. */
struct taken_config {
    struct berth_config config;
    struct berth_plugin_file *plugins; /* in the reader's arena */
    size_t n_plugins;
};

/**
 * Reads what an engine is configured by from an object whose keys were checked, and holds it
 * against what the engine knows. A profile that is a path, and plugins, come from the reader's
 * files.
 */
void config_take(struct reader *r, const struct json_at *at, struct taken_config *taken);

#endif

/*
 * Configurations: from an object to what an engine takes.
 */
#ifndef SCENARIO_CONFIG_H
#define SCENARIO_CONFIG_H

#include "scenario/take.h"

/**
 * Reads what an engine is configured by from an object whose keys were checked, and holds it
 * against what the engine knows.
 */
void config_take(struct reader *r, const struct json_at *at, struct berth_config *out);

#endif

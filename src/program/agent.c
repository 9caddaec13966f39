/*
 * `berth agent`: what the flags say, laid over what the configuration file says, which is the
 * machine's where none is named.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/quantity.h"
#include "base/str.h"
#include "program/agent_config.h"
#include "program/inside.h"
#include "program/program.h"

/* "cpu 1500m, memory 4Gi, pods 110, licence 4" */
static void on_ready(void *arg, const struct agent_ready *ready)
{
    CLEANUP(str_fini) struct str offers = { 0 };

    (void)arg;
    for (size_t i = 0; i < ready->n_offers; i++) {
        const struct agent_offer *offer = &ready->offers[i];

        str_addf(&offers, "%s%s ", i ? ", " : "", offer->resource);
        quantity_format(offer->value, quantity_unit_of(offer->resource), &offers);
    }
    log_info("ready", "node", ready->node, "offers", str_text(&offers), NULL);
}

/* What the machine offers. A test says that it started anew by another boot id. */
static void probe(struct machine *machine)
{
    const char *boot_id = getenv("BERTH_TEST_BOOT_ID");

    runtime_probe(machine);
    if (boot_id)
        snprintf(machine->boot_id, sizeof(machine->boot_id), "%s", boot_id);
}

static int run(const struct agent_options *options, struct err *err)
{
    CLEANUP(agent_closep) struct agent *agent = NULL;
    int r = agent_open(options, &agent, err);

    return r < 0 ? r : agent_run(agent, err);
}

/* The file, and the flags over it; then where the server is. */
static int configure(const struct agent_flags *flags, struct agent_config *config,
                     struct client_settings *settings, struct str *faults, struct err *err)
{
    const char *given[SETTING_COUNT] = { 0 };
    CLEANUP(freep) char *system = flags->config ? NULL : program_system_config("agent.yaml");
    const char *path = flags->config ? flags->config : system;
    int r = path ? agent_config_read(path, config, faults, err) : 0;

    if (r == 0)
        r = agent_config_take_flags(config, flags, err);
    if (r < 0)
        return r;
    if (config->has_log_level || config->has_log_format)
        log_setup(config->has_log_level ? config->log_level : LOG_INFO,
                  config->has_log_format ? config->log_format : LOG_TEXT);
    given[SETTING_ADDR] = config->servers;
    given[SETTING_TOKEN_FILE] = config->token_file;
    return client_settings_find(given, settings, err);
}

/* Hands the configuration on; the options borrow from it. */
static struct agent_options options_of(struct agent_config *config)
{
    struct agent_options options = { .node = config->name,
                                     .version = BERTH_VERSION,
                                     .offers = config->offers.at,
                                     .n_offers = config->offers.n,
                                     .labels = config->labels.at,
                                     .n_labels = config->labels.n,
                                     .taints = config->taints.at,
                                     .n_taints = config->taints.n,
                                     .default_runtime = config->runtime,
                                     .allow_process = !config->forbids_process,
                                     .speed_up_attach = !config->forbids_speed_up,
                                     .takes_signals = true,
                                     .on_ready = on_ready };

    if (config->image_prefixes.n) {
        VEC_PUSH(&config->image_prefixes, NULL);
        options.image_prefixes = config->image_prefixes.at;
    }
    return options;
}

int program_agent(const struct agent_flags *flags)
{
    CLEANUP(agent_config_fini) struct agent_config config = { 0 };
    CLEANUP(client_settings_fini) struct client_settings settings = { 0 };
    CLEANUP(str_fini) struct str faults = { 0 };
    CLEANUP(freep) char *fallback = program_default_data("agent");
    CLEANUP(freep) char *data = NULL;
    CLEANUP(freep) char *monitor = NULL;
    struct agent_options options;
    struct err err = { 0 };
    struct machine machine;

    if (configure(flags, &config, &settings, &faults, &err) < 0 ||
        !(data = program_open_data(config.data ? config.data : fallback, &err)) ||
        !(monitor = program_monitor_path(&err)))
        return program_fail_all(&err, &faults);
    options = options_of(&config);
    options.settings = &settings;
    options.machine = &machine;
    options.data_dir = data;
    options.monitor_path = monitor;
    probe(&machine);
    return run(&options, &err) < 0 ? program_fail(&err) : 0;
}

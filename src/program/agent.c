/*
 * `berth agent`: parse, open, run, close.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/str.h"
#include "program/inside.h"
#include "program/program.h"

static void on_ready(void *arg, const char *node, const struct machine *machine)
{
    (void)arg;
    log_info("registered", "node", node, "cpu", log_int(machine->cpu_milli / 1000), "memory",
             log_int(machine->memory_bytes), NULL);
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

int program_agent(const struct agent_flags *flags)
{
    const char *given[SETTING_COUNT] = {
        [SETTING_ADDR] = flags->servers, [SETTING_TOKEN_FILE] = flags->token_file
    };
    CLEANUP(client_settings_fini) struct client_settings settings = { 0 };
    CLEANUP(freep) char *fallback = program_default_data("agent");
    CLEANUP(freep) char *data = NULL;
    CLEANUP(freep) char *monitor = NULL;
    CLEANUP(freep) struct agent_offer *offers = NULL;
    struct err err = { 0 };
    struct machine machine;
    struct agent_options options = { .settings = &settings,
                                     .machine = &machine,
                                     .node = flags->name,
                                     .version = BERTH_VERSION,
                                     .default_runtime = flags->runtime,
                                     .allow_process = true,
                                     .speed_up_attach = true,
                                     .takes_signals = true,
                                     .on_ready = on_ready };

    if (client_settings_find(given, &settings, &err) < 0 ||
        !(options.data_dir = data =
              program_open_data(flags->data ? flags->data : fallback, &err)) ||
        !(options.monitor_path = monitor = program_monitor_path(&err)) ||
        !(options.offers = offers = program_read_offers(flags->offers, flags->n_offers, &err)))
        return program_fail(&err);
    options.n_offers = flags->n_offers;
    probe(&machine);
    return run(&options, &err) < 0 ? program_fail(&err) : 0;
}

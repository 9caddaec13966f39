/*
 * `berth dev`: a server and an agent in one process, for one machine.
 *
 * They are separate loops that speak over the socket like any other pair; nothing of one is known
 * to the other but address and token. Killing the process leaves nothing that holds port or folder;
 * containers live on under their monitors and are adopted by the next start.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem_keep.h"
#include "base/quantity.h"
#include "base/str.h"
#include "program/inside.h"
#include "program/program.h"
#include "server/server.h"

enum { DEV_STOP_BUDGET_MS = 6000 };

struct dev {
    struct server *server;
    const char *data;
    int64_t began_us;
};

static void *serve(void *arg)
{
    pthread_setname_np(pthread_self(), "api");
    server_run(arg);
    return NULL;
}

/* The server's thread takes no signals: the agent's loop is told, and ends both. */
static int start_server(struct dev *dev, pthread_t *thread, struct err *err)
{
    sigset_t all, was;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    r = pthread_create(thread, NULL, serve, dev->server);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return r ? err_sys(err, -r, "start the server's thread") : 0;
}

/* "2.0 cpu  23.5Gi", and what else was given: "  licence 4". */
static void add_offers(const struct agent_ready *ready, struct str *out)
{
    double cpu = 0, memory = 0;

    for (size_t i = 0; i < ready->n_offers; i++) {
        if (text_eq(ready->offers[i].resource, "cpu"))
            cpu = (double)ready->offers[i].value / 1000;
        else if (text_eq(ready->offers[i].resource, "memory"))
            memory = (double)ready->offers[i].value / (1 << 30);
    }
    str_addf(out, "%.1f cpu  %.1fGi", cpu, memory);
    for (size_t i = 0; i < ready->n_offers; i++) {
        const char *resource = ready->offers[i].resource;

        if (text_eq(resource, "cpu") || text_eq(resource, "memory") || text_eq(resource, "pods"))
            continue;
        str_addf(out, "  %s ", resource);
        quantity_format(ready->offers[i].value, quantity_unit_of(resource), out);
    }
}

static void say_ready(void *arg, const struct agent_ready *ready)
{
    const struct dev *dev = arg;
    const struct machine *machine = ready->machine;
    CLEANUP(str_fini) struct str offers = { 0 };
    CLEANUP(str_fini) struct str runtimes = { 0 };
    double seconds = (double)(clock_boot_us(&clock_system) - dev->began_us) / 1e6;

    for (int i = 0; i < RUNTIME_KIND_COUNT; i++)
        if (machine->runtimes[i].is_usable)
            str_addf(&runtimes, "%s%s%s%s", runtimes.len ? ", " : "", runtime_kind_words[i],
                     machine->runtimes[i].version[0] ? " " : "", machine->runtimes[i].version);
    fprintf(stderr, "server   http://%s   data %s   token %s\n", server_address(dev->server),
            dev->data, server_token_path(dev->server));
    add_offers(ready, &offers);
    fprintf(stderr, "agent    %s  %s  runtimes %s\n", ready->node, str_text(&offers),
            str_text(&runtimes));
    fprintf(stderr, "ready in %.2fs   try: berth run --runtime process -- echo hello\n", seconds);
}

static int run_agent(struct dev *dev, const struct dev_flags *flags, struct err *err)
{
    CLEANUP(freep) char *address = text_format("http://%s", server_worker_address(dev->server));
    const char *given[SETTING_COUNT] = {
        [SETTING_ADDR] = address, [SETTING_TOKEN_FILE] = server_agent_token_path(dev->server)
    };
    CLEANUP(client_settings_fini) struct client_settings settings = { 0 };
    CLEANUP(agent_closep) struct agent *agent = NULL;
    CLEANUP(freep) char *data = text_format("%s/agent", dev->data);
    CLEANUP(freep) char *monitor = NULL;
    CLEANUP(freep) struct agent_offer *offers = NULL;
    struct agent_options options = { .settings = &settings,
                                     .data_dir = data,
                                     .version = BERTH_VERSION,
                                     .n_offers = flags->n_offers,
                                     .allow_process = true,
                                     .speed_up_attach = true,
                                     .takes_signals = true,
                                     .stop_budget_ms = DEV_STOP_BUDGET_MS,
                                     .on_ready = say_ready,
                                     .arg = dev };

    if (client_settings_find(given, &settings, err) < 0 ||
        !(options.monitor_path = monitor = program_monitor_path(err)) ||
        !(options.offers = offers = program_read_offers(flags->offers, flags->n_offers, err)) ||
        agent_open(&options, &agent, err) < 0)
        return err->code;
    return agent_run(agent, err);
}

static int run_both(struct dev *dev, const struct dev_flags *flags, struct err *err)
{
    CLEANUP(freep) char *address = text_format("http://%s", server_address(dev->server));
    struct err unannounced = { 0 };
    pthread_t thread;
    int r = start_server(dev, &thread, err);

    if (r < 0)
        return r;
    /* Without it, BERTH_ADDR and BERTH_TOKEN_FILE must be set: said, and no reason to stop. */
    if (client_dev_announce(address, server_token_path(dev->server), &unannounced) < 0)
        log_warn("not announced to this user's other programs", "why", unannounced.text, NULL);
    r = run_agent(dev, flags, err);
    client_dev_withdraw();
    server_stop(dev->server);
    pthread_join(thread, NULL);
    return r;
}

int program_dev(const struct dev_flags *flags)
{
    CLEANUP(freep) char *fallback = program_default_data("dev");
    CLEANUP(freep) char *data = NULL;
    struct dev dev = { .began_us = clock_boot_us(&clock_system) };
    struct err err = { 0 };
    struct server_options options = { .listen = flags->listen, .at_point = program_at_point };
    int r;

    mem_keep();
    log_setup(LOG_WARN, LOG_TEXT);
    data = program_open_data(flags->data ? flags->data : fallback, &err);
    if (!data)
        return program_fail(&err);
    options.data = dev.data = data;
    options.waits_for_room = true;
    r = server_open(&options, &dev.server, &err);
    if (r == 0)
        r = run_both(&dev, flags, &err);
    server_close(dev.server);
    return r < 0 ? program_fail(&err) : 0;
}

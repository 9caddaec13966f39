/* The program `berth server`: see server.h. */
#include <errno.h>
#include <signal.h>

#include "base/loop.h"
#include "base/node_lease.h"
#include "base/quantity.h"
#include "server/server.h"

#define LAY(member)                                                                                \
    do {                                                                                           \
        if (flags->member)                                                                         \
            out->member = flags->member;                                                           \
    } while (0)

/* What the command line says goes before what the file says. */
static void lay_over(const struct server_options *flags, struct server_options *out)
{
    LAY(listen);
    LAY(worker_listen);
    LAY(data);
    LAY(data_else);
    LAY(store);
    LAY(token_file);
    LAY(engine);
    LAY(token_lifetime_ms);
    LAY(node_ttl_ms);
    LAY(node_beat_ms);
    LAY(retain_ms);
    LAY(bookmark_ms);
    LAY(clock);
    LAY(at_point);
    if (flags->has_log_level)
        out->log_level = flags->log_level;
    if (flags->has_log_format)
        out->log_format = flags->log_format;
}

static void on_signal(int signal, unsigned events, void *arg)
{
    (void)events;
    log_info("stopping", "signal", signal == SIGTERM ? "TERM" : "INT", NULL);
    server_stop(arg);
}

/* What an operator must know before the first restart. */
static void tell_ttl(const struct server_options *options)
{
    int64_t ttl_ms = options->node_ttl_ms ? options->node_ttl_ms : NODE_LEASE_TTL_MS;
    int64_t beat_ms = options->node_beat_ms ? options->node_beat_ms : node_lease_beat_ms(ttl_ms);
    CLEANUP(str_fini) struct str ttl = { 0 }, after = { 0 }, away = { 0 };

    duration_format(ttl_ms, &ttl);
    duration_format(node_lease_term_ms(ttl_ms), &after);
    duration_format(node_lease_away_ms(ttl_ms, beat_ms), &away);
    log_info("a node that does not hear from this server ends its containers", "after", after.data,
             "ttl", ttl.data, "server-may-be-away", away.data, "setting", "nodes.ttl or --node-ttl",
             NULL);
}

static void run(struct server *server, const struct server_options *options)
{
    struct loop *loop = server_loop(server);
    struct fdwatch *term = fdwatch_signal(loop, SIGTERM, on_signal, server);
    struct fdwatch *interrupt = fdwatch_signal(loop, SIGINT, on_signal, server);

    log_info("serving", "address", server_address(server), "agents", server_worker_address(server),
             "profile", server_profile(server), "config",
             options->config ? options->config : "none", NULL);
    tell_ttl(options);
    server_run(server);
    fdwatch_free(term);
    fdwatch_free(interrupt);
}

int server_serve(const struct server_options *flags, const char *path, struct str *faults,
                 struct err *err)
{
    struct server_options options = { .log_level = LOG_INFO };
    struct server_config *config = NULL;
    struct server *server = NULL;
    int r = path ? server_config_read(path, &config, faults, err) : 0;

    if (r < 0)
        return r;
    if (config)
        options = *server_config_options(config);
    if (!options.has_log_level)
        options.log_level = LOG_INFO;
    if (flags->node_ttl_ms && flags->node_ttl_ms < NODE_LEASE_TTL_MIN_MS) {
        server_config_free(config);
        return err_set(err, -EINVAL, "--node-ttl: it must be at least 1s");
    }
    lay_over(flags, &options);
    options.waits_for_room = true;
    log_setup(options.log_level, options.log_format);
    signal(SIGPIPE, SIG_IGN);
    if (flags->is_restored) {
        r = server_restored(&options, err);
        server_config_free(config);
        return r;
    }
    r = server_open(&options, &server, err);
    if (r == 0)
        run(server, &options);
    server_close(server);
    server_config_free(config);
    return r;
}

/* The program `berth server`: see server.h. */
#include <errno.h>
#include <signal.h>

#include "base/loop.h"
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

/* What an operator must know before the first restart. Agents end at 60 % of the ttl: see their
 * lease. */
static void tell_ttl(int64_t ttl_ms)
{
    CLEANUP(str_fini) struct str ttl = { 0 }, after = { 0 };

    duration_format(ttl_ms, &ttl);
    duration_format(ttl_ms * 6 / 10, &after);
    log_info("a node that does not hear from this server ends its containers", "after", after.data,
             "ttl", ttl.data, "setting", "nodes.ttl or --node-ttl", NULL);
}

static void run(struct server *server, const char *config, int64_t ttl_ms)
{
    struct loop *loop = server_loop(server);
    struct fdwatch *term = fdwatch_signal(loop, SIGTERM, on_signal, server);
    struct fdwatch *interrupt = fdwatch_signal(loop, SIGINT, on_signal, server);

    log_info("serving", "address", server_address(server), "agents", server_worker_address(server),
             "profile", server_profile(server), "config", config ? config : "none", NULL);
    tell_ttl(ttl_ms ? ttl_ms : SERVER_NODE_TTL_MS);
    server_run(server);
    fdwatch_free(term);
    fdwatch_free(interrupt);
}

int server_serve(const struct server_options *flags, const char *path, struct err *err)
{
    struct server_options options = { .log_level = LOG_INFO };
    struct server_config *config = NULL;
    struct server *server = NULL;
    int r = path ? server_config_read(path, &config, err) : 0;

    if (r < 0)
        return r;
    if (config)
        options = *server_config_options(config);
    if (!options.has_log_level)
        options.log_level = LOG_INFO;
    if (flags->node_ttl_ms && flags->node_ttl_ms < SERVER_NODE_TTL_MIN_MS) {
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
        run(server, options.config, options.node_ttl_ms);
    server_close(server);
    server_config_free(config);
    return r;
}

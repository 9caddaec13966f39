/* Server: see server.h. Opens the parts in the order in which they need each other and closes them
 * the other way round; what a part does is in its own file. */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/states.h"
#include "berth/engine.h"
#include "server/call.h"
#include "server/feed_engine.h"
#include "server/first_tokens.h"
#include "server/inside.h"
#include "server/quotas.h"
#include "server/routes.h"

enum { DATA_MODE = 0700, LOOK_MS = 500 /* at a full disk */ };

struct follow {
    struct server *server;
    struct batch *batch;
};

static void follow_on_loop(void *arg)
{
    struct follow *follow = arg;

    watch_batch(follow->server->watch, follow->batch);
    batch_unref(follow->batch);
    free(follow);
}

/* The writer's thread. */
static void follow_batch(struct batch *batch, void *arg)
{
    struct server *server = arg;
    struct follow *follow = NEW0(struct follow);

    auth_follow(server->auth, batch);
    *follow = (struct follow){ server, batch_ref(batch) };
    loop_post(server->loop, follow_on_loop, follow);
}

struct reader *server_take_reader(struct server *server)
{
    struct reader *reader;

    /* The pool has as many threads as there are readers, so one is free. */
    pthread_mutex_lock(&server->readers.lock);
    reader = server->readers.at[--server->readers.n];
    pthread_mutex_unlock(&server->readers.lock);
    return reader;
}

void server_put_reader(struct server *server, struct reader *reader)
{
    pthread_mutex_lock(&server->readers.lock);
    server->readers.at[server->readers.n++] = reader;
    pthread_mutex_unlock(&server->readers.lock);
}

/* Where its files are; nothing is made before it listens, or a port that is taken left a folder. */
static int name_data(struct server *server, struct err *err)
{
    char random[DIGEST_HEX_SIZE];
    int r;

    if (!server->options.data)
        server->options.data = server->options.data_else;
    if (!server->options.data)
        return err_set(err, -EINVAL, "no data folder was named");
    r = digest_random_hex(random, err);
    if (r < 0)
        return r;
    snprintf(server->name, sizeof(server->name), "%.16s", random);
    server->data = text_copy(server->options.data);
    server->store = server->options.store ? text_copy(server->options.store)
                                          : text_format("sqlite:%s/ledger.db", server->data);
    server->token_path = server->options.token_file ? text_copy(server->options.token_file)
                                                    : text_format("%s/token", server->data);
    server->agent_token_path = text_format("%s/agent-token", server->data);
    return 0;
}

static int open_http(struct server *server, struct err *err)
{
    const char *listen = server->options.listen, *worker_listen = server->options.worker_listen;
    struct http_options options = { .listen = listen ? listen : "127.0.0.1:7070",
                                    .fn = routes_handle,
                                    .refuse = routes_refuse,
                                    .arg = server };
    int r;

    r = loop_open(&server->loop, err);
    server->node_loop = server->loop;
    if (r == 0)
        r = http_server_open(server->loop, &options, &server->http, err);
    if (r < 0 || !worker_listen || !worker_listen[0])
        return r;
    server->node_loop = NULL;
    r = loop_open(&server->node_loop, err);
    options.listen = worker_listen;
    options.fn = routes_handle_worker;
    if (r == 0)
        r = http_server_open(server->node_loop, &options, &server->worker_http, err);
    return r;
}

static void say_trouble(const char *why)
{
    if (why)
        log_error("the ledger cannot be written", "why", why, NULL);
    else
        log_info("the ledger can be written again", NULL);
}

/* ---- a disk that is full at the start ---- */

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

/* Answers what is asked meanwhile; routes.c says that nothing can be. */
static void serve_for(struct loop *loop, int64_t ms)
{
    struct timer *timer = timer_new(loop, stop_loop, loop);

    timer_set(timer, ms);
    loop_run(loop);
    timer_free(timer);
}

static void wait_for_room(struct server *server, const char *what, const char *why)
{
    if (!server->waits_for[0])
        log_error(what, "why", why, NULL);
    snprintf(server->waits_for, sizeof(server->waits_for), "%s", why);
    serve_for(server->loop, LOOK_MS);
    if (server->node_loop != server->loop)
        serve_for(server->node_loop, LOOK_MS);
}

/* A server that ran would answer 503 until there is room again, so one that begins does the same:
 * what was promised is safe in the ledger, and nothing is promised before it is open. */
static int try_for_room(struct server *server, const char *what,
                        int (*fn)(struct server *server, struct err *err), struct err *err)
{
    for (;;) {
        struct err why = { 0 };
        int r = fn(server, &why);

        if (r != -ENOSPC || !server->options.waits_for_room) {
            if (r == 0 && server->waits_for[0])
                log_info("there is room again", NULL);
            server->waits_for[0] = '\0';
            return r < 0 ? err_set(err, r, "%s", why.text) : 0;
        }
        wait_for_room(server, what, why.text);
    }
}

static int open_ledger(struct server *server, struct err *err)
{
    struct ledger_options options = { .store = server->store,
                                      .clock = server->clock,
                                      .server = server->name,
                                      .at_point = server->options.at_point,
                                      .on_trouble = say_trouble };

    return ledger_open(&options, &server->ledger, err);
}

/* Borrowed, as the options are. */
static struct feed_engine_from engine_from(const struct server_options *options)
{
    return (struct feed_engine_from){ .config = options->engine,
                                      .plugins = options->plugins,
                                      .n_plugins = options->n_plugins,
                                      .objects = options->objects,
                                      .n_objects = options->n_objects };
}

/* The ledger and all that listens to it. */
static int open_parts(struct server *server, struct err *err)
{
    const struct server_options *options = &server->options;
    struct nodes_options nodes = { .loop = server->node_loop,
                                   .clock = server->clock,
                                   .ttl_ms = options->node_ttl_ms,
                                   .beat_ms = options->node_beat_ms,
                                   .bookmark_ms = options->bookmark_ms,
                                   .at_point = options->at_point };
    struct feed_engine_from from = engine_from(options);
    struct cycle_options cycle = { .clock = server->clock,
                                   .from = from,
                                   .order_ttl_ms = options->order_ttl_ms,
                                   .at_point = options->at_point };
    struct view_options view = { .clock = server->clock, .from = from };
    struct steward_options steward = { .clock = server->clock, .retain_ms = options->retain_ms };
    int r;

    r = feed_engine_headroom(&from, &server->memory_milli, err);
    if (r == 0)
        r = try_for_room(server, "the disk is full: the ledger cannot be opened yet", open_ledger,
                         err);
    if (r < 0)
        return r;
    snprintf(server->incarnation, sizeof(server->incarnation), "%s",
             ledger_incarnation(server->ledger));
    snprintf(server->opening, sizeof(server->opening), "%s", ledger_opening(server->ledger));
    ledger_listen(server->ledger, follow_batch, server);
    nodes.ledger = cycle.ledger = view.ledger = steward.ledger = server->ledger;
    view_open(&view, &server->view);
    r = nodes_open(&nodes, &server->nodes, err);
    if (r == 0)
        r = cycle_open(&cycle, &server->cycle, err);
    steward.cycle = server->cycle;
    if (r == 0)
        r = steward_open(&steward, &server->steward, err);
    return r;
}

static void *run_node_loop(void *arg)
{
    struct server *server = arg;

    pthread_setname_np(pthread_self(), "nodes");
    loop_run(server->node_loop);
    return NULL;
}

static int start_node_thread(struct server *server, struct err *err)
{
    sigset_t all, was;
    int r;

    if (server->node_loop == server->loop)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    r = pthread_create(&server->node_thread, NULL, run_node_loop, server);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    server->has_node_thread = r == 0;
    return r ? err_sys(err, -r, "start the nodes' thread") : 0;
}

/* DATA/address says where a server that chose its port can be found, while it serves. */
static int write_address(struct server *server, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/address", server->data);
    CLEANUP(freep) char *url = text_format("http://%s\n", server_address(server));

    return file_write(AT_FDCWD, path, url, strlen(url), 0644, false, err);
}

static void forget_address(const struct server *server)
{
    CLEANUP(freep) char *path = text_format("%s/address", server->data);

    unlink(path);
}

/* Before anything is bound. */
static int write_quotas(struct server *server, struct err *err)
{
    struct feed_engine_from from = engine_from(&server->options);
    struct reader *reader = server_take_reader(server);
    int r = quotas_write(server->ledger, reader, &from, err);

    server_put_reader(server, reader);
    return r;
}

/* What is written beside the ledger. It comes before all that decides: nothing is placed by a
 * server that answers nobody yet. */
static int write_files(struct server *server, struct err *err)
{
    int r = first_tokens_make(server, err);

    if (r == 0)
        r = write_address(server, err);
    server->is_announced = r == 0;
    return r;
}

static int start_threads(struct server *server, struct err *err)
{
    int r = ledger_start(server->ledger, err);

    for (; r == 0 && server->readers.n < SERVER_READERS; server->readers.n += r == 0)
        r = reader_open(server->ledger, &server->readers.at[server->readers.n], err);
    if (r == 0)
        r = pool_open("readers", SERVER_READERS, &server->pool, err);
    if (r == 0)
        r = try_for_room(server, "the disk is full: the server cannot begin yet", write_quotas,
                         err);
    if (r == 0)
        r = try_for_room(server, "the disk is full: the server cannot begin yet", write_files, err);
    if (r == 0)
        r = cycle_start(server->cycle, err);
    if (r == 0)
        r = view_start(server->view, err);
    if (r == 0)
        r = steward_start(server->steward, err);
    if (r == 0)
        r = start_node_thread(server, err);
    return r;
}

int server_open(const struct server_options *options, struct server **out, struct err *err)
{
    struct server *server = NEW0(struct server);
    int r;

    server->options = *options;
    server->clock = options->clock ? options->clock : &clock_system;
    server->begun_at = clock_wall_ms(server->clock);
    pthread_mutex_init(&server->readers.lock, NULL);
    server->auth = auth_new();
    server->watch = watch_new();
    r = name_data(server, err);
    if (r == 0)
        r = open_http(server, err);
    if (r == 0)
        r = file_make_dirs(server->data, DATA_MODE, err);
    if (r == 0)
        r = open_parts(server, err);
    if (r == 0)
        r = start_threads(server, err);
    /* These were borrowed for this call. */
    server->options.listen = server->options.worker_listen = NULL;
    server->options.data = server->options.store = NULL;
    server->options.token_file = NULL;
    if (r < 0) {
        server_close(server);
        return r;
    }
    *out = server;
    return 0;
}

void server_run(struct server *server)
{
    loop_run(server->loop);
}

void server_stop(struct server *server)
{
    loop_stop(server->loop);
}

/* Runs what was posted to a loop that nobody runs any more. */
static void drain(struct loop *loop)
{
    if (!loop)
        return;
    loop_stop(loop);
    loop_run(loop);
}

/* What may still answer a call is ended first, then what calls stand on. */
static void close_threads(struct server *server)
{
    if (server->has_node_thread) {
        loop_stop(server->node_loop);
        pthread_join(server->node_thread, NULL);
    }
    http_server_close(server->http);
    http_server_close(server->worker_http);
    if (server->steward)
        steward_stop(server->steward);
    if (server->cycle)
        cycle_stop(server->cycle);
    if (server->view)
        view_stop(server->view);
    pool_close(server->pool);
    while (server->readers.n > 0)
        reader_close(server->readers.at[--server->readers.n]);
    if (server->ledger)
        ledger_close(server->ledger);
}

void server_close(struct server *server)
{
    if (!server)
        return;
    server->is_closing = true;
    if (server->is_announced)
        forget_address(server);
    close_threads(server);
    if (server->node_loop != server->loop)
        drain(server->node_loop);
    drain(server->loop);
    call_end_all(server);
    steward_close(server->steward);
    cycle_close(server->cycle);
    view_close(server->view);
    nodes_close(server->nodes);
    watch_end(server->watch);
    auth_free(server->auth);
    if (server->node_loop != server->loop)
        loop_close(server->node_loop);
    loop_close(server->loop);
    pthread_mutex_destroy(&server->readers.lock);
    free(server->data);
    free(server->store);
    free(server->token_path);
    free(server->agent_token_path);
    free(server);
}

const char *server_address(const struct server *server)
{
    return http_server_address(server->http);
}

const char *server_worker_address(const struct server *server)
{
    return http_server_address(server->worker_http ? server->worker_http : server->http);
}

const char *server_profile(const struct server *server)
{
    const struct berth_config *engine = server->options.engine;

    if (server->options.profile)
        return server->options.profile;
    return engine && engine->profile ? engine->profile : "berth";
}

const char *server_token_path(const struct server *server)
{
    return server->token_path;
}

const char *server_agent_token_path(const struct server *server)
{
    return server->agent_token_path;
}

struct loop *server_loop(struct server *server)
{
    return server->loop;
}

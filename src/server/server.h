/*
 * Server: the control plane. HTTP in, operations to the ledger, decisions of the engine, agents.
 *
 * Threads: the API loop (whoever calls server_run), the node loop where agents have a port of their
 * own, the ledger's writer, the cycle, the steward and two readers. State crosses by message.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

struct server;
struct berth_config;
struct berth_plugin_file;
struct berth_delta;

/* What a server is told; each member has a flag and a place in the configuration file. NULL or 0
 * is the default. */
struct server_options {
    const char *listen;        /* "127.0.0.1:7070"; port 0: a free one */
    const char *worker_listen; /* where agents have a port of their own; NULL: the same */
    const char *data;          /* folder: tokens, the ledger's file; made if it is not there */
    const char *data_else;     /* the folder where nobody names one */
    const char *store;         /* NULL: sqlite:DATA/ledger.db */
    const char *token_file;    /* of the first admin's token; NULL: DATA/token */
    const char *config;        /* the file that all this came from, for show; NULL: none */
    const char *profile;       /* as it was named, for show; NULL: engine's */
    const struct berth_config *engine;       /* NULL: profile berth; borrowed until server_close */
    const struct berth_plugin_file *plugins; /* that it may name; borrowed as well */
    size_t n_plugins;
    const struct berth_delta *objects; /* the configuration's pools, chains and network
                                          domains; borrowed as well */
    size_t n_objects;
    int64_t order_ttl_ms;              /* how long a machine that was ordered may take; 0: 15 min */
    int64_t token_lifetime_ms;         /* of tokens made without one; 0: for ever */
    int64_t node_ttl_ms, node_beat_ms; /* told to agents; 0: base/node_lease.h says */
    int64_t retain_ms;                 /* how long ended jobs are kept; 0: 7 d */
    bool is_restored;                  /* server_serve does server_restored instead */
    bool waits_for_room;               /* on a full disk server_open waits, answering 503 */
    int64_t bookmark_ms;               /* of event streams; 0: 5 s */
    bool has_log_level, has_log_format; /* for log_setup, which is the caller's (server_serve) */
    enum log_level log_level;
    enum log_format log_format;
    const struct clock *clock; /* NULL: the machine's */
    /* Called at the named points of ledger, nodes and cycle. For tests. */
    void (*at_point)(const char *point);
};

/**
 * Opens the ledger, listens, makes the first tokens. What listens answers from server_run on.
 *
 * Returns  0; -EADDRINUSE, -EBUSY (another server has the ledger) and others, with the reason
 */
MUST_CHECK int server_open(const struct server_options *options, struct server **out,
                           struct err *err);
/** Serves until server_stop. */
void server_run(struct server *server);
/** Ends server_run. Any thread; safe in a signal's watch. */
void server_stop(struct server *server);
/** Ends connections and threads, and closes the ledger. NULL is fine. */
void server_close(struct server *server);

/** Where it listens: "127.0.0.1:7070", with the real port. */
const char *server_address(const struct server *server);
/** Where agents find it; the same where they have no port of their own. */
const char *server_worker_address(const struct server *server);
/** The profile that decides, as the configuration names it. */
const char *server_profile(const struct server *server);
/** The files with the tokens made at the first start. */
const char *server_token_path(const struct server *server);
const char *server_agent_token_path(const struct server *server);
/**
 * Begins another life of a ledger that takes the place of the one its agents served, as a backup
 * that was put back does: they will go on with what it knows of what they run, keep the
 * rest as orphans, and take its word from then on.
 * No server may have it.
 *
 * @options  data, data_else and store
 * Returns   0; -ENOENT there is no ledger; -EBUSY a server has it; others, with the reason
 */
MUST_CHECK int server_restored(const struct server_options *options, struct err *err);
/** The loop of server_run, for signals. */
struct loop *server_loop(struct server *server);

/* ---- the configuration file: docs/configuration.md ---- */

struct server_config;

/**
 * Reads a configuration file.
 *
 * @faults  gains all that is wrong with what it says, a line each; the first is the error too
 * Returns  0 and *out, yours to server_config_free; -EINVAL, the text naming file, line and member;
 *          others as the file system says
 */
MUST_CHECK int server_config_read(const char *path, struct server_config **out, struct str *faults,
                                  struct err *err);
void server_config_free(struct server_config *config);
/** What the file says; borrowed. */
const struct server_options *server_config_options(const struct server_config *config);

/**
 * The program: reads the configuration, lays the flags over it, serves until SIGTERM or SIGINT.
 *
 * @flags   what the command line said; NULL and 0 where it did not
 * @config  the file's path, or NULL
 * @faults  as server_config_read
 * Returns  0 after a signal; below 0 with the reason
 */
MUST_CHECK int server_serve(const struct server_options *flags, const char *config,
                            struct str *faults, struct err *err);

#endif

/*
 * Client: the door to a server, for the command line and the agent.
 *
 * Settings say where the server is and who asks. A client made without a loop blocks (command
 * line); one made on a loop never does (agent). Connections are kept alive. Only http and https are
 * spoken, redirects are not followed, and what comes in is held against stated limits.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/problem.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

/* ---- Settings ---- */

enum client_setting {
    SETTING_CONTEXT, /* which of the file's contexts the next ones are taken from */
    SETTING_ADDR,    /* http://host:port or https://..., several separated by commas */
    SETTING_TOKEN,
    SETTING_TOKEN_FILE,
    SETTING_CACERT,
    SETTING_CLIENT_CERT,
    SETTING_CLIENT_KEY,
    SETTING_NAMESPACE,
    SETTING_QUEUE,
    SETTING_IMAGE,
    SETTING_OUTPUT,
    SETTING_COUNT
};

/* What a setting is called; a flag is "--" and the key with dashes. */
struct client_setting_name {
    const char *key; /* in a file: addr, tokenFile, ... */
    const char *env; /* BERTH_ADDR, ...; NULL where there is none */
};
extern const struct client_setting_name client_setting_names[SETTING_COUNT];

enum client_origin {
    ORIGIN_NONE,    /* it is not set */
    ORIGIN_FLAG,    /* the command line */
    ORIGIN_ENV,     /* the environment */
    ORIGIN_PROJECT, /* ./berth.yaml: namespace, queue, image only */
    ORIGIN_USER,    /* $BERTH_CONFIG, else $XDG_CONFIG_HOME/berth/config.yaml, else ~/.config/... */
    ORIGIN_SYSTEM,  /* /etc/berth/config.yaml */
    ORIGIN_DEV,     /* a `berth dev` of this user */
    ORIGIN_COUNT
};
extern const char *const client_origin_words[ORIGIN_COUNT];

/* { 0 } is none. All texts are owned; NULL where not set. */
struct client_settings {
    char *values[SETTING_COUNT];
    enum client_origin origins[SETTING_COUNT];
    char *paths[SETTING_COUNT]; /* the file it came from, where it came from one */
};

/**
 * Finds the settings: flag, then environment, ./berth.yaml, the user's and the system's file. Where
 * nobody names a server, that of a running `berth dev` of the same user is taken; its token is also
 * taken where its address was named without any token.
 * A token file is read here, so that values[SETTING_TOKEN] is all that a client needs.
 *
 * @flags   flags[SETTING_COUNT], what the command line gave, NULL where it did not; or NULL
 * @out     { 0 }; yours to client_settings_fini, also after a failure
 * Returns  0, also when no server is known (values[SETTING_ADDR] is NULL: client_open says so);
 *          -EACCES when the token file cannot be read or holds no token (not allowed: exit 6);
 *          -EINVAL when a file or a value is wrong (wrong usage: exit 2)
 */
MUST_CHECK int client_settings_find(const char *const *flags, struct client_settings *out,
                                    struct err *err);
void client_settings_fini(struct client_settings *settings);
/**
 * Puts in front of an error about a setting's value where that was said: the flag, the variable, or
 * the file and its key.
 *
 * Returns  the error's code
 */
int client_setting_blame(const struct client_settings *settings, enum client_setting setting,
                         struct err *err);

/**
 * Tells this user's other programs that a `berth dev` serves here: writes dev.json (0600) into
 * $BERTH_RUN_DIR, or $XDG_RUNTIME_DIR/berth, /run/user/UID/berth or /tmp/berth-UID, whichever can
 * be had first.
 *
 * @addr        http://127.0.0.1:PORT
 * @token_path  absolute path of the file with the token
 * Returns      0; a negative errno with the reason
 */
MUST_CHECK int client_dev_announce(const char *addr, const char *token_path, struct err *err);
/** Takes back what this process announced. What a process killed meanwhile left is ignored by
 * find. */
void client_dev_withdraw(void);

/* ---- Requests and answers ---- */

enum {
    CLIENT_BODY_MAX_BYTES = 64 << 20, /* an answer's body; larger ends the call with -E2BIG */
    CLIENT_LINE_MAX_BYTES = 4 << 20,  /* a line of client_listen, likewise */
    CLIENT_CALL_MS = 30000,           /* a call's time where the request says none */
};

/* { 0 } but for method and path; borrowed for the call (client_send copies what it needs). */
struct client_request {
    const char *method;         /* GET, POST, ... */
    const char *path;           /* "/v1/jobs?limit=10"; escaped already, see client_escape */
    const char *const *headers; /* "If-Match: \"12\"", ended by NULL; NULL for none */
    const void *body;           /* NULL for none */
    size_t n_body;
    const char *content_type; /* NULL: application/json where there is a body */
    const char *accept;       /* NULL: application/json */
    /* The whole call with all its repetitions; of a stream: until its answer begins. 0:
     * CLIENT_CALL_MS; below 0: no limit. */
    int64_t timeout_ms;
    bool is_once;    /* each address is tried once, whatever the first ones say */
    int64_t idle_ms; /* of a stream: ends it when nothing came for so long; 0: no limit */
    /* It may be sent again when nobody knows whether it arrived: it carries an Idempotency-Key, or
     * asking twice is harmless. GET, PUT and DELETE always are. */
    bool is_repeatable;
};

/* A point in the history of one ledger. { 0 }: none is known. */
struct client_point {
    char incarnation[80], opening[80]; /* Berth-Incarnation, Berth-Opening */
    int64_t revision;
};

/* { 0 } before; then owned. Of a header that did not come: "" or -1. */
struct client_answer {
    int status;                /* 200, ... */
    struct str body;           /* ends in a NUL that is not counted */
    char etag[80];             /* as it came, with its quotes */
    int64_t revision;          /* Berth-Revision */
    struct client_point point; /* of the server's ledger, its revision the answer's */
    char location[256];
    char request_id[80];
    char content_type[80];
    bool is_replayed;       /* Idempotency-Replayed: true */
    int64_t retry_after_ms; /* Retry-After in seconds; -1 */
    int64_t log_offset;     /* Berth-Log-Offset: where the body begins in the log; -1 */
};
void client_answer_fini(struct client_answer *answer);
/** Whether the status is 200..299. */
bool client_answer_is_ok(const struct client_answer *answer);
/** The problem of an answer that is not: from its document, or made from the status. */
void client_answer_problem(const struct client_answer *answer, struct problem *out);
/** Adds text with all but letters, digits, "-", ".", "_" and "~" percent-encoded. */
void client_escape(const char *text, struct str *out);

/* ---- Clients ---- */

struct client; /* owned by one thread */

/**
 * Makes a client. Connects to nobody yet.
 *
 * @loop    NULL: it blocks, use client_call and client_stream; else use client_send and
 *          client_listen
 * Returns  0; -EDESTADDRREQ when the settings name no server (exit 7); -EINVAL when an address is
 *          not one (exit 2)
 */
MUST_CHECK int client_open(const struct client_settings *settings, struct loop *loop,
                           struct client **out, struct err *err);
/** Ends it and its connections; what was sent or listened to and is not over is never called
 * back. */
void client_close(struct client *client);
void client_closep(struct client **client);
/** The address in use, such as http://127.0.0.1:7070; borrowed, changes when the next is tried. */
const char *client_address(const struct client *client);
/** Takes the next address into use: the server at this one is not the right one. */
void client_next(struct client *client);

/**
 * Holds the client to one ledger: that of its next answer, or the one that another client's last
 * answer came from. Each request says from then on what was seen of it, and a server with another
 * ledger, such as one that was put back from a backup, refuses it with LEDGER_FORKED (and nothing
 * is done); its Berth-Revision is up to where both are the same. To go on with that one, hold the
 * client anew.
 *
 * @as  NULL: the ledger of the next answer
 */
void client_hold(struct client *client, const struct client *as);
/** What is heard otherwise than by Berth-Revision, as in a stream, was seen too. */
void client_saw(struct client *client, int64_t revision);

/**
 * Asks and waits for the answer. When nobody can be reached the next address is tried, and again
 * from the first with growing pauses until the time is over. A repeatable request is also sent
 * again after a connection broke, and after 503 (and 429) with the pause that was asked for.
 *
 * @answer  { 0 } or one that was used before; filled whatever the status
 * Returns  0: there is an answer, look at its status; -EHOSTUNREACH: nobody was reached, or the
 *          connection broke (exit 7); -ETIMEDOUT: the time is over while it was under way (exit 7);
 *          -EINTR: client_interrupt; -E2BIG, -EPROTO: the answer is too large or none
 */
MUST_CHECK int client_call(struct client *client, const struct client_request *request,
                           struct client_answer *answer, struct err *err);

/** Below 0 ends the stream. */
typedef int client_bytes_fn(void *arg, const char *bytes, size_t n);

/**
 * Asks and hands on the body as it comes: logs, events. Reaching a server is tried as in
 * client_call; a stream that broke is not begun again here.
 *
 * @answer    as above; its body stays empty unless the status is not 2xx: then it has the problem
 * @on_bytes  called for each piece of a 2xx body
 * Returns    0: the server ended it, or the status is not 2xx; what on_bytes returned below 0;
 *            -EPIPE: it broke in the middle; else as client_call
 */
MUST_CHECK int client_stream(struct client *client, const struct client_request *request,
                             struct client_answer *answer, client_bytes_fn *on_bytes, void *arg,
                             struct err *err);

/** Ends a call or stream that blocks, or the next one, with -EINTR. Any thread, any signal
 * handler. */
void client_interrupt(struct client *client);
/** Forgets interrupts: the next call blocks again. */
void client_resume(struct client *client);

/* ---- On a loop ---- */

/**
 * Called once, on the loop.
 *
 * @r       0 and the answer, borrowed for the call; or a negative errno as of client_call, and err
 */
typedef void client_done_fn(void *arg, int r, const struct client_answer *answer,
                            const struct err *err);

struct client_ticket; /* one request under way; gone once done was called */

/**
 * Sends; done is called later, never from within. Tried once, at the address in use; when nobody is
 * reached the next address is in use from then on: who repeats, and when, is the caller's choice.
 */
struct client_ticket *client_send(struct client *client, const struct client_request *request,
                                  client_done_fn *done, void *arg);
/** Gives up a request or a listening: it is not called back any more. NULL is fine. */
void client_cancel(struct client_ticket *ticket);

/** A line without its newline, ended by NUL; borrowed. client_cancel is allowed in it. */
typedef void client_line_fn(void *arg, const char *line, size_t n);

/**
 * Listens to a stream of lines.
 *
 * @on_line  for each line of a 2xx body that is not empty; NULL before the first: the stream is
 *           open
 * @done     when it has ended for whatever reason: 0 and an answer (by its status, the server
 *           refused or ended it), or an errno
 */
struct client_ticket *client_listen(struct client *client, const struct client_request *request,
                                    client_line_fn *on_line, client_done_fn *done, void *arg);

#endif

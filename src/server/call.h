/*
 * Calls: one request on its way through the server.
 *
 * A handler begins on the API loop and ends a call by exactly one of the functions below, now or
 * in a later callback. Reading the ledger goes to a reader's thread and comes back; a change goes
 * to the writer and comes back. The loop never waits.
 */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

#include <jansson.h>

#include "api/json.h"
#include "api/problem.h"
#include "base/http.h"
#include "ledger/ledger.h"
#include "server/auth.h"
#include "server/inside.h"

enum { CALL_ARGS_MAX = 2, CALL_ID_SIZE = 81 };

struct call;
struct route;

typedef void call_fn(struct call *call);
/** Reads on a reader's thread; below 0 an error of the store. Sets call->answer or
 * call->problem. */
typedef int call_read_fn(struct call *call, struct reader *reader, struct err *err);

struct call {
    struct server *server;
    struct http_request *request;
    const struct route *route;
    const char *args[CALL_ARGS_MAX]; /* what the path's {…} stand for; live with the request */
    struct who who;                  /* all of it zero where no token was needed */
    char id[CALL_ID_SIZE];           /* Berth-Request-Id */
    int64_t begun_us;
    /* What the handler keeps between its steps; free_state ends it. */
    void *state;
    void (*free_state)(void *state);
    struct op *op; /* call_send: back again, with its outcome */
    /* The answer in the making. */
    int status;          /* 0: 200 */
    bool is_status_kept; /* with a problem too */
    json_t *answer;
    char *text;         /* of the answer, where a reader's thread has written it already */
    uint64_t revision;  /* Berth-Revision; 0: none */
    uint64_t etag;      /* of one object; 0: none */
    uint64_t parted_at; /* Berth-Revision of a problem: up to where two ledgers are the same */
    /* On its way. */
    struct call *next, **at; /* among the server's, if tracked */
    call_read_fn *read;
    call_fn *then;
    struct err err;
    struct problem problem;
};

/** Makes a call of a request; it owns the request. */
struct call *call_new(struct server *server, struct http_request *request);
/** Has call_end_all end it if the server closes before. The API loop. */
void call_track(struct call *call);
/** Ends the calls that nobody will go on with: when the server closes and no thread runs. */
void call_end_all(struct server *server);
/** Answers with the problem if there is one, else with status and answer. */
void call_end(struct call *call);
/** Answers with a text or other bytes. */
void call_end_bytes(struct call *call, int status, const char *type, const void *bytes, size_t n);
/** Sets the problem and answers with it. */
void call_refuse(struct call *call, enum problem_code code, const char *fmt, ...) FORMAT(3, 4);
/** Hands the request on, with the usual headers set; the call goes on without an answer of its
 * own, and the caller ends the request and then call_free. */
struct http_request *call_stream(struct call *call, int status, const char *type);
void call_free(struct call *call);

/** Reads the body into an operation and sends it; then goes on with `then`. `read` borrows the body
 * and gives NULL where it set the problem, with which the call ends. */
void call_act(struct call *call, struct op *(*read)(struct call *call, const json_t *body),
              call_fn *then);
/** Runs read on a reader's thread, at one revision; then goes on with call->then, or call_end if
 * that is NULL or there is a problem. */
void call_read(struct call *call, call_read_fn *read, call_fn *then);
/** Sends an operation; takes it. Goes on with then once it is durable, or answers with its
 * problem. call->op is the operation until the call ends. */
void call_send(struct call *call, struct op *op, call_fn *then);

/* ---- what came in ---- */

/** A query parameter, or NULL. */
const char *call_query(struct call *call, const char *name);
/** A whole number of the query; unset leaves *out. False: the problem is set. */
bool call_query_int(struct call *call, const char *name, int64_t min, int64_t max, int64_t *out);
/** "1" or "true", "0" or "false". False: the problem is set. */
bool call_query_bool(struct call *call, const char *name, bool *out);
/**
 * The body as JSON (or YAML where the route takes it). NULL: the problem is set. Yours to
 * json_decref.
 */
json_t *call_body(struct call *call);
/**
 * The revision that If-Match names; 0 for `*`.
 *
 * Returns  false: the problem is set (428 without the header)
 */
bool call_if_match(struct call *call, uint64_t *out);
/** The id of a job in a path; false: the problem is set, NOT_FOUND. */
bool call_job_id(struct call *call, const char *text, uint64_t *out);
/** Whether the caller may see what is in a namespace. */
bool call_sees(const struct call *call, const char *ns);
/** Sets NOT_FOUND for a kind of thing and its name; returns 0, for a call_read_fn to return. */
int call_not_found(struct call *call, const char *what, const char *name);

#endif

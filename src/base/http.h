/*
 * HTTP server: one listener on a loop, strict requests in, whole or streamed answers out.
 *
 * A handler gets a request when its body is complete, and owns it until it has answered: by
 * http_answer, or by http_stream_begin ... http_stream_end. It may do so later, from a callback
 * of the loop (another thread posts to the loop). If the peer goes away meanwhile, the request
 * stays valid, on_close says so, and the answer is dropped. What is not a clean HTTP/1.1 request
 * is refused by http_head.h before a handler hears of it, and its connection is closed.
 *
 * All functions are for the loop's thread.
 */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/str.h"

struct http_server;
struct http_request;

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OTHER, /* a token that is none of these */
    HTTP_METHOD_COUNT
};
extern const char *const http_method_words[HTTP_METHOD_COUNT];

typedef void http_fn(struct http_request *request, void *arg);
/**
 * Answers a request that was refused before it was whole (400, 408, 413, 431, 505): must call
 * http_answer at once. Method, path and headers are those read so far.
 */
typedef void http_refuse_fn(struct http_request *request, int status, const char *why, void *arg);

/* Members that are 0 have the default in brackets. */
struct http_options {
    const char *listen;     /* "HOST:PORT", "[::1]:PORT"; port 0: a free one */
    bool is_shared;         /* SO_REUSEPORT: several loops on one port */
    size_t head_max_bytes;  /* [16 KiB] */
    size_t body_max_bytes;  /* [1 MiB] */
    size_t connections_max; /* further ones are closed at once [10,000] */
    int64_t idle_ms;        /* between requests [75 s] */
    int64_t head_ms;        /* from the first byte of a head to its last [10 s] */
    int64_t body_ms;        /* from there to the end of the body [60 s] */
    int64_t write_ms;       /* without any progress of an answer [30 s] */
    http_fn *fn;            /* each request */
    http_refuse_fn *refuse; /* NULL: a line of text says why */
    void *arg;
};

/**
 * Listens.
 *
 * @loop     must outlive the server
 * @options  borrowed for the call
 * Returns   0; -EINVAL no HOST:PORT; -EADDRINUSE and others as the system says, with the address
 */
MUST_CHECK int http_server_open(struct loop *loop, const struct http_options *options,
                                struct http_server **out, struct err *err);
/** Closes listener and connections. Requests that handlers hold are closed, and still theirs to
 * end. */
void http_server_close(struct http_server *server);
/** Stops accepting connections; those that are open go on. */
void http_server_deafen(struct http_server *server);
/** Where it listens, as "127.0.0.1:7070" or "[::1]:7070", with the real port. */
const char *http_server_address(const struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
size_t http_server_n_connections(const struct http_server *server);

/* ---- the request; all texts are borrowed and live as long as the request ---- */

enum http_method http_method(const struct http_request *request);
/** The method as sent. */
const char *http_method_text(const struct http_request *request);
/** The path as sent, without the query. */
const char *http_path(const struct http_request *request);
/** The path's parts between slashes, each percent-decoded: "/v1/jobs/j-1%2Fw.0" has three, the
 * last of them "j-1/w.0". */
size_t http_n_parts(const struct http_request *request);
/** The i-th part; NULL behind the last. */
const char *http_part(const struct http_request *request, size_t i);
/** The first query parameter of that name, decoded; NULL if there is none. */
const char *http_query(const struct http_request *request, const char *name);
size_t http_n_queries(const struct http_request *request);
void http_query_at(const struct http_request *request, size_t i, const char **name,
                   const char **value);
/** The query as sent, without '?'; "" for none. */
const char *http_query_text(const struct http_request *request);
/** A header's value, name in any case; of a repeated one, the first; NULL if there is none. */
const char *http_header(const struct http_request *request, const char *name);
/** How often a header came. */
size_t http_n_headers(const struct http_request *request, const char *name);
/** The body; ends in a NUL that is not counted. */
const char *http_body(const struct http_request *request, size_t *n);
/** The peer's address, without port. */
const char *http_peer(const struct http_request *request);

/* ---- the answer ---- */

/** Adds a header to the answer to come; control bytes in value become blanks. */
void http_set_header(struct http_request *request, const char *name, const char *value);
/** The status that was answered with; 0 not yet. */
int http_status(const struct http_request *request);
/** Answers, whole; the request is gone. Without a Content-Type set, none is sent. */
void http_answer(struct http_request *request, int status, const void *body, size_t n);

/** Begins an answer in pieces (chunked). */
void http_stream_begin(struct http_request *request, int status);
/** Sends a piece; copied. Never fails: what is sent to a closed one is dropped. */
void http_stream_write(struct http_request *request, const void *data, size_t n);
/** Bytes written and not yet taken by the system; 0 once closed. */
size_t http_stream_buffered(const struct http_request *request);
/** Calls fn each time that all that was written is taken; NULL stops that. */
void http_on_drained(struct http_request *request, http_fn *fn, void *arg);
/** Calls fn once when the peer is gone (or the server closes), not from within a call here. The
 * request is still the handler's to end. NULL stops that. */
void http_on_close(struct http_request *request, http_fn *fn, void *arg);
/** Whether nobody hears the answer: ask it behind http_stream_begin, since on_close does not tell
 * of what came before it. A peer that has stopped sending is not streamed to. */
bool http_is_closed(const struct http_request *request);
/** Ends the stream; the request is gone. */
void http_stream_end(struct http_request *request);
/** Cuts the stream, so that the peer can tell that it is not whole; the request is gone. */
void http_stream_abort(struct http_request *request);

/** The usual words for a status: "Not Found". */
const char *http_status_text(int status);

#endif

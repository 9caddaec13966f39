/*
 * HTTP requests, read strictly: a parser of heads and bodies that does no I/O.
 *
 * What two programs could read in two ways is refused, so that nobody can hide one request in
 * another: Content-Length beside Transfer-Encoding, either of them twice, blanks before a colon,
 * folded lines, bare CR or LF, NUL, a missing or second Host, chunk sizes that are not plain.
 * Source: RFC 9112, sections 2 to 7, without what it only tolerates.
 */
#ifndef BASE_HTTP_HEAD_H
#define BASE_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

enum { HTTP_HEAD_FIELDS_MAX = 100, HTTP_HEAD_METHOD_MAX = 16 };

/* What came of the bytes given. */
enum http_step {
    HTTP_STEP_MORE,    /* all were taken; more are needed */
    HTTP_STEP_HEAD,    /* the head is whole: its members are valid */
    HTTP_STEP_DATA,    /* a piece of the body */
    HTTP_STEP_DONE,    /* the request is whole */
    HTTP_STEP_REFUSED, /* status and why say so; nothing more is taken */
};

/* A header field: offsets into text, each ended by NUL. */
struct http_field {
    uint32_t name, value;
};

struct http_head {
    /* Limits, set by http_head_init. */
    size_t head_max_bytes, body_max_bytes;
    /* The head: texts ended by NUL, at these offsets. */
    struct str text;
    uint32_t method, target;
    VEC_OF(struct http_field) fields;
    int minor;             /* HTTP/1.minor: 0 or 1 */
    bool is_chunked;       /* else has body_bytes */
    bool is_keep_alive;    /* the peer will send another request */
    bool is_expecting_100; /* the peer waits for "100 Continue" */
    uint64_t body_bytes;   /* of Content-Length; chunked: so far */
    /* A refusal. */
    int status; /* 400, 413, 431, 501, 505 */
    const char *why;
    /* The parser's own. */
    int state;
    size_t line;       /* where the line at hand begins in text */
    size_t head_bytes; /* of the head so far */
    uint64_t left;     /* of the body or chunk */
    unsigned n_digits; /* of a chunk's size so far */
    bool has_length, has_encoding, has_host, has_connection_close, has_connection_keep;
};

/** Makes it ready for a request. */
void http_head_init(struct http_head *head, size_t head_max_bytes, size_t body_max_bytes);
void http_head_fini(struct http_head *head);
/** Ready for the next request of the same connection, with the same limits. */
void http_head_again(struct http_head *head);

/**
 * Reads on.
 *
 * @bytes   n of them, in pieces of any size
 * @used    out: how many were taken; call again with the rest unless MORE or REFUSED came
 * @data    out with DATA: a piece of the body in bytes, n_data long
 */
enum http_step http_head_read(struct http_head *head, const char *bytes, size_t n, size_t *used,
                              const char **data, size_t *n_data);

/** Whether a byte of the request at hand has come. */
bool http_head_is_begun(const struct http_head *head);

/** The first field of that name (any case) at or after *at, which moves on; NULL if none. */
const char *http_head_field(const struct http_head *head, const char *name, size_t *at);

#endif

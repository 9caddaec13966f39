/*
 * The target of an HTTP request, taken apart: the parts of its path and what its query says,
 * decoded. No I/O.
 */
#ifndef BASE_HTTP_TARGET_H
#define BASE_HTTP_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

enum { HTTP_QUERIES_MAX = 100 };

/* One NAME=VALUE: offsets into the texts of its target. */
struct http_query {
    uint32_t name, value;
};

struct http_target {
    size_t n_path;    /* bytes before '?' */
    struct str texts; /* each ended by NUL */
    VEC_OF(uint32_t) parts;
    VEC_OF(struct http_query) queries;
};

/**
 * Splits "/PART/PART?NAME=VALUE&NAME=VALUE".
 *
 * @text    begins with '/'
 * @out     zeroed; has parts of what came before a fault; http_target_fini it in any case
 * Returns  0; -EINVAL: a bad escape, a NUL, or more than HTTP_QUERIES_MAX
 */
MUST_CHECK int http_target_split(const char *text, struct http_target *out);
void http_target_fini(struct http_target *target);

/** The i-th part of the path; NULL behind the last. An empty one is "". */
const char *http_target_part(const struct http_target *target, size_t i);
/** The value of the first of that name; NULL if there is none. */
const char *http_target_query(const struct http_target *target, const char *name);

/**
 * Percent-decodes n bytes behind what out holds.
 *
 * @plus    '+' is a blank (in queries)
 * Returns  0; -EINVAL a bad escape or a NUL
 */
MUST_CHECK int http_decode(const char *text, size_t n, bool plus, struct str *out);

#endif

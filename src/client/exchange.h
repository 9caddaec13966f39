/*
 * Exchange: one request and its answer as an easy handle of libcurl, for both kinds of clients.
 */
#ifndef CLIENT_EXCHANGE_H
#define CLIENT_EXCHANGE_H

#include "base/vec.h"
#include "client/client.h"
#include "client/curl.h"

/* What all requests of a client share. */
struct target {
    VEC_OF(char *) addresses; /* without a slash at the end */
    size_t at;                /* the address in use */
    char *authorization;      /* "Authorization: Bearer ..." or NULL */
    char *cacert, *client_cert, *client_key;
    VEC_OF(CURL *) idle;      /* handles for the next requests */
    struct client_point seen; /* by the answers so far */
    bool is_held;             /* to the ledger that was seen */
};

/** Reads settings. Returns 0; -EDESTADDRREQ without an address; -EINVAL for a bad one. */
MUST_CHECK int target_init(struct target *target, const struct client_settings *settings,
                           struct err *err);
void target_fini(struct target *target);
/** Takes the next address into use, if the one of a failed exchange still is. */
void target_rotate(struct target *target, size_t failed);

/* One try of a request. */
struct exchange {
    CURL *easy;
    struct target *target;
    size_t address; /* which of the target's it goes to */
    struct curl_slist *headers;
    struct client_answer *answer; /* borrowed */
    bool has_begun;               /* the last line of the headers came */
    bool is_stream;               /* bytes of a 2xx body go to on_bytes */
    client_bytes_fn *on_bytes;
    void *arg;
    int sink_result; /* what on_bytes returned below 0, or -E2BIG */
    char why[CURL_ERROR_SIZE];
};

/**
 * Makes the handle. Its CURLOPT_PRIVATE is left to the caller.
 *
 * @request   its body is borrowed until exchange_end
 * @left_ms   for the whole exchange (of a stream: for connecting); below 0: no limit
 */
void exchange_begin(struct exchange *exchange, struct target *target,
                    const struct client_request *request, int64_t left_ms);
/** Gives the handle back; it must not be in a multi handle. */
void exchange_end(struct exchange *exchange, struct target *target);

/** What became of it, as client_call says; err names the address. */
int exchange_result(struct exchange *exchange, const struct target *target, CURLcode code,
                    struct err *err);
/** Whether a result means that the request never arrived. */
bool exchange_never_arrived(CURLcode code);

#endif

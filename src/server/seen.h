/*
 * Seen: the last that whoever asks has heard of a ledger, in each of its requests, so that it is
 * never answered by another one: an agent, or a client that follows.
 */
#ifndef SERVER_SEEN_H
#define SERVER_SEEN_H

#include "server/call.h"

/* `Berth-Seen: OPENING REVISION`; { 0 }: it says nothing of that. */
struct seen {
    char opening[64];
    int64_t revision;
};

/** Reads it from a request's header. False: it is none. */
bool seen_read(const struct http_request *request, struct seen *out);
/**
 * Refuses the request of a client that has seen, of the incarnation that it names
 * (`Berth-Incarnation`; none: the ledger's), what is not in this ledger; its answer then says with
 * Berth-Revision up to where both are the same.
 *
 * Returns  false: refused, the call has the problem
 */
bool seen_check(struct call *call);

#endif

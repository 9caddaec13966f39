/*
 * Relay: sends attempts' logs to the server, piece by piece, each waiting for its reader. One
 * inotify instance tells for all that a log has grown.
 */
#ifndef AGENT_RELAY_H
#define AGENT_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agent;
struct relay;

/* What an `open` line asks for; borrowed. */
struct relay_request {
    const char *sid;
    const char *attempt;
    uint64_t at;
    uint64_t limit; /* bytes at most; 0 all */
    bool is_follow;
};

MUST_CHECK int relay_open(struct agent *agent, struct relay **out, struct err *err);
/** After the pools are closed: no read is under way. */
void relay_close(struct relay *relay);
void relay_open_stream(struct relay *relay, const struct relay_request *request);
void relay_close_stream(struct relay *relay, const char *sid);
/** The link is down: all streams are over. */
void relay_close_all(struct relay *relay);
/** Something happened to the attempt: its folder was made, moved, or its log is complete. */
void relay_poke(struct relay *relay, const char *attempt);

#endif

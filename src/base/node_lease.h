/*
 * Node lease: how long an agent and its server may be without each other, as arithmetic.
 *
 * Both sides count by these alone. The agent counts from when a beat was sent that was answered, the
 * server from when a beat came: so an agent's containers are over before the server places their
 * tasks elsewhere, whatever the clocks say.
 */
#ifndef BASE_NODE_LEASE_H
#define BASE_NODE_LEASE_H

#include <stdint.h>

enum {
    NODE_LEASE_TTL_MS = 300000,    /* where nobody says */
    NODE_LEASE_TTL_MIN_MS = 1000,  /* shorter, a node is lost between two beats */
    NODE_LEASE_BEAT_MAX_MS = 10000 /* of beats that nobody says */
};

/** How often an agent beats, where nobody says: a third of the ttl, at most 10 s. */
int64_t node_lease_beat_ms(int64_t ttl_ms);
/** How long a beat is waited for: half a beat, at most 5 s. */
int64_t node_lease_beat_timeout_ms(int64_t beat_ms);
/** The pause before a beat that was not answered is sent again: a tenth of a beat, at most 1 s. */
int64_t node_lease_again_ms(int64_t beat_ms);
/** Silence after which a node gets no new work: two beats, at most half the ttl. */
int64_t node_lease_silent_ms(int64_t ttl_ms, int64_t beat_ms);
/** From an answered beat to TERM; nothing is started later than that. */
int64_t node_lease_term_ms(int64_t ttl_ms);
/** From an answered beat to KILL. */
int64_t node_lease_kill_ms(int64_t ttl_ms);
/** Silence after which the server holds a node for lost, and runs its tasks elsewhere. */
int64_t node_lease_lost_ms(int64_t ttl_ms);

/**
 * How long a server may be away at any moment and be sure that no container ends for it: the way to
 * TERM, less a beat (the last answered one may be that old), and less what the agent may need to
 * notice that the server is back. Of an agent that knows one address.
 *
 * Returns  >= 0; 0: nothing is sure
 */
int64_t node_lease_away_ms(int64_t ttl_ms, int64_t beat_ms);

#endif

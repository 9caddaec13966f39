/* Node lease: see node_lease.h. */
#include "base/node_lease.h"

enum { BEAT_TIMEOUT_MAX_MS = 5000, AGAIN_MAX_MS = 1000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t node_lease_beat_ms(int64_t ttl_ms)
{
    return least(ttl_ms / 3, NODE_LEASE_BEAT_MAX_MS);
}

int64_t node_lease_beat_timeout_ms(int64_t beat_ms)
{
    return least(beat_ms / 2, BEAT_TIMEOUT_MAX_MS);
}

int64_t node_lease_again_ms(int64_t beat_ms)
{
    return least(beat_ms / 10, AGAIN_MAX_MS);
}

int64_t node_lease_silent_ms(int64_t ttl_ms, int64_t beat_ms)
{
    return least(ttl_ms / 2, 2 * beat_ms);
}

int64_t node_lease_term_ms(int64_t ttl_ms)
{
    return ttl_ms * 6 / 10;
}

int64_t node_lease_kill_ms(int64_t ttl_ms)
{
    return ttl_ms * 8 / 10;
}

int64_t node_lease_lost_ms(int64_t ttl_ms)
{
    return ttl_ms * 11 / 10;
}

int64_t node_lease_away_ms(int64_t ttl_ms, int64_t beat_ms)
{
    int64_t away_ms = node_lease_term_ms(ttl_ms) - beat_ms - node_lease_beat_timeout_ms(beat_ms) -
                      node_lease_again_ms(beat_ms);

    return away_ms > 0 ? away_ms : 0;
}

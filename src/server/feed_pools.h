/*
 * Feed, pools: where machines could come from, as the configuration says, and the machines that
 * were ordered of them, as the ledger says.
 *
 * A node is of the pool that it was ordered from, or that its label `berth/pool` names. A pool of
 * which an order failed orders nothing for a while.
 */
#ifndef SERVER_FEED_POOLS_H
#define SERVER_FEED_POOLS_H

#include "base/arena.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"
#include "server/feed.h"

struct pool;
struct ordered;

struct feed_pools {
    VEC_OF(struct pool *) pools;
    VEC_OF(struct berth_delta) others; /* chains and network domains, which nothing changes */
    struct map orders;                 /* key to struct ordered */
    struct heap open;                  /* those that are not over, by age */
};

/** @objects  what the configuration has: pools, chains, network domains; borrowed */
void feed_pools_init(struct feed_pools *pools, const struct berth_delta *objects, size_t n);
void feed_pools_fini(struct feed_pools *pools);
/** Forgets the orders. */
void feed_pools_forget(struct feed_pools *pools);

/** Adds all that the configuration has, for a new engine. */
void feed_pools_tell(const struct feed_pools *pools, struct arena *arena,
                     struct feed_deltas *deltas);
/** Takes an order's row. */
void feed_pools_order(struct feed_pools *pools, const struct row_order *row, bool is_deleted,
                      struct arena *arena, struct feed_deltas *deltas);
/** Says of which pool a node is, what GPUs it has for that and what runs there. @label  or NULL */
void feed_pools_node(const struct feed_pools *pools, const char *label, struct berth_node *node);

/** When the first of the open orders is as old as that; BERTH_NEVER without one. */
int64_t feed_pools_next_end(const struct feed_pools *pools, int64_t ttl_ms);
/** The keys of open orders that are as old as that, the eldest first; borrowed. Returns how many */
size_t feed_pools_over(const struct feed_pools *pools, int64_t now_ms, int64_t ttl_ms,
                       const char **out, size_t most);

#endif

/* Feed, pools: see feed_pools.h. */
#include "server/feed_pools.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { BACKOFF_MS = 60000 /* of a pool that says none */ };

struct pool {
    struct berth_pool spec; /* its texts are the configuration's */
    int64_t backoff_ms;     /* for which nothing is ordered after an order failed */
};

struct ordered {
    char *key, *pool;
    int64_t made_at_ms;
    struct heap_item age; /* in pools->open until it is over */
};

static int age_cmp(const struct ordered *x, const struct ordered *y)
{
    if (x->made_at_ms != y->made_at_ms)
        return x->made_at_ms < y->made_at_ms ? -1 : 1;
    return strcmp(x->key, y->key);
}

static bool is_older(const struct heap_item *a, const struct heap_item *b, void *arg)
{
    (void)arg;
    return age_cmp(CONTAINER(a, struct ordered, age), CONTAINER(b, struct ordered, age)) < 0;
}

void feed_pools_init(struct feed_pools *pools, const struct berth_delta *objects, size_t n)
{
    heap_init(&pools->open, is_older, NULL);
    for (size_t i = 0; i < n; i++) {
        struct pool *pool;

        if (objects[i].kind != BERTH_POOL) {
            VEC_PUSH(&pools->others, objects[i]);
            continue;
        }
        pool = NEW0(struct pool);
        pool->spec = *objects[i].pool;
        /* The configuration is read as of 1970: what it says is how long. */
        pool->backoff_ms = pool->spec.backoff_until_ms ? pool->spec.backoff_until_ms : BACKOFF_MS;
        pool->spec.backoff_until_ms = 0;
        VEC_PUSH(&pools->pools, pool);
    }
}

static void ordered_free(struct ordered *ordered)
{
    mem_free(ordered->key);
    mem_free(ordered->pool);
    mem_free(ordered);
}

void feed_pools_forget(struct feed_pools *pools)
{
    heap_fini(&pools->open); /* it writes to its members */
    heap_init(&pools->open, is_older, NULL);
    MAP_EACH (entry, &pools->orders)
        ordered_free(entry->value);
    map_fini(&pools->orders);
    pools->orders = (struct map){ 0 };
    VEC_EACH (pool, &pools->pools)
        (*pool)->spec.backoff_until_ms = 0;
}

void feed_pools_fini(struct feed_pools *pools)
{
    feed_pools_forget(pools);
    heap_fini(&pools->open);
    VEC_EACH (pool, &pools->pools)
        mem_free(*pool);
    VEC_FINI(&pools->pools);
    VEC_FINI(&pools->others);
}

static struct pool *find(const struct feed_pools *pools, const char *name)
{
    VEC_EACH (pool, &pools->pools)
        if (text_eq((*pool)->spec.name, name))
            return *pool;
    return NULL;
}

static void tell_pool(const struct pool *pool, struct arena *arena, struct feed_deltas *deltas)
{
    struct berth_pool *copy = ARENA_NEW0(arena, struct berth_pool);

    *copy = pool->spec;
    VEC_PUSH(deltas, ((struct berth_delta){ .kind = BERTH_POOL, .pool = copy }));
}

void feed_pools_tell(const struct feed_pools *pools, struct arena *arena,
                     struct feed_deltas *deltas)
{
    VEC_EACH (pool, &pools->pools)
        tell_pool(*pool, arena, deltas);
    VEC_EACH (other, &pools->others)
        VEC_PUSH(deltas, *other);
}

static void tell_order(const struct row_order *row, bool is_over, struct arena *arena,
                       struct feed_deltas *deltas)
{
    struct berth_order *order = ARENA_NEW0(arena, struct berth_order);

    order->key = row->key;
    order->seq = row->rev;
    order->pool = row->pool;
    order->state = row->state == ORDER_WANTED ? BERTH_ORDER_WANTED : BERTH_ORDER_PLACED;
    order->made_at_ms = row->made_at;
    VEC_PUSH(deltas, ((struct berth_delta){ .kind = BERTH_ORDER, .end = is_over, .order = order }));
}

/* An order that is over stays known: its machine may come yet, and is of its pool then. */
static struct ordered *know(struct feed_pools *pools, const struct row_order *row)
{
    struct ordered *ordered = NEW0(struct ordered);

    ordered->key = text_copy(row->key);
    ordered->pool = text_copy(row->pool);
    ordered->made_at_ms = row->made_at;
    ordered->age.place = HEAP_OUT;
    map_put(&pools->orders, ordered->key, ordered);
    return ordered;
}

static void set_open(struct feed_pools *pools, struct ordered *ordered, bool is_open)
{
    if (is_open && ordered->age.place == HEAP_OUT)
        heap_push(&pools->open, &ordered->age);
    else if (!is_open && ordered->age.place != HEAP_OUT)
        heap_remove(&pools->open, &ordered->age);
}

void feed_pools_order(struct feed_pools *pools, const struct row_order *row, bool is_deleted,
                      struct arena *arena, struct feed_deltas *deltas)
{
    struct ordered *ordered = map_get(&pools->orders, row->key);
    struct pool *pool = find(pools, row->pool);
    bool is_over = is_deleted || order_is_over((enum order_state)row->state);

    if (ordered || !is_over)
        tell_order(row, is_over, arena, deltas);
    if (!ordered)
        ordered = know(pools, row);
    set_open(pools, ordered, !is_over);
    if (is_deleted) {
        map_remove(&pools->orders, row->key);
        ordered_free(ordered);
    } else if (pool && (row->state == ORDER_FAILED || row->state == ORDER_CANCELLED) &&
               row->ended_at + pool->backoff_ms > pool->spec.backoff_until_ms) {
        pool->spec.backoff_until_ms = row->ended_at + pool->backoff_ms;
        tell_pool(pool, arena, deltas);
    }
}

void feed_pools_node(const struct feed_pools *pools, const char *label, struct berth_node *node)
{
    const struct ordered *ordered = map_get(&pools->orders, node->id);
    const struct pool *pool;

    node->pool = label && *label ? label : ordered && *ordered->pool ? ordered->pool : NULL;
    pool = node->pool ? find(pools, node->pool) : NULL;
    if (!pool)
        return;
    if (!node->gpu_model)
        node->gpu_model = pool->spec.gpu_model;
    node->runtime = pool->spec.runtime;
}

/* ---- questions ---- */

int64_t feed_pools_next_end(const struct feed_pools *pools, int64_t ttl_ms)
{
    const struct heap_item *first = heap_top(&pools->open);

    return first ? CONTAINER(first, const struct ordered, age)->made_at_ms + ttl_ms : BERTH_NEVER;
}

static int by_age(const void *a, const void *b)
{
    return age_cmp(*(const struct ordered *const *)a, *(const struct ordered *const *)b);
}

size_t feed_pools_over(const struct feed_pools *pools, int64_t now_ms, int64_t ttl_ms,
                       const char **out, size_t most)
{
    const struct ordered **over;
    size_t n = 0;

    if (feed_pools_next_end(pools, ttl_ms) > now_ms)
        return 0;
    over = NEW0_N(const struct ordered *, pools->open.n);
    for (size_t i = 0; i < pools->open.n; i++) {
        over[n] = CONTAINER(pools->open.items[i], const struct ordered, age);
        n += over[n]->made_at_ms + ttl_ms <= now_ms;
    }
    qsort(over, n, sizeof(*over), by_age);
    if (n > most)
        n = most;
    for (size_t i = 0; i < n; i++)
        out[i] = over[i]->key;
    mem_free(over);
    return n;
}

/*
 * Maps: see map.h. Linear probing with backward-shift removal, so there are no tombstones;
 * at most three quarters full.
 */
#include "base/map.h"

#include <assert.h>
#include <string.h>

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t map_hash(const uint64_t seed[2], const void *data, size_t n)
{
    uint64_t v[4] = { seed[0] ^ 0x736f6d6570736575, seed[1] ^ 0x646f72616e646f6d,
                      seed[0] ^ 0x6c7967656e657261, seed[1] ^ 0x7465646279746573 };
    const unsigned char *at = data, *end = at + (n & ~(size_t)7);
    uint64_t word, last = (uint64_t)n << 56;

    for (; at < end; at += 8) {
        memcpy(&word, at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (size_t i = 0; i < (n & 7); i++)
        last |= (uint64_t)at[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Numbers are their own "hash"; they are spread where the place is worked out. */
static inline size_t home(const struct map *map, uint64_t hash)
{
    return (size_t)((hash * 0x9e3779b97f4a7c15u) >> 32) & (map->cap - 1);
}

void map_fini(struct map *map)
{
    free(map->entries);
    map->entries = NULL;
    map->n = map->cap = 0;
}

void map_seed(struct map *map, uint64_t a, uint64_t b)
{
    assert(map->n == 0);
    map->seed[0] = a;
    map->seed[1] = b;
}

static struct map_entry *find(const struct map *map, const char *key, size_t n, uint64_t hash)
{
    if (!map->cap)
        return NULL;
    for (size_t i = home(map, hash);; i = (i + 1) & (map->cap - 1)) {
        struct map_entry *entry = &map->entries[i];
        if (!entry->value)
            return NULL;
        if (entry->hash != hash)
            continue;
        if (!key || (strncmp(entry->key, key, n) == 0 && entry->key[n] == '\0'))
            return entry;
    }
}

static void place(struct map *map, struct map_entry entry)
{
    size_t i = home(map, entry.hash);

    while (map->entries[i].value)
        i = (i + 1) & (map->cap - 1);
    map->entries[i] = entry;
}

static void grow(struct map *map)
{
    struct map_entry *old = map->entries;
    size_t n_old = map->cap;

    map->cap = map->cap ? map->cap * 2 : 16;
    map->entries = NEW0_N(struct map_entry, map->cap);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].value)
            place(map, old[i]);
    free(old);
}

static void *put(struct map *map, const char *key, size_t n, uint64_t hash, void *value)
{
    struct map_entry *entry = find(map, key, n, hash);
    void *was;

    assert(value);
    if (entry) {
        was = entry->value;
        entry->value = value;
        entry->key = key; /* the old key may end with the old value */
        return was;
    }
    if ((map->n + 1) * 4 > map->cap * 3)
        grow(map);
    place(map, (struct map_entry){ .key = key, .hash = hash, .value = value });
    map->n++;
    return NULL;
}

static void *take_out(struct map *map, struct map_entry *entry)
{
    size_t mask = map->cap - 1, hole, i;
    void *value;

    if (!entry)
        return NULL;
    value = entry->value;
    hole = (size_t)(entry - map->entries);
    for (i = (hole + 1) & mask; map->entries[i].value; i = (i + 1) & mask) {
        size_t want = home(map, map->entries[i].hash);
        /* Move it back unless its home lies cyclically in (hole, i]. */
        if (((i - want) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole] = (struct map_entry){ 0 };
    map->n--;
    return value;
}

void *map_get_n(const struct map *map, const char *key, size_t n)
{
    struct map_entry *entry = find(map, key, n, map_hash(map->seed, key, n));

    return entry ? entry->value : NULL;
}

void *map_get(const struct map *map, const char *key)
{
    return map_get_n(map, key, strlen(key));
}

void *map_put(struct map *map, const char *key, void *value)
{
    size_t n = strlen(key);

    return put(map, key, n, map_hash(map->seed, key, n), value);
}

void *map_remove(struct map *map, const char *key)
{
    size_t n = strlen(key);

    return take_out(map, find(map, key, n, map_hash(map->seed, key, n)));
}

void *map_get_int(const struct map *map, uint64_t key)
{
    struct map_entry *entry = find(map, NULL, 0, key);

    return entry ? entry->value : NULL;
}

void *map_put_int(struct map *map, uint64_t key, void *value)
{
    return put(map, NULL, 0, key, value);
}

void *map_remove_int(struct map *map, uint64_t key)
{
    return take_out(map, find(map, NULL, 0, key));
}

struct map_entry *map_next(const struct map *map, size_t *at)
{
    while (*at < map->cap) {
        struct map_entry *entry = &map->entries[(*at)++];
        if (entry->value)
            return entry;
    }
    return NULL;
}

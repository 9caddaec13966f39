/*
 * Maps: from a text, or from a number, to a pointer.
 *
 * Open addressing, SipHash-1-3. Keys that come from outside want a random seed
 * (map_seed), so that nobody can choose colliding names; a pure house leaves it 0.
 * Never iterate a map where order could reach an answer: sort the keys first.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct map_entry {
    const char *key; /* borrowed; NULL in a map of numbers */
    uint64_t hash;   /* of the key; in a map of numbers the number itself */
    void *value;     /* never NULL while in use */
};

/* { 0 } is empty. A map holds texts or numbers, not both. Keys of texts are borrowed: they
 * must live as long as their entry, which is easy where the value holds its own name. */
struct map {
    struct map_entry *entries;
    size_t n, cap; /* cap a power of two, or 0 */
    uint64_t seed[2];
};

void map_fini(struct map *map);
/** Sets the seed of an empty map. */
void map_seed(struct map *map, uint64_t a, uint64_t b);

void *map_get(const struct map *map, const char *key);
void *map_get_n(const struct map *map, const char *key, size_t n);
/** Puts value (not NULL) under key and returns what was there before, or NULL. */
void *map_put(struct map *map, const char *key, void *value);
/** Takes key out and returns its value, or NULL. */
void *map_remove(struct map *map, const char *key);

void *map_get_int(const struct map *map, uint64_t key);
void *map_put_int(struct map *map, uint64_t key, void *value);
void *map_remove_int(struct map *map, uint64_t key);

/** The next entry in use at or after *at, which moves on; NULL at the end. Start *at at 0. */
struct map_entry *map_next(const struct map *map, size_t *at);
#define MAP_EACH(entry, map)                                                                       \
    for (size_t at_##entry = 0, once_##entry = 1; once_##entry; once_##entry = 0)                  \
        for (struct map_entry * entry; (entry = map_next((map), &at_##entry));)

/** SipHash-1-3 of n bytes. Source: Aumasson, Bernstein, "SipHash", 2012. */
uint64_t map_hash(const uint64_t seed[2], const void *data, size_t n);

#endif

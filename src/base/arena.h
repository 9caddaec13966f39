/*
 * Arena: many small objects that end together.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/mem.h"

struct arena_block;

/* { 0 } is empty. */
struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used_bytes;          /* handed out since the last clear */
};

void arena_fini(struct arena *arena);
/** Ends all objects but keeps the largest block for the next ones. */
void arena_clear(struct arena *arena);
/** size zeroed bytes, aligned for any type; they live until clear or fini. */
void *arena_zero(struct arena *arena, size_t size) __attribute__((returns_nonnull));
char *arena_text(struct arena *arena, const char *text);
char *arena_format(struct arena *arena, const char *fmt, ...) FORMAT(2, 3);
void *arena_copy(struct arena *arena, const void *from, size_t size);

#define ARENA_NEW0(arena, type)      ((type *)arena_zero((arena), sizeof(type)))
#define ARENA_NEW0_N(arena, type, n) ((type *)arena_zero((arena), sizeof(type) * (n)))

#endif

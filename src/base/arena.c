/* Arena: see arena.h. Blocks double up to 1 MiB; a larger object gets a block of its own. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    alignas(max_align_t) char data[];
};

void arena_fini(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    arena->used_bytes = 0;
}

void arena_clear(struct arena *arena)
{
    struct arena_block *largest = NULL;

    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        if (!largest || block->size > largest->size) {
            struct arena_block *smaller = largest;
            largest = block;
            block = smaller;
        }
        free(block);
    }
    if (largest) {
        memset(largest->data, 0, largest->used);
        largest->used = 0;
        largest->next = NULL;
    }
    arena->blocks = largest;
    arena->used_bytes = 0;
}

static struct arena_block *add_block(struct arena *arena, size_t at_least)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    struct arena_block *block;

    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < at_least)
        size = at_least;
    block = mem_zero(1, sizeof(*block) + size);
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *arena_zero(struct arena *arena, size_t size)
{
    struct arena_block *block = arena->blocks;
    size_t room = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    void *at;

    assert(room >= size);
    if (!block || block->size - block->used < room)
        block = add_block(arena, room);
    at = block->data + block->used;
    block->used += room;
    arena->used_bytes += room;
    return at;
}

void *arena_copy(struct arena *arena, const void *from, size_t size)
{
    void *to = arena_zero(arena, size ? size : 1);

    if (size)
        memcpy(to, from, size);
    return to;
}

char *arena_text(struct arena *arena, const char *text)
{
    return text ? arena_copy(arena, text, strlen(text) + 1) : NULL;
}

char *arena_format(struct arena *arena, const char *fmt, ...)
{
    va_list args, again;
    char *to;
    int n;

    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    assert(n >= 0);
    to = arena_zero(arena, (size_t)n + 1);
    vsnprintf(to, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return to;
}

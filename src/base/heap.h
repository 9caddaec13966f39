/*
 * Heap: a priority queue whose members know their place, so that one whose key changed
 * can be moved.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

#define HEAP_OUT ((size_t)-1) /* the place of what is in no heap */

/* Embedded in what is ordered. Start place at HEAP_OUT. */
struct heap_item {
    size_t place;
};

/** Whether a goes before b; must order every pair strictly. */
typedef bool heap_before_fn(const struct heap_item *a, const struct heap_item *b, void *arg);

struct heap {
    struct heap_item **items;
    size_t n, cap;
    heap_before_fn *before;
    void *arg;
};

void heap_init(struct heap *heap, heap_before_fn *before, void *arg);
void heap_fini(struct heap *heap);
void heap_push(struct heap *heap, struct heap_item *item);
/** The first, or NULL. */
struct heap_item *heap_top(const struct heap *heap);
/** Takes the first out, or NULL. */
struct heap_item *heap_pop(struct heap *heap);
void heap_remove(struct heap *heap, struct heap_item *item);
/** Moves an item whose key changed to where it belongs now. */
void heap_moved(struct heap *heap, struct heap_item *item);

#endif

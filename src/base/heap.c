/* Heap: see heap.h. A binary heap; each item's place is kept current. */
#include "base/heap.h"

#include <assert.h>

void heap_init(struct heap *heap, heap_before_fn *before, void *arg)
{
    *heap = (struct heap){ .before = before, .arg = arg };
}

void heap_fini(struct heap *heap)
{
    for (size_t i = 0; i < heap->n; i++)
        heap->items[i]->place = HEAP_OUT;
    free(heap->items);
    heap->items = NULL;
    heap->n = heap->cap = 0;
}

static void set(struct heap *heap, size_t i, struct heap_item *item)
{
    heap->items[i] = item;
    item->place = i;
}

static void sift_up(struct heap *heap, size_t i, struct heap_item *item)
{
    while (i > 0 && heap->before(item, heap->items[(i - 1) / 2], heap->arg)) {
        set(heap, i, heap->items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    set(heap, i, item);
}

static void sift_down(struct heap *heap, size_t i, struct heap_item *item)
{
    for (size_t child; (child = 2 * i + 1) < heap->n; i = child) {
        if (child + 1 < heap->n &&
            heap->before(heap->items[child + 1], heap->items[child], heap->arg))
            child++;
        if (!heap->before(heap->items[child], item, heap->arg))
            break;
        set(heap, i, heap->items[child]);
    }
    set(heap, i, item);
}

void heap_push(struct heap *heap, struct heap_item *item)
{
    assert(item->place == HEAP_OUT);
    if (heap->n == heap->cap) {
        heap->cap = heap->cap ? heap->cap * 2 : 16;
        heap->items = mem_resize(heap->items, heap->cap, sizeof(*heap->items));
    }
    sift_up(heap, heap->n++, item);
}

struct heap_item *heap_top(const struct heap *heap)
{
    return heap->n ? heap->items[0] : NULL;
}

void heap_remove(struct heap *heap, struct heap_item *item)
{
    size_t i = item->place;
    struct heap_item *last;

    assert(i < heap->n && heap->items[i] == item);
    last = heap->items[--heap->n];
    item->place = HEAP_OUT;
    if (last == item)
        return;
    set(heap, i, last);
    heap_moved(heap, last);
}

struct heap_item *heap_pop(struct heap *heap)
{
    struct heap_item *top = heap_top(heap);

    if (top)
        heap_remove(heap, top);
    return top;
}

void heap_moved(struct heap *heap, struct heap_item *item)
{
    size_t i = item->place;

    if (i > 0 && heap->before(item, heap->items[(i - 1) / 2], heap->arg))
        sift_up(heap, i, item);
    else
        sift_down(heap, i, item);
}

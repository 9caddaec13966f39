/*
 * Another malloc, for LD_PRELOAD: hands out ever new addresses, in steps of odd sizes, filled with
 * noise, and takes nothing back. What goes by addresses or by what memory held shows under it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE = 0x5a, ALIGN = 16 };

static _Alignas(ALIGN) unsigned char heap[(size_t)1 << 29]; /* touched as it is used */
static size_t used;

void *malloc(size_t size)
{
    size_t at = __atomic_fetch_add(
        &used, (size + 2 * ALIGN + (used >> 7) % 3 * ALIGN) & ~(size_t)15, __ATOMIC_RELAXED);

    if (size > sizeof(heap) || at + size + 2 * ALIGN > sizeof(heap)) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(&heap[at], &size, sizeof(size)); /* for realloc */
    memset(&heap[at + ALIGN], NOISE, size);
    return &heap[at + ALIGN];
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t n, size_t size)
{
    void *p = size && n > SIZE_MAX / size ? NULL : malloc(n * size);

    return p ? memset(p, 0, n * size) : NULL;
}

void *realloc(void *p, size_t size)
{
    size_t old = 0;
    void *to = malloc(size);

    if (p)
        memcpy(&old, (unsigned char *)p - ALIGN, sizeof(old));
    return to && p ? memcpy(to, p, old < size ? old : size) : to;
}

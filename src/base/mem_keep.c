/* Keeping memory: see mem_keep.h. Apart from mem.c, which pure houses use. */
#include "base/mem_keep.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    KEPT_BYTES = 64 << 20,
    MAPPED_FROM_BYTES = 32 << 20,
    AHEAD_BYTES = 1 << 20,
    PAGE_BYTES = 4096,
};

static bool is_kept; /* written before threads are made */

void mem_keep(void)
{
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
    is_kept = true;
}

static char *page_of(char *at)
{
    return at - (uintptr_t)at % PAGE_BYTES;
}

/* Whole pages within; what cannot be brought now is brought when it is touched. */
static void populate(char *from, char *to)
{
    from = page_of(from + PAGE_BYTES - 1);
    to = page_of(to);
    if (from < to && madvise(from, (size_t)(to - from), MADV_POPULATE_WRITE) < 0)
        return;
}

void mem_ahead(struct mem_ahead *ahead)
{
    char *at = is_kept ? malloc(AHEAD_BYTES) : NULL, *end;
    bool is_elsewhere;

    if (!at)
        return;
    end = at + AHEAD_BYTES;
    is_elsewhere = at < ahead->begin || at > ahead->end;
    /* What is freed at the end of a thread's memory stays its own: no later call asks the system
     * for it. */
    if (is_elsewhere || end > ahead->end + AHEAD_BYTES / 2) {
        populate(is_elsewhere ? at : ahead->end, end);
        ahead->begin = is_elsewhere ? at : ahead->begin;
        ahead->end = end;
    }
    free(at);
}

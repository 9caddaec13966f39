/* Keeping memory: see mem_keep.h. Apart from mem.c, which pure houses use. */
#include "base/mem_keep.h"

#include <malloc.h>

enum { KEPT_BYTES = 64 << 20, MAPPED_FROM_BYTES = 32 << 20 };

void mem_keep(void)
{
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
}

/*
 * Wide numbers: sums and products of amounts, exact.
 */
#ifndef ENGINE_WIDE_H
#define ENGINE_WIDE_H

#include <stdint.h>

__extension__ typedef __int128 wide; /* the only typedefs: plain numbers like int64_t */
__extension__ typedef unsigned __int128 uwide;

/* Sums on one node wrap rather than overflow: only nonsense gets so far, and taking it away
 * again must give what was there before. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/** -1, 0 or 1 as a/b compares with c/d; b and d above 0, products below 2^127. */
static inline int fraction_cmp(wide a, wide b, wide c, wide d)
{
    wide x = a * d, y = c * b;

    return (x > y) - (x < y);
}

static inline int64_t wide_clamp(wide x)
{
    return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : (int64_t)x;
}

#endif

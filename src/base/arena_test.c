#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/test.h"

TEST(arena_objects_are_zeroed_aligned_and_apart)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };

    for (int round = 0; round < 3; round++) {
        unsigned char *last = NULL;
        for (size_t i = 1; i < 3000; i++) {
            unsigned char *at = arena_zero(&arena, i);
            CHECK_EQ((uintptr_t)at % 16, 0);
            for (size_t k = 0; k < i; k++)
                CHECK_EQ(at[k], 0);
            memset(at, 0xff, i);
            if (last)
                CHECK_EQ(last[0], 0xff);
            last = at;
        }
        arena_clear(&arena);
        CHECK_EQ(arena.used_bytes, 0);
    }
}

TEST(arena_text_and_format_copy)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };

    CHECK_TEXT(arena_text(&arena, "berth"), "berth");
    CHECK_TEXT(arena_format(&arena, "%d-%s", 7, "x"), "7-x");
    CHECK(arena_text(&arena, NULL) == NULL);
}

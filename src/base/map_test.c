#include "base/map.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

enum { KEYS = 500, STEPS = 200000 };

/* The plain reference is an array by key. */
TEST(map_agrees_with_an_array)
{
    static char keys[KEYS][8];
    void *expected[KEYS] = { 0 }, *by_number[KEYS] = { 0 };
    CLEANUP(map_fini) struct map map = { 0 };
    CLEANUP(map_fini) struct map numbers = { 0 };
    uint64_t random = test_seed();

    map_seed(&map, random, 7);
    for (int i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof(keys[i]), "k%d", i);
    for (int step = 0; step < STEPS; step++) {
        size_t i = test_random(&random) % KEYS;
        void *value = keys[test_random(&random) % KEYS];
        switch (test_random(&random) % 3) {
        case 0:
            CHECK(map_put(&map, keys[i], value) == expected[i]);
            CHECK(map_put_int(&numbers, i << 32, value) == by_number[i]);
            expected[i] = by_number[i] = value;
            break;
        case 1:
            CHECK(map_remove(&map, keys[i]) == expected[i]);
            CHECK(map_remove_int(&numbers, i << 32) == by_number[i]);
            expected[i] = by_number[i] = NULL;
            break;
        default:
            CHECK(map_get(&map, keys[i]) == expected[i]);
            CHECK(map_get_int(&numbers, i << 32) == by_number[i]);
        }
    }
    size_t n = 0;
    MAP_EACH (entry, &map)
        n += entry->value == expected[atoi(entry->key + 1)];
    CHECK_EQ(n, map.n);
}

TEST(map_hash_depends_on_seed_and_every_byte)
{
    uint64_t a[2] = { 1, 2 }, b[2] = { 1, 3 };
    char text[] = "some text of more than eight bytes";
    uint64_t whole = map_hash(a, text, strlen(text));

    CHECK(whole != map_hash(b, text, strlen(text)));
    for (size_t i = 0; i < strlen(text); i++) {
        text[i] ^= 1;
        CHECK(map_hash(a, text, strlen(text)) != whole);
        text[i] ^= 1;
    }
    CHECK_EQ(map_hash(a, text, strlen(text)), whole);
}

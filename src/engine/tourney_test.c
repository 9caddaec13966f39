/* Tournaments against the plainest search, over random keys and changes. */
#include "engine/tourney.h"

#include "base/test.h"

enum { MOST = 700 };

struct field {
    uwide keys[MOST];
    int ties[MOST];
    size_t n;
};

static bool tie_before(const void *arg, uint32_t a, uint32_t b)
{
    const struct field *f = arg;

    return f->ties[a] != f->ties[b] ? f->ties[a] < f->ties[b] : a < b;
}

static uint32_t plain_best(const struct field *f, bool has_ties)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < f->n; i++) {
        if (f->keys[i] == KEY_NONE)
            continue;
        if (best == UINT32_MAX || f->keys[i] < f->keys[best] ||
            (has_ties && f->keys[i] == f->keys[best] && tie_before(f, i, best)))
            best = i;
    }
    return best;
}

/* Without ties keys differ: their low part is the place. */
static uwide draw(uint64_t *random, bool has_ties, size_t place)
{
    uint64_t high = test_random(random) % 6;

    if (high == 0)
        return KEY_NONE;
    return (uwide)high << 100 | (has_ties ? test_random(random) % 3 : place);
}

static void play_and_change(uint64_t *random, size_t n, bool has_ties)
{
    struct field f = { .n = n };
    struct tourney t;
    uwide key;

    tourney_init(&t, n);
    t.before = has_ties ? tie_before : NULL;
    t.arg = &f;
    for (size_t i = 0; i < n; i++) {
        f.ties[i] = (int)(test_random(random) % 4);
        f.keys[i] = tourney_keys(&t)[i] = draw(random, has_ties, i);
    }
    tourney_play(&t);
    CHECK_EQ(tourney_best(&t, &key), plain_best(&f, has_ties));
    for (int change = 0; n && change < 60; change++) {
        uint32_t at = (uint32_t)(test_random(random) % n);
        if (change % 3 == 0 && plain_best(&f, has_ties) != UINT32_MAX)
            at = plain_best(&f, has_ties); /* the winner is what changes most */
        if (has_ties)
            f.ties[at] = (int)(test_random(random) % 4);
        f.keys[at] = draw(random, has_ties, at);
        tourney_set(&t, at, f.keys[at]);
        CHECK_EQ(tourney_best(&t, &key), plain_best(&f, has_ties));
    }
    tourney_fini(&t);
}

TEST(tourney_finds_the_least_after_each_change)
{
    static const size_t sizes[] = { 0, 1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, MOST };
    uint64_t random = test_seed();

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (int times = 0; times < 20; times++)
            play_and_change(&random, sizes[i], times % 2);
}

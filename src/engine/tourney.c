/* Tournaments: see tourney.h. */
#include "engine/tourney.h"

#include <assert.h>

#include "base/mem.h"

static size_t matches(size_t n)
{
    return (n + TOURNEY_WIDTH - 1) / TOURNEY_WIDTH;
}

static void level_init(struct tourney_level *level, size_t n, bool has_places)
{
    size_t room = matches(n) * TOURNEY_WIDTH;

    level->n = n;
    level->keys = NEW0_N(uwide, room + 1);
    level->places = has_places ? NEW0_N(uint32_t, room + 1) : NULL;
    for (size_t i = 0; i <= room; i++)
        level->keys[i] = KEY_NONE;
}

void tourney_init(struct tourney *t, size_t n)
{
    *t = (struct tourney){ 0 };
    do {
        assert(t->n_levels < TOURNEY_LEVELS);
        level_init(&t->levels[t->n_levels], n, t->n_levels > 0);
        t->n_levels++;
        n = matches(n);
    } while (t->levels[t->n_levels - 1].n > 1);
}

void tourney_fini(struct tourney *t)
{
    for (size_t i = 0; i < t->n_levels; i++) {
        free(t->levels[i].keys);
        free(t->levels[i].places);
    }
    *t = (struct tourney){ 0 };
}

uwide *tourney_keys(struct tourney *t)
{
    return t->levels[0].keys;
}

static uint32_t place_of(const struct tourney_level *level, size_t i)
{
    return level->places ? level->places[i] : (uint32_t)i;
}

/* Of the places of one match, where equal keys have to be told apart. */
static size_t best_told_apart(const struct tourney *t, const struct tourney_level *level,
                              size_t first)
{
    size_t best = first;

    for (size_t i = first + 1; i < first + TOURNEY_WIDTH; i++)
        if (level->keys[i] < level->keys[best] ||
            (level->keys[i] == level->keys[best] && level->keys[i] != KEY_NONE &&
             t->before(t->arg, place_of(level, i), place_of(level, best))))
            best = i;
    return best;
}

static size_t best_of(const struct tourney_level *level, size_t first)
{
    const uwide *keys = level->keys + first;
    uwide least = keys[0];
    size_t best = 0;

    for (size_t i = 1; i < TOURNEY_WIDTH; i++)
        if (keys[i] < least) {
            least = keys[i];
            best = i;
        }
    return first + best;
}

/* Plays one match of a level; its winner goes up. */
static void play(struct tourney *t, size_t at, size_t match)
{
    const struct tourney_level *level = &t->levels[at];
    struct tourney_level *up = &t->levels[at + 1];
    size_t first = match * TOURNEY_WIDTH;
    size_t best = t->before ? best_told_apart(t, level, first) : best_of(level, first);

    up->keys[match] = level->keys[best];
    up->places[match] = place_of(level, best);
}

void tourney_play(struct tourney *t)
{
    for (size_t at = 0; at + 1 < t->n_levels; at++)
        for (size_t match = 0; match < t->levels[at + 1].n; match++)
            play(t, at, match);
}

void tourney_set(struct tourney *t, uint32_t place, uwide key)
{
    size_t match = place;

    t->levels[0].keys[place] = key;
    for (size_t at = 0; at + 1 < t->n_levels; at++) {
        const struct tourney_level *up = &t->levels[at + 1];
        match /= TOURNEY_WIDTH;
        if (up->places[match] != place &&
            (t->before ? key > up->keys[match] : key >= up->keys[match]))
            return; /* it did not win here and does not now, so nothing above hangs on it */
        play(t, at, match);
    }
}

uint32_t tourney_best(const struct tourney *t, uwide *key)
{
    const struct tourney_level *top = &t->levels[t->n_levels - 1];

    *key = top->keys[0];
    return *key == KEY_NONE ? UINT32_MAX : place_of(top, 0);
}

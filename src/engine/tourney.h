/*
 * A tournament over numbered places, each with a key: the least key wins. One place that changes
 * is put right in a handful of steps, however many places there are.
 *
 * It is eight places a match, and a match knows its winner's key, so that few cache lines are
 * read. It knows nothing of nodes; equal keys are told apart by whoever made them.
 */
#ifndef ENGINE_TOURNEY_H
#define ENGINE_TOURNEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wide.h"

#define KEY_NONE (~(uwide)0) /* takes no part */

enum { TOURNEY_WIDTH = 8, TOURNEY_LEVELS = 12 };

struct tourney {
    struct tourney_level {
        uwide *keys;      /* n, and as many of KEY_NONE as fill the last match */
        uint32_t *places; /* whose key it is; NULL in the first: its own */
        size_t n;
    } levels[TOURNEY_LEVELS];
    size_t n_levels;
    /* Whether place a goes before b, of equal keys; NULL: there are none. */
    bool (*before)(const void *arg, uint32_t a, uint32_t b);
    const void *arg;
};

/** A tournament of n places, none of which takes part yet. */
void tourney_init(struct tourney *t, size_t n);
void tourney_fini(struct tourney *t);
/** The first keys, to be filled; then tourney_play. */
uwide *tourney_keys(struct tourney *t);
/** Plays all matches. */
void tourney_play(struct tourney *t);
/** Gives one place another key. */
void tourney_set(struct tourney *t, uint32_t place, uwide key);
/** The winner, or UINT32_MAX if nobody takes part. */
uint32_t tourney_best(const struct tourney *t, uwide *key);

#endif

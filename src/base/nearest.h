/*
 * Nearest match: what somebody may have meant by a word that nobody knows.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/**
 * The known word nearest to word by edits (insert, delete, replace, swap of neighbours).
 *
 * @known   known[n], each not NULL
 * Returns  the nearest, of equals the earliest; NULL if none is near enough to be meant:
 *          more than a third of the word's letters differ (at least one may)
 */
const char *nearest(const char *word, const char *const *known, size_t n);

#endif

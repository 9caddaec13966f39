/* Nearest match: see nearest.h. */
#include "base/nearest.h"

#include <string.h>

enum { LONGEST = 48 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= n_b; j++)
        above[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(replace, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[n_b];
}

const char *nearest(const char *word, const char *const *known, size_t n)
{
    size_t n_word = strlen(word), best = n_word / 3 + 2;
    const char *found = NULL;

    if (n_word > LONGEST)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t n_known = strlen(known[i]), edits;
        if (n_known > LONGEST)
            continue;
        edits = distance(word, n_word, known[i], n_known);
        if (edits < best && edits < n_known) {
            best = edits;
            found = known[i];
        }
    }
    return found;
}

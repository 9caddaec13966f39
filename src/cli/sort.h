/*
 * Sorting a list: by the fields that the server knows, and by each column's head. What the server
 * has no field for is read whole and sorted here, by what the column shows.
 */
#ifndef CLI_SORT_H
#define CLI_SORT_H

#include "cli/verb.h"

/**
 * What the server is asked for with --sort WORD, which may name a column: "-PRI" is "-priority".
 * Yours; NULL: it has no field for that column.
 */
char *sort_field(const struct listing *listing, const char *word);

/**
 * Sorts items by what a column shows: amounts and numbers by their size, what has none last, equals
 * as they were.
 *
 * @word  the column's head, "-" before it for the largest first
 */
void sort_items(const struct listing *listing, const char *word, const struct output *output,
                json_t *items);

/**
 * Reads a list, sorted.
 *
 * @path    with all that narrows it
 * @word    of --sort; NULL: as it comes
 * @limit   0: all
 * Returns  0 and *out, yours, with `next` if there are more: "" where there is no cursor, to be
 *          taken away by sort_take_more; or an exit code after printing why
 */
MUST_CHECK int sort_get(struct cli *cli, const char *path, int64_t limit,
                        const struct listing *listing, const char *word,
                        const struct output *output, json_t **out);

/** Whether there is more than the list has. Leaves no `next` in it but a true cursor. */
bool sort_take_more(json_t *list);

#endif

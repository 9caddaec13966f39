/*
 * Tables: upper-case heads, two blanks between columns, "-" for nothing, never wrapped, cut only
 * on a terminal.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/output.h"

/**
 * Prints items as rows.
 *
 * Returns  0; -EINVAL for a column of OUTPUT_COLS that is not there
 */
MUST_CHECK int table_print(const struct output *output, const struct listing *listing,
                           const json_t *items, struct err *err);

/** Prints one item as lines of head and text, without the columns that have none. */
MUST_CHECK int table_print_item(const struct output *output, const struct listing *listing,
                                const json_t *item, struct err *err);

/** The colour of a state's word for the table library, or NULL. */
const char *table_state_color(const char *word);

#endif

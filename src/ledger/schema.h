/*
 * Schema: the one table of kinds and columns, and what follows from it for any row.
 *
 * SQL, keys, the JSON of events, copying and comparing are made from it; a row's layout is
 * known to nobody else. Rows are counted and their texts too, so that a new version of a row
 * costs little and a published one may be read by any thread. Nobody changes a published row.
 */
#ifndef LEDGER_SCHEMA_H
#define LEDGER_SCHEMA_H

#include "base/err.h"
#include "base/str.h"
#include "ledger/rows.h"

enum { SCHEMA_VERSION = 7, SCHEMA_COLUMNS_MAX = 40 };

enum column_type {
    COLUMN_INT,
    COLUMN_BOOL, /* an int that JSON writes as true or false */
    COLUMN_TEXT,
    COLUMN_JSON /* a text that is JSON itself and stands as such in the row's; "" is left out */
};

struct column {
    const char *name; /* in SQL and JSON */
    enum column_type type;
    size_t offset;            /* in the row's struct: an int64_t or uint64_t, or a char * */
    const char *const *words; /* of an enum, or NULL */
    size_t n_words;
};

struct kind {
    const char *name; /* of the table */
    size_t size;      /* of the row's struct */
    const struct column *columns;
    size_t n_columns;
    size_t n_keys; /* the first so many columns are the key */
    /* A backstop behind the judge: of the rows that agree in the first n_one columns, one at
     * most has a number below one_below in column one_column. n_one 0: none. */
    size_t n_one, one_column;
    int64_t one_below;
    const char *indexes; /* SQL that makes them, or NULL */
};

extern const struct kind schema[ROW_KIND_COUNT];

/** A row of zeros and empty texts, counted once. */
void *row_new(enum row_kind kind);
/** Another row with the same values, counted once. */
void *row_copy(enum row_kind kind, const void *row);
/** Sets a text of an unpublished row, copying it; NULL is "". */
void row_set(char **at, const char *text);

/** A column of a row, as a number or a text. */
int64_t row_int(const void *row, const struct column *column);
const char *row_text(const void *row, const struct column *column);
void row_put_int(void *row, const struct column *column, int64_t value);
/** Sets n bytes as a text. */
void row_put_text(void *row, const struct column *column, const char *text, size_t n);

/** Order by key. */
int row_cmp(enum row_kind kind, const void *a, const void *b);
/** Whether all columns are equal. */
bool row_eq(enum row_kind kind, const void *a, const void *b);

/** Adds the row as a JSON object; columns that are 0 or "" are left out, but for keys. */
void row_to_json(enum row_kind kind, const void *row, struct str *out);
/** Whether a text is one well-formed JSON value, at most 64 deep, and begins as `opens` ('{', '['). */
bool json_is_well(const char *text, char opens);

/* The writer's note on a row it wrote in this batch: which entry of the journal. */
struct row_note {
    uint64_t batch;
    size_t entry;
};
struct row_note *row_note(const void *row);

#endif

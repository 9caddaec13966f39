/*
 * Output: an answer of the API as a table, JSON, lines of JSON, YAML, names or ids.
 *
 * JSON is exactly what the API said. A table's columns are rows of a table of their own: where in
 * the object a column's text comes from, or a function that makes it.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/flag.h"

enum output_format {
    OUTPUT_TABLE,
    OUTPUT_WIDE, /* a table with more columns, behind the others */
    OUTPUT_JSON,
    OUTPUT_JSONL, /* each item in one line */
    OUTPUT_YAML,
    OUTPUT_NAME,
    OUTPUT_ID,
    OUTPUT_CSV,      /* all columns, quoted as in RFC 4180 */
    OUTPUT_COLS,     /* a table of the columns named */
    OUTPUT_TEMPLATE, /* a text for each item */
    OUTPUT_FORMAT_COUNT
};

struct output {
    enum output_format format;
    const char *cols; /* "A,B" of OUTPUT_COLS, the text of OUTPUT_TEMPLATE; borrowed */
    bool has_head;    /* tables begin with their heads */
    bool has_color;
    bool is_absolute; /* times as RFC 3339 instead of ages */
    int width;        /* of the terminal; 0: not a terminal, nothing is cut */
    int64_t now_ms;   /* wall clock, for ages */
    FILE *to;
};

/** Adds a column's text for an item; nothing added stands for "-". */
typedef void column_fn(const json_t *item, const struct output *output, struct str *out);

enum {
    COLUMN_RIGHT = 1, /* a number */
    COLUMN_WIDE = 2,  /* only in wide */
    COLUMN_STATE = 4, /* coloured by its word */
    COLUMN_HERE = 8,  /* no field that the server sorts by */
    COLUMN_TIME = 16, /* an amount of time: sorted by what stands at the path */
};

struct column {
    const char *head; /* "NAME" */
    /* "tasks/total": members, a number picks from an array. With fn: what --sort HEAD sorts by, "-"
     * before it where that is the other way round; NULL: what the column shows. */
    const char *path;
    column_fn *fn;  /* instead of the text at path */
    unsigned flags; /* COLUMN_... */
};

/* What kind of thing is shown. */
struct listing {
    const struct column *columns;
    size_t n_columns;
    const char *id;   /* path of what `-o id` prints */
    const char *name; /* path of what `-o name` prints */
};

/* Flags of verbs that list or show, and --time of those that show times. */
extern const struct flag_set output_flags, time_flags;

/**
 * Makes an output to stdout from the flags, the environment and what stdout is.
 *
 * @chosen  the setting `output`, where no flag is given; NULL: table
 * Returns  0; -EINVAL
 */
MUST_CHECK int output_from_args(const struct args *args, const char *chosen, struct output *out,
                                struct err *err);

/** The value at a path of an item, or NULL. */
json_t *output_at(const json_t *item, const char *path);
/** The text at a path: of strings as they are, of numbers and booleans written; "" if there is
 * none. */
void output_text(const json_t *item, const char *path, struct str *out);
/** Adds the time at a path as an age, or as it is for --time=rfc3339. */
void output_age(const json_t *item, const char *path, const struct output *output, struct str *out);

/**
 * Prints a list.
 *
 * @list    {"items":[...]}, or an array
 * Returns  0; -EINVAL for a column that is not there, with the nearest
 */
MUST_CHECK int output_list(const struct output *output, const struct listing *listing,
                           const json_t *list, struct err *err);

/** Prints one object: in tables each column as a line "HEAD  text", without those that have
 * none. */
MUST_CHECK int output_item(const struct output *output, const struct listing *listing,
                           const json_t *item, struct err *err);

/** Whether a table for people is asked for (table, wide, cols). */
bool output_is_table(const struct output *output);
/** Whether columns are asked for: a table's, or those of csv. */
bool output_has_columns(const struct output *output);
/** Whether one item is a row too (cols, csv), so that several of them have one head. */
bool output_has_rows(const struct output *output);
/** Whether names or ids alone are asked for. */
bool output_has_names(const struct output *output);

/** Adds a value as YAML in block style; strings are quoted where they would be read as something
 * else. */
void yaml_format(const json_t *value, struct str *out);

#endif

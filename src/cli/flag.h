/*
 * Flags: one table a verb, from which parsing, help, completion and the manual are made.
 */
#ifndef CLI_FLAG_H
#define CLI_FLAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct cli_flag {
    const char *name;  /* "queue", written --queue */
    char letter;       /* 'q', written -q; 0 none */
    const char *value; /* what it takes, for the help: "NAME"; NULL: a switch */
    const char *help;  /* one sentence without full stop */
    /* The words it takes, separated by '|' ("cols=" stands for all that begin so); a word with '@'
     * before it ("@queue") is a kind of thing whose names the completion asks for ("@sort":
     * fields), with "@=" words that it offers and others may do as well; NULL: any text. */
    const char *words;
    bool is_many; /* may be given several times; else the last one counts */
};

struct flag_set {
    const char *title; /* "Flags of the job" */
    const struct cli_flag *at;
    size_t n;
};

enum { FLAG_SETS_MAX = 8 };

/* What a verb takes. */
struct grammar {
    const struct flag_set *sets[FLAG_SETS_MAX]; /* the verb's own first; ended by NULL */
    const char *rest;                           /* words that are no flags: "JOB..."; NULL none */
    const char *rest_words;                     /* as a flag's words, for the completion */
    size_t n_rest_min, n_rest_max;              /* how many of them */
    bool takes_command;                         /* "-- COMMAND ARG..." */
    /* What somebody may try and is none, NULL: `value` is the flag that was meant, or else `help`
     * why there is none. */
    const struct flag_set *refused;
};

struct args_flag {
    const struct cli_flag *flag;
    const char *value; /* "" of a switch */
};

enum { REST_MANY = 1000 }; /* for n_rest_max */

/* A command line taken apart; all texts are borrowed from argv. { 0 } is empty. */
struct args {
    const struct grammar *grammar;
    VEC_OF(struct args_flag) flags; /* in the order given */
    VEC_OF(const char *) rest;      /* words that are no flags */
    VEC_OF(const char *) command;   /* what stood behind "--" */
};

void args_fini(struct args *args);

/**
 * Takes the words behind a verb apart. Flags and other words may stand in any order; behind "--"
 * nothing is a flag.
 *
 * @argv    argv[argc], borrowed for the life of out
 * @out     { 0 }; to args_fini, also after a failure
 * Returns  0; -EINVAL with the nearest flag or word where one may have been meant
 */
MUST_CHECK int args_parse(const struct grammar *grammar, int argc, const char *const *argv,
                          struct args *out, struct err *err);

/** The last value given for a flag ("" of a switch), or NULL. The flag must be in the grammar. */
const char *args_get(const struct args *args, const char *name);
/** Likewise; NULL too where the grammar has no such flag. */
const char *args_maybe(const struct args *args, const char *name);
/** Whether it was given. */
bool args_has(const struct args *args, const char *name);

/**
 * Reads a flag's value as a whole number or a duration.
 *
 * @out     keeps its value where the flag was not given
 * Returns  0; -EINVAL, -ERANGE with the flag's name
 */
MUST_CHECK int args_int(const struct args *args, const char *name, int64_t min, int64_t max,
                        int64_t *out, struct err *err);
MUST_CHECK int args_duration(const struct args *args, const char *name, int64_t *out_ms,
                             struct err *err);

/** The i-th flag of all sets in order, NULL behind the last. */
const struct cli_flag *grammar_flag(const struct grammar *grammar, size_t i);

#endif

/*
 * Flags: the words of `run`, `submit` and #BERTH lines that make a job's object.
 *
 * The object is flat (one group, its keys beside the job's) and unchecked: job_spec_from_json
 * checks it, and flags_blame then says which flag and line a fault came from.
 */
#ifndef API_FLAGS_H
#define API_FLAGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/problem.h"
#include "base/vec.h"

/* What is done with a flag's value. */
enum flag_kind {
    FLAG_TEXT,
    FLAG_NUMBER,
    FLAG_TRUE,  /* takes no value */
    FLAG_FALSE, /* likewise; sets false */
    FLAG_PAIR,  /* KEY=VALUE into an object; again for more */
    FLAG_IMAGE, /* text; a relative oci: or dir: path is taken from base_dir */
    FLAG_TOLERATION,
    FLAG_TOPOLOGY, /* MODE[:TIER] */
    FLAG_LATER,    /* refused: comes later */
    FLAG_NONE,     /* refused: a key of the job file that no flag sets; help says what does */
};

struct flag {
    const char *name;  /* cpu, of --cpu */
    const char *value; /* what follows, for the help; NULL: nothing */
    const char *help;
    const char *key;    /* of the job's object */
    const char *member; /* beneath key, which is then an object; NULL */
    enum flag_kind kind;
    char letter;   /* q, of -q; 0 */
    bool of_group; /* key belongs to a group */
};

/** The i-th flag, NULL behind the last: for the help and completion. Those that are refused are
 * among them: flag_why says with which words. */
const struct flag *flag_at(size_t i);

/** Why a flag of the table is refused, whatever it says; NULL of one that is taken. */
const char *flag_why(const struct flag *flag);

/* Where a member was set. */
struct flag_place {
    char *pointer; /* in the flat object */
    const struct flag *flag;
    int line, column; /* of a script; 0 on the command line */
};

struct flags {
    json_t *job;          /* the object so far */
    const char *base_dir; /* borrowed; NULL: relative image paths stay as they are */
    int line;             /* of a script, for the messages; 0 */
    const int *columns;   /* of each word; NULL */
    size_t word;          /* that is being taken */
    VEC_OF(struct flag_place) places;
};

void flags_init(struct flags *flags);
void flags_fini(struct flags *flags);

/**
 * Takes one flag, with its value: "--cpu 2", "--cpu=2", "-q research", "-qresearch".
 *
 * @words    words[n], borrowed
 * @at       the flag's place; moves behind it and its value
 * Returns   1 taken; 0 it is no job flag, and nothing changed; -EINVAL its value will not do
 *           (a field of the problem; *at has moved on)
 */
MUST_CHECK int flags_take(struct flags *flags, char *const *words, size_t n, size_t *at,
                          struct problem *problem);

/** The flag that a word may have meant, or NULL. */
const struct flag *flags_nearest(const char *word);

/** What runs: words[0] instead of the image's entry point, and its arguments. */
void flags_set_command(struct flags *flags, char *const *words, size_t n);
/** Only the arguments: of a script, or of the image's entry point. */
void flags_set_args(struct flags *flags, char *const *words, size_t n);

/**
 * Puts what the flags say into a job's object, over what is there.
 *
 * Returns  0; -EINVAL if a flag is about a group and the object has several
 */
MUST_CHECK int flags_apply(const struct flags *flags, json_t *object, struct problem *problem);

/**
 * Puts the flag before the text of each fault that one caused, and sets line and column: of a
 * script, or none. Call it last.
 */
void flags_blame(const struct flags *flags, struct problem *problem);

#endif

/*
 * Problems: a refused request, as RFC 9457 has it, with every faulty field.
 */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H

#include <jansson.h>
#include <stddef.h>

#include "base/code.h"
#include "base/err.h"

/* What is said of a key or a flag that comes later, behind its name. */
#define COMES_LATER_TEXT "comes with a later version; leave it out for now"

struct str;

enum {
    PROBLEM_FIELDS_MAX = 20,
    PROBLEM_OF_WORDS = -1, /* the line of what was said on a command line */
};

/* One faulty field. */
struct problem_field {
    char pointer[200];      /* RFC 6901; "" the whole */
    int line, column;       /* from 1; 0 unknown, PROBLEM_OF_WORDS in no text */
    enum problem_code code; /* UNKNOWN_FIELD, INVALID_FIELD, COMES_LATER */
    char text[240];         /* what is wrong and what to do, without the pointer */
};

/* { 0 } is no problem. The first code set stands for the whole. It is large: what is made for each
 * request clears it up to its fields, of which no more than n_fields are ever read. */
struct problem {
    enum problem_code code;
    size_t n_fields; /* found; those beyond the limit are counted and not kept */
    char detail[400];
    struct problem_field fields[PROBLEM_FIELDS_MAX];
};

/** Makes it none again. */
static inline void problem_clear(struct problem *problem)
{
    problem->code = PROBLEM_NONE;
    problem->n_fields = 0;
    problem->detail[0] = '\0';
}

/** Sets the code and detail, once. Returns -EINVAL. */
int problem_set(struct problem *problem, enum problem_code code, const char *fmt, ...) FORMAT(3, 4);

/** Adds a faulty field; the first one makes the problem's code and detail. Returns -EINVAL. */
int problem_add(struct problem *problem, enum problem_code code, const char *pointer,
                const char *fmt, ...) FORMAT(4, 5);

/** How many of the fields found are kept in `fields`. */
size_t problem_n_kept(const struct problem *problem);

/**
 * Adds the text for a terminal: a line for each field, "PATH:LINE:COLUMN: POINTER: what", or the
 * detail where there are no fields. path may be NULL. What stands in no text has "command line: "
 * instead of the path.
 */
void problem_write(const struct problem *problem, const char *path, struct str *out);

/** The problem document; request_id may be NULL. Yours to json_decref. */
json_t *problem_to_json(const struct problem *problem, const char *request_id);
/** Reads a problem document from an answer's body, for the command line. */
void problem_from_json(const json_t *document, int status, struct problem *out);

#endif

/*
 * Walking a JSON text without reading it: which pointer stands where.
 *
 * For messages only, so it is lenient: what a strict reader accepted it gets right, and of
 * anything else it reads as far as it can.
 */
#ifndef API_JSON_WALK_H
#define API_JSON_WALK_H

#include <stddef.h>

#include "api/problem.h"

struct str;

/** Adds "/key", escaped as RFC 6901 has it. */
void json_pointer_add(struct str *out, const char *key, size_t n);

/** Writes the pointer of the value or key that holds the byte at offset; "" if none does. */
void json_pointer_at(const char *text, size_t n, size_t offset, char out[200]);

/* What a locator needs to know of a field: how much of its pointer was found so far. */
struct located {
    size_t n_matched[PROBLEM_FIELDS_MAX]; /* bytes of the pointer */
};

/** Starts; fields that have their line keep it. */
void located_begin(struct located *located, const struct problem *problem);

/**
 * Notes that a pointer stands at a place. The field gets the place of the longest pointer that
 * leads to it: a key that is missing is reported where its object stands.
 */
void located_note(struct located *located, struct problem *problem, const char *pointer, int line,
                  int column);

#endif

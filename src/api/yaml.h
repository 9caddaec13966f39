/*
 * YAML: libyaml's events into the same values that JSON gives.
 *
 * Plain scalars are those of the YAML 1.2 core schema, so `no` and `1:30` are text. Refused
 * are a second document, a key twice, keys that are not scalars, merge keys, tags other than the
 * core ones, nesting beyond JSON_DEPTH_MAX, and aliases that would make more values than
 * YAML_VALUES_SPARE and the text has bytes.
 */
#ifndef API_YAML_H
#define API_YAML_H

#include <jansson.h>
#include <stddef.h>

#include "api/problem.h"

enum { YAML_VALUES_SPARE = 100000 };

/**
 * Reads a YAML text of one document.
 *
 * @most     bytes; more is TOO_LARGE
 * @problem  { 0 }; gains the faults, with line and column
 * Returns   0 and *out, yours to json_decref (null for an empty text); -EINVAL, and *out as well
 *           where the only faults are numbers that cannot be held, which are texts in it, and keys
 *           that stand twice
 */
MUST_CHECK int yaml_read(const char *text, size_t n, size_t most, json_t **out,
                         struct problem *problem);

/** Sets line and column of the problem's fields that have none, from the text that was read. */
void yaml_locate(const char *text, size_t n, struct problem *problem);

#endif

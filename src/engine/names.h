/*
 * Names: texts of resources' names, "a, b", as arguments of plugins have them.
 */
#ifndef ENGINE_NAMES_H
#define ENGINE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "berth/engine.h"

/** The next name from *at on, `n` bytes at *name; false: there is none. */
bool names_next(const char **at, const char **name, size_t *n);
/** Whether such a text has a name. */
bool names_have(const char *names, const char *name);
/**
 * Refuses what would be read past in such a text, the argument `key` of an object: what is no name, one that stands
 * twice or is cpu or memory, and an argument "KEY.NAME" whose NAME is none of them.
 */
MUST_CHECK int names_check(const struct berth_value *object, const char *key, struct err *err);

#endif

/*
 * Ages and spans as people read them in tables: 9s, 14m02s, 02h11m, 3d04h, 41d.
 */
#ifndef CLI_AGE_H
#define CLI_AGE_H

#include <stdint.h>

#include "base/str.h"

/** Adds a span of time of whole seconds; below 0 counts as 0. */
void age_format(int64_t ms, struct str *out);

/** Adds a span with parts of a second where it is short: 0.08s, 0.5s, 12s, 14m02s. */
void age_format_exact(int64_t ms, struct str *out);

#endif

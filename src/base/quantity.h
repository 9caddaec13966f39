/*
 * Quantities and durations: the texts that people write for amounts and times.
 *
 * An amount is an integer in 0..QUANTITY_MAX: thousandths for cpu, devices and counters,
 * bytes for memory and storage. What is finer than a unit rounds up. Of what is counted, tasks, there are no parts.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define QUANTITY_MAX ((int64_t)1 << 60)

enum quantity_unit {
    QUANTITY_MILLI, /* thousandths: cpu, gpu, counters */
    QUANTITY_WHOLE, /* thousandths too, of whole numbers alone: pods */
    QUANTITY_BYTES, /* memory, storage, ephemeral-storage, hugepages-... */
};

/** The unit in which a resource of this name is held. */
enum quantity_unit quantity_unit_of(const char *resource);

/**
 * Reads a quantity in the usual cluster syntax: "2", "500m", "1.5", "4Gi", "1G", "1e3".
 *
 * @out     0..QUANTITY_MAX in the unit
 * Returns  0; -EINVAL not a quantity, or a part of what is whole; -ERANGE negative or above the limit. The text of the
 *          error says what was read and why it will not do, without naming the field
 */
MUST_CHECK int quantity_parse(const char *text, enum quantity_unit unit, int64_t *out,
                              struct err *err);

/** Adds the shortest exact text: thousandths as "2", "1500m"; bytes as "4Gi", "1025". */
void quantity_format(int64_t value, enum quantity_unit unit, struct str *out);

/**
 * What is held for so many bytes of memory, with headroom.
 *
 * @milli   thousandths of bytes, at least 1000, which is no headroom: to the byte
 * Returns  with headroom in whole Mi, upwards; at most INT64_MAX
 */
int64_t quantity_with_headroom(int64_t bytes, int64_t milli);

#define DURATION_MAX_MS (INT64_C(3650) * 86400000)

/**
 * Reads a duration: "30s", "1h30m", "1.5h", "250ms", "2d"; units ms s m h d, largest first.
 *
 * @out_ms  0..DURATION_MAX_MS, ten years
 * Returns  0; -EINVAL; -ERANGE: below 0 or longer, and says so
 */
MUST_CHECK int duration_parse(const char *text, int64_t *out_ms, struct err *err);

/** Adds the exact text of a duration, such as "1h30m", "250ms"; "0s" for none. */
void duration_format(int64_t ms, struct str *out);

#endif

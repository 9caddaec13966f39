/*
 * JSON: strict reading, and values taken out of objects with every fault at its pointer.
 *
 * A `struct json_at` is a value and the way to it; the pointer is only written down when there
 * is a fault to report. The getters return whether the member was given and is good: an absent
 * one leaves *out as it was, a bad one too, and is a field of the problem.
 */
#ifndef API_JSON_H
#define API_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/problem.h"
#include "base/quantity.h"

enum { JSON_DEPTH_MAX = 128, JSON_POINTER_SIZE = 200 };

/**
 * Reads a JSON text: one value, no key twice, at most JSON_DEPTH_MAX deep.
 *
 * @most     bytes; more is TOO_LARGE
 * @problem  { 0 }; gains BAD_REQUEST with line and column, or INVALID_FIELD with the pointer of
 *           a number that is too large to hold, or of a key that stands twice
 * Returns   0 and *out, yours to json_decref; -EINVAL, and *out as well where there was no other
 *           fault than such numbers, which are texts in it, or such a key, so that the rest can be
 *           checked too
 */
MUST_CHECK int json_read(const char *text, size_t n, size_t most, json_t **out,
                         struct problem *problem);

/** Sets line and column of the problem's fields that have none, from the text that was read. */
void json_locate(const char *text, size_t n, struct problem *problem);

struct json_at {
    const struct json_at *up; /* NULL: this is the whole */
    const char *key;          /* within an object; NULL within a list */
    size_t index;             /* within a list */
    const json_t *value;      /* NULL: absent */
    struct problem *problem;
};

/* What may stand in an object. */
struct json_key {
    const char *name;
    bool comes_later; /* known, not built yet: refused as such */
};

struct json_at json_at_top(const json_t *value, struct problem *problem);
/** The member of an object, value NULL if it is absent or up is no object. */
struct json_at json_at_member(const struct json_at *up, const char *key);
struct json_at json_at_item(const struct json_at *up, size_t index);
/** Writes the pointer (RFC 6901), cut if it is longer. */
void json_at_pointer(const struct json_at *at, char out[JSON_POINTER_SIZE]);
/** Adds a faulty field at the value, unless it has one. Returns -EINVAL. */
int json_refuse(const struct json_at *at, enum problem_code code, const char *fmt, ...)
    FORMAT(3, 4);
/** Whether a fault was found at the value or within it: then what follows from it is none. */
bool json_has_fault(const struct json_at *at);
/** Says in words what a value is: "text", "a number". */
const char *json_type_word(const json_t *value);

/** Refuses what is no object, and each key that is unknown (with the nearest) or comes later. */
bool json_check_object(const struct json_at *at, const struct json_key *keys, size_t n);
/** Refuses what is no list. */
bool json_check_list(const struct json_at *at, size_t most);

bool json_get_text(const struct json_at *up, const char *key, const char **out);
bool json_get_bool(const struct json_at *up, const char *key, bool *out);
bool json_get_int(const struct json_at *up, const char *key, int64_t min, int64_t max,
                  int64_t *out);
/** A number, whole or not. */
bool json_get_real(const struct json_at *up, const char *key, double min, double max, double *out);
/** One of n words; *out is its place. */
bool json_get_word(const struct json_at *up, const char *key, const char *const *words, size_t n,
                   int *out);
/** So many, or a part of them: 3, "3" or "30%"; 0 to most, or to 100. */
bool json_get_part(const struct json_at *up, const char *key, int64_t most, uint32_t *out,
                   bool *is_percent);
/** "30s"; 0 <= *out_ms <= most_ms. */
bool json_get_duration(const struct json_at *up, const char *key, int64_t most_ms, int64_t *out_ms);
/** The value itself as a quantity: text, or a plain number up to 2^53. */
bool json_quantity(const struct json_at *at, enum quantity_unit unit, int64_t *out);

#endif

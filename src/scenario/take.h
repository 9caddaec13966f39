/*
 * Taking members out of a document's objects, into an arena.
 *
 * As the getters of api/json.h: what is absent or faulty leaves *out as it was, and a fault is a
 * field of the problem. Texts are borrowed from the document.
 */
#ifndef SCENARIO_TAKE_H
#define SCENARIO_TAKE_H

#include "api/json.h"
#include "base/arena.h"
#include "berth/engine.h"

struct scenario_files;

/* What all readers of one document share. */
struct reader {
    struct arena *arena;
    int64_t now_ms;
    bool is_strict;               /* of affinities: refuses what Kubernetes refuses of a pod */
    bool has_devices;             /* a node lists its devices one by one */
    struct scenario_files *files; /* NULL: no file is read */
};

/** Text; with what it must not hold, such as "/" (NULL: anything), never empty. */
bool take_name(const struct json_at *up, const char *key, const char *without, const char **out);
bool take_text(const struct json_at *up, const char *key, const char **out);
bool take_i32(const struct json_at *up, const char *key, int64_t min, int *out);
bool take_u32(const struct json_at *up, const char *key, uint32_t *out);
bool take_u64(const struct json_at *up, const char *key, uint64_t *out);
/** Seconds since 1970 or of an age, whole or not, as milliseconds. */
bool take_seconds(const struct json_at *up, const char *key, int64_t *out_ms);
bool take_duration(const struct json_at *up, const char *key, int64_t *out_ms);
/** The unit of what somebody is expected to get of a resource: a share may be a part of what is whole. */
enum quantity_unit share_unit_of(const char *resource);
bool take_quantity(const struct json_at *up, const char *key, enum quantity_unit unit,
                   int64_t *out);
/**
 * The name that a resource goes by. Where devices are listed one by one their class is gpu, and a
 * vendor's name for it an alias; else names stay as they are.
 */
const char *resource_name(const struct reader *r, const char *name);
/** Amounts by name, in the order of names. */
bool take_amounts(struct reader *r, const struct json_at *up, const char *key,
                  struct berth_amounts *out);
/** Texts by key, in the order of keys. */
bool take_labels(struct reader *r, const struct json_at *up, const char *key,
                 struct berth_labels *out);
bool take_words(struct reader *r, const struct json_at *up, const char *key,
                struct berth_words *out);
bool take_numbers(struct reader *r, const struct json_at *up, const char *key,
                  struct berth_numbers *out);
bool take_ports(struct reader *r, const struct json_at *up, const char *key, const uint16_t **out,
                size_t *n);
bool take_topology(const struct json_at *up, const char *key, struct berth_topology *out);
bool take_affinity(struct reader *r, const struct json_at *up, const char *key,
                   const struct berth_affinity **out);
/** Any value, as an engine takes it. */
const struct berth_value *take_value(struct reader *r, const json_t *value, const char *key);

/** The list under key; false if it is absent or no list. */
bool take_list(const struct json_at *up, const char *key, struct json_at *list, size_t *n);

#define CHECK_KEYS(at, keys) json_check_object((at), (keys), COUNT_OF(keys))
/* A key that may stand in an object; for tables of json_key. */
#define KEY(text)                                                                                  \
    {                                                                                              \
        .name = (text)                                                                             \
    }

#endif

/* Taking: see take.h. */
#include "scenario/take.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { LONGEST_LIST = 1000000 };

bool take_text(const struct json_at *up, const char *key, const char **out)
{
    return json_get_text(up, key, out);
}

bool take_name(const struct json_at *up, const char *key, const char *without, const char **out)
{
    struct json_at at = json_at_member(up, key);
    const char *text;

    if (!json_get_text(up, key, &text))
        return false;
    if (!text[0] || (without && strpbrk(text, without))) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "\"%.60s\" is not a name%s%s", text,
                    without ? ": it must not hold " : "", without ? without : "");
        return false;
    }
    *out = text;
    return true;
}

bool take_i32(const struct json_at *up, const char *key, int64_t min, int *out)
{
    int64_t value;

    if (!json_get_int(up, key, min, INT32_MAX, &value))
        return false;
    *out = (int)value;
    return true;
}

bool take_u32(const struct json_at *up, const char *key, uint32_t *out)
{
    int64_t value;

    if (!json_get_int(up, key, 0, INT32_MAX, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

bool take_u64(const struct json_at *up, const char *key, uint64_t *out)
{
    int64_t value;

    if (!json_get_int(up, key, 0, INT64_MAX, &value))
        return false;
    *out = (uint64_t)value;
    return true;
}

bool take_seconds(const struct json_at *up, const char *key, int64_t *out_ms)
{
    double seconds;

    if (!json_get_real(up, key, 0, 1e13, &seconds))
        return false;
    *out_ms = (int64_t)(seconds * 1000 + 0.5);
    return true;
}

bool take_duration(const struct json_at *up, const char *key, int64_t *out_ms)
{
    return json_get_duration(up, key, INT64_MAX, out_ms);
}

enum quantity_unit share_unit_of(const char *resource)
{
    enum quantity_unit unit = quantity_unit_of(resource);

    return unit == QUANTITY_WHOLE ? QUANTITY_MILLI : unit;
}

bool take_quantity(const struct json_at *up, const char *key, enum quantity_unit unit, int64_t *out)
{
    struct json_at at = json_at_member(up, key);

    return at.value && json_quantity(&at, unit, out);
}

static bool take_object(const struct json_at *up, const char *key, struct json_at *object)
{
    *object = json_at_member(up, key);
    if (!object->value)
        return false;
    if (json_is_object(object->value))
        return true;
    json_refuse(object, PROBLEM_INVALID_FIELD, "must be an object, not %s",
                json_type_word(object->value));
    return false;
}

static int cmp_amount(const void *a, const void *b)
{
    return strcmp(((const struct berth_amount *)a)->name, ((const struct berth_amount *)b)->name);
}

const char *resource_name(const struct reader *r, const char *name)
{
    static const char *const gpus[] = { "nvidia.com/gpu", "amd.com/gpu" };

    for (size_t i = 0; i < COUNT_OF(gpus) && r->has_devices; i++)
        if (strcmp(name, gpus[i]) == 0)
            return "gpu";
    return name;
}

bool take_amounts(struct reader *r, const struct json_at *up, const char *key,
                  struct berth_amounts *out)
{
    struct json_at object;
    struct berth_amount *amounts;
    const char *name;
    json_t *value;
    size_t n = 0;

    if (!take_object(up, key, &object))
        return false;
    amounts = ARENA_NEW0_N(r->arena, struct berth_amount, json_object_size(object.value) + 1);
    json_object_foreach((json_t *)object.value, name, value)
    {
        struct json_at at = json_at_member(&object, name);
        int64_t amount;
        if (!name[0])
            json_refuse(&at, PROBLEM_INVALID_FIELD, "a resource has a name");
        else if (json_quantity(&at, quantity_unit_of(name), &amount))
            amounts[n++] = (struct berth_amount){ resource_name(r, name), amount };
    }
    qsort(amounts, n, sizeof(*amounts), cmp_amount);
    *out = (struct berth_amounts){ amounts, n };
    return true;
}

static int cmp_label(const void *a, const void *b)
{
    return strcmp(((const struct berth_label *)a)->key, ((const struct berth_label *)b)->key);
}

bool take_labels(struct reader *r, const struct json_at *up, const char *key,
                 struct berth_labels *out)
{
    struct json_at object;
    struct berth_label *labels;
    const char *name;
    json_t *value;
    size_t n = 0;

    if (!take_object(up, key, &object))
        return false;
    labels = ARENA_NEW0_N(r->arena, struct berth_label, json_object_size(object.value) + 1);
    json_object_foreach((json_t *)object.value, name, value)
    {
        const char *text;
        if (json_get_text(&object, name, &text))
            labels[n++] = (struct berth_label){ name, text };
    }
    qsort(labels, n, sizeof(*labels), cmp_label);
    *out = (struct berth_labels){ labels, n };
    return true;
}

bool take_list(const struct json_at *up, const char *key, struct json_at *list, size_t *n)
{
    *list = json_at_member(up, key);
    *n = 0;
    if (!list->value || !json_check_list(list, LONGEST_LIST))
        return false;
    *n = json_array_size(list->value);
    return true;
}

bool take_words(struct reader *r, const struct json_at *up, const char *key,
                struct berth_words *out)
{
    struct json_at list;
    const char **words;
    size_t n;

    if (!take_list(up, key, &list, &n))
        return false;
    words = ARENA_NEW0_N(r->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        if (!json_is_string(at.value)) {
            json_refuse(&at, PROBLEM_INVALID_FIELD, "must be text, not %s",
                        json_type_word(at.value));
            return false;
        }
        words[i] = json_string_value(at.value);
    }
    *out = (struct berth_words){ words, n };
    return true;
}

static bool number_at(const struct json_at *at, int64_t most, int64_t *out)
{
    json_int_t value = json_integer_value(at->value);

    if (json_is_integer(at->value) && value >= 0 && value <= most) {
        *out = value;
        return true;
    }
    json_refuse(at, PROBLEM_INVALID_FIELD, "must be a whole number from 0 to %lld",
                (long long)most);
    return false;
}

bool take_numbers(struct reader *r, const struct json_at *up, const char *key,
                  struct berth_numbers *out)
{
    struct json_at list;
    uint32_t *numbers;
    size_t n;

    if (!take_list(up, key, &list, &n))
        return false;
    numbers = ARENA_NEW0_N(r->arena, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        int64_t value;
        if (!number_at(&at, INT32_MAX, &value))
            return false;
        numbers[i] = (uint32_t)value;
    }
    *out = (struct berth_numbers){ numbers, n };
    return true;
}

bool take_ports(struct reader *r, const struct json_at *up, const char *key, const uint16_t **out,
                size_t *n)
{
    struct berth_numbers numbers = { 0 };
    uint16_t *ports;

    if (!take_numbers(r, up, key, &numbers))
        return false;
    ports = ARENA_NEW0_N(r->arena, uint16_t, numbers.n + 1);
    for (size_t i = 0; i < numbers.n; i++) {
        struct json_at list = json_at_member(up, key), at = json_at_item(&list, i);
        if (!numbers.at[i] || numbers.at[i] > UINT16_MAX) {
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is not a port: 1 to 65535");
            return false;
        }
        ports[i] = (uint16_t)numbers.at[i];
    }
    *out = ports;
    *n = numbers.n;
    return true;
}

bool take_topology(const struct json_at *up, const char *key, struct berth_topology *out)
{
    static const struct json_key keys[] = { KEY("mode"), KEY("highestTierAllowed"),
                                            KEY("highestTierName") };
    static const char *const modes[] = { "soft", "hard" };
    struct json_at at = json_at_member(up, key);
    int mode = 1;

    if (!at.value || !CHECK_KEYS(&at, keys))
        return false;
    json_get_word(&at, "mode", modes, COUNT_OF(modes), &mode);
    out->mode = mode ? BERTH_TOPOLOGY_HARD : BERTH_TOPOLOGY_SOFT;
    out->has_tier = take_i32(&at, "highestTierAllowed", INT32_MIN, &out->highest_tier);
    take_text(&at, "highestTierName", &out->tier_name);
    return true;
}

static void fill_value(struct reader *r, const json_t *value, const char *key,
                       struct berth_value *out)
{
    struct berth_value *members;
    size_t n = json_is_object(value) ? json_object_size(value) : json_array_size(value), i = 0;
    const char *name;
    json_t *member;

    *out = (struct berth_value){ .key = key };
    switch (json_typeof(value)) {
    case JSON_NULL:
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        out->kind = BERTH_VALUE_BOOL;
        out->truth = json_is_true(value);
        return;
    case JSON_INTEGER:
        out->kind = BERTH_VALUE_INT;
        out->number = json_integer_value(value);
        return;
    case JSON_REAL:
        out->kind = BERTH_VALUE_DOUBLE;
        out->real = json_real_value(value);
        return;
    case JSON_STRING:
        out->kind = BERTH_VALUE_TEXT;
        out->text = json_string_value(value);
        return;
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    members = ARENA_NEW0_N(r->arena, struct berth_value, n + 1);
    out->kind = json_is_object(value) ? BERTH_VALUE_OBJECT : BERTH_VALUE_LIST;
    out->members = members;
    out->n_members = n;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, name, member)
            fill_value(r, member, name, &members[i++]);
        return;
    }
    for (i = 0; i < n; i++)
        fill_value(r, json_array_get(value, i), NULL, &members[i]);
}

const struct berth_value *take_value(struct reader *r, const json_t *value, const char *key)
{
    struct berth_value *out = ARENA_NEW0(r->arena, struct berth_value);

    fill_value(r, value, key, out);
    return out;
}

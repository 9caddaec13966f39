/* What a queue is made of, read from its object: see queue_spec.h. */
#include "server/queue_spec.h"

#include <string.h>

#include "base/name.h"
#include "base/quantity.h"
#include "server/show.h"

enum { WEIGHT_MAX = 1000000, PRIORITY_MAX = 1000000, AMOUNTS_MAX = 100 };
#define MIN_RUNTIME_MAX_MS ((int64_t)365 * 24 * 3600 * 1000)

static const struct json_key queue_keys[] = {
    { "name", false },
    { "parent", false },
    { "state", false },
    { "weight", false },
    { "priority", false },
    { "deserved", false },
    { "guarantee", false },
    { "cap", false },
    { "reclaimable", false },
    { "minRuntime", false },
    { "maxLimit", false },
    { "preemption", false },
    { "hierarchy", false },
    { "hierarchyWeights", false },
    { "nodeGroupAffinity", false },
    { "nodeGroupAntiAffinity", false },
    { "nodeGroupLimits", false },
};

void queue_spec_rename(json_t *body)
{
    json_t *capability = json_object_get(body, "capability");

    if (!capability || json_object_get(body, "cap"))
        return;
    json_object_set(body, "cap", capability);
    json_object_del(body, "capability");
}

/* Amounts as texts into amounts as rows have them, under the same key. */
static void read_amounts(const struct json_at *top, const char *key, json_t *spec)
{
    struct json_at at = json_at_member(top, key);
    json_t *out, *value;
    const char *resource;

    if (!at.value)
        return;
    if (!json_is_object(at.value) || json_object_size(at.value) > AMOUNTS_MAX) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "want an object of at most %d amounts",
                    AMOUNTS_MAX);
        return;
    }
    out = json_object();
    json_object_foreach((json_t *)at.value, resource, value)
    {
        struct json_at item = json_at_member(&at, resource);
        int64_t amount = 0;

        if (!name_is_valid_label(resource))
            json_refuse(&item, PROBLEM_INVALID_FIELD, "`%s` is no name for a resource", resource);
        else if (json_quantity(&item, quantity_unit_of(resource), &amount))
            show_number(out, resource, amount);
    }
    show_set(spec, key, out);
}

/* ---- hierarchy and groups of nodes ---- */

static size_t count_steps(const char *path)
{
    size_t n = 1;

    for (; *path; path++)
        n += *path == '/';
    return n;
}

/* "root/eng/dev" and "100/50/50": a weight for each step. */
static void read_hierarchy(const struct json_at *top, json_t *spec)
{
    struct json_at at = json_at_member(top, "hierarchy");
    struct json_at at_weights = json_at_member(top, "hierarchyWeights");
    const char *steps = NULL, *weights = NULL;

    if (json_get_text(top, "hierarchy", &steps) && !name_is_valid_label(steps))
        json_refuse(&at, PROBLEM_INVALID_FIELD, "want steps such as root/eng/dev");
    if (json_get_text(top, "hierarchyWeights", &weights) &&
        (strspn(weights, "0123456789/") != strlen(weights) || !steps ||
         count_steps(weights) != count_steps(steps)))
        json_refuse(&at_weights, PROBLEM_INVALID_FIELD,
                    "want a whole number for each step of the hierarchy, such as 100/50/50");
    show_text(spec, "hierarchy", steps);
    show_text(spec, "hierarchyWeights", weights);
}

static void read_group_names(const struct json_at *up, const char *key, json_t *out)
{
    struct json_at at = json_at_member(up, key);
    json_t *names, *name;
    size_t i;

    if (!at.value || !json_check_list(&at, AMOUNTS_MAX))
        return;
    names = json_array();
    json_array_foreach((json_t *)at.value, i, name)
    {
        const char *text = json_string_value(name);

        if (!text || !name_is_valid_label(text))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "want names of groups of nodes");
        else
            json_array_append(names, name);
    }
    show_set(out, key, names);
}

static void read_groups(const struct json_at *top, const char *key, json_t *spec)
{
    static const struct json_key keys[] = { { "required", false }, { "preferred", false } };
    struct json_at at = json_at_member(top, key);
    json_t *out;

    if (!at.value || !json_check_object(&at, keys, COUNT_OF(keys)))
        return;
    out = json_object();
    read_group_names(&at, "required", out);
    read_group_names(&at, "preferred", out);
    show_set(spec, key, out);
}

static void read_group_limits(const struct json_at *top, json_t *spec)
{
    struct json_at at = json_at_member(top, "nodeGroupLimits");
    const char *group;
    json_t *out, *value;

    if (!at.value)
        return;
    if (!json_is_object(at.value) || json_object_size(at.value) > AMOUNTS_MAX) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "want an object of amounts by group of nodes");
        return;
    }
    out = json_object();
    json_object_foreach((json_t *)at.value, group, value)
    {
        if (name_is_valid_label(group))
            read_amounts(&at, group, out);
        else
            json_refuse(&at, PROBLEM_INVALID_FIELD, "`%s` is no name for a group of nodes", group);
    }
    show_set(spec, "nodeGroupLimits", out);
}

static void read_preemption(const struct json_at *top, json_t *spec)
{
    static const char *const words[] = { "allowed", "never" };
    int word;

    if (json_get_word(top, "preemption", words, COUNT_OF(words), &word))
        show_text(spec, "preemption", words[word]);
}

/* ---- the whole ---- */

static void read_number(const struct json_at *top, const char *key, int64_t min, int64_t max,
                        json_t *spec)
{
    int64_t number;

    if (json_get_int(top, key, min, max, &number))
        show_number(spec, key, number);
}

static void read_name(const struct json_at *top, const char *key, const char **out)
{
    struct json_at at = json_at_member(top, key);

    if (json_get_text(top, key, out) && !name_is_valid(*out))
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "\"%.70s\" is not a name: 1 to 63 of a-z, 0-9 and -", *out);
}

struct op *queue_spec_read(struct call *call, const json_t *body, const char *path_name)
{
    struct json_at top = json_at_top(body, &call->problem), at_name;
    const char *name = path_name, *parent = "root";
    int state = QUEUE_OPEN;
    bool is_reclaimable;
    int64_t min_runtime_ms, max_limit_ms = 0;
    json_t *spec;
    struct op *op;

    if (!json_check_object(&top, queue_keys, COUNT_OF(queue_keys)))
        return NULL;
    spec = json_object();
    at_name = json_at_member(&top, "name");
    read_name(&top, "name", &name);
    read_name(&top, "parent", &parent);
    if (!name || (path_name && !text_eq(name, path_name)))
        json_refuse(&at_name, PROBLEM_INVALID_FIELD,
                    path_name ? "it differs from the path's name" : "a queue needs a name");
    json_get_word(&top, "state", queue_state_words, QUEUE_STATE_COUNT, &state);
    read_number(&top, "weight", 1, WEIGHT_MAX, spec);
    read_number(&top, "priority", -PRIORITY_MAX, PRIORITY_MAX, spec);
    read_amounts(&top, "deserved", spec);
    read_amounts(&top, "guarantee", spec);
    read_amounts(&top, "cap", spec);
    if (json_get_bool(&top, "reclaimable", &is_reclaimable))
        show_set(spec, "reclaimable", json_boolean(is_reclaimable));
    read_preemption(&top, spec);
    read_hierarchy(&top, spec);
    read_groups(&top, "nodeGroupAffinity", spec);
    read_groups(&top, "nodeGroupAntiAffinity", spec);
    read_group_limits(&top, spec);
    if (json_get_duration(&top, "minRuntime", MIN_RUNTIME_MAX_MS, &min_runtime_ms))
        show_number(spec, "minRuntime", min_runtime_ms);
    if (json_get_duration(&top, "maxLimit", JOB_DURATION_MAX_MS, &max_limit_ms) && max_limit_ms)
        show_number(spec, "maxLimit", max_limit_ms);
    if (call->problem.code) {
        json_decref(spec);
        return NULL;
    }
    op = op_new(OP_QUEUE_PUT, NULL, NULL);
    op->queue_put.name = text_copy(name);
    op->queue_put.parent = text_copy(text_eq(name, "root") ? "" : parent);
    op->queue_put.spec = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);
    op->queue_put.state = (enum queue_state)state;
    op->queue_put.by = text_copy(call->who.user);
    json_decref(spec);
    return op;
}

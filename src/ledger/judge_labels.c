/* Judge of labels: a merge patch, laid over those of a node or a job. */
#include "ledger/judge_part.h"

#include <string.h>

#include "base/name.h"

/* Lays one label over those there are, or takes it away. */
static void lay_label(struct trial *t, json_t *all, const char *key, json_t *value,
                      const char *absent)
{
    CLEANUP(freep) char *pointer = text_format("/labels/%s", key);

    if (!name_is_valid_label(key))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, pointer, "`%s` is no name for a label", key);
    else if (json_is_string(value))
        json_object_set(all, key, value);
    else if (!json_is_null(value))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, pointer,
                    "want text, or null to take it away");
    else if (json_object_del(all, key) < 0 && absent)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, pointer, "%s", absent);
}

static void check_size(struct trial *t, json_t *all, size_t max_bytes)
{
    size_t n = 0;
    const char *key;
    json_t *value;

    json_object_foreach(all, key, value) n += strlen(key) + json_string_length(value);
    if (n > max_bytes)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/labels", "%zu bytes are more than %zu", n,
                    max_bytes);
}

char *judge_labels(struct trial *t, const char *now, const char *changes,
                   const struct labels_rule *rule)
{
    json_t *all = json_loads(*now ? now : "{}", 0, NULL), *value;
    json_t *more = json_loads(changes, JSON_REJECT_DUPLICATES, NULL);
    const char *key;
    char *text = NULL;

    if (!json_is_object(more))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/labels", "it must be an object");
    else
        json_object_foreach(more, key, value) lay_label(t, all, key, value, rule->absent);
    if (rule->max_bytes)
        check_size(t, all, rule->max_bytes);
    if (t->problem->code == PROBLEM_NONE)
        text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(all);
    json_decref(more);
    return text;
}

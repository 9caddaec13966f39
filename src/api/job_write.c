/*
 * Writing a job: its canonical form.
 *
 * Every default that has a value is written out, what is empty is left out, and keys stand in
 * the order of docs/job-format.md, so that equal jobs are equal texts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/job.h"
#include "api/job_words.h"
#include "base/digest.h"
#include "base/quantity.h"
#include "base/str.h"

/* What a spec holds was read as UTF-8, so making a value of it cannot fail. */
static void set_new(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        abort();
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text[0])
        set_new(object, key, json_string(text));
}

static void set_duration(json_t *object, const char *key, int64_t ms)
{
    CLEANUP(str_fini) struct str text = { 0 };

    duration_format(ms, &text);
    set_new(object, key, json_string(str_text(&text)));
}

static void set_labels(json_t *object, const char *key, const struct labels *labels)
{
    json_t *value;

    if (!labels->n)
        return;
    value = json_object();
    for (size_t i = 0; i < labels->n; i++)
        set_new(value, labels->at[i].key, json_string(labels->at[i].value));
    set_new(object, key, value);
}

static void set_texts(json_t *object, const char *key, const struct texts *texts)
{
    json_t *value;

    if (!texts->n)
        return;
    value = json_array();
    for (size_t i = 0; i < texts->n; i++)
        json_array_append_new(value, json_string(texts->at[i]));
    set_new(object, key, value);
}

static void set_amounts(json_t *object, const char *key, const struct amounts *amounts)
{
    json_t *value;

    if (!amounts->n)
        return;
    value = json_object();
    for (size_t i = 0; i < amounts->n; i++) {
        CLEANUP(str_fini) struct str text = { 0 };
        quantity_format(amounts->at[i].value, quantity_unit_of(amounts->at[i].resource), &text);
        set_new(value, amounts->at[i].resource, json_string(str_text(&text)));
    }
    set_new(object, key, value);
}

static void set_tolerations(json_t *object, const struct job_group *group)
{
    json_t *list;

    if (!group->n_tolerations)
        return;
    list = json_array();
    for (size_t i = 0; i < group->n_tolerations; i++) {
        const struct toleration *toleration = &group->tolerations[i];
        json_t *value = json_object();
        set_text(value, "key", toleration->key);
        set_text(value, "operator",
                 operator_words[toleration->is_exists ? OPERATOR_EXISTS : OPERATOR_EQUAL]);
        set_text(value, "value", toleration->value);
        set_text(value, "effect", toleration->effect);
        json_array_append_new(list, value);
    }
    set_new(object, "tolerations", list);
}

static void set_topology(json_t *object, const struct job_group *group)
{
    json_t *value;

    if (group->topology == JOB_TOPOLOGY_NONE)
        return;
    value = json_object();
    set_text(value, "mode", topology_words[group->topology - 1]);
    set_text(value, "tier", group->tier_name);
    if (group->has_tier)
        set_new(value, "tier", json_integer(group->tier));
    set_new(object, "topology", value);
}

static json_t *group_to_json(const struct job_group *group)
{
    json_t *object = json_object();

    set_text(object, "name", group->name);
    set_new(object, "replicas", json_integer(group->replicas));
    set_new(object, "minAvailable", json_integer(group->min_available));
    set_text(object, "image", group->image);
    set_texts(object, "command", &group->command);
    set_texts(object, "args", &group->args);
    set_labels(object, "env", &group->env);
    set_text(object, "workDir", group->work_dir);
    set_text(object, "user", group->user);
    set_text(object, "runtime", group->runtime);
    set_amounts(object, "resources", &group->resources);
    set_amounts(object, "requires", &group->requires_);
    set_text(object, "capability", group->capability);
    set_text(object, "node", group->node);
    set_labels(object, "nodeSelector", &group->node_selector);
    set_labels(object, "preferredLabels", &group->preferred_labels);
    set_tolerations(object, group);
    set_topology(object, group);
    if (group->affinity)
        set_new(object, "affinity", json_deep_copy(group->affinity));
    set_text(object, "network", network_words[group->network]);
    return object;
}

static json_t *retries_to_json(const struct job_spec *spec)
{
    json_t *object = json_object();

    set_new(object, "max", json_integer(spec->retries_max));
    set_duration(object, "backoff", spec->backoff_ms);
    set_duration(object, "backoffMax", spec->backoff_max_ms);
    return object;
}

static void set_budget(json_t *object, const struct job_spec *spec)
{
    CLEANUP(freep) char *percent = text_format("%" PRIu32 "%%", spec->budget_value);
    json_t *value;

    if (spec->budget == JOB_BUDGET_NONE)
        return;
    value = json_object();
    set_new(value, budget_words[spec->budget - 1],
            spec->budget_is_percent ? json_string(percent) : json_integer(spec->budget_value));
    set_new(object, "budget", value);
}

json_t *job_spec_to_json(const struct job_spec *spec)
{
    json_t *object = json_object(), *groups = json_array();

    set_text(object, "name", spec->name);
    set_text(object, "namespace", spec->ns);
    set_text(object, "queue", spec->queue);
    set_text(object, "kind", "batch");
    set_new(object, "priority", json_integer(spec->priority));
    set_new(object, "minAvailable", json_integer(spec->min_available));
    if (spec->limit_ms)
        set_duration(object, "limit", spec->limit_ms);
    if (spec->deadline_ms)
        set_duration(object, "deadline", spec->deadline_ms);
    set_new(object, "retries", retries_to_json(spec));
    set_text(object, "onFailure", on_failure_words[spec->on_failure]);
    set_text(object, "onDisconnect", on_disconnect_words[spec->on_disconnect]);
    set_duration(object, "grace", spec->grace_ms);
    set_labels(object, "labels", &spec->labels);
    set_new(object, "preemptable", json_boolean(spec->is_preemptable));
    set_budget(object, spec);
    for (size_t i = 0; i < spec->n_groups; i++)
        json_array_append_new(groups, group_to_json(&spec->groups[i]));
    set_new(object, "groups", groups);
    return object;
}

static char *to_text(const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);

    if (!text)
        abort();
    return text;
}

char *job_spec_to_text(const struct job_spec *spec, char *digest)
{
    json_t *object = job_spec_to_json(spec);
    char *text = to_text(object);

    if (digest)
        digest_hex(text, strlen(text), digest);
    if (spec->memory_milli > 1000)
        set_new(object, "memoryMilli", json_integer(spec->memory_milli));
    if (spec->limit_submitted_ms != LIMIT_UNCHANGED)
        set_duration(object, "limitSubmitted", spec->limit_submitted_ms);
    if (spec->memory_milli > 1000 || spec->limit_submitted_ms != LIMIT_UNCHANGED) {
        mem_free(text);
        text = to_text(object);
    }
    json_decref(object);
    return text;
}

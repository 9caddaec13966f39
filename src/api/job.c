/* Jobs: see job.h. Reading is in job_read.c, writing in job_write.c. */
#include "api/job.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "api/json.h"
#include "api/script.h"
#include "api/yaml.h"
#include "base/name.h"
#include "base/quantity.h"
#include "base/str.h"

static void labels_fini(struct labels *labels)
{
    for (size_t i = 0; i < labels->n; i++) {
        mem_free(labels->at[i].key);
        mem_free(labels->at[i].value);
    }
    mem_free(labels->at);
}

static void texts_fini(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        mem_free(texts->at[i]);
    mem_free(texts->at);
}

static void amounts_fini(struct amounts *amounts)
{
    for (size_t i = 0; i < amounts->n; i++)
        mem_free(amounts->at[i].resource);
    mem_free(amounts->at);
}

static void group_fini(struct job_group *group)
{
    mem_free(group->name);
    mem_free(group->image);
    texts_fini(&group->command);
    texts_fini(&group->args);
    labels_fini(&group->env);
    mem_free(group->work_dir);
    mem_free(group->user);
    mem_free(group->runtime);
    amounts_fini(&group->resources);
    amounts_fini(&group->holds);
    amounts_fini(&group->requires_);
    mem_free(group->capability);
    mem_free(group->node);
    mem_free(group->tier_name);
    json_decref(group->affinity);
    labels_fini(&group->node_selector);
    labels_fini(&group->preferred_labels);
    for (size_t i = 0; i < group->n_tolerations; i++) {
        mem_free(group->tolerations[i].key);
        mem_free(group->tolerations[i].value);
        mem_free(group->tolerations[i].effect);
    }
    mem_free(group->tolerations);
}

struct job_spec *job_spec_ref(const struct job_spec *spec)
{
    struct job_spec *shared = (struct job_spec *)spec; /* only its count changes */

    atomic_fetch_add_explicit(&shared->n_more, 1, memory_order_relaxed);
    return shared;
}

void job_spec_free(struct job_spec *spec)
{
    if (!spec || atomic_fetch_sub_explicit(&spec->n_more, 1, memory_order_acq_rel) > 0)
        return;
    mem_free(spec->name);
    mem_free(spec->ns);
    mem_free(spec->queue);
    labels_fini(&spec->labels);
    for (size_t i = 0; i < spec->n_groups; i++)
        group_fini(&spec->groups[i]);
    mem_free(spec->groups);
    mem_free(spec);
}

void job_spec_freep(struct job_spec **spec)
{
    job_spec_free(*spec);
    *spec = NULL;
}

static void set_holds(struct job_group *group, int64_t memory_milli)
{
    const struct amounts *asks = &group->resources;
    struct amounts *holds = &group->holds;

    amounts_fini(holds);
    *holds = (struct amounts){ NEW0_N(struct amount, asks->n + 1), asks->n };
    for (size_t i = 0; i < asks->n; i++) {
        const struct amount *ask = &asks->at[i];
        bool is_memory = strcmp(ask->resource, "memory") == 0;

        holds->at[i].resource = text_copy(ask->resource);
        holds->at[i].value =
            is_memory ? quantity_with_headroom(ask->value, memory_milli) : ask->value;
    }
}

void job_spec_set_headroom(struct job_spec *spec, int64_t memory_milli)
{
    spec->memory_milli = memory_milli;
    for (size_t i = 0; i < spec->n_groups; i++)
        set_holds(&spec->groups[i], memory_milli);
}

int64_t job_spec_own_limit(const struct job_spec *spec)
{
    return spec->limit_submitted_ms == LIMIT_UNCHANGED ? spec->limit_ms : spec->limit_submitted_ms;
}

void job_spec_set_limit(struct job_spec *spec, int64_t limit_ms)
{
    int64_t own_ms = job_spec_own_limit(spec);

    spec->limit_ms = limit_ms;
    spec->limit_submitted_ms = limit_ms == own_ms ? LIMIT_UNCHANGED : own_ms;
}

void job_name_of_path(const char *path, char out[64])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = 0;

    for (; *base && n < NAME_MAX_BYTES && !(*base == '.' && n); base++) {
        char c = *base >= 'A' && *base <= 'Z' ? (char)(*base - 'A' + 'a') : *base;
        bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        if (fits || n)
            out[n++] = fits ? c : '-';
    }
    out[n] = '\0';
    if (!n)
        memcpy(out, "job", sizeof("job"));
}

static bool is_json(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i < n && text[i] == '{';
}

static int object_from_script(const char *path, const char *text, size_t n, json_t **out,
                              struct problem *problem)
{
    CLEANUP(flags_fini) struct flags flags;
    const char *slash = strrchr(path, '/');
    int r;

    flags_init(&flags);
    r = script_read(slash ? slash + 1 : path, text, n, &flags, problem);
    if (r == 0)
        *out = json_incref(flags.job);
    return r;
}

int job_object_from_text(const char *path, const char *text, size_t n, json_t **out,
                         struct problem *problem)
{
    if (n > JOB_BODY_MAX_BYTES)
        return problem_set(problem, PROBLEM_TOO_LARGE, "%zu bytes; a job has at most %d", n,
                           JOB_BODY_MAX_BYTES);
    if (script_is(text, n))
        return object_from_script(path, text, n, out, problem);
    if (is_json(text, n))
        return json_read(text, n, JOB_BODY_MAX_BYTES, out, problem);
    return yaml_read(text, n, JOB_BODY_MAX_BYTES, out, problem);
}

static void script_locate(const char *text, size_t n, struct problem *problem)
{
    CLEANUP(flags_fini) struct flags flags;
    struct problem again = { 0 };

    flags_init(&flags);
    if (script_read("script", text, n, &flags, &again) == 0)
        flags_blame(&flags, problem);
}

void job_text_locate(const char *text, size_t n, struct problem *problem)
{
    if (!problem->n_fields)
        return;
    if (script_is(text, n))
        script_locate(text, n, problem);
    else if (is_json(text, n))
        json_locate(text, n, problem);
    else
        yaml_locate(text, n, problem);
}

int job_spec_from_text(const char *path, const char *text, size_t n, struct job_spec **out,
                       struct problem *problem)
{
    json_auto_t *object = NULL;
    char name[NAME_MAX_BYTES + 1];
    int r = job_object_from_text(path, text, n, &object, problem);

    if (!object)
        return r;
    job_name_of_path(path, name);
    r = job_spec_from_json(object, name, out, problem);
    if (r < 0)
        job_text_locate(text, n, problem);
    return r;
}

/* A job as the API shows it: docs/api.md, "Jobs". */
#include "server/show.h"

#include <assert.h>
#include <string.h>

#include "base/name.h"
#include "base/quantity.h"
#include "server/cycle.h"
#include "server/nodes.h"
#include "server/view.h"

enum { NODES_SHOWN = 10 };

static json_t *show_counts(const struct row_job *row)
{
    json_t *counts = json_object();

    show_number(counts, "total", row->n_tasks);
    show_number(counts, "pending", row->n_pending);
    show_number(counts, "live", row->n_live);
    show_number(counts, "running", row->n_running);
    show_number(counts, "succeeded", row->n_succeeded);
    show_number(counts, "failed", row->n_failed);
    show_number(counts, "cancelled", row->n_cancelled);
    return counts;
}

static json_t *show_resources(const struct job_spec *spec)
{
    json_t *sums = json_object(), *out;

    for (size_t i = 0; i < spec->n_groups; i++) {
        const struct job_group *group = &spec->groups[i];

        for (size_t j = 0; j < group->resources.n; j++) {
            const struct amount *amount = &group->resources.at[j];
            int64_t all = 0;

            if (__builtin_mul_overflow(amount->value, (int64_t)group->replicas, &all) ||
                all > QUANTITY_MAX)
                all = QUANTITY_MAX;
            show_add_amount(sums, amount->resource, all);
        }
    }
    out = show_amounts(sums);
    json_decref(sums);
    return out;
}

static void show_limit(json_t *object, const struct job_spec *spec)
{
    if (spec->limit_ms)
        show_duration(object, "limit", spec->limit_ms);
    if (spec->limit_submitted_ms != LIMIT_UNCHANGED)
        show_duration(object, "limitSubmitted", spec->limit_submitted_ms);
}

void show_job_resources(json_t *object, const struct row_job *row)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct err err = { 0 };

    if (job_spec_from_canonical(row->spec, &spec, &err) < 0)
        return;
    show_set(object, "resources", show_resources(spec));
    show_limit(object, spec);
}

static json_t *show_node_counts(const struct berth_reason *reason)
{
    json_t *list = json_array();

    for (size_t i = 0; i < reason->n_counts; i++) {
        json_t *count = json_object();

        show_text(count, "code", wait_codes[reason->counts[i].code].word);
        show_text(count, "resource", reason->counts[i].resource);
        show_number(count, "count", reason->counts[i].n);
        json_array_append_new(list, count);
    }
    return list;
}

void show_blocker(json_t *object, const char *key, const char *blocker, bool hides_jobs)
{
    /* A job that is only planned holds nothing yet. */
    if (blocker && !text_eq(blocker, VIEW_PLAN_ID) && !(hides_jobs && text_begins(blocker, "j-")))
        show_text(object, key, blocker);
}

json_t *show_reason(const struct berth_reason *reason, const struct job_spec *spec, bool has_nodes,
                    bool hides_jobs)
{
    json_t *object = json_object();

    show_text(object, "code", wait_codes[reason->code].word);
    if (reason->resource) {
        show_text(object, "resource", reason->resource);
        show_asked(object, spec, reason->resource, reason->asked);
        show_amount(object, "free", reason->resource, reason->free);
        show_amount(object, "limit", reason->resource, reason->limit);
    }
    show_text(object, "node", reason->node);
    show_text(object, "wants", reason->wants);
    show_text(object, "has", reason->has);
    show_blocker(object, "blocker", reason->blocker, hides_jobs);
    show_time(object, "until", reason->until_ms);
    if (reason->needed) {
        show_number(object, "placed", reason->placed);
        show_number(object, "needed", reason->needed);
    }
    if (has_nodes && reason->n_counts)
        show_set(object, "nodes", show_node_counts(reason));
    return object;
}

static json_t *show_plain_reason(enum wait_code code, int64_t n_tasks)
{
    json_t *object = json_object();

    show_number(object, "tasks", n_tasks);
    show_text(object, "code", wait_codes[code].word);
    return object;
}

/* The specification of a job whose tasks hold more than they state, where it is not at hand. */
static void read_headroom(const struct row_job *row, struct job_spec **out)
{
    struct err err = { 0 };

    if (row->spec && strstr(row->spec, "\"memoryMilli\":") &&
        job_spec_from_canonical(row->spec, out, &err) < 0)
        *out = NULL;
}

/* Why the groups of a job wait; NULL if nothing does. */
static json_t *show_reasons(const struct row_job *row, const struct job_spec *spec,
                            const struct show_view *view)
{
    CLEANUP(job_spec_freep) struct job_spec *read = NULL;
    const struct berth_verdict *found;
    json_t *list;
    size_t n = 0;

    if (!view || job_is_over((enum job_state)row->state) || row->n_pending == 0)
        return NULL;
    list = json_array();
    found = view->verdicts ? verdicts_find(view->verdicts, row->id, &n) : NULL;
    if (n && !spec)
        read_headroom(row, &read);
    for (size_t i = 0; i < n; i++) {
        json_t *object = json_object(),
               *reason = show_reason(found[i].reason, spec ? spec : read, true, view->hides_jobs);

        show_text(object, "group", found[i].group);
        show_number(object, "tasks", found[i].n_tasks);
        json_object_update(object, reason);
        json_decref(reason);
        json_array_append_new(list, object);
    }
    if (!n)
        json_array_append_new(
            list,
            show_plain_reason(row->is_held ? WAIT_HELD : WAIT_NOT_YET_CONSIDERED, row->n_pending));
    return list;
}

/* Those of them that are not heard of, and since when. */
static void show_silent(json_t *object, const struct show_view *view, const char *const *names,
                        size_t n)
{
    json_t *list = NULL;

    for (size_t i = 0; i < n && view->reader; i++) {
        int64_t since = show_silent_since(view->nodes, view->reader, names[i]);
        json_t *silent;

        if (!since)
            continue;
        silent = json_object();
        show_text(silent, "node", names[i]);
        show_time(silent, "since", since);
        list = list ? list : json_array();
        json_array_append_new(list, silent);
    }
    if (list)
        show_set(object, "silent", list);
}

/* The nodes that a job runs on: the first ones by name, and how many. */
static void show_nodes(json_t *object, const struct row_job *row, const struct show_view *view)
{
    const char *names[NODES_SHOWN];
    json_t *list;
    size_t n;

    if (!view || !view->nodes || !row->n_live)
        return;
    n = nodes_of_job(view->nodes, row->id, names, NODES_SHOWN);
    if (!n)
        return;
    list = json_array();
    for (size_t i = 0; i < n && i < NODES_SHOWN; i++)
        json_array_append_new(list, show_value(names[i]));
    show_set(object, "nodes", list);
    show_number(object, "nodeCount", (int64_t)n);
    show_silent(object, view, names, n < NODES_SHOWN ? n : NODES_SHOWN);
}

static void show_end(json_t *object, const struct row_job *row)
{
    /* 0 is the code of one that succeeded: of another it would be that of tasks that never ran. */
    if (row->state == JOB_SUCCEEDED || (job_is_over((enum job_state)row->state) && row->code))
        show_number(object, "code", row->code);
    if (row->stop_cause)
        show_text(object, "stopCause", cause_words[row->stop_cause]);
    show_text(object, "stoppedBy", row->stop_by);
    show_text(object, "reason", row->reason);
}

/* All but its specification as it was written. */
static json_t *show_all(const struct row_job *row, const struct job_spec *spec,
                        const struct show_view *view)
{
    json_t *object = json_object(), *reasons, *labels;
    char id[NAME_ATTEMPT_SIZE];

    name_job(row->id, id);
    show_text(object, "id", id);
    show_text(object, "name", row->name);
    show_text(object, "namespace", row->ns);
    show_text(object, "user", row->user);
    show_text(object, "queue", row->queue);
    show_number(object, "priority", row->priority);
    show_text(object, "state", job_state_words[row->state]);
    show_set(object, "admitted", json_boolean(row->is_admitted));
    show_set(object, "held", json_boolean(row->is_held));
    show_set(object, "suspended", json_boolean(row->is_suspended));
    show_set(object, "degraded", json_boolean(row->is_degraded));
    show_set(object, "tasks", show_counts(row));
    if (spec) {
        show_set(object, "resources", show_resources(spec));
        show_limit(object, spec);
    }
    if (spec && spec->memory_milli > 1000)
        show_set(object, "memoryHeadroom", json_real((double)spec->memory_milli / 1000));
    reasons = show_reasons(row, spec, view);
    if (reasons)
        show_set(object, "reasons", reasons);
    show_nodes(object, row, view);
    labels = show_read_object(row->labels);
    if (json_object_size(labels))
        show_set(object, "labels", labels);
    else
        json_decref(labels);
    show_end(object, row);
    show_time(object, "submittedAt", row->submitted_at);
    if (row->state == JOB_PENDING)
        show_time(object, "pendingSince", row->pending_at);
    show_time(object, "startedAt", row->started_at);
    if (row->running_at != row->started_at)
        show_time(object, "runningSince", row->running_at);
    show_time(object, "endedAt", row->ended_at);
    show_number(object, "revision", (int64_t)row->rev);
    return object;
}

/* As it can be submitted again: the row's, but without what was fixed when it was accepted. Yours,
 * or NULL: it is the row's. */
static char *spec_to_submit(const struct job_spec *spec)
{
    CLEANUP(json_decrefp) json_t *object = NULL;

    if (!spec || (spec->memory_milli <= 1000 && spec->limit_submitted_ms == LIMIT_UNCHANGED))
        return NULL;
    object = job_spec_to_json(spec);
    return json_dumps(object, JSON_COMPACT);
}

json_t *show_job(const struct row_job *row, const struct job_spec *spec,
                 const struct show_view *view)
{
    json_t *object = show_all(row, spec, view);
    CLEANUP(freep) char *text = spec_to_submit(spec);

    if (spec)
        show_json(object, "spec", text ? text : row->spec);
    return object;
}

char *show_job_text(const struct row_job *row, const struct job_spec *spec,
                    const struct show_view *view)
{
    json_t *object = show_all(row, spec, view);
    CLEANUP(freep) char *text = json_dumps(object, JSON_COMPACT);
    CLEANUP(freep) char *other = spec_to_submit(spec);
    CLEANUP(str_fini) struct str out = { 0 };

    json_decref(object);
    assert(text);
    /* The row's is JSON already, and the last member. */
    str_add_bytes(&out, text, strlen(text) - 1);
    str_add(&out, ",\"spec\":");
    str_add(&out, other ? other : row->spec);
    str_add(&out, "}\n");
    return str_take(&out);
}

/*
 * Reading a job: every fault of the whole object is found in one pass, each at its pointer.
 *
 * A faulty member leaves the field at its default and the pass goes on; the job is given out
 * only if the problem stayed empty.
 */
#include "api/job.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/job_group.h"
#include "api/job_words.h"
#include "api/json.h"
#include "base/str.h"

enum { KEYS_MAX = 64 };

/* In the order of docs/job-format.md. */
static const struct json_key job_keys[] = {
    { .name = "name" },        { .name = "namespace" }, { .name = "queue" },
    { .name = "kind" },        { .name = "priority" },  { .name = "minAvailable" },
    { .name = "gang" },        { .name = "limit" },     { .name = "deadline" },
    { .name = "retries" },     { .name = "onFailure" }, { .name = "onDisconnect" },
    { .name = "grace" },       { "after", true },       { .name = "labels" },
    { .name = "preemptable" }, { .name = "budget" },    { .name = "groups" },
};

/* Of a job that was accepted; no user's file says them. */
static const struct json_key accepted_keys[] = {
    { .name = "memoryMilli" },
    { .name = "limitSubmitted" },
};

static const struct json_key retries_keys[] = {
    { .name = "max" },
    { .name = "backoff" },
    { .name = "backoffMax" },
};

/* Whether the key of a group was read as it was meant. */
static bool is_sound(const struct json_at *groups, size_t i, const char *key)
{
    struct json_at item = json_at_item(groups, i), at = json_at_member(&item, key);

    return json_is_object(item.value) && !json_has_fault(&at);
}

/* A job is kept together as a whole: what its groups say of it must be the same. */
static void check_topologies(const struct json_at *groups, const struct job_spec *spec)
{
    const struct job_group *first = &spec->groups[0];

    if (!is_sound(groups, 0, "topology"))
        return;

    for (size_t i = 1; i < spec->n_groups; i++) {
        const struct job_group *group = &spec->groups[i];
        struct json_at item = json_at_item(groups, i), at = json_at_member(&item, "topology");

        if (!is_sound(groups, i, "topology"))
            continue;
        if (group->topology != first->topology || group->has_tier != first->has_tier ||
            group->tier != first->tier || !text_eq(group->tier_name, first->tier_name))
            json_refuse(&at, PROBLEM_INVALID_FIELD,
                        "is another than the first group's: a job is kept together as a whole");
    }
}

static void check_names_differ(const struct json_at *groups, const struct job_spec *spec)
{
    for (size_t i = 1; i < spec->n_groups; i++) {
        for (size_t j = 0; j < i; j++) {
            struct json_at item = json_at_item(groups, i), name = json_at_member(&item, "name");
            if (!text_eq(spec->groups[i].name, spec->groups[j].name) ||
                !is_sound(groups, i, "name") || !is_sound(groups, j, "name"))
                continue;
            json_refuse(&name, PROBLEM_INVALID_FIELD, "\"%s\" is the name of group %zu too",
                        spec->groups[i].name, j);
            break;
        }
    }
}

/* Beside `groups` no key of a group may stand. */
static void refuse_beside(const struct json_at *top)
{
    size_t n;
    const struct json_key *keys = job_group_keys(&n);

    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_member(top, keys[i].name);
        if (at.value && !job_group_shares(keys[i].name) && !keys[i].comes_later)
            json_refuse(&at, PROBLEM_INVALID_FIELD,
                        "belongs into a group: there is a list of groups");
    }
}

static void read_groups(const struct json_at *top, struct job_spec *spec)
{
    struct json_at groups = json_at_member(top, "groups");
    uint64_t n_tasks = 0;

    if (!groups.value) {
        spec->groups = NEW0_N(struct job_group, 1);
        spec->groups[spec->n_groups++].name = text_copy("task");
        job_read_group(top, &spec->groups[0]);
        spec->n_tasks = spec->groups[0].replicas;
        return;
    }
    refuse_beside(top);
    if (!json_check_list(&groups, JOB_GROUPS_MAX))
        return;
    if (!json_array_size(groups.value)) {
        json_refuse(&groups, PROBLEM_INVALID_FIELD, "a job has at least one group");
        return;
    }
    spec->groups = NEW0_N(struct job_group, json_array_size(groups.value));
    for (size_t i = 0; i < json_array_size(groups.value); i++) {
        struct json_at item = json_at_item(&groups, i);
        job_read_listed_group(&item, &spec->groups[spec->n_groups++]);
        n_tasks += spec->groups[i].replicas;
    }
    if (n_tasks > JOB_TASKS_MAX)
        json_refuse(&groups, PROBLEM_INVALID_FIELD, "%" PRIu64 " tasks in all; at most %d", n_tasks,
                    JOB_TASKS_MAX);
    check_names_differ(&groups, spec);
    check_topologies(&groups, spec);
    spec->n_tasks = (uint32_t)n_tasks;
}

static void read_retries(const struct json_at *top, struct job_spec *spec)
{
    struct json_at at = json_at_member(top, "retries");
    struct json_at most = json_at_member(&at, "backoffMax");
    struct json_at backoff = json_at_member(&at, "backoff");
    int64_t max = 0;

    spec->backoff_ms = 10000;
    spec->backoff_max_ms = 300000;
    if (!at.value || !json_check_object(&at, retries_keys, COUNT_OF(retries_keys)))
        return;
    json_get_int(&at, "max", 0, JOB_RETRIES_MAX, &max);
    spec->retries_max = (uint32_t)max;
    json_get_duration(&at, "backoff", JOB_DURATION_MAX_MS, &spec->backoff_ms);
    if (!most.value && spec->backoff_max_ms < spec->backoff_ms)
        spec->backoff_max_ms = spec->backoff_ms;
    json_get_duration(&at, "backoffMax", JOB_DURATION_MAX_MS, &spec->backoff_max_ms);
    if (spec->backoff_max_ms < spec->backoff_ms && !json_has_fault(&backoff))
        json_refuse(&most, PROBLEM_INVALID_FIELD, "is less than backoff");
}

static void read_minimum(const struct json_at *top, struct job_spec *spec)
{
    struct json_at at = json_at_member(top, "minAvailable");
    struct json_at groups = json_at_member(top, "groups");
    struct json_at replicas = json_at_member(top, "replicas");
    int64_t min_available = 1;
    bool is_gang = false, is_given;

    if (!spec->n_tasks || json_has_fault(&groups) || json_has_fault(&replicas))
        return; /* how many tasks there are nobody knows */
    is_given = json_get_int(top, "minAvailable", 1, spec->n_tasks, &min_available);
    json_get_bool(top, "gang", &is_gang);
    if (is_gang && is_given && min_available != spec->n_tasks)
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "is %" PRId64 " and gang: true means all %" PRIu32 "; leave one of them out",
                    min_available, spec->n_tasks);
    spec->min_available = is_gang ? spec->n_tasks : (uint32_t)min_available;
}

static void read_budget(const struct json_at *top, struct job_spec *spec)
{
    static const struct json_key keys[] = { { .name = "minAvailable" },
                                            { .name = "maxUnavailable" } };
    struct json_at at = json_at_member(top, "budget");

    if (!at.value || !json_check_object(&at, keys, COUNT_OF(keys)) || !json_object_size(at.value))
        return;
    if (json_object_get(at.value, budget_words[0]) && json_object_get(at.value, budget_words[1])) {
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "has both minAvailable and maxUnavailable; leave one of them out");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(budget_words); i++)
        if (json_get_part(&at, budget_words[i], JOB_TASKS_MAX, &spec->budget_value,
                          &spec->budget_is_percent))
            spec->budget = (enum job_budget)(i + 1);
}

static void read_kind(const struct json_at *top)
{
    struct json_at at = json_at_member(top, "kind");
    static const char *const words[] = { "batch" };
    int kind;

    if (text_eq(json_string_value(at.value), "service"))
        json_refuse(&at, PROBLEM_COMES_LATER, "\"service\" comes with a later version");
    else
        json_get_word(top, "kind", words, COUNT_OF(words), &kind);
}

static void read_job(const struct json_at *top, struct job_spec *spec)
{
    int64_t priority = 0;
    int word;

    job_read_name(top, "name", &spec->name);
    job_read_name(top, "namespace", &spec->ns);
    job_read_name(top, "queue", &spec->queue);
    read_kind(top);
    json_get_int(top, "priority", JOB_PRIORITY_MIN, JOB_PRIORITY_MAX, &priority);
    spec->priority = (int32_t)priority;
    json_get_duration(top, "limit", JOB_DURATION_MAX_MS, &spec->limit_ms);
    json_get_duration(top, "deadline", JOB_DURATION_MAX_MS, &spec->deadline_ms);
    read_retries(top, spec);
    if (json_get_word(top, "onFailure", on_failure_words, COUNT_OF(on_failure_words), &word))
        spec->on_failure = (enum job_on_failure)word;
    if (json_get_word(top, "onDisconnect", on_disconnect_words, COUNT_OF(on_disconnect_words),
                      &word))
        spec->on_disconnect = (enum job_on_disconnect)word;
    spec->grace_ms = 30000;
    json_get_duration(top, "grace", JOB_GRACE_MAX_MS, &spec->grace_ms);
    job_read_labels(top, "labels", &spec->labels);
    spec->is_preemptable = true;
    json_get_bool(top, "preemptable", &spec->is_preemptable);
    read_budget(top, spec);
    read_groups(top, spec);
    read_minimum(top, spec);
}

/* The keys of a job, and of its one group where it has no list of groups. */
static bool check_keys(const struct json_at *top, bool is_new)
{
    size_t n_group, n = COUNT_OF(job_keys);
    const struct json_key *of_group = job_group_keys(&n_group);
    struct json_key keys[KEYS_MAX];

    assert(n + n_group + COUNT_OF(accepted_keys) <= KEYS_MAX);
    memcpy(keys, job_keys, sizeof(job_keys));
    for (size_t i = 0; !is_new && i < COUNT_OF(accepted_keys); i++)
        keys[n++] = accepted_keys[i];
    for (size_t i = 0; i < n_group; i++)
        if (!job_group_shares(of_group[i].name))
            keys[n++] = of_group[i];
    return json_check_object(top, keys, n);
}

/* What holds for a job that is to be accepted, beside what holds for each. */
static void check_new(const struct json_at *top)
{
    struct json_at groups = json_at_member(top, "groups");

    if (!json_is_array(groups.value)) {
        job_check_new_group(top);
    }
    for (size_t i = 0; i < json_array_size(groups.value) && i < JOB_GROUPS_MAX; i++) {
        struct json_at group = json_at_item(&groups, i);
        job_check_new_group(&group);
    }
}

/* Of a job that was accepted: what a task holds beyond what it asks. */
static int64_t read_headroom(const struct json_at *top)
{
    int64_t milli = 1000;

    json_get_int(top, "memoryMilli", 1000, JOB_HEADROOM_MAX_MILLI, &milli);
    return milli;
}

static int read_spec(const json_t *object, const char *fallback, bool is_new, struct job_spec **out,
                     struct problem *problem)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NEW0(struct job_spec);
    struct json_at top = json_at_top(object, problem);

    if (!check_keys(&top, is_new))
        return -EINVAL;
    spec->name = text_copy(fallback ? fallback : "job");
    spec->ns = text_copy("default");
    spec->queue = text_copy("default");
    read_job(&top, spec);
    if (is_new)
        check_new(&top);
    job_spec_set_headroom(spec, is_new ? 1000 : read_headroom(&top));
    spec->limit_submitted_ms = LIMIT_UNCHANGED;
    if (!is_new)
        json_get_duration(&top, "limitSubmitted", JOB_DURATION_MAX_MS, &spec->limit_submitted_ms);
    if (problem->code)
        return -EINVAL;
    *out = TAKE(spec);
    return 0;
}

int job_spec_from_json(const json_t *object, const char *fallback, struct job_spec **out,
                       struct problem *problem)
{
    return read_spec(object, fallback, true, out, problem);
}

int job_spec_from_canonical(const char *text, struct job_spec **out, struct err *err)
{
    struct problem problem = { 0 };
    json_t *object = NULL;
    int r = json_read(text, strlen(text), 4 * JOB_BODY_MAX_BYTES, &object, &problem);

    if (r == 0)
        r = read_spec(object, NULL, false, out, &problem);
    json_decref(object);
    return r < 0 ? err_set(err, -EINVAL, "job's spec: %s", problem.detail) : 0;
}

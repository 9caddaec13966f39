/* What a document says of jobs, their tasks, and the room that is held for them. */
#include <string.h>

#include "scenario/inside.h"

enum { DEVICE_MILLI = 1000 };

static const struct json_key job_keys[] = {
    KEY("name"),          KEY("namespace"),       KEY("queue"),         KEY("minAvailable"),
    KEY("minTaskMember"), KEY("minResources"),    KEY("priorityClass"), KEY("priority"),
    KEY("phase"),         KEY("createdAt"),       KEY("preemptable"),   KEY("tasks"),
    KEY("budget"),        KEY("networkTopology"), KEY("subGroups"),     KEY("limit"),
    KEY("seq"),           KEY("version"),         KEY("admitted"),      KEY("held"),
    KEY("after"),         KEY("revocableZone"),
};

static const struct json_key task_keys[] = {
    KEY("name"),
    KEY("role"),
    KEY("status"),
    KEY("node"),
    KEY("resources"),
    KEY("priority"),
    KEY("labels"),
    KEY("nodeSelector"),
    KEY("preferredLabels"),
    KEY("tolerations"),
    KEY("affinity"),
    KEY("preemptable"),
    KEY("bestEffort"),
    KEY("gpuModels"),
    KEY("capability"),
    KEY("createdAt"),
    KEY("preemptionPolicy"),
    KEY("claims"),
    KEY("revocableZone"),
    KEY("poolSelector"),
    KEY("pinnedTo"),
    KEY("allowPreemptible"),
    KEY("allowMarketplace"),
    KEY("storage"),
    KEY("durableDisk"),
    KEY("docker"),
    KEY("hostMounts"),
    KEY("provisionAttempts"),
    KEY("checkpoint"),
    KEY("startedAt"),
    KEY("hostPorts"),
    KEY("volumes"),
    KEY("wholeCores"),
    KEY("coreIds"),
    KEY("gpus"),
    KEY("gpuMemory"),
    KEY("attempt"),
    KEY("tries"),
    KEY("evictions"),
    KEY("notBefore"),
    KEY("limitAt"),
    KEY("gpuShares"),
};

static const char *const status_words[] = {
    [BERTH_TASK_PENDING] = "pending",     [BERTH_TASK_ALLOCATED] = "allocated",
    [BERTH_TASK_PIPELINED] = "pipelined", [BERTH_TASK_BINDING] = "binding",
    [BERTH_TASK_BOUND] = "bound",         [BERTH_TASK_RUNNING] = "running",
    [BERTH_TASK_RELEASING] = "releasing", [BERTH_TASK_SUCCEEDED] = "succeeded",
    [BERTH_TASK_FAILED] = "failed",       [BERTH_TASK_CANCELLED] = "cancelled",
    [BERTH_TASK_UNKNOWN] = "unknown",
};

static const char *const phase_words[] = {
    [BERTH_PHASE_PENDING] = "pending",     [BERTH_PHASE_INQUEUE] = "inqueue",
    [BERTH_PHASE_RUNNING] = "running",     [BERTH_PHASE_UNKNOWN] = "unknown",
    [BERTH_PHASE_COMPLETED] = "completed",
};

/* 1970 itself is an instant like any other, but 0 means "not said" to the engine. */
static bool take_instant(const struct json_at *up, const char *key, const struct reader *r,
                         int64_t *out_ms)
{
    if (!take_seconds(up, key, out_ms))
        return false;
    if (*out_ms == 0 && r->now_ms != 0)
        *out_ms = 1;
    return true;
}

static void take_tolerations(struct reader *r, const struct json_at *up,
                             struct berth_task_group *out)
{
    static const struct json_key keys[] = { KEY("key"), KEY("operator"), KEY("value"),
                                            KEY("effect"), KEY("tolerationSeconds") };
    static const char *const operators[] = { "Equal", "Exists" };
    static const char *const effects[] = { [BERTH_NO_SCHEDULE] = "NoSchedule",
                                           [BERTH_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
                                           [BERTH_NO_EXECUTE] = "NoExecute" };
    struct berth_toleration *tolerations;
    struct json_at list;
    size_t n;

    if (!take_list(up, "tolerations", &list, &n))
        return;
    tolerations = ARENA_NEW0_N(r->arena, struct berth_toleration, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        const char *effect_text = json_string_value(json_object_get(at.value, "effect"));
        int op = 0, effect = 0;
        if (!CHECK_KEYS(&at, keys))
            continue;
        take_text(&at, "key", &tolerations[i].key);
        take_text(&at, "value", &tolerations[i].value);
        json_get_word(&at, "operator", operators, COUNT_OF(operators), &op);
        tolerations[i].exists = op == 1;
        tolerations[i].all_effects =
            (effect_text && !effect_text[0]) ||
            !json_get_word(&at, "effect", effects, COUNT_OF(effects), &effect);
        tolerations[i].effect = (enum berth_effect)effect;
    }
    out->tolerations = tolerations;
    out->n_tolerations = n;
}

static void take_checkpoint(struct reader *r, const struct json_at *up,
                            struct berth_task_group *out)
{
    static const struct json_key keys[] = { KEY("status"), KEY("runtime"), KEY("gpuModel"),
                                            KEY("filesystemOnly") };
    static const char *const words[] = { "available", "checkpoint_failed", "restore_failed",
                                         "not_found" };
    struct json_at at = json_at_member(up, "checkpoint");
    struct berth_checkpoint *checkpoint;
    int status = 3;

    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    checkpoint = ARENA_NEW0(r->arena, struct berth_checkpoint);
    json_get_word(&at, "status", words, COUNT_OF(words), &status);
    checkpoint->available = status == 0;
    json_get_bool(&at, "filesystemOnly", &checkpoint->filesystem_only);
    take_name(&at, "runtime", NULL, &checkpoint->runtime);
    take_text(&at, "gpuModel", &checkpoint->gpu_model);
    out->checkpoint = checkpoint;
}

static void take_needs(struct reader *r, const struct json_at *at, struct berth_task_group *out)
{
    take_amounts(r, at, "resources", &out->asks);
    take_labels(r, at, "labels", &out->labels);
    take_labels(r, at, "nodeSelector", &out->node_selector);
    take_labels(r, at, "preferredLabels", &out->preferred_labels);
    take_tolerations(r, at, out);
    take_affinity(r, at, "affinity", &out->affinity);
    take_words(r, at, "gpuModels", &out->gpu_models);
    take_quantity(at, "gpuMemory", QUANTITY_BYTES, &out->gpu_memory);
    take_name(at, "capability", NULL, &out->capability);
    take_words(r, at, "claims", &out->claims);
    take_name(at, "revocableZone", NULL, &out->revocable_zone);
    take_ports(r, at, "hostPorts", &out->host_ports, &out->n_host_ports);
    take_words(r, at, "volumes", &out->volumes);
    json_get_bool(at, "wholeCores", &out->whole_cores);
    take_name(at, "poolSelector", NULL, &out->pool_selector);
    take_name(at, "pinnedTo", NULL, &out->pinned_to);
    json_get_bool(at, "allowPreemptible", &out->allow_preemptible);
    json_get_bool(at, "allowMarketplace", &out->allow_marketplace);
    json_get_bool(at, "storage", &out->storage);
    json_get_bool(at, "durableDisk", &out->durable_disk);
    json_get_bool(at, "docker", &out->docker);
    take_words(r, at, "hostMounts", &out->host_mounts);
    take_u32(at, "provisionAttempts", &out->provision_attempts);
    take_checkpoint(r, at, out);
}

static bool asks_something(const struct berth_amounts *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].value)
            return true;
    return false;
}

static void read_group(struct reader *r, const struct json_at *at, struct berth_task_group *out)
{
    static const char *const policies[] = { "PreemptLowerPriority", "Never" };
    struct json_at best_effort = json_at_member(at, "bestEffort");
    bool preemptable = true, is_best_effort = false;
    int policy = 0;

    out->replicas = 1;
    out->priority = 1;
    take_text(at, "role", &out->role);
    if (out->role && !out->role[0])
        out->role = NULL;
    take_i32(at, "priority", INT32_MIN, &out->priority);
    take_instant(at, "createdAt", r, &out->created_at_ms);
    json_get_bool(at, "preemptable", &preemptable);
    out->not_preemptable = !preemptable;
    json_get_word(at, "preemptionPolicy", policies, COUNT_OF(policies), &policy);
    out->never_preempts = policy == 1;
    take_needs(r, at, out);
    json_get_bool(at, "bestEffort", &is_best_effort);
    if (is_best_effort && asks_something(&out->asks))
        json_refuse(&best_effort, PROBLEM_INVALID_FIELD,
                    "a task that asks for resources is not best effort");
}

static const struct berth_device *device_find(const struct scenario *s, const char *node,
                                              uint32_t index)
{
    const struct known_node *known = node ? map_get(&s->node_by_name, node) : NULL;

    for (size_t i = 0; known && i < known->n_devices; i++)
        if (known->devices[i].index == index)
            return &known->devices[i];
    return NULL;
}

/* A share of a node's device by its index; the uuid of one that is not listed is its index. */
static struct berth_share share_of(const struct scenario *s, struct reader *r, const char *node,
                                   uint32_t index, int64_t milli)
{
    const struct berth_device *device = device_find(s, node, index);

    return (struct berth_share){ .class_name = "gpu",
                                 .uuid =
                                     device ? device->uuid : arena_format(r->arena, "%u", index),
                                 .index = index,
                                 .milli = milli };
}

/* What of a device a task holds that names it: all, or what its memory makes of it. */
static int64_t held_milli(const struct scenario *s, const struct known_task *task, uint32_t index)
{
    const struct berth_device *device = device_find(s, task->state.node, index);
    const struct berth_task_group *group = task->group;

    for (size_t i = 0; i < group->asks.n; i++)
        if (strcmp(group->asks.at[i].name, "gpu") == 0 && group->asks.at[i].value)
            return group->asks.at[i].value < DEVICE_MILLI ? group->asks.at[i].value : DEVICE_MILLI;
    if (!group->gpu_memory || !device || device->memory <= group->gpu_memory)
        return DEVICE_MILLI;
    return (int64_t)(((__int128)group->gpu_memory * DEVICE_MILLI + device->memory - 1) /
                     device->memory);
}

static void take_shares(struct scenario *s, struct reader *r, const struct json_at *up,
                        struct known_task *known)
{
    struct berth_task *out = &known->state;
    static const struct json_key keys[] = { KEY("gpu"), KEY("milli") };
    struct berth_numbers whole = { 0 };
    struct berth_share *shares;
    struct json_at list;
    size_t n, n_shares = 0;

    take_numbers(r, up, "gpus", &whole);
    take_list(up, "gpuShares", &list, &n);
    if (!whole.n && !n)
        return;
    shares = ARENA_NEW0_N(r->arena, struct berth_share, whole.n + n);
    for (size_t i = 0; i < whole.n; i++)
        shares[n_shares++] =
            share_of(s, r, out->node, whole.at[i], held_milli(s, known, whole.at[i]));
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        int64_t milli = DEVICE_MILLI;
        uint32_t index = 0;
        if (!CHECK_KEYS(&at, keys))
            continue;
        take_u32(&at, "gpu", &index);
        json_get_int(&at, "milli", 1, DEVICE_MILLI, &milli);
        shares[n_shares++] = share_of(s, r, out->node, index, milli);
    }
    out->shares = shares;
    out->n_shares = n_shares;
}

static bool holds_room(enum berth_task_state state)
{
    return state == BERTH_TASK_ALLOCATED || state == BERTH_TASK_BINDING ||
           state == BERTH_TASK_BOUND || state == BERTH_TASK_RUNNING ||
           state == BERTH_TASK_RELEASING || state == BERTH_TASK_PIPELINED ||
           state == BERTH_TASK_UNKNOWN;
}

static void take_history(const struct json_at *at, struct berth_task *out)
{
    take_u32(at, "attempt", &out->attempt);
    take_u32(at, "tries", &out->tries);
    take_u32(at, "evictions", &out->evictions);
    take_seconds(at, "notBefore", &out->not_before_ms);
    take_seconds(at, "limitAt", &out->limit_at_ms);
}

static void read_state(struct scenario *s, struct reader *r, const struct json_at *at,
                       struct known_task *known)
{
    struct berth_task *out = &known->state;
    const struct berth_job *job = &known->job->job;
    struct json_at node = json_at_member(at, "node");
    int state = BERTH_TASK_PENDING;

    *out = (struct berth_task){ .job = known->ref.job, .group = known->ref.group };
    json_get_word(at, "status", status_words, COUNT_OF(status_words), &state);
    out->state = (enum berth_task_state)state;
    if (!text_eq(json_string_value(node.value), ""))
        take_name(at, "node", NULL, &out->node);
    out->attempt = state != BERTH_TASK_PENDING;
    take_shares(s, r, at, known);
    take_numbers(r, at, "coreIds", &out->cores);
    out->started_at_ms = known->group->created_at_ms ? known->group->created_at_ms
                         : job->created_at_ms        ? job->created_at_ms
                                                     : r->now_ms;
    take_instant(at, "startedAt", r, &out->started_at_ms);
    if (job->limit_ms && holds_room(out->state))
        out->limit_at_ms = out->started_at_ms + job->limit_ms;
    take_history(at, out);
    known->is_placed = state != BERTH_TASK_PENDING || out->attempt || out->not_before_ms ||
                       out->tries || out->evictions;
    known->ran_before = known->is_placed;
    if (state == BERTH_TASK_PENDING)
        out->started_at_ms = 0;
    if (known->is_placed)
        scenario_add(s, BERTH_TASK, out);
}

static void read_task(struct scenario *s, struct reader *r, const struct json_at *at,
                      struct berth_task_group *group, struct known_task *known)
{
    const struct berth_job *job = &known->job->job;
    struct json_at name = json_at_member(at, "name");

    group->name = "";
    group->replicas = 1;
    if (!CHECK_KEYS(at, task_keys))
        return;
    if (!name.value) {
        json_refuse(at, PROBLEM_INVALID_FIELD, "a name is needed");
        return;
    }
    if (!take_name(at, "name", NULL, &group->name))
        return;
    known->key = arena_format(r->arena, "%s/%s", job->namespace_, group->name);
    known->ref = (struct berth_task_ref){ .job = job->id, .group = group->name };
    known->group = group;
    if (!known_once(&s->task_by_key, known->key, known, &name))
        return;
    read_group(r, at, group);
    if (job->created_at_ms && !group->created_at_ms && json_at_member(at, "createdAt").value)
        group->created_at_ms = 1;
    group->priority_class = job->priority_class;
    read_state(s, r, at, known);
}

static void take_minima(struct reader *r, const struct json_at *up, struct berth_job *out)
{
    struct json_at object = json_at_member(up, "minTaskMember");
    struct berth_minimum *minima;
    const char *role;
    json_t *value;
    size_t n = 0;

    if (!object.value)
        return;
    if (!json_is_object(object.value)) {
        json_refuse(&object, PROBLEM_INVALID_FIELD, "must be an object of whole numbers");
        return;
    }
    minima = ARENA_NEW0_N(r->arena, struct berth_minimum, json_object_size(object.value) + 1);
    json_object_foreach((json_t *)object.value, role, value)
    {
        minima[n].role = role;
        take_u32(&object, role, &minima[n++].n);
    }
    out->minima = minima;
    out->n_minima = n;
}

static bool take_part(const struct json_at *up, const char *key, struct berth_budget *out)
{
    out->is_given = json_get_part(up, key, INT32_MAX, &out->value, &out->is_percent);
    return out->is_given;
}

static void take_budget(const struct json_at *up, struct berth_budget *out)
{
    static const struct json_key keys[] = { KEY("minAvailable"), KEY("maxUnavailable") };
    struct json_at at = json_at_member(up, "budget");

    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    if (take_part(&at, "maxUnavailable", out))
        out->is_max_unavailable = true;
    else
        take_part(&at, "minAvailable", out);
}

static void take_sub_groups(struct reader *r, const struct json_at *up, struct berth_job *out)
{
    static const struct json_key keys[] = { KEY("name"), KEY("matchLabelKeys"), KEY("subGroupSize"),
                                            KEY("minSubGroups"), KEY("networkTopology") };
    struct berth_sub_group *groups;
    struct json_at list;
    size_t n;

    if (!take_list(up, "subGroups", &list, &n))
        return;
    groups = ARENA_NEW0_N(r->arena, struct berth_sub_group, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        groups[i].name = "";
        if (!CHECK_KEYS(&at, keys))
            continue;
        take_name(&at, "name", NULL, &groups[i].name);
        take_words(r, &at, "matchLabelKeys", &groups[i].match_label_keys);
        take_u32(&at, "subGroupSize", &groups[i].size);
        take_u32(&at, "minSubGroups", &groups[i].min_jobs);
        take_topology(&at, "networkTopology", &groups[i].topology);
    }
    out->sub_groups = groups;
    out->n_sub_groups = n;
}

/* Why it must not be considered, as an export says. */
static void take_withheld(struct reader *r, const struct json_at *at, struct berth_job *out)
{
    struct berth_words after = { 0 };
    bool is_held = false;

    json_get_bool(at, "held", &is_held);
    take_words(r, at, "after", &after);
    if (is_held)
        out->withheld = WAIT_HELD;
    else if (after.n)
        out->withheld = WAIT_DEPENDENCY;
}

static void read_fields(struct reader *r, const struct json_at *at, struct berth_job *out)
{
    int phase = BERTH_PHASE_PENDING;
    bool preemptable;

    take_name(at, "queue", NULL, &out->queue);
    take_u64(at, "version", &out->version);
    take_i32(at, "priority", INT32_MIN, &out->priority);
    take_name(at, "priorityClass", NULL, &out->priority_class);
    out->min_available = 1;
    out->has_min_available = true;
    take_u32(at, "minAvailable", &out->min_available);
    take_minima(r, at, out);
    out->has_min_resources = take_amounts(r, at, "minResources", &out->min_resources);
    json_get_word(at, "phase", phase_words, COUNT_OF(phase_words), &phase);
    out->phase = (enum berth_phase)phase;
    take_instant(at, "admitted", r, &out->admitted_at_ms);
    take_withheld(r, at, out);
    out->created_at_ms = r->now_ms;
    take_instant(at, "createdAt", r, &out->created_at_ms);
    take_duration(at, "limit", &out->limit_ms);
    if (json_get_bool(at, "preemptable", &preemptable))
        out->preemptable = preemptable ? BERTH_YES : BERTH_NO;
    take_name(at, "revocableZone", NULL, &out->revocable_zone);
    take_budget(at, &out->budget);
    take_topology(at, "networkTopology", &out->topology);
    take_sub_groups(r, at, out);
}

static void read_job(struct scenario *s, struct reader *r, const struct json_at *at,
                     struct known_job *known)
{
    struct berth_job *out = &known->job;
    struct json_at name = json_at_member(at, "name"), list;
    struct berth_task_group *groups;
    size_t n;

    out->namespace_ = "default";
    take_name(at, "namespace", "/", &out->namespace_);
    if (!name.value)
        json_refuse(at, PROBLEM_INVALID_FIELD, "a name is needed");
    if (!take_name(at, "name", NULL, &out->name))
        return;
    out->id = arena_format(r->arena, "%s/%s", out->namespace_, out->name);
    if (!known_once(&s->job_by_id, out->id, known, &name))
        return;
    VEC_PUSH(&s->jobs, known);
    read_fields(r, at, out);
    scenario_add(s, BERTH_JOB, out);
    if (!take_list(at, "tasks", &list, &n))
        return;
    groups = ARENA_NEW0_N(r->arena, struct berth_task_group, n + 1);
    known->tasks = ARENA_NEW0_N(r->arena, struct known_task, n + 1);
    out->groups = groups;
    out->n_groups = n;
    for (size_t i = 0; i < n; i++) {
        struct json_at task = json_at_item(&list, i);
        known->tasks[i].job = known;
        read_task(s, r, &task, &groups[i], &known->tasks[i]);
    }
}

void read_jobs(struct scenario *s, struct reader *r, const struct json_at *top)
{
    struct json_at list;
    size_t n;

    if (!take_list(top, "jobs", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct known_job *known = ARENA_NEW0(r->arena, struct known_job);
        struct json_at at = json_at_item(&list, i);
        known->job.seq = i + 1;
        if (!CHECK_KEYS(&at, job_keys))
            continue;
        take_u64(&at, "seq", &known->job.seq);
        read_job(s, r, &at, known);
    }
}

static const struct known_task *take_task(struct scenario *s, const struct json_at *up,
                                          const char *key)
{
    struct json_at at = json_at_member(up, key);
    const struct known_task *task;
    const char *text;

    if (!json_get_text(up, key, &text))
        return NULL;
    task = map_get(&s->task_by_key, text);
    if (!task)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "no task \"%.80s\" is listed", text);
    return task;
}

static void take_waits(struct scenario *s, struct reader *r, const struct json_at *up,
                       struct berth_reservation_part *out)
{
    struct berth_words words = { 0 };
    struct json_at list = json_at_member(up, "waits");
    struct berth_task_ref *waits;

    if (!take_words(r, up, "waits", &words))
        return;
    waits = ARENA_NEW0_N(r->arena, struct berth_task_ref, words.n + 1);
    for (size_t i = 0; i < words.n; i++) {
        const struct known_task *task = map_get(&s->task_by_key, words.at[i]);
        struct json_at at = json_at_item(&list, i);
        if (!task) {
            json_refuse(&at, PROBLEM_INVALID_FIELD, "no task \"%.80s\" is listed", words.at[i]);
            return;
        }
        waits[i] = task->ref;
        waits[i].attempt = task->state.attempt;
    }
    out->waits = waits;
    out->n_waits = words.n;
}

static const char *read_part(struct scenario *s, struct reader *r, const struct json_at *at,
                             struct berth_reservation_part *out)
{
    const struct known_task *task = take_task(s, at, "task");

    out->node = "";
    take_name(at, "node", NULL, &out->node);
    if (!task) {
        if (!json_object_get(at->value, "task"))
            json_refuse(at, PROBLEM_INVALID_FIELD, "a task is needed");
        return NULL;
    }
    out->task = task->ref;
    take_amounts(r, at, "resources", &out->holds);
    take_waits(s, r, at, out);
    return task->ref.job;
}

static void read_parts(struct scenario *s, struct reader *r, const struct json_at *at,
                       struct berth_reservation *out)
{
    static const struct json_key keys[] = { KEY("task"), KEY("node"), KEY("resources"), KEY("gpus"),
                                            KEY("waits") };
    struct berth_reservation_part *parts;
    struct json_at list;
    size_t n;

    if (!take_list(at, "parts", &list, &n))
        return;
    parts = ARENA_NEW0_N(r->arena, struct berth_reservation_part, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at item = json_at_item(&list, i);
        if (CHECK_KEYS(&item, keys))
            read_part(s, r, &item, &parts[i]);
    }
    out->parts = parts;
    out->n_parts = n;
}

/* The long form of an export, or a task, a node and an age: one part for a machine. */
static void read_reservation(struct scenario *s, struct reader *r, const struct json_at *at,
                             struct berth_reservation *out)
{
    static const struct json_key long_keys[] = { KEY("id"),    KEY("owner"), KEY("purpose"),
                                                 KEY("until"), KEY("parts"), KEY("ageSeconds") };
    static const struct json_key short_keys[] = { KEY("task"), KEY("node"), KEY("ageSeconds") };
    static const char *const purposes[] = {
        [BERTH_FOR_EVICTION] = "eviction", [BERTH_FOR_MACHINE] = "machine"
    };
    bool is_long = json_object_get(at->value, "parts") || json_object_get(at->value, "owner");
    struct berth_reservation_part *part;
    int64_t age_ms = 0;
    int purpose = BERTH_FOR_MACHINE;

    if (!(is_long ? CHECK_KEYS(at, long_keys) : CHECK_KEYS(at, short_keys)))
        return;
    take_seconds(at, "ageSeconds", &age_ms);
    out->made_at_ms = r->now_ms - age_ms;
    if (is_long) {
        take_name(at, "id", NULL, &out->id);
        take_name(at, "owner", NULL, &out->owner);
        json_get_word(at, "purpose", purposes, COUNT_OF(purposes), &purpose);
        take_seconds(at, "until", &out->until_ms);
        read_parts(s, r, at, out);
    } else {
        part = ARENA_NEW0(r->arena, struct berth_reservation_part);
        out->owner = read_part(s, r, at, part);
        out->parts = part;
        out->n_parts = 1;
    }
    out->purpose = (enum berth_purpose)purpose;
    if (!out->owner) {
        if (is_long)
            json_refuse(at, PROBLEM_INVALID_FIELD, "an owner is needed");
        return; /* a task that is not there was refused */
    }
    VEC_PUSH(&s->reservations, out);
    scenario_add(s, BERTH_RESERVATION, out);
}

void read_reservations(struct scenario *s, struct reader *r, const struct json_at *top)
{
    struct json_at list;
    size_t n;

    if (!take_list(top, "reservations", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct berth_reservation *reservation = ARENA_NEW0(r->arena, struct berth_reservation);
        struct json_at at = json_at_item(&list, i);
        reservation->id = arena_format(r->arena, "r-%zu", i + 1);
        reservation->seq = i + 1;
        read_reservation(s, r, &at, reservation);
    }
}

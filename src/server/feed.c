/* Feed: see feed.h. One function per kind of row; what a job's rows say is kept in struct fed. */
#include "server/feed.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/log.h"
#include "base/name.h"
#include "base/quantity.h"
#include "server/feed_inside.h"
#include "server/feed_wants.h"

static void fed_clear(struct fed *fed)
{
    job_spec_freep(&fed->spec);
    arena_fini(&fed->arena);
    mem_free(fed->spec_text);
    mem_free(fed->first);
    mem_free(fed->tasks);
}

static void fed_free(struct fed *fed)
{
    if (!fed)
        return;
    fed_clear(fed);
    mem_free(fed);
}

static void free_ended(struct feed *feed)
{
    while (feed->ended) {
        struct fed *fed = feed->ended;
        feed->ended = fed->next;
        fed_free(fed);
    }
}

static bool is_due_before(const struct heap_item *a, const struct heap_item *b, void *arg)
{
    const struct fed *x = CONTAINER(a, struct fed, due), *y = CONTAINER(b, struct fed, due);

    (void)arg;
    if (x->job.deadline_at_ms != y->job.deadline_at_ms)
        return x->job.deadline_at_ms < y->job.deadline_at_ms;
    return x->id < y->id;
}

struct feed *feed_new(const struct feed_engine_from *from, const struct berth_engine *engine)
{
    struct feed *feed = NEW0(struct feed);

    feed->asks_admission = engine && berth_engine_asks_admission(engine);
    feed_pools_init(&feed->pools, from ? from->objects : NULL, from ? from->n_objects : 0);
    heap_init(&feed->dues, is_due_before, NULL);
    return feed;
}

static void forget_all(struct feed *feed)
{
    free_ended(feed);
    heap_fini(&feed->dues); /* it writes to its members */
    heap_init(&feed->dues, is_due_before, NULL);
    MAP_EACH (entry, &feed->jobs)
        fed_free(entry->value);
    map_fini(&feed->jobs);
    feed->jobs = (struct map){ 0 };
    VEC_FINI(&feed->degraded);
    feed_rooms_forget(&feed->rooms);
    feed_pools_forget(&feed->pools);
    MAP_EACH (entry, &feed->folders)
        mem_free(entry->value);
    map_fini(&feed->folders);
    feed->folders = (struct map){ 0 };
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    forget_all(feed);
    feed_pools_fini(&feed->pools);
    heap_fini(&feed->dues);
    mem_free(feed);
}

/* ---- what JSON columns hold ---- */

static void bad_row(const char *what, const char *name, const char *why)
{
    log_error("a row cannot be read", "what", what, "name", name, "why", why, NULL);
}

static json_t *read_json(const char *text, const char *what, const char *name)
{
    json_error_t error;
    json_t *value;

    if (!text || !*text)
        return NULL;
    value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        bad_row(what, name, error.text);
    return value;
}

/* An amount as rows have it: an integer in its unit, or a quantity as users write it. */
static bool read_amount(const char *resource, const json_t *value, int64_t *out)
{
    struct err err = { 0 };

    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return *out >= 0 && *out <= QUANTITY_MAX;
    }
    return json_is_string(value) &&
           quantity_parse(json_string_value(value), quantity_unit_of(resource), out, &err) == 0;
}

static struct berth_amounts read_amounts(json_t *object, struct arena *arena, const char *name)
{
    struct berth_amount *at = ARENA_NEW0_N(arena, struct berth_amount, json_object_size(object));
    size_t n = 0;
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (!read_amount(key, value, &at[n].value)) {
            bad_row("amount", name, key);
            continue;
        }
        at[n++].name = arena_text(arena, key);
    }
    return (struct berth_amounts){ at, n };
}

static struct berth_labels read_labels(json_t *object, struct arena *arena)
{
    struct berth_label *at = ARENA_NEW0_N(arena, struct berth_label, json_object_size(object));
    size_t n = 0;
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            continue;
        at[n].key = arena_text(arena, key);
        at[n++].value = arena_text(arena, json_string_value(value));
    }
    return (struct berth_labels){ at, n };
}

static struct berth_words read_words(json_t *list, struct arena *arena)
{
    const char **at = ARENA_NEW0_N(arena, const char *, json_array_size(list) + 1);
    size_t n = 0, i;
    json_t *word;

    json_array_foreach(list, i, word) if (json_is_string(word)) at[n++] =
        arena_text(arena, json_string_value(word));
    return (struct berth_words){ at, n };
}

static void read_taints(json_t *list, struct arena *arena, struct berth_node *out)
{
    struct berth_taint *at = ARENA_NEW0_N(arena, struct berth_taint, json_array_size(list));
    size_t n = 0, i;
    json_t *taint;

    json_array_foreach(list, i, taint)
    {
        const char *key = json_string_value(json_object_get(taint, "key"));
        const char *value = json_string_value(json_object_get(taint, "value"));

        if (!key)
            continue;
        at[n].key = arena_text(arena, key);
        at[n].value = value ? arena_text(arena, value) : NULL;
        at[n++].effect = feed_effect(json_string_value(json_object_get(taint, "effect")));
    }
    out->taints = at;
    out->n_taints = n;
}

/* ---- queues and nodes ---- */

static void add(struct feed_deltas *deltas, enum berth_kind kind, bool end, const void *object)
{
    VEC_PUSH(deltas, ((struct berth_delta){ .kind = kind, .end = end, .any = object }));
}

/* What a queue says of groups of nodes. */
static void read_groups(json_t *spec, struct arena *arena, struct berth_queue *out)
{
    json_t *in = json_object_get(spec, "nodeGroupAffinity"), *amounts;
    json_t *anti = json_object_get(spec, "nodeGroupAntiAffinity");
    json_t *limits = json_object_get(spec, "nodeGroupLimits");
    struct berth_group_limit *at =
        ARENA_NEW0_N(arena, struct berth_group_limit, json_object_size(limits) + 1);
    const char *group;

    out->group_required = read_words(json_object_get(in, "required"), arena);
    out->group_preferred = read_words(json_object_get(in, "preferred"), arena);
    out->group_anti_required = read_words(json_object_get(anti, "required"), arena);
    out->group_anti_preferred = read_words(json_object_get(anti, "preferred"), arena);
    out->group_limits = at;
    json_object_foreach(limits, group, amounts)
    {
        at[out->n_group_limits].node_group = arena_text(arena, group);
        at[out->n_group_limits++].limit = read_amounts(amounts, arena, out->name);
    }
}

static const char *read_text(json_t *spec, const char *key, struct arena *arena)
{
    const char *text = json_string_value(json_object_get(spec, key));

    return text ? arena_text(arena, text) : NULL;
}

static void feed_queue(const struct batch_event *event, struct arena *arena,
                       struct feed_deltas *deltas)
{
    const struct row_queue *row = event->row.queue;
    struct berth_queue *queue = ARENA_NEW0(arena, struct berth_queue);
    json_t *spec;

    queue->name = row->name;
    if (event->is_deleted) {
        add(deltas, BERTH_QUEUE, true, queue);
        return;
    }
    spec = read_json(row->spec, "queue", row->name);
    queue->seq = row->seq;
    queue->parent = row->parent && *row->parent ? row->parent : NULL;
    queue->state = (enum queue_state)row->state;
    queue->min_runtime_ms = json_object_get(spec, "minRuntime")
                                ? json_integer_value(json_object_get(spec, "minRuntime"))
                                : -1; /* the policy's */
    queue->weight = (int)json_integer_value(json_object_get(spec, "weight"));
    queue->priority = (int)json_integer_value(json_object_get(spec, "priority"));
    queue->has_deserved = json_object_get(spec, "deserved") != NULL;
    queue->deserved = read_amounts(json_object_get(spec, "deserved"), arena, row->name);
    queue->guarantee = read_amounts(json_object_get(spec, "guarantee"), arena, row->name);
    queue->capability = read_amounts(json_object_get(spec, "cap"), arena, row->name);
    queue->not_reclaimable = json_is_false(json_object_get(spec, "reclaimable"));
    queue->never_preempts =
        text_eq(json_string_value(json_object_get(spec, "preemption")), "never");
    queue->hierarchy = read_text(spec, "hierarchy", arena);
    queue->hierarchy_weights = read_text(spec, "hierarchyWeights", arena);
    read_groups(spec, arena, queue);
    json_decref(spec);
    add(deltas, BERTH_QUEUE, false, queue);
}

/* Folders are kept for good: which of them a job's image lies in is all that the engine hears of
 * it, so that images that the same nodes allow are alike. */
static struct berth_words read_folders(struct feed *feed, const json_t *list, struct arena *arena)
{
    const char **at = ARENA_NEW0_N(arena, const char *, json_array_size(list));
    size_t n = 0, i;
    json_t *value;

    json_array_foreach((json_t *)list, i, value)
    {
        const char *folder = json_string_value(value);

        if (!folder)
            continue;
        at[n++] = arena_text(arena, folder);
        if (map_get(&feed->folders, folder))
            continue;
        folder = text_copy(folder);
        map_put(&feed->folders, folder, (void *)folder);
        feed->has_new_folders = true;
    }
    return (struct berth_words){ at, n };
}

static void feed_node(struct feed *feed, const struct batch_event *event, struct arena *arena,
                      struct feed_deltas *deltas)
{
    const struct row_node *row = event->row.node;
    struct berth_node *node = ARENA_NEW0(arena, struct berth_node);
    json_t *offers, *labels, *taints, *images;

    node->id = row->name;
    /* A node that is gone is none: no count of nodes has it. */
    if (event->is_deleted || row->state == NODE_GONE) {
        add(deltas, BERTH_NODE, true, node);
        return;
    }
    offers = read_json(row->offers, "offers of node", row->name);
    labels = read_json(row->labels, "labels of node", row->name);
    taints = read_json(row->taints, "taints of node", row->name);
    images = read_json(row->images, "images of node", row->name);
    node->seq = row->seq;
    node->state = (enum node_state)row->state;
    node->cordoned = row->is_cordoned || *row->disabled;
    node->draining = row->is_draining != 0;
    node->generation = row->generation;
    node->facts = row->facts;
    node->offers = read_amounts(offers, arena, row->name);
    node->labels = read_labels(labels, arena);
    node->node_group = read_text(labels, "berth/node-group", arena);
    node->weight = feed_weight(read_text(labels, "berth/weight", arena));
    node->capabilities = feed_capabilities(&node->labels, arena);
    node->gpu_model = read_text(labels, "berth/gpu-model", arena);
    feed_pools_node(&feed->pools, read_text(labels, "berth/pool", arena), node);
    read_taints(taints, arena, node);
    node->image_folders = read_folders(feed, images, arena);
    /* The row says when its state last changed: of one that is ready nobody need ask. */
    node->heard_at_ms = row->state == NODE_READY ? 0 : row->heard_at;
    json_decref(offers);
    json_decref(labels);
    json_decref(taints);
    json_decref(images);
    add(deltas, BERTH_NODE, false, node);
}

/* ---- jobs ---- */

/* Jobs may be allowed on other nodes when folders came that were not known. */
static void tell_folders(struct feed *feed, struct arena *arena, struct feed_deltas *deltas)
{
    feed->has_new_folders = false;
    MAP_EACH (entry, &feed->jobs) {
        struct fed *fed = entry->value;
        struct berth_job *copy;
        bool is_changed = false;

        for (size_t g = 0; fed->spec && g < fed->spec->n_groups; g++) {
            struct berth_task_group *group = (struct berth_task_group *)&fed->job.groups[g];
            const char *folder = feed_image_folder(feed, fed->spec->groups[g].image);

            is_changed = is_changed || !text_eq(folder, group->image);
            group->image = folder;
        }
        if (!is_changed)
            continue;
        copy = ARENA_NEW0(arena, struct berth_job);
        *copy = fed->job;
        add(deltas, BERTH_JOB, false, copy);
    }
}

static enum berth_phase phase_of(const struct row_job *row)
{
    if (row->state == JOB_PENDING)
        return row->is_admitted ? BERTH_PHASE_INQUEUE : BERTH_PHASE_PENDING;
    return row->is_degraded ? BERTH_PHASE_UNKNOWN : BERTH_PHASE_RUNNING;
}

static enum wait_code withheld_of(const struct row_job *row)
{
    if (row->is_held)
        return WAIT_HELD;
    return row->is_suspended ? WAIT_SUSPENDED : WAIT_NONE;
}

/* Puts a specification by that deltas of this batch may still point into. */
static void retire_spec(struct feed *feed, struct fed *fed)
{
    struct fed *old;

    if (!fed->spec)
        return;
    old = NEW0(struct fed);
    old->spec = TAKE(fed->spec);
    old->spec_text = TAKE(fed->spec_text);
    old->arena = fed->arena;
    fed->arena = (struct arena){ 0 };
    old->next = feed->ended;
    feed->ended = old;
}

/* Reads a job's specification anew if it is another one. Tasks that were told of stay so: groups
 * and replicas never change. */
static bool take_spec(struct feed *feed, struct fed *fed, const struct batch_event *event,
                      const char *id)
{
    const struct row_job *row = event->row.job;
    struct job_spec *spec = NULL;
    struct err err = { 0 };
    uint32_t n = 0;

    if (fed->spec && strcmp(fed->spec_text, row->spec) == 0)
        return false;
    if (event->spec) {
        spec = job_spec_ref(event->spec);
    } else if (job_spec_from_canonical(row->spec, &spec, &err) < 0) {
        bad_row("job", id, err.text);
        return false;
    }
    retire_spec(feed, fed);
    fed->spec = spec;
    fed->spec_text = text_copy(row->spec);
    feed_job_from_spec(feed, spec, arena_text(&fed->arena, id), &fed->arena, &fed->job);
    if (fed->tasks)
        return true;
    fed->tasks = NEW0_N(struct fed_task, spec->n_tasks + 1);
    fed->first = NEW0_N(uint32_t, spec->n_groups + 1);
    for (size_t i = 0; i < spec->n_groups; i++) {
        fed->first[i] = n;
        n += spec->groups[i].replicas;
    }
    fed->first[spec->n_groups] = n;
    return true;
}

static void set_degraded(struct feed *feed, struct fed *fed, int64_t since)
{
    bool was = fed->degraded_at != 0;

    fed->degraded_at = since;
    if (!was && since)
        VEC_PUSH(&feed->degraded, fed->id);
    for (size_t i = feed->degraded.n; was && !since && i-- > 0;)
        if (feed->degraded.at[i] == fed->id)
            VEC_SWAP_OUT(&feed->degraded, i);
}

/* Ends what the engine was told of a job's tasks, and the job. */
static void end_job(struct feed *feed, struct fed *fed, struct arena *arena,
                    struct feed_deltas *deltas)
{
    for (size_t g = 0; fed->spec && g < fed->spec->n_groups; g++) {
        for (uint32_t i = fed->first[g]; i < fed->first[g + 1]; i++) {
            struct berth_task *task;

            if (!fed->tasks[i].is_told)
                continue;
            task = ARENA_NEW0(arena, struct berth_task);
            task->job = fed->job.id;
            task->group = fed->job.groups[g].name;
            task->index = i - fed->first[g];
            add(deltas, BERTH_TASK, true, task);
        }
    }
    if (fed->spec)
        add(deltas, BERTH_JOB, true, &fed->job);
    set_degraded(feed, fed, 0);
    map_remove_int(&feed->jobs, fed->id);
    if (fed->due.place != HEAP_OUT)
        heap_remove(&feed->dues, &fed->due);
    fed->next = feed->ended;
    feed->ended = fed;
}

/* A job that has once started has kept its deadline. */
static void set_due(struct feed *feed, struct fed *fed, const struct row_job *row)
{
    bool is_due = fed->job.deadline_at_ms && !row->started_at && !fed->job.stopping;

    if (is_due && fed->due.place == HEAP_OUT)
        heap_push(&feed->dues, &fed->due);
    else if (!is_due && fed->due.place != HEAP_OUT)
        heap_remove(&feed->dues, &fed->due);
}

static void feed_job_row(struct feed *feed, const struct batch_event *event, struct arena *arena,
                         struct feed_deltas *deltas)
{
    const struct row_job *row = event->row.job;
    struct fed *fed = map_get_int(&feed->jobs, row->id);
    struct berth_job before, *job, *copy;
    char id[NAME_ATTEMPT_SIZE];
    bool is_new;

    if (event->is_deleted || job_is_over((enum job_state)row->state)) {
        if (fed)
            end_job(feed, fed, arena, deltas);
        return;
    }
    if (!fed) {
        fed = NEW0(struct fed);
        fed->id = row->id;
        fed->due.place = HEAP_OUT;
        map_put_int(&feed->jobs, row->id, fed);
    }
    before = fed->job;
    name_job(row->id, id);
    is_new = take_spec(feed, fed, event, id);
    if (!fed->spec)
        return;
    job = &fed->job;
    job->seq = row->id;
    job->version = row->version;
    job->priority = (int)row->priority;
    job->phase = phase_of(row);
    job->withheld = withheld_of(row);
    job->stopping = row->state == JOB_STOPPING;
    job->created_at_ms = row->submitted_at;
    /* The row does not say when: the commit that admitted it does. */
    if (job->phase != BERTH_PHASE_INQUEUE)
        job->admitted_at_ms = 0;
    else if (before.phase != BERTH_PHASE_INQUEUE || !before.admitted_at_ms)
        job->admitted_at_ms = event->at;
    else
        job->admitted_at_ms = before.admitted_at_ms;
    job->deadline_at_ms = fed->spec->deadline_ms ? row->submitted_at + fed->spec->deadline_ms : 0;
    set_due(feed, fed, row);
    set_degraded(feed, fed, row->degraded_at);
    if (!is_new && before.version == job->version && before.priority == job->priority &&
        before.phase == job->phase && before.withheld == job->withheld &&
        before.stopping == job->stopping && before.admitted_at_ms == job->admitted_at_ms)
        return; /* only counts changed */
    copy = ARENA_NEW0(arena, struct berth_job);
    *copy = *job;
    add(deltas, BERTH_JOB, false, copy);
}

/* ---- tasks ---- */

static struct fed_task *find_task(struct feed *feed, uint64_t job, int64_t group, int64_t index,
                                  struct fed **out)
{
    struct fed *fed = map_get_int(&feed->jobs, job);

    if (!fed || !fed->spec || group < 0 || (size_t)group >= fed->spec->n_groups || index < 0 ||
        index >= (int64_t)fed->spec->groups[group].replicas)
        return NULL;
    *out = fed;
    return &fed->tasks[fed->first[group] + index];
}

static enum berth_task_state state_of_end(const struct row_attempt *row)
{
    switch ((enum then)row->then) {
    case THEN_SUCCEEDED:
        return BERTH_TASK_SUCCEEDED;
    case THEN_FAILED:
        return BERTH_TASK_FAILED;
    case THEN_CANCELLED:
        return BERTH_TASK_CANCELLED;
    case THEN_NONE:
    case THEN_AGAIN:
    case THEN_COUNT:
        break;
    }
    return BERTH_TASK_PENDING;
}

static enum berth_task_state state_of(const struct row_attempt *row)
{
    switch ((enum attempt_state)row->state) {
    case ATTEMPT_BOUND:
    case ATTEMPT_STARTING:
        return row->is_stop_wanted ? BERTH_TASK_RELEASING : BERTH_TASK_BOUND;
    case ATTEMPT_RUNNING:
        return row->is_stop_wanted ? BERTH_TASK_RELEASING : BERTH_TASK_RUNNING;
    case ATTEMPT_STOPPING:
        return BERTH_TASK_RELEASING;
    case ATTEMPT_ENDED:
    case ATTEMPT_STATE_COUNT:
        break;
    }
    return state_of_end(row);
}

/* Whether the task waits again once its attempt has ended, unless its job is stopping. */
static bool comes_back(const struct row_attempt *row)
{
    return state_of(row) == BERTH_TASK_RELEASING &&
           (row->cause == CAUSE_EVICTED || row->cause == CAUSE_DRAINED ||
            row->cause == CAUSE_REQUEUED || row->cause == CAUSE_SHUTDOWN);
}

static void feed_attempt(struct feed *feed, const struct batch_event *event, struct arena *arena,
                         struct feed_deltas *deltas)
{
    const struct row_attempt *row = event->row.attempt;
    struct fed *fed = NULL;
    struct fed_task *told = find_task(feed, row->job, row->grp, row->idx, &fed);
    struct berth_task *task;

    /* An attempt before the task's last one says nothing any more. */
    if (event->is_deleted || !told || row->number < told->number)
        return;
    task = ARENA_NEW0(arena, struct berth_task);
    task->job = fed->job.id;
    task->group = fed->job.groups[row->grp].name;
    task->index = (uint32_t)row->idx;
    task->state = state_of(row);
    task->attempt = (uint32_t)row->number;
    task->version = row->rev;
    if (attempt_is_live((enum attempt_state)row->state)) {
        task->node = row->node;
        task->started_at_ms = row->started_at;
        if (row->started_at && fed->spec->limit_ms)
            task->limit_at_ms = row->started_at + fed->spec->limit_ms;
    }
    if (task->state == BERTH_TASK_PENDING)
        task->not_before_ms = row->not_before;
    task->tries = (uint32_t)row->tries;
    task->evictions = (uint32_t)row->evictions;
    task->comes_back = comes_back(row);
    told->number = task->attempt;
    told->rev = row->rev;
    told->state = (uint8_t)task->state;
    told->is_told = true;
    add(deltas, BERTH_TASK, false, task);
}

static void feed_task(struct feed *feed, const struct batch_event *event, struct arena *arena,
                      struct feed_deltas *deltas)
{
    const struct row_task *row = event->row.task;
    struct fed *fed = NULL;
    struct fed_task *told = find_task(feed, row->job, row->grp, row->idx, &fed);
    struct berth_task *task;

    if (event->is_deleted || !told)
        return;
    task = ARENA_NEW0(arena, struct berth_task);
    task->job = fed->job.id;
    task->group = fed->job.groups[row->grp].name;
    task->index = (uint32_t)row->idx;
    task->attempt = told->number;
    task->state = row->state == TASK_CANCELLED ? BERTH_TASK_CANCELLED : BERTH_TASK_FAILED;
    told->state = (uint8_t)task->state;
    told->is_told = true;
    add(deltas, BERTH_TASK, false, task);
}

/* Bytes that the engine asked to be kept, as hex digits (cycle_ops.c writes them). */
static void feed_memo(const struct batch_event *event, struct arena *arena,
                      struct feed_deltas *deltas)
{
    const struct row_memo *row = event->row.any;
    struct berth_memo *memo = ARENA_NEW0(arena, struct berth_memo);
    size_t n = event->is_deleted ? 0 : strlen(row->value) / 2;
    unsigned char *bytes = arena_zero(arena, n + 1);

    memo->name = row->name;
    for (size_t i = 0; i < n; i++) {
        char pair[3] = { row->value[2 * i], row->value[2 * i + 1], '\0' };
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    memo->data = bytes;
    memo->size = n;
    add(deltas, BERTH_MEMO, event->is_deleted, memo);
}

static void feed_event(struct feed *feed, const struct batch_event *event, struct arena *arena,
                       struct feed_deltas *deltas)
{
    if (event->kind == ROW_QUEUE)
        feed_queue(event, arena, deltas);
    else if (event->kind == ROW_NODE)
        feed_node(feed, event, arena, deltas);
    else if (event->kind == ROW_MEMO)
        feed_memo(event, arena, deltas);
    else if (event->kind == ROW_JOB)
        feed_job_row(feed, event, arena, deltas);
    else if (event->kind == ROW_ATTEMPT)
        feed_attempt(feed, event, arena, deltas);
    else if (event->kind == ROW_TASK)
        feed_task(feed, event, arena, deltas);
    else if (event->kind == ROW_RESERVATION)
        feed_rooms_reservation(&feed->rooms, event->row.reservation);
    else if (event->kind == ROW_PART)
        feed_rooms_part(&feed->rooms, event->row.part);
    else if (event->kind == ROW_ORDER)
        feed_pools_order(&feed->pools, event->row.order, event->is_deleted, arena, deltas);
}

/* A base is in no order: nodes are of the pools that they were ordered from, and tasks come when
 * their jobs are there. */
static int step_of(const struct batch_event *event)
{
    if (event->kind == ROW_ORDER)
        return 0;
    return event->kind == ROW_ATTEMPT || event->kind == ROW_TASK ? 2 : 1;
}

static void feed_base(struct feed *feed, const struct batch *batch, struct arena *arena,
                      struct feed_deltas *deltas)
{
    forget_all(feed);
    feed_pools_tell(&feed->pools, arena, deltas);
    for (int step = 0; step <= 2; step++)
        for (size_t i = 0; i < batch->n_events; i++)
            if (step_of(&batch->events[i]) == step)
                feed_event(feed, &batch->events[i], arena, deltas);
}

void feed_batch(struct feed *feed, const struct batch *batch, struct arena *arena,
                struct feed_deltas *deltas)
{
    free_ended(feed);
    if (batch->is_base)
        feed_base(feed, batch, arena, deltas);
    for (size_t i = 0; !batch->is_base && i < batch->n_events; i++)
        feed_event(feed, &batch->events[i], arena, deltas);
    if (feed->has_new_folders)
        tell_folders(feed, arena, deltas);
    feed_rooms_tell(&feed->rooms, feed, arena, deltas);
}

char *feed_amounts_text(const struct berth_amounts *amounts)
{
    json_t *object = json_object();
    char *text;

    for (size_t i = 0; i < amounts->n; i++)
        json_object_set_new(object, amounts->at[i].name, json_integer(amounts->at[i].value));
    text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}

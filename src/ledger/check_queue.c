/*
 * The history checker, queues: no bind takes one above its cap. What a job uses is added to its
 * queue and to each above it; a queue that gets another parent takes its use along.
 */
#include "ledger/check_inside.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static struct use *use_of(struct seen_queue *queue, const char *resource)
{
    struct use *use;

    for (size_t i = 0; i < queue->uses.n; i++)
        if (strcmp(queue->uses.at[i].resource, resource) == 0)
            return &queue->uses.at[i];
    use = VEC_ADD(&queue->uses);
    *use = (struct use){ .resource = text_copy(resource) };
    return use;
}

static struct seen_queue *queue_of(struct check *c, const char *name)
{
    struct seen_queue *queue = map_get(&c->queues, name);

    if (queue)
        return queue;
    queue = NEW0(struct seen_queue);
    queue->name = text_copy(name);
    queue->parent = text_copy("");
    map_put(&c->queues, queue->name, queue);
    return queue;
}

/* Adds to what is used of a queue and of each above it. */
static void add_use(struct check *c, const char *name, const char *resource, int64_t value)
{
    struct seen_queue *queue;

    for (; (queue = map_get(&c->queues, name)); name = queue->parent)
        use_of(queue, resource)->used += value;
}

static void set_parent(struct check *c, struct seen_queue *queue, const char *parent)
{
    for (size_t i = 0; i < queue->uses.n; i++) {
        const struct use *use = &queue->uses.at[i];
        add_use(c, queue->parent, use->resource, -use->used);
        add_use(c, parent, use->resource, use->used);
    }
    mem_free(queue->parent);
    queue->parent = text_copy(parent);
}

void check_see_queue(struct check *c, const struct row_queue *row)
{
    struct seen_queue *queue = queue_of(c, row->name);
    json_t *spec = *row->spec ? json_loads(row->spec, 0, NULL) : NULL, *value;
    const char *resource;

    set_parent(c, queue, row->parent);
    for (size_t i = 0; i < queue->uses.n; i++)
        queue->uses.at[i].is_offered = false;
    json_object_foreach(json_object_get(spec, "cap"), resource, value)
    {
        struct use *use = use_of(queue, resource);
        use->offered = json_integer_value(value);
        use->is_offered = true;
    }
    queue->max_limit_ms = json_integer_value(json_object_get(spec, "maxLimit"));
    json_decref(spec);
}

/* After a bind: what the task asked for is within the cap of each queue from the job's up. */
static void check_cap(struct check *c, const char *name, const char *resource)
{
    const struct seen_queue *queue;

    for (; (queue = map_get(&c->queues, name)); name = queue->parent)
        for (size_t i = 0; i < queue->uses.n; i++) {
            const struct use *use = &queue->uses.at[i];
            if (use->is_offered && use->used > use->offered && strcmp(use->resource, resource) == 0)
                check_find(c, "brings queue %s to %" PRId64 " of %s, above its cap of %" PRId64,
                           queue->name, use->used, resource, use->offered);
        }
}

static void use(struct check *c, const char *queue, const char *resource, int64_t value)
{
    add_use(c, queue, resource, value);
    if (value > 0)
        check_cap(c, queue, resource);
}

void check_queue_use(struct check *c, const struct seen_job *job, int64_t grp, int sign)
{
    const struct amounts *asks = &job->spec->groups[grp].holds;

    queue_of(c, job->queue);
    for (size_t i = 0; i < asks->n; i++)
        if (strcmp(asks->at[i].resource, "pods") != 0)
            use(c, job->queue, asks->at[i].resource, sign * asks->at[i].value);
    use(c, job->queue, "pods", sign * 1000);
}

void check_queue_limit(struct check *c, const struct seen_job *job, bool is_new, int64_t was_ms)
{
    int64_t now_ms = job->spec->limit_ms ? job->spec->limit_ms : INT64_MAX;
    const struct seen_queue *queue = map_get(&c->queues, job->queue);

    if (!is_new && now_ms <= (was_ms ? was_ms : INT64_MAX))
        return;
    for (; queue; queue = map_get(&c->queues, queue->parent))
        if (queue->max_limit_ms && now_ms > queue->max_limit_ms)
            check_find(c, "its limit is above the longest of queue %s", queue->name);
}

void check_queues_fini(struct check *c)
{
    MAP_EACH (entry, &c->queues) {
        struct seen_queue *queue = entry->value;
        for (size_t i = 0; i < queue->uses.n; i++)
            mem_free(queue->uses.at[i].resource);
        VEC_FINI(&queue->uses);
        mem_free(queue->parent);
        mem_free(queue->name);
        mem_free(queue);
    }
    map_fini(&c->queues);
}

/*
 * The history checker, queues: no bind takes one above its cap. A queue's use is that of its own jobs;
 * what those below it use is added up anew for each question.
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

void check_see_queue(struct check *c, const struct row_queue *row)
{
    struct seen_queue *queue = queue_of(c, row->name);
    json_t *spec = *row->spec ? json_loads(row->spec, 0, NULL) : NULL, *value;
    const char *resource;

    mem_free(queue->parent);
    queue->parent = text_copy(row->parent);
    for (size_t i = 0; i < queue->uses.n; i++)
        queue->uses.at[i].is_offered = false;
    json_object_foreach(json_object_get(spec, "cap"), resource, value)
    {
        struct use *use = use_of(queue, resource);
        use->offered = json_integer_value(value);
        use->is_offered = true;
    }
    json_decref(spec);
}

static bool is_below(const struct check *c, const char *name, const char *above)
{
    const struct seen_queue *queue;

    for (; (queue = map_get(&c->queues, name)); name = queue->parent)
        if (strcmp(queue->name, above) == 0)
            return true;
    return false;
}

static int64_t used_below(struct check *c, const char *above, const char *resource)
{
    int64_t sum = 0;

    MAP_EACH (entry, &c->queues) {
        struct seen_queue *queue = entry->value;
        if (is_below(c, queue->name, above))
            sum += use_of(queue, resource)->used;
    }
    return sum;
}

static void check_cap(struct check *c, const struct seen_queue *queue, const struct use *cap)
{
    int64_t used = used_below(c, queue->name, cap->resource);

    if (used > cap->offered)
        check_find(c, "brings queue %s to %" PRId64 " of %s, above its cap of %" PRId64,
                   queue->name, used, cap->resource, cap->offered);
}

static bool is_asked(const struct amounts *asks, const char *resource)
{
    for (size_t i = 0; i < asks->n; i++)
        if (strcmp(asks->at[i].resource, resource) == 0 && asks->at[i].value)
            return true;
    return strcmp(resource, "pods") == 0;
}

/* Each queue from the job's up, in what the task asks. */
static void check_caps(struct check *c, const char *name, const struct amounts *asks)
{
    const struct seen_queue *queue;

    for (; (queue = map_get(&c->queues, name)); name = queue->parent)
        for (size_t i = 0; i < queue->uses.n; i++)
            if (queue->uses.at[i].is_offered && is_asked(asks, queue->uses.at[i].resource))
                check_cap(c, queue, &queue->uses.at[i]);
}

void check_queue_use(struct check *c, const struct seen_job *job, int64_t grp, int sign)
{
    struct seen_queue *queue = queue_of(c, job->queue);
    const struct amounts *asks = &job->spec->groups[grp].resources;

    for (size_t i = 0; i < asks->n; i++)
        if (strcmp(asks->at[i].resource, "pods") != 0)
            use_of(queue, asks->at[i].resource)->used += sign * asks->at[i].value;
    use_of(queue, "pods")->used += sign * 1000;
    if (sign > 0)
        check_caps(c, queue->name, asks);
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

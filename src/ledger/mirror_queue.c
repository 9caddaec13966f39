/*
 * Mirror, queues: what the live attempts of each queue's jobs use, those of the queues below it
 * with them, and the caps that this is held against. It follows from set_task, as a node's use
 * does, and from the queues' rows: one that gets another parent takes its use along.
 */
#include "ledger/mirror_inside.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

static struct mirror_queue *queue_of(struct mirror *mirror, const char *name)
{
    struct mirror_queue *queue = map_get(&mirror->queues, name);

    if (queue)
        return queue;
    queue = NEW0(struct mirror_queue);
    queue->name = text_copy(name);
    map_put(&mirror->queues, queue->name, queue);
    return queue;
}

static void queue_free(struct mirror_queue *queue)
{
    VEC_EACH (share, &queue->shares)
        mem_free(share->resource);
    VEC_FINI(&queue->shares);
    mem_free(queue->name);
    mem_free(queue);
}

static struct mirror_share *share_of(struct mirror_queue *queue, const char *resource)
{
    struct mirror_share *share;

    VEC_EACH (each, &queue->shares)
        if (strcmp(each->resource, resource) == 0)
            return each;
    share = VEC_ADD(&queue->shares);
    *share = (struct mirror_share){ .resource = text_copy(resource), .cap = MIRROR_NO_CAP };
    return share;
}

const char *mirror_queue_parent(const struct mirror *mirror, const char *queue)
{
    const struct row_queue *row = mirror_find(mirror, ROW_QUEUE, queue);

    return row && *row->parent ? row->parent : NULL;
}

const struct mirror_queue *mirror_queue(const struct mirror *mirror, const char *name)
{
    return map_get(&mirror->queues, name);
}

static void use(struct mirror_queue *queue, const char *resource, int64_t value)
{
    struct mirror_share *share = share_of(queue, resource);

    share->used += value;
    assert(share->used >= 0);
}

void queue_use(struct mirror *mirror, const char *name, const struct mirror_group *group, int sign)
{
    for (; name; name = mirror_queue_parent(mirror, name)) {
        struct mirror_queue *queue = queue_of(mirror, name);
        for (size_t i = 0; i < group->n_asks; i++)
            if (group->asks[i].value)
                use(queue, group->asks[i].resource, sign * group->asks[i].value);
        use(queue, "pods", sign * POD);
    }
}

int64_t mirror_max_limit(const struct mirror *mirror, const char *name, const char **whose)
{
    int64_t least_ms = 0;

    for (; name; name = mirror_queue_parent(mirror, name)) {
        const struct mirror_queue *queue = mirror_queue(mirror, name);
        if (!queue || !queue->max_limit_ms || (least_ms && queue->max_limit_ms >= least_ms))
            continue;
        least_ms = queue->max_limit_ms;
        *whose = queue->name;
    }
    return least_ms;
}

static void set_bounds(struct mirror_queue *queue, const struct row_queue *row)
{
    json_t *spec = row && *row->spec ? json_loads(row->spec, 0, NULL) : NULL, *value;
    const char *resource;

    VEC_EACH (share, &queue->shares)
        share->cap = MIRROR_NO_CAP;
    json_object_foreach(json_object_get(spec, "cap"), resource, value) share_of(queue, resource)
        ->cap = json_integer_value(value);
    queue->max_limit_ms = json_integer_value(json_object_get(spec, "maxLimit"));
    json_decref(spec);
}

/* Adds all that a queue uses to those above it, from this one on. */
static void move_use(struct mirror *mirror, const struct mirror_queue *queue, const char *above,
                     int sign)
{
    for (; above; above = mirror_queue_parent(mirror, above))
        VEC_EACH (share, &queue->shares)
            if (share->used)
                use(queue_of(mirror, above), share->resource, sign * share->used);
}

void queue_changed(struct mirror *mirror, const struct row_queue *was, const struct row_queue *row)
{
    struct mirror_queue *queue = queue_of(mirror, (row ? row : was)->name);
    const char *from = was && *was->parent ? was->parent : NULL;
    const char *to = row && *row->parent ? row->parent : NULL;

    set_bounds(queue, row);
    if (from ? to && strcmp(from, to) == 0 : !to)
        return;
    move_use(mirror, queue, from, -1);
    move_use(mirror, queue, to, 1);
}

void queues_fini(struct mirror *mirror)
{
    MAP_EACH (entry, &mirror->queues)
        queue_free(entry->value);
    map_fini(&mirror->queues);
}

/* ---- comparing ---- */

static struct mirror_share share_in(const struct mirror *mirror, const char *queue,
                                    const char *resource)
{
    const struct mirror_queue *at = mirror_queue(mirror, queue);

    for (size_t i = 0; at && i < at->shares.n; i++)
        if (strcmp(at->shares.at[i].resource, resource) == 0)
            return at->shares.at[i];
    return (struct mirror_share){ .cap = MIRROR_NO_CAP };
}

const char *queues_differ(const struct mirror *a, const struct mirror *b)
{
    MAP_EACH (entry, &a->queues) {
        const struct mirror_queue *queue = entry->value, *other = mirror_queue(b, queue->name);
        if (queue->max_limit_ms != (other ? other->max_limit_ms : 0))
            return queue->name;
        for (size_t i = 0; i < queue->shares.n; i++) {
            const struct mirror_share *x = &queue->shares.at[i];
            struct mirror_share y = share_in(b, queue->name, x->resource);
            if (x->used != y.used || x->cap != y.cap)
                return queue->name;
        }
    }
    return NULL;
}

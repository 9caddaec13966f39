/*
 * Mirror, queues: what the live attempts of each queue's jobs use, those of the queues below it
 * with them, and the caps that this is held against. It follows from set_task, as a node's use
 * does, and from the queues' rows: one that gets another parent takes its use along.
 */
#include "ledger/mirror_inside.h"

#include <jansson.h>
#include <string.h>

const char *mirror_queue_parent(const struct mirror *mirror, const char *queue)
{
    const struct row_queue *row = mirror_find(mirror, ROW_QUEUE, queue);

    return row && *row->parent ? row->parent : NULL;
}

const struct mirror_account *mirror_queue(const struct mirror *mirror, const char *name)
{
    return map_get(&mirror->queues, name);
}

void queue_use(struct mirror *mirror, const char *name, const struct mirror_group *group, int sign)
{
    for (; name; name = mirror_queue_parent(mirror, name))
        account_use(account_of(&mirror->queues, name), group, sign);
}

int64_t mirror_max_limit(const struct mirror *mirror, const char *name, const char **whose)
{
    int64_t least_ms = 0;

    for (; name; name = mirror_queue_parent(mirror, name)) {
        const struct mirror_account *queue = mirror_queue(mirror, name);
        if (!queue || !queue->max_limit_ms || (least_ms && queue->max_limit_ms >= least_ms))
            continue;
        least_ms = queue->max_limit_ms;
        *whose = queue->name;
    }
    return least_ms;
}

static void set_bounds(struct mirror_account *queue, const struct row_queue *row)
{
    json_t *spec = row && *row->spec ? json_loads(row->spec, 0, NULL) : NULL, *value;
    const char *resource;

    VEC_EACH (share, &queue->shares)
        share->cap = MIRROR_NO_CAP;
    json_object_foreach(json_object_get(spec, "cap"), resource, value)
        account_share(queue, resource)
            ->cap = json_integer_value(value);
    queue->max_limit_ms = json_integer_value(json_object_get(spec, "maxLimit"));
    json_decref(spec);
}

/* Adds all that a queue uses to those above it, from this one on. */
static void move_use(struct mirror *mirror, const struct mirror_account *queue, const char *above,
                     int sign)
{
    for (; above; above = mirror_queue_parent(mirror, above))
        VEC_EACH (share, &queue->shares)
            if (share->used)
                account_add(account_of(&mirror->queues, above), share->resource,
                            sign * share->used);
}

void queue_changed(struct mirror *mirror, const struct row_queue *was, const struct row_queue *row)
{
    struct mirror_account *queue = account_of(&mirror->queues, (row ? row : was)->name);
    const char *from = was && *was->parent ? was->parent : NULL;
    const char *to = row && *row->parent ? row->parent : NULL;

    set_bounds(queue, row);
    if (from ? to && strcmp(from, to) == 0 : !to)
        return;
    move_use(mirror, queue, from, -1);
    move_use(mirror, queue, to, 1);
}

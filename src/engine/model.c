/*
 * The model: see model.h. Here are nodes and queues; jobs and tasks are in jobs.c, classes in
 * classes.c.
 */
#include "engine/model.h"

#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/lines.h"
#include "engine/shape.h"

enum { LONGEST_LOG = 1 << 20 };

void model_init(struct model *model)
{
    *model = (struct model){ .epoch = 1, .fleet = 1, .device_turn = 1, .memory_milli = 1000 };
    dim_of(model, "pods");
    dim_of(model, "cpu");
    dim_of(model, "memory");
}

static void node_free(struct node *node)
{
    free((void *)node->kept);
    free(node->id);
    free(node->cores);
    VEC_FINI(&node->devices);
    VEC_FINI(&node->tasks);
    free(node);
}

static void queue_free(struct queue *queue)
{
    free((void *)queue->kept);
    free(queue->name);
    free(queue->allocated);
    free(queue->pending);
    free(queue->live);
    VEC_FINI(&queue->placed);
    free(queue);
}

static void column_free(struct column *c)
{
    free(c->offers);
    free(c->used);
    free(c->releasing);
    free(c->pipelined);
    free(c->idle);
    free(c->future);
    free(c->shared);
}

void model_fini(struct model *model)
{
    VEC_OF(struct job *) jobs = { 0 };
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&model->job_map, &at)))
        VEC_PUSH(&jobs, entry->value);
    VEC_EACH (job, &jobs)
        job_forget(model, *job);
    VEC_FINI(&jobs);
    lines_fini(model);
    map_fini(&model->job_map);
    for (at = 0; (entry = map_next(&model->node_map, &at));)
        node_free(entry->value);
    map_fini(&model->node_map);
    for (at = 0; (entry = map_next(&model->queue_map, &at));)
        queue_free(entry->value);
    map_fini(&model->queue_map);
    map_fini(&model->space_map);
    VEC_EACH (alike, &model->alikes) {
        free((*alike)->key);
        free(*alike);
    }
    map_fini(&model->alike_map);
    map_fini(&model->kind_map);
    for (size_t i = 0; i < model->dims.n; i++) {
        column_free(&model->columns[i]);
        free(model->dims.at[i]->name);
        free(model->dims.at[i]);
    }
    free(model->columns);
    free(model->rows.alike);
    free(model->rows.name);
    free(model->rows.takes_work);
    free(model->rows.serves);
    free(model->rows.is_over);
    for (size_t i = 0; i < COUNT_OF(model->gauges); i++) {
        free(model->gauges[i].offers);
        free(model->gauges[i].said);
        free(model->gauges[i].n_unsaid);
    }
    map_fini(&model->dim_map);
    for (at = 0; (entry = map_next(&model->sort_map, &at));)
        free((void *)entry->key);
    map_fini(&model->sort_map);
    for (size_t i = 0; i < BERTH_KIND_COUNT; i++)
        shelf_fini(&model->shelves[i]);
    VEC_FINI(&model->dims);
    VEC_FINI(&model->nodes);
    VEC_FINI(&model->jobs);
    VEC_FINI(&model->queues);
    VEC_FINI(&model->alikes);
    VEC_FINI(&model->touched);
    VEC_FINI(&model->anti_kinds);
    VEC_FINI(&model->choosy_kinds);
    VEC_FINI(&model->gpu_models);
    VEC_FINI(&model->gpu_counts);
}

void model_turn(struct model *model)
{
    model->epoch++;
    model->fleet++;
    model->touched_base += model->touched.n;
    model->touched.n = 0;
}

void node_touch(struct model *model, const struct node *node)
{
    if (node->at == NOWHERE)
        return;
    if (model->touched.n >= LONGEST_LOG)
        model_turn(model);
    VEC_PUSH(&model->touched, node->at);
}

/* --- Nodes */

int node_rank_cmp(const struct node *a, const struct node *b)
{
    if (a->kept->seq != b->kept->seq)
        return a->kept->seq < b->kept->seq ? -1 : 1;
    return strcmp(a->id, b->id);
}

struct node *node_find(const struct model *model, const char *id)
{
    return id ? map_get(&model->node_map, id) : NULL;
}

struct node *node_ref(struct model *model, const char *id)
{
    struct node *node = node_find(model, id);

    if (node)
        return node;
    node = NEW0(struct node);
    node->id = text_copy(id);
    node->at = node->alike = NOWHERE;
    map_put(&model->node_map, node->id, node);
    return node;
}

void node_tidy(struct model *model, struct node *node)
{
    if (node->kept || node->tasks.n || node->devices.n || node->n_refs)
        return;
    map_remove(&model->node_map, node->id);
    node_free(node);
}

/* Makes (by 1) or closes (by -1) a place among n members of an array. */
static void shift(void *array, size_t size, size_t at, size_t n, int by)
{
    char *place = (char *)array + at * size;

    if (by > 0) {
        memmove(place + size, place, (n - at) * size);
        memset(place, 0, size);
    } else {
        memmove(place, place + size, (n - at - 1) * size);
    }
}

static void shift_columns(struct model *model, size_t at, size_t n, int by)
{
    struct rows *rows = &model->rows;

    for (size_t i = 0; i < model->dims.n; i++) {
        struct column *c = &model->columns[i];
        int64_t *const arrays[] = { c->offers, c->used,   c->releasing, c->pipelined,
                                    c->idle,   c->future, c->shared };
        for (size_t k = 0; k < COUNT_OF(arrays); k++)
            shift(arrays[k], sizeof(int64_t), at, n, by);
    }
    shift(rows->alike, sizeof(uint32_t), at, n, by);
    shift(rows->name, sizeof(uint32_t), at, n, by);
    shift(rows->takes_work, sizeof(uint8_t), at, n, by);
    shift(rows->serves, sizeof(uint8_t), at, n, by);
    shift(rows->is_over, sizeof(uint8_t), at, n, by);
    for (size_t i = DIM_CPU; i < COUNT_OF(model->gauges); i++) {
        shift(model->gauges[i].offers, sizeof(double), at, n, by);
        shift(model->gauges[i].said, sizeof(double), at, n, by);
        shift(model->gauges[i].n_unsaid, sizeof(int32_t), at, n, by);
    }
}

static void grow_columns(struct model *model)
{
    size_t cap = model->columns_cap ? model->columns_cap * 2 : 16;
    struct rows *rows = &model->rows;

    for (size_t i = 0; i < model->dims.n; i++) {
        struct column *c = &model->columns[i];
        c->offers = mem_resize(c->offers, cap + 1, sizeof(int64_t));
        c->used = mem_resize(c->used, cap + 1, sizeof(int64_t));
        c->releasing = mem_resize(c->releasing, cap + 1, sizeof(int64_t));
        c->pipelined = mem_resize(c->pipelined, cap + 1, sizeof(int64_t));
        c->idle = mem_resize(c->idle, cap + 1, sizeof(int64_t));
        c->future = mem_resize(c->future, cap + 1, sizeof(int64_t));
        c->shared = mem_resize(c->shared, cap + 1, sizeof(int64_t));
    }
    rows->alike = mem_resize(rows->alike, cap + 1, sizeof(uint32_t));
    rows->name = mem_resize(rows->name, cap + 1, sizeof(uint32_t));
    rows->takes_work = mem_resize(rows->takes_work, cap + 1, sizeof(uint8_t));
    rows->serves = mem_resize(rows->serves, cap + 1, sizeof(uint8_t));
    rows->is_over = mem_resize(rows->is_over, cap + 1, sizeof(uint8_t));
    for (size_t i = DIM_CPU; i < COUNT_OF(model->gauges); i++) {
        struct gauge *g = &model->gauges[i];
        g->offers = mem_resize(g->offers, cap + 1, sizeof(double));
        g->said = mem_resize(g->said, cap + 1, sizeof(double));
        g->n_unsaid = mem_resize(g->n_unsaid, cap + 1, sizeof(int32_t));
    }
    model->columns_cap = cap;
}

static bool is_lacking(const struct model *model, uint32_t at)
{
    return !model->columns[DIM_CPU].offers[at] || !model->columns[DIM_MEMORY].offers[at];
}

static void node_enter(struct model *model, struct node *node)
{
    size_t at = model->nodes.n;

    while (at > 0 && node_rank_cmp(node, model->nodes.at[at - 1]) < 0)
        at--;
    if (model->nodes.n == model->columns_cap)
        grow_columns(model);
    VEC_PUSH(&model->nodes, NULL);
    shift_columns(model, at, model->nodes.n - 1, 1);
    for (size_t i = model->nodes.n - 1; i > at; i--) {
        model->nodes.at[i] = model->nodes.at[i - 1];
        model->nodes.at[i]->at = (uint32_t)i;
    }
    model->nodes.at[at] = node;
    node->at = (uint32_t)at;
    model->n_lacking++; /* it offers nothing yet */
    VEC_EACH (task, &node->tasks)
        task_count(model, *task, 1);
    model->names_sorted = false;
    model_turn(model);
}

static void node_leave(struct model *model, struct node *node)
{
    size_t at = node->at;

    VEC_EACH (task, &node->tasks)
        model->n_in_between -= task_is_in_between(*task);
    model->n_lacking -= is_lacking(model, node->at);
    for (size_t i = 0; i < model->dims.n; i++)
        model->columns[i].sum_shared -= model->columns[i].shared[at];
    shift_columns(model, at, model->nodes.n, -1);
    for (size_t i = at; i + 1 < model->nodes.n; i++) {
        model->nodes.at[i] = model->nodes.at[i + 1];
        model->nodes.at[i]->at = (uint32_t)i;
    }
    model->nodes.n--;
    model->alikes.at[node->alike]->n--;
    node->at = node->alike = NOWHERE;
    model->names_sorted = false;
    model_turn(model);
}

void node_offer(struct model *model, struct node *node)
{
    const struct berth_node *kept = node->kept;
    const struct berth_amounts *offers = &kept->offers;

    model->n_lacking -= is_lacking(model, node->at);
    model->rows.serves[node->at] = kept->state == NODE_READY && !kept->cordoned && !kept->draining;
    for (size_t i = 0; i < offers->n; i++)
        dim_of(model, offers->at[i].name);
    for (size_t i = 0; i < model->dims.n; i++)
        model->columns[i].offers[node->at] = i == DIM_PODS ? UNLIMITED : 0;
    for (size_t i = 0; i < offers->n; i++)
        model->columns[dim_find(model, offers->at[i].name)].offers[node->at] = offers->at[i].value;
    for (size_t i = 0; i < model->dims.n; i++)
        column_offer(model, (uint32_t)i, node->at);
    model->n_lacking += is_lacking(model, node->at);
    devices_offer(model, node);
    node_weigh(model, node);
}

void node_weigh(struct model *model, struct node *node)
{
    node->n_over = 0;
    for (size_t i = 0; i < model->dims.n; i++)
        node->n_over += column_idle(&model->columns[i], node->at) < 0;
    model->rows.is_over[node->at] = node->n_over > 0;
}

static bool amounts_are_equal(const struct berth_amounts *a, const struct berth_amounts *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i].name, b->at[i].name) != 0 || a->at[i].value != b->at[i].value)
            return false;
    return true;
}

static uint32_t n_soft_taints(const struct berth_node *kept)
{
    uint32_t n = 0;

    for (size_t i = 0; kept && i < kept->n_taints; i++)
        n += kept->taints[i].effect == BERTH_PREFER_NO_SCHEDULE;
    return n;
}

static bool numbers_are_equal(const struct berth_numbers *a, const struct berth_numbers *b)
{
    return a->n == b->n && (!a->n || memcmp(a->at, b->at, a->n * sizeof(*a->at)) == 0);
}

/* Whether two nodes of one class have as much. */
static bool is_as_large(const struct berth_node *a, const struct berth_node *b)
{
    return amounts_are_equal(&a->offers, &b->offers) &&
           amounts_are_equal(&a->device_classes, &b->device_classes) &&
           numbers_are_equal(&a->cores, &b->cores);
}

void node_put(struct model *model, const char *id, struct berth_node *kept)
{
    struct node *node = kept ? node_ref(model, id) : node_find(model, id);
    const struct berth_node *old;
    uint32_t alike;

    if (!node)
        return;
    old = node->kept;
    holds_drop(node);
    model->n_coming += (kept && kept->state == NODE_COMING) - (old && old->state == NODE_COMING);
    model->n_soft_taints += n_soft_taints(kept) - n_soft_taints(old);
    if (old && (!kept || old->seq != kept->seq))
        node_leave(model, node);
    node->kept = kept;
    if (kept) {
        if (node->at == NOWHERE)
            node_enter(model, node);
        node_offer(model, node);
        alike = alike_of(model, node);
        model->fleet += node->alike != alike || !old || !is_as_large(old, kept);
        if (node->alike != alike) {
            if (node->alike != NOWHERE)
                model->alikes.at[node->alike]->n--;
            node->alike = alike;
            model->alikes.at[alike]->n++;
        }
        holds_join(model, node);
        model->rows.alike[node->at] = node->alike;
        model->rows.takes_work[node->at] = node_takes_work(kept->state);
        node_touch(model, node);
    }
    free((void *)old);
    node_tidy(model, node);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct node *const *)a)->id, (*(struct node *const *)b)->id);
}

void nodes_sort_names(struct model *model)
{
    struct node **sorted;

    if (model->names_sorted)
        return;
    sorted = NEW0_N(struct node *, model->nodes.n + 1);
    if (model->nodes.n)
        memcpy(sorted, model->nodes.at, model->nodes.n * sizeof(struct node *));
    qsort(sorted, model->nodes.n, sizeof(struct node *), by_name);
    for (size_t i = 0; i < model->nodes.n; i++) {
        sorted[i]->name_at = (uint32_t)i;
        model->rows.name[sorted[i]->at] = (uint32_t)i;
    }
    free(sorted);
    model->names_sorted = true;
}

/* --- Queues */

int queue_rank_cmp(const struct queue *a, const struct queue *b)
{
    if (a->kept->seq != b->kept->seq)
        return a->kept->seq < b->kept->seq ? -1 : 1;
    return strcmp(a->name, b->name);
}

struct queue *queue_find(const struct model *model, const char *name)
{
    return name ? map_get(&model->queue_map, name) : NULL;
}

struct queue *queue_ref(struct model *model, const char *name)
{
    struct queue *queue = queue_find(model, name);

    if (queue)
        return queue;
    queue = NEW0(struct queue);
    queue->name = text_copy(name);
    queue->at = NOWHERE;
    map_put(&model->queue_map, queue->name, queue);
    return queue;
}

void queue_count(struct queue *queue, int32_t priority, int64_t by)
{
    size_t i = 0;

    while (i < queue->placed.n && queue->placed.at[i].priority != priority)
        i++;
    if (i == queue->placed.n)
        VEC_PUSH(&queue->placed, ((struct placed){ .priority = priority }));
    queue->placed.at[i].n += (uint64_t)by;
    if (!queue->placed.at[i].n)
        VEC_SWAP_OUT(&queue->placed, i);
}

void queue_tidy(struct model *model, struct queue *queue)
{
    if (queue->kept || queue->n_jobs)
        return;
    map_remove(&model->queue_map, queue->name);
    queue_free(queue);
}

static void queue_leave(struct model *model, struct queue *queue)
{
    for (size_t i = queue->at; i + 1 < model->queues.n; i++) {
        model->queues.at[i] = model->queues.at[i + 1];
        model->queues.at[i]->at = (uint32_t)i;
    }
    model->queues.n--;
    queue->at = NOWHERE;
}

static void queue_enter(struct model *model, struct queue *queue)
{
    size_t at = model->queues.n;

    VEC_PUSH(&model->queues, NULL);
    while (at > 0 && queue_rank_cmp(queue, model->queues.at[at - 1]) < 0) {
        model->queues.at[at] = model->queues.at[at - 1];
        model->queues.at[at]->at = (uint32_t)at;
        at--;
    }
    model->queues.at[at] = queue;
    queue->at = (uint32_t)at;
}

void queue_put(struct model *model, const char *name, struct berth_queue *kept)
{
    struct queue *queue = kept ? queue_ref(model, name) : queue_find(model, name);

    if (!queue)
        return;
    if (queue->at != NOWHERE)
        queue_leave(model, queue);
    free((void *)queue->kept);
    queue->kept = kept;
    if (kept) {
        dims_of(model, &kept->capability);
        dims_of(model, &kept->deserved);
        dims_of(model, &kept->guarantee);
        queue_enter(model, queue);
    }
    model_turn(model); /* checks of nodes may go by the queue */
    queue_tidy(model, queue);
}

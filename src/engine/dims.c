/* Dimensions: names of resources as small numbers, and amounts by them. */
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "engine/model.h"

static enum wait_code code_of(const char *name)
{
    if (text_eq(name, "pods"))
        return WAIT_INSUFFICIENT_SLOTS;
    if (text_eq(name, "cpu"))
        return WAIT_INSUFFICIENT_CPU;
    if (text_eq(name, "memory") || text_begins(name, "hugepages-"))
        return WAIT_INSUFFICIENT_MEMORY;
    if (text_eq(name, "storage") || text_eq(name, "ephemeral-storage"))
        return WAIT_INSUFFICIENT_STORAGE;
    if (text_eq(name, "gpu") || strstr(name, "/gpu"))
        return WAIT_INSUFFICIENT_DEVICE;
    return WAIT_INSUFFICIENT_COUNTER;
}

uint32_t dim_find(const struct model *model, const char *name)
{
    const struct dim *dim = map_get(&model->dim_map, name);

    return dim ? dim->id : NOWHERE;
}

uint32_t dim_of(struct model *model, const char *name)
{
    struct dim *dim = map_get(&model->dim_map, name);
    struct column *column;

    if (dim)
        return dim->id;
    dim = NEW0(struct dim);
    dim->name = text_copy(name);
    dim->code = code_of(name);
    dim->id = (uint32_t)model->dims.n;
    VEC_PUSH(&model->dims, dim);
    map_put(&model->dim_map, dim->name, dim);
    model->columns = mem_resize(model->columns, model->dims.n, sizeof(*model->columns));
    column = &model->columns[dim->id];
    column->offers = NEW0_N(int64_t, model->columns_cap + 1);
    column->used = NEW0_N(int64_t, model->columns_cap + 1);
    column->releasing = NEW0_N(int64_t, model->columns_cap + 1);
    column->pipelined = NEW0_N(int64_t, model->columns_cap + 1);
    column->idle = NEW0_N(int64_t, model->columns_cap + 1);
    column->future = NEW0_N(int64_t, model->columns_cap + 1);
    column->shared = NEW0_N(int64_t, model->columns_cap + 1);
    column->sum_shared = 0;
    return dim->id;
}

void dims_of(struct model *model, const struct berth_amounts *amounts)
{
    for (size_t i = 0; i < amounts->n; i++)
        dim_of(model, amounts->at[i].name);
}

bool dim_before(const struct model *model, uint32_t a, uint32_t b)
{
    if (a < DIM_OTHER || b < DIM_OTHER)
        return a < b;
    return strcmp(model->dims.at[a]->name, model->dims.at[b]->name) < 0;
}

void asks_add(const struct model *model, struct asks *asks, uint32_t dim, int64_t value)
{
    size_t at = 0;

    if (value == 0)
        return;
    while (at < asks->n && dim_before(model, asks->at[at].dim, dim))
        at++;
    if (at < asks->n && asks->at[at].dim == dim) {
        asks->at[at].value += value;
        return;
    }
    asks->at = mem_resize(asks->at, asks->n + 1, sizeof(*asks->at));
    memmove(&asks->at[at + 1], &asks->at[at], (asks->n - at) * sizeof(*asks->at));
    asks->at[at] = (struct ask){ dim, value };
    asks->n++;
}

struct asks asks_from(struct model *model, const struct berth_amounts *amounts)
{
    struct asks asks = { 0 };

    for (size_t i = 0; i < amounts->n; i++)
        if (amounts->at[i].value)
            asks_add(model, &asks, dim_of(model, amounts->at[i].name), amounts->at[i].value);
    return asks;
}

void asks_fini(struct asks *asks)
{
    free(asks->at);
    *asks = (struct asks){ 0 };
}

int64_t asks_of(const struct asks *asks, uint32_t dim)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].dim == dim)
            return asks->at[i].value;
    return 0;
}

/*
 * On a node that takes nothing only what is held there is still to be shared; of one that shrank, too, so that
 * what all queues share less what they hold is what is free.
 */
static void count_shared(const struct model *model, struct column *c, uint32_t at)
{
    bool is_full = !model->rows.serves[at] || c->used[at] > c->offers[at];
    int64_t shared = c->offers[at] >= UNLIMITED ? 0 : is_full ? c->used[at] : c->offers[at];

    c->sum_shared += (wide)shared - c->shared[at];
    c->shared[at] = shared;
}

void column_offer(struct model *model, uint32_t dim, uint32_t at)
{
    count_shared(model, &model->columns[dim], at);
    column_renew(model, dim, at);
}

void column_renew(struct model *model, uint32_t dim, uint32_t at)
{
    struct column *c = &model->columns[dim];
    int64_t said;

    if (!model->rows.serves[at] || c->used[at] > c->offers[at] || c->shared[at] > c->offers[at])
        count_shared(model, c, at);
    c->idle[at] = wrap_sub(c->offers[at], c->used[at]);
    c->future[at] = wrap_sub(wrap_add(c->idle[at], c->releasing[at]), c->pipelined[at]);
    if (dim != DIM_CPU && dim != DIM_MEMORY)
        return;
    said = wrap_add(c->used[at], c->pipelined[at]);
    model->gauges[dim].offers[at] = (double)c->offers[at];
    model->gauges[dim].said[at] = (double)said;
    if (said >= GAUGE_LIMIT || said < 0 || c->offers[at] >= GAUGE_LIMIT)
        model->is_huge = true;
}

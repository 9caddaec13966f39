/*
 * Classes: tasks with the same needs, and nodes with the same properties, are looked at once.
 * A class is found by the canonical text of what it is made of.
 */
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "engine/kept.h"
#include "engine/model.h"
#include "engine/shape.h"

static void kind_key(const struct berth_job *job, const struct berth_task_group *spec,
                     struct str *key)
{
    str_add(key, job->queue ? job->queue : "");
    str_add_char(key, '\n');
    str_add(key, job->namespace_ ? job->namespace_ : "");
    str_add_char(key, '\n');
    shape_write(&shape_task_group, spec, USE_CLASS, key);
}

/* What the profile makes of an amount: headroom for memory. */
static int64_t with_headroom(const struct model *model, const char *name, int64_t value)
{
    return text_eq(name, "memory") ? quantity_with_headroom(value, model->memory_milli) : value;
}

static void kind_asks(struct model *model, struct kind *kind)
{
    const struct berth_amounts *asks = &kind->spec->asks;
    bool has_gpu = false;

    for (size_t i = 0; i < asks->n; i++) {
        const char *name = asks->at[i].name;
        int64_t value = asks->at[i].value;
        if (text_eq(name, "pods"))
            continue;
        has_gpu = has_gpu || (text_eq(name, "gpu") && value);
        asks_add(model, &kind->asks, dim_of(model, name), with_headroom(model, name, value));
    }
    if (model->gpu_implied && kind->spec->gpu_models.n && !has_gpu)
        asks_add(model, &kind->asks, dim_of(model, "gpu"), 1000);
    kind->best_effort = kind->asks.n == 0 && !kind->spec->gpu_memory;
    if (kind->spec->gpu_memory)
        dim_of(model, "gpu");
    kind->wants_devices = kind->spec->gpu_memory || kind->spec->whole_cores ||
                          (kind->asks.n && kind->asks.at[kind->asks.n - 1].dim >= DIM_OTHER);
    kind->no_cpu = !asks_of(&kind->asks, DIM_CPU);
    kind->no_memory = !asks_of(&kind->asks, DIM_MEMORY);
    asks_add(model, &kind->asks, DIM_PODS, POD_MILLI);
    kind->requires_ = asks_from(model, &kind->spec->requires_);
}

static bool keeps_away(const struct kind *kind)
{
    return kind->spec->affinity && kind->spec->affinity->n_anti_required;
}

static bool likes_company(const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;

    return a && (a->n_pod_preferred || a->n_anti_preferred);
}

struct kind *kind_ref(struct model *model, const struct berth_job *job,
                      const struct berth_task_group *spec)
{
    CLEANUP(str_fini) struct str key = { 0 };
    struct kind *kind;
    size_t n_queue, n_namespace;

    kind_key(job, spec, &key);
    kind = map_get_n(&model->kind_map, key.data, key.len);
    if (!kind) {
        kind = NEW0(struct kind);
        n_queue = strcspn(key.data, "\n");
        n_namespace = strcspn(key.data + n_queue + 1, "\n");
        kind->key = str_take(&key);
        kind->spec = shape_copy(&shape_task_group, spec);
        kind->queue = mem_copy(kind->key, n_queue);
        kind->namespace_ = mem_copy(kind->key + n_queue + 1, n_namespace);
        kind_asks(model, kind);
        map_put(&model->kind_map, kind->key, kind);
        if (keeps_away(kind))
            VEC_PUSH(&model->anti_kinds, kind);
        if (likes_company(kind))
            VEC_PUSH(&model->choosy_kinds, kind);
    }
    kind->n_refs++;
    return kind;
}

void kind_unref(struct model *model, struct kind *kind)
{
    if (--kind->n_refs)
        return;
    map_remove(&model->kind_map, kind->key);
    for (size_t i = 0; keeps_away(kind) && i < model->anti_kinds.n; i++)
        if (model->anti_kinds.at[i] == kind)
            VEC_SWAP_OUT(&model->anti_kinds, i);
    for (size_t i = 0; likes_company(kind) && i < model->choosy_kinds.n; i++)
        if (model->choosy_kinds.at[i] == kind)
            VEC_SWAP_OUT(&model->choosy_kinds, i);
    kept_free(model, kind);
    free(kind->verdicts);
    free(kind->gpu_places);
    free(kind->suits);
    asks_fini(&kind->charge);
    asks_fini(&kind->asks);
    asks_fini(&kind->requires_);
    free((void *)kind->spec);
    free((void *)kind->queue);
    free((void *)kind->namespace_);
    free(kind->key);
    free(kind);
}

/* Classes that no node is in any more are forgotten when they are most. */
static void alikes_renew(struct model *model)
{
    map_fini(&model->alike_map);
    VEC_EACH (alike, &model->alikes) {
        free((*alike)->key);
        free(*alike);
    }
    model->alikes.n = 0;
    for (size_t i = 0; i < model->nodes.n; i++) {
        struct node *node = model->nodes.at[i];
        node->alike = alike_of(model, node);
        model->rows.alike[i] = node->alike;
        model->alikes.at[node->alike]->n++;
    }
    model_turn(model);
}

uint32_t alike_of(struct model *model, const struct node *node)
{
    CLEANUP(str_fini) struct str key = { 0 };
    struct alike *alike;

    shape_write(shape_of[BERTH_NODE], node->kept, USE_CLASS, &key);
    str_add_char(&key, ' ');
    alike = map_get_n(&model->alike_map, key.data, key.len);
    if (alike)
        return alike->id;
    if (model->alikes.n > 4 * model->nodes.n + 1024) {
        alikes_renew(model);
        return alike_of(model, node);
    }
    alike = NEW0(struct alike);
    alike->key = str_take(&key);
    alike->id = (uint32_t)model->alikes.n;
    VEC_PUSH(&model->alikes, alike);
    map_put(&model->alike_map, alike->key, alike);
    return alike->id;
}

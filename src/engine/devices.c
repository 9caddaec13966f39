/* Devices: the model's part, see devices.h. */
#include "engine/devices.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

static uint32_t model_ref(struct model *model, const char *text)
{
    struct gpu_model found;

    if (!text || !text[0])
        return NOWHERE;
    found = gpu_model_of(text);
    for (size_t i = 0; i < model->gpu_models.n; i++)
        if (strcmp(model->gpu_models.at[i].name, found.name) == 0)
            return (uint32_t)i;
    VEC_PUSH(&model->gpu_models, found);
    VEC_PUSH(&model->gpu_counts, 0);
    return (uint32_t)(model->gpu_models.n - 1);
}

static int device_cmp(const struct berth_device *a, const struct berth_device *b)
{
    int cmp = strcmp(a->class_name, b->class_name);

    if (!cmp && a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return cmp ? cmp : strcmp(a->uuid, b->uuid);
}

/* One GPU more or less is known. */
static void count_gpu(struct model *model, const struct device *device, int change)
{
    if (strcmp(device->kept->class_name, "gpu") != 0)
        return;
    model->n_gpus += change;
    if (device->model != NOWHERE)
        model->gpu_counts.at[device->model] += change;
}

static void device_remove(struct model *model, struct node *node, const struct berth_device *like)
{
    for (size_t i = 0; i < node->devices.n; i++) {
        const struct berth_device *kept = node->devices.at[i].kept;
        if (strcmp(kept->uuid, like->uuid) != 0 || strcmp(kept->class_name, like->class_name) != 0)
            continue;
        node->n_off -= device_is_off(&node->devices.at[i]);
        count_gpu(model, &node->devices.at[i], -1);
        memmove(&node->devices.at[i], &node->devices.at[i + 1],
                (node->devices.n - i - 1) * sizeof(struct device));
        node->devices.n--;
        return;
    }
}

static void device_add(struct model *model, struct node *node, const struct berth_device *kept)
{
    struct device device = { .kept = kept,
                             .dim = dim_of(model, kept->class_name),
                             .model = model_ref(model, kept->model) };
    size_t at = node->devices.n;

    VEC_PUSH(&node->devices, device);
    for (; at > 0 && device_cmp(kept, node->devices.at[at - 1].kept) < 0; at--)
        node->devices.at[at] = node->devices.at[at - 1];
    node->devices.at[at] = device;
    count_gpu(model, &device, 1);
    node->n_off += device_is_off(&device);
}

/* The class of nodes whose devices are like these; their ids and who holds them aside. */
static uint32_t sort_of(struct model *model, const struct node *node)
{
    CLEANUP(str_fini) struct str key = { 0 };
    uintptr_t sort;

    if (!node->devices.n)
        return 0;
    VEC_EACH (device, &node->devices)
        str_addf(&key, "%" PRIu32 " %" PRIu32 " %" PRId64 " %d;", device->dim, device->model,
                 device->kept->memory, device_is_off(device));
    sort = (uintptr_t)map_get(&model->sort_map, str_text(&key));
    if (!sort) {
        sort = model->sort_map.n + 1;
        map_put(&model->sort_map, str_take(&key), (void *)sort);
    }
    return (uint32_t)sort;
}

void device_put(struct model *model, const char *key, const struct berth_device *like, void *kept)
{
    struct node *node = kept ? node_ref(model, like->node) : node_find(model, like->node);

    if (!node)
        return;
    holds_drop(node);
    device_remove(model, node, like);
    if (kept)
        device_add(model, node, kept);
    shelf_put(&model->shelves[BERTH_DEVICE], key, kept); /* what it replaces is used no more */
    node->sort = sort_of(model, node);
    devices_brief(node);
    model->device_turn++;
    model->fleet++;
    if (node->at != NOWHERE)
        node_offer(model, node);
    holds_join(model, node);
    node_touch(model, node);
    node_tidy(model, node);
}

static int64_t at_most_whole(int64_t milli)
{
    return milli < 0 ? 0 : milli > DEVICE_MILLI ? DEVICE_MILLI : milli;
}

/* What the devices of a class make, from the first on; where the next class begins. */
static size_t class_offer(struct model *model, struct node *node, size_t from)
{
    uint32_t dim = node->devices.at[from].dim;
    struct column *c = &model->columns[dim];
    wide whole = 0, free = 0, off = 0, off_held = 0, loose = c->used[node->at];
    size_t i = from;

    for (; i < node->devices.n && node->devices.at[i].dim == dim; i++) {
        const struct device *device = &node->devices.at[i];
        loose -= device->used;
        if (device_is_off(device)) {
            off += DEVICE_MILLI;
            off_held += at_most_whole(device->used);
        } else {
            whole += DEVICE_MILLI;
            free += at_most_whole(DEVICE_MILLI - device->used);
        }
    }
    /* What names no device and has no room on the others can only be on those. */
    if (loose > free)
        off_held += loose - free;
    c->offers[node->at] = (int64_t)(whole + (off_held < off ? off_held : off));
    column_offer(model, dim, node->at);
    return i;
}

void devices_offer(struct model *model, struct node *node)
{
    for (size_t i = 0; i < node->devices.n;)
        i = class_offer(model, node, i);
    if (node->n_off)
        node_weigh(model, node);
}

struct asks devices_charge(struct model *model, const struct kind *kind,
                           const struct berth_task *told)
{
    struct asks asks = { 0 };

    if (!told->n_shares)
        return asks;
    for (size_t i = 0; i < told->n_shares; i++)
        asks_add(model, &asks, dim_of(model, told->shares[i].class_name), told->shares[i].milli);
    for (size_t i = 0; i < kind->asks.n; i++)
        if (!asks_of(&asks, kind->asks.at[i].dim))
            asks_add(model, &asks, kind->asks.at[i].dim, kind->asks.at[i].value);
    return asks;
}

void devices_brief(struct node *node)
{
    struct brief *b = &node->brief;

    *b = (struct brief){ .dim = node->devices.n ? node->devices.at[0].dim : NOWHERE,
                         .turn = b->turn + 1 };
    VEC_EACH (device, &node->devices) {
        if (device->dim != b->dim)
            b->dim = NOWHERE;
        b->named[1] = wrap_add(b->named[1], device->used);
        b->named[0] = wrap_add(
            b->named[0], wrap_sub(wrap_add(device->used, device->pipelined), device->releasing));
        for (int idle = 0; idle < 2 && !device_is_off(device); idle++) {
            int64_t free = device_free(device, idle);
            b->n_whole[idle] += free == DEVICE_MILLI;
            if (free < DEVICE_MILLI && free > b->most[idle])
                b->most[idle] = free;
        }
    }
}

/* --- Who holds what */

static void resolve_shares(struct hold *hold, const struct berth_task *told,
                           const struct node *node)
{
    hold->n_shares = 0;
    if (told->n_shares && !hold->shares)
        hold->shares = NEW0_N(struct hold_share, told->n_shares);
    for (size_t i = 0; i < told->n_shares; i++) {
        const struct berth_share *share = &told->shares[i];
        for (size_t d = 0; d < node->devices.n; d++) {
            const struct berth_device *kept = node->devices.at[d].kept;
            if (text_eq(kept->uuid, share->uuid) && text_eq(kept->class_name, share->class_name))
                hold->shares[hold->n_shares++] = (struct hold_share){ (uint32_t)d, share->milli };
        }
    }
}

static void resolve_cores(struct hold *hold, const struct berth_task *told, const struct node *node)
{
    hold->n_cores = 0;
    if (!told->cores.n || !node->kept)
        return;
    if (!hold->cores)
        hold->cores = NEW0_N(uint32_t, told->cores.n);
    for (size_t i = 0; i < told->cores.n; i++)
        for (size_t c = 0; c < node->kept->cores.n; c++)
            if (node->kept->cores.at[c] == told->cores.at[i]) {
                hold->cores[hold->n_cores++] = (uint32_t)c;
                break;
            }
}

void hold_resolve(struct task *task, const struct node *node)
{
    const struct berth_task *told = task->extra->kept;

    if (!told->n_shares && !told->cores.n)
        return;
    resolve_shares(&task->extra->hold, told, node);
    resolve_cores(&task->extra->hold, told, node);
    task->hold = &task->extra->hold;
}

static void core_count(const struct task *task, struct core_use *use, int sign)
{
    if (task->state == BERTH_TASK_PIPELINED)
        use->pipelined = (uint16_t)(use->pipelined + sign);
    else
        use->used = (uint16_t)(use->used + sign);
    if (task->state == BERTH_TASK_RELEASING)
        use->releasing = (uint16_t)(use->releasing + sign);
}

void hold_count(const struct task *task, int sign)
{
    const struct hold *hold = task->hold;
    struct node *node = task->node;

    for (size_t i = 0; i < hold->n_shares; i++) {
        struct device *device = &node->devices.at[hold->shares[i].at];
        int64_t milli = sign * hold->shares[i].milli;
        if (task->state == BERTH_TASK_PIPELINED)
            device->pipelined = wrap_add(device->pipelined, milli);
        else
            device->used = wrap_add(device->used, milli);
        if (task->state == BERTH_TASK_RELEASING)
            device->releasing = wrap_add(device->releasing, milli);
    }
    if (hold->n_shares)
        devices_brief(node);
    if (hold->n_cores && !node->cores)
        node->cores = NEW0_N(struct core_use, node->kept->cores.n);
    for (size_t i = 0; i < hold->n_cores; i++)
        core_count(task, &node->cores[hold->cores[i]], sign);
}

void holds_drop(struct node *node)
{
    VEC_EACH (task, &node->tasks)
        if ((*task)->hold)
            (*task)->extra->hold.n_shares = (*task)->extra->hold.n_cores = 0;
    VEC_EACH (device, &node->devices)
        device->used = device->releasing = device->pipelined = 0;
    devices_brief(node);
    free(node->cores);
    node->cores = NULL;
}

void holds_join(struct model *model, struct node *node)
{
    if (!node->devices.n && !(node->kept && node->kept->cores.n))
        return;
    VEC_EACH (task, &node->tasks) {
        if (!(*task)->extra)
            continue;
        hold_resolve(*task, node);
        if ((*task)->hold && node->at != NOWHERE)
            hold_count(*task, 1);
    }
    if (node->at == NOWHERE)
        return;
    devices_offer(model, node);
    node_weigh(model, node);
}

/* --- Shown */

void hold_show(const struct model *model, const struct node *node, const struct hold *hold,
               struct arena *arena, struct berth_part *out)
{
    struct berth_share *shares = ARENA_NEW0_N(arena, struct berth_share, hold->n_shares + 1);
    uint32_t *cores = ARENA_NEW0_N(arena, uint32_t, hold->n_cores + 1);

    for (size_t i = 0; i < hold->n_shares; i++) {
        const struct device *device = &node->devices.at[hold->shares[i].at];
        shares[i] = (struct berth_share){ .class_name =
                                              arena_text(arena, model->dims.at[device->dim]->name),
                                          .uuid = arena_text(arena, device->kept->uuid),
                                          .index = device->kept->index,
                                          .milli = hold->shares[i].milli };
    }
    for (size_t i = 0; i < hold->n_cores; i++)
        cores[i] = node->kept->cores.at[hold->cores[i]];
    out->shares = shares;
    out->n_shares = hold->n_shares;
    out->cores = (struct berth_numbers){ cores, hold->n_cores };
}

void devices_show(const struct node *node, struct arena *arena, struct berth_node_view *out)
{
    size_t n_cores = node->cores ? node->kept->cores.n : 0;
    uint32_t *cores = ARENA_NEW0_N(arena, uint32_t, n_cores + 1);
    struct berth_device_use *devices =
        ARENA_NEW0_N(arena, struct berth_device_use, node->devices.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < n_cores; i++)
        if (node->cores[i].used)
            cores[n++] = node->kept->cores.at[i];
    out->cores_held = (struct berth_numbers){ cores, n };
    for (size_t i = 0; i < node->devices.n; i++) {
        const struct device *device = &node->devices.at[i];
        devices[i] = (struct berth_device_use){
            .class_name = arena_text(arena, device->kept->class_name),
            .uuid = arena_text(arena, device->kept->uuid),
            .index = device->kept->index,
            .used = device->used,
            .is_off = device_is_off(device),
        };
    }
    out->devices = devices;
    out->n_devices = node->devices.n;
}

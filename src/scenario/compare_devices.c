/* Comparing: the cores and devices that are held at the end. See compare.h. */
#include <stdlib.h>
#include <string.h>

#include "scenario/compare.h"

static int cmp_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void add_numbers(uint32_t *numbers, size_t n, struct str *out)
{
    qsort(numbers, n, sizeof(*numbers), cmp_u32);
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%s%u", i ? "," : "", numbers[i]);
}

static int compare_cores(struct run *run, struct str *faults, struct err *err)
{
    const json_t *object = json_object_get(run->s->expect, "cores"), *list, *item;
    CLEANUP(arena_fini) struct arena arena = { 0 };
    const char *node;
    size_t i;

    json_object_foreach((json_t *)object, node, list)
    {
        struct berth_node_view view = { 0 };
        CLEANUP(str_fini) struct str came = { 0 }, wanted = { 0 };
        uint32_t *held, *meant = ARENA_NEW0_N(&arena, uint32_t, json_array_size(list) + 1);
        int r = berth_engine_node(run->engine, node, &arena, &view, err);
        if (r < 0)
            return r;
        held = ARENA_NEW0_N(&arena, uint32_t, view.cores_held.n + 1);
        if (view.cores_held.n)
            memcpy(held, view.cores_held.at, view.cores_held.n * sizeof(*held));
        json_array_foreach(list, i, item) meant[i] = (uint32_t)json_integer_value(item);
        add_numbers(held, view.cores_held.n, &came);
        add_numbers(meant, json_array_size(list), &wanted);
        if (!text_eq(str_text(&came), str_text(&wanted)))
            str_addf(faults, "cores: %s: expected [%s], came [%s]\n", node, str_text(&wanted),
                     str_text(&came));
    }
    return 0;
}

static void compare_numbers(const char *what, const char *of, const json_t *wanted,
                            const struct berth_numbers *came, struct str *faults)
{
    CLEANUP(str_fini) struct str a = { 0 }, b = { 0 };
    const json_t *item;
    size_t i;

    json_array_foreach(wanted, i, item)
        str_addf(&a, "%s%lld", i ? "," : "", (long long)json_integer_value(item));
    for (i = 0; i < came->n; i++)
        str_addf(&b, "%s%u", i ? "," : "", came->at[i]);
    if (!text_eq(str_text(&a), str_text(&b)))
        str_addf(faults, "%s: %s: expected [%s], came [%s]\n", what, of, str_text(&a),
                 str_text(&b));
}

struct berth_numbers gpus_held(const struct berth_task *task, struct arena *arena)
{
    uint32_t *held = ARENA_NEW0_N(arena, uint32_t, task->n_shares + 1);
    size_t n = task->node ? task->n_shares : 0;

    for (size_t i = 0; i < n; i++)
        held[i] = task->shares[i].index;
    qsort(held, n, sizeof(*held), cmp_u32);
    return (struct berth_numbers){ held, n };
}

static void compare_gpus(struct run *run, struct arena *arena, struct str *faults)
{
    const json_t *object = json_object_get(run->s->expect, "gpus"), *list;
    const char *key;

    json_object_foreach((json_t *)object, key, list)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        struct berth_numbers came = gpus_held(&task->state, arena);
        compare_numbers("gpus", key, list, &came, faults);
    }
}

/* How many thousandths of each of a node's devices are held, in their order. */
static int compare_gpu_use(struct run *run, struct arena *arena, struct str *faults,
                           struct err *err)
{
    const json_t *object = json_object_get(run->s->expect, "gpuUse"), *list;
    const char *node;

    json_object_foreach((json_t *)object, node, list)
    {
        struct berth_node_view view = { 0 };
        int r = berth_engine_node(run->engine, node, arena, &view, err);
        uint32_t *used = ARENA_NEW0_N(arena, uint32_t, view.n_devices + 1);
        struct berth_numbers came = { used, view.n_devices };
        if (r < 0)
            return r;
        for (size_t i = 0; i < view.n_devices; i++)
            used[i] = (uint32_t)view.devices[i].used;
        compare_numbers("gpuUse", node, list, &came, faults);
    }
    return 0;
}

int compare_devices(struct run *run, struct str *faults, struct err *err)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };
    int r;

    compare_gpus(run, &arena, faults);
    r = compare_gpu_use(run, &arena, faults, err);
    return r < 0 ? r : compare_cores(run, faults, err);
}

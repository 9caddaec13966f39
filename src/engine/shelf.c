/* Shelves: objects that need no joining, by a composed key. */
#include <string.h>

#include "base/str.h"
#include "engine/model.h"
#include "engine/shape.h"

void *shelf_get(const struct shelf *shelf, const char *key)
{
    const struct item *item = map_get(&shelf->map, key);

    return item ? item->kept : NULL;
}

static void item_free(struct item *item)
{
    free(item->kept);
    free(item->key);
    free(item);
}

static void shelf_remove(struct shelf *shelf, const char *key)
{
    struct item *item = map_remove(&shelf->map, key);

    if (!item)
        return;
    for (size_t i = 0; i < shelf->items.n; i++) {
        if (shelf->items.at[i] == item) {
            memmove(&shelf->items.at[i], &shelf->items.at[i + 1],
                    (shelf->items.n - i - 1) * sizeof(item));
            shelf->items.n--;
            break;
        }
    }
    item_free(item);
}

void shelf_put(struct shelf *shelf, const char *key, void *kept)
{
    struct item *item;

    if (!kept) {
        shelf_remove(shelf, key);
        return;
    }
    item = map_get(&shelf->map, key);
    if (item) {
        free(item->kept);
        item->kept = kept;
        return;
    }
    item = NEW0(struct item);
    item->key = text_copy(key);
    item->kept = kept;
    map_put(&shelf->map, item->key, item);
    VEC_PUSH(&shelf->items, item);
    shelf->sorted = false;
}

static int item_cmp(const void *a, const void *b)
{
    return strcmp((*(struct item *const *)a)->key, (*(struct item *const *)b)->key);
}

void shelf_sort(struct shelf *shelf)
{
    if (!shelf->sorted && shelf->items.n)
        qsort(shelf->items.at, shelf->items.n, sizeof(struct item *), item_cmp);
    shelf->sorted = true;
}

void shelf_fini(struct shelf *shelf)
{
    VEC_EACH (item, &shelf->items)
        item_free(*item);
    VEC_FINI(&shelf->items);
    map_fini(&shelf->map);
}

void shelf_key(enum berth_kind kind, const void *object, struct str *out)
{
    const struct shape *shape = shape_of[kind];

    str_clear(out);
    for (size_t i = 0; i < shape->n; i++) {
        const struct member *m = &shape->members[i];
        if (!(m->use & USE_KEY))
            continue;
        if (out->len)
            str_add_char(out, '\n');
        str_add(out, *(const char *const *)((const char *)object + m->at));
    }
}

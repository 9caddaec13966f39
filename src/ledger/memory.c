/*
 * The memory store: sorted lists of rows, for tests and for trying things out. A transaction or
 * a look holds the one lock, so looks are consistent; a rollback puts back what was replaced.
 */
#include "ledger/store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/vec.h"

/* One replacement: either may be NULL. */
struct undo {
    enum row_kind kind;
    void *was, *now;
};

struct tables {
    _Atomic int refs;
    pthread_mutex_t lock;
    VEC_OF(void *) rows[ROW_KIND_COUNT]; /* in key order */
    VEC_OF(struct undo) undo;
};

struct memory {
    struct store store;
    struct tables *tables;
    bool is_open; /* in a transaction or look */
    bool is_reader;
};

static struct memory *memory_of(struct store *store)
{
    return CONTAINER(store, struct memory, store);
}

static int open_on(struct tables *tables, bool is_reader, struct store **out)
{
    struct memory *m = NEW0(struct memory);

    m->store.driver = &store_memory;
    m->tables = tables;
    m->is_reader = is_reader;
    *out = &m->store;
    return 0;
}

static int memory_open(const char *where, struct store **out, struct err *err)
{
    struct tables *tables = NEW0(struct tables);

    (void)where;
    (void)err;
    tables->refs = 1;
    pthread_mutex_init(&tables->lock, NULL);
    return open_on(tables, false, out);
}

static int memory_open_reader(struct store *store, struct store **out, struct err *err)
{
    struct tables *tables = memory_of(store)->tables;

    (void)err;
    tables->refs++;
    return open_on(tables, true, out);
}

static void memory_rollback(struct store *store);

static void memory_close(struct store *store)
{
    struct memory *m = memory_of(store);
    struct tables *t = m->tables;

    memory_rollback(store);
    mem_free(m);
    if (--t->refs > 0)
        return;
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++) {
        VEC_EACH (row, &t->rows[kind])
            row_free(kind, *row);
        VEC_FINI(&t->rows[kind]);
    }
    VEC_FINI(&t->undo);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

static int memory_begin(struct store *store, uint64_t *revision, struct err *err)
{
    struct memory *m = memory_of(store);

    (void)err;
    assert(!m->is_open);
    pthread_mutex_lock(&m->tables->lock);
    m->is_open = true;
    *revision = 0;
    if (m->tables->rows[ROW_EVENT].n) {
        const struct row_event *last =
            m->tables->rows[ROW_EVENT].at[m->tables->rows[ROW_EVENT].n - 1];
        *revision = last->rev;
    }
    return 0;
}

static void end(struct memory *m)
{
    m->is_open = false;
    pthread_mutex_unlock(&m->tables->lock);
}

static int memory_commit(struct store *store, struct err *err)
{
    struct memory *m = memory_of(store);

    (void)err;
    VEC_EACH (undo, &m->tables->undo)
        row_free(undo->kind, undo->was);
    m->tables->undo.n = 0;
    end(m);
    return 0;
}

/* Where a row with this key is, or would be. */
static size_t place_of(const struct tables *t, enum row_kind kind, const void *key)
{
    size_t low = 0, high = t->rows[kind].n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row_cmp(kind, t->rows[kind].at[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void *row_at(const struct tables *t, enum row_kind kind, size_t place, const void *key)
{
    if (place == t->rows[kind].n || row_cmp(kind, t->rows[kind].at[place], key) != 0)
        return NULL;
    return t->rows[kind].at[place];
}

/* Puts a row (or with NULL nothing) in the place of what has this key. */
static void *replace(struct tables *t, enum row_kind kind, const void *key, void *row)
{
    size_t place = place_of(t, kind, key);
    void *was = row_at(t, kind, place, key);

    if (was && row) {
        t->rows[kind].at[place] = row;
    } else if (was) {
        t->rows[kind].n--;
        memmove(&t->rows[kind].at[place], &t->rows[kind].at[place + 1],
                (t->rows[kind].n - place) * sizeof(void *));
    } else if (row) {
        VEC_PUSH(&t->rows[kind], NULL);
        memmove(&t->rows[kind].at[place + 1], &t->rows[kind].at[place],
                (t->rows[kind].n - 1 - place) * sizeof(void *));
        t->rows[kind].at[place] = row;
    }
    return was;
}

static void change(struct tables *t, enum row_kind kind, const void *key, void *row)
{
    void *was = replace(t, kind, key, row);

    VEC_PUSH(&t->undo, ((struct undo){ kind, was, row }));
}

static void memory_rollback(struct store *store)
{
    struct memory *m = memory_of(store);
    struct tables *t = m->tables;

    if (!m->is_open)
        return;
    while (t->undo.n) {
        struct undo *undo = &t->undo.at[--t->undo.n];
        replace(t, undo->kind, undo->now ? undo->now : undo->was, undo->was);
        row_free(undo->kind, undo->now);
    }
    end(m);
}

static bool agree(const struct kind *k, size_t n, const void *a, const void *b)
{
    for (size_t i = 0; i < n; i++)
        if (row_int(a, &k->columns[i]) != row_int(b, &k->columns[i]))
            return false;
    return true;
}

/* Whether the row would be a second one where there may be one. */
static bool is_second(const struct tables *t, enum row_kind kind, const void *row)
{
    const struct kind *k = &schema[kind];
    const struct column *column = &k->columns[k->one_column];
    size_t place;

    if (k->n_one == 0 || row_int(row, column) >= k->one_below)
        return false;
    place = place_of(t, kind, row);
    while (place > 0 && agree(k, k->n_one, t->rows[kind].at[place - 1], row))
        place--;
    for (; place < t->rows[kind].n && agree(k, k->n_one, t->rows[kind].at[place], row); place++)
        if (row_cmp(kind, t->rows[kind].at[place], row) != 0 &&
            row_int(t->rows[kind].at[place], column) < k->one_below)
            return true;
    return false;
}

static int memory_put(struct store *store, enum row_kind kind, const void *row, struct err *err)
{
    struct memory *m = memory_of(store);

    assert(m->is_open && !m->is_reader);
    if (is_second(m->tables, kind, row))
        return err_set(err, -EEXIST, "a second live %s where there may be one", schema[kind].name);
    change(m->tables, kind, row, row_ref(row));
    return 0;
}

static int memory_del(struct store *store, enum row_kind kind, const void *key, struct err *err)
{
    struct memory *m = memory_of(store);

    (void)err;
    assert(m->is_open && !m->is_reader);
    if (row_at(m->tables, kind, place_of(m->tables, kind, key), key))
        change(m->tables, kind, key, NULL);
    return 0;
}

static int memory_erase(struct store *store, const struct store_query *query, struct err *err)
{
    struct memory *m = memory_of(store);

    (void)err;
    assert(m->is_open && !m->is_reader);
    for (size_t i = m->tables->rows[query->kind].n; i-- > 0;) {
        const void *row = m->tables->rows[query->kind].at[i];
        if (store_matches(query, row))
            change(m->tables, query->kind, row, NULL);
    }
    return 0;
}

static int memory_get(struct store *store, enum row_kind kind, const void *key, void **out,
                      struct err *err)
{
    struct memory *m = memory_of(store);
    void *row = row_at(m->tables, kind, place_of(m->tables, kind, key), key);

    (void)err;
    assert(m->is_open);
    if (!row)
        return READER_NONE;
    *out = row_ref(row);
    return 0;
}

static int memory_find(struct store *store, const struct store_query *query, row_fn *fn, void *arg,
                       struct err *err)
{
    struct memory *m = memory_of(store);
    struct tables *t = m->tables;
    size_t n = t->rows[query->kind].n, from = 0, to = n, found = 0;

    (void)err;
    assert(m->is_open);
    if (query->after) {
        size_t place = place_of(t, query->kind, query->after);
        if (query->is_backward)
            to = place;
        else
            from = place + (row_at(t, query->kind, place, query->after) != NULL);
    }
    for (size_t i = from; i < to; i++) {
        const void *row = t->rows[query->kind].at[query->is_backward ? to - 1 - (i - from) : i];
        int r;

        if (!store_matches(query, row))
            continue;
        r = fn(row, arg);
        if (r != 0)
            return r < 0 ? r : 0;
        if (query->limit && ++found == query->limit)
            return 0;
    }
    return 0;
}

const struct store_driver store_memory = {
    .scheme = "memory",
    .open = memory_open,
    .open_reader = memory_open_reader,
    .close = memory_close,
    .begin = memory_begin,
    .commit = memory_commit,
    .rollback = memory_rollback,
    .put = memory_put,
    .del = memory_del,
    .erase = memory_erase,
    .get = memory_get,
    .find = memory_find,
};

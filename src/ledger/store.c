/* Stores: which there are, and the plain functions that callers use. See store.h. */
#include "ledger/store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const struct store_driver *const drivers[] = { &store_sqlite, &store_memory, &store_faulty };

/* The driver of an address, and what stands behind its colon. */
static const struct store_driver *find_driver(const char *address, const char **where)
{
    for (size_t i = 0; i < COUNT_OF(drivers); i++) {
        size_t n = strlen(drivers[i]->scheme);
        if (strncmp(address, drivers[i]->scheme, n) != 0 || address[n] != ':')
            continue;
        *where = address + n + 1;
        return drivers[i];
    }
    return NULL;
}

int store_open(const char *address, struct store **out, struct err *err)
{
    const char *where;
    const struct store_driver *driver = find_driver(address, &where);

    if (driver)
        return driver->open(where, out, err);
    return err_set(err, -EINVAL, "store %s: it must be sqlite:PATH or memory:", address);
}

int store_open_to_read(const char *address, struct store **out, struct err *err)
{
    const char *where;
    const struct store_driver *driver = find_driver(address, &where);

    if (driver && driver->open_to_read)
        return driver->open_to_read(where, out, err);
    return err_set(err, -EINVAL, "store %s: it must be sqlite:PATH", address);
}

int store_open_reader(struct store *store, struct store **out, struct err *err)
{
    return store->driver->open_reader(store, out, err);
}

void store_close(struct store *store)
{
    if (store)
        store->driver->close(store);
}

int store_begin(struct store *store, uint64_t *revision, struct err *err)
{
    return store->driver->begin(store, revision, err);
}

int store_commit(struct store *store, struct err *err)
{
    return store->driver->commit(store, err);
}

void store_rollback(struct store *store)
{
    store->driver->rollback(store);
}

int store_put(struct store *store, enum row_kind kind, const void *row, struct err *err)
{
    return store->driver->put(store, kind, row, err);
}

int store_del(struct store *store, enum row_kind kind, const void *key, struct err *err)
{
    return store->driver->del(store, kind, key, err);
}

int store_erase(struct store *store, const struct store_query *query, struct err *err)
{
    return store->driver->erase(store, query, err);
}

int store_get(struct store *store, enum row_kind kind, const void *key, void **out, struct err *err)
{
    return store->driver->get(store, kind, key, out, err);
}

int store_find(struct store *store, const struct store_query *query, row_fn *fn, void *arg,
               struct err *err)
{
    return store->driver->find(store, query, fn, arg, err);
}

size_t store_column(enum row_kind kind, const char *name)
{
    for (size_t i = 0; i < schema[kind].n_columns; i++)
        if (strcmp(schema[kind].columns[i].name, name) == 0)
            return i;
    assert(!"a column of this name");
    return 0;
}

void store_where(struct store_query *query, const char *column, enum store_op op, int64_t number)
{
    assert(query->n_conds < STORE_CONDS_MAX);
    query->conds[query->n_conds++] =
        (struct store_cond){ store_column(query->kind, column), op, number, NULL };
}

void store_where_text(struct store_query *query, const char *column, const char *text)
{
    assert(query->n_conds < STORE_CONDS_MAX);
    query->conds[query->n_conds++] =
        (struct store_cond){ store_column(query->kind, column), STORE_EQ, 0, text };
}

static bool holds(const struct store_cond *cond, const struct column *column, const void *row)
{
    int64_t value;

    if (cond->text)
        return strcmp(row_text(row, column), cond->text) == 0;
    value = row_int(row, column);
    switch (cond->op) {
    case STORE_EQ:
        return value == cond->number;
    case STORE_NE:
        return value != cond->number;
    case STORE_LT:
        return value < cond->number;
    case STORE_LE:
        return value <= cond->number;
    case STORE_GT:
        return value > cond->number;
    case STORE_GE:
        return value >= cond->number;
    case STORE_IN:
        return value >= 0 && value < 63 && (cond->number >> value & 1);
    }
    return false;
}

bool store_matches(const struct store_query *query, const void *row)
{
    const struct kind *k = &schema[query->kind];

    for (size_t i = 0; i < query->n_conds; i++)
        if (!holds(&query->conds[i], &k->columns[query->conds[i].column], row))
            return false;
    return true;
}

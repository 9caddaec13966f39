/*
 * The faulty store: another one that fails at its n-th call, for tests.
 *
 *     faulty:7:memory:           the 7th call fails
 *     faulty:7-20:sqlite:PATH    the 7th to the 20th do: a disk that is full for a while
 *     faulty:7u:memory:          the 7th does what it should and then says that it failed
 *
 * Calls of the writer's connection count, but for close and rollback, which cannot fail.
 * Readers are not touched.
 */
#include "ledger/faulty.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

struct faulty {
    struct store store;
    struct store *inner;
    _Atomic uint64_t n_calls; /* asked for by tests while the writer works */
    uint64_t from, to;
    bool is_done_first; /* the failing call is made all the same */
};

static struct faulty *faulty_of(struct store *store)
{
    return CONTAINER(store, struct faulty, store);
}

uint64_t faulty_calls(struct store *store)
{
    return faulty_of(store)->n_calls;
}

static bool is_due(struct faulty *f)
{
    uint64_t n = ++f->n_calls;

    return n >= f->from && n <= f->to;
}

static int fail(const struct faulty *f, struct err *err)
{
    *err = (struct err){ 0 };
    return err_set(err, -ENOSPC, "No space left on device (call %" PRIu64 ")",
                   (uint64_t)f->n_calls);
}

/* The call, unless it is to fail; or the call, and then a failure. */
#define CALL(f, call)                                                                              \
    ({                                                                                             \
        bool due_ = is_due(f);                                                                     \
        int r_ = due_ && !(f)->is_done_first ? 0 : (call);                                         \
        due_ ? fail(f, err) : r_;                                                                  \
    })

/* Reads "N", "N-M" or "Nu" up to the colon; what stands behind it, or NULL. */
static const char *read_numbers(const char *text, struct faulty *f)
{
    char *end;

    f->from = f->to = strtoull(text, &end, 10);
    if (end == text)
        return NULL;
    if (*end == '-')
        f->to = strtoull(end + 1, &end, 10);
    if (*end == 'u') {
        f->is_done_first = true;
        end++;
    }
    return *end == ':' ? end + 1 : NULL;
}

static int faulty_open(const char *where, struct store **out, struct err *err)
{
    struct faulty *f = NEW0(struct faulty);
    const char *inner = read_numbers(where, f);
    int r;

    f->store.driver = &store_faulty;
    r = inner ? store_open(inner, &f->inner, err)
              : err_set(err, -EINVAL, "faulty:%s: it must be faulty:N:STORE", where);
    if (r < 0)
        mem_free(f);
    else
        *out = &f->store;
    return r;
}

static int faulty_open_reader(struct store *store, struct store **out, struct err *err)
{
    return store_open_reader(faulty_of(store)->inner, out, err);
}

static void faulty_close(struct store *store)
{
    store_close(faulty_of(store)->inner);
    mem_free(faulty_of(store));
}

static int faulty_begin(struct store *store, uint64_t *revision, struct err *err)
{
    struct faulty *f = faulty_of(store);
    int r = CALL(f, store_begin(f->inner, revision, err));

    if (r < 0)
        store_rollback(f->inner);
    return r;
}

static int faulty_commit(struct store *store, struct err *err)
{
    struct faulty *f = faulty_of(store);
    int r = CALL(f, store_commit(f->inner, err));

    if (r < 0)
        store_rollback(f->inner);
    return r;
}

static void faulty_rollback(struct store *store)
{
    store_rollback(faulty_of(store)->inner);
}

static int faulty_put(struct store *store, enum row_kind kind, const void *row, struct err *err)
{
    struct faulty *f = faulty_of(store);

    return CALL(f, store_put(f->inner, kind, row, err));
}

static int faulty_del(struct store *store, enum row_kind kind, const void *key, struct err *err)
{
    struct faulty *f = faulty_of(store);

    return CALL(f, store_del(f->inner, kind, key, err));
}

static int faulty_erase(struct store *store, const struct store_query *query, struct err *err)
{
    struct faulty *f = faulty_of(store);

    return CALL(f, store_erase(f->inner, query, err));
}

static int faulty_get(struct store *store, enum row_kind kind, const void *key, void **out,
                      struct err *err)
{
    struct faulty *f = faulty_of(store);

    if (is_due(f))
        return fail(f, err);
    return store_get(f->inner, kind, key, out, err);
}

static int faulty_find(struct store *store, const struct store_query *query, row_fn *fn, void *arg,
                       struct err *err)
{
    struct faulty *f = faulty_of(store);

    return CALL(f, store_find(f->inner, query, fn, arg, err));
}

const struct store_driver store_faulty = {
    .scheme = "faulty",
    .open = faulty_open,
    .open_reader = faulty_open_reader,
    .close = faulty_close,
    .begin = faulty_begin,
    .commit = faulty_commit,
    .rollback = faulty_rollback,
    .put = faulty_put,
    .del = faulty_del,
    .erase = faulty_erase,
    .get = faulty_get,
    .find = faulty_find,
};

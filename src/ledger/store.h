/*
 * Store: keeps rows of the kinds in schema.h and moves them. It knows no rule.
 *
 * A store that was opened for writing is one writer's; its transactions are serial over all
 * servers. A reader of it is another connection, of another thread, that only looks. The
 * plain functions below are the only callers of struct store_driver's.
 */
#ifndef LEDGER_STORE_H
#define LEDGER_STORE_H

#include "base/err.h"
#include "ledger/ledger.h"
#include "ledger/schema.h"

struct store;

enum store_op { STORE_EQ, STORE_NE, STORE_LT, STORE_LE, STORE_GT, STORE_GE, STORE_IN };

/* A column's condition. */
struct store_cond {
    size_t column; /* its place in the kind */
    enum store_op op;
    int64_t number;   /* of an int; STORE_IN: bits 1 << value */
    const char *text; /* of a text, borrowed */
};

enum { STORE_CONDS_MAX = 8 };

/* Rows of one kind, in key order, for which all conditions hold. */
struct store_query {
    enum row_kind kind;
    struct store_cond conds[STORE_CONDS_MAX];
    size_t n_conds;
    const void *after; /* a row whose key they come after; NULL from the start */
    bool is_backward;  /* from the last key to the first; `after` is then what they come before */
    size_t limit;      /* 0: all */
};

/* What a kind of store is made of. Each can fail with -EIO, -ENOSPC or another negative errno
 * and the reason; a store stays usable after that, and its transaction is not yet over. */
struct store_driver {
    const char *scheme; /* before the colon of its address */
    /* where: behind the colon. Makes or upgrades what it needs. -EBUSY: another has it;
     * -EPROTO: a newer schema. */
    int (*open)(const char *where, struct store **out, struct err *err);
    /* Only to look, beside a server that has it open; NULL: that cannot be. */
    int (*open_to_read)(const char *where, struct store **out, struct err *err);
    /* Another connection, which only reads; any thread may open it, one uses it. */
    int (*open_reader)(struct store *store, struct store **out, struct err *err);
    void (*close)(struct store *store);
    /* Writer: takes the store-wide lock. Reader: one look for all that follows. Says at which
     * revision the store stands. */
    int (*begin)(struct store *store, uint64_t *revision, struct err *err);
    /* Durable when it returns 0; on an error the outcome may be unknown, the transaction is
     * over. */
    int (*commit)(struct store *store, struct err *err);
    void (*rollback)(struct store *store);
    int (*put)(struct store *store, enum row_kind kind, const void *row, struct err *err);
    int (*del)(struct store *store, enum row_kind kind, const void *key, struct err *err);
    /* Deletes what a query finds; its `after` and limit are not used. */
    int (*erase)(struct store *store, const struct store_query *query, struct err *err);
    /* 0 and *out, the caller's; READER_NONE. */
    int (*get)(struct store *store, enum row_kind kind, const void *key, void **out,
               struct err *err);
    /* Calls fn with each row, borrowed; a non-zero answer ends the walk and is returned if it
     * is below 0. */
    int (*find)(struct store *store, const struct store_query *query, row_fn *fn, void *arg,
                struct err *err);
};

/* What each store begins with. */
struct store {
    const struct store_driver *driver;
};

extern const struct store_driver store_memory, store_sqlite, store_faulty;

/** Opens "memory:", "sqlite:PATH", "faulty:...". -EINVAL: no such scheme. */
MUST_CHECK int store_open(const char *address, struct store **out, struct err *err);
MUST_CHECK int store_open_to_read(const char *address, struct store **out, struct err *err);
MUST_CHECK int store_open_reader(struct store *store, struct store **out, struct err *err);
void store_close(struct store *store);
MUST_CHECK int store_begin(struct store *store, uint64_t *revision, struct err *err);
MUST_CHECK int store_commit(struct store *store, struct err *err);
void store_rollback(struct store *store);
MUST_CHECK int store_put(struct store *store, enum row_kind kind, const void *row, struct err *err);
MUST_CHECK int store_del(struct store *store, enum row_kind kind, const void *key, struct err *err);
MUST_CHECK int store_erase(struct store *store, const struct store_query *query, struct err *err);
MUST_CHECK int store_get(struct store *store, enum row_kind kind, const void *key, void **out,
                         struct err *err);
MUST_CHECK int store_find(struct store *store, const struct store_query *query, row_fn *fn,
                          void *arg, struct err *err);

/** The place of a column by its name, which must be there. */
size_t store_column(enum row_kind kind, const char *name);
/** Adds a condition to a query. */
void store_where(struct store_query *query, const char *column, enum store_op op, int64_t number);
void store_where_text(struct store_query *query, const char *column, const char *text);
/** Whether a row is among what a query finds, order and limit aside. */
bool store_matches(const struct store_query *query, const void *row);

#endif

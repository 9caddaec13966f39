/* Quotas: see quotas.h. */
#include "server/quotas.h"

#include <errno.h>
#include <jansson.h>
#include <semaphore.h>
#include <string.h>

#include "server/feed.h"

struct writing {
    struct ledger *ledger;
    const struct berth_delta *objects; /* those that count */
    size_t n_objects;
    VEC_OF(struct op *) ops;
    sem_t done;
};

static void wake(struct op *op, void *arg)
{
    (void)op;
    sem_post(arg);
}

static struct op_quota *add_op(struct writing *w, const char *ns, const char *name)
{
    struct op *op = op_new(OP_QUOTA, wake, &w->done);

    op->quota.ns = text_copy(ns);
    op->quota.name = text_copy(name);
    VEC_PUSH(&w->ops, op);
    return &op->quota;
}

static bool is_said(const struct writing *w, const struct row_quota *row)
{
    for (size_t i = 0; i < w->n_objects; i++) {
        const struct berth_quota *quota = w->objects[i].quota;
        if (w->objects[i].kind == BERTH_QUOTA && text_eq(quota->namespace_, row->ns) &&
            text_eq(quota->name, row->name))
            return true;
    }
    return false;
}

static int remove_unsaid(const void *data, void *arg)
{
    const struct row_quota *row = data;

    if (!is_said(arg, row))
        add_op(arg, row->ns, row->name);
    return 0;
}

static int list_ops(struct writing *w, struct reader *reader, struct err *err)
{
    uint64_t revision;
    int r = reader_begin(reader, &revision, err);

    if (r < 0)
        return r;
    r = reader_quotas(reader, remove_unsaid, w, err);
    reader_end(reader);
    for (size_t i = 0; i < w->n_objects; i++) {
        const struct berth_quota *quota = w->objects[i].quota;
        if (w->objects[i].kind == BERTH_QUOTA)
            add_op(w, quota->namespace_, quota->name)->hard = feed_amounts_text(&quota->hard);
    }
    return r < 0 ? r : 0;
}

/* One that is as it was changes nothing. */
static int run(struct writing *w, struct err *err)
{
    int r = 0;

    ledger_send_all(w->ledger, w->ops.at, w->ops.n);
    for (size_t i = 0; i < w->ops.n; i++)
        while (sem_wait(&w->done) < 0 && errno == EINTR)
            ;
    VEC_EACH (at, &w->ops) {
        const struct op *op = *at;
        if (op->problem.code && r == 0)
            r = err_set(err, op->problem.code == PROBLEM_STORE_UNAVAILABLE ? -ENOSPC : -EIO,
                        "keep quota %s of namespace %s: %s", op->quota.name, op->quota.ns,
                        op->problem.detail);
    }
    return r;
}

int quotas_write(struct ledger *ledger, struct reader *reader, const struct feed_engine_from *from,
                 struct err *err)
{
    struct writing w = { .ledger = ledger, .objects = from->objects };
    struct berth_engine *engine = NULL;
    int r = feed_engine_make(from, &engine, err);

    if (r < 0)
        return r;
    w.n_objects = berth_engine_binds_by_quotas(engine) ? from->n_objects : 0;
    berth_engine_free(engine);
    sem_init(&w.done, 0, 0);
    r = list_ops(&w, reader, err);
    if (r == 0)
        r = run(&w, err);
    VEC_EACH (op, &w.ops)
        op_free(*op);
    VEC_FINI(&w.ops);
    sem_destroy(&w.done);
    return r;
}

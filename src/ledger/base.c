/* The base: all that is live, as the first batch of whoever begins to follow. See batch.h. */
#include "ledger/batch.h"
#include "ledger/mirror.h"

struct base {
    VEC_OF(struct batch_event) events;
};

static int base_row(enum row_kind kind, void *row, void *arg)
{
    struct base *base = arg;
    struct batch_event *last = base->events.n ? &base->events.at[base->events.n - 1] : NULL;
    const struct row_attempt *attempt = row;

    if (kind == ROW_META || kind == ROW_BEAT)
        return 0;
    /* Of a task's attempts only the last tells how it stands. */
    if (kind == ROW_ATTEMPT && last && last->kind == ROW_ATTEMPT &&
        last->row.attempt->job == attempt->job && last->row.attempt->grp == attempt->grp &&
        last->row.attempt->idx == attempt->idx)
        row_free(ROW_ATTEMPT, (void *)last->row.any);
    else
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) with no room there is no list */
        last = VEC_ADD(&base->events);
    *last = (struct batch_event){ .type = "", .subject = "", .by = "", .body = "" };
    batch_event_row(last, kind, row);
    return 0;
}

int base_make(struct store *store, struct batch **out, struct err *err)
{
    struct base base = { 0 };
    struct batch *batch;
    uint64_t revision;
    int r = store_begin(store, &revision, err);

    if (r < 0)
        return r;
    r = live_walk(store, base_row, &base, err);
    store_rollback(store);
    batch = batch_new(revision, base.events.n);
    batch->is_base = true;
    for (size_t i = 0; i < base.events.n; i++)
        *batch_event(batch, i) = base.events.at[i];
    VEC_FINI(&base.events);
    if (r < 0)
        batch_unref(batch);
    else
        *out = batch;
    return r;
}

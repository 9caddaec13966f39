/* Batches: see batch.h. The short texts of one lie in its arena. */
#include "ledger/batch.h"

#include <stdatomic.h>

#include "base/arena.h"
#include "base/vec.h"
#include "ledger/schema.h"

struct shared {
    struct batch batch;
    _Atomic int refs;
    struct arena arena;
    VEC_OF(char *) taken;
};

static struct shared *shared_of(struct batch *batch)
{
    return CONTAINER(batch, struct shared, batch);
}

struct batch *batch_new(uint64_t revision, size_t n)
{
    struct shared *s = NEW0(struct shared);

    s->refs = 1;
    s->batch.revision = revision;
    s->batch.n_events = n;
    s->batch.events = ARENA_NEW0_N(&s->arena, struct batch_event, n + 1);
    return &s->batch;
}

struct batch_event *batch_event(struct batch *batch, size_t i)
{
    return (struct batch_event *)&batch->events[i];
}

void batch_event_row(struct batch_event *event, enum row_kind kind, const void *row)
{
    event->kind = kind;
    event->row.any = row_ref(row);
}

const char *batch_text(struct batch *batch, const char *text)
{
    return arena_text(&shared_of(batch)->arena, text);
}

const char *batch_take(struct batch *batch, char *text)
{
    VEC_PUSH(&shared_of(batch)->taken, text);
    return text;
}

struct batch *batch_ref(struct batch *batch)
{
    atomic_fetch_add_explicit(&shared_of(batch)->refs, 1, memory_order_relaxed);
    return batch;
}

void batch_unref(struct batch *batch)
{
    struct shared *s;

    if (!batch)
        return;
    s = shared_of(batch);
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < batch->n_events; i++) {
        row_free(batch->events[i].kind, (void *)batch->events[i].row.any);
        job_spec_free((struct job_spec *)batch->events[i].spec);
    }
    VEC_EACH (text, &s->taken)
        mem_free(*text);
    VEC_FINI(&s->taken);
    arena_fini(&s->arena);
    mem_free(s);
}

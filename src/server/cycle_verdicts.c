/*
 * Verdicts: why the jobs that wait do, copied out of a cycle so that any thread may look.
 *
 * One snapshot a cycle, in one arena, never changed: a reader holds it as long as it likes.
 */
#include "server/cycle_verdicts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"
#include "server/feed.h"

struct verdicts {
    atomic_size_t n_refs;
    struct arena arena;
    uint64_t revision;
    const struct berth_verdict *at; /* by job number */
    uint64_t *jobs;                 /* the job number of each */
    size_t n;
};

/* Copies reasons once each, however many verdicts share one. */
struct copier {
    struct arena *arena;
    struct map reasons; /* address of the original to the copy */
};

static const char *copy_text(struct copier *copier, const char *text)
{
    return text ? arena_text(copier->arena, text) : NULL;
}

static const struct berth_reason *copy_reason(struct copier *copier,
                                              const struct berth_reason *from)
{
    struct berth_reason *reason;
    struct berth_node_count *counts;

    if (!from)
        return NULL;
    reason = map_get_int(&copier->reasons, (uintptr_t)from);
    if (reason)
        return reason;
    reason = ARENA_NEW0(copier->arena, struct berth_reason);
    *reason = *from;
    reason->resource = copy_text(copier, from->resource);
    reason->node = copy_text(copier, from->node);
    reason->blocker = copy_text(copier, from->blocker);
    reason->stuck_group = copy_text(copier, from->stuck_group);
    reason->wants = copy_text(copier, from->wants);
    reason->has = copy_text(copier, from->has);
    counts = ARENA_NEW0_N(copier->arena, struct berth_node_count, from->n_counts);
    for (size_t i = 0; i < from->n_counts; i++) {
        counts[i] = from->counts[i];
        counts[i].resource = copy_text(copier, from->counts[i].resource);
    }
    reason->counts = counts;
    map_put_int(&copier->reasons, (uintptr_t)from, reason);
    return reason;
}

struct placed_verdict {
    uint64_t job;
    size_t place; /* among the verdicts that came: keeps the order of a job's groups */
};

static int by_job(const void *a, const void *b)
{
    const struct placed_verdict *x = a, *y = b;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

struct verdicts *verdicts_make(const struct berth_decisions *decisions, uint64_t revision)
{
    struct verdicts *verdicts = NEW0(struct verdicts);
    size_t n = decisions ? decisions->n_verdicts : 0;
    struct placed_verdict *order = NEW0_N(struct placed_verdict, n + 1);
    struct copier copier = { .arena = &verdicts->arena };
    struct berth_verdict *at = ARENA_NEW0_N(&verdicts->arena, struct berth_verdict, n + 1);

    atomic_init(&verdicts->n_refs, 1);
    verdicts->revision = revision;
    verdicts->jobs = ARENA_NEW0_N(&verdicts->arena, uint64_t, n + 1);
    verdicts->n = n;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct placed_verdict){ feed_job_number(decisions->verdicts[i].job), i };
    qsort(order, n, sizeof(*order), by_job);
    for (size_t i = 0; i < n; i++) {
        const struct berth_verdict *from = &decisions->verdicts[order[i].place];

        verdicts->jobs[i] = order[i].job;
        at[i].job = copy_text(&copier, from->job);
        at[i].group = copy_text(&copier, from->group);
        at[i].n_tasks = from->n_tasks;
        at[i].reason = copy_reason(&copier, from->reason);
    }
    verdicts->at = at;
    map_fini(&copier.reasons);
    mem_free(order);
    return verdicts;
}

struct verdicts *verdicts_ref(struct verdicts *verdicts)
{
    atomic_fetch_add(&verdicts->n_refs, 1);
    return verdicts;
}

void verdicts_unref(struct verdicts *verdicts)
{
    if (!verdicts || atomic_fetch_sub(&verdicts->n_refs, 1) != 1)
        return;
    arena_fini(&verdicts->arena);
    mem_free(verdicts);
}

uint64_t verdicts_revision(const struct verdicts *verdicts)
{
    return verdicts->revision;
}

const struct berth_verdict *verdicts_find(const struct verdicts *verdicts, uint64_t job, size_t *n)
{
    size_t low = 0, high = verdicts->n, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (verdicts->jobs[middle] < job)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < verdicts->n && verdicts->jobs[end] == job;)
        end++;
    *n = end - low;
    return *n ? &verdicts->at[low] : NULL;
}

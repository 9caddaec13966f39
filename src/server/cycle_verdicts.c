/*
 * Verdicts: why the jobs that wait do, kept of a cycle's decisions so that any thread may look.
 *
 * One snapshot a cycle, never changed: a reader holds it as long as it likes.
 */
#include "server/cycle_verdicts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "server/feed.h"

struct verdicts {
    atomic_size_t n_refs;
    uint64_t revision;
    struct berth_decisions decisions; /* they hang on its arena */
    struct berth_verdict *at;         /* by job number, a job's groups in the engine's order */
    uint64_t *jobs;                   /* the job number of each */
    size_t n;
};

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

/* The engine's order is mostly theirs, and then there is nothing to sort. */
static struct placed_verdict *sorted(const struct berth_decisions *decisions)
{
    size_t n = decisions->n_verdicts;
    struct placed_verdict *order = NEW0_N(struct placed_verdict, n + 1);
    bool is_sorted = true;

    for (size_t i = 0; i < n; i++) {
        order[i] = (struct placed_verdict){ feed_job_number(decisions->verdicts[i].job), i };
        is_sorted = is_sorted && (i == 0 || order[i - 1].job <= order[i].job);
    }
    if (!is_sorted)
        qsort(order, n, sizeof(*order), by_job);
    return order;
}

struct verdicts *verdicts_make(const struct berth_decisions *decisions, uint64_t revision)
{
    struct verdicts *verdicts = NEW0(struct verdicts);
    struct placed_verdict *order;

    atomic_init(&verdicts->n_refs, 1);
    verdicts->revision = revision;
    if (!decisions)
        return verdicts;
    verdicts->decisions = *decisions;
    verdicts->n = decisions->n_verdicts;
    verdicts->jobs = NEW0_N(uint64_t, verdicts->n + 1);
    verdicts->at = NEW0_N(struct berth_verdict, verdicts->n + 1);
    order = sorted(decisions);
    for (size_t i = 0; i < verdicts->n; i++) {
        verdicts->jobs[i] = order[i].job;
        verdicts->at[i] = decisions->verdicts[order[i].place];
    }
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
    berth_decisions_free(&verdicts->decisions);
    mem_free(verdicts->jobs);
    mem_free(verdicts->at);
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

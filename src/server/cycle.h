/*
 * Cycle: the thread that owns the deciding engine.
 *
 * It feeds the engine with the ledger's batches, lets it decide, sends the decisions as operations
 * and decides again only when they have come back as events. It decides only while it has been
 * given a fence; without one it follows. Questions are the view's: see view.h.
 */
#ifndef SERVER_CYCLE_H
#define SERVER_CYCLE_H

#include "berth/engine.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "ledger/ledger.h"
#include "server/feed.h"

struct cycle;

struct cycle_options {
    struct ledger *ledger;
    const struct clock *clock; /* NULL: the machine's */
    struct feed_engine_from from;
    uint64_t seed;
    uint64_t max_tasks;   /* to place in one cycle; 0: 2,000 */
    int64_t pace_ms;      /* the most that a cycle waits after the last one's begin: less where
                           cycles are cheap; 0: 50 */
    int64_t order_ttl_ms; /* how long a machine that was ordered may take to come; 0: 15 min */
    /* Called at "cycle-before-send", "cycle-after-send" (kill points); NULL: none. For tests. */
    void (*at_point)(const char *point);
};

/**
 * Adds its listener to the ledger; call before ledger_start.
 *
 * Returns  0; -EINVAL the configuration will not do, with the place
 */
MUST_CHECK int cycle_open(const struct cycle_options *options, struct cycle **out, struct err *err);
/** Starts the thread. */
MUST_CHECK int cycle_start(struct cycle *cycle, struct err *err);
/** Stops the thread (not amid a cycle). Before ledger_close: it sends operations. */
void cycle_stop(struct cycle *cycle);
/** Frees it, and stops its thread if that runs. After ledger_close. */
void cycle_close(struct cycle *cycle);

/** From now on it decides with this fence; 0: it stops deciding. Any thread. */
void cycle_lead(struct cycle *cycle, uint64_t fence);
/** The fence it decides with; 0 if it does not (a refusal for an old fence ends it). Any thread. */
uint64_t cycle_fence(struct cycle *cycle);

/** Whether jobs wait for their admission; else they have it from the start. Any thread. */
bool cycle_asks_admission(const struct cycle *cycle);

/* ---- verdicts ---- */

/* Why the jobs that wait do, as of one cycle. Never changed; shared by counting. Where cycle
 * follows cycle not each lists them, but one does soon after: they lag by 200 ms, or by as much as
 * keeps their cost at a twentieth of the thread's time. */
struct verdicts;

/** The last ones; yours to verdicts_unref. Never NULL. Any thread, does not wait for a cycle. */
struct verdicts *cycle_verdicts(struct cycle *cycle);
void verdicts_unref(struct verdicts *verdicts);
/** Which revision they were made of; 0: no cycle yet. */
uint64_t verdicts_revision(const struct verdicts *verdicts);
/** The verdicts on a job's groups (*n of them, by group order), NULL if none: not yet considered,
 * or nothing of it waits. Borrowed from the verdicts. */
const struct berth_verdict *verdicts_find(const struct verdicts *verdicts, uint64_t job, size_t *n);

/* ---- numbers ---- */

enum { CYCLE_BUCKETS = 12 };
/* Upper ends of the buckets of cycle durations, in microseconds; the last is without end. */
extern const int64_t cycle_bucket_us[CYCLE_BUCKETS];

struct cycle_metrics {
    uint64_t revision;        /* applied */
    uint64_t tasks_waiting;   /* at the last cycle */
    uint64_t cycles;          /* from here on: counted since the start */
    uint64_t limited;         /* cycles that a limit ended */
    uint64_t placed, evicted; /* tasks of accepted groups */
    uint64_t failed;          /* jobs or tasks given up */
    uint64_t refused;         /* groups that the ledger refused */
    uint64_t duration_us_sum;
    uint64_t duration_us_last;
    uint64_t buckets[CYCLE_BUCKETS]; /* cycles by duration */
};

/** Any thread. */
void cycle_metrics(struct cycle *cycle, struct cycle_metrics *out);

#endif

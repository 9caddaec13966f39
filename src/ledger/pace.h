/*
 * Pace: when the writer takes what waits, and when it gathers more first.
 *
 * A transaction costs nearly the same whether it holds three operations or thirty: its fsync, the
 * pages that it begins anew, and a wake of each thread that follows. Where few ask it is made at
 * once. Where many ask at the same time there is one in PACE_US, or for each PACE_ENOUGH of them,
 * so that they share it. What counts is how often was asked, not for how many operations: who asks
 * one thing after the other, however fast and for however much, is never held up.
 */
#ifndef LEDGER_PACE_H
#define LEDGER_PACE_H

#include <stddef.h>
#include <stdint.h>

enum {
    PACE_BATCHES = 8, /* of the last so many it is known when they began, and how many had asked */
    PACE_BUSY_US = 80000, /* all of them within this, */
    PACE_SENDS = 10,      /* asked for so often, so that some asked at the same time: many ask */
    PACE_US = 8000,       /* then, from the begin of a batch to the next, */
    PACE_ENOUGH = 32,     /* unless so many wait: more would share no less of its cost */
};
_Static_assert(PACE_US *PACE_BATCHES < PACE_BUSY_US, "who is paced stays so while it lasts");

/* The last batches, in a ring. All zero: there were none. */
struct pace {
    struct {
        int64_t began_us;
        size_t n_sends;
    } last[PACE_BATCHES];
    size_t at, n_sends; /* in all of them */
};

/** Notes a batch that begins now (microseconds of any clock that does not step back). */
void pace_note(struct pace *pace, size_t n_sends, int64_t now_us);
/** When the next batch is to begin at the earliest, on the same clock; now_us or before it: at
 * once. */
int64_t pace_next_us(const struct pace *pace, int64_t now_us);

#endif

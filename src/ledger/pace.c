/* Pace: see pace.h. */
#include "ledger/pace.h"

void pace_note(struct pace *pace, size_t n_sends, int64_t now_us)
{
    pace->n_sends += n_sends - pace->last[pace->at].n_sends;
    pace->last[pace->at].n_sends = n_sends;
    pace->last[pace->at].began_us = now_us;
    pace->at = (pace->at + 1) % PACE_BATCHES;
}

int64_t pace_next_us(const struct pace *pace, int64_t now_us)
{
    size_t newest = (pace->at + PACE_BATCHES - 1) % PACE_BATCHES;

    if (pace->n_sends < PACE_SENDS || now_us - pace->last[pace->at].began_us >= PACE_BUSY_US)
        return now_us;
    return pace->last[newest].began_us + PACE_US;
}

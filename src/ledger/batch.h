/*
 * Batches: what was committed, shared between threads by counting. See ledger.h.
 */
#ifndef LEDGER_BATCH_H
#define LEDGER_BATCH_H

#include "ledger/ledger.h"
#include "ledger/store.h"

/** A batch of n events, to be filled in; counted once. */
struct batch *batch_new(uint64_t revision, size_t n);
/** The i-th event of a batch that was not shared yet. */
struct batch_event *batch_event(struct batch *batch, size_t i);
/** A copy of a text that lives as long as the batch. */
const char *batch_text(struct batch *batch, const char *text);
/** Takes a text, to live as long as the batch. Returns it. */
const char *batch_take(struct batch *batch, char *text);
/** Sets an event's row, counting it up. */
void batch_event_row(struct batch_event *event, enum row_kind kind, const void *row);

/**
 * Makes a base: all live rows at one revision.
 *
 * Returns  0 and *out, counted once; an error of the store, of which no look may be open
 */
MUST_CHECK int base_make(struct store *store, struct batch **out, struct err *err);

#endif

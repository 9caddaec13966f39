/*
 * Feed, the engine's side: an engine that is kept as the ledger is.
 */
#ifndef SERVER_FEED_ENGINE_H
#define SERVER_FEED_ENGINE_H

#include "server/feed.h"

/**
 * Makes a new, empty engine, instead of the one that is there.
 *
 * @engine  NULL or an engine, which is freed; then the new one
 */
MUST_CHECK int feed_engine_make(const struct feed_engine_from *from, struct berth_engine **engine,
                                struct err *err);
/**
 * What the configuration gives tasks of memory beyond what they ask, in thousandths of that: it is
 * fixed with a job when that is accepted (job_spec_set_headroom), and the engines made here add
 * nothing to it.
 */
MUST_CHECK int feed_engine_headroom(const struct feed_engine_from *from, int64_t *memory_milli,
                                    struct err *err);
/**
 * Applies a batch. What no engine could hold is said and left out.
 *
 * Returns  whether that could change what is decided. What the engine remembers for itself could
 *          not: a memo that comes back would else bring about the next
 */
bool feed_engine_apply(struct feed *feed, struct berth_engine *engine, const struct batch *batch);

#endif

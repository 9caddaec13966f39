/*
 * Pool: a few threads for work that blocks, so that a loop never does.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

#include "base/loop.h"

struct pool;

/** Starts the threads; their name, at most 15 bytes, is what `top -H` shows. */
MUST_CHECK int pool_open(const char *name, size_t n_threads, struct pool **out, struct err *err);
/** Finishes what was given, then ends; `done` of the last work may still be posted. */
void pool_close(struct pool *pool);

/** Calls work(arg) on one of the threads, then done(arg) on the loop (if done is not NULL). */
void pool_run(struct pool *pool, loop_fn *work, struct loop *loop, loop_fn *done, void *arg);

#endif

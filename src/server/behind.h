/*
 * Behind: a reader that has seen a revision waits until this server has too.
 */
#ifndef SERVER_BEHIND_H
#define SERVER_BEHIND_H

#include "server/call.h"

/**
 * Goes on with fn once what was asked for by `minRevision` is here, at once where nothing was; or
 * refuses, 503 BEHIND, when `Prefer: wait=SECONDS` (10 at most, without it 0) has passed.
 */
void behind_wait(struct call *call, call_fn *fn);

#endif

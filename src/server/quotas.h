/* Quotas: what the configuration says of namespaces, written into the ledger, which judges by it. */
#ifndef SERVER_QUOTAS_H
#define SERVER_QUOTAS_H

#include "base/err.h"
#include "server/feed_engine.h"

/**
 * Makes the ledger's quotas those of the configuration: what differs is put, what is not in it any
 * more is removed. All of them are removed where the engine binds without looking at them: it would
 * decide what the ledger then refuses.
 *
 * @reader   the caller's, between looks
 * Returns   0; -ENOSPC while the store cannot be written; other errors of it
 * Thread    any but the writer; waits until it is written
 */
MUST_CHECK int quotas_write(struct ledger *ledger, struct reader *reader,
                            const struct feed_engine_from *from, struct err *err);

#endif

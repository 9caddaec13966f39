/*
 * The history checker: proves what must always hold from the events alone, and then that the
 * tables are what the events say. It shares no rule with the judge.
 */
#ifndef LEDGER_CHECK_H
#define LEDGER_CHECK_H

#include "ledger/ledger.h"
#include "ledger/store.h"

/** Checks what a store holds, within a look that is open at the revision. */
MUST_CHECK int check_store(struct store *store, uint64_t revision, struct ledger_report *report,
                           struct err *err);

/**
 * For tests: checks a running ledger that nobody sends anything, and that its mirror is what
 * the tables say, and what a follower makes of the events.
 *
 * Returns  0; -EBADMSG with the first finding
 */
MUST_CHECK int ledger_check_open(struct ledger *ledger, struct err *err);

#endif

/*
 * Judge: every rule of the ledger, once, without I/O.
 *
 * A judge is given an operation and the rows as they stand under the store's lock. It refuses,
 * and then nothing changes, or it adds to the changes what is to be written and what happened.
 * Stores know none of this; tests need no store.
 */
#ifndef LEDGER_JUDGE_H
#define LEDGER_JUDGE_H

#include "ledger/changes.h"
#include "ledger/ledger.h"

/* A job that ended long ago, and the revision of its last event. */
struct retired {
    uint64_t job, rev;
};

/* Rows that are not live, which the store was asked for before judging: what has ended, keys
 * that were used, jobs to retire. NULL where there is none. */
struct past {
    struct row_job *job;
    struct row_attempt *attempt;
    struct row_idem *idem;
    VEC_OF(struct retired) jobs;
};

/**
 * Judges one operation.
 *
 * @changes  what earlier operations of the batch changed, which counts; gains rows and events;
 *           untouched on a refusal
 * @past     as judge_wants asked
 * @op       its outcome is filled in: problem, revision, and what its struct calls out
 * Thread    the writer; any in tests
 * Source    docs of states; the invariants 1, 2, 3, 5, 6, 7, 10
 */
void judge(struct changes *changes, const struct past *past, struct op *op);

/** After the last operation of a batch: jobs whose counts moved get their rows. */
void judge_settle(struct changes *changes);

/* What a judge has to know beyond the mirror. */
struct wants {
    uint64_t job;                      /* 0 none */
    const struct attempt_key *attempt; /* NULL none */
    const char *ns, *key;              /* of an idempotency key; NULL none */
    int64_t ended_before;              /* jobs to retire; 0 none */
    size_t most;
};
struct wants judge_wants(const struct changes *changes, const struct op *op);

#endif

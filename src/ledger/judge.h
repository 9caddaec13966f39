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

/* The rules that keep what must always hold, one by one: a test leaves out each in turn and sees
 * that without it something breaks. */
enum judge_rule {
    RULE_FENCE,      /* only the steward of now decides */
    RULE_PENDING,    /* a task that is bound waits */
    RULE_NUMBER,     /* its attempt is the next */
    RULE_HELD_JOB,   /* nor held */
    RULE_VERSION,    /* and is what was decided on */
    RULE_GANG,       /* it starts with its minimum */
    RULE_NODE_READY, /* the node takes work */
    RULE_CORDON,     /* and is not cordoned */
    RULE_FACTS,      /* and is what was decided on */
    RULE_ROOM,       /* with room beside what lives there */
    RULE_HELD,       /* and what is held for others */
    RULE_CAP,        /* and its queue stays within its cap */
    RULE_QUOTA,      /* and its namespace within its quotas */
    RULE_VICTIM,     /* a victim is what was seen */
    RULE_ONE_OPEN,   /* one reservation an owner */
    RULE_COMES_FREE, /* what is held comes free */
    RULE_RELEASE,    /* what is let go is what was seen */
    RULE_TAKE,       /* and so is what is taken */
    RULE_GENERATION, /* a message is of the node's present life */
    RULE_HERE,       /* and about an attempt on that node */
    RULE_ACK,        /* what is to end does not start */
    RULE_STARTED,    /* what was not let start does not run */
    RULE_LEASE,      /* a lease that moves is not taken */
    RULE_COUNT
};

/* A job that ended long ago, and the revision of its last event. */
struct retired {
    uint64_t job, rev;
};

/* Rows that are not live, which the store was asked for before judging: what has ended, keys
 * that were used, jobs to retire. NULL where there is none. */
struct past {
    uint64_t
        newest; /* the job that the store's last event is of, which is not retired; 0: of none */
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
 * Source    docs of states; the invariants 1, 2, 3, 5, 6, 7, 10, 12
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

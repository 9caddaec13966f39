/*
 * Changes: what the operations of one batch made of the rows, in order, each with its event.
 *
 * A change is in the mirror at once, so the next operation is judged on it; what is refused,
 * or a batch that could not be committed, is taken back from the end. Row and event have one
 * revision, dense and in order.
 */
#ifndef LEDGER_CHANGES_H
#define LEDGER_CHANGES_H

#include "ledger/mirror.h"

struct change {
    struct mirror_undo undo; /* kind, the row before and the row now (NULL: deleted) */
    uint64_t rev;            /* of its event; 0: none */
    const char *type;        /* of its event, a literal */
    char *subject, *by, *body;
    struct job_spec *spec; /* of a new job's row; else NULL */
    void *last;            /* of a deleted row: its last value, with the event's rev */
    uint64_t job;          /* whose history it is; 0 none */
    bool is_superseded;    /* a later change of the batch has the same row */
};

struct changes {
    struct mirror *mirror;
    uint64_t revision; /* of the last event */
    uint64_t number;   /* of the batch; rises */
    const char *batch; /* its name: server and number */
    const char *by;    /* who asked for what is judged now */
    int64_t now;       /* wall ms */
    uint64_t without;  /* rules that a test leaves out, 1 << enum judge_rule; else 0 */
    VEC_OF(struct change) list;
    VEC_OF(uint64_t) retired; /* jobs of which nothing is kept any more */
    bool forgets_keys;        /* expired idempotency keys go */
};

/** Starts a batch on a mirror. */
void changes_begin(struct changes *changes, struct mirror *mirror, const char *batch, int64_t now);
/** Takes all back and ends the batch; nothing if it was settled. */
void changes_fini(struct changes *changes);
/** After the commit: the mirror keeps what was changed. Rows and events stay until fini. */
void changes_settle(struct changes *changes);

/** Puts a row, which is taken and published, with an event of this type; sets its rev. */
void changes_put(struct changes *changes, enum row_kind kind, void *row, const char *type);
/** Likewise a new job, whose spec is at hand. */
void changes_put_job(struct changes *changes, struct row_job *row, const struct job_spec *spec,
                     const char *type);
/** Puts a row without event and revision: a beat, a lease's beat, an idempotency key. */
void changes_put_quiet(struct changes *changes, enum row_kind kind, void *row);
/** Deletes a row that is there; its last value, which is taken, gets the event's rev. */
void changes_del(struct changes *changes, enum row_kind kind, void *row, const char *type);

/** Deletes a row that is there, without event and revision. */
void changes_del_quiet(struct changes *changes, enum row_kind kind, const void *row);

/** Takes back all changes from the n-th on. */
void changes_take_back(struct changes *changes, size_t n);
/** Writes all into an open transaction. */
MUST_CHECK int changes_write(const struct changes *changes, struct store *store, struct err *err);
/** The row of an attempt as this batch left it, or NULL if it did not touch it. */
const struct row_attempt *changes_attempt(const struct changes *changes,
                                          const struct attempt_key *key);
/** What was changed, for listeners; counted once. Takes the bodies of the events: once, after they
 * were written. */
struct batch *changes_publish(struct changes *changes);

#endif

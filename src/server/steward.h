/*
 * Steward: the one among the servers that decides and keeps house.
 *
 * Its thread raises the lease `steward` every 2 s (or takes it, once the holder's beat stood still
 * for its ttl on our own boot-time clock), tells the cycle with which fence to decide, reads the
 * nodes' beats and says which node is unreachable, ready again or lost, and lets the ledger
 * drop what ended long ago. Silence of a node is counted only while this server itself was up and
 * could write: a server that stood still has heard nobody. All of it is steward_step, which tests
 * call with a clock of theirs; wall-clock jumps change nothing but retention.
 */
#ifndef SERVER_STEWARD_H
#define SERVER_STEWARD_H

#include "base/clock.h"
#include "ledger/ledger.h"
#include "server/cycle.h"

struct steward;

struct steward_options {
    struct ledger *ledger;
    struct cycle *cycle;       /* NULL: nobody to tell */
    const struct clock *clock; /* NULL: the machine's */
    const char *server; /* this server's id, as the ledger's; borrowed. NULL: the store lets in one
                           server at a time, so whoever held the lease is gone */
    int64_t ttl_ms;     /* of the lease; 0: 6 s */
    int64_t beat_ms;    /* between looks; 0: 2 s */
    int64_t retain_ms;  /* how long ended jobs are kept; 0: 7 d */
};

/** Adds its listener to the ledger; call before ledger_start. */
MUST_CHECK int steward_open(const struct steward_options *options, struct steward **out,
                            struct err *err);
/** Starts the thread. After ledger_start. */
MUST_CHECK int steward_start(struct steward *steward, struct err *err);
/** Stops the thread and closes its reader. Before ledger_close. */
void steward_stop(struct steward *steward);
/** After ledger_close. */
void steward_close(struct steward *steward);

/** The fence of the lease while it is ours, else 0. Any thread. */
uint64_t steward_fence(struct steward *steward);
/**
 * One look: lease, beats, retention; sends what follows from them as operations.
 *
 * Returns  0; what the ledger's reader says
 * Thread   the steward's; a test's, without steward_start
 */
MUST_CHECK int steward_step(struct steward *steward, struct err *err);

#endif

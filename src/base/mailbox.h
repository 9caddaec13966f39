/*
 * Mailbox: how state crosses threads. Messages are links embedded in what is sent; they come
 * out in the order they went in. Any thread sends, one thread receives.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* Embedded in a message; find the message with CONTAINER. */
struct letter {
    struct letter *next;
};

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t arrived; /* on CLOCK_MONOTONIC */
    struct letter *first, **end;
    bool is_closed;
};

void mailbox_init(struct mailbox *box);
/** The mailbox must be empty, or its letters reachable from elsewhere. */
void mailbox_fini(struct mailbox *box);

/** Puts a letter in; true if the box was empty before. */
bool mailbox_put(struct mailbox *box, struct letter *letter);
/** All letters, linked in order, or NULL; never waits. */
struct letter *mailbox_take(struct mailbox *box);
/**
 * All letters, linked in order; waits for the first.
 *
 * @wait_ms  how long at most; below 0 for ever
 * Returns   NULL when the time is over, or when the box is closed and empty
 */
struct letter *mailbox_wait(struct mailbox *box, int64_t wait_ms);
/** Wakes the receiver for good: from now on it does not wait. */
void mailbox_close(struct mailbox *box);
bool mailbox_is_closed(struct mailbox *box);

#endif

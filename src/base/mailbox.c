/* Mailbox: see mailbox.h. The lock is held for a few instructions, never across I/O. */
#include "base/mailbox.h"

#include <errno.h>
#include <time.h>

void mailbox_init(struct mailbox *box)
{
    pthread_condattr_t attr;

    *box = (struct mailbox){ 0 };
    box->end = &box->first;
    pthread_mutex_init(&box->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&box->arrived, &attr);
    pthread_condattr_destroy(&attr);
}

void mailbox_fini(struct mailbox *box)
{
    pthread_cond_destroy(&box->arrived);
    pthread_mutex_destroy(&box->lock);
}

bool mailbox_put(struct mailbox *box, struct letter *letter)
{
    bool was_empty;

    letter->next = NULL;
    pthread_mutex_lock(&box->lock);
    was_empty = !box->first;
    *box->end = letter;
    box->end = &letter->next;
    if (was_empty)
        pthread_cond_signal(&box->arrived);
    pthread_mutex_unlock(&box->lock);
    return was_empty;
}

static struct letter *take_all(struct mailbox *box)
{
    struct letter *first = box->first;

    box->first = NULL;
    box->end = &box->first;
    return first;
}

struct letter *mailbox_take(struct mailbox *box)
{
    struct letter *first;

    pthread_mutex_lock(&box->lock);
    first = take_all(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}

struct letter *mailbox_wait(struct mailbox *box, int64_t wait_ms)
{
    struct timespec until;
    struct letter *first;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&box->lock);
    while (!box->first && !box->is_closed && r != ETIMEDOUT)
        r = wait_ms < 0 ? pthread_cond_wait(&box->arrived, &box->lock)
                        : pthread_cond_timedwait(&box->arrived, &box->lock, &until);
    first = take_all(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}

void mailbox_close(struct mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    box->is_closed = true;
    pthread_cond_broadcast(&box->arrived);
    pthread_mutex_unlock(&box->lock);
}

bool mailbox_is_closed(struct mailbox *box)
{
    bool is_closed;

    pthread_mutex_lock(&box->lock);
    is_closed = box->is_closed;
    pthread_mutex_unlock(&box->lock);
    return is_closed;
}

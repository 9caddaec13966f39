/*
 * Loop: one thread that waits for descriptors, timers, signals and messages.
 *
 * All functions but loop_post and loop_stop are for the loop's own thread (or before it runs).
 * A callback reads one event, calls one function that knows nothing of the loop, and writes
 * what that returns; it never blocks.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

#include "base/err.h"

struct loop;
struct timer;
struct fdwatch;
struct event_base;

typedef void loop_fn(void *arg);
/** @events  LOOP_READ, LOOP_WRITE: what is possible now */
typedef void fdwatch_fn(int fd, unsigned events, void *arg);

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

MUST_CHECK int loop_open(struct loop **out, struct err *err);
void loop_close(struct loop *loop);
/** Runs until loop_stop. */
void loop_run(struct loop *loop);
/** Ends loop_run after the callbacks at hand. Any thread; safe in a signal's watch. */
void loop_stop(struct loop *loop);
/** Calls fn(arg) on the loop's thread, after those posted before. Any thread. */
void loop_post(struct loop *loop, loop_fn *fn, void *arg);

/** A timer that is not set yet. */
struct timer *timer_new(struct loop *loop, loop_fn *fn, void *arg);
void timer_free(struct timer *timer);
/** Calls once, `in_ms` from now (at least 0); replaces what was set. */
void timer_set(struct timer *timer, int64_t in_ms);
void timer_unset(struct timer *timer);

/** Watches a descriptor, level-triggered, until freed; the descriptor stays the caller's. */
struct fdwatch *fdwatch_new(struct loop *loop, int fd, unsigned events, fdwatch_fn *fn, void *arg);
void fdwatch_free(struct fdwatch *watch);
/** Calls fn(signal, 0, arg) on each arrival of a signal. */
struct fdwatch *fdwatch_signal(struct loop *loop, int signal, fdwatch_fn *fn, void *arg);

/** The libevent base, for base/http.c and client only. */
struct event_base *loop_event_base(struct loop *loop);

#endif

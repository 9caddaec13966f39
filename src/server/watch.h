/*
 * Watch: the ledger's events, on their way to those who watch.
 *
 * Lives on the API loop. It keeps the last batches, knows which job is in which namespace, and
 * feeds event streams: from its memory, or from the store for those who begin further back. It also
 * tells when a revision has come by, for answers that must not be ahead of it.
 */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include "base/loop.h"
#include "ledger/ledger.h"

struct watch;
struct watcher;

/* How many events are kept in memory for those who begin a little back. */
enum { WATCH_EVENTS_MAX = 4096 };

struct watch *watch_new(void);
void watch_end(struct watch *watch);
/** Takes a batch over (counted up). The loop. */
void watch_batch(struct watch *watch, struct batch *batch);

/** The namespace of a job, borrowed; NULL if it is not there, or not any more. */
const char *watch_namespace(const struct watch *watch, uint64_t job);

/** The last revision that came by; 0: none yet. */
uint64_t watch_revision(const struct watch *watch);
/** Calls fn(arg) once a revision has come by: at once if it has. */
void watch_when(struct watch *watch, uint64_t revision, loop_fn *fn, void *arg);
/** Takes back what waits with this argument. */
void watch_forget(struct watch *watch, const void *arg);

/* An event in memory. */
struct watch_event {
    const struct batch_event *event;
    uint64_t job; /* that it is about; 0: none */
    char *ns;     /* that job's namespace; NULL if not known */
};

/* A reader of events: what it has sent is its place. */
struct watcher {
    struct watcher *next, **at;
    /** Called when events came, or a batch of them was dropped from memory; it then asks
     * watch_next. */
    void (*wake)(struct watcher *watcher);
};

void watch_add(struct watch *watch, struct watcher *watcher);
void watch_remove(struct watcher *watcher);
/**
 * The event after a revision.
 *
 * Returns  0 and *out, borrowed until the loop goes on; 1 none yet; 2 it is not in memory: read
 *          the store
 */
int watch_next(const struct watch *watch, uint64_t after, const struct watch_event **out);

#endif

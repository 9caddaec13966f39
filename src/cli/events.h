/*
 * Events: the stream of what changes, on a loop, that goes on where it broke.
 *
 * Every line is counted by its revision; after a broken connection, or a server that was killed and
 * came back, the stream begins again behind the last one. Nothing is lost or said twice, unless the
 * server no longer holds events that old: then on_gap is called, and what was known must be read
 * anew.
 */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include <jansson.h>
#include <stdint.h>

#include "base/loop.h"
#include "client/client.h"

struct events;

struct events_options {
    struct loop *loop;
    struct client *client; /* on that loop */
    const char *query;  /* "&job=j-12", "&type=job.*"; borrowed until the first answer; may be "" */
    int64_t after;      /* the revision known already; -1: begin now */
    int64_t give_up_ms; /* how long to try to reach a server; below 0: for ever */
    /* One event, bookmarks left out. May call events_close. */
    void (*on_event)(void *arg, const json_t *event);
    /* Events were missed: read anew, then call events_restart with the revision read. */
    void (*on_gap)(void *arg);
    /* The server has another ledger than was listened to, or a copy that lacks what was heard; up to
     * `shared` both are the same, 0: nothing is known to be. Read anew, with client_hold, and call
     * events_restart; or leave it. */
    void (*on_parted)(void *arg, int64_t shared, const struct problem *problem);
    /* The stream waits: the revision known already is yet to come, the newest is this. NULL:
     * none. */
    void (*on_ahead)(void *arg, int64_t newest);
    /* Nobody is reached (true), or somebody is again (false); for a word to the user. NULL:
     * none. */
    void (*on_line)(void *arg, bool is_lost, const char *why);
    /* No more: the server refused (status and problem), or was not reached for too long (status
     * 0). */
    void (*on_end)(void *arg, int status, const struct problem *problem, const struct err *err);
    void *arg;
};

struct events *events_open(const struct events_options *options);
void events_close(struct events *events);
/** Listens anew behind a revision; only after on_gap or on_parted. */
void events_restart(struct events *events, int64_t after);
/** The revision up to which all was said. */
int64_t events_revision(const struct events *events);

/** How long to wait before the n-th repetition in a row: growing to two seconds. */
int64_t pause_of_try(unsigned n);

#endif

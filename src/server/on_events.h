/*
 * Events, what list and stream share.
 */
#ifndef SERVER_ON_EVENTS_H
#define SERVER_ON_EVENTS_H

#include "base/map.h"
#include "server/call.h"
#include "server/event_filter.h"

/* Events read from the store. { 0 } before. */
struct event_page {
    json_t *items;   /* those that pass, as shown */
    uint64_t last;   /* the last one looked at */
    uint64_t oldest; /* revision held */
    size_t n_seen;
    bool is_gone;          /* what was asked for is no longer held */
    struct map namespaces; /* of jobs met */
};

/** Reads the events after a revision, until `limit` pass or none is left (or many did not pass). */
MUST_CHECK int event_page_read(struct reader *reader, const struct event_filter *filter,
                               uint64_t after, size_t limit, struct event_page *page,
                               struct err *err);
void event_page_fini(struct event_page *page);

/** `from` of a call's query, or of the header Last-Event-ID. False: the problem is set. */
bool events_read_from(struct call *call, bool is_sse, bool *has_from, uint64_t *after);
/** Whether a stream is wanted as server-sent events. */
bool events_wants_sse(const struct call *call);

/** Answers a call with a stream of what comes after a revision; takes the filter's texts. */
void event_stream_begin(struct call *call, struct event_filter *filter, bool is_sse,
                        uint64_t after);

#endif

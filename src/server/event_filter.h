/*
 * Which events a reader wants, and which it may see.
 */
#ifndef SERVER_EVENT_FILTER_H
#define SERVER_EVENT_FILTER_H

#include <jansson.h>

#include "ledger/ledger.h"
#include "server/auth.h"

/* Where an object is, seen from a list: never in it, not in it any more (or not yet), in it. */
enum event_place { EVENT_NEVER, EVENT_LEFT, EVENT_IN };

/* A list that is watched. */
struct event_list {
    enum row_kind kind; /* of what it lists */
    /** @object  as events show it */
    enum event_place (*place)(const struct event_list *list, const json_t *object);
    void (*free_list)(struct event_list *list);
};

struct event_filter {
    char *types;  /* "job.*,attempt.ended"; NULL: all */
    uint64_t job; /* 0: all */
    struct who who;
    struct event_list *list; /* only what is in it or leaves it; NULL: all */
};

void event_filter_fini(struct event_filter *filter);
/**
 * Whether an event passes.
 *
 * @kind  of its row
 * @job   that it is about; 0: none
 * @ns    that job's namespace; NULL if not known
 */
bool event_filter_passes(const struct event_filter *filter, enum row_kind kind, const char *type,
                         uint64_t job, const char *ns);
/**
 * Whether what was shown of an event that passes is about the list; then it is told whether its
 * object left that.
 *
 * @shown  an event as the API shows it; gains `left`
 */
bool event_filter_takes(const struct event_filter *filter, json_t *shown);

#endif

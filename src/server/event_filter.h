/*
 * Which events a reader wants, and which it may see.
 */
#ifndef SERVER_EVENT_FILTER_H
#define SERVER_EVENT_FILTER_H

#include "server/auth.h"

struct event_filter {
    char *types;  /* "job.*,attempt.ended"; NULL: all */
    uint64_t job; /* 0: all */
    struct who who;
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

#endif

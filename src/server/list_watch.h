/*
 * Lists that are watched: `?watch=1` makes a list a stream of the events about what is in it.
 *
 * Each line is an event as /v1/events has it. One whose object is not in the list, any more or at
 * all, says `left`: so what is in the list at any revision follows from the list as it was read and
 * the lines behind its revision, wherever the stream was broken and taken up again.
 */
#ifndef SERVER_LIST_WATCH_H
#define SERVER_LIST_WATCH_H

#include "server/call.h"
#include "server/list.h"

/** Whether the list is to be watched. False: the problem is set. */
bool list_watch_read(struct call *call, bool *out);
/** Streams what happens to jobs. @filter  its texts are copied */
void list_watch_jobs(struct call *call, const struct job_filter *filter);
/** Streams what happens to rows of another kind. @ways  copied; NULL: all of them are in the
 * list */
void list_watch_rows(struct call *call, enum row_kind kind, const struct list_ways *ways);
/** Streams what happens to a job's attempts. */
void list_watch_attempts(struct call *call, uint64_t job);

#endif

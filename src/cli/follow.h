/*
 * Follow: a job while it runs, on a loop: its attempts and their logs, until it is over and all is
 * read.
 *
 * What is known comes from the events of the job; after events were missed, everything is read
 * anew. A server that is killed and comes back costs time and nothing else.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <jansson.h>

#include "base/loop.h"
#include "base/name.h"
#include "cli/sink.h"
#include "client/client.h"

struct follow;

struct follow_options {
    struct loop *loop;
    struct client *client; /* on that loop */
    const char *job;       /* "j-12"; borrowed for the call */
    int64_t after;         /* nothing happened before this revision; -1: read it first */
    const struct name_parts
        *only;            /* one task (or attempt) of it; NULL: all. Borrowed for the call */
    int64_t tail;         /* lines of what was written before; below 0: all */
    int64_t give_up_ms;   /* how long to go on while nobody is reached; below 0: for ever */
    bool is_quiet;        /* says nothing at all */
    bool has_progress;    /* says where it runs and why it waits; else troubles only */
    int64_t submitted_ms; /* wall clock, for the progress; 0 unknown */
    bool has_labels;      /* of the lines of logs */
    /* Over, and all read: the job as it ended. Or not to be followed any more: job is NULL. */
    void (*on_end)(void *arg, const json_t *job, int status, const struct problem *problem);
    void *arg;
};

struct follow *follow_open(const struct follow_options *options);
void follow_close(struct follow *follow);

/** Whether all that was to be written could be: 0, or an errno. */
int follow_write_error(const struct follow *follow);

#endif

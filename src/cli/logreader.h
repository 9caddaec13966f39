/*
 * Log reader: the log of one attempt, on a loop, that goes on at the byte where it broke.
 */
#ifndef CLI_LOGREADER_H
#define CLI_LOGREADER_H

#include "base/cri.h"
#include "base/loop.h"
#include "client/client.h"

struct logreader;

struct logreader_options {
    struct loop *loop;
    struct client *client; /* on that loop */
    const char *attempt;   /* borrowed for the call */
    int64_t tail;          /* the last lines only; below 0: all */
    bool is_following;     /* until the attempt ends */
    int64_t give_up_ms;    /* how long to go on while nobody is reached; below 0: for ever */
    /* Each piece with its exact bytes. */
    void (*on_bytes)(void *arg, enum cri_stream stream, const char *data, size_t n);
    /* So many bytes were rotated away before they could be read. */
    void (*on_gap)(void *arg, int64_t n_bytes);
    /* Nothing comes for now, and it is asked for again: once for each such time and reason. NULL: none. */
    void (*on_wait)(void *arg, const struct problem *problem);
    /* It is read to its end (problem NULL), or cannot be. The reader is gone then. */
    void (*on_end)(void *arg, int status, const struct problem *problem);
    void *arg;
};

struct logreader *logreader_open(const struct logreader_options *options);
void logreader_close(struct logreader *reader);

#endif

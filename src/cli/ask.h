/*
 * Ask: one GET on a loop, repeated until there is an answer.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <jansson.h>
#include <stdint.h>

#include "base/loop.h"
#include "client/client.h"

struct ask;

/**
 * Called once.
 *
 * @document  the answer's JSON, borrowed; NULL: refused (status), or nobody was reached in time (0)
 * @revision  of which revision it is; -1 unknown
 */
typedef void ask_fn(void *arg, const json_t *document, int64_t revision, int status,
                    const struct problem *problem);

struct ask_options {
    struct loop *loop;
    struct client *client; /* on that loop */
    const char *method;    /* borrowed for the call of ask_open, as path and body */
    const char *path;
    const char *body;   /* JSON; NULL none */
    int64_t give_up_ms; /* how long to go on while nobody is reached; below 0: for ever */
    ask_fn *fn;         /* never called from within ask_open */
    void *arg;
};

/** Asks. The handle is gone once fn was called. */
struct ask *ask_open(const struct ask_options *options);
/** Gives up: fn is not called any more. NULL is fine. */
void ask_close(struct ask *ask);

#endif

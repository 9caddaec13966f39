/*
 * Watching a list: drawn anew on a terminal whenever something changes; elsewhere, and with -o
 * jsonl and the like, what changed is appended. Goes on by itself when the connection breaks.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/verb.h"

struct watch_options {
    struct cli *cli;
    struct output output;
    const struct listing *listing;
    const char *query; /* of the events that may change the list: "&type=node.*" */
    /* Items are the same while their revision is; else while nothing of them is another. */
    bool by_revision;
    /* "/v1/jobs/": where an item that left the list is read to be printed once more; NULL: it is
     * not. */
    const char *left_prefix;
    /** Reads the list; returns 0, or an exit code after printing why. */
    int (*fetch)(void *arg, json_t **out);
    void *arg;
};

/** Watches until Ctrl-C, or until it cannot be. Returns the exit code. */
int cli_watch(const struct watch_options *options);

#endif

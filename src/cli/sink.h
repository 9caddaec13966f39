/*
 * Sink: where logs go. stdout to stdout and stderr to stderr, byte for byte; with several tasks
 * each line begins with its task.
 */
#ifndef CLI_SINK_H
#define CLI_SINK_H

#include "base/cri.h"
#include "base/str.h"

/* { .fds = { 1, 2 } } writes as is. */
struct sink {
    int fds[2];          /* of stdout and stderr */
    bool has_labels;     /* lines begin with "LABEL | " */
    bool is_quiet;       /* notices of the monitor are left out */
    struct str buffer;   /* for fds[buffered] */
    int buffered;        /* 0 stdout, 1 stderr */
    const char *open[2]; /* whose line is not ended yet; NULL: nobody's */
    int error;           /* errno of the first write that failed */
};

void sink_fini(struct sink *sink);

/**
 * Takes bytes of a log; they are written by sink_flush at the latest.
 *
 * @label  the same pointer for the same task, as long as the sink lives
 */
void sink_write(struct sink *sink, const char *label, enum cri_stream stream, const char *data,
                size_t n);
void sink_flush(struct sink *sink);

#endif

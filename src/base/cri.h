/*
 * Log lines: how an attempt's log lies on disk and travels, and back to the exact bytes.
 *
 * A line is `TIME STREAM TAG TEXT\n`: an RFC 3339 time, the stream (stdout, stderr, or berth for a
 * notice of the monitor), and F for a whole line or P for a part: F stands for TEXT and a newline,
 * P for TEXT alone. TEXT may hold any byte but a newline. Source: the logging format of the
 * Kubernetes container runtime interface.
 */
#ifndef BASE_CRI_H
#define BASE_CRI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum cri_stream { CRI_STDOUT, CRI_STDERR, CRI_NOTICE, CRI_STREAM_COUNT };
extern const char *const cri_stream_words[CRI_STREAM_COUNT]; /* stdout, stderr, berth */

/* { 0 } is the start of a line. */
struct cri_decoder {
    struct str line;        /* an unfinished line */
    uint64_t n_whole_bytes; /* bytes of whole lines so far: what a resumed reading may skip */
    uint64_t n_bad_lines;   /* that were no log lines: dropped */
    bool is_in_gap;         /* drop up to the next newline */
};

/**
 * Called for each line.
 *
 * @time   as written; not ended by NUL
 * @data   its exact bytes, with the newline where there was one
 */
typedef void cri_fn(enum cri_stream stream, const char *time, size_t n_time, const char *data,
                    size_t n, void *arg);

void cri_decoder_fini(struct cri_decoder *decoder);
/** Forgets the unfinished line, and drops what comes up to the next newline. */
void cri_decoder_resync(struct cri_decoder *decoder);
/** Takes the next bytes of a log, in pieces of any size. */
void cri_decode(struct cri_decoder *decoder, const void *bytes, size_t n, cri_fn *fn, void *arg);

#endif

/*
 * Log lines on their way to a reader: chosen by stream, as text or as they lie on disk, and the
 * last N of them. Knows no socket.
 */
#ifndef SERVER_LOG_LINES_H
#define SERVER_LOG_LINES_H

#include "base/cri.h"
#include "base/str.h"
#include "base/vec.h"

enum { LOG_TAIL_MAX = 10000, LOG_TAIL_MAX_BYTES = 8 << 20 };

struct log_lines {
    bool is_cri;      /* as on disk; else the bytes as written */
    unsigned streams; /* bits 1 << enum cri_stream */
    size_t tail;      /* keep only the last so many lines; 0: all go straight through */
    /* Its own. */
    struct str kept;     /* of the tail: lines as on disk */
    VEC_OF(size_t) ends; /* of the kept lines, offsets behind them in kept */
    size_t n_kept_from;  /* the first kept line in ends */
    bool is_in_part;     /* the last kept line goes on */
};

void log_lines_fini(struct log_lines *lines);
/** Takes whole lines as they lie on disk; adds to out what is to be sent now. */
void log_lines_take(struct log_lines *lines, const char *bytes, size_t n, struct str *out);
/** The tail is over: adds the lines kept; from now on all go straight through. */
void log_lines_flush(struct log_lines *lines, struct str *out);

#endif

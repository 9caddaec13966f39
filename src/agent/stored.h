/*
 * Stored: the file `spec` of an attempt's folder: the start as it came, and the notes behind it.
 */
#ifndef AGENT_STORED_H
#define AGENT_STORED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/states.h"

/* How an attempt ended that was reported and is over; cause CAUSE_NONE: that is not known. */
struct stored_end {
    enum cause cause;
    enum detail detail;
    int code, signal;
    int64_t started_ms, ended_ms; /* wall; 0: not */
    char given_by[80];            /* the incarnation of the ledger that gave it */
};

enum { STORED_END_SIZE = 256 };

/** Writes it as a line's text, without a newline. */
void stored_end_write(const struct stored_end *end, char out[STORED_END_SIZE]);
/** Reads that back; what is not one leaves { 0 }. */
void stored_end_read(const char *text, struct stored_end *out);

/* What an earlier agent noted behind the start. */
struct notes {
    bool was_called, is_orphan;
    char given_by[80]; /* the incarnation that gave it; "": not noted */
    struct stored_end end;
    enum cause stop; /* CAUSE_NONE: none was wanted */
    char seen_opening[64];
    int64_t seen_revision; /* what was heard of the ledger when it was let start; "": not noted */
};

/**
 * Reads the file's text.
 *
 * @id      of the folder
 * @notes   zeroed; filled
 * Returns  the line of the start, yours to json_decref; NULL and the reason: it was not stored
 *          whole, or is no start of this id
 */
MUST_CHECK json_t *stored_read(const char *text, const char *id, struct notes *notes,
                               struct err *err);

#endif

/*
 * Stored: the file `spec` of an attempt's folder: the start as it came, and the notes behind it.
 */
#ifndef AGENT_STORED_H
#define AGENT_STORED_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/states.h"

/* What an earlier agent noted behind the start. */
struct notes {
    bool was_called, is_orphan;
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

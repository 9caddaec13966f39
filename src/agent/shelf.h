/*
 * Shelf: the folders of ended attempts, with their logs, kept until they are too old or too many.
 * Owned by one thread; removing is done by the pool.
 *
 * Of an attempt that wrote nothing only the name and its end are kept, in the shelf's file
 * `.silent`: so that its log is known to be empty and not taken for lost.
 */
#ifndef AGENT_SHELF_H
#define AGENT_SHELF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

struct shelf;

/**
 * Opens the shelf and looks what is on it. Blocking.
 *
 * @dir   the folder of folders; must exist, and outlive nothing: copied
 * Returns 0; a negative errno when it cannot be read
 */
MUST_CHECK int shelf_open(const char *dir, int64_t keep_ms, int64_t keep_bytes, struct pool *pool,
                          struct shelf **out, struct err *err);
void shelf_close(struct shelf *shelf);
/** A folder was put there, at that time (wall ms) with so many bytes; removes what is too much. */
void shelf_keep(struct shelf *shelf, const char *name, int64_t ended_ms, int64_t bytes);
/** Removes what is too old by now. */
void shelf_trim(struct shelf *shelf, int64_t now_wall_ms);
/**
 * An attempt ended at that time and wrote nothing; no folder of it is there.
 *
 * @end  how, as the agent writes it: a text of one line
 */
void shelf_keep_silent(struct shelf *shelf, const char *name, int64_t ended_ms, const char *end);
/** How that ended; "": it is not known; NULL: no such attempt is. Borrowed until the next call. */
const char *shelf_silent_end(const struct shelf *shelf, const char *name);
/** Whether that is known of it. */
bool shelf_is_silent(const struct shelf *shelf, const char *name);

/** Removes all that is there under that name, at once: another attempt is to have it. */
void shelf_forget(struct shelf *shelf, const char *name);

/* What lies in an attempt's folder. */
struct shelf_content {
    int64_t bytes; /* on disk, one level deep; of the folder alone where is_spare */
    bool is_spare; /* nothing but what every attempt has: no log, nothing that was left behind */
};
struct shelf_content shelf_look(const char *path);
int64_t shelf_bytes(const struct shelf *shelf);

#endif

/*
 * Files: whole files in and out, so that a reader sees the old or the new one and never a part.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/** For CLEANUP on an int: closes it unless it is -1. */
void closep(int *fd);

/**
 * Reads a whole file behind what out holds.
 *
 * @dir     a directory's descriptor, or AT_FDCWD
 * @most    bytes; a larger file is -E2BIG
 * Returns  0, or a negative errno with the path
 */
MUST_CHECK int file_read(int dir, const char *path, size_t most, struct str *out, struct err *err);

/**
 * Writes a whole file: a temporary one beside it, fsync if durable, then rename.
 *
 * Returns  0, or a negative errno with the path; then the old file stands
 */
MUST_CHECK int file_write(int dir, const char *path, const void *data, size_t n, mode_t mode,
                          bool durable, struct err *err);

/**
 * Refuses a file of one's own that others can read or write: a token in it gives one's name away.
 * What belongs to others is their business (a secret that a service manager hands out), as is what
 * is no file (a pipe), and root's own files are as much its own as anybody's.
 *
 * Returns  0, also if there is no such file; -EACCES, with what to do
 */
MUST_CHECK int file_check_secret(const char *path, struct err *err);

/** Makes a directory and those above it that are missing; 0 if it is there. */
MUST_CHECK int file_make_dirs(const char *path, mode_t mode, struct err *err);

/** Removes a tree, never following a link or crossing into another file system; 0 if absent. */
MUST_CHECK int file_remove_tree(int dir, const char *path, struct err *err);

/** write(2) until all is written; 0, or a negative errno. */
MUST_CHECK int file_write_all(int fd, const void *data, size_t n);

/**
 * Writes a file that is open, at its start, in the place of all that it holds. It is never empty in
 * between: where a file is emptied and written again, ext4 writes it out to the disk when it is
 * closed.
 *
 * @n       at least 1
 * Returns  0, or a negative errno
 */
MUST_CHECK int file_overwrite(int fd, const void *data, size_t n);

#endif

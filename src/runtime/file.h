/*
 * File: small files and whole folders, for this house.
 */
#ifndef RUNTIME_FILE_H
#define RUNTIME_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/** For CLEANUP: closes *fd if it is not -1. */
void fd_closep(int *fd);

/** Reads a whole file of at most most bytes. Returns 0; -EFBIG; another negative errno, no text. */
int file_read(const char *path, size_t most, struct str *out) MUST_CHECK;
/** Reads the first line of a small file into out, without its end; false where it cannot be read. */
bool file_read_line(const char *path, char *out, size_t size);
/** Writes a file anew (mode 0640), not by rename. Returns 0 or a negative errno, no text. */
int file_write(const char *path, const void *data, size_t n) MUST_CHECK;
/** Writes text into a file that exists, in one write. Returns 0 or a negative errno, no text. */
int file_set(const char *path, const char *text) MUST_CHECK;
/** Makes a folder (0755) and those above it that are missing, from the `from`-th byte of path on. */
int folder_make(const char *path, size_t from) MUST_CHECK;
/**
 * Removes a folder and all below it; never follows a link, never leaves the file system. Nothing there
 * is fine.
 */
int folder_remove(const char *path, struct err *err) MUST_CHECK;

#endif

/*
 * Knob: the small files by which the kernel is asked and told.
 */
#ifndef RUNTIME_KNOB_H
#define RUNTIME_KNOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/** Reads the first line into out, without its end; false where it cannot be read. */
bool knob_read(const char *path, char *out, size_t size);
/** Reads the whole of a small file; false where it cannot be read. */
bool knob_read_all(const char *path, char *out, size_t size);
/** Writes text in one write into a file that exists. Returns 0 or a negative errno. */
int knob_write(const char *path, const char *text) MUST_CHECK;

#endif

/*
 * Inside the simulator: its verbs, and the files they are given.
 */
#ifndef SIM_INSIDE_H
#define SIM_INSIDE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct paths {
    VEC_OF(char *);
};

void paths_fini(struct paths *paths);
/** Adds a file, or the documents beneath a folder in the order of their names; -ENOENT where it has
 * none. */
MUST_CHECK int paths_add(struct paths *paths, const char *path, struct err *err);

int sim_check(char **files, size_t n, bool as_json);
int sim_show(const char *file);

#endif

/*
 * Faults: all that is wrong with a configuration, each with its place.
 *
 * What reads an object ends at the first fault in it. So the object is read again without the member
 * that was wrong, until nothing more is.
 */
#ifndef ENGINE_FAULTS_H
#define ENGINE_FAULTS_H

#include "berth/engine.h"

struct faults {
    berth_fault_fn *tell; /* NULL: only the first is wanted */
    void *arg;
    size_t n;
    struct err first;
};

/** Tells one. @above  the pointer of what `err` begins beneath, "" where it begins at the top */
void faults_tell(struct faults *faults, const char *above, const struct err *err);

/** Reads an object (NULL: nothing is said) to the end, or to its first fault. */
typedef int faults_read_fn(const struct berth_value *object, void *arg, struct err *err);

/**
 * Tells all that a reader finds wrong with an object, whose copies live in `arena`.
 *
 * Returns  whether it was read in the end, perhaps without what was wrong
 */
bool faults_read(struct faults *faults, const char *above, const struct berth_value *object,
                 faults_read_fn *read, void *arg, struct arena *arena);

#endif

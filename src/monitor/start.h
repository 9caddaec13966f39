/*
 * Start: the one child of the monitor: the command itself, or the runtime that makes the container.
 */
#ifndef MONITOR_START_H
#define MONITOR_START_H

#include <sys/types.h>

#include "monitor/launch.h"

/* How far the child came when it failed. */
enum step {
    STEP_NONE, /* it did not fail */
    STEP_SPAWN,
    STEP_GROUP,
    STEP_NETWORK,
    STEP_NAMESPACE,
    STEP_MOUNT,
    STEP_USER,
    STEP_WORK_DIR,
    STEP_EXEC,
};

struct start_failure {
    enum step step;
    int error;        /* errno */
    const char *what; /* path or name that it was about; borrowed from launch */
};

/**
 * Starts the child and waits until it has executed its program, or failed.
 *
 * @out, @err  what become its descriptors 1 and 2
 * Returns     its pid; -1 with the failure
 */
pid_t start_spawn(const struct launch *launch, int out, int err, struct start_failure *failure);

#endif

/*
 * Group: the control groups of the container: signal all, kill all, what it used.
 */
#ifndef MONITOR_GROUP_H
#define MONITOR_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "monitor/launch.h"

struct usage {
    int64_t oom_kills;
    int64_t peak_memory_bytes; /* 0: unknown */
    int64_t cpu_us;            /* -1: unknown */
};

/** Sends a signal to each process of the container, its session where it has no group. */
void group_signal(const struct launch *launch, pid_t main_pid, int signal);
/** Sends KILL to all of it, such that none can fork away from it where the machine allows that. */
void group_kill(const struct launch *launch, pid_t main_pid);
/** Reads what the groups counted. To be called before they are removed. */
void group_usage(const struct launch *launch, struct usage *out);

#endif

/*
 * Launch: what the monitor was told, read once from the attempt's folder.
 */
#ifndef MONITOR_LAUNCH_H
#define MONITOR_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LAUNCH_MAX_GROUPS = 16 };

struct launch {
    int fd;    /* of the file, locked while this monitor has the container */
    char *buf; /* texts point into it */
    const char *id;
    const char *program; /* of crun or runc; NULL: the command itself is started here */
    const char **args;   /* NULL-ended: the command, or the runtime's whole command line */
    const char **env;    /* NULL-ended; of the command, or of the runtime */
    const char *work_dir;
    bool has_user;
    uid_t uid;
    gid_t gid;
    int64_t nofile; /* soft limit of open files; 0: as it is */
    bool has_own_network;

    const char *groups[LAUNCH_MAX_GROUPS + 1]; /* folders that the command joins; NULL-ended */
    const char *procs_group;                   /* a group with all processes in it; NULL: none */
    const char *kill_group;                    /* a group of v2 that has cgroup.kill */
    const char *freezer_group;                 /* of v1 */
    const char *memory_group;                  /* v1 or v2 */
    const char *cpu_group;                     /* v1 cpuacct or v2 */

    const char *mount_data; /* options of the overlay that becomes the bundle's root */
    const char *mount_at;
    const char *hide; /* a mount that the runtime must not see */

    const char *lease;
    bool is_kept;               /* the lease does not end it */
    int64_t grace_ms, limit_ms; /* limit: 0 none */
    int64_t log_lines_per_hour, log_file_bytes, log_keep_bytes;
};

/**
 * Takes the current folder's container: locks the file `launch`, marks it as begun, reads it. The
 * lock says that a monitor lives, and the mark that one did: so nothing is ever started twice.
 *
 * Returns  0; -EBUSY: another monitor has it, or had it; another negative errno: it cannot be
 *          started. launch_fini it in each case
 */
int launch_take(struct launch *out);
/** Gives the container up. */
void launch_fini(struct launch *launch);

#endif

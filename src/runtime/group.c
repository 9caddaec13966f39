/*
 * Group: a container's control groups, MOUNT/berth/NODE/ID in each hierarchy.
 *
 * For a process this house makes them; for a container of an OCI runtime the runtime does. In both
 * cases they are removed here: all that bears the id goes, whoever made it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/inside.h"
#include "runtime/knob.h"

enum {
    EMPTY_WITHIN_MS = 10000, /* processes killed may take so long to be gone */
    MAKE_TRIES = 5,
};

/* A group's parent, MOUNT/berth/NODE; NULL where the hierarchy cannot be used. Yours. */
static char *parent_path(const struct runtime *rt, enum controller controller)
{
    const char *mount = rt->machine.controllers[controller].path;

    if (!mount[0] || !rt->machine.controllers[controller].is_writable)
        return NULL;
    return text_format("%s/berth/%s", mount, rt->node);
}

char *group_path(const struct runtime *rt, enum controller controller, const char *id)
{
    CLEANUP(freep) char *parent = parent_path(rt, controller);

    return parent ? text_format("%s/%s", parent, id) : NULL;
}

/* v2 gives a group's children only the controllers that the group says. */
static void enable_controllers(const char *dir)
{
    CLEANUP(freep) char *path = text_format("%s/cgroup.subtree_control", dir);
    static const char *const wanted[] = { "+cpu", "+memory", "+pids" };

    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        if (knob_write(path, wanted[i]) < 0)
            continue; /* found missing by the probe, and said so there */
    }
}

void group_make_parents(const struct runtime *rt)
{
    for (int i = 0; i < CONTROLLER_COUNT; i++) {
        CLEANUP(freep) char *parent = parent_path(rt, (enum controller)i);
        struct err err = { 0 };
        if (!parent || file_make_dirs(parent, 0755, &err) < 0)
            continue; /* groups there fail then, with their own reason */
        if (rt->machine.cgroup_layout == CGROUP_V2 && i == CONTROLLER_UNIFIED) {
            const char *mount = rt->machine.controllers[i].path;
            CLEANUP(freep) char *berth = text_format("%s/berth", mount);
            enable_controllers(mount);
            enable_controllers(berth);
            enable_controllers(parent);
        }
    }
}

void group_remove_parents(const struct runtime *rt)
{
    for (int i = 0; i < CONTROLLER_COUNT; i++) {
        CLEANUP(freep) char *parent = parent_path(rt, (enum controller)i);
        if (!parent)
            continue;
        rmdir(parent); /* stays where somebody else has groups in it */
        *strrchr(parent, '/') = '\0';
        rmdir(parent);
    }
}

/* ---- making ---- */

static int make_one(const struct runtime *rt, enum controller controller, const char *id,
                    struct err *err)
{
    CLEANUP(freep) char *path = group_path(rt, controller, id);

    if (!path)
        return -ENODEV;
    for (int tries = 1;; tries++) {
        int code = mkdir(path, 0755) < 0 ? errno : 0;
        if (code == 0 || code == EEXIST)
            return 0;
        if (code != ENOENT || tries == MAKE_TRIES)
            return err_sys(err, -code, "make group %s", path);
        group_make_parents(
            rt); /* an agent that left tidied up; another may do so again meanwhile */
    }
}

static int set_limit(const struct runtime *rt, enum controller controller, const char *id,
                     const char *name, const char *value, struct err *err)
{
    CLEANUP(freep) char *dir = group_path(rt, controller, id);
    CLEANUP(freep) char *path = text_format("%s/%s", dir, name);
    int r = knob_write(path, value);

    return r < 0 ? err_sys(err, r, "set %s to %s", path, value) : 0;
}

static int set_memory(const struct runtime *rt, const struct container *c, struct err *err)
{
    bool is_v2 = rt->machine.cgroup_layout == CGROUP_V2;
    struct err ignored = { 0 };
    char value[32];
    int r;

    snprintf(value, sizeof(value), "%lld", (long long)c->memory_bytes);
    r = set_limit(rt, CONTROLLER_MEMORY, c->id, is_v2 ? "memory.max" : "memory.limit_in_bytes",
                  value, err);
    if (r < 0)
        return r;
    /* Without a swap controller the limit is of memory alone. */
    if (set_limit(rt, CONTROLLER_MEMORY, c->id,
                  is_v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes", is_v2 ? "0" : value,
                  &ignored) < 0)
        return 0;
    return 0;
}

int64_t cpu_quota_us(int64_t milli)
{
    int64_t a_milli = CPU_PERIOD_US / 1000;

    if (milli > CPU_QUOTA_MAX_US / a_milli)
        return CPU_QUOTA_MAX_US;
    return milli * a_milli < CPU_QUOTA_MIN_US ? CPU_QUOTA_MIN_US : milli * a_milli;
}

static int set_cpu(const struct runtime *rt, const struct container *c, struct err *err)
{
    int64_t quota = cpu_quota_us(c->cpu_milli);
    char value[64];

    if (rt->machine.cgroup_layout == CGROUP_V2) {
        snprintf(value, sizeof(value), "%lld %d", (long long)quota, CPU_PERIOD_US);
        return set_limit(rt, CONTROLLER_CPU, c->id, "cpu.max", value, err);
    }
    snprintf(value, sizeof(value), "%lld", (long long)quota);
    return set_limit(rt, CONTROLLER_CPU, c->id, "cpu.cfs_quota_us", value, err);
}

static int set_pids(const struct runtime *rt, const struct container *c, struct err *err)
{
    char value[32];

    snprintf(value, sizeof(value), "%lld", (long long)c->pids);
    return set_limit(rt, CONTROLLER_PIDS, c->id, "pids.max", value, err);
}

/* Which group tells who belongs to it, and how all of it is ended. */
static enum controller tracking(const struct runtime *rt)
{
    return rt->machine.has_cgroup_kill ? CONTROLLER_UNIFIED : CONTROLLER_FREEZER;
}

/* A group of v2 counts cpu time without any controller. */
static enum controller counting_cpu(const struct runtime *rt)
{
    return rt->machine.has_cgroup_kill ? CONTROLLER_UNIFIED : CONTROLLER_CPUACCT;
}

struct plan {
    enum controller controller;
    int (*set)(const struct runtime *, const struct container *, struct err *);
};
enum { MOST_PLANS = 6 };

/* The groups that are made here. Only those that are needed: each costs a start its making and
 * removal, and the kernel more behind it. Returns how many. */
static size_t make_plan(const struct runtime *rt, const struct container *c,
                        struct plan out[MOST_PLANS])
{
    size_t n = 0;

    if (c->runtime != RUNTIME_PROCESS) {
        /* Where v1 has the controllers, a group of v2 as well, which ends all at one write. */
        if (rt->machine.has_cgroup_kill && rt->machine.cgroup_layout == CGROUP_HYBRID)
            out[n++] = (struct plan){ CONTROLLER_UNIFIED, NULL };
        return n;
    }
    out[n++] = (struct plan){ tracking(rt), NULL };
    if (counting_cpu(rt) != tracking(rt))
        out[n++] = (struct plan){ counting_cpu(rt), NULL };
    if (c->memory_bytes > 0)
        out[n++] = (struct plan){ CONTROLLER_MEMORY, set_memory };
    if (c->cpu_milli > 0)
        out[n++] = (struct plan){ CONTROLLER_CPU, set_cpu };
    if (c->pids > 0)
        out[n++] = (struct plan){ CONTROLLER_PIDS, set_pids };
    return n;
}

int group_make(const struct runtime *rt, const struct container *c, struct err *err)
{
    struct plan plan[MOST_PLANS];
    size_t n = make_plan(rt, c, plan);

    for (size_t i = 0; i < n; i++) {
        int r = make_one(rt, plan[i].controller, c->id, err);
        if (r == -ENODEV)
            continue; /* the machine has it not: the probe says what is degraded */
        if (r == 0 && plan[i].set)
            r = plan[i].set(rt, c, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void say_path(const struct runtime *rt, struct str *launch, const char *key,
                     enum controller controller, const char *id)
{
    CLEANUP(freep) char *path = group_path(rt, controller, id);

    if (path)
        launch_add(launch, key, path);
}

void group_say(const struct runtime *rt, const struct container *c, struct str *launch)
{
    struct plan plan[MOST_PLANS];
    size_t n = make_plan(rt, c, plan);
    bool has_memory = c->runtime != RUNTIME_PROCESS || c->memory_bytes > 0;

    for (size_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = group_path(rt, plan[i].controller, c->id);
        CLEANUP(freep) char *procs = path ? text_format("%s/cgroup.procs", path) : NULL;
        if (procs)
            launch_add(launch, "group", procs);
    }
    say_path(rt, launch, "procs", tracking(rt), c->id);
    say_path(rt, launch, tracking(rt) == CONTROLLER_UNIFIED ? "kill" : "freezer", tracking(rt),
             c->id);
    if (has_memory || rt->machine.cgroup_layout == CGROUP_V2)
        say_path(rt, launch, "memory", CONTROLLER_MEMORY, c->id);
    say_path(rt, launch, "cpu", counting_cpu(rt), c->id);
}

/* ---- ending ---- */

static bool has_processes(const char *dir)
{
    CLEANUP(freep) char *path = text_format("%s/cgroup.procs", dir);
    char text[32];

    return knob_read(path, text, sizeof(text)) && text[0];
}

bool group_is_alive(const struct runtime *rt, const char *id)
{
    for (int i = 0; i < CONTROLLER_COUNT; i++) {
        CLEANUP(freep) char *path = group_path(rt, (enum controller)i, id);
        if (path && has_processes(path))
            return true;
    }
    return false;
}

static void try_write(const char *dir, const char *name, const char *text)
{
    CLEANUP(freep) char *path = text_format("%s/%s", dir, name);

    if (knob_write(path, text) < 0)
        return; /* not of this hierarchy */
}

/* Kills the processes of a list and waits until each has gone. A descriptor of one is never
 * another's. */
static void kill_listed(const char *dir, char *list, int64_t until_ms)
{
    struct pollfd polled[64];
    size_t n = 0;
    char *rest = list, *line;

    try_write(dir, "freezer.state", "FROZEN"); /* none of them forks meanwhile */
    while (n < COUNT_OF(polled) && (line = strsep(&rest, "\n")) && *line && rest) {
        int fd = (int)syscall(SYS_pidfd_open, (pid_t)strtol(line, NULL, 10), 0);
        if (fd < 0)
            continue;
        syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
        polled[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    }
    try_write(dir, "freezer.state", "THAWED");
    for (size_t i = 0; i < n; i++) {
        int64_t left = until_ms - clock_boot_ms(&clock_system);
        if (left > 0)
            poll(&polled[i], 1, (int)left);
        close(polled[i].fd);
    }
}

/* Kills all processes of one group until it is empty. */
static int empty(const char *dir, int64_t until_ms, struct err *err)
{
    CLEANUP(freep) char *procs = text_format("%s/cgroup.procs", dir);
    char text[4096];

    while (knob_read_all(procs, text, sizeof(text)) && text[0]) {
        if (clock_boot_ms(&clock_system) > until_ms)
            return err_set(err, -EBUSY, "group %s: process %.*s does not end", dir,
                           (int)strcspn(text, "\n"), text);
        try_write(dir, "cgroup.kill", "1");
        kill_listed(dir, text, until_ms);
    }
    return 0;
}

/* Removes a group and those below it, which a container may have made. */
static int remove_tree(const char *dir, int64_t until_ms, struct err *err)
{
    DIR *entries;
    struct dirent *entry;
    int r;

    if (rmdir(dir) == 0 || errno == ENOENT)
        return 0;
    r = empty(dir, until_ms, err);
    if (r < 0)
        return r;
    entries = opendir(dir);
    while (r == 0 && entries && (entry = readdir(entries))) {
        CLEANUP(freep) char *child = text_format("%s/%s", dir, entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            r = remove_tree(child, until_ms, err);
    }
    if (entries)
        closedir(entries);
    /* The last process is out of the group a moment after it is gone: there is no event for
     * that. */
    while (r == 0 && rmdir(dir) < 0 && errno != ENOENT) {
        if (errno != EBUSY || clock_boot_ms(&clock_system) > until_ms)
            return err_sys(err, -errno, "remove group %s", dir);
        nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    }
    return r;
}

/* Whether a container of this kind may have a group there. */
static bool may_have(const struct runtime *rt, enum runtime_kind kind, enum controller controller)
{
    return kind != RUNTIME_PROCESS || controller == tracking(rt) ||
           controller == counting_cpu(rt) || controller == CONTROLLER_MEMORY ||
           controller == CONTROLLER_CPU || controller == CONTROLLER_PIDS;
}

int group_end(const struct runtime *rt, const char *id, enum runtime_kind kind, struct err *err)
{
    int64_t until_ms = clock_boot_ms(&clock_system) + EMPTY_WITHIN_MS;

    /* From the last: the v2 hierarchy first, which can end all at once. */
    for (int i = CONTROLLER_COUNT - 1; i >= 0; i--) {
        CLEANUP(freep)
        char *path =
            may_have(rt, kind, (enum controller)i) ? group_path(rt, (enum controller)i, id) : NULL;
        int r = path ? remove_tree(path, until_ms, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

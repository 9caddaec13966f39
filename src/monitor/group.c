/* Group: see group.h. */
#include "monitor/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens DIR/NAME; -1 where there is none. */
static int open_in(const char *dir, const char *name, int flags)
{
    char path[512];

    if (!dir || snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return -1;
    return open(path, flags | O_CLOEXEC);
}

static bool write_in(const char *dir, const char *name, const char *text)
{
    int fd = open_in(dir, name, O_WRONLY);
    bool is_written;

    if (fd < 0)
        return false;
    is_written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return is_written;
}

/* Reads a small file; false where it is not there. */
static bool read_in(const char *dir, const char *name, char *out, size_t size)
{
    int fd = open_in(dir, name, O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, out, size - 1);
    close(fd);
    if (n < 0)
        return false;
    out[n] = '\0';
    return true;
}

/* The number behind "KEY " at the start of a line, or -1. */
static int64_t number_after(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (!strncmp(at, key, n) && at[n] == ' ')
            return strtoll(at + n + 1, NULL, 10);
    }
    return -1;
}

/* Signals each pid of a list of numbers. Returns how many there were. */
static int signal_list(int fd, int signal)
{
    char buf[4096];
    ssize_t n;
    long pid = 0;
    int found = 0;

    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (buf[i] >= '0' && buf[i] <= '9') {
                pid = pid * 10 + (buf[i] - '0');
                continue;
            }
            if (pid > 1) {
                kill((pid_t)pid, signal);
                found++;
            }
            pid = 0;
        }
    }
    return found;
}

static int signal_group(const char *dir, int signal)
{
    int fd = open_in(dir, "cgroup.procs", O_RDONLY);
    int found;

    if (fd < 0)
        return 0;
    found = signal_list(fd, signal);
    close(fd);
    return found;
}

/* All that descend from here become children of this process, sooner or later. */
static void signal_children(int signal)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    signal_list(fd, signal);
    close(fd);
}

void group_signal(const struct launch *launch, pid_t main_pid, int signal)
{
    if (signal_group(launch->procs_group, signal) > 0)
        return;
    if (main_pid > 0) {
        kill(-main_pid, signal);
        kill(main_pid, signal);
    }
}

void group_kill(const struct launch *launch, pid_t main_pid)
{
    if (!write_in(launch->kill_group, "cgroup.kill", "1") && launch->procs_group) {
        bool is_frozen = write_in(launch->freezer_group, "freezer.state", "FROZEN");
        signal_group(launch->procs_group, SIGKILL);
        if (is_frozen)
            write_in(launch->freezer_group, "freezer.state", "THAWED");
    }
    if (main_pid > 0)
        kill(main_pid, SIGKILL);
    signal_children(SIGKILL);
}

void group_usage(const struct launch *launch, struct usage *out)
{
    char text[2048];

    *out = (struct usage){ .cpu_us = -1 };
    if (launch->memory_group) {
        if (read_in(launch->memory_group, "memory.oom_control", text, sizeof(text)) ||
            read_in(launch->memory_group, "memory.events", text, sizeof(text)))
            out->oom_kills = number_after(text, "oom_kill");
        if (read_in(launch->memory_group, "memory.max_usage_in_bytes", text, sizeof(text)) ||
            read_in(launch->memory_group, "memory.peak", text, sizeof(text)))
            out->peak_memory_bytes = strtoll(text, NULL, 10);
        if (out->oom_kills < 0)
            out->oom_kills = 0;
    }
    if (launch->cpu_group) {
        if (read_in(launch->cpu_group, "cpuacct.usage", text, sizeof(text)))
            out->cpu_us = strtoll(text, NULL, 10) / 1000;
        else if (read_in(launch->cpu_group, "cpu.stat", text, sizeof(text)))
            out->cpu_us = number_after(text, "usage_usec");
    }
}

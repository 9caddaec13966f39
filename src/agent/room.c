/*
 * Room: whether the data folder has room for more attempts. An agent without room would fail each
 * start that it is given, one after the other, through no fault of the jobs: so it says that it
 * takes none, keeps what it runs, and looks again until there is room.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/file.h"
#include "base/log.h"

enum {
    LOOK_MS = 1000, /* while there is none */
    PERCENT_MIN = 5,
    INODES_MIN = 1000,
    PROBE_BYTES = 4096,
};

static const uint64_t bytes_min = 256 << 20; /* or PERCENT_MIN, whichever is less */

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Says in out what is short, if anything is; twice as much as the least is wanted of one that was
 * short. */
static bool is_short(const struct agent *agent, bool was_short, char *out, size_t size)
{
    struct statvfs fs;
    uint64_t most = was_short ? 2 : 1, bytes, files;

    if (statvfs(agent->data_dir, &fs) < 0) {
        snprintf(out, size, "%s: %s", agent->data_dir, strerror(errno));
        return true;
    }
    bytes = lesser(bytes_min, fs.f_blocks * fs.f_frsize / 100 * PERCENT_MIN) * most;
    files = lesser(INODES_MIN, fs.f_files / 100 * PERCENT_MIN) * most;
    if (fs.f_bavail * fs.f_frsize < bytes)
        snprintf(out, size,
                 "the disk of %s is full: %" PRIu64 " KiB are free, %" PRIu64 " are needed",
                 agent->data_dir, (uint64_t)(fs.f_bavail * fs.f_frsize) >> 10, bytes >> 10);
    else if (fs.f_favail < files)
        snprintf(out, size,
                 "the disk of %s is full: %" PRIu64 " inodes are free, %" PRIu64 " are needed",
                 agent->data_dir, (uint64_t)fs.f_favail, files);
    else
        return false;
    return true;
}

/* What failed once is tried before it is believed again. */
static bool can_write(const struct agent *agent, char *out, size_t size)
{
    static const char zeros[PROBE_BYTES];
    CLEANUP(freep) char *path = text_format("%s/room", agent->data_dir);
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : file_write_all(fd, zeros, sizeof(zeros));

    unlink(path);
    if (r < 0)
        snprintf(out, size, "cannot write to %s: %s", agent->data_dir, strerror(-r));
    return r >= 0;
}

/* The first reason stands while it lasts: the server keeps it, and each new one would be an
 * event. */
static void disable(struct agent *agent, const char *why)
{
    timer_set(agent->room_timer, LOOK_MS);
    if (agent->disabled[0])
        return;
    snprintf(agent->disabled, sizeof(agent->disabled), "%s", why);
    agent->is_disabled_heard = false;
    log_warn("no new work is taken", "why", why, NULL);
    link_say_disabled(agent);
}

/* Not before the server has heard of it: what was not taken meanwhile waits there until it has. */
static void enable(struct agent *agent)
{
    if (!agent->disabled[0])
        return;
    if (!agent->is_disabled_heard) {
        timer_set(agent->room_timer, LOOK_MS);
        return;
    }
    agent->disabled[0] = '\0';
    log_info("work is taken again", "node", agent->node, NULL);
    link_say_disabled(agent);
}

void room_look(struct agent *agent)
{
    char why[sizeof(agent->disabled)] = "";
    bool was_disabled = agent->disabled[0];

    if (is_short(agent, was_disabled, why, sizeof(why)) ||
        (was_disabled && !can_write(agent, why, sizeof(why))))
        disable(agent, why);
    else
        enable(agent);
}

bool room_take_failure(struct agent *agent, int error, const char *text)
{
    if (error != -ENOSPC && error != -EDQUOT && error != -EROFS && error != -EIO)
        return false;
    disable(agent, text);
    return true;
}

static void on_timer(void *arg)
{
    room_look(arg);
}

void room_open(struct agent *agent)
{
    agent->room_timer = timer_new(agent->loop, on_timer, agent);
    room_look(agent);
}

void room_close(struct agent *agent)
{
    timer_free(agent->room_timer);
}

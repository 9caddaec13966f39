/*
 * Folder: from nothing but an attempt's folder: what became of it, and taking away what was made.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/inside.h"

enum { MONITOR_WITHIN_MS = 10000 /* to end its container after KILL */ };

/* ---- what became of it ---- */

static bool is_here(const char *folder, const char *name)
{
    CLEANUP(freep) char *path = text_format("%s/%s", folder, name);

    return access(path, F_OK) == 0;
}

static int read_exit(const char *folder, struct inspection *out, struct err *err)
{
    int r = record_read(folder, &out->exit, err);

    if (r == 0)
        out->state = FOLDER_ENDED;
    return r;
}

/* There is no record, and the machine has not been restarted. */
static int inspect_alive(struct runtime *rt, const char *folder, const struct note *note,
                         struct inspection *out, struct err *err)
{
    int fd = sock_connect(folder), r;

    if (fd >= 0) {
        close(fd);
        out->state = FOLDER_RUNNING;
        return 0;
    }
    r = read_exit(folder, out, err); /* it may have ended just now */
    if (r != -ENOENT)
        return r;
    if (group_is_alive(rt, note->id))
        out->state = FOLDER_ORPHANED;
    else
        out->state = is_here(folder, "sock") ? FOLDER_GONE : FOLDER_FRESH;
    return 0;
}

int runtime_inspect(struct runtime *rt, const char *folder, struct inspection *out, struct err *err)
{
    struct inspection found = { 0 };
    struct note note;
    int has_note = note_read(folder, &note, err), r;

    if (has_note < 0 && has_note != -ENOENT)
        return has_note;
    found.is_other_boot = has_note == 0 && !text_eq(note.boot_id, rt->machine.boot_id);
    r = read_exit(folder, &found, err);
    if (r == -ENOENT && has_note == 0 && found.is_other_boot) {
        found.state = FOLDER_GONE;
        r = 0;
    } else if (r == -ENOENT && has_note == 0) {
        r = inspect_alive(rt, folder, &note, &found, err);
    } else if (r == -ENOENT) {
        found.state = FOLDER_FRESH;
        r = 0;
    }
    if (r == 0)
        *out = found;
    return r;
}

/* ---- taking away ---- */

/* Waits until the other end has closed. Returns whether it has. */
static bool wait_for_end(int fd, int64_t until_ms)
{
    char text[2048];

    for (;;) {
        struct pollfd polled = { .fd = fd, .events = POLLIN };
        int64_t left = until_ms - clock_boot_ms(&clock_system);
        ssize_t n;
        if (left <= 0 || (poll(&polled, 1, (int)left) < 0 && errno != EINTR))
            return false;
        n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return true;
    }
}

/* The monitor ends its container and then itself; one that does not is ended. */
static int end_monitor(const char *folder, struct err *err)
{
    CLEANUP(closep) int fd = sock_connect(folder);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0)
        return 0;
    if (send(fd, "kill", 4, MSG_NOSIGNAL) < 0 ||
        wait_for_end(fd, clock_boot_ms(&clock_system) + MONITOR_WITHIN_MS))
        return 0;
    /* The peer of a connection is who listened: the monitor, and no other that came to its number. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 1)
        return err_sys(err, -errno, "find the monitor of %s", folder);
    kill(peer.pid, SIGKILL);
    if (!wait_for_end(fd, clock_boot_ms(&clock_system) + MONITOR_WITHIN_MS))
        return err_set(err, -EBUSY, "the monitor of %s (%d) does not end", folder, (int)peer.pid);
    return 0;
}

static int remove_made(const char *folder, struct err *err)
{
    /* launch last: while it is there, all can be found again. */
    static const char *const names[] = { "bundle", "upper", "work", "exit.new", "sock", "launch" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(freep) char *path = text_format("%s/%s", folder, names[i]);
        int r = unlink(path) == 0 || errno == ENOENT ? 0 : file_remove_tree(AT_FDCWD, path, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int runtime_clean(struct runtime *rt, const char *folder, struct err *err)
{
    struct note note;
    int has_note = note_read(folder, &note, err), r = 0;

    if (has_note < 0 && has_note != -ENOENT)
        return has_note;
    if (has_note == 0 && text_eq(note.boot_id, rt->machine.boot_id)) {
        r = end_monitor(folder, err);
        if (r == 0)
            r = group_end(rt, note.id, err);
    }
    return r < 0 ? r : remove_made(folder, err);
}

int runtime_forget(struct runtime *rt, const char *folder, struct err *err)
{
    (void)rt;
    if (is_here(folder, "launch"))
        return err_set(err, -EBUSY, "%s was not cleaned", folder);
    return file_remove_tree(AT_FDCWD, folder, err);
}

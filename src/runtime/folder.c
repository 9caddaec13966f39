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
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/inside.h"

enum { MONITOR_WITHIN_MS = 10000 /* to end its container after KILL */ };

/* ---- what became of it ---- */

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
    int r;

    if (note->monitor) {
        out->state = FOLDER_RUNNING;
        return 0;
    }
    r = read_exit(folder, out, err); /* it may have ended just now */
    if (r != -ENOENT)
        return r;
    if (group_is_alive(rt, note->id))
        out->state = FOLDER_ORPHANED;
    else
        out->state = note->is_begun ? FOLDER_GONE : FOLDER_FRESH;
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

/* Takes the container away from monitors: while it is locked here, none can begin. */
static bool lock(int launch)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    return fcntl(launch, F_OFD_SETLK, &lock) == 0;
}

/* The monitor ends its container and then lets go of it; one that does not is ended. */
static int end_monitor(const char *folder, int launch, struct err *err)
{
    CLEANUP(closep) int fd = -1;
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (lock(launch))
        return 0;
    fd = monitor_connect(folder);
    if (fd < 0)
        return lock(launch) ? 0 : err_sys(err, fd, "connect to the monitor of %s", folder);
    if (send(fd, "kill", 4, MSG_NOSIGNAL) < 0 ||
        wait_for_end(fd, clock_boot_ms(&clock_system) + MONITOR_WITHIN_MS))
        return lock(launch) ? 0 : err_set(err, -EBUSY, "%s has another monitor", folder);
    /* The peer of a connection is who listened: the monitor, and no other that came to its
     * number. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 1)
        return err_sys(err, -errno, "find the monitor of %s", folder);
    kill(peer.pid, SIGKILL);
    if (!wait_for_end(fd, clock_boot_ms(&clock_system) + MONITOR_WITHIN_MS) || !lock(launch))
        return err_set(err, -EBUSY, "the monitor of %s (%d) does not end", folder, (int)peer.pid);
    return 0;
}

static int remove_made(const char *folder, bool is_process, struct err *err)
{
    static const char *const names[] = { "exit.new", "sock", "bundle", "upper", "work" };
    size_t n = is_process ? 2 : COUNT_OF(names); /* a process has no more */

    for (size_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = text_format("%s/%s", folder, names[i]);
        int r = unlink(path) == 0 || errno == ENOENT ? 0 : file_remove_tree(AT_FDCWD, path, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What `launch` holds when all is cleaned up; secrets may have been in it. It is not removed, for
 * to make a file costs much more than to write it, most on an ext4 without a journal. */
static const char nothing[1];

int runtime_clean(struct runtime *rt, const char *folder, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/launch", folder);
    CLEANUP(closep) int launch = open(path, O_RDWR | O_CLOEXEC);
    struct note note = { .runtime = RUNTIME_KIND_COUNT };
    int r = 0;

    if (launch < 0 && errno != ENOENT)
        return err_sys(err, -errno, "open %s", path);
    if (launch >= 0)
        r = note_read_from(launch, &note, err);
    if (r < 0 && r != -ENOENT)
        return r;
    if (launch >= 0 && r == 0 && text_eq(note.boot_id, rt->machine.boot_id)) {
        r = end_monitor(folder, launch, err);
        if (r == 0)
            r = group_end(rt, note.id, note.runtime, err);
        if (r < 0)
            return r;
    }
    r = remove_made(folder, note.runtime == RUNTIME_PROCESS, err);
    /* Last: while it says anything, all can be found again. */
    if (r == 0 && launch >= 0) {
        r = file_overwrite(launch, nothing, sizeof(nothing));
        r = r < 0 ? err_sys(err, r, "clear %s", path) : 0;
    }
    return r;
}

int runtime_forget(struct runtime *rt, const char *folder, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/launch", folder);
    struct stat st;

    (void)rt;
    if (stat(path, &st) == 0 && st.st_size > (off_t)sizeof(nothing))
        return err_set(err, -EBUSY, "%s was not cleaned", folder);
    return file_remove_tree(AT_FDCWD, folder, err);
}

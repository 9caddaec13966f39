/*
 * Watch: giving a container to a monitor and listening to it.
 *
 * One message is one packet of text. A monitor that has said `ended` waits for another container;
 * the end of the connection is the monitor's own end, and whether it left a record says what that
 * means.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/inside.h"

struct watch {
    struct runtime *runtime;
    char *folder;
    int fd;
    pid_t monitor; /* a child of this process; 0 where an earlier agent spawned it */
    bool is_over;  /* ENDED or LOST was given */
    bool is_idle;  /* the monitor has nothing to do any more */
};

enum { MESSAGE_BYTES = 2048, LISTENS_WITHIN_MS = 5000 };

static struct watch *watch_new(struct runtime *rt, const char *folder, int fd, pid_t monitor)
{
    struct watch *watch = NEW0(struct watch);

    watch->runtime = rt;
    watch->folder = text_copy(folder);
    watch->fd = fd;
    watch->monitor = monitor;
    return watch;
}

int runtime_start(struct runtime *rt, const struct container *c, struct watch **out,
                  struct err *err)
{
    CLEANUP(freep) char *order = text_format("run %s", c->folder);
    struct monitor monitor;

    for (;;) {
        bool is_new = !monitors_take_idle(rt, &monitor);
        int r = is_new ? monitors_spawn(rt, &monitor, err) : 0;
        if (r < 0)
            return r;
        if (send(monitor.fd, order, strlen(order), MSG_NOSIGNAL) >= 0)
            break;
        r = -errno;
        monitor_end(&monitor);
        if (is_new) /* an idle one may have been killed: then the next */
            return err_sys(err, r, "give %s to a monitor", c->folder);
    }
    *out = watch_new(rt, c->folder, monitor.fd, monitor.pid);
    return 0;
}

/* ---- connecting ---- */

static int sock_connect(const char *folder)
{
    CLEANUP(closep) int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, r;

    if (dir < 0)
        return -errno;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    /* By the descriptor: a folder's path may be longer than an address can be. */
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/sock", dir);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

/* Asks the monitor that has the lock to listen. A descriptor of a process is never another's. */
static void ask_to_listen(int launch)
{
    pid_t pid = launch_owner(launch);
    CLEANUP(closep) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    if (fd >= 0 && launch_owner(launch) == pid)
        syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0);
}

int monitor_connect(const char *folder)
{
    CLEANUP(freep) char *path = text_format("%s/launch", folder);
    CLEANUP(closep) int launch = open(path, O_RDWR | O_CLOEXEC);
    int64_t until_ms = clock_boot_ms(&clock_system) + LISTENS_WITHIN_MS;
    int fd;

    if (launch < 0)
        return -errno;
    if (launch_owner(launch) <= 0)
        return -ENOENT;
    for (bool is_asked = false; (fd = sock_connect(folder)) < 0; is_asked = true) {
        if (fd != -ENOENT && fd != -ECONNREFUSED)
            return fd;
        if (launch_owner(launch) <= 0)
            return -ENOENT; /* it ended meanwhile */
        if (clock_boot_ms(&clock_system) > until_ms)
            return -ETIMEDOUT;
        if (!is_asked)
            ask_to_listen(launch);
        /* No event tells that a socket listens. */
        nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    }
    return fd;
}

int watch_open(struct runtime *rt, const char *folder, struct watch **out, struct err *err)
{
    int fd = monitor_connect(folder);

    if (fd < 0)
        return err_sys(err, fd, "connect to the monitor of %s", folder);
    *out = watch_new(rt, folder, fd, 0);
    return 0;
}

/* Whether a monitor of which all was heard is about to exit. One that cannot save its record does
 * not before there is room for it. */
static bool is_leaving(const struct watch *watch)
{
    char text[MESSAGE_BYTES];
    ssize_t n;

    while ((n = recv(watch->fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
        text[n] = '\0';
        if (text_begins(text, "ended\n"))
            return true;
    }
    return n == 0 || (errno != EAGAIN && errno != EINTR);
}

void watch_free(struct watch *watch)
{
    struct monitor monitor;

    if (!watch)
        return;
    monitor = (struct monitor){ watch->fd, watch->monitor };
    if (watch->is_idle && watch->monitor > 0) {
        monitors_give(watch->runtime, &monitor);
    } else {
        bool exits = watch->is_over && watch->monitor > 0 && is_leaving(watch);
        close(watch->fd);
        /* One that has lost its connection exits at once; one that goes on is not waited for. */
        if (exits)
            waitpid(watch->monitor, NULL, 0);
        else if (watch->monitor > 0)
            monitors_leave(watch->runtime, watch->monitor);
    }
    if (watch->runtime)
        monitors_reap(watch->runtime);
    mem_free(watch->folder);
    mem_free(watch);
}

int watch_fd(const struct watch *watch)
{
    return watch->fd;
}

/* ---- reading ---- */

/* The number behind " KEY=" in a message, 0 where it is not there. */
static int64_t number_of(const char *text, const char *key)
{
    CLEANUP(freep) char *word = text_format(" %s=", key);
    const char *at = strstr(text, word);

    return at ? strtoll(at + strlen(word), NULL, 10) : 0;
}

static int read_end(struct watch *watch, struct watch_event *out, struct err *err)
{
    int r = record_read(watch->folder, &out->exit, err);

    if (r < 0 && r != -ENOENT)
        return r;
    out->kind = r == 0 ? WATCH_ENDED : WATCH_LOST;
    watch->is_over = true;
    return 0;
}

static int read_message(struct watch *watch, const char *text, struct watch_event *out,
                        struct err *err)
{
    if (text_begins(text, "started ")) {
        out->kind = WATCH_STARTED;
        out->pid = (pid_t)number_of(text, "pid");
        out->started_ms = number_of(text, "ms");
        out->started_boot_ms = number_of(text, "bootMs");
        out->setup_us = number_of(text, "setupUs");
    } else if (text_begins(text, "ended\n") || text_begins(text, "unsaved\n")) {
        int r = record_parse(strchr(text, '\n') + 1, &out->exit, err);
        if (r < 0)
            return r;
        out->kind = WATCH_ENDED;
        watch->is_over = true;
        /* A monitor that cannot save its record goes on trying: it gets no other container. */
        watch->is_idle = text_begins(text, "ended\n");
    }
    return 0; /* others are answers to commands that are not sent from here */
}

int watch_read(struct watch *watch, struct watch_event *out, struct err *err)
{
    char text[MESSAGE_BYTES];
    ssize_t n;

    memset(out, 0, sizeof(*out));
    if (watch->is_over)
        return 0;
    n = recv(watch->fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return read_end(watch, out, err);
    text[n] = '\0';
    return read_message(watch, text, out, err);
}

int watch_stop(struct watch *watch, enum stop stop, struct err *err)
{
    static const char *const words[] = {
        [STOP_TERM] = "term",
        [STOP_KILL] = "kill",
        [STOP_GRACE] = "stop",
    };
    const char *word = words[stop];

    if (send(watch->fd, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return err_sys(err, -errno, "tell the monitor of %s to %s", watch->folder, word);
    return 0;
}

int watch_limit(struct watch *watch, int64_t limit_ms, struct err *err)
{
    CLEANUP(freep) char *text = text_format("limit %" PRId64, limit_ms);

    if (send(watch->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return err_sys(err, -errno, "tell the monitor of %s: %s", watch->folder, text);
    return 0;
}

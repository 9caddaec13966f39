/*
 * Watch: spawning a monitor and listening to it.
 *
 * One message is one packet of text. A monitor's end is the end of the connection; whether it left a
 * record says what that means.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/inside.h"

struct watch {
    char *folder;
    int fd;
    pid_t monitor; /* a child of this process; 0 where an earlier agent spawned it */
    bool is_over;  /* ENDED or LOST was given */
};

enum { PARENT_FD = 9, MESSAGE_BYTES = 2048 };

/* ---- spawning ---- */

static void set_actions(posix_spawn_file_actions_t *actions, const char *folder, int sock)
{
    posix_spawn_file_actions_init(actions);
    posix_spawn_file_actions_addchdir_np(actions, folder);
    posix_spawn_file_actions_adddup2(actions, sock, PARENT_FD);
    posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(actions, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(actions, PARENT_FD + 1);
}

/* Signals as a new program expects them: one that is ignored here would be ignored by the container. */
static void set_attributes(posix_spawnattr_t *attributes)
{
    static const int defaults[] = { SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
    sigset_t set;

    posix_spawnattr_init(attributes);
    posix_spawnattr_setflags(attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(attributes, &set);
    for (size_t i = 0; i < COUNT_OF(defaults); i++)
        sigaddset(&set, defaults[i]);
    posix_spawnattr_setsigdefault(attributes, &set);
}

static int spawn(const struct runtime *rt, const struct container *c, int sock, pid_t *out)
{
    const char *const args[] = { "berth-monitor", c->id, NULL };
    char *const env[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    set_actions(&actions, c->folder, sock);
    set_attributes(&attributes);
    r = posix_spawn(out, rt->monitor_path, &actions, &attributes, (char *const *)args, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

static struct watch *watch_new(const char *folder, int fd, pid_t monitor)
{
    struct watch *watch = NEW0(struct watch);

    watch->folder = text_copy(folder);
    watch->fd = fd;
    watch->monitor = monitor;
    return watch;
}

int runtime_start(struct runtime *rt, const struct container *c, struct watch **out,
                  struct err *err)
{
    int socks[2], r;
    pid_t pid = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks) < 0)
        return err_sys(err, -errno, "socketpair");
    r = spawn(rt, c, socks[1], &pid);
    close(socks[1]);
    if (r < 0) {
        close(socks[0]);
        return err_sys(err, r, "spawn %s in %s", rt->monitor_path, c->folder);
    }
    *out = watch_new(c->folder, socks[0], pid);
    return 0;
}

/* ---- connecting ---- */

int sock_connect(const char *folder)
{
    CLEANUP(closep) int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, r;

    if (dir < 0)
        return -errno;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

int watch_open(struct runtime *rt, const char *folder, struct watch **out, struct err *err)
{
    int fd = sock_connect(folder);

    (void)rt;
    if (fd < 0)
        return err_sys(err, fd, "connect to the monitor of %s", folder);
    *out = watch_new(folder, fd, 0);
    return 0;
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    close(watch->fd);
    /* A monitor that has said its last word exits at once; one that goes on is not waited for. */
    if (watch->monitor > 0)
        waitpid(watch->monitor, NULL, watch->is_over ? 0 : WNOHANG);
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
    } else if (text_begins(text, "ended\n")) {
        int r = record_parse(text + strlen("ended\n"), &out->exit, err);
        if (r < 0)
            return r;
        out->kind = WATCH_ENDED;
        watch->is_over = true;
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

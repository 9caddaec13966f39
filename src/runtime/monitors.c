/*
 * Monitors: spawning them, and keeping those that have nothing to do for the next container: to
 * start a program costs more than all that a monitor does for a short one.
 *
 * An idle monitor holds nothing but its connection, and ends when that does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/inside.h"

enum { PARENT_FD = 9 };

/* The monitor shows its container's id in the place of this argument. */
static const char room[] = "......................................................................."
                           ".............................";

static void set_actions(posix_spawn_file_actions_t *actions, int sock)
{
    posix_spawn_file_actions_init(actions);
    posix_spawn_file_actions_addchdir_np(actions, "/");
    posix_spawn_file_actions_adddup2(actions, sock, PARENT_FD);
    posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(actions, 1, 2);
    /* What whoever started the agent left open is no container's. */
    for (int fd = 3; fd < PARENT_FD; fd++)
        posix_spawn_file_actions_addclose(actions, fd);
    posix_spawn_file_actions_addclosefrom_np(actions, PARENT_FD + 1);
}

/* Signals as a new program expects them: one that is ignored here would be ignored by the
 * container. */
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

static int spawn(const struct runtime *rt, int sock, pid_t *out)
{
    const char *const args[] = { "berth-monitor", room, NULL };
    char *const env[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    set_actions(&actions, sock);
    set_attributes(&attributes);
    r = posix_spawn(out, rt->monitor_path, &actions, &attributes, (char *const *)args, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

int monitors_spawn(struct runtime *rt, struct monitor *out, struct err *err)
{
    int socks[2], r;
    pid_t pid = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
        return err_sys(err, -errno, "socketpair");
    r = spawn(rt, socks[1], &pid);
    close(socks[1]);
    if (r < 0) {
        close(socks[0]);
        return err_sys(err, r, "spawn %s", rt->monitor_path);
    }
    *out = (struct monitor){ socks[0], pid };
    return 0;
}

bool monitors_take_idle(struct runtime *rt, struct monitor *out)
{
    bool is_there;

    pthread_mutex_lock(&rt->idle_lock);
    is_there = rt->n_idle > 0;
    if (is_there)
        *out = rt->idle[--rt->n_idle]; /* the last that worked: its memory is the warmest */
    pthread_mutex_unlock(&rt->idle_lock);
    return is_there;
}

void monitors_give(struct runtime *rt, const struct monitor *monitor)
{
    bool is_kept;

    pthread_mutex_lock(&rt->idle_lock);
    is_kept = rt->n_idle < MOST_IDLE_MONITORS;
    if (is_kept)
        rt->idle[rt->n_idle++] = *monitor;
    pthread_mutex_unlock(&rt->idle_lock);
    if (!is_kept)
        monitor_end(monitor);
}

void monitors_leave(struct runtime *rt, pid_t monitor)
{
    pthread_mutex_lock(&rt->idle_lock);
    VEC_PUSH(&rt->left, monitor);
    pthread_mutex_unlock(&rt->idle_lock);
}

void monitors_reap(struct runtime *rt)
{
    size_t kept = 0;

    pthread_mutex_lock(&rt->idle_lock);
    VEC_EACH (pid, &rt->left)
        if (waitpid(*pid, NULL, WNOHANG) == 0)
            rt->left.at[kept++] = *pid;
    rt->left.n = kept;
    pthread_mutex_unlock(&rt->idle_lock);
}

void monitor_end(const struct monitor *monitor)
{
    close(monitor->fd);
    /* It holds nothing, and one that was stopped would not end by itself. */
    kill(monitor->pid, SIGKILL);
    waitpid(monitor->pid, NULL, 0);
}

void runtime_rest(struct runtime *rt)
{
    struct monitor monitor;

    while (monitors_take_idle(rt, &monitor))
        monitor_end(&monitor);
}

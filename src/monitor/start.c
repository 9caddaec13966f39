/*
 * Start: see start.h.
 *
 * The child shares the monitor's memory until it executes (vfork): no page is copied, and how it
 * failed is left in plain memory. It therefore calls nothing but the kernel and changes nothing
 * else.
 */
#include "monitor/start.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool fail(struct start_failure *failure, enum step step, const char *what)
{
    failure->error = errno;
    failure->step = step;
    failure->what = what;
    return false;
}

static bool join_groups(const struct launch *launch, struct start_failure *failure)
{
    for (const char *const *path = launch->groups; *path; path++) {
        int fd = open(*path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            return fail(failure, STEP_GROUP, *path);
        close(fd);
    }
    return true;
}

/* A network namespace of its own in which only lo is, and is up. */
static bool leave_network(struct start_failure *failure)
{
    struct ifreq lo = { .ifr_name = "lo" };
    int fd;

    if (unshare(CLONE_NEWNET) < 0)
        return fail(failure, STEP_NETWORK, "new network namespace");
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    lo.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
        return fail(failure, STEP_NETWORK, "lo");
    close(fd);
    return true;
}

static bool mount_root(const struct launch *launch)
{
    static const char with_volatile[] = "volatile,";
    char data[4096];

    if (snprintf(data, sizeof(data), "%s%s", with_volatile, launch->mount_data) >=
        (int)sizeof(data)) {
        errno = E2BIG;
        return false;
    }
    if (!mount("overlay", launch->mount_at, "overlay", 0, data))
        return true;
    /* A kernel without the option: slower to take away, else the same. */
    return errno == EINVAL &&
           !mount("overlay", launch->mount_at, "overlay", 0, data + strlen(with_volatile));
}

/*
 * The runtime sees its root in a mount namespace that ends with it; the container's own, made from
 * it, keeps the root. So there is no mount that anybody could forget to take away.
 */
static bool make_root(const struct launch *launch, struct start_failure *failure)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return fail(failure, STEP_NAMESPACE, "new mount namespace");
    if (!mount_root(launch))
        return fail(failure, STEP_MOUNT, launch->mount_at);
    /* An empty file system on top, too: the runtime makes folders there and forgets them. */
    if (launch->hide && (umount2(launch->hide, MNT_DETACH) < 0 ||
                         mount("none", launch->hide, "tmpfs", 0, "size=64k,mode=755") < 0))
        return fail(failure, STEP_MOUNT, launch->hide);
    return true;
}

/* By the system calls: a libc's own setuid would talk to the threads of the memory it is in. */
static bool become_user(const struct launch *launch, struct start_failure *failure)
{
    if (!launch->has_user)
        return true;
    if (geteuid() == 0 && syscall(SYS_setgroups, 0, NULL) < 0)
        return fail(failure, STEP_USER, "groups");
    if (syscall(SYS_setresgid, launch->gid, launch->gid, launch->gid) < 0)
        return fail(failure, STEP_USER, "gid");
    if (syscall(SYS_setresuid, launch->uid, launch->uid, launch->uid) < 0)
        return fail(failure, STEP_USER, "uid");
    return true;
}

static void limit_files(int64_t nofile)
{
    struct rlimit limit;

    if (nofile <= 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = (rlim_t)nofile < limit.rlim_max ? (rlim_t)nofile : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static const char *path_of(const char *const *env)
{
    for (; *env; env++) {
        if (!strncmp(*env, "PATH=", 5))
            return *env + 5;
    }
    return DEFAULT_PATH;
}

/* Executes a command; a name without a slash is looked for in the PATH that the command will
 * have. */
static void execute(const struct launch *launch, const char *program)
{
    char *const *args = (char *const *)launch->args, *const *env = (char *const *)launch->env;
    char path[4096];
    int denied = 0;

    if (strchr(program, '/')) {
        execve(program, args, env);
        return;
    }
    for (const char *dir = path_of(launch->env); dir; dir = strchr(dir, ':')) {
        dir += *dir == ':';
        int n = (int)strcspn(dir, ":");
        if (snprintf(path, sizeof(path), "%.*s%s%s", n, dir, n ? "/" : "", program) >=
            (int)sizeof(path))
            continue;
        execve(path, args, env);
        if (errno == EACCES)
            denied = EACCES; /* as a shell: go on, and say it when nothing better is found */
        else if (errno != ENOENT && errno != ENOTDIR)
            return;
    }
    errno = denied ? denied : ENOENT;
}

static void run_child(const struct launch *launch, int out, int err, struct start_failure *failure)
{
    const char *program = launch->program ? launch->program : launch->args[0];
    sigset_t none;

    setsid();
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) {
        fail(failure, STEP_SPAWN, "output");
        return;
    }
    if (!join_groups(launch, failure) || (launch->mount_at && !make_root(launch, failure)))
        return;
    if (launch->has_own_network && !leave_network(failure))
        return;
    limit_files(launch->nofile);
    if (!become_user(launch, failure))
        return;
    if (launch->work_dir && chdir(launch->work_dir) < 0) {
        fail(failure, STEP_WORK_DIR, launch->work_dir);
        return;
    }
    /* The command must not outlive a monitor that was killed: nobody would hold it to its lease. */
    if (!launch->program)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execute(launch, program);
    fail(failure, STEP_EXEC, program);
}

pid_t start_spawn(const struct launch *launch, int out, int err, struct start_failure *failure)
{
    pid_t pid;

    memset(failure, 0, sizeof(*failure));
    pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) see above */
    if (pid == 0) {
        run_child(launch, out, err, failure); /* NOLINT(clang-analyzer-unix.Vfork) likewise */
        _exit(127);
    }
    if (pid < 0)
        fail(failure, STEP_SPAWN, "process");
    return failure->step == STEP_NONE ? pid : -1;
}

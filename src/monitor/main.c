/*
 * berth-monitor: looks after one container at a time, from its start to its exit record.
 *
 *     berth-monitor ROOM     descriptor 9: a connection to the agent; ROOM: a text in whose place
 *     the
 *                            container's id is shown
 *
 * It starts the container once, logs what it writes, ends it on command, at its limit, when the
 * node's lease has passed or when its main process has gone and left others behind, and writes down
 * how it ended. It never talks to a server, knows no job, and survives the agent. Nothing of the
 * container is alive when the exit record is there.
 *
 * After that, if its agent is there, it waits to be given another: to start a program costs more
 * than all that a monitor does for a short container. Without the agent it exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor/control.h"
#include "monitor/group.h"
#include "monitor/launch.h"
#include "monitor/output.h"
#include "monitor/record.h"
#include "monitor/start.h"
#include "monitor/when.h"

enum {
    /* Above that of `launch`: descriptors close from the lowest, so who sees this end closed finds
     * the container's lock free. */
    PARENT_FD = 9,
    FOLDER_BYTES = 4096,
    LEASE_LOOK_MS = 5000, /* at least so often: the lease may have become shorter */
    KILL_AGAIN_MS = 200,  /* until all are gone */
};

enum state {
    STATE_STARTING, /* a runtime is making the container */
    STATE_RUNNING,
    STATE_SWEEPING, /* the main process has ended; what it left behind is being ended */
    STATE_OVER,
};

/* The mapped file `lease`: CLOCK_BOOTTIME in ms, 0 for never. Written by the agent. */
struct lease {
    _Atomic int64_t term_at_ms, kill_at_ms;
};

struct monitor {
    struct launch launch;
    struct control control;
    const struct lease *lease; /* NULL: does not count */
    enum state state;
    pid_t launcher;          /* of the runtime while STARTING */
    pid_t main_pid;          /* of the container; 0 before it is known */
    int pipes[STREAM_COUNT]; /* read ends; -1 none */
    /* Kept open here too: that a container closes its output is not its end, so nobody need wake
     * for it. */
    int write_ends[STREAM_COUNT];
    int timer;
    int64_t began_ns;            /* of this process, CLOCK_BOOTTIME */
    int64_t limit_at_ms;         /* when its time is over; 0 never */
    int64_t kill_at_ms;          /* of a stop that is under way; 0 none */
    int64_t kill_again_ms;       /* while what was killed is not gone */
    int64_t armed_ms;            /* what the timer is set to */
    bool wants_term, wants_kill; /* commands that came while STARTING */
    bool is_killed;              /* KILL was sent from here */
    bool is_termed_by_lease;
    struct record record;
    /* what stays from one container to the next */
    char *title; /* of this process, as others see it; title_room bytes */
    size_t title_room;
    char *lease_path; /* of the mapping that lease may point to */
    const struct lease *lease_at;
};

static volatile sig_atomic_t has_child_news, must_listen;

static void on_listen(int signal)
{
    (void)signal;
    must_listen = 1;
}

static void on_child(int signal)
{
    (void)signal;
    has_child_news = 1;
}

/* ---- ending the container ---- */

static void do_kill(struct monitor *m)
{
    m->is_killed = true;
    if (m->state == STATE_STARTING) {
        m->wants_kill = true;
        group_kill(&m->launch, m->launcher);
    } else {
        group_kill(&m->launch, m->state == STATE_RUNNING ? m->main_pid : 0);
    }
    m->kill_again_ms = when_boot_ms() + KILL_AGAIN_MS;
}

/* From its first instruction on; one that has passed is seen at the next look at the clock. */
static void do_limit(struct monitor *m, int64_t limit_ms)
{
    m->launch.limit_ms = limit_ms;
    if (m->state == STATE_RUNNING && !m->record.is_limit_over)
        m->limit_at_ms = limit_ms ? m->record.started_boot_ms + limit_ms : 0;
}

static void do_term(struct monitor *m)
{
    if (m->state == STATE_STARTING)
        m->wants_term = true;
    else if (m->state == STATE_RUNNING)
        group_signal(&m->launch, m->main_pid, SIGTERM);
}

static void do_stop(struct monitor *m)
{
    if (m->launch.grace_ms == 0) {
        do_kill(m);
        return;
    }
    do_term(m);
    if (m->kill_at_ms == 0)
        m->kill_at_ms = when_boot_ms() + m->launch.grace_ms;
}

/* ---- what is told ---- */

static size_t started_text(const struct monitor *m, char *out, size_t size)
{
    return (size_t)snprintf(out, size, "started pid=%d ms=%lld bootMs=%lld setupUs=%lld",
                            (int)m->main_pid, (long long)m->record.started_ms,
                            (long long)m->record.started_boot_ms,
                            (long long)(m->record.started_boot_ms - m->began_ns / 1000000) * 1000);
}

static void tell_status(struct monitor *m, size_t i)
{
    static const char *const words[] = { "starting", "running", "sweeping", "over" };
    char text[128];
    int n =
        snprintf(text, sizeof(text), "status state=%s pid=%d", words[m->state], (int)m->main_pid);

    control_tell(&m->control, i, text, (size_t)n);
}

/* ---- start ---- */

static void set_started(struct monitor *m, pid_t pid)
{
    char text[160];
    size_t n;

    m->main_pid = pid;
    m->state = STATE_RUNNING;
    m->record.has_started = true;
    m->record.started_ms = when_real_ms();
    m->record.started_boot_ms = when_boot_ms();
    if (m->launch.limit_ms > 0)
        m->limit_at_ms = m->record.started_boot_ms + m->launch.limit_ms;
    n = started_text(m, text, sizeof(text));
    control_tell_all(&m->control, text, n);
    if (m->wants_term)
        do_term(m);
    if (m->wants_kill)
        do_kill(m);
}

static void fail_spawn(struct monitor *m, const struct start_failure *failure)
{
    static const char *const doing[] = {
        [STEP_SPAWN] = "spawn",    [STEP_GROUP] = "join the group",
        [STEP_NETWORK] = "make",   [STEP_NAMESPACE] = "make",
        [STEP_MOUNT] = "mount",    [STEP_USER] = "take on the user's",
        [STEP_WORK_DIR] = "enter", [STEP_EXEC] = "execute",
    };
    const char *detail = "RUNTIME_FAILED";

    if (failure->step == STEP_MOUNT)
        detail = "MOUNT_FAILED";
    else if (failure->step == STEP_EXEC && !m->launch.program)
        detail = failure->error == ENOENT || failure->error == ENOTDIR ? "COMMAND_NOT_FOUND"
                                                                       : "COMMAND_NOT_EXECUTABLE";
    record_fail(&m->record, detail, "%s %s: %s", doing[failure->step], failure->what,
                strerror(failure->error));
}

static const char *detail_of_message(const char *text)
{
    bool is_exec = strstr(text, "exec") != NULL;

    if (is_exec && (strstr(text, "ot found") || strstr(text, "o such file")))
        return "COMMAND_NOT_FOUND";
    if (is_exec && (strstr(text, "ermission denied") || strstr(text, "xec format error")))
        return "COMMAND_NOT_EXECUTABLE";
    return "RUNTIME_FAILED";
}

/* The runtime has failed: what it wrote to stderr is its message, not the container's output. */
static void fail_runtime(struct monitor *m, int status)
{
    char text[2048];
    ssize_t n = read(m->pipes[STREAM_ERR], text, sizeof(text) - 1);
    const char *line = text;

    text[n > 0 ? n : 0] = '\0';
    for (char *end = text + strlen(text); end > text && end[-1] == '\n'; end--)
        end[-1] = '\0';
    for (char *at = text; at && *at; at = strchr(at, '\n')) {
        at += *at == '\n';
        line = at; /* the last one: those before are warnings */
    }
    if (m->is_killed)
        record_fail(&m->record, NULL, "killed while starting");
    else if (*line)
        record_fail(&m->record, detail_of_message(line), "%s", line);
    else
        record_fail(&m->record, "RUNTIME_FAILED", "%s: wait status %#x", m->launch.program,
                    (unsigned)status);
}

static pid_t read_pid(void)
{
    char text[32];
    int fd = open("bundle/pid", O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return (pid_t)strtol(text, NULL, 10);
}

static bool make_pipes(struct monitor *m)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
            return false;
        m->pipes[i] = fds[0];
        m->write_ends[i] = fds[1];
        if (m->launch.has_user && !m->launch.program &&
            fchown(fds[1], m->launch.uid, m->launch.gid) < 0)
            continue; /* then /dev/stdout cannot be opened by name: no reason not to start */
    }
    return true;
}

static void start(struct monitor *m)
{
    struct start_failure failure;
    pid_t pid;

    m->state = STATE_SWEEPING; /* until something runs */
    if (m->lease && m->lease->term_at_ms && when_boot_ms() >= m->lease->term_at_ms) {
        m->record.is_lease_over = true;
        record_fail(&m->record, "RUNTIME_FAILED", "the node's lease has passed");
        return;
    }
    if (!make_pipes(m)) {
        record_fail(&m->record, "RUNTIME_FAILED", "pipe: %s", strerror(errno));
        return;
    }
    pid = start_spawn(&m->launch, m->write_ends[STREAM_OUT], m->write_ends[STREAM_ERR], &failure);
    if (pid < 0) {
        fail_spawn(m, &failure);
    } else if (m->launch.program) {
        m->state = STATE_STARTING;
        m->launcher = pid;
    } else {
        set_started(m, pid);
    }
}

/* ---- children ---- */

static void set_ended(struct monitor *m)
{
    m->record.ended_ms = when_real_ms();
    m->record.ended_boot_ms = when_boot_ms();
    m->state = STATE_SWEEPING;
    m->limit_at_ms = m->kill_at_ms = 0;
}

static void launcher_ended(struct monitor *m, int status)
{
    pid_t pid = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? read_pid() : 0;

    m->launcher = 0;
    if (pid > 0) {
        set_started(m, pid);
        return;
    }
    fail_runtime(m, status);
    set_ended(m);
}

static void main_ended(struct monitor *m, int status, const struct rusage *used)
{
    /* Where there are groups, what they counted replaces this. */
    m->record.cpu_us = ((int64_t)used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000 +
                       used->ru_utime.tv_usec + used->ru_stime.tv_usec;
    m->record.peak_memory_bytes = (int64_t)used->ru_maxrss * 1024;
    if (WIFSIGNALED(status))
        m->record.signal = WTERMSIG(status);
    else
        m->record.code = WEXITSTATUS(status);
    set_ended(m);
}

/* Nothing may be left of it; a group's limit has been counted by then, and its peak. */
static void set_over(struct monitor *m)
{
    struct usage usage;
    bool looks_killed = m->record.signal == SIGKILL || m->record.code == 128 + SIGKILL;

    group_usage(&m->launch, &usage);
    m->record.oom_kills = usage.oom_kills;
    if (usage.peak_memory_bytes > 0)
        m->record.peak_memory_bytes = usage.peak_memory_bytes;
    if (usage.cpu_us > 0)
        m->record.cpu_us = usage.cpu_us;
    m->record.is_oom =
        m->record.has_started && looks_killed && usage.oom_kills > 0 && !m->is_killed;
    m->state = STATE_OVER;
}

static void reap(struct monitor *m)
{
    struct rusage used;
    int status;
    pid_t pid;

    has_child_news = 0;
    if (m->state == STATE_STARTING) {
        /* Only the runtime: which of the others is the container is not known before it has
         * ended. */
        if (waitpid(m->launcher, &status, WNOHANG) <= 0)
            return;
        launcher_ended(m, status);
    }
    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
        if (pid == m->main_pid && m->state == STATE_RUNNING)
            main_ended(m, status, &used);
    }
    if (m->state != STATE_SWEEPING)
        return;
    if (pid < 0)
        set_over(m); /* ECHILD: all that descends from here is gone */
    else if (when_boot_ms() >= m->kill_again_ms || !m->kill_again_ms) {
        group_kill(&m->launch, 0);
        m->kill_again_ms = when_boot_ms() + KILL_AGAIN_MS;
    }
}

/* ---- time ---- */

static void look_at_lease(struct monitor *m, int64_t now)
{
    int64_t term_at = m->lease->term_at_ms, kill_at = m->lease->kill_at_ms;

    if (kill_at && now >= kill_at && !m->is_killed) {
        m->record.is_lease_over = true;
        do_kill(m);
    } else if (term_at && now >= term_at && !m->is_termed_by_lease) {
        m->record.is_lease_over = true;
        m->is_termed_by_lease = true;
        do_term(m);
    }
}

static void look_at_limit(struct monitor *m, int64_t now)
{
    if (!m->limit_at_ms || now < m->limit_at_ms)
        return;
    m->limit_at_ms = 0;
    m->record.is_limit_over = true;
    do_stop(m);
}

static void look_at_clock(struct monitor *m)
{
    int64_t now = when_boot_ms();

    if (m->state != STATE_STARTING && m->state != STATE_RUNNING) {
        if (m->kill_again_ms && now >= m->kill_again_ms)
            has_child_news = 1; /* reap sends KILL again */
        return;
    }
    if (m->lease)
        look_at_lease(m, now);
    look_at_limit(m, now);
    if ((m->kill_at_ms && now >= m->kill_at_ms) || (m->kill_again_ms && now >= m->kill_again_ms)) {
        m->kill_at_ms = 0;
        do_kill(m);
    }
}

static void earlier(int64_t *at, int64_t other, int64_t now)
{
    if (other && (!*at || other < *at))
        *at = other > now ? other : now + 1;
}

/* Sets the timer to the next time at which anything is to be done. Boot time: it goes on in
 * sleep. */
static void arm_timer(struct monitor *m)
{
    int64_t at = 0, now;
    struct itimerspec spec = { 0 };

    if (!m->lease && !m->limit_at_ms && !m->kill_at_ms && !m->kill_again_ms && !m->armed_ms)
        return;
    now = when_boot_ms();
    earlier(&at, m->limit_at_ms, now);
    earlier(&at, m->kill_at_ms, now);
    earlier(&at, m->kill_again_ms, now);
    if (m->lease && m->state <= STATE_RUNNING && !m->is_killed) {
        if (!m->is_termed_by_lease)
            earlier(&at, m->lease->term_at_ms, now);
        earlier(&at, m->lease->kill_at_ms, now);
        earlier(&at, now + LEASE_LOOK_MS, now);
    }
    if (at == m->armed_ms || (m->armed_ms > now && m->armed_ms < at))
        return; /* it wakes early enough, and looks again then */
    spec.it_value.tv_sec = at / 1000;
    spec.it_value.tv_nsec = at % 1000 * 1000000;
    timerfd_settime(m->timer, TFD_TIMER_ABSTIME, &spec, NULL);
    m->armed_ms = at;
}

/* ---- the loop ---- */

static void obey(struct monitor *m, size_t i, enum command command)
{
    switch (command) {
    case COMMAND_NONE:
        break;
    case COMMAND_TERM:
        do_term(m);
        break;
    case COMMAND_KILL:
        do_kill(m);
        break;
    case COMMAND_STOP:
        do_stop(m);
        break;
    case COMMAND_STATUS:
        tell_status(m, i);
        break;
    case COMMAND_LIMIT:
        do_limit(m, m->control.number);
        break;
    }
}

static void serve(struct monitor *m, const struct pollfd *polled)
{
    size_t n = m->control.n;

    for (size_t i = 0; i < n; i++) {
        if (polled[1 + i].revents)
            obey(m, i, control_read(&m->control, i));
    }
    if (polled[0].revents)
        control_accept(&m->control);
    for (size_t i = n; i < m->control.n; i++) {
        char text[160];
        if (m->record.has_started)
            control_tell(&m->control, i, text, started_text(m, text, sizeof(text)));
    }
    control_tidy(&m->control);
}

static void take_output(struct monitor *m, enum stream stream)
{
    int r = m->pipes[stream] < 0 ? 0 : output_take(&m->launch, stream, m->pipes[stream]);

    if (r < 0) {
        close(m->pipes[stream]);
        m->pipes[stream] = -1; /* it cannot be read */
    }
}

static void step(struct monitor *m, const sigset_t *waiting)
{
    struct pollfd polled[STREAM_COUNT + 2 + CONTROL_MAX];
    bool takes_output = m->state != STATE_STARTING; /* until then it is the runtime's message */
    int n;

    arm_timer(m);
    /* What fails here is tried again with the next look at the lease. */
    if ((must_listen || m->control.parent < 0) && control_listen(&m->control) == 0)
        must_listen = 0;
    for (int i = 0; i < STREAM_COUNT; i++)
        polled[i] = (struct pollfd){ .fd = takes_output ? m->pipes[i] : -1, .events = POLLIN };
    polled[STREAM_COUNT] = (struct pollfd){ .fd = m->timer, .events = POLLIN };
    n = STREAM_COUNT + 1 + (int)control_poll(&m->control, polled + STREAM_COUNT + 1);
    if (!has_child_news && ppoll(polled, (nfds_t)n, NULL, waiting) >= 0) {
        if (polled[STREAM_COUNT].revents) {
            m->armed_ms = -1;
            look_at_clock(m);
        }
        for (int i = 0; i < STREAM_COUNT; i++) {
            if (polled[i].revents)
                take_output(m, (enum stream)i);
        }
        serve(m, polled + STREAM_COUNT + 1);
    }
    if (has_child_news)
        reap(m);
}

/* What was still in the pipes. All writers are dead, so it ends; one that was handed elsewhere may
 * not be: what is not there now is not waited for. */
static void drain(struct monitor *m)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        while (m->pipes[i] >= 0 && output_take(&m->launch, (enum stream)i, m->pipes[i]) > 0)
            ;
    }
}

/* An idle monitor keeps no log from being deleted, and no pipe that somebody else still writes
 * to. */
static void close_output(struct monitor *m)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (m->pipes[i] >= 0)
            close(m->pipes[i]);
        if (m->write_ends[i] >= 0)
            close(m->write_ends[i]);
        m->pipes[i] = m->write_ends[i] = -1;
    }
    output_end();
}

/* A full disk: the record is told to whoever listens, and written as soon as it can be. */
static void save_record(struct monitor *m, const char *text, size_t n)
{
    char unsaved[CONTROL_MESSAGE_BYTES];
    int r;

    while ((r = record_save(text, n)) == -ENOSPC || r == -EDQUOT) {
        int told = snprintf(unsaved, sizeof(unsaved), "unsaved\n%s", text);
        control_tell_all(&m->control, unsaved, (size_t)told);
        poll(NULL, 0, 1000);
    }
}

static void finish(struct monitor *m, bool has_folder)
{
    char text[CONTROL_MESSAGE_BYTES] = "ended\n";
    size_t head = strlen(text), n;

    if (!m->record.ended_boot_ms)
        set_ended(m);
    if (m->record.has_started)
        drain(m);
    close_output(m);
    n = record_format(&m->record, text + head);
    if (has_folder)
        save_record(m, text + head, n);
    launch_fini(&m->launch);
    control_tell_all(&m->control, text, head + n);
    control_close(&m->control);
}

static const struct lease *map_lease(struct monitor *m)
{
    const char *path = m->launch.lease;
    int fd;
    void *at;

    if (!path || m->launch.is_kept)
        return NULL;
    if (m->lease_path && !strcmp(m->lease_path, path))
        return m->lease_at;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    at = mmap(NULL, sizeof(struct lease), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return NULL;
    if (m->lease_path)
        munmap((void *)m->lease_at, sizeof(struct lease));
    free(m->lease_path);
    m->lease_path = strdup(path);
    m->lease_at = at;
    return at;
}

static void set_signals(sigset_t *waiting)
{
    struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
    struct sigaction listening = { .sa_handler = on_listen };
    sigset_t blocked;

    /* Those that a shutdown or a terminal sends to all: the monitor stays until its container has
     * gone. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGHUP);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    *waiting = blocked;
    sigdelset(waiting, SIGCHLD);
    sigdelset(waiting, SIGUSR1);
    sigaction(SIGCHLD, &child, NULL);
    sigaction(SIGUSR1, &listening, NULL);
}

/* ---- from container to container ---- */

static void set_title(struct monitor *m, const char *text)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) main has checked that it was given */
    memset(m->title, 0, m->title_room);
    memcpy(m->title, text, strnlen(text, m->title_room - 1));
}

/* Waits for the next container; what comes late for the one before is not heard. False: no
 * agent. */
static bool wait_for_run(char folder[FOLDER_BYTES])
{
    static const char word[] = "run ";
    char text[sizeof(word) - 1 + FOLDER_BYTES];
    ssize_t n;

    while ((n = recv(PARENT_FD, text, sizeof(text) - 1, 0)) > 0) {
        text[n] = '\0';
        if (!strncmp(text, word, strlen(word))) {
            memcpy(folder, text + strlen(word), (size_t)n - strlen(word) + 1);
            return true;
        }
    }
    return false;
}

static void reset(struct monitor *m)
{
    struct monitor next = { .control = m->control,
                            .pipes = { -1, -1 },
                            .write_ends = { -1, -1 },
                            .timer = m->timer,
                            .armed_ms = m->armed_ms,
                            .began_ns = when_ns(CLOCK_BOOTTIME),
                            .title = m->title,
                            .title_room = m->title_room,
                            .lease_path = m->lease_path,
                            .lease_at = m->lease_at,
                            .launch = { .fd = -1 } };

    must_listen = 0;
    *m = next;
}

/* Returns false if the folder's container is another monitor's. */
static bool run(struct monitor *m, const char *folder, const sigset_t *waiting)
{
    bool has_folder = chdir(folder) == 0;
    int r = has_folder ? launch_take(&m->launch) : -errno;

    if (r == -EBUSY)
        return false;
    has_child_news = 1; /* a start that failed has none left */
    if (r < 0) {
        record_fail(&m->record, "RUNTIME_FAILED", "%s: %s", has_folder ? "launch" : folder,
                    strerror(-r));
        m->state = STATE_OVER;
    } else {
        set_title(m, m->launch.id);
        m->lease = map_lease(m);
        start(m);
    }
    while (m->state != STATE_OVER)
        step(m, waiting);
    finish(m, has_folder);
    return true;
}

int main(int argc, char **argv)
{
    static struct monitor m = { .pipes = { -1, -1 }, .write_ends = { -1, -1 } };
    static char folder[FOLDER_BYTES];
    sigset_t waiting;

    if (argc != 2 || fcntl(PARENT_FD, F_SETFD, FD_CLOEXEC) < 0)
        return 1;
    m.title = argv[1];
    m.title_room = strlen(argv[1]) + 1;
    set_signals(&waiting);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    m.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    control_open(&m.control, PARENT_FD);
    while (m.control.parent >= 0) {
        set_title(&m, "idle");
        if (!wait_for_run(folder))
            break;
        reset(&m);
        if (!run(&m, folder, &waiting))
            return 2;
        /* It holds no folder. */
        if (chdir("/") < 0)
            return 1;
    }
    return 0;
}

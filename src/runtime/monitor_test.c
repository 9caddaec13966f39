/*
 * Monitors: what a container leaves to its own, with an agent and without; adopting; killed and
 * idle ones.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/test.h"
#include "runtime/rig.h"

static void list_descriptors(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "cd /proc/$$/fd && echo [0-8]"));
    rig_start(rig, &a);
    rig_started(&a);
    rig_ended(&a);
    out = rig_output(&a, OUT, NULL);
    CHECK_TEXT(out, "0 1 2 3\n"); /* 3: the folder that is being listed */
    rig_clean(rig, &a);
}

TEST(container_inherits_no_descriptor)
{
    int left_open = fcntl(STDERR_FILENO, F_DUPFD, 3);

    CHECK(left_open >= 3 && left_open < 9);
    rig_each(list_descriptors);
    close(left_open);
}

/* As when the agent is gone: nobody but the monitor looks at the clock. */
static void wait_alone(struct rig *rig, struct attempt *a, struct inspection *out)
{
    watch_free(a->watch);
    a->watch = NULL;
    rig_wait_folder(rig, a, FOLDER_ENDED, out);
    CHECK(out->exit.is_limit_over);
}

static void end_by_limit(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct inspection inspection;

    rig_attempt(rig, &a, kind, COMMAND("sleep", "1000"));
    a.container.limit_ms = 300;
    a.container.keep_on_disconnect = true;
    rig_start(rig, &a);
    rig_started(&a);
    wait_alone(rig, &a, &inspection);
    CHECK(inspection.exit.ended_boot_ms - inspection.exit.started_boot_ms >= 300);
    rig_clean(rig, &a);
}

TEST(container_is_ended_at_its_limit_without_an_agent)
{
    rig_each(end_by_limit);
}

/* Another limit counts from the first instruction too. It comes when TERM is ignored for sure. */
static void end_by_another_limit(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct inspection inspection;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"));
    a.container.limit_ms = 3600000;
    a.container.grace_ms = 50;
    a.container.keep_on_disconnect = true;
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, OUT, "ready");
    CHECK_OK(watch_limit(a.watch, 0, &err), &err);
    CHECK_OK(watch_limit(a.watch, 300, &err), &err);
    wait_alone(rig, &a, &inspection);
    CHECK_EQ(inspection.exit.signal, SIGKILL);
    CHECK(inspection.exit.ended_boot_ms - inspection.exit.started_boot_ms >= 350);
    rig_clean(rig, &a);
}

TEST(container_is_ended_at_a_limit_that_was_changed)
{
    rig_each(end_by_another_limit);
}

/* Taken away or raised, the first one is not heard of any more. */
static void outlive_its_limit(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "sleep 0.6; exit 3"));
    a.container.limit_ms = 500;
    rig_start(rig, &a);
    CHECK_OK(watch_limit(a.watch, kind == RUNTIME_PROCESS ? 3600000 : 0, &err), &err);
    rig_started(&a);
    rig_ended(&a);
    CHECK(!a.ended.exit.is_limit_over);
    CHECK_EQ(a.ended.exit.code, 3);
    rig_clean(rig, &a);
}

TEST(container_outlives_a_limit_that_was_raised_before_it_began)
{
    rig_each(outlive_its_limit);
}

/* The monitor's pid: who listens at the folder's socket. */
static pid_t find_monitor(struct attempt *a)
{
    struct ucred peer = { 0 };
    socklen_t size = sizeof(peer);
    struct watch *watch = NULL;
    struct err err = { 0 };

    CHECK_OK(watch_open(NULL, a->folder, &watch, &err), &err);
    CHECK_EQ(getsockopt(watch_fd(watch), SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
    watch_free(watch);
    CHECK(peer.pid > 1);
    return peer.pid;
}

static void kill_monitor(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct watch_event event;
    struct inspection inspection;
    struct err err = { 0 };
    pid_t monitor;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "sleep 1000 & sleep 1000"));
    rig_start(rig, &a);
    rig_started(&a);
    monitor = find_monitor(&a);
    CHECK_EQ(kill(monitor, SIGKILL), 0);
    rig_event(&a, &event);
    CHECK_EQ(event.kind, WATCH_LOST);
    watch_free(TAKE(a.watch));
    CHECK_OK(runtime_inspect(rig->runtime, a.folder, &inspection, &err), &err);
    CHECK(inspection.state == FOLDER_ORPHANED || inspection.state == FOLDER_GONE);
    rig_clean(rig, &a);
    rig_wait_gone(a.started.pid);
    CHECK_OK(runtime_inspect(rig->runtime, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_FRESH);
}

TEST(container_of_a_killed_monitor_is_cleaned)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that what it leaves is not reaped by a stranger later */
    rig_each(kill_monitor);
}

/* A monitor's next container knows nothing of the one before. */
static void serve_another(struct rig *rig, enum runtime_kind kind)
{
    struct attempt first, second;
    CLEANUP(freep) char *out = NULL;
    CLEANUP(freep) char *cmdline = NULL;
    CLEANUP(str_fini) struct str title = { 0 };
    struct err err = { 0 };
    pid_t monitor;

    rig_attempt(rig, &first, kind, COMMAND("sh", "-c", "printf part; sleep 1000"));
    rig_start(rig, &first);
    rig_started(&first);
    rig_wait_output(&first, OUT, "part");
    monitor = find_monitor(&first); /* which makes it listen */
    CHECK_OK(watch_stop(first.watch, STOP_KILL, &err), &err);
    rig_ended(&first);
    rig_clean(rig, &first);

    rig_attempt(rig, &second, kind, COMMAND("sh", "-c", "echo whole; sleep 1000"));
    rig_start(rig, &second);
    rig_started(&second);
    rig_wait_output(&second, OUT, "whole");
    CHECK_EQ(find_monitor(&second), monitor);
    cmdline = text_format("/proc/%d/cmdline", (int)monitor);
    CHECK_OK(file_read(AT_FDCWD, cmdline, 4096, &title, &err), &err);
    CHECK_TEXT(str_text(&title) + strlen("berth-monitor") + 1, second.id);
    CHECK_EQ(kill(second.started.pid, SIGKILL), 0);
    rig_ended(&second);
    CHECK(second.ended.exit.has_started);
    CHECK(!second.ended.exit.is_lease_over);
    out = rig_output(&second, OUT, NULL);
    CHECK_TEXT(out, "whole\n");
    rig_clean(rig, &second);
}

TEST(container_has_a_monitor_that_served_before)
{
    rig_each(serve_another);
}

/* How many descriptors of a process are open in a folder, or are pipes. */
static size_t count_held(pid_t pid, const char *folder)
{
    CLEANUP(freep) char *path = text_format("/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    struct dirent *entry;
    size_t n = 0;

    CHECK(dir != NULL);
    while ((entry = readdir(dir))) {
        char to[512] = "";
        if (readlinkat(dirfd(dir), entry->d_name, to, sizeof(to) - 1) > 0)
            n += text_begins(to, folder) || text_begins(to, "pipe:");
    }
    closedir(dir);
    return n;
}

/* What is deleted of a container that ended frees its room, though its monitor lives on. */
static void hold_nothing(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };
    pid_t monitor;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "echo line; sleep 1000"));
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, OUT, "line");
    monitor = find_monitor(&a);
    CHECK(count_held(monitor, a.folder) >= 3); /* the log, launch, and pipes */
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a);
    CHECK_EQ(count_held(monitor, a.folder), 0);
    rig_clean(rig, &a);
}

TEST(container_that_ended_is_not_held_by_its_monitor)
{
    rig_each(hold_nothing);
}

/* A monitor that finds no room for the record goes on trying; nobody waits for it meanwhile. */
static void find_no_room(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a, b;
    CLEANUP(freep) char *next = NULL;
    struct inspection inspection;
    struct err err = { 0 };
    pid_t monitor;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "sleep 1000"));
    next = text_format("%s/exit.new", a.folder);
    CHECK_EQ(symlink("/dev/full", next), 0);
    rig_start(rig, &a);
    rig_started(&a);
    monitor = find_monitor(&a);
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a); /* lets go of the watch */
    CHECK_EQ(kill(monitor, 0), 0);
    CHECK_EQ(unlink(next), 0);
    rig_wait_gone(monitor);
    CHECK_OK(runtime_inspect(rig->runtime, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_ENDED);
    CHECK_EQ(inspection.exit.signal, SIGKILL);
    rig_clean(rig, &a);
    /* With the end of another container at the latest it is nobody's zombie. */
    rig_attempt(rig, &b, kind, COMMAND("true"));
    rig_start(rig, &b);
    rig_started(&b);
    rig_ended(&b);
    rig_clean(rig, &b);
    CHECK_EQ(waitpid(monitor, NULL, 0), -1);
}

TEST(container_whose_record_finds_no_room_is_not_waited_for)
{
    rig_each(find_no_room);
}

/* One that was killed while it had nothing to do is not noticed. */
static void lose_idle(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    for (int i = 0; i < 2; i++) {
        pid_t monitor;
        rig_attempt(rig, &a, kind, COMMAND("sleep", "1000"));
        rig_start(rig, &a);
        rig_started(&a);
        monitor = find_monitor(&a);
        CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
        rig_ended(&a);
        rig_clean(rig, &a);
        CHECK_EQ(kill(monitor, SIGKILL), 0);
        rig_wait_gone(monitor);
    }
}

TEST(container_starts_though_an_idle_monitor_died)
{
    rig_each(lose_idle);
}

/* Whoever gives a container away twice does not have it started twice. */
static void start_twice(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct watch *again = NULL;
    struct watch_event event;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "echo once; sleep 1000"));
    rig_start(rig, &a);
    rig_started(&a);
    for (int i = 0; i < 2; i++) { /* while it runs, and when it has ended */
        struct watch *first = a.watch;
        CHECK_OK(runtime_start(rig->runtime, &a.container, &again, &err), &err);
        a.watch = again;
        rig_event(&a, &event);
        CHECK_EQ(event.kind, i == 0 ? WATCH_LOST : WATCH_ENDED);
        watch_free(TAKE(again));
        a.watch = first;
        if (i == 1)
            break;
        rig_wait_output(&a, OUT, "once");
        CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
        rig_event(&a, &a.ended);
        CHECK_EQ(a.ended.kind, WATCH_ENDED);
    }
    {
        CLEANUP(freep) char *out = rig_output(&a, OUT, NULL);
        CHECK_TEXT(out, "once\n");
    }
    rig_clean(rig, &a);
}

TEST(container_is_started_once)
{
    rig_each(start_twice);
}

static void adopt(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct inspection inspection;
    struct err err = { 0 };
    struct watch *first;

    rig_attempt(rig, &a, kind, COMMAND("sleep", "1000"));
    rig_start(rig, &a);
    rig_started(&a);
    first = TAKE(a.watch); /* as if that agent had died: its connection is not read any more */
    CHECK_OK(runtime_inspect(rig->runtime, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_RUNNING);
    CHECK_OK(watch_open(rig->runtime, a.folder, &a.watch, &err), &err);
    {
        pid_t pid = a.started.pid;
        rig_started(&a);
        CHECK_EQ(a.started.pid, pid);
    }
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    CHECK_OK(runtime_inspect(rig->runtime, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_ENDED);
    CHECK_EQ(inspection.exit.signal, SIGKILL);
    a.watch = first;
    rig_ended(&a); /* reaps the monitor */
    rig_clean(rig, &a);
}

TEST(container_is_adopted)
{
    rig_each(adopt);
}

static void clean_running(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "trap '' TERM; sleep 1000"));
    rig_start(rig, &a);
    rig_started(&a);
    {
        struct err err = { 0 };
        CHECK_OK(runtime_clean(rig->runtime, a.folder, &err), &err);
    }
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    rig_clean(rig, &a);
}

TEST(container_that_runs_is_ended_by_clean)
{
    rig_each(clean_running);
}

static void pass_lease(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a, kept;
    struct err err = { 0 };
    int64_t now = clock_boot_ms(&clock_system);

    rig_attempt(rig, &a, kind, COMMAND("sleep", "1000"));
    rig_attempt(rig, &kept, kind, COMMAND("sleep", "1000"));
    kept.container.keep_on_disconnect = true;
    runtime_lease(rig->runtime, now + 3600000, now + 3600000);
    rig_start(rig, &a);
    rig_start(rig, &kept);
    rig_started(&a);
    rig_started(&kept);
    runtime_lease(rig->runtime, now - 1, now - 1);
    rig_ended(&a); /* within the 5 s after which a monitor looks again */
    CHECK(a.ended.exit.is_lease_over);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    rig_clean(rig, &a);
    {
        struct inspection inspection;
        CHECK_OK(runtime_inspect(rig->runtime, kept.folder, &inspection, &err), &err);
        CHECK_EQ(inspection.state, FOLDER_RUNNING);
    }
    CHECK_OK(watch_stop(kept.watch, STOP_KILL, &err), &err);
    rig_ended(&kept);
    rig_clean(rig, &kept);
    /* And nothing is started after it. */
    rig_attempt(rig, &a, kind, COMMAND("true"));
    rig_start(rig, &a);
    rig_ended(&a);
    CHECK(!a.ended.exit.has_started);
    CHECK(a.ended.exit.is_lease_over);
    rig_clean(rig, &a);
    runtime_lease(rig->runtime, 0, 0);
}

TEST(container_ends_when_the_lease_has_passed)
{
    rig_each(pass_lease);
}

TEST(monitors_on_lesser_machines)
{
    static rig_body_fn *const bodies[] = { kill_monitor, clean_running, adopt };

    rig_each_lesser(bodies, COUNT_OF(bodies));
}

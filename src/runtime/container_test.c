/*
 * Containers: from the preparation to nothing left, with each runtime that this machine has.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "runtime/rig.h"

static void run_and_check_code(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;
    CLEANUP(freep) char *errors = NULL;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "echo out; printf part; echo err >&2; exit 7"));
    rig_run(rig, &a);
    CHECK_EQ(a.ended.exit.code, 7);
    CHECK_EQ(a.ended.exit.signal, 0);
    CHECK(a.ended.exit.has_started);
    CHECK(!a.ended.exit.is_oom);
    CHECK(a.ended.exit.ended_boot_ms >= a.ended.exit.started_boot_ms);
    CHECK(a.started.pid > 0);
    out = rig_output(&a, OUT, NULL);
    errors = rig_output(&a, ERR, NULL);
    CHECK_TEXT(out, "out\npart");
    CHECK_TEXT(errors, "err\n");
    rig_clean(rig, &a);
}

TEST(container_exit_code_and_output)
{
    rig_each(run_and_check_code);
}

static void see_environment(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "echo \"$A|$B\"; pwd; echo $0; id -u; id -g", "an arg"));
    a.container.env = COMMAND("A=1", "B=two\nlines", "PATH=/usr/bin:/bin");
    a.container.work_dir = kind == RUNTIME_PROCESS ? "/usr" : "/bin";
    a.container.user = "1234:5678";
    rig_run(rig, &a);
    out = rig_output(&a, OUT, NULL);
    CHECK_TEXT(out, kind == RUNTIME_PROCESS ? "1|two\nlines\n/usr\nan arg\n1234\n5678\n"
                                            : "1|two\nlines\n/bin\nan arg\n1234\n5678\n");
    rig_clean(rig, &a);
}

TEST(container_environment_folder_and_user)
{
    rig_each(see_environment);
}

/* As an agent that leaves does for all nodes of its machine that have none. */
static void tidy_up(const struct rig *rig)
{
    for (int i = 0; i < CONTROLLER_COUNT; i++) {
        const char *mount = rig->machine.controllers[i].path;
        CLEANUP(freep) char *parent = text_format("%s/berth/%s", mount, rig->node);

        if (mount[0] && rig->machine.controllers[i].is_writable)
            CHECK(rmdir(parent) == 0 || errno == ENOENT);
    }
}

static void start_after_tidy_up(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;

    tidy_up(rig);
    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "exit 0"));
    rig_run(rig, &a);
    CHECK_EQ(a.ended.exit.code, 0);
    CHECK(a.ended.exit.has_started);
    rig_clean(rig, &a);
}

TEST(container_where_the_groups_of_the_node_were_removed)
{
    rig_each(start_after_tidy_up);
}

static void fail_to_find(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    enum detail detail = DETAIL_NONE;
    struct err err = { 0 };
    bool is_process = kind == RUNTIME_PROCESS;

    rig_attempt(rig, &a, kind, COMMAND("no-such-command"));
    if (is_process) {
        rig_start(rig, &a);
        rig_ended(&a);
        CHECK(!a.ended.exit.has_started);
        CHECK_EQ(a.ended.exit.detail, DETAIL_COMMAND_NOT_FOUND);
    } else {
        CHECK(runtime_prepare(rig->runtime, &a.container, NULL, &detail, &err) < 0);
        CHECK_EQ(detail, DETAIL_COMMAND_NOT_FOUND);
    }
    rig_clean(rig, &a);
}

TEST(container_command_not_found)
{
    rig_each(fail_to_find);
}

static void fail_to_execute(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    enum detail detail = DETAIL_NONE;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind, COMMAND(kind == RUNTIME_PROCESS ? "/etc/passwd" : "/bin"));
    if (kind == RUNTIME_PROCESS) {
        rig_start(rig, &a);
        rig_ended(&a);
        CHECK(!a.ended.exit.has_started);
        CHECK_EQ(a.ended.exit.detail, DETAIL_COMMAND_NOT_EXECUTABLE);
    } else {
        CHECK(runtime_prepare(rig->runtime, &a.container, NULL, &detail, &err) < 0);
        CHECK_EQ(detail, DETAIL_COMMAND_NOT_EXECUTABLE);
    }
    rig_clean(rig, &a);
}

TEST(container_command_not_executable)
{
    rig_each(fail_to_execute);
}

static void leave_grandchildren(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct leftovers left;

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "(trap '' TERM; sleep 1000) & sh -c 'sleep 1000' & exit 3"));
    rig_run(rig, &a);
    CHECK_EQ(a.ended.exit.code, 3);
    rig_count(rig, &left); /* before any clean-up: the record says that nothing is alive */
    CHECK_EQ(left.n_in_groups, 0);
    rig_clean(rig, &a);
}

TEST(container_grandchildren_end_with_it)
{
    rig_each(leave_grandchildren);
}

static void ignore_term(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    rig_attempt(
        rig, &a, kind,
        COMMAND("sh", "-c", "trap 'echo again' TERM; echo ready; while :; do sleep 1; done"));
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, OUT, "ready");
    CHECK_OK(watch_stop(a.watch, STOP_TERM, &err), &err);
    rig_wait_output(&a, OUT, "again"); /* written after TERM, and logged */
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    CHECK(!a.ended.exit.is_oom);
    rig_clean(rig, &a);
}

TEST(container_that_ignores_term_is_killed)
{
    rig_each(ignore_term);
}

static void stop_with_grace(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"));
    a.container.grace_ms = 50;
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, OUT, "ready");
    CHECK_OK(watch_stop(a.watch, STOP_GRACE, &err), &err);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    rig_clean(rig, &a);
}

TEST(container_is_killed_when_its_grace_is_over)
{
    rig_each(stop_with_grace);
}

static void end_by_term(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 1; done"));
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, OUT, "ready");
    CHECK_OK(watch_stop(a.watch, STOP_TERM, &err), &err);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.code, 9);
    rig_clean(rig, &a);
}

TEST(container_ends_by_term)
{
    rig_each(end_by_term);
}

static void close_output(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct inspection inspection;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "exec >&- 2>&-; while :; do sleep 1; done"));
    rig_start(rig, &a);
    rig_started(&a);
    CHECK_OK(runtime_inspect(rig->runtime, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_RUNNING);
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    rig_clean(rig, &a);
}

TEST(container_that_closes_its_output_lives_on)
{
    rig_each(close_output);
}

static void kill_container(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;

    rig_attempt(rig, &a, kind, COMMAND("sleep", "1000"));
    rig_start(rig, &a);
    rig_started(&a);
    CHECK_EQ(kill(a.started.pid, SIGKILL), 0);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    CHECK(!a.ended.exit.is_oom);
    rig_clean(rig, &a);
}

TEST(container_killed_from_outside)
{
    rig_each(kill_container);
}

/* Many at once: each has its own exit code and output, and nothing is left of any. */
static void run_many(struct rig *rig, enum runtime_kind kind)
{
    enum { MANY = 50 };
    struct attempt *many = NEW0_N(struct attempt, MANY);

    for (int i = 0; i < MANY; i++) {
        CLEANUP(freep) char *script = text_format("echo %d; exit %d", i, i);
        const char *const command[] = { "sh", "-c", script, NULL };
        rig_attempt(rig, &many[i], kind, command);
        rig_start(rig, &many[i]);
        many[i].container.command = NULL;
    }
    for (int i = 0; i < MANY; i++) {
        CLEANUP(freep) char *expected = text_format("%d\n", i);
        CLEANUP(freep) char *out = NULL;
        rig_started(&many[i]);
        rig_ended(&many[i]);
        CHECK_EQ(many[i].ended.exit.code, i);
        out = rig_output(&many[i], OUT, NULL);
        CHECK_TEXT(out, expected);
        rig_clean(rig, &many[i]);
    }
    mem_free(many);
}

TEST(container_many_at_once)
{
    rig_each(run_many);
}

/* A container that nobody knows: its groups are found by the node's name. */
static bool knows_none(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    return false;
}

static void sweep_unknown(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "trap '' TERM; sleep 1000"));
    rig_start(rig, &a);
    rig_started(&a);
    CHECK_EQ(runtime_sweep(rig->runtime, knows_none, NULL, &err), 1);
    rig_ended(&a);
    CHECK_EQ(a.ended.exit.signal, SIGKILL);
    rig_clean(rig, &a);
}

TEST(container_that_is_unknown_is_swept)
{
    rig_each(sweep_unknown);
}

TEST(inspect_tells_another_boot)
{
    struct rig rig;
    struct attempt a;
    struct inspection inspection;
    struct machine other;
    struct runtime *later = NULL;
    struct err err = { 0 };
    enum detail detail;

    rig_open(&rig);
    rig_attempt(&rig, &a, RUNTIME_PROCESS, COMMAND("true"));
    CHECK_OK(runtime_prepare(rig.runtime, &a.container, NULL, &detail, &err), &err);
    CHECK_OK(runtime_inspect(rig.runtime, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_FRESH);
    other = rig.machine;
    snprintf(other.boot_id, sizeof(other.boot_id), "another");
    CHECK_OK(
        runtime_open(&(struct runtime_config){ rig.dir, rig.node, BERTH_BUILD_DIR "/berth-monitor",
                                               &other, NULL },
                     &later, &err),
        &err);
    CHECK_OK(runtime_inspect(later, a.folder, &inspection, &err), &err);
    CHECK_EQ(inspection.state, FOLDER_GONE);
    CHECK(inspection.is_other_boot);
    runtime_close(later);
    rig_clean(&rig, &a);
    rig_close(&rig);
}

TEST(process_on_lesser_machines)
{
    static rig_body_fn *const bodies[] = {
        run_and_check_code, leave_grandchildren, ignore_term,
        stop_with_grace,    end_by_term,         kill_container
    };

    rig_each_lesser(bodies, COUNT_OF(bodies));
}

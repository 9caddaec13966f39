/*
 * Limits: memory, processes, network and what a container must not reach.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/test.h"
#include "runtime/rig.h"

static void run_out_of_memory(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;

    if (!rig->machine.controllers[CONTROLLER_MEMORY].is_writable)
        test_skip("there are no memory groups");
    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "exec dd if=/dev/zero of=/dev/null bs=256M count=4"));
    a.container.memory_bytes = 32 << 20;
    rig_run(rig, &a);
    CHECK(a.ended.exit.is_oom);
    CHECK(a.ended.exit.oom_kills >= 1);
    CHECK(a.ended.exit.peak_memory_bytes > 16 << 20);
    CHECK(a.ended.exit.peak_memory_bytes <= 32 << 20);
    rig_clean(rig, &a);
}

TEST(container_out_of_memory)
{
    rig_each(run_out_of_memory);
}

static void survive_child_oom(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "dd if=/dev/zero of=/dev/null bs=256M count=4; echo child $?"));
    a.container.memory_bytes = 32 << 20;
    rig_run(rig, &a);
    out = rig_output(&a, OUT, NULL);
    CHECK_TEXT(out, "child 137\n");
    CHECK_EQ(a.ended.exit.code, 0);
    CHECK(!a.ended.exit.is_oom);
    CHECK(a.ended.exit.oom_kills >= 1); /* the kernel may count one death twice */
    rig_clean(rig, &a);
}

TEST(container_whose_child_ran_out_of_memory_goes_on)
{
    rig_each(survive_child_oom);
}

static const struct {
    int64_t milli;
    const char *v1, *v2;
} quotas[] = {
    { 100, "10000\n", "10000 100000\n" },
    { 250, "25000\n", "25000 100000\n" },
    { 32000, "3200000\n", "3200000 100000\n" },
    { INT64_C(1) << 60, "1099511627776\n", "1099511627776 100000\n" },
};

static void limit_cpu(struct rig *rig, enum runtime_kind kind)
{
    bool is_v2 = rig->machine.cgroup_layout == CGROUP_V2;
    enum controller where = is_v2 ? CONTROLLER_UNIFIED : CONTROLLER_CPU;

    if (!rig->machine.controllers[CONTROLLER_CPU].is_writable)
        test_skip("there are no groups for cpu time");
    for (size_t i = 0; i < COUNT_OF(quotas); i++) {
        struct attempt a;
        CLEANUP(freep) char *path = NULL;
        CLEANUP(str_fini) struct str value = { 0 };
        struct err err = { 0 };
        rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "echo up; sleep 1000"));
        a.container.cpu_milli = quotas[i].milli;
        path = text_format("%s/berth/%s/%s/%s", rig->machine.controllers[where].path, rig->node,
                           a.id, is_v2 ? "cpu.max" : "cpu.cfs_quota_us");
        rig_start(rig, &a);
        rig_started(&a);
        CHECK_OK(file_read(AT_FDCWD, path, 64, &value, &err), &err);
        CHECK_TEXT(str_text(&value), is_v2 ? quotas[i].v2 : quotas[i].v1);
        CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
        rig_ended(&a);
        rig_clean(rig, &a);
    }
}

TEST(container_has_the_cpu_time_that_it_asked_for)
{
    rig_each(limit_cpu);
}

static void bomb(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct err err = { 0 };

    if (!rig->machine.controllers[CONTROLLER_PIDS].is_writable)
        test_skip("there are no groups for the number of processes");
    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "f() { f | f & }; f; echo lit; sleep 1000"));
    a.container.pids = 50;
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, ERR, "fork"); /* the limit is reached */
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a);
    rig_clean(rig, &a);
}

TEST(container_that_forks_without_end_is_held_and_ended)
{
    rig_each(bomb);
}

static void see_network(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;

    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c",
                        "while read name rest; do case $name in *:*) echo "
                        "$name;; esac; done < /proc/net/dev"));
    a.container.network = NETWORK_NONE;
    rig_run(rig, &a);
    out = rig_output(&a, OUT, NULL);
    CHECK_TEXT(out, "lo:\n");
    rig_clean(rig, &a);
}

TEST(container_without_network_has_lo_alone)
{
    rig_each(see_network);
}

static void sample_it(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct sample sample;
    struct err err = { 0 }, gone = { 0 };

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "sleep 1000 & echo ready; wait"));
    a.container.memory_bytes = 64 << 20;
    rig_start(rig, &a);
    rig_started(&a);
    rig_wait_output(&a, OUT, "ready");
    CHECK_OK(runtime_sample(rig->runtime, a.folder, &sample, &err), &err);
    CHECK(sample.n_processes >= 2 &&
          sample.n_processes < 5); /* one of a runtime's may be just ending */
    CHECK(sample.memory_bytes > 0 && sample.memory_bytes <= 64 << 20);
    CHECK(sample.peak_memory_bytes >= sample.memory_bytes);
    CHECK(sample.cpu_us > 0);
    CHECK_OK(watch_stop(a.watch, STOP_KILL, &err), &err);
    rig_ended(&a);
    rig_clean(rig, &a);
    CHECK_EQ(runtime_sample(rig->runtime, a.folder, &sample, &gone), -ENODATA);
}

TEST(container_is_sampled)
{
    rig_each(sample_it);
}

/* Runs a command in each OCI runtime and compares what it says. */
static void check_isolation(struct rig *rig, enum runtime_kind kind, bool read_only,
                            const char *script, const char *expected)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", script));
    a.container.read_only_root = read_only;
    rig_run(rig, &a);
    out = rig_output(&a, OUT, NULL);
    CHECK_TEXT(out, expected);
    rig_clean(rig, &a);
}

static const struct {
    const char *name, *script, *expected;
    bool read_only;
} isolation[] = {
    { "it is the first process", "echo $$", "1\n", false },
    { "its root can be written", "echo x > /new; cat /new", "x\n", false },
    { "its root is its own", "cat /new 2>/dev/null || echo none", "none\n", false },
    { "a read-only root cannot be written", "echo x 2>/dev/null > /new || echo refused",
      "refused\n", true },
    { "nor the settings of the kernel",
      "echo 1 2>/dev/null > /proc/sys/kernel/panic || echo refused", "refused\n", false },
    { "no mounts", "mount -t tmpfs none /bin 2>/dev/null || echo refused", "refused\n", false },
    { "no new namespaces", "unshare -U true 2>/dev/null || echo refused", "refused\n", false },
    { "no new privileges",
      "while read k v; do case $k in NoNewPrivs:) echo $v;; esac; done "
      "< /proc/self/status",
      "1\n", false },
    { "a bounded set of capabilities",
      "while read k v; do case $k in CapBnd:) echo $v;; esac; done < /proc/self/status",
      "00000000a80425fb\n", false },
    { "a filter of system calls",
      "while read k v; do case $k in Seccomp:) echo $v;; esac; done < /proc/self/status", "2\n",
      false },
    { "no disks", "ls /dev/vda /dev/sda 2>/dev/null || echo none", "none\n", false },
};

TEST(container_is_isolated)
{
    struct rig rig;
    bool is_any = false;

    rig_open(&rig);
    for (int kind = RUNTIME_CRUN; kind <= RUNTIME_RUNC; kind++) {
        if (!rig.machine.runtimes[kind].is_usable)
            continue;
        is_any = true;
        ROW_EACH (c, isolation)
            check_isolation(&rig, (enum runtime_kind)kind, c->read_only, c->script, c->expected);
    }
    rig_close(&rig);
    if (!is_any)
        test_skip("neither crun nor runc is usable");
}

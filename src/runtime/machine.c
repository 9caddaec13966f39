/*
 * Machine: what this machine offers, found out by looking and trying.
 *
 * It makes nothing that stays: what it mounts or unshares is in a child that ends.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/knob.h"
#include "runtime/runtime.h"

extern char **environ;

const char *const runtime_kind_words[RUNTIME_KIND_COUNT] = {
    [RUNTIME_CRUN] = "crun",
    [RUNTIME_RUNC] = "runc",
    [RUNTIME_PROCESS] = "process",
};

const char *const cgroup_layout_words[CGROUP_LAYOUT_COUNT] = {
    [CGROUP_NONE] = "none",
    [CGROUP_V1] = "v1",
    [CGROUP_HYBRID] = "hybrid",
    [CGROUP_V2] = "v2",
};

const char *const controller_words[CONTROLLER_COUNT] = {
    [CONTROLLER_CPU] = "cpu",         [CONTROLLER_CPUACCT] = "cpuacct",
    [CONTROLLER_MEMORY] = "memory",   [CONTROLLER_PIDS] = "pids",
    [CONTROLLER_FREEZER] = "freezer", [CONTROLLER_DEVICES] = "devices",
    [CONTROLLER_CPUSET] = "cpuset",   [CONTROLLER_BLKIO] = "blkio",
    [CONTROLLER_SYSTEMD] = "systemd", [CONTROLLER_UNIFIED] = "unified",
};

/* ---- groups ---- */

static void note_hierarchy(struct machine *out, enum controller controller, const char *path)
{
    if (out->controllers[controller].path[0] || strlen(path) >= sizeof(out->controllers[0].path))
        return;
    snprintf(out->controllers[controller].path, sizeof(out->controllers[0].path), "%s", path);
    out->controllers[controller].is_writable = access(path, W_OK) == 0;
}

/* A mount of v1 carries its controllers among its options. */
static void note_v1(struct machine *out, const char *path, char *options)
{
    char *rest = options;

    for (char *word; (word = strsep(&rest, ","));) {
        if (text_eq(word, "name=systemd"))
            note_hierarchy(out, CONTROLLER_SYSTEMD, path);
        for (int i = 0; i < CONTROLLER_SYSTEMD; i++) {
            if (text_eq(word, controller_words[i]))
                note_hierarchy(out, (enum controller)i, path);
        }
    }
}

/* On a machine with v2 alone, the controllers that it may give to groups are in the one
 * hierarchy. */
static void note_v2_controllers(struct machine *out)
{
    char path[128], words[256];
    char *rest = words;

    snprintf(path, sizeof(path), "%s/cgroup.controllers",
             out->controllers[CONTROLLER_UNIFIED].path);
    if (!knob_read(path, words, sizeof(words)))
        return;
    for (char *word; (word = strsep(&rest, " "));) {
        for (int i = 0; i < CONTROLLER_SYSTEMD; i++) {
            if (text_eq(word, controller_words[i]))
                note_hierarchy(out, (enum controller)i, out->controllers[CONTROLLER_UNIFIED].path);
        }
    }
}

static void probe_groups(struct machine *out)
{
    CLEANUP(str_fini) struct str mounts = { 0 };
    bool has_v1 = false;
    char *rest, *line;
    struct err err = { 0 };

    if (file_read(AT_FDCWD, "/proc/self/mounts", 1 << 20, &mounts, &err) < 0)
        return;
    rest = mounts.data;
    while ((line = strsep(&rest, "\n")) && *line) {
        char *source = strsep(&line, " "), *path = strsep(&line, " "), *type = strsep(&line, " ");
        char *options = strsep(&line, " ");
        if (!source || !options)
            continue;
        if (text_eq(type, "cgroup2")) {
            note_hierarchy(out, CONTROLLER_UNIFIED, path);
        } else if (text_eq(type, "cgroup")) {
            has_v1 = true;
            note_v1(out, path, options);
        }
    }
    if (out->controllers[CONTROLLER_UNIFIED].path[0])
        out->cgroup_layout = has_v1 ? CGROUP_HYBRID : CGROUP_V2;
    else
        out->cgroup_layout = has_v1 ? CGROUP_V1 : CGROUP_NONE;
    if (out->cgroup_layout == CGROUP_V2)
        note_v2_controllers(out);
}

#define PROBE "berth-probe-" /* and the process that looks */

/* Groups of processes that were killed while they looked. */
static void remove_dead_probes(const char *root)
{
    DIR *dir = opendir(root);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int pid;
        if (sscanf(entry->d_name, PROBE "%d", &pid) == 1 && kill(pid, 0) < 0 && errno == ESRCH)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
}

/* cgroup.kill is in every group but the topmost, since Linux 5.14: only making one tells. */
static void probe_group_kill(struct machine *out)
{
    const char *root = out->controllers[CONTROLLER_UNIFIED].path;
    char dir[160], path[192];

    if (!out->controllers[CONTROLLER_UNIFIED].is_writable)
        return;
    remove_dead_probes(root);
    snprintf(dir, sizeof(dir), "%s/" PROBE "%d", root, (int)getpid());
    if (mkdir(dir, 0755) < 0)
        return;
    snprintf(path, sizeof(path), "%s/cgroup.kill", dir);
    out->has_cgroup_kill = access(path, W_OK) == 0;
    rmdir(dir);
}

/* ---- programs ---- */

static bool find_program(const char *name, char *out, size_t size)
{
    const char *dirs = getenv("PATH");
    CLEANUP(freep)
    char *copy = text_format("%s:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin", dirs ? dirs : "");
    char *rest = copy;

    for (char *dir; (dir = strsep(&rest, ":"));) {
        if (dir[0] == '/' && (size_t)snprintf(out, size, "%s/%s", dir, name) < size &&
            access(out, X_OK) == 0)
            return true;
    }
    out[0] = '\0';
    return false;
}

/* Runs a program and gives the start of what it writes. Returns its wait status, or -1. */
static int run_program(const char *const *args, char *out, size_t size)
{
    posix_spawn_file_actions_t actions;
    char rest[512];
    int fds[2], status = -1;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    if (posix_spawn(&pid, args[0], &actions, NULL, (char *const *)args, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    while (n < size - 1 && (got = read(fds[0], out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    while (read(fds[0], rest, sizeof(rest)) > 0)
        ;
    close(fds[0]);
    out[n] = '\0';
    if (pid > 0 && waitpid(pid, &status, 0) < 0)
        return -1;
    return status;
}

/* "crun version 1.8.1" → "1.8.1" */
static void read_version(const char *text, char *out, size_t size)
{
    const char *word = strstr(text, "version ");

    if (word) {
        word += strlen("version ");
        snprintf(out, size, "%.*s", (int)strcspn(word, "\n ,"), word);
    }
}

static void probe_oci_runtime(struct machine *out, enum runtime_kind kind)
{
    __typeof__(&out->runtimes[0]) runtime = &out->runtimes[kind];
    const char *name = runtime_kind_words[kind];
    char text[512];

    if (!find_program(name, runtime->path, sizeof(runtime->path))) {
        snprintf(runtime->why_not, sizeof(runtime->why_not), "%s is not installed", name);
        return;
    }
    if (run_program((const char *const[]){ runtime->path, "--version", NULL }, text,
                    sizeof(text)) != 0) {
        snprintf(runtime->why_not, sizeof(runtime->why_not), "%s --version failed: %.80s", name,
                 text);
        return;
    }
    read_version(text, runtime->version, sizeof(runtime->version));
    if (!out->is_root)
        snprintf(runtime->why_not, sizeof(runtime->why_not),
                 "the agent is not root: rootless containers are not supported yet");
    else if (!out->has_overlay)
        snprintf(runtime->why_not, sizeof(runtime->why_not), "the kernel has no overlayfs");
    else if (out->cgroup_layout == CGROUP_NONE)
        snprintf(runtime->why_not, sizeof(runtime->why_not), "no cgroup hierarchy is mounted");
    else if (out->cgroup_layout != CGROUP_V2 && !out->controllers[CONTROLLER_MEMORY].is_writable)
        snprintf(runtime->why_not, sizeof(runtime->why_not), "the cgroups are read-only");
    else
        runtime->is_usable = true;
}

/* ---- the kernel ---- */

static bool has_filesystem(const char *name)
{
    CLEANUP(str_fini) struct str text = { 0 };
    CLEANUP(freep) char *word = text_format("\t%s\n", name);
    struct err err = { 0 };

    return file_read(AT_FDCWD, "/proc/filesystems", 65536, &text, &err) == 0 &&
           strstr(str_text(&text), word);
}

static int64_t group_memory_limit(const struct machine *machine)
{
    char path[160], text[32];
    int64_t limit;

    snprintf(path, sizeof(path), "%s/%s", machine->controllers[CONTROLLER_MEMORY].path,
             machine->cgroup_layout == CGROUP_V2 ? "memory.max" : "memory.limit_in_bytes");
    if (!machine->controllers[CONTROLLER_MEMORY].path[0] || !knob_read(path, text, sizeof(text)) ||
        text_to_int(text, 1, INT64_MAX, &limit) < 0)
        return INT64_MAX;
    return limit;
}

static int64_t machine_memory(void)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };
    const char *at;

    if (file_read(AT_FDCWD, "/proc/meminfo", 65536, &text, &err) < 0)
        return 0;
    at = strstr(str_text(&text), "MemTotal:");
    return at ? strtoll(at + strlen("MemTotal:"), NULL, 10) * 1024 : 0;
}

static void probe_kernel(struct machine *out)
{
    struct utsname name;
    cpu_set_t cpus;

    if (uname(&name) == 0) {
        snprintf(out->kernel, sizeof(out->kernel), "%.64s", name.release);
        snprintf(out->hostname, sizeof(out->hostname), "%.64s", name.nodename);
    }
    if (!knob_read("/proc/sys/kernel/random/boot_id", out->boot_id, sizeof(out->boot_id)))
        out->boot_id[0] = '\0';
    out->cpu_milli =
        sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) * 1000 : 1000;
    out->is_root = geteuid() == 0;
    out->has_overlay = has_filesystem("overlay");
    out->has_network_namespaces = access("/proc/self/ns/net", F_OK) == 0;
    out->has_user_namespaces = access("/proc/self/ns/user", F_OK) == 0;
}

void runtime_probe(struct machine *out)
{
    int64_t limit;

    memset(out, 0, sizeof(*out));
    probe_kernel(out);
    probe_groups(out);
    probe_group_kill(out);
    out->memory_bytes = machine_memory();
    limit = group_memory_limit(out);
    if (limit < out->memory_bytes)
        out->memory_bytes = limit;
    probe_oci_runtime(out, RUNTIME_CRUN);
    probe_oci_runtime(out, RUNTIME_RUNC);
    out->runtimes[RUNTIME_PROCESS].is_usable = true;
}

/* ---- telling ---- */

struct teller {
    void (*say)(void *ctx, const char *key, const char *value, const char *message);
    void *ctx;
};

static void tell(const struct teller *teller, const char *key, const char *value,
                 const char *message)
{
    teller->say(teller->ctx, key, value, message);
}

static void tell_controllers(const struct machine *machine, const struct teller *teller)
{
    static const char *const missing[CONTROLLER_COUNT] = {
        [CONTROLLER_CPU] = "cpu limits are not enforced",
        [CONTROLLER_MEMORY] =
            "memory limits are not enforced and running out of memory is not told "
            "from a crash",
        [CONTROLLER_PIDS] = "limits of processes are not enforced",
    };

    for (int i = 0; i < CONTROLLER_COUNT; i++) {
        char key[32];
        bool is_there = machine->controllers[i].path[0];
        bool is_usable = machine->controllers[i].is_writable;
        snprintf(key, sizeof(key), "cgroup.%s", controller_words[i]);
        tell(teller, key,
             is_usable  ? machine->controllers[i].path
             : is_there ? "read-only"
                        : "no",
             is_usable ? NULL : missing[i]);
    }
    tell(teller, "cgroup.kill", machine->has_cgroup_kill ? "yes" : "no",
         machine->has_cgroup_kill
             ? NULL
             : "groups are ended process by process, frozen meanwhile where possible");
}

void machine_findings(const struct machine *machine,
                      void (*say)(void *ctx, const char *key, const char *value,
                                  const char *message),
                      void *ctx)
{
    struct teller teller = { say, ctx };
    char text[32];

    tell(&teller, "kernel", machine->kernel, NULL);
    snprintf(text, sizeof(text), "%lld", (long long)machine->cpu_milli / 1000);
    tell(&teller, "cpus", text, NULL);
    snprintf(text, sizeof(text), "%lld", (long long)machine->memory_bytes);
    tell(&teller, "memory", text, NULL);
    tell(&teller, "root", machine->is_root ? "yes" : "no",
         machine->is_root ? NULL : "only runtime process, as the agent's own user");
    tell(&teller, "cgroup", cgroup_layout_words[machine->cgroup_layout],
         machine->cgroup_layout == CGROUP_HYBRID
             ? "crun is started without a view of the v2 hierarchy"
             : NULL);
    tell_controllers(machine, &teller);
    tell(&teller, "overlay", machine->has_overlay ? "yes" : "no",
         machine->has_overlay ? NULL : "no containers with an image");
    for (int i = 0; i < RUNTIME_KIND_COUNT; i++) {
        char key[32];
        bool is_usable = machine->runtimes[i].is_usable;
        snprintf(key, sizeof(key), "runtime.%s", runtime_kind_words[i]);
        tell(&teller, key,
             !is_usable                        ? "no"
             : machine->runtimes[i].version[0] ? machine->runtimes[i].version
                                               : "yes",
             is_usable ? NULL : machine->runtimes[i].why_not);
    }
}

int machine_speed_up_attach(struct err *err)
{
    char dir[] = "/tmp/berth-attach-XXXXXX";
    int r = 0;

    if (!mkdtemp(dir))
        return err_sys(err, -errno, "make %s", dir);
    if (mount("none", dir, "cgroup", 0, "none,name=berth-attach,favordynmods") < 0)
        r = err_sys(err, -errno, "mount a named hierarchy with favordynmods");
    else if (umount2(dir, MNT_DETACH) < 0)
        r = err_sys(err, -errno, "unmount %s", dir);
    rmdir(dir);
    return r;
}

/* Rig: see rig.h. */
#include "runtime/rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cri.h"
#include "base/file.h"
#include "base/test.h"

enum { DEADLINE_MS = 30000, LEFT_FOR_MS = 600000 };

static int64_t deadline(void)
{
    return clock_boot_ms(&clock_system) + DEADLINE_MS;
}

/* For what the kernel gives no event for: looks again after a moment, until the deadline. */
static void look_again(int64_t until_ms, const char *what)
{
    if (clock_boot_ms(&clock_system) > until_ms) {
        print_error("waited in vain for: %s\n", what);
        CHECK(!"waited in vain");
    }
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

void rig_open(struct rig *rig)
{
    rig_open_as(rig, NULL);
}

void rig_open_as(struct rig *rig, void (*change)(struct machine *machine))
{
    struct err err = { 0 };
    struct runtime_config config = {
        .data_dir = rig->dir,
        .node = rig->node,
        .monitor_path = BERTH_BUILD_DIR "/berth-monitor",
        .machine = &rig->machine,
    };

    memset(rig, 0, sizeof(*rig));
    snprintf(rig->dir, sizeof(rig->dir), "/tmp/berth-test-XXXXXX");
    CHECK(mkdtemp(rig->dir) != NULL);
    snprintf(rig->node, sizeof(rig->node), "test-%d", (int)getpid());
    runtime_probe(&rig->machine);
    if (change)
        change(&rig->machine);
    CHECK_OK(runtime_open(&config, &rig->runtime, &err), &err);
    /* What a failed test leaves behind ends by itself. */
    runtime_lease(rig->runtime, clock_boot_ms(&clock_system) + LEFT_FOR_MS,
                  clock_boot_ms(&clock_system) + LEFT_FOR_MS);
}

static bool is_known(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    return false;
}

void rig_close(struct rig *rig)
{
    struct err err = { 0 };
    struct leftovers left;

    CHECK_EQ(runtime_sweep(rig->runtime, is_known, NULL, &err), 0);
    rig_count(rig, &left);
    CHECK_EQ(left.n_groups, 0);
    CHECK_EQ(left.n_processes, 0);
    runtime_leave(rig->runtime);
    runtime_close(rig->runtime);
    rig->runtime = NULL;
    CHECK_OK(file_remove_tree(AT_FDCWD, rig->dir, &err), &err);
}

void rig_needs(const struct rig *rig, enum runtime_kind kind)
{
    if (!rig->machine.runtimes[kind].is_usable)
        test_skip(rig->machine.runtimes[kind].why_not);
}

void rig_attempt(struct rig *rig, struct attempt *attempt, enum runtime_kind kind,
                 const char *const *command)
{
    memset(attempt, 0, sizeof(*attempt));
    snprintf(attempt->id, sizeof(attempt->id), "j-%d.task.0.1", ++rig->n_attempts);
    snprintf(attempt->folder, sizeof(attempt->folder), "%s/%s", rig->dir, attempt->id);
    CHECK_EQ(mkdir(attempt->folder, 0700), 0);
    attempt->container = (struct container){
        .id = attempt->id,
        .folder = attempt->folder,
        .runtime = kind,
        .command = command,
        .network = kind == RUNTIME_PROCESS ? NETWORK_HOST : NETWORK_NONE,
        .grace_ms = 10000,
    };
    if (kind != RUNTIME_PROCESS)
        attempt->container.image = rig_busybox(rig);
}

void rig_start(struct rig *rig, struct attempt *attempt)
{
    enum detail detail = DETAIL_NONE;
    struct err err = { 0 };

    CHECK_OK(runtime_prepare(rig->runtime, &attempt->container, NULL, &detail, &err), &err);
    CHECK_OK(runtime_start(rig->runtime, &attempt->container, &attempt->watch, &err), &err);
}

void rig_event(struct attempt *attempt, struct watch_event *out)
{
    int64_t until = deadline();
    struct err err = { 0 };

    for (;;) {
        struct pollfd polled = { .fd = watch_fd(attempt->watch), .events = POLLIN };
        CHECK_OK(watch_read(attempt->watch, out, &err), &err);
        if (out->kind != WATCH_NOTHING)
            return;
        CHECK(clock_boot_ms(&clock_system) < until);
        poll(&polled, 1, 1000);
    }
}

void rig_started(struct attempt *attempt)
{
    rig_event(attempt, &attempt->started);
    if (attempt->started.kind == WATCH_ENDED)
        print_error("start failed: %s\n", attempt->started.exit.text);
    CHECK_EQ(attempt->started.kind, WATCH_STARTED);
}

void rig_ended(struct attempt *attempt)
{
    rig_event(attempt, &attempt->ended);
    CHECK_EQ(attempt->ended.kind, WATCH_ENDED);
    watch_free(TAKE(attempt->watch));
}

void rig_run(struct rig *rig, struct attempt *attempt)
{
    rig_start(rig, attempt);
    rig_started(attempt);
    rig_ended(attempt);
}

void rig_clean(struct rig *rig, struct attempt *attempt)
{
    struct err err = { 0 };
    struct dirent *entry;
    DIR *dir;

    watch_free(TAKE(attempt->watch));
    CHECK_OK(runtime_clean(rig->runtime, attempt->folder, &err), &err);
    CHECK_OK(runtime_clean(rig->runtime, attempt->folder, &err), &err);
    dir = opendir(attempt->folder);
    CHECK(dir != NULL);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) a check that fails leaves the test */
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] != '.' && !text_eq(entry->d_name, "phase") &&
            !text_eq(entry->d_name, "exit") && !text_eq(entry->d_name, "launch") &&
            !text_begins(entry->d_name, "log."))
            CHECK_TEXT(entry->d_name, "nothing");
    }
    closedir(dir);
}

struct output {
    int stream;
    struct str text;
};

static void take_line(enum cri_stream stream, const char *time, size_t n_time, const char *data,
                      size_t n, void *arg)
{
    struct output *output = arg;

    (void)time;
    (void)n_time;
    if ((int)stream == output->stream)
        str_add_bytes(&output->text, data, n);
}

char *rig_output(const struct attempt *attempt, int stream, size_t *n)
{
    CLEANUP(cri_decoder_fini) struct cri_decoder decoder = { 0 };
    struct output output = { stream, { 0 } };
    CLEANUP(freep) char *buf = mem_zero(1, 65536);
    struct log_piece piece = { 0 };
    struct err err = { 0 };
    uint64_t offset = 0;

    do {
        CHECK_OK(runtime_log_read(attempt->folder, offset, buf, 65536, &piece, &err), &err);
        cri_decode(&decoder, buf, piece.n, take_line, &output);
        offset = piece.offset + piece.n;
    } while (piece.n > 0);
    CHECK_EQ(decoder.n_bad_lines, 0);
    if (n)
        *n = output.text.len;
    return str_take(&output.text);
}

void rig_wait_output(const struct attempt *attempt, int stream, const char *text)
{
    int64_t until = deadline();

    for (;;) {
        CLEANUP(freep) char *output = rig_output(attempt, stream, NULL);
        if (strstr(output, text))
            return;
        look_again(until, text);
    }
}

void rig_wait_folder(struct rig *rig, const struct attempt *attempt, enum folder_state state,
                     struct inspection *out)
{
    int64_t until = deadline();
    struct err err = { 0 };

    for (;;) {
        CHECK_OK(runtime_inspect(rig->runtime, attempt->folder, out, &err), &err);
        if (out->state == state)
            return;
        look_again(until, "the folder's state");
    }
}

/* ---- what is left ---- */

static size_t count_lines(const char *path)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };
    size_t n = 0;

    CHECK_OK(file_read(AT_FDCWD, path, 1 << 22, &text, &err), &err);
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

/* Mounts in this rig's folder, and over the hierarchy that runtimes must not see: others come and
 * go with what runs beside the tests. */
static size_t count_mounts(const struct rig *rig)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };
    const char *hidden = rig->machine.controllers[CONTROLLER_UNIFIED].path;
    size_t n = 0;
    char *rest, *line;

    CHECK_OK(file_read(AT_FDCWD, "/proc/self/mountinfo", 1 << 22, &text, &err), &err);
    rest = text.data;
    while ((line = strsep(&rest, "\n")))
        n += strstr(line, rig->dir) || (*hidden && strstr(line, hidden));
    return n;
}

/* Counts groups, and what is in them. A process is counted once for each hierarchy. */
static size_t count_groups(const struct rig *rig, size_t *n_inside)
{
    size_t n = 0;

    *n_inside = 0;
    for (int i = 0; i < CONTROLLER_COUNT; i++) {
        CLEANUP(freep)
        char *path = text_format("%s/berth/%s", rig->machine.controllers[i].path, rig->node);
        DIR *dir = rig->machine.controllers[i].path[0] ? opendir(path) : NULL;
        struct dirent *entry;
        while (dir && (entry = readdir(dir))) {
            CLEANUP(freep) char *procs = text_format("%s/%s/cgroup.procs", path, entry->d_name);
            if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                continue;
            n++;
            *n_inside += count_lines(procs);
        }
        if (dir)
            closedir(dir);
    }
    return n;
}

/* Processes whose command line or working folder is of this rig: monitors, runtimes, containers. */
static size_t count_processes(const struct rig *rig)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    size_t n = 0;

    while ((entry = readdir(dir))) {
        char path[300], target[300];
        ssize_t got;
        snprintf(path, sizeof(path), "/proc/%s/cwd", entry->d_name);
        got = readlink(path, target, sizeof(target) - 1);
        if (got <= 0)
            continue;
        target[got] = '\0';
        n += text_begins(target, rig->dir);
    }
    closedir(dir);
    return n;
}

void rig_count(const struct rig *rig, struct leftovers *out)
{
    runtime_rest(rig->runtime); /* kept for the next container: not of this one */
    out->n_fds = test_count_fds();
    out->n_mounts = count_mounts(rig);
    out->n_groups = count_groups(rig, &out->n_in_groups);
    out->n_processes = count_processes(rig);
}

void rig_check_same(const struct leftovers *before, const struct leftovers *after)
{
    CHECK_EQ(after->n_fds, before->n_fds);
    CHECK_EQ(after->n_mounts, before->n_mounts);
    CHECK_EQ(after->n_groups, before->n_groups);
    CHECK_EQ(after->n_processes, before->n_processes);
    CHECK_EQ(after->n_in_groups, before->n_in_groups);
}

static bool is_running(pid_t pid)
{
    CLEANUP(freep) char *path = text_format("/proc/%d/stat", (int)pid);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[512];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *state;

    if (n <= 0)
        return false;
    text[n] = '\0';
    state = strrchr(text, ')');
    return state && state[2] != 'Z' && state[2] != 'X';
}

void rig_wait_gone(pid_t pid)
{
    int64_t until = deadline();

    while (is_running(pid))
        look_again(until, "the end of a process");
}

static const struct {
    const char *name;
    enum runtime_kind kind;
} kinds[] = {
    { "process", RUNTIME_PROCESS },
    { "crun", RUNTIME_CRUN },
    { "runc", RUNTIME_RUNC },
};

/* Holds what is there after a body against what was there before. */
static void run_clean(struct rig *rig, enum runtime_kind kind, rig_body_fn *body)
{
    struct leftovers before, after;

    rig_count(rig, &before);
    body(rig, kind);
    rig_count(rig, &after);
    rig_check_same(&before, &after);
}

void rig_each(rig_body_fn *body)
{
    struct rig rig;
    bool is_any = false;

    rig_open(&rig);
    ROW_EACH (c, kinds) {
        if (!rig.machine.runtimes[c->kind].is_usable) {
            print_message("not with %s: %s\n", c->name, rig.machine.runtimes[c->kind].why_not);
            continue;
        }
        is_any = true;
        run_clean(&rig, c->kind, body);
    }
    rig_close(&rig);
    if (!is_any)
        test_skip("no runtime is usable");
}

static void without_kill(struct machine *machine)
{
    machine->has_cgroup_kill = false;
}

static void without_groups(struct machine *machine)
{
    memset(machine->controllers, 0, sizeof(machine->controllers));
    machine->has_cgroup_kill = false;
    machine->cgroup_layout = CGROUP_NONE;
}

static const struct {
    const char *name;
    void (*change)(struct machine *machine);
} lesser[] = {
    { "no cgroup.kill", without_kill },
    { "no groups", without_groups },
};

void rig_each_lesser(rig_body_fn *const *bodies, size_t n)
{
    ROW_EACH (c, lesser) {
        struct rig rig;
        rig_open_as(&rig, c->change);
        for (size_t i = 0; i < n; i++)
            run_clean(&rig, RUNTIME_PROCESS, bodies[i]);
        rig_close(&rig);
    }
}

/* ---- an image ---- */

static void copy_file(const char *from, const char *to, mode_t mode)
{
    CLEANUP(str_fini) struct str data = { 0 };
    struct err err = { 0 };

    CHECK_OK(file_read(AT_FDCWD, from, 16 << 20, &data, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, to, data.data, data.len, mode, false, &err), &err);
}

const char *rig_busybox(struct rig *rig)
{
    static char image[128];
    static const char *const links[] = { "sh",  "true", "sleep", "cat", "dd",   "id", "mount",
                                         "env", "ls",   "yes",   "tr",  "head", "ip", "unshare" };
    CLEANUP(freep) char *bin = text_format("%s/busybox-root/bin", rig->dir);
    CLEANUP(freep) char *program = text_format("%s/busybox", bin);
    struct err err = { 0 };

    snprintf(image, sizeof(image), "dir:%s/busybox-root", rig->dir);
    if (access(program, F_OK) == 0)
        return image;
    if (access("/bin/busybox", X_OK) < 0)
        test_skip("busybox is not installed");
    CHECK_OK(file_make_dirs(bin, 0755, &err), &err);
    copy_file("/bin/busybox", program, 0755);
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        CLEANUP(freep) char *link = text_format("%s/%s", bin, links[i]);
        CHECK_EQ(symlink("busybox", link), 0);
    }
    return image;
}

/*
 * Prepare: all that comes before the start, phase by phase, each with its undo.
 *
 * Nothing made here outlives a failure or a cancel but `spec` and `phase`. What is made after
 * `note` can be found from it, so that a crash at any point leaves nothing that runtime_clean does
 * not find.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/inside.h"

enum {
    DEFAULT_NOFILE = 1024,
    DEFAULT_LOG_FILE = 16 << 20,
    DEFAULT_LOG_KEEP = 64 << 20,
    MOST_ID_BYTES = 100,
};

const char *const start_phase_words[START_PHASE_COUNT] = {
    [PHASE_IMAGE] = "image",     [PHASE_PORTS] = "ports",     [PHASE_BUNDLE] = "bundle",
    [PHASE_MOUNTS] = "mounts",   [PHASE_SPEC] = "spec",       [PHASE_ROOT] = "root",
    [PHASE_NETWORK] = "network", [PHASE_DEVICES] = "devices", [PHASE_PREPARE] = "prepare",
};

/* One preparation under way. */
struct preparation {
    struct runtime *rt;
    const struct container *container;
    const struct prepare_hooks *hooks;
    struct image image;
    struct str lines; /* of the file phase */
};

static void preparation_fini(struct preparation *p)
{
    image_fini(&p->image);
    str_fini(&p->lines);
}

static bool is_oci(const struct container *c)
{
    return c->runtime != RUNTIME_PROCESS;
}

static char *in_folder(const struct container *c, const char *name)
{
    return text_format("%s/%s", c->folder, name);
}

/* ---- what a container may ask ---- */

static int check_id(const struct container *c, struct err *err)
{
    size_t n = strspn(c->id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-");

    if (n == 0 || c->id[n] || n > MOST_ID_BYTES || c->id[0] == '.' || c->id[0] == '-')
        return err_set(err, -EINVAL, "id: \"%.40s\" is not [A-Za-z0-9.-]{1,100}", c->id);
    return 0;
}

static int check_env(const struct container *c, struct err *err)
{
    for (size_t i = 0; c->env && c->env[i]; i++) {
        const char *equals = strchr(c->env[i], '=');
        if (!equals || equals == c->env[i])
            return err_set(err, -EINVAL, "env: entry %zu is not NAME=VALUE: \"%.40s\"", i,
                           c->env[i]);
    }
    return 0;
}

/* "UID" or "UID:GID"; -1 where there is none. */
static int read_user(const char *user, int64_t *uid, int64_t *gid, struct err *err)
{
    char text[32];
    char *colon;

    *uid = *gid = -1;
    if (!user || !user[0])
        return 0;
    snprintf(text, sizeof(text), "%s", user);
    colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    if (strlen(user) >= sizeof(text) || text_to_int(text, 0, UINT32_MAX - 1, uid) < 0 ||
        (colon && text_to_int(colon + 1, 0, UINT32_MAX - 1, gid) < 0))
        return err_set(err, -EINVAL, "user: \"%.40s\" is not UID or UID:GID", user);
    return 0;
}

static int check_process(const struct container *c, struct err *err)
{
    if (is_oci(c))
        return 0;
    if (c->image && c->image[0])
        return err_set(err, -EINVAL, "image: runtime process runs on the node itself, without one");
    if (!c->command || !c->command[0] || !c->command[0][0])
        return err_set(err, -EINVAL, "command: runtime process needs one");
    if (c->read_only_root)
        return err_set(err, -EINVAL, "readOnlyRoot: runtime process has no root of its own");
    return 0;
}

static int check(struct runtime *rt, const struct container *c, struct err *err)
{
    int64_t uid, gid;
    int r = check_id(c, err);

    if (r == 0)
        r = check_env(c, err);
    if (r == 0)
        r = read_user(c->user, &uid, &gid, err);
    if (r == 0)
        r = check_process(c, err);
    if (r < 0)
        return r;
    if (c->folder[0] != '/')
        return err_set(err, -EINVAL, "folder: %s is not absolute", c->folder);
    if (c->work_dir && c->work_dir[0] && c->work_dir[0] != '/')
        return err_set(err, -EINVAL, "workDir: \"%.80s\" is not absolute", c->work_dir);
    if (!rt->machine.runtimes[c->runtime].is_usable)
        return err_set(err, -ENOTSUP, "runtime %s: %s", runtime_kind_words[c->runtime],
                       rt->machine.runtimes[c->runtime].why_not);
    return 0;
}

/* ---- the phases ---- */

static int do_image(struct preparation *p, enum detail *detail, struct err *err)
{
    const char *reference = p->container->image;

    if (!is_oci(p->container))
        return 0;
    *detail = DETAIL_IMAGE_ABSENT;
    if (!reference || !reference[0])
        return err_set(err, -EINVAL, "image: runtime %s needs one",
                       runtime_kind_words[p->container->runtime]);
    return image_get(p->rt, reference, p->hooks->is_cancelled, &p->image, detail, err);
}

static int make_folder(const struct container *c, const char *name, mode_t mode, struct err *err)
{
    CLEANUP(freep) char *path = in_folder(c, name);

    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "make %s", path);
    return 0;
}

static int do_bundle(struct preparation *p, enum detail *detail, struct err *err)
{
    static const char *const names[] = { "bundle", "bundle/root", "bundle/run" };
    int r = 0;

    *detail = DETAIL_RUNTIME_FAILED;
    for (size_t i = 0; is_oci(p->container) && i < COUNT_OF(names) && r == 0; i++)
        r = make_folder(p->container, names[i], i == 1 ? 0755 : 0700, err);
    return r;
}

static void remove_in(const struct container *c, const char *name)
{
    CLEANUP(freep) char *path = in_folder(c, name);
    struct err err = { 0 };

    if (file_remove_tree(AT_FDCWD, path, &err) < 0)
        return; /* the folder itself is cleaned again before it goes */
}

static void undo_bundle(struct preparation *p)
{
    if (is_oci(p->container))
        remove_in(p->container, "bundle");
}

static int do_spec(struct preparation *p, enum detail *detail, struct err *err)
{
    *detail = DETAIL_RUNTIME_FAILED;
    return is_oci(p->container) ? config_write(p->rt, p->container, &p->image, detail, err) : 0;
}

static int do_root(struct preparation *p, enum detail *detail, struct err *err)
{
    int r;

    *detail = DETAIL_MOUNT_FAILED;
    if (!is_oci(p->container))
        return 0;
    /* Also of a read-only root: the runtime makes places for mounts in it. What an overlay shows as
     * its root has the mode of its upper folder. */
    r = make_folder(p->container, "upper", 0755, err);
    return r < 0 ? r : make_folder(p->container, "work", 0700, err);
}

static void undo_root(struct preparation *p)
{
    if (!is_oci(p->container))
        return;
    remove_in(p->container, "upper");
    remove_in(p->container, "work");
}

/* ---- the last phase: groups, and what the monitor is told ---- */

static void add_list(struct str *launch, const char *key, const char *const *list)
{
    for (; list && *list; list++)
        launch_add(launch, key, *list);
}

static void add_process(const struct container *c, struct str *launch)
{
    struct err err = { 0 };
    int64_t uid, gid;

    add_list(launch, "arg", c->command);
    add_list(launch, "arg", c->args);
    add_list(launch, "env", c->env);
    launch_add(launch, "workDir", c->work_dir && c->work_dir[0] ? c->work_dir : "/");
    launch_add_int(launch, "nofile", c->nofile > 0 ? c->nofile : DEFAULT_NOFILE);
    if (read_user(c->user, &uid, &gid, &err) == 0 && uid >= 0) {
        launch_add_int(launch, "uid", uid);
        launch_add_int(launch, "gid", gid >= 0 ? gid : uid);
    }
    if (c->network == NETWORK_NONE)
        launch_add(launch, "ownNetwork", "1");
}

/* The root is mounted by the monitor's child, in a mount namespace that ends with the runtime. */
static int add_mount(const struct preparation *p, struct str *launch, struct err *err)
{
    const struct container *c = p->container;
    CLEANUP(freep) char *at = in_folder(c, "bundle/root");
    CLEANUP(freep) char *data = NULL;

    launch_add(launch, "mountAt", at);
    if (strpbrk(p->image.root, ":,\\") || strpbrk(c->folder, ":,\\"))
        return err_set(err, -EINVAL, "overlay: a path with ':', ',' or '\\': %s", p->image.root);
    data = text_format("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", p->image.root, c->folder,
                       c->folder);
    launch_add(launch, "mountData", data);
    return 0;
}

static int add_runtime(const struct preparation *p, struct str *launch, struct err *err)
{
    const struct container *c = p->container;
    const struct machine *machine = &p->rt->machine;
    CLEANUP(freep) char *bundle = in_folder(c, "bundle");
    CLEANUP(freep) char *run = in_folder(c, "bundle/run");
    CLEANUP(freep) char *pid = in_folder(c, "bundle/pid");
    bool is_crun = c->runtime == RUNTIME_CRUN;
    const char *const args[] = {
        machine->runtimes[c->runtime].path, "--root", run,
        is_crun ? "--cgroup-manager=cgroupfs" : NULL, /* runc knows no other */
    };

    launch_add(launch, "program", machine->runtimes[c->runtime].path);
    for (size_t i = 0; i < COUNT_OF(args); i++) {
        if (args[i])
            launch_add(launch, "arg", args[i]);
    }
    add_list(
        launch, "arg",
        (const char *const[]){ "run", "-d", "--bundle", bundle, "--pid-file", pid, c->id, NULL });
    launch_add(launch, "env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    if (is_crun && machine->cgroup_layout == CGROUP_HYBRID)
        launch_add(launch, "hide", machine->controllers[CONTROLLER_UNIFIED].path);
    return add_mount(p, launch, err);
}

static void add_common(const struct preparation *p, struct str *launch)
{
    const struct container *c = p->container;

    launch_add(launch, "boot", p->rt->machine.boot_id);
    launch_add(launch, "id", c->id);
    launch_add(launch, "runtime", runtime_kind_words[c->runtime]);
    launch_add(launch, "node", p->rt->node);
    launch_add(launch, "lease", p->rt->lease_path);
    launch_add(launch, "keep", c->keep_on_disconnect ? "1" : "0");
    launch_add_int(launch, "graceMs", c->grace_ms);
    if (c->limit_ms > 0)
        launch_add_int(launch, "limitMs", c->limit_ms);
    launch_add_int(launch, "logLines", c->log_lines_per_hour);
    launch_add_int(launch, "logFile", c->log_file_bytes > 0 ? c->log_file_bytes : DEFAULT_LOG_FILE);
    launch_add_int(launch, "logKeep", c->log_keep_bytes > 0 ? c->log_keep_bytes : DEFAULT_LOG_KEEP);
}

static int write_launch(const struct container *c, const struct str *launch, struct err *err)
{
    CLEANUP(freep) char *path = in_folder(c, "launch");
    /* It holds the environment, and secrets may be in that. */
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : file_overwrite(fd, launch->data, launch->len);

    return r < 0 ? err_sys(err, r, "write %s", path) : 0;
}

static int do_prepare(struct preparation *p, enum detail *detail, struct err *err)
{
    const struct container *c = p->container;
    CLEANUP(str_fini) struct str launch = { 0 };
    int r = 0;

    *detail = DETAIL_RUNTIME_FAILED;
    add_common(p, &launch);
    if (is_oci(c))
        r = add_runtime(p, &launch, err);
    else
        add_process(c, &launch);
    group_say(p->rt, c, &launch);
    if (r == 0)
        r = write_launch(c, &launch, err); /* first: what is made now can be found by it */
    return r < 0 ? r : group_make(p->rt, c, err);
}

static void undo_prepare(struct preparation *p)
{
    struct err err = { 0 };

    if (group_end(p->rt, p->container->id, p->container->runtime, &err) < 0)
        return; /* nothing was started in it; launch stays, and so it can be found */
    remove_in(p->container, "launch");
}

/* ---- one after another ---- */

/* Ports, mounts, network and devices have no work yet: host network or none, no volumes, no
 * devices. They are phases all the same, so that the times of a start tile and hooks see each. */
static const struct {
    int (*run)(struct preparation *, enum detail *, struct err *);
    void (*undo)(struct preparation *);
} phases[START_PHASE_COUNT] = {
    [PHASE_IMAGE] = { do_image, NULL },
    [PHASE_PORTS] = { NULL, NULL },
    [PHASE_BUNDLE] = { do_bundle, undo_bundle },
    [PHASE_MOUNTS] = { NULL, NULL },
    [PHASE_SPEC] = { do_spec, NULL },
    [PHASE_ROOT] = { do_root, undo_root },
    [PHASE_NETWORK] = { NULL, NULL },
    [PHASE_DEVICES] = { NULL, NULL },
    [PHASE_PREPARE] = { do_prepare, undo_prepare },
};

static const enum detail failing_hook[START_PHASE_COUNT] = {
    [PHASE_IMAGE] = DETAIL_IMAGE_ABSENT,     [PHASE_PORTS] = DETAIL_PORT_TAKEN,
    [PHASE_BUNDLE] = DETAIL_RUNTIME_FAILED,  [PHASE_MOUNTS] = DETAIL_MOUNT_FAILED,
    [PHASE_SPEC] = DETAIL_RUNTIME_FAILED,    [PHASE_ROOT] = DETAIL_MOUNT_FAILED,
    [PHASE_NETWORK] = DETAIL_RUNTIME_FAILED, [PHASE_DEVICES] = DETAIL_DEVICE_SETUP_FAILED,
    [PHASE_PREPARE] = DETAIL_RUNTIME_FAILED,
};

static void note_phase(struct preparation *p, enum start_phase phase, const char *word,
                       int64_t took_us)
{
    if (phases[phase].run)
        str_addf(&p->lines, "%s %s %lld\n", start_phase_words[phase], word, (long long)took_us);
}

/* For people; nothing depends on it. */
static void write_phases(const struct preparation *p)
{
    CLEANUP(freep) char *path = in_folder(p->container, "phase");
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

    if (fd < 0 || file_write_all(fd, str_text(&p->lines), p->lines.len) < 0)
        return;
}

static bool is_cancelled(const struct preparation *p)
{
    return p->hooks->is_cancelled && atomic_load(p->hooks->is_cancelled);
}

static int run_phase(struct preparation *p, enum start_phase phase, enum detail *detail,
                     struct err *err)
{
    int64_t began_us = clock_boot_us(&clock_system);
    struct phase_report report = { .phase = phase, .began_ms = began_us / 1000 };
    int hook = p->hooks->begin ? p->hooks->begin(p->hooks->ctx, phase) : 0;
    int r = 0;

    *detail = failing_hook[phase];
    if (hook < 0)
        r = err_sys(err, hook, "%s", start_phase_words[phase]);
    else if (is_cancelled(p))
        r = err_set(err, -ECANCELED, "cancelled in phase %s", start_phase_words[phase]);
    else if (phases[phase].run)
        r = phases[phase].run(p, detail, err);
    report.is_ok = r == 0;
    report.took_us = clock_boot_us(&clock_system) - began_us;
    if (phase == PHASE_IMAGE) {
        report.bytes = p->image.bytes;
        report.is_cache_hit = p->image.is_cache_hit;
    }
    note_phase(p, phase, r == 0 ? "done" : "failed", report.took_us);
    hook = p->hooks->end ? p->hooks->end(p->hooks->ctx, &report) : 0;
    if (r == 0 && hook < 0) {
        *detail = failing_hook[phase];
        r = err_sys(err, hook, "%s", start_phase_words[phase]);
    }
    return r;
}

static void undo_from(struct preparation *p, int phase)
{
    for (; phase >= 0; phase--) {
        if (!phases[phase].undo)
            continue;
        phases[phase].undo(p);
        note_phase(p, (enum start_phase)phase, "undone", 0);
    }
}

int runtime_prepare(struct runtime *rt, const struct container *container,
                    const struct prepare_hooks *hooks, enum detail *detail, struct err *err)
{
    static const struct prepare_hooks no_hooks;
    CLEANUP(preparation_fini)
    struct preparation p = { rt, container, hooks ? hooks : &no_hooks, { 0 }, { 0 } };
    enum detail why = DETAIL_RUNTIME_FAILED;
    int phase = 0, r = check(rt, container, err);

    if (r < 0) {
        *detail = why;
        return r;
    }
    for (; r == 0 && phase < START_PHASE_COUNT; phase++)
        r = run_phase(&p, (enum start_phase)phase, &why, err);
    /* A cancel that came during the last phase counts too. */
    if (r == 0 && is_cancelled(&p))
        r = err_set(err, -ECANCELED, "cancelled after the last phase");
    if (r < 0) {
        undo_from(&p, phase - 1);
        write_phases(&p); /* the times of one that went well are in the report of its start */
        *detail = r == -ECANCELED ? DETAIL_NONE : why;
    }
    return r;
}

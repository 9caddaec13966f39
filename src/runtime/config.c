/*
 * Config: a container's config.json, from the image's configuration, the job and the node.
 *
 * Source: OCI runtime specification 1.0.2. What every container gets is one constant text below;
 * what differs is set in code.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "runtime/inside.h"

#define DEFAULT_DIRS "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define DEFAULT_PATH "PATH=" DEFAULT_DIRS

enum { DEFAULT_NOFILE = 1024 };

/* Namespaces but the network's; paths that tell of the machine; devices as the runtimes'
 * default. */
static const char base_text[] =
    "{\"ociVersion\":\"1.0.2\",\"mounts\":["
    "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
    "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":"
    "[\"nosuid\",\"strictatime\",\"mode=755\",\"size=65536k\"]},"
    "{\"destination\":\"/dev/pts\",\"type\":\"devpts\",\"source\":\"devpts\",\"options\":"
    "[\"nosuid\",\"noexec\",\"newinstance\",\"ptmxmode=0666\",\"mode=0620\",\"gid=5\"]},"
    "{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\",\"source\":\"shm\",\"options\":"
    "[\"nosuid\",\"noexec\",\"nodev\",\"mode=1777\",\"size=65536k\"]},"
    "{\"destination\":\"/dev/mqueue\",\"type\":\"mqueue\",\"source\":\"mqueue\",\"options\":"
    "[\"nosuid\",\"noexec\",\"nodev\"]},"
    "{\"destination\":\"/sys\",\"type\":\"sysfs\",\"source\":\"sysfs\",\"options\":"
    "[\"nosuid\",\"noexec\",\"nodev\",\"ro\"]}],"
    "\"linux\":{\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]},"
    "\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"},{\"type\":\"ipc\"},{\"type\":\"uts\"}]"
    ","
    "\"maskedPaths\":[\"/proc/acpi\",\"/proc/asound\",\"/proc/kcore\",\"/proc/keys\","
    "\"/proc/latency_stats\",\"/proc/timer_list\",\"/proc/timer_stats\",\"/proc/sched_debug\","
    "\"/proc/scsi\",\"/sys/firmware\"],"
    "\"readonlyPaths\":[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\","
    "\"/proc/sysrq-trigger\"]}}";

/* As Docker's default set: what programs that run as root in an image are used to. */
static const char *const capabilities[] = {
    "CAP_CHOWN",   "CAP_DAC_OVERRIDE", "CAP_FSETID",           "CAP_FOWNER",
    "CAP_MKNOD",   "CAP_NET_RAW",      "CAP_SETGID",           "CAP_SETUID",
    "CAP_SETFCAP", "CAP_SETPCAP",      "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT",
    "CAP_KILL",    "CAP_AUDIT_WRITE",
};

/*
 * Refused with EPERM: what changes the machine, reaches out of the container, or is a large attack
 * surface that programs in containers do without. Only the machine's own architecture may be
 * called.
 */
static const char *const refused_calls[] = {
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mbind",
    "migrate_pages",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "name_to_handle_at",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_vm_readv",
    "process_vm_writev",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "set_mempolicy",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
#if defined(__x86_64__)
    "_sysctl",
    "create_module",
    "get_kernel_syms",
    "ioperm",
    "iopl",
    "query_module",
    "sysfs",
    "uselib",
    "ustat",
#endif
};

#if defined(__x86_64__)
#define NATIVE_ARCH "SCMP_ARCH_X86_64"
#elif defined(__aarch64__)
#define NATIVE_ARCH "SCMP_ARCH_AARCH64"
#else
#error "say which architecture seccomp is to allow"
#endif

static json_t *list_of(const char *const *list, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_string(list[i]));
    return array;
}

static json_t *make_seccomp(void)
{
    /* A new namespace of any kind is refused; clone3 hides its flags in memory, so it is said to be
     * missing, and libraries fall back to clone. */
    static const unsigned flags[] = { 0x00020000, 0x02000000, 0x04000000, 0x08000000,
                                      0x10000000, 0x20000000, 0x40000000 };
    json_t *calls = json_array();

    json_array_append_new(calls, json_pack("{s:o,s:s,s:i}", "names",
                                           list_of(refused_calls, COUNT_OF(refused_calls)),
                                           "action", "SCMP_ACT_ERRNO", "errnoRet", EPERM));
    json_array_append_new(calls, json_pack("{s:[s],s:s,s:i}", "names", "clone3", "action",
                                           "SCMP_ACT_ERRNO", "errnoRet", ENOSYS));
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        json_array_append_new(calls,
                              json_pack("{s:[s],s:s,s:i,s:[{s:i,s:I,s:I,s:s}]}", "names", "clone",
                                        "action", "SCMP_ACT_ERRNO", "errnoRet", EPERM, "args",
                                        "index", 0, "value", (json_int_t)flags[i], "valueTwo",
                                        (json_int_t)flags[i], "op", "SCMP_CMP_MASKED_EQ"));
    return json_pack("{s:s,s:[s],s:o}", "defaultAction", "SCMP_ACT_ALLOW", "architectures",
                     NATIVE_ARCH, "syscalls", calls);
}

/* ---- the process ---- */

/* Adds each entry of a list; an entry with the name of an earlier one takes its place. */
static void merge_env(json_t *env, const char *const *list)
{
    for (; list && *list; list++) {
        size_t n = (size_t)(strchrnul(*list, '=') - *list), i;
        for (i = 0; i < json_array_size(env); i++) {
            const char *other = json_string_value(json_array_get(env, i));
            if (!strncmp(other, *list, n) && other[n] == '=')
                break;
        }
        /* json_stringn would refuse bytes that are no UTF-8: then the entry is refused by the
         * caller */
        if (i < json_array_size(env))
            json_array_set_new(env, i, json_string(*list));
        else
            json_array_append_new(env, json_string(*list));
    }
}

static void append_list(json_t *array, const char *const *list)
{
    for (; list && *list; list++)
        json_array_append_new(array, json_string(*list));
}

static bool is_empty(const char *const *list)
{
    return !list || !list[0];
}

/* The job's command replaces entry point and cmd; its args alone replace cmd. */
static json_t *make_args(const struct container *c, const struct image *image)
{
    json_t *args = json_array();
    bool has_command = !is_empty(c->command), has_args = !is_empty(c->args);

    append_list(args, has_command ? c->command : (const char *const *)image->entrypoint);
    if (has_args)
        append_list(args, c->args);
    else if (!has_command)
        append_list(args, (const char *const *)image->cmd);
    return args;
}

static int open_in_root(const char *root, const char *path, uint64_t flags)
{
    CLEANUP(closep) int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
    long fd = dir < 0 ? -1 : syscall(SYS_openat2, dir, path, &how, sizeof(how));

    return fd < 0 ? -errno : (int)fd;
}

/* The fields of a user's line in the image's own passwd. */
static bool find_user(const char *root, const char *name, uint32_t *uid, uint32_t *gid)
{
    CLEANUP(closep) int fd = open_in_root(root, "/etc/passwd", O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char line[1024];
    size_t n = strlen(name);
    bool is_found = false;

    if (!file)
        return false;
    fd = -1;
    while (!is_found && fgets(line, sizeof(line), file)) {
        char *at = line + n;
        if (strncmp(line, name, n) != 0 || *at != ':')
            continue;
        at = strchr(at + 1, ':');
        is_found = at && sscanf(at, ":%u:%u:", uid, gid) == 2;
    }
    fclose(file);
    return is_found;
}

/* "UID", "UID:GID", or a name of the image's passwd. */
static int read_user(const struct image *image, const char *user, uint32_t *uid, uint32_t *gid,
                     struct err *err)
{
    CLEANUP(freep) char *name = text_copy(user);
    char *group = strchr(name, ':');
    int64_t number;

    *uid = *gid = 0;
    if (group)
        *group++ = '\0';
    if (text_to_int(name, 0, UINT32_MAX - 1, &number) == 0)
        *uid = (uint32_t)number;
    else if (name[0] && !find_user(image->root, name, uid, gid))
        return err_set(err, -EINVAL, "user: \"%.60s\" is not in the image's /etc/passwd", name);
    if (group && text_to_int(group, 0, UINT32_MAX - 1, &number) == 0)
        *gid = (uint32_t)number;
    else if (group && group[0])
        return err_set(err, -EINVAL, "user: group \"%.60s\" is not a number", group);
    return 0;
}

static json_t *make_rlimits(const struct container *c)
{
    struct rlimit own = { 1024, 1024 };
    json_int_t soft = c->nofile > 0 ? c->nofile : DEFAULT_NOFILE, hard;

    /* Asking for more than one's own hard limit fails the start where CAP_SYS_RESOURCE is
     * missing. */
    getrlimit(RLIMIT_NOFILE, &own);
    hard = own.rlim_max > INT32_MAX ? INT32_MAX : (json_int_t)own.rlim_max;
    return json_pack("[{s:s,s:I,s:I}]", "type", "RLIMIT_NOFILE", "soft", soft < hard ? soft : hard,
                     "hard", hard);
}

static json_t *make_capabilities(bool is_root)
{
    json_t *all = list_of(capabilities, COUNT_OF(capabilities)), *sets = json_object();

    json_object_set(sets, "bounding", all);
    if (is_root) {
        json_object_set(sets, "effective", all);
        json_object_set(sets, "permitted", all);
    }
    json_decref(all);
    return sets;
}

/* ---- is the command there? ---- */

static int look_at(const char *root, const char *path)
{
    CLEANUP(closep) int fd = open_in_root(root, path, O_PATH);
    struct stat st;

    if (fd < 0)
        return fd == -ENOTDIR ? -ENOENT : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) && (st.st_mode & 0111) ? 0 : -EACCES;
}

/* Looks for a name in the PATH that the command will have. */
static int look_in_path(const char *root, const char *name, const json_t *env)
{
    CLEANUP(freep) char *dirs = text_copy(DEFAULT_DIRS);
    char *rest, *dir;
    int found = -ENOENT;

    for (size_t i = 0; i < json_array_size(env); i++) {
        const char *entry = json_string_value(json_array_get(env, i));
        if (!text_begins(entry, "PATH="))
            continue;
        mem_free(dirs);
        dirs = text_copy(entry + strlen("PATH="));
    }
    rest = dirs;
    while ((dir = strsep(&rest, ":"))) {
        CLEANUP(freep) char *path = text_format("%s/%s", dir, name);
        int r = dir[0] ? look_at(root, path) : -ENOENT;
        if (r == 0)
            return 0;
        if (r == -EACCES)
            found = r;
    }
    return found;
}

/* Says beforehand, with the right word, what the runtime would say in its own. */
static int check_command(const struct image *image, const char *cwd, const json_t *args,
                         const json_t *env, enum detail *detail, struct err *err)
{
    const char *name = json_string_value(json_array_get(args, 0));
    CLEANUP(freep) char *path = NULL;
    int r;

    if (!name || !name[0]) {
        *detail = DETAIL_COMMAND_NOT_FOUND;
        return err_set(err, -EINVAL, "command: none is given, and the image names none");
    }
    path = name[0] == '/' ? text_copy(name) : text_format("%s/%s", cwd, name);
    r = strchr(name, '/') ? look_at(image->root, path) : look_in_path(image->root, name, env);
    if (r == 0)
        return 0;
    *detail = r == -EACCES ? DETAIL_COMMAND_NOT_EXECUTABLE : DETAIL_COMMAND_NOT_FOUND;
    return err_sys(err, r, "command %.120s", name);
}

static int make_process(const struct container *c, const struct image *image, json_t **out,
                        enum detail *detail, struct err *err)
{
    const char *user = c->user && c->user[0] ? c->user : image->user;
    const char *cwd = c->work_dir && c->work_dir[0] ? c->work_dir
                      : image->work_dir[0]          ? image->work_dir
                                                    : "/";
    static const char *const first[] = { DEFAULT_PATH, NULL };
    json_t *args = make_args(c, image), *env = json_array();
    uint32_t uid, gid;
    int r = read_user(image, user, &uid, &gid, err);

    merge_env(env, first);
    merge_env(env, (const char *const *)image->env);
    merge_env(env, c->env);
    if (r == 0)
        r = check_command(image, cwd, args, env, detail, err);
    if (r < 0) {
        json_decref(args);
        json_decref(env);
        return r;
    }
    *out = json_pack("{s:b,s:{s:I,s:I},s:o,s:o,s:s,s:o,s:o,s:b}", "terminal", 0, "user", "uid",
                     (json_int_t)uid, "gid", (json_int_t)gid, "args", args, "env", env, "cwd", cwd,
                     "capabilities", make_capabilities(uid == 0), "rlimits", make_rlimits(c),
                     "noNewPrivileges", 1);
    return *out ? 0
                : err_set(err, -EINVAL, "command, env or workDir holds bytes that are no UTF-8");
}

/* ---- the rest ---- */

static void set_resources(json_t *resources, const struct container *c)
{
    if (c->memory_bytes > 0)
        json_object_set_new(resources, "memory",
                            json_pack("{s:I,s:I}", "limit", (json_int_t)c->memory_bytes, "swap",
                                      (json_int_t)c->memory_bytes));
    if (c->cpu_milli > 0) {
        json_int_t quota = cpu_quota_us(c->cpu_milli);
        json_object_set_new(resources, "cpu",
                            json_pack("{s:I,s:i}", "quota", quota, "period", CPU_PERIOD_US));
    }
    if (c->pids > 0)
        json_object_set_new(resources, "pids", json_pack("{s:I}", "limit", (json_int_t)c->pids));
}

/* Names are looked up as the node does it, where the node's network is used. */
static void add_host_files(json_t *mounts)
{
    static const char *const files[] = { "/etc/resolv.conf", "/etc/hosts" };

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (access(files[i], R_OK) == 0)
            json_array_append_new(mounts,
                                  json_pack("{s:s,s:s,s:s,s:[s,s,s,s,s]}", "destination", files[i],
                                            "type", "bind", "source", files[i], "options", "bind",
                                            "ro", "nosuid", "nodev", "noexec"));
    }
}

static void set_rest(const struct runtime *rt, const struct container *c, json_t *config)
{
    json_t *linux_part = json_object_get(config, "linux");
    CLEANUP(freep) char *groups = text_format("/berth/%s/%s", rt->node, c->id);
    char hostname[64];

    snprintf(hostname, sizeof(hostname), "%.63s", c->id);
    json_object_set_new(config, "hostname", json_string(hostname));
    json_object_set_new(config, "root",
                        json_pack("{s:s,s:b}", "path", "root", "readonly", c->read_only_root));
    json_object_set_new(linux_part, "cgroupsPath", json_string(groups));
    json_object_set_new(linux_part, "seccomp", make_seccomp());
    set_resources(json_object_get(linux_part, "resources"), c);
    if (c->network == NETWORK_NONE)
        json_array_append_new(json_object_get(linux_part, "namespaces"),
                              json_pack("{s:s}", "type", "network"));
    else
        add_host_files(json_object_get(config, "mounts"));
}

int config_write(const struct runtime *rt, const struct container *c, const struct image *image,
                 enum detail *detail, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/bundle/config.json", c->folder);
    CLEANUP(freep) char *text = NULL;
    CLEANUP(closep) int fd = -1;
    json_t *config, *process = NULL;
    int r = make_process(c, image, &process, detail, err);

    if (r < 0)
        return r;
    config = json_loads(base_text, 0, NULL);
    json_object_set_new(config, "process", process);
    set_rest(rt, c, config);
    text = json_dumps(config, JSON_COMPACT);
    json_decref(config);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
    return r < 0 ? err_sys(err, r, "write %s", path) : 0;
}

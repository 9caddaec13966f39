/* Launch: see launch.h. KEY=VALUE records, each ended by NUL; the writer is runtime/launch.c. */
#include "monitor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 4 << 20 };

/* The last record, written by the monitor. runtime/note.c knows it too. */
#define LAUNCH_BEGUN "begun=1"

/* A lock of the process: it goes when the process does, and by F_GETLK others see whose it is. */
static int open_and_lock(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open("launch", O_RDWR | O_APPEND | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fcntl(fd, F_SETLK, &lock) < 0) {
        close(fd);
        return -EBUSY;
    }
    return fd;
}

static int read_all(struct launch *out, size_t *out_n)
{
    struct stat st;
    ssize_t n;

    if (fstat(out->fd, &st) < 0 || st.st_size > MOST_BYTES)
        return -E2BIG;
    out->buf = malloc((size_t)st.st_size + 1);
    if (!out->buf)
        return -ENOMEM;
    n = read(out->fd, out->buf, (size_t)st.st_size);
    if (n != st.st_size || n == 0 || out->buf[n - 1])
        return -EBADMSG;
    out->buf[n] = '\0';
    *out_n = (size_t)n;
    return 0;
}

static int mark_begun(const struct launch *launch, size_t n)
{
    const size_t mark_n = sizeof(LAUNCH_BEGUN);

    if (n >= mark_n && !memcmp(launch->buf + n - mark_n, LAUNCH_BEGUN, mark_n))
        return -EBUSY;
    return write(launch->fd, LAUNCH_BEGUN, mark_n) == (ssize_t)mark_n ? 0 : -ENOSPC;
}

/* How many records begin with this key, for the size of a list. */
static size_t count(const char *buf, size_t n, const char *key)
{
    size_t key_n = strlen(key), found = 0;

    for (const char *at = buf; at < buf + n; at += strlen(at) + 1)
        found += !strncmp(at, key, key_n) && at[key_n] == '=';
    return found;
}

struct field {
    const char *key;
    const char **text;
    int64_t *number;
    bool *flag;
};

static int set_field(const struct field *fields, const char *key, size_t key_n, const char *value)
{
    for (const struct field *f = fields; f->key; f++) {
        if (strncmp(f->key, key, key_n) != 0 || f->key[key_n])
            continue;
        if (f->text)
            *f->text = value;
        else if (f->number)
            *f->number = strtoll(value, NULL, 10);
        else
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) a field has one of the three */
            *f->flag = value[0] == '1';
        return 0;
    }
    return -EBADMSG; /* a key of another version: better no start than half of one */
}

static int read_records(struct launch *out, const char *buf, size_t n)
{
    const char *for_clean_up;
    int64_t uid = -1, gid = -1;
    size_t n_args = 0, n_env = 0, n_groups = 0;
    const struct field fields[] = {
        { "boot", &for_clean_up, NULL, NULL },
        { "id", &out->id, NULL, NULL },
        { "runtime", &for_clean_up, NULL, NULL },
        { "node", &for_clean_up, NULL, NULL },
        { "program", &out->program, NULL, NULL },
        { "workDir", &out->work_dir, NULL, NULL },
        { "uid", NULL, &uid, NULL },
        { "gid", NULL, &gid, NULL },
        { "nofile", NULL, &out->nofile, NULL },
        { "ownNetwork", NULL, NULL, &out->has_own_network },
        { "procs", &out->procs_group, NULL, NULL },
        { "kill", &out->kill_group, NULL, NULL },
        { "freezer", &out->freezer_group, NULL, NULL },
        { "memory", &out->memory_group, NULL, NULL },
        { "cpu", &out->cpu_group, NULL, NULL },
        { "mountData", &out->mount_data, NULL, NULL },
        { "mountAt", &out->mount_at, NULL, NULL },
        { "hide", &out->hide, NULL, NULL },
        { "lease", &out->lease, NULL, NULL },
        { "keep", NULL, NULL, &out->is_kept },
        { "graceMs", NULL, &out->grace_ms, NULL },
        { "limitMs", NULL, &out->limit_ms, NULL },
        { "logLines", NULL, &out->log_lines_per_hour, NULL },
        { "logFile", NULL, &out->log_file_bytes, NULL },
        { "logKeep", NULL, &out->log_keep_bytes, NULL },
        { NULL, NULL, NULL, NULL },
    };

    for (const char *at = buf; at < buf + n; at += strlen(at) + 1) {
        const char *value = strchr(at, '=');
        size_t key_n = value ? (size_t)(value - at) : 0;
        if (!value)
            return -EBADMSG;
        value++;
        if (key_n == 3 && !memcmp(at, "arg", 3))
            out->args[n_args++] = value;
        else if (key_n == 3 && !memcmp(at, "env", 3))
            out->env[n_env++] = value;
        else if (key_n == 5 && !memcmp(at, "group", 5) && n_groups < LAUNCH_MAX_GROUPS)
            out->groups[n_groups++] = value;
        else if (set_field(fields, at, key_n, value) < 0)
            return -EBADMSG;
    }
    out->has_user = uid >= 0;
    out->uid = (uid_t)uid;
    out->gid = (gid_t)(gid >= 0 ? gid : uid);
    return out->id && out->args[0] ? 0 : -EBADMSG;
}

int launch_take(struct launch *out)
{
    size_t n = 0;
    int r;

    memset(out, 0, sizeof(*out));
    out->fd = open_and_lock();
    if (out->fd < 0)
        return out->fd;
    r = read_all(out, &n);
    if (r == 0)
        r = mark_begun(out, n);
    if (r < 0)
        return r;
    out->args = calloc(count(out->buf, n, "arg") + 1, sizeof(*out->args));
    out->env = calloc(count(out->buf, n, "env") + 1, sizeof(*out->env));
    if (!out->args || !out->env)
        return -ENOMEM;
    return read_records(out, out->buf, n);
}

void launch_fini(struct launch *launch)
{
    if (launch->fd >= 0)
        close(launch->fd);
    free(launch->buf);
    free(launch->args);
    free(launch->env);
    memset(launch, 0, sizeof(*launch));
    launch->fd = -1;
}

/* Launch: see launch.h. KEY=VALUE records, each ended by NUL; the writer is runtime/launch.c. */
#include "monitor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 4 << 20 };

static int read_all(char **out, size_t *out_n)
{
    int fd = open("launch", O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *buf;
    ssize_t n;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || st.st_size > MOST_BYTES) {
        close(fd);
        return -E2BIG;
    }
    buf = malloc((size_t)st.st_size + 1);
    if (!buf) {
        close(fd);
        return -ENOMEM;
    }
    n = read(fd, buf, (size_t)st.st_size);
    close(fd);
    if (n != st.st_size || n == 0 || buf[n - 1]) {
        free(buf);
        return -EBADMSG;
    }
    buf[n] = '\0';
    *out = buf;
    *out_n = (size_t)n;
    return 0;
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

int launch_read(struct launch *out)
{
    char *buf = NULL;
    size_t n = 0;
    int r = read_all(&buf, &n);

    if (r < 0)
        return r;
    memset(out, 0, sizeof(*out));
    out->args = calloc(count(buf, n, "arg") + 1, sizeof(*out->args));
    out->env = calloc(count(buf, n, "env") + 1, sizeof(*out->env));
    if (!out->args || !out->env)
        return -ENOMEM;
    return read_records(out, buf, n);
}

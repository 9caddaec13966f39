/*
 * Dev: see dev.h and client_dev_announce in client.h. One small file in a folder that only this
 * user can write to; folder and file must be owned by this user and closed to others, or they do
 * not count: what they say decides where a token is sent.
 */
#include "client/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "client/client.h"

enum { DEV_FILE_MAX_BYTES = 8192 };

/* The i-th folder that may hold dev.json, or NULL behind the last; yours. One that is named is the
 * only one. */
static char *folder_at(int i)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *only = getenv("BERTH_RUN_DIR");

    if (only && *only == '/')
        return i == 0 ? text_copy(only) : NULL;
    switch (i) {
    case 0:
        return text_format("%s/berth", run && *run == '/' ? run : "/nonexistent");
    case 1:
        return text_format("/run/user/%u/berth", (unsigned)geteuid());
    case 2:
        return text_format("/tmp/berth-%u", (unsigned)geteuid());
    default:
        return NULL;
    }
}

/* Opens the folder if it is a real one of ours and nobody else can write to it; -1 otherwise. */
static int open_folder(const char *folder)
{
    CLEANUP(closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int taken = fd;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 022)
        return -1;
    fd = -1;
    return taken;
}

/* Opens the folder, made if its parent is there. */
static int make_folder(const char *folder)
{
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return -1;
    return open_folder(folder);
}

int client_dev_announce(const char *addr, const char *token_path, struct err *err)
{
    json_t *object =
        json_pack("{s:s, s:s, s:i}", "addr", addr, "tokenPath", token_path, "pid", (int)getpid());
    CLEANUP(freep) char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

    json_decref(object);
    if (!text)
        return err_set(err, -EINVAL, "announce %s: not UTF-8", addr);
    for (int i = 0;; i++) {
        CLEANUP(freep) char *folder = folder_at(i);
        if (!folder)
            break;
        CLEANUP(closep) int fd = make_folder(folder);
        if (fd >= 0)
            return file_write(fd, "dev.json", text, strlen(text), 0600, false, err);
    }
    return err_set(err, -ENOENT,
                   "announce %s: no folder of this user can be had under "
                   "$XDG_RUNTIME_DIR, /run/user or /tmp",
                   addr);
}

/* Reads dev.json of a folder; NULL if there is none that counts. Yours to json_decref. */
static json_t *read_folder(const char *folder)
{
    CLEANUP(closep) int dir = open_folder(folder);
    CLEANUP(closep) int fd = -1;
    struct stat st;
    char text[DEV_FILE_MAX_BYTES];
    ssize_t n;

    if (dir < 0)
        return NULL;
    fd = openat(dir, "dev.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_mode & 077)
        return NULL;
    n = read(fd, text, sizeof(text));
    return n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
}

static bool is_alive(const json_t *object)
{
    json_int_t pid = json_integer_value(json_object_get(object, "pid"));

    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

void client_dev_withdraw(void)
{
    CLEANUP(freep) char *folder = NULL;

    for (int i = 0; (folder = folder_at(i)); i++, freep(&folder)) {
        json_t *object = read_folder(folder);
        bool is_mine = json_integer_value(json_object_get(object, "pid")) == (json_int_t)getpid();
        json_decref(object);
        if (!is_mine)
            continue;
        CLEANUP(closep) int dir = open_folder(folder);
        if (dir >= 0)
            unlinkat(dir, "dev.json", 0);
    }
}

bool dev_find(struct dev_found *out)
{
    CLEANUP(freep) char *folder = NULL;

    for (int i = 0; (folder = folder_at(i)); i++, freep(&folder)) {
        json_t *object = read_folder(folder);
        const char *addr = json_string_value(json_object_get(object, "addr"));
        const char *token_path = json_string_value(json_object_get(object, "tokenPath"));
        if (addr && token_path && is_alive(object)) {
            *out = (struct dev_found){ .addr = text_copy(addr),
                                       .token_path = text_copy(token_path),
                                       .path = text_format("%s/dev.json", folder) };
            json_decref(object);
            return true;
        }
        json_decref(object);
    }
    return false;
}

void dev_found_fini(struct dev_found *found)
{
    mem_free(found->addr);
    mem_free(found->token_path);
    mem_free(found->path);
    *found = (struct dev_found){ 0 };
}

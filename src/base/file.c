/* Files: see file.h. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int file_read(int dir, const char *path, size_t most, struct str *out, struct err *err)
{
    CLEANUP(closep) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    size_t total = 0;
    ssize_t n;

    if (fd < 0)
        return err_sys(err, -errno, "open %s", path);
    for (;;) {
        char *at = str_room(out, 16384);
        n = read(fd, at, 16384);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, -errno, "read %s", path);
        if (n == 0)
            break;
        out->len += (size_t)n;
        total += (size_t)n;
        if (total > most)
            return err_set(err, -E2BIG, "%s is larger than %zu bytes", path, most);
    }
    str_room(out, 0)[0] = '\0';
    return 0;
}

int file_write_all(int fd, const void *data, size_t n)
{
    const char *at = data;

    while (n) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

int file_overwrite(int fd, const void *data, size_t n)
{
    struct stat st;
    int r = file_write_all(fd, data, n);

    if (r == 0 && fstat(fd, &st) == 0 && st.st_size > (off_t)n && ftruncate(fd, (off_t)n) < 0)
        r = -errno;
    return r;
}

/* fsync of the directory makes the rename itself durable. */
static int sync_parent(int dir, const char *path)
{
    CLEANUP(freep) char *parent = text_copy(path);
    char *slash = strrchr(parent, '/');
    CLEANUP(closep) int fd = -1;

    if (slash == parent)
        slash++;
    if (slash)
        *slash = '\0';
    fd = openat(dir, slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_and_rename(int dir, const char *path, const char *beside, int fd, bool durable)
{
    if (durable && fsync(fd) < 0)
        return -errno;
    if (renameat(dir, beside, dir, path) < 0)
        return -errno;
    return durable ? sync_parent(dir, path) : 0;
}

int file_write(int dir, const char *path, const void *data, size_t n, mode_t mode, bool durable,
               struct err *err)
{
    CLEANUP(freep) char *beside = text_format("%s.new", path);
    CLEANUP(closep)
    int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    int r;

    if (fd < 0)
        return err_sys(err, -errno, "create %s", beside);
    r = file_write_all(fd, data, n);
    if (r == 0)
        r = write_and_rename(dir, path, beside, fd, durable);
    if (r < 0) {
        unlinkat(dir, beside, 0);
        return err_sys(err, r, "write %s", path);
    }
    return 0;
}

int file_check_secret(const char *path, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        !(st.st_mode & 077))
        return 0;
    return err_set(
        err, -EACCES,
        "others can read the token in %s (mode %04o), and so ask in your name: chmod 600 "
        "%s",
        path, (unsigned)st.st_mode & 07777, path);
}

int file_make_dirs(const char *path, mode_t mode, struct err *err)
{
    CLEANUP(freep) char *part = text_copy(path);

    for (char *at = part + 1;; at++) {
        char was = *at;
        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return err_sys(err, -errno, "make directory %s", part);
        *at = was;
        if (!was)
            break;
    }
    return 0;
}

static int remove_entries(int fd, dev_t device, struct err *err);

static int remove_entry(int dir, const char *name, dev_t device, struct err *err)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_sys(err, -errno, "look at %s", name);
    if (!S_ISDIR(st.st_mode))
        return unlinkat(dir, name, 0) < 0 && errno != ENOENT
                   ? err_sys(err, -errno, "remove %s", name)
                   : 0;
    if (device && st.st_dev != device)
        return err_set(err, -EXDEV, "remove %s: something is mounted there", name);
    CLEANUP(closep) int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int r = fd < 0 ? err_sys(err, -errno, "open %s", name) : remove_entries(fd, st.st_dev, err);
    if (r < 0)
        return r;
    return unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT
               ? err_sys(err, -errno, "remove %s", name)
               : 0;
}

static void closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static int remove_entries(int fd, dev_t device, struct err *err)
{
    int again = dup(fd);
    CLEANUP(closedirp) DIR *entries = again < 0 ? NULL : fdopendir(again);
    struct dirent *entry;
    int r = 0;

    if (!entries)
        return err_sys(err, -errno, "list a directory");
    fcntl(again, F_SETFD, FD_CLOEXEC);
    while (r == 0 && (entry = readdir(entries)))
        if (!text_eq(entry->d_name, ".") && !text_eq(entry->d_name, ".."))
            r = remove_entry(fd, entry->d_name, device, err);
    return r;
}

int file_remove_tree(int dir, const char *path, struct err *err)
{
    return remove_entry(dir, path, 0, err);
}

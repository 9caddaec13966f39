/* File: see file.h. */
#include "runtime/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int file_read(const char *path, size_t most, struct str *out)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    for (;;) {
        char *at = str_room(out, 4096);
        ssize_t n = read(fd, at, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (out->len > most)
            return -EFBIG;
    }
}

bool file_read_line(const char *path, char *out, size_t size)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    if (n < 0)
        return false;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static int write_all(int fd, const void *data, size_t n)
{
    const char *at = data;

    while (n > 0) {
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

int file_write(const char *path, const void *data, size_t n)
{
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

    return fd < 0 ? -errno : write_all(fd, data, n);
}

int file_set(const char *path, const char *text)
{
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int folder_make(const char *path, size_t from)
{
    char *copy = text_copy(path);
    int r = 0;

    for (char *at = copy + from; *at && r == 0; at++) {
        if (*at != '/' || at == copy)
            continue;
        *at = '\0';
        r = mkdir(copy, 0755) < 0 && errno != EEXIST ? -errno : 0;
        *at = '/';
    }
    if (r == 0 && mkdir(copy, 0755) < 0 && errno != EEXIST)
        r = -errno;
    mem_free(copy);
    return r;
}

static int remove_inside(int dir_fd, dev_t device);

static int remove_entry(int dir_fd, const char *name, dev_t device)
{
    struct stat st;
    int fd, r;

    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || st.st_dev != device) {
        close(fd);
        return -EXDEV; /* a mount that should have gone: its content is somebody else's */
    }
    r = remove_inside(fd, device); /* closes */
    if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        r = -errno;
    return r;
}

static int remove_inside(int dir_fd, dev_t device)
{
    DIR *dir = fdopendir(dir_fd);
    struct dirent *entry;
    int r = 0;

    if (!dir) {
        close(dir_fd);
        return -errno;
    }
    while (r == 0 && (entry = readdir(dir))) {
        if (!text_eq(entry->d_name, ".") && !text_eq(entry->d_name, ".."))
            r = remove_entry(dir_fd, entry->d_name, device);
    }
    closedir(dir);
    return r;
}

int folder_remove(const char *path, struct err *err)
{
    struct stat st;
    int r = 0, fd;

    if (rmdir(path) == 0 || errno == ENOENT)
        return 0;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        r = -errno;
    else
        r = remove_inside(fd, st.st_dev); /* closes */
    if (r == 0 && rmdir(path) < 0 && errno != ENOENT)
        r = -errno;
    return r < 0 ? err_sys(err, r, "remove %s", path) : 0;
}

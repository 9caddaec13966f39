/*
 * Log: reads an attempt's logical log by offset. It lies in files log.BASE that are made and
 * deleted but never renamed, so that no reading can see a file change its place.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "runtime/inside.h"

struct bases {
    VEC_OF(uint64_t) list;
};

static void bases_fini(struct bases *bases)
{
    VEC_FINI(&bases->list);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The offsets at which files begin, in order. */
static int list_bases(int dir_fd, struct bases *out)
{
    DIR *dir = fdopendir(dup(dir_fd));
    struct dirent *entry;
    int64_t base;

    if (!dir)
        return -errno;
    rewinddir(dir);
    while ((entry = readdir(dir))) {
        if (text_begins(entry->d_name, "log.") &&
            text_to_int(entry->d_name + 4, 0, INT64_MAX, &base) == 0)
            VEC_PUSH(&out->list, (uint64_t)base);
    }
    closedir(dir);
    if (out->list.n > 1)
        qsort(out->list.at, out->list.n, sizeof(*out->list.at), compare);
    return 0;
}

static int open_base(int dir_fd, uint64_t base)
{
    CLEANUP(freep) char *name = text_format("log.%llu", (unsigned long long)base);

    return openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Reads from one file into what is left of buf. Returns bytes; a negative errno. */
static ssize_t read_part(int dir_fd, uint64_t base, uint64_t offset, char *buf, size_t size)
{
    CLEANUP(closep) int fd = open_base(dir_fd, base);
    size_t n = 0;

    if (fd < 0)
        return -errno;
    while (n < size) {
        ssize_t got = pread(fd, buf + n, size - n, (off_t)(offset - base + n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

static uint64_t find_end(int dir_fd, const struct bases *bases)
{
    uint64_t base = bases->list.n ? bases->list.at[bases->list.n - 1] : 0;
    CLEANUP(closep) int fd = bases->list.n ? open_base(dir_fd, base) : -1;
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 ? base + (uint64_t)st.st_size : base;
}

int runtime_log_read(const char *folder, uint64_t offset, void *buf, size_t size,
                     struct log_piece *out, struct err *err)
{
    CLEANUP(closep) int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(bases_fini) struct bases bases = { 0 };
    struct log_piece piece = { .offset = offset };
    int r = dir_fd < 0 ? -errno : list_bases(dir_fd, &bases);

    if (r < 0)
        return err_sys(err, r, "read the log in %s", folder);
    piece.end = find_end(dir_fd, &bases);
    for (size_t i = 0; i < bases.list.n && piece.n < size; i++) {
        uint64_t base = bases.list.at[i], at = piece.offset + piece.n;
        bool is_past = i + 1 < bases.list.n && bases.list.at[i + 1] <= at;
        ssize_t n;
        if (is_past)
            continue;
        if (at < base && piece.n > 0)
            break; /* a gap inside: the next call begins behind it */
        if (at < base)
            at = piece.offset = base;
        n = read_part(dir_fd, base, at, (char *)buf + piece.n, size - piece.n);
        if (n == -ENOENT)
            continue; /* deleted meanwhile: a gap */
        if (n < 0)
            return err_sys(err, (int)n, "read the log in %s", folder);
        piece.n += (size_t)n;
    }
    if (piece.offset + piece.n > piece.end)
        piece.end = piece.offset + piece.n;
    *out = piece;
    return 0;
}

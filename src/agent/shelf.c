/* Shelf: see shelf.h. A queue in the order of ends; its oldest go first. */
#include "agent/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"

struct book {
    char *name;
    int64_t ended_ms, bytes;
};

struct shelf {
    char *dir;
    int64_t keep_ms, keep_bytes, bytes;
    struct pool *pool;
    VEC_OF(struct book) books;
    size_t first; /* of books; those before it are gone */
};

int64_t shelf_folder_bytes(const char *path)
{
    DIR *dir = opendir(path);
    int64_t bytes = 4096;
    struct stat st;

    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += st.st_blocks * 512;
    closedir(dir);
    return bytes;
}

static void work_remove(void *arg)
{
    CLEANUP(freep) char *path = arg;
    struct err err = { 0 };

    if (file_remove_tree(AT_FDCWD, path, &err) < 0)
        log_warn("an ended attempt cannot be removed", "why", err.text, NULL);
}

static void remove_first(struct shelf *shelf)
{
    struct book *book = &shelf->books.at[shelf->first++];

    shelf->bytes -= book->bytes;
    pool_run(shelf->pool, work_remove, NULL, NULL, text_format("%s/%s", shelf->dir, book->name));
    mem_free(book->name);
    if (shelf->first * 2 < shelf->books.n)
        return;
    shelf->books.n -= shelf->first;
    memmove(shelf->books.at, shelf->books.at + shelf->first,
            shelf->books.n * sizeof(shelf->books.at[0]));
    shelf->first = 0;
}

void shelf_trim(struct shelf *shelf, int64_t now_wall_ms)
{
    while (shelf->first < shelf->books.n &&
           (shelf->bytes > shelf->keep_bytes ||
            shelf->books.at[shelf->first].ended_ms < now_wall_ms - shelf->keep_ms))
        remove_first(shelf);
}

void shelf_keep(struct shelf *shelf, const char *name, int64_t ended_ms, int64_t bytes)
{
    VEC_PUSH(&shelf->books, ((struct book){ text_copy(name), ended_ms, bytes }));
    shelf->bytes += bytes;
    shelf_trim(shelf, ended_ms);
}

static int older(const void *a, const void *b)
{
    int64_t x = ((const struct book *)a)->ended_ms, y = ((const struct book *)b)->ended_ms;

    return x < y ? -1 : x > y;
}

int shelf_open(const char *path, int64_t keep_ms, int64_t keep_bytes, struct pool *pool,
               struct shelf **out, struct err *err)
{
    DIR *dir = opendir(path);
    struct shelf *shelf;
    struct stat st;

    if (!dir)
        return err_sys(err, -errno, "open %s", path);
    shelf = NEW0(struct shelf);
    shelf->dir = text_copy(path);
    shelf->keep_ms = keep_ms;
    shelf->keep_bytes = keep_bytes;
    shelf->pool = pool;
    for (struct dirent *entry; (entry = readdir(dir));) {
        CLEANUP(freep) char *folder = text_format("%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || stat(folder, &st) < 0)
            continue;
        int64_t bytes = shelf_folder_bytes(folder);
        VEC_PUSH(&shelf->books,
                 ((struct book){ text_copy(entry->d_name), st.st_mtime * 1000, bytes }));
        shelf->bytes += bytes;
    }
    closedir(dir);
    if (shelf->books.n)
        qsort(shelf->books.at, shelf->books.n, sizeof(struct book), older);
    *out = shelf;
    return 0;
}

void shelf_close(struct shelf *shelf)
{
    if (!shelf)
        return;
    for (size_t i = shelf->first; i < shelf->books.n; i++)
        mem_free(shelf->books.at[i].name);
    VEC_FINI(&shelf->books);
    mem_free(shelf->dir);
    mem_free(shelf);
}

int64_t shelf_bytes(const struct shelf *shelf)
{
    return shelf->bytes;
}

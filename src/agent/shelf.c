/* Shelf: see shelf.h. A queue in the order of ends; its oldest go first. */
#include "agent/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    SILENT_BYTES = 16384,          /* what one counts: its folder would take as much */
    SILENT_FILE_BYTES = 256 << 20, /* more of it than can be */
    SILENT_SLACK = 4096,           /* lines too many that are not worth writing the file anew */
};

struct book {
    char *name, *end; /* end: of a silent one, in the same piece of memory */
    int64_t ended_ms, bytes;
    bool is_silent;
};

struct shelf {
    char *dir;
    int64_t keep_ms, keep_bytes, bytes;
    struct pool *pool;
    VEC_OF(struct book) books;
    size_t first;      /* of books; those before it are gone */
    struct map silent; /* by name, the text of its end; both the book's own */
    int silent_fd;     /* of the file of their names; -1: it cannot be written */
    size_t n_lines;    /* in that */
};

static bool is_of_every_attempt(const char *name)
{
    static const char *const names[] = { "spec", "launch", "exit", "exit.new" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_eq(name, names[i]))
            return true;
    }
    return false;
}

struct shelf_content shelf_look(const char *path)
{
    DIR *dir = opendir(path);
    struct shelf_content content = { .bytes = 4096, .is_spare = true };
    struct stat st;

    if (!dir)
        return (struct shelf_content){ 0 };
    for (struct dirent *entry; content.is_spare && (entry = readdir(dir));)
        content.is_spare = entry->d_name[0] == '.' || is_of_every_attempt(entry->d_name);
    rewinddir(dir);
    for (struct dirent *entry; !content.is_spare && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            content.bytes += st.st_blocks * 512;
    closedir(dir);
    return content;
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
    if (!book->is_silent)
        pool_run(shelf->pool, work_remove, NULL, NULL,
                 text_format("%s/%s", shelf->dir, book->name));
    else if (map_get(&shelf->silent, book->name) == book->end)
        map_remove(&shelf->silent, book->name);
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
    VEC_PUSH(&shelf->books, ((struct book){ text_copy(name), NULL, ended_ms, bytes, false }));
    shelf->bytes += bytes;
    shelf_trim(shelf, ended_ms);
}

/* ---- those that wrote nothing ---- */

static void add_silent(struct shelf *shelf, const char *name, int64_t ended_ms, const char *end)
{
    struct book book = { text_format("%s%c%s", name, '\0', end), NULL, ended_ms, SILENT_BYTES,
                         true };

    book.end = book.name + strlen(name) + 1;
    VEC_PUSH(&shelf->books, book);
    shelf->bytes += book.bytes;
    map_put(&shelf->silent, book.name, book.end);
}

static void add_line(struct str *text, const char *name, int64_t ended_ms, const char *end)
{
    str_addf(text, "%" PRId64 " %s%s%s\n", ended_ms, name, *end ? " " : "", end);
}

/* A file of the lines that count still, in the place of one with many that do not. */
static int write_silent(struct shelf *shelf, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/.silent", shelf->dir);
    CLEANUP(str_fini) struct str text = { 0 };
    int r;

    shelf->n_lines = 0;
    for (size_t i = shelf->first; i < shelf->books.n; i++) {
        if (!shelf->books.at[i].is_silent)
            continue;
        add_line(&text, shelf->books.at[i].name, shelf->books.at[i].ended_ms,
                 shelf->books.at[i].end);
        shelf->n_lines++;
    }
    closep(&shelf->silent_fd);
    r = file_write(AT_FDCWD, path, str_text(&text), text.len, 0600, false, err);
    if (r < 0)
        return r;
    shelf->silent_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return shelf->silent_fd < 0 ? err_sys(err, -errno, "open %s", path) : 0;
}

void shelf_keep_silent(struct shelf *shelf, const char *name, int64_t ended_ms, const char *end)
{
    CLEANUP(str_fini) struct str line = { 0 };
    struct err err = { 0 };
    int r = 0;

    add_silent(shelf, name, ended_ms, end);
    add_line(&line, name, ended_ms, end);
    shelf_trim(shelf, ended_ms);
    if (shelf->silent_fd < 0 || shelf->n_lines > 2 * shelf->silent.n + SILENT_SLACK)
        r = write_silent(shelf, &err);
    else if (file_write_all(shelf->silent_fd, line.data, line.len) < 0)
        r = err_sys(&err, -errno, "write the names of silent attempts");
    else
        shelf->n_lines++;
    if (r < 0)
        log_warn("an empty log would be taken for lost after a restart", "why", err.text, NULL);
}

bool shelf_is_silent(const struct shelf *shelf, const char *name)
{
    return map_get(&shelf->silent, name) != NULL;
}

const char *shelf_silent_end(const struct shelf *shelf, const char *name)
{
    return map_get(&shelf->silent, name);
}

void shelf_forget(struct shelf *shelf, const char *name)
{
    CLEANUP(freep) char *path = text_format("%s/%s", shelf->dir, name);
    bool is_silent = shelf_is_silent(shelf, name);
    struct err err = { 0 };
    size_t n = shelf->first;

    if (!is_silent && access(path, F_OK) < 0)
        return;
    map_remove(&shelf->silent, name);
    for (size_t i = n; i < shelf->books.n; i++) {
        struct book book = shelf->books.at[i];
        if (strcmp(book.name, name) != 0) {
            shelf->books.at[n++] = book;
            continue;
        }
        shelf->bytes -= book.bytes;
        mem_free(book.name);
    }
    shelf->books.n = n;
    if ((access(path, F_OK) == 0 && file_remove_tree(AT_FDCWD, path, &err) < 0) ||
        (is_silent && write_silent(shelf, &err) < 0))
        log_warn("an ended attempt cannot be removed", "why", err.text, NULL);
}

static int read_silent(struct shelf *shelf, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/.silent", shelf->dir);
    CLEANUP(str_fini) struct str text = { 0 };
    char *rest, *line;

    if (access(path, F_OK) < 0)
        return 0;
    if (file_read(AT_FDCWD, path, SILENT_FILE_BYTES, &text, err) < 0)
        return err->code;
    rest = text.data;
    while (rest && (line = strsep(&rest, "\n")) && rest) { /* the last one may be half of a line */
        char *ended = strsep(&line, " "), *name = strsep(&line, " ");
        int64_t ended_ms;
        if (name && *name && text_to_int(ended, 0, INT64_MAX, &ended_ms) == 0)
            add_silent(shelf, name, ended_ms, line ? line : "");
    }
    return 0;
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

    int r;

    if (!dir)
        return err_sys(err, -errno, "open %s", path);
    shelf = NEW0(struct shelf);
    shelf->silent_fd = -1;
    shelf->dir = text_copy(path);
    shelf->keep_ms = keep_ms;
    shelf->keep_bytes = keep_bytes;
    shelf->pool = pool;
    for (struct dirent *entry; (entry = readdir(dir));) {
        CLEANUP(freep) char *folder = text_format("%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || stat(folder, &st) < 0)
            continue;
        int64_t bytes = shelf_look(folder).bytes;
        VEC_PUSH(&shelf->books, ((struct book){ text_copy(entry->d_name), NULL, st.st_mtime * 1000,
                                                bytes, false }));
        shelf->bytes += bytes;
    }
    closedir(dir);
    r = read_silent(shelf, err);
    if (shelf->books.n)
        qsort(shelf->books.at, shelf->books.n, sizeof(struct book), older);
    if (r == 0)
        r = write_silent(shelf, err);
    if (r < 0) {
        shelf_close(shelf);
        return r;
    }
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
    map_fini(&shelf->silent);
    closep(&shelf->silent_fd);
    mem_free(shelf->dir);
    mem_free(shelf);
}

int64_t shelf_bytes(const struct shelf *shelf)
{
    return shelf->bytes;
}

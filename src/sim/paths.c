/* Paths: the files that a folder stands for. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/inside.h"

enum { DEEPEST = 16 };

void paths_fini(struct paths *paths)
{
    VEC_EACH (path, paths)
        mem_free(*path);
    VEC_FINI(paths);
}

static bool is_document(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && (strcmp(dot, ".json") == 0 || strcmp(dot, ".yaml") == 0);
}

static int add(struct paths *paths, const char *path, int depth, struct err *err);

static int add_folder(struct paths *paths, const char *path, int depth, struct err *err)
{
    struct dirent **entries = NULL;
    int n = depth < DEEPEST ? scandir(path, &entries, NULL, alphasort) : 0, r = 0;

    if (n < 0)
        return err_sys(err, -errno, "open %s", path);
    for (int i = 0; i < n; i++) {
        CLEANUP(freep) char *below = text_format("%s/%s", path, entries[i]->d_name);
        struct stat st;
        bool wanted = entries[i]->d_name[0] != '.' && stat(below, &st) == 0 &&
                      (S_ISDIR(st.st_mode) || is_document(entries[i]->d_name));
        if (wanted && r == 0)
            r = add(paths, below, depth + 1, err);
        free(entries[i]);
    }
    free(entries);
    return r;
}

static int add(struct paths *paths, const char *path, int depth, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(err, -errno, "open %s", path);
    if (S_ISDIR(st.st_mode))
        return add_folder(paths, path, depth, err);
    VEC_PUSH(paths, text_copy(path));
    return 0;
}

int paths_add(struct paths *paths, const char *path, struct err *err)
{
    size_t before = paths->n;
    int r = add(paths, path, 0, err);

    if (r < 0 || paths->n > before)
        return r;
    return err_set(err, -ENOENT,
                   "%s: no documents in it; looked for *.json and *.yaml, in its folders too",
                   path);
}

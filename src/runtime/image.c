/*
 * Image: finds what an image reference names, and unpacks it once into the store.
 *
 * The store is DATA/images/DIGEST/ with root/ and config.json; DIGEST is that of the image's manifest. An
 * entry appears by rename: it is whole or not there. Layers are put together when they are unpacked, in
 * order, so that a container's root has one lower folder however many layers there were.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/inside.h"

static void list_free(char **list)
{
    for (char **each = list; each && *each; each++)
        mem_free(*each);
    mem_free(list);
}

void image_fini(struct image *image)
{
    mem_free(image->root);
    list_free(image->entrypoint);
    list_free(image->cmd);
    list_free(image->env);
    mem_free(image->work_dir);
    mem_free(image->user);
    memset(image, 0, sizeof(*image));
}

/* Whether path is below one of the folders that images may come from, by its real name. */
static int check_prefix(const struct runtime *rt, const char *path, struct err *err)
{
    CLEANUP(freep) char *real = realpath(path, NULL);

    if (!real)
        return err_sys(err, -errno, "image %s", path);
    if (!rt->prefixes)
        return 0;
    for (char **prefix = rt->prefixes; *prefix; prefix++) {
        CLEANUP(freep) char *real_prefix = realpath(*prefix, NULL);
        size_t n = real_prefix ? strlen(real_prefix) : 0;
        if (n == 1 || (n > 0 && !strncmp(real, real_prefix, n) && (real[n] == '/' || !real[n])))
            return 0;
    }
    return err_set(err, -EACCES, "image %s is not below a folder that this node allows", path);
}

static int get_dir(struct runtime *rt, const char *path, struct image *out, struct err *err)
{
    struct stat st;
    int r = path[0] == '/' ? check_prefix(rt, path, err)
                           : err_set(err, -EINVAL, "image dir:%s is not an absolute path", path);

    if (r < 0)
        return r;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "image dir:%s is not a folder", path);
    out->root = realpath(path, NULL);
    out->work_dir = text_copy("");
    out->user = text_copy("");
    out->is_cache_hit = true;
    return out->root ? 0 : err_sys(err, -errno, "image dir:%s", path);
}

int image_get(struct runtime *rt, const char *reference, const atomic_bool *is_cancelled,
              struct image *out, enum detail *detail, struct err *err)
{
    *detail = DETAIL_IMAGE_ABSENT;
    (void)is_cancelled;
    if (text_begins(reference, "dir:"))
        return get_dir(rt, reference + 4, out, err);
    return err_set(err, -EINVAL, "image %.120s: neither oci:PATH nor dir:PATH", reference);
}

/*
 * Image: finds what an image reference names, and unpacks it once into the store.
 *
 * The store is DATA/images/DIGEST/ with root/ and config.json; DIGEST is that of the image's
 * manifest. An entry appears by rename: it is whole or not there. Layers are put together when they
 * are unpacked, in order, so that a container's root has one lower folder however many layers there
 * were.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/vec.h"
#include "runtime/inside.h"

enum { CANCEL_LOOK_MS = 100 };

/* The command line of berth-unpack. */
struct arguments {
    VEC_OF(char *) list;
};

/* What unpacking one image is told and tells. */
struct filling {
    const atomic_bool *is_cancelled;
    int64_t bytes;
};

static void arguments_fini(struct arguments *args)
{
    VEC_EACH (arg, &args->list)
        mem_free(*arg);
    VEC_FINI(&args->list);
}

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
    return err_set(err, -EPERM, "image %s is not below a folder that this node allows", path);
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

/* ---- reading a layout ---- */

enum {
    MOST_DOCUMENT = 4 << 20, /* bytes of an index, a manifest or a configuration */
    MOST_LAYERS = 500,
    MOST_NESTING = 4, /* indexes in indexes */
};

/* A layout that is being read. */
struct layout {
    const char *path;
    const char *tag; /* NULL: the only one, or the first that fits this machine */
};

/* The 64 hex digits of "sha256:HEX", or NULL: nothing else may become part of a path. */
static const char *digest_of(const char *text)
{
    const char *hex = text && text_begins(text, "sha256:") ? text + strlen("sha256:") : NULL;

    return hex && strlen(hex) == 64 && strspn(hex, "0123456789abcdef") == 64 ? hex : NULL;
}

static json_t *load(const struct str *text, const char *what, struct err *err)
{
    json_error_t at;
    json_t *json = json_loadb(str_text(text), text->len, JSON_REJECT_DUPLICATES, &at);

    if (!json)
        err_set(err, -EBADMSG, "%s, line %d: %.100s", what, at.line, at.text);
    return json;
}

/* Reads a blob that is a document, and holds it against its digest. */
static int read_blob(const struct layout *layout, const char *digest, struct str *out,
                     struct err *err)
{
    const char *hex = digest_of(digest);
    CLEANUP(freep) char *path = NULL;
    char actual[DIGEST_HEX_SIZE];
    int r;

    if (!hex)
        return err_set(err, -EBADMSG, "%s: \"%.80s\" is no sha256 digest", layout->path,
                       digest ? digest : "");
    path = text_format("%s/blobs/sha256/%s", layout->path, hex);
    r = file_read(AT_FDCWD, path, MOST_DOCUMENT, out, err);
    if (r < 0)
        return r;
    digest_hex(out->data, out->len, actual);
    if (!text_eq(actual, hex))
        return err_set(err, -EBADMSG, "blob %s is not what its digest says (%s)", path, actual);
    return 0;
}

static bool fits_machine(const json_t *entry)
{
#if defined(__x86_64__)
    static const char own[] = "amd64";
#else
    static const char own[] = "arm64";
#endif
    const json_t *platform = json_object_get(entry, "platform");
    const char *arch = json_string_value(json_object_get(platform, "architecture"));
    const char *os = json_string_value(json_object_get(platform, "os"));

    return (!arch || text_eq(arch, own)) && (!os || text_eq(os, "linux"));
}

/* The entry of an index that is meant: of the tag, else the first that fits. */
static const json_t *choose(const json_t *index, const char *tag)
{
    const json_t *manifests = json_object_get(index, "manifests");

    for (size_t i = 0; i < json_array_size(manifests); i++) {
        const json_t *entry = json_array_get(manifests, i);
        const json_t *notes = json_object_get(entry, "annotations");
        const char *name =
            json_string_value(json_object_get(notes, "org.opencontainers.image.ref.name"));
        if (fits_machine(entry) && (!tag || text_eq(tag, name)))
            return entry;
    }
    return NULL;
}

/* Finds the digest of the manifest that is meant; yours. An index may lead to another. */
static int find_manifest(const struct layout *layout, char **out, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/index.json", layout->path);
    CLEANUP(str_fini) struct str text = { 0 };
    const char *tag = layout->tag;
    int r = file_read(AT_FDCWD, path, MOST_DOCUMENT, &text, err);

    for (int depth = 0; r == 0 && depth < MOST_NESTING; depth++) {
        CLEANUP(json_decrefp) json_t *index = load(&text, path, err);
        const json_t *entry = choose(index, tag);
        const char *type = json_string_value(json_object_get(entry, "mediaType"));
        const char *digest = json_string_value(json_object_get(entry, "digest"));
        if (!index)
            return err->code;
        if (!entry)
            return err_set(err, -ENOENT, "image %s has no %s%s for this machine", layout->path,
                           tag ? "tag " : "manifest", tag ? tag : "");
        if (!digest_of(digest))
            return err_set(err, -EBADMSG, "%s: an entry without a sha256 digest", path);
        if (!type || (!strstr(type, "image.index") && !strstr(type, "manifest.list"))) {
            *out = text_copy(digest);
            return 0;
        }
        tag = NULL;
        str_clear(&text);
        r = read_blob(layout, digest, &text, err);
    }
    return r < 0 ? r : err_set(err, -ELOOP, "image %s: indexes in indexes", layout->path);
}

/* ---- the configuration ---- */

static char **copy_strings(const json_t *array)
{
    size_t n = json_array_size(array);
    char **list = NEW0_N(char *, n + 1);

    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        list[i] = text_copy(text ? text : "");
    }
    return list;
}

static char *copy_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text_copy(text ? text : "");
}

static int read_config(const char *store, struct image *out, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/config.json", store);
    CLEANUP(str_fini) struct str text = { 0 };
    CLEANUP(json_decrefp) json_t *document = NULL;
    const json_t *config;
    int r = file_read(AT_FDCWD, path, MOST_DOCUMENT, &text, err);

    if (r < 0)
        return r;
    document = load(&text, path, err);
    if (!document)
        return err->code;
    config = json_object_get(document, "config");
    out->entrypoint = copy_strings(json_object_get(config, "Entrypoint"));
    out->cmd = copy_strings(json_object_get(config, "Cmd"));
    out->env = copy_strings(json_object_get(config, "Env"));
    out->work_dir = copy_string(config, "WorkingDir");
    out->user = copy_string(config, "User");
    out->root = text_format("%s/root", store);
    return 0;
}

/* ---- unpacking ---- */

/* Adds "PATH:HEX" for each layer, what berth-unpack is told. */
static int list_layers(const struct layout *layout, const json_t *manifest, struct arguments *args,
                       struct err *err)
{
    const json_t *layers = json_object_get(manifest, "layers");

    if (!json_is_array(layers) || json_array_size(layers) > MOST_LAYERS)
        return err_set(err, -EBADMSG, "image %s: no layers, or more than %d", layout->path,
                       MOST_LAYERS);
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *hex = digest_of(json_string_value(json_object_get(layer, "digest")));
        if (!hex)
            return err_set(err, -EBADMSG, "image %s: layer %zu has no sha256 digest", layout->path,
                           i);
        VEC_PUSH(&args->list, text_format("%s/blobs/sha256/%s:%s", layout->path, hex, hex));
    }
    return 0;
}

/* As the manifest says, which may say anything. */
static int64_t sum_sizes(const json_t *manifest)
{
    const json_t *layers = json_object_get(manifest, "layers");
    int64_t sum = 0;

    for (size_t i = 0; i < json_array_size(layers); i++) {
        int64_t size = json_integer_value(json_object_get(json_array_get(layers, i), "size"));
        if (size > 0)
            sum = size > INT64_MAX - sum ? INT64_MAX : sum + size;
    }
    return sum;
}

/* Waits for the unpacking process; ends it when cancelled. */
static int wait_for(pid_t pid, const atomic_bool *is_cancelled, int *status)
{
    CLEANUP(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    bool is_killed = false;

    while (fd >= 0 && poll(&polled, 1, CANCEL_LOOK_MS) <= 0) {
        if (!is_killed && is_cancelled && atomic_load(is_cancelled)) {
            kill(pid, SIGKILL);
            is_killed = true;
        }
    }
    if (waitpid(pid, status, 0) < 0)
        return -errno;
    return is_killed ? -ECANCELED : 0;
}

static int spawn_unpack(const struct runtime *rt, char **args, int message_fd, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    char *const env[] = { NULL };
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, message_fd, 2);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    r = posix_spawn(out, rt->unpack_path, &actions, NULL, args, env);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Unpacks all layers, in order, into one folder; in a process of its own, which has few rights. */
static int unpack(const struct runtime *rt, char **args, const atomic_bool *is_cancelled,
                  struct err *err)
{
    char message[200] = "";
    int fds[2], status = 0, r;
    ssize_t n;
    pid_t pid = 0;

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(err, -errno, "pipe");
    r = spawn_unpack(rt, args, fds[1], &pid);
    close(fds[1]);
    if (r == 0)
        r = wait_for(pid, is_cancelled, &status);
    n = read(fds[0], message, sizeof(message) - 1);
    close(fds[0]);
    message[n > 0 ? n : 0] = '\0';
    message[strcspn(message, "\n")] = '\0';
    if (r == -ECANCELED)
        return err_set(err, r, "cancelled while unpacking");
    if (r < 0)
        return err_sys(err, r, "run %s", rt->unpack_path);
    return status == 0 ? 0 : err_set(err, -EIO, "unpack: %s", message[0] ? message : "it crashed");
}

static int write_text(const char *dir, const char *name, const struct str *text, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/%s", dir, name);

    return file_write(AT_FDCWD, path, str_text(text), text->len, 0644, false, err);
}

/* Makes a store entry beside its final place. */
static int fill(const struct runtime *rt, const struct layout *layout, const char *digest,
                const char *dir, struct filling *filling, struct err *err)
{
    CLEANUP(str_fini) struct str manifest_text = { 0 }, config_text = { 0 };
    CLEANUP(json_decrefp) json_t *manifest = NULL;
    CLEANUP(arguments_fini) struct arguments args = { 0 };
    CLEANUP(freep) char *root = text_format("%s/root", dir);
    const json_t *config;
    int r = read_blob(layout, digest, &manifest_text, err);

    if (r < 0)
        return r;
    manifest = load(&manifest_text, digest, err);
    if (!manifest)
        return err->code;
    config = json_object_get(manifest, "config");
    r = read_blob(layout, json_string_value(json_object_get(config, "digest")), &config_text, err);
    if (r < 0)
        return r;
    VEC_PUSH(&args.list, text_copy("berth-unpack"));
    VEC_PUSH(&args.list, text_copy(root));
    r = list_layers(layout, manifest, &args, err);
    if (r == 0)
        r = file_make_dirs(root, 0755, err);
    if (r == 0)
        r = write_text(dir, "config.json", &config_text, err);
    VEC_PUSH(&args.list, NULL);
    if (r == 0)
        r = unpack(rt, args.list.at, filling->is_cancelled, err);
    filling->bytes = sum_sizes(manifest);
    return r;
}

/* Unpacks an image into the store; under the lock, so that it is done once. */
static int add_to_store(struct runtime *rt, const struct layout *layout, const char *digest,
                        const char *store, struct filling *filling, struct err *err)
{
    CLEANUP(freep) char *beside = text_format("%s.new", store);
    struct err ignored = { 0 };
    int r;

    if (access(store, F_OK) == 0)
        return 0;                                /* another start has done it meanwhile */
    r = file_remove_tree(AT_FDCWD, beside, err); /* of an agent that died over it */
    if (r == 0)
        r = fill(rt, layout, digest, beside, filling, err);
    if (r == 0 && rename(beside, store) < 0)
        r = err_sys(err, -errno, "rename %s", beside);
    if (r < 0 && file_remove_tree(AT_FDCWD, beside, &ignored) < 0)
        return r; /* the next try removes it first */
    return r;
}

static int get_oci(struct runtime *rt, const struct layout *layout, struct filling *filling,
                   struct image *out, struct err *err)
{
    CLEANUP(freep) char *digest = NULL;
    CLEANUP(freep) char *store = NULL;
    int r = layout->path[0] == '/'
                ? check_prefix(rt, layout->path, err)
                : err_set(err, -EINVAL, "image oci:%s is not an absolute path", layout->path);

    if (r == 0)
        r = find_manifest(layout, &digest, err);
    if (r < 0)
        return r;
    store = text_format("%s/images/%s", rt->data_dir, digest_of(digest));
    out->is_cache_hit = access(store, F_OK) == 0;
    if (!out->is_cache_hit) {
        pthread_mutex_lock(&rt->unpacking);
        r = add_to_store(rt, layout, digest, store, filling, err);
        pthread_mutex_unlock(&rt->unpacking);
        out->bytes = filling->bytes;
    }
    return r < 0 ? r : read_config(store, out, err);
}

int image_get(struct runtime *rt, const char *reference, const atomic_bool *is_cancelled,
              struct image *out, enum detail *detail, struct err *err)
{
    CLEANUP(freep) char *path = text_copy(reference);
    struct filling filling = { .is_cancelled = is_cancelled };
    struct layout layout = { 0 };
    char *colon;
    int r;

    *detail = DETAIL_IMAGE_ABSENT;
    if (text_begins(reference, "dir:")) {
        r = get_dir(rt, reference + strlen("dir:"), out, err);
        if (r == -EPERM)
            *detail = DETAIL_IMAGE_NOT_ALLOWED;
        return r;
    }
    if (!text_begins(reference, "oci:"))
        return err_set(err, -EINVAL, "image %.120s: neither oci:PATH nor dir:PATH", reference);
    layout.path = path + strlen("oci:");
    colon = strrchr(path + strlen("oci:"), ':');
    if (colon && !strchr(colon, '/')) {
        *colon = '\0';
        layout.tag = colon + 1;
    }
    r = get_oci(rt, &layout, &filling, out, err);
    if (r == -EPERM)
        *detail = DETAIL_IMAGE_NOT_ALLOWED;
    else if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -EACCES)
        *detail = DETAIL_IMAGE_PULL; /* it is there, but cannot be had */
    return r;
}

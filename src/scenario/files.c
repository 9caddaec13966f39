/* Files: see files.h. */
#include "scenario/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/vec.h"
#include "berth/plugin.h"

enum { PROFILE_MAX_BYTES = 1 << 20, PLUGIN_MAX_BYTES = 64 << 20 };

struct profile_file {
    char *path;
    struct scenario_config *config;
};

struct plugin_object {
    char *path;
    void *handle;
    char hash[DIGEST_HEX_SIZE];
    struct berth_plugin_file file;
};

struct scenario_files {
    char *folder;                 /* of the document; "" is the root */
    VEC_OF(const char *) reading; /* profiles: one may build upon another */
    VEC_OF(struct profile_file) profiles;
    VEC_OF(struct plugin_object *) plugins;
};

struct scenario_files *scenario_files_new(const char *beside)
{
    struct scenario_files *files = NEW0(struct scenario_files);
    const char *slash = strrchr(beside, '/');

    files->folder = slash ? text_format("%.*s", (int)(slash - beside), beside) : text_copy(".");
    return files;
}

static void object_free(struct plugin_object *object)
{
    if (object->handle)
        dlclose(object->handle);
    mem_free(object->path);
    mem_free(object);
}

void scenario_files_free(struct scenario_files *files)
{
    if (!files)
        return;
    VEC_EACH (profile, &files->profiles) {
        mem_free(profile->path);
        scenario_config_free(profile->config);
    }
    VEC_FINI(&files->profiles);
    VEC_FINI(&files->reading);
    VEC_EACH (plugin, &files->plugins)
        object_free(*plugin);
    VEC_FINI(&files->plugins);
    mem_free(files->folder);
    mem_free(files);
}

void scenario_files_freep(struct scenario_files **files)
{
    scenario_files_free(*files);
    *files = NULL;
}

static int read_profile(struct scenario_files *files, const char *path,
                        struct scenario_config **out, struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 }, why = { 0 };
    struct problem problem = { 0 };
    int r = file_read(AT_FDCWD, path, PROFILE_MAX_BYTES, &text, err);

    if (r < 0)
        return r;
    VEC_EACH (other, &files->reading)
        if (text_eq(*other, path))
            return err_set(err, -EINVAL, "%s builds upon itself", path);
    VEC_PUSH(&files->reading, path);
    r = scenario_config_read_with(str_text(&text), text.len, files, out, &problem);
    files->reading.n--;
    if (r == 0)
        return 0;
    problem_write(&problem, path, &why);
    return err_set(err, -EINVAL, "%.*s", (int)strcspn(str_text(&why), "\n"), str_text(&why));
}

int files_profile(struct scenario_files *files, const char *path,
                  const struct scenario_config **out, struct err *err)
{
    CLEANUP(freep)
    char *full = path[0] == '/' ? text_copy(path) : text_format("%s/%s", files->folder, path);
    struct scenario_config *config = NULL;
    int r;

    VEC_EACH (known, &files->profiles) {
        if (text_eq(known->path, full)) {
            *out = known->config;
            return 0;
        }
    }
    r = read_profile(files, full, &config, err);
    if (r < 0)
        return r;
    VEC_PUSH(&files->profiles, ((struct profile_file){ TAKE(full), config }));
    *out = config;
    return 0;
}

/* Reads the file for its hash; what is no plain file is refused before it is opened as code. */
static int hash_file(const char *path, char out[DIGEST_HEX_SIZE], struct err *err)
{
    CLEANUP(str_fini) struct str bytes = { 0 };
    struct stat st;
    int r;

    if (path[0] != '/')
        return err_set(err, -EINVAL, "plugin %s: the path must be absolute", path);
    if (stat(path, &st) < 0)
        return err_sys(err, -errno, "plugin %s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "plugin %s: it is no file", path);
    r = file_read(AT_FDCWD, path, PLUGIN_MAX_BYTES, &bytes, err);
    if (r < 0)
        return r;
    digest_hex(str_text(&bytes), bytes.len, out);
    return 0;
}

static int load_object(struct plugin_object *object, struct err *err)
{
    object->handle = dlopen(object->path, RTLD_NOW | RTLD_LOCAL);
    if (!object->handle)
        return err_set(err, -EINVAL, "plugin %s: it cannot be loaded: %s", object->path, dlerror());
    object->file.plugin = dlsym(object->handle, BERTH_PLUGIN_SYMBOL);
    if (!object->file.plugin)
        return err_set(err, -EINVAL, "plugin %s: it exports no %s", object->path,
                       BERTH_PLUGIN_SYMBOL);
    object->file.hash = object->hash;
    if (berth_config_check_with(NULL, &object->file, 1, err) < 0)
        return err_wrap(err, "plugin %s", object->path);
    return 0;
}

static int check_hash(const struct plugin_object *object, const char *hash, struct err *err)
{
    if (!hash || text_eq(hash, object->hash))
        return 0;
    return err_set(err, -EINVAL, "plugin %s: its SHA-256 is %s, not %s", object->path, object->hash,
                   hash);
}

/* Code of another file than is asked for does not run: the hash comes first. */
static int object_new(const char *path, const char *hash, struct plugin_object **out,
                      struct err *err)
{
    struct plugin_object *object = NEW0(struct plugin_object);
    int r;

    object->path = text_copy(path);
    r = hash_file(path, object->hash, err);
    if (r == 0)
        r = check_hash(object, hash, err);
    if (r == 0)
        r = load_object(object, err);
    if (r < 0)
        object_free(object);
    else
        *out = object;
    return r;
}

int files_plugin(struct scenario_files *files, const char *path, const char *hash,
                 const struct berth_plugin_file **out, struct err *err)
{
    struct plugin_object *object = NULL;
    int r;

    VEC_EACH (known, &files->plugins)
        if (text_eq((*known)->path, path))
            object = *known;
    if (object) {
        *out = &object->file;
        return check_hash(object, hash, err);
    }
    r = object_new(path, hash, &object, err);
    if (r < 0)
        return r;
    VEC_PUSH(&files->plugins, object);
    *out = &object->file;
    return 0;
}

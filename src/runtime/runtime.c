/* Runtime: what one agent holds open: the lease, the parents of its groups, its store of images. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/name.h"
#include "runtime/inside.h"

const char *const network_words[NETWORK_COUNT] = {
    [NETWORK_HOST] = "host",
    [NETWORK_NONE] = "none",
};

/* Tells one boot from another; times of a boot that is over mean nothing. */
static uint64_t tag_of(const char *boot_id)
{
    uint64_t tag = 14695981039346656037u;

    for (; *boot_id; boot_id++)
        tag = (tag ^ (unsigned char)*boot_id) * 1099511628211u;
    return tag;
}

static int map_lease(struct runtime *rt, struct err *err)
{
    CLEANUP(closep) int fd = open(rt->lease_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void *at;

    if (fd < 0 || ftruncate(fd, sizeof(struct lease)) < 0)
        return err_sys(err, -errno, "create %s", rt->lease_path);
    at = mmap(NULL, sizeof(struct lease), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return err_sys(err, -errno, "map %s", rt->lease_path);
    rt->lease = at;
    /* An earlier agent's word of this boot holds on: its containers live by it. */
    if (rt->lease->boot_tag != tag_of(rt->machine.boot_id)) {
        runtime_lease(rt, 0, 0);
        rt->lease->boot_tag = tag_of(rt->machine.boot_id);
    }
    return 0;
}

static char **copy_list(const char *const *list)
{
    size_t n = 0;
    char **copy;

    if (!list)
        return NULL;
    while (list[n])
        n++;
    copy = NEW0_N(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = text_copy(list[i]);
    return copy;
}

int runtime_open(const struct runtime_config *config, struct runtime **out, struct err *err)
{
    CLEANUP(runtime_closep) struct runtime *rt = NULL;
    CLEANUP(freep) char *images = NULL;
    const char *slash = strrchr(config->monitor_path, '/');
    int r;

    if (config->data_dir[0] != '/' || config->monitor_path[0] != '/')
        return err_set(err, -EINVAL, "data folder and monitor need absolute paths");
    if (!name_is_valid_node(config->node))
        return err_set(err, -EINVAL, "\"%.64s\" cannot name a node", config->node);
    if (access(config->monitor_path, X_OK) < 0)
        return err_sys(err, -errno, "monitor %s", config->monitor_path);
    rt = NEW0(struct runtime);
    rt->machine = *config->machine;
    pthread_mutex_init(&rt->unpacking, NULL);
    pthread_mutex_init(&rt->idle_lock, NULL);
    rt->data_dir = text_copy(config->data_dir);
    rt->node = text_copy(config->node);
    rt->monitor_path = text_copy(config->monitor_path);
    rt->unpack_path =
        text_format("%.*s/berth-unpack", (int)(slash - config->monitor_path), config->monitor_path);
    rt->lease_path = text_format("%s/lease", config->data_dir);
    rt->prefixes = copy_list(config->image_prefixes);
    images = text_format("%s/images", config->data_dir);
    r = file_make_dirs(images, 0755, err);
    if (r < 0)
        return r;
    r = map_lease(rt, err);
    if (r < 0)
        return r;
    group_make_parents(rt);
    *out = TAKE(rt);
    return 0;
}

void runtime_close(struct runtime *rt)
{
    if (!rt)
        return;
    runtime_rest(rt);
    if (rt->lease)
        munmap(rt->lease, sizeof(struct lease));
    for (char **prefix = rt->prefixes; prefix && *prefix; prefix++)
        mem_free(*prefix);
    mem_free(rt->prefixes);
    mem_free(rt->data_dir);
    mem_free(rt->node);
    mem_free(rt->monitor_path);
    mem_free(rt->unpack_path);
    mem_free(rt->lease_path);
    monitors_reap(rt);
    VEC_FINI(&rt->left);
    pthread_mutex_destroy(&rt->unpacking);
    pthread_mutex_destroy(&rt->idle_lock);
    mem_free(rt);
}

void runtime_closep(struct runtime **rt)
{
    runtime_close(*rt);
}

const struct machine *runtime_machine(const struct runtime *rt)
{
    return &rt->machine;
}

void runtime_leave(struct runtime *rt)
{
    group_remove_parents(rt);
}

void runtime_lease(struct runtime *rt, int64_t term_at_ms, int64_t kill_at_ms)
{
    rt->lease->term_at_ms = term_at_ms;
    rt->lease->kill_at_ms = kill_at_ms;
}

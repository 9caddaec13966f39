/* Sweep: what bears this node's name but is not known; and what a container uses now. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "runtime/inside.h"
#include "runtime/knob.h"

struct names {
    VEC_OF(char *) list;
};

static void names_fini(struct names *names)
{
    VEC_EACH (name, &names->list)
        mem_free(*name);
    VEC_FINI(&names->list);
}

static bool has_name(struct names *names, const char *name)
{
    VEC_EACH (each, &names->list) {
        if (text_eq(*each, name))
            return true;
    }
    return false;
}

/* The ids that have a group in one hierarchy. */
static void list_groups(const struct runtime *rt, enum controller controller, struct names *out)
{
    CLEANUP(freep) char *path = group_path(rt, controller, ".");
    DIR *dir = path ? opendir(path) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && !has_name(out, entry->d_name))
            VEC_PUSH(&out->list, text_copy(entry->d_name));
    }
    if (dir)
        closedir(dir);
}

int runtime_sweep(struct runtime *rt, bool (*is_known)(void *ctx, const char *id), void *ctx,
                  struct err *err)
{
    CLEANUP(names_fini) struct names names = { 0 };
    int n_ended = 0;

    for (int i = 0; i < CONTROLLER_COUNT; i++)
        list_groups(rt, (enum controller)i, &names);
    VEC_EACH (id, &names.list) {
        int r = is_known(ctx, *id) ? 1 : group_end(rt, *id, RUNTIME_KIND_COUNT, err);
        if (r < 0)
            return r;
        n_ended += r == 0;
    }
    return n_ended;
}

static int64_t read_number(const struct runtime *rt, enum controller controller, const char *id,
                           const char *name)
{
    CLEANUP(freep) char *dir = group_path(rt, controller, id);
    CLEANUP(freep) char *path = dir ? text_format("%s/%s", dir, name) : NULL;
    char text[64];
    int64_t value;

    if (!path || !knob_read(path, text, sizeof(text)) ||
        text_to_int(text, 0, INT64_MAX, &value) < 0)
        return -1;
    return value;
}

static int64_t read_cpu_us(const struct runtime *rt, const char *id)
{
    CLEANUP(freep) char *dir = group_path(rt, CONTROLLER_UNIFIED, id);
    CLEANUP(freep) char *path = dir ? text_format("%s/cpu.stat", dir) : NULL;
    char text[64];

    if (path && knob_read(path, text, sizeof(text)) && text_begins(text, "usage_usec "))
        return strtoll(text + strlen("usage_usec "), NULL, 10);
    return read_number(rt, CONTROLLER_CPUACCT, id, "cpuacct.usage") / 1000;
}

static int64_t count_processes(const struct runtime *rt, const char *id)
{
    static const enum controller where[] = { CONTROLLER_UNIFIED, CONTROLLER_FREEZER,
                                             CONTROLLER_MEMORY };
    int64_t n = -1;

    for (size_t i = 0; n < 0 && i < COUNT_OF(where); i++) {
        CLEANUP(freep) char *dir = group_path(rt, where[i], id);
        CLEANUP(freep) char *path = dir ? text_format("%s/cgroup.procs", dir) : NULL;
        CLEANUP(str_fini) struct str text = { 0 };
        struct err err = { 0 };
        if (!path || file_read(AT_FDCWD, path, 1 << 20, &text, &err) < 0)
            continue;
        n = 0;
        for (size_t k = 0; k < text.len; k++)
            n += text.data[k] == '\n';
    }
    return n;
}

int runtime_sample(struct runtime *rt, const char *folder, struct sample *out, struct err *err)
{
    bool is_v2 = rt->machine.cgroup_layout == CGROUP_V2;
    struct sample sample = { 0 };
    struct note note;
    int r = note_read(folder, &note, err);

    if (r < 0)
        return r == -ENOENT ? err_set(err, -ENODATA, "%s: nothing is prepared there", folder) : r;
    sample.n_processes = count_processes(rt, note.id);
    if (sample.n_processes < 0)
        return err_set(err, -ENODATA, "%s has no groups", note.id);
    sample.memory_bytes = read_number(rt, CONTROLLER_MEMORY, note.id,
                                      is_v2 ? "memory.current" : "memory.usage_in_bytes");
    if (sample.memory_bytes < 0)
        sample.memory_bytes = 0;
    sample.peak_memory_bytes = read_number(rt, CONTROLLER_MEMORY, note.id,
                                           is_v2 ? "memory.peak" : "memory.max_usage_in_bytes");
    if (sample.peak_memory_bytes < sample.memory_bytes)
        sample.peak_memory_bytes = sample.memory_bytes;
    sample.cpu_us = read_cpu_us(rt, note.id);
    *out = sample;
    return 0;
}

/*
 * Inside: what the files of this house share.
 */
#ifndef RUNTIME_INSIDE_H
#define RUNTIME_INSIDE_H

#include <pthread.h>

#include "base/str.h"
#include "base/vec.h"
#include "runtime/runtime.h"

/* The mapped file `lease`; monitors read it. Times are CLOCK_BOOTTIME in ms, 0 for never. */
struct lease {
    _Atomic int64_t term_at_ms, kill_at_ms;
    uint64_t boot_tag; /* of the boot whose clock that is */
};

enum { MOST_IDLE_MONITORS = 16 };

/* A monitor that was spawned here. */
struct monitor {
    int fd; /* the connection */
    pid_t pid;
};

struct runtime {
    struct machine machine;
    char *data_dir, *node, *monitor_path;
    char *unpack_path; /* berth-unpack, beside the monitor */
    char *lease_path;
    char **prefixes; /* NULL-ended, or NULL */
    struct lease *lease;
    pthread_mutex_t unpacking; /* one image is unpacked at a time */
    pthread_mutex_t idle_lock; /* of those below */
    struct monitor idle[MOST_IDLE_MONITORS];
    size_t n_idle;
    VEC_OF(pid_t) left; /* monitors that live on by themselves and are children here */
};

/* ---- note: what clean-up must know: the first records of an attempt's `launch` ---- */

struct note {
    char boot_id[40];
    char id[104];
    char node[68];
    enum runtime_kind runtime;
    bool is_begun; /* a monitor was let have it */
    pid_t monitor; /* that has it; 0 none */
};

/** Returns 0; -ENOENT (no text): none, so nothing was made outside of the folder; another errno. */
MUST_CHECK int note_read(const char *folder, struct note *out, struct err *err);
/** The same of `launch` that is open. */
MUST_CHECK int note_read_from(int launch, struct note *out, struct err *err);

/* ---- exit records ---- */

/** Reads the KEY=VALUE lines that a monitor writes. Returns 0; -EBADMSG. */
MUST_CHECK int record_parse(const char *text, struct exit_record *out, struct err *err);
/** Reads the file `exit`. Returns 0; -ENOENT (no text): there is none; another negative errno. */
MUST_CHECK int record_read(const char *folder, struct exit_record *out, struct err *err);

/* ---- launch files ---- */

void launch_add(struct str *launch, const char *key, const char *value);
void launch_add_int(struct str *launch, const char *key, int64_t value);

/* ---- monitors ---- */

/** Spawns one that waits for its first container. Returns 0; a negative errno. */
MUST_CHECK int monitors_spawn(struct runtime *rt, struct monitor *out, struct err *err);
/** Takes one that has nothing to do. False: there is none. */
bool monitors_take_idle(struct runtime *rt, struct monitor *out);
/** Keeps one that has nothing to do, or ends it where enough are kept. */
void monitors_give(struct runtime *rt, const struct monitor *monitor);
/** Lets one go that has more to do, and does not wait for its end. */
void monitors_leave(struct runtime *rt, pid_t monitor);
/** Takes in the ends of those that were let go. */
void monitors_reap(struct runtime *rt);
/** Ends an idle one, or one that is dead, and waits for that. */
void monitor_end(const struct monitor *monitor);

/** Whose the lock of an open `launch` is: the monitor's that has the container; 0: nobody's. */
pid_t launch_owner(int launch);
/** Connects to a folder's monitor. Returns the descriptor; -ENOENT: it has none. */
int monitor_connect(const char *folder);

/* ---- groups: MOUNT/berth/NODE/ID in each hierarchy ---- */

/** The path of a container's group; NULL where the hierarchy is not usable. Yours. */
char *group_path(const struct runtime *rt, enum controller controller, const char *id);
/* Of a quota of cpu time: the kernel takes no less, and somewhat more. */
enum { CPU_PERIOD_US = 100000, CPU_QUOTA_MIN_US = 1000 };
#define CPU_QUOTA_MAX_US (INT64_C(1) << 40)
/** The quota a period of so many thousandths of a cpu. */
int64_t cpu_quota_us(int64_t milli);
/** Makes the parents of all groups, as far as they can be made. */
void group_make_parents(const struct runtime *rt);
void group_remove_parents(const struct runtime *rt);
/**
 * Makes the container's groups with their limits: for a process all, for an OCI runtime only the
 * one that it is put into itself, for it makes the others.
 */
MUST_CHECK int group_make(const struct runtime *rt, const struct container *container,
                          struct err *err);
/** Says in launch which groups to join, and in which there is what to read and to kill. */
void group_say(const struct runtime *rt, const struct container *container, struct str *launch);
/** Whether a process is in any group of it. */
bool group_is_alive(const struct runtime *rt, const char *id);
/**
 * Kills all in them, waits until they are empty, removes them. Nothing there is fine.
 *
 * @kind  whose they are: a process has none but those that group_make made; RUNTIME_KIND_COUNT:
 *        unknown
 */
MUST_CHECK int group_end(const struct runtime *rt, const char *id, enum runtime_kind kind,
                         struct err *err);

/* ---- images and bundles ---- */

/* An image that is unpacked; what its configuration says. */
struct image {
    char *root;        /* absolute folder: shared, read-only */
    char **entrypoint; /* NULL-ended */
    char **cmd;
    char **env;
    char *work_dir, *user; /* "" where nothing is said */
    bool is_cache_hit;
    int64_t bytes;
};
void image_fini(struct image *image);
/**
 * Finds an image and unpacks it if it is not in the store yet.
 *
 * Returns  0; -ECANCELED; another negative errno with detail
 */
MUST_CHECK int image_get(struct runtime *rt, const char *reference, const atomic_bool *is_cancelled,
                         struct image *out, enum detail *detail, struct err *err);

/** Writes bundle/config.json. */
MUST_CHECK int config_write(const struct runtime *rt, const struct container *container,
                            const struct image *image, enum detail *detail, struct err *err);

#endif

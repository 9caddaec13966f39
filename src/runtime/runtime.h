/*
 * Runtime: the door to running one container on this machine.
 *
 * A container is prepared (blocking, on a worker thread), started (its monitor is spawned), watched
 * (one descriptor for the caller's loop), told to stop, and cleaned up. The runtime keeps no list
 * of containers: all it knows of one lies in the attempt's folder, so that another agent, after a
 * crash or an upgrade, goes on from the folder alone.
 *
 * The attempt's folder, made by the caller, owned by this house but for `spec`:
 *
 *     spec       the caller's: what was delivered, fsynced before `ack`; never read here
 *     phase      of a preparation that failed or was cancelled: NAME done|failed|undone
 *     MICROSECONDS, one line
 *                a phase that had work
 *     launch     what the monitor, and clean-up, must know: KEY=VALUE records, each ended by NUL;
 *     written
 *                before anything outside of the folder is made; locked by the monitor that has the
 *                container; one NUL when all is cleaned up
 *     bundle/    config.json, run/ (the runtime's own state), root/ (where the root is mounted)
 *     upper/ work/   the container's own layer of an overlay root
 *     sock       the monitor's socket, made when the agent that spawned it has gone
 *     log.BASE   CRI lines; BASE is the offset in the logical log of the file's first byte. Files
 *     are
 *                never renamed: the monitor begins a new one when one is full and deletes the
 *                oldest
 *     exit       the exit record, renamed into place: there, or not; also for a start that failed
 *
 * Beside the attempts lies one file `lease`, mapped by all monitors: until when this node may run
 * containers. A monitor ends its container by itself when that time has passed.
 *
 * docs/design/attempt-folder.md has the formats and the monitor's protocol.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/states.h"

/* ---- What the machine offers ---- */

enum runtime_kind {
    RUNTIME_CRUN,
    RUNTIME_RUNC,
    RUNTIME_PROCESS, /* no isolation but cgroups and limits where they can be had */
    RUNTIME_KIND_COUNT
};
extern const char *const runtime_kind_words[RUNTIME_KIND_COUNT]; /* crun, runc, process */

enum cgroup_layout { CGROUP_NONE, CGROUP_V1, CGROUP_HYBRID, CGROUP_V2, CGROUP_LAYOUT_COUNT };
extern const char *const cgroup_layout_words[CGROUP_LAYOUT_COUNT]; /* none v1 hybrid v2 */

enum controller {
    CONTROLLER_CPU,
    CONTROLLER_CPUACCT,
    CONTROLLER_MEMORY,
    CONTROLLER_PIDS,
    CONTROLLER_FREEZER,
    CONTROLLER_DEVICES,
    CONTROLLER_CPUSET,
    CONTROLLER_BLKIO,
    CONTROLLER_SYSTEMD, /* v1 name=systemd: runtimes make a group there too */
    CONTROLLER_UNIFIED, /* the v2 hierarchy, with or without controllers */
    CONTROLLER_COUNT
};
extern const char *const controller_words[CONTROLLER_COUNT];

/* What runtime_probe found. A plain value. */
struct machine {
    char boot_id[40]; /* of the running kernel; "" if unknown */
    char kernel[68];
    char hostname[68];
    int64_t cpu_milli;    /* cpus this process may use, thousandths */
    int64_t memory_bytes; /* the smaller of the machine's memory and the group's limit */
    bool is_root;
    enum cgroup_layout cgroup_layout;
    struct {
        char path[96];    /* where its hierarchy is mounted; "" if it is nowhere */
        bool is_writable; /* groups can be made there */
    } controllers[CONTROLLER_COUNT];
    bool has_cgroup_kill; /* the v2 hierarchy ends a group at one write */
    bool has_overlay, has_network_namespaces, has_user_namespaces;
    struct {
        bool is_usable;
        char path[128];    /* of the program; "" for process */
        char version[32];  /* as it says; "" if unknown */
        char why_not[160]; /* when it is not usable */
    } runtimes[RUNTIME_KIND_COUNT];
};

/**
 * Finds out what this machine offers. What is missing or cannot be read is found missing: this
 * cannot fail. Blocking: runs `crun --version` and `runc --version`.
 */
void runtime_probe(struct machine *out);

/**
 * Lists what was found, for `node show` and the log.
 *
 * @say  is called once a finding, in a fixed order: key such as "cgroup", "runtime.crun"; value
 *       such as "hybrid", "1.8.1", "no"; message NULL, or what is degraded because of it, one
 *       sentence
 */
void machine_findings(const struct machine *machine,
                      void (*say)(void *ctx, const char *key, const char *value,
                                  const char *message),
                      void *ctx);

/**
 * Makes the first attach to a cgroup cheap (microseconds instead of a grace period of the kernel,
 * 7.8 ms at HZ=250) for as long as the kernel runs, by mounting a named hierarchy once with
 * `favordynmods`. System-wide; call it once at the agent's start when the operator permits it.
 *
 * Returns  0 done; -EPERM, -EINVAL (a kernel before 6.0) or another errno: nothing was changed
 */
MUST_CHECK int machine_speed_up_attach(struct err *err);

/* ---- The runtime of one agent ---- */

struct runtime;

struct runtime_config {
    const char *data_dir;              /* absolute; images/ and lease are made in it; must exist */
    const char *node;                  /* the node's name; groups are made under /berth/NODE */
    const char *monitor_path;          /* absolute path of berth-monitor */
    const struct machine *machine;     /* borrowed for the call */
    const char *const *image_prefixes; /* NULL-ended absolute folders that oci: and dir: may name;
                                            NULL: any */
};

/**
 * Opens the runtime: makes images/ and lease, and the parent groups.
 *
 * Returns  0; a negative errno with the reason
 * Thread   any; the functions below may be called with it from several threads at once
 */
MUST_CHECK int runtime_open(const struct runtime_config *config, struct runtime **out,
                            struct err *err);
/** Lets go of it; containers run on. NULL is fine. */
void runtime_close(struct runtime *rt);
void runtime_closep(struct runtime **rt);
/** Ends the monitors that are kept for the next containers; those that have one stay. */
void runtime_rest(struct runtime *rt);
/** The machine as it was given; borrowed. */
const struct machine *runtime_machine(const struct runtime *rt);
/** Removes the node's parent groups where they are empty; for an agent that leaves for good. */
void runtime_leave(struct runtime *rt);

/**
 * Says until when containers may run without a word from the server. Monitors see it at once or at
 * their next look, at most 5 s later where the new time is earlier than the old.
 *
 * @term_at_ms  CLOCK_BOOTTIME in ms: TERM at this time; 0: never
 * @kill_at_ms  likewise KILL
 */
void runtime_lease(struct runtime *rt, int64_t term_at_ms, int64_t kill_at_ms);

/* ---- One container: preparing ---- */

enum network { NETWORK_HOST, NETWORK_NONE, NETWORK_COUNT };
extern const char *const network_words[NETWORK_COUNT];

/* What to run; plain values, borrowed. Zero or NULL where nothing is asked for. */
struct container {
    const char *id;     /* [A-Za-z0-9.-]{1,100}, unique on the node, such as j-12.worker.3.1 */
    const char *folder; /* the attempt's folder, absolute, exists */
    enum runtime_kind runtime;
    const char *image;          /* oci:PATH, oci:PATH:TAG, dir:PATH; NULL or "" for process */
    const char *const *command; /* NULL-ended; NULL or empty: the image's entry point */
    const char *const *args;    /* NULL-ended; NULL: the image's cmd, if command is empty too */
    const char *const *env; /* NULL-ended KEY=VALUE, over the image's; the caller's BERTH_* in it */
    const char *work_dir;   /* absolute; NULL: the image's, or / */
    const char *user;       /* "uid", "uid:gid"; NULL or "": the image's, or the agent's own */
    int64_t memory_bytes;   /* limit, swap included; 0 none */
    int64_t cpu_milli;      /* limit; 0 none */
    int64_t pids;           /* limit; 0 none */
    int64_t nofile;         /* open files; 0: 1024 soft; held to this process's own hard limit */
    enum network network;
    bool read_only_root;
    bool keep_on_disconnect; /* the lease does not end it */
    int64_t limit_ms;        /* from the first instruction; then TERM, grace, KILL; 0 none */
    int64_t grace_ms; /* TERM to KILL for STOP_GRACE and the monitor's own stops; 0: at once */
    int64_t log_lines_per_hour; /* 0: no limit */
    int64_t log_file_bytes;     /* a new log file after so much; 0: 16 MiB */
    int64_t
        log_keep_bytes; /* at most so much of the log is kept, current file included; 0: 64 MiB */
};

enum start_phase {
    PHASE_IMAGE, /* the image is there, verified, unpacked */
    PHASE_PORTS,
    PHASE_BUNDLE, /* folders of the bundle */
    PHASE_MOUNTS, /* sources of mounts are there */
    PHASE_SPEC,   /* config.json, or the command of a process */
    PHASE_ROOT,   /* upper and work of the overlay */
    PHASE_NETWORK,
    PHASE_DEVICES,
    PHASE_PREPARE, /* groups with their limits, the monitor's launch file */
    START_PHASE_COUNT
};
extern const char *const start_phase_words[START_PHASE_COUNT]; /* image, ports, ... */

struct phase_report {
    enum start_phase phase;
    bool is_ok;
    int64_t began_ms; /* CLOCK_BOOTTIME */
    int64_t took_us;
    int64_t bytes;     /* read or written, of PHASE_IMAGE */
    bool is_cache_hit; /* of PHASE_IMAGE: nothing needed unpacking */
};

/* How a preparation talks to its caller; called on the preparing thread. Each may be NULL. */
struct prepare_hooks {
    void *ctx;
    /** Before a phase; below 0 makes the phase fail with that errno. */
    int (*begin)(void *ctx, enum start_phase phase);
    /** After a phase; below 0 makes a phase that went well fail after all. */
    int (*end)(void *ctx, const struct phase_report *report);
    const atomic_bool *is_cancelled; /* looked at between phases and while an image is unpacked */
};

/**
 * Does all that comes before the start, phase by phase. On failure or cancel each phase that was
 * begun is undone in reverse order and nothing is left but spec and phase.
 *
 * @detail  set on failure: which kind; DETAIL_NONE when cancelled
 * Returns  0; -ECANCELED; another negative errno with the reason
 * Thread   any; blocking
 */
MUST_CHECK int runtime_prepare(struct runtime *rt, const struct container *container,
                               const struct prepare_hooks *hooks, enum detail *detail,
                               struct err *err);

/* ---- One container: running ---- */

/* How an attempt's container ended, or why it did not start. A plain value. */
struct exit_record {
    bool has_started;   /* false: the start failed, detail and text say why */
    enum detail detail; /* of a failed start */
    int code;           /* exit code; 0 if a signal ended it */
    int signal;         /* that ended it; 0 */
    bool is_oom;        /* its group ran out of memory and the main process died of it */
    int oom_kills;      /* processes of its group that were killed for memory, main or not */
    bool is_lease_over; /* the monitor ended it because the node's lease passed */
    bool is_limit_over; /* its limit passed while it ran */
    int64_t started_ms, ended_ms;           /* CLOCK_REALTIME; 0 if it never started */
    int64_t started_boot_ms, ended_boot_ms; /* CLOCK_BOOTTIME */
    int64_t peak_memory_bytes;              /* of its group; 0 if unknown */
    int64_t cpu_us; /* used by its group, or by the main process and its waited-for children */
    char text[240]; /* the runtime's own message, of a failed start */
};

enum watch_kind {
    WATCH_NOTHING, /* no more to read now */
    WATCH_STARTED, /* the first instruction was reached */
    WATCH_ENDED, /* the exit record is there (also: the start failed), and nothing of the container runs */
    WATCH_LOST, /* the monitor died without a record: clean up, CAUSE_START_FAILED or RUNTIME_FAILED */
};

struct watch_event {
    enum watch_kind kind;
    pid_t pid;               /* STARTED: of the container's main process */
    int64_t started_ms;      /* STARTED: CLOCK_REALTIME */
    int64_t started_boot_ms; /* STARTED: CLOCK_BOOTTIME */
    int64_t setup_us;        /* STARTED: monitor's own time from its first line to the start */
    struct exit_record exit; /* ENDED */
};

struct watch; /* a connection to one monitor; owned by one thread */

/**
 * Gives it to a monitor, which starts the container once: to one that has nothing to do, or to a
 * new one (posix_spawn, never fork). Does not wait.
 *
 * Returns  0; a negative errno: nothing was started
 */
MUST_CHECK int runtime_start(struct runtime *rt, const struct container *container,
                             struct watch **out, struct err *err);
/**
 * Connects to the monitor of a container that an earlier agent started. Its state comes as events.
 *
 * Returns  0; -ECONNREFUSED or -ENOENT: no monitor lives there
 */
MUST_CHECK int watch_open(struct runtime *rt, const char *folder, struct watch **out,
                          struct err *err);
/** Lets go; a container that runs goes on; a monitor that has nothing to do is kept. NULL is
 * fine. */
void watch_free(struct watch *watch);
/** Readable when watch_read has something. Level-triggered. */
int watch_fd(const struct watch *watch);
/**
 * Takes the next event; does not block. After ENDED or LOST there are none.
 *
 * Returns  0 (also with WATCH_NOTHING); a negative errno: treat as LOST
 */
MUST_CHECK int watch_read(struct watch *watch, struct watch_event *out, struct err *err);

enum stop {
    STOP_TERM,
    STOP_KILL,
    STOP_GRACE /* TERM, and KILL by the monitor when grace_ms is over */
};

/**
 * Asks the monitor to signal all of the container. Does not block; the end comes as an event. May
 * be called again, and before WATCH_STARTED: then the monitor acts as soon as there is something to
 * act on.
 *
 * Returns  0; -EPIPE: the monitor is gone (WATCH_LOST or ENDED is to be read)
 */
MUST_CHECK int watch_stop(struct watch *watch, enum stop stop, struct err *err);

/**
 * Gives the container another time limit, from its first instruction; 0: none. One that has passed
 * ends it at once, by TERM, grace and KILL. Does not block; may be called before WATCH_STARTED.
 *
 * Returns  0; -EPIPE as above
 */
MUST_CHECK int watch_limit(struct watch *watch, int64_t limit_ms, struct err *err);

/* ---- From nothing but the folder ---- */

enum folder_state {
    FOLDER_FRESH,    /* never started: not prepared, or prepared only */
    FOLDER_RUNNING,  /* its monitor lives: watch_open */
    FOLDER_ENDED,    /* the exit record is there */
    FOLDER_ORPHANED, /* the monitor died without a record and some of the container may be alive */
    FOLDER_GONE, /* the monitor died without a record and nothing is alive, or the machine was restarted since */
};

struct inspection {
    enum folder_state state;
    bool is_other_boot;      /* it was begun before the machine's last start */
    struct exit_record exit; /* of FOLDER_ENDED */
};

/** Reads what became of an attempt. Returns 0; a negative errno when the folder cannot be read. */
MUST_CHECK int runtime_inspect(struct runtime *rt, const char *folder, struct inspection *out,
                               struct err *err);

/**
 * Ends whatever is still alive of the container, with KILL, and removes all that was made for it,
 * in a fixed order: monitor, processes, groups, mounts, the runtime's state, layers, socket. What
 * stays is spec, phase, log.*, exit and a launch of one NUL. May be repeated; does nothing the
 * second time. Call it after ENDED or LOST, or for FRESH, ORPHANED and GONE folders; on a running
 * container it is the hard end.
 *
 * Returns  0: verified, nothing is left; a negative errno: something is, and the text names it;
 *          call again
 * Thread   any; blocking, milliseconds as a rule
 */
MUST_CHECK int runtime_clean(struct runtime *rt, const char *folder, struct err *err);

/** Removes the folder itself with all in it, after runtime_clean. */
MUST_CHECK int runtime_forget(struct runtime *rt, const char *folder, struct err *err);

/**
 * Ends and removes what carries this node's name but is not known: groups under /berth/NODE.
 *
 * @is_known  whether the caller has a folder for this container id
 * Returns    how many were ended; a negative errno when one could not be
 */
MUST_CHECK int runtime_sweep(struct runtime *rt, bool (*is_known)(void *ctx, const char *id),
                             void *ctx, struct err *err);

/* What a container uses now. */
struct sample {
    int64_t memory_bytes,
        peak_memory_bytes; /* 0 for a process without a limit: it has no group of memory */
    int64_t cpu_us;
    int64_t n_processes;
};
/** Reads the container's groups. Returns 0; -ENODATA where it has none (any more). */
MUST_CHECK int runtime_sample(struct runtime *rt, const char *folder, struct sample *out,
                              struct err *err);

/* ---- Logs ---- */

struct log_piece {
    uint64_t
        offset;   /* of the first byte given; above what was asked for: what lay between is gone */
    size_t n;     /* bytes given */
    uint64_t end; /* the length of the logical log at this time, from its first byte */
};

/**
 * Reads raw bytes of the logical log: CRI lines, offsets count on over all files, also deleted
 * ones. No log yet is an empty one. base/cri.h turns them back into what the streams held; after a
 * gap, cri_decoder_resync.
 *
 * @offset  where to begin; beyond the end gives none
 * Returns  0; a negative errno with the reason
 * Thread   any; blocking, a few system calls
 */
MUST_CHECK int runtime_log_read(const char *folder, uint64_t offset, void *buf, size_t size,
                                struct log_piece *out, struct err *err);

#endif

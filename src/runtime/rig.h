/*
 * Rig: for tests: a runtime in a temporary folder, containers in it, and a count of what is left.
 */
#ifndef RUNTIME_RIG_H
#define RUNTIME_RIG_H

#include "runtime/runtime.h"

#define COMMAND(...) ((const char *const[]){ __VA_ARGS__, NULL })

enum { OUT, ERR, NOTICE }; /* streams of a log */

struct rig {
    struct machine machine;
    struct runtime *runtime;
    char dir[64];
    char node[32];
    int n_attempts;
};

/* One container of a test. */
struct attempt {
    struct container container;
    char id[64];
    char folder[128];
    struct watch *watch;
    struct watch_event started, ended;
};

/* What a machine holds that a container could leave behind. */
struct leftovers {
    size_t n_fds, n_mounts, n_groups, n_processes, n_in_groups;
};

void rig_open(struct rig *rig);
/** On a machine that is made to lack something. */
void rig_open_as(struct rig *rig, void (*change)(struct machine *machine));
/** Cleans what was not, and checks that nothing of the node is left. */
void rig_close(struct rig *rig);
/** Skips the test if the runtime is not usable here. */
void rig_needs(const struct rig *rig, enum runtime_kind kind);
/** Fills an attempt with a command, no limits; its folder is made. */
void rig_attempt(struct rig *rig, struct attempt *attempt, enum runtime_kind kind,
                 const char *const *command);
/** Prepares and starts; checks that both go well. */
void rig_start(struct rig *rig, struct attempt *attempt);
/** Waits for the next event; fails the test after 30 s without one. */
void rig_event(struct attempt *attempt, struct watch_event *out);
/** Waits for STARTED, checks that it is one. */
void rig_started(struct attempt *attempt);
/** Waits for ENDED, checks that it is one, lets go of the watch. */
void rig_ended(struct attempt *attempt);
/** Start, started, ended. */
void rig_run(struct rig *rig, struct attempt *attempt);
/** runtime_clean, checked, and that the folder holds nothing but what is to stay. */
void rig_clean(struct rig *rig, struct attempt *attempt);
/** The bytes that one stream logged; yours. */
char *rig_output(const struct attempt *attempt, int stream, size_t *n);
/** Waits until the stream's output contains text; fails the test after 30 s. */
void rig_wait_output(const struct attempt *attempt, int stream, const char *text);
void rig_count(const struct rig *rig, struct leftovers *out);
void rig_check_same(const struct leftovers *before, const struct leftovers *after);
/** Waits until the attempt's folder is in this state; fails the test after 30 s. */
void rig_wait_folder(struct rig *rig, const struct attempt *attempt, enum folder_state state,
                     struct inspection *out);
/** Waits until no process has this pid, or until it is a zombie; fails the test after 30 s. */
void rig_wait_gone(pid_t pid);
typedef void rig_body_fn(struct rig *rig, enum runtime_kind kind);

/**
 * Runs one body for each runtime that is usable, in a rig of its own, and holds what is there
 * before against what is there after. Skips where none is.
 */
void rig_each(rig_body_fn *body);
/** Runs bodies with runtime `process` on machines with less than this one has, likewise. */
void rig_each_lesser(rig_body_fn *const *bodies, size_t n);
/** A root folder with busybox, made once a program run; the path. Skips where busybox is
 * missing. */
const char *rig_busybox(struct rig *rig);

#endif

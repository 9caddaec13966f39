/*
 * The openb trace: machines with GPUs, tasks, and the orders in which they were published to
 * arrive. See Weng et al., USENIX ATC 2023, and its data.
 */
#ifndef BENCH_OPENB_H
#define BENCH_OPENB_H

#include <stddef.h>
#include <stdint.h>

enum { MOST_GPUS = 8, MOST_TYPES = 16, WHOLE = 1000, MOST_TASKS_OF_A_NODE = 1001, KINDS = 5 };

struct machine {
    char name[32];
    char model[16];
    int64_t cpu, memory, free[MOST_GPUS];
    int type, n_gpus, n_tasks;
    int runs[KINDS]; /* how many GPU tasks of each kind */
};

struct pod {
    char name[32], spec[96];
    int64_t cpu, memory, milli;
    int n_gpus;
    uint32_t types; /* bits of those that will do; 0: all */
};

/* A distinct request, and how many of the list make it. */
struct shape {
    int64_t cpu, milli;
    int n_gpus;
    uint32_t types;
    const char *spec;
    int64_t count;
};

struct mix_of_trace {
    struct shape *shapes; /* most frequent first */
    size_t n, n_kept;
    int64_t n_covered; /* tasks that the kept ones stand for */
};

struct trace {
    char types[MOST_TYPES][16];
    int n_types;
    struct machine *machines; /* in the order of choice */
    size_t n_machines;
    struct pod *pods; /* by row */
    size_t n_pods;
    size_t *order; /* rows, in the order of arrival */
    size_t n_order;
    struct mix_of_trace mix;    /* of all that is asked for */
    struct mix_of_trace any;    /* the same as if any type would do for each task */
    int64_t sought[MOST_TYPES]; /* for our own policy: by type, tenths */
    int64_t core_milli;         /* likewise: what there is of GPUs for a core */
};

/** Says what is wrong with which, and exits with 2. */
_Noreturn void die(const char *what, const char *which);
/**
 * Reads a list of tasks and the order of a seed.
 *
 * @folder  of the csv files and the orders, unpacked
 * @seed    of a published order; "own:N": the N-th of our own, made by the published rule
 */
void trace_read(struct trace *t, const char *folder, const char *list, const char *seed);
void trace_free(struct trace *t);

#endif

/*
 * The mix: which tasks come, by what they ask of cpu and GPUs, and how much of a node's free
 * GPUs such tasks could not use. A plugin learns it and remembers it as a memo.
 *
 * The memo is text, a line a shape: u (in use) or g (gathered since), how many, thousandths of
 * cpu, thousandths of each GPU, GPUs, and the models that will do, joined by "|", or "-".
 */
#ifndef ENGINE_MIX_H
#define ENGINE_MIX_H

#include "engine/model.h"

/* What some tasks ask for. */
struct shape_count {
    int64_t n, cpu, milli, gpus; /* n: how many tasks */
    const char *models;          /* joined by "|"; "" if any will do */
};

struct mix {
    struct shape_count *at; /* most frequent first; then what asks for more */
    size_t n;
};

/** Reads the lines of one letter; what is no such line is passed over. In an arena. */
struct mix mix_read(const struct berth_memo *memo, char letter, struct arena *arena);
/** Adds so many tasks of a shape, whose models are copied into the arena. */
void mix_add(struct mix *mix, const struct shape_count *shape, struct arena *arena);
/** Halves all counts; what has none is left out. */
void mix_halve(struct mix *mix);
int64_t mix_total(const struct mix *mix);
void mix_write(const struct mix *mix, char letter, struct str *out);
/** The shape of a class of tasks, in an arena; of 1.5 GPUs it is 2 of 750 thousandths. */
struct shape_count mix_shape_of(const struct kind *kind, struct arena *arena);
/** The same tasks as if any model would do for each, in an arena. */
struct mix mix_of_any_model(const struct mix *mix, struct arena *arena);

enum { SOUGHT_MOST = 40 };
/**
 * How sought each model of GPU is: what tasks that name it ask for, each spread over all GPUs that
 * will do for it, in tenths of what all tasks ask for over all GPUs; at most SOUGHT_MOST.
 *
 * Returns  in the arena, by model->gpu_models, and last: one that says none
 */
int64_t *mix_sought(const struct mix *mix, const struct model *model, struct arena *arena);

/* A mix worked out for measuring: its most frequent shapes. */
struct measure;

/**
 * Keeps the most frequent shapes that make at least so many thousandths of all.
 *
 * Returns  in the arena; NULL if there are none
 */
struct measure *measure_new(const struct mix *mix, int64_t coverage_milli,
                            const struct model *model, struct arena *arena);
/** How many tasks the kept shapes stand for. */
int64_t measure_total(const struct measure *measure);

/* What a node's devices have free. */
struct picture {
    int64_t *free;   /* by device, thousandths; 0 of one that is not given out */
    uint32_t *model; /* by device, of model->gpu_models, or NOWHERE */
    size_t n;
};

/* What a node's devices are to each shape of the mix. */
struct tally {
    int64_t sum;   /* free in all */
    int64_t *lost; /* by shape: free on devices that are too full or of another model for it */
    int64_t *fit;  /* by shape: devices that will do */
};

/** Room for a tally, in an arena. */
struct tally tally_new(const struct measure *measure, struct arena *arena);
void tally_copy(const struct measure *measure, const struct tally *from, struct tally *to);
/** Counts a node's devices. */
void tally_count(const struct measure *measure, const struct picture *picture, struct tally *out);
/** Takes so much of a device that had `free`. */
void tally_take(const struct measure *measure, struct tally *tally, uint32_t model, int64_t free,
                int64_t milli);

/**
 * The thousandths of GPUs that a task drawn from the mix could not use, times measure_total: all
 * that is free if it asks for none or finds no room, else what is free on the devices that are
 * too full or of another model for it.
 *
 * @cpu     what the node has free of it
 * Source   Weng et al., "Beware of Fragmentation", USENIX ATC 2023, section 4
 */
int64_t measure_waste(const struct measure *measure, const struct tally *tally, int64_t cpu);
/** Likewise if so much of a device that has `free` were taken. */
int64_t measure_waste_if(const struct measure *measure, const struct tally *tally, int64_t cpu,
                         uint32_t model, int64_t free, int64_t milli);

#endif

/*
 * Between the parts of the feed: feed.c, which hears, feed_spec.c, which reads what jobs ask for,
 * and feed_questions.c, which is asked.
 */
#ifndef SERVER_FEED_INSIDE_H
#define SERVER_FEED_INSIDE_H

#include "base/heap.h"
#include "base/map.h"
#include "server/feed_pools.h"
#include "server/feed_rooms.h"

/* What the engine was told of one task. */
struct fed_task {
    uint64_t rev;    /* of its last attempt's row */
    uint32_t number; /* of its last attempt */
    uint8_t state;   /* enum berth_task_state */
    bool is_told;    /* a delta went out: its end must too */
};

/* A live job. */
struct fed {
    uint64_t id;
    char *spec_text;       /* that `spec` was read from */
    struct job_spec *spec; /* what the texts of `job` are borrowed from */
    struct arena arena;    /* lists of `job` */
    struct berth_job job;
    uint32_t *first; /* of each group, the place of its first task */
    struct fed_task *tasks;
    int64_t degraded_at;  /* since when its gang runs short; 0 it does not */
    struct heap_item due; /* in feed->dues while it must start by job.deadline_at_ms */
    struct fed *next;     /* among those that wait for the next call to be freed */
};

struct feed {
    struct map jobs;    /* number to struct fed */
    struct heap dues;   /* by deadline */
    struct map folders; /* that some node allows images from, each to itself */
    bool has_new_folders;
    bool asks_admission;
    struct fed *ended;         /* deltas may still point into them */
    VEC_OF(uint64_t) degraded; /* jobs: gangs that run short */
    struct feed_rooms rooms;
    struct feed_pools pools;
};

/** The folder that an image must be allowed from: one that some node allows, or "/"; NULL: any
 * node has it. Borrowed from the feed. */
const char *feed_image_folder(const struct feed *feed, const char *image);

#endif

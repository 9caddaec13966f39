/*
 * Feed: what was committed, as deltas for an engine.
 *
 * Rows of the ledger in, objects of the engine out. It remembers of each live job what the engine
 * was told, so that an event that changes nothing for the engine gives no delta, and the end of a
 * job ends its tasks. It never decides and knows no thread.
 */
#ifndef SERVER_FEED_H
#define SERVER_FEED_H

#include "api/job.h"
#include "base/arena.h"
#include "base/vec.h"
#include "berth/engine.h"
#include "ledger/ledger.h"

struct feed;

/* What the server's engines are made from. Borrowed: it outlives them. */
struct feed_engine_from {
    const struct berth_config *config;       /* NULL: profile berth */
    const struct berth_plugin_file *plugins; /* that it may name */
    size_t n_plugins;
    const struct berth_delta *objects; /* pools, chains and network domains of the configuration */
    size_t n_objects;
};

struct feed_deltas {
    VEC_OF(struct berth_delta);
};

/**
 * @from    whose objects it tells of; NULL: none
 * @engine  that is told: where it asks for admission, jobs state what their least members need;
 *          NULL: it does not
 */
struct feed *feed_new(const struct feed_engine_from *from, const struct berth_engine *engine);
void feed_free(struct feed *feed);

/**
 * Adds the deltas of a batch, in its order. After a base the engine they are for must be new.
 *
 * @arena   where what the deltas point at lives, besides the feed's own memory of jobs: both must
 *          stand until the deltas were applied, which is before the next call
 * @deltas  gains them
 * A row that cannot be read is left out and logged: an engine without it still decides.
 */
void feed_batch(struct feed *feed, const struct batch *batch, struct arena *arena,
                struct feed_deltas *deltas);

/** The place of a group in a live job, or -1. */
int64_t feed_group_index(const struct feed *feed, uint64_t job, const char *group);
/**
 * The first task of a live job that waits (of one group, if group is not NULL).
 *
 * @out     group's text lives as long as the job does in the feed
 * Returns  whether there is one
 */
bool feed_first_waiting(const struct feed *feed, uint64_t job, struct berth_task_ref *out);
/** The name and groups of a live job as the engine has them, or NULL. */
const struct berth_job *feed_job(const struct feed *feed, uint64_t job);
/* A job that did not start in time. */
struct feed_due {
    uint64_t job, version;
};
/** When the first of the machines that did not come was ordered so long ago; BERTH_NEVER without
 * one. */
int64_t feed_next_order_end(const struct feed *feed, int64_t ttl_ms);
/** Their keys, the eldest first, so many at most; borrowed until the next batch. Returns how
 * many. */
size_t feed_orders_over(const struct feed *feed, int64_t now_ms, int64_t ttl_ms, const char **out,
                        size_t most);
/** When the next of the jobs that have not started should have; BERTH_NEVER if none has to. */
int64_t feed_next_deadline(const struct feed *feed);
/** Those that should have started by now, at most so many; how many there are in out. */
size_t feed_overdue(const struct feed *feed, int64_t now_ms, struct feed_due *out, size_t most);
/* A live attempt of a job, as it was last seen. */
struct feed_attempt {
    struct attempt_key key;
    uint64_t rev;
};
/** When the first of the gangs that run short has done so for that long; BERTH_NEVER if none
 * does. */
int64_t feed_next_short(const struct feed *feed, int64_t timeout_ms);
/** One that has, by now, and is not being stopped; 0 if there is none. @after  those with a larger
 * id */
uint64_t feed_short(const struct feed *feed, int64_t now_ms, int64_t timeout_ms, uint64_t after);
/** Its live attempts that are not being stopped; yours to mem_free. */
struct feed_attempt *feed_running(const struct feed *feed, uint64_t job, size_t *n);

/* Room that is held for a job. */
struct feed_reservation {
    uint64_t job, id, rev;
    int64_t until_ms; /* when it is let go as things stand; 0 never */
};
/** What is held for a job; false if nothing is. */
bool feed_reservation(const struct feed *feed, uint64_t job, struct feed_reservation *out);
/** When the first of them is let go; BERTH_NEVER if none is. */
int64_t feed_next_release(const struct feed *feed);
/** Those that should have been let go by now, at most so many, by job; how many there are in
 * out. */
size_t feed_to_release(const struct feed *feed, int64_t now_ms, struct feed_reservation *out,
                       size_t most);
/** The job number in an engine's job key ("j-12"); 0 if it is none. */
uint64_t feed_job_number(const char *id);

/**
 * Fills in an engine's job from a specification: all that does not depend on how far it came.
 *
 * @feed    which knows what folders nodes allow images from
 * @id      its key, borrowed
 * @arena   where the lists live; texts are borrowed from the specification and the feed
 */
void feed_job_from_spec(const struct feed *feed, const struct job_spec *spec, const char *id,
                        struct arena *arena, struct berth_job *out);

/** Amounts of the engine as rows have them, a JSON text whose keys are sorted; yours to free. */
char *feed_amounts_text(const struct berth_amounts *amounts);

#endif

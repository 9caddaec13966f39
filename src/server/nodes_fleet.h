/*
 * Fleet: the live attempts by node, derived from the ledger's batches.
 *
 * One owner, the node loop; it knows no request and sends nothing. What an agent must be told
 * follows from what is here and from what its stream was told (struct fleet_attempt, told_*).
 */
#ifndef SERVER_NODES_FLEET_H
#define SERVER_NODES_FLEET_H

#include "api/job.h"
#include "base/map.h"
#include "base/name.h"
#include "ledger/ledger.h"
#include "server/nodes_where.h"

struct http_request;
struct nodes_log;

enum { FLEET_OVER_MAX = 4096 /* ended jobs whose names are still understood */ };

struct fleet_job {
    uint64_t id;
    char *spec_text;       /* where the specification was not at hand */
    struct job_spec *spec; /* then read when it is first needed */
    uint64_t version;      /* of the row that it is of */
    bool is_over;
    struct fleet_job *next_over; /* in the order in which they ended */
};

/* An agent's node. Lives as long as the fleet: names stay for ever. */
struct worker {
    char *name;
    uint64_t generation; /* the highest heard of */
    enum node_state state;
    bool is_told_forked;                /* that its agent serves another copy of the ledger */
    int64_t heard_ms;                   /* boot ms of its last beat or registration; 0: none yet */
    struct fleet_attempt *first, *last; /* live ones here, in the order of their binds */

    /* the stream of work, owned by nodes_work.c */
    struct http_request *stream; /* NULL: not connected */
    uint64_t stream_generation;
    char **have; /* sent ahead by POST have, for the next stream */
    size_t n_have;
    uint64_t have_generation;
    struct str out; /* lines to be written behind this batch */
    bool is_in_dirty;
    struct worker *next_dirty;
    struct nodes_log *logs; /* being read from its agent */
};

struct fleet_attempt {
    char name[NAME_ATTEMPT_SIZE];
    struct attempt_key key;
    struct fleet_job *job;
    struct worker *worker;
    struct fleet_attempt *next, *prev; /* on the worker */
    enum attempt_state state;
    bool is_stop_wanted;
    enum cause cause;
    int64_t grace_ms;
    bool told_start, told_stop; /* by the present stream, or had by its agent */
    int64_t told_limit_ms;      /* likewise; below 0: whatever it was started with */
    bool is_reported;           /* its agent said that it ended */
};

struct fleet {
    struct map workers;  /* by name */
    struct map jobs;     /* by number */
    struct map attempts; /* live ones, by name */
    struct where where;  /* the same by job, for other threads */
    struct fleet_job *first_over, **end_over;
    size_t n_over;
    bool is_fed;
    uint64_t revision;
};

/* Who is told what an event changed; none is NULL. */
struct fleet_watch {
    void (*worker_changed)(struct worker *worker, void *arg);
    /** It is new, or what is wanted of it changed. */
    void (*attempt_changed)(struct fleet_attempt *attempt, void *arg);
    /** It has ended; freed behind the call. */
    void (*attempt_ended)(struct fleet_attempt *attempt, void *arg);
    void *arg;
};

void fleet_init(struct fleet *fleet);
void fleet_fini(struct fleet *fleet);

void fleet_apply(struct fleet *fleet, const struct batch *batch, const struct fleet_watch *watch);

/** The worker of that name, made if it is new. */
struct worker *fleet_worker(struct fleet *fleet, const char *name);
/** The job's specification, or NULL if it cannot be read (which is logged). */
const struct job_spec *fleet_spec(struct fleet_job *job);
/**
 * Reads an attempt's name as agents write it.
 *
 * Returns  0; -EINVAL not a name; -ENOENT no live (or lately ended) job has such a group
 */
MUST_CHECK int fleet_key(struct fleet *fleet, const char *name, struct attempt_key *out);

#endif

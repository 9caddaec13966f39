/*
 * Rows: what the ledger keeps, as plain values.
 *
 * Each kind of row has a table of columns in schema.c, from which SQL, keys, the JSON of events
 * and the follower's reading are made; nothing else knows a row's layout. Texts belong to the
 * row. A published row is never changed: a new one takes its place.
 */
#ifndef LEDGER_ROWS_H
#define LEDGER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/states.h"

enum row_kind {
    ROW_META,
    ROW_LEASE,
    ROW_TOKEN,
    ROW_QUEUE,
    ROW_NODE,
    ROW_BEAT,
    ROW_JOB,
    ROW_TASK,
    ROW_ATTEMPT,
    ROW_IDEM,
    ROW_MEMO,
    ROW_EVENT,
    ROW_RESERVATION, /* events keep these numbers: a new kind comes last */
    ROW_PART,
    ROW_ORDER,
    ROW_QUOTA,
    ROW_KIND_COUNT
};

struct row_meta {
    char *name; /* key: schema, incarnation, oldest */
    char *value;
};

struct row_queue {
    char *name; /* key */
    uint64_t seq;
    char *parent;  /* "" for the root */
    int64_t state; /* enum queue_state */
    char *spec;    /* JSON: weight, deserved, guarantee, cap ... as far as set */
    uint64_t rev;
};

struct row_node {
    char *name;    /* key */
    uint64_t seq;  /* revision of its first registration */
    int64_t state; /* enum node_state */
    int64_t is_cordoned;
    char *cordoned_by, *cordon_reason;
    int64_t cordoned_at; /* wall ms */
    int64_t is_draining;
    char *disabled;      /* why its agent takes no new work; "" it does */
    int64_t disabled_at; /* wall ms */
    uint64_t generation; /* rises at each registration; fences messages */
    uint64_t facts;      /* rises when something changes that eligibility or room depends on */
    char *boot_id;
    char *offers;          /* JSON object: resource to amount in its unit (integer) */
    char *labels;          /* JSON object */
    char *taints;          /* JSON array of {key,value,effect} */
    char *agent_labels;    /* JSON object: of `labels`, what the agent said */
    char *set_labels;      /* JSON object: what people laid over them */
    char *images;          /* JSON array: folders that images may come from; [] any */
    char *identity;        /* of the agent: random, one a data folder; "" it said none */
    char *info;            /* JSON object: what the agent found on the machine, for people */
    char *address;         /* where the agent was heard from */
    int64_t registered_at; /* wall ms */
    int64_t first_at;      /* wall ms: of its first registration */
    int64_t heard_at;      /* wall ms, for people; set at state changes only */
    int64_t ttl_ms;
    int64_t beat_ms; /* 0 in a row of an earlier version */
    uint64_t rev;
};

/** Whether it takes no new work, whatever its state. */
static inline bool row_node_is_closed(const struct row_node *row)
{
    return row->is_cordoned || row->is_draining || *row->disabled;
}

/* Raised by each beat of a node: no event, no revision. */
struct row_beat {
    char *node; /* key */
    uint64_t generation, beat;
    int64_t heard_at; /* wall ms, for people; 0 in a row of an earlier version */
};

struct row_job {
    uint64_t id; /* key: revision of its submit */
    char *ns, *name, *user, *queue;
    int64_t priority;
    int64_t state; /* enum job_state */
    int64_t is_admitted, is_held, is_suspended, is_degraded;
    int64_t stop_cause; /* enum cause: why it is stopping or was stopped; 0 none */
    char *stop_by;
    char *reason;     /* for people: why it failed, where no attempt tells */
    char *spec;       /* canonical JSON as accepted */
    char *labels;     /* JSON object */
    uint64_t version; /* rises at each change that a decision depends on */
    int64_t n_tasks, n_pending, n_live, n_running, n_succeeded, n_failed, n_cancelled;
    int64_t code; /* the largest shell code of its tasks; meaningful once over */
    int64_t submitted_at, started_at, ended_at; /* wall ms; 0 not yet */
    int64_t pending_at;  /* wall ms: when it was last pending again; 0 never */
    int64_t running_at;  /* wall ms: when it last came to run; 0 not yet */
    int64_t degraded_at; /* wall ms: since when it has been; 0 it is not */
    uint64_t rev;
};

/* Only where a task's state is not that of its last attempt: ended without one. */
struct row_task {
    uint64_t job; /* key: job, grp, idx */
    int64_t grp, idx;
    int64_t state; /* enum task_state: failed or cancelled */
    int64_t code;  /* enum wait_code for which it failed; 0 none */
    uint64_t rev;
};

struct row_attempt {
    uint64_t job; /* key: job, grp, idx, number */
    int64_t grp, idx, number;
    char *node;
    uint64_t generation; /* of the node's registration that holds it */
    int64_t state;       /* enum attempt_state */
    int64_t is_stop_wanted;
    int64_t cause, detail; /* enum cause, enum detail */
    int64_t grace_ms;      /* of the stop that is wanted */
    int64_t code, signal;
    int64_t then;             /* enum then, once ended */
    int64_t not_before;       /* wall ms: when the next try is due; 0 at once */
    int64_t tries, evictions; /* of the task, this attempt's end included */
    char *timings;            /* JSON: phases as the agent sent them */
    char *peaks;              /* JSON: memory, cpu time */
    char *message;            /* for people: why it failed */
    char *decision;           /* which cycle bound it */
    uint64_t evicted_for;     /* the job for whose sake it is ended; 0 none */
    int64_t bound_at, acked_at, started_at, ended_at; /* wall ms; 0 not yet */
    uint64_t rev;
};

struct row_token {
    char *hash; /* key: SHA-256 of the token, hex */
    char *name, *user, *ns;
    char *rights;  /* "admin", "user", "viewer", "agent": see docs/api.md */
    int64_t until; /* wall ms; 0 for ever */
    uint64_t rev;
};

struct row_lease {
    char *name; /* key */
    char *holder;
    uint64_t fence, beat;
    int64_t ttl_ms;
};

/* An Idempotency-Key that was used. */
struct row_idem {
    char *ns, *key; /* key */
    char *digest;   /* of the canonical spec */
    uint64_t job;
    int64_t until; /* wall ms: when it is forgotten */
};

/* What the engine asked to be kept for it. */
struct row_memo {
    char *name; /* key */
    char *value;
    uint64_t rev;
};

/* Room held for a job, which has one open at most. Once over it is the receipt of what became of
 * the room, and of the evictions that made it. */
struct row_reservation {
    uint64_t job, id;          /* key; id: the revision at which it was made */
    int64_t purpose;           /* enum purpose */
    int64_t state;             /* enum reservation_state */
    int64_t why;               /* enum release, once ended */
    int64_t is_used;           /* some of its room was bound by its owner */
    char *reason;              /* what made the room: "preempt", "reclaim" */
    char *decision;            /* which cycle */
    uint64_t version;          /* of the job, as decided on */
    char *victims;             /* JSON: the names of the evicted attempts */
    int64_t ttl_ms;            /* how long it may stand once its room is free; 0 for ever */
    int64_t until;             /* wall ms: when it is let go as things stand; 0 never */
    int64_t made_at, ended_at; /* wall ms; 0 not yet */
    uint64_t taken_by;         /* the job that took its room; 0 none */
    uint64_t rev;
};

/* The room of one task in it: what the task's group asks, on a node. */
struct row_part {
    uint64_t job; /* key: job, grp, idx, reservation */
    int64_t grp, idx;
    uint64_t reservation;
    char *node;
    int64_t state; /* enum reservation_state */
    int64_t why;   /* enum release, once ended */
    char *waits; /* JSON: the attempts whose end it waits for, as [[job,group,index,number], ...] */
    uint64_t rev;
};

/* A machine that was asked for. Its node has a row, coming, under the order's key. */
struct row_order {
    char *key; /* key */
    char *pool;
    char *shape;               /* JSON object: resource to amount in its unit (integer) */
    uint64_t job;              /* for whom; 0 for nobody yet */
    int64_t state;             /* enum order_state */
    char *provider;            /* the provider's name of the machine */
    char *reason;              /* why it failed */
    int64_t made_at, ended_at; /* wall ms; 0 not yet */
    uint64_t rev;
};

/* What a namespace may have, as the server's configuration says; it may have several. */
struct row_quota {
    char *ns, *name; /* key */
    char *hard;      /* JSON object: resource to amount in its unit (integer) */
    uint64_t rev;
};

struct row_event {
    uint64_t rev;     /* key */
    int64_t at;       /* wall ms, for people */
    char *type;       /* "job.submitted", "attempt.bound", ... */
    int64_t row_kind; /* enum row_kind of the body */
    char *subject;    /* "j-12", "j-12/w.0#1", node or queue name */
    char *by;         /* user, "steward", node name */
    char *batch;      /* server and batch number */
    uint64_t job;     /* whose history it is; 0 none */
    char *body;       /* JSON: the whole new row */
};

#endif

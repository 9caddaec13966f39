/*
 * The ledger's door: the durable truth of jobs, attempts, nodes and queues.
 *
 * One writer thread owns the mirror (all live rows in memory). Operations are sent to it from
 * any thread; it takes all that waits, judges them in order, makes one transaction and answers
 * after the commit is durable. What was committed goes to listeners as batches of events, each
 * with its whole new row, in revision order. Lists and history are read by readers with
 * connections of their own. The ledger keeps and refuses; it never chooses.
 */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "api/job.h"
#include "api/problem.h"
#include "base/clock.h"
#include "ledger/rows.h"

struct ledger;
struct op;

/* What was committed: events in revision order, each with its row. Shared between threads by
 * counting; nobody changes one. */
struct batch_event {
    uint64_t rev;
    int64_t at; /* wall ms */
    const char *type, *subject, *by;
    const char *body; /* JSON of the row, as the event log has it */
    enum row_kind kind;
    union {
        const struct row_queue *queue;
        const struct row_node *node;
        const struct row_job *job;
        const struct row_task *task;
        const struct row_attempt *attempt;
        const struct row_token *token;
        const struct row_reservation *reservation;
        const struct row_part *part;
        const struct row_order *order;
        const struct row_quota *quota;
        const void *any;
    } row;
    bool is_deleted; /* the row is gone; row holds its last value */
    const struct job_spec
        *spec; /* of a new job: what its row's text says; NULL: it is not at hand */
};

struct batch {
    bool is_base;      /* all live rows instead of what changed: forget what was known */
    uint64_t revision; /* the last one included */
    const struct batch_event *events;
    size_t n_events;
};

struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch);

/** Called on the writer's thread, first with a base, then after each commit; keep a batch with
 * batch_ref. Must not block: put it in a mailbox. */
typedef void batch_fn(struct batch *batch, void *arg);

struct ledger_options {
    const char *store; /* "memory:", "sqlite:PATH", "faulty:N:STORE" (fails at the N-th call) */
    const struct clock *clock;
    const char *server; /* this server's id, for leases and batch names */
    bool is_restored;   /* it takes another's place, as a backup does: a new incarnation begins */
    /* Called at named points (kill points): "before-lock", "after-catch-up", "before-commit",
     * "after-commit"; NULL none. For tests. */
    void (*at_point)(const char *point);
    /* Told once when the store cannot be written any more, and (with NULL) once when it can again:
     * callers repeat what was refused, many times. The writer's thread; NULL none. */
    void (*on_trouble)(const char *why);
};

/**
 * Opens the store, makes or upgrades its schema, loads the mirror. No thread yet.
 *
 * Returns  0; -EBUSY another server has it; -EPROTO a newer schema; others as the store says
 */
MUST_CHECK int ledger_open(const struct ledger_options *options, struct ledger **out,
                           struct err *err);
/** Adds a listener; before ledger_start. */
void ledger_listen(struct ledger *ledger, batch_fn *fn, void *arg);
/** Starts the writer; each listener gets its base. */
MUST_CHECK int ledger_start(struct ledger *ledger, struct err *err);
/** Answers what waits, stops the writer, closes the store. */
void ledger_close(struct ledger *ledger);

/** Random, new at create and restore. */
const char *ledger_incarnation(const struct ledger *ledger);
/** Random, new at each open. */
const char *ledger_opening(const struct ledger *ledger);
/** The incarnations that it was before it was put back: a JSON list of texts; yours. Any thread. */
char *ledger_lives(const struct ledger *ledger);
/**
 * Whether the ledger has the revision that an opening wrote, or read; false for those of another
 * ledger, of a copy that went another way, and of openings that are forgotten. Any thread.
 */
bool ledger_has(const struct ledger *ledger, const char *opening, uint64_t revision);
/**
 * Up to which revision the ledger is the same as the one of that incarnation and opening, as whoever
 * follows one must know when it meets another. Any thread.
 *
 * Returns  the last revision that both have, UINT64_MAX where that opening is open here; 0 where
 *          nothing is known to be the same
 */
uint64_t ledger_shares(const struct ledger *ledger, const char *incarnation, const char *opening);
/** NULL while the store can be written; else why it cannot (a full disk ...). Any thread; copy it
 * into out (240 bytes). */
bool ledger_is_writable(const struct ledger *ledger, char out[240]);

/* ---- operations ---- */

enum op_kind {
    OP_SUBMIT,
    OP_STOP,    /* cancel a job (or one attempt, with another cause) */
    OP_PATCH,   /* priority, labels, held, limit */
    OP_BIND,    /* a group: all of its parts or none */
    OP_EVICT,   /* a group: attempts are ended and the room is held for whom it is; all or none */
    OP_RELEASE, /* held room is let go */
    OP_ORDER,   /* a machine is asked for, with room on it */
    OP_ORDER_STATE, /* its provider says what became of that */
    OP_FAIL,        /* the engine gives a task or job up */
    OP_ADMIT,       /* flag admitted, set or taken back */
    OP_MEMO,
    OP_ACK,    /* an agent asks to start an attempt */
    OP_REPORT, /* an agent says what became of an attempt */
    OP_REGISTER,
    OP_BEAT,       /* no event, no revision */
    OP_LEAVE,      /* an agent says goodbye; attempts that remain are ended by its reports */
    OP_CORDON,     /* or drain, or undo both */
    OP_NODE_LABEL, /* labels that people lay over the agent's */
    OP_NODE_STATE, /* unreachable, ready again, lost, gone: said by the steward */
    OP_NODE_DELETE,
    OP_QUEUE_PUT,
    OP_QUEUE_DELETE,
    OP_QUOTA, /* of a namespace: put or removed */
    OP_TOKEN_PUT,
    OP_TOKEN_DELETE,
    OP_LEASE,  /* take or raise */
    OP_RETAIN, /* drop what ended long ago */
    OP_KIND_COUNT
};

/* Which attempt, as agents and engine say it. */
struct attempt_key {
    uint64_t job;
    uint32_t group, index, number;
};

struct op_submit {
    char *user;
    char *key;             /* Idempotency-Key or NULL */
    char *digest;          /* of the canonical spec; NULL: worked out when it is sent */
    struct job_spec *spec; /* out: with the longest limit of its queue, where it says none */
    bool is_admitted;      /* nobody votes on its admission */
    char *text;            /* the ledger's: the canonical spec, made when it is sent */
    uint64_t job;          /* out */
    struct row_job *row;   /* out: the job as it was submitted, the op's; NULL for a replay */
    bool is_replay;        /* out: the key was known, the job is the first one's */
};

struct op_stop {
    uint64_t job;
    bool is_attempt; /* only this attempt */
    struct attempt_key attempt;
    enum cause cause; /* CANCELLED, EVICTED, DRAINED, LIMIT_REACHED; of a job CANCELLED, REQUEUED */
    bool suspends;    /* a job, REQUEUED: it waits until it is resumed */
    int64_t grace_ms; /* -1 the job's own */
    uint64_t fence;   /* of lease `steward`, for its evictions; 0: a person or server asks */
    char *by, *reason;
    enum job_state state; /* out: of the job, after it */
};

struct op_patch {
    uint64_t job;
    uint64_t if_rev; /* 0: no precondition */
    bool has_priority, has_held, has_limit;
    bool resumes; /* it is not suspended any more */
    int32_t priority;
    bool is_held;
    int64_t limit_ms;     /* 0: none; of what runs too */
    bool limit_is_change; /* of the limit that there is, below 0 for less */
    char *labels; /* JSON object of what changes: a text sets one, null takes it away; NULL none */
    char *by;
};

struct op_bind_part {
    uint32_t group, index, number;
    char *node;
    uint64_t facts;         /* of the node, as decided on */
    enum wait_code refused; /* out: 0 or why not this part */
};

/* The open reservation of another job, whose room is taken: by one that could have preempted it. */
struct op_take {
    uint64_t job, reservation;
};

struct op_bind {
    uint64_t job, version;
    struct op_bind_part *parts;
    size_t n_parts;
    struct op_take *takes;
    size_t n_takes;
    char *decision;
    uint64_t fence; /* of lease `steward` */
};

/* One that is to go: it must still be the attempt, in the state, that was decided on. */
struct op_victim {
    struct attempt_key attempt;
    uint64_t rev;           /* of its row, as decided on */
    enum wait_code refused; /* out: 0 or why not */
};

/* Room to hold for a task that waits. */
struct op_room {
    uint32_t group, index;
    char *node;
    uint64_t facts;         /* of the node, as decided on */
    enum wait_code refused; /* out: 0 or why not */
};

struct op_evict {
    uint64_t job, version; /* for whom; 0: for nobody, but for a reason */
    uint64_t replaces;     /* the owner's open reservation, which the new one carries on; 0 none */
    struct op_victim *victims;
    size_t n_victims;
    struct op_room *rooms;
    size_t n_rooms;
    struct op_take *takes;
    size_t n_takes;
    char *reason; /* "preempt", "reclaim", "shuffle" ... */
    char *decision;
    int64_t ttl_ms; /* how long the room is held once it is free; 0 for ever */
    uint64_t fence;
    uint64_t reservation; /* out: the id of what was made; 0 none */
};

struct op_order {
    char *key;             /* also the name of the node that is to come */
    char *pool, *shape;    /* shape: JSON object of amounts, as a node's offers */
    uint64_t job, version; /* for whom, with rooms; 0: for nobody yet */
    struct op_room *rooms; /* on that node; their facts are not looked at */
    size_t n_rooms;
    char *decision;
    int64_t ttl_ms; /* how long the room is held; 0 for ever */
    uint64_t fence;
    uint64_t reservation; /* out: the id of what was made; 0 none */
};

struct op_order_state {
    char *key;
    enum order_state state;
    char *provider, *reason; /* NULL: as they are */
    uint64_t fence;          /* 0: a person or a provider's program asks */
    char *by;                /* who then; NULL: the steward */
};

struct op_release {
    uint64_t job, reservation, rev; /* as it was seen */
    enum release why;
    uint64_t fence;
};

struct op_fail {
    uint64_t job, version;
    bool is_task;
    uint32_t group, index;
    enum wait_code code;
    char *reason;
    uint64_t fence;
};

struct op_admit {
    uint64_t job, version;
    bool is_admitted;
    uint64_t fence;
};

struct op_memo {
    char *name;
    char *value; /* NULL: forget */
    uint64_t fence;
};

struct op_ack {
    char *node;
    uint64_t generation;
    struct attempt_key attempt;
};

struct op_report {
    char *node;
    uint64_t generation;
    struct attempt_key attempt;
    bool is_ended; /* else: running */
    enum cause cause;
    enum detail detail;
    int code, signal;
    char *timings, *peaks, *message; /* JSON, JSON, text; NULL none */
    int64_t started_at, ended_at;    /* wall ms by the agent's clock; 0 unknown */
};

struct held_attempt {
    struct attempt_key attempt;
    bool is_to_end; /* out: the server does not know it as live here */
    enum cause why; /* out */
};

struct op_register {
    char *node, *boot_id, *address;
    char *incarnation; /* that the agent knows; "" none yet */
    char *opening;     /* which of its openings wrote the revision seen; "" or NULL: it says none */
    uint64_t revision_seen;
    char *offers, *labels, *taints, *info, *images; /* JSON as in struct row_node */
    char *identity;                                 /* "" or NULL: it says none */
    char *disabled;                                 /* as in op_beat */
    int64_t ttl_ms, beat_ms;
    struct held_attempt *held;
    size_t n_held;
    uint64_t generation; /* out */
    bool is_other_life;  /* out: the agent knows another incarnation: it keeps its containers, goes
                            on with those that are live here, and names the others as orphans */
    struct attempt_key *live; /* out, then: what was let start here by its node and is not over */
    size_t n_live;
};

struct op_beat {
    char *node;
    uint64_t generation;
    char *orphans;           /* JSON list: what it keeps of other lives; NULL: as it was */
    char *disabled;          /* why the agent takes no new work; NULL or "": it does */
    int64_t ttl_ms, beat_ms; /* the server's */
    int64_t counts_ms;       /* the ttl that the agent counts by; 0: it does not say */
};

struct op_leave {
    char *node;
    uint64_t generation;
};

struct op_cordon {
    char *node;
    bool is_cordoned; /* no new work */
    bool is_draining; /* likewise, and what is there is stopped, to run elsewhere */
    int64_t grace_ms; /* of a drain; below 0: each job's own */
    char *by, *reason;
};

struct op_node_label {
    char *node;
    char *labels;    /* JSON object of what changes: a text sets one, null takes it back */
    uint64_t if_rev; /* 0: no precondition */
    char *by;
};

struct op_node_delete {
    char *name, *by;
};

struct op_node_state {
    char *node;
    uint64_t generation; /* as it was when the steward looked */
    uint64_t beat;       /* likewise: a beat since then refuses it */
    enum node_state state;
    uint64_t fence;
};

struct op_queue_put {
    char *name, *parent, *spec;
    enum queue_state state;
    bool is_create; /* else it must exist */
    uint64_t if_rev;
    char *by;
};

struct op_queue_delete {
    char *name, *by;
};

struct op_quota {
    char *ns, *name;
    char *hard; /* JSON object of amounts; NULL: it is removed */
};

struct op_token_put {
    char *hash, *name, *user, *ns, *rights;
    int64_t until;
};

struct op_token_delete {
    char *hash;
};

struct op_lease {
    char *name;
    bool is_take;                   /* else raise; the holder is this server */
    uint64_t seen_fence, seen_beat; /* take: what stood still for its ttl */
    int64_t ttl_ms;
    char *server;   /* the ledger's: who asks, set when it is sent */
    uint64_t fence; /* out, if it is ours now; 0 otherwise */
};

struct op_retain {
    int64_t ended_before; /* wall ms: jobs that ended earlier go, with their events; orders */
    size_t most;          /* jobs at most in one operation, and orders */
};

/* An operation: filled in by the sender, judged by the writer, then given back by done(). */
struct op {
    enum op_kind kind;
    union {
        struct op_submit submit;
        struct op_stop stop;
        struct op_patch patch;
        struct op_bind bind;
        struct op_evict evict;
        struct op_release release;
        struct op_order order;
        struct op_order_state order_state;
        struct op_fail fail;
        struct op_admit admit;
        struct op_memo memo;
        struct op_ack ack;
        struct op_report report;
        struct op_register reg;
        struct op_beat beat;
        struct op_leave leave;
        struct op_cordon cordon;
        struct op_node_label node_label;
        struct op_node_delete node_delete;
        struct op_node_state node_state;
        struct op_queue_put queue_put;
        struct op_queue_delete queue_delete;
        struct op_quota quota;
        struct op_token_put token_put;
        struct op_token_delete token_delete;
        struct op_lease lease;
        struct op_retain retain;
    };
    uint64_t revision; /* out, valid in done(): of its last event; without one, the store's */
    /* Called on the writer's thread after the commit (or refusal); must not block; the op is the
     * sender's again and op_free is its to call. */
    void (*done)(struct op *op, void *arg);
    void *arg;
    struct op *next;        /* the ledger's, until done() */
    struct problem problem; /* out, valid in done(): code 0: accepted, or a harmless repeat */
};

struct op *op_new(enum op_kind kind, void (*done)(struct op *op, void *arg), void *arg);
void op_free(struct op *op);
/** Sends it; any thread. It is the writer's until done(). */
void ledger_send(struct ledger *ledger, struct op *op);
/** Sends several in this order, in one batch if they fit. */
void ledger_send_all(struct ledger *ledger, struct op **ops, size_t n);

/**
 * The rule that a submit is judged by, for who only plans one: a limit above the longest of its
 * queue is refused, and who says none has that.
 *
 * @most_ms  of the queue; 0 none
 * @whose    the queue whose it is
 * Returns   true; false: a field of the problem
 */
bool ledger_bound_limit(struct job_spec *spec, int64_t most_ms, const char *whose,
                        struct problem *problem);
/** What a submit to a queue is told that is not open, or beneath one (`closed`) that is not. */
void ledger_refuse_closed(const char *queue, const char *closed, enum queue_state state,
                          struct problem *problem);

/* ---- reading ---- */

/* A connection of one thread. */
struct reader;

MUST_CHECK int reader_open(struct ledger *ledger, struct reader **out, struct err *err);
void reader_close(struct reader *reader);

/** Begins a look at one revision (until reader_end); all calls between see the same. */
MUST_CHECK int reader_begin(struct reader *reader, uint64_t *revision, struct err *err);
void reader_end(struct reader *reader);

/**
 * All that is live, as the base that listeners are told; between looks. With it somebody may begin
 * to follow late: of the batches it was told since before this call, those of later revisions go
 * on where it ends.
 *
 * Returns  0 and *out, yours to batch_unref
 */
MUST_CHECK int reader_base(struct reader *reader, struct batch **out, struct err *err);

/* Each look-up gives a row that is yours (row_free with its kind), or 1 if there is none. */
enum { READER_NONE = 1, READER_ROWS_MAX = 1000 };
MUST_CHECK int reader_job(struct reader *reader, uint64_t id, struct row_job **out,
                          struct err *err);
MUST_CHECK int reader_node(struct reader *reader, const char *name, struct row_node **out,
                           struct err *err);
MUST_CHECK int reader_queue(struct reader *reader, const char *name, struct row_queue **out,
                            struct err *err);
/**
 * The first of a queue and those above it that is not open.
 *
 * @closed   out: yours; NULL all are open, or the queue is not there
 * Returns   0; an error of the store
 */
MUST_CHECK int reader_closed(struct reader *reader, const char *queue, struct row_queue **closed,
                             struct err *err);
/**
 * The longest time limit that a job of a queue may have, by what it and the queues above it say.
 *
 * @most_ms  out: milliseconds; 0 none
 * @whose    out: whose it is, yours; NULL none
 * Returns   0; an error of the store
 */
MUST_CHECK int reader_max_limit(struct reader *reader, const char *queue, int64_t *most_ms,
                                char **whose, struct err *err);
MUST_CHECK int reader_order(struct reader *reader, const char *key, struct row_order **out,
                            struct err *err);
MUST_CHECK int reader_token(struct reader *reader, const char *hash, struct row_token **out,
                            struct err *err);

struct job_filter {
    const char *ns, *user, *queue, *name; /* NULL: any */
    unsigned states;                      /* bits 1 << enum job_state; 0: any */
    int64_t since;                        /* submitted or ended at or after; wall ms; 0 any */
    const char *label_key, *label_value;  /* NULL: any */
    uint64_t before_id;                   /* keyset cursor, newest first; 0: from the newest */
    size_t limit;                         /* 1..READER_ROWS_MAX */
};

/** Called with each row, borrowed for the call; a non-zero answer ends the walk. */
typedef int row_fn(const void *row, void *arg);

MUST_CHECK int reader_jobs(struct reader *reader, const struct job_filter *filter, row_fn *fn,
                           void *arg, struct err *err);
/** All attempts of a job (struct row_attempt) after a key, in key order. */
MUST_CHECK int reader_attempts(struct reader *reader, uint64_t job, const struct attempt_key *after,
                               size_t limit, row_fn *fn, void *arg, struct err *err);
MUST_CHECK int reader_attempt(struct reader *reader, const struct attempt_key *key,
                              struct row_attempt **out, struct err *err);
/** The last attempt of each task of a job that has one, in (group, index) order after a task. */
MUST_CHECK int reader_last_attempts(struct reader *reader, uint64_t job,
                                    const struct attempt_key *after, size_t limit, row_fn *fn,
                                    void *arg, struct err *err);
/** The reservations of a job (struct row_reservation), in the order of their making. */
MUST_CHECK int reader_reservations(struct reader *reader, uint64_t job, row_fn *fn, void *arg,
                                   struct err *err);
/** Their parts (struct row_part), by task, then reservation. */
MUST_CHECK int reader_parts(struct reader *reader, uint64_t job, row_fn *fn, void *arg,
                            struct err *err);
/** Tasks of a job that ended without an attempt (struct row_task), in key order. */
MUST_CHECK int reader_ended_tasks(struct reader *reader, uint64_t job, row_fn *fn, void *arg,
                                  struct err *err);
/** Live attempts on a node (struct row_attempt). */
MUST_CHECK int reader_node_attempts(struct reader *reader, const char *node, row_fn *fn, void *arg,
                                    struct err *err);
MUST_CHECK int reader_nodes(struct reader *reader, row_fn *fn, void *arg, struct err *err);
MUST_CHECK int reader_queues(struct reader *reader, row_fn *fn, void *arg, struct err *err);
/** What was memoed (struct row_memo). */
MUST_CHECK int reader_memos(struct reader *reader, row_fn *fn, void *arg, struct err *err);
/** What namespaces may have (struct row_quota), by namespace and name. */
MUST_CHECK int reader_quotas(struct reader *reader, row_fn *fn, void *arg, struct err *err);
MUST_CHECK int reader_tokens(struct reader *reader, row_fn *fn, void *arg, struct err *err);
/** Machines that were ordered (struct row_order), those that are over too, by key. */
MUST_CHECK int reader_orders(struct reader *reader, row_fn *fn, void *arg, struct err *err);
/**
 * Events (struct row_event) after a revision, in order.
 *
 * @oldest  out: the oldest revision held; if `after` + 1 is older, nothing is called (410)
 */
MUST_CHECK int reader_events(struct reader *reader, uint64_t after, size_t limit, uint64_t *oldest,
                             row_fn *fn, void *arg, struct err *err);
/** The beats of all nodes (struct row_beat), for the steward. */
MUST_CHECK int reader_beats(struct reader *reader, row_fn *fn, void *arg, struct err *err);
MUST_CHECK int reader_beat(struct reader *reader, const char *node, struct row_beat **out,
                           struct err *err);
MUST_CHECK int reader_lease(struct reader *reader, const char *name, struct row_lease **out,
                            struct err *err);

/* ---- checking ---- */

enum { LEDGER_FINDINGS_MAX = 20 };

struct ledger_report {
    uint64_t revision;
    size_t n_events, n_jobs, n_attempts, n_nodes;
    size_t n_findings; /* those beyond the limit are counted and not kept */
    char findings[LEDGER_FINDINGS_MAX][240];
};

/**
 * Reads the history of a store, by its events alone, and checks what must always hold
 * (invariants 1, 2, 3, 5, 6, 7, 10, 12 and 13); then that the tables are what the events say. May be
 * run beside a server.
 *
 * @store    as in struct ledger_options; not memory:
 * Returns   0 and the report, with or without findings; an error if the store cannot be read
 */
MUST_CHECK int ledger_check(const char *store, struct ledger_report *report, struct err *err);

/** Counts a row down, and frees it with the last. NULL is fine. Any thread. */
void row_free(enum row_kind kind, void *row);
/** The same row once more, for who keeps it beyond a walk: to row_free. Rows never change. */
void *row_ref(const void *row);
/**
 * Reads a row as an event's body has it: the same row again, to the byte.
 *
 * Returns  0 and *out, yours; -EINVAL with the reason
 */
MUST_CHECK int row_from_json(enum row_kind kind, const char *text, size_t n, void **out,
                             struct err *err);

#endif

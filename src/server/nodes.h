/*
 * Nodes: the workers' side of the server, by docs/design/agent-protocol.md.
 *
 * Lives on one loop, the node loop: agents' streams, acks, reports, and the way of logs from
 * agents to readers. What an agent must do is derived from the ledger's batches (the live attempts
 * of its node and what is wanted of them), never queued: a new stream gets the difference. It
 * decides nothing; what agents say becomes operations that the ledger judges.
 */
#ifndef SERVER_NODES_H
#define SERVER_NODES_H

#include "base/clock.h"
#include "base/loop.h"
#include "ledger/ledger.h"

struct nodes;
struct nodes_log;
struct http_request;

struct nodes_options {
    struct ledger *ledger;
    struct loop *loop;         /* the node loop */
    const struct clock *clock; /* NULL: the machine's */
    int64_t ttl_ms, beat_ms;   /* told to agents; 0: base/node_lease.h says */
    int64_t bookmark_ms;       /* 0: 5 s */
    /* Called at "before-ack", "after-ack", "before-report", "after-report" (kill points); NULL:
     * none. For tests. */
    void (*at_point)(const char *point);
};

/**
 * Adds its listener to the ledger; call before ledger_start, and before the loop runs.
 */
MUST_CHECK int nodes_open(const struct nodes_options *options, struct nodes **out, struct err *err);
/** Ends all streams and logs. After ledger_close, and after its loop has stopped (not closed) and
 * those of readers too; what was posted to the loop is run. Readers of logs get their end when
 * their loops run what was posted. */
void nodes_close(struct nodes *nodes);

/**
 * Answers a request beneath /v1/worker/, now or later; every one is answered once.
 *
 * @by     the token's name, for the records; the caller has checked that its rights are `agent`
 * Thread  the node loop
 */
void nodes_handle(struct nodes *nodes, struct http_request *request, const char *by);

/** Ends the streams of all agents, so that they go elsewhere; new ones are refused (503). Any
 * thread. */
void nodes_drain(struct nodes *nodes);

/* ---- logs ---- */

enum nodes_log_end {
    NODES_LOG_END,      /* all was sent: the attempt has ended, or follow was false */
    NODES_LOG_GONE,     /* the node has no log of it (any more) */
    NODES_LOG_NO_AGENT, /* the node's agent is not connected, is silent, or went away */
};

struct nodes_log_reader {
    struct loop *loop; /* on which the functions below are called */
    /** n > 0 bytes of whole log lines (base/cri.h) from byte `at` of the logical log; borrowed for
     * the call. No more come before nodes_log_drained. */
    void (*data)(uint64_t at, const void *bytes, size_t n, void *arg);
    /** The last call. */
    void (*end)(enum nodes_log_end how, void *arg);
    void *arg;
};

struct nodes_log_query {
    const char *attempt; /* its name, j-12/worker.3#1 */
    const char *node;    /* that it is or was on */
    uint64_t at;         /* first byte */
    bool is_follow;      /* go on until the attempt ends */
    uint64_t limit;      /* bytes at most, cut behind a line; 0 all */
};

/**
 * Asks the agent of a node for an attempt's log. Any thread; the callbacks come on the reader's
 * loop, never during this call.
 *
 * Returns  yours; nodes_log_close it, whether or not end was called
 */
struct nodes_log *nodes_log_open(struct nodes *nodes, const struct nodes_log_query *query,
                                 const struct nodes_log_reader *reader);
/** The bytes of the last `data` were passed on; the next may come. The reader's thread. */
void nodes_log_drained(struct nodes_log *log);
/** No callback comes after this. The reader's thread; after nodes_close too. */
void nodes_log_close(struct nodes_log *log);

/* ---- numbers ---- */

struct nodes_metrics {
    uint64_t n_streams; /* agents connected now */
    uint64_t n_logs;    /* logs being read now */
    uint64_t n_live;    /* live attempts */
    uint64_t registers; /* from here on: counted since the start */
    uint64_t beats;
    uint64_t starts_sent, stops_sent, drops_sent;
    uint64_t acks_ok, acks_refused;
    uint64_t reports_ok, reports_refused;
    uint64_t log_bytes;
};

/** Any thread. */
void nodes_metrics(struct nodes *nodes, struct nodes_metrics *out);
/** Whether the node's agent has a stream open here. Any thread. */
bool nodes_is_connected(struct nodes *nodes, const char *node);
/** Whether the node's agent has not been heard of for too long: the node is unreachable. Any
 * thread. */
bool nodes_is_silent(struct nodes *nodes, const char *node);
/** Why the node's agent, which asks, is not registered: this ledger is not the one that it served.
 * NULL: no such thing is known; else yours. Any thread. */
char *nodes_forked(struct nodes *nodes, const char *node);
/**
 * The nodes that a job has live attempts on, by name. Any thread.
 *
 * @out     out[n_max], names of the first ones, borrowed until nodes_close
 * Returns  how many nodes there are, n_max or not
 */
size_t nodes_of_job(struct nodes *nodes, uint64_t job, const char **out, size_t n_max);

#endif

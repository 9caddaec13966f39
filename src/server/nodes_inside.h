/*
 * Nodes, inside: what its files share. Everything here belongs to the node loop but what is said
 * otherwise.
 */
#ifndef SERVER_NODES_INSIDE_H
#define SERVER_NODES_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/http.h"
#include "base/mailbox.h"
#include "server/nodes.h"
#include "server/nodes_fleet.h"

/* What the metrics are made of; any thread. */
struct nodes_counts {
    atomic_uint_fast64_t streams, logs, live;
    atomic_uint_fast64_t registers, beats, starts, stops, drops;
    atomic_uint_fast64_t acks_ok, acks_refused, reports_ok, reports_refused, log_bytes;
};
#define COUNT_ONE(counter) atomic_fetch_add_explicit(&(counter), 1, memory_order_relaxed)

/* A call on the node loop, by message. */
struct nodes_letter {
    struct letter letter;
    void (*call)(struct nodes *nodes, struct nodes_letter *letter); /* ends the letter too */
};

/* What rings at the loop: it outlives the nodes if a ring is still under way when they close. */
struct nodes_bell {
    struct nodes *nodes; /* NULL: closed */
    atomic_int n_rings;
};

struct nodes {
    struct nodes_options options;
    char incarnation[80], opening[64]; /* the ledger's, which closes before what is answered last */
    char *lives; /* likewise: a JSON list of the incarnations that it was before */
    struct nodes_bell *bell;
    struct mailbox inbox; /* struct nodes_letter from any thread */
    struct fleet fleet;
    struct worker *dirty; /* that have lines to be written */
    struct timer *bookmark;
    bool is_draining;
    struct talk *talks; /* requests that wait for the ledger */

    struct map logs; /* by sid: those that an agent was asked for */
    uint64_t n_sids;

    struct nodes_counts counts;
    pthread_mutex_t lock;       /* of what follows, for a few instructions */
    struct map connected;       /* worker's name to worker */
    struct map silent;          /* worker's name to worker: those that are unreachable */
    struct map forked;          /* worker's name to why it is not registered: another copy */
    struct nodes_log *all_logs; /* until both sides are done with them */
};

/** Sends a letter to the node loop; any thread. */
void nodes_post(struct nodes *nodes, struct nodes_letter *letter);
void nodes_at_point(const struct nodes *nodes, const char *point);

/* ---- answers ---- */

/** Answers with a JSON value; takes it. */
void nodes_answer(struct http_request *request, int status, json_t *body);
void nodes_answer_problem(struct http_request *request, const struct problem *problem);
/** Answers with a code and the sentence. */
void nodes_refuse(struct http_request *request, enum problem_code code, const char *detail);

/**
 * The worker that an agent speaks for.
 *
 * Returns  NULL after it has refused a generation that is not the node's
 */
struct worker *nodes_speaker(struct nodes *nodes, struct http_request *request, const char *node,
                             uint64_t generation);

/* ---- nodes_talk.c: requests that become operations ---- */

void talk_register(struct nodes *nodes, struct http_request *request);
void talk_beat(struct nodes *nodes, struct http_request *request);
void talk_ack(struct nodes *nodes, struct http_request *request);
void talk_reports(struct nodes *nodes, struct http_request *request);
void talk_have(struct nodes *nodes, struct http_request *request);
void talk_leave(struct nodes *nodes, struct http_request *request);
/** Ends what waits, without an answer. */
void talk_close_all(struct nodes *nodes);

/* ---- nodes_work.c: streams ---- */

void work_open(struct nodes *nodes, struct http_request *request);
/** The attempts that the agent has, for its next stream; takes the list. */
void work_have(struct worker *worker, uint64_t generation, char **names, size_t n);
void work_apply(struct nodes *nodes, struct batch *batch);
/** Adds a line to a worker's stream, to be written by work_flush. */
void work_line(struct nodes *nodes, struct worker *worker, const char *line);
void work_flush(struct nodes *nodes);
void work_bookmarks(struct nodes *nodes);
/** A registration was answered: older streams end. */
void work_registered(struct nodes *nodes, const char *node, uint64_t generation);
void work_close_all(struct nodes *nodes);

/* ---- nodes_line.c: the lines of a stream ---- */

/* Each says which opening of the ledger wrote it, and the revision. */
char *line_start(const struct nodes *nodes,
                 struct fleet_attempt *attempt); /* NULL: its job cannot be read */
char *line_stop(const struct nodes *nodes, const struct fleet_attempt *attempt);
char *line_limit(const struct nodes *nodes, const struct fleet_attempt *attempt, int64_t limit_ms);
char *line_drop(const struct nodes *nodes, const char *attempt);
char *line_bookmark(const struct nodes *nodes);

/* ---- nodes_logs.c ---- */

void logs_take(struct nodes *nodes, struct http_request *request);
/** The worker's agent is not connected any more, or silent: nothing comes of what was asked of it. */
void logs_lose(struct nodes *nodes, struct worker *worker);
void logs_close_all(struct nodes *nodes);

#endif

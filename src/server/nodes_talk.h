/*
 * Nodes, talks: requests whose answer waits for operations of the ledger.
 *
 * nodes_talk.c has the machinery and the answers, nodes_read.c reads what agents send into
 * operations.
 */
#ifndef SERVER_NODES_TALK_H
#define SERVER_NODES_TALK_H

#include "api/json.h"
#include "server/nodes_inside.h"

enum { MESSAGE_ATTEMPTS_MAX = 10000, DISABLED_MAX_BYTES = 512 };

/* A message of an agent: `node`, `generation` and more. */
struct message {
    json_t *value;
    struct json_at top;
    const char *node;
    int64_t generation;
    struct problem problem;
};

/* One operation of a request. */
struct talk_item {
    struct nodes_letter letter;
    struct talk *talk;
    const char *name;       /* the attempt; borrowed from the message */
    struct op *op;          /* NULL: refused here */
    enum problem_code code; /* then why */
};

struct talk {
    struct talk *next, **link;
    struct nodes *nodes;
    struct http_request *request;
    struct talk_item *items;
    size_t n_items, n_open;
    const char **unknown; /* register: attempts of which nothing is known here; borrowed */
    size_t n_unknown;
    const char *before, *after; /* kill points */
    void (*finish)(struct talk *talk);
    struct message message;
};

/* What agents send. */
enum talk_kind {
    TALK_REGISTER,
    TALK_BEAT,
    TALK_LEAVE,
    TALK_ATTEMPTS, /* acks, and what an agent has */
    TALK_REPORTS,
    TALK_KIND_COUNT
};

/**
 * Reads a message's frame: no other members than its kind has, a node's name, a generation (but
 * for register).
 *
 * Returns  0; -EINVAL and message->problem
 */
MUST_CHECK int message_read(struct message *message, struct http_request *request,
                            enum talk_kind kind);
/** The same of a text; borrowed until message_fini. */
MUST_CHECK int message_parse(struct message *message, const char *body, size_t n,
                             enum talk_kind kind);
void message_fini(struct message *message);
/** The names of the message's list `attempts`; yours to free (the names are the message's). */
MUST_CHECK int message_attempts(struct message *message, const char ***out, size_t *n);

/** The member `disabled`: why the agent takes no new work; "" it does. Yours to free. */
char *read_disabled(const struct json_at *top);
/** The member `orphans`: what the agent keeps of other lives, a JSON list; NULL: it does not say.
 * Yours to free. */
char *read_orphans(const struct json_at *top);
/** Fills in what an agent registers with, but for its address. */
MUST_CHECK int read_register(struct talk *talk, struct op_register *out);
/** Fills in a report but for node, generation and attempt; *name is borrowed. */
MUST_CHECK int read_report(const struct json_at *report, struct op_report *out, const char **name);

#endif

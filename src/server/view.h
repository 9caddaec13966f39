/*
 * View: the thread that owns a second engine, for questions: why a job waits, what would become of
 * one, a queue's and a node's arithmetic.
 *
 * It is fed as the cycle's engine is, so a question never holds up a decision. It begins to follow
 * with the first question, from a base of its own, and lets go when nobody has asked for a while:
 * where nobody asks it costs nothing.
 */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H

#include "berth/engine.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "ledger/ledger.h"
#include "server/feed.h"

struct view;

struct view_options {
    struct ledger *ledger;
    const struct clock *clock; /* NULL: the machine's */
    struct feed_engine_from from;
    uint64_t seed;
    int64_t idle_ms; /* without a question it lets go after this; 0: 5 min */
};

/* The key under which a planned job is supposed: no live one has it. */
#define VIEW_PLAN_ID "plan"

/** Adds its listener to the ledger; call before ledger_start. */
void view_open(const struct view_options *options, struct view **out);
/** Starts the thread; after ledger_start. */
MUST_CHECK int view_start(struct view *view, struct err *err);
/** Stops the thread. Before ledger_close. */
void view_stop(struct view *view);
/** Frees it, and stops its thread if that runs. After ledger_close, and after the loops that asked
 * have stopped: what is not answered by then never is. */
void view_close(struct view *view);

/** Whether it is fed at present: somebody asked not long ago. Any thread. */
bool view_is_following(const struct view *view);

enum view_question_kind {
    VIEW_EXPLAIN, /* why a task waits, or where it would go */
    VIEW_PLAN,    /* what would become of a job if it were submitted now */
    VIEW_NEVER,   /* what of a job the cluster as it is could never run */
    VIEW_QUEUE,   /* a queue's arithmetic */
    VIEW_NODE,    /* a node's arithmetic */
};

struct view_question {
    enum view_question_kind kind;
    const char *name;            /* queue or node; explain: the node to check one by one, or NULL */
    uint64_t job;                /* explain */
    const char *group;           /* explain; NULL: the first that waits */
    uint32_t index;              /* explain; with group */
    const char *resource;        /* queue: who holds it; NULL: that is not asked */
    uint32_t n_changes;          /* explain: so many smallest changes; with any, the start too */
    bool explains;               /* plan: what would wait is explained, as far as n_changes says */
    const struct job_spec *spec; /* plan, never */
};

/* An attempt that a plan would evict. */
struct view_victim {
    const struct berth_part *part;
    const char *namespace_; /* of its job; NULL: none */
};

enum { STOPPING_MAX = BERTH_STOPPING_MAX }; /* named of those whose end is waited for */

/* All of it lives in the arena, until the callback returns. */
struct view_answer {
    int code;                   /* 0; -ENOENT what was asked about is not live here; -EINVAL */
    struct err err;             /* with code below 0 */
    uint64_t revision;          /* of what was asked */
    struct arena arena;         /* ended by the view */
    struct berth_task_ref task; /* explain: which one was explained */
    struct berth_explanation explanation; /* explain */
    const struct berth_check *checks;     /* explain, with a node */
    size_t n_checks;
    struct berth_changes changes;         /* explain, if asked for */
    struct berth_start start;             /* likewise */
    const struct berth_verdict *verdicts; /* plan: of what would wait; never */
    size_t n_verdicts;
    const struct berth_group *groups; /* plan: the decisions for the job (bind, evict, fail) */
    size_t n_groups;
    const struct view_victim *victims; /* plan */
    size_t n_victims;
    const struct berth_stopping *stopping; /* plan: who is being stopped, and must end first */
    size_t n_stopping;
    const struct job_spec *spec; /* plan, never: the job that was asked about */
    const char *queue_name;      /* plan: of the job */
    bool starts;                 /* plan: some of it would, now or after evictions */
    struct berth_queue_view queue;
    struct berth_holders holders; /* queue, with a resource */
    struct berth_node_view node;
};

typedef void view_answer_fn(const struct view_answer *answer, void *arg);

/**
 * Asks; any thread. The question is copied (the spec too). It is answered with what was committed
 * before, on the loop, once.
 */
void view_ask(struct view *view, const struct view_question *question, struct loop *loop,
              view_answer_fn *fn, void *arg);

#endif

/*
 * A session: one cycle over the live model, as a log of what it changed.
 *
 * Opening one copies nothing that grows with the cluster. Each change is one entry of the log;
 * closing takes all of them back, last first, so that the model is what was applied.
 *
 * A statement is a mark in the log. What it did since can be committed (it becomes groups of
 * the answer), discarded, or saved to be done again. Statements nest: an inner one ends before
 * its outer one does.
 */
#ifndef ENGINE_SESSION_H
#define ENGINE_SESSION_H

#include "base/arena.h"
#include "base/vec.h"
#include "engine/framework.h"
#include "engine/model.h"
#include "engine/setup.h"

struct beam;

enum op_kind { OP_ALLOCATE, OP_PIPELINE, OP_EVICT, OP_UNPIPELINE, OP_FAIL, OP_TAKE };

/* Room that is held for a job's tasks in this session: they are promised it. See reserve.c. */
struct held_room {
    const struct berth_reservation *by;
    struct job *job;
    struct task **at; /* its tasks; those that were bound meanwhile too */
    struct node **on; /* where each of them is held it */
    size_t n;
    struct held_room *next; /* of the same job */
};

struct op {
    enum op_kind kind;
    struct task *task;
    struct node *node; /* to, or (evict, unpipeline, take) where it was */
    uint8_t from;      /* the state before */
    bool from_evicted;
    bool is_sealed;
    bool is_refused; /* by a plugin that was told of it */
    bool evicted;    /* pipeline: room that evictions make */
    double score;
    const char *reason;      /* evict, take */
    const char *reservation; /* allocate: the one that it uses, or NULL */
    const struct hold *hold; /* devices and cores that it gets, or (evict, unpipeline, take) held */
    const struct held_room *room; /* take: which */
};

/* Why the tasks of a group wait, where it is not the nodes that say it. */
struct wait_note {
    struct why why;
    int64_t until_ms; /* 0: time does not end it */
};

/* What a session knows about a job: hangs on job->seat. */
struct seat {
    struct victims list; /* pending tasks in task order, without those that ask for nothing */
    size_t next;         /* next is the first that was not tried */
    bool is_listed;
    bool is_pending;   /* not admitted */
    bool was_admitted; /* by this session, which has not said so yet */
    bool was_bound;    /* by this session */
    size_t gang; /* its group among the answer's, from 1, if some of its members ask for nothing */
    bool is_parted;          /* of a line, and on its own now: it is watched alone */
    bool is_refused;         /* a plugin refused a placement; it is tried no more */
    bool was_taken;          /* what was held for it: it is tried anew in the next cycle */
    bool forgets;            /* which nodes refused a role: see actions/roles.h */
    bool keeps_rooms;        /* others lose something for it: who takes its room makes that vain */
    struct held_room *rooms; /* NULL: nothing is held for it */
    bool rides;              /* some of that is on machines on their way: see reserve.c */
    bool is_loose;           /* that is let go for the moment */
    struct closed *closed;   /* of preempt: see actions/roles.h; NULL until it is used */
    size_t in_vain[2]; /* 1 + how long the log was when no room could be made: preempt, reclaim */
    bool *failed;      /* by group: a task of its role found no node */
    uint32_t *held;    /* by group, at the end: tasks with a place that are not bound; NULL: none */
    struct why why;    /* the last refusal of the job as a whole */
    struct kind *stuck;      /* the class of its task that found no node */
    uint32_t placed, needed; /* the gang when it gave up */
    uint32_t promised;       /* of those placed, on room that is being freed */
    bool was_tried;          /* in this session; */
    bool found_none;         /* its last turn in allocate was in vain */
    bool no_domain;          /* no network domain holds it */
    struct wait_note *notes; /* by group, or NULL */
    struct sub_job *subs;    /* see topology.h */
    size_t n_subs;
};

/* What a session knows about a queue: hangs on queue->seat. */
struct queue_seat {
    struct pq *jobs;            /* of the action that runs */
    bool is_listed, has_left;   /* the round of that action */
    bool has_head;              /* one of its jobs has room kept: see protect.h */
    bool is_looked_up;          /* who closed it */
    const struct queue *closed; /* it, or the nearest above it, that takes no new tasks; NULL */
};

struct session {
    struct model *model;
    const struct setup *setup;
    const struct policy *policy;
    struct berth_cycle_in in;
    struct arena arena;  /* ends with the session */
    struct arena *lists; /* for lists that end with the step that makes them; often the above */
    struct arena scratch;
    struct arena tried; /* choices of devices that are only looked at */
    struct arena *out;  /* the answer's */
    uint64_t number;
    VEC_OF(struct op) log;
    VEC_OF(struct berth_group) groups;
    VEC_OF(struct job *) watched;     /* to be looked at one by one: see lines.h */
    bool is_unsorted;                 /* they are, not by rank */
    size_t parted;                    /* the log up to here was read for them */
    const char *action;               /* that runs */
    const char *reservation;          /* whose room is being bound */
    VEC_OF(struct held_room *) rooms; /* held when it began, by rank */
    VEC_OF(struct task *) in_company; /* see session_note_company */
    int64_t wake_at_ms;
    uint64_t n_placed, n_evicted, n_reserved, n_taken, n_steps;
    bool limited;
    bool is_dry_run;      /* victims are taken away only to see what would happen */
    bool promises;        /* room is promised even where it is free: the rest of it is being made */
    int64_t domain_steps; /* that searches in domains may take yet, of policy->gang_search_steps */
    const struct task *stays; /* who is no victim in this try, or NULL */
    bool only_there;  /* room is made on nodes that are there, not on machines on their way */
    bool is_refusing; /* a plugin refuses the placement that it was told of last */
    uint32_t cursor;  /* sampling search */
    bool cursor_changed;
    wide *on_a_node;   /* see res_most_on_a_node; NULL until it is asked */
    wide *total;       /* what queues share, by dimension */
    struct beam *beam; /* see beam.h; NULL until it is used */
    struct kind *as;   /* whom fit searches for, if not the task's own class; NULL mostly */
    struct topology *topology;
    struct protect *protect; /* NULL until a job has room kept */
    struct hunts *hunts;     /* see hunt.h; NULL until somebody takes room */
    /* Of two queues at most of which somebody waits who could take room back, on nodes that are there and on machines
     * on their way: see take_may_evict. */
    struct claimants {
        const struct queue *at[2];
        bool is_known;
    } claimants[2];
};

struct statement {
    struct session *s;
    size_t mark; /* the log's length when it began */
};

struct session *session_open(struct model *model, const struct setup *setup,
                             const struct berth_cycle_in *in, struct arena *out);
/** Takes back everything and ends it. */
void session_close(struct session *s);
/** Time alone could change something at that instant. */
void session_wake_at(struct session *s, int64_t at_ms);
/**
 * Notes a task that is promised room for which others were evicted, and that requires company: who is that must not go
 * before it begins.
 */
void session_note_company(struct session *s, struct task *task);
/** Whether a limit was reached. */
bool session_is_spent(struct session *s);
/** A job's own state, made on first use. */
struct seat *seat_of(struct session *s, struct job *job);
struct queue_seat *queue_seat_of(struct session *s, struct queue *queue);

/**
 * Whether a job may be looked at now, as far as the model says; why otherwise. Notes when time
 * alone would change that.
 */
bool job_is_open(struct session *s, struct job *job, struct why *why);
/** Whether what a task was promised is a machine on its way. */
static inline bool task_is_on_machine(const struct task *task)
{
    return task->node && (task->node->at == NOWHERE || task->node->kept->state == NODE_COMING);
}
/** A job's pending tasks that are due, in task order; in the session's arena. */
struct victims tasks_pending(struct session *s, const struct job *job, bool best_effort);
/** Lists a job's pending tasks into its seat, once. */
void seat_list(struct session *s, struct job *job);
/** The room that is held for a task, so long as it is promised it; NULL: none. */
const struct held_room *task_room(const struct session *s, const struct task *task);
/** Whether a reservation still holds room: its end and its age. */
bool reservation_holds(struct session *s, const struct berth_reservation *reservation);
/** Whether a pending task may be placed now: its back-off is over. */
bool task_is_due(struct session *s, const struct task *task);

/* Counts of a job's tasks as a gang sees them. */
uint32_t job_n_ready(const struct job *job); /* allocated or succeeded */
/** How many tasks of a group's class a job has; 0 if a group before it has that class too. */
uint64_t job_n_of_kind(const struct job *job, size_t from);
bool job_is_short(const struct job *job);          /* with what it is promised, of its minimum */
uint32_t job_n_best_effort(const struct job *job); /* pending and asking for nothing */
uint32_t job_n_valid(const struct job *job);
/** What a role's minimum counts: 0 ready, 1 with pipelined, 2 valid. */
bool job_roles_hold(const struct job *job, int what);

/** How many of its roles' minima a job lacks, with what it is promised. */
uint32_t job_lacks_roles(const struct job *job);
/** Likewise of a group's role alone. */
uint32_t group_lacks_role(const struct group *group);
/** Whether a job has less than so many tasks, or than a role's minimum, with what it is promised. */
bool job_lacks(const struct job *job, uint32_t goal);
/** Whether one more of a group brings its job nearer to that. */
bool group_is_lacking(const struct group *group, uint32_t goal);

/* What a job has beside its minimum: of its tasks, and of each of its roles. */
/** Whether a job holds its minimum, of each role too. */
bool job_has_minimum(const struct job *job);
/** How many of a group's role are ready beyond its minimum, or (below 0) short of it; INT64_MAX: it has none. */
int64_t group_beyond(const struct group *group);
/** How many tasks a job can lose at most and have its minimum yet; which, its roles say. */
uint32_t job_spares(const struct job *job);
/** How many of a group's role its job can lose and have its minimum yet. */
uint32_t group_spares(const struct group *group);
/** How many of its tasks a job can lose and have its minimum yet, whichever they are. */
uint32_t job_spares_any(const struct job *job);

/** Takes a change of the log back in the model. */
void op_undo(struct model *model, const struct op *op);

struct statement statement_open(struct session *s);
void statement_allocate(struct statement *stmt, struct task *task, struct node *node, double score);
void statement_pipeline(struct statement *stmt, struct task *task, struct node *node, bool evicted,
                        double score);
void statement_evict(struct statement *stmt, struct task *task, const char *reason);
/** Takes a promise back within a session: the task is pending again. */
void statement_unpipeline(struct statement *stmt, struct task *task);
/** Takes a promise back for good that was held when the session began: others get the room. */
void statement_take(struct statement *stmt, struct task *task, const struct held_room *room,
                    const char *reason);
/** The task is given up; it waits no more. */
void statement_fail(struct statement *stmt, struct task *task);
/** Whether somebody is evicted by it, or loses what is held for him. */
bool op_is_loss(const struct op *op);
/** Whether others pay for it: some are evicted, or what is held for them is taken. */
bool statement_has_losers(const struct statement *stmt);
/**
 * Whether a plugin refused a part of what was done. Then all of it is taken back, and the job is
 * tried no more in this session.
 */
bool statement_is_refused(struct statement *stmt, struct job *job);
/**
 * Makes groups of the answer out of what was done; job is for whom. False if it is refused as above.
 */
bool statement_commit(struct statement *stmt, struct job *job);
void statement_discard(struct statement *stmt);
/** Takes back one operation of whichever place; the caller takes it out of the log. */
void statement_take_out(struct session *s, const struct op *op);

/* Operations to be done again. */
struct saved {
    struct op *at;
    size_t n;
};
struct saved statement_save(const struct statement *stmt);
/** Does them again; false, and nothing done, if one no longer holds. */
bool statement_recover(struct statement *stmt, const struct saved *saved);

/* The answer: see answer.c. */
void answer_admit(struct session *s, const struct job *job);
void answer_unadmit(struct session *s, const struct job *job, enum wait_code code);
void answer_fail(struct session *s, const struct job *job, enum wait_code code,
                 const char *resource);
/** One task of a job of several. */
void answer_fail_task(struct session *s, const struct task *task, enum wait_code code,
                      const char *resource);
/**
 * What was promised by ops as a group of its own: on `node`, or (NULL) on nodes of the model. The
 * caller fills in the rest; it holds until the next group is added.
 */
struct berth_group *answer_room(struct session *s, enum berth_group_kind kind,
                                const struct job *job, const struct op *ops, size_t n,
                                const struct node *node);
/** A reservation ends, for a reason in words. */
void answer_release(struct session *s, const char *id, const char *reason);
/** What is held for a job ends, before what was just answered of it takes some of that for others of it. */
void answer_let_go(struct session *s, const struct job *job);
void answer_memo(struct session *s, const char *name, const void *data, size_t size);
/** Takes back what was answered of gangs of which other actions did not place the rest. */
void answer_gangs(struct session *s);
void answer_ops(struct session *s, const struct op *ops, size_t n, const struct job *job);
/** Forgets what an earlier session answered of a kind. */
void kind_answers_begin(const struct session *s, struct kind *kind);
/** Why the tasks of a class wait; lives in the answer. */
const struct berth_reason *kind_reason(struct session *s, struct kind *kind);
/** How many tasks of a class the nodes that are there would hold if they were empty. */
uint64_t kind_n_ever(struct session *s, struct kind *kind);
/** Why the cluster as it is could never run tasks of a job's class, however long they wait; NULL: it
 * could. Lives in the answer. */
const struct berth_reason *kind_never(struct session *s, struct job *job, struct kind *kind);
/** Fills the verdicts, while the session's changes still stand. */
void answer_verdicts(struct session *s, struct berth_decisions *out);
void answer_digest(struct session *s, struct berth_decisions *out);

/** Amounts in the session's answer; asks without the implied slot. */
struct berth_amounts asks_show(const struct model *model, struct arena *arena,
                               const struct asks *asks);

#endif

/*
 * Between the parts of the judge: judge_job.c, judge_limit.c, judge_bind.c, judge_held.c, judge_attempt.c,
 * judge_node.c, judge_labels.c, judge_queue.c, judge_quota.c, judge_lease.c. Each judge_KIND is one operation's
 * rules; see judge.h.
 */
#ifndef LEDGER_JUDGE_PART_H
#define LEDGER_JUDGE_PART_H

#include "ledger/judge.h"

/* One operation being judged. */
struct trial {
    struct mirror *mirror;
    struct changes *changes;
    const struct past *past;
    struct problem *problem; /* of the operation; set: it is refused */
    int64_t now;             /* wall ms */
    uint64_t without;        /* 1 << enum judge_rule: those that a test leaves out */
};

/** Whether a rule holds: all do, but for those that a test leaves out to see that they matter. */
static inline bool is_on(const struct trial *t, enum judge_rule rule)
{
    return !(t->without >> rule & 1);
}

void judge_submit(struct trial *t, struct op_submit *op);
void judge_stop(struct trial *t, struct op_stop *op);
void judge_patch(struct trial *t, struct op_patch *op);
void judge_fail(struct trial *t, struct op_fail *op);
void judge_admit(struct trial *t, struct op_admit *op);
void judge_retain(struct trial *t, struct op_retain *op);
void judge_bind(struct trial *t, struct op_bind *op);
void judge_evict(struct trial *t, struct op_evict *op);
void judge_release(struct trial *t, struct op_release *op);
void judge_order(struct trial *t, struct op_order *op);
void judge_order_state(struct trial *t, struct op_order_state *op);
void judge_ack(struct trial *t, struct op_ack *op);
void judge_report(struct trial *t, struct op_report *op);
void judge_register(struct trial *t, struct op_register *op);
void judge_beat(struct trial *t, struct op_beat *op);
void judge_leave(struct trial *t, struct op_leave *op);
void judge_cordon(struct trial *t, struct op_cordon *op);
void judge_node_label(struct trial *t, struct op_node_label *op);
void judge_node_delete(struct trial *t, struct op_node_delete *op);
void judge_node_state(struct trial *t, struct op_node_state *op);
void judge_queue_put(struct trial *t, struct op_queue_put *op);
void judge_queue_delete(struct trial *t, struct op_queue_delete *op);
void judge_quota(struct trial *t, struct op_quota *op);
void judge_token_put(struct trial *t, struct op_token_put *op);
void judge_token_delete(struct trial *t, struct op_token_delete *op);
void judge_lease(struct trial *t, struct op_lease *op);
void judge_memo(struct trial *t, struct op_memo *op);

/** Whether the fence is that of the lease `steward`; else the operation is refused. */
bool trial_is_steward(struct trial *t, uint64_t fence);

struct labels_rule {
    size_t max_bytes;   /* of names and values together, afterwards; 0 no limit */
    const char *absent; /* why a label that is not there cannot be taken away; NULL: it can */
};
/**
 * The JSON object `now` ("" as "{}") with the members of `changes` laid over it: a text sets one,
 * null takes it away. `changes` is of outside. NULL: the problem is set, with the label's pointer.
 */
char *judge_labels(struct trial *t, const char *now, const char *changes,
                   const struct labels_rule *rule);

/* How an attempt ended. */
struct attempt_end {
    enum cause cause;
    enum detail detail;
    int code, signal;
    const char *timings, *peaks, *message; /* NULL: as they are */
    int64_t started_at;                    /* 0: as it is */
    int64_t ended_at;                      /* by the clock of started_at; 0: now */
    uint64_t evicted_for;                  /* the job for whose sake; 0 none */
};

/* Why, and for whom, an attempt is to end. */
struct attempt_stop {
    enum cause cause;
    int64_t grace_ms;
    const char *reason;   /* for people; NULL none */
    uint64_t evicted_for; /* the job for whose sake; 0 none */
};

/** Ends a live attempt: its row, what becomes of the task, the job's state, the node's. */
void attempt_end(struct trial *t, const struct row_attempt *attempt, const struct attempt_end *how);
/**
 * Asks for the end of a live attempt: at once if it was not started, else it is stopping. Of a
 * stop under way the stronger cause and the shorter grace hold.
 */
void attempt_stop(struct trial *t, const struct row_attempt *attempt,
                  const struct attempt_stop *how);
/** Puts an attempt's new row with the event of its state. */
void attempt_put(struct trial *t, struct row_attempt *row);

/** Works out a job's state after its tasks changed, and writes its row if that, or a flag, did. */
void job_review(struct trial *t, struct mirror_job *job);
/* Why a job is stopped. */
struct job_end {
    enum cause cause;
    const char *by, *reason; /* "" none */
    int64_t grace_ms;        /* below 0: the job's own */
};

/** Stops a job's live attempts and ends its pending tasks; its state follows. One that is stopping
 * already keeps its cause; a shorter grace holds. */
void job_stop(struct trial *t, struct mirror_job *job, const struct job_end *how);
/** Ends what is live of a job so that it waits again, and lets it wait until it is resumed if it is
 * to be suspended. Refused while the job is stopping. */
void job_requeue(struct trial *t, struct mirror_job *job, const struct op_stop *op);
/** How many must be live or have succeeded for the gang, or a group of it, to be whole: its
 * minimum, less where too many have ended otherwise for it ever to be reached. */
uint32_t gang_minimum(uint32_t min_available, uint32_t n_tasks, const uint32_t *counts);
/** Whether every minimum of the job is met. */
bool gang_is_whole(const struct mirror_job *job);
/* ---- time limits: judge_limit.c ---- */

/** Holds a new job's limit against its queue's; a job that says none gets that. False: refused. */
bool limit_of_submit(struct trial *t, struct op_submit *op);
/** Holds the limit of a job that is to begin anew against its queue's. False: refused. */
bool limit_of_requeue(struct trial *t, const struct row_job *job);
/**
 * The specification of a job with the limit that a patch gives it.
 *
 * @text    out, yours: NULL where it has none to give, or the specification cannot be read
 * Returns  whether it may have it; else the operation is refused
 */
bool limit_of_patch(struct trial *t, const struct op_patch *op, const struct row_job *job,
                    char **text);

/* ---- rooms: judge_bind.c, judge_held.c ---- */

/** Why the node has no room for one more task of the group beside what lives and is held there;
 * WAIT_NONE if it has. */
enum wait_code room_for(const struct trial *t, const struct mirror_node *node,
                        const struct mirror_group *group);
/** The job as it was decided on, if it may be given room; else NULL, code and *why. */
struct mirror_job *job_to_place(const struct trial *t, uint64_t id, uint64_t version,
                                enum wait_code *code, const char **why);
/** Why the node takes nothing of what was decided on; WAIT_NONE if it does. */
enum wait_code node_refuses(const struct trial *t, const struct mirror_node *node, uint64_t facts);

/** What one task of the group asks of a resource. */
int64_t asked(const struct mirror_group *group, const char *resource);
/** Whether an attempt is live whose end the part waits for. */
bool part_waits(const struct trial *t, const struct mirror_part *part);
/** What is free of a resource of the node beside what lives there and is held and ready. */
int64_t free_now(const struct trial *t, const struct mirror_node *node,
                 const struct mirror_room *room);
/** What will be once all has ended for which parts wait there, beside all that is held. */
int64_t free_then(const struct trial *t, const struct mirror_node *node,
                  const struct mirror_room *room);

/** A task's held room, if there is any: it was bound to that node, or elsewhere. */
void held_bound(struct trial *t, struct mirror_job *job, uint32_t grp, uint32_t idx,
                const char *node);
/** A task's held room, or all that is held for a job or on a node, is let go. */
void held_end_task(struct trial *t, struct mirror_job *job, uint32_t grp, uint32_t idx,
                   enum release why);
void held_end_job(struct trial *t, struct mirror_job *job, enum release why);
void held_end_node(struct trial *t, struct mirror_node *node, enum release why);
/** Of a node that offers less: what no longer fits is let go. */
void held_end_unfit(struct trial *t, struct mirror_node *node);
/** After an attempt ended on the node: rooms that waited for it may be free by now. */
void held_review(struct trial *t, struct mirror_node *node, const struct row_attempt *ended);
/** The machine that was ordered came: what is held on it may be used from now on. */
void held_came(struct trial *t, struct mirror_node *node);
/* What a reservation is made of. */
struct held_open {
    uint64_t job, version, id;
    enum purpose purpose;
    const char *reason, *decision, *victims; /* victims: JSON, "" none */
    int64_t ttl_ms;
};
/** Opens it, once its parts are there. */
void held_open(struct trial *t, const struct mirror_job *job, const struct held_open *how);
/** Holds what a task asks on a node, waiting for attempts (their keys as rows have them, ""
 * none). */
void held_put_part(struct trial *t, const struct mirror_job *job, uint64_t reservation,
                   const struct op_room *room, const char *waits);
/**
 * Ends a job's open reservation and puts what it holds, but for the tasks of rooms, under another
 * one, which the caller opens.
 */
void held_carry_on(struct trial *t, struct mirror_job *job, uint64_t reservation,
                   const struct op_room *rooms, size_t n_rooms);
/** Forgets orders that ended earlier, so many at most, but those whose machine is there. */
void orders_forget(struct trial *t, int64_t ended_before, size_t most);
/** An order's machine came, if the node was one that was to come. */
void order_came(struct trial *t, const char *key);
/** Whether a text is an object of amounts, as nodes offer them. */
bool are_offers_valid(const char *text);
/** Lets go the rooms that are taken; false and refused if one is not open. */
bool held_take(struct trial *t, const struct op_take *takes, size_t n, uint64_t taker);

/** A node that said goodbye is gone when its last attempt is. */
void node_review(struct trial *t, struct mirror_node *node);

#endif

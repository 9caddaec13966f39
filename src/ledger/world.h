/*
 * For the tests of this house: a ledger with a clock of its own, and operations in one line.
 */
#ifndef LEDGER_WORLD_H
#define LEDGER_WORLD_H

#include "ledger/ledger.h"

struct world {
    struct ledger *ledger;
    struct reader *reader; /* opened when it is first needed */
    struct clock clock;
    int64_t now; /* wall ms; boot time is the same */
    uint64_t fence;
    char store[256];
    void (*at_point)(const char *point); /* NULL none */
    /* of the last operation */
    struct problem problem;
    uint64_t revision;
};

/** The address of a fresh store, "memory" or "sqlite", valid until the next one. */
const char *world_fresh(const char *store);
/** Removes the folder of the last fresh one. */
void world_drop(void);
/** Opens and starts a ledger; fails the test if it cannot. */
void world_open(struct world *world, const char *store);
void world_close(struct world *world);
/** Sends an operation, waits for its answer, notes problem and revision; the op is yours. */
enum problem_code world_do(struct world *world, struct op *op);
/** Likewise, and frees the op. */
enum problem_code world_run(struct world *world, struct op *op);

/** A job's object in JSON, without name and image: {"name":"x", ...} is filled in. */
struct op *world_submit_op(const char *json);
/** Submits a job; 0 if it was refused. */
uint64_t world_submit(struct world *world, const char *json);
/** Takes the lease `steward`. */
void world_lead(struct world *world);
struct op *world_register_op(const char *node, const char *boot, const char *offers);
enum problem_code world_register(struct world *world, const char *node, const char *offers);
/** A bind of n_tasks tasks of group 0 from index first on, each at its next number, to a node. */
struct op *world_bind_op(struct world *world, uint64_t job, uint32_t first, uint32_t n_tasks,
                         const char *node);
enum problem_code world_bind(struct world *world, uint64_t job, uint32_t index, const char *node);
/** Room for n_tasks tasks of group 0 from index first on, on a node, for a job; without victims. */
struct op *world_evict_op(struct world *world, uint64_t job, uint32_t first, uint32_t n_tasks,
                          const char *node);
/** Adds a victim, as it stands, to an eviction. */
void world_add_victim(struct world *world, struct op *op, uint64_t job, uint32_t index,
                      uint32_t number);
enum problem_code world_ack(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                            const char *node);
enum problem_code world_running(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                                const char *node);
/** The report of an end, to be changed and run. */
struct op *world_ended_op(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                          const char *node, int code);
enum problem_code world_ended(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                              const char *node, int code);
enum problem_code world_stop(struct world *world, uint64_t job);
/** Has what runs of a job wait again, or suspends it. */
enum problem_code world_requeue(struct world *world, uint64_t job, bool suspends);
enum problem_code world_resume(struct world *world, uint64_t job);
enum problem_code world_stop_attempt(struct world *world, uint64_t job, uint32_t index,
                                     uint32_t number, enum cause cause);

/** Puts the quota `name` of namespace `default`, an object of amounts; NULL: removes it. */
enum problem_code world_quota(struct world *world, const char *name, const char *hard);

/** The steward says so, having seen the last beat. */
enum problem_code world_node_state(struct world *world, const char *node, enum node_state state);
enum problem_code world_beat(struct world *world, const char *node);
/** A beat of an agent that takes no new work, and says why; "": it does. */
enum problem_code world_beat_disabled(struct world *world, const char *node, const char *why);

/** Rows as the store has them; yours to row_free, NULL if there is none. */
struct row_job *world_job(struct world *world, uint64_t id);
struct row_node *world_node(struct world *world, const char *name);
struct row_attempt *world_attempt(struct world *world, uint64_t job, uint32_t index,
                                  uint32_t number);
/** What was and is held for a job: "ended MOVED; open n1 n2*", with the nodes of open parts, *
 * where one waits or waited for somebody's end. */
const char *world_held_says(struct world *world, uint64_t job);
/** The id of the last reservation of a job; 0 none. */
uint64_t world_reservation(struct world *world, uint64_t job);
/** Lets go what is held for a job, as it stands. */
enum problem_code world_release(struct world *world, uint64_t job, enum release why);
enum job_state world_job_state(struct world *world, uint64_t id);
/** "pending", ... of an attempt's state and cause: "ended NODE_LOST again". */
const char *world_attempt_says(struct world *world, uint64_t job, uint32_t index, uint32_t number);

#endif

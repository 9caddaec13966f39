/*
 * Jobs as the command line sees them: finding one by what people write, columns, requests.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <jansson.h>

#include "base/name.h"
#include "cli/verb.h"

extern const struct listing job_listing, task_listing;

/* What a word names: a job, and of it a task or an attempt. */
struct job_name {
    char job[NAME_ATTEMPT_SIZE];        /* "j-12" */
    struct name_parts parts;            /* has_index, has_number: what else was said */
    char task[NAME_MAX_BYTES + 1 + 12]; /* "worker.3" or "3"; "" for the whole job */
};

/**
 * Finds the job of a word: j-12, j-12/worker.3, j-12/worker.3#2, the name of one job, or `last`.
 * Asks the server where the word is not an id.
 *
 * Returns  0, or an exit code after printing why
 */
MUST_CHECK int job_name_find(struct cli *cli, const struct args *args, const char *word,
                             struct job_name *out);

/** "/v1/jobs/j-12" and what follows; yours. */
char *job_path(const char *job, const char *more);
/** "/v1/attempts/NAME" with the name encoded, and what follows; yours. */
char *attempt_path(const char *attempt, const char *more);

/** Whether a state's word says that a job is over. */
bool job_state_is_over(const char *state);

/**
 * Whether a job is lost with the ledger that it was in: the server has another one, which is the
 * same up to a revision.
 *
 * @job     "j-12"
 * @shared  the last revision that both have; 0: none is known
 * @why     what the server said
 * @out     { 0 }; what to say of the job, where it is lost
 */
bool job_is_lost(const char *job, int64_t shared, const struct problem *why, struct problem *out);

/** Says of each attempt that a lost node may run on, since the job asks for it, that it may. */
void job_print_kept(const json_t *item, FILE *to);

/** Adds the reason of a waiting job: "INSUFFICIENT_CPU asked 32, free 8 ..."; nothing if it has
 * none. */
void job_add_reason(const json_t *job, struct str *out);

/** Adds what a task asks; where it holds more than that, both: "5Gi (4Gi x 1.25)". */
void job_add_asked(const json_t *reason, struct str *out);
/** Adds who stands in the way, "  held by j-7" or "  behind j-7": an id alone would not say what it
 * has to do with this job. */
void job_add_blocker(const json_t *reason, struct str *out);

/** Adds how a job or attempt ended: "exit 3", "signal 9", "OUT_OF_MEMORY"; from code and cause;
 * of a job from the task that failed. */
void job_add_end(const json_t *item, struct str *out);

/** The difference of two times (strings) of an item in ms; -1 if one is not there. */
int64_t item_span_ms(const json_t *item, const char *from, const char *to);

#endif

/* Submit: making a job of a file, a script and flags, and sending it once. */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include <jansson.h>

#include "cli/verb.h"

/* Flags that make a job, made from the table of api/flags.h when the program begins. */
extern struct flag_set job_flags;
/* Those of the table that are refused, and the file's names of those that have another. */
extern struct flag_set job_refused;
/* --key. */
extern const struct flag_set key_flags;
void submit_init(void);

/**
 * Makes the job's object from a verb's words and checks it.
 *
 * @out     yours
 * Returns  0, or an exit code after printing why
 */
MUST_CHECK int submit_make(struct cli *cli, const struct args *args, json_t **out);

/** Tells the faults of the job that was made last, each where it stands. Returns the exit code. */
int submit_fail(const struct cli *cli, struct problem *problem, int status);
/** Forgets what was made. */
void submit_forget(struct cli *cli);

/**
 * Sends it with an idempotency key, so that a repetition after a broken connection is harmless.
 *
 * @job          the server's answer, yours
 * @is_replayed  the key was known: it is the job submitted then
 * Returns       0, or an exit code after printing why
 */
MUST_CHECK int submit_send(struct cli *cli, const struct args *args, const json_t *object,
                           json_t **job, bool *is_replayed);

/**
 * Posts a job with an idempotency key.
 *
 * @key          NULL: one of our own, so that only a repetition of this very call is the same
 * @is_replayed  as above; NULL: it is of no interest
 */
MUST_CHECK int submit_post(struct cli *cli, const char *path, const char *key, const json_t *object,
                           json_t **job, bool *is_replayed);

/** The verb `submit`, and `run -d`. */
int submit_run(struct cli *cli, const struct args *args);

#endif

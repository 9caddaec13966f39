/*
 * Calls about one job: reading its row and specification, if the caller may see it.
 */
#ifndef SERVER_CALL_JOB_H
#define SERVER_CALL_JOB_H

#include "server/call.h"

/* What a call about a job keeps; call->state. */
struct call_job {
    uint64_t id;
    struct row_job *row;
    struct job_spec *spec;
};

/** Takes the job's id from the path; the call's state becomes a struct call_job. False: it was
 * refused, and the problem is set. */
bool call_job_begin(struct call *call);
/** The same for a job of that number. */
void call_job_of(struct call *call, uint64_t id);
struct call_job *call_job(struct call *call);
/** Ends what a struct call_job holds, and reads it anew: NOT_FOUND if there is none to see. A
 * call_read_fn: row and spec are set, or the problem is. */
int call_job_load(struct call *call, struct reader *reader, struct err *err);
/** Adds `kept` to the answer: attempts of the job that are over, as their nodes are lost, and may
 * run on there all the same, since the job asks for it. */
int call_job_kept(struct call *call, struct reader *reader, struct err *err);
/** call_job_load, and the answer is the job. */
int call_job_show(struct call *call, struct reader *reader, struct err *err);
/** The place of a group, by its name ("": the only one); -1 if there is none. */
int64_t call_job_group(const struct job_spec *spec, const char *name);
/** "worker.3" or "3" taken apart; false: the problem is set, NOT_FOUND. */
bool call_job_task(struct call *call, const struct job_spec *spec, const char *text,
                   uint32_t *group, uint32_t *index);

#endif

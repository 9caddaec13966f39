/*
 * Plan: what would become of a job if it were submitted now, asked of the view and shown.
 */
#ifndef SERVER_PLAN_H
#define SERVER_PLAN_H

#include "api/job.h"
#include "server/call.h"
#include "server/view.h"

/**
 * Answers the call with what a cycle would do with the job, the last in line: docs/api.md, "Jobs".
 * With the parameter `changes` it says too why the job would wait, as for one that does.
 *
 * @spec      borrowed until the call ends
 * @limit_of  the queue that gives it its limit; NULL: it has its own, or none
 */
void plan_answer(struct call *call, const struct job_spec *spec, const char *limit_of);

/** The verdicts of an answer as a list of reasons, each with its group. */
json_t *plan_show_verdicts(const struct view_answer *answer, bool hides_jobs);

#endif

/*
 * Reading a group of a job, with the readers that a job's own keys need too. Between job_read.c and
 * job_group.c; a fault is a field of the problem, and leaves the field at its default.
 */
#ifndef API_JOB_GROUP_H
#define API_JOB_GROUP_H

#include "api/job.h"
#include "api/json.h"

/** The keys of a group, in the order of docs/job-format.md. */
const struct json_key *job_group_keys(size_t *n);
/** Whether a key of a flat job is the job's, not its group's: name and minAvailable. */
bool job_group_shares(const char *name);

/** What a group has of its own: all but name and minAvailable, which a flat job has itself. */
void job_read_group(const struct json_at *at, struct job_group *group);
/** A group of a list, whole. */
void job_read_listed_group(const struct json_at *at, struct job_group *group);
/** What holds for a group of a job that is to be accepted, beside what holds for each. */
void job_check_new_group(const struct json_at *at);

/** A name that users give; *place is replaced. */
void job_read_name(const struct json_at *up, const char *key, char **place);
/** Labels, sorted by key. */
void job_read_labels(const struct json_at *up, const char *key, struct labels *out);

#endif

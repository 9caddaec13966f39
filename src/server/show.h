/*
 * Show: the ledger's rows as the objects of the API, each kind in a file of its own.
 *
 * What is empty is left out. Values are yours to json_decref.
 */
#ifndef SERVER_SHOW_H
#define SERVER_SHOW_H

#include <jansson.h>

#include "api/job.h"
#include "berth/engine.h"
#include "ledger/ledger.h"
#include "server/auth.h"

struct nodes;
struct verdicts;

/* ---- members of objects ---- */

/** A text as a value; bytes that are no UTF-8 become '?'. */
json_t *show_value(const char *text);
/** Sets a member, taking the value. */
void show_set(json_t *object, const char *key, json_t *value);
/** Left out if "" or NULL. */
void show_text(json_t *object, const char *key, const char *text);
void show_number(json_t *object, const char *key, int64_t number);
/** Left out if 0. */
void show_time(json_t *object, const char *key, int64_t wall_ms);
void show_duration(json_t *object, const char *key, int64_t ms);
/** A JSON text of a row as the value it is; left out if "". */
void show_json(json_t *object, const char *key, const char *text);
/** An amount in the unit of its resource, as a text. */
void show_amount(json_t *object, const char *key, const char *resource, int64_t value);
/** Amounts of a row, {"cpu":1000}, as texts, {"cpu":"1"}. */
json_t *show_amounts(const json_t *amounts);
json_t *show_engine_amounts(const struct berth_amounts *amounts);
/** Amounts of a row (a JSON text), as an object; empty if it cannot be read. */
json_t *show_read_object(const char *text);
/**
 * Adds what a task asks: `asked`; and where that is more than it states, for a headroom of memory,
 * `askedAs`, in words: "5Gi (4Gi x 1.25)".
 *
 * @spec  of its job; NULL: not known, then there are no words
 */
void show_asked(json_t *object, const struct job_spec *spec, const char *resource, int64_t asked);
/** The words, or where there are none the amount. */
void show_asked_text(const struct job_spec *spec, const char *resource, int64_t asked,
                     struct str *out);
/** amounts[resource] += value. */
void show_add_amount(json_t *amounts, const char *resource, int64_t value);

/* ---- objects ---- */

/* What a job is shown with, and to whom; NULL: without what is of the moment. */
struct show_view {
    const struct verdicts *verdicts; /* why it waits; or NULL */
    struct nodes *nodes;             /* where it runs; or NULL */
    struct reader *reader;           /* with nodes: since when they are silent; or NULL */
    bool hides_jobs;                 /* other jobs are not named: they may be another namespace's */
};

/**
 * A job.
 *
 * @spec  with it and the resources; NULL: as in lists
 */
/** Adds what a job asks for in all; nothing if its specification cannot be read. */
void show_job_resources(json_t *object, const struct row_job *row);
json_t *show_job(const struct row_job *row, const struct job_spec *spec,
                 const struct show_view *view);
/** show_job with a spec, written out as an answer's line: without reading the spec once more. */
char *show_job_text(const struct row_job *row, const struct job_spec *spec,
                    const struct show_view *view);
/** Why a group waits. @spec  of its job, or NULL, as of show_asked */
json_t *show_reason(const struct berth_reason *reason, const struct job_spec *spec, bool has_nodes,
                    bool hides_jobs);
/** Names a job that stands in the way, unless that is hidden; left out if NULL. */
void show_blocker(json_t *object, const char *key, const char *blocker, bool hides_jobs);

/** @group  its group's name, "" where the job has one without */
json_t *show_attempt(const struct row_attempt *row, const char *group);

/* A task: what its job, last attempt and end without one say. */
struct show_task {
    const struct row_job *job;
    const struct job_spec *spec;
    uint32_t group, index;
    const struct row_attempt *last; /* or NULL */
    const struct row_task *ended;   /* without an attempt; or NULL */
    enum wait_code waits;           /* why it waits, where it does */
    int64_t silent_at;              /* wall ms: when its node was heard of last; 0: it is */
};
json_t *show_task(const struct show_task *task);
/** The word of a task's state. */
const char *show_task_state(const struct show_task *task);

json_t *show_reservation(const struct row_reservation *row);
/** One task's held room. @group  its group's name */
json_t *show_room(const struct row_part *row, const char *group);
json_t *show_order(const struct row_order *row);

json_t *show_node(const struct row_node *row);
/**
 * Adds what is of the moment: what is in use and free, and whether its agent is there.
 *
 * @used  amounts in use, as in rows; borrowed
 */
void show_node_use(json_t *node, const struct row_node *row, const json_t *used, size_t n_attempts,
                   bool is_connected);
/** When a node was heard of last, wall ms, where it has been silent for too long; 0: it is heard
 * of. */
int64_t show_silent_since(struct nodes *nodes, struct reader *reader, const char *node);
/** Says when it was heard of last, which no event tells. */
void show_node_heard(json_t *node, const struct row_node *row, const struct row_beat *beat);
json_t *show_queue(const struct row_queue *row);
/** @view  NULL: the engine does not know it */
json_t *show_queue_usage(const struct berth_queue_view *view);
json_t *show_token(const struct row_token *row);
json_t *show_who(const struct who *who);

/** An event as a batch has it; its object is the row as it was then, shown as everywhere. */
json_t *show_event(const struct batch_event *event);
/** The same of a row of the log. */
json_t *show_logged_event(const struct row_event *row);
/** The job number of an event's subject; 0 if it is about no job. */
uint64_t show_event_job(const char *subject);

/** Where the time of an attempt's start went; since: wall ms from which it is counted. */
json_t *show_timeline(const struct row_attempt *row, const struct job_spec *spec, int64_t since);

#endif

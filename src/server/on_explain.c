/* Why a job waits: the row says who may ask, the view's engine says why. */
#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "berth/engine.h"
#include "server/call_job.h"
#include "server/hide.h"
#include "server/routes.h"
#include "server/show.h"
#include "server/show_explain.h"

enum { CHANGES = 3, CHANGES_MAX = 10 };

static void show_place(json_t *object, const struct row_job *row)
{
    json_t *queue = json_object();
    char id[NAME_ATTEMPT_SIZE];

    name_job(row->id, id);
    show_text(object, "job", id);
    show_text(object, "state", job_state_words[row->state]);
    show_text(queue, "name", row->queue);
    show_set(object, "queue", queue);
}

/* Whether others are evicted for tasks beyond a job's minimum. @engine  NULL: profile berth */
static bool evicts_for_all(const struct berth_config *engine)
{
    const char *name = engine && engine->profile ? engine->profile : "berth";
    const struct berth_config *profile = berth_profile_find(name);
    const struct berth_value *said = NULL;

    if (engine && engine->policy)
        said = berth_value_get(engine->policy, "preemptFor");
    if (!said && profile && profile->policy)
        said = berth_value_get(profile->policy, "preemptFor");
    return said && text_eq(said->text, "all");
}

static void show_answer(struct call *call, const struct view_answer *answer)
{
    const struct row_job *row = call_job(call)->row;
    const char *only = call_query(call, "node");
    char task[NAME_ATTEMPT_SIZE];

    name_task(call_job(call)->id, answer->task.group, answer->task.index, task);
    show_text(call->answer, "task", task);
    if (row->state == JOB_RUNNING && !row->is_degraded &&
        !evicts_for_all(call->server->options.engine))
        show_set(call->answer, "aboveMinimum", json_true());
    show_explanation(call->answer, call, answer, call_job(call)->spec, only);
    if (answer->explanation.n_stopping)
        show_set(call->answer, "stopping",
                 show_stopping(call, answer->explanation.stopping, answer->explanation.n_stopping));
    call->revision = answer->revision;
}

static void end(struct call *call)
{
    if (!call->problem.code)
        show_number(call->answer, "revision", (int64_t)call->revision);
    call_end(call);
}

/* On the API loop. */
static void explained(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;
    const char *only = call_query(call, "node");

    /* -ENOENT: nothing of the job waits (any more), so there is nothing to say but its state; or
     * the node is not known, which is found only where something does. */
    if (answer->code == 0)
        show_answer(call, answer);
    else if (answer->code == -ENOENT && only && answer->explanation.nodes)
        call_not_found(call, "node", only);
    else if (answer->code != -ENOENT)
        problem_set(&call->problem,
                    answer->code == -ESHUTDOWN ? PROBLEM_STARTING : PROBLEM_INTERNAL, "%s",
                    answer->err.text);
    end(call);
}

/* With a node only that is looked at, unless changes are asked for too. */
static bool read_changes(struct call *call, uint32_t *out)
{
    int64_t n = call_query(call, "node") ? 0 : CHANGES;

    if (!call_query_int(call, "changes", 0, CHANGES_MAX, &n))
        return false;
    *out = (uint32_t)n;
    return true;
}

/* How the newest of its reservations ended: only that says what was lost and not had since. */
struct last_held {
    uint64_t id, taken_by; /* taken_by 0: nobody took it */
    int64_t ended_at;
};

static int keep_last(const void *data, void *arg)
{
    const struct row_reservation *row = data;
    struct last_held *last = arg;

    *last = (struct last_held){ row->id, row->taken_by, row->ended_at };
    return 0;
}

/* That what was held for it went to another, to whom as far as the caller sees it, and when. */
static int show_lost(struct call *call, struct reader *reader, const struct last_held *last,
                     struct err *err)
{
    json_t *object;
    struct row_job *taker = NULL;
    char name[NAME_ATTEMPT_SIZE];
    int r;

    if (!last->taken_by || last->ended_at < call_job(call)->row->pending_at)
        return 0; /* or it ran since, and waits for something else now */
    r = reader_job(reader, last->taken_by, &taker, err);
    if (r < 0)
        return r;
    object = json_object();
    if (r == 0 && call_sees(call, taker->ns)) {
        name_job(last->taken_by, name);
        show_text(object, "takenBy", name);
    }
    row_free(ROW_JOB, taker);
    show_number(object, "reservation", (int64_t)last->id);
    show_time(object, "at", last->ended_at);
    show_set(call->answer, "lost", object);
    return 0;
}

/* The last eviction of a task that waits since. */
struct last_evicted {
    const struct call_job *job;
    json_t *shown; /* or NULL */
    int64_t ended_at;
};

static int keep_evicted(const void *data, void *arg)
{
    const struct row_attempt *row = data;
    struct last_evicted *last = arg;
    const struct job_spec *spec = last->job->spec;

    if (row->cause != CAUSE_EVICTED || row->then != THEN_AGAIN || row->ended_at < last->ended_at ||
        (size_t)row->grp >= spec->n_groups)
        return 0;
    json_decref(last->shown);
    last->shown = show_attempt(row, spec->groups[row->grp].name);
    last->ended_at = row->ended_at;
    return 0;
}

/* For whom it had to go, or for what, as far as the caller sees it. */
static int show_evicted(struct call *call, struct reader *reader, struct err *err)
{
    struct last_evicted last = { .job = call_job(call) };
    json_t *object;
    int r = reader_last_attempts(reader, last.job->id, NULL, 0, keep_evicted, &last, err);

    if (r >= 0 && last.shown) {
        hide_jobs(last.shown, &call->who, hide_by_reader, reader);
        object = json_object();
        show_set(object, "attempt", json_incref(json_object_get(last.shown, "name")));
        if (json_object_get(last.shown, "evictedFor"))
            show_set(object, "evictedFor", json_incref(json_object_get(last.shown, "evictedFor")));
        else
            show_text(object, "for", json_string_value(json_object_get(last.shown, "message")));
        show_time(object, "at", last.ended_at);
        show_set(call->answer, "evicted", object);
    }
    json_decref(last.shown);
    return r < 0 ? r : 0;
}

static int explain_load(struct call *call, struct reader *reader, struct err *err)
{
    struct last_held last = { 0 };
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    json_decref(call->answer);
    call->answer = json_object();
    show_place(call->answer, call_job(call)->row);
    if (call_job(call)->row->state == JOB_PENDING)
        r = reader_reservations(reader, call_job(call)->id, keep_last, &last, err);
    if (r >= 0)
        r = show_lost(call, reader, &last, err);
    if (r >= 0)
        r = call_job_kept(call, reader, err);
    return r < 0 ? r : show_evicted(call, reader, err);
}

static void explain_loaded(struct call *call)
{
    struct call_job *job = call_job(call);
    struct view_question question = { .kind = VIEW_EXPLAIN,
                                      .job = job->id,
                                      .name = call_query(call, "node") };
    const char *task = call_query(call, "task");
    uint32_t group = 0;

    if (!read_changes(call, &question.n_changes) ||
        (task && !call_job_task(call, job->spec, task, &group, &question.index))) {
        call_end(call);
        return;
    }
    if (task)
        question.group = job->spec->groups[group].name;
    if (job_is_over((enum job_state)job->row->state) || call->server->is_closing)
        end(call);
    else
        view_ask(call->server->view, &question, call->server->loop, explained, call);
}

void on_job_explain(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, explain_load, explain_loaded);
    else
        call_end(call);
}

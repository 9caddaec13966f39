/* Why a job waits: the row says who may ask, the view's engine says why. */
#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "berth/engine.h"
#include "server/call_job.h"
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
    show_explanation(call->answer, call, answer, call_job(call)->spec->memory_milli, only);
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
    call->answer = json_object();
    show_place(call->answer, job->row);
    if (job_is_over((enum job_state)job->row->state) || call->server->is_closing)
        end(call);
    else
        view_ask(call->server->view, &question, call->server->loop, explained, call);
}

void on_job_explain(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, call_job_load, explain_loaded);
    else
        call_end(call);
}

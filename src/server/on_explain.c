/* Why a job waits: the row says who may ask, the cycle's engine says why. */
#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "server/call_job.h"
#include "server/routes.h"
#include "server/show.h"

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

static json_t *show_node_reason(const struct berth_node_reason *reason, bool hides_jobs)
{
    json_t *object = json_object();

    show_text(object, "name", reason->node);
    if (reason->resource) {
        show_text(object, "resource", reason->resource);
        show_amount(object, "asked", reason->resource, reason->asked);
        show_amount(object, "free", reason->resource, reason->free);
    }
    show_blocker(object, "heldBy", reason->holder, hides_jobs);
    return object;
}

/* The group of nodes that fail for one code and resource; made where it is not there yet. */
static json_t *failed_group(json_t *failed, const struct berth_node_reason *reason)
{
    const char *word = wait_codes[reason->code].word;
    json_t *group;
    size_t i;

    json_array_foreach(failed, i, group)
    {
        const char *resource = json_string_value(json_object_get(group, "resource"));

        if (text_eq(json_string_value(json_object_get(group, "code")), word) &&
            text_eq(resource, reason->resource))
            return group;
    }
    group = json_object();
    show_text(group, "code", word);
    show_text(group, "resource", reason->resource);
    show_number(group, "count", 0);
    show_set(group, "nodes", json_array());
    json_array_append_new(failed, group);
    return group;
}

static json_t *show_nodes(const struct berth_explanation *explanation, const char *only,
                          bool hides_jobs)
{
    json_t *object = json_object(), *fits = json_array(), *failed = json_array();
    size_t total = 0;

    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const struct berth_node_reason *reason = &explanation->nodes[i];
        json_t *group;

        if (only && !text_eq(only, reason->node))
            continue;
        total++;
        if (reason->code == WAIT_NONE) {
            json_array_append_new(fits, show_value(reason->node));
            continue;
        }
        group = failed_group(failed, reason);
        show_number(group, "count", json_integer_value(json_object_get(group, "count")) + 1);
        json_array_append_new(json_object_get(group, "nodes"),
                              show_node_reason(reason, hides_jobs));
    }
    show_number(object, "total", (int64_t)total);
    show_set(object, "fits", fits);
    show_set(object, "failed", failed);
    return object;
}

static json_t *show_groups(const struct cycle_answer *answer, bool hides_jobs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < answer->n_verdicts; i++) {
        const struct berth_verdict *verdict = &answer->verdicts[i];
        json_t *object = json_object();

        show_text(object, "group", verdict->group);
        show_number(object, "tasks", verdict->n_tasks);
        show_text(object, "code", wait_codes[verdict->reason->code].word);
        show_set(object, "reason", show_reason(verdict->reason, true, hides_jobs));
        json_array_append_new(list, object);
    }
    return list;
}

static bool has_node(const struct cycle_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->explanation.n_nodes; i++)
        if (text_eq(answer->explanation.nodes[i].node, name))
            return true;
    return false;
}

static void show_explanation(struct call *call, const struct cycle_answer *answer)
{
    const struct berth_explanation *explanation = &answer->explanation;
    const char *only = call_query(call, "node");
    bool hides_jobs = call->who.ns[0];
    char task[NAME_ATTEMPT_SIZE];

    if (only && !has_node(answer, only)) {
        call_not_found(call, "node", only);
        return;
    }
    name_task(call_job(call)->id, answer->task.group, answer->task.index, task);
    show_text(call->answer, "task", task);
    show_text(call->answer, "code", wait_codes[explanation->state].word);
    if (explanation->reason)
        show_set(call->answer, "reason", show_reason(explanation->reason, false, hides_jobs));
    show_set(call->answer, "groups", show_groups(answer, hides_jobs));
    show_set(call->answer, "nodes", show_nodes(explanation, only, hides_jobs));
    call->revision = answer->revision;
}

/* On the API loop. */
static void explained(const struct cycle_answer *answer, void *arg)
{
    struct call *call = arg;

    /* -ENOENT: nothing of the job waits (any more), so there is nothing to say but its state. */
    if (answer->code == 0)
        show_explanation(call, answer);
    else if (answer->code != -ENOENT)
        problem_set(&call->problem,
                    answer->code == -ESHUTDOWN ? PROBLEM_STARTING : PROBLEM_INTERNAL, "%s",
                    answer->err.text);
    if (!call->problem.code)
        show_number(call->answer, "revision", (int64_t)call->revision);
    call_end(call);
}

static void explain_loaded(struct call *call)
{
    struct call_job *job = call_job(call);
    struct cycle_question question = { .kind = CYCLE_EXPLAIN, .job = job->id };
    const char *task = call_query(call, "task");
    uint32_t group = 0;

    if (task && !call_job_task(call, job->spec, task, &group, &question.index)) {
        call_end(call);
        return;
    }
    if (task)
        question.group = job->spec->groups[group].name;
    call->answer = json_object();
    show_place(call->answer, job->row);
    if (job_is_over((enum job_state)job->row->state) || call->server->is_closing) {
        show_number(call->answer, "revision", (int64_t)call->revision);
        call_end(call);
        return;
    }
    cycle_ask(call->server->cycle, &question, call->server->loop, explained, call);
}

void on_job_explain(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, call_job_load, explain_loaded);
    else
        call_end(call);
}

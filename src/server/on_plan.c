/* What would become of a job if it were submitted: see plan.h. */
#include "base/name.h"
#include "server/feed.h"
#include "server/plan.h"
#include "server/show.h"
#include "server/show_explain.h"

enum { CHANGES_MAX = 10 };

json_t *plan_show_verdicts(const struct view_answer *answer, bool hides_jobs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < answer->n_verdicts; i++) {
        const struct berth_verdict *verdict = &answer->verdicts[i];
        json_t *object = json_object(),
               *reason = show_reason(verdict->reason, answer->spec, true, hides_jobs);

        show_text(object, "group", verdict->group);
        show_number(object, "tasks", verdict->n_tasks);
        json_object_update(object, reason);
        json_decref(reason);
        json_array_append_new(list, object);
    }
    return list;
}

static void show_placements(struct call *call, const struct view_answer *answer)
{
    json_t *placements = json_array();

    for (size_t i = 0; i < answer->n_groups; i++) {
        for (size_t k = 0; k < answer->groups[i].n_parts; k++) {
            const struct berth_part *part = &answer->groups[i].parts[k];
            CLEANUP(freep) char *task = NULL;
            json_t *object;

            if (part->kind == BERTH_PART_EVICT)
                continue;
            task = text_format("%s.%u", part->task.group, part->task.index);
            object = json_object();
            show_text(object, "task", task);
            show_text(object, "node", part->node);
            json_array_append_new(placements, object);
        }
    }
    show_set(call->answer, "placements", placements);
}

/* Whom it would cost. Attempts of jobs that the caller does not see have a node and no name. */
static void show_victims(struct call *call, const struct view_answer *answer)
{
    json_t *list = json_array();

    for (size_t i = 0; i < answer->n_victims; i++) {
        const struct berth_part *part = answer->victims[i].part;
        const char *ns = answer->victims[i].namespace_;
        json_t *object = json_object();
        char name[NAME_ATTEMPT_SIZE];

        if (call_sees(call, ns ? ns : "")) {
            name_attempt(feed_job_number(part->task.job), part->task.group, part->task.index,
                         part->task.attempt, name);
            show_text(object, "attempt", name);
            show_text(object, "job", part->task.job);
        }
        show_text(object, "node", part->node);
        show_set(object, "frees", show_engine_amounts(&part->holds));
        json_array_append_new(list, object);
    }
    show_number(call->answer, "evicts", (int64_t)answer->n_victims);
    show_set(call->answer, "victims", list);
}

/* How many reservations of other jobs it would have the room of. */
static void show_takes(struct call *call, const struct view_answer *answer)
{
    size_t n = 0;

    for (size_t i = 0; i < answer->n_groups; i++)
        n += answer->groups[i].n_takes;
    if (n)
        show_number(call->answer, "takes", (int64_t)n);
}

/* Why it would wait, in the form in which a job that does is explained. */
static void show_why(struct call *call, const struct view_answer *answer)
{
    json_t *object = json_object(), *queue = json_object();

    show_text(object, "state", job_state_words[JOB_PENDING]);
    show_text(queue, "name", answer->queue_name);
    show_set(object, "queue", queue);
    show_explanation(object, call, answer, answer->spec, NULL);
    show_set(call->answer, "explain", object);
}

/* On the API loop. */
static void planned(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;

    if (answer->code < 0) {
        problem_set(&call->problem, PROBLEM_INTERNAL, "%s", answer->err.text);
        call_end(call);
        return;
    }
    show_text(call->answer, "outcome", answer->starts ? "start" : "wait");
    show_placements(call, answer);
    if (answer->n_victims)
        show_victims(call, answer);
    show_takes(call, answer);
    if (answer->n_stopping)
        show_set(call->answer, "stopping",
                 show_stopping(call, answer->stopping, answer->n_stopping));
    show_set(call->answer, "reasons", plan_show_verdicts(answer, call->who.ns[0]));
    if (answer->explanation.nodes)
        show_why(call, answer);
    call->revision = answer->revision;
    show_number(call->answer, "revision", (int64_t)call->revision);
    call_end(call);
}

void plan_answer(struct call *call, const struct job_spec *spec, const char *limit_of)
{
    struct view_question question = { .kind = VIEW_PLAN, .spec = spec };
    int64_t n = -1;

    if (!call_query_int(call, "changes", 0, CHANGES_MAX, &n)) {
        call_end(call);
        return;
    }
    call->answer = json_object();
    if (spec->limit_ms)
        show_duration(call->answer, "limit", spec->limit_ms);
    show_text(call->answer, "limitOf", limit_of);
    question.explains = n >= 0;
    question.n_changes = n > 0 ? (uint32_t)n : 0;
    view_ask(call->server->view, &question, call->server->loop, planned, call);
}

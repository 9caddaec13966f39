/* Cycle, questions: see cycle_answer.h. */
#include "server/cycle_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "server/cycle_verdicts.h"

/* The key under which a job is supposed: no live one has it. */
static const char plan_id[] = "plan";

void cycle_ask_init(struct cycle_ask *ask, const struct cycle_question *question)
{
    struct err err = { 0 };

    *ask = (struct cycle_ask){ .question = *question };
    ask->question.name = ask->name = text_copy(question->name);
    ask->question.group = ask->group = text_copy(question->group);
    ask->question.spec = NULL;
    if (question->spec) {
        char *text = job_spec_to_text(question->spec, NULL);

        if (job_spec_from_canonical(text, &ask->spec, &err) == 0)
            ask->question.spec = ask->spec;
        else
            ask->answer = (struct cycle_answer){ .code = -EINVAL, .err = err };
        mem_free(text);
    }
}

void cycle_ask_fini(struct cycle_ask *ask)
{
    arena_fini(&ask->answer.arena);
    berth_decisions_free(&ask->decisions);
    verdicts_unref(ask->verdicts);
    job_spec_freep(&ask->spec);
    mem_free(ask->name);
    mem_free(ask->group);
}

static int explain(struct cycle_ask *ask, struct berth_engine *engine, const struct feed *feed,
                   const struct berth_cycle_in *in)
{
    const struct cycle_question *question = &ask->question;
    struct cycle_answer *answer = &ask->answer;
    const struct berth_job *job = feed_job(feed, question->job);
    struct berth_task_ref task = { 0 };

    if (!job)
        return err_set(&answer->err, -ENOENT, "j-%" PRIu64 " is not live", question->job);
    if (question->group)
        task = (struct berth_task_ref){ .job = job->id,
                                        .group = question->group,
                                        .index = question->index };
    else if (!feed_first_waiting(feed, question->job, &task))
        return err_set(&answer->err, -ENOENT, "nothing of j-%" PRIu64 " waits", question->job);
    /* The job may end before the answer is read. */
    answer->task = task;
    answer->task.job = arena_text(&answer->arena, task.job);
    answer->task.group = arena_text(&answer->arena, task.group);
    answer->verdicts = verdicts_find(ask->verdicts, question->job, &answer->n_verdicts);
    return berth_engine_explain(engine, in, &answer->task, &answer->arena, &answer->explanation,
                                &answer->err);
}

/* Whether a decision is about the supposed job. */
static bool is_of_plan(const char *job)
{
    return job && strcmp(job, plan_id) == 0;
}

static void keep_plan(struct cycle_ask *ask)
{
    const struct berth_decisions *decisions = &ask->decisions;
    struct cycle_answer *answer = &ask->answer;
    struct berth_group *groups =
        ARENA_NEW0_N(&answer->arena, struct berth_group, decisions->n_groups + 1);
    struct berth_verdict *verdicts =
        ARENA_NEW0_N(&answer->arena, struct berth_verdict, decisions->n_verdicts + 1);

    for (size_t i = 0; i < decisions->n_groups; i++)
        if (is_of_plan(decisions->groups[i].job))
            groups[answer->n_groups++] = decisions->groups[i];
    for (size_t i = 0; i < decisions->n_verdicts; i++)
        if (is_of_plan(decisions->verdicts[i].job))
            verdicts[answer->n_verdicts++] = decisions->verdicts[i];
    answer->groups = groups;
    answer->verdicts = verdicts;
}

static int plan(struct cycle_ask *ask, struct berth_engine *engine, const struct berth_cycle_in *in)
{
    struct cycle_answer *answer = &ask->answer;
    struct berth_cycle_in all = *in;
    struct berth_job job;
    struct berth_delta delta = { .kind = BERTH_JOB, .job = &job };
    int r;

    if (!ask->spec)
        return answer->code ? answer->code : err_set(&answer->err, -EINVAL, "a plan of no job");
    feed_job_from_spec(ask->spec, plan_id, &answer->arena, &job);
    job.seq = UINT64_MAX; /* the last in line */
    job.version = 1;
    job.created_at_ms = in->now_ms;
    if (ask->spec->deadline_ms)
        job.deadline_at_ms = in->now_ms + ask->spec->deadline_ms;
    all.max_tasks = 0;
    r = berth_engine_suppose(engine, &delta, 1, &answer->err);
    if (r < 0)
        return r;
    r = berth_engine_cycle(engine, &all, &ask->decisions, &answer->err);
    berth_engine_forget(engine);
    if (r < 0)
        return r;
    keep_plan(ask);
    return 0;
}

void cycle_ask_answer(struct cycle_ask *ask, struct berth_engine *engine, const struct feed *feed,
                      const struct berth_cycle_in *in, struct verdicts *verdicts)
{
    struct cycle_answer *answer = &ask->answer;
    int r = 0;

    answer->revision = in->revision;
    ask->verdicts = verdicts_ref(verdicts);
    switch (ask->question.kind) {
    case CYCLE_EXPLAIN:
        r = explain(ask, engine, feed, in);
        break;
    case CYCLE_PLAN:
        r = plan(ask, engine, in);
        break;
    case CYCLE_QUEUE:
        r = berth_engine_queue(engine, in, ask->question.name, &answer->arena, &answer->queue,
                               &answer->err);
        break;
    case CYCLE_NODE:
        r = berth_engine_node(engine, ask->question.name, &answer->arena, &answer->node,
                              &answer->err);
        break;
    }
    answer->code = r;
}

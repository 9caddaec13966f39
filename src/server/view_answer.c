/* View, its answers: see view_answer.h. */
#include "server/view_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/str.h"

static const char plan_id[] = VIEW_PLAN_ID;

enum { HOLDERS_MAX = 20 };

void asked_init(struct asked *asked, const struct view_question *question)
{
    struct err err = { 0 };

    *asked = (struct asked){ .question = *question };
    asked->question.name = asked->name = text_copy(question->name);
    asked->question.group = asked->group = text_copy(question->group);
    asked->question.resource = asked->resource = text_copy(question->resource);
    asked->question.spec = NULL;
    if (question->spec) {
        char *text = job_spec_to_text(question->spec, NULL);

        if (job_spec_from_canonical(text, &asked->spec, &err) == 0)
            asked->question.spec = asked->spec;
        else
            asked->answer = (struct view_answer){ .code = -EINVAL, .err = err };
        mem_free(text);
    }
}

void asked_fini(struct asked *asked)
{
    arena_fini(&asked->answer.arena);
    berth_decisions_free(&asked->decisions);
    job_spec_freep(&asked->spec);
    mem_free(asked->name);
    mem_free(asked->group);
    mem_free(asked->resource);
}

/* The task that is asked about: the one that is named, or the first that waits. */
static int find_task(struct asked *asked, const struct feed *feed)
{
    const struct view_question *question = &asked->question;
    struct view_answer *answer = &asked->answer;
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
    return 0;
}

/* Explains answer->task, with so many changes that would start it. */
static int explain_task(struct asked *asked, struct berth_engine *engine,
                        const struct berth_cycle_in *in, uint32_t n_changes)
{
    const struct view_question *question = &asked->question;
    struct view_answer *answer = &asked->answer;
    struct berth_search search = { .most = n_changes, .max_priority = JOB_PRIORITY_MAX };
    int r = berth_engine_explain(engine, in, &answer->task, &answer->arena, &answer->explanation,
                                 &answer->err);

    if (r == 0 && question->name)
        r = berth_engine_checks(engine, in, &answer->task, question->name, &answer->arena,
                                &answer->checks, &answer->n_checks, &answer->err);
    /* Where room is being freed for it nothing need be changed. */
    if (r < 0 || !n_changes || answer->explanation.state == WAIT_NONE ||
        answer->explanation.state == WAIT_WAITING_FOR_EVICTION)
        return r;
    r = berth_engine_changes(engine, in, &answer->task, &search, &answer->arena, &answer->changes,
                             &answer->err);
    if (r == 0)
        r = berth_engine_start(engine, in, &answer->task, 0, &answer->arena, &answer->start,
                               &answer->err);
    return r;
}

static int explain(struct asked *asked, struct berth_engine *engine, const struct feed *feed,
                   const struct berth_cycle_in *in)
{
    int r = find_task(asked, feed);

    return r < 0 ? r : explain_task(asked, engine, in, asked->question.n_changes);
}

/* ---- what would become of a job ---- */

/* Whether a decision is about the supposed job. */
static bool is_of_plan(const char *job)
{
    return job && strcmp(job, plan_id) == 0;
}

static const char *namespace_of(struct view_answer *answer, const struct feed *feed,
                                const char *name)
{
    const struct berth_job *job = feed_job(feed, feed_job_number(name));

    return job && job->namespace_ ? arena_text(&answer->arena, job->namespace_) : NULL;
}

static void keep_victims(struct view_answer *answer, const struct feed *feed)
{
    struct view_victim *victims;
    size_t n = 0;

    for (size_t i = 0; i < answer->n_groups; i++)
        n += answer->groups[i].n_parts;
    victims = ARENA_NEW0_N(&answer->arena, struct view_victim, n + 1);
    for (size_t i = 0; i < answer->n_groups; i++) {
        for (size_t k = 0; k < answer->groups[i].n_parts; k++) {
            const struct berth_part *part = &answer->groups[i].parts[k];

            if (part->kind == BERTH_PART_EVICT)
                victims[answer->n_victims++] =
                    (struct view_victim){ part, namespace_of(answer, feed, part->task.job) };
        }
    }
    answer->victims = victims;
}

static bool is_same(const struct berth_task_ref *a, const struct berth_task_ref *b)
{
    return a->index == b->index && text_eq(a->job, b->job) && text_eq(a->group, b->group);
}

/* Whether the plan ends an attempt itself, or it is listed. */
static bool is_named(const struct view_answer *answer, const struct berth_stopping *list,
                     const struct berth_task_ref *attempt)
{
    for (size_t i = 0; i < answer->n_victims; i++)
        if (is_same(&answer->victims[i].part->task, attempt))
            return true;
    for (size_t i = 0; i < answer->n_stopping; i++)
        if (list[i].index == attempt->index && text_eq(list[i].job, attempt->job) &&
            text_eq(list[i].group, attempt->group))
            return true;
    return false;
}

/* Whose end it waits for who was told to stop before. */
static void keep_stopping(struct view_answer *answer, const struct feed *feed)
{
    struct berth_stopping *list = ARENA_NEW0_N(&answer->arena, struct berth_stopping, STOPPING_MAX);

    for (size_t i = 0; i < answer->n_groups; i++) {
        for (size_t k = 0; k < answer->groups[i].n_parts; k++) {
            const struct berth_part *part = &answer->groups[i].parts[k];

            for (size_t w = 0; w < part->n_waits && answer->n_stopping < STOPPING_MAX; w++) {
                const struct berth_task_ref *attempt = &part->waits[w];
                if (is_named(answer, list, attempt))
                    continue;
                list[answer->n_stopping++] =
                    (struct berth_stopping){ .job = attempt->job,
                                             .namespace_ = namespace_of(answer, feed, attempt->job),
                                             .group = attempt->group,
                                             .node = part->node,
                                             .index = attempt->index,
                                             .attempt = attempt->attempt };
            }
        }
    }
    answer->stopping = list;
}

static void keep_plan(struct asked *asked, const struct feed *feed)
{
    const struct berth_decisions *decisions = &asked->decisions;
    struct view_answer *answer = &asked->answer;
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
    for (size_t i = 0; i < answer->n_groups; i++)
        answer->starts = answer->starts || groups[i].kind == BERTH_GROUP_BIND ||
                         groups[i].kind == BERTH_GROUP_EVICT;
    answer->queue_name = arena_text(&answer->arena, asked->spec->queue);
    keep_victims(answer, feed);
    keep_stopping(answer, feed);
}

/* The first group of which something would wait though others of the plan start: room is made for
 * the rest, which waits for nothing else. NULL: there is no such group. */
static const struct berth_verdict *find_rest(const struct view_answer *answer)
{
    for (size_t i = 0; i < answer->n_verdicts; i++) {
        enum wait_code code = answer->verdicts[i].reason->code;

        if (!answer->starts ||
            (code != WAIT_WAITING_FOR_EVICTION && code != WAIT_WAITING_FOR_MACHINE))
            return &answer->verdicts[i];
    }
    return NULL;
}

/* Why what would wait does: the last task of the first group of which something would. */
static int explain_plan(struct asked *asked, struct berth_engine *engine,
                        const struct berth_cycle_in *in)
{
    struct view_answer *answer = &asked->answer;
    const struct job_spec *spec = asked->spec;
    const struct berth_verdict *rest = find_rest(answer);
    size_t g = 0;
    int r;

    if (!asked->question.explains || !rest)
        return 0;
    while (rest->group && g + 1 < spec->n_groups && strcmp(spec->groups[g].name, rest->group) != 0)
        g++;
    answer->task = (struct berth_task_ref){ .job = plan_id,
                                            .group = spec->groups[g].name,
                                            .index = spec->groups[g].replicas - 1 };
    /* What would start it is asked only where it does not. */
    r = explain_task(asked, engine, in, answer->starts ? 0 : asked->question.n_changes);
    if (r == 0 && !answer->starts && !answer->n_stopping) {
        answer->stopping = answer->explanation.stopping; /* promised it, and not held for it yet */
        answer->n_stopping = answer->explanation.n_stopping;
    }
    return r;
}

/* Supposes the job that is asked about, the last in line. */
static int suppose(struct asked *asked, struct berth_engine *engine, const struct feed *feed,
                   const struct berth_cycle_in *in)
{
    struct view_answer *answer = &asked->answer;
    struct berth_job job;
    struct berth_delta delta = { .kind = BERTH_JOB, .job = &job };

    if (!asked->spec)
        return err_set(&answer->err, -EINVAL, "a question about no job");
    answer->spec = asked->spec;
    feed_job_from_spec(feed, asked->spec, plan_id, &answer->arena, &job);
    job.seq = UINT64_MAX;
    job.version = 1;
    job.created_at_ms = in->now_ms;
    if (asked->spec->deadline_ms)
        job.deadline_at_ms = in->now_ms + asked->spec->deadline_ms;
    return berth_engine_suppose(engine, &delta, 1, &answer->err);
}

static int plan(struct asked *asked, struct berth_engine *engine, const struct feed *feed,
                const struct berth_cycle_in *in)
{
    int r = suppose(asked, engine, feed, in);

    if (r < 0)
        return r;
    r = berth_engine_cycle(engine, in, &asked->decisions, &asked->answer.err);
    if (r == 0) {
        keep_plan(asked, feed);
        r = explain_plan(asked, engine, in);
    }
    berth_engine_forget(engine);
    return r;
}

static int never(struct asked *asked, struct berth_engine *engine, const struct feed *feed,
                 const struct berth_cycle_in *in)
{
    struct view_answer *answer = &asked->answer;
    int r = suppose(asked, engine, feed, in);

    if (r < 0)
        return r;
    r = berth_engine_never(engine, in, plan_id, &answer->arena, &answer->verdicts,
                           &answer->n_verdicts, &answer->err);
    berth_engine_forget(engine);
    return r;
}

void asked_answer(struct asked *asked, struct berth_engine *engine, const struct feed *feed,
                  const struct berth_cycle_in *in)
{
    struct view_answer *answer = &asked->answer;
    int r = 0;

    answer->revision = in->revision;
    switch (asked->question.kind) {
    case VIEW_EXPLAIN:
        r = explain(asked, engine, feed, in);
        break;
    case VIEW_PLAN:
        r = plan(asked, engine, feed, in);
        break;
    case VIEW_NEVER:
        r = never(asked, engine, feed, in);
        break;
    case VIEW_QUEUE:
        r = berth_engine_queue(engine, in, asked->question.name, &answer->arena, &answer->queue,
                               &answer->err);
        if (r == 0 && asked->resource)
            r = berth_engine_queue_holders(engine, in, asked->question.name, asked->resource,
                                           HOLDERS_MAX, &answer->arena, &answer->holders,
                                           &answer->err);
        break;
    case VIEW_NODE:
        r = berth_engine_node(engine, asked->question.name, &answer->arena, &answer->node,
                              &answer->err);
        break;
    }
    answer->code = r;
}

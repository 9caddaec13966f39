/* Why a task waits, node by node: see berth/questions.h. */
#include "engine/explain.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/detail.h"
#include "engine/fit.h"

struct outcome outcome_of(const struct berth_decisions *decisions, const char *job)
{
    struct outcome outcome = { 0 };

    for (size_t i = 0; i < decisions->n_groups; i++) {
        const struct berth_group *group = &decisions->groups[i];
        if (!text_eq(group->job, job))
            continue;
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            if (part->kind == BERTH_PART_EVICT) {
                outcome.n_evicted++;
            } else if (text_eq(part->task.job, job)) {
                outcome.starts = true;
                outcome.is_promised = group->kind == BERTH_GROUP_RESERVE;
                outcome.part = part;
            }
        }
    }
    return outcome;
}

void explain_hold(struct session *s, const struct job *job)
{
    struct statement stmt;

    reservations_hold(s);
    stmt = statement_open(s);
    for (size_t i = 0; i < job->n_tasks; i++)
        if (task_room(s, &job->tasks[i]))
            statement_unpipeline(&stmt, &job->tasks[i]);
}

static void explain_node(struct session *s, const struct task *task, struct node *node,
                         struct arena *arena, struct berth_node_reason *out)
{
    const struct kind *kind = task->group->kind;
    enum room room;
    fail_t fail = fit_fail(s, kind, node, &room);

    out->node = arena_text(arena, node->id);
    detail_of(s->model, kind, node, fail, arena, out);
    if (fail == FAIL_NONE)
        fit_scores(s, task, &node, 1, &out->score);
}

static bool is_waiting(const struct job *job)
{
    return job->n[BERTH_TASK_PENDING] && !job->kept->stopping;
}

/* Where a job stands among those of its queue that wait and may be looked at. */
static void find_place(struct session *s, struct job *job, struct berth_explanation *out)
{
    struct why why;

    if (!is_waiting(job) || !job_is_open(s, job, &why))
        return;
    JOB_EACH (other, s->model) {
        if (other->queue != job->queue || !is_waiting(other) || !job_is_open(s, other, &why))
            continue;
        out->of++;
        out->place += job_cmp(s, other, job) <= 0;
    }
}

/* The verdict of a cycle on one task. */
static void take_verdict(const struct berth_decisions *decisions, const struct task *task,
                         struct berth_explanation *out)
{
    for (size_t i = 0; i < decisions->n_verdicts; i++) {
        const struct berth_verdict *v = &decisions->verdicts[i];
        if (strcmp(v->job, task->group->job->id) != 0 ||
            (v->group && strcmp(v->group, task->group->spec->name) != 0))
            continue;
        out->state = v->reason->code;
        out->reason = v->reason;
    }
}

static bool is_placed(const struct berth_decisions *decisions, const struct task *task)
{
    for (size_t i = 0; i < decisions->n_groups; i++) {
        const struct berth_group *group = &decisions->groups[i];
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            if (part->kind == BERTH_PART_BIND && part->task.index == task->index &&
                strcmp(part->task.job, task->group->job->id) == 0 &&
                strcmp(part->task.group, task->group->spec->name) == 0)
                return true;
        }
    }
    return false;
}

/* The verdicts on all groups of the job, as copies. */
static void keep_verdicts(const struct berth_decisions *decisions, const char *job,
                          struct arena *arena, struct berth_explanation *out)
{
    struct berth_verdict *list;
    size_t n = 0;

    for (size_t i = 0; i < decisions->n_verdicts; i++)
        n += text_eq(decisions->verdicts[i].job, job);
    list = ARENA_NEW0_N(arena, struct berth_verdict, n + 1);
    for (size_t i = 0; i < decisions->n_verdicts; i++) {
        const struct berth_verdict *from = &decisions->verdicts[i];
        if (!text_eq(from->job, job))
            continue;
        list[out->n_verdicts++] = (struct berth_verdict){
            .job = arena_text(arena, from->job),
            .group = from->group ? arena_text(arena, from->group) : NULL,
            .n_tasks = from->n_tasks,
            .reason = reason_copy(from->reason, arena),
        };
    }
    out->verdicts = list;
}

int berth_engine_explain(struct berth_engine *engine, const struct berth_cycle_in *in,
                         const struct berth_task_ref *ref, struct arena *arena,
                         struct berth_explanation *out, struct err *err)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct model *model = engine_model(engine);
    struct task *task = task_named(model, ref, err);
    struct berth_node_reason *nodes;
    struct session *s;
    int r;

    if (!task)
        return -ENOENT;
    r = berth_engine_cycle(engine, in, &decisions, err);
    if (r < 0)
        return r;
    *out = (struct berth_explanation){ 0 };
    if (!is_placed(&decisions, task))
        take_verdict(&decisions, task, out);
    if (out->reason)
        out->reason = reason_copy(out->reason, arena);
    keep_verdicts(&decisions, ref->job, arena, out);
    nodes = ARENA_NEW0_N(arena, struct berth_node_reason, model->nodes.n + 1);
    s = session_open(model, engine_setup(engine), in, &own);
    find_place(s, task->group->job, out);
    explain_hold(s, task->group->job);
    for (size_t i = 0; i < model->nodes.n; i++)
        explain_node(s, task, model->nodes.at[i], arena, &nodes[i]);
    session_close(s);
    out->nodes = nodes;
    out->n_nodes = model->nodes.n;
    return 0;
}

int berth_engine_never(struct berth_engine *engine, const struct berth_cycle_in *in, const char *id,
                       struct arena *arena, const struct berth_verdict **out, size_t *n,
                       struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct job *job = job_find(engine_model(engine), id);
    struct berth_verdict *list;
    struct session *s;

    if (!job || !job->kept)
        return err_set(err, -ENOENT, "job %s: not known", id ? id : "");
    *n = 0;
    list = ARENA_NEW0_N(arena, struct berth_verdict, job->n_groups + 1);
    s = session_open(engine_model(engine), engine_setup(engine), in, &own);
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        const struct berth_reason *reason = kind_never(s, job, group->kind);
        if (reason)
            list[(*n)++] = (struct berth_verdict){ .job = arena_text(arena, job->id),
                                                   .group = arena_text(arena, group->spec->name),
                                                   .n_tasks = group->spec->replicas,
                                                   .reason = reason_copy(reason, arena) };
    }
    session_close(s);
    *out = list;
    return 0;
}

/*
 * When a job starts at the latest: see berth/questions.h.
 *
 * Time is walked from limit to limit. At each the tasks that reached theirs are supposed to have
 * ended, a cycle decides, and what it binds is supposed to run. All of it is taken back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/explain.h"

enum { MAX_CYCLES = 64 };

struct rehearsal {
    struct berth_engine *engine;
    struct model *model;
    struct berth_cycle_in in;
    const char *job_id;
    size_t n_supposed;
    size_t n_left;        /* cycles */
    bool waits_for_stops; /* of tasks that are being stopped: nobody knows how long that takes */
    struct arena *own;
};

static int suppose(struct rehearsal *r, const struct berth_delta *deltas, size_t n, struct err *err)
{
    int code = berth_engine_suppose(r->engine, deltas, n, err);

    r->n_supposed += code == 0;
    return code;
}

/* ---- what ends ---- */

struct end {
    int64_t at_ms;
    const struct task *task;
};

static int by_time(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int order;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    order = job_rank_cmp(x->task->group->job, y->task->group->job);
    if (order)
        return order;
    return x->task < y->task ? -1 : x->task > y->task;
}

struct ends {
    VEC_OF(struct end) list;
};

/* What holds room and ends by itself; what is being stopped is gone with the first of them. */
static struct ends list_ends(const struct rehearsal *r)
{
    struct ends ends = { 0 };

    JOB_EACH (job, r->model) {
        for (size_t i = 0; i < job->n_tasks; i++) {
            const struct task *task = &job->tasks[i];
            if (!state_holds(task->state))
                continue;
            if (task->state == BERTH_TASK_RELEASING)
                VEC_PUSH(&ends.list, ((struct end){ r->in.now_ms, task }));
            else if (task->limit_at_ms)
                VEC_PUSH(&ends.list, ((struct end){ task->limit_at_ms, task }));
        }
    }
    if (ends.list.n)
        qsort(ends.list.at, ends.list.n, sizeof(*ends.list.at), by_time);
    return ends;
}

/* How many of the ends come next: all of one instant, and more where many lie ahead. */
static size_t n_next(const struct rehearsal *r, const struct ends *ends)
{
    size_t least = ends->list.n / (r->n_left ? r->n_left : 1), n = 0;

    while (n < ends->list.n &&
           (n < least || !n || ends->list.at[n].at_ms <= ends->list.at[n - 1].at_ms ||
            ends->list.at[n].at_ms <= r->in.now_ms))
        n++;
    return n;
}

static void note_last(const struct end *end, struct arena *arena, struct berth_start *out)
{
    const struct task *task = end->task;
    const struct job *job = task->group->job;

    if (task->state == BERTH_TASK_RELEASING)
        return;
    out->job = arena_text(arena, job->id);
    out->namespace_ = job->kept->namespace_ ? arena_text(arena, job->kept->namespace_) : NULL;
    out->node = task->node ? arena_text(arena, task->node->id) : NULL;
}

/* Goes on to the next limits. Returns false if there are none. */
static bool pass_time(struct rehearsal *r, struct arena *arena, struct berth_start *out,
                      struct err *err)
{
    struct ends ends = list_ends(r);
    size_t n = n_next(r, &ends);
    struct berth_delta *deltas = ARENA_NEW0_N(r->own, struct berth_delta, n + 1);

    for (size_t i = 0; i < n; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) n is at most the list's */
        const struct task *task = ends.list.at[i].task;
        struct berth_task *ended = ARENA_NEW0(r->own, struct berth_task);
        r->waits_for_stops = r->waits_for_stops || task->state == BERTH_TASK_RELEASING;
        *ended = (struct berth_task){ .job = task->group->job->id,
                                      .group = task->group->spec->name,
                                      .index = task->index,
                                      .state = BERTH_TASK_SUCCEEDED,
                                      .attempt = task->attempt };
        if (task_comes_back(task))
            ended->state = BERTH_TASK_PENDING; /* and it may stand in front */
        deltas[i] = (struct berth_delta){ .kind = BERTH_TASK, .task = ended };
    }
    if (n) {
        note_last(&ends.list.at[n - 1], arena, out);
        if (ends.list.at[n - 1].at_ms > r->in.now_ms)
            r->in.now_ms = ends.list.at[n - 1].at_ms;
    }
    VEC_FINI(&ends.list);
    return n && suppose(r, deltas, n, err) == 0;
}

/* ---- what is bound ---- */

static void run_part(struct rehearsal *r, const struct berth_part *part, struct berth_task *out)
{
    const struct job *job = job_find(r->model, part->task.job);
    int64_t limit_ms = job && job->kept ? job->kept->limit_ms : 0;

    *out = (struct berth_task){ .job = part->task.job,
                                .group = part->task.group,
                                .index = part->task.index,
                                .state = BERTH_TASK_RUNNING,
                                .attempt = part->task.attempt,
                                .node = part->node,
                                .holds = part->holds,
                                .shares = part->shares,
                                .n_shares = part->n_shares,
                                .cores = part->cores,
                                .started_at_ms = r->in.now_ms,
                                .limit_at_ms = limit_ms ? r->in.now_ms + limit_ms : 0 };
}

/* What was bound runs; what was evicted is gone, and so is what was held and taken. */
static int accept(struct rehearsal *r, const struct berth_decisions *decisions, struct err *err)
{
    VEC_OF(struct berth_delta) deltas = { 0 };
    int code;

    for (size_t i = 0; i < decisions->n_groups; i++) {
        const struct berth_group *group = &decisions->groups[i];
        for (size_t k = 0; k < group->n_takes; k++) {
            struct berth_reservation *taken = ARENA_NEW0(r->own, struct berth_reservation);
            taken->id = group->takes[k].reservation;
            VEC_PUSH(&deltas, ((struct berth_delta){
                                  .kind = BERTH_RESERVATION, .end = true, .any = taken }));
        }
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            struct berth_task *task;
            if (part->kind == BERTH_PART_RESERVE || group->kind == BERTH_GROUP_FAIL)
                continue;
            task = ARENA_NEW0(r->own, struct berth_task);
            if (part->kind == BERTH_PART_BIND)
                run_part(r, part, task);
            else
                *task = (struct berth_task){ .job = part->task.job,
                                             .group = part->task.group,
                                             .index = part->task.index,
                                             .state = BERTH_TASK_PENDING };
            VEC_PUSH(&deltas, ((struct berth_delta){ .kind = BERTH_TASK, .task = task }));
        }
    }
    code = suppose(r, deltas.at, deltas.n, err);
    VEC_FINI(&deltas);
    return code;
}

/* One cycle; 1 if it starts the job. */
static int decide(struct rehearsal *r, struct err *err)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    int code = berth_engine_cycle(r->engine, &r->in, &decisions, err);
    struct outcome outcome;

    if (code < 0)
        return code;
    r->n_left--;
    outcome = outcome_of(&decisions, r->job_id);
    r->waits_for_stops = r->waits_for_stops || outcome.is_promised;
    if (outcome.starts)
        return 1;
    return accept(r, &decisions, err);
}

int berth_engine_start(struct berth_engine *engine, const struct berth_cycle_in *in,
                       const struct berth_task_ref *ref, size_t max_cycles, struct arena *arena,
                       struct berth_start *out, struct err *err)
{
    CLEANUP(arena_fini) struct arena own = { 0 };
    struct rehearsal r = { .engine = engine,
                           .model = engine_model(engine),
                           .in = *in,
                           .job_id = ref->job,
                           .n_left = max_cycles ? max_cycles : MAX_CYCLES,
                           .own = &own };
    struct err why = { 0 };
    int code;

    if (!task_named(r.model, ref, err))
        return -ENOENT;
    r.in.skip_digest = true;
    *out = (struct berth_start){ 0 };
    code = decide(&r, &why);
    while (code == 0 && r.n_left && pass_time(&r, arena, out, &why))
        code = decide(&r, &why);
    if (code == 1 && r.waits_for_stops && r.in.now_ms == in->now_ms)
        *out = (struct berth_start){ 0 };
    else if (code == 1)
        out->latest_ms = r.in.now_ms;
    else
        *out = (struct berth_start){ .is_limited = code == 0 && !r.n_left };
    while (r.n_supposed--)
        berth_engine_forget(engine);
    if (!why.code)
        return 0;
    *err = why;
    return err->code;
}

/*
 * Reservations: room that was freed, or is being freed, for an owner. At the start of a cycle it is
 * held for the owner's tasks, so that nobody else gets it; what is free already is bound, a gang
 * when its minimum is. One that nothing hangs on any more is released.
 */
#include <string.h>

#include "engine/actions.h"
#include "engine/beam.h"
#include "engine/fit.h"

/* Its end and its age; notes when time alone ends it. */
static bool still_holds(struct session *s, const struct berth_reservation *r)
{
    int64_t ttl = s->policy->reservation_ttl_ms, until = r->until_ms ? r->until_ms : BERTH_NEVER;

    if (r->made_at_ms && ttl < BERTH_NEVER - r->made_at_ms && r->made_at_ms + ttl < until)
        until = r->made_at_ms + ttl;
    if (until < BERTH_NEVER)
        session_wake_at(s, until + 1);
    return s->in.now_ms <= until;
}

static bool is_idle(const struct session *s, const struct task *task, const struct node *node)
{
    const struct asks *asks = &task->group->kind->asks;

    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].value > column_idle(&s->model->columns[asks->at[i].dim], node->at))
            return false;
    return true;
}

/* The action `provision` finds it there, and promises nothing twice. */
static void note_held(struct session *s, struct task *task, const struct berth_reservation *r)
{
    struct held *held = ARENA_NEW0(&s->arena, struct held);

    *held = (struct held){ task, r };
    map_put_int(&beam_of(s)->held, (uintptr_t)task, held);
}

/* Promises its room to each task that still waits for it; how many do. */
static size_t hold_parts(struct session *s, const struct berth_reservation *r, struct task **held)
{
    struct statement stmt = statement_open(s);
    size_t n = 0;

    for (size_t i = 0; i < r->n_parts; i++) {
        struct task *task = task_find(s->model, &r->parts[i].task);
        struct node *node = node_find(s->model, r->parts[i].node);
        if (!task || task->state != BERTH_TASK_PENDING || !node || node->at == NOWHERE ||
            fit_predicate(s, task->group->kind, node))
            continue;
        statement_pipeline(&stmt, task, node, r->purpose == BERTH_FOR_EVICTION, 0);
        note_held(s, task, r);
        held[n++] = task;
    }
    return n;
}

/* Binds those whose room is free, if with them the job has its minimum. */
static void bind_parts(struct session *s, const struct berth_reservation *r, struct job *job,
                       struct task **held, size_t n)
{
    struct statement stmt = statement_open(s);

    for (size_t i = 0; i < n; i++) {
        struct node *node = held[i]->node;
        bool evicted = held[i]->evicted;
        statement_unpipeline(&stmt, held[i]);
        if (task_is_due(s, held[i]) && is_idle(s, held[i], node)) {
            s->reservation = r->id;
            statement_allocate(&stmt, held[i], node, 0);
            s->reservation = NULL;
        } else {
            statement_pipeline(&stmt, held[i], node, evicted, 0);
        }
    }
    if (job_is_ready(s, job))
        statement_commit(&stmt, job);
    else
        statement_discard(&stmt);
}

static void hold(struct session *s, const struct berth_reservation *r)
{
    struct job *job = job_find(s->model, r->owner);
    struct task **held = ARENA_NEW0_N(&s->arena, struct task *, r->n_parts + 1);
    struct why why;
    size_t n;

    if (!still_holds(s, r)) {
        answer_release(s, r->id, WAIT_CAPACITY_CHANGED, "TIMED_OUT");
        return;
    }
    if (!job || !job->kept || !job_is_open(s, job, &why)) {
        answer_release(s, r->id, WAIT_CAPACITY_CHANGED, "OWNER_GONE");
        return;
    }
    n = hold_parts(s, r, held);
    if (!n)
        answer_release(s, r->id, WAIT_CAPACITY_CHANGED,
                       job_n_ready(job) >= job->min_available ? "MOVED" : "NODE_CHANGED");
    else
        bind_parts(s, r, job, held, n);
}

static int by_rank(const void *a, const void *b)
{
    const struct berth_reservation *x = *(const struct berth_reservation *const *)a;
    const struct berth_reservation *y = *(const struct berth_reservation *const *)b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->id, y->id);
}

void reservations_hold(struct session *s)
{
    struct shelf *shelf = &s->model->shelves[BERTH_RESERVATION];
    const struct berth_reservation **list;

    if (!shelf->items.n || s->setup->is_reference || s->setup->is_beam ||
        s->policy->reservations != RESERVATIONS_DURABLE)
        return;
    beam_of(s)->is_held = true;
    list = ARENA_NEW0_N(&s->arena, const struct berth_reservation *, shelf->items.n + 1);
    for (size_t i = 0; i < shelf->items.n; i++)
        list[i] = shelf->items.at[i]->kept;
    qsort(list, shelf->items.n, sizeof(*list), by_rank);
    for (size_t i = 0; i < shelf->items.n; i++)
        hold(s, list[i]);
}

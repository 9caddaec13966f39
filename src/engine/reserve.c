/*
 * Reservations: room that was freed, or is being freed, for an owner. At the start of a cycle it is
 * held for the owner's tasks, so that nobody else gets it; what is free already is bound, a gang
 * when its minimum is. One that nothing hangs on any more is released.
 */
#include <string.h>

#include "engine/actions.h"
#include "engine/fit.h"
#include "engine/room.h"

static bool is_idle(const struct session *s, const struct task *task, const struct node *node)
{
    bool idle;

    return room_fail(s->model, task->group->kind, node, &idle) == FAIL_NONE && idle;
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
            !fit_suits(s, task->group->kind, node))
            continue;
        statement_pipeline(&stmt, task, node, r->purpose == BERTH_FOR_EVICTION, 0);
        held[n++] = task;
    }
    return n;
}

/* Binds those whose room is free, if with them the job has its minimum. */
static void bind_parts(struct session *s, const struct berth_reservation *r, struct job *job,
                       struct task **held, size_t n)
{
    struct statement stmt = statement_open(s);
    struct why why;

    for (size_t i = 0; i < n; i++) {
        struct node *node = held[i]->node;
        bool evicted = held[i]->evicted;
        statement_unpipeline(&stmt, held[i]);
        if (node_takes_work(node->kept->state) && task_is_due(s, held[i]) &&
            is_idle(s, held[i], node) && task_may_start(s, held[i], &why)) {
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

/* From here on others may take it: see actions/take.c. */
static void note_room(struct session *s, const struct berth_reservation *r, struct job *job,
                      struct task **held, size_t n)
{
    struct held_room *room = ARENA_NEW0(&s->arena, struct held_room);
    struct seat *seat = seat_of(s, job);

    *room = (struct held_room){ r, job, held, n, seat->rooms };
    seat->rooms = room;
    VEC_PUSH(&s->rooms, room);
}

static void hold(struct session *s, const struct berth_reservation *r)
{
    struct job *job = job_find(s->model, r->owner);
    struct task **held = ARENA_NEW0_N(&s->arena, struct task *, r->n_parts + 1);
    struct why why;
    size_t n;

    if (!reservation_holds(s, r)) {
        answer_release(s, r->id, "TIMED_OUT");
        return;
    }
    if (!job || !job->kept || !job_is_open(s, job, &why)) {
        answer_release(s, r->id, "OWNER_GONE");
        return;
    }
    n = hold_parts(s, r, held);
    if (!n) {
        answer_release(s, r->id, job_n_ready(job) >= job->min_available ? "MOVED" : "NODE_CHANGED");
        return;
    }
    note_room(s, r, job, held, n);
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
    list = ARENA_NEW0_N(&s->arena, const struct berth_reservation *, shelf->items.n + 1);
    for (size_t i = 0; i < shelf->items.n; i++)
        list[i] = shelf->items.at[i]->kept;
    qsort(list, shelf->items.n, sizeof(*list), by_rank);
    for (size_t i = 0; i < shelf->items.n; i++)
        hold(s, list[i]);
}

/*
 * Reservations: room that was freed, or is being freed, for an owner. At the start of a cycle it is
 * held for the owner's tasks, so that nobody else gets it; what is free already is bound, a gang
 * when its minimum is. One that nothing hangs on any more is released.
 *
 * Who has not begun may begin sooner with what is free elsewhere, or beside what is held. So in its
 * turn a job lets all go and looks for free room as if it had none; if it finds too little, all is held
 * on. Who rides, on a machine on its way, looks for whom to evict too.
 */
#include <string.h>

#include "engine/actions.h"
#include "engine/fit.h"
#include "engine/room.h"
#include "engine/victims.h"

static bool is_idle(const struct session *s, const struct task *task, const struct node *node)
{
    bool idle;

    return room_fail(s->model, task->group->kind, node, &idle) == FAIL_NONE && idle;
}

/* Promises its room to each task that still waits for it. */
static void hold_parts(struct session *s, struct held_room *room)
{
    const struct berth_reservation *r = room->by;
    struct statement stmt = statement_open(s);

    for (size_t i = 0; i < r->n_parts; i++) {
        struct task *task = task_find(s->model, &r->parts[i].task);
        struct node *node = node_find(s->model, r->parts[i].node);
        if (!task || task->state != BERTH_TASK_PENDING || !node || node->at == NOWHERE ||
            !fit_suits(s, task->group->kind, node))
            continue;
        statement_pipeline(&stmt, task, node, r->purpose == BERTH_FOR_EVICTION, 0);
        session_note_company(s, task);
        room->at[room->n] = task;
        room->on[room->n++] = node;
    }
}

/* Binds those whose room is free, if with them the job has its minimum. */
static void bind_parts(struct session *s, const struct held_room *room)
{
    struct statement stmt = statement_open(s);
    struct why why;

    for (size_t i = 0; i < room->n; i++) {
        struct task *task = room->at[i];
        bool evicted = task->evicted;
        statement_unpipeline(&stmt, task);
        if (node_takes_work(room->on[i]->kept->state) && task_is_due(s, task) &&
            is_idle(s, task, room->on[i]) && task_may_start(s, task, &why)) {
            s->reservation = room->by->id;
            statement_allocate(&stmt, task, room->on[i], 0);
            s->reservation = NULL;
        } else {
            statement_pipeline(&stmt, task, room->on[i], evicted, 0);
        }
    }
    if (job_is_ready(s, room->job))
        statement_commit(&stmt, room->job);
    else
        statement_discard(&stmt);
}

/* From here on others may take it: see actions/take.c. */
static void note_room(struct session *s, struct held_room *room)
{
    struct seat *seat = seat_of(s, room->job);

    room->next = seat->rooms;
    seat->rooms = room;
    for (size_t i = 0; i < room->n; i++)
        seat->rides = seat->rides || room->on[i]->kept->state == NODE_COMING;
    VEC_PUSH(&s->rooms, room);
}

static void hold(struct session *s, const struct berth_reservation *r)
{
    struct job *job = job_find(s->model, r->owner);
    struct held_room *room;
    struct why why;

    if (!reservation_holds(s, r)) {
        answer_release(s, r->id, "TIMED_OUT");
        return;
    }
    if (!job || !job->kept || !job_is_open(s, job, &why)) {
        answer_release(s, r->id, "OWNER_GONE");
        return;
    }
    room = ARENA_NEW0(&s->arena, struct held_room);
    *room = (struct held_room){ .by = r,
                                .job = job,
                                .at = ARENA_NEW0_N(&s->arena, struct task *, r->n_parts + 1),
                                .on = ARENA_NEW0_N(&s->arena, struct node *, r->n_parts + 1) };
    hold_parts(s, room);
    if (!room->n) {
        answer_release(s, r->id, job_n_ready(job) >= job->min_available ? "MOVED" : "NODE_CHANGED");
        return;
    }
    note_room(s, room);
    bind_parts(s, room);
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

/* --- Letting go */

bool job_is_seeking(struct session *s, struct job *job)
{
    return job->n[BERTH_TASK_PENDING] || (job->n[BERTH_TASK_PIPELINED] && seat_of(s, job)->rooms);
}

static bool let_go(struct statement *loose, struct seat *seat)
{
    if (seat->is_loose)
        return false;
    seat->is_loose = true;
    for (const struct held_room *room = seat->rooms; room; room = room->next)
        for (size_t i = 0; i < room->n; i++)
            if (room->at[i]->state == BERTH_TASK_PIPELINED && room->at[i]->node == room->on[i])
                statement_unpipeline(loose, room->at[i]);
    return true;
}

bool rooms_let_go(struct statement *loose, struct job *job)
{
    struct seat *seat = seat_of(loose->s, job);

    return seat->rooms && (seat->rides || job_n_ready(job) < job->min_available) &&
           let_go(loose, seat);
}

bool rides_let_go(struct statement *loose, struct job *job)
{
    struct seat *seat = seat_of(loose->s, job);

    return seat->rides && let_go(loose, seat);
}

/* Whether what was let go and has found nothing still has the room that was held for it; it is held on, all
 * of it or nothing. */
static bool hold_on(struct session *s, struct job *job)
{
    struct statement stmt = statement_open(s);

    for (const struct held_room *room = seat_of(s, job)->rooms; room; room = room->next)
        for (size_t i = 0; i < room->n; i++) {
            if (room->at[i]->state != BERTH_TASK_PENDING)
                continue;
            if (!fits_future(s, room->at[i], room->on[i], NULL)) {
                statement_discard(&stmt);
                return false;
            }
            statement_pipeline(&stmt, room->at[i], room->on[i],
                               room->by->purpose == BERTH_FOR_EVICTION, 0);
        }
    return true;
}

bool rooms_hold_on(struct statement *loose, struct job *job)
{
    struct session *s = loose->s;
    struct seat *seat = seat_of(s, job);

    seat->is_loose = false;
    if (s->log.n > loose->mark && s->log.at[s->log.n - 1].is_sealed) {
        if (!hold_on(s, job)) {
            answer_let_go(s, job);
            seat->rooms = NULL;
            seat->rides = false;
        }
        return false;
    }
    statement_discard(loose);
    if (!job_is_short(job) && !job_n_ready(job))
        seat->why.code = WAIT_NONE; /* what it was refused meanwhile is not what it waits for */
    return job_is_short(job) && !seat->rides;
}

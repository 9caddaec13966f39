/* Statements: see session.h. Every change of the model in a cycle is made here. */
#include <assert.h>
#include <string.h>

#include "engine/devices.h"
#include "engine/hunt.h"
#include "engine/session.h"

static void tell(struct session *s, enum hooked_what what, const struct task *task)
{
    const struct hooked *hooked = &s->setup->hooked[what];

    for (size_t i = 0; i < hooked->n; i++) {
        struct plugin_use *use = hooked->at[i];
        if (what == HOOKED_ON_ALLOCATE)
            use->plugin->on_allocate(s, use, task);
        else
            use->plugin->on_deallocate(s, use, task);
    }
    if (s->is_refusing)
        s->log.at[s->log.n - 1].is_refused = true;
    s->is_refusing = false;
}

struct statement statement_open(struct session *s)
{
    return (struct statement){ s, s->log.n };
}

/* Before and after a change: how many tasks a job can spare goes through both. */
static void note_moved(struct session *s, const struct task *task)
{
    if (s->hunts)
        hunts_note(s, task->group->job);
}

static void change(struct session *s, const struct op *op, enum berth_task_state state,
                   struct node *to)
{
    VEC_PUSH(&s->log, *op);
    note_moved(s, op->task);
    if (op->kind == OP_ALLOCATE || op->kind == OP_PIPELINE)
        op->task->hold = op->hold;
    task_place(s->model, op->task, state, to);
    if (op->kind == OP_UNPIPELINE || op->kind == OP_TAKE)
        op->task->hold = NULL;
    note_moved(s, op->task);
}

void statement_allocate(struct statement *stmt, struct task *task, struct node *node, double score)
{
    struct op op = { .kind = OP_ALLOCATE,
                     .task = task,
                     .node = node,
                     .from = task->state,
                     .from_evicted = task->evicted,
                     .score = score,
                     .reservation = stmt->s->reservation,
                     .hold =
                         devices_choose(stmt->s, task->group->kind, node, true, &stmt->s->arena) };

    assert(task->state == BERTH_TASK_PENDING);
    change(stmt->s, &op, BERTH_TASK_ALLOCATED, node);
    tell(stmt->s, HOOKED_ON_ALLOCATE, task);
}

void statement_pipeline(struct statement *stmt, struct task *task, struct node *node, bool evicted,
                        double score)
{
    struct op op = { .kind = OP_PIPELINE,
                     .task = task,
                     .node = node,
                     .from = task->state,
                     .from_evicted = task->evicted,
                     .evicted = evicted,
                     .score = score,
                     .hold =
                         devices_choose(stmt->s, task->group->kind, node, false, &stmt->s->arena) };

    assert(task->state == BERTH_TASK_PENDING);
    change(stmt->s, &op, BERTH_TASK_PIPELINED, node);
    task->evicted = evicted;
    tell(stmt->s, HOOKED_ON_ALLOCATE, task);
}

void statement_evict(struct statement *stmt, struct task *task, const char *reason)
{
    struct op op = { .kind = OP_EVICT,
                     .task = task,
                     .node = task->node,
                     .from = task->state,
                     .from_evicted = task->evicted,
                     .reason = reason,
                     .hold = task->hold };

    change(stmt->s, &op, BERTH_TASK_RELEASING, task->node);
    task->evicted = true;
    tell(stmt->s, HOOKED_ON_DEALLOCATE, task);
}

/* A promise that is taken back, by itself or for others' sake. */
static void unpromise(struct session *s, struct op op)
{
    struct task *task = op.task;

    assert(task->state == BERTH_TASK_PIPELINED);
    op.node = task->node;
    op.from = task->state;
    op.from_evicted = task->evicted;
    op.hold = task->hold;
    tell(s, HOOKED_ON_DEALLOCATE, task);
    change(s, &op, BERTH_TASK_PENDING, NULL);
    task->evicted = false;
}

void statement_unpipeline(struct statement *stmt, struct task *task)
{
    unpromise(stmt->s, (struct op){ .kind = OP_UNPIPELINE, .task = task });
}

void statement_take(struct statement *stmt, struct task *task, const struct held_room *room,
                    const char *reason)
{
    unpromise(stmt->s,
              (struct op){ .kind = OP_TAKE, .task = task, .room = room, .reason = reason });
}

void statement_fail(struct statement *stmt, struct task *task)
{
    struct op op = {
        .kind = OP_FAIL, .task = task, .from = task->state, .from_evicted = task->evicted
    };

    assert(task->state == BERTH_TASK_PENDING);
    change(stmt->s, &op, BERTH_TASK_FAILED, NULL);
}

bool op_is_loss(const struct op *op)
{
    return op->kind == OP_EVICT || op->kind == OP_TAKE;
}

bool statement_has_losers(const struct statement *stmt)
{
    for (size_t i = stmt->mark; i < stmt->s->log.n; i++)
        if (op_is_loss(&stmt->s->log.at[i]))
            return true;
    return false;
}

bool statement_is_refused(struct statement *stmt, struct job *job)
{
    struct session *s = stmt->s;
    size_t i = stmt->mark;

    while (i < s->log.n && !s->log.at[i].is_refused)
        i++;
    if (i == s->log.n)
        return false;
    statement_discard(stmt);
    if (job) {
        seat_of(s, job)->is_refused = true;
        seat_of(s, job)->why = (struct why){ .code = WAIT_PLUGIN, .dim = NOWHERE };
    }
    return true;
}

/* What was held for a job that others lose something for is nobody's to take any more. */
static void keep_rooms(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);

    seat->keeps_rooms = true;
    for (const struct held_room *room = seat->rooms; room; room = room->next)
        for (size_t i = 0; i < room->n; i++)
            node_touch(s->model, room->on[i]);
}

bool statement_commit(struct statement *stmt, struct job *job)
{
    struct session *s = stmt->s;
    size_t n = s->log.n - stmt->mark;

    if (statement_is_refused(stmt, job))
        return false;
    if (!n)
        return true;
    if (job && statement_has_losers(stmt))
        keep_rooms(s, job);
    answer_ops(s, &s->log.at[stmt->mark], n, job);
    for (size_t i = stmt->mark; i < s->log.n; i++) {
        s->log.at[i].is_sealed = true;
        session_note_company(s, s->log.at[i].task);
    }
    stmt->mark = s->log.n;
    return true;
}

void op_undo(struct model *model, const struct op *op)
{
    struct task *task = op->task;
    bool had = op->kind == OP_EVICT || op->kind == OP_UNPIPELINE || op->kind == OP_TAKE;

    if (had && op->kind != OP_EVICT)
        task->hold = op->hold;
    task_place(model, task, op->from, had ? op->node : NULL);
    if (op->kind == OP_ALLOCATE || op->kind == OP_PIPELINE)
        task->hold = NULL;
    task->evicted = op->from_evicted;
}

void statement_take_out(struct session *s, const struct op *op)
{
    struct task *task = op->task;

    note_moved(s, task);
    switch (op->kind) {
    case OP_ALLOCATE:
    case OP_PIPELINE:
        tell(s, HOOKED_ON_DEALLOCATE, task); /* while it still has its place */
        op_undo(s->model, op);
        break;
    case OP_EVICT:
    case OP_UNPIPELINE:
    case OP_TAKE:
        op_undo(s->model, op);
        tell(s, HOOKED_ON_ALLOCATE, task);
        break;
    case OP_FAIL:
        op_undo(s->model, op);
        break;
    }
}

void statement_discard(struct statement *stmt)
{
    struct session *s = stmt->s;

    while (s->log.n > stmt->mark) {
        assert(!s->log.at[s->log.n - 1].is_sealed);
        statement_take_out(s, &s->log.at[s->log.n - 1]);
        s->log.n--;
    }
}

struct saved statement_save(const struct statement *stmt)
{
    struct session *s = stmt->s;
    size_t n = s->log.n - stmt->mark;

    return (struct saved){ n ? arena_copy(s->lists, &s->log.at[stmt->mark], n * sizeof(struct op))
                             : NULL,
                           n };
}

/* Whether the node still has room for what is promised or given now. */
static bool still_fits(const struct session *s, const struct op *op)
{
    bool idle;

    return op->node->at != NOWHERE &&
           room_fail(s->model, op->task->group->kind, op->node, &idle) == FAIL_NONE &&
           (idle || op->kind != OP_ALLOCATE);
}

/* Whether an operation can be done once more. */
static bool still_holds(const struct session *s, const struct op *op)
{
    switch (op->kind) {
    case OP_ALLOCATE:
    case OP_PIPELINE:
        return op->task->state == BERTH_TASK_PENDING && still_fits(s, op);
    case OP_EVICT:
        return state_is_allocated(op->task->state);
    case OP_UNPIPELINE:
    case OP_TAKE:
        return op->task->state == BERTH_TASK_PIPELINED;
    case OP_FAIL:
        return op->task->state == BERTH_TASK_PENDING;
    }
    return false;
}

static void do_again(struct statement *stmt, const struct op *op)
{
    switch (op->kind) {
    case OP_ALLOCATE:
        statement_allocate(stmt, op->task, op->node, op->score);
        break;
    case OP_PIPELINE:
        statement_pipeline(stmt, op->task, op->node, op->evicted, op->score);
        break;
    case OP_EVICT:
        statement_evict(stmt, op->task, op->reason);
        break;
    case OP_UNPIPELINE:
        statement_unpipeline(stmt, op->task);
        break;
    case OP_TAKE:
        statement_take(stmt, op->task, op->room, op->reason);
        break;
    case OP_FAIL:
        statement_fail(stmt, op->task);
        break;
    }
}

bool statement_recover(struct statement *stmt, const struct saved *saved)
{
    struct statement own = statement_open(stmt->s);

    for (size_t i = 0; i < saved->n; i++) {
        if (!still_holds(stmt->s, &saved->at[i])) {
            statement_discard(&own);
            return false;
        }
        do_again(stmt, &saved->at[i]);
    }
    return true;
}

/*
 * Backfill: tasks that ask for nothing, wherever the predicates let them. They take a slot and no
 * more, so shares are not asked; caps and quotas are, which may count slots.
 */
#include "engine/actions.h"
#include "engine/lines.h"
#include "engine/protect.h"

static void place(struct session *s, struct statement *stmt, struct task *task)
{
    struct job *job = task->group->job;
    struct choice choice;

    seat_of(s, job)->was_tried = true;
    if (!task_may_start(s, task, &seat_of(s, job)->why))
        return;
    if (!protect_best(s, task, &choice)) {
        seat_of(s, job)->stuck = task->group->kind;
        return;
    }
    place_task(stmt, task, &choice);
}

/* A job is ready for allocate once those that ask for nothing can make it so; here they must be there. */
static bool is_whole(struct session *s, const struct job *job)
{
    return job_is_ready(s, job) &&
           (s->setup->is_reference || job_n_ready(job) >= job->min_available);
}

/* What was promised to tasks that ask for nothing is looked for anew, but for machines ordered for them. */
static void take_promises_back(struct session *s, const struct job *job)
{
    for (size_t i = 0; job->n[BERTH_TASK_PIPELINED] && i < job->n_tasks; i++) {
        struct task *task = &job->tasks[i];
        struct statement stmt = statement_open(s);
        if (task->state == BERTH_TASK_PIPELINED && task->group->kind->best_effort &&
            !task_is_on_machine(task) && (!task->is_told || s->setup->is_reference))
            statement_unpipeline(&stmt, task);
    }
}

/* A gang that came too short leaves what it has found to others, but for what is promised to all. */
static void give_back(struct session *s, struct statement *stmt, struct job *job)
{
    struct seat *seat = seat_of(s, job);

    if (s->setup->is_reference || !job_is_short(job))
        return;
    seat->promised = job->n[BERTH_TASK_PIPELINED];
    seat->placed = job_n_ready(job) + seat->promised;
    statement_discard(stmt);
}

static void visit(struct session *s, struct job *job)
{
    struct statement stmt;
    struct victims tasks;

    take_promises_back(s, job);
    if (!job_n_best_effort(job))
        return;
    tasks = tasks_pending(s, job, true);
    stmt = statement_open(s);
    for (size_t i = 0; i < tasks.n && !session_is_spent(s); i++) {
        if (!tasks.at[i]->group->kind->best_effort)
            continue;
        place(s, &stmt, tasks.at[i]);
        if (is_whole(s, job))
            statement_commit(&stmt, job);
    }
    give_back(s, &stmt, job);
}

static void run(struct session *s, const struct berth_value *arguments)
{
    struct rounds rounds;
    struct queue *queue;
    struct job *job;

    (void)arguments;
    rounds_init(&rounds, s);
    lines_part_placed(s);
    VEC_EACH (each, &s->watched)
        if (job_n_best_effort(*each) + (*each)->n[BERTH_TASK_PIPELINED] &&
            job_is_admitted(s, *each))
            rounds_add_job(&rounds, *each);
    while ((queue = rounds_queue(&rounds)))
        while ((job = rounds_job(&rounds, queue))) {
            struct statement loose = statement_open(s);
            bool is_loose = rooms_let_go(&loose, job);
            visit(s, job);
            if (is_loose)
                rooms_hold_on(&loose, job);
        }
    rounds_fini(&rounds);
}

static int check(const struct berth_value *arguments, struct err *err)
{
    struct {
        bool cache;
    } read;
    static const struct argument known[] = { { "predicateErrorCacheEnable", ARG_TRUTH, 0 } };

    return arguments_read(arguments, known, COUNT_OF(known), NULL, &read, err);
}

const struct action action_backfill = {
    .name = "backfill", .check = check, .sees_lines = sees_lines, .run = run
};

/* Attempts and tasks as the API shows them: docs/api.md, "Jobs". */
#include "server/show.h"

#include "base/name.h"

static const char *group_name(const struct job_spec *spec, int64_t group)
{
    return group >= 0 && (size_t)group < spec->n_groups ? spec->groups[group].name : "";
}

static int shell_code(const struct row_attempt *row)
{
    return cause_shell_code((enum cause)row->cause, (enum detail)row->detail, (int)row->code,
                            (int)row->signal);
}

/* Whether it is known how its command ended: not of one that never ran, or ended unseen. */
static bool has_code(const struct row_attempt *row)
{
    bool is_unseen = row->cause == CAUSE_NODE_LOST || row->cause == CAUSE_DISOWNED ||
                     row->cause == CAUSE_OTHER_LIFE;

    return shell_code(row) != 0 || row->cause == CAUSE_COMPLETED || (row->started_at && !is_unseen);
}

static void show_cause(json_t *object, const struct row_attempt *row)
{
    if (row->cause)
        show_text(object, "cause", cause_words[row->cause]);
    if (row->detail)
        show_text(object, "detail", detail_words[row->detail]);
}

static void show_eviction(json_t *object, const struct row_attempt *row)
{
    char name[NAME_ATTEMPT_SIZE];

    if (!row->evicted_for)
        return;
    name_job(row->evicted_for, name);
    show_text(object, "evictedFor", name);
}

static void show_exit(json_t *object, const struct row_attempt *row)
{
    if (row->state != ATTEMPT_ENDED)
        return;
    if (has_code(row)) {
        show_number(object, "code", shell_code(row));
        show_number(object, "exitCode", row->code);
        show_number(object, "signal", row->signal);
    }
    if (row->then)
        show_text(object, "then", then_words[row->then]);
    show_time(object, "notBefore", row->not_before);
}

json_t *show_attempt(const struct row_attempt *row, const char *group)
{
    json_t *object = json_object();
    char name[NAME_ATTEMPT_SIZE];

    name_attempt(row->job, group, (uint32_t)row->idx, (uint32_t)row->number, name);
    show_text(object, "name", name);
    name_job(row->job, name);
    show_text(object, "job", name);
    name_task(row->job, group, (uint32_t)row->idx, name);
    show_text(object, "task", name);
    show_text(object, "group", group);
    show_number(object, "index", row->idx);
    show_number(object, "number", row->number);
    show_number(object, "fence", row->number);
    show_text(object, "node", row->node);
    show_text(object, "state", attempt_state_words[row->state]);
    if (row->is_stop_wanted && row->state != ATTEMPT_ENDED)
        show_set(object, "stopWanted", json_true());
    show_cause(object, row);
    show_eviction(object, row);
    show_exit(object, row);
    show_number(object, "tries", row->tries);
    show_number(object, "evictions", row->evictions);
    show_text(object, "decision", row->decision);
    show_text(object, "message", row->message);
    show_time(object, "boundAt", row->bound_at);
    show_time(object, "ackedAt", row->acked_at);
    show_time(object, "startedAt", row->started_at);
    show_time(object, "endedAt", row->ended_at);
    show_json(object, "timings", row->timings);
    show_json(object, "peaks", row->peaks);
    show_number(object, "revision", (int64_t)row->rev);
    return object;
}

/* A task's state follows from its last attempt unless it ended without one. */
static enum task_state task_state_of(const struct show_task *task)
{
    static const enum task_state after[THEN_COUNT] = {
        [THEN_NONE] = TASK_PENDING,        [THEN_AGAIN] = TASK_PENDING,
        [THEN_SUCCEEDED] = TASK_SUCCEEDED, [THEN_FAILED] = TASK_FAILED,
        [THEN_CANCELLED] = TASK_CANCELLED,
    };

    if (task->ended)
        return (enum task_state)task->ended->state;
    if (!task->last)
        return TASK_PENDING;
    return task->last->state == ATTEMPT_ENDED ? after[task->last->then] : TASK_LIVE;
}

const char *show_task_state(const struct show_task *task)
{
    enum task_state state = task_state_of(task);

    return state == TASK_LIVE ? attempt_state_words[task->last->state] : task_state_words[state];
}

/* What it used at most; and what it might, where it wanted more. */
static void show_peaks(json_t *object, const struct show_task *task)
{
    const struct row_attempt *last = task->last;
    json_t *limits;

    show_json(object, "peaks", last->peaks);
    if (last->cause != CAUSE_OUT_OF_MEMORY)
        return;
    limits = json_object();
    for (size_t i = 0; i < task->spec->groups[task->group].holds.n; i++) {
        const struct amount *amount = &task->spec->groups[task->group].holds.at[i];

        if (text_eq(amount->resource, "memory"))
            show_amount(limits, "memory", "memory", amount->value);
    }
    show_set(object, "limits", limits);
}

static void show_last(json_t *object, const struct show_task *task, enum task_state state)
{
    const struct row_attempt *last = task->last;
    char name[NAME_ATTEMPT_SIZE];

    name_attempt(last->job, group_name(task->spec, last->grp), (uint32_t)last->idx,
                 (uint32_t)last->number, name);
    show_text(object, "attempt", name);
    show_number(object, "number", last->number);
    if (state != TASK_PENDING) /* one that waits is nowhere */
        show_text(object, "node", last->node);
    show_cause(object, last);
    show_eviction(object, last);
    if (state != TASK_LIVE && state != TASK_PENDING && has_code(last))
        show_number(object, "code", shell_code(last));
    if (state == TASK_PENDING)
        show_time(object, "notBefore", last->not_before);
    show_text(object, "message", last->message);
    if (state == TASK_LIVE)
        show_time(object, "silentSince", task->silent_at);
    if (state != TASK_PENDING) {
        show_time(object, "startedAt", last->started_at);
        show_time(object, "endedAt", last->ended_at);
    }
    show_peaks(object, task);
}

json_t *show_task(const struct show_task *task)
{
    const char *group = group_name(task->spec, task->group);
    enum task_state state = task_state_of(task);
    json_t *object = json_object();
    char name[NAME_ATTEMPT_SIZE];

    name_task(task->job->id, group, task->index, name);
    show_text(object, "name", name);
    show_text(object, "group", group);
    show_number(object, "index", task->index);
    show_text(object, "state", show_task_state(task));
    if (state == TASK_PENDING && task->waits)
        show_text(object, "reason", wait_codes[task->waits].word);
    if (task->ended && task->ended->code)
        show_text(object, "reason", wait_codes[task->ended->code].word);
    if (task->last)
        show_last(object, task, state);
    return object;
}

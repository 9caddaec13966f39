/*
 * Jobs and tasks of the model: their rows, counts and sums, and where tasks hold room.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/engine.h"
#include "engine/lines.h"
#include "engine/model.h"
#include "engine/shape.h"

const char *const berth_task_state_words[BERTH_TASK_STATE_COUNT] = {
    [BERTH_TASK_PENDING] = "pending",     [BERTH_TASK_ALLOCATED] = "allocated",
    [BERTH_TASK_PIPELINED] = "pipelined", [BERTH_TASK_BINDING] = "binding",
    [BERTH_TASK_BOUND] = "bound",         [BERTH_TASK_RUNNING] = "running",
    [BERTH_TASK_RELEASING] = "releasing", [BERTH_TASK_SUCCEEDED] = "succeeded",
    [BERTH_TASK_FAILED] = "failed",       [BERTH_TASK_CANCELLED] = "cancelled",
    [BERTH_TASK_UNKNOWN] = "unknown",
};

const char *const berth_phase_words[BERTH_PHASE_COUNT] = {
    [BERTH_PHASE_PENDING] = "pending",     [BERTH_PHASE_INQUEUE] = "inqueue",
    [BERTH_PHASE_RUNNING] = "running",     [BERTH_PHASE_UNKNOWN] = "unknown",
    [BERTH_PHASE_COMPLETED] = "completed",
};

bool state_is_allocated(enum berth_task_state state)
{
    return state == BERTH_TASK_ALLOCATED || state == BERTH_TASK_BINDING ||
           state == BERTH_TASK_BOUND || state == BERTH_TASK_RUNNING;
}

bool state_holds(enum berth_task_state state)
{
    return state_is_allocated(state) || state == BERTH_TASK_RELEASING ||
           state == BERTH_TASK_UNKNOWN;
}

const struct asks *task_asks(const struct task *task)
{
    if (task->hold && task->hold->asks.n)
        return &task->hold->asks;
    if (task->extra && task->extra->has_holds)
        return &task->extra->holds;
    return &task->group->kind->asks;
}

/* --- Sums */

static void queue_sum(struct model *model, wide **sums, struct queue *queue,
                      const struct asks *asks, int64_t times)
{
    if (queue->n_sums < model->dims.n) {
        queue->allocated = mem_resize(queue->allocated, model->dims.n, sizeof(wide));
        queue->pending = mem_resize(queue->pending, model->dims.n, sizeof(wide));
        queue->live = mem_resize(queue->live, model->dims.n, sizeof(wide));
        for (size_t i = queue->n_sums; i < model->dims.n; i++)
            queue->allocated[i] = queue->pending[i] = queue->live[i] = 0;
        queue->n_sums = model->dims.n;
    }
    for (size_t i = 0; i < asks->n; i++)
        (*sums)[asks->at[i].dim] += (wide)asks->at[i].value * times;
}

static void space_sum(struct model *model, struct space *space, const struct asks *asks,
                      int64_t times)
{
    if (space->n_sums < model->dims.n) {
        space->live = mem_resize(space->live, model->dims.n, sizeof(wide));
        for (size_t i = space->n_sums; i < model->dims.n; i++)
            space->live[i] = 0;
        space->n_sums = model->dims.n;
    }
    for (size_t i = 0; i < asks->n; i++)
        space->live[asks->at[i].dim] += (wide)asks->at[i].value * times;
}

static bool state_is_live(enum berth_task_state state)
{
    return state_is_allocated(state) || state == BERTH_TASK_RELEASING;
}

static void count_state(struct model *model, struct task *task, enum berth_task_state state, int by)
{
    struct job *job = task->group->job;

    job->n[state] += (uint32_t)by;
    task->group->n[state] += (uint32_t)by;
    if (state == BERTH_TASK_PENDING)
        model->n_pending += (uint64_t)by;
    if (state_is_live(state))
        space_sum(model, job->space, task_asks(task), by);
    if (!job->queue)
        return;
    if (state_is_live(state))
        queue_sum(model, &job->queue->live, job->queue, task_asks(task), by);
    if (state == BERTH_TASK_PENDING) {
        queue_sum(model, &job->queue->pending, job->queue, &task->group->kind->asks, by);
    } else if (state_is_allocated(state)) {
        queue_sum(model, &job->queue->allocated, job->queue, task_asks(task), by);
        queue_count(job->queue, job->priority, by);
    }
}

void task_count(struct model *model, const struct task *task, int sign)
{
    const struct asks *asks = task_asks(task);
    struct node *node = task->node;

    for (size_t i = 0; i < asks->n; i++) {
        struct column *c = &model->columns[asks->at[i].dim];
        int64_t value = sign * asks->at[i].value;
        node->n_over -= column_idle(c, node->at) < 0;
        if (task->state == BERTH_TASK_PIPELINED)
            c->pipelined[node->at] = wrap_add(c->pipelined[node->at], value);
        else
            c->used[node->at] = wrap_add(c->used[node->at], value);
        if (task->state == BERTH_TASK_RELEASING)
            c->releasing[node->at] = wrap_add(c->releasing[node->at], value);
        column_renew(model, asks->at[i].dim, node->at);
        node->n_over += column_idle(c, node->at) < 0;
    }
    model->rows.is_over[node->at] = node->n_over > 0;
    if (task_is_in_between(task))
        model->n_in_between += (size_t)sign;
    if (task->group->kind->no_cpu)
        model->gauges[DIM_CPU].n_unsaid[node->at] += sign;
    if (task->group->kind->no_memory)
        model->gauges[DIM_MEMORY].n_unsaid[node->at] += sign;
    if (task->hold)
        hold_count(task, sign);
    if (node->n_off)
        devices_offer(model, node);
    node_touch(model, node);
}

/* A task that holds room, or is promised it, stands in its node's list. */
static void task_join(struct model *model, struct task *task)
{
    struct node *node = task->node;

    task->slot = (uint32_t)node->tasks.n;
    VEC_PUSH(&node->tasks, task);
    if (node->at != NOWHERE)
        task_count(model, task, 1);
}

static void task_part(struct model *model, struct task *task)
{
    struct node *node = task->node;

    if (node->at != NOWHERE)
        task_count(model, task, -1);
    node->tasks.at[task->slot] = node->tasks.at[--node->tasks.n];
    if (task->slot < node->tasks.n)
        node->tasks.at[task->slot]->slot = task->slot;
}

void task_place(struct model *model, struct task *task, enum berth_task_state state,
                struct node *node)
{
    if (!state_holds(state) && state != BERTH_TASK_PIPELINED)
        node = NULL;
    if (task->node)
        task_part(model, task);
    count_state(model, task, task->state, -1);
    task->state = (uint8_t)state;
    task->node = node;
    count_state(model, task, task->state, 1);
    if (node)
        task_join(model, task);
}

/* --- Task rows */

static void extra_free(struct task_extra *extra)
{
    if (!extra)
        return;
    asks_fini(&extra->holds);
    free(extra->hold.shares);
    free(extra->hold.cores);
    free(extra->kept);
    free(extra);
}

/* What stays of a row when the task is pending and never left it. */
static void task_clear(struct model *model, struct task *task)
{
    struct node *node = task->node;

    if (task->extra && task->extra->has_holds)
        task->group->job->n_odd--;
    if (task->not_before_ms)
        task->group->n_backed_off--;
    task_place(model, task, BERTH_TASK_PENDING, NULL);
    if (node)
        node_tidy(model, node);
    extra_free(task->extra);
    *task = (struct task){ .group = task->group, .index = task->index };
}

static bool asks_equal(const struct asks *a, const struct asks *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->at[i].dim != b->at[i].dim || a->at[i].value != b->at[i].value)
            return false;
    return true;
}

/* Keeps what a row has no members for. */
static void task_add_extra(struct model *model, struct task *task, const struct berth_task *told)
{
    struct task_extra *extra;

    if (!told->holds.n && !told->n_shares && !told->cores.n)
        return;
    extra = task->extra = NEW0(struct task_extra);
    extra->kept = shape_copy(shape_of[BERTH_TASK], told);
    extra->holds = told->holds.n ? asks_from(model, &told->holds)
                                 : devices_charge(model, task->group->kind, told);
    if (!extra->holds.n)
        return;
    if (!asks_of(&extra->holds, DIM_PODS))
        asks_add(model, &extra->holds, DIM_PODS, POD_MILLI);
    if (asks_equal(&extra->holds, &task->group->kind->asks))
        asks_fini(&extra->holds);
    else
        extra->has_holds = true;
}

static void task_tell(struct model *model, struct task *task, const struct berth_task *told)
{
    struct node *node = told->node && told->node[0] ? node_ref(model, told->node) : NULL;

    if (node)
        node->n_refs++; /* its last task may be this one */
    task_clear(model, task);
    task_add_extra(model, task, told);
    if (task->extra && task->extra->has_holds)
        task->group->job->n_odd++;
    task->is_told = true;
    task->attempt = told->attempt;
    task->tries = told->tries;
    task->evictions = told->evictions;
    task->comes_back = told->comes_back;
    task->version = told->version;
    if (told->state !=
        BERTH_TASK_PENDING) { /* what an attempt that is over did is not of the next */
        task->started_at_ms = told->started_at_ms;
        task->checkpoint_at_ms = told->checkpoint_at_ms;
        task->limit_at_ms = told->limit_at_ms;
    }
    task->not_before_ms = told->not_before_ms;
    if (task->not_before_ms)
        task->group->n_backed_off++;
    if (task->extra && node && (state_holds(told->state) || told->state == BERTH_TASK_PIPELINED))
        hold_resolve(task, node);
    task_place(model, task, told->state, node);
    if (node) {
        node->n_refs--;
        node_tidy(model, node);
    }
}

/* --- Jobs */

int job_rank_cmp(const struct job *a, const struct job *b)
{
    if (a->kept->seq != b->kept->seq)
        return a->kept->seq < b->kept->seq ? -1 : 1;
    return strcmp(a->id, b->id);
}

struct job *job_find(const struct model *model, const char *id)
{
    return id ? map_get(&model->job_map, id) : NULL;
}

static struct job *job_ref(struct model *model, const char *id)
{
    struct job *job = job_find(model, id);

    if (job)
        return job;
    job = NEW0(struct job);
    job->id = text_copy(id);
    job->at = NOWHERE;
    map_put(&model->job_map, job->id, job);
    return job;
}

static void job_tidy(struct model *model, struct job *job)
{
    if (job->kept || job->orphans.n)
        return;
    map_remove(&model->job_map, job->id);
    VEC_FINI(&job->orphans);
    free(job->id);
    free(job);
}

struct group *group_find(const struct job *job, const char *name)
{
    for (size_t i = 0; i < job->n_groups; i++)
        if (strcmp(job->groups[i].spec->name, name) == 0)
            return &job->groups[i];
    return NULL;
}

struct task *task_find(const struct model *model, const struct berth_task_ref *ref)
{
    const struct job *job = job_find(model, ref->job);
    const struct group *group = job && job->kept && ref->group ? group_find(job, ref->group) : NULL;

    return group && ref->index < group->spec->replicas ? &group->tasks[ref->index] : NULL;
}

/* The number behind the last dash, if the name has three parts at least. */
static void group_number(struct group *group)
{
    const char *last = strrchr(group->spec->name, '-'), *first = strchr(group->spec->name, '-');

    group->has_number =
        last && last != first && text_to_int(last + 1, INT32_MIN, INT32_MAX, &group->number) == 0;
}

static int32_t job_priority(const struct model *model, const struct berth_job *kept)
{
    const struct shelf *shelf = &model->shelves[BERTH_PRIORITY_CLASS];
    const struct berth_priority_class *class =
        kept->priority_class ? shelf_get(shelf, kept->priority_class) : NULL;

    if (class)
        return class->value;
    if (kept->priority || kept->priority_class)
        return kept->priority;
    VEC_EACH (item, &shelf->items) {
        class = (*item)->kept;
        if (class->is_default)
            return class->value;
    }
    return 0;
}

/* What it has placed counts under its priority. */
static void set_priority(struct job *job, int32_t priority)
{
    int64_t n = job_n_allocated(job);

    if (n && job->queue) {
        queue_count(job->queue, job->priority, -n);
        queue_count(job->queue, priority, n);
    }
    job->priority = priority;
}

void jobs_rank(struct model *model)
{
    JOB_EACH (job, model) {
        int32_t priority = job_priority(model, job->kept);
        if (priority == job->priority)
            continue;
        lines_drop(model, job);
        set_priority(job, priority);
        lines_take(model, job);
    }
}

static void job_list(struct model *model, struct job *job)
{
    size_t at = model->jobs.n;

    while (at > 0 && (!model->jobs.at[at - 1] || job_rank_cmp(job, model->jobs.at[at - 1]) < 0))
        at--;
    VEC_PUSH(&model->jobs, NULL);
    for (size_t i = model->jobs.n - 1; i > at; i--) {
        model->jobs.at[i] = model->jobs.at[i - 1];
        if (model->jobs.at[i])
            model->jobs.at[i]->at = (uint32_t)i;
    }
    model->jobs.at[at] = job;
    job->at = (uint32_t)at;
    model->n_jobs++;
}

static void job_unlist(struct model *model, struct job *job)
{
    size_t n = 0;

    model->jobs.at[job->at] = NULL;
    job->at = NOWHERE;
    model->n_jobs--;
    if (model->jobs.n < 64 || model->n_jobs * 2 > model->jobs.n)
        return;
    for (size_t i = 0; i < model->jobs.n; i++) {
        if (!model->jobs.at[i])
            continue;
        model->jobs.at[n] = model->jobs.at[i];
        model->jobs.at[n]->at = (uint32_t)n;
        n++;
    }
    model->jobs.n = n;
}

/* Hands the rows of a job back as orphans: it ends, or its groups change. */
static void job_orphan(struct model *model, struct job *job)
{
    for (size_t i = 0; i < job->n_tasks; i++) {
        struct task *task = &job->tasks[i];
        struct berth_task told;
        if (!task_told(task, &told))
            continue;
        VEC_PUSH(&job->orphans, shape_copy(shape_of[BERTH_TASK], &told));
        task_clear(model, task);
    }
}

const struct space *space_find(const struct model *model, const char *name)
{
    return map_get(&model->space_map, name ? name : "");
}

static void job_join_space(struct model *model, struct job *job)
{
    const char *name = job->kept->namespace_ ? job->kept->namespace_ : "";
    struct space *space = map_get(&model->space_map, name);

    if (!space) {
        space = NEW0(struct space);
        space->name = text_copy(name);
        map_put(&model->space_map, space->name, space);
    }
    space->n_jobs++;
    job->space = space;
}

static void job_leave_space(struct model *model, struct job *job)
{
    struct space *space = job->space;

    job->space = NULL;
    if (--space->n_jobs)
        return;
    map_remove(&model->space_map, space->name);
    free(space->name);
    free(space->live);
    free(space);
}

static void job_take_apart(struct model *model, struct job *job)
{
    struct queue *queue = job->queue;

    lines_drop(model, job);
    job_orphan(model, job);
    model->n_pending -= job->n_tasks;
    for (size_t i = 0; i < job->n_groups; i++) {
        struct group *group = &job->groups[i];
        if (queue)
            queue_sum(model, &queue->pending, queue, &group->kind->asks,
                      -(int64_t)group->spec->replicas);
        kind_unref(model, group->kind);
    }
    if (queue) {
        *job->queue_link = job->queue_next;
        if (job->queue_next)
            job->queue_next->queue_link = job->queue_link;
        queue->n_jobs--;
        queue_tidy(model, queue);
        job->queue = NULL;
    }
    job_leave_space(model, job);
    free(job->groups);
    free(job->tasks);
    job->groups = NULL;
    job->tasks = NULL;
    job->n_groups = job->n_tasks = 0;
    job_unlist(model, job);
    free(job->kept);
    job->kept = NULL;
}

static void job_adopt(struct model *model, struct job *job)
{
    size_t n = 0;

    for (size_t i = 0; i < job->orphans.n; i++) {
        struct berth_task *told = job->orphans.at[i];
        struct group *group = group_find(job, told->group);
        if (!group || told->index >= group->spec->replicas) {
            job->orphans.at[n++] = told;
            continue;
        }
        task_tell(model, &group->tasks[told->index], told);
        free(told);
    }
    job->orphans.n = n;
}

static void job_join_queue(struct model *model, struct job *job)
{
    struct queue *queue = queue_ref(model, job->kept->queue);

    job->queue = queue;
    job->queue_next = queue->first;
    if (queue->first)
        queue->first->queue_link = &job->queue_next;
    job->queue_link = &queue->first;
    queue->first = job;
    queue->n_jobs++;
    for (size_t i = 0; i < job->n_groups; i++)
        queue_sum(model, &queue->pending, queue, &job->groups[i].kind->asks,
                  job->groups[i].spec->replicas);
}

/* How many tasks start together. */
static uint32_t least(const struct berth_job *kept)
{
    return kept->min_available || kept->has_min_available ? kept->min_available : 1;
}

static uint32_t role_at(const struct job *job, const struct group *group)
{
    const struct berth_job *kept = job->kept;

    for (uint32_t i = 0; i < kept->n_minima; i++)
        if (kept->minima[i].n && text_eq(kept->minima[i].role ? kept->minima[i].role : "",
                                         group->spec->role ? group->spec->role : ""))
            return i;
    return NOWHERE;
}

/* Which minimum of a role counts each group; where the job as a whole asks for less than its roles they do not bind. */
static void job_cast(struct job *job)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < job->kept->n_minima; i++)
        sum += job->kept->minima[i].n;
    job->has_roles = sum && job->min_available >= sum;
    for (size_t i = 0; i < job->n_groups; i++)
        job->groups[i].role = job->has_roles ? role_at(job, &job->groups[i]) : NOWHERE;
}

static void job_build(struct model *model, struct job *job, struct berth_job *kept)
{
    struct task *task;

    job->kept = kept;
    job_join_space(model, job);
    dims_of(model, &kept->min_resources);
    job->priority = job_priority(model, kept);
    job->min_available = least(kept);
    job->n_groups = kept->n_groups;
    job->groups = NEW0_N(struct group, job->n_groups + 1);
    for (size_t i = 0; i < job->n_groups; i++)
        job->n_tasks += kept->groups[i].replicas;
    task = job->tasks = NEW0_N(struct task, job->n_tasks + 1);
    memset(job->n, 0, sizeof(job->n));
    job->n[BERTH_TASK_PENDING] = (uint32_t)job->n_tasks;
    model->n_pending += job->n_tasks;
    for (size_t i = 0; i < job->n_groups; i++) {
        struct group *group = &job->groups[i];
        *group = (struct group){ .job = job, .spec = &kept->groups[i], .at = (uint32_t)i };
        group->kind = kind_ref(model, kept, group->spec);
        group->tasks = task;
        group->n[BERTH_TASK_PENDING] = group->spec->replicas;
        group_number(group);
        for (uint32_t k = 0; k < group->spec->replicas; k++, task++)
            *task = (struct task){ .group = group, .index = k };
    }
    job_cast(job);
    if (kept->queue)
        job_join_queue(model, job);
    job_list(model, job);
    job_adopt(model, job);
    lines_take(model, job);
}

/* Whether only what decides about the job as a whole differs, so that its rows can stay. */
static bool job_keeps_groups(const struct berth_job *a, const struct berth_job *b)
{
    CLEANUP(str_fini) struct str x = { 0 }, y = { 0 };

    if (a->seq != b->seq || !text_eq(a->queue, b->queue) || a->n_groups != b->n_groups ||
        !text_eq(a->namespace_, b->namespace_))
        return false;
    for (size_t i = 0; i < a->n_groups; i++) {
        shape_write(&shape_task_group, &a->groups[i], 0, &x);
        shape_write(&shape_task_group, &b->groups[i], 0, &y);
    }
    return text_eq(str_text(&x), str_text(&y));
}

void job_put(struct model *model, const char *id, struct berth_job *kept)
{
    struct job *job = kept ? job_ref(model, id) : job_find(model, id);

    if (!job)
        return;
    job->weighed.read = job->in_domain.read = 0;
    if (kept && job->kept && job_keeps_groups(job->kept, kept)) {
        lines_drop(model, job);
        free(job->kept);
        job->kept = kept;
        set_priority(job, job_priority(model, kept));
        job->min_available = least(kept);
        for (size_t i = 0; i < job->n_groups; i++)
            job->groups[i].spec = &kept->groups[i];
        job_cast(job);
        lines_take(model, job);
        return;
    }
    if (job->kept)
        job_take_apart(model, job);
    if (kept)
        job_build(model, job, kept);
    job_tidy(model, job);
}

void job_forget(struct model *model, struct job *job)
{
    if (job->kept)
        job_take_apart(model, job);
    VEC_EACH (told, &job->orphans)
        free(*told);
    job->orphans.n = 0;
    job_tidy(model, job);
}

/* --- Tasks by their keys */

static void orphan_remove(struct job *job, const struct berth_task *key)
{
    for (size_t i = 0; i < job->orphans.n; i++) {
        if (job->orphans.at[i]->index == key->index &&
            strcmp(job->orphans.at[i]->group, key->group) == 0) {
            free(job->orphans.at[i]);
            VEC_SWAP_OUT(&job->orphans, i);
            return;
        }
    }
}

void task_put(struct model *model, const struct berth_task *told)
{
    struct job *job = job_ref(model, told->job);
    struct group *group = job->kept ? group_find(job, told->group) : NULL;

    if (group && told->index < group->spec->replicas) {
        task_tell(model, &group->tasks[told->index], told);
        lines_take(model, job);
        return;
    }
    orphan_remove(job, told);
    VEC_PUSH(&job->orphans, shape_copy(shape_of[BERTH_TASK], told));
}

void task_end(struct model *model, const struct berth_task *key)
{
    struct job *job = job_find(model, key->job);
    struct group *group = job && job->kept ? group_find(job, key->group) : NULL;

    if (!job)
        return;
    if (group && key->index < group->spec->replicas) {
        task_clear(model, &group->tasks[key->index]);
        lines_take(model, job);
        return;
    }
    orphan_remove(job, key);
    job_tidy(model, job);
}

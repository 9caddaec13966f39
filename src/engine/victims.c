/* Victims: see victims.h. */
#include "engine/victims.h"

#include <string.h>

#include "base/str.h"
#include "engine/res.h"
#include "engine/room.h"

static int by_name(const void *a, const void *b)
{
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
    int cmp = 0;

    if (x->group->kind != y->group->kind)
        cmp = strcmp(x->group->kind->namespace_, y->group->kind->namespace_);
    if (!cmp && x->group != y->group)
        cmp = strcmp(x->group->spec->name, y->group->spec->name);
    if (!cmp && x->group->job != y->group->job)
        cmp = strcmp(x->group->job->id, y->group->job->id);
    return cmp ? cmp : (x->index > y->index) - (x->index < y->index);
}

struct victims node_tasks(struct session *s, const struct node *node)
{
    struct victims list = { ARENA_NEW0_N(s->lists, struct task *, node->tasks.n + 1),
                            node->tasks.n };

    if (list.n)
        memcpy(list.at, node->tasks.at, list.n * sizeof(*list.at));
    qsort(list.at, list.n, sizeof(*list.at), by_name);
    return list;
}

bool victim_before(struct session *s, const struct task *a, const struct task *b,
                   const struct job *taker)
{
    const struct job *x = a->group->job, *y = b->group->job;
    int cmp;

    if (x == y)
        return task_cmp(s, a, b) > 0;
    if (!taker || x->queue == y->queue) {
        cmp = job_plugin_cmp(s, x, y);
        return cmp ? cmp > 0 : task_cmp(s, a, b) > 0;
    }
    return victim_queue_before(s, x->queue, y->queue, taker->queue);
}

bool fits_future(const struct session *s, const struct task *task, const struct node *node,
                 const struct victims *more)
{
    bool idle;

    if (!more)
        return room_fail(s->model, task->group->kind, node, &idle) == FAIL_NONE;
    return fits_without(s, task, node, more, NULL);
}

bool fits_without(const struct session *s, const struct task *task, const struct node *node,
                  const struct victims *victims, const bool *marked)
{
    const struct asks *asks = &task->group->kind->asks;

    for (size_t i = 0; i < asks->n; i++) {
        int64_t room = column_future(&s->model->columns[asks->at[i].dim], node->at);
        for (size_t k = 0; k < victims->n; k++)
            if (!marked || marked[k])
                room = wrap_add(room, asks_of(task_asks(victims->at[k]), asks->at[i].dim));
        if (asks->at[i].value > room)
            return false;
    }
    return true;
}

bool task_is_preemptable(const struct task *task)
{
    return !task->group->spec->not_preemptable && task->group->job->kept->preemptable != BERTH_NO;
}

int64_t job_may_lose(const struct job *job)
{
    const struct berth_budget *budget = &job->kept->budget;
    int64_t running = job->n[BERTH_TASK_RUNNING], value = budget->value;
    int64_t ended = job->n[BERTH_TASK_SUCCEEDED] + job->n[BERTH_TASK_FAILED];

    if (!budget->is_given)
        return INT64_MAX;
    if (budget->is_percent)
        value = ((int64_t)job->n_tasks * value + 99) / 100;
    return budget->is_max_unavailable ? value - ((int64_t)job->n_tasks - ended - running)
                                      : running - value;
}

bool victims_have(const struct victims *victims, const struct task *task)
{
    for (size_t i = 0; i < victims->n; i++)
        if (victims->at[i] == task)
            return true;
    return false;
}

bool victims_spare(const struct victims *gone, const struct task *task)
{
    const struct group *group = task->group;
    uint32_t spares = group_spares(group);
    size_t n = 0, n_of_role = 0;

    if (spares > gone->n)
        return true;
    for (size_t i = 0; i < gone->n; i++) {
        bool is_one =
            gone->at[i]->group->job == group->job && gone->at[i]->state != BERTH_TASK_PIPELINED;
        n += is_one;
        n_of_role += is_one && gone->at[i]->group->role == group->role;
    }
    return n < job_spares(group->job) && (group->role == NOWHERE || n_of_role < spares);
}

bool task_is_vital(const struct task *task)
{
    const struct group *group = task->group;
    const char *class = group->spec->priority_class;

    if (!class)
        class = group->job->kept->priority_class;
    return text_eq(class, "system-cluster-critical") || text_eq(class, "system-node-critical") ||
           text_eq(group->kind->namespace_, "kube-system");
}

/* --- What a job could lose */

static bool is_spared(const struct session *s, const struct group *group)
{
    const struct task *any = &group->tasks[0];

    return !task_is_preemptable(any) ||
           (task_is_vital(any) && setup_has_plugin(s->setup, "conformance"));
}

bool job_may_go_whole(const struct session *s, const struct job *job, bool held)
{
    for (size_t g = 0; g < job->n_groups; g++) {
        const struct group *group = &job->groups[g];
        uint32_t n = held ? group->n[BERTH_TASK_PIPELINED] : group_n_allocated(group);
        if (n && is_spared(s, group))
            return false;
    }
    return true;
}

/* How many of those that run may go. */
static int64_t n_losable(const struct session *s, const struct job *job)
{
    int64_t budget = setup_has_plugin(s->setup, "pdb") ? job_may_lose(job) : INT64_MAX;
    int64_t ready = job_n_ready(job), spare = job_spares(job);

    if (budget >= ready && job_may_go_whole(s, job, false))
        return INT64_MAX;
    return budget < spare ? budget : spare;
}

void job_add_losable(const struct session *s, const struct job *job, bool rides, wide *to)
{
    bool held_go = job_may_go_whole(s, job, true);
    int64_t n = rides ? 0 : n_losable(s, job);
    struct victims gone = { 0 }; /* where minima of roles say who */

    if (n == INT64_MAX && !job->n[BERTH_TASK_PIPELINED]) {
        res_job(s, job, true, to);
        return;
    }
    if (job->has_roles && n != INT64_MAX)
        gone.at = ARENA_NEW0_N(s->lists, struct task *, job->n_tasks + 1);
    for (size_t i = job->n_tasks; i-- > 0;) { /* as victims: the last goes first */
        struct task *task = &job->tasks[i];
        bool runs = task->state != BERTH_TASK_PIPELINED;
        bool goes = runs ? state_is_allocated(task->state) && n > 0 && !is_spared(s, task->group)
                         : held_go && !task->is_told && task_is_on_machine(task) == rides;
        if (!goes || (gone.at && runs && !victims_spare(&gone, task)))
            continue;
        res_add_asks(to, task_asks(task), 1);
        n -= runs;
        if (gone.at && runs)
            gone.at[gone.n++] = task;
    }
}

struct sorter {
    struct session *s;
    const struct job *taker;
};

static int by_order(const void *a, const void *b, void *arg)
{
    const struct sorter *sorter = arg;
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;

    if (x == y)
        return 0;
    return victim_before(sorter->s, x, y, sorter->taker)   ? -1
           : victim_before(sorter->s, y, x, sorter->taker) ? 1
                                                           : by_name(a, b);
}

void victims_sort(struct session *s, struct victims *victims, const struct job *taker)
{
    struct sorter sorter = { s, taker };

    qsort_r(victims->at, victims->n, sizeof(*victims->at), by_order, &sorter);
}

static void swap(struct victims *heap, size_t i, size_t k)
{
    struct task *task = heap->at[i];

    heap->at[i] = heap->at[k];
    heap->at[k] = task;
}

static bool goes_before(struct session *s, const struct victims *heap, size_t i, size_t k,
                        const struct job *taker)
{
    return victim_before(s, heap->at[i], heap->at[k], taker);
}

void victims_heap(struct session *s, struct victims *victims, const struct job *taker)
{
    for (size_t n = 1; n < victims->n; n++)
        for (size_t i = n; i > 0 && goes_before(s, victims, i, (i - 1) / 2, taker); i = (i - 1) / 2)
            swap(victims, i, (i - 1) / 2);
}

struct task *victims_pop(struct session *s, struct victims *heap, const struct job *taker)
{
    size_t n = --heap->n, child;

    swap(heap, 0, n);
    for (size_t i = 0; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && goes_before(s, heap, child + 1, child, taker))
            child++;
        if (!goes_before(s, heap, child, i, taker))
            break;
        swap(heap, i, child);
    }
    return heap->at[n];
}

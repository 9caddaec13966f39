/* Units: see units.h. */
#include "engine/units.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/res.h"
#include "engine/session.h"
#include "engine/take.h"
#include "engine/victims.h"

enum { SCALE_BITS = 40 };

static bool is_reference(const struct gang_hunt *h)
{
    return h->s->setup->is_reference;
}

static bool may_go(const struct gang_hunt *h, const struct task *victim)
{
    const struct job *theirs = victim->group->job;

    if (!is_reference(h))
        return take_may_go(h->s, h->job, victim, h->reclaim);
    if (theirs == h->job || !theirs->queue || !theirs->queue->kept || !task_is_preemptable(victim))
        return false;
    if (h->reclaim)
        return victim->state == BERTH_TASK_RUNNING && theirs->queue != h->job->queue &&
               !theirs->queue->kept->not_reclaimable;
    return (victim->state == BERTH_TASK_BOUND || victim->state == BERTH_TASK_RUNNING) &&
           theirs->queue == h->job->queue && theirs->priority < h->job->priority;
}

/* --- Whom to ask about */

static int by_job(const void *a, const void *b, void *arg)
{
    const struct gang_hunt *h = arg;
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
    int cmp;

    if (x->group->job != y->group->job)
        return job_rank_cmp(x->group->job, y->group->job);
    if (!is_reference(h))
        return -task_cmp(h->s, x, y);
    if (x->group->spec->priority != y->group->spec->priority)
        return x->group->spec->priority < y->group->spec->priority ? -1 : 1;
    cmp = strcmp(x->group->spec->name, y->group->spec->name);
    return cmp ? cmp : (x->index > y->index) - (x->index < y->index);
}

/* Those on the domain's nodes, job by job. */
static struct victims list_candidates(const struct gang_hunt *h)
{
    struct victims list = { 0 };
    size_t most = 0;

    for (size_t i = 0; i < h->domain->n_nodes; i++)
        most += h->domain->nodes[i]->tasks.n;
    list.at = ARENA_NEW0_N(h->arena, struct task *, most + 1);
    for (size_t i = 0; i < h->domain->n_nodes; i++)
        VEC_EACH (task, &h->domain->nodes[i]->tasks)
            if (may_go(h, *task))
                list.at[list.n++] = *task;
    qsort_r(list.at, list.n, sizeof(*list.at), by_job, (void *)h);
    return list;
}

/* How much of a job may go before it falls below what it needs. */
struct spare {
    const struct job *job;
    bool is_whole;  /* none goes without the others */
    bool is_broken; /* profile volcano: it is below already, and all may go */
    int64_t tasks;
    int64_t *roles; /* by group: of its role */
    struct sub_job *subs;
    size_t n_subs;
    int64_t *sub_has,
        *sub_spare; /* by sub-job: its ready tasks, and how many of its group may break */
};

static void spare_subs(struct session *s, struct spare *spare)
{
    const struct job *job = spare->job;

    if (!job->kept->n_sub_groups)
        return;
    spare->subs = sub_jobs_of(s, job, &spare->n_subs);
    spare->sub_has = ARENA_NEW0_N(&s->arena, int64_t, spare->n_subs + 1);
    spare->sub_spare = ARENA_NEW0_N(&s->arena, int64_t, spare->n_subs + 1);
    for (size_t i = 0; i < spare->n_subs; i++) {
        const struct sub_job *sub = &spare->subs[i];
        spare->sub_has[i] = sub_job_count(sub, 0);
        spare->sub_spare[i] = sub->spec ? -(int64_t)sub->spec->min_jobs : INT64_MAX;
        for (size_t k = 0; sub->spec && k < spare->n_subs; k++)
            spare->sub_spare[i] +=
                spare->subs[k].spec == sub->spec &&
                sub_job_count(&spare->subs[k], 0) >= spare->subs[k].min_available;
    }
}

static struct spare spare_of(struct session *s, const struct job *job)
{
    struct spare spare = { .job = job };

    spare.tasks = (int64_t)job_n_ready(job) - job->min_available;
    spare.is_broken = s->setup->is_reference && spare.tasks < 0;
    spare.is_whole = !s->setup->is_reference && !job_has_minimum(job);
    spare.roles = ARENA_NEW0_N(&s->arena, int64_t, job->n_groups + 1);
    for (size_t g = 0; g < job->n_groups; g++)
        spare.roles[g] = group_beyond(&job->groups[g]);
    spare_subs(s, &spare);
    return spare;
}

static size_t sub_at(const struct spare *spare, const struct task *task)
{
    for (size_t i = 0; i < spare->n_subs; i++)
        for (size_t k = 0; k < spare->subs[i].n_tasks; k++)
            if (spare->subs[i].tasks[k]->group == task->group)
                return i;
    return spare->n_subs;
}

/* Whether a task can go by itself; counts it if so. */
static bool spare_take(struct spare *spare, const struct task *task)
{
    const struct job *job = spare->job;
    size_t sub = sub_at(spare, task);
    bool breaks = false;

    if (spare->is_broken)
        return true;
    if (spare->is_whole || spare->tasks <= 0 || spare->roles[task->group->at] <= 0)
        return false;
    if (sub < spare->n_subs) {
        breaks = spare->sub_has[sub] == spare->subs[sub].min_available;
        if (breaks && spare->sub_spare[sub] <= 0)
            return false;
        spare->sub_has[sub]--;
    }
    for (size_t i = 0; breaks && i < spare->n_subs; i++)
        if (spare->subs[i].spec && spare->subs[i].spec == spare->subs[sub].spec)
            spare->sub_spare[i]--;
    spare->tasks--;
    for (size_t g = 0; g < job->n_groups; g++)
        if (spare->roles[g] != INT64_MAX && job->groups[g].role == task->group->role)
            spare->roles[g]--;
    return true;
}

/* What is held for a job's tasks: a unit for each reservation. */
static void divide_rooms(const struct gang_hunt *h, struct task **tasks, size_t n,
                         struct units *out)
{
    size_t first = out->n;

    for (size_t i = 0; i < n; i++) {
        const struct held_room *room = task_room(h->s, tasks[i]);
        struct unit *unit = NULL;
        for (size_t k = first; room && k < out->n; k++)
            unit = out->at[k].room == room ? &out->at[k] : unit;
        if (room && !unit) {
            unit = &out->at[out->n++];
            *unit = (struct unit){ .job = room->job,
                                   .room = room,
                                   .at = ARENA_NEW0_N(h->arena, struct task *, n + 1) };
        }
        if (unit)
            unit->at[unit->n++] = tasks[i];
    }
}

/* The job's tasks in units: what it can spare (each for itself, or in one), and the rest. */
static void divide(const struct gang_hunt *h, struct task **tasks, size_t n, struct units *out)
{
    struct spare spare = spare_of(h->s, tasks[0]->group->job);
    struct unit whole = { .job = tasks[0]->group->job, .is_whole = true };
    struct unit *safe = NULL;
    bool *listed = ARENA_NEW0_N(h->arena, bool, whole.job->n_tasks + 1);
    bool one_each = !is_reference(h), may = true;

    whole.at = ARENA_NEW0_N(h->arena, struct task *, whole.job->n_tasks + 1);
    for (size_t i = 0; i < n; i++) {
        bool spares = h->s->policy->victim_unit == UNIT_TASK && one_each;
        if (tasks[i]->state == BERTH_TASK_PIPELINED)
            continue; /* what is held goes by itself */
        listed[tasks[i] - whole.job->tasks] = true;
        if (!spares && !spare_take(&spare, tasks[i])) {
            whole.at[whole.n++] = tasks[i];
            continue;
        }
        if (!safe || one_each) {
            safe = &out->at[out->n++];
            *safe = (struct unit){ .job = whole.job,
                                   .at = ARENA_NEW0_N(h->arena, struct task *, n + 1) };
        }
        safe->at[safe->n++] = tasks[i];
    }
    if (!whole.n || !h->allow_whole)
        return;
    /* All of it goes, wherever it is; if some of it may not, none does. */
    for (size_t i = 0; one_each && i < whole.job->n_tasks; i++) {
        struct task *task = &whole.job->tasks[i];
        if (listed[i] || !state_is_allocated(task->state))
            continue;
        may = may && may_go(h, task);
        whole.at[whole.n++] = task;
    }
    if (may)
        out->at[out->n++] = whole;
}

/* --- Order */

/* What is given of a need, as a sum over dimensions of parts in 2^-40; at most the need if asked. */
static wide part_of(const struct session *s, const wide *sum, const wide *need, bool at_most)
{
    wide parts = 0;

    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide has = at_most && sum[d] > need[d] ? need[d] : sum[d];
        if (need[d] > 0)
            parts += (has << SCALE_BITS) / need[d];
    }
    return parts;
}

static void weigh(const struct gang_hunt *h, struct unit *unit)
{
    struct session *s = h->s;
    wide *local = res_new(s), *global = res_new(s);

    for (size_t i = 0; i < unit->n; i++)
        res_add_asks(local, task_asks(unit->at[i]), 1);
    for (size_t i = 0; unit->is_whole && i < unit->job->n_tasks; i++)
        res_add_asks(global, task_asks(&unit->job->tasks[i]), 1);
    unit->local = part_of(s, local, h->need, true);
    unit->global = part_of(s, global, h->need, false);
}

/* More for what it costs first. */
static int by_return(const struct unit *a, const struct unit *b)
{
    if (a->global <= 0 || b->global <= 0)
        return (a->global > 0) - (b->global > 0);
    return fraction_cmp(b->local, b->global, a->local, a->global);
}

static int by_reference(const struct gang_hunt *h, const struct unit *a, const struct unit *b)
{
    int cmp;

    if (a->is_whole != b->is_whole)
        return a->is_whole ? 1 : -1;
    if (!h->reclaim && a->job != b->job)
        return -job_cmp(h->s, a->job, b->job);
    if (h->reclaim && a->job->queue != b->job->queue)
        return victim_queue_before(h->s, a->job->queue, b->job->queue, h->job->queue) ? -1 : 1;
    cmp = by_return(a, b);
    return cmp ? cmp : strcmp(a->job->id, b->job->id);
}

/* The least urgent job first, and of a job what it can spare. */
static int by_urgency(const struct gang_hunt *h, const struct unit *a, const struct unit *b)
{
    int cmp = 0;

    if (!a->room != !b->room)
        return a->room ? -1 : 1; /* what nobody runs on goes first */
    if (a->job == b->job)
        return a->is_whole == b->is_whole ? -task_cmp(h->s, a->at[0], b->at[0])
                                          : (a->is_whole ? 1 : -1);
    if (a->job->queue != b->job->queue)
        return victim_queue_before(h->s, a->job->queue, b->job->queue, h->job->queue) ? -1 : 1;
    cmp = -job_plugin_cmp(h->s, a->job, b->job);
    if (!cmp)
        cmp = (int)a->is_whole - (int)b->is_whole;
    return cmp ? cmp : -job_rank_cmp(a->job, b->job);
}

static int by_order(const void *a, const void *b, void *arg)
{
    const struct gang_hunt *h = arg;

    if (a == b)
        return 0;
    return is_reference(h) ? by_reference(h, a, b) : by_urgency(h, a, b);
}

/* --- What plugins allow */

static bool has(const struct victims *set, const struct task *task, size_t *from)
{
    for (size_t i = 0; i < set->n; i++) {
        size_t at = (*from + i) % set->n;
        if (set->at[at] != task)
            continue;
        *from = at + 1;
        return true;
    }
    return false;
}

/* Keeps of each unit what is allowed; a whole one stays whole or is dropped. */
static void keep_allowed(struct units *units, const struct victims *allowed)
{
    size_t n = 0, from = 0;

    for (size_t i = 0; i < units->n; i++) {
        struct unit unit = units->at[i];
        size_t kept = 0;
        for (size_t k = 0; k < unit.n; k++)
            if (has(allowed, unit.at[k], &from))
                unit.at[kept++] = unit.at[k];
        if (!kept || ((unit.is_whole || unit.room) && kept < unit.n))
            continue;
        unit.n = kept;
        units->at[n++] = unit;
    }
    units->n = n;
}

/* What the job still needs beside what the domain has free, or if that is nothing, all it asks. */
static wide *lacks_of(const struct gang_hunt *h)
{
    struct session *s = h->s;
    wide *lacks = res_new(s);
    bool none = true;

    for (size_t d = 0; d < s->model->dims.n; d++) {
        lacks[d] = h->need[d];
        for (size_t i = 0; h->need[d] && i < h->domain->n_nodes; i++) {
            int64_t free = column_future(&s->model->columns[d], h->domain->nodes[i]->at);
            lacks[d] -= free > 0 ? free : 0;
        }
        none = none && (lacks[d] <= 0 || d == DIM_PODS);
    }
    if (none)
        res_copy(s, lacks, h->need);
    return lacks;
}

static void ask_plugins(const struct gang_hunt *h, struct units *units)
{
    struct session *s = h->s;
    struct victims flat = { 0 }, allowed;
    struct taking taking = { .job = h->job, .reclaim = h->reclaim };
    size_t *unit, most = 0;

    for (size_t i = 0; i < units->n; i++)
        most += units->at[i].n;
    flat.at = ARENA_NEW0_N(h->arena, struct task *, most + 1);
    unit = ARENA_NEW0_N(h->arena, size_t, most + 1);
    for (size_t i = 0; i < units->n; i++)
        for (size_t k = 0; k < units->at[i].n; k++) {
            unit[flat.n] = i;
            flat.at[flat.n++] = units->at[i].at[k];
        }
    taking.unit = unit;
    taking.lacks = lacks_of(h);
    allowed = victims_agree_on(s, &taking, h->pending.at[0], &flat);
    keep_allowed(units, &allowed);
}

struct units units_find(const struct gang_hunt *h)
{
    struct victims list = list_candidates(h);
    struct units units = { 0 };

    units.at = ARENA_NEW0_N(h->arena, struct unit, 2 * list.n + 1);
    for (size_t i = 0, next; i < list.n; i = next) {
        for (next = i; next < list.n && list.at[next]->group->job == list.at[i]->group->job;)
            next++;
        divide_rooms(h, &list.at[i], next - i, &units);
        divide(h, &list.at[i], next - i, &units);
    }
    if (!units.n)
        return units;
    for (size_t i = 0; is_reference(h) && i < units.n; i++)
        weigh(h, &units.at[i]);
    qsort_r(units.at, units.n, sizeof(*units.at), by_order, (void *)h);
    ask_plugins(h, &units);
    for (size_t i = 0; is_reference(h) && i < units.n; i++)
        weigh(h, &units.at[i]);
    qsort_r(units.at, units.n, sizeof(*units.at), by_order, (void *)h);
    return units;
}

void unit_evict(struct statement *stmt, const struct unit *unit, bool reclaim)
{
    const char *reason = reclaim ? "reclaim" : "preempt";

    if (unit->room)
        take_room_whole(stmt, unit->room, reason);
    for (size_t i = 0; i < unit->n; i++)
        if (state_is_allocated(unit->at[i]->state))
            statement_evict(stmt, unit->at[i], reason);
    for (size_t i = 0; unit->is_whole && !stmt->s->setup->is_reference && i < unit->job->n_tasks;
         i++)
        if (state_is_allocated(unit->job->tasks[i].state))
            statement_evict(stmt, &unit->job->tasks[i], reason);
}

/* A member of a gang may stand on a node of which nothing is known. */
static bool is_within(const struct domain *domain, const struct node *node)
{
    return node->at != NOWHERE && domain->has[node->at];
}

size_t units_least(const struct gang_hunt *h, const struct units *units)
{
    struct session *s = h->s;
    wide *sum = res_new(s);

    for (size_t d = 0; d < s->model->dims.n; d++) {
        const struct column *c = &s->model->columns[d];
        for (size_t i = 0; h->need[d] > 0 && i < h->domain->n_nodes; i++) {
            uint32_t at = h->domain->nodes[i]->at;
            sum[d] += wrap_add(column_idle(c, at), c->releasing[at]);
        }
    }
    for (size_t i = 0; i <= units->n; i++) {
        if (i && res_within(s, h->need, sum))
            return i;
        for (size_t k = 0; i < units->n && !units->at[i].room && k < units->at[i].n; k++)
            if (is_within(h->domain, units->at[i].at[k]->node))
                res_add_asks(sum, task_asks(units->at[i].at[k]), 1);
    }
    return 0;
}

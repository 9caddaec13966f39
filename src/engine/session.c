/* Sessions: see session.h. */
#include "engine/session.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "engine/beam.h"
#include "engine/hunt.h"
#include "engine/outside.h"

static void set_shard(struct session *s)
{
    const struct berth_words *names;

    if (s->setup->shard_mode == BERTH_SHARD_NONE || !s->setup->kept)
        return;
    names = &s->setup->kept->shard_nodes;
    NODE_EACH (node, s->model)
        node->in_shard = false;
    for (size_t i = 0; i < names->n; i++) {
        struct node *node = node_find(s->model, names->at[i]);
        if (node)
            node->in_shard = true;
    }
}

static void read_cursor(struct session *s)
{
    const struct berth_memo *memo = shelf_get(&s->model->shelves[BERTH_MEMO], "cursor");

    if (s->policy->search != SEARCH_SAMPLE || !memo || memo->size != sizeof(s->cursor))
        return;
    for (size_t i = 0; i < sizeof(s->cursor); i++)
        s->cursor |= (uint32_t)((const unsigned char *)memo->data)[i] << (8 * i);
}

/* What queues share. Only profiles that count all nodes, whatever their state, add it up anew. */
static void set_total(struct session *s)
{
    const struct model *model = s->model;

    for (size_t d = 0; d < model->dims.n; d++) {
        const struct column *c = &model->columns[d];
        if (s->policy->capacity == CAPACITY_USABLE)
            s->total[d] = c->sum_shared;
        for (size_t i = 0; s->policy->capacity == CAPACITY_ALL && i < model->nodes.n; i++)
            if (c->offers[i] < UNLIMITED)
                s->total[d] += c->offers[i];
    }
}

struct session *session_open(struct model *model, const struct setup *setup,
                             const struct berth_cycle_in *in, struct arena *out)
{
    struct session *s = NEW0(struct session);

    s->model = model;
    s->setup = setup;
    s->policy = &setup->policy;
    s->in = *in;
    s->out = out;
    s->lists = &s->arena;
    s->number = ++model->clock;
    s->wake_at_ms = BERTH_NEVER;
    nodes_sort_names(model);
    set_shard(s);
    read_cursor(s);
    s->total = ARENA_NEW0_N(&s->arena, wide, model->dims.n + 1);
    set_total(s);
    for (size_t i = 0; i < setup->n_uses; i++) {
        setup->uses[i].state = NULL;
        if (setup->uses[i].plugin->open)
            setup->uses[i].plugin->open(s, &setup->uses[i]);
    }
    if (setup->is_beam)
        beam_hold(s);
    return s;
}

void session_close(struct session *s)
{
    while (s->log.n) {
        const struct op *op = &s->log.at[s->log.n - 1];
        op_undo(s->model, op);
        op->task->evicted = false;
        s->log.n--;
    }
    for (size_t i = s->setup->n_uses; i-- > 0;)
        outside_close(s, &s->setup->uses[i]);
    beam_close(s);
    hunts_close(s);
    VEC_FINI(&s->log);
    VEC_FINI(&s->groups);
    VEC_FINI(&s->watched);
    VEC_FINI(&s->rooms);
    VEC_FINI(&s->in_company);
    arena_fini(&s->arena);
    arena_fini(&s->scratch);
    arena_fini(&s->tried);
    free(s);
}

void session_wake_at(struct session *s, int64_t at_ms)
{
    if (at_ms > s->in.now_ms && at_ms < s->wake_at_ms)
        s->wake_at_ms = at_ms;
}

void session_note_company(struct session *s, struct task *task)
{
    const struct berth_affinity *affinity = task->group->spec->affinity;

    if (affinity && affinity->n_pod_required && task->evicted &&
        task->state == BERTH_TASK_PIPELINED)
        VEC_PUSH(&s->in_company, task);
}

bool session_is_spent(struct session *s)
{
    if ((s->in.max_tasks && s->n_placed >= s->in.max_tasks) ||
        (s->in.max_steps && s->n_steps >= s->in.max_steps))
        s->limited = true;
    return s->limited;
}

struct seat *seat_of(struct session *s, struct job *job)
{
    struct seat *seat = job->seat;

    if (job->seated == s->number)
        return seat;
    seat = ARENA_NEW0(&s->arena, struct seat);
    seat->is_pending = job->kept->phase == BERTH_PHASE_PENDING;
    if (!s->setup->is_reference && job_n_ready(job))
        seat->is_pending = false;
    seat->why.dim = NOWHERE;
    job->seat = seat;
    job->seated = s->number;
    return seat;
}

struct queue_seat *queue_seat_of(struct session *s, struct queue *queue)
{
    if (queue->seated != s->number) {
        queue->seat = ARENA_NEW0(&s->arena, struct queue_seat);
        queue->seated = s->number;
    }
    return queue->seat;
}

/* What is closed is closed with all that is beneath it. */
static const struct queue *closed_by(struct session *s, struct queue *queue)
{
    struct queue_seat *seat = queue_seat_of(s, queue);
    const struct queue *at = queue;
    size_t steps = 0;

    if (seat->is_looked_up)
        return seat->closed;
    seat->is_looked_up = true;
    while (at && at->kept && at->kept->state != QUEUE_CLOSED && steps++ < QUEUE_DEPTH_MAX)
        at = at->kept->parent ? queue_find(s->model, at->kept->parent) : NULL;
    seat->closed = at && at->kept && at->kept->state == QUEUE_CLOSED ? at : NULL;
    return seat->closed;
}

bool job_is_open(struct session *s, struct job *job, struct why *why)
{
    const struct berth_job *kept = job->kept;

    *why = (struct why){ .dim = NOWHERE };
    if (kept->not_before_ms > s->in.now_ms) {
        session_wake_at(s, kept->not_before_ms);
        why->code = kept->withheld ? kept->withheld : WAIT_BEFORE_START_TIME;
    } else if (kept->withheld && !kept->not_before_ms) {
        why->code = kept->withheld;
    } else if (kept->stopping) {
        why->code = WAIT_HELD;
    } else if (s->setup->is_beam && !job->queue) {
        return true; /* its jobs need none */
    } else if (!job->queue || !job->queue->kept) {
        why->code = WAIT_QUEUE_UNKNOWN;
        why->blocker = job->queue ? job->queue->name : NULL;
    } else if (!s->setup->is_reference && closed_by(s, job->queue)) {
        why->code = WAIT_QUEUE_CLOSED;
        why->blocker = closed_by(s, job->queue)->name;
    }
    return !why->code;
}

const struct held_room *task_room(const struct session *s, const struct task *task)
{
    const struct job *job = task->group->job;
    const struct held_room *room = NULL;

    if (task->state == BERTH_TASK_PIPELINED && job->seated == s->number)
        room = ((const struct seat *)job->seat)->rooms;
    for (; room; room = room->next)
        for (size_t i = 0; i < room->n; i++)
            if (room->at[i] == task)
                return room;
    return NULL;
}

/* How long room is held: for a machine, until it must have come, and then as long as any. */
static int64_t ttl_of(const struct session *s, const struct berth_reservation *r)
{
    int64_t ttl_ms = s->policy->reservation_ttl_ms, boot_ms = s->policy->boot_time_ms;
    bool coming = false;

    if (r->purpose != BERTH_FOR_MACHINE || s->setup->is_beam)
        return ttl_ms;
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct node *node = node_find(s->model, r->parts[i].node);
        coming = coming || !node || !node->kept || node->kept->state == NODE_COMING;
    }
    if (coming)
        return boot_ms;
    return ttl_ms < BERTH_NEVER - boot_ms ? boot_ms + ttl_ms : BERTH_NEVER;
}

bool reservation_holds(struct session *s, const struct berth_reservation *r)
{
    int64_t ttl_ms = ttl_of(s, r);
    int64_t end_ms = r->until_ms ? r->until_ms : BERTH_NEVER;

    if (r->made_at_ms && r->made_at_ms < BERTH_NEVER - ttl_ms && r->made_at_ms + ttl_ms < end_ms)
        end_ms = r->made_at_ms + ttl_ms;
    if (end_ms < BERTH_NEVER)
        session_wake_at(s, end_ms + 1);
    return s->in.now_ms <= end_ms;
}

bool task_is_due(struct session *s, const struct task *task)
{
    if (task->not_before_ms <= s->in.now_ms)
        return true;
    session_wake_at(s, task->not_before_ms);
    return false;
}

static int by_order(const void *a, const void *b, void *s)
{
    return task_cmp(s, *(struct task *const *)a, *(struct task *const *)b);
}

struct victims tasks_pending(struct session *s, const struct job *job, bool best_effort)
{
    struct victims list = { ARENA_NEW0_N(&s->arena, struct task *, job->n[BERTH_TASK_PENDING] + 1),
                            0 };
    bool sorted = true;

    for (size_t g = 0; g < job->n_groups; g++) {
        const struct group *group = &job->groups[g];
        if ((group->kind->best_effort && !best_effort) || !group->n[BERTH_TASK_PENDING])
            continue;
        for (uint32_t i = 0; i < group->spec->replicas; i++) {
            struct task *task = &group->tasks[i];
            if (task->state != BERTH_TASK_PENDING || !task_is_due(s, task))
                continue;
            sorted = sorted && (!list.n || task_cmp(s, list.at[list.n - 1], task) < 0);
            list.at[list.n++] = task;
        }
    }
    if (!sorted)
        qsort_r(list.at, list.n, sizeof(*list.at), by_order, s);
    return list;
}

void seat_list(struct session *s, struct job *job)
{
    struct seat *seat = seat_of(s, job);

    if (seat->is_listed)
        return;
    seat->is_listed = true;
    seat->failed = ARENA_NEW0_N(&s->arena, bool, job->n_groups + 1);
    seat->list = tasks_pending(s, job, false);
}

/* --- Gangs */

uint32_t job_n_ready(const struct job *job)
{
    return job_n_allocated(job) + job->n[BERTH_TASK_SUCCEEDED];
}

uint64_t job_n_of_kind(const struct job *job, size_t from)
{
    const struct kind *kind = job->groups[from].kind;
    uint64_t n = 0;

    for (size_t i = 0; i < from; i++)
        if (job->groups[i].kind == kind)
            return 0;
    for (size_t i = from; i < job->n_groups; i++)
        if (job->groups[i].kind == kind)
            n += job->groups[i].spec->replicas;
    return n;
}

bool job_is_short(const struct job *job)
{
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED] < job->min_available;
}

uint32_t job_n_best_effort(const struct job *job)
{
    uint32_t n = 0;

    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].kind->best_effort)
            n += job->groups[i].n[BERTH_TASK_PENDING];
    return n;
}

uint32_t job_n_valid(const struct job *job)
{
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED] + job->n[BERTH_TASK_PENDING];
}

static uint32_t role_count(const struct job *job, const char *role, int what)
{
    uint32_t count = 0;

    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *g = &job->groups[i];
        if (strcmp(g->spec->role ? g->spec->role : "", role) != 0)
            continue;
        count += group_n_ready(g);
        if (what >= 1)
            count += g->n[BERTH_TASK_PIPELINED];
        if (what == 2 || g->kind->best_effort)
            count += g->n[BERTH_TASK_PENDING];
    }
    return count;
}

/* How many of a role of the job are ready, beyond its minimum or short of it. */
static int64_t role_beyond(const struct job *job, uint32_t role)
{
    int64_t n = -(int64_t)job->kept->minima[role].n;

    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].role == role)
            n += group_n_ready(&job->groups[i]);
    return n;
}

static uint32_t role_lacks(const struct job *job, uint32_t role)
{
    int64_t lacks = -role_beyond(job, role);

    for (size_t i = 0; i < job->n_groups && lacks > 0; i++)
        if (job->groups[i].role == role)
            lacks -= job->groups[i].n[BERTH_TASK_PIPELINED];
    return lacks > 0 ? (uint32_t)lacks : 0;
}

uint32_t job_lacks_roles(const struct job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; job->has_roles && i < job->kept->n_minima; i++)
        n += role_lacks(job, i);
    return n;
}

uint32_t group_lacks_role(const struct group *group)
{
    return group->role == NOWHERE ? 0 : role_lacks(group->job, group->role);
}

static uint32_t n_placed(const struct job *job)
{
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED];
}

bool job_lacks(const struct job *job, uint32_t goal)
{
    return n_placed(job) < goal || job_lacks_roles(job);
}

bool group_is_lacking(const struct group *group, uint32_t goal)
{
    return group_lacks_role(group) || n_placed(group->job) + job_lacks_roles(group->job) < goal;
}

bool job_has_minimum(const struct job *job)
{
    if (job_n_ready(job) < job->min_available)
        return false;
    for (uint32_t i = 0; job->has_roles && i < job->kept->n_minima; i++)
        if (role_beyond(job, i) < 0)
            return false;
    return true;
}

uint32_t job_spares(const struct job *job)
{
    return job_has_minimum(job) ? job_n_ready(job) - job->min_available : 0;
}

int64_t group_beyond(const struct group *group)
{
    return group->role == NOWHERE ? INT64_MAX : role_beyond(group->job, group->role);
}

uint32_t group_spares(const struct group *group)
{
    uint32_t spares = job_spares(group->job);
    int64_t beyond = spares ? group_beyond(group) : 0;

    return beyond < (int64_t)spares ? (uint32_t)beyond : spares;
}

uint32_t job_spares_any(const struct job *job)
{
    uint32_t least = job_spares(job);

    for (uint32_t i = 0; job->has_roles && least && i < job->kept->n_minima; i++) {
        int64_t beyond = job->kept->minima[i].n ? role_beyond(job, i) : least;
        least = beyond < (int64_t)least ? (uint32_t)beyond : least;
    }
    return least;
}

bool job_roles_hold(const struct job *job, int what)
{
    const struct berth_job *kept = job->kept;
    uint64_t sum = 0;

    for (size_t i = 0; i < kept->n_minima; i++)
        sum += kept->minima[i].n;
    if (job->min_available < sum)
        return true; /* the job as a whole asks for less than its roles: they do not bind */
    for (size_t i = 0; i < kept->n_minima; i++)
        if (kept->minima[i].n && role_count(job, kept->minima[i].role ? kept->minima[i].role : "",
                                            what) < kept->minima[i].n)
            return false;
    return true;
}

/*
 * Reasons: why a task that was looked at still waits, with the numbers behind it.
 *
 * Every node counts under the first check that it fails, so the counts of a class add up to
 * the number of nodes. Of a job's reasons the one that no waiting can cure comes first.
 */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "engine/demand.h"
#include "engine/detail.h"
#include "engine/devices.h"
#include "engine/explain.h"
#include "engine/fit.h"
#include "engine/lines.h"
#include "engine/res.h"
#include "engine/session.h"
#include "engine/topology.h"

static const char *dim_name(struct session *s, uint32_t dim)
{
    return dim == NOWHERE ? NULL : arena_text(s->out, s->model->dims.at[dim]->name);
}

/* The largest offer of a dimension by any node. */
static int64_t largest(const struct model *model, uint32_t dim)
{
    int64_t most = 0;

    for (size_t i = 0; i < model->nodes.n; i++)
        if (model->columns[dim].offers[i] > most)
            most = model->columns[dim].offers[i];
    return most;
}

static bool fits_when_empty(const struct model *model, const struct kind *kind, uint32_t at)
{
    for (size_t i = 0; i < kind->asks.n; i++)
        if (model->columns[kind->asks.at[i].dim].offers[at] < kind->asks.at[i].value)
            return false;
    return true;
}

/* Whether no node could hold such a task, even empty; names what it is too large in. */
static bool is_too_large(const struct model *model, const struct kind *kind, uint32_t *dim)
{
    *dim = NOWHERE;
    for (size_t i = 0; i < kind->asks.n; i++) {
        if (largest(model, kind->asks.at[i].dim) < kind->asks.at[i].value) {
            *dim = kind->asks.at[i].dim;
            return true;
        }
    }
    for (uint32_t i = 0; i < model->nodes.n; i++)
        if (fits_when_empty(model, kind, i))
            return false;
    return true;
}

static void list_counts(struct session *s, const struct fit_counts *counts,
                        struct berth_reason *reason)
{
    struct berth_node_count *list =
        ARENA_NEW0_N(s->out, struct berth_node_count, WAIT_CODE_COUNT + counts->n_dims);
    size_t n = 0;

    for (int code = WAIT_FIRST_OF_NODE; code < WAIT_CODE_COUNT; code++) {
        if (counts->by_code[code])
            list[n++] =
                (struct berth_node_count){ (enum wait_code)code, NULL, counts->by_code[code] };
        for (uint32_t d = 0; d < counts->n_dims; d++)
            if (counts->by_dim[d] && s->model->dims.at[d]->code == (enum wait_code)code)
                list[n++] = (struct berth_node_count){ (enum wait_code)code, dim_name(s, d),
                                                       counts->by_dim[d] };
    }
    if (counts->n_fit)
        list[n++] = (struct berth_node_count){ WAIT_NONE, NULL, counts->n_fit };
    reason->counts = list;
    reason->n_counts = n;
}

/* The job that holds most of a dimension on a node, who is leaving aside: without them it is short
 * too. @but  a job that is not meant, or NULL */
static const char *holder_of(struct session *s, const struct node *node, uint32_t dim,
                             const char *but)
{
    const struct job *holder = NULL;
    int64_t most = 0;

    VEC_EACH (task, &node->tasks) {
        const struct job *job = (*task)->group->job;
        int64_t sum = 0;
        if (but && text_eq(job->id, but))
            continue;
        VEC_EACH (other, &node->tasks)
            if ((*other)->group->job == job && (*other)->state != BERTH_TASK_RELEASING)
                sum = wrap_add(sum, asks_of(task_asks(*other), dim));
        if (sum > most || (sum == most && holder && job_rank_cmp(job, holder) < 0)) {
            most = sum;
            holder = job;
        }
        if (node->tasks.n > 64)
            break; /* too many to compare; the first must do */
    }
    return holder ? arena_text(s->out, holder->id) : NULL;
}

/* The node with most of a dimension idle, and the most that one offers: of those that the task may
 * run on, or of all where it may run on none. */
static const struct node *nearest_node(struct session *s, struct kind *kind, uint32_t dim,
                                       bool of_all, int64_t *limit)
{
    const struct column *c = &s->model->columns[dim];
    const struct node *best = NULL;

    *limit = 0;
    for (uint32_t i = 0; i < s->model->nodes.n; i++) {
        if (best && column_idle(c, i) <= column_idle(c, best->at) && c->offers[i] <= *limit)
            continue;
        if (!of_all && fit_predicate(s, kind, s->model->nodes.at[i]))
            continue;
        if (!best || column_idle(c, i) > column_idle(c, best->at))
            best = s->model->nodes.at[i];
        if (c->offers[i] > *limit)
            *limit = c->offers[i];
    }
    return best || of_all ? best : nearest_node(s, kind, dim, true, limit);
}

/* Fills in a reason that is about one dimension: the node that came nearest. */
static void explain_dim(struct session *s, struct kind *kind, uint32_t dim,
                        struct berth_reason *reason)
{
    const struct column *c = &s->model->columns[dim];
    const struct node *best = nearest_node(s, kind, dim, false, &reason->limit);

    reason->resource = dim_name(s, dim);
    reason->asked = asks_of(kind_charge(s->model, kind), dim);
    if (reason->asked > largest(s->model, dim))
        reason->limit = largest(s->model, dim); /* wherever it might run */
    if (!best)
        return;
    reason->free = column_idle(c, best->at);
    if (reason->free >= reason->asked) /* what is free is promised */
        reason->free = column_future(c, best->at);
    reason->free = reason->free < 0 ? 0 : reason->free;
    reason->node = arena_text(s->out, best->id);
    if (reason->asked <= reason->limit) /* else it would not fit if nobody held anything */
        reason->blocker = holder_of(s, best, dim, NULL);
}

/* Fills in a reason that is about something else than room: the first node that says it; `large`: of
 * those that could hold the task. */
static void explain_words(struct session *s, struct kind *kind, bool large,
                          struct berth_reason *reason)
{
    NODE_EACH (node, s->model) {
        struct berth_node_reason detail = { 0 };
        if ((large && !fits_when_empty(s->model, kind, node->at)) ||
            fit_predicate(s, kind, node) != reason->code)
            continue;
        detail_of(s->model, kind, node, reason->code, s->out, &detail);
        reason->node = arena_text(s->out, node->id);
        reason->wants = detail.wants;
        reason->has = detail.has;
        return;
    }
}

/* The code under which most nodes count; of equals the one asked first. */
static enum wait_code most_nodes(const struct fit_counts *counts)
{
    enum wait_code most = WAIT_NONE;

    for (int code = WAIT_FIRST_OF_NODE; code < WAIT_CODE_COUNT; code++)
        if (counts->by_code[code] && (!most || counts->by_code[code] > counts->by_code[most]))
            most = (enum wait_code)code;
    return most;
}

static uint32_t most_dim(const struct session *s, const struct fit_counts *counts)
{
    uint32_t most = NOWHERE;

    for (uint32_t d = 0; d < counts->n_dims; d++)
        if (counts->by_dim[d] &&
            (most == NOWHERE || counts->by_dim[d] > counts->by_dim[most] ||
             (counts->by_dim[d] == counts->by_dim[most] && dim_before(s->model, d, most))))
            most = d;
    return most;
}

/* Whether a node's refusal is of what it is, not of what it holds or of how it is at the moment. */
static bool is_lasting(enum wait_code code)
{
    return code >= WAIT_SHARD && code <= WAIT_VOLUME_ABSENT && code != WAIT_NODE_BUSY &&
           code != WAIT_PORT_TAKEN;
}

/* What keeps the task off all nodes that could hold it, where those that it may run on never could:
 * no room that comes free will help. WAIT_NONE: some may. */
static enum wait_code kept_off(struct session *s, struct kind *kind)
{
    uint32_t by_code[WAIT_CODE_COUNT] = { 0 };
    enum wait_code most = WAIT_NONE;

    NODE_EACH (node, s->model) {
        enum wait_code code;
        if (!fits_when_empty(s->model, kind, node->at))
            continue;
        code = fit_predicate(s, kind, node);
        if (!is_lasting(code))
            return WAIT_NONE;
        if (++by_code[code] > by_code[most])
            most = code;
    }
    return most;
}

/* Whether no action of the profile places such tasks: then nobody is in front of them. */
static bool is_passed_over(const struct session *s, const struct kind *kind)
{
    return kind->best_effort && !setup_has_action(s->setup, "backfill");
}

static void choose_code(struct session *s, struct kind *kind, const struct fit_counts *counts,
                        struct berth_reason *reason)
{
    uint32_t dim;

    if (!s->model->nodes.n) {
        reason->code = WAIT_NO_NODE_KNOWN;
    } else if (is_too_large(s->model, kind, &dim)) {
        reason->code = WAIT_LARGER_THAN_ANY_NODE;
        if (dim != NOWHERE)
            explain_dim(s, kind, dim, reason);
    } else if (counts->n_fit) {
        reason->code = s->limited || is_passed_over(s, kind) ? WAIT_NOT_YET_CONSIDERED
                                                             : WAIT_BEHIND_HIGHER_RANK;
        if (!s->limited && is_passed_over(s, kind))
            reason->wants = "the action backfill: no other places what asks for nothing";
    } else if ((reason->code = kept_off(s, kind))) {
        explain_words(s, kind, true, reason);
    } else if ((dim = most_dim(s, counts)) != NOWHERE) {
        reason->code = s->model->dims.at[dim]->code;
        explain_dim(s, kind, dim, reason);
    } else {
        reason->code = most_nodes(counts);
        dim = reason->code == WAIT_FRAGMENTED ? kind_device_dim(s->model, kind) : NOWHERE;
        if (dim != NOWHERE)
            explain_dim(s, kind, dim, reason);
        explain_words(s, kind, false, reason);
    }
}

const struct berth_reason *kind_reason(struct session *s, struct kind *kind)
{
    struct berth_reason *reason;
    struct fit_counts counts;

    kind_answers_begin(s, kind);
    if (kind->reason)
        return kind->reason;
    reason = ARENA_NEW0(s->out, struct berth_reason);
    fit_count(s, kind, &s->arena, &counts);
    choose_code(s, kind, &counts, reason);
    list_counts(s, &counts, reason);
    kind->reason = reason;
    return reason;
}

static struct berth_reason *why_reason(struct session *s, const struct why *why, int64_t until_ms)
{
    struct berth_reason *reason = ARENA_NEW0(s->out, struct berth_reason);

    reason->code = why->code;
    reason->resource = dim_name(s, why->dim);
    reason->asked = wide_clamp(why->asked);
    reason->free = wide_clamp(why->free);
    reason->limit = wide_clamp(why->limit);
    reason->blocker = why->blocker ? arena_text(s->out, why->blocker) : NULL;
    reason->until_ms = until_ms > s->in.now_ms ? until_ms : 0;
    return reason;
}

/* How many tasks of the kind the nodes could hold if they were empty; `later`: and those too that are
 * away or closed for now. */
static uint64_t most_ever(struct session *s, struct kind *kind, bool later)
{
    const struct model *model = s->model;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < model->nodes.n; i++) {
        uint64_t here = UINT32_MAX;
        enum wait_code code = fit_predicate(s, kind, model->nodes.at[i]);
        if (later ? is_lasting(code) : code && code < WAIT_NODE_BUSY)
            continue;
        for (size_t k = 0; k < kind->asks.n; k++) {
            uint64_t fit =
                (uint64_t)(model->columns[kind->asks.at[k].dim].offers[i] / kind->asks.at[k].value);
            here = fit < here ? fit : here;
        }
        sum += here;
    }
    return sum;
}

uint64_t kind_n_ever(struct session *s, struct kind *kind)
{
    kind_answers_begin(s, kind);
    if (kind->n_ever == UINT64_MAX)
        kind->n_ever = most_ever(s, kind, false);
    return kind->n_ever;
}

/* How many of its tasks the nodes held if they were empty, each kind by itself; from its minimum on
 * they are not counted. What succeeded needs no room any more. */
static uint64_t most_of(struct session *s, const struct job *job)
{
    uint64_t sum = job->n[BERTH_TASK_SUCCEEDED];

    for (size_t i = 0; i < job->n_groups && sum < job->min_available; i++) {
        uint64_t n = job_n_of_kind(job, i);
        uint64_t most = n ? kind_n_ever(s, job->groups[i].kind) : 0;
        sum += n < most ? n : most;
    }
    return sum;
}

/* Likewise all kinds together, of what it still needs; as many as that: it may be larger all the same. */
static uint64_t most_together(struct session *s, struct job *job)
{
    uint64_t held = job_n_ready(job) + job->n[BERTH_TASK_PIPELINED];

    if (held + 1 >= job->min_available)
        return job->min_available;
    return held + demand_together(s, job, job->min_available - held);
}

static bool is_larger_than_cluster(struct session *s, struct job *job)
{
    return most_of(s, job) < job->min_available || most_together(s, job) < job->min_available;
}

static bool is_alike(const struct job *job)
{
    return job->n_groups && job_n_of_kind(job, 0) == job->n_tasks;
}

static const char *stuck_group(struct session *s, const struct job *job, const struct kind *kind)
{
    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].kind == kind)
            return arena_text(s->out, job->groups[i].spec->name);
    return NULL;
}

static const struct berth_reason *gang_reason(struct session *s, struct job *job,
                                              const struct seat *seat)
{
    struct kind *kind = seat->stuck ? seat->stuck : job->groups[0].kind;
    const struct berth_reason *stuck = kind_reason(s, kind);
    struct berth_reason *reason;

    if (stuck->code == WAIT_LARGER_THAN_ANY_NODE || stuck->code == WAIT_NO_NODE_KNOWN)
        return stuck;
    reason = ARENA_NEW0(s->out, struct berth_reason);
    *reason = *stuck;
    reason->code = WAIT_GANG_INCOMPLETE;
    reason->placed = seat->placed;
    reason->promised = seat->promised;
    reason->needed = job->min_available;
    reason->stuck_group = stuck_group(s, job, kind);
    if (is_alike(job) && is_lasting(stuck->code) && !kind_n_ever(s, kind)) {
        reason->code = stuck->code; /* not even one: what keeps each off is why, not how many */
    } else if (is_larger_than_cluster(s, job)) {
        reason->code = WAIT_LARGER_THAN_CLUSTER;
        reason->placed = (uint32_t)most_of(s, job);
        if (reason->placed >= job->min_available)
            reason->placed = (uint32_t)most_together(s, job);
        reason->wants = reason->has = NULL; /* what one node lacks is not why */
    }
    return reason;
}

/* What a job's minimum asks for together, where it is known which tasks make it up: all, or of some that are alike. */
static struct asks asks_of_minimum(struct session *s, const struct job *job)
{
    struct asks asks = { ARENA_NEW0_N(&s->arena, struct ask, s->model->dims.n + 1), 0 };
    wide *sum = res_new(s);

    if (job->min_available < job->n_tasks && !is_alike(job))
        return asks;
    for (size_t i = 0; i < job->n_groups; i++)
        res_add_asks(sum, kind_charge(s->model, job->groups[i].kind),
                     job->min_available < job->n_tasks ? (i ? 0 : (int64_t)job->min_available)
                                                       : (int64_t)job->groups[i].spec->replicas);
    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (sum[d] > 0)
            asks.at[asks.n++] = (struct ask){ d, wide_clamp(sum[d]) };
    return asks;
}

/* A gang whose minimum is more than its queue's cap, or one above it, though each of its tasks is less; NULL: it is not. */
static const struct berth_reason *minimum_never(struct session *s, const struct job *job)
{
    struct why why = { .dim = NOWHERE };
    struct kind all;

    if (s->setup->is_reference || job->min_available < 2 || !job->n_groups || !job->queue ||
        !job->queue->kept)
        return NULL;
    all = kind_asking(s->model, job->groups[0].kind, asks_of_minimum(s, job));
    if (queue_may_allocate(s, job->queue, &all, &why) || why.code != WAIT_LARGER_THAN_QUEUE)
        return NULL;
    return why_reason(s, &why, 0);
}

static const struct berth_reason *domain_reason(struct session *s, struct job *job)
{
    struct berth_reason *reason = ARENA_NEW0(s->out, struct berth_reason);
    const struct berth_topology *wanted = &job->kept->topology;
    const struct topology *t = topology_of(s);
    int tier;

    reason->code = WAIT_TOPOLOGY;
    if (wanted->mode != BERTH_TOPOLOGY_HARD || !topology_tier(s, wanted, &tier))
        return reason;
    if (wanted->tier_name && wanted->tier_name[0])
        reason->wants =
            arena_format(s->out, "one network domain of tier %s at most", wanted->tier_name);
    else
        reason->wants = arena_format(s->out, "one network domain of tier %d at most", tier);
    if (t->n == 1)
        reason->has = "no network domains";
    else if (t->least_tier > tier)
        reason->has = arena_format(s->out, "none below tier %d", t->least_tier);
    else if (demand_in_domain(s, job) < job->min_available)
        reason->has = arena_format(s->out,
                                   "none that would hold more than %" PRIu64 " of its %" PRIu32
                                   " tasks, were it empty",
                                   demand_in_domain(s, job), job->min_available);
    return reason;
}

const struct berth_reason *kind_never(struct session *s, struct job *job, struct kind *kind)
{
    struct berth_reason *reason = ARENA_NEW0(s->out, struct berth_reason);
    struct why why = { .dim = NOWHERE };
    struct fit_counts counts;
    uint32_t dim, n_lasting = 0;

    if (job->queue && job->queue->kept && !queue_may_allocate(s, job->queue, kind, &why) &&
        why.code == WAIT_LARGER_THAN_QUEUE)
        return why_reason(s, &why, 0);
    if (!s->model->nodes.n) {
        reason->code = WAIT_NO_NODE_KNOWN;
        return reason;
    }
    fit_count(s, kind, &s->arena, &counts);
    for (int code = WAIT_FIRST_OF_NODE; code < WAIT_CODE_COUNT; code++)
        n_lasting += is_lasting((enum wait_code)code) ? counts.by_code[code] : 0;
    if (is_too_large(s->model, kind, &dim)) {
        reason->code = WAIT_LARGER_THAN_ANY_NODE;
        if (dim != NOWHERE)
            explain_dim(s, kind, dim, reason);
    } else if (n_lasting == s->model->nodes.n) {
        reason->code = most_nodes(&counts);
        explain_words(s, kind, false, reason);
    } else if ((reason->code = kept_off(s, kind))) {
        explain_words(s, kind, true, reason);
    } else if (job->n_groups == 1 && most_ever(s, kind, true) < job->min_available) {
        reason->code = WAIT_LARGER_THAN_CLUSTER;
        reason->needed = job->min_available;
        reason->placed = (uint32_t)most_ever(s, kind, true);
    } else if (demand_in_domain(s, job) < job->min_available) {
        return domain_reason(s, job);
    } else {
        return minimum_never(s, job);
    }
    list_counts(s, &counts, reason);
    return reason;
}

struct verdicts {
    VEC_OF(struct berth_verdict) list;
};

/* Reasons are shared by all jobs that ask for the same: no job is told that it holds itself up. */
static const struct berth_reason *reason_for(struct session *s, const char *job,
                                             const struct berth_reason *reason)
{
    struct berth_reason *own;
    const struct node *node = reason->node ? node_find(s->model, reason->node) : NULL;
    uint32_t dim = reason->resource ? dim_find(s->model, reason->resource) : NOWHERE;

    if (!reason->blocker || strcmp(reason->blocker, job) != 0)
        return reason;
    own = ARENA_NEW0(s->out, struct berth_reason);
    *own = *reason;
    own->blocker = node && dim != NOWHERE ? holder_of(s, node, dim, job) : NULL;
    return own;
}

static void add(struct session *s, struct verdicts *v, const char *job, const char *group,
                uint32_t n, const struct berth_reason *reason)
{
    if (n)
        VEC_PUSH(&v->list, ((struct berth_verdict){ job, group ? arena_text(s->out, group) : NULL,
                                                    n, reason_for(s, job, reason) }));
}

/* Those of a group that are in back-off, and until when. */
static uint32_t backed_off(const struct session *s, const struct group *group, int64_t *until_ms)
{
    uint32_t n = 0;

    *until_ms = BERTH_NEVER;
    for (uint32_t i = 0; group->n_backed_off && i < group->spec->replicas; i++) {
        const struct task *task = &group->tasks[i];
        if (task->state != BERTH_TASK_PENDING || task->not_before_ms <= s->in.now_ms)
            continue;
        n++;
        if (task->not_before_ms < *until_ms)
            *until_ms = task->not_before_ms;
    }
    return n;
}

/* Whether the room that a task is promised is not free yet. */
static bool is_being_freed(const struct model *model, const struct task *task)
{
    const struct asks *asks = task_asks(task);

    for (size_t i = 0; i < asks->n; i++) {
        const struct column *c = &model->columns[asks->at[i].dim];
        if (c->pipelined[task->node->at] > column_idle(c, task->node->at))
            return true;
    }
    return false;
}

/* The first that a job was promised on a machine on its way, or (freed) on room that is not free yet. */
static const struct task *first_promised(const struct session *s, const struct job *job, bool freed)
{
    for (size_t i = 0; job->n[BERTH_TASK_PIPELINED] && i < job->n_tasks; i++) {
        const struct task *task = &job->tasks[i];
        if (task->state == BERTH_TASK_PIPELINED &&
            (freed ? !task_is_on_machine(task) && is_being_freed(s->model, task)
                   : task_is_on_machine(task)))
            return task;
    }
    return NULL;
}

/* Whether a job's turn comes before another's. */
static bool goes_before(struct session *s, const struct job *a, const struct job *b)
{
    if (a->queue == b->queue || !a->queue || !b->queue)
        return job_cmp(s, a, b) < 0;
    return queue_cmp(s, a->queue, b->queue) < 0;
}

/* Who is being stopped where a task is promised room, and stands in front of it when it waits again;
 * who has a reservation gets the room all the same. */
static const struct job *who_returns(struct session *s, const struct task *task)
{
    if (task_room(s, task) || s->setup->is_reference)
        return NULL;
    VEC_EACH (other, &task->node->tasks) {
        const struct job *job = (*other)->group->job;
        if (task_comes_back(*other) && goes_before(s, job, task->group->job))
            return job;
    }
    return NULL;
}

/* What a queue says is asked last: its word may change, but not that no node could hold the task. */
static bool is_of_queue(const struct why *why)
{
    return why->code == WAIT_OVER_CAP || why->code == WAIT_LARGER_THAN_QUEUE;
}

static const struct berth_reason *group_reason(struct session *s, const struct group *group)
{
    const struct seat *seat = seat_of(s, group->job);
    const struct wait_note *note = seat->notes ? &seat->notes[group->at] : NULL;

    if (note && is_of_queue(&note->why) &&
        kind_reason(s, group->kind)->code == WAIT_LARGER_THAN_ANY_NODE)
        return kind_reason(s, group->kind);
    return note && note->why.code ? why_reason(s, &note->why, note->until_ms)
                                  : kind_reason(s, group->kind);
}

/* Whether some of a job's queue are being stopped, who count in it until they have ended. */
static bool are_stopping(const struct job *job)
{
    const struct job *other = job->queue ? job->queue->first : NULL;

    while (other && !other->n[BERTH_TASK_RELEASING])
        other = other->queue_next;
    return other != NULL;
}

/* Why a task whose room is free and its node there has not begun, if no other of its job waits for room. */
static const struct berth_reason *why_not_begun(struct session *s, const struct task *task)
{
    struct job *job = task->group->job;
    struct why why = { .code = WAIT_WAITING_FOR_EVICTION, .dim = NOWHERE };

    if (!node_takes_work(task->node->kept->state)) {
        why.code = WAIT_NODE_NOT_READY;
        why.blocker = task->node->id;
    } else if (job_is_short(job)) {
        return gang_reason(s, job, seat_of(s, job));
    } else if (are_stopping(job) || task_may_start(s, task, &why)) {
        why.code = WAIT_WAITING_FOR_EVICTION;
    }
    return why_reason(s, &why, 0);
}

/* Likewise if its room goes back to who gives it up. */
static const struct berth_reason *why_returned(struct session *s, const struct task *task,
                                               const struct job *returns)
{
    struct berth_reason *reason = ARENA_NEW0(s->out, struct berth_reason);

    *reason = *kind_reason(s, task->group->kind);
    reason->blocker = arena_text(s->out, returns->id);
    return reason;
}

/* What a job's tasks that are promised room wait for. */
struct promised {
    const struct task *machine,
        *freed; /* the first of them on one on its way, on room not free yet */
};

static const struct berth_reason *why_promised(struct session *s, const struct task *task,
                                               const struct promised *p)
{
    bool rides = task_is_on_machine(task);
    const struct job *returns = rides ? NULL : who_returns(s, task);
    bool is_there = !rides && !s->setup->is_reference && !is_being_freed(s->model, task);
    struct why why = { .code = WAIT_WAITING_FOR_EVICTION, .dim = NOWHERE };

    if (returns)
        return why_returned(s, task, returns);
    if (is_there && !p->machine && !p->freed)
        return why_not_begun(s, task);
    if (rides || (is_there && p->machine)) {
        why.code = WAIT_WAITING_FOR_MACHINE;
        why.blocker = p->machine->node->id;
    }
    return why_reason(s, &why, 0);
}

/* Of a group's tasks that are promised room: those that wait for the same in one verdict. */
static void promised_verdicts(struct session *s, struct verdicts *v, const char *id,
                              const struct group *group)
{
    const struct job *job = group->job;
    struct promised promised = { first_promised(s, job, false), first_promised(s, job, true) };
    size_t from = v->list.n;

    for (uint32_t i = 0; group->n[BERTH_TASK_PIPELINED] && i < group->spec->replicas; i++) {
        const struct berth_reason *own;
        size_t k = from;
        if (group->tasks[i].state != BERTH_TASK_PIPELINED)
            continue;
        own = reason_for(s, id, why_promised(s, &group->tasks[i], &promised));
        while (k < v->list.n && (v->list.at[k].reason->code != own->code ||
                                 !text_eq(v->list.at[k].reason->blocker, own->blocker)))
            k++;
        if (k < v->list.n)
            v->list.at[k].n_tasks++;
        else
            add(s, v, id, group->spec->name, 1, own);
    }
}

/* Tasks that found room and are not bound wait for what others of their gang were promised. */
static void add_held(struct session *s, struct verdicts *v, const char *id,
                     const struct group *group)
{
    const struct job *job = group->job;
    const uint32_t *held = seat_of(s, group->job)->held;
    struct why why = { .code = WAIT_GANG_INCOMPLETE, .dim = NOWHERE };
    struct berth_reason *reason;
    uint32_t n_held = 0;

    for (size_t i = 0; i < job->n_tasks && held; i++)
        if (job->tasks[i].state == BERTH_TASK_PIPELINED)
            why.code = task_is_on_machine(&job->tasks[i]) ? WAIT_WAITING_FOR_MACHINE
                                                          : WAIT_WAITING_FOR_EVICTION;
    if (!held)
        return;
    for (size_t i = 0; i < job->n_groups; i++)
        n_held += held[i];
    reason = why_reason(s, &why, 0);
    if (why.code == WAIT_GANG_INCOMPLETE) {
        reason->placed = job_n_ready(job) + n_held;
        reason->promised = job->n[BERTH_TASK_PIPELINED];
        reason->needed = job->min_available;
    }
    add(s, v, id, group->spec->name, held[group->at], reason);
}

static void group_verdicts(struct session *s, struct verdicts *v, const char *id,
                           const struct group *group)
{
    struct why why = { .code = WAIT_RETRY_BACKOFF, .dim = NOWHERE };
    int64_t until_ms;
    uint32_t n_back = backed_off(s, group, &until_ms);
    uint32_t n_pending = group->n[BERTH_TASK_PENDING];

    if (n_back) {
        session_wake_at(s, until_ms);
        add(s, v, id, group->spec->name, n_back, why_reason(s, &why, until_ms));
    }
    promised_verdicts(s, v, id, group);
    if (n_pending > n_back)
        add(s, v, id, group->spec->name, n_pending - n_back, group_reason(s, group));
    add_held(s, v, id, group);
}

/* A job that asked for a deadline and did not start by then fails for what it waited for. */
static void mind_deadline(struct session *s, const struct job *job,
                          const struct berth_reason *reason)
{
    int64_t at = job->kept->deadline_at_ms;

    if (!at || job_n_ready(job) || job->n[BERTH_TASK_RELEASING])
        return;
    session_wake_at(s, at);
    if (at <= s->in.now_ms)
        answer_fail(s, job, reason->code, "deadline");
}

/* When a waiting job's rank grows next, if that could change the order. */
static void mind_aging(struct session *s, const struct job *job)
{
    int64_t step = s->policy->aging_step_ms, from = job->kept->created_at_ms;

    if (step && from && s->in.now_ms >= from && (s->in.now_ms - from) / step < s->policy->aging_max)
        session_wake_at(s, from + ((s->in.now_ms - from) / step + 1) * step);
}

/* Why the whole job waits: that too few of its tasks could ever be placed goes before its queue. */
static const struct berth_reason *job_reason(struct session *s, struct job *job, struct seat *seat)
{
    uint64_t n = job_n_ready(job) + job->n[BERTH_TASK_PIPELINED];
    struct kind *large = NULL;

    for (size_t i = 0; is_of_queue(&seat->why) && i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        if (!group->n[BERTH_TASK_PENDING])
            continue;
        if (kind_reason(s, group->kind)->code != WAIT_LARGER_THAN_ANY_NODE)
            n += group->n[BERTH_TASK_PENDING];
        else if (!large)
            large = group->kind;
    }
    if (large && n < (job->min_available ? job->min_available : 1))
        return kind_reason(s, large);
    if (is_of_queue(&seat->why) && job->min_available > 1 && is_larger_than_cluster(s, job))
        return gang_reason(s, job, seat);
    return why_reason(s, &seat->why, job->kept->not_before_ms);
}

/* No network domain holds the job: which it wants, and whether there are any of those. */
static void job_verdicts(struct session *s, struct verdicts *v, struct job *job)
{
    uint32_t n = job->n[BERTH_TASK_PENDING] + job->n[BERTH_TASK_PIPELINED];
    struct seat *seat = job->seated == s->number ? job->seat : NULL;
    const struct berth_reason *never = NULL;
    const char *id;

    for (size_t i = 0; seat && seat->held && i < job->n_groups; i++)
        n += seat->held[i];
    if (!n || job->kept->stopping)
        return;
    id = arena_text(s->out, job->id);
    seat = seat_of(s, job);
    mind_aging(s, job);
    if (!seat->why.code && !seat->was_tried)
        job_is_open(s, job, &seat->why);
    if ((seat->why.code == WAIT_OVER_CAP || seat->stuck) && job_is_short(job))
        never = minimum_never(s, job);
    if (never && !is_larger_than_cluster(s, job)) {
        add(s, v, id, NULL, n, never);
        return;
    }
    if (seat->why.code) {
        add(s, v, id, NULL, n, job_reason(s, job, seat));
        return;
    }
    if (seat->no_domain && !job->n[BERTH_TASK_PIPELINED]) {
        add(s, v, id, NULL, n, domain_reason(s, job));
        return;
    }
    if (job->min_available > 1 && seat->stuck && job_is_short(job)) {
        add(s, v, id, NULL, n, gang_reason(s, job, seat));
        return;
    }
    for (size_t i = 0; i < job->n_groups; i++)
        group_verdicts(s, v, id, &job->groups[i]);
}

static void job_answers(struct session *s, struct verdicts *v, struct job *job)
{
    size_t before = v->list.n;

    job_verdicts(s, v, job);
    if (v->list.n > before)
        mind_deadline(s, job, v->list.at[before].reason);
}

/* What is said of the first of a line that waits holds for all behind it. */
static void line_answers(struct session *s, struct verdicts *v, struct job *job)
{
    struct line *line = job->line;
    struct berth_verdict *said;

    if (lines_head(s, line) == job) {
        line->said = v->list.n;
        job_answers(s, v, job);
        return;
    }
    said = VEC_ADD(&v->list);
    *said = v->list.at[line->said];
    said->job = arena_text(s->out, job->id);
}

/* Whether this session promised it room that is being freed; a scenario's tasks may come so. */
static bool is_promised(const struct session *s, const struct task *task)
{
    if (task->state != BERTH_TASK_PIPELINED || task_is_on_machine(task))
        return false;
    if (!task->is_told)
        return true;
    for (size_t i = s->log.n; i-- > 0;)
        if (s->log.at[i].task == task)
            return true;
    return false;
}

static void list_promised(struct session *s, struct berth_decisions *out)
{
    VEC_OF(struct berth_part) parts = { 0 };

    VEC_EACH (each, &s->watched) {
        const struct job *job = *each;
        if (!job->n[BERTH_TASK_PIPELINED])
            continue;
        for (size_t i = 0; i < job->n_tasks; i++) {
            const struct task *task = &job->tasks[i];
            if (!is_promised(s, task))
                continue;
            struct berth_part *part = VEC_ADD(&parts);
            part->kind = BERTH_PART_RESERVE;
            part->task.job = arena_text(s->out, job->id);
            part->task.group = arena_text(s->out, task->group->spec->name);
            part->task.index = task->index;
            part->node = arena_text(s->out, task->node->id);
        }
    }
    if (parts.n)
        out->promised = arena_copy(s->out, parts.at, parts.n * sizeof(*parts.at));
    out->n_promised = parts.n;
    VEC_FINI(&parts);
}

/* What was given a place and never committed is taken back with the session: it waits. */
static void note_held(struct session *s)
{
    VEC_EACH (op, &s->log) {
        struct job *job = op->task->group->job;
        struct seat *seat;
        if (op->kind != OP_ALLOCATE || op->is_sealed || op->task->state != BERTH_TASK_ALLOCATED)
            continue;
        seat = seat_of(s, job);
        if (!seat->held)
            seat->held = ARENA_NEW0_N(&s->arena, uint32_t, job->n_groups + 1);
        seat->held[op->task->group->at]++;
    }
}

static void job_or_line_answers(struct session *s, struct verdicts *v, struct job *job)
{
    if (lines_cover(s, job))
        line_answers(s, v, job);
    else
        job_answers(s, v, job);
}

static void mark(uint64_t *marks, const struct job *job)
{
    marks[job->at / 64] |= (uint64_t)1 << job->at % 64;
}

/* Those of lines and those beside them, by rank; where few wait, the others are not looked at. */
static void few_answers(struct session *s, struct verdicts *v)
{
    const struct model *model = s->model;
    size_t n = model->jobs.n / 64 + 1;
    uint64_t *marks = ARENA_NEW0_N(&s->arena, uint64_t, n);

    VEC_EACH (job, &s->watched)
        mark(marks, *job);
    LINE_EACH (line, s)
        for (const struct job *job = line->first; job; job = job->line_next)
            mark(marks, job);
    for (size_t i = 0; i < n; i++)
        for (size_t at = i * 64; marks[i]; at++, marks[i] >>= 1)
            if (marks[i] & 1)
                job_or_line_answers(s, v, model->jobs.at[at]);
}

static void all_answers(struct session *s, struct verdicts *v)
{
    size_t n = s->watched.n;

    LINE_EACH (line, s)
        n += line->n;
    if (n < s->model->n_jobs / 2)
        few_answers(s, v);
    else
        JOB_EACH (job, s->model)
            job_or_line_answers(s, v, job);
}

/* Of those that were looked at; in the same order. */
static void brief_answers(struct session *s, struct verdicts *v)
{
    lines_watch_heads(s);
    VEC_EACH (job, &s->watched)
        job_answers(s, v, *job);
}

void answer_verdicts(struct session *s, struct berth_decisions *out)
{
    struct verdicts v = { 0 };

    note_held(s);
    if (s->in.is_brief)
        brief_answers(s, &v);
    else
        all_answers(s, &v);
    out->counts.tasks_waiting = s->model->n_pending;
    if (v.list.n)
        out->verdicts = arena_copy(s->out, v.list.at, v.list.n * sizeof(*v.list.at));
    out->n_verdicts = v.list.n;
    VEC_FINI(&v.list);
    list_promised(s, out);
}

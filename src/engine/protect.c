/* Protect: see protect.h. Who is a head, and what others may do. The plan is in protect_plan.c. */
#include "engine/protect.h"

#include <string.h>

#include "engine/lines.h"

int64_t protect_ends_at(struct session *s, const struct task *task)
{
    int64_t limit_ms = task->group->job->kept->limit_ms, now = s->in.now_ms, at = BERTH_NEVER;
    int64_t from = task->is_told && task->started_at_ms ? task->started_at_ms : now;

    if (task->state == BERTH_TASK_RELEASING)
        return now;
    if (task->state == BERTH_TASK_PIPELINED)
        return BERTH_NEVER; /* who knows when it begins */
    if (task->limit_at_ms)
        at = task->limit_at_ms;
    else if (limit_ms > 0 && limit_ms < BERTH_NEVER - from)
        at = from + limit_ms;
    session_wake_at(s, at - 1);     /* what is overdue already would end as late as this */
    session_wake_at(s, at);         /* if it runs on, what was foreseen is not so */
    return at > now ? at : now + 1; /* overdue: any moment now */
}

/* When a job that begins now has ended. */
static int64_t end_of(const struct session *s, const struct job *job)
{
    int64_t limit_ms = job->kept->limit_ms;

    return limit_ms > 0 && limit_ms < BERTH_NEVER - s->in.now_ms ? s->in.now_ms + limit_ms
                                                                 : BERTH_NEVER;
}

static uint64_t touches(const struct session *s)
{
    return s->model->touched_base + s->model->touched.n;
}

/* A head that got room some other way needs none kept. */
static bool still_waits(const struct head *head)
{
    return job_is_short(head->job);
}

static bool waited_long(struct session *s, const struct job *job)
{
    int64_t from = job->kept->created_at_ms, after = s->policy->protect_after_ms;

    if (job->kept->not_before_ms > from)
        from = job->kept->not_before_ms;
    if (after == 0)
        return true;
    if (!from || after == BERTH_NEVER || after > s->in.now_ms)
        return false;
    session_wake_at(s, from + after);
    return s->in.now_ms - from >= after;
}

void protect_head(struct session *s, struct job *job)
{
    struct queue_seat *seat = queue_seat_of(s, job->queue);
    struct protect *p = s->protect;
    struct why why = { 0 };
    struct head head = { .job = job };

    if (s->policy->protect_after_ms == BERTH_NEVER || seat->has_head || !still_waits(&head) ||
        job->kept->n_sub_groups || seat_of(s, job)->rides || seat_of(s, job)->is_loose ||
        !waited_long(s, job))
        return; /* what rides has room, if not yet */
    if (!protect_plan(s, job, &head) || !queue_may_allocate(s, job->queue, &head.bundle, &why))
        return; /* what it waits for is not nodes, or cannot be foreseen */
    if (!p) {
        p = s->protect = ARENA_NEW0(&s->arena, struct protect);
        p->heads = ARENA_NEW0_N(&s->arena, struct head, s->model->queues.n + 1);
    }
    seat->has_head = true;
    lines_part(s, job); /* what is kept for it keeps others away, not itself */
    p->heads[p->n++] = head;
    p->refused = NULL;
}

int64_t protect_planned(const struct session *s, const struct node *node, uint32_t dim)
{
    int64_t sum = 0;

    for (size_t i = 0; s->protect && i < s->protect->n; i++) {
        const struct head *head = &s->protect->heads[i];
        if (head->place[node->at] && still_waits(head))
            sum = wrap_add(sum, head->kept[head->place[node->at] - 1].planned[dim]);
    }
    return sum;
}

/* --- What others may do */

/* What is left on a kept node when the head begins: beside it, what runs on, and earlier heads. */
static void set_spare(struct session *s, const struct head *head, struct kept *kept)
{
    const struct model *model = s->model;
    const struct protect *p = s->protect;

    for (size_t d = 0; d < model->dims.n; d++)
        kept->spare[d] = model->columns[d].offers[kept->node->at];
    VEC_EACH (task, &kept->node->tasks) {
        const struct asks *asks = task_asks(*task);
        if (protect_ends_at(s, *task) <= head->at_ms)
            continue;
        for (size_t i = 0; i < asks->n; i++)
            kept->spare[asks->at[i].dim] =
                wrap_sub(kept->spare[asks->at[i].dim], asks->at[i].value);
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct head *other = &p->heads[i];
        uint32_t place = other->place[kept->node->at];
        if (!place || other->at_ms > head->at_ms || !still_waits(other))
            continue;
        for (size_t d = 0; d < model->dims.n; d++)
            kept->spare[d] = wrap_sub(kept->spare[d], other->kept[place - 1].planned[d]);
    }
    kept->read = touches(s);
}

static bool fits_beside(struct session *s, const struct head *head, const struct task *task,
                        const struct node *node)
{
    struct kept *kept = &head->kept[head->place[node->at] - 1];
    const struct asks *asks = &task->group->kind->asks;

    if (kept->read != touches(s))
        set_spare(s, head, kept);
    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].value > kept->spare[asks->at[i].dim])
            return false;
    return true;
}

/* Whether some head begins before a job would have ended. */
static bool is_bound(struct session *s, const struct job *job, int64_t *end_ms)
{
    const struct protect *p = s->protect;

    *end_ms = p && p->n ? end_of(s, job) : 0;
    for (size_t i = 0; p && i < p->n; i++)
        if (p->heads[i].job != job && *end_ms > p->heads[i].at_ms)
            return true;
    return false;
}

static bool allows(struct session *s, const struct task *task, const struct node *node,
                   int64_t end_ms)
{
    const struct protect *p = s->protect;

    for (size_t i = 0; i < p->n; i++) {
        const struct head *head = &p->heads[i];
        if (head->job != task->group->job && end_ms > head->at_ms && head->place[node->at] &&
            still_waits(head) && !fits_beside(s, head, task, node))
            return false;
    }
    return true;
}

bool protect_allows(struct session *s, const struct task *task, const struct node *node)
{
    int64_t end_ms;

    return !is_bound(s, task->group->job, &end_ms) || allows(s, task, node, end_ms);
}

static void note_refusal(struct session *s, const struct job *job)
{
    const struct protect *p = s->protect;

    seat_of(s, (struct job *)job)->why =
        (struct why){ .code = WAIT_PROTECTED_HEAD, .dim = NOWHERE, .blocker = p->heads[0].job->id };
}

bool protect_best_of(struct session *s, const struct task *task, struct node *const *nodes,
                     size_t n, struct choice *out)
{
    struct node **allowed;
    size_t n_allowed = 0;
    int64_t end_ms;

    if (!is_bound(s, task->group->job, &end_ms))
        return fit_best_of(s, task, nodes, n, true, out);
    allowed = ARENA_NEW0_N(&s->arena, struct node *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (allows(s, task, nodes[i], end_ms))
            allowed[n_allowed++] = nodes[i];
    if (fit_best_of(s, task, allowed, n_allowed, true, out))
        return true;
    if (n_allowed < n)
        note_refusal(s, task->group->job);
    return false;
}

/* What is kept for a head keeps others away, and not itself. */
static bool is_head(const struct protect *p, const struct job *job)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->heads[i].job == job)
            return true;
    return false;
}

bool protect_best(struct session *s, const struct task *task, struct choice *out)
{
    struct protect *p = s->protect;
    struct kind *kind = task->group->kind;
    struct choice best;
    int64_t end_ms;

    if (!is_bound(s, task->group->job, &end_ms))
        return fit_best(s, task, out);
    if (p->refused == kind && p->refused_end_ms <= end_ms && p->refused_read == touches(s) &&
        !is_head(p, task->group->job)) {
        note_refusal(s, task->group->job); /* one as long, and no shorter, found nothing either */
        return false;
    }
    if (!fit_best(s, task, &best))
        return false;
    if (allows(s, task, best.node, end_ms)) {
        *out = best;
        return true;
    }
    if (protect_best_of(s, task, s->model->nodes.at, s->model->nodes.n, out))
        return true;
    p->refused = kind;
    p->refused_end_ms = end_ms;
    p->refused_read = touches(s);
    return false;
}

bool protect_admits(struct session *s, struct job *job)
{
    const struct protect *p = s->protect;
    int64_t end_ms;

    if (!is_bound(s, job, &end_ms))
        return true;
    for (size_t i = 0; i < p->n; i++) {
        const struct head *head = &p->heads[i];
        struct why why = { 0 };
        if (head->job == job || end_ms <= head->at_ms || !still_waits(head) ||
            queue_may_allocate(s, head->job->queue, &head->bundle, &why))
            continue;
        note_refusal(s, job);
        return false;
    }
    return true;
}

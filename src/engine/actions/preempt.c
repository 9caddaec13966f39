/*
 * Preempt: a job that is short of its minimum takes room from less urgent ones of its own queue,
 * then from its own less urgent tasks. What it takes is promised to it: it is being freed.
 */
#include <errno.h>
#include <string.h>

#include "engine/actions.h"
#include "engine/actions/roles.h"
#include "engine/fit.h"
#include "engine/lines.h"
#include "engine/take.h"
#include "engine/victims.h"

struct arguments {
    bool cache, dry_run;
    int64_t workers, percent, least, most;
};

static const struct argument known[] = {
    { "predicateErrorCacheEnable", ARG_TRUTH, offsetof(struct arguments, cache) },
    { "enableTopologyAwarePreemption", ARG_TRUTH, offsetof(struct arguments, dry_run) },
    { "topologyAwarePreemptWorkerNum", ARG_INT, offsetof(struct arguments, workers) },
    { "minCandidateNodesPercentage", ARG_INT, offsetof(struct arguments, percent) },
    { "minCandidateNodesAbsolute", ARG_INT, offsetof(struct arguments, least) },
    { "maxCandidateNodesAbsolute", ARG_INT, offsetof(struct arguments, most) },
};

/* One task that looks for room. */
struct seeker {
    struct session *s;
    struct task *task;
    bool within; /* in its own job, else in others of its queue */
    struct closed *closed;
    const struct arguments *args;
};

static bool may_go(const struct seeker *seeker, const struct task *victim)
{
    const struct job *mine = seeker->task->group->job, *theirs = victim->group->job;

    if (victim->state != BERTH_TASK_BOUND && victim->state != BERTH_TASK_RUNNING)
        return false;
    if (seeker->task->group->kind->best_effort && !victim->group->kind->best_effort)
        return false;
    if (victim->group->spec->not_preemptable)
        return false; /* what its job says counts for whole gangs alone */
    return seeker->within ? theirs == mine : theirs != mine && theirs->queue == mine->queue;
}

static struct victims find_victims(const struct seeker *seeker, const struct node *node)
{
    struct victims from = node_tasks(seeker->s, node);
    size_t n = 0;

    for (size_t i = 0; i < from.n; i++)
        if (may_go(seeker, from.at[i]))
            from.at[n++] = from.at[i];
    from.n = n;
    return victims_agree(seeker->s, false, seeker->task, &from);
}

static bool is_allowed(const struct seeker *seeker)
{
    struct why why;

    return queue_may_allocate(seeker->s, seeker->task->group->job->queue, seeker->task->group->kind,
                              &why);
}

static bool fits_now(const struct seeker *seeker, const struct node *node)
{
    return is_allowed(seeker) && fits_future(seeker->s, seeker->task, node, NULL) &&
           !fit_predicate(seeker->s, seeker->task->group->kind, node);
}

/* Evicts from a node, one by one, until the task fits. */
static bool take_from(const struct seeker *seeker, struct node *node)
{
    struct statement stmt = statement_open(seeker->s);
    struct victims set = find_victims(seeker, node);
    const struct job *taker = seeker->task->group->job;
    bool evicted = false;

    if (!fits_future(seeker->s, seeker->task, node, &set))
        return false;
    victims_heap(seeker->s, &set, taker);
    while (!fits_now(seeker, node) && set.n) {
        struct task *victim = victims_pop(seeker->s, &set, taker);
        evicted = evicted || !victim->group->kind->best_effort;
        statement_evict(&stmt, victim, "preempt");
    }
    if (!fits_now(seeker, node)) {
        statement_discard(&stmt);
        return false;
    }
    statement_pipeline(&stmt, seeker->task, node, evicted, 0);
    return true;
}

struct scored {
    struct node *node;
    double score;
    size_t place;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Nodes that others' leaving could open; with a soft shard those inside it, or those outside. */
static size_t list_nodes(const struct seeker *seeker, bool inside, struct node **nodes)
{
    struct session *s = seeker->s;
    bool divided = s->setup->shard_mode == BERTH_SHARD_SOFT;
    bool *shut = closed_to(s, seeker->closed, seeker->task);
    size_t n = 0;

    NODE_EACH (node, s->model) {
        bool fits = fit_is_resolvable(s, seeker->task->group->kind, node);
        if (fits && !(shut && shut[node->at]) && (divided ? node->in_shard == inside : inside))
            nodes[n++] = node;
        if (shut && !fits)
            shut[node->at] = true;
    }
    return n;
}

static void sort_by_score(const struct seeker *seeker, struct node **nodes, size_t n)
{
    double *scores = ARENA_NEW0_N(&seeker->s->arena, double, n + 1);
    struct scored *list = ARENA_NEW0_N(&seeker->s->arena, struct scored, n + 1);

    fit_scores(seeker->s, seeker->task, nodes, n, scores);
    for (size_t i = 0; i < n; i++)
        list[i] = (struct scored){ nodes[i], scores[i], i };
    qsort(list, n, sizeof(*list), by_score);
    for (size_t i = 0; i < n; i++)
        nodes[i] = list[i].node;
}

/* --- The dry run: try nodes without keeping anything, then take the one that costs least */

struct plan {
    struct node *node;
    struct victims victims; /* most urgent first */
};

/* Who must go from a node: everybody in order until it fits, then back who need not. */
static bool try_node(const struct seeker *seeker, struct node *node, struct plan *out)
{
    struct statement stmt = statement_open(seeker->s);
    struct victims set = find_victims(seeker, node);
    size_t n = 0, kept = 0;

    if (!set.n || !fits_future(seeker->s, seeker->task, node, &set))
        return false;
    victims_sort(seeker->s, &set, seeker->task->group->job);
    while (n < set.n && !fits_now(seeker, node))
        statement_evict(&stmt, set.at[n++], "preempt");
    if (!n || !fits_now(seeker, node)) {
        statement_discard(&stmt);
        return false;
    }
    out->node = node;
    out->victims.at = ARENA_NEW0_N(&seeker->s->arena, struct task *, n + 1);
    for (size_t i = n; i-- > 0;) {
        /* Without this one: all that must go of those before it, and of those behind it. */
        statement_discard(&stmt);
        for (size_t k = 0; k < i; k++)
            statement_evict(&stmt, set.at[k], "preempt");
        for (size_t k = 0; k < kept; k++)
            statement_evict(&stmt, out->victims.at[k], "preempt");
        if (!fits_now(seeker, node))
            out->victims.at[kept++] = set.at[i];
    }
    out->victims.n = kept;
    statement_discard(&stmt);
    return kept > 0;
}

static int priority_of(const struct task *task)
{
    return task->group->spec->priority;
}

static int64_t priority_sum(const struct victims *victims)
{
    int64_t sum = 0;

    for (size_t i = 0; i < victims->n; i++)
        sum += (int64_t)priority_of(victims->at[i]) + ((int64_t)1 << 31);
    return sum;
}

/* When the longest running of the most urgent victims began. */
static int64_t earliest_start(const struct victims *victims)
{
    int64_t at = BERTH_NEVER;

    for (size_t i = 0; i < victims->n; i++)
        if (priority_of(victims->at[i]) == priority_of(victims->at[0]) &&
            victims->at[i]->started_at_ms < at)
            at = victims->at[i]->started_at_ms;
    return at;
}

static bool costs_less(const struct plan *a, const struct plan *b)
{
    int x = priority_of(a->victims.at[0]), y = priority_of(b->victims.at[0]);

    if (x != y)
        return x < y;
    if (priority_sum(&a->victims) != priority_sum(&b->victims))
        return priority_sum(&a->victims) < priority_sum(&b->victims);
    if (a->victims.n != b->victims.n)
        return a->victims.n < b->victims.n;
    return earliest_start(&a->victims) > earliest_start(&b->victims);
}

static size_t wanted(const struct arguments *args, size_t n)
{
    int64_t want = (int64_t)n * args->percent / 100;

    want = want < args->least ? args->least : want > args->most ? args->most : want;
    return want > (int64_t)n ? n : (size_t)want;
}

static bool dry_run(const struct seeker *seeker, struct node **nodes, size_t n)
{
    struct statement stmt = statement_open(seeker->s);
    size_t found = 0, want = seeker->s->setup->is_reference ? wanted(seeker->args, n) : n;
    struct plan best = { 0 }, plan;

    for (size_t i = 0; i < n && found < want; i++) {
        bool works;
        plan = (struct plan){ 0 };
        seeker->s->is_dry_run = true;
        works = try_node(seeker, nodes[i], &plan);
        seeker->s->is_dry_run = false;
        if (!works)
            continue;
        found++;
        if (!best.node || costs_less(&plan, &best))
            best = plan;
    }
    if (!best.node)
        return false;
    for (size_t i = best.victims.n; i-- > 0;)
        statement_evict(&stmt, best.victims.at[i], "preempt");
    statement_pipeline(&stmt, seeker->task, best.node, true, 0);
    return true;
}

static bool take_from_any(const struct seeker *seeker, struct node **nodes, size_t n)
{
    if (seeker->args->dry_run)
        return dry_run(seeker, nodes, n);
    sort_by_score(seeker, nodes, n);
    for (size_t i = 0; i < n; i++)
        if (take_from(seeker, nodes[i]))
            return true;
    return false;
}

static bool preempt(const struct seeker *seeker)
{
    struct node **nodes =
        ARENA_NEW0_N(&seeker->s->arena, struct node *, seeker->s->model->nodes.n + 1);

    if (!task_may_preempt(seeker->task))
        return false;
    return take_from_any(seeker, nodes, list_nodes(seeker, true, nodes)) ||
           take_from_any(seeker, nodes, list_nodes(seeker, false, nodes));
}

/* --- Jobs */

/* Which nodes refused a role is kept for the whole action. */
static struct closed *closed_of(struct session *s, struct job *job, const struct arguments *args)
{
    struct seat *seat = seat_of(s, job);

    if (!seat->closed) {
        seat->closed = ARENA_NEW0(&s->arena, struct closed);
        *seat->closed = closed_none(s, job, args->cache);
    }
    return seat->closed;
}

static bool between_jobs(struct session *s, struct job *job, const struct arguments *args)
{
    struct statement stmt = statement_open(s);
    struct victims tasks;

    if (!s->setup->is_reference)
        return take_room(s, job, false);
    tasks = tasks_pending(s, job, true);

    for (size_t i = 0; i < tasks.n && take_is_wanted(s, job); i++) {
        struct seeker seeker = { s, tasks.at[i], false, closed_of(s, job, args), args };
        preempt(&seeker);
    }
    if (!job_is_pipelined(s, job)) {
        statement_discard(&stmt);
        return false;
    }
    if (!statement_commit(&stmt, job))
        return false;
    seat_of(s, job)->why.code = WAIT_NONE;
    return true;
}

static void within_job(struct session *s, struct job *job, const struct arguments *args)
{
    struct victims tasks = tasks_pending(s, job, true);

    for (size_t i = 0; i < tasks.n; i++) {
        struct statement stmt = statement_open(s);
        struct seeker seeker = { s, tasks.at[i], true, closed_of(s, job, args), args };
        if (!preempt(&seeker)) {
            statement_discard(&stmt);
            return;
        }
        statement_commit(&stmt, job);
    }
}

static bool may_take(struct session *s, struct job *job)
{
    return job_is_seeking(s, job) && job_is_admitted(s, job) && take_is_wanted(s, job) &&
           !(s->setup->is_reference && (job->kept->topology.mode || job->kept->n_sub_groups));
}

static void run(struct session *s, const struct berth_value *arguments)
{
    struct arguments args = { true, false, 16, 10, 1, 100 };
    VEC_OF(struct job *) arrived = { 0 };
    struct rounds rounds;
    struct queue *queue;
    struct err err = { 0 };

    if (arguments_read(arguments, known, COUNT_OF(known), NULL, &args, &err) < 0)
        return; /* was checked when the configuration came */
    lines_part_placed(s);
    rounds_init(&rounds, s);
    VEC_EACH (job, &s->watched) {
        if (!may_take(s, *job))
            continue;
        rounds_add_job(&rounds, *job);
        VEC_PUSH(&arrived, *job);
    }
    rounds_add_lines(&rounds, may_take);
    while ((queue = rounds_queue(&rounds))) {
        struct job *job;
        while ((job = rounds_job(&rounds, queue))) {
            bool took = between_jobs(s, job, &args);
            rounds_go_on(&rounds, job);
            if (took)
                rounds_stir(&rounds, queue);
        }
        VEC_EACH (each, &arrived)
            if (s->setup->is_reference && (*each)->queue == queue)
                within_job(s, *each, &args);
    }
    VEC_FINI(&arrived);
    rounds_fini(&rounds);
}

static int check(const struct berth_value *arguments, struct err *err)
{
    struct arguments args = { 0 };
    int r = arguments_read(arguments, known, COUNT_OF(known), NULL, &args, err);

    if (r == 0 && (args.percent < 0 || args.percent > 100))
        return err_set(err, -EINVAL, "/minCandidateNodesPercentage: a number from 0 to 100");
    if (r == 0 && (args.least < 0 || args.most < 0))
        return err_set(err, -EINVAL, "/%s: 0 or more",
                       args.least < 0 ? "minCandidateNodesAbsolute" : "maxCandidateNodesAbsolute");
    return r;
}

const struct action action_preempt = {
    .name = "preempt", .check = check, .sees_lines = sees_lines, .run = run
};

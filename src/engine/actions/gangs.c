/*
 * Gangpreempt and gangreclaim: a job that is short of its minimum gets room for all of it in one
 * network domain, from its own queue or from others. Domains are tried the widest first; a job
 * without topology has one, which holds every node.
 *
 * In profile volcano the first domain will do, and its victims are added one by one until the job
 * fits. Elsewhere all domains are tried and the one is taken where it costs least; whoever
 * need not go stays, and nobody goes unless the whole of the job has room. There preempt and reclaim
 * come here too, for jobs with a topology or sub-groups.
 */
#include <string.h>

#include "engine/actions.h"
#include "engine/actions/gangs.h"
#include "engine/devices.h"
#include "engine/protect.h"
#include "engine/res.h"
#include "engine/take.h"
#include "engine/topology.h"
#include "engine/units.h"

enum { MAX_DOMAINS = 8 };

struct arguments {
    int64_t max_domains;
    bool allow_whole;
};

static const struct argument known[] = {
    { "maxDomains", ARG_INT, offsetof(struct arguments, max_domains) },
    { "allowWholeBundle", ARG_TRUTH, offsetof(struct arguments, allow_whole) },
};

/* --- What is to be placed */

/* How many of them; elsewhere than in volcano only the minimum is fought for. */
static size_t n_needed(const struct gang_hunt *h)
{
    const struct job *job = h->job;
    uint32_t has = job_n_ready(job) + job->n[BERTH_TASK_PIPELINED], roles = job_lacks_roles(job);
    uint32_t n = has < job->min_available ? job->min_available - has : 0;

    if (h->s->setup->is_reference || h->s->policy->preempt_for == PREEMPT_FOR_ALL)
        return h->pending.n;
    n = n > roles ? n : roles;
    return n < h->pending.n ? n : h->pending.n;
}

static void set_need(struct gang_hunt *h)
{
    wide *need = res_new(h->s);

    for (uint32_t d = 0; d < h->s->model->dims.n; d++)
        need[d] = take_least(h->s, &h->pending, n_needed(h), d);
    h->need = need;
}

/* Of a ready job the first sub-job that has tasks left, else all of it. */
static void set_pending(struct gang_hunt *h)
{
    struct session *s = h->s;
    struct sub_job **order;
    size_t n;

    h->only = NULL;
    h->pending = tasks_pending(s, h->job, false);
    if (!s->setup->is_reference || !h->job->kept->n_sub_groups || !job_is_ready(s, h->job))
        return;
    order = sub_jobs_ordered(s, h->job, &n);
    for (size_t i = 0; i < n; i++) {
        h->only = order[i];
        h->pending = sub_job_pending(s, order[i]);
        if (h->pending.n)
            return;
    }
}

/* --- Placing it */

static bool place_one(const struct gang_hunt *h, struct statement *stmt, struct task *task)
{
    struct session *s = h->s;
    struct choice choice;
    struct why why;
    bool found;

    if (!queue_may_allocate(s, h->job->queue, task->group->kind, &why))
        return false;
    found = h->domain->parent
                ? protect_best_of(s, task, h->domain->nodes, h->domain->n_nodes, &choice)
                : protect_best(s, task, &choice);
    if (found)
        statement_pipeline(stmt, task, choice.node, true, choice.score);
    return found;
}

/* All tasks of each sub-job in turn must land, until the job is promised enough. */
static bool place_all(const struct gang_hunt *h, struct statement *stmt)
{
    size_t n;
    struct sub_job **order = sub_jobs_ordered(h->s, h->job, &n);

    for (size_t i = 0; i < n; i++) {
        struct victims tasks = sub_job_pending(h->s, order[i]);
        if (h->only && h->only != order[i])
            continue;
        for (size_t k = 0; k < tasks.n; k++)
            if (!place_one(h, stmt, tasks.at[k]))
                return false;
        if (job_is_pipelined(h->s, h->job))
            return true;
    }
    return job_is_pipelined(h->s, h->job);
}

/* In a domain, its sub-jobs in theirs, up to the minimum. */
static bool place_minimum(const struct gang_hunt *h, struct statement *stmt)
{
    struct session *s = h->s;
    double score = 0;

    if (job_has_topology(s, h->job)) {
        s->promises = true;
        topology_place_job(s, h->job, (struct domain *)h->domain, &score);
        s->promises = false;
    }
    for (size_t i = 0; !job_has_topology(s, h->job) && i < h->pending.n && take_is_short(s, h->job);
         i++)
        if (take_is_of_use(s, h->pending.at[i]))
            place_one(h, stmt, h->pending.at[i]);
    return !take_is_short(s, h->job) && job_is_pipelined(s, h->job);
}

/* --- Profile volcano */

static bool first_that_will_do(struct gang_hunt *h, const struct domain_list *domains, size_t most)
{
    for (size_t i = 0; i < domains->n && i < most; i++) {
        struct statement stmt = statement_open(h->s);
        struct units units;
        size_t least;
        h->domain = domains->at[i];
        units = units_find(h);
        least = units_least(h, &units);
        for (size_t k = 0; least && k < units.n; k++) {
            struct statement placed;
            unit_evict(&stmt, &units.at[k], h->reclaim);
            placed = statement_open(h->s);
            if (k + 1 >= least && place_all(h, &placed))
                return true;
            statement_discard(&placed);
        }
        statement_discard(&stmt);
    }
    return false;
}

/* --- The others */

/* Which units of a domain go. */
struct choose {
    const struct gang_hunt *h;
    const struct units *units;
    bool *goes;
};

static struct domain **domains_now(struct session *s, struct job *job, size_t *n)
{
    struct sub_job *subs = sub_jobs_of(s, job, n);
    struct domain **domains = ARENA_NEW0_N(s->lists, struct domain *, *n + 1);

    for (size_t i = 0; i < *n; i++)
        domains[i] = subs[i].domain;
    return domains;
}

/* Evicts those that go and places the job; what was done stands in the statement. */
static bool act(const struct choose *c, struct statement *stmt)
{
    struct session *s = c->h->s;
    size_t n;
    struct domain **before = domains_now(s, c->h->job, &n);
    struct sub_job *subs = sub_jobs_of(s, c->h->job, &n);
    bool placed;

    s->n_steps++;
    for (size_t i = 0; i < c->units->n; i++)
        if (c->goes[i])
            unit_evict(stmt, &c->units->at[i], c->h->reclaim);
    placed = place_minimum(c->h, stmt);
    for (size_t i = 0; i < n; i++)
        subs[i].domain = before[i];
    return placed;
}

static bool works(const struct choose *c)
{
    struct session *s = c->h->s;
    struct statement stmt = statement_open(s);
    bool placed;

    s->lists = &s->scratch; /* tries are many; what they leave must not add up */
    placed = act(c, &stmt);
    s->lists = &s->arena;
    arena_clear(&s->scratch);
    statement_discard(&stmt);
    return placed;
}

static bool works_with_first(const struct choose *c, size_t n)
{
    for (size_t i = 0; i < c->units->n; i++)
        c->goes[i] = i < n;
    return works(c);
}

/* How many of the first units must go: ever larger steps, then halves. */
static bool find_enough(const struct choose *c, size_t least)
{
    size_t low = least - 1, high = least, step = 1;

    while (!works_with_first(c, high)) {
        if (high == c->units->n)
            return false;
        low = high;
        high = high + step < c->units->n ? high + step : c->units->n;
        step *= 2;
    }
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (middle >= least && works_with_first(c, middle))
            high = middle;
        else
            low = middle;
    }
    for (size_t i = 0; i < c->units->n; i++)
        c->goes[i] = i < high;
    return true;
}

/* Lets those stay without whom it works, the most urgent first: halves, then halves of them. */
static void spare(const struct choose *c, size_t from, size_t to)
{
    bool any = false;

    for (size_t i = from; i < to; i++)
        any = any || c->goes[i];
    if (!any)
        return;
    for (size_t i = from; i < to; i++)
        c->goes[i] = false;
    if (works(c))
        return;
    for (size_t i = from; i < to; i++)
        c->goes[i] = true;
    if (to - from == 1)
        return;
    spare(c, from + (to - from) / 2, to);
    spare(c, from, from + (to - from) / 2);
}

/* Finds whom to evict in a domain; false if the job has no room there, or needs nobody to go. */
static bool choose_in(struct gang_hunt *h, struct choose *c)
{
    size_t least, enough;

    if (!c->units->n)
        return false;
    c->goes = ARENA_NEW0_N(h->arena, bool, c->units->n + 1);
    least = units_least(h, c->units);
    if (!least || !find_enough(c, least))
        return false;
    for (enough = c->units->n; enough > 0 && !c->goes[enough - 1];)
        enough--;
    if (h->s->policy->victim_set == VICTIM_SET_MINIMAL)
        spare(c, 0, enough);
    return true;
}

/* What it costs to make room in the domain; false: that cannot be. */
static bool try_domain(struct gang_hunt *h, struct choose *c, struct cost *cost)
{
    struct units *units = ARENA_NEW0(h->arena, struct units);
    struct statement stmt;

    *units = units_find(h);
    *c = (struct choose){ .h = h, .units = units };
    if (!choose_in(h, c))
        return false;
    stmt = statement_open(h->s);
    act(c, &stmt);
    *cost = cost_of(h->s, stmt.mark);
    statement_discard(&stmt);
    return true;
}

/* Whether there is room in the domain already, or will be. */
static bool has_room(struct gang_hunt *h)
{
    struct statement stmt = statement_open(h->s);
    bool has = place_minimum(h, &stmt);

    statement_discard(&stmt);
    return has;
}

/* Of each domain that is tried only what is cheaper than the one before is kept. */
static bool cheapest(struct gang_hunt *h, const struct domain_list *domains, size_t most)
{
    struct arena arenas[2] = { 0 };
    struct cost least = { 0 };
    struct choose best = { 0 };
    struct statement stmt;
    const struct domain *where = NULL;
    int at = 0;
    bool found = false;

    h->s->domain_steps = h->s->policy->gang_search_steps;
    for (size_t i = 0; i < domains->n && i < most; i++) {
        struct choose c;
        struct cost cost;
        h->domain = domains->at[i];
        h->arena = &arenas[at];
        arena_clear(h->arena);
        if (has_room(h)) {
            where = NULL;
            break;
        }
        if (!try_domain(h, &c, &cost) || (where && cost_cmp(&cost, &least) >= 0))
            continue;
        least = cost;
        best = c;
        where = h->domain;
        at = !at;
    }
    if (where) {
        h->domain = where;
        h->s->domain_steps = h->s->policy->gang_search_steps;
        stmt = statement_open(h->s);
        found = act(&best, &stmt) && statement_has_losers(&stmt);
    }
    arena_fini(&arenas[0]);
    arena_fini(&arenas[1]);
    return found;
}

/* --- Jobs */

/* All that the job needs, in a statement; or nothing. */
static bool find_room(struct statement *stmt, struct gang_hunt *h, size_t most)
{
    struct session *s = h->s;
    struct seat *seat = seat_of(s, h->job), before = *seat;
    struct sub_job whole = sub_job_whole(s, h->job);
    struct domain_list domains;

    set_pending(h);
    if (!h->pending.n || seat->was_taken || (!s->setup->is_reference && !take_is_short(s, h->job)))
        return false;
    set_need(h);
    if (!queue_may_preempt(h->job->queue) ||
        (!s->setup->is_reference && !task_may_preempt(h->pending.at[0])))
        return false;
    if (h->reclaim && !queue_may_take_back(s, h->job->queue, h->pending.at[0]->group, h->need))
        return false;
    whole.for_evictions = true;
    domains = gradients_of(s, &whole, &topology_of(s)->at[0]);
    if (s->setup->is_reference)
        return first_that_will_do(h, &domains, most) && job_is_pipelined(s, h->job);
    if (cheapest(h, &domains, most) && (!h->reclaim || take_is_within(s, h->job)) &&
        (h->reclaim || take_may_evict(stmt, h->job)) && !take_is_in_vain(stmt) &&
        protect_admits(s, h->job))
        return true;
    statement_discard(stmt);
    seat->why = before.why; /* what it waits for is what others hold, not what a try met */
    seat->stuck = before.stuck;
    return false;
}

bool gang_find_room(struct statement *stmt, struct job *job, bool reclaim)
{
    struct gang_hunt h = {
        .s = stmt->s, .job = job, .reclaim = reclaim, .allow_whole = true, .arena = &stmt->s->arena
    };

    return find_room(stmt, &h, SIZE_MAX);
}

static void visit(struct session *s, struct job *job, bool reclaim, const struct arguments *args)
{
    struct gang_hunt h = {
        .s = s, .job = job, .reclaim = reclaim, .allow_whole = args->allow_whole, .arena = &s->arena
    };
    struct statement stmt = statement_open(s);

    if (!find_room(&stmt, &h, args->max_domains > 0 ? (size_t)args->max_domains : MAX_DOMAINS)) {
        statement_discard(&stmt);
        return;
    }
    if (!s->setup->is_reference)
        take_keep(&stmt, job);
    else
        statement_commit(&stmt, job);
}

static void read_arguments(const struct berth_value *arguments, struct arguments *out)
{
    struct err err = { 0 };

    *out = (struct arguments){ MAX_DOMAINS, true };
    if (arguments_read(arguments, known, COUNT_OF(known), NULL, out, &err) < 0)
        *out = (struct arguments){ MAX_DOMAINS, true }; /* was checked when it came */
}

static void run(struct session *s, const struct berth_value *arguments, bool reclaim)
{
    struct arguments args;
    struct rounds rounds;
    struct queue *queue;
    struct job *job;

    read_arguments(arguments, &args);
    rounds_init(&rounds, s);
    JOB_EACH (each, s->model) {
        if (!job_is_seeking(s, each) || !job_is_admitted(s, each))
            continue;
        rounds_add_queue(&rounds, each->queue);
        if (take_is_wanted(s, each))
            rounds_return_job(&rounds, each);
    }
    while ((queue = rounds_queue(&rounds))) {
        if (reclaim && queue_is_overused(s, queue))
            continue;
        while ((job = rounds_job(&rounds, queue))) {
            struct statement loose = statement_open(s);
            bool rides = rides_let_go(&loose, job);
            visit(s, job, reclaim, &args);
            if (rides)
                rooms_hold_on(&loose, job);
            if (reclaim && !s->setup->is_reference && queue_is_overused(s, queue))
                break; /* in profile volcano a queue whose turn it is has it to the end */
        }
    }
    rounds_fini(&rounds);
}

static void run_preempt(struct session *s, const struct berth_value *arguments)
{
    run(s, arguments, false);
}

static void run_reclaim(struct session *s, const struct berth_value *arguments)
{
    run(s, arguments, true);
}

static int check(const struct berth_value *arguments, struct err *err)
{
    struct arguments args;

    return arguments_read(arguments, known, COUNT_OF(known), NULL, &args, err);
}

const struct action action_gangpreempt = { .name = "gangpreempt",
                                           .check = check,
                                           .run = run_preempt };
const struct action action_gangreclaim = { .name = "gangreclaim",
                                           .check = check,
                                           .run = run_reclaim };

/*
 * When a job can start, and where, by the time limits of what runs.
 *
 * Room grows as tasks reach their limits, so the ends are walked through in their order until
 * the job's minimum fits. Likes of a task are counted node by node, which is exact for a job of
 * like tasks; where they differ the largest are laid out first. Of nodes that will do, those
 * that have least room for it now are kept: the others are of use to somebody at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/devices.h"
#include "engine/protect.h"
#include "engine/res.h"
#include "engine/topology.h"
#include "engine/victims.h"

enum good { GOOD_NOT, GOOD_NOW, GOOD_PERHAPS };

/* Like tasks that must be placed. */
struct need {
    struct kind *kind;
    uint32_t n;
    uint64_t total;     /* how many the nodes could take */
    uint32_t *fits;     /* by node */
    uint32_t *at_once;  /* likewise, before anything ended */
    uint8_t *good;      /* likewise: enum good */
    bool one_each;      /* not two on a node */
    struct share share; /* of the whole cluster, by which the largest come first */
};

struct end {
    int64_t at_ms;
    struct task *task;
};

struct plan {
    struct session *s;
    struct job *job;
    const bool *within; /* only these nodes; NULL: all */
    struct need *needs;
    size_t n_needs;
    int64_t **room; /* by dimension, then node; NULL where nothing is asked */
    struct node **order;
    size_t n_order;
    int64_t *planned; /* by need, then node: how many */
    int64_t at_ms;
};

/* --- What is needed */

static struct need *need_of(struct plan *p, struct kind *kind)
{
    for (size_t i = 0; i < p->n_needs; i++)
        if (p->needs[i].kind == kind)
            return &p->needs[i];
    p->needs[p->n_needs] = (struct need){ .kind = kind };
    return &p->needs[p->n_needs++];
}

/* How many tasks of a role are still short of its minimum. */
static uint32_t role_short(const struct job *job, const char *role)
{
    uint32_t least = 0, has = 0;

    for (size_t i = 0; i < job->kept->n_minima; i++)
        if (text_eq(job->kept->minima[i].role, role))
            least = job->kept->minima[i].n;
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *g = &job->groups[i];
        if (text_eq(g->spec->role ? g->spec->role : "", role))
            has += (uint32_t)(g->spec->replicas - g->n[BERTH_TASK_PENDING]);
    }
    return least > has ? least - has : 0;
}

/* The tasks that the job starts with: what its roles need, then the first up to its minimum. */
static bool choose_tasks(struct plan *p)
{
    struct victims list = tasks_pending(p->s, p->job, false);
    uint32_t left = p->job->min_available - job_n_ready(p->job), *roles;
    bool *taken = ARENA_NEW0_N(&p->s->arena, bool, list.n + 1);

    p->needs = ARENA_NEW0_N(&p->s->arena, struct need, p->job->n_groups + 1);
    roles = ARENA_NEW0_N(&p->s->arena, uint32_t, p->job->n_groups + 1);
    for (size_t i = 0; i < p->job->n_groups; i++)
        roles[i] =
            role_short(p->job, p->job->groups[i].spec->role ? p->job->groups[i].spec->role : "");
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < list.n && left; i++) {
            const struct group *group = list.at[i]->group;
            if (taken[i] || (pass == 0 && !roles[group->at]))
                continue;
            for (size_t g = 0; pass == 0 && g < p->job->n_groups; g++)
                if (text_eq(p->job->groups[g].spec->role, group->spec->role))
                    roles[g]--;
            taken[i] = true;
            need_of(p, group->kind)->n++;
            left--;
        }
    return left == 0;
}

static bool keeps_apart(const struct kind *kind)
{
    return kind->spec->n_host_ports ||
           (kind->spec->affinity &&
            (kind->spec->affinity->n_anti_required || kind->spec->affinity->n_spread));
}

static int by_size(const void *a, const void *b)
{
    return share_cmp(((const struct need *)b)->share, ((const struct need *)a)->share);
}

/* --- Room */

static void count_fits(struct plan *p, struct need *need, uint32_t at)
{
    uint32_t fits = need->good[at] == GOOD_NOW ? need->n : 0;

    if (fits && need->one_each)
        fits = 1;
    for (size_t i = 0; fits && i < need->kind->asks.n; i++) {
        const struct ask *ask = &need->kind->asks.at[i];
        int64_t room = p->room[ask->dim][at] / ask->value;
        fits = room < fits ? (uint32_t)(room < 0 ? 0 : room) : fits;
    }
    need->total += fits;
    need->total -= need->fits[at];
    need->fits[at] = fits;
}

static bool has_room_ever(const struct plan *p, const struct kind *kind, uint32_t at)
{
    for (size_t i = 0; i < kind->asks.n; i++)
        if (kind->asks.at[i].value > p->s->model->columns[kind->asks.at[i].dim].offers[at])
            return false;
    return true;
}

static void open_need(struct plan *p, struct need *need)
{
    struct session *s = p->s;
    size_t n = s->model->nodes.n;
    wide *asks = res_new(s);

    res_add_asks(asks, &need->kind->asks, 1);
    need->share = res_dominant(s, asks, s->total);
    need->one_each = keeps_apart(need->kind);
    need->fits = ARENA_NEW0_N(&s->arena, uint32_t, n + 1);
    need->at_once = ARENA_NEW0_N(&s->arena, uint32_t, n + 1);
    need->good = ARENA_NEW0_N(&s->arena, uint8_t, n + 1);
    for (size_t i = 0; i < need->kind->asks.n; i++) {
        uint32_t dim = need->kind->asks.at[i].dim;
        if (p->room[dim])
            continue;
        p->room[dim] = ARENA_NEW0_N(&s->arena, int64_t, n + 1);
        for (uint32_t at = 0; at < n; at++)
            p->room[dim][at] = wrap_sub(column_future(&s->model->columns[dim], at),
                                        protect_planned(s, s->model->nodes.at[at], dim));
    }
    for (uint32_t at = 0; at < n; at++) {
        struct node *node = s->model->nodes.at[at];
        s->n_steps++;
        if ((p->within && !p->within[at]) || !has_room_ever(p, need->kind, at) ||
            !fit_is_resolvable(s, need->kind, node))
            continue;
        need->good[at] = fit_predicate(s, need->kind, node) ? GOOD_PERHAPS : GOOD_NOW;
        count_fits(p, need, at);
        need->at_once[at] = need->fits[at];
    }
}

/* --- Ends */

static int by_end(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

static struct end *list_ends(struct plan *p, size_t *n)
{
    struct session *s = p->s;
    struct end *ends;
    size_t most = 0;

    *n = 0;
    NODE_EACH (node, s->model)
        most += node->tasks.n;
    ends = ARENA_NEW0_N(&s->arena, struct end, most + 1);
    NODE_EACH (node, s->model) {
        bool good = false;
        for (size_t i = 0; i < p->n_needs; i++)
            good = good || p->needs[i].good[node->at];
        for (size_t i = 0; good && i < node->tasks.n; i++) {
            int64_t at_ms = protect_ends_at(s, node->tasks.at[i]);
            if (at_ms > s->in.now_ms && at_ms < BERTH_NEVER)
                ends[(*n)++] = (struct end){ at_ms, node->tasks.at[i] };
        }
    }
    qsort(ends, *n, sizeof(*ends), by_end);
    return ends;
}

/* Whether a node that will not do now will when those on it have ended that do so by then. */
static bool is_good_then(struct plan *p, const struct kind *kind, const struct node *node)
{
    struct session *s = p->s;
    struct statement stmt = statement_open(s);
    struct victims on = node_tasks(s, node);
    bool good;

    s->is_dry_run = true;
    for (size_t i = 0; i < on.n; i++)
        if (state_is_allocated(on.at[i]->state) && protect_ends_at(s, on.at[i]) <= p->at_ms)
            statement_evict(&stmt, on.at[i], "protect");
    good = !fit_predicate(s, kind, node);
    statement_discard(&stmt);
    s->is_dry_run = false;
    return good;
}

static void let_end(struct plan *p, const struct task *task)
{
    const struct asks *asks = task_asks(task);
    const struct node *node = task->node;

    for (size_t i = 0; i < asks->n; i++) {
        int64_t *room = p->room[asks->at[i].dim];
        if (room)
            room[node->at] = wrap_add(room[node->at], asks->at[i].value);
    }
    for (size_t i = 0; i < p->n_needs; i++) {
        struct need *need = &p->needs[i];
        if (need->good[node->at] == GOOD_PERHAPS && is_good_then(p, need->kind, node))
            need->good[node->at] = GOOD_NOW;
        count_fits(p, need, node->at);
    }
}

/* --- The layout */

static int by_use(const void *a, const void *b, void *arg)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
    const struct plan *p = arg;
    uint64_t now_x = 0, now_y = 0;

    for (size_t i = 0; i < p->n_needs; i++) {
        now_x += p->needs[i].at_once[x->at];
        now_y += p->needs[i].at_once[y->at];
    }
    if (now_x != now_y)
        return now_x < now_y ? -1 : 1;
    return (x->name_at > y->name_at) - (x->name_at < y->name_at);
}

static void count_on(struct plan *p, const struct need *need, uint32_t at, int64_t times)
{
    for (size_t i = 0; i < need->kind->asks.n; i++) {
        const struct ask *ask = &need->kind->asks.at[i];
        p->room[ask->dim][at] =
            wrap_sub(p->room[ask->dim][at], (int64_t)((uint64_t)ask->value * (uint64_t)times));
    }
    for (size_t i = 0; i < p->n_needs; i++)
        count_fits(p, &p->needs[i], at);
}

/* Lays all needs out over the nodes, largest first; false, and nothing laid, if one is left. */
static bool lay_out(struct plan *p)
{
    size_t n_nodes = p->s->model->nodes.n;
    bool whole = true;

    qsort_r(p->order, p->n_order, sizeof(*p->order), by_use, p);
    memset(p->planned, 0, p->n_needs * n_nodes * sizeof(*p->planned));
    for (size_t i = 0; i < p->n_needs && whole; i++) {
        struct need *need = &p->needs[i];
        uint32_t left = need->n;
        for (size_t k = 0; k < p->n_order && left; k++) {
            uint32_t at = p->order[k]->at;
            uint32_t take = need->fits[at] < left ? need->fits[at] : left;
            if (!take)
                continue;
            p->planned[i * n_nodes + at] = take;
            count_on(p, need, at, take);
            left -= take;
        }
        whole = !left;
    }
    for (size_t i = 0; i < p->n_needs; i++)
        for (size_t k = 0; k < p->n_order; k++)
            if (p->planned[i * n_nodes + p->order[k]->at])
                count_on(p, &p->needs[i], p->order[k]->at,
                         -p->planned[i * n_nodes + p->order[k]->at]);
    return whole;
}

static bool fits_by_count(const struct plan *p)
{
    for (size_t i = 0; i < p->n_needs; i++)
        if (p->needs[i].total < p->needs[i].n)
            return false;
    return true;
}

/* Walks through the ends until the job fits; false if it never does, or does at once. */
static bool find_instant(struct plan *p)
{
    size_t n;
    struct end *ends = list_ends(p, &n);

    for (size_t i = 0; i < n;) {
        p->at_ms = ends[i].at_ms;
        for (; i < n && ends[i].at_ms == p->at_ms; i++)
            let_end(p, ends[i].task);
        if (fits_by_count(p) && lay_out(p))
            return true;
    }
    return false;
}

static bool plan_within(struct plan *p)
{
    struct session *s = p->s;
    size_t n = s->model->nodes.n;

    p->room = ARENA_NEW0_N(&s->arena, int64_t *, s->model->dims.n + 1);
    if (!choose_tasks(p) || !p->n_needs)
        return false;
    for (size_t i = 0; i < p->n_needs; i++)
        open_need(p, &p->needs[i]);
    qsort(p->needs, p->n_needs, sizeof(*p->needs), by_size);
    p->order = ARENA_NEW0_N(&s->arena, struct node *, n + 1);
    p->planned = ARENA_NEW0_N(&s->arena, int64_t, p->n_needs * n + 1);
    for (size_t i = 0; i < n; i++) {
        bool good = false;
        for (size_t k = 0; k < p->n_needs; k++)
            good = good || p->needs[k].good[i];
        if (good)
            p->order[p->n_order++] = s->model->nodes.at[i];
    }
    return find_instant(p);
}

/* --- The head */

static void set_bundle(struct plan *p, struct head *out)
{
    struct session *s = p->s;
    wide *sum = res_new(s);
    struct asks asks = { ARENA_NEW0_N(&s->arena, struct ask, s->model->dims.n + 1), 0 };

    for (size_t i = 0; i < p->n_needs; i++)
        res_add_asks(sum, kind_charge(s->model, p->needs[i].kind), p->needs[i].n);
    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (sum[d] > 0)
            asks.at[asks.n++] = (struct ask){ d, wide_clamp(sum[d]) };
    out->bundle = kind_asking(s->model, p->needs[0].kind, asks);
}

static void set_kept(struct plan *p, struct head *out)
{
    struct session *s = p->s;
    size_t n = s->model->nodes.n, n_dims = s->model->dims.n;

    out->at_ms = p->at_ms;
    out->place = ARENA_NEW0_N(&s->arena, uint32_t, n + 1);
    out->kept = ARENA_NEW0_N(&s->arena, struct kept, p->n_order + 1);
    out->n_kept = 0;
    for (size_t k = 0; k < p->n_order; k++) {
        uint32_t at = p->order[k]->at;
        for (size_t i = 0; i < p->n_needs; i++) {
            const struct asks *asks = &p->needs[i].kind->asks;
            int64_t times = p->planned[i * n + at];
            struct kept *kept = &out->kept[out->n_kept];
            if (!times)
                continue;
            if (out->place[at]) {
                kept = &out->kept[out->place[at] - 1];
            } else {
                *kept = (struct kept){ .node = p->order[k] };
                kept->planned = ARENA_NEW0_N(&s->arena, int64_t, n_dims + 1);
                kept->spare = ARENA_NEW0_N(&s->arena, int64_t, n_dims + 1);
                out->place[at] = (uint32_t)++out->n_kept;
            }
            for (size_t a = 0; a < asks->n; a++)
                kept->planned[asks->at[a].dim] += asks->at[a].value * times;
        }
    }
    set_bundle(p, out);
}

/* The domains that the job may be in and no others that may hold them: none, or all of a tier. */
static bool is_widest(const struct domain *domain, int tier)
{
    return domain->tier <= tier && (!domain->parent || domain->parent->tier > tier);
}

static bool holds_placed(const struct job *job, const struct domain *domain)
{
    for (size_t i = 0; i < job->n_tasks; i++)
        if (state_is_allocated(job->tasks[i].state) && job->tasks[i].node &&
            job->tasks[i].node->at != NOWHERE && !domain->has[job->tasks[i].node->at])
            return false;
    return true;
}

bool protect_plan(struct session *s, struct job *job, struct head *out)
{
    struct plan plan = { .s = s, .job = job };
    bool found = false;
    int tier;

    if (job->kept->topology.mode != BERTH_TOPOLOGY_HARD ||
        !topology_tier(s, &job->kept->topology, &tier)) {
        if (!plan_within(&plan))
            return false;
        set_kept(&plan, out);
        return true;
    }
    for (size_t i = 0; i < topology_of(s)->n; i++) {
        const struct domain *domain = &topology_of(s)->at[i];
        plan = (struct plan){ .s = s, .job = job, .within = domain->has };
        if (!is_widest(domain, tier) || !holds_placed(job, domain) || !plan_within(&plan) ||
            (found && plan.at_ms >= out->at_ms))
            continue;
        set_kept(&plan, out);
        found = true;
    }
    return found;
}

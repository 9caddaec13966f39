/*
 * Allocate, for jobs that are kept together in network domains: domains are tried without keeping
 * anything, the closest first, and the best of those in which the job gets ready is taken.
 */
#include <string.h>

#include "engine/actions.h"
#include "engine/actions/roles.h"
#include "engine/actions/search.h"
#include "engine/fit.h"
#include "engine/protect.h"
#include "engine/topology.h"

/* A domain has this part of the steps that are left, so that those behind it have some. */
enum { STEPS_PART = 4 };

/* A way to place something: what to do, how good it is. */
struct way {
    struct saved saved;
    struct domain *domain;
    double score;
};

static bool is_enough(struct session *s, const struct sub_job *sub)
{
    return s->promises ? sub_job_is_pipelined(s, sub) : sub_job_is_ready(s, sub);
}

/* Room that is free is taken, or with the rest only promised. */
static void put(struct statement *stmt, struct task *task, const struct choice *choice)
{
    if (stmt->s->promises)
        statement_pipeline(stmt, task, choice->node, false, choice->score);
    else
        place_task(stmt, task, choice);
}

static bool has_place(struct session *s, const struct sub_job *sub)
{
    return sub_job_is_ready(s, sub) || sub_job_is_pipelined(s, sub);
}

/* Another way than in order to place all of a job in a domain. */
static bool search_in(struct statement *stmt, struct sub_job *sub, const struct victims *tasks,
                      const struct nodes_of *among)
{
    struct session *s = stmt->s;
    struct ways ways = { .idle_only = !s->promises,
                         .promises = s->promises,
                         .among = among,
                         .steps = s->domain_steps / STEPS_PART,
                         .left = &s->domain_steps };

    if (sub->job->kept->n_sub_groups)
        return false;
    statement_discard(stmt);
    if (gang_search(stmt, sub->job, tasks, &ways))
        return true;
    ways.idle_only = false;
    return !s->promises && gang_search(stmt, sub->job, tasks, &ways);
}

/* Places a sub-job's tasks in a domain until it is ready. */
static bool place_in(struct session *s, struct sub_job *sub, const struct domain *domain,
                     struct statement *stmt)
{
    struct victims tasks = sub_job_pending(s, sub);
    struct seat *seat = seat_of(s, sub->job);
    struct closed closed = closed_none(s, sub->job, !seat->forgets);
    struct nodes_of among = { domain->nodes, domain->n_nodes };
    bool *failed = ARENA_NEW0_N(s->lists, bool, sub->job->n_groups + 1);

    for (size_t i = 0; i < tasks.n; i++) {
        struct task *task = tasks.at[i];
        struct choice choice;
        if (!queue_may_allocate(s, sub->job->queue, task->group->kind, &seat->why) ||
            role_is_skipped(s, task, failed, seat->stuck))
            continue;
        if (!role_best_of(s, &closed, task, &among, &choice)) {
            seat->stuck = task->group->kind;
            roles_note_failure(task, failed);
            if (sub->min_available < sub->n_tasks && roles_may_go_on(s, sub->job, failed))
                continue;
            break;
        }
        put(stmt, task, &choice);
        if (is_enough(s, sub))
            break;
    }
    if (has_place(s, sub))
        return s->log.n > stmt->mark;
    return search_in(stmt, sub, &tasks, &among) && has_place(s, sub);
}

static double score_of(struct session *s, const struct sub_job *sub, struct way *ways, size_t n,
                       size_t *best)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_DOMAIN_SCORES];
    struct domain **domains = ARENA_NEW0_N(s->lists, struct domain *, n + 1);
    double *scores = ARENA_NEW0_N(s->lists, double, n + 1);

    for (size_t i = 0; i < n; i++)
        domains[i] = ways[i].domain;
    for (size_t i = 0; i < hooked->n; i++)
        hooked->at[i]->plugin->domain_scores(s, hooked->at[i], sub, domains, n, scores);
    *best = 0;
    for (size_t i = 1; i < n; i++)
        if (scores[i] > scores[*best])
            *best = i;
    return scores[*best];
}

/* Finds the best domain beneath top for a sub-job and places it there. */
static bool place_sub(struct session *s, struct sub_job *sub, struct domain *top, double *score)
{
    struct domain_list list = gradients_of(s, sub, top);
    struct way *ways = ARENA_NEW0_N(s->lists, struct way, list.n + 1);
    size_t from = 0;

    for (size_t g = 0; g < list.n_groups; from = list.ends[g++]) {
        struct statement stmt;
        size_t n = 0, best;
        for (size_t i = from; i < list.ends[g]; i++) {
            stmt = statement_open(s);
            if (place_in(s, sub, list.at[i], &stmt))
                ways[n++] = (struct way){ statement_save(&stmt), list.at[i], 0 };
            statement_discard(&stmt);
        }
        if (!n)
            continue;
        *score += score_of(s, sub, ways, n, &best);
        stmt = statement_open(s);
        if (!statement_recover(&stmt, &ways[best].saved))
            continue;
        sub->domain = domain_join(sub->domain, ways[best].domain);
        return true;
    }
    return false;
}

/* Those that the job needs first, then by their order. */
static void order_subs(struct session *s, const struct job *job, struct sub_job **order, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && sub_job_cmp(s, order[k], order[k - 1]) < 0; k--) {
            struct sub_job *swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    for (size_t g = 0; g < job->kept->n_sub_groups; g++) {
        const struct berth_sub_group *spec = &job->kept->sub_groups[g];
        uint32_t ready = 0;
        for (size_t i = 0; i < n; i++)
            ready += order[i]->spec == spec && sub_job_is_ready(s, order[i]);
        for (size_t i = 0; i < n && ready < spec->min_jobs; i++)
            if (order[i]->spec == spec && !sub_job_is_ready(s, order[i])) {
                order[i]->is_required = true;
                ready++;
            }
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && order[k]->is_required && !order[k - 1]->is_required; k--) {
            struct sub_job *swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
}

struct sub_job **sub_jobs_ordered(struct session *s, struct job *job, size_t *n)
{
    struct sub_job *subs = sub_jobs_of(s, job, n);
    struct sub_job **order = ARENA_NEW0_N(s->lists, struct sub_job *, *n + 1);

    for (size_t i = 0; i < *n; i++) {
        order[i] = &subs[i];
        subs[i].is_required = false;
    }
    order_subs(s, job, order, *n);
    return order;
}

static bool job_has_enough(struct session *s, const struct job *job)
{
    return s->promises ? job_is_pipelined(s, job) : job_is_ready(s, job);
}

/* The place of the sub-job whose turn it is; n: none is left. */
static size_t first_of(struct session *s, struct sub_job **subs, size_t n)
{
    size_t first = n;

    for (size_t i = 0; i < n; i++) {
        if (!subs[i])
            continue;
        if (first == n || (subs[i]->is_required != subs[first]->is_required
                               ? subs[i]->is_required
                               : sub_job_cmp(s, subs[i], subs[first]) < 0))
            first = i;
    }
    return first;
}

bool topology_place_job(struct session *s, struct job *job, struct domain *domain, double *score)
{
    size_t n, at;
    struct sub_job **order = sub_jobs_ordered(s, job, &n);

    /* A sub-job of which tasks are left is sorted in again. */
    while ((at = first_of(s, order, n)) < n) {
        if (!place_sub(s, order[at], domain, score)) {
            order[at] = NULL;
            continue;
        }
        if (job_has_enough(s, job))
            return true;
        if (!sub_job_pending(s, order[at]).n)
            order[at] = NULL;
    }
    return job_is_ready(s, job) || job_is_pipelined(s, job);
}

static struct domain **domains_of(struct session *s, struct sub_job *subs, size_t n)
{
    struct domain **domains = ARENA_NEW0_N(s->lists, struct domain *, n + 1);

    for (size_t i = 0; i < n; i++)
        domains[i] = subs[i].domain;
    return domains;
}

bool allocate_topology(struct session *s, struct job *job)
{
    struct topology *t = topology_of(s);
    size_t n, from = 0;
    struct sub_job *subs = sub_jobs_of(s, job, &n);
    struct sub_job whole = sub_job_whole(s, job);
    struct domain_list list;
    struct way best = { 0 };
    struct domain **best_domains = NULL;
    struct statement stmt;

    list = gradients_of(s, &whole, &t->at[0]);
    s->domain_steps = s->policy->gang_search_steps;
    for (size_t g = 0; g < list.n_groups && !best.domain; from = list.ends[g++]) {
        for (size_t i = from; i < list.ends[g]; i++) {
            struct domain **before = domains_of(s, subs, n);
            struct way way = { .domain = list.at[i] };
            stmt = statement_open(s);
            if (topology_place_job(s, job, list.at[i], &way.score) && s->log.n > stmt.mark &&
                (!best.domain || way.score > best.score)) {
                way.saved = statement_save(&stmt);
                best = way;
                best_domains = domains_of(s, subs, n);
            }
            statement_discard(&stmt);
            for (size_t k = 0; k < n; k++)
                subs[k].domain = before[k];
        }
    }
    stmt = statement_open(s);
    if (!best.domain || !statement_recover(&stmt, &best.saved)) {
        seat_of(s, job)->no_domain = true;
        return false;
    }
    for (size_t k = 0; k < n; k++)
        subs[k].domain = best_domains[k];
    if (!job_is_ready(s, job))
        return false; /* promised only: it keeps its place until the session ends */
    return statement_commit(&stmt, job) && tasks_pending(s, job, false).n > 0;
}

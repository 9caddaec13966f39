/*
 * Demand: see demand.h.
 *
 * How many tasks of a class could ever run at a time is kept with the class until something about
 * the nodes changes, the configuration, queues or pools (model->fleet). It is counted no further
 * than anybody needs it, and from the node on that could take one when it was counted last: so of
 * a class that can run at all mostly one node is looked at.
 */
#include "engine/demand.h"

#include "base/str.h"
#include "engine/beam.h"
#include "engine/devices.h"
#include "engine/fit.h"
#include "engine/lines.h"
#include "engine/res.h"
#include "engine/together.h"
#include "engine/topology.h"

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- How many of a class could run at a time */

int64_t demand_offered(const struct model *model, const struct node *node, uint32_t dim)
{
    int64_t sum = 0;
    bool has_class = false;

    for (size_t i = 0; node->n_off && i < node->devices.n; i++) {
        const struct device *device = &node->devices.at[i];
        if (device->dim != dim)
            continue;
        has_class = true;
        sum += device_is_off(device) ? 0 : DEVICE_MILLI;
    }
    return has_class ? sum : model->columns[dim].offers[node->at];
}

/* How many a node would hold if it were empty. */
static uint64_t most_on(struct session *s, const struct kind *kind, const struct node *node)
{
    size_t n_cores = kind_n_cores(kind);
    uint64_t n = n_cores ? node->kept->cores.n / n_cores : UINT32_MAX;

    for (size_t i = 0; i < kind->asks.n && n; i++) {
        const struct ask *ask = &kind->asks.at[i];
        n = lesser(n, (uint64_t)(demand_offered(s->model, node, ask->dim) / ask->value));
    }
    return n && fit_ever(s, kind, node) ? n : 0;
}

static uint64_t most_within(const struct model *model, const struct asks *asks,
                            const struct berth_amounts *limit)
{
    uint64_t n = UINT64_MAX;

    for (size_t i = 0; i < limit->n; i++) {
        uint32_t dim = dim_find(model, limit->at[i].name);
        int64_t ask = dim == NOWHERE ? 0 : asks_of(asks, dim);
        if (ask > 0)
            n = lesser(n, limit->at[i].value > 0 ? (uint64_t)(limit->at[i].value / ask) : 0);
    }
    return n;
}

/* How many the caps of the queue and of those above it, and the namespace's quotas, let run. */
static uint64_t most_allowed(const struct session *s, const struct kind *kind)
{
    const struct asks *asks = kind_charge(s->model, kind);
    const struct queue *queue = queue_find(s->model, kind->queue);
    uint64_t n = UINT64_MAX;

    for (int depth = 0; queue && queue->kept && depth <= QUEUE_DEPTH_MAX; depth++) {
        n = lesser(n, most_within(s->model, asks, &queue->kept->capability));
        queue = queue_find(s->model, queue->kept->parent);
    }
    VEC_EACH (item, &s->model->shelves[BERTH_QUOTA].items) {
        const struct berth_quota *quota = (*item)->kept;
        if (text_eq(quota->namespace_, kind->namespace_))
            n = lesser(n, most_within(s->model, asks, &quota->hard));
    }
    return n;
}

static void count_nodes(struct session *s, const struct kind *kind, uint64_t enough,
                        struct could *could)
{
    uint32_t n = (uint32_t)s->model->nodes.n, i = 0, from = could->at < n ? could->at : 0;

    for (could->n = 0; i < n && could->n < enough; i++) {
        uint32_t at = from + i < n ? from + i : from + i - n;
        uint64_t here = most_on(s, kind, s->model->nodes.at[at]);
        if (here && !could->n)
            could->at = at;
        could->n += here;
    }
    could->is_all = i == n;
}

/* How many tasks of a group's class could run at a time; more than `enough` is as good as that. */
static uint64_t most_of(struct session *s, const struct group *group, uint64_t enough)
{
    struct kind *kind = group->kind; /* what hangs on it is a cache */
    struct could *could = &kind->could;
    uint64_t n;

    /* Once a session at most: what that orders takes no machine from who could have one. */
    if (could->read != s->model->fleet || (s->in.is_cold && could->number != s->number))
        *could = (struct could){ .read = s->model->fleet,
                                 .number = s->number,
                                 .at = could->at,
                                 .allowed = most_allowed(s, kind),
                                 .may_come = provision_may_serve(s, group) };
    if (could->n < enough && !could->is_all)
        count_nodes(s, kind, enough, could);
    n = could->may_come && !provision_is_spent(s, group) ? enough : lesser(could->n, enough);
    return lesser(n, could->allowed);
}

/* --- What of a job could start */

static uint32_t n_due(struct session *s, const struct group *group)
{
    uint32_t n = 0;

    if (!group->n_backed_off)
        return group->n[BERTH_TASK_PENDING];
    for (uint32_t i = 0; i < group->spec->replicas; i++)
        n += group->tasks[i].state == BERTH_TASK_PENDING && task_is_due(s, &group->tasks[i]);
    return n;
}

/* How many tasks of a group's class are pending, or (due) of those due; 0 if a group before it has that class too. */
static uint64_t n_alike(struct session *s, const struct job *job, size_t from, bool due)
{
    uint64_t n = 0;

    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        if (group->kind != job->groups[from].kind)
            continue;
        if (i < from)
            return 0;
        n += due ? n_due(s, group) : group->n[BERTH_TASK_PENDING];
    }
    return n;
}

/* --- What of a gang could run together */

/* Classes alone say all of like tasks that do not keep each other off. */
static bool is_plain(const struct job *job)
{
    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].kind != job->groups[0].kind || together_minds(job->groups[i].kind))
            return false;
    return true;
}

/* What so many of a job's pending tasks could be together; for whom a machine may be ordered needs no node. */
static uint64_t weigh(struct session *s, const struct job *job, uint64_t needed)
{
    struct together_part *parts = ARENA_NEW0_N(&s->arena, struct together_part, job->n_groups + 1);
    uint64_t n_ordered = 0;
    size_t n = 0;

    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        uint64_t pending = n_alike(s, job, i, false);
        if (!pending || !most_of(s, group, 1))
            continue;
        if (group->kind->could.may_come && !provision_is_spent(s, group))
            n_ordered += pending;
        else
            parts[n++] = (struct together_part){ group->kind, pending };
    }
    if (n_ordered >= needed)
        return needed;
    return n_ordered + together_most(s, parts, n, needed - n_ordered);
}

static bool is_weighed(struct session *s, const struct job *job, uint64_t needed)
{
    if (job->weighed.read != s->model->fleet || job->weighed.needed != needed || s->in.is_cold)
        return false;
    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].weighed != job->groups[i].n[BERTH_TASK_PENDING])
            return false;
    return true;
}

uint64_t demand_together(struct session *s, struct job *job, uint64_t needed)
{
    if (is_plain(job))
        return needed;
    if (!is_weighed(s, job, needed)) {
        job->weighed.most = weigh(s, job, needed);
        job->weighed.needed = needed;
        job->weighed.read = s->model->fleet;
        for (size_t i = 0; i < job->n_groups; i++)
            job->groups[i].weighed = job->groups[i].n[BERTH_TASK_PENDING];
    }
    return job->weighed.most;
}

/* --- What of a gang could run in one network domain */

/* How many tasks of a job a domain would hold if it were empty, each class by itself; from `enough` on they are not counted. */
static uint64_t most_in(struct session *s, const struct job *job, const struct domain *domain,
                        uint64_t enough)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < job->n_groups && sum < enough; i++) {
        uint64_t of_class = job_n_of_kind(job, i), n = 0;
        for (size_t k = 0; k < domain->n_nodes && n < of_class; k++)
            n += most_on(s, job->groups[i].kind, domain->nodes[k]);
        sum += lesser(n, of_class);
    }
    return lesser(sum, enough);
}

static bool may_come(struct session *s, const struct job *job)
{
    for (size_t i = 0; i < job->n_groups; i++)
        if (provision_may_serve(s, &job->groups[i]))
            return true;
    return false;
}

static uint64_t most_in_any(struct session *s, const struct job *job, int tier)
{
    const struct topology *t = topology_of(s);
    uint64_t most = 0;

    for (size_t i = 0; i < t->n && most < job->min_available; i++) {
        uint64_t n = t->at[i].tier <= tier ? most_in(s, job, &t->at[i], job->min_available) : 0;
        most = n > most ? n : most;
    }
    return most;
}

uint64_t demand_in_domain(struct session *s, struct job *job)
{
    int tier;

    if (job->kept->topology.mode != BERTH_TOPOLOGY_HARD || job->kept->n_sub_groups ||
        !topology_tier(s, &job->kept->topology, &tier) || may_come(s, job))
        return job->min_available;
    if (job->in_domain.read != s->model->fleet || s->in.is_cold) {
        job->in_domain.most = most_in_any(s, job, tier);
        job->in_domain.read = s->model->fleet;
    }
    return lesser(job->in_domain.most + job->n[BERTH_TASK_SUCCEEDED], job->min_available);
}

static uint64_t n_held(const struct job *job)
{
    return job_n_ready(job) + job->n[BERTH_TASK_PIPELINED];
}

bool demand_could_start(struct session *s, struct job *job)
{
    uint64_t held = n_held(job), n = held, needed;

    if (s->setup->is_reference) /* there plugins say what a minimum is */
        return true;
    for (size_t i = 0; i < job->n_groups && n < job->min_available; i++) {
        uint64_t due = n_alike(s, job, i, true);
        if (due)
            n += lesser(due, most_of(s, &job->groups[i], job->min_available - n));
    }
    if (n < job->min_available || demand_in_domain(s, job) < job->min_available)
        return false;
    needed = job->min_available > held ? job->min_available - held : 0;
    return needed < 2 || demand_together(s, job, needed) >= needed;
}

/* What so many jobs that are all like this one ask for. */
static void add_jobs(struct session *s, struct job *job, size_t n_jobs, wide *const *wants)
{
    struct why why;

    if (!job->n[BERTH_TASK_PENDING] || !job->queue || job->queue->at == NOWHERE ||
        !job_is_open(s, job, &why) || !demand_could_start(s, job))
        return;
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        uint32_t n = n_due(s, group);
        if (n && most_of(s, group, 1))
            res_add_asks(wants[job->queue->at], &group->kind->asks, (wide)n * n_jobs);
    }
}

void demand_add(struct session *s, wide *const *wants)
{
    VEC_EACH (line, &s->model->lines)
        add_jobs(s, (*line)->first, (*line)->n, wants);
    VEC_EACH (job, &s->model->odd)
        add_jobs(s, *job, 1, wants);
}

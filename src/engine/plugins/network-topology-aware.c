/*
 * Network topology: which domains a job may be kept in and which to try first, how full a domain
 * would be, and for a node how close it is to what the job has already.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/names.h"
#include "engine/plugins.h"
#include "engine/res.h"

struct weight {
    const char *name;
    double value;
};

struct arguments {
    double weight, fading;
    bool plain;  /* tasks without topology are scored too */
    size_t most; /* domains that are tried for evictions; 0: not given */
    struct weight *list;
    size_t n;
};

struct raw {
    double weight, cpu, memory, fading;
    const char *names;
    bool plain;
    int64_t most;
};

static const struct argument known[] = {
    { "weight", ARG_DOUBLE, offsetof(struct raw, weight) },
    { "hypernode.binpack.cpu", ARG_DOUBLE, offsetof(struct raw, cpu) },
    { "hypernode.binpack.memory", ARG_DOUBLE, offsetof(struct raw, memory) },
    { "hypernode.binpack.resources", ARG_TEXT, offsetof(struct raw, names) },
    { "hypernode.binpack.normal-pod.enable", ARG_TRUTH, offsetof(struct raw, plain) },
    { "hypernode.binpack.normal-pod.fading", ARG_DOUBLE, offsetof(struct raw, fading) },
    { "hypernode.gradient.evict.max-hypernodes", ARG_INT, offsetof(struct raw, most) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument each = { "hypernode.binpack.resources.", ARG_DOUBLE, 0 };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    struct raw raw = { 1, 1, 1, 0.8, "", true, 0 };
    int r = arguments_read(arguments, known, COUNT_OF(known), &each, &raw, err);
    const char *at;
    size_t n;

    *out = a;
    if (r < 0)
        return r;
    a->weight = raw.weight;
    a->fading = raw.fading;
    a->plain = raw.plain;
    a->most = raw.most > 0 ? (size_t)raw.most : 0;
    a->list = ARENA_NEW0_N(arena, struct weight, strlen(raw.names) + 3);
    a->list[a->n++] = (struct weight){ "cpu", raw.cpu < 0 ? 1 : raw.cpu };
    a->list[a->n++] = (struct weight){ "memory", raw.memory < 0 ? 1 : raw.memory };
    while (names_next(&raw.names, &at, &n)) {
        const char *name = arena_format(arena, "%.*s", (int)n, at);
        const struct berth_value *value =
            berth_value_get(arguments, arena_format(arena, "hypernode.binpack.resources.%s", name));
        double number = 1;
        if (value && (!value_number(value, &number) || number < 0))
            number = 1;
        a->list[a->n++] = (struct weight){ name, number };
    }
    return 0;
}

static int check(const struct berth_value *arguments, struct err *err)
{
    return names_check(arguments, "hypernode.binpack.resources", err);
}

/* --- Gradients */

static void pending_asks(struct session *s, const struct sub_job *sub, wide *sum)
{
    (void)s;
    for (size_t i = 0; i < sub->n_tasks; i++)
        if (sub->tasks[i]->state == BERTH_TASK_PENDING)
            res_add_asks(sum, task_asks(sub->tasks[i]), 1);
}

/* Whether a domain has so much idle, or will have. */
static bool has_room(struct session *s, const struct domain *domain, const wide *least)
{
    const struct model *model = s->model;
    bool idle = true, future = true;

    for (size_t d = 0; d < model->dims.n; d++) {
        wide now = 0, later = 0;
        if (least[d] <= 0)
            continue;
        for (size_t i = 0; i < domain->n_nodes; i++) {
            now += column_idle(&model->columns[d], domain->nodes[i]->at);
            later += column_future(&model->columns[d], domain->nodes[i]->at);
        }
        idle = idle && least[d] <= now;
        future = future && least[d] <= later;
    }
    return idle || future;
}

/* Whether a domain would have so much if nobody held anything. */
static bool offers_enough(struct session *s, const struct domain *domain, const wide *least)
{
    for (size_t d = 0; d < s->model->dims.n; d++) {
        wide offers = 0;
        if (least[d] <= 0)
            continue;
        for (size_t i = 0; i < domain->n_nodes; i++)
            offers += s->model->columns[d].offers[domain->nodes[i]->at];
        if (least[d] > offers)
            return false;
    }
    return true;
}

static bool is_beneath(const struct domain *domain, const struct domain *top)
{
    for (; domain; domain = domain->parent)
        if (domain == top)
            return true;
    return false;
}

/* The whole of a job has its topology; a sub-job its group's, which its job's bounds. */
static bool allowed_tier(struct session *s, const struct sub_job *sub, int *tier)
{
    bool is_whole = sub->is_whole;
    const struct berth_topology *own = is_whole    ? &sub->job->kept->topology
                                       : sub->spec ? &sub->spec->topology
                                                   : NULL;
    int job_tier;

    if (!own || !topology_tier(s, own, tier))
        return false;
    if (!is_whole && own->mode == BERTH_TOPOLOGY_SOFT &&
        topology_tier(s, &sub->job->kept->topology, &job_tier) && job_tier < *tier)
        *tier = job_tier;
    return true;
}

/* Where the search begins: as high above what is placed as is allowed, within top. */
static struct domain *search_root(const struct sub_job *sub, struct domain *top, int tier)
{
    struct domain *root = sub->domain;

    if (!root)
        return top;
    if (root->tier > tier)
        return NULL;
    while (root->parent && root->parent->tier <= tier)
        root = root->parent;
    if (is_beneath(root, top))
        return root;
    return is_beneath(top, root) ? top : NULL;
}

struct search {
    struct domain *root;
    const wide *least;
    int tier;
};

/* For evictions: the widest domains first, in profile volcano not too many. */
static void list_widest(struct session *s, const struct arguments *a, const struct sub_job *sub,
                        const struct search *search, struct domain_list *out)
{
    struct topology *t = topology_of(s);
    int from = search->tier < t->at[0].tier ? search->tier : t->at[0].tier;
    size_t most = a->most ? a->most : s->setup->is_reference ? 8 : t->n;

    for (int at = from; at >= t->least_tier && out->n < most; at--) {
        size_t before = out->n;
        for (size_t i = 0; i < t->n && out->n < most; i++) {
            struct domain *domain = &t->at[i];
            if (domain->tier == at && is_beneath(domain, search->root) &&
                (sub->domain || offers_enough(s, domain, search->least)))
                out->at[out->n++] = domain;
        }
        if (out->n > before)
            out->ends[out->n_groups++] = out->n;
    }
}

static bool gradients(struct session *s, struct plugin_use *use, const struct sub_job *sub,
                      struct domain *top, struct domain_list *out)
{
    struct topology *t = topology_of(s);
    struct domain *root;
    wide *least = res_new(s);
    int tier;

    *out = (struct domain_list){ ARENA_NEW0_N(s->lists, struct domain *, t->n + 1),
                                 ARENA_NEW0_N(s->lists, size_t, t->n + 1), 0, 0 };
    if (!allowed_tier(s, sub, &tier)) {
        out->at[out->n++] = top;
        out->ends[out->n_groups++] = out->n;
        return true;
    }
    root = search_root(sub, top, tier);
    if (sub->is_whole)
        res_minimum(s, sub->job, least);
    else
        pending_asks(s, sub, least);
    if (root && sub->for_evictions) {
        list_widest(s, use->config, sub, &(struct search){ root, least, tier }, out);
        return true;
    }
    for (int at = t->least_tier < t->at[0].tier ? t->least_tier : t->at[0].tier;
         root && at <= tier && at <= t->at[0].tier; at++) {
        size_t before = out->n;
        for (size_t i = 0; i < t->n; i++) {
            struct domain *domain = &t->at[i];
            if (domain->tier == at && is_beneath(domain, root) &&
                (sub->domain || has_room(s, domain, least)))
                out->at[out->n++] = domain;
        }
        if (out->n > before)
            out->ends[out->n_groups++] = out->n;
    }
    return true;
}

/* --- Scores */

static double weight_of(const struct session *s, const struct arguments *a, uint32_t dim, bool *has)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].name, s->model->dims.at[dim]->name) == 0) {
            *has = true;
            return a->list[i].value;
        }
    return 0;
}

/* How full a domain would be, 0..1; 0 if it would be too full. */
static double fullness(struct session *s, const struct arguments *a, const struct domain *domain,
                       const wide *asks)
{
    const struct model *model = s->model;
    double sum = 0, weights = 0;

    for (uint32_t d = 0; d < model->dims.n; d++) {
        bool has = false;
        double w = weight_of(s, a, d, &has);
        wide used = asks[d], offers = 0;
        if (!has || asks[d] <= 0)
            continue;
        for (size_t i = 0; i < domain->n_nodes; i++) {
            used += model->columns[d].used[domain->nodes[i]->at];
            offers += model->columns[d].offers[domain->nodes[i]->at];
        }
        weights += w;
        if (offers <= 0)
            continue;
        if (used > offers)
            return 0;
        sum += w * ((double)used / (double)offers);
    }
    return weights > 0 ? sum / weights : 0;
}

static size_t tasks_in(const struct sub_job *sub, const struct domain *domain)
{
    size_t n = 0;

    for (size_t i = 0; i < sub->n_tasks; i++) {
        const struct task *task = sub->tasks[i];
        n += task->node && task->node->at != NOWHERE && domain->has[task->node->at];
    }
    return n;
}

/* Those that share the best score are told apart by how much of the job they hold. */
static void break_ties(const struct sub_job *sub, struct domain *const *domains, size_t n,
                       double *scores)
{
    double best = 0;
    size_t ties = 0;

    for (size_t i = 0; i < n; i++)
        best = scores[i] > best ? scores[i] : best;
    for (size_t i = 0; i < n; i++)
        ties += scores[i] == best;
    for (size_t i = 0; ties > 1 && sub->n_tasks && i < n; i++)
        if (scores[i] == best)
            scores[i] += (double)tasks_in(sub, domains[i]) / (double)sub->n_tasks;
}

static void domain_scores(struct session *s, struct plugin_use *use, const struct sub_job *sub,
                          struct domain *const *domains, size_t n, double *scores)
{
    const struct arguments *a = use->config;
    double *own = ARENA_NEW0_N(s->lists, double, n + 1);
    wide *asks = res_new(s);

    pending_asks(s, sub, asks);
    for (size_t i = 0; i < n; i++)
        own[i] = fullness(s, a, domains[i], asks);
    break_ties(sub, domains, n, own);
    for (size_t i = 0; i < n; i++)
        scores[i] += own[i] * 100 * a->weight;
}

static double closeness(const struct topology *t, struct domain *from, struct domain *leaf)
{
    const struct domain *join;

    if (from == leaf)
        return 1;
    join = domain_join(from, leaf);
    if (t->at[0].tier == t->least_tier)
        return 0;
    return (double)(t->at[0].tier - join->tier) / (double)(t->at[0].tier - t->least_tier);
}

static struct sub_job *sub_of(struct session *s, const struct task *task)
{
    size_t n;
    struct sub_job *subs = sub_jobs_of(s, task->group->job, &n);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < subs[i].n_tasks; k++)
            if (subs[i].tasks[k] == task)
                return &subs[i];
    return NULL;
}

static void add_closeness(struct session *s, const struct arguments *a, const struct sub_job *sub,
                          const struct candidates *c)
{
    struct topology *t = topology_of(s);
    double *own = ARENA_NEW0_N(s->lists, double, c->n + 1);
    struct domain **leaves = ARENA_NEW0_N(s->lists, struct domain *, c->n + 1);

    for (size_t i = 0; i < c->n; i++) {
        leaves[i] = t->leaf[c->nodes[i]->at];
        own[i] = closeness(t, sub->domain, leaves[i]);
    }
    break_ties(sub, leaves, c->n, own);
    for (size_t i = 0; i < c->n; i++)
        c->scores[i] += own[i] * 100 * a->weight;
}

/* The domain of a node at a tier, or NULL. */
static const struct domain *domain_at(const struct topology *t, const struct node *node, int tier)
{
    const struct domain *at = t->leaf[node->at];

    while (at && at->tier < tier)
        at = at->parent;
    return at && at->tier == tier ? at : NULL;
}

static void add_fullness(struct session *s, const struct arguments *a, const struct task *task,
                         const struct candidates *c)
{
    const struct topology *t = topology_of(s);
    wide *asks = res_new(s);

    res_add_asks(asks, task_asks(task), 1);
    for (size_t i = 0; i < c->n; i++) {
        double sum = 0, weights = 0, factor = 1;
        for (int tier = 1; tier <= t->at[0].tier; tier++, factor *= a->fading) {
            const struct domain *domain = domain_at(t, c->nodes[i], tier);
            sum += factor * (domain ? fullness(s, a, domain, asks) : 1);
            weights += factor;
        }
        if (weights > 0)
            c->scores[i] += sum / weights * 100 * a->weight;
    }
}

static void score_all(struct session *s, struct plugin_use *use, const struct task *task,
                      const struct candidates *candidates)
{
    const struct arguments *a = use->config;
    struct sub_job *sub;

    if (!job_has_topology(s, task->group->job)) {
        if (a->plain && s->model->shelves[BERTH_DOMAIN].items.n)
            add_fullness(s, a, task, candidates);
        return;
    }
    sub = sub_of(s, task);
    if (sub && sub->domain)
        add_closeness(s, a, sub, candidates);
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)use, (void)kind;
    return s->model->shelves[BERTH_DOMAIN].items.n == 0;
}

const struct plugin plugin_network_topology_aware = {
    .name = "network-topology-aware",
    .sees_lines = true,
    .configure = configure,
    .check = check,
    .is_local = is_local,
    .gradients = gradients,
    .domain_scores = domain_scores,
    .score_all = score_all,
};

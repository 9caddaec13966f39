/* Topology: see topology.h. */
#include "engine/topology.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"
#include "engine/session.h"

static struct domain *domain_named(struct topology *t, const char *name)
{
    for (size_t i = 1; i < t->n; i++)
        if (strcmp(t->at[i].name, name) == 0)
            return &t->at[i];
    return NULL;
}

static int by_rank(const void *a, const void *b)
{
    const struct berth_domain *x = (*(struct item *const *)a)->kept;
    const struct berth_domain *y = (*(struct item *const *)b)->kept;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* A domain's nodes, and those of what is beneath it, are its parents' too. */
static void spread_nodes(struct session *s, struct topology *t, const struct berth_domain *kept,
                         struct domain *domain)
{
    for (size_t i = 0; i < kept->nodes.n; i++) {
        const struct node *node = node_find(s->model, kept->nodes.at[i]);
        size_t steps = 0;
        if (!node || node->at == NOWHERE)
            continue;
        for (struct domain *at = domain; at && steps <= t->n; at = at->parent, steps++)
            at->has[node->at] = true;
        if (t->leaf[node->at] == &t->at[0] || domain->tier < t->leaf[node->at]->tier)
            t->leaf[node->at] = domain;
    }
}

static void list_nodes(struct session *s, struct domain *domain)
{
    domain->nodes = ARENA_NEW0_N(&s->arena, struct node *, s->model->nodes.n + 1);
    for (size_t i = 0; i < s->model->nodes.n; i++)
        if (domain->has[i])
            domain->nodes[domain->n_nodes++] = s->model->nodes.at[i];
}

static void join_domains(struct topology *t, struct item **items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct berth_domain *kept = items[i]->kept;
        for (size_t k = 0; k < kept->children.n; k++) {
            struct domain *child = domain_named(t, kept->children.at[k]);
            if (child && child != &t->at[i + 1] && child->parent == &t->at[0])
                child->parent = &t->at[i + 1];
        }
    }
    for (size_t i = 1; i < t->n; i++) {
        size_t depth = 0;
        for (const struct domain *at = &t->at[i]; at->parent && depth <= t->n; at = at->parent)
            depth++;
        if (depth > t->n) {
            t->at[i].parent = &t->at[0]; /* a circle: it hangs under the top */
            depth = 1;
        }
        t->at[i].depth = depth;
    }
}

struct topology *topology_of(struct session *s)
{
    struct shelf *shelf = &s->model->shelves[BERTH_DOMAIN];
    struct topology *t = s->topology;
    struct item **items;
    size_t n = shelf->items.n, n_nodes = s->model->nodes.n;

    if (t)
        return t;
    t = s->topology = ARENA_NEW0(&s->arena, struct topology);
    items = ARENA_NEW0_N(&s->arena, struct item *, n + 1);
    if (n)
        memcpy(items, shelf->items.at, n * sizeof(*items));
    qsort(items, n, sizeof(*items), by_rank);
    t->n = n + 1;
    t->at = ARENA_NEW0_N(&s->arena, struct domain, t->n);
    t->leaf = ARENA_NEW0_N(&s->arena, struct domain *, n_nodes + 1);
    t->at[0] = (struct domain){ .name = "", .tier = n ? 0 : 1 };
    for (size_t i = 0; i < n; i++) {
        const struct berth_domain *kept = items[i]->kept;
        t->at[i + 1] = (struct domain){ .name = kept->name,
                                        .tier = kept->tier,
                                        .tier_name = kept->tier_name,
                                        .parent = &t->at[0] };
        if (kept->tier >= t->at[0].tier)
            t->at[0].tier = kept->tier < INT_MAX ? kept->tier + 1 : INT_MAX;
        if (i == 0 || kept->tier < t->least_tier)
            t->least_tier = kept->tier;
    }
    for (size_t i = 0; i < t->n; i++)
        t->at[i].has = ARENA_NEW0_N(&s->arena, bool, n_nodes + 1);
    for (size_t i = 0; i < n_nodes; i++) {
        t->at[0].has[i] = true;
        t->leaf[i] = &t->at[0];
    }
    join_domains(t, items, n);
    for (size_t i = 0; i < n; i++)
        spread_nodes(s, t, items[i]->kept, &t->at[i + 1]);
    for (size_t i = 0; i < t->n; i++)
        list_nodes(s, &t->at[i]);
    return t;
}

struct domain *domain_join(struct domain *a, struct domain *b)
{
    if (!a || !b)
        return a ? a : b;
    while (a != b) {
        if (a->depth >= b->depth && a->parent)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

struct domain *domain_of_tasks(struct session *s, struct task *const *tasks, size_t n)
{
    const struct topology *t = topology_of(s);
    struct domain *join = NULL;

    for (size_t i = 0; i < n; i++)
        if (state_is_allocated(tasks[i]->state) && tasks[i]->node && tasks[i]->node->at != NOWHERE)
            join = domain_join(join, t->leaf[tasks[i]->node->at]);
    return join;
}

bool topology_tier(struct session *s, const struct berth_topology *wanted, int *tier)
{
    const struct topology *t;

    if (wanted->mode == BERTH_TOPOLOGY_NONE)
        return false;
    t = topology_of(s);
    if (wanted->mode == BERTH_TOPOLOGY_SOFT) {
        *tier = t->at[0].tier;
        return true;
    }
    if (wanted->tier_name && wanted->tier_name[0]) {
        for (size_t i = 1; i < t->n; i++) {
            if (text_eq(t->at[i].tier_name, wanted->tier_name)) {
                *tier = t->at[i].tier;
                return true;
            }
        }
        return false; /* a name that no domain carries sets no limit */
    }
    *tier = wanted->highest_tier;
    return wanted->has_tier;
}

bool job_has_topology(struct session *s, const struct job *job)
{
    int tier;

    return job->kept->n_sub_groups || topology_tier(s, &job->kept->topology, &tier);
}

struct domain_list gradients_of(struct session *s, const struct sub_job *sub, struct domain *top)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_GRADIENTS];
    struct domain_list list = { 0 };

    for (size_t i = 0; i < hooked->n; i++) {
        if (hooked->at[i]->plugin->gradients(s, hooked->at[i], sub, top, &list))
            return list;
    }
    list = (struct domain_list){ ARENA_NEW0_N(s->lists, struct domain *, 1),
                                 ARENA_NEW0_N(s->lists, size_t, 1), 1, 1 };
    list.at[0] = top;
    list.ends[0] = 1;
    return list;
}

/*
 * Node order: a score of whole points, 0 to 100 from each scorer times its weight.
 *
 * Scorers that are made to fit the candidates (the best of them gets 100) go by all of them at
 * once. In profile `volcano` they are; elsewhere they go by the node alone, so that a placement
 * costs what it touches.
 */
#include <string.h>

#include "base/str.h"
#include "engine/match.h"
#include "engine/plugins.h"

struct arguments {
    int64_t least, most, node_affinity, pod_affinity, balanced, taint, image, spread;
};

static const struct argument known[] = {
    { "leastrequested.weight", ARG_INT, offsetof(struct arguments, least) },
    { "mostrequested.weight", ARG_INT, offsetof(struct arguments, most) },
    { "nodeaffinity.weight", ARG_INT, offsetof(struct arguments, node_affinity) },
    { "podaffinity.weight", ARG_INT, offsetof(struct arguments, pod_affinity) },
    { "balancedresource.weight", ARG_INT, offsetof(struct arguments, balanced) },
    { "tainttoleration.weight", ARG_INT, offsetof(struct arguments, taint) },
    { "imagelocality.weight", ARG_INT, offsetof(struct arguments, image) },
    { "podtopologyspread.weight", ARG_INT, offsetof(struct arguments, spread) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);

    *a = (struct arguments){ 1, 0, 2, 2, 1, 3, 1, 2 };
    *out = a;
    return arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
}

/* What tasks that do not say are taken to use. */
enum { DEFAULT_CPU = 100, DEFAULT_MEMORY = 200 * 1024 * 1024 };

/* What the node would use with the task on it; `said` leaves the unsaid out. */
static int64_t used_with(const struct model *model, const struct kind *kind,
                         const struct node *node, uint32_t dim, bool said)
{
    const struct column *c = &model->columns[dim];
    int64_t sum = wrap_add(c->used[node->at], c->pipelined[node->at]);
    int64_t ask = asks_of(&kind->asks, dim);

    if (!said && dim == DIM_CPU)
        sum += (int64_t)DEFAULT_CPU * (node->n_no_cpu + (ask ? 0 : 1));
    if (!said && dim == DIM_MEMORY)
        sum += (int64_t)DEFAULT_MEMORY * (node->n_no_memory + (ask ? 0 : 1));
    return wrap_add(sum, ask);
}

static int64_t percent(int64_t part, int64_t whole)
{
    return part < INT64_MAX / 100 ? part * 100 / whole : (int64_t)((wide)part * 100 / whole);
}

/* The mean over cpu and memory of the part that is free, or used. */
static int64_t requested(const struct model *model, const struct kind *kind,
                         const struct node *node, bool most)
{
    int64_t sum = 0, n = 0;

    for (uint32_t dim = DIM_CPU; dim <= DIM_MEMORY; dim++) {
        int64_t offers = model->columns[dim].offers[node->at], used;
        if (!offers)
            continue;
        n++;
        used = used_with(model, kind, node, dim, false);
        if (used > offers)
            sum += most ? 100 : 0;
        else
            sum += percent(most ? used : offers - used, offers);
    }
    return n ? sum / n : 0;
}

static double root(double x)
{
    return __builtin_sqrt(x);
}

static int64_t balance(const struct model *model, const struct kind *kind, const struct node *node)
{
    uint32_t by_class = dim_find(model, "gpu"), by_vendor = dim_find(model, "nvidia.com/gpu");
    uint32_t gpu = by_vendor != NOWHERE && asks_of(&kind->asks, by_vendor) ? by_vendor : by_class;
    uint32_t dims[3] = { DIM_CPU, DIM_MEMORY, gpu };
    double parts[3], mean = 0, deviation = 0;
    int n = 0;

    if (gpu == NOWHERE || !asks_of(&kind->asks, gpu)) {
        dims[2] = NOWHERE;
        if (kind->no_cpu && kind->no_memory)
            return 0;
    }
    for (int i = 0; i < 3 && dims[i] != NOWHERE; i++) {
        int64_t offers = model->columns[dims[i]].offers[node->at];
        if (!offers)
            continue;
        parts[n] = (double)used_with(model, kind, node, dims[i], true) / (double)offers;
        if (parts[n] > 1)
            parts[n] = 1;
        mean += parts[n++];
    }
    if (n == 2) {
        deviation = parts[0] > parts[1] ? (parts[0] - parts[1]) / 2 : (parts[1] - parts[0]) / 2;
    } else if (n > 2) {
        mean /= n;
        for (int i = 0; i < n; i++)
            deviation += (parts[i] - mean) * (parts[i] - mean);
        deviation = root(deviation / n);
    }
    return (int64_t)((1 - deviation) * 100);
}

/* The weights of the preferred terms and labels that the node meets, and of all of them. */
static int64_t preferred(const struct kind *kind, const struct node *node, int64_t *all)
{
    const struct berth_affinity *affinity = kind->spec->affinity;
    const struct berth_labels *wanted = &kind->spec->preferred_labels;
    int64_t sum = 0;

    *all = 0;
    for (size_t i = 0; affinity && i < affinity->n_node_preferred; i++) {
        const struct berth_node_term *term = &affinity->node_preferred[i];
        *all += term->weight;
        if (selector_holds(&term->selector, &node->kept->labels, node->id))
            sum += term->weight;
    }
    for (size_t i = 0; i < wanted->n; i++) {
        const char *value = label_value(&node->kept->labels, wanted->at[i].key);
        *all += 1;
        sum += value && text_eq(value, wanted->at[i].value);
    }
    return sum;
}

static bool has_preferences(const struct kind *kind)
{
    return kind->spec->preferred_labels.n ||
           (kind->spec->affinity && kind->spec->affinity->n_node_preferred);
}

static int64_t untolerated(const struct kind *kind, const struct node *node)
{
    int64_t n = 0;

    for (size_t i = 0; i < node->kept->n_taints; i++)
        n += node->kept->taints[i].effect == BERTH_PREFER_NO_SCHEDULE &&
             !taint_is_tolerated(&node->kept->taints[i], kind->spec->tolerations,
                                 kind->spec->n_tolerations);
    return n;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    const struct model *model = s->model;
    int64_t sum = 0, all;

    if (a->least)
        sum += a->least * requested(model, kind, node, false);
    if (a->most)
        sum += a->most * requested(model, kind, node, true);
    if (a->balanced)
        sum += a->balanced * balance(model, kind, node);
    if (s->setup->is_reference)
        return (double)sum;
    if (a->node_affinity && has_preferences(kind)) {
        int64_t met = preferred(kind, node, &all);
        sum += a->node_affinity * (all ? met * 100 / all : 0);
    }
    if (a->taint)
        sum += a->taint * (100 / (1 + untolerated(kind, node)));
    return (double)sum;
}

static void add_node_affinity(const struct kind *kind, const struct candidates *c, int64_t weight)
{
    int64_t most = 0, all;

    for (size_t i = 0; i < c->n; i++) {
        int64_t met = preferred(kind, c->nodes[i], &all);
        most = met > most ? met : most;
    }
    for (size_t i = 0; most && i < c->n; i++)
        c->scores[i] += (double)(weight * (preferred(kind, c->nodes[i], &all) * 100 / most));
}

static void add_taints(const struct kind *kind, const struct candidates *c, int64_t weight)
{
    int64_t most = 0;

    for (size_t i = 0; i < c->n; i++) {
        int64_t n = untolerated(kind, c->nodes[i]);
        most = n > most ? n : most;
    }
    for (size_t i = 0; i < c->n; i++)
        c->scores[i] +=
            (double)(weight * (most ? 100 - untolerated(kind, c->nodes[i]) * 100 / most : 100));
}

/* --- Company: preferred terms about other tasks, of this task and of those that are there */

static bool term_means(const struct berth_pod_term *term, const struct kind *owner,
                       const struct kind *other)
{
    if (term->namespaces.n ? !words_have(&term->namespaces, other->namespace_)
                           : strcmp(owner->namespace_, other->namespace_) != 0)
        return false;
    return selector_holds(&term->selector, &other->spec->labels, NULL);
}

static bool same_topology(const struct berth_pod_term *term, const struct node *a,
                          const struct node *b)
{
    const char *x = label_value(&a->kept->labels, term->topology_key);
    const char *y = label_value(&b->kept->labels, term->topology_key);

    return (x && y && strcmp(x, y) == 0) ||
           (a == b && strcmp(term->topology_key, "kubernetes.io/hostname") == 0);
}

static int64_t terms_weigh(const struct berth_pod_term *terms, size_t n, const struct kind *owner,
                           const struct kind *other, const struct node *a, const struct node *b)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        if (term_means(&terms[i], owner, other) && same_topology(&terms[i], a, b))
            sum += terms[i].weight;
    return sum;
}

static int64_t company(struct session *s, const struct kind *kind, const struct node *node)
{
    const struct berth_affinity *mine = kind->spec->affinity;
    int64_t sum = 0;

    NODE_EACH (other, s->model) {
        VEC_EACH (task, &other->tasks) {
            const struct kind *there = (*task)->group->kind;
            const struct berth_affinity *theirs = there->spec->affinity;
            if (mine)
                sum += terms_weigh(mine->pod_preferred, mine->n_pod_preferred, kind, there, node,
                                   other) -
                       terms_weigh(mine->anti_preferred, mine->n_anti_preferred, kind, there, node,
                                   other);
            if (theirs)
                sum += terms_weigh(theirs->pod_preferred, theirs->n_pod_preferred, there, kind,
                                   node, other) -
                       terms_weigh(theirs->anti_preferred, theirs->n_anti_preferred, there, kind,
                                   node, other);
        }
    }
    return sum;
}

static bool prefers_company(const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;

    return a && (a->n_pod_preferred || a->n_anti_preferred);
}

static void add_company(struct session *s, const struct kind *kind, const struct candidates *c,
                        int64_t weight)
{
    int64_t *sums = ARENA_NEW0_N(&s->arena, int64_t, c->n + 1), least = 0, most = 0;

    for (size_t i = 0; i < c->n; i++) {
        sums[i] = company(s, kind, c->nodes[i]);
        least = i && sums[i] > least ? least : sums[i];
        most = i && sums[i] < most ? most : sums[i];
    }
    for (size_t i = 0; most > least && i < c->n; i++)
        c->scores[i] += (double)(weight * ((sums[i] - least) * 100 / (most - least)));
}

static void score_all(struct session *s, struct plugin_use *use, const struct task *task,
                      const struct candidates *candidates)
{
    const struct arguments *a = use->config;
    const struct kind *kind = task->group->kind;

    if (a->pod_affinity && prefers_company(kind))
        add_company(s, kind, candidates, a->pod_affinity);
    if (!s->setup->is_reference)
        return;
    if (a->node_affinity)
        add_node_affinity(kind, candidates, a->node_affinity);
    if (a->taint)
        add_taints(kind, candidates, a->taint);
}

static bool has_soft_taints(const struct session *s)
{
    NODE_EACH (node, s->model)
        for (size_t i = 0; i < node->kept->n_taints; i++)
            if (node->kept->taints[i].effect == BERTH_PREFER_NO_SCHEDULE)
                return true;
    return false;
}

static void open_session(struct session *s, struct plugin_use *use)
{
    bool *soft = ARENA_NEW0(&s->arena, bool);

    *soft = s->setup->is_reference && has_soft_taints(s);
    use->state = soft;
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    const struct arguments *a = use->config;

    if (a->pod_affinity && prefers_company(kind))
        return false;
    return !s->setup->is_reference ||
           !((a->node_affinity && has_preferences(kind)) || (a->taint && *(bool *)use->state));
}

const struct plugin plugin_nodeorder = {
    .name = "nodeorder",
    .configure = configure,
    .open = open_session,
    .is_local = is_local,
    .score = score,
    .score_all = score_all,
};

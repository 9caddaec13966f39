/*
 * Node order: a score of whole points, 0 to 100 from each scorer times its weight.
 *
 * Scorers that are made to fit the candidates (the best of them gets 100) go by all of them at
 * once. In profile `volcano` they are; elsewhere they go by the node alone, so that a placement
 * costs what it touches.
 */
#include <string.h>

#include "base/str.h"
#include "engine/company.h"
#include "engine/match.h"
#include "engine/plugins.h"
#include "engine/spread.h"

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

/* What the node would use with the task on it. */
static int64_t used_with(const struct model *model, const struct kind *kind, uint32_t at,
                         uint32_t dim)
{
    const struct column *c = &model->columns[dim];

    return wrap_add(wrap_add(c->used[at], c->pipelined[at]), asks_of(&kind->asks, dim));
}

/* Of one dimension on one node: the part that would be free, or used, in hundredths. */
static int64_t part_of(int64_t used, int64_t offers, bool most)
{
    int64_t part = most ? used : offers - used;

    if (used > offers)
        return most ? 100 : 0;
    return part < INT64_MAX / 100 ? part * 100 / offers : (int64_t)((wide)part * 100 / offers);
}

static int64_t unsaid(uint32_t dim)
{
    return dim == DIM_CPU ? DEFAULT_CPU : DEFAULT_MEMORY;
}

/* The mean over cpu and memory of the part that is free, or used. */
static int64_t requested(const struct model *model, const struct kind *kind, uint32_t at, bool most)
{
    int64_t sum = 0, n = 0;

    for (uint32_t dim = DIM_CPU; dim <= DIM_MEMORY; dim++) {
        int64_t offers = model->columns[dim].offers[at];
        int64_t used = used_with(model, kind, at, dim);
        if (!offers)
            continue;
        n++;
        used = wrap_add(used, unsaid(dim) * (model->gauges[dim].n_unsaid[at] +
                                             (asks_of(&kind->asks, dim) ? 0 : 1)));
        sum += part_of(used, offers, most);
    }
    return n ? sum / n : 0;
}

/*
 * The same for a run of nodes that all offer both. Below 2^46 doubles give exactly the whole
 * hundredths: 100 x part is below 2^53, and a quotient of at most 100 that is not whole is at
 * least 1 / offers from the next whole number, which is more than it can be rounded by.
 */
static void add_requested(const struct model *model, const struct kind *kind, uint32_t from,
                          size_t n, double weight, double *restrict sums)
{
    const struct gauge *cpu = &model->gauges[DIM_CPU], *memory = &model->gauges[DIM_MEMORY];
    const double *restrict cpu_offers = cpu->offers + from, *restrict cpu_said = cpu->said + from;
    const double *restrict mem_offers = memory->offers + from;
    const double *restrict mem_said = memory->said + from;
    const int32_t *restrict cpu_unsaid = cpu->n_unsaid + from;
    const int32_t *restrict mem_unsaid = memory->n_unsaid + from;
    int64_t ask_cpu = asks_of(&kind->asks, DIM_CPU), ask_memory = asks_of(&kind->asks, DIM_MEMORY);
    double more_cpu = (double)(ask_cpu ? ask_cpu : DEFAULT_CPU);
    double more_memory = (double)(ask_memory ? ask_memory : DEFAULT_MEMORY);

    for (size_t i = 0; i < n; i++) {
        double a = cpu_offers[i] - (cpu_said[i] + cpu_unsaid[i] * (double)DEFAULT_CPU + more_cpu);
        double b =
            mem_offers[i] - (mem_said[i] + mem_unsaid[i] * (double)DEFAULT_MEMORY + more_memory);
        a = a < 0 ? 0 : a;
        b = b < 0 ? 0 : b;
        sums[i] += weight *
                   (((int32_t)(a * 100 / cpu_offers[i]) + (int32_t)(b * 100 / mem_offers[i])) >> 1);
    }
}

static double root(double x)
{
    return __builtin_sqrt(x);
}

/* The dimensions of devices that count, or NOWHERE, and what was counted. State of a session. */
struct gpus {
    uint32_t by_class, by_vendor;
    struct spread *spread;
};

static bool asks_gpu(const struct gpus *gpus, const struct kind *kind)
{
    return (gpus->by_class != NOWHERE && asks_of(&kind->asks, gpus->by_class)) ||
           (gpus->by_vendor != NOWHERE && asks_of(&kind->asks, gpus->by_vendor));
}

/* How evenly the dimensions would be used, 0 to 100: less the deviation of their parts. */
static int64_t balance(const struct model *model, const struct kind *kind, uint32_t at,
                       const struct gpus *gpus)
{
    bool by_vendor = gpus->by_vendor != NOWHERE && asks_of(&kind->asks, gpus->by_vendor);
    uint32_t gpu = by_vendor ? gpus->by_vendor : gpus->by_class;
    uint32_t dims[3] = { DIM_CPU, DIM_MEMORY, gpu };
    double parts[3], mean = 0, deviation = 0;
    int n = 0;

    if (gpu == NOWHERE || !asks_of(&kind->asks, gpu)) {
        dims[2] = NOWHERE;
        if (kind->no_cpu && kind->no_memory)
            return 0;
    }
    for (int i = 0; i < 3 && dims[i] != NOWHERE; i++) {
        int64_t offers = model->columns[dims[i]].offers[at];
        if (!offers)
            continue;
        parts[n] = (double)used_with(model, kind, at, dims[i]) / (double)offers;
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

/* The same for a run of nodes that all offer both, of a class without devices. */
static void add_balance(const struct model *model, const struct kind *kind, uint32_t from, size_t n,
                        double weight, double *restrict sums)
{
    const struct gauge *cpu = &model->gauges[DIM_CPU], *memory = &model->gauges[DIM_MEMORY];
    const double *restrict cpu_offers = cpu->offers + from, *restrict cpu_said = cpu->said + from;
    const double *restrict mem_offers = memory->offers + from;
    const double *restrict mem_said = memory->said + from;
    double more_cpu = (double)asks_of(&kind->asks, DIM_CPU);
    double more_memory = (double)asks_of(&kind->asks, DIM_MEMORY);

    for (size_t i = 0; i < n; i++) {
        double a = (cpu_said[i] + more_cpu) / cpu_offers[i];
        double b = (mem_said[i] + more_memory) / mem_offers[i];
        a = a > 1 ? 1 : a;
        b = b > 1 ? 1 : b;
        sums[i] += weight * (int32_t)((1 - __builtin_fabs(a - b) / 2) * 100);
    }
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

/* What goes by the class of the node, and the terms that name it. */
static int64_t fixed(const struct arguments *a, const struct kind *kind, const struct node *node)
{
    int64_t sum = 0, all;

    if (a->node_affinity && has_preferences(kind)) {
        int64_t met = preferred(kind, node, &all);
        sum += a->node_affinity * (all ? met * 100 / all : 0);
    }
    if (a->taint)
        sum += a->taint * (100 / (1 + untolerated(kind, node)));
    return sum;
}

/* The sum for one node of whatever sort. */
static int64_t points(struct session *s, const struct plugin_use *use, const struct kind *kind,
                      uint32_t at)
{
    const struct arguments *a = use->config;
    int64_t sum = 0;

    if (a->least)
        sum += a->least * requested(s->model, kind, at, false);
    if (a->most)
        sum += a->most * requested(s->model, kind, at, true);
    if (a->balanced)
        sum += a->balanced * balance(s->model, kind, at, use->state);
    if (!s->setup->is_reference)
        sum += fixed(a, kind, s->model->nodes.at[at]);
    return sum;
}

/* Whether cpu and memory of the nodes are all that the sums go by, and doubles hold them. */
static bool is_simple(struct session *s, const struct plugin_use *use, const struct kind *kind)
{
    const struct arguments *a = use->config;
    const struct model *model = s->model;

    return !model->is_huge && !model->n_lacking && !a->most &&
           asks_of(&kind->asks, DIM_CPU) < GAUGE_LIMIT &&
           asks_of(&kind->asks, DIM_MEMORY) < GAUGE_LIMIT && !asks_gpu(use->state, kind) &&
           (s->setup->is_reference || (!model->n_soft_taints && !has_preferences(kind)));
}

enum { RUN = 256 };

/* Whole numbers below 2^53: as doubles their sums are exact. */
static void add_run(struct session *s, const struct arguments *a, const struct kind *kind,
                    uint32_t from, size_t n, double *scores)
{
    double sums[RUN];

    for (size_t i = 0; i < n; i++)
        sums[i] = s->setup->is_reference ? 0 : (double)(a->taint * 100);
    if (a->least)
        add_requested(s->model, kind, from, n, (double)a->least, sums);
    if (a->balanced && !(kind->no_cpu && kind->no_memory))
        add_balance(s->model, kind, from, n, (double)a->balanced, sums);
    for (size_t i = 0; i < n; i++)
        scores[i] += sums[i];
}

static void score_run(struct session *s, struct plugin_use *use, const struct kind *kind,
                      uint32_t from, size_t n, double *scores)
{
    bool simple = is_simple(s, use, kind);

    for (size_t i = 0; i < n && !simple; i++)
        scores[i] += (double)points(s, use, kind, from + (uint32_t)i);
    for (size_t i = 0, some; i < n && simple; i += some) {
        some = n - i < RUN ? n - i : RUN;
        add_run(s, use->config, kind, from + (uint32_t)i, some, scores + i);
    }
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    return (double)points(s, use, kind, node->at);
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

/* In profile `volcano` what those that are there would rather have counts for every newcomer. */
static bool prefers_company(const struct session *s, const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;

    if (s->setup->is_reference && s->model->choosy_kinds.n)
        return true;
    return a && (a->n_pod_preferred || a->n_anti_preferred);
}

static void add_company(struct session *s, const struct kind *kind, const struct candidates *c,
                        int64_t weight)
{
    int64_t *sums = ARENA_NEW0_N(&s->arena, int64_t, c->n + 1), least = 0, most = 0;

    for (size_t i = 0; i < c->n; i++) {
        sums[i] = company_weighs(s, (struct kind *)kind, c->nodes[i]);
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

    if (a->pod_affinity && prefers_company(s, kind))
        add_company(s, kind, candidates, a->pod_affinity);
    if (a->spread && spread_is_preferred(kind))
        spread_score(s, &((struct gpus *)use->state)->spread, kind, candidates, a->spread);
    if (!s->setup->is_reference)
        return;
    if (a->node_affinity)
        add_node_affinity(kind, candidates, a->node_affinity);
    if (a->taint)
        add_taints(kind, candidates, a->taint);
}

static void open_session(struct session *s, struct plugin_use *use)
{
    struct gpus *gpus = ARENA_NEW0(&s->arena, struct gpus);

    gpus->by_class = dim_find(s->model, "gpu");
    gpus->by_vendor = dim_find(s->model, "nvidia.com/gpu");
    use->state = gpus;
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    const struct arguments *a = use->config;

    if ((a->pod_affinity && prefers_company(s, kind)) || (a->spread && spread_is_preferred(kind)))
        return false;
    return !s->setup->is_reference ||
           !((a->node_affinity && has_preferences(kind)) || (a->taint && s->model->n_soft_taints));
}

const struct plugin plugin_nodeorder = {
    .name = "nodeorder",
    .sees_lines = true,
    .configure = configure,
    .open = open_session,
    .is_local = is_local,
    .score = score,
    .score_run = score_run,
    .score_all = score_all,
};

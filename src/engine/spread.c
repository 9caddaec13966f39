/* Spread: see spread.h. */
#include "engine/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/match.h"
#include "engine/terms.h"

/* What one constraint makes of the nodes. */
struct parts {
    const struct berth_pod_term *term;
    uint32_t *part_of; /* by place of a node; NOWHERE: of none */
    int64_t *n_on;     /* by place: tasks that the constraint means */
    int64_t *n_in;     /* by part: the same */
    size_t n;
    int64_t least;
    bool is_least_known;
    bool means_itself; /* the class's own tasks are such tasks */
    bool by_node;      /* parts are single nodes */
};

struct spread {
    struct spread *next; /* of another class */
    const struct kind *kind;
    uint64_t epoch, read;
    const struct berth_pod_term *terms;
    size_t n;
    struct parts *parts; /* by constraint */
};

bool spread_is_asked(const struct kind *kind)
{
    return kind->spec->affinity && kind->spec->affinity->n_spread;
}

bool spread_is_preferred(const struct kind *kind)
{
    return kind->spec->affinity && kind->spec->affinity->n_spread_preferred;
}

/* Whether the node is of some part for each constraint. */
static bool has_parts(const struct spread *spread, const struct node *node)
{
    for (size_t i = 0; i < spread->n; i++)
        if (!term_value(&spread->terms[i], node))
            return false;
    return true;
}

bool spread_has_parts(const struct kind *kind, const struct node *node)
{
    for (size_t i = 0; i < kind->spec->affinity->n_spread; i++)
        if (!term_value(&kind->spec->affinity->spread[i], node))
            return false;
    return true;
}

/* Whether the class may use the node by its labels. */
static bool may_use(const struct kind *kind, const struct node *node)
{
    const struct berth_affinity *a = kind->spec->affinity;
    bool holds = a->n_node_required == 0;

    for (size_t i = 0; i < a->n_node_required && !holds; i++)
        holds = selector_holds(&a->node_required[i].selector, &node->kept->labels, node->id);
    return holds && labels_hold(&kind->spec->node_selector, &node->kept->labels);
}

static int64_t count_on(const struct spread *spread, const struct berth_pod_term *term,
                        const struct node *node)
{
    int64_t n = 0;

    VEC_EACH (task, &node->tasks)
        n += (*task)->state != BERTH_TASK_RELEASING &&
             term_means(term, spread->kind, (*task)->group->kind);
    return n;
}

/*
 * Numbers the parts. A limit goes by those that the class may use alone; of a score the candidates say
 * which parts there are, and only what stands in others counts for nothing.
 */
static void divide(struct session *s, const struct spread *spread, struct parts *parts,
                   bool is_limit)
{
    size_t n = s->model->nodes.n;
    bool *takes_part = ARENA_NEW0_N(&s->arena, bool, n + 1);

    parts->part_of = ARENA_NEW0_N(&s->arena, uint32_t, n + 1);
    parts->n_on = ARENA_NEW0_N(&s->arena, int64_t, n + 1);
    NODE_EACH (node, s->model)
        takes_part[node->at] =
            has_parts(spread, node) && (!is_limit || may_use(spread->kind, node));
    parts->n = term_divide(s, parts->term, takes_part, parts->part_of);
    parts->n_in = ARENA_NEW0_N(&s->arena, int64_t, parts->n + 1);
}

static void recount(const struct spread *spread, struct parts *parts, const struct node *node)
{
    uint32_t part = parts->part_of[node->at];
    int64_t n;

    if (part == NOWHERE || (!parts->by_node && !may_use(spread->kind, node)))
        return;
    n = count_on(spread, parts->term, node);
    parts->is_least_known &= n == parts->n_on[node->at];
    parts->n_in[part] += n - parts->n_on[node->at];
    parts->n_on[node->at] = n;
}

static void count(struct session *s, struct spread *spread, bool is_limit)
{
    spread->parts = ARENA_NEW0_N(&s->arena, struct parts, spread->n);
    for (size_t i = 0; i < spread->n; i++) {
        struct parts *parts = &spread->parts[i];

        parts->term = &spread->terms[i];
        parts->means_itself = term_means(parts->term, spread->kind, spread->kind);
        parts->by_node = term_is_by_node(parts->term);
        divide(s, spread, parts, is_limit);
        NODE_EACH (node, s->model)
            recount(spread, parts, node);
    }
}

/*
 * The counts for a class as of now. Only nodes that were touched since are counted again. (A hunt shortens
 * the log, but only for classes about which nothing is asked here.)
 */
static struct spread *counted(struct session *s, struct spread **kept, const struct kind *kind,
                              bool is_limit)
{
    struct model *model = s->model;
    const struct berth_affinity *a = kind->spec->affinity;
    uint64_t now = model->touched_base + model->touched.n;
    struct spread *spread = *kept;

    while (spread && spread->kind != kind)
        spread = spread->next;
    if (!spread) {
        spread = ARENA_NEW0(&s->arena, struct spread);
        *spread = (struct spread){ .next = *kept,
                                   .kind = kind,
                                   .terms = is_limit ? a->spread : a->spread_preferred,
                                   .n = is_limit ? a->n_spread : a->n_spread_preferred };
        *kept = spread;
    }
    if (!spread->parts || spread->epoch != model->epoch || s->in.is_cold)
        count(s, spread, is_limit);
    else
        for (; spread->read < now; spread->read++)
            for (size_t i = 0; i < spread->n; i++)
                recount(spread, &spread->parts[i],
                        model->nodes.at[model->touched.at[spread->read - model->touched_base]]);
    spread->epoch = model->epoch;
    spread->read = now;
    return spread;
}

/* NOWHERE: none, as of a machine on its way. */
static uint32_t part_at(const struct parts *parts, const struct node *node)
{
    return node->at == NOWHERE ? NOWHERE : parts->part_of[node->at];
}

static int64_t least_of(struct parts *parts)
{
    for (size_t i = 0; i < parts->n && !parts->is_least_known; i++)
        if (i == 0 || parts->n_in[i] < parts->least)
            parts->least = parts->n_in[i];
    parts->is_least_known = true;
    return parts->least;
}

bool spread_holds(struct session *s, struct spread **kept, const struct kind *kind,
                  const struct node *node)
{
    const struct spread *spread = counted(s, kept, kind, true);

    for (size_t i = 0; i < spread->n; i++) {
        struct parts *parts = &spread->parts[i];
        uint32_t part = part_at(parts, node);

        if (part == NOWHERE ||
            parts->n_in[part] + parts->means_itself - least_of(parts) > parts->term->weight)
            return false;
    }
    return true;
}

/* --- Scores */

/* The natural logarithm of a whole number, the same everywhere. */
static double ln(uint64_t x)
{
    int shift = 63 - __builtin_clzll(x);
    double part = (double)x / (double)((uint64_t)1 << shift), t = (part - 1) / (part + 1);
    double power = t, sum = 0;

    for (int i = 1; i < 40; i += 2) {
        sum += power / i;
        power *= t * t;
    }
    return 2 * sum + shift * 0.69314718055994530942;
}

/* Of how many parts the candidates are. */
static size_t n_parts_of(struct session *s, const struct parts *parts, const struct candidates *c)
{
    bool *is_there = ARENA_NEW0_N(&s->arena, bool, parts->n + 1);
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        uint32_t part = part_at(parts, c->nodes[i]);

        n += part != NOWHERE && (parts->by_node || !is_there[part]);
        if (part != NOWHERE)
            is_there[part] = true;
    }
    return n;
}

void spread_score(struct session *s, struct spread **kept, const struct kind *kind,
                  const struct candidates *c, int64_t weight)
{
    const struct spread *spread = counted(s, kept, kind, false);
    double *sums = ARENA_NEW0_N(&s->arena, double, c->n + 1);
    int64_t least = INT64_MAX, most = 0;

    for (size_t k = 0; k < spread->n; k++) {
        const struct parts *parts = &spread->parts[k];
        double each = ln(n_parts_of(s, parts, c) + 2);

        for (size_t i = 0; i < c->n; i++) {
            uint32_t at = c->nodes[i]->at, part = part_at(parts, c->nodes[i]);

            if (part == NOWHERE)
                sums[i] = -1;
            else
                sums[i] += (double)(parts->by_node ? parts->n_on[at] : parts->n_in[part]) * each +
                           (parts->term->weight - 1);
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        int64_t sum = (int64_t)(sums[i] + 0.5);

        if (sums[i] < 0)
            continue;
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    for (size_t i = 0; i < c->n; i++)
        if (sums[i] >= 0)
            c->scores[i] +=
                (double)(weight *
                         (most ? 100 * (most + least - (int64_t)(sums[i] + 0.5)) / most : 100));
}

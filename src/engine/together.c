/*
 * Together: see together.h.
 *
 * Sums say most of it: what so many ask for at least is more than all nodes offer. Else ways are gone through,
 * class by class, the largest first, from node to node. Like tasks, and nodes that are alike with as much left,
 * stand for each other. So many looks at a node, and at who stands on others, are spent at most.
 */
#include "engine/together.h"

#include <string.h>

#include "engine/demand.h"
#include "engine/devices.h"
#include "engine/fit.h"
#include "engine/res.h"

enum { MOST_LOOKS = 20000, MOST_TASKS = 1000 };

enum suits { SUITS_UNKNOWN, SUITS_NOT, SUITS };

struct stand {
    size_t part;
    uint32_t at; /* the node */
};

struct puzzle {
    struct session *s;
    struct arena arena;
    const struct together_part *parts;
    size_t n_parts, n_nodes;
    uint8_t *suits;   /* enum suits, by part and node */
    int64_t **left;   /* by node: of each dimension, and of cores; NULL: nothing stands there */
    uint64_t *behind; /* by part: tasks of it and of those behind it */
    struct stand *stands;
    size_t n_stands;
    int64_t looks; /* left */
    bool minds;
};

bool together_minds(const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;

    return kind->spec->n_host_ports || (a && a->n_anti_required);
}

/* --- Sums */

/* The least that so many of the tasks ask for of a dimension. */
static wide least_asked(const struct puzzle *p, uint32_t dim, uint64_t n)
{
    bool *counted = ARENA_NEW0_N((struct arena *)&p->arena, bool, p->n_parts + 1);
    wide sum = 0;

    while (n) {
        size_t least = p->n_parts;
        uint64_t here;
        for (size_t i = 0; i < p->n_parts; i++)
            if (!counted[i] &&
                (least == p->n_parts ||
                 asks_of(&p->parts[i].kind->asks, dim) < asks_of(&p->parts[least].kind->asks, dim)))
                least = i;
        if (least == p->n_parts)
            return sum;
        counted[least] = true;
        here = p->parts[least].n < n ? p->parts[least].n : n;
        sum += (wide)asks_of(&p->parts[least].kind->asks, dim) * (wide)here;
        n -= here;
    }
    return sum;
}

static void sum_offers(const struct model *model, wide *sum)
{
    NODE_EACH (node, model)
        if (node_takes_work(node->kept->state) || node->kept->state == NODE_COMING)
            for (uint32_t d = 0; d < model->dims.n; d++)
                sum[d] += model->columns[d].offers[node->at];
}

static bool is_within_sums(const struct puzzle *p, const wide *offers, uint64_t n)
{
    for (uint32_t d = 0; d < p->s->model->dims.n; d++)
        if (least_asked(p, d, n) > offers[d])
            return false;
    return true;
}

/* --- All ways */

static bool suits(struct puzzle *p, size_t part, uint32_t at)
{
    uint8_t *known = &p->suits[part * p->n_nodes + at];

    if (*known == SUITS_UNKNOWN)
        *known = fit_ever(p->s, p->parts[part].kind, p->s->model->nodes.at[at]) ? SUITS : SUITS_NOT;
    return *known == SUITS;
}

/* What the node has left beside those that stand there. */
static int64_t *left_on(struct puzzle *p, uint32_t at)
{
    const struct model *model = p->s->model;
    const struct node *node = model->nodes.at[at];
    int64_t *left = p->left[at];

    if (left)
        return left;
    left = p->left[at] = ARENA_NEW0_N(&p->arena, int64_t, model->dims.n + 1);
    for (uint32_t d = 0; d < model->dims.n; d++)
        left[d] = demand_offered(model, node, d);
    left[model->dims.n] = (int64_t)node->kept->cores.n;
    return left;
}

/* Puts a task on a node, or (`times` -1) takes it away. */
static void put(struct puzzle *p, size_t part, uint32_t at, int64_t times)
{
    const struct kind *kind = p->parts[part].kind;
    int64_t *left = left_on(p, at);

    for (size_t i = 0; i < kind->asks.n; i++)
        left[kind->asks.at[i].dim] -= times * kind->asks.at[i].value;
    left[p->s->model->dims.n] -= times * (int64_t)kind_n_cores(kind);
    if (times > 0)
        p->stands[p->n_stands++] = (struct stand){ part, at };
    else
        p->n_stands--;
}

static bool has_room(struct puzzle *p, const struct kind *kind, uint32_t at)
{
    const int64_t *left = left_on(p, at);

    for (size_t i = 0; i < kind->asks.n; i++)
        if (left[kind->asks.at[i].dim] < kind->asks.at[i].value)
            return false;
    return left[p->s->model->dims.n] >= (int64_t)kind_n_cores(kind);
}

static bool is_kept_off(struct puzzle *p, size_t part, uint32_t at)
{
    struct node *const *nodes = p->s->model->nodes.at;

    for (size_t i = 0; p->minds && i < p->n_stands; i++, p->looks--)
        if (fit_excludes(p->s, p->parts[part].kind, nodes[at], p->parts[p->stands[i].part].kind,
                         nodes[p->stands[i].at]))
            return true;
    return false;
}

/* Whether what can stand on one node can on the other, as things stand. */
static bool are_like(struct puzzle *p, uint32_t a, uint32_t b)
{
    if (p->minds)
        return false;
    for (size_t i = 0; i < p->n_parts; i++)
        if (suits(p, i, a) != suits(p, i, b))
            return false;
    return !memcmp(left_on(p, a), left_on(p, b), (p->s->model->dims.n + 1) * sizeof(int64_t));
}

/*
 * Places so many more tasks, of a part of which some stand already, the last on node `from`, and of those
 * behind it. Also true once all looks are spent.
 */
static bool place(struct puzzle *p, size_t part, uint64_t n_gone, uint32_t from, uint64_t n)
{
    if (!n)
        return true;
    if (part == p->n_parts || p->behind[part] - n_gone < n)
        return false;
    for (uint32_t at = from; n_gone < p->parts[part].n && at < p->n_nodes; at++) {
        if (p->looks-- <= 0)
            return true;
        if (!suits(p, part, at) || !has_room(p, p->parts[part].kind, at) ||
            (at > from && are_like(p, at - 1, at)) || is_kept_off(p, part, at))
            continue;
        put(p, part, at, 1);
        if (place(p, part, n_gone + 1, at, n - 1))
            return true;
        put(p, part, at, -1);
    }
    return place(p, part + 1, 0, 0, n);
}

static bool could(struct puzzle *p, const wide *offers, uint64_t n)
{
    if (!is_within_sums(p, offers, n))
        return false;
    if (n > MOST_TASKS)
        return true;
    p->n_stands = 0;
    for (size_t at = 0; at < p->n_nodes; at++)
        p->left[at] = NULL;
    return place(p, 0, 0, 0, n);
}

/* How many of a part there can be if no two of them may stand on one node. */
static uint64_t most_apart(struct puzzle *p, size_t part)
{
    struct kind *kind = p->parts[part].kind;
    uint64_t n = 0;

    for (uint32_t at = 0; together_minds(kind) && at < p->n_nodes && n < p->parts[part].n; at++) {
        const struct node *node = p->s->model->nodes.at[at];
        if (!suits(p, part, at) || !has_room(p, kind, at))
            continue;
        if (!fit_excludes(p->s, kind, node, kind, node))
            return p->parts[part].n;
        n++;
    }
    return together_minds(kind) ? n : p->parts[part].n;
}

/* The largest first: the fewest ways to put them. */
static void sort_parts(struct puzzle *p, struct together_part *parts, const wide *offers)
{
    struct share *shares = ARENA_NEW0_N(&p->arena, struct share, p->n_parts + 1);

    for (size_t i = 0; i < p->n_parts; i++) {
        wide *asks = ARENA_NEW0_N(&p->arena, wide, p->s->model->dims.n + 1);
        struct together_part part = parts[i];
        struct share share;
        size_t k = i;
        res_add_asks(asks, &part.kind->asks, 1);
        share = res_dominant(p->s, asks, offers);
        for (; k && share_cmp(shares[k - 1], share) < 0; k--) {
            parts[k] = parts[k - 1];
            shares[k] = shares[k - 1];
        }
        parts[k] = part;
        shares[k] = share;
    }
}

uint64_t together_most(struct session *s, struct together_part *parts, size_t n_parts,
                       uint64_t most)
{
    struct puzzle p = { .s = s,
                        .parts = parts,
                        .n_parts = n_parts,
                        .n_nodes = s->model->nodes.n,
                        .looks = MOST_LOOKS };
    wide *offers = ARENA_NEW0_N(&p.arena, wide, s->model->dims.n + 1);
    uint64_t least = 0; /* so many could */

    p.suits = ARENA_NEW0_N(&p.arena, uint8_t, n_parts * p.n_nodes + 1);
    p.left = ARENA_NEW0_N(&p.arena, int64_t *, p.n_nodes + 1);
    p.behind = ARENA_NEW0_N(&p.arena, uint64_t, n_parts + 1);
    p.stands = ARENA_NEW0_N(&p.arena, struct stand, MOST_TASKS + 1);
    sum_offers(s->model, offers);
    sort_parts(&p, parts, offers);
    for (size_t i = n_parts; i-- > 0;) {
        parts[i].n = most_apart(&p, i);
        p.behind[i] = p.behind[i + 1] + parts[i].n;
        p.minds = p.minds || together_minds(parts[i].kind);
    }
    most = most < p.behind[0] ? most : p.behind[0];
    for (uint64_t n = most; least < most; n = least + (most - least + 1) / 2)
        if (could(&p, offers, n))
            least = n;
        else
            most = n - 1;
    arena_fini(&p.arena);
    return least;
}

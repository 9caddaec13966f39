/* Spread: see spread.h. */
#include "engine/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/match.h"

/* A part of the cluster: the nodes with one value of a label. */
struct part {
    const char *value;
    int64_t n; /* tasks that the constraint means */
};

struct parts {
    struct part *at; /* by value */
    size_t n;
    int64_t least;
    bool means_itself; /* the class's own tasks are such tasks */
};

struct spread {
    const struct kind *kind;
    uint64_t read;
    bool is_dry_run;
    struct parts *parts; /* by constraint */
};

bool spread_is_asked(const struct kind *kind)
{
    return kind->spec->affinity && kind->spec->affinity->n_spread;
}

static const char *value_of(const struct berth_pod_term *term, const struct node *node)
{
    const char *value = label_value(&node->kept->labels, term->topology_key);

    if (!value && strcmp(term->topology_key, "kubernetes.io/hostname") == 0)
        return node->id;
    return value;
}

/* Whether the class may use the node by its labels, and the node is of some part for each constraint. */
static bool is_counted(const struct kind *kind, const struct node *node)
{
    const struct berth_affinity *a = kind->spec->affinity;
    bool holds = a->n_node_required == 0;

    for (size_t i = 0; i < a->n_spread; i++)
        if (!value_of(&a->spread[i], node))
            return false;
    for (size_t i = 0; i < a->n_node_required && !holds; i++)
        holds = selector_holds(&a->node_required[i].selector, &node->kept->labels, node->id);
    return holds && labels_hold(&kind->spec->node_selector, &node->kept->labels);
}

static bool is_meant(const struct berth_pod_term *term, const struct kind *owner,
                     const struct kind *other)
{
    return strcmp(owner->namespace_, other->namespace_) == 0 &&
           selector_holds(&term->selector, &other->spec->labels, NULL);
}

static int by_value(const void *a, const void *b)
{
    return strcmp(((const struct part *)a)->value, ((const struct part *)b)->value);
}

/* A part for each node, sorted, and those of one value made one. */
static void join(struct parts *parts)
{
    size_t n = 0;

    qsort(parts->at, parts->n, sizeof(*parts->at), by_value);
    for (size_t i = 0; i < parts->n; i++) {
        if (n && strcmp(parts->at[n - 1].value, parts->at[i].value) == 0)
            parts->at[n - 1].n += parts->at[i].n;
        else
            parts->at[n++] = parts->at[i];
    }
    parts->n = n;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || parts->at[i].n < parts->least)
            parts->least = parts->at[i].n;
}

static void count(struct session *s, const struct kind *kind, const struct berth_pod_term *term,
                  struct parts *out)
{
    out->at = ARENA_NEW0_N(&s->arena, struct part, s->model->nodes.n + 1);
    out->means_itself = is_meant(term, kind, kind);
    NODE_EACH (node, s->model) {
        struct part *part = &out->at[out->n];

        if (!is_counted(kind, node))
            continue;
        out->n++;
        part->value = value_of(term, node);
        VEC_EACH (task, &node->tasks)
            part->n += (*task)->state != BERTH_TASK_RELEASING &&
                       is_meant(term, kind, (*task)->group->kind);
    }
    join(out);
}

static struct spread *counted(struct session *s, struct spread **kept, const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;
    uint64_t now = s->model->touched_base + s->model->touched.n;
    struct spread *spread = *kept;

    if (spread && spread->kind == kind && spread->read == now &&
        spread->is_dry_run == s->is_dry_run && !s->in.is_cold)
        return spread;
    spread = *kept = ARENA_NEW0(&s->arena, struct spread);
    *spread = (struct spread){ .kind = kind, .read = now, .is_dry_run = s->is_dry_run };
    spread->parts = ARENA_NEW0_N(&s->arena, struct parts, a->n_spread);
    for (size_t i = 0; i < a->n_spread; i++)
        count(s, kind, &a->spread[i], &spread->parts[i]);
    return spread;
}

bool spread_holds(struct session *s, struct spread **kept, const struct kind *kind,
                  const struct node *node)
{
    const struct berth_affinity *a = kind->spec->affinity;
    const struct spread *spread = counted(s, kept, kind);

    for (size_t i = 0; i < a->n_spread; i++) {
        const struct parts *parts = &spread->parts[i];
        struct part key = { .value = value_of(&a->spread[i], node) };
        const struct part *part =
            key.value ? bsearch(&key, parts->at, parts->n, sizeof(key), by_value) : NULL;

        if (!part || part->n + parts->means_itself - parts->least > a->spread[i].weight)
            return false;
    }
    return true;
}

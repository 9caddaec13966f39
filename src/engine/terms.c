/* Terms: see terms.h. */
#include "engine/terms.h"

#include <stdlib.h>
#include <string.h>

#include "engine/match.h"

bool term_means(const struct berth_pod_term *term, const struct kind *owner,
                const struct kind *other)
{
    if (term->namespaces.n ? !words_have(&term->namespaces, other->namespace_)
                           : strcmp(owner->namespace_, other->namespace_) != 0)
        return false;
    return selector_holds(&term->selector, &other->spec->labels, NULL);
}

bool term_is_by_node(const struct berth_pod_term *term)
{
    return strcmp(term->topology_key, "kubernetes.io/hostname") == 0;
}

const char *term_value(const struct berth_pod_term *term, const struct node *node)
{
    const char *value = node->kept ? label_value(&node->kept->labels, term->topology_key) : NULL;

    return !value && term_is_by_node(term) ? node->id : value;
}

bool term_joins(const struct berth_pod_term *term, const struct node *a, const struct node *b)
{
    const char *x = term_value(term, a), *y = term_value(term, b);

    return x && y && strcmp(x, y) == 0;
}

struct valued {
    const char *value;
    uint32_t at;
};

static int by_value(const void *a, const void *b)
{
    return strcmp(((const struct valued *)a)->value, ((const struct valued *)b)->value);
}

size_t term_divide(struct session *s, const struct berth_pod_term *term, const bool *takes_part,
                   uint32_t *part_of)
{
    struct valued *valued = ARENA_NEW0_N(&s->arena, struct valued, s->model->nodes.n + 1);
    size_t n = 0, n_parts = 0;

    NODE_EACH (node, s->model) {
        const char *value = term_value(term, node);
        part_of[node->at] = NOWHERE;
        if (value && (!takes_part || takes_part[node->at]))
            valued[n++] = (struct valued){ value, node->at };
    }
    qsort(valued, n, sizeof(*valued), by_value);
    for (size_t i = 0; i < n; i++) {
        n_parts += i == 0 || strcmp(valued[i - 1].value, valued[i].value) != 0;
        part_of[valued[i].at] = (uint32_t)(n_parts - 1);
    }
    return n_parts;
}

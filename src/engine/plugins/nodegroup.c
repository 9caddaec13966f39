/*
 * Node group: which groups of nodes a queue's tasks must, would rather, must not and would rather
 * not use, and how much of a group they may hold.
 */
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/match.h"
#include "engine/plugins.h"
#include "engine/res.h"

struct arguments {
    bool strict, ordered;
};

static const struct argument known[] = {
    { "strict", ARG_TRUTH, offsetof(struct arguments, strict) },
    { "enablePreferredOrder", ARG_TRUTH, offsetof(struct arguments, ordered) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);

    a->strict = true;
    *out = a;
    return arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
}

static bool has_rules(const struct berth_queue *queue)
{
    return queue->group_required.n || queue->group_preferred.n || queue->group_anti_required.n ||
           queue->group_anti_preferred.n;
}

/* The queue whose rules hold: itself, or with hierarchy the nearest above it that has any. */
static const struct berth_queue *rules_of(const struct session *s, const struct plugin_use *use,
                                          const struct kind *kind)
{
    const struct queue *queue = queue_find(s->model, kind->queue);
    bool climbs = use->enabled & BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY);

    for (int depth = 0; queue && queue->kept && depth < 32; depth++) {
        const char *parent = queue->kept->parent;
        if (has_rules(queue->kept) || !climbs)
            return has_rules(queue->kept) ? queue->kept : NULL;
        if (!parent)
            parent = strcmp(queue->name, "root") == 0 ? NULL : "root";
        queue = queue_find(s->model, parent);
    }
    return NULL;
}

static bool is_allowed(const struct arguments *a, const struct berth_queue *rules,
                       const char *group)
{
    if (!group)
        return !a->strict && !rules;
    if (!rules)
        return false;
    /* What is only better left alone may be used, even if it must not be as well. */
    if (words_have(&rules->group_anti_preferred, group))
        return true;
    if (words_have(&rules->group_anti_required, group))
        return false;
    return words_have(&rules->group_required, group) || words_have(&rules->group_preferred, group);
}

static enum wait_code predicate_fixed(struct session *s, struct plugin_use *use,
                                      const struct kind *kind, const struct node *node)
{
    return is_allowed(use->config, rules_of(s, use, kind), node->kept->node_group)
               ? WAIT_NONE
               : WAIT_LABEL_MISMATCH;
}

static const struct berth_amounts *limit_of(const struct session *s, const struct kind *kind,
                                            const char *group)
{
    const struct queue *queue = queue_find(s->model, kind->queue);

    for (size_t i = 0; group && queue && queue->kept && i < queue->kept->n_group_limits; i++)
        if (strcmp(queue->kept->group_limits[i].node_group, group) == 0)
            return &queue->kept->group_limits[i].limit;
    return NULL;
}

/* What the queue's tasks hold on the nodes of a group. */
static void add_held(struct session *s, const struct kind *kind, const char *group, wide *held)
{
    NODE_EACH (node, s->model) {
        if (!text_eq(node->kept->node_group, group))
            continue;
        VEC_EACH (task, &node->tasks)
            if (text_eq((*task)->group->kind->queue, kind->queue))
                res_add_asks(held, task_asks(*task), 1);
    }
}

static bool is_within(struct session *s, const struct kind *kind, const struct berth_amounts *limit,
                      const wide *held)
{
    const struct asks *asks = kind_charge(s->model, kind);

    for (size_t i = 0; i < limit->n; i++) {
        uint32_t d = dim_find(s->model, limit->at[i].name);
        if (d != NOWHERE && asks_of(asks, d) && held[d] + asks_of(asks, d) > limit->at[i].value)
            return false;
    }
    return true;
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    const struct berth_amounts *limit = limit_of(s, kind, node->kept->node_group);
    wide *held;

    (void)use;
    if (!limit)
        return WAIT_NONE;
    held = res_new(s);
    add_held(s, kind, node->kept->node_group, held);
    return is_within(s, kind, limit, held) ? WAIT_NONE : WAIT_PLUGIN;
}

static bool never(struct session *s, struct plugin_use *use, const struct kind *kind,
                  const struct node *node)
{
    const struct berth_amounts *limit = limit_of(s, kind, node->kept->node_group);

    (void)use;
    return limit && !is_within(s, kind, limit, res_new(s));
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    const struct queue *queue = queue_find(s->model, kind->queue);

    (void)use;
    return !queue || !queue->kept || !queue->kept->n_group_limits;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_queue *rules = rules_of(s, use, kind);
    const char *group = node->kept->node_group;
    double sum = 0;

    if (!rules || !group)
        return 0;
    if (words_have(&rules->group_anti_preferred, group))
        return -1;
    if (words_have(&rules->group_required, group))
        sum += 100;
    for (size_t i = 0; i < rules->group_preferred.n; i++) {
        double n = (double)rules->group_preferred.n;
        if (strcmp(rules->group_preferred.at[i], group) == 0) {
            sum += a->ordered ? 50 * (n - (double)i) / n : 50;
            break;
        }
    }
    return sum;
}

const struct plugin plugin_nodegroup = {
    .name = "nodegroup",
    .configure = configure,
    .is_local = is_local,
    .predicate_fixed = predicate_fixed,
    .predicate = predicate,
    .never = never,
    .score = score,
};

/*
 * Pools: the filters and the score of serverless placement. All goes by classes of tasks and of
 * nodes, save whether a private node was heard of of late.
 */
#include "engine/plugins.h"
#include "engine/serverless.h"

static void open(struct session *s, struct plugin_use *use)
{
    (void)use;
    nodes_note_silence(s, SILENT_PRIVATE);
}

static enum wait_code predicate_fixed(struct session *s, struct plugin_use *use,
                                      const struct kind *kind, const struct node *node)
{
    (void)use;
    if (node->at == NOWHERE) /* a machine that is only thought of */
        return wish_standing(s, wish_of(s, kind), node->kept).code;
    return standing_of(s, kind, node)->code;
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    (void)s, (void)use, (void)kind;
    return node->silent & SILENT_PRIVATE && node_takes_work(node->kept->state) ? WAIT_NODE_NOT_READY
                                                                               : WAIT_NONE;
}

static uint32_t rank(struct session *s, struct plugin_use *use, const struct kind *kind,
                     const struct node *node)
{
    (void)use;
    return standing_of(s, kind, node)->rank;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    (void)use;
    return (double)standing_of(s, kind, node)->score;
}

const struct plugin plugin_pools = {
    .name = "pools",
    .open = open,
    .predicate_fixed = predicate_fixed,
    .predicate = predicate,
    .rank = rank,
    .score = score,
};

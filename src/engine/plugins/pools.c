/*
 * Pools: the filters and the score of serverless placement. Private nodes fall silent by time
 * alone, so nothing is kept while there are such pools.
 */
#include "engine/plugins.h"
#include "engine/serverless.h"

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    struct wish wish = wish_of(s, kind, false);

    (void)use;
    return wish_filter(s, &wish, node);
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    struct wish wish = wish_of(s, kind, false);

    (void)use;
    return (double)wish_score(s, &wish, node);
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)use, (void)kind;
    return s->model->shelves[BERTH_POOL].items.n == 0;
}

const struct plugin plugin_pools = {
    .name = "pools",
    .predicate = predicate,
    .score = score,
    .is_local = is_local,
};

/*
 * Ledger: nodes by preferred labels first, then by weight, less what runs on them; those that
 * were not heard of lately take nothing. Labels that must hold, and exact versions, are what
 * predicates checks.
 */
#include "base/str.h"
#include "engine/match.h"
#include "engine/plugins.h"
#include "engine/serverless.h"

enum { LABEL_SCORE = 1000000, WEIGHT_SCORE = 1000, ATTEMPT_COST = 10000, WEIGHT = 100 };

static void open(struct session *s, struct plugin_use *use)
{
    (void)use;
    nodes_note_silence(s, SILENT_ANY);
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    (void)s, (void)use, (void)kind;
    return node->silent & SILENT_ANY ? WAIT_NODE_NOT_READY : WAIT_NONE;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct berth_labels *preferred = &kind->spec->preferred_labels;
    int64_t weight = node->kept->weight > 0 ? node->kept->weight : WEIGHT;
    int64_t n_labels = 0, n_attempts = 0;

    (void)s, (void)use;
    for (size_t i = 0; i < preferred->n; i++) {
        const char *value = label_value(&node->kept->labels, preferred->at[i].key);
        n_labels += text_eq(value, preferred->at[i].value);
    }
    VEC_EACH (task, &node->tasks)
        n_attempts += state_holds((*task)->state);
    return (double)(n_labels * LABEL_SCORE + weight * WEIGHT_SCORE - n_attempts * ATTEMPT_COST);
}

const struct plugin plugin_ledger = {
    .name = "ledger",
    .sees_lines = true,
    .open = open,
    .predicate = predicate,
    .score = score,
};

/* Feed, wants: see feed_wants.h. */
#include "server/feed_wants.h"

#include <string.h>

#include "base/log.h"
#include "scenario/scenario.h"

#define CAPABILITY "capability/"

enum { NODE_WEIGHT = 100, NODE_WEIGHT_MAX = 1000000 };

enum berth_effect feed_effect(const char *word)
{
    if (word && strcmp(word, "PreferNoSchedule") == 0)
        return BERTH_PREFER_NO_SCHEDULE;
    if (word && strcmp(word, "NoExecute") == 0)
        return BERTH_NO_EXECUTE;
    return BERTH_NO_SCHEDULE;
}

static void read_tolerations(const struct job_group *from, struct arena *arena,
                             struct berth_task_group *out)
{
    struct berth_toleration *at = ARENA_NEW0_N(arena, struct berth_toleration, from->n_tolerations);

    for (size_t i = 0; i < from->n_tolerations; i++) {
        const struct toleration *toleration = &from->tolerations[i];
        bool is_any = !toleration->effect || !*toleration->effect;

        at[i].key = toleration->key;
        at[i].value = toleration->value;
        at[i].exists = toleration->is_exists;
        at[i].all_effects = is_any;
        at[i].effect = is_any ? BERTH_NO_SCHEDULE : feed_effect(toleration->effect);
    }
    out->tolerations = at;
    out->n_tolerations = from->n_tolerations;
}

void feed_wants(const struct job_group *from, struct arena *arena, struct berth_task_group *out)
{
    struct problem problem = { 0 };

    out->pinned_to = from->node[0] ? from->node : NULL;
    out->capability = from->capability[0] ? from->capability : NULL;
    read_tolerations(from, arena, out);
    if (!from->affinity)
        return;
    out->affinity = scenario_affinity_read(from->affinity, "", arena, &problem);
    if (problem.code) /* it was read when it was submitted */
        log_error("an affinity cannot be read", "why", problem.fields[0].text, NULL);
}

struct berth_words feed_capabilities(const struct berth_labels *labels, struct arena *arena)
{
    const char **at = ARENA_NEW0_N(arena, const char *, labels->n + 1);
    size_t n = 0;

    for (size_t i = 0; i < labels->n; i++)
        if (text_begins(labels->at[i].key, CAPABILITY) && labels->at[i].value[0])
            at[n++] = arena_format(arena, "%s@%s", labels->at[i].key + sizeof(CAPABILITY) - 1,
                                   labels->at[i].value);
    return (struct berth_words){ at, n };
}

struct berth_topology feed_topology(const struct job_group *from)
{
    static const enum berth_topology_mode modes[] = {
        [JOB_TOPOLOGY_NONE] = BERTH_TOPOLOGY_NONE,
        [JOB_TOPOLOGY_SOFT] = BERTH_TOPOLOGY_SOFT,
        [JOB_TOPOLOGY_HARD] = BERTH_TOPOLOGY_HARD,
    };

    return (struct berth_topology){ .mode = modes[from->topology],
                                    .has_tier = from->has_tier,
                                    .highest_tier = from->tier,
                                    .tier_name = from->tier_name[0] ? from->tier_name : NULL };
}

int feed_weight(const char *label)
{
    int64_t weight;

    return label && text_to_int(label, -NODE_WEIGHT_MAX, NODE_WEIGHT_MAX, &weight) == 0
               ? (int)weight
               : NODE_WEIGHT;
}

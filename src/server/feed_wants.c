/* Feed, wants: see feed_wants.h. */
#include "server/feed_wants.h"

#include "base/log.h"
#include "scenario/scenario.h"

#define CAPABILITY "capability/"

void feed_wants(const struct job_group *from, struct arena *arena, struct berth_task_group *out)
{
    struct problem problem = { 0 };

    out->pinned_to = from->node[0] ? from->node : NULL;
    out->capability = from->capability[0] ? from->capability : NULL;
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

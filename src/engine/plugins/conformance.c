/*
 * Conformance: what keeps the system itself alive is never a victim.
 */
#include "engine/plugins.h"
#include "engine/victims.h"

static enum vote keep(const struct victims *from, struct victims *to)
{
    for (size_t i = 0; i < from->n; i++)
        if (!task_is_vital(from->at[i]))
            to->at[to->n++] = from->at[i];
    return VOTE_PERMIT;
}

static enum vote keep_system(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    (void)s, (void)use, (void)task;
    return keep(from, to);
}

static enum vote evictable(struct session *s, struct plugin_use *use, const struct taking *taking,
                           const struct victims *from, struct victims *to)
{
    (void)s, (void)use, (void)taking;
    return keep(from, to);
}

const struct plugin plugin_conformance = {
    .name = "conformance",
    .sees_lines = true,
    .has_local_victims = true,
    .preemptable = keep_system,
    .reclaimable = keep_system,
    .evictable = evictable,
};

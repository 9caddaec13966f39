/*
 * Cdp: a task that says so is left alone for a while after its start.
 */
#include "base/quantity.h"
#include "base/str.h"
#include "engine/match.h"
#include "engine/plugins.h"

#define COOLDOWN_LABEL "volcano.sh/cooldown-time"

static bool is_cooling(struct session *s, const struct task *task)
{
    const char *text = label_value(&task->group->spec->labels, COOLDOWN_LABEL);
    struct err err = { 0 };
    int64_t wait_ms;

    if (!text || task->state != BERTH_TASK_RUNNING || !task->started_at_ms ||
        duration_parse(text, &wait_ms, &err) < 0 || task->started_at_ms + wait_ms <= s->in.now_ms)
        return false;
    session_wake_at(s, task->started_at_ms + wait_ms);
    return true;
}

static enum vote spare(struct session *s, struct plugin_use *use, const struct task *task,
                       const struct victims *from, struct victims *to)
{
    (void)use, (void)task;
    for (size_t i = 0; i < from->n; i++)
        if (!is_cooling(s, from->at[i]))
            to->at[to->n++] = from->at[i];
    return VOTE_PERMIT;
}

const struct plugin plugin_cdp = {
    .name = "cdp",
    .preemptable = spare,
    .reclaimable = spare,
};

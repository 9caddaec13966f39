/* Comparing messages: why tasks and jobs wait, in the words of profile volcano. */
#include "berth/engine.h"
#include "scenario/compare.h"

static void compare_text(const char *what, const char *of, const json_t *wanted,
                         const struct str *came, struct str *faults)
{
    if (!text_eq(str_text(came), json_string_value(wanted)))
        str_addf(faults, "%s: %s: expected \"%s\", came \"%s\"\n", what, of,
                 json_string_value(wanted), str_text(came));
}

/* Its state, with what it was promised, or placed on and not bound, in the last cycle. */
static enum berth_task_state state_of(const struct known_task *task)
{
    bool is_placed = task->reason && !task->reason->n_counts &&
                     (task->reason->code == WAIT_WAITING_FOR_EVICTION ||
                      task->reason->code == WAIT_WAITING_FOR_MACHINE);

    if (task->state.state != BERTH_TASK_PENDING)
        return task->state.state;
    if (task->pipelined)
        return BERTH_TASK_PIPELINED;
    return is_placed ? BERTH_TASK_ALLOCATED : BERTH_TASK_PENDING;
}

static bool asks_nothing(const struct berth_task_group *group)
{
    for (size_t i = 0; i < group->asks.n; i++)
        if (group->asks.at[i].value)
            return false;
    return !group->gpu_memory;
}

static bool is_ready(const struct known_task *task)
{
    enum berth_task_state state = state_of(task);

    return state == BERTH_TASK_ALLOCATED || state == BERTH_TASK_BINDING ||
           state == BERTH_TASK_BOUND || state == BERTH_TASK_RUNNING ||
           state == BERTH_TASK_SUCCEEDED ||
           (state == BERTH_TASK_PENDING && asks_nothing(task->group));
}

static struct berth_job_message message_of(const struct known_job *job)
{
    struct berth_job_message m = { .min_available = job->job.min_available };
    uint32_t n_ready = 0;

    for (size_t i = 0; i < job->job.n_groups; i++) {
        const struct known_task *task = &job->tasks[i];
        m.n[state_of(task)]++;
        n_ready += is_ready(task);
        if (state_of(task) != BERTH_TASK_PENDING || !task->reason || m.reason)
            continue;
        m.reason = task->reason;
        m.task = task->reason->stuck_group ? task->reason->stuck_group : task->group->name;
    }
    m.is_ready = n_ready >= m.min_available;
    if (m.reason && m.reason->placed > n_ready + m.reason->promised)
        m.n_schedulable = m.reason->placed - n_ready - m.reason->promised;
    return m;
}

void compare_messages(struct run *run, struct str *faults)
{
    const json_t *tasks = json_object_get(run->s->expect, "messages");
    const json_t *jobs = json_object_get(run->s->expect, "jobMessages"), *wanted;
    const char *key;

    json_object_foreach((json_t *)tasks, key, wanted)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        CLEANUP(str_fini) struct str came = { 0 };
        if (task->reason)
            berth_reason_text(task->reason, &came);
        compare_text("messages", key, wanted, &came, faults);
    }
    json_object_foreach((json_t *)jobs, key, wanted)
    {
        struct berth_job_message message = message_of(map_get(&run->s->job_by_id, key));
        CLEANUP(str_fini) struct str came = { 0 };
        berth_job_text(&message, &came);
        compare_text("jobMessages", key, wanted, &came, faults);
    }
}

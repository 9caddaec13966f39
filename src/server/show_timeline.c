/* The timeline of an attempt's start: docs/api.md, "Jobs". What the server knows in milliseconds
 * stands before and behind what the agent measured in microseconds. */
#include "server/show.h"

#include "base/name.h"

static void add_phase(json_t *phases, const char *phase, int64_t start_us, int64_t took_us)
{
    json_t *object = json_object();

    show_text(object, "phase", phase);
    show_number(object, "startUs", start_us);
    show_number(object, "tookUs", took_us);
    json_array_append_new(phases, object);
}

/* The agent's phases, moved to where the start line reached it. */
static void add_measured(json_t *phases, const json_t *timings, int64_t begin_us)
{
    const json_t *timing;
    size_t i;

    json_array_foreach(timings, i, timing)
    {
        json_t *object = json_copy((json_t *)timing);
        int64_t start = json_integer_value(json_object_get(timing, "startUs"));

        if (json_is_object(object)) {
            show_number(object, "startUs", begin_us + start);
            json_array_append_new(phases, object);
        } else {
            json_decref(object);
        }
    }
}

/* When the start line reached the agent: its phase `ack` began so long after that, and the ledger
 * knows when the ack was taken. Without that phase it is taken to be when the task was bound. */
static int64_t received_us(const json_t *timings, int64_t bound_us, int64_t acked_us)
{
    const json_t *timing;
    size_t i;

    json_array_foreach(timings, i, timing)
    {
        const char *phase = json_string_value(json_object_get(timing, "phase"));
        int64_t start = json_integer_value(json_object_get(timing, "startUs"));

        if (text_eq(phase, "ack") && start >= 0 && start <= acked_us - bound_us)
            return acked_us - start;
    }
    return bound_us;
}

json_t *show_timeline(const struct row_attempt *row, const struct job_spec *spec, int64_t since)
{
    json_t *object = json_object(), *phases = json_array();
    json_t *timings = row->timings[0] ? json_loads(row->timings, 0, NULL) : NULL;
    int64_t bound_us = (row->bound_at - since) * 1000, acked_us = (row->acked_at - since) * 1000;
    char name[NAME_ATTEMPT_SIZE];

    name_attempt(row->job, (size_t)row->grp < spec->n_groups ? spec->groups[row->grp].name : "",
                 (uint32_t)row->idx, (uint32_t)row->number, name);
    show_text(object, "attempt", name);
    show_text(object, "node", row->node);
    show_time(object, "since", since);
    add_phase(phases, "queue", 0, bound_us);
    if (row->acked_at) {
        int64_t at_us = received_us(timings, bound_us, acked_us);

        add_phase(phases, "deliver", bound_us, at_us - bound_us);
        add_measured(phases, timings, at_us);
    }
    if (row->started_at && row->ended_at)
        add_phase(phases, "run", (row->started_at - since) * 1000,
                  (row->ended_at - row->started_at) * 1000);
    show_set(object, "phases", phases);
    json_decref(timings);
    return object;
}

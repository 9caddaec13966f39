/* Lists that are watched: see list_watch.h. */
#include "server/list_watch.h"

#include <string.h>

#include "server/event_filter.h"
#include "server/on_events.h"

bool list_watch_read(struct call *call, bool *out)
{
    static const char *const not_with[] = { "sort", "limit", "cursor", "resources" };

    *out = false;
    if (!call_query_bool(call, "watch", out) || !*out)
        return !call->problem.code;
    for (size_t i = 0; i < COUNT_OF(not_with); i++) {
        if (!call_query(call, not_with[i]))
            continue;
        problem_set(&call->problem, PROBLEM_BAD_REQUEST, "watch goes without %s", not_with[i]);
        return false;
    }
    return true;
}

/* ---- jobs ---- */

struct jobs {
    struct event_list list;
    struct job_filter filter; /* of copies */
};

static void jobs_free(struct event_list *list)
{
    struct jobs *jobs = CONTAINER(list, struct jobs, list);
    const char *const texts[] = { jobs->filter.ns,        jobs->filter.user,
                                  jobs->filter.queue,     jobs->filter.name,
                                  jobs->filter.label_key, jobs->filter.label_value };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        mem_free((char *)texts[i]);
    mem_free(jobs);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_since(const json_t *job, const char *key, int64_t since)
{
    int64_t at;

    return clock_parse_wall(text_of(job, key), &at) == 0 && at >= since;
}

static enum event_place place_job(const struct event_list *list, const json_t *job)
{
    const struct job_filter *filter = &CONTAINER(list, const struct jobs, list)->filter;
    const char *const same[][2] = { { filter->ns, "namespace" },
                                    { filter->user, "user" },
                                    { filter->queue, "queue" },
                                    { filter->name, "name" } };
    int state = states_find(text_of(job, "state"), job_state_words, JOB_STATE_COUNT);

    for (size_t i = 0; i < COUNT_OF(same); i++)
        if (same[i][0] && !text_eq(same[i][0], text_of(job, same[i][1])))
            return EVENT_NEVER;
    if (filter->states && !(state >= 0 && filter->states & 1u << state))
        return EVENT_LEFT;
    if (filter->label_key && !list_has_label(job, filter->label_key, filter->label_value))
        return EVENT_LEFT;
    if (filter->since && !is_since(job, "submittedAt", filter->since) &&
        !is_since(job, "endedAt", filter->since))
        return EVENT_LEFT;
    return EVENT_IN;
}

static struct event_list *new_jobs(const struct job_filter *filter)
{
    struct jobs *jobs = NEW0(struct jobs);

    jobs->list = (struct event_list){ .kind = ROW_JOB, .place = place_job, .free_list = jobs_free };
    jobs->filter = *filter;
    jobs->filter.ns = text_copy(filter->ns);
    jobs->filter.user = text_copy(filter->user);
    jobs->filter.queue = text_copy(filter->queue);
    jobs->filter.name = text_copy(filter->name);
    jobs->filter.label_key = text_copy(filter->label_key);
    jobs->filter.label_value = text_copy(filter->label_value);
    return &jobs->list;
}

/* ---- others ---- */

struct rows {
    struct event_list list;
    struct list_ways ways; /* of copies; without a kind: all are in the list */
};

static void rows_free(struct event_list *list)
{
    struct rows *rows = CONTAINER(list, struct rows, list);

    mem_free((char *)rows->ways.label_value);
    list_ways_fini(&rows->ways);
    mem_free(rows);
}

static enum event_place place_row(const struct event_list *list, const json_t *object)
{
    const struct rows *rows = CONTAINER(list, const struct rows, list);

    return !rows->ways.kind || list_ways_has(&rows->ways, object) ? EVENT_IN : EVENT_LEFT;
}

static struct event_list *new_rows(enum row_kind kind, const struct list_ways *ways)
{
    struct rows *rows = NEW0(struct rows);

    rows->list = (struct event_list){ .kind = kind, .place = place_row, .free_list = rows_free };
    if (ways)
        rows->ways = (struct list_ways){ .kind = ways->kind,
                                         .states = ways->states,
                                         .label_key = text_copy(ways->label_key),
                                         .label_value = text_copy(ways->label_value) };
    return &rows->list;
}

/* ---- the stream ---- */

static void begin(struct call *call, uint64_t job, struct event_list *list)
{
    struct event_filter filter = { .job = job, .who = call->who, .list = list };
    bool is_sse = events_wants_sse(call), has_from;
    uint64_t after;

    if (!events_read_from(call, is_sse, &has_from, &after)) {
        event_filter_fini(&filter);
        call_end(call);
        return;
    }
    event_stream_begin(call, &filter, is_sse,
                       has_from ? after : watch_revision(call->server->watch));
}

void list_watch_jobs(struct call *call, const struct job_filter *filter)
{
    begin(call, 0, new_jobs(filter));
}

void list_watch_rows(struct call *call, enum row_kind kind, const struct list_ways *ways)
{
    begin(call, 0, new_rows(kind, ways));
}

void list_watch_attempts(struct call *call, uint64_t job)
{
    begin(call, job, new_rows(ROW_ATTEMPT, NULL));
}

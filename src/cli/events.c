/* Events: see events.h. */
#include "cli/events.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/str.h"

enum {
    PAUSE_FIRST_MS = 50,
    PAUSE_MAX_MS = 2000,
    PAUSE_TRIES = 6,
    IDLE_MS = 30000, /* a bookmark comes every 10 s: after three missed ones the line is dead */
    HTTP_GONE = 410,
};

struct events {
    struct events_options options;
    char *query;
    int64_t revision; /* -1: not known yet */
    int64_t lost_ms;  /* boot clock: since when nobody is reached; 0: connected */
    bool is_told;     /* that nobody is reached */
    bool is_ahead;    /* it was told that the revision is yet to come */
    unsigned n_tries;
    struct client_ticket *ticket;
    struct timer *timer;
    bool is_closed, is_busy; /* closed within a callback: freed when it returns */
};

int64_t pause_of_try(unsigned n)
{
    return n < PAUSE_TRIES ? (int64_t)PAUSE_FIRST_MS << n : PAUSE_MAX_MS;
}

static void events_free(struct events *events)
{
    client_cancel(events->ticket);
    timer_free(events->timer);
    mem_free(events->query);
    mem_free(events);
}

/* Ends a callback's guard. Returns false if the events were closed within it. */
static bool leave(struct events *events)
{
    events->is_busy = false;
    if (!events->is_closed)
        return true;
    events_free(events);
    return false;
}

static void on_open(struct events *events)
{
    bool was_told = events->is_told;

    events->n_tries = 0;
    events->lost_ms = 0;
    events->is_told = false;
    if (was_told && events->options.on_line)
        events->options.on_line(events->options.arg, false, "");
}

/* Says once that what comes next is not there yet. */
static void on_older(struct events *events, const json_t *event)
{
    int64_t revision = json_integer_value(json_object_get(event, "revision"));

    if (!text_eq(json_string_value(json_object_get(event, "type")), "bookmark") ||
        revision >= events->revision || events->is_ahead || !events->options.on_ahead)
        return;
    events->is_ahead = true;
    events->options.on_ahead(events->options.arg, revision);
}

static void on_line(void *arg, const char *line, size_t n)
{
    struct events *events = arg;
    const json_t *revision;
    json_t *event;

    if (!line) {
        on_open(events);
        return;
    }
    event = json_loadb(line, n, 0, NULL);
    revision = json_object_get(event, "revision");
    if (json_is_integer(revision) && json_integer_value(revision) > events->revision) {
        const char *type = json_string_value(json_object_get(event, "type"));

        events->revision = json_integer_value(revision);
        client_saw(events->options.client, events->revision);
        events->is_ahead = false;
        if (!text_eq(type, "bookmark") && !text_eq(type, "overflow")) {
            events->is_busy = true;
            events->options.on_event(events->options.arg, event);
            json_decref(event);
            leave(events);
            return;
        }
    } else if (json_is_integer(revision)) {
        on_older(events, event);
    }
    json_decref(event);
}

static void listen_on(struct events *events);

static void on_time(void *arg)
{
    listen_on(arg);
}

/* Whether to go on trying; says once that the line is lost. */
static bool may_repeat(struct events *events, const char *why)
{
    int64_t now = clock_boot_ms(&clock_system);

    if (!events->lost_ms)
        events->lost_ms = now;
    if (!events->is_told && why[0]) {
        events->is_told = true;
        if (events->options.on_line)
            events->options.on_line(events->options.arg, true, why);
    }
    return events->options.give_up_ms < 0 || now - events->lost_ms < events->options.give_up_ms;
}

static void on_done(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct events *events = arg;
    struct problem problem = { 0 };
    bool is_passing =
        r < 0 || client_answer_is_ok(answer) || answer->status == 503 || answer->status == 429;

    events->ticket = NULL;
    events->is_busy = true;
    if (r == 0 && !client_answer_is_ok(answer))
        client_answer_problem(answer, &problem);
    if (r == 0 && answer->status == HTTP_GONE) {
        events->options.on_gap(events->options.arg);
    } else if (problem.code == PROBLEM_LEDGER_FORKED) {
        on_open(events); /* somebody was reached */
        if (!events->is_closed)
            events->options.on_parted(events->options.arg, answer->revision, &problem);
    } else if (r == -E2BIG || r == -EPROTO || !is_passing) {
        events->options.on_end(events->options.arg, r < 0 ? 0 : answer->status, &problem, err);
    } else if (may_repeat(events, r < 0 ? err->text : "")) {
        if (!events->is_closed)
            timer_set(events->timer, pause_of_try(events->n_tries++));
    } else {
        events->options.on_end(events->options.arg, 0, &problem, err);
    }
    leave(events);
}

static void listen_on(struct events *events)
{
    CLEANUP(str_fini) struct str path = { 0 };

    if (events->revision >= 0)
        str_addf(&path, "/v1/events?from=%" PRId64 "%s", events->revision, events->query);
    else
        str_addf(&path, "/v1/events%s%s", events->query[0] ? "?" : "",
                 events->query[0] ? events->query + 1 : "");
    events->ticket = client_listen(events->options.client,
                                   &(struct client_request){ .method = "GET",
                                                             .path = path.data,
                                                             .accept = "application/x-ndjson",
                                                             .idle_ms = IDLE_MS },
                                   on_line, on_done, events);
}

struct events *events_open(const struct events_options *options)
{
    struct events *events = NEW0(struct events);

    events->options = *options;
    events->query = text_copy(options->query);
    events->revision = options->after;
    events->timer = timer_new(options->loop, on_time, events);
    listen_on(events);
    return events;
}

void events_close(struct events *events)
{
    if (!events)
        return;
    events->is_closed = true;
    if (!events->is_busy)
        events_free(events);
}

void events_restart(struct events *events, int64_t after)
{
    events->revision = after;
    client_cancel(events->ticket);
    timer_unset(events->timer);
    events->is_ahead = false;
    listen_on(events);
}

int64_t events_revision(const struct events *events)
{
    return events->revision;
}

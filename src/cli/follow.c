/* Follow: see follow.h. */
#include "cli/follow.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/states.h"
#include "base/vec.h"
#include "cli/age.h"
#include "cli/ask.h"
#include "cli/events.h"
#include "cli/job.h"
#include "cli/logreader.h"

enum {
    WAITING_MS = 1000,       /* a job that waits longer is told why */
    WAITING_AGAIN_MS = 5000, /* and again when the reason has changed */
    REST_MS = 60000, /* for the rest of the logs once the job is over, while nothing comes */
    TOLD_MAX = 16,   /* placements that are told; more would bury the logs */
    HTTP_NOT_FOUND = 404,
    HTTP_GONE = 410,
};

/* An attempt that was seen. */
struct seen {
    struct follow *follow;
    char *name;  /* j-12/worker.3#1: the key of the map */
    char *label; /* worker.3 */
    char *bound; /* when it was bound: another ledger may give its name again */
    struct logreader *reader;
    bool was_placed, was_read, has_ended, has_run;
};

struct follow {
    struct follow_options options;
    char *job;
    struct name_parts only;
    struct sink sink;
    struct map by_name;
    VEC_OF(struct seen *) all;
    struct events *events;
    struct ask *ask;       /* of the job, or of its attempts */
    struct timer *waiting; /* to tell why it waits */
    struct timer *rest;    /* until the logs of a job that is over are given up */
    json_t *over;          /* the job as it ended */
    char *told;            /* the last reason that was told */
    int64_t after;         /* the revision of the first read, until the events are open */
    size_t n_reading, n_told;
    bool is_over, is_flushing, has_news;
};

static void say(struct follow *follow, const char *fmt, ...) FORMAT(2, 3);
static void say(struct follow *follow, const char *fmt, ...)
{
    va_list args;

    if (follow->options.is_quiet)
        return;
    sink_flush(&follow->sink);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static struct ask *ask_for(struct follow *follow, const char *path, ask_fn *fn)
{
    return ask_open(&(struct ask_options){
        .loop = follow->options.loop,
        .client = follow->options.client,
        .method = "GET",
        .path = path,
        .give_up_ms = follow->options.give_up_ms,
        .fn = fn,
        .arg = follow,
    });
}

/* ---- the end ---- */

static void finish(struct follow *follow, const json_t *job, int status,
                   const struct problem *problem)
{
    sink_flush(&follow->sink);
    follow->options.on_end(follow->options.arg, job, status, problem);
}

static void check_end(struct follow *follow)
{
    if (follow->n_reading == 0 && follow->over)
        finish(follow, follow->over, 0, NULL);
}

static void look(struct follow *follow);

/* The server has another ledger than was followed. What the job is there is read anew, if it is the
 * same one; that a number is the same says nothing. */
static void part(struct follow *follow, int64_t shared, const struct problem *problem)
{
    struct problem lost = { 0 };

    if (!follow->over && job_is_lost(follow->job, shared, problem, &lost)) {
        finish(follow, NULL, problem_codes[lost.code].status, &lost);
        return;
    }
    client_hold(follow->options.client, NULL);
    if (follow->over)
        return; /* it is known how it ended, and only the rest of its logs is missing */
    say(follow, "berth: %s; %s is read anew", problem->detail, follow->job);
    follow->is_over = false;
    VEC_EACH (seen, &follow->all)
        (*seen)->has_ended = false;
    look(follow);
}

/* Ends, unless it is another ledger that refuses. */
static void refused(struct follow *follow, int64_t revision, int status,
                    const struct problem *problem)
{
    if (problem->code == PROBLEM_LEDGER_FORKED)
        part(follow, revision, problem);
    else
        finish(follow, NULL, status, problem);
}

static void on_final_job(void *arg, const json_t *document, int64_t revision, int status,
                         const struct problem *problem)
{
    struct follow *follow = arg;

    follow->ask = NULL;
    if (!document) {
        refused(follow, revision, status, problem);
        return;
    }
    follow->over = json_incref((json_t *)document);
    timer_set(follow->rest, REST_MS);
    check_end(follow);
}

/* The job is over, or the one task of it: read it once more, and the rest of the logs. */
static void begin_end(struct follow *follow)
{
    CLEANUP(freep) char *path = job_path(follow->job, "");

    if (follow->is_over)
        return;
    follow->is_over = true;
    timer_unset(follow->waiting);
    ask_close(follow->ask);
    follow->ask = ask_for(follow, path, on_final_job);
}

static void on_rest(void *arg)
{
    struct follow *follow = arg;

    if (follow->has_news) {
        follow->has_news = false;
        timer_set(follow->rest, REST_MS);
        return;
    }
    VEC_EACH (seen, &follow->all) {
        if (!(*seen)->reader)
            continue;
        say(follow, "%s: the rest of its log did not come", (*seen)->name);
        logreader_close(TAKE((*seen)->reader));
        follow->n_reading--;
    }
    check_end(follow);
}

/* ---- logs ---- */

static void on_flush(void *arg)
{
    struct follow *follow = arg;

    follow->is_flushing = false;
    sink_flush(&follow->sink);
}

static void on_bytes(void *arg, enum cri_stream stream, const char *data, size_t n)
{
    struct seen *seen = arg;
    struct follow *follow = seen->follow;

    follow->has_news = true;
    sink_write(&follow->sink, seen->label, stream, data, n);
    if (follow->is_flushing)
        return;
    follow->is_flushing = true; /* once what has arrived was taken */
    loop_post(follow->options.loop, on_flush, follow);
}

static void on_log_gap(void *arg, int64_t n_bytes)
{
    struct seen *seen = arg;

    say(seen->follow, "%s: %lld bytes of its log are gone", seen->name, (long long)n_bytes);
}

/* A server that is away is told of by the events; the log of a silent node is not. */
static void on_log_wait(void *arg, const struct problem *problem)
{
    const struct seen *seen = arg;

    if (problem->code == PROBLEM_BEHIND)
        say(seen->follow, "berth: %s; trying again", problem->detail);
}

static void on_log_end(void *arg, int status, const struct problem *problem)
{
    struct seen *seen = arg;
    struct follow *follow = seen->follow;
    bool is_nothing = (status == HTTP_NOT_FOUND || status == HTTP_GONE) && !seen->has_run;

    seen->reader = NULL;
    follow->n_reading--;
    if (problem && !is_nothing)
        say(follow, "%s: its log cannot be read: %s", seen->name, problem->detail);
    check_end(follow);
}

static void read_log(struct seen *seen)
{
    struct follow *follow = seen->follow;

    if (seen->was_read)
        return;
    seen->was_read = true;
    follow->n_reading++;
    seen->reader = logreader_open(&(struct logreader_options){
        .loop = follow->options.loop,
        .client = follow->options.client,
        .attempt = seen->name,
        .tail = follow->options.tail,
        .is_following = true,
        .give_up_ms = follow->options.give_up_ms,
        .on_bytes = on_bytes,
        .on_gap = on_log_gap,
        .on_wait = on_log_wait,
        .on_end = on_log_end,
        .arg = seen,
    });
}

/* ---- attempts ---- */

static bool is_wanted(const struct follow *follow, const struct name_parts *parts)
{
    const struct name_parts *only = &follow->only;

    if (!parts->has_number)
        return false;
    if (!only->has_index)
        return true;
    return parts->index == only->index && (!only->group[0] || text_eq(parts->group, only->group)) &&
           (!only->has_number || parts->number == only->number);
}

static struct seen *find_seen(struct follow *follow, const char *name)
{
    struct seen *seen = map_get(&follow->by_name, name);
    const char *slash = strchr(name, '/');

    if (seen)
        return seen;
    seen = NEW0(struct seen);
    seen->follow = follow;
    seen->name = text_copy(name);
    seen->label = text_copy(slash ? slash + 1 : name);
    seen->label[strcspn(seen->label, "#")] = '\0';
    map_put(&follow->by_name, seen->name, seen);
    VEC_PUSH(&follow->all, seen);
    return seen;
}

/* Takes the name for another attempt, if it is one. */
static void tell_apart(struct seen *seen, const json_t *attempt)
{
    const char *bound = text_of(attempt, "boundAt");

    if (!bound[0] || text_eq(seen->bound, bound))
        return;
    if (seen->bound) {
        if (seen->reader)
            seen->follow->n_reading--;
        logreader_close(TAKE(seen->reader));
        seen->was_placed = seen->was_read = seen->has_ended = seen->has_run = false;
    }
    mem_free(seen->bound);
    seen->bound = text_copy(bound);
}

static const char *shown_name(const struct seen *seen)
{
    return seen->follow->options.has_labels ? seen->name : seen->follow->job;
}

/* Adds " (0.08s)": how long after the submit. */
static void add_wait(const struct follow *follow, const char *time, struct str *out)
{
    int64_t at_ms;

    if (!follow->options.submitted_ms || clock_parse_wall(time, &at_ms) < 0)
        return;
    str_add(out, " (");
    age_format_exact(at_ms - follow->options.submitted_ms, out);
    str_add(out, ")");
}

static void say_placed(struct seen *seen, const json_t *attempt, unsigned number, const char *time)
{
    struct follow *follow = seen->follow;
    CLEANUP(str_fini) struct str text = { 0 };

    if (seen->was_placed)
        return;
    seen->was_placed = true;
    timer_unset(follow->waiting);
    if (!follow->options.has_progress || follow->n_told++ >= TOLD_MAX)
        return;
    if (number > 1)
        str_addf(&text, ", attempt %u", number);
    else
        add_wait(follow, time, &text);
    say(follow, "%s placed on %s%s", shown_name(seen), text_of(attempt, "node"), str_text(&text));
}

/* An attempt that never ran, or one that will be tried again, is told; other ends are the job's. */
static void say_ended(struct seen *seen, const json_t *attempt)
{
    struct follow *follow = seen->follow;
    CLEANUP(str_fini) struct str end = { 0 };
    const char *message = text_of(attempt, "message");
    bool is_again = text_eq(text_of(attempt, "then"), then_words[THEN_AGAIN]);

    if (!follow->options.has_progress || (!is_again && !message[0]) || follow->n_told++ >= TOLD_MAX)
        return;
    job_add_end(attempt, &end);
    say(follow, "%s: %s%s%s%s", seen->name, str_text(&end), message[0] ? ": " : "", message,
        is_again ? "; it is tried again" : "");
}

static void take_end(struct seen *seen, const json_t *attempt)
{
    struct follow *follow = seen->follow;

    if (seen->has_ended)
        return;
    seen->has_ended = true;
    say_ended(seen, attempt);
    if (follow->only.has_number ||
        (follow->only.has_index && !text_eq(text_of(attempt, "then"), then_words[THEN_AGAIN])))
        begin_end(follow);
}

/*
 * Takes in an attempt as an event or a list has it. A task of a list stands for its last attempt; a
 * state that is not an attempt's means that this one has ended.
 */
static void take_attempt(struct follow *follow, const char *name, const json_t *attempt,
                         const char *time)
{
    int state = states_find(text_of(attempt, "state"), attempt_state_words, ATTEMPT_STATE_COUNT);
    struct name_parts parts = { 0 };
    struct err err = { 0 };
    struct seen *seen;

    if (name_parse(name, &parts, &err) < 0 || !is_wanted(follow, &parts))
        return;
    seen = find_seen(follow, name);
    tell_apart(seen, attempt);
    say_placed(seen, attempt, parts.number, time);
    if (state == ATTEMPT_RUNNING || text_of(attempt, "startedAt")[0])
        seen->has_run = true;
    if (state == ATTEMPT_STOPPING || seen->has_run)
        read_log(seen);
    if (state < 0 || state == ATTEMPT_ENDED)
        take_end(seen, attempt);
}

/* ---- what happens ---- */

static void on_event(void *arg, const json_t *event)
{
    struct follow *follow = arg;
    const char *type = text_of(event, "type");
    const json_t *object = json_object_get(event, "object");

    if (text_begins(type, "attempt."))
        take_attempt(follow, text_of(event, "subject"), object, text_of(event, "time"));
    else if (text_begins(type, "job.") && job_state_is_over(text_of(object, "state")))
        begin_end(follow);
}

static void on_gap(void *arg)
{
    look(arg);
}

static void on_parted(void *arg, int64_t shared, const struct problem *problem)
{
    part(arg, shared, problem);
}

static void on_connection(void *arg, bool is_lost, const char *why)
{
    struct follow *follow = arg;

    if (is_lost)
        say(follow, "berth: %s; trying again", why);
    else
        say(follow, "berth: connected again");
}

static void on_events_end(void *arg, int status, const struct problem *problem,
                          const struct err *err)
{
    struct problem why = *problem;

    if (status == 0)
        problem_set(&why, PROBLEM_NONE, "%s", err->text);
    finish(arg, NULL, status, &why);
}

static void open_events(struct follow *follow)
{
    CLEANUP(freep) char *query = text_format("&job=%s", follow->job);

    if (follow->events) {
        events_restart(follow->events, follow->after);
        return;
    }
    follow->events = events_open(&(struct events_options){
        .loop = follow->options.loop,
        .client = follow->options.client,
        .query = query,
        .after = follow->after,
        .give_up_ms = follow->options.give_up_ms,
        .on_event = on_event,
        .on_gap = on_gap,
        .on_parted = on_parted,
        .on_line = on_connection,
        .on_end = on_events_end,
        .arg = follow,
    });
}

/* ---- reading everything: at first, and after a gap ---- */

/* Of a first look the last attempt of each task is of interest; after a gap, those before it
 * too. */
static const char *what_to_list(const struct follow *follow)
{
    return follow->events || follow->only.has_number ? "attempts" : "tasks";
}

static void ask_attempts(struct follow *follow, const char *cursor, ask_fn *fn)
{
    CLEANUP(str_fini) struct str more = { 0 };
    CLEANUP(freep) char *path = NULL;

    str_addf(&more, "/%s?limit=1000", what_to_list(follow));
    if (cursor[0]) {
        str_add(&more, "&cursor=");
        client_escape(cursor, &more);
    }
    path = job_path(follow->job, more.data);
    follow->ask = ask_for(follow, path, fn);
}

static void on_attempts(void *arg, const json_t *document, int64_t revision, int status,
                        const struct problem *problem)
{
    struct follow *follow = arg;
    const char *key = text_eq(what_to_list(follow), "tasks") ? "attempt" : "name";
    size_t i;
    json_t *item;

    follow->ask = NULL;
    if (!document) {
        refused(follow, revision, status, problem);
        return;
    }
    json_array_foreach(json_object_get(document, "items"), i, item)
        take_attempt(follow, text_of(item, key), item, text_of(item, "boundAt"));
    if (text_of(document, "next")[0])
        ask_attempts(follow, text_of(document, "next"), on_attempts);
    else if (follow->over)
        check_end(follow);
    else if (!follow->is_over)
        open_events(follow);
}

static void on_job(void *arg, const json_t *document, int64_t revision, int status,
                   const struct problem *problem)
{
    struct follow *follow = arg;

    follow->ask = NULL;
    if (!document) {
        refused(follow, revision, status, problem);
        return;
    }
    follow->after = revision;
    if (job_state_is_over(text_of(document, "state"))) {
        follow->is_over = true;
        follow->over = json_incref((json_t *)document);
        timer_set(follow->rest, REST_MS);
    }
    ask_attempts(follow, "", on_attempts);
}

static void look(struct follow *follow)
{
    CLEANUP(freep) char *path = job_path(follow->job, "");

    ask_close(follow->ask);
    follow->ask = ask_for(follow, path, on_job);
}

/* ---- why it waits ---- */

static void on_reason(void *arg, const json_t *document, int64_t revision, int status,
                      const struct problem *problem)
{
    struct follow *follow = arg;
    CLEANUP(str_fini) struct str text = { 0 };

    (void)revision;
    (void)status;
    (void)problem;
    follow->ask = NULL;
    job_add_reason(document, &text);
    if (follow->n_told > 0 || follow->is_over)
        return;
    timer_set(follow->waiting, WAITING_AGAIN_MS);
    if (!text.len || text_eq(text.data, follow->told))
        return;
    say(follow, "%s waiting: %s", follow->job, text.data);
    mem_free(follow->told);
    follow->told = str_take(&text);
}

static void on_waiting(void *arg)
{
    struct follow *follow = arg;
    CLEANUP(freep) char *path = job_path(follow->job, "");

    if (follow->ask)
        timer_set(follow->waiting, WAITING_AGAIN_MS); /* something more important is asked */
    else
        follow->ask = ask_for(follow, path, on_reason);
}

/* ---- life ---- */

struct follow *follow_open(const struct follow_options *options)
{
    struct follow *follow = NEW0(struct follow);

    follow->options = *options;
    follow->job = text_copy(options->job);
    if (options->only)
        follow->only = *options->only;
    follow->sink = (struct sink){ .fds = { STDOUT_FILENO, STDERR_FILENO },
                                  .has_labels = options->has_labels,
                                  .is_quiet = options->is_quiet };
    follow->after = options->after;
    follow->waiting = timer_new(options->loop, on_waiting, follow);
    follow->rest = timer_new(options->loop, on_rest, follow);
    if (options->has_progress)
        timer_set(follow->waiting, WAITING_MS);
    if (follow->after < 0)
        look(follow);
    else
        open_events(follow);
    return follow;
}

void follow_close(struct follow *follow)
{
    if (!follow)
        return;
    VEC_EACH (seen, &follow->all) {
        logreader_close((*seen)->reader);
        mem_free((*seen)->name);
        mem_free((*seen)->label);
        mem_free((*seen)->bound);
        mem_free(*seen);
    }
    VEC_FINI(&follow->all);
    map_fini(&follow->by_name);
    events_close(follow->events);
    ask_close(follow->ask);
    timer_free(follow->waiting);
    timer_free(follow->rest);
    sink_fini(&follow->sink);
    json_decref(follow->over);
    mem_free(follow->told);
    mem_free(follow->job);
    mem_free(follow);
}

int follow_write_error(const struct follow *follow)
{
    return follow->sink.error;
}

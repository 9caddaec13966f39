/*
 * Nodes, streams of work: what each agent is told.
 *
 * A worker has one stream or none. What its agent must do is the difference between the live
 * attempts and what the stream was told: counted once when a stream opens, and then for each event
 * only of the attempt that it is about.
 */
#include <string.h>

#include "base/log.h"
#include "server/nodes_inside.h"

enum { STREAM_MAX_BYTES = 64 << 20 /* written and not taken: the agent is stuck */ };

/* ---- lines ---- */

void work_line(struct nodes *nodes, struct worker *worker, const char *line)
{
    if (!worker->stream)
        return;
    str_add(&worker->out, line);
    str_add_char(&worker->out, '\n');
    if (worker->is_in_dirty)
        return;
    worker->is_in_dirty = true;
    worker->next_dirty = nodes->dirty;
    nodes->dirty = worker;
}

/* Takes the line; false if there is none. */
static bool tell(struct nodes *nodes, struct worker *worker, char *line)
{
    if (!line)
        return false;
    work_line(nodes, worker, line);
    free(line);
    return true;
}

static void forget_stream(struct nodes *nodes, struct worker *worker)
{
    worker->stream = NULL;
    str_clear(&worker->out);
    atomic_fetch_sub(&nodes->counts.streams, 1);
    pthread_mutex_lock(&nodes->lock);
    map_remove(&nodes->connected, worker->name);
    pthread_mutex_unlock(&nodes->lock);
    logs_lose(nodes, worker);
}

static void close_stream(struct nodes *nodes, struct worker *worker)
{
    struct http_request *stream = worker->stream;

    if (!stream)
        return;
    if (worker->out.len)
        http_stream_write(stream, worker->out.data, worker->out.len);
    http_on_close(stream, NULL, NULL);
    forget_stream(nodes, worker);
    http_stream_end(stream);
}

void work_flush(struct nodes *nodes)
{
    while (nodes->dirty) {
        struct worker *worker = nodes->dirty;

        nodes->dirty = worker->next_dirty;
        worker->is_in_dirty = false;
        if (!worker->stream || !worker->out.len)
            continue;
        http_stream_write(worker->stream, worker->out.data, worker->out.len);
        str_clear(&worker->out);
        if (http_stream_buffered(worker->stream) < STREAM_MAX_BYTES)
            continue;
        log_warn("an agent does not read its stream", "node", worker->name, NULL);
        close_stream(nodes, worker);
    }
}

/* A job that is as it was submitted has the limit that its attempts were started with. */
static void sync_limit(struct nodes *nodes, struct fleet_attempt *attempt)
{
    const struct job_spec *spec = fleet_spec(attempt->job);

    if (!spec || attempt->told_limit_ms == spec->limit_ms ||
        (attempt->told_limit_ms < 0 && attempt->job->version == 1))
        return;
    if (tell(nodes, attempt->worker, line_limit(nodes, attempt, spec->limit_ms)))
        attempt->told_limit_ms = spec->limit_ms;
}

static void begin_attempt(struct nodes *nodes, struct fleet_attempt *attempt)
{
    const struct job_spec *spec = fleet_spec(attempt->job);

    attempt->told_start = tell(nodes, attempt->worker, line_start(nodes, attempt));
    attempt->told_limit_ms = spec ? spec->limit_ms : -1;
    COUNT_ONE(nodes->counts.starts);
}

/* Tells an attempt's agent what it was not told yet. */
static void sync_attempt(struct nodes *nodes, struct fleet_attempt *attempt)
{
    struct worker *worker = attempt->worker;

    if (!worker->stream)
        return;
    if (attempt->is_stop_wanted) {
        if (attempt->told_stop)
            return;
        attempt->told_stop = tell(nodes, worker, line_stop(nodes, attempt));
        COUNT_ONE(nodes->counts.stops);
        return;
    }
    /* One that is past bound was let start: its agent has it. */
    if (attempt->told_start || attempt->state != ATTEMPT_BOUND)
        sync_limit(nodes, attempt);
    else
        begin_attempt(nodes, attempt);
}

/* ---- opening ---- */

void work_have(struct worker *worker, uint64_t generation, char **names, size_t n)
{
    for (size_t i = 0; i < worker->n_have; i++)
        mem_free(worker->have[i]);
    mem_free(worker->have);
    worker->have = names;
    worker->n_have = n;
    worker->have_generation = generation;
}

/* Calls fn for each name that an agent says it has, in its query or sent ahead. */
static void each_had(struct nodes *nodes, struct worker *worker, const char *have,
                     void (*fn)(struct nodes *nodes, struct worker *worker, const char *name,
                                size_t n))
{
    while (have && *have) {
        size_t n = strcspn(have, ",");

        fn(nodes, worker, have, n);
        have += n + (have[n] == ',');
    }
    for (size_t i = 0; !have && i < worker->n_have; i++)
        fn(nodes, worker, worker->have[i], strlen(worker->have[i]));
}

static struct fleet_attempt *had_here(struct nodes *nodes, struct worker *worker, const char *name,
                                      size_t n)
{
    struct fleet_attempt *attempt = map_get_n(&nodes->fleet.attempts, name, n);

    return attempt && attempt->worker == worker ? attempt : NULL;
}

static void mark_had(struct nodes *nodes, struct worker *worker, const char *name, size_t n)
{
    struct fleet_attempt *attempt = had_here(nodes, worker, name, n);

    if (attempt)
        attempt->told_start = true;
}

static void drop_unknown(struct nodes *nodes, struct worker *worker, const char *name, size_t n)
{
    char text[NAME_ATTEMPT_SIZE];

    if (had_here(nodes, worker, name, n) || n == 0 || n >= sizeof(text))
        return;
    memcpy(text, name, n);
    text[n] = '\0';
    tell(nodes, worker, line_drop(nodes, text));
    COUNT_ONE(nodes->counts.drops);
}

/* Whether the agent has lost one that it was let start: that is a registration's to settle. */
static bool has_lost_one(const struct worker *worker)
{
    for (const struct fleet_attempt *a = worker->first; a; a = a->next)
        if (a->state != ATTEMPT_BOUND && !a->told_start && !a->is_reported)
            return true;
    return false;
}

/* The worker of a stream is found by the stream's own query: one callback argument is enough. */
static struct worker *worker_of(struct nodes *nodes, struct http_request *request)
{
    struct worker *worker = map_get(&nodes->fleet.workers, http_query(request, "node"));

    return worker && worker->stream == request ? worker : NULL;
}

static void on_stream_close(struct http_request *request, void *arg)
{
    struct nodes *nodes = arg;
    struct worker *worker = worker_of(nodes, request);

    if (worker)
        forget_stream(nodes, worker);
    http_stream_end(request);
}

static void begin_stream(struct nodes *nodes, struct worker *worker, struct http_request *request)
{
    http_set_header(request, "Content-Type", "application/x-ndjson");
    http_set_header(request, "Cache-Control", "no-store");
    http_stream_begin(request, 200);
    http_on_close(request, on_stream_close, nodes);
    worker->stream = request;
    worker->stream_generation = worker->generation;
    atomic_fetch_add(&nodes->counts.streams, 1);
    pthread_mutex_lock(&nodes->lock);
    map_put(&nodes->connected, worker->name, worker);
    pthread_mutex_unlock(&nodes->lock);
}

/* Takes the place of the worker's older stream, and sends the difference. */
static void replace_stream(struct nodes *nodes, struct worker *worker, struct http_request *request)
{
    const char *have = http_query(request, "have");

    close_stream(nodes, worker);
    if (worker->have_generation != worker->generation)
        work_have(worker, 0, NULL, 0);
    for (struct fleet_attempt *a = worker->first; a; a = a->next)
        a->told_start = a->told_stop = false, a->told_limit_ms = -1;
    each_had(nodes, worker, have, mark_had);
    if ((have || worker->have_generation) && has_lost_one(worker)) {
        nodes_refuse(request, PROBLEM_STALE_ATTEMPT,
                     "an attempt that was let start is not among those: register again");
        return;
    }
    begin_stream(nodes, worker, request);
    each_had(nodes, worker, have, drop_unknown);
    work_have(worker, 0, NULL, 0);
    for (struct fleet_attempt *a = worker->first; a; a = a->next)
        sync_attempt(nodes, a);
    /* Behind the difference: now it is complete. */
    tell(nodes, worker, line_bookmark(nodes));
    work_flush(nodes);
}

void work_open(struct nodes *nodes, struct http_request *request)
{
    const char *node = http_query(request, "node"), *text = http_query(request, "generation");
    int64_t generation = 0;
    struct worker *worker;

    if (!node || !text || text_to_int(text, 1, INT64_MAX, &generation) < 0) {
        nodes_refuse(request, PROBLEM_BAD_REQUEST, "node and generation must be given");
        return;
    }
    if (nodes->is_draining) {
        http_set_header(request, "Retry-After", "1");
        nodes_refuse(request, PROBLEM_STARTING, "this server is stopping");
        return;
    }
    worker = nodes_speaker(nodes, request, node, (uint64_t)generation);
    if (worker)
        replace_stream(nodes, worker, request);
}

/* ---- events ---- */

/* A stream of an older registration, or of a node that is no more, ends. */
static void check_stream(struct nodes *nodes, struct worker *worker)
{
    bool is_over = worker->state == NODE_LOST || worker->state == NODE_GONE;

    if (worker->stream && (is_over || worker->stream_generation != worker->generation))
        close_stream(nodes, worker);
}

/* An agent that is not heard of sends no log either: whoever reads one is told so. */
static void check_silence(struct nodes *nodes, struct worker *worker)
{
    bool is_silent = worker->state == NODE_UNREACHABLE;

    pthread_mutex_lock(&nodes->lock);
    if (is_silent)
        map_put(&nodes->silent, worker->name, worker);
    else
        map_remove(&nodes->silent, worker->name);
    pthread_mutex_unlock(&nodes->lock);
    if (is_silent)
        logs_lose(nodes, worker);
}

static void worker_changed(struct worker *worker, void *arg)
{
    check_stream(arg, worker);
    check_silence(arg, worker);
}

static void attempt_changed(struct fleet_attempt *attempt, void *arg)
{
    sync_attempt(arg, attempt);
}

static void attempt_ended(struct fleet_attempt *attempt, void *arg)
{
    struct nodes *nodes = arg;

    /* An agent that said so itself needs no word. */
    if (!attempt->told_start || attempt->is_reported || !attempt->worker->stream)
        return;
    tell(nodes, attempt->worker, line_drop(nodes, attempt->name));
    COUNT_ONE(nodes->counts.drops);
}

void work_apply(struct nodes *nodes, struct batch *batch)
{
    struct fleet_watch watch = { worker_changed, attempt_changed, attempt_ended, nodes };

    /* What the streams were told is forgotten with a second base: they begin anew. */
    if (batch->is_base && nodes->fleet.is_fed)
        work_close_all(nodes);
    fleet_apply(&nodes->fleet, batch, &watch);
    atomic_store(&nodes->counts.live, nodes->fleet.attempts.n);
}

void work_registered(struct nodes *nodes, const char *node, uint64_t generation)
{
    struct worker *worker = fleet_worker(&nodes->fleet, node);

    if (generation > worker->generation) {
        worker->generation = generation;
        worker->state = NODE_READY;
    }
    check_stream(nodes, worker);
}

void work_bookmarks(struct nodes *nodes)
{
    char *line = line_bookmark(nodes);

    MAP_EACH (entry, &nodes->fleet.workers)
        work_line(nodes, entry->value, line);
    free(line);
    work_flush(nodes);
}

void work_close_all(struct nodes *nodes)
{
    MAP_EACH (entry, &nodes->fleet.workers)
        close_stream(nodes, entry->value);
}

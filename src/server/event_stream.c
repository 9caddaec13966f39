/*
 * Event streams: what is in memory as it comes, what is older page by page from the store, and
 * never more than a reader takes.
 *
 * A stream ends when its peer goes, when the server closes, or with a last `overflow` to a reader
 * whose next event has left the memory while it did not take what it had. Nothing is left out
 * unsaid.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "server/hide.h"
#include "server/on_events.h"
#include "server/routes.h"
#include "server/show.h"

enum { BUFFER_MAX = 256 << 10, PAGE = 500, BOOKMARK_MS = 5000 };

struct stream {
    struct watcher watcher;
    struct call *call;
    struct http_request *request; /* NULL before it has begun, and once it is over */
    struct event_filter filter;
    struct timer *bookmark;
    struct event_page page; /* of the store, while it is read */
    struct err err;
    uint64_t sent;       /* everything up to here was sent, or did not pass */
    uint64_t bookmarked; /* the last bookmark */
    bool is_sse;
    bool is_reading; /* a page is on its way */
    bool has_memory; /* it was as far as the memory once */
    bool is_over;    /* to be freed when the page has come */
};

static void stream_free(struct stream *stream)
{
    watch_remove(&stream->watcher);
    timer_free(stream->bookmark);
    event_filter_fini(&stream->filter);
    event_page_fini(&stream->page);
    call_free(stream->call);
    free(stream);
}

static void end_stream(struct stream *stream)
{
    struct http_request *request = TAKE(stream->request);

    watch_remove(&stream->watcher);
    timer_unset(stream->bookmark);
    if (request) {
        http_on_close(request, NULL, NULL);
        http_on_drained(request, NULL, NULL);
        http_stream_end(request);
    }
    stream->is_over = true;
    if (!stream->is_reading)
        stream_free(stream);
}

static void on_close(struct http_request *request, void *arg)
{
    (void)request;
    end_stream(arg);
}

/* @has_id  of SSE: where its reader would go on from, if this is the last that it hears */
static void write_json(struct stream *stream, const json_t *object, bool has_id)
{
    CLEANUP(freep) char *text = json_dumps(object, JSON_COMPACT);
    CLEANUP(str_fini) struct str out = { 0 };

    if (stream->is_sse && has_id)
        str_addf(&out, "id: %lld\n",
                 (long long)json_integer_value(json_object_get(object, "revision")));
    if (stream->is_sse)
        str_addf(&out, "event: %s\ndata: ", json_string_value(json_object_get(object, "type")));
    str_add(&out, text);
    str_add(&out, stream->is_sse ? "\n\n" : "\n");
    http_stream_write(stream->request, out.data, out.len);
}

/* Whether it is to begin behind a revision that is yet to come. */
static bool is_ahead(const struct stream *stream)
{
    return stream->sent > watch_revision(stream->call->server->watch);
}

/* A line that is no event: bookmark or overflow. */
static void write_mark(struct stream *stream, const char *type)
{
    uint64_t newest = watch_revision(stream->call->server->watch);
    json_t *object = json_object();

    show_text(object, "type", type);
    show_number(object, "revision", (int64_t)(is_ahead(stream) ? newest : stream->sent));
    write_json(stream, object, !is_ahead(stream));
    json_decref(object);
}

static void overflow(struct stream *stream)
{
    log_info("an event reader is too slow", "name", stream->call->who.name, "revision",
             log_int(stream->sent), NULL);
    write_mark(stream, "overflow");
    end_stream(stream);
}

static bool is_full(const struct stream *stream)
{
    return http_stream_buffered(stream->request) >= BUFFER_MAX;
}

/* Of a watch, which is the argument. */
static bool is_in(void *watch, uint64_t job, const char *ns)
{
    return text_eq(watch_namespace(watch, job), ns);
}

static void write_event(struct stream *stream, const struct watch_event *shown)
{
    const struct batch_event *event = shown->event;
    json_t *object;

    if (!event_filter_passes(&stream->filter, event->kind, event->type, shown->job, shown->ns))
        return;
    object = show_event(event);
    hide_jobs(json_object_get(object, "object"), &stream->filter.who, is_in,
              stream->call->server->watch);
    if (event_filter_takes(&stream->filter, object))
        write_json(stream, object, true);
    json_decref(object);
}

static void read_page(struct stream *stream);

/* Sends what can be sent. The stream may be over afterwards. */
static void pump(struct stream *stream)
{
    const struct watch_event *event;
    int r = 0;

    if (stream->is_reading || stream->is_over)
        return;
    while (r == 0 && !is_full(stream)) {
        r = watch_next(stream->call->server->watch, stream->sent, &event);
        if (r == 0) {
            write_event(stream, event);
            stream->sent = event->event->rev;
        }
    }
    if (is_full(stream))
        r = watch_next(stream->call->server->watch, stream->sent, &event);
    if (r < 2)
        stream->has_memory = true;
    else if (stream->has_memory)
        overflow(stream);
    else if (!is_full(stream))
        read_page(stream);
}

static void page_came(void *arg)
{
    struct stream *stream = arg;
    json_t *item;
    size_t i;

    stream->is_reading = false;
    if (stream->is_over) {
        stream_free(stream);
        return;
    }
    if (stream->err.code || stream->page.is_gone) {
        if (stream->err.code)
            log_warn("reading events failed", "why", stream->err.text, NULL);
        overflow(stream);
        return;
    }
    json_array_foreach(stream->page.items, i, item) write_json(stream, item, true);
    stream->sent = stream->page.last;
    event_page_fini(&stream->page);
    pump(stream);
}

/* A reader's thread. */
static void page_work(void *arg)
{
    struct stream *stream = arg;
    struct reader *reader = server_take_reader(stream->call->server);
    uint64_t revision;

    if (reader_begin(reader, &revision, &stream->err) == 0) {
        if (event_page_read(reader, &stream->filter, stream->sent, PAGE, &stream->page,
                            &stream->err) < 0 &&
            !stream->err.code)
            err_set(&stream->err, -EIO, "the ledger cannot be read");
        reader_end(reader);
    }
    server_put_reader(stream->call->server, reader);
}

static void read_page(struct stream *stream)
{
    struct server *server = stream->call->server;

    if (server->is_closing)
        return;
    stream->is_reading = true;
    pool_run(server->pool, page_work, server->loop, page_came, stream);
}

static void wake(struct watcher *watcher)
{
    pump(CONTAINER(watcher, struct stream, watcher));
}

static void on_drained(struct http_request *request, void *arg)
{
    (void)request;
    pump(arg);
}

static int64_t bookmark_ms(const struct stream *stream)
{
    int64_t ms = stream->call->server->options.bookmark_ms;

    return ms ? ms : BOOKMARK_MS;
}

static void on_bookmark(void *arg)
{
    struct stream *stream = arg;

    /* One that has not taken the last bookmark needs none. */
    if (http_stream_buffered(stream->request) == 0)
        write_mark(stream, "bookmark");
    timer_set(stream->bookmark, bookmark_ms(stream));
}

/* The first page is read before the stream begins, so that 410 can still be said. */
static int first_read(struct call *call, struct reader *reader, struct err *err)
{
    struct stream *stream = call->state;
    int r = event_page_read(reader, &stream->filter, stream->sent, PAGE, &stream->page, err);

    if (r == 0 && stream->page.is_gone)
        problem_set(&call->problem, PROBLEM_REVISION_GONE,
                    "events before revision %llu are no longer held",
                    (unsigned long long)stream->page.oldest);
    return r;
}

static void begin(struct call *call)
{
    struct stream *stream = call->state;

    call->state = NULL;
    call->free_state = NULL;
    call->revision = is_ahead(stream) ? watch_revision(call->server->watch) : stream->sent;
    stream->request =
        call_stream(call, 200, stream->is_sse ? "text/event-stream" : "application/x-ndjson");
    http_on_close(stream->request, on_close, stream);
    http_on_drained(stream->request, on_drained, stream);
    if (http_is_closed(stream->request)) {
        end_stream(stream);
        return;
    }
    watch_add(call->server->watch, &stream->watcher);
    timer_set(stream->bookmark, bookmark_ms(stream));
    if (stream->is_sse)
        http_stream_write(stream->request, "retry: 1000\n\n", 13);
    if (is_ahead(stream)) /* its reader is to know that it waits, and for how much */
        write_mark(stream, "bookmark");
    if (stream->page.items)
        page_came(stream);
    else
        pump(stream);
}

static void free_state(void *state)
{
    struct stream *stream = state;

    /* The call is being freed by its own end. */
    stream->call = NULL;
    stream_free(stream);
}

void event_stream_begin(struct call *call, struct event_filter *filter, bool is_sse, uint64_t after)
{
    struct stream *stream = NEW0(struct stream);
    const struct watch_event *event;

    stream->watcher.wake = wake;
    stream->call = call;
    stream->filter = *filter;
    stream->is_sse = is_sse;
    stream->sent = after;
    stream->bookmark = timer_new(call->server->loop, on_bookmark, stream);
    if (call->free_state)
        call->free_state(call->state);
    call->state = stream;
    call->free_state = free_state;
    if (watch_next(call->server->watch, after, &event) == 2)
        call_read(call, first_read, begin);
    else
        begin(call);
}

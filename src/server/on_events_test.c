#include "server/serving.h"

#include "server/inside.h"

static void submit(struct serving *s, const char *name)
{
    CLEANUP(freep) char *body = text_format("{\"name\":\"%s\",\"image\":\"oci:/i\"}", name);

    SERVING_EXPECT(s, 201, "POST /v1/jobs", "", body);
}

/* A stream of events on a connection of its own. */
struct stream {
    int fd;
    struct str lines;
};

static void stream_begin(struct serving *s, struct stream *stream, const char *query,
                         const char *headers)
{
    CLEANUP(freep) char *request = text_format("GET /v1/events%s", query);

    *stream = (struct stream){ .fd = test_dial(s->port) };
    serving_say(stream->fd, s->token, request, headers, NULL);
    CHECK(test_hear_until(stream->fd, "\r\n\r\n", &stream->lines));
    CHECK(text_begins(stream->lines.data, "HTTP/1.1 200"));
}

static void stream_wait(struct stream *stream, const char *text)
{
    char *at;

    CHECK(test_hear_until(stream->fd, text, &stream->lines));
    at = strstr(stream->lines.data, text);
    str_drop(&stream->lines, (size_t)(at - stream->lines.data) + strlen(text));
}

/* Waits for a bookmark at or behind a revision: what happens by itself may be between. */
static void stream_wait_mark(struct stream *stream, uint64_t least)
{
    uint64_t at = 0;

    while (at < least) {
        stream_wait(stream, "{\"type\":\"bookmark\",\"revision\":");
        CHECK(test_hear_until(stream->fd, "}", &stream->lines));
        at = strtoull(str_text(&stream->lines), NULL, 10);
    }
}

static void stream_end(struct stream *stream)
{
    close(stream->fd);
    str_fini(&stream->lines);
}

static const char *const no_types[] = { "job", "jobs.*", "jo.submitted", "job.*,x", "x*", "," };

TEST(events_are_listed_by_filters)
{
    struct serving s;
    char id[64];
    CLEANUP(freep) char *by_job = NULL, *from = NULL;

    serving_start(&s);
    submit(&s, "a");
    submit(&s, "b");
    snprintf(id, sizeof(id), "%s", serving_get(&s, "id"));
    SERVING_EXPECT(&s, 200, "GET /v1/events?limit=2", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.revision"), "1");
    CHECK_TEXT(serving_get(&s, "items.1.revision"), "2");
    CHECK_TEXT(serving_get(&s, "items.2"), "(none)");
    CHECK_TEXT(serving_get(&s, "next"), "2");
    from = text_format("GET /v1/events?from=%s&limit=1", serving_get(&s, "next"));
    SERVING_EXPECT(&s, 200, from, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.revision"), "3");
    by_job = text_format("GET /v1/events?job=%s&type=job.*,attempt.*", id);
    SERVING_EXPECT(&s, 200, by_job, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.type"), "job.submitted");
    CHECK_TEXT(serving_get(&s, "items.0.job"), id);
    CHECK_TEXT(serving_get(&s, "items.0.object.name"), "b");
    SERVING_EXPECT(&s, 200, "GET /v1/events?type=job.submitted", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.1.object.name"), "b");
    SERVING_EXPECT(&s, 200, "GET /v1/events?type=j*,*", "", NULL);
    for (size_t i = 0; i < COUNT_OF(no_types); i++) {
        CLEANUP(freep) char *request = text_format("GET /v1/events?type=%s", no_types[i]);

        SERVING_EXPECT(&s, 400, request, "", NULL);
        CHECK(
            strstr(serving_get(&s, "detail"), "there are no such events; there are job.*, task.*"));
    }
    SERVING_EXPECT(&s, 400, "GET /v1/events?from=x", "", NULL);
    SERVING_EXPECT(&s, 404, "GET /v1/events?job=x", "", NULL);
    serving_stop(&s);
}

TEST(an_object_is_shown_as_in_lists)
{
    struct serving s;
    struct stream stream;

    serving_start(&s);
    stream_begin(&s, &stream, "?type=queue.*", "Accept: application/x-ndjson\r\n");
    SERVING_EXPECT(&s, 201, "POST /v1/queues", "",
                   "{\"name\":\"q\",\"weight\":2,\"cap\":{\"cpu\":2,\"memory\":\"1536Mi\"}}");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/q", "", NULL);
    CHECK_TEXT(serving_get(&s, "cap"), "{\"cpu\":\"2\",\"memory\":\"1536Mi\"}");
    /* From the store, and from memory. */
    SERVING_EXPECT(&s, 200, "GET /v1/events?type=queue.*&from=2", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.object.cap"), "{\"cpu\":\"2\",\"memory\":\"1536Mi\"}");
    CHECK_TEXT(serving_get(&s, "items.0.object.weight"), "2");
    stream_wait(&stream, "\"cap\":{\"cpu\":\"2\",\"memory\":\"1536Mi\"}");
    stream_end(&stream);
    submit(&s, "a");
    SERVING_EXPECT(&s, 200, "GET /v1/events?type=job.*", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.object.tasks.total"), "1");
    CHECK_TEXT(serving_get(&s, "items.0.object.reasons"), "(none)");
    serving_stop(&s);
}

/* Listens behind a revision that is yet to come, and makes it come: what is heard begins behind
 * it. */
static void check_ahead(struct serving *s, const char *accept)
{
    struct stream stream;
    CLEANUP(freep) char *query = NULL, *headers = text_format("Accept: %s\r\n", accept);
    CLEANUP(freep) char *first = NULL;
    long long newest, from;
    char *at;

    SERVING_EXPECT(s, 200, "GET /v1/events", "", NULL);
    newest = strtoll(serving_get(s, "revision"), NULL, 10);
    from = newest + 40;
    query = text_format("?from=%lld", from);
    first = text_format("\"revision\":%lld,\"time\"", from + 1);
    stream_begin(s, &stream, query, headers);
    CHECK(test_hear_until(stream.fd, "{\"type\":\"bookmark\"", &stream.lines));
    CHECK(!strstr(stream.lines.data, "id: ")); /* it is none to go on from */
    stream_wait(&stream, "{\"type\":\"bookmark\",\"revision\":");
    CHECK(test_hear_until(stream.fd, "}", &stream.lines));
    CHECK(strtoll(stream.lines.data, NULL, 10) >= newest);
    CHECK(strtoll(stream.lines.data, NULL, 10) < from);
    for (int i = 0; i <= 40; i++) {
        CLEANUP(freep) char *body = text_format("{\"name\":\"q%lld-%d\"}", from, i);
        SERVING_EXPECT(s, 201, "POST /v1/queues", "", body);
    }
    CHECK(test_hear_until(stream.fd, first, &stream.lines));
    at = strstr(stream.lines.data, "\"time\"");
    CHECK(at == strstr(stream.lines.data, first) + strlen(first) - strlen("\"time\""));
    stream_end(&stream);
}

TEST(a_stream_from_a_revision_to_come_says_the_newest_and_waits)
{
    struct serving s;

    serving_start(&s);
    check_ahead(&s, "application/x-ndjson");
    check_ahead(&s, "text/event-stream");
    serving_stop(&s);
}

TEST(a_stream_of_events_goes_on)
{
    struct serving s;
    struct stream stream;

    serving_start(&s);
    submit(&s, "before");
    stream_begin(&s, &stream, "?type=job.*", "Accept: text/event-stream\r\n");
    submit(&s, "during");
    stream_wait(&stream, "event: job.submitted\ndata: {");
    CHECK(test_hear_until(stream.fd, "\n\n", &stream.lines));
    CHECK(strstr(stream.lines.data, "\"during\""));
    stream_end(&stream);
    serving_stop(&s);
}

TEST(a_stream_resumes_where_it_was)
{
    struct serving s;
    struct stream stream;
    char headers[200];
    int64_t first;

    serving_start(&s);
    submit(&s, "a");
    first = strtoll(serving_get(&s, "revision"), NULL, 10);
    submit(&s, "b");
    snprintf(headers, sizeof(headers), "Accept: text/event-stream\r\nLast-Event-ID: %lld\r\n",
             (long long)first);
    stream_begin(&s, &stream, "?type=job.*", headers);
    stream_wait(&stream, "data: {");
    CHECK(test_hear_until(stream.fd, "\n\n", &stream.lines));
    CHECK(strstr(stream.lines.data, "\"b\""));
    stream_end(&stream);
    /* The same as lines, from the very beginning, which only the store has. */
    stream_begin(&s, &stream, "?from=0", "Accept: application/x-ndjson\r\n");
    stream_wait(&stream, "\"queue.created\"");
    stream_wait(&stream, "\"a\"");
    stream_wait(&stream, "\"b\"");
    submit(&s, "c");
    stream_wait(&stream, "\"c\"");
    stream_end(&stream);
    serving_stop(&s);
}

TEST(a_quiet_stream_has_bookmarks)
{
    struct server_options options = { .bookmark_ms = 10 };
    struct serving s;
    struct stream stream;

    serving_start_with(&s, options);
    stream_begin(&s, &stream, "?type=memo.*", "Accept: application/x-ndjson\r\n");
    stream_wait(&stream, "{\"type\":\"bookmark\",\"revision\":");
    submit(&s, "a");
    /* What did not pass is behind the next bookmark all the same. */
    stream_wait_mark(&stream, strtoull(serving_get(&s, "revision"), NULL, 10));
    stream_end(&stream);
    serving_stop(&s);
}

static void count_down(struct op *op, void *arg)
{
    op_free(op);
    __atomic_fetch_sub((int *)arg, 1, __ATOMIC_SEQ_CST);
}

/* Sends many changes, straight to the ledger. */
static void change_much(struct serving *s, int n)
{
    int left = n;

    for (int i = 0; i < n; i++) {
        struct op *op = op_new(OP_QUEUE_PUT, count_down, &left);

        op->queue_put.name = text_copy("default");
        op->queue_put.parent = text_copy("root");
        op->queue_put.spec = text_format("{\"weight\":%d}", 1 + i % 100);
        op->queue_put.by = text_format("%02000d", i);
        ledger_send(s->server->ledger, op);
    }
    while (__atomic_load_n(&left, __ATOMIC_SEQ_CST) > 0)
        SERVING_EXPECT(s, 200, "GET /healthz", "", NULL);
}

TEST(a_slow_reader_is_told_where_it_was_cut)
{
    CLEANUP(freep) char *from = NULL;
    struct serving s;
    struct stream stream;
    char *at;

    serving_start(&s);
    stream.fd = test_dial(s.port);
    stream.lines = (struct str){ 0 };
    serving_say(stream.fd, s.token, "GET /v1/events", "Accept: application/x-ndjson\r\n", NULL);
    CHECK(test_hear_until(stream.fd, "\r\n\r\n", &stream.lines));
    /* More than socket, buffer and memory hold. */
    change_much(&s, 15000);
    CHECK(test_hear_until(stream.fd, "\r\n0\r\n\r\n", &stream.lines));
    at = strstr(stream.lines.data, "{\"type\":\"overflow\",\"revision\":");
    CHECK(at != NULL);
    from = text_format("GET /v1/events?limit=1&from=%lld", strtoll(strrchr(at, ':') + 1, NULL, 10));
    SERVING_EXPECT(&s, 200, from, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.type"), "queue.changed");
    stream_end(&stream);
    serving_stop(&s);
}

/* Ends a job, and waits until nothing of it is held any more. */
static void retire(struct serving *s)
{
    CLEANUP(freep) char *path = NULL, *cancel = NULL;

    submit(s, "a");
    path = text_format("GET /v1/jobs/%s", serving_get(s, "id"));
    cancel = text_format("DELETE /v1/jobs/%s", serving_get(s, "id"));
    SERVING_EXPECT(s, 204, cancel, "", NULL);
    submit(s, "b"); /* who is last is kept */
    while (serving_ask(s, path, "", NULL) != 404)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

TEST(events_that_are_no_longer_held_are_said_to_be_gone)
{
    static const char *const accepts[] = { "", "Accept: application/x-ndjson\r\n",
                                           "Accept: text/event-stream\r\n" };
    struct server_options options = { .retain_ms = 50 };
    struct serving s;

    serving_start_with(&s, options);
    retire(&s);
    for (size_t i = 0; i < COUNT_OF(accepts); i++) {
        SERVING_EXPECT(&s, 410, "GET /v1/events?from=1", accepts[i], NULL);
        CHECK_TEXT(serving_get(&s, "code"), "REVISION_GONE");
        CHECK(strstr(serving_get(&s, "detail"), "no longer held") != NULL);
    }
    /* Without a place to begin at, the list begins with what there is. */
    SERVING_EXPECT(&s, 200, "GET /v1/events", "", NULL);
    serving_stop(&s);
}

static void op_free_done(struct op *op, void *arg)
{
    (void)arg;
    op_free(op);
}

TEST(a_read_waits_for_the_revision_that_was_seen)
{
    CLEANUP(freep) char *here = NULL, *ahead = NULL;
    struct serving s;

    serving_start(&s);
    submit(&s, "a");
    here = text_format("GET /v1/jobs?minRevision=%s", serving_get(&s, "revision"));
    ahead = text_format("GET /v1/jobs?minRevision=%lld",
                        strtoll(serving_get(&s, "revision"), NULL, 10) + 1000);
    SERVING_EXPECT(&s, 200, here, "Prefer: wait=5\r\n", NULL);
    SERVING_EXPECT(&s, 503, ahead, "", NULL);
    CHECK_TEXT(serving_get(&s, "code"), "BEHIND");
    SERVING_EXPECT(&s, 503, ahead, "Prefer: wait=1\r\n", NULL);
    SERVING_EXPECT(&s, 400, "GET /v1/jobs?minRevision=x", "", NULL);
    SERVING_EXPECT(&s, 400, "POST /v1/jobs?minRevision=1", "", "{}");
    /* One that waits is answered when the revision comes. */
    serving_say(s.fd, s.token, ahead, "Prefer: wait=10\r\n", NULL);
    for (int i = 0; i < 1000; i++) {
        struct op *op = op_new(OP_QUEUE_PUT, op_free_done, NULL);

        op->queue_put.name = text_copy("default");
        op->queue_put.parent = text_copy("root");
        op->queue_put.spec = text_format("{\"weight\":%d}", 1 + i % 100);
        op->queue_put.by = text_copy("");
        ledger_send(s.server->ledger, op);
    }
    test_hear_answer_to(s.fd, false, &s.answer);
    CHECK_EQ(s.answer.status, 200);
    serving_stop(&s);
}

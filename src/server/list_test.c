/* Lists: sorted, narrowed, in pages, and watched. */
#include "server/serving.h"

/* A wall clock that the test moves on: what it does is a second apart. */
static _Atomic int64_t ahead_ms;

static int64_t test_wall_ms(void *arg)
{
    (void)arg;
    return clock_wall_ms(&clock_system) + ahead_ms;
}

static int64_t test_boot_us(void *arg)
{
    (void)arg;
    return clock_boot_us(&clock_system);
}

static const struct clock test_clock = { .boot_us = test_boot_us, .wall_ms = test_wall_ms };

static void a_second_goes_by(void)
{
    ahead_ms += 1000;
}

/* @more  of its offers, after those of cpu */
static void join(struct serving *s, const char *node, int cpu, const char *more, const char *disk)
{
    CLEANUP(freep)
    char *body = text_format(
        "{\"node\":\"%s\",\"bootId\":\"b\",\"incarnation\":\"\",\"revisionSeen\":0,\"version\":"
        "\"1\","
        "\"offers\":{\"cpu\":%d%s},\"labels\":{\"disk\":\"%s\"},\"taints\":[],\"info\":{},"
        "\"attempts\":[]}",
        node, cpu * 1000, more, disk);

    SERVING_EXPECT_AS(s, s->agent_token, 200, "POST /v1/worker/register", "", body);
}

/* A job that no node is large enough for. */
static void submit_to(struct serving *s, const char *queue, const char *name, int priority)
{
    CLEANUP(freep)
    char *body =
        text_format("{\"name\":\"%s\",\"image\":\"oci:/i\",\"priority\":%d,\"queue\":\"%s\","
                    "\"labels\":{\"team\":\"%.1s\"},\"resources\":{\"cpu\":64}}",
                    name, priority, queue, name);

    a_second_goes_by();
    SERVING_EXPECT(s, 201, "POST /v1/jobs", "", body);
}

static void submit(struct serving *s, const char *name, int priority)
{
    submit_to(s, "default", name, priority);
}

static void cancel(struct serving *s, const char *name)
{
    CLEANUP(freep) char *list = text_format("GET /v1/jobs?name=%s", name), *request = NULL;

    a_second_goes_by();
    SERVING_EXPECT(s, 200, list, "", NULL);
    request = text_format("DELETE /v1/jobs/%s", serving_get(s, "items.0.id"));
    SERVING_EXPECT(s, 204, request, "", NULL);
}

/* The names of the items, "a b c". */
static const char *names(struct serving *s)
{
    static char text[400];
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < 20; i++) {
        char path[32];
        const char *name;

        snprintf(path, sizeof(path), "items.%d.name", i);
        name = serving_get(s, path);
        if (strcmp(name, "(none)") == 0)
            break;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", name);
    }
    return text;
}

/* A stream of what happens to a list. */
struct stream {
    int fd;
    struct str lines;
};

static void stream_begin(struct serving *s, struct stream *stream, const char *request)
{
    *stream = (struct stream){ .fd = test_dial(s->port) };
    serving_say(stream->fd, s->token, request, "", NULL);
    CHECK(test_hear_until(stream->fd, "\r\n\r\n", &stream->lines));
    CHECK(text_begins(stream->lines.data, "HTTP/1.1 200"));
    CHECK(strstr(stream->lines.data, "application/x-ndjson"));
    CHECK(test_hear_until(stream->fd, "\r\n", &stream->lines));
}

static void stream_end(struct stream *stream)
{
    close(stream->fd);
    str_fini(&stream->lines);
}

/* The next line of a type of event, as JSON; what comes before it is passed over. */
static json_t *stream_line(struct stream *stream, const char *type)
{
    for (;;) {
        json_t *line;
        char *begin, *end;

        CHECK(test_hear_until(stream->fd, "}\n", &stream->lines));
        end = strstr(stream->lines.data, "}\n") + 1;
        *end = '\0';
        begin = strstr(stream->lines.data, "{\"");
        line = begin ? json_loads(begin, 0, NULL) : NULL;
        str_drop(&stream->lines, (size_t)(end - stream->lines.data) + 1);
        if (line && text_eq(json_string_value(json_object_get(line, "type")), type))
            return line;
        json_decref(line);
    }
}

/* Waits for a line and says what it is about: "b in", "b left". */
static const char *next_line(struct stream *stream, const char *type)
{
    static char text[100];
    json_t *line = stream_line(stream, type);
    const char *name = json_string_value(json_object_get(json_object_get(line, "object"), "name"));

    snprintf(text, sizeof(text), "%s %s", name,
             json_is_true(json_object_get(line, "left")) ? "left" : "in");
    json_decref(line);
    return text;
}

static const struct {
    const char *name, *request;
    int status;
    const char *names;
} rows[] = {
    { "nodes by name", "GET /v1/nodes", 200, "n1 n2 n3 n4" },
    { "by an amount", "GET /v1/nodes?sort=offers.cpu", 200, "n4 n3 n1 n2" },
    { "the most first", "GET /v1/nodes?sort=-offers.cpu", 200, "n2 n1 n3 n4" },
    { "by what runs", "GET /v1/nodes?sort=attempts", 200, "n3 n4 n1 n2" },
    { "of equals by name", "GET /v1/nodes?sort=-attempts", 200, "n2 n1 n3 n4" },
    { "by a label", "GET /v1/nodes?sort=-labels.disk", 200, "n2 n4 n1 n3" },
    { "what has none is last", "GET /v1/nodes?sort=offers.gpu", 200, "n4 n3 n1 n2" },
    { "both ways", "GET /v1/nodes?sort=-offers.gpu", 200, "n3 n4 n1 n2" },
    { "by a label's value", "GET /v1/nodes?label=disk%3Dnvme", 200, "n2 n4" },
    { "by a label", "GET /v1/nodes?label=disk", 200, "n1 n2 n3 n4" },
    { "of a state", "GET /v1/nodes?state=cordoned", 200, "n3" },
    { "of some states", "GET /v1/nodes?state=lost,cordoned,ready", 200, "n1 n2 n3 n4" },
    { "a page", "GET /v1/nodes?limit=3", 200, "n1 n2 n3" },
    { "no such state", "GET /v1/nodes?state=redy", 400, "" },
    { "no such order", "GET /v1/nodes?sort=nmae", 400, "" },
    { "an order of nothing", "GET /v1/nodes?sort=offers.", 400, "" },
    { "queues", "GET /v1/queues?sort=-weight", 200, "heavy alps default root zoo" },
    { "queues by what waits", "GET /v1/queues?sort=-usage.pending", 200,
      "alps root default heavy zoo" },
    { "the least", "GET /v1/queues?sort=usage.pending", 200, "default heavy zoo alps root" },
    { "queues of a state", "GET /v1/queues?state=draining", 200, "heavy" },
    { "tokens", "GET /v1/tokens?sort=-name&limit=1", 200, "first-agent" },
    { "jobs, newest first", "GET /v1/jobs", 200, "b e d c a" },
    { "jobs by name", "GET /v1/jobs?sort=name", 200, "a b c d e" },
    { "jobs by priority", "GET /v1/jobs?sort=priority", 200, "c e d b a" },
    { "the highest", "GET /v1/jobs?sort=-priority", 200, "b a e d c" },
    { "by queue, of equals the newest", "GET /v1/jobs?sort=queue", 200, "c b e d a" },
    { "from the last", "GET /v1/jobs?sort=-queue", 200, "a b e d c" },
    { "what never began is last", "GET /v1/jobs?sort=startedAt", 200, "d e b c a" },
    { "both ways", "GET /v1/jobs?sort=-startedAt", 200, "e d b c a" },
    { "what has not ended is last", "GET /v1/jobs?sort=endedAt", 200, "a b e d c" },
    { "both ways", "GET /v1/jobs?sort=-endedAt", 200, "b a e d c" },
    { "the oldest", "GET /v1/jobs?sort=id&limit=1", 200, "a" },
    { "jobs by what", "GET /v1/jobs?sort=colour", 400, "" },
};

/* Runs a job on the one node that is open, large enough and has such a disk; waits until it
 * does. */
static void run_on(struct serving *s, struct stream *stream, const char *name, const char *disk,
                   int tasks)
{
    CLEANUP(freep)
    char *body = text_format("{\"name\":\"%s\",\"image\":\"oci:/i\",\"priority\":5,\"replicas\":%d,"
                             "\"resources\":{\"cpu\":4},\"nodeSelector\":{\"disk\":\"%s\"}}",
                             name, tasks, disk);

    a_second_goes_by();
    SERVING_EXPECT(s, 201, "POST /v1/jobs", "", body);
    json_decref(stream_line(stream, "job.running"));
}

/* Four nodes, of which n1 runs one task and n2 two; of the jobs a, c, d, e and b, in this order,
 * d and e run and c waits; a and then b are cancelled. */
static void begin(struct serving *s)
{
    struct stream stream;

    serving_start_with(s, (struct server_options){ .clock = &test_clock });
    join(s, "n1", 8, "", "hdd");
    join(s, "n2", 16, "", "nvme");
    join(s, "n3", 4, ",\"gpu\":2000", "hdd");
    join(s, "n4", 2, ",\"gpu\":1000", "nvme");
    SERVING_EXPECT(s, 200, "POST /v1/nodes/n3/actions", "", "{\"action\":\"cordon\"}");
    SERVING_EXPECT(s, 201, "POST /v1/queues", "", "{\"name\":\"alps\"}");
    SERVING_EXPECT(s, 201, "POST /v1/queues", "", "{\"name\":\"zoo\"}");
    SERVING_EXPECT(s, 201, "POST /v1/queues", "",
                   "{\"name\":\"heavy\",\"weight\":3,\"state\":\"draining\"}");
    submit_to(s, "zoo", "a", 7);
    submit_to(s, "alps", "c", 1);
    stream_begin(s, &stream, "GET /v1/jobs?watch=1");
    run_on(s, &stream, "d", "hdd", 1);
    run_on(s, &stream, "e", "nvme", 2);
    stream_end(&stream);
    submit(s, "b", 7);
    cancel(s, "a");
    cancel(s, "b");
}

TEST(lists_are_narrowed_and_sorted_as_asked)
{
    struct serving s;

    begin(&s);
    ROW_EACH (c, rows) {
        SERVING_EXPECT(&s, c->status, c->request, "", NULL);
        CHECK_TEXT(names(&s), c->names);
    }
    serving_stop(&s);
}

/* All pages of a list, "a b c". */
static void walk(struct serving *s, const char *request, char out[400])
{
    CLEANUP(freep) char *next = text_copy("");
    size_t n = 0;

    for (int i = 0; i < 20 && strcmp(next, "(none)") != 0; i++) {
        CLEANUP(freep)
        char *page = text_format("%s%s%s", request, next[0] ? "&cursor=" : "", next);

        SERVING_EXPECT(s, 200, page, "", NULL);
        n += (size_t)snprintf(out + n, 400 - n, "%s%s", n ? " " : "", names(s));
        mem_free(next);
        next = text_copy(serving_get(s, "next"));
    }
}

TEST(pages_of_an_order_follow_each_other)
{
    struct serving s;
    char all[400];
    CLEANUP(freep) char *other = NULL;

    begin(&s);
    walk(&s, "GET /v1/nodes?sort=-offers.cpu&limit=1", all);
    CHECK_TEXT(all, "n2 n1 n3 n4");
    walk(&s, "GET /v1/nodes?limit=3", all);
    CHECK_TEXT(all, "n1 n2 n3 n4");
    walk(&s, "GET /v1/jobs?sort=-priority&limit=1", all);
    CHECK_TEXT(all, "b a e d c");
    walk(&s, "GET /v1/jobs?sort=queue&limit=1", all);
    CHECK_TEXT(all, "c b e d a");
    walk(&s, "GET /v1/jobs?sort=name&limit=2", all);
    CHECK_TEXT(all, "a b c d e");
    walk(&s, "GET /v1/jobs?sort=-endedAt&limit=1", all);
    CHECK_TEXT(all, "b a e d c");
    walk(&s, "GET /v1/jobs?sort=startedAt&limit=1", all);
    CHECK_TEXT(all, "d e b c a");
    walk(&s, "GET /v1/nodes?sort=offers.gpu&limit=1", all);
    CHECK_TEXT(all, "n4 n3 n1 n2");
    SERVING_EXPECT(&s, 200, "GET /v1/jobs?sort=name&limit=1", "", NULL);
    other = text_format("GET /v1/jobs?sort=-name&limit=1&cursor=%s", serving_get(&s, "next"));
    SERVING_EXPECT(&s, 400, other, "", NULL);
    CHECK_TEXT(serving_get(&s, "code"), "BAD_CURSOR");
    serving_stop(&s);
}

TEST(a_page_goes_on_where_the_item_was_that_ended_the_one_before)
{
    struct serving s;
    CLEANUP(freep) char *next = NULL;

    begin(&s);
    SERVING_EXPECT(&s, 200, "GET /v1/nodes?state=ready&limit=2", "", NULL);
    CHECK_TEXT(names(&s), "n1 n2");
    next = text_format("GET /v1/nodes?state=ready&limit=2&cursor=%s", serving_get(&s, "next"));
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n2/actions", "", "{\"action\":\"cordon\"}");
    SERVING_EXPECT(&s, 200, next, "", NULL);
    CHECK_TEXT(names(&s), "n4");
    serving_stop(&s);
}

/* ---- watching ---- */

TEST(a_watched_list_says_what_comes_and_what_leaves)
{
    struct serving s;
    struct stream stream;
    CLEANUP(freep) char *request = NULL;

    serving_start(&s);
    submit(&s, "a", 1);
    SERVING_EXPECT(&s, 200, "GET /v1/jobs?state=pending&label=team%3Db", "", NULL);
    request = text_format("GET /v1/jobs?watch=1&state=pending&label=team%%3Db&from=%s",
                          serving_get(&s, "revision"));
    submit(&s, "b", 1);
    /* From the list's revision on, though it began later. */
    stream_begin(&s, &stream, request);
    CHECK_TEXT(next_line(&stream, "job.submitted"), "b in");
    submit(&s, "c", 1);
    CHECK_TEXT(next_line(&stream, "job.submitted"), "c left"); /* of another label */
    cancel(&s, "b");
    CHECK_TEXT(next_line(&stream, "job.cancelled"), "b left");
    stream_end(&stream);
    serving_stop(&s);
}

TEST(what_can_never_be_in_a_list_is_not_said_to_leave)
{
    struct serving s;
    struct stream stream;

    serving_start(&s);
    stream_begin(&s, &stream, "GET /v1/jobs?watch=1&name=b");
    submit(&s, "a", 1);
    submit(&s, "b", 1);
    CHECK_TEXT(next_line(&stream, "job.submitted"), "b in");
    stream_end(&stream);
    serving_stop(&s);
}

TEST(nodes_and_queues_are_watched_too)
{
    struct serving s;
    struct stream nodes, queues;

    serving_start(&s);
    stream_begin(&s, &nodes, "GET /v1/nodes?watch=1&state=ready&from=0");
    stream_begin(&s, &queues, "GET /v1/queues?watch=1");
    submit(&s, "a", 1); /* neither's business */
    join(&s, "n1", 4, "", "hdd");
    CHECK_TEXT(next_line(&nodes, "node.registered"), "n1 in");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n1/actions", "", "{\"action\":\"cordon\"}");
    CHECK_TEXT(next_line(&nodes, "node.cordoned"), "n1 left");
    SERVING_EXPECT(&s, 201, "POST /v1/queues", "", "{\"name\":\"q\"}");
    CHECK_TEXT(next_line(&queues, "queue.created"), "q in");
    SERVING_EXPECT(&s, 204, "DELETE /v1/queues/q", "", NULL);
    CHECK_TEXT(next_line(&queues, "queue.deleted"), "q left");
    stream_end(&nodes);
    stream_end(&queues);
    serving_stop(&s);
}

TEST(a_watch_that_will_not_do_is_refused)
{
    struct serving s;

    serving_start(&s);
    SERVING_EXPECT(&s, 400, "GET /v1/jobs?watch=1&sort=name", "", NULL);
    SERVING_EXPECT(&s, 400, "GET /v1/nodes?watch=1&limit=3", "", NULL);
    SERVING_EXPECT(&s, 400, "GET /v1/nodes?watch=maybe", "", NULL);
    SERVING_EXPECT(&s, 400, "GET /v1/jobs?watch=1&from=x", "", NULL);
    SERVING_EXPECT(&s, 404, "GET /v1/jobs/j-999/attempts?watch=1", "", NULL);
    serving_stop(&s);
}

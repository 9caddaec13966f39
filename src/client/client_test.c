#include "client/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/test.h"
#include "base/test_script.h"
#include "base/vec.h"

/* A port on loopback where nobody listens. */
static uint16_t closed_port(void)
{
    struct script script = { 0 };
    static const char *const none[] = { NULL };

    script_begin(&script, none);
    script_end(&script);
    return script.port;
}

static struct client *open_at(const char *addr, struct loop *loop)
{
    struct client_settings settings = { 0 };
    struct client *client = NULL;
    struct err err = { 0 };

    settings.values[SETTING_ADDR] = text_copy(addr);
    settings.values[SETTING_TOKEN] = text_copy("secret");
    CHECK_OK(client_open(&settings, loop, &client, &err), &err);
    client_settings_fini(&settings);
    return client;
}

static struct client *open_script(const struct script *script, struct loop *loop)
{
    char addr[64];

    snprintf(addr, sizeof(addr), "http://127.0.0.1:%u", script->port);
    return open_at(addr, loop);
}

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
#define OK      OK_HEAD "\r\n{}"
#define BUSY    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

/* ---- Calls ---- */

static const struct {
    const char *name;
    const char *answers[4];
    const char *method;
    bool is_repeatable;
    int r, status, n_requests;
} rows[] = {
    { "an answer", { OK }, "GET", false, 0, 200, 1 },
    { "busy, then an answer", { BUSY, OK }, "GET", false, 0, 200, 2 },
    { "busy says that nothing was done", { BUSY, OK }, "POST", false, 0, 200, 2 },
    { "cut off, a read is asked again", { "", OK }, "GET", false, 0, 200, 2 },
    { "cut off, a submit with a key is sent again", { "", OK }, "POST", true, 0, 200, 2 },
    { "cut off, another is not", { "", OK }, "POST", false, -EHOSTUNREACH, 0, 1 },
    { "half an answer",
      { OK_HEAD "Connection: close\r\n\r\n{", OK },
      "POST",
      false,
      -EHOSTUNREACH,
      200,
      1 },
    { "a redirect is not followed",
      { "HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", OK },
      "GET",
      false,
      0,
      302,
      1 },
    { "an interim answer first",
      { "HTTP/1.1 103 E\r\nETag: \"x\"\r\n\r\n" OK },
      "GET",
      false,
      0,
      200,
      1 },
    { "no HTTP at all", { "hello hello hello\r\n\r\n", OK }, "POST", false, -EPROTO, 0, 1 },
};

TEST(call_repeats_only_what_may_be_repeated)
{
    ROW_EACH (c, rows) {
        struct script script = { 0 };
        struct client_answer answer = { 0 };
        struct err err = { 0 };
        struct client_request request = { .method = c->method,
                                          .path = "/v1/x",
                                          .is_repeatable = c->is_repeatable };
        size_t n_fds = test_count_fds();

        script_begin(&script, c->answers);
        struct client *client = open_script(&script, NULL);
        CHECK_EQ(client_call(client, &request, &answer, &err), c->r);
        CHECK_EQ(answer.status, c->status);
        CHECK_EQ(script.n_requests, c->n_requests);
        CHECK_TEXT(answer.etag, "");
        CHECK(c->r == 0 || strstr(err.text, "127.0.0.1"));
        client_answer_fini(&answer);
        client_close(client);
        script_end(&script);
        CHECK_EQ(test_count_fds(), n_fds);
    }
}

TEST(call_sends_and_takes_what_belongs_to_it)
{
    static const char *const answers[] = { "HTTP/1.1 201 Created\r\nETag: \"48207\"\r\n"
                                           "Berth-Revision: 48207\r\nLocation: /v1/jobs/j-1\r\n"
                                           "Berth-Request-Id: req-1\r\nRetry-After: 3\r\n"
                                           "idempotency-replayed: true\r\n"
                                           "Content-Type: application/json\r\n"
                                           "Content-Length: 12\r\n\r\n{\"id\":\"j-1\"}",
                                           OK, NULL };
    static const char *const headers[] = { "Idempotency-Key: k1", NULL };
    struct script script = { 0 };
    struct client_answer answer = { 0 };
    struct err err = { 0 };
    struct client_request request = { .method = "POST",
                                      .path = "/v1/jobs?a=b",
                                      .headers = headers,
                                      .body = "{\"a\":1}",
                                      .n_body = 7,
                                      .is_repeatable = true };

    script_begin(&script, answers);
    struct client *client = open_script(&script, NULL);
    CHECK_OK(client_call(client, &request, &answer, &err), &err);
    CHECK_EQ(answer.status, 201);
    CHECK_TEXT(str_text(&answer.body), "{\"id\":\"j-1\"}");
    CHECK_TEXT(answer.etag, "\"48207\"");
    CHECK_EQ(answer.revision, 48207);
    CHECK_TEXT(answer.location, "/v1/jobs/j-1");
    CHECK_TEXT(answer.request_id, "req-1");
    CHECK_TEXT(answer.content_type, "application/json");
    CHECK_EQ(answer.retry_after_ms, 3000);
    CHECK(answer.is_replayed);
    CLEANUP(freep) char *last = script_last(&script);
    CHECK(text_begins(last, "POST /v1/jobs?a=b HTTP/1.1\r\n"));
    CHECK(strstr(last, "\r\nAuthorization: Bearer secret\r\n"));
    CHECK(strstr(last, "\r\nIdempotency-Key: k1\r\n"));
    CHECK(strstr(last, "\r\nContent-Type: application/json\r\n"));
    CHECK(strstr(last, "\r\n\r\n{\"a\":1}"));

    /* The next one goes over the same connection, and nothing of the first answer stays. */
    CHECK_OK(client_call(client, &request, &answer, &err), &err);
    CHECK_EQ(script.n_connections, 1);
    CHECK_TEXT(answer.etag, "");
    CHECK_EQ(answer.revision, -1);
    CHECK_TEXT(str_text(&answer.body), "{}");
    client_answer_fini(&answer);
    client_close(client);
    script_end(&script);
}

#define OF_LEDGER "Berth-Incarnation: life-1\r\nBerth-Opening: door-1\r\n"

TEST(a_held_client_says_what_it_has_seen)
{
    static const char *const answers[] = {
        OK_HEAD OF_LEDGER "Berth-Revision: 7\r\n\r\n{}",
        OK_HEAD OF_LEDGER "Berth-Revision: 5\r\n\r\n{}",
        OK,
        "HTTP/1.1 409 C\r\nContent-Length: 0\r\n"
        "Berth-Incarnation: life-2\r\nBerth-Opening: door-2\r\n\r\n",
        OK,
        OK,
        NULL
    };
    static const struct {
        const char *name, *seen; /* NULL: it says nothing */
        int hold;                /* before it: to the ledger of the next answer */
        int64_t saw;             /* before it, in a stream */
    } calls[] = {
        { "not held", NULL, 0, 0 },
        { "held to the answers so far", "\r\nBerth-Seen: door-1 7\r\n", 0, 0 },
        { "an older answer does not go back", "\r\nBerth-Seen: door-1 7\r\n", 0, 0 },
        { "what a stream said counts", "\r\nBerth-Seen: door-1 9\r\n", 0, 9 },
        { "a refusal tells of another ledger, which is not taken", "\r\nBerth-Seen: door-1 9\r\n",
          0, 0 },
        { "held anew", NULL, 1, 0 },
    };
    struct client_request request = { .method = "GET", .path = "/" };
    struct client_answer answer = { 0 };
    struct script script = { 0 };
    struct err err = { 0 };
    struct client *first, *client;

    script_begin(&script, answers);
    first = open_script(&script, NULL);
    client = open_script(&script, NULL);
    ROW_EACH (c, calls) {
        bool is_first = c == calls;
        CLEANUP(freep) char *last = NULL;

        if (c->hold)
            client_hold(client, NULL);
        client_saw(client, c->saw);
        CHECK_OK(client_call(is_first ? first : client, &request, &answer, &err), &err);
        if (is_first)
            client_hold(client, first); /* as of a submit, and the stream that follows it */
        last = script_last(&script);
        CHECK_EQ(strstr(last, "\r\nBerth-Seen: ") != NULL, c->seen != NULL);
        CHECK(!c->seen || strstr(last, c->seen));
        CHECK_EQ(strstr(last, "\r\nBerth-Incarnation: life-1\r\n") != NULL, c->seen != NULL);
    }
    client_answer_fini(&answer);
    client_close(first);
    client_close(client);
    script_end(&script);
}

TEST(call_gives_up_when_its_time_is_over)
{
    struct client_answer answer = { 0 };
    struct err err = { 0 };
    struct client_request request = { .method = "GET", .path = "/", .timeout_ms = 200 };
    char addr[64];

    snprintf(addr, sizeof(addr), "http://127.0.0.1:%u", closed_port());
    struct client *client = open_at(addr, NULL);
    CHECK_EQ(client_call(client, &request, &answer, &err), -EHOSTUNREACH);
    CHECK(strstr(err.text, "not reachable"));
    client_answer_fini(&answer);
    client_close(client);
}

TEST(call_once_is_not_repeated)
{
    static const char *const answers[] = { BUSY, OK, NULL };
    struct script script = { 0 };
    struct client_answer answer = { 0 };
    struct err err = { 0 };
    struct client_request request = { .method = "GET", .path = "/", .is_once = true };
    char addr[128];

    script_begin(&script, answers);
    snprintf(addr, sizeof(addr), "http://127.0.0.1:%u, http://127.0.0.1:%u", closed_port(),
             script.port);
    struct client *client = open_at(addr, NULL);
    CHECK_OK(client_call(client, &request, &answer, &err), &err);
    CHECK_EQ(answer.status, 503); /* of the second address: the first one is not there */
    CHECK_EQ(script.n_connections, 1);
    client_answer_fini(&answer);
    client_close(client);
    script_end(&script);

    snprintf(addr, sizeof(addr), "http://127.0.0.1:%u", closed_port());
    client = open_at(addr, NULL);
    int64_t begun_ms = clock_boot_ms(&clock_system);
    CHECK_EQ(client_call(client, &request, &answer, &err), -EHOSTUNREACH);
    CHECK(clock_boot_ms(&clock_system) - begun_ms < CLIENT_CALL_MS);
    client_answer_fini(&answer);
    client_close(client);
}

TEST(call_goes_to_the_next_address)
{
    static const char *const answers[] = { OK, NULL };
    struct script script = { 0 };
    struct client_answer answer = { 0 };
    struct err err = { 0 };
    struct client_request request = { .method = "POST", .path = "/" };
    char addr[128];

    script_begin(&script, answers);
    snprintf(addr, sizeof(addr), "http://127.0.0.1:%u, http://127.0.0.1:%u/", closed_port(),
             script.port);
    struct client *client = open_at(addr, NULL);
    CHECK_OK(client_call(client, &request, &answer, &err), &err);
    CHECK_EQ(answer.status, 200);
    client_answer_fini(&answer);
    client_close(client);
    script_end(&script);
}

static const char *const bad_addresses[] = {
    "ftp://h",           "h:7070",         "http://u:p@h", "http://h/path", "http://h?q",
    "http://h,file:///", "http://h:70 70", "http://",
};

TEST(open_refuses_what_is_no_address)
{
    struct client_settings settings = { 0 };
    struct client *client = NULL;
    struct err err = { 0 };

    CHECK_EQ(client_open(&settings, NULL, &client, &err), -EDESTADDRREQ);
    for (size_t i = 0; i < COUNT_OF(bad_addresses); i++) {
        err = (struct err){ 0 };
        settings.values[SETTING_ADDR] = text_copy(bad_addresses[i]);
        CHECK_EQ(client_open(&settings, NULL, &client, &err), -EINVAL);
        client_settings_fini(&settings);
    }
    CHECK(!client);
}

/* ---- Streams ---- */

struct heard {
    struct str bytes;
    size_t most; /* ends the stream when so much came; 0: never */
    struct client *interrupt;
};

static int hear(void *arg, const char *bytes, size_t n)
{
    struct heard *heard = arg;

    str_add_bytes(&heard->bytes, bytes, n);
    if (heard->interrupt)
        client_interrupt(heard->interrupt);
    return heard->most && heard->bytes.len >= heard->most ? -ECANCELED : 0;
}

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct {
    const char *name;
    const char *answers[3];
    size_t most;
    bool is_interrupted;
    int r, status;
    const char *bytes, *body;
} streams[] = {
    { "to its end",
      { STREAM_HEAD "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" },
      0,
      false,
      0,
      200,
      "abcde",
      "" },
    { "busy first", { BUSY, STREAM_HEAD "1\r\na\r\n0\r\n\r\n" }, 0, false, 0, 200, "a", "" },
    { "refused", { "HTTP/1.1 404 N\r\nContent-Length: 2\r\n\r\n{}" }, 0, false, 0, 404, "", "{}" },
    { "ended by the reader", { STREAM_HEAD "3\r\nabc\r\n" }, 3, false, -ECANCELED, 200, "abc", "" },
    { "interrupted", { STREAM_HEAD "3\r\nabc\r\n" }, 0, true, -EINTR, 200, "abc", "" },
    { "idle", { STREAM_HEAD "3\r\nabc\r\n" }, 0, false, -ETIMEDOUT, 200, "abc", "" },
    { "broken in the middle",
      { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n" },
      0,
      false,
      -EPIPE,
      200,
      "abc",
      "" },
};

TEST(stream_hands_on_bytes_and_says_how_it_ended)
{
    ROW_EACH (c, streams) {
        struct script script = { 0 };
        struct heard heard = { .most = c->most };
        struct client_answer answer = { 0 };
        struct err err = { 0 };
        struct client_request request = { .method = "GET", .path = "/", .idle_ms = 300 };

        script_begin(&script, c->answers);
        struct client *client = open_script(&script, NULL);
        heard.interrupt = c->is_interrupted ? client : NULL;
        CHECK_EQ(client_stream(client, &request, &answer, hear, &heard, &err), c->r);
        CHECK_EQ(answer.status, c->status);
        CHECK_TEXT(str_text(&heard.bytes), c->bytes);
        CHECK_TEXT(str_text(&answer.body), c->body);
        str_fini(&heard.bytes);
        client_answer_fini(&answer);
        client_close(client);
        script_end(&script);
    }
}

TEST(interrupt_ends_the_next_call_until_resumed)
{
    static const char *const answers[] = { OK, OK, NULL };
    struct script script = { 0 };
    struct client_answer answer = { 0 };
    struct err err = { 0 };
    struct client_request request = { .method = "GET", .path = "/" };

    script_begin(&script, answers);
    struct client *client = open_script(&script, NULL);
    client_interrupt(client);
    CHECK_EQ(client_call(client, &request, &answer, &err), -EINTR);
    client_resume(client);
    err = (struct err){ 0 };
    CHECK_OK(client_call(client, &request, &answer, &err), &err);
    client_answer_fini(&answer);
    client_close(client);
    script_end(&script);
}

/* ---- On a loop ---- */

struct scene {
    struct loop *loop;
    struct client *client;
    int n_done, n_wanted, last_status, last_result;
    struct str lines; /* each with a '|' behind; '^' when the stream was opened */
    struct client_ticket *listening;
    int cancel_at; /* cancels itself at this line; 0: never */
    int n_lines;
};

static void on_done(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct scene *scene = arg;

    (void)err;
    scene->last_result = r;
    scene->last_status = answer->status;
    if (++scene->n_done == scene->n_wanted)
        loop_stop(scene->loop);
}

static void scene_begin(struct scene *scene, const struct script *script)
{
    struct err err = { 0 };

    *scene = (struct scene){ 0 };
    CHECK_OK(loop_open(&scene->loop, &err), &err);
    scene->client = open_script(script, scene->loop);
}

static void scene_end(struct scene *scene)
{
    client_close(scene->client);
    loop_close(scene->loop);
    str_fini(&scene->lines);
}

TEST(send_answers_each_on_the_loop)
{
    static const char *const answers[] = { OK, OK, OK, OK, OK, OK, OK, OK, OK, NULL };
    size_t n_fds = test_count_fds();
    struct script script = { 0 };
    struct scene scene;
    struct client_request request = {
        .method = "POST", .path = "/", .body = "x", .n_body = 1, .is_repeatable = true
    };

    script_begin(&script, answers);
    scene_begin(&scene, &script);
    scene.n_wanted = 1;
    for (int i = 0; i < 8; i++) {
        client_send(scene.client, &request, on_done, &scene);
        CHECK_EQ(scene.n_done, i);
        loop_run(scene.loop);
        CHECK_EQ(scene.last_result, 0);
        CHECK_EQ(scene.last_status, 200);
        scene.n_wanted++;
    }
    CHECK_EQ(script.n_connections, 1);

    /* What was given up is not called back; what is under way at the end neither. */
    client_cancel(client_send(scene.client, &request, on_done, &scene));
    client_send(scene.client, &request, on_done, &scene);
    CHECK_EQ(scene.n_done, 8);
    scene_end(&scene);
    script_end(&script);
    CHECK_EQ(test_count_fds(), n_fds);
}

TEST(send_to_nobody_says_so)
{
    struct script script = { 0 };
    static const char *const none[] = { NULL };
    struct scene scene;
    struct client_request request = { .method = "GET", .path = "/" };

    script_begin(&script, none);
    script_end(&script);
    scene_begin(&scene, &script);
    scene.n_wanted = 1;
    client_send(scene.client, &request, on_done, &scene);
    loop_run(scene.loop);
    CHECK_EQ(scene.last_result, -EHOSTUNREACH);
    scene_end(&scene);
}

static void on_line(void *arg, const char *line, size_t n)
{
    struct scene *scene = arg;

    if (!line) {
        str_add(&scene->lines, "^");
        return;
    }
    str_add_bytes(&scene->lines, line, n);
    str_add(&scene->lines, "|");
    if (++scene->n_lines == scene->cancel_at) {
        client_cancel(scene->listening);
        loop_stop(scene->loop);
    }
}

static const struct {
    const char *name;
    const char *answers[2];
    int cancel_at, n_done, r, status;
    const char *lines;
} listenings[] = {
    { "lines in pieces",
      { STREAM_HEAD "3\r\na\nb\r\n4\r\nb\n\nc\r\n1\r\n\n\r\n0\r\n\r\n" },
      0,
      1,
      0,
      200,
      "^a|bb|c|" },
    { "a last line without its end is none",
      { STREAM_HEAD "3\r\na\nb\r\n0\r\n\r\n" },
      0,
      1,
      0,
      200,
      "^a|" },
    { "refused", { "HTTP/1.1 409 C\r\nContent-Length: 2\r\n\r\n{}" }, 0, 1, 0, 409, "" },
    { "cut off", { "" }, 0, 1, -EHOSTUNREACH, 0, "" },
    { "idle", { STREAM_HEAD "2\r\na\n\r\n" }, 0, 1, -ETIMEDOUT, 200, "^a|" },
    { "given up in its own callback", { STREAM_HEAD "6\r\na\nb\nc\n\r\n" }, 2, 0, 0, 0, "^a|b|" },
};

TEST(listen_says_whole_lines)
{
    ROW_EACH (c, listenings) {
        struct script script = { 0 };
        struct scene scene;
        struct client_request request = { .method = "GET", .path = "/", .idle_ms = 300 };

        script_begin(&script, c->answers);
        scene_begin(&scene, &script);
        scene.n_wanted = 1;
        scene.cancel_at = c->cancel_at;
        scene.listening = client_listen(scene.client, &request, on_line, on_done, &scene);
        loop_run(scene.loop);
        CHECK_TEXT(str_text(&scene.lines), c->lines);
        CHECK_EQ(scene.n_done, c->n_done);
        CHECK_EQ(scene.last_result, c->r);
        CHECK_EQ(scene.last_status, c->status);
        scene_end(&scene);
        script_end(&script);
    }
}

TEST(problem_of_an_answer_without_a_document_is_made_from_its_status)
{
    struct client_answer answer = { .status = 404 };
    struct problem problem = { 0 };

    client_answer_problem(&answer, &problem);
    CHECK_EQ(problem.code, PROBLEM_NOT_FOUND);
}

TEST(escape_leaves_only_plain_characters)
{
    CLEANUP(str_fini) struct str out = { 0 };

    client_escape("j-12/worker.3#1 ä", &out);
    CHECK_TEXT(str_text(&out), "j-12%2Fworker.3%231%20%C3%A4");
}

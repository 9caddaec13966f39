#include "base/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/http.h"
#include "base/http_head.h"
#include "base/pool.h"
#include "base/test_http.h"

/* A server on a thread of its own, with a handler that does what the path says. */
struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct pool *pool;
    pthread_t thread;
    uint16_t port;
    int said[2]; /* a pipe: the handlers' bytes to the test */
};

static void note(struct fixture *f, char c)
{
    CHECK_EQ(write(f->said[1], &c, 1), 1);
}

/* Waits for what a handler noted. */
static char noted(struct fixture *f)
{
    struct pollfd ready = { .fd = f->said[0], .events = POLLIN };
    char c = 0;

    CHECK_EQ(poll(&ready, 1, TEST_HTTP_WAIT_MS), 1);
    CHECK_EQ(read(f->said[0], &c, 1), 1);
    return c;
}

static void echo(struct http_request *request)
{
    CLEANUP(str_fini) struct str out = { 0 };
    const char *name, *value;
    size_t n;

    str_addf(&out, "%s", http_method_text(request));
    for (size_t i = 0; i < http_n_parts(request); i++)
        str_addf(&out, " [%s]", http_part(request, i));
    for (size_t i = 0; i < http_n_queries(request); i++) {
        http_query_at(request, i, &name, &value);
        str_addf(&out, " %s=%s", name, value);
    }
    if (http_header(request, "x-test"))
        str_addf(&out, " x-test:%s", http_header(request, "X-Test"));
    name = http_body(request, &n);
    str_addf(&out, " %zu:", n);
    str_add_bytes(&out, name, n);
    http_set_header(request, "X-Bad", "a\r\nSet-Cookie: b");
    http_answer(request, 200, out.data, out.len);
}

/* An answer that is made on another thread. */
struct later {
    struct http_request *request;
    struct fixture *f;
};

static void answer_later(void *arg)
{
    struct later *later = arg;

    http_answer(later->request, 200, "later", 5);
    free(later);
}

static void work_later(void *arg)
{
    (void)arg;
}

static void note_close(struct http_request *request, void *arg)
{
    note(arg, 'c');
    CHECK(http_is_closed(request));
    http_answer(request, 200, "nobody hears this", 17);
}

/* A stream that writes on each time that all was taken, up to a number of pieces. */
struct flood {
    struct fixture *f;
    int left;
    size_t most;
};

static void end_flood(struct http_request *request, void *arg)
{
    struct flood *flood = arg;

    note(flood->f, 'x');
    http_stream_end(request);
    free(flood);
}

static void flood_on(struct http_request *request, void *arg)
{
    static char piece[100000];
    struct flood *flood = arg;

    if (flood->left-- == 0) {
        http_stream_end(request);
        free(flood);
        return;
    }
    memset(piece, 'f', sizeof(piece));
    http_stream_write(request, piece, sizeof(piece));
}

static void begin_flood(struct fixture *f, struct http_request *request)
{
    struct flood *flood = NEW0(struct flood);

    *flood = (struct flood){ .f = f, .left = 50 };
    http_stream_begin(request, 200);
    http_on_drained(request, flood_on, flood);
    http_on_close(request, end_flood, flood);
    flood_on(request, flood);
}

/* More than the sockets hold: no one write takes it. */
enum { LARGE_BYTES = 24 << 20 };

static char large_at(size_t i)
{
    return (char)('a' + i % 23);
}

static void answer_large(struct http_request *request)
{
    char *body = mem_zero(LARGE_BYTES, 1);

    for (size_t i = 0; i < LARGE_BYTES; i++)
        body[i] = large_at(i);
    http_answer(request, 200, body, LARGE_BYTES);
    mem_free(body);
}

static void handle(struct http_request *request, void *arg)
{
    struct fixture *f = arg;
    const char *what = http_part(request, 0);

    if (text_eq(what, "later")) {
        struct later *later = NEW0(struct later);
        *later = (struct later){ request, f };
        pool_run(f->pool, work_later, f->loop, answer_later, later);
    } else if (text_eq(what, "wait")) {
        http_on_close(request, note_close, f);
        note(f, 'w');
    } else if (text_eq(what, "flood")) {
        begin_flood(f, request);
    } else if (text_eq(what, "stream")) {
        http_stream_begin(request, 200);
        http_stream_write(request, "one ", 4);
        http_stream_write(request, "two", 3);
        http_stream_end(request);
    } else if (text_eq(what, "cut")) {
        http_stream_begin(request, 200);
        http_stream_write(request, "half", 4);
        http_stream_abort(request);
    } else if (text_eq(what, "large")) {
        answer_large(request);
    } else if (text_eq(what, "nothing")) {
        http_answer(request, 204, NULL, 0);
    } else {
        echo(request);
    }
}

static void *run(void *arg)
{
    struct fixture *f = arg;

    loop_run(f->loop);
    http_server_close(f->server);
    return NULL;
}

static void start(struct fixture *f, struct http_options options)
{
    struct err err = { 0 };

    *f = (struct fixture){ 0 };
    options.listen = "127.0.0.1:0";
    options.fn = handle;
    options.arg = f;
    CHECK_EQ(pipe(f->said), 0);
    CHECK_OK(loop_open(&f->loop, &err), &err);
    CHECK_OK(pool_open("test", 1, &f->pool, &err), &err);
    CHECK_OK(http_server_open(f->loop, &options, &f->server, &err), &err);
    f->port = http_server_port(f->server);
    CHECK(f->port != 0);
    CHECK_EQ(pthread_create(&f->thread, NULL, run, f), 0);
}

static void stop(struct fixture *f)
{
    loop_stop(f->loop);
    pthread_join(f->thread, NULL);
    pool_close(f->pool);
    loop_close(f->loop);
    close(f->said[0]);
    close(f->said[1]);
}

#define H "Host: a\r\n"

TEST(a_request_is_taken_apart)
{
    size_t n_fds = test_count_fds();
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    char value[256];
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "POST /v1/j-1%2Fw.0%231//x/?a=1&b&c=%41+z&&a=2 HTTP/1.1\r\n" H
                 "X-Test: yes\r\nContent-Length: 4\r\n\r\nbody");
    test_hear_answer(fd, &answer);
    CHECK_EQ(answer.status, 200);
    CHECK_TEXT(answer.body.data,
               "POST [v1] [j-1/w.0#1] [] [x] [] a=1 b= c=A z a=2 x-test:yes 4:body");
    CHECK(!test_header(&answer, "Set-Cookie", value));
    CHECK(test_header(&answer, "Date", value));
    CHECK_EQ(strlen(value), 29);
    close(fd);
    stop(&f);
    CHECK_EQ(test_count_fds(), n_fds);
}

TEST(a_connection_carries_many)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    /* All at once: an answer from a thread, a stream, an empty one, one to HEAD, a plain one. */
    test_say(fd,
             "GET /later HTTP/1.1\r\n" H "\r\nGET /stream HTTP/1.1\r\n" H "\r\n"
             "GET /nothing HTTP/1.1\r\n" H "\r\nHEAD /x HTTP/1.1\r\n" H "\r\n"
             "GET /x HTTP/1.1\r\n" H "Connection: close\r\n\r\nGET /unread HTTP/1.1\r\n" H "\r\n");
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "later");
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "one two");
    test_hear_answer(fd, &answer);
    CHECK_EQ(answer.status, 204);
    test_hear_answer_to(fd, true, &answer);
    CHECK_EQ(answer.status, 200);
    CHECK(strstr(answer.head.data, "Content-Length: 11\r\n"));
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "GET [x] 0:");
    CHECK(strstr(answer.head.data, "Connection: close\r\n"));
    CHECK(test_is_ended(fd, &answer));
    close(fd);
    stop(&f);
}

static void hear_large(int fd, struct test_answer *answer)
{
    size_t n_wrong = 0;

    test_hear_answer(fd, answer);
    CHECK_EQ(answer->status, 200);
    CHECK_EQ(answer->body.len, LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        n_wrong += answer->body.data[i] != large_at(i);
    CHECK_EQ(n_wrong, 0);
}

TEST(an_answer_that_the_socket_takes_in_parts_comes_whole)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "GET /large HTTP/1.1\r\n" H "\r\nGET /x HTTP/1.1\r\n" H "\r\n"
                 "GET /large HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    hear_large(fd, &answer);
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "GET [x] 0:");
    hear_large(fd, &answer);
    CHECK(test_is_ended(fd, &answer));
    close(fd);
    stop(&f);
}

TEST(a_request_may_come_in_any_pieces)
{
    static const char text[] = "POST /a/b?c=d HTTP/1.1\r\n" H
                               "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        test_say_bytes(fd, text, cut);
        test_say_bytes(fd, text + cut, sizeof(text) - 1 - cut);
        test_hear_answer(fd, &answer);
        CHECK_TEXT(answer.body.data, "POST [a] [b] c=d 5:abcde");
    }
    close(fd);
    stop(&f);
}

static const struct {
    const char *name, *text;
    int status;
} refused[] = {
    { "hidden request",
      "POST / HTTP/1.1\r\n" H
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n" H
      "\r\n",
      400 },
    { "bare LF", "GET / HTTP/1.1\n" H "\n", 400 },
    { "no Host", "GET / HTTP/1.1\r\n\r\n", 400 },
    { "bad escape in the path", "GET /%zz HTTP/1.1\r\n" H "\r\n", 400 },
    { "bad escape in the query", "GET /?a=%0 HTTP/1.1\r\n" H "\r\n", 400 },
    { "body too long", "POST / HTTP/1.1\r\n" H "Content-Length: 2000000\r\n\r\n", 413 },
    { "bad chunk", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", 400 },
    { "not HTTP at all", "\x16\x03\x01\x02", 400 },
};

TEST(what_is_refused_is_told_why_and_closed)
{
    struct fixture f;

    start(&f, (struct http_options){ 0 });
    ROW_EACH (c, refused) {
        CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
        int fd = test_dial(f.port);

        test_say(fd, c->text);
        test_hear_answer(fd, &answer);
        CHECK_EQ(answer.status, c->status);
        CHECK(answer.body.len > 10);
        CHECK(strstr(answer.head.data, "Connection: close\r\n"));
        CHECK(test_is_ended(fd, &answer));
        close(fd);
    }
    stop(&f);
}

TEST(a_peer_that_sends_on_can_read_why_it_was_refused)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    char *much = NEW0_N(char, 1 << 20);
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ .body_max_bytes = 1000 });
    fd = test_dial(f.port);
    test_say(fd, "POST / HTTP/1.1\r\n" H "Content-Length: 1048576\r\n\r\n");
    test_say_bytes(fd, much, 1 << 20);
    test_hear_answer(fd, &answer);
    CHECK_EQ(answer.status, 413);
    CHECK(test_is_ended(fd, &answer));
    close(fd);
    free(much);
    stop(&f);
}

TEST(a_large_body_waits_for_100)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "POST /a HTTP/1.1\r\n" H "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    test_hear_answer(fd, &answer);
    CHECK_EQ(answer.status, 100);
    test_say(fd, "ok");
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "POST [a] 2:ok");
    close(fd);
    stop(&f);
}

TEST(old_clients_get_streams_without_chunks)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "GET /stream HTTP/1.0\r\n\r\n");
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "one two");
    CHECK(!strstr(answer.head.data, "chunked"));
    close(fd);
    stop(&f);
}

static const struct {
    const char *name, *text;
    int status; /* 0: closed without an answer */
} slow[] = {
    { "half a head", "GET / HT", 408 },
    { "half a body", "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nab", 408 },
    { "half a chunk", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nab", 408 },
    { "nothing at all", "", 0 },
};

TEST(slow_senders_are_cut)
{
    struct fixture f;

    start(&f, (struct http_options){ .head_ms = 30, .body_ms = 30, .idle_ms = 30 });
    ROW_EACH (c, slow) {
        CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
        int fd = test_dial(f.port);

        if (c->text[0])
            test_say(fd, c->text);
        test_hear_answer(fd, &answer);
        CHECK_EQ(answer.status, c->status);
        CHECK(test_is_ended(fd, &answer));
        close(fd);
    }
    stop(&f);
}

TEST(a_stream_keeps_pace_with_its_reader)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "GET /flood HTTP/1.1\r\n" H "\r\n");
    test_hear_answer(fd, &answer);
    CHECK_EQ(answer.body.len, 5000000);
    CHECK_EQ(strspn(answer.body.data, "f"), 5000000);
    close(fd);
    stop(&f);
}

TEST(a_reader_that_takes_nothing_is_cut)
{
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ .write_ms = 50 });
    fd = test_dial(f.port);
    test_say(fd, "GET /flood HTTP/1.1\r\n" H "\r\n");
    CHECK_EQ(noted(&f), 'x');
    close(fd);
    stop(&f);
}

TEST(a_cut_stream_can_be_told_from_a_whole_one)
{
    CLEANUP(str_fini) struct str out = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "GET /cut HTTP/1.1\r\n" H "\r\n");
    CHECK(!test_hear_until(fd, "0\r\n\r\n", &out));
    close(fd);
    stop(&f);
}

TEST(a_handler_hears_that_the_peer_is_gone)
{
    struct linger reset = { .l_onoff = 1 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "GET /wait HTTP/1.1\r\n" H "\r\n");
    CHECK_EQ(noted(&f), 'w');
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    CHECK_EQ(noted(&f), 'c');

    fd = test_dial(f.port);
    test_say(fd, "GET /flood HTTP/1.1\r\n" H "\r\n");
    close(fd);
    CHECK_EQ(noted(&f), 'x');

    /* What is still open when the server closes is told too. */
    fd = test_dial(f.port);
    test_say(fd, "GET /wait HTTP/1.1\r\n" H "\r\n");
    CHECK_EQ(noted(&f), 'w');
    stop(&f);
    close(fd);
}

TEST(a_peer_that_only_stops_sending_is_answered)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 };
    struct fixture f;
    int fd;

    start(&f, (struct http_options){ 0 });
    fd = test_dial(f.port);
    test_say(fd, "GET /later HTTP/1.1\r\n" H "\r\n");
    shutdown(fd, SHUT_WR);
    test_hear_answer(fd, &answer);
    CHECK_TEXT(answer.body.data, "later");
    CHECK(test_is_ended(fd, &answer));
    close(fd);
    stop(&f);
}

TEST(connections_have_a_limit)
{
    CLEANUP(test_answer_fini) struct test_answer answer = { 0 }, none = { 0 };
    struct fixture f;
    int first, second;

    start(&f, (struct http_options){ .connections_max = 1 });
    first = test_dial(f.port);
    test_say(first, "GET /x HTTP/1.1\r\n" H "\r\n");
    test_hear_answer(first, &answer);
    CHECK_EQ(answer.status, 200);
    second = test_dial(f.port);
    CHECK(test_is_ended(second, &none));
    close(first);
    close(second);
    stop(&f);
}

static const struct {
    const char *name, *address;
    int code;
} addresses[] = {
    { "no port", "127.0.0.1", -EINVAL },
    { "port that is no number", "127.0.0.1:http", -EINVAL },
    { "port too large", "127.0.0.1:65536", -EINVAL },
    { "IPv6 without brackets", "::1:80", -EINVAL },
    { "empty", "", -EINVAL },
    { "an address of somebody else", "192.0.2.1:0", -EADDRNOTAVAIL },
};

TEST(listen_addresses_that_will_not_do)
{
    struct err err = { 0 };
    struct loop *loop;

    CHECK_OK(loop_open(&loop, &err), &err);
    ROW_EACH (c, addresses) {
        struct http_options options = { .listen = c->address, .fn = handle };
        struct http_server *server;

        err = (struct err){ 0 };
        CHECK_EQ(http_server_open(loop, &options, &server, &err), c->code);
        CHECK(strstr(err.text, c->address));
    }
    loop_close(loop);
}

TEST(a_busy_port_is_named)
{
    struct http_server *first, *second;
    struct err err = { 0 };
    struct loop *loop;
    struct http_options options = { .listen = "127.0.0.1:0", .fn = handle };

    CHECK_OK(loop_open(&loop, &err), &err);
    CHECK_OK(http_server_open(loop, &options, &first, &err), &err);
    options.listen = http_server_address(first);
    CHECK_EQ(http_server_open(loop, &options, &second, &err), -EADDRINUSE);
    CHECK(strstr(err.text, options.listen));
    http_server_close(first);
    loop_close(loop);
}

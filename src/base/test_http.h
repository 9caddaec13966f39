/*
 * HTTP for tests: a client on a plain socket that sends exactly the bytes it is given.
 *
 * Everything waits for its event, 20 s at most; then the test fails.
 */
#ifndef BASE_TEST_HTTP_H
#define BASE_TEST_HTTP_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"

enum { TEST_HTTP_WAIT_MS = 20000 };

/* An answer; { 0 } before the first. */
struct test_answer {
    int status;
    struct str head, body, rest; /* rest: bytes behind it, the next answer's */
};

static inline void test_answer_fini(struct test_answer *answer)
{
    str_fini(&answer->head);
    str_fini(&answer->body);
    str_fini(&answer->rest);
}

static inline int test_dial(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static inline void test_say_bytes(int fd, const void *bytes, size_t n)
{
    CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static inline void test_say(int fd, const char *text)
{
    test_say_bytes(fd, text, strlen(text));
}

/** Reads some bytes behind what out holds; false at the end (or a reset). */
static inline bool test_hear(int fd, struct str *out)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t n;

    CHECK_EQ(poll(&ready, 1, TEST_HTTP_WAIT_MS), 1);
    n = recv(fd, str_room(out, 16384), 16384, 0);
    if (n <= 0)
        return false;
    out->len += (size_t)n;
    out->data[out->len] = '\0';
    return true;
}

/** Reads until the text comes; false if the end came first. */
static inline bool test_hear_until(int fd, const char *text, struct str *out)
{
    while (!strstr(str_text(out), text))
        if (!test_hear(fd, out))
            return false;
    return true;
}

/** A header of the answer, copied to value (256 bytes); false if it has none. */
static inline bool test_header(const struct test_answer *answer, const char *name, char value[256])
{
    size_t n = strlen(name);

    value[0] = '\0';
    for (const char *line = strstr(str_text(&answer->head), "\r\n"); line;
         line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            size_t skip = n + 1 + strspn(line + n + 1, " "), len = strcspn(line + skip, "\r\n");

            len = len < 255 ? len : 255;
            memcpy(value, line + skip, len);
            value[len] = '\0';
            return true;
        }
    }
    return false;
}

static inline void test_need(int fd, struct str *rest, size_t n)
{
    while (rest->len < n)
        CHECK(test_hear(fd, rest));
}

static inline void test_hear_chunks(int fd, struct test_answer *answer)
{
    for (;;) {
        size_t n, skip;

        CHECK(test_hear_until(fd, "\r\n", &answer->rest));
        n = strtoul(answer->rest.data, NULL, 16);
        skip = (size_t)(strstr(answer->rest.data, "\r\n") + 2 - answer->rest.data);
        test_need(fd, &answer->rest, skip + n + 2);
        str_add_bytes(&answer->body, answer->rest.data + skip, n);
        str_drop(&answer->rest, skip + n + 2);
        if (n == 0)
            return;
    }
}

/** Reads a whole answer, to a HEAD without body; the status is 0 if the end came first. */
static inline void test_hear_answer_to(int fd, bool is_head, struct test_answer *answer)
{
    char value[256];
    char *end;

    str_clear(&answer->head);
    str_clear(&answer->body);
    answer->status = 0;
    if (!test_hear_until(fd, "\r\n\r\n", &answer->rest))
        return;
    end = strstr(answer->rest.data, "\r\n\r\n") + 4;
    str_add_bytes(&answer->head, answer->rest.data, (size_t)(end - answer->rest.data));
    str_drop(&answer->rest, answer->head.len);
    CHECK(strncmp(answer->head.data, "HTTP/1.1 ", 9) == 0);
    answer->status = (int)strtol(answer->head.data + 9, NULL, 10);
    if (answer->status == 204 || answer->status == 304 || answer->status == 100 || is_head)
        return;
    if (test_header(answer, "Transfer-Encoding", value)) {
        test_hear_chunks(fd, answer);
    } else if (test_header(answer, "Content-Length", value)) {
        size_t n = strtoul(value, NULL, 10);

        test_need(fd, &answer->rest, n);
        str_add_bytes(&answer->body, answer->rest.data, n);
        str_drop(&answer->rest, n);
    } else {
        while (test_hear(fd, &answer->rest))
            ;
        str_add_bytes(&answer->body, str_text(&answer->rest), answer->rest.len);
        str_clear(&answer->rest);
    }
}

static inline void test_hear_answer(int fd, struct test_answer *answer)
{
    test_hear_answer_to(fd, false, answer);
}

/** Reads to the end of the connection; whether it came (and nothing before it). */
static inline bool test_is_ended(int fd, struct test_answer *answer)
{
    return answer->rest.len == 0 && !test_hear(fd, &answer->rest);
}

#endif

/*
 * A load of HTTP requests over kept connections, for the benchmarks: one request at a time on
 * each, the same bytes each time.
 *
 *     load HOST PORT CONNECTIONS COUNT METHOD PATH [HEADER...] [< BODY]
 *
 * If LOAD_ANSWER names a file, the last answer's body goes there. Prints one JSON line: answers by class, seconds, answers a second, and the 50th, 99th and last
 * percentile of the time from the first byte sent to the whole answer, in microseconds, and
 * CLOCK_BOOTTIME just before the last request was sent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MAX = 1 << 16, BODY_MAX = 1 << 20 };

struct connection {
    int fd;
    size_t sent, n_answer;
    int64_t began_us;
    char answer[ANSWER_MAX];
};

static char request[BODY_MAX + 8192];
static size_t n_request;
static long n_wanted, n_begun, n_done, n_ok, n_refused;
static int64_t *took_us, last_began_boot_us;

static int64_t now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void make_request(int argc, char **argv)
{
    static char body[BODY_MAX];
    size_t n_body = isatty(0) ? 0 : fread(body, 1, sizeof(body), stdin);
    int n = snprintf(request, 8192, "%s %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Length: %zu\r\n",
                     argv[5], argv[6], argv[1], argv[2], n_body);

    for (int i = 7; i < argc; i++)
        n += snprintf(request + n, 8192 - (size_t)n, "%s\r\n", argv[i]);
    n += snprintf(request + n, 8192 - (size_t)n, "\r\n");
    memcpy(request + n, body, n_body);
    n_request = (size_t)n + n_body;
}

static int open_connection(const char *host, const char *port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    if (fd < 0 || inet_pton(AF_INET, host, &to.sin_addr) != 1 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void begin(struct connection *c)
{
    if (n_begun == n_wanted) {
        close(c->fd);
        c->fd = -1;
        return;
    }
    n_begun++;
    c->n_answer = 0;
    c->began_us = now_us(CLOCK_MONOTONIC);
    last_began_boot_us = now_us(CLOCK_BOOTTIME);
    /* A request is small against a socket's buffer. */
    if (write(c->fd, request, n_request) != (ssize_t)n_request)
        fail("send");
}

/* The length of the whole answer once its head is there, else 0. */
static size_t answer_length(struct connection *c)
{
    char *head, *length;

    c->answer[c->n_answer] = '\0';
    head = strstr(c->answer, "\r\n\r\n");
    if (!head)
        return 0;
    length = strcasestr(c->answer, "\r\nContent-Length:");
    return (size_t)(head - c->answer) + 4 +
           (length && length < head ? strtoul(length + 17, NULL, 10) : 0);
}

static void keep_answer(const struct connection *c)
{
    const char *path = getenv("LOAD_ANSWER"), *body = strstr(c->answer, "\r\n\r\n");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (!file)
        return;
    fputs(body + 4, file);
    fclose(file);
}

static void take_answer(struct connection *c)
{
    ssize_t n = read(c->fd, c->answer + c->n_answer, sizeof(c->answer) - 1 - c->n_answer);
    size_t n_whole;

    if (n <= 0)
        fail("the server closed a connection");
    c->n_answer += (size_t)n;
    n_whole = answer_length(c);
    if (!n_whole || c->n_answer < n_whole)
        return;
    took_us[n_done++] = now_us(CLOCK_MONOTONIC) - c->began_us;
    if (c->answer[9] == '2')
        n_ok++;
    else if (n_refused++ == 0)
        fprintf(stderr, "load: first refusal: %.300s\n", c->answer);
    if (n_done == n_wanted)
        keep_answer(c);
    begin(c);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC), n_connections;
    int64_t began_us;
    double seconds;

    if (argc < 7) {
        fprintf(stderr, "usage: load HOST PORT CONNECTIONS COUNT METHOD PATH [HEADER...]\n");
        return 2;
    }
    n_connections = atoi(argv[3]);
    n_wanted = atol(argv[4]);
    took_us = calloc((size_t)n_wanted, sizeof(*took_us));
    make_request(argc, argv);
    began_us = now_us(CLOCK_MONOTONIC);
    for (int i = 0; i < n_connections; i++) {
        struct connection *c = calloc(1, sizeof(*c));
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
        c->fd = open_connection(argv[1], argv[2]);
        epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
        begin(c);
    }
    while (n_done < n_wanted) {
        struct epoll_event events[64];
        int n = epoll_wait(epoll, events, 64, 30000);
        if (n <= 0)
            fail("no answer for 30 s");
        for (int i = 0; i < n; i++)
            take_answer(events[i].data.ptr);
    }
    seconds = (double)(now_us(CLOCK_MONOTONIC) - began_us) / 1e6;
    qsort(took_us, (size_t)n_done, sizeof(*took_us), by_size);
    printf("{\"answers\":%ld,\"ok\":%ld,\"refused\":%ld,\"seconds\":%.3f,\"perSecond\":%.0f,"
           "\"p50Us\":%ld,\"p99Us\":%ld,\"maxUs\":%ld,\"lastBeganBootUs\":%lld}\n",
           n_done, n_ok, n_refused, seconds, (double)n_done / seconds, (long)took_us[n_done / 2],
           (long)took_us[n_done * 99 / 100], (long)took_us[n_done - 1],
           (long long)last_began_boot_us);
    return n_refused != 0;
}

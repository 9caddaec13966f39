/*
 * Script for tests: a server on a thread that says what it was told to, byte by byte, one answer a request.
 */
#ifndef BASE_TEST_SCRIPT_H
#define BASE_TEST_SCRIPT_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/test.h"

enum { SCRIPT_REQUEST_MAX = 16 << 10, SCRIPT_CONNECTIONS_MAX = 15 };

struct script {
    int fd;
    uint16_t port;
    const char *const *answers; /* one a request, in turn; "" closes; ends with NULL */
    atomic_int n_requests, n_connections;
    void (*on_request)(void *arg, const char *request); /* by its thread; NULL: none */
    void *arg;
    pthread_mutex_t lock;
    char last[SCRIPT_REQUEST_MAX]; /* under lock: the last request, head and body */
    pthread_t thread;
};

/* Reads one request into script->last; false when the peer closed. */
static inline bool script_read(struct script *script, int fd)
{
    char text[SCRIPT_REQUEST_MAX];
    size_t n = 0, want = SIZE_MAX;

    while (n < want) {
        ssize_t got = read(fd, text + n, SCRIPT_REQUEST_MAX - 1 - n);
        if (got <= 0)
            return false;
        n += (size_t)got;
        text[n] = '\0';
        const char *end = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "content-length:");
        if (end)
            want = (size_t)(end + 4 - text) +
                   (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
    }
    pthread_mutex_lock(&script->lock);
    /* cppcheck-suppress uninitvar ; something is wanted at first */
    memcpy(script->last, text, n + 1);
    if (script->on_request)
        script->on_request(script->arg, text);
    pthread_mutex_unlock(&script->lock);
    return true;
}

/* The last request; yours. */
static inline char *script_last(struct script *script)
{
    char *text;

    pthread_mutex_lock(&script->lock);
    text = text_copy(script->last);
    pthread_mutex_unlock(&script->lock);
    return text;
}

/* Answers one request; false when the connection is over. */
static inline bool script_serve(struct script *script, int fd)
{
    const char *answer;

    answer = script->answers[script->n_requests];
    if (!answer || !script_read(script, fd)) /* what comes behind the last is not read */
        return false;
    atomic_fetch_add(&script->n_requests, 1);
    return *answer && file_write_all(fd, answer, strlen(answer)) == 0 &&
           !strstr(answer, "close\r\n");
}

static inline void *script_run(void *arg)
{
    struct script *script = arg;
    struct pollfd fds[SCRIPT_CONNECTIONS_MAX + 1] = { { .fd = script->fd, .events = POLLIN } };
    nfds_t n = 1;

    while (poll(fds, n, -1) > 0 && !(fds[0].revents & POLLHUP)) {
        for (nfds_t i = 1; i < n; i++) {
            if (!fds[i].revents || script_serve(script, fds[i].fd))
                continue;
            close(fds[i].fd);
            fds[i--] = fds[--n];
        }
        if (fds[0].revents && n <= SCRIPT_CONNECTIONS_MAX) {
            fds[n++] = (struct pollfd){ .fd = accept4(script->fd, NULL, NULL, SOCK_CLOEXEC),
                                        .events = POLLIN };
            atomic_fetch_add(&script->n_connections, 1);
        }
    }
    while (n > 1)
        close(fds[--n].fd);
    return NULL;
}

/** Begins to listen; `on_request` and `arg` are as they were set before. */
static inline void script_begin(struct script *script, const char *const *answers)
{
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(addr);

    *script = (struct script){ .answers = answers,
                               .on_request = script->on_request,
                               .arg = script->arg,
                               .lock = PTHREAD_MUTEX_INITIALIZER };
    script->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(script->fd, (struct sockaddr *)&addr, n), 0);
    CHECK_EQ(listen(script->fd, 16), 0);
    CHECK_EQ(getsockname(script->fd, (struct sockaddr *)&addr, &n), 0);
    script->port = ntohs(addr.sin_port);
    CHECK_EQ(pthread_create(&script->thread, NULL, script_run, script), 0);
}

static inline void script_end(struct script *script)
{
    shutdown(script->fd, SHUT_RDWR);
    pthread_join(script->thread, NULL);
    close(script->fd);
}

#endif

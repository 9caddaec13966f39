/* Listening sockets: see listen.h. */
#include "base/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

enum { BACKLOG = 1024, HOST_SIZE = 256, PORT_MAX = 65535 };

/* "HOST:PORT" or "[HOST]:PORT" taken apart. */
static int split_address(const char *text, char host[HOST_SIZE], const char **port, struct err *err)
{
    const char *colon = strrchr(text, ':'), *begin = text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t number;

    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        begin++;
        n -= 2;
    } else if (colon && memchr(text, ':', n)) {
        colon = NULL;
    }
    if (!colon || n >= HOST_SIZE)
        return err_set(err, -EINVAL, "listen address %s: want HOST:PORT or [HOST]:PORT", text);
    if (text_to_int(colon + 1, 0, PORT_MAX, &number) < 0)
        return err_set(err, -EINVAL, "listen address %s: the port is not a number in 0..%d", text,
                       PORT_MAX);
    memcpy(host, begin, n);
    host[n] = '\0';
    *port = colon + 1;
    return 0;
}

static int listen_at(const struct addrinfo *info, bool is_shared)
{
    int one = 1, fd, code;

    fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    /* Accepted sockets inherit it; without it small answers wait for the peer's ACKs. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (is_shared)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    code = -errno;
    close(fd);
    return code;
}

static void note_address(int fd, struct listen_address *at)
{
    struct sockaddr_storage bound;
    socklen_t n = sizeof(bound);
    char host[INET6_ADDRSTRLEN] = "", port[8] = "0";
    int64_t number = 0;

    getsockname(fd, (struct sockaddr *)&bound, &n);
    getnameinfo((struct sockaddr *)&bound, n, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
    if (text_to_int(port, 0, PORT_MAX, &number) == 0)
        at->port = (uint16_t)number;
    snprintf(at->text, sizeof(at->text), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

int listen_open(const char *address, bool is_shared, struct listen_address *at, struct err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *info;
    const char *port = NULL;
    char host[HOST_SIZE];
    int fd, r;

    r = split_address(address, host, &port, err);
    if (r < 0)
        return r;
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch) it was split without an error */
    r = getaddrinfo(host[0] ? host : NULL, port, &hints, &info);
    if (r)
        return err_set(err, -EINVAL, "listen address %s: %s", address, gai_strerror(r));
    fd = listen_at(info, is_shared);
    freeaddrinfo(info);
    if (fd < 0)
        return err_sys(err, fd, "listen on %s", address);
    note_address(fd, at);
    return fd;
}

/*
 * Listening sockets: an address as people write it, and what came of it.
 */
#ifndef BASE_LISTEN_H
#define BASE_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where a socket listens. */
struct listen_address {
    char text[INET6_ADDRSTRLEN + 10]; /* "127.0.0.1:7070", "[::1]:7070", with the real port */
    uint16_t port;
};

/**
 * Listens on TCP, with TCP_NODELAY for all that is accepted.
 *
 * @address    "HOST:PORT" or "[HOST]:PORT"; no host: any address; port 0: a free one
 * @is_shared  SO_REUSEPORT
 * Returns     the socket, non-blocking, yours; -EINVAL not such an address or an unknown host;
 *             -EADDRINUSE and others as the system says
 */
MUST_CHECK int listen_open(const char *address, bool is_shared, struct listen_address *at,
                           struct err *err);

#endif

/*
 * A plain TCP proxy for tests: what is between an agent and its server. Stopped (SIGSTOP) it is a
 * network that swallows everything; ended it is one that refuses.
 *
 *     proxy HOST PORT      listens on a free port of 127.0.0.1, which it prints
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 256 };

static struct pollfd fds[1 + 2 * PAIRS_MAX]; /* the listener, then both ends of each pair */
static nfds_t n_fds = 1;

static int connect_to(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void add_pair(const struct sockaddr_in *to)
{
    int from = accept(fds[0].fd, NULL, NULL);
    int other = from < 0 ? -1 : connect_to(to);

    if (other < 0 || n_fds + 2 > sizeof(fds) / sizeof(fds[0])) {
        if (from >= 0)
            close(from);
        if (other >= 0)
            close(other);
        return;
    }
    fds[n_fds++] = (struct pollfd){ .fd = from, .events = POLLIN };
    fds[n_fds++] = (struct pollfd){ .fd = other, .events = POLLIN };
}

/* Moves what is there from one end to the other; false when a side is gone. */
static int move_bytes(int from, int to)
{
    char buf[65536];
    ssize_t n = read(from, buf, sizeof(buf)), done = 0;

    if (n <= 0)
        return 0;
    while (done < n) {
        ssize_t more = write(to, buf + done, (size_t)(n - done));
        if (more <= 0)
            return 0;
        done += more;
    }
    return 1;
}

static void drop_pair(nfds_t i)
{
    close(fds[i].fd);
    close(fds[i + 1].fd);
    fds[i] = fds[n_fds - 2];
    fds[i + 1] = fds[n_fds - 1];
    n_fds -= 2;
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in to = { .sin_family = AF_INET };
    socklen_t n_at = sizeof(at);

    if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
        return 2;
    to.sin_port = htons((uint16_t)atoi(argv[2]));
    fds[0] =
        (struct pollfd){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLIN };
    if (bind(fds[0].fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fds[0].fd, 64) < 0)
        return 1;
    getsockname(fds[0].fd, (struct sockaddr *)&at, &n_at);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    while (poll(fds, n_fds, -1) > 0) {
        for (nfds_t i = n_fds - 2; i >= 1 && i < n_fds; i -= 2) {
            int is_alive = 1;
            if (fds[i].revents)
                is_alive = move_bytes(fds[i].fd, fds[i + 1].fd);
            if (is_alive && fds[i + 1].revents)
                is_alive = move_bytes(fds[i + 1].fd, fds[i].fd);
            if (!is_alive)
                drop_pair(i);
        }
        if (fds[0].revents)
            add_pair(&to);
    }
    return 1;
}

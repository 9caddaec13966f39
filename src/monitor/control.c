/* Control: see control.h. */
#include "monitor/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void control_open(struct control *control, int parent)
{
    memset(control, 0, sizeof(*control));
    control->listener = -1;
    control->parent = parent;
    control->fds[control->n++] = parent;
}

int control_listen(struct control *control)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "sock" };
    int fd, r;

    if (control->listener >= 0)
        return 0;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, CONTROL_MAX) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    control->listener = fd;
    return 0;
}

void control_close(struct control *control)
{
    for (size_t i = 0; i < control->n; i++) {
        if (control->fds[i] >= 0 && control->fds[i] != control->parent)
            close(control->fds[i]);
    }
    if (control->listener >= 0) {
        unlink("sock");
        close(control->listener);
    }
    control_open(control, control->parent);
}

size_t control_poll(const struct control *control, struct pollfd *out)
{
    size_t n = 0;

    out[n++] = (struct pollfd){ .fd = control->listener, .events = POLLIN };
    for (size_t i = 0; i < control->n; i++)
        out[n++] = (struct pollfd){ .fd = control->fds[i], .events = POLLIN };
    return n;
}

void control_accept(struct control *control)
{
    int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (control->n == CONTROL_MAX) {
        static const char text[] = "error too many connections";
        send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
        return;
    }
    control->is_new[control->n] = true;
    control->fds[control->n++] = fd;
}

static void drop(struct control *control, size_t i)
{
    if (control->fds[i] == control->parent)
        control->parent = -1;
    close(control->fds[i]);
    control->fds[i] = -1;
}

/* "limit MS" */
static bool read_limit(const char *text, long long *out)
{
    static const char word[] = "limit ";
    char *end;

    if (strncmp(text, word, strlen(word)) != 0)
        return false;
    errno = 0;
    *out = strtoll(text + strlen(word), &end, 10);
    return !errno && end != text + strlen(word) && !*end && *out >= 0;
}

enum command control_read(struct control *control, size_t i)
{
    static const struct {
        const char *word;
        enum command command;
    } words[] = { { "term", COMMAND_TERM },
                  { "kill", COMMAND_KILL },
                  { "stop", COMMAND_STOP },
                  { "status", COMMAND_STATUS } };
    static const char unknown[] = "error unknown command";
    char text[64];
    ssize_t n = recv(control->fds[i], text, sizeof(text) - 1, MSG_DONTWAIT);

    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            drop(control, i);
        return COMMAND_NONE;
    }
    text[n] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
        if (!strcmp(text, words[k].word))
            return words[k].command;
    }
    if (read_limit(text, &control->number))
        return COMMAND_LIMIT;
    control_tell(control, i, unknown, strlen(unknown));
    return COMMAND_NONE;
}

void control_tell(struct control *control, size_t i, const char *text, size_t n)
{
    if (control->fds[i] < 0)
        return;
    /* Who does not read is dropped: the files hold all that it misses. */
    if (send(control->fds[i], text, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        drop(control, i);
}

void control_tell_all(struct control *control, const char *text, size_t n)
{
    for (size_t i = 0; i < control->n; i++)
        control_tell(control, i, text, n);
}

void control_tidy(struct control *control)
{
    size_t kept = 0;

    for (size_t i = 0; i < control->n; i++) {
        if (control->fds[i] < 0)
            continue;
        control->fds[kept] = control->fds[i];
        control->is_new[kept] = control->is_new[i];
        kept++;
    }
    control->n = kept;
}

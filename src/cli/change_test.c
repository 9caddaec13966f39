/*
 * A limit that is moved, and answers that are lost on the way: it is moved once. The server is a
 * thread that answers by a script, one request after the other.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/file.h"
#include "base/test_http.h"
#include "cli/cli.h"
#include "cli/exit.h"

struct script {
    int fd;
    uint16_t port;
    const char *const *answers; /* one a request; "" closes the connection without one */
    struct str heard; /* the requests' first lines and If-Match, once the thread is over */
    size_t n;
    pthread_t thread;
};

/* Reads one request; false when the peer has closed. */
static bool read_request(struct script *script, int fd)
{
    CLEANUP(str_fini) struct str text = { 0 };
    const char *end = NULL, *length, *match;
    size_t want = 0;

    while (!end || text.len < want) {
        if (!test_hear(fd, &text))
            return false;
        end = strstr(text.data, "\r\n\r\n");
        length = strcasestr(text.data, "content-length:");
        want =
            end ? (size_t)(end + 4 - text.data) + (length ? strtoul(length + 15, NULL, 10) : 0) : 0;
    }
    match = strcasestr(text.data, "if-match:");
    str_addf(&script->heard, "%s%.*s", script->heard.len ? "; " : "", (int)strcspn(text.data, " "),
             text.data);
    if (match)
        str_addf(&script->heard, " %.*s", (int)strcspn(match + 10, "\r"), match + 10);
    return true;
}

static void serve(struct script *script, int fd)
{
    while (script->answers[script->n] && read_request(script, fd)) {
        const char *answer = script->answers[script->n++];
        if (!*answer)
            break;
        test_say(fd, answer);
    }
    close(fd);
}

static void *run_script(void *arg)
{
    struct script *script = arg;
    struct pollfd ready = { .fd = script->fd, .events = POLLIN };

    while (poll(&ready, 1, -1) > 0 && !(ready.revents & POLLHUP)) {
        int fd = accept4(script->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            serve(script, fd);
    }
    return NULL;
}

static void script_begin(struct script *script, const char *const *answers)
{
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(addr);

    *script = (struct script){ .answers = answers };
    script->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(script->fd, (struct sockaddr *)&addr, n), 0);
    CHECK_EQ(listen(script->fd, 16), 0);
    CHECK_EQ(getsockname(script->fd, (struct sockaddr *)&addr, &n), 0);
    script->port = ntohs(addr.sin_port);
    CHECK_EQ(pthread_create(&script->thread, NULL, run_script, script), 0);
}

static void script_end(struct script *script)
{
    shutdown(script->fd, SHUT_RDWR);
    pthread_join(script->thread, NULL);
    close(script->fd);
}

#define JOB(etag, limit)                                                                           \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"" etag "\"\r\n"                  \
    "Content-Length: 45\r\n\r\n{\"id\":\"j-12\",\"state\":\"running\",\"limit\":\"" limit "\"}"
#define CHANGED                                                                                    \
    "HTTP/1.1 412 Precondition Failed\r\nContent-Type: application/problem+json\r\n"               \
    "Content-Length: 41\r\n\r\n{\"code\":\"CHANGED_SINCE\",\"detail\":\"it is\"}"

static const struct {
    const char *name;
    const char *answers[8];
    const char *heard;
    int exit_code;
    const char *give_up;
} rows[] = {
    { "it is moved from what was read",
      { JOB("5", "10m"), JOB("6", "15m") },
      "GET; PATCH \"5\"",
      EXIT_DONE,
      "10s" },
    { "an answer that was lost: it was moved, and is not moved again",
      { JOB("5", "10m"), "", CHANGED, JOB("6", "15m") },
      "GET; PATCH \"5\"; PATCH \"5\"; GET",
      EXIT_DONE,
      "10s" },
    { "the job changed in another way: it is moved from how it is now",
      { JOB("5", "10m"), CHANGED, JOB("6", "10m"), JOB("7", "15m") },
      "GET; PATCH \"5\"; GET; PATCH \"6\"",
      EXIT_DONE,
      "10s" },
    { "somebody else moved it: it is left as it is",
      { JOB("5", "10m"), CHANGED, JOB("6", "30m") },
      "GET; PATCH \"5\"; GET",
      EXIT_CONFLICT,
      "10s" },
    { "an answer that was lost, and no time to ask again",
      { JOB("5", "10m"), "" },
      "GET; PATCH \"5\"",
      EXIT_UNREACHABLE,
      "0s" },
};

TEST(a_limit_is_moved_once)
{
    static const struct verb *const verbs[] = { &verb_job_set };

    ROW_EACH (c, rows) {
        struct script script;
        CLEANUP(freep) char *addr = NULL;

        script_begin(&script, c->answers);
        addr = text_format("http://127.0.0.1:%u", script.port);
        const char *const argv[] = {
            "berth",  "job", "set",     "j-12", "--time",    "+5m",
            "--addr", addr,  "--token", "x",    "--give-up", c->give_up ? c->give_up : "10s"
        };
        CHECK_EQ(cli_main(verbs, 1, NULL, COUNT_OF(argv), argv), c->exit_code);
        script_end(&script);
        CHECK_TEXT(str_text(&script.heard), c->heard);
        str_fini(&script.heard);
    }
}

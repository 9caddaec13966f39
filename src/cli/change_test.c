/*
 * A limit that is moved, and answers that are lost on the way: it is moved once. The server is a
 * thread that answers by a script, one request after the other.
 */
#include <string.h>

#include "base/test_script.h"
#include "cli/cli.h"
#include "cli/exit.h"

/* What was asked: the methods, each with its If-Match. */
static void note(void *arg, const char *request)
{
    struct str *heard = arg;
    const char *match = strcasestr(request, "if-match:");

    str_addf(heard, "%s%.*s", heard->len ? "; " : "", (int)strcspn(request, " "), request);
    if (match)
        str_addf(heard, " %.*s", (int)strcspn(match + 10, "\r"), match + 10);
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
        CLEANUP(str_fini) struct str heard = { 0 };
        struct script script = { .on_request = note, .arg = &heard };
        CLEANUP(freep) char *addr = NULL;

        script_begin(&script, c->answers);
        addr = text_format("http://127.0.0.1:%u", script.port);
        const char *const argv[] = {
            "berth",  "job", "set",     "j-12", "--time",    "+5m",
            "--addr", addr,  "--token", "x",    "--give-up", c->give_up ? c->give_up : "10s"
        };
        CHECK_EQ(cli_main(verbs, 1, NULL, COUNT_OF(argv), argv), c->exit_code);
        script_end(&script);
        CHECK_TEXT(str_text(&heard), c->heard);
    }
}

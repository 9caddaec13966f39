/* Exit codes: see exit.h. */
#include "cli/exit.h"

#include <errno.h>

#include "base/str.h"

static enum exit_code exit_of_status(int status)
{
    switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
        return EXIT_USAGE;
    case 401:
    case 403:
        return EXIT_NOT_ALLOWED;
    case 404:
    case 410:
        return EXIT_NOT_FOUND;
    case 409:
    case 412:
    case 428:
        return EXIT_CONFLICT;
    case 429:
    case 502:
    case 503:
    case 504:
        return EXIT_UNREACHABLE;
    default:
        return EXIT_FAILED;
    }
}

enum exit_code exit_of_problem(enum problem_code code, int status)
{
    if (code == PROBLEM_KEY_REUSED)
        return EXIT_CONFLICT; /* 422 by status, which would be wrong usage */
    if (code == PROBLEM_NEVER_FITS)
        return EXIT_WAITS;
    if (code > PROBLEM_NONE && code < PROBLEM_CODE_COUNT)
        return exit_of_status(problem_codes[code].status);
    return exit_of_status(status);
}

enum exit_code exit_of_error(int r)
{
    switch (r) {
    case -EACCES:
    case -EPERM:
        return EXIT_NOT_ALLOWED;
    case -EINVAL:
    case -ERANGE:
    case -ENOENT: /* a file that was named */
        return EXIT_USAGE;
    case -EDESTADDRREQ:
    case -EHOSTUNREACH:
    case -ETIMEDOUT:
    case -EPIPE:
        return EXIT_UNREACHABLE;
    case -EINTR:
        return EXIT_CTRL_C;
    default:
        return EXIT_FAILED;
    }
}

int exit_of_job(const char *state, int code, bool is_state)
{
    bool is_good = text_eq(state, "succeeded");

    if (is_state || code < 0 || code > 255)
        return is_good ? EXIT_DONE : EXIT_FAILED;
    if (!is_good && code == 0) /* cancelled or refused before any task ran */
        return EXIT_FAILED;
    return code;
}

#include "cli/exit.h"

#include <errno.h>

#include "base/test.h"

static const struct {
    const char *name;
    enum problem_code code;
    int status;
    enum exit_code exit;
} problems[] = {
    { "a wrong field", PROBLEM_INVALID_FIELD, 422, EXIT_USAGE },
    { "an unknown parameter", PROBLEM_UNKNOWN_PARAMETER, 400, EXIT_USAGE },
    { "a key with another body", PROBLEM_KEY_REUSED, 422, EXIT_CONFLICT },
    { "it can never fit", PROBLEM_NEVER_FITS, 422, EXIT_WAITS },
    { "not there", PROBLEM_NOT_FOUND, 404, EXIT_NOT_FOUND },
    { "collected", PROBLEM_GONE, 410, EXIT_NOT_FOUND },
    { "a name in use", PROBLEM_CONFLICT, 409, EXIT_CONFLICT },
    { "changed since", PROBLEM_CHANGED_SINCE, 412, EXIT_CONFLICT },
    { "no token", PROBLEM_NO_TOKEN, 401, EXIT_NOT_ALLOWED },
    { "no right", PROBLEM_NOT_ALLOWED, 403, EXIT_NOT_ALLOWED },
    { "too many", PROBLEM_TOO_MANY_REQUESTS, 429, EXIT_UNREACHABLE },
    { "starting", PROBLEM_STARTING, 503, EXIT_UNREACHABLE },
    { "broken inside", PROBLEM_INTERNAL, 500, EXIT_FAILED },
    { "a file that was not sent", PROBLEM_UNKNOWN_FIELD, 0, EXIT_USAGE },
    { "a status without code", PROBLEM_NONE, 404, EXIT_NOT_FOUND },
    { "a gateway without code", PROBLEM_NONE, 502, EXIT_UNREACHABLE },
    { "a status nobody knows", PROBLEM_NONE, 418, EXIT_FAILED },
};

TEST(exit_of_problem_is_as_the_table_says)
{
    ROW_EACH (c, problems)
        CHECK_EQ(exit_of_problem(c->code, c->status), c->exit);
}

static const struct {
    const char *name;
    int r;
    enum exit_code exit;
} errors[] = {
    { "nobody there", -EHOSTUNREACH, EXIT_UNREACHABLE },
    { "no server named", -EDESTADDRREQ, EXIT_UNREACHABLE },
    { "no answer in time", -ETIMEDOUT, EXIT_UNREACHABLE },
    { "a token file others may read", -EACCES, EXIT_NOT_ALLOWED },
    { "a wrong setting", -EINVAL, EXIT_USAGE },
    { "no such file", -ENOENT, EXIT_USAGE },
    { "Ctrl-C", -EINTR, EXIT_CTRL_C },
    { "anything else", -EIO, EXIT_FAILED },
};

TEST(exit_of_error_is_as_the_table_says)
{
    ROW_EACH (c, errors)
        CHECK_EQ(exit_of_error(c->r), c->exit);
}

static const struct {
    const char *name, *state;
    int code;
    bool is_state;
    int exit;
} jobs[] = {
    { "done", "succeeded", 0, false, 0 },
    { "its code", "failed", 3, false, 3 },
    { "a signal", "failed", 143, false, 143 },
    { "not found", "failed", 127, false, 127 },
    { "refused before any task ran", "failed", 0, false, 1 },
    { "cancelled while it waited", "cancelled", 0, false, 1 },
    { "cancelled while it ran", "cancelled", 143, false, 143 },
    { "state of a failed one", "failed", 3, true, 1 },
    { "state of a good one", "succeeded", 0, true, 0 },
    { "a code no shell can see", "failed", 256, false, 1 },
};

TEST(exit_of_job_is_its_own_code)
{
    ROW_EACH (c, jobs)
        CHECK_EQ(exit_of_job(c->state, c->code, c->is_state), c->exit);
}

/*
 * Exit codes of the command line: one table, so that scripts can rely on it.
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include <stdbool.h>

#include "base/code.h"

enum exit_code {
    EXIT_DONE = 0,        /* done as asked */
    EXIT_FAILED = 1,      /* failed */
    EXIT_USAGE = 2,       /* wrong usage or wrong file */
    EXIT_NOT_FOUND = 3,   /* no such thing */
    EXIT_WAITS = 4,       /* accepted but would wait, or can never be placed */
    EXIT_CONFLICT = 5,    /* changed since, or a key reused with another body */
    EXIT_NOT_ALLOWED = 6, /* no token, or one without the right */
    EXIT_UNREACHABLE = 7, /* no server, or given up after repetitions */
    EXIT_TIMEOUT = 8,     /* --timeout passed */
    EXIT_NO_CONTAINER = 125,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NO_COMMAND = 127,
    EXIT_SIGNAL = 128, /* + the signal */
    EXIT_CTRL_C = 130,
};

/** What a refusal by the server means for a shell; by its code, else by the status. */
enum exit_code exit_of_problem(enum problem_code code, int status);

/** What a failure to get an answer (negative errno of the client) means for a shell. */
enum exit_code exit_of_error(int r);

/**
 * What a job's end means for a shell.
 *
 * @state     succeeded, failed or cancelled
 * @code      the job's code, the largest of its tasks'
 * @is_state  --exit-code=state: 0 or 1 only
 */
int exit_of_job(const char *state, int code, bool is_state);

#endif

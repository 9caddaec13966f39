/*
 * Scripts: a shell script that says in #BERTH lines what it needs.
 *
 *     #!/bin/sh
 *     #BERTH -q research --cpu 2 --time 30m
 *     echo "task $BERTH_INDEX of $BERTH_COUNT"
 *
 * The lines hold flags, in words as a shell splits them; nothing is expanded. They stand
 * before the first command. The text of the script is what runs, handed to the shell that its
 * first line names, so a node needs no copy of the file.
 */
#ifndef API_SCRIPT_H
#define API_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "api/flags.h"

/** Whether a text is a script: it begins with "#!". */
bool script_is(const char *text, size_t n);

/**
 * Reads a script: its flags, and the command that runs its text.
 *
 * @name     what the script sees as $0
 * @flags    made by flags_init; gains what the #BERTH lines say
 * @problem  gains every fault, with line and column
 * Returns   0; -EINVAL
 */
MUST_CHECK int script_read(const char *name, const char *text, size_t n, struct flags *flags,
                           struct problem *problem);

#endif

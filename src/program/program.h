/*
 * Program: what joins the houses: `berth server`, `berth agent`, and `berth dev`, which is both.
 *
 * Each is parse, open, run, close. Only here are all doors known.
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "cli/cli.h"

/** What is behind the verbs of cli_main. Each runs until a signal and returns the exit code. */
int program_server(const struct server_flags *flags);
int program_agent(const struct agent_flags *flags);
int program_dev(const struct dev_flags *flags);

#endif

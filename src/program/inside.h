/*
 * Inside of the program: what its files share. Nobody else includes this.
 */
#ifndef PROGRAM_INSIDE_H
#define PROGRAM_INSIDE_H

#include "agent/agent.h"
#include "base/err.h"
#include "cli/cli.h"

/* Exit codes of the daemons, as docs/cli.md lists them. */
enum { PROGRAM_FAILED = 1, PROGRAM_WRONG_USE = 2, PROGRAM_NOT_ALLOWED = 6 };

/** Says why on stderr; returns the exit code that goes with it. */
int program_fail(const struct err *err);
/** The same of an error of which there are several: all of them, a line each; none: the error alone. */
int program_fail_all(const struct err *err, const struct str *faults);

/** Ends this process at once if BERTH_TEST_KILL_AT names the point. For kill tests. */
void program_at_point(const char *point);

/** The folder where a service of this name keeps its files, if nobody says: /var/lib/berth/NAME for
 * root, else ~/.local/share/berth/NAME. Yours. */
char *program_default_data(const char *name);

/** The machine's configuration file of this name, in $BERTH_ETC, else /etc/berth, if it is there.
 * Yours; NULL: there is none. */
char *program_system_config(const char *name);

/** Makes the folder if it is missing and gives its absolute path; yours, NULL with err set. */
char *program_open_data(const char *path, struct err *err);

/** Where berth-monitor lies: beside this program. Yours; NULL with err set. */
char *program_monitor_path(struct err *err);

/** The offers of `--offer NAME=N`, with their amounts read; yours to free. NULL with err set. */
struct agent_offer *program_read_offers(const struct flag_pair *pairs, size_t n, struct err *err);

#endif

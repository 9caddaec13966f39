/*
 * Actions: which of those that an engine knows a server carries out.
 */
#ifndef SERVER_ACTIONS_H
#define SERVER_ACTIONS_H

#include <stdbool.h>

#include "base/err.h"

struct berth_config;
struct berth_words;

/** Whether a server does what the action decides. */
bool action_is_carried(const char *action);
/** The actions of a configuration, or else those of its profile; NULL: there is no such profile. */
const struct berth_words *actions_of(const struct berth_config *engine);

/**
 * Holds a configuration's actions against what a server carries out.
 *
 * @are_of_profile  nobody named them: it is enough that one can be carried out
 * @at              of a refusal: what it is about, a pointer into the server's configuration; yours
 * Returns          0; -EINVAL
 */
MUST_CHECK int actions_check(const struct berth_config *engine, bool are_of_profile, char **at,
                             struct err *err);

#endif

/* Identity: what the agent remembers of its server, in DATA/agent.json. */
#ifndef AGENT_IDENTITY_H
#define AGENT_IDENTITY_H

#include <stdint.h>

#include "base/err.h"

struct identity {
    char incarnation[80]; /* "" none yet */
    int64_t revision;     /* the highest seen of it */
};

/** Reads it; none yet is an empty one. Returns 0; a negative errno: there is one, and it is bad. */
MUST_CHECK int identity_read(const char *data_dir, struct identity *out, struct err *err);
MUST_CHECK int identity_write(const char *data_dir, const struct identity *identity,
                              struct err *err);

#endif

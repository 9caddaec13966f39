/* Identity: who the agent is, and what it remembers of its server, in DATA/agent.json. */
#ifndef AGENT_IDENTITY_H
#define AGENT_IDENTITY_H

#include <stdint.h>

#include "base/err.h"

enum { IDENTITY_SIZE = 33 };

struct identity {
    char own[IDENTITY_SIZE]; /* random, one a data folder: whoever has the folder is this agent */
    char incarnation[80];    /* "" none yet */
    char opening[64];        /* which of its openings was heard last; "" none told */
    int64_t revision;        /* the highest seen of it, which that opening wrote or read */
};

/** Reads it, or makes a new one. Returns 0; a negative errno: there is one, and it is bad, or a new
 * one cannot be kept. */
MUST_CHECK int identity_open(const char *data_dir, struct identity *out, struct err *err);
MUST_CHECK int identity_write(const char *data_dir, const struct identity *identity,
                              struct err *err);

#endif

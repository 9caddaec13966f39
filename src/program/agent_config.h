/*
 * The agent's configuration file: YAML, in which each member is what a flag of `berth agent` says,
 * and some that have no flag. See docs/configuration.md.
 */
#ifndef PROGRAM_AGENT_CONFIG_H
#define PROGRAM_AGENT_CONFIG_H

#include "agent/agent.h"
#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "cli/cli.h"

/* What an agent is run with. { 0 } says nothing; NULL is what was not said. The lists are ours, the
 * texts in them live in the flags, the document or `words`. */
struct agent_config {
    const char *servers, *token_file, *name, *data, *runtime;
    VEC_OF(struct agent_offer) offers; /* of two for one resource, the later one counts */
    VEC_OF(struct agent_label) labels; /* likewise */
    VEC_OF(struct agent_taint) taints;
    VEC_OF(const char *) image_prefixes; /* without the NULL at its end */
    bool forbids_process, forbids_speed_up;
    bool has_log_level, has_log_format;
    enum log_level log_level;
    enum log_format log_format;
    struct json_t *document;
    char *words; /* the flag's image prefixes, cut */
};

/**
 * Reads the file into a config that says nothing.
 *
 * @faults  gains all that is wrong with what it says, a line each; the first is the error too
 * Returns  0; -EINVAL what is wrong, with file, line and member; another errno: it cannot be read
 */
MUST_CHECK int agent_config_read(const char *path, struct agent_config *out, struct str *faults,
                                 struct err *err);

/**
 * Lays flags over it. Their offers and labels are added, their image prefixes replace the file's.
 * The flags must outlive it.
 */
MUST_CHECK int agent_config_take_flags(struct agent_config *config, const struct agent_flags *flags,
                                       struct err *err);

void agent_config_fini(struct agent_config *config);

#endif

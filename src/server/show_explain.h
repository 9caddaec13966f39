/*
 * Show, explanations: docs/api.md, "Explain".
 *
 * Jobs of namespaces that the caller does not see are counted and not named.
 */
#ifndef SERVER_SHOW_EXPLAIN_H
#define SERVER_SHOW_EXPLAIN_H

#include "server/call.h"
#include "server/view.h"

/**
 * All that the answer to an explain question adds to `object`.
 *
 * @spec  of the job
 * @only  one node, or NULL
 */
void show_explanation(json_t *object, const struct call *call, const struct view_answer *answer,
                      const struct job_spec *spec, const char *only);

#endif

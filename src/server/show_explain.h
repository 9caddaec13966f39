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

/** Attempts whose end is waited for; named as far as the caller sees their jobs. */
json_t *show_stopping(const struct call *call, const struct berth_stopping *stopping, size_t n);

#endif

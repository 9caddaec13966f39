/* Explanations as text, of jobs that wait and of those that would. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <jansson.h>

#include "cli/output.h"

/** Prints why a job waits, or would: the code, the gang, nodes, changes and the latest start. */
void explain_print(const json_t *explain, const struct output *output);

#endif

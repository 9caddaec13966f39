/*
 * Metrics: what the server counts, in Prometheus' text format.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "server/inside.h"

/** Adds the whole page. The API loop. */
void metrics_write(struct server *server, struct str *out);

#endif

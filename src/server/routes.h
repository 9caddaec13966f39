/*
 * Routes: one table of everything that the API answers to.
 *
 * A row names method, path, handler, the right it needs, its query parameters and what it is for.
 * Requests are dispatched by it, 404 and 405 follow from it, and the OpenAPI document is made from
 * it.
 */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include "server/auth.h"
#include "server/call.h"

enum { ROUTE_QUERIES_MAX = 16 };

struct route {
    enum http_method method;
    const char *path; /* "/v1/jobs/{id}" */
    call_fn *fn;
    enum right right;                       /* RIGHT_NONE: no token is asked for */
    const char *about;                      /* one line */
    const char *queries[ROUTE_QUERIES_MAX]; /* the query parameters it takes */
    const char *body; /* what a body is, for the document; NULL: none is taken */
    bool takes_yaml;
};

/** The i-th route, NULL behind the last. */
const struct route *route_at(size_t i);
/**
 * The route of a method and path.
 *
 * @parts    the path's, as http_part gives them
 * @args     out: what its {…} stand for
 * @allowed  out, if NULL is returned and the path is known: its methods, "GET, POST"; else ""
 */
const struct route *route_find(enum http_method method, const char *const *parts, size_t n_parts,
                               const char *args[CALL_ARGS_MAX], char allowed[80]);

/** Answers a request of the API: a struct http_fn with the server as arg. */
void routes_handle(struct http_request *request, void *arg);
/** Answers a request of the agents' own port. */
void routes_handle_worker(struct http_request *request, void *arg);
/** Answers a request that was refused before it was whole. */
void routes_refuse(struct http_request *request, int status, const char *why, void *arg);

/* The handlers, each in a file on_*.c of its subject. */
call_fn on_jobs_list, on_jobs_submit, on_jobs_batch, on_job_get, on_job_patch, on_job_delete,
    on_job_action;
call_fn on_job_tasks, on_job_attempts, on_attempt_get, on_job_explain, on_job_timeline;
call_fn on_attempt_logs, on_job_logs;
call_fn on_nodes_list, on_node_get, on_node_patch, on_node_delete, on_node_action;
call_fn on_queues_list, on_queues_create, on_queue_get, on_queue_put, on_queue_patch,
    on_queue_delete, on_queue_why;
call_fn on_orders_list, on_order_get, on_order_action;
call_fn on_events;
call_fn on_tokens_list, on_tokens_create, on_token_delete, on_self, on_self_can;
call_fn on_limits, on_version, on_openapi, on_health, on_ready, on_metrics;

#endif

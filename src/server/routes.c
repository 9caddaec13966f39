/* Routes: see routes.h. */
#include "server/routes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/behind.h"
#include "server/seen.h"

static const struct route routes[] = {
    { HTTP_GET,
      "/v1/jobs",
      on_jobs_list,
      RIGHT_VIEWER,
      "List jobs, newest first.",
      { "state", "active", "queue", "user", "namespace", "name", "label", "since", "limit",
        "cursor", "sort", "resources", "watch", "from" },
      NULL,
      false },
    { HTTP_POST,
      "/v1/jobs",
      on_jobs_submit,
      RIGHT_USER,
      "Submit a job.",
      { "dryRun", "changes", "requireFeasible", "warn" },
      "Job",
      true },
    { HTTP_POST,
      "/v1/jobs:batch",
      on_jobs_batch,
      RIGHT_USER,
      "Submit up to 500 jobs, each with an answer of its own.",
      { NULL },
      "JobBatch",
      false },
    { HTTP_GET, "/v1/jobs/{id}", on_job_get, RIGHT_VIEWER, "Show a job.", { NULL }, NULL, false },
    { HTTP_PATCH,
      "/v1/jobs/{id}",
      on_job_patch,
      RIGHT_USER,
      "Change a job's priority, labels or hold.",
      { NULL },
      "JobPatch",
      false },
    { HTTP_DELETE,
      "/v1/jobs/{id}",
      on_job_delete,
      RIGHT_USER,
      "Cancel a job.",
      { NULL },
      NULL,
      false },
    { HTTP_GET,
      "/v1/jobs/{id}/tasks",
      on_job_tasks,
      RIGHT_VIEWER,
      "List a job's tasks.",
      { "limit", "cursor", "state", "task" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/jobs/{id}/attempts",
      on_job_attempts,
      RIGHT_VIEWER,
      "List a job's attempts.",
      { "limit", "cursor", "watch", "from" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/jobs/{id}/explain",
      on_job_explain,
      RIGHT_VIEWER,
      "Say why a job waits.",
      { "task", "node", "changes" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/jobs/{id}/timeline",
      on_job_timeline,
      RIGHT_VIEWER,
      "Say where the time of a job's starts went.",
      { "task" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/jobs/{id}/logs",
      on_job_logs,
      RIGHT_VIEWER,
      "Read the log of a task's last attempt.",
      { "task", "at", "follow", "tail", "format", "stream" },
      NULL,
      false },
    { HTTP_POST,
      "/v1/jobs/{id}/actions",
      on_job_action,
      RIGHT_USER,
      "Cancel, hold, release, requeue, suspend or resume a job.",
      { NULL },
      "JobAction",
      false },
    { HTTP_GET,
      "/v1/attempts/{name}",
      on_attempt_get,
      RIGHT_VIEWER,
      "Show an attempt.",
      { NULL },
      NULL,
      false },
    { HTTP_GET,
      "/v1/attempts/{name}/logs",
      on_attempt_logs,
      RIGHT_VIEWER,
      "Read an attempt's log.",
      { "at", "follow", "tail", "format", "stream" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/nodes",
      on_nodes_list,
      RIGHT_VIEWER,
      "List nodes.",
      { "state", "label", "sort", "limit", "cursor", "watch", "from" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/nodes/{name}",
      on_node_get,
      RIGHT_VIEWER,
      "Show a node.",
      { NULL },
      NULL,
      false },
    { HTTP_PATCH,
      "/v1/nodes/{name}",
      on_node_patch,
      RIGHT_ADMIN,
      "Set labels of a node, or take them back.",
      { NULL },
      "NodePatch",
      false },
    { HTTP_DELETE,
      "/v1/nodes/{name}",
      on_node_delete,
      RIGHT_ADMIN,
      "Forget a node that is lost or gone.",
      { NULL },
      NULL,
      false },
    { HTTP_POST,
      "/v1/nodes/{name}/actions",
      on_node_action,
      RIGHT_ADMIN,
      "Cordon, uncordon or drain a node.",
      { NULL },
      "NodeAction",
      false },
    { HTTP_GET,
      "/v1/queues",
      on_queues_list,
      RIGHT_VIEWER,
      "List queues.",
      { "state", "sort", "limit", "cursor", "watch", "from" },
      NULL,
      false },
    { HTTP_POST,
      "/v1/queues",
      on_queues_create,
      RIGHT_ADMIN,
      "Create a queue.",
      { NULL },
      "Queue",
      false },
    { HTTP_GET,
      "/v1/queues/{name}",
      on_queue_get,
      RIGHT_VIEWER,
      "Show a queue.",
      { NULL },
      NULL,
      false },
    { HTTP_PUT,
      "/v1/queues/{name}",
      on_queue_put,
      RIGHT_ADMIN,
      "Replace a queue.",
      { NULL },
      "Queue",
      false },
    { HTTP_PATCH,
      "/v1/queues/{name}",
      on_queue_patch,
      RIGHT_ADMIN,
      "Change a queue.",
      { NULL },
      "Queue",
      false },
    { HTTP_DELETE,
      "/v1/queues/{name}",
      on_queue_delete,
      RIGHT_ADMIN,
      "Delete a queue.",
      { NULL },
      NULL,
      false },
    { HTTP_GET,
      "/v1/queues/{name}/why",
      on_queue_why,
      RIGHT_VIEWER,
      "Say what a queue deserves of a resource, what it has, and who holds it.",
      { "resource" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/orders",
      on_orders_list,
      RIGHT_VIEWER,
      "List the machines that were ordered.",
      { "state", "sort", "limit", "cursor", "watch", "from" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/orders/{key}",
      on_order_get,
      RIGHT_VIEWER,
      "Show an order.",
      { NULL },
      NULL,
      false },
    { HTTP_POST,
      "/v1/orders/{key}/actions",
      on_order_action,
      RIGHT_ADMIN,
      "Say that an ordered machine is on its way, cannot be had, or is not wanted any more.",
      { NULL },
      "OrderAction",
      false },
    { HTTP_GET,
      "/v1/events",
      on_events,
      RIGHT_VIEWER,
      "List events, or stream them (text/event-stream, application/x-ndjson).",
      { "from", "type", "job", "limit" },
      NULL,
      false },
    { HTTP_GET,
      "/v1/tokens",
      on_tokens_list,
      RIGHT_ADMIN,
      "List tokens.",
      { "sort", "limit", "cursor", "watch", "from" },
      NULL,
      false },
    { HTTP_POST,
      "/v1/tokens",
      on_tokens_create,
      RIGHT_ADMIN,
      "Make a token.",
      { NULL },
      "Token",
      false },
    { HTTP_DELETE,
      "/v1/tokens/{id}",
      on_token_delete,
      RIGHT_ADMIN,
      "Delete a token.",
      { NULL },
      NULL,
      false },
    { HTTP_GET, "/v1/self", on_self, RIGHT_VIEWER, "Show who asks.", { NULL }, NULL, false },
    { HTTP_GET,
      "/v1/self/can",
      on_self_can,
      RIGHT_VIEWER,
      "Say whether who asks may call a path.",
      { "method", "path", "namespace" },
      NULL,
      false },
    { HTTP_GET, "/v1/limits", on_limits, RIGHT_VIEWER, "Show the limits.", { NULL }, NULL, false },
    { HTTP_GET, "/v1/version", on_version, RIGHT_NONE, "Show the version.", { NULL }, NULL, false },
    { HTTP_GET,
      "/v1/openapi.json",
      on_openapi,
      RIGHT_NONE,
      "This document.",
      { NULL },
      NULL,
      false },
    { HTTP_GET,
      "/healthz",
      on_health,
      RIGHT_NONE,
      "Say that the server runs.",
      { NULL },
      NULL,
      false },
    { HTTP_GET,
      "/readyz",
      on_ready,
      RIGHT_NONE,
      "Say whether it can take work.",
      { NULL },
      NULL,
      false },
    { HTTP_GET,
      "/metrics",
      on_metrics,
      RIGHT_NONE,
      "Numbers in Prometheus' format.",
      { NULL },
      NULL,
      false },
};

enum { PARTS_MAX = 8 };

const struct route *route_at(size_t i)
{
    return i < COUNT_OF(routes) ? &routes[i] : NULL;
}

/* Whether a path of n parts is the route's; fills in args. */
static bool matches(const struct route *route, const char *const *parts, size_t n,
                    const char *args[CALL_ARGS_MAX])
{
    const char *at = route->path;
    size_t i = 0, n_args = 0;

    for (; *at; i++) {
        size_t len = strcspn(++at, "/");

        if (i == n)
            return false;
        if (*at == '{' && parts[i][0])
            args[n_args++] = parts[i];
        else if (strlen(parts[i]) != len || memcmp(parts[i], at, len) != 0)
            return false;
        at += len;
    }
    return i == n;
}

static void add_method(char allowed[80], enum http_method method)
{
    size_t n = strlen(allowed);

    snprintf(allowed + n, 80 - n, "%s%s%s", n ? ", " : "", http_method_words[method],
             method == HTTP_GET ? ", HEAD" : "");
}

const struct route *route_find(enum http_method method, const char *const *parts, size_t n_parts,
                               const char *args[CALL_ARGS_MAX], char allowed[80])
{
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;

    allowed[0] = '\0';
    for (const struct route *route = routes; route < routes + COUNT_OF(routes); route++) {
        if (!matches(route, parts, n_parts, args))
            continue;
        if (route->method == wanted)
            return route;
        add_method(allowed, route->method);
    }
    return NULL;
}

static bool takes_query(const struct route *route, const char *name)
{
    if (route->method == HTTP_GET && route->right != RIGHT_NONE && text_eq(name, "minRevision"))
        return true;
    for (size_t i = 0; i < ROUTE_QUERIES_MAX && route->queries[i]; i++)
        if (text_eq(route->queries[i], name))
            return true;
    return false;
}

/* What narrows and is empty is a variable that was not set: all of it is not what was meant. Of a list from its
 * beginning, in its own order, a cursor and an order may be; an agent narrows nothing, and may have none. */
static bool check_value(struct call *call, const char *name, const char *value)
{
    if ((value && value[0]) || text_eq(name, "cursor") || text_eq(name, "sort") ||
        call->route->right == RIGHT_AGENT)
        return true;
    problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                "%s= is empty: leave it out where it is not to narrow", name);
    return false;
}

static bool check_queries(struct call *call)
{
    for (size_t i = 0; i < http_n_queries(call->request); i++) {
        const char *name, *value;

        http_query_at(call->request, i, &name, &value);
        if (!takes_query(call->route, name)) {
            problem_set(&call->problem, PROBLEM_UNKNOWN_PARAMETER,
                        "the parameter `%s` is not known", name);
            return false;
        }
        if (!check_value(call, name, value))
            return false;
    }
    return true;
}

/* What needs an admin is of all namespaces: nodes, queues, orders, tokens. */
static bool is_of_all(struct call *call, enum right needed)
{
    if (needed != RIGHT_ADMIN || !call->who.ns[0])
        return true;
    problem_set(&call->problem, PROBLEM_NOT_ALLOWED,
                "this needs the right `admin` for all namespaces; the token `%s` is for `%s`",
                call->who.name, call->who.ns);
    return false;
}

/* Who asks, and whether that is enough. */
static bool check_right(struct call *call, enum right needed)
{
    if (needed == RIGHT_NONE)
        return true;
    return auth_check(call->server->auth, http_header(call->request, "Authorization"),
                      clock_wall_ms(call->server->clock), &call->who, &call->problem) == 0 &&
           auth_allows(&call->who, needed, &call->problem) && is_of_all(call, needed);
}

static bool find_route(struct call *call)
{
    const char *parts[PARTS_MAX];
    size_t n = http_n_parts(call->request);
    char allowed[80] = "";

    for (size_t i = 0; i < n && i < PARTS_MAX; i++)
        parts[i] = http_part(call->request, i);
    if (n <= PARTS_MAX)
        call->route = route_find(http_method(call->request), parts, n, call->args, allowed);
    if (call->route)
        return true;
    if (allowed[0]) {
        http_set_header(call->request, "Allow", allowed);
        problem_set(&call->problem, PROBLEM_METHOD_NOT_ALLOWED, "this path knows %s", allowed);
        return false;
    }
    problem_set(&call->problem, PROBLEM_NOT_FOUND, "there is no such path");
    return false;
}

static bool is_worker_path(const struct http_request *request)
{
    return text_eq(http_part(request, 0), "v1") && text_eq(http_part(request, 1), "worker");
}

/* An agent's request: its right is checked, the rest is the nodes' business. */
static void handle_worker(struct call *call)
{
    struct http_request *request;
    struct who who;

    if (!check_right(call, RIGHT_AGENT)) {
        call_end(call);
        return;
    }
    who = call->who;
    request = call->request;
    http_set_header(request, "Berth-Request-Id", call->id);
    call->request = NULL;
    nodes_handle(call->server->nodes, request, who.name);
    call_free(call);
}

/* Before the ledger is open nobody can be known, and nothing told but that. Returns false once it
 * is. */
static bool is_too_early(struct call *call)
{
    const char *why = call->server->waits_for;

    if (!why[0])
        return false;
    if (find_route(call) && call->route->fn == on_health)
        call->route->fn(call);
    else
        call_refuse(call, PROBLEM_STORE_UNAVAILABLE, "%s", why);
    return true;
}

void routes_handle(struct http_request *request, void *arg)
{
    struct server *server = arg;
    struct call *call = call_new(server, request);

    if (is_too_early(call))
        return;
    if (is_worker_path(request) && !server->worker_http) {
        handle_worker(call);
        return;
    }
    call_track(call);
    if (find_route(call) && check_right(call, call->route->right) && seen_check(call) &&
        check_queries(call))
        behind_wait(call, call->route->fn);
    else
        call_end(call);
}

void routes_handle_worker(struct http_request *request, void *arg)
{
    struct call *call = call_new(arg, request);

    if (is_too_early(call))
        return;
    if (is_worker_path(request))
        handle_worker(call);
    else
        call_refuse(call, PROBLEM_NOT_FOUND, "this port is for agents");
}

void routes_refuse(struct http_request *request, int status, const char *why, void *arg)
{
    struct call *call = call_new(arg, request);

    call->status = status;
    call->is_status_kept = true;
    call_refuse(call, status == 413 ? PROBLEM_TOO_LARGE : PROBLEM_BAD_REQUEST, "%s", why);
}

/* The OpenAPI document, made from the table of routes. */
#include <ctype.h>
#include <string.h>

#include "server/call.h"
#include "server/routes.h"
#include "server/show.h"
#include "server/version.h"

static json_t *text_schema(void)
{
    json_t *schema = json_object();

    show_text(schema, "type", "string");
    return schema;
}

static void add_parameter(json_t *list, const char *name, size_t n, const char *in)
{
    CLEANUP(freep) char *text = mem_copy(name, n);
    json_t *parameter = json_object();

    show_text(parameter, "name", text);
    show_text(parameter, "in", in);
    show_set(parameter, "required", json_boolean(text_eq(in, "path")));
    show_set(parameter, "schema", text_schema());
    json_array_append_new(list, parameter);
}

static json_t *parameters_of(const struct route *route)
{
    json_t *list = json_array();

    for (const char *at = strchr(route->path, '{'); at; at = strchr(at + 1, '{'))
        add_parameter(list, at + 1, strcspn(at + 1, "}"), "path");
    for (size_t i = 0; i < ROUTE_QUERIES_MAX && route->queries[i]; i++)
        add_parameter(list, route->queries[i], strlen(route->queries[i]), "query");
    if (route->method == HTTP_PUT || route->method == HTTP_PATCH)
        add_parameter(list, "If-Match", 8, "header");
    if (route->fn == on_jobs_submit)
        add_parameter(list, "Idempotency-Key", 15, "header");
    return list;
}

static json_t *reference(const char *name)
{
    CLEANUP(freep) char *path = text_format("#/components/schemas/%s", name);
    json_t *object = json_object();

    show_text(object, "$ref", path);
    return object;
}

/* {"TYPE": {"schema": …}} */
static void add_content(json_t *content, const char *type, const char *schema)
{
    json_t *object = json_object();

    show_set(object, "schema", reference(schema));
    show_set(content, type, object);
}

static json_t *body_of(const struct route *route)
{
    json_t *body = json_object(), *content = json_object();

    add_content(content, "application/json", route->body);
    if (route->takes_yaml)
        add_content(content, "application/yaml", route->body);
    show_set(body, "required", json_true());
    show_set(body, "content", content);
    return body;
}

static json_t *answers_of(const struct route *route)
{
    json_t *answers = json_object(), *good = json_object(), *bad = json_object(),
           *content = json_object();
    const char *status = route->method == HTTP_DELETE ? "204" : "200";

    if (route->fn == on_jobs_submit || route->fn == on_queues_create ||
        route->fn == on_tokens_create)
        status = "201";
    show_text(good, "description", "Done.");
    show_text(bad, "description", "A problem.");
    add_content(content, "application/problem+json", "Problem");
    show_set(bad, "content", content);
    show_set(answers, status, good);
    show_set(answers, "default", bad);
    return answers;
}

/* "get-v1-jobs-id" */
static json_t *id_of(const char *method, const char *path)
{
    CLEANUP(str_fini) struct str id = { 0 };

    str_add(&id, method);
    for (; *path; path++)
        if (isalnum((unsigned char)*path))
            str_add_char(&id, *path);
        else if (*path == '/')
            str_add_char(&id, '-');
    return json_string(str_text(&id));
}

static json_t *operation_of(const struct route *route, const char *method)
{
    json_t *operation = json_object(), *parameters = parameters_of(route);

    show_set(operation, "operationId", id_of(method, route->path));
    show_text(operation, "summary", route->about);
    if (route->right == RIGHT_NONE)
        show_set(operation, "security", json_array());
    else
        show_text(operation, "x-right", right_words[route->right]);
    if (json_array_size(parameters))
        show_set(operation, "parameters", json_incref(parameters));
    json_decref(parameters);
    if (route->body)
        show_set(operation, "requestBody", body_of(route));
    show_set(operation, "responses", answers_of(route));
    return operation;
}

static json_t *paths(void)
{
    json_t *object = json_object(), *path;
    const struct route *route;

    for (size_t i = 0; (route = route_at(i)); i++) {
        const char *word = http_method_words[route->method];
        char method[8] = "";

        path = json_object_get(object, route->path);
        if (!path) {
            path = json_object();
            show_set(object, route->path, path);
        }
        for (size_t j = 0; j < sizeof(method) - 1 && word[j]; j++)
            method[j] = (char)tolower((unsigned char)word[j]);
        show_set(path, method, operation_of(route, method));
    }
    return object;
}

static json_t *components(void)
{
    static const char *const names[] = { "Job",       "JobPatch",   "JobAction",   "JobBatch",
                                         "NodePatch", "NodeAction", "OrderAction", "Queue",
                                         "Token",     "Problem" };
    json_t *object = json_object(), *schemas = json_object(), *schemes = json_object();
    json_t *bearer = json_object();

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        json_t *schema = json_object();

        show_text(schema, "type", "object");
        show_set(schemas, names[i], schema);
    }
    show_text(bearer, "type", "http");
    show_text(bearer, "scheme", "bearer");
    show_set(schemes, "token", bearer);
    show_set(object, "schemas", schemas);
    show_set(object, "securitySchemes", schemes);
    return object;
}

void on_openapi(struct call *call)
{
    json_t *document = json_object(), *info = json_object(), *security = json_array();
    json_t *token = json_object();

    show_text(info, "title", "Berth");
    show_text(info, "version", server_version);
    show_set(token, "token", json_array());
    json_array_append_new(security, token);
    show_text(document, "openapi", "3.1.0");
    show_set(document, "info", info);
    show_set(document, "security", security);
    show_set(document, "paths", paths());
    show_set(document, "components", components());
    call->answer = document;
    call_end(call);
}

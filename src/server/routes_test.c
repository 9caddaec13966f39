#include "server/serving.h"

#include "server/routes.h"

static const struct {
    const char *name;
    enum http_method method;
    const char *parts[6];
    const char *path; /* of the route found; NULL: none */
    const char *allowed, *arg;
} rows[] = {
    { "a list", HTTP_GET, { "v1", "jobs" }, "/v1/jobs", "", NULL },
    { "HEAD is a GET", HTTP_HEAD, { "v1", "jobs" }, "/v1/jobs", "", NULL },
    { "an argument", HTTP_GET, { "v1", "jobs", "j-1" }, "/v1/jobs/{id}", "", "j-1" },
    { "behind an argument",
      HTTP_GET,
      { "v1", "jobs", "j-1", "tasks" },
      "/v1/jobs/{id}/tasks",
      "",
      "j-1" },
    { "an attempt's name",
      HTTP_GET,
      { "v1", "attempts", "j-1/w.0#1", "logs" },
      "/v1/attempts/{name}/logs",
      "",
      "j-1/w.0#1" },
    { "an empty argument is none", HTTP_GET, { "v1", "jobs", "" }, NULL, "", NULL },
    { "too long", HTTP_GET, { "v1", "jobs", "j-1", "tasks", "x" }, NULL, "", NULL },
    { "too short", HTTP_GET, { "v1" }, NULL, "", NULL },
    { "nothing", HTTP_GET, { NULL }, NULL, "", NULL },
    { "a prefix of a word", HTTP_GET, { "v1", "job" }, NULL, "", NULL },
    { "another method", HTTP_DELETE, { "v1", "jobs" }, NULL, "GET, HEAD, POST", NULL },
    { "another method of one",
      HTTP_POST,
      { "v1", "jobs", "x" },
      NULL,
      "GET, HEAD, PATCH, DELETE",
      NULL },
    { "no method of ours", HTTP_OTHER, { "healthz" }, NULL, "GET, HEAD", NULL },
};

TEST(routes_are_found_by_method_and_parts)
{
    ROW_EACH (c, rows) {
        const char *args[CALL_ARGS_MAX] = { NULL };
        char allowed[80];
        size_t n = 0;
        const struct route *route;

        while (n < COUNT_OF(c->parts) && c->parts[n])
            n++;
        route = route_find(c->method, c->parts, n, args, allowed);
        CHECK_TEXT(route ? route->path : NULL, c->path);
        CHECK_TEXT(allowed, c->allowed);
        if (c->arg)
            CHECK_TEXT(args[0], c->arg);
    }
}

TEST(each_route_is_described_and_unique)
{
    const struct route *a, *b;

    for (size_t i = 0; (a = route_at(i)); i++) {
        CHECK(a->fn && a->about[0] && a->path[0] == '/');
        for (size_t j = 0; j < i && (b = route_at(j)); j++)
            CHECK(a->method != b->method || !text_eq(a->path, b->path));
    }
}

static const struct {
    const char *name, *request, *headers, *body;
    int status;
    const char *code;
} refused[] = {
    { "no such path", "GET /v1/nonsense", "", NULL, 404, "NOT_FOUND" },
    { "a slash at the end", "GET /v1/jobs/", "", NULL, 404, "NOT_FOUND" },
    { "another method", "PUT /v1/jobs", "", NULL, 405, "METHOD_NOT_ALLOWED" },
    { "an unknown parameter", "GET /v1/jobs?colour=red", "", NULL, 400, "UNKNOWN_PARAMETER" },
    { "a parameter of another path", "GET /v1/queues?active=1", "", NULL, 400,
      "UNKNOWN_PARAMETER" },
    { "a limit of 0", "GET /v1/jobs?limit=0", "", NULL, 400, "BAD_REQUEST" },
    { "a limit above the most", "GET /v1/jobs?limit=1001", "", NULL, 400, "BAD_REQUEST" },
    { "a state that is none", "GET /v1/jobs?state=asleep", "", NULL, 400, "BAD_REQUEST" },
    { "a time that is none", "GET /v1/jobs?since=yesterday", "", NULL, 400, "BAD_REQUEST" },
    { "a cursor that is none", "GET /v1/jobs?cursor=x", "", NULL, 400, "BAD_CURSOR" },
    { "a job that is none", "GET /v1/jobs/nonsense", "", NULL, 404, "NOT_FOUND" },
    { "a task for a job", "GET /v1/jobs/j-1%2Fw.0", "", NULL, 404, "NOT_FOUND" },
    { "a job that is not there", "GET /v1/jobs/j-999", "", NULL, 404, "NOT_FOUND" },
    { "a node that is not there", "GET /v1/nodes/n", "", NULL, 404, "NOT_FOUND" },
    { "a queue that is not there", "GET /v1/queues/q", "", NULL, 404, "NOT_FOUND" },
    { "an attempt that is not there", "GET /v1/attempts/j-999%2Fw.0%231", "", NULL, 404,
      "NOT_FOUND" },
    { "an attempt that is none", "GET /v1/attempts/j-9", "", NULL, 404, "NOT_FOUND" },
    { "a body of another type", "POST /v1/jobs", "Content-Type: text/plain\r\n", "x", 415,
      "NOT_JSON" },
    { "a body that is not JSON", "POST /v1/jobs", "", "{", 400, "BAD_REQUEST" },
    { "an empty body", "POST /v1/jobs", "", "", 400, "BAD_REQUEST" },
    { "YAML where none is taken", "POST /v1/queues", "Content-Type: application/yaml\r\n",
      "name: a", 415, "NOT_JSON" },
    { "an unknown member", "POST /v1/jobs", "",
      "{\"name\":\"a\",\"image\":\"oci:/i\",\"imagine\":1}", 422, "UNKNOWN_FIELD" },
    { "a key that is too long", "POST /v1/jobs",
      "Idempotency-Key: "
      "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901"
      "23"
      "45678901234567890123456789012345678\r\n",
      "{\"name\":\"a\",\"image\":\"oci:/i\"}", 400, "BAD_REQUEST" },
};

TEST(what_is_refused_is_a_problem_with_its_code)
{
    struct serving s;
    char value[256];

    serving_start(&s);
    ROW_EACH (c, refused) {
        SERVING_EXPECT(&s, c->status, c->request, c->headers, c->body);
        CHECK_TEXT(serving_get(&s, "code"), c->code);
        CHECK_EQ(strtol(serving_get(&s, "status"), NULL, 10), c->status);
        CHECK(test_header(&s.answer, "Content-Type", value));
        CHECK_TEXT(value, "application/problem+json");
        CHECK(test_header(&s.answer, "Berth-Request-Id", value));
        CHECK_TEXT(serving_get(&s, "requestId"), value);
    }
    CHECK_EQ(serving_ask(&s, "PUT /v1/jobs", "", NULL), 405);
    CHECK(test_header(&s.answer, "Allow", value));
    CHECK_TEXT(value, "GET, HEAD, POST");
    serving_stop(&s);
}

TEST(a_field_is_named_by_pointer_and_line)
{
    struct serving s;

    serving_start(&s);
    SERVING_EXPECT(&s, 422, "POST /v1/jobs", "",
                   "{\"name\":\"a\",\n\"image\":\"oci:/i\",\n\"resources\":{\"cpu\":\"NaN\"}}");
    CHECK_TEXT(serving_get(&s, "errors.0.pointer"), "/resources/cpu");
    CHECK_TEXT(serving_get(&s, "errors.0.line"), "3");
    SERVING_EXPECT(&s, 422, "POST /v1/jobs", "Content-Type: application/yaml\r\n",
                   "name: a\nimage: oci:/i\npriority: high\n");
    CHECK_TEXT(serving_get(&s, "errors.0.pointer"), "/priority");
    CHECK_TEXT(serving_get(&s, "errors.0.line"), "3");
    serving_stop(&s);
}

TEST(requests_refused_by_the_reader_are_problems_too)
{
    struct serving s;

    serving_start(&s);
    test_say(s.fd, "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
    test_hear_answer(s.fd, &s.answer);
    CHECK_EQ(s.answer.status, 413);
    CHECK_TEXT(serving_get(&s, "code"), "TOO_LARGE");
    close(s.fd);
    s.fd = test_dial(s.port);
    test_say(s.fd, "GET / HTTP/3.0\r\nHost: a\r\n\r\n");
    test_hear_answer(s.fd, &s.answer);
    CHECK_EQ(s.answer.status, 505);
    CHECK_TEXT(serving_get(&s, "status"), "505");
    serving_stop(&s);
}

static const struct {
    const char *name, *header, *kept; /* kept NULL: another one is made */
} ids[] = {
    { "given", "Berth-Request-Id: mine-1\r\n", "mine-1" },
    { "none", "", NULL },
    { "with a blank", "Berth-Request-Id: a b\r\n", NULL },
    { "too long",
      "Berth-Request-Id: "
      "0123456789012345678901234567890123456789012345678901234567890123456789012345678901\r\n",
      NULL },
};

TEST(a_request_id_is_kept_or_made)
{
    struct serving s;
    char value[256];

    serving_start(&s);
    ROW_EACH (c, ids) {
        SERVING_EXPECT(&s, 200, "GET /healthz", c->header, NULL);
        CHECK(test_header(&s.answer, "Berth-Request-Id", value));
        if (c->kept)
            CHECK_TEXT(value, c->kept);
        else
            CHECK(strlen(value) == 18 && strncmp(value, "r-", 2) == 0);
    }
    serving_stop(&s);
}

TEST(each_path_asks_for_a_token_but_those_that_say_so)
{
    const struct route *route;
    struct serving s;

    serving_start(&s);
    for (size_t i = 0; (route = route_at(i)); i++) {
        CLEANUP(freep)
        char *request = text_format("%s %s", http_method_words[route->method], route->path);

        for (char *c = request; *c; c++)
            if (*c == '{' || *c == '}')
                *c = 'x';
        if (route->right == RIGHT_NONE) {
            SERVING_EXPECT_AS(&s, NULL, 200, request, "", NULL);
            continue;
        }
        SERVING_EXPECT_AS(&s, NULL, 401, request, "", NULL);
        CHECK_TEXT(serving_get(&s, "code"), "NO_TOKEN");
        SERVING_EXPECT_AS(&s, "wrong", 401, request, "", NULL);
        /* An agent's token opens nothing here, an admin's nothing there. */
        SERVING_EXPECT_AS(&s, s.agent_token, 403, request, "", NULL);
        CHECK_TEXT(serving_get(&s, "code"), "NOT_ALLOWED");
    }
    SERVING_EXPECT(&s, 403, "POST /v1/worker/beat", "", "{}");
    SERVING_EXPECT_AS(&s, NULL, 401, "POST /v1/worker/beat", "", "{}");
    serving_stop(&s);
}

TEST(the_openapi_document_has_every_route)
{
    const struct route *route;
    struct serving s;
    json_t *document;

    serving_start(&s);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /v1/openapi.json", "", NULL);
    document = serving_body(&s);
    for (size_t i = 0; (route = route_at(i)); i++) {
        const json_t *path = json_object_get(json_object_get(document, "paths"), route->path);
        char method[8] = "";

        for (size_t j = 0; http_method_words[route->method][j]; j++)
            method[j] = (char)(http_method_words[route->method][j] | 0x20);
        CHECK(json_object_get(path, method) != NULL);
    }
    json_decref(document);
    serving_stop(&s);
}

TEST(agents_may_have_a_port_of_their_own)
{
    struct server_options options = { .worker_listen = "127.0.0.1:0" };
    struct serving s;
    uint16_t port;

    serving_start_with(&s, options);
    SERVING_EXPECT_AS(&s, s.agent_token, 404, "POST /v1/worker/beat", "", "{}");
    close(s.fd);
    port = (uint16_t)strtoul(strrchr(server_worker_address(s.server), ':') + 1, NULL, 10);
    CHECK(port != s.port);
    s.fd = test_dial(port);
    SERVING_EXPECT_AS(&s, NULL, 401, "POST /v1/worker/beat", "", "{}");
    SERVING_EXPECT(&s, 404, "GET /v1/jobs", "", NULL);
    SERVING_EXPECT_AS(&s, s.agent_token, 200, "POST /v1/worker/register", "",
                      "{\"node\":\"n1\",\"bootId\":\"b\",\"incarnation\":\"\",\"revisionSeen\":0,"
                      "\"version\":\"1\",\"offers\":{\"cpu\":4000},\"labels\":{},\"taints\":[],"
                      "\"info\":{},\"attempts\":[]}");
    serving_stop(&s);
}

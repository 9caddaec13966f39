#include "server/serving.h"

/* Makes a token; it is left in out. */
static void make_token(struct serving *s, const char *body, char out[80])
{
    SERVING_EXPECT(s, 201, "POST /v1/tokens", "", body);
    snprintf(out, 80, "%s", serving_get(s, "token"));
}

static int64_t wall = 0;

static int64_t test_wall(void *arg)
{
    (void)arg;
    return __atomic_load_n(&wall, __ATOMIC_SEQ_CST);
}

static int64_t test_boot(void *arg)
{
    (void)arg;
    return clock_boot_us(&clock_system);
}

static const struct clock test_clock = { .boot_us = test_boot, .wall_ms = test_wall };

TEST(tokens_are_made_used_and_deleted)
{
    struct serving s;
    char token[80];
    CLEANUP(freep) char *remove = NULL;

    serving_start(&s);
    make_token(&s, "{\"name\":\"ci\",\"rights\":\"viewer\"}", token);
    CHECK_EQ(strlen(token), 64);
    remove = text_format("DELETE /v1/tokens/%s", serving_get(&s, "id"));
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/self", "", NULL);
    CHECK_TEXT(serving_get(&s, "user"), "ci");
    CHECK_TEXT(serving_get(&s, "rights"), "viewer");
    SERVING_EXPECT(&s, 200, "GET /v1/tokens", "", NULL);
    CHECK(strstr(s.answer.body.data, token) == NULL);
    SERVING_EXPECT(&s, 204, remove, "", NULL);
    SERVING_EXPECT_AS(&s, token, 401, "GET /v1/self", "", NULL);
    SERVING_EXPECT(&s, 204, remove, "", NULL);
    serving_stop(&s);
}

static const struct {
    const char *name, *body, *pointer;
} bad[] = {
    { "no name", "{\"rights\":\"user\"}", "/name" },
    { "no rights", "{\"name\":\"a\"}", "/rights" },
    { "rights to nothing", "{\"name\":\"a\",\"rights\":\"none\"}", "/rights" },
    { "unknown rights", "{\"name\":\"a\",\"rights\":\"god\"}", "/rights" },
    { "a bad name", "{\"name\":\"A b\",\"rights\":\"user\"}", "/name" },
    { "a bad lifetime", "{\"name\":\"a\",\"rights\":\"user\",\"lifetime\":\"soon\"}", "/lifetime" },
    { "an unknown member", "{\"name\":\"a\",\"rights\":\"user\",\"hash\":\"x\"}", "/hash" },
};

TEST(tokens_that_will_not_do)
{
    struct serving s;

    serving_start(&s);
    ROW_EACH (c, bad) {
        SERVING_EXPECT(&s, 422, "POST /v1/tokens", "", c->body);
        CHECK_TEXT(serving_get(&s, "errors.0.pointer"), c->pointer);
    }
    serving_stop(&s);
}

static const struct {
    const char *name, *request, *headers, *body;
    int viewer, user, admin;
} rights[] = {
    { "read", "GET /v1/jobs", "", NULL, 200, 200, 200 },
    { "submit", "POST /v1/jobs", "", "{\"name\":\"a\",\"image\":\"oci:/i\"}", 403, 201, 201 },
    { "change a queue", "PATCH /v1/queues/default", "If-Match: *\r\n", "{}", 403, 403, 200 },
    { "list tokens", "GET /v1/tokens", "", NULL, 403, 403, 200 },
    { "cordon", "POST /v1/nodes/n/actions", "", "{\"action\":\"cordon\"}", 403, 403, 404 },
};

TEST(rights_are_viewer_below_user_below_admin)
{
    struct serving s;
    char viewer[80], user[80], admin[80];

    serving_start(&s);
    make_token(&s, "{\"name\":\"v\",\"rights\":\"viewer\"}", viewer);
    make_token(&s, "{\"name\":\"u\",\"rights\":\"user\"}", user);
    make_token(&s, "{\"name\":\"a\",\"rights\":\"admin\"}", admin);
    ROW_EACH (c, rights) {
        SERVING_EXPECT_AS(&s, viewer, c->viewer, c->request, c->headers, c->body);
        if (c->viewer == 403)
            CHECK(strstr(serving_get(&s, "detail"), c->user == 403 ? "`admin`" : "`user`"));
        SERVING_EXPECT_AS(&s, user, c->user, c->request, c->headers, c->body);
        SERVING_EXPECT_AS(&s, admin, c->admin, c->request, c->headers, c->body);
    }
    serving_stop(&s);
}

static const struct {
    const char *name, *request, *headers, *body;
    int status;
} hidden[] = {
    { "show", "GET /v1/jobs/%s", "", NULL, 404 },
    { "tasks", "GET /v1/jobs/%s/tasks", "", NULL, 404 },
    { "attempts", "GET /v1/jobs/%s/attempts", "", NULL, 404 },
    { "explain", "GET /v1/jobs/%s/explain", "", NULL, 404 },
    { "timeline", "GET /v1/jobs/%s/timeline", "", NULL, 404 },
    { "logs", "GET /v1/jobs/%s/logs", "", NULL, 404 },
    { "an attempt", "GET /v1/attempts/%s%%2Ftask.0%%231", "", NULL, 404 },
    { "an attempt's logs", "GET /v1/attempts/%s%%2Ftask.0%%231/logs", "", NULL, 404 },
    { "patch", "PATCH /v1/jobs/%s", "If-Match: *\r\n", "{\"priority\":1}", 404 },
    { "cancel", "DELETE /v1/jobs/%s", "", NULL, 404 },
    { "hold", "POST /v1/jobs/%s/actions", "", "{\"action\":\"hold\"}", 404 },
};

/* A request with a job's id in it. */
static char *with_id(const char *request, const char *id)
{
    const char *at = strstr(request, "%s");
    CLEANUP(str_fini) struct str out = { 0 };

    str_add_bytes(&out, request, (size_t)(at - request));
    str_add(&out, id);
    for (at += 2; *at; at++) {
        str_add_char(&out, *at);
        at += at[0] == '%' && at[1] == '%';
    }
    return str_take(&out);
}

TEST(another_namespace_is_not_there)
{
    struct serving s;
    char lab[80], shop[80], id[64];

    serving_start(&s);
    make_token(&s, "{\"name\":\"l\",\"rights\":\"user\",\"namespace\":\"lab\"}", lab);
    make_token(&s, "{\"name\":\"s\",\"rights\":\"user\",\"namespace\":\"shop\"}", shop);
    SERVING_EXPECT_AS(&s, lab, 201, "POST /v1/jobs", "", "{\"name\":\"a\",\"image\":\"oci:/i\"}");
    CHECK_TEXT(serving_get(&s, "namespace"), "lab");
    snprintf(id, sizeof(id), "%s", serving_get(&s, "id"));
    ROW_EACH (c, hidden) {
        CLEANUP(freep) char *request = with_id(c->request, id);
        SERVING_EXPECT_AS(&s, shop, c->status, request, c->headers, c->body);
    }
    SERVING_EXPECT_AS(&s, shop, 200, "GET /v1/jobs", "", NULL);
    CHECK_TEXT(serving_get(&s, "items"), "[]");
    SERVING_EXPECT_AS(&s, shop, 404, "GET /v1/jobs?namespace=lab", "", NULL);
    SERVING_EXPECT_AS(&s, shop, 200, "GET /v1/events?type=job.*", "", NULL);
    CHECK_TEXT(serving_get(&s, "items"), "[]");
    SERVING_EXPECT_AS(&s, lab, 200, "GET /v1/events?type=job.*", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.job"), id);
    SERVING_EXPECT_AS(&s, shop, 403, "POST /v1/jobs", "",
                      "{\"name\":\"a\",\"namespace\":\"lab\",\"image\":\"oci:/i\"}");
    SERVING_EXPECT(&s, 200, "GET /v1/jobs?namespace=lab", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.id"), id);
    serving_stop(&s);
}

/* Nor does it rule nodes and queues, which are everybody's. */
TEST(an_admin_of_a_namespace_makes_no_tokens)
{
    struct serving s;
    char admin[80];

    serving_start(&s);
    make_token(&s, "{\"name\":\"a\",\"rights\":\"admin\",\"namespace\":\"lab\"}", admin);
    SERVING_EXPECT_AS(&s, admin, 403, "GET /v1/tokens", "", NULL);
    SERVING_EXPECT_AS(&s, admin, 403, "POST /v1/tokens", "",
                      "{\"name\":\"b\",\"rights\":\"admin\"}");
    SERVING_EXPECT_AS(&s, admin, 403, "POST /v1/queues", "", "{\"name\":\"stolen\"}");
    SERVING_EXPECT_AS(&s, admin, 403, "POST /v1/nodes/n1/actions", "", "{\"action\":\"drain\"}");
    SERVING_EXPECT_AS(&s, admin, 201, "POST /v1/jobs", "", "{\"name\":\"a\",\"image\":\"oci:/i\"}");
    serving_stop(&s);
}

TEST(a_token_ends_with_its_lifetime)
{
    struct server_options options = { .clock = &test_clock };
    struct serving s;
    char token[80];

    __atomic_store_n(&wall, 1000, __ATOMIC_SEQ_CST);
    serving_start_with(&s, options);
    make_token(&s, "{\"name\":\"t\",\"rights\":\"viewer\",\"lifetime\":\"1h\"}", token);
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/self", "", NULL);
    __atomic_store_n(&wall, 1000 + 3600 * 1000, __ATOMIC_SEQ_CST);
    SERVING_EXPECT_AS(&s, token, 401, "GET /v1/self", "", NULL);
    CHECK_TEXT(serving_get(&s, "code"), "TOKEN_EXPIRED");
    serving_stop(&s);
}

static const struct {
    const char *name, *header;
} headers[] = {
    { "another scheme", "Authorization: Basic YTpi\r\n" },
    { "no scheme", "Authorization: abc\r\n" },
    { "no token", "Authorization: Bearer\r\n" },
    { "an empty one", "Authorization: Bearer \r\n" },
};

TEST(headers_that_carry_no_token)
{
    struct serving s;

    serving_start(&s);
    ROW_EACH (c, headers)
        SERVING_EXPECT_AS(&s, NULL, 401, "GET /v1/self", c->header, NULL);
    serving_stop(&s);
}

static const struct {
    const char *name, *request, *can, *needs;
    int status;
} may[] = {
    { "read", "GET /v1/self/can?path=/v1/jobs", "true", "viewer", 200 },
    { "submit", "GET /v1/self/can?method=POST&path=/v1/jobs", "true", "user", 200 },
    { "submit elsewhere", "GET /v1/self/can?method=POST&path=/v1/jobs&namespace=shop", "false",
      "user", 200 },
    { "submit at home", "GET /v1/self/can?method=POST&path=/v1/jobs&namespace=lab", "true", "user",
      200 },
    { "cordon", "GET /v1/self/can?method=POST&path=/v1/nodes/n1/actions", "false", "admin", 200 },
    { "what needs no token", "GET /v1/self/can?path=/v1/version", "true", "none", 200 },
    { "no such path", "GET /v1/self/can?path=/v1/nothing", "(none)", "(none)", 400 },
    { "no such method", "GET /v1/self/can?method=FETCH&path=/v1/jobs", "(none)", "(none)", 400 },
    { "no path", "GET /v1/self/can", "(none)", "(none)", 400 },
    { "a path of many parts", "GET /v1/self/can?path=/a/b/c/d/e/f/g/h/i/j", "(none)", "(none)",
      400 },
};

TEST(one_can_ask_what_one_may)
{
    struct serving s;
    char lab[80];

    serving_start(&s);
    make_token(&s, "{\"name\":\"l\",\"rights\":\"user\",\"namespace\":\"lab\"}", lab);
    ROW_EACH (c, may) {
        SERVING_EXPECT_AS(&s, lab, c->status, c->request, "", NULL);
        CHECK_TEXT(serving_get(&s, "can"), c->can);
        CHECK_TEXT(serving_get(&s, "needs"), c->needs);
    }
    serving_stop(&s);
}

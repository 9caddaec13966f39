#include "server/serving.h"

#include "base/clock.h"
#include "berth/engine.h"
#include "server/hide.h"

enum { DEADLINE_MS = 20000 };

static const struct berth_amount machine[] = { { "cpu", 4000 } };
static const struct berth_pool spot = {
    .name = "spot", .provisions = true, .machine = { machine, 1 }, .has_machine = true
};
static const struct berth_delta objects[] = { { .kind = BERTH_POOL, .pool = &spot } };
static const struct berth_config beam = { .profile = "beam" };

/* A server that has ordered a machine for a job; its key in out. */
static void start(struct serving *s, char out[80])
{
    int64_t end_ms = clock_boot_ms(&clock_system) + DEADLINE_MS;

    serving_start_with(
        s, (struct server_options){ .engine = &beam, .objects = objects, .n_objects = 1 });
    SERVING_EXPECT(s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":1}}");
    do {
        SERVING_EXPECT(s, 200, "GET /v1/orders?state=wanted", "", NULL);
        CHECK(clock_boot_ms(&clock_system) < end_ms);
    } while (strcmp(serving_get(s, "items.0.key"), "(none)") == 0);
    snprintf(out, 80, "%s", serving_get(s, "items.0.key"));
}

TEST(orders_are_listed_and_what_became_of_them_is_taken)
{
    CLEANUP(freep) char *show = NULL, *act = NULL;
    struct serving s;
    char key[80];

    start(&s, key);
    CHECK_TEXT(serving_get(&s, "items.0.shape.cpu"), "4");
    show = text_format("GET /v1/orders/%s", key);
    act = text_format("POST /v1/orders/%s/actions", key);
    SERVING_EXPECT(&s, 200, act, "", "{\"action\":\"place\",\"provider\":\"i-0abc\"}");
    CHECK_TEXT(serving_get(&s, "state"), "placed");
    CHECK_TEXT(serving_get(&s, "provider"), "i-0abc");
    SERVING_EXPECT(&s, 200, "GET /v1/orders?state=wanted", "", NULL);
    CHECK_TEXT(serving_get(&s, "items"), "[]");
    SERVING_EXPECT(&s, 200, act, "", "{\"action\":\"fail\",\"reason\":\"no capacity\"}");
    SERVING_EXPECT(&s, 200, act, "", "{\"action\":\"fail\"}"); /* said twice */
    SERVING_EXPECT(&s, 200, show, "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "failed");
    CHECK_TEXT(serving_get(&s, "reason"), "no capacity");
    SERVING_EXPECT(&s, 409, act, "", "{\"action\":\"place\"}");
    SERVING_EXPECT(&s, 404, "GET /v1/orders/none", "", NULL);
    SERVING_EXPECT(&s, 404, "POST /v1/orders/none/actions", "", "{\"action\":\"cancel\"}");
    serving_stop(&s);
}

static const struct {
    const char *name, *body, *pointer;
} bad[] = {
    { "no action", "{}", "/action" },
    { "an unknown action", "{\"action\":\"bring\"}", "/action" },
    { "what only the ledger says", "{\"action\":\"came\"}", "/action" },
    { "an unknown member", "{\"action\":\"fail\",\"why\":\"x\"}", "/why" },
    { "a provider of another type", "{\"action\":\"place\",\"provider\":7}", "/provider" },
};

TEST(orders_take_nothing_that_will_not_do)
{
    CLEANUP(freep) char *act = NULL;
    CLEANUP(freep) char *longest = text_format("{\"action\":\"fail\",\"reason\":\"%0201d\"}", 7);
    struct serving s;
    char key[80], token[80];

    start(&s, key);
    act = text_format("POST /v1/orders/%s/actions", key);
    ROW_EACH (c, bad) {
        SERVING_EXPECT(&s, 422, act, "", c->body);
        CHECK_TEXT(serving_get(&s, "errors.0.pointer"), c->pointer);
    }
    SERVING_EXPECT(&s, 422, act, "", longest);
    CHECK_TEXT(serving_get(&s, "errors.0.pointer"), "/reason");
    SERVING_EXPECT(&s, 201, "POST /v1/tokens", "", "{\"name\":\"ci\",\"rights\":\"user\"}");
    snprintf(token, sizeof(token), "%s", serving_get(&s, "token"));
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/orders", "", NULL);
    SERVING_EXPECT_AS(&s, token, 403, act, "", "{\"action\":\"fail\"}");
    SERVING_EXPECT_AS(&s, NULL, 401, "GET /v1/orders", "", NULL);
    serving_stop(&s);
}

/* An order is everybody's to see; whom it is for is not. */
TEST(orders_name_no_job_of_another_namespace)
{
    CLEANUP(freep) char *show = NULL, *job = NULL;
    struct serving s;
    char key[80], token[80];

    start(&s, key);
    job = text_copy(serving_get(&s, "items.0.job"));
    show = text_format("GET /v1/orders/%s", key);
    SERVING_EXPECT(&s, 201, "POST /v1/tokens", "",
                   "{\"name\":\"l\",\"rights\":\"viewer\",\"namespace\":\"lab\"}");
    snprintf(token, sizeof(token), "%s", serving_get(&s, "token"));
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/orders", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.key"), key);
    CHECK_TEXT(serving_get(&s, "items.0.job"), HIDDEN_JOB);
    SERVING_EXPECT_AS(&s, token, 200, show, "", NULL);
    CHECK_TEXT(serving_get(&s, "job"), HIDDEN_JOB);
    SERVING_EXPECT(&s, 200, show, "", NULL);
    CHECK_TEXT(serving_get(&s, "job"), job);
    serving_stop(&s);
}

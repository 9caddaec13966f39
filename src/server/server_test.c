#include "server/serving.h"

#include <errno.h>

static const char job[] = "{\"name\":\"a\",\"resources\":{\"cpu\":1}}";

TEST(a_server_starts_answers_and_leaves_nothing)
{
    size_t n_fds = test_count_fds();
    struct serving s;

    serving_start(&s);
    CHECK_EQ(serving_ask_as(&s, NULL, "GET /healthz", "", NULL), 200);
    CHECK_EQ(serving_ask_as(&s, NULL, "GET /v1/version", "", NULL), 200);
    CHECK_TEXT(serving_get(&s, "api.0"), "v1");
    CHECK_EQ(serving_ask(&s, "POST /v1/jobs", "", job), 201);
    CHECK_TEXT(serving_get(&s, "state"), "pending");
    serving_stop(&s);
    CHECK_EQ(test_count_fds(), n_fds);
}

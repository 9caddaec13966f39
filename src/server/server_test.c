#include "server/serving.h"

static const char job[] = "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":1}}";

TEST(a_server_starts_answers_and_leaves_nothing)
{
    size_t n_fds = test_count_fds();
    struct serving s;

    serving_start(&s);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /healthz", "", NULL);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /readyz", "", NULL);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /v1/version", "", NULL);
    CHECK_TEXT(serving_get(&s, "api.0"), "v1");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "", job);
    CHECK_TEXT(serving_get(&s, "state"), "pending");
    serving_stop(&s);
    CHECK_EQ(test_count_fds(), n_fds);
}

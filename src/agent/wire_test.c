#include "agent/wire.h"

#include <jansson.h>

#include "base/test.h"

static const struct {
    const char *name;
    const char *text, *json;
} texts[] = {
    { "plain", "abc", "\"abc\"" },
    { "quotes and slashes", "a\"b\\c", "\"a\\\"b\\\\c\"" },
    { "control bytes", "a\n\x01", "\"a\\u000a\\u0001\"" },
    { "two, three and four bytes", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
      "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
    { "a byte that is no text",
      "a\xff"
      "b",
      "\"a\xef\xbf\xbd"
      "b\"" },
    { "a cut character", "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
    { "overlong", "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
    { "a surrogate", "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
};

TEST(wire_text_is_always_json)
{
    ROW_EACH (c, texts) {
        CLEANUP(str_fini) struct str out = { 0 };
        json_t *value;

        wire_text(&out, c->text);
        CHECK_TEXT(str_text(&out), c->json);
        value = json_loads(str_text(&out), JSON_DECODE_ANY, NULL);
        CHECK(value != NULL);
        json_decref(value);
    }
}

TEST(wire_report_of_an_end_says_all)
{
    CLEANUP(str_fini) struct str out = { 0 };
    struct wire_timings timings = { 0 };
    struct life_end end = { .cause = CAUSE_START_FAILED,
                            .detail = DETAIL_IMAGE_ABSENT,
                            .text = "no \"image\"" };
    struct wire_report report = { .attempt = "j-1/a.0#1",
                                  .is_ended = true,
                                  .end = &end,
                                  .ended_ms = 1,
                                  .timings = &timings,
                                  .peak_memory_bytes = 5 };

    wire_timing_add(&timings, "image", -5, 7, "cached");
    wire_report(&out, &report);
    CHECK_TEXT(str_text(&out),
               "{\"attempt\":\"j-1/a.0#1\",\"state\":\"ended\",\"cause\":\"START_FAILED\","
               "\"detail\":\"IMAGE_ABSENT\",\"code\":0,\"signal\":0,"
               "\"message\":\"no \\\"image\\\"\",\"peaks\":{\"memory\":5,\"cpuUs\":0},"
               "\"endedAt\":\"1970-01-01T00:00:00.001Z\","
               "\"timings\":[{\"phase\":\"image\",\"startUs\":0,\"tookUs\":7,"
               "\"note\":\"cached\"}]}");
}

TEST(wire_report_of_a_start_says_no_end)
{
    CLEANUP(str_fini) struct str out = { 0 };
    struct wire_report report = { .attempt = "j-1/a.0#1", .started_ms = 1000 };

    wire_report(&out, &report);
    CHECK_TEXT(str_text(&out), "{\"attempt\":\"j-1/a.0#1\",\"state\":\"running\","
                               "\"startedAt\":\"1970-01-01T00:00:01.000Z\"}");
}

TEST(wire_timings_beyond_the_limit_are_dropped)
{
    struct wire_timings timings = { 0 };

    for (int i = 0; i < WIRE_TIMINGS_MAX + 3; i++)
        wire_timing_add(&timings, "x", i, i, NULL);
    CHECK_EQ(timings.n, WIRE_TIMINGS_MAX);
}

#include "base/clock.h"

#include "base/test.h"

static const struct {
    const char *name, *text;
    int64_t ms;
    const char *shown;
} rows[] = {
    { "the beginning", "1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z" },
    { "milliseconds", "2026-09-14T10:42:18.104Z", 1789382538104, "2026-09-14T10:42:18.104Z" },
    { "a zone", "2026-09-14T12:42:18.104+02:00", 1789382538104, "2026-09-14T10:42:18.104Z" },
    { "nanoseconds are cut", "1970-01-01T00:00:00.001999999Z", 1, "1970-01-01T00:00:00.001Z" },
    { "before 1970", "1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59.999Z" },
    { "small letters", "2026-09-14t12:42:18.104z", 1789389738104, "2026-09-14T12:42:18.104Z" },
    { "a leap day", "2024-02-29T00:00:00Z", 1709164800000, "2024-02-29T00:00:00.000Z" },
    { "a leap second", "2016-12-31T23:59:60Z", 1483228800000, "2017-01-01T00:00:00.000Z" },
    { "no leap year", "2023-02-29T00:00:00Z", 0, NULL },
    { "no such day", "2024-04-31T00:00:00Z", 0, NULL },
    { "day 0", "2024-04-00T00:00:00Z", 0, NULL },
    { "a zone of a day", "2024-01-01T00:00:00+24:00", 0, NULL },
    { "a zone of 60 minutes", "2024-01-01T00:00:00+05:60", 0, NULL },
    { "no zone", "2026-09-14T10:42:18", 0, NULL },
    { "no such month", "2026-13-14T10:42:18Z", 0, NULL },
    { "a tail", "2026-09-14T10:42:18Zx", 0, NULL },
    { "empty", "", 0, NULL },
};

TEST(clock_wall_is_read_and_written)
{
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str out = { 0 };
        int64_t ms = 0;
        CHECK_EQ(clock_parse_wall(c->text, &ms) == 0, c->shown != NULL);
        CHECK_EQ(ms, c->ms);
        if (!c->shown)
            continue;
        clock_format_wall(ms, &out);
        CHECK_TEXT(str_text(&out), c->shown);
    }
}

TEST(clock_boot_never_steps_back)
{
    int64_t last = 0;

    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_boot_us(&clock_system);
        CHECK(now >= last);
        last = now;
    }
}

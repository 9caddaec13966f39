#include "cli/age.h"

#include "base/test.h"

static const struct {
    const char *name;
    int64_t ms;
    const char *age, *exact;
} rows[] = {
    { "before now", -5, "0s", "0.00s" },         { "part of a second", 87, "0s", "0.08s" },
    { "half a second", 500, "0s", "0.5s" },      { "a second", 1000, "1s", "1.0s" },
    { "below ten seconds", 9999, "9s", "9.9s" }, { "below a minute", 59999, "59s", "59s" },
    { "a minute", 60000, "01m00s", "01m00s" },   { "minutes", 842000, "14m02s", "14m02s" },
    { "an hour", 3600000, "01h00m", "01h00m" },  { "hours", 7860000, "02h11m", "02h11m" },
    { "a day", 86400000, "1d00h", "1d00h" },     { "days with hours", 273600000, "3d04h", "3d04h" },
    { "ten days", 864000000, "10d", "10d" },     { "many days", 3542400000, "41d", "41d" },
};

TEST(age_is_written_as_people_read_it)
{
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str age = { 0 }, exact = { 0 };

        age_format(c->ms, &age);
        age_format_exact(c->ms, &exact);
        CHECK_TEXT(str_text(&age), c->age);
        CHECK_TEXT(str_text(&exact), c->exact);
    }
}

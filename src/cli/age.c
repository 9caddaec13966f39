/* Ages: see age.h. */
#include "cli/age.h"

#include <inttypes.h>

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, LONG_DAYS = 10 };

void age_format(int64_t ms, struct str *out)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < MINUTE)
        str_addf(out, "%" PRId64 "s", s);
    else if (s < HOUR)
        str_addf(out, "%02" PRId64 "m%02" PRId64 "s", s / MINUTE, s % MINUTE);
    else if (s < DAY)
        str_addf(out, "%02" PRId64 "h%02" PRId64 "m", s / HOUR, s % HOUR / MINUTE);
    else if (s < LONG_DAYS * DAY)
        str_addf(out, "%" PRId64 "d%02" PRId64 "h", s / DAY, s % DAY / HOUR);
    else
        str_addf(out, "%" PRId64 "d", s / DAY);
}

void age_format_exact(int64_t ms, struct str *out)
{
    if (ms < 0)
        ms = 0;
    if (ms < 100)
        str_addf(out, "0.%02" PRId64 "s", ms / 10);
    else if (ms < 10000)
        str_addf(out, "%" PRId64 ".%" PRId64 "s", ms / 1000, ms % 1000 / 100);
    else
        age_format(ms, out);
}

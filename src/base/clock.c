/* Clocks: see clock.h. */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static int64_t system_boot_us(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t system_wall_ms(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const struct clock clock_system = { system_boot_us, system_wall_ms, NULL };

void clock_format_wall(int64_t wall_ms, struct str *out)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    int ms = (int)(wall_ms % 1000);
    struct tm tm;

    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    gmtime_r(&seconds, &tm);
    str_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
}

/* Reads exactly n digits. */
static const char *read_digits(const char *at, int n, int *out)
{
    *out = 0;
    for (; n > 0; n--, at++) {
        if (!at || *at < '0' || *at > '9')
            return NULL;
        *out = *out * 10 + (*at - '0');
    }
    return at;
}

static const char *read_char(const char *at, char c)
{
    return at && *at == c ? at + 1 : NULL;
}

static const char *read_fraction(const char *at, int *out_ms)
{
    int scale = 100;

    *out_ms = 0;
    if (!at || *at != '.')
        return at;
    if (*++at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++, scale /= 10)
        *out_ms += (*at - '0') * scale;
    return at;
}

static const char *read_zone(const char *at, int *out_minutes)
{
    int hours, minutes, sign;

    *out_minutes = 0;
    if (!at || *at == 'Z' || *at == 'z')
        return at ? at + 1 : NULL;
    if (*at != '+' && *at != '-')
        return NULL;
    sign = *at == '-' ? -1 : 1;
    at = read_digits(read_char(read_digits(at + 1, 2, &hours), ':'), 2, &minutes);
    if (!at || hours > 23 || minutes > 59)
        return NULL;
    *out_minutes = sign * (hours * 60 + minutes);
    return at;
}

static bool is_day(const struct tm *tm)
{
    struct tm day = { .tm_year = tm->tm_year - 1900,
                      .tm_mon = tm->tm_mon - 1,
                      .tm_mday = tm->tm_mday };

    timegm(&day); /* turns the 30th of February into a day of March */
    return tm->tm_mon >= 1 && tm->tm_mon <= 12 && day.tm_mday == tm->tm_mday;
}

int clock_parse_wall(const char *text, int64_t *out_ms)
{
    struct tm tm = { 0 };
    int ms, zone;
    const char *at = read_digits(text, 4, &tm.tm_year);

    at = read_digits(read_char(at, '-'), 2, &tm.tm_mon);
    at = read_digits(read_char(at, '-'), 2, &tm.tm_mday);
    at = read_digits(read_char(at, at && *at == 't' ? 't' : 'T'), 2, &tm.tm_hour);
    at = read_digits(read_char(at, ':'), 2, &tm.tm_min);
    at = read_digits(read_char(at, ':'), 2, &tm.tm_sec);
    at = read_zone(read_fraction(at, &ms), &zone);
    if (!at || *at || !is_day(&tm) || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return -EINVAL;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *out_ms = ((int64_t)timegm(&tm) - zone * 60) * 1000 + ms;
    return 0;
}

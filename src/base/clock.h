/*
 * Clocks. What runs hangs on the boot-time clock only; the wall clock is for people.
 *
 * Houses that decide by time take a struct clock, so that tests bring their own.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/str.h"

struct clock {
    int64_t (*boot_us)(void *arg); /* microseconds since boot, sleep included; never steps back */
    int64_t (*wall_ms)(void *arg); /* milliseconds since 1970; may jump */
    void *arg;
};

/** The machine's own clocks. */
extern const struct clock clock_system;

static inline int64_t clock_boot_us(const struct clock *clock)
{
    return clock->boot_us(clock->arg);
}
static inline int64_t clock_boot_ms(const struct clock *clock)
{
    return clock->boot_us(clock->arg) / 1000;
}
static inline int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock->arg);
}

/** Adds "2026-09-14T10:42:18.104Z". */
void clock_format_wall(int64_t wall_ms, struct str *out);

/**
 * Reads what clock_format_wall writes; the fraction may be missing or have up to 9 digits, the
 * zone be Z or +hh:mm, the letters be small. Days that no month has are refused.
 *
 * Returns  0; -EINVAL
 */
MUST_CHECK int clock_parse_wall(const char *text, int64_t *out_ms);

#endif

/* When: the two clocks, in ms. */
#ifndef MONITOR_WHEN_H
#define MONITOR_WHEN_H

#include <stdint.h>
#include <time.h>

static inline int64_t when_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** CLOCK_BOOTTIME: goes on while the machine sleeps. */
static inline int64_t when_boot_ms(void)
{
    return when_ns(CLOCK_BOOTTIME) / 1000000;
}

static inline int64_t when_real_ms(void)
{
    return when_ns(CLOCK_REALTIME) / 1000000;
}

#endif

/*
 * Record: how the container ended, as text: what the file `exit` and the message `ended` hold.
 */
#ifndef MONITOR_RECORD_H
#define MONITOR_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record {
    bool has_started;
    const char *detail; /* a word of the start that failed; NULL */
    int code, signal;
    bool is_oom, is_lease_over, is_limit_over;
    int64_t oom_kills, peak_memory_bytes, cpu_us;
    int64_t started_ms, ended_ms, started_boot_ms, ended_boot_ms;
    char text[240]; /* one line */
};

enum { RECORD_MAX_BYTES = 1024 };

/** Writes KEY=VALUE lines. Returns their length, below RECORD_MAX_BYTES. */
size_t record_format(const struct record *record, char out[RECORD_MAX_BYTES]);
/** Puts the text into the file `exit`: there as a whole or not at all. Returns 0 or a negative
 * errno. */
int record_save(const char *text, size_t n);
/** Sets a failed start: printf into text, line breaks become spaces. */
void record_fail(struct record *record, const char *detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif

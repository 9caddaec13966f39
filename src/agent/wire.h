/* Wire: the bodies of the agent's messages, as docs/design/agent-protocol.md has them. */
#ifndef AGENT_WIRE_H
#define AGENT_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/life.h"
#include "base/str.h"

enum { WIRE_TIMINGS_MAX = 24 };

/* How long a phase took. */
struct wire_timing {
    const char *phase;         /* borrowed, of static storage */
    int64_t start_us, took_us; /* from the receipt of the start line */
    char note[32];             /* "" none */
};

struct wire_timings {
    struct wire_timing at[WIRE_TIMINGS_MAX];
    size_t n;
};
/** Adds one; those beyond the limit are dropped. */
void wire_timing_add(struct wire_timings *timings, const char *phase, int64_t start_us,
                     int64_t took_us, const char *note);

/** Adds a JSON text with its quotes; what is not UTF-8 becomes U+FFFD. */
void wire_text(struct str *out, const char *text);

/** Adds {"node":…,"generation":… without the closing brace. */
void wire_frame(struct str *out, const char *node, int64_t generation);

/* A report. */
struct wire_report {
    const char *attempt;
    bool is_ended;                /* else: running */
    const struct life_end *end;   /* of one that ended */
    int64_t started_ms, ended_ms; /* wall clock; 0: not */
    const struct wire_timings *timings;
    int64_t peak_memory_bytes, cpu_us; /* of one that ended; 0 unknown */
};
void wire_report(struct str *out, const struct wire_report *report);

#endif

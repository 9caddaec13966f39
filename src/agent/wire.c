/* Wire: see wire.h. Written by hand: reports are the agent's hottest path but one. */
#include "agent/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "client/client.h"

void wire_timing_add(struct wire_timings *timings, const char *phase, int64_t start_us,
                     int64_t took_us, const char *note)
{
    struct wire_timing *timing;

    if (timings->n == WIRE_TIMINGS_MAX)
        return;
    timing = &timings->at[timings->n++];
    *timing = (struct wire_timing){ .phase = phase,
                                    .start_us = start_us > 0 ? start_us : 0,
                                    .took_us = took_us > 0 ? took_us : 0 };
    snprintf(timing->note, sizeof(timing->note), "%s", note ? note : "");
}

/* How many bytes a character of UTF-8 at s has, of n; 0 if there is none. */
static size_t utf8_size(const unsigned char *s, size_t n)
{
    size_t size = *s < 0x80                 ? 1
                  : *s >= 0xc2 && *s < 0xe0 ? 2
                  : *s >= 0xe0 && *s < 0xf0 ? 3
                  : *s >= 0xf0 && *s < 0xf5 ? 4
                                            : 0;

    if (!size || size > n)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0; /* overlong, a surrogate, or beyond the last */
    return size;
}

void wire_text(struct str *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strlen(text);

    str_add_char(out, '"');
    while (left) {
        size_t n = utf8_size(at, left);

        if (*at == '"' || *at == '\\')
            str_addf(out, "\\%c", *at);
        else if (*at < 0x20)
            str_addf(out, "\\u%04x", *at);
        else if (n)
            str_add_bytes(out, at, n);
        else
            str_add(out, "\xef\xbf\xbd");
        at += n ? n : 1;
        left -= n ? n : 1;
    }
    str_add_char(out, '"');
}

void wire_frame(struct str *out, const char *node, int64_t generation)
{
    str_add(out, "{\"node\":");
    wire_text(out, node);
    str_addf(out, ",\"generation\":%" PRId64, generation);
}

static void add_time(struct str *out, const char *key, int64_t wall_ms)
{
    if (!wall_ms)
        return;
    str_addf(out, ",\"%s\":\"", key);
    clock_format_wall(wall_ms, out);
    str_add_char(out, '"');
}

static void add_timings(struct str *out, const struct wire_timings *timings)
{
    if (!timings || !timings->n)
        return;
    str_add(out, ",\"timings\":[");
    for (size_t i = 0; i < timings->n; i++) {
        const struct wire_timing *timing = &timings->at[i];
        str_addf(out, "%s{\"phase\":\"%s\",\"startUs\":%" PRId64 ",\"tookUs\":%" PRId64,
                 i ? "," : "", timing->phase, timing->start_us, timing->took_us);
        if (timing->note[0]) {
            str_add(out, ",\"note\":");
            wire_text(out, timing->note);
        }
        str_add_char(out, '}');
    }
    str_add_char(out, ']');
}

static void add_end(struct str *out, const struct wire_report *report)
{
    const struct life_end *end = report->end;

    str_addf(out, ",\"cause\":\"%s\"", cause_words[end->cause]);
    if (end->detail != DETAIL_NONE)
        str_addf(out, ",\"detail\":\"%s\"", detail_words[end->detail]);
    str_addf(out, ",\"code\":%d,\"signal\":%d", end->code, end->signal);
    if (end->text[0]) {
        str_add(out, ",\"message\":");
        wire_text(out, end->text);
    }
    if (report->peak_memory_bytes || report->cpu_us)
        str_addf(out, ",\"peaks\":{\"memory\":%" PRId64 ",\"cpuUs\":%" PRId64 "}",
                 report->peak_memory_bytes, report->cpu_us);
}

void wire_report(struct str *out, const struct wire_report *report)
{
    str_add(out, "{\"attempt\":");
    wire_text(out, report->attempt);
    str_addf(out, ",\"state\":\"%s\"", report->is_ended ? "ended" : "running");
    if (report->is_ended)
        add_end(out, report);
    add_time(out, "startedAt", report->started_ms);
    if (report->is_ended)
        add_time(out, "endedAt", report->ended_ms);
    add_timings(out, report->timings);
    str_add_char(out, '}');
}

/* Names: see name.h. */
#include "base/name.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool consists_of(const char *text, const char *allowed, size_t most)
{
    size_t n = strspn(text, allowed);

    return n > 0 && n <= most && text[n] == '\0';
}

bool name_is_valid(const char *text)
{
    return consists_of(text, LOWER DIGITS "-", NAME_MAX_BYTES);
}

bool name_is_valid_node(const char *text)
{
    return consists_of(text, LOWER UPPER DIGITS ".-", NAME_MAX_BYTES) && text[0] != '.' &&
           text[0] != '-';
}

bool name_is_valid_label(const char *text)
{
    return consists_of(text, LOWER UPPER DIGITS "._/-", 253);
}

bool name_is_valid_variable(const char *text)
{
    return consists_of(text, LOWER UPPER DIGITS "_.-", 253) && !strchr(DIGITS, text[0]);
}

void name_job(uint64_t job, char out[NAME_ATTEMPT_SIZE])
{
    snprintf(out, NAME_ATTEMPT_SIZE, "j-%" PRIu64, job);
}

void name_task(uint64_t job, const char *group, uint32_t index, char out[NAME_ATTEMPT_SIZE])
{
    assert(strlen(group) <= NAME_MAX_BYTES);
    snprintf(out, NAME_ATTEMPT_SIZE, "j-%" PRIu64 "/%s.%" PRIu32, job, group, index);
}

void name_attempt(uint64_t job, const char *group, uint32_t index, uint32_t number,
                  char out[NAME_ATTEMPT_SIZE])
{
    assert(strlen(group) <= NAME_MAX_BYTES);
    snprintf(out, NAME_ATTEMPT_SIZE, "j-%" PRIu64 "/%s.%" PRIu32 "#%" PRIu32, job, group, index,
             number);
}

/* Reads digits into out; returns what is behind them, or NULL. */
static const char *read_number(const char *at, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;

    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (most - (uint64_t)(*at - '0')) / 10)
            return NULL;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *out = value;
    return at;
}

static const char *read_task(const char *at, struct name_parts *out)
{
    const char *dot = strchr(at, '.');
    uint64_t index;

    if (dot) {
        size_t n = (size_t)(dot - at);
        if (n == 0 || n > NAME_MAX_BYTES)
            return NULL;
        memcpy(out->group, at, n);
        out->group[n] = '\0';
        if (!name_is_valid(out->group))
            return NULL;
        at = dot + 1;
    }
    at = read_number(at, UINT32_MAX, &index);
    if (!at)
        return NULL;
    out->index = (uint32_t)index;
    out->has_index = true;
    return at;
}

int name_parse(const char *text, struct name_parts *out, struct err *err)
{
    struct name_parts parts = { 0 };
    const char *at = text_begins(text, "j-") ? text + 2 : NULL;
    uint64_t number = 0;

    if (at)
        at = read_number(at, UINT64_MAX / 2, &parts.job);
    if (at && *at == '/')
        at = read_task(at + 1, &parts);
    if (at && *at == '#' && parts.has_index) {
        at = read_number(at + 1, UINT32_MAX, &number);
        parts.number = (uint32_t)number;
        parts.has_number = true;
    }
    if (!at || *at || (parts.has_number && !parts.number))
        return err_set(err, -EINVAL,
                       "\"%.80s\" is not a name of a job (j-12), task (j-12/worker.3) or attempt "
                       "(j-12/worker.3#1)",
                       text);
    *out = parts;
    return 0;
}

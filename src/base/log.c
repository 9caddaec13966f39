/* Log: see log.h. One write per line, so that lines of threads and processes do not mix. */
#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

const char *const log_level_words[LOG_LEVEL_COUNT] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"
};

static enum log_level least_level = LOG_INFO;
static enum log_format line_format = LOG_TEXT;

void log_setup(enum log_level least, enum log_format format)
{
    least_level = least;
    line_format = format;
}

bool log_is_on(enum log_level level)
{
    return level >= least_level;
}

struct log_number log_number(int64_t value)
{
    struct log_number number;

    snprintf(number.text, sizeof(number.text), "%" PRId64, value);
    return number;
}

static bool needs_quotes(const char *value)
{
    if (!*value)
        return true;
    for (; *value; value++)
        if ((unsigned char)*value <= ' ' || *value == '"' || *value == '=' || *value == 0x7f)
            return true;
    return false;
}

static void add_quoted(struct str *line, const char *value)
{
    str_add_char(line, '"');
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            str_addf(line, "\\%c", *value);
        else if (*value == '\n')
            str_add(line, "\\n");
        else if ((unsigned char)*value < ' ')
            str_addf(line, "\\u%04x", (unsigned)*value);
        else
            str_add_char(line, *value);
    }
    str_add_char(line, '"');
}

static void add_pair(struct str *line, const char *key, const char *value)
{
    if (line_format == LOG_JSON) {
        str_add_char(line, ',');
        add_quoted(line, key);
        str_add_char(line, ':');
        add_quoted(line, value);
        return;
    }
    str_addf(line, " %s=", key);
    if (needs_quotes(value))
        add_quoted(line, value);
    else
        str_add(line, value);
}

static void add_head(struct str *line, enum log_level level, const char *text)
{
    if (line_format == LOG_JSON) {
        str_add(line, "{\"time\":\"");
        clock_format_wall(clock_wall_ms(&clock_system), line);
        str_addf(line, "\",\"level\":\"%s\",\"text\":", log_level_words[level]);
        add_quoted(line, text);
        return;
    }
    clock_format_wall(clock_wall_ms(&clock_system), line);
    str_addf(line, " %-5s %s", log_level_words[level], text);
}

void log_line(enum log_level level, const char *text, ...)
{
    CLEANUP(str_fini) struct str line = { 0 };
    const char *key;
    va_list args;

    if (!log_is_on(level))
        return;
    add_head(&line, level, text);
    va_start(args, text);
    while ((key = va_arg(args, const char *))) {
        const char *value = va_arg(args, const char *);
        add_pair(&line, key, value ? value : "-");
    }
    va_end(args);
    str_add(&line, line_format == LOG_JSON ? "}\n" : "\n");
    /* Nothing can be done about a log that cannot be written. */
    if (write(STDERR_FILENO, line.data, line.len) < 0)
        return;
}

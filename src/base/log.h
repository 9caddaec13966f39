/*
 * Log: lines for the operator, on stderr. Only server, agent and command line log.
 *
 *     log_info("node registered", "node", name, "generation", log_int(generation), NULL);
 *
 * writes   2026-09-14T10:42:18.104Z info  node registered node=gpu-a1 generation=4
 * or, as JSON, one object a line. A value with blanks, quotes or control bytes is quoted.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_LEVEL_COUNT };
enum log_format { LOG_TEXT, LOG_JSON, LOG_FORMAT_COUNT };

extern const char *const log_level_words[LOG_LEVEL_COUNT];

/** Sets what is written and how, for the whole process. Before the first thread starts. */
void log_setup(enum log_level least, enum log_format format);
bool log_is_on(enum log_level level);

/** One line; then pairs of (const char *key, const char *value), ended by NULL. Any thread. */
void log_line(enum log_level level, const char *text, ...) __attribute__((sentinel));
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

struct log_number {
    char text[24];
};
struct log_number log_number(int64_t value);
/** A number as a value; lives until the end of the statement. */
#define log_int(value) (log_number((int64_t)(value)).text)

#endif

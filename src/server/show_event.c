/*
 * An event as the API shows it: docs/api.md, "Events". Its object is made from the row's JSON in
 * the log, so that an event reads the same from memory and from the store.
 */
#include "server/show.h"

#include <string.h>

#include "base/name.h"

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool is_hidden(const char *key)
{
    static const char *const hidden[] = { "hash", "rev", "spec", "info", "job", "id" };

    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (text_eq(key, hidden[i]))
            return true;
    return false;
}

/* A column as a member: times and durations as texts, a token's hash not at all. */
static void show_column(json_t *object, const char *key, json_t *value)
{
    char name[64];
    size_t n = strlen(key);

    if (is_hidden(key))
        return;
    if (json_is_integer(value) &&
        (ends_in(key, "At") || text_eq(key, "until") || text_eq(key, "notBefore"))) {
        show_time(object, key, json_integer_value(value));
    } else if (json_is_integer(value) && ends_in(key, "Ms") && n < sizeof(name)) {
        memcpy(name, key, n - 2);
        name[n - 2] = '\0';
        if (json_integer_value(value) >= 0)
            show_duration(object, name, json_integer_value(value));
    } else {
        json_object_set_nocheck(object, key, value);
    }
}

uint64_t show_event_job(const char *subject)
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    return name_parse(subject, &parts, &err) == 0 ? parts.job : 0;
}

/* What a shell sees of an attempt's end, as `code`, as everywhere in the API. */
static void show_exit(json_t *object, const json_t *row)
{
    int cause =
        states_find(json_string_value(json_object_get(row, "cause")), cause_words, CAUSE_COUNT);
    const char *word = json_string_value(json_object_get(row, "detail"));
    int detail = word ? states_find(word, detail_words, DETAIL_COUNT) : DETAIL_NONE;
    json_int_t code = json_integer_value(json_object_get(row, "code"));
    json_int_t signal = json_integer_value(json_object_get(row, "signal"));

    if (cause < 0 || detail < 0)
        return;
    show_number(object, "code",
                cause_shell_code((enum cause)cause, (enum detail)detail, (int)code, (int)signal));
    show_number(object, "exitCode", code);
    show_number(object, "signal", signal);
}

static bool is_ended_attempt(const char *subject, const json_t *row)
{
    return strchr(subject, '#') && text_eq(json_string_value(json_object_get(row, "state")),
                                           attempt_state_words[ATTEMPT_ENDED]);
}

json_t *show_event(uint64_t rev, int64_t at, const char *type, const char *subject, const char *by,
                   const char *body)
{
    json_t *event = json_object(), *object = json_object(), *row = show_read_object(body), *value;
    uint64_t job = show_event_job(subject);
    char id[NAME_ATTEMPT_SIZE];
    const char *key;

    show_number(event, "revision", (int64_t)rev);
    show_time(event, "time", at);
    show_text(event, "type", type);
    show_text(event, "subject", subject);
    if (job) {
        name_job(job, id);
        show_text(event, "job", id);
    }
    show_text(event, "by", by);
    json_object_foreach(row, key, value) show_column(object, key, value);
    if (is_ended_attempt(subject, row))
        show_exit(object, row);
    show_set(event, "object", object);
    json_decref(row);
    return event;
}

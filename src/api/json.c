/* JSON: see json.h. Where a fault stands in the text is looked up only once there is one. */
#include "api/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json_walk.h"
#include "base/nearest.h"
#include "base/str.h"

#define LARGEST_PLAIN ((int64_t)1 << 53) /* beyond it a number may have lost digits on its way */

/* Where the first value begins that is too deep; n if none is. jansson has a limit of its own that
 * cannot be set. */
static size_t too_deep_at(const char *text, size_t n)
{
    size_t depth = 0;
    bool in_text = false;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (in_text && c == '\\')
            i++;
        else if (c == '"')
            in_text = !in_text;
        else if (!in_text && (c == '{' || c == '['))
            depth++;
        else if (!in_text && (c == '}' || c == ']') && depth)
            depth--;
        if (depth > JSON_DEPTH_MAX)
            return i;
    }
    return n;
}

static int refuse_depth(const char *text, size_t at, struct problem *problem)
{
    size_t i = problem->n_fields, line_begin = 0;
    int line = 1;

    problem_add(problem, PROBLEM_BAD_REQUEST, "", "nested more than %d deep", JSON_DEPTH_MAX);
    for (size_t k = 0; k < at; k++)
        if (text[k] == '\n') {
            line++;
            line_begin = k + 1;
        }
    if (i < PROBLEM_FIELDS_MAX) {
        problem->fields[i].line = line;
        problem->fields[i].column = (int)(at - line_begin) + 1;
    }
    return -EINVAL;
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/* Puts the number that ends at the offset into quotes, so that reading can go on. */
static void quote_number(struct str *text, size_t end)
{
    CLEANUP(str_fini) struct str whole = { 0 };
    size_t start = end;

    while (start > 0 && is_of_number(text->data[start - 1]))
        start--;
    str_add_bytes(&whole, text->data, start);
    str_add_char(&whole, '"');
    str_add_bytes(&whole, text->data + start, end - start);
    str_add_char(&whole, '"');
    str_add_bytes(&whole, text->data + end, text->len - end);
    str_fini(text);
    *text = (struct str){ 0 };
    str_add_bytes(text, whole.data, whole.len);
}

/* Reads once more with the last of what stands twice, so that the rest can be checked too. */
static int refuse_twice(const char *text, size_t n, const json_error_t *error, json_t **out,
                        struct problem *problem)
{
    size_t i = problem->n_fields;
    char pointer[JSON_POINTER_SIZE];
    json_t *value = json_loadb(text, n, JSON_DECODE_ANY, NULL);

    json_pointer_at(text, n, (size_t)error->position, pointer);
    problem_add(problem, PROBLEM_INVALID_FIELD, pointer, "the key stands here twice");
    if (i < PROBLEM_FIELDS_MAX) {
        problem->fields[i].line = error->line;
        problem->fields[i].column = error->column;
    }
    if (value)
        *out = value;
    return -EINVAL;
}

/* What the library says of a text that is no JSON, by how it begins, in our words; %s is what stands
 * there, where that is said. */
static const struct {
    const char *begin, *words, *else_words;
} syntax[] = {
    { "':' expected", "a colon must follow the key, not %s", "a colon must follow the key" },
    { "string or '}' expected", "a key in double quotes must stand here, not %s",
      "a key in double quotes must stand here" },
    { "'}' expected", "a comma or the object's } must follow, not %s",
      "a comma or the object's } must follow" },
    { "']' expected", "a comma or the list's ] must follow, not %s",
      "a comma or the list's ] must follow" },
    { "end of file expected", "nothing may follow the value: %s", "nothing may follow the value" },
    { "unexpected token", "a value must stand here, not %s", "a value must stand here" },
    { "invalid token", "%s is no value: want true, false, null, a number, or text in double quotes",
      "want true, false, null, a number, or text in double quotes" },
    { "unexpected newline", "text must end in its line; write \\n for a line's end", NULL },
    { "control character", "text has a control character; write it as \\u and four digits", NULL },
    { "invalid escape", "text has a backslash that begins nothing known; write \\\\ for one",
      NULL },
    { "invalid Unicode", "text has half of a pair of \\u escapes", NULL },
    { "unable to decode", "text has a byte that is not UTF-8", NULL },
    { "\\u0000", "text cannot hold \\u0000", NULL },
    { "NUL byte", "a key cannot hold \\u0000", NULL },
    { "premature end", "text is not closed: its double quote is missing", NULL },
};

/* What stands at a fault, by the library's text: "'x'", "the end"; "" where it is not said. */
static void add_near(const char *text, struct str *out)
{
    const char *near = strstr(text, " near ");

    if (near && strcmp(near, " near end of file") == 0)
        str_add(out, "the end");
    else if (near)
        str_add(out, near + strlen(" near "));
}

static void add_syntax(const json_error_t *error, struct str *out)
{
    CLEANUP(str_fini) struct str near = { 0 };

    add_near(error->text, &near);
    for (size_t i = 0; i < COUNT_OF(syntax); i++) {
        const char *words = syntax[i].words, *at = strstr(words, "%s");

        if (!text_begins(error->text, syntax[i].begin))
            continue;
        if (at && !near.len)
            str_add(out, syntax[i].else_words);
        else if (at)
            str_addf(out, "%.*s%s%s", (int)(at - words), words, near.data, at + 2);
        else
            str_add(out, words);
        return;
    }
    str_add(out, "it cannot be read from here on");
}

static int refuse_syntax(const char *text, size_t n, const json_error_t *error,
                         struct problem *problem)
{
    size_t i = problem->n_fields;
    CLEANUP(str_fini) struct str why = { 0 };
    char pointer[JSON_POINTER_SIZE];

    add_syntax(error, &why);
    /* The position is behind what was met. */
    json_pointer_at(text, n, (size_t)(error->position > 0 ? error->position - 1 : 0), pointer);
    problem_add(problem, PROBLEM_BAD_REQUEST, pointer, "not JSON: line %d, column %d: %s",
                error->line, error->column, why.data);
    if (i < PROBLEM_FIELDS_MAX) {
        problem->fields[i].line = error->line;
        problem->fields[i].column = error->column;
    }
    return -EINVAL;
}

/* Reads once more with each number that is too large made a text, and notes where it stands. */
static int read_large_numbers(const char *text, size_t n, json_error_t *error, json_t **out,
                              struct problem *problem)
{
    CLEANUP(str_fini) struct str copy = { 0 };
    json_t *value = NULL;

    str_add_bytes(&copy, text, n);
    for (int i = 0; i < PROBLEM_FIELDS_MAX && !value; i++) {
        char pointer[JSON_POINTER_SIZE];
        if (json_error_code(error) != json_error_numeric_overflow)
            return refuse_syntax(copy.data, copy.len, error, problem);
        json_pointer_at(copy.data, copy.len, (size_t)error->position, pointer);
        problem_add(problem, PROBLEM_INVALID_FIELD, pointer, "the number is too large");
        quote_number(&copy, (size_t)error->position);
        value = json_loadb(copy.data, copy.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, error);
    }
    json_locate(text, n, problem);
    *out = value;
    return -EINVAL;
}

int json_read(const char *text, size_t n, size_t most, json_t **out, struct problem *problem)
{
    json_error_t error;
    json_t *value;

    if (n > most)
        return problem_set(problem, PROBLEM_TOO_LARGE, "%zu bytes, and at most %zu are read", n,
                           most);
    if (too_deep_at(text, n) < n)
        return refuse_depth(text, too_deep_at(text, n), problem);
    value = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!value && json_error_code(&error) == json_error_numeric_overflow)
        return read_large_numbers(text, n, &error, out, problem);
    if (!value && json_error_code(&error) == json_error_duplicate_key)
        return refuse_twice(text, n, &error, out, problem);
    if (!value)
        return refuse_syntax(text, n, &error, problem);
    *out = value;
    return 0;
}

struct json_at json_at_top(const json_t *value, struct problem *problem)
{
    return (struct json_at){ .value = value, .problem = problem };
}

struct json_at json_at_member(const struct json_at *up, const char *key)
{
    return (struct json_at){
        .up = up, .key = key, .value = json_object_get(up->value, key), .problem = up->problem
    };
}

struct json_at json_at_item(const struct json_at *up, size_t index)
{
    return (struct json_at){
        .up = up, .index = index, .value = json_array_get(up->value, index), .problem = up->problem
    };
}

static void write_pointer(const struct json_at *at, struct str *out)
{
    if (!at->up)
        return;
    write_pointer(at->up, out);
    if (at->key)
        json_pointer_add(out, at->key, strlen(at->key));
    else
        str_addf(out, "/%zu", at->index);
}

void json_at_pointer(const struct json_at *at, char out[JSON_POINTER_SIZE])
{
    CLEANUP(str_fini) struct str pointer = { 0 };

    write_pointer(at, &pointer);
    snprintf(out, JSON_POINTER_SIZE, "%s", str_text(&pointer));
}

int json_refuse(const struct json_at *at, enum problem_code code, const char *fmt, ...)
{
    CLEANUP(str_fini) struct str text = { 0 };
    char pointer[JSON_POINTER_SIZE];
    va_list args;

    json_at_pointer(at, pointer);
    for (size_t i = 0; i < problem_n_kept(at->problem); i++)
        if (pointer[0] && strcmp(at->problem->fields[i].pointer, pointer) == 0)
            return -EINVAL; /* the first fault is the true one */

    va_start(args, fmt);
    str_addv(&text, fmt, args);
    va_end(args);
    return problem_add(at->problem, code, pointer, "%s", str_text(&text));
}

bool json_has_fault(const struct json_at *at)
{
    char pointer[JSON_POINTER_SIZE];
    size_t n;

    if (!at->problem->n_fields)
        return false;
    json_at_pointer(at, pointer);
    n = strlen(pointer);
    for (size_t i = 0; i < problem_n_kept(at->problem); i++) {
        const char *found = at->problem->fields[i].pointer;
        if (strncmp(found, pointer, n) == 0 && (!found[n] || found[n] == '/'))
            return true;
    }
    return false;
}

const char *json_type_word(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

static bool refuse_type(const struct json_at *at, const char *wanted)
{
    json_refuse(at, PROBLEM_INVALID_FIELD, "must be %s, not %s", wanted, json_type_word(at->value));
    return false;
}

static void refuse_unknown(const struct json_at *at, const char *name, const struct json_key *keys,
                           size_t n)
{
    const char *known[64];
    const char *near;
    size_t n_known = 0;

    for (size_t i = 0; i < n && n_known < COUNT_OF(known); i++)
        known[n_known++] = keys[i].name;
    /* No words are kept of more faults: it is not worth looking. */
    near = problem_n_kept(at->problem) < PROBLEM_FIELDS_MAX ? nearest(name, known, n_known) : NULL;
    if (near)
        json_refuse(at, PROBLEM_UNKNOWN_FIELD, "unknown key \"%.60s\"; did you mean \"%s\"?", name,
                    near);
    else
        json_refuse(at, PROBLEM_UNKNOWN_FIELD, "unknown key \"%.60s\"", name);
}

bool json_check_object(const struct json_at *at, const struct json_key *keys, size_t n)
{
    const char *name;
    json_t *value;

    if (!json_is_object(at->value))
        return refuse_type(at, "an object");
    json_object_foreach((json_t *)at->value, name, value)
    {
        struct json_at member = json_at_member(at, name);
        size_t i = 0;
        while (i < n && strcmp(keys[i].name, name) != 0)
            i++;
        if (i == n)
            refuse_unknown(&member, name, keys, n);
        else if (keys[i].comes_later)
            json_refuse(&member, PROBLEM_COMES_LATER, "\"%s\" " COMES_LATER_TEXT, name);
    }
    return true;
}

bool json_check_list(const struct json_at *at, size_t most)
{
    if (!json_is_array(at->value))
        return refuse_type(at, "a list");
    if (json_array_size(at->value) > most) {
        json_refuse(at, PROBLEM_INVALID_FIELD, "%zu entries, and at most %zu are allowed",
                    json_array_size(at->value), most);
        return false;
    }
    return true;
}

bool json_get_text(const struct json_at *up, const char *key, const char **out)
{
    struct json_at at = json_at_member(up, key);

    if (!at.value)
        return false;
    if (json_is_number(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "must be text, not a number: put it in quotes");
        return false;
    }
    if (!json_is_string(at.value))
        return refuse_type(&at, "text");
    *out = json_string_value(at.value);
    return true;
}

bool json_get_bool(const struct json_at *up, const char *key, bool *out)
{
    struct json_at at = json_at_member(up, key);

    if (!at.value)
        return false;
    if (!json_is_boolean(at.value))
        return refuse_type(&at, "true or false");
    *out = json_is_true(at.value);
    return true;
}

bool json_get_int(const struct json_at *up, const char *key, int64_t min, int64_t max, int64_t *out)
{
    struct json_at at = json_at_member(up, key);
    json_int_t value;

    if (!at.value)
        return false;
    if (json_is_real(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "must be a whole number from %" PRId64 " to %" PRId64, min, max);
        return false;
    }
    if (!json_is_integer(at.value))
        return refuse_type(&at, "a whole number");
    value = json_integer_value(at.value);
    if (value < min || value > max) {
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "%" JSON_INTEGER_FORMAT " is outside of %" PRId64 " to %" PRId64, value, min,
                    max);
        return false;
    }
    *out = value;
    return true;
}

bool json_get_real(const struct json_at *up, const char *key, double min, double max, double *out)
{
    struct json_at at = json_at_member(up, key);
    double value;

    if (!at.value)
        return false;
    if (!json_is_number(at.value))
        return refuse_type(&at, "a number");
    value = json_number_value(at.value);
    if (!(value >= min && value <= max)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "%g is outside of %g to %g", value, min, max);
        return false;
    }
    *out = value;
    return true;
}

bool json_get_word(const struct json_at *up, const char *key, const char *const *words, size_t n,
                   int *out)
{
    struct json_at at = json_at_member(up, key);
    CLEANUP(str_fini) struct str all = { 0 };
    const char *text;

    if (!json_get_text(up, key, &text))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (int)i;
            return true;
        }
        str_addf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    json_refuse(&at, PROBLEM_INVALID_FIELD, "\"%.40s\" is none of: %s", text, str_text(&all));
    return false;
}

bool json_get_part(const struct json_at *up, const char *key, int64_t most, uint32_t *out,
                   bool *is_percent)
{
    struct json_at at = json_at_member(up, key);
    CLEANUP(freep) char *digits = NULL;
    bool has_sign = false;
    int64_t value = 0;
    size_t n;

    if (!json_is_string(at.value)) {
        if (!json_get_int(up, key, 0, most, &value))
            return false;
    } else {
        digits = text_copy(json_string_value(at.value));
        n = strlen(digits);
        has_sign = n && digits[n - 1] == '%';
        if (has_sign)
            digits[n - 1] = '\0';
        if (text_to_int(digits, 0, has_sign ? 100 : most, &value) < 0) {
            json_refuse(&at, PROBLEM_INVALID_FIELD,
                        "\"%.40s\" is neither a number, 0 to %" PRId64
                        ", nor a part in percent, 0%% to 100%%",
                        json_string_value(at.value), most);
            return false;
        }
    }
    *out = (uint32_t)value;
    *is_percent = has_sign;
    return true;
}

bool json_get_duration(const struct json_at *up, const char *key, int64_t most_ms, int64_t *out_ms)
{
    struct json_at at = json_at_member(up, key);
    struct err err = { 0 };
    const char *text;
    int64_t ms;

    if (json_is_number(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "must be text with a unit, such as \"30s\" or \"1h30m\"");
        return false;
    }
    if (!json_get_text(up, key, &text))
        return false;
    if (duration_parse(text, &ms, &err) < 0) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "%s", err.text);
        return false;
    }
    if (ms > most_ms) {
        CLEANUP(str_fini) struct str most = { 0 };
        duration_format(most_ms, &most);
        json_refuse(&at, PROBLEM_INVALID_FIELD, "\"%.40s\" is longer than %s", text,
                    str_text(&most));
        return false;
    }
    *out_ms = ms;
    return true;
}

/* The shortest text that reads back as the number: what somebody may have written. */
static void real_text(double value, char out[40])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, 40, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

bool json_quantity(const struct json_at *at, enum quantity_unit unit, int64_t *out)
{
    struct err err = { 0 };
    const char *text = json_string_value(at->value);
    char plain[40];

    if (!json_is_string(at->value) && !json_is_number(at->value))
        return refuse_type(at, "a quantity");
    if (json_is_number(at->value)) {
        text = plain;
        if (fabs(json_number_value(at->value)) > (double)LARGEST_PLAIN) {
            json_refuse(at, PROBLEM_INVALID_FIELD,
                        "a plain number may be at most 2^53; write a text such as \"16Ei\"");
            return false;
        }
        if (json_is_integer(at->value))
            snprintf(plain, sizeof(plain), "%" JSON_INTEGER_FORMAT, json_integer_value(at->value));
        else
            real_text(json_real_value(at->value), plain);
    }
    if (quantity_parse(text, unit, out, &err) < 0) {
        json_refuse(at, PROBLEM_INVALID_FIELD, "%s", err.text);
        return false;
    }
    return true;
}

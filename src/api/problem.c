/* Problems: see problem.h. The document is RFC 9457's, with a member `errors` for the fields. */
#include "api/problem.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define TYPE_PREFIX "https://berth.example/problems/"

int problem_set(struct problem *problem, enum problem_code code, const char *fmt, ...)
{
    va_list args;

    if (problem->code)
        return -EINVAL;
    problem->code = code;
    va_start(args, fmt);
    vsnprintf(problem->detail, sizeof(problem->detail), fmt, args);
    va_end(args);
    return -EINVAL;
}

int problem_add(struct problem *problem, enum problem_code code, const char *pointer,
                const char *fmt, ...)
{
    struct problem_field field = { .code = code };
    va_list args;

    snprintf(field.pointer, sizeof(field.pointer), "%s", pointer);
    va_start(args, fmt);
    vsnprintf(field.text, sizeof(field.text), fmt, args);
    va_end(args);
    if (problem->n_fields < PROBLEM_FIELDS_MAX)
        problem->fields[problem->n_fields] = field;
    problem->n_fields++;
    return problem_set(problem, code, "%s%s%s", field.pointer, field.pointer[0] ? ": " : "",
                       field.text);
}

size_t problem_n_kept(const struct problem *problem)
{
    return problem->n_fields < PROBLEM_FIELDS_MAX ? problem->n_fields : PROBLEM_FIELDS_MAX;
}

void problem_write(const struct problem *problem, const char *path, struct str *out)
{
    for (size_t i = 0; i < problem_n_kept(problem); i++) {
        const struct problem_field *field = &problem->fields[i];
        if (path && field->line == PROBLEM_OF_WORDS)
            str_add(out, "command line: ");
        else if (path && field->line)
            str_addf(out, "%s:%d:%d: ", path, field->line, field->column);
        else if (path)
            str_addf(out, "%s: ", path);
        str_addf(out, "%s%s%s\n", field->pointer, field->pointer[0] ? ": " : "", field->text);
    }
    if (problem->n_fields > PROBLEM_FIELDS_MAX)
        str_addf(out, "and %zu more\n", problem->n_fields - PROBLEM_FIELDS_MAX);
    if (!problem->n_fields && problem->code)
        str_addf(out, "%s%s%s\n", path ? path : "", path ? ": " : "", problem->detail);
}

static void set_new(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        abort(); /* not text, or no memory: both are our own mistake */
}

/* A text that may be cut within a letter, as snprintf leaves it: whole letters only. */
static json_t *text_value(const char *text)
{
    size_t n = strlen(text);
    json_t *value = json_stringn(text, n);

    for (int i = 0; !value && i < 4 && n; i++)
        value = json_stringn(text, --n);
    return value ? value : json_string("(not UTF-8)");
}

/* invalid-field, of INVALID_FIELD. */
static json_t *type_value(const char *word)
{
    CLEANUP(str_fini) struct str type = { 0 };

    str_add(&type, TYPE_PREFIX);
    for (; *word; word++)
        str_add_char(&type, *word == '_' ? '-' : (char)tolower((unsigned char)*word));
    return json_string(str_text(&type));
}

static json_t *field_to_json(const struct problem_field *field)
{
    json_t *object = json_object();

    set_new(object, "pointer", text_value(field->pointer));
    set_new(object, "code", json_string(problem_codes[field->code].word));
    set_new(object, "detail", text_value(field->text));
    if (field->line) {
        set_new(object, "line", json_integer(field->line));
        set_new(object, "column", json_integer(field->column));
    }
    return object;
}

json_t *problem_to_json(const struct problem *problem, const char *request_id)
{
    enum problem_code code = problem->code ? problem->code : PROBLEM_INTERNAL;
    json_t *object = json_object(), *errors = json_array();

    set_new(object, "type", type_value(problem_codes[code].word));
    set_new(object, "title", json_string(problem_codes[code].sentence));
    set_new(object, "status", json_integer(problem_codes[code].status));
    set_new(object, "detail", text_value(problem->detail));
    set_new(object, "code", json_string(problem_codes[code].word));
    if (request_id)
        set_new(object, "requestId", text_value(request_id));
    for (size_t i = 0; i < problem_n_kept(problem); i++)
        json_array_append_new(errors, field_to_json(&problem->fields[i]));
    if (!problem->n_fields) {
        json_decref(errors);
        return object;
    }
    set_new(object, "errors", errors);
    if (problem->n_fields > PROBLEM_FIELDS_MAX)
        set_new(object, "errorsFound", json_integer((json_int_t)problem->n_fields));
    return object;
}

/* The code of a word; of one that this version does not know, the first with that status. */
static enum problem_code code_of(const char *word, int status)
{
    for (int i = 1; word && i < PROBLEM_CODE_COUNT; i++)
        if (text_eq(word, problem_codes[i].word))
            return (enum problem_code)i;
    for (int i = 1; i < PROBLEM_CODE_COUNT; i++)
        if (problem_codes[i].status == status)
            return (enum problem_code)i;
    return status >= 500 ? PROBLEM_INTERNAL : PROBLEM_BAD_REQUEST;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void field_from_json(const json_t *object, struct problem *out)
{
    const char *pointer = text_of(object, "pointer"), *text = text_of(object, "detail");
    json_int_t line = json_integer_value(json_object_get(object, "line"));
    json_int_t column = json_integer_value(json_object_get(object, "column"));
    size_t at = out->n_fields;

    problem_add(out, code_of(text_of(object, "code"), 422), pointer ? pointer : "", "%s",
                text ? text : "");
    if (at < PROBLEM_FIELDS_MAX && line > 0 && line < INT32_MAX && column < INT32_MAX) {
        out->fields[at].line = (int)line;
        out->fields[at].column = column > 0 ? (int)column : 0;
    }
}

void problem_from_json(const json_t *document, int status, struct problem *out)
{
    const json_t *errors = json_object_get(document, "errors"), *error;
    const char *detail = text_of(document, "detail");
    json_int_t found = json_integer_value(json_object_get(document, "errorsFound"));
    size_t i;

    *out = (struct problem){ 0 };
    problem_set(out, code_of(text_of(document, "code"), status), "%s",
                detail ? detail : "the answer does not say why");
    json_array_foreach(errors, i, error) field_from_json(error, out);
    if (found > 0 && (size_t)found > out->n_fields)
        out->n_fields = (size_t)found;
}

/*
 * YAML: see yaml.h. The same walk reads the values and, once there is a fault, finds the lines.
 */
#include "api/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "api/json.h"
#include "api/json_walk.h"
#include "base/map.h"
#include "base/str.h"

#define CORE_TAG "tag:yaml.org,2002:"

struct anchor {
    char *name;
    json_t *value;
};

struct loader {
    const char *text;
    size_t n;
    yaml_parser_t parser;
    struct problem *problem; /* of reading */
    struct problem *sought;  /* of locating; NULL while reading */
    struct located located;
    struct str pointer;
    struct map anchors; /* name to struct anchor */
    size_t n_values, most_values;
};

static void event_fini(yaml_event_t *event)
{
    yaml_event_delete(event);
}

static int refuse(struct loader *l, enum problem_code code, const yaml_mark_t *mark,
                  const char *text)
{
    size_t at = l->problem->n_fields;

    problem_add(l->problem, code, str_text(&l->pointer), "%s", text);
    if (at < PROBLEM_FIELDS_MAX) {
        l->problem->fields[at].line = (int)mark->line + 1;
        l->problem->fields[at].column = (int)mark->column + 1;
    }
    return -EINVAL;
}

static int refuse_text(struct loader *l, const yaml_mark_t *mark, const char *text)
{
    CLEANUP(str_fini) struct str whole = { 0 };

    l->pointer.len = 0;
    str_add(&l->pointer, "");
    str_addf(&whole, "not YAML: %s", text);
    return refuse(l, PROBLEM_BAD_REQUEST, mark, str_text(&whole));
}

/* The library reads ahead and tells of bytes that it cannot read only how many were before them. */
static yaml_mark_t unread(const struct loader *l)
{
    yaml_mark_t mark = { 0 };
    size_t n = l->parser.problem_offset < l->n ? l->parser.problem_offset : l->n;

    for (size_t i = 0; i < n; i++) {
        mark.line += l->text[i] == '\n';
        mark.column = l->text[i] == '\n' ? 0 : mark.column + ((l->text[i] & 0xc0) != 0x80);
    }
    return mark;
}

static int next_event(struct loader *l, yaml_event_t *event)
{
    yaml_mark_t mark;

    if (yaml_parser_parse(&l->parser, event))
        return 0;
    mark = l->parser.error == YAML_READER_ERROR ? unread(l) : l->parser.problem_mark;
    return refuse_text(l, &mark, l->parser.problem ? l->parser.problem : "cannot be read");
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(text, ...)                                                                       \
    is_one_of((text), (const char *const[]){ __VA_ARGS__ },                                        \
              COUNT_OF(((const char *const[]){ __VA_ARGS__ })))

static bool is_int(const char *text)
{
    text += *text == '-' || *text == '+';
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* 0o17, 0x1f. */
static int based(const char *text)
{
    if (text_begins(text, "0o") && text[2] && !text[2 + strspn(text + 2, "01234567")])
        return 8;
    if (text_begins(text, "0x") && text[2] && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
        return 16;
    return 0;
}

static bool is_float(const char *text)
{
    size_t n_whole, n_part = 0;

    text += *text == '-' || *text == '+';
    n_whole = strspn(text, "0123456789");
    text += n_whole;
    if (*text == '.') {
        n_part = strspn(++text, "0123456789");
        text += n_part;
    }
    if (!n_whole && !n_part)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        return is_int(text) && *text != '-' && *text != '+';
    }
    return *text == '\0';
}

/* A number that cannot be held is noted and goes on as text. */
static void keep_as_text(struct loader *l, const yaml_event_t *event, const char *text,
                         const char *why, json_t **out)
{
    if (refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark, why) < 0)
        *out = json_string(text);
}

static void number_value(struct loader *l, const yaml_event_t *event, const char *text, int base,
                         json_t **out)
{
    double real = 0;
    long long whole = 0;

    errno = 0;
    if (base)
        whole = strtoll(base == 10 ? text : text + 2, NULL, base);
    else
        real = strtod(text, NULL);
    if ((base && errno) || !isfinite(real))
        keep_as_text(l, event, text, "the number is too large", out);
    else
        *out = base ? json_integer(whole) : json_real(real);
}

/* The core schema. */
static void plain_value(struct loader *l, const yaml_event_t *event, const char *text, json_t **out)
{
    const char *unsigned_text = text + (*text == '-' || *text == '+');

    if (IS_ONE_OF(text, "", "~", "null", "Null", "NULL"))
        *out = json_null();
    else if (IS_ONE_OF(text, "true", "True", "TRUE"))
        *out = json_true();
    else if (IS_ONE_OF(text, "false", "False", "FALSE"))
        *out = json_false();
    else if (IS_ONE_OF(unsigned_text, ".inf", ".Inf", ".INF") ||
             IS_ONE_OF(text, ".nan", ".NaN", ".NAN"))
        keep_as_text(l, event, text, "must be a finite number", out);
    else if (is_int(text))
        number_value(l, event, text, 10, out);
    else if (based(text))
        number_value(l, event, text, based(text), out);
    else if (is_float(text))
        number_value(l, event, text, 0, out);
    else
        *out = json_string(text);
}

/* Borrowed text without NUL, or NULL and refused. */
static const char *scalar_text(struct loader *l, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (strlen(text) == event->data.scalar.length)
        return text;
    refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark, "holds a NUL");
    return NULL;
}

static bool tag_is(const yaml_char_t *tag, const char *core)
{
    return text_begins((const char *)tag, CORE_TAG) &&
           strcmp((const char *)tag + strlen(CORE_TAG), core) == 0;
}

static int load_scalar(struct loader *l, const yaml_event_t *event, json_t **out)
{
    const yaml_char_t *tag = event->data.scalar.tag;
    const char *text = scalar_text(l, event);

    if (!text)
        return -EINVAL;
    if (tag && strcmp((const char *)tag, "!") != 0 && !tag_is(tag, "str"))
        return refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark,
                      "has a tag; the only one that is read is !!str");
    if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        plain_value(l, event, text, out);
    else
        *out = json_string(text);
    return 0;
}

static int load_node(struct loader *l, const yaml_event_t *event, int depth, json_t **out);

static void leave(struct loader *l, size_t n_pointer)
{
    l->pointer.len = n_pointer;
    str_add(&l->pointer, "");
}

static void note(struct loader *l, const yaml_event_t *event)
{
    if (l->sought)
        located_note(&l->located, l->sought, str_text(&l->pointer), (int)event->start_mark.line + 1,
                     (int)event->start_mark.column + 1);
}

static int load_list(struct loader *l, int depth, json_t **out)
{
    CLEANUP(json_decrefp) json_t *list = json_array();
    size_t n_pointer = l->pointer.len;

    for (size_t i = 0;; i++) {
        CLEANUP(event_fini) yaml_event_t event = { 0 };
        json_t *value = NULL;
        int r = next_event(l, &event);
        if (r < 0)
            return r;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            break;
        str_addf(&l->pointer, "/%zu", i);
        note(l, &event);
        r = load_node(l, &event, depth + 1, &value);
        if (r < 0)
            return r;
        json_array_append_new(list, value);
        leave(l, n_pointer);
    }
    *out = TAKE(list);
    return 0;
}

enum { KEY_TWICE = 1 };

/* Returns 0 or KEY_TWICE; -EINVAL where nothing behind it can be read. */
static int check_key(struct loader *l, const yaml_event_t *event, const json_t *object)
{
    const char *key;

    if (event->type != YAML_SCALAR_EVENT)
        return refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark, "a key must be plain text");
    key = scalar_text(l, event);
    if (!key)
        return -EINVAL;
    json_pointer_add(&l->pointer, key, strlen(key));
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(key, "<<") == 0)
        return refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark, "merge keys are not read");
    if (json_object_get(object, key)) {
        (void)refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark, "the key stands here twice");
        return KEY_TWICE;
    }
    note(l, event);
    return 0;
}

/* The value of a key; of one that stands twice it is read over. */
static int load_member(struct loader *l, const yaml_event_t *event, int depth, bool is_twice,
                       json_t **out)
{
    struct problem *sought = l->sought;
    int r;

    if (is_twice)
        l->sought = NULL;
    r = load_node(l, event, depth, out);
    l->sought = sought;
    return r;
}

static int load_object(struct loader *l, int depth, json_t **out)
{
    CLEANUP(json_decrefp) json_t *object = json_object();
    size_t n_pointer = l->pointer.len;

    for (;;) {
        CLEANUP(event_fini) yaml_event_t key = { 0 }, event = { 0 };
        json_t *value = NULL;
        bool is_twice;
        int r = next_event(l, &key);
        if (r < 0)
            return r;
        if (key.type == YAML_MAPPING_END_EVENT)
            break;
        r = check_key(l, &key, object);
        is_twice = r == KEY_TWICE;
        if (r >= 0)
            r = next_event(l, &event);
        if (r == 0)
            r = load_member(l, &event, depth + 1, is_twice, &value);
        if (r < 0)
            return r;
        json_object_set_new(object, (const char *)key.data.scalar.value, value);
        leave(l, n_pointer);
    }
    *out = TAKE(object);
    return 0;
}

/* Counts a value's parts into n, no further than most; returns its depth. */
static int measure(const json_t *value, size_t *n, size_t most)
{
    int deepest = 0;
    const char *key;
    json_t *member;
    size_t i;

    if (++*n > most)
        return 0;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, member)
        {
            int depth = measure(member, n, most);
            deepest = depth > deepest ? depth : deepest;
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, member)
        {
            int depth = measure(member, n, most);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    return deepest + (json_is_object(value) || json_is_array(value));
}

static int load_alias(struct loader *l, const yaml_event_t *event, int depth, json_t **out)
{
    const struct anchor *anchor = map_get(&l->anchors, (const char *)event->data.alias.anchor);
    int deepest;

    if (!anchor)
        return refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark,
                      "the alias names nothing that stands before it");
    deepest = measure(anchor->value, &l->n_values, l->most_values);
    if (l->n_values > l->most_values)
        return refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark,
                      "the aliases make more values than are read");
    if (depth + deepest > JSON_DEPTH_MAX)
        return refuse(l, PROBLEM_BAD_REQUEST, &event->start_mark, "nested more than 128 deep");
    *out = json_deep_copy(anchor->value); /* a copy, so that a change to one place is one */
    return 0;
}

static void anchor_free(struct anchor *anchor)
{
    if (!anchor)
        return;
    json_decref(anchor->value);
    mem_free(anchor->name);
    mem_free(anchor);
}

/* A name may be given again: aliases behind mean the last one. */
static void keep_anchor(struct loader *l, const yaml_char_t *name, json_t *value)
{
    struct anchor *anchor = NEW0(struct anchor);

    anchor->name = text_copy((const char *)name);
    anchor->value = json_incref(value);
    anchor_free(map_put(&l->anchors, anchor->name, anchor));
}

static int load_collection(struct loader *l, const yaml_event_t *event, int depth, json_t **out)
{
    bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *tag =
        is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;

    if (tag && !tag_is(tag, is_list ? "seq" : "map"))
        return refuse(l, PROBLEM_INVALID_FIELD, &event->start_mark,
                      "has a tag; the only one that is read is !!str");
    if (depth + 1 > JSON_DEPTH_MAX)
        return refuse(l, PROBLEM_BAD_REQUEST, &event->start_mark, "nested more than 128 deep");
    return is_list ? load_list(l, depth, out) : load_object(l, depth, out);
}

/* depth: how many collections are around it. */
static int load_node(struct loader *l, const yaml_event_t *event, int depth, json_t **out)
{
    const yaml_char_t *anchor = NULL;
    int r;

    if (event->type == YAML_ALIAS_EVENT)
        return load_alias(l, event, depth, out);
    if (++l->n_values > l->most_values)
        return refuse(l, PROBLEM_BAD_REQUEST, &event->start_mark, "more values than are read");
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        r = load_scalar(l, event, out);
    } else {
        anchor = event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
                                                          : event->data.mapping_start.anchor;
        r = load_collection(l, event, depth, out);
    }
    if (r == 0 && !*out)
        r = refuse_text(l, &event->start_mark, "the text is not UTF-8");
    if (r == 0 && anchor)
        keep_anchor(l, anchor, *out);
    return r;
}

/* Everything up to the first node; an empty stream has none. */
static int begin(struct loader *l, yaml_event_t *event)
{
    for (;;) {
        int r = next_event(l, event);
        if (r < 0)
            return r;
        if (event->type != YAML_STREAM_START_EVENT && event->type != YAML_DOCUMENT_START_EVENT)
            return 0;
        yaml_event_delete(event);
    }
}

static int check_end(struct loader *l)
{
    for (;;) {
        CLEANUP(event_fini) yaml_event_t event = { 0 };
        int r = next_event(l, &event);
        if (r < 0)
            return r;
        if (event.type == YAML_STREAM_END_EVENT)
            return 0;
        if (event.type == YAML_DOCUMENT_START_EVENT)
            return refuse_text(l, &event.start_mark, "a second document begins here");
    }
}

static int load(struct loader *l, json_t **out)
{
    CLEANUP(event_fini) yaml_event_t event = { 0 };
    int r = begin(l, &event);

    if (r < 0)
        return r;
    note(l, &event);
    if (event.type == YAML_STREAM_END_EVENT) {
        *out = json_null();
        return 0;
    }
    r = load_node(l, &event, 0, out);
    if (r < 0)
        return r;
    r = check_end(l);
    if (r < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return r;
}

static void loader_init(struct loader *l, const char *text, size_t n, struct problem *problem)
{
    size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of byte order */

    *l = (struct loader){ .text = text + mark, .n = n - mark, .problem = problem };
    l->most_values = n + YAML_VALUES_SPARE;
    if (!yaml_parser_initialize(&l->parser))
        abort(); /* no memory */
    yaml_parser_set_encoding(&l->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l->parser, (const unsigned char *)l->text, l->n);
}

static void loader_fini(struct loader *l)
{
    MAP_EACH (entry, &l->anchors)
        anchor_free(entry->value);
    map_fini(&l->anchors);
    str_fini(&l->pointer);
    yaml_parser_delete(&l->parser);
}

int yaml_read(const char *text, size_t n, size_t most, json_t **out, struct problem *problem)
{
    CLEANUP(loader_fini) struct loader l = { 0 };
    json_t *value = NULL;
    int r;

    if (n > most)
        return problem_set(problem, PROBLEM_TOO_LARGE, "%zu bytes, and at most %zu are read", n,
                           most);
    loader_init(&l, text, n, problem);
    r = load(&l, &value);
    if (r == 0)
        *out = value;
    return problem->code ? -EINVAL : r;
}

void yaml_locate(const char *text, size_t n, struct problem *problem)
{
    CLEANUP(loader_fini) struct loader l = { 0 };
    struct problem unused = { 0 };
    json_t *value = NULL;

    if (!problem->n_fields)
        return;
    loader_init(&l, text, n, &unused);
    l.sought = problem;
    located_begin(&l.located, problem);
    if (load(&l, &value) == 0)
        json_decref(value);
}

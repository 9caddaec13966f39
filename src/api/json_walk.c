/* Walking: see json_walk.h. */
#include "api/json_walk.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/str.h"

void json_pointer_add(struct str *out, const char *key, size_t n)
{
    str_add_char(out, '/');
    for (size_t i = 0; i < n; i++) {
        if (key[i] == '~')
            str_add(out, "~0");
        else if (key[i] == '/')
            str_add(out, "~1");
        else
            str_add_char(out, key[i]);
    }
}

void located_begin(struct located *located, const struct problem *problem)
{
    *located = (struct located){ 0 };
    for (size_t i = 0; i < problem_n_kept(problem); i++)
        if (problem->fields[i].line)
            located->n_matched[i] = SIZE_MAX;
}

void located_note(struct located *located, struct problem *problem, const char *pointer, int line,
                  int column)
{
    size_t n = strlen(pointer);

    for (size_t i = 0; i < problem_n_kept(problem); i++) {
        struct problem_field *field = &problem->fields[i];
        bool leads = strncmp(field->pointer, pointer, n) == 0 &&
                     (field->pointer[n] == '\0' || field->pointer[n] == '/');
        if (!leads || (field->line && n <= located->n_matched[i]))
            continue;
        field->line = line;
        field->column = column;
        located->n_matched[i] = n;
    }
}

struct walk {
    const char *text;
    size_t n, at;
    int line, column;
    int depth;
    struct str pointer; /* of where we are */
    /* either: look for the value around an offset */
    bool wants_offset;
    size_t offset;
    char *out;
    /* or: note all places */
    struct located located;
    struct problem *problem;
};

static void step(struct walk *w)
{
    if (w->text[w->at] == '\n') {
        w->line++;
        w->column = 0;
    }
    /* A column is a letter, not a byte. */
    if (((unsigned char)w->text[w->at] & 0xc0) != 0x80)
        w->column++;
    w->at++;
}

static bool ahead(const struct walk *w, char c)
{
    return w->at < w->n && w->text[w->at] == c;
}

static void skip_blanks(struct walk *w)
{
    while (w->at < w->n && strchr(" \t\r\n", w->text[w->at]))
        step(w);
}

/* Passes a text; start and end are within its quotes. */
static void skip_text(struct walk *w, size_t *start, size_t *end)
{
    step(w);
    *start = w->at;
    while (w->at < w->n && w->text[w->at] != '"') {
        if (w->text[w->at] == '\\' && w->at + 1 < w->n)
            step(w);
        step(w);
    }
    *end = w->at;
    if (w->at < w->n)
        step(w);
}

static void note(struct walk *w, int line, int column)
{
    if (!w->wants_offset)
        located_note(&w->located, w->problem, str_text(&w->pointer), line, column);
}

/* What stands between start and here: jansson points behind the number or key that it met. */
static void take_place(struct walk *w, size_t start)
{
    if (!w->wants_offset || !w->out || w->offset < start || w->offset > w->at)
        return;
    snprintf(w->out, 200, "%s", str_text(&w->pointer));
    w->out = NULL;
}

static void walk_value(struct walk *w);

static void walk_list(struct walk *w)
{
    size_t n_pointer = w->pointer.len, index = 0;

    step(w);
    for (skip_blanks(w); w->at < w->n && !ahead(w, ']'); skip_blanks(w)) {
        size_t before = w->at;
        str_addf(&w->pointer, "/%zu", index++);
        note(w, w->line, w->column);
        walk_value(w);
        w->pointer.len = n_pointer;
        str_add(&w->pointer, "");
        skip_blanks(w);
        if (ahead(w, ',') || w->at == before)
            step(w);
    }
    if (w->at < w->n)
        step(w);
}

/* The key as it was meant, for keys with simple escapes; others keep them as written. */
static void add_key(struct walk *w, size_t start, size_t end)
{
    CLEANUP(str_fini) struct str key = { 0 };

    for (size_t i = start; i < end; i++) {
        if (w->text[i] == '\\' && i + 1 < end && strchr("\"\\/", w->text[i + 1]))
            i++;
        str_add_char(&key, w->text[i]);
    }
    json_pointer_add(&w->pointer, str_text(&key), key.len);
}

static void walk_object(struct walk *w)
{
    size_t n_pointer = w->pointer.len;

    step(w);
    for (skip_blanks(w); ahead(w, '"'); skip_blanks(w)) {
        int line = w->line, column = w->column;
        size_t start, end;
        skip_text(w, &start, &end);
        add_key(w, start, end);
        take_place(w, start - 1);
        note(w, line, column);
        skip_blanks(w);
        if (ahead(w, ':'))
            step(w);
        skip_blanks(w);
        walk_value(w);
        w->pointer.len = n_pointer;
        str_add(&w->pointer, "");
        skip_blanks(w);
        if (ahead(w, ','))
            step(w);
    }
    if (w->at < w->n)
        step(w);
}

static void walk_value(struct walk *w)
{
    size_t start = w->at, unused;

    if (w->at >= w->n || w->depth > 512)
        return;
    w->depth++;
    if (ahead(w, '{')) {
        walk_object(w);
    } else if (ahead(w, '[')) {
        walk_list(w);
    } else if (ahead(w, '"')) {
        skip_text(w, &unused, &unused);
    } else {
        while (w->at < w->n && !strchr(" \t\r\n,]}:\"{[", w->text[w->at]))
            step(w);
    }
    w->depth--;
    take_place(w, start); /* the innermost value is left first */
}

void json_pointer_at(const char *text, size_t n, size_t offset, char out[200])
{
    struct walk w = { .text = text,
                      .n = n,
                      .line = 1,
                      .column = 1,
                      .wants_offset = true,
                      .offset = offset,
                      .out = out };

    out[0] = '\0';
    skip_blanks(&w);
    walk_value(&w);
    str_fini(&w.pointer);
}

void json_locate(const char *text, size_t n, struct problem *problem)
{
    struct walk w = { .text = text, .n = n, .line = 1, .column = 1, .problem = problem };

    if (!problem->n_fields)
        return;
    skip_blanks(&w);
    located_begin(&w.located, problem);
    note(&w, w.line, w.column);
    walk_value(&w);
    str_fini(&w.pointer);
}

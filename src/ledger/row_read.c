/*
 * Reading rows back from the JSON of events. What row_to_json wrote gives the same row, to the
 * byte: values that are JSON themselves are taken as they stand, never parsed and printed.
 * Anything that it could not have written is refused.
 */
#include "ledger/schema.h"

#include "ledger/ledger.h"

#include <errno.h>
#include <string.h>

#include "base/states.h"

enum { DEPTH_MAX = 64 };

struct scan {
    const char *at, *end;
};

static void skip_blank(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool take(struct scan *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool take_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static bool skip_digits(struct scan *s)
{
    if (!is_digit(s))
        return false;
    while (is_digit(s))
        s->at++;
    return true;
}

static bool skip_number(struct scan *s)
{
    take(s, '-');
    if (!take(s, '0') && !skip_digits(s))
        return false;
    if (take(s, '.') && !skip_digits(s))
        return false;
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '+'))
            take(s, '-');
        return skip_digits(s);
    }
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool skip_hex4(struct scan *s)
{
    for (int i = 0; i < 4; i++, s->at++)
        if (s->at == s->end || hex_value(*s->at) < 0)
            return false;
    return true;
}

static bool skip_string(struct scan *s)
{
    if (!take(s, '"'))
        return false;
    while (s->at < s->end) {
        char c = *s->at++;
        if (c == '"')
            return true;
        if ((unsigned char)c < 0x20)
            return false;
        if (c != '\\')
            continue;
        if (s->at == s->end)
            return false;
        c = *s->at++;
        if (c == 'u' ? !skip_hex4(s) : !strchr("\"\\/bfnrt", c) || c == '\0')
            return false;
    }
    return false;
}

static bool skip_value(struct scan *s, int depth);

/* The members of an object or the values of a list, behind its opening sign. */
static bool skip_members(struct scan *s, char close, int depth)
{
    skip_blank(s);
    if (take(s, close))
        return true;
    do {
        skip_blank(s);
        if (close == '}') {
            if (!skip_string(s))
                return false;
            skip_blank(s);
            if (!take(s, ':'))
                return false;
        }
        if (!skip_value(s, depth))
            return false;
        skip_blank(s);
    } while (take(s, ','));
    return take(s, close);
}

static bool skip_value(struct scan *s, int depth)
{
    skip_blank(s);
    if (s->at == s->end || depth == DEPTH_MAX)
        return false;
    switch (*s->at) {
    case '{':
        s->at++;
        return skip_members(s, '}', depth + 1);
    case '[':
        s->at++;
        return skip_members(s, ']', depth + 1);
    case '"':
        return skip_string(s);
    case 't':
        return take_word(s, "true");
    case 'f':
        return take_word(s, "false");
    case 'n':
        return take_word(s, "null");
    }
    return skip_number(s);
}

bool json_is_well(const char *text, char opens)
{
    struct scan s = { text, text + strlen(text) };

    if (*text != opens || !skip_value(&s, 0))
        return false;
    return s.at == s.end;
}

/* The text of a string, with the few escapes that put_string writes. */
static bool read_string(struct scan *s, struct str *out)
{
    const char *start = s->at + 1, *end;

    if (!skip_string(s))
        return false;
    end = s->at - 1;
    str_clear(out);
    for (const char *at = start; at < end; at++) {
        char c = *at;
        if (c == '\\') {
            c = *++at;
            if (c == 'u') {
                if (at[1] != '0' || at[2] != '0' || (c = (char)hex_value(at[3])) > 1)
                    return false;
                c = (char)((unsigned)c << 4 | (unsigned)hex_value(at[4]));
                if (c == '\0')
                    return false;
                at += 4;
            } else if (c != '"' && c != '\\') {
                return false;
            }
        } else if (c == '\0') {
            return false;
        }
        str_add_char(out, c);
    }
    return true;
}

static bool read_int(struct scan *s, int64_t *out)
{
    bool is_negative = take(s, '-');
    uint64_t value = 0;

    if (!is_digit(s))
        return false;
    for (; is_digit(s); s->at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s->at - '0'), &value))
            return false;
    if (value > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool read_word(struct scan *s, const struct column *column, struct str *word, int64_t *out)
{
    int found;

    if (!read_string(s, word))
        return false;
    found = states_find(str_text(word), column->words, column->n_words);
    *out = found;
    return found >= 0;
}

static bool read_column(struct scan *s, const struct column *column, struct str *word, void *row)
{
    const char *start = s->at;
    int64_t value = 0;

    switch (column->type) {
    case COLUMN_TEXT:
        if (!read_string(s, word))
            return false;
        row_put_text(row, column, str_text(word), word->len);
        return true;
    case COLUMN_JSON:
        if (!skip_value(s, 0) || memchr(start, '\0', (size_t)(s->at - start)))
            return false;
        row_put_text(row, column, start, (size_t)(s->at - start));
        return true;
    case COLUMN_BOOL:
        value = take_word(s, "true");
        if (!value && !take_word(s, "false"))
            return false;
        break;
    case COLUMN_INT:
        if (column->words ? !read_word(s, column, word, &value) : !read_int(s, &value))
            return false;
        break;
    }
    row_put_int(row, column, value);
    return true;
}

static const struct column *find_column(const struct kind *k, const char *name, uint64_t *seen)
{
    for (size_t i = 0; i < k->n_columns; i++) {
        if (strcmp(k->columns[i].name, name) != 0)
            continue;
        if (*seen >> i & 1)
            return NULL;
        *seen |= (uint64_t)1 << i;
        return &k->columns[i];
    }
    return NULL;
}

/* Reads one member: "name":value. Returns what is wrong, or NULL. */
static const char *read_member(struct scan *s, const struct kind *k, struct str *word, void *row,
                               uint64_t *seen)
{
    const struct column *column;

    if (!read_string(s, word))
        return "no name where one is due";
    column = find_column(k, str_text(word), seen);
    if (!column)
        return "a column that is not known, or comes twice";
    if (!take(s, ':') || !read_column(s, column, word, row))
        return "a value that its column cannot hold";
    return NULL;
}

static const char *read_row(struct scan *s, const struct kind *k, struct str *word, void *row)
{
    uint64_t seen = 0, keys = ((uint64_t)1 << k->n_keys) - 1;
    const char *wrong;

    if (!take(s, '{'))
        return "no object";
    do {
        wrong = read_member(s, k, word, row, &seen);
        if (wrong)
            return wrong;
    } while (take(s, ','));
    if (!take(s, '}') || s->at != s->end)
        return "no end where one is due";
    return (seen & keys) == keys ? NULL : "a key is missing";
}

int row_from_json(enum row_kind kind, const char *text, size_t n, void **out, struct err *err)
{
    CLEANUP(str_fini) struct str word = { 0 };
    struct scan s = { text, text + n };
    void *row = row_new(kind);
    const char *wrong = read_row(&s, &schema[kind], &word, row);

    if (wrong) {
        row_free(kind, row);
        return err_set(err, -EINVAL, "row of %s: %s, at byte %zu", schema[kind].name, wrong,
                       (size_t)(s.at - text));
    }
    *out = row;
    return 0;
}

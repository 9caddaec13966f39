/*
 * YAML out: block style, members in the order of the object, as `-o yaml` prints them.
 *
 * Strings stay plain only where YAML 1.1 and 1.2 both read them as that string.
 */
#include <ctype.h>
#include <string.h>

#include "cli/output.h"

/* Words that some reader of YAML takes for a boolean, null or number. */
static bool is_special_word(const char *text)
{
    static const char *const words[] = { "true", "false", "yes", "no",   "on",   "off",  "y",
                                         "n",    "null",  "~",   ".nan", ".inf", "-.inf" };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

static bool is_plain(const char *text, size_t n)
{
    if (n == 0 || strlen(text) != n || is_special_word(text))
        return false;
    if (!isalpha((unsigned char)text[0]) && text[0] != '/' && text[0] != '_')
        return false; /* numbers, dates and all that YAML gives a meaning to */
    if (text[n - 1] == ' ' || text[n - 1] == ':')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~' || text[i] == '"')
            return false;
    return !strstr(text, ": ") && !strstr(text, " #");
}

static void add_string(const char *text, size_t n, struct str *out)
{
    json_t *value;
    char *quoted;

    if (is_plain(text, n)) {
        str_add_bytes(out, text, n);
        return;
    }
    /* A JSON string is a double-quoted YAML scalar. */
    value = json_stringn(text, n);
    quoted = json_dumps(value, JSON_ENCODE_ANY);
    str_add(out, quoted ? quoted : "\"\"");
    free(quoted);
    json_decref(value);
}

static bool is_nested(const json_t *value)
{
    return (json_is_object(value) && json_object_size(value) > 0) ||
           (json_is_array(value) && json_array_size(value) > 0);
}

static void add_scalar(const json_t *value, struct str *out)
{
    char *text;

    if (json_is_string(value)) {
        add_string(json_string_value(value), json_string_length(value), out);
        return;
    }
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT); /* also {} and [] */
    str_add(out, text ? text : "null");
    free(text);
}

static void add_indent(size_t depth, struct str *out)
{
    for (size_t i = 0; i < depth; i++)
        str_add(out, "  ");
}

/* is_first_inline: the first line stands behind "- " already. */
static void add_value(const json_t *value, size_t depth, bool is_first_inline, struct str *out)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, member)
        {
            if (!is_first_inline)
                add_indent(depth, out);
            is_first_inline = false;
            add_string(key, strlen(key), out);
            str_add(out, is_nested(member) ? ":\n" : ": ");
            if (is_nested(member))
                add_value(member, depth + 1, false, out);
            else
                add_value(member, 0, true, out);
        }
    } else {
        json_array_foreach(value, i, member)
        {
            if (!is_first_inline)
                add_indent(depth, out);
            is_first_inline = false;
            str_add(out, "- ");
            add_value(member, depth + 1, true, out);
        }
    }
    if (!is_nested(value)) {
        add_scalar(value, out);
        str_add_char(out, '\n');
    }
}

void yaml_format(const json_t *value, struct str *out)
{
    add_value(value, 0, true, out);
}

/* Strings: see str.h. Never fails: sizes from outside are limited by who reads them. */
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void str_fini(struct str *str)
{
    free(str->data);
    *str = (struct str){ 0 };
}

const char *str_text(const struct str *str)
{
    return str->data ? str->data : "";
}

char *str_take(struct str *str)
{
    char *data = str->data ? str->data : text_copy("");

    *str = (struct str){ 0 };
    return data;
}

void str_clear(struct str *str)
{
    str->len = 0;
    if (str->data)
        str->data[0] = '\0';
}

char *str_room(struct str *str, size_t n)
{
    size_t need = str->len + n + 1;

    if (need > str->cap) {
        size_t cap = str->cap ? str->cap : 64;
        while (cap < need)
            cap *= 2;
        str->data = mem_resize(str->data, cap, 1);
        str->cap = cap;
    }
    return str->data + str->len;
}

void str_add_bytes(struct str *str, const void *data, size_t n)
{
    char *at = str_room(str, n);

    if (n)
        memcpy(at, data, n);
    str->len += n;
    str->data[str->len] = '\0';
}

void str_add(struct str *str, const char *text)
{
    str_add_bytes(str, text, strlen(text));
}

void str_add_char(struct str *str, char c)
{
    str_add_bytes(str, &c, 1);
}

void str_addv(struct str *str, const char *fmt, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    assert(n >= 0);
    vsnprintf(str_room(str, (size_t)n), (size_t)n + 1, fmt, again);
    va_end(again);
    str->len += (size_t)n;
}

void str_addf(struct str *str, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    str_addv(str, fmt, args);
    va_end(args);
}

void str_drop(struct str *str, size_t n)
{
    assert(n <= str->len);
    if (!n)
        return;
    str->len -= n;
    memmove(str->data, str->data + n, str->len + 1);
}

char *text_format(const char *fmt, ...)
{
    struct str str = { 0 };
    va_list args;

    va_start(args, fmt);
    str_addv(&str, fmt, args);
    va_end(args);
    return str_take(&str);
}

bool text_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

int text_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int text_to_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    char *end = NULL;
    int64_t value;

    if (*digits < '0' || *digits > '9')
        return -EINVAL;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end)
        return -EINVAL;
    if (errno || value < min || value > max)
        return -ERANGE;
    *out = value;
    return 0;
}

bool text_to_pair(const char *text, char *word, size_t size, int64_t *out)
{
    size_t n = strcspn(text, " ");

    if (!n || n >= size || text[n] != ' ' || text_to_int(text + n + 1, 0, INT64_MAX, out) < 0)
        return false;
    memcpy(word, text, n);
    word[n] = '\0';
    return true;
}

/* Targets of HTTP requests: see http_target.h. */
#include "base/http_target.h"

#include <errno.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int http_decode(const char *text, size_t n, bool plus, struct str *out)
{
    for (size_t i = 0; i < n; i++) {
        int high, low;

        if (text[i] != '%') {
            str_add_char(out, plus && text[i] == '+' ? ' ' : text[i]);
            continue;
        }
        if (n - i < 3)
            return -EINVAL;
        high = hex_digit(text[i + 1]);
        low = hex_digit(text[i + 2]);
        if (high < 0 || low < 0 || high + low == 0)
            return -EINVAL;
        str_add_char(out, (char)(high * 16 + low));
        i += 2;
    }
    return 0;
}

/* Decodes n bytes into a text of its own, and gives its offset. */
static int add_text(struct http_target *target, const char *text, size_t n, bool plus,
                    uint32_t *out)
{
    *out = (uint32_t)target->texts.len;
    if (http_decode(text, n, plus, &target->texts) < 0)
        return -EINVAL;
    str_add_char(&target->texts, '\0');
    return 0;
}

static int split_path(const char *path, struct http_target *out)
{
    const char *end = path + out->n_path;

    for (const char *part = path + 1, *slash; part < end; part = slash + 1) {
        uint32_t at;

        slash = memchr(part, '/', (size_t)(end - part));
        if (add_text(out, part, (size_t)((slash ? slash : end) - part), false, &at) < 0)
            return -EINVAL;
        VEC_PUSH(&out->parts, at);
        if (!slash)
            return 0;
        if (slash + 1 == end) /* an empty last part: no path of ours ends in a slash */
            VEC_PUSH(&out->parts, at + (uint32_t)strlen(out->texts.data + at));
    }
    return 0;
}

static int split_query(const char *query, struct http_target *out)
{
    while (*query) {
        size_t n = strcspn(query, "&"), n_name = strcspn(query, "=&");
        const char *value = query + n_name + (query[n_name] == '=');
        struct http_query found;

        if (n > 0 && (out->queries.n == HTTP_QUERIES_MAX ||
                      add_text(out, query, n_name, true, &found.name) < 0 ||
                      add_text(out, value, (size_t)(query + n - value), true, &found.value) < 0))
            return -EINVAL;
        if (n > 0)
            VEC_PUSH(&out->queries, found);
        query += n + (query[n] == '&');
    }
    return 0;
}

int http_target_split(const char *text, struct http_target *out)
{
    int r;

    out->n_path = strcspn(text, "?");
    r = split_path(text, out);
    if (r == 0 && text[out->n_path])
        r = split_query(text + out->n_path + 1, out);
    return r;
}

void http_target_fini(struct http_target *target)
{
    str_fini(&target->texts);
    VEC_FINI(&target->parts);
    VEC_FINI(&target->queries);
}

const char *http_target_part(const struct http_target *target, size_t i)
{
    return i < target->parts.n ? target->texts.data + target->parts.at[i] : NULL;
}

const char *http_target_query(const struct http_target *target, const char *name)
{
    VEC_EACH (query, &target->queries)
        if (text_eq(target->texts.data + query->name, name))
            return target->texts.data + query->value;
    return NULL;
}

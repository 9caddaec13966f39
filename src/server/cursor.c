/* Cursors: see cursor.h. The text is KEY.DIGEST; nothing in it is secret. */
#include "server/cursor.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "server/show.h"

/* Of the path, the caller's namespace and all parameters but these two. */
static void digest_filters(struct call *call, char out[17])
{
    CLEANUP(str_fini) struct str text = { 0 };
    char hex[DIGEST_HEX_SIZE];

    str_addf(&text, "%.*s\n%s\n", (int)strcspn(http_path(call->request), "?"),
             http_path(call->request), call->who.ns);
    for (size_t i = 0; i < http_n_queries(call->request); i++) {
        const char *name, *value;

        http_query_at(call->request, i, &name, &value);
        if (!text_eq(name, "cursor") && !text_eq(name, "limit"))
            str_addf(&text, "%s=%s\n", name, value);
    }
    digest_hex(text.data, text.len, hex);
    snprintf(out, 17, "%.16s", hex);
}

bool cursor_read(struct call *call, struct cursor *out)
{
    const char *given = call_query(call, "cursor"), *text = given && *given ? given : NULL;
    const char *dot = text ? strrchr(text, '.') : NULL;
    int64_t limit = CURSOR_LIMIT_DEFAULT;

    *out = (struct cursor){ 0 };
    digest_filters(call, out->digest);
    if (!call_query_int(call, "limit", 1, READER_ROWS_MAX, &limit))
        return false;
    out->limit = (size_t)limit;
    if (!text)
        return true;
    if (!dot || dot == text || (size_t)(dot - text) >= sizeof(out->key)) {
        problem_set(&call->problem, PROBLEM_BAD_CURSOR, "the cursor is damaged");
        return false;
    }
    if (!text_eq(dot + 1, out->digest)) {
        problem_set(&call->problem, PROBLEM_BAD_CURSOR, "the cursor belongs to other filters");
        return false;
    }
    memcpy(out->key, text, (size_t)(dot - text));
    return true;
}

json_t *cursor_answer(const struct cursor *cursor, json_t *items, const char *next,
                      uint64_t revision)
{
    json_t *answer = json_object();
    char text[sizeof(cursor->key) + 20];

    show_set(answer, "items", items);
    if (next[0]) {
        snprintf(text, sizeof(text), "%s.%s", next, cursor->digest);
        show_text(answer, "next", text);
    }
    show_number(answer, "revision", (int64_t)revision);
    return answer;
}

#include "cli/template.h"

#include "base/test.h"

static const struct {
    const char *name, *text, *filled; /* filled NULL: refused */
} rows[] = {
    { "plain", "job", "job" },
    { "members", "{id} is {state}", "j-1 is pending" },
    { "further in", "{tasks.total}/{nodes.0}", "2/a" },
    { "what is not there", "[{gone}]", "[]" },
    { "braces", "{{{id}}}", "{j-1}" },
    { "escapes", "{id}\\t{state}\\n\\\\", "j-1\tpending\n\\" },
    { "not closed", "{id", NULL },
    { "not opened", "id}", NULL },
    { "no name", "{}", NULL },
    { "a brace within", "{a{b}}", NULL },
};

TEST(template_fills_in_what_an_item_has)
{
    json_t *item = json_pack("{s:s,s:s,s:{s:i},s:[s]}", "id", "j-1", "state", "pending", "tasks",
                             "total", 2, "nodes", "a");

    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str out = { 0 };
        struct err err = { 0 };

        CHECK_EQ(template_check(c->text, &err) == 0, c->filled != NULL);
        if (!c->filled)
            continue;
        template_fill(c->text, item, &out);
        CHECK_TEXT(str_text(&out), c->filled);
    }
    json_decref(item);
}

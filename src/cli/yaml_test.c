#include "base/test.h"
#include "cli/output.h"

static const struct {
    const char *name, *json, *yaml;
} rows[] = {
    { "a word", "\"abc\"", "abc\n" },
    { "a path", "\"/srv/a b\"", "/srv/a b\n" },
    { "an empty string", "\"\"", "\"\"\n" },
    { "a string that looks like a number", "\"12\"", "\"12\"\n" },
    { "a string that looks like a boolean", "\"No\"", "\"No\"\n" },
    { "a string that looks like null", "\"null\"", "\"null\"\n" },
    { "a string that looks like a time", "\"2026-09-14T10:00:00Z\"", "\"2026-09-14T10:00:00Z\"\n" },
    { "a string with a colon", "\"a: b\"", "\"a: b\"\n" },
    { "a colon inside a word", "\"oci:/srv/x\"", "oci:/srv/x\n" },
    { "a string with a comment", "\"a #b\"", "\"a #b\"\n" },
    { "lines", "\"a\\nb\"", "\"a\\nb\"\n" },
    { "a dash", "\"- a\"", "\"- a\"\n" },
    { "a blank at the end", "\"a \"", "\"a \"\n" },
    { "numbers", "[1,-2,0.5]", "- 1\n- -2\n- 0.5\n" },
    { "constants", "[true,false,null]", "- true\n- false\n- null\n" },
    { "empty ones", "{\"a\":{},\"b\":[]}", "a: {}\nb: []\n" },
    { "an empty one alone", "{}", "{}\n" },
    { "members", "{\"a\":1,\"b\":\"x\"}", "a: 1\nb: x\n" },
    { "a key that wants quotes", "{\"no\":1}", "\"no\": 1\n" },
    { "nested", "{\"a\":{\"b\":{\"c\":1}}}", "a:\n  b:\n    c: 1\n" },
    { "a list in an object", "{\"a\":[1,2]}", "a:\n  - 1\n  - 2\n" },
    { "objects in a list", "[{\"a\":1,\"b\":2},{\"a\":3}]", "- a: 1\n  b: 2\n- a: 3\n" },
    { "lists in a list", "[[1,2],[]]", "- - 1\n  - 2\n- []\n" },
    { "deep", "[{\"a\":[{\"b\":1,\"c\":{\"d\":2}}]}]",
      "- a:\n    - b: 1\n      c:\n        d: 2\n" },
};

TEST(yaml_is_written_in_blocks)
{
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str text = { 0 };
        json_t *value = json_loads(c->json, JSON_DECODE_ANY, NULL);

        yaml_format(value, &text);
        CHECK_TEXT(str_text(&text), c->yaml);
        json_decref(value);
    }
}

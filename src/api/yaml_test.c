#include "api/yaml.h"

#include <string.h>

#include "api/json.h"
#include "base/str.h"
#include "base/test.h"

enum { MOST = 1 << 20 };

/* The value as compact JSON, or "LINE:COLUMN POINTER: TEXT" of the fault. */
static char *read_as_text(const char *text)
{
    json_auto_t *value = NULL;
    struct problem problem = { 0 };
    int r = yaml_read(text, strlen(text), MOST, &value, &problem);

    CHECK_EQ(r < 0, problem.code != 0);
    if (r < 0)
        return text_format("%d:%d %s: %s", problem.fields[0].line, problem.fields[0].column,
                           problem.fields[0].pointer, problem.fields[0].text);
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static const struct {
    const char *name, *text, *value;
} rows[] = {
    { "booleans are true and false only", "[true, False, TRUE, no, yes, on, off, y]",
      "[true,false,true,\"no\",\"yes\",\"on\",\"off\",\"y\"]" },
    { "nulls", "- ~\n- null\n- Null\n-\n- nil\n", "[null,null,null,null,\"nil\"]" },
    { "whole numbers", "[0, -7, +8, 0o17, 0x1F, 012, 9223372036854775807]",
      "[0,-7,8,15,31,12,9223372036854775807]" },
    { "what YAML 1.1 took for numbers", "[1:30, 1_000, 0b11, 0o8, 0x, '12']",
      "[\"1:30\",\"1_000\",\"0b11\",\"0o8\",\"0x\",\"12\"]" },
    { "other numbers", "[1.5, .5, 5., 1e3, -50E-2]", "[1.5,0.5,5.0,1000.0,-0.5]" },
    { "not numbers", "[1e, ., +, 1.2.3, e3, 1 2]",
      "[\"1e\",\".\",\"+\",\"1.2.3\",\"e3\",\"1 2\"]" },
    { "quoted is text", "['true', \"1\", !!str 2, ! 3]", "[\"true\",\"1\",\"2\",\"3\"]" },
    { "block text", "a: |\n  one\n  two\nb: >-\n  three\n  four\n",
      "{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\"}" },
    { "keys are text", "1: a\ntrue: b\n", "{\"1\":\"a\",\"true\":\"b\"}" },
    { "order of keys stays", "{b: 1, a: 2}", "{\"b\":1,\"a\":2}" },
    { "alias", "a: &x {b: [1]}\nc: *x\nd: *x\n",
      "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]},\"d\":{\"b\":[1]}}" },
    { "an anchor given again", "- &x 1\n- *x\n- &x 2\n- *x\n", "[1,1,2,2]" },
    { "empty", "", "null" },
    { "only a comment", "# nothing\n", "null" },
    { "explicit document", "%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}" },
    { "infinity", "a: [-.inf]", "1:5 /a/0: must be a finite number" },
    { "not a number", "a: .NaN", "1:4 /a: must be a finite number" },
    { "2^63", "a: 9223372036854775808", "1:4 /a: the number is too large" },
    { "hex beyond 2^63", "a: 0xfffffffffffffffff", "1:4 /a: the number is too large" },
    { "a key twice", "a:\n  b: 1\n  b: 2\n", "3:3 /a/b: the key stands here twice" },
    { "merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", "3:3 /c/<<: merge keys are not read" },
    { "a quoted << is a key", "'<<': 1", "{\"<<\":1}" },
    { "a key that is a list", "[a]: 1", "1:1 : a key must be plain text" },
    { "unknown alias", "a: *x", "1:4 /a: the alias names nothing that stands before it" },
    { "an alias of what is around it", "&x [*x]",
      "1:5 /0: the alias names nothing that stands before it" },
    { "a tag", "a: !!int '3'", "1:4 /a: has a tag; the only one that is read is !!str" },
    { "a tag of somebody's own", "a: !x {}",
      "1:4 /a: has a tag; the only one that is read is !!str" },
    { "NUL", "a: \"x\\0y\"", "1:4 /a: holds a NUL" },
    { "a second document", "a: 1\n---\nb: 1\n", "2:1 : not YAML: a second document begins here" },
    { "a tab for indentation", "a:\n\t- b\n",
      "2:1 : not YAML: found character that cannot start any token" },
    { "an open bracket", "a: [1,\n", "2:1 : not YAML: did not find expected node content" },
    { "a byte order mark",
      "\xef\xbb\xbf"
      "a: 1\n",
      "{\"a\":1}" },
    { "a fault behind a byte order mark",
      "\xef\xbb\xbf"
      "a: [-.inf]",
      "1:5 /a/0: must be a finite number" },
    { "not UTF-8", "a: \xff\xfe", "1:4 : not YAML: invalid leading UTF-8 octet" },
    { "not UTF-8 further down", "a: 1\n\xc3\xa9: \xff\n",
      "2:4 : not YAML: invalid leading UTF-8 octet" },
    { "not UTF-8 by an escape", "a: \"\\uD800\"",
      "1:7 : not YAML: found invalid Unicode character escape code" },
};

TEST(yaml_becomes_the_values_that_json_has)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *value = read_as_text(c->text);
        CHECK_TEXT(value, c->value);
    }
}

static char *nested(int depth)
{
    struct str text = { 0 };

    for (int i = 0; i < depth; i++)
        str_add_char(&text, '[');
    for (int i = 0; i < depth; i++)
        str_add_char(&text, ']');
    return str_take(&text);
}

TEST(yaml_and_json_nest_to_the_limit_and_no_deeper)
{
    CLEANUP(freep) char *deepest = nested(JSON_DEPTH_MAX), *deeper = nested(JSON_DEPTH_MAX + 1);
    json_auto_t *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    struct problem problem = { 0 };

    CHECK_EQ(yaml_read(deepest, strlen(deepest), MOST, &a, &problem), 0);
    CHECK_EQ(json_read(deepest, strlen(deepest), MOST, &b, &problem), 0);
    CHECK(yaml_read(deeper, strlen(deeper), MOST, &c, &problem) < 0);
    CHECK(json_read(deeper, strlen(deeper), MOST, &d, &problem) < 0);
    CHECK_EQ(problem.n_fields, 2);
    CHECK(json_equal(a, b));
}

TEST(yaml_alias_counts_for_the_depth)
{
    CLEANUP(freep) char *inner = nested(JSON_DEPTH_MAX - 1);
    CLEANUP(freep) char *fits = text_format("a: &x %s\nb: *x\n", inner);
    CLEANUP(freep) char *deep = text_format("a: &x %s\nb: [*x]\n", inner);
    json_auto_t *a = NULL, *b = NULL;
    struct problem problem = { 0 };

    CHECK_EQ(yaml_read(fits, strlen(fits), MOST, &a, &problem), 0);
    CHECK(yaml_read(deep, strlen(deep), MOST, &b, &problem) < 0);
    CHECK_TEXT(problem.fields[0].text, "nested more than 128 deep");
}

/* Nine levels of nine aliases each are 9^9 values. */
TEST(yaml_aliases_are_held_against_a_budget)
{
    CLEANUP(str_fini) struct str text = { 0 };
    json_auto_t *value = NULL;
    struct problem problem = { 0 };

    str_add(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i <= 8; i++) {
        str_addf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++)
            str_addf(&text, "*a%d,", i - 1);
        str_add(&text, "]\n");
    }
    CHECK(yaml_read(text.data, text.len, MOST, &value, &problem) < 0);
    CHECK_TEXT(problem.fields[0].text, "the aliases make more values than are read");
}

TEST(yaml_of_more_than_the_limit_is_refused)
{
    json_auto_t *value = NULL;
    struct problem problem = { 0 };

    CHECK(yaml_read("a: 1", 4, 3, &value, &problem) < 0);
    CHECK_EQ(problem.code, PROBLEM_TOO_LARGE);
}

static const struct {
    const char *name, *yaml, *json, *pointer;
    int yaml_line, yaml_column, json_line, json_column;
} places[] = {
    { "a member", "a: 1\nb: 2\n", "{\"a\": 1,\n \"b\": 2}", "/b", 2, 1, 2, 2 },
    { "an item", "a:\n  - 1\n  - 2\n", "{\"a\": [1,\n  2]}", "/a/1", 3, 5, 2, 3 },
    { "in an item", "a:\n  - b: 1\n", "{\"a\": [\n{\"b\": 1}]}", "/a/0/b", 2, 5, 2, 2 },
    { "one that is missing stands where its object does", "a:\n  - b: 1\n",
      "{\"a\": [\n{\"b\": 1}]}", "/a/0/c", 2, 5, 2, 1 },
    { "one that begins alike", "ab: 1\na: 2\n", "{\"ab\": 1,\n\"a\": 2}", "/a", 2, 1, 2, 1 },
    { "an escaped key", "x: 1\na/b~c: 1\n", "{\"x\": 1,\n\"a/b~c\": 1}", "/a~1b~0c", 2, 1, 2, 1 },
    { "an escape in the text", "x: 1\n\"a\\\"b\": 1\n", "{\"x\": 1,\n\"a\\\"b\": 1}", "/a\"b", 2, 1,
      2, 1 },
    { "the whole", "\n\na: 1\n", "\n\n{\"a\": 1}", "", 3, 1, 3, 1 },
    { "columns are letters", "{ä: 1, b: 2}", "{\"ä\": 1, \"b\": 2}", "/b", 1, 8, 1, 10 },
};

TEST(places_of_pointers_are_found)
{
    ROW_EACH (c, places) {
        struct problem yaml = { 0 }, json = { 0 };
        problem_add(&yaml, PROBLEM_INVALID_FIELD, c->pointer, "x");
        problem_add(&json, PROBLEM_INVALID_FIELD, c->pointer, "x");
        yaml_locate(c->yaml, strlen(c->yaml), &yaml);
        json_locate(c->json, strlen(c->json), &json);
        CHECK_EQ(yaml.fields[0].line, c->yaml_line);
        CHECK_EQ(yaml.fields[0].column, c->yaml_column);
        CHECK_EQ(json.fields[0].line, c->json_line);
        CHECK_EQ(json.fields[0].column, c->json_column);
    }
}

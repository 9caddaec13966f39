#include "api/json.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"

enum { MOST = 1 << 20 };

/* What is wrong with a text that is no JSON: "LINE:COLUMN POINTER: TEXT". */
static char *fault_of(const char *text)
{
    json_auto_t *value = NULL;
    struct problem problem = { 0 };

    CHECK(json_read(text, strlen(text), MOST, &value, &problem) < 0);
    CHECK_EQ(problem.code, PROBLEM_BAD_REQUEST);
    return text_format("%d:%d %s: %s", problem.fields[0].line, problem.fields[0].column,
                       problem.fields[0].pointer, problem.fields[0].text);
}

static const struct {
    const char *name, *text, *place, *fault;
} rows[] = {
    { "nothing", "", "1:0 ", "a value must stand here, not the end" },
    { "blanks", " \n ", "2:1 ", "a value must stand here, not the end" },
    { "not closed", "{\"a\":1", "1:6 /a", "a comma or the object's } must follow, not the end" },
    { "a list, not closed", "{\"a\":[1", "1:7 /a/0",
      "a comma or the list's ] must follow, not the end" },
    { "text, not closed", "{\"a\":\"x", "1:7 /a",
      "text is not closed: its double quote is missing" },
    { "no colon", "{\"a\":{\"b\" 1}}", "1:11 /a/b", "a colon must follow the key, not '1'" },
    { "no value", "{\"a\":}", "1:6 /a", "a value must stand here, not '}'" },
    { "no comma", "{\"a\":\"x\" \"b\":1}", "1:12 /b",
      "a comma or the object's } must follow, not '\"b\"'" },
    { "no comma in a list", "{\"a\":[1 2]}", "1:9 /a/1",
      "a comma or the list's ] must follow, not '2'" },
    { "a comma at the end", "{\"a\":1,}", "1:8 ",
      "a key in double quotes must stand here, not '}'" },
    { "a key without quotes", "{a:1}", "1:2 ", "a key in double quotes must stand here, not 'a'" },
    { "a word", "{\"a\":\n tru}", "2:4 /a",
      "'tru' is no value: want true, false, null, a number, or text in double quotes" },
    { "single quotes", "{\"a\":'x'}", "1:6 /a",
      "''' is no value: want true, false, null, a number, or text in double quotes" },
    { "a long word", "{\"a\":truetruetruetruetruetrue}", "1:29 /a",
      "want true, false, null, a number, or text in double quotes" },
    { "something behind it", "{} x", "1:4 ", "nothing may follow the value: 'x'" },
    { "a line's end in text", "{\"a\":\"x\ny\"}", "1:7 /a",
      "text must end in its line; write \\n for a line's end" },
    { "a control character", "{\"a\":\"\x01\"}", "1:6 /a",
      "text has a control character; write it as \\u and four digits" },
    { "an escape", "{\"a\":\"\\q\"}", "1:8 /a",
      "text has a backslash that begins nothing known; write \\\\ for one" },
    { "half a pair", "{\"a\":\"\\ud800\"}", "1:13 /a", "text has half of a pair of \\u escapes" },
    { "not UTF-8", "{\"a\":\"\xff\"}", "1:6 /a", "text has a byte that is not UTF-8" },
    { "a NUL", "{\"a\":\"\\u0000\"}", "1:13 /a", "text cannot hold \\u0000" },
    { "a NUL in a key", "{\"a\\u0000\":1}", "1:10 /a\\u0000", "a key cannot hold \\u0000" },
};

TEST(what_is_no_json_is_told_in_our_words)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *found = fault_of(c->text);
        CLEANUP(freep) char *place = text_copy(c->place);
        CLEANUP(freep) char *wanted = NULL;
        char *colon = strchr(place, ':'), *blank = strchr(place, ' ');

        *colon = *blank = '\0';
        wanted = text_format("%s:%s %s: not JSON: line %s, column %s: %s", place, colon + 1,
                             blank + 1, place, colon + 1, c->fault);
        CHECK_TEXT(found, wanted);
    }
}

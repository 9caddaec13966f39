#include "base/test.h"

#include <errno.h>
#include <string.h>

#include "base/http_target.h"

static const struct {
    const char *name, *text, *result;
    bool plus;
} escapes[] = {
    { "plain", "abc", "abc", false },
    { "an attempt", "j-1%2Fw.0%231", "j-1/w.0#1", false },
    { "a plus in a path", "a+b", "a+b", false },
    { "a plus in a query", "a+b%2B", "a b+", true },
    { "half an escape", "a%2", NULL, false },
    { "a lone percent", "%", NULL, false },
    { "no digits", "%zz", NULL, false },
    { "a NUL", "a%00b", NULL, false },
    { "high bytes", "%c3%A4", "\xc3\xa4", false },
};

TEST(percent_escapes)
{
    ROW_EACH (c, escapes) {
        CLEANUP(str_fini) struct str out = { 0 };
        int r = http_decode(c->text, strlen(c->text), c->plus, &out);

        CHECK_EQ(r < 0, !c->result);
        if (c->result)
            CHECK_TEXT(str_text(&out), c->result);
    }
}

TEST(each_byte_can_be_escaped)
{
    for (int byte = 1; byte < 256; byte++) {
        CLEANUP(str_fini) struct str escape = { 0 }, out = { 0 };

        str_addf(&escape, "%%%02x", (unsigned)byte);
        CHECK_EQ(http_decode(escape.data, escape.len, false, &out), 0);
        CHECK_EQ(out.len, 1);
        CHECK_EQ((unsigned char)out.data[0], byte);
    }
}

/* parts in [], NAME=VALUE in () */
static const struct {
    const char *name, *text, *result;
} targets[] = {
    { "the root", "/", "" },
    { "parts", "/v1/jobs/j-1", "[v1][jobs][j-1]" },
    { "an empty part is one", "/v1//x", "[v1][][x]" },
    { "so is the last behind a slash", "/v1/", "[v1][]" },
    { "an escaped slash parts nothing", "/a%2Fb/c", "[a/b][c]" },
    { "a query", "/a?x=1&y=a+b", "[a](x=1)(y=a b)" },
    { "a name alone", "/a?x", "[a](x=)" },
    { "a value with an equals sign", "/a?x=1=2", "[a](x=1=2)" },
    { "nothing between two", "/a?&&x=1&", "[a](x=1)" },
    { "a question mark in the query", "/a?x=1?2", "[a](x=1?2)" },
    { "an escaped ampersand", "/a?x=1%262", "[a](x=1&2)" },
    { "a name may be empty", "/a?=1", "[a](=1)" },
    { "a bad escape in the path", "/a%g?x=1", NULL },
    { "a bad escape in a name", "/a?%x=1", NULL },
    { "a bad escape in a value", "/a?x=%", NULL },
};

TEST(a_target_is_split)
{
    ROW_EACH (c, targets) {
        CLEANUP(http_target_fini) struct http_target target = { 0 };
        CLEANUP(str_fini) struct str seen = { 0 };
        int r = http_target_split(c->text, &target);

        CHECK_EQ(r, c->result ? 0 : -EINVAL);
        if (r < 0)
            continue;
        for (size_t i = 0; http_target_part(&target, i); i++)
            str_addf(&seen, "[%s]", http_target_part(&target, i));
        VEC_EACH (query, &target.queries)
            str_addf(&seen, "(%s=%s)", target.texts.data + query->name,
                     target.texts.data + query->value);
        CHECK_TEXT(str_text(&seen), c->result);
    }
}

TEST(the_first_of_a_name_counts)
{
    CLEANUP(http_target_fini) struct http_target target = { 0 };

    CHECK_EQ(http_target_split("/a?x=1&y=2&x=3", &target), 0);
    CHECK_TEXT(http_target_query(&target, "x"), "1");
    CHECK_TEXT(http_target_query(&target, "y"), "2");
    CHECK(!http_target_query(&target, "z"));
    CHECK(!http_target_part(&target, 1));
}

TEST(so_many_queries_and_no_more)
{
    CLEANUP(str_fini) struct str text = { 0 };

    str_add(&text, "/?");
    for (int i = 0; i < HTTP_QUERIES_MAX; i++)
        str_add(&text, "x=1&");
    {
        CLEANUP(http_target_fini) struct http_target target = { 0 };
        CHECK_EQ(http_target_split(text.data, &target), 0);
        CHECK_EQ(target.queries.n, HTTP_QUERIES_MAX);
    }
    str_add(&text, "x");
    {
        CLEANUP(http_target_fini) struct http_target target = { 0 };
        CHECK_EQ(http_target_split(text.data, &target), -EINVAL);
    }
}

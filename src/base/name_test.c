#include "base/name.h"

#include "base/test.h"

static const struct {
    const char *name, *text;
    bool is_name;
    struct name_parts parts;
} rows[] = {
    { "a job", "j-12", true, { .job = 12 } },
    { "a task", "j-12/worker.3", true, { 12, "worker", true, false, 3, 0 } },
    { "a task without group", "j-12/3", true, { 12, "", true, false, 3, 0 } },
    { "an attempt", "j-12/worker.3#2", true, { 12, "worker", true, true, 3, 2 } },
    { "attempts count from 1", "j-12/worker.3#0", false, { 0 } },
    { "no prefix", "12", false, { 0 } },
    { "nothing behind the prefix", "j-", false, { 0 } },
    { "a sign", "j-+1", false, { 0 } },
    { "more than 63 bits", "j-99999999999999999999", false, { 0 } },
    { "a tail", "j-12/worker.3#2x", false, { 0 } },
    { "an attempt of no task", "j-12#1", false, { 0 } },
    { "a group's bad letter", "j-12/WORKER.3", false, { 0 } },
    { "an empty group", "j-12/.3", false, { 0 } },
};

TEST(name_parse_takes_names_apart)
{
    ROW_EACH (c, rows) {
        struct name_parts parts = { 0 };
        struct err err = { 0 };
        CHECK_EQ(name_parse(c->text, &parts, &err) == 0, c->is_name);
        CHECK_EQ(parts.job, c->parts.job);
        CHECK_TEXT(parts.group, c->parts.group);
        CHECK_EQ(parts.has_index, c->parts.has_index);
        CHECK_EQ(parts.index, c->parts.index);
        CHECK_EQ(parts.number, c->parts.number);
    }
}

TEST(name_attempt_is_read_back)
{
    char text[NAME_ATTEMPT_SIZE];
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    name_attempt(UINT64_MAX / 2, "w", UINT32_MAX, UINT32_MAX, text);
    CHECK_EQ(name_parse(text, &parts, &err), 0);
    CHECK_EQ(parts.job, UINT64_MAX / 2);
    CHECK_EQ(parts.number, UINT32_MAX);
}

TEST(name_is_valid_holds_the_limit)
{
    CHECK(name_is_valid("a"));
    CHECK(name_is_valid("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    CHECK(!name_is_valid("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    CHECK(!name_is_valid(""));
    CHECK(!name_is_valid("a_b"));
}

TEST(name_is_valid_variable_begins_with_no_digit)
{
    static const char *const names[] = { "A", "_", "path", "spring.main-class", "A9", "-.9" };
    static const char *const others[] = { "", "9A", "A B", "A=B", "a/b", "\xc3\xa4", "A\n" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK(name_is_valid_variable(names[i]));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        CHECK(!name_is_valid_variable(others[i]));
}

#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

TEST(err_wrap_puts_the_doing_in_front_and_cuts_at_the_end)
{
    struct err err = { 0 };

    CHECK_EQ(err_set(&err, -ENOENT, "file %s is not there", "a"), -ENOENT);
    CHECK_EQ(err_wrap(&err, "open %s", "b"), -ENOENT);
    CHECK_TEXT(err.text, "open b: file a is not there");
    for (int i = 0; i < 40; i++)
        err_wrap(&err, "again and again");
    CHECK(strlen(err.text) < sizeof(err.text));
}

TEST(err_sys_names_the_errno)
{
    struct err err = { 0 };

    CHECK_EQ(err_sys(&err, -EACCES, "open x"), -EACCES);
    CHECK_TEXT(err.text, "open x: Permission denied");
}

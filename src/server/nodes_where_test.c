#include "server/nodes_where.h"

#include "base/test.h"

TEST(nodes_of_a_job_come_by_name_once)
{
    CLEANUP(where_fini) struct where where;
    const char *names[2];

    where_init(&where);
    CHECK_EQ(where_find(&where, 1, names, 2), 0);
    where_add(&where, 1, "c");
    where_add(&where, 1, "a");
    where_add(&where, 1, "b");
    where_add(&where, 1, "a");
    where_add(&where, 2, "z");
    CHECK_EQ(where_find(&where, 1, names, 2), 3);
    CHECK_TEXT(names[0], "a");
    CHECK_TEXT(names[1], "b");
    CHECK_EQ(where_find(&where, 2, names, 2), 1);
    CHECK_TEXT(names[0], "z");
}

TEST(a_node_stays_until_its_last_attempt_is_gone)
{
    CLEANUP(where_fini) struct where where;
    const char *names[2];

    where_init(&where);
    where_add(&where, 1, "a");
    where_add(&where, 1, "a");
    where_add(&where, 1, "b");
    where_drop(&where, 1, "a");
    CHECK_EQ(where_find(&where, 1, names, 2), 2);
    where_drop(&where, 1, "a");
    CHECK_EQ(where_find(&where, 1, names, 2), 1);
    CHECK_TEXT(names[0], "b");
    where_drop(&where, 1, "a"); /* was not there any more */
    where_drop(&where, 1, "b");
    CHECK_EQ(where_find(&where, 1, names, 2), 0);
    CHECK_EQ(where.jobs.n, 0);
    where_add(&where, 1, "a");
    where_clear(&where);
    CHECK_EQ(where_find(&where, 1, names, 2), 0);
}

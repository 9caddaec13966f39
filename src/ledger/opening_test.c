/* Openings: each has its revisions, and only so many are remembered. */
#include "ledger/opening.h"

#include <stdio.h>

#include "base/test.h"

static void begin_one(struct mirror *mirror, size_t n, size_t n_events, bool is_new)
{
    struct changes changes = { 0 };
    char id[OPENING_ID_SIZE];

    snprintf(id, sizeof(id), "%016zx", n);
    changes_begin(&changes, mirror, "test", 1);
    opening_begin(&changes, id, is_new);
    for (size_t i = 0; i < n_events; i++) {
        struct row_memo *row = row_new(ROW_MEMO);
        row_set(&row->name, "m");
        changes_put(&changes, ROW_MEMO, row, "memo.set");
    }
    changes_settle(&changes);
    changes_fini(&changes);
}

static enum opening_holds look(const struct mirror *mirror, size_t n, uint64_t revision)
{
    struct openings all = openings_read(mirror);
    char id[OPENING_ID_SIZE];
    enum opening_holds holds, listed;

    snprintf(id, sizeof(id), "%016zx", n);
    holds = opening_look(mirror, id, revision);
    listed = openings_hold(&all, id, revision);
    CHECK_EQ(listed, holds == OPENING_FORGOTTEN ? OPENING_HOLDS_NOT : holds);
    VEC_FINI(&all);
    return holds;
}

TEST(an_opening_has_what_was_there_until_the_next_one)
{
    struct mirror mirror;

    mirror_init(&mirror);
    begin_one(&mirror, 1, 10, true);
    CHECK_EQ(look(&mirror, 1, 10), OPENING_HOLDS);
    CHECK_EQ(look(&mirror, 1, 1000), OPENING_HOLDS); /* it is open: who says so has heard it here */
    begin_one(&mirror, 2, 0, false);                 /* one that wrote nothing was heard of too */
    begin_one(&mirror, 3, 5, false);
    CHECK_EQ(look(&mirror, 1, 0), OPENING_HOLDS);
    CHECK_EQ(look(&mirror, 1, 10), OPENING_HOLDS);
    CHECK_EQ(look(&mirror, 1, 11), OPENING_HOLDS_NOT);
    CHECK_EQ(look(&mirror, 2, 10), OPENING_HOLDS);
    CHECK_EQ(look(&mirror, 2, 11), OPENING_HOLDS_NOT);
    CHECK_EQ(look(&mirror, 3, 15), OPENING_HOLDS);
    CHECK_EQ(look(&mirror, 4, 1), OPENING_HOLDS_NOT);
    mirror_fini(&mirror);
}

TEST(another_incarnation_knows_no_opening_of_the_one_before)
{
    struct mirror mirror;

    mirror_init(&mirror);
    begin_one(&mirror, 1, 10, true);
    begin_one(&mirror, 2, 10, true);
    CHECK_EQ(look(&mirror, 1, 5), OPENING_HOLDS_NOT);
    CHECK_EQ(look(&mirror, 2, 20), OPENING_HOLDS);
    mirror_fini(&mirror);
}

TEST(what_the_oldest_openings_wrote_is_not_told_any_more)
{
    struct mirror mirror;
    struct openings all;

    mirror_init(&mirror);
    for (size_t i = 1; i <= OPENINGS_MAX + 3; i++)
        begin_one(&mirror, i, 2, i == 1);
    all = openings_read(&mirror);
    CHECK_EQ(all.n, OPENINGS_MAX);
    CHECK_EQ(look(&mirror, 3, 6), OPENING_FORGOTTEN);
    CHECK_EQ(look(&mirror, 3, 7), OPENING_HOLDS_NOT); /* the fourth's, which is remembered */
    CHECK_EQ(look(&mirror, 4, 8), OPENING_HOLDS);
    CHECK_EQ(look(&mirror, 4, 9), OPENING_HOLDS_NOT);
    VEC_FINI(&all);
    mirror_fini(&mirror);
}

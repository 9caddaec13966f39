/* Judge of leases and memos. */
#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

static struct op *lease_op(const char *server, bool is_take, uint64_t fence, uint64_t beat)
{
    struct op *op = op_new(OP_LEASE, NULL, NULL);

    op->lease.name = text_copy("steward");
    op->lease.server = text_copy(server);
    op->lease.is_take = is_take;
    op->lease.seen_fence = fence;
    op->lease.seen_beat = beat;
    op->lease.ttl_ms = 6000;
    return op;
}

static enum problem_code lease(struct world *w, struct op *op, uint64_t *fence)
{
    enum problem_code code = world_do(w, op);

    *fence = op->lease.fence;
    op_free(op);
    return code;
}

TEST(a_lease_is_taken_from_who_stands_still)
{
    struct world w = { 0 };
    struct err err = { 0 };
    uint64_t fence;

    world_open(&w, "memory:");
    CHECK_EQ(lease(&w, lease_op("s1", false, 0, 0), &fence), PROBLEM_CONFLICT); /* nobody's */
    CHECK_EQ(lease(&w, lease_op("s1", true, 0, 0), &fence), PROBLEM_NONE);
    CHECK_EQ(fence, 1);
    CHECK_EQ(lease(&w, lease_op("s1", false, 0, 0), &fence), PROBLEM_NONE);
    CHECK_EQ(fence, 1);
    CHECK_EQ(lease(&w, lease_op("s2", false, 0, 0), &fence), PROBLEM_CONFLICT);
    CHECK_EQ(fence, 0);
    CHECK_EQ(lease(&w, lease_op("s2", true, 1, 0), &fence), PROBLEM_CHANGED_SINCE); /* it beat */
    CHECK_EQ(fence, 0);
    CHECK_EQ(lease(&w, lease_op("s2", true, 0, 1), &fence), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(lease(&w, lease_op("s2", true, 1, 1), &fence), PROBLEM_NONE);
    CHECK_EQ(fence, 2);
    CHECK_EQ(lease(&w, lease_op("s1", false, 0, 0), &fence), PROBLEM_CONFLICT); /* it lost it */
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

TEST(a_store_of_one_server_is_free_at_its_next_start)
{
    struct world w = { 0 };
    const char *address = world_fresh("sqlite");

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(w.fence, 1);
    world_close(&w);
    world_open(&w, address);
    world_lead(&w); /* with nothing seen: nobody can be alive */
    CHECK_EQ(w.fence, 2);
    world_close(&w);
    world_drop();
}

static int note_memo(const void *row, void *arg)
{
    const struct row_memo *memo = row;

    str_addf(arg, "%s=%s ", memo->name, memo->value);
    return 0;
}

static void check_memos(struct world *w, const char *expected)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct reader *reader;
    struct err err = { 0 };
    uint64_t revision;

    CHECK_OK(reader_open(w->ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    CHECK_OK(reader_memos(reader, note_memo, &text, &err), &err);
    CHECK_TEXT(str_text(&text), expected);
    reader_close(reader);
}

static enum problem_code memo(struct world *w, const char *name, const char *value, uint64_t fence)
{
    struct op *op = op_new(OP_MEMO, NULL, NULL);

    op->memo.name = text_copy(name);
    op->memo.value = text_copy(value);
    op->memo.fence = fence;
    return world_run(w, op);
}

TEST(memos_are_kept_for_the_steward)
{
    struct world w = { 0 };
    struct err err = { 0 };
    uint64_t revision;

    world_open(&w, "memory:");
    CHECK_EQ(memo(&w, "a", "1", 0), PROBLEM_CONFLICT); /* there is no steward */
    world_lead(&w);
    CHECK_EQ(memo(&w, "a", "1", w.fence + 1), PROBLEM_CONFLICT);
    CHECK_EQ(memo(&w, "a", "1", w.fence), PROBLEM_NONE);
    revision = w.revision;
    CHECK_EQ(memo(&w, "a", "1", w.fence), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision);
    CHECK_EQ(memo(&w, "b", "2", w.fence), PROBLEM_NONE);
    CHECK_EQ(memo(&w, "a", "3", w.fence), PROBLEM_NONE);
    check_memos(&w, "a=3 b=2 ");
    CHECK_EQ(memo(&w, "a", NULL, w.fence), PROBLEM_NONE);
    CHECK_EQ(memo(&w, "a", NULL, w.fence), PROBLEM_NONE); /* gone already */
    check_memos(&w, "b=2 ");
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

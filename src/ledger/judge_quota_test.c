/* Judge of quotas: they are put, replaced and removed; nothing that runs ends by it. */
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

static const struct {
    const char *name, *ns, *quota, *hard;
    enum problem_code code;
    const char *pointer;
} rows[] = {
    { "a new one", "lab", "cores", "{\"cpu\":1000}", PROBLEM_NONE, NULL },
    { "another of its name elsewhere", "default", "q", "{\"cpu\":0}", PROBLEM_NONE, NULL },
    { "one that limits nothing", "lab", "none", "{}", PROBLEM_NONE, NULL },
    { "one that is not there is removed", "lab", "never", NULL, PROBLEM_NONE, NULL },
    { "a namespace with a blank", "the lab", "q", "{}", PROBLEM_INVALID_FIELD, "/namespace" },
    { "no name", "lab", "", "{}", PROBLEM_INVALID_FIELD, "/name" },
    { "less than nothing", "lab", "q", "{\"cpu\":-1}", PROBLEM_INVALID_FIELD, "/hard" },
    { "no amounts", "lab", "q", "[]", PROBLEM_INVALID_FIELD, "/hard" },
};

static enum problem_code put(struct world *w, const char *ns, const char *name, const char *hard)
{
    struct op *op = op_new(OP_QUOTA, NULL, NULL);

    op->quota.ns = text_copy(ns);
    op->quota.name = text_copy(name);
    op->quota.hard = hard ? text_copy(hard) : NULL;
    return world_run(w, op);
}

static int list(const void *row, void *arg)
{
    const struct row_quota *quota = row;

    str_addf(arg, "%s/%s %s; ", quota->ns, quota->name, quota->hard);
    return 0;
}

static const char *quotas(struct world *w)
{
    static struct str out;
    struct reader *reader;
    struct err err = { 0 };
    uint64_t revision;

    str_clear(&out);
    CHECK_OK(reader_open(w->ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    CHECK_OK(reader_quotas(reader, list, &out, &err), &err);
    reader_close(reader);
    return str_text(&out);
}

TEST(a_quota_is_what_it_must_be)
{
    ROW_EACH (c, rows) {
        struct world w = { 0 };
        struct err err = { 0 };

        world_open(&w, "memory:");
        CHECK_EQ(put(&w, "lab", "q", "{\"cpu\":2000}"), PROBLEM_NONE);
        CHECK_EQ(put(&w, c->ns, c->quota, c->hard), c->code);
        if (c->pointer)
            CHECK_TEXT(w.problem.fields[0].pointer, c->pointer);
        CHECK_OK(ledger_check_open(w.ledger, &err), &err);
        world_close(&w);
    }
}

TEST(quotas_stand_until_they_are_removed)
{
    CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
    struct world w = { 0 };
    struct err err = { 0 };
    uint64_t revision;

    world_open(&w, address);
    CHECK_EQ(put(&w, "lab", "q", "{\"cpu\":2000}"), PROBLEM_NONE);
    CHECK_EQ(put(&w, "lab", "a", "{\"pods\":1000}"), PROBLEM_NONE);
    CHECK_EQ(put(&w, "bio", "q", "{}"), PROBLEM_NONE);
    CHECK_TEXT(quotas(&w), "bio/q {}; lab/a {\"pods\":1000}; lab/q {\"cpu\":2000}; ");
    revision = w.revision;
    CHECK_EQ(put(&w, "lab", "q", "{\"cpu\":2000}"), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision); /* the same again is nothing */
    world_close(&w);
    world_open(&w, address);
    CHECK_EQ(put(&w, "lab", "q", "{\"cpu\":1000}"), PROBLEM_NONE);
    CHECK_EQ(put(&w, "lab", "a", NULL), PROBLEM_NONE);
    CHECK_TEXT(quotas(&w), "bio/q {}; lab/q {\"cpu\":1000}; ");
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
    world_drop();
}

TEST(a_quota_that_is_lowered_ends_nothing)
{
    struct world w = { 0 };
    struct err err = { 0 };
    uint64_t first, second;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    CHECK_EQ(world_quota(&w, "q", "{\"cpu\":2000}"), PROBLEM_NONE);
    first = world_submit(&w, "{\"replicas\":3,\"resources\":{\"cpu\":1}}");
    second = world_submit(&w, "{}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, first, 0, 3, "n1")), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_run(&w, world_bind_op(&w, first, 0, 2, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_quota(&w, "q", "{\"cpu\":1000}"), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, first, 0, 1), "bound");
    CHECK_TEXT(world_attempt_says(&w, first, 1, 1), "bound");
    CHECK_EQ(world_bind(&w, first, 2, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_bind(&w, second, 0, "n1"), PROBLEM_NONE); /* it asks for no cpu */
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_EQ(world_bind(&w, first, 2, "n1"), PROBLEM_CHANGED_SINCE);
        CHECK_EQ(world_ack(&w, first, i, 1, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ended(&w, first, i, 1, "n1", 0), PROBLEM_NONE);
    }
    CHECK_EQ(world_bind(&w, first, 2, "n1"), PROBLEM_NONE);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

TEST(a_task_counts_with_what_it_holds)
{
    struct op *submit = world_submit_op("{\"resources\":{\"memory\":\"512Mi\"}}");
    struct world w = { 0 };
    struct err err = { 0 };
    uint64_t job;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"memory\":2147483648}"), PROBLEM_NONE);
    job_spec_set_headroom(submit->submit.spec, 1250);
    CHECK_EQ(world_do(&w, submit), PROBLEM_NONE);
    job = submit->submit.job;
    op_free(submit);
    CHECK_EQ(world_quota(&w, "q", "{\"memory\":671088639}"), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_quota(&w, "q", "{\"memory\":671088640}"), PROBLEM_NONE); /* 640Mi */
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

/* Judge of queues and tokens. */
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

static struct op *put_op(const char *name, const char *parent, bool is_create)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy(name);
    op->queue_put.parent = text_copy(parent);
    op->queue_put.is_create = is_create;
    return op;
}

static void open_world(struct world *w)
{
    struct op *op;

    world_open(w, "memory:");
    CHECK_EQ(world_run(w, put_op("research", NULL, true)), PROBLEM_NONE);
    CHECK_EQ(world_run(w, put_op("vision", "research", true)), PROBLEM_NONE);
    op = put_op("lab", NULL, true);
    op->queue_put.spec =
        text_copy("{\"guarantee\":{\"cpu\":4000},\"cap\":{\"memory\":1073741824}}");
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
    op = put_op("images", "lab", true);
    op->queue_put.spec = text_copy("{\"guarantee\":{\"cpu\":3000}}");
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

static void close_world(struct world *w)
{
    struct err err = { 0 };

    CHECK_OK(ledger_check_open(w->ledger, &err), &err);
    world_close(w);
}

static const struct {
    const char *name, *queue, *parent, *spec;
    bool is_create;
    enum queue_state state;
    enum problem_code code;
    const char *pointer, *says;
} rows[] = {
    { "a new one", "prod", NULL, "{\"weight\":2}", true, QUEUE_OPEN, PROBLEM_NONE, NULL, NULL },
    { "one that exists", "research", NULL, NULL, true, QUEUE_OPEN, PROBLEM_CONFLICT, NULL,
      "exists" },
    { "one that does not", "prod", NULL, NULL, false, QUEUE_OPEN, PROBLEM_NOT_FOUND, NULL, NULL },
    { "a name with a blank", "a b", NULL, NULL, true, QUEUE_OPEN, PROBLEM_INVALID_FIELD, "/name",
      NULL },
    { "a misspelt parent", "prod", "reseach", NULL, true, QUEUE_OPEN, PROBLEM_INVALID_FIELD,
      "/parent", "did you mean research" },
    { "below itself", "research", "research", NULL, false, QUEUE_OPEN, PROBLEM_INVALID_FIELD,
      "/parent", NULL },
    { "below its own child", "research", "vision", NULL, false, QUEUE_OPEN, PROBLEM_INVALID_FIELD,
      "/parent", "vision is below research" },
    { "moved", "vision", "root", NULL, false, QUEUE_OPEN, PROBLEM_NONE, NULL, NULL },
    { "a parent of root", "root", "research", NULL, false, QUEUE_OPEN, PROBLEM_INVALID_FIELD,
      "/parent", NULL },
    { "settings of root", "root", NULL, "{\"weight\":2}", false, QUEUE_OPEN, PROBLEM_NONE, NULL,
      NULL },
    { "a guarantee above its cap", "prod", NULL,
      "{\"guarantee\":{\"cpu\":3000},\"cap\":{\"cpu\":2000}}", true, QUEUE_OPEN,
      PROBLEM_INVALID_FIELD, "/guarantee/cpu", "3 is above the queue's own cap, which is 2" },
    { "more deserved than its cap", "prod", NULL,
      "{\"deserved\":{\"memory\":2147483648},\"cap\":{\"memory\":1073741824}}", true, QUEUE_OPEN,
      PROBLEM_INVALID_FIELD, "/deserved/memory", "2Gi is above the queue's own cap, which is 1Gi" },
    { "a guarantee above its parent's", "speech", "lab", "{\"guarantee\":{\"cpu\":5000}}", true,
      QUEUE_OPEN, PROBLEM_INVALID_FIELD, "/guarantee/cpu",
      "5 is above the guarantee of its parent lab, which is 4" },
    { "above it with its siblings", "speech", "lab", "{\"guarantee\":{\"cpu\":2000}}", true,
      QUEUE_OPEN, PROBLEM_INVALID_FIELD, "/guarantee/cpu",
      "5 is above (with its siblings) the guarantee of its parent lab, which is 4" },
    { "within it", "speech", "lab", "{\"guarantee\":{\"cpu\":1000}}", true, QUEUE_OPEN,
      PROBLEM_NONE, NULL, NULL },
    { "of what the parent does not bound", "speech", "lab", "{\"guarantee\":{\"fpga\":9000}}", true,
      QUEUE_OPEN, PROBLEM_NONE, NULL, NULL },
    { "above the parent's cap", "speech", "lab", "{\"guarantee\":{\"memory\":2147483648}}", true,
      QUEUE_OPEN, PROBLEM_INVALID_FIELD, "/guarantee/memory", "the cap of its parent lab" },
    { "less than is promised below", "lab", NULL, "{\"guarantee\":{\"cpu\":2000}}", false,
      QUEUE_OPEN, PROBLEM_INVALID_FIELD, "/guarantee/cpu",
      "the queues below it are guaranteed 3 together" },
    { "settings that are a list", "prod", NULL, "[]", true, QUEUE_OPEN, PROBLEM_INVALID_FIELD, "",
      NULL },
    { "no state", "research", NULL, NULL, false, QUEUE_STATE_COUNT, PROBLEM_INVALID_FIELD, "/state",
      NULL },
    { "closed", "research", NULL, NULL, false, QUEUE_CLOSED, PROBLEM_NONE, NULL, NULL },
};

TEST(queues_make_a_tree)
{
    ROW_EACH (c, rows) {
        struct world w = { 0 };
        struct op *op = put_op(c->queue, c->parent, c->is_create);

        open_world(&w);
        op->queue_put.spec = text_copy(c->spec);
        op->queue_put.state = c->state;
        CHECK_EQ(world_run(&w, op), c->code);
        if (c->pointer)
            CHECK_TEXT(w.problem.fields[0].pointer, c->pointer);
        if (c->says)
            CHECK(strstr(w.problem.detail, c->says) || strstr(w.problem.fields[0].text, c->says));
        close_world(&w);
    }
}

static enum problem_code delete_queue(struct world *w, const char *name)
{
    struct op *op = op_new(OP_QUEUE_DELETE, NULL, NULL);

    op->queue_delete.name = text_copy(name);
    return world_run(w, op);
}

TEST(a_queue_goes_when_nothing_hangs_on_it)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"queue\":\"vision\"}");
    CHECK_EQ(delete_queue(&w, "root"), PROBLEM_CONFLICT);
    CHECK_EQ(delete_queue(&w, "default"), PROBLEM_CONFLICT);
    CHECK_EQ(delete_queue(&w, "research"), PROBLEM_CONFLICT); /* a parent */
    CHECK_EQ(delete_queue(&w, "vision"), PROBLEM_CONFLICT);   /* with a job */
    CHECK_EQ(delete_queue(&w, "prod"), PROBLEM_NOT_FOUND);
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_EQ(delete_queue(&w, "vision"), PROBLEM_NONE);
    CHECK_EQ(delete_queue(&w, "vision"), PROBLEM_NOT_FOUND);
    CHECK_EQ(delete_queue(&w, "research"), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, put_op("research", NULL, true)), PROBLEM_NONE); /* a new one */
    close_world(&w);
}

TEST(a_queue_is_changed_at_the_revision_that_was_seen)
{
    struct world w = { 0 };
    struct op *op = put_op("research", NULL, false);
    uint64_t revision;

    open_world(&w);
    op->queue_put.spec = text_copy("{\"weight\":3}");
    op->queue_put.if_rev = w.revision; /* that is another queue's */
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op->queue_put.if_rev = w.revision - 3; /* after it came vision, lab and images */
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    revision = w.revision;
    op->queue_put.if_rev = revision;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE); /* as it is */
    CHECK_EQ(w.revision, revision);
    op_free(op);
    close_world(&w);
}

TEST(tokens_have_known_rights)
{
    struct world w = { 0 };
    struct op *op = op_new(OP_TOKEN_PUT, NULL, NULL), *gone = op_new(OP_TOKEN_DELETE, NULL, NULL);
    uint64_t revision;

    open_world(&w);
    op->token_put.hash = text_copy("00ff");
    op->token_put.name = text_copy("laptop");
    op->token_put.rights = text_copy("king");
    CHECK_EQ(world_do(&w, op), PROBLEM_INVALID_FIELD);
    mem_free(op->token_put.rights);
    op->token_put.rights = text_copy("user");
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    revision = w.revision;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision);
    gone->token_delete.hash = text_copy("00fe");
    CHECK_EQ(world_do(&w, gone), PROBLEM_NOT_FOUND);
    mem_free(gone->token_delete.hash);
    gone->token_delete.hash = text_copy("00ff");
    CHECK_EQ(world_do(&w, gone), PROBLEM_NONE);
    CHECK_EQ(world_do(&w, gone), PROBLEM_NOT_FOUND);
    op_free(op);
    op_free(gone);
    close_world(&w);
}

/* Queues d1 below d0 and so on, below root. */
static enum problem_code put_deep(struct world *w, const char *letter, size_t i)
{
    CLEANUP(freep) char *name = text_format("%s%zu", letter, i);
    CLEANUP(freep) char *parent = i ? text_format("%s%zu", letter, i - 1) : NULL;

    return world_run(w, put_op(name, parent, true));
}

TEST(queues_are_as_deep_as_the_limit_and_no_deeper)
{
    struct world w;
    struct op *op;

    open_world(&w);
    for (size_t i = 0; i < QUEUE_DEPTH_MAX; i++) /* d0 has one above it: root */
        CHECK_EQ(put_deep(&w, "d", i), PROBLEM_NONE);
    CHECK_EQ(put_deep(&w, "d", QUEUE_DEPTH_MAX), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].pointer, "/parent");
    CHECK_TEXT(w.problem.fields[0].text, "below d31 d32 would have 33 queues above it; at most 32");
    /* What moves brings along what is beneath it. */
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(put_deep(&w, "e", i), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, put_op("e0", "d28", false)), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, put_op("e0", "d29", false)), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].text,
               "below d29 what is below it would have 33 queues above it; at most 32");
    CHECK_EQ(world_run(&w, put_op("e1", "d29", false)), PROBLEM_NONE);
    /* What stays where it is may change otherwise. */
    op = put_op("d31", "d30", false);
    op->queue_put.spec = text_copy("{\"weight\":2}");
    CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
    close_world(&w);
}

/* Judge of binds: each rule has a row that it refuses, beside one bind that passes. */
#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

#define ONE "{\"resources\":{\"cpu\":1}}"

static const char offers[] = "{\"cpu\":4000,\"memory\":1073741824,\"pods\":3000,\"fpga\":1000}";

static void do_stop(struct world *w, uint64_t job)
{
    CHECK_EQ(world_stop(w, job), PROBLEM_NONE);
}

static void do_hold(struct world *w, uint64_t job)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = job;
    op->patch.has_held = op->patch.is_held = true;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

static void do_bind(struct world *w, uint64_t job)
{
    CHECK_EQ(world_bind(w, job, 0, "n1"), PROBLEM_NONE);
}

static void do_cordon(struct world *w, uint64_t job)
{
    struct op *op = op_new(OP_CORDON, NULL, NULL);

    (void)job;
    op->cordon.node = text_copy("n1");
    op->cordon.is_cordoned = true;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

static void do_lose(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_node_state(w, "n1", NODE_LOST), PROBLEM_NONE);
}

static void do_unreachable(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_node_state(w, "n1", NODE_UNREACHABLE), PROBLEM_NONE);
}

static void fill_node(struct world *w, const char *spec, uint32_t n)
{
    uint64_t job = world_submit(w, spec);
    struct op *op = world_bind_op(w, job, 0, n, "n1");

    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

static void do_fill_cpu(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, "{\"resources\":{\"cpu\":\"3500m\"}}", 1);
}

/* Fills the node with what runs and is told to stop; whether that has ended. */
static void fill_and_stop(struct world *w, bool has_ended)
{
    uint64_t job = world_submit(w, "{\"resources\":{\"cpu\":\"3500m\"}}");

    CHECK_EQ(world_bind(w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_running(w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop(w, job), PROBLEM_NONE);
    if (has_ended)
        CHECK_EQ(world_ended(w, job, 0, 1, "n1", 143), PROBLEM_NONE);
    /* Behind the job's row, which is written when the batch is settled. */
    CHECK_EQ(world_beat(w, "n1"), PROBLEM_NONE);
}

static void do_stop_another(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_stop(w, false);
}

static void do_end_another(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_stop(w, true);
}

static void do_fill_pods(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, "{\"replicas\":3}", 3);
}

static void do_shrink(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, "{\"resources\":{\"fpga\":1}}", 1);
    CHECK_EQ(world_register(w, "n1", "{\"cpu\":4000,\"memory\":1073741824,\"pods\":3000}"),
             PROBLEM_NONE);
}

static void set_cap(struct world *w, const char *queue, const char *spec)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy(queue);
    op->queue_put.spec = text_copy(spec);
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

static void do_cap(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, ONE, 1);
    set_cap(w, "default", "{\"cap\":{\"cpu\":1500}}");
}

static void do_cap_above(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, ONE, 1);
    set_cap(w, "root", "{\"cap\":{\"cpu\":1500}}");
}

static void do_cap_enough(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, ONE, 1);
    set_cap(w, "default", "{\"cap\":{\"cpu\":2000}}");
}

/* Of what the task does not ask for, there is none left. */
static void do_cap_other(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, "{\"resources\":{\"memory\":\"1Mi\"}}", 1);
    set_cap(w, "default", "{\"cap\":{\"memory\":1}}");
}

static void do_cap_tasks(struct world *w, uint64_t job)
{
    (void)job;
    fill_node(w, ONE, 1);
    set_cap(w, "root", "{\"cap\":{\"pods\":1000}}");
}

static void fill_and_limit(struct world *w, const char *hard)
{
    fill_node(w, ONE, 1);
    CHECK_EQ(world_quota(w, "q", hard), PROBLEM_NONE);
}

static void do_quota(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_limit(w, "{\"cpu\":1500}");
}

/* What a quota that is lowered finds in use stands. */
static void do_quota_below(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_limit(w, "{\"cpu\":0}");
}

static void do_quota_enough(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_limit(w, "{\"cpu\":2000}");
}

static void do_quota_second(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_quota(w, "r", "{\"cpu\":1999}"), PROBLEM_NONE);
    fill_and_limit(w, "{\"cpu\":2000}");
}

static void do_quota_first(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_quota(w, "r", "{\"cpu\":2000}"), PROBLEM_NONE);
    fill_and_limit(w, "{\"cpu\":1999}");
}

static void do_quota_other(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_limit(w, "{\"memory\":0}");
}

static void do_quota_tasks(struct world *w, uint64_t job)
{
    (void)job;
    fill_and_limit(w, "{\"pods\":1000}");
}

static void do_quota_gone(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_quota(w, "r", "{\"cpu\":2000}"), PROBLEM_NONE);
    fill_and_limit(w, "{\"cpu\":1000}");
    CHECK_EQ(world_quota(w, "q", NULL), PROBLEM_NONE);
}

static void do_quota_elsewhere(struct world *w, uint64_t job)
{
    struct op *op = op_new(OP_QUOTA, NULL, NULL);

    (void)job;
    op->quota.ns = text_copy("lab");
    op->quota.name = text_copy("q");
    op->quota.hard = text_copy("{\"cpu\":0}");
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

/* What is told to stop is used until it has ended. */
static void do_quota_stop(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_quota(w, "q", "{\"pods\":1000}"), PROBLEM_NONE);
    fill_and_stop(w, false);
}

static void do_quota_end(struct world *w, uint64_t job)
{
    (void)job;
    CHECK_EQ(world_quota(w, "q", "{\"pods\":1000}"), PROBLEM_NONE);
    fill_and_stop(w, true);
}

static void spoil_facts(struct op_bind *op)
{
    op->parts[0].facts++;
}

static void spoil_number(struct op_bind *op)
{
    op->parts[0].number++;
}

static void spoil_index(struct op_bind *op)
{
    op->parts[0].index = 9;
}

static void spoil_group(struct op_bind *op)
{
    op->parts[0].group = 1;
}

static void spoil_node(struct op_bind *op)
{
    mem_free(op->parts[0].node);
    op->parts[0].node = text_copy("n9");
}

static void spoil_version(struct op_bind *op)
{
    op->version++;
}

static void spoil_fence(struct op_bind *op)
{
    op->fence--;
}

static void spoil_job(struct op_bind *op)
{
    op->job += 1000;
}

static void spoil_parts(struct op_bind *op)
{
    for (size_t i = 0; i < op->n_parts; i++)
        mem_free(op->parts[i].node);
    op->n_parts = 0;
}

static const struct {
    const char *name, *spec;
    void (*before)(struct world *w, uint64_t job); /* the bind is prepared */
    void (*after)(struct world *w, uint64_t job);  /* and between that and its judgement */
    void (*spoil)(struct op_bind *op);
    enum problem_code code;
    enum wait_code refused;
} rows[] = {
    { "as decided", ONE, NULL, NULL, NULL, PROBLEM_NONE, WAIT_NONE },
    { "the job was stopped", ONE, NULL, do_stop, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "the job is held", ONE, do_hold, NULL, NULL, PROBLEM_CHANGED_SINCE, WAIT_HELD },
    { "the job was changed", ONE, NULL, NULL, spoil_version, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "there is no such job", ONE, NULL, NULL, spoil_job, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "the task is live", ONE, NULL, do_bind, NULL, PROBLEM_CHANGED_SINCE, WAIT_CAPACITY_CHANGED },
    { "the number is not the next", ONE, NULL, NULL, spoil_number, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "there is no such task", ONE, NULL, NULL, spoil_index, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "there is no such group", ONE, NULL, NULL, spoil_group, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "there is no such node", ONE, NULL, NULL, spoil_node, PROBLEM_CHANGED_SINCE,
      WAIT_NODE_NOT_READY },
    { "the node is unreachable", ONE, NULL, do_unreachable, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_NODE_NOT_READY },
    { "the node is lost", ONE, NULL, do_lose, NULL, PROBLEM_CHANGED_SINCE, WAIT_NODE_NOT_READY },
    { "the node is cordoned", ONE, do_cordon, NULL, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_NODE_CORDONED },
    { "the node has other facts", ONE, NULL, NULL, spoil_facts, PROBLEM_CHANGED_SINCE,
      WAIT_CAPACITY_CHANGED },
    { "the cpu is used", ONE, NULL, do_fill_cpu, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_INSUFFICIENT_CPU },
    { "what is told to stop holds its room until it has ended", ONE, NULL, do_stop_another, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_INSUFFICIENT_CPU },
    { "what was told to stop has ended", ONE, NULL, do_end_another, NULL, PROBLEM_NONE, WAIT_NONE },
    { "the slots are used", ONE, NULL, do_fill_pods, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_INSUFFICIENT_SLOTS },
    { "more memory than there is", "{\"resources\":{\"memory\":\"2Gi\"}}", NULL, NULL, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_INSUFFICIENT_MEMORY },
    { "exactly what there is", "{\"resources\":{\"memory\":\"1Gi\",\"cpu\":4}}", NULL, NULL, NULL,
      PROBLEM_NONE, WAIT_NONE },
    { "a counter that is offered", "{\"resources\":{\"fpga\":1}}", NULL, NULL, NULL, PROBLEM_NONE,
      WAIT_NONE },
    { "more of a counter than there is", "{\"resources\":{\"fpga\":2}}", NULL, NULL, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_INSUFFICIENT_COUNTER },
    { "a counter that the node lacks", "{\"resources\":{\"licence\":1}}", NULL, NULL, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_INSUFFICIENT_COUNTER },
    { "storage that the node lacks", "{\"resources\":{\"storage\":\"1Gi\"}}", NULL, NULL, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_INSUFFICIENT_STORAGE },
    { "scratch space that the node lacks", "{\"resources\":{\"ephemeral-storage\":\"1Gi\"}}", NULL,
      NULL, NULL, PROBLEM_CHANGED_SINCE, WAIT_INSUFFICIENT_STORAGE },
    { "the node shrank below its use", ONE, do_shrink, NULL, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_INSUFFICIENT_COUNTER },
    { "the queue is at its cap", ONE, NULL, do_cap, NULL, PROBLEM_CHANGED_SINCE, WAIT_OVER_CAP },
    { "a queue above it is", ONE, NULL, do_cap_above, NULL, PROBLEM_CHANGED_SINCE, WAIT_OVER_CAP },
    { "the queue comes to its cap", ONE, NULL, do_cap_enough, NULL, PROBLEM_NONE, WAIT_NONE },
    { "the queue is at its cap of what is not asked for", ONE, NULL, do_cap_other, NULL,
      PROBLEM_NONE, WAIT_NONE },
    { "as many tasks as the queue may have", ONE, NULL, do_cap_tasks, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_OVER_CAP },
    { "the namespace is at its quota", ONE, NULL, do_quota, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_OVER_CAP },
    { "it is above its quota", ONE, NULL, do_quota_below, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_OVER_CAP },
    { "it comes to its quota", ONE, NULL, do_quota_enough, NULL, PROBLEM_NONE, WAIT_NONE },
    { "it is at one of two quotas", ONE, NULL, do_quota_second, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_OVER_CAP },
    { "the least of two, whichever it is", ONE, NULL, do_quota_first, NULL, PROBLEM_CHANGED_SINCE,
      WAIT_OVER_CAP },
    { "it is at its quota of what is not asked for", ONE, NULL, do_quota_other, NULL, PROBLEM_NONE,
      WAIT_NONE },
    { "as many tasks as the namespace may have", ONE, NULL, do_quota_tasks, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_OVER_CAP },
    { "the quota that it was at was removed", ONE, NULL, do_quota_gone, NULL, PROBLEM_NONE,
      WAIT_NONE },
    { "another namespace is at its quota", ONE, NULL, do_quota_elsewhere, NULL, PROBLEM_NONE,
      WAIT_NONE },
    { "what is told to stop counts for the quota", "{}", NULL, do_quota_stop, NULL,
      PROBLEM_CHANGED_SINCE, WAIT_OVER_CAP },
    { "what was told to stop has ended and counts no more", "{}", NULL, do_quota_end, NULL,
      PROBLEM_NONE, WAIT_NONE },
    { "an old steward", ONE, NULL, NULL, spoil_fence, PROBLEM_CONFLICT, WAIT_NONE },
    { "no parts", ONE, NULL, NULL, spoil_parts, PROBLEM_BAD_REQUEST, WAIT_NONE },
};

TEST(a_bind_is_refused_for_what_changed)
{
    ROW_EACH (c, rows) {
        struct world w = { 0 };
        struct err err = { 0 };
        struct op *op;
        uint64_t job, before;

        world_open(&w, "memory:");
        world_lead(&w);
        CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
        job = world_submit(&w, c->spec);
        if (c->before)
            c->before(&w, job);
        op = world_bind_op(&w, job, 0, 1, "n1");
        if (c->after)
            c->after(&w, job);
        if (c->spoil)
            c->spoil(&op->bind);
        before = w.revision;
        CHECK_EQ(world_do(&w, op), c->code);
        if (c->code)
            CHECK_EQ(w.revision, before); /* nothing happened */
        if (op->bind.n_parts)
            CHECK_EQ(op->bind.parts[0].refused, c->refused);
        op_free(op);
        CHECK_OK(ledger_check_open(w.ledger, &err), &err);
        world_close(&w);
    }
}

TEST(a_group_is_bound_whole_or_not_at_all)
{
    struct world w = { 0 };
    struct err err = { 0 };
    struct op *op;
    uint64_t job;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":3,\"resources\":{\"cpu\":\"1500m\"}}");
    op = world_bind_op(&w, job, 0, 3, "n1"); /* only two fit */
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(op->bind.parts[0].refused, WAIT_NONE);
    CHECK_EQ(op->bind.parts[1].refused, WAIT_NONE);
    CHECK_EQ(op->bind.parts[2].refused, WAIT_INSUFFICIENT_CPU);
    op_free(op);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "none");
    CHECK_EQ(world_job_state(&w, job), JOB_PENDING);
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")), PROBLEM_NONE);
    op = world_bind_op(&w, job, 2, 2, "n1"); /* the second part names no task */
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op_free(op);
    op = world_bind_op(&w, job, 0, 1, "n1");
    op->bind.parts[0].number = 1; /* it is live as number 1 */
    CHECK_EQ(world_run(&w, op), PROBLEM_CHANGED_SINCE);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

TEST(the_same_task_twice_in_a_group_is_refused)
{
    struct world w = { 0 };
    struct op *op;
    uint64_t job;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":2}");
    op = world_bind_op(&w, job, 0, 2, "n1");
    op->bind.parts[1].index = 0;
    CHECK_EQ(world_run(&w, op), PROBLEM_CHANGED_SINCE);
    world_close(&w);
}

static const struct {
    const char *name, *spec;
    uint32_t n; /* bound at once */
    enum problem_code code;
} gangs[] = {
    { "one of one is enough", "{\"replicas\":3}", 1, PROBLEM_NONE },
    { "less than the minimum", "{\"replicas\":3,\"minAvailable\":2}", 1, PROBLEM_CHANGED_SINCE },
    { "the minimum", "{\"replicas\":3,\"minAvailable\":2}", 2, PROBLEM_NONE },
    { "all, and one is missing", "{\"replicas\":3,\"gang\":true}", 2, PROBLEM_CHANGED_SINCE },
    { "a group's minimum is missed",
      "{\"groups\":[{\"name\":\"a\",\"image\":\"dir:/i\",\"replicas\":3,\"minAvailable\":2}]}", 1,
      PROBLEM_CHANGED_SINCE },
    { "a group's minimum is met",
      "{\"groups\":[{\"name\":\"a\",\"image\":\"dir:/i\",\"replicas\":3,\"minAvailable\":2}]}", 2,
      PROBLEM_NONE },
    { "another group's minimum is missed",
      "{\"groups\":[{\"name\":\"a\",\"image\":\"dir:/i\",\"replicas\":3},"
      "{\"name\":\"b\",\"image\":\"dir:/i\",\"minAvailable\":1}]}",
      3, PROBLEM_CHANGED_SINCE },
};

TEST(a_gang_starts_whole)
{
    ROW_EACH (c, gangs) {
        struct world w = { 0 };
        struct err err = { 0 };
        uint64_t job;

        world_open(&w, "memory:");
        world_lead(&w);
        CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
        job = world_submit(&w, c->spec);
        CHECK(job);
        CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, c->n, "n1")), c->code);
        CHECK_EQ(world_job_state(&w, job), c->code ? JOB_PENDING : JOB_RUNNING);
        CHECK_OK(ledger_check_open(w.ledger, &err), &err);
        world_close(&w);
    }
}

TEST(a_gang_that_lost_a_member_is_degraded_until_it_is_back)
{
    struct world w = { 0 };
    struct err err = { 0 };
    struct row_job *row;
    uint64_t job;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":2,\"gang\":true,\"retries\":{\"max\":1}}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_stop_attempt(&w, job, 1, 1, CAUSE_EVICTED), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 1, 1), "ended EVICTED again");
    row = world_job(&w, job);
    CHECK_EQ(row->state, JOB_RUNNING);
    CHECK(row->is_degraded);
    row_free(ROW_JOB, row);
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_NONE); /* alone, as its gang runs */
    row = world_job(&w, job);
    CHECK(!row->is_degraded);
    row_free(ROW_JOB, row);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

TEST(a_node_that_offers_no_pods_takes_any_number_that_fits)
{
    struct world w = { 0 };
    struct err err = { 0 };
    uint64_t job;

    world_open(&w, "memory:");
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":1000}"), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":20}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 20, "n1")), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":2,\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

static void check_no_room(struct world *w, uint64_t job)
{
    struct op *op = world_bind_op(w, job, 0, 1, "n1");
    struct err err = { 0 };

    CHECK_EQ(world_do(w, op), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(op->bind.parts[0].refused, WAIT_INSUFFICIENT_MEMORY);
    op_free(op);
    CHECK_OK(ledger_check_open(w->ledger, &err), &err);
}

/* By what was asked both would fit, 100 of 120 Mi. */
TEST(headroom_of_memory_is_held_and_proved)
{
    CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
    struct world w = { 0 };
    uint64_t jobs[2];

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"memory\":125829120}"), PROBLEM_NONE);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        struct op *op = world_submit_op("{\"resources\":{\"memory\":\"50Mi\"}}");
        job_spec_set_headroom(op->submit.spec, 1250);
        CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
        jobs[i] = op->submit.job;
        op_free(op);
    }
    CHECK_EQ(world_bind(&w, jobs[0], 0, "n1"), PROBLEM_NONE);
    check_no_room(&w, jobs[1]);
    world_close(&w);
    world_open(&w, address); /* what is read from the file holds as much */
    world_lead(&w);
    check_no_room(&w, jobs[1]);
    world_close(&w);
    world_drop();
}

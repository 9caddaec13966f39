#include "server/cycle_ops.h"

#include <jansson.h>
#include <string.h>

#include "base/test.h"
#include "server/cycle_verdicts.h"

/* A feed that knows j-12, of groups lead (1) and worker (3), and j-13 likewise. */
struct stage {
    struct feed *feed;
    struct arena arena;
    struct cycle_ops ops;
};

static void on_done(struct op *op, void *arg)
{
    (void)op;
    (void)arg;
}

static void *new_arg(struct op *op, void *maker)
{
    (void)op;
    return maker;
}

static void add_job(struct stage *stage, uint64_t id, const char *deadline)
{
    struct feed_deltas deltas = { 0 };
    struct problem problem = { 0 };
    struct job_spec *spec = NULL;
    char *text = text_format(
        "{\"name\":\"a\",\"deadline\":\"%s\",\"groups\":[{\"name\":\"lead\",\"image\":\"dir:/i\"},"
        "{\"name\":\"worker\",\"replicas\":3,\"image\":\"dir:/i\"}]}",
        deadline);
    json_t *object = json_loads(text, 0, NULL);
    struct row_job row = { .id = id, .version = 5, .submitted_at = 1000 };
    struct batch_event event = { .kind = ROW_JOB, .row.job = &row };
    struct batch batch = { .events = &event, .n_events = 1 };

    CHECK_EQ(job_spec_from_json(object, NULL, &spec, &problem), 0);
    row.spec = job_spec_to_text(spec, NULL);
    feed_batch(stage->feed, &batch, &stage->arena, &deltas);
    CHECK_EQ(deltas.n, 1);
    VEC_FINI(&deltas);
    free(row.spec);
    job_spec_free(spec);
    json_decref(object);
    free(text);
}

static void stage_open(struct stage *stage)
{
    *stage = (struct stage){ .feed = feed_new(NULL, NULL) };
    add_job(stage, 12, "0s");
    add_job(stage, 13, "0s");
}

static void stage_close(struct stage *stage)
{
    VEC_EACH (op, &stage->ops)
        op_free(*op);
    VEC_FINI(&stage->ops);
    arena_fini(&stage->arena);
    feed_free(stage->feed);
}

static struct cycle_ops_in ops_in(struct stage *stage)
{
    return (struct cycle_ops_in){ .feed = stage->feed,
                                  .revision = 7,
                                  .now_ms = 1000,
                                  .fence = 3,
                                  .done = on_done,
                                  .new_arg = new_arg };
}

static void make(struct stage *stage, const struct berth_group *groups, size_t n)
{
    struct berth_decisions decisions = { .groups = groups, .n_groups = n };
    struct cycle_ops_in in = ops_in(stage);

    cycle_ops_make(&in, &decisions, &stage->ops);
}

TEST(ops_of_a_bind_name_every_part)
{
    struct berth_part parts[] = {
        { .task = { "j-12", "lead", 0, 1 }, .node = "n1", .facts = 9 },
        { .task = { "j-12", "worker", 2, 4 }, .node = "n2", .facts = 8 },
    };
    struct berth_group group = { .kind = BERTH_GROUP_BIND,
                                 .action = "allocate",
                                 .job = "j-12",
                                 .job_version = 5,
                                 .parts = parts,
                                 .n_parts = 2 };
    struct stage stage;
    const struct op_bind *bind;

    stage_open(&stage);
    make(&stage, &group, 1);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(stage.ops.at[0]->kind, OP_BIND);
    bind = &stage.ops.at[0]->bind;
    CHECK_EQ(bind->job, 12);
    CHECK_EQ(bind->version, 5);
    CHECK_EQ(bind->fence, 3);
    CHECK_TEXT(bind->decision, "7/allocate");
    CHECK_EQ(bind->n_parts, 2);
    CHECK_EQ(bind->parts[1].group, 1);
    CHECK_EQ(bind->parts[1].index, 2);
    CHECK_EQ(bind->parts[1].number, 4);
    CHECK_TEXT(bind->parts[1].node, "n2");
    CHECK_EQ(bind->parts[1].facts, 8);
    stage_close(&stage);
}

TEST(ops_of_a_group_that_nobody_knows_are_none)
{
    struct berth_part part = { .task = { "j-12", "nobody", 0, 1 }, .node = "n1" };
    struct berth_group groups[] = {
        { .kind = BERTH_GROUP_BIND, .job = "j-12", .parts = &part, .n_parts = 1 },
        { .kind = BERTH_GROUP_FAIL, .job = "j-12", .parts = &part, .n_parts = 1 },
    };
    struct stage stage;

    stage_open(&stage);
    make(&stage, groups, 2);
    CHECK_EQ(stage.ops.n, 0);
    stage_close(&stage);
}

TEST(ops_of_failures_are_the_jobs_or_the_tasks)
{
    struct berth_part parts[] = { { .task = { "j-12", "worker", 0, 0 } },
                                  { .task = { "j-12", "worker", 1, 0 } } };
    struct berth_group groups[] = {
        { .kind = BERTH_GROUP_FAIL,
          .job = "j-13",
          .job_version = 5,
          .code = WAIT_OVER_CAP,
          .resource = "cpu" },
        { .kind = BERTH_GROUP_FAIL,
          .job = "j-12",
          .code = WAIT_OVER_CAP,
          .parts = parts,
          .n_parts = 2 },
    };
    struct stage stage;

    stage_open(&stage);
    make(&stage, groups, 2);
    CHECK_EQ(stage.ops.n, 3);
    CHECK(!stage.ops.at[0]->fail.is_task);
    CHECK_EQ(stage.ops.at[0]->fail.job, 13);
    CHECK_EQ(stage.ops.at[0]->fail.code, WAIT_OVER_CAP);
    CHECK_TEXT(stage.ops.at[0]->fail.reason, "OVER_CAP: cpu");
    CHECK(stage.ops.at[2]->fail.is_task);
    CHECK_EQ(stage.ops.at[2]->fail.group, 1);
    CHECK_EQ(stage.ops.at[2]->fail.index, 1);
    stage_close(&stage);
}

TEST(ops_of_evictions_hold_their_room_for_whom_it_is)
{
    struct berth_part parts[] = {
        { .kind = BERTH_PART_EVICT, .task = { "j-13", "worker", 1, 6 }, .version = 44 },
        { .kind = BERTH_PART_RESERVE, .task = { "j-12", "lead", 0, 1 }, .node = "n1", .facts = 9 },
    };
    struct berth_group group = { .kind = BERTH_GROUP_EVICT,
                                 .job = "j-12",
                                 .job_version = 5,
                                 .action = "preempt",
                                 .reason = "preempt",
                                 .until_ms = 301000,
                                 .parts = parts,
                                 .n_parts = 2 };
    struct stage stage;
    const struct op_evict *evict;

    stage_open(&stage);
    make(&stage, &group, 1);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(stage.ops.at[0]->kind, OP_EVICT);
    evict = &stage.ops.at[0]->evict;
    CHECK_EQ(evict->job, 12);
    CHECK_EQ(evict->version, 5);
    CHECK_EQ(evict->replaces, 0);
    CHECK_EQ(evict->fence, 3);
    CHECK_EQ(evict->ttl_ms, 300000);
    CHECK_TEXT(evict->reason, "preempt");
    CHECK_EQ(evict->n_victims, 1);
    CHECK_EQ(evict->victims[0].attempt.job, 13);
    CHECK_EQ(evict->victims[0].attempt.group, 1);
    CHECK_EQ(evict->victims[0].attempt.number, 6);
    CHECK_EQ(evict->victims[0].rev, 44);
    CHECK_EQ(evict->n_rooms, 1);
    CHECK_EQ(evict->rooms[0].group, 0);
    CHECK_TEXT(evict->rooms[0].node, "n1");
    CHECK_EQ(evict->rooms[0].facts, 9);
    stage_close(&stage);
}

/* Who takes what is held for others says whose, in the operation that uses it. */
TEST(ops_name_what_they_take)
{
    struct berth_take takes[] = { { "r-j-13", "j-13", 77 }, { "r-j-14", "j-14", 80 } };
    struct berth_part parts[] = {
        { .kind = BERTH_PART_RESERVE, .task = { "j-12", "lead", 0, 1 }, .node = "n1", .facts = 9 },
        { .kind = BERTH_PART_BIND, .task = { "j-12", "lead", 0, 1 }, .node = "n1", .facts = 9 },
    };
    struct berth_group groups[] = {
        { .kind = BERTH_GROUP_RESERVE,
          .job = "j-12",
          .action = "preempt",
          .reason = "preempt",
          .until_ms = 301000,
          .parts = parts,
          .n_parts = 1,
          .takes = takes,
          .n_takes = 2 },
        { .kind = BERTH_GROUP_BIND,
          .job = "j-12",
          .parts = parts + 1,
          .n_parts = 1,
          .takes = takes,
          .n_takes = 1 },
    };
    struct stage stage;
    const struct op_evict *evict;
    const struct op_bind *bind;

    stage_open(&stage);
    make(&stage, groups, 2);
    CHECK_EQ(stage.ops.n, 2);
    CHECK_EQ(stage.ops.at[0]->kind, OP_EVICT);
    evict = &stage.ops.at[0]->evict;
    CHECK_EQ(evict->n_victims, 0);
    CHECK_EQ(evict->n_rooms, 1);
    CHECK_EQ(evict->n_takes, 2);
    CHECK_EQ(evict->takes[0].job, 13);
    CHECK_EQ(evict->takes[0].reservation, 77);
    CHECK_EQ(evict->takes[1].job, 14);
    CHECK_EQ(evict->takes[1].reservation, 80);
    CHECK_TEXT(evict->reason, "preempt");
    CHECK_EQ(stage.ops.at[1]->kind, OP_BIND);
    bind = &stage.ops.at[1]->bind;
    CHECK_EQ(bind->n_parts, 1);
    CHECK_EQ(bind->n_takes, 1);
    CHECK_EQ(bind->takes[0].job, 13);
    CHECK_EQ(bind->takes[0].reservation, 77);
    stage_close(&stage);
}

TEST(ops_of_a_shuffle_are_for_nobody)
{
    struct berth_part part = { .kind = BERTH_PART_EVICT, .task = { "j-13", "worker", 1, 6 } };
    struct berth_group group = {
        .kind = BERTH_GROUP_EVICT, .reason = "shuffle", .parts = &part, .n_parts = 1
    };
    struct stage stage;

    stage_open(&stage);
    make(&stage, &group, 1);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(stage.ops.at[0]->evict.job, 0);
    CHECK_EQ(stage.ops.at[0]->evict.n_victims, 1);
    stage_close(&stage);
}

/* What is held for j-12, as the feed hears of it. */
static void hold(struct stage *stage, int64_t until)
{
    char node[] = "n1", waits[] = "[[13,1,1,6]]", empty[] = "";
    struct row_reservation reservation = {
        .job = 12, .id = 70, .rev = 71, .until = until, .reason = empty
    };
    struct row_part part = { .job = 12, .reservation = 70, .node = node, .waits = waits };
    struct batch_event events[] = { { .kind = ROW_PART, .row.part = &part },
                                    { .kind = ROW_RESERVATION, .row.reservation = &reservation } };
    struct batch batch = { .events = events, .n_events = 2 };
    struct feed_deltas deltas = { 0 };

    feed_batch(stage->feed, &batch, &stage->arena, &deltas);
    CHECK_EQ(deltas.n, 1);
    CHECK_EQ(deltas.at[0].kind, BERTH_RESERVATION);
    VEC_FINI(&deltas);
}

TEST(ops_of_releases_name_what_was_seen)
{
    struct berth_group groups[] = {
        { .kind = BERTH_GROUP_RELEASE, .name = "r-j-12", .reason = "NODE_CHANGED" },
        { .kind = BERTH_GROUP_RELEASE, .name = "r-j-13", .reason = "NODE_CHANGED" },
        { .kind = BERTH_GROUP_RELEASE, .name = "r-j-12", .reason = "TIMED_OUT" },
    };
    struct stage stage;

    stage_open(&stage);
    hold(&stage, 0);
    make(&stage, groups, 3);
    CHECK_EQ(stage.ops.n, 1); /* nothing is held for j-13; time is the feed's to tell */
    CHECK_EQ(stage.ops.at[0]->release.job, 12);
    CHECK_EQ(stage.ops.at[0]->release.reservation, 70);
    CHECK_EQ(stage.ops.at[0]->release.rev, 71);
    CHECK_EQ(stage.ops.at[0]->release.why, RELEASE_NODE_CHANGED);
    stage_close(&stage);
}

TEST(ops_release_what_nobody_came_for)
{
    struct cycle_ops_in in;
    struct stage stage;

    stage_open(&stage);
    hold(&stage, 5000);
    CHECK_EQ(feed_next_release(stage.feed), 5000);
    in = ops_in(&stage);
    in.now_ms = 4999;
    cycle_ops_release_overdue(&in, &stage.ops);
    CHECK_EQ(stage.ops.n, 0);
    in.now_ms = 5000;
    cycle_ops_release_overdue(&in, &stage.ops);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(stage.ops.at[0]->release.why, RELEASE_TIMED_OUT);
    stage_close(&stage);
}

TEST(ops_stop_a_gang_that_runs_short_for_too_long)
{
    char node[] = "n1";
    struct row_job job = {
        .id = 12, .version = 5, .state = JOB_RUNNING, .is_degraded = 1, .degraded_at = 2000
    };
    struct row_attempt attempt = { .job = 12,
                                   .grp = 1,
                                   .idx = 2,
                                   .number = 4,
                                   .node = node,
                                   .rev = 55,
                                   .state = ATTEMPT_RUNNING };
    struct batch_event events[] = { { .kind = ROW_JOB, .row.job = &job },
                                    { .kind = ROW_ATTEMPT, .row.attempt = &attempt } };
    struct batch batch = { .events = events, .n_events = 2 };
    struct feed_deltas deltas = { 0 };
    struct cycle_ops_in in;
    struct stage stage;

    stage_open(&stage);
    job.spec = text_copy("{}"); /* unreadable, and so the one that was read stands */
    feed_batch(stage.feed, &batch, &stage.arena, &deltas);
    in = ops_in(&stage);
    CHECK_EQ(feed_next_short(stage.feed, 600000), 602000);
    CHECK_EQ(feed_next_short(stage.feed, BERTH_NEVER), BERTH_NEVER);
    in.now_ms = 601999;
    cycle_ops_stop_short(&in, 600000, &stage.ops);
    CHECK_EQ(stage.ops.n, 0);
    in.now_ms = 602000;
    cycle_ops_stop_short(&in, 600000, &stage.ops);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(stage.ops.at[0]->evict.job, 0);
    CHECK_EQ(stage.ops.at[0]->evict.n_victims, 1);
    CHECK_EQ(stage.ops.at[0]->evict.victims[0].attempt.number, 4);
    CHECK_EQ(stage.ops.at[0]->evict.victims[0].rev, 55);
    /* While it stops it is asked nothing more. */
    attempt.state = ATTEMPT_STOPPING;
    feed_batch(stage.feed, &batch, &stage.arena, &deltas);
    cycle_ops_stop_short(&in, 600000, &stage.ops);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(feed_next_short(stage.feed, 600000), BERTH_NEVER);
    free(job.spec);
    VEC_FINI(&deltas);
    stage_close(&stage);
}

TEST(ops_of_memos_come_back_as_they_were)
{
    static const unsigned char bytes[] = { 0x00, 0x7f, 0xff };
    struct berth_group group = {
        .kind = BERTH_GROUP_MEMO, .name = "use", .data = bytes, .size = 3
    };
    struct feed_deltas deltas = { 0 };
    struct row_memo row = { 0 };
    struct batch_event event = { .kind = ROW_MEMO, .row.any = &row };
    struct batch batch = { .events = &event, .n_events = 1 };
    struct stage stage;

    stage_open(&stage);
    make(&stage, &group, 1);
    CHECK_TEXT(stage.ops.at[0]->memo.value, "007fff");
    row.name = stage.ops.at[0]->memo.name;
    row.value = stage.ops.at[0]->memo.value;
    feed_batch(stage.feed, &batch, &stage.arena, &deltas);
    CHECK_EQ(deltas.n, 1);
    CHECK_EQ(deltas.at[0].kind, BERTH_MEMO);
    CHECK_EQ(deltas.at[0].memo->size, 3);
    CHECK(memcmp(deltas.at[0].memo->data, bytes, 3) == 0);
    VEC_FINI(&deltas);
    stage_close(&stage);
}

TEST(ops_of_admissions)
{
    struct berth_group groups[] = { { .kind = BERTH_GROUP_ADMIT, .job = "j-12", .job_version = 5 },
                                    { .kind = BERTH_GROUP_UNADMIT, .job = "j-13" } };
    struct stage stage;

    stage_open(&stage);
    make(&stage, groups, 2);
    CHECK_EQ(stage.ops.n, 2);
    CHECK(stage.ops.at[0]->admit.is_admitted);
    CHECK(!stage.ops.at[1]->admit.is_admitted);
    stage_close(&stage);
}

TEST(ops_of_an_order_hold_room_on_its_machine)
{
    struct berth_amount shape[] = { { "cpu", 4000 }, { "memory", 1024 } };
    struct berth_part parts[] = {
        { .kind = BERTH_PART_RESERVE, .task = { "j-12", "worker", 2, 0 }, .node = "spot-7-1" }
    };
    struct berth_group group = { .kind = BERTH_GROUP_ORDER,
                                 .action = "provision",
                                 .job = "j-12",
                                 .job_version = 5,
                                 .name = "spot-7-1",
                                 .pool = "spot",
                                 .shape = { shape, 2 },
                                 .until_ms = 181000,
                                 .parts = parts,
                                 .n_parts = 1 };
    const struct op_order *order;
    struct stage stage;

    stage_open(&stage);
    make(&stage, &group, 1);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_EQ(stage.ops.at[0]->kind, OP_ORDER);
    order = &stage.ops.at[0]->order;
    CHECK_TEXT(order->key, "spot-7-1");
    CHECK_TEXT(order->pool, "spot");
    CHECK_TEXT(order->shape, "{\"cpu\":4000,\"memory\":1024}");
    CHECK_TEXT(order->decision, "7/provision");
    CHECK_EQ(order->job, 12);
    CHECK_EQ(order->version, 5);
    CHECK_EQ(order->ttl_ms, 180000);
    CHECK_EQ(order->fence, 3);
    CHECK_EQ(order->n_rooms, 1);
    CHECK_EQ(order->rooms[0].group, 1);
    CHECK_EQ(order->rooms[0].index, 2);
    CHECK_TEXT(order->rooms[0].node, "spot-7-1");
    stage_close(&stage);
}

/* A row of an order, as the feed is told of it. */
static void tell_order(struct stage *stage, struct row_order *row, struct feed_deltas *deltas)
{
    struct batch_event event = { .kind = ROW_ORDER, .row.order = row };
    struct batch batch = { .events = &event, .n_events = 1 };

    feed_batch(stage->feed, &batch, &stage->arena, deltas);
}

TEST(ops_fail_what_nobody_brought_and_its_pool_backs_off)
{
    static const struct berth_pool spot = { .name = "spot", .provisions = true };
    static const struct berth_delta objects[] = { { .kind = BERTH_POOL, .pool = &spot } };
    struct feed_engine_from from = { .objects = objects, .n_objects = 1 };
    char key[] = "spot-1", pool[] = "spot";
    struct row_order row = { .key = key, .pool = pool, .made_at = 500 };
    struct feed_deltas deltas = { 0 };
    struct cycle_ops_in in;
    struct stage stage;

    stage_open(&stage);
    feed_free(stage.feed);
    stage.feed = feed_new(&from, NULL);
    tell_order(&stage, &row, &deltas);
    in = ops_in(&stage);
    CHECK_EQ(feed_next_order_end(stage.feed, 501), 1001);
    cycle_ops_fail_orders(&in, 501, &stage.ops);
    CHECK_EQ(stage.ops.n, 0);
    cycle_ops_fail_orders(&in, 500, &stage.ops);
    CHECK_EQ(stage.ops.n, 1);
    CHECK_TEXT(stage.ops.at[0]->order_state.key, "spot-1");
    CHECK_EQ(stage.ops.at[0]->order_state.state, ORDER_FAILED);
    CHECK_EQ(stage.ops.at[0]->order_state.fence, 3);
    row.state = ORDER_FAILED;
    row.ended_at = 1000;
    deltas.n = 0;
    tell_order(&stage, &row, &deltas);
    CHECK_EQ(deltas.n, 2); /* the order's end, and the pool */
    CHECK(deltas.at[0].kind == BERTH_ORDER && deltas.at[0].end);
    CHECK_EQ(deltas.at[1].pool->backoff_until_ms, 61000);
    CHECK_EQ(feed_next_order_end(stage.feed, 501), BERTH_NEVER);
    VEC_FINI(&deltas);
    stage_close(&stage);
}

static const struct {
    const char *name;
    int64_t now_ms;
    size_t n_overdue;
} instants[] = {
    { "before any", 2999, 0 },
    { "the first is due", 3000, 1 },
    { "both are", 6000, 2 },
};

TEST(ops_fail_what_did_not_start_by_its_deadline)
{
    ROW_EACH (c, instants) {
        struct cycle_ops_in in;
        struct verdicts *none;
        struct stage stage;

        stage_open(&stage);
        add_job(&stage, 20, "2s"); /* submitted at 1000 */
        add_job(&stage, 21, "5s");
        CHECK_EQ(feed_next_deadline(stage.feed), 3000);
        in = ops_in(&stage);
        none = verdicts_make(NULL, 0);
        in.now_ms = c->now_ms;
        cycle_ops_fail_overdue(&in, none, &stage.ops);
        CHECK_EQ(stage.ops.n, c->n_overdue);
        if (c->n_overdue) {
            CHECK_EQ(stage.ops.at[0]->fail.job, 20);
            CHECK_EQ(stage.ops.at[0]->fail.version, 5);
            CHECK_EQ(stage.ops.at[0]->fail.code, WAIT_NOT_YET_CONSIDERED);
        }
        verdicts_unref(none);
        stage_close(&stage);
    }
}

TEST(ops_forget_a_deadline_that_was_kept)
{
    struct feed_deltas deltas = { 0 };
    struct stage stage;
    struct row_job row = {
        .id = 20, .version = 5, .submitted_at = 1000, .state = JOB_RUNNING, .started_at = 1500
    };
    struct batch_event event = { .kind = ROW_JOB, .row.job = &row };
    struct batch batch = { .events = &event, .n_events = 1 };

    stage_open(&stage);
    add_job(&stage, 20, "2s");
    row.spec = text_copy("{}"); /* unreadable, and so the one that was read stands */
    feed_batch(stage.feed, &batch, &stage.arena, &deltas);
    CHECK_EQ(feed_next_deadline(stage.feed), BERTH_NEVER);
    free(row.spec);
    VEC_FINI(&deltas);
    stage_close(&stage);
}

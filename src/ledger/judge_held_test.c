/* Held room: evictions, what is held for whom, and every way in which it ends. */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

/* A node of four cores, four tasks of one core running on it, and a job of two tasks that waits. */
struct scene {
    struct world w;
    uint64_t low, high, small;
};

static void check(struct scene *s)
{
    struct err err = { 0 };

    CHECK_OK(ledger_check_open(s->w.ledger, &err), &err);
}

static void set_up(struct scene *s)
{
    world_open(&s->w, "memory:");
    world_lead(&s->w);
    CHECK_EQ(world_register(&s->w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    CHECK_EQ(world_register(&s->w, "n2", "{\"cpu\":2000}"), PROBLEM_NONE);
    CHECK_EQ(world_register(&s->w, "n3", "{\"fpga\":1000}"), PROBLEM_NONE);
    s->low = world_submit(&s->w, "{\"name\":\"low\",\"replicas\":4,\"minAvailable\":1,"
                                 "\"resources\":{\"cpu\":1},\"grace\":\"20s\"}");
    s->high = world_submit(&s->w, "{\"name\":\"high\",\"replicas\":2,\"gang\":true,"
                                  "\"resources\":{\"cpu\":1}}");
    s->small = world_submit(&s->w, "{\"name\":\"small\",\"replicas\":4,\"minAvailable\":1,"
                                   "\"resources\":{\"cpu\":1}}");
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(world_bind(&s->w, s->low, i, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ack(&s->w, s->low, i, 1, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_running(&s->w, s->low, i, 1, "n1"), PROBLEM_NONE);
    }
}

static void tear_down(struct scene *s)
{
    check(s);
    world_close(&s->w);
}

/* Evicts two of low for the two of high. */
static struct op *eviction(struct scene *s)
{
    struct op *op = world_evict_op(&s->w, s->high, 0, 2, "n1");

    world_add_victim(&s->w, op, s->low, 0, 1);
    world_add_victim(&s->w, op, s->low, 1, 1);
    return op;
}

static void evict(struct scene *s)
{
    CHECK_EQ(world_run(&s->w, eviction(s)), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s->w, s->high), "open n1* n1*");
    check(s);
}

static void end_victims(struct scene *s)
{
    CHECK_EQ(world_ended(&s->w, s->low, 0, 1, "n1", 143), PROBLEM_NONE);
    CHECK_EQ(world_ended(&s->w, s->low, 1, 1, "n1", 143), PROBLEM_NONE);
    check(s);
}

static enum problem_code bind_both(struct scene *s, const char *node)
{
    return world_run(&s->w, world_bind_op(&s->w, s->high, 0, 2, node));
}

TEST(victims_end_and_the_owner_is_bound_in_their_room)
{
    struct scene s = { 0 };
    struct row_attempt *row;

    set_up(&s);
    evict(&s);
    CHECK_TEXT(world_attempt_says(&s.w, s.low, 0, 1), "stopping EVICTED");
    row = world_attempt(&s.w, s.low, 0, 1);
    CHECK_EQ(row->evicted_for, s.high);
    CHECK_EQ(row->grace_ms, 20000);
    CHECK(strstr(row->message, "preempt for j-"));
    row_free(ROW_ATTEMPT, row);
    CHECK_EQ(bind_both(&s, "n1"), PROBLEM_CHANGED_SINCE); /* they are not gone yet */
    end_victims(&s);
    CHECK_TEXT(world_attempt_says(&s.w, s.low, 0, 1), "ended EVICTED again");
    row = world_attempt(&s.w, s.low, 0, 1);
    CHECK_EQ(row->evictions, 1);
    CHECK_EQ(row->tries, 0);
    row_free(ROW_ATTEMPT, row);
    CHECK_EQ(bind_both(&s, "n1"), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, s.high), "used");
    tear_down(&s);
}

TEST(held_room_is_nobody_elses)
{
    struct scene s = { 0 };

    set_up(&s);
    evict(&s);
    /* One that was not evicted ends by itself: its core is free, now and later. */
    CHECK_EQ(world_ended(&s.w, s.low, 3, 1, "n1", 0), PROBLEM_NONE);
    CHECK_EQ(world_bind(&s.w, s.small, 0, "n1"), PROBLEM_NONE);
    check(&s);
    /* The first victim's core is held, although nobody is on it yet. */
    CHECK_EQ(world_ended(&s.w, s.low, 0, 1, "n1", 143), PROBLEM_NONE);
    CHECK_EQ(world_bind(&s.w, s.small, 1, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_ended(&s.w, s.low, 1, 1, "n1", 143), PROBLEM_NONE);
    CHECK_EQ(world_bind(&s.w, s.small, 1, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_bind(&s.w, s.low, 0, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(bind_both(&s, "n1"), PROBLEM_NONE);
    tear_down(&s);
}

TEST(a_victim_is_the_attempt_and_state_that_was_seen)
{
    struct scene s = { 0 };
    struct op *op;

    set_up(&s);
    op = eviction(&s);
    op->evict.victims[1].rev--;
    CHECK_EQ(world_do(&s.w, op), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(op->evict.victims[0].refused, WAIT_NONE);
    CHECK_EQ(op->evict.victims[1].refused, WAIT_CAPACITY_CHANGED);
    op_free(op);
    op = eviction(&s);
    CHECK_EQ(world_ended(&s.w, s.low, 1, 1, "n1", 0), PROBLEM_NONE);
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CHANGED_SINCE);
    op = eviction(&s);
    op->evict.victims[0].attempt.number = 2;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CHANGED_SINCE);
    op = world_evict_op(&s.w, s.high, 0, 2, "n1");
    world_add_victim(&s.w, op, s.low, 2, 1);
    world_add_victim(&s.w, op, s.low, 2, 1);
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE); /* named twice, it goes once, and two fit */
    tear_down(&s);
}

TEST(what_is_not_good_is_refused_whole)
{
    struct scene s = { 0 };
    struct op *op;

    set_up(&s);
    op = eviction(&s);
    op->evict.fence--;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CONFLICT);
    op = eviction(&s);
    op->evict.version++;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CHANGED_SINCE);
    op = eviction(&s);
    op->evict.rooms[1].facts++;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CHANGED_SINCE);
    op = eviction(&s);
    op->evict.n_victims = 1; /* one core for two */
    CHECK_EQ(world_do(&s.w, op), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(op->evict.rooms[0].refused, WAIT_NONE);
    CHECK_EQ(op->evict.rooms[1].refused, WAIT_INSUFFICIENT_CPU);
    op_free(op);
    CHECK_EQ(world_run(&s.w, world_evict_op(&s.w, s.high, 0, 1, "n3")), PROBLEM_CHANGED_SINCE);
    op = eviction(&s);
    mem_free(op->evict.reason);
    op->evict.reason = NULL;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_BAD_REQUEST);
    op = eviction(&s);
    op->evict.job = 0;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_BAD_REQUEST);
    op = eviction(&s);
    op->evict.replaces = 7;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CHANGED_SINCE);
    CHECK_TEXT(world_attempt_says(&s.w, s.low, 0, 1), "running");
    CHECK_TEXT(world_held_says(&s.w, s.high), "");
    tear_down(&s);
}

TEST(one_may_go_for_a_reason_alone)
{
    struct scene s = { 0 };
    struct op *op;

    set_up(&s);
    op = world_evict_op(&s.w, 0, 0, 0, "n1");
    mem_free(op->evict.reason);
    op->evict.reason = text_copy("shuffle");
    world_add_victim(&s.w, op, s.low, 2, 1);
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&s.w, s.low, 2, 1), "stopping EVICTED");
    tear_down(&s);
}

TEST(an_owner_has_one_reservation_and_another_carries_it_on)
{
    struct scene s = { 0 };
    struct op *op;
    uint64_t job;

    set_up(&s);
    job = world_submit(&s.w, "{\"name\":\"wide\",\"replicas\":3,\"gang\":true,"
                             "\"resources\":{\"cpu\":1}}");
    op = world_evict_op(&s.w, job, 0, 2, "n1");
    world_add_victim(&s.w, op, s.low, 0, 1);
    world_add_victim(&s.w, op, s.low, 1, 1);
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    op = world_evict_op(&s.w, job, 2, 1, "n2");
    op->evict.replaces = 0;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_run(&s.w, world_evict_op(&s.w, job, 2, 1, "n2")), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, job), "ended MOVED; open n1* n1* n2");
    tear_down(&s);
}

/* ---- how it ends ---- */

static void patch(struct scene *s, bool is_held)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = s->high;
    op->patch.has_held = is_held;
    op->patch.is_held = is_held;
    op->patch.has_priority = !is_held;
    op->patch.priority = 7;
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void cancel(struct scene *s)
{
    CHECK_EQ(world_stop(&s->w, s->high), PROBLEM_NONE);
}

static void hold(struct scene *s)
{
    patch(s, true);
}

static void change(struct scene *s)
{
    patch(s, false);
}

static void give_up(struct scene *s)
{
    struct op *op = op_new(OP_FAIL, NULL, NULL);

    op->fail = (struct op_fail){
        .job = s->high, .version = 1, .code = WAIT_LARGER_THAN_CLUSTER, .fence = s->w.fence
    };
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void move(struct scene *s)
{
    CHECK_EQ(bind_both(s, "n2"), PROBLEM_NONE);
}

static void lose(struct scene *s)
{
    CHECK_EQ(world_node_state(&s->w, "n1", NODE_LOST), PROBLEM_NONE);
}

static void cordon(struct scene *s)
{
    struct op *op = op_new(OP_CORDON, NULL, NULL);

    op->cordon.node = text_copy("n1");
    op->cordon.is_cordoned = true;
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void leave(struct scene *s)
{
    struct op *op = op_new(OP_LEAVE, NULL, NULL);

    op->leave.node = text_copy("n1");
    op->leave.generation = 1;
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void come_back(struct scene *s, const char *offers, const char *labels)
{
    struct op *op = world_register_op("n1", "boot-1", offers);

    op->reg.labels = labels ? text_copy(labels) : NULL;
    op->reg.held = NEW0_N(struct held_attempt, 4);
    op->reg.n_held = 4;
    for (uint32_t i = 0; i < 4; i++)
        op->reg.held[i].attempt = (struct attempt_key){ s->low, 0, i, 1 };
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void come_back_as_it_was(struct scene *s)
{
    come_back(s, "{\"cpu\":4000}", NULL);
}

static void come_back_with_labels(struct scene *s)
{
    come_back(s, "{\"cpu\":4000}", "{\"disk\":\"slow\"}");
}

static void come_back_smaller(struct scene *s)
{
    come_back(s, "{\"cpu\":3000}", NULL);
}

static void come_back_tiny(struct scene *s)
{
    come_back(s, "{\"cpu\":1000}", NULL);
}

static void wait_too_long(struct scene *s)
{
    s->w.now += 20000 + 60000 - 1; /* the victims' grace and a minute */
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_TIMED_OUT), PROBLEM_CHANGED_SINCE);
    s->w.now++;
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_TIMED_OUT), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&s->w, s->low, 0, 1), "stopping EVICTED");
}

static void leave_it_free_too_long(struct scene *s)
{
    s->w.now += 60000;
    end_victims(s);
    s->w.now += 300000 - 1; /* the ttl, from when the room was free */
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_TIMED_OUT), PROBLEM_CHANGED_SINCE);
    s->w.now++;
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_TIMED_OUT), PROBLEM_NONE);
}

static void be_taken(struct scene *s)
{
    struct op *op = world_bind_op(&s->w, s->small, 0, 2, "n1");

    end_victims(s);
    op->bind.takes = NEW0_N(struct op_take, 1);
    op->bind.n_takes = 1;
    op->bind.takes[0] = (struct op_take){ s->high, 1 };
    CHECK_EQ(world_do(&s->w, op), PROBLEM_CHANGED_SINCE); /* another reservation */
    op_free(op);
    op = world_bind_op(&s->w, s->small, 0, 2, "n1");
    op->bind.takes = NEW0_N(struct op_take, 1);
    op->bind.n_takes = 1;
    op->bind.takes[0].job = s->high;
    op->bind.takes[0].reservation = world_reservation(&s->w, s->high);
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
}

static void be_released(struct scene *s)
{
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_TAKEN), PROBLEM_BAD_REQUEST);
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_NODE_CHANGED), PROBLEM_NONE);
    CHECK_EQ(world_release(&s->w, s->high, RELEASE_NODE_CHANGED), PROBLEM_CHANGED_SINCE);
}

static const struct {
    const char *name;
    void (*act)(struct scene *s);
    const char *held;
} ends[] = {
    { "its owner is cancelled", cancel, "ended OWNER_GONE" },
    { "its owner is held", hold, "ended OWNER_GONE" },
    { "its owner is changed", change, "ended OWNER_GONE" },
    { "its owner is given up", give_up, "ended OWNER_GONE" },
    { "its owner is bound elsewhere", move, "ended MOVED" },
    { "its node is lost", lose, "ended NODE_CHANGED" },
    { "its node is cordoned", cordon, "ended NODE_CHANGED" },
    { "its node leaves", leave, "ended NODE_CHANGED" },
    { "its agent begins anew", come_back_as_it_was, "open n1* n1*" },
    { "its node comes back with other labels", come_back_with_labels, "ended NODE_CHANGED" },
    { "its node comes back smaller", come_back_smaller, "open n1*" },
    { "its node comes back too small", come_back_tiny, "ended NODE_CHANGED" },
    { "the room does not come", wait_too_long, "ended TIMED_OUT" },
    { "the room is not used", leave_it_free_too_long, "ended TIMED_OUT" },
    { "the room is taken", be_taken, "ended TAKEN" },
    { "the engine lets it go", be_released, "ended NODE_CHANGED" },
};

TEST(held_room_ends_with_its_reason)
{
    ROW_EACH (c, ends) {
        struct scene s = { 0 };

        set_up(&s);
        evict(&s);
        c->act(&s);
        CHECK_TEXT(world_held_says(&s.w, s.high), c->held);
        tear_down(&s);
    }
}

TEST(part_of_a_gang_that_runs_may_use_its_room_later)
{
    struct scene s = { 0 };
    uint64_t job;
    struct op *op;

    set_up(&s);
    job = world_submit(&s.w, "{\"name\":\"grows\",\"replicas\":2,\"minAvailable\":1,"
                             "\"resources\":{\"cpu\":1}}");
    op = world_evict_op(&s.w, job, 0, 2, "n1");
    world_add_victim(&s.w, op, s.low, 0, 1);
    world_add_victim(&s.w, op, s.low, 1, 1);
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    CHECK_EQ(world_ended(&s.w, s.low, 0, 1, "n1", 143), PROBLEM_NONE);
    CHECK_EQ(world_bind(&s.w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, job), "open n1*");
    CHECK_EQ(world_node_state(&s.w, "n1", NODE_LOST), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, job), "used"); /* some of it was */
    tear_down(&s);
}

TEST(a_reservation_lives_on_in_the_next_life)
{
    CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
    struct scene s = { 0 };

    world_open(&s.w, address);
    world_close(&s.w);
    s = (struct scene){ 0 };
    world_open(&s.w, address);
    world_lead(&s.w);
    CHECK_EQ(world_register(&s.w, "n1", "{\"cpu\":1000}"), PROBLEM_NONE);
    s.low = world_submit(&s.w, "{\"name\":\"low\",\"resources\":{\"cpu\":1}}");
    s.high = world_submit(&s.w, "{\"name\":\"high\",\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_bind(&s.w, s.low, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&s.w, s.low, 0, 1, "n1"), PROBLEM_NONE);
    {
        struct op *op = world_evict_op(&s.w, s.high, 0, 1, "n1");
        world_add_victim(&s.w, op, s.low, 0, 1);
        CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    }
    world_close(&s.w);
    world_open(&s.w, address);
    world_lead(&s.w);
    check(&s);
    CHECK_EQ(world_ended(&s.w, s.low, 0, 1, "n1", 143), PROBLEM_NONE);
    CHECK_EQ(world_bind(&s.w, s.low, 0, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_bind(&s.w, s.high, 0, "n1"), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, s.high), "used");
    tear_down(&s);
    world_drop();
}

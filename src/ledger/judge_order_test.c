/* Orders: a machine that is asked for, room on it, and what becomes of both. */
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

struct scene {
    struct world w;
    uint64_t job;
};

static struct op *order(struct scene *s, const char *shape, uint32_t n_rooms)
{
    struct op *op = op_new(OP_ORDER, NULL, NULL);

    op->order.key = text_copy("m-1");
    op->order.pool = text_copy("spot");
    op->order.shape = text_copy(shape);
    op->order.job = n_rooms ? s->job : 0;
    op->order.version = 1;
    op->order.rooms = NEW0_N(struct op_room, n_rooms + 1);
    op->order.n_rooms = n_rooms;
    for (uint32_t i = 0; i < n_rooms; i++)
        op->order.rooms[i].index = i;
    op->order.ttl_ms = 180000;
    op->order.fence = s->w.fence;
    return op;
}

static enum problem_code say(struct scene *s, enum order_state state)
{
    struct op *op = op_new(OP_ORDER_STATE, NULL, NULL);

    op->order_state = (struct op_order_state){ .key = text_copy("m-1"),
                                               .state = state,
                                               .provider = text_copy("i-0abc"),
                                               .fence = s->w.fence };
    return world_run(&s->w, op);
}

static void check(struct scene *s)
{
    struct err err = { 0 };

    CHECK_OK(ledger_check_open(s->w.ledger, &err), &err);
}

static void set_up(struct scene *s)
{
    world_open(&s->w, "memory:");
    world_lead(&s->w);
    CHECK_EQ(world_register(&s->w, "n1", "{\"cpu\":1000}"), PROBLEM_NONE);
    s->job = world_submit(&s->w, "{\"name\":\"a\",\"replicas\":2,\"gang\":true,"
                                 "\"resources\":{\"cpu\":2}}");
}

static enum node_state state_of(struct scene *s)
{
    struct row_node *row = world_node(&s->w, "m-1");
    enum node_state state = row ? (enum node_state)row->state : NODE_STATE_COUNT;

    row_free(ROW_NODE, row);
    return state;
}

static void order_two(struct scene *s)
{
    set_up(s);
    CHECK_EQ(world_run(&s->w, order(s, "{\"cpu\":4000}", 2)), PROBLEM_NONE);
    CHECK_EQ(state_of(s), NODE_COMING);
    CHECK_TEXT(world_held_says(&s->w, s->job), "open m-1 m-1");
    check(s);
}

TEST(a_machine_comes_and_takes_what_is_held_on_it)
{
    struct scene s = { 0 };

    order_two(&s);
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_NONE);
    CHECK_EQ(world_run(&s.w, world_bind_op(&s.w, s.job, 0, 2, "m-1")), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_register(&s.w, "m-1", "{\"cpu\":4000}"), PROBLEM_NONE);
    CHECK_EQ(state_of(&s), NODE_READY);
    check(&s);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_CONFLICT); /* it came */
    CHECK_EQ(world_run(&s.w, world_bind_op(&s.w, s.job, 0, 2, "m-1")), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, s.job), "used");
    check(&s);
    world_close(&s.w);
}

/* Whoever brings it may say more, or better, what it is. */
TEST(a_machine_on_its_way_is_told_of_again)
{
    struct scene s = { 0 };
    struct op *op = op_new(OP_ORDER_STATE, NULL, NULL);
    uint64_t revision;

    order_two(&s);
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_NONE);
    revision = s.w.revision;
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_NONE); /* the same */
    CHECK_EQ(s.w.revision, revision);
    op->order_state = (struct op_order_state){ .key = text_copy("m-1"),
                                               .state = ORDER_PLACED,
                                               .reason = text_copy("slow"),
                                               .fence = s.w.fence };
    CHECK_EQ(world_run(&s.w, op), PROBLEM_NONE);
    CHECK(s.w.revision > revision);
    CHECK_EQ(state_of(&s), NODE_COMING);
    CHECK_TEXT(world_held_says(&s.w, s.job), "open m-1 m-1");
    check(&s);
    world_close(&s.w);
}

TEST(a_machine_that_comes_smaller_keeps_what_fits)
{
    struct scene s = { 0 };

    order_two(&s);
    CHECK_EQ(world_register(&s.w, "m-1", "{\"cpu\":3000}"), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, s.job), "open m-1");
    check(&s);
    world_close(&s.w);
}

TEST(a_machine_that_does_not_come_ends_what_is_held_on_it)
{
    struct scene s = { 0 };

    order_two(&s);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE); /* said twice */
    CHECK_TEXT(world_held_says(&s.w, s.job), "ended NOT_CAME");
    CHECK_EQ(state_of(&s), NODE_GONE);
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_CONFLICT);
    check(&s);
    world_close(&s.w);
}

static const struct {
    const char *name, *shape;
    uint32_t n_rooms;
    enum problem_code code;
} refused[] = {
    { "too small", "{\"cpu\":3000}", 2, PROBLEM_CHANGED_SINCE },
    { "no shape", "[]", 0, PROBLEM_INVALID_FIELD },
    { "a task that is not", "{\"cpu\":9000}", 3, PROBLEM_CHANGED_SINCE },
};

TEST(orders_that_are_not_good_are_refused_whole)
{
    ROW_EACH (c, refused) {
        struct scene s = { 0 };

        set_up(&s);
        CHECK_EQ(world_run(&s.w, order(&s, c->shape, c->n_rooms)), c->code);
        CHECK_EQ(state_of(&s), NODE_STATE_COUNT);
        CHECK_TEXT(world_held_says(&s.w, s.job), "");
        CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_NOT_FOUND);
        check(&s);
        world_close(&s.w);
    }
}

TEST(an_order_is_made_once_and_by_the_steward)
{
    struct scene s = { 0 };
    struct op *op;

    set_up(&s);
    op = order(&s, "{\"cpu\":4000}", 0);
    op->order.fence++;
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CONFLICT);
    CHECK_EQ(world_run(&s.w, order(&s, "{\"cpu\":4000}", 0)), PROBLEM_NONE);
    CHECK_EQ(world_run(&s.w, order(&s, "{\"cpu\":4000}", 0)), PROBLEM_CONFLICT);
    op = order(&s, "{\"cpu\":4000}", 0);
    mem_free(op->order.key);
    op->order.key = text_copy("n1");
    CHECK_EQ(world_run(&s.w, op), PROBLEM_CONFLICT); /* a node of that name is there */
    check(&s);
    world_close(&s.w);
}

/* What a machine of another key is asked for, with room for one task. */
static struct op *order_another(struct scene *s, const char *key, uint32_t index)
{
    struct op *op = order(s, "{\"cpu\":2000}", 1);

    mem_free(op->order.key);
    op->order.key = text_copy(key);
    op->order.rooms[0].index = index;
    return op;
}

/* A gang may need several machines: the second order carries on what the first one holds. */
TEST(a_gang_holds_room_on_two_machines)
{
    struct scene s = { 0 };

    set_up(&s);
    CHECK_EQ(world_run(&s.w, order_another(&s, "m-1", 0)), PROBLEM_NONE);
    CHECK_EQ(world_run(&s.w, order_another(&s, "m-2", 1)), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, s.job), "ended MOVED; open m-1 m-2");
    check(&s);
    CHECK_EQ(world_register(&s.w, "m-1", "{\"cpu\":2000}"), PROBLEM_NONE);
    CHECK_EQ(world_register(&s.w, "m-2", "{\"cpu\":2000}"), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, s.job), "ended MOVED; open m-1 m-2");
    check(&s);
    world_close(&s.w);
}

/* A task may ride on a machine that was ordered for another, as far as that has room. */
TEST(room_is_held_on_a_machine_that_is_on_its_way)
{
    struct scene s = { 0 };
    uint64_t rider, late;

    set_up(&s);
    CHECK_EQ(world_run(&s.w, order(&s, "{\"cpu\":5000}", 2)), PROBLEM_NONE);
    rider = world_submit(&s.w, "{\"name\":\"r\",\"resources\":{\"cpu\":1}}");
    late = world_submit(&s.w, "{\"name\":\"l\",\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_run(&s.w, world_evict_op(&s.w, rider, 0, 1, "m-1")), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, rider), "open m-1");
    CHECK_EQ(world_run(&s.w, world_evict_op(&s.w, late, 0, 1, "m-1")), PROBLEM_CHANGED_SINCE);
    check(&s);
    CHECK_EQ(say(&s, ORDER_CANCELLED), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&s.w, rider), "ended NOT_CAME");
    check(&s);
    world_close(&s.w);
}

TEST(a_person_may_say_what_became_of_an_order)
{
    struct scene s = { 0 };

    order_two(&s);
    s.w.fence++; /* no steward's */
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_CONFLICT);
    s.w.fence = 0;
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_NONE);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE);
    check(&s);
    world_close(&s.w);
}

/* What failed stays failed; the machine that is there all the same is a node as any other. */
TEST(a_machine_that_comes_when_its_order_has_failed_is_a_plain_node)
{
    struct scene s = { 0 };

    order_two(&s);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE);
    CHECK_EQ(world_register(&s.w, "m-1", "{\"cpu\":4000}"), PROBLEM_NONE);
    CHECK_EQ(state_of(&s), NODE_READY);
    CHECK_EQ(say(&s, ORDER_PLACED), PROBLEM_CONFLICT); /* it is failed for good */
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE);
    CHECK_EQ(state_of(&s), NODE_READY);
    CHECK_TEXT(world_held_says(&s.w, s.job), "ended NOT_CAME");
    CHECK_EQ(world_run(&s.w, world_bind_op(&s.w, s.job, 0, 2, "m-1")), PROBLEM_NONE);
    check(&s);
    world_close(&s.w);
}

static void retain(struct scene *s, int64_t ended_before, uint32_t most)
{
    struct op *op = op_new(OP_RETAIN, NULL, NULL);

    op->retain.ended_before = ended_before;
    op->retain.most = most;
    CHECK_EQ(world_run(&s->w, op), PROBLEM_NONE);
    check(s);
}

TEST(an_order_that_ended_long_ago_goes_with_the_node_that_never_was)
{
    struct scene s = { 0 };
    int64_t ended;

    order_two(&s);
    s.w.now += 1000;
    retain(&s, s.w.now, 10);
    CHECK_EQ(state_of(&s), NODE_COMING); /* it is not over */
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE);
    ended = s.w.now;
    s.w.now += 1000;
    retain(&s, ended, 10);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE); /* not so long ago */
    retain(&s, ended + 1, 0);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NONE); /* so many at a time */
    retain(&s, ended + 1, 1);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_NOT_FOUND);
    CHECK_EQ(state_of(&s), NODE_STATE_COUNT);
    world_close(&s.w);
}

TEST(an_order_stays_while_its_machine_is_there)
{
    struct scene s = { 0 };

    order_two(&s);
    CHECK_EQ(world_register(&s.w, "m-1", "{\"cpu\":4000}"), PROBLEM_NONE);
    s.w.now += 1000;
    retain(&s, s.w.now, 10);
    CHECK_EQ(say(&s, ORDER_FAILED), PROBLEM_CONFLICT); /* it is there, and came */
    CHECK_EQ(state_of(&s), NODE_READY);
    world_close(&s.w);
}

#include "server/scene.h"
#include "server/steward.h"

/* A clock that only the test moves. */
struct hands {
    int64_t boot_us, wall_ms;
};

static int64_t hands_boot(void *arg)
{
    return ((struct hands *)arg)->boot_us;
}

static int64_t hands_wall(void *arg)
{
    return ((struct hands *)arg)->wall_ms;
}

struct stage {
    struct scene scene;
    struct hands hands;
    struct clock clock;
    struct steward *steward;
    struct agent agent;
};

/* Returns once the writer has answered all that was sent before, and told its
 * listeners. */
static void barrier(struct stage *stage)
{
    for (int i = 0; i < 2; i++) {
        struct op *op = op_new(OP_BEAT, NULL, NULL);

        op->beat.node = text_copy("nobody");
        scene_ask(&stage->scene, op);
        op_free(op);
    }
}

/* One look, and what it brings about. */
static void look(struct stage *stage)
{
    struct err err = { 0 };

    barrier(stage);
    CHECK_OK(steward_step(stage->steward, &err), &err);
    barrier(stage);
    CHECK_OK(steward_step(stage->steward, &err), &err);
}

/* Looks every 2 s for so long. */
static void pass_ms(struct stage *stage, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 2000) {
        stage->hands.boot_us += 2000000;
        stage->hands.wall_ms += 2000;
        look(stage);
    }
}

static void stage_open(struct stage *stage, const char *server)
{
    struct steward_options options = { .server = server };
    struct err err = { 0 };

    *stage = (struct stage){ .hands = { 1000000, 1790000000000 },
                             .agent = { .node = "n1", .stream = -1 } };
    stage->clock = (struct clock){ hands_boot, hands_wall, &stage->hands };
    scene_open(&stage->scene, "memory:", NULL);
    options.ledger = stage->scene.ledger;
    options.clock = &stage->clock;
    CHECK_OK(steward_open(&options, &stage->steward, &err), &err);
    scene_start(&stage->scene);
    stage->agent.port = stage->scene.port;
}

static void stage_close(struct stage *stage)
{
    agent_fini(&stage->agent);
    steward_stop(stage->steward);
    scene_stop(&stage->scene);
    steward_close(stage->steward);
    scene_close(&stage->scene);
}

static enum node_state node_state(struct stage *stage)
{
    struct reader *reader = scene_read(&stage->scene);
    struct row_node *row = NULL;
    struct err err = { 0 };
    enum node_state state;

    CHECK_OK(reader_node(reader, "n1", &row, &err), &err);
    state = (enum node_state)row->state;
    row_free(ROW_NODE, row);
    reader_close(reader);
    return state;
}

TEST(steward_takes_a_free_lease_at_its_first_look)
{
    struct stage stage;

    stage_open(&stage, "s1");
    CHECK_EQ(steward_fence(stage.steward), 0);
    look(&stage);
    CHECK_EQ(steward_fence(stage.steward), 1);
    pass_ms(&stage, 20000);
    CHECK_EQ(steward_fence(stage.steward), 1);
    stage_close(&stage);
}

static const struct {
    const char *name;
    const char *server;
} lives[] = { { "by its own name", "s1" }, { "in a store to itself", NULL } };

TEST(steward_takes_the_lease_of_an_earlier_life_at_once)
{
    ROW_EACH (c, lives) {
        struct stage stage;

        stage_open(&stage, c->server);
        CHECK_EQ(scene_take_lease(&stage.scene), 1);
        look(&stage);
        CHECK_EQ(steward_fence(stage.steward), 2);
        stage_close(&stage);
    }
}

TEST(steward_waits_for_a_ttl_of_silence_of_another)
{
    struct stage stage;
    struct op *op;

    stage_open(&stage, "s2"); /* the ledger says s1 for whoever takes it here */
    CHECK_EQ(scene_take_lease(&stage.scene), 1);
    look(&stage);
    pass_ms(&stage, 4000);
    CHECK_EQ(steward_fence(stage.steward), 0);
    op = op_new(OP_LEASE, NULL, NULL); /* the other is alive */
    op->lease.name = text_copy("steward");
    scene_ask(&stage.scene, op);
    CHECK_EQ(op->lease.fence, 1);
    op_free(op);
    pass_ms(&stage, 6000);
    CHECK_EQ(steward_fence(stage.steward), 0);
    stage.hands.wall_ms += 3600000; /* no clock on the wall is asked */
    look(&stage);
    CHECK_EQ(steward_fence(stage.steward), 0);
    pass_ms(&stage, 2000);
    CHECK_EQ(steward_fence(stage.steward), 2);
    stage_close(&stage);
}

static const struct {
    const char *name;
    int64_t silent_ms;
    enum node_state state;
} silences[] = {
    { "just heard of", 2000, NODE_READY },
    { "under two beats", 18000, NODE_READY },
    { "two beats", 20000, NODE_UNREACHABLE },
    { "where half a minute was a ttl", 34000, NODE_UNREACHABLE },
    { "a ttl", 300000, NODE_UNREACHABLE },
    { "a ttl and a tenth", 330000, NODE_LOST },
};

TEST(steward_counts_the_silence_of_a_node)
{
    ROW_EACH (c, silences) {
        struct stage stage;

        stage_open(&stage, "s1");
        CHECK_EQ(agent_register_with(&stage.agent, "b1", "", NULL), 200);
        look(&stage);
        pass_ms(&stage, c->silent_ms);
        CHECK_EQ(node_state(&stage), c->state);
        stage_close(&stage);
    }
}

TEST(steward_hears_a_node_again)
{
    struct stage stage;

    stage_open(&stage, "s1");
    CHECK_EQ(agent_register_with(&stage.agent, "b1", "", NULL), 200);
    look(&stage);
    pass_ms(&stage, 20000);
    CHECK_EQ(node_state(&stage), NODE_UNREACHABLE);
    CHECK_EQ(agent_say(&stage.agent, "beat", "", NULL), 200);
    look(&stage);
    CHECK_EQ(node_state(&stage), NODE_READY);
    pass_ms(&stage, 330000);
    CHECK_EQ(node_state(&stage), NODE_LOST);
    CHECK_EQ(agent_say(&stage.agent, "beat", "", NULL), 409);
    CHECK_EQ(agent_register_with(&stage.agent, "b1", "", NULL), 200);
    look(&stage);
    CHECK_EQ(node_state(&stage), NODE_READY);
    stage_close(&stage);
}

TEST(steward_counts_no_silence_while_it_stood_still)
{
    struct stage stage;

    stage_open(&stage, "s1");
    CHECK_EQ(agent_register_with(&stage.agent, "b1", "", NULL), 200);
    look(&stage);
    stage.hands.boot_us += 600000000; /* ten minutes in which nobody could have been heard */
    look(&stage);
    CHECK_EQ(node_state(&stage), NODE_READY);
    stage.hands.wall_ms -= 7200000; /* and clocks on walls are for people */
    look(&stage);
    CHECK_EQ(node_state(&stage), NODE_READY);
    stage_close(&stage);
}

TEST(steward_gives_what_ran_on_a_lost_node_another_try)
{
    struct stage stage;
    struct row_job *row;
    uint64_t job;

    stage_open(&stage, "s1");
    CHECK_EQ(agent_register_with(&stage.agent, "b1", "", NULL), 200);
    look(&stage);
    job = scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\"}");
    CHECK(scene_bind(&stage.scene, steward_fence(stage.steward), job, 1, "n1"));
    pass_ms(&stage, 330000);
    CHECK_EQ(node_state(&stage), NODE_LOST);
    row = scene_job(&stage.scene, job);
    CHECK_EQ(row->state, JOB_PENDING);
    CHECK_EQ(row->n_pending, 1);
    row_free(ROW_JOB, row);
    stage_close(&stage);
}

TEST(steward_lets_go_of_what_ended_long_ago)
{
    struct reader *reader;
    struct row_job *row = NULL;
    struct err err = { 0 };
    struct stage stage;
    uint64_t job;

    stage_open(&stage, "s1");
    stage.hands.wall_ms = clock_wall_ms(&clock_system); /* that the ledger goes by */
    look(&stage);
    job = scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\"}");
    scene_cancel(&stage.scene, job);
    pass_ms(&stage, 62000);
    CHECK_EQ(scene_job_state(&stage.scene, job), JOB_CANCELLED);
    scene_submit(&stage.scene, "{\"name\":\"b\",\"image\":\"dir:/i\"}"); /* who is last is kept */
    stage.hands.wall_ms += (int64_t)8 * 24 * 3600 * 1000;
    pass_ms(&stage, 62000);
    reader = scene_read(&stage.scene);
    CHECK_EQ(reader_job(reader, job, &row, &err), READER_NONE);
    reader_close(reader);
    stage_close(&stage);
}

TEST(steward_runs_and_stops_as_a_thread)
{
    struct err err = { 0 };
    struct stage stage;
    struct op *op;
    uint64_t fence = 0;

    stage_open(&stage, "s1");
    CHECK_OK(steward_start(stage.steward, &err), &err);
    while (!fence) { /* each ask waits for the writer, which the steward asks too */
        op = op_new(OP_LEASE, NULL, NULL);
        op->lease.name = text_copy("steward");
        scene_ask(&stage.scene, op);
        fence = op->lease.fence;
        op_free(op);
    }
    CHECK_EQ(fence, 1);
    stage_close(&stage);
}

#include <sched.h>

#include "base/name.h"
#include "base/node_lease.h"
#include "server/scene.h"

/* One ready node, one job bound to it: what most tests begin with. */
struct stage {
    struct scene scene;
    struct agent agent;
    uint64_t fence, job;
    char attempt[NAME_ATTEMPT_SIZE];
};

static const char job_text[] =
    "{\"name\":\"train\",\"grace\":\"7s\",\"groups\":[{\"name\":\"w\",\"replicas\":1,"
    "\"image\":\"dir:/img\",\"command\":[\"run\"],\"args\":[\"-x\"],"
    "\"env\":{\"LR\":\"0.1\",\"BERTH_INDEX\":\"mine\"},\"resources\":{\"cpu\":1,\"memory\":\"1Mi\"}"
    "}]}";

static void stage_open_with(struct stage *stage, const struct nodes_options *options)
{
    *stage = (struct stage){ .agent = { .node = "n1", .stream = -1 } };
    scene_open(&stage->scene, "memory:", options);
    scene_start(&stage->scene);
    stage->agent.port = stage->scene.port;
    CHECK_EQ(agent_register_with(&stage->agent, "boot1", "", NULL), 200);
    CHECK_EQ(stage->agent.generation, 1);
    stage->fence = scene_take_lease(&stage->scene);
    stage->job = scene_submit(&stage->scene, job_text);
    name_attempt(stage->job, "w", 0, 1, stage->attempt);
}

static void stage_open(struct stage *stage)
{
    stage_open_with(stage, NULL);
}

static void stage_bind(struct stage *stage)
{
    CHECK(scene_bind(&stage->scene, stage->fence, stage->job, 1, "n1"));
}

static void stage_close(struct stage *stage)
{
    agent_fini(&stage->agent);
    scene_close(&stage->scene);
}

/* Brings the attempt up to starting. */
static void stage_start(struct stage *stage)
{
    agent_open(&stage->agent, "");
    stage_bind(stage);
    agent_expect_nothing(&stage->agent);
    json_decref(agent_expect(&stage->agent, "start", stage->attempt));
    CHECK_TEXT(agent_ack(&stage->agent, stage->attempt), "");
}

/* The attempt's name as a query has it. */
static char *in_query(const char *attempt)
{
    struct str out = { 0 };

    for (; *attempt; attempt++) {
        if (*attempt == '#')
            str_add(&out, "%23");
        else
            str_add_char(&out, *attempt);
    }
    return str_take(&out);
}

TEST(nodes_lead_a_job_from_bind_to_its_end)
{
    struct nodes_metrics metrics;
    struct stage stage;
    json_t *line, *spec, *env;

    stage_open(&stage);
    agent_open(&stage.agent, "");
    agent_expect_nothing(&stage.agent);
    CHECK(nodes_is_connected(stage.scene.nodes, "n1"));
    stage_bind(&stage);
    line = agent_expect(&stage.agent, "start", stage.attempt);
    spec = json_object_get(line, "spec");
    CHECK_TEXT(json_string_value(json_object_get(spec, "jobName")), "train");
    CHECK_TEXT(json_string_value(json_object_get(spec, "image")), "dir:/img");
    CHECK_EQ(json_integer_value(json_object_get(spec, "graceMs")), 7000);
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(spec, "resources"), "memory")),
             1 << 20);
    env = json_object_get(spec, "env");
    CHECK_TEXT(json_string_value(json_object_get(env, "LR")), "0.1");
    CHECK_TEXT(json_string_value(json_object_get(env, "BERTH_INDEX")), "0"); /* ours wins */
    CHECK_TEXT(json_string_value(json_object_get(env, "BERTH_NODE")), "n1");
    CHECK_TEXT(json_string_value(json_object_get(env, "BERTH_FENCE")), "1");
    json_decref(line);

    CHECK_TEXT(agent_ack(&stage.agent, stage.attempt), "");
    CHECK_TEXT(agent_ack(&stage.agent, stage.attempt), ""); /* a repeat */
    CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_RUNNING), "");
    CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_RUNNING);
    CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_ENDED), "");
    CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_SUCCEEDED);
    CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_ENDED), ""); /* said again */
    CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_RUNNING), "STALE_ATTEMPT");

    agent_open(&stage.agent, ""); /* nothing is left to do, and no drop was sent either */
    agent_expect_nothing(&stage.agent);
    nodes_metrics(stage.scene.nodes, &metrics);
    CHECK_EQ(metrics.n_streams, 1);
    CHECK_EQ(metrics.n_live, 0);
    CHECK_EQ(metrics.starts_sent, 1);
    CHECK_EQ(metrics.drops_sent, 0);
    CHECK_EQ(metrics.acks_ok, 2);
    CHECK_EQ(metrics.reports_ok, 3);
    CHECK_EQ(metrics.reports_refused, 1);
    stage_close(&stage);
}

static void set_limit(struct stage *stage, int64_t limit_ms)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = stage->job;
    op->patch.has_limit = true;
    op->patch.limit_ms = limit_ms;
    scene_ask(&stage->scene, op);
    CHECK_EQ(op->problem.code, PROBLEM_NONE);
    op_free(op);
}

static void expect_limit(struct stage *stage, int64_t limit_ms)
{
    json_t *line = agent_expect(&stage->agent, "limit", stage->attempt);

    CHECK_EQ(json_integer_value(json_object_get(line, "limitMs")), limit_ms);
    json_decref(line);
}

TEST(nodes_tell_of_another_limit_and_again_with_each_stream)
{
    CLEANUP(freep) char *have = NULL;
    struct stage stage;

    stage_open(&stage);
    stage_start(&stage);
    have = in_query(stage.attempt);
    agent_open(&stage.agent, have); /* a job that is as it was submitted has its limit */
    agent_expect_nothing(&stage.agent);
    set_limit(&stage, 60000);
    expect_limit(&stage, 60000);
    set_limit(&stage, 0);
    expect_limit(&stage, 0);
    agent_open(&stage.agent, have);
    expect_limit(&stage, 0);
    agent_expect_nothing(&stage.agent);
    stage_close(&stage);
}

TEST(nodes_drop_what_was_stopped_before_its_start)
{
    struct stage stage;

    stage_open(&stage);
    agent_open(&stage.agent, "");
    stage_bind(&stage);
    agent_expect_nothing(&stage.agent);
    json_decref(agent_expect(&stage.agent, "start", stage.attempt));
    scene_cancel(&stage.scene, stage.job);
    json_decref(agent_expect(&stage.agent, "drop", stage.attempt));
    CHECK_TEXT(agent_ack(&stage.agent, stage.attempt), "STALE_ATTEMPT");
    CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_CANCELLED);
    stage_close(&stage);
}

static const struct {
    const char *name;
    bool is_running;
} stops[] = { { "while starting", false }, { "while running", true } };

TEST(nodes_stop_what_starts_or_runs)
{
    ROW_EACH (c, stops) {
        struct stage stage;
        json_t *line;

        stage_open(&stage);
        stage_start(&stage);
        if (c->is_running)
            CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_RUNNING), "");
        scene_cancel(&stage.scene, stage.job);
        line = agent_expect(&stage.agent, "stop", stage.attempt);
        CHECK_TEXT(json_string_value(json_object_get(line, "cause")), "CANCELLED");
        CHECK_EQ(json_integer_value(json_object_get(line, "graceMs")), 7000);
        json_decref(line);
        CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_STOPPING);
        CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_CANCELLED), "");
        CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_CANCELLED);
        stage_close(&stage);
    }
}

TEST(nodes_send_the_difference_to_a_new_stream)
{
    struct stage stage;
    char *have, *both;

    stage_open(&stage);
    stage_bind(&stage);
    have = in_query(stage.attempt);
    both = text_format("%s,j-99/w.0%%231", have);

    agent_open(&stage.agent, ""); /* has nothing: is told */
    json_decref(agent_expect(&stage.agent, "start", stage.attempt));
    agent_open(&stage.agent, have); /* has it: is not told again */
    agent_expect_nothing(&stage.agent);
    agent_open(&stage.agent, both); /* and what nobody knows is dropped */
    json_decref(agent_expect(&stage.agent, "drop", "j-99/w.0#1"));
    agent_expect_nothing(&stage.agent);

    CHECK_TEXT(agent_ack(&stage.agent, stage.attempt), "");
    agent_hang_up(&stage.agent);
    scene_cancel(&stage.scene, stage.job); /* while nobody listens */
    agent_open(&stage.agent, have);
    json_decref(agent_expect(&stage.agent, "stop", stage.attempt));
    agent_expect_nothing(&stage.agent);

    CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_CANCELLED), "");
    agent_open(&stage.agent, have); /* over, and the agent did not hear so */
    json_decref(agent_expect(&stage.agent, "drop", stage.attempt));
    mem_free(have);
    mem_free(both);
    stage_close(&stage);
}

TEST(nodes_take_a_long_list_ahead_of_the_stream)
{
    struct stage stage;
    char *list;

    stage_open(&stage);
    stage_bind(&stage);
    list = text_format("\"attempts\":[\"%s\",\"j-77/w.0#1\"]", stage.attempt);
    CHECK_EQ(agent_say(&stage.agent, "have", list, NULL), 200);
    agent_open(&stage.agent, NULL);
    json_decref(agent_expect(&stage.agent, "drop", "j-77/w.0#1"));
    agent_expect_nothing(&stage.agent);
    agent_open(&stage.agent, NULL); /* it was for one stream */
    json_decref(agent_expect(&stage.agent, "start", stage.attempt));
    mem_free(list);
    stage_close(&stage);
}

TEST(nodes_close_the_older_of_two_streams)
{
    struct agent other = { .node = "n1", .stream = -1 };
    struct stage stage;

    stage_open(&stage);
    agent_open(&stage.agent, "");
    agent_expect_nothing(&stage.agent);
    other.port = stage.agent.port;
    other.generation = stage.agent.generation;
    agent_open(&other, "");
    CHECK(agent_line(&stage.agent) == NULL);
    stage_bind(&stage);
    json_decref(agent_expect(&other, "start", stage.attempt));
    agent_fini(&other);
    stage_close(&stage);
}

TEST(nodes_refuse_an_older_generation)
{
    struct stage stage;
    struct agent old;
    char *more;

    stage_open(&stage);
    stage_start(&stage);
    old = stage.agent; /* shares the stream */
    more = text_format("\"attempts\":[\"%s\"]", stage.attempt);
    CHECK_EQ(agent_register_with(&stage.agent, "boot1", more, NULL), 200);
    CHECK_EQ(stage.agent.generation, 2);
    CHECK(agent_line(&old) == NULL); /* the stream of the older life ended */
    old.stream = -1;
    CHECK_TEXT(agent_ack(&old, stage.attempt), "STALE_ATTEMPT");
    CHECK_TEXT(agent_report(&old, stage.attempt, AGENT_RUNNING), "STALE_ATTEMPT");
    CHECK_EQ(agent_say(&old, "beat", "", NULL), 409);
    CHECK_EQ(agent_open_at(&old, "/v1/worker/work?node=n1&generation=1"), 409);
    agent_hang_up(&old);
    CHECK_EQ(agent_say(&stage.agent, "beat", "", NULL), 200);
    CHECK_TEXT(agent_report(&stage.agent, stage.attempt, AGENT_RUNNING), ""); /* adopted */
    old.in = old.line = (struct str){ 0 };
    mem_free(more);
    stage_close(&stage);
}

TEST(nodes_end_what_a_registration_does_not_list)
{
    struct stage stage;
    json_t *answer, *ends;

    stage_open(&stage);
    stage_start(&stage);
    CHECK_EQ(agent_register_with(&stage.agent, "boot1",
                                 "\"attempts\":[\"j-55/w.0#1\",\"j-56/w.0#3\"]", &answer),
             200);
    ends = json_object_get(answer, "end");
    CHECK_EQ(json_array_size(ends), 2);
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(ends, 0), "attempt")),
               "j-55/w.0#1");
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(ends, 0), "cause")), "DISOWNED");
    CHECK(json_is_false(json_object_get(answer, "otherLife")));
    json_decref(answer);
    CHECK(scene_job_state(&stage.scene, stage.job) != JOB_RUNNING);
    stage_close(&stage);
}

TEST(nodes_send_an_agent_that_lost_an_attempt_to_register)
{
    struct stage stage;
    char *path;

    stage_open(&stage);
    stage_start(&stage);
    path = text_format("/v1/worker/work?node=n1&generation=1&have=");
    agent_hang_up(&stage.agent);
    CHECK_EQ(agent_open_at(&stage.agent, path), 409);
    agent_hang_up(&stage.agent);
    CHECK_EQ(agent_register_with(&stage.agent, "boot1", "", NULL), 200);
    agent_open(&stage.agent, "");
    agent_expect_nothing(&stage.agent);
    CHECK(scene_job_state(&stage.scene, stage.job) != JOB_RUNNING);
    mem_free(path);
    stage_close(&stage);
}

TEST(nodes_leave_everything_to_an_agent_of_another_life)
{
    struct stage stage;
    json_t *answer;

    stage_open(&stage);
    CHECK_EQ(agent_register_with(&stage.agent, "boot1",
                                 "\"incarnation\":\"another\",\"revisionSeen\":5,"
                                 "\"attempts\":[\"j-55/w.0#1\"]",
                                 &answer),
             200);
    CHECK(json_is_true(json_object_get(answer, "otherLife")));
    CHECK_EQ(json_array_size(json_object_get(answer, "end")), 0);
    CHECK_EQ(json_array_size(json_object_get(answer, "live")), 0); /* it was only bound */
    json_decref(answer);
    stage_close(&stage);
}

/* What the agent did of it meanwhile only the agent can tell. */
TEST(nodes_ask_an_agent_of_another_life_for_what_was_let_start)
{
    CLEANUP(freep) char *report = NULL;
    struct stage stage;
    json_t *answer, *live;

    stage_open(&stage);
    stage_start(&stage);
    report = text_format("\"reports\":[{\"attempt\":\"%s\",\"state\":\"ended\","
                         "\"cause\":\"OTHER_LIFE\"}]",
                         stage.attempt);
    agent_hang_up(&stage.agent);
    CHECK_EQ(agent_register_with(&stage.agent, "boot1", "\"incarnation\":\"another\"", &answer),
             200);
    live = json_object_get(answer, "live");
    CHECK_EQ(json_array_size(live), 1);
    CHECK_TEXT(json_string_value(json_array_get(live, 0)), stage.attempt);
    CHECK(json_is_array(json_object_get(answer, "lives")));
    json_decref(answer);
    CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_RUNNING);
    CHECK_EQ(agent_say(&stage.agent, "reports", report, NULL), 200);
    CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_PENDING); /* no try was spent */
    CHECK_EQ(agent_say(&stage.agent, "beat", "\"orphans\":[\"j-9/w.0#1\"]", NULL), 200);
    CHECK_EQ(agent_say(&stage.agent, "beat", "\"orphans\":[7]", NULL), 422);
    stage_close(&stage);
}

/* The lease of n1 after a beat that says so, of a server with another. */
static int64_t lease_after(struct stage *stage, const char *said)
{
    struct row_node *row = NULL;
    struct err err = { 0 };
    struct reader *reader;
    int64_t ttl_ms;

    CHECK_EQ(agent_say(&stage->agent, "beat", said, NULL), 200);
    reader = scene_read(&stage->scene);
    CHECK_OK(reader_node(reader, "n1", &row, &err), &err);
    ttl_ms = row->ttl_ms;
    row_free(ROW_NODE, row);
    reader_close(reader);
    return ttl_ms;
}

TEST(nodes_hear_by_which_lease_an_agent_counts)
{
    struct op *op = op_new(OP_BEAT, NULL, NULL);
    struct stage stage;

    stage_open(&stage);
    stage_start(&stage);
    op->beat.node = text_copy("n1"); /* the server's was longer, and is not any more */
    op->beat.generation = 1;
    op->beat.ttl_ms = 2 * (int64_t)NODE_LEASE_TTL_MS;
    scene_ask(&stage.scene, op);
    op_free(op);
    CHECK_EQ(lease_after(&stage, ""), 2 * NODE_LEASE_TTL_MS);
    CHECK_EQ(lease_after(&stage, "\"ttlMs\":600000"), 2 * NODE_LEASE_TTL_MS);
    CHECK_EQ(lease_after(&stage, "\"ttlMs\":300000"), NODE_LEASE_TTL_MS);
    CHECK_EQ(agent_say(&stage.agent, "beat", "\"ttlMs\":0", NULL), 422);
    stage_close(&stage);
}

static const struct {
    const char *name, *seen; /* "": this opening, and what it wrote */
    int status;
} copies[] = {
    { "this ledger's", "", 200 },
    { "nothing", NULL, 200 },
    { "an opening of a copy", "Berth-Seen: 0123456789abcdef 3\r\n", 409 },
    { "no revision", "Berth-Seen: 0123456789abcdef\r\n", 400 },
    { "a revision below 0", "Berth-Seen: 0123456789abcdef -1\r\n", 400 },
    { "no opening", "Berth-Seen:  3\r\n", 400 },
};

/* Whatever its generation, which copies have in common. */
TEST(nodes_take_and_tell_nothing_of_what_serves_a_copy_of_the_ledger)
{
    CLEANUP(freep)
    char *have = text_copy("/v1/worker/work?node=n1&generation=1&have=j-55%2Fw.0%231");
    CLEANUP(freep) char *ours = NULL;
    struct stage stage;
    json_t *answer;

    stage_open(&stage);
    stage_start(&stage);
    CHECK_EQ(agent_say(&stage.agent, "beat", "", &answer), 200);
    CHECK_TEXT(json_string_value(json_object_get(answer, "opening")),
               ledger_opening(stage.scene.ledger));
    json_decref(answer);
    ours = text_format("Berth-Seen: %s 1\r\n", ledger_opening(stage.scene.ledger));
    ROW_EACH (c, copies) {
        struct agent other = { .port = stage.agent.port, .node = "n1", .generation = 1 };
        other.stream = -1;
        other.seen = c->seen && !*c->seen ? ours : c->seen;
        CHECK_EQ(agent_say(&other, "beat", "", NULL), c->status);
        CHECK_EQ(agent_say(&other, "have", "\"attempts\":[]", NULL), c->status);
        CHECK_EQ(agent_say(&other, "ack", "\"attempts\":[]", NULL), c->status);
        CHECK_EQ(agent_say(&other, "reports", "\"reports\":[]", NULL), c->status);
        if (c->status == 200)
            continue;
        CHECK_EQ(agent_open_at(&other, have), c->status);
        CHECK_EQ(agent_say(&other, "leave", "", NULL), c->status);
        agent_fini(&other);
    }
    CHECK_EQ(scene_job_state(&stage.scene, stage.job), JOB_RUNNING);
    stage_close(&stage);
}

TEST(nodes_refuse_to_register_what_serves_a_copy_of_the_ledger)
{
    struct stage stage;
    json_t *answer;
    char *more;

    stage_open(&stage);
    more = text_format("\"incarnation\":\"%s\",\"attempts\":[\"j-55/w.0#1\"]",
                       ledger_incarnation(stage.scene.ledger));
    stage.agent.seen = "Berth-Seen: 0123456789abcdef 3\r\n";
    CHECK_EQ(agent_register_with(&stage.agent, "boot1", more, &answer), 409);
    CHECK_TEXT(json_string_value(json_object_get(answer, "code")), "LEDGER_FORKED");
    CHECK(!json_object_get(answer, "end"));
    json_decref(answer);
    CHECK_EQ(stage.agent.generation, 1);
    CHECK_EQ(agent_say(&stage.agent, "beat", "", NULL), 409);
    /* With another incarnation it is no copy, but another ledger. */
    CHECK_EQ(agent_register_with(&stage.agent, "boot1", "\"incarnation\":\"another\"", &answer),
             200);
    CHECK(json_is_true(json_object_get(answer, "otherLife")));
    json_decref(answer);
    mem_free(more);
    stage_close(&stage);
}

TEST(nodes_let_an_empty_agent_leave)
{
    struct stage stage;

    stage_open(&stage);
    agent_open(&stage.agent, "");
    CHECK_EQ(agent_say(&stage.agent, "leave", "", NULL), 200);
    CHECK(agent_line(&stage.agent) == NULL); /* gone: its stream ends */
    CHECK_EQ(agent_say(&stage.agent, "beat", "", NULL), 409);
    stage_close(&stage);
}

TEST(nodes_give_no_work_to_an_agent_that_takes_none)
{
    struct stage stage;

    stage_open(&stage);
    CHECK_EQ(agent_say(&stage.agent, "beat", "\"disabled\":\"disk full\"", NULL), 200);
    CHECK(!scene_bind(&stage.scene, stage.fence, stage.job, 1, "n1"));
    CHECK_EQ(agent_say(&stage.agent, "beat", "", NULL), 200);
    stage_bind(&stage);
    stage_close(&stage);
}

static const struct {
    const char *name;
    const char *path, *body;
    int status;
} faults[] = {
    { "no such call", "/v1/worker/nothing", "{}", 404 },
    { "one part too many", "/v1/worker/beat/x", "{}", 404 },
    { "another method", "/v1/worker/work", "{}", 405 },
    { "not JSON", "/v1/worker/beat", "{", 400 },
    { "an unknown member", "/v1/worker/beat", "{\"node\":\"n1\",\"generation\":1,\"x\":1}", 422 },
    { "a reason that is no text", "/v1/worker/beat",
      "{\"node\":\"n1\",\"generation\":1,\"disabled\":true}", 422 },
    { "no generation", "/v1/worker/beat", "{\"node\":\"n1\"}", 422 },
    { "an unknown node", "/v1/worker/beat", "{\"node\":\"n2\",\"generation\":1}", 409 },
    { "not a node's name", "/v1/worker/register", "{\"node\":\"-\",\"bootId\":\"b\"}", 422 },
    { "no boot id", "/v1/worker/register", "{\"node\":\"n3\"}", 422 },
    { "offers that are texts", "/v1/worker/register",
      "{\"node\":\"n3\",\"bootId\":\"b\",\"offers\":{\"cpu\":\"8\"}}", 422 },
    { "half a slot", "/v1/worker/register",
      "{\"node\":\"n3\",\"bootId\":\"b\",\"offers\":{\"pods\":1500}}", 422 },
    { "taints without key", "/v1/worker/register",
      "{\"node\":\"n3\",\"bootId\":\"b\",\"taints\":[{}]}", 422 },
    { "an ack of no attempt's name", "/v1/worker/ack",
      "{\"node\":\"n1\",\"generation\":1,\"attempts\":[7]}", 422 },
    { "a report without a state", "/v1/worker/reports",
      "{\"node\":\"n1\",\"generation\":1,\"reports\":[{\"attempt\":\"j-1/w.0#1\"}]}", 422 },
    { "an end without a cause", "/v1/worker/reports",
      "{\"node\":\"n1\",\"generation\":1,\"reports\":[{\"attempt\":\"j-1/w.0#1\",\"state\":"
      "\"ended\"}]}",
      422 },
    { "a stream that nobody reads", "/v1/worker/streams/s9?node=n1&at=0", "", 410 },
};

TEST(nodes_refuse_what_is_no_message)
{
    struct stage stage;

    stage_open(&stage);
    ROW_EACH (c, faults)
        CHECK_EQ(agent_post(&stage.agent, c->path, c->body, NULL), c->status);
    stage_close(&stage);
}

/* ---- logs ---- */

/* A reader on its own loop; what it was given, waited for. */
struct log_reader {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct str got;
    uint64_t at;
    size_t n_data;
    bool is_over;
    enum nodes_log_end how;
};

static void on_data(uint64_t at, const void *bytes, size_t n, void *arg)
{
    struct log_reader *reader = arg;

    pthread_mutex_lock(&reader->lock);
    reader->at = at;
    str_add_bytes(&reader->got, bytes, n);
    reader->n_data++;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

static void on_end(enum nodes_log_end how, void *arg)
{
    struct log_reader *reader = arg;

    pthread_mutex_lock(&reader->lock);
    reader->is_over = true;
    reader->how = how;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

static void reader_begin_thread(struct log_reader *reader)
{
    struct err err = { 0 };

    *reader = (struct log_reader){ .lock = PTHREAD_MUTEX_INITIALIZER,
                                   .changed = PTHREAD_COND_INITIALIZER };
    CHECK_OK(loop_open(&reader->loop, &err), &err);
    CHECK_EQ(pthread_create(&reader->thread, NULL, scene_run, reader->loop), 0);
}

static void reader_end_thread(struct log_reader *reader)
{
    loop_stop(reader->loop);
    pthread_join(reader->thread, NULL);
    loop_close(reader->loop);
    str_fini(&reader->got);
}

static struct nodes_log *open_log(struct stage *stage, struct log_reader *reader, const char *node)
{
    struct nodes_log_query query = { .attempt = stage->attempt, .node = node, .is_follow = true };
    struct nodes_log_reader how = { reader->loop, on_data, on_end, reader };

    return nodes_log_open(stage->scene.nodes, &query, &how);
}

static void await_data(struct log_reader *reader, size_t n_data)
{
    pthread_mutex_lock(&reader->lock);
    while (reader->n_data < n_data)
        pthread_cond_wait(&reader->changed, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
}

static void await_end(struct log_reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    while (!reader->is_over)
        pthread_cond_wait(&reader->changed, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
}

/* Whether something was answered already; a false "no" is impossible once it was sent. */
static bool is_answered(int fd)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };

    return poll(&wait, 1, 0) == 1;
}

static char *piece_path(const char *sid, unsigned at, const char *more)
{
    return text_format("/v1/worker/streams/%s?node=n1&at=%u%s", sid, at, more);
}

TEST(nodes_pass_a_log_on_no_faster_than_it_is_read)
{
    struct log_reader reader;
    struct nodes_log *log;
    struct stage stage;
    char sid[32], *path;
    json_t *line;
    int post;

    stage_open(&stage);
    stage_start(&stage);
    reader_begin_thread(&reader);
    log = open_log(&stage, &reader, "n1");
    line = agent_expect(&stage.agent, "open", stage.attempt);
    snprintf(sid, sizeof(sid), "%s", json_string_value(json_object_get(line, "sid")));
    CHECK(json_is_true(json_object_get(line, "follow")));
    json_decref(line);

    path = piece_path(sid, 0, "");
    post = agent_begin(&stage.agent, path, "t stdout F one\n", 15);
    await_data(&reader, 1);
    CHECK(!is_answered(post)); /* the reader has it, and has not passed it on */
    CHECK_EQ(agent_post(&stage.agent, path, "t stdout F other\n", NULL), 409);
    nodes_log_drained(log);
    CHECK_EQ(agent_finish(post, NULL), 200);

    /* The agent did not hear of it and sends it again, with more behind it. */
    post = agent_begin(&stage.agent, path, "t stdout F one\nt stdout F two\n", 30);
    await_data(&reader, 2);
    CHECK_EQ(reader.at, 15);
    nodes_log_drained(log);
    CHECK_EQ(agent_finish(post, NULL), 200);
    mem_free(path);

    path = piece_path(sid, 30, "&end=1");
    CHECK_EQ(agent_post(&stage.agent, path, "", NULL), 200);
    await_end(&reader);
    CHECK_EQ(reader.how, NODES_LOG_END);
    CHECK_TEXT(str_text(&reader.got), "t stdout F one\nt stdout F two\n");
    CHECK_EQ(agent_post(&stage.agent, path, "", NULL), 410);
    nodes_log_close(log);
    mem_free(path);
    reader_end_thread(&reader);
    stage_close(&stage);
}

TEST(nodes_take_a_piece_again_whose_connection_broke)
{
    struct log_reader reader;
    struct nodes_log *log;
    struct stage stage;
    char sid[32], *path;
    json_t *line;
    int post;

    stage_open(&stage);
    stage_start(&stage);
    reader_begin_thread(&reader);
    log = open_log(&stage, &reader, "n1");
    line = agent_expect(&stage.agent, "open", stage.attempt);
    snprintf(sid, sizeof(sid), "%s", json_string_value(json_object_get(line, "sid")));
    json_decref(line);
    path = piece_path(sid, 0, "");
    post = agent_begin(&stage.agent, path, "t stdout F one\n", 15);
    await_data(&reader, 1);
    close(post);
    post = agent_begin(&stage.agent, path, "t stdout F one\n", 15);
    nodes_log_drained(log);
    CHECK_EQ(agent_finish(post, NULL), 200);
    mem_free(path);
    path = piece_path(sid, 15, "&end=1");
    CHECK_EQ(agent_post(&stage.agent, path, "", NULL), 200);
    await_end(&reader);
    CHECK_EQ(reader.n_data, 1); /* once */
    nodes_log_close(log);
    mem_free(path);
    reader_end_thread(&reader);
    stage_close(&stage);
}

TEST(nodes_tell_a_reader_why_there_is_no_log)
{
    struct log_reader reader;
    struct nodes_log *log;
    struct stage stage;
    char *path;
    json_t *line;

    stage_open(&stage);
    reader_begin_thread(&reader);
    log = open_log(&stage, &reader, "n1"); /* no agent is connected */
    await_end(&reader);
    CHECK_EQ(reader.how, NODES_LOG_NO_AGENT);
    nodes_log_close(log);

    reader.is_over = false;
    agent_open(&stage.agent, "");
    agent_expect_nothing(&stage.agent);
    log = open_log(&stage, &reader, "n1");
    line = agent_expect(&stage.agent, "open", stage.attempt);
    path = piece_path(json_string_value(json_object_get(line, "sid")), 0, "&end=1&gone=1");
    json_decref(line);
    CHECK_EQ(agent_post(&stage.agent, path, "", NULL), 200);
    await_end(&reader);
    CHECK_EQ(reader.how, NODES_LOG_GONE);
    nodes_log_close(log);
    mem_free(path);

    reader.is_over = false;
    log = open_log(&stage, &reader, "n1");
    json_decref(agent_expect(&stage.agent, "open", stage.attempt));
    agent_hang_up(&stage.agent);
    await_end(&reader);
    CHECK_EQ(reader.how, NODES_LOG_NO_AGENT);
    nodes_log_close(log);
    reader_end_thread(&reader);
    stage_close(&stage);
}

static void set_state(struct stage *stage, const char *node, enum node_state state)
{
    struct op *op = op_new(OP_NODE_STATE, NULL, NULL);

    op->node_state = (struct op_node_state){
        .node = text_copy(node), .generation = 1, .state = state, .fence = stage->fence
    };
    scene_ask(&stage->scene, op);
    CHECK_EQ(op->problem.code, PROBLEM_NONE);
    op_free(op);
}

TEST(nodes_give_a_reader_up_whose_agent_is_silent)
{
    struct log_reader reader;
    struct nodes_log *log;
    struct stage stage;

    stage_open(&stage);
    stage_start(&stage);
    CHECK(!nodes_is_silent(stage.scene.nodes, "n1"));
    reader_begin_thread(&reader);
    log = open_log(&stage, &reader, "n1");
    json_decref(agent_expect(&stage.agent, "open", stage.attempt));
    set_state(&stage, "n1", NODE_UNREACHABLE); /* its stream is open, and nothing comes */
    await_end(&reader);
    CHECK_EQ(reader.how, NODES_LOG_NO_AGENT);
    CHECK(nodes_is_silent(stage.scene.nodes, "n1"));
    nodes_log_close(log);

    reader.is_over = false;
    log = open_log(&stage, &reader, "n1"); /* it is not asked at all */
    await_end(&reader);
    CHECK_EQ(reader.how, NODES_LOG_NO_AGENT);
    nodes_log_close(log);

    set_state(&stage, "n1", NODE_READY);
    while (nodes_is_silent(stage.scene.nodes, "n1"))
        sched_yield(); /* another thread hears of it */
    reader_end_thread(&reader);
    stage_close(&stage);
}

TEST(nodes_tell_the_agent_that_nobody_reads_any_more)
{
    struct log_reader reader;
    struct nodes_log *log;
    struct stage stage;
    char *path;
    json_t *line;
    int post;

    stage_open(&stage);
    stage_start(&stage);
    reader_begin_thread(&reader);
    log = open_log(&stage, &reader, "n1");
    line = agent_expect(&stage.agent, "open", stage.attempt);
    path = piece_path(json_string_value(json_object_get(line, "sid")), 0, "");
    json_decref(line);
    post = agent_begin(&stage.agent, path, "t stdout F one\n", 15);
    await_data(&reader, 1);
    nodes_log_close(log); /* with a piece in hand */
    CHECK_EQ(agent_finish(post, NULL), 410);
    line = agent_line(&stage.agent);
    CHECK_TEXT(json_string_value(json_object_get(line, "do")), "close");
    json_decref(line);
    mem_free(path);
    reader_end_thread(&reader);
    stage_close(&stage);
}

TEST(nodes_drained_end_their_streams)
{
    struct stage stage;

    stage_open(&stage);
    agent_open(&stage.agent, "");
    nodes_drain(stage.scene.nodes);
    CHECK(agent_line(&stage.agent) == NULL);
    agent_hang_up(&stage.agent);
    CHECK_EQ(agent_open_at(&stage.agent, "/v1/worker/work?node=n1&generation=1"), 503);
    stage_close(&stage);
}

TEST(nodes_leave_no_descriptor_open)
{
    size_t before = test_count_fds();
    struct stage stage;

    stage_open(&stage);
    stage_start(&stage);
    stage_close(&stage);
    CHECK_EQ(test_count_fds(), before);
}

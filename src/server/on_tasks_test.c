#include "server/serving.h"

/* An agent by hand: it registers, reads its stream, and says what the test tells it to. */
struct hand {
    int work, talk; /* connections: its stream, and what it says */
    char node[32];
    int64_t generation;
    struct test_answer answer, stream;
    struct str lines;
};

/* Says something to the server as the agent; the answer is the caller's to json_decref. */
static json_t *hand_say(struct serving *s, struct hand *hand, const char *path, const char *body)
{
    CLEANUP(freep) char *request = text_format("POST /v1/worker/%s", path);
    json_t *answer;

    serving_say(hand->talk, s->agent_token, request, "", body);
    test_hear_answer(hand->talk, &hand->answer);
    if (hand->answer.status != 200)
        print_error("%s: %s\n", path, str_text(&hand->answer.body));
    CHECK_EQ(hand->answer.status, 200);
    answer = json_loads(str_text(&hand->answer.body), 0, NULL);
    return answer;
}

static void hand_begin(struct serving *s, struct hand *hand, const char *node)
{
    CLEANUP(freep)
    char *body =
        text_format("{\"node\":\"%s\",\"bootId\":\"b\",\"incarnation\":\"\",\"revisionSeen\":0,"
                    "\"version\":\"1\",\"offers\":{\"cpu\":4000,\"memory\":1073741824},"
                    "\"labels\":{\"disk\":\"nvme\"},\"taints\":[],\"info\":{\"cgroup\":\"v2\"},"
                    "\"attempts\":[]}",
                    node);
    CLEANUP(freep) char *request = NULL;
    json_t *answer;

    *hand = (struct hand){ .work = test_dial(s->port), .talk = test_dial(s->port) };
    snprintf(hand->node, sizeof(hand->node), "%s", node);
    answer = hand_say(s, hand, "register", body);
    hand->generation = json_integer_value(json_object_get(answer, "generation"));
    json_decref(answer);
    request = text_format("GET /v1/worker/work?node=%s&generation=%lld&have=", node,
                          (long long)hand->generation);
    serving_say(hand->work, s->agent_token, request, "", NULL);
    CHECK(test_hear_until(hand->work, "\r\n\r\n", &hand->lines));
}

static void hand_end(struct hand *hand)
{
    close(hand->work);
    close(hand->talk);
    test_answer_fini(&hand->answer);
    test_answer_fini(&hand->stream);
    str_fini(&hand->lines);
}

/* Waits for the next line of its stream that begins so, and takes what came up to there. */
static void hand_wait(struct hand *hand, const char *begin)
{
    char *at;

    CHECK(test_hear_until(hand->work, begin, &hand->lines));
    at = strstr(hand->lines.data, begin);
    str_drop(&hand->lines, (size_t)(at - hand->lines.data) + strlen(begin));
}

static void hand_report(struct serving *s, struct hand *hand, const char *path, const char *items)
{
    CLEANUP(freep)
    char *body = text_format("{\"node\":\"%s\",\"generation\":%lld,%s}", hand->node,
                             (long long)hand->generation, items);
    json_t *answer = hand_say(s, hand, path, body);

    CHECK(
        json_is_true(json_object_get(json_array_get(json_object_get(answer, "results"), 0), "ok")));
    json_decref(answer);
}

/* Starts what its stream says is to start. */
static void hand_start(struct serving *s, struct hand *hand, const char *attempt)
{
    CLEANUP(freep) char *ack = text_format("\"attempts\":[\"%s\"]", attempt);
    CLEANUP(freep)
    char *running = text_format(
        "\"reports\":[{\"attempt\":\"%s\",\"state\":\"running\",\"startedAt\":\"2026-01-01T00:00:"
        "00.000Z\",\"timings\":[{\"phase\":\"image\",\"startUs\":5,\"tookUs\":210}]}]",
        attempt);

    hand_wait(hand, "\"do\":\"start\"");
    hand_report(s, hand, "ack", ack);
    hand_report(s, hand, "reports", running);
}

/* Runs task 0 of a job to its end with a code. */
static void hand_run(struct serving *s, struct hand *hand, const char *attempt, int code)
{
    CLEANUP(freep)
    char *ended = text_format(
        "\"reports\":[{\"attempt\":\"%s\",\"state\":\"ended\",\"cause\":\"COMPLETED\",\"code\":%d,"
        "\"signal\":0,\"startedAt\":\"2026-01-01T00:00:00.000Z\",\"endedAt\":\"2026-01-01T00:00:01."
        "000Z\",\"message\":\"bye\",\"peaks\":{\"memory\":1048576}}]",
        attempt, code);

    hand_start(s, hand, attempt);
    hand_report(s, hand, "reports", ended);
}

/* A job on one node; id is its id. */
static void begin(struct serving *s, struct hand *hand, const char *body, char id[64])
{
    serving_start(s);
    hand_begin(s, hand, "n1");
    SERVING_EXPECT(s, 201, "POST /v1/jobs", "", body);
    snprintf(id, 64, "%s", serving_get(s, "id"));
}

TEST(tasks_attempts_and_timeline_of_a_run)
{
    struct serving s;
    struct hand hand;
    char id[64], attempt[80];
    CLEANUP(freep) char *tasks = NULL, *attempts = NULL, *one = NULL, *timeline = NULL, *job = NULL;

    begin(&s, &hand, "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":1}}", id);
    snprintf(attempt, sizeof(attempt), "%s/task.0#1", id);
    hand_run(&s, &hand, attempt, 3);
    tasks = text_format("GET /v1/jobs/%s/tasks", id);
    attempts = text_format("GET /v1/jobs/%s/attempts", id);
    one = text_format("GET /v1/attempts/%s%%2Ftask.0%%231", id);
    timeline = text_format("GET /v1/jobs/%s/timeline?task=task.0", id);
    job = text_format("GET /v1/jobs/%s", id);

    SERVING_EXPECT(&s, 200, tasks, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.state"), "failed");
    CHECK_TEXT(serving_get(&s, "items.0.code"), "3");
    CHECK_TEXT(serving_get(&s, "items.0.attempt"), attempt);
    CHECK_TEXT(serving_get(&s, "items.0.node"), "n1");
    SERVING_EXPECT(&s, 200, attempts, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.name"), attempt);
    CHECK_TEXT(serving_get(&s, "items.1"), "(none)");
    SERVING_EXPECT(&s, 200, one, "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "ended");
    CHECK_TEXT(serving_get(&s, "cause"), "COMPLETED");
    CHECK_TEXT(serving_get(&s, "code"), "3");
    CHECK_TEXT(serving_get(&s, "then"), "failed");
    CHECK_TEXT(serving_get(&s, "fence"), "1");
    CHECK_TEXT(serving_get(&s, "message"), "bye");
    CHECK_TEXT(serving_get(&s, "peaks.memory"), "1048576");
    CHECK_TEXT(serving_get(&s, "timings.0.tookUs"), "210");
    SERVING_EXPECT(&s, 200, timeline, "", NULL);
    CHECK_TEXT(serving_get(&s, "attempts.0.phases.0.phase"), "queue");
    CHECK_TEXT(serving_get(&s, "attempts.0.phases.2.phase"), "image");
    CHECK_TEXT(serving_get(&s, "attempts.0.phases.2.tookUs"), "210");
    SERVING_EXPECT(&s, 200, job, "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "failed");
    CHECK_TEXT(serving_get(&s, "code"), "3");
    hand_end(&hand);
    serving_stop(&s);
}

TEST(what_waits_for_another_try_runs_nowhere)
{
    struct serving s;
    struct hand hand;
    char id[64], attempt[80];
    CLEANUP(freep) char *tasks = NULL, *job = NULL;

    begin(&s, &hand,
          "{\"name\":\"a\",\"image\":\"oci:/i\",\"retries\":{\"max\":1,\"backoff\":\"1h\","
          "\"backoffMax\":\"1h\"}}",
          id);
    snprintf(attempt, sizeof(attempt), "%s/task.0#1", id);
    job = text_format("GET /v1/jobs/%s", id);
    SERVING_EXPECT(&s, 200, job, "", NULL);
    CHECK_TEXT(serving_get(&s, "pendingSince"), "(none)"); /* it never was anything else */
    hand_run(&s, &hand, attempt, 3);
    tasks = text_format("GET /v1/jobs/%s/tasks", id);
    SERVING_EXPECT(&s, 200, tasks, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.state"), "pending");
    CHECK_TEXT(serving_get(&s, "items.0.attempt"), attempt);
    CHECK_TEXT(serving_get(&s, "items.0.node"), "(none)");
    CHECK_TEXT(serving_get(&s, "items.0.startedAt"), "(none)");
    SERVING_EXPECT(&s, 200, job, "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "pending");
    CHECK(strcmp(serving_get(&s, "pendingSince"), "(none)") != 0);
    hand_end(&hand);
    serving_stop(&s);
}

TEST(tasks_without_an_attempt_are_listed_too)
{
    struct serving s;
    CLEANUP(freep) char *first = NULL, *next = NULL, *filtered = NULL, *gone = NULL, *cancel = NULL;
    CLEANUP(freep) char *one = NULL, *none = NULL;
    char id[64];

    serving_start(&s);
    SERVING_EXPECT(
        &s, 201, "POST /v1/jobs", "",
        "{\"name\":\"a\",\"groups\":[{\"name\":\"w\",\"image\":\"oci:/i\",\"replicas\":2},"
        "{\"name\":\"ps\",\"image\":\"oci:/i\"}]}");
    snprintf(id, sizeof(id), "%s", serving_get(&s, "id"));
    first = text_format("GET /v1/jobs/%s/tasks?limit=2", id);
    SERVING_EXPECT(&s, 200, first, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.index"), "0");
    CHECK_TEXT(serving_get(&s, "items.1.index"), "1");
    CHECK_TEXT(serving_get(&s, "items.1.state"), "pending");
    CHECK_TEXT(serving_get(&s, "items.2"), "(none)");
    next = text_format("GET /v1/jobs/%s/tasks?limit=2&cursor=%s", id, serving_get(&s, "next"));
    SERVING_EXPECT(&s, 200, next, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.group"), "ps");
    CHECK_TEXT(serving_get(&s, "items.1"), "(none)");
    CHECK_TEXT(serving_get(&s, "next"), "(none)");
    cancel = text_format("DELETE /v1/jobs/%s", id);
    SERVING_EXPECT(&s, 204, cancel, "", NULL);
    one = text_format("GET /v1/jobs/%s/tasks?task=w.1", id);
    SERVING_EXPECT(&s, 200, one, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.index"), "1");
    CHECK_TEXT(serving_get(&s, "items.1"), "(none)");
    none = text_format("GET /v1/jobs/%s/tasks?task=w.9", id);
    SERVING_EXPECT(&s, 404, none, "", NULL);
    CHECK(
        strstr(serving_get(&s, "detail"), "there is no task w.9 in the job; there is w.0 to w.1"));
    filtered = text_format("GET /v1/jobs/%s/tasks?state=cancelled", id);
    SERVING_EXPECT(&s, 200, filtered, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.2.state"), "cancelled");
    gone = text_format("GET /v1/jobs/%s/tasks?state=pending,running", id);
    SERVING_EXPECT(&s, 200, gone, "", NULL);
    CHECK_TEXT(serving_get(&s, "items"), "[]");
    serving_stop(&s);
}

static bool is_running(struct serving *s, const char *job)
{
    SERVING_EXPECT(s, 200, job, "", NULL);
    return strcmp(serving_get(s, "state"), "running") == 0;
}

/* It beats until the job is placed, and is silent from then on. */
static void begin_silence(struct serving *s, struct hand *hand, char id[64])
{
    CLEANUP(freep) char *beat = NULL, *job = NULL;

    serving_start_with(s, (struct server_options){ .node_ttl_ms = 3600000, .node_beat_ms = 100 });
    hand_begin(s, hand, "n1");
    beat = text_format("{\"node\":\"n1\",\"generation\":%lld}", (long long)hand->generation);
    SERVING_EXPECT(s, 201, "POST /v1/jobs", "", "{\"name\":\"a\",\"image\":\"oci:/i\"}");
    snprintf(id, 64, "%s", serving_get(s, "id"));
    job = text_format("GET /v1/jobs/%s", id);
    while (!is_running(s, job))
        json_decref(hand_say(s, hand, "beat", beat));
    do
        SERVING_EXPECT(s, 200, job, "", NULL);
    while (strcmp(serving_get(s, "silent"), "(none)") == 0);
}

TEST(whose_node_is_silent_is_told_with_its_job_its_task_and_its_log)
{
    struct serving s;
    struct hand hand;
    char id[64];
    CLEANUP(freep) char *since = NULL, *tasks = NULL, *logs = NULL, *why = NULL;

    begin_silence(&s, &hand, id);
    CHECK_TEXT(serving_get(&s, "silent.0.node"), "n1");
    since = text_copy(serving_get(&s, "silent.0.since"));
    CHECK_TEXT(serving_get(&s, "tasks.running"), "0");
    SERVING_EXPECT(&s, 200, "GET /v1/jobs", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.silent.0.since"), since);
    SERVING_EXPECT(&s, 200, "GET /v1/jobs?sort=name", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.silent.0.since"), since);
    tasks = text_format("GET /v1/jobs/%s/tasks", id);
    SERVING_EXPECT(&s, 200, tasks, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.state"), "bound");
    CHECK_TEXT(serving_get(&s, "items.0.silentSince"), since);
    SERVING_EXPECT(&s, 200, "GET /v1/nodes/n1", "", NULL);
    CHECK_TEXT(serving_get(&s, "heardAt"), since);
    logs = text_format("GET /v1/jobs/%s/logs", id);
    why = text_format("the log of %s/task.0#1 lies on node n1, whose agent is silent since %s: it "
                      "can be read once that is back (see: berth node show n1)",
                      id, since);
    SERVING_EXPECT(&s, 503, logs, "", NULL);
    CHECK_TEXT(serving_get(&s, "detail"), why);
    hand_end(&hand);
    serving_stop(&s);
}

TEST(explain_names_nodes_and_numbers)
{
    struct serving s;
    struct hand hand;
    char id[64];
    CLEANUP(freep) char *explain = NULL, *node = NULL, *other = NULL, *task = NULL;

    begin(&s, &hand, "{\"name\":\"big\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":64}}", id);
    explain = text_format("GET /v1/jobs/%s/explain", id);
    SERVING_EXPECT(&s, 200, explain, "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "pending");
    CHECK_TEXT(serving_get(&s, "nodes.total"), "1");
    CHECK_TEXT(serving_get(&s, "nodes.fits"), "[]");
    CHECK_TEXT(serving_get(&s, "nodes.failed.0.count"), "1");
    CHECK_TEXT(serving_get(&s, "nodes.failed.0.nodes.0.name"), "n1");
    CHECK_TEXT(serving_get(&s, "nodes.failed.0.nodes.0.asked"), "64");
    CHECK_TEXT(serving_get(&s, "queue.place"), "1");
    CHECK_TEXT(serving_get(&s, "queue.of"), "1");
    CHECK_TEXT(serving_get(&s, "changes.0.pointer"), "/groups/0/resources/cpu");
    CHECK_TEXT(serving_get(&s, "changes.0.from"), "64");
    CHECK_TEXT(serving_get(&s, "changes.0.to"), "4");
    CHECK_TEXT(serving_get(&s, "changesComplete"), "true");
    CHECK_TEXT(serving_get(&s, "checks"), "(none)");
    node = text_format("GET /v1/jobs/%s/explain?node=n1", id);
    SERVING_EXPECT(&s, 200, node, "", NULL);
    CHECK_TEXT(serving_get(&s, "checks.0.check"), "ready");
    CHECK_TEXT(serving_get(&s, "checks.0.ok"), "true");
    CHECK_TEXT(serving_get(&s, "checks.1.check"), "cpu");
    CHECK_TEXT(serving_get(&s, "checks.1.code"), "INSUFFICIENT_CPU");
    CHECK_TEXT(serving_get(&s, "checks.1.free"), "4");
    CHECK_TEXT(serving_get(&s, "changes"), "(none)");
    other = text_format("GET /v1/jobs/%s/explain?node=n2", id);
    SERVING_EXPECT(&s, 404, other, "", NULL);
    task = text_format("GET /v1/jobs/%s/explain?task=other.0", id);
    SERVING_EXPECT(&s, 404, task, "", NULL);
    hand_end(&hand);
    serving_stop(&s);
}

/* Another job's budget is named with what of it would do; whose it is, to who sees that job. */
TEST(explain_names_a_budget_in_the_way)
{
    struct serving s;
    struct hand hand;
    char holder[64], token[80];
    CLEANUP(freep) char *explain = NULL, *attempt = NULL;

    begin(&s, &hand,
          "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":4},"
          "\"budget\":{\"maxUnavailable\":\"0%\"}}",
          holder);
    attempt = text_format("%s/task.0#1", holder);
    hand_start(&s, &hand, attempt);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"b\",\"namespace\":\"lab\",\"image\":\"oci:/i\",\"priority\":900,"
                   "\"resources\":{\"cpu\":4}}");
    explain = text_format("GET /v1/jobs/%s/explain?changes=10", serving_get(&s, "id"));
    SERVING_EXPECT(&s, 200, explain, "", NULL);
    CHECK_TEXT(serving_get(&s, "changes.0.kind"), "field");
    CHECK_TEXT(serving_get(&s, "changes.0.job"), holder);
    CHECK_TEXT(serving_get(&s, "changes.0.what"), holder);
    CHECK_TEXT(serving_get(&s, "changes.0.pointer"), "/budget/maxUnavailable");
    CHECK_TEXT(serving_get(&s, "changes.0.from"), "0%");
    CHECK_TEXT(serving_get(&s, "changes.0.to"), "1%");
    CHECK_TEXT(serving_get(&s, "changes.0.evicts"), "1");
    SERVING_EXPECT(&s, 201, "POST /v1/tokens", "",
                   "{\"name\":\"l\",\"rights\":\"user\",\"namespace\":\"lab\"}");
    snprintf(token, sizeof(token), "%s", serving_get(&s, "token"));
    SERVING_EXPECT_AS(&s, token, 200, explain, "", NULL);
    CHECK_TEXT(serving_get(&s, "changes.0.pointer"), "/budget/maxUnavailable");
    CHECK_TEXT(serving_get(&s, "changes.0.what"), "a job of another namespace");
    CHECK_TEXT(serving_get(&s, "changes.0.job"), "(none)");
    hand_end(&hand);
    serving_stop(&s);
}

/* While room is being freed for a job nothing need be changed: explain, a plan and the queue tell who
 * must end, and for whom. */
TEST(what_is_being_freed_is_told_alike)
{
    struct serving s;
    struct hand hand;
    char holder[64], next[64];
    CLEANUP(freep) char *explain = NULL, *attempt = NULL, *holders = NULL, *cancel = NULL;

    begin(&s, &hand, "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":4}}", holder);
    attempt = text_format("%s/task.0#1", holder);
    hand_start(&s, &hand, attempt);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"b\",\"image\":\"oci:/i\",\"priority\":900,"
                   "\"resources\":{\"cpu\":4}}");
    snprintf(next, sizeof(next), "%s", serving_get(&s, "id"));
    hand_wait(&hand, "\"do\":\"stop\"");
    explain = text_format("GET /v1/jobs/%s/explain", next);
    SERVING_EXPECT(&s, 200, explain, "", NULL);
    CHECK_TEXT(serving_get(&s, "code"), "WAITING_FOR_EVICTION");
    CHECK_TEXT(serving_get(&s, "stopping.0.attempt"), attempt);
    CHECK_TEXT(serving_get(&s, "stopping.0.node"), "n1");
    CHECK_TEXT(serving_get(&s, "changes"), "(none)");
    SERVING_EXPECT(&s, 200, "POST /v1/jobs?dryRun=1&changes=3", "",
                   "{\"name\":\"c\",\"image\":\"oci:/i\",\"priority\":950,"
                   "\"resources\":{\"cpu\":4}}");
    CHECK_TEXT(serving_get(&s, "outcome"), "wait");
    CHECK_TEXT(serving_get(&s, "takes"), "1");
    CHECK_TEXT(serving_get(&s, "stopping.0.attempt"), attempt);
    CHECK_TEXT(serving_get(&s, "explain.code"), "WAITING_FOR_EVICTION");
    CHECK_TEXT(serving_get(&s, "explain.changes"), "(none)");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default/why", "", NULL);
    holders = text_format("[{\"job\":\"%s\",\"amount\":\"4\",\"stopping\":true},"
                          "{\"job\":\"%s\",\"amount\":\"4\",\"held\":true}]",
                          holder, next);
    CHECK_TEXT(serving_get(&s, "allocated"), "0");
    CHECK_TEXT(serving_get(&s, "stopping"), "4");
    CHECK_TEXT(serving_get(&s, "held"), "4");
    CHECK_TEXT(serving_get(&s, "holders"), holders);
    /* Nothing is held any more; what is being stopped goes to the first in line all the same. */
    cancel = text_format("DELETE /v1/jobs/%s", next);
    SERVING_EXPECT(&s, 204, cancel, "", NULL);
    SERVING_EXPECT(&s, 200, "POST /v1/jobs?dryRun=1&changes=3", "",
                   "{\"name\":\"c\",\"image\":\"oci:/i\",\"priority\":950,"
                   "\"resources\":{\"cpu\":4}}");
    CHECK_TEXT(serving_get(&s, "stopping.0.attempt"), attempt);
    CHECK_TEXT(serving_get(&s, "explain.changes"), "(none)");
    hand_end(&hand);
    serving_stop(&s);
}

TEST(explain_says_who_holds_the_rest_and_until_when)
{
    struct serving s;
    struct hand hand;
    char holder[64];
    CLEANUP(freep) char *explain = NULL, *attempt = NULL, *ground = NULL;

    begin(&s, &hand,
          "{\"name\":\"a\",\"image\":\"oci:/i\",\"limit\":\"1h\",\"resources\":{\"cpu\":4}}",
          holder);
    attempt = text_format("%s/task.0#1", holder);
    hand_start(&s, &hand, attempt);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"b\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":2}}");
    explain = text_format("GET /v1/jobs/%s/explain", serving_get(&s, "id"));
    SERVING_EXPECT(&s, 200, explain, "", NULL);
    ground = text_format("limit of %s on n1", holder);
    CHECK_TEXT(serving_get(&s, "nodes.failed.0.nodes.0.heldBy.0.attempt"), attempt);
    CHECK_TEXT(serving_get(&s, "nodes.failed.0.nodes.0.heldBy.0.amount"), "4");
    CHECK_TEXT(serving_get(&s, "changes.0.event"), "tasks-end");
    CHECK_TEXT(serving_get(&s, "changes.0.job"), holder);
    CHECK_TEXT(serving_get(&s, "start.ground"), ground);
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default/why", "", NULL);
    CHECK_TEXT(serving_get(&s, "allocated"), "4");
    CHECK_TEXT(serving_get(&s, "holders.0.job"), holder);
    CHECK_TEXT(serving_get(&s, "holders.0.amount"), "4");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default/why?resource=memory", "", NULL);
    CHECK_TEXT(serving_get(&s, "holders"), "[]");
    /* What nobody has or asks for is a mistake. */
    SERVING_EXPECT(&s, 400, "GET /v1/queues/default/why?resource=fpga", "", NULL);
    CHECK_TEXT(serving_get(&s, "detail"), "resource=fpga: nothing here has or asks for such a "
                                          "resource; there are cpu, memory, pods");
    SERVING_EXPECT(&s, 400, "GET /v1/queues/default/why?resource=%0a", "", NULL);
    CHECK_TEXT(serving_get(&s, "detail"), "resource=(no name): nothing here has or asks for such a "
                                          "resource; there are cpu, memory, pods");
    SERVING_EXPECT(&s, 201, "POST /v1/queues", "", "{\"name\":\"c\",\"cap\":{\"fpga\":2}}");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default/why?resource=fpga", "", NULL);
    CHECK_TEXT(serving_get(&s, "allocated"), "0");
    SERVING_EXPECT(&s, 404, "GET /v1/queues/nobody/why", "", NULL);
    hand_end(&hand);
    serving_stop(&s);
}

TEST(jobs_of_others_are_not_named_as_holders)
{
    struct serving s;
    struct hand hand;
    char holder[64], token[80];
    CLEANUP(freep) char *explain = NULL, *show = NULL, *orphans = NULL;

    begin(&s, &hand, "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":4}}", holder);
    hand_wait(&hand, "\"do\":\"start\"");
    SERVING_EXPECT(&s, 201, "POST /v1/tokens", "",
                   "{\"name\":\"l\",\"rights\":\"user\",\"namespace\":\"lab\"}");
    snprintf(token, sizeof(token), "%s", serving_get(&s, "token"));
    SERVING_EXPECT_AS(&s, token, 201, "POST /v1/jobs", "",
                      "{\"name\":\"b\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":4}}");
    explain = text_format("GET /v1/jobs/%s/explain", serving_get(&s, "id"));
    show = text_format("GET /v1/jobs/%s", serving_get(&s, "id"));
    SERVING_EXPECT(&s, 200, explain, "", NULL);
    CHECK(strstr(s.answer.body.data, holder) != NULL);
    SERVING_EXPECT_AS(&s, token, 200, explain, "", NULL);
    CHECK_TEXT(serving_get(&s, "nodes.failed.0.nodes.0.name"), "n1");
    CHECK(strstr(s.answer.body.data, holder) == NULL);
    /* Place and counts are of all, as the queue is. */
    CHECK_TEXT(serving_get(&s, "queue.of"), "1");
    SERVING_EXPECT_AS(&s, token, 200, show, "", NULL);
    CHECK(strstr(s.answer.body.data, holder) == NULL);
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/queues/default", "", NULL);
    CHECK_TEXT(serving_get(&s, "usage.running"), "1");
    CHECK_TEXT(serving_get(&s, "usage.allocated.cpu"), "4");
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/queues/default/why", "", NULL);
    CHECK_TEXT(serving_get(&s, "holders"), "[{\"amount\":\"4\"}]");
    /* Nobody knows whose an orphan is. */
    orphans = text_format("{\"node\":\"n1\",\"generation\":%lld,\"orphans\":[\"j-9/w.0#1\"]}",
                          (long long)hand.generation);
    json_decref(hand_say(&s, &hand, "beat", orphans));
    SERVING_EXPECT(&s, 200, "GET /v1/nodes/n1", "", NULL);
    CHECK_TEXT(serving_get(&s, "info.orphans"), "[\"j-9/w.0#1\"]");
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/nodes/n1", "", NULL);
    CHECK_TEXT(serving_get(&s, "info.orphans"), "[\"a job of another namespace\"]");
    SERVING_EXPECT_AS(&s, token, 200, "GET /v1/nodes", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.info.orphans"), "[\"a job of another namespace\"]");
    hand_end(&hand);
    serving_stop(&s);
}

TEST(nodes_show_what_they_hold)
{
    CLEANUP(freep) char *attempts = NULL;
    struct serving s;
    struct hand hand;
    char id[64];

    begin(&s, &hand, "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":\"1500m\"}}", id);
    hand_wait(&hand, "\"do\":\"start\"");
    SERVING_EXPECT(&s, 200, "GET /v1/nodes/n1", "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "ready");
    CHECK_TEXT(serving_get(&s, "connected"), "true");
    CHECK_TEXT(serving_get(&s, "offers.cpu"), "4");
    CHECK_TEXT(serving_get(&s, "used.cpu"), "1500m");
    CHECK_TEXT(serving_get(&s, "free.cpu"), "2500m");
    CHECK_TEXT(serving_get(&s, "attempts"), "1");
    CHECK_TEXT(serving_get(&s, "labels.disk"), "nvme");
    CHECK_TEXT(serving_get(&s, "info.cgroup"), "v2");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n1/actions", "",
                   "{\"action\":\"cordon\",\"reason\":\"fan\"}");
    CHECK_TEXT(serving_get(&s, "state"), "cordoned");
    CHECK_TEXT(serving_get(&s, "condition"), "ready");
    CHECK_TEXT(serving_get(&s, "cordon.reason"), "fan");
    CHECK_TEXT(serving_get(&s, "cordon.by"), "admin");
    SERVING_EXPECT(&s, 200, "GET /v1/nodes", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.used.cpu"), "1500m");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n1/actions", "", "{\"action\":\"uncordon\"}");
    CHECK_TEXT(serving_get(&s, "state"), "ready");
    SERVING_EXPECT(&s, 422, "POST /v1/nodes/n1/actions", "", "{\"action\":\"paint\"}");
    SERVING_EXPECT(&s, 422, "POST /v1/nodes/n1/actions", "",
                   "{\"action\":\"cordon\",\"graceSeconds\":1}");
    SERVING_EXPECT(&s, 428, "PATCH /v1/nodes/n1", "", "{\"labels\":{\"rack\":\"r1\"}}");
    SERVING_EXPECT(&s, 412, "PATCH /v1/nodes/n1", "If-Match: \"1\"\r\n",
                   "{\"labels\":{\"rack\":\"r1\"}}");
    SERVING_EXPECT(&s, 200, "PATCH /v1/nodes/n1", "If-Match: *\r\n",
                   "{\"labels\":{\"rack\":\"r1\"}}");
    CHECK_TEXT(serving_get(&s, "labels.rack"), "r1");
    CHECK_TEXT(serving_get(&s, "setLabels.rack"), "r1");
    SERVING_EXPECT(&s, 422, "PATCH /v1/nodes/n1", "If-Match: *\r\n",
                   "{\"labels\":{\"disk\":null}}");
    CHECK_TEXT(serving_get(&s, "errors.0.pointer"), "/labels/disk");
    SERVING_EXPECT(&s, 422, "PATCH /v1/nodes/n1", "If-Match: *\r\n", "{\"lables\":{}}");
    SERVING_EXPECT(&s, 404, "PATCH /v1/nodes/n9", "If-Match: *\r\n", "{\"labels\":{}}");
    SERVING_EXPECT(&s, 409, "DELETE /v1/nodes/n1", "", NULL);
    SERVING_EXPECT(&s, 204, "DELETE /v1/nodes/n9", "", NULL);
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n1/actions", "",
                   "{\"action\":\"drain\",\"graceSeconds\":1}");
    CHECK_TEXT(serving_get(&s, "state"), "draining");
    CHECK_TEXT(serving_get(&s, "attempts"), "0"); /* it was not started: it ended at once */
    attempts = text_format("GET /v1/jobs/%s/attempts", id);
    SERVING_EXPECT(&s, 200, attempts, "", NULL);
    CHECK_TEXT(serving_get(&s, "items.0.state"), "ended");
    CHECK_TEXT(serving_get(&s, "items.0.code"), "(none)"); /* and no command of it did */
    CHECK_TEXT(serving_get(&s, "items.0.exitCode"), "(none)");
    SERVING_EXPECT(&s, 404, "POST /v1/nodes/n9/actions", "", "{\"action\":\"cordon\"}");
    hand_end(&hand);
    serving_stop(&s);
}

/* Takes the sid of the next log that the agent is asked for. */
static void hand_sid(struct hand *hand, char sid[100])
{
    const char *at;

    hand_wait(hand, "\"do\":\"open\"");
    CHECK(test_hear_until(hand->work, "}", &hand->lines));
    at = strstr(hand->lines.data, "\"sid\":\"");
    CHECK(at != NULL);
    snprintf(sid, 100, "%.*s", (int)strcspn(at + 7, "\""), at + 7);
}

/* Sends a piece of a log as the agent, without waiting for the answer. */
static void hand_piece(struct serving *s, struct hand *hand, const char *sid, size_t at, bool end,
                       const char *bytes)
{
    CLEANUP(freep)
    char *request =
        text_format("POST /v1/worker/streams/%s?node=%s&at=%zu&end=%d", sid, hand->node, at, end);

    serving_say(hand->talk, s->agent_token, request, "Content-Type: text/plain\r\n", bytes);
}

static const char lines[] = "2026-01-01T00:00:00Z stdout F one\n"
                            "2026-01-01T00:00:00Z stderr F two\n"
                            "2026-01-01T00:00:00Z stdout P thr\n"
                            "2026-01-01T00:00:00Z stdout F ee\n"
                            "2026-01-01T00:00:00Z berth F notice\n";

static const struct {
    const char *name, *query, *text;
} logs[] = {
    { "all as text", "", "one\ntwo\nthree\n" },
    { "one stream", "?stream=stderr", "two\n" },
    { "notices", "?stream=berth", "notice\n" },
    { "as on disk", "?format=cri", lines },
    { "one stream as on disk", "?format=cri&stream=stderr", "2026-01-01T00:00:00Z stderr F two\n" },
    { "the last line", "?tail=1", "three\n" },
    { "the last two", "?tail=2", "two\nthree\n" },
    { "more than there are", "?tail=100", "one\ntwo\nthree\n" },
};

TEST(logs_come_from_the_agent)
{
    struct serving s;
    struct hand hand;
    char id[64], sid[100];
    CLEANUP(freep) char *gone = NULL;

    begin(&s, &hand, "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":1}}", id);
    hand_wait(&hand, "\"do\":\"start\"");
    ROW_EACH (c, logs) {
        CLEANUP(freep)
        char *request = text_format("GET /v1/attempts/%s%%2Ftask.0%%231/logs%s", id, c->query);

        serving_say(s.fd, s.token, request, "", NULL);
        hand_sid(&hand, sid);
        /* In two pieces, cut behind a line. */
        hand_piece(&s, &hand, sid, 34 * 2, false, "");
        test_hear_answer(hand.talk, &hand.answer);
        hand_piece(&s, &hand, sid, 0, true, lines);
        test_hear_answer(hand.talk, &hand.answer);
        test_hear_answer(s.fd, &s.answer);
        CHECK_EQ(s.answer.status, 200);
        CHECK_TEXT(str_text(&s.answer.body), c->text);
    }
    gone = text_format("GET /v1/jobs/%s/logs?task=task.0", id);
    serving_say(s.fd, s.token, gone, "", NULL);
    hand_sid(&hand, sid);
    {
        CLEANUP(freep)
        char *request = text_format("POST /v1/worker/streams/%s?node=n1&at=0&end=1&gone=1", sid);
        serving_say(hand.talk, s.agent_token, request, "", "");
        test_hear_answer(hand.talk, &hand.answer);
    }
    test_hear_answer(s.fd, &s.answer);
    CHECK_EQ(s.answer.status, 404); /* it was there to be started, and was not: nothing is gone */
    CHECK(strstr(serving_get(&s, "detail"), "task.0#1 has no log: it has not started yet"));
    hand_end(&hand);
    serving_stop(&s);
}

TEST(logs_of_what_has_none_say_so)
{
    struct serving s;
    CLEANUP(freep) char *none = NULL, *bad = NULL;

    serving_start(&s);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "", "{\"name\":\"a\",\"image\":\"oci:/i\"}");
    none = text_format("GET /v1/jobs/%s/logs", serving_get(&s, "id"));
    bad = text_format("%s?format=pdf", none);
    SERVING_EXPECT(&s, 404, none, "", NULL);
    SERVING_EXPECT(&s, 400, bad, "", NULL);
    SERVING_EXPECT(&s, 404, "GET /v1/jobs/j-999/logs", "", NULL);
    serving_stop(&s);
}

TEST(a_server_may_end_while_all_wait)
{
    size_t n_fds = test_count_fds();
    struct serving s;
    struct hand hand;
    char id[64], sid[100];
    CLEANUP(freep) char *logs_request = NULL, *follow = NULL;
    int reader, follower, watcher;

    begin(&s, &hand, "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":1}}", id);
    hand_wait(&hand, "\"do\":\"start\"");
    logs_request = text_format("GET /v1/jobs/%s/logs", id);
    follow = text_format("GET /v1/jobs/%s/logs?follow=1", id);
    reader = test_dial(s.port);
    serving_say(reader, s.token, logs_request, "", NULL);
    hand_sid(&hand, sid); /* asked for, and never sent */
    follower = test_dial(s.port);
    serving_say(follower, s.token, follow, "", NULL);
    hand_sid(&hand, sid);
    hand_piece(&s, &hand, sid, 0, false, "2026-01-01T00:00:00Z stdout F one\n");
    test_hear_answer(hand.talk, &hand.answer);
    watcher = test_dial(s.port);
    serving_say(watcher, s.token, "GET /v1/events", "Accept: text/event-stream\r\n", NULL);
    CHECK(test_hear_until(watcher, "retry", &hand.stream.rest));
    serving_stop(&s);
    hand_end(&hand);
    close(reader);
    close(follower);
    close(watcher);
    CHECK_EQ(test_count_fds(), n_fds);
}

#include <errno.h>

#include "base/name.h"
#include "server/cycle.h"
#include "server/quotas.h"
#include "server/scene.h"
#include "server/steward.h"

/* A whole server without its API: ledger, cycle, steward, nodes. */
struct stage {
    struct scene scene;
    struct cycle *cycle;
    struct steward *steward;
    struct agent agent;
};

static void stage_open_with(struct stage *stage, const struct cycle_options *more)
{
    struct cycle_options cycle = more ? *more : (struct cycle_options){ 0 };
    struct steward_options steward = { .server = "s1" };
    struct err err = { 0 };

    *stage = (struct stage){ .agent = { .node = "n1", .stream = -1 } };
    scene_open(&stage->scene, "memory:", NULL);
    cycle.ledger = steward.ledger = stage->scene.ledger;
    CHECK_OK(cycle_open(&cycle, &stage->cycle, &err), &err);
    steward.cycle = stage->cycle;
    CHECK_OK(steward_open(&steward, &stage->steward, &err), &err);
    scene_start(&stage->scene);
    CHECK_OK(cycle_start(stage->cycle, &err), &err);
    stage->agent.port = stage->scene.port;
}

static void stage_lead(struct stage *stage)
{
    struct err err = { 0 };

    CHECK_OK(steward_start(stage->steward, &err), &err);
}

static void stage_open(struct stage *stage)
{
    stage_open_with(stage, NULL);
    stage_lead(stage);
}

static void stage_close(struct stage *stage)
{
    agent_fini(&stage->agent);
    steward_stop(stage->steward);
    scene_stop(&stage->scene);
    cycle_close(stage->cycle);
    steward_close(stage->steward);
    scene_close(&stage->scene);
}

static void stage_join(struct stage *stage)
{
    CHECK_EQ(agent_register_with(&stage->agent, "b1", "", NULL), 200);
    agent_open(&stage->agent, "");
    agent_expect_nothing(&stage->agent);
}

/* The next line of that kind; its attempt's name. */
static void expect_some(struct agent *agent, const char *what, char out[NAME_ATTEMPT_SIZE])
{
    json_t *line = agent_line(agent);

    CHECK(line != NULL);
    CHECK_TEXT(json_string_value(json_object_get(line, "do")), what);
    snprintf(out, NAME_ATTEMPT_SIZE, "%s", json_string_value(json_object_get(line, "attempt")));
    json_decref(line);
}

static void run_to_end(struct agent *agent, const char *attempt, const char *end)
{
    CHECK_TEXT(agent_ack(agent, attempt), "");
    CHECK_TEXT(agent_report(agent, attempt, AGENT_RUNNING), "");
    CHECK_TEXT(agent_report(agent, attempt, end), "");
}

TEST(cycle_takes_a_job_from_submit_to_its_end)
{
    struct cycle_metrics metrics;
    char attempt[NAME_ATTEMPT_SIZE], name[NAME_ATTEMPT_SIZE];
    struct stage stage;
    uint64_t job;

    stage_open(&stage);
    stage_join(&stage);
    job = scene_submit(&stage.scene,
                       "{\"name\":\"a\",\"image\":\"dir:/i\",\"resources\":{\"cpu\":1}}");
    expect_some(&stage.agent, "start", attempt);
    name_attempt(job, "task", 0, 1, name);
    CHECK_TEXT(attempt, name);
    run_to_end(&stage.agent, attempt, AGENT_ENDED);
    CHECK_EQ(scene_job_state(&stage.scene, job), JOB_SUCCEEDED);
    /* The cycle hears of its group after the agent may have. */
    do
        cycle_metrics(stage.cycle, &metrics);
    while (metrics.placed == 0);
    CHECK_EQ(metrics.placed, 1);
    CHECK(metrics.cycles >= 1);
    stage_close(&stage);
}

TEST(cycle_tries_a_task_again_when_its_back_off_is_over)
{
    char attempt[NAME_ATTEMPT_SIZE], name[NAME_ATTEMPT_SIZE];
    struct stage stage;
    uint64_t job;

    stage_open(&stage);
    stage_join(&stage);
    job = scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\","
                                     "\"retries\":{\"max\":1,\"backoff\":\"100ms\"}}");
    expect_some(&stage.agent, "start", attempt);
    run_to_end(&stage.agent, attempt, "\"state\":\"ended\",\"cause\":\"COMPLETED\",\"code\":3");
    expect_some(&stage.agent, "start", attempt); /* woken by time alone */
    name_attempt(job, "task", 0, 2, name);
    CHECK_TEXT(attempt, name);
    run_to_end(&stage.agent, attempt, "\"state\":\"ended\",\"cause\":\"COMPLETED\",\"code\":3");
    CHECK_EQ(scene_job_state(&stage.scene, job), JOB_FAILED);
    stage_close(&stage);
}

TEST(cycle_binds_as_room_comes_back)
{
    char attempt[NAME_ATTEMPT_SIZE];
    struct stage stage;
    uint64_t jobs[12];

    stage_open(&stage);
    stage_join(&stage);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) /* two fit at a time */
        jobs[i] = scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\","
                                             "\"resources\":{\"cpu\":4}}");
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        expect_some(&stage.agent, "start", attempt);
        run_to_end(&stage.agent, attempt, AGENT_ENDED);
    }
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        CHECK_EQ(scene_job_state(&stage.scene, jobs[i]), JOB_SUCCEEDED);
    stage_close(&stage);
}

TEST(cycle_starts_a_gang_whole)
{
    char first[NAME_ATTEMPT_SIZE], second[NAME_ATTEMPT_SIZE];
    struct agent other = { .node = "n2", .stream = -1 };
    struct stage stage;

    stage_open(&stage);
    stage_join(&stage);
    scene_submit(&stage.scene, "{\"name\":\"g\",\"minAvailable\":2,\"groups\":[{\"name\":\"w\","
                               "\"replicas\":2,\"image\":\"dir:/i\",\"resources\":{\"cpu\":8}}]}");
    other.port = stage.agent.port;
    CHECK_EQ(agent_register_with(&other, "b1", "", NULL), 200);
    agent_open(&other, "");
    expect_some(&stage.agent, "start", first);
    expect_some(&other, "start", second);
    CHECK(strcmp(first, second) != 0);
    agent_fini(&other);
    stage_close(&stage);
}

/* ---- verdicts and deadlines ---- */

/* Between two looks at what other threads do. */
static void look_again(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* The last cycle's verdict on a job, waited for. */
static const struct berth_verdict *await_verdict(struct stage *stage, uint64_t job,
                                                 struct verdicts **verdicts)
{
    const struct berth_verdict *verdict;
    size_t n;

    for (;; look_again()) {
        *verdicts = cycle_verdicts(stage->cycle);
        verdict = verdicts_find(*verdicts, job, &n);
        if (verdict)
            return verdict;
        verdicts_unref(*verdicts);
    }
}

TEST(cycle_leaves_verdicts_on_what_waits)
{
    const struct berth_verdict *verdict;
    struct verdicts *verdicts;
    struct stage stage;
    uint64_t job;
    size_t n;

    stage_open(&stage);
    stage_join(&stage);
    job = scene_submit(&stage.scene, "{\"name\":\"big\",\"image\":\"dir:/i\","
                                     "\"resources\":{\"cpu\":64}}");
    verdict = await_verdict(&stage, job, &verdicts);
    CHECK_EQ(verdict->n_tasks, 1);
    CHECK_EQ(verdict->reason->code, WAIT_LARGER_THAN_ANY_NODE);
    CHECK(verdicts_find(verdicts, job + 1, &n) == NULL);
    CHECK(verdicts_revision(verdicts) >= job);
    verdicts_unref(verdicts);
    stage_close(&stage);
}

/* Of jobs that come right after a list of verdicts, the next list tells, though nothing else
 * comes. */
TEST(cycle_leaves_verdicts_on_jobs_alike)
{
    struct verdicts *verdicts;
    struct stage stage;
    uint64_t jobs[4];

    stage_open(&stage);
    stage_join(&stage);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        jobs[i] = scene_submit(&stage.scene, "{\"name\":\"big\",\"image\":\"dir:/i\","
                                             "\"resources\":{\"cpu\":64}}");
        if (i == 0) {
            await_verdict(&stage, jobs[0], &verdicts);
            verdicts_unref(verdicts);
        }
    }
    for (size_t i = COUNT_OF(jobs); i-- > 0;) {
        const struct berth_verdict *verdict = await_verdict(&stage, jobs[i], &verdicts);
        CHECK_EQ(verdict->reason->code, WAIT_LARGER_THAN_ANY_NODE);
        verdicts_unref(verdicts);
    }
    stage_close(&stage);
}

TEST(cycle_gives_a_job_up_at_its_deadline)
{
    struct cycle_metrics metrics;
    struct stage stage;
    uint64_t job;

    stage_open(&stage);
    job =
        scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\",\"deadline\":\"200ms\"}");
    while (!job_is_over(scene_job_state(&stage.scene, job)))
        look_again();
    CHECK_EQ(scene_job_state(&stage.scene, job), JOB_FAILED);
    do
        cycle_metrics(stage.cycle, &metrics);
    while (!metrics.failed);
    CHECK_EQ(metrics.failed, 1);
    stage_close(&stage);
}

/* ---- who decides ---- */

TEST(cycle_decides_only_with_a_fence)
{
    char attempt[NAME_ATTEMPT_SIZE];
    struct cycle_metrics metrics;
    struct stage stage;
    uint64_t job;

    stage_open_with(&stage, NULL);
    stage_join(&stage);
    job = scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\"}");
    for (cycle_metrics(stage.cycle, &metrics); metrics.revision < job; look_again())
        cycle_metrics(stage.cycle, &metrics); /* it follows */
    CHECK_EQ(metrics.cycles, 0);
    stage_lead(&stage);
    expect_some(&stage.agent, "start", attempt);
    stage_close(&stage);
}

TEST(cycle_stops_deciding_when_its_fence_is_old)
{
    struct cycle_metrics metrics;
    char attempt[NAME_ATTEMPT_SIZE];
    struct stage stage;
    uint64_t fence;

    stage_open_with(&stage, NULL);
    stage_join(&stage);
    fence = scene_take_lease(&stage.scene);
    cycle_lead(stage.cycle, fence + 1); /* not what the ledger has */
    scene_submit(&stage.scene, "{\"name\":\"a\",\"image\":\"dir:/i\"}");
    for (cycle_metrics(stage.cycle, &metrics); !metrics.refused; look_again())
        cycle_metrics(stage.cycle, &metrics);
    CHECK_EQ(cycle_fence(stage.cycle), 0); /* refused once: enough */
    cycle_lead(stage.cycle, fence);
    expect_some(&stage.agent, "start", attempt);
    stage_close(&stage);
}

TEST(cycle_refuses_a_configuration_that_names_what_is_not)
{
    struct berth_config config = { .profile = "nobody" };
    struct cycle_options options = { .from = { .config = &config } };
    struct cycle *cycle = NULL;
    struct err err = { 0 };
    struct scene scene;

    scene_open(&scene, "memory:", NULL);
    options.ledger = scene.ledger;
    CHECK(cycle_open(&options, &cycle, &err) < 0);
    CHECK(strstr(err.text, "profile") != NULL);
    scene_start(&scene);
    scene_close(&scene);
}

/* ---- many ---- */

static void on_submitted(struct op *op, void *arg)
{
    (void)arg;
    op_free(op);
}

TEST(cycle_binds_a_backlog_in_rounds)
{
    enum { N = 600 };
    struct cycle_options options = { .max_tasks = 100 };
    struct cycle_metrics metrics;
    struct op *ops[N];
    struct stage stage;
    size_t n_bound = 0;

    stage_open_with(&stage, &options);
    stage_join(&stage);
    for (size_t i = 0; i < N; i++) {
        struct problem problem = { 0 };
        json_t *object = json_loads("{\"name\":\"a\",\"image\":\"dir:/i\"}", 0, NULL);

        ops[i] = op_new(OP_SUBMIT, on_submitted, NULL);
        ops[i]->submit.user = text_copy("ann");
        CHECK_EQ(job_spec_from_json(object, NULL, &ops[i]->submit.spec, &problem), 0);
        json_decref(object);
    }
    ledger_send_all(stage.scene.ledger, ops, N);
    stage_lead(&stage);
    while (n_bound < N) {
        json_decref(agent_line(&stage.agent));
        n_bound++;
    }
    cycle_metrics(stage.cycle, &metrics);
    CHECK(metrics.placed >= N - 100); /* the last round's answers may be on their way */
    CHECK(metrics.limited >= 5);
    CHECK_EQ(metrics.refused, 0);
    stage_close(&stage);
}

/* ---- quotas and caps ---- */

static const char evicted[] = "\"state\":\"ended\",\"cause\":\"EVICTED\",\"signal\":15";

static void tell_quota(struct stage *stage, const struct feed_engine_from *from)
{
    struct reader *reader;
    struct err err = { 0 };

    CHECK_OK(reader_open(stage->scene.ledger, &reader, &err), &err);
    CHECK_OK(quotas_write(stage->scene.ledger, reader, from, &err), &err);
    reader_close(reader);
}

static uint64_t submit_core(struct stage *stage, int priority)
{
    CLEANUP(freep)
    char *text = text_format("{\"name\":\"a\",\"image\":\"dir:/i\","
                             "\"priority\":%d,\"resources\":{\"cpu\":1}}",
                             priority);

    return scene_submit(&stage->scene, text);
}

static void start_next(struct stage *stage, char attempt[NAME_ATTEMPT_SIZE])
{
    expect_some(&stage->agent, "start", attempt);
    CHECK_TEXT(agent_ack(&stage->agent, attempt), "");
    CHECK_TEXT(agent_report(&stage->agent, attempt, AGENT_RUNNING), "");
}

/* Until the cycle has decided on a job, which is submitted here and waits. */
static void decide(struct stage *stage)
{
    uint64_t job = submit_core(stage, 0);
    struct verdicts *verdicts;
    const struct berth_verdict *verdict = await_verdict(stage, job, &verdicts);

    CHECK_EQ(verdict->reason->code, WAIT_OVER_CAP);
    verdicts_unref(verdicts);
    scene_cancel(&stage->scene, job);
}

/* Where two may run: who is being stopped counts, as the ledger would refuse who comes too early. */
static void play_two(struct stage *stage)
{
    enum { N = 8 };
    char attempts[N][NAME_ATTEMPT_SIZE], victim[NAME_ATTEMPT_SIZE];
    struct cycle_metrics metrics;
    uint64_t jobs[N];

    stage_join(stage);
    for (size_t i = 0; i < N; i++)
        jobs[i] = submit_core(stage, 1);
    stage_lead(stage);
    start_next(stage, attempts[0]);
    for (size_t i = 0; i + 1 < N; i++) { /* two run; one of them goes, the next comes */
        start_next(stage, attempts[i + 1]);
        scene_cancel(&stage->scene, jobs[i]);
        json_decref(agent_expect(&stage->agent, "stop", attempts[i]));
        decide(stage);
        CHECK_TEXT(agent_report(&stage->agent, attempts[i], evicted), "");
    }
    /* The room of the other is free. Of these two one takes it, and the urgent one evicts. */
    submit_core(stage, 1);
    start_next(stage, attempts[0]);
    submit_core(stage, 9);
    expect_some(&stage->agent, "stop", victim);
    decide(stage);
    CHECK_TEXT(agent_report(&stage->agent, victim, evicted), "");
    start_next(stage, victim);
    decide(stage);
    cycle_metrics(stage->cycle, &metrics);
    CHECK_EQ(metrics.refused, 0);
}

TEST(cycle_decides_nothing_that_a_quota_would_refuse)
{
    static struct berth_amount cores[] = { { "cpu", 2000 }, { "pods", 3000 } };
    static struct berth_quota quota = { .name = "q",
                                        .namespace_ = "default",
                                        .hard = { cores, 2 } };
    struct berth_delta object = { .kind = BERTH_QUOTA, .quota = &quota };
    struct cycle_options options = { .from = { .objects = &object, .n_objects = 1 } };
    struct stage stage;

    stage_open_with(&stage, &options);
    tell_quota(&stage, &options.from);
    play_two(&stage);
    stage_close(&stage);
}

TEST(cycle_decides_nothing_that_a_cap_would_refuse)
{
    static const struct {
        const char *name, *spec;
    } rows[] = {
        { "of cores", "{\"cap\":{\"cpu\":2000}}" },
        { "of tasks", "{\"cap\":{\"pods\":2000}}" },
    };

    ROW_EACH (c, rows) {
        struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);
        struct stage stage;

        op->queue_put.name = text_copy("default");
        op->queue_put.parent = text_copy("root");
        op->queue_put.spec = text_copy(c->spec);
        op->queue_put.by = text_copy("ann");
        stage_open_with(&stage, NULL);
        scene_ask(&stage.scene, op);
        CHECK_EQ(op->problem.code, PROBLEM_NONE);
        op_free(op);
        play_two(&stage);
        stage_close(&stage);
    }
}

/* ---- room that others make ---- */

/* A job that fills the node, running; its attempt. */
static uint64_t fill(struct stage *stage, char attempt[NAME_ATTEMPT_SIZE])
{
    uint64_t job =
        scene_submit(&stage->scene, "{\"name\":\"low\",\"image\":\"dir:/i\",\"priority\":1,"
                                    "\"grace\":\"7s\",\"resources\":{\"cpu\":8}}");

    expect_some(&stage->agent, "start", attempt);
    CHECK_TEXT(agent_ack(&stage->agent, attempt), "");
    CHECK_TEXT(agent_report(&stage->agent, attempt, AGENT_RUNNING), "");
    return job;
}

static const char urgent[] = "{\"name\":\"high\",\"image\":\"dir:/i\",\"priority\":9,"
                             "\"resources\":{\"cpu\":2}}";

TEST(cycle_evicts_for_the_urgent_and_lets_nobody_else_in)
{
    char victim[NAME_ATTEMPT_SIZE], attempt[NAME_ATTEMPT_SIZE], name[NAME_ATTEMPT_SIZE];
    uint64_t low, high, small;
    struct cycle_metrics metrics;
    struct stage stage;
    json_t *line;

    stage_open(&stage);
    stage_join(&stage);
    low = fill(&stage, victim);
    high = scene_submit(&stage.scene, urgent);
    line = agent_expect(&stage.agent, "stop", victim);
    CHECK_EQ(json_integer_value(json_object_get(line, "graceMs")), 7000);
    json_decref(line);
    /* More room than the urgent one needs comes free, but what it needs is held for it. */
    small = scene_submit(&stage.scene, "{\"name\":\"small\",\"image\":\"dir:/i\","
                                       "\"priority\":5,\"resources\":{\"cpu\":7}}");
    CHECK_TEXT(agent_report(&stage.agent, victim, evicted), "");
    expect_some(&stage.agent, "start", attempt);
    name_attempt(high, "task", 0, 1, name);
    CHECK_TEXT(attempt, name);
    run_to_end(&stage.agent, attempt, AGENT_ENDED);
    CHECK_EQ(scene_job_state(&stage.scene, high), JOB_SUCCEEDED);
    /* Then they come by rank, the victim again. */
    expect_some(&stage.agent, "start", attempt);
    name_attempt(small, "task", 0, 1, name);
    CHECK_TEXT(attempt, name);
    run_to_end(&stage.agent, attempt, AGENT_ENDED);
    expect_some(&stage.agent, "start", attempt);
    name_attempt(low, "task", 0, 2, name);
    CHECK_TEXT(attempt, name);
    cycle_metrics(stage.cycle, &metrics);
    CHECK_EQ(metrics.evicted, 1);
    stage_close(&stage);
}

TEST(cycle_ends_what_it_holds_with_its_owner)
{
    char victim[NAME_ATTEMPT_SIZE], attempt[NAME_ATTEMPT_SIZE], name[NAME_ATTEMPT_SIZE];
    uint64_t low, high;
    struct stage stage;

    stage_open(&stage);
    stage_join(&stage);
    low = fill(&stage, victim);
    high = scene_submit(&stage.scene, urgent);
    json_decref(agent_expect(&stage.agent, "stop", victim));
    scene_cancel(&stage.scene, high);
    CHECK_TEXT(agent_report(&stage.agent, victim, evicted), "");
    expect_some(&stage.agent, "start", attempt); /* nobody wants its room: it comes back itself */
    name_attempt(low, "task", 0, 2, name);
    CHECK_TEXT(attempt, name);
    stage_close(&stage);
}

#include "base/test.h"

#include <jansson.h>

#include "server/feed.h"
#include "server/feed_engine.h"

/* Rows own their texts, so these are not constants. */
static char n1[] = "n1", train[] = "train", brace[] = "{", prod[] = "prod", root[] = "";
static char offers[] = "{\"cpu\":8000,\"memory\":1024}";
static char labels[] =
    "{\"disk\":\"nvme\",\"berth/node-group\":\"g1\","
    "\"berth/pool\":\"spot\",\"capability/image\":\"2.1\",\"berth/weight\":\"-7\"}";
static char taints[] = "[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"PreferNoSchedule\"}]";
static char share_text[] =
    "{\"weight\":3,\"cap\":{\"cpu\":\"12\"},\"deserved\":{},\"minRuntime\":90000,"
    "\"preemption\":\"never\",\"hierarchy\":\"root/eng\",\"hierarchyWeights\":\"100/50\","
    "\"nodeGroupAffinity\":{\"required\":[\"g1\",\"g2\"],\"preferred\":[\"g2\"]},"
    "\"nodeGroupAntiAffinity\":{\"required\":[\"g3\"]},\"nodeGroupLimits\":{\"g1\":{\"cpu\":3000}}"
    "}";

/* Canonical texts, made by the reader that the server uses. */
static char *spec_of(const char *text)
{
    struct problem problem = { 0 };
    struct job_spec *spec = NULL;
    char *canonical;
    json_t *object = json_loads(text, 0, NULL);

    CHECK_EQ(job_spec_from_json(object, NULL, &spec, &problem), 0);
    json_decref(object);
    canonical = job_spec_to_text(spec, NULL);
    job_spec_free(spec);
    return canonical;
}

static const char pair_text[] =
    "{\"name\":\"train\",\"limit\":\"1h\",\"minAvailable\":2,\"priority\":7,\"groups\":["
    "{\"name\":\"lead\",\"image\":\"dir:/i\",\"resources\":{\"cpu\":2,\"memory\":\"1Gi\"}},"
    "{\"name\":\"worker\",\"replicas\":3,\"minAvailable\":1,\"image\":\"dir:/i\","
    "\"nodeSelector\":{\"disk\":\"nvme\"},"
    "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"}]}]}";

/* A feed and what its last batch gave. */
struct fixture {
    struct feed *feed;
    struct arena arena;
    struct feed_deltas deltas;
    char *spec;
    struct row_job job;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){ .feed = feed_new(NULL, NULL), .spec = spec_of(pair_text) };
    f->job = (struct row_job){
        .id = 12, .name = train, .spec = f->spec, .version = 3, .priority = 7, .submitted_at = 1000
    };
}

static void fixture_fini(struct fixture *f)
{
    feed_free(f->feed);
    arena_fini(&f->arena);
    VEC_FINI(&f->deltas);
    free(f->spec);
}

static void feed_events(struct fixture *f, const struct batch_event *events, size_t n, bool is_base)
{
    struct batch batch = { .is_base = is_base, .revision = 5, .events = events, .n_events = n };

    f->deltas.n = 0;
    feed_batch(f->feed, &batch, &f->arena, &f->deltas);
}

static void feed_row(struct fixture *f, enum row_kind kind, const void *row)
{
    struct batch_event event = { .rev = 5, .at = 5000, .kind = kind, .row.any = row };

    feed_events(f, &event, 1, false);
}

static const struct {
    const char *name, *image, *folder; /* folder: what the engine hears of it */
} images[] = {
    { "below a folder", "dir:/srv/images/a", "/srv/images" },
    { "the folder itself, with a tag", "oci:/srv/images:v1", "/srv/images" },
    { "below the longer of two", "oci:/srv/images/team/b", "/srv/images/team/" },
    { "a folder that only begins alike", "dir:/srv/images2/a", "/" },
    { "elsewhere", "dir:/opt/a", "/" },
};

TEST(feed_tells_which_folder_an_image_lies_in)
{
    static char none[] = "", folders[] = "[\"/srv/images\",\"/srv/images/team/\"]";

    ROW_EACH (c, images) {
        struct fixture f;
        struct row_node node = {
            .name = n1, .seq = 3, .state = NODE_READY, .facts = 4, .disabled = none
        };
        CLEANUP(freep)
        char *text = text_format("{\"name\":\"t\",\"image\":\"%s\"}", c->image);

        fixture_init(&f);
        free(f.spec);
        f.job.spec = f.spec = spec_of(text);
        feed_row(&f, ROW_JOB, &f.job);
        CHECK(!f.deltas.at[0].job->groups[0].image); /* no node bounds its images */
        feed_row(&f, ROW_NODE, &node);
        CHECK_EQ(f.deltas.n, 1);
        node.images = folders;
        feed_row(&f, ROW_NODE, &node);
        CHECK_EQ(f.deltas.n, 2);
        CHECK_EQ(f.deltas.at[0].node->image_folders.n, 2);
        CHECK_EQ(f.deltas.at[1].kind, BERTH_JOB);
        CHECK_TEXT(f.deltas.at[1].job->groups[0].image, c->folder);
        feed_row(&f, ROW_NODE, &node); /* the same folders again: no word of the job */
        CHECK_EQ(f.deltas.n, 1);
        fixture_fini(&f);
    }
}

TEST(feed_tells_of_a_job_once)
{
    struct fixture f;
    const struct berth_job *job;

    fixture_init(&f);
    feed_row(&f, ROW_JOB, &f.job);
    CHECK_EQ(f.deltas.n, 1);
    CHECK_EQ(f.deltas.at[0].kind, BERTH_JOB);
    job = f.deltas.at[0].job;
    CHECK_TEXT(job->id, "j-12");
    CHECK_EQ(job->seq, 12);
    CHECK_EQ(job->version, 3);
    CHECK_EQ(job->priority, 7);
    CHECK_EQ(job->min_available, 2);
    CHECK_EQ(job->limit_ms, 3600000);
    CHECK_EQ(job->phase, BERTH_PHASE_PENDING);
    CHECK_EQ(job->n_groups, 2);
    CHECK_EQ(job->n_minima, 1);
    CHECK_TEXT(job->minima[0].role, "worker");
    CHECK_EQ(job->groups[0].asks.n, 2);
    CHECK_TEXT(job->groups[0].asks.at[0].name, "cpu");
    CHECK_EQ(job->groups[0].asks.at[0].value, 2000);
    CHECK_EQ(job->groups[0].asks.at[1].value, (int64_t)1 << 30);
    CHECK_EQ(job->groups[1].replicas, 3);
    CHECK_TEXT(job->groups[1].node_selector.at[0].value, "nvme");
    CHECK(job->groups[1].tolerations[0].exists);
    CHECK(!job->groups[1].tolerations[0].all_effects);
    CHECK_EQ(job->groups[1].tolerations[0].effect, BERTH_NO_EXECUTE);

    f.job.n_running = 1; /* counts are not the engine's */
    feed_row(&f, ROW_JOB, &f.job);
    CHECK_EQ(f.deltas.n, 0);
    fixture_fini(&f);
}

static const struct {
    const char *name;
    struct row_job row; /* state, flags and version are taken */
    enum berth_phase phase;
    enum wait_code withheld;
    bool stopping;
    int64_t admitted_at;
} phases[] = {
    { "admitted waits in queue",
      { .is_admitted = 1, .version = 4 },
      BERTH_PHASE_INQUEUE,
      WAIT_NONE,
      false,
      5000 },
    { "held", { .is_held = 1, .version = 4 }, BERTH_PHASE_PENDING, WAIT_HELD, false, 0 },
    { "suspended",
      { .is_suspended = 1, .version = 4 },
      BERTH_PHASE_PENDING,
      WAIT_SUSPENDED,
      false,
      0 },
    { "running",
      { .state = JOB_RUNNING, .is_admitted = 1, .version = 4 },
      BERTH_PHASE_RUNNING,
      WAIT_NONE,
      false,
      0 },
    { "degraded",
      { .state = JOB_RUNNING, .is_degraded = 1 },
      BERTH_PHASE_UNKNOWN,
      WAIT_NONE,
      false,
      0 },
    { "stopping", { .state = JOB_STOPPING }, BERTH_PHASE_RUNNING, WAIT_NONE, true, 0 },
};

static int64_t least_of(const struct berth_job *job, const char *resource)
{
    for (size_t i = 0; i < job->min_resources.n; i++)
        if (text_eq(job->min_resources.at[i].name, resource))
            return job->min_resources.at[i].value;
    return -1;
}

static const struct {
    const char *name, *profile;
    bool asks;
} admissions[] = {
    { "the default admits without asking", "berth", false },
    { "overcommit and proportion vote", "volcano", true },
    { "no action admits", "ledger", false },
};

TEST(feed_states_what_the_least_members_need_where_admission_is_asked_for)
{
    static char spec[] =
        "{\"name\":\"train\",\"minAvailable\":4,\"groups\":["
        "{\"name\":\"a\",\"replicas\":2,\"image\":\"dir:/i\",\"resources\":{\"cpu\":2}},"
        "{\"name\":\"b\",\"replicas\":9,\"image\":\"dir:/"
        "i\",\"minAvailable\":1,\"resources\":{\"cpu\":1}}]}";

    ROW_EACH (c, admissions) {
        struct berth_engine *engine = NULL;
        struct fixture f;
        struct err err = { 0 };

        fixture_init(&f);
        CHECK_OK(
            feed_engine_make(&(struct feed_engine_from){ .config = berth_profile_find(c->profile) },
                             &engine, &err),
            &err);
        CHECK_EQ(berth_engine_asks_admission(engine), c->asks);
        feed_free(f.feed);
        f.feed = feed_new(NULL, engine);
        free(f.spec);
        f.job.spec = f.spec = spec_of(spec);
        feed_row(&f, ROW_JOB, &f.job);
        CHECK_EQ(f.deltas.at[0].job->has_min_resources, c->asks);
        /* One b, and of the three more two a before another b. */
        CHECK_EQ(least_of(f.deltas.at[0].job, "cpu"), c->asks ? 6000 : -1);
        berth_engine_free(engine);
        fixture_fini(&f);
    }
}

TEST(feed_says_how_far_a_job_came)
{
    ROW_EACH (c, phases) {
        struct fixture f;

        fixture_init(&f);
        f.job.state = c->row.state;
        f.job.is_admitted = c->row.is_admitted;
        f.job.is_held = c->row.is_held;
        f.job.is_suspended = c->row.is_suspended;
        f.job.is_degraded = c->row.is_degraded;
        feed_row(&f, ROW_JOB, &f.job);
        CHECK_EQ(f.deltas.n, 1);
        CHECK_EQ(f.deltas.at[0].job->phase, c->phase);
        CHECK_EQ(f.deltas.at[0].job->withheld, c->withheld);
        CHECK_EQ(f.deltas.at[0].job->stopping, c->stopping);
        CHECK_EQ(f.deltas.at[0].job->admitted_at_ms, c->admitted_at);
        fixture_fini(&f);
    }
}

static const struct {
    const char *name;
    struct row_attempt row;
    enum berth_task_state state;
    bool has_node;
    int64_t started_at, limit_at, not_before;
} attempts[] = {
    { "bound", { .state = ATTEMPT_BOUND }, BERTH_TASK_BOUND, true, 0, 0, 0 },
    { "starting holds its room", { .state = ATTEMPT_STARTING }, BERTH_TASK_BOUND, true, 0, 0, 0 },
    { "running has a limit",
      { .state = ATTEMPT_RUNNING, .started_at = 9 },
      BERTH_TASK_RUNNING,
      true,
      9,
      3600009,
      0 },
    { "stopping",
      { .state = ATTEMPT_STOPPING, .started_at = 9 },
      BERTH_TASK_RELEASING,
      true,
      9,
      3600009,
      0 },
    { "ended, again",
      { .state = ATTEMPT_ENDED, .then = THEN_AGAIN, .not_before = 77, .started_at = 9 },
      BERTH_TASK_PENDING,
      false,
      0,
      0,
      77 },
    { "succeeded",
      { .state = ATTEMPT_ENDED, .then = THEN_SUCCEEDED },
      BERTH_TASK_SUCCEEDED,
      false,
      0,
      0,
      0 },
    { "failed",
      { .state = ATTEMPT_ENDED, .then = THEN_FAILED, .not_before = 3 },
      BERTH_TASK_FAILED,
      false,
      0,
      0,
      0 },
    { "cancelled",
      { .state = ATTEMPT_ENDED, .then = THEN_CANCELLED },
      BERTH_TASK_CANCELLED,
      false,
      0,
      0,
      0 },
};

TEST(feed_says_what_an_attempt_makes_of_its_task)
{
    ROW_EACH (c, attempts) {
        struct row_attempt row = c->row;
        struct fixture f;
        const struct berth_task *task;

        fixture_init(&f);
        row.job = 12;
        row.grp = 1;
        row.idx = 2;
        row.number = 3;
        row.tries = 2;
        row.evictions = 1;
        row.rev = 40;
        row.node = n1;
        feed_row(&f, ROW_JOB, &f.job);
        feed_row(&f, ROW_ATTEMPT, &row);
        CHECK_EQ(f.deltas.n, 1);
        task = f.deltas.at[0].task;
        CHECK_TEXT(task->job, "j-12");
        CHECK_TEXT(task->group, "worker");
        CHECK_EQ(task->index, 2);
        CHECK_EQ(task->attempt, 3);
        CHECK_EQ(task->version, 40);
        CHECK_EQ(task->state, c->state);
        CHECK_TEXT(task->node, c->has_node ? "n1" : NULL);
        CHECK_EQ(task->started_at_ms, c->started_at);
        CHECK_EQ(task->limit_at_ms, c->limit_at);
        CHECK_EQ(task->not_before_ms, c->not_before);
        CHECK_EQ(task->tries, 2);
        CHECK_EQ(task->evictions, 1);
        fixture_fini(&f);
    }
}

TEST(feed_ends_the_tasks_it_told_of_with_their_job)
{
    struct row_attempt row = { .job = 12, .grp = 1, .idx = 1, .number = 1, .node = n1 };
    struct row_task task = { .job = 12, .grp = 0, .idx = 0, .state = TASK_FAILED };
    struct fixture f;

    fixture_init(&f);
    feed_row(&f, ROW_JOB, &f.job);
    feed_row(&f, ROW_ATTEMPT, &row);
    feed_row(&f, ROW_TASK, &task);
    CHECK_EQ(f.deltas.at[0].task->state, BERTH_TASK_FAILED);
    f.job.state = JOB_FAILED;
    feed_row(&f, ROW_JOB, &f.job);
    CHECK_EQ(f.deltas.n, 3);
    CHECK(f.deltas.at[0].end && f.deltas.at[1].end && f.deltas.at[2].end);
    CHECK_TEXT(f.deltas.at[0].task->group, "lead");
    CHECK_TEXT(f.deltas.at[1].task->group, "worker");
    CHECK_EQ(f.deltas.at[1].task->index, 1);
    CHECK_EQ(f.deltas.at[2].kind, BERTH_JOB);
    CHECK(feed_job(f.feed, 12) == NULL);
    feed_row(&f, ROW_JOB, &f.job); /* over, and never heard of */
    CHECK_EQ(f.deltas.n, 0);
    fixture_fini(&f);
}

TEST(feed_heeds_only_a_tasks_last_attempt)
{
    struct row_attempt second = { .job = 12, .grp = 0, .number = 2, .node = n1 };
    struct row_attempt first = { .job = 12, .grp = 0, .number = 1, .state = ATTEMPT_ENDED };
    struct fixture f;

    fixture_init(&f);
    feed_row(&f, ROW_JOB, &f.job);
    feed_row(&f, ROW_ATTEMPT, &second);
    CHECK_EQ(f.deltas.n, 1);
    feed_row(&f, ROW_ATTEMPT, &first);
    CHECK_EQ(f.deltas.n, 0);
    fixture_fini(&f);
}

TEST(feed_leaves_out_what_points_nowhere)
{
    struct row_attempt no_job = { .job = 9, .number = 1, .node = n1 };
    struct row_attempt no_group = { .job = 12, .grp = 2, .number = 1, .node = n1 };
    struct row_attempt no_index = { .job = 12, .grp = 1, .idx = 3, .number = 1, .node = n1 };
    struct row_job broken = { .id = 13, .spec = brace };
    struct fixture f;

    fixture_init(&f);
    feed_row(&f, ROW_JOB, &f.job);
    feed_row(&f, ROW_ATTEMPT, &no_job);
    CHECK_EQ(f.deltas.n, 0);
    feed_row(&f, ROW_ATTEMPT, &no_group);
    CHECK_EQ(f.deltas.n, 0);
    feed_row(&f, ROW_ATTEMPT, &no_index);
    CHECK_EQ(f.deltas.n, 0);
    feed_row(&f, ROW_JOB, &broken);
    CHECK_EQ(f.deltas.n, 0);
    CHECK(feed_job(f.feed, 13) == NULL);
    broken.state = JOB_CANCELLED;
    feed_row(&f, ROW_JOB, &broken);
    CHECK_EQ(f.deltas.n, 0);
    fixture_fini(&f);
}

TEST(feed_keeps_two_specifications_of_one_batch_apart)
{
    char *later =
        spec_of("{\"name\":\"other\",\"priority\":9,\"groups\":[{\"name\":\"lead\",\"image\":"
                "\"dir:/i\"},{\"name\":\"worker\",\"replicas\":3,\"image\":\"dir:/i\"}]}");
    struct fixture f;
    struct row_job changed;
    struct batch_event events[2];

    fixture_init(&f);
    changed = f.job;
    changed.spec = later;
    changed.version++;
    events[0] = (struct batch_event){ .kind = ROW_JOB, .row.job = &f.job };
    events[1] = (struct batch_event){ .kind = ROW_JOB, .row.job = &changed };
    feed_events(&f, events, 2, false);
    CHECK_EQ(f.deltas.n, 2);
    CHECK_TEXT(f.deltas.at[0].job->name, "train"); /* still readable */
    CHECK_TEXT(f.deltas.at[1].job->name, "other");
    fixture_fini(&f);
    free(later);
}

TEST(feed_tells_of_nodes_and_queues)
{
    static char full[] = "disk full";
    struct row_node node = { .name = n1,
                             .seq = 4,
                             .state = NODE_READY,
                             .disabled = full,
                             .generation = 2,
                             .facts = 6,
                             .offers = offers,
                             .labels = labels,
                             .taints = taints };
    struct row_queue queue = {
        .name = prod, .seq = 2, .parent = root, .state = QUEUE_DRAINING, .spec = share_text
    };
    struct fixture f;
    const struct berth_node *told;
    const struct berth_queue *share;

    fixture_init(&f);
    feed_row(&f, ROW_NODE, &node);
    CHECK_EQ(f.deltas.n, 1);
    told = f.deltas.at[0].node;
    CHECK_TEXT(told->id, "n1");
    CHECK_EQ(told->facts, 6);
    CHECK(told->cordoned);
    CHECK_EQ(told->offers.n, 2);
    CHECK_EQ(told->offers.at[0].value, 8000);
    CHECK_TEXT(told->labels.at[0].key, "disk");
    CHECK_TEXT(told->node_group, "g1");
    CHECK_TEXT(told->pool, "spot");
    CHECK_EQ(told->weight, -7);
    CHECK_EQ(told->capabilities.n, 1);
    CHECK_TEXT(told->capabilities.at[0], "image@2.1");
    CHECK_EQ(told->taints[0].effect, BERTH_PREFER_NO_SCHEDULE);
    node.state = NODE_GONE;
    feed_row(&f, ROW_NODE, &node);
    CHECK(f.deltas.at[0].end);

    feed_row(&f, ROW_QUEUE, &queue);
    share = f.deltas.at[0].queue;
    CHECK_TEXT(share->parent, NULL);
    CHECK_EQ(share->weight, 3);
    CHECK_EQ(share->state, QUEUE_DRAINING);
    CHECK_EQ(share->capability.at[0].value, 12000);
    CHECK(share->has_deserved);
    CHECK_EQ(share->min_runtime_ms, 90000);
    CHECK(share->never_preempts);
    CHECK_TEXT(share->hierarchy, "root/eng");
    CHECK_TEXT(share->hierarchy_weights, "100/50");
    CHECK_EQ(share->group_required.n, 2);
    CHECK_TEXT(share->group_required.at[1], "g2");
    CHECK_EQ(share->group_preferred.n, 1);
    CHECK_TEXT(share->group_anti_required.at[0], "g3");
    CHECK_EQ(share->group_anti_preferred.n, 0);
    CHECK_EQ(share->n_group_limits, 1);
    CHECK_TEXT(share->group_limits[0].node_group, "g1");
    CHECK_EQ(share->group_limits[0].limit.at[0].value, 3000);
    fixture_fini(&f);
}

TEST(feed_finds_the_first_task_that_waits)
{
    struct row_attempt lead = { .job = 12, .grp = 0, .number = 1, .node = n1 };
    struct row_attempt worker = { .job = 12, .grp = 1, .idx = 0, .number = 1, .node = n1 };
    struct berth_task_ref task;
    struct fixture f;

    fixture_init(&f);
    feed_row(&f, ROW_JOB, &f.job);
    feed_row(&f, ROW_ATTEMPT, &lead);
    feed_row(&f, ROW_ATTEMPT, &worker);
    CHECK(feed_first_waiting(f.feed, 12, &task));
    CHECK_TEXT(task.group, "worker");
    CHECK_EQ(task.index, 1);
    CHECK(!feed_first_waiting(f.feed, 13, &task));
    CHECK_EQ(feed_group_index(f.feed, 12, "worker"), 1);
    CHECK_EQ(feed_group_index(f.feed, 12, "nobody"), -1);
    CHECK_EQ(feed_job_number("j-12"), 12);
    CHECK_EQ(feed_job_number("plan"), 0);
    feed_events(&f, NULL, 0, true); /* a base forgets what was */
    CHECK(!feed_first_waiting(f.feed, 12, &task));
    fixture_fini(&f);
}

static const char wants_text[] =
    "{\"name\":\"w\",\"image\":\"dir:/i\",\"requires\":{\"cpu\":64},\"capability\":\"image@2.1\","
    "\"node\":\"n1\",\"topology\":{\"mode\":\"soft\",\"tier\":2},\"affinity\":{\"podAntiAffinity\":"
    "{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"zone\","
    "\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}}}]}}}";

TEST(feed_tells_what_a_group_wants_of_its_node)
{
    const struct berth_task_group *group;
    struct fixture f;

    fixture_init(&f);
    free(f.spec);
    f.spec = spec_of(wants_text);
    f.job.spec = f.spec;
    feed_row(&f, ROW_JOB, &f.job);
    CHECK_EQ(f.deltas.n, 1);
    group = &f.deltas.at[0].job->groups[0];
    CHECK_TEXT(group->pinned_to, "n1");
    CHECK_EQ(f.deltas.at[0].job->topology.mode, BERTH_TOPOLOGY_SOFT);
    CHECK(f.deltas.at[0].job->topology.has_tier);
    CHECK_EQ(f.deltas.at[0].job->topology.highest_tier, 2);
    CHECK_TEXT(group->capability, "image@2.1");
    CHECK_EQ(group->requires_.n, 1);
    CHECK_EQ(group->requires_.at[0].value, 64000);
    CHECK_EQ(group->affinity->n_anti_required, 1);
    CHECK_TEXT(group->affinity->anti_required[0].topology_key, "zone");
    fixture_fini(&f);
}

TEST(headroom_comes_with_the_job_and_the_engine_adds_none)
{
    static const struct berth_value said[] = {
        { .key = "memoryHeadroom", .kind = BERTH_VALUE_DOUBLE, .real = 1.5 },
        { .key = "tie", .kind = BERTH_VALUE_TEXT, .text = "spread" }
    };
    static const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                               .members = said,
                                               .n_members = 2 };
    static const struct berth_config own = { .profile = "beam", .policy = &policy };
    const struct {
        const struct berth_config *config;
        int64_t milli;
    } rows[] = { { NULL, 1000 }, { berth_profile_find("beam"), 1250 }, { &own, 1500 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct feed_engine_from from = { .config = rows[i].config };
        struct berth_engine *engine = NULL;
        struct err err = { 0 };
        int64_t milli = 0;

        CHECK_OK(feed_engine_headroom(&from, &milli, &err), &err);
        CHECK_EQ(milli, rows[i].milli);
        CHECK_OK(feed_engine_make(&from, &engine, &err), &err);
        CHECK_EQ(berth_engine_memory_headroom(engine), 1000);
        berth_engine_free(engine);
    }
}

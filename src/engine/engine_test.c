#include "engine/testing.h"

TEST(engine_binds_a_task_to_the_node_that_has_room)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 4);
    world_job(&w, "j1", 1, 1, 2);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j1/task.0>n2");
    CHECK_EQ(w.out.groups[0].parts[0].task.attempt, 1);
    CHECK_EQ(w.out.groups[0].parts[0].facts, 7);
    CHECK_TEXT(w.out.groups[0].parts[0].holds.at[0].name, "cpu");
    CHECK_EQ(w.out.groups[0].parts[0].holds.at[0].value, 2000);
    CHECK_EQ(w.out.n_verdicts, 0);
    CHECK_EQ(strlen(w.out.digest), 32);
    world_fini(&w);
}

TEST(engine_fills_the_cluster_and_says_why_the_rest_waits)
{
    struct world w;
    const struct berth_reason *reason;
    uint32_t sum = 0;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_node(&w, "n2", 4);
    world_job(&w, "j1", 5, 1, 2);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 4);
    CHECK_EQ(w.out.n_groups, 4);
    reason = world_reason(&w, "j1");
    CHECK(reason);
    CHECK_TEXT(wait_codes[reason->code].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(reason->resource, "cpu");
    CHECK_EQ(reason->asked, 2000);
    CHECK_EQ(reason->free, 0);
    CHECK_EQ(reason->limit, 4000);
    CHECK(!reason->blocker); /* no job is in its own way */
    for (size_t i = 0; i < reason->n_counts; i++)
        sum += reason->counts[i].n;
    CHECK_EQ(sum, 2);
    CHECK_EQ(w.out.verdicts[0].n_tasks, 1);
    world_fini(&w);
}

TEST(engine_starts_a_gang_whole_or_not_at_all)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    world_node(&w, "n2", 2);
    world_job(&w, "j1", 3, 3, 2);
    world_job(&w, "j2", 2, 2, 2);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j2/task.0>n1,j2/task.1>n2");
    CHECK_TEXT(world_waits(&w, "j1"), "LARGER_THAN_CLUSTER");
    CHECK_EQ(world_reason(&w, "j1")->placed, 2);
    CHECK_EQ(world_reason(&w, "j1")->needed, 3);
    world_node(&w, "n3", 2);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j1/task.0>n1,j1/task.1>n2,j1/task.2>n3");
    CHECK_TEXT(world_waits(&w, "j2"), "GANG_INCOMPLETE");
    world_fini(&w);
}

/* One job in a world of one node of 4 cores, and what is odd about it. */
static const struct {
    const char *name;
    struct berth_job job;
    struct berth_task_group group;
    int64_t cpu;
    const char *code;
} waits[] = {
    { "no such queue", { .queue = "nope" }, { 0 }, 1, "QUEUE_UNKNOWN" },
    { "no queue named", { .queue = NULL }, { 0 }, 1, "QUEUE_UNKNOWN" },
    { "closed queue", { .queue = "closed" }, { 0 }, 1, "QUEUE_CLOSED" },
    { "beneath a closed queue", { .queue = "below" }, { 0 }, 1, "QUEUE_CLOSED" },
    { "held", { .queue = "default", .withheld = WAIT_HELD }, { 0 }, 1, "HELD" },
    { "too early",
      { .queue = "default", .not_before_ms = 2000000 },
      { 0 },
      1,
      "BEFORE_START_TIME" },
    { "too large", { .queue = "default" }, { 0 }, 5, "LARGER_THAN_ANY_NODE" },
    { "label",
      { .queue = "default" },
      { .node_selector = { &(struct berth_label){ "disk", "nvme" }, 1 } },
      1,
      "LABEL_MISMATCH" },
    { "pinned elsewhere", { .queue = "default" }, { .pinned_to = "n9" }, 1, "NODE_PINNED" },
    { "version", { .queue = "default" }, { .capability = "image@2.1" }, 1, "VERSION_MISSING" },
    { "its image's folder", { .queue = "default" }, { .image = "/srv/images/a" }, 1, "" },
    { "another folder",
      { .queue = "default" },
      { .image = "/srv/images2/a" },
      1,
      "IMAGE_NOT_ALLOWED" },
    { "size of the node",
      { .queue = "default" },
      { .requires_ = { &(struct berth_amount){ "cpu", 8000 }, 1 } },
      1,
      "NODE_TOO_SMALL" },
    { "nothing odd", { .queue = "default" }, { 0 }, 1, "" },
};

TEST(engine_says_why_a_job_waits)
{
    ROW_EACH (c, waits) {
        static const char *const folder = "/srv/images/";
        struct world w;
        struct berth_job job = c->job;
        struct berth_task_group group = c->group;
        world_init(&w);
        world_queue(&w, "default");
        world_tell(&w, BERTH_QUEUE,
                   &(struct berth_queue){ .name = "closed", .state = QUEUE_CLOSED });
        world_tell(&w, BERTH_QUEUE, &(struct berth_queue){ .name = "mid", .parent = "closed" });
        world_tell(&w, BERTH_QUEUE, &(struct berth_queue){ .name = "below", .parent = "mid" });
        world_tell(&w, BERTH_NODE,
                   &(struct berth_node){ .id = "n1",
                                         .state = NODE_READY,
                                         .image_folders = { &folder, 1 },
                                         .offers = world_amounts(&w, 4, (int64_t)64 << 30) });
        group.name = "task";
        group.replicas = 1;
        group.asks = world_amounts(&w, c->cpu, 1);
        job.id = job.name = "j1";
        job.groups = &group;
        job.n_groups = 1;
        world_tell(&w, BERTH_JOB, &job);
        world_cycle(&w);
        CHECK_TEXT(world_waits(&w, "j1"), c->code);
        CHECK_EQ(w.out.counts.tasks_placed, c->code[0] ? 0 : 1);
        CHECK_EQ(w.out.wake_at_ms, job.not_before_ms ? 2000000 : BERTH_NEVER);
        world_fini(&w);
    }
}

TEST(engine_without_nodes_says_so)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_job(&w, "j1", 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "j1"), "NO_NODE_KNOWN");
    world_fini(&w);
}

TEST(engine_waits_for_the_end_of_a_back_off)
{
    struct world w;
    struct berth_task task = {
        .job = "j1", .group = "task", .attempt = 1, .tries = 1, .not_before_ms = 1005000
    };

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_job(&w, "j1", 1, 1, 1);
    world_tell(&w, BERTH_TASK, &task);
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "j1"), "RETRY_BACKOFF");
    CHECK_EQ(w.out.wake_at_ms, 1005000);
    w.in.now_ms = 1005000;
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j1/task.0>n1");
    CHECK_EQ(w.out.groups[0].parts[0].task.attempt, 2);
    world_fini(&w);
}

TEST(engine_fails_a_job_that_did_not_start_by_its_deadline)
{
    struct world w;
    const struct berth_group *group_out;
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "j1", .queue = "default", .deadline_at_ms = 1000500, .groups = &group, .n_groups = 1
    };

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 1);
    group.asks = world_amounts(&w, 2, 1);
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    CHECK_EQ(w.out.wake_at_ms, 1000500);
    w.in.now_ms = 1000500;
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "fail");
    group_out = &w.out.groups[w.out.n_groups - 1];
    CHECK_TEXT(group_out->resource, "deadline");
    CHECK_TEXT(wait_codes[group_out->code].word, "LARGER_THAN_ANY_NODE");
    world_fini(&w);
}

TEST(engine_keeps_caps_guarantees_and_quotas)
{
    struct world w;
    struct berth_amount two = { "cpu", 2000 }, three = { "cpu", 3000 };
    struct berth_queue capped = { .name = "default", .capability = { &two, 1 } };
    struct berth_queue kept = { .name = "kept", .seq = 1, .guarantee = { &three, 1 } };
    struct berth_queue open = { .name = "open", .seq = 2 };
    struct berth_task_group group = { .name = "task", .replicas = 9 };
    struct berth_job job = { .id = "j2", .queue = "open", .groups = &group, .n_groups = 1 };

    world_init(&w);
    world_tell(&w, BERTH_QUEUE, &capped);
    world_tell(&w, BERTH_QUEUE, &kept);
    world_tell(&w, BERTH_QUEUE, &open);
    world_node(&w, "n1", 10);
    world_job(&w, "j1", 3, 1, 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 2);
    CHECK_TEXT(world_waits(&w, "j1"), "OVER_CAP");
    CHECK_TEXT(world_reason(&w, "j1")->blocker, "default");
    world_accept(&w, BERTH_TASK_RUNNING);
    group.asks = world_amounts(&w, 1, 1);
    job.seq = 9;
    job.namespace_ = "ns";
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 5); /* 10, less 2 that run and 3 that are kept */
    CHECK_TEXT(world_waits(&w, "j2"), "OVER_GUARANTEE_NOT_RECLAIMABLE");
    CHECK_TEXT(world_reason(&w, "j2")->blocker, "kept");
    world_tell(&w, BERTH_QUOTA,
               &(struct berth_quota){ .name = "q", .namespace_ = "ns", .hard = { &three, 1 } });
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 3);
    CHECK_TEXT(world_waits(&w, "j2"), "OVER_CAP");
    world_fini(&w);
}

static int64_t cpu_of(const struct berth_amounts *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (text_eq(list->at[i].name, "cpu"))
            return list->at[i].value / 1000;
    return 0;
}

static const struct {
    const char *name;
    int64_t allocated, requested, demand;
    uint32_t n_running, n_pending;
    size_t n_holders;
} sums[] = {
    { "root", 4, 12, 12, 1, 1, 1 },
    { "lab", 4, 12, 12, 1, 1, 1 }, /* its own, which waits, and its child's */
    { "team", 4, 6, 6, 1, 0, 1 },
    { "other", 0, 0, 0, 0, 0, 0 },
};

TEST(engine_tells_of_a_queue_what_is_beneath_it_too)
{
    struct berth_queue root = { .name = "root" };
    struct berth_queue lab = { .name = "lab", .parent = "root", .seq = 1 };
    struct berth_queue team = { .name = "team", .parent = "lab", .seq = 2 };
    struct berth_queue other = { .name = "other", .parent = "root", .seq = 3 };
    struct berth_task_group group = { .name = "task", .replicas = 6 };
    struct berth_job job = { .id = "j1", .queue = "team", .groups = &group, .n_groups = 1 };
    struct world w;

    world_init(&w);
    world_tell(&w, BERTH_QUEUE, &root);
    world_tell(&w, BERTH_QUEUE, &lab);
    world_tell(&w, BERTH_QUEUE, &team);
    world_tell(&w, BERTH_QUEUE, &other);
    world_node(&w, "n1", 4);
    group.asks = world_amounts(&w, 1, 1);
    job.min_available = 1;
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    job.id = "j2";
    job.queue = "lab";
    job.seq = 9;
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    ROW_EACH (c, sums) {
        struct berth_holders holders;
        struct berth_queue_view view;
        struct err err = { 0 };

        CHECK_OK(berth_engine_queue(w.engine, &w.in, c->name, &w.arena, &view, &err), &err);
        CHECK_EQ(cpu_of(&view.allocated), c->allocated);
        CHECK_EQ(cpu_of(&view.requested), c->requested);
        CHECK_EQ(cpu_of(&view.demand), c->demand);
        CHECK_EQ(view.n_running, c->n_running);
        CHECK_EQ(view.n_pending, c->n_pending);
        CHECK_OK(berth_engine_queue_holders(w.engine, &w.in, c->name, "cpu", 8, &w.arena, &holders,
                                            &err),
                 &err);
        CHECK_EQ(holders.n, c->n_holders);
    }
    world_fini(&w);
}

/* What is being freed and for whom is told beside what is allocated, which has neither. */
TEST(engine_tells_of_a_queue_what_is_being_freed_and_held)
{
    struct berth_reservation_part part = { .task = { .job = "next", .group = "task" },
                                           .node = "n1" };
    struct berth_reservation held = {
        .id = "r-next", .owner = "next", .parts = &part, .n_parts = 1
    };
    struct berth_holders holders;
    struct berth_queue_view view;
    struct err err = { 0 };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_job(&w, "gone", 1, 1, 4);
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){ .job = "gone",
                                     .group = "task",
                                     .attempt = 1,
                                     .node = "n1",
                                     .state = BERTH_TASK_RELEASING });
    world_job(&w, "next", 1, 1, 3);
    world_tell(&w, BERTH_RESERVATION, &held);
    CHECK_OK(berth_engine_queue(w.engine, &w.in, "default", &w.arena, &view, &err), &err);
    CHECK_EQ(cpu_of(&view.allocated), 0);
    CHECK_EQ(cpu_of(&view.stopping), 4);
    CHECK_EQ(cpu_of(&view.held), 3);
    CHECK_OK(
        berth_engine_queue_holders(w.engine, &w.in, "default", "cpu", 8, &w.arena, &holders, &err),
        &err);
    CHECK_EQ(holders.n, 2);
    CHECK_TEXT(holders.at[0].job, "gone");
    CHECK(holders.at[0].is_leaving);
    CHECK_TEXT(holders.at[1].job, "next");
    CHECK(holders.at[1].is_promised);
    CHECK_EQ(holders.at[1].amount, 3000);
    w.in.now_ms = 5000000;
    held.until_ms = 4000000; /* over: it is let go */
    world_tell(&w, BERTH_RESERVATION, &held);
    CHECK_OK(berth_engine_queue(w.engine, &w.in, "default", &w.arena, &view, &err), &err);
    CHECK_EQ(cpu_of(&view.held), 0);
    world_fini(&w);
}

/* A namespace that has a quota, and a job of four tasks in it. */
static void limited(struct world *w, const char *resource, int64_t milli, int64_t cpu)
{
    struct berth_amount most = { resource, milli };
    struct berth_task_group group = { .name = "task", .replicas = 4 };
    struct berth_job job = {
        .id = "j1", .namespace_ = "ns", .queue = "default", .groups = &group, .n_groups = 1
    };

    world_init(w);
    world_queue(w, "default");
    world_node(w, "n1", 8);
    job.min_available = 1;
    if (cpu)
        group.asks = world_amounts(w, cpu, 1);
    world_tell(w, BERTH_JOB, &job);
    world_tell(w, BERTH_QUOTA,
               &(struct berth_quota){ .name = "q", .namespace_ = "ns", .hard = { &most, 1 } });
}

static const struct {
    const char *name, *resource;
    int64_t milli, cpu;
    uint32_t placed;
} quotas[] = {
    { "cpu", "cpu", 3000, 1, 3 },
    { "not all of it can be used", "cpu", 3999, 2, 1 },
    { "nothing at all", "cpu", 0, 1, 0 },
    { "tasks are counted", "pods", 2000, 1, 2 },
    { "those that ask for nothing, too", "pods", 3000, 0, 3 },
    { "what is not asked for", "licence", 0, 1, 4 },
};

TEST(engine_keeps_quotas_of_each_kind)
{
    ROW_EACH (c, quotas) {
        struct world w;

        limited(&w, c->resource, c->milli, c->cpu);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, c->placed);
        if (c->placed < 4) {
            CHECK_TEXT(world_waits(&w, "j1"), c->milli ? "OVER_CAP" : "LARGER_THAN_QUEUE");
            CHECK_TEXT(world_reason(&w, "j1")->blocker, "q");
            CHECK_EQ(world_reason(&w, "j1")->limit, c->milli);
        }
        world_fini(&w);
    }
}

TEST(engine_counts_for_a_quota_what_is_being_stopped)
{
    struct berth_task task = {
        .job = "j1", .group = "task", .state = BERTH_TASK_RELEASING, .attempt = 1, .node = "n1"
    };
    struct world w;

    for (int i = 0; i < 2; i++) { /* of tasks that ask for cpu, and for nothing */
        limited(&w, "pods", 2000, !i);
        world_tell(&w, BERTH_TASK, &task);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, 1);
        CHECK_TEXT(world_waits(&w, "j1"), "OVER_CAP");
        world_accept(&w, BERTH_TASK_RUNNING);
        task.state = BERTH_TASK_SUCCEEDED;
        world_tell(&w, BERTH_TASK, &task);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, 1);
        task.state = BERTH_TASK_RELEASING;
        world_fini(&w);
    }
}

TEST(engine_tells_what_is_free_beside_what_is_promised)
{
    struct berth_task_group group = { .name = "task", .replicas = 4 };
    struct berth_job job = {
        .id = "urgent", .queue = "default", .priority = 1, .min_available = 3, .n_groups = 1
    };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 7);
    world_job(&w, "low", 1, 1, 4);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    group.asks = world_amounts(&w, 2, 1);
    job.groups = &group;
    job.seq = 9;
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_evicted, 1);
    for (size_t i = 0; i < w.out.n_verdicts; i++) {
        const struct berth_reason *reason = w.out.verdicts[i].reason;
        if (reason->code != WAIT_INSUFFICIENT_CPU)
            continue;
        CHECK_EQ(reason->asked, 2000);
        CHECK_EQ(reason->free, 1000); /* three are, but six of seven are promised */
        world_fini(&w);
        return;
    }
    CHECK(!"the fourth task is told what it lacks");
}

TEST(engine_joins_what_comes_late)
{
    struct world w;
    struct berth_task task = {
        .job = "j1", .group = "task", .state = BERTH_TASK_RUNNING, .attempt = 1, .node = "n1"
    };

    world_init(&w);
    world_tell(&w, BERTH_TASK, &task);
    world_job(&w, "j1", 2, 1, 3);
    world_node(&w, "n1", 4);
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "j1"), "QUEUE_UNKNOWN");
    world_queue(&w, "default");
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "j1"), "INSUFFICIENT_CPU");
    CHECK_EQ(world_reason(&w, "j1")->free, 1000);
    world_end(&w, BERTH_TASK, &task);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 1);
    world_fini(&w);
}

TEST(engine_is_after_a_cycle_what_it_was)
{
    struct world w;
    char *before, *after;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_job(&w, "j1", 3, 1, 1);
    before = world_export(w.engine);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 3);
    after = world_export(w.engine);
    CHECK_TEXT(before, after);
    free(before);
    free(after);
    world_fini(&w);
}

TEST(engine_forgets_what_was_supposed)
{
    struct world w;
    struct berth_node node = { .id = "n2", .state = NODE_READY };
    struct berth_delta deltas[2] = { { BERTH_NODE, false, { .node = &node } },
                                     { BERTH_NODE, true, { .node = &node } } };
    struct err err = { 0 };
    char *before, *after;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 1);
    world_job(&w, "j1", 1, 1, 2);
    node.offers = world_amounts(&w, 8, 1 << 30);
    before = world_export(w.engine);
    CHECK_OK(berth_engine_suppose(w.engine, deltas, 1, &err), &err);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j1/task.0>n2");
    CHECK_OK(berth_engine_suppose(w.engine, deltas + 1, 1, &err), &err);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    berth_engine_forget(w.engine);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j1/task.0>n2");
    berth_engine_forget(w.engine);
    after = world_export(w.engine);
    CHECK_TEXT(before, after);
    free(before);
    free(after);
    world_fini(&w);
}

/* A delta that no engine could hold, and the word that its refusal must have. */
static const struct {
    const char *name;
    struct berth_delta delta;
    const char *says;
} refusals[] = {
    { "no key", { BERTH_JOB, false, { .job = &(struct berth_job){ .name = "x" } } }, "id" },
    { "negative",
      { BERTH_NODE,
        false,
        { .node = &(struct berth_node){ .id = "n",
                                        .offers = { &(struct berth_amount){ "cpu", -1 }, 1 } } } },
      "offers of cpu" },
    { "unknown action",
      { BERTH_CONFIG,
        false,
        { .config =
              &(struct berth_config){ .has_actions = true,
                                      .actions = { &(const char *const){ "alocate" }, 1 } } } },
      "/actions/0: no action alocate; did you mean allocate?" },
    { "unknown profile",
      { BERTH_CONFIG, false, { .config = &(struct berth_config){ .profile = "berht" } } },
      "/profile: no profile berht; did you mean berth?" },
};

TEST(engine_refuses_what_it_cannot_hold)
{
    ROW_EACH (c, refusals) {
        struct world w;
        struct err err = { 0 };
        world_init(&w);
        CHECK(berth_engine_apply(w.engine, &c->delta, 1, &err) < 0);
        CHECK(strstr(err.text, c->says) != NULL);
        world_fini(&w);
    }
}

TEST(engine_explains_every_node)
{
    struct world w;
    struct berth_explanation why;
    struct err err = { 0 };
    struct berth_task_ref ref = { .job = "j2", .group = "task" };

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    world_node(&w, "n2", 4);
    world_job(&w, "j1", 1, 1, 4);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_job(&w, "j2", 1, 1, 3);
    CHECK_OK(berth_engine_explain(w.engine, &w.in, &ref, &w.arena, &why, &err), &err);
    CHECK_EQ(why.n_nodes, 2);
    CHECK_TEXT(wait_codes[why.state].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(why.nodes[1].node, "n2");
    CHECK_TEXT(wait_codes[why.nodes[1].code].word, "INSUFFICIENT_CPU");
    CHECK_EQ(why.nodes[1].n_holders, 1);
    CHECK_TEXT(why.nodes[1].holders[0].job, "j1");
    CHECK_EQ(why.nodes[1].holders[0].amount, 4000);
    CHECK_EQ(why.nodes[1].free, 0);
    ref.job = "j9";
    CHECK_EQ(berth_engine_explain(w.engine, &w.in, &ref, &w.arena, &why, &err), -ENOENT);
    world_fini(&w);
}

TEST(engine_tries_one_of_many_gangs_alike_that_do_not_fit)
{
    struct world w;
    uint64_t one;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 64);
    world_job(&w, "a", 65, 65, 1);
    world_cycle(&w);
    one = w.out.counts.steps;
    for (int i = 0; i < 9; i++)
        world_job(&w, arena_format(&w.arena, "b%d", i), 65, 65, 1);
    world_job(&w, "c", 66, 66, 1);
    world_job(&w, "d", 60, 60, 1); /* needs less: it has its own try */
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 60);
    CHECK(w.out.counts.steps < 3 * one);
    CHECK_TEXT(world_waits(&w, "b8"), "LARGER_THAN_CLUSTER");
    CHECK_EQ(world_reason(&w, "b8")->placed, world_reason(&w, "a")->placed);
    CHECK_EQ(world_reason(&w, "c")->needed, 66);
    world_fini(&w);
}

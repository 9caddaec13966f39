/*
 * What would place a job: the changes that are named do, and looking for them leaves no trace.
 */
#include "engine/testing.h"

static struct berth_changes changes_of(struct world *w, const char *job, size_t most)
{
    struct berth_task_ref ref = { .job = job, .group = "task" };
    struct berth_search search = { .most = most };
    struct berth_changes changes;
    struct err err = { 0 };
    CLEANUP(freep) char *before = world_export(w->engine), *after = NULL;

    CHECK_OK(berth_engine_changes(w->engine, &w->in, &ref, &search, &w->arena, &changes, &err),
             &err);
    after = world_export(w->engine);
    CHECK_TEXT(after, before);
    return changes;
}

static const char *show(struct world *w, const struct berth_changes *changes)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < changes->n; i++) {
        const struct berth_change *c = &changes->at[i];
        str_addf(&text, "%s%s", i ? "; " : "", berth_change_words[c->kind]);
        if (c->job)
            str_addf(&text, " %s", c->job);
        if (c->node)
            str_addf(&text, " on %s", c->node);
        if (c->resource)
            str_addf(&text, " %s", c->resource);
        if (c->key)
            str_addf(&text, " %s", c->key);
        if (c->wants)
            str_addf(&text, " %s", c->wants);
        if (c->from != c->to)
            str_addf(&text, " %" PRId64 "%s>%" PRId64 "%s", c->from, c->is_percent ? "%" : "",
                     c->to, c->is_percent ? "%" : "");
        if (c->n_evicted)
            str_addf(&text, " evicting %" PRIu32, c->n_evicted);
        if (c->by_ms)
            str_addf(&text, " by %" PRId64, c->by_ms);
    }
    return arena_text(&w->arena, str_text(&text));
}

static const char *budgets_named(struct world *w, const char *job)
{
    struct berth_changes all = changes_of(w, job, 20), found = { 0 };
    struct berth_change *at = ARENA_NEW0_N(&w->arena, struct berth_change, all.n + 1);

    for (size_t i = 0; i < all.n; i++)
        if (all.at[i].kind == BERTH_CHANGE_BUDGET)
            at[found.n++] = all.at[i];
    found.at = at;
    return show(w, &found);
}

static const char *changes(struct world *w, const char *job, size_t most)
{
    struct berth_changes found = changes_of(w, job, most);

    return show(w, &found);
}

static void run_task(struct world *w, const char *job, const char *node, int64_t limit_at_ms)
{
    world_tell(w, BERTH_TASK,
               &(struct berth_task){ .job = job,
                                     .group = "task",
                                     .state = BERTH_TASK_RUNNING,
                                     .attempt = 1,
                                     .node = node,
                                     .limit_at_ms = limit_at_ms });
}

/* Four machines, as in the documents' sample: a gang of two of eight, one place and a bit. */
static void tell_morning(struct world *w)
{
    world_init(w);
    world_queue(w, "default");
    world_node(w, "a1", 8);
    world_node(w, "a2", 8);
    world_node(w, "h1", 8);
    world_node(w, "c1", 2);
    world_job(w, "eval", 1, 1, 8);
    world_job(w, "thumb", 1, 1, 1);
    run_task(w, "eval", "a2", 0);
    run_task(w, "thumb", "h1", 2000000);
    world_job(w, "train", 2, 2, 8);
}

TEST(changes_name_an_end_an_amount_and_a_minimum)
{
    struct world w;

    tell_morning(&w);
    CHECK_TEXT(changes(&w, "train", 3),
               "tasks-end thumb on h1 by 2000000; amount cpu 8000>7000; minimum 2>1");
    CHECK_TEXT(changes(&w, "train", 5),
               "tasks-end thumb on h1 by 2000000; amount cpu 8000>7000; "
               "minimum 2>1; priority 0>1 evicting 1; tasks-end eval on a2");
    CHECK_TEXT(changes(&w, "train", 1), "tasks-end thumb on h1 by 2000000");
    world_fini(&w);
}

TEST(changes_are_not_sought_for_what_is_placed)
{
    struct world w;
    struct berth_changes found;

    tell_morning(&w);
    world_job(&w, "small", 1, 1, 1);
    found = changes_of(&w, "small", 3);
    CHECK(found.is_placed);
    CHECK_EQ(found.n, 0);
    CHECK_EQ(found.n_runs, 1);
    world_fini(&w);
}

TEST(changes_end_at_their_limit)
{
    struct berth_task_ref ref = { .job = "train", .group = "task" };
    struct berth_search search = { .max_runs = 2 };
    struct berth_changes found;
    struct err err = { 0 };
    struct world w;

    tell_morning(&w);
    CHECK_OK(berth_engine_changes(w.engine, &w.in, &ref, &search, &w.arena, &found, &err), &err);
    CHECK(found.is_limited);
    CHECK_EQ(found.n_runs, 2);
    ref.job = "none";
    CHECK_EQ(berth_engine_changes(w.engine, &w.in, &ref, &search, &w.arena, &found, &err), -ENOENT);
    world_fini(&w);
}

TEST(a_label_that_nobody_has_can_be_left_out)
{
    struct berth_label labels[] = { { "disk", "nvme" }, { "zone", "a" } };
    struct berth_taint taint = { "team", "ml", BERTH_NO_SCHEDULE };
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_node node = {
        .id = "n1", .seq = 1, .state = NODE_READY, .labels = { &labels[1], 1 }
    };
    struct berth_job job = {
        .id = "j1", .seq = 9, .queue = "default", .groups = &group, .n_groups = 1
    };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    node.offers = group.asks = world_amounts(&w, 1, 1 << 20);
    group.node_selector = (struct berth_labels){ labels, 2 };
    world_tell(&w, BERTH_NODE, &node);
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "j1", 3), "label disk nvme");
    node.taints = &taint;
    node.n_taints = 1;
    group.node_selector.n = 0;
    world_tell(&w, BERTH_NODE, &node);
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "j1", 3), "toleration team=ml:NoSchedule");
    world_fini(&w);
}

TEST(a_node_may_come_back)
{
    struct berth_node node = { .id = "n1", .seq = 1, .state = NODE_READY, .cordoned = true };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    node.offers = world_amounts(&w, 4, 1 << 30);
    world_tell(&w, BERTH_NODE, &node);
    world_job(&w, "j1", 1, 1, 2);
    CHECK_TEXT(changes(&w, "j1", 3), "uncordon on n1");
    node.cordoned = false;
    node.state = NODE_UNREACHABLE;
    world_tell(&w, BERTH_NODE, &node);
    CHECK_TEXT(changes(&w, "j1", 3), "node-returns on n1");
    world_fini(&w);
}

TEST(a_held_job_can_be_released_and_a_late_one_waits_for_its_time)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "j1", .seq = 9, .queue = "default", .groups = &group, .n_groups = 1
    };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    group.asks = world_amounts(&w, 1, 1 << 20);
    job.withheld = WAIT_HELD;
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "j1", 3), "hold");
    job.withheld = WAIT_NONE;
    job.not_before_ms = w.in.now_ms + 5000;
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "j1", 3), "time by 1005000");
    world_fini(&w);
}

TEST(another_queue_may_have_room)
{
    struct berth_queue queue = { .name = "full", .seq = 5 };
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "j1", .seq = 9, .queue = "full", .groups = &group, .n_groups = 1
    };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    queue.capability = world_amounts(&w, 1, 1 << 30);
    world_tell(&w, BERTH_QUEUE, &queue);
    group.asks = world_amounts(&w, 2, 1 << 20);
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "j1", 3), "queue default");
    world_fini(&w);
}

TEST(a_priority_above_the_one_in_front_is_named)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_tell(&w, BERTH_CONFIG,
               &(struct berth_config){ .has_actions = true,
                                       .actions = { (const char *const[]){ "allocate" }, 1 } });
    world_node(&w, "n1", 4);
    world_job(&w, "j1", 1, 1, 3);
    world_job(&w, "j2", 1, 1, 4);
    CHECK_TEXT(changes(&w, "j2", 5), "priority 0>1");
    world_fini(&w);
}

/* A job with a budget that runs where a more urgent one would be. */
static const struct {
    const char *name;
    struct berth_budget budget;
    const char *expected; /* of a job that needs two of its four tasks gone */
} budgets[] = {
    { "so many may be missing",
      { true, true, false, 1 },
      "budget kept maxUnavailable 1>2 evicting 2" },
    { "none may", { true, true, false, 0 }, "budget kept maxUnavailable 0>2 evicting 2" },
    { "so many stay", { true, false, false, 3 }, "budget kept minAvailable 3>2 evicting 2" },
    { "more than there are stay",
      { true, false, false, 9 },
      "budget kept minAvailable 9>2 evicting 2" },
    { "a part may be missing",
      { true, true, true, 20 },
      "budget kept maxUnavailable 20%>26% evicting 2" },
    { "a part stays", { true, false, true, 60 }, "budget kept minAvailable 60%>50% evicting 2" },
};

TEST(a_budget_that_forbids_an_eviction_is_named)
{
    ROW_EACH (c, budgets) {
        struct berth_task_group group = { .name = "task", .replicas = 4 };
        struct berth_job job = { .id = "kept",
                                 .seq = 1,
                                 .queue = "default",
                                 .min_available = 1,
                                 .groups = &group,
                                 .n_groups = 1 };
        struct world w;

        world_init(&w);
        world_queue(&w, "default");
        world_node(&w, "n1", 4);
        group.asks = world_amounts(&w, 1, 1 << 20);
        job.budget = c->budget;
        world_tell(&w, BERTH_JOB, &job);
        world_cycle(&w);
        world_accept(&w, BERTH_TASK_RUNNING);
        job = (struct berth_job){ .id = "new",
                                  .seq = 9,
                                  .queue = "default",
                                  .priority = 100,
                                  .groups = &group,
                                  .n_groups = 1 };
        group.replicas = 1;
        group.asks = world_amounts(&w, 2, 1 << 20);
        world_tell(&w, BERTH_JOB, &job);
        CHECK_TEXT(budgets_named(&w, "new"), c->expected);
        world_fini(&w);
    }
}

/* Of many that have one, those are asked first who would go if none had. */
TEST(a_budget_is_found_among_many)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = { .queue = "default",
                             .priority = 200,
                             .budget = { .is_given = true, .value = 1 },
                             .groups = &group,
                             .n_groups = 1 };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    group.asks = world_amounts(&w, 2, 1 << 20);
    for (int i = 0; i < 12; i++) {
        world_node(&w, arena_format(&w.arena, "n%02d", i), 2);
        job.id = arena_format(&w.arena, "r%02d", i);
        job.seq = (uint64_t)i;
        job.priority = i == 10 ? 50 : 200;
        world_tell(&w, BERTH_JOB, &job);
    }
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    job = (struct berth_job){
        .id = "new", .seq = 99, .queue = "default", .priority = 100, .groups = &group, .n_groups = 1
    };
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(budgets_named(&w, "new"), "budget r10 minAvailable 1>0 evicting 1");
    world_fini(&w);
}

/* ---- the start ---- */

static struct berth_start start_of(struct world *w, const char *job, size_t max_cycles)
{
    struct berth_task_ref ref = { .job = job, .group = "task" };
    struct berth_start start;
    struct err err = { 0 };
    CLEANUP(freep) char *before = world_export(w->engine), *after = NULL;

    CHECK_OK(berth_engine_start(w->engine, &w->in, &ref, max_cycles, &w->arena, &start, &err),
             &err);
    after = world_export(w->engine);
    CHECK_TEXT(after, before);
    return start;
}

TEST(a_start_is_bound_by_the_limit_of_what_runs)
{
    struct world w;
    struct berth_start start;

    tell_morning(&w);
    start = start_of(&w, "train", 0);
    CHECK_EQ(start.latest_ms, 2000000);
    CHECK_TEXT(start.job, "thumb");
    CHECK_TEXT(start.node, "h1");
    run_task(&w, "thumb", "h1", 0);
    start = start_of(&w, "train", 0);
    CHECK_EQ(start.latest_ms, 0);
    CHECK(start.job == NULL);
    CHECK(!start.is_limited);
    world_fini(&w);
}

TEST(a_start_reckons_with_those_in_front)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "j2", .seq = 90, .queue = "default", .limit_ms = 500, .groups = &group, .n_groups = 1
    };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_job(&w, "j1", 1, 1, 4);
    run_task(&w, "j1", "n1", 1000400);
    group.asks = world_amounts(&w, 4, 1 << 20);
    world_tell(&w, BERTH_JOB, &job);
    job.id = "j3";
    job.seq = 91;
    world_tell(&w, BERTH_JOB, &job);
    CHECK_EQ(start_of(&w, "j2", 0).latest_ms, 1000400);
    CHECK_EQ(start_of(&w, "j3", 0).latest_ms, 1000900);
    CHECK_TEXT(start_of(&w, "j3", 0).job, "j2");
    CHECK(start_of(&w, "j3", 1).is_limited);
    world_fini(&w);
}

TEST(many_ends_are_taken_together_and_never_too_early)
{
    struct world w;
    struct berth_start start;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 40);
    for (int i = 0; i < 40; i++) {
        const char *id = arena_format(&w.arena, "r%d", i);
        world_job(&w, id, 1, 1, 1);
        run_task(&w, id, "n1", 1000001 + i);
    }
    world_job(&w, "wide", 1, 1, 20);
    CHECK_EQ(start_of(&w, "wide", 0).latest_ms, 1000020);
    start = start_of(&w, "wide", 6);
    CHECK(start.latest_ms >= 1000020);
    CHECK(start.latest_ms <= 1000040);
    world_fini(&w);
}

/* Who was evicted stands in front when it has ended, and runs its time out before. */
TEST(a_start_reckons_with_who_comes_back)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "gone", .seq = 1, .queue = "default", .limit_ms = 500, .groups = &group, .n_groups = 1
    };
    struct berth_task task = {
        .job = "gone", .group = "task", .state = BERTH_TASK_RELEASING, .attempt = 1, .node = "n1"
    };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    group.asks = world_amounts(&w, 4, 1 << 20);
    world_tell(&w, BERTH_JOB, &job);
    world_tell(&w, BERTH_TASK, &task);
    world_job(&w, "next", 1, 1, 4);
    CHECK_EQ(start_of(&w, "next", 0).latest_ms, 0); /* nobody knows how long it takes to stop */
    task.comes_back = true;
    world_tell(&w, BERTH_TASK, &task);
    CHECK_EQ(start_of(&w, "next", 0).latest_ms, 1000500);
    world_fini(&w);
}

/* ---- random worlds ---- */

/* Does what a change says; false for what only time does. */
static bool carry_out(struct world *w, const struct berth_change *c, struct berth_job *job,
                      struct berth_task_group *group)
{
    struct berth_amount *amounts;

    if (c->kind == BERTH_CHANGE_MINIMUM) {
        job->min_available = (uint32_t)c->to;
    } else if (c->kind == BERTH_CHANGE_PRIORITY) {
        job->priority = (int)c->to;
    } else if (c->kind == BERTH_CHANGE_LABEL) {
        group->node_selector.n = 0;
    } else if (c->kind == BERTH_CHANGE_AMOUNT) {
        amounts = (struct berth_amount *)group->asks.at;
        for (size_t i = 0; i < group->asks.n; i++)
            if (text_eq(amounts[i].name, c->resource))
                amounts[i].value = c->to;
    } else {
        return false;
    }
    world_tell(w, BERTH_JOB, job);
    return true;
}

static bool is_decided_on(const struct world *w, const char *job)
{
    for (size_t i = 0; i < w->out.n_groups; i++)
        if ((w->out.groups[i].kind == BERTH_GROUP_BIND ||
             w->out.groups[i].kind == BERTH_GROUP_EVICT) &&
            text_eq(w->out.groups[i].job, job))
            return true;
    return false;
}

static void fill(struct world *w, uint64_t *random)
{
    static const char *const sizes[] = { "small", "large" };

    world_init(w);
    world_queue(w, "default");
    for (uint64_t i = 0; i < 4; i++) {
        struct berth_label label = { "size", sizes[test_random(random) % 2] };
        struct berth_node node = { .id = arena_format(&w->arena, "n%" PRIu64, i),
                                   .seq = i,
                                   .state = NODE_READY,
                                   .labels = { &label, 1 },
                                   .offers = world_amounts(
                                       w, 2 + (int64_t)(test_random(random) % 8), 1 << 30) };
        world_tell(w, BERTH_NODE, &node);
    }
    for (uint64_t i = 0; i < 5; i++)
        world_job(w, arena_format(&w->arena, "r%" PRIu64, i),
                  1 + (uint32_t)(test_random(random) % 3), 1,
                  1 + (int64_t)(test_random(random) % 4));
    world_cycle(w);
    world_accept(w, BERTH_TASK_RUNNING);
}

TEST(what_is_named_places_the_job)
{
    uint64_t random = test_seed();
    size_t n_tried = 0;

    for (int i = 0; i < 60; i++) {
        struct berth_label label = { "size", "large" };
        struct berth_task_group group = { .name = "task", .role = "task" };
        struct berth_job job = { .id = "j", .seq = 50, .queue = "default", .n_groups = 1 };
        struct berth_changes found;
        struct world w;
        fill(&w, &random);
        group.replicas = 1 + (uint32_t)(test_random(&random) % 3);
        group.asks = world_amounts(&w, 2 + (int64_t)(test_random(&random) % 8), 1 << 20);
        group.node_selector = (struct berth_labels){ &label, test_random(&random) % 2 };
        job.groups = &group;
        job.min_available = 1 + (uint32_t)(test_random(&random) % group.replicas);
        world_tell(&w, BERTH_JOB, &job);
        found = changes_of(&w, "j", 6);
        for (size_t k = 0; k < found.n; k++) {
            struct berth_task_group changed_group = group;
            struct berth_job changed = job;
            changed.groups = &changed_group;
            changed_group.asks.at =
                arena_copy(&w.arena, group.asks.at, group.asks.n * sizeof(*group.asks.at));
            if (!carry_out(&w, &found.at[k], &changed, &changed_group))
                continue;
            n_tried++;
            world_cycle(&w);
            CHECK(is_decided_on(&w, "j"));
        }
        world_fini(&w);
    }
    CHECK(n_tried > 20);
}

/* ---- random worlds of several queues, ages, taints, nodes that are away and tasks that leave ---- */

enum { WILD_NODES = 4, WILD_TASKS = 32, WILD_OTHERS = 7 };

/* A world and what it was told, so that what a change says can be done to it. */
struct wild {
    struct world w;
    struct berth_node nodes[WILD_NODES];
    struct berth_task tasks[WILD_TASKS]; /* that hold room */
    size_t n_tasks;
    struct berth_job others[WILD_OTHERS];
    struct berth_job job; /* the one that is asked about */
    struct berth_task_group group;
    struct berth_label label;
    struct berth_taint taint;
};

static uint64_t one_of(uint64_t *random, uint64_t n)
{
    return test_random(random) % n;
}

static void wild_node(struct wild *wild, size_t i, uint64_t *random)
{
    static const char *const sizes[] = { "small", "large" };
    struct world *w = &wild->w;
    struct berth_label *label = ARENA_NEW0(&w->arena, struct berth_label);

    *label = (struct berth_label){ "size", sizes[one_of(random, 2)] };
    wild->taint = (struct berth_taint){ "team", "ml", BERTH_NO_SCHEDULE };
    wild->nodes[i] =
        (struct berth_node){ .id = arena_format(&w->arena, "n%zu", i),
                             .seq = i,
                             .state = one_of(random, 8) ? NODE_READY : NODE_UNREACHABLE,
                             .cordoned = one_of(random, 6) == 0,
                             .labels = { label, 1 },
                             .taints = &wild->taint,
                             .n_taints = one_of(random, 5) == 0,
                             .offers = world_amounts(w, 2 + (int64_t)one_of(random, 7), 1 << 30) };
    world_tell(w, BERTH_NODE, &wild->nodes[i]);
}

static struct berth_budget wild_budget(uint64_t *random, uint32_t replicas)
{
    struct berth_budget budget = { .is_given = one_of(random, 3) == 0,
                                   .is_max_unavailable = one_of(random, 2) == 0,
                                   .is_percent = one_of(random, 2) == 0 };

    budget.value =
        budget.is_max_unavailable ? (uint32_t)one_of(random, 2) : replicas - one_of(random, 2);
    if (budget.is_percent)
        budget.value = budget.value * 100 / replicas;
    return budget;
}

static struct berth_job wild_job(struct wild *wild, const char *id, uint64_t *random)
{
    static const char *const queues[] = { "default", "other" };
    struct world *w = &wild->w;
    struct berth_task_group *group = ARENA_NEW0(&w->arena, struct berth_task_group);

    *group = (struct berth_task_group){ .name = "task", .role = "task" };
    group->replicas = 1 + (uint32_t)one_of(random, 3);
    group->asks = world_amounts(w, 1 + (int64_t)one_of(random, 5), 1 << 20);
    return (struct berth_job){ .id = id,
                               .budget = wild_budget(random, group->replicas),
                               .seq = ++w->seq,
                               .queue = queues[one_of(random, 2)],
                               .priority = (int)one_of(random, 4) * (one_of(random, 2) ? 1 : 5),
                               .created_at_ms = w->in.now_ms - (int64_t)one_of(random, 12) * 600000,
                               .min_available = 1 + (uint32_t)one_of(random, group->replicas),
                               .groups = group,
                               .n_groups = 1 };
}

/* What was bound runs, since some while; some of it is being stopped, and may come back. */
static void wild_accept(struct wild *wild, uint64_t *random)
{
    struct world *w = &wild->w;

    for (size_t i = 0; i < w->out.n_groups; i++)
        for (size_t k = 0; k < w->out.groups[i].n_parts; k++) {
            const struct berth_part *part = &w->out.groups[i].parts[k];
            struct berth_task *task;
            if (part->kind != BERTH_PART_BIND || wild->n_tasks == WILD_TASKS)
                continue;
            task = &wild->tasks[wild->n_tasks++];
            *task = (struct berth_task){ .job = arena_text(&w->arena, part->task.job),
                                         .group = "task",
                                         .index = part->task.index,
                                         .attempt = part->task.attempt,
                                         .node = arena_text(&w->arena, part->node),
                                         .state = BERTH_TASK_RUNNING };
            task->started_at_ms = w->in.now_ms - (int64_t)one_of(random, 8) * 600000;
            if (one_of(random, 6) == 0)
                task->state = BERTH_TASK_RELEASING;
            task->comes_back = task->state == BERTH_TASK_RELEASING && one_of(random, 3) != 0;
        }
    for (size_t i = 0; i < wild->n_tasks; i++)
        world_tell(w, BERTH_TASK, &wild->tasks[i]);
}

static void wild_init(struct wild *wild, uint64_t *random)
{
    struct world *w = &wild->w;

    *wild = (struct wild){ 0 };
    world_init(w);
    w->in.now_ms = 100000000;
    world_queue(w, "default");
    world_queue(w, "other");
    for (size_t i = 0; i < WILD_NODES; i++)
        wild_node(wild, i, random);
    for (int i = 0; i < WILD_OTHERS; i++) {
        if (i == WILD_OTHERS - 2) {
            world_cycle(w);
            wild_accept(wild, random);
        }
        wild->others[i] = wild_job(wild, arena_format(&w->arena, "r%d", i), random);
        world_tell(w, BERTH_JOB, &wild->others[i]);
    }
    wild->job = wild_job(wild, "j", random);
    wild->group = wild->job.groups[0];
    wild->job.groups = &wild->group;
    wild->label = (struct berth_label){ "size", "large" };
    wild->group.node_selector = (struct berth_labels){ &wild->label, one_of(random, 3) == 0 };
    if (one_of(random, 8) == 0)
        wild->job.withheld = WAIT_HELD;
    if (one_of(random, 8) == 0)
        wild->job.not_before_ms = w->in.now_ms + 5000;
    world_tell(w, BERTH_JOB, &wild->job);
}

/* The tasks of a job that end, on one node or all: gone, or waiting again. */
static void wild_end(struct wild *wild, const struct berth_change *c)
{
    for (size_t i = 0; i < wild->n_tasks; i++) {
        struct berth_task task = wild->tasks[i];
        if (!text_eq(task.job, c->job) || (c->node && !text_eq(task.node, c->node)))
            continue;
        task.state = task.comes_back ? BERTH_TASK_PENDING : BERTH_TASK_SUCCEEDED;
        task.comes_back = false;
        task.node = NULL;
        world_tell(&wild->w, BERTH_TASK, &task);
    }
}

static void wild_return(struct wild *wild, const char *id)
{
    for (size_t i = 0; i < WILD_NODES; i++) {
        if (!text_eq(wild->nodes[i].id, id))
            continue;
        wild->nodes[i].state = NODE_READY;
        wild->nodes[i].cordoned = false;
        world_tell(&wild->w, BERTH_NODE, &wild->nodes[i]);
    }
}

static void wild_spare(struct wild *wild, const char *job, struct berth_budget budget)
{
    for (size_t i = 0; i < WILD_OTHERS; i++) {
        struct berth_job other = wild->others[i];
        if (!text_eq(other.id, job))
            continue;
        other.budget = budget;
        world_tell(&wild->w, BERTH_JOB, &other);
    }
}

static struct berth_budget wild_budget_of(const struct wild *wild, const char *job)
{
    for (size_t i = 0; i < WILD_OTHERS; i++)
        if (text_eq(wild->others[i].id, job))
            return wild->others[i].budget;
    return (struct berth_budget){ 0 };
}

static void wild_do_budget(struct wild *wild, const struct berth_change *c)
{
    struct berth_budget budget = wild_budget_of(wild, c->job);

    CHECK(budget.is_given);
    CHECK_EQ(c->from, budget.value);
    CHECK_EQ(c->is_percent, budget.is_percent);
    CHECK_TEXT(c->key, budget.is_max_unavailable ? "maxUnavailable" : "minAvailable");
    budget.value = (uint32_t)c->to;
    wild_spare(wild, c->job, budget);
}

/* Does what a change says, whatever it is. */
static void wild_do(struct wild *wild, const struct berth_change *c)
{
    static const struct berth_toleration bears = { .key = "team", .value = "ml" };

    switch (c->kind) {
    case BERTH_CHANGE_TASKS_END:
    case BERTH_CHANGE_JOB_ENDS:
        wild_end(wild, c);
        return;
    case BERTH_CHANGE_NODE_RETURNS:
    case BERTH_CHANGE_UNCORDON:
        wild_return(wild, c->node);
        return;
    case BERTH_CHANGE_TIME:
        wild->w.in.now_ms = c->by_ms;
        return;
    case BERTH_CHANGE_BUDGET:
        wild_do_budget(wild, c);
        return;
    case BERTH_CHANGE_HOLD:
        wild->job.withheld = WAIT_NONE;
        break;
    case BERTH_CHANGE_TOLERATION:
        wild->group.tolerations = &bears;
        wild->group.n_tolerations = 1;
        break;
    case BERTH_CHANGE_QUEUE:
        wild->job.queue = c->wants;
        break;
    case BERTH_CHANGE_MINIMUM:
    case BERTH_CHANGE_AMOUNT:
    case BERTH_CHANGE_LABEL:
    case BERTH_CHANGE_PRIORITY:
    case BERTH_CHANGE_KIND_COUNT:
        CHECK(carry_out(&wild->w, c, &wild->job, &wild->group));
        return;
    }
    world_tell(&wild->w, BERTH_JOB, &wild->job);
}

static uint32_t n_evicted_for(const struct world *w, const char *job)
{
    uint32_t n = 0;

    for (size_t i = 0; i < w->out.n_groups; i++)
        for (size_t k = 0; k < w->out.groups[i].n_parts && text_eq(w->out.groups[i].job, job); k++)
            n += w->out.groups[i].parts[k].kind == BERTH_PART_EVICT;
    return n;
}

static bool is_named(const struct berth_changes *found, enum berth_change_kind kind)
{
    for (size_t i = 0; i < found->n; i++)
        if (found->at[i].kind == kind)
            return true;
    return false;
}

/* Where all was tried and no priority is named, the highest does not place the job either. */
static void check_priority(uint64_t seed, const struct berth_changes *found)
{
    struct wild wild;

    if (found->is_placed || found->is_limited || found->n == 20 ||
        is_named(found, BERTH_CHANGE_PRIORITY))
        return;
    wild_init(&wild, &seed);
    wild.job.priority = 100000;
    world_tell(&wild.w, BERTH_JOB, &wild.job);
    world_cycle(&wild.w);
    CHECK(!is_decided_on(&wild.w, "j"));
    world_fini(&wild.w);
}

/* Whether the job is placed once the other's budget is this. */
static bool places_with_budget(uint64_t seed, const char *other, struct berth_budget budget)
{
    struct wild wild;
    bool is;

    wild_init(&wild, &seed);
    wild_spare(&wild, other, budget);
    world_cycle(&wild.w);
    is = is_decided_on(&wild.w, "j");
    world_fini(&wild.w);
    return is;
}

/* A budget is named if and only if it alone is in the way, and not changed by more than need be. */
static void check_budgets(uint64_t seed, const struct wild *wild, const struct berth_changes *found)
{
    if (found->is_placed || found->is_limited || found->n == 20)
        return;
    for (size_t i = 0; i < WILD_OTHERS; i++) {
        struct berth_budget budget = wild->others[i].budget;
        const struct berth_change *named = NULL;
        for (size_t k = 0; k < found->n; k++)
            if (found->at[k].kind == BERTH_CHANGE_BUDGET &&
                text_eq(found->at[k].job, wild->others[i].id))
                named = &found->at[k];
        if (!budget.is_given)
            continue;
        CHECK_EQ(places_with_budget(seed, wild->others[i].id, (struct berth_budget){ 0 }), !!named);
        if (!named)
            continue;
        budget.value =
            (uint32_t)named->to + (budget.is_max_unavailable ? (uint32_t)-1 : (uint32_t)1);
        CHECK(!places_with_budget(seed, wild->others[i].id, budget));
    }
}

TEST(whatever_is_named_places_the_job)
{
    uint64_t random = test_seed(), n_tried[BERTH_CHANGE_KIND_COUNT] = { 0 };
    int n_kinds = 0;

    /* One in fifty worlds has a budget in the way. */
    for (int i = 0; i < 150 || (!n_tried[BERTH_CHANGE_BUDGET] && i < 2000); i++) {
        uint64_t seed = test_random(&random), again = seed;
        struct berth_changes found;
        struct wild wild;

        wild_init(&wild, &again);
        found = changes_of(&wild.w, "j", 20);
        for (size_t k = 0; k < found.n; k++) {
            struct wild other;
            again = seed;
            wild_init(&other, &again);
            wild_do(&other, &found.at[k]);
            world_cycle(&other.w);
            CHECK(is_decided_on(&other.w, "j"));
            CHECK_EQ(n_evicted_for(&other.w, "j"), found.at[k].n_evicted);
            n_tried[found.at[k].kind]++;
            world_fini(&other.w);
        }
        check_priority(seed, &found);
        check_budgets(seed, &wild, &found);
        world_fini(&wild.w);
    }
    for (int kind = 0; kind < BERTH_CHANGE_KIND_COUNT; kind++)
        n_kinds += n_tried[kind] > 0;
    CHECK(n_kinds > BERTH_CHANGE_KIND_COUNT / 2);
    CHECK(n_tried[BERTH_CHANGE_BUDGET] > 0);
}

/* A victim counts by the rank at which it started, and a job in the line by what it waited. */
TEST(a_priority_is_above_what_others_waited)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "old", .seq = 9, .queue = "default", .priority = 5, .groups = &group, .n_groups = 1
    };
    struct world w;

    world_init(&w);
    w.in.now_ms = 100000000;
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    group.asks = world_amounts(&w, 4, 1 << 20);
    job.created_at_ms = w.in.now_ms - 3 * 600000;
    world_tell(&w, BERTH_JOB, &job);
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){ .job = "old",
                                     .group = "task",
                                     .state = BERTH_TASK_RUNNING,
                                     .attempt = 1,
                                     .node = "n1",
                                     .started_at_ms = w.in.now_ms - 600000 });
    job.id = "new";
    job.seq = 10;
    job.created_at_ms = w.in.now_ms;
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "new", 5), "priority 5>8 evicting 1; tasks-end old on n1");
    world_fini(&w);
}

/* Who began only now is spared for a while, and may be evicted when that is over. */
TEST(a_time_from_which_others_may_be_evicted_is_named)
{
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job job = { .id = "old", .queue = "default", .groups = &group, .n_groups = 1 };
    struct world w;

    world_init(&w);
    w.in.now_ms = 100000;
    world_tell(&w, BERTH_QUEUE,
               &(struct berth_queue){ .name = "default", .seq = 1, .min_runtime_ms = 60000 });
    world_node(&w, "n1", 4);
    group.asks = world_amounts(&w, 4, 1 << 20);
    world_tell(&w, BERTH_JOB, &job);
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){ .job = "old",
                                     .group = "task",
                                     .state = BERTH_TASK_RUNNING,
                                     .attempt = 1,
                                     .node = "n1",
                                     .started_at_ms = 70000 });
    job.id = "new";
    job.seq = 1;
    job.priority = 5;
    job.created_at_ms = w.in.now_ms;
    world_tell(&w, BERTH_JOB, &job);
    CHECK_TEXT(changes(&w, "new", 5), "time evicting 1 by 130000; tasks-end old on n1");
    world_fini(&w);
}

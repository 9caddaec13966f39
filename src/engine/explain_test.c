/*
 * Why tasks wait: the numbers behind a code, node by node and check by check, over worlds of a few
 * lines and over random ones.
 */
#include "engine/testing.h"

static struct berth_explanation explain(struct world *w, const char *job)
{
    struct berth_task_ref ref = { .job = job, .group = "task" };
    struct berth_explanation why;
    struct err err = { 0 };

    CHECK_OK(berth_engine_explain(w->engine, &w->in, &ref, &w->arena, &why, &err), &err);
    return why;
}

static struct berth_explanation explain_task(struct world *w, const char *job, uint32_t index)
{
    struct berth_task_ref ref = { .job = job, .group = "task", .index = index };
    struct berth_explanation why;
    struct err err = { 0 };

    CHECK_OK(berth_engine_explain(w->engine, &w->in, &ref, &w->arena, &why, &err), &err);
    return why;
}

static void tell_node(struct world *w, const char *id, struct berth_label label,
                      struct berth_taint taint)
{
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = id,
                                     .seq = ++w->seq,
                                     .state = NODE_READY,
                                     .labels = { &label, label.key != NULL },
                                     .taints = &taint,
                                     .n_taints = taint.key != NULL,
                                     .offers = world_amounts(w, 8, (int64_t)64 << 30) });
}

static void tell_picky_job(struct world *w, const char *id, const char *key, const char *value)
{
    struct berth_label label = { key, value };
    struct berth_task_group group = { .name = "task",
                                      .role = "task",
                                      .replicas = 1,
                                      .asks = world_amounts(w, 1, 1 << 20),
                                      .node_selector = { &label, 1 } };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .name = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .min_available = 1,
                                    .groups = &group,
                                    .n_groups = 1 });
}

TEST(explain_names_the_label_that_is_missing)
{
    struct world w;
    struct berth_explanation why;

    world_init(&w);
    world_queue(&w, "default");
    tell_node(&w, "n1", (struct berth_label){ "disk", "hdd" }, (struct berth_taint){ 0 });
    tell_node(&w, "n2", (struct berth_label){ 0 }, (struct berth_taint){ 0 });
    tell_picky_job(&w, "j1", "disk", "nvme");
    why = explain(&w, "j1");
    CHECK_TEXT(wait_codes[why.state].word, "LABEL_MISMATCH");
    CHECK_TEXT(why.reason->wants, "disk=nvme");
    CHECK_TEXT(why.reason->has, "disk=hdd");
    CHECK_TEXT(why.reason->node, "n1");
    CHECK_TEXT(why.nodes[0].has, "disk=hdd");
    CHECK_TEXT(why.nodes[1].wants, "disk=nvme");
    CHECK(why.nodes[1].has == NULL);
    world_fini(&w);
}

/* Nodes, each with cores and perhaps the label, and a job that asks for the label. */
static const struct {
    const char *name;
    int64_t nodes[3]; /* cores; below 0: with the label disk=nvme; 0 none */
    uint32_t n_tasks;
    int64_t asks;
    const char *code, *node, *wants; /* wants: NULL where room is why */
    int64_t free, limit;     /* cores; of the node that came nearest, and the most there is */
    uint32_t n_label, n_cpu; /* nodes that fail for each */
} first_causes[] = {
    { "the large node lacks the label, the small one never will do",
      { -2, 2, 16 },
      1,
      8,
      "LABEL_MISMATCH",
      "n2",
      "disk=nvme",
      0,
      0,
      2,
      1 },
    { "a gang, none of whose tasks fits anywhere",
      { -2, 2, 16 },
      3,
      8,
      "LABEL_MISMATCH",
      "n2",
      "disk=nvme",
      0,
      0,
      2,
      1 },
    { "a gang, all of whose nodes lack the label",
      { 2, 2, 0 },
      3,
      2,
      "LABEL_MISMATCH",
      "n0",
      "disk=nvme",
      0,
      0,
      2,
      0 },
    { "larger than any, wherever: what an idle node has is free",
      { 2, 2, 0 },
      1,
      8,
      "LARGER_THAN_ANY_NODE",
      "n0",
      NULL,
      2,
      2,
      2,
      0 },
    { "larger than any: the most is of all nodes",
      { -2, 4, 0 },
      1,
      8,
      "LARGER_THAN_ANY_NODE",
      "n0",
      NULL,
      2,
      4,
      1,
      1 },
    { "a gang of which some fit",
      { -2, 2, 16 },
      3,
      1,
      "LARGER_THAN_CLUSTER",
      "",
      NULL,
      0,
      0,
      2,
      0 },
};

TEST(reasons_name_the_first_cause_of_nodes_that_are_idle)
{
    ROW_EACH (c, first_causes) {
        struct world w;
        struct berth_label nvme = { "disk", "nvme" };
        struct berth_explanation why;
        uint32_t n_label = 0, n_cpu = 0;

        world_init(&w);
        world_queue(&w, "default");
        for (size_t i = 0; i < COUNT_OF(c->nodes) && c->nodes[i]; i++) {
            int64_t cores = c->nodes[i] < 0 ? -c->nodes[i] : c->nodes[i];
            world_tell(&w, BERTH_NODE,
                       &(struct berth_node){ .id = arena_format(&w.arena, "n%zu", i),
                                             .seq = ++w.seq,
                                             .state = NODE_READY,
                                             .labels = { &nvme, c->nodes[i] < 0 },
                                             .offers = world_amounts(&w, cores, 1 << 30) });
        }
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){
                       .id = "j",
                       .name = "j",
                       .seq = ++w.seq,
                       .queue = "default",
                       .min_available = c->n_tasks,
                       .groups = &(struct berth_task_group){ .name = "task",
                                                             .role = "task",
                                                             .replicas = c->n_tasks,
                                                             .asks = world_amounts(&w, c->asks, 1),
                                                             .node_selector = { &nvme, 1 } },
                       .n_groups = 1 });
        world_cycle(&w);
        why = explain(&w, "j");
        CHECK_TEXT(wait_codes[why.state].word, c->code);
        for (size_t i = 0; i < why.n_nodes; i++) {
            n_label += why.nodes[i].code == WAIT_LABEL_MISMATCH;
            n_cpu += why.nodes[i].code == WAIT_INSUFFICIENT_CPU;
        }
        CHECK_EQ(n_label, c->n_label);
        CHECK_EQ(n_cpu, c->n_cpu);
        if (c->node[0]) {
            CHECK_TEXT(why.reason->node, c->node);
            CHECK_TEXT(why.reason->wants ? why.reason->wants : "", c->wants ? c->wants : "");
            CHECK_EQ(why.reason->free, c->free * 1000);
            CHECK_EQ(why.reason->limit, c->limit * 1000);
        }
        world_fini(&w);
    }
}

TEST(explain_names_the_taint_that_is_not_borne)
{
    struct world w;
    struct berth_explanation why;

    world_init(&w);
    world_queue(&w, "default");
    tell_node(&w, "n1", (struct berth_label){ "disk", "nvme" },
              (struct berth_taint){ "team", "ml", BERTH_NO_SCHEDULE });
    tell_picky_job(&w, "j1", "disk", "nvme");
    why = explain(&w, "j1");
    CHECK_TEXT(wait_codes[why.state].word, "TAINT_NOT_TOLERATED");
    CHECK_TEXT(why.reason->has, "team=ml:NoSchedule");
    world_fini(&w);
}

TEST(explain_lists_who_holds_the_rest)
{
    struct world w;
    struct berth_explanation why;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 10);
    world_job(&w, "j1", 1, 1, 2);
    world_job(&w, "j2", 1, 1, 5);
    world_job(&w, "j3", 2, 1, 1);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_job(&w, "j4", 1, 1, 4);
    why = explain(&w, "j4");
    CHECK_EQ(why.nodes[0].asked, 4000);
    CHECK_EQ(why.nodes[0].free, 1000);
    CHECK_EQ(why.nodes[0].n_holders, 4);
    CHECK_TEXT(why.nodes[0].holders[0].job, "j2");
    CHECK_EQ(why.nodes[0].holders[0].amount, 5000);
    CHECK_EQ(why.nodes[0].holders[0].attempt, 1);
    CHECK_TEXT(why.nodes[0].holders[1].job, "j1");
    CHECK_TEXT(why.nodes[0].holders[3].job, "j3");
    CHECK_EQ(why.nodes[0].holders[3].index, 1);
    world_fini(&w);
}

TEST(explain_counts_holders_beyond_the_list)
{
    struct world w;
    struct berth_explanation why;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 12);
    world_job(&w, "j1", 12, 1, 1);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_job(&w, "j2", 1, 1, 4);
    why = explain(&w, "j2");
    CHECK_EQ(why.nodes[0].n_holders, BERTH_HOLDERS_MAX);
    CHECK_EQ(why.nodes[0].n_more, 12 - BERTH_HOLDERS_MAX);
    world_fini(&w);
}

TEST(explain_says_the_place_in_the_queue)
{
    struct world w;
    struct berth_explanation why;

    world_init(&w);
    world_queue(&w, "default");
    world_queue(&w, "other");
    world_node(&w, "n1", 1);
    world_job(&w, "j1", 1, 1, 4);
    world_job(&w, "j2", 1, 1, 4);
    world_job(&w, "j3", 1, 1, 4);
    why = explain(&w, "j2");
    CHECK_EQ(why.place, 2);
    CHECK_EQ(why.of, 3);
    CHECK_EQ(explain(&w, "j1").place, 1);
    CHECK_EQ(explain(&w, "j3").place, 3);
    world_fini(&w);
}

TEST(explain_names_the_group_that_a_gang_is_stuck_with)
{
    struct world w;
    struct berth_explanation why;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_job(&w, "j1", 3, 3, 3);
    world_node(&w, "n2", 4);
    world_node(&w, "n3", 4);
    world_job(&w, "j0", 1, 1, 2);
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "j1" });
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_job(&w, "j1", 3, 3, 3);
    why = explain(&w, "j1");
    CHECK_TEXT(wait_codes[why.state].word, "GANG_INCOMPLETE");
    CHECK_EQ(why.reason->placed, 2);
    CHECK_EQ(why.reason->needed, 3);
    CHECK_TEXT(why.reason->stuck_group, "task");
    CHECK_EQ(why.n_verdicts, 1);
    CHECK_EQ(why.verdicts[0].n_tasks, 3);
    world_fini(&w);
}

/* A job of one task that is being stopped, and holds four cores of n1. */
static void tell_leaving(struct world *w)
{
    world_init(w);
    world_queue(w, "default");
    world_node(w, "n1", 4);
    world_job(w, "gone", 1, 1, 4);
    world_tell(w, BERTH_TASK,
               &(struct berth_task){ .job = "gone",
                                     .group = "task",
                                     .attempt = 1,
                                     .node = "n1",
                                     .state = BERTH_TASK_RELEASING });
}

/* Nobody has a reservation of what is being freed (its owner was cancelled): the first in line is
 * promised it in each cycle, and room that comes is not there yet. */
TEST(explain_says_who_is_promised_what_is_being_freed)
{
    struct berth_task_ref ref = { .job = "first", .group = "task" };
    struct berth_search search = { .most = 1 };
    struct berth_changes changes;
    struct berth_explanation why;
    struct err err = { 0 };
    struct world w;

    tell_leaving(&w);
    world_job(&w, "first", 1, 1, 3);
    world_job(&w, "second", 1, 1, 2);
    why = explain(&w, "first");
    CHECK_TEXT(wait_codes[why.state].word, "WAITING_FOR_EVICTION");
    CHECK_TEXT(wait_codes[why.nodes[0].code].word, "INSUFFICIENT_CPU");
    CHECK_EQ(why.nodes[0].free, 0);
    CHECK_EQ(why.nodes[0].n_holders, 1);
    CHECK_TEXT(why.nodes[0].holders[0].job, "gone");
    CHECK(why.nodes[0].holders[0].is_leaving);
    CHECK_EQ(why.n_stopping, 1);
    CHECK_TEXT(why.stopping[0].job, "gone");
    CHECK_TEXT(why.stopping[0].node, "n1");
    CHECK_EQ(why.stopping[0].attempt, 1);
    CHECK_OK(berth_engine_changes(w.engine, &w.in, &ref, &search, &w.arena, &changes, &err), &err);
    CHECK_EQ(changes.n, 1);
    CHECK_EQ(changes.at[0].kind, BERTH_CHANGE_TASKS_END);
    CHECK_TEXT(changes.at[0].job, "gone");
    why = explain(&w, "second");
    CHECK_TEXT(wait_codes[why.state].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(why.reason->blocker, "first"); /* who is leaving is not in the way */
    CHECK_EQ(why.n_stopping, 0);
    CHECK_TEXT(wait_codes[why.nodes[0].code].word, "INSUFFICIENT_CPU");
    CHECK_EQ(why.nodes[0].n_holders, 2);
    CHECK_TEXT(why.nodes[0].holders[1].job, "first");
    CHECK(why.nodes[0].holders[1].is_promised);
    world_fini(&w);
}

/* Who was evicted waits again when it has ended, and stands in front: nothing is promised that it gets
 * back. */
TEST(explain_promises_nothing_that_another_gets_back)
{
    struct berth_task gone = { .job = "gone",
                               .group = "task",
                               .attempt = 1,
                               .node = "n1",
                               .state = BERTH_TASK_RELEASING,
                               .comes_back = true };
    struct berth_task_ref ref = { .job = "first", .group = "task" };
    struct berth_search search = { .most = 5 };
    struct berth_changes changes;
    struct berth_explanation why;
    struct err err = { 0 };
    struct world w;

    tell_leaving(&w);
    world_tell(&w, BERTH_TASK, &gone);
    world_job(&w, "first", 1, 1, 3);
    why = explain(&w, "first");
    CHECK_TEXT(wait_codes[why.state].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(why.reason->blocker, "gone");
    CHECK_EQ(why.n_verdicts, 1);
    world_cycle(&w); /* which says the same */
    CHECK_TEXT(world_waits(&w, "first"), "INSUFFICIENT_CPU");
    CHECK_TEXT(world_reason(&w, "first")->blocker, "gone");
    CHECK_OK(berth_engine_changes(w.engine, &w.in, &ref, &search, &w.arena, &changes, &err), &err);
    for (size_t i = 0; i < changes.n; i++)
        CHECK(changes.at[i].kind != BERTH_CHANGE_TASKS_END);
    gone.comes_back = false; /* its limit ended it, say */
    world_tell(&w, BERTH_TASK, &gone);
    CHECK_TEXT(wait_codes[explain(&w, "first").state].word, "WAITING_FOR_EVICTION");
    world_fini(&w);
}

/* Like jobs share their reasons; the one that holds the room is not told that it waits for itself. */
TEST(explain_names_no_job_as_in_its_own_way)
{
    struct berth_explanation why;
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_job(&w, "wide", 2, 1, 3);
    world_job(&w, "small", 1, 1, 1);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_job(&w, "like", 1, 1, 3);
    CHECK_TEXT(explain(&w, "like").reason->blocker, "wide");
    why = explain_task(&w, "wide", 1);
    CHECK_TEXT(wait_codes[why.state].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(why.reason->blocker, "small");
    CHECK_TEXT(why.nodes[0].holders[0].job, "wide");
    CHECK(why.nodes[0].holders[0].is_own);
    CHECK(!why.nodes[0].holders[1].is_own);
    world_fini(&w);
}

/* What no action places waits for that, not for others. */
TEST(explain_says_when_no_action_would_place_a_task)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };
    struct berth_job job = {
        .id = "idle", .seq = 90, .queue = "default", .groups = &group, .n_groups = 1
    };
    struct berth_explanation why;
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    world_tell(&w, BERTH_JOB, &job);
    CHECK_EQ(explain(&w, "idle").state, WAIT_NONE);
    world_tell(&w, BERTH_CONFIG,
               &(struct berth_config){ .has_actions = true,
                                       .actions = { (const char *const[]){ "allocate" }, 1 } });
    why = explain(&w, "idle");
    CHECK_TEXT(wait_codes[why.state].word, "NOT_YET_CONSIDERED");
    CHECK(strstr(why.reason->wants, "backfill") != NULL);
    world_fini(&w);
}

/* A queue that has what is fair takes nothing back, and that is said; one below it would. */
TEST(explain_names_the_fair_share_where_it_keeps_a_job_waiting)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };
    struct berth_job job = { .id = "more", .seq = 90, .groups = &group, .n_groups = 1 };
    struct berth_explanation why;
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_queue(&w, "other");
    world_node(&w, "n1", 4);
    world_job(&w, "mine", 1, 1, 2);
    group.asks = world_amounts(&w, 2, 1 << 20);
    job.id = "theirs";
    job.queue = "other";
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    job.id = "more";
    job.queue = "default";
    job.seq = 91;
    world_tell(&w, BERTH_JOB, &job);
    job.id = "wish"; /* so that the other queue has a right to its half */
    job.queue = "other";
    job.seq = 92;
    world_tell(&w, BERTH_JOB, &job);
    why = explain(&w, "more");
    CHECK_TEXT(wait_codes[why.state].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(why.share_resource, "cpu");
    CHECK_EQ(why.share_fair, 2000);
    CHECK_EQ(why.share_allocated, 2000);
    world_job(&w, "crowd", 5, 5, 1); /* no share would do: there are four cores */
    why = explain(&w, "crowd");
    CHECK_TEXT(wait_codes[why.state].word, "LARGER_THAN_CLUSTER");
    CHECK_TEXT(why.share_resource, NULL);
    world_fini(&w);
}

/* A queue within its share may take room back, but from some queues nothing: the one that holds most is named. */
TEST(explain_names_a_queue_that_gives_nothing_back)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };
    struct berth_job job = { .id = "theirs", .queue = "other", .groups = &group, .n_groups = 1 };
    struct berth_queue other = { .name = "other", .seq = 7, .not_reclaimable = true };
    struct berth_explanation why;
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_tell(&w, BERTH_QUEUE, &other);
    world_node(&w, "n1", 4);
    group.asks = world_amounts(&w, 4, 1 << 20);
    world_tell(&w, BERTH_JOB, &job);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_job(&w, "mine", 1, 1, 2);
    why = explain(&w, "mine");
    CHECK_TEXT(wait_codes[why.state].word, "INSUFFICIENT_CPU");
    CHECK_TEXT(why.keeper, "other");
    CHECK_TEXT(why.keeper_resource, "cpu");
    CHECK_EQ(why.keeper_allocated, 4000);
    world_job(&w, "more", 1, 1, 3); /* would be more than its share */
    why = explain(&w, "more");
    CHECK_TEXT(why.keeper, NULL);
    other.not_reclaimable = false;
    world_tell(&w, BERTH_QUEUE, &other);
    why = explain(&w, "mine");
    CHECK_TEXT(why.keeper, NULL);
    world_fini(&w);
}

/* "ready ok; cpu FAIL 4000/1000" */
static const char *checks(struct world *w, const char *job, const char *node)
{
    struct berth_task_ref ref = { .job = job, .group = "task" };
    const struct berth_check *list;
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };
    size_t n;

    CHECK_OK(berth_engine_checks(w->engine, &w->in, &ref, node, &w->arena, &list, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        str_addf(&text, "%s%s %s", i ? "; " : "", list[i].name,
                 list[i].result.code ? wait_codes[list[i].result.code].word : "ok");
        if (list[i].result.wants)
            str_addf(&text, " %s/%s", list[i].result.wants,
                     list[i].result.has ? list[i].result.has : "-");
        if (list[i].result.resource)
            str_addf(&text, " %" PRId64 "/%" PRId64, list[i].result.asked, list[i].result.free);
    }
    return arena_text(&w->arena, str_text(&text));
}

TEST(checks_go_through_a_node_one_by_one)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    tell_node(&w, "n1", (struct berth_label){ "disk", "hdd" },
              (struct berth_taint){ "team", "ml", BERTH_NO_SCHEDULE });
    tell_node(&w, "n2", (struct berth_label){ "disk", "nvme" }, (struct berth_taint){ 0 });
    tell_picky_job(&w, "j1", "disk", "nvme");
    CHECK_TEXT(checks(&w, "j1", "n1"),
               "ready ok ready/ready; label disk LABEL_MISMATCH disk=nvme/disk=hdd; "
               "taints TAINT_NOT_TOLERATED; cpu ok 1000/8000; memory ok 1048576/68719476736");
    CHECK_TEXT(checks(&w, "j1", "n2"), "ready ok ready/ready; label disk ok disk=nvme/disk=nvme; "
                                       "cpu ok 1000/8000; memory ok 1048576/68719476736");
    world_tell(&w, BERTH_NODE,
               &(struct berth_node){ .id = "n2",
                                     .seq = 2,
                                     .state = NODE_UNREACHABLE,
                                     .cordoned = true,
                                     .offers = world_amounts(&w, 0, 0) });
    CHECK_TEXT(checks(&w, "j1", "n2"),
               "ready NODE_NOT_READY ready/unreachable; cordon NODE_CORDONED; "
               "label disk LABEL_MISMATCH disk=nvme/-; cpu INSUFFICIENT_CPU 1000/0; "
               "memory INSUFFICIENT_MEMORY 1048576/0");
    world_fini(&w);
}

/* "LABEL_MISMATCH", or "" where time may cure it. */
static const char *never(struct world *w, const char *job)
{
    const struct berth_verdict *verdicts;
    struct err err = { 0 };
    size_t n;

    CHECK_OK(berth_engine_never(w->engine, &w->in, job, &w->arena, &verdicts, &n, &err), &err);
    return n ? wait_codes[verdicts[0].reason->code].word : "";
}

static void tell_racks(struct world *w)
{
    const char *nodes[] = { "n1", "n2", "n3" };

    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        world_node(w, nodes[i], 4);
    world_tell(w, BERTH_DOMAIN,
               &(struct berth_domain){ .name = "wide", .tier = 1, .nodes = { nodes, 2 } });
    world_tell(
        w, BERTH_DOMAIN,
        &(struct berth_domain){ .name = "narrow", .seq = 1, .tier = 1, .nodes = { &nodes[2], 1 } });
}

TEST(what_no_domain_can_hold_is_told_without_a_cycle)
{
    struct berth_task_group group = { .name = "task" };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    tell_racks(&w);
    group.asks = world_amounts(&w, 2, 1 << 20);
    for (uint32_t n = 4; n <= 6; n++)
        for (int tier = 1; tier <= 2; tier++) {
            struct berth_job job = {
                .id = "gang",
                .seq = 7,
                .queue = "default",
                .min_available = n,
                .topology = { .mode = BERTH_TOPOLOGY_HARD, .has_tier = true, .highest_tier = tier },
                .groups = &group,
                .n_groups = 1
            };
            group.replicas = n;
            world_tell(&w, BERTH_JOB, &job);
            CHECK_TEXT(never(&w, "gang"), n > 4 && tier == 1 ? "TOPOLOGY" : "");
        }
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 6); /* the whole cluster is a domain of tier 2 */
    world_fini(&w);
}

TEST(what_no_waiting_can_cure_is_told_without_a_cycle)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_job(&w, "any", 1, 1, 1);
    CHECK_TEXT(never(&w, "any"), "NO_NODE_KNOWN");
    tell_node(&w, "n1", (struct berth_label){ "disk", "hdd" }, (struct berth_taint){ 0 });
    world_job(&w, "full", 1, 1, 8);
    world_job(&w, "small", 1, 1, 2);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    CHECK_TEXT(never(&w, "small"), ""); /* no room now: that may come */
    world_job(&w, "large", 1, 1, 9);
    CHECK_TEXT(never(&w, "large"), "LARGER_THAN_ANY_NODE");
    world_job(&w, "gang", 3, 3, 4);
    CHECK_TEXT(never(&w, "gang"), "LARGER_THAN_CLUSTER");
    tell_picky_job(&w, "picky", "disk", "nvme");
    CHECK_TEXT(never(&w, "picky"), "LABEL_MISMATCH");
    tell_picky_job(&w, "fine", "disk", "hdd");
    CHECK_TEXT(never(&w, "fine"), "");
    world_tell(&w, BERTH_NODE,
               &(struct berth_node){ .id = "n1",
                                     .seq = 2,
                                     .state = NODE_UNREACHABLE,
                                     .offers = world_amounts(&w, 8, 1 << 30) });
    CHECK_TEXT(never(&w, "small"), ""); /* it may come back */
    world_fini(&w);
}

/* ---- random worlds ---- */

static void random_node(struct world *w, uint64_t *random, uint64_t i)
{
    static const char *const sizes[] = { "small", "large" };
    struct berth_label label = { "size", sizes[test_random(random) % 2] };
    struct berth_taint taint = { "team", "ml", BERTH_NO_SCHEDULE };
    struct berth_node node = {
        .id = arena_format(&w->arena, "n%" PRIu64, i),
        .seq = i,
        .state = test_random(random) % 8 ? NODE_READY : NODE_UNREACHABLE,
        .cordoned = test_random(random) % 8 == 0,
        .draining = test_random(random) % 12 == 0,
        .labels = { &label, test_random(random) % 3 != 0 },
        .taints = &taint,
        .n_taints = test_random(random) % 4 == 0,
        .offers = world_amounts(w, (int64_t)(test_random(random) % 8), 1 << 24),
    };

    if (test_random(random) % 6 == 0)
        node.owner = "ns1";
    world_tell(w, BERTH_NODE, &node);
}

static void random_job(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_label label = { "size", "large" };
    struct berth_toleration bears = { .key = "team", .exists = true, .all_effects = true };
    uint16_t port = 8080;
    struct berth_task_group group = {
        .name = "task",
        .role = "task",
        .replicas = 1 + (uint32_t)(test_random(random) % 4),
        .asks = world_amounts(w, 1 + (int64_t)(test_random(random) % 6), 1 << 22),
        .node_selector = { &label, test_random(random) % 3 == 0 },
        .tolerations = &bears,
        .n_tolerations = test_random(random) % 2,
        .host_ports = &port,
        .n_host_ports = test_random(random) % 4 == 0,
    };
    struct berth_job job = { .id = arena_format(&w->arena, "j%" PRIu64, i),
                             .name = "job",
                             .seq = 100 + i,
                             .namespace_ = test_random(random) % 2 ? "ns1" : "ns2",
                             .queue = "default",
                             .priority = (int)(test_random(random) % 3),
                             .limit_ms = test_random(random) % 2 ? 60000 : 0,
                             .min_available = 1 + (uint32_t)(test_random(random) % group.replicas),
                             .groups = &group,
                             .n_groups = 1 };

    world_tell(w, BERTH_JOB, &job);
}

static void random_world(struct world *w, uint64_t *random)
{
    struct berth_config config = { .profile = test_random(random) % 2 ? "berth" : "beam" };

    world_init(w);
    world_tell(w, BERTH_CONFIG, &config);
    world_queue(w, "default");
    world_queue(w, "other");
    for (uint64_t i = 0; i < 1 + test_random(random) % 6; i++)
        random_node(w, random, i);
    for (uint64_t i = 0; i < 4; i++)
        random_job(w, random, i);
    world_cycle(w);
    world_accept(w, BERTH_TASK_RUNNING);
    for (uint64_t i = 4; i < 8; i++)
        random_job(w, random, i);
}

static size_t n_nodes_of(const struct berth_reason *reason)
{
    size_t n = 0;

    for (size_t i = 0; i < reason->n_counts; i++)
        n += reason->counts[i].n;
    return n;
}

/* How many nodes of an explanation fail for what a count is of; those that fit, for nothing. */
static size_t n_failing(const struct berth_explanation *why, const struct berth_node_count *count)
{
    size_t n = 0;

    for (size_t i = 0; i < why->n_nodes; i++)
        n += why->nodes[i].code == count->code &&
             (!count->resource || text_eq(why->nodes[i].resource, count->resource));
    return n;
}

TEST(counts_over_nodes_add_up_to_the_nodes)
{
    uint64_t random = test_seed();
    size_t n_reasons = 0;

    for (int i = 0; i < 200; i++) {
        struct world w;
        random_world(&w, &random);
        world_cycle(&w);
        for (size_t k = 0; k < w.out.n_verdicts; k++) {
            const struct berth_reason *reason = w.out.verdicts[k].reason;
            struct berth_explanation why;
            if (!reason->n_counts)
                continue;
            why = explain(&w, w.out.verdicts[k].job);
            n_reasons++;
            CHECK_EQ(n_nodes_of(reason), why.n_nodes);
            if (!why.reason || !why.reason->n_counts)
                continue;
            CHECK_EQ(n_nodes_of(why.reason), why.n_nodes);
            /* What evictions make fits later, and not yet. */
            for (size_t c = 0; c < why.reason->n_counts && !w.out.counts.tasks_evicted; c++)
                CHECK_EQ(n_failing(&why, &why.reason->counts[c]), why.reason->counts[c].n);
        }
        world_fini(&w);
    }
    CHECK(n_reasons > 100);
}

TEST(a_check_fails_if_and_only_if_the_node_does)
{
    uint64_t random = test_seed();

    for (int i = 0; i < 200; i++) {
        struct world w;
        struct berth_task_ref ref = { .job = "j5", .group = "task" };
        struct berth_explanation why;
        random_world(&w, &random);
        why = explain(&w, "j5");
        for (size_t k = 0; k < why.n_nodes; k++) {
            const struct berth_check *list;
            struct err err = { 0 };
            bool fails = false, by_this = false;
            size_t n;
            CHECK_OK(berth_engine_checks(w.engine, &w.in, &ref, why.nodes[k].node, &w.arena, &list,
                                         &n, &err),
                     &err);
            for (size_t c = 0; c < n; c++) {
                fails = fails || list[c].result.code;
                by_this = by_this || list[c].result.code == why.nodes[k].code;
            }
            CHECK_EQ(fails, why.nodes[k].code != WAIT_NONE);
            CHECK(!fails || by_this);
        }
        world_fini(&w);
    }
}

/* Network domains: the tree, and where a job that is kept together goes. */
#include "engine/testing.h"

#include "engine/engine.h"
#include "engine/topology.h"

/* Two racks of two nodes in one row; a fifth node is in no domain. */
static void begin(struct world *w)
{
    static const char *const nodes[] = { "n1", "n2", "n3", "n4", "loose" };
    static const char *const racks[] = { "r1", "r2" };

    world_init(w);
    world_queue(w, "default");
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        world_node(w, nodes[i], i < 2 ? 2 : 4);
    for (size_t i = 0; i < COUNT_OF(racks); i++)
        world_tell(w, BERTH_DOMAIN,
                   &(struct berth_domain){ .name = racks[i],
                                           .seq = i,
                                           .tier = 1,
                                           .tier_name = "rack",
                                           .nodes = { nodes + 2 * i, 2 } });
    world_tell(
        w, BERTH_DOMAIN,
        &(struct berth_domain){
            .name = "row", .seq = 9, .tier = 2, .tier_name = "row", .children = { racks, 2 } });
}

static void tell_job(struct world *w, uint32_t replicas, int64_t cpu,
                     struct berth_topology topology)
{
    struct berth_task_group group = {
        .name = "task", .role = "task", .replicas = replicas, .asks = world_amounts(w, cpu, 1)
    };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = "j",
                                    .seq = 1,
                                    .queue = "default",
                                    .min_available = replicas,
                                    .topology = topology,
                                    .groups = &group,
                                    .n_groups = 1 });
}

TEST(topology_is_a_tree_with_an_implied_top)
{
    struct world w;
    struct arena out = { 0 };
    struct session *s;
    const struct topology *t;
    struct domain *r1 = NULL, *r2 = NULL;

    begin(&w);
    s = session_open(engine_model(w.engine), engine_setup(w.engine), &w.in, &out);
    t = topology_of(s);
    CHECK_EQ(t->n, 4);
    CHECK_EQ(t->at[0].n_nodes, 5); /* the top holds every node, listed or not */
    CHECK(!t->at[0].parent);
    for (size_t i = 0; i < t->n; i++) {
        r1 = text_eq(t->at[i].name, "r1") ? &t->at[i] : r1;
        r2 = text_eq(t->at[i].name, "r2") ? &t->at[i] : r2;
    }
    CHECK(r1 && r2 && r1->n_nodes == 2);
    CHECK_TEXT(domain_join(r1, r2)->name, "row");
    CHECK(domain_join(r1, r1) == r1);
    CHECK(domain_join(r1, NULL) == r1);
    CHECK(domain_join(r1, &t->at[0]) == &t->at[0]);
    CHECK(t->leaf[node_find(engine_model(w.engine), "n3")->at] == r2);
    CHECK(t->leaf[node_find(engine_model(w.engine), "loose")->at] == &t->at[0]);
    session_close(s);
    arena_fini(&out);
    world_fini(&w);
}

static const struct {
    const char *name;
    uint32_t replicas;
    int64_t cpu;
    struct berth_topology topology;
    const char *within; /* the nodes it may be on, "" if it waits */
    const char *code;
} rows[] = {
    { "fits in either rack", 2, 2, { BERTH_TOPOLOGY_HARD, true, 1, NULL }, "n1 n2 n3 n4", "" },
    { "fits in one rack only", 3, 2, { BERTH_TOPOLOGY_HARD, true, 1, NULL }, "n3 n4", "" },
    { "by the tier's name", 3, 2, { BERTH_TOPOLOGY_HARD, false, 0, "rack" }, "n3 n4", "" },
    { "needs the row", 5, 2, { BERTH_TOPOLOGY_HARD, true, 2, NULL }, "n1 n2 n3 n4", "" },
    { "fits in no rack", 5, 2, { BERTH_TOPOLOGY_HARD, true, 1, NULL }, "", "TOPOLOGY" },
    { "fits in no row", 7, 2, { BERTH_TOPOLOGY_HARD, true, 2, NULL }, "", "TOPOLOGY" },
    { "only prefers it", 7, 2, { BERTH_TOPOLOGY_SOFT, false, 0, NULL }, "n1 n2 n3 n4 loose", "" },
};

TEST(topology_keeps_a_job_in_one_domain)
{
    ROW_EACH (c, rows) {
        struct world w;
        begin(&w);
        tell_job(&w, c->replicas, c->cpu, c->topology);
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, c->within[0] ? c->replicas : 0);
        for (size_t g = 0; g < w.out.n_groups; g++)
            for (size_t k = 0; k < w.out.groups[g].n_parts; k++)
                CHECK(strstr(c->within, w.out.groups[g].parts[k].node) != NULL);
        CHECK_TEXT(world_waits(&w, "j"), c->code);
        world_fini(&w);
    }
}

static const struct {
    const char *name;
    bool has_domains;
    struct berth_topology topology;
    const char *wants, *has;
} reasons[] = {
    { "there are none",
      false,
      { BERTH_TOPOLOGY_HARD, true, 0, NULL },
      "one network domain of tier 0 at most",
      "no network domains" },
    { "there are none so low",
      true,
      { BERTH_TOPOLOGY_HARD, true, 0, NULL },
      "one network domain of tier 0 at most",
      "none below tier 1" },
    { "none would have room",
      true,
      { BERTH_TOPOLOGY_HARD, true, 1, NULL },
      "one network domain of tier 1 at most",
      "none that would hold more than 4 of its 5 tasks, were it empty" },
    { "none of that name would have room",
      true,
      { BERTH_TOPOLOGY_HARD, false, 0, "rack" },
      "one network domain of tier rack at most",
      "none that would hold more than 4 of its 5 tasks, were it empty" },
};

TEST(topology_says_which_domain_is_wanted_and_what_there_is)
{
    ROW_EACH (c, reasons) {
        const struct berth_reason *reason;
        struct world w;

        begin(&w);
        if (!c->has_domains) {
            world_fini(&w);
            world_init(&w);
            world_queue(&w, "default");
            world_node(&w, "n1", 64);
        }
        tell_job(&w, 5, 2, c->topology);
        world_cycle(&w);
        CHECK_TEXT(world_waits(&w, "j"), "TOPOLOGY");
        reason = w.out.verdicts[0].reason;
        CHECK_TEXT(reason->wants, c->wants);
        CHECK_TEXT(reason->has, c->has);
        world_fini(&w);
    }
}

/* Two tasks that fit into one rack are not spread over two. */
TEST(topology_does_not_cross_racks_without_need)
{
    struct world w;
    bool first = false, second = false;

    begin(&w);
    tell_job(&w, 2, 2, (struct berth_topology){ BERTH_TOPOLOGY_HARD, true, 1, NULL });
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 2);
    for (size_t k = 0; k < w.out.groups[0].n_parts; k++) {
        const char *node = w.out.groups[0].parts[k].node;
        first = first || text_eq(node, "n1") || text_eq(node, "n2");
        second = second || text_eq(node, "n3") || text_eq(node, "n4");
    }
    CHECK(first != second);
    world_fini(&w);
}

/* What ran before binds the rest to its domain. */
TEST(topology_stays_where_the_job_runs)
{
    struct world w;

    begin(&w);
    tell_job(&w, 2, 2, (struct berth_topology){ BERTH_TOPOLOGY_HARD, true, 1, NULL });
    world_tell(&w, BERTH_TASK,
               &(struct berth_task){ .job = "j",
                                     .group = "task",
                                     .index = 0,
                                     .attempt = 1,
                                     .node = "n1",
                                     .state = BERTH_TASK_RUNNING });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j/task.1>n2");
    world_fini(&w);
}

/* Plugins from outside, as objects of this program: what they are asked, and what they may refuse. */
#include "engine/testing.h"

#include "berth/plugin.h"

/* What the plugin was told, in this test's own memory. */
static struct {
    int made, destroyed, opened, closed, allocated, given_back;
    int most; /* placements that it lets stand; below 0: all */
    bool refuses;
    const char *avoid;
} told;

static int configure(const struct berth_view *view, const struct berth_plugin_arguments *arguments,
                     void **config, char *why, size_t n)
{
    double most;

    if (view->argument_number(arguments, "most", &most) && most < 0) {
        snprintf(why, n, "most is below 0");
        return -1;
    }
    told.made++;
    *config = &told;
    return 0;
}

static void destroy(void *config)
{
    CHECK(config == &told);
    told.destroyed++;
}

static void *open_cycle(const struct berth_plugin_call *call)
{
    CHECK(call->config == &told);
    CHECK_EQ(call->view->now_ms(call->session), 1000000);
    told.opened++;
    told.allocated = 0;
    return &told;
}

static void close_cycle(const struct berth_plugin_call *call)
{
    CHECK(call->state == &told);
    told.closed++;
}

static bool filter(const struct berth_plugin_call *call, const struct berth_plugin_class *class_,
                   const struct berth_plugin_node *node)
{
    const struct berth_view *view = call->view;

    CHECK(view->class_asks(call->session, class_, "cpu") > 0);
    CHECK_EQ(view->class_asks(call->session, class_, "licence"), 0);
    CHECK(view->node_free(call->session, node, "cpu") <=
          view->node_offers(call->session, node, "cpu"));
    CHECK(!view->node_label(node, "none"));
    return !told.avoid || strcmp(view->node_id(node), told.avoid) != 0;
}

static double score(const struct berth_plugin_call *call, const struct berth_plugin_class *class_,
                    const struct berth_plugin_node *node)
{
    (void)class_;
    return strcmp(call->view->node_id(node), "n2") == 0 ? 1000 : 0.0 / 0.0;
}

static int compare_jobs(const struct berth_plugin_call *call, const struct berth_plugin_job *a,
                        const struct berth_plugin_job *b)
{
    return strcmp(call->view->job_id(b), call->view->job_id(a)); /* the last name first */
}

static int on_allocate(const struct berth_plugin_call *call, const struct berth_plugin_task *task)
{
    const struct berth_view *view = call->view;

    CHECK(view->task_node(task) != NULL);
    CHECK_TEXT(view->queue_name(view->job_queue(view->task_job(task))), "default");
    told.allocated++;
    return told.refuses || (told.most >= 0 && told.allocated > told.most) ? -1 : 0;
}

static void on_deallocate(const struct berth_plugin_call *call,
                          const struct berth_plugin_task *task)
{
    CHECK(call->view->task_node(task) != NULL);
    told.allocated--;
    told.given_back++;
}

static const char *const arguments[] = { "most", NULL };

static const struct berth_plugin plugin = {
    .abi = BERTH_PLUGIN_ABI,
    .size = sizeof(struct berth_plugin),
    .name = "outside",
    .version = "1",
    .arguments = arguments,
    .configure = configure,
    .destroy = destroy,
    .open = open_cycle,
    .close = close_cycle,
    .filter = filter,
    .score = score,
    .compare_jobs = compare_jobs,
    .on_allocate = on_allocate,
    .on_deallocate = on_deallocate,
};

static const struct berth_plugin_use tier_one[] = { { .name = "outside" }, { .name = "gang" } };
static const struct berth_plugin_use tier_two[] = { { .name = "predicates" },
                                                    { .name = "nodeorder" } };
static const struct berth_tier tiers[] = { { tier_one, COUNT_OF(tier_one) },
                                           { tier_two, COUNT_OF(tier_two) } };

static void begin(struct world *w, const char *profile)
{
    struct err err = { 0 };

    memset(&told, 0, sizeof(told));
    told.most = -1;
    world_init(w);
    CHECK_OK(
        berth_engine_add_plugin(w->engine, &(struct berth_plugin_file){ &plugin, "f00" }, &err),
        &err);
    world_tell(
        w, BERTH_CONFIG,
        &(struct berth_config){
            .profile = profile, .has_tiers = true, .tiers = tiers, .n_tiers = COUNT_OF(tiers) });
    world_queue(w, "default");
    world_node(w, "n1", 4);
    world_node(w, "n2", 4);
}

static void finish(struct world *w)
{
    world_fini(w);
    CHECK_EQ(told.made, told.destroyed);
    CHECK_EQ(told.opened, told.closed);
    CHECK(told.made > 0);
}

TEST(outside_plugins_filter_score_and_order)
{
    struct world w;

    begin(&w, "berth");
    world_job(&w, "a", 1, 1, 3);
    world_job(&w, "b", 1, 1, 3);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind b/task.0>n2; bind a/task.0>n1");
    told.avoid = "n2";
    /* It is not local, so nothing is kept of what it said before. */
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind b/task.0>n1");
    CHECK_TEXT(world_waits(&w, "a"), "INSUFFICIENT_CPU");
    told.avoid = "n1";
    world_end(&w, BERTH_NODE, &(struct berth_node){ .id = "n2" });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "a"), "PLUGIN");
    finish(&w);
}

/* The handler fails at its first, second, third... call: nothing of the gang stands, others do. */
TEST(outside_plugins_may_fail_in_the_middle_of_a_statement)
{
    for (int most = 0; most < 4; most++) {
        struct world w;
        char *before, *after;
        begin(&w, "berth");
        world_job(&w, "a", 1, 1, 1);
        world_job(&w, "gang", 4, 4, 1); /* first, by the plugin's order */
        before = world_export(w.engine);
        told.most = most;
        world_cycle(&w);
        after = world_export(w.engine);
        CHECK_TEXT(before, after);
        CHECK_TEXT(world_waits(&w, "gang"), "PLUGIN");
        CHECK_TEXT(world_groups(&w), most ? "bind a/task.0>n2" : "");
        CHECK_EQ(told.allocated, most ? 1 : 0);
        told.most = 5;
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_placed, 5);
        free(before);
        free(after);
        finish(&w);
    }
}

/* The same where room is made: nobody is evicted for a placement that is refused. */
TEST(outside_plugins_that_fail_leave_victims_alone)
{
    struct world w;
    struct berth_task_group group = { .name = "task", .replicas = 2 };
    struct berth_job urgent = { .id = "urgent",
                                .queue = "default",
                                .priority = 9,
                                .min_available = 2,
                                .groups = &group,
                                .n_groups = 1 };

    begin(&w, "berth");
    world_job(&w, "low", 8, 1, 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_placed, 8);
    world_accept(&w, BERTH_TASK_RUNNING);
    group.asks = world_amounts(&w, 2, 1);
    world_tell(&w, BERTH_JOB, &urgent);
    world_cycle(&w);
    CHECK(w.out.counts.tasks_evicted > 0);
    told.refuses = true;
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_evicted, 0);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "urgent"), "PLUGIN");
    finish(&w);
}

TEST(outside_plugins_are_part_of_the_digest)
{
    char digest[3][33];

    for (int i = 0; i < 3; i++) {
        struct world w;
        struct berth_plugin other = plugin;
        struct berth_plugin_file file = { &other, i == 1 ? "f01" : "f00" };
        struct err err = { 0 };
        other.version = i == 2 ? "2" : "1";
        memset(&told, 0, sizeof(told));
        world_init(&w);
        CHECK_OK(berth_engine_add_plugin(w.engine, &file, &err), &err);
        world_tell(&w, BERTH_CONFIG,
                   &(struct berth_config){
                       .has_tiers = true, .tiers = tiers, .n_tiers = COUNT_OF(tiers) });
        world_cycle(&w);
        snprintf(digest[i], sizeof(digest[i]), "%s", w.out.digest);
        finish(&w);
    }
    CHECK(strcmp(digest[0], digest[1]) != 0);
    CHECK(strcmp(digest[0], digest[2]) != 0);
}

TEST(outside_plugins_are_refused_with_the_reason)
{
    static const struct {
        const char *name;
        int abi, size;
        const char *given, *version, *says;
    } rows[] = {
        { "another ABI", 1, 0, "x", "1", "built for ABI version 2" },
        { "too small", 0, -8, "x", "1", "bytes" },
        { "no name", 0, 0, "", "1", "no name" },
        { "no version", 0, 0, "x", NULL, "no version" },
        { "a built-in's name", 0, 0, "drf", "1", "the engine has one" },
        { "twice", 0, 0, "outside", "1", "two have that name" },
    };

    ROW_EACH (c, rows) {
        struct world w;
        struct err err = { 0 };
        struct berth_plugin other = plugin;
        begin(&w, "berth");
        other.abi += (uint32_t)c->abi;
        other.size += (uint32_t)c->size;
        other.name = c->given;
        other.version = c->version;
        CHECK_EQ(berth_engine_add_plugin(w.engine, &(struct berth_plugin_file){ &other, "" }, &err),
                 -EINVAL);
        CHECK(strstr(err.text, c->says) != NULL);
        finish(&w);
    }
}

TEST(outside_plugins_check_their_arguments)
{
    static const struct {
        const char *name, *key;
        double most;
        const char *says;
    } rows[] = {
        { "one it does not list", "mots", 1,
          "/tiers/0/plugins/0/arguments/mots: no such argument; "
          "did you mean most?" },
        { "one it refuses", "most", -1, "/tiers/0/plugins/0/arguments: most is below 0" },
        { "one it takes", "most", 1, "" },
    };

    ROW_EACH (c, rows) {
        struct berth_value member = { .key = c->key, .kind = BERTH_VALUE_DOUBLE, .real = c->most };
        struct berth_value object = { .kind = BERTH_VALUE_OBJECT,
                                      .members = &member,
                                      .n_members = 1 };
        struct berth_plugin_use use = { .name = "outside", .arguments = &object };
        struct berth_tier tier = { &use, 1 };
        struct berth_config config = { .has_tiers = true, .tiers = &tier, .n_tiers = 1 };
        struct berth_plugin_file file = { &plugin, "" };
        struct err err = { 0 };
        memset(&told, 0, sizeof(told));
        (void)!berth_config_check_with(&config, &file, 1, &err);
        CHECK_TEXT(err.text, c->says);
        CHECK_EQ(told.made, told.destroyed);
        err = (struct err){ 0 };
        CHECK_EQ(berth_config_check(&config, &err), -EINVAL);
        CHECK(strstr(err.text, "/tiers/0/plugins/0/name: no plugin outside") != NULL);
    }
}

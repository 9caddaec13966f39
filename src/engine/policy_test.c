/* Each option of the policy: what it refuses, and what it changes. */
#include "engine/testing.h"

static struct berth_value word(const char *key, const char *text)
{
    return (struct berth_value){ .key = key, .kind = BERTH_VALUE_TEXT, .text = text };
}

static struct berth_value number(const char *key, int64_t n)
{
    return (struct berth_value){ .key = key, .kind = BERTH_VALUE_INT, .number = n };
}

static int check_option(const struct berth_value *option, struct err *err)
{
    const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                        .members = option,
                                        .n_members = 1 };

    return berth_config_check(&(struct berth_config){ .policy = &policy }, err);
}

/* --- Names and values */

static const struct {
    const char *name, *words; /* words: all that it takes; NULL: a duration or a count */
    bool is_count, is_some;   /* is_some: nothing, 0s, is refused */
} options[] = {
    { "victims", "every-tier first-tier", false, false },
    { "victimUnit", "spare-or-whole task", false, false },
    { "reclaim", "within-share plugins", false, false },
    { "victimSet", "minimal greedy", false, false },
    { "evict", "only-if-placed by-sum", false, false },
    { "preemptFor", "minimum all", false, false },
    { "reservations", "durable none", false, false },
    { "search", "exact sample", false, false },
    { "tie", "id rank hash spread pack", false, false },
    { "enqueue", "bounded reference", false, false },
    { "capacity", "usable all", false, false },
    { "jobTie", "seq created", false, false },
    { "anyGpu", "catalogue pool", false, false },
    { "gpuModels", "order set", false, false },
    { "commit", "atomic", false, false },
    { "wake", "exact", false, false },
    { "minRuntime", NULL, false, false },
    { "protectAfter", NULL, false, false },
    { "reservationTtl", NULL, false, true },
    { "inqueueTimeout", NULL, false, true },
    { "gangTimeout", NULL, false, false },
    { "heartbeatTimeout", NULL, false, true },
    { "bootTime", NULL, false, true },
    { "gangSearchSteps", NULL, true, false },
    { "provisionAttempts", NULL, true, false },
};

static void takes(const struct berth_value *option, bool good)
{
    struct err err = { 0 };
    int r = check_option(option, &err);
    char begins[80];

    CHECK_EQ(r < 0, !good);
    if (good)
        return;
    snprintf(begins, sizeof(begins), "/policy/%s:", option->key);
    CHECK_TEXT(text_begins(err.text, begins) ? begins : err.text, begins);
}

TEST(policy_takes_each_word_of_an_option_and_no_other)
{
    ROW_EACH (c, options) {
        struct berth_value option = word(c->name, "nonsense");
        takes(&option, false);
        option = number(c->name, 5);
        takes(&option, c->is_count);
        option = number(c->name, -1);
        takes(&option, false);
        for (const char *at = c->words; at && *at; at += strspn(at, " ")) {
            char text[32];
            snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, " "), at);
            option = word(c->name, text);
            takes(&option, true);
            at += strlen(text);
        }
        option = word(c->name, "90s");
        takes(&option, !c->words && !c->is_count);
        option = word(c->name, "0s");
        takes(&option, !c->words && !c->is_count && !c->is_some);
        option = word(c->name, "never");
        takes(&option, !c->words && !c->is_count);
    }
}

TEST(policy_names_what_was_meant)
{
    struct berth_value option = word("victimSets", "minimal");
    struct err err = { 0 };

    CHECK(check_option(&option, &err) < 0);
    CHECK_TEXT(err.text, "/policy/victimSets: no such policy; did you mean victimSet?");
}

TEST(policy_reads_aging_by_its_members)
{
    struct berth_value members[] = { word("step", "1m"), number("max", 5) };
    struct berth_value option = {
        .key = "aging", .kind = BERTH_VALUE_OBJECT, .members = members, .n_members = 2
    };
    struct err err = { 0 };

    CHECK_EQ(check_option(&option, &err), 0);
    members[1] = word("max", "much");
    CHECK(check_option(&option, &err) < 0);
    CHECK_TEXT(text_begins(err.text, "/policy/aging/max") ? "" : err.text, "");
}

TEST(policy_lets_many_decide_only_where_each_job_stands_alone)
{
    struct berth_value members[] = { word("deciders", "many"), word("protectAfter", "never") };
    struct berth_value policy = { .kind = BERTH_VALUE_OBJECT, .members = members, .n_members = 2 };
    const char *const alone[] = { "allocate" }, *const all[] = { "allocate", "preempt" };
    struct berth_config config = { .policy = &policy,
                                   .has_actions = true,
                                   .actions = { alone, 1 } };
    struct err err = { 0 };

    CHECK_EQ(berth_config_check(&config, &err), 0);
    config.actions = (struct berth_words){ all, 2 };
    CHECK(berth_config_check(&config, &err) < 0);
    CHECK_TEXT(err.text, "/policy/deciders: many cannot run the action preempt");
    err = (struct err){ 0 };
    config.actions = (struct berth_words){ alone, 1 };
    members[1] = word("protectAfter", "1h");
    CHECK(berth_config_check(&config, &err) < 0);
    CHECK_TEXT(err.text, "/policy/deciders: many cannot keep protectAfter");
}

/* --- What they change */

struct job {
    const char *id, *queue;
    int priority;
    uint32_t replicas, least;
    int64_t cpu;
    const char *node; /* where it runs; NULL: it waits */
    struct berth_budget budget;
    int64_t created_at_ms;
};

static void add(struct world *w, const struct job *job)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = job->replicas };

    group.asks = world_amounts(w, job->cpu, 1);
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = job->id,
                                    .seq = ++w->seq,
                                    .queue = job->queue ? job->queue : "default",
                                    .priority = job->priority,
                                    .min_available = job->least,
                                    .budget = job->budget,
                                    .created_at_ms = job->created_at_ms,
                                    .groups = &group,
                                    .n_groups = 1 });
    for (uint32_t i = 0; job->node && i < job->replicas; i++)
        world_tell(w, BERTH_TASK,
                   &(struct berth_task){ .job = job->id,
                                         .group = "task",
                                         .index = i,
                                         .attempt = 1,
                                         .node = job->node,
                                         .started_at_ms = 1000,
                                         .state = BERTH_TASK_RUNNING });
}

/* A world of one option, by default plugins and these actions. */
static void begin(struct world *w, const struct berth_value *option, const char *actions)
{
    const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                        .members = option,
                                        .n_members = 1 };
    struct berth_config config = { .policy = &policy, .has_actions = true };
    const char *list[4];
    size_t n = 0;
    char *copy;

    world_init(w);
    copy = arena_text(&w->arena, actions);
    for (char *at = strtok_r(copy, " ", &copy); at; at = strtok_r(NULL, " ", &copy))
        list[n++] = at;
    config.actions = (struct berth_words){ list, n };
    world_tell(w, BERTH_CONFIG, &config);
    world_queue(w, "default");
    world_queue(w, "other");
}

/* How many are evicted of two jobs on a node of so many cores, for one that comes. */
static uint64_t evicted(const char *name, const char *value, const struct job *jobs, size_t n,
                        int64_t cores)
{
    struct berth_value option = word(name, value);
    struct world w;
    uint64_t count;

    begin(&w, &option, "allocate preempt reclaim");
    world_node(&w, "n1", cores);
    for (size_t i = 0; i < n; i++)
        add(&w, &jobs[i]);
    world_cycle(&w);
    count = w.out.counts.tasks_evicted;
    world_fini(&w);
    return count;
}

TEST(policy_victim_unit)
{
    static const struct job jobs[] = {
        { .id = "gang", .replicas = 2, .least = 2, .cpu = 1, .node = "n1" },
        { .id = "high", .priority = 5, .replicas = 1, .least = 1, .cpu = 1 },
    };

    CHECK_EQ(evicted("victimUnit", "spare-or-whole", jobs, 2, 2), 2);
    CHECK_EQ(evicted("victimUnit", "task", jobs, 2, 2), 0); /* it has no task to spare */
}

TEST(policy_victim_set)
{
    static const struct job jobs[] = {
        { .id = "small", .replicas = 1, .least = 1, .cpu = 1, .node = "n1" },
        { .id = "large", .priority = 1, .replicas = 1, .least = 1, .cpu = 2, .node = "n1" },
        { .id = "high", .priority = 5, .replicas = 1, .least = 1, .cpu = 2 },
    };

    CHECK_EQ(evicted("victimSet", "minimal", jobs, 3, 3), 1);
    CHECK_EQ(evicted("victimSet", "greedy", jobs, 3, 3), 2);
}

TEST(policy_preempt_for)
{
    static const struct job jobs[] = {
        { .id = "low", .replicas = 2, .least = 1, .cpu = 1, .node = "n1" },
        { .id = "high", .priority = 5, .replicas = 2, .least = 1, .cpu = 1 },
    };

    CHECK_EQ(evicted("preemptFor", "minimum", jobs, 2, 2), 1);
    CHECK_EQ(evicted("preemptFor", "all", jobs, 2, 2), 2);
}

TEST(policy_min_runtime)
{
    static const struct job jobs[] = {
        { .id = "low", .replicas = 1, .least = 1, .cpu = 1, .node = "n1" },
        { .id = "high", .priority = 5, .replicas = 1, .least = 1, .cpu = 1 },
    };

    CHECK_EQ(evicted("minRuntime", "999s", jobs, 2, 1), 1); /* it runs for 999 s now */
    CHECK_EQ(evicted("minRuntime", "1000s", jobs, 2, 1), 0);
}

TEST(policy_reclaim)
{
    static const struct job jobs[] = {
        { .id = "a", .replicas = 2, .least = 1, .cpu = 1, .node = "n1" },
        { .id = "b", .queue = "other", .replicas = 1, .least = 1, .cpu = 2 },
    };

    CHECK_EQ(evicted("reclaim", "within-share", jobs, 2, 2), 0); /* its half is one core */
    CHECK_EQ(evicted("reclaim", "plugins", jobs, 2, 2), 2);
}

TEST(policy_victims)
{
    const struct berth_plugin_use first[] = { { .name = "priority" }, { .name = "gang" } };
    const struct berth_plugin_use second[] = { { .name = "pdb" }, { .name = "predicates" } };
    const struct berth_tier tiers[] = { { first, 2 }, { second, 2 } };
    const char *const list[] = { "allocate", "preempt" };

    for (int i = 0; i < 2; i++) {
        const struct berth_value option = word("victims", i ? "first-tier" : "every-tier");
        const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                            .members = &option,
                                            .n_members = 1 };
        struct world w;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG,
                   &(struct berth_config){ .policy = &policy,
                                           .has_actions = true,
                                           .actions = { list, 2 },
                                           .has_tiers = true,
                                           .tiers = tiers,
                                           .n_tiers = 2 });
        world_queue(&w, "default");
        world_node(&w, "n1", 1);
        add(&w, &(struct job){ .id = "low",
                               .replicas = 1,
                               .least = 1,
                               .cpu = 1,
                               .node = "n1",
                               .budget = { .is_given = true, .value = 1 } });
        add(&w, &(struct job){ .id = "high", .priority = 5, .replicas = 1, .least = 1, .cpu = 1 });
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_evicted, i);
        world_fini(&w);
    }
}

TEST(policy_reservations)
{
    for (int i = 0; i < 2; i++) {
        struct berth_value option = word("reservations", i ? "none" : "durable");
        struct world w;
        begin(&w, &option, "allocate preempt");
        world_node(&w, "n1", 1);
        add(&w, &(struct job){ .id = "low", .replicas = 1, .least = 1, .cpu = 1, .node = "n1" });
        add(&w, &(struct job){ .id = "high", .priority = 5, .replicas = 1, .least = 1, .cpu = 1 });
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_evicted, 1);
        CHECK_EQ(w.out.groups[0].name == NULL, i);
        world_fini(&w);
    }
}

TEST(policy_reservation_ttl_and_boot_time)
{
    static const struct {
        const char *name, *option;
        enum berth_purpose purpose;
        enum node_state state;
        int64_t age_ms;
        bool holds;
    } rows[] = {
        { "eviction in time", "reservationTtl", BERTH_FOR_EVICTION, NODE_READY, 50000, true },
        { "eviction late", "reservationTtl", BERTH_FOR_EVICTION, NODE_READY, 50001, false },
        { "machine in time", "bootTime", BERTH_FOR_MACHINE, NODE_COMING, 50000, true },
        { "machine late", "bootTime", BERTH_FOR_MACHINE, NODE_COMING, 50001, false },
        { "machine that came", "bootTime", BERTH_FOR_MACHINE, NODE_READY, 50001, true },
    };

    ROW_EACH (c, rows) {
        struct berth_value option = word(c->option, "50s");
        struct berth_reservation_part part = { .task = { .job = "a", .group = "task" },
                                               .node = "n1" };
        struct world w;
        begin(&w, &option, "allocate");
        world_tell(
            &w, BERTH_NODE,
            &(struct berth_node){
                .id = "n1", .seq = 1, .state = c->state, .offers = world_amounts(&w, 4, 4) });
        add(&w, &(struct job){ .id = "a", .replicas = 1, .least = 1, .cpu = 1 });
        world_tell(&w, BERTH_RESERVATION,
                   &(struct berth_reservation){ .id = "r-a",
                                                .owner = "a",
                                                .purpose = c->purpose,
                                                .made_at_ms = w.in.now_ms - c->age_ms,
                                                .parts = &part,
                                                .n_parts = 1 });
        world_cycle(&w);
        CHECK_EQ(w.out.n_groups && w.out.groups[0].kind == BERTH_GROUP_RELEASE, !c->holds);
        world_fini(&w);
    }
}

/* Where a task goes on nodes that score alike: b came first and has more free. */
static const char *goes_to(const char *tie, uint64_t seed)
{
    static const char *const at[] = { "a", "b", "c" };
    const struct berth_plugin_use use = { .name = "predicates" };
    const struct berth_tier tier = { &use, 1 };
    const struct berth_value option = word("tie", tie);
    const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                        .members = &option,
                                        .n_members = 1 };
    const char *const list[] = { "allocate" };
    const char *node = "";
    struct world w;

    world_init(&w);
    w.in.seed = seed;
    world_tell(&w, BERTH_CONFIG,
               &(struct berth_config){ .policy = &policy,
                                       .has_actions = true,
                                       .actions = { list, 1 },
                                       .has_tiers = true,
                                       .tiers = &tier,
                                       .n_tiers = 1 });
    world_queue(&w, "default");
    world_node(&w, "b", 4);
    world_node(&w, "c", 2);
    world_node(&w, "a", 3);
    add(&w, &(struct job){ .id = "j", .replicas = 1, .least = 1, .cpu = 1 });
    world_cycle(&w);
    for (int i = 0; i < 3; i++)
        node = text_eq(w.out.groups[0].parts[0].node, at[i]) ? at[i] : node;
    world_fini(&w);
    return node;
}

TEST(policy_tie)
{
    bool differs = false;

    CHECK_TEXT(goes_to("id", 0), "a");
    CHECK_TEXT(goes_to("rank", 0), "b");
    CHECK_TEXT(goes_to("spread", 0), "b");
    CHECK_TEXT(goes_to("pack", 0), "c");
    for (uint64_t seed = 1; seed < 20; seed++) {
        CHECK_TEXT(goes_to("hash", seed), goes_to("hash", seed));
        differs = differs || !text_eq(goes_to("hash", seed), goes_to("hash", 0));
    }
    CHECK(differs);
}

TEST(policy_search)
{
    for (int i = 0; i < 2; i++) {
        struct berth_value option = word("search", i ? "sample" : "exact");
        struct world w;
        size_t n_memos = 0;
        begin(&w, &option, "allocate");
        for (int k = 0; k < 250; k++)
            world_node(&w, arena_format(&w.arena, "n%03d", k), 4);
        add(&w, &(struct job){ .id = "j", .replicas = 1, .least = 1, .cpu = 1 });
        world_cycle(&w);
        for (size_t g = 0; g < w.out.n_groups; g++)
            n_memos += w.out.groups[g].kind == BERTH_GROUP_MEMO;
        CHECK_EQ(n_memos, i); /* where the next search begins */
        world_fini(&w);
    }
}

TEST(policy_capacity)
{
    for (int i = 0; i < 2; i++) {
        struct berth_value option = word("capacity", i ? "all" : "usable");
        struct berth_queue_view view;
        struct err err = { 0 };
        struct world w;
        begin(&w, &option, "allocate");
        world_node(&w, "n1", 4);
        world_tell(&w, BERTH_NODE,
                   &(struct berth_node){ .id = "n2",
                                         .seq = 9,
                                         .state = NODE_READY,
                                         .cordoned = true,
                                         .offers = world_amounts(&w, 4, 1) });
        add(&w, &(struct job){ .id = "j", .replicas = 1, .least = 1, .cpu = 1 });
        CHECK_OK(berth_engine_queue(w.engine, &w.in, "default", &w.arena, &view, &err), &err);
        CHECK_TEXT(view.deserved.at[0].name, "cpu");
        CHECK_EQ(view.deserved.at[0].value, i ? 4000 : 2000);
        world_fini(&w);
    }
}

TEST(policy_job_tie_and_aging)
{
    const struct berth_value members[] = { word("step", "1m"), number("max", 3) };
    const struct berth_value aging = {
        .key = "aging", .kind = BERTH_VALUE_OBJECT, .members = members, .n_members = 2
    };
    const struct {
        const char *name, *first;
        struct berth_value option;
        int priority; /* of the later one */
    } rows[] = {
        { "by rank", "late", word("jobTie", "seq"), 0 },
        { "by time", "early", word("jobTie", "created"), 0 },
        { "three minutes are three points", "early", aging, 3 },
        { "and no more", "late", aging, 4 },
    };

    ROW_EACH (c, rows) {
        struct job early = { .id = "early", .replicas = 1, .least = 1, .cpu = 1 };
        struct job late = { .id = "late", .priority = c->priority, .replicas = 1, .least = 1 };
        struct world w;
        early.created_at_ms = c->priority ? 1000 : 900000;
        late.created_at_ms = 999000;
        late.cpu = 1;
        begin(&w, &c->option, "allocate");
        world_node(&w, "n1", 1);
        add(&w, c->priority ? &early : &late);
        add(&w, c->priority ? &late : &early);
        world_cycle(&w);
        CHECK_TEXT(w.out.groups[0].job, c->first);
        world_fini(&w);
    }
}

TEST(policy_inqueue_timeout_and_enqueue)
{
    const struct {
        const char *name;
        struct berth_value option;
        bool given_back;
    } rows[] = {
        { "in time", word("inqueueTimeout", "901s"), false },
        { "late", word("inqueueTimeout", "900s"), true },
        { "never", word("inqueueTimeout", "never"), false },
        { "as the reference does", word("enqueue", "reference"), false },
        { "bounded", word("enqueue", "bounded"), true },
    };

    ROW_EACH (c, rows) {
        struct berth_task_group group = { .name = "task", .replicas = 1 };
        struct world w;
        size_t n = 0;
        begin(&w, &c->option, "enqueue allocate");
        world_node(&w, "n1", 1);
        group.asks = world_amounts(&w, 2, 1);
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){ .id = "j",
                                        .seq = 1,
                                        .queue = "default",
                                        .phase = BERTH_PHASE_INQUEUE,
                                        .admitted_at_ms = w.in.now_ms - 900000,
                                        .has_min_resources = true,
                                        .min_resources = group.asks,
                                        .groups = &group,
                                        .n_groups = 1 });
        world_cycle(&w);
        for (size_t i = 0; i < w.out.n_groups; i++)
            n += w.out.groups[i].kind == BERTH_GROUP_UNADMIT;
        CHECK_EQ(n, c->given_back);
        world_fini(&w);
    }
}

/* By sum the victim's core is enough; what holds the port stays. */
TEST(policy_evict)
{
    static const uint16_t port = 8080;
    const char *const list[] = { "reclaim" };
    const struct berth_plugin_use uses[] = { { .name = "predicates" }, { .name = "conformance" } };
    const struct berth_plugin_use gang = { .name = "gang",
                                           .has_enabled = true,
                                           .enabled = BERTH_HOOK_BIT(BERTH_HOOK_JOB_STARVING) |
                                                      BERTH_HOOK_BIT(BERTH_HOOK_JOB_PIPELINED) };
    const struct berth_tier tiers[] = { { &gang, 1 }, { uses, 2 } };

    for (int i = 0; i < 2; i++) {
        const struct berth_value option = word("evict", i ? "by-sum" : "only-if-placed");
        const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                            .members = &option,
                                            .n_members = 1 };
        struct berth_task_group group = {
            .name = "task", .replicas = 1, .host_ports = &port, .n_host_ports = 1
        };
        struct world w;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG,
                   &(struct berth_config){ .profile = "volcano",
                                           .policy = &policy,
                                           .has_actions = true,
                                           .actions = { list, 1 },
                                           .has_tiers = true,
                                           .tiers = tiers,
                                           .n_tiers = 2 });
        world_queue(&w, "default");
        world_queue(&w, "other");
        world_node(&w, "n1", 2);
        group.asks = world_amounts(&w, 1, 1);
        for (int k = 0; k < 2; k++)
            world_tell(&w, BERTH_JOB,
                       &(struct berth_job){ .id = k ? "newcomer" : "holder",
                                            .seq = ++w.seq,
                                            .queue = "other",
                                            .phase = BERTH_PHASE_INQUEUE,
                                            .groups = &group,
                                            .n_groups = 1 });
        world_tell(&w, BERTH_TASK,
                   &(struct berth_task){ .job = "holder",
                                         .group = "task",
                                         .attempt = 1,
                                         .node = "n1",
                                         .state = BERTH_TASK_RUNNING });
        add(&w, &(struct job){ .id = "victim", .replicas = 1, .least = 1, .cpu = 1, .node = "n1" });
        world_cycle(&w);
        CHECK_EQ(w.out.counts.tasks_evicted, i);
        world_fini(&w);
    }
}

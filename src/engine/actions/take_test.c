#include "engine/testing.h"

/* A job of tasks of one core, all running on nodes in turn. */
static void running(struct world *w, const char *id, const char *queue, int priority,
                    uint32_t replicas, uint32_t least, const char *const *nodes, size_t n_nodes)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = replicas };
    struct berth_job job = { .id = id,
                             .seq = ++w->seq,
                             .queue = queue,
                             .priority = priority,
                             .min_available = least,
                             .phase = BERTH_PHASE_RUNNING,
                             .groups = &group,
                             .n_groups = 1 };

    group.asks = world_amounts(w, 1, 1);
    world_tell(w, BERTH_JOB, &job);
    for (uint32_t i = 0; i < replicas; i++)
        world_tell(w, BERTH_TASK,
                   &(struct berth_task){ .job = id,
                                         .group = "task",
                                         .index = i,
                                         .attempt = 1,
                                         .node = nodes[i % n_nodes],
                                         .started_at_ms = 1000,
                                         .state = BERTH_TASK_RUNNING });
}

static void waiting(struct world *w, const char *id, const char *queue, int priority,
                    uint32_t replicas, uint32_t least, int64_t cpu)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = replicas };
    struct berth_job job = { .id = id,
                             .seq = ++w->seq,
                             .queue = queue,
                             .priority = priority,
                             .min_available = least,
                             .groups = &group,
                             .n_groups = 1 };

    group.asks = world_amounts(w, cpu, 1);
    world_tell(w, BERTH_JOB, &job);
}

/* How many tasks of a job are evicted. */
static size_t evicted(const struct world *w, const char *job)
{
    size_t n = 0;

    for (size_t i = 0; i < w->out.n_groups; i++)
        for (size_t k = 0; k < w->out.groups[i].n_parts; k++)
            n += w->out.groups[i].parts[k].kind == BERTH_PART_EVICT &&
                 text_eq(w->out.groups[i].parts[k].task.job, job);
    return n;
}

static const char *const one[] = { "n1" };
static const char *const both[] = { "n1", "n2" };

TEST(take_evicts_no_more_than_is_needed_and_reserves_in_the_same_group)
{
    struct world w;
    const struct berth_group *group;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    running(&w, "low", "default", 1, 4, 1, one, 1);
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_EQ(w.out.n_groups, 2);
    group = &w.out.groups[0];
    CHECK_EQ(group->kind, BERTH_GROUP_EVICT);
    CHECK_TEXT(group->job, "high");
    CHECK_TEXT(group->reason, "preempt");
    CHECK_EQ(group->n_parts, 3);
    CHECK_EQ(evicted(&w, "low"), 2);
    CHECK_EQ(group->parts[2].kind, BERTH_PART_RESERVE);
    CHECK_TEXT(group->parts[2].node, "n1");
    CHECK_TEXT(world_waits(&w, "high"), "WAITING_FOR_EVICTION");
    world_fini(&w);
}

TEST(take_leaves_the_equally_urgent_alone)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    running(&w, "a", "default", 5, 4, 1, one, 1);
    waiting(&w, "b", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "b"), "INSUFFICIENT_CPU");
    world_fini(&w);
}

/* Where nobody speaks for gangs, `victimUnit: task` takes them apart. */
TEST(take_ends_a_task_alone_where_tasks_are_the_unit)
{
    static const char *const unit[] = { "spare-or-whole", "task" };
    static const char *const actions[] = { "allocate", "preempt" };
    static const struct berth_plugin_use uses[] = { { .name = "priority" },
                                                    { .name = "predicates" } };
    static const struct berth_tier tiers[] = { { uses, COUNT_OF(uses) } };

    for (size_t i = 0; i < COUNT_OF(unit); i++) {
        struct world w;
        struct berth_value policy[] = {
            { .key = "victimUnit", .kind = BERTH_VALUE_TEXT, .text = unit[i] },
            { .key = "preemptFor", .kind = BERTH_VALUE_TEXT, .text = "all" },
        };
        world_init(&w);
        world_tell(&w, BERTH_CONFIG,
                   &(struct berth_config){
                       .has_actions = true,
                       .actions = { actions, COUNT_OF(actions) },
                       .has_tiers = true,
                       .tiers = tiers,
                       .n_tiers = COUNT_OF(tiers),
                       .policy = &(struct berth_value){ .kind = BERTH_VALUE_OBJECT,
                                                        .members = policy,
                                                        .n_members = COUNT_OF(policy) } });
        world_queue(&w, "default");
        world_node(&w, "n1", 4);
        running(&w, "gang", "default", 1, 4, 4, one, 1);
        waiting(&w, "high", "default", 5, 1, 1, 1);
        world_cycle(&w);
        CHECK_EQ(evicted(&w, "gang"), i ? 1 : 4);
        world_fini(&w);
    }
}

TEST(take_ends_a_gang_whole_or_not_at_all)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    world_node(&w, "n2", 2);
    running(&w, "gang", "default", 1, 4, 4, both, 2);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "gang"), 4);
    world_fini(&w);
}

/* The second of the gang goes with the first, and then there is room without the least urgent: so n1 costs two
 * tasks, as n2 does, and not three. */
TEST(take_counts_what_goes_with_one)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 3);
    world_node(&w, "n2", 2);
    running(&w, "gang", "default", 1, 2, 2, one, 1);
    running(&w, "least", "default", 0, 1, 1, one, 1);
    running(&w, "x", "default", 1, 1, 1, both + 1, 1);
    running(&w, "y", "default", 1, 1, 1, both + 1, 1);
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "gang"), 2);
    CHECK_EQ(evicted(&w, "least"), 0);
    CHECK_EQ(evicted(&w, "x") + evicted(&w, "y"), 0);
    world_fini(&w);
}

TEST(take_prefers_what_costs_least)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    world_node(&w, "n2", 2);
    running(&w, "dear", "default", 3, 2, 1, one, 1);
    running(&w, "cheap", "default", 1, 2, 1, both + 1, 1);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "dear"), 0);
    CHECK_EQ(evicted(&w, "cheap"), 1);
    world_fini(&w);
}

TEST(take_evicts_nobody_in_vain)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    world_node(&w, "n2", 2);
    running(&w, "low", "default", 1, 2, 1, one, 1);
    running(&w, "equal", "default", 5, 2, 1, both + 1, 1);
    waiting(&w, "high", "default", 5, 3, 3, 1); /* two of the three could have room */
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "high"), "GANG_INCOMPLETE");
    world_fini(&w);
}

TEST(take_reclaims_within_the_fair_share)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "q1");
    world_queue(&w, "q2");
    world_node(&w, "n1", 4);
    running(&w, "a", "q1", 0, 4, 1, one, 1);
    waiting(&w, "b", "q2", 0, 4, 1, 1);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "a"), 1); /* for its minimum, not to grow */
    CHECK_TEXT(w.out.groups[0].reason, "reclaim");
    waiting(&w, "c", "q2", 0, 1, 1, 3); /* more than q2's half */
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "b" });
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "a"), 0);
    world_fini(&w);
}

/* A running job of one task. */
static void running_one(struct world *w, const char *id, const char *queue, int priority,
                        int64_t cpu, const char *node)
{
    waiting(w, id, queue, priority, 1, 1, cpu);
    world_tell(w, BERTH_TASK,
               &(struct berth_task){ .job = id,
                                     .group = "task",
                                     .attempt = 1,
                                     .node = node,
                                     .started_at_ms = 1000,
                                     .state = BERTH_TASK_RUNNING });
}

/*
 * Full nodes; queue `safe` holds four cores and is guaranteed three, so that who takes two of them
 * leaves one that must stay free. It is the first to lose tasks.
 */
static void begin_guarded(struct world *w)
{
    world_init(w);
    world_tell(w, BERTH_QUEUE,
               &(struct berth_queue){
                   .name = "safe", .seq = 1, .priority = -1, .guarantee = world_amounts(w, 3, 0) });
    world_tell(w, BERTH_QUEUE, &(struct berth_queue){ .name = "other", .seq = 2, .weight = 1 });
    world_tell(
        w, BERTH_QUEUE,
        &(struct berth_queue){ .name = "mine", .seq = 3, .deserved = world_amounts(w, 4, 4) });
    world_node(w, "n1", 5);
    world_node(w, "n2", 3);
    running_one(w, "s1", "safe", 0, 2, "n1");
    running_one(w, "s2", "safe", 0, 2, "n2");
    waiting(w, "j", "mine", 0, 1, 1, 2);
}

/* A running job of queue `other`. */
struct other {
    const char *id;
    int priority;
    int64_t cpu;
    const char *node;
};

static void check_guarded(const struct other others[3], const char *groups)
{
    for (int cold = 0; cold < 2; cold++) {
        struct world w;
        begin_guarded(&w);
        for (int i = 0; i < 3; i++)
            running_one(&w, others[i].id, "other", others[i].priority, others[i].cpu,
                        others[i].node);
        w.in.is_cold = cold;
        world_cycle(&w);
        CHECK_TEXT(world_groups(&w), groups);
        world_fini(&w);
    }
}

TEST(take_leaves_a_guarantee_free_though_amounts_would_fit)
{
    check_guarded(
        (struct other[]){ { "low", 0, 2, "n1" }, { "high1", 5, 1, "n1" }, { "high2", 5, 1, "n2" } },
        "evict low/task.0>n1,j/task.0>n1");
}

TEST(take_gives_back_nobody_whose_room_a_guarantee_needs)
{
    check_guarded(
        (struct other[]){ { "high", 5, 2, "n1" }, { "low1", 0, 1, "n1" }, { "low2", 0, 1, "n2" } },
        "evict s1/task.0>n1,low1/task.0>n1,j/task.0>n1");
}

TEST(take_spares_what_is_young)
{
    struct world w;
    struct berth_queue queue = { .name = "default", .min_runtime_ms = 2000000 };

    world_init(&w);
    world_tell(&w, BERTH_QUEUE, &queue);
    world_node(&w, "n1", 1);
    running(&w, "low", "default", 1, 1, 1, one, 1);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "low"), 0);
    CHECK_EQ(w.out.wake_at_ms, 2001000);
    w.in.now_ms = 2001000;
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "low"), 1);
    world_fini(&w);
}

/* What was stopped is pending again at the end of the cycle in which it was. */
static void end_releasing(struct world *w)
{
    for (size_t i = 0; i < w->out.n_groups; i++)
        for (size_t k = 0; k < w->out.groups[i].n_parts; k++) {
            const struct berth_part *part = &w->out.groups[i].parts[k];
            if (part->kind == BERTH_PART_EVICT)
                world_tell(w, BERTH_TASK,
                           &(struct berth_task){ .job = part->task.job,
                                                 .group = part->task.group,
                                                 .index = part->task.index,
                                                 .attempt = part->task.attempt,
                                                 .evictions = 1 });
        }
}

TEST(take_binds_the_owner_on_the_room_that_was_freed)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    running(&w, "low", "default", 1, 2, 2, one, 1);
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "low"), 2);
    world_accept(&w, BERTH_TASK_RUNNING);
    world_cycle(&w); /* the victims are not gone yet */
    CHECK_TEXT(world_groups(&w), "");
    CHECK_TEXT(world_waits(&w, "high"), "WAITING_FOR_EVICTION");
    waiting(&w, "late", "default", 9, 1, 1, 1); /* more urgent, and too late */
    for (uint32_t i = 0; i < 2; i++)
        world_end(&w, BERTH_TASK,
                  &(struct berth_task){ .job = "low", .group = "task", .index = i });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind high/task.0>n1");
    CHECK_TEXT(w.out.groups[0].parts[0].reservation, "r-high");
    world_fini(&w);
}

TEST(take_releases_room_that_nobody_waits_for)
{
    struct world w;
    struct berth_reservation_part part = { .task = { .job = "a", .group = "task" }, .node = "n1" };
    struct berth_reservation r = {
        .id = "r-a", .owner = "a", .until_ms = 1000500, .parts = &part, .n_parts = 1
    };

    world_init(&w);
    world_queue(&w, "default");
    world_tell(&w, BERTH_RESERVATION, &r);
    world_cycle(&w);
    CHECK_EQ(w.out.groups[0].kind, BERTH_GROUP_RELEASE);
    CHECK_TEXT(w.out.groups[0].reason, "OWNER_GONE");
    waiting(&w, "a", "default", 0, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(w.out.groups[0].reason, "NODE_CHANGED");
    w.in.now_ms = 1000501;
    world_cycle(&w);
    CHECK_TEXT(w.out.groups[0].reason, "TIMED_OUT");
    world_fini(&w);
}

/* One victim makes room for two of a gang. */
TEST(take_uses_all_that_an_eviction_frees)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    waiting(&w, "wide", "default", 1, 1, 1, 4);
    world_cycle(&w);
    world_accept(&w, BERTH_TASK_RUNNING);
    waiting(&w, "gang", "default", 5, 2, 2, 2);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "wide"), 1);
    CHECK_EQ(w.out.n_promised, 2);
    world_fini(&w);
}

/* --- Room that is held for others */

/* A job whose tasks are being stopped, one on each node in turn: their room is what is held. */
static void leaving(struct world *w, const char *id, uint32_t replicas, const char *const *nodes,
                    size_t n_nodes)
{
    running(w, id, "default", 0, replicas, 1, nodes, n_nodes);
    for (uint32_t i = 0; i < replicas; i++)
        world_tell(w, BERTH_TASK,
                   &(struct berth_task){ .job = id,
                                         .group = "task",
                                         .index = i,
                                         .attempt = 1,
                                         .node = nodes[i % n_nodes],
                                         .state = BERTH_TASK_RELEASING });
}

/* Holds room for the first n tasks of a job, one on each node in turn. */
static void hold(struct world *w, const char *owner, uint32_t n, const char *const *nodes,
                 size_t n_nodes)
{
    struct berth_reservation_part parts[8] = { 0 };

    for (uint32_t i = 0; i < n; i++)
        parts[i] =
            (struct berth_reservation_part){ .task = { .job = owner, .group = "task", .index = i },
                                             .node = nodes[i % n_nodes] };
    world_tell(w, BERTH_RESERVATION,
               &(struct berth_reservation){ .id = arena_format(&w->arena, "r-%s", owner),
                                            .seq = ++w->seq,
                                            .owner = owner,
                                            .parts = parts,
                                            .n_parts = n });
}

/* The reservations that a group takes, "r-a r-b". */
static const char *taken(struct world *w, size_t group)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; group < w->out.n_groups && i < w->out.groups[group].n_takes; i++)
        str_addf(&text, "%s%s", i ? " " : "", w->out.groups[group].takes[i].reservation);
    return arena_text(&w->arena, str_text(&text));
}

/* Whose end a part of a group waits for, "a/task.0#1 b/task.1#1". */
static const char *waits(struct world *w, size_t group, size_t part)
{
    const struct berth_part *p = &w->out.groups[group].parts[part];
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < p->n_waits; i++)
        str_addf(&text, "%s%s/%s.%u#%u", i ? " " : "", p->waits[i].job, p->waits[i].group,
                 p->waits[i].index, p->waits[i].attempt);
    return arena_text(&w->arena, str_text(&text));
}

/* n1 is being freed for `low`, n2 is in use by a job that is less urgent still. */
static void set_held(struct world *w)
{
    world_init(w);
    world_queue(w, "default");
    world_node(w, "n1", 2);
    world_node(w, "n2", 2);
    leaving(w, "gone", 2, one, 1);
    running(w, "runs", "default", 0, 2, 2, both + 1, 1);
    waiting(w, "low", "default", 1, 1, 1, 2);
    hold(w, "low", 1, one, 1);
}

TEST(take_has_what_is_held_before_who_runs)
{
    struct world w;
    const struct berth_group *group;

    set_held(&w);
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "reserve high/task.0>n1");
    group = &w.out.groups[0];
    CHECK_TEXT(group->name, "r-high");
    CHECK_TEXT(group->reason, "preempt");
    CHECK_EQ(group->n_takes, 1);
    CHECK_TEXT(group->takes[0].reservation, "r-low");
    CHECK_TEXT(group->takes[0].owner, "low");
    CHECK_EQ(group->takes[0].seq, w.seq - 1); /* told before `high` */
    CHECK_EQ(w.out.counts.rooms_taken, 1);
    CHECK_TEXT(waits(&w, 0, 0), "gone/task.0#1 gone/task.1#1");
    CHECK_TEXT(world_waits(&w, "high"), "WAITING_FOR_EVICTION");
    CHECK_TEXT(world_waits(&w, "low"),
               "INSUFFICIENT_CPU"); /* and in this cycle it takes nobody's */
    world_accept(&w, BERTH_TASK_RUNNING);
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "runs"), 2); /* in the next it does */
    CHECK_TEXT(world_waits(&w, "low"), "WAITING_FOR_EVICTION");
    world_fini(&w);
}

TEST(take_leaves_what_is_held_for_the_equally_urgent)
{
    struct world w;

    set_held(&w);
    waiting(&w, "equal", "default", 1, 1, 1, 2);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.rooms_taken, 0);
    CHECK_EQ(evicted(&w, "runs"), 2);
    world_fini(&w);
}

/* Who may not be evicted, or evicts nobody, is as before. */
TEST(take_leaves_what_is_held_for_who_is_spared)
{
    struct world w;
    struct berth_task_group group = { .name = "task", .replicas = 1, .not_preemptable = true };
    struct berth_job low = { .id = "low", .seq = 1, .queue = "default", .groups = &group };

    set_held(&w);
    low.priority = low.min_available = 1;
    low.n_groups = 1;
    group.asks = world_amounts(&w, 2, 1);
    world_tell(&w, BERTH_JOB, &low);
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.rooms_taken, 0);
    CHECK_EQ(evicted(&w, "runs"), 2);
    world_fini(&w);

    set_held(&w);
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_tell(&w, BERTH_QUEUE, &(struct berth_queue){ .name = "default", .never_preempts = true });
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    world_fini(&w);
}

/* Neither a budget nor a time to run counts for who does not run. */
TEST(take_minds_no_budget_of_what_is_only_held)
{
    struct world w;
    struct berth_task_group group = { .name = "task", .replicas = 1 };
    struct berth_job low = { .id = "low", .seq = 1, .queue = "default", .priority = 1 };

    set_held(&w);
    group.asks = world_amounts(&w, 2, 1);
    low.groups = &group;
    low.min_available = 1;
    low.n_groups = 1;
    low.budget = (struct berth_budget){ .is_given = true, .value = 1 };
    world_tell(&w, BERTH_JOB, &low);
    world_tell(&w, BERTH_QUEUE,
               &(struct berth_queue){ .name = "default", .min_runtime_ms = 100000000 });
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_TEXT(taken(&w, 0), "r-low");
    CHECK_EQ(w.out.counts.tasks_evicted, 0);
    world_fini(&w);
}

TEST(take_has_all_of_what_is_held_for_a_gang)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 1);
    leaving(&w, "gone", 2, both, 2);
    waiting(&w, "gang", "default", 1, 2, 2, 1);
    hold(&w, "gang", 2, both, 2);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "reserve high/task.0>n1");
    CHECK_TEXT(taken(&w, 0), "r-gang");
    CHECK_EQ(w.out.n_promised, 1);
    CHECK_TEXT(w.out.promised[0].task.job, "high");
    CHECK_TEXT(world_waits(&w, "gang"), "BEHIND_HIGHER_RANK"); /* all of it waits anew */
    world_fini(&w);
}

/* What is held for a gang and free waits for the rest; who takes it begins there and then. */
TEST(take_binds_on_held_room_that_is_free)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 1);
    leaving(&w, "gone", 1, both + 1, 1);
    waiting(&w, "gang", "default", 1, 2, 2, 1);
    hold(&w, "gang", 2, both, 2);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind high/task.0>n1");
    CHECK_TEXT(taken(&w, 0), "r-gang");
    CHECK_EQ(w.out.n_promised, 0);
    world_fini(&w);
}

TEST(take_has_what_is_held_for_the_least_urgent)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 1);
    leaving(&w, "gone", 2, both, 2);
    waiting(&w, "mid", "default", 3, 1, 1, 1);
    hold(&w, "mid", 1, both, 1);
    waiting(&w, "low", "default", 1, 1, 1, 1);
    hold(&w, "low", 1, both + 1, 1);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "reserve high/task.0>n2");
    CHECK_TEXT(taken(&w, 0), "r-low");
    world_fini(&w);
}

/* Of what is held on a node only so much goes as is needed, and a victim only if that is too little. */
TEST(take_has_no_more_of_what_is_held_than_it_needs)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 3);
    leaving(&w, "gone", 2, one, 1);
    running(&w, "runs", "default", 0, 1, 1, one, 1);
    waiting(&w, "mid", "default", 3, 1, 1, 1);
    hold(&w, "mid", 1, one, 1);
    waiting(&w, "low", "default", 1, 1, 1, 1);
    hold(&w, "low", 1, one, 1);
    waiting(&w, "high", "default", 5, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(taken(&w, 0), "r-low");
    CHECK_EQ(w.out.counts.tasks_evicted, 0);
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "high" });
    waiting(&w, "wide", "default", 5, 1, 1, 3);
    world_cycle(&w);
    CHECK_EQ(w.out.groups[0].kind, BERTH_GROUP_EVICT);
    CHECK_TEXT(taken(&w, 0), "r-low r-mid");
    CHECK_EQ(evicted(&w, "runs"), 1);
    world_fini(&w);
}

/* A victim and who is stopping already are waited for where it takes both; who frees nothing that is short
 * is not, nor is anybody where the room is there. */
TEST(take_waits_for_all_whose_end_it_takes)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 3);
    world_node(&w, "n2", 1);
    leaving(&w, "gone", 1, one, 1);
    running(&w, "runs", "default", 0, 1, 1, one, 1);
    running(&w, "stays", "default", 9, 1, 1, one, 1);
    waiting(&w, "gang", "default", 5, 3, 3, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w),
               "evict runs/task.0>n1,gang/task.0>n2,gang/task.1>n1,gang/task.2>n1");
    CHECK_TEXT(waits(&w, 0, 1), "");
    CHECK_TEXT(waits(&w, 0, 2), "runs/task.0#1 gone/task.0#1");
    world_fini(&w);
}

TEST(take_reclaims_what_is_held_within_the_fair_share)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_queue(&w, "q1");
    world_queue(&w, "q2");
    world_node(&w, "n1", 2);
    leaving(&w, "gone", 2, one, 1);
    waiting(&w, "a", "q1", 0, 2, 2, 1);
    hold(&w, "a", 2, one, 1);
    waiting(&w, "b", "q2", 0, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "reserve b/task.0>n1");
    CHECK_TEXT(taken(&w, 0), "r-a");
    CHECK_TEXT(w.out.groups[0].reason, "reclaim");
    /* It is not taken back. */
    world_accept(&w, BERTH_TASK_RUNNING);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    world_fini(&w);

    world_init(&w);
    world_queue(&w, "default");
    world_tell(&w, BERTH_QUEUE,
               &(struct berth_queue){ .name = "q1", .seq = 1, .not_reclaimable = true });
    world_queue(&w, "q2");
    world_node(&w, "n1", 2);
    leaving(&w, "gone", 2, one, 1);
    waiting(&w, "a", "q1", 0, 2, 2, 1);
    hold(&w, "a", 2, one, 1);
    waiting(&w, "b", "q2", 0, 1, 1, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "");
    world_fini(&w);
}

TEST(take_has_a_machine_on_its_way)
{
    static const char *const machine[] = { "m1" };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_tell(&w, BERTH_NODE,
               &(struct berth_node){ .id = "m1",
                                     .seq = ++w.seq,
                                     .state = NODE_COMING,
                                     .order = "m1",
                                     .offers = world_amounts(&w, 2, 1 << 20) });
    waiting(&w, "low", "default", 1, 1, 1, 2);
    hold(&w, "low", 1, machine, 1);
    world_cycle(&w);
    CHECK_TEXT(world_waits(&w, "low"), "WAITING_FOR_MACHINE");
    waiting(&w, "high", "default", 5, 1, 1, 2);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "reserve high/task.0>m1");
    CHECK_TEXT(taken(&w, 0), "r-low");
    CHECK_TEXT(world_waits(&w, "high"), "WAITING_FOR_MACHINE");
    world_fini(&w);
}

/* `a` is held half its room on a machine on its way, `b` half of its on a node: what one finds too little
 * beside what it lets go says nothing of the other. */
TEST(take_tries_who_is_alike_by_what_is_held_for_it)
{
    static const char *const machine[] = { "m1" };
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_tell(&w, BERTH_NODE,
               &(struct berth_node){ .id = "m1",
                                     .seq = ++w.seq,
                                     .state = NODE_COMING,
                                     .order = "m1",
                                     .offers = world_amounts(&w, 1, 1 << 20) });
    world_node(&w, "n1", 1);
    world_node(&w, "n2", 1);
    waiting(&w, "a", "default", 0, 2, 2, 1);
    waiting(&w, "b", "default", 0, 2, 2, 1);
    hold(&w, "a", 1, machine, 1);
    hold(&w, "b", 1, one, 1);
    world_cycle(&w);
    CHECK(strstr(world_groups(&w), "bind b/task.0>n1,b/task.1>n2") != NULL);
    world_fini(&w);
}

TEST(take_comes_to_rest_when_nothing_arrives)
{
    uint64_t random = test_seed();

    for (int world = 0; world < 60; world++) {
        struct world w;
        size_t n_jobs = 3 + test_random(&random) % 8, evictions = 0;
        world_init(&w);
        world_queue(&w, "q0");
        world_queue(&w, "q1");
        world_queue(&w, "q2");
        for (uint64_t i = 0; i < 3; i++)
            world_node(&w, arena_format(&w.arena, "n%d", (int)i),
                       1 + (int64_t)(test_random(&random) % 4));
        for (size_t i = 0; i < n_jobs; i++) {
            uint32_t replicas = 1 + (uint32_t)(test_random(&random) % 3);
            waiting(&w, arena_format(&w.arena, "j%zu", i),
                    arena_format(&w.arena, "q%d", (int)(test_random(&random) % 3)),
                    (int)(test_random(&random) % 3), replicas,
                    1 + (uint32_t)(test_random(&random) % replicas),
                    1 + (int64_t)(test_random(&random) % 2));
        }
        for (int cycle = 0; cycle < 40; cycle++) {
            world_cycle(&w);
            evictions += w.out.counts.tasks_evicted;
            world_accept(&w, BERTH_TASK_RUNNING);
            end_releasing(&w);
            w.in.now_ms += 1000;
        }
        CHECK_EQ(w.out.counts.tasks_evicted, 0); /* it ended */
        CHECK(evictions <= 3 * n_jobs);
        world_fini(&w);
    }
}

TEST(take_tries_nobody_for_a_gang_that_would_pass_its_queues_share)
{
    char names[30][4];
    struct world w;

    world_init(&w);
    world_queue(&w, "mine");
    world_queue(&w, "other");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *node = names[i];
        snprintf(names[i], sizeof(names[i]), "n%zu", i);
        world_node(&w, node, 4);
        running(&w, node, "other", 1, 4, 1, &node, 1);
    }
    waiting(&w, "gang", "mine", 5, 61, 61, 1); /* half of the cores are 60 */
    world_cycle(&w);
    CHECK_EQ(evicted(&w, "n0"), 0);
    CHECK(w.out.counts.steps < 200); /* once each node, and not for each of its members */
    world_end(&w, BERTH_JOB, &(struct berth_job){ .id = "gang" });
    waiting(&w, "fits", "mine", 5, 60, 60, 1);
    world_cycle(&w);
    CHECK_EQ(w.out.counts.tasks_evicted, 60);
    world_fini(&w);
}

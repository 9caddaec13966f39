#include "engine/testing.h"

/*
 * Of five cores queue `a` may have four, as `b/new` wants one. `a/gang` has four, `a/lo` one, and `a/urgent`
 * waits, more urgent than both. It may evict `a/lo` only if what is left of `a` beside what could still be taken
 * from `a/gang` is within the share: else it would be `a/urgent` that goes for `b/new`.
 */
#define URGENT   "evict lo/task.0>n1,urgent/task.0>n1"
#define SPARE(i) "evict gang/others." #i ">n1,urgent/task.0>n1"
#define NOBODY   ""
#define NEW      "evict lo/task.0>n1,new/task.0>n1"

static const struct {
    const char *name;
    struct berth_job gang;
    uint32_t n_spared; /* of its four tasks, by a group that says so */
    int lo;            /* the priority of `a/lo` */
    const char *first; /* of the groups of the answer */
} rows[] = {
    { "it may go whole", { .min_available = 4 }, 0, 0, URGENT },
    { "it is never evicted", { .min_available = 4, .preemptable = BERTH_NO }, 0, 0, NEW },
    { "a part of it is never evicted, and it needs all", { .min_available = 4 }, 1, 0, NEW },
    { "a part of it is never evicted, and it needs no other",
      { .min_available = 2 },
      2,
      0,
      SPARE(1) },
    { "likewise, and what it can spare yet is all that could be taken",
      { .min_available = 2 },
      2,
      5,
      SPARE(1) },
    { "all of it is never evicted, whatever it needs", { .min_available = 1 }, 4, 0, NEW },
    { "its budget spares none",
      { .min_available = 1, .budget = { .is_given = true, .value = 4 } },
      0,
      0,
      NOBODY },
    { "its budget spares one",
      { .min_available = 1, .budget = { .is_given = true, .value = 3 } },
      0,
      0,
      SPARE(3) },
    { "its budget spares one, and it needs all",
      { .min_available = 4, .budget = { .is_given = true, .value = 3 } },
      0,
      0,
      NEW },
    { "it keeps the system alive",
      { .min_available = 4, .priority_class = "system-node-critical" },
      0,
      0,
      NEW },
};

static void tell(struct world *w, struct berth_job job, struct berth_task_group *groups, size_t n)
{
    for (size_t i = 0; i < n; i++)
        groups[i].asks = world_amounts(w, 1, 0);
    job.seq = ++w->seq;
    job.groups = groups;
    job.n_groups = n;
    world_tell(w, BERTH_JOB, &job);
}

static void run(struct world *w, const char *job, const char *group, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        world_tell(w, BERTH_TASK,
                   &(struct berth_task){ .job = job,
                                         .group = group,
                                         .index = i,
                                         .attempt = 1,
                                         .state = BERTH_TASK_RUNNING,
                                         .node = "n1" });
}

static const char *first_group(struct world *w)
{
    char *groups = arena_text(&w->arena, world_groups(w));

    groups[strcspn(groups, ";")] = '\0';
    return groups;
}

static const char *const actions[] = { "enqueue", "allocate", "gangpreempt", "gangreclaim" };
static const struct berth_config config = { .has_actions = true,
                                            .actions = { actions, COUNT_OF(actions) } };

TEST(victims_stay_for_who_would_be_taken_back)
{
    ROW_EACH (c, rows) {
        struct berth_task_group parts[] = { { .name = "spared", .not_preemptable = true },
                                            { .name = "others" } };
        struct berth_task_group one = { .name = "task", .replicas = 1 };
        struct berth_job gang = c->gang;
        struct world w;
        world_init(&w);
        world_tell(&w, BERTH_CONFIG, &config);
        world_queue(&w, "a");
        world_queue(&w, "b");
        world_node(&w, "n1", 5);
        gang.id = "gang";
        gang.queue = "a";
        parts[0].replicas = c->n_spared;
        parts[1].replicas = 4 - c->n_spared;
        tell(&w, gang, parts, 2);
        run(&w, "gang", "spared", parts[0].replicas);
        run(&w, "gang", "others", parts[1].replicas);
        tell(&w, (struct berth_job){ .id = "lo", .queue = "a", .priority = c->lo }, &one, 1);
        run(&w, "lo", "task", 1);
        tell(&w, (struct berth_job){ .id = "urgent", .queue = "a", .priority = 5 }, &one, 1);
        tell(&w, (struct berth_job){ .id = "new", .queue = "b" }, &one, 1);
        world_cycle(&w);
        CHECK_TEXT(first_group(&w), c->first);
        world_fini(&w);
    }
}

/* A gang that cannot spare anybody goes whole or not at all: not with a member that is spared evictions. */
TEST(victims_are_no_gang_with_a_member_that_is_spared)
{
    for (int reclaim = 0; reclaim < 2; reclaim++) {
        for (uint32_t n_spared = 0; n_spared < 2; n_spared++) {
            struct berth_task_group parts[] = { { .name = "spared", .not_preemptable = true },
                                                { .name = "others" } };
            struct berth_task_group one = { .name = "task", .replicas = 1 };
            struct berth_job gang = { .id = "gang", .queue = "a", .min_available = 3 };
            struct world w;
            world_init(&w);
            world_queue(&w, "a");
            world_queue(&w, "b");
            world_node(&w, "n1", 3);
            parts[0].replicas = n_spared;
            parts[1].replicas = 3 - n_spared;
            tell(&w, gang, parts, 2);
            run(&w, "gang", "spared", parts[0].replicas);
            run(&w, "gang", "others", parts[1].replicas);
            tell(&w, (struct berth_job){ .id = "new", .queue = reclaim ? "b" : "a", .priority = 5 },
                 &one, 1);
            world_cycle(&w);
            CHECK_EQ(w.out.counts.tasks_evicted, n_spared ? 0 : 3);
            world_fini(&w);
        }
    }
}

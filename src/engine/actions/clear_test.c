/*
 * By brute force on small clusters: of all sets of victims within the rules none costs less than the one that is
 * taken, and one is taken where there is one.
 *
 * BERTH_PROOF_ROUNDS says how many clusters are drawn.
 */
#include <stdlib.h>

#include "engine/take.h"
#include "engine/testing.h"

enum { NODES = 2, JOBS = 14, TASKS = 4, QUEUES = 3, CPU = 0, MEMORY, DIMS, NOW_MS = 1000000 };

static const char *const dim_names[DIMS] = { "cpu", "memory" };

struct drawn_task {
    int64_t asks[DIMS];
    int node;
    int64_t started_at_ms;
    bool is_lead; /* its role is `lead` */
    bool goes;
};

struct drawn_job {
    int priority, queue;
    uint32_t n, least, least_leads;
    struct berth_budget budget;
    struct drawn_task tasks[TASKS];
};

/* What sort of clusters are drawn. */
struct sort {
    uint64_t nodes, jobs, tasks, priorities; /* at most */
    size_t on_a_node;
    int64_t most_asked;
    bool has_memory, has_budgets, has_roles;
    bool is_reclaim; /* the jobs are of two queues, and the taker of a third */
};

struct drawn {
    const struct sort *sort;
    struct world w;
    uint64_t random;
    struct str text;
    struct drawn_job jobs[JOBS];
    size_t n_jobs;
    int64_t free[NODES][DIMS], asks[DIMS];
    int64_t over[QUEUES][DIMS]; /* what a queue holds beyond its fair share */
    bool may_take;              /* the taker's queue stays within its own */
    size_t n_on[NODES];
};

static size_t n_sets, n_several, n_taken;

static uint64_t rounds(uint64_t few)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? strtoull(given, NULL, 10) : few;
}

static uint64_t draw(struct drawn *d, uint64_t n)
{
    return test_random(&d->random) % n;
}

/* --- Clusters */

static const char *queue_name(struct drawn *d, int queue)
{
    return arena_format(&d->w.arena, "q%d", queue);
}

static void tell_task(struct drawn *d, size_t j, uint32_t i)
{
    const struct drawn_job *job = &d->jobs[j];
    const struct drawn_task *t = &job->tasks[i];
    const char *id = arena_format(&d->w.arena, "%c", (char)('a' + j));

    world_tell(&d->w, BERTH_TASK,
               &(struct berth_task){ .job = id,
                                     .group = arena_format(&d->w.arena, "%u", i),
                                     .attempt = 1,
                                     .node = t->node ? "n1" : "n0",
                                     .started_at_ms = t->started_at_ms,
                                     .state = BERTH_TASK_RUNNING });
    str_addf(&d->text,
             "%s/%u in q%d on n%d since %" PRId64 ": %" PRId64 " cpu, %" PRId64
             " memory, priority %d, least %u",
             id, i, job->queue, t->node, t->started_at_ms, t->asks[CPU], t->asks[MEMORY],
             job->priority, job->least);
    if (job->least_leads)
        str_addf(&d->text, " and %u leads%s", job->least_leads, t->is_lead ? ", leads" : "");
    if (job->budget.is_given)
        str_addf(&d->text, ", %s %u%s",
                 job->budget.is_max_unavailable ? "maxUnavailable" : "minAvailable",
                 job->budget.value, job->budget.is_percent ? "%" : "");
    str_add(&d->text, "\n");
}

static struct berth_amounts amounts_of(struct drawn *d, const int64_t asks[DIMS])
{
    struct berth_amount *at = ARENA_NEW0_N(&d->w.arena, struct berth_amount, DIMS);
    size_t n = 0;

    for (int i = 0; i < DIMS; i++)
        if (asks[i])
            at[n++] = (struct berth_amount){ dim_names[i], asks[i] };
    return (struct berth_amounts){ at, n };
}

/* Each task is a group of its own, so that those of a job differ. */
static void tell_job(struct drawn *d, size_t j)
{
    const struct drawn_job *job = &d->jobs[j];
    struct berth_task_group groups[TASKS] = { 0 };
    struct berth_job told = { .id = arena_format(&d->w.arena, "%c", (char)('a' + j)),
                              .seq = ++d->w.seq,
                              .queue = queue_name(d, job->queue) };

    for (uint32_t i = 0; i < job->n; i++) {
        groups[i].name = arena_format(&d->w.arena, "%u", i);
        groups[i].role = job->tasks[i].is_lead ? "lead" : NULL;
        groups[i].replicas = 1;
        groups[i].asks = amounts_of(d, job->tasks[i].asks);
    }
    told.priority = job->priority;
    told.min_available = job->least;
    told.minima = &(struct berth_minimum){ "lead", job->least_leads };
    told.n_minima = job->least_leads ? 1 : 0;
    told.budget = job->budget;
    told.phase = BERTH_PHASE_RUNNING;
    told.groups = groups;
    told.n_groups = job->n;
    world_tell(&d->w, BERTH_JOB, &told);
    for (uint32_t i = 0; i < job->n; i++)
        tell_task(d, j, i);
}

static struct berth_budget draw_budget(struct drawn *d, uint32_t n)
{
    struct berth_budget budget = { .is_given = d->sort->has_budgets && draw(d, 3),
                                   .is_max_unavailable = draw(d, 2),
                                   .is_percent = draw(d, 4) == 0 };

    budget.value = (uint32_t)(budget.is_percent ? 25 * draw(d, 5) : draw(d, n + 1));
    return budget;
}

static void draw_job(struct drawn *d)
{
    struct drawn_job *job = &d->jobs[d->n_jobs];
    bool differ = draw(d, 2);
    int64_t cpu = 1000 * (1 + (int64_t)draw(d, 3));
    uint32_t n_leads = 0;

    job->priority = (int)draw(d, d->sort->priorities);
    job->queue = d->sort->is_reclaim ? (int)draw(d, 2) : 2;
    for (uint64_t n = 1 + draw(d, d->sort->tasks); job->n < n; job->n++) {
        struct drawn_task *t = &job->tasks[job->n];
        t->node = (int)draw(d, d->sort->nodes);
        if (d->n_on[t->node] == d->sort->on_a_node)
            break;
        t->asks[CPU] = differ ? 1000 * (1 + (int64_t)draw(d, 4)) : cpu;
        if (d->sort->has_memory)
            t->asks[MEMORY] = 1000 * (int64_t)draw(d, 4);
        t->is_lead = d->sort->has_roles && draw(d, 2);
        n_leads += t->is_lead;
        t->started_at_ms = NOW_MS - 1000 * (1 + (int64_t)draw(d, 4));
        d->n_on[t->node]++;
    }
    if (!job->n)
        return;
    job->least = 1 + (uint32_t)draw(d, job->n);
    job->least_leads = (uint32_t)draw(d, n_leads + 1);
    job->budget = draw_budget(d, job->n);
    tell_job(d, d->n_jobs++);
}

static int64_t value_of(const struct berth_amounts *amounts, int dim)
{
    for (size_t i = 0; i < amounts->n; i++)
        if (text_eq(amounts->at[i].name, dim_names[dim]))
            return amounts->at[i].value;
    return 0;
}

/* What keeps queues from each other: what they hold beyond their fair shares. */
static void find_shares(struct drawn *d)
{
    for (int q = 0; q < QUEUES; q++) {
        struct berth_queue_view view;
        struct err err = { 0 };
        CHECK_OK(
            berth_engine_queue(d->w.engine, &d->w.in, queue_name(d, q), &d->w.arena, &view, &err),
            &err);
        for (int i = 0; i < DIMS; i++) {
            d->over[q][i] = value_of(&view.allocated, i) - value_of(&view.fair_share, i);
            str_addf(&d->text, "q%d: over its share by %" PRId64 " %s\n", q, d->over[q][i],
                     dim_names[i]);
        }
    }
    d->may_take = true;
    for (int i = 0; i < DIMS; i++)
        d->may_take = d->may_take && (!d->asks[i] || d->over[2][i] + d->asks[i] <= 0);
}

static void tell_taker(struct drawn *d)
{
    struct berth_task_group group = { .name = "task", .role = "task", .replicas = 1 };

    d->asks[CPU] = 1000 * (2 + (int64_t)draw(d, (uint64_t)d->sort->most_asked));
    if (d->sort->has_memory)
        d->asks[MEMORY] = 1000 * (int64_t)draw(d, 5);
    group.asks = amounts_of(d, d->asks);
    world_tell(&d->w, BERTH_JOB,
               &(struct berth_job){ .id = "taker",
                                    .seq = ++d->w.seq,
                                    .queue = "q2",
                                    .priority = 100,
                                    .min_available = 1,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static int64_t sum_on(const struct drawn *d, int node, int dim, bool going)
{
    int64_t sum = 0;

    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t k = 0; k < d->jobs[j].n; k++) {
            const struct drawn_task *t = &d->jobs[j].tasks[k];
            sum += t->node == node && (t->goes || !going) ? t->asks[dim] : 0;
        }
    return sum;
}

static void tell_node(struct drawn *d, int node)
{
    int64_t offers[DIMS];

    for (int i = 0; i < DIMS; i++) {
        d->free[node][i] = 1000 * (int64_t)draw(d, 2);
        offers[i] = sum_on(d, node, i, false) + d->free[node][i];
        str_addf(&d->text, "n%d: free %" PRId64 " %s\n", node, d->free[node][i], dim_names[i]);
    }
    world_tell(&d->w, BERTH_NODE,
               &(struct berth_node){ .id = node ? "n1" : "n0",
                                     .seq = ++d->w.seq,
                                     .state = NODE_READY,
                                     .facts = 7,
                                     .offers = amounts_of(d, offers) });
}

/* Nodes that those who run on them fill but for a unit of each. */
static void draw_cluster(struct drawn *d)
{
    uint64_t n = 2 + draw(d, d->sort->jobs - 1);

    world_init(&d->w);
    d->w.in.now_ms = NOW_MS;
    for (int q = 0; q < QUEUES; q++)
        world_tell(&d->w, BERTH_QUEUE,
                   &(struct berth_queue){ .name = queue_name(d, q),
                                          .seq = ++d->w.seq,
                                          .weight = 1 + (int)draw(d, 3) });
    while (n--)
        draw_job(d);
    for (uint64_t i = 0; i < d->sort->nodes; i++)
        tell_node(d, (int)i);
    tell_taker(d);
    str_addf(&d->text, "asked %" PRId64 " cpu, %" PRId64 " memory\n", d->asks[CPU],
             d->asks[MEMORY]);
    find_shares(d);
}

/* --- The rules */

static uint32_t n_going(const struct drawn_job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n; i++)
        n += job->tasks[i].goes;
    return n;
}

static bool is_within_budget(const struct drawn_job *job, uint32_t n)
{
    uint32_t value = job->budget.value;

    if (!job->budget.is_given)
        return true;
    if (job->budget.is_percent)
        value = (job->n * value + 99) / 100;
    return job->budget.is_max_unavailable ? n <= value : n + value <= job->n;
}

/* Whether a job can spare those that go, of all its tasks or (0 or 1) of those on a node. */
static bool can_spare(const struct drawn_job *job, int node)
{
    uint32_t stay = job->n, leads = 0;

    for (uint32_t i = 0; i < job->n; i++) {
        const struct drawn_task *t = &job->tasks[i];
        bool goes = t->goes && (node < 0 || t->node == node);
        stay -= goes;
        leads += t->is_lead && !goes;
    }
    /* A minimum of a role above that of the job does not bind. */
    return stay >= job->least && (leads >= job->least_leads || job->least_leads > job->least);
}

/* Of a job either no more go than it can spare, or all; and no more than its budget lets go. */
static bool keeps_units(const struct drawn *d)
{
    for (size_t j = 0; j < d->n_jobs; j++) {
        const struct drawn_job *job = &d->jobs[j];
        uint32_t n = n_going(job);
        if ((!can_spare(job, -1) && n < job->n) || (n && !is_within_budget(job, n)))
            return false;
    }
    return true;
}

/* What goes together from a node: a task, or all of a job where it can spare fewer. */
struct going {
    int64_t asks[DIMS];
    int queue;
};

static size_t list_going(const struct drawn *d, const struct drawn_job *job, int node,
                         struct going list[TASKS])
{
    size_t n = 0;

    for (uint32_t i = 0; i < job->n; i++) {
        const struct drawn_task *t = &job->tasks[i];
        if (!t->goes || t->node != node)
            continue;
        list[n].queue = job->queue;
        memcpy(list[n++].asks, t->asks, sizeof(t->asks));
    }
    if (can_spare(job, node) || n < 2)
        return n;
    for (size_t i = 1; i < n; i++)
        for (int k = 0; k < DIMS; k++)
            list[0].asks[k] += list[i].asks[k];
    (void)d;
    return 1;
}

/* Whether it finds its queue over its share, in what it has of what is lacking, when all others that go are gone. */
static bool may_go_last(const struct drawn *d, int node, const struct going *going,
                        const int64_t gone[DIMS])
{
    bool helps = false;

    for (int i = 0; i < DIMS; i++) {
        if (d->asks[i] <= d->free[node][i] || !going->asks[i])
            continue;
        helps = true;
        if (d->over[going->queue][i] - (gone[i] - going->asks[i]) <= 0)
            return false;
    }
    return helps;
}

/* Whether they can go one after the other: some may go last, of the rest some may, and so on. */
static bool have_order(const struct drawn *d, int node, struct going *list, size_t n)
{
    while (n) {
        int64_t gone[QUEUES][DIMS] = { 0 };
        size_t last = 0;
        for (size_t k = 0; k < n; k++)
            for (int i = 0; i < DIMS; i++)
                gone[list[k].queue][i] += list[k].asks[i];
        while (last < n && !may_go_last(d, node, &list[last], gone[list[last].queue]))
            last++;
        if (last == n)
            return false;
        list[last] = list[--n];
    }
    return true;
}

/* Nobody goes who has nobody on the node that is cleared, and shares let all of them go. */
static bool keeps_shares(const struct drawn *d, int node)
{
    struct going list[JOBS * TASKS];
    size_t n = 0;

    for (size_t j = 0; j < d->n_jobs; j++) {
        size_t more = list_going(d, &d->jobs[j], node, &list[n]);
        if (!more && n_going(&d->jobs[j]))
            return false;
        n += more;
    }
    return have_order(d, node, list, n);
}

static bool makes_room(const struct drawn *d)
{
    for (int i = 0; i < (int)d->sort->nodes; i++) {
        bool fits = true;
        for (int k = 0; k < DIMS; k++)
            fits = fits && d->free[i][k] + sum_on(d, i, k, true) >= d->asks[k];
        if (fits && (!d->sort->is_reclaim || keeps_shares(d, i)))
            return true;
    }
    return false;
}

/* What those who go cost, as the design says. */
static struct cost cost_drawn(const struct drawn *d)
{
    struct cost cost = { .priority = INT64_MIN, .held_priority = INT64_MIN };

    for (size_t j = 0; j < d->n_jobs; j++) {
        const struct drawn_job *job = &d->jobs[j];
        for (uint32_t i = 0; i < job->n; i++) {
            const struct drawn_task *t = &job->tasks[i];
            if (!t->goes)
                continue;
            cost.lost += (wide)(NOW_MS - t->started_at_ms) * (1 + t->asks[CPU]);
            cost.priority = job->priority > cost.priority ? job->priority : cost.priority;
            cost.n++;
        }
    }
    return cost;
}

/* Whether each goes, by the bits of a number. */
static void set_who_goes(struct drawn *d, uint64_t set)
{
    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t i = 0; i < d->jobs[j].n; i++, set >>= 1)
            d->jobs[j].tasks[i].goes = set & 1;
}

static bool find_least(struct drawn *d, struct cost *least)
{
    bool found = false;

    for (uint64_t set = 1; set < (uint64_t)1 << (d->n_on[0] + d->n_on[1]); set++) {
        struct cost cost;
        set_who_goes(d, set);
        if (!keeps_units(d) || !makes_room(d))
            continue;
        cost = cost_drawn(d);
        n_sets++;
        if (!found || cost_cmp(&cost, least) < 0)
            *least = cost;
        found = true;
    }
    return found;
}

static void set_who_went(struct drawn *d)
{
    const struct berth_group *group = &d->w.out.groups[0];

    set_who_goes(d, 0);
    for (size_t k = 0; k < group->n_parts; k++)
        if (group->parts[k].kind == BERTH_PART_EVICT)
            d->jobs[group->parts[k].task.job[0] - 'a']
                .tasks[group->parts[k].task.group[0] - '0']
                .goes = true;
}

/* Whether somebody must go at all. */
static bool is_short(struct drawn *d)
{
    for (uint64_t i = 0; i < d->sort->nodes; i++)
        if (d->free[i][CPU] >= d->asks[CPU] && d->free[i][MEMORY] >= d->asks[MEMORY])
            return false;
    return !d->sort->is_reclaim || d->may_take;
}

static void hold_cheapest(struct drawn *d)
{
    struct cost least = { 0 }, came;
    bool found = is_short(d) && find_least(d, &least), went;

    world_cycle(&d->w);
    str_addf(&d->text, "%s\n", world_groups(&d->w));
    went = d->w.out.counts.tasks_evicted;
    if (went)
        set_who_went(d);
    came = cost_drawn(d);
    if (went != found || (went && cost_cmp(&came, &least) != 0))
        print_error("%s", str_text(&d->text));
    CHECK_EQ(went, found);
    if (!went)
        return;
    CHECK(keeps_units(d) && makes_room(d));
    CHECK_EQ(cost_cmp(&came, &least), 0);
    n_several += came.n > 1;
    n_taken++;
}

static void prove(const struct sort *sort, uint64_t n)
{
    uint64_t random = test_seed();

    n_sets = n_several = n_taken = 0;
    for (uint64_t round = 0; round < n; round++) {
        struct drawn d = { .sort = sort, .random = test_random(&random) };
        draw_cluster(&d);
        if (d.n_jobs)
            hold_cheapest(&d);
        str_fini(&d.text);
        world_fini(&d.w);
    }
    CHECK(n < 100 || (n_several > n / 20 && n_taken > n / 10 && n_sets > n / 2));
}

TEST(clear_takes_the_cheapest_set_of_victims)
{
    prove(
        &(struct sort){
            .nodes = 2, .jobs = 4, .tasks = 3, .priorities = 3, .on_a_node = 6, .most_asked = 5 },
        rounds(400));
}

TEST(clear_takes_the_cheapest_set_of_those_whom_roles_can_spare)
{
    prove(&(struct sort){ .nodes = 2,
                          .jobs = 4,
                          .tasks = TASKS,
                          .priorities = 2,
                          .on_a_node = 7,
                          .most_asked = 8,
                          .has_roles = true },
          rounds(400));
}

TEST(clear_takes_the_cheapest_of_many)
{
    prove(&(struct sort){ .nodes = 1,
                          .jobs = JOBS,
                          .tasks = 2,
                          .priorities = 2,
                          .on_a_node = 14,
                          .most_asked = 12 },
          rounds(200));
}

TEST(clear_finds_whom_budgets_let_go)
{
    prove(&(struct sort){ .nodes = 2,
                          .jobs = 4,
                          .tasks = 3,
                          .priorities = 3,
                          .on_a_node = 6,
                          .most_asked = 5,
                          .has_budgets = true },
          rounds(400));
}

TEST(clear_finds_whom_shares_let_go)
{
    prove(&(struct sort){ .nodes = 2,
                          .jobs = 6,
                          .tasks = 3,
                          .priorities = 2,
                          .on_a_node = 6,
                          .most_asked = 5,
                          .has_budgets = true,
                          .is_reclaim = true },
          rounds(400));
}

TEST(clear_finds_whom_shares_and_budgets_of_roles_let_go)
{
    prove(&(struct sort){ .nodes = 2,
                          .jobs = 4,
                          .tasks = TASKS,
                          .priorities = 2,
                          .on_a_node = 6,
                          .most_asked = 5,
                          .has_budgets = true,
                          .has_roles = true,
                          .is_reclaim = true },
          rounds(400));
}

TEST(clear_finds_whom_shares_of_two_resources_let_go)
{
    prove(&(struct sort){ .nodes = 2,
                          .jobs = 10,
                          .tasks = 1,
                          .priorities = 2,
                          .on_a_node = 6,
                          .most_asked = 5,
                          .has_memory = true,
                          .is_reclaim = true },
          rounds(400));
}

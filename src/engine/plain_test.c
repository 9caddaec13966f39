/*
 * Plain reckoning: what queues deserve and which node is best, worked out slowly and without
 * anything of the engine, against what the engine says for random inputs.
 *
 * BERTH_PROOF_ROUNDS says how many inputs each proof has; without it a few thousand.
 */
#include <stdlib.h>

#include "engine/testing.h"

enum { N_DIMS = 2, MOST_QUEUES = 7, MOST_NODES = 6 };

static const char *const dims[N_DIMS] = { "cpu", "memory" };

static int n_rounds(int usual)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? atoi(given) : usual;
}

/* --- Queues */

struct plain_queue {
    char name[24];
    int parent; /* -1: none */
    int weight;
    int64_t deserved[N_DIMS], cap[N_DIMS], guarantee[N_DIMS]; /* -1: not stated */
    int64_t asks[N_DIMS];                                     /* its one task, if it has_job */
    int64_t demand[N_DIMS];                                   /* what that counts for */
    long double got[N_DIMS], fair[N_DIMS];
    bool has_job;
};

struct plain_world {
    struct plain_queue q[MOST_QUEUES];
    size_t n;
    int64_t total[N_DIMS];
};

static int64_t maybe(uint64_t *random, unsigned one_in, int64_t most)
{
    return test_random(random) % one_in ? -1 : (int64_t)(test_random(random) % (uint64_t)most);
}

/* Amounts stay below a million, so that a unit more or less by rounding is nothing. */
static void make_queues(struct plain_world *w, uint64_t *random, bool is_tree, bool stated)
{
    memset(w, 0, sizeof(*w));
    w->n = 1 + test_random(random) % MOST_QUEUES;
    for (int d = 0; d < N_DIMS; d++)
        w->total[d] = 1000 + (int64_t)(test_random(random) % 900000);
    for (size_t i = 0; i < w->n; i++) {
        struct plain_queue *q = &w->q[i];
        snprintf(q->name, sizeof(q->name), "q%zu", i);
        q->parent = is_tree && i && test_random(random) % 2 ? (int)(test_random(random) % i) : -1;
        q->weight = 1 + (int)(test_random(random) % 5);
        q->has_job = test_random(random) % 5 != 0;
        for (int d = 0; d < N_DIMS; d++) {
            q->deserved[d] = stated ? maybe(random, 2, w->total[d]) : -1;
            q->cap[d] = maybe(random, 4, w->total[d]);
            q->guarantee[d] = maybe(random, 5, w->total[d] / 8);
            if (q->cap[d] >= 0 && q->cap[d] < 10)
                q->cap[d] = 10;
            q->asks[d] = q->has_job ? 1 + (int64_t)(test_random(random) % 900000) : 0;
            q->demand[d] = q->asks[d];
        }
    }
}

static struct berth_amounts amounts_of(struct world *w, const int64_t values[N_DIMS])
{
    struct berth_amount *at = ARENA_NEW0_N(&w->arena, struct berth_amount, N_DIMS);
    size_t n = 0;

    for (int d = 0; d < N_DIMS; d++)
        if (values[d] >= 0)
            at[n++] = (struct berth_amount){ dims[d], values[d] };
    return (struct berth_amounts){ at, n };
}

/* The same to an engine: one large node, one job of one task in each queue that has one. */
static void tell_queues(struct world *w, const struct plain_world *plain, const char *root)
{
    struct berth_node node = { .id = "n", .state = NODE_READY };

    node.offers = amounts_of(w, plain->total);
    world_tell(w, BERTH_NODE, &node);
    if (root)
        world_tell(w, BERTH_QUEUE, &(struct berth_queue){ .name = root });
    for (size_t i = 0; i < plain->n; i++) {
        const struct plain_queue *q = &plain->q[i];
        struct berth_task_group group = { .name = "task", .replicas = 1 };
        struct berth_queue queue = { .name = q->name, .seq = i + 1, .weight = q->weight };
        struct berth_job job = {
            .id = q->name, .seq = i, .queue = q->name, .groups = &group, .n_groups = 1
        };
        queue.parent = q->parent >= 0 ? plain->q[q->parent].name : NULL;
        queue.capability = amounts_of(w, q->cap);
        queue.guarantee = amounts_of(w, q->guarantee);
        queue.deserved = amounts_of(w, q->deserved);
        queue.has_deserved = queue.deserved.n > 0;
        world_tell(w, BERTH_QUEUE, &queue);
        group.asks = amounts_of(w, q->asks);
        if (q->has_job)
            world_tell(w, BERTH_JOB, &job);
    }
}

static void use_plugin(struct world *w, const char *name, uint32_t enabled)
{
    struct berth_plugin_use uses[] = { { .name = name, .has_enabled = enabled, .enabled = enabled },
                                       { .name = "predicates" } };
    struct berth_tier tier = { uses, COUNT_OF(uses) };

    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_tiers = true, .tiers = &tier, .n_tiers = 1 });
}

static int64_t amount_in(const struct berth_amounts *amounts, const char *name)
{
    for (size_t i = 0; i < amounts->n; i++)
        if (strcmp(amounts->at[i].name, name) == 0)
            return amounts->at[i].value;
    return 0;
}

static void compare(const struct plain_world *plain, const struct plain_queue *q, const char *what,
                    int64_t came, long double wanted, long double tolerance)
{
    long double off = (long double)came - wanted;

    if (off <= tolerance && -off <= tolerance)
        return;
    for (size_t i = 0; i < plain->n; i++)
        for (int d = 0; d < N_DIMS; d++)
            print_error("%s of %d weight %d %s: deserved %" PRId64 " cap %" PRId64 " kept %" PRId64
                        " demand %" PRId64 " total %" PRId64 "\n",
                        plain->q[i].name, plain->q[i].parent, plain->q[i].weight, dims[d],
                        plain->q[i].deserved[d], plain->q[i].cap[d], plain->q[i].guarantee[d],
                        plain->q[i].demand[d], plain->total[d]);
    print_error("%s: %s is %" PRId64 ", reckoned %.3Lf\n", q->name, what, came, wanted);
    CHECK(false);
}

static long double least(long double a, long double b)
{
    return a < b ? a : b;
}

static long double most(long double a, long double b)
{
    return a > b ? a : b;
}

/* --- Share: by the height of the water */

static bool is_child(const struct plain_world *w, size_t i, int of)
{
    return w->q[i].parent == of;
}

/* Whether a task could ever run: on the one node, and within the caps of its queue and all above it. */
static bool could_run(const struct plain_world *w, size_t i)
{
    for (int d = 0; d < N_DIMS; d++) {
        if (w->q[i].asks[d] > w->total[d])
            return false;
        for (int at = (int)i; at >= 0; at = w->q[at].parent)
            if (w->q[at].cap[d] >= 0 && w->q[i].asks[d] > w->q[at].cap[d])
                return false;
    }
    return true;
}

/* What cannot run takes no share of anybody's. */
static void share_demand(struct plain_world *w)
{
    for (size_t i = 0; i < w->n; i++)
        for (int d = 0; d < N_DIMS; d++)
            w->q[i].demand[d] = could_run(w, i) ? w->q[i].asks[d] : 0;
}

static int64_t demand_beneath(const struct plain_world *w, size_t i, int d)
{
    int64_t sum = w->q[i].demand[d];

    for (size_t k = 0; k < w->n; k++)
        if (is_child(w, k, (int)i))
            sum += demand_beneath(w, k, d);
    return sum;
}

static long double cap_of(const struct plain_queue *q, int d)
{
    return q->cap[d] < 0 ? 1e18L : (long double)q->cap[d];
}

static void share_deserved(struct plain_world *w, int up, long double of, int d)
{
    long double rest = of, weights = 0;

    for (size_t i = 0; i < w->n; i++) {
        if (!is_child(w, i, up))
            continue;
        if (w->q[i].deserved[d] >= 0)
            rest -= (long double)w->q[i].deserved[d];
        else
            weights += w->q[i].weight;
    }
    for (size_t i = 0; i < w->n; i++) {
        struct plain_queue *q = &w->q[i];
        if (!is_child(w, i, up))
            continue;
        q->got[d] = q->deserved[d] >= 0 ? (long double)q->deserved[d]
                                        : least(most(rest, 0) * q->weight / weights, cap_of(q, d));
        share_deserved(w, (int)i, q->got[d], d);
    }
}

/* What a queue has where the water stands so high above what it has anyhow. */
static long double at_height(const struct plain_world *w, size_t i, int d, long double height)
{
    const struct plain_queue *q = &w->q[i];
    long double want = least((long double)demand_beneath(w, i, d), cap_of(q, d));
    long double kept = q->guarantee[d] < 0 ? 0 : (long double)q->guarantee[d];

    return least(want, least(want, most(q->got[d], kept)) + height * q->weight);
}

static long double taken_at(const struct plain_world *w, int up, int d, long double height)
{
    long double sum = 0;

    for (size_t i = 0; i < w->n; i++) {
        long double kept = w->q[i].guarantee[d] < 0 ? 0 : (long double)w->q[i].guarantee[d];
        long double base = at_height(w, i, d, 0);
        if (is_child(w, i, up)) /* what is kept free is nobody's to share */
            sum += at_height(w, i, d, height) + most(kept - base, 0);
    }
    return sum;
}

static void share_fair(struct plain_world *w, int up, long double of, int d)
{
    long double low = 0, high = 1e7L;

    for (int i = 0; i < 90; i++) {
        long double middle = (low + high) / 2;
        if (taken_at(w, up, d, middle) <= of)
            low = middle;
        else
            high = middle;
    }
    for (size_t i = 0; i < w->n; i++) {
        if (!is_child(w, i, up))
            continue;
        w->q[i].fair[d] = at_height(w, i, d, low);
        share_fair(w, (int)i, w->q[i].fair[d], d);
    }
}

TEST(plain_share_agrees)
{
    uint64_t random = test_seed();

    for (int round = 0; round < n_rounds(3000); round++) {
        struct plain_world plain;
        struct world w;
        make_queues(&plain, &random, true, true);
        share_demand(&plain);
        for (int d = 0; d < N_DIMS; d++) {
            share_deserved(&plain, -1, (long double)plain.total[d], d);
            share_fair(&plain, -1, (long double)plain.total[d], d);
        }
        world_init(&w);
        use_plugin(&w, "share", 0);
        tell_queues(&w, &plain, NULL);
        for (size_t i = 0; i < plain.n; i++) {
            struct berth_queue_view view;
            struct err err = { 0 };
            CHECK_OK(berth_engine_queue(w.engine, &w.in, plain.q[i].name, &w.arena, &view, &err),
                     &err);
            for (int d = 0; d < N_DIMS; d++) {
                compare(&plain, &plain.q[i], "deserved", amount_in(&view.deserved, dims[d]),
                        plain.q[i].got[d], MOST_QUEUES);
                compare(&plain, &plain.q[i], "demand", amount_in(&view.demand, dims[d]),
                        (long double)demand_beneath(&plain, i, d), 0);
                compare(&plain, &plain.q[i], "fair share", amount_in(&view.fair_share, dims[d]),
                        plain.q[i].fair[d], 3 * MOST_QUEUES);
            }
        }
        world_fini(&w);
    }
}

/* --- Proportion: the rounds of the reference, with fractions */

static long double real_of(const struct plain_world *w, const struct plain_queue *q, int d)
{
    long double guaranteed = 0;

    for (size_t i = 0; i < w->n; i++)
        guaranteed += w->q[i].guarantee[d] < 0 ? 0 : (long double)w->q[i].guarantee[d];
    return least(most((long double)w->total[d] - guaranteed, 0) +
                     (q->guarantee[d] < 0 ? 0 : (long double)q->guarantee[d]),
                 q->cap[d] > 0 ? (long double)q->cap[d] : 1e18L);
}

static bool pour_round(struct plain_world *w, bool met[MOST_QUEUES], long double rest[N_DIMS])
{
    long double before[N_DIMS] = { rest[0], rest[1] }, weights = 0;
    bool same = true, empty = true;

    for (size_t i = 0; i < w->n; i++)
        weights += w->q[i].has_job && !met[i] ? w->q[i].weight : 0;
    if (weights <= 0)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        struct plain_queue *q = &w->q[i];
        bool has_all = true, stands = true;
        if (!q->has_job || met[i])
            continue;
        for (int d = 0; d < N_DIMS; d++) {
            long double was = q->got[d];
            q->got[d] = least(was + before[d] * q->weight / weights, real_of(w, q, d));
            q->got[d] = least(q->got[d], (long double)q->demand[d]);
            q->got[d] = most(q->got[d], q->guarantee[d] < 0 ? 0 : (long double)q->guarantee[d]);
            rest[d] -= q->got[d] - was;
            has_all = has_all && (long double)q->demand[d] <= q->got[d] + 0.1L;
            stands = stands && q->got[d] == was;
        }
        met[i] = has_all || stands;
    }
    for (int d = 0; d < N_DIMS; d++) {
        rest[d] = most(rest[d], 0);
        same = same && rest[d] == before[d];
        empty = empty && rest[d] < 0.1L;
    }
    return !same && !empty;
}

TEST(plain_proportion_agrees)
{
    uint64_t random = test_seed();

    for (int round = 0; round < n_rounds(3000); round++) {
        struct plain_world plain;
        struct world w;
        bool met[MOST_QUEUES] = { false };
        long double rest[N_DIMS];
        make_queues(&plain, &random, false, false);
        for (int d = 0; d < N_DIMS; d++)
            rest[d] = (long double)plain.total[d];
        for (int i = 0; i < 1000 && pour_round(&plain, met, rest); i++)
            continue;
        world_init(&w);
        use_plugin(&w, "proportion", 0);
        tell_queues(&w, &plain, NULL);
        for (size_t i = 0; i < plain.n; i++) {
            struct berth_queue_view view;
            struct err err = { 0 };
            CHECK_OK(berth_engine_queue(w.engine, &w.in, plain.q[i].name, &w.arena, &view, &err),
                     &err);
            for (int d = 0; plain.q[i].has_job && d < N_DIMS; d++)
                compare(&plain, &plain.q[i], "deserved", amount_in(&view.deserved, dims[d]),
                        plain.q[i].got[d], 2);
        }
        world_fini(&w);
    }
}

/* --- Capacity: a tree whose every limit holds for what is beneath it */

/* What a queue may hold; 1e18 is no limit. */
static long double may_hold(const struct plain_world *w, int i, int d)
{
    const struct plain_queue *q = &w->q[i];
    long double guaranteed = 0, whole = q->parent < 0 ? 1e18L : may_hold(w, q->parent, d);
    long double cap = 1e18L;

    for (size_t k = 0; k < w->n; k++)
        if (w->q[k].parent == q->parent && w->q[k].guarantee[d] > 0)
            guaranteed += (long double)w->q[k].guarantee[d];
    for (int up = i; up >= 0 && cap > 1e17L; up = w->q[up].parent)
        cap = w->q[up].cap[d] > 0 ? (long double)w->q[up].cap[d] : cap; /* the nearest stated */
    whole =
        whole > 1e17L ? 1e18L : most(whole - guaranteed, 0) + most((long double)q->guarantee[d], 0);
    return least(whole, cap);
}

/* How many tasks of so much one leaf of an empty tree may be given, if it alone asks. */
static int64_t tasks_within(const struct plain_world *w, int leaf, const int64_t asks[N_DIMS])
{
    long double n = 1e18L;

    for (int d = 0; d < N_DIMS; d++) {
        for (int i = leaf; i >= 0; i = w->q[i].parent)
            n = least(n, may_hold(w, i, d) / (long double)asks[d]);
        n = least(n, (long double)w->total[d] / (long double)asks[d]);
    }
    return (int64_t)(n + 1e-9L);
}

static bool is_leaf(const struct plain_world *w, size_t i)
{
    for (size_t k = 0; k < w->n; k++)
        if (is_child(w, k, (int)i))
            return false;
    return true;
}

TEST(plain_capacity_agrees)
{
    uint64_t random = test_seed();

    for (int round = 0; round < n_rounds(2000); round++) {
        struct plain_world plain;
        struct world w;
        int leaf;
        struct berth_task_group group = { .name = "task", .replicas = 60 };
        struct berth_job job = { .id = "j", .groups = &group, .n_groups = 1 };
        int64_t asks[N_DIMS];
        make_queues(&plain, &random, true, true);
        leaf = (int)plain.n - 1; /* nobody came after it to hang under it */
        for (size_t i = 0; i < plain.n; i++)
            plain.q[i].has_job = false;
        for (int d = 0; d < N_DIMS; d++)
            asks[d] = 1 + plain.total[d] / 50 + (int64_t)(test_random(&random) % 1000);
        world_init(&w);
        use_plugin(&w, "capacity", BERTH_HOOKS_DEFAULT | BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY));
        tell_queues(&w, &plain, "root");
        for (size_t i = 0; i < plain.n; i++) {
            struct berth_queue_view view;
            struct err err = { 0 };
            CHECK_OK(berth_engine_queue(w.engine, &w.in, plain.q[i].name, &w.arena, &view, &err),
                     &err);
            for (int d = 0; d < N_DIMS; d++)
                compare(&plain, &plain.q[i], "deserved", amount_in(&view.deserved, dims[d]),
                        most(most((long double)plain.q[i].deserved[d], 0),
                             (long double)plain.q[i].guarantee[d]),
                        0);
        }
        CHECK(is_leaf(&plain, (size_t)leaf));
        group.asks = amounts_of(&w, asks);
        job.queue = plain.q[leaf].name;
        world_tell(&w, BERTH_JOB, &job);
        world_cycle(&w);
        compare(&plain, &plain.q[leaf], "tasks placed", (int64_t)w.out.counts.tasks_placed,
                least((long double)tasks_within(&plain, leaf, asks), 60), 0);
        world_fini(&w);
    }
}

/* --- The best node */

struct plain_node {
    char id[24];
    int64_t offers[N_DIMS], used[N_DIMS];
    int weight, n_tasks;
    bool cordoned, tainted, has_label;
};

struct plain_job {
    int n_tasks;
    int64_t asks[N_DIMS];
    bool wants_label, prefers_label, tolerates;
};

enum rule { RULE_LEAST, RULE_MOST, RULE_BINPACK, RULE_LEDGER, RULE_COUNT };

static bool plain_fits(const struct plain_node *n, const struct plain_job *job)
{
    for (int d = 0; d < N_DIMS; d++)
        if (n->used[d] + job->asks[d] > n->offers[d])
            return false;
    return !n->cordoned && (!n->tainted || job->tolerates) && (n->has_label || !job->wants_label);
}

static double plain_score(const struct plain_node *n, const struct plain_job *job, enum rule rule)
{
    int64_t points = 0;
    double sum = 0;

    if (rule == RULE_LEDGER)
        return (double)((job->prefers_label && n->has_label) * 1000000 +
                        (n->weight ? n->weight : 100) * 1000 - n->n_tasks * 10000);
    for (int d = 0; d < N_DIMS; d++) {
        int64_t with = n->used[d] + job->asks[d];
        points += (rule == RULE_MOST ? with : n->offers[d] - with) * 100 / n->offers[d];
        sum += (double)with / (double)n->offers[d];
    }
    return rule == RULE_BINPACK ? sum / N_DIMS * 100 : (double)(points / N_DIMS);
}

/* Of the nodes with the highest score the one whose name comes first. */
static struct plain_node *plain_best(struct plain_node *nodes, size_t n,
                                     const struct plain_job *job, enum rule rule)
{
    struct plain_node *best = NULL;

    for (size_t i = 0; i < n; i++) {
        double score = plain_score(&nodes[i], job, rule);
        if (!plain_fits(&nodes[i], job))
            continue;
        if (!best || score > plain_score(best, job, rule) ||
            (score >= plain_score(best, job, rule) && strcmp(nodes[i].id, best->id) < 0))
            best = &nodes[i];
    }
    return best;
}

/* Places a gang task by task, or leaves all as it was. */
static void plain_place(struct plain_node *nodes, size_t n, const struct plain_job *job, int number,
                        enum rule rule, struct str *out)
{
    struct plain_node before[MOST_NODES];
    CLEANUP(str_fini) struct str text = { 0 };

    memcpy(before, nodes, sizeof(before));
    for (int i = 0; i < job->n_tasks; i++) {
        struct plain_node *best = plain_best(nodes, n, job, rule);
        if (!best) {
            memcpy(nodes, before, sizeof(before));
            return;
        }
        for (int d = 0; d < N_DIMS; d++)
            best->used[d] += job->asks[d];
        best->n_tasks++;
        str_addf(&text, "%sj%d/task.%d>%s", i ? "," : " ", number, i, best->id);
    }
    str_addf(out, "%sbind%s", out->len ? "; " : "", str_text(&text));
}

static void use_rule(struct world *w, enum rule rule)
{
    const struct berth_value zero = { .kind = BERTH_VALUE_INT };
    struct berth_value values[8],
        object = { .kind = BERTH_VALUE_OBJECT, .members = values, .n_members = COUNT_OF(values) };
    static const char *const names[] = { "leastrequested.weight",   "mostrequested.weight",
                                         "nodeaffinity.weight",     "podaffinity.weight",
                                         "balancedresource.weight", "tainttoleration.weight",
                                         "imagelocality.weight",    "podtopologyspread.weight" };
    struct berth_plugin_use uses[] = { { .name = "gang" },
                                       { .name = "predicates" },
                                       { .name = rule == RULE_LEDGER    ? "ledger"
                                                 : rule == RULE_BINPACK ? "binpack"
                                                                        : "nodeorder" } };
    struct berth_tier tier = { uses, COUNT_OF(uses) };
    const char *const action = "allocate";
    struct berth_config config = { .has_tiers = true,
                                   .tiers = &tier,
                                   .n_tiers = 1,
                                   .has_actions = true,
                                   .actions = { &action, 1 } };

    for (size_t i = 0; i < COUNT_OF(values); i++) {
        values[i] = zero;
        values[i].key = names[i];
    }
    values[rule == RULE_MOST].number = 1;
    if (rule == RULE_LEAST || rule == RULE_MOST)
        uses[2].arguments = &object;
    world_tell(w, BERTH_CONFIG, &config);
}

static void tell_plain_node(struct world *w, const struct plain_node *n, size_t i)
{
    struct berth_label label = { "disk", "nvme" };
    struct berth_taint taint = { "only", "some", BERTH_NO_SCHEDULE };
    struct berth_node node = { .id = n->id,
                               .seq = 100 - i, /* rank does not count, names do */
                               .state = NODE_READY,
                               .cordoned = n->cordoned,
                               .weight = n->weight,
                               .labels = { &label, n->has_label },
                               .taints = &taint,
                               .n_taints = n->tainted };

    node.offers = amounts_of(w, n->offers);
    world_tell(w, BERTH_NODE, &node);
}

static void tell_plain_job(struct world *w, const struct plain_job *job, int number)
{
    struct berth_label label = { "disk", "nvme" };
    struct berth_toleration one = { .key = "only", .exists = true, .all_effects = true };
    struct berth_task_group group = { .name = "task",
                                      .replicas = (uint32_t)job->n_tasks,
                                      .asks = amounts_of(w, job->asks),
                                      .node_selector = { &label, job->wants_label },
                                      .preferred_labels = { &label, job->prefers_label },
                                      .tolerations = &one,
                                      .n_tolerations = job->tolerates };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = arena_format(&w->arena, "j%d", number),
                                    .seq = (uint64_t)number,
                                    .queue = "default",
                                    .min_available = (uint32_t)job->n_tasks,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static size_t make_nodes(struct plain_node nodes[MOST_NODES], uint64_t *random)
{
    size_t n = 1 + test_random(random) % MOST_NODES;

    for (size_t i = 0; i < n; i++) {
        nodes[i] = (struct plain_node){ .weight = (int)(test_random(random) % 20),
                                        .cordoned = test_random(random) % 10 == 0,
                                        .tainted = test_random(random) % 6 == 0,
                                        .has_label = test_random(random) % 2 };
        snprintf(nodes[i].id, sizeof(nodes[i].id), "n%zu", i);
        /* Few sizes, so that many are equal and the tie is decided. */
        nodes[i].offers[0] = 1000 * (1 + (int64_t)(test_random(random) % 4));
        nodes[i].offers[1] = 1000 * (1 + (int64_t)(test_random(random) % 4));
    }
    return n;
}

static void say_world(const struct plain_node *nodes, size_t n, int round, enum rule rule)
{
    print_error("round %d, rule %d\n", round, (int)rule);
    for (size_t i = 0; i < n; i++)
        print_error("%s offers %" PRId64 " %" PRId64 " weight %d%s%s%s\n", nodes[i].id,
                    nodes[i].offers[0], nodes[i].offers[1], nodes[i].weight,
                    nodes[i].cordoned ? " cordoned" : "", nodes[i].tainted ? " tainted" : "",
                    nodes[i].has_label ? " label" : "");
}

TEST(plain_search_finds_the_same_nodes)
{
    uint64_t random = test_seed();

    for (int round = 0; round < n_rounds(3000); round++) {
        CLEANUP(str_fini) struct str wanted = { 0 };
        struct plain_node nodes[MOST_NODES];
        enum rule rule = (enum rule)(round % RULE_COUNT);
        size_t n = make_nodes(nodes, &random);
        struct world w;
        world_init(&w);
        use_rule(&w, rule);
        world_queue(&w, "default");
        for (size_t i = 0; i < n; i++)
            tell_plain_node(&w, &nodes[i], i);
        for (int number = 0; number < 5; number++) {
            struct plain_job job = { .n_tasks = 1 + (int)(test_random(&random) % 3),
                                     .wants_label = test_random(&random) % 4 == 0,
                                     .prefers_label = test_random(&random) % 2,
                                     .tolerates = test_random(&random) % 2 };
            for (int d = 0; d < N_DIMS; d++)
                job.asks[d] = 100 + (int64_t)(test_random(&random) % 8) * 200;
            tell_plain_job(&w, &job, number);
            plain_place(nodes, n, &job, number, rule, &wanted);
        }
        world_cycle(&w);
        if (!text_eq(world_groups(&w), str_text(&wanted)))
            say_world(nodes, n, round, rule);
        CHECK_TEXT(world_groups(&w), str_text(&wanted));
        world_fini(&w);
    }
}

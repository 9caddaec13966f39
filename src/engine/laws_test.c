/*
 * Laws: what must hold of every decision about a random cluster, by plain sums. The numbers are
 * those of "What must always hold" in the design.
 */
#include <stdlib.h>

#include "engine/cluster.h"
#include "engine/engine.h"

static int n_clusters(int usual)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? atoi(given) / 50 : usual;
}

static const char *const profile_names[] = { "berth", "berth", "volcano", "ledger" };

/* Law 1: no bind makes a node hold more than it offers; one that shrank takes nothing more. */
static void hold_room(const struct cluster *c)
{
    bool took[CLUSTER_NODES] = { false };

    for (size_t g = 0; g < c->w.out.n_groups; g++)
        for (size_t k = 0; k < c->w.out.groups[g].n_parts; k++)
            if (c->w.out.groups[g].parts[k].kind == BERTH_PART_BIND)
                took[cluster_node_at(c, c->w.out.groups[g].parts[k].node)] = true;
    for (size_t i = 0; i < c->n_nodes; i++) {
        CHECK(!took[i] || !c->nodes[i].cordoned);
        for (int d = 0; took[i] && d < CLUSTER_DIMS; d++)
            CHECK(cluster_used(c, (int)i, d) <= c->nodes[i].offers[d]);
    }
}

static size_t n_parts_of(const struct berth_group *group, enum berth_part_kind kind,
                         const char *job)
{
    size_t n = 0;

    for (size_t k = 0; k < group->n_parts; k++)
        n += group->parts[k].kind == kind && (!job || text_eq(group->parts[k].task.job, job));
    return n;
}

static size_t n_ready(const struct cluster_job *job)
{
    size_t n = 0;

    for (uint32_t i = 0; i < job->replicas; i++)
        n += job->tasks[i].state == BERTH_TASK_RUNNING ||
             job->tasks[i].state == BERTH_TASK_SUCCEEDED;
    return n;
}

/* How many run, have ended well, or are bound by the groups up to this one. */
static size_t n_bound_with(const struct cluster *c, const struct cluster_job *job, size_t up_to)
{
    size_t n = n_ready(job);

    for (size_t g = 0; g <= up_to; g++)
        n += n_parts_of(&c->w.out.groups[g], BERTH_PART_BIND, job->id);
    return n;
}

static size_t n_promised(const struct cluster *c, const char *job)
{
    size_t n = 0;

    for (size_t k = 0; k < c->w.out.n_promised; k++)
        n += text_eq(c->w.out.promised[k].task.job, job);
    return n;
}

/* Law 7: a job starts with its minimum, in one group, or not at all. Before the books change. */
static void hold_gangs(struct cluster *c)
{
    for (size_t g = 0; g < c->w.out.n_groups; g++) {
        const struct berth_group *group = &c->w.out.groups[g];
        struct cluster_job *job = group->job ? cluster_job_at(c, group->job) : NULL;
        if (job && n_parts_of(group, BERTH_PART_BIND, job->id))
            CHECK(n_bound_with(c, job, g) >= job->least);
    }
}

static void say_verdicts(const struct cluster *c, const struct cluster_job *job)
{
    print_error("%s: %u tasks, least %u; %s\n", job->id, job->replicas, job->least,
                world_groups((struct world *)&c->w));
    for (uint32_t i = 0; i < job->replicas; i++)
        print_error("  %u %s\n", i, berth_task_state_words[job->tasks[i].state]);
    for (size_t v = 0; v < c->w.out.n_verdicts; v++)
        print_error("  %s %u %s\n", c->w.out.verdicts[v].job, c->w.out.verdicts[v].n_tasks,
                    wait_codes[c->w.out.verdicts[v].reason->code].word);
}

/* Law 9: whatever waits has a reason, and its counts are all nodes. After the books changed. */
static void hold_reasons(const struct cluster *c)
{
    for (size_t j = 0; j < c->n_jobs; j++) {
        uint32_t n_waiting = 0, n_said = 0;
        for (uint32_t i = 0; i < c->jobs[j].replicas; i++)
            n_waiting += c->jobs[j].tasks[i].state == BERTH_TASK_PENDING;
        for (size_t v = 0; v < c->w.out.n_verdicts; v++) {
            const struct berth_verdict *verdict = &c->w.out.verdicts[v];
            uint32_t n_nodes = 0;
            if (!text_eq(verdict->job, c->jobs[j].id))
                continue;
            n_said += verdict->n_tasks;
            CHECK(verdict->reason && verdict->reason->code != WAIT_NONE);
            for (size_t k = 0; k < verdict->reason->n_counts; k++)
                n_nodes += verdict->reason->counts[k].n;
            CHECK(!verdict->reason->n_counts || n_nodes == c->n_nodes);
        }
        if (n_said != n_waiting)
            say_verdicts(c, &c->jobs[j]);
        CHECK_EQ(n_said, n_waiting);
    }
}

/* Law 12: no bind takes a queue over its cap, beside all that has not ended: so the ledger judges.
 * After the books changed. */
static void hold_caps(const struct cluster *c)
{
    for (int q = 0; q < CLUSTER_QUEUES; q++) {
        int64_t sum = 0, slots = 0;
        bool took = false;
        for (size_t j = 0; j < c->n_jobs; j++) {
            for (uint32_t i = 0; c->jobs[j].queue == q && i < c->jobs[j].replicas; i++) {
                const struct cluster_task *t = &c->jobs[j].tasks[i];
                if (t->node < 0)
                    continue;
                sum += c->jobs[j].asks[0];
                slots += 1000;
                took =
                    took || (t->state == BERTH_TASK_RUNNING && t->started_at_ms == c->w.in.now_ms);
            }
        }
        CHECK(!took || !c->caps[q] || sum <= c->caps[q]);
        CHECK(!took || !c->slots[q] || slots <= c->slots[q]);
    }
}

/* Law 14 and minimal victims: evictions come with the room they make, and with no more of them. */
static bool is_evicted_here(const struct berth_group *group, const char *job, uint32_t index)
{
    for (size_t k = 0; k < group->n_parts; k++)
        if (group->parts[k].kind == BERTH_PART_EVICT && text_eq(group->parts[k].task.job, job) &&
            group->parts[k].task.index == index)
            return true;
    return false;
}

/* Whether a task still runs if all of the group goes but `spared` (one task of it, or whole). */
static bool still_runs(const struct berth_group *group, const struct cluster_job *job, uint32_t i,
                       const char *spared, int64_t index)
{
    return job->tasks[i].state == BERTH_TASK_RUNNING &&
           (!is_evicted_here(group, job->id, i) ||
            (text_eq(job->id, spared) && (index < 0 || index == (int64_t)i)));
}

/* Whether then too little is left for all that the cycle promises: on a node, or of a cap. */
static bool is_short(const struct cluster *c, const struct berth_group *group, const char *spared,
                     int64_t index)
{
    int64_t on[CLUSTER_NODES][CLUSTER_DIMS] = { 0 }, of[CLUSTER_QUEUES] = { 0 };
    int64_t slots[CLUSTER_QUEUES] = { 0 };
    bool found = false;

    for (size_t j = 0; j < c->n_jobs; j++)
        for (uint32_t i = 0; i < c->jobs[j].replicas; i++) {
            const struct cluster_job *job = &c->jobs[j];
            if (!still_runs(group, job, i, spared, index))
                continue;
            of[job->queue] += job->asks[0];
            slots[job->queue] += 1000;
            for (int d = 0; d < CLUSTER_DIMS; d++)
                on[job->tasks[i].node][d] += job->asks[d];
        }
    for (size_t k = 0; k < c->w.out.n_promised; k++) {
        const struct berth_part *part = &c->w.out.promised[k];
        const struct cluster_job *job = cluster_job_at((struct cluster *)c, part->task.job);
        of[job->queue] += job->asks[0];
        slots[job->queue] += 1000;
        for (int d = 0; d < CLUSTER_DIMS; d++)
            on[cluster_node_at(c, part->node)][d] += job->asks[d];
    }
    for (size_t i = 0; i < c->n_nodes; i++)
        for (int d = 0; d < CLUSTER_DIMS; d++)
            found = found || on[i][d] > c->nodes[i].offers[d];
    for (int q = 0; q < CLUSTER_QUEUES; q++)
        found =
            found || (c->caps[q] && of[q] > c->caps[q]) || (c->slots[q] && slots[q] > c->slots[q]);
    return found;
}

static void say_books(const struct cluster *c)
{
    print_error("%s\n", world_groups((struct world *)&c->w));
    for (size_t i = 0; i < c->n_nodes; i++)
        print_error("%s offers %" PRId64 " %" PRId64 "%s\n", c->nodes[i].id, c->nodes[i].offers[0],
                    c->nodes[i].offers[1], c->nodes[i].cordoned ? " cordoned" : "");
    for (size_t j = 0; j < c->n_jobs; j++) {
        const struct cluster_job *job = &c->jobs[j];
        print_error(
            "%s q%d (cap %" PRId64 ") priority %d asks %" PRId64 " %" PRId64 " least %u:", job->id,
            job->queue, c->caps[job->queue], job->priority, job->asks[0], job->asks[1], job->least);
        for (uint32_t i = 0; i < job->replicas; i++)
            print_error(" %s@%d", berth_task_state_words[job->tasks[i].state], job->tasks[i].node);
        print_error("\n");
    }
    for (size_t k = 0; k < c->w.out.n_promised; k++)
        print_error("promised %s.%u on %s\n", c->w.out.promised[k].task.job,
                    c->w.out.promised[k].task.index, c->w.out.promised[k].node);
}

static size_t n_minimal; /* victims whose need was checked */
static size_t n_taken;   /* reservations */

/* Before the books change. Minimal is checked of the first group of a cycle: a later one builds on
 * it. */
static void hold_evictions(struct cluster *c)
{
    bool is_first = true;

    for (size_t g = 0; g < c->w.out.n_groups; g++) {
        const struct berth_group *group = &c->w.out.groups[g];
        const struct cluster_job *owner = group->job ? cluster_job_at(c, group->job) : NULL;
        size_t n_room =
            n_parts_of(group, BERTH_PART_RESERVE, NULL) + n_parts_of(group, BERTH_PART_BIND, NULL);
        if (group->kind != BERTH_GROUP_EVICT) {
            is_first = is_first && group->kind != BERTH_GROUP_BIND;
            continue;
        }
        CHECK(owner && n_room && group->reason);
        /* None in vain. */
        CHECK(n_bound_with(c, owner, g) + n_promised(c, owner->id) >= owner->least);
        /* What others hope for is no plain sum. */
        is_first = is_first && n_promised(c, owner->id) == c->w.out.n_promised;
        for (size_t k = 0; is_first && k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            const struct cluster_job *victim = cluster_job_at(c, part->task.job);
            size_t n_gone;
            if (part->kind != BERTH_PART_EVICT)
                continue;
            n_gone = n_parts_of(group, BERTH_PART_EVICT, victim->id);
            CHECK(cluster_running(victim) == n_gone ||
                  n_ready(victim) - n_gone >= victim->least); /* no part of a gang */
            n_minimal++;
            if (!is_short(c, group, victim->id,
                          cluster_running(victim) == n_gone ? -1 : (int64_t)part->task.index))
                say_books(c);
            CHECK(is_short(c, group, victim->id,
                           cluster_running(victim) == n_gone ? -1 : (int64_t)part->task.index));
        }
        is_first = false;
    }
}

static bool is_promised(const struct cluster *c, const struct berth_task_ref *task)
{
    for (size_t k = 0; k < c->w.out.n_promised; k++)
        if (text_eq(c->w.out.promised[k].task.job, task->job) &&
            c->w.out.promised[k].task.index == task->index)
            return true;
    return false;
}

/* What is held is taken by one that could have evicted its owner, if that ran: not in a circle. */
static void hold_takes(struct cluster *c)
{
    const struct shelf *held = &engine_model(c->w.engine)->shelves[BERTH_RESERVATION];

    for (size_t g = 0; g < c->w.out.n_groups; g++) {
        const struct berth_group *group = &c->w.out.groups[g];
        const struct cluster_job *taker = group->n_takes ? cluster_job_at(c, group->job) : NULL;
        for (size_t i = 0; i < group->n_takes; i++) {
            const struct berth_take *take = &group->takes[i];
            const struct cluster_job *loser = cluster_job_at(c, take->owner);
            const struct berth_reservation *r = shelf_get(held, take->reservation);
            CHECK(taker && loser && taker != loser && r && group->reason);
            CHECK_EQ(take->seq, r->seq);
            CHECK_TEXT(take->owner, r->owner);
            if (text_eq(group->reason, "preempt"))
                CHECK(taker->queue == loser->queue && taker->priority > loser->priority);
            else
                CHECK(text_eq(group->reason, "reclaim") && taker->queue != loser->queue);
            for (size_t k = 0; k < r->n_parts; k++) /* all of it */
                CHECK(!is_promised(c, &r->parts[k].task));
            n_taken++;
        }
        CHECK(!group->n_takes ||
              n_bound_with(c, taker, g) + n_promised(c, taker->id) >= taker->least);
    }
}

/* Law 8: the same objects, config, now and seed give the same bytes, warm or cold. */
static void hold_digest(struct cluster *c)
{
    struct world other = { .in = c->w.in };
    struct err err = { 0 };
    char digest[33];

    memcpy(digest, c->w.out.digest, sizeof(digest));
    other.engine = berth_engine_new(&err);
    CHECK_EQ(berth_engine_export(c->w.engine, world_feed, other.engine), 0);
    world_cycle(&other);
    CHECK_TEXT(other.out.digest, digest);
    world_fini(&other);
}

TEST(laws_hold_over_random_histories)
{
    uint64_t random = test_seed();
    size_t n_evicted = 0, n_bound = 0, n_waited = 0;

    for (int round = 0; round < n_clusters(60); round++) {
        struct cluster c;
        bool is_berth;
        cluster_init(&c, test_random(&random), profile_names[round % COUNT_OF(profile_names)]);
        is_berth = text_eq(profile_names[round % COUNT_OF(profile_names)], "berth");
        for (int cycle = 0; cycle < 25; cycle++) {
            cluster_stir(&c);
            cluster_stir(&c);
            cluster_decide(&c);
            hold_digest(&c);
            hold_gangs(&c);
            if (is_berth)
                hold_evictions(&c);
            hold_takes(&c);
            n_evicted += c.w.out.counts.tasks_evicted;
            n_bound += c.w.out.counts.tasks_placed;
            n_waited += c.w.out.n_verdicts;
            cluster_accept(&c);
            hold_room(&c);
            hold_reasons(&c);
            if (is_berth)
                hold_caps(&c);
            if (cluster_dice(&c, 2))
                cluster_end_releasing(&c);
            c.w.in.now_ms += 1000 * (int64_t)cluster_dice(&c, 200);
            c.w.in.seed++;
        }
        cluster_fini(&c);
    }
    CHECK(n_evicted > 10 && n_bound > 100 && n_waited > 100 && n_minimal > 10);
}

/* Jobs whose tasks a cycle evicts, each counted once. */
static size_t jobs_evicted(struct cluster *c)
{
    size_t n = 0;

    for (size_t j = 0; j < c->n_jobs; j++) {
        bool found = false;
        for (size_t g = 0; g < c->w.out.n_groups; g++)
            found = found || n_parts_of(&c->w.out.groups[g], BERTH_PART_EVICT, c->jobs[j].id) > 0;
        n += found;
    }
    return n;
}

/* Decides until nothing is evicted: what was freed goes to its owner before time passes. */
static size_t settle(struct cluster *c)
{
    size_t n = 0, now;

    do {
        cluster_decide(c);
        now = jobs_evicted(c);
        n += now;
        cluster_accept(c);
        cluster_end_releasing(c);
    } while (now && n <= CLUSTER_JOBS);
    return n;
}

/* Nothing arrives and nothing ends; time passes, in small steps and in large ones. */
TEST(laws_let_a_cluster_come_to_rest)
{
    static const int64_t steps_ms[] = { 1000, 60000, 1200000 };
    uint64_t random = test_seed();

    for (int round = 0; round < n_clusters(60); round++) {
        struct cluster c;
        size_t n = 0;
        cluster_init(&c, test_random(&random), "berth");
        for (int j = 0; j < CLUSTER_JOBS; j++)
            cluster_add_job(&c);
        for (size_t cycle = 0; cycle < 80 && n <= c.n_jobs; cycle++) {
            n += settle(&c);
            c.w.in.now_ms += steps_ms[round % COUNT_OF(steps_ms)];
        }
        CHECK(n <= c.n_jobs);
        cluster_fini(&c);
    }
}

/*
 * What is held goes from one to another only so often: whoever loses it cannot take it back. Most
 * victims take their time, as many rooms are held; then nothing arrives, and in half of the clusters
 * nothing ends either.
 */
TEST(laws_let_held_room_come_to_rest)
{
    uint64_t random = test_seed();
    size_t before = n_taken;

    for (int round = 0; round < n_clusters(120); round++) {
        struct cluster c;
        size_t n = 0, n_busy = 0;
        cluster_init(&c, test_random(&random), "berth");
        while (c.n_jobs < CLUSTER_JOBS) {
            cluster_add_job(&c);
            c.jobs[c.n_jobs - 1].priority = (int)c.n_jobs / 2; /* who comes late is urgent */
            cluster_tell_job(&c, c.n_jobs - 1);
            cluster_decide(&c);
            hold_takes(&c);
            cluster_accept(&c);
            if (cluster_dice(&c, 6) == 0)
                cluster_end_releasing(&c);
        }
        for (int cycle = 0; cycle < 60; cycle++) {
            cluster_decide(&c);
            hold_takes(&c);
            n += c.w.out.counts.rooms_taken;
            n_busy = world_groups(&c.w)[0] ? n_busy + 1 : 0;
            cluster_accept(&c);
            if (round % 2 && cluster_dice(&c, 4) == 0)
                cluster_end_releasing(&c);
        }
        CHECK(n <= c.n_jobs * c.n_jobs);
        CHECK(n_busy < 10); /* it ended long ago */
        cluster_fini(&c);
    }
    CHECK(n_taken > before + 20);
}

/* Who is owed room, by reservation. */
struct debt {
    char owner[16];
    bool open;
};

static void book_debts(struct cluster *c, struct debt debts[CLUSTER_JOBS])
{
    for (size_t g = 0; g < c->w.out.n_groups; g++) {
        const struct berth_group *group = &c->w.out.groups[g];
        struct cluster_job *job = group->job ? cluster_job_at(c, group->job) : NULL;
        if (group->kind == BERTH_GROUP_RELEASE) {
            CHECK(group->reason && group->reason[0]); /* the receipt says why not */
            for (size_t j = 0; j < c->n_jobs; j++)
                if (text_eq(group->name + strlen("r-"), c->jobs[j].id))
                    debts[j].open = false;
        }
        for (size_t i = 0; i < group->n_takes; i++) /* so does who takes it */
            debts[cluster_job_at(c, group->takes[i].owner) - c->jobs].open = false;
        if (job && n_parts_of(group, BERTH_PART_BIND, job->id))
            debts[job - c->jobs].open = false;
        if (n_parts_of(group, BERTH_PART_RESERVE, NULL))
            debts[job - c->jobs].open = true;
    }
}

/* Law 14: each eviction ends with its owner bound or with a receipt that says why not. */
TEST(laws_pay_every_eviction)
{
    uint64_t random = test_seed();
    size_t n_evictions = 0;

    for (int round = 0; round < n_clusters(60); round++) {
        struct debt debts[CLUSTER_JOBS] = { 0 };
        struct cluster c;
        cluster_init(&c, test_random(&random), "berth");
        for (int cycle = 0; cycle < 30; cycle++) {
            if (cycle < 20)
                cluster_stir(&c);
            cluster_decide(&c);
            n_evictions += c.w.out.counts.tasks_evicted;
            book_debts(&c, debts);
            cluster_accept(&c);
            if (cycle >= 20 || cluster_dice(&c, 2))
                cluster_end_releasing(&c);
            c.w.in.now_ms += 45000;
        }
        for (size_t j = 0; j < c.n_jobs; j++) {
            if (debts[j].open)
                print_error("%s is still owed its room\n", c.jobs[j].id);
            CHECK(!debts[j].open);
        }
        cluster_fini(&c);
    }
    CHECK(n_evictions > 10);
}

/* One object of an export. */
struct bag {
    struct berth_engine *to;
    int pick, seen;
};

static int feed_picked(const struct berth_delta *delta, void *arg)
{
    struct bag *bag = arg;

    return bag->seen++ == bag->pick ? world_feed(delta, bag->to) : 0;
}

/* Each object of the export goes in once, in an order of chance. */
TEST(laws_hold_whatever_comes_first)
{
    uint64_t random = test_seed();

    for (int round = 0; round < n_clusters(40); round++) {
        struct cluster c;
        struct world other;
        struct bag bag = { .pick = -1 };
        int order[200], n;
        cluster_init(&c, test_random(&random), profile_names[round % COUNT_OF(profile_names)]);
        for (int cycle = 0; cycle < 8; cycle++) {
            cluster_stir(&c);
            cluster_decide(&c);
            cluster_accept(&c);
        }
        CHECK_EQ(berth_engine_export(c.w.engine, feed_picked, &bag), 0);
        n = bag.seen;
        CHECK(n >= 5 && n <= (int)COUNT_OF(order));
        for (int i = 0; i < n; i++) {
            int k = (int)(test_random(&random) % (uint64_t)(i + 1));
            order[i] = order[k];
            order[k] = i;
        }
        world_init(&other);
        other.in = c.w.in;
        bag.to = other.engine;
        for (int i = 0; i < n; i++) {
            bag.seen = 0;
            bag.pick = order[i];
            CHECK_EQ(berth_engine_export(c.w.engine, feed_picked, &bag), 0);
        }
        world_cycle(&c.w);
        world_cycle(&other);
        CHECK_TEXT(c.w.out.digest, other.out.digest);
        world_fini(&other);
        cluster_fini(&c);
    }
}

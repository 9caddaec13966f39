/*
 * By brute force on small clusters: a gang of unlike tasks begins where evictions within the rules let it, wherever
 * its members go, and of those who go nobody could have stayed.
 *
 * BERTH_PROOF_ROUNDS says how many clusters are drawn.
 */
#include <stdlib.h>

#include "engine/testing.h"

enum { NODES = 3, JOBS = 4, TASKS = 4, MEMBERS = 4, MOST_VICTIMS = 8, CPU = 0, MEMORY, DIMS };

enum { ROLES = 2, NO_ROLE = ROLES };

struct size {
    int64_t of[DIMS];
};

/* How many of a job begin, or stay, at least. */
struct least {
    int64_t n, of[ROLES + 1];
};

struct drawn_task {
    struct size asks;
    int node, role;
    bool is_spared;
    bool goes;
};

struct drawn_job {
    int priority;
    uint32_t n;
    struct least least;
    struct drawn_task tasks[TASKS];
};

struct drawn {
    struct world w;
    uint64_t random;
    struct str text;
    bool is_reclaim; /* those who run are of another queue, which deserves nothing */
    int n_nodes;
    bool has_memory, has_roles;
    struct size free[NODES];
    struct drawn_job jobs[JOBS];
    size_t n_jobs, n_victims;
    struct size members[MEMBERS];
    int roles[MEMBERS];
    bool begins[MEMBERS]; /* asked about; all at first */
    uint32_t n_members;
    struct least least;
    struct least to_begin; /* so many of them are to have places */
};

enum { TAKER_PRIORITY = 2 };

static size_t n_begun, n_waiting, n_evicted;

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

static struct berth_amounts amounts(struct drawn *d, const struct size *size)
{
    struct berth_amount *at = ARENA_NEW0_N(&d->w.arena, struct berth_amount, DIMS);

    at[CPU] = (struct berth_amount){ "cpu", 1000 * size->of[CPU] };
    at[MEMORY] = (struct berth_amount){ "memory", size->of[MEMORY] };
    return (struct berth_amounts){ at, d->has_memory ? DIMS : 1 };
}

static struct size draw_size(struct drawn *d)
{
    struct size size = { { 1 + (int64_t)draw(d, 4) } };

    size.of[MEMORY] = d->has_memory ? 1 + (int64_t)draw(d, 4) : 0;
    return size;
}

static void add(struct size *to, const struct size *size, int64_t sign)
{
    for (int i = 0; i < DIMS; i++)
        to->of[i] += sign * size->of[i];
}

static bool is_within(const struct size *a, const struct size *b)
{
    return a->of[CPU] <= b->of[CPU] && a->of[MEMORY] <= b->of[MEMORY];
}

/* As cpu, or cpu/memory. */
static void print_size(struct drawn *d, const struct size *size)
{
    str_addf(&d->text, " %" PRId64, size->of[CPU]);
    if (d->has_memory)
        str_addf(&d->text, "/%" PRId64, size->of[MEMORY]);
}

static const char *node_name(struct drawn *d, int node)
{
    return arena_format(&d->w.arena, "n%d", node);
}

static const char *victims_queue(const struct drawn *d)
{
    return d->is_reclaim ? "others" : "mine";
}

static const char *role_name(int role)
{
    static const char *const names[] = { "a", "b", NULL };

    return names[role];
}

static int draw_role(struct drawn *d)
{
    return d->has_roles ? (int)draw(d, ROLES + 1) : NO_ROLE;
}

/* Minima of roles, of mostly as many as there are at most; they may come to more than the job's own. */
static struct least draw_least(struct drawn *d, uint32_t n, const int64_t *has)
{
    struct least least = { .n = n };

    for (int i = 0; d->has_roles && i < ROLES; i++)
        least.of[i] = (int64_t)draw(d, (uint64_t)has[i] + 1 + (draw(d, 10) == 0));
    return least;
}

static void draw_job(struct drawn *d)
{
    struct drawn_job *job = &d->jobs[d->n_jobs++];
    int64_t has[ROLES + 1] = { 0 };

    job->priority = (int)draw(d, 8) < 7 ? (int)draw(d, 2) : TAKER_PRIORITY;
    job->n = 1 + (uint32_t)draw(d, TASKS);
    for (uint32_t i = 0; i < job->n; i++, d->n_victims++) {
        job->tasks[i] = (struct drawn_task){ .asks = draw_size(d),
                                             .node = (int)draw(d, (uint64_t)d->n_nodes),
                                             .role = draw_role(d),
                                             .is_spared = draw(d, 10) == 0 };
        has[job->tasks[i].role]++;
    }
    job->least = draw_least(d, 1 + (uint32_t)draw(d, job->n), has);
}

static struct berth_minimum *minima(struct drawn *d, const struct least *least)
{
    struct berth_minimum *at = ARENA_NEW0_N(&d->w.arena, struct berth_minimum, ROLES);

    for (int i = 0; i < ROLES; i++) {
        at[i] = (struct berth_minimum){ role_name(i), (uint32_t)least->of[i] };
        if (least->of[i])
            str_addf(&d->text, " %s>=%" PRId64, role_name(i), least->of[i]);
    }
    return at;
}

static void print_role(struct drawn *d, int role)
{
    if (role != NO_ROLE)
        str_addf(&d->text, " (%s)", role_name(role));
}

/* Each task is a group of its own, so that those of a job differ. */
static void tell_job(struct drawn *d, size_t j)
{
    const struct drawn_job *job = &d->jobs[j];
    const char *id = arena_format(&d->w.arena, "%c", (char)('a' + j));
    struct berth_task_group groups[TASKS] = { 0 };
    struct berth_minimum *minima_at;

    str_addf(&d->text, "%s: priority %d, least %" PRId64 ":", id, job->priority, job->least.n);
    for (uint32_t i = 0; i < job->n; i++) {
        const struct drawn_task *t = &job->tasks[i];
        groups[i].name = arena_format(&d->w.arena, "%u", i);
        groups[i].role = role_name(t->role);
        groups[i].replicas = 1;
        groups[i].asks = amounts(d, &t->asks);
        groups[i].not_preemptable = t->is_spared;
        print_size(d, &t->asks);
        print_role(d, t->role);
        str_addf(&d->text, " on n%d%s", t->node, t->is_spared ? " spared" : "");
    }
    minima_at = minima(d, &job->least);
    str_add(&d->text, "\n");
    world_tell(&d->w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++d->w.seq,
                                    .queue = victims_queue(d),
                                    .priority = job->priority,
                                    .min_available = (uint32_t)job->least.n,
                                    .minima = minima_at,
                                    .n_minima = d->has_roles ? ROLES : 0,
                                    .phase = BERTH_PHASE_RUNNING,
                                    .groups = groups,
                                    .n_groups = job->n });
    for (uint32_t i = 0; i < job->n; i++)
        world_tell(&d->w, BERTH_TASK,
                   &(struct berth_task){ .job = id,
                                         .group = groups[i].name,
                                         .attempt = 1,
                                         .node = node_name(d, job->tasks[i].node),
                                         .started_at_ms = 1000,
                                         .state = BERTH_TASK_RUNNING });
}

static void tell_node(struct drawn *d, int node)
{
    struct size offers = d->free[node];

    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t i = 0; i < d->jobs[j].n; i++)
            if (d->jobs[j].tasks[i].node == node)
                add(&offers, &d->jobs[j].tasks[i].asks, 1);
    str_addf(&d->text, "n%d:", node);
    print_size(d, &offers);
    str_add(&d->text, ", free");
    print_size(d, &d->free[node]);
    str_add(&d->text, "\n");
    world_tell(&d->w, BERTH_NODE,
               &(struct berth_node){ .id = node_name(d, node),
                                     .seq = ++d->w.seq,
                                     .state = NODE_READY,
                                     .facts = 7,
                                     .offers = amounts(d, &offers) });
}

static void tell_gang(struct drawn *d)
{
    struct berth_task_group groups[MEMBERS] = { 0 };
    struct berth_minimum *minima_at;

    str_addf(&d->text, "%s, gang, least %" PRId64 ":", d->is_reclaim ? "reclaim" : "preempt",
             d->least.n);
    for (uint32_t i = 0; i < d->n_members; i++) {
        groups[i].name = arena_format(&d->w.arena, "%u", i);
        groups[i].replicas = 1;
        groups[i].asks = amounts(d, &d->members[i]);
        groups[i].role = role_name(d->roles[i]);
        print_size(d, &d->members[i]);
        print_role(d, d->roles[i]);
    }
    minima_at = minima(d, &d->least);
    str_add(&d->text, "\n");
    world_tell(&d->w, BERTH_JOB,
               &(struct berth_job){ .id = "gang",
                                    .seq = ++d->w.seq,
                                    .queue = "mine",
                                    .priority = TAKER_PRIORITY,
                                    .min_available = (uint32_t)d->least.n,
                                    .minima = minima_at,
                                    .n_minima = d->has_roles ? ROLES : 0,
                                    .groups = groups,
                                    .n_groups = d->n_members });
}

static void tell_queues(struct drawn *d)
{
    /* Enough that a search ends where all ways were tried, and not before. */
    struct berth_value steps = { .key = "gangSearchSteps",
                                 .kind = BERTH_VALUE_INT,
                                 .number = 1000000 };
    struct berth_value policy = { .kind = BERTH_VALUE_OBJECT, .members = &steps, .n_members = 1 };
    struct berth_config config = { .policy = &policy };

    if (d->is_reclaim)
        world_mix(&d->w, 1, &config); /* `capacity`, where what queues deserve is told */
    world_tell(&d->w, BERTH_CONFIG, &config);
    if (d->is_reclaim) {
        world_tell(
            &d->w, BERTH_QUEUE,
            &(struct berth_queue){ .name = "others", .seq = ++d->w.seq, .has_deserved = true });
    }
    world_tell(
        &d->w, BERTH_QUEUE,
        &(struct berth_queue){ .name = "mine",
                               .seq = ++d->w.seq,
                               .has_deserved = d->is_reclaim,
                               .deserved = amounts(d, &(struct size){ { 1000, 1000000 } }) });
}

/* Minima of roles that come to more than that of the job do not bind. */
static struct least binding(const struct least *least)
{
    return least->of[0] + least->of[1] > least->n ? (struct least){ .n = least->n } : *least;
}

static void draw_cluster(struct drawn *d)
{
    uint64_t n = 1 + draw(d, JOBS);
    bool are_alike = draw(d, 3) == 0;
    int64_t has[ROLES + 1] = { 0 };

    world_init(&d->w);
    d->is_reclaim = draw(d, 3) == 0;
    d->n_nodes = 1 + (int)draw(d, NODES);
    for (uint64_t i = 0; i < n && d->n_victims + TASKS <= MOST_VICTIMS; i++)
        draw_job(d);
    d->n_members = 2 + (uint32_t)draw(d, MEMBERS - 1);
    memset(d->begins, true, sizeof(d->begins));
    for (uint32_t i = 0; i < d->n_members; i++) {
        d->members[i] = i && are_alike ? d->members[0] : draw_size(d);
        d->roles[i] = draw_role(d);
        has[d->roles[i]]++;
    }
    d->least = draw_least(d, draw(d, 2) ? d->n_members : 1 + (uint32_t)draw(d, d->n_members), has);
    d->to_begin = binding(&d->least);
    tell_queues(d);
    for (int i = 0; i < d->n_nodes; i++) {
        if (draw(d, 2))
            d->free[i] = draw_size(d);
        tell_node(d, i);
    }
    for (size_t j = 0; j < d->n_jobs; j++)
        tell_job(d, j);
    tell_gang(d);
}

/* --- The rules */

static bool may_go(const struct drawn *d, const struct drawn_job *job)
{
    return d->is_reclaim || job->priority < TAKER_PRIORITY;
}

static bool is_met(const struct least *least)
{
    bool is_met = least->n <= 0;

    for (int i = 0; i < ROLES; i++)
        is_met = is_met && least->of[i] <= 0;
    return is_met;
}

/* Of a job either no more go than it can spare, or all; nobody goes who is spared. */
static bool keeps_units(const struct drawn *d)
{
    for (size_t j = 0; j < d->n_jobs; j++) {
        const struct drawn_job *job = &d->jobs[j];
        struct least lacks = binding(&job->least);
        uint32_t n = 0;
        for (uint32_t i = 0; i < job->n; i++) {
            if (job->tasks[i].goes && job->tasks[i].is_spared)
                return false;
            n += job->tasks[i].goes;
            lacks.n -= !job->tasks[i].goes;
            lacks.of[job->tasks[i].role] -= !job->tasks[i].goes;
        }
        if (n && (!may_go(d, job) || (!is_met(&lacks) && n < job->n)))
            return false;
    }
    return true;
}

/* Whether as many as lack of the members from one on have places. */
static bool fit(const struct drawn *d, struct size *room, uint32_t from, struct least lacks)
{
    struct least less = lacks;

    if (is_met(&lacks))
        return true;
    if (d->n_members <= from || d->n_members - from < lacks.n)
        return false;
    less.n--;
    less.of[d->roles[from]]--;
    for (int i = 0; i < d->n_nodes && d->begins[from]; i++) {
        bool found;
        if (!is_within(&d->members[from], &room[i]))
            continue;
        add(&room[i], &d->members[from], -1);
        found = fit(d, room, from + 1, less);
        add(&room[i], &d->members[from], 1);
        if (found)
            return true;
    }
    return fit(d, room, from + 1, lacks);
}

static bool makes_room(const struct drawn *d)
{
    struct size room[NODES];

    memcpy(room, d->free, sizeof(room));
    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t i = 0; i < d->jobs[j].n; i++)
            if (d->jobs[j].tasks[i].goes)
                add(&room[d->jobs[j].tasks[i].node], &d->jobs[j].tasks[i].asks, 1);
    return fit(d, room, 0, d->to_begin);
}

/* Whether each goes, by the bits of a number. */
static void set_who_goes(struct drawn *d, uint64_t set)
{
    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t i = 0; i < d->jobs[j].n; i++, set >>= 1)
            d->jobs[j].tasks[i].goes = set & 1;
}

static uint64_t who_went(struct drawn *d)
{
    uint64_t set = 0, bit = 1;

    for (size_t j = 0; j < d->n_jobs; j++)
        for (uint32_t i = 0; i < d->jobs[j].n; i++, bit <<= 1)
            for (size_t g = 0; g < d->w.out.n_groups; g++)
                for (size_t k = 0; k < d->w.out.groups[g].n_parts; k++) {
                    const struct berth_part *part = &d->w.out.groups[g].parts[k];
                    if (part->kind == BERTH_PART_EVICT && part->task.job[0] == (char)('a' + j) &&
                        part->task.group[0] == (char)('0' + i))
                        set |= bit;
                }
    return set;
}

/* What comes is asked about those members alone that began. */
static void set_who_begins(struct drawn *d)
{
    memset(d->begins, 0, sizeof(d->begins));
    d->to_begin = (struct least){ 0 };
    for (size_t g = 0; g < d->w.out.n_groups; g++)
        for (size_t k = 0; k < d->w.out.groups[g].n_parts; k++) {
            const struct berth_part *part = &d->w.out.groups[g].parts[k];
            if (!text_eq(part->task.job, "gang") || part->kind == BERTH_PART_EVICT)
                continue;
            d->begins[part->task.group[0] - '0'] = true;
            d->to_begin.n++;
        }
}

/* Whether a set within the rules makes room; of those within another alone, but it. */
static bool would_do(struct drawn *d, uint64_t within)
{
    for (uint64_t set = 0; set < (uint64_t)1 << d->n_victims; set++) {
        if ((set & within) != set || set == within)
            continue;
        set_who_goes(d, set);
        if (keeps_units(d) && makes_room(d))
            return true;
    }
    return false;
}

static void hold_gang(struct drawn *d)
{
    uint64_t all = (uint64_t)1 << d->n_victims, went;
    bool could = would_do(d, all | (all - 1)), began, in_vain;
    const char *groups;

    world_cycle(&d->w);
    groups = world_groups(&d->w);
    str_addf(&d->text, "%s\n", groups);
    went = who_went(d);
    in_vain = went && would_do(d, went); /* for whichever members */
    set_who_begins(d);
    began = groups[0];
    in_vain = in_vain || (went && would_do(d, went)); /* for those that began */
    set_who_goes(d, went);
    if (began != could || in_vain || !keeps_units(d) || (began && !makes_room(d)))
        print_error("%s%s", str_text(&d->text),
                    began != could ? "it could begin\n" : "somebody goes in vain\n");
    CHECK_EQ(began, could);
    CHECK(!in_vain);
    CHECK(keeps_units(d));
    CHECK(!began || makes_room(d));
    n_begun += began;
    n_waiting += !began;
    n_evicted += went != 0;
}

static void prove(bool has_memory, bool has_roles, uint64_t n)
{
    uint64_t random = test_seed();

    n_begun = n_waiting = n_evicted = 0;
    for (uint64_t round = 0; round < n; round++) {
        struct drawn d = { .random = test_random(&random),
                           .has_memory = has_memory,
                           .has_roles = has_roles };
        draw_cluster(&d);
        hold_gang(&d);
        str_fini(&d.text);
        world_fini(&d.w);
    }
    CHECK(n < 100 || (n_begun > n / 10 && n_waiting > n / 50 && n_evicted > n / 10));
}

TEST(give_back_lets_gangs_begin_and_nobody_go_in_vain)
{
    prove(false, false, rounds(1500));
}

TEST(give_back_lets_gangs_begin_where_two_resources_are_lacking)
{
    prove(true, false, rounds(1500));
}

TEST(give_back_lets_gangs_begin_where_roles_have_minima)
{
    prove(false, true, rounds(1500));
}

TEST(give_back_lets_gangs_begin_by_roles_where_two_resources_are_lacking)
{
    prove(true, true, rounds(500));
}

/*
 * Crowds of jobs that are alike: of each line the first alone is looked at, and that changes no
 * decision. Over random histories a cycle decides as a cold one, which knows no lines and gives each
 * job its turn, and answers, to the byte, as an engine rebuilt from its export; and nothing comes of
 * time alone before `wakeAt`.
 *
 * BERTH_PROOF_ROUNDS says how many histories there are. With BERTH_PROOF_SHRINK=1 one that fails is
 * made as short as it can be, and the engine's export is printed before each of its cycles.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/lines.h"
#include "engine/testing.h"

enum { FEW = 5, MANY = 20, JOBS = 120, QUEUES = 6, QUEUES_FLAT = 3, SHAPES = 5, STEPS = 90 };

/* Which victims cost least may change as they work, if some work more in a second: then time alone
 * changes who is found first, and nobody is woken for that. */
static bool all_work_alike;
static uint64_t n_nodes, n_queues; /* of the history that is played */
static bool is_shown;              /* it is printed */

/*
 * What happens in a step goes by its own seed: so any part of a history is a history too, and one
 * that fails can be made shorter.
 */
enum what { TELL_CONFIG, TELL_QUEUE, TELL_NODE, TELL_JOB, END_TASKS, CYCLE, PASS_TIME };
enum { MOST_STEPS = 1000 };

struct history {
    uint64_t n_queues, n_nodes;
    size_t n;
    struct step {
        enum what what;
        uint64_t at, seed;
    } steps[MOST_STEPS];
};

typedef void at_cycle_fn(struct world *w, uint64_t *random);

static size_t n_binds, n_evictions, n_taken, n_longest, n_quiet;

static uint64_t draw(uint64_t *random, uint64_t n)
{
    return test_random(random) % n;
}

static const char *name(struct world *w, const char *prefix, uint64_t i)
{
    return arena_format(&w->arena, "%s%" PRIu64, prefix, i);
}

static void tell_node(struct world *w, uint64_t *random, uint64_t i)
{
    world_tell(w, BERTH_NODE,
               &(struct berth_node){
                   .id = name(w, "n", i),
                   .seq = i,
                   .state = draw(random, 8) ? NODE_READY : NODE_UNREACHABLE,
                   .cordoned = draw(random, 10) == 0,
                   .revocable_zone = draw(random, 8) ? NULL : "night",
                   .offers = world_amounts(
                       w, (n_nodes == FEW ? 3 : 1) + (int64_t)draw(random, n_nodes == FEW ? 6 : 3),
                       (int64_t)(4 + draw(random, 8)) << 30) });
}

static void tell_queue(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_queue queue = { .name = name(w, "q", i), .seq = i, .weight = 1 + (int)i };

    if (draw(random, 3) == 0)
        queue.deserved = world_amounts(w, 2 + (int64_t)draw(random, 10), (int64_t)16 << 30);
    if (draw(random, 3) == 0)
        queue.guarantee = world_amounts(w, (int64_t)draw(random, 5), 0);
    if (draw(random, 3) == 0)
        queue.capability = world_amounts(w, 4 + (int64_t)draw(random, 10), (int64_t)64 << 30);
    if (draw(random, 6) == 0)
        queue.state = QUEUE_CLOSED;
    if (draw(random, 4) == 0)
        queue.min_runtime_ms = 20000;
    if (n_queues == QUEUES && i > 1 && draw(random, 3) == 0) /* many hang in a tree */
        queue.parent = name(w, "q", draw(random, i));
    world_tell(w, BERTH_QUEUE, &queue);
}

static const struct berth_pod_term over_nodes = { .topology_key = "kubernetes.io/hostname",
                                                  .weight = 1 };
static const struct berth_affinity rather_spread = { .spread_preferred = &over_nodes,
                                                     .n_spread_preferred = 1 };

static const struct berth_label on_no_node = { "disk", "fast" };

static void fill_group(struct world *w, uint64_t *random, struct berth_task_group *group)
{
    static const uint16_t port = 80;
    static const uint32_t replicas[SHAPES] = { 1, 1, 3, 4, 1 };
    static const int64_t cpus[SHAPES] = { 1, 2, 1, 2, 9 };
    uint64_t shape = draw(random, 2) ? 1 : draw(random, SHAPES); /* lines grow long */

    group->replicas = replicas[shape];
    group->asks = world_amounts(w, all_work_alike ? 1 : cpus[shape], (int64_t)1 << 30);
    if (draw(random, 12) == 0)
        group->revocable_zone = "*";
    group->not_preemptable = draw(random, 16) == 0;
    if (draw(random, 12) == 0)
        group->affinity = &rather_spread;
    if (draw(random, 20) == 0)
        group->node_selector = (struct berth_labels){ &on_no_node, 1 };
    if (draw(random, 25) == 0) {
        group->host_ports = &port;
        group->n_host_ports = 1;
    }
}

/* Now and then time, somebody's wish or an odd date sets a job apart from its likes. */
static void make_odd(struct world *w, uint64_t *random, struct berth_job *job)
{
    switch (draw(random, 24)) {
    case 0:
        job->not_before_ms = w->in.now_ms + (int64_t)draw(random, 60000);
        break;
    case 1:
        job->withheld = WAIT_HELD;
        break;
    case 2:
        job->created_at_ms -= (int64_t)draw(random, 40000);
        break;
    case 3:
        job->created_at_ms = 0;
        break;
    case 4:
        job->deadline_at_ms = w->in.now_ms + (int64_t)draw(random, 60000);
        break;
    case 5:
        job->stopping = true;
        break;
    default:
        break;
    }
}

static void tell_job(struct world *w, uint64_t *random, uint64_t i)
{
    struct berth_task_group group = { .name = draw(random, 16) ? "task" : "work", .role = "task" };
    struct berth_job job = { .id = name(w, "j", i),
                             .seq = ++w->seq,
                             .queue = name(w, "q", draw(random, n_queues)),
                             .priority = (int)draw(random, 2),
                             .phase = draw(random, 6) ? BERTH_PHASE_INQUEUE : BERTH_PHASE_PENDING,
                             .created_at_ms = w->in.now_ms,
                             .preemptable = draw(random, 12) ? BERTH_YES : BERTH_UNSAID,
                             .groups = &group,
                             .n_groups = 1 };

    fill_group(w, random, &group);
    job.min_available = draw(random, 2) ? group.replicas : 1;
    if (draw(random, 5) == 0)
        job.limit_ms = 30000;
    if (draw(random, 4) == 0)
        job.budget = (struct berth_budget){ .is_given = true, .value = (uint32_t)draw(random, 4) };
    make_odd(w, random, &job);
    if (draw(random, 10) == 0)
        world_end(w, BERTH_JOB, &job);
    else
        world_tell(w, BERTH_JOB, &job);
}

/* Tasks that run end, and those that were evicted wait again. */
static void end_tasks(struct world *w, uint64_t *random)
{
    JOB_EACH (job, engine_model(w->engine)) {
        for (size_t i = 0; i < job->n_tasks; i++) {
            struct berth_task told;
            if (!task_told(&job->tasks[i], &told) || told.state == BERTH_TASK_PENDING ||
                draw(random, 3))
                continue;
            if (told.state == BERTH_TASK_RELEASING) {
                told.evictions++;
                told.state = BERTH_TASK_PENDING;
                told.not_before_ms = draw(random, 3) ? 0 : w->in.now_ms + 5000;
            } else {
                told.state = BERTH_TASK_SUCCEEDED;
            }
            told.node = NULL;
            world_tell(w, BERTH_TASK, &told);
        }
    }
}

static void configure(struct world *w, uint64_t *random)
{
    static const char *const steps[] = { "enqueue", "allocate", "preempt", "reclaim", "backfill" };
    static const char *const after[] = { "never", "0s", "25s" };
    static const char *const unit[] = { "spare-or-whole", "task" };
    struct berth_value aging[] = {
        { .key = "step", .kind = BERTH_VALUE_TEXT, .text = "10s" },
        { .key = "max", .kind = BERTH_VALUE_INT, .number = 3 },
    };
    struct berth_value policy[] = {
        { .key = "aging", .kind = BERTH_VALUE_OBJECT, .members = aging, .n_members = 2 },
        { .key = "protectAfter", .kind = BERTH_VALUE_TEXT, .text = after[draw(random, 3)] },
        { .key = "minRuntime", .kind = BERTH_VALUE_TEXT, .text = draw(random, 2) ? "0s" : "15s" },
        { .key = "victimUnit", .kind = BERTH_VALUE_TEXT, .text = unit[draw(random, 2)] },
        { .key = "preemptFor",
          .kind = BERTH_VALUE_TEXT,
          .text = draw(random, 2) ? "minimum" : "all" },
    };

    struct berth_config config = { .has_actions = true,
                                   .actions = { steps, COUNT_OF(steps) },
                                   .policy =
                                       &(struct berth_value){ .kind = BERTH_VALUE_OBJECT,
                                                              .members = policy,
                                                              .n_members = COUNT_OF(policy) } };

    world_mix(w, draw(random, 2) * draw(random, WORLD_MIXES), &config);
    world_tell(w, BERTH_CONFIG, &config);
}

static void note(const struct world *w)
{
    n_binds += w->out.counts.tasks_placed;
    n_evictions += w->out.counts.tasks_evicted;
    n_taken += w->out.counts.rooms_taken;
    VEC_EACH (line, &engine_model(w->engine)->lines)
        n_longest = (*line)->n > n_longest ? (*line)->n : n_longest;
}

/* Who waits for what; without the numbers, which may move with time. */
static const char *standing(struct world *w)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < w->out.n_verdicts; i++) {
        const struct berth_verdict *v = &w->out.verdicts[i];
        str_addf(&text, "%s/%s %u %s %s ", v->job, v->group ? v->group : "", v->n_tasks,
                 wait_codes[v->reason->code].word, v->reason->blocker ? v->reason->blocker : "");
        str_add_char(&text, '\n');
    }
    return arena_text(&w->arena, str_text(&text));
}

/* The first line in which two texts differ, if they do. */
static void check_same(struct world *w, const char *a, const char *b)
{
    size_t from = 0;

    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        from = a[i] == '\n' ? i + 1 : from;
    CHECK_TEXT(arena_format(&w->arena, "%.*s", (int)strcspn(a + from, "\n"), a + from),
               arena_format(&w->arena, "%.*s", (int)strcspn(b + from, "\n"), b + from));
}

/* The cycle of an engine that was told the same, and lived through none of it. */
static void hold_rebuilt(struct world *w)
{
    struct world again;

    world_init(&again);
    CHECK_EQ(berth_engine_export(w->engine, world_feed, again.engine), 0);
    again.in = w->in;
    world_cycle(&again);
    CHECK_TEXT(w->out.digest, again.out.digest);
    world_fini(&again);
}

/* Whether it hangs on when a job had its turn: what others of its line are told as well may not be
 * what it would be told itself. */
static bool is_of_turn(enum wait_code code)
{
    return code == WAIT_OVER_CAP || code == WAIT_OVER_GUARANTEE_NOT_RECLAIMABLE ||
           code == WAIT_LARGER_THAN_QUEUE || code == WAIT_BEHIND_HIGHER_RANK ||
           code == WAIT_LARGER_THAN_ANY_NODE || code == WAIT_LARGER_THAN_CLUSTER ||
           code == WAIT_PROTECTED_HEAD || code == WAIT_GANG_INCOMPLETE ||
           code >= WAIT_FIRST_OF_NODE;
}

/* Who waits, and for what where that does not hang on turns. */
static const char *lasting(struct world *w)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < w->out.n_verdicts; i++) {
        const struct berth_verdict *v = &w->out.verdicts[i];
        bool of_turn = is_of_turn(v->reason->code);
        str_addf(&text, "%s %u %s %s\n", v->job, v->n_tasks,
                 of_turn ? "its turn" : wait_codes[v->reason->code].word,
                 !of_turn && v->reason->blocker ? v->reason->blocker : "");
    }
    return arena_text(&w->arena, str_text(&text));
}

/* What all of a line are told is of each of them. */
static void hold_own(struct world *w)
{
    for (size_t i = 0; i < w->out.n_verdicts; i++) {
        const struct berth_verdict *v = &w->out.verdicts[i];
        const struct job *job = job_find(engine_model(w->engine), v->job);
        const struct berth_amounts *asks = &job->kept->groups[0].asks;
        if (v->group)
            CHECK_TEXT(v->group, job->kept->groups[0].name);
        if (v->reason->stuck_group)
            CHECK_TEXT(v->reason->stuck_group, job->kept->groups[0].name);
        if (v->reason->needed)
            CHECK_EQ(v->reason->needed, job->min_available);
        /* Of a queue's cap all of a minimum may be more. */
        if (v->reason->resource && strcmp(v->reason->resource, "cpu") == 0 &&
            (v->reason->code != WAIT_LARGER_THAN_QUEUE ||
             v->reason->asked != asks->at[0].value * job->min_available))
            CHECK_EQ(v->reason->asked, asks->at[0].value);
    }
}

/* A brief cycle decides the same, and what it tells is of the whole list. */
static void hold_brief(struct world *w)
{
    CLEANUP(str_fini) struct str line = { 0 };
    const char *groups, *told = standing(w), *brief;
    size_t n_groups = w->out.n_groups;
    int64_t wake_at_ms = w->out.wake_at_ms;

    groups = world_groups(w);
    w->in.is_brief = true;
    world_cycle(w);
    w->in.is_brief = false;
    CHECK_TEXT(world_groups(w), groups);
    CHECK_EQ(w->out.n_groups, n_groups);
    CHECK_EQ(w->out.wake_at_ms, wake_at_ms);
    for (brief = standing(w); *brief; brief += line.len) {
        str_clear(&line);
        str_addf(&line, "%.*s\n", (int)strcspn(brief, "\n"), brief);
        CHECK((told = strstr(told, str_text(&line))) != NULL); /* in the same order */
    }
}

static void cycle(struct world *w)
{
    const char *groups, *waiting;
    size_t n_groups;
    int64_t wake_at_ms;

    w->in.is_cold = true;
    world_cycle(w);
    groups = world_groups(w);
    waiting = lasting(w);
    n_groups = w->out.n_groups;
    wake_at_ms = w->out.wake_at_ms;
    w->in.is_cold = false;
    world_cycle(w);
    CHECK_TEXT(world_groups(w), groups);
    CHECK_EQ(w->out.n_groups, n_groups); /* admissions among them */
    CHECK(w->out.wake_at_ms >= wake_at_ms);
    check_same(w, lasting(w), waiting);
    hold_own(w);
    hold_rebuilt(w);
    hold_brief(w);
}

/* --- Histories */

static void add(struct history *h, uint64_t *random, enum what what, uint64_t at)
{
    CHECK(h->n < MOST_STEPS);
    h->steps[h->n++] = (struct step){ what, at, test_random(random) };
}

static void add_stir(struct history *h, uint64_t *random)
{
    switch (draw(random, 10)) {
    case 0:
        add(h, random, TELL_NODE, draw(random, h->n_nodes));
        break;
    case 1:
        add(h, random, TELL_QUEUE, draw(random, h->n_queues));
        break;
    case 2:
    case 3:
        add(h, random, END_TASKS, 0);
        break;
    default:
        for (int i = 0; i < 5; i++)
            add(h, random, TELL_JOB, draw(random, JOBS));
        break;
    }
}

/* History number i of a seed, which is the first of the seed that much greater. */
static uint64_t begin(struct history *h, uint64_t seed, uint64_t i)
{
    static char name[64];
    uint64_t state = seed + i, *random = &state;

    snprintf(name, sizeof(name), "BERTH_TEST_SEED=%" PRIu64 " BERTH_PROOF_ROUNDS=1", state);
    test_row(name);
    h->n = 0;
    h->n_queues = draw(random, 3) ? QUEUES : QUEUES_FLAT;
    /* On a few nodes all are tried for evictions; on many what they cost is kept. */
    h->n_nodes = draw(random, 2) ? FEW : MANY;
    add(h, random, TELL_CONFIG, 0);
    for (uint64_t at = 0; at < h->n_queues; at++)
        add(h, random, TELL_QUEUE, at);
    for (uint64_t at = 0; at < h->n_nodes; at++)
        add(h, random, TELL_NODE, at);
    for (uint64_t at = 0; at < JOBS / 2; at++)
        add(h, random, TELL_JOB, at);
    return state;
}

static void show(struct world *w)
{
    char *text = world_export(w->engine);

    fprintf(stderr, "--- a cycle at %" PRId64 " of\n%s", w->in.now_ms, text);
    free(text);
}

static void play_step(struct world *w, const struct step *step, at_cycle_fn *at_cycle)
{
    uint64_t random = step->seed;

    switch (step->what) {
    case TELL_CONFIG:
        configure(w, &random);
        break;
    case TELL_QUEUE:
        tell_queue(w, &random, step->at);
        break;
    case TELL_NODE:
        tell_node(w, &random, step->at);
        break;
    case TELL_JOB:
        tell_job(w, &random, step->at);
        break;
    case END_TASKS:
        end_tasks(w, &random);
        break;
    case CYCLE:
        w->in.revision++;
        if (is_shown)
            show(w);
        at_cycle(w, &random);
        break;
    case PASS_TIME:
        w->in.now_ms += (int64_t)step->at;
        break;
    }
}

static void play(const struct history *h, at_cycle_fn *at_cycle)
{
    struct world w;

    world_init(&w);
    n_queues = h->n_queues;
    n_nodes = h->n_nodes;
    world_tell(&w, BERTH_QUEUE, &(struct berth_queue){ .name = "root", .seq = QUEUES });
    for (size_t i = 0; i < h->n; i++)
        play_step(&w, &h->steps[i], at_cycle);
    world_fini(&w);
}

/* In a process of its own, since a check that does not hold ends the test. */
static bool does_fail(const struct history *h, at_cycle_fn *at_cycle)
{
    pid_t child = fork();
    int status, null;

    CHECK(child >= 0);
    if (child == 0) {
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        setenv("CMOCKA_TEST_ABORT", "1", true);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        play(h, at_cycle);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status != 0;
}

/* Leaves out whatever it fails without. */
static void shrink(struct history *h, at_cycle_fn *at_cycle)
{
    static struct history less;

    for (size_t size = h->n / 2, before = h->n; size; size = size / 2 ? size / 2 : h->n < before) {
        before = size > 1 ? before : h->n;
        for (size_t from = 0; from < h->n;) {
            size_t rest = h->n - from > size ? h->n - from - size : 0;
            less = *h;
            memmove(&less.steps[from], &h->steps[h->n - rest], rest * sizeof(*h->steps));
            less.n = from + rest;
            if (does_fail(&less, at_cycle))
                *h = less;
            else
                from += size;
        }
    }
}

static void prove(struct history *h, at_cycle_fn *at_cycle)
{
    if (getenv("BERTH_PROOF_SHRINK") && does_fail(h, at_cycle)) {
        shrink(h, at_cycle);
        is_shown = true;
    }
    play(h, at_cycle);
}

static uint64_t rounds(uint64_t few)
{
    const char *given = getenv("BERTH_PROOF_ROUNDS");

    return given ? strtoull(given, NULL, 10) : few;
}

static void decide(struct world *w, uint64_t *random)
{
    (void)random;
    cycle(w);
    note(w);
    world_accept(w, BERTH_TASK_RUNNING);
}

TEST(lines_of_jobs_change_no_answer)
{
    static struct history h;
    uint64_t seed = test_seed(), n = rounds(24), random;

    for (uint64_t round = 0; round < n; round++) {
        random = begin(&h, seed, round);
        for (int i = 0; i < STEPS; i++) {
            add_stir(&h, &random);
            if (draw(&random, 2))
                continue;
            add(&h, &random, CYCLE, 0);
            add(&h, &random, PASS_TIME, draw(&random, 12000));
        }
        prove(&h, decide);
    }
    /* Histories are worth something: not each of them, but many together. */
    CHECK(n < 10 || (n_binds > 20 * n && n_evictions > 2 * n && n_taken > 5 && n_longest > 4));
}

/* At rest, nothing comes of time before the engine asks to be woken. */
static void hold_wake(struct world *w, uint64_t *random)
{
    const char *before = standing(w), *groups = world_groups(w);
    int64_t now = w->in.now_ms, wake = w->out.wake_at_ms;
    int64_t end = wake < now + 100000 ? wake : now + 100000;

    for (int i = 0; i < 12 && end > now + 1; i++) {
        w->in.now_ms = i ? now + 1 + (int64_t)draw(random, (uint64_t)(end - now - 1)) : end - 1;
        world_cycle(w);
        CHECK_TEXT(world_groups(w), groups);
        check_same(w, standing(w), before);
    }
    w->in.now_ms = now;
    n_quiet++;
}

static void rest(struct world *w, uint64_t *random)
{
    world_cycle(w);
    if (!world_groups(w)[0]) /* admissions are not accepted here */
        hold_wake(w, random);
    else
        world_accept(w, BERTH_TASK_RUNNING);
}

TEST(nothing_comes_of_time_before_wake_at)
{
    static struct history h;
    uint64_t seed = test_seed(), n = rounds(12), random;

    all_work_alike = true;
    for (uint64_t round = 0; round < n; round++) {
        random = begin(&h, seed, round);
        for (int i = 0; i < STEPS; i++) {
            if (draw(&random, 3))
                add_stir(&h, &random);
            add(&h, &random, CYCLE, 0);
            add(&h, &random, PASS_TIME, draw(&random, 4000));
        }
        prove(&h, rest);
    }
    CHECK(n < 10 || n_quiet > 16 * n);
}

/* A job of one task that fills a node of two cores. */
static void tell_filler(struct world *w, const char *id, int64_t created_at_ms)
{
    struct berth_task_group group = { .name = "task",
                                      .replicas = 1,
                                      .asks = world_amounts(w, 2, (int64_t)1 << 30) };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .phase = BERTH_PHASE_INQUEUE,
                                    .created_at_ms = created_at_ms,
                                    .groups = &group,
                                    .n_groups = 1 });
}

TEST(who_was_created_first_goes_first_even_where_it_came_last)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 2);
    w.in.now_ms = 1800000; /* ten minutes are a point of rank */
    tell_filler(&w, "late", 1790000);
    tell_filler(&w, "early", 1000);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind early/task.0>n1");
    CHECK_TEXT(world_waits(&w, "late"), "INSUFFICIENT_CPU");
    world_fini(&w);
}

TEST(the_first_of_a_line_speaks_for_those_behind_it)
{
    struct world w;

    world_init(&w);
    world_queue(&w, "default");
    world_node(&w, "n1", 4);
    for (int i = 0; i < 6; i++)
        tell_filler(&w, arena_format(&w.arena, "j%d", i), 1000);
    CHECK_EQ(engine_model(w.engine)->lines.n, 1);
    world_cycle(&w);
    CHECK_TEXT(world_groups(&w), "bind j0/task.0>n1; bind j1/task.0>n1");
    CHECK_EQ(w.out.n_verdicts, 4);
    for (size_t i = 0; i < w.out.n_verdicts; i++) {
        CHECK_EQ(w.out.verdicts[i].reason->code, WAIT_INSUFFICIENT_CPU);
        CHECK(w.out.verdicts[i].reason == w.out.verdicts[0].reason);
    }
    world_accept(&w, BERTH_TASK_RUNNING);
    CHECK_EQ(engine_model(w.engine)->lines.at[0]->n, 4);
    world_fini(&w);
}

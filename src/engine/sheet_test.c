/* What is said of many nodes in one pass is what each says alone; what is kept is what it is now. */
#include "engine/sheet.h"

#include <math.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/kept.h"
#include "engine/testing.h"

enum { NODES = 600, ROUNDS = 40 };

static void tell_random_node(struct world *w, uint64_t *random, size_t i)
{
    static const struct berth_taint soft = { "slow", NULL, BERTH_PREFER_NO_SCHEDULE };
    bool is_odd = test_random(random) % 40 == 0;
    struct berth_label label = { "disk", test_random(random) % 2 ? "fast" : "slow" };

    world_tell(
        w, BERTH_NODE,
        &(struct berth_node){
            .id = arena_format(&w->arena, "n%zu", (i * 37) % NODES),
            .seq = i,
            .state = test_random(random) % 9 ? NODE_READY : NODE_UNREACHABLE,
            .cordoned = test_random(random) % 9 == 0,
            .labels = { &label, 1 },
            .taints = &soft,
            .n_taints = is_odd && w->in.seed % 2 ? 1 : 0,
            .offers = world_amounts(
                w, is_odd && w->in.seed % 3 == 0 ? 0 : 1 + (int64_t)(test_random(random) % 9),
                w->in.seed % 5 == 4 && is_odd ? (int64_t)1 << 50
                                              : (int64_t)(1 + test_random(random) % 9) << 30) });
}

static void tell_random_job(struct world *w, uint64_t *random, size_t i)
{
    struct berth_label label = { "disk", "fast" };
    struct berth_task_group group = {
        .name = "task",
        .replicas = 6,
        .asks = world_amounts(w, (int64_t)(test_random(random) % 3),
                              (int64_t)(test_random(random) % 3) << 29),
    };

    if (test_random(random) % 3 == 0)
        group.node_selector = (struct berth_labels){ &label, 1 };
    if (test_random(random) % 4 == 0)
        group.preferred_labels = (struct berth_labels){ &label, 1 };
    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = arena_format(&w->arena, "j%zu", i),
                                    .seq = i,
                                    .queue = "default",
                                    .groups = &group,
                                    .n_groups = 1 });
}

static void tell_random_task(struct world *w, uint64_t *random)
{
    static const enum berth_task_state states[] = { BERTH_TASK_RUNNING, BERTH_TASK_RELEASING,
                                                    BERTH_TASK_PIPELINED, BERTH_TASK_PENDING };
    bool quiet = w->in.seed / 2 % 2; /* no room is being freed */

    world_tell(w, BERTH_TASK,
               &(struct berth_task){
                   .job = arena_format(&w->arena, "j%d", (int)(test_random(random) % 12)),
                   .group = "task",
                   .index = (uint32_t)(test_random(random) % 6),
                   .state = !quiet ? states[test_random(random) % COUNT_OF(states)]
                            : test_random(random) % 2 ? BERTH_TASK_RUNNING
                                                      : BERTH_TASK_PENDING,
                   .node = arena_format(&w->arena, "n%d",
                                        (int)(test_random(random) % (quiet ? 24 : NODES))) });
}

static double score_alone(struct session *s, const struct kind *kind, const struct node *node)
{
    double score = 0;

    for (size_t i = 0; i < s->setup->hooked[HOOKED_SCORE].n; i++) {
        struct plugin_use *use = s->setup->hooked[HOOKED_SCORE].at[i];
        score += use->plugin->score(s, use, kind, node);
    }
    return score;
}

static size_t n_open;

/* What sheet_find leaves open says the same of who fits. */
static void check_found(struct session *s, struct kind *kind, const struct sheet *sheet)
{
    struct sheet found;
    double most = -INFINITY;

    sheet_find(s, kind, sheet->from, sheet->n, &found);
    sheet_score(s, kind, &found);
    CHECK_EQ(found.n_fit > 0, sheet->n_fit > 0);
    CHECK_EQ(found.best_room, sheet->best_room);
    for (size_t i = 0; i < sheet->n; i++)
        if (sheet->fail[i] == FAIL_NONE && sheet->score[i] > most)
            most = sheet->score[i];
    n_open += found.is_open && found.n_fit && found.n > 1;
    if (found.is_open && found.n_fit)
        CHECK(sheet_most(&found) == most);
    sheet_close(&found);
    for (size_t i = 0; i < sheet->n; i++) {
        CHECK_EQ(found.fail[i] == FAIL_NONE, sheet->fail[i] == FAIL_NONE);
        if (sheet->fail[i] != FAIL_NONE)
            continue;
        CHECK_EQ(found.room[i], sheet->room[i]);
        CHECK(found.score[i] == sheet->score[i]);
    }
}

static void check_sheet(struct session *s, struct kind *kind, uint32_t from, size_t n)
{
    struct sheet sheet;
    size_t n_fit = 0;

    sheet_judge(s, kind, from, n, &sheet);
    sheet_score(s, kind, &sheet);
    for (size_t i = 0; i < n; i++) {
        const struct node *node = s->model->nodes.at[from + i];
        enum room room;
        fail_t fail = fit_fail(s, kind, node, &room);
        CHECK_EQ(sheet.fail[i], fail);
        if (fail != FAIL_NONE)
            continue;
        n_fit++;
        CHECK_EQ(sheet.room[i], room);
        CHECK(room >= sheet.best_room);
        CHECK(sheet.score[i] == score_alone(s, kind, node));
    }
    CHECK_EQ(sheet.n_fit, n_fit);
    check_found(s, kind, &sheet);
}

/* The best by what each node says alone. */
static struct node *plain_best(struct session *s, const struct kind *kind)
{
    struct node *best = NULL;
    enum room best_room = ROOM_NONE;
    double most = 0;

    NODE_EACH (node, s->model) {
        enum room room;
        double score;
        if (fit_fail(s, kind, node, &room) != FAIL_NONE)
            continue;
        score = score_alone(s, kind, node);
        if (best &&
            (room != best_room ? room > best_room
                               : score < most || (score == most && node->name_at > best->name_at)))
            continue;
        best = node;
        best_room = room;
        most = score;
    }
    return best;
}

static void check_kind(struct session *s, struct kind *kind)
{
    size_t n = s->model->nodes.n;
    struct choice choice = { 0 };
    bool found;

    check_sheet(s, kind, 0, n < SHEET_SIZE ? n : SHEET_SIZE);
    check_sheet(s, kind, (uint32_t)(n / 2), 1);
    check_sheet(s, kind, (uint32_t)(n - n / 3), n / 3 < SHEET_SIZE ? n / 3 : SHEET_SIZE);
    found = kept_best(s, kept_of(s, kind), &choice);
    CHECK(found ? choice.node == plain_best(s, kind) : !plain_best(s, kind));
    CHECK(!found || choice.score == score_alone(s, kind, choice.node));
}

static void check_world(struct world *w)
{
    struct model *model = engine_model(w->engine);
    struct arena out = { 0 };
    struct session *s = session_open(model, engine_setup(w->engine), &w->in, &out);

    for (size_t i = 0; i < model->jobs.n; i++)
        if (model->jobs.at[i])
            check_kind(s, model->jobs.at[i]->groups[0].kind);
    session_close(s);
    arena_fini(&out);
}

static void change(struct world *w, uint64_t *random)
{
    if (test_random(random) % 6 == 0)
        tell_random_node(w, random, test_random(random) % NODES);
    for (int i = 0; i < 5; i++)
        tell_random_task(w, random);
}

static void check_random_world(uint64_t *random, const char *profile, uint64_t seed)
{
    struct world w;

    world_init(&w);
    w.in.seed = seed;
    world_tell(&w, BERTH_CONFIG, &(struct berth_config){ .profile = profile });
    world_queue(&w, "default");
    for (size_t i = 0; i < NODES; i++)
        tell_random_node(&w, random, i);
    for (size_t i = 0; i < 12; i++)
        tell_random_job(&w, random, i);
    for (int round = 0; round < ROUNDS; round++) {
        change(&w, random);
        check_world(&w);
    }
    world_fini(&w);
}

TEST(sheet_says_what_each_node_says_alone)
{
    static const char *const names[] = { "berth", "bench" };
    uint64_t random = test_seed();

    for (uint64_t i = 0; i < 10; i++)
        check_random_world(&random, names[i % 2], i);
    CHECK(n_open > 100);
}

/* Four nodes, a letter each: f and s have the label fast or slow, upper case is not heard of; the job
 * asks for fast where `picky`. */
static const struct {
    const char *name, *nodes, *fits; /* fits: x where the node does */
    bool picky;
} unheard[] = {
    { "all of one class are heard of", "ffff", "xxxx", false },
    { "one of a class is not heard of", "ffFf", "xx-x", false },
    { "the first of a class is not heard of", "Ffff", "-xxx", false },
    { "none of a class is heard of", "FFFF", "----", false },
    { "of two classes one is not heard of", "fsFs", "xx-x", false },
    { "a class of which none is heard of", "ffSS", "xx--", false },
    { "asked for by label", "fsFf", "x--x", true },
    { "only those of the label are not heard of", "sFsF", "----", true },
};

/* What an open sheet says of the nodes, where others may have asked what their classes say, of those
 * too that take no work: what comes back is asked of so. */
static void check_unheard(struct session *s, const char *fits, bool was_asked)
{
    struct kind *kind = s->model->jobs.at[0]->groups[0].kind;
    uint32_t n = (uint32_t)s->model->nodes.n;
    struct sheet sheet;

    NODE_EACH (node, s->model)
        if (was_asked)
            CHECK_EQ(fit_fixed(s, kind, node) == WAIT_LABEL_MISMATCH,
                     kind->spec->node_selector.n && node->kept->labels.at[0].value[0] == 's');
    for (int time = 0; time < 2; time++) /* what classes say is known from the first time on */
        sheet_find(s, kind, 0, n, &sheet);
    CHECK(sheet.is_open);
    CHECK_EQ(sheet.n_fit > 0, strchr(fits, 'x') != NULL);
    sheet_close(&sheet);
    for (uint32_t i = 0; i < n; i++)
        CHECK_EQ(sheet.fail[i] == FAIL_NONE, fits[i] == 'x');
}

TEST(an_open_sheet_minds_who_takes_work)
{
    ROW_EACH (c, unheard) {
        static const struct berth_label fast = { "disk", "fast" }, slow = { "disk", "slow" };
        struct berth_task_group group = { .name = "task",
                                          .replicas = 1,
                                          .node_selector = { &fast, c->picky } };
        struct arena out = { 0 };
        struct session *s;
        struct world w;

        world_init(&w);
        world_queue(&w, "default");
        group.asks = world_amounts(&w, 1, 1);
        for (size_t i = 0; c->nodes[i]; i++)
            world_tell(&w, BERTH_NODE,
                       &(struct berth_node){
                           .id = arena_format(&w.arena, "n%zu", i),
                           .seq = i + 1,
                           .state = strchr("FS", c->nodes[i]) ? NODE_UNREACHABLE : NODE_READY,
                           .labels = { strchr("Ff", c->nodes[i]) ? &fast : &slow, 1 },
                           .offers = world_amounts(&w, 4, 4) });
        world_tell(&w, BERTH_JOB,
                   &(struct berth_job){
                       .id = "j", .seq = 1, .queue = "default", .groups = &group, .n_groups = 1 });
        s = session_open(engine_model(w.engine), engine_setup(w.engine), &w.in, &out);
        check_unheard(s, c->fits, false);
        check_unheard(s, c->fits, true);
        session_close(s);
        arena_fini(&out);
        world_fini(&w);
    }
}

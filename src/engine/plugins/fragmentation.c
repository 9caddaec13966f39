/*
 * Fragmentation: a task goes where the expected amount of GPU that tasks of the known mix cannot
 * use grows least, and there onto the device for which that is so.
 *
 * The score is one of 100 levels, 100 times 1 / (1 + e^-x) of what the amount falls by, in whole
 * GPUs, as published: the levels are part of the policy, since what they leave equal is decided
 * by the order of nodes. The mix is learned from what is placed. It is renewed when a quarter as
 * much has come since as it stands for, so that kept scores live long.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/mix.h"
#include "engine/plugins.h"

enum { LEVELS = 100, HALF = LEVELS / 2, RENEW_LEAST = 100, LEARN_MOST = 1 << 20 };

static const char memo_name[] = "fragmentation.mix";

struct arguments {
    double weight, coverage;
    bool learn;
};

static const struct argument known[] = {
    { "weight", ARG_DOUBLE, offsetof(struct arguments, weight) },
    { "coverage", ARG_DOUBLE, offsetof(struct arguments, coverage) },
    { "learn", ARG_BOOL, offsetof(struct arguments, learn) },
};

/* A node as it was when it was last looked at in this session. */
struct seen {
    uint64_t turn; /* of its brief */
    struct picture picture;
    struct tally tally;
    int64_t cpu, waste; /* what it wastes with so much cpu */
};

struct state {
    struct measure *measure; /* NULL: no mix is known */
    struct seen **seen;      /* by node->at; NULL: not looked at yet */
    struct tally after;      /* of the node at hand, with some devices taken */
    bool *taken;             /* those, by device */
    uint32_t gpu;            /* the dimension */
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r;

    *a = (struct arguments){ .weight = 1, .coverage = 0.95, .learn = true };
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
    if (r == 0 && !(a->coverage > 0 && a->coverage <= 1))
        return err_set(err, -EINVAL, "/coverage: a number above 0 and at most 1");
    return r;
}

static const struct berth_memo *memo_of(const struct session *s)
{
    return shelf_get(&s->model->shelves[BERTH_MEMO], memo_name);
}

/* Kept scores are of the mix that was in use when they were made. */
static void mind_mix(struct session *s, const struct mix *mix)
{
    static const uint64_t seed[2] = { 0x6d6978, 1 };
    CLEANUP(str_fini) struct str text = { 0 };
    uint64_t hash;

    mix_write(mix, 'u', &text);
    hash = map_hash(seed, str_text(&text), text.len);
    if (hash != s->model->mix_seen)
        model_turn(s->model);
    s->model->mix_seen = hash;
}

static void open_session(struct session *s, struct plugin_use *use)
{
    const struct arguments *a = use->config;
    struct state *state = ARENA_NEW0(&s->arena, struct state);
    struct mix mix = mix_read(memo_of(s), 'u', &s->arena);
    size_t most = 0;

    use->state = state;
    mind_mix(s, &mix);
    state->measure = measure_new(&mix, (int64_t)(a->coverage * 1000 + 0.5), s->model, &s->arena);
    NODE_EACH (node, s->model)
        if (node->devices.n > most)
            most = node->devices.n;
    state->gpu = dim_find(s->model, "gpu");
    state->taken = ARENA_NEW0_N(&s->arena, bool, most + 1);
    state->seen = ARENA_NEW0_N(&s->arena, struct seen *, s->model->nodes.n + 1);
    if (state->measure)
        state->after = tally_new(state->measure, &s->arena);
}

/* ln(l / (100 - l)) for the levels above the half: where each begins. */
static const double begins[] = {
    0.040005334613699206, 0.080042707673536356, 0.12014431184206321, 0.16034265007517948,
    0.20067069546215124,  0.24116205681688804,  0.28185115214098766, 0.32277339226305102,
    0.36396537720141159,  0.40546510810816438,  0.44731221804366483, 0.48954822531870579,
    0.53221681374730823,  0.5753641449035618,   0.61903920840622351, 0.66329421741026418,
    0.70818505792448583,  0.7537718023763802,   0.80011930011211307, 0.84729786038720367,
    0.89538404705484131,  0.94446160884085151,  0.99462257514406205, 1.0459685551826878,
    1.0986122886681098,   1.1526795099383853,   1.2083112059245342,  1.2656663733312759,
    1.3249254147435985,   1.3862943611198906,   1.4500101755059984,  1.5163474893680884,
    1.5856272637403819,   1.6582280766035324,   1.7346010553881064,  1.8152899666382492,
    1.900958761193047,    1.9924301646902061,   2.0907410969337694,  2.1972245773362196,
    2.3136349291806306,   2.4423470353692043,   2.5866893440979428,  2.7515353130419489,
    2.9444389791664403,   3.1780538303479458,   3.4760986898352733,  3.8918202981106265,
    4.5951198501345898,
};

/* The level of what the waste falls by. */
static int level_of(const struct measure *measure, int64_t before, int64_t after)
{
    double x = (double)(before - after) / ((double)measure_total(measure) * 1000.0);
    int level = HALF;

    if (x >= 0) {
        while (level < LEVELS - 1 && x >= begins[level - HALF])
            level++;
        return level;
    }
    while (level > 0 && x < (level < HALF ? -begins[HALF - level - 1] : 0.0))
        level--;
    return level;
}

static struct seen *see_first(struct session *s, const struct state *state, const struct node *node)
{
    struct seen *seen = ARENA_NEW0(&s->arena, struct seen);

    seen->turn = node->brief.turn - 1;
    seen->picture.n = node->devices.n;
    seen->picture.free = ARENA_NEW0_N(&s->arena, int64_t, node->devices.n + 1);
    seen->picture.model = ARENA_NEW0_N(&s->arena, uint32_t, node->devices.n + 1);
    seen->tally = tally_new(state->measure, &s->arena);
    return seen;
}

/* A node as it is now; what was worked out for it holds until its devices or cpu change. */
static const struct seen *look_at(struct session *s, struct state *state, const struct node *node)
{
    int64_t cpu = column_idle(&s->model->columns[DIM_CPU], node->at);
    struct seen *seen = state->seen[node->at];
    bool is_new = !seen || seen->turn != node->brief.turn;

    if (!seen)
        seen = state->seen[node->at] = see_first(s, state, node);
    for (size_t i = 0; is_new && i < seen->picture.n; i++) {
        const struct device *device = &node->devices.at[i];
        seen->picture.free[i] = device_is_off(device) ? 0 : device_free(device, true);
        seen->picture.model[i] = device->model;
    }
    if (is_new)
        tally_count(state->measure, &seen->picture, &seen->tally);
    if (is_new || cpu != seen->cpu)
        seen->waste = measure_waste(state->measure, &seen->tally, cpu);
    seen->turn = node->brief.turn;
    seen->cpu = cpu;
    return seen;
}

/* What a task asks of GPUs: whole ones, and a part of one more. */
struct need {
    size_t whole;
    int64_t milli;
};

static struct need need_of(const struct state *state, const struct kind *kind)
{
    int64_t asked = kind->wants_devices ? asks_of(&kind->asks, state->gpu) : 0;

    return (struct need){ (size_t)(asked / DEVICE_MILLI), asked % DEVICE_MILLI };
}

static int64_t part_on(const struct kind *kind, const struct need *need,
                       const struct device *device)
{
    return need->milli || need->whole || !kind->spec->gpu_memory
               ? need->milli
               : device_part(device, kind->spec->gpu_memory);
}

/* Whether a device is the first of those that are like it to a part of a task. */
static bool is_first_like(const struct seen *seen, const struct kind *kind, const struct node *node,
                          const struct need *need, size_t at)
{
    const struct picture *p = &seen->picture;

    for (size_t i = 0; i < at; i++)
        if (p->free[i] == p->free[at] && p->model[i] == p->model[at] &&
            part_on(kind, need, &node->devices.at[i]) == part_on(kind, need, &node->devices.at[at]))
            return false;
    return true;
}

/* The best level over the devices of which a part could be taken; 0 if there is none. */
static int best_level(struct session *s, struct state *state, const struct kind *kind,
                      const struct node *node, const struct need *need)
{
    const struct seen *seen = state->seen[node->at];
    const struct picture *p = &seen->picture;
    int64_t cpu = seen->cpu - asks_of(&kind->asks, DIM_CPU);
    int best = 0;

    for (size_t i = 0; i < p->n; i++) {
        int64_t part = part_on(kind, need, &node->devices.at[i]), after;
        int level;
        if (p->free[i] < part || (need->whole && state->taken[i]) ||
            !device_suits(s->model, kind, &node->devices.at[i]) ||
            (!need->whole && !is_first_like(seen, kind, node, need, i)))
            continue;
        after = measure_waste_if(state->measure, &state->after, cpu, p->model[i], p->free[i], part);
        level = level_of(state->measure, seen->waste, after);
        best = level > best ? level : best;
    }
    return best;
}

/* Takes the first free devices for what a task needs whole. */
static void take_whole(struct session *s, struct state *state, const struct kind *kind,
                       const struct node *node, size_t n)
{
    const struct seen *seen = state->seen[node->at];

    tally_copy(state->measure, &seen->tally, &state->after);
    memset(state->taken, 0, n ? seen->picture.n * sizeof(*state->taken) : 0);
    for (size_t i = 0; i < seen->picture.n && n; i++) {
        if (seen->picture.free[i] < DEVICE_MILLI ||
            !device_suits(s->model, kind, &node->devices.at[i]))
            continue;
        tally_take(state->measure, &state->after, seen->picture.model[i], DEVICE_MILLI,
                   DEVICE_MILLI);
        state->taken[i] = true;
        n--;
    }
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    struct state *state = use->state;
    struct need need = need_of(state, kind);
    const struct seen *seen;
    int64_t after;

    if (!state->measure)
        return 0;
    seen = look_at(s, state, node);
    take_whole(s, state, kind, node, need.whole);
    if (need.milli || (kind->spec->gpu_memory && !need.whole))
        return a->weight * best_level(s, state, kind, node, &need);
    after = measure_waste(state->measure, &state->after, seen->cpu - asks_of(&kind->asks, DIM_CPU));
    return a->weight * level_of(state->measure, seen->waste, after);
}

static bool device_order(struct session *s, struct plugin_use *use, const struct kind *kind,
                         const struct node *node, size_t device, int64_t milli, int64_t *order)
{
    struct state *state = use->state;
    const struct seen *seen;
    int64_t after;

    if (!state->measure)
        return false;
    seen = look_at(s, state, node);
    after =
        measure_waste_if(state->measure, &seen->tally, seen->cpu - asks_of(&kind->asks, DIM_CPU),
                         seen->picture.model[device], seen->picture.free[device], milli);
    *order = -level_of(state->measure, seen->waste, after);
    return true;
}

/* What was placed in this cycle is remembered. */
static void close_session(struct session *s, struct plugin_use *use)
{
    const struct arguments *a = use->config;
    CLEANUP(str_fini) struct str text = { 0 };
    struct mix used = mix_read(memo_of(s), 'u', &s->arena);
    struct mix gathered = mix_read(memo_of(s), 'g', &s->arena);
    int64_t before = mix_total(&gathered), n;

    if (!a->learn)
        return;
    VEC_EACH (op, &s->log) {
        struct shape_count shape;
        if (op->kind != OP_ALLOCATE || !op->is_sealed)
            continue;
        shape = mix_shape_of(op->task->group->kind, &s->arena);
        mix_add(&gathered, &shape, &s->arena);
    }
    n = mix_total(&gathered);
    if (n == before)
        return;
    if (n >= RENEW_LEAST && n >= mix_total(&used) / 4) {
        if (mix_total(&used) + n > LEARN_MOST)
            mix_halve(&used);
        for (size_t i = 0; i < gathered.n; i++)
            mix_add(&used, &gathered.at[i], &s->arena);
        gathered.n = 0;
    }
    mix_write(&used, 'u', &text);
    mix_write(&gathered, 'g', &text);
    answer_memo(s, memo_name, str_text(&text), text.len);
}

const struct plugin plugin_fragmentation = {
    .name = "fragmentation",
    .sees_lines = true,
    .configure = configure,
    .open = open_session,
    .score = score,
    .device_order = device_order,
    .close = close_session,
};

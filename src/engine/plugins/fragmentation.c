/*
 * Fragmentation: a task goes where the expected amount of GPU that tasks of the known mix cannot
 * use grows least, and there onto the device for which that is so.
 *
 * Policy fgd is the published one. Its score is one of 100 levels, 100 times 1 / (1 + e^-x) of
 * what the amount falls by, in whole GPUs; what the levels leave equal is decided by the order of
 * nodes.
 *
 * Policy berth counts what the amount falls by in steps, wide ones for a part of a GPU. Models
 * are left out of the amount. Instead a task that needs a GPU stays away, step by step, from
 * models that other tasks ask for by name. What the steps leave equal goes where least is left: on
 * the device for a part of one, on the node for all else. bench/README.md has what both reach.
 *
 * The mix is learned from what is placed. It is renewed when a quarter as much has come since as
 * it stands for, so that kept scores live long.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/mix.h"
#include "engine/plugins.h"

enum { LEVELS = 100, HALF = LEVELS / 2, RENEW_LEAST = 100, LEARN_MOST = 1 << 20 };
enum { STEP = 40, STEP_OF_PART = 100 }; /* thousandths of a GPU */
enum { UNIT = 1000000 }; /* of a level or step; below it is what decides among equals */
enum { CORE = 1000 };    /* thousandths of cpu */

static const char memo_name[] = "fragmentation.mix";

struct arguments {
    double weight, coverage;
    bool learn, is_published;
    const char *policy;
};

static const struct argument known[] = {
    { "weight", ARG_DOUBLE, offsetof(struct arguments, weight) },
    { "coverage", ARG_DOUBLE, offsetof(struct arguments, coverage) },
    { "learn", ARG_BOOL, offsetof(struct arguments, learn) },
    { "policy", ARG_TEXT, offsetof(struct arguments, policy) },
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
    bool *taken;             /* those, by device, of the node at hand */
    size_t n_taken;          /* for how many there is room */
    int64_t taken_sought;    /* of the most sought model among them */
    uint32_t gpu;            /* the dimension */
    int64_t *sought;         /* by model, see mix_sought; NULL: the policy is the published one */
    int64_t core_milli;      /* what the cluster has of GPUs for a core */
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r;

    *a = (struct arguments){ .weight = 1, .coverage = NAN, .learn = true, .policy = "fgd" };
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
    if (r < 0)
        return r;
    a->is_published = strcmp(a->policy, "fgd") == 0;
    if (!a->is_published && strcmp(a->policy, "berth") != 0)
        return err_set(err, -EINVAL, "/policy: one of berth fgd");
    if (a->weight < 0)
        return err_set(err, -EINVAL, "/weight: 0 or more");
    if (isnan(a->coverage))
        a->coverage = a->is_published ? 0.95 : 0.94;
    if (!(a->coverage > 0 && a->coverage <= 1))
        return err_set(err, -EINVAL, "/coverage: a number above 0 and at most 1");
    return 0;
}

static const struct berth_memo *memo_of(const struct session *s)
{
    return shelf_get(&s->model->shelves[BERTH_MEMO], memo_name);
}

/* Kept scores are of the mix and the machines that were there when they were made. */
static void mind_mix(struct session *s, const struct state *state, const struct mix *mix)
{
    static const uint64_t seed[2] = { 0x6d6978, 1 };
    CLEANUP(str_fini) struct str text = { 0 };
    uint64_t hash;

    mix_write(mix, 'u', &text);
    for (size_t i = 0; state->sought && i < s->model->gpu_models.n; i++)
        str_addf(&text, "%" PRId64 " ", state->sought[i]);
    str_addf(&text, "%" PRId64, state->core_milli);
    hash = map_hash(seed, str_text(&text), text.len);
    if (hash != s->model->mix_seen)
        model_turn(s->model);
    s->model->mix_seen = hash;
}

/* What policy berth goes by beside the amount. */
static void open_own(struct session *s, struct state *state, const struct mix *mix)
{
    wide cores = s->model->columns[DIM_CPU].sum_shared / CORE;

    state->sought = mix_sought(mix, s->model, &s->arena);
    state->core_milli = cores > 0 ? (int64_t)(s->model->n_gpus * DEVICE_MILLI / cores) : 0;
}

static void open_session(struct session *s, struct plugin_use *use)
{
    const struct arguments *a = use->config;
    struct state *state = ARENA_NEW0(&s->arena, struct state);
    struct mix mix = mix_read(memo_of(s), 'u', &s->arena);

    use->state = state;
    if (!a->is_published)
        open_own(s, state, &mix);
    mind_mix(s, state, &mix);
    if (!a->is_published)
        mix = mix_of_any_model(&mix, &s->arena);
    state->measure = measure_new(&mix, (int64_t)(a->coverage * 1000 + 0.5), s->model, &s->arena);
    state->gpu = dim_find(s->model, "gpu");
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
static int level_of(const struct measure *measure, int64_t fall)
{
    double x = (double)fall / ((double)measure_total(measure) * 1000.0);
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

/* What giving room would come to. */
struct outcome {
    int64_t fall;    /* of the waste, times measure_total */
    int64_t left;    /* thousandths of a GPU: of the device, or of the whole node */
    int64_t sought;  /* of the most sought model taken */
    bool is_of_part; /* of a GPU */
};

static int64_t floor_of(int64_t amount, int64_t step)
{
    return amount / step - (amount % step < 0);
}

/* How good an outcome is, in UNIT of a level or step. */
static int64_t worth_of(const struct state *state, const struct outcome *o)
{
    int64_t step = measure_total(state->measure) * (o->is_of_part ? STEP_OF_PART : STEP);
    int64_t left = o->left < 0 ? 0 : o->left < UNIT ? o->left : UNIT - 1;

    if (!state->sought)
        return (int64_t)level_of(state->measure, o->fall) * UNIT;
    return (floor_of(o->fall, step) - o->sought) * UNIT + UNIT - 1 - left;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t sought_of(const struct session *s, const struct state *state, uint32_t model)
{
    return state->sought && model < s->model->gpu_models.n ? state->sought[model] : 0;
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
        bool is_out = device_is_off(device) || device->dim != state->gpu;
        seen->picture.free[i] = is_out ? 0 : device_free(device, true);
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

/* The best worth over the devices of which a part could be taken, beside what was taken whole; 0 if
 * there is none. */
static int64_t best_worth(struct session *s, struct state *state, const struct kind *kind,
                          const struct node *node, const struct need *need)
{
    const struct seen *seen = state->seen[node->at];
    const struct picture *p = &seen->picture;
    int64_t cpu = seen->cpu - asks_of(&kind->asks, DIM_CPU), best = INT64_MIN;

    for (size_t i = 0; i < p->n; i++) {
        int64_t part = part_on(kind, need, &node->devices.at[i]), after;
        int64_t sought = sought_of(s, state, p->model[i]), worth;
        if (p->free[i] < part || (need->whole && state->taken[i]) ||
            !device_suits(s->model, kind, &node->devices.at[i]) ||
            (!need->whole && !is_first_like(seen, kind, node, need, i)))
            continue;
        after = measure_waste_if(state->measure, &state->after, cpu, p->model[i], p->free[i], part);
        worth = worth_of(state, &(struct outcome){ .fall = seen->waste - after,
                                                   .left = p->free[i] - part,
                                                   .sought = larger(sought, state->taken_sought),
                                                   .is_of_part = true });
        best = larger(worth, best);
    }
    return best == INT64_MIN ? 0 : best;
}

/* Takes the first free devices for what a task needs whole. */
static void take_whole(struct session *s, struct state *state, const struct kind *kind,
                       const struct node *node, size_t n)
{
    const struct seen *seen = state->seen[node->at];

    tally_copy(state->measure, &seen->tally, &state->after);
    state->taken_sought = 0;
    if (!n)
        return;
    if (seen->picture.n > state->n_taken) {
        state->n_taken = seen->picture.n;
        state->taken = ARENA_NEW0_N(&s->arena, bool, state->n_taken);
    }
    memset(state->taken, 0, seen->picture.n * sizeof(*state->taken));
    for (size_t i = 0; i < seen->picture.n && n; i++) {
        if (seen->picture.free[i] < DEVICE_MILLI ||
            !device_suits(s->model, kind, &node->devices.at[i]))
            continue;
        tally_take(state->measure, &state->after, seen->picture.model[i], DEVICE_MILLI,
                   DEVICE_MILLI);
        state->taken[i] = true;
        state->taken_sought =
            larger(state->taken_sought, sought_of(s, state, seen->picture.model[i]));
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
    int64_t cpu, after;

    if (!state->measure)
        return 0;
    seen = look_at(s, state, node);
    take_whole(s, state, kind, node, need.whole);
    if (need.milli || (kind->spec->gpu_memory && !need.whole))
        return a->weight * (double)best_worth(s, state, kind, node, &need) / UNIT;
    cpu = seen->cpu - asks_of(&kind->asks, DIM_CPU);
    after = measure_waste(state->measure, &state->after, cpu);
    return a->weight *
           (double)worth_of(
               state, &(struct outcome){ .fall = seen->waste - after,
                                         .left = state->after.sum + cpu * state->core_milli / CORE,
                                         .sought = state->taken_sought }) /
           UNIT;
}

static bool device_order(struct session *s, struct plugin_use *use, const struct kind *kind,
                         const struct node *node, size_t device, int64_t milli, int64_t *order)
{
    struct state *state = use->state;
    const struct seen *seen;
    const struct picture *p;
    int64_t after;

    if (!state->measure || node->devices.at[device].dim != state->gpu)
        return false;
    seen = look_at(s, state, node);
    p = &seen->picture;
    after =
        measure_waste_if(state->measure, &seen->tally, seen->cpu - asks_of(&kind->asks, DIM_CPU),
                         p->model[device], p->free[device], milli);
    *order = -worth_of(state, &(struct outcome){ .fall = seen->waste - after,
                                                 .left = p->free[device] - milli,
                                                 .sought = sought_of(s, state, p->model[device]),
                                                 .is_of_part = true });
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

/* The mix against the plain formula, on random mixes and nodes; and its text. */
#include "engine/mix.h"

#include <math.h>

#include "engine/testing.h"

enum { N_SHAPES = 12, N_DEVICES = 6, N_ROUNDS = 20000 };

static const char *const models[] = { "T4", "A100-40", "H100" };
static const char *const wanted[] = { "", "", "T4", "A100", "H100|T4" };

static struct model *model_of_three(void)
{
    struct model *model = NEW0(struct model);

    for (size_t i = 0; i < COUNT_OF(models); i++) {
        VEC_PUSH(&model->gpu_models, gpu_model_of(models[i]));
        VEC_PUSH(&model->gpu_counts, 0);
    }
    return model;
}

static void free_model(struct model *model)
{
    VEC_FINI(&model->gpu_models);
    VEC_FINI(&model->gpu_counts);
    free(model);
}

static struct mix random_mix(uint64_t *random, struct arena *arena)
{
    static const int64_t parts[] = { 100, 250, 500, 1000 };
    struct mix mix = { 0 };

    for (int i = 0; i < N_SHAPES; i++) {
        struct shape_count shape = { .n = 1 + (int64_t)(test_random(random) % 50),
                                     .cpu = (int64_t)(test_random(random) % 8) * 1000,
                                     .models = "" };
        if (test_random(random) % 4) {
            shape.milli = parts[test_random(random) % 4];
            shape.gpus = shape.milli == 1000 ? 1 + (int64_t)(test_random(random) % 4) : 1;
            shape.models = wanted[test_random(random) % COUNT_OF(wanted)];
        }
        mix_add(&mix, &shape, arena);
    }
    return mix;
}

static bool serves(const char *list, uint32_t at)
{
    static const bool table[][3] = {
        { true, true, true }, { true, false, false }, { false, true, false }, { true, false, true }
    };
    const bool *row = table[!list[0]                    ? 0
                            : strcmp(list, "T4") == 0   ? 1
                            : strcmp(list, "A100") == 0 ? 2
                                                        : 3];

    return at == NOWHERE ? !list[0] : row[at];
}

/* As it is published, shape by shape. */
static int64_t plain(const struct mix *mix, const struct picture *p, int64_t cpu)
{
    int64_t waste = 0;

    for (size_t i = 0; i < mix->n; i++) {
        const struct shape_count *shape = &mix->at[i];
        int64_t all = 0, lost = 0, fit = 0;
        for (size_t d = 0; d < p->n; d++) {
            bool fits = serves(shape->models, p->model[d]) && p->free[d] >= shape->milli;
            all += p->free[d];
            lost += fits ? 0 : p->free[d];
            fit += fits;
        }
        if (!shape->gpus || cpu < shape->cpu || fit < shape->gpus)
            lost = all;
        waste += shape->n * lost;
    }
    return waste;
}

TEST(mix_wastes_what_the_plain_formula_says)
{
    uint64_t random = test_seed();
    struct arena arena = { 0 };
    struct model *model = model_of_three();
    struct mix mix = { 0 };
    struct measure *measure = NULL;
    struct tally tally = { 0 };

    for (int round = 0; round < N_ROUNDS; round++) {
        int64_t free[N_DEVICES], cpu = (int64_t)(test_random(&random) % 10) * 1000, part;
        uint32_t of[N_DEVICES];
        struct picture p = { free, of, 1 + test_random(&random) % N_DEVICES };
        size_t d = test_random(&random) % p.n;
        if (round % 100 == 0) {
            arena_clear(&arena);
            mix = random_mix(&random, &arena);
            /* The models of a mix are resolved: A100 is served by A100-40. */
            measure = measure_new(&mix, 1000, model, &arena);
            tally = tally_new(measure, &arena);
        }
        for (size_t i = 0; i < p.n; i++) {
            free[i] = (int64_t)(test_random(&random) % 11) * 100;
            of[i] = test_random(&random) % 4 ? (uint32_t)(test_random(&random) % 3) : NOWHERE;
        }
        tally_count(measure, &p, &tally);
        CHECK_EQ(measure_waste(measure, &tally, cpu), plain(&mix, &p, cpu));
        part = free[d] / 2;
        free[d] -= part;
        CHECK_EQ(measure_waste_if(measure, &tally, cpu, of[d], free[d] + part, part),
                 plain(&mix, &p, cpu));
        tally_take(measure, &tally, of[d], free[d] + part, part);
        CHECK_EQ(measure_waste(measure, &tally, cpu), plain(&mix, &p, cpu));
    }
    free_model(model);
    arena_fini(&arena);
}

TEST(mix_is_read_as_it_was_written)
{
    struct arena arena = { 0 };
    struct str text = { 0 }, again = { 0 };
    const char *lines = "u 2 1000 500 1 -\nnonsense\nu 9 1000 1000 2 H100|T4\ng 1 5 0 0 -\n"
                        "u 0 1 1 1 -\nu 1 1 0 3 -\nu 9 2000 1000 2 -";
    struct berth_memo memo = { "m", lines, strlen(lines) };
    struct mix mix = mix_read(&memo, 'u', &arena);

    mix_write(&mix, 'u', &text);
    CHECK_TEXT(str_text(&text), "u 9 2000 1000 2 -\nu 9 1000 1000 2 H100|T4\nu 2 1000 500 1 -\n");
    memo = (struct berth_memo){ "m", str_text(&text), text.len };
    mix = mix_read(&memo, 'u', &arena);
    mix_write(&mix, 'u', &again);
    CHECK_TEXT(str_text(&text), str_text(&again));
    mix = mix_read(&memo, 'g', &arena);
    CHECK_EQ(mix.n, 0);
    str_fini(&text);
    str_fini(&again);
    arena_fini(&arena);
}

TEST(mix_covers_the_most_frequent_shapes)
{
    static const struct {
        int64_t coverage, total;
    } rows[] = { { 1, 60 }, { 600, 60 }, { 601, 90 }, { 900, 90 }, { 950, 100 }, { 1000, 100 } };
    struct arena arena = { 0 };
    struct model *model = model_of_three();
    const char *lines = "u 60 1 1000 1 -\nu 30 2 0 0 -\nu 10 3 500 1 -\n";
    struct mix mix = mix_read(&(struct berth_memo){ "m", lines, strlen(lines) }, 'u', &arena);

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_EQ(measure_total(measure_new(&mix, rows[i].coverage, model, &arena)), rows[i].total);
    CHECK(measure_new(&(struct mix){ 0 }, 950, model, &arena) == NULL);
    free_model(model);
    arena_fini(&arena);
}

/* How sought a model is, shape by shape and in floating point. */
static double plain_sought(const struct mix *mix, const struct model *model, uint32_t at)
{
    double asked = 0, named = 0;

    for (size_t i = 0; i < mix->n; i++) {
        const struct shape_count *shape = &mix->at[i];
        double asks = (double)(shape->n * shape->milli * shape->gpus), n = 0;
        asked += asks;
        for (uint32_t k = 0; k < COUNT_OF(models); k++)
            n += serves(shape->models, k) ? (double)model->gpu_counts.at[k] : 0;
        if (shape->models[0] && n > 0 && serves(shape->models, at))
            named += asks / n;
    }
    return asked > 0 ? 10 * named / (asked / (double)model->n_gpus) : 0;
}

TEST(mix_tells_how_sought_each_model_is)
{
    uint64_t random = test_seed();
    struct arena arena = { 0 };
    struct model *model = model_of_three();
    size_t n_middle = 0;

    for (int round = 0; round < N_ROUNDS / 20; round++) {
        struct mix mix = random_mix(&random, &arena);
        const int64_t *sought;
        model->n_gpus = 1 + (int64_t)(test_random(&random) % 20);
        for (size_t k = 0; k < COUNT_OF(models); k++) {
            model->gpu_counts.at[k] = (int64_t)(test_random(&random) % 50);
            model->n_gpus += model->gpu_counts.at[k];
        }
        sought = mix_sought(&mix, model, &arena);
        CHECK_EQ(sought[COUNT_OF(models)], 0);
        for (uint32_t k = 0; k < COUNT_OF(models); k++) {
            double plain = fmin(plain_sought(&mix, model, k), SOUGHT_MOST);
            CHECK(fabs((double)sought[k] + 0.5 - plain) < 0.5001);
            n_middle += sought[k] > 0 && sought[k] < SOUGHT_MOST;
        }
        arena_clear(&arena);
    }
    CHECK(n_middle > N_ROUNDS / 40);
    CHECK_EQ(mix_sought(&(struct mix){ 0 }, model, &arena)[0], 0);
    free_model(model);
    arena_fini(&arena);
}

TEST(mix_of_any_model_has_each_request_once)
{
    struct arena arena = { 0 };
    struct str text = { 0 };
    const char *lines = "u 5 1000 1000 1 H100\nu 4 1000 1000 1 -\nu 3 1000 1000 1 T4|H100\n"
                        "u 9 2000 500 1 T4\nu 1 0 0 0 -\n";
    struct mix mix = mix_read(&(struct berth_memo){ "m", lines, strlen(lines) }, 'u', &arena);

    mix = mix_of_any_model(&mix, &arena);
    mix_write(&mix, 'u', &text);
    CHECK_TEXT(str_text(&text), "u 12 1000 1000 1 -\nu 9 2000 500 1 -\nu 1 0 0 0 -\n");
    str_fini(&text);
    arena_fini(&arena);
}

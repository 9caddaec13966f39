/* The mix: see mix.h. */
#include "engine/mix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int by_ask(const struct shape_count *a, const struct shape_count *b)
{
    if (a->cpu != b->cpu)
        return a->cpu > b->cpu ? -1 : 1;
    if (a->milli != b->milli)
        return a->milli > b->milli ? -1 : 1;
    if (a->gpus != b->gpus)
        return a->gpus > b->gpus ? -1 : 1;
    return strcmp(b->models, a->models);
}

static int by_count(const void *a, const void *b)
{
    const struct shape_count *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return by_ask(x, y);
}

static void sort(struct mix *mix)
{
    if (mix->n)
        qsort(mix->at, mix->n, sizeof(*mix->at), by_count);
}

void mix_add(struct mix *mix, const struct shape_count *shape, struct arena *arena)
{
    struct shape_count *grown;

    for (size_t i = 0; i < mix->n; i++) {
        if (by_ask(&mix->at[i], shape) != 0)
            continue;
        mix->at[i].n += shape->n;
        return;
    }
    if ((mix->n & (mix->n - 1)) == 0) { /* a power of two is full */
        grown = ARENA_NEW0_N(arena, struct shape_count, mix->n ? 2 * mix->n : 1);
        if (mix->n)
            memcpy(grown, mix->at, mix->n * sizeof(*grown));
        mix->at = grown;
    }
    mix->at[mix->n] = *shape;
    mix->at[mix->n++].models = arena_text(arena, shape->models);
}

void mix_halve(struct mix *mix)
{
    size_t n = 0;

    for (size_t i = 0; i < mix->n; i++) {
        mix->at[n] = mix->at[i];
        mix->at[n].n /= 2;
        n += mix->at[n].n > 0;
    }
    mix->n = n;
}

int64_t mix_total(const struct mix *mix)
{
    int64_t total = 0;

    for (size_t i = 0; i < mix->n; i++)
        total += mix->at[i].n;
    return total;
}

/* The next word of a line, up to a space or its end. */
static bool next_word(const char **at, const char *end, char *word, size_t size)
{
    size_t n = 0;

    while (*at < end && **at == ' ')
        ++*at;
    while (*at < end && **at != ' ') {
        if (n + 1 >= size)
            return false;
        word[n++] = *(*at)++;
    }
    word[n] = '\0';
    return n > 0;
}

static bool read_line(const char *at, const char *end, char letter, char *models, size_t size,
                      struct shape_count *out)
{
    int64_t *numbers[] = { &out->n, &out->cpu, &out->milli, &out->gpus };
    char word[32];

    if (!next_word(&at, end, word, sizeof(word)) || word[0] != letter || word[1])
        return false;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (!next_word(&at, end, word, sizeof(word)) ||
            text_to_int(word, 0, (int64_t)1 << 40, numbers[i]) < 0)
            return false;
    if (!next_word(&at, end, models, size) || out->n < 1 || (out->gpus && !out->milli))
        return false;
    out->models = strcmp(models, "-") == 0 ? "" : models;
    return true;
}

struct mix mix_read(const struct berth_memo *memo, char letter, struct arena *arena)
{
    struct mix mix = { 0 };
    const char *at = memo && memo->size ? memo->data : NULL;
    const char *end = at ? at + memo->size : NULL;

    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct shape_count shape = { 0 };
        char models[256];
        stop = stop ? stop : end;
        if (read_line(at, stop, letter, models, sizeof(models), &shape))
            mix_add(&mix, &shape, arena);
        at = stop < end ? stop + 1 : end;
    }
    sort(&mix);
    return mix;
}

void mix_write(const struct mix *mix, char letter, struct str *out)
{
    struct mix sorted = *mix;

    sort(&sorted);
    for (size_t i = 0; i < sorted.n; i++) {
        const struct shape_count *s = &sorted.at[i];
        str_addf(out, "%c %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s\n", letter, s->n,
                 s->cpu, s->milli, s->gpus, s->models[0] ? s->models : "-");
    }
}

static const char *join_models(const struct berth_words *words, struct arena *arena)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < words->n; i++) {
        if (strcmp(words->at[i], "any") == 0)
            return "";
        str_addf(&text, "%s%s", i ? "|" : "", gpu_model_of(words->at[i]).name);
    }
    return text.len < 250 ? arena_text(arena, str_text(&text)) : "";
}

struct shape_count mix_shape_of(const struct kind *kind, struct arena *arena)
{
    struct shape_count shape = { .n = 1, .cpu = asks_of(&kind->asks, DIM_CPU), .models = "" };
    int64_t gpu = 0;

    for (size_t i = 0; i < kind->spec->asks.n; i++)
        if (strcmp(kind->spec->asks.at[i].name, "gpu") == 0)
            gpu += kind->spec->asks.at[i].value;
    if (!gpu)
        return shape;
    shape.gpus = (gpu + 999) / 1000;
    shape.milli = (gpu + shape.gpus - 1) / shape.gpus;
    shape.models = join_models(&kind->spec->gpu_models, arena);
    return shape;
}

struct mix mix_of_any_model(const struct mix *mix, struct arena *arena)
{
    struct mix any = { 0 };

    for (size_t i = 0; i < mix->n; i++) {
        struct shape_count shape = mix->at[i];
        shape.models = "";
        mix_add(&any, &shape, arena);
    }
    sort(&any);
    return any;
}

/* Which models will do for those that are joined by "|". */
static bool *serving(const char *models, const struct model *model, struct arena *arena)
{
    bool *serves;

    if (!models[0])
        return NULL;
    serves = ARENA_NEW0_N(arena, bool, model->gpu_models.n + 1);
    while (*models) {
        size_t n = strcspn(models, "|");
        char *name = arena_copy(arena, models, n + 1);
        struct gpu_model wanted;
        name[n] = '\0';
        wanted = gpu_model_of(name);
        for (size_t i = 0; i < model->gpu_models.n; i++)
            serves[i] = serves[i] || gpu_model_serves(&wanted, &model->gpu_models.at[i]);
        models += n + (models[n] == '|');
    }
    return serves;
}

/* How many GPUs there are that will do. */
static int64_t n_serving(const bool *serves, const struct model *model)
{
    int64_t n = 0;

    for (size_t i = 0; i < model->gpu_models.n; i++)
        n += serves[i] ? model->gpu_counts.at[i] : 0;
    return n;
}

int64_t *mix_sought(const struct mix *mix, const struct model *model, struct arena *arena)
{
    enum { FINE = 1000000, TENTHS = 10 };
    int64_t *sought = ARENA_NEW0_N(arena, int64_t, model->gpu_models.n + 1);
    wide asked = 0;

    for (size_t i = 0; i < mix->n; i++) {
        const struct shape_count *shape = &mix->at[i];
        wide asks = (wide)shape->n * shape->milli * shape->gpus;
        const bool *serves = serving(shape->models, model, arena);
        int64_t n = serves ? n_serving(serves, model) : 0;
        asked += asks;
        for (size_t k = 0; n && k < model->gpu_models.n; k++)
            sought[k] += serves[k] ? (int64_t)(asks * FINE / n) : 0;
    }
    for (size_t k = 0; k < model->gpu_models.n; k++) {
        wide tenths = asked ? (wide)sought[k] * model->n_gpus * TENTHS / (asked * FINE) : 0;
        sought[k] = tenths < SOUGHT_MOST ? (int64_t)tenths : SOUGHT_MOST;
    }
    return sought;
}

/* --- Measuring */

/* Shapes that differ in cpu alone. */
struct gpu_shape {
    int64_t milli, gpus;
    bool *serves;  /* by model->gpu_models, and last: one that says none; NULL: any will do */
    int64_t *cpu;  /* rising */
    int64_t *upto; /* how many tasks ask for no more cpu than that */
    int64_t total;
    size_t n_cpu;
    const char *models;
};

struct measure {
    struct gpu_shape *at;
    size_t n, n_models;
    int64_t without, total; /* tasks that ask for no GPU; all */
};

static struct gpu_shape *gpu_shape_of(struct measure *m, const struct shape_count *shape,
                                      const struct model *model, size_t most, struct arena *arena)
{
    struct gpu_shape *found;

    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].milli == shape->milli && m->at[i].gpus == shape->gpus &&
            strcmp(m->at[i].models, shape->models) == 0)
            return &m->at[i];
    found = &m->at[m->n++];
    *found = (struct gpu_shape){ .milli = shape->milli,
                                 .gpus = shape->gpus,
                                 .models = shape->models,
                                 .serves = serving(shape->models, model, arena),
                                 .cpu = ARENA_NEW0_N(arena, int64_t, most),
                                 .upto = ARENA_NEW0_N(arena, int64_t, most) };
    return found;
}

static void add_cpu(struct gpu_shape *shape, int64_t cpu, int64_t n)
{
    size_t at = shape->n_cpu++;

    for (; at > 0 && shape->cpu[at - 1] > cpu; at--) {
        shape->cpu[at] = shape->cpu[at - 1];
        shape->upto[at] = shape->upto[at - 1];
    }
    shape->cpu[at] = cpu;
    shape->upto[at] = n;
    shape->total += n;
}

struct measure *measure_new(const struct mix *mix, int64_t coverage_milli,
                            const struct model *model, struct arena *arena)
{
    struct measure *m = ARENA_NEW0(arena, struct measure);
    int64_t all = mix_total(mix);

    m->at = ARENA_NEW0_N(arena, struct gpu_shape, mix->n + 1);
    m->n_models = model->gpu_models.n;
    for (size_t i = 0; i < mix->n; i++) {
        const struct shape_count *shape = &mix->at[i];
        if ((wide)m->total * 1000 >= (wide)all * coverage_milli)
            break;
        m->total += shape->n;
        if (!shape->gpus)
            m->without += shape->n;
        else
            add_cpu(gpu_shape_of(m, shape, model, mix->n, arena), shape->cpu, shape->n);
    }
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 1; k < m->at[i].n_cpu; k++)
            m->at[i].upto[k] += m->at[i].upto[k - 1];
    return m->total ? m : NULL;
}

int64_t measure_total(const struct measure *m)
{
    return m->total;
}

/* How many tasks of a shape find the cpu. */
static int64_t n_with_cpu(const struct gpu_shape *shape, int64_t cpu)
{
    size_t n = shape->n_cpu;

    while (n > 0 && shape->cpu[n - 1] > cpu)
        n--;
    return n ? shape->upto[n - 1] : 0;
}

static bool serves(const struct measure *m, const struct gpu_shape *shape, uint32_t model)
{
    return !shape->serves || shape->serves[model < m->n_models ? model : m->n_models];
}

struct tally tally_new(const struct measure *m, struct arena *arena)
{
    return (struct tally){ .lost = ARENA_NEW0_N(arena, int64_t, m->n + 1),
                           .fit = ARENA_NEW0_N(arena, int64_t, m->n + 1) };
}

void tally_copy(const struct measure *m, const struct tally *from, struct tally *to)
{
    to->sum = from->sum;
    memcpy(to->lost, from->lost, m->n * sizeof(*to->lost));
    memcpy(to->fit, from->fit, m->n * sizeof(*to->fit));
}

void tally_count(const struct measure *m, const struct picture *p, struct tally *out)
{
    out->sum = 0;
    for (size_t i = 0; i < p->n; i++)
        out->sum += p->free[i];
    for (size_t g = 0; g < m->n; g++) {
        const struct gpu_shape *shape = &m->at[g];
        int64_t lost = 0, fit = 0;
        for (size_t i = 0; i < p->n; i++) {
            bool fits = p->free[i] >= shape->milli && serves(m, shape, p->model[i]);
            fit += fits;
            lost += fits ? 0 : p->free[i];
        }
        out->lost[g] = lost;
        out->fit[g] = fit;
    }
}

/* How a shape's share changes if a device with `free` has `left` instead. */
static int64_t lost_more(const struct gpu_shape *shape, bool is_served, int64_t free, int64_t left)
{
    return (is_served && left >= shape->milli ? 0 : left) -
           (is_served && free >= shape->milli ? 0 : free);
}

static int64_t fit_less(const struct gpu_shape *shape, bool is_served, int64_t free, int64_t left)
{
    return is_served && free >= shape->milli && left < shape->milli;
}

void tally_take(const struct measure *m, struct tally *tally, uint32_t model, int64_t free,
                int64_t milli)
{
    tally->sum -= milli;
    for (size_t g = 0; g < m->n; g++) {
        bool is_served = serves(m, &m->at[g], model);
        tally->lost[g] += lost_more(&m->at[g], is_served, free, free - milli);
        tally->fit[g] -= fit_less(&m->at[g], is_served, free, free - milli);
    }
}

int64_t measure_waste(const struct measure *m, const struct tally *tally, int64_t cpu)
{
    int64_t waste = m->without * tally->sum;

    if (!tally->sum)
        return 0;
    for (size_t g = 0; g < m->n; g++) {
        const struct gpu_shape *shape = &m->at[g];
        int64_t n = n_with_cpu(shape, cpu);
        waste += (shape->total - n) * tally->sum +
                 n * (tally->fit[g] >= shape->gpus ? tally->lost[g] : tally->sum);
    }
    return waste;
}

int64_t measure_waste_if(const struct measure *m, const struct tally *tally, int64_t cpu,
                         uint32_t model, int64_t free, int64_t milli)
{
    int64_t sum = tally->sum - milli, waste = m->without * sum;

    for (size_t g = 0; g < m->n; g++) {
        const struct gpu_shape *shape = &m->at[g];
        bool is_served = serves(m, shape, model);
        int64_t n = n_with_cpu(shape, cpu);
        int64_t fit = tally->fit[g] - fit_less(shape, is_served, free, free - milli);
        waste += (shape->total - n) * sum;
        waste += n * (fit >= shape->gpus
                          ? tally->lost[g] + lost_more(shape, is_served, free, free - milli)
                          : sum);
    }
    return waste;
}

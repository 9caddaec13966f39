/*
 * How well and how fast GPU tasks are placed: the openb trace in its published orders.
 *
 *   bench-quality FOLDER LIST SEED POLICY...    allocation at 100 and 130 % load of each policy
 *   bench-quality FOLDER LIST SEED speed-fgd    the engine beside the same formula in full
 *   bench-quality FOLDER LIST SEED speed-berth  likewise
 *
 * FOLDER holds the trace's csv files and the orders, unpacked. Policies: first-fit, dotprod,
 * clustering, packing, bestfit, fgd (each a plain loop over all nodes, as published), berth (our
 * own policy, as plain) and engine and engine-berth (this program's plugin fragmentation with
 * policies fgd and berth). The published rules are in Weng et al., USENIX ATC 2023. SEED is that of
 * a published order, or own:N for the N-th of our own.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/str.h"
#include "berth/engine.h"
#include "openb.h"

enum { CPU_SCALE = 128000, GPU_SCALE = 8000 };

/* Where a task went. */
struct place {
    int machine;   /* -1: nowhere */
    uint32_t gpus; /* bits */
};

/* --- The published policies, each recomputed in full */

static int64_t all_free(const struct machine *m)
{
    int64_t sum = 0;

    for (int g = 0; g < m->n_gpus; g++)
        sum += m->free[g];
    return sum;
}

static bool fits(const struct machine *m, const struct pod *p)
{
    int n = 0;

    if (p->cpu > m->cpu || p->memory > m->memory || m->n_tasks >= MOST_TASKS_OF_A_NODE)
        return false;
    if (!p->n_gpus)
        return true;
    if (p->types && !(p->types & 1U << m->type))
        return false;
    for (int g = 0; g < m->n_gpus; g++)
        n += m->free[g] >= p->milli;
    return n >= p->n_gpus;
}

/* The fullest GPU that still has so much. */
static int fullest(const struct machine *m, int64_t milli)
{
    int best = -1;

    for (int g = 0; g < m->n_gpus; g++)
        if (m->free[g] >= milli && (best < 0 || m->free[g] < m->free[best]))
            best = g;
    return best;
}

static int kind_of(const struct pod *p)
{
    return p->milli < WHOLE ? 0 : p->n_gpus == 1 ? 1 : p->n_gpus == 2 ? 2 : p->n_gpus == 4 ? 3 : 4;
}

static double score_first(const struct trace *t, const struct machine *m, const struct pod *p,
                          int *gpu)
{
    (void)t;
    (void)m;
    (void)p;
    (void)gpu;
    return 0;
}

static double score_dotprod(const struct trace *t, const struct machine *m, const struct pod *p,
                            int *gpu)
{
    double cpu = (double)m->cpu / CPU_SCALE * ((double)p->cpu / CPU_SCALE);
    double gpus = (double)all_free(m) / GPU_SCALE * ((double)(p->milli * p->n_gpus) / GPU_SCALE);

    (void)t;
    (void)gpu;
    return floor(100 * (1 - (cpu + gpus) / 2));
}

static double score_clustering(const struct trace *t, const struct machine *m, const struct pod *p,
                               int *gpu)
{
    int own = m->runs[kind_of(p)], others = 0;

    (void)t;
    (void)gpu;
    if (!p->n_gpus)
        return 0;
    for (int k = 0; k < KINDS; k++)
        others += k != kind_of(p) ? m->runs[k] : 0;
    return (own      ? (others ? 50 : 75)
            : others ? 0
                     : 25) +
           (double)(25 * (GPU_SCALE - all_free(m)) / GPU_SCALE);
}

static double score_packing(const struct trace *t, const struct machine *m, const struct pod *p,
                            int *gpu)
{
    int chosen = fullest(m, p->milli);
    double score;

    (void)t;
    (void)gpu;
    if (!p->n_gpus)
        return 0;
    if (p->milli < WHOLE && m->free[chosen] < WHOLE) {
        score = 100 - (double)(m->free[chosen] / 100);
        return score < 50 ? 50 : score;
    }
    if (all_free(m) < (int64_t)m->n_gpus * WHOLE) {
        score = 50 - p->n_gpus;
        return score < 33 ? 33 : score;
    }
    return 33 - m->n_gpus;
}

static double score_bestfit(const struct trace *t, const struct machine *m, const struct pod *p,
                            int *gpu)
{
    double cpu = 0.5 * (double)(m->cpu - p->cpu) / CPU_SCALE;
    double gpus = 0.5 * (double)(all_free(m) - p->milli * p->n_gpus) / GPU_SCALE;

    (void)t;
    (void)gpu;
    return floor(100 * (1 - (cpu + gpus)));
}

/* What of a machine's free GPUs a task drawn from the mix could not use, expected. */
static double waste_of(const struct trace *t, const struct machine *m)
{
    double sum = 0;

    for (size_t i = 0; i < t->mix.n_kept; i++) {
        const struct shape *s = &t->mix.shapes[i];
        int64_t all = 0, lost = 0;
        int n = 0;
        for (int g = 0; g < m->n_gpus; g++) {
            all += m->free[g];
            lost += m->free[g] < s->milli ? m->free[g] : 0;
            n += m->free[g] >= s->milli;
        }
        if (!s->n_gpus || m->cpu < s->cpu || n < s->n_gpus ||
            (s->types && !(s->types & 1U << m->type)))
            lost = all;
        sum += (double)s->count / (double)t->mix.n_covered * (double)lost;
    }
    return sum;
}

static double level(double fall)
{
    return floor(100 / (1 + exp(-fall / WHOLE)));
}

static double score_fgd(const struct trace *t, const struct machine *m, const struct pod *p,
                        int *gpu)
{
    struct machine after = *m;
    double before = waste_of(t, m), best = -1;
    int left = p->n_gpus;

    after.cpu -= p->cpu;
    if (!p->n_gpus || p->milli == WHOLE) {
        for (int g = 0; g < m->n_gpus && left; g++)
            if (m->free[g] == WHOLE) {
                after.free[g] = 0;
                left--;
            }
        return level(before - waste_of(t, &after));
    }
    for (int g = 0; g < m->n_gpus; g++) {
        double score;
        if (m->free[g] < p->milli)
            continue;
        after.free[g] -= p->milli;
        score = level(before - waste_of(t, &after));
        after.free[g] += p->milli;
        if (score > best) {
            best = score;
            *gpu = g;
        }
    }
    return best;
}

/* --- Our own policy, recomputed in full */

enum { STEP = 40, STEP_OF_PART = 100, UNIT = 1000000, SOUGHT_MOST = 40 };

/* As waste_of, times the tasks of the mix, whatever models they name. */
static int64_t waste_of_any(const struct trace *t, const struct machine *m)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->any.n_kept; i++) {
        const struct shape *s = &t->any.shapes[i];
        int64_t lost = 0;
        int n = 0;
        for (int g = 0; g < m->n_gpus; g++) {
            lost += m->free[g] < s->milli ? m->free[g] : 0;
            n += m->free[g] >= s->milli;
        }
        sum += s->count * (!s->n_gpus || m->cpu < s->cpu || n < s->n_gpus ? all_free(m) : lost);
    }
    return sum;
}

/* How sought each type is by tasks that name types, in tenths of what a GPU is by all. */
static void count_sought(struct trace *t)
{
    int64_t fine[MOST_TYPES] = { 0 }, gpus[MOST_TYPES] = { 0 }, asked = 0, all = 0, cores = 0;

    for (size_t i = 0; i < t->n_machines; i++) {
        gpus[t->machines[i].type] += t->machines[i].n_gpus;
        all += t->machines[i].n_gpus;
        cores += t->machines[i].cpu;
    }
    for (size_t i = 0; i < t->mix.n; i++) {
        const struct shape *s = &t->mix.shapes[i];
        int64_t asks = s->count * s->milli * s->n_gpus, n = 0;
        asked += asks;
        for (int k = 0; k < t->n_types; k++)
            n += s->types >> k & 1 ? gpus[k] : 0;
        for (int k = 0; n && k < t->n_types; k++)
            fine[k] += s->types >> k & 1 ? asks * UNIT / n : 0;
    }
    for (int k = 0; k < t->n_types; k++) {
        double tenths = 10.0 * (double)fine[k] / UNIT * (double)all / (double)asked;
        t->sought[k] = tenths < SOUGHT_MOST ? (int64_t)tenths : SOUGHT_MOST;
    }
    t->core_milli = all * WHOLE / (cores / 1000);
}

static double worth(const struct trace *t, int64_t fall, int64_t step, int64_t sought, int64_t left)
{
    double steps = floor((double)fall / (double)(step * t->any.n_covered));

    return (steps - (double)sought) * UNIT + UNIT - 1 - (double)left;
}

static double score_berth(const struct trace *t, const struct machine *m, const struct pod *p,
                          int *gpu)
{
    struct machine after = *m;
    int64_t before = waste_of_any(t, m), sought = p->n_gpus ? t->sought[m->type] : 0;
    double best = -INFINITY;

    after.cpu -= p->cpu;
    if (!p->n_gpus || p->milli == WHOLE) {
        for (int g = 0, left = p->n_gpus; g < m->n_gpus && left; g++)
            if (m->free[g] == WHOLE) {
                after.free[g] = 0;
                left--;
            }
        return worth(t, before - waste_of_any(t, &after), STEP, sought,
                     all_free(&after) + after.cpu * t->core_milli / 1000);
    }
    for (int g = 0; g < m->n_gpus; g++) {
        double score;
        if (m->free[g] < p->milli)
            continue;
        after.free[g] -= p->milli;
        score = worth(t, before - waste_of_any(t, &after), STEP_OF_PART, sought, after.free[g]);
        after.free[g] += p->milli;
        if (score > best) {
            best = score;
            *gpu = g;
        }
    }
    return best;
}

static const struct policy {
    const char *name;
    double (*score)(const struct trace *t, const struct machine *m, const struct pod *p, int *gpu);
} policies[] = {
    { "first-fit", score_first }, { "dotprod", score_dotprod }, { "clustering", score_clustering },
    { "packing", score_packing }, { "bestfit", score_bestfit }, { "fgd", score_fgd },
    { "berth", score_berth },
};

static struct place put(struct machine *m, const struct pod *p, int at, int gpu)
{
    struct place place = { at, 0 };
    int left = p->n_gpus;

    m->cpu -= p->cpu;
    m->memory -= p->memory;
    m->n_tasks++;
    if (p->n_gpus)
        m->runs[kind_of(p)]++;
    if (p->n_gpus && p->milli < WHOLE) {
        m->free[gpu] -= p->milli;
        place.gpus = 1U << gpu;
        return place;
    }
    for (int g = 0; g < m->n_gpus && left; g++) {
        if (m->free[g] < WHOLE)
            continue;
        m->free[g] = 0;
        place.gpus |= 1U << g;
        left--;
    }
    return place;
}

static void run_plain(const struct trace *t, const struct policy *policy, struct place *places)
{
    struct machine *machines = calloc(t->n_machines, sizeof(*machines));

    if (!machines)
        die("out of memory", NULL);
    memcpy(machines, t->machines, t->n_machines * sizeof(*machines));
    for (size_t i = 0; i < t->n_order; i++) {
        const struct pod *p = &t->pods[t->order[i]];
        double most = -INFINITY;
        int best = -1, best_gpu = -1;
        for (size_t k = 0; k < t->n_machines; k++) {
            int gpu = -1;
            double score;
            if (!fits(&machines[k], p))
                continue;
            score = policy->score(t, &machines[k], p, &gpu);
            if (score <= most)
                continue;
            most = score;
            best = (int)k;
            best_gpu = gpu;
        }
        if (best >= 0 && best_gpu < 0 && p->n_gpus && p->milli < WHOLE)
            best_gpu = fullest(&machines[best], p->milli);
        places[i] = best < 0 ? (struct place){ -1, 0 } : put(&machines[best], p, best, best_gpu);
    }
    free(machines);
}

/* --- The engine */

static void apply(struct berth_engine *engine, enum berth_kind kind, const void *object)
{
    struct berth_delta delta = { kind, false, { .any = object } };
    struct err err = { 0 };

    if (berth_engine_apply(engine, &delta, 1, &err) < 0)
        die(err.text, NULL);
}

static void tell_machine(struct berth_engine *engine, struct arena *arena, const struct machine *m,
                         size_t at)
{
    struct berth_amount offers[] = { { "cpu", m->cpu },
                                     { "memory", m->memory << 20 },
                                     { "pods", (int64_t)MOST_TASKS_OF_A_NODE * 1000 } };

    apply(engine, BERTH_NODE,
          &(struct berth_node){
              .id = m->name, .seq = at + 1, .state = NODE_READY, .offers = { offers, 3 } });
    for (int g = 0; g < m->n_gpus; g++)
        apply(engine, BERTH_DEVICE,
              &(struct berth_device){ .node = m->name,
                                      .class_name = "gpu",
                                      .uuid = arena_format(arena, "%d", g),
                                      .index = (uint32_t)g,
                                      .model = m->model });
}

static void tell_pod(struct berth_engine *engine, struct arena *arena, const struct pod *p,
                     size_t at)
{
    struct berth_amount asks[] = { { "cpu", p->cpu },
                                   { "gpu", p->n_gpus * p->milli },
                                   { "memory", p->memory << 20 } };
    const char *models[MOST_TYPES];
    char *spec = arena_text(arena, p->spec), *rest = NULL;
    struct berth_task_group group = { .name = "t", .replicas = 1, .asks = { asks, 3 } };

    for (char *one = strtok_r(spec, "|", &rest); one; one = strtok_r(NULL, "|", &rest))
        models[group.gpu_models.n++] = one;
    group.gpu_models.at = models;
    apply(engine, BERTH_JOB,
          &(struct berth_job){ .id = arena_format(arena, "j%zu", at),
                               .name = p->name,
                               .seq = at + 1,
                               .queue = "q",
                               .groups = &group,
                               .n_groups = 1 });
}

static void tell_mix(struct berth_engine *engine, const struct trace *t)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < t->mix.n; i++)
        str_addf(&text, "u %" PRId64 " %" PRId64 " %" PRId64 " %d %s\n", t->mix.shapes[i].count,
                 t->mix.shapes[i].cpu, t->mix.shapes[i].milli, t->mix.shapes[i].n_gpus,
                 t->mix.shapes[i].spec[0] ? t->mix.shapes[i].spec : "-");
    apply(engine, BERTH_MEMO,
          &(struct berth_memo){ "fragmentation.mix", str_text(&text), text.len });
}

static void tell_config(struct berth_engine *engine, const char *named)
{
    static const char *const actions[] = { "allocate" };
    const struct berth_value choice = { .key = "policy", .kind = BERTH_VALUE_TEXT, .text = named };
    const struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT,
                                           .members = &choice,
                                           .n_members = 1 };
    const struct berth_plugin_use uses[] = { { .name = "fragmentation", .arguments = &arguments } };
    const struct berth_tier tier = { uses, 1 };
    static const struct berth_value options[] = {
        { .key = "tie", .kind = BERTH_VALUE_TEXT, .text = "rank" },
        { .key = "gpuModels", .kind = BERTH_VALUE_TEXT, .text = "set" }, /* as in the trace */
    };
    static const struct berth_value policy = { .kind = BERTH_VALUE_OBJECT,
                                               .members = options,
                                               .n_members = 2 };

    apply(engine, BERTH_CONFIG,
          &(struct berth_config){ .has_actions = true,
                                  .has_tiers = true,
                                  .actions = { actions, 1 },
                                  .tiers = &tier,
                                  .n_tiers = 1,
                                  .policy = &policy });
}

static int machine_named(const struct trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_machines; i++)
        if (strcmp(t->machines[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void take_part(const struct trace *t, const struct berth_part *part, struct place *places)
{
    struct place *place = &places[atoll(part->task.job + 1)];

    place->machine = machine_named(t, part->node);
    for (size_t i = 0; i < part->n_shares; i++)
        place->gpus |= 1U << part->shares[i].index;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One cycle over all arrivals; the seconds that it took. */
static double run_engine(const struct trace *t, const char *policy, struct place *places)
{
    struct err err = { 0 };
    struct berth_engine *engine = berth_engine_new(&err);
    struct berth_cycle_in in = { .revision = 1, .now_ms = 1000, .skip_digest = true };
    struct berth_decisions out = { 0 };
    struct arena arena = { 0 };
    double began;

    if (!engine)
        die(err.text, NULL);
    tell_config(engine, policy);
    apply(engine, BERTH_QUEUE, &(struct berth_queue){ .name = "q", .seq = 1 });
    for (size_t i = 0; i < t->n_machines; i++)
        tell_machine(engine, &arena, &t->machines[i], i);
    for (size_t i = 0; i < t->n_order; i++)
        tell_pod(engine, &arena, &t->pods[t->order[i]], i);
    tell_mix(engine, t);
    began = seconds();
    if (berth_engine_cycle(engine, &in, &out, &err) < 0)
        die(err.text, NULL);
    began = seconds() - began;
    for (size_t i = 0; i < t->n_order; i++)
        places[i] = (struct place){ -1, 0 };
    for (size_t g = 0; g < out.n_groups; g++)
        for (size_t k = 0; k < out.groups[g].n_parts; k++)
            if (out.groups[g].kind == BERTH_GROUP_BIND)
                take_part(t, &out.groups[g].parts[k], places);
    berth_decisions_free(&out);
    berth_engine_free(engine);
    arena_fini(&arena);
    return began;
}

/* --- What came of it */

/* The mean allocation in percent over the arrivals at which the load rounds to so many. */
static double allocation_at(const struct trace *t, const struct place *places, int64_t load)
{
    int64_t all = 0, arrived = 0, given = 0;
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < t->n_machines; i++)
        all += (int64_t)t->machines[i].n_gpus * WHOLE;
    for (size_t i = 0; i < t->n_order; i++) {
        const struct pod *p = &t->pods[t->order[i]];
        arrived += p->milli * p->n_gpus;
        given += places[i].machine < 0 ? 0 : p->milli * p->n_gpus;
        if ((int64_t)round((double)arrived * 100 / (double)all) != load)
            continue;
        sum += (double)given * 100 / (double)all;
        n++;
    }
    return n ? sum / (double)n : NAN;
}

static void show(const struct trace *t, const char *name, const struct place *places)
{
    size_t n_placed = 0;

    for (size_t i = 0; i < t->n_order; i++)
        n_placed += places[i].machine >= 0;
    printf("%-12s %8.2f %8.2f %8zu of %zu\n", name, allocation_at(t, places, 100),
           allocation_at(t, places, 130), n_placed, t->n_order);
}

static size_t n_different(const struct trace *t, const struct place *a, const struct place *b)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_order; i++)
        n += a[i].machine != b[i].machine || a[i].gpus != b[i].gpus;
    return n;
}

static const struct policy *policy_named(const char *name)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    die("no such policy", name);
    return NULL;
}

static void run_speed(const struct trace *t, const char *policy, struct place *places,
                      struct place *others)
{
    double engine = INFINITY, plain = INFINITY, n = (double)t->n_order;

    /* The fastest of some: what else the machine does only ever adds. */
    for (int i = 0; i < 5; i++)
        engine = fmin(engine, run_engine(t, policy, places));
    for (int i = 0; i < 3; i++) {
        double began = seconds();
        run_plain(t, policy_named(policy), others);
        plain = fmin(plain, seconds() - began);
    }
    printf(
        "engine %.0f placements/s, in full %.0f placements/s, ratio %.1f, different %zu of %zu\n",
        n / engine, n / plain, plain / engine, n_different(t, places, others), t->n_order);
}

int main(int argc, char **argv)
{
    struct trace t = { 0 };
    struct place *places, *others;

    if (argc < 5)
        die("bench-quality FOLDER LIST SEED speed-POLICY | POLICY...", NULL);
    trace_read(&t, argv[1], argv[2], argv[3]);
    count_sought(&t);
    places = calloc(t.n_order, sizeof(*places));
    others = calloc(t.n_order, sizeof(*others));
    if (!places || !others)
        die("out of memory", NULL);
    for (int i = 4; i < argc; i++) {
        if (strncmp(argv[i], "speed-", 6) == 0) {
            run_speed(&t, argv[i] + 6, places, others);
        } else if (strcmp(argv[i], "engine") == 0) {
            run_engine(&t, "fgd", places);
            show(&t, argv[i], places);
        } else if (strcmp(argv[i], "engine-berth") == 0) {
            run_engine(&t, "berth", places);
            show(&t, argv[i], places);
        } else {
            run_plain(&t, policy_named(argv[i]), places);
            show(&t, argv[i], places);
        }
    }
    free(places);
    free(others);
    trace_free(&t);
    return 0;
}

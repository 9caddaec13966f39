/*
 * How well and how fast GPU tasks are placed: the openb trace in its published orders.
 *
 *   bench-quality FOLDER LIST SEED POLICY...    allocation at 100 and 130 % load of each policy
 *   bench-quality FOLDER LIST SEED speed        the engine beside the same formula in full
 *
 * FOLDER holds the trace's csv files and the orders, unpacked. Policies: first-fit, dotprod,
 * clustering, packing, bestfit, fgd (each a plain loop over all nodes, as published) and engine
 * (this program's plugin fragmentation). The published rules are in Weng et al., USENIX ATC 2023.
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

enum { MOST_GPUS = 8, MOST_TYPES = 16, WHOLE = 1000, MOST_TASKS_OF_A_NODE = 1001, KINDS = 5 };
enum { CPU_SCALE = 128000, GPU_SCALE = 8000, LINE = 4096, COVERED_PERCENT = 95 };

struct machine {
    char name[32];
    char model[16];
    int64_t cpu, memory, free[MOST_GPUS];
    int type, n_gpus, n_tasks;
    int runs[KINDS]; /* how many GPU tasks of each kind */
};

struct pod {
    char name[32], spec[96];
    int64_t cpu, memory, milli;
    int n_gpus;
    uint32_t types; /* bits of those that will do; 0: all */
};

/* A distinct request, and how many of the list make it. */
struct shape {
    int64_t cpu, milli;
    int n_gpus;
    uint32_t types;
    const char *spec;
    int64_t count;
};

struct trace {
    char types[MOST_TYPES][16];
    int n_types;
    struct machine *machines; /* in the order of choice */
    size_t n_machines;
    struct pod *pods; /* by row */
    size_t n_pods;
    size_t *order; /* rows, in the order of arrival */
    size_t n_order;
    struct shape *shapes; /* most frequent first */
    size_t n_shapes, n_kept;
    int64_t n_covered; /* tasks that the kept ones stand for */
};

/* Where a task went. */
struct place {
    int machine;   /* -1: nowhere */
    uint32_t gpus; /* bits */
};

static void die(const char *what, const char *which)
{
    fprintf(stderr, "bench-quality: %s%s%s\n", what, which ? ": " : "", which ? which : "");
    exit(2);
}

/* --- The trace */

static FILE *open_in(const char *folder, const char *name)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "re");
    if (!file)
        die(strerror(errno), path);
    return file;
}

/* The fields of a line, in place; how many. */
static int split(char *line, char *fields[16])
{
    int n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && n < 16;) {
        fields[n++] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return n;
}

static int type_of(struct trace *t, const char *name)
{
    for (int i = 0; i < t->n_types; i++)
        if (strcmp(t->types[i], name) == 0)
            return i;
    if (t->n_types == MOST_TYPES)
        die("more GPU types than expected", name);
    snprintf(t->types[t->n_types], sizeof(t->types[0]), "%s", name);
    return t->n_types++;
}

static uint32_t types_of(struct trace *t, const char *spec)
{
    uint32_t bits = 0;
    char copy[96], *rest = NULL;

    snprintf(copy, sizeof(copy), "%s", spec);
    for (char *one = strtok_r(copy, "|", &rest); one; one = strtok_r(NULL, "|", &rest))
        bits |= 1U << type_of(t, one);
    return bits;
}

static struct machine *read_machines(struct trace *t, const char *folder)
{
    FILE *file = open_in(folder, "openb_node_list_gpu_node.csv");
    struct machine *list = calloc(4096, sizeof(*list));
    char line[LINE], *f[16];

    if (!list || !fgets(line, sizeof(line), file))
        die("no nodes", folder);
    while (t->n_machines < 4096 && fgets(line, sizeof(line), file) && split(line, f) >= 5) {
        struct machine *m = &list[t->n_machines++];
        snprintf(m->name, sizeof(m->name), "%s", f[0]);
        snprintf(m->model, sizeof(m->model), "%s", f[4]);
        m->cpu = atoll(f[1]);
        m->memory = atoll(f[2]);
        m->n_gpus = (int)atoll(f[3]);
        m->type = type_of(t, f[4]);
        for (int g = 0; g < m->n_gpus && g < MOST_GPUS; g++)
            m->free[g] = WHOLE;
    }
    fclose(file);
    return list;
}

static void read_pods(struct trace *t, const char *folder, const char *list)
{
    char name[128], line[LINE], *f[16];
    FILE *file;
    size_t cap = 1 << 15;

    snprintf(name, sizeof(name), "openb_pod_list_%s.csv", list);
    file = open_in(folder, name);
    t->pods = calloc(cap, sizeof(*t->pods));
    if (!t->pods || !fgets(line, sizeof(line), file))
        die("no tasks", name);
    while (t->n_pods < cap && fgets(line, sizeof(line), file)) {
        struct pod *pod = &t->pods[t->n_pods++];
        int n = split(line, f);
        if (n < 5)
            die("a line is too short", name);
        snprintf(pod->name, sizeof(pod->name), "%s", f[0]);
        pod->cpu = atoll(f[1]);
        pod->memory = atoll(f[2]);
        pod->n_gpus = (int)atoll(f[3]);
        pod->milli = pod->n_gpus ? atoll(f[4]) : 0;
        if (n > 5 && pod->n_gpus)
            snprintf(pod->spec, sizeof(pod->spec), "%s", f[5]);
        pod->types = types_of(t, pod->spec);
    }
    fclose(file);
}

static size_t read_count(FILE *file, const char *word)
{
    char line[LINE];
    size_t n = 0;

    if (!fgets(line, sizeof(line), file) || strncmp(line, word, strlen(word)) != 0)
        die("an order without", word);
    n = (size_t)atoll(line + strlen(word));
    if (!n || n > 1000000)
        die("an order of no length", word);
    return n;
}

static size_t *read_rows(FILE *file, size_t n, size_t most)
{
    size_t *rows = calloc(n, sizeof(*rows));
    char line[LINE];

    for (size_t i = 0; rows && i < n; i++) {
        rows[i] = fgets(line, sizeof(line), file) ? (size_t)atoll(line) : most;
        if (rows[i] >= most)
            die("an order names a row that is not there", NULL);
    }
    return rows;
}

static int by_frequency(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->cpu != y->cpu)
        return x->cpu > y->cpu ? -1 : 1;
    if (x->milli != y->milli)
        return x->milli > y->milli ? -1 : 1;
    if (x->n_gpus != y->n_gpus)
        return x->n_gpus > y->n_gpus ? -1 : 1;
    return strcmp(y->spec, x->spec);
}

static void count_shapes(struct trace *t)
{
    t->shapes = calloc(t->n_pods, sizeof(*t->shapes));
    for (size_t i = 0; t->shapes && i < t->n_pods; i++) {
        const struct pod *p = &t->pods[i];
        size_t at = 0;
        while (at < t->n_shapes &&
               !(t->shapes[at].cpu == p->cpu && t->shapes[at].milli == p->milli &&
                 t->shapes[at].n_gpus == p->n_gpus && strcmp(t->shapes[at].spec, p->spec) == 0))
            at++;
        if (at == t->n_shapes)
            t->shapes[t->n_shapes++] =
                (struct shape){ p->cpu, p->milli, p->n_gpus, p->types, p->spec, 0 };
        t->shapes[at].count++;
    }
    qsort(t->shapes, t->n_shapes, sizeof(*t->shapes), by_frequency);
    while (t->n_kept < t->n_shapes && t->n_covered * 100 < (int64_t)t->n_pods * COVERED_PERCENT)
        t->n_covered += t->shapes[t->n_kept++].count;
}

static void read_trace(struct trace *t, const char *folder, const char *list, const char *seed)
{
    struct machine *machines = read_machines(t, folder);
    char name[128];
    size_t n, *rows;
    FILE *file;

    read_pods(t, folder, list);
    snprintf(name, sizeof(name), "%s.%s.txt", list, seed);
    file = open_in(folder, name);
    t->n_order = read_count(file, "pods ");
    t->order = read_rows(file, t->n_order, t->n_pods);
    n = read_count(file, "nodes ");
    if (n != t->n_machines)
        die("an order of other nodes", name);
    rows = read_rows(file, n, n);
    t->machines = calloc(n, sizeof(*t->machines));
    for (size_t i = 0; t->machines && i < n; i++)
        t->machines[i] = machines[rows[i]];
    free(rows);
    free(machines);
    fclose(file);
    count_shapes(t);
}

static void free_trace(struct trace *t)
{
    free(t->machines);
    free(t->pods);
    free(t->order);
    free(t->shapes);
}

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

    for (size_t i = 0; i < t->n_kept; i++) {
        const struct shape *s = &t->shapes[i];
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
        sum += (double)s->count / (double)t->n_covered * (double)lost;
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

static const struct policy {
    const char *name;
    double (*score)(const struct trace *t, const struct machine *m, const struct pod *p, int *gpu);
} policies[] = {
    { "first-fit", score_first }, { "dotprod", score_dotprod }, { "clustering", score_clustering },
    { "packing", score_packing }, { "bestfit", score_bestfit }, { "fgd", score_fgd },
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
        double most = -1;
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

    for (size_t i = 0; i < t->n_shapes; i++)
        str_addf(&text, "u %" PRId64 " %" PRId64 " %" PRId64 " %d %s\n", t->shapes[i].count,
                 t->shapes[i].cpu, t->shapes[i].milli, t->shapes[i].n_gpus,
                 t->shapes[i].spec[0] ? t->shapes[i].spec : "-");
    apply(engine, BERTH_MEMO,
          &(struct berth_memo){ "fragmentation.mix", str_text(&text), text.len });
}

static void tell_config(struct berth_engine *engine)
{
    static const char *const actions[] = { "allocate" };
    static const struct berth_plugin_use uses[] = { { .name = "fragmentation" } };
    static const struct berth_tier tier = { uses, 1 };
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
static double run_engine(const struct trace *t, struct place *places)
{
    struct err err = { 0 };
    struct berth_engine *engine = berth_engine_new(&err);
    struct berth_cycle_in in = { .revision = 1, .now_ms = 1000, .skip_digest = true };
    struct berth_decisions out = { 0 };
    struct arena arena = { 0 };
    double began;

    if (!engine)
        die(err.text, NULL);
    tell_config(engine);
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

static void run_speed(const struct trace *t, struct place *places, struct place *others)
{
    double engine = INFINITY, plain = INFINITY, n = (double)t->n_order;

    /* The fastest of some: what else the machine does only ever adds. */
    for (int i = 0; i < 5; i++)
        engine = fmin(engine, run_engine(t, places));
    for (int i = 0; i < 3; i++) {
        double began = seconds();
        run_plain(t, policy_named("fgd"), others);
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
        die("bench-quality FOLDER LIST SEED speed | POLICY...", NULL);
    read_trace(&t, argv[1], argv[2], argv[3]);
    places = calloc(t.n_order, sizeof(*places));
    others = calloc(t.n_order, sizeof(*others));
    if (!places || !others)
        die("out of memory", NULL);
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "speed") == 0) {
            run_speed(&t, places, others);
        } else if (strcmp(argv[i], "engine") == 0) {
            run_engine(&t, places);
            show(&t, argv[i], places);
        } else {
            run_plain(&t, policy_named(argv[i]), places);
            show(&t, argv[i], places);
        }
    }
    free(places);
    free(others);
    free_trace(&t);
    return 0;
}

/* The openb trace: see openb.h. */
#include "openb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, COVERED_PERCENT = 95, COVERED_OF_ANY_PERCENT = 94, MOST_MACHINES = 4096 };

void die(const char *what, const char *which)
{
    fprintf(stderr, "bench-quality: %s%s%s\n", what, which ? ": " : "", which ? which : "");
    exit(2);
}

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
    struct machine *list = calloc(MOST_MACHINES, sizeof(*list));
    char line[LINE], *f[16];

    if (!list || !fgets(line, sizeof(line), file))
        die("no nodes", folder);
    while (t->n_machines < MOST_MACHINES && fgets(line, sizeof(line), file) &&
           split(line, f) >= 5) {
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

static void add_shape(struct mix_of_trace *mix, const struct shape *like, int64_t count)
{
    size_t at = 0;

    while (at < mix->n &&
           !(mix->shapes[at].cpu == like->cpu && mix->shapes[at].milli == like->milli &&
             mix->shapes[at].n_gpus == like->n_gpus &&
             strcmp(mix->shapes[at].spec, like->spec) == 0))
        at++;
    if (at == mix->n) {
        mix->shapes[mix->n] = *like;
        mix->shapes[mix->n++].count = 0;
    }
    mix->shapes[at].count += count;
}

static void keep_shapes(struct mix_of_trace *mix, size_t n_pods, int64_t percent)
{
    qsort(mix->shapes, mix->n, sizeof(*mix->shapes), by_frequency);
    while (mix->n_kept < mix->n && mix->n_covered * 100 < (int64_t)n_pods * percent)
        mix->n_covered += mix->shapes[mix->n_kept++].count;
}

static void count_shapes(struct trace *t)
{
    t->mix.shapes = calloc(t->n_pods, sizeof(*t->mix.shapes));
    t->any.shapes = calloc(t->n_pods, sizeof(*t->any.shapes));
    if (!t->mix.shapes || !t->any.shapes)
        die("out of memory", NULL);
    for (size_t i = 0; i < t->n_pods; i++) {
        const struct pod *p = &t->pods[i];
        struct shape shape = { p->cpu, p->milli, p->n_gpus, p->types, p->spec, 0 };
        add_shape(&t->mix, &shape, 1);
        shape.types = 0;
        shape.spec = "";
        add_shape(&t->any, &shape, 1);
    }
    keep_shapes(&t->mix, t->n_pods, COVERED_PERCENT);
    keep_shapes(&t->any, t->n_pods, COVERED_OF_ANY_PERCENT);
}

/* --- Orders of our own */

static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

static void shuffle(size_t *list, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = draw(state, i), other = list[k];
        list[k] = list[i - 1];
        list[i - 1] = other;
    }
}

static size_t *counted(size_t n, size_t room)
{
    size_t *list = calloc(room, sizeof(*list));

    if (!list)
        die("out of memory", NULL);
    for (size_t i = 0; i < n; i++)
        list[i] = i;
    return list;
}

static int64_t gpus_of(const struct pod *p)
{
    return p->milli * p->n_gpus;
}

/* As published: shuffled, then cut or stretched by tasks drawn at random to 130 % of all GPUs. */
static void make_order(struct trace *t, uint64_t seed)
{
    int64_t asked = 0, most = 0;
    size_t room = 8 * t->n_pods;

    for (size_t i = 0; i < t->n_machines; i++)
        most += (int64_t)t->machines[i].n_gpus * WHOLE * 13 / 10;
    t->order = counted(t->n_pods, room);
    shuffle(t->order, t->n_pods, &seed);
    for (t->n_order = 0; t->n_order < t->n_pods; t->n_order++)
        asked += gpus_of(&t->pods[t->n_order]);
    while (asked > most) {
        size_t at = draw(&seed, t->n_order);
        asked -= gpus_of(&t->pods[t->order[at]]);
        memmove(&t->order[at], &t->order[at + 1], (--t->n_order - at) * sizeof(*t->order));
    }
    while (t->n_order < room) {
        size_t row = draw(&seed, t->n_pods);
        if (asked + t->pods[row].milli > most)
            break;
        asked += gpus_of(&t->pods[row]);
        t->order[t->n_order++] = row;
    }
}

/* The order of the machines, which were read by row. */
static void order_machines(struct trace *t, struct machine *by_row, const size_t *rows)
{
    t->machines = calloc(t->n_machines, sizeof(*t->machines));
    if (!t->machines)
        die("out of memory", NULL);
    for (size_t i = 0; i < t->n_machines; i++)
        t->machines[i] = by_row[rows[i]];
    free(by_row);
}

static void read_order(struct trace *t, struct machine *by_row, const char *folder,
                       const char *name)
{
    FILE *file = open_in(folder, name);
    size_t n, *rows;

    t->n_order = read_count(file, "pods ");
    t->order = read_rows(file, t->n_order, t->n_pods);
    n = read_count(file, "nodes ");
    if (n != t->n_machines)
        die("an order of other nodes", name);
    rows = read_rows(file, n, n);
    order_machines(t, by_row, rows);
    free(rows);
    fclose(file);
}

void trace_read(struct trace *t, const char *folder, const char *list, const char *seed)
{
    struct machine *by_row = read_machines(t, folder);
    char name[128];
    uint64_t own;
    size_t *rows;

    read_pods(t, folder, list);
    count_shapes(t);
    if (strncmp(seed, "own:", 4) != 0) {
        snprintf(name, sizeof(name), "%s.%s.txt", list, seed);
        read_order(t, by_row, folder, name);
        return;
    }
    own = strtoull(seed + 4, NULL, 10);
    rows = counted(t->n_machines, t->n_machines);
    shuffle(rows, t->n_machines, &own);
    order_machines(t, by_row, rows);
    make_order(t, own);
    free(rows);
}

void trace_free(struct trace *t)
{
    free(t->machines);
    free(t->pods);
    free(t->order);
    free(t->mix.shapes);
    free(t->any.shapes);
}

/*
 * Usage: nodes whose measured use is above a threshold take nothing more, and of the others the
 * least used is best. A measurement older than five minutes says nothing. What tasks that came
 * after it will use is estimated: a part of what they ask for, more on a node that is busy.
 */
#include <errno.h>

#include "base/quantity.h"
#include "base/str.h"
#include "engine/plugins.h"

enum { STALE_MS = 300000 };

struct arguments {
    double weight, cpu, memory;
    const struct berth_value *thresholds, *estimator;
    double most_cpu, most_memory;
    double request_ratio, burst_ratio, risk_threshold, risk_factor;
    int64_t idle_cpu, idle_memory; /* what a task that asks for nothing is taken to use */
};

static const struct argument known[] = {
    { "usage.weight", ARG_DOUBLE, offsetof(struct arguments, weight) },
    { "cpu.weight", ARG_DOUBLE, offsetof(struct arguments, cpu) },
    { "memory.weight", ARG_DOUBLE, offsetof(struct arguments, memory) },
    { "thresholds", ARG_OBJECT, offsetof(struct arguments, thresholds) },
    { "estimator", ARG_OBJECT, offsetof(struct arguments, estimator) },
};

/* An amount of the estimator, as text or as a number. */
static int read_amount(const struct berth_value *value, const char *resource, int64_t *out,
                       struct err *err)
{
    CLEANUP(freep) char *number = NULL;
    const char *text = value->text;
    struct err why = { 0 };

    if (value->kind == BERTH_VALUE_INT)
        text = number = text_format("%lld", (long long)value->number);
    else if (value->kind != BERTH_VALUE_TEXT)
        return err_set(err, -EINVAL, "/estimator/%s: an amount", value->key);
    if (quantity_parse(text, quantity_unit_of(resource), out, &why) < 0)
        return err_set(err, -EINVAL, "/estimator/%s: %s", value->key, why.text);
    return 0;
}

static int read_estimator(struct arguments *a, struct err *err)
{
    const struct berth_value *e = a->estimator;
    const struct {
        const char *name;
        double *at;
    } numbers[] = {
        { "request_ratio", &a->request_ratio },
        { "burst_ratio", &a->burst_ratio },
        { "risk_threshold", &a->risk_threshold },
        { "risk_factor", &a->risk_factor },
    };

    for (size_t i = 0; e && i < e->n_members; i++) {
        const struct berth_value *m = &e->members[i];
        size_t k = 0;
        int r = 0;
        while (k < COUNT_OF(numbers) && !text_eq(numbers[k].name, m->key))
            k++;
        if (text_eq(m->key, "be_cpu"))
            r = read_amount(m, "cpu", &a->idle_cpu, err);
        else if (text_eq(m->key, "be_mem"))
            r = read_amount(m, "memory", &a->idle_memory, err);
        else if (k == COUNT_OF(numbers))
            r = err_set(err, -EINVAL, "/estimator/%s: no such argument", m->key);
        else if (!value_number(m, numbers[k].at))
            r = err_set(err, -EINVAL, "/estimator/%s: a number", m->key);
        if (r < 0)
            return r;
    }
    return 0;
}

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument thresholds[] = {
        { "cpu", ARG_DOUBLE, offsetof(struct arguments, most_cpu) },
        { "mem", ARG_DOUBLE, offsetof(struct arguments, most_memory) },
    };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r;

    *a = (struct arguments){ .weight = 5,
                             .cpu = 1,
                             .memory = 1,
                             .most_cpu = 80,
                             .most_memory = 80,
                             .request_ratio = 0.7,
                             .risk_threshold = 0.6,
                             .risk_factor = 1.2,
                             .idle_cpu = 250,
                             .idle_memory = 200 << 20 };
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
    if (r == 0 && arguments_read(a->thresholds, thresholds, COUNT_OF(thresholds), NULL, a, err) < 0)
        r = err_under(err, "/thresholds");
    if (r == 0 && (a->most_cpu < 0 || a->most_memory < 0))
        r = err_set(err, -EINVAL, "/thresholds/%s: a percentage, 0 or more",
                    a->most_cpu < 0 ? "cpu" : "mem");
    return r < 0 ? r : read_estimator(a, err);
}

static const struct berth_measure *measure_of(const struct session *s, const struct node *node)
{
    const struct berth_measure *m = shelf_get(&s->model->shelves[BERTH_MEASURE], node->id);

    return m && s->in.now_ms - m->measured_at_ms <= STALE_MS ? m : NULL;
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_measure *m = measure_of(s, node);

    (void)kind;
    if (!m)
        return WAIT_NONE;
    return m->cpu_percent > a->most_cpu || m->memory_percent > a->most_memory ? WAIT_NODE_BUSY
                                                                              : WAIT_NONE;
}

/* Whether the measurement knows nothing of a task: it had not begun. */
static bool came_later(const struct task *task, const struct berth_measure *m)
{
    return task->state != BERTH_TASK_RELEASING &&
           (task->state != BERTH_TASK_RUNNING || task->started_at_ms > m->measured_at_ms);
}

/* What a task will use of a dimension; it asks for all that it may use, so there is no burst. */
static int64_t estimate(const struct arguments *a, const struct task *task, uint32_t dim)
{
    if (task->group->kind->best_effort)
        return dim == DIM_CPU ? a->idle_cpu : a->idle_memory;
    return (int64_t)((double)asks_of(task_asks(task), dim) * a->request_ratio);
}

static double composite(const struct arguments *a, double cpu, double memory)
{
    return (cpu * a->cpu + memory * a->memory) / (a->cpu + a->memory);
}

/* The part of a dimension that is used, 0 to 1: as measured, and by those that came later. */
static double part(const struct session *s, const struct arguments *a, const struct node *node,
                   const struct berth_measure *m, uint32_t dim)
{
    double used = (dim == DIM_CPU ? m->cpu_percent : m->memory_percent) / 100;
    bool risky = composite(a, m->cpu_percent, m->memory_percent) / 100 >= a->risk_threshold;
    int64_t offers = s->model->columns[dim].offers[node->at];
    double later = 0;

    VEC_EACH (task, &node->tasks)
        if (came_later(*task, m))
            later += (double)estimate(a, *task, dim);
    if (offers > 0)
        used += later * (risky ? a->risk_factor : 1) / (double)offers;
    return used > 1 ? 1 : used;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_measure *m = measure_of(s, node);

    (void)kind;
    if (!m || a->cpu + a->memory <= 0)
        return 0;
    return composite(a, 1 - part(s, a, node, m, DIM_CPU), 1 - part(s, a, node, m, DIM_MEMORY)) *
           100 * a->weight;
}

/* Measurements go stale by time alone. */
static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)use, (void)kind;
    return s->model->shelves[BERTH_MEASURE].items.n == 0;
}

const struct plugin plugin_usage = {
    .name = "usage",
    .sees_lines = true,
    .configure = configure,
    .is_local = is_local,
    .predicate = predicate,
    .score = score,
};

/*
 * Usage: nodes whose measured use is above a threshold take nothing more, and of the others the
 * least used is best. A measurement older than five minutes says nothing.
 */
#include "base/str.h"
#include "engine/plugins.h"

enum { STALE_MS = 300000 };

struct arguments {
    double weight, cpu, memory;
    const struct berth_value *thresholds, *estimator;
    double most_cpu, most_memory;
};

static const struct argument known[] = {
    { "usage.weight", ARG_DOUBLE, offsetof(struct arguments, weight) },
    { "cpu.weight", ARG_DOUBLE, offsetof(struct arguments, cpu) },
    { "memory.weight", ARG_DOUBLE, offsetof(struct arguments, memory) },
    { "thresholds", ARG_OBJECT, offsetof(struct arguments, thresholds) },
    { "estimator", ARG_OBJECT, offsetof(struct arguments, estimator) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    const struct berth_value *value;
    int r;

    *a = (struct arguments){ 5, 1, 1, NULL, NULL, 80, 80 };
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
    value = berth_value_get(a->thresholds, "cpu");
    if (value)
        value_number(value, &a->most_cpu);
    value = berth_value_get(a->thresholds, "mem");
    if (value)
        value_number(value, &a->most_memory);
    return r;
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

static double part(double percent)
{
    return percent > 100 ? 1 : percent / 100;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_measure *m = measure_of(s, node);

    (void)kind;
    if (!m || a->cpu + a->memory <= 0)
        return 0;
    return ((1 - part(m->cpu_percent)) * a->cpu + (1 - part(m->memory_percent)) * a->memory) /
           (a->cpu + a->memory) * 100 * a->weight;
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

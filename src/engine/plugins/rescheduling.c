/*
 * Rescheduling: names tasks on nodes that are used too much, by measurement, so that they can go
 * to nodes that are hardly used. Action shuffle evicts them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/plugins.h"
#include "engine/victims.h"

enum use { USE_CPU, USE_MEMORY, USE_PODS, USE_COUNT };

struct levels {
    double at[USE_COUNT]; /* percent */
};

struct arguments {
    int64_t interval_ms, period_ms;
    const struct berth_value *strategies;
    struct levels low,
        high; /* below all of the first: takes more; above one of the second: gives */
};

/* A node that gives or takes. */
struct station {
    struct node *node;
    struct levels used;
};

static const char *const level_words[USE_COUNT] = { "cpu", "memory", "pods" };
static const uint32_t level_dims[USE_COUNT] = { DIM_CPU, DIM_MEMORY, DIM_PODS };

static int read_levels(const struct berth_value *value, struct levels *out, struct err *err)
{
    if (value->kind != BERTH_VALUE_OBJECT)
        return err_set(err, -EINVAL, "/%s: an object with cpu, memory and pods", value->key);
    for (size_t i = 0; i < value->n_members; i++) {
        const struct berth_value *m = &value->members[i];
        size_t at = 0;
        while (at < USE_COUNT && strcmp(level_words[at], m->key) != 0)
            at++;
        if (at == USE_COUNT || !value_number(m, &out->at[at]) || out->at[at] < 0 ||
            out->at[at] > 100)
            return err_set(err, -EINVAL, "/%s/%s: %s", value->key, m->key,
                           at == USE_COUNT ? "no such use" : "a percentage");
    }
    return 0;
}

static int read_parameters(const struct berth_value *value, struct arguments *a, struct err *err)
{
    for (size_t i = 0; value && i < value->n_members; i++) {
        const struct berth_value *m = &value->members[i];
        int r = strcmp(m->key, "thresholds") == 0 ? read_levels(m, &a->low, err)
                : strcmp(m->key, "targetThresholds") == 0
                    ? read_levels(m, &a->high, err)
                    : err_set(err, -EINVAL, "/%s: no such parameter", m->key);
        if (r < 0)
            return err_under(err, "/params");
    }
    return 0;
}

static int read_strategies(const struct berth_value *list, struct arguments *a, struct err *err)
{
    if (list && list->kind != BERTH_VALUE_LIST)
        return err_set(err, -EINVAL, "/strategies: a list");
    for (size_t i = 0; list && i < list->n_members; i++) {
        const struct berth_value *name = berth_value_get(&list->members[i], "name");
        int r;
        if (!name || name->kind != BERTH_VALUE_TEXT || !text_eq(name->text, "lowNodeUtilization"))
            return err_set(err, -EINVAL, "/strategies/%zu/name: lowNodeUtilization is known", i);
        r = read_parameters(berth_value_get(&list->members[i], "params"), a, err);
        if (r < 0) {
            struct err step = { 0 };
            err_set(&step, r, "/strategies/%zu", i);
            return err_under(err, step.text);
        }
    }
    return 0;
}

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument known[] = {
        { "interval", ARG_DURATION, offsetof(struct arguments, interval_ms) },
        { "metricsPeriod", ARG_DURATION, offsetof(struct arguments, period_ms) },
        { "strategies", ARG_ANY, offsetof(struct arguments, strategies) },
    };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r;

    *a = (struct arguments){ 300000, 300000, NULL, { { 100, 100, 100 } }, { { 100, 100, 100 } } };
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
    return r < 0 ? r : read_strategies(a->strategies, a, err);
}

/* --- Nodes */

static double offers_of(const struct session *s, const struct node *node, size_t use)
{
    int64_t offers = s->model->columns[level_dims[use]].offers[node->at];

    return offers >= UNLIMITED ? 0 : (double)offers;
}

static bool use_of(struct session *s, const struct arguments *a, const struct node *node,
                   struct levels *out)
{
    const struct berth_measure *m = shelf_get(&s->model->shelves[BERTH_MEASURE], node->id);
    double slots = offers_of(s, node, USE_PODS) / POD_MILLI;

    if (!m || s->in.now_ms - m->measured_at_ms > a->period_ms)
        return false;
    out->at[USE_CPU] = m->cpu_percent;
    out->at[USE_MEMORY] = m->memory_percent;
    out->at[USE_PODS] = slots > 0 ? (double)node->tasks.n / slots * 100 : 0;
    return true;
}

static bool is_above(const struct levels *used, const struct levels *most)
{
    for (size_t i = 0; i < USE_COUNT; i++)
        if (used->at[i] > most->at[i])
            return true;
    return false;
}

static bool is_below(const struct levels *used, const struct levels *least)
{
    for (size_t i = 0; i < USE_COUNT; i++)
        if (used->at[i] >= least->at[i])
            return false;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct station *x = a, *y = b;
    double u = x->used.at[USE_CPU] + x->used.at[USE_MEMORY];
    double v = y->used.at[USE_CPU] + y->used.at[USE_MEMORY];

    if (u != v)
        return u > v ? -1 : 1;
    return (x->node->name_at > y->node->name_at) - (x->node->name_at < y->node->name_at);
}

/* The nodes that give, the most used first; how much those that take can take. */
static struct station *list_sources(struct session *s, const struct arguments *a, size_t *n,
                                    double room[USE_COUNT])
{
    struct station *sources = ARENA_NEW0_N(&s->arena, struct station, s->model->nodes.n + 1);
    bool any = false;

    *n = 0;
    NODE_EACH (node, s->model) {
        struct levels used;
        if (!use_of(s, a, node, &used))
            continue;
        if (is_below(&used, &a->low) && node_takes_work(node->kept->state) &&
            !node->kept->cordoned && !node->kept->draining) {
            any = true;
            for (size_t i = 0; i < USE_COUNT; i++)
                room[i] += (a->high.at[i] - used.at[i]) / 100 * offers_of(s, node, i);
        } else if (is_above(&used, &a->high)) {
            sources[(*n)++] = (struct station){ node, used };
        }
    }
    if (!any)
        *n = 0;
    qsort(sources, *n, sizeof(*sources), by_use);
    return sources;
}

/* --- Tasks */

static int by_worth(const void *a, const void *b)
{
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
    int p = x->group->job->priority, q = y->group->job->priority;

    if (p != q)
        return p < q ? -1 : 1;
    if (x->group->kind->best_effort != y->group->kind->best_effort)
        return x->group->kind->best_effort ? -1 : 1;
    p = job_rank_cmp(x->group->job, y->group->job);
    if (p)
        return p;
    return x->group->at != y->group->at ? (x->group->at < y->group->at ? -1 : 1)
                                        : (x->index > y->index) - (x->index < y->index);
}

static bool has_room(const struct task *task, const double room[USE_COUNT])
{
    for (size_t i = 0; i < USE_COUNT; i++)
        if ((double)asks_of(task_asks(task), level_dims[i]) > room[i])
            return false;
    return true;
}

static void relieve(struct session *s, const struct arguments *a, struct station *source,
                    double room[USE_COUNT], struct victims *to)
{
    struct victims list = node_tasks(s, source->node);

    qsort(list.at, list.n, sizeof(*list.at), by_worth);
    for (size_t i = 0; i < list.n && is_above(&source->used, &a->high); i++) {
        struct task *task = list.at[i];
        if (task->state != BERTH_TASK_RUNNING || !task_is_preemptable(task) ||
            !has_room(task, room))
            continue;
        for (size_t k = 0; k < USE_COUNT; k++) {
            double ask = (double)asks_of(task_asks(task), level_dims[k]);
            double offers = offers_of(s, source->node, k);
            room[k] -= ask;
            if (offers > 0)
                source->used.at[k] -= ask / offers * 100;
        }
        to->at[to->n++] = task;
    }
}

/* The instant of the last evictions; -1 if there were none. */
static int64_t last_time(const struct session *s)
{
    const struct berth_memo *memo = shelf_get(&s->model->shelves[BERTH_MEMO], "rescheduling");
    int64_t at = -1;

    if (memo && memo->size == sizeof(at))
        memcpy(&at, memo->data, sizeof(at));
    return at;
}

static void find_victims(struct session *s, struct plugin_use *use, struct victims *to)
{
    const struct arguments *a = use->config;
    int64_t last = last_time(s), now = s->in.now_ms;
    size_t before = to->n, n;
    double room[USE_COUNT] = { 0 };
    struct station *sources;

    if (last >= 0 && now - last < a->interval_ms) {
        session_wake_at(s, last + a->interval_ms);
        return;
    }
    sources = list_sources(s, a, &n, room);
    for (size_t i = 0; i < n; i++)
        relieve(s, a, &sources[i], room, to);
    if (to->n > before)
        answer_memo(s, "rescheduling", &now, sizeof(now));
}

const struct plugin plugin_rescheduling = {
    .name = "rescheduling",
    .configure = configure,
    .victims = find_victims,
};

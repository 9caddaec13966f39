/*
 * Comparing: see compare.h. Each difference is one line: what was asked of what, what was
 * expected, what came. The types of what is expected were checked on reading.
 */
#include "scenario/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "berth/engine.h"

static const double SCORE_SLACK = 0.1;

static const json_t *expected(const struct run *run, const char *key)
{
    return json_object_get(run->s->expect, key);
}

static const char *or_none(const char *text)
{
    return text ? text : "nothing";
}

static enum wait_code code_of(const char *text)
{
    CLEANUP(freep) char *word = text_copy(text);
    int code;

    for (char *c = word; *c; c++)
        *c = *c == ' ' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    code = wait_code_find(word);
    return code < 0 ? WAIT_NONE : (enum wait_code)code;
}

#define EACH_TASK(task, run)                                                                       \
    VEC_EACH (job_of_##task, &(run)->s->jobs)                                                      \
        for (struct known_task *task = (*job_of_##task)->tasks;                                    \
             task < (*job_of_##task)->tasks + (*job_of_##task)->job.n_groups; task++)

/* A map of task to node that must be met exactly. */
static void compare_places(struct run *run, const char *what, size_t offset, struct str *faults)
{
    const json_t *object = expected(run, what);

    if (!object)
        return;
    EACH_TASK(task, run)
    {
        const char *came = *(const char *const *)((const char *)task + offset);
        const char *wanted = json_string_value(json_object_get(object, task->key));
        if (!text_eq(came, wanted))
            str_addf(faults, "%s: %s: expected %s, came %s\n", what, task->key, or_none(wanted),
                     or_none(came));
    }
}

static bool list_has(const json_t *list, const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item) if (strcmp(json_string_value(item), text) == 0) return true;
    return false;
}

static void compare_any_of(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "bindAnyOf"), *nodes;
    const char *key;

    json_object_foreach((json_t *)object, key, nodes)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        CLEANUP(freep) char *all = json_dumps(nodes, JSON_COMPACT);
        if (!task->bound || !list_has(nodes, task->bound))
            str_addf(faults, "bindAnyOf: %s: expected one of %s, came %s\n", key, all,
                     or_none(task->bound));
    }
}

static void compare_number(const char *what, const char *of, const json_t *wanted, size_t came,
                           struct str *faults)
{
    if (wanted && (size_t)json_integer_value(wanted) != came)
        str_addf(faults, "%s%s%s: expected %lld, came %zu\n", what, of ? ": " : "", of ? of : "",
                 (long long)json_integer_value(wanted), came);
}

static void compare_not_bound(struct run *run, struct str *faults)
{
    const json_t *list = expected(run, "notBound"), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, json_string_value(item));
        if (task->bound)
            str_addf(faults, "notBound: %s: expected nothing, came %s\n", task->key, task->bound);
    }
}

static void compare_evicted(struct run *run, struct str *faults)
{
    const json_t *list = expected(run, "evict");

    if (!list)
        return;
    EACH_TASK(task, run)
    {
        bool wanted = list_has(list, task->key);
        if (wanted != task->is_evicted)
            str_addf(faults, "evict: %s: expected %s, came %s\n", task->key,
                     wanted ? "evicted" : "left alone",
                     task->is_evicted ? "evicted" : "left alone");
    }
}

static void compare_job_counts(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "jobBindCount"), *wanted;
    const char *id;

    json_object_foreach((json_t *)object, id, wanted)
    {
        const struct known_job *job = map_get(&run->s->job_by_id, id);
        size_t n = 0;
        for (size_t i = 0; i < job->job.n_groups; i++)
            n += job->tasks[i].bound != NULL;
        compare_number("jobBindCount", id, wanted, n, faults);
    }
}

static bool words_have(const struct berth_words *words, const char *text)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->at[i], text) == 0)
            return true;
    return false;
}

static int cmp_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* The lowest domain that lists a node itself; its place, or n. */
static size_t domain_of(const struct run *run, const char *node)
{
    size_t found = run->s->domains.n;

    for (size_t i = 0; i < run->s->domains.n; i++) {
        const struct berth_domain *domain = run->s->domains.at[i];
        if (words_have(&domain->nodes, node) &&
            (found == run->s->domains.n || domain->tier < run->s->domains.at[found]->tier))
            found = i;
    }
    return found;
}

static void compare_domains(struct run *run, struct str *faults)
{
    const json_t *list = expected(run, "bindCountByHyperNode");
    CLEANUP(freep) size_t *counts = NEW0_N(size_t, run->s->domains.n + 1);
    CLEANUP(str_fini) struct str came = { 0 };
    CLEANUP(freep) char *wanted = NULL;
    bool same = true;
    size_t n = 0;

    if (!list)
        return;
    EACH_TASK(task, run)
    if (task->bound)
        counts[domain_of(run, task->bound)]++;
    qsort(counts, run->s->domains.n, sizeof(*counts), cmp_size);
    for (size_t i = 0; i < run->s->domains.n; i++) {
        if (!counts[i])
            continue;
        same = same && (size_t)json_integer_value(json_array_get(list, n)) == counts[i];
        str_addf(&came, "%s%zu", n++ ? "," : "", counts[i]);
    }
    wanted = json_dumps(list, JSON_COMPACT);
    if (!same || n != json_array_size(list))
        str_addf(faults, "bindCountByHyperNode: expected %s, came [%s]\n", wanted, str_text(&came));
}

static int compare_phases(struct run *run, struct str *faults, struct err *err)
{
    const json_t *object = expected(run, "jobPhase"), *wanted;
    const char *id;

    json_object_foreach((json_t *)object, id, wanted)
    {
        enum berth_phase phase = BERTH_PHASE_PENDING;
        int r = berth_engine_job_phase(run->engine, &run->in, id, &phase, err);
        if (r < 0)
            return r;
        if (!text_eq(berth_phase_words[phase], json_string_value(wanted)))
            str_addf(faults, "jobPhase: %s: expected %s, came %s\n", id, json_string_value(wanted),
                     berth_phase_words[phase]);
    }
    return 0;
}

static const char *code_word(enum wait_code code)
{
    return code ? wait_codes[code].word : "nothing";
}

/* Whether a task carries a code: as the reason, or of some nodes. */
static bool carries(const struct known_task *task, enum wait_code code)
{
    if (task->failed == code)
        return true;
    if (!task->reason)
        return false;
    if (task->reason->code == code)
        return true;
    for (size_t i = 0; i < task->reason->n_counts; i++)
        if (task->reason->counts[i].code == code && task->reason->counts[i].n)
            return true;
    return false;
}

/* All that a task carries, as text. */
static void add_reason(const struct known_task *task, struct str *out)
{
    const struct berth_reason *reason = task->reason;

    str_add(out, code_word(reason ? reason->code : task->failed));
    for (size_t i = 0; reason && i < reason->n_counts; i++)
        str_addf(out, "%s%s %u", i ? ", " : " (", code_word(reason->counts[i].code),
                 reason->counts[i].n);
    if (reason && reason->n_counts)
        str_add_char(out, ')');
}

static void compare_reasons(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "reasons"), *codes, *code;
    const char *key;
    size_t i;

    json_object_foreach((json_t *)object, key, codes)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        json_array_foreach(codes, i, code)
        {
            CLEANUP(str_fini) struct str came = { 0 };
            add_reason(task, &came);
            if (!carries(task, code_of(json_string_value(code))))
                str_addf(faults, "reasons: %s: expected %s, came %s\n", key,
                         code_word(code_of(json_string_value(code))), str_text(&came));
        }
    }
}

static size_t count_of(const struct known_task *task, enum wait_code code)
{
    size_t n = 0;

    for (size_t i = 0; task->reason && i < task->reason->n_counts; i++)
        if (task->reason->counts[i].code == code)
            n += task->reason->counts[i].n;
    return n;
}

static void compare_node_reasons(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "nodeReasons"), *counts, *wanted;
    const char *key, *code;

    json_object_foreach((json_t *)object, key, counts)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        size_t n_wanted = 0, n_came = 0;
        json_object_foreach((json_t *)counts, code, wanted)
        {
            CLEANUP(freep) char *of = text_format("%s: %s", key, code);
            compare_number("nodeReasons", of, wanted, count_of(task, code_of(code)), faults);
            n_wanted += (size_t)json_integer_value(wanted);
        }
        for (size_t i = 0; task->reason && i < task->reason->n_counts; i++)
            n_came += task->reason->counts[i].n;
        if (n_came != n_wanted)
            str_addf(faults, "nodeReasons: %s: expected %zu nodes in all, came %zu\n", key,
                     n_wanted, n_came);
    }
}

/* "CODE", or {code, resource}. */
static enum wait_code code_meant(const json_t *wanted)
{
    const json_t *code = json_is_object(wanted) ? json_object_get(wanted, "code") : wanted;

    return wanted ? code_of(json_string_value(code)) : WAIT_NONE;
}

/* The resource that matters, where one is named. */
static void compare_resource(const char *what, const struct known_task *task, const json_t *wanted,
                             const char *came, struct str *faults)
{
    const char *resource = json_string_value(json_object_get(wanted, "resource"));

    if (resource && !text_eq(resource, came))
        str_addf(faults, "%s: %s: expected %s, came %s\n", what, task->key, resource,
                 or_none(came));
}

static void compare_waits(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "waits"), *wanted;
    const char *key;

    json_object_foreach((json_t *)object, key, wanted)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        enum wait_code code = code_meant(wanted);
        bool waits = task->state.state == BERTH_TASK_PENDING && task->reason;
        if (waits && task->reason->code == code)
            compare_resource("waits", task, wanted, task->reason->resource, faults);
        else
            str_addf(faults, "waits: %s: expected %s, came %s\n", key, code_word(code),
                     waits         ? code_word(task->reason->code)
                     : task->bound ? task->bound
                                   : code_word(task->failed));
    }
}

static void compare_fails(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "fails");

    if (!object)
        return;
    EACH_TASK(task, run)
    {
        const json_t *wanted = json_object_get(object, task->key);
        enum wait_code code = code_meant(wanted);
        if (code == task->failed)
            compare_resource("fails", task, wanted, task->failed_resource, faults);
        else
            str_addf(faults, "fails: %s: expected %s, came %s\n", task->key, code_word(code),
                     code_word(task->failed));
    }
}

static int64_t amount_of(const struct berth_amounts *amounts, const char *name)
{
    for (size_t i = 0; i < amounts->n; i++)
        if (strcmp(amounts->at[i].name, name) == 0)
            return amounts->at[i].value;
    return strstr(name, ".com/gpu") ? amount_of(amounts, "gpu") : 0;
}

/* The amount that a checked document means. */
static int64_t amount_meant(const json_t *value, const char *name)
{
    struct problem unused = { 0 };
    struct json_at at = json_at_top(value, &unused);
    int64_t amount = 0;

    return json_quantity(&at, share_unit_of(name), &amount) ? amount : -1;
}

/* Whether a machine has just what is listed. */
static bool shape_is(const struct berth_amounts *shape, const json_t *object)
{
    const char *name;
    const json_t *value;

    json_object_foreach((json_t *)object, name, value) if (amount_of(shape, name) !=
                                                           amount_meant(value, name)) return false;
    for (size_t i = 0; i < shape->n; i++)
        if (shape->at[i].value && !json_object_get(object, shape->at[i].name))
            return false;
    return true;
}

static void add_shapes(const struct run *run, const char *pool, struct str *out)
{
    const char *before = "";

    VEC_EACH (order, &run->orders) {
        if (strcmp(order->pool, pool) != 0)
            continue;
        str_addf(out, "%s{", before);
        for (size_t i = 0; i < order->shape.n; i++) {
            str_addf(out, "%s%s: ", i ? ", " : "", order->shape.at[i].name);
            quantity_format(order->shape.at[i].value, quantity_unit_of(order->shape.at[i].name),
                            out);
        }
        str_add_char(out, '}');
        before = ", ";
    }
}

/* The listed machines against those of the pool that were ordered, in any order. */
static bool machines_are(const struct run *run, const char *pool, const json_t *list)
{
    CLEANUP(freep) bool *used = NEW0_N(bool, run->orders.n + 1);
    const json_t *wanted;
    size_t i, n = 0, n_found = 0;

    VEC_EACH (order, &run->orders)
        n += strcmp(order->pool, pool) == 0;
    json_array_foreach(list, i, wanted)
    {
        size_t at = 0;
        while (at < run->orders.n && (used[at] || strcmp(run->orders.at[at].pool, pool) != 0 ||
                                      !shape_is(&run->orders.at[at].shape, wanted)))
            at++;
        if (at < run->orders.n) {
            used[at] = true;
            n_found++;
        }
    }
    return n == json_array_size(list) && n_found == n;
}

static void compare_pool(struct run *run, const char *pool, const json_t *wanted,
                         struct str *faults)
{
    CLEANUP(str_fini) struct str came = { 0 };
    CLEANUP(freep) char *text = wanted ? json_dumps(wanted, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_int_t n = 0;

    VEC_EACH (order, &run->orders)
        n += strcmp(order->pool, pool) == 0;
    if (json_is_array(wanted) ? machines_are(run, pool, wanted) : n == json_integer_value(wanted))
        return;
    add_shapes(run, pool, &came);
    str_addf(faults, "provision: %s: expected %s, came %lld: %s\n", pool, text ? text : "0",
             (long long)n, str_text(&came));
}

static int cmp_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void compare_provision(struct run *run, struct str *faults)
{
    const json_t *object = expected(run, "provision");
    CLEANUP(freep) const char **names = NEW0_N(const char *, run->s->pool_by_name.n + 1);
    size_t n = 0;

    if (!object)
        return;
    MAP_EACH (entry, &run->s->pool_by_name)
        names[n++] = entry->key;
    qsort(names, n, sizeof(*names), cmp_text);
    for (size_t i = 0; i < n; i++)
        compare_pool(run, names[i], json_object_get(object, names[i]), faults);
}

static int compare_queue_jobs(struct run *run, struct str *faults, struct err *err)
{
    const json_t *object = expected(run, "queueJobs"), *counts;
    CLEANUP(arena_fini) struct arena arena = { 0 };
    const char *name;

    json_object_foreach((json_t *)object, name, counts)
    {
        struct berth_queue_view view = { 0 };
        int r = berth_engine_queue(run->engine, &run->in, name, &arena, &view, err);
        if (r < 0)
            return r;
        compare_number("queueJobs pending", name, json_object_get(counts, "pending"),
                       view.n_pending, faults);
        compare_number("queueJobs running", name, json_object_get(counts, "running"),
                       view.n_running, faults);
        compare_number("queueJobs ended", name, json_object_get(counts, "ended"), view.n_ended,
                       faults);
    }
    return 0;
}

int compare_after(struct run *run, struct str *faults, struct err *err)
{
    const char *digest = json_string_value(expected(run, "digest"));
    int r;

    compare_places(run, "bind", offsetof(struct known_task, bound), faults);
    compare_any_of(run, faults);
    compare_number("bindCount", NULL, expected(run, "bindCount"), run->n_bound, faults);
    compare_not_bound(run, faults);
    compare_evicted(run, faults);
    compare_number("evictCount", NULL, expected(run, "evictCount"), run->n_evicted, faults);
    compare_places(run, "pipelined", offsetof(struct known_task, pipelined), faults);
    compare_places(run, "reserve", offsetof(struct known_task, reserved), faults);
    compare_job_counts(run, faults);
    compare_domains(run, faults);
    compare_reasons(run, faults);
    compare_messages(run, faults);
    compare_node_reasons(run, faults);
    compare_waits(run, faults);
    compare_fails(run, faults);
    compare_provision(run, faults);
    if (digest && !text_eq(digest, run->last.digest))
        str_addf(faults, "digest: expected %s, came %s\n", digest, run->last.digest);
    r = compare_phases(run, faults, err);
    if (r == 0)
        r = compare_queue_jobs(run, faults, err);
    return r < 0 ? r : compare_devices(run, faults, err);
}

static int compare_feasible(struct run *run, struct str *faults, struct err *err)
{
    const json_t *object = expected(run, "feasible"), *nodes, *wanted;
    const char *key, *node;

    json_object_foreach((json_t *)object, key, nodes)
    {
        const struct known_task *task = map_get(&run->s->task_by_key, key);
        json_object_foreach((json_t *)nodes, node, wanted)
        {
            bool came = false;
            int r = berth_engine_feasible(run->engine, &run->in, &task->ref, node, &came, err);
            if (r < 0)
                return r;
            if (came != json_is_true(wanted))
                str_addf(faults, "feasible: %s on %s: expected %s, came %s\n", key, node,
                         json_is_true(wanted) ? "yes" : "no", came ? "yes" : "no");
        }
    }
    return 0;
}

static int compare_scores_of(struct run *run, const struct known_task *task, const json_t *nodes,
                             struct str *faults, struct err *err)
{
    size_t n = json_object_size(nodes), i = 0;
    CLEANUP(freep) const char **names = NEW0_N(const char *, n + 1);
    CLEANUP(freep) double *scores = NEW0_N(double, n + 1);
    struct berth_words words = { names, n };
    const char *node;
    json_t *wanted;
    int r;

    json_object_foreach((json_t *)nodes, node, wanted) names[i++] = node;
    r = berth_engine_node_scores(run->engine, &run->in, &task->ref, &words, scores, err);
    for (i = 0; r == 0 && i < n; i++) {
        double meant = json_number_value(json_object_get(nodes, names[i]));
        if (!(fabs(scores[i] - meant) <= SCORE_SLACK))
            str_addf(faults, "nodeScores: %s on %s: expected %g, came %g\n", task->key, names[i],
                     meant, scores[i]);
    }
    return r;
}

static int compare_scores(struct run *run, struct str *faults, struct err *err)
{
    const json_t *object = expected(run, "nodeScores"), *nodes;
    const char *key;

    json_object_foreach((json_t *)object, key, nodes)
    {
        int r = compare_scores_of(run, map_get(&run->s->task_by_key, key), nodes, faults, err);
        if (r < 0)
            return r;
    }
    return 0;
}

struct amounts_row {
    const char *what, *queue;
    const struct berth_amounts *came;
};

static void compare_amounts(const struct amounts_row *row, const json_t *object, struct str *faults)
{
    const char *name;
    const json_t *wanted;

    json_object_foreach((json_t *)object, name, wanted)
    {
        int64_t meant = amount_meant(wanted, name), value = amount_of(row->came, name);
        CLEANUP(str_fini) struct str a = { 0 }, b = { 0 };
        if (meant == value)
            continue;
        quantity_format(meant, quantity_unit_of(name), &a);
        quantity_format(value, quantity_unit_of(name), &b);
        str_addf(faults, "%s: %s: %s: expected %s, came %s\n", row->what, row->queue, name,
                 str_text(&a), str_text(&b));
    }
}

/* One amount of the queues' arithmetic. */
static int compare_queues(struct run *run, const char *what, size_t at, struct str *faults,
                          struct err *err)
{
    const json_t *object = expected(run, what), *amounts;
    CLEANUP(arena_fini) struct arena arena = { 0 };
    const char *name;

    json_object_foreach((json_t *)object, name, amounts)
    {
        struct berth_queue_view view = { 0 };
        struct amounts_row row = { what, name, (const void *)((const char *)&view + at) };
        int r = berth_engine_queue(run->engine, &run->in, name, &arena, &view, err);
        if (r < 0)
            return r;
        compare_amounts(&row, amounts, faults);
    }
    return 0;
}

int compare_before(struct run *run, struct str *faults, struct err *err)
{
    static const struct {
        const char *what;
        size_t at;
    } shares[] = { { "deserved", offsetof(struct berth_queue_view, deserved) },
                   { "fairShare", offsetof(struct berth_queue_view, fair_share) },
                   { "demand", offsetof(struct berth_queue_view, demand) } };
    int r = compare_feasible(run, faults, err);

    if (r == 0)
        r = compare_scores(run, faults, err);
    for (size_t i = 0; r >= 0 && i < COUNT_OF(shares); i++)
        r = compare_queues(run, shares[i].what, shares[i].at, faults, err);
    return r;
}

/*
 * The engine: see berth/engine.h. Deltas in, cycles, suppositions, the export.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "berth/engine.h"
#include "engine/devices.h"
#include "engine/engine.h"
#include "engine/lines.h"
#include "engine/outside.h"
#include "engine/shape.h"

const char *const berth_kind_words[BERTH_KIND_COUNT] = {
    [BERTH_CONFIG] = "config",
    [BERTH_QUEUE] = "queue",
    [BERTH_NODE] = "node",
    [BERTH_DEVICE] = "device",
    [BERTH_JOB] = "job",
    [BERTH_TASK] = "task",
    [BERTH_RESERVATION] = "reservation",
    [BERTH_ORDER] = "order",
    [BERTH_DOMAIN] = "domain",
    [BERTH_QUOTA] = "quota",
    [BERTH_CLAIM] = "claim",
    [BERTH_PRIORITY_CLASS] = "priority-class",
    [BERTH_POOL] = "pool",
    [BERTH_CHAIN] = "chain",
    [BERTH_MEASURE] = "measure",
    [BERTH_MEMO] = "memo",
};

/* What an object was before it was supposed to be something else. */
struct before {
    enum berth_kind kind;
    void *kept; /* its value then, or its key if it was not there */
    bool is_end;
    bool is_mark; /* where a supposition begins */
};

struct berth_engine {
    struct model model;
    struct outsiders others;
    struct setup *setup;
    VEC_OF(struct before) before;
};

struct berth_engine *berth_engine_new(struct err *err)
{
    struct berth_engine *engine = NEW0(struct berth_engine);

    model_init(&engine->model);
    if (setup_new(NULL, &engine->others, &engine->setup, err) < 0) {
        berth_engine_free(engine);
        return NULL;
    }
    return engine;
}

void berth_engine_free(struct berth_engine *engine)
{
    if (!engine)
        return;
    VEC_EACH (before, &engine->before)
        free(before->kept);
    VEC_FINI(&engine->before);
    model_fini(&engine->model);
    setup_free(engine->setup);
    outsiders_fini(&engine->others);
    free(engine);
}

struct model *engine_model(struct berth_engine *engine)
{
    return &engine->model;
}

const struct setup *engine_setup(const struct berth_engine *engine)
{
    return engine->setup;
}

int berth_engine_add_plugin(struct berth_engine *engine, const struct berth_plugin_file *file,
                            struct err *err)
{
    return outsiders_add(&engine->others, file, err);
}

/* --- In */

/* What a profile makes of amounts changed: every task has to be counted anew. */
static void recount(struct berth_engine *engine, const struct setup *setup)
{
    struct model *model = &engine->model;
    int64_t memory_milli = setup->policy.memory_milli ? setup->policy.memory_milli : 1000;
    VEC_OF(struct berth_job *) jobs = { 0 };

    if (model->memory_milli == memory_milli && model->gpu_implied == setup->is_beam)
        return;
    model->memory_milli = memory_milli;
    model->gpu_implied = setup->is_beam;
    JOB_EACH (job, model)
        VEC_PUSH(&jobs, shape_copy(shape_of[BERTH_JOB], job->kept));
    VEC_EACH (job, &jobs)
        job_put(model, (*job)->id, NULL);
    VEC_EACH (job, &jobs)
        job_put(model, (*job)->id, *job);
    VEC_FINI(&jobs);
}

static int apply_config(struct berth_engine *engine, const struct berth_config *config,
                        struct err *err)
{
    struct setup *setup = NULL;
    int r = setup_new(config, &engine->others, &setup, err);

    if (r < 0)
        return err_wrap(err, "config");
    setup_free(engine->setup);
    engine->setup = setup;
    recount(engine, setup);
    model_turn(&engine->model);
    return 0;
}

static void apply_shelved(struct model *model, enum berth_kind kind, const void *object, bool end)
{
    CLEANUP(str_fini) struct str key = { 0 };
    void *kept = end ? NULL : shape_copy(shape_of[kind], object);

    shelf_key(kind, object, &key);
    if (kind == BERTH_DEVICE) {
        device_put(model, str_text(&key), object, kept);
        return;
    }
    shelf_put(&model->shelves[kind], str_text(&key), kept);
    if (kind == BERTH_PRIORITY_CLASS)
        jobs_rank(model);
    if (kind == BERTH_MEASURE) {
        struct node *node = node_find(model, ((const struct berth_measure *)object)->node);
        if (node)
            node_touch(model, node);
    } else if (kind != BERTH_MEMO) {
        model_turn(model);
    }
}

static int check_job(const struct berth_job *job, struct err *err)
{
    for (size_t i = 0; i < job->n_groups; i++) {
        const struct berth_task_group *group = &job->groups[i];
        if (!group->name)
            return err_set(err, -EINVAL, "job %s: a group has no name", job->id);
        if (group->replicas > 1000000)
            return err_set(err, -ERANGE, "job %s: group %s has %u replicas, more than 1000000",
                           job->id, group->name, group->replicas);
        for (size_t k = 0; k < i; k++)
            if (strcmp(job->groups[k].name, group->name) == 0)
                return err_set(err, -EINVAL, "job %s: two groups are named %s", job->id,
                               group->name);
    }
    return 0;
}

static int check_delta(const struct berth_delta *delta, struct err *err)
{
    int r;

    if ((unsigned)delta->kind >= BERTH_KIND_COUNT)
        return err_set(err, -EINVAL, "kind %d: no such kind", (int)delta->kind);
    if (!delta->any && !(delta->kind == BERTH_CONFIG && delta->end))
        return err_set(err, -EINVAL, "%s: no object", berth_kind_words[delta->kind]);
    if (delta->kind == BERTH_CONFIG)
        return 0;
    r = shape_check(shape_of[delta->kind], delta->any, err);
    if (r == 0 && delta->kind == BERTH_JOB && !delta->end)
        r = check_job(delta->job, err);
    if (r == 0 && delta->kind == BERTH_TASK &&
        (unsigned)delta->task->state >= BERTH_TASK_STATE_COUNT)
        r = err_set(err, -EINVAL, "task: no state %d", (int)delta->task->state);
    return r;
}

static int apply_one(struct berth_engine *engine, const struct berth_delta *delta, struct err *err)
{
    struct model *model = &engine->model;
    bool end = delta->end;
    int r = check_delta(delta, err);

    if (r < 0)
        return r;
    switch (delta->kind) {
    case BERTH_CONFIG:
        return apply_config(engine, end ? NULL : delta->config, err);
    case BERTH_QUEUE:
        queue_put(model, delta->queue->name,
                  end ? NULL : shape_copy(shape_of[BERTH_QUEUE], delta->queue));
        break;
    case BERTH_NODE:
        node_put(model, delta->node->id,
                 end ? NULL : shape_copy(shape_of[BERTH_NODE], delta->node));
        break;
    case BERTH_JOB:
        job_put(model, delta->job->id, end ? NULL : shape_copy(shape_of[BERTH_JOB], delta->job));
        break;
    case BERTH_TASK:
        if (end)
            task_end(model, delta->task);
        else
            task_put(model, delta->task);
        break;
    case BERTH_DEVICE:
    case BERTH_RESERVATION:
    case BERTH_ORDER:
    case BERTH_DOMAIN:
    case BERTH_QUOTA:
    case BERTH_CLAIM:
    case BERTH_PRIORITY_CLASS:
    case BERTH_POOL:
    case BERTH_CHAIN:
    case BERTH_MEASURE:
    case BERTH_MEMO:
        apply_shelved(model, delta->kind, delta->any, end);
        break;
    case BERTH_KIND_COUNT:
        break;
    }
    return 0;
}

int berth_engine_apply(struct berth_engine *engine, const struct berth_delta *deltas, size_t n,
                       struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int r = apply_one(engine, &deltas[i], err);
        if (r < 0)
            return err_wrap(err, "delta %zu", i);
    }
    return 0;
}

/* --- The cycle */

static void say_admitted(struct session *s)
{
    VEC_EACH (each, &s->watched) {
        const struct job *job = *each;
        const struct seat *seat = job->seat;
        if (job->seated == s->number && seat->was_admitted && !seat->was_bound &&
            !s->setup->is_reference)
            answer_admit(s, job);
    }
}

static void say_cursor(struct session *s)
{
    unsigned char bytes[sizeof(s->cursor)];

    if (!s->cursor_changed)
        return;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(s->cursor >> (8 * i));
    answer_memo(s, "cursor", bytes, sizeof(bytes));
}

static void tell_close(struct session *s)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_CLOSE];

    for (size_t i = 0; i < hooked->n; i++)
        hooked->at[i]->plugin->close(s, hooked->at[i]);
}

static void finish(struct session *s, struct berth_decisions *out)
{
    s->action = "close";
    lines_part_placed(s);
    lines_sort(s);
    say_admitted(s);
    say_cursor(s);
    tell_close(s);
    answer_gangs(s);
    answer_verdicts(s, out);
    if (s->groups.n)
        out->groups = arena_copy(s->out, s->groups.at, s->groups.n * sizeof(*s->groups.at));
    out->n_groups = s->groups.n;
    out->wake_at_ms = s->wake_at_ms;
    out->limited = s->limited;
    out->counts.jobs = s->model->n_jobs;
    out->counts.tasks_placed = s->n_placed;
    out->counts.tasks_evicted = s->n_evicted;
    out->counts.tasks_reserved = s->n_reserved;
    out->counts.rooms_taken = s->n_taken;
    out->counts.steps = s->n_steps;
    if (!s->in.skip_digest)
        answer_digest(s, out);
}

struct session *engine_run(struct berth_engine *engine, const struct berth_cycle_in *in,
                           struct berth_decisions *out)
{
    const struct setup *setup = engine->setup;
    struct session *s;

    *out = (struct berth_decisions){ 0 };
    out->arena = NEW0(struct arena);
    s = session_open(&engine->model, setup, in, out->arena);
    lines_open(s);
    for (size_t i = 0; i < setup->n_actions; i++) {
        s->action = setup->actions[i]->name;
        setup->actions[i]->run(s, setup->action_arguments[i]);
    }
    finish(s, out);
    return s;
}

int berth_engine_cycle(struct berth_engine *engine, const struct berth_cycle_in *in,
                       struct berth_decisions *out, struct err *err)
{
    (void)err;
    session_close(engine_run(engine, in, out));
    return 0;
}

void berth_decisions_free(struct berth_decisions *out)
{
    if (!out || !out->arena)
        return;
    arena_fini(out->arena);
    free(out->arena);
    *out = (struct berth_decisions){ 0 };
}

bool berth_engine_asks_admission(const struct berth_engine *engine)
{
    const struct setup *setup = engine->setup;

    if (setup->is_beam) /* who is let in counts against the quota from then on */
        return setup_has_action(setup, "provision") &&
               (setup->policy.has_default_quota || engine->model.shelves[BERTH_QUOTA].items.n > 0);
    return setup_has_action(setup, "enqueue") && setup->hooked[HOOKED_JOB_ENQUEUEABLE].n > 0;
}

static bool is_hooked(const struct setup *setup, enum hooked_what what, const char *plugin)
{
    for (size_t i = 0; i < setup->hooked[what].n; i++)
        if (text_eq(setup->hooked[what].at[i]->plugin->name, plugin))
            return true;
    return false;
}

bool berth_engine_binds_by_quotas(const struct berth_engine *engine)
{
    return !engine->setup->is_beam && is_hooked(engine->setup, HOOKED_ALLOCATABLE, "share");
}

bool berth_engine_holds_quotas(const struct berth_engine *engine)
{
    const struct setup *setup = engine->setup;

    if (setup->is_beam)
        return setup_has_action(setup, "provision");
    return berth_engine_binds_by_quotas(engine) ||
           (setup_has_action(setup, "enqueue") &&
            is_hooked(setup, HOOKED_JOB_ENQUEUEABLE, "resourcequota"));
}

int64_t berth_engine_memory_headroom(const struct berth_engine *engine)
{
    return engine->model.memory_milli;
}

bool berth_engine_starts_parts(const struct berth_engine *engine)
{
    return engine->setup->is_reference && engine->setup->hooked[HOOKED_JOB_READY].n == 0;
}

/* --- What if */

/* The value that an object has now, as a delta that would bring it back. */
static struct before value_now(struct berth_engine *engine, const struct berth_delta *delta)
{
    struct before before = { .kind = delta->kind };
    struct export_now now = { 0 };

    if (delta->kind == BERTH_CONFIG) {
        before.is_end = !engine->setup->kept;
        before.kept =
            before.is_end ? NULL : shape_copy(shape_of[BERTH_CONFIG], engine->setup->kept);
        return before;
    }
    if (export_one(&engine->model, delta->kind, delta->any, &now)) {
        before.kept = shape_copy(shape_of[delta->kind], now.object);
    } else {
        before.kept = shape_copy(shape_of[delta->kind], delta->any);
        before.is_end = true;
    }
    return before;
}

int berth_engine_suppose(struct berth_engine *engine, const struct berth_delta *deltas, size_t n,
                         struct err *err)
{
    VEC_PUSH(&engine->before, ((struct before){ .is_mark = true }));
    for (size_t i = 0; i < n; i++) {
        int r = check_delta(&deltas[i], err);
        struct before before = { 0 };
        if (r == 0) {
            before = value_now(engine, &deltas[i]);
            r = apply_one(engine, &deltas[i], err);
        }
        if (r < 0) {
            free(before.kept);
            berth_engine_forget(engine);
            return err_wrap(err, "delta %zu", i);
        }
        VEC_PUSH(&engine->before, before);
    }
    return 0;
}

void berth_engine_forget(struct berth_engine *engine)
{
    while (engine->before.n) {
        struct before before = engine->before.at[--engine->before.n];
        struct err err = { 0 };
        int r;
        if (before.is_mark)
            return;
        r = apply_one(engine,
                      &(struct berth_delta){ before.kind, before.is_end, { .any = before.kept } },
                      &err);
        assert(r == 0); /* it was so before */
        free(before.kept);
    }
}

int berth_engine_export(const struct berth_engine *engine, berth_sink_fn *sink, void *arg)
{
    if (engine->setup->kept) {
        struct berth_delta delta = { BERTH_CONFIG, false, { .config = engine->setup->kept } };
        int r = sink(&delta, arg);
        if (r < 0)
            return r;
    }
    return export_all(&((struct berth_engine *)engine)->model, sink, arg);
}

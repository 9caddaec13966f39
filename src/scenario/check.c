/* Checking: a document is run and held against what it expects. */
#include <errno.h>
#include <string.h>

#include "scenario/compare.h"
#include "scenario/run.h"
#include "scenario/scenario.h"

void scenario_result_fini(struct scenario_result *result)
{
    str_fini(&result->faults);
    json_decref(result->answer);
    result->answer = NULL;
}

static bool problem_has(const struct problem *problem, const char *pointer)
{
    for (size_t i = 0; i < problem_n_kept(problem); i++)
        if (text_eq(problem->fields[i].pointer, pointer))
            return true;
    return false;
}

/* Whether all faults are values that may be refused. */
static bool may_refuse(const struct problem *problem, const json_t *list)
{
    for (size_t i = 0; i < problem_n_kept(problem); i++) {
        const json_t *item;
        size_t at;
        bool is_listed = false;
        json_array_foreach(list, at, item) is_listed |=
            text_eq(json_string_value(item), problem->fields[i].pointer);
        if (!is_listed)
            return false;
    }
    return problem->n_fields > 0;
}

/* A line for each fault: "LINE:COLUMN: POINTER: what". */
static void add_problem(const struct problem *problem, struct str *faults)
{
    CLEANUP(str_fini) struct str text = { 0 };
    size_t i = 0;

    problem_write(problem, NULL, &text);
    for (const char *at = str_text(&text); *at; i++) {
        size_t n = strcspn(at, "\n") + 1;
        if (i < problem_n_kept(problem) && problem->fields[i].line)
            str_addf(faults, "%d:%d: ", problem->fields[i].line, problem->fields[i].column);
        str_addf(faults, "%.*s", (int)n, at);
        at += n;
    }
}

static json_t *refusal(const struct problem *problem)
{
    json_t *answer = json_object();

    json_object_set_new(answer, "refused", problem_to_json(problem, NULL));
    return answer;
}

/* A document that was refused. */
static int check_refused(struct scenario *s, struct scenario_result *out)
{
    const char *pointer = json_string_value(json_object_get(s->expect, "refused"));

    out->answer = refusal(&s->problem);
    if (pointer) {
        out->passed = problem_has(&s->problem, pointer);
        if (!out->passed) {
            str_addf(&out->faults, "refused: expected %s, came:\n", pointer);
            add_problem(&s->problem, &out->faults);
        }
        return 0;
    }
    out->passed = may_refuse(&s->problem, json_object_get(s->expect, "mayRefuse"));
    if (out->passed)
        return 0;
    add_problem(&s->problem, &out->faults);
    return -EINVAL;
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_object_set_new(object, key, json_string(text));
}

static json_t *reason_value(const struct berth_reason *reason)
{
    json_t *object = json_object(), *nodes = json_object();

    set_text(object, "code", wait_codes[reason->code].word);
    set_text(object, "resource", reason->resource);
    set_text(object, "node", reason->node);
    set_text(object, "blocker", reason->blocker);
    if (reason->resource) {
        enum quantity_unit unit = quantity_unit_of(reason->resource);
        CLEANUP(str_fini) struct str asked = { 0 }, free_text = { 0 };
        quantity_format(reason->asked, unit, &asked);
        quantity_format(reason->free, unit, &free_text);
        set_text(object, "asked", str_text(&asked));
        set_text(object, "free", str_text(&free_text));
    }
    for (size_t i = 0; i < reason->n_counts; i++) {
        const char *word = wait_codes[reason->counts[i].code].word;
        json_int_t before = json_integer_value(json_object_get(nodes, word));
        json_object_set_new(nodes, word, json_integer(before + reason->counts[i].n));
    }
    if (json_object_size(nodes))
        json_object_set_new(object, "nodes", nodes);
    else
        json_decref(nodes);
    return object;
}

/* Which devices a task holds, by index. */
static void describe_gpus(const struct known_task *task, json_t *gpus)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };
    struct berth_numbers held = gpus_held(&task->state, &arena);
    json_t *list = held.n ? json_array() : NULL;

    for (size_t i = 0; i < held.n; i++)
        json_array_append_new(list, json_integer(held.at[i]));
    if (list)
        json_object_set_new(gpus, task->key, list);
}

static void describe_task(const struct known_task *task, json_t *answer)
{
    set_text(json_object_get(answer, "bind"), task->key, task->bound);
    set_text(json_object_get(answer, "pipelined"), task->key, task->pipelined);
    set_text(json_object_get(answer, "reserve"), task->key, task->reserved);
    describe_gpus(task, json_object_get(answer, "gpus"));
    if (task->is_evicted)
        json_array_append_new(json_object_get(answer, "evict"), json_string(task->key));
    if (task->failed)
        set_text(json_object_get(answer, "fails"), task->key, wait_codes[task->failed].word);
    if (task->reason && task->state.state == BERTH_TASK_PENDING)
        json_object_set_new(json_object_get(answer, "reasons"), task->key,
                            reason_value(task->reason));
}

static void describe_orders(const struct run *run, json_t *provision)
{
    VEC_EACH (order, &run->orders) {
        json_t *list = json_object_get(provision, order->pool), *shape = json_object();
        if (!list) {
            list = json_array();
            json_object_set_new(provision, order->pool, list);
        }
        for (size_t i = 0; i < order->shape.n; i++) {
            CLEANUP(str_fini) struct str amount = { 0 };
            quantity_format(order->shape.at[i].value, quantity_unit_of(order->shape.at[i].name),
                            &amount);
            set_text(shape, order->shape.at[i].name, str_text(&amount));
        }
        json_array_append_new(list, shape);
    }
}

/* What came, in the words of `expect`. */
static json_t *describe(const struct run *run)
{
    static const char *const objects[] = { "bind",  "gpus",      "pipelined", "reserve",
                                           "fails", "provision", "reasons" };
    json_t *answer = json_object();

    for (size_t i = 0; i < COUNT_OF(objects); i++)
        json_object_set_new(answer, objects[i], json_object());
    json_object_set_new(answer, "evict", json_array());
    VEC_EACH (known, &run->s->jobs)
        for (size_t i = 0; i < (*known)->job.n_groups; i++)
            describe_task(&(*known)->tasks[i], answer);
    describe_orders(run, json_object_get(answer, "provision"));
    set_text(answer, "digest", run->last.digest);
    return answer;
}

static int run_all(struct run *run, struct scenario *s, struct str *faults, struct err *err)
{
    int r = run_begin(run, s, err);

    if (r == 0)
        r = compare_before(run, faults, err);
    for (uint32_t i = 0; r == 0 && i < s->times.cycles; i++) {
        if (i)
            r = run_step(run, err);
        if (r == 0)
            r = run_cycle(run, err);
    }
    return r < 0 ? r : compare_after(run, faults, err);
}

int scenario_check(struct scenario *s, struct scenario_result *out)
{
    const char *refused = json_string_value(json_object_get(s->expect, "refused"));
    struct err err = { 0 };
    struct run run;

    if (s->problem.code)
        return check_refused(s, out);
    if (run_all(&run, s, &out->faults, &err) < 0)
        str_addf(&out->faults, "the engine: %s\n", err.text);
    if (refused)
        str_addf(&out->faults, "refused: expected %s, came nothing\n", refused);
    out->answer = describe(&run);
    out->passed = !out->faults.len;
    run_end(&run);
    return 0;
}

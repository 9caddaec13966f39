/*
 * Jobs, many at once: each is judged by itself and has an answer of its own; all that are accepted
 * become one transaction.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/name.h"
#include "server/routes.h"
#include "server/show.h"
#include "server/submit.h"

enum { JOBS_MAX = 500 };

struct item {
    struct op *op; /* NULL: it was refused before it was sent */
    struct problem problem;
};

struct batch_call {
    struct item *items;
    size_t n;
    _Atomic size_t n_open; /* operations that are not answered, and one for who sends them */
};

static void batch_free(void *state)
{
    struct batch_call *batch = state;

    for (size_t i = 0; i < batch->n; i++)
        op_free(batch->items[i].op);
    free(batch->items);
    free(batch);
}

/* ---- the answer ---- */

static json_t *show_item(struct call *call, struct item *item)
{
    const struct problem *problem = &item->problem;
    json_t *object;
    char id[NAME_ATTEMPT_SIZE];

    if (item->op && item->op->problem.code)
        problem = &item->op->problem;
    if (problem->code) {
        object = problem_to_json(problem, call->id);
        show_number(object, "status", problem_codes[problem->code].status);
        return object;
    }
    object = json_object();
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) without an operation it has a problem */
    name_job(item->op->submit.job, id);
    show_number(object, "status", 201);
    show_text(object, "id", id);
    show_number(object, "revision", (int64_t)item->op->revision);
    if (item->op->submit.is_replay)
        show_set(object, "replayed", json_true());
    else
        call->server->counts.submitted++;
    return object;
}

/* On the API loop. */
static void all_came_back(void *arg)
{
    struct call *call = arg;
    struct batch_call *batch = call->state;
    json_t *items = json_array();

    for (size_t i = 0; i < batch->n; i++) {
        struct op *op = batch->items[i].op;

        if (op && op->revision > call->revision)
            call->revision = op->revision;
        json_array_append_new(items, show_item(call, &batch->items[i]));
    }
    call->answer = json_object();
    show_set(call->answer, "items", items);
    show_number(call->answer, "revision", (int64_t)call->revision);
    call_end(call);
}

static void count_down(struct call *call)
{
    struct batch_call *batch = call->state;

    if (atomic_fetch_sub(&batch->n_open, 1) == 1)
        loop_post(call->server->loop, all_came_back, call);
}

/* The writer's thread. */
static void came_back(struct op *op, void *arg)
{
    (void)op;
    count_down(arg);
}

/* ---- what is asked for ---- */

static void make_op(struct call *call, json_t *object, const char *key, size_t at,
                    struct item *item)
{
    struct job_spec *spec = submit_read_spec(call, object, &item->problem);

    if (!spec)
        return;
    item->op = submit_op(call, spec, key ? text_format("%s/%zu", key, at) : NULL);
    item->op->done = came_back;
    item->op->arg = call;
}

static bool check_body(struct call *call, const json_t *body, json_t **jobs)
{
    const char *name;
    json_t *value;

    *jobs = json_object_get(body, "jobs");
    json_object_foreach((json_t *)body, name, value)
    {
        if (!text_eq(name, "jobs")) {
            problem_add(&call->problem, PROBLEM_UNKNOWN_FIELD, "/",
                        "`%s` is not known; want `jobs`", name);
            return false;
        }
    }
    if (json_is_array(*jobs) && json_array_size(*jobs) >= 1 && json_array_size(*jobs) <= JOBS_MAX)
        return true;
    problem_add(&call->problem, PROBLEM_INVALID_FIELD, "/jobs", "want a list of 1 to %d jobs",
                JOBS_MAX);
    return false;
}

static void send_all(struct call *call, struct batch_call *batch)
{
    struct op **ops = NEW0_N(struct op *, batch->n);
    size_t n = 0;

    for (size_t i = 0; i < batch->n; i++)
        if (batch->items[i].op)
            ops[n++] = batch->items[i].op;
    batch->n_open = n + 1;
    ledger_send_all(call->server->ledger, ops, n);
    free(ops);
    count_down(call);
}

void on_jobs_batch(struct call *call)
{
    struct batch_call *batch = NEW0(struct batch_call);
    const char *key;
    json_t *body = NULL, *jobs, *object;
    size_t i;

    call->state = batch;
    call->free_state = batch_free;
    if (submit_read_key(call, &key))
        body = call_body(call);
    if (!body || !check_body(call, body, &jobs)) {
        json_decref(body);
        call_end(call);
        return;
    }
    batch->items = NEW0_N(struct item, json_array_size(jobs));
    json_array_foreach(jobs, i, object) make_op(call, object, key, batch->n++, &batch->items[i]);
    json_decref(body);
    if (call->server->is_closing)
        call_refuse(call, PROBLEM_STARTING, "the server is stopping");
    else
        send_all(call, batch);
}

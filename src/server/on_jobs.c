/* Jobs: list and submit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/name.h"
#include "base/quantity.h"
#include "scenario/scenario.h"
#include "server/call_job.h"
#include "server/cursor.h"
#include "server/job_order.h"
#include "server/list.h"
#include "server/list_watch.h"
#include "server/missing.h"
#include "server/plan.h"
#include "server/routes.h"
#include "server/show.h"
#include "server/submit.h"

enum { KEY_MAX_BYTES = 128 };

/* ---- list ---- */

struct list {
    struct job_filter filter; /* its texts live with the request, but for label_key */
    struct cursor cursor;
    struct job_order order;
    struct job_page page; /* of an order */
    char *label_key;
    struct verdicts *verdicts;
    struct nodes *nodes;
    struct reader *reader;
    bool hides_jobs, has_resources;
    json_t *items;
    uint64_t last;
    size_t n_read;
    bool has_more;
};

static void list_free(void *state)
{
    struct list *list = state;

    free(list->label_key);
    job_page_fini(&list->page);
    if (list->verdicts)
        verdicts_unref(list->verdicts);
    json_decref(list->items);
    free(list);
}

static bool read_active(struct call *call, unsigned *states)
{
    bool is_active = false;

    if (!call_query_bool(call, "active", &is_active))
        return false;
    if (is_active)
        *states |= 1u << JOB_PENDING | 1u << JOB_RUNNING | 1u << JOB_STOPPING;
    return true;
}

/* "2d" ago, or a time. */
static bool read_since(struct call *call, int64_t *out)
{
    const char *text = call_query(call, "since");
    struct err err = { 0 };
    int64_t ago;

    if (!text || clock_parse_wall(text, out) == 0)
        return true;
    if (duration_parse(text, &ago, &err) == 0) {
        *out = clock_wall_ms(call->server->clock) - ago;
        return true;
    }
    problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                "since=%s: want a duration such as 2d, or a time", text);
    return false;
}

static bool read_namespace(struct call *call, struct job_filter *filter)
{
    const char *ns = call_query(call, "namespace");

    filter->ns = ns ? ns : call->who.ns[0] ? call->who.ns : NULL;
    if (!ns || call_sees(call, ns))
        return true;
    call_not_found(call, "namespace", ns);
    return false;
}

/* One more than wanted tells whether there is another page. */
static bool begin_page(struct call *call, struct list *list)
{
    job_page_init(&list->page, &list->order, list->cursor.limit + 1);
    if (!list->cursor.key[0] || job_order_parse(list->cursor.key, &list->page.after))
        return true;
    problem_set(&call->problem, PROBLEM_BAD_CURSOR, "the cursor is damaged");
    return false;
}

/* A queue that is not there has no jobs; that none of it has ended ones either tells a misspelt
 * name. */
static int check_queue(struct call *call, struct reader *reader, const struct list *list,
                       struct err *err)
{
    struct row_queue *row = NULL;
    int r;

    if (!list->filter.queue || list->cursor.key[0] ||
        json_array_size(json_object_get(call->answer, "items")))
        return 0;
    r = reader_queue(reader, list->filter.queue, &row, err);
    row_free(ROW_QUEUE, row);
    return r == READER_NONE ? missing_queue(call, reader, list->filter.queue, err) : r;
}

static bool read_filter(struct call *call, struct list *list)
{
    struct job_filter *filter = &list->filter;
    int64_t before = 0;

    filter->queue = call_query(call, "queue");
    filter->user = call_query(call, "user");
    filter->name = call_query(call, "name");
    list_read_label(call, &list->label_key, &filter->label_value);
    filter->label_key = list->label_key;
    if (!call_query_bool(call, "resources", &list->has_resources) ||
        !cursor_read(call, &list->cursor) || !job_order_read(call, &list->order) ||
        !list_read_states(call, job_state_words, JOB_STATE_COUNT, &filter->states) ||
        !read_active(call, &filter->states) || !read_since(call, &filter->since) ||
        !read_namespace(call, filter))
        return false;
    if (list->cursor.key[0] && list->order.field < 0 &&
        text_to_int(list->cursor.key, 1, INT64_MAX, &before) < 0) {
        problem_set(&call->problem, PROBLEM_BAD_CURSOR, "the cursor is damaged");
        return false;
    }
    filter->before_id = (uint64_t)before;
    return list->order.field < 0 || begin_page(call, list);
}

static void add_item(struct list *list, const struct row_job *job)
{
    struct show_view view = { list->verdicts, list->nodes, list->reader, list->hides_jobs };
    json_t *item = show_job(job, NULL, &view);

    if (list->has_resources)
        show_job_resources(item, job);
    json_array_append_new(list->items, item);
}

static int list_row(const void *row, void *arg)
{
    const struct row_job *job = row;
    struct list *list = arg;

    if (json_array_size(list->items) == list->cursor.limit) {
        list->has_more = true;
        return 1;
    }
    add_item(list, job);
    list->last = job->id;
    return 0;
}

static int take_row(const void *row, void *arg)
{
    struct list *list = arg;

    job_page_take(&list->page, row);
    list->last = ((const struct row_job *)row)->id;
    list->n_read++;
    return 0;
}

/* In an order all that pass are looked at. */
static int sorted_read(struct call *call, struct reader *reader, struct err *err)
{
    struct list *list = call->state;
    char next[sizeof(list->cursor.key)] = "";
    size_t n_was;
    int r;

    list->reader = reader;
    list->filter.limit = READER_ROWS_MAX;
    do {
        n_was = list->n_read;
        r = reader_jobs(reader, &list->filter, take_row, list, err);
        list->filter.before_id = list->last;
    } while (r >= 0 && list->n_read - n_was == READER_ROWS_MAX);
    if (r < 0)
        return r;
    list->items = json_array();
    for (size_t i = 0; i < list->page.n && i < list->cursor.limit; i++)
        add_item(list, list->page.rows[i].row);
    if (list->page.n > list->cursor.limit)
        job_order_write(&list->page.rows[list->cursor.limit - 1].key, next);
    call->answer = cursor_answer(&list->cursor, TAKE(list->items), next, call->revision);
    return check_queue(call, reader, list, err);
}

static int list_read(struct call *call, struct reader *reader, struct err *err)
{
    struct list *list = call->state;
    char next[32] = "";
    int r;

    list->reader = reader;
    list->items = json_array();
    /* One more than wanted tells whether there is another page; at the largest page the next may
     * be empty. */
    list->filter.limit =
        list->cursor.limit < READER_ROWS_MAX ? list->cursor.limit + 1 : READER_ROWS_MAX;
    r = reader_jobs(reader, &list->filter, list_row, list, err);
    if (r < 0)
        return r;
    if (list->has_more || json_array_size(list->items) == READER_ROWS_MAX)
        snprintf(next, sizeof(next), "%llu", (unsigned long long)list->last);
    call->answer = cursor_answer(&list->cursor, TAKE(list->items), next, call->revision);
    return check_queue(call, reader, list, err);
}

void on_jobs_list(struct call *call)
{
    struct list *list = NEW0(struct list);
    bool is_watched;

    call->state = list;
    call->free_state = list_free;
    if (!list_watch_read(call, &is_watched) || !read_filter(call, list)) {
        call_end(call);
        return;
    }
    if (is_watched) {
        list_watch_jobs(call, &list->filter);
        return;
    }
    list->verdicts = cycle_verdicts(call->server->cycle);
    list->nodes = call->server->nodes;
    list->hides_jobs = call->who.ns[0];
    call_read(call, list->order.field < 0 ? list_read : sorted_read, NULL);
}

/* ---- submit ---- */

bool submit_read_key(struct call *call, const char **out)
{
    const char *key = http_header(call->request, "Idempotency-Key");
    size_t n = key ? strlen(key) : 0;

    *out = key;
    for (size_t i = 0; i < n; i++)
        if (key[i] < ' ' || key[i] > '~')
            n = KEY_MAX_BYTES + 1;
    if (!key || (n >= 1 && n <= KEY_MAX_BYTES))
        return true;
    problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                "Idempotency-Key: want 1 to %d printable characters", KEY_MAX_BYTES);
    return false;
}

struct op *submit_op(const struct call *call, struct job_spec *spec, char *key)
{
    struct op *op = op_new(OP_SUBMIT, NULL, NULL);

    op->submit.user = text_copy(call->who.user);
    op->submit.key = key;
    op->submit.spec = spec;
    op->submit.is_admitted = !cycle_asks_admission(call->server->cycle);
    return op;
}

/* Of a job whose only group stands beside the job's own keys its affinity does too. */
static bool are_affinities_good(const json_t *object, const struct job_spec *spec,
                                struct problem *problem)
{
    bool has_groups = json_object_get(object, "groups") != NULL;

    for (size_t i = 0; i < spec->n_groups; i++) {
        CLEANUP(freep) char *pointer = has_groups ? text_format("/groups/%zu", i) : text_copy("");

        if (spec->groups[i].affinity)
            scenario_affinity_check(spec->groups[i].affinity, pointer, problem);
    }
    return problem->code == PROBLEM_NONE;
}

static bool is_tier(const struct server_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_objects; i++)
        if (options->objects[i].kind == BERTH_DOMAIN &&
            text_eq(options->objects[i].domain->tier_name, name))
            return true;
    return false;
}

/* A name that no domain has would bound nothing. All groups have the first one's topology. */
static bool is_topology_good(const struct call *call, const json_t *object,
                             const struct job_spec *spec, struct problem *problem)
{
    const char *name = spec->groups[0].tier_name;
    bool is_own = json_object_get(object, "topology") != NULL;

    if (!name[0] || is_tier(&call->server->options, name))
        return true;
    problem_add(problem, PROBLEM_INVALID_FIELD,
                is_own ? "/topology/tier" : "/groups/0/topology/tier",
                "no network domain of the server's configuration is of a tier `%s`", name);
    return false;
}

struct job_spec *submit_read_spec(const struct call *call, json_t *object, struct problem *problem)
{
    struct job_spec *spec = NULL;

    if (call->who.ns[0] && json_is_object(object) && !json_object_get(object, "namespace"))
        show_text(object, "namespace", call->who.ns);
    if (job_spec_from_json(object, NULL, &spec, problem) < 0)
        return NULL;
    job_spec_set_headroom(spec, call->server->memory_milli);
    if (!are_affinities_good(object, spec, problem) ||
        !is_topology_good(call, object, spec, problem)) {
        job_spec_freep(&spec);
        return NULL;
    }
    if (!call_sees(call, spec->ns)) {
        problem_set(problem, PROBLEM_NOT_ALLOWED,
                    "this needs a token for the namespace `%s`; the token `%s` is for `%s`",
                    spec->ns, call->who.name, call->who.ns);
        job_spec_freep(&spec);
    }
    return spec;
}

/* The body as a job. */
static struct job_spec *read_spec(struct call *call)
{
    json_t *object = call_body(call);
    struct job_spec *spec = object ? submit_read_spec(call, object, &call->problem) : NULL;

    json_decref(object);
    return spec;
}

/* ---- what the cluster makes of it ---- */

/* What a submit keeps until it is sent. */
struct submit {
    struct op *op;
    char
        *limit_of; /* of a plan: the queue by which its tasks have their limit; NULL: they say it */
    bool is_dry, needs_feasible, warns;
};

static void submit_free(void *state)
{
    struct submit *submit = state;

    if (submit->op)
        op_free(submit->op);
    mem_free(submit->limit_of);
    free(submit);
}

/* "group worker: LARGER_THAN_ANY_NODE: cpu 64 of 8": the first of them, for a problem. */
static void refuse_never(struct call *call, const struct view_answer *answer)
{
    const struct berth_verdict *verdict = &answer->verdicts[0];
    const struct berth_reason *reason = verdict->reason;
    CLEANUP(str_fini) struct str text = { 0 };

    str_addf(&text, "group %s: %s", verdict->group, wait_codes[reason->code].word);
    if (reason->resource) {
        str_addf(&text, ": asks %s ", reason->resource);
        show_asked_text(answer->spec, reason->resource, reason->asked, &text);
        str_add(&text, ", at most ");
        quantity_format(reason->limit, quantity_unit_of(reason->resource), &text);
    } else if (reason->wants) {
        str_addf(&text, ": wants %s", reason->wants);
    } else if (reason->needed) {
        str_addf(&text, ": %" PRIu32 " tasks begin together, and all nodes hold %" PRIu32,
                 reason->needed, reason->placed);
    }
    problem_set(&call->problem, PROBLEM_NEVER_FITS, "%s", str_text(&text));
}

static bool is_answered(struct call *call, const struct view_answer *answer)
{
    if (answer->code == 0)
        return true;
    problem_set(&call->problem, PROBLEM_INTERNAL, "%s", answer->err.text);
    return false;
}

/* ---- submit ---- */

/* On the API loop. */
static void warned(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;

    /* The job is there: what cannot be said of it is no problem of the submit. */
    if (answer->code == 0 && answer->n_verdicts)
        show_set(call->answer, "warnings", plan_show_verdicts(answer, call->who.ns[0]));
    call_end(call);
}

/* Shows what was submitted, as the writer gave it back: nothing has to be read. */
static void show_new(struct call *call, bool warns)
{
    const struct op_submit *submit = &call->op->submit;
    struct view_question question = { .kind = VIEW_NEVER, .spec = submit->spec };
    struct show_view view = { 0 };

    call->etag = submit->row->rev;
    if (!warns || call->server->is_closing) {
        call->text = show_job_text(submit->row, submit->spec, &view);
        call_end(call);
        return;
    }
    call->answer = show_job(submit->row, submit->spec, &view);
    view_ask(call->server->view, &question, call->server->loop, warned, call);
}

static void submitted(struct call *call)
{
    const struct op_submit *submit = &call->op->submit;
    bool warns = ((struct submit *)call->state)->warns;
    char id[NAME_ATTEMPT_SIZE], location[NAME_ATTEMPT_SIZE + 16];

    name_job(submit->job, id);
    snprintf(location, sizeof(location), "/v1/jobs/%s", id);
    http_set_header(call->request, "Location", location);
    if (submit->is_replay)
        http_set_header(call->request, "Idempotency-Replayed", "true");
    else
        call->server->counts.submitted++;
    call->status = 201;
    if (submit->row) {
        show_new(call, warns);
        return;
    }
    submit_free(TAKE(call->state));
    call_job_of(call, submit->job);
    call_read(call, call_job_show, NULL);
}

/* On the API loop. */
static void feasible(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;
    struct submit *submit = call->state;

    if (is_answered(call, answer) && answer->n_verdicts)
        refuse_never(call, answer);
    if (call->problem.code)
        call_end(call);
    else
        call_send(call, TAKE(submit->op), submitted);
}

/* What is planned is held against the queue as a submit is: it must be open, and has a longest limit. */
static int check_plan(struct call *call, struct reader *reader, struct err *err)
{
    struct submit *submit = call->state;
    struct job_spec *spec = submit->op->submit.spec;
    CLEANUP(freep) char *whose = NULL;
    struct row_queue *closed = NULL;
    int64_t most_ms;
    int r = reader_closed(reader, spec->queue, &closed, err);

    if (r == 0 && closed) {
        ledger_refuse_closed(spec->queue, closed->name, closed->state, &call->problem);
        row_free(ROW_QUEUE, closed);
        return 0;
    }
    if (r == 0)
        r = reader_max_limit(reader, spec->queue, &most_ms, &whose, err);
    if (r == 0)
        ledger_bound_limit(spec, most_ms, whose ? whose : "", &call->problem);
    if (r == 0 && !job_spec_own_limit(spec) && spec->limit_ms)
        submit->limit_of = TAKE(whose);
    return r;
}

static void plan_bounded(struct call *call)
{
    const struct submit *submit = call->state;

    plan_answer(call, submit->op->submit.spec, submit->limit_of);
}

static bool read_ways(struct call *call, struct submit *out)
{
    return call_query_bool(call, "dryRun", &out->is_dry) &&
           call_query_bool(call, "requireFeasible", &out->needs_feasible) &&
           call_query_bool(call, "warn", &out->warns);
}

void on_jobs_submit(struct call *call)
{
    struct submit *submit = NEW0(struct submit);
    struct view_question question = { .kind = VIEW_NEVER };
    struct job_spec *spec;
    const char *key;

    call->state = submit;
    call->free_state = submit_free;
    spec = read_ways(call, submit) && submit_read_key(call, &key) ? read_spec(call) : NULL;
    if (!spec) {
        call_end(call);
        return;
    }
    submit->op = submit_op(call, spec, text_copy(key));
    question.spec = spec;
    if (submit->is_dry)
        call_read(call, check_plan, plan_bounded);
    else if (submit->needs_feasible)
        view_ask(call->server->view, &question, call->server->loop, feasible, call);
    else
        call_send(call, TAKE(submit->op), submitted);
}

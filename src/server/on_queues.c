/* Queues: list, show, create, change, delete. A queue's row keeps its amounts as integers in their
 * units. */
#include <string.h>

#include "server/call.h"
#include "server/guarantees.h"
#include "server/list_watch.h"
#include "server/missing.h"
#include "server/queue_spec.h"
#include "server/routes.h"
#include "server/show.h"

/* What a call about one queue keeps. */
struct state {
    char *name;
    struct row_queue *row; /* as read; NULL: there is none */
    bool warns;            /* a change is answered with what is odd about it */
};

static void state_free(void *arg)
{
    struct state *state = arg;

    free(state->name);
    row_free(ROW_QUEUE, state->row);
    free(state);
}

static struct state *state_begin(struct call *call, const char *name)
{
    struct state *state = NEW0(struct state);

    state->name = text_copy(name);
    call->state = state;
    call->free_state = state_free;
    return state;
}

/* ---- list and show ---- */

/* A list in the making. */
struct queues {
    struct list_ways *ways;
    void (*free_ways)(void *ways);
    json_t *items; /* those that are in the list; then of them what is on the page */
    size_t at;     /* whose usage is asked for */
};

static void queues_free(void *state)
{
    struct queues *queues = state;

    queues->free_ways(queues->ways);
    json_decref(queues->items);
    mem_free(queues);
}

static int list_queue(const void *row, void *arg)
{
    struct queues *queues = arg;
    json_t *item = show_queue(row);

    if (list_ways_has(queues->ways, item))
        json_array_append(queues->items, item);
    json_decref(item);
    return 0;
}

static int queues_read(struct call *call, struct reader *reader, struct err *err)
{
    struct queues *queues = call->state;

    json_decref(queues->items);
    queues->items = json_array();
    return reader_queues(reader, list_queue, queues, err);
}

/* The usage of the i-th queue of a list is asked for, one after the other. */
static void ask_next(struct call *call);

static json_t *asked_item(struct call *call)
{
    struct queues *queues = call->state;

    return json_array_get(queues->items, queues->at);
}

static void usage_came(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;

    if (answer->code == 0)
        show_set(asked_item(call), "usage", show_queue_usage(&answer->queue));
    ((struct queues *)call->state)->at++;
    ask_next(call);
}

static void ask_next(struct call *call)
{
    struct queues *queues = call->state;
    json_t *item = asked_item(call);
    struct view_question question = { .kind = VIEW_QUEUE };

    if (!item || call->server->is_closing) {
        if (!call->answer)
            call->answer = list_ways_answer(queues->ways, TAKE(queues->items), call->revision);
        call_end(call);
        return;
    }
    question.name = json_string_value(json_object_get(item, "name"));
    view_ask(call->server->view, &question, call->server->loop, usage_came, call);
}

/* Where the order does not go by usage, only that of the page's queues is asked for. */
static void queues_loaded(struct call *call)
{
    struct queues *queues = call->state;

    if (!list_ways_sorts_by(queues->ways, "usage.")) {
        call->answer = list_ways_answer(queues->ways, TAKE(queues->items), call->revision);
        queues->items = json_incref(json_object_get(call->answer, "items"));
    }
    ask_next(call);
}

static const char *const queue_sorts[] = { "name",
                                           "state",
                                           "weight",
                                           "priority",
                                           "parent",
                                           "cap.",
                                           "guarantee.",
                                           "deserved.",
                                           "usage.pending",
                                           "usage.running",
                                           "usage.allocated.",
                                           "usage.requested.",
                                           "usage.demand.",
                                           "usage.fairShare.",
                                           "usage.deserved.",
                                           NULL };
static const struct list_kind queue_list = { "name", queue_sorts, queue_state_words,
                                             QUEUE_STATE_COUNT };

void on_queues_list(struct call *call)
{
    struct list_ways *ways = list_ways_begin(call, &queue_list);
    struct queues *queues;
    bool is_watched;

    if (!ways || !list_watch_read(call, &is_watched)) {
        call_end(call);
        return;
    }
    if (is_watched) {
        list_watch_rows(call, ROW_QUEUE, ways);
        return;
    }
    queues = NEW0(struct queues);
    queues->ways = ways;
    queues->free_ways = call->free_state;
    call->state = queues;
    call->free_state = queues_free;
    call_read(call, queues_read, queues_loaded);
}

static int queue_load(struct call *call, struct reader *reader, struct err *err)
{
    struct state *state = call->state;
    int r;

    row_free(ROW_QUEUE, state->row);
    state->row = NULL;
    r = reader_queue(reader, state->name, &state->row, err);
    return r < 0 ? r : 0;
}

/* How long the limit of its jobs may be by it and those above it, and which of them says so. */
static int show_longest(json_t *object, struct reader *reader, const char *name, struct err *err)
{
    CLEANUP(freep) char *whose = NULL;
    int64_t most_ms = 0;
    int r = reader_max_limit(reader, name, &most_ms, &whose, err);

    if (r == 0 && most_ms) {
        show_duration(object, "longestLimit", most_ms);
        show_text(object, "longestLimitOf", whose);
    }
    return r < 0 ? r : 0;
}

static int queue_read(struct call *call, struct reader *reader, struct err *err)
{
    struct state *state = call->state;
    int r = queue_load(call, reader, err);

    if (r < 0)
        return r;
    if (!state->row)
        return missing_queue(call, reader, state->name, err);
    call->answer = show_queue(state->row);
    call->etag = state->row->rev;
    r = show_longest(call->answer, reader, state->name, err);
    if (r < 0)
        return r;
    return state->warns ? guarantees_warn(reader, state->row, call->answer, err) : 0;
}

static void one_usage_came(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;

    /* The engine may not have met a queue that was made a moment ago. */
    if (answer->code == 0)
        show_set(call->answer, "usage", show_queue_usage(&answer->queue));
    call_end(call);
}

static void ask_one(struct call *call)
{
    struct view_question question = { .kind = VIEW_QUEUE };

    question.name = ((struct state *)call->state)->name;
    if (call->server->is_closing)
        call_end(call);
    else
        view_ask(call->server->view, &question, call->server->loop, one_usage_came, call);
}

void on_queue_get(struct call *call)
{
    state_begin(call, call->args[0]);
    call_read(call, queue_read, ask_one);
}

static void changed(struct call *call)
{
    ((struct state *)call->state)->warns = true;
    call_read(call, queue_read, ask_one);
}

/* ---- create ---- */

static void created(struct call *call)
{
    CLEANUP(freep) char *location = text_format("/v1/queues/%s", call->op->queue_put.name);

    http_set_header(call->request, "Location", location);
    call->status = 201;
    state_begin(call, call->op->queue_put.name);
    changed(call);
}

void on_queues_create(struct call *call)
{
    json_t *body = call_body(call);
    struct op *op;

    queue_spec_rename(body);
    op = body ? queue_spec_read(call, body, NULL) : NULL;

    json_decref(body);
    if (!op) {
        call_end(call);
        return;
    }
    op->queue_put.is_create = true;
    call_send(call, op, created);
}

/* ---- replace and change ---- */

/* What a patch sets to null is taken out of the sum, at any depth. */
static void drop_nulls(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach(object, key, value) if (json_is_object(value)) drop_nulls(value);
    json_object_foreach_safe(object, next, key, value) if (json_is_null(value))
        json_object_del(object, key);
}

/* What the object would be that a merge patch is laid on: the queue as it is shown. */
static json_t *patched(const struct row_queue *row, const json_t *patch)
{
    json_t *object = show_queue(row);

    json_object_del(object, "revision");
    if (!json_string_value(json_object_get(object, "parent")))
        json_object_del(object, "parent");
    json_object_update_recursive(object, (json_t *)patch);
    drop_nulls(object);
    return object;
}

static void put_loaded(struct call *call)
{
    struct state *state = call->state;
    json_t *body = call_body(call), *object = NULL;
    struct op *op = NULL;
    uint64_t wanted = 0;

    queue_spec_rename(body);
    if (body && call_if_match(call, &wanted)) {
        bool is_patch = call->route->method == HTTP_PATCH && json_is_object(body);

        object = is_patch ? patched(state->row, body) : json_incref(body);
        op = queue_spec_read(call, object, state->name);
        /* A patch was laid on the row that was read: nothing may come between. */
        if (op)
            op->queue_put.if_rev = wanted || !is_patch ? wanted : state->row->rev;
    }
    json_decref(body);
    json_decref(object);
    if (op)
        call_send(call, op, changed);
    else
        call_end(call);
}

static int put_read(struct call *call, struct reader *reader, struct err *err)
{
    struct state *state = call->state;
    int r = queue_load(call, reader, err);

    return r < 0 || state->row ? r : missing_queue(call, reader, state->name, err);
}

static void begin_put(struct call *call)
{
    state_begin(call, call->args[0]);
    call_read(call, put_read, put_loaded);
}

void on_queue_put(struct call *call)
{
    begin_put(call);
}

void on_queue_patch(struct call *call)
{
    begin_put(call);
}

/* ---- delete ---- */

static void deleted(struct call *call)
{
    call->status = 204;
    call_end(call);
}

static void delete_loaded(struct call *call)
{
    struct state *state = call->state;
    struct op *op;

    if (!state->row) {
        deleted(call);
        return;
    }
    op = op_new(OP_QUEUE_DELETE, NULL, NULL);
    op->queue_delete.name = text_copy(state->name);
    op->queue_delete.by = text_copy(call->who.user);
    call_send(call, op, deleted);
}

void on_queue_delete(struct call *call)
{
    state_begin(call, call->args[0]);
    call_read(call, queue_load, delete_loaded);
}

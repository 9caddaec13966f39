/* Orders: machines that were asked for; list, show, and what their provider says of them. */
#include <string.h>

#include "base/states.h"
#include "server/call.h"
#include "server/hide.h"
#include "server/list_watch.h"
#include "server/routes.h"
#include "server/show.h"

enum { TEXT_MAX_BYTES = 200 };

static const char *const order_sorts[] = { "key", "pool", "state", "madeAt", "endedAt", NULL };
static const struct list_kind order_list = { "key", order_sorts, order_state_words,
                                             ORDER_STATE_COUNT };

static int list_order(const void *row, void *arg)
{
    json_array_append_new(arg, show_order(row));
    return 0;
}

static int orders_read(struct call *call, struct reader *reader, struct err *err)
{
    json_t *items = json_array();
    int r = reader_orders(reader, list_order, items, err);

    hide_jobs_of(items, &call->who, hide_by_reader, reader);
    call->answer = list_ways_answer(call->state, items, call->revision);
    return r;
}

void on_orders_list(struct call *call)
{
    struct list_ways *ways = list_ways_begin(call, &order_list);
    bool is_watched;

    if (!ways || !list_watch_read(call, &is_watched))
        call_end(call);
    else if (is_watched)
        list_watch_rows(call, ROW_ORDER, ways);
    else
        call_read(call, orders_read, NULL);
}

static int order_read(struct call *call, struct reader *reader, struct err *err)
{
    struct row_order *row = NULL;
    int r = reader_order(reader, call->args[0], &row, err);

    if (r == READER_NONE)
        return call_not_found(call, "order", call->args[0]);
    if (r == 0) {
        call->etag = row->rev;
        call->answer = show_order(row);
        hide_jobs(call->answer, &call->who, hide_by_reader, reader);
    }
    row_free(ROW_ORDER, row);
    return r;
}

void on_order_get(struct call *call)
{
    call_read(call, order_read, NULL);
}

/* ---- actions ---- */

enum action { ACTION_PLACE, ACTION_FAIL, ACTION_CANCEL, ACTION_COUNT };
static const char *const action_words[ACTION_COUNT] = {
    [ACTION_PLACE] = "place", [ACTION_FAIL] = "fail", [ACTION_CANCEL] = "cancel"
};
static const enum order_state action_states[ACTION_COUNT] = {
    [ACTION_PLACE] = ORDER_PLACED, [ACTION_FAIL] = ORDER_FAILED, [ACTION_CANCEL] = ORDER_CANCELLED
};
static const struct json_key action_keys[] = { { "action", false },
                                               { "provider", false },
                                               { "reason", false } };

static char *read_text(const struct json_at *top, const char *key)
{
    struct json_at at = json_at_member(top, key);
    const char *text = NULL;

    if (!json_get_text(top, key, &text))
        return NULL;
    if (strlen(text) <= TEXT_MAX_BYTES)
        return text_copy(text);
    json_refuse(&at, PROBLEM_INVALID_FIELD, "longer than %d bytes", TEXT_MAX_BYTES);
    return NULL;
}

static struct op *read_action(struct call *call, const json_t *body)
{
    struct json_at top = json_at_top(body, &call->problem);
    struct json_at at = json_at_member(&top, "action");
    int action = -1;
    struct op *op;

    if (!json_check_object(&top, action_keys, COUNT_OF(action_keys)))
        return NULL;
    if (!json_get_word(&top, "action", action_words, ACTION_COUNT, &action) && !call->problem.code)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "say which: place, fail or cancel");
    if (call->problem.code)
        return NULL;
    op = op_new(OP_ORDER_STATE, NULL, NULL);
    op->order_state.key = text_copy(call->args[0]);
    op->order_state.state = action_states[action];
    op->order_state.by = text_copy(call->who.user);
    op->order_state.provider = read_text(&top, "provider");
    op->order_state.reason = read_text(&top, "reason");
    if (call->problem.code == PROBLEM_NONE)
        return op;
    op_free(op);
    return NULL;
}

static void acted(struct call *call)
{
    call_read(call, order_read, NULL);
}

void on_order_action(struct call *call)
{
    call_act(call, read_action, acted);
}

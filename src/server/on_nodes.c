/* Nodes: list, show, act on, label, forget. What is in use on them is summed up from the live
 * attempts and their jobs' specifications, at one revision. */
#include <string.h>

#include "base/map.h"
#include "server/call_job.h"
#include "server/hide.h"
#include "server/list_watch.h"
#include "server/missing.h"
#include "server/routes.h"
#include "server/show.h"

enum { REASON_MAX_BYTES = 500, PODS = 1000 /* one, in thousandths */ };

/* ---- what is in use ---- */

struct sums {
    struct call *call;
    struct reader *reader;
    struct map specs; /* by job: struct job_spec * */
    json_t *items;
    /* of the node at hand */
    json_t *used;
    size_t n_attempts;
    int failed; /* below 0: in a callback */
    struct err *err;
};

static void sums_fini(struct sums *sums)
{
    MAP_EACH (entry, &sums->specs)
        job_spec_free(entry->value);
    map_fini(&sums->specs);
    json_decref(sums->items);
    json_decref(sums->used);
}

/* The specification of a job, read once a call; NULL: it could not be. */
static const struct job_spec *spec_of(struct sums *sums, uint64_t id)
{
    struct job_spec *spec = map_get_int(&sums->specs, id);
    struct row_job *row = NULL;

    if (spec)
        return spec;
    sums->failed = reader_job(sums->reader, id, &row, sums->err);
    if (sums->failed == 0)
        sums->failed = job_spec_from_canonical(row->spec, &spec, sums->err);
    row_free(ROW_JOB, row);
    if (sums->failed == 0)
        map_put_int(&sums->specs, id, spec);
    return spec;
}

static int add_attempt(const void *row, void *arg)
{
    const struct row_attempt *attempt = row;
    struct sums *sums = arg;
    const struct job_spec *spec = spec_of(sums, attempt->job);

    if (!spec || (size_t)attempt->grp >= spec->n_groups)
        return sums->failed < 0;
    sums->n_attempts++;
    show_add_amount(sums->used, "pods", PODS);
    for (size_t i = 0; i < spec->groups[attempt->grp].holds.n; i++) {
        const struct amount *amount = &spec->groups[attempt->grp].holds.at[i];
        show_add_amount(sums->used, amount->resource, amount->value);
    }
    return 0;
}

static int sum_node(struct sums *sums, const struct row_node *row, json_t **out)
{
    struct nodes *nodes = sums->call->server->nodes;
    CLEANUP(freep) char *forked = NULL;
    struct row_beat *beat = NULL;
    int r;

    json_decref(sums->used);
    sums->used = json_object();
    sums->n_attempts = 0;
    r = reader_node_attempts(sums->reader, row->name, add_attempt, sums, sums->err);
    if (r >= 0)
        r = reader_beat(sums->reader, row->name, &beat, sums->err);
    if (r < 0 || sums->failed < 0) {
        row_free(ROW_BEAT, beat);
        return r < 0 ? r : sums->failed;
    }
    *out = show_node(row);
    if (r == 0)
        show_node_heard(*out, row, beat);
    row_free(ROW_BEAT, beat);
    show_node_use(*out, row, sums->used, sums->n_attempts, nodes_is_connected(nodes, row->name));
    forked = nodes_forked(nodes, row->name);
    show_text(*out, "notRegistered", forked ? forked : "");
    /* Its agent refuses this ledger: that its last beat is no older than the backup says nothing. */
    if (forked && !nodes_is_connected(nodes, row->name) && row->state == NODE_READY)
        show_text(*out, "state", node_state_words[NODE_UNREACHABLE]);
    hide_jobs(*out, &sums->call->who, hide_by_reader, sums->reader);
    return 0;
}

/* ---- list and show ---- */

static int list_node(const void *row, void *arg)
{
    struct sums *sums = arg;
    json_t *item = NULL;
    int r = sum_node(sums, row, &item);

    if (r < 0)
        sums->failed = r;
    else
        json_array_append_new(sums->items, item);
    return r < 0;
}

static int nodes_read(struct call *call, struct reader *reader, struct err *err)
{
    CLEANUP(sums_fini) struct sums sums = { .call = call, .reader = reader, .err = err };
    int r;

    sums.items = json_array();
    r = reader_nodes(reader, list_node, &sums, err);
    if (r < 0 || sums.failed < 0)
        return r < 0 ? r : sums.failed;
    call->answer = list_ways_answer(call->state, TAKE(sums.items), call->revision);
    return 0;
}

static const char *const node_sorts[] = { "name",       "state",        "attempts",
                                          "generation", "registeredAt", "firstRegisteredAt",
                                          "heardAt",    "offers.",      "used.",
                                          "free.",      "labels.",      NULL };
static const char *const node_states[] = { "coming",   "ready",    "unreachable",
                                           "lost",     "leaving",  "gone",
                                           "disabled", "draining", "cordoned" };
static const struct list_kind node_list = { "name", node_sorts, node_states,
                                            COUNT_OF(node_states) };

void on_nodes_list(struct call *call)
{
    struct list_ways *ways = list_ways_begin(call, &node_list);
    bool is_watched;

    if (!ways || !list_watch_read(call, &is_watched))
        call_end(call);
    else if (is_watched)
        list_watch_rows(call, ROW_NODE, ways);
    else
        call_read(call, nodes_read, NULL);
}

static int node_read(struct call *call, struct reader *reader, struct err *err)
{
    CLEANUP(sums_fini) struct sums sums = { .call = call, .reader = reader, .err = err };
    struct row_node *row = NULL;
    int r = reader_node(reader, call->args[0], &row, err);

    if (r == READER_NONE)
        return missing_node(call, reader, call->args[0], err);
    if (r == 0) {
        call->etag = row->rev;
        r = sum_node(&sums, row, &call->answer);
    }
    row_free(ROW_NODE, row);
    return r;
}

void on_node_get(struct call *call)
{
    call_read(call, node_read, NULL);
}

/* ---- actions ---- */

enum action { ACTION_CORDON, ACTION_UNCORDON, ACTION_DRAIN, ACTION_COUNT };
static const char *const action_words[ACTION_COUNT] = {
    [ACTION_CORDON] = "cordon", [ACTION_UNCORDON] = "uncordon", [ACTION_DRAIN] = "drain"
};
static const struct json_key action_keys[] = { { "action", false },
                                               { "reason", false },
                                               { "graceSeconds", false } };

static struct op *read_action(struct call *call, const json_t *body)
{
    struct json_at top = json_at_top(body, &call->problem);
    const char *reason = "";
    int64_t grace = -1;
    int action = -1;
    struct op *op;

    if (!json_check_object(&top, action_keys, COUNT_OF(action_keys)))
        return NULL;
    if (!json_get_word(&top, "action", action_words, ACTION_COUNT, &action) &&
        !call->problem.code) {
        struct json_at at = json_at_member(&top, "action");
        json_refuse(&at, PROBLEM_INVALID_FIELD, "say which: cordon, uncordon or drain");
    }
    if (json_get_text(&top, "reason", &reason) && strlen(reason) > REASON_MAX_BYTES) {
        struct json_at at = json_at_member(&top, "reason");
        json_refuse(&at, PROBLEM_INVALID_FIELD, "longer than %d bytes", REASON_MAX_BYTES);
    }
    if (json_get_int(&top, "graceSeconds", 0, JOB_GRACE_MAX_MS / 1000, &grace) &&
        action != ACTION_DRAIN) {
        struct json_at at = json_at_member(&top, "graceSeconds");
        json_refuse(&at, PROBLEM_INVALID_FIELD, "only a drain stops anything");
    }
    if (call->problem.code)
        return NULL;
    op = op_new(OP_CORDON, NULL, NULL);
    op->cordon.node = text_copy(call->args[0]);
    op->cordon.is_cordoned = action != ACTION_UNCORDON;
    op->cordon.is_draining = action == ACTION_DRAIN;
    op->cordon.grace_ms = grace < 0 ? -1 : grace * 1000;
    op->cordon.by = text_copy(call->who.user);
    op->cordon.reason = text_copy(reason);
    return op;
}

static void acted(struct call *call)
{
    call_read(call, node_read, NULL);
}

void on_node_action(struct call *call)
{
    call_act(call, read_action, acted);
}

/* ---- labels ---- */

static struct op *read_patch(struct call *call, const json_t *body)
{
    static const struct json_key keys[] = { { "labels", false } };
    struct json_at top = json_at_top(body, &call->problem), labels;
    struct op *op;

    if (!json_check_object(&top, keys, COUNT_OF(keys)))
        return NULL;
    labels = json_at_member(&top, "labels");
    if (!json_is_object(labels.value)) {
        json_refuse(&labels, PROBLEM_INVALID_FIELD, "want an object of texts, null to take back");
        return NULL;
    }
    op = op_new(OP_NODE_LABEL, NULL, NULL);
    op->node_label.node = text_copy(call->args[0]);
    op->node_label.labels = json_dumps(labels.value, JSON_COMPACT | JSON_SORT_KEYS);
    op->node_label.by = text_copy(call->who.user);
    return op;
}

void on_node_patch(struct call *call)
{
    uint64_t wanted = 0;
    json_t *body = call_if_match(call, &wanted) ? call_body(call) : NULL;
    struct op *op = body ? read_patch(call, body) : NULL;

    json_decref(body);
    if (!op) {
        call_end(call);
        return;
    }
    op->node_label.if_rev = wanted;
    call_send(call, op, acted);
}

/* ---- forget ---- */

static void forgotten(struct call *call)
{
    call->status = 204;
    call_end(call);
}

/* One that is not there is as good as forgotten. */
static int forget_read(struct call *call, struct reader *reader, struct err *err)
{
    struct row_node *row = NULL;
    int r = reader_node(reader, call->args[0], &row, err);

    call->status = r == READER_NONE ? 204 : 0;
    row_free(ROW_NODE, row);
    return r < 0 ? r : 0;
}

static void forget_loaded(struct call *call)
{
    struct op *op;

    if (call->status == 204) {
        call_end(call);
        return;
    }
    op = op_new(OP_NODE_DELETE, NULL, NULL);
    op->node_delete.name = text_copy(call->args[0]);
    op->node_delete.by = text_copy(call->who.user);
    call_send(call, op, forgotten);
}

void on_node_delete(struct call *call)
{
    call_read(call, forget_read, forget_loaded);
}

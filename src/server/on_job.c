/* One job: show, change, cancel. */
#include <string.h>

#include "base/name.h"
#include "server/call_job.h"
#include "server/routes.h"
#include "server/show.h"

enum { REASON_MAX_BYTES = 500 };

void on_job_get(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, call_job_show, NULL);
    else
        call_end(call);
}

/* What was changed, as it is now. */
static void show_changed(struct call *call)
{
    call_read(call, call_job_show, NULL);
}

/* ---- patch ---- */

static const struct json_key patch_keys[] = {
    { "priority", false }, { "labels", false }, { "held", false }, { "limit", false }
};

/* "2h", or what it is moved by: "+30m", "-30m". A merge patch takes it away by null. */
static void read_limit(const struct json_at *top, struct op_patch *patch)
{
    struct json_at at = json_at_member(top, "limit");
    const char *text = json_string_value(at.value);
    struct err err = { 0 };

    if (json_is_null(at.value)) {
        patch->has_limit = true;
    } else if (text && (*text == '+' || *text == '-')) {
        patch->has_limit = patch->limit_is_change = true;
        if (duration_parse(text + 1, &patch->limit_ms, &err) < 0)
            json_refuse(&at, PROBLEM_INVALID_FIELD, "%s", err.text);
        patch->limit_ms = *text == '-' ? -patch->limit_ms : patch->limit_ms;
    } else {
        patch->has_limit = json_get_duration(top, "limit", JOB_DURATION_MAX_MS, &patch->limit_ms);
    }
}

static void read_patch(struct call *call, const json_t *body, struct op_patch *patch)
{
    struct json_at top = json_at_top(body, &call->problem), labels;
    int64_t priority = 0;

    if (!json_check_object(&top, patch_keys, COUNT_OF(patch_keys)))
        return;
    patch->has_priority =
        json_get_int(&top, "priority", JOB_PRIORITY_MIN, JOB_PRIORITY_MAX, &priority);
    patch->priority = (int32_t)priority;
    patch->has_held = json_get_bool(&top, "held", &patch->is_held);
    read_limit(&top, patch);
    labels = json_at_member(&top, "labels");
    if (labels.value && !json_is_object(labels.value))
        json_refuse(&labels, PROBLEM_INVALID_FIELD, "want an object of texts");
    else if (labels.value)
        patch->labels = json_dumps(labels.value, JSON_COMPACT);
}

static void patch_loaded(struct call *call)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);
    uint64_t wanted;
    json_t *body = NULL;

    op->patch.job = call_job(call)->id;
    op->patch.by = text_copy(call->who.user);
    if (call_if_match(call, &wanted) && (body = call_body(call))) {
        op->patch.if_rev = wanted;
        read_patch(call, body, &op->patch);
        json_decref(body);
    }
    if (call->problem.code) {
        op_free(op);
        call_end(call);
        return;
    }
    call_send(call, op, show_changed);
}

void on_job_patch(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, call_job_load, patch_loaded);
    else
        call_end(call);
}

/* ---- actions ---- */

static struct op *stop_op(struct call *call, enum cause cause, int64_t grace_ms, const char *reason)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = call_job(call)->id;
    op->stop.cause = cause;
    op->stop.grace_ms = grace_ms;
    op->stop.by = text_copy(call->who.user);
    op->stop.reason = text_copy(reason);
    return op;
}

static struct op *flag_op(struct call *call)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = call_job(call)->id;
    op->patch.by = text_copy(call->who.user);
    return op;
}

static struct op *hold_op(struct call *call, bool is_held)
{
    struct op *op = flag_op(call);

    op->patch.has_held = true;
    op->patch.is_held = is_held;
    return op;
}

static struct op *resume_op(struct call *call)
{
    struct op *op = flag_op(call);

    op->patch.resumes = true;
    return op;
}

static void deleted(struct call *call)
{
    call->server->counts.cancelled++;
    call->status = 204;
    call_end(call);
}

static void delete_loaded(struct call *call)
{
    /* What is over is as good as deleted: twice is the same as once. */
    if (job_is_over((enum job_state)call_job(call)->row->state)) {
        call->status = 204;
        call_end(call);
        return;
    }
    call_send(call, stop_op(call, CAUSE_CANCELLED, -1, ""), deleted);
}

void on_job_delete(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, call_job_load, delete_loaded);
    else
        call_end(call);
}

enum action {
    ACTION_CANCEL,
    ACTION_HOLD,
    ACTION_RELEASE,
    ACTION_REQUEUE,
    ACTION_SUSPEND,
    ACTION_RESUME,
    ACTION_COUNT
};
static const char *const action_words[ACTION_COUNT] = {
    [ACTION_CANCEL] = "cancel",   [ACTION_HOLD] = "hold",       [ACTION_RELEASE] = "release",
    [ACTION_REQUEUE] = "requeue", [ACTION_SUSPEND] = "suspend", [ACTION_RESUME] = "resume",
};
static const struct json_key action_keys[] = { { "action", false },
                                               { "graceSeconds", false },
                                               { "reason", false } };

static struct op *action_op(struct call *call, enum action action, int64_t grace_ms,
                            const char *reason)
{
    struct op *op = NULL;

    switch (action) {
    case ACTION_CANCEL:
        return stop_op(call, CAUSE_CANCELLED, grace_ms, reason);
    case ACTION_HOLD:
    case ACTION_RELEASE:
        return hold_op(call, action == ACTION_HOLD);
    case ACTION_REQUEUE:
    case ACTION_SUSPEND:
        op = stop_op(call, CAUSE_REQUEUED, grace_ms, reason);
        op->stop.suspends = action == ACTION_SUSPEND;
        return op;
    case ACTION_RESUME:
        return resume_op(call);
    case ACTION_COUNT:
        break;
    }
    return NULL;
}

static struct op *read_action(struct call *call, const json_t *body)
{
    struct json_at top = json_at_top(body, &call->problem);
    const char *reason = "";
    int64_t grace = -1;
    int action = -1;

    if (!json_check_object(&top, action_keys, COUNT_OF(action_keys)))
        return NULL;
    if (!json_get_word(&top, "action", action_words, ACTION_COUNT, &action) &&
        !call->problem.code) {
        struct json_at at = json_at_member(&top, "action");
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "say which: cancel, hold, release, requeue, suspend or resume");
    }
    json_get_int(&top, "graceSeconds", 0, JOB_GRACE_MAX_MS / 1000, &grace);
    if (json_get_text(&top, "reason", &reason) && strlen(reason) > REASON_MAX_BYTES) {
        struct json_at at = json_at_member(&top, "reason");
        json_refuse(&at, PROBLEM_INVALID_FIELD, "longer than %d bytes", REASON_MAX_BYTES);
    }
    if (call->problem.code)
        return NULL;
    return action_op(call, (enum action)action, grace < 0 ? -1 : grace * 1000, reason);
}

static void action_loaded(struct call *call)
{
    json_t *body = call_body(call);
    struct op *op = body ? read_action(call, body) : NULL;

    json_decref(body);
    if (!op) {
        call_end(call);
        return;
    }
    /* Cancelling twice, or what is over, changes nothing and is shown as it is. */
    if (op->kind == OP_STOP && op->stop.cause == CAUSE_CANCELLED &&
        job_is_over((enum job_state)call_job(call)->row->state)) {
        op_free(op);
        call_read(call, call_job_show, NULL);
        return;
    }
    call_send(call, op, show_changed);
}

void on_job_action(struct call *call)
{
    if (call_job_begin(call))
        call_read(call, call_job_load, action_loaded);
    else
        call_end(call);
}

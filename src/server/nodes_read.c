/* Nodes: what agents send, read strictly. Each fault is a field of the problem. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "server/nodes_talk.h"

enum {
    MESSAGE_MAX_BYTES = 1 << 20,
    OFFERS_MAX = 1000,
    IMAGES_MAX = 2000,
    TEXT_MAX_BYTES = 64 << 10, /* of a report's message, timings, peaks */
};

static int fault(const struct message *message)
{
    return message->problem.code == PROBLEM_NONE ? 0 : -EINVAL;
}

static const struct json_key register_keys[] = {
    { "node", false },         { "bootId", false },  { "incarnation", false },
    { "revisionSeen", false }, { "version", false }, { "offers", false },
    { "labels", false },       { "taints", false },  { "info", false },
    { "attempts", false },     { "images", false },  { "identity", false },
    { "disabled", false },
};
static const struct json_key beat_keys[] = {
    { "node", false },     { "generation", false }, { "ttlMs", false },
    { "disabled", false }, { "orphans", false },
};
static const struct json_key leave_keys[] = { { "node", false }, { "generation", false } };
static const struct json_key attempts_keys[] = { { "node", false },
                                                 { "generation", false },
                                                 { "attempts", false } };
static const struct json_key reports_keys[] = { { "node", false },
                                                { "generation", false },
                                                { "reports", false } };
static const struct frame {
    const struct json_key *keys;
    size_t n;
} frames[TALK_KIND_COUNT] = {
    [TALK_REGISTER] = { register_keys, COUNT_OF(register_keys) },
    [TALK_BEAT] = { beat_keys, COUNT_OF(beat_keys) },
    [TALK_LEAVE] = { leave_keys, COUNT_OF(leave_keys) },
    [TALK_ATTEMPTS] = { attempts_keys, COUNT_OF(attempts_keys) },
    [TALK_REPORTS] = { reports_keys, COUNT_OF(reports_keys) },
};

int message_parse(struct message *message, const char *body, size_t n, enum talk_kind kind)
{
    bool has_generation = kind != TALK_REGISTER;
    struct json_at node;

    memset(message, 0, offsetof(struct message, problem.fields));
    if (json_read(body, n, MESSAGE_MAX_BYTES, &message->value, &message->problem) < 0)
        return -EINVAL;
    message->top = json_at_top(message->value, &message->problem);
    if (!json_check_object(&message->top, frames[kind].keys, frames[kind].n))
        return -EINVAL;
    node = json_at_member(&message->top, "node");
    if (!json_get_text(&message->top, "node", &message->node) && !fault(message))
        return json_refuse(&node, PROBLEM_INVALID_FIELD, "is missing");
    if (message->node && !name_is_valid_node(message->node))
        return json_refuse(&node, PROBLEM_INVALID_FIELD, "cannot be a node's name");
    if (has_generation &&
        !json_get_int(&message->top, "generation", 1, INT64_MAX, &message->generation) &&
        !fault(message)) {
        struct json_at generation = json_at_member(&message->top, "generation");
        return json_refuse(&generation, PROBLEM_INVALID_FIELD, "is missing");
    }
    return fault(message);
}

int message_read(struct message *message, struct http_request *request, enum talk_kind kind)
{
    size_t n;
    const char *body = http_body(request, &n);

    return message_parse(message, body, n, kind);
}

void message_fini(struct message *message)
{
    json_decref(message->value);
    message->value = NULL;
}

int message_attempts(struct message *message, const char ***out, size_t *n)
{
    struct json_at list = json_at_member(&message->top, "attempts");
    size_t count = json_array_size(list.value);
    const char **names;

    *out = NULL;
    *n = 0;
    if (!list.value)
        return 0;
    if (!json_check_list(&list, MESSAGE_ATTEMPTS_MAX))
        return -EINVAL;
    names = NEW0_N(const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_at_item(&list, i);

        names[i] = json_string_value(item.value);
        if (!names[i] || strlen(names[i]) >= NAME_ATTEMPT_SIZE) {
            mem_free(names);
            return json_refuse(&item, PROBLEM_INVALID_FIELD, "is no attempt's name");
        }
    }
    *out = names;
    *n = count;
    return 0;
}

/* ---- register ---- */

static void check_offers(const struct json_at *offers)
{
    const char *name;
    json_t *value;

    if (json_object_size(offers->value) > OFFERS_MAX) {
        json_refuse(offers, PROBLEM_TOO_LARGE, "more than %d resources", OFFERS_MAX);
        return;
    }
    json_object_foreach((json_t *)offers->value, name, value)
    {
        struct json_at at = json_at_member(offers, name);

        if (!name_is_valid_label(name))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is no resource's name");
        else if (!json_is_integer(value) || json_integer_value(value) < 0 ||
                 json_integer_value(value) > QUANTITY_MAX)
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is no amount in the unit of the resource");
        else if (quantity_unit_of(name) == QUANTITY_WHOLE && json_integer_value(value) % 1000)
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is a part of what is whole, in thousandths");
    }
}

static void check_labels(const struct json_at *labels)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)labels->value, name, value)
    {
        struct json_at at = json_at_member(labels, name);

        if (!name_is_valid_label(name) || !json_is_string(value))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is no label");
    }
}

static void check_taints(const struct json_at *taints)
{
    size_t i;
    json_t *value;

    json_array_foreach((json_t *)taints->value, i, value)
    {
        struct json_at at = json_at_item(taints, i);

        if (!json_is_string(json_object_get(value, "key")))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "a taint has a key");
    }
}

static void check_images(const struct json_at *images)
{
    size_t i;
    json_t *value;

    json_array_foreach((json_t *)images->value, i, value)
    {
        struct json_at at = json_at_item(images, i);
        const char *path = json_string_value(value);

        if (i >= IMAGES_MAX)
            json_refuse(&at, PROBLEM_TOO_LARGE, "more than %d folders", IMAGES_MAX);
        else if (!path || path[0] != '/')
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is no absolute path");
    }
}

/* A member that is kept as JSON; its empty value where there is none. */
static char *keep(const struct json_at *top, const char *key, bool is_list,
                  void (*check)(const struct json_at *at))
{
    struct json_at at = json_at_member(top, key);

    if (!at.value)
        return text_copy(is_list ? "[]" : "{}");
    if (is_list ? !json_is_array(at.value) : !json_is_object(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, is_list ? "must be a list" : "must be an object");
        return NULL;
    }
    if (check)
        check(&at);
    return json_dumps(at.value, JSON_COMPACT | JSON_SORT_KEYS);
}

/* What the agent found on its machine, and what it is. */
static char *keep_info(const struct json_at *top)
{
    struct json_at info = json_at_member(top, "info");
    const char *version = NULL;
    json_t *both = json_is_object(info.value) ? json_deep_copy(info.value) : json_object();
    char *text;

    if (info.value && !json_is_object(info.value))
        json_refuse(&info, PROBLEM_INVALID_FIELD, "must be an object");
    if (json_get_text(top, "version", &version))
        json_object_set_new(both, "version", json_string(version));
    text = json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(both);
    return text;
}

/* Those of the attempts held that can be asked about; the others are named in the talk. */
static int read_held(struct talk *talk, struct op_register *out)
{
    const char **names;
    size_t n;

    if (message_attempts(&talk->message, &names, &n) < 0)
        return -EINVAL;
    out->held = NEW0_N(struct held_attempt, n + 1);
    talk->unknown = names; /* the unknown ones move to the front */
    for (size_t i = 0; i < n; i++) {
        if (fleet_key(&talk->nodes->fleet, names[i], &out->held[out->n_held].attempt) == 0)
            out->n_held++;
        else
            talk->unknown[talk->n_unknown++] = names[i];
    }
    return 0;
}

char *read_disabled(const struct json_at *top)
{
    const char *why = "";

    json_get_text(top, "disabled", &why);
    if (strlen(why) > DISABLED_MAX_BYTES) {
        struct json_at at = json_at_member(top, "disabled");
        json_refuse(&at, PROBLEM_INVALID_FIELD, "is longer than %d bytes", DISABLED_MAX_BYTES);
    }
    return text_copy(why);
}

char *read_orphans(const struct json_at *top)
{
    struct json_at list = json_at_member(top, "orphans");

    if (!list.value || !json_check_list(&list, MESSAGE_ATTEMPTS_MAX))
        return NULL;
    for (size_t i = 0; i < json_array_size(list.value); i++) {
        struct json_at item = json_at_item(&list, i);
        const char *name = json_string_value(item.value);

        if (!name || strlen(name) >= NAME_ATTEMPT_SIZE)
            json_refuse(&item, PROBLEM_INVALID_FIELD, "is no attempt's name");
    }
    return json_dumps(list.value, JSON_COMPACT);
}

int read_register(struct talk *talk, struct op_register *out)
{
    const struct json_at *top = &talk->message.top;
    const char *boot_id = "", *incarnation = "", *identity = "";
    int64_t seen = 0;

    json_get_text(top, "bootId", &boot_id);
    json_get_text(top, "incarnation", &incarnation);
    json_get_text(top, "identity", &identity);
    json_get_int(top, "revisionSeen", 0, INT64_MAX, &seen);
    out->node = text_copy(talk->message.node);
    out->boot_id = text_copy(boot_id);
    out->incarnation = text_copy(incarnation);
    out->identity = text_copy(identity);
    out->disabled = read_disabled(top);
    out->revision_seen = (uint64_t)seen;
    out->ttl_ms = talk->nodes->options.ttl_ms;
    out->beat_ms = talk->nodes->options.beat_ms;
    out->offers = keep(top, "offers", false, check_offers);
    out->labels = keep(top, "labels", false, check_labels);
    out->taints = keep(top, "taints", true, check_taints);
    out->images = keep(top, "images", true, check_images);
    out->info = keep_info(top);
    if (!*boot_id && !fault(&talk->message)) {
        struct json_at at = json_at_member(top, "bootId");
        return json_refuse(&at, PROBLEM_INVALID_FIELD, "is missing");
    }
    if (fault(&talk->message))
        return -EINVAL;
    return read_held(talk, out);
}

/* ---- reports ---- */

static const struct json_key report_keys[] = {
    { "attempt", false }, { "state", false },   { "cause", false },     { "detail", false },
    { "code", false },    { "signal", false },  { "startedAt", false }, { "endedAt", false },
    { "message", false }, { "timings", false }, { "peaks", false },
};

static int64_t read_time(const struct json_at *report, const char *key)
{
    struct json_at at = json_at_member(report, key);
    const char *text = NULL;
    int64_t ms = 0;

    if (!json_get_text(report, key, &text) || !*text)
        return 0;
    if (clock_parse_wall(text, &ms) < 0)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "is no time");
    return ms;
}

/* A member kept as JSON, NULL where there is none; one that is too long is left out: it is for
 * people, and the report counts without it. */
static char *read_json_text(const struct json_at *report, const char *key)
{
    struct json_at at = json_at_member(report, key);
    char *text = at.value ? json_dumps(at.value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (text && strlen(text) > TEXT_MAX_BYTES) {
        mem_free(text);
        return NULL;
    }
    return text;
}

static void read_end(const struct json_at *report, struct op_report *out)
{
    struct json_at at = json_at_member(report, "cause");
    int cause = CAUSE_NONE, detail = DETAIL_NONE;
    int64_t code = 0, signal = 0;

    json_get_word(report, "cause", cause_words, CAUSE_COUNT, &cause);
    json_get_word(report, "detail", detail_words, DETAIL_COUNT, &detail);
    json_get_int(report, "code", 0, 255, &code);
    json_get_int(report, "signal", 0, 128, &signal);
    if (cause == CAUSE_NONE && !report->problem->code)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "is missing");
    out->cause = (enum cause)cause;
    out->detail = (enum detail)detail;
    out->code = (int)code;
    out->signal = (int)signal;
    out->ended_at = read_time(report, "endedAt");
}

int read_report(const struct json_at *report, struct op_report *out, const char **name)
{
    static const char *const states[] = { "running", "ended" };
    struct json_at at = json_at_member(report, "attempt");
    const char *message = NULL;
    int state = -1;

    if (!json_check_object(report, report_keys, COUNT_OF(report_keys)))
        return -EINVAL;
    if (!json_get_text(report, "attempt", name) && !report->problem->code)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "is missing");
    at = json_at_member(report, "state");
    if (!json_get_word(report, "state", states, COUNT_OF(states), &state) && !report->problem->code)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "is missing");
    out->is_ended = state == 1;
    if (out->is_ended)
        read_end(report, out);
    out->started_at = read_time(report, "startedAt");
    out->timings = read_json_text(report, "timings");
    out->peaks = read_json_text(report, "peaks");
    if (json_get_text(report, "message", &message))
        out->message = mem_copy(message, strnlen(message, 4096));
    return report->problem->code ? -EINVAL : 0;
}

/*
 * Order: see order.h. The server has checked the job; this checks again what would let it harm the
 * node, and what this node in particular cannot do.
 */
#include "agent/order.h"

#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "base/quantity.h"
#include "base/str.h"

enum {
    PIDS_MAX = 16384 /* of an attempt that asks for no other number: a fork bomb stays its own */
};

int order_id(const char *attempt, char out[ORDER_ID_SIZE], struct err *err)
{
    struct name_parts parts;
    size_t n = strlen(attempt);
    int r = name_parse(attempt, &parts, err);

    if (r < 0)
        return r;
    if (!parts.has_number || !parts.has_index || !parts.group[0] || n >= ORDER_ID_SIZE)
        return err_set(err, -EINVAL, "%.80s: not the name of an attempt, or too long", attempt);
    for (size_t i = 0; i <= n; i++)
        out[i] = attempt[i] == '/' || attempt[i] == '#' ? '.' : attempt[i];
    return 0;
}

static void refuse(struct order *order, enum detail detail, const char *fmt, ...) FORMAT(3, 4);
static void refuse(struct order *order, enum detail detail, const char *fmt, ...)
{
    va_list args;

    if (order->refusal.code)
        return; /* the first is the true one */
    order->refusal.code = -EINVAL;
    order->detail = detail;
    va_start(args, fmt);
    vsnprintf(order->refusal.text, sizeof(order->refusal.text), fmt, args);
    va_end(args);
}

/* ---- Members ---- */

/* A text; NULL where it is absent or empty. */
static const char *text_of(struct order *order, const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);
    const char *text = json_string_value(value);

    if (value && !text)
        refuse(order, DETAIL_RUNTIME_FAILED, "%s is not a text", key);
    return text && *text ? arena_text(&order->arena, text) : NULL;
}

static int64_t number_of(struct order *order, const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);

    if (!value)
        return 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= QUANTITY_MAX)
        return json_integer_value(value);
    refuse(order, DETAIL_RUNTIME_FAILED, "%s is not a number from 0 to 2^60", key);
    return 0;
}

/* A list of texts, ended by NULL; NULL where it is absent or empty. */
static const char *const *texts_of(struct order *order, const json_t *spec, const char *key)
{
    const json_t *list = json_object_get(spec, key);
    size_t n = json_array_size(list);
    const char **texts;

    if (!n)
        return NULL;
    texts = ARENA_NEW0_N(&order->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text)
            refuse(order, DETAIL_RUNTIME_FAILED, "%s[%zu] is not a text", key, i);
        texts[i] = arena_text(&order->arena, text ? text : "");
    }
    return texts;
}

static const char *const *env_of(struct order *order, const json_t *spec)
{
    json_t *env = json_object_get(spec, "env"), *value;
    size_t n = json_object_size(env), i = 0;
    const char **texts, *key;

    if (!n)
        return NULL;
    texts = ARENA_NEW0_N(&order->arena, const char *, n + 1);
    json_object_foreach(env, key, value)
    {
        const char *text = json_string_value(value);
        if (!text || !*key || strchr(key, '='))
            refuse(order, DETAIL_RUNTIME_FAILED, "env %s: not a variable", key);
        texts[i++] = arena_format(&order->arena, "%s=%s", key, text ? text : "");
    }
    return texts;
}

/* ---- What this node can do ---- */

static void check_runtime(struct order *order, const struct order_rules *rules)
{
    struct container *c = &order->container;

    if (!rules->machine->runtimes[c->runtime].is_usable)
        refuse(order, DETAIL_RUNTIME_FAILED, "runtime %s is not usable on this node: %s",
               runtime_kind_words[c->runtime], rules->machine->runtimes[c->runtime].why_not);
    if (c->runtime == RUNTIME_PROCESS && !rules->allow_process)
        refuse(order, DETAIL_RUNTIME_FAILED,
               "runtime process isolates nothing, and this node does not allow it");
    if (c->runtime != RUNTIME_PROCESS && !c->image)
        refuse(order, DETAIL_IMAGE_ABSENT, "runtime %s needs an image",
               runtime_kind_words[c->runtime]);
    if (c->runtime == RUNTIME_PROCESS && !c->command && !c->args)
        refuse(order, DETAIL_RUNTIME_FAILED, "runtime process needs a command");
}

static void read_runtime(struct order *order, const json_t *spec, const struct order_rules *rules)
{
    const char *word = text_of(order, spec, "runtime");
    int kind =
        word ? states_find(word, runtime_kind_words, RUNTIME_KIND_COUNT) : rules->default_runtime;

    if (kind < 0) {
        refuse(order, DETAIL_RUNTIME_FAILED, "%s%s",
               word ? "this node does not know the runtime " : "this node has no runtime",
               word ? word : "");
        return;
    }
    order->container.runtime = (enum runtime_kind)kind;
    check_runtime(order, rules);
}

static void read_resources(struct order *order, const json_t *spec)
{
    const json_t *resources = json_object_get(spec, "resources");
    struct container *c = &order->container;

    c->cpu_milli = number_of(order, resources, "cpu");
    c->memory_bytes = number_of(order, resources, "memory");
    c->pids = PIDS_MAX;
}

static void read_network(struct order *order, const json_t *spec)
{
    const char *word = text_of(order, spec, "network");
    int network = word ? states_find(word, network_words, NETWORK_COUNT) : NETWORK_HOST;

    if (network < 0)
        refuse(order, DETAIL_RUNTIME_FAILED, "this node does not know the network %s", word);
    else
        order->container.network = (enum network)network;
}

void order_read(const json_t *spec, const char *id, const char *folder,
                const struct order_rules *rules, struct order *out)
{
    struct container *c = &out->container;
    const char *on_disconnect;

    *out = (struct order){ 0 };
    c->id = arena_text(&out->arena, id);
    c->folder = arena_text(&out->arena, folder);
    if (!json_is_object(spec))
        refuse(out, DETAIL_RUNTIME_FAILED, "the start came without a spec");
    c->image = text_of(out, spec, "image");
    c->command = texts_of(out, spec, "command");
    c->args = texts_of(out, spec, "args");
    c->env = env_of(out, spec);
    c->work_dir = text_of(out, spec, "workDir");
    c->user = text_of(out, spec, "user");
    on_disconnect = text_of(out, spec, "onDisconnect");
    c->keep_on_disconnect = text_eq(on_disconnect, "keep");
    c->limit_ms = number_of(out, spec, "limitMs");
    out->grace_ms = c->grace_ms = number_of(out, spec, "graceMs");
    read_resources(out, spec);
    read_network(out, spec);
    read_runtime(out, spec, rules);
}

void order_fini(struct order *order)
{
    arena_fini(&order->arena);
    *order = (struct order){ 0 };
}

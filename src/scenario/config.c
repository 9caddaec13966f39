/*
 * Configurations: see config.h. Names, types and ranges are the engine's to judge; its answer
 * begins with a pointer beneath the configuration.
 */
#include "scenario/config.h"

#include <errno.h>
#include <string.h>

#include "api/yaml.h"
#include "base/str.h"
#include "scenario/scenario.h"

struct scenario_config {
    struct arena arena;
    json_t *object;
    struct berth_config config;
};

static void take_enabled(const struct json_at *up, struct berth_plugin_use *out)
{
    struct json_key keys[BERTH_HOOK_COUNT];
    struct json_at at = json_at_member(up, "enabled");

    for (int i = 0; i < BERTH_HOOK_COUNT; i++)
        keys[i] = (struct json_key)KEY(berth_hook_words[i]);
    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    out->has_enabled = true;
    for (int i = 0; i < BERTH_HOOK_COUNT; i++) {
        bool is_on = false;
        json_get_bool(&at, berth_hook_words[i], &is_on);
        if (is_on)
            out->enabled |= BERTH_HOOK_BIT(i);
    }
}

static void take_plugins(struct reader *r, const struct json_at *up, struct berth_tier *out)
{
    static const struct json_key tier_keys[] = { KEY("plugins") };
    static const struct json_key keys[] = { KEY("name"), KEY("enabled"), KEY("arguments") };
    struct berth_plugin_use *uses;
    struct json_at list;
    size_t n;

    if (!CHECK_KEYS(up, tier_keys) || !take_list(up, "plugins", &list, &n))
        return;
    uses = ARENA_NEW0_N(r->arena, struct berth_plugin_use, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i), arguments = json_at_member(&at, "arguments");
        uses[i].name = "";
        if (!CHECK_KEYS(&at, keys))
            continue;
        if (!take_name(&at, "name", NULL, &uses[i].name) && !json_object_get(at.value, "name"))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "a name is needed");
        take_enabled(&at, &uses[i]);
        if (arguments.value && json_is_object(arguments.value))
            uses[i].arguments = take_value(r, arguments.value, NULL);
        else if (arguments.value)
            json_refuse(&arguments, PROBLEM_INVALID_FIELD, "must be an object");
    }
    *out = (struct berth_tier){ uses, n };
}

static void take_tiers(struct reader *r, const struct json_at *up, struct berth_config *out)
{
    struct berth_tier *tiers;
    struct json_at list;
    size_t n;

    if (!take_list(up, "tiers", &list, &n))
        return;
    tiers = ARENA_NEW0_N(r->arena, struct berth_tier, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        take_plugins(r, &at, &tiers[i]);
    }
    out->has_tiers = true;
    out->tiers = tiers;
    out->n_tiers = n;
}

static void take_shard(struct reader *r, const struct json_at *up, struct berth_config *out)
{
    static const struct json_key keys[] = { KEY("mode"), KEY("nodes") };
    static const char *const modes[] = {
        [BERTH_SHARD_NONE] = "none", [BERTH_SHARD_SOFT] = "soft", [BERTH_SHARD_HARD] = "hard"
    };
    struct json_at at = json_at_member(up, "shard");
    int mode = BERTH_SHARD_NONE;

    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    json_get_word(&at, "mode", modes, COUNT_OF(modes), &mode);
    out->shard_mode = (enum berth_shard_mode)mode;
    take_words(r, &at, "nodes", &out->shard_nodes);
}

static const struct berth_value *take_object_value(struct reader *r, const struct json_at *up,
                                                   const char *key)
{
    struct json_at at = json_at_member(up, key);

    if (!at.value)
        return NULL;
    if (json_is_object(at.value))
        return take_value(r, at.value, NULL);
    json_refuse(&at, PROBLEM_INVALID_FIELD, "must be an object, not %s", json_type_word(at.value));
    return NULL;
}

/* "/tiers/0/plugins/1/name: no such plugin" as a fault beneath the configuration. */
static void refuse_by_engine(const struct json_at *at, const struct err *err)
{
    const char *colon = strstr(err->text, ": ");
    char above[JSON_POINTER_SIZE];
    CLEANUP(freep) char *pointer = NULL;

    json_at_pointer(at, above);
    if (err->text[0] != '/' || !colon)
        pointer = text_copy(above);
    else
        pointer = text_format("%s%.*s", above, (int)(colon - err->text), err->text);
    problem_add(at->problem, PROBLEM_INVALID_FIELD, pointer, "%s",
                err->text[0] == '/' && colon ? colon + 2 : err->text);
}

void config_take(struct reader *r, const struct json_at *at, struct berth_config *out)
{
    size_t n_faults = at->problem->n_fields;
    struct err err = { 0 };

    take_name(at, "profile", NULL, &out->profile);
    out->has_actions = take_words(r, at, "actions", &out->actions);
    take_tiers(r, at, out);
    take_shard(r, at, out);
    out->action_arguments = take_object_value(r, at, "actionArguments");
    out->policy = take_object_value(r, at, "policy");
    if (at->problem->n_fields == n_faults && berth_config_check(out, &err) < 0)
        refuse_by_engine(at, &err);
}

static bool begins_as_json(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    return i < n && text[i] == '{';
}

int scenario_config_read(const char *text, size_t n, struct scenario_config **out,
                         struct problem *problem)
{
    static const struct json_key keys[] = { KEY("profile"), KEY("policy"),          KEY("actions"),
                                            KEY("tiers"),   KEY("actionArguments"), KEY("shard") };
    struct scenario_config *config = NEW0(struct scenario_config);
    struct reader r = { .arena = &config->arena };
    bool is_json = begins_as_json(text, n);
    int result = is_json ? json_read(text, n, 1 << 20, &config->object, problem)
                         : yaml_read(text, n, 1 << 20, &config->object, problem);
    struct json_at top = json_at_top(config->object, problem);

    if (config->object && !json_is_null(config->object) && CHECK_KEYS(&top, keys))
        config_take(&r, &top, &config->config);
    if (result == 0 && !problem->code) {
        *out = config;
        return 0;
    }
    if (config->object && is_json)
        json_locate(text, n, problem);
    else if (config->object)
        yaml_locate(text, n, problem);
    scenario_config_free(config);
    return -EINVAL;
}

void scenario_config_free(struct scenario_config *config)
{
    if (!config)
        return;
    json_decref(config->object);
    arena_fini(&config->arena);
    mem_free(config);
}

const struct berth_config *scenario_config_get(const struct scenario_config *config)
{
    return &config->config;
}

/*
 * Configurations: see config.h. Names, types and ranges are the engine's to judge; its answer
 * begins with a pointer beneath the configuration.
 */
#include "scenario/config.h"

#include <errno.h>
#include <string.h>

#include "api/yaml.h"
#include "base/str.h"
#include "scenario/files.h"
#include "scenario/scenario.h"

struct scenario_config {
    struct arena arena;
    json_t *object;
    struct taken_config taken;
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
        CHECK_KEYS(&at, keys);
        if (!json_is_object(at.value))
            continue;
        if (!take_name(&at, "name", NULL, &uses[i].name) && !json_object_get(at.value, "name"))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "a name is needed");
        take_enabled(&at, &uses[i]);
        if (json_is_object(arguments.value))
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

/* Whether a pointer is another's, or leads beneath it. */
static bool is_beneath(const char *pointer, const char *above)
{
    size_t n = strlen(above);

    return strncmp(pointer, above, n) == 0 && (!pointer[n] || pointer[n] == '/');
}

/* "/tiers/0/plugins/1/name: no such plugin" as a fault beneath the configuration. */
static void refuse_by_engine(const char *text, void *arg)
{
    const struct json_at *at = arg;
    const char *colon = strstr(text, ": ");
    char above[JSON_POINTER_SIZE];
    CLEANUP(freep) char *pointer = NULL;

    json_at_pointer(at, above);
    if (text[0] != '/' || !colon)
        pointer = text_copy(above);
    else
        pointer = text_format("%s%.*s", above, (int)(colon - text), text);
    for (size_t i = 0; i < problem_n_kept(at->problem); i++)
        if (is_beneath(pointer, at->problem->fields[i].pointer))
            return; /* what could not be read was told of */
    problem_add(at->problem, PROBLEM_INVALID_FIELD, pointer, "%s",
                text[0] == '/' && colon ? colon + 2 : text);
}

/* --- Files */

static void refuse_by_file(const struct json_at *at, const struct err *err)
{
    json_refuse(at, PROBLEM_INVALID_FIELD, "%s", err->text);
}

static void take_plugin(struct reader *r, const struct json_at *at, struct taken_config *out)
{
    static const struct json_key keys[] = { KEY("path"), KEY("sha256") };
    const char *path = json_string_value(at->value), *hash = NULL;
    const struct berth_plugin_file *file;
    struct json_at at_path = json_at_member(at, "path");
    struct err err = { 0 };

    if (!path && !CHECK_KEYS(at, keys))
        return;
    if (!path && !take_name(at, "path", NULL, &path)) {
        if (!at_path.value)
            json_refuse(at, PROBLEM_INVALID_FIELD, "a path is needed");
        return;
    }
    take_name(at, "sha256", NULL, &hash);
    /* Where more is said of it than is understood nothing of it runs. */
    if (json_is_object(at->value) && json_object_size(at->value) != 1 + (size_t)(hash != NULL))
        return;
    if (!r->files)
        json_refuse(at, PROBLEM_INVALID_FIELD, "plugins cannot be loaded here");
    else if (files_plugin(r->files, path, hash, &file, &err) < 0)
        refuse_by_file(at, &err);
    else
        out->plugins[out->n_plugins++] = *file;
}

static void take_plugin_files(struct reader *r, const struct json_at *up, struct taken_config *out)
{
    struct json_at list;
    size_t n;

    if (!take_list(up, "plugins", &list, &n))
        return;
    out->plugins = ARENA_NEW0_N(r->arena, struct berth_plugin_file, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        take_plugin(r, &at, out);
    }
}

/* The members of two objects; those of `over` win. */
static const struct berth_value *lay_over(struct reader *r, const struct berth_value *under,
                                          const struct berth_value *over)
{
    struct berth_value *both, *members;

    if (!under || !over)
        return over ? over : under;
    both = ARENA_NEW0(r->arena, struct berth_value);
    members = ARENA_NEW0_N(r->arena, struct berth_value, under->n_members + over->n_members + 1);
    *both = *over;
    both->members = members;
    both->n_members = 0;
    for (size_t i = 0; i < under->n_members; i++)
        if (!berth_value_get(over, under->members[i].key))
            members[both->n_members++] = under->members[i];
    for (size_t i = 0; i < over->n_members; i++)
        members[both->n_members++] = over->members[i];
    return both;
}

static void lay_plugins_over(struct reader *r, const struct scenario_config *under,
                             struct taken_config *out)
{
    struct berth_plugin_file *all = ARENA_NEW0_N(r->arena, struct berth_plugin_file,
                                                 under->taken.n_plugins + out->n_plugins + 1);
    size_t n = 0, k;

    for (size_t i = 0; i < out->n_plugins; i++)
        all[n++] = out->plugins[i];
    for (size_t i = 0; i < under->taken.n_plugins; i++) {
        for (k = 0; k < n && all[k].plugin != under->taken.plugins[i].plugin; k++)
            continue;
        if (k == n)
            all[n++] = under->taken.plugins[i];
    }
    out->plugins = all;
    out->n_plugins = n;
}

/* Lays a configuration over a profile that a file holds. */
static void take_profile(struct reader *r, const struct json_at *up, struct taken_config *taken)
{
    struct json_at at = json_at_member(up, "profile");
    struct berth_config *out = &taken->config;
    const struct scenario_config *file;
    const struct berth_config *profile;
    struct err err = { 0 };

    if (!out->profile || !strchr(out->profile, '/'))
        return;
    if (!r->files) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "profiles cannot be read from files here");
        return;
    }
    if (files_profile(r->files, out->profile, &file, &err) < 0) {
        refuse_by_file(&at, &err);
        return;
    }
    profile = scenario_config_get(file);
    lay_plugins_over(r, file, taken);
    out->profile = profile->profile;
    if (!out->has_actions) {
        out->has_actions = profile->has_actions;
        out->actions = profile->actions;
    }
    if (!out->has_tiers) {
        out->has_tiers = profile->has_tiers;
        out->tiers = profile->tiers;
        out->n_tiers = profile->n_tiers;
    }
    if (!json_object_get(up->value, "shard")) {
        out->shard_mode = profile->shard_mode;
        out->shard_nodes = profile->shard_nodes;
    }
    out->action_arguments = lay_over(r, profile->action_arguments, out->action_arguments);
    out->policy = lay_over(r, profile->policy, out->policy);
}

void config_take(struct reader *r, const struct json_at *at, struct taken_config *taken)
{
    struct berth_config *out = &taken->config;
    size_t n_faults;
    bool are_all;

    take_name(at, "profile", NULL, &out->profile);
    out->has_actions = take_words(r, at, "actions", &out->actions);
    take_tiers(r, at, out);
    take_shard(r, at, out);
    out->action_arguments = take_object_value(r, at, "actionArguments");
    out->policy = take_object_value(r, at, "policy");
    n_faults = at->problem->n_fields;
    take_plugin_files(r, at, taken);
    are_all = at->problem->n_fields == n_faults;
    n_faults = at->problem->n_fields;
    take_profile(r, at, taken);
    if (at->problem->n_fields == n_faults) /* else nobody knows what the rest goes by */
        berth_config_faults(out, taken->plugins, taken->n_plugins, are_all, refuse_by_engine,
                            (void *)at);
}

static bool begins_as_json(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    return i < n && text[i] == '{';
}

int scenario_config_read_with(const char *text, size_t n, struct scenario_files *files,
                              struct scenario_config **out, struct problem *problem)
{
    static const struct json_key keys[] = {
        KEY("profile"),         KEY("policy"), KEY("actions"), KEY("tiers"),
        KEY("actionArguments"), KEY("shard"),  KEY("plugins"),
    };
    struct scenario_config *config = NEW0(struct scenario_config);
    struct reader r = { .arena = &config->arena, .files = files };
    bool is_json = begins_as_json(text, n);
    int result = is_json ? json_read(text, n, 1 << 20, &config->object, problem)
                         : yaml_read(text, n, 1 << 20, &config->object, problem);
    struct json_at top = json_at_top(config->object, problem);

    if (config->object && !json_is_null(config->object) && CHECK_KEYS(&top, keys))
        config_take(&r, &top, &config->taken);
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

int scenario_config_read(const char *text, size_t n, struct scenario_config **out,
                         struct problem *problem)
{
    return scenario_config_read_with(text, n, NULL, out, problem);
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
    return &config->taken.config;
}

const struct berth_plugin_file *scenario_config_plugins(const struct scenario_config *config,
                                                        size_t *n)
{
    *n = config->taken.n_plugins;
    return config->taken.plugins;
}

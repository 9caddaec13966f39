/* The configuration file: see server.h and docs/configuration.md. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/json.h"
#include "api/yaml.h"
#include "base/file.h"
#include "base/map.h"
#include "base/name.h"
#include "base/node_lease.h"
#include "scenario/scenario.h"
#include "server/feed_engine.h"
#include "server/server.h"

enum { CONFIG_MAX_BYTES = 1 << 20, POOL_NAME_MAX = 32 };

#define DAY_MS       (INT64_C(24) * 3600 * 1000)
#define TEN_YEARS_MS (3650 * DAY_MS)

struct server_config {
    struct server_options options;
    json_t *document; /* the options' texts live in it */
    struct scenario_config *engine;
    struct scenario_files *files; /* that its part for the engine names */
    struct scenario
        *cluster; /* what `pools`, `failover`, `hyperNodes` and `resourceQuotas` say, or NULL */
    struct berth_delta *objects; /* of it */
    char *path;
};

static const struct json_key top_keys[] = {
    { "listen", false },       { "workerListen", false }, { "data", false },
    { "store", false },        { "tokenFile", false },    { "tokens", false },
    { "nodes", false },        { "retain", false },       { "log", false },
    { "scheduler", false },    { "pools", false },        { "failover", false },
    { "orderTimeout", false }, { "hyperNodes", false },   { "resourceQuotas", false },
};
static const struct json_key tokens_keys[] = { { "lifetime", false } };
static const struct json_key nodes_keys[] = { { "ttl", false }, { "beat", false } };
static const struct json_key log_keys[] = { { "level", false }, { "format", false } };

static const char *const log_format_words[LOG_FORMAT_COUNT] = {
    [LOG_TEXT] = "text", [LOG_JSON] = "json"
};

/* A part of the document, checked; false if it is not there or will not do. */
static bool begin_part(const struct json_at *top, const char *key, const struct json_key *keys,
                       size_t n, struct json_at *out)
{
    *out = json_at_member(top, key);
    return out->value && json_check_object(out, keys, n);
}

static void read_log(const struct json_at *top, struct server_options *out)
{
    struct json_at at;
    int word = 0;

    if (!begin_part(top, "log", log_keys, COUNT_OF(log_keys), &at))
        return;
    out->has_log_level = json_get_word(&at, "level", log_level_words, LOG_LEVEL_COUNT, &word);
    out->log_level = out->has_log_level ? (enum log_level)word : LOG_INFO;
    out->has_log_format = json_get_word(&at, "format", log_format_words, LOG_FORMAT_COUNT, &word);
    out->log_format = out->has_log_format ? (enum log_format)word : LOG_TEXT;
}

/* An order's key is its pool's name and a number, and a node's name. */
static void check_pool(const struct json_at *top, const struct berth_pool *pool, size_t place)
{
    CLEANUP(freep) char *pointer = text_format("/pools/%zu/name", place);

    if (!name_is_valid_node(pool->name) || strlen(pool->name) > POOL_NAME_MAX)
        problem_add(top->problem, PROBLEM_INVALID_FIELD, pointer,
                    "1 to %d letters, digits, \".\" and \"-\": its machines are named after it",
                    POOL_NAME_MAX);
}

static bool has_pool(const struct server_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_objects; i++)
        if (options->objects[i].kind == BERTH_POOL && text_eq(options->objects[i].pool->name, name))
            return true;
    return false;
}

/* In a document a chain may name what is not there; nobody writes that of his own pools on
 * purpose. */
static void check_chain(const struct json_at *top, const struct server_options *options,
                        const struct berth_chain *chain)
{
    struct json_at failover = json_at_member(top, "failover");
    struct json_at list = json_at_member(&failover, chain->model);

    if (!chain->pools.n)
        json_refuse(&list, PROBLEM_INVALID_FIELD, "names no pool; leave it out");
    for (size_t i = 0; i < chain->pools.n; i++) {
        struct json_at at = json_at_item(&list, i);
        size_t before = 0;

        while (!text_eq(chain->pools.at[before], chain->pools.at[i]))
            before++;
        if (before < i)
            json_refuse(&at, PROBLEM_INVALID_FIELD, "\"%.80s\" stands here twice",
                        chain->pools.at[i]);
        else if (!has_pool(options, chain->pools.at[i]))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "\"%.80s\" is no pool; list it in /pools",
                        chain->pools.at[i]);
    }
}

/* A domain is listed, and beneath one other at most. */
static void check_children(const struct json_at *top, const struct server_options *options)
{
    struct map parents = { 0 };
    size_t place = 0;

    for (size_t i = 0; i < options->n_objects; i++)
        if (options->objects[i].kind == BERTH_DOMAIN)
            map_put(&parents, options->objects[i].domain->name, (char *)"");
    for (size_t i = 0; i < options->n_objects; i++) {
        const struct berth_domain *domain = options->objects[i].domain;

        if (options->objects[i].kind != BERTH_DOMAIN)
            continue;
        for (size_t k = 0; k < domain->children.n; k++) {
            CLEANUP(freep) char *at = text_format("/hyperNodes/%zu/children/%zu", place, k);
            const char *parent = map_get(&parents, domain->children.at[k]);

            if (!parent)
                problem_add(top->problem, PROBLEM_INVALID_FIELD, at,
                            "\"%.80s\" is none of the domains; nodes stand under nodes",
                            domain->children.at[k]);
            else if (*parent)
                problem_add(top->problem, PROBLEM_INVALID_FIELD, at,
                            "\"%.80s\" is beneath \"%.80s\" already", domain->children.at[k],
                            parent);
            else
                map_put(&parents, domain->children.at[k], (char *)domain->name);
        }
        place++;
    }
    map_fini(&parents);
}

static void check_quota(const struct json_at *top, const struct berth_quota *quota, size_t place)
{
    CLEANUP(freep) char *pointer = text_format("/resourceQuotas/%zu/namespace", place);

    if (!name_is_valid(quota->namespace_))
        problem_add(top->problem, PROBLEM_INVALID_FIELD, pointer,
                    "\"%.80s\" is not a namespace's name: 1 to %d of a-z, 0-9 and -",
                    quota->namespace_, NAME_MAX_BYTES);
}

static void check_objects(const struct json_at *top, const struct server_options *options)
{
    size_t n_pools = 0, n_quotas = 0;

    for (size_t i = 0; i < options->n_objects; i++) {
        const struct berth_delta *object = &options->objects[i];

        if (object->kind == BERTH_POOL)
            check_pool(top, object->pool, n_pools++);
        else if (object->kind == BERTH_CHAIN)
            check_chain(top, options, object->chain);
        else if (object->kind == BERTH_QUOTA)
            check_quota(top, object->quota, n_quotas++);
    }
    check_children(top, options);
}

/* Pools, chains, network domains and quotas are read as a scenario's are; what is found is at the
 * same place here. */
static void read_objects(const struct json_at *top, struct server_config *config)
{
    CLEANUP(json_decrefp) json_t *document = json_object();
    CLEANUP(freep) char *text = NULL;
    static const char *const keys[] = { "pools", "failover", "hyperNodes", "resourceQuotas" };
    const struct problem *found;
    const struct berth_delta *deltas;
    size_t n;

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (json_object_get(top->value, keys[i]))
            json_object_set(document, keys[i], json_object_get(top->value, keys[i]));
    if (!json_object_size(document))
        return;
    text = json_dumps(document, JSON_ENCODE_ANY);
    config->cluster = scenario_read(text, strlen(text));
    found = scenario_problem(config->cluster);
    for (size_t i = 0; i < found->n_fields && i < PROBLEM_FIELDS_MAX; i++)
        problem_add(top->problem, found->fields[i].code, found->fields[i].pointer, "%s",
                    found->fields[i].text);
    if (found->code && !found->n_fields)
        problem_set(top->problem, found->code, "%s", found->detail);
    deltas = scenario_deltas(config->cluster, &n);
    config->objects = NEW0_N(struct berth_delta, n + 1);
    for (size_t i = 0; i < n; i++)
        if (deltas[i].kind == BERTH_POOL || deltas[i].kind == BERTH_CHAIN ||
            deltas[i].kind == BERTH_DOMAIN || deltas[i].kind == BERTH_QUOTA)
            config->objects[config->options.n_objects++] = deltas[i];
    config->options.objects = config->objects;
    check_objects(top, &config->options);
}

/* A quota that nothing heeds would be found out by who is over it. */
static int check_heeded(const struct json_at *top, const struct server_options *options)
{
    struct feed_engine_from from = { .config = options->engine,
                                     .plugins = options->plugins,
                                     .n_plugins = options->n_plugins };
    struct json_at at = json_at_member(top, "resourceQuotas");
    struct berth_engine *engine = NULL;
    struct err err = { 0 };
    int r;

    if (!json_array_size(at.value) || top->problem->code)
        return 0;
    r = feed_engine_make(&from, &engine, &err);
    if (r < 0)
        problem_set(top->problem, PROBLEM_INVALID_FIELD, "%s", err.text);
    else if (!berth_engine_holds_quotas(engine))
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "nothing heeds it: /scheduler/tiers needs the plugin share, or resourcequota "
                    "with the action enqueue");
    berth_engine_free(engine);
    return r;
}

/* The profile as the file names it: one that is a file has become what that says. */
static void name_profile(const json_t *scheduler, struct server_options *options)
{
    const char *profile = json_string_value(json_object_get(scheduler, "profile"));

    options->profile = profile ? profile : "berth";
}

/* The ledger starts no part of a gang, so a server under who decides so would start none at all. */
static void check_gangs(const struct json_at *top, const struct server_config *config)
{
    const struct server_options *options = &config->options;
    struct feed_engine_from from = { .config = options->engine,
                                     .plugins = options->plugins,
                                     .n_plugins = options->n_plugins };
    struct berth_engine *engine = NULL;
    struct err err = { 0 };

    if (feed_engine_make(&from, &engine, &err) < 0)
        problem_add(top->problem, PROBLEM_INVALID_FIELD, "/scheduler", "%s", err.text);
    else if (berth_engine_starts_parts(engine))
        problem_add(top->problem, PROBLEM_INVALID_FIELD, "/scheduler",
                    "without plugin gang in its tiers this profile would start parts of gangs");
    berth_engine_free(engine);
}

/* The engine's part is read by those who know it; what they find is named beneath /scheduler. */
static void read_scheduler(const struct json_at *top, struct server_config *config)
{
    const json_t *value = json_object_get(top->value, "scheduler");
    CLEANUP(freep) char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    struct problem found = { 0 };

    if (!text)
        return;
    if (scenario_config_read_with(text, strlen(text), config->files, &config->engine, &found) ==
        0) {
        config->options.engine = scenario_config_get(config->engine);
        config->options.plugins =
            scenario_config_plugins(config->engine, &config->options.n_plugins);
        name_profile(value, &config->options);
        check_gangs(top, config);
        return;
    }
    for (size_t i = 0; i < found.n_fields && i < PROBLEM_FIELDS_MAX; i++) {
        CLEANUP(freep) char *pointer = text_format("/scheduler%s", found.fields[i].pointer);
        problem_add(top->problem, found.fields[i].code, pointer, "%s", found.fields[i].text);
    }
    if (!found.n_fields)
        problem_add(top->problem, found.code, "/scheduler", "%s", found.detail);
    top->problem->n_fields += found.n_fields - problem_n_kept(&found); /* counted, if not kept */
}

/* A time of which nothing is no sense; to leave it out is the way to the default. */
static void read_span(const struct json_at *up, const char *key, int64_t most_ms, int64_t *out_ms)
{
    struct json_at at = json_at_member(up, key);

    if (json_get_duration(up, key, most_ms, out_ms) && *out_ms == 0)
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "must be more than 0s; leave it out for the default");
}

static void read_nodes(const struct json_at *top, struct server_options *out)
{
    struct json_at at, at_ttl, at_beat;
    int64_t ttl_ms;

    if (!begin_part(top, "nodes", nodes_keys, COUNT_OF(nodes_keys), &at))
        return;
    read_span(&at, "ttl", DAY_MS, &out->node_ttl_ms);
    read_span(&at, "beat", DAY_MS, &out->node_beat_ms);
    at_ttl = json_at_member(&at, "ttl");
    at_beat = json_at_member(&at, "beat");
    ttl_ms = out->node_ttl_ms ? out->node_ttl_ms : NODE_LEASE_TTL_MS;
    if (ttl_ms < NODE_LEASE_TTL_MIN_MS)
        json_refuse(&at_ttl, PROBLEM_INVALID_FIELD, "it must be at least 1s");
    if (out->node_beat_ms * 2 > ttl_ms)
        json_refuse(&at_beat, PROBLEM_INVALID_FIELD, "it must be at most half of ttl");
    if (!out->node_beat_ms)
        out->node_beat_ms = node_lease_beat_ms(ttl_ms);
}

static void read_document(const struct json_at *top, struct server_options *out)
{
    struct json_at at;

    if (!json_check_object(top, top_keys, COUNT_OF(top_keys)))
        return;
    json_get_text(top, "listen", &out->listen);
    json_get_text(top, "workerListen", &out->worker_listen);
    json_get_text(top, "data", &out->data);
    json_get_text(top, "store", &out->store);
    json_get_text(top, "tokenFile", &out->token_file);
    read_span(top, "retain", TEN_YEARS_MS, &out->retain_ms);
    read_span(top, "orderTimeout", TEN_YEARS_MS, &out->order_ttl_ms);
    if (begin_part(top, "tokens", tokens_keys, COUNT_OF(tokens_keys), &at))
        json_get_duration(&at, "lifetime", TEN_YEARS_MS, &out->token_lifetime_ms);
    read_nodes(top, out);
    read_log(top, out);
}

static int read_text(const char *text, size_t n, struct server_config *config,
                     struct problem *problem)
{
    struct json_at top;

    if (yaml_read(text, n, CONFIG_MAX_BYTES, &config->document, problem) < 0)
        return -EINVAL;
    if (json_is_null(config->document)) /* an empty file says nothing */
        return 0;
    top = json_at_top(config->document, problem);
    read_document(&top, &config->options);
    read_scheduler(&top, config);
    read_objects(&top, config);
    if (check_heeded(&top, &config->options) < 0)
        return -EINVAL;
    yaml_locate(text, n, problem);
    return problem->code ? -EINVAL : 0;
}

int server_config_read(const char *path, struct server_config **out, struct str *faults,
                       struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct server_config *config;
    struct problem problem = { 0 };
    int r = file_read(AT_FDCWD, path, CONFIG_MAX_BYTES, &text, err);

    if (r < 0)
        return r;
    config = NEW0(struct server_config);
    config->files = scenario_files_new(path);
    config->path = text_copy(path);
    config->options.config = config->path;
    if (read_text(str_text(&text), text.len, config, &problem) < 0) {
        problem_write(&problem, path, faults);
        server_config_free(config);
        return err_set(err, -EINVAL, "%.*s", (int)strcspn(str_text(faults), "\n"),
                       str_text(faults));
    }
    *out = config;
    return 0;
}

void server_config_free(struct server_config *config)
{
    if (!config)
        return;
    json_decref(config->document);
    scenario_config_free(config->engine);
    scenario_files_free(config->files);
    scenario_free(config->cluster);
    mem_free(config->objects);
    mem_free(config->path);
    mem_free(config);
}

const struct server_options *server_config_options(const struct server_config *config)
{
    return &config->options;
}

/* The configuration file: see server.h and docs/configuration.md. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/json.h"
#include "api/yaml.h"
#include "base/file.h"
#include "base/name.h"
#include "scenario/scenario.h"
#include "server/server.h"

enum { CONFIG_MAX_BYTES = 1 << 20, POOL_NAME_MAX = 32 };

#define DAY_MS       (INT64_C(24) * 3600 * 1000)
#define TEN_YEARS_MS (3650 * DAY_MS)

struct server_config {
    struct server_options options;
    json_t *document; /* the options' texts live in it */
    struct scenario_config *engine;
    struct scenario_files *files; /* that its part for the engine names */
    struct scenario *pools;       /* what `pools` and `failover` say, or NULL */
    struct berth_delta *objects;  /* of it */
    char *path;
};

static const struct json_key top_keys[] = {
    { "listen", false },       { "workerListen", false }, { "data", false },  { "store", false },
    { "tokenFile", false },    { "tokens", false },       { "nodes", false }, { "retain", false },
    { "log", false },          { "scheduler", false },    { "pools", false }, { "failover", false },
    { "orderTimeout", false }, { "hyperNodes", false },
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
static void check_names(const struct json_at *top, const struct server_options *options)
{
    for (size_t i = 0, place = 0; i < options->n_objects; i++) {
        CLEANUP(freep) char *pointer = NULL;
        const char *name;

        if (options->objects[i].kind != BERTH_POOL)
            continue;
        name = options->objects[i].pool->name;
        pointer = text_format("/pools/%zu/name", place++);
        if (!name_is_valid_node(name) || strlen(name) > POOL_NAME_MAX)
            problem_add(top->problem, PROBLEM_INVALID_FIELD, pointer,
                        "1 to %d letters, digits, \".\" and \"-\": its machines are named after it",
                        POOL_NAME_MAX);
    }
}

/* Pools, chains and network domains are read as a scenario's are; what is found is at the same place here. */
static void read_pools(const struct json_at *top, struct server_config *config)
{
    CLEANUP(json_decrefp) json_t *document = json_object();
    CLEANUP(freep) char *text = NULL;
    static const char *const keys[] = { "pools", "failover", "hyperNodes" };
    const struct problem *found;
    const struct berth_delta *deltas;
    size_t n;

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (json_object_get(top->value, keys[i]))
            json_object_set(document, keys[i], json_object_get(top->value, keys[i]));
    if (!json_object_size(document))
        return;
    text = json_dumps(document, JSON_ENCODE_ANY);
    config->pools = scenario_read(text, strlen(text));
    found = scenario_problem(config->pools);
    for (size_t i = 0; i < found->n_fields && i < PROBLEM_FIELDS_MAX; i++)
        problem_add(top->problem, found->fields[i].code, found->fields[i].pointer, "%s",
                    found->fields[i].text);
    if (found->code && !found->n_fields)
        problem_set(top->problem, found->code, "%s", found->detail);
    deltas = scenario_deltas(config->pools, &n);
    config->objects = NEW0_N(struct berth_delta, n + 1);
    for (size_t i = 0; i < n; i++)
        if (deltas[i].kind == BERTH_POOL || deltas[i].kind == BERTH_CHAIN ||
            deltas[i].kind == BERTH_DOMAIN)
            config->objects[config->options.n_objects++] = deltas[i];
    config->options.objects = config->objects;
    check_names(top, &config->options);
}

/* The profile as the file names it: one that is a file has become what that says. */
static void name_profile(const json_t *scheduler, struct server_options *options)
{
    const char *profile = json_string_value(json_object_get(scheduler, "profile"));

    options->profile = profile ? profile : "berth";
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
        return;
    }
    for (size_t i = 0; i < found.n_fields && i < PROBLEM_FIELDS_MAX; i++) {
        CLEANUP(freep) char *pointer = text_format("/scheduler%s", found.fields[i].pointer);
        problem_add(top->problem, found.fields[i].code, pointer, "%s", found.fields[i].text);
    }
    if (!found.n_fields)
        problem_add(top->problem, found.code, "/scheduler", "%s", found.detail);
}

static void read_nodes(const struct json_at *top, struct server_options *out)
{
    struct json_at at, at_ttl, at_beat;
    int64_t ttl_ms;

    if (!begin_part(top, "nodes", nodes_keys, COUNT_OF(nodes_keys), &at))
        return;
    json_get_duration(&at, "ttl", DAY_MS, &out->node_ttl_ms);
    json_get_duration(&at, "beat", DAY_MS, &out->node_beat_ms);
    at_ttl = json_at_member(&at, "ttl");
    at_beat = json_at_member(&at, "beat");
    ttl_ms = out->node_ttl_ms ? out->node_ttl_ms : SERVER_NODE_TTL_MS;
    if (ttl_ms < SERVER_NODE_TTL_MIN_MS)
        json_refuse(&at_ttl, PROBLEM_INVALID_FIELD, "it must be at least 1s");
    if (out->node_beat_ms * 2 > ttl_ms)
        json_refuse(&at_beat, PROBLEM_INVALID_FIELD, "it must be at most half of ttl");
    if (!out->node_beat_ms)
        out->node_beat_ms = ttl_ms / 3;
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
    json_get_duration(top, "retain", TEN_YEARS_MS, &out->retain_ms);
    json_get_duration(top, "orderTimeout", TEN_YEARS_MS, &out->order_ttl_ms);
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
    read_pools(&top, config);
    yaml_locate(text, n, problem);
    return problem->code ? -EINVAL : 0;
}

int server_config_read(const char *path, struct server_config **out, struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 }, why = { 0 };
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
        problem_write(&problem, path, &why);
        server_config_free(config);
        return err_set(err, -EINVAL, "%.*s", (int)strcspn(str_text(&why), "\n"), str_text(&why));
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
    scenario_free(config->pools);
    mem_free(config->objects);
    mem_free(config->path);
    mem_free(config);
}

const struct server_options *server_config_options(const struct server_config *config)
{
    return &config->options;
}

/* The configuration file: see server.h and docs/configuration.md. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/json.h"
#include "api/yaml.h"
#include "base/file.h"
#include "scenario/scenario.h"
#include "server/actions.h"
#include "server/server.h"

enum { CONFIG_MAX_BYTES = 1 << 20 };

#define DAY_MS       (INT64_C(24) * 3600 * 1000)
#define TEN_YEARS_MS (3650 * DAY_MS)

struct server_config {
    struct server_options options;
    json_t *document; /* the options' texts live in it */
    struct scenario_config *engine;
    struct scenario_files *files; /* that its part for the engine names */
};

static const struct json_key top_keys[] = {
    { "listen", false },    { "workerListen", false }, { "data", false },  { "store", false },
    { "tokenFile", false }, { "tokens", false },       { "nodes", false }, { "retain", false },
    { "log", false },       { "scheduler", false },
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

/* Names the actions that the server does not carry out where the file has them. */
static void check_actions(const struct json_at *top, const struct server_options *options)
{
    struct err err = { 0 };
    CLEANUP(freep) char *pointer = NULL;

    if (actions_check(options->engine, options->are_actions_of_profile, &pointer, &err) < 0)
        problem_add(top->problem, PROBLEM_INVALID_FIELD, pointer, "%s", err.text);
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
        config->options.are_actions_of_profile = !json_object_get(value, "actions");
        config->options.plugins =
            scenario_config_plugins(config->engine, &config->options.n_plugins);
        check_actions(top, &config->options);
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
    free(config);
}

const struct server_options *server_config_options(const struct server_config *config)
{
    return &config->options;
}

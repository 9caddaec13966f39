/* The agent's configuration file: see agent_config.h. Never says what a machine has. */
#include "program/agent_config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/json.h"
#include "api/yaml.h"
#include "base/file.h"
#include "base/name.h"
#include "program/inside.h"

enum { CONFIG_MAX_BYTES = 1 << 20, LIST_MAX = 1000 };

static const struct json_key top_keys[] = {
    { "server", false },       { "tokenFile", false },     { "name", false },
    { "data", false },         { "runtime", false },       { "offers", false },
    { "labels", false },       { "taints", false },        { "imagePrefixes", false },
    { "allowProcess", false }, { "speedUpAttach", false }, { "log", false },
};
static const struct json_key taint_keys[] = { { "key", false },
                                              { "value", false },
                                              { "effect", false } };
static const struct json_key log_keys[] = { { "level", false }, { "format", false } };

enum { EFFECT_COUNT = 3 };
static const char *const effect_words[EFFECT_COUNT] = { "NoSchedule", "PreferNoSchedule",
                                                        "NoExecute" };
static const char *const log_format_words[LOG_FORMAT_COUNT] = {
    [LOG_TEXT] = "text", [LOG_JSON] = "json"
};

/* ---- the file ---- */

/* A member that is an object of names; false if it is not there, or none. */
static bool begin_names(const struct json_at *top, const char *key, struct json_at *out)
{
    *out = json_at_member(top, key);
    if (!out->value)
        return false;
    if (json_is_object(out->value))
        return true;
    json_refuse(out, PROBLEM_INVALID_FIELD, "must be an object, not %s",
                json_type_word(out->value));
    return false;
}

static bool check_name(const struct json_at *at)
{
    if (name_is_valid_label(at->key))
        return true;
    json_refuse(at, PROBLEM_INVALID_FIELD, "'%s' cannot be a name", at->key);
    return false;
}

static void read_offers(const struct json_at *top, struct agent_config *out)
{
    struct json_at offers;
    const char *key;
    json_t *value;

    if (!begin_names(top, "offers", &offers))
        return;
    json_object_foreach((json_t *)offers.value, key, value)
    {
        struct json_at at = json_at_member(&offers, key);
        struct agent_offer offer = { .resource = key };

        if (check_name(&at) && json_quantity(&at, quantity_unit_of(key), &offer.value))
            VEC_PUSH(&out->offers, offer);
    }
}

static void read_labels(const struct json_at *top, struct agent_config *out)
{
    struct json_at labels;
    const char *key;
    json_t *value;

    if (!begin_names(top, "labels", &labels))
        return;
    json_object_foreach((json_t *)labels.value, key, value)
    {
        struct json_at at = json_at_member(&labels, key);
        struct agent_label label = { .key = key };

        if (check_name(&at) && json_get_text(&labels, key, &label.value))
            VEC_PUSH(&out->labels, label);
    }
}

static void read_taint(const struct json_at *at, struct agent_config *out)
{
    struct agent_taint taint = { .value = "" };
    int effect = -1;

    if (!json_check_object(at, taint_keys, COUNT_OF(taint_keys)))
        return;
    if (!json_get_text(at, "key", &taint.key) || !name_is_valid_label(taint.key)) {
        json_refuse(at, PROBLEM_INVALID_FIELD, "it needs a key, such as dedicated");
        return;
    }
    json_get_text(at, "value", &taint.value);
    if (json_get_word(at, "effect", effect_words, EFFECT_COUNT, &effect)) {
        taint.effect = effect_words[effect];
        VEC_PUSH(&out->taints, taint);
    } else if (!json_object_get(at->value, "effect")) {
        json_refuse(at, PROBLEM_INVALID_FIELD,
                    "it needs an effect: NoSchedule, PreferNoSchedule or NoExecute");
    }
}

static void read_taints(const struct json_at *top, struct agent_config *out)
{
    struct json_at taints = json_at_member(top, "taints");

    if (!taints.value || !json_check_list(&taints, LIST_MAX))
        return;
    for (size_t i = 0; i < json_array_size(taints.value); i++) {
        struct json_at at = json_at_item(&taints, i);

        read_taint(&at, out);
    }
}

static void read_prefixes(const struct json_at *top, struct agent_config *out)
{
    struct json_at prefixes = json_at_member(top, "imagePrefixes");

    if (!prefixes.value || !json_check_list(&prefixes, LIST_MAX))
        return;
    for (size_t i = 0; i < json_array_size(prefixes.value); i++) {
        struct json_at at = json_at_item(&prefixes, i);
        const char *path = json_string_value(at.value);

        if (path && path[0] == '/')
            VEC_PUSH(&out->image_prefixes, path);
        else
            json_refuse(&at, PROBLEM_INVALID_FIELD, "want the absolute path of a folder");
    }
}

static void read_log(const struct json_at *top, struct agent_config *out)
{
    struct json_at at = json_at_member(top, "log");
    int word = 0;

    if (!at.value || !json_check_object(&at, log_keys, COUNT_OF(log_keys)))
        return;
    out->has_log_level = json_get_word(&at, "level", log_level_words, LOG_LEVEL_COUNT, &word);
    out->log_level = out->has_log_level ? (enum log_level)word : LOG_INFO;
    out->has_log_format = json_get_word(&at, "format", log_format_words, LOG_FORMAT_COUNT, &word);
    out->log_format = out->has_log_format ? (enum log_format)word : LOG_TEXT;
}

static void read_words(const struct json_at *top, struct agent_config *out)
{
    bool allows = true, speeds_up = true;
    int kind;

    json_get_text(top, "server", &out->servers);
    json_get_text(top, "tokenFile", &out->token_file);
    json_get_text(top, "data", &out->data);
    if (json_get_text(top, "name", &out->name) && !name_is_valid_node(out->name)) {
        struct json_at at = json_at_member(top, "name");

        json_refuse(&at, PROBLEM_INVALID_FIELD, "'%s' cannot be a node's name", out->name);
    }
    if (json_get_word(top, "runtime", runtime_kind_words, RUNTIME_KIND_COUNT, &kind))
        out->runtime = runtime_kind_words[kind];
    json_get_bool(top, "allowProcess", &allows);
    json_get_bool(top, "speedUpAttach", &speeds_up);
    out->forbids_process = !allows;
    out->forbids_speed_up = !speeds_up;
}

static int read_text(const char *text, size_t n, struct agent_config *out, struct problem *problem)
{
    struct json_at top;

    if (yaml_read(text, n, CONFIG_MAX_BYTES, &out->document, problem) < 0)
        return -EINVAL;
    if (json_is_null(out->document)) /* an empty file says nothing */
        return 0;
    top = json_at_top(out->document, problem);
    if (json_check_object(&top, top_keys, COUNT_OF(top_keys))) {
        read_words(&top, out);
        read_offers(&top, out);
        read_labels(&top, out);
        read_taints(&top, out);
        read_prefixes(&top, out);
        read_log(&top, out);
    }
    yaml_locate(text, n, problem);
    return problem->code ? -EINVAL : 0;
}

int agent_config_read(const char *path, struct agent_config *out, struct str *faults,
                      struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct problem problem = { 0 };
    int r = file_read(AT_FDCWD, path, CONFIG_MAX_BYTES, &text, err);

    if (r < 0)
        return r;
    if (read_text(str_text(&text), text.len, out, &problem) == 0)
        return 0;
    problem_write(&problem, path, faults);
    return err_set(err, -EINVAL, "%.*s", (int)strcspn(str_text(faults), "\n"), str_text(faults));
}

/* ---- flags ---- */

static int take_prefixes(struct agent_config *config, const char *text, struct err *err)
{
    char *rest = NULL;

    if (!text)
        return 0;
    config->words = text_copy(text);
    config->image_prefixes.n = 0;
    for (char *path = strtok_r(config->words, ",", &rest); path;
         path = strtok_r(NULL, ",", &rest)) {
        if (path[0] != '/')
            return err_set(err, -EINVAL, "--image-prefix: '%s' is not an absolute path", path);
        VEC_PUSH(&config->image_prefixes, path);
    }
    if (!config->image_prefixes.n)
        return err_set(err, -EINVAL, "--image-prefix names no folder");
    return 0;
}

int agent_config_take_flags(struct agent_config *config, const struct agent_flags *flags,
                            struct err *err)
{
    CLEANUP(freep)
    struct agent_offer *offers = program_read_offers(flags->offers, flags->n_offers, err);

    if (!offers)
        return err->code;
    for (size_t i = 0; i < flags->n_offers; i++)
        VEC_PUSH(&config->offers, offers[i]);
    for (size_t i = 0; i < flags->n_labels; i++)
        VEC_PUSH(&config->labels,
                 ((struct agent_label){ flags->labels[i].name, flags->labels[i].value }));
    config->servers = flags->servers ? flags->servers : config->servers;
    config->token_file = flags->token_file ? flags->token_file : config->token_file;
    config->name = flags->name ? flags->name : config->name;
    config->data = flags->data ? flags->data : config->data;
    config->runtime = flags->runtime ? flags->runtime : config->runtime;
    return take_prefixes(config, flags->image_prefix, err);
}

void agent_config_fini(struct agent_config *config)
{
    VEC_FINI(&config->offers);
    VEC_FINI(&config->labels);
    VEC_FINI(&config->taints);
    VEC_FINI(&config->image_prefixes);
    json_decref(config->document);
    mem_free(config->words);
    *config = (struct agent_config){ 0 };
}

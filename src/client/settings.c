/*
 * Settings: see client.h. Levels are asked from the nearest to the farthest, each setting by
 * itself; a token and a file with a token are one setting with two spellings.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yaml.h>

#include "base/file.h"
#include "base/nearest.h"
#include "client/client.h"
#include "client/dev.h"

enum { SETTINGS_FILE_MAX_BYTES = 64 << 10, TOKEN_MAX_BYTES = 4096, CONTEXTS_MAX = 100 };

const struct client_setting_name client_setting_names[SETTING_COUNT] = {
    [SETTING_CONTEXT] = { "context", "BERTH_CONTEXT" },
    [SETTING_ADDR] = { "addr", "BERTH_ADDR" },
    [SETTING_TOKEN] = { "token", "BERTH_TOKEN" },
    [SETTING_TOKEN_FILE] = { "tokenFile", "BERTH_TOKEN_FILE" },
    [SETTING_CACERT] = { "cacert", "BERTH_CACERT" },
    [SETTING_CLIENT_CERT] = { "clientCert", "BERTH_CLIENT_CERT" },
    [SETTING_CLIENT_KEY] = { "clientKey", "BERTH_CLIENT_KEY" },
    [SETTING_NAMESPACE] = { "namespace", "BERTH_NAMESPACE" },
    [SETTING_QUEUE] = { "queue", "BERTH_QUEUE" },
    [SETTING_IMAGE] = { "image", NULL },
    [SETTING_OUTPUT] = { "output", "BERTH_OUTPUT" },
};

const char *const client_origin_words[ORIGIN_COUNT] = {
    [ORIGIN_NONE] = "none",       [ORIGIN_FLAG] = "flag", [ORIGIN_ENV] = "environment",
    [ORIGIN_PROJECT] = "project", [ORIGIN_USER] = "user", [ORIGIN_SYSTEM] = "system",
    [ORIGIN_DEV] = "dev",
};

/* One file, read. */
struct level {
    yaml_document_t document;
    bool is_there;
    char *path;
    enum client_origin origin;
};

static void level_fini(struct level *level)
{
    if (level->is_there)
        yaml_document_delete(&level->document);
    mem_free(level->path);
    *level = (struct level){ 0 };
}

static bool is_project_setting(int setting)
{
    return setting == SETTING_NAMESPACE || setting == SETTING_QUEUE || setting == SETTING_IMAGE;
}

static bool is_path_setting(int setting)
{
    return setting == SETTING_TOKEN_FILE || setting == SETTING_CACERT ||
           setting == SETTING_CLIENT_CERT || setting == SETTING_CLIENT_KEY;
}

static int setting_find(const char *key)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (text_eq(client_setting_names[i].key, key))
            return i;
    return -1;
}

static const char *scalar(const yaml_node_t *node)
{
    return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* The value under a key of a mapping, or NULL. */
static yaml_node_t *member(yaml_document_t *document, yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++)
        if (text_eq(scalar(yaml_document_get_node(document, pair->key)), key))
            return yaml_document_get_node(document, pair->value);
    return NULL;
}

/* Checks that a mapping holds nothing but settings; `contexts` where that is allowed. */
static int check_map(struct level *level, yaml_node_t *map, bool may_have_contexts, struct err *err)
{
    yaml_document_t *document = &level->document;

    if (map->type != YAML_MAPPING_NODE)
        return err_set(err, -EINVAL, "%s:%zu: not a mapping of settings", level->path,
                       map->start_mark.line + 1);
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        yaml_node_t *key = yaml_document_get_node(document, pair->key);
        const char *word = scalar(key);
        int setting = word ? setting_find(word) : -1;
        size_t line = key->start_mark.line + 1;

        if (may_have_contexts && text_eq(word, "contexts"))
            continue;
        if (setting < 0)
            return err_set(err, -EINVAL, "%s:%zu: %s is not a setting", level->path, line,
                           word ? word : "this");
        if (level->origin == ORIGIN_PROJECT && !is_project_setting(setting))
            return err_set(
                err, -EINVAL,
                "%s:%zu: %s cannot be set for a project (namespace, queue and image can)",
                level->path, line, word);
        if (!scalar(yaml_document_get_node(document, pair->value)))
            return err_set(err, -EINVAL, "%s:%zu: the value of %s is not a text", level->path, line,
                           word);
    }
    return 0;
}

static int check_level(struct level *level, struct err *err)
{
    yaml_node_t *root = yaml_document_get_root_node(&level->document);
    yaml_node_t *contexts = root ? member(&level->document, root, "contexts") : NULL;
    int r;

    if (!root)
        return 0;
    r = check_map(level, root, level->origin != ORIGIN_PROJECT, err);
    if (r < 0 || !contexts)
        return r;
    if (contexts->type != YAML_MAPPING_NODE)
        return err_set(err, -EINVAL, "%s: contexts is not a mapping", level->path);
    for (yaml_node_pair_t *pair = contexts->data.mapping.pairs.start;
         pair < contexts->data.mapping.pairs.top; pair++) {
        r = check_map(level, yaml_document_get_node(&level->document, pair->value), false, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Reads a file; one that is not there is no error unless it must be. Takes path. */
static int level_read(struct level *level, enum client_origin origin, char *path, bool must_exist,
                      struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct err why = { 0 };
    yaml_parser_t parser;
    int r;

    level->path = path;
    level->origin = origin;
    if (!path)
        return 0;
    r = file_read(AT_FDCWD, path, SETTINGS_FILE_MAX_BYTES, &text, &why);
    if ((r == -ENOENT || r == -ENOTDIR) && !must_exist)
        return 0;
    if (r < 0)
        return err_set(err, -EINVAL, "%s", why.text);
    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)str_text(&text), text.len);
    level->is_there = yaml_parser_load(&parser, &level->document);
    if (!level->is_there)
        r = err_set(err, -EINVAL, "%s:%zu: %s", path, parser.problem_mark.line + 1,
                    parser.problem ? parser.problem : "not YAML");
    yaml_parser_delete(&parser);
    return r < 0 ? r : check_level(level, err);
}

/* What the level says of a setting: of the context first, and of a token in either spelling only
 * there, if the context has one; borrowed. */
static const char *level_get(struct level *level, const char *context, int setting)
{
    yaml_document_t *document = &level->document;
    bool is_token = setting == SETTING_TOKEN || setting == SETTING_TOKEN_FILE;
    const char *key = client_setting_names[setting].key, *value;
    yaml_node_t *root, *map;

    if (!level->is_there)
        return NULL;
    root = yaml_document_get_root_node(document);
    map = context ? member(document, member(document, root, "contexts"), context) : NULL;
    value = scalar(member(document, map, key));
    if (value ||
        (is_token && (member(document, map, "token") || member(document, map, "tokenFile"))))
        return value;
    return scalar(member(document, root, key));
}

/* Where a path in a file leads: "~/" is the home, a relative one starts at the file's folder. */
static char *resolve(const char *file, const char *path)
{
    const char *home = getenv("HOME"), *slash = strrchr(file, '/');

    if (text_begins(path, "~/") && home)
        return text_format("%s/%s", home, path + 2);
    if (*path == '/' || !slash)
        return text_copy(path);
    return text_format("%.*s/%s", (int)(slash - file), file, path);
}

struct levels {
    const char *const *flags;
    struct level files[3]; /* project, user, system */
};

static void levels_fini(struct levels *levels)
{
    for (size_t i = 0; i < COUNT_OF(levels->files); i++)
        level_fini(&levels->files[i]);
}

/* Puts a value in, unless it is there already from a nearer level. */
static void set(struct client_settings *out, int setting, const char *value,
                enum client_origin origin, const char *path)
{
    if (!value || out->values[setting])
        return;
    out->values[setting] =
        path && is_path_setting(setting) ? resolve(path, value) : text_copy(value);
    out->origins[setting] = origin;
    out->paths[setting] = text_copy(path);
}

/* "--token-file" of "tokenFile". */
static char *flag_of(const char *key)
{
    struct str flag = { 0 };

    str_add(&flag, "--");
    for (; *key; key++) {
        bool is_capital = *key >= 'A' && *key <= 'Z';

        str_add(&flag, is_capital ? "-" : "");
        str_add_char(&flag, is_capital ? (char)(*key - 'A' + 'a') : *key);
    }
    return str_take(&flag);
}

int client_setting_blame(const struct client_settings *settings, enum client_setting setting,
                         struct err *err)
{
    const struct client_setting_name *name = &client_setting_names[setting];
    CLEANUP(freep) char *flag = flag_of(name->key);

    switch (settings->origins[setting]) {
    case ORIGIN_FLAG:
        return err_wrap(err, "%s", flag);
    case ORIGIN_ENV:
        return err_wrap(err, "%s", name->env);
    case ORIGIN_PROJECT:
    case ORIGIN_USER:
    case ORIGIN_SYSTEM:
        return err_wrap(err, "%s: %s", settings->paths[setting], name->key);
    case ORIGIN_NONE:
    case ORIGIN_DEV:
    case ORIGIN_COUNT:
        break;
    }
    return err->code;
}

static const char *env_get(int setting)
{
    const char *name = client_setting_names[setting].env;
    const char *value = name ? getenv(name) : NULL;

    return value && *value ? value : NULL;
}

/* Whether one of the two spellings of a token was found: then farther levels do not count. */
static bool has_token(const struct client_settings *out)
{
    return out->values[SETTING_TOKEN] || out->values[SETTING_TOKEN_FILE];
}

static const char *get_nearest(struct levels *levels, int i, const char *context, int setting)
{
    if (i == 0)
        return levels->flags ? levels->flags[setting] : NULL;
    if (i == 1)
        return env_get(setting);
    return level_get(&levels->files[i - 2], context, setting);
}

static void collect(struct levels *levels, struct client_settings *out)
{
    static const enum client_origin origins[] = { ORIGIN_FLAG, ORIGIN_ENV, ORIGIN_PROJECT,
                                                  ORIGIN_USER, ORIGIN_SYSTEM };

    /* The context first: it says which values of the files count. */
    for (int i = 0; i < (int)COUNT_OF(origins); i++)
        set(out, SETTING_CONTEXT, get_nearest(levels, i, NULL, SETTING_CONTEXT), origins[i],
            i < 2 ? NULL : levels->files[i - 2].path);
    for (int i = 0; i < (int)COUNT_OF(origins); i++) {
        bool had_token = has_token(out);
        for (int s = 0; s < SETTING_COUNT; s++) {
            if (had_token && (s == SETTING_TOKEN || s == SETTING_TOKEN_FILE))
                continue;
            set(out, s, get_nearest(levels, i, out->values[SETTING_CONTEXT], s), origins[i],
                i < 2 ? NULL : levels->files[i - 2].path);
        }
    }
}

/* The names of all contexts that the files have. */
struct contexts {
    const char *names[CONTEXTS_MAX];
    size_t n;
};

static void list_contexts(struct level *level, struct contexts *out)
{
    yaml_document_t *document = &level->document;
    yaml_node_t *map;

    map = level->is_there ? member(document, yaml_document_get_root_node(document), "contexts")
                          : NULL;
    if (!map)
        return;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top && out->n < CONTEXTS_MAX; pair++) {
        const char *name = scalar(yaml_document_get_node(document, pair->key));

        if (name)
            out->names[out->n++] = name;
    }
}

/* A context that no file knows is a mistake, not an empty one. */
static int check_context(struct levels *levels, const struct client_settings *out, struct err *err)
{
    const char *context = out->values[SETTING_CONTEXT], *meant;
    struct contexts known = { 0 };
    CLEANUP(str_fini) struct str all = { 0 };

    if (!context)
        return 0;
    for (size_t i = 0; i < COUNT_OF(levels->files); i++)
        list_contexts(&levels->files[i], &known);
    for (size_t i = 0; i < known.n; i++) {
        if (text_eq(known.names[i], context))
            return 0;
        str_addf(&all, "%s%s", i ? ", " : "", known.names[i]);
    }
    meant = nearest(context, known.names, known.n);
    if (meant)
        err_set(err, -EINVAL, "no configuration file has a context %s; did you mean %s?", context,
                meant);
    else
        err_set(err, -EINVAL, "no configuration file has a context %s%s%.100s", context,
                known.n ? "; there are " : "", str_text(&all));
    return client_setting_blame(out, SETTING_CONTEXT, err);
}

/* The address without the slash that people put at its end. */
static bool same_address(const char *a, const char *b)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) there is an address by then, at least that of `dev` */
    size_t n_a = strlen(a), n_b = strlen(b);

    n_a -= n_a && a[n_a - 1] == '/';
    n_b -= n_b && b[n_b - 1] == '/';
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static void find_dev(struct client_settings *out)
{
    struct dev_found found = { 0 };

    if (out->values[SETTING_ADDR] && has_token(out))
        return;
    if (!dev_find(&found))
        return;
    set(out, SETTING_ADDR, found.addr, ORIGIN_DEV, found.path);
    if (!has_token(out) && same_address(out->values[SETTING_ADDR], found.addr))
        set(out, SETTING_TOKEN_FILE, found.token_path, ORIGIN_DEV, found.path);
    dev_found_fini(&found);
}

static int check_token(const char *token, struct err *err)
{
    if (!*token)
        return err_set(err, -EACCES, "no token in it");
    for (const char *at = token; *at; at++)
        if (*at <= ' ' || *at > '~')
            return err_set(err, -EACCES, "not a token: byte %zu is no printable character",
                           (size_t)(at - token) + 1);
    return 0;
}

static int read_token(struct client_settings *out, struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    const char *path = out->values[SETTING_TOKEN_FILE];
    struct err why = { 0 };

    if (out->values[SETTING_TOKEN])
        return check_token(out->values[SETTING_TOKEN], err) < 0
                   ? client_setting_blame(out, SETTING_TOKEN, err)
                   : 0;
    if (!path)
        return 0;
    if (file_read(AT_FDCWD, path, TOKEN_MAX_BYTES, &text, &why) < 0) {
        err_set(err, -EACCES, "the token cannot be read: %s", why.text);
        return client_setting_blame(out, SETTING_TOKEN_FILE, err);
    }
    if (file_check_secret(path, err) < 0)
        return client_setting_blame(out, SETTING_TOKEN_FILE, err);
    while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
        text.data[--text.len] = '\0';
    if (check_token(str_text(&text), err) < 0) {
        err_wrap(err, "%s", path);
        return client_setting_blame(out, SETTING_TOKEN_FILE, err);
    }
    out->values[SETTING_TOKEN] = str_take(&text);
    out->origins[SETTING_TOKEN] = out->origins[SETTING_TOKEN_FILE];
    out->paths[SETTING_TOKEN] = text_copy(path);
    return 0;
}

static char *user_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && *config == '/')
        return text_format("%s/berth/config.yaml", config);
    return home && *home ? text_format("%s/.config/berth/config.yaml", home) : NULL;
}

static int read_levels(struct levels *levels, struct err *err)
{
    const char *config = getenv("BERTH_CONFIG");
    bool is_named = config && *config;
    int r;

    r = level_read(&levels->files[0], ORIGIN_PROJECT, text_copy("berth.yaml"), false, err);
    if (r < 0)
        return r;
    r = level_read(&levels->files[1], ORIGIN_USER, is_named ? text_copy(config) : user_path(),
                   is_named, err);
    if (r < 0)
        return is_named ? err_wrap(err, "BERTH_CONFIG") : r;
    return level_read(&levels->files[2], ORIGIN_SYSTEM, text_copy("/etc/berth/config.yaml"), false,
                      err);
}

int client_settings_find(const char *const *flags, struct client_settings *out, struct err *err)
{
    CLEANUP(levels_fini) struct levels levels = { .flags = flags };
    int r = read_levels(&levels, err);

    if (r < 0)
        return r;
    collect(&levels, out);
    r = check_context(&levels, out, err);
    if (r < 0)
        return r;
    find_dev(out);
    return read_token(out, err);
}

void client_settings_fini(struct client_settings *settings)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        mem_free(settings->values[i]);
        mem_free(settings->paths[i]);
    }
    *settings = (struct client_settings){ 0 };
}

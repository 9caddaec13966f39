/*
 * make-profiles OUT NAME.yaml...
 *
 * Makes the engine's built-in profiles out of share/berth/profiles/: each file becomes a
 * configuration that is known by the file's name. A file may name one before it as `profile`;
 * what it does not give is then as there. Part of the build, so that the program stands alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "api/yaml.h"
#include "base/file.h"
#include "base/vec.h"
#include "berth/engine.h"

enum { PROFILE_MAX_BYTES = 1 << 20, DEEPEST = 16 };

struct profile {
    const char *path;
    char name[64];
    json_t *object;
};

static const struct json_key top_keys[] = {
    { "profile", false }, { "actions", false }, { "tiers", false }, { "policy", false }
};
static const struct json_key tier_keys[] = { { "plugins", false } };
static const struct json_key use_keys[] = { { "name", false },
                                            { "enabled", false },
                                            { "arguments", false } };

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\%03o", (unsigned)(unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void put_value(FILE *out, const char *key, const json_t *value, int depth);

static void put_members(FILE *out, const json_t *value, int depth)
{
    size_t n = json_is_object(value) ? json_object_size(value) : json_array_size(value), i;
    const char *key;
    json_t *member;

    if (n)
        fprintf(out, ", .n_members = %zu, .members = (const struct berth_value[]){", n);
    json_object_foreach((json_t *)value, key, member) put_value(out, key, member, depth + 1);
    json_array_foreach(value, i, member) put_value(out, NULL, member, depth + 1);
    if (n)
        fputc('}', out);
}

static void put_value(FILE *out, const char *key, const json_t *value, int depth)
{
    fputc('{', out);
    if (key) {
        fputs(".key = ", out);
        put_text(out, key);
        fputs(", ", out);
    }
    if (json_is_boolean(value)) {
        fprintf(out, ".kind = BERTH_VALUE_BOOL, .truth = %d", json_is_true(value));
    } else if (json_is_integer(value)) {
        fprintf(out, ".kind = BERTH_VALUE_INT, .number = INT64_C(%" JSON_INTEGER_FORMAT ")",
                json_integer_value(value));
    } else if (json_is_real(value)) {
        fprintf(out, ".kind = BERTH_VALUE_DOUBLE, .real = %.17g", json_real_value(value));
    } else if (json_is_string(value)) {
        fputs(".kind = BERTH_VALUE_TEXT, .text = ", out);
        put_text(out, json_string_value(value));
    } else if (json_is_null(value) || depth > DEEPEST) {
        fputs(".kind = BERTH_VALUE_NULL", out);
    } else {
        fprintf(out, ".kind = BERTH_VALUE_%s", json_is_object(value) ? "OBJECT" : "LIST");
        put_members(out, value, depth);
    }
    fputs("},\n", out);
}

static void put_use(FILE *out, const struct json_at *use)
{
    struct json_at enabled = json_at_member(use, "enabled");
    const json_t *arguments = json_object_get(use->value, "arguments");
    struct json_key keys[BERTH_HOOK_COUNT];
    const char *name = "";

    if (!json_check_object(use, use_keys, COUNT_OF(use_keys)))
        return;
    json_get_text(use, "name", &name);
    fputs("{.name = ", out);
    put_text(out, name);
    for (int i = 0; i < BERTH_HOOK_COUNT; i++)
        keys[i] = (struct json_key){ berth_hook_words[i], false };
    if (enabled.value && json_check_object(&enabled, keys, COUNT_OF(keys))) {
        fputs(", .has_enabled = true, .enabled = 0", out);
        for (int i = 0; i < BERTH_HOOK_COUNT; i++)
            if (json_is_true(json_object_get(enabled.value, berth_hook_words[i])))
                fprintf(out, " | BERTH_HOOK_BIT(%d)", i);
    }
    if (arguments) {
        fputs(", .arguments = &(const struct berth_value)", out);
        put_value(out, NULL, arguments, 0);
    }
    fputs("},\n", out);
}

static void put_tiers(FILE *out, const struct json_at *top)
{
    struct json_at tiers = json_at_member(top, "tiers");
    size_t n = json_array_size(tiers.value);

    fprintf(out, ".has_tiers = true, .n_tiers = %zu, .tiers = (const struct berth_tier[]){\n", n);
    for (size_t i = 0; i < n; i++) {
        struct json_at tier = json_at_item(&tiers, i), uses = json_at_member(&tier, "plugins");
        size_t n_uses = json_array_size(uses.value);
        if (!json_check_object(&tier, tier_keys, COUNT_OF(tier_keys)) ||
            !json_check_list(&uses, 64))
            return;
        fprintf(out, "{.n = %zu, .plugins = (const struct berth_plugin_use[]){\n", n_uses);
        for (size_t k = 0; k < n_uses; k++) {
            struct json_at use = json_at_item(&uses, k);
            put_use(out, &use);
        }
        fputs("}},\n", out);
    }
    fputs("},\n", out);
}

static void put_actions(FILE *out, const struct json_at *top)
{
    struct json_at actions = json_at_member(top, "actions");
    size_t n = json_array_size(actions.value);

    fprintf(out, ".has_actions = true, .actions = {.n = %zu, .at = (const char *const[]){", n);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(actions.value, i));
        put_text(out, name ? name : "");
        fputs(", ", out);
    }
    fputs("}},\n", out);
}

static void put_profile(FILE *out, const struct profile *profile, struct problem *problem)
{
    struct json_at top = json_at_top(profile->object, problem);
    struct json_at policy = json_at_member(&top, "policy");

    fputs("{.profile = ", out);
    put_text(out, profile->name);
    fputs(",\n", out);
    put_actions(out, &top);
    put_tiers(out, &top);
    fputs(".policy = &(const struct berth_value)", out);
    put_value(out, NULL, policy.value, 0);
    fputs("},\n", out);
}

/* The file's name without folder and ending. */
static void name_of(const char *path, char out[64])
{
    const char *slash = strrchr(path, '/');

    snprintf(out, 64, "%s", slash ? slash + 1 : path);
    out[strcspn(out, ".")] = '\0';
}

/* Puts what the file does not say in from the profile that it names. */
static int join(struct profile *profile, const struct profile *others, size_t n, struct err *err)
{
    const char *base = json_string_value(json_object_get(profile->object, "profile"));
    size_t i = 0;

    while (base && i < n && strcmp(others[i].name, base) != 0)
        i++;
    if (base && i == n)
        return err_set(err, -EINVAL, "%s: /profile: %s does not stand before it", profile->path,
                       base);
    if (base) {
        json_t *policy = json_object_get(profile->object, "policy");
        if (policy)
            json_object_update_missing(policy, json_object_get(others[i].object, "policy"));
        json_object_update_missing(profile->object, others[i].object);
    }
    if (!json_array_size(json_object_get(profile->object, "actions")) ||
        !json_array_size(json_object_get(profile->object, "tiers")) ||
        !json_object_size(json_object_get(profile->object, "policy")))
        return err_set(err, -EINVAL, "%s: actions, tiers and policy are needed", profile->path);
    return 0;
}

static int refused(const struct profile *profile, const struct problem *problem, struct err *err)
{
    CLEANUP(str_fini) struct str why = { 0 };

    problem_write(problem, profile->path, &why);
    return err_set(err, -EINVAL, "%s", str_text(&why));
}

static int read_profile(struct profile *profile, const char *path, struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct problem problem = { 0 };
    struct json_at top;
    int r = file_read(AT_FDCWD, path, PROFILE_MAX_BYTES, &text, err);

    if (r < 0)
        return r;
    profile->path = path;
    name_of(path, profile->name);
    if (yaml_read(str_text(&text), text.len, PROFILE_MAX_BYTES, &profile->object, &problem) < 0)
        return refused(profile, &problem, err);
    top = json_at_top(profile->object, &problem);
    json_check_object(&top, top_keys, COUNT_OF(top_keys));
    if (!problem.code)
        return 0;
    yaml_locate(str_text(&text), text.len, &problem);
    return refused(profile, &problem, err);
}

static int write_all(FILE *out, const struct profile *profiles, size_t n, struct err *err)
{
    fputs("/* Made by tools/make-profiles out of share/berth/profiles/. */\n"
          "#include \"engine/setup.h\"\n\nconst struct berth_config profiles[] = {\n",
          out);
    for (size_t i = 0; i < n; i++) {
        struct problem problem = { 0 };
        put_profile(out, &profiles[i], &problem);
        if (problem.code)
            return refused(&profiles[i], &problem, err);
    }
    fputs("};\nconst size_t n_profiles = COUNT_OF(profiles);\n", out);
    return fflush(out) || ferror(out) ? err_sys(err, -EIO, "write") : 0;
}

int main(int argc, char **argv)
{
    static struct profile profiles[64];
    struct err err = { 0 };
    size_t n = argc > 2 ? (size_t)argc - 2 : 0;
    FILE *out;
    int r = 0;

    if (!n || n > COUNT_OF(profiles)) {
        fputs("usage: make-profiles OUT NAME.yaml...\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        r = read_profile(&profiles[i], argv[i + 2], &err);
        if (r == 0)
            r = join(&profiles[i], profiles, i, &err);
    }
    out = r == 0 ? fopen(argv[1], "we") : NULL;
    if (r == 0)
        r = out ? write_all(out, profiles, n, &err) : err_sys(&err, -errno, "open %s", argv[1]);
    if (out)
        fclose(out);
    for (size_t i = 0; i < n; i++)
        json_decref(profiles[i].object);
    if (r < 0) {
        remove(argv[1]);
        fprintf(stderr, "make-profiles: %s\n", err.text);
    }
    return r < 0;
}

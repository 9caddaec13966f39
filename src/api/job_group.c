/* Reading a group of a job: see job_group.h. */
#include "api/job_group.h"

#include <string.h>

#include "api/job_words.h"
#include "base/name.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/str.h"

/* In the order of docs/job-format.md. */
static const struct json_key group_keys[] = {
    { .name = "name" },
    { .name = "replicas" },
    { .name = "minAvailable" },
    { .name = "image" },
    { .name = "command" },
    { .name = "args" },
    { .name = "env" },
    { .name = "workDir" },
    { .name = "user" },
    { .name = "runtime" },
    { .name = "resources" },
    { "gpu", true },
    { .name = "requires" },
    { .name = "capability" },
    { .name = "node" },
    { "pool", true },
    { "spot", true },
    { .name = "nodeSelector" },
    { .name = "preferredLabels" },
    { .name = "tolerations" },
    { .name = "affinity" },
    { .name = "topology" },
    { .name = "network" },
    { "ports", true },
    { "volumes", true },
};

bool job_group_shares(const char *name)
{
    return strcmp(name, "name") == 0 || strcmp(name, "minAvailable") == 0;
}

static const struct json_key toleration_keys[] = {
    { .name = "key" },
    { .name = "operator" },
    { .name = "value" },
    { .name = "effect" },
};

static void set_text(char **place, const char *text)
{
    mem_free(*place);
    *place = text_copy(text);
}

void job_read_name(const struct json_at *up, const char *key, char **place)
{
    struct json_at at = json_at_member(up, key);
    const char *text;

    if (!json_get_text(up, key, &text))
        return;
    if (!name_is_valid(text)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "\"%.80s\" is not a name: 1 to %d of a-z, 0-9 and -", text, NAME_MAX_BYTES);
        return;
    }
    set_text(place, text);
}

static int cmp_label(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

typedef bool check_key_fn(const struct json_at *at, const char *key);

static bool check_label_key(const struct json_at *at, const char *key)
{
    if (name_is_valid_label(key))
        return true;
    json_refuse(at, PROBLEM_INVALID_FIELD,
                "\"%.80s\" is not a label's name: letters, digits and . _ / -, at most 253", key);
    return false;
}

static void refuse_variable(const struct json_at *at, const char *name)
{
    json_refuse(at, PROBLEM_INVALID_FIELD,
                "\"%.80s\" is not a variable's name: letters, digits and _ . -, no digit first, at "
                "most 253",
                name);
}

static bool check_env_key(const struct json_at *at, const char *key)
{
    if (key[0] && !strchr(key, '='))
        return true;
    refuse_variable(at, key);
    return false;
}

/* Earlier builds took any name with neither; what they accepted is read as it is. */
static void check_new_env(const struct json_at *group)
{
    struct json_at env = json_at_member(group, "env");
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env.value, name, value)
    {
        struct json_at at = json_at_member(&env, name);

        if (name[0] && !strchr(name, '=') && !name_is_valid_variable(name))
            refuse_variable(&at, name);
    }
}

/* An object of texts, sorted by key. */
static void read_texts_by_key(const struct json_at *up, const char *key, size_t most_bytes,
                              check_key_fn *check, struct labels *out)
{
    struct json_at at = json_at_member(up, key);
    size_t n_bytes = 0;
    const char *name;
    json_t *value;

    if (!at.value)
        return;
    if (!json_is_object(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "must be an object of texts, not %s",
                    json_type_word(at.value));
        return;
    }
    out->at = NEW0_N(struct label, json_object_size(at.value) + 1);
    json_object_foreach((json_t *)at.value, name, value)
    {
        struct json_at member = json_at_member(&at, name);
        const char *text;
        if (!check(&member, name) || !json_get_text(&at, name, &text))
            continue;
        n_bytes += strlen(name) + strlen(text);
        out->at[out->n++] = (struct label){ text_copy(name), text_copy(text) };
    }
    if (n_bytes > most_bytes)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "%zu bytes of names and values; at most %zu",
                    n_bytes, most_bytes);
    qsort(out->at, out->n, sizeof(*out->at), cmp_label);
}

void job_read_labels(const struct json_at *up, const char *key, struct labels *out)
{
    read_texts_by_key(up, key, JOB_LABELS_MAX_BYTES, check_label_key, out);
}

/* A list of texts; adds their bytes with a NUL each. */
static void read_texts(const struct json_at *up, const char *key, struct texts *out,
                       size_t *n_bytes)
{
    struct json_at at = json_at_member(up, key);

    if (!at.value || !json_check_list(&at, JOB_ARGS_MAX_BYTES))
        return;
    out->at = NEW0_N(char *, json_array_size(at.value) + 1);
    for (size_t i = 0; i < json_array_size(at.value); i++) {
        struct json_at item = json_at_item(&at, i);
        if (!json_is_string(item.value)) {
            json_refuse(&item, PROBLEM_INVALID_FIELD, "must be text, not %s%s",
                        json_type_word(item.value),
                        json_is_number(item.value) ? ": put it in quotes" : "");
            continue;
        }
        *n_bytes += json_string_length(item.value) + 1;
        out->at[out->n++] = text_copy(json_string_value(item.value));
    }
}

static int cmp_amount(const void *a, const void *b)
{
    return strcmp(((const struct amount *)a)->resource, ((const struct amount *)b)->resource);
}

static void read_amounts(const struct json_at *up, const char *key, struct amounts *out)
{
    struct json_at at = json_at_member(up, key);
    const char *name;
    json_t *value;

    if (!at.value)
        return;
    if (!json_is_object(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "must be an object of quantities, not %s",
                    json_type_word(at.value));
        return;
    }
    if (json_object_size(at.value) > JOB_RESOURCES_MAX) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "%zu resources; at most %d",
                    json_object_size(at.value), JOB_RESOURCES_MAX);
        return;
    }
    out->at = NEW0_N(struct amount, json_object_size(at.value) + 1);
    json_object_foreach((json_t *)at.value, name, value)
    {
        struct json_at member = json_at_member(&at, name);
        int64_t amount = 0;
        if (!name_is_valid_label(name))
            json_refuse(&member, PROBLEM_INVALID_FIELD,
                        "\"%.80s\" is not a resource's name: letters, digits and . _ / -", name);
        else if (json_quantity(&member, quantity_unit_of(name), &amount) && amount > 0)
            out->at[out->n++] = (struct amount){ text_copy(name), amount };
    }
    qsort(out->at, out->n, sizeof(*out->at), cmp_amount);
}

static void read_toleration(const struct json_at *at, struct toleration *out)
{
    struct json_at value = json_at_member(at, "value");
    const char *key = "", *text = "";
    int op = 0, effect = -1;

    if (!json_check_object(at, toleration_keys, COUNT_OF(toleration_keys)))
        return;
    json_get_text(at, "key", &key);
    json_get_text(at, "value", &text);
    json_get_word(at, "operator", operator_words, COUNT_OF(operator_words), &op);
    /* "" stands for all effects, as leaving it out does. */
    if (!text_eq(json_string_value(json_object_get(at->value, "effect")), ""))
        json_get_word(at, "effect", effect_words, COUNT_OF(effect_words), &effect);
    if (op == OPERATOR_EXISTS && text[0])
        json_refuse(&value, PROBLEM_INVALID_FIELD, "operator Exists takes no value");
    if (op == OPERATOR_EQUAL && !key[0] && !json_has_fault(at))
        json_refuse(at, PROBLEM_INVALID_FIELD,
                    "operator Equal needs a key; Exists without a key tolerates everything");
    out->key = text_copy(key);
    out->is_exists = op == OPERATOR_EXISTS;
    out->value = text_copy(text);
    out->effect = text_copy(effect < 0 ? "" : effect_words[effect]);
}

static void read_tolerations(const struct json_at *up, struct job_group *group)
{
    struct json_at at = json_at_member(up, "tolerations");

    if (!at.value || !json_check_list(&at, JOB_TOLERATIONS_MAX))
        return;
    group->tolerations = NEW0_N(struct toleration, json_array_size(at.value) + 1);
    for (size_t i = 0; i < json_array_size(at.value); i++) {
        struct json_at item = json_at_item(&at, i);
        read_toleration(&item, &group->tolerations[group->n_tolerations++]);
    }
}

/* Whether a path has a part "..": a prefix that allows it could not be held against it. */
static bool path_climbs(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
            return true;
    return false;
}

static bool check_path(const struct json_at *at, const char *what, const char *path)
{
    if (path[0] != '/')
        json_refuse(at, PROBLEM_INVALID_FIELD, "%s \"%.80s\" is not absolute: it begins with /",
                    what, path);
    else if (path_climbs(path))
        json_refuse(at, PROBLEM_INVALID_FIELD, "%s \"%.80s\" has a part \"..\"", what, path);
    else
        return true;
    return false;
}

/* Whether a key that is not there stands there under another name, which is refused as unknown. */
static bool is_misspelt(const struct json_at *up, const char *key)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)up->value, name, value)
    {
        struct json_at at = json_at_member(up, name);
        if (nearest(name, &key, 1) && json_has_fault(&at))
            return true;
    }
    return false;
}

/* Whether a key of the group stands beside the list of groups instead, which is refused there. */
static bool is_beside(const struct json_at *at, const char *key)
{
    return at->up && at->up->up && json_object_get(at->up->up->value, key);
}

static void read_image(const struct json_at *up, struct job_group *group)
{
    struct json_at at = json_at_member(up, "image"), runtime = json_at_member(up, "runtime");
    const char *image = "", *path;
    bool is_given = json_get_text(up, "image", &image);

    if (at.value && !is_given)
        return;
    if (!image[0]) {
        if (!text_eq(group->runtime, "process") && !json_has_fault(&runtime) &&
            !is_misspelt(up, "image") && !is_misspelt(up, "runtime") && !is_beside(up, "image") &&
            !is_beside(up, "runtime"))
            json_refuse(&at, PROBLEM_INVALID_FIELD,
                        "an image is needed, such as oci:/srv/images/train (only runtime process "
                        "goes without)");
        return;
    }
    if (!text_begins(image, "oci:") && !text_begins(image, "dir:")) {
        json_refuse(&at, PROBLEM_COMES_LATER,
                    "\"%.80s\": names of a registry come with a later version; use oci:PATH or "
                    "dir:PATH",
                    image);
        return;
    }
    path = strchr(image, ':') + 1;
    if (check_path(&at, "the image's path", path))
        set_text(&group->image, image);
}

/* UID or UID:GID, each at most 2^32 - 2: the last one means "no change" to the kernel. */
static bool user_is_valid(const char *user)
{
    char part[16];
    const char *colon = strchr(user, ':');
    size_t n = colon ? (size_t)(colon - user) : strlen(user);
    int64_t id;

    if (n >= sizeof(part))
        return false;
    memcpy(part, user, n);
    part[n] = '\0';
    return text_to_int(part, 0, UINT32_MAX - 1, &id) == 0 &&
           (!colon || text_to_int(colon + 1, 0, UINT32_MAX - 1, &id) == 0);
}

static void read_identity(const struct json_at *up, struct job_group *group)
{
    struct json_at user = json_at_member(up, "user"), dir = json_at_member(up, "workDir");
    const char *text;
    int network = JOB_NETWORK_HOST;

    if (json_get_text(up, "workDir", &text) && text[0] && check_path(&dir, "workDir", text))
        set_text(&group->work_dir, text);
    if (json_get_text(up, "user", &text) && text[0]) {
        if (user_is_valid(text))
            set_text(&group->user, text);
        else
            json_refuse(&user, PROBLEM_INVALID_FIELD,
                        "\"%.40s\" is not a user: UID or UID:GID, in numbers", text);
    }
    if (text_eq(json_string_value(json_object_get(up->value, "network")), "bridge")) {
        struct json_at at = json_at_member(up, "network");
        json_refuse(&at, PROBLEM_COMES_LATER, "\"bridge\" comes with a later version");
        return;
    }
    if (json_get_word(up, "network", network_words, COUNT_OF(network_words), &network))
        group->network = (enum job_network)network;
}

static void read_runtime(const struct json_at *up, struct job_group *group)
{
    int runtime;

    if (text_eq(json_string_value(json_object_get(up->value, "runtime")), ""))
        return;
    if (json_get_word(up, "runtime", runtime_words, COUNT_OF(runtime_words), &runtime))
        set_text(&group->runtime, runtime_words[runtime]);
}

static bool capability_is_good(const char *text)
{
    const char *version = strchr(text, '@');
    CLEANUP(freep) char *name = text_format("%.*s", (int)strcspn(text, "@"), text);

    return version && version[1] && name_is_valid_label(name);
}

/* Which node, by name or by what it must have to the letter. */
static void read_node(const struct json_at *up, struct job_group *group)
{
    struct json_at node = json_at_member(up, "node"), capability = json_at_member(up, "capability");
    const char *text;

    group->node = text_copy("");
    group->capability = text_copy("");
    if (json_get_text(up, "node", &text)) {
        if (name_is_valid_node(text))
            set_text(&group->node, text);
        else
            json_refuse(&node, PROBLEM_INVALID_FIELD, "\"%.80s\" is not a node's name%s", text,
                        text[0] ? "" : "; leave it out for any node");
    }
    if (json_get_text(up, "capability", &text)) {
        if (capability_is_good(text))
            set_text(&group->capability, text);
        else
            json_refuse(&capability, PROBLEM_INVALID_FIELD,
                        "\"%.80s\" is not NAME@VERSION, such as image@2.1%s", text,
                        text[0] ? "" : "; leave it out for any");
    }
}

/* Earlier builds took a second @ for a part of the version. */
static void check_new_capability(const struct json_at *group)
{
    struct json_at at = json_at_member(group, "capability");
    const char *text = json_string_value(at.value);
    const char *version = text ? strchr(text, '@') : NULL;

    if (version && strchr(version + 1, '@'))
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "\"%.80s\" has more than one @: it is NAME@VERSION, such as image@2.1", text);
}

/* Only its size is looked at: its form is known to who places the job. */
static void read_affinity(const struct json_at *up, struct job_group *group)
{
    struct json_at at = json_at_member(up, "affinity");
    CLEANUP(freep) char *text = NULL;

    if (!at.value)
        return;
    if (!json_is_object(at.value)) {
        json_refuse(&at, PROBLEM_INVALID_FIELD, "must be an object, not %s",
                    json_type_word(at.value));
        return;
    }
    if (!json_object_size(at.value))
        return;
    text = json_dumps(at.value, JSON_COMPACT | JSON_SORT_KEYS);
    if (strlen(text) > JOB_AFFINITY_MAX_BYTES)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "%zu bytes as JSON; at most %d", strlen(text),
                    JOB_AFFINITY_MAX_BYTES);
    else
        group->affinity = json_loads(text, 0, NULL);
}

/* Which network domains keep it together: those up to a tier, by number or name. */
static void read_topology(const struct json_at *up, struct job_group *group)
{
    static const struct json_key keys[] = { { .name = "mode" }, { .name = "tier" } };
    struct json_at at = json_at_member(up, "topology"), tier = json_at_member(&at, "tier");
    int mode = JOB_TOPOLOGY_HARD - 1;
    int64_t number = 0;
    const char *name;

    group->tier_name = text_copy("");
    if (!at.value || !json_check_object(&at, keys, COUNT_OF(keys)) || !json_object_size(at.value))
        return;
    json_get_word(&at, "mode", topology_words, COUNT_OF(topology_words), &mode);
    group->topology = (enum job_topology)(mode + 1);
    if (json_is_string(tier.value)) {
        if (json_get_text(&at, "tier", &name))
            set_text(&group->tier_name, name);
    } else if (tier.value && json_get_int(&at, "tier", 0, JOB_TIER_MAX, &number)) {
        group->has_tier = true;
        group->tier = (int)number;
    }
}

/* A faulty image or command is a fault already, not a lack of one. */
static void check_command(const struct json_at *at, const struct job_group *group)
{
    struct json_at image = json_at_member(at, "image"), command = json_at_member(at, "command");

    if (!group->image[0] && text_eq(group->runtime, "process") && !group->command.n &&
        !json_has_fault(&image) && !json_has_fault(&command) && !is_misspelt(at, "command") &&
        !is_beside(at, "command") && !is_beside(at, "image"))
        json_refuse(at, PROBLEM_INVALID_FIELD, "without an image a command is needed");
}

void job_read_group(const struct json_at *at, struct job_group *group)
{
    struct json_at args = json_at_member(at, "args");
    size_t n_bytes = 0;
    int64_t replicas = 1;

    json_get_int(at, "replicas", 1, JOB_TASKS_MAX, &replicas);
    group->replicas = (uint32_t)replicas;
    group->image = text_copy("");
    group->work_dir = text_copy("");
    group->user = text_copy("");
    group->runtime = text_copy("");
    read_runtime(at, group);
    read_image(at, group);
    read_texts(at, "command", &group->command, &n_bytes);
    read_texts(at, "args", &group->args, &n_bytes);
    if (n_bytes > JOB_ARGS_MAX_BYTES)
        json_refuse(args.value ? &args : at, PROBLEM_INVALID_FIELD,
                    "command and args have %zu bytes; at most %d", n_bytes, JOB_ARGS_MAX_BYTES);
    check_command(at, group);
    read_texts_by_key(at, "env", JOB_ENV_MAX_BYTES, check_env_key, &group->env);
    read_identity(at, group);
    read_amounts(at, "resources", &group->resources);
    read_amounts(at, "requires", &group->requires_);
    read_node(at, group);
    read_affinity(at, group);
    read_topology(at, group);
    read_texts_by_key(at, "nodeSelector", JOB_LABELS_MAX_BYTES, check_label_key,
                      &group->node_selector);
    read_texts_by_key(at, "preferredLabels", JOB_LABELS_MAX_BYTES, check_label_key,
                      &group->preferred_labels);
    read_tolerations(at, group);
}

void job_read_listed_group(const struct json_at *at, struct job_group *group)
{
    struct json_at replicas = json_at_member(at, "replicas");
    int64_t min_available = 0;

    group->name = text_copy("task");
    if (!json_check_object(at, group_keys, COUNT_OF(group_keys)))
        return;
    job_read_name(at, "name", &group->name);
    job_read_group(at, group);
    json_get_int(at, "minAvailable", 0, json_has_fault(&replicas) ? JOB_TASKS_MAX : group->replicas,
                 &min_available);
    group->min_available = (uint32_t)min_available;
}

void job_check_new_group(const struct json_at *at)
{
    check_new_env(at);
    check_new_capability(at);
}

const struct json_key *job_group_keys(size_t *n)
{
    *n = COUNT_OF(group_keys);
    return group_keys;
}

/* Flags: see flags.h. A flag is one line of the table below. */
#include "api/flags.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/json_walk.h"
#include "base/nearest.h"
#include "base/str.h"

static const struct flag table[] = {
    { "name", "NAME", "the job's name", "name", NULL, FLAG_TEXT, 0, false },
    { "namespace", "NAME", "its namespace", "namespace", NULL, FLAG_TEXT, 'n', false },
    { "queue", "NAME", "its queue", "queue", NULL, FLAG_TEXT, 'q', false },
    { "priority", "N", "-1000 to 100000", "priority", NULL, FLAG_NUMBER, 0, false },
    { "image", "IMAGE", "oci:PATH or dir:PATH", "image", NULL, FLAG_IMAGE, 0, true },
    { "cpu", "N", "cores of each task, such as 2 or 500m", "resources", "cpu", FLAG_TEXT, 0, true },
    { "memory", "N", "memory of each task, such as 4Gi", "resources", "memory", FLAG_TEXT, 0,
      true },
    { "resource", "NAME=N", "any other resource", "resources", NULL, FLAG_PAIR, 0, true },
    { "tasks", "N", "how many tasks", "replicas", NULL, FLAG_NUMBER, 0, true },
    { "gang", NULL, "start all tasks together or none", "gang", NULL, FLAG_TRUE, 0, false },
    { "min-available", "N", "start so many together or none", "minAvailable", NULL, FLAG_NUMBER, 0,
      false },
    { "time", "DURATION", "limit of each task, such as 30m; 0s: none", "limit", NULL, FLAG_TEXT, 0,
      false },
    { "deadline", "DURATION", "fail if not started so long after submit; 0s: none", "deadline",
      NULL, FLAG_TEXT, 0, false },
    { "retries", "N", "how often a failed task is tried again", "retries", "max", FLAG_NUMBER, 0,
      false },
    { "backoff", "DURATION", "wait before the first retry; 0s: none", "retries", "backoff",
      FLAG_TEXT, 0, false },
    { "backoff-max", "DURATION", "wait no longer than this before one", "retries", "backoffMax",
      FLAG_TEXT, 0, false },
    { "grace", "DURATION", "from TERM to KILL, up to 10m; 0s: KILL at once", "grace", NULL,
      FLAG_TEXT, 0, false },
    { "on-failure", "WORD", "stop or continue: the others, when a task failed for good",
      "onFailure", NULL, FLAG_TEXT, 0, false },
    { "on-disconnect", "WORD", "stop or keep: what runs on a node that is cut off", "onDisconnect",
      NULL, FLAG_TEXT, 0, false },
    { "not-preemptable", NULL, "may not be evicted for other jobs", "preemptable", NULL, FLAG_FALSE,
      0, false },
    { "budget", "WHAT=N", "of its tasks minAvailable stay, or maxUnavailable may go: 2 or 30%",
      "budget", NULL, FLAG_PAIR, 0, false },
    { "env", "NAME=VALUE", "a variable", "env", NULL, FLAG_PAIR, 0, true },
    { "label", "KEY=VALUE", "a label of the job", "labels", NULL, FLAG_PAIR, 0, false },
    { "node-selector", "KEY=VALUE", "a label that the node must have", "nodeSelector", NULL,
      FLAG_PAIR, 0, true },
    { "prefer", "KEY=VALUE", "a label that the node had better have", "preferredLabels", NULL,
      FLAG_PAIR, 0, true },
    { "node", "NAME", "the only node it may run on", "node", NULL, FLAG_TEXT, 0, true },
    { "requires", "NAME=N", "what the node must have, used or not", "requires", NULL, FLAG_PAIR, 0,
      true },
    { "capability", "NAME@VERSION", "what the node must have to the letter", "capability", NULL,
      FLAG_TEXT, 0, true },
    { "toleration", "KEY[=VALUE][:EFFECT]", "a taint that does not matter", "tolerations", NULL,
      FLAG_TOLERATION, 0, true },
    { "topology", "MODE[:TIER]", "hard or soft: under one network domain of at most the tier",
      "topology", NULL, FLAG_TOPOLOGY, 0, true },
    { "runtime", "NAME", "crun, runc or process", "runtime", NULL, FLAG_TEXT, 0, true },
    { "network", "WORD", "host or none", "network", NULL, FLAG_TEXT, 0, true },
    { "user", "UID[:GID]", "who it runs as", "user", NULL, FLAG_TEXT, 0, true },
    { "work-dir", "PATH", "where it runs", "workDir", NULL, FLAG_TEXT, 0, true },
    { "gpus", "WHAT", NULL, "gpu", NULL, FLAG_LATER, 0, true },
    { "after", "JOB", NULL, "after", NULL, FLAG_LATER, 0, false },
    { "pool", "NAME", NULL, "pool", NULL, FLAG_LATER, 0, true },
    { "spot", "WORD", NULL, "spot", NULL, FLAG_LATER, 0, true },
    { "port", "PORT", NULL, "ports", NULL, FLAG_LATER, 0, true },
    { "volume", "VOLUME", NULL, "volumes", NULL, FLAG_LATER, 0, true },
    { "command", "TEXT", "stands behind --", "command", NULL, FLAG_NONE, 0, true },
    { "args", "TEXT", "stand behind --, after the command", "args", NULL, FLAG_NONE, 0, true },
    { "affinity", "OBJECT", "has no flag: a job file says it", "affinity", NULL, FLAG_NONE, 0,
      true },
    { "groups", "LIST", "have no flag: a job file says them", "groups", NULL, FLAG_NONE, 0, false },
    { "kind", "WORD", "has no flag: a job file says it", "kind", NULL, FLAG_NONE, 0, false },
};

const struct flag *flag_at(size_t i)
{
    return i < COUNT_OF(table) ? &table[i] : NULL;
}

const char *flag_why(const struct flag *flag)
{
    if (flag->kind == FLAG_LATER)
        return COMES_LATER_TEXT;
    return flag->kind == FLAG_NONE ? flag->help : NULL;
}

void flags_init(struct flags *flags)
{
    *flags = (struct flags){ .job = json_object() };
}

void flags_fini(struct flags *flags)
{
    VEC_EACH (place, &flags->places)
        mem_free(place->pointer);
    VEC_FINI(&flags->places);
    json_decref(flags->job);
    flags->job = NULL;
}

/* Takes the pointer: the value stands in words[at], so the place is that word's. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static void note_place(struct flags *flags, const struct flag *flag, char *pointer, size_t at)
{
    *VEC_ADD(&flags->places) =
        (struct flag_place){ .pointer = pointer,
                             .flag = flag,
                             .line = flags->line,
                             .column = flags->columns ? flags->columns[at] : 0 };
}

static void blame(const struct flag_place *place, struct problem_field *field)
{
    char text[sizeof(field->text)];

    snprintf(text, sizeof(text), "--%s: %.220s", place->flag->name, field->text);
    memcpy(field->text, text, sizeof(text));
    field->line = place->line; /* not where a file says what the flag went over */
    field->column = place->column;
}

static int refuse(struct flags *flags, const struct flag *flag, struct problem *problem,
                  enum problem_code code, const char *text)
{
    size_t i = problem->n_fields;
    char pointer[200];

    snprintf(pointer, sizeof(pointer), "/%s%s%s", flag->key, flag->member ? "/" : "",
             flag->member ? flag->member : "");
    problem_add(problem, code, pointer, "--%s: %s", flag->name, text);
    if (i < PROBLEM_FIELDS_MAX && flags->line) {
        problem->fields[i].line = flags->line;
        problem->fields[i].column = flags->columns ? flags->columns[flags->word] : 0;
    }
    return -EINVAL;
}

/* Of these two one says the other's sense too. */
static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (strcmp(a, "/gang") == 0 && strcmp(b, "/minAvailable") == 0) ||
           (strcmp(a, "/minAvailable") == 0 && strcmp(b, "/gang") == 0);
}

/* On a command line the last one counts; a script is a file, where no key stands twice. */
static bool is_said_twice(struct flags *flags, const struct flag *flag, const char *pointer,
                          struct problem *problem)
{
    for (size_t i = 0; flags->line && i < flags->places.n; i++) {
        const struct flag_place *place = &flags->places.at[i];
        CLEANUP(freep) char *why = NULL;

        if (!is_same(place->pointer, pointer))
            continue;
        why = text_format("is said in line %d already%s%s", place->line,
                          strcmp(place->pointer, pointer) != 0 ? ", by --" : "",
                          strcmp(place->pointer, pointer) != 0 ? place->flag->name : "");
        refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, why);
        return true;
    }
    return false;
}

/* The object under key, made if it is not there. */
static json_t *object_under(json_t *job, const char *key)
{
    json_t *object = json_object_get(job, key);

    if (!object) {
        object = json_object();
        json_object_set_new(job, key, object);
    }
    return object;
}

/* Takes value. */
static int set_value(struct flags *flags, const struct flag *flag, json_t *value, size_t at,
                     struct problem *problem)
{
    json_t *object = flag->member ? object_under(flags->job, flag->key) : flags->job;
    CLEANUP(freep)
    char *pointer = text_format("/%s%s%s", flag->key, flag->member ? "/" : "",
                                flag->member ? flag->member : "");

    if (!value)
        return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, "is not UTF-8");
    if (is_said_twice(flags, flag, pointer, problem)) {
        json_decref(value);
        return -EINVAL;
    }
    json_object_set_new(object, flag->member ? flag->member : flag->key, value);
    note_place(flags, flag, TAKE(pointer), at);
    /* Of these two the one said last counts. */
    if (strcmp(flag->key, "gang") == 0)
        json_object_del(flags->job, "minAvailable");
    if (strcmp(flag->key, "minAvailable") == 0)
        json_object_del(flags->job, "gang");
    return 1;
}

static int set_pair(struct flags *flags, const struct flag *flag, const char *text, size_t at,
                    struct problem *problem)
{
    const char *equals = strchr(text, '=');
    CLEANUP(str_fini) struct str pointer = { 0 };
    json_t *value;

    if (!equals || equals == text) {
        CLEANUP(freep) char *why = text_format("must be %s", flag->value);
        return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, why);
    }
    str_addf(&pointer, "/%s", flag->key);
    json_pointer_add(&pointer, text, (size_t)(equals - text));
    if (is_said_twice(flags, flag, str_text(&pointer), problem))
        return -EINVAL;
    value = json_string(equals + 1);
    if (!value || json_object_setn_new(object_under(flags->job, flag->key), text,
                                       (size_t)(equals - text), value) < 0)
        return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, "is not UTF-8");
    note_place(flags, flag, str_take(&pointer), at);
    return 1;
}

static int set_number(struct flags *flags, const struct flag *flag, const char *text, size_t at,
                      struct problem *problem)
{
    int64_t value;
    CLEANUP(freep) char *why = NULL;
    int r = text_to_int(text, INT64_MIN, INT64_MAX, &value);

    if (r == 0)
        return set_value(flags, flag, json_integer(value), at, problem);
    why = text_format(r == -ERANGE ? "\"%.40s\" is too large" : "\"%.40s\" is not a whole number",
                      text);
    return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, why);
}

/* KEY[=VALUE][:EFFECT]; without a value the operator is Exists. */
static int add_toleration(struct flags *flags, const struct flag *flag, const char *text, size_t at,
                          struct problem *problem)
{
    const char *equals = strchr(text, '='), *colon = strrchr(text, ':');
    const char *end = colon ? colon : text + strlen(text);
    json_t *list = json_object_get(flags->job, flag->key), *value = json_object();
    size_t n_key;

    if (equals > end)
        equals = NULL;
    n_key = (size_t)((equals ? equals : end) - text);
    if ((!n_key && equals) || (colon && !colon[1]) || !text[0]) {
        json_decref(value);
        return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD,
                      "must be KEY[=VALUE][:EFFECT], or :EFFECT for every taint of it");
    }
    if (n_key)
        json_object_set_new(value, "key", json_stringn(text, n_key));
    json_object_set_new(value, "operator", json_string(equals ? "Equal" : "Exists"));
    if (equals)
        json_object_set_new(value, "value", json_stringn(equals + 1, (size_t)(end - equals - 1)));
    if (colon)
        json_object_set_new(value, "effect", json_string(colon + 1));
    if (!list) {
        list = json_array();
        json_object_set_new(flags->job, flag->key, list);
    }
    note_place(flags, flag, text_format("/%s/%zu", flag->key, json_array_size(list)), at);
    if (json_array_append_new(list, value) < 0)
        return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, "is not UTF-8");
    return 1;
}

/* MODE[:TIER]; a tier in digits is a number, as it is in a file. */
static int set_topology(struct flags *flags, const struct flag *flag, const char *text, size_t at,
                        struct problem *problem)
{
    const char *colon = strchr(text, ':');
    json_t *value = json_object(), *tier;
    int64_t number;

    json_object_set_new(value, "mode",
                        json_stringn(text, colon ? (size_t)(colon - text) : strlen(text)));
    if (colon) {
        tier = text_to_int(colon + 1, 0, INT64_MAX, &number) == 0 ? json_integer(number)
                                                                  : json_string(colon + 1);
        json_object_set_new(value, "tier", tier);
    }
    return set_value(flags, flag, value, at, problem);
}

/* Takes a relative path from base_dir; anything else stays as it is, to be judged as it is. */
static int set_image(struct flags *flags, const struct flag *flag, const char *text, size_t at,
                     struct problem *problem)
{
    const char *path = strchr(text, ':');
    CLEANUP(freep) char *whole = NULL;

    if (!flags->base_dir || !path || path[1] == '/' || !path[1] ||
        (!text_begins(text, "oci:") && !text_begins(text, "dir:")))
        return set_value(flags, flag, json_string(text), at, problem);
    path++;
    while (text_begins(path, "./"))
        path += 2;
    whole =
        text_format("%.4s%s/%s", text, text_eq(flags->base_dir, "/") ? "" : flags->base_dir, path);
    return set_value(flags, flag, json_string(whole), at, problem);
}

static int set_flag(struct flags *flags, const struct flag *flag, const char *text, size_t at,
                    struct problem *problem)
{
    switch (flag->kind) {
    case FLAG_TEXT:
        return set_value(flags, flag, json_string(text), at, problem);
    case FLAG_NUMBER:
        return set_number(flags, flag, text, at, problem);
    case FLAG_TRUE:
        return set_value(flags, flag, json_true(), at, problem);
    case FLAG_FALSE:
        return set_value(flags, flag, json_false(), at, problem);
    case FLAG_PAIR:
        return set_pair(flags, flag, text, at, problem);
    case FLAG_IMAGE:
        return set_image(flags, flag, text, at, problem);
    case FLAG_TOLERATION:
        return add_toleration(flags, flag, text, at, problem);
    case FLAG_TOPOLOGY:
        return set_topology(flags, flag, text, at, problem);
    case FLAG_LATER:
    case FLAG_NONE:
        break; /* was refused without a look at its value */
    }
    return -EINVAL;
}

/* The flag of a word, and the value that hangs on it ("=2", or behind a letter) or NULL. */
static const struct flag *find(const char *word, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct flag *flag = &table[i];
        size_t n = strlen(flag->name);
        if (word[0] == '-' && word[1] == '-' && strncmp(word + 2, flag->name, n) == 0 &&
            (!word[2 + n] || word[2 + n] == '=')) {
            *value = word[2 + n] ? word + 3 + n : NULL;
            return flag;
        }
        if (flag->letter && word[0] == '-' && word[1] == flag->letter) {
            *value = word[2] ? word + 2 : NULL;
            return flag;
        }
    }
    return NULL;
}

int flags_take(struct flags *flags, char *const *words, size_t n, size_t *at,
               struct problem *problem)
{
    const char *value;
    const struct flag *flag = *at < n ? find(words[*at], &value) : NULL;
    size_t first = *at;
    bool takes_value;

    if (!flag)
        return 0;
    flags->word = first;
    ++*at;
    if (flag_why(flag)) {
        *at += !value && *at < n && words[*at][0] != '-'; /* its value */
        return refuse(flags, flag, problem,
                      flag->kind == FLAG_LATER ? PROBLEM_COMES_LATER : PROBLEM_INVALID_FIELD,
                      flag_why(flag));
    }
    takes_value = flag->kind != FLAG_TRUE && flag->kind != FLAG_FALSE;
    if (!takes_value && value)
        return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, "takes no value");
    if (takes_value && !value) {
        if (*at == n)
            return refuse(flags, flag, problem, PROBLEM_INVALID_FIELD, "needs a value");
        value = words[(*at)++];
    }
    return set_flag(flags, flag, value, first, problem);
}

const struct flag *flags_nearest(const char *word)
{
    const char *names[COUNT_OF(table)], *near;
    CLEANUP(freep) char *name = text_copy(word + strspn(word, "-"));

    name[strcspn(name, "=")] = '\0';
    for (size_t i = 0; i < COUNT_OF(table); i++) /* as a file calls it */
        if (!table[i].member && strcmp(table[i].key, name) == 0)
            return &table[i];
    for (size_t i = 0; i < COUNT_OF(table); i++)
        names[i] = table[i].name;
    near = nearest(name, names, COUNT_OF(names));
    for (size_t i = 0; near && i < COUNT_OF(table); i++)
        if (names[i] == near)
            return &table[i];
    return NULL;
}

static json_t *list_of(char *const *words, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *word = json_string(words[i]);
        json_array_append_new(list, word ? word : json_null()); /* not UTF-8: refused as null */
    }
    return list;
}

void flags_set_args(struct flags *flags, char *const *words, size_t n)
{
    json_object_set_new(flags->job, "args", list_of(words, n));
}

void flags_set_command(struct flags *flags, char *const *words, size_t n)
{
    json_object_set_new(flags->job, "command", list_of(words, n ? 1 : 0));
    flags_set_args(flags, words + (n ? 1 : 0), n ? n - 1 : 0);
}

static bool is_of_group(const char *key)
{
    if (strcmp(key, "command") == 0 || strcmp(key, "args") == 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (strcmp(table[i].key, key) == 0)
            return table[i].of_group;
    return false;
}

/* The object of the one group; NULL and refused if there are several. */
static json_t *group_of(json_t *object, const char *key, struct problem *problem)
{
    json_t *groups = json_object_get(object, "groups");

    if (!groups)
        return object;
    if (json_array_size(groups) == 1 && json_is_object(json_array_get(groups, 0)))
        return json_array_get(groups, 0);
    problem_add(problem, PROBLEM_INVALID_FIELD, "/groups",
                "the job has several groups, so no flag can set their %s", key);
    return NULL;
}

/* Lists and objects gain what is new; anything else is replaced. */
static void put_over(json_t *object, const char *key, json_t *value)
{
    json_t *was = json_object_get(object, key);

    if (json_is_object(was) && json_is_object(value))
        json_object_update(was, value);
    else if (strcmp(key, "tolerations") == 0 && json_is_array(was))
        json_array_extend(was, value);
    else
        json_object_set_new(object, key, json_deep_copy(value));
}

int flags_apply(const struct flags *flags, json_t *object, struct problem *problem)
{
    const char *key;
    json_t *value;
    int r = 0;

    json_object_foreach(flags->job, key, value)
    {
        json_t *target = is_of_group(key) ? group_of(object, key, problem) : object;
        if (target)
            put_over(target, key, value);
        else
            r = -EINVAL;
    }
    if (json_object_get(flags->job, "gang"))
        json_object_del(object, "minAvailable");
    if (json_object_get(flags->job, "minAvailable"))
        json_object_del(object, "gang");
    return r;
}

void flags_blame(const struct flags *flags, struct problem *problem)
{
    for (size_t i = 0; i < problem_n_kept(problem); i++) {
        struct problem_field *field = &problem->fields[i];
        const char *pointer = field->pointer;
        if (text_begins(pointer, "/groups/0/"))
            pointer += strlen("/groups/0");
        if (text_begins(field->text, "--"))
            continue; /* already */
        for (size_t j = flags->places.n; j-- > 0;) {
            const struct flag_place *place = &flags->places.at[j];
            size_t n = strlen(place->pointer);
            if (strncmp(pointer, place->pointer, n) != 0 || (pointer[n] && pointer[n] != '/'))
                continue;
            blame(place, field);
            break;
        }
    }
}

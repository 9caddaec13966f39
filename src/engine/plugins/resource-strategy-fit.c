/*
 * Resource strategy fit: each resource is packed or spread as it says; nodes with scarce resources
 * are kept from tasks that do not want them; and cpu and memory are reserved in proportion to free
 * devices.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/names.h"
#include "engine/plugins.h"

struct strategy {
    const char *name; /* with a trailing *, a prefix */
    bool most;
    double weight;
};

struct scarce {
    const char *name;
    double weight, cpu, memory; /* cpu and memory: what is reserved for each free one */
};

struct arguments {
    double weight, scarce_weight;
    struct strategy *strategies;
    struct scarce *scarce, *reserved;
    size_t n_strategies, n_scarce, n_reserved;
};

struct raw {
    double weight;
    const struct berth_value *resources, *sra, *proportional;
};

static const struct argument known[] = {
    { "resourceStrategyFitWeight", ARG_DOUBLE, offsetof(struct raw, weight) },
    { "resources", ARG_OBJECT, offsetof(struct raw, resources) },
    { "sra", ARG_OBJECT, offsetof(struct raw, sra) },
    { "proportional", ARG_OBJECT, offsetof(struct raw, proportional) },
};

static const struct argument each_weight = { "", ARG_DOUBLE, 0 };

static double number_in(const struct berth_value *object, const char *name, double otherwise)
{
    const struct berth_value *value = berth_value_get(object, name);
    double number;

    return value && value_number(value, &number) ? number : otherwise;
}

static int read_strategy(const struct berth_value *object, struct strategy *out, struct err *err)
{
    struct raw_strategy {
        const char *type;
        double weight;
    } raw = { "", 1 };
    static const struct argument those[] = {
        { "type", ARG_TEXT, offsetof(struct raw_strategy, type) },
        { "weight", ARG_DOUBLE, offsetof(struct raw_strategy, weight) },
    };
    int r;

    if (object->kind != BERTH_VALUE_OBJECT)
        return err_set(err, -EINVAL, "an object with type and weight");
    r = arguments_read(object, those, COUNT_OF(those), NULL, &raw, err);
    if (r < 0)
        return r;
    if (!text_eq(raw.type, "MostAllocated") && !text_eq(raw.type, "LeastAllocated"))
        return err_set(err, -EINVAL, "/type: MostAllocated or LeastAllocated");
    *out = (struct strategy){ object->key, text_eq(raw.type, "MostAllocated"), raw.weight };
    return 0;
}

static int read_strategies(const struct berth_value *object, struct arguments *a,
                           struct arena *arena, struct err *err)
{
    if (!object) {
        a->strategies = ARENA_NEW0_N(arena, struct strategy, 2);
        a->strategies[a->n_strategies++] = (struct strategy){ "cpu", false, 1 };
        a->strategies[a->n_strategies++] = (struct strategy){ "memory", false, 1 };
        return 0;
    }
    a->strategies = ARENA_NEW0_N(arena, struct strategy, object->n_members + 1);
    for (size_t i = 0; i < object->n_members; i++) {
        char step[POINTER_STEP_SIZE];
        int r = read_strategy(&object->members[i], &a->strategies[a->n_strategies++], err);
        if (r < 0) {
            err_under(err, pointer_step(object->members[i].key, step));
            return err_under(err, "/resources");
        }
    }
    return 0;
}

/* What `sra` and `proportional` say: of which resources, and numbers by name. */
struct part {
    bool enable;
    const char *resources;
    double weight;
    const struct berth_value *numbers;
};

static int read_part(const struct berth_value *object, const char *step,
                     const struct argument *those, size_t n, struct part *out, struct err *err)
{
    int r = arguments_read(object, those, n, NULL, out, err);

    if (r == 0 && arguments_read(out->numbers, NULL, 0, &each_weight, NULL, err) < 0) {
        char numbers[POINTER_STEP_SIZE];
        r = err_under(err, pointer_step(out->numbers->key, numbers));
    }
    return r < 0 ? err_under(err, step) : 0;
}

/* "a, b" as names; NULL if the part is not enabled. */
static struct scarce *read_names(const struct part *part, struct arena *arena, size_t *n)
{
    const char *names = part->resources, *at;
    struct scarce *list;
    size_t length;

    *n = 0;
    if (!part->enable)
        return NULL;
    list = ARENA_NEW0_N(arena, struct scarce, strlen(part->resources) + 1);
    while (names_next(&names, &at, &length))
        list[(*n)++].name = arena_format(arena, "%.*s", (int)length, at);
    return list;
}

/* Whether a key is "NAME.cpu" or "NAME.memory" of one of the resources. */
static bool is_reserved_for(const struct arguments *a, const char *key)
{
    for (size_t i = 0; i < a->n_reserved; i++) {
        size_t n = strlen(a->reserved[i].name);
        if (!strncmp(key, a->reserved[i].name, n) &&
            (text_eq(key + n, ".cpu") || text_eq(key + n, ".memory")))
            return true;
    }
    return false;
}

/* A slip in a name would leave nothing reserved, and nobody would see it. */
static int check_reserved(const struct arguments *a, const struct part *part, struct err *err)
{
    for (size_t i = 0; part->enable && part->numbers && i < part->numbers->n_members; i++) {
        const char *key = part->numbers->members[i].key;
        char step[POINTER_STEP_SIZE];
        if (!is_reserved_for(a, key))
            return err_set(err, -EINVAL,
                           "/proportional/resourceProportion%s: NAME.cpu or NAME.memory of one of "
                           "the resources",
                           pointer_step(key, step));
    }
    return 0;
}

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument in_sra[] = {
        { "enable", ARG_BOOL, offsetof(struct part, enable) },
        { "resources", ARG_TEXT, offsetof(struct part, resources) },
        { "weight", ARG_DOUBLE, offsetof(struct part, weight) },
        { "resourceWeight", ARG_OBJECT, offsetof(struct part, numbers) },
    };
    static const struct argument in_proportional[] = {
        { "enable", ARG_BOOL, offsetof(struct part, enable) },
        { "resources", ARG_TEXT, offsetof(struct part, resources) },
        { "resourceProportion", ARG_OBJECT, offsetof(struct part, numbers) },
    };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    struct raw raw = { .weight = 10 };
    struct part sra = { .resources = "", .weight = 10 }, proportional = { .resources = "" };
    int r = arguments_read(arguments, known, COUNT_OF(known), NULL, &raw, err);

    *out = a;
    if (r == 0)
        r = read_strategies(raw.resources, a, arena, err);
    if (r == 0)
        r = read_part(raw.sra, "/sra", in_sra, COUNT_OF(in_sra), &sra, err);
    if (r == 0)
        r = read_part(raw.proportional, "/proportional", in_proportional, COUNT_OF(in_proportional),
                      &proportional, err);
    if (r < 0)
        return r;
    a->weight = raw.weight;
    a->scarce_weight = sra.weight;
    a->scarce = read_names(&sra, arena, &a->n_scarce);
    for (size_t i = 0; i < a->n_scarce; i++)
        a->scarce[i].weight = number_in(sra.numbers, a->scarce[i].name, 1);
    a->reserved = read_names(&proportional, arena, &a->n_reserved);
    for (size_t i = 0; i < a->n_reserved; i++) {
        const char *name = a->reserved[i].name;
        a->reserved[i].cpu =
            number_in(proportional.numbers, arena_format(arena, "%s.cpu", name), 1);
        a->reserved[i].memory =
            number_in(proportional.numbers, arena_format(arena, "%s.memory", name), 1);
    }
    return check_reserved(a, &proportional, err);
}

/* A weight of what is no resource of the part would weigh nothing. */
static int check_weights(const struct berth_value *part, struct err *err)
{
    const struct berth_value *names = berth_value_get(part, "resources");
    const struct berth_value *weights = berth_value_get(part, "resourceWeight");

    for (size_t i = 0; weights && i < weights->n_members; i++) {
        const char *key = weights->members[i].key;
        char step[POINTER_STEP_SIZE];
        if (!names_have(names ? names->text : "", key))
            return err_set(err, -EINVAL, "/resourceWeight%s: %s is not among resources",
                           pointer_step(key, step), key);
    }
    return 0;
}

static int check(const struct berth_value *arguments, struct err *err)
{
    static const char *const parts[] = { "sra", "proportional" };

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct berth_value *part = berth_value_get(arguments, parts[i]);
        char step[POINTER_STEP_SIZE];
        int r = part ? names_check(part, "resources", err) : 0;
        if (r == 0 && part)
            r = check_weights(part, err);
        if (r < 0)
            return err_under(err, pointer_step(parts[i], step));
    }
    return 0;
}

/* The strategy of a resource: its own, or that of the longest prefix. */
static const struct strategy *strategy_of(const struct arguments *a, const char *name)
{
    const struct strategy *best = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < a->n_strategies; i++) {
        const struct strategy *s = &a->strategies[i];
        size_t n = strlen(s->name);
        if (strcmp(s->name, name) == 0)
            return s;
        if (n && s->name[n - 1] == '*' && strncmp(s->name, name, n - 1) == 0 &&
            (!best || n > longest)) {
            best = s;
            longest = n;
        }
    }
    return best;
}

static double strategic(const struct session *s, const struct arguments *a, const struct kind *kind,
                        const struct node *node)
{
    double sum = 0, weights = 0;

    for (size_t i = 0; i < kind->asks.n; i++) {
        uint32_t d = kind->asks.at[i].dim;
        const struct column *c = &s->model->columns[d];
        const struct strategy *strategy = strategy_of(a, s->model->dims.at[d]->name);
        int64_t offers = c->offers[node->at];
        int64_t used = wrap_add(c->used[node->at], kind->asks.at[i].value);
        if (!strategy || d == DIM_PODS)
            continue;
        weights += strategy->weight;
        if (offers <= 0 || strategy->weight == 0)
            continue;
        if (used > offers)
            return 0;
        sum +=
            strategy->weight * ((double)(strategy->most ? used : offers - used) / (double)offers);
    }
    return weights > 0 ? sum / weights * 100 * a->weight : 0;
}

static bool offers_any(const struct session *s, const struct node *node, const char *name)
{
    uint32_t d = dim_find(s->model, name);

    return d != NOWHERE && s->model->columns[d].offers[node->at] > 0;
}

static double sparing(const struct session *s, const struct arguments *a, const struct kind *kind,
                      const struct node *node)
{
    double here = 0, all = 0;

    for (size_t i = 0; i < kind->asks.n; i++)
        if (s->model->columns[kind->asks.at[i].dim].offers[node->at] <= 0)
            return 0;
    for (size_t i = 0; i < a->n_scarce; i++) {
        all += a->scarce[i].weight;
        if (offers_any(s, node, a->scarce[i].name))
            here += a->scarce[i].weight;
    }
    return all > 0 ? (1 - here / all) * 100 * a->scarce_weight : 0;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    double sum = strategic(s, a, kind, node);

    if (a->n_scarce)
        sum += sparing(s, a, kind, node);
    return sum;
}

/* A task that wants no device must leave cpu and memory for those that are free. */
static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    const struct arguments *a = use->config;
    const struct model *model = s->model;

    for (size_t i = 0; i < a->n_reserved; i++) {
        uint32_t d = dim_find(model, a->reserved[i].name);
        double devices, cpu, memory;
        if (d == NOWHERE)
            continue;
        if (asks_of(&kind->asks, d))
            return WAIT_NONE;
        devices = (double)column_idle(&model->columns[d], node->at) / 1000;
        cpu = (double)(column_idle(&model->columns[DIM_CPU], node->at) -
                       asks_of(&kind->asks, DIM_CPU));
        memory = (double)(column_idle(&model->columns[DIM_MEMORY], node->at) -
                          asks_of(&kind->asks, DIM_MEMORY));
        if (cpu < devices * a->reserved[i].cpu * 1000 ||
            memory < devices * a->reserved[i].memory * 1000000000)
            return WAIT_PLUGIN;
    }
    return WAIT_NONE;
}

const struct plugin plugin_resource_strategy_fit = {
    .name = "resource-strategy-fit",
    .sees_lines = true,
    .configure = configure,
    .check = check,
    .predicate = predicate,
    .score = score,
};

/*
 * Binpack: the fuller a node would be, the better, resource by resource with weights.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "engine/names.h"
#include "engine/plugins.h"

struct weight {
    const char *name;
    double value;
};

struct arguments {
    double weight;
    struct weight *list;
    size_t n;
};

/* The names as they stand; numbers are held to be such, and read where they are needed. */
struct read {
    const char *names;
    double ignored;
};

static double number_of(const struct berth_value *arguments, const char *name, double otherwise)
{
    const struct berth_value *value = berth_value_get(arguments, name);
    double number;

    if (!value || !value_number(value, &number))
        return otherwise;
    return number < 0 ? 1 : number;
}

static void add_names(const struct berth_value *arguments, const char *names, struct arguments *a,
                      struct arena *arena)
{
    const char *at;
    size_t n;

    while (names_next(&names, &at, &n)) {
        const char *name = arena_format(arena, "%.*s", (int)n, at);
        a->list[a->n++] = (struct weight){
            name, number_of(arguments, arena_format(arena, "binpack.resources.%s", name), 1)
        };
    }
}

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument known[] = {
        { "binpack.resources", ARG_TEXT, offsetof(struct read, names) },
        { "binpack.weight", ARG_DOUBLE, offsetof(struct read, ignored) },
        { "binpack.cpu", ARG_DOUBLE, offsetof(struct read, ignored) },
        { "binpack.memory", ARG_DOUBLE, offsetof(struct read, ignored) },
    };
    static const struct argument each = { "binpack.resources.", ARG_DOUBLE, 0 };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    struct read read = { NULL, 0 };
    int r = arguments_read(arguments, known, COUNT_OF(known), &each, &read, err);

    if (!read.names)
        read.names = "";
    a->list = ARENA_NEW0_N(arena, struct weight, strlen(read.names) + 3);
    a->weight = number_of(arguments, "binpack.weight", 1);
    a->list[a->n++] = (struct weight){ "cpu", number_of(arguments, "binpack.cpu", 1) };
    a->list[a->n++] = (struct weight){ "memory", number_of(arguments, "binpack.memory", 1) };
    if (r == 0)
        add_names(arguments, read.names, a, arena);
    *out = a;
    return r;
}

static int check(const struct berth_value *arguments, struct err *err)
{
    return names_check(arguments, "binpack.resources", err);
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    double sum = 0, weights = 0;

    for (size_t i = 0; i < kind->asks.n; i++) {
        uint32_t d = kind->asks.at[i].dim;
        const struct column *c = &s->model->columns[d];
        int64_t used = wrap_add(c->used[node->at], kind->asks.at[i].value);
        const struct weight *w = NULL;
        for (size_t k = 0; k < a->n; k++)
            if (strcmp(a->list[k].name, s->model->dims.at[d]->name) == 0)
                w = &a->list[k];
        if (!w)
            continue;
        weights += w->value;
        if (c->offers[node->at] <= 0 || w->value == 0)
            continue;
        if (used > c->offers[node->at])
            return 0;
        sum += w->value * (double)used / (double)c->offers[node->at];
    }
    return weights > 0 ? sum / weights * 100 * a->weight : 0;
}

const struct plugin plugin_binpack = {
    .name = "binpack",
    .sees_lines = true,
    .configure = configure,
    .check = check,
    .score = score,
};

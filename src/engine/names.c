/* Names: see names.h. */
#include "engine/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "base/str.h"
#include "engine/framework.h"

bool names_next(const char **at, const char **name, size_t *n)
{
    *name = *at + strspn(*at, ", ");
    *n = strcspn(*name, ", ");
    *at = *name + *n;
    return *n > 0;
}

/* How many times a name stands in a text. */
static size_t n_named(const char *names, const char *name, size_t length)
{
    const char *at = names, *other;
    size_t n, count = 0;

    while (names_next(&at, &other, &n))
        count += n == length && strncmp(other, name, n) == 0;
    return count;
}

bool names_have(const char *names, const char *name)
{
    return n_named(names, name, strlen(name)) > 0;
}

static int check_name(const char *names, const char *key, const char *name, struct err *err)
{
    char step[POINTER_STEP_SIZE];

    pointer_step(key, step);
    if (!name_is_valid_label(name))
        return err_set(err, -EINVAL,
                       "%s: \"%.60s\" is no name of a resource; names stand apart by commas", step,
                       name);
    if (text_eq(name, "cpu") || text_eq(name, "memory"))
        return err_set(err, -EINVAL, "%s: %s counts already; name others only", step, name);
    if (n_named(names, name, strlen(name)) > 1)
        return err_set(err, -EINVAL, "%s: \"%.60s\" stands here twice", step, name);
    return 0;
}

int names_check(const struct berth_value *object, const char *key, struct err *err)
{
    const struct berth_value *value = berth_value_get(object, key);
    const char *names = value && value->kind == BERTH_VALUE_TEXT ? value->text : "";
    const char *at = names, *name;
    size_t n, length = strlen(key);

    while (names_next(&at, &name, &n)) {
        char copy[260];
        snprintf(copy, sizeof(copy), "%.*s", (int)n, name);
        if (check_name(names, key, copy, err) < 0)
            return err->code;
    }
    for (size_t i = 0; object && i < object->n_members; i++) {
        const char *own = object->members[i].key;
        char step[POINTER_STEP_SIZE];
        if (strncmp(own, key, length) == 0 && own[length] == '.' &&
            !names_have(names, own + length + 1))
            return err_set(err, -EINVAL, "%s: %s is not among %s", pointer_step(own, step),
                           own + length + 1, key);
    }
    return 0;
}

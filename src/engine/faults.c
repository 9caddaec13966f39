/* Faults: see faults.h. */
#include "engine/faults.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "engine/framework.h"

void faults_tell(struct faults *faults, const char *above, const struct err *err)
{
    struct err full = *err;

    if (above[0])
        err_under(&full, above);
    if (!faults->n++)
        faults->first = full;
    if (faults->tell)
        faults->tell(full.text, faults->arg);
}

/* An object without what a pointer leads to; a list is left out whole. NULL: it leads to nothing. */
static const struct berth_value *without(const struct berth_value *object, const char *pointer,
                                         struct arena *arena)
{
    struct berth_value *copy = ARENA_NEW0(arena, struct berth_value), *members;
    bool is_found = false;

    members = ARENA_NEW0_N(arena, struct berth_value, object->n_members + 1);
    *copy = *object;
    copy->members = members;
    copy->n_members = 0;
    for (size_t i = 0; i < object->n_members; i++) {
        const struct berth_value *member = &object->members[i], *rest = NULL;
        char step[POINTER_STEP_SIZE];
        size_t n = strlen(pointer_step(member->key, step));

        if (is_found || strncmp(pointer, step, n) != 0 || (pointer[n] && pointer[n] != '/')) {
            members[copy->n_members++] = *member;
            continue;
        }
        is_found = true;
        if (member->kind == BERTH_VALUE_OBJECT && pointer[n])
            rest = without(member, pointer + n, arena);
        if (rest)
            members[copy->n_members++] = *rest;
    }
    return is_found ? copy : NULL;
}

/* "/a/b" of "/a/b: why". */
static void pointer_of(const struct err *err, char out[sizeof(err->text)])
{
    const char *colon = strstr(err->text, ": ");

    snprintf(out, sizeof(err->text), "%.*s",
             err->text[0] == '/' && colon ? (int)(colon - err->text) : 0, err->text);
}

bool faults_read(struct faults *faults, const char *above, const struct berth_value *object,
                 faults_read_fn *read, void *arg, struct arena *arena)
{
    char pointer[sizeof(faults->first.text)] = "", last[sizeof(pointer)] = "";

    for (;;) {
        struct err err = { 0 };

        if (read(object, arg, &err) >= 0)
            return true;
        pointer_of(&err, pointer);
        if (pointer[0] && text_eq(pointer, last))
            *strrchr(pointer, '/') = '\0'; /* it is needed: what lacks it goes */
        else
            faults_tell(faults, above, &err);
        if (!object || !pointer[0] || !(object = without(object, pointer, arena)))
            return false;
        snprintf(last, sizeof(last), "%s", pointer);
    }
}

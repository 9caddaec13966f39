/* Show: the members of objects. See show.h. */
#include "server/show.h"

#include <string.h>

#include "base/clock.h"
#include "base/quantity.h"

void show_set(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new_nocheck(object, key, value) < 0)
        abort(); /* out of memory */
}

json_t *show_value(const char *text)
{
    json_t *value = json_string(text ? text : "");
    CLEANUP(freep) char *plain = NULL;

    if (value)
        return value;
    plain = text_copy(text);
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return json_string(plain);
}

void show_text(json_t *object, const char *key, const char *text)
{
    if (text && text[0])
        show_set(object, key, show_value(text));
}

void show_number(json_t *object, const char *key, int64_t number)
{
    show_set(object, key, json_integer(number));
}

void show_time(json_t *object, const char *key, int64_t wall_ms)
{
    CLEANUP(str_fini) struct str text = { 0 };

    if (!wall_ms)
        return;
    clock_format_wall(wall_ms, &text);
    show_set(object, key, json_string(str_text(&text)));
}

void show_duration(json_t *object, const char *key, int64_t ms)
{
    CLEANUP(str_fini) struct str text = { 0 };

    duration_format(ms, &text);
    show_set(object, key, json_string(str_text(&text)));
}

void show_json(json_t *object, const char *key, const char *text)
{
    json_t *value = text && text[0] ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;

    if (value)
        show_set(object, key, value);
}

void show_amount(json_t *object, const char *key, const char *resource, int64_t value)
{
    CLEANUP(str_fini) struct str text = { 0 };

    quantity_format(value, quantity_unit_of(resource ? resource : ""), &text);
    show_set(object, key, json_string(str_text(&text)));
}

/* What a task states that holds so much; NULL: none holds more than it states. */
static const struct amount *stated_of(const struct job_spec *spec, const char *resource,
                                      int64_t held)
{
    if (!spec || spec->memory_milli <= 1000 || !text_eq(resource, "memory"))
        return NULL;
    for (size_t i = 0; i < spec->n_groups; i++)
        for (size_t k = 0; k < spec->groups[i].holds.n; k++)
            if (text_eq(spec->groups[i].holds.at[k].resource, resource) &&
                spec->groups[i].holds.at[k].value == held)
                return &spec->groups[i].resources.at[k]; /* they stand in the same order */
    return NULL;
}

void show_asked_text(const struct job_spec *spec, const char *resource, int64_t asked,
                     struct str *out)
{
    const struct amount *stated = stated_of(spec, resource, asked);

    quantity_format(asked, quantity_unit_of(resource), out);
    if (!stated)
        return;
    str_add(out, " (");
    quantity_format(stated->value, quantity_unit_of(resource), out);
    str_addf(out, " x %g)", (double)spec->memory_milli / 1000);
}

void show_asked(json_t *object, const struct job_spec *spec, const char *resource, int64_t asked)
{
    CLEANUP(str_fini) struct str text = { 0 };

    show_amount(object, "asked", resource, asked);
    if (!stated_of(spec, resource, asked))
        return;
    show_asked_text(spec, resource, asked, &text);
    show_text(object, "askedAs", str_text(&text));
}

json_t *show_amounts(const json_t *amounts)
{
    json_t *out = json_object();
    const char *resource;
    json_t *value;

    json_object_foreach((json_t *)amounts, resource, value)
    {
        if (json_is_integer(value))
            show_amount(out, resource, resource, json_integer_value(value));
        else
            json_object_set_nocheck(out, resource, value);
    }
    return out;
}

json_t *show_engine_amounts(const struct berth_amounts *amounts)
{
    json_t *out = json_object();

    for (size_t i = 0; i < amounts->n; i++)
        show_amount(out, amounts->at[i].name, amounts->at[i].name, amounts->at[i].value);
    return out;
}

json_t *show_read_object(const char *text)
{
    json_t *object = text && text[0] ? json_loads(text, 0, NULL) : NULL;

    if (json_is_object(object))
        return object;
    json_decref(object);
    return json_object();
}

void show_add_amount(json_t *amounts, const char *resource, int64_t value)
{
    int64_t was = json_integer_value(json_object_get(amounts, resource));

    /* Sums of rows that were each accepted; a total beyond the limit shows as the limit. */
    was = was > QUANTITY_MAX - value ? QUANTITY_MAX : was + value;
    show_set(amounts, resource, json_integer(was));
}

#include "cli/sort.h"

#include "base/test.h"

static void nothing(const json_t *item, const struct output *output, struct str *out)
{
    (void)item;
    (void)output;
    (void)out;
}

static const struct column columns[] = {
    { "NAME", "name", NULL, 0 },
    { "PRI", "priority", NULL, 0 },
    { "RUNNING", "usage/running", NULL, 0 },
    { "INFO", NULL, nothing, 0 },
    { "EXIT", "code", nothing, 0 },
    { "WHERE", "where", NULL, COLUMN_HERE },
    { "MEM", "memory", NULL, COLUMN_HERE | COLUMN_RIGHT },
    { "CPU", "used/cpu", nothing, 0 },
    { "LIMIT", "limit", nothing, COLUMN_HERE | COLUMN_TIME },
    { "AGE", "-registeredAt", nothing, 0 },
};
static const struct listing listing = { columns, COUNT_OF(columns), "id", "name" };

static const struct {
    const char *name, *word, *field;
} rows[] = {
    { "a field", "submittedAt", "submittedAt" },
    { "down", "-submittedAt", "-submittedAt" },
    { "a head", "PRI", "priority" },
    { "a head, down", "-PRI", "-priority" },
    { "a head as one types it", "Pri", "priority" },
    { "of a part", "running", "usage.running" },
    { "a column that is made", "INFO", NULL },
    { "a column that the server knows not", "-where", NULL },
    { "that has a field", "exit", "code" },
    { "of a part", "-CPU", "-used.cpu" },
    { "the other way round", "AGE", "-registeredAt" },
    { "and back", "-age", "registeredAt" },
    { "a field with a key", "free.nvidia.com/GPU", "free.nvidia.com/GPU" },
};

TEST(a_list_is_sorted_by_fields_and_heads)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *field = sort_field(&listing, c->word);
        if (c->field)
            CHECK_TEXT(field, c->field);
        else
            CHECK(!field);
    }
}

/* Items by their names, in the order that comes of it. */
static const struct {
    const char *name, *word, *order;
} sorted[] = {
    { "by its text, numbers within it as numbers", "WHERE", "b a d c" },
    { "down, and what has none last all the same", "-WHERE", "a d b c" },
    { "amounts by their size", "mem", "a c b d" },
    { "down", "-mem", "b c a d" },
    { "times by their length, whatever is shown of them", "limit", "c b a d" },
    { "down, and no time last", "-limit", "a b c d" },
    { "of a column that shows nothing it stays as it is", "INFO", "a b c d" },
};

TEST(what_the_server_has_no_field_for_is_sorted_by_what_is_shown)
{
    static const char text[] =
        "[{\"name\":\"a\",\"where\":\"n10\",\"memory\":\"512Mi\","
        "\"limit\":\"2h\"},"
        "{\"name\":\"b\",\"where\":\"n9\",\"memory\":\"4Gi\",\"limit\":\"90m\"},"
        "{\"name\":\"c\",\"memory\":\"1536Mi\",\"limit\":\"600s\"},"
        "{\"name\":\"d\",\"where\":\"n10\"}]";

    ROW_EACH (c, sorted) {
        CLEANUP(json_decrefp) json_t *items = json_loads(text, 0, NULL);
        CLEANUP(str_fini) struct str order = { 0 };
        struct output output = { 0 };

        sort_items(&listing, c->word, &output, items);
        for (size_t i = 0; i < json_array_size(items); i++)
            str_addf(&order, "%s%s", i ? " " : "",
                     json_string_value(json_object_get(json_array_get(items, i), "name")));
        CHECK_TEXT(str_text(&order), c->order);
    }
}

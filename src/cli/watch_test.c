#include "cli/watch.h"

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
    { "CPU", "used/cpu", nothing, 0 },
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
    { "a column that is made", "INFO", "info" },
    { "that has a field", "exit", "code" },
    { "of a part", "-CPU", "-used.cpu" },
    { "the other way round", "AGE", "-registeredAt" },
    { "and back", "-age", "registeredAt" },
    { "a field with a key", "free.nvidia.com/GPU", "free.nvidia.com/GPU" },
};

TEST(a_list_is_sorted_by_fields_and_heads)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *field = cli_sort_field(&listing, c->word);
        CHECK_TEXT(field, c->field);
    }
}

#include "base/nearest.h"

#include "base/test.h"

TEST(nearest_finds_what_was_meant)
{
    static const char *const known[] = { "submit", "cancel", "logs", "node", "queue", "ps" };
    static const struct {
        const char *name, *meant;
    } rows[] = {
        { "sumbit", "submit" }, { "cancle", "cancel" }, { "log", "logs" }, { "nodes", "node" },
        { "quue", "queue" },    { "xyzzy", NULL },      { "q", NULL },     { "", NULL },
    };

    ROW_EACH (c, rows)
        CHECK_TEXT(nearest(c->name, known, COUNT_OF(known)), c->meant);
}

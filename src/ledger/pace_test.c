/* Pace: who is held up, and how long. */
#include "base/test.h"
#include "ledger/pace.h"

static const struct {
    const char *name;
    int n_before;     /* batches */
    int64_t every_us; /* from one to the next */
    size_t n_sends;   /* in each */
    int64_t since_us; /* the last began */
    int64_t waits_us;
} rows[] = {
    { "the first", 0, 0, 0, 0, 0 },
    { "one after the other, fast", 100, 500, 1, 500, 0 },
    { "many, but slow", 100, PACE_BUSY_US / PACE_BATCHES + 2000, 20, 500, 0 },
    { "many and fast", 100, 1000, 3, 500, PACE_US - 500 },
    { "many and fast, but it has just begun", PACE_BATCHES - 1, 1000, 2, 500, 0 },
    { "many and fast, and it is time", 100, 1000, 3, PACE_US, 0 },
    { "many and fast, and then nothing", 100, 1000, 3, PACE_BUSY_US, 0 },
    { "at the pace it stays paced", 100, PACE_US, 3, 0, PACE_US },
    { "one after the other, however much each asks for", 100, 1000, 1, 500, 0 },
    { "now and then two at the same time", 100, 3000, 2, 0, PACE_US },
};

TEST(only_where_many_ask_at_once_more_is_gathered)
{
    ROW_EACH (c, rows) {
        struct pace pace = { 0 };
        int64_t now = 1000000000, next;

        for (int i = 0; i < c->n_before; i++)
            pace_note(&pace, c->n_sends, now += c->every_us);
        now += c->since_us;
        next = pace_next_us(&pace, now);
        CHECK_EQ(next > now ? next - now : 0, c->waits_us);
    }
}

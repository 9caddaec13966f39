#include "agent/stop.h"

#include "base/test.h"

static const int64_t budgets[] = { -5, 0, 1, 2, 7, 10, 99, 1000, 30000, 3600000 };

TEST(stop_split_fits_whatever_the_budget)
{
    for (size_t i = 0; i < COUNT_OF(budgets); i++) {
        struct stop_split split = stop_split(budgets[i]);
        int64_t sum = split.drain_ms + split.grace_ms + split.force_ms + split.clean_ms;

        CHECK(split.drain_ms >= 0 && split.grace_ms >= 0 && split.force_ms >= 0 &&
              split.clean_ms >= 0);
        CHECK_EQ(sum, budgets[i] > 0 ? budgets[i] : 0);
    }
}

TEST(stop_split_gives_a_long_budget_to_the_drain)
{
    struct stop_split split = stop_split(3600000);

    CHECK_EQ(split.grace_ms, 30000);
    CHECK_EQ(split.force_ms, 3000);
    CHECK_EQ(split.clean_ms, 5000);
    CHECK_EQ(split.drain_ms, 3600000 - 38000);
}

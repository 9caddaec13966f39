#include "base/test.h"

#include "engine/setup.h"

TEST(profiles_are_all_configurations_that_an_engine_takes)
{
    static const char *const names[] = { "berth", "volcano", "beam", "bench", "ledger" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct berth_config *profile = berth_profile_find(names[i]);
        struct err err = { 0 };
        CHECK(profile != NULL);
        CHECK_OK(berth_config_check(profile, &err), &err);
        CHECK(profile->has_actions && profile->has_tiers && profile->policy);
    }
    for (size_t i = 0; berth_profile_at(i); i++)
        CHECK(i < COUNT_OF(names) && berth_profile_find(berth_profile_at(i)) != NULL);
    CHECK(!berth_profile_find("berht"));
}

static struct policy policy_of(const char *name)
{
    struct policy policy = { 0 };
    struct err err = { 0 };

    CHECK_OK(policy_read(berth_profile_find(name)->policy, &policy, &err), &err);
    return policy;
}

TEST(profiles_hold_what_their_files_say)
{
    struct policy berth = policy_of("berth"), volcano = policy_of("volcano"),
                  beam = policy_of("beam"), ledger = policy_of("ledger");

    CHECK_EQ(berth.victims, VICTIMS_EVERY_TIER);
    CHECK_EQ(berth.aging_step_ms, 600000);
    CHECK_EQ(berth.memory_milli, 1000);
    CHECK_EQ(volcano.tie, TIE_RANK);
    CHECK_EQ(volcano.protect_after_ms, BERTH_NEVER);
    CHECK_EQ(beam.memory_milli, 1250);
    CHECK_EQ(beam.tie, TIE_SPREAD);
    /* It names berth and says nothing of the policy. */
    CHECK_EQ(memcmp(&ledger, &berth, sizeof(berth)), 0);
}

/* A file says all of it, so that a copy under another name is the same profile. */
TEST(profiles_leave_no_option_to_chance)
{
    const struct berth_value *all = berth_profile_find("berth")->policy;

    CHECK(all->n_members > 20);
    for (size_t i = 0; berth_profile_at(i); i++) {
        const struct berth_value *policy = berth_profile_find(berth_profile_at(i))->policy;
        CHECK_EQ(policy->n_members, all->n_members);
        for (size_t k = 0; k < all->n_members; k++)
            CHECK(berth_value_get(policy, all->members[k].key) != NULL);
    }
}

TEST(profiles_differ_in_more_than_options_only_by_their_mode)
{
    CHECK_EQ(policy_of("berth").mode, MODE_BATCH);
    CHECK_EQ(policy_of("volcano").mode, MODE_REFERENCE);
    CHECK_EQ(policy_of("beam").mode, MODE_SERVERLESS);
    CHECK_EQ(policy_of("bench").mode, MODE_BATCH);
}

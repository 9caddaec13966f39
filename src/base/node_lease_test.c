#include "base/node_lease.h"

#include "base/test.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static const struct {
    const char *name;
    int64_t ttl_ms, beat_ms, silent_ms, term_ms, lost_ms, away_ms;
} leases[] = {
    { "what nobody says", NODE_LEASE_TTL_MS, 10 * SECOND, 20 * SECOND, 3 * MINUTE, 330 * SECOND,
      164 * SECOND },
    { "half a minute", 30 * SECOND, 10 * SECOND, 15 * SECOND, 18 * SECOND, 33 * SECOND,
      2 * SECOND },
    { "a short one", 3 * SECOND, SECOND, 1500, 1800, 3300, 200 },
    { "ten minutes", 10 * MINUTE, 10 * SECOND, 20 * SECOND, 6 * MINUTE, 11 * MINUTE, 344 * SECOND },
};

TEST(node_lease_says_what_follows_from_a_ttl)
{
    ROW_EACH (c, leases) {
        CHECK_EQ(node_lease_beat_ms(c->ttl_ms), c->beat_ms);
        CHECK_EQ(node_lease_silent_ms(c->ttl_ms, c->beat_ms), c->silent_ms);
        CHECK_EQ(node_lease_term_ms(c->ttl_ms), c->term_ms);
        CHECK_EQ(node_lease_lost_ms(c->ttl_ms), c->lost_ms);
        CHECK_EQ(node_lease_away_ms(c->ttl_ms, c->beat_ms), c->away_ms);
        CHECK(node_lease_term_ms(c->ttl_ms) < node_lease_kill_ms(c->ttl_ms));
        CHECK(node_lease_kill_ms(c->ttl_ms) < c->lost_ms);
    }
}

TEST(node_lease_of_beats_too_rare_makes_nothing_sure)
{
    CHECK_EQ(node_lease_away_ms(10 * SECOND, 5 * SECOND), 0);
}

/* How late after a beat that was answered at 0 the next one is answered, of an agent whose server
 * goes away at away_ms and is back at back_ms. A silent server lets each beat run into its time. */
static int64_t next_answer_ms(int64_t beat_ms, int64_t away_ms, int64_t back_ms, bool is_silent)
{
    int64_t now_ms = beat_ms;

    while (now_ms >= away_ms && now_ms < back_ms)
        now_ms +=
            (is_silent ? node_lease_beat_timeout_ms(beat_ms) : 0) + node_lease_again_ms(beat_ms);
    return now_ms;
}

static const struct {
    const char *name;
    int64_t ttl_ms;
} ttls[] = {
    { "what nobody says", NODE_LEASE_TTL_MS },
    { "half a minute", 30 * SECOND },
    { "a short one", 3 * SECOND },
};

TEST(node_lease_keeps_what_runs_while_a_server_is_away_no_longer_than_is_sure)
{
    ROW_EACH (c, ttls) {
        int64_t beat_ms = node_lease_beat_ms(c->ttl_ms);
        int64_t sure_ms = node_lease_away_ms(c->ttl_ms, beat_ms), latest_ms = 0;

        for (int64_t away_ms = 1; away_ms <= beat_ms; away_ms += beat_ms / 100)
            for (int is_silent = 0; is_silent < 2; is_silent++) {
                int64_t ms = next_answer_ms(beat_ms, away_ms, away_ms + sure_ms, is_silent);
                latest_ms = ms > latest_ms ? ms : latest_ms;
            }
        CHECK(latest_ms <= node_lease_term_ms(c->ttl_ms));
        /* And it says no less than it may. */
        CHECK(next_answer_ms(beat_ms, beat_ms,
                             beat_ms + sure_ms + 2 * node_lease_beat_timeout_ms(beat_ms),
                             true) > node_lease_term_ms(c->ttl_ms));
    }
}

/* A server's machine that starts anew takes a minute or two; the agents of before gave it 3 s, and
 * were cut off after 18. */
TEST(node_lease_lets_a_servers_machine_start_anew)
{
    CHECK(node_lease_away_ms(NODE_LEASE_TTL_MS, node_lease_beat_ms(NODE_LEASE_TTL_MS)) >=
          2 * MINUTE);
}

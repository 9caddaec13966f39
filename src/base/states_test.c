#include "base/states.h"

#include "base/test.h"

static const struct {
    const char *const *words;
    size_t n;
    const char *name;
} lists[] = {
    { attempt_state_words, ATTEMPT_STATE_COUNT, "attempt" },
    { task_state_words, TASK_STATE_COUNT, "task" },
    { job_state_words, JOB_STATE_COUNT, "job" },
    { node_state_words, NODE_STATE_COUNT, "node" },
    { queue_state_words, QUEUE_STATE_COUNT, "queue" },
    { cause_words, CAUSE_COUNT, "cause" },
    { detail_words, DETAIL_COUNT, "detail" },
    { then_words, THEN_COUNT, "then" },
    { reservation_state_words, RESERVATION_COUNT, "reservation" },
    { purpose_words, PURPOSE_COUNT, "purpose" },
    { release_words, RELEASE_COUNT, "release" },
    { order_state_words, ORDER_STATE_COUNT, "order" },
};

TEST(states_have_one_word_each)
{
    ROW_EACH (c, lists)
        for (size_t i = 0; i < c->n; i++) {
            CHECK(c->words[i] != NULL);
            CHECK_EQ(states_find(c->words[i], c->words, c->n), i);
        }
}

TEST(order_that_is_over_stays_so)
{
    for (int from = 0; from < ORDER_STATE_COUNT; from++) {
        bool moves = false;
        for (int to = 0; to < ORDER_STATE_COUNT; to++)
            moves = moves || order_may_become((enum order_state)from, (enum order_state)to);
        CHECK_EQ(moves, !order_is_over((enum order_state)from));
    }
}

TEST(attempt_ended_is_for_good)
{
    for (int event = 0; event < ATTEMPT_EVENT_COUNT; event++)
        CHECK_EQ(attempt_next(ATTEMPT_ENDED, (enum attempt_event)event), -1);
}

/* Invariant 10: whatever a live attempt is in, the loss of its node ends it. */
TEST(attempt_live_ends_when_its_node_is_gone)
{
    for (int state = 0; state < ATTEMPT_ENDED; state++)
        CHECK_EQ(attempt_next((enum attempt_state)state, ATTEMPT_ON_NODE_GONE), ATTEMPT_ENDED);
}

static const struct {
    const char *name;
    enum cause cause;
    enum detail detail;
    int code, signal, shell;
} ends[] = {
    { "its own code", CAUSE_COMPLETED, DETAIL_NONE, 3, 0, 3 },
    { "a signal", CAUSE_COMPLETED, DETAIL_NONE, 0, 15, 143 },
    { "out of memory", CAUSE_OUT_OF_MEMORY, DETAIL_NONE, 0, 9, 137 },
    { "limit, after KILL", CAUSE_LIMIT_REACHED, DETAIL_NONE, 0, 9, 137 },
    { "no such command", CAUSE_START_FAILED, DETAIL_COMMAND_NOT_FOUND, 0, 0, 127 },
    { "not executable", CAUSE_START_FAILED, DETAIL_COMMAND_NOT_EXECUTABLE, 0, 0, 126 },
    { "no image", CAUSE_START_FAILED, DETAIL_IMAGE_ABSENT, 0, 0, 125 },
};

TEST(cause_shell_code_is_what_a_shell_shows)
{
    ROW_EACH (c, ends)
        CHECK_EQ(cause_shell_code(c->cause, c->detail, c->code, c->signal), c->shell);
}

TEST(cause_stronger_is_strict)
{
    CHECK(cause_is_stronger(CAUSE_CANCELLED, CAUSE_EVICTED));
    CHECK(!cause_is_stronger(CAUSE_EVICTED, CAUSE_CANCELLED));
    CHECK(!cause_is_stronger(CAUSE_EVICTED, CAUSE_DRAINED));
    CHECK(cause_is_stronger(CAUSE_CANCELLED, CAUSE_REQUEUED));
    CHECK(cause_is_stronger(CAUSE_REQUEUED, CAUSE_NONE));
    CHECK(!cause_spends_try(CAUSE_REQUEUED, 143));
}

/* States: see states.h. */
#include "base/states.h"

#include <signal.h>

#include "base/str.h"

const char *const attempt_state_words[ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_BOUND] = "bound",       [ATTEMPT_STARTING] = "starting", [ATTEMPT_RUNNING] = "running",
    [ATTEMPT_STOPPING] = "stopping", [ATTEMPT_ENDED] = "ended",
};

const char *const task_state_words[TASK_STATE_COUNT] = {
    [TASK_PENDING] = "pending", [TASK_LIVE] = "live",           [TASK_SUCCEEDED] = "succeeded",
    [TASK_FAILED] = "failed",   [TASK_CANCELLED] = "cancelled",
};

const char *const job_state_words[JOB_STATE_COUNT] = {
    [JOB_PENDING] = "pending",     [JOB_RUNNING] = "running", [JOB_STOPPING] = "stopping",
    [JOB_SUCCEEDED] = "succeeded", [JOB_FAILED] = "failed",   [JOB_CANCELLED] = "cancelled",
};

const char *const node_state_words[NODE_STATE_COUNT] = {
    [NODE_COMING] = "coming", [NODE_READY] = "ready",     [NODE_UNREACHABLE] = "unreachable",
    [NODE_LOST] = "lost",     [NODE_LEAVING] = "leaving", [NODE_GONE] = "gone",
};

const char *const queue_state_words[QUEUE_STATE_COUNT] = {
    [QUEUE_OPEN] = "open",
    [QUEUE_DRAINING] = "draining",
    [QUEUE_CLOSED] = "closed",
};

const char *const cause_words[CAUSE_COUNT] = {
    [CAUSE_NONE] = "",
    [CAUSE_COMPLETED] = "COMPLETED",
    [CAUSE_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [CAUSE_LIMIT_REACHED] = "LIMIT_REACHED",
    [CAUSE_HEALTH_FAILED] = "HEALTH_FAILED",
    [CAUSE_START_FAILED] = "START_FAILED",
    [CAUSE_CANCELLED] = "CANCELLED",
    [CAUSE_EVICTED] = "EVICTED",
    [CAUSE_DRAINED] = "DRAINED",
    [CAUSE_SHUTDOWN] = "SHUTDOWN",
    [CAUSE_NODE_LOST] = "NODE_LOST",
    [CAUSE_DISOWNED] = "DISOWNED",
    [CAUSE_MONITOR_LOST] = "MONITOR_LOST",
    [CAUSE_OTHER_LIFE] = "OTHER_LIFE",
    [CAUSE_REQUEUED] = "REQUEUED",
};

const char *const detail_words[DETAIL_COUNT] = {
    [DETAIL_NONE] = "",
    [DETAIL_IMAGE_ABSENT] = "IMAGE_ABSENT",
    [DETAIL_IMAGE_PULL] = "IMAGE_PULL",
    [DETAIL_PORT_TAKEN] = "PORT_TAKEN",
    [DETAIL_MOUNT_FAILED] = "MOUNT_FAILED",
    [DETAIL_DEVICE_SETUP_FAILED] = "DEVICE_SETUP_FAILED",
    [DETAIL_RUNTIME_FAILED] = "RUNTIME_FAILED",
    [DETAIL_START_TIMEOUT] = "START_TIMEOUT",
    [DETAIL_COMMAND_NOT_FOUND] = "COMMAND_NOT_FOUND",
    [DETAIL_COMMAND_NOT_EXECUTABLE] = "COMMAND_NOT_EXECUTABLE",
    [DETAIL_IMAGE_NOT_ALLOWED] = "IMAGE_NOT_ALLOWED",
};

const char *const then_words[THEN_COUNT] = {
    [THEN_NONE] = "",         [THEN_AGAIN] = "again",         [THEN_SUCCEEDED] = "succeeded",
    [THEN_FAILED] = "failed", [THEN_CANCELLED] = "cancelled",
};

const char *const reservation_state_words[RESERVATION_COUNT] = {
    [RESERVATION_OPEN] = "open",
    [RESERVATION_USED] = "used",
    [RESERVATION_ENDED] = "ended",
};

const char *const purpose_words[PURPOSE_COUNT] = {
    [PURPOSE_EVICTION] = "eviction",
    [PURPOSE_MACHINE] = "machine",
};

const char *const release_words[RELEASE_COUNT] = {
    [RELEASE_NONE] = "",
    [RELEASE_OWNER_GONE] = "OWNER_GONE",
    [RELEASE_MOVED] = "MOVED",
    [RELEASE_NODE_CHANGED] = "NODE_CHANGED",
    [RELEASE_NOT_CAME] = "NOT_CAME",
    [RELEASE_TIMED_OUT] = "TIMED_OUT",
    [RELEASE_TAKEN] = "TAKEN",
};

const char *const order_state_words[ORDER_STATE_COUNT] = {
    [ORDER_WANTED] = "wanted", [ORDER_PLACED] = "placed",       [ORDER_CAME] = "came",
    [ORDER_FAILED] = "failed", [ORDER_CANCELLED] = "cancelled", [ORDER_RELEASED] = "released",
};

int states_find(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text_eq(word, words[i]))
            return (int)i;
    return -1;
}

bool attempt_is_live(enum attempt_state state)
{
    return state < ATTEMPT_ENDED;
}

/* One row for each arrow of an attempt; what is not here changes nothing and is answered stale. */
static const struct {
    enum attempt_state from;
    enum attempt_event on;
    enum attempt_state to;
} arrows[] = {
    { ATTEMPT_BOUND, ATTEMPT_ON_ACK, ATTEMPT_STARTING },
    { ATTEMPT_BOUND, ATTEMPT_ON_STOP, ATTEMPT_ENDED },
    { ATTEMPT_BOUND, ATTEMPT_ON_NODE_GONE, ATTEMPT_ENDED },
    { ATTEMPT_BOUND, ATTEMPT_ON_NOT_LISTED, ATTEMPT_BOUND },
    { ATTEMPT_STARTING, ATTEMPT_ON_STARTED, ATTEMPT_RUNNING },
    { ATTEMPT_STARTING, ATTEMPT_ON_STOP, ATTEMPT_STOPPING },
    { ATTEMPT_STARTING, ATTEMPT_ON_EXIT, ATTEMPT_ENDED },
    { ATTEMPT_STARTING, ATTEMPT_ON_NODE_GONE, ATTEMPT_ENDED },
    { ATTEMPT_STARTING, ATTEMPT_ON_NOT_LISTED, ATTEMPT_ENDED },
    { ATTEMPT_STARTING, ATTEMPT_ON_LISTED, ATTEMPT_STARTING },
    { ATTEMPT_RUNNING, ATTEMPT_ON_STOP, ATTEMPT_STOPPING },
    { ATTEMPT_RUNNING, ATTEMPT_ON_EXIT, ATTEMPT_ENDED },
    { ATTEMPT_RUNNING, ATTEMPT_ON_NODE_GONE, ATTEMPT_ENDED },
    { ATTEMPT_RUNNING, ATTEMPT_ON_NOT_LISTED, ATTEMPT_ENDED },
    { ATTEMPT_RUNNING, ATTEMPT_ON_LISTED, ATTEMPT_RUNNING },
    { ATTEMPT_STOPPING, ATTEMPT_ON_STOP, ATTEMPT_STOPPING },
    { ATTEMPT_STOPPING, ATTEMPT_ON_EXIT, ATTEMPT_ENDED },
    { ATTEMPT_STOPPING, ATTEMPT_ON_NODE_GONE, ATTEMPT_ENDED },
    { ATTEMPT_STOPPING, ATTEMPT_ON_NOT_LISTED, ATTEMPT_ENDED },
    { ATTEMPT_STOPPING, ATTEMPT_ON_LISTED, ATTEMPT_STOPPING },
};

int attempt_next(enum attempt_state state, enum attempt_event event)
{
    for (size_t i = 0; i < COUNT_OF(arrows); i++)
        if (arrows[i].from == state && arrows[i].on == event)
            return (int)arrows[i].to;
    return -1;
}

bool job_is_over(enum job_state state)
{
    return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_CANCELLED;
}

bool cause_spends_try(enum cause cause, int exit_code)
{
    switch (cause) {
    case CAUSE_COMPLETED:
        return exit_code != 0;
    case CAUSE_OUT_OF_MEMORY:
    case CAUSE_HEALTH_FAILED:
    case CAUSE_START_FAILED:
    case CAUSE_DISOWNED:
    case CAUSE_MONITOR_LOST:
        return true;
    case CAUSE_NONE:
    case CAUSE_LIMIT_REACHED:
    case CAUSE_CANCELLED:
    case CAUSE_EVICTED:
    case CAUSE_DRAINED:
    case CAUSE_SHUTDOWN:
    case CAUSE_NODE_LOST:
    case CAUSE_OTHER_LIFE:
    case CAUSE_REQUEUED:
    case CAUSE_COUNT:
        return false;
    }
    return false;
}

/* How final a stop is: a cancelled task never runs again, one over its limit has failed. */
static int strength(enum cause cause)
{
    switch (cause) {
    case CAUSE_CANCELLED:
        return 3;
    case CAUSE_LIMIT_REACHED:
        return 2;
    case CAUSE_HEALTH_FAILED:
    case CAUSE_EVICTED:
    case CAUSE_DRAINED:
    case CAUSE_SHUTDOWN:
    case CAUSE_REQUEUED:
        return 1;
    case CAUSE_NONE:
    case CAUSE_COMPLETED:
    case CAUSE_OUT_OF_MEMORY:
    case CAUSE_START_FAILED:
    case CAUSE_NODE_LOST:
    case CAUSE_DISOWNED:
    case CAUSE_MONITOR_LOST:
    case CAUSE_OTHER_LIFE:
    case CAUSE_COUNT:
        return 0;
    }
    return 0;
}

bool cause_is_stronger(enum cause new_cause, enum cause old_cause)
{
    return strength(new_cause) > strength(old_cause);
}

int cause_shell_code(enum cause cause, enum detail detail, int exit_code, int exit_signal)
{
    if (cause == CAUSE_OUT_OF_MEMORY)
        return 128 + SIGKILL;
    if (cause == CAUSE_MONITOR_LOST)
        return 125;
    if (cause == CAUSE_START_FAILED) {
        if (detail == DETAIL_COMMAND_NOT_FOUND)
            return 127;
        return detail == DETAIL_COMMAND_NOT_EXECUTABLE ? 126 : 125;
    }
    return exit_signal ? 128 + exit_signal : exit_code;
}

bool node_takes_work(enum node_state state)
{
    return state == NODE_READY;
}

bool order_may_become(enum order_state from, enum order_state to)
{
    static const bool may[ORDER_STATE_COUNT][ORDER_STATE_COUNT] = {
        [ORDER_WANTED] = { [ORDER_PLACED] = true,
                           [ORDER_CAME] = true,
                           [ORDER_FAILED] = true,
                           [ORDER_CANCELLED] = true },
        [ORDER_PLACED] = { [ORDER_CAME] = true,
                           [ORDER_FAILED] = true,
                           [ORDER_CANCELLED] = true,
                           [ORDER_RELEASED] = true },
    };

    return may[from][to];
}

bool order_is_over(enum order_state state)
{
    return state != ORDER_WANTED && state != ORDER_PLACED;
}

/*
 * States: every state and transition of attempts, tasks, jobs and nodes, and their words.
 *
 * Ledger, agent, checker, API and the manual are made from these tables; a word that is not
 * here is not a state.
 */
#ifndef BASE_STATES_H
#define BASE_STATES_H

#include <stdbool.h>
#include <stddef.h>

enum attempt_state {
    ATTEMPT_BOUND,    /* placed by a commit; the agent has not been let start it */
    ATTEMPT_STARTING, /* the agent's ack was accepted; phases run */
    ATTEMPT_RUNNING,  /* the first instruction ran */
    ATTEMPT_STOPPING, /* an end is wanted and not over */
    ATTEMPT_ENDED,    /* for good: cause, code, signal */
    ATTEMPT_STATE_COUNT
};

/* What moves an attempt. */
enum attempt_event {
    ATTEMPT_ON_ACK,        /* the agent asks to start it */
    ATTEMPT_ON_STARTED,    /* first instruction */
    ATTEMPT_ON_STOP,       /* stop, eviction, limit, failed health check, drain */
    ATTEMPT_ON_EXIT,       /* the agent: a phase failed, the process ended, the runtime is gone */
    ATTEMPT_ON_NODE_GONE,  /* node lost, or registered with another boot id */
    ATTEMPT_ON_NOT_LISTED, /* a registration of its node, same boot, without it */
    ATTEMPT_ON_LISTED,     /* a registration of its node, same boot, with it */
    ATTEMPT_EVENT_COUNT
};

enum task_state {
    TASK_PENDING,
    TASK_LIVE, /* shown as its attempt's state */
    TASK_SUCCEEDED,
    TASK_FAILED,
    TASK_CANCELLED,
    TASK_STATE_COUNT
};

enum job_state {
    JOB_PENDING,
    JOB_RUNNING,
    JOB_STOPPING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_STATE_COUNT
};

enum node_state {
    NODE_COMING,      /* ordered, not yet registered */
    NODE_READY,       /* registered, heard of */
    NODE_UNREACHABLE, /* silent for half a ttl */
    NODE_LOST,        /* silent for ttl + 10 %; its attempts ended */
    NODE_LEAVING,     /* the agent said goodbye; attempts remain */
    NODE_GONE,        /* removed, left empty, or never came */
    NODE_STATE_COUNT
};

enum queue_state { QUEUE_OPEN, QUEUE_DRAINING, QUEUE_CLOSED, QUEUE_STATE_COUNT };
/* So many may stand above a queue, root included. Who looks further up goes in a circle. */
enum { QUEUE_DEPTH_MAX = 32 };

/* Why an attempt ended, or is being ended. */
enum cause {
    CAUSE_NONE,
    CAUSE_COMPLETED, /* the code tells */
    CAUSE_OUT_OF_MEMORY,
    CAUSE_LIMIT_REACHED,
    CAUSE_HEALTH_FAILED,
    CAUSE_START_FAILED, /* the detail tells */
    CAUSE_CANCELLED,
    CAUSE_EVICTED,
    CAUSE_DRAINED,
    CAUSE_SHUTDOWN,
    CAUSE_NODE_LOST,
    CAUSE_DISOWNED,
    CAUSE_MONITOR_LOST, /* its monitor was killed: how it ended is not known */
    CAUSE_OTHER_LIFE,   /* what its node has or had of it is of another life of the ledger */
    CAUSE_REQUEUED,     /* a person wants its job to wait again, or to be suspended */
    CAUSE_COUNT
};

/* Which phase of a start failed. */
enum detail {
    DETAIL_NONE,
    DETAIL_IMAGE_ABSENT,
    DETAIL_IMAGE_PULL,
    DETAIL_PORT_TAKEN,
    DETAIL_MOUNT_FAILED,
    DETAIL_DEVICE_SETUP_FAILED,
    DETAIL_RUNTIME_FAILED,
    DETAIL_START_TIMEOUT,
    DETAIL_COMMAND_NOT_FOUND,
    DETAIL_COMMAND_NOT_EXECUTABLE,
    DETAIL_IMAGE_NOT_ALLOWED,
    DETAIL_COUNT
};

/* What becomes of a task when its attempt has ended. */
enum then { THEN_NONE, THEN_AGAIN, THEN_SUCCEEDED, THEN_FAILED, THEN_CANCELLED, THEN_COUNT };

/* Room that is held for a job until it can be bound; of each of its parts too. */
enum reservation_state { RESERVATION_OPEN, RESERVATION_USED, RESERVATION_ENDED, RESERVATION_COUNT };

/* What it is held for. */
enum purpose { PURPOSE_EVICTION, PURPOSE_MACHINE, PURPOSE_COUNT };

/* Why held room was let go without being bound. */
enum release {
    RELEASE_NONE,
    RELEASE_OWNER_GONE,   /* its job is over, stopping, held, suspended or changed */
    RELEASE_MOVED,        /* its task was bound elsewhere, or another reservation carries it on */
    RELEASE_NODE_CHANGED, /* its node takes no work any more, or not this work */
    RELEASE_NOT_CAME,     /* the machine that was ordered did not come */
    RELEASE_TIMED_OUT,    /* the room did not come, or nobody bound it */
    RELEASE_TAKEN,        /* one that could have preempted its owner took it */
    RELEASE_COUNT
};

/* A machine that was asked for. */
enum order_state {
    ORDER_WANTED,
    ORDER_PLACED, /* a provider has it in hand */
    ORDER_CAME,   /* its node registered */
    ORDER_FAILED,
    ORDER_CANCELLED,
    ORDER_RELEASED, /* placed, and given back before it came */
    ORDER_STATE_COUNT
};

extern const char *const attempt_state_words[ATTEMPT_STATE_COUNT];
extern const char *const task_state_words[TASK_STATE_COUNT];
extern const char *const job_state_words[JOB_STATE_COUNT];
extern const char *const node_state_words[NODE_STATE_COUNT];
extern const char *const queue_state_words[QUEUE_STATE_COUNT];
extern const char *const cause_words[CAUSE_COUNT];
extern const char *const detail_words[DETAIL_COUNT];
extern const char *const then_words[THEN_COUNT];
extern const char *const reservation_state_words[RESERVATION_COUNT];
extern const char *const purpose_words[PURPOSE_COUNT];
extern const char *const release_words[RELEASE_COUNT];
extern const char *const order_state_words[ORDER_STATE_COUNT];

/** The place of a word in one of the lists above (n of it), or -1. */
int states_find(const char *word, const char *const *words, size_t n);

/** Whether an attempt in this state holds room: bound, starting, running, stopping. */
bool attempt_is_live(enum attempt_state state);

/**
 * Where an event takes an attempt.
 *
 * Returns  the next state; -1 if the event means nothing in that state (the message is stale)
 */
int attempt_next(enum attempt_state state, enum attempt_event event);

/** Whether a job in this state is over: succeeded, failed, cancelled. */
bool job_is_over(enum job_state state);

/** Whether an attempt that ended so spends one of its task's tries. */
bool cause_spends_try(enum cause cause, int exit_code);

/** Whether a stop for `new_cause` replaces one for `old_cause` that is under way. */
bool cause_is_stronger(enum cause new_cause, enum cause old_cause);

/**
 * What a shell sees of an attempt's end: the code; 128 + n for a signal; 137 for out of memory
 * and for a limit reached after KILL; 125, 126, 127 for a start that failed, 125 for an end that
 * nobody saw.
 */
int cause_shell_code(enum cause cause, enum detail detail, int exit_code, int exit_signal);

/** Whether a node in this state may be given new work, flags aside. */
bool node_takes_work(enum node_state state);

/** Whether an order in this state may come to that one. */
bool order_may_become(enum order_state from, enum order_state to);
/** Whether an order in this state is over: came, failed, cancelled or released. */
bool order_is_over(enum order_state state);

#endif

/*
 * Life: one attempt on its node, from its delivery to the answered report, as a function of what
 * happens to it. No I/O, no clock, no loop: an event goes in, a set of deeds comes out, and the
 * caller does them in the order of their bits.
 *
 * Two things run beside each other before the start: the preparation of the container, and asking
 * the server (ack). The start needs both. What makes an end wanted meanwhile waits for both to
 * settle, so that nothing is undone under a preparation that runs, and nothing that the server
 * counts as started goes without a report.
 */
#ifndef AGENT_LIFE_H
#define AGENT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/states.h"
#include "runtime/runtime.h"

enum life_step {
    LIFE_PREPARING,  /* preparation and ack run; or one of them still does */
    LIFE_START_WAIT, /* both are done: waits for its turn to call the runtime */
    LIFE_STARTING,   /* the runtime was called: its first instruction is waited for */
    LIFE_RUNNING,
    LIFE_CLEANING,  /* it does not run any more; what was made for it is being removed */
    LIFE_REPORTING, /* nothing is left; the server is to answer that it knows */
    LIFE_DONE,
    LIFE_STEP_COUNT
};
extern const char *const life_step_words[LIFE_STEP_COUNT];

enum life_event {
    LIFE_STORED,         /* its folder has what was delivered */
    LIFE_ACKED,          /* the server lets it start */
    LIFE_REFUSED,        /* the server does not */
    LIFE_PREPARED,       /* the container can be started */
    LIFE_PREPARE_FAILED, /* with a detail; or it was cancelled: without one */
    LIFE_TURN,           /* it may call the runtime now */
    LIFE_SPAWN_FAILED,   /* the monitor could not be started */
    LIFE_STARTED,        /* first instruction */
    LIFE_EXITED,         /* with its record; also a start that failed */
    LIFE_LOST,           /* its monitor died without a record */
    LIFE_STOP,           /* the server or the agent wants its end: a cause and a grace */
    LIFE_DROP,           /* it is over for the server: end it, say nothing */
    LIFE_ORPHANED,       /* the server is not the one that gave it: keep it, say nothing */
    LIFE_CLAIMED,        /* the server is another life of the one that gave it: go on with it */
    LIFE_START_LATE,     /* the start's deadline passed */
    LIFE_GRACE_OVER,     /* or KILL did not help in its time */
    LIFE_CLEANED,
    LIFE_CLEAN_FAILED,
    LIFE_CLEAN_AGAIN, /* the pause after that is over */
    LIFE_TAKEN,       /* the server has the report of its end, or will never take it */
    LIFE_EVENT_COUNT
};
extern const char *const life_event_words[LIFE_EVENT_COUNT];

/* What is to be done, in the order of the bits. */
enum life_deed {
    LIFE_DO_PREPARE = 1 << 0,       /* store, then prepare, on a thread of the pool */
    LIFE_DO_CANCEL = 1 << 1,        /* tell the preparation to give up */
    LIFE_DO_ACK = 1 << 2,           /* ask the server */
    LIFE_DO_QUEUE = 1 << 3,         /* for its turn */
    LIFE_DO_UNQUEUE = 1 << 4,       /* it does not want its turn any more */
    LIFE_DO_FREE_TURN = 1 << 5,     /* the call of the runtime is over: the next may */
    LIFE_DO_START = 1 << 6,         /* call the runtime */
    LIFE_DO_DISARM = 1 << 7,        /* no deadline of the start or the stop counts any more */
    LIFE_DO_ARM_START = 1 << 8,     /* set the deadline of the start */
    LIFE_DO_NOTE_STOP = 1 << 9,     /* write down why its end is wanted */
    LIFE_DO_TERM = 1 << 10,         /* signal TERM to all of it */
    LIFE_DO_ARM_GRACE = 1 << 11,    /* LIFE_GRACE_OVER in life.grace_ms */
    LIFE_DO_KILL = 1 << 12,         /* signal KILL to all of it */
    LIFE_DO_ARM_KILL = 1 << 13,     /* LIFE_GRACE_OVER when KILL should long have helped */
    LIFE_DO_REPORT_START = 1 << 14, /* say that it runs */
    LIFE_DO_CLEAN = 1 << 15,        /* on a thread of the pool; ends what still lives */
    LIFE_DO_CLEAN_LATER = 1 << 16,  /* LIFE_CLEAN_AGAIN after a pause */
    LIFE_DO_REPORT_END = 1 << 17,   /* say how it ended, until it is taken */
    LIFE_DO_RETIRE = 1 << 18,       /* keep its folder among the ended ones and forget it */
};

enum life_ack { ACK_NONE, ACK_ASKED, ACK_GIVEN, ACK_REFUSED };
enum life_prepare { PREPARE_RUNS, PREPARE_CANCELLING, PREPARE_DONE, PREPARE_FAILED };

/* How it ended; a plain value. */
struct life_end {
    enum cause cause;
    enum detail detail;
    int code, signal;
    char text[240]; /* why, where a start failed */
};

struct life {
    enum life_step step;
    enum life_ack ack;
    enum life_prepare prepare;
    bool has_started;
    bool is_silent; /* nothing of it is reported: dropped or orphaned */
    bool is_dropped;
    int n_kills;
    enum cause wanted; /* why its end is wanted; CAUSE_NONE */
    int64_t grace_ms;  /* of that */
    struct life_end end;
};

/* What happened. Members are read for the events that are named with them. */
struct life_news {
    enum life_event event;
    enum cause cause;               /* STOP */
    int64_t grace_ms;               /* STOP */
    enum detail detail;             /* PREPARE_FAILED, SPAWN_FAILED */
    const char *text;               /* PREPARE_FAILED, SPAWN_FAILED; NULL */
    const struct exit_record *exit; /* EXITED */
};

enum life_begin {
    LIFE_DELIVERED,     /* the server sent it */
    LIFE_FOUND_FRESH,   /* from here on: an earlier agent left it; its folder has it, nothing ran */
    LIFE_FOUND_RUNNING, /* its monitor lives */
    LIFE_FOUND_OVER,    /* it runs no more: LIFE_EXITED or LIFE_LOST is to follow */
    LIFE_ASKED_FOR,     /* nothing is left of it: its end, which is filled in then, is to be told */
};

/** Begins. Returns deeds. */
unsigned life_begin(struct life *life, enum life_begin begin);

/**
 * Lets something happen to it. An event that means nothing in its step changes nothing.
 *
 * Returns  deeds, a set of LIFE_DO_...
 */
unsigned life_on(struct life *life, const struct life_news *news);

/** Whether it still may run, or be started: it counts for what the server is told we have. */
bool life_is_listed(const struct life *life);

#endif

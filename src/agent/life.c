/*
 * Life: see life.h. A function for each event; a step in which the event means nothing falls
 * through to no deed.
 */
#include "agent/life.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { KILLS_MAX = 3 /* then the hard end: cleaning ends what still lives */ };

const char *const life_step_words[LIFE_STEP_COUNT] = {
    [LIFE_PREPARING] = "preparing", [LIFE_START_WAIT] = "start-wait",
    [LIFE_STARTING] = "starting",   [LIFE_RUNNING] = "running",
    [LIFE_CLEANING] = "cleaning",   [LIFE_REPORTING] = "reporting",
    [LIFE_DONE] = "done",
};

const char *const life_event_words[LIFE_EVENT_COUNT] = {
    [LIFE_STORED] = "stored",
    [LIFE_ACKED] = "acked",
    [LIFE_REFUSED] = "refused",
    [LIFE_PREPARED] = "prepared",
    [LIFE_PREPARE_FAILED] = "prepare-failed",
    [LIFE_TURN] = "turn",
    [LIFE_SPAWN_FAILED] = "spawn-failed",
    [LIFE_STARTED] = "started",
    [LIFE_EXITED] = "exited",
    [LIFE_LOST] = "lost",
    [LIFE_STOP] = "stop",
    [LIFE_DROP] = "drop",
    [LIFE_ORPHANED] = "orphaned",
    [LIFE_CLAIMED] = "claimed",
    [LIFE_START_LATE] = "start-late",
    [LIFE_GRACE_OVER] = "grace-over",
    [LIFE_CLEANED] = "cleaned",
    [LIFE_CLEAN_FAILED] = "clean-failed",
    [LIFE_CLEAN_AGAIN] = "clean-again",
    [LIFE_TAKEN] = "taken",
};

unsigned life_begin(struct life *life, enum life_begin begin)
{
    *life = (struct life){ .step = LIFE_PREPARING };
    switch (begin) {
    case LIFE_DELIVERED:
    case LIFE_FOUND_FRESH:
        return LIFE_DO_PREPARE;
    case LIFE_FOUND_RUNNING:
    case LIFE_FOUND_OVER:
        life->step = LIFE_STARTING;
        life->ack = ACK_GIVEN;
        life->prepare = PREPARE_DONE;
        return begin == LIFE_FOUND_RUNNING ? LIFE_DO_ARM_START : 0;
    case LIFE_ASKED_FOR:
        life->step = LIFE_REPORTING;
        life->prepare = PREPARE_DONE;
        return LIFE_DO_REPORT_END;
    }
    return 0;
}

static bool is_end_wanted(const struct life *life)
{
    return life->wanted != CAUSE_NONE || life->is_dropped;
}

/* The one place where a cause is chosen: a stop that was wanted before, then what ended it. */
static void set_end(struct life *life, enum cause cause, enum detail detail, const char *text)
{
    struct life_end *end = &life->end;

    if (life->wanted != CAUSE_NONE &&
        (cause != CAUSE_LIMIT_REACHED || cause_is_stronger(life->wanted, cause))) {
        cause = life->wanted;
        detail = DETAIL_NONE;
    }
    end->cause = cause;
    end->detail = cause == CAUSE_START_FAILED ? detail : DETAIL_NONE;
    if (text)
        snprintf(end->text, sizeof(end->text), "%s", text);
}

static unsigned clean(struct life *life)
{
    life->step = LIFE_CLEANING;
    return LIFE_DO_DISARM | LIFE_DO_CLEAN;
}

/* Before the start: goes on when neither the preparation nor an unanswered ack is in the way. */
static unsigned settle(struct life *life)
{
    if (life->prepare == PREPARE_RUNS) {
        life->prepare = PREPARE_CANCELLING;
        return LIFE_DO_CANCEL;
    }
    if (life->prepare == PREPARE_CANCELLING || (life->ack == ACK_ASKED && !life->is_dropped) ||
        (life->ack == ACK_NONE && !life->is_dropped))
        return 0;
    if (is_end_wanted(life))
        set_end(life, life->wanted, DETAIL_NONE, NULL);
    return clean(life);
}

/* Both tracks may have come to the start. */
static unsigned go_on(struct life *life)
{
    if (is_end_wanted(life) || life->end.cause != CAUSE_NONE)
        return settle(life);
    if (life->ack != ACK_GIVEN || life->prepare != PREPARE_DONE)
        return 0;
    life->step = LIFE_START_WAIT;
    return LIFE_DO_QUEUE;
}

static unsigned on_acked(struct life *life)
{
    if (life->step != LIFE_PREPARING || life->ack != ACK_ASKED)
        return 0;
    life->ack = ACK_GIVEN;
    if (is_end_wanted(life) || life->end.cause != CAUSE_NONE)
        return settle(life);
    return LIFE_DO_ARM_START | go_on(life);
}

static unsigned on_refused(struct life *life)
{
    if (life->step != LIFE_PREPARING || life->ack != ACK_ASKED)
        return 0;
    life->ack = ACK_REFUSED;
    life->is_silent = life->is_dropped = true;
    return settle(life);
}

static unsigned on_prepare_failed(struct life *life, const struct life_news *news)
{
    if (life->step != LIFE_PREPARING)
        return 0;
    if (life->prepare == PREPARE_RUNS || news->detail != DETAIL_NONE)
        set_end(life, CAUSE_START_FAILED,
                news->detail == DETAIL_NONE ? DETAIL_RUNTIME_FAILED : news->detail, news->text);
    life->prepare = PREPARE_FAILED;
    return settle(life);
}

static unsigned on_started(struct life *life)
{
    if (life->step != LIFE_STARTING)
        return 0;
    life->step = LIFE_RUNNING;
    life->has_started = true;
    if (is_end_wanted(life)) /* the stop's own deadlines stay, and its end says all */
        return LIFE_DO_FREE_TURN;
    return LIFE_DO_FREE_TURN | LIFE_DO_DISARM |
           (life->is_silent ? 0u : (unsigned)LIFE_DO_REPORT_START);
}

static void set_exit(struct life *life, const struct exit_record *exit)
{
    if (!exit->has_started) {
        set_end(life, CAUSE_START_FAILED,
                exit->detail == DETAIL_NONE ? DETAIL_RUNTIME_FAILED : exit->detail, exit->text);
        return;
    }
    life->has_started = true;
    life->end.code = exit->code;
    life->end.signal = exit->signal;
    if (exit->is_lease_over)
        set_end(life, CAUSE_NODE_LOST, DETAIL_NONE,
                "the node was cut off from its server: the lease was over");
    else if (exit->is_limit_over)
        set_end(life, CAUSE_LIMIT_REACHED, DETAIL_NONE, NULL);
    else
        set_end(life, exit->is_oom ? CAUSE_OUT_OF_MEMORY : CAUSE_COMPLETED, DETAIL_NONE, NULL);
}

static unsigned on_over(struct life *life, const struct life_news *news)
{
    unsigned free_turn = life->step == LIFE_STARTING ? (unsigned)LIFE_DO_FREE_TURN : 0;

    if (life->step != LIFE_STARTING && life->step != LIFE_RUNNING)
        return 0;
    switch ((int)news->event) {
    case LIFE_EXITED:
        set_exit(life, news->exit);
        break;
    case LIFE_LOST:
        set_end(life, CAUSE_MONITOR_LOST, DETAIL_NONE,
                "its monitor was killed: how the container ended is not known");
        break;
    default: /* LIFE_SPAWN_FAILED */
        if (life->step != LIFE_STARTING)
            return 0;
        set_end(life, CAUSE_START_FAILED, news->detail ? news->detail : DETAIL_RUNTIME_FAILED,
                news->text);
    }
    return free_turn | clean(life);
}

/* The end of one that runs, or is about to: TERM first, or KILL at once without a grace. */
static unsigned end_running(struct life *life)
{
    if (life->grace_ms <= 0)
        return LIFE_DO_KILL | LIFE_DO_ARM_KILL;
    return LIFE_DO_TERM | LIFE_DO_ARM_GRACE;
}

static unsigned end_by_step(struct life *life, bool is_first)
{
    switch (life->step) {
    case LIFE_PREPARING:
        return settle(life);
    case LIFE_START_WAIT:
        set_end(life, life->wanted, DETAIL_NONE, NULL);
        return LIFE_DO_UNQUEUE | clean(life);
    case LIFE_STARTING:
    case LIFE_RUNNING:
        if (is_first)
            return LIFE_DO_DISARM | end_running(life);
        return life->n_kills ? 0 : end_running(life);
    case LIFE_CLEANING:
    case LIFE_REPORTING:
    case LIFE_DONE:
    case LIFE_STEP_COUNT:
        break;
    }
    return 0;
}

static unsigned on_stop(struct life *life, const struct life_news *news)
{
    bool is_first = life->wanted == CAUSE_NONE;

    if (life->step >= LIFE_CLEANING || life->is_dropped)
        return 0;
    if (!is_first && !cause_is_stronger(news->cause, life->wanted)) {
        /* The same again; only a shorter grace is news. */
        if (news->grace_ms >= life->grace_ms)
            return 0;
        life->grace_ms = news->grace_ms;
        return end_by_step(life, false);
    }
    life->wanted = news->cause;
    if (is_first || news->grace_ms < life->grace_ms)
        life->grace_ms = news->grace_ms;
    return LIFE_DO_NOTE_STOP | end_by_step(life, is_first);
}

static unsigned on_drop(struct life *life)
{
    if (life->is_dropped || life->step == LIFE_DONE)
        return 0;
    life->is_silent = life->is_dropped = true;
    life->grace_ms = 0; /* its task may be placed again: there is no time to give */
    if (life->step == LIFE_REPORTING) {
        life->step = LIFE_DONE;
        return LIFE_DO_RETIRE;
    }
    return end_by_step(life, true);
}

static unsigned on_orphaned(struct life *life)
{
    if (life->step < LIFE_STARTING)
        return on_drop(life); /* it never ran, and nobody lets it start any more */
    life->is_silent = true;
    if (life->step != LIFE_REPORTING)
        return 0;
    life->step = LIFE_DONE;
    return LIFE_DO_RETIRE;
}

/* What was told of it may be in the part of the ledger that is lost: that it runs is told again. */
static unsigned on_claimed(struct life *life)
{
    if (life->is_dropped)
        return 0;
    life->is_silent = false;
    return life->step == LIFE_RUNNING && !is_end_wanted(life) ? LIFE_DO_REPORT_START : 0;
}

static unsigned on_start_late(struct life *life)
{
    if (life->step > LIFE_STARTING || life->has_started || is_end_wanted(life))
        return 0;
    set_end(life, CAUSE_START_FAILED, DETAIL_START_TIMEOUT, "the start took too long");
    if (life->step == LIFE_PREPARING)
        return settle(life);
    if (life->step == LIFE_START_WAIT)
        return LIFE_DO_UNQUEUE | clean(life);
    /* The hard end: whatever the runtime is doing, cleaning ends it. */
    return LIFE_DO_FREE_TURN | clean(life);
}

static unsigned on_grace_over(struct life *life)
{
    bool was_starting = life->step == LIFE_STARTING;

    if ((life->step != LIFE_STARTING && life->step != LIFE_RUNNING) || !is_end_wanted(life))
        return 0;
    if (life->n_kills++ < KILLS_MAX)
        return LIFE_DO_KILL | LIFE_DO_ARM_KILL;
    set_end(life, CAUSE_START_FAILED, DETAIL_RUNTIME_FAILED, "its monitor did not end it");
    return (was_starting ? (unsigned)LIFE_DO_FREE_TURN : 0) | clean(life);
}

static unsigned on_cleaned(struct life *life)
{
    if (life->step != LIFE_CLEANING)
        return 0;
    life->step = life->is_silent ? LIFE_DONE : LIFE_REPORTING;
    return life->is_silent ? LIFE_DO_RETIRE : LIFE_DO_REPORT_END;
}

unsigned life_on(struct life *life, const struct life_news *news)
{
    switch (news->event) {
    case LIFE_STORED:
        if (life->step != LIFE_PREPARING || life->ack != ACK_NONE)
            return 0;
        life->ack = ACK_ASKED;
        return life->is_dropped ? 0 : LIFE_DO_ACK;
    case LIFE_ACKED:
        return on_acked(life);
    case LIFE_REFUSED:
        return on_refused(life);
    case LIFE_PREPARED:
        if (life->step != LIFE_PREPARING)
            return 0;
        life->prepare = PREPARE_DONE;
        return go_on(life);
    case LIFE_PREPARE_FAILED:
        return on_prepare_failed(life, news);
    case LIFE_TURN:
        if (life->step != LIFE_START_WAIT)
            return 0;
        life->step = LIFE_STARTING;
        return LIFE_DO_START;
    case LIFE_STARTED:
        return on_started(life);
    case LIFE_SPAWN_FAILED:
    case LIFE_EXITED:
    case LIFE_LOST:
        return on_over(life, news);
    case LIFE_STOP:
        return on_stop(life, news);
    case LIFE_DROP:
        return on_drop(life);
    case LIFE_ORPHANED:
        return on_orphaned(life);
    case LIFE_CLAIMED:
        return on_claimed(life);
    case LIFE_START_LATE:
        return on_start_late(life);
    case LIFE_GRACE_OVER:
        return on_grace_over(life);
    case LIFE_CLEANED:
        return on_cleaned(life);
    case LIFE_CLEAN_FAILED:
        return life->step == LIFE_CLEANING ? LIFE_DO_CLEAN_LATER : 0;
    case LIFE_CLEAN_AGAIN:
        return life->step == LIFE_CLEANING ? LIFE_DO_CLEAN : 0;
    case LIFE_TAKEN:
        if (life->step != LIFE_REPORTING)
            return 0;
        life->step = LIFE_DONE;
        return LIFE_DO_RETIRE;
    case LIFE_EVENT_COUNT:
        break;
    }
    return 0;
}

bool life_is_listed(const struct life *life)
{
    return !life->is_silent && life->step != LIFE_DONE;
}

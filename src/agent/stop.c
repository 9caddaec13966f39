/*
 * Stop: see stop.h. Drain, TERM, KILL, clean up, leave. A small budget shortens each stage; what
 * could not be ended within it runs on under its monitor and belongs to the next agent.
 */
#include "agent/stop.h"

#include <errno.h>

#include "agent/inside.h"
#include "base/log.h"

enum { GRACE_MAX_MS = 30000, FORCE_MAX_MS = 3000, CLEAN_MAX_MS = 5000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct stop_split stop_split(int64_t budget_ms)
{
    struct stop_split split = { 0 };
    int64_t budget = budget_ms > 0 ? budget_ms : 0;

    split.clean_ms = least(budget * 15 / 100, CLEAN_MAX_MS);
    split.force_ms = least(budget / 10, FORCE_MAX_MS);
    split.grace_ms = least(budget / 2, GRACE_MAX_MS);
    split.drain_ms = budget - split.clean_ms - split.force_ms - split.grace_ms;
    return split;
}

/* ---- Those that are to end ---- */

/* With the grace of each, but no more than grace_ms. */
static void stop_each(struct agent *agent, bool only_waiting, int64_t grace_ms)
{
    struct sents names = attempts_names(agent);

    VEC_EACH (sent, &names) {
        struct attempt *attempt = attempt_find(agent, sent->name);
        if (!attempt || (only_waiting && attempt->life.step > LIFE_START_WAIT))
            continue;
        if (attempt->life.step == LIFE_PREPARING && attempt->life.ack == ACK_NONE)
            attempt_on(attempt, LIFE_DROP); /* the server places it elsewhere */
        else
            attempt_happens(attempt, &(struct life_news){
                                         .event = LIFE_STOP,
                                         .cause = CAUSE_SHUTDOWN,
                                         .grace_ms = least(grace_ms, attempt->order.grace_ms) });
    }
    VEC_FINI(&names);
}

/* ---- Stages ---- */

static void finish(struct agent *agent)
{
    size_t n_alive = 0;

    MAP_EACH (entry, &agent->attempts) {
        struct attempt *attempt = entry->value;
        n_alive += attempt->life.step < LIFE_REPORTING;
    }
    agent->stopping.stage = STOP_IS_OVER;
    if (n_alive && !agent->result)
        agent->result = err_set(&agent->why, -EEXIST,
                                "%zu attempts could not be ended in time: they are left to the "
                                "next agent",
                                n_alive);
    if (!n_alive)
        runtime_leave(agent->runtime);
    loop_stop(agent->loop);
}

static void next_stage(struct agent *agent)
{
    struct stopping *stopping = &agent->stopping;

    switch (stopping->stage) {
    case STOP_NOT:
    case STOP_DRAINS:
        stopping->stage = STOP_TERMS;
        stop_each(agent, false, stopping->split.grace_ms);
        timer_set(stopping->timer, stopping->split.grace_ms);
        break;
    case STOP_TERMS:
        stopping->stage = STOP_FORCES;
        stop_each(agent, false, 0);
        timer_set(stopping->timer, stopping->split.force_ms + stopping->split.clean_ms);
        break;
    case STOP_FORCES:
        finish(agent);
        return;
    case STOP_IS_OVER:
        return;
    }
    stop_check(agent);
}

static void on_timer(void *arg)
{
    next_stage(arg);
}

void stop_check(struct agent *agent)
{
    if (agent->stopping.stage == STOP_NOT || agent->stopping.stage == STOP_IS_OVER)
        return;
    if (agent->attempts.n == 0 && !agent->leaving)
        finish(agent);
}

void stop_begin(struct agent *agent, int64_t budget_ms)
{
    struct stopping *stopping = &agent->stopping;

    if (stopping->stage != STOP_NOT) {
        next_stage(agent);
        return;
    }
    log_info("stopping", "running", log_int(agent->attempts.n), "budgetMs", log_int(budget_ms),
             NULL);
    stopping->stage = STOP_DRAINS;
    stopping->split = stop_split(budget_ms);
    stopping->timer = timer_new(agent->loop, on_timer, agent);
    timer_set(stopping->timer, stopping->split.drain_ms);
    link_leave(agent);
    stop_each(agent, true, 0);
    stop_check(agent);
}

/*
 * Attempts: does what life.h asks for, and turns what happens (a monitor's word, an alarm, a
 * finished work) into events for it. Decides nothing itself but whose turn it is to call the
 * runtime.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/point.h"
#include "agent/stored.h"
#include "base/file.h"
#include "base/log.h"

enum { KILL_MS = 5000 /* KILL should long have helped */, CLEAN_AGAIN_MS = 1000 };

struct attempt *attempt_find(struct agent *agent, const char *name)
{
    return map_get(&agent->attempts, name);
}

struct sents attempts_names(struct agent *agent)
{
    struct sents names = { 0 };

    MAP_EACH (entry, &agent->attempts) {
        struct attempt *attempt = entry->value;
        struct sent *sent = VEC_ADD(&names);
        memcpy(sent->name, attempt->name, sizeof(sent->name));
    }
    return names;
}

struct attempt *attempt_new(struct agent *agent, const char *name, const char *id)
{
    struct attempt *attempt = NEW0(struct attempt);

    attempt->agent = agent;
    snprintf(attempt->name, sizeof(attempt->name), "%s", name);
    snprintf(attempt->id, sizeof(attempt->id), "%s", id);
    attempt->folder = text_format("%s/%s", agent->attempts_dir, id);
    attempt->received_us = now_us(agent);
    map_put(&agent->attempts, attempt->name, attempt);
    return attempt;
}

void attempt_free(struct attempt *attempt)
{
    map_remove(&attempt->agent->attempts, attempt->name);
    mail_forget(attempt);
    fdwatch_free(attempt->watching);
    watch_free(attempt->watch);
    watch_free(attempt->work.watch);
    timer_free(attempt->timer);
    order_fini(&attempt->order);
    mem_free(attempt->folder);
    mem_free(attempt->line);
    str_fini(&attempt->notes);
    mem_free(attempt);
}

void attempt_deliver(struct agent *agent, const char *name, const json_t *spec, char *line)
{
    char id[ORDER_ID_SIZE];
    struct attempt *attempt;
    struct err err = { 0 };

    if (order_id(name, id, &err) < 0) {
        log_error("the server sent what is no attempt", "why", err.text, NULL);
        mem_free(line);
        return;
    }
    attempt = attempt_new(agent, name, id);
    attempt->line = line;
    attempt->spare = spare_take(agent);
    shelf_forget(agent->shelf, id); /* of another life of the ledger: its log is not this one's */
    snprintf(attempt->given_by, sizeof(attempt->given_by), "%s", agent->identity.incarnation);
    order_read(spec, id, attempt->folder, &agent->rules, &attempt->order);
    attempt_do(attempt, life_begin(&attempt->life, LIFE_DELIVERED));
}

/* ---- Alarms ---- */

static void on_alarm(void *arg);

static void set_timer(struct attempt *attempt)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < ALARM_COUNT; i++)
        if (attempt->alarms[i] && attempt->alarms[i] < first)
            first = attempt->alarms[i];
    if (first == INT64_MAX) {
        if (attempt->timer)
            timer_unset(attempt->timer);
        return;
    }
    if (!attempt->timer)
        attempt->timer = timer_new(attempt->agent->loop, on_alarm, attempt);
    timer_set(attempt->timer, first - now_ms(attempt->agent));
}

static void arm(struct attempt *attempt, enum alarm alarm, int64_t at_ms)
{
    attempt->alarms[alarm] = at_ms > 0 ? at_ms : 1;
    set_timer(attempt);
}

static void disarm(struct attempt *attempt)
{
    memset(attempt->alarms, 0, sizeof(attempt->alarms));
    set_timer(attempt);
}

/* One alarm at a time: what it brings may end the attempt. */
static void on_alarm(void *arg)
{
    struct attempt *attempt = arg;
    static const enum life_event events[ALARM_COUNT] = {
        [ALARM_START] = LIFE_START_LATE,
        [ALARM_GRACE] = LIFE_GRACE_OVER,
        [ALARM_CLEAN] = LIFE_CLEAN_AGAIN,
    };
    int64_t now = now_ms(attempt->agent);

    for (int i = 0; i < ALARM_COUNT; i++) {
        if (!attempt->alarms[i] || attempt->alarms[i] > now)
            continue;
        attempt->alarms[i] = 0;
        set_timer(attempt);
        attempt_on(attempt, events[i]);
        return;
    }
    set_timer(attempt);
}

/* ---- Turns ---- */

static void enqueue(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;

    attempt->ready_us = now_us(agent);
    attempt->is_queued = true;
    *agent->queue_end = attempt;
    agent->queue_end = &attempt->next_in_queue;
    attempts_give_turns(agent);
}

static void unqueue(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;
    struct attempt **at = &agent->queue;

    if (!attempt->is_queued)
        return;
    while (*at != attempt)
        at = &(*at)->next_in_queue;
    *at = attempt->next_in_queue;
    if (!*at)
        agent->queue_end = at;
    attempt->next_in_queue = NULL;
    attempt->is_queued = false;
}

static void free_turn(struct attempt *attempt)
{
    if (!attempt->has_turn)
        return;
    attempt->has_turn = false;
    attempt->agent->n_turns--;
    attempts_give_turns(attempt->agent);
}

void attempts_give_turns(struct agent *agent)
{
    /* A start that fails at once gives its turn back from within. */
    if (agent->is_giving_turns)
        return;
    agent->is_giving_turns = true;
    /* Nothing is started without a lease: the server may have given it to another node
     * meanwhile. */
    while (agent->queue && agent->n_turns < agent->turns_max &&
           now_ms(agent) < agent->lease_until_ms) {
        struct attempt *attempt = agent->queue;
        unqueue(attempt);
        attempt->has_turn = true;
        agent->n_turns++;
        attempt_on(attempt, LIFE_TURN);
    }
    agent->is_giving_turns = false;
}

/* ---- The monitor ---- */

static void unwatch(struct attempt *attempt)
{
    fdwatch_free(attempt->watching);
    attempt->watching = NULL;
}

void attempt_take_exit(struct attempt *attempt, const struct exit_record *exit)
{
    attempt->started_ms = exit->started_ms ? exit->started_ms : attempt->started_ms;
    attempt->started_boot_ms = exit->started_boot_ms;
    attempt->ended_ms = exit->ended_ms;
    attempt->peak_memory_bytes = exit->peak_memory_bytes;
    attempt->cpu_us = exit->cpu_us;
    /* One that was found had its start timed by the agent before. */
    if (exit->has_started && attempt->called_us && attempt->life.step == LIFE_STARTING)
        wire_timing_add(&attempt->timings, "start", attempt->called_us - attempt->received_us,
                        exit->started_boot_ms * 1000 - attempt->called_us, NULL);
}

static void take_start(struct attempt *attempt, const struct watch_event *event)
{
    attempt->started_ms = event->started_ms;
    attempt->started_boot_ms = event->started_boot_ms;
    if (attempt->called_us)
        wire_timing_add(&attempt->timings, "start", attempt->called_us - attempt->received_us,
                        event->started_boot_ms * 1000 - attempt->called_us, NULL);
}

/* Reads one word of the monitor; false when there is none, or the attempt may be gone. */
static bool read_word(struct attempt *attempt)
{
    struct watch_event event;
    struct err err = { 0 };
    int r = watch_read(attempt->watch, &event, &err);

    if (r < 0) {
        log_warn("a monitor's word cannot be read", "attempt", attempt->name, "why", err.text,
                 NULL);
        event.kind = WATCH_LOST;
    }
    switch (event.kind) {
    case WATCH_NOTHING:
        return false;
    case WATCH_STARTED:
        take_start(attempt, &event);
        point("after-running");
        attempt_on(attempt, LIFE_STARTED);
        return true;
    case WATCH_ENDED:
        unwatch(attempt);
        attempt_take_exit(attempt, &event.exit);
        if (event.exit.is_lease_over) /* of an agent that was not registered yet */
            link_say_lease_over(attempt->agent, 1);
        attempt_happens(attempt, &(struct life_news){ .event = LIFE_EXITED, .exit = &event.exit });
        return false;
    case WATCH_LOST:
        unwatch(attempt);
        attempt_on(attempt, LIFE_LOST);
        return false;
    }
    return false;
}

static void on_watch(int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    while (read_word(arg)) {
    }
}

void attempt_listen(struct attempt *attempt)
{
    attempt->watching =
        fdwatch_new(attempt->agent->loop, watch_fd(attempt->watch), LOOP_READ, on_watch, attempt);
}

static void say_limit(struct attempt *attempt)
{
    struct err err = { 0 };

    if (attempt->watch && attempt->has_limit &&
        watch_limit(attempt->watch, attempt->limit_ms, &err) < 0)
        log_debug("a monitor could not be told", "attempt", attempt->name, "why", err.text, NULL);
}

void attempt_limit(struct attempt *attempt, int64_t limit_ms)
{
    attempt->has_limit = true;
    attempt->limit_ms = limit_ms;
    say_limit(attempt);
}

/* With the revision that let it: an agent that finds the folder has heard of that. */
static int note_start(struct attempt *attempt, struct err *err)
{
    const struct identity *identity = &attempt->agent->identity;
    CLEANUP(freep)
    char *notes = text_format("1\nseen=%s %" PRId64 "\ngiven=%s", identity->opening,
                              identity->revision, attempt->given_by);

    return attempt_note(attempt, "starting", notes, err);
}

static void start(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;
    struct err err = { 0 };
    int r;

    point("before-start");
    attempt->called_us = now_us(agent);
    wire_timing_add(&attempt->timings, "start-wait", attempt->ready_us - attempt->received_us,
                    attempt->called_us - attempt->ready_us, NULL);
    /* Between here and the monitor's own first trace an agent may die: never start it twice. */
    r = note_start(attempt, &err);
    if (r == 0)
        r = runtime_start(agent->runtime, &attempt->order.container, &attempt->watch, &err);
    point("after-start");
    if (r < 0)
        attempt_happens(attempt,
                        &(struct life_news){ .event = LIFE_SPAWN_FAILED, .text = err.text });
    else
        attempt_listen(attempt);
    say_limit(attempt);
}

static void signal_all(struct attempt *attempt, enum stop stop)
{
    struct err err = { 0 };

    /* One that is gone is heard of by its watch. */
    if (attempt->watch && watch_stop(attempt->watch, stop, &err) < 0)
        log_debug("a monitor could not be told", "attempt", attempt->name, "why", err.text, NULL);
}

/* ---- Deeds ---- */

static void note_stop(struct attempt *attempt)
{
    struct err err = { 0 };

    if (attempt_note(attempt, "stop", cause_words[attempt->life.wanted], &err) < 0)
        log_warn("a stop would be forgotten by a restart", "why", err.text, NULL);
}

static bool shelve(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;
    CLEANUP(freep) char *to = text_format("%s/%s", agent->ended_dir, attempt->id);

    if (rename(attempt->folder, to) < 0)
        return false;
    shelf_keep(agent->shelf, attempt->id, clock_wall_ms(agent->clock), attempt->work.content.bytes);
    return true;
}

/* As a line of text: another life of the ledger may ask for it. */
static void write_end(const struct attempt *attempt, char out[STORED_END_SIZE])
{
    struct stored_end end = { .cause = attempt->life.end.cause,
                              .detail = attempt->life.end.detail,
                              .code = attempt->life.end.code,
                              .signal = attempt->life.end.signal,
                              .started_ms = attempt->started_ms,
                              .ended_ms = attempt->ended_ms };

    memcpy(end.given_by, attempt->given_by, sizeof(end.given_by));
    stored_end_write(&end, out);
}

static void note_end(struct attempt *attempt, const char *end)
{
    struct err err = { 0 };

    if (attempt_note(attempt, "end", end, &err) < 0)
        log_debug("how it ended is not noted", "attempt", attempt->name, "why", err.text, NULL);
}

/* Nothing is left of it but its folder, which is kept for its log if it has one. */
static void retire(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;
    bool was_let_start = attempt->life.ack == ACK_GIVEN, is_gone = false;
    char end[STORED_END_SIZE];

    point("after-report");
    write_end(attempt, end);
    if (attempt->work.content.is_spare) {
        if (was_let_start)
            shelf_keep_silent(agent->shelf, attempt->id, clock_wall_ms(agent->clock), end);
        is_gone = spare_give(agent, attempt->folder);
    } else if (was_let_start) {
        note_end(attempt, end);
        is_gone = shelve(attempt);
    }
    if (!is_gone && !attempt->is_asked_for)
        work_forget(agent, text_copy(attempt->folder));
    relay_poke(agent->relay, attempt->name);
    attempt_free(attempt);
    stop_check(agent);
}

static void prepare(struct attempt *attempt)
{
    work_prepare(attempt);
}

static void cancel(struct attempt *attempt)
{
    atomic_store(&attempt->is_cancelled, true);
}

static void ack(struct attempt *attempt)
{
    mail_ack(attempt);
}

static void arm_start(struct attempt *attempt)
{
    arm(attempt, ALARM_START, now_ms(attempt->agent) + attempt->agent->start_timeout_ms);
}

static void term(struct attempt *attempt)
{
    signal_all(attempt, STOP_TERM);
}

static void arm_grace(struct attempt *attempt)
{
    arm(attempt, ALARM_GRACE, now_ms(attempt->agent) + attempt->life.grace_ms);
}

static void kill_all(struct attempt *attempt)
{
    signal_all(attempt, STOP_KILL);
}

static void arm_kill(struct attempt *attempt)
{
    arm(attempt, ALARM_GRACE, now_ms(attempt->agent) + KILL_MS);
}

static void say_start(struct attempt *attempt)
{
    attempt->says_start = true;
    mail_word(attempt);
}

static void clean(struct attempt *attempt)
{
    point("after-exit-before-clean");
    unwatch(attempt);
    work_clean(attempt);
    relay_poke(attempt->agent->relay, attempt->name);
}

static void clean_later(struct attempt *attempt)
{
    arm(attempt, ALARM_CLEAN, now_ms(attempt->agent) + CLEAN_AGAIN_MS);
}

static void say_end(struct attempt *attempt)
{
    if (!attempt->ended_ms)
        attempt->ended_ms = clock_wall_ms(attempt->agent->clock);
    mail_word(attempt);
}

/* In the order of the bits; after the last one the attempt is gone. */
static const struct {
    unsigned deed;
    void (*fn)(struct attempt *attempt);
} deed_table[] = {
    { LIFE_DO_PREPARE, prepare },
    { LIFE_DO_CANCEL, cancel },
    { LIFE_DO_ACK, ack },
    { LIFE_DO_QUEUE, enqueue },
    { LIFE_DO_UNQUEUE, unqueue },
    { LIFE_DO_FREE_TURN, free_turn },
    { LIFE_DO_START, start },
    { LIFE_DO_DISARM, disarm },
    { LIFE_DO_ARM_START, arm_start },
    { LIFE_DO_NOTE_STOP, note_stop },
    { LIFE_DO_TERM, term },
    { LIFE_DO_ARM_GRACE, arm_grace },
    { LIFE_DO_KILL, kill_all },
    { LIFE_DO_ARM_KILL, arm_kill },
    { LIFE_DO_REPORT_START, say_start },
    { LIFE_DO_CLEAN, clean },
    { LIFE_DO_CLEAN_LATER, clean_later },
    { LIFE_DO_REPORT_END, say_end },
    { LIFE_DO_RETIRE, retire },
};

void attempt_do(struct attempt *attempt, unsigned deeds)
{
    for (size_t i = 0; i < COUNT_OF(deed_table); i++)
        if (deeds & deed_table[i].deed)
            deed_table[i].fn(attempt);
}

void attempt_happens(struct attempt *attempt, const struct life_news *news)
{
    enum life_step was = attempt->life.step;
    unsigned deeds = life_on(&attempt->life, news);

    if (attempt->life.step == LIFE_CLEANING && was != LIFE_CLEANING)
        log_debug("over", "attempt", attempt->name, "cause", cause_words[attempt->life.end.cause],
                  "why", attempt->life.end.text, NULL);
    if (news->event == LIFE_ACKED && deeds) {
        wire_timing_add(&attempt->timings, "ack", attempt->asked_us - attempt->received_us,
                        now_us(attempt->agent) - attempt->asked_us, NULL);
        point("after-ack");
    }
    attempt_do(attempt, deeds);
}

void attempt_on(struct attempt *attempt, enum life_event event)
{
    attempt_happens(attempt, &(struct life_news){ .event = event });
}

/*
 * Cycle: see cycle.h.
 *
 * Everything reaches the thread through one mailbox: batches, the fence, and its own operations
 * when they are done. Between waits it takes all letters, and then decides if it may:
 * it has a fence, its last operations were answered, and their events were applied.
 */
#include "server/cycle.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "base/mailbox.h"
#include "base/mem_keep.h"
#include "base/quantity.h"
#include "server/cycle_ops.h"
#include "server/cycle_verdicts.h"
#include "server/feed_engine.h"

enum {
    MAX_TASKS = 2000,
    PACE_MS = 50,
    PACE_LEAST_MS = 5,
    PACE_BY_COST = 4,  /* so many times what a cycle took passes until the next begins */
    LIST_MS = 200,     /* all verdicts are listed no more often, as a list costs as many as wait, */
    LIST_BY_COST = 20, /* nor before so many times what the last such cycle took have passed */
    BACKOFF_MAX_MS = 1000, /* while all that it decides is refused */
    ORDER_TTL_MS = 900000,
    WAIT_MAX_MS = 5000, /* the wall clock may jump: look again */
};

const int64_t cycle_bucket_us[CYCLE_BUCKETS] = { 100,   250,   500,    1000,   2500,    5000,
                                                 10000, 25000, 100000, 250000, 1000000, INT64_MAX };

enum message_kind { MESSAGE_BATCH, MESSAGE_LEAD, MESSAGE_DONE };

struct message {
    struct letter letter;
    enum message_kind kind;
    struct cycle *cycle;
    struct batch *batch; /* batch: a reference */
    struct op *op;       /* done */
    uint64_t fence;      /* lead */
};

struct cycle {
    struct cycle_options options;
    struct mailbox box;
    pthread_t thread;
    bool is_running;

    /* the thread's own */
    struct berth_engine *engine;
    struct feed *feed;
    bool is_fed;        /* the base was applied */
    bool is_dirty;      /* something changed since the last cycle */
    uint64_t revision;  /* applied */
    uint64_t settled;   /* what the last operations' events must reach */
    size_t n_open;      /* operations not answered */
    size_t n_sent;      /* by the last cycle */
    size_t n_refused;   /* of them */
    int64_t pace_ms;    /* from the last cycle's begin to the next, by what it cost */
    int64_t backoff_ms; /* likewise, while all that was decided is refused; else 0 */
    int64_t last_begin_us;
    bool has_begun;
    bool asks_admission; /* fixed once it is open */
    int64_t list_at_ms;  /* when a cycle may list the verdicts of all again */
    bool is_brief;       /* the last one did not */
    int64_t wake_at_ms;  /* wall */
    int64_t gang_timeout_ms;
    struct mem_ahead ahead;

    /* shared; the lock is held for a few instructions */
    pthread_mutex_t lock;
    uint64_t fence;
    struct verdicts *verdicts;
    struct cycle_metrics metrics;
};

static void at_point(const struct cycle *cycle, const char *point)
{
    if (cycle->options.at_point)
        cycle->options.at_point(point);
}

static struct message *message_new(struct cycle *cycle, enum message_kind kind)
{
    struct message *message = NEW0(struct message);

    message->kind = kind;
    message->cycle = cycle;
    return message;
}

static void message_free(struct message *message)
{
    batch_unref(message->batch);
    if (message->op)
        op_free(message->op);
    mem_free(message);
}

/* ---- in ---- */

static void on_batch(struct batch *batch, void *arg)
{
    struct cycle *cycle = arg;
    struct message *message = message_new(cycle, MESSAGE_BATCH);

    message->batch = batch_ref(batch);
    mailbox_put(&cycle->box, &message->letter);
}

static void on_done(struct op *op, void *arg)
{
    struct message *message = arg;

    message->op = op;
    mailbox_put(&message->cycle->box, &message->letter);
}

void cycle_lead(struct cycle *cycle, uint64_t fence)
{
    struct message *message = message_new(cycle, MESSAGE_LEAD);

    message->fence = fence;
    mailbox_put(&cycle->box, &message->letter);
}

static void set_fence(struct cycle *cycle, uint64_t fence)
{
    pthread_mutex_lock(&cycle->lock);
    cycle->fence = fence;
    pthread_mutex_unlock(&cycle->lock);
}

uint64_t cycle_fence(struct cycle *cycle)
{
    uint64_t fence;

    pthread_mutex_lock(&cycle->lock);
    fence = cycle->fence;
    pthread_mutex_unlock(&cycle->lock);
    return fence;
}

/* ---- feeding ---- */

static void take_batch(struct cycle *cycle, const struct batch *batch)
{
    struct err err = { 0 };

    if (batch->is_base && cycle->is_fed &&
        feed_engine_make(&cycle->options.from, &cycle->engine, &err) < 0) {
        log_error("no new engine", "why", err.text, NULL);
        return;
    }
    cycle->is_dirty = feed_engine_apply(cycle->feed, cycle->engine, batch) || cycle->is_dirty;
    cycle->is_fed = true;
    cycle->revision = batch->revision;
    pthread_mutex_lock(&cycle->lock);
    cycle->metrics.revision = batch->revision;
    pthread_mutex_unlock(&cycle->lock);
}

/* ---- what became of the operations ---- */

static uint64_t fence_of(const struct op *op)
{
    if (op->kind == OP_BIND)
        return op->bind.fence;
    if (op->kind == OP_FAIL)
        return op->fail.fence;
    if (op->kind == OP_EVICT)
        return op->evict.fence;
    if (op->kind == OP_RELEASE)
        return op->release.fence;
    if (op->kind == OP_ORDER)
        return op->order.fence;
    if (op->kind == OP_ORDER_STATE)
        return op->order_state.fence;
    return op->kind == OP_ADMIT ? op->admit.fence : op->memo.fence;
}

static void count_accepted(struct cycle *cycle, const struct op *op)
{
    if (op->revision > cycle->settled)
        cycle->settled = op->revision;
    pthread_mutex_lock(&cycle->lock);
    if (op->kind == OP_BIND)
        cycle->metrics.placed += op->bind.n_parts;
    if (op->kind == OP_EVICT)
        cycle->metrics.evicted += op->evict.n_victims;
    if (op->kind == OP_FAIL)
        cycle->metrics.failed++;
    pthread_mutex_unlock(&cycle->lock);
}

static void count_refused(struct cycle *cycle, const struct op *op)
{
    cycle->n_refused++;
    cycle->is_dirty = true;
    pthread_mutex_lock(&cycle->lock);
    cycle->metrics.refused++;
    /* Of what is sent here only an old fence is a conflict: somebody else decides now. A newer
     * one may have come meanwhile. */
    if (op->problem.code == PROBLEM_CONFLICT && cycle->fence == fence_of(op))
        cycle->fence = 0;
    pthread_mutex_unlock(&cycle->lock);
    log_debug("a decision was refused", "code", problem_codes[op->problem.code].word, "why",
              op->problem.detail, NULL);
}

/* Where all is refused again and again, it is asked less and less often. */
static void set_backoff(struct cycle *cycle)
{
    if (cycle->n_refused < cycle->n_sent)
        cycle->backoff_ms = 0;
    else if (!cycle->backoff_ms)
        cycle->backoff_ms = cycle->options.pace_ms;
    else if (cycle->backoff_ms < BACKOFF_MAX_MS)
        cycle->backoff_ms *= 2;
}

/* A cheap cycle comes often, so that room that came back is not left idle; one that costs much
 * gathers more first. */
static void set_pace(struct cycle *cycle, int64_t took_us)
{
    int64_t pace_ms = took_us * PACE_BY_COST / 1000;

    if (pace_ms < PACE_LEAST_MS)
        pace_ms = PACE_LEAST_MS;
    cycle->pace_ms = pace_ms < cycle->options.pace_ms ? pace_ms : cycle->options.pace_ms;
}

static void take_done(struct cycle *cycle, const struct op *op)
{
    cycle->n_open--;
    if (op->problem.code == PROBLEM_NONE)
        count_accepted(cycle, op);
    else
        count_refused(cycle, op);
    if (cycle->n_open)
        return;
    set_backoff(cycle);
}

/* Whether the last list of verdicts is young enough; a job that fails says what it waited for
 * last. */
static bool is_listed(const struct cycle *cycle)
{
    const struct clock *clock = cycle->options.clock;

    return clock_boot_ms(clock) < cycle->list_at_ms &&
           clock_wall_ms(clock) < feed_next_deadline(cycle->feed);
}

static struct berth_cycle_in cycle_in(const struct cycle *cycle)
{
    return (struct berth_cycle_in){ .revision = cycle->revision,
                                    .now_ms = clock_wall_ms(cycle->options.clock),
                                    .seed = cycle->options.seed,
                                    .max_tasks = cycle->options.max_tasks,
                                    .is_brief = is_listed(cycle),
                                    /* nothing keeps it, and it costs a text of all that wait */
                                    .skip_digest = true };
}

/* ---- deciding ---- */

static bool may_decide(struct cycle *cycle)
{
    return cycle->is_fed && !cycle->n_open && cycle->revision >= cycle->settled &&
           cycle_fence(cycle) != 0;
}

/* Milliseconds until the next cycle is due: 0 now, below 0 not before a letter comes. */
static int64_t due_in_ms(struct cycle *cycle)
{
    int64_t since_ms = clock_boot_ms(cycle->options.clock) - cycle->last_begin_us / 1000;
    int64_t pace_ms = cycle->backoff_ms ? cycle->backoff_ms : cycle->pace_ms;
    int64_t in_ms = cycle->has_begun && since_ms < pace_ms ? pace_ms - since_ms : 0;
    int64_t wake_ms = BERTH_NEVER, list_ms = BERTH_NEVER;

    if (!may_decide(cycle))
        return -1;
    if (cycle->is_dirty)
        return in_ms;
    if (cycle->wake_at_ms != BERTH_NEVER)
        wake_ms = cycle->wake_at_ms - clock_wall_ms(cycle->options.clock);
    if (cycle->is_brief)
        list_ms = cycle->list_at_ms - clock_boot_ms(cycle->options.clock);
    if (list_ms < wake_ms)
        wake_ms = list_ms;
    if (wake_ms == BERTH_NEVER)
        return -1;
    return wake_ms > in_ms ? wake_ms : in_ms;
}

/* The decisions become part of the verdicts, which stand until the next list of them. */
static void keep_verdicts(struct cycle *cycle, const struct berth_decisions *decisions)
{
    struct verdicts *verdicts = verdicts_make(decisions, cycle->revision), *old;
    int64_t began_us = cycle->last_begin_us, now_us = clock_boot_us(cycle->options.clock);
    int64_t pace_ms = (now_us - began_us) * LIST_BY_COST / 1000;

    cycle->list_at_ms = now_us / 1000 + (pace_ms > LIST_MS ? pace_ms : LIST_MS);
    pthread_mutex_lock(&cycle->lock);
    old = cycle->verdicts;
    cycle->verdicts = verdicts;
    pthread_mutex_unlock(&cycle->lock);
    verdicts_unref(old);
}

static void count_cycle(struct cycle *cycle, const struct berth_decisions *decisions,
                        int64_t took_us)
{
    size_t bucket = 0;

    while (took_us > cycle_bucket_us[bucket])
        bucket++;
    pthread_mutex_lock(&cycle->lock);
    cycle->metrics.cycles++;
    cycle->metrics.limited += decisions->limited;
    cycle->metrics.tasks_waiting = decisions->counts.tasks_waiting;
    cycle->metrics.duration_us_sum += (uint64_t)took_us;
    cycle->metrics.duration_us_last = (uint64_t)took_us;
    cycle->metrics.buckets[bucket]++;
    pthread_mutex_unlock(&cycle->lock);
}

static void *new_arg(struct op *op, void *maker)
{
    (void)op;
    return message_new(maker, MESSAGE_DONE);
}

static void send_ops(struct cycle *cycle, const struct berth_decisions *decisions, uint64_t fence,
                     int64_t now_ms)
{
    struct cycle_ops_in in = { .feed = cycle->feed,
                               .revision = cycle->revision,
                               .fence = fence,
                               .now_ms = now_ms,
                               .done = on_done,
                               .new_arg = new_arg,
                               .maker = cycle };
    struct cycle_ops ops = { 0 };

    cycle_ops_release_overdue(&in, &ops);
    cycle_ops_stop_short(&in, cycle->gang_timeout_ms, &ops);
    cycle_ops_fail_overdue(&in, cycle->verdicts, &ops);
    cycle_ops_fail_orders(&in, cycle->options.order_ttl_ms, &ops);
    cycle_ops_make(&in, decisions, &ops);
    cycle->n_open = cycle->n_sent = ops.n;
    cycle->n_refused = 0;
    if (!ops.n) {
        cycle->backoff_ms = 0;
    } else {
        at_point(cycle, "cycle-before-send");
        ledger_send_all(cycle->options.ledger, ops.at, ops.n);
        at_point(cycle, "cycle-after-send");
    }
    VEC_FINI(&ops);
}

/* When time alone could ask for another cycle. */
static int64_t wake_at(struct cycle *cycle, const struct berth_decisions *decisions)
{
    const int64_t at[] = { decisions->wake_at_ms, feed_next_deadline(cycle->feed),
                           feed_next_short(cycle->feed, cycle->gang_timeout_ms),
                           feed_next_release(cycle->feed),
                           feed_next_order_end(cycle->feed, cycle->options.order_ttl_ms) };
    int64_t first = BERTH_NEVER;

    for (size_t i = 0; i < COUNT_OF(at); i++)
        first = at[i] < first ? at[i] : first;
    return first;
}

static void decide(struct cycle *cycle)
{
    struct berth_cycle_in in = cycle_in(cycle);
    struct berth_decisions decisions = { 0 };
    uint64_t fence = cycle_fence(cycle);
    struct err err = { 0 };
    int64_t took_us;
    int r;

    cycle->last_begin_us = clock_boot_us(cycle->options.clock);
    r = berth_engine_cycle(cycle->engine, &in, &decisions, &err);
    cycle->has_begun = true;
    cycle->is_dirty = false;
    cycle->is_brief = r == 0 && in.is_brief;
    cycle->wake_at_ms = BERTH_NEVER;
    if (r < 0) {
        log_error("the engine cannot decide", "why", err.text, NULL);
        return;
    }
    took_us = clock_boot_us(cycle->options.clock) - cycle->last_begin_us;
    count_cycle(cycle, &decisions, took_us);
    set_pace(cycle, took_us);
    if (!in.is_brief)
        keep_verdicts(cycle, &decisions);
    cycle->wake_at_ms = wake_at(cycle, &decisions);
    cycle->is_dirty = decisions.limited;
    send_ops(cycle, &decisions, fence, in.now_ms);
    if (in.is_brief)
        berth_decisions_free(&decisions);
}

/* ---- the thread ---- */

static void take_message(struct cycle *cycle, struct message *message)
{
    switch (message->kind) {
    case MESSAGE_BATCH:
        take_batch(cycle, message->batch);
        break;
    case MESSAGE_LEAD:
        set_fence(cycle, message->fence);
        break;
    case MESSAGE_DONE:
        take_done(cycle, message->op);
        break;
    }
    message_free(message);
}

static void take_letters(struct cycle *cycle, struct letter *letter)
{
    while (letter) {
        struct message *message = CONTAINER(letter, struct message, letter);

        letter = letter->next;
        take_message(cycle, message);
    }
}

static void *run(void *arg)
{
    struct cycle *cycle = arg;

    pthread_setname_np(pthread_self(), "cycle");
    while (!mailbox_is_closed(&cycle->box)) {
        int64_t in_ms = due_in_ms(cycle);

        if (in_ms > WAIT_MAX_MS)
            in_ms = WAIT_MAX_MS;
        mem_ahead(&cycle->ahead);
        take_letters(cycle, in_ms ? mailbox_wait(&cycle->box, in_ms) : mailbox_take(&cycle->box));
        if (due_in_ms(cycle) == 0)
            decide(cycle);
    }
    return NULL;
}

/* How long a gang may run short: as the configuration says, or its profile. */
static int64_t gang_timeout(const struct berth_config *config)
{
    const char *name = config && config->profile ? config->profile : "berth";
    const struct berth_config *profile = berth_profile_find(name);
    const struct berth_value *said = NULL;
    struct err ignored = { 0 };
    int64_t ms;

    if (config && config->policy)
        said = berth_value_get(config->policy, "gangTimeout");
    if (!said && profile && profile->policy)
        said = berth_value_get(profile->policy, "gangTimeout");
    if (!said || said->kind != BERTH_VALUE_TEXT || duration_parse(said->text, &ms, &ignored) < 0)
        return BERTH_NEVER; /* "never"; what is neither was refused */
    return ms;
}

int cycle_open(const struct cycle_options *options, struct cycle **out, struct err *err)
{
    struct cycle *cycle = NEW0(struct cycle);
    int r;

    cycle->options = *options;
    if (!options->clock)
        cycle->options.clock = &clock_system;
    if (!options->max_tasks)
        cycle->options.max_tasks = MAX_TASKS;
    if (!options->pace_ms)
        cycle->options.pace_ms = PACE_MS;
    if (!options->order_ttl_ms)
        cycle->options.order_ttl_ms = ORDER_TTL_MS;
    cycle->pace_ms = cycle->options.pace_ms;
    cycle->wake_at_ms = BERTH_NEVER;
    cycle->gang_timeout_ms = gang_timeout(options->from.config);
    mailbox_init(&cycle->box);
    pthread_mutex_init(&cycle->lock, NULL);
    cycle->verdicts = verdicts_make(NULL, 0);
    r = feed_engine_make(&options->from, &cycle->engine, err);
    cycle->feed = feed_new(&options->from, cycle->engine);
    if (r < 0) {
        cycle_close(cycle);
        return r;
    }
    cycle->asks_admission = berth_engine_asks_admission(cycle->engine);
    ledger_listen(options->ledger, on_batch, cycle);
    *out = cycle;
    return 0;
}

int cycle_start(struct cycle *cycle, struct err *err)
{
    int r = pthread_create(&cycle->thread, NULL, run, cycle);

    if (r)
        return err_sys(err, -r, "start the cycle's thread");
    cycle->is_running = true;
    return 0;
}

static void drop_letters(struct cycle *cycle)
{
    struct letter *letter = mailbox_take(&cycle->box);

    while (letter) {
        struct message *message = CONTAINER(letter, struct message, letter);

        letter = letter->next;
        message_free(message);
    }
}

void cycle_stop(struct cycle *cycle)
{
    mailbox_close(&cycle->box);
    if (cycle->is_running)
        pthread_join(cycle->thread, NULL);
    cycle->is_running = false;
}

void cycle_close(struct cycle *cycle)
{
    if (!cycle)
        return;
    cycle_stop(cycle);
    drop_letters(cycle);
    berth_engine_free(cycle->engine);
    feed_free(cycle->feed);
    verdicts_unref(cycle->verdicts);
    pthread_mutex_destroy(&cycle->lock);
    mailbox_fini(&cycle->box);
    mem_free(cycle);
}

/* ---- out ---- */

bool cycle_asks_admission(const struct cycle *cycle)
{
    return cycle->asks_admission;
}

struct verdicts *cycle_verdicts(struct cycle *cycle)
{
    struct verdicts *verdicts;

    pthread_mutex_lock(&cycle->lock);
    verdicts = verdicts_ref(cycle->verdicts);
    pthread_mutex_unlock(&cycle->lock);
    return verdicts;
}

void cycle_metrics(struct cycle *cycle, struct cycle_metrics *out)
{
    pthread_mutex_lock(&cycle->lock);
    *out = cycle->metrics;
    pthread_mutex_unlock(&cycle->lock);
}

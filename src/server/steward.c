/*
 * Steward: see steward.h.
 *
 * Whether somebody is alive is never a matter of two clocks: a counter in the ledger moved, or did
 * not move while our own boot-time clock ran. What the steward says is an operation that carries
 * what it saw (generation and beat, or fence and beat), so that a beat that came meanwhile refuses
 * it.
 */
#include "server/steward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/mailbox.h"
#include "base/map.h"
#include "base/node_lease.h"

enum {
    TTL_MS = 6000,
    BEAT_MS = 2000,
    RETAIN_EVERY_MS = 60000,
    RETAIN_MOST = 1000,
    WATCH_MOST_BEATS = 2, /* a longer gap between looks was no watching */
};
#define RETAIN_MS ((int64_t)7 * 24 * 3600 * 1000)
static const char lease_name[] = "steward";

/* What is known of a node. */
struct seen {
    char *name;
    enum node_state state;
    int64_t ttl_ms, beat_ms;
    uint64_t generation, beat;
    int64_t silent_ms;
    bool is_asked; /* an operation about it is under way */
};

enum letter_kind { LETTER_BATCH, LETTER_DONE };

struct steward_letter {
    struct letter letter;
    enum letter_kind kind;
    struct steward *steward;
    struct batch *batch;
    struct op *op;
    struct seen *seen; /* that the operation is about, or NULL */
};

struct steward {
    struct steward_options options;
    struct mailbox box;
    pthread_t thread;
    bool is_running;
    atomic_bool is_stopping;
    atomic_uint_fast64_t fence;

    /* the thread's own */
    struct reader *reader;
    struct map nodes; /* by name: struct seen */
    bool is_fed, has_looked;
    int64_t last_look_ms; /* boot */
    bool is_lease_asked;
    bool is_blind; /* the last raise could not be written: nobody else's beats could either */
    /* the lease of another, as first seen so */
    uint64_t other_fence, other_beat;
    int64_t other_since_ms;
    bool has_other;
    bool is_retain_asked, has_retained;
    int64_t last_retain_ms;
};

/* ---- letters ---- */

static bool is_news(const struct batch *batch)
{
    for (size_t i = 0; i < batch->n_events; i++) {
        if (batch->events[i].kind == ROW_NODE)
            return true;
    }
    return batch->is_base;
}

/* On the writer's thread: where jobs come and go, most batches say nothing of nodes, and would wake
 * for nothing. */
static void on_batch(struct batch *batch, void *arg)
{
    struct steward *steward = arg;
    struct steward_letter *letter;

    if (!is_news(batch))
        return;
    letter = NEW0(struct steward_letter);

    letter->kind = LETTER_BATCH;
    letter->batch = batch_ref(batch);
    mailbox_put(&steward->box, &letter->letter);
}

static void on_done(struct op *op, void *arg)
{
    struct steward_letter *letter = arg;

    letter->op = op;
    mailbox_put(&letter->steward->box, &letter->letter);
}

static struct op *make_op(struct steward *steward, enum op_kind kind, struct seen *seen)
{
    struct steward_letter *letter = NEW0(struct steward_letter);

    letter->kind = LETTER_DONE;
    letter->steward = steward;
    letter->seen = seen;
    return op_new(kind, on_done, letter);
}

static void letter_free(struct steward_letter *letter)
{
    batch_unref(letter->batch);
    if (letter->op)
        op_free(letter->op);
    mem_free(letter);
}

/* ---- what comes back ---- */

static void set_fence(struct steward *steward, uint64_t fence)
{
    uint64_t before = atomic_exchange(&steward->fence, fence);

    if (before != fence && fence)
        log_info("this server decides", "fence", log_int(fence), NULL);
    else if (before != fence)
        log_warn("this server does not decide any more", "fence", log_int(before), NULL);
    /* A cycle that was refused once has stopped by itself: told again, it goes on. */
    if (steward->options.cycle && (before != fence || cycle_fence(steward->options.cycle) != fence))
        cycle_lead(steward->options.cycle, fence);
}

static void lease_done(struct steward *steward, const struct op *op)
{
    steward->is_lease_asked = false;
    steward->is_blind = problem_codes[op->problem.code].status >= 500;
    if (steward->is_blind)
        return; /* nobody could take it either */
    set_fence(steward, op->problem.code == PROBLEM_NONE ? op->lease.fence : 0);
    steward->has_other = false;
}

static void take_done(struct steward *steward, const struct steward_letter *letter)
{
    const struct op *op = letter->op;

    if (letter->seen)
        letter->seen->is_asked = false;
    if (op->kind == OP_LEASE)
        lease_done(steward, op);
    else if (op->kind == OP_RETAIN)
        steward->is_retain_asked = false;
    else if (op->kind == OP_NODE_STATE && op->problem.code == PROBLEM_NONE)
        log_info("node", "name", op->node_state.node, "is", node_state_words[op->node_state.state],
                 NULL);
}

static struct seen *find_node(struct steward *steward, const char *name)
{
    struct seen *seen = map_get(&steward->nodes, name);

    if (seen)
        return seen;
    seen = NEW0(struct seen);
    seen->name = text_copy(name);
    map_put(&steward->nodes, seen->name, seen);
    return seen;
}

static void take_batch(struct steward *steward, const struct batch *batch)
{
    for (size_t i = 0; i < batch->n_events; i++) {
        const struct row_node *row = batch->events[i].row.node;
        struct seen *seen;

        if (batch->events[i].kind != ROW_NODE)
            continue;
        seen = find_node(steward, row->name);
        seen->state = batch->events[i].is_deleted ? NODE_GONE : (enum node_state)row->state;
        seen->ttl_ms = row->ttl_ms;
        /* A row of an earlier version does not say: nobody was told another then. */
        seen->beat_ms = row->beat_ms ? row->beat_ms : row->ttl_ms / 3;
    }
    steward->is_fed = true;
}

static void take_letters(struct steward *steward, struct letter *first)
{
    while (first) {
        struct steward_letter *letter = CONTAINER(first, struct steward_letter, letter);

        first = first->next;
        if (letter->kind == LETTER_BATCH)
            take_batch(steward, letter->batch);
        else
            take_done(steward, letter);
        letter_free(letter);
    }
}

/* ---- the lease ---- */

static void ask_lease(struct steward *steward, bool is_take, uint64_t fence, uint64_t beat)
{
    struct op *op = make_op(steward, OP_LEASE, NULL);

    op->lease.name = text_copy(lease_name);
    op->lease.is_take = is_take;
    op->lease.seen_fence = fence;
    op->lease.seen_beat = beat;
    op->lease.ttl_ms = steward->options.ttl_ms;
    steward->is_lease_asked = true;
    ledger_send(steward->options.ledger, op);
}

/* Whether the lease of another stood still for its ttl while we watched. */
static bool stood_still(struct steward *steward, const struct row_lease *row, int64_t now_ms)
{
    /* A lease of our own, or in a store to ourselves, that we do not hold is of an earlier life. */
    if (!steward->options.server || strcmp(row->holder, steward->options.server) == 0)
        return true;
    if (!steward->has_other || row->fence != steward->other_fence ||
        row->beat != steward->other_beat) {
        steward->has_other = true;
        steward->other_fence = row->fence;
        steward->other_beat = row->beat;
        steward->other_since_ms = now_ms;
    }
    return now_ms - steward->other_since_ms >= row->ttl_ms;
}

static int look_at_lease(struct steward *steward, int64_t now_ms, struct err *err)
{
    struct row_lease *row = NULL;
    int r;

    if (steward->is_lease_asked)
        return 0;
    if (steward_fence(steward)) {
        ask_lease(steward, false, 0, 0);
        return 0;
    }
    r = reader_lease(steward->reader, lease_name, &row, err);
    if (r < 0)
        return r;
    if (r == READER_NONE) {
        ask_lease(steward, true, 0, 0);
        return 0;
    }
    if (stood_still(steward, row, now_ms))
        ask_lease(steward, true, row->fence, row->beat);
    row_free(ROW_LEASE, row);
    return 0;
}

/* ---- nodes ---- */

struct look {
    struct steward *steward;
    int64_t watched_ms; /* since the last look */
};

static int see_beat(const void *row, void *arg)
{
    const struct row_beat *beat = row;
    struct look *look = arg;
    struct seen *seen = find_node(look->steward, beat->node);

    if (seen->generation == beat->generation && seen->beat == beat->beat) {
        seen->silent_ms += look->watched_ms;
        return 0;
    }
    seen->generation = beat->generation;
    seen->beat = beat->beat;
    seen->silent_ms = 0;
    return 0;
}

/* What a node's silence makes of it; its own state where nothing changes. */
static enum node_state state_by_silence(const struct seen *seen)
{
    bool is_lost = seen->silent_ms >= node_lease_lost_ms(seen->ttl_ms);
    bool is_silent = seen->silent_ms >= node_lease_silent_ms(seen->ttl_ms, seen->beat_ms);

    switch (seen->state) {
    case NODE_READY:
        return is_lost ? NODE_LOST : is_silent ? NODE_UNREACHABLE : NODE_READY;
    case NODE_UNREACHABLE:
        return is_lost ? NODE_LOST : is_silent ? NODE_UNREACHABLE : NODE_READY;
    case NODE_LEAVING:
        return is_lost ? NODE_LOST : NODE_LEAVING;
    case NODE_COMING:
    case NODE_LOST:
    case NODE_GONE:
    case NODE_STATE_COUNT:
        break;
    }
    return seen->state;
}

static void say_state(struct steward *steward, struct seen *seen, enum node_state state)
{
    struct op *op = make_op(steward, OP_NODE_STATE, seen);

    op->node_state.node = text_copy(seen->name);
    op->node_state.generation = seen->generation;
    op->node_state.beat = seen->beat;
    op->node_state.state = state;
    op->node_state.fence = steward_fence(steward);
    seen->is_asked = true;
    ledger_send(steward->options.ledger, op);
}

static void judge_node(struct steward *steward, struct seen *seen)
{
    enum node_state state = state_by_silence(seen);

    if (!seen->is_asked && seen->ttl_ms && state != seen->state)
        say_state(steward, seen, state);
}

static int look_at_nodes(struct steward *steward, int64_t watched_ms, struct err *err)
{
    struct look look = { steward, watched_ms };
    int r = reader_beats(steward->reader, see_beat, &look, err);

    if (r < 0)
        return r;
    if (!steward_fence(steward))
        return 0; /* it watches all the same: a new steward has watched already */
    MAP_EACH (entry, &steward->nodes)
        judge_node(steward, entry->value);
    return 0;
}

/* ---- retention ---- */

static void look_at_retention(struct steward *steward, int64_t now_ms)
{
    struct op *op;
    int64_t every_ms =
        steward->options.retain_ms < RETAIN_EVERY_MS ? steward->options.retain_ms : RETAIN_EVERY_MS;

    if (!steward_fence(steward) || steward->is_retain_asked ||
        (steward->has_retained && now_ms - steward->last_retain_ms < every_ms))
        return;
    op = make_op(steward, OP_RETAIN, NULL);
    op->retain.ended_before = clock_wall_ms(steward->options.clock) - steward->options.retain_ms;
    op->retain.most = RETAIN_MOST;
    steward->is_retain_asked = true;
    steward->has_retained = true;
    steward->last_retain_ms = now_ms;
    ledger_send(steward->options.ledger, op);
}

/* ---- a look ---- */

/* How much of the time since the last look was watched: all of it, unless we stood still. */
static int64_t watched(const struct steward *steward, int64_t now_ms)
{
    int64_t gap_ms = now_ms - steward->last_look_ms;

    if (!steward->has_looked || steward->is_blind)
        return 0;
    return gap_ms <= WATCH_MOST_BEATS * steward->options.beat_ms ? gap_ms : 0;
}

/* What must be read, at one revision. */
static int read_all(struct steward *steward, int64_t now_ms, int64_t watched_ms, struct err *err)
{
    uint64_t revision;
    int r = reader_begin(steward->reader, &revision, err);

    if (r < 0)
        return r;
    r = look_at_lease(steward, now_ms, err);
    if (r == 0)
        r = look_at_nodes(steward, watched_ms, err);
    reader_end(steward->reader);
    return r;
}

int steward_step(struct steward *steward, struct err *err)
{
    int64_t now_ms = clock_boot_ms(steward->options.clock), watched_ms;
    int r = 0;

    take_letters(steward, mailbox_take(&steward->box));
    if (!steward->is_fed)
        return 0;
    watched_ms = watched(steward, now_ms);
    steward->last_look_ms = now_ms;
    steward->has_looked = true;
    if (!steward->reader)
        r = reader_open(steward->options.ledger, &steward->reader, err);
    if (r < 0)
        return r;
    r = read_all(steward, now_ms, watched_ms, err);
    if (r == 0)
        look_at_retention(steward, now_ms);
    return r;
}

/* ---- the thread ---- */

/* Waits for the next look; what comes meanwhile is taken at once. */
static void wait_for_look(struct steward *steward)
{
    for (;;) {
        int64_t left_ms = steward->last_look_ms + steward->options.beat_ms -
                          clock_boot_ms(steward->options.clock);

        if (atomic_load(&steward->is_stopping))
            return;
        if (steward->has_looked && left_ms <= 0)
            return;
        take_letters(steward, mailbox_wait(&steward->box, steward->has_looked ? left_ms : -1));
        if (!steward->has_looked && steward->is_fed)
            return;
    }
}

static void *run(void *arg)
{
    struct steward *steward = arg;

    pthread_setname_np(pthread_self(), "steward");
    while (!atomic_load(&steward->is_stopping)) {
        struct err err = { 0 };

        wait_for_look(steward);
        if (!atomic_load(&steward->is_stopping) && steward_step(steward, &err) < 0)
            log_error("the steward cannot look", "why", err.text, NULL);
    }
    return NULL;
}

int steward_open(const struct steward_options *options, struct steward **out, struct err *err)
{
    struct steward *steward = NEW0(struct steward);

    (void)err;
    steward->options = *options;
    if (!options->clock)
        steward->options.clock = &clock_system;
    if (!options->ttl_ms)
        steward->options.ttl_ms = TTL_MS;
    if (!options->beat_ms)
        steward->options.beat_ms = BEAT_MS;
    if (!options->retain_ms)
        steward->options.retain_ms = RETAIN_MS;
    mailbox_init(&steward->box);
    ledger_listen(options->ledger, on_batch, steward);
    *out = steward;
    return 0;
}

int steward_start(struct steward *steward, struct err *err)
{
    int r = pthread_create(&steward->thread, NULL, run, steward);

    if (r)
        return err_sys(err, -r, "start the steward's thread");
    steward->is_running = true;
    return 0;
}

void steward_stop(struct steward *steward)
{
    if (!steward)
        return;
    atomic_store(&steward->is_stopping, true);
    mailbox_close(&steward->box);
    if (steward->is_running)
        pthread_join(steward->thread, NULL);
    steward->is_running = false;
    reader_close(steward->reader);
    steward->reader = NULL;
}

void steward_close(struct steward *steward)
{
    if (!steward)
        return;
    for (struct letter *letter = mailbox_take(&steward->box), *next; letter; letter = next) {
        next = letter->next;
        letter_free(CONTAINER(letter, struct steward_letter, letter));
    }
    MAP_EACH (entry, &steward->nodes) {
        struct seen *seen = entry->value;
        mem_free(seen->name);
        mem_free(seen);
    }
    map_fini(&steward->nodes);
    mailbox_fini(&steward->box);
    mem_free(steward);
}

uint64_t steward_fence(struct steward *steward)
{
    return atomic_load(&steward->fence);
}

/*
 * Writer: takes all that waits, judges it in order, makes one transaction, and answers after
 * the commit is durable. It lingers for more only where many ask at once (pace.h).
 *
 * An operation is answered once, and with success only if it is durable. A commit of which the
 * outcome is not known is looked up by the batch's name, never repeated blindly.
 */
#include "ledger/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ledger/batch.h"

enum {
    ASK_AGAIN_MS = 50,
    ASK_TIMES = 100 /* then it is answered that nobody knows */
};

/* ---- what waits ---- */

static int64_t monotonic_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Returns ETIMEDOUT, or 0 where somebody has signalled. */
static int wait_until(struct ledger *l, int64_t us)
{
    struct timespec until = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    return pthread_cond_timedwait(&l->arrived, &l->lock, &until);
}

bool writer_has_enough(const struct ledger *l)
{
    return l->n_waiting >= BATCH_OPS_MAX || l->n_sends >= PACE_ENOUGH;
}

/* Whoever sends does not wake the writer meanwhile, unless it has enough. */
static void gather(struct ledger *l)
{
    int64_t now = monotonic_us(), next = pace_next_us(&l->pace, now);

    l->is_gathering = next > now;
    while (l->is_gathering && !l->is_closing && !writer_has_enough(l))
        l->is_gathering = wait_until(l, next) != ETIMEDOUT;
    l->is_gathering = false;
}

/* Up to a batch of what waits. Returns false when the ledger closes and nothing does. */
static bool take_ops(struct ledger *l, struct op **ops, size_t *n)
{
    bool is_over;

    *n = 0;
    pthread_mutex_lock(&l->lock);
    if (l->is_unsure && !l->first && !l->is_closing)
        wait_until(l, monotonic_us() + ASK_AGAIN_MS * 1000);
    while (!l->is_unsure && !l->first && !l->is_closing)
        pthread_cond_wait(&l->arrived, &l->lock);
    if (!l->is_unsure)
        gather(l);
    while (l->first && *n < BATCH_OPS_MAX) {
        ops[(*n)++] = l->first;
        l->first = l->first->next;
    }
    if (!l->first)
        l->end = &l->first;
    l->n_waiting -= *n;
    if (*n)
        pace_note(&l->pace, l->n_sends, monotonic_us());
    l->n_sends = 0;
    is_over = l->is_closing && *n == 0;
    pthread_mutex_unlock(&l->lock);
    return !is_over;
}

static void set_trouble(struct ledger *l, const char *why)
{
    bool was;

    pthread_mutex_lock(&l->lock);
    was = l->trouble[0] != '\0';
    snprintf(l->trouble, sizeof(l->trouble), "%s", why);
    pthread_mutex_unlock(&l->lock);
    if (l->on_trouble && was != (why[0] != '\0'))
        l->on_trouble(why[0] ? why : NULL);
}

/* ---- answers ---- */

static void answer(struct op **ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ops[i]->done(ops[i], ops[i]->arg);
}

static void answer_failed(struct op **ops, size_t n, enum problem_code code, const char *why)
{
    for (size_t i = 0; i < n; i++) {
        problem_clear(&ops[i]->problem);
        problem_set(&ops[i]->problem, code, "%s", why);
    }
    answer(ops, n);
}

static void tell(struct ledger *l, struct batch *batch)
{
    VEC_EACH (listener, &l->listeners)
        listener->fn(batch, listener->arg);
    batch_unref(batch);
}

/* ---- the base ---- */

int writer_tell_base(struct ledger *l, struct err *err)
{
    struct batch *batch = NULL;
    int r = base_make(l->store, &batch, err);

    if (r >= 0)
        tell(l, batch);
    return r;
}

/* ---- what is not live, asked of the store ---- */

static void past_fini(struct past *past)
{
    row_free(ROW_JOB, past->job);
    row_free(ROW_ATTEMPT, past->attempt);
    row_free(ROW_IDEM, past->idem);
    VEC_FINI(&past->jobs);
}

static int note_job(const void *row, void *arg)
{
    struct past *past = arg;
    const struct row_job *job = row;

    if (job->id != past->newest)
        VEC_PUSH(&past->jobs, ((struct retired){ job->id, job->rev }));
    return 0;
}

static int fetch_attempt(struct store *store, const struct attempt_key *key, struct past *past,
                         struct err *err)
{
    struct row_attempt *row = row_new(ROW_ATTEMPT);
    int r;

    row->job = key->job;
    row->grp = key->group;
    row->idx = key->index;
    row->number = key->number;
    r = store_get(store, ROW_ATTEMPT, row, (void **)&past->attempt, err);
    row_free(ROW_ATTEMPT, row);
    return r;
}

static int fetch_job(struct store *store, uint64_t id, struct past *past, struct err *err)
{
    struct row_job *row = row_new(ROW_JOB);
    int r;

    row->id = id;
    r = store_get(store, ROW_JOB, row, (void **)&past->job, err);
    row_free(ROW_JOB, row);
    return r;
}

static int fetch_idem(struct store *store, const struct wants *wants, struct past *past,
                      struct err *err)
{
    struct row_idem *row = row_new(ROW_IDEM);
    int r;

    row_set(&row->ns, wants->ns);
    row_set(&row->key, wants->key);
    r = store_get(store, ROW_IDEM, row, (void **)&past->idem, err);
    row_free(ROW_IDEM, row);
    return r;
}

static int fetch_event(struct store *store, uint64_t revision, struct row_event **event,
                       struct err *err)
{
    struct row_event *key = row_new(ROW_EVENT);
    int r;

    key->rev = revision;
    r = store_get(store, ROW_EVENT, key, (void **)event, err);
    row_free(ROW_EVENT, key);
    return r;
}

/* The store's last event tells its revision, and so stays: its job does too, or the events would
 * tell of a job that no event made. */
static int fetch_retired(struct ledger *l, const struct wants *wants, struct past *past,
                         struct err *err)
{
    struct store_query query = { .kind = ROW_JOB, .limit = wants->most };
    struct row_event *last = NULL;
    int r = fetch_event(l->store, l->writing.before, &last, err);

    if (r < 0)
        return r;
    past->newest = last ? last->job : 0;
    row_free(ROW_EVENT, last);
    store_where(&query, "state", STORE_GE, JOB_SUCCEEDED);
    store_where(&query, "endedAt", STORE_LT, wants->ended_before);
    return store_find(l->store, &query, note_job, past, err);
}

static int fetch(struct ledger *l, const struct op *op, struct past *past, struct err *err)
{
    struct wants wants = judge_wants(&l->writing.changes, op);
    int r = 0;

    if (wants.key)
        r = fetch_idem(l->store, &wants, past, err);
    if (r >= 0 && wants.job)
        r = fetch_job(l->store, wants.job, past, err);
    if (r >= 0 && wants.attempt)
        r = fetch_attempt(l->store, wants.attempt, past, err);
    if (r >= 0 && wants.ended_before)
        r = fetch_retired(l, &wants, past, err);
    return r < 0 ? r : 0;
}

/* ---- one batch ---- */

static int bring_up(struct ledger *l, struct err *err)
{
    uint64_t revision;
    int r = store_begin(l->store, &revision, err);

    if (r < 0)
        return r;
    if (l->is_stale || revision < l->mirror.revision)
        r = mirror_load(&l->mirror, l->store, revision, err);
    else
        r = mirror_catch_up(&l->mirror, l->store, revision, err);
    if (r < 0)
        l->is_stale = true;
    return r;
}

static int judge_all(struct ledger *l, struct err *err)
{
    struct writing *w = &l->writing;
    int r = 0;

    for (size_t i = 0; i < w->n_ops && r >= 0; i++) {
        CLEANUP(past_fini) struct past past = { 0 };
        r = fetch(l, w->ops[i], &past, err);
        if (r >= 0)
            judge(&w->changes, &past, w->ops[i]);
    }
    if (r >= 0)
        judge_settle(&w->changes);
    return r;
}

static bool is_empty(const struct changes *changes)
{
    return changes->list.n == 0 && changes->retired.n == 0 && !changes->forgets_keys;
}

/* What waited becomes one transaction. On an error nothing was committed, unless *is_unsure. */
static int write_batch(struct ledger *l, bool *is_unsure, struct err *err)
{
    struct writing *w = &l->writing;
    int r;

    ledger_at(l, "before-lock");
    r = bring_up(l, err);
    if (r < 0)
        return r;
    ledger_at(l, "after-catch-up");
    snprintf(w->name, sizeof(w->name), "%.64s.%s.%" PRIu64, l->server, l->opening, ++l->n_batches);
    w->before = l->mirror.revision;
    changes_begin(&w->changes, &l->mirror, w->name, clock_wall_ms(&l->clock));
    r = judge_all(l, err);
    if (r < 0)
        return r;
    if (is_empty(&w->changes)) {
        store_rollback(l->store);
        return 0;
    }
    r = changes_write(&w->changes, l->store, err);
    if (r < 0)
        return r;
    ledger_at(l, "before-commit");
    r = store_commit(l->store, err);
    *is_unsure = r < 0;
    if (r >= 0)
        ledger_at(l, "after-commit");
    return r;
}

static void finish(struct ledger *l)
{
    struct writing *w = &l->writing;
    bool has_events = w->changes.revision != w->before;
    struct batch *batch = has_events ? changes_publish(&w->changes) : NULL;

    changes_settle(&w->changes);
    set_trouble(l, "");
    if (batch)
        tell(l, batch);
    answer(w->ops, w->n_ops);
    changes_fini(&w->changes);
    w->changes = (struct changes){ 0 };
    w->n_ops = 0;
    l->is_unsure = false;
}

static void give_up(struct ledger *l, enum problem_code code, const char *why)
{
    struct writing *w = &l->writing;

    changes_fini(&w->changes);
    w->changes = (struct changes){ 0 };
    set_trouble(l, why);
    answer_failed(w->ops, w->n_ops, code, why);
    w->n_ops = 0;
    l->is_unsure = false;
}

/* ---- a commit of which the outcome is not known ---- */

/* Whether the batch is in the store: 1 yes, 0 no; below 0 it cannot be asked. */
static int was_committed(struct ledger *l, struct err *err)
{
    const struct writing *w = &l->writing;
    struct row_event *event = NULL;
    uint64_t revision;
    int r = store_begin(l->store, &revision, err);

    if (r < 0)
        return r;
    r = fetch_event(l->store, w->before + 1, &event, err);
    store_rollback(l->store);
    if (r >= 0)
        r = event && strcmp(event->batch, w->name) == 0;
    row_free(ROW_EVENT, event);
    return r;
}

static void look_up(struct ledger *l, bool is_closing)
{
    struct err err = { 0 };
    char text[400];
    int r = was_committed(l, &err);

    if (r > 0) {
        finish(l);
        return;
    }
    /* One without events leaves no trace to find: what it wrote is loaded again. */
    l->is_stale = true;
    if (r == 0) {
        give_up(l, PROBLEM_STORE_UNAVAILABLE, l->writing.why);
        return;
    }
    l->is_unsure = true;
    if (++l->n_asked < ASK_TIMES && !is_closing) {
        set_trouble(l, err.text);
        return;
    }
    snprintf(text, sizeof(text), "it is not known whether it was done: %s", err.text);
    give_up(l, PROBLEM_STORE_UNAVAILABLE, text);
}

static bool is_closing(struct ledger *l)
{
    bool is_so;

    pthread_mutex_lock(&l->lock);
    is_so = l->is_closing;
    pthread_mutex_unlock(&l->lock);
    return is_so;
}

static void run_batch(struct ledger *l)
{
    struct err err = { 0 };
    bool is_unsure = false, was_stale = l->is_stale;
    int r = write_batch(l, &is_unsure, &err);

    if (r >= 0) {
        l->is_stale = false;
        finish(l);
    } else if (is_unsure) {
        l->n_asked = 0;
        snprintf(l->writing.why, sizeof(l->writing.why), "%s", err.text);
        look_up(l, is_closing(l));
    } else {
        store_rollback(l->store);
        /* A row that the store's backstops refuse is a rule that the judge lacks. */
        give_up(l, r == -EEXIST ? PROBLEM_INTERNAL : PROBLEM_STORE_UNAVAILABLE, err.text);
    }
    /* Who follows has missed what a mirror that was loaded anew shows. */
    if (was_stale && !l->is_stale) {
        struct err ignored = { 0 };
        l->is_stale = writer_tell_base(l, &ignored) < 0;
    }
}

void *writer_run(void *arg)
{
    struct ledger *l = arg;
    struct op *ops[BATCH_OPS_MAX];
    struct err err = { 0 };
    size_t n;

    pthread_setname_np(pthread_self(), "writer");
    l->is_stale = writer_tell_base(l, &err) < 0; /* then with the first batch that can be */
    while (take_ops(l, ops, &n)) {
        if (l->is_unsure)
            look_up(l, is_closing(l));
        if (l->is_unsure) {
            answer_failed(ops, n, PROBLEM_STORE_UNAVAILABLE, "the store does not answer");
            continue;
        }
        if (n == 0)
            continue;
        memcpy(l->writing.ops, ops, n * sizeof(*ops));
        l->writing.n_ops = n;
        mem_ahead(&l->ahead);
        run_batch(l);
    }
    if (l->is_unsure)
        look_up(l, true);
    return NULL;
}

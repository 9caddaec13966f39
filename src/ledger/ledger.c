/* The ledger: opening, sending, closing. The thread that writes is in writer.c. */
#include "ledger/ledger.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "ledger/inside.h"

void ledger_at(const struct ledger *ledger, const char *point)
{
    if (ledger->at_point)
        ledger->at_point(point);
}

/* ---- the first transaction ---- */

static void put_queue(struct changes *changes, const char *name, const char *parent)
{
    struct row_queue *row;

    if (mirror_find(changes->mirror, ROW_QUEUE, name))
        return;
    row = row_new(ROW_QUEUE);
    row_set(&row->name, name);
    row_set(&row->parent, parent);
    row_set(&row->spec, "{}");
    row->seq = changes->revision + 1;
    changes_put(changes, ROW_QUEUE, row, "queue.created");
}

static int put_incarnation(struct changes *changes, bool is_new, struct err *err)
{
    const struct row_meta *before = mirror_find(changes->mirror, ROW_META, "incarnation");
    char random[DIGEST_HEX_SIZE];
    struct row_meta *row;
    int r;

    if (!is_new)
        return 0;
    r = digest_random_hex(random, err);
    if (r < 0)
        return r;
    if (before)
        life_end(changes, before->value);
    row = row_new(ROW_META);
    row_set(&row->name, "incarnation");
    row_set(&row->value, random);
    changes_put_quiet(changes, ROW_META, row);
    return 0;
}

/* A store that only one server can have open was left by whoever held its leases. */
static void free_leases(struct changes *changes)
{
    CLEANUP(freep) const char **names = NULL;
    size_t n;

    names = mirror_names(changes->mirror, ROW_LEASE, &n);
    for (size_t i = 0; i < n; i++) {
        const struct row_lease *was = mirror_find(changes->mirror, ROW_LEASE, names[i]);
        struct row_lease *row;
        if (!*was->holder)
            continue;
        row = row_copy(ROW_LEASE, was);
        row_set(&row->holder, "");
        changes_put(changes, ROW_LEASE, row, "lease.freed");
    }
}

static int begin_life(struct ledger *l, struct err *err)
{
    CLEANUP(changes_fini) struct changes changes = { 0 };
    bool is_new = l->is_restored || !mirror_find(&l->mirror, ROW_META, "incarnation");
    char name[NAME_OF_BATCH_SIZE];
    int r;

    snprintf(name, sizeof(name), "%.64s.%s.0", l->server, l->opening);
    changes_begin(&changes, &l->mirror, name, clock_wall_ms(&l->clock));
    changes.by = "berth";
    r = put_incarnation(&changes, is_new, err);
    if (r < 0)
        return r;
    opening_begin(&changes, l->opening, is_new);
    put_queue(&changes, "root", "");
    put_queue(&changes, "default", "root");
    free_leases(&changes);
    r = changes_write(&changes, l->store, err);
    if (r >= 0)
        r = store_commit(l->store, err);
    if (r < 0)
        return r;
    changes_settle(&changes);
    return 0;
}

static int load(struct ledger *l, struct err *err)
{
    const struct row_meta *incarnation;
    char random[DIGEST_HEX_SIZE];
    uint64_t revision;
    int r = digest_random_hex(random, err);

    if (r < 0)
        return r;
    memcpy(l->opening, random, sizeof(l->opening) - 1);
    r = store_begin(l->store, &revision, err);
    if (r < 0)
        return r;
    r = mirror_load(&l->mirror, l->store, revision, err);
    if (r >= 0)
        r = begin_life(l, err);
    if (r < 0) {
        store_rollback(l->store);
        return r;
    }
    incarnation = mirror_find(&l->mirror, ROW_META, "incarnation");
    snprintf(l->incarnation, sizeof(l->incarnation), "%s", incarnation->value);
    l->openings = openings_read(&l->mirror);
    l->lives = lives_read(&l->mirror);
    return 0;
}

/* ---- open and close ---- */

static void free_ledger(struct ledger *l)
{
    mirror_fini(&l->mirror);
    store_close(l->store);
    VEC_FINI(&l->listeners);
    VEC_FINI(&l->openings);
    VEC_FINI(&l->lives);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->arrived);
    mem_free(l->address);
    mem_free(l->server);
    mem_free(l);
}

static struct ledger *new_ledger(const struct ledger_options *options)
{
    struct ledger *l = NEW0(struct ledger);
    pthread_condattr_t monotonic;

    l->address = text_copy(options->store);
    l->server = text_copy(options->server ? options->server : "server");
    l->clock = options->clock ? *options->clock : clock_system;
    l->is_restored = options->is_restored;
    l->at_point = options->at_point;
    l->on_trouble = options->on_trouble;
    l->end = &l->first;
    mirror_init(&l->mirror);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->arrived, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return l;
}

int ledger_open(const struct ledger_options *options, struct ledger **out, struct err *err)
{
    struct ledger *l = new_ledger(options);
    int r = store_open(l->address, &l->store, err);

    if (r >= 0)
        r = load(l, err);
    if (r < 0) {
        free_ledger(l);
        return err_wrap(err, "open %s", options->store);
    }
    *out = l;
    return 0;
}

void ledger_listen(struct ledger *ledger, batch_fn *fn, void *arg)
{
    assert(!ledger->has_thread);
    VEC_PUSH(&ledger->listeners, ((struct listener){ fn, arg }));
}

int ledger_start(struct ledger *ledger, struct err *err)
{
    int r = pthread_create(&ledger->thread, NULL, writer_run, ledger);

    if (r != 0)
        return err_sys(err, -r, "start the writer");
    ledger->has_thread = true;
    return 0;
}

void ledger_close(struct ledger *ledger)
{
    if (!ledger)
        return;
    pthread_mutex_lock(&ledger->lock);
    ledger->is_closing = true;
    pthread_cond_signal(&ledger->arrived);
    pthread_mutex_unlock(&ledger->lock);
    if (ledger->has_thread)
        pthread_join(ledger->thread, NULL);
    free_ledger(ledger);
}

const char *ledger_incarnation(const struct ledger *ledger)
{
    return ledger->incarnation;
}

const char *ledger_opening(const struct ledger *ledger)
{
    return ledger->opening;
}

char *ledger_lives(const struct ledger *ledger)
{
    CLEANUP(json_decrefp) json_t *list = json_array();

    VEC_EACH (life, &ledger->lives)
        json_array_append_new(list, json_string(life->incarnation));
    return json_dumps(list, JSON_COMPACT);
}

bool ledger_has(const struct ledger *ledger, const char *opening, uint64_t revision)
{
    return openings_hold(&ledger->openings, opening, revision) == OPENING_HOLDS;
}

uint64_t ledger_shares(const struct ledger *ledger, const char *incarnation, const char *opening)
{
    bool is_ours = text_eq(incarnation, ledger->incarnation);

    VEC_EACH (mine, &ledger->openings)
        if (is_ours && text_eq(mine->id, opening))
            return mine->last;
    VEC_EACH (life, &ledger->lives)
        if (text_eq(life->incarnation, incarnation))
            return life->last;
    return 0;
}

bool ledger_is_writable(const struct ledger *ledger, char out[240])
{
    struct ledger *l = (struct ledger *)ledger; /* its lock changes */

    pthread_mutex_lock(&l->lock);
    memcpy(out, l->trouble, sizeof(l->trouble));
    pthread_mutex_unlock(&l->lock);
    return !*out;
}

/* ---- sending ---- */

static void prepare_submit(struct op_submit *op)
{
    char digest[DIGEST_HEX_SIZE];

    op->text = job_spec_to_text(op->spec, op->key ? digest : NULL);
    if (op->key && !op->digest)
        op->digest = text_copy(digest);
}

/* What can be worked out on the sender's thread is. */
static void prepare(struct ledger *ledger, struct op *op)
{
    if (op->kind == OP_SUBMIT && !op->submit.text)
        prepare_submit(&op->submit);
    if (op->kind == OP_LEASE && !op->lease.server)
        op->lease.server = text_copy(ledger->server);
    op->next = NULL;
}

void ledger_send_all(struct ledger *ledger, struct op **ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        prepare(ledger, ops[i]);
    pthread_mutex_lock(&ledger->lock);
    for (size_t i = 0; i < n; i++) {
        *ledger->end = ops[i];
        ledger->end = &ops[i]->next;
    }
    ledger->n_waiting += n;
    ledger->n_sends += n > 0;
    if (!ledger->is_gathering || writer_has_enough(ledger))
        pthread_cond_signal(&ledger->arrived);
    pthread_mutex_unlock(&ledger->lock);
}

void ledger_send(struct ledger *ledger, struct op *op)
{
    ledger_send_all(ledger, &op, 1);
}

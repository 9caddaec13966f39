/*
 * What every store must do, run unchanged over each: BERTH_TEST_STORE is "memory" or "sqlite".
 * Then the same operations through the whole ledger, failing at the first call, the second, and
 * so on until they pass: after each failure the ledger must hold exactly what was acknowledged.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/faulty.h"
#include "ledger/inside.h"
#include "ledger/store.h"
#include "ledger/world.h"

static const char *fresh_address(void)
{
    return world_fresh(getenv("BERTH_TEST_STORE"));
}

static struct store *open_fresh(void)
{
    struct err err = { 0 };
    struct store *store = NULL;

    CHECK_OK(store_open(fresh_address(), &store, &err), &err);
    return store;
}

static void begin(struct store *store, uint64_t expected)
{
    struct err err = { 0 };
    uint64_t revision = 99;

    CHECK_OK(store_begin(store, &revision, &err), &err);
    CHECK_EQ(revision, expected);
}

static void commit(struct store *store)
{
    struct err err = { 0 };

    CHECK_OK(store_commit(store, &err), &err);
}

/* ---- rows of tests ---- */

static struct row_attempt *attempt(uint64_t job, int64_t idx, int64_t number, int64_t state)
{
    struct row_attempt *row = row_new(ROW_ATTEMPT);

    row->job = job;
    row->idx = idx;
    row->number = number;
    row->state = state;
    row_set(&row->node, idx % 2 ? "odd" : "even");
    row_set(&row->timings, "[{\"phase\":\"image\"}]");
    return row;
}

static int put(struct store *store, enum row_kind kind, void *row)
{
    struct err err = { 0 };
    int r = store_put(store, kind, row, &err);

    row_free(kind, row);
    return r;
}

static int put_event(struct store *store, uint64_t rev)
{
    struct row_event *event = row_new(ROW_EVENT);

    event->rev = rev;
    row_set(&event->type, "job.submitted");
    event->row_kind = ROW_JOB;
    row_set(&event->body, "{\"id\":1}");
    return put(store, ROW_EVENT, event);
}

static int list_keys(const void *row, void *arg)
{
    const struct row_attempt *a = row;
    struct str *out = arg;

    str_addf(out, "%d/%d#%d ", (int)a->job, (int)a->idx, (int)a->number);
    return 0;
}

static const char *keys(struct store *store, const struct store_query *query)
{
    static struct str out;
    struct err err = { 0 };

    str_clear(&out);
    CHECK_OK(store_find(store, query, list_keys, &out, &err), &err);
    if (out.len)
        out.data[out.len - 1] = '\0';
    return str_text(&out);
}

static const char *all_keys(struct store *store)
{
    return keys(store, &(struct store_query){ .kind = ROW_ATTEMPT });
}

/* ---- stores ---- */

TEST(a_row_comes_back_as_it_was)
{
    struct store *store = open_fresh();
    struct row_attempt *row = attempt(7, 1, 1, ATTEMPT_RUNNING), *back = NULL;
    struct row_attempt *other = attempt(7, 1, 2, ATTEMPT_RUNNING);
    struct err err = { 0 };

    row->started_at = INT64_MAX;
    row->grace_ms = -1;
    row_set(&row->message, "line\n\"quoted\" \xc3\xa4");
    begin(store, 0);
    CHECK_OK(store_put(store, ROW_ATTEMPT, row, &err), &err);
    commit(store);
    begin(store, 0);
    CHECK_OK(store_get(store, ROW_ATTEMPT, row, (void **)&back, &err), &err);
    CHECK(row_eq(ROW_ATTEMPT, row, back));
    row_free(ROW_ATTEMPT, back);
    CHECK_EQ(store_get(store, ROW_ATTEMPT, other, (void **)&back, &err), READER_NONE);
    store_rollback(store);
    row_free(ROW_ATTEMPT, other);
    row_free(ROW_ATTEMPT, row);
    store_close(store);
    world_drop();
}

static void fill(struct store *store)
{
    begin(store, 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(2, 0, 1, ATTEMPT_ENDED)), 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(2, 0, 2, ATTEMPT_RUNNING)), 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(1, 5, 1, ATTEMPT_ENDED)), 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(10, 1, 1, ATTEMPT_BOUND)), 0);
    commit(store);
}

TEST(finds_follow_the_key_and_hold_all_conditions)
{
    struct store *store = open_fresh();
    struct row_attempt *after = attempt(2, 0, 1, 0);
    struct store_query query = { .kind = ROW_ATTEMPT };

    fill(store);
    begin(store, 0);
    CHECK_TEXT(keys(store, &query), "1/5#1 2/0#1 2/0#2 10/1#1");
    query.limit = 2;
    CHECK_TEXT(keys(store, &query), "1/5#1 2/0#1");
    query.after = after;
    CHECK_TEXT(keys(store, &query), "2/0#2 10/1#1");
    query.is_backward = true;
    CHECK_TEXT(keys(store, &query), "1/5#1");
    query.after = NULL;
    CHECK_TEXT(keys(store, &query), "10/1#1 2/0#2");
    query = (struct store_query){ .kind = ROW_ATTEMPT };
    store_where(&query, "state", STORE_LT, ATTEMPT_ENDED);
    CHECK_TEXT(keys(store, &query), "2/0#2 10/1#1");
    store_where_text(&query, "node", "odd");
    CHECK_TEXT(keys(store, &query), "10/1#1");
    query = (struct store_query){ .kind = ROW_ATTEMPT, .after = after };
    store_where(&query, "state", STORE_IN, 1 << ATTEMPT_BOUND | 1 << ATTEMPT_ENDED);
    CHECK_TEXT(keys(store, &query), "10/1#1");
    query = (struct store_query){ .kind = ROW_ATTEMPT };
    store_where(&query, "job", STORE_GE, 2);
    store_where(&query, "job", STORE_NE, 10);
    store_where(&query, "number", STORE_LE, 1);
    store_where(&query, "number", STORE_GT, 0);
    store_where(&query, "index", STORE_EQ, 0);
    CHECK_TEXT(keys(store, &query), "2/0#1");
    store_rollback(store);
    row_free(ROW_ATTEMPT, after);
    store_close(store);
    world_drop();
}

TEST(a_rollback_leaves_what_was_committed)
{
    struct store *store = open_fresh();
    struct row_attempt *key = attempt(1, 5, 1, 0);
    struct store_query query = { .kind = ROW_ATTEMPT };
    struct err err = { 0 };

    fill(store);
    begin(store, 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(3, 0, 1, ATTEMPT_BOUND)), 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(2, 0, 2, ATTEMPT_ENDED)), 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(2, 0, 3, ATTEMPT_BOUND)), 0);
    CHECK_OK(store_del(store, ROW_ATTEMPT, key, &err), &err);
    CHECK_EQ(put_event(store, 1), 0);
    store_where(&query, "job", STORE_EQ, 10);
    CHECK_OK(store_erase(store, &query, &err), &err);
    CHECK_TEXT(all_keys(store), "2/0#1 2/0#2 2/0#3 3/0#1");
    store_rollback(store);
    begin(store, 0);
    CHECK_TEXT(all_keys(store), "1/5#1 2/0#1 2/0#2 10/1#1");
    CHECK_OK(store_del(store, ROW_ATTEMPT, key, &err), &err);
    CHECK_EQ(put_event(store, 1), 0);
    commit(store);
    begin(store, 1);
    CHECK_TEXT(all_keys(store), "2/0#1 2/0#2 10/1#1");
    store_rollback(store);
    row_free(ROW_ATTEMPT, key);
    store_close(store);
    world_drop();
}

TEST(a_second_live_attempt_of_a_task_is_refused)
{
    struct store *store = open_fresh();

    fill(store);
    begin(store, 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(2, 0, 3, ATTEMPT_BOUND)), -EEXIST);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(10, 1, 2, ATTEMPT_STOPPING)), -EEXIST);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(10, 1, 1, ATTEMPT_ENDED)), 0);
    CHECK_EQ(put(store, ROW_ATTEMPT, attempt(10, 1, 2, ATTEMPT_BOUND)), 0);
    commit(store);
    store_close(store);
    world_drop();
}

TEST(a_reader_sees_what_is_committed)
{
    struct store *store = open_fresh(), *reader = NULL;
    struct err err = { 0 };

    CHECK_OK(store_open_reader(store, &reader, &err), &err);
    fill(store);
    begin(reader, 0);
    CHECK_TEXT(all_keys(reader), "1/5#1 2/0#1 2/0#2 10/1#1");
    store_rollback(reader);
    begin(store, 0);
    CHECK_EQ(put_event(store, 1), 0);
    commit(store);
    begin(reader, 1);
    store_rollback(reader);
    store_close(reader);
    store_close(store);
    world_drop();
}

static int look_again(const void *row, void *arg)
{
    struct store *store = arg;
    struct store_query query = { .kind = ROW_ATTEMPT };

    (void)row;
    CHECK_TEXT(keys(store, &query), "1/5#1 2/0#1 2/0#2 10/1#1");
    return 1;
}

TEST(a_find_may_ask_the_same_within)
{
    struct store *store = open_fresh();
    struct store_query query = { .kind = ROW_ATTEMPT };
    struct err err = { 0 };

    fill(store);
    begin(store, 0);
    CHECK_OK(store_find(store, &query, look_again, store, &err), &err);
    store_rollback(store);
    store_close(store);
    world_drop();
}

static int add_quota(const void *row, void *arg)
{
    const struct row_quota *quota = row;

    str_addf(arg, "%s/%s %s; ", quota->ns, quota->name, quota->hard);
    return 0;
}

static struct row_quota *quota(const char *ns, const char *name, const char *hard)
{
    struct row_quota *row = row_new(ROW_QUOTA);

    row_set(&row->ns, ns);
    row_set(&row->name, name);
    row_set(&row->hard, hard);
    return row;
}

TEST(quotas_are_found_by_namespace_and_name)
{
    static const struct store_query all = { .kind = ROW_QUOTA };
    struct row_quota *gone = quota("b", "a", "{}");
    struct store *store = open_fresh();
    struct str says = { 0 };
    struct err err = { 0 };

    begin(store, 0);
    CHECK_EQ(put(store, ROW_QUOTA, quota("b", "a", "{}")), 0);
    CHECK_EQ(put(store, ROW_QUOTA, quota("b", "c", "{\"cpu\":1000}")), 0);
    CHECK_EQ(put(store, ROW_QUOTA, quota("a", "c", "{\"pods\":0}")), 0);
    CHECK_EQ(put(store, ROW_QUOTA, quota("b", "c", "{\"cpu\":2000}")), 0);
    CHECK_OK(store_del(store, ROW_QUOTA, gone, &err), &err);
    CHECK_OK(store_find(store, &all, add_quota, &says, &err), &err);
    CHECK_TEXT(str_text(&says), "a/c {\"pods\":0}; b/c {\"cpu\":2000}; ");
    commit(store);
    str_fini(&says);
    row_free(ROW_QUOTA, gone);
    store_close(store);
    world_drop();
}

/* ---- the ledger over a store that fails ---- */

/* What was acknowledged so far must be there. */
struct done {
    uint64_t job;
    bool is_registered, is_limited, is_bound, is_acked, is_ended;
};

static void go(struct world *w, struct done *done)
{
    struct op *op = op_new(OP_LEASE, NULL, NULL);

    op->lease.name = text_copy("steward");
    op->lease.is_take = true;
    if (world_do(w, op) == PROBLEM_NONE)
        w->fence = op->lease.fence;
    op_free(op);
    if (!done->is_registered)
        done->is_registered =
            world_register(w, "n1", "{\"cpu\":4000,\"memory\":4294967296}") == PROBLEM_NONE;
    if (!done->is_limited)
        done->is_limited = world_quota(w, "q", "{\"cpu\":1000}") == PROBLEM_NONE;
    if (!done->job)
        done->job = world_submit(w, "{\"name\":\"a\",\"resources\":{\"cpu\":1}}");
    if (done->job && !done->is_bound)
        done->is_bound = world_bind(w, done->job, 0, "n1") == PROBLEM_NONE;
    if (done->is_bound && !done->is_acked)
        done->is_acked = world_ack(w, done->job, 0, 1, "n1") == PROBLEM_NONE;
    if (done->is_acked && !done->is_ended)
        done->is_ended = world_ended(w, done->job, 0, 1, "n1", 0) == PROBLEM_NONE;
}

static void check_done(struct world *w, const struct done *done)
{
    static const char *const says[] = { "none", "bound", "starting", "ended COMPLETED succeeded" };
    struct err err = { 0 };
    size_t step = (size_t)done->is_bound + done->is_acked + done->is_ended;

    if (done->job) {
        CHECK(world_job_state(w, done->job) != JOB_STATE_COUNT);
        CHECK_TEXT(world_attempt_says(w, done->job, 0, 1), says[step]);
    }
    CHECK_OK(ledger_check_open(w->ledger, &err), &err);
}

/* Fails at calls n to n + length - 1, and goes on until all is done. */
static bool run_faulty(uint64_t n, uint64_t length, const char *how)
{
    struct world w = { 0 };
    struct done done = { 0 };
    char address[256];
    struct err err = { 0 };
    uint64_t n_calls;

    snprintf(address, sizeof(address), "faulty:%llu-%llu%s:%s", (unsigned long long)n,
             (unsigned long long)(n + length - 1), how, fresh_address());
    w.now = 1000;
    if (ledger_open(&(struct ledger_options){ .store = address, .server = "s1" }, &w.ledger, &err) <
        0) {
        CHECK(strstr(err.text, "No space left"));
        world_drop();
        return true;
    }
    err = (struct err){ 0 };
    CHECK_OK(ledger_start(w.ledger, &err), &err);
    for (int i = 0; i < 40 && !done.is_ended; i++) {
        go(&w, &done);
        check_done(&w, &done);
    }
    CHECK(done.is_ended);
    n_calls = faulty_calls(w.ledger->store);
    world_close(&w);
    world_drop();
    return n_calls >= n;
}

TEST(a_ledger_holds_what_it_acknowledged_whichever_call_fails)
{
    uint64_t n = 1;

    while (run_faulty(n, 1, ""))
        n++;
    CHECK(n > 50);
}

TEST(a_commit_of_unknown_outcome_is_looked_up)
{
    uint64_t n = 1;

    while (run_faulty(n, 1, "u"))
        n++;
    CHECK(n > 50);
}

TEST(a_disk_that_was_full_for_a_while_is_written_again)
{
    for (uint64_t n = 10; n < 100; n += 7)
        run_faulty(n, 9, "");
}

/* ---- an eviction over a store that fails ---- */

/* Until it is not for the store's sake that it fails. */
static enum problem_code until_written(struct world *w, struct op *op)
{
    enum problem_code code;

    for (int i = 0; i < 10; i++) {
        code = world_do(w, op);
        if (code != PROBLEM_STORE_UNAVAILABLE)
            break;
    }
    op_free(op);
    return code;
}

/* A node of one core that is taken, and a job for which there is no room. */
static void fill_node(struct world *w, uint64_t *low, uint64_t *high)
{
    world_lead(w);
    CHECK_EQ(world_register(w, "n1", "{\"cpu\":1000}"), PROBLEM_NONE);
    *low = world_submit(w, "{\"name\":\"low\",\"resources\":{\"cpu\":1}}");
    *high = world_submit(w, "{\"name\":\"high\",\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_bind(w, *low, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(w, *low, 0, 1, "n1"), PROBLEM_NONE);
}

static struct op *end_of(struct world *w, uint64_t job)
{
    struct op *op = op_new(OP_REPORT, NULL, NULL);

    (void)w;
    op->report.node = text_copy("n1");
    op->report.generation = 1;
    op->report.attempt = (struct attempt_key){ job, 0, 0, 1 };
    op->report.is_ended = true;
    op->report.cause = CAUSE_COMPLETED;
    op->report.code = 143;
    return op;
}

/* Evicts, ends the victim and binds in its room, failing at call n (0 never); how many calls that
 * took in all, and before it began. */
static uint64_t evict_faulty(uint64_t n, const char *how, uint64_t *n_before)
{
    struct world w = { 0 };
    uint64_t low, high, n_calls;
    struct op *op;
    char address[256];
    struct err err = { 0 };

    snprintf(address, sizeof(address), "faulty:%llu-%llu%s:%s", (unsigned long long)n,
             (unsigned long long)n, how, fresh_address());
    world_open(&w, address);
    fill_node(&w, &low, &high);
    *n_before = faulty_calls(w.ledger->store);
    op = world_evict_op(&w, high, 0, 1, "n1");
    world_add_victim(&w, op, low, 0, 1);
    if (world_do(&w, op) == PROBLEM_STORE_UNAVAILABLE) {
        CHECK_TEXT(world_attempt_says(&w, low, 0, 1), "starting"); /* none of it */
        CHECK_TEXT(world_held_says(&w, high), "");
        CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    }
    op_free(op);
    CHECK_TEXT(world_attempt_says(&w, low, 0, 1), "stopping EVICTED");
    CHECK_TEXT(world_held_says(&w, high), "open n1*");
    CHECK_EQ(until_written(&w, end_of(&w, low)), PROBLEM_NONE);
    CHECK_EQ(until_written(&w, world_bind_op(&w, high, 0, 1, "n1")), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(&w, high), "used");
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    n_calls = faulty_calls(w.ledger->store);
    world_close(&w);
    world_drop();
    return n_calls;
}

TEST(an_eviction_is_whole_or_not_at_all_whichever_call_fails)
{
    static const char *const hows[] = { "", "u" };
    uint64_t before, n_calls;

    for (size_t i = 0; i < COUNT_OF(hows); i++) {
        n_calls = evict_faulty(1000000, hows[i], &before);
        CHECK(n_calls > before + 20);
        for (uint64_t n = before + 1; n <= n_calls; n++)
            evict_faulty(n, hows[i], &before);
    }
}

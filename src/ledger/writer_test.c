/* The writer: what listeners hear, in which order answers come, and what a failing store does. */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "base/vec.h"
#include "ledger/check.h"
#include "ledger/faulty.h"
#include "ledger/inside.h"
#include "ledger/world.h"

/* Batches as they were heard. Written by the writer's thread, read when it has nothing to do. */
struct heard {
    VEC_OF(struct batch *) batches;
};

static void hear(struct batch *batch, void *arg)
{
    struct heard *heard = arg;

    VEC_PUSH(&heard->batches, batch_ref(batch));
}

static void forget(struct heard *heard)
{
    VEC_EACH (batch, &heard->batches)
        batch_unref(*batch);
    VEC_FINI(&heard->batches);
}

/* What was told of the store's trouble: how often it began and ended. */
static struct {
    int n_begun, n_ended;
} troubles;

static void note_trouble(const char *why)
{
    troubles.n_begun += why != NULL;
    troubles.n_ended += why == NULL;
}

static void open_heard(struct world *w, const char *address, struct heard *heard)
{
    struct err err = { 0 };

    w->now = 1000;
    CHECK_OK(ledger_open(&(struct ledger_options){ .store = address,
                                                   .server = "s1",
                                                   .on_trouble = note_trouble },
                         &w->ledger, &err),
             &err);
    ledger_listen(w->ledger, hear, heard);
    CHECK_OK(ledger_start(w->ledger, &err), &err);
}

static const char *types(const struct batch *batch)
{
    static struct str text;

    str_clear(&text);
    for (size_t i = 0; i < batch->n_events; i++)
        str_addf(&text, "%s:%s ", batch->events[i].type, batch->events[i].subject);
    return str_text(&text);
}

TEST(listeners_hear_a_base_and_then_each_commit)
{
    struct world w = { 0 };
    struct heard heard = { 0 };
    CLEANUP(freep) char *text = NULL;
    const struct batch *batch;
    uint64_t job;

    open_heard(&w, "memory:", &heard);
    job = world_submit(&w, "{\"name\":\"a\"}");
    CHECK_EQ(world_run(&w, world_submit_op("{\"queue\":\"zzz\"}")), PROBLEM_INVALID_FIELD);
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NOT_FOUND);
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_EQ(heard.batches.n, 3); /* what changed nothing is not heard of */
    batch = heard.batches.at[0];
    CHECK(batch->is_base);
    CHECK_EQ(batch->n_events, 2); /* the two queues */
    CHECK_EQ(batch->events[0].kind, ROW_QUEUE);
    batch = heard.batches.at[1];
    CHECK(!batch->is_base);
    CHECK_EQ(batch->n_events, 1);
    CHECK_EQ(batch->revision, job);
    CHECK_EQ(batch->events[0].rev, job);
    CHECK_TEXT(batch->events[0].row.job->name, "a");
    CHECK_TEXT(batch->events[0].by, "ann");
    CHECK(strstr(batch->events[0].body, "\"name\":\"a\""));
    batch = heard.batches.at[2];
    CHECK_EQ(batch->n_events, 2);
    CHECK(strstr(types(batch), "task.cancelled:j-"));
    CHECK(strstr(types(batch), "job.cancelled:j-"));
    world_close(&w);
    CHECK_TEXT(heard.batches.at[1]->events[0].row.job->name, "a"); /* it outlives the ledger */
    text = job_spec_to_text(heard.batches.at[1]->events[0].spec, NULL);
    CHECK_TEXT(text, heard.batches.at[1]->events[0].row.job->spec);
    CHECK(!heard.batches.at[2]->events[1].spec); /* it is not new */
    forget(&heard);
}

TEST(a_base_tells_how_each_task_of_a_live_job_stands)
{
    struct world w = { 0 };
    struct heard heard = { 0 };
    const char *address = world_fresh("sqlite");
    const struct batch *base;
    size_t n_attempts = 0, n_tasks = 0, n_jobs = 0;
    uint64_t job, over;

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    over = world_submit(&w, "{}");
    CHECK_EQ(world_stop(&w, over), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":3,\"onFailure\":\"continue\"}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop_attempt(&w, job, 0, 1, CAUSE_EVICTED), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop_attempt(&w, job, 1, 1, CAUSE_CANCELLED), PROBLEM_NONE);
    world_close(&w);
    w = (struct world){ 0 };
    open_heard(&w, address, &heard);
    CHECK(world_submit(&w, "{}"));
    base = heard.batches.at[0];
    CHECK(base->is_base);
    for (size_t i = 0; i < base->n_events; i++) {
        const struct batch_event *event = &base->events[i];
        n_jobs += event->kind == ROW_JOB;
        n_tasks += event->kind == ROW_TASK;
        if (event->kind != ROW_ATTEMPT)
            continue;
        n_attempts++;
        if (event->row.attempt->idx == 0)
            CHECK_EQ(event->row.attempt->number, 2); /* the last one only */
        else
            CHECK_EQ(event->row.attempt->then, THEN_CANCELLED);
    }
    CHECK_EQ(n_jobs, 1);
    CHECK_EQ(n_attempts, 2);
    CHECK_EQ(n_tasks, 0);
    world_close(&w);
    forget(&heard);
    world_drop();
}

static int order[600];
static size_t n_order;

static void note_order(struct op *op, void *arg)
{
    (void)arg;
    order[n_order++] = (int)op->submit.job;
}

TEST(a_flood_is_answered_in_order_and_kept)
{
    enum { N = 600 }; /* more than one batch */
    struct world w = { 0 };
    struct op *ops[N];
    struct err err = { 0 };

    n_order = 0;
    world_open(&w, "memory:");
    for (size_t i = 0; i < N; i++) {
        ops[i] = world_submit_op("{}");
        ops[i]->done = note_order;
    }
    ledger_send_all(w.ledger, ops, N);
    CHECK_EQ(world_run(&w, world_submit_op("{}")), PROBLEM_NONE);
    CHECK_EQ(n_order, N);
    for (size_t i = 1; i < N; i++)
        CHECK(order[i] > order[i - 1]);
    for (size_t i = 0; i < N; i++)
        op_free(ops[i]);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

TEST(a_ledger_that_closes_answers_what_waits)
{
    struct world w = { 0 };
    struct op *ops[20];

    n_order = 0;
    world_open(&w, "memory:");
    for (size_t i = 0; i < 20; i++) {
        ops[i] = world_submit_op("{}");
        ops[i]->done = note_order;
    }
    ledger_send_all(w.ledger, ops, 20);
    world_close(&w);
    CHECK_EQ(n_order, 20);
    for (size_t i = 0; i < 20; i++)
        op_free(ops[i]);
}

/* How many calls of the store were made before the first operation. */
static uint64_t calls_to_start(void)
{
    struct world w = { 0 };
    uint64_t n;

    world_open(&w, "faulty:999999:memory:");
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NOT_FOUND); /* the writer told its base before this */
    n = faulty_calls(w.ledger->store);
    world_close(&w);
    return n;
}

/* Fails around the first calls of a submit, for a while. */
static void submit_while_failing(uint64_t from, uint64_t to, const char *how)
{
    struct world w = { 0 };
    struct heard heard = { 0 };
    struct err err = { 0 };
    char address[80], why[240];
    size_t n_known = 0;
    uint64_t last;
    bool is_refused = false;

    snprintf(address, sizeof(address), "faulty:%llu-%llu%s:memory:", (unsigned long long)from,
             (unsigned long long)to, how);
    memset(&troubles, 0, sizeof(troubles));
    open_heard(&w, address, &heard);
    for (int i = 0; i < 50 && n_known < 2; i++) {
        if (world_submit(&w, "{}")) {
            n_known++;
            CHECK(ledger_is_writable(w.ledger, why));
            continue;
        }
        is_refused = true;
        CHECK_EQ(w.problem.code, PROBLEM_STORE_UNAVAILABLE);
        CHECK(strstr(w.problem.detail, "No space left") || strstr(w.problem.detail, "the store"));
        CHECK(!ledger_is_writable(w.ledger, why));
    }
    CHECK_EQ(n_known, 2);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    last = w.revision;
    world_close(&w); /* a base may come after the answer */
    /* Whoever follows the batches, bases included, knows the last revision. */
    CHECK_EQ(heard.batches.at[heard.batches.n - 1]->revision, last);
    /* Told once however often it was refused, and once when it was over. */
    CHECK(troubles.n_begun >= (is_refused ? 1 : 0) && troubles.n_begun <= 2);
    CHECK_EQ(troubles.n_ended, troubles.n_begun);
    forget(&heard);
}

TEST(a_store_that_fails_is_tried_again)
{
    uint64_t n = calls_to_start();

    for (uint64_t from = n - 2; from < n + 8; from++) {
        submit_while_failing(from, from, "");
        submit_while_failing(from, from + 5, "");
        submit_while_failing(from, from, "u");
    }
}

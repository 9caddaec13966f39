/*
 * bench-queue: how many tasks a second go from submit to ended, through writer and store.
 *
 *     bench-queue STORE JOBS BATCH
 *
 * sends JOBS one-task jobs through submit, bind, ack, running and ended, each step in batches of
 * BATCH operations, and prints one line a step: operations, seconds, operations a second.
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "ledger/ledger.h"

struct bench {
    struct ledger *ledger;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    size_t n_open, n_jobs, n_batch, n_refused;
    uint64_t *jobs, fence;
};

static void done(struct op *op, void *arg)
{
    struct bench *b = arg;

    pthread_mutex_lock(&b->lock);
    b->n_refused += op->problem.code != PROBLEM_NONE;
    if (--b->n_open == 0)
        pthread_cond_signal(&b->cond);
    pthread_mutex_unlock(&b->lock);
}

static void send(struct bench *b, struct op **ops, size_t n)
{
    pthread_mutex_lock(&b->lock);
    b->n_open = n;
    pthread_mutex_unlock(&b->lock);
    ledger_send_all(b->ledger, ops, n);
    pthread_mutex_lock(&b->lock);
    while (b->n_open)
        pthread_cond_wait(&b->cond, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

static struct op *submit_op(struct bench *b, size_t i)
{
    struct op *op = op_new(OP_SUBMIT, done, b);
    struct problem problem = { 0 };
    json_t *object = json_pack("{s:o, s:s, s:{s:i, s:s}}", "name", json_sprintf("job-%zu", i),
                               "image", "dir:/srv/img", "resources", "cpu", 1, "memory", "64Mi");

    if (job_spec_from_json(object, NULL, &op->submit.spec, &problem) < 0)
        abort();
    json_decref(object);
    op->submit.user = text_copy("bench");
    return op;
}

static struct op *bind_op(struct bench *b, size_t i)
{
    struct op *op = op_new(OP_BIND, done, b);

    op->bind.job = b->jobs[i];
    op->bind.version = 1;
    op->bind.fence = b->fence;
    op->bind.decision = text_copy("1/allocate");
    op->bind.parts = NEW0_N(struct op_bind_part, 1);
    op->bind.n_parts = 1;
    op->bind.parts[0] = (struct op_bind_part){ .number = 1, .node = text_copy("n1"), .facts = 1 };
    return op;
}

static struct op *ack_op(struct bench *b, size_t i)
{
    struct op *op = op_new(OP_ACK, done, b);

    op->ack.node = text_copy("n1");
    op->ack.generation = 1;
    op->ack.attempt = (struct attempt_key){ b->jobs[i], 0, 0, 1 };
    return op;
}

static struct op *running_op(struct bench *b, size_t i)
{
    struct op *op = op_new(OP_REPORT, done, b);

    op->report.node = text_copy("n1");
    op->report.generation = 1;
    op->report.attempt = (struct attempt_key){ b->jobs[i], 0, 0, 1 };
    return op;
}

static struct op *ended_op(struct bench *b, size_t i)
{
    struct op *op = running_op(b, i);

    op->report.is_ended = true;
    op->report.cause = CAUSE_COMPLETED;
    op->report.timings = text_copy("[{\"phase\":\"image\",\"startUs\":0,\"tookUs\":210}]");
    return op;
}

static void step(struct bench *b, const char *name, struct op *(*make)(struct bench *b, size_t i))
{
    struct op **ops = NEW0_N(struct op *, b->n_jobs);
    int64_t start, took = 0;

    for (size_t i = 0; i < b->n_jobs; i++)
        ops[i] = make(b, i);
    start = clock_boot_us(&clock_system);
    for (size_t at = 0; at < b->n_jobs; at += b->n_batch)
        send(b, ops + at, b->n_jobs - at < b->n_batch ? b->n_jobs - at : b->n_batch);
    took = clock_boot_us(&clock_system) - start;
    for (size_t i = 0; i < b->n_jobs; i++) {
        if (make == submit_op)
            b->jobs[i] = ops[i]->submit.job;
        op_free(ops[i]);
    }
    mem_free(ops);
    printf("%-8s %8zu ops %8.3f s %8.0f ops/s  refused %zu  heap %zu KiB\n", name, b->n_jobs,
           (double)took / 1e6, (double)b->n_jobs * 1e6 / (double)took, b->n_refused,
           (size_t)mallinfo2().uordblks / 1024);
}

static void set_up(struct bench *b)
{
    struct op *lease = op_new(OP_LEASE, done, b), *node = op_new(OP_REGISTER, done, b);

    lease->lease.name = text_copy("steward");
    lease->lease.is_take = true;
    node->reg.node = text_copy("n1");
    node->reg.boot_id = text_copy("boot");
    node->reg.ttl_ms = 30000;
    node->reg.offers = text_copy("{\"cpu\":1000000000000,\"memory\":1152921504606846976}");
    send(b, (struct op *[]){ lease, node }, 2);
    b->fence = lease->lease.fence;
    op_free(lease);
    op_free(node);
}

int main(int argc, char **argv)
{
    struct bench b = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
    struct err err = { 0 };
    int64_t n_jobs, n_batch;

    if (argc != 4 || text_to_int(argv[2], 1, 10000000, &n_jobs) < 0 ||
        text_to_int(argv[3], 1, 10000000, &n_batch) < 0) {
        fprintf(stderr, "usage: %s STORE JOBS BATCH\n", argv[0]);
        return 2;
    }
    b.n_jobs = (size_t)n_jobs;
    b.n_batch = (size_t)n_batch;
    b.jobs = NEW0_N(uint64_t, b.n_jobs);
    if (ledger_open(&(struct ledger_options){ .store = argv[1], .server = "bench" }, &b.ledger,
                    &err) < 0 ||
        ledger_start(b.ledger, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    set_up(&b);
    step(&b, "submit", submit_op);
    step(&b, "bind", bind_op);
    step(&b, "ack", ack_op);
    step(&b, "running", running_op);
    step(&b, "ended", ended_op);
    ledger_close(b.ledger);
    mem_free(b.jobs);
    return b.n_refused > 0;
}

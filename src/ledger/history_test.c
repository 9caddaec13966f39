/*
 * Random histories: anybody does anything, often with what was true a moment ago. After each
 * step the checker reads the whole history, the mirror is held against the tables and against
 * what a follower makes of the events; now and then the ledger is closed and opened again.
 */
#include <string.h>

#include "base/test.h"
#include "base/vec.h"
#include "ledger/check.h"
#include "ledger/world.h"

enum { N_NODES = 3, N_STEPS = 120 };

struct history {
    struct world w;
    uint64_t seed;
    VEC_OF(uint64_t) jobs;
    size_t n_accepted, n_refused;
};

static uint64_t below(struct history *h, uint64_t n)
{
    return test_random(&h->seed) % n;
}

static bool one_in(struct history *h, uint64_t n)
{
    return below(h, n) == 0;
}

static const char *a_node(struct history *h)
{
    static const char *const names[N_NODES] = { "n1", "n2", "n3" };

    return names[below(h, N_NODES)];
}

static uint64_t a_job(struct history *h)
{
    return h->jobs.n ? h->jobs.at[below(h, h->jobs.n)] : 1;
}

static void note(struct history *h, enum problem_code code)
{
    if (code == PROBLEM_NONE)
        h->n_accepted++;
    else
        h->n_refused++;
    CHECK(code != PROBLEM_STORE_UNAVAILABLE && code != PROBLEM_INTERNAL);
}

/* ---- attempts that are, or nearly ---- */

struct pick {
    struct history *h;
    struct row_attempt *row;
    size_t n;
};

static int pick_one(const void *row, void *arg)
{
    struct pick *pick = arg;

    pick->n++;
    if (!one_in(pick->h, pick->n))
        return 0;
    row_free(ROW_ATTEMPT, pick->row);
    pick->row = row_copy(ROW_ATTEMPT, row);
    return 0;
}

static struct row_attempt *an_attempt(struct history *h, bool must_live)
{
    struct pick pick = { .h = h };
    struct reader *reader;
    struct err err = { 0 };
    uint64_t revision;

    CHECK_OK(reader_open(h->w.ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    if (must_live)
        CHECK_OK(reader_node_attempts(reader, a_node(h), pick_one, &pick, &err), &err);
    else
        CHECK_OK(reader_attempts(reader, a_job(h), NULL, 1000, pick_one, &pick, &err), &err);
    reader_close(reader);
    if (!pick.row)
        pick.row = row_new(ROW_ATTEMPT);
    return pick.row;
}

static struct attempt_key key_of(struct history *h, const struct row_attempt *row)
{
    struct attempt_key key = { row->job, (uint32_t)row->grp, (uint32_t)row->idx,
                               (uint32_t)row->number };

    key.number += one_in(h, 20);
    return key;
}

/* ---- steps ---- */

static void do_submit(struct history *h)
{
    static const char *const specs[] = {
        "{\"resources\":{\"cpu\":1}}",
        "{\"replicas\":3,\"resources\":{\"cpu\":1},\"retries\":{\"max\":1}}",
        "{\"replicas\":4,\"minAvailable\":3,\"onFailure\":\"continue\",\"retries\":{\"max\":2}}",
        "{\"replicas\":2,\"gang\":true,\"resources\":{\"memory\":\"512Mi\",\"fpga\":1}}",
        ("{\"groups\":[{\"name\":\"a\",\"image\":\"dir:/i\",\"replicas\":2,\"minAvailable\":1},"
         "{\"name\":\"b\",\"image\":\"dir:/i\",\"replicas\":2,\"resources\":{\"cpu\":2}}]}"),
        "{\"queue\":\"research\",\"replicas\":2}",
        "{\"queue\":\"research\",\"replicas\":3,\"resources\":{\"cpu\":1}}",
    };
    struct op *op = world_submit_op(specs[below(h, COUNT_OF(specs))]);
    enum problem_code code = world_do(&h->w, op);

    if (code == PROBLEM_NONE)
        VEC_PUSH(&h->jobs, op->submit.job);
    note(h, code);
    op_free(op);
}

/* What is held for a job, if there is anything. */
static struct op_take *take_of(struct history *h)
{
    struct op_take *take = NEW0(struct op_take);

    take->job = a_job(h);
    take->reservation = world_reservation(&h->w, take->job);
    return take;
}

static void do_bind(struct history *h)
{
    struct op *op = world_bind_op(&h->w, a_job(h), 0, 1 + (uint32_t)below(h, 4), a_node(h));

    for (size_t i = 0; i < op->bind.n_parts; i++) {
        struct op_bind_part *part = &op->bind.parts[i];
        if (one_in(h, 2)) {
            struct row_node *node;
            mem_free(part->node);
            part->node = text_copy(a_node(h));
            node = world_node(&h->w, part->node);
            part->facts = node ? node->facts : 0;
            row_free(ROW_NODE, node);
        }
        part->facts -= one_in(h, 30);
        if (one_in(h, 4)) { /* the other group, from its start */
            part->group = 1;
            part->index = (uint32_t)below(h, 2);
            part->number = 1;
        }
    }
    if (one_in(h, 12)) {
        op->bind.takes = take_of(h);
        op->bind.n_takes = 1;
    }
    op->bind.fence -= one_in(h, 40);
    note(h, world_run(&h->w, op));
}

static void do_evict(struct history *h)
{
    struct op *op = world_evict_op(&h->w, a_job(h), (uint32_t)below(h, 2),
                                   1 + (uint32_t)below(h, 2), a_node(h));
    size_t n = below(h, 3);

    if (one_in(h, 10)) { /* for a reason alone */
        op->evict.job = 0;
        while (op->evict.n_rooms && !one_in(h, 5))
            mem_free(op->evict.rooms[--op->evict.n_rooms].node);
    }
    for (size_t i = 0; i < n; i++) {
        struct row_attempt *row = an_attempt(h, !one_in(h, 10));
        if (row->job)
            world_add_victim(&h->w, op, row->job, (uint32_t)row->idx, (uint32_t)row->number);
        row_free(ROW_ATTEMPT, row);
    }
    if (one_in(h, 4))
        op->evict.ttl_ms = 0;
    if (one_in(h, 12)) {
        op->evict.takes = take_of(h);
        op->evict.n_takes = 1;
    }
    op->evict.fence -= one_in(h, 40);
    op->evict.replaces -= op->evict.replaces && one_in(h, 10);
    note(h, world_run(&h->w, op));
}

static void do_order(struct history *h)
{
    static const char *const keys[] = { "m1", "m2", "n1" };
    struct op *op = op_new(one_in(h, 2) ? OP_ORDER : OP_ORDER_STATE, NULL, NULL);
    const char *key = keys[below(h, COUNT_OF(keys))];

    if (op->kind == OP_ORDER) {
        op->order.key = text_copy(key);
        op->order.shape = text_copy("{\"cpu\":3000,\"memory\":1073741824}");
        op->order.job = one_in(h, 3) ? 0 : a_job(h);
        op->order.version = 1;
        op->order.rooms = NEW0_N(struct op_room, 1);
        op->order.n_rooms = op->order.job != 0;
        op->order.rooms[0].index = (uint32_t)below(h, 2);
        op->order.fence = h->w.fence;
    } else {
        op->order_state.key = text_copy(key);
        op->order_state.state = (enum order_state)below(h, ORDER_STATE_COUNT);
        op->order_state.fence = h->w.fence;
    }
    note(h, world_run(&h->w, op));
}

static void do_release(struct history *h)
{
    note(h, world_release(&h->w, a_job(h), (enum release)(1 + below(h, RELEASE_COUNT - 1))));
}

static uint64_t generation_of(struct history *h, const char *name)
{
    struct row_node *node = world_node(&h->w, name);
    uint64_t generation = node ? node->generation : 0;

    row_free(ROW_NODE, node);
    return generation - one_in(h, 30);
}

static void do_ack(struct history *h)
{
    struct row_attempt *row = an_attempt(h, !one_in(h, 8));
    struct op *op = op_new(OP_ACK, NULL, NULL);

    op->ack.node = text_copy(one_in(h, 20) ? a_node(h) : row->node);
    op->ack.generation = generation_of(h, op->ack.node);
    op->ack.attempt = key_of(h, row);
    row_free(ROW_ATTEMPT, row);
    note(h, world_run(&h->w, op));
}

static void do_report(struct history *h)
{
    struct row_attempt *row = an_attempt(h, !one_in(h, 8));
    struct op *op = op_new(OP_REPORT, NULL, NULL);

    op->report.node = text_copy(one_in(h, 20) ? a_node(h) : row->node);
    op->report.generation = generation_of(h, op->report.node);
    op->report.attempt = key_of(h, row);
    op->report.is_ended = row->state == ATTEMPT_STOPPING || one_in(h, 2);
    op->report.cause = one_in(h, 4) ? (enum cause)(1 + below(h, CAUSE_COUNT - 1)) : CAUSE_COMPLETED;
    op->report.code = one_in(h, 3) ? (int)below(h, 4) : 0;
    row_free(ROW_ATTEMPT, row);
    note(h, world_run(&h->w, op));
}

static int hold_one(const void *row, void *arg)
{
    struct op_register *op = arg;
    const struct row_attempt *attempt = row;

    if (op->n_held < 16)
        op->held[op->n_held++].attempt =
            (struct attempt_key){ attempt->job, (uint32_t)attempt->grp, (uint32_t)attempt->idx,
                                  (uint32_t)attempt->number };
    return 0;
}

static void do_register(struct history *h)
{
    static const char *const offers[] = {
        "{\"cpu\":4000,\"memory\":2147483648,\"pods\":5000,\"fpga\":2000}",
        "{\"cpu\":2000,\"memory\":1073741824,\"pods\":3000}",
    };
    struct op *op = world_register_op(one_in(h, 6) ? "m1" : a_node(h),
                                      one_in(h, 3) ? "boot-2" : "boot-1", offers[one_in(h, 4)]);
    struct reader *reader;
    struct err err = { 0 };
    uint64_t revision;

    op->reg.incarnation = text_copy(one_in(h, 8) ? "another" : ledger_incarnation(h->w.ledger));
    op->reg.held = NEW0_N(struct held_attempt, 16);
    CHECK_OK(reader_open(h->w.ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    if (!one_in(h, 3))
        CHECK_OK(reader_node_attempts(reader, op->reg.node, hold_one, &op->reg, &err), &err);
    reader_close(reader);
    if (op->reg.n_held && one_in(h, 3))
        op->reg.n_held--;
    note(h, world_run(&h->w, op));
}

static void do_stop(struct history *h)
{
    static const enum cause causes[] = { CAUSE_EVICTED, CAUSE_DRAINED, CAUSE_CANCELLED,
                                         CAUSE_LIMIT_REACHED };
    struct row_attempt *row;

    if (one_in(h, 4)) {
        note(h, world_requeue(&h->w, a_job(h), one_in(h, 3)));
        return;
    }
    if (one_in(h, 3)) {
        note(h, world_stop(&h->w, a_job(h)));
        return;
    }
    row = an_attempt(h, true);
    note(h, world_stop_attempt(&h->w, row->job, (uint32_t)row->idx, (uint32_t)row->number,
                               causes[below(h, COUNT_OF(causes))]));
    row_free(ROW_ATTEMPT, row);
}

static void do_node_state(struct history *h)
{
    static const enum node_state states[] = { NODE_UNREACHABLE, NODE_READY, NODE_LOST, NODE_GONE };

    note(h, world_node_state(&h->w, a_node(h), states[below(h, COUNT_OF(states))]));
}

static void do_node_other(struct history *h)
{
    struct op *op;

    if (one_in(h, 3)) {
        note(h, world_beat_disabled(&h->w, a_node(h), one_in(h, 4) ? "disk full" : ""));
        return;
    }
    op = op_new(one_in(h, 3) ? OP_LEAVE : OP_CORDON, NULL, NULL);
    if (op->kind == OP_LEAVE) {
        op->leave.node = text_copy(a_node(h));
        op->leave.generation = generation_of(h, op->leave.node);
    } else {
        op->cordon.node = text_copy(a_node(h));
        op->cordon.is_cordoned = one_in(h, 3);
    }
    note(h, world_run(&h->w, op));
}

static void do_job_other(struct history *h)
{
    struct op *op = op_new(one_in(h, 2) ? OP_PATCH : OP_FAIL, NULL, NULL);
    uint64_t job = a_job(h);

    if (op->kind == OP_PATCH) {
        op->patch.job = job;
        op->patch.has_held = true;
        op->patch.is_held = one_in(h, 4);
        op->patch.resumes = !one_in(h, 3);
    } else {
        op->fail.job = job;
        op->fail.version = 1 + below(h, 3);
        op->fail.is_task = !one_in(h, 3);
        op->fail.index = (uint32_t)below(h, 3);
        op->fail.code = WAIT_LARGER_THAN_CLUSTER;
        op->fail.fence = h->w.fence;
    }
    note(h, world_run(&h->w, op));
}

static void do_queue(struct history *h)
{
    struct op *op = op_new(one_in(h, 4) ? OP_QUEUE_DELETE : OP_QUEUE_PUT, NULL, NULL);

    if (op->kind == OP_QUEUE_DELETE) {
        op->queue_delete.name = text_copy("research");
    } else {
        bool is_default = one_in(h, 3); /* jobs stand in it, and below it */
        op->queue_put.name = text_copy(is_default ? "default" : "research");
        op->queue_put.is_create = !is_default && one_in(h, 2);
        op->queue_put.state = !is_default && one_in(h, 3) ? QUEUE_CLOSED : QUEUE_OPEN;
        op->queue_put.parent = text_copy(!is_default && one_in(h, 2) ? "default" : "root");
        if (one_in(h, 2))
            op->queue_put.spec = text_format("{\"cap\":{\"%s\":%d}}", one_in(h, 3) ? "pods" : "cpu",
                                             (int)below(h, 5) * 1000);
    }
    note(h, world_run(&h->w, op));
}

static void do_quota(struct history *h)
{
    static const char *const names[] = { "q", "r" };
    CLEANUP(freep)
    char *hard = text_format("{\"%s\":%d}", one_in(h, 3) ? "pods" : "cpu", (int)below(h, 5) * 1000);

    note(h, world_quota(&h->w, names[below(h, 2)], one_in(h, 2) ? NULL : hard));
}

static void do_retain(struct history *h)
{
    struct op *op = op_new(OP_RETAIN, NULL, NULL);

    op->retain.ended_before = h->w.now - 20000;
    op->retain.most = 2;
    note(h, world_run(&h->w, op));
}

static void (*const steps[])(struct history *h) = {
    do_submit,   do_submit, do_bind,       do_bind,       do_bind,      do_bind,   do_ack,
    do_ack,      do_ack,    do_ack,        do_report,     do_report,    do_report, do_report,
    do_register, do_stop,   do_node_state, do_node_other, do_job_other, do_queue,  do_evict,
    do_evict,    do_evict,  do_release,    do_order,      do_order,     do_quota,
};

static void reopen(struct history *h)
{
    CLEANUP(freep) char *address = text_copy(h->w.store);

    world_close(&h->w);
    world_open(&h->w, address);
    world_lead(&h->w);
}

/* Returns how many operations were accepted. */
static size_t live_through(const char *store, uint64_t seed)
{
    struct history h = { .seed = seed };
    struct err err = { 0 };

    world_open(&h.w, world_fresh(store));
    world_lead(&h.w);
    for (int i = 0; i < 6; i++)
        do_register(&h);
    for (int i = 0; i < N_STEPS; i++) {
        uint64_t step = below(&h, COUNT_OF(steps) * 8);
        h.w.now += (int64_t)below(&h, 2000);
        if (step == 0)
            do_retain(&h);
        else
            steps[step / 8](&h);
        if (strcmp(store, "sqlite") == 0 && one_in(&h, 25))
            reopen(&h);
        if (ledger_check_open(h.w.ledger, &err) < 0)
            print_error("step %d of BERTH_TEST_SEED=%llu\n", i, (unsigned long long)seed);
        CHECK_OK(err.code, &err);
    }
    VEC_FINI(&h.jobs);
    world_close(&h.w);
    world_drop();
    return h.n_accepted;
}

TEST(whatever_is_done_the_history_holds)
{
    uint64_t seed = test_seed();
    size_t n = 0;

    for (uint64_t i = 0; i < 12; i++)
        n += live_through("memory", seed + i);
    CHECK(n > 12 * N_STEPS / 4); /* else it would prove little */
}

TEST(whatever_is_done_and_however_often_it_is_opened)
{
    uint64_t seed = test_seed();

    for (uint64_t i = 0; i < 4; i++)
        live_through("sqlite", seed + i);
}

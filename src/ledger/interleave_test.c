/*
 * Every interleaving of up to five operations (BERTH_TEST_DEPTH sets another number) out of two
 * dozen, on two nodes and a job of two tasks: binds, acks, reports, stops, losses,
 * registrations, two stewards. The judge is asked without a store; each step is taken back
 * exactly. After each the invariants are worked out anew from the rows.
 */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/judge.h"
#include "ledger/world.h"

enum { DEPTH = 5, MOST_OPS = 32 };

static struct {
    struct mirror mirror;
    struct changes changes;
    struct op *ops[MOST_OPS];
    const char *names[MOST_OPS];
    size_t n_ops;
    uint64_t job;
    int depth;
    size_t path[16];
    size_t n_steps;
} run;

static void add(const char *name, struct op *op)
{
    CHECK(run.n_ops < MOST_OPS);
    run.names[run.n_ops] = name;
    run.ops[run.n_ops++] = op;
}

static void print_path(int depth)
{
    for (int i = 0; i <= depth; i++)
        print_error("%s%s", i ? ", " : "", run.names[run.path[i]]);
    print_error("\n");
}

/* ---- operations; what they say of numbers and generations is fixed, and often old ---- */

static struct op *bind(uint32_t index, uint32_t number, const char *node, uint64_t fence)
{
    struct op *op = op_new(OP_BIND, NULL, NULL);

    op->bind.job = run.job;
    op->bind.version = 1;
    op->bind.fence = fence;
    op->bind.parts = NEW0_N(struct op_bind_part, 1);
    op->bind.n_parts = 1;
    op->bind.parts[0] = (struct op_bind_part){
        .index = index, .number = number, .node = text_copy(node), .facts = 1
    };
    return op;
}

static struct op *ack(uint32_t index, uint32_t number, const char *node, uint64_t generation)
{
    struct op *op = op_new(OP_ACK, NULL, NULL);

    op->ack.node = text_copy(node);
    op->ack.generation = generation;
    op->ack.attempt = (struct attempt_key){ run.job, 0, index, number };
    return op;
}

static struct op *report(uint32_t index, uint32_t number, const char *node, int code)
{
    struct op *op = op_new(OP_REPORT, NULL, NULL);

    op->report.node = text_copy(node);
    op->report.generation = 1;
    op->report.attempt = (struct attempt_key){ run.job, 0, index, number };
    op->report.is_ended = code >= 0;
    op->report.cause = CAUSE_COMPLETED;
    op->report.code = code;
    return op;
}

static struct op *stop(uint32_t index, uint32_t number, enum cause cause)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = run.job;
    op->stop.is_attempt = number > 0;
    op->stop.attempt = (struct attempt_key){ run.job, 0, index, number };
    op->stop.cause = cause;
    op->stop.grace_ms = -1;
    op->stop.reason = text_copy("shuffle");
    return op;
}

static struct op *registration(const char *boot, uint32_t held)
{
    struct op *op = world_register_op("n1", boot, "{\"cpu\":1000}");

    op->reg.held = NEW0_N(struct held_attempt, 1);
    op->reg.n_held = held > 0;
    op->reg.held[0].attempt = (struct attempt_key){ run.job, 0, 0, held };
    return op;
}

static struct op *lose(uint64_t generation, uint64_t fence)
{
    struct op *op = op_new(OP_NODE_STATE, NULL, NULL);

    op->node_state = (struct op_node_state){
        .node = text_copy("n1"), .generation = generation, .state = NODE_LOST, .fence = fence
    };
    return op;
}

static struct op *named(enum op_kind kind)
{
    struct op *op = op_new(kind, NULL, NULL);

    if (kind == OP_CORDON) {
        op->cordon.node = text_copy("n1");
        op->cordon.is_cordoned = true;
    } else if (kind == OP_LEAVE) {
        op->leave.node = text_copy("n1");
        op->leave.generation = 1;
    } else if (kind == OP_PATCH) {
        op->patch.job = run.job;
        op->patch.has_held = op->patch.is_held = true;
    } else if (kind == OP_LEASE) {
        op->lease.name = text_copy("steward");
        op->lease.server = text_copy("s2");
        op->lease.is_take = true;
        op->lease.seen_fence = 1;
    }
    return op;
}

static void add_all(void)
{
    add("bind 0#1 n1", bind(0, 1, "n1", 1));
    add("bind 1#1 n1", bind(1, 1, "n1", 1));
    add("bind 1#1 n2", bind(1, 1, "n2", 1));
    add("bind 0#2 n2", bind(0, 2, "n2", 1));
    add("bind 0#1 n2 by the second steward", bind(0, 1, "n2", 2));
    add("ack 0#1", ack(0, 1, "n1", 1));
    add("ack 0#1 in the second life", ack(0, 1, "n1", 2));
    add("run 0#1", report(0, 1, "n1", -1));
    add("end 0#1 well", report(0, 1, "n1", 0));
    add("end 0#1 badly", report(0, 1, "n1", 1));
    add("ack 0#2", ack(0, 2, "n2", 1));
    add("end 0#2 badly", report(0, 2, "n2", 1));
    add("ack 1#1", ack(1, 1, "n1", 1));
    add("end 1#1 well", report(1, 1, "n1", 0));
    add("stop", stop(0, 0, CAUSE_CANCELLED));
    add("evict 0#1", stop(0, 1, CAUSE_EVICTED));
    add("cancel 0#1", stop(0, 1, CAUSE_CANCELLED));
    add("lose n1", lose(1, 1));
    add("lose n1 by the second steward", lose(2, 2));
    add("register n1 without it", registration("boot-1", 0));
    add("register n1 with it", registration("boot-1", 1));
    add("register n1 after a boot", registration("boot-2", 1));
    add("cordon n1", named(OP_CORDON));
    add("n1 leaves", named(OP_LEAVE));
    add("hold", named(OP_PATCH));
    add("a second steward", named(OP_LEASE));
}

/* ---- what must hold ---- */

static int64_t used_by_rows(const struct mirror_job *job, const char *node)
{
    int64_t used = 0;

    for (uint32_t i = 0; i < job->n_tasks; i++)
        if (job->tasks[i].live && strcmp(job->tasks[i].live->node, node) == 0)
            used += 1000; /* each task asks for one cpu */
    return used;
}

static bool is_node_right(const struct mirror_job *job, const char *name)
{
    const struct mirror_node *node = mirror_node(&run.mirror, name);
    int64_t used = used_by_rows(job, name);

    for (size_t i = 0; i < node->rooms.n; i++)
        if (strcmp(node->rooms.at[i].resource, "cpu") == 0 && node->rooms.at[i].used != used)
            return false;
    if ((node->row->state == NODE_LOST || node->row->state == NODE_GONE) && used)
        return false;
    return used <= 1000;
}

static bool is_job_right(const struct mirror_job *job)
{
    const struct row_job *row = job->row;
    uint32_t live = job->counts[TASK_LIVE], pending = job->counts[TASK_PENDING], n_live = 0;

    for (uint32_t i = 0; i < job->n_tasks; i++) {
        const struct mirror_task *task = &job->tasks[i];
        n_live += task->live != NULL;
        if ((task->state == TASK_LIVE) != (task->live != NULL) ||
            (task->live && task->live->number != task->number))
            return false;
    }
    if (n_live != live)
        return false;
    switch ((enum job_state)row->state) {
    case JOB_PENDING:
        return live == 0 && pending > 0;
    case JOB_RUNNING:
        return live > 0 && row->is_degraded == (live + job->counts[TASK_SUCCEEDED] < 1);
    case JOB_STOPPING:
        return live > 0 && pending == 0;
    case JOB_SUCCEEDED:
        return job->counts[TASK_SUCCEEDED] == job->n_tasks;
    case JOB_FAILED:
        return live == 0 && pending == 0 && job->counts[TASK_FAILED] > 0;
    case JOB_CANCELLED:
        return live == 0 && pending == 0;
    case JOB_STATE_COUNT:
        break;
    }
    return false;
}

/* The steps of an attempt, from the changes: it is made once, moves on and ends once. */
static bool is_history_right(void)
{
    uint32_t last[2] = { 0 };

    for (size_t i = 0; i < run.changes.list.n; i++) {
        const struct change *change = &run.changes.list.at[i];
        const struct row_attempt *now = change->undo.now, *was = change->undo.was;
        if (change->undo.kind != ROW_ATTEMPT)
            continue;
        if (was ? now->number != was->number || now->state < was->state
                : now->number != last[now->idx] + 1 || now->state != ATTEMPT_BOUND)
            return false;
        last[now->idx] = (uint32_t)now->number;
    }
    return true;
}

static bool is_all_right(void)
{
    const struct mirror_job *job = mirror_job(&run.mirror, run.job);

    return is_job_right(job) && is_node_right(job, "n1") && is_node_right(job, "n2") &&
           is_history_right();
}

/* ---- the walk ---- */

static void walk(int depth)
{
    static const struct past nothing;

    for (size_t i = 0; i < run.n_ops; i++) {
        size_t n = run.changes.list.n;
        uint64_t revision = run.changes.revision;
        run.path[depth] = i;
        judge(&run.changes, &nothing, run.ops[i]);
        run.n_steps++;
        if (run.changes.list.n == n)
            continue; /* nothing happened: what follows is walked without it */
        if (run.ops[i]->problem.code || !is_all_right()) {
            print_path(depth);
            CHECK(!"the invariants hold");
        }
        if (depth + 1 < run.depth)
            walk(depth + 1);
        changes_take_back(&run.changes, n);
        if (run.changes.revision != revision || !is_all_right()) {
            print_path(depth);
            CHECK(!"what is taken back is gone");
        }
    }
}

static void set_up(const char *json)
{
    struct op *submit = world_submit_op(json), *lease = named(OP_LEASE);
    struct op *n1 = world_register_op("n1", "boot-1", "{\"cpu\":1000}");
    struct op *n2 = world_register_op("n2", "boot-1", "{\"cpu\":1000}");
    struct op *all[] = { lease, n1, n2, submit };
    struct row_queue *queue = row_new(ROW_QUEUE);
    static const struct past nothing;

    mirror_init(&run.mirror);
    changes_begin(&run.changes, &run.mirror, "s1.1", 1000000);
    row_set(&queue->name, "default");
    changes_put(&run.changes, ROW_QUEUE, queue, "queue.created");
    submit->submit.text = job_spec_to_text(submit->submit.spec, NULL);
    mem_free(lease->lease.server);
    lease->lease.server = text_copy("s1");
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        judge(&run.changes, &nothing, all[i]);
        CHECK_EQ(all[i]->problem.code, PROBLEM_NONE);
    }
    run.job = submit->submit.job;
    for (size_t i = 0; i < COUNT_OF(all); i++)
        op_free(all[i]);
}

static void tear_down(void)
{
    for (size_t i = 0; i < run.n_ops; i++)
        op_free(run.ops[i]);
    run.n_ops = 0;
    changes_fini(&run.changes);
    CHECK_EQ(run.mirror.jobs.n, 0); /* all of it could be taken back */
    CHECK_EQ(run.mirror.nodes.n, 0);
    mirror_fini(&run.mirror);
}

static const struct {
    const char *name, *spec;
} rows[] = {
    { "a failure stops the rest", "{\"replicas\":2,\"resources\":{\"cpu\":1}}" },
    { "a failure is tried again",
      "{\"replicas\":2,\"resources\":{\"cpu\":1},\"retries\":{\"max\":1},"
      "\"onFailure\":\"continue\"}" },
};

TEST(every_interleaving_keeps_the_invariants)
{
    const char *depth = getenv("BERTH_TEST_DEPTH");

    ROW_EACH (c, rows) {
        run.depth = depth ? atoi(depth) : DEPTH;
        run.n_steps = 0;
        set_up(c->spec);
        add_all();
        walk(0);
        tear_down();
        print_message("%zu steps\n", run.n_steps);
        CHECK(run.n_steps > 10000);
    }
}

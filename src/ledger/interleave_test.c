/*
 * Every interleaving of up to five operations (BERTH_TEST_DEPTH sets another number) out of some
 * dozens, on two nodes, a job of two tasks and one that is urgent: binds, acks, reports, stops,
 * evictions, releases, losses, registrations, two stewards. The judge is asked without a store;
 * each step is taken back exactly. After each the invariants are worked out anew from the rows.
 *
 * Then each of the judge's rules is left out in turn, and something must break: a rule that is
 * not missed would be none.
 */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/judge.h"
#include "ledger/world.h"

enum { DEPTH = 5, DEPTH_WITHOUT = 5, MOST_OPS = 48 };

static struct {
    struct mirror mirror;
    struct changes changes;
    struct op *ops[MOST_OPS];
    const char *names[MOST_OPS];
    size_t n_ops;
    uint64_t job, high; /* of two tasks; of one, urgent */
    bool is_broken;     /* what a walk is for: something does not hold */
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
    op->bind.parts = NEW0_N(struct op_bind_part, 2);
    op->bind.n_parts = 1;
    op->bind.parts[0] = (struct op_bind_part){
        .index = index, .number = number, .node = text_copy(node), .facts = 1
    };
    return op;
}

static struct op *bind_both(void)
{
    struct op *op = bind(0, 1, "n1", 1);

    op->bind.n_parts = 2;
    op->bind.parts[1] =
        (struct op_bind_part){ .index = 1, .number = 1, .node = text_copy("n2"), .facts = 1 };
    return op;
}

/* Decided on a later version of the job, or later facts of the node. */
static struct op *bind_later(uint64_t version, uint64_t facts)
{
    struct op *op = bind_both();

    op->bind.version = version;
    op->bind.parts[0].facts = facts;
    return op;
}

static struct op *bind_high(const char *node)
{
    struct op *op = bind(0, 1, node, 1);

    op->bind.job = run.high;
    return op;
}

/* Room for the urgent one, with or without the first task's end. */
static struct op *evict(const char *node, bool has_victim)
{
    struct op *op = op_new(OP_EVICT, NULL, NULL);

    op->evict.job = run.high;
    op->evict.version = 1;
    op->evict.fence = 1;
    op->evict.reason = text_copy("preempt");
    op->evict.rooms = NEW0_N(struct op_room, 1);
    op->evict.n_rooms = 1;
    op->evict.rooms[0] = (struct op_room){ .node = text_copy(node), .facts = 1 };
    op->evict.victims = NEW0_N(struct op_victim, 1);
    op->evict.n_victims = has_victim;
    op->evict.victims[0].attempt = (struct attempt_key){ run.job, 0, 0, 1 };
    return op;
}

/* The second task in the room of the urgent one, who could have been evicted for it. */
static struct op *take(void)
{
    struct op *op = bind(1, 1, "n1", 1);

    op->bind.takes = NEW0_N(struct op_take, 1);
    op->bind.takes[0].job = run.high;
    op->bind.n_takes = 1;
    return op;
}

static struct op *release(void)
{
    struct op *op = op_new(OP_RELEASE, NULL, NULL);

    op->release = (struct op_release){ .job = run.high, .why = RELEASE_NODE_CHANGED, .fence = 1 };
    return op;
}

static struct op *cancel_high(void)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = run.high;
    op->stop.cause = CAUSE_CANCELLED;
    op->stop.grace_ms = -1;
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
    } else if (kind == OP_BEAT) {
        op->beat.node = text_copy("n1");
        op->beat.generation = 1;
        op->beat.disabled = text_copy("disk full");
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

/* One core for all of the queue, where each node has one. */
static struct op *cap(void)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy("default");
    op->queue_put.spec = text_copy("{\"cap\":{\"cpu\":1000}}");
    return op;
}

/* Likewise for all of the namespace. */
static struct op *quota(void)
{
    struct op *op = op_new(OP_QUOTA, NULL, NULL);

    op->quota.ns = text_copy("default");
    op->quota.name = text_copy("q");
    op->quota.hard = text_copy("{\"cpu\":1000}");
    return op;
}

static struct op *raise(void)
{
    struct op *op = named(OP_LEASE);

    mem_free(op->lease.server);
    op->lease.server = text_copy("s1");
    op->lease.is_take = false;
    return op;
}

static struct op *priority(void)
{
    struct op *op = named(OP_PATCH);

    op->patch.has_held = false;
    op->patch.has_priority = true;
    op->patch.priority = 7;
    return op;
}

/* What is held for the urgent one, and what may happen to that. */
static void add_held(void)
{
    add("bind 0#1 n1", bind(0, 1, "n1", 1));
    add("bind 1#1 n1", bind(1, 1, "n1", 1));
    add("bind 1#1 n2", bind(1, 1, "n2", 1));
    add("ack 0#1", ack(0, 1, "n1", 1));
    add("run 0#1", report(0, 1, "n1", -1));
    add("end 0#1 well", report(0, 1, "n1", 0));
    add("cancel 0#1", stop(0, 1, CAUSE_CANCELLED));
    add("evict 0#1 for the urgent one", evict("n1", true));
    add("hold room on n1", evict("n1", false));
    add("hold room on n2", evict("n2", false));
    add("bind the urgent one n1", bind_high("n1"));
    add("bind the urgent one n2", bind_high("n2"));
    add("cancel the urgent one", cancel_high());
    add("release", release());
    add("take what is held, bind 1#1 n1", take());
    add("lose n1", lose(1, 1));
    add("cordon n1", named(OP_CORDON));
    add("n1 has no room", named(OP_BEAT));
    add("n1 leaves", named(OP_LEAVE));
    add("register n1 with it", registration("boot-1", 1));
    add("a second steward", named(OP_LEASE));
}

/* Decisions that come late, and messages that are not from where they should be. */
static void add_late(void)
{
    add("bind both", bind_both());
    add("bind 0#1 n1", bind(0, 1, "n1", 1));
    add("bind both of version 2", bind_later(2, 1));
    add("bind both, n1 of facts 2", bind_later(1, 2));
    add("ack 0#1", ack(0, 1, "n1", 1));
    add("run 0#1", report(0, 1, "n1", -1));
    add("end 0#1 from n2", report(0, 1, "n2", 0));
    add("hold", named(OP_PATCH));
    add("another priority", priority());
    add("cordon n1", named(OP_CORDON));
    add("register n1 with it", registration("boot-1", 1));
    add("a second steward", named(OP_LEASE));
    add("the first is alive", raise());
    add("the queue is capped", cap());
    add("the namespace has a quota", quota());
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

/* The first task's room is one core, as is every other's. */
enum { CORE = 1000 };

static const struct row_attempt *live_of(const struct mirror_job *job, uint32_t i)
{
    return job->tasks[i].live;
}

static int64_t used_by_rows(const char *node)
{
    const struct mirror_job *jobs[] = { mirror_job(&run.mirror, run.job),
                                        mirror_job(&run.mirror, run.high) };
    int64_t used = 0;

    for (size_t k = 0; k < COUNT_OF(jobs); k++)
        for (uint32_t i = 0; i < jobs[k]->n_tasks; i++)
            if (live_of(jobs[k], i) && strcmp(live_of(jobs[k], i)->node, node) == 0)
                used += CORE;
    return used;
}

/* What is held on a node for the urgent one: all, and what of it waits for the first task's end. */
static int64_t held_by_rows(const char *name, bool *waits)
{
    const struct mirror_job *high = mirror_job(&run.mirror, run.high);
    const struct mirror_job *job = mirror_job(&run.mirror, run.job);
    int64_t held = 0;

    *waits = false;
    for (size_t i = 0; i < high->parts.n; i++) {
        const struct mirror_part *part = high->parts.at[i];
        if (strcmp(part->row->node, name) != 0)
            continue;
        held += CORE;
        for (size_t k = 0; k < part->n_waits; k++)
            *waits =
                *waits || (live_of(job, part->waits[k].index) &&
                           live_of(job, part->waits[k].index)->number == part->waits[k].number);
    }
    return held;
}

static bool is_node_right(const char *name)
{
    const struct mirror_node *node = mirror_node(&run.mirror, name);
    bool waits, takes = node->row->state == NODE_READY && !row_node_is_closed(node->row);
    int64_t used = used_by_rows(name), held = held_by_rows(name, &waits);

    for (size_t i = 0; i < node->rooms.n; i++)
        if (strcmp(node->rooms.at[i].resource, "cpu") == 0 &&
            (node->rooms.at[i].used != used || node->rooms.at[i].held != held))
            return false;
    if ((node->row->state == NODE_LOST || node->row->state == NODE_GONE) && used)
        return false;
    /* Each node is of one core, so either it is used, or held, or held for after its use. */
    if (held && (!takes || (used && !waits)))
        return false;
    return used <= CORE && held <= CORE;
}

/* What is held is held by one reservation, for a task that waits. */
static bool is_room_right(const struct mirror_job *job)
{
    if (!job->reservation != !job->parts.n)
        return false;
    for (size_t i = 0; i < job->parts.n; i++) {
        const struct row_part *row = job->parts.at[i]->row;
        if (row->reservation != job->reservation->id ||
            mirror_task(job, row->grp, row->idx)->state != TASK_PENDING)
            return false;
    }
    return !job->reservation || (job->row->state == JOB_PENDING && !job->row->is_held);
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
    uint32_t last[2][2] = { { 0 } };

    for (size_t i = 0; i < run.changes.list.n; i++) {
        const struct change *change = &run.changes.list.at[i];
        const struct row_attempt *now = change->undo.now, *was = change->undo.was;
        if (change->undo.kind != ROW_ATTEMPT)
            continue;
        if (was ? now->number != was->number || now->state < was->state ||
                      (was->state == ATTEMPT_BOUND && now->state == ATTEMPT_RUNNING)
                : now->number != last[now->job == run.high][now->idx] + 1 ||
                      now->state != ATTEMPT_BOUND)
            return false;
        last[now->job == run.high][now->idx] = (uint32_t)now->number;
    }
    return true;
}

static bool is_all_right(void)
{
    const struct mirror_job *job = mirror_job(&run.mirror, run.job);
    const struct mirror_job *high = mirror_job(&run.mirror, run.high);

    return is_job_right(job) && is_job_right(high) && is_room_right(job) && is_room_right(high) &&
           is_node_right("n1") && is_node_right("n2") && is_history_right();
}

/* ---- what must not be accepted, as things stood before ---- */

static bool is_fence_old(uint64_t fence)
{
    const struct row_lease *lease = mirror_find(&run.mirror, ROW_LEASE, "steward");

    return lease->fence != fence;
}

static bool is_capped(void)
{
    const struct row_queue *queue = mirror_find(&run.mirror, ROW_QUEUE, "default");

    return strstr(queue->spec, "cap") != NULL || mirror_quota(&run.mirror, "default", "q");
}

static bool is_bind_late(const struct op_bind *op)
{
    const struct mirror_job *job = mirror_job(&run.mirror, op->job);
    uint32_t n = job->counts[TASK_LIVE] + job->counts[TASK_SUCCEEDED] + (uint32_t)op->n_parts;
    const struct row_reservation *held = mirror_job(&run.mirror, run.high)->reservation;

    if (op->n_takes && (!held || held->id != op->takes[0].reservation))
        return true;
    for (size_t i = 0; i < op->n_parts; i++) {
        const struct row_node *node = mirror_node(&run.mirror, op->parts[i].node)->row;
        if (node->facts != op->parts[i].facts || node->is_cordoned || *node->disabled)
            return true;
    }
    if (is_capped() && used_by_rows("n1") + used_by_rows("n2") + (int64_t)op->n_parts * CORE > CORE)
        return true;
    return job->row->is_held || job->row->version != op->version || is_fence_old(op->fence) ||
           (job->row->state == JOB_PENDING && n < job->min_available);
}

static bool is_eviction_late(const struct op_evict *op)
{
    const struct mirror_job *high = mirror_job(&run.mirror, op->job);
    const struct row_attempt *victim = mirror_live(&run.mirror, &op->victims[0].attempt);

    return (op->n_victims && (!victim || victim->is_stop_wanted)) || high->reservation ||
           high->row->version != op->version || is_fence_old(op->fence) ||
           mirror_node(&run.mirror, op->rooms[0].node)->row->facts != op->rooms[0].facts;
}

static bool is_message_late(const struct attempt_key *key, const char *node, uint64_t generation)
{
    const struct row_attempt *row = mirror_live(&run.mirror, key);

    return mirror_node(&run.mirror, node)->row->generation != generation ||
           (row && strcmp(row->node, node) != 0);
}

static bool is_late(const struct op *op)
{
    const struct row_lease *lease = mirror_find(&run.mirror, ROW_LEASE, "steward");
    const struct mirror_job *high = mirror_job(&run.mirror, run.high);

    if (op->kind == OP_BIND)
        return is_bind_late(&op->bind);
    if (op->kind == OP_EVICT)
        return is_eviction_late(&op->evict);
    if (op->kind == OP_RELEASE)
        return !high->reservation || high->reservation->rev != op->release.rev ||
               is_fence_old(op->release.fence);
    if (op->kind == OP_ACK)
        return is_message_late(&op->ack.attempt, op->ack.node, op->ack.generation);
    if (op->kind == OP_REPORT)
        return is_message_late(&op->report.attempt, op->report.node, op->report.generation);
    if (op->kind == OP_LEASE && op->lease.is_take)
        return lease->fence != op->lease.seen_fence || lease->beat != op->lease.seen_beat;
    return op->kind == OP_NODE_STATE && is_fence_old(op->node_state.fence);
}

/* The reservation that was made first. */
static uint64_t first_reservation(void)
{
    for (size_t i = 0; i < run.changes.list.n; i++) {
        const struct change *change = &run.changes.list.at[i];
        if (change->undo.kind == ROW_RESERVATION)
            return ((const struct row_reservation *)change->undo.now)->id;
    }
    return 0;
}

/* A steward that has seen all but what became of its reservation since. */
static void look(struct op *op)
{
    const struct row_reservation *row = mirror_job(&run.mirror, run.high)->reservation;
    const struct row_attempt *victim;

    if (op->kind == OP_RELEASE && row) {
        op->release.reservation = row->id;
        op->release.rev = row->id + 1; /* as it was opened, behind its one part */
    }
    if (op->kind == OP_BIND && op->bind.n_takes)
        op->bind.takes[0].reservation = first_reservation();
    if (op->kind != OP_EVICT)
        return;
    victim = mirror_live(&run.mirror, &op->evict.victims[0].attempt);
    op->evict.victims[0].rev = victim ? victim->rev : 0;
}

/* ---- the walk ---- */

static void walk(int depth);

/* One step; false: it changed nothing. */
static bool step(struct op *op, int depth)
{
    static const struct past nothing;
    size_t n = run.changes.list.n;
    bool is_wrong;

    look(op);
    is_wrong = is_late(op);
    judge(&run.changes, &nothing, op);
    run.n_steps++;
    if (run.changes.list.n == n)
        return false;
    if (op->problem.code || is_wrong || !is_all_right()) {
        run.is_broken = true;
        run.depth = depth + 1;
    }
    return true;
}

static void walk(int depth)
{
    for (size_t i = 0; i < run.n_ops && !run.is_broken; i++) {
        size_t n = run.changes.list.n;
        uint64_t revision = run.changes.revision;
        run.path[depth] = i;
        if (!step(run.ops[i], depth))
            continue; /* nothing happened: what follows is walked without it */
        if (depth + 1 < run.depth && !run.is_broken)
            walk(depth + 1);
        changes_take_back(&run.changes, n);
        if (run.changes.revision != revision || (!run.changes.without && !is_all_right())) {
            print_path(depth);
            CHECK(!"what is taken back is gone");
        }
    }
}

static void set_up(const char *json)
{
    struct op *submit = world_submit_op(json), *lease = named(OP_LEASE);
    struct op *high = world_submit_op("{\"name\":\"high\",\"resources\":{\"cpu\":1}}");
    struct op *n1 = world_register_op("n1", "boot-1", "{\"cpu\":1000}");
    struct op *n2 = world_register_op("n2", "boot-1", "{\"cpu\":1000}");
    struct op *all[] = { lease, n1, n2, submit, high };
    struct row_queue *root = row_new(ROW_QUEUE), *queue = row_new(ROW_QUEUE);
    static const struct past nothing;

    mirror_init(&run.mirror);
    changes_begin(&run.changes, &run.mirror, "s1.1", 1000000);
    row_set(&root->name, "root");
    changes_put(&run.changes, ROW_QUEUE, root, "queue.created");
    row_set(&queue->name, "default");
    row_set(&queue->parent, "root");
    changes_put(&run.changes, ROW_QUEUE, queue, "queue.created");
    submit->submit.text = job_spec_to_text(submit->submit.spec, NULL);
    high->submit.text = job_spec_to_text(high->submit.spec, NULL);
    mem_free(lease->lease.server);
    lease->lease.server = text_copy("s1");
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        judge(&run.changes, &nothing, all[i]);
        CHECK_EQ(all[i]->problem.code, PROBLEM_NONE);
    }
    run.job = submit->submit.job;
    run.high = high->submit.job;
    run.is_broken = false;
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
    void (*add)(void);
} rows[] = {
    { "a failure stops the rest", "{\"replicas\":2,\"resources\":{\"cpu\":1}}", add_all },
    { "a failure is tried again",
      "{\"replicas\":2,\"resources\":{\"cpu\":1},\"retries\":{\"max\":1},"
      "\"onFailure\":\"continue\"}",
      add_all },
    { "room is held", "{\"replicas\":2,\"resources\":{\"cpu\":1}}", add_held },
    { "both or none", "{\"replicas\":2,\"gang\":true,\"resources\":{\"cpu\":1}}", add_late },
};

TEST(every_interleaving_keeps_the_invariants)
{
    const char *depth = getenv("BERTH_TEST_DEPTH");

    ROW_EACH (c, rows) {
        run.depth = depth ? atoi(depth) : DEPTH;
        run.n_steps = 0;
        set_up(c->spec);
        c->add();
        walk(0);
        if (run.is_broken)
            print_path(run.depth - 1);
        CHECK(!run.is_broken);
        tear_down();
        print_message("%zu steps\n", run.n_steps);
        CHECK(run.n_steps > 1000);
    }
}

static const char *const rule_words[RULE_COUNT] = {
    [RULE_FENCE] = "the fence",
    [RULE_PENDING] = "that the task waits",
    [RULE_NUMBER] = "that the number is the next",
    [RULE_HELD_JOB] = "that the job is not held",
    [RULE_VERSION] = "the job's version",
    [RULE_GANG] = "the gang",
    [RULE_NODE_READY] = "that the node takes work",
    [RULE_CORDON] = "the cordon",
    [RULE_FACTS] = "the node's facts",
    [RULE_ROOM] = "the room",
    [RULE_HELD] = "what is held for others",
    [RULE_CAP] = "the queue's cap",
    [RULE_QUOTA] = "the namespace's quota",
    [RULE_VICTIM] = "that the victim is not going already",
    [RULE_ONE_OPEN] = "that an owner has one reservation",
    [RULE_COMES_FREE] = "that what is held comes free",
    [RULE_RELEASE] = "that what is let go is what was seen",
    [RULE_TAKE] = "that what is taken is what was seen",
    [RULE_GENERATION] = "the generation",
    [RULE_HERE] = "the attempt's node",
    [RULE_ACK] = "that what is to end does not start",
    [RULE_STARTED] = "that what was not let start does not run",
    [RULE_LEASE] = "that a lease that moves is not taken",
};

/* Whether something breaks without a rule, in the walks of one row, ever deeper. */
static bool breaks_without(enum judge_rule rule, size_t at)
{
    bool is_broken = false;

    for (int depth = 1; depth <= DEPTH_WITHOUT && !is_broken; depth++) {
        run.depth = depth;
        set_up(rows[at].spec);
        rows[at].add();
        run.changes.without = (uint64_t)1 << rule;
        walk(0);
        is_broken = run.is_broken;
        if (is_broken) {
            print_message("without %s: ", rule_words[rule]);
            print_path(run.depth - 1);
        }
        run.changes.without = 0;
        tear_down();
    }
    return is_broken;
}

TEST(without_any_one_rule_something_breaks)
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        bool is_broken = false;
        for (size_t i = COUNT_OF(rows); i-- > 1 && !is_broken;)
            is_broken = breaks_without((enum judge_rule)rule, i);
        if (!is_broken)
            print_error("nothing breaks without %s\n", rule_words[rule]);
        CHECK(is_broken);
    }
}

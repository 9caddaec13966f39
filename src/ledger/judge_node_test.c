/* Judge of nodes: registration, beats, farewell, cordons and what the steward says of them. */
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

static const char offers[] = "{\"cpu\":4000,\"memory\":1073741824}";

static void open_world(struct world *w)
{
    world_open(w, "memory:");
    world_lead(w);
    CHECK_EQ(world_register(w, "n1", offers), PROBLEM_NONE);
}

static void close_world(struct world *w)
{
    struct err err = { 0 };

    CHECK_OK(ledger_check_open(w->ledger, &err), &err);
    world_close(w);
}

static const struct {
    const char *name, *node, *boot, *offers, *labels, *taints, *info;
    int64_t ttl_ms;
    const char *pointer; /* of the refused field; NULL accepted */
} rows[] = {
    { "as it should be", "n2", "b", "{\"cpu\":1}", "{\"zone\":\"a\"}", "[]", "{}", 30000, NULL },
    { "with nothing but offers", "n2", "b", "{}", NULL, NULL, NULL, 30000, NULL },
    { "no name of a node", "-n2", "b", "{}", NULL, NULL, NULL, 30000, "/node" },
    { "no boot id", "n2", "", "{}", NULL, NULL, NULL, 30000, "/bootId" },
    { "no ttl", "n2", "b", "{}", NULL, NULL, NULL, 0, "/ttlMs" },
    { "offers that are a list", "n2", "b", "[]", NULL, NULL, NULL, 30000, "/offers" },
    { "offers that are broken", "n2", "b", "{\"cpu\":", NULL, NULL, NULL, 30000, "/offers" },
    { "an amount below 0", "n2", "b", "{\"cpu\":-1}", NULL, NULL, NULL, 30000, "/offers" },
    { "an amount above the limit", "n2", "b", "{\"cpu\":1152921504606846977}", NULL, NULL, NULL,
      30000, "/offers" },
    { "an amount that is a text", "n2", "b", "{\"cpu\":\"1\"}", NULL, NULL, NULL, 30000,
      "/offers" },
    { "no name of a resource", "n2", "b", "{\"c pu\":1}", NULL, NULL, NULL, 30000, "/offers" },
    { "labels that are a list", "n2", "b", "{}", "[]", NULL, NULL, 30000, "/labels" },
    { "taints that are an object", "n2", "b", "{}", NULL, "{}", NULL, 30000, "/taints" },
    { "info that is broken", "n2", "b", "{}", NULL, NULL, "{", 30000, "/info" },
};

TEST(a_registration_is_read_whole)
{
    ROW_EACH (c, rows) {
        struct world w = { 0 };
        struct op *op = world_register_op(c->node, c->boot, c->offers);

        open_world(&w);
        op->reg.labels = text_copy(c->labels);
        op->reg.taints = text_copy(c->taints);
        op->reg.info = text_copy(c->info);
        op->reg.ttl_ms = c->ttl_ms;
        CHECK_EQ(world_run(&w, op), c->pointer ? PROBLEM_INVALID_FIELD : PROBLEM_NONE);
        if (c->pointer)
            CHECK_TEXT(w.problem.fields[0].pointer, c->pointer);
        close_world(&w);
    }
}

TEST(each_registration_is_another_generation)
{
    struct world w = { 0 };
    struct row_node *first, *second, *third;

    open_world(&w);
    first = world_node(&w, "n1");
    CHECK_EQ(first->generation, 1);
    CHECK_EQ(first->first_at, w.now);
    CHECK_EQ(first->facts, 1);
    CHECK_EQ(first->state, NODE_READY);
    w.now += 1000;
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    second = world_node(&w, "n1");
    CHECK_EQ(second->generation, 2);
    CHECK_EQ(second->first_at, first->first_at); /* it is as old as it was */
    CHECK_EQ(second->registered_at, w.now);
    CHECK_EQ(second->facts, 1); /* nothing that placements depend on is new */
    CHECK_EQ(second->seq, first->seq);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":8000}"), PROBLEM_NONE);
    third = world_node(&w, "n1");
    CHECK_EQ(third->facts, 2);
    row_free(ROW_NODE, first);
    row_free(ROW_NODE, second);
    row_free(ROW_NODE, third);
    close_world(&w);
}

TEST(the_answer_says_what_to_end)
{
    struct world w = { 0 };
    struct op *op;
    uint64_t job;

    open_world(&w);
    CHECK_EQ(world_register(&w, "n2", offers), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":2}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 1, "n2"), PROBLEM_NONE);
    op = world_register_op("n1", "boot-1", offers);
    op->reg.incarnation = text_copy(ledger_incarnation(w.ledger));
    op->reg.revision_seen = 1;
    op->reg.held = NEW0_N(struct held_attempt, 4);
    op->reg.n_held = 4;
    op->reg.held[0].attempt = (struct attempt_key){ job, 0, 0, 1 };
    op->reg.held[1].attempt = (struct attempt_key){ job, 0, 1, 1 }; /* that is on n2 */
    op->reg.held[2].attempt = (struct attempt_key){ job, 0, 0, 7 };
    op->reg.held[3].attempt = (struct attempt_key){ job + 99, 0, 0, 1 };
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK(!op->reg.is_other_life);
    CHECK_EQ(op->reg.generation, 2);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(op->reg.held[i].is_to_end, i > 0);
    CHECK_EQ(op->reg.held[1].why, CAUSE_DISOWNED);
    op_free(op);
    close_world(&w);
}

static void copy_file(const char *from, const char *to)
{
    CLEANUP(str_fini) struct str bytes = { 0 };
    struct err err = { 0 };

    CHECK_OK(file_read(AT_FDCWD, from, 64 << 20, &bytes, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, to, bytes.data, bytes.len, 0600, false, &err), &err);
}

enum parted { HERE, THERE, NOWHERE };

static const struct {
    const char *name;
    enum parted opening; /* whose opening the agent names */
    int64_t seen;        /* beside the revision at which the two part */
    bool is_refused;
} forks[] = {
    { "what both have", HERE, 0, false },
    { "what both had some time ago", HERE, -1, false },
    { "what the first wrote later", HERE, 1, true },
    { "what the copy wrote", THERE, 1, true },
    { "what the copy read", THERE, 0, true },
    { "no opening, and a revision that is there", NOWHERE, 2, false },
    { "no opening, and a revision that is yet to come", NOWHERE, 100, true },
};

static uint64_t revision_of(struct world *w)
{
    struct op *op = world_submit_op("{}");
    uint64_t revision;

    CHECK_EQ(world_do(w, op), PROBLEM_NONE);
    revision = op->revision;
    op_free(op);
    return revision;
}

/* The agent served the first; it registers at the first's own next opening, or at a copy's. */
static enum problem_code register_at(struct world *w, const char *opening, uint64_t seen)
{
    struct op *op = world_register_op("n1", "boot-1", offers);
    enum problem_code code;

    op->reg.incarnation = text_copy(ledger_incarnation(w->ledger));
    op->reg.opening = text_copy(opening);
    op->reg.revision_seen = seen;
    code = world_do(w, op);
    CHECK(code || !op->reg.is_other_life);
    op_free(op);
    return code;
}

TEST(a_copy_of_the_ledger_that_went_another_way_is_told_from_it)
{
    CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
    CLEANUP(freep) char *first = NULL, *there = NULL, *copy = text_format("%s.copy", address);
    struct world w = { 0 };
    uint64_t parted;

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    parted = revision_of(&w);
    first = text_copy(ledger_opening(w.ledger));
    world_close(&w);
    copy_file(strchr(address, ':') + 1, strchr(copy, ':') + 1);
    world_open(&w, copy);
    there = text_copy(ledger_opening(w.ledger));
    world_close(&w);
    world_open(&w, address);
    CHECK(revision_of(&w) > parted);
    CHECK(revision_of(&w) > parted + 1);
    ROW_EACH (c, forks) {
        const char *opening = c->opening == HERE ? first : c->opening == THERE ? there : "";
        uint64_t seen = parted + (uint64_t)c->seen;
        CHECK_EQ(register_at(&w, opening, seen),
                 c->is_refused ? PROBLEM_LEDGER_FORKED : PROBLEM_NONE);
        CHECK_EQ(ledger_has(w.ledger, opening, seen), *opening && !c->is_refused);
    }
    CHECK_EQ(register_at(&w, ledger_opening(w.ledger), parted + 1), PROBLEM_NONE);
    /* Whoever follows it is told up to where it is what was followed. */
    CHECK_EQ(ledger_shares(w.ledger, ledger_incarnation(w.ledger), first), parted);
    CHECK_EQ(ledger_shares(w.ledger, ledger_incarnation(w.ledger), ledger_opening(w.ledger)),
             UINT64_MAX);
    CHECK_EQ(ledger_shares(w.ledger, ledger_incarnation(w.ledger), there), 0);
    CHECK_EQ(ledger_shares(w.ledger, "another", first), 0);
    close_world(&w);
    world_drop();
}

static const struct {
    const char *name, *incarnation; /* NULL: the ledger's own */
    uint64_t seen;
    bool is_other_life;
} lives[] = {
    { "the same life", NULL, 1, false },
    { "another incarnation", "0123", 1, true },
    { "none yet", "", 0, false },
};

TEST(what_belongs_to_another_life_is_left_alone_and_what_is_live_here_asked_for)
{
    ROW_EACH (c, lives) {
        struct world w = { 0 };
        struct op *op;
        uint64_t job;

        open_world(&w);
        job = world_submit(&w, "{\"retries\":{\"max\":1}}");
        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
        op = world_register_op("n1", "boot-1", offers);
        op->reg.incarnation =
            text_copy(c->incarnation ? c->incarnation : ledger_incarnation(w.ledger));
        op->reg.revision_seen = c->seen;
        op->reg.held = NEW0_N(struct held_attempt, 2);
        op->reg.n_held = 2;
        op->reg.held[0].attempt = (struct attempt_key){ job, 0, 0, 1 };
        op->reg.held[1].attempt = (struct attempt_key){ job + 5, 0, 0, 1 };
        CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
        CHECK_EQ(op->reg.is_other_life, c->is_other_life);
        CHECK(!op->reg.held[0].is_to_end);
        CHECK_EQ(op->reg.held[1].is_to_end, !c->is_other_life);
        /* A name of another life need not be this attempt's: the agent knows. */
        CHECK_EQ(op->reg.n_live, c->is_other_life);
        CHECK(!c->is_other_life || op->reg.live[0].job == job);
        op_free(op);
        CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "starting");
        close_world(&w);
    }
}

static const struct {
    const char *name;
    bool is_listed, is_of_that_life;
    const char *says;
} backups[] = {
    { "the agent has it", true, true, "starting" },
    { "the agent has it not", false, true, "bound" },
    { "the agent served another ledger", true, false, "bound" },
};

/* What was bound in a backup was let start in what came after, if the agent has it. */
TEST(what_a_backup_has_bound_is_what_its_agent_has_of_that_name)
{
    ROW_EACH (c, backups) {
        CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
        CLEANUP(freep) char *before = NULL, *known = NULL;
        struct ledger *ledger = NULL;
        struct world w = { 0 };
        struct err err = { 0 };
        struct op *op;
        uint64_t job, later;

        world_open(&w, address);
        world_lead(&w);
        CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
        job = world_submit(&w, "{}");
        later = world_submit(&w, "{}");
        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        before = text_copy(ledger_incarnation(w.ledger));
        world_close(&w);
        CHECK_OK(ledger_open(&(struct ledger_options){ .store = address, .is_restored = true },
                             &ledger, &err),
                 &err);
        known = ledger_lives(ledger);
        CHECK(strstr(known, before));
        CHECK(ledger_shares(ledger, before, "any") > later);
        ledger_close(ledger);
        world_open(&w, address);
        world_lead(&w);
        /* This one was decided since: what the agent has of its name is another. */
        CHECK_EQ(world_bind(&w, later, 0, "n1"), PROBLEM_NONE);
        op = world_register_op("n1", "boot-1", offers);
        op->reg.incarnation = text_copy(c->is_of_that_life ? before : "0123");
        op->reg.held = NEW0_N(struct held_attempt, 2);
        op->reg.n_held = c->is_listed ? 2 : 0;
        op->reg.held[0].attempt = (struct attempt_key){ job, 0, 0, 1 };
        op->reg.held[1].attempt = (struct attempt_key){ later, 0, 0, 1 };
        CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
        CHECK(op->reg.is_other_life);
        op_free(op);
        CHECK_TEXT(world_attempt_says(&w, job, 0, 1), c->says);
        CHECK_TEXT(world_attempt_says(&w, later, 0, 1), "bound");
        close_world(&w);
        world_drop();
    }
}

/* The lease of n1 after a beat of an agent that counts by one to a server that has another. */
static int64_t lease_after_beat(struct world *w, int64_t server_ms, int64_t agent_ms)
{
    struct row_node *node = world_node(w, "n1");
    struct op *op = op_new(OP_BEAT, NULL, NULL);
    int64_t ttl_ms;

    op->beat.node = text_copy("n1");
    op->beat.generation = node->generation;
    op->beat.ttl_ms = server_ms;
    op->beat.beat_ms = server_ms / 3;
    op->beat.counts_ms = agent_ms;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
    row_free(ROW_NODE, node);
    node = world_node(w, "n1");
    ttl_ms = node->ttl_ms;
    row_free(ROW_NODE, node);
    return ttl_ms;
}

/* An agent that missed the answer must have ended what it runs before its node is lost. */
TEST(a_lease_gets_shorter_only_when_its_agent_counts_by_the_shorter_one)
{
    struct world w = { 0 };
    struct op *op;

    open_world(&w);
    CHECK_EQ(lease_after_beat(&w, 30000, 30000), 30000);
    CHECK_EQ(lease_after_beat(&w, 60000, 30000), 60000);
    CHECK_EQ(lease_after_beat(&w, 20000, 0), 60000);
    CHECK_EQ(lease_after_beat(&w, 20000, 60000), 60000);
    op = world_register_op("n1", "boot-1", "{}"); /* its answer may be lost, too */
    op->reg.ttl_ms = 20000;
    CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
    CHECK_EQ(lease_after_beat(&w, 20000, 60000), 60000);
    CHECK_EQ(lease_after_beat(&w, 20000, 20000), 20000);
    close_world(&w);
}

TEST(beats_raise_a_counter_and_nothing_else)
{
    struct world w = { 0 };
    struct op *op;
    uint64_t revision;

    open_world(&w);
    revision = w.revision;
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision);
    CHECK_EQ(world_beat(&w, "n9"), PROBLEM_NOT_FOUND);
    op = op_new(OP_BEAT, NULL, NULL);
    op->beat.node = text_copy("n1");
    op->beat.generation = 7;
    CHECK_EQ(world_run(&w, op), PROBLEM_CONFLICT);
    CHECK_EQ(world_node_state(&w, "n1", NODE_LOST), PROBLEM_NONE);
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_CONFLICT); /* it must register again */
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NONE);
    close_world(&w);
}

static const struct {
    const char *name;
    enum node_state first, then; /* first: what it is before, by what the steward said */
    enum problem_code code;
} steps[] = {
    { "ready to unreachable", NODE_READY, NODE_UNREACHABLE, PROBLEM_NONE },
    { "ready to lost", NODE_READY, NODE_LOST, PROBLEM_NONE },
    { "ready to gone", NODE_READY, NODE_GONE, PROBLEM_CONFLICT },
    { "ready to leaving", NODE_READY, NODE_LEAVING, PROBLEM_CONFLICT },
    { "ready to ready", NODE_READY, NODE_READY, PROBLEM_NONE },
    { "unreachable to ready", NODE_UNREACHABLE, NODE_READY, PROBLEM_NONE },
    { "unreachable to lost", NODE_UNREACHABLE, NODE_LOST, PROBLEM_NONE },
    { "lost to ready", NODE_LOST, NODE_READY, PROBLEM_CONFLICT },
    { "lost to unreachable", NODE_LOST, NODE_UNREACHABLE, PROBLEM_CONFLICT },
    { "lost to gone", NODE_LOST, NODE_GONE, PROBLEM_NONE },
};

TEST(the_steward_moves_nodes_along_their_states)
{
    ROW_EACH (c, steps) {
        struct world w = { 0 };
        struct row_node *node;

        open_world(&w);
        CHECK_EQ(world_node_state(&w, "n1", c->first), PROBLEM_NONE);
        CHECK_EQ(world_node_state(&w, "n1", c->then), c->code);
        node = world_node(&w, "n1");
        CHECK_EQ(node->state, c->code ? c->first : c->then);
        row_free(ROW_NODE, node);
        close_world(&w);
    }
}

TEST(a_node_that_was_heard_of_since_is_not_lost)
{
    struct world w = { 0 };
    struct op *op = op_new(OP_NODE_STATE, NULL, NULL);

    open_world(&w);
    op->node_state = (struct op_node_state){
        .node = text_copy("n1"), .generation = 1, .beat = 0, .state = NODE_LOST, .fence = w.fence
    };
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op->node_state.beat = 1;
    op->node_state.generation = 0;
    CHECK_EQ(world_do(&w, op), PROBLEM_CHANGED_SINCE);
    op->node_state.generation = 1;
    op->node_state.fence++;
    CHECK_EQ(world_do(&w, op), PROBLEM_CONFLICT); /* an old steward */
    op->node_state.fence--;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    mem_free(op->node_state.node);
    op->node_state.node = text_copy("n9");
    CHECK_EQ(world_do(&w, op), PROBLEM_NOT_FOUND);
    op_free(op);
    close_world(&w);
}

TEST(all_attempts_of_a_lost_node_end)
{
    struct world w = { 0 };
    uint64_t stays, goes;
    struct row_job *job;

    open_world(&w);
    stays = world_submit(&w, "{\"replicas\":3}");
    goes = world_submit(&w, "{\"onFailure\":\"stop\"}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, stays, 0, 3, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, goes, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, stays, 1, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, goes, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop(&w, goes), PROBLEM_NONE);
    CHECK_EQ(world_node_state(&w, "n1", NODE_LOST), PROBLEM_NONE);
    job = world_job(&w, stays);
    CHECK_EQ(job->state, JOB_PENDING);
    CHECK_EQ(job->n_pending, 3);
    row_free(ROW_JOB, job);
    CHECK_EQ(world_job_state(&w, goes), JOB_CANCELLED);
    close_world(&w);
}

static struct op *leave_op(uint64_t generation)
{
    struct op *op = op_new(OP_LEAVE, NULL, NULL);

    op->leave.node = text_copy("n1");
    op->leave.generation = generation;
    return op;
}

static enum node_state state_of(struct world *w)
{
    struct row_node *node = world_node(w, "n1");
    enum node_state state = (enum node_state)node->state;

    row_free(ROW_NODE, node);
    return state;
}

TEST(a_node_that_leaves_is_gone_with_its_last_attempt)
{
    struct world w = { 0 };
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, leave_op(9)), PROBLEM_CONFLICT);
    CHECK_EQ(world_run(&w, leave_op(1)), PROBLEM_NONE);
    CHECK_EQ(state_of(&w), NODE_LEAVING);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "starting");
    CHECK_TEXT(world_attempt_says(&w, job, 1, 1), "ended SHUTDOWN again"); /* it cannot start */
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_run(&w, leave_op(1)), PROBLEM_NONE); /* said again */
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 0), PROBLEM_NONE);
    CHECK_EQ(state_of(&w), NODE_GONE);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    CHECK_EQ(state_of(&w), NODE_READY);
    CHECK_EQ(world_run(&w, leave_op(2)), PROBLEM_NONE);
    CHECK_EQ(state_of(&w), NODE_GONE); /* it was empty */
    close_world(&w);
}

TEST(a_node_that_its_agent_disables_keeps_what_runs_and_takes_nothing_new)
{
    struct world w = { 0 };
    struct row_node *node;
    struct op *op;
    uint64_t job, revision;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":2}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_beat_disabled(&w, "n1", "disk full"), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK_EQ(node->state, NODE_READY);
    CHECK_TEXT(node->disabled, "disk full");
    CHECK(node->disabled_at > 0);
    row_free(ROW_NODE, node);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "starting");
    CHECK_TEXT(world_attempt_says(&w, job, 1, 1), "ended DRAINED again"); /* no try is spent */
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_CHANGED_SINCE);
    revision = w.revision;
    CHECK_EQ(world_beat_disabled(&w, "n1", "disk full"), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision); /* said again */
    CHECK_EQ(world_beat(&w, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 1, "n1"), PROBLEM_NONE);
    /* One that comes back says how it is now: it will not be given what was only bound. */
    op = world_register_op("n1", "boot-1", offers);
    op->reg.disabled = text_copy("disk full");
    op->reg.held = NEW0(struct held_attempt);
    op->reg.held[op->reg.n_held++].attempt = (struct attempt_key){ job, 0, 0, 1 };
    CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "starting");
    CHECK_TEXT(world_attempt_says(&w, job, 1, 2), "ended DRAINED again");
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK_TEXT(node->disabled, "");
    CHECK_EQ(node->disabled_at, 0);
    row_free(ROW_NODE, node);
    close_world(&w);
}

TEST(a_drain_stops_what_is_there_and_takes_nothing_new)
{
    struct world w = { 0 };
    struct op *op = op_new(OP_CORDON, NULL, NULL);
    struct row_attempt *attempt;
    struct row_node *node;
    uint64_t job;

    open_world(&w);
    job = world_submit(&w, "{\"replicas\":3}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    op->cordon = (struct op_cordon){ .node = text_copy("n1"),
                                     .is_cordoned = true,
                                     .is_draining = true,
                                     .grace_ms = 7000,
                                     .by = text_copy("ops"),
                                     .reason = text_copy("fan") };
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "stopping DRAINED");
    CHECK_TEXT(world_attempt_says(&w, job, 1, 1), "ended DRAINED again"); /* never started */
    attempt = world_attempt(&w, job, 0, 1);
    CHECK_EQ(attempt->grace_ms, 7000);
    row_free(ROW_ATTEMPT, attempt);
    CHECK_EQ(world_bind(&w, job, 2, "n1"), PROBLEM_CHANGED_SINCE);
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 143), PROBLEM_NONE);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "ended DRAINED again");

    op->cordon.is_draining = false; /* a cordon does not end a drain, */
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK(node->is_draining);
    row_free(ROW_NODE, node);
    op->cordon.is_cordoned = false; /* an uncordon ends both */
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(world_bind(&w, job, 2, "n1"), PROBLEM_NONE);
    op_free(op);
    close_world(&w);
}

static const struct {
    const char *name;
    enum node_state state;
    const char *was, *now; /* the agents' identities; NULL none */
    enum problem_code code;
    const char *says; /* of the attempt that was starting there, and is listed by the newcomer */
} claims[] = {
    { "the same agent again", NODE_READY, "a", "a", PROBLEM_NONE, "starting" },
    { "another agent", NODE_READY, "a", "b", PROBLEM_NODE_TAKEN, "starting" },
    { "another one, the first is silent", NODE_UNREACHABLE, "a", "b", PROBLEM_NODE_TAKEN,
      "starting" },
    { "another one, the first leaves", NODE_LEAVING, "a", "b", PROBLEM_NODE_TAKEN, "starting" },
    { "another one, the first is lost", NODE_LOST, "a", "b", PROBLEM_NONE,
      "ended NODE_LOST again" },
    { "one of old that said nothing", NODE_READY, NULL, "b", PROBLEM_NONE, "starting" },
    { "one that says nothing", NODE_READY, "a", NULL, PROBLEM_NONE, "starting" },
};

static struct op *claim_op(struct world *w, const char *identity, uint64_t job)
{
    struct op *op = world_register_op("n1", "boot-1", offers);

    op->reg.identity = identity ? text_copy(identity) : NULL;
    op->reg.incarnation = text_copy(ledger_incarnation(w->ledger));
    if (job) {
        op->reg.held = NEW0_N(struct held_attempt, 1);
        op->reg.n_held = 1;
        op->reg.held[0].attempt = (struct attempt_key){ job, 0, 0, 1 };
    }
    return op;
}

TEST(a_node_that_is_heard_of_is_nobody_elses)
{
    ROW_EACH (c, claims) {
        struct world w = { 0 };
        struct row_node *node;
        uint64_t job;

        open_world(&w);
        CHECK_EQ(world_run(&w, claim_op(&w, c->was, 0)), PROBLEM_NONE);
        job = world_submit(&w, "{\"retries\":{\"max\":1}}");
        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
        if (c->state == NODE_LEAVING)
            CHECK_EQ(world_run(&w, leave_op(2)), PROBLEM_NONE);
        else
            CHECK_EQ(world_node_state(&w, "n1", c->state), PROBLEM_NONE);
        CHECK_EQ(world_run(&w, claim_op(&w, c->now, job)), c->code);
        if (c->code)
            CHECK(strstr(w.problem.detail, "node n1 is another agent's, at 127.0.0.1, and "));
        CHECK_TEXT(world_attempt_says(&w, job, 0, 1), c->says);
        node = world_node(&w, "n1");
        CHECK_EQ(node->generation, c->code ? 2 : 3);
        CHECK_TEXT(node->identity, c->code || !c->now ? c->was : c->now);
        row_free(ROW_NODE, node);
        close_world(&w);
    }
}

static struct op *label_op(const char *labels)
{
    struct op *op = op_new(OP_NODE_LABEL, NULL, NULL);

    op->node_label.node = text_copy("n1");
    op->node_label.labels = text_copy(labels);
    return op;
}

static void check_labels(struct world *w, const char *labels, uint64_t facts)
{
    struct row_node *node = world_node(w, "n1");

    CHECK_TEXT(node->labels, labels);
    CHECK_EQ(node->facts, facts);
    row_free(ROW_NODE, node);
}

TEST(labels_of_people_lie_over_the_agents)
{
    struct world w = { 0 };
    struct op *op;

    open_world(&w);
    op = world_register_op("n1", "boot-1", offers);
    op->reg.labels = text_copy("{\"disk\":\"hdd\",\"rack\":\"r1\"}");
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, label_op("{\"disk\":\"nvme\",\"zone\":\"a\"}")), PROBLEM_NONE);
    check_labels(&w, "{\"disk\":\"nvme\",\"rack\":\"r1\",\"zone\":\"a\"}", 3);
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE); /* they survive a registration */
    check_labels(&w, "{\"disk\":\"nvme\",\"rack\":\"r1\",\"zone\":\"a\"}", 3);
    CHECK_EQ(world_run(&w, label_op("{\"rack\":null}")), PROBLEM_INVALID_FIELD);
    CHECK_TEXT(w.problem.fields[0].pointer, "/labels/rack");
    CHECK_EQ(world_run(&w, label_op("{\"zone\":1}")), PROBLEM_INVALID_FIELD);
    CHECK_EQ(world_run(&w, label_op("[]")), PROBLEM_INVALID_FIELD);
    CHECK_EQ(world_run(&w, label_op("{\"disk\":null,\"zone\":null}")), PROBLEM_NONE);
    check_labels(&w, "{\"disk\":\"hdd\",\"rack\":\"r1\"}", 4); /* the agent's again */
    op_free(op);
    close_world(&w);
}

static struct op *delete_op(void)
{
    struct op *op = op_new(OP_NODE_DELETE, NULL, NULL);

    op->node_delete.name = text_copy("n1");
    return op;
}

static const struct {
    const char *name, *spec;
    bool has_begun, is_kept;
} losses[] = {
    { "it is kept", "{\"onDisconnect\":\"keep\"}", true, true },
    { "its monitor ends it", "{}", true, false },
    { "it never began", "{\"onDisconnect\":\"keep\"}", false, false },
};

TEST(what_a_lost_node_may_run_on_is_said_until_it_is_back)
{
    ROW_EACH (c, losses) {
        CLEANUP(freep) char *kept = NULL;
        struct world w = { 0 };
        struct row_attempt *attempt;
        struct row_node *node;
        uint64_t job;

        open_world(&w);
        CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
        job = world_submit(&w, c->spec);
        kept = text_format("\"kept\":[\"j-%llu/", (unsigned long long)job);
        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        if (c->has_begun)
            CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_node_state(&w, "n1", NODE_LOST), PROBLEM_NONE);
        node = world_node(&w, "n1");
        CHECK_EQ(strstr(node->info, kept) != NULL, c->is_kept);
        CHECK_EQ(strstr(node->info, "kept") != NULL, c->is_kept);
        row_free(ROW_NODE, node);
        attempt = world_attempt(&w, job, 0, 1);
        CHECK_EQ(strstr(attempt->message, "onDisconnect: keep") != NULL, c->is_kept);
        row_free(ROW_ATTEMPT, attempt);
        CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
        node = world_node(&w, "n1");
        CHECK(!strstr(node->info, "kept"));
        row_free(ROW_NODE, node);
        close_world(&w);
    }
}

TEST(a_node_that_is_lost_can_be_forgotten)
{
    struct world w = { 0 };
    struct row_node *node;
    struct op *op = op_new(OP_BEAT, NULL, NULL);

    open_world(&w);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, delete_op()), PROBLEM_CONFLICT);
    CHECK(strstr(w.problem.detail, "node n1 is ready: only one that is lost or gone"));
    CHECK_EQ(world_node_state(&w, "n1", NODE_LOST), PROBLEM_NONE);
    CHECK_EQ(world_run(&w, delete_op()), PROBLEM_NONE);
    CHECK(!world_node(&w, "n1"));
    CHECK_EQ(world_run(&w, delete_op()), PROBLEM_NOT_FOUND);
    /* The name comes back: no message of the one that was forgotten passes for its. */
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK_EQ(node->generation, 3);
    row_free(ROW_NODE, node);
    op->beat.node = text_copy("n1");
    op->beat.generation = 2;
    CHECK_EQ(world_run(&w, op), PROBLEM_CONFLICT);
    close_world(&w);
}

static void set_text(char **at, const char *text)
{
    mem_free(*at);
    *at = text_copy(text);
}

TEST(a_cordon_has_a_reason_and_survives_registration)
{
    struct world w = { 0 };
    struct op *op = op_new(OP_CORDON, NULL, NULL);
    struct row_node *node;
    uint64_t revision;

    open_world(&w);
    op->cordon.node = text_copy("n1");
    op->cordon.is_cordoned = true;
    op->cordon.by = text_copy("ops");
    op->cordon.reason = text_copy("fan");
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    revision = w.revision;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    CHECK_EQ(w.revision, revision);
    CHECK_EQ(world_register(&w, "n1", offers), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK(node->is_cordoned);
    CHECK_TEXT(node->cordoned_by, "ops");
    CHECK_TEXT(node->cordon_reason, "fan");
    CHECK_EQ(node->facts, 2);
    row_free(ROW_NODE, node);
    /* Another reason replaces it; none leaves it. Nothing that is decided hangs on it. */
    set_text(&op->cordon.by, "ann");
    set_text(&op->cordon.reason, "disk");
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    set_text(&op->cordon.by, "bob");
    set_text(&op->cordon.reason, "");
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK_TEXT(node->cordoned_by, "ann");
    CHECK_TEXT(node->cordon_reason, "disk");
    CHECK_EQ(node->facts, 2);
    row_free(ROW_NODE, node);
    op->cordon.is_cordoned = false;
    CHECK_EQ(world_do(&w, op), PROBLEM_NONE);
    node = world_node(&w, "n1");
    CHECK_TEXT(node->cordon_reason, "");
    row_free(ROW_NODE, node);
    mem_free(op->cordon.node);
    op->cordon.node = text_copy("n9");
    CHECK_EQ(world_do(&w, op), PROBLEM_NOT_FOUND);
    op_free(op);
    close_world(&w);
}

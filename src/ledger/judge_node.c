/*
 * Judge of nodes: register, beat, leave, cordon, and what the steward says of them. A name
 * keeps its row for ever; each registration is another generation, which fences messages.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "base/quantity.h"

static void put_node(struct trial *t, struct row_node *row, const char *type)
{
    changes_put(t->changes, ROW_NODE, row, type);
}

static struct mirror_node *known_node(struct trial *t, const char *name)
{
    struct mirror_node *node = mirror_node(t->mirror, name);

    if (!node)
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no node %s", name);
    return node;
}

void node_review(struct trial *t, struct mirror_node *node)
{
    struct row_node *row;

    if (node->row->state != NODE_LEAVING || node->live.n)
        return;
    row = row_copy(ROW_NODE, node->row);
    row->state = NODE_GONE;
    put_node(t, row, "node.gone");
}

/* ---- register ---- */

static bool are_offers_valid(const char *text)
{
    json_t *offers = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *value;
    bool is_valid = json_is_object(offers);
    const char *resource;

    json_object_foreach(offers, resource, value) is_valid =
        is_valid && name_is_valid_label(resource) && json_is_integer(value) &&
        json_integer_value(value) >= 0 && json_integer_value(value) <= QUANTITY_MAX;
    json_decref(offers);
    return is_valid;
}

static bool is_registration_valid(struct trial *t, const struct op_register *op)
{
    if (!name_is_valid_node(op->node))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/node", "it cannot name a node");
    if (!op->boot_id || !*op->boot_id)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/bootId", "it is missing");
    if (op->ttl_ms <= 0)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/ttlMs", "it must be above 0");
    if (!op->offers || !are_offers_valid(op->offers))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/offers",
                    "it must be an object of resources and amounts in 0..2^60");
    if (op->labels && *op->labels && !json_is_well(op->labels, '{'))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/labels", "it must be an object");
    if (op->taints && *op->taints && !json_is_well(op->taints, '['))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/taints", "it must be a list");
    if (op->info && *op->info && !json_is_well(op->info, '{'))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/info", "it must be an object");
    return t->problem->code == PROBLEM_NONE;
}

static const char *or_else(const char *text, const char *fallback)
{
    return text && *text ? text : fallback;
}

static void fill_node(struct trial *t, const struct op_register *op, struct row_node *row)
{
    row->state = NODE_READY;
    row->generation++;
    row_set(&row->boot_id, op->boot_id);
    row_set(&row->offers, op->offers);
    row_set(&row->labels, or_else(op->labels, "{}"));
    row_set(&row->taints, or_else(op->taints, "[]"));
    row_set(&row->info, or_else(op->info, "{}"));
    row_set(&row->address, op->address);
    row->registered_at = row->heard_at = t->now;
    row->ttl_ms = op->ttl_ms;
}

/* Whether what eligibility and room depend on is not what it was. */
static bool are_facts_new(const struct row_node *was, const struct row_node *now)
{
    return strcmp(was->offers, now->offers) != 0 || strcmp(was->labels, now->labels) != 0 ||
           strcmp(was->taints, now->taints) != 0 || was->state != now->state;
}

/* Whether a task that was let on it might not be any more, room aside. */
static bool is_other_kind(const struct row_node *was, const struct row_node *now)
{
    return strcmp(was->labels, now->labels) != 0 || strcmp(was->taints, now->taints) != 0;
}

static const struct held_attempt *find_held(const struct op_register *op,
                                            const struct row_attempt *row)
{
    for (size_t i = 0; i < op->n_held; i++) {
        const struct attempt_key *key = &op->held[i].attempt;
        if (row->job == key->job && row->grp == key->group && row->idx == key->index &&
            row->number == key->number)
            return &op->held[i];
    }
    return NULL;
}

static void adopt(struct trial *t, const struct row_attempt *attempt, uint64_t generation)
{
    struct row_attempt *row = row_copy(ROW_ATTEMPT, attempt);

    row->generation = generation;
    attempt_put(t, row);
}

/* What becomes of one live attempt when its node registers anew. */
static void meet(struct trial *t, const struct op_register *op, const struct row_attempt *attempt,
                 bool is_same_boot)
{
    enum cause cause = is_same_boot ? CAUSE_DISOWNED : CAUSE_NODE_LOST;
    enum attempt_event event = ATTEMPT_ON_NODE_GONE;

    if (is_same_boot)
        event = !op->is_other_life && find_held(op, attempt) ? ATTEMPT_ON_LISTED
                                                             : ATTEMPT_ON_NOT_LISTED;
    /* One that was only bound runs nowhere: it stays, and is delivered to the new life. */
    if (attempt->state == ATTEMPT_BOUND ||
        attempt_next((enum attempt_state)attempt->state, event) != ATTEMPT_ENDED)
        adopt(t, attempt, op->generation);
    else
        attempt_end(t, attempt, &(struct attempt_end){ .cause = cause });
}

static void meet_all(struct trial *t, const struct op_register *op, bool is_same_boot)
{
    size_t n;
    CLEANUP(freep)
    struct row_attempt **rows = mirror_node_attempts(mirror_node(t->mirror, op->node), &n);

    for (size_t i = 0; i < n; i++)
        row_ref(rows[i]); /* one that ends may stop its job, and others with it */
    for (size_t i = 0; i < n; i++) {
        const struct mirror_job *job = mirror_job(t->mirror, rows[i]->job);
        const struct mirror_task *task = mirror_task(job, rows[i]->grp, rows[i]->idx);
        if (task->live && task->live->number == rows[i]->number)
            meet(t, op, task->live, is_same_boot);
    }
    for (size_t i = 0; i < n; i++)
        row_free(ROW_ATTEMPT, rows[i]);
}

/* Tells the agent which of those it holds it must end. */
static void answer_held(struct trial *t, struct op_register *op)
{
    for (size_t i = 0; i < op->n_held; i++) {
        struct held_attempt *held = &op->held[i];
        const struct mirror_job *job = mirror_job(t->mirror, held->attempt.job);
        const struct mirror_task *task =
            job ? mirror_task(job, held->attempt.group, held->attempt.index) : NULL;
        bool is_here = task && task->live && task->number == held->attempt.number &&
                       strcmp(task->live->node, op->node) == 0;
        held->is_to_end = !is_here && !op->is_other_life;
        held->why = held->is_to_end ? CAUSE_DISOWNED : CAUSE_NONE;
    }
}

static bool is_other_life(const struct trial *t, const struct op_register *op)
{
    const struct row_meta *incarnation = mirror_find(t->mirror, ROW_META, "incarnation");

    if (!op->incarnation || !*op->incarnation)
        return false;
    return !incarnation || strcmp(incarnation->value, op->incarnation) != 0 ||
           op->revision_seen > t->mirror->revision;
}

static void put_beat(struct trial *t, const char *node, uint64_t generation, uint64_t beat)
{
    struct row_beat *row = row_new(ROW_BEAT);

    row_set(&row->node, node);
    row->generation = generation;
    row->beat = beat;
    changes_put_quiet(t->changes, ROW_BEAT, row);
}

void judge_register(struct trial *t, struct op_register *op)
{
    struct mirror_node *node;
    struct row_node *row;
    bool is_same_boot = true, is_other = false;

    if (!is_registration_valid(t, op))
        return;
    op->is_other_life = is_other_life(t, op);
    node = mirror_node(t->mirror, op->node);
    row = node ? row_copy(ROW_NODE, node->row) : row_new(ROW_NODE);
    row_set(&row->name, op->node);
    if (node)
        is_same_boot = strcmp(row->boot_id, op->boot_id) == 0;
    else
        row->seq = t->changes->revision + 1;
    fill_node(t, op, row);
    if (!node || are_facts_new(node->row, row))
        row->facts++;
    is_other = node && is_other_kind(node->row, row);
    op->generation = row->generation;
    put_node(t, row, "node.registered");
    put_beat(t, op->node, op->generation, 0);
    meet_all(t, op, is_same_boot);
    answer_held(t, op);
    if (is_other)
        held_end_node(t, node, RELEASE_NODE_CHANGED);
    else
        held_end_unfit(t, mirror_node(t->mirror, op->node));
}

/* ---- later ---- */

void judge_beat(struct trial *t, struct op_beat *op)
{
    const struct mirror_node *node = known_node(t, op->node);
    const struct row_beat *beat = mirror_find(t->mirror, ROW_BEAT, op->node);

    if (!node)
        return;
    if (node->row->generation != op->generation || node->row->state == NODE_LOST ||
        node->row->state == NODE_GONE) {
        problem_set(t->problem, PROBLEM_CONFLICT,
                    "node %s is %s and of generation %" PRIu64 "; register again", op->node,
                    node_state_words[node->row->state], node->row->generation);
        return;
    }
    put_beat(t, op->node, op->generation, (beat ? beat->beat : 0) + 1);
}

void judge_leave(struct trial *t, struct op_leave *op)
{
    struct mirror_node *node = known_node(t, op->node);
    CLEANUP(freep) struct row_attempt **rows = NULL;
    struct row_node *row;
    size_t n;

    if (!node)
        return;
    if (node->row->generation != op->generation) {
        problem_set(t->problem, PROBLEM_CONFLICT, "node %s is of generation %" PRIu64, op->node,
                    node->row->generation);
        return;
    }
    if (node->row->state != NODE_READY && node->row->state != NODE_UNREACHABLE)
        return; /* said before, or lost meanwhile */
    row = row_copy(ROW_NODE, node->row);
    row->state = NODE_LEAVING;
    row->heard_at = t->now;
    put_node(t, row, "node.leaving");
    rows = mirror_node_attempts(node, &n);
    for (size_t i = 0; i < n; i++)
        row_ref(rows[i]);
    /* What was only bound will not be started there; what runs is ended by its report. */
    for (size_t i = 0; i < n; i++) {
        const struct mirror_job *job = mirror_job(t->mirror, rows[i]->job);
        const struct mirror_task *task = mirror_task(job, rows[i]->grp, rows[i]->idx);
        if (task->live == rows[i] && rows[i]->state == ATTEMPT_BOUND)
            attempt_stop(t, rows[i],
                         &(struct attempt_stop){ CAUSE_SHUTDOWN, 0, "the node leaves", 0 });
        row_free(ROW_ATTEMPT, rows[i]);
    }
    held_end_node(t, node, RELEASE_NODE_CHANGED);
    node_review(t, node);
}

void judge_cordon(struct trial *t, struct op_cordon *op)
{
    struct mirror_node *node = known_node(t, op->node);
    struct row_node *row;

    if (!node || node->row->is_cordoned == op->is_cordoned)
        return;
    row = row_copy(ROW_NODE, node->row);
    row->is_cordoned = op->is_cordoned;
    row_set(&row->cordoned_by, op->is_cordoned ? op->by : "");
    row_set(&row->cordon_reason, op->is_cordoned ? op->reason : "");
    row->cordoned_at = op->is_cordoned ? t->now : 0;
    row->facts++;
    put_node(t, row, op->is_cordoned ? "node.cordoned" : "node.uncordoned");
    if (op->is_cordoned)
        held_end_node(t, node, RELEASE_NODE_CHANGED);
}

/* ---- what the steward says ---- */

static const struct {
    enum node_state from, to;
    const char *type;
} steps[] = {
    { NODE_READY, NODE_UNREACHABLE, "node.unreachable" },
    { NODE_UNREACHABLE, NODE_READY, "node.ready" },
    { NODE_READY, NODE_LOST, "node.lost" },
    { NODE_UNREACHABLE, NODE_LOST, "node.lost" },
    { NODE_LEAVING, NODE_LOST, "node.lost" },
    { NODE_LOST, NODE_GONE, "node.gone" },
};

static const char *step(int64_t from, enum node_state to)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        if (steps[i].from == (enum node_state)from && steps[i].to == to)
            return steps[i].type;
    return NULL;
}

static void lose_attempts(struct trial *t, struct mirror_node *node)
{
    while (node->live.n) {
        size_t n;
        struct row_attempt **rows = mirror_node_attempts(node, &n), *first = rows[0];
        mem_free(rows);
        attempt_end(t, first, &(struct attempt_end){ .cause = CAUSE_NODE_LOST });
    }
}

void judge_node_state(struct trial *t, struct op_node_state *op)
{
    struct mirror_node *node;
    const struct row_beat *beat;
    struct row_node *row;
    const char *type;

    if (!trial_is_steward(t, op->fence))
        return;
    node = known_node(t, op->node);
    if (!node || node->row->state == (int64_t)op->state)
        return;
    beat = mirror_find(t->mirror, ROW_BEAT, op->node);
    if (node->row->generation != op->generation || (beat ? beat->beat : 0) != op->beat) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE, "node %s was heard of since", op->node);
        return;
    }
    type = step(node->row->state, op->state);
    if (!type) {
        problem_set(t->problem, PROBLEM_CONFLICT, "node %s is %s and cannot become %s", op->node,
                    node_state_words[node->row->state],
                    op->state < NODE_STATE_COUNT ? node_state_words[op->state] : "that");
        return;
    }
    row = row_copy(ROW_NODE, node->row);
    row->state = op->state;
    if (op->state == NODE_READY)
        row->heard_at = t->now;
    put_node(t, row, type);
    if (op->state != NODE_LOST)
        return;
    held_end_node(t, node, RELEASE_NODE_CHANGED);
    lose_attempts(t, node);
}

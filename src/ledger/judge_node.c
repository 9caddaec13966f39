/*
 * Judge of nodes: register, beat, leave, cordon, label, delete, and what the steward says of them.
 * A name keeps its row until somebody deletes it; each registration is another generation, which
 * fences messages, and none is given out twice.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "ledger/opening.h"

static void put_node(struct trial *t, struct row_node *row, const char *type)
{
    changes_put(t->changes, ROW_NODE, row, type);
}

static struct mirror_node *known_node(struct trial *t, const char *name)
{
    struct mirror_node *node = mirror_node(t->mirror, name);
    CLEANUP(freep) const char **names = NULL;
    const char *meant;
    size_t n;

    if (node)
        return node;
    names = mirror_node_names(t->mirror, &n);
    meant = nearest(name, names, n);
    problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no node %s%s%s%s", name,
                meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    return NULL;
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

bool are_offers_valid(const char *text)
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
    if (op->images && *op->images && !json_is_well(op->images, '['))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/images", "it must be a list");
    return t->problem->code == PROBLEM_NONE;
}

static const char *or_else(const char *text, const char *fallback)
{
    return text && *text ? text : fallback;
}

/* Sets a node's labels: the agent's, and over them what people set. */
static void lay_labels(struct row_node *row, const char *agents)
{
    json_t *labels, *set;
    char *text;

    if (!*row->set_labels) {
        row_set(&row->labels, agents);
        row_set(&row->agent_labels, "");
        return;
    }
    labels = json_loads(agents, 0, NULL);
    set = json_loads(row->set_labels, 0, NULL);
    json_object_update(labels, set);
    text = json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS);
    row_set(&row->labels, text);
    row_set(&row->agent_labels, agents);
    mem_free(text);
    json_decref(labels);
    json_decref(set);
}

static void set_disabled(const struct trial *t, struct row_node *row, const char *why)
{
    bool was_disabled = *row->disabled;

    row_set(&row->disabled, or_else(why, ""));
    if (was_disabled != (*row->disabled != '\0'))
        row->disabled_at = *row->disabled ? t->now : 0;
}

static void fill_node(struct trial *t, const struct op_register *op, struct row_node *row)
{
    bool is_bounded = op->images && strcmp(op->images, "[]") != 0;

    row->state = NODE_READY;
    row->generation++;
    row_set(&row->boot_id, op->boot_id);
    row_set(&row->offers, op->offers);
    lay_labels(row, or_else(op->labels, "{}"));
    row_set(&row->images, is_bounded ? op->images : "");
    if (op->identity && *op->identity)
        row_set(&row->identity, op->identity);
    row_set(&row->taints, or_else(op->taints, "[]"));
    row_set(&row->info, or_else(op->info, "{}"));
    set_disabled(t, row, op->disabled);
    row_set(&row->address, op->address);
    if (!row->first_at) /* a row of an earlier version knows its last registration only */
        row->first_at = row->registered_at ? row->registered_at : t->now;
    row->registered_at = row->heard_at = t->now;
    /* A shorter lease waits until the agent says that it counts by it: see renew. */
    row->ttl_ms = op->ttl_ms > row->ttl_ms ? op->ttl_ms : row->ttl_ms;
    row->beat_ms = op->beat_ms > row->beat_ms ? op->beat_ms : row->beat_ms;
}

/* Whether what eligibility and room depend on is not what it was. */
static bool are_facts_new(const struct row_node *was, const struct row_node *now)
{
    return strcmp(was->offers, now->offers) != 0 || strcmp(was->labels, now->labels) != 0 ||
           strcmp(was->taints, now->taints) != 0 || strcmp(was->images, now->images) != 0 ||
           strcmp(was->disabled, now->disabled) != 0 || was->state != now->state;
}

/* Whether a task that was let on it might not be any more, room aside. */
static bool is_other_kind(const struct row_node *was, const struct row_node *now)
{
    return strcmp(was->labels, now->labels) != 0 || strcmp(was->taints, now->taints) != 0 ||
           strcmp(was->images, now->images) != 0;
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

struct meeting {
    struct op_register *op;
    bool is_same_boot;
};

static void add_live(struct op_register *op, const struct row_attempt *row)
{
    op->live = mem_resize(op->live, op->n_live + 1, sizeof(*op->live));
    op->live[op->n_live++] = (struct attempt_key){ row->job, (unsigned)row->grp, (unsigned)row->idx,
                                                   (unsigned)row->number };
}

/* The agent served another life of the ledger. What it was let start by this one it may have yet, as
 * an orphan, or know the end of: it is asked, and reports. What it lists and this ledger, as it was
 * then, had bound there, was let start in what a backup lacks. */
static void meet_other_life(struct trial *t, struct row_attempt *attempt, struct op_register *op)
{
    bool is_bound = attempt->state == ATTEMPT_BOUND;
    struct row_attempt *row = row_copy(ROW_ATTEMPT, attempt);
    uint64_t until;

    row->generation = op->generation;
    if (is_bound && find_held(op, attempt) && life_look(t->mirror, op->incarnation, &until) &&
        attempt->rev <= until) {
        row->state = ATTEMPT_STARTING;
        row->acked_at = t->now;
    }
    if (row->state != ATTEMPT_BOUND)
        add_live(op, row);
    attempt_put(t, row);
}

/* What becomes of one live attempt when its node registers anew. */
static void meet(struct trial *t, struct row_attempt *attempt, const void *arg)
{
    const struct meeting *meeting = arg;
    struct op_register *op = meeting->op;
    enum cause cause = meeting->is_same_boot ? CAUSE_DISOWNED : CAUSE_NODE_LOST;
    enum attempt_event event = ATTEMPT_ON_NODE_GONE;

    if (meeting->is_same_boot && op->is_other_life) {
        meet_other_life(t, attempt, op);
        return;
    }
    if (meeting->is_same_boot)
        event = find_held(op, attempt) ? ATTEMPT_ON_LISTED : ATTEMPT_ON_NOT_LISTED;
    /* One that was only bound runs nowhere: it stays, and is delivered to the new life. */
    if (attempt->state == ATTEMPT_BOUND ||
        attempt_next((enum attempt_state)attempt->state, event) != ATTEMPT_ENDED)
        adopt(t, attempt, op->generation);
    else
        attempt_end(t, attempt, &(struct attempt_end){ .cause = cause });
}

/* Calls fn for each that is live on a node and still is when its turn comes: the end of one may
 * stop its job, and others with it. */
static void each_live(struct trial *t, struct mirror_node *node,
                      void (*fn)(struct trial *t, struct row_attempt *live, const void *arg),
                      const void *arg)
{
    size_t n;
    CLEANUP(freep) struct row_attempt **rows = mirror_node_attempts(node, &n);

    for (size_t i = 0; i < n; i++)
        row_ref(rows[i]);
    for (size_t i = 0; i < n; i++) {
        const struct mirror_job *job = mirror_job(t->mirror, rows[i]->job);
        const struct mirror_task *task = mirror_task(job, rows[i]->grp, rows[i]->idx);
        if (task->live && task->live->number == rows[i]->number)
            fn(t, task->live, arg);
        row_free(ROW_ATTEMPT, rows[i]);
    }
}

static void stop_bound(struct trial *t, struct row_attempt *live, const void *arg)
{
    if (live->state == ATTEMPT_BOUND)
        attempt_stop(t, live, arg);
}

/* What was only bound will not be started there; what runs is ended by its report. */
static void end_bound(struct trial *t, struct mirror_node *node, enum cause cause, const char *why)
{
    each_live(t, node, stop_bound, &(struct attempt_stop){ cause, 0, why, 0 });
    held_end_node(t, node, RELEASE_NODE_CHANGED);
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
    return !incarnation || strcmp(incarnation->value, op->incarnation) != 0;
}

/* A copy of the ledger that the agent served, or a backup of it, knows nothing of what the agent
 * did since they parted: its word would end that, or run it twice. */
static bool is_fork(struct trial *t, const struct op_register *op)
{
    if (!op->incarnation || !*op->incarnation || op->is_other_life)
        return false;
    if (op->revision_seen <= t->mirror->revision &&
        (!op->opening || !*op->opening ||
         opening_look(t->mirror, op->opening, op->revision_seen) != OPENING_HOLDS_NOT))
        return false;
    problem_set(t->problem, PROBLEM_LEDGER_FORKED,
                "the agent of node %s has served this ledger up to revision %" PRIu64
                ", which was written elsewhere: this is a copy or a backup of it that has gone "
                "another way",
                op->node, op->revision_seen);
    return true;
}

static void put_beat(struct trial *t, const char *node, uint64_t generation, uint64_t beat)
{
    struct row_beat *row = row_new(ROW_BEAT);

    row_set(&row->node, node);
    row->generation = generation;
    row->beat = beat;
    row->heard_at = t->now;
    changes_put_quiet(t->changes, ROW_BEAT, row);
}

/* Whether the agent that registers is the one that had the node; who says nothing is believed. */
static bool is_same_agent(const struct row_node *row, const struct op_register *op)
{
    return !op->identity || !*op->identity || !*row->identity ||
           strcmp(row->identity, op->identity) == 0;
}

/* A node that is heard of is nobody else's: two agents of one name would end each other's work. */
static bool is_taken(struct trial *t, const struct row_node *row, const struct op_register *op)
{
    bool is_heard_of =
        row->state == NODE_READY || row->state == NODE_UNREACHABLE || row->state == NODE_LEAVING;

    if (!is_heard_of || is_same_agent(row, op))
        return false;
    problem_set(t->problem, PROBLEM_NODE_TAKEN, "node %s is another agent's%s%s, and %s", op->node,
                *row->address ? ", at " : "", row->address, node_state_words[row->state]);
    return true;
}

/* The highest generation of the nodes that were deleted: a new one's begin above it, so that no
 * message of a deleted node's agent is taken for one of the new. */
static uint64_t past_generation(const struct trial *t)
{
    const struct row_meta *row = mirror_find(t->mirror, ROW_META, "generation");
    int64_t value = 0;

    if (row && text_to_int(row->value, 0, INT64_MAX, &value) < 0)
        return 0;
    return (uint64_t)value;
}

void judge_register(struct trial *t, struct op_register *op)
{
    struct mirror_node *node;
    struct row_node *row;
    bool is_same_boot = true, is_other = false;

    if (!is_registration_valid(t, op))
        return;
    node = mirror_node(t->mirror, op->node);
    if (node && is_taken(t, node->row, op))
        return;
    op->is_other_life = is_other_life(t, op);
    if (is_fork(t, op))
        return;
    row = node ? row_copy(ROW_NODE, node->row) : row_new(ROW_NODE);
    row_set(&row->name, op->node);
    if (!node || node->row->state == NODE_COMING)
        row->generation = past_generation(t);
    if (node) {
        /* Of another agent nothing is assumed, as of another boot. */
        is_same_boot = strcmp(row->boot_id, op->boot_id) == 0 && is_same_agent(row, op);
    } else {
        row->seq = t->changes->revision + 1;
    }
    fill_node(t, op, row);
    if (!node || are_facts_new(node->row, row))
        row->facts++;
    is_other = node && node->row->state != NODE_COMING && is_other_kind(node->row, row);
    op->generation = row->generation;
    put_node(t, row, "node.registered");
    put_beat(t, op->node, op->generation, 0);
    node = mirror_node(t->mirror, op->node);
    each_live(t, node, meet, &(struct meeting){ op, is_same_boot });
    if (*node->row->disabled)
        end_bound(t, node, CAUSE_DRAINED, node->row->disabled);
    answer_held(t, op);
    if (is_other)
        held_end_node(t, node, RELEASE_NODE_CHANGED);
    else
        held_end_unfit(t, node);
    order_came(t, op->node);
}

/* ---- later ---- */

/* The agent takes no new work, or does again; why is NULL or "" then. */
static void disable(struct trial *t, struct mirror_node *node, const char *why)
{
    struct row_node *row = row_copy(ROW_NODE, node->row);

    set_disabled(t, row, why);
    row->facts++;
    put_node(t, row, *row->disabled ? "node.disabled" : "node.enabled");
    if (why && *why)
        end_bound(t, node, CAUSE_DRAINED, why);
}

/* The node's lease becomes the server's. A longer one at once: the agent hears of it by the answer, and
 * counts by the shorter one until then. A shorter one once the agent counts by it: one that missed
 * the answer would run on when its node is held for lost. */
static void renew(struct trial *t, struct mirror_node *node, const struct op_beat *op)
{
    int64_t was_ms = node->row->ttl_ms;
    struct row_node *row;

    if (op->ttl_ms == was_ms ||
        (op->ttl_ms < was_ms && (op->counts_ms < 1 || op->counts_ms > op->ttl_ms)))
        return;
    row = row_copy(ROW_NODE, node->row);
    row->ttl_ms = op->ttl_ms;
    row->beat_ms = op->beat_ms;
    put_node(t, row, "node.renewed");
}

/* The agent says which orphans it has by now. */
static void note_orphans(struct trial *t, struct mirror_node *node, const char *orphans)
{
    json_t *list = orphans ? json_loads(orphans, 0, NULL) : NULL;
    json_t *info = json_loads(node->row->info, 0, NULL);

    if (list && !json_equal(list, json_object_get(info, "orphans"))) {
        struct row_node *row = row_copy(ROW_NODE, node->row);
        char *text;

        json_object_set(info, "orphans", list);
        text = json_dumps(info, JSON_COMPACT | JSON_SORT_KEYS);
        row_set(&row->info, text);
        mem_free(text);
        put_node(t, row, "node.orphans");
    }
    json_decref(list);
    json_decref(info);
}

void judge_beat(struct trial *t, struct op_beat *op)
{
    struct mirror_node *node = known_node(t, op->node);
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
    renew(t, node, op);
    note_orphans(t, node, op->orphans);
    if (strcmp(node->row->disabled, or_else(op->disabled, "")) != 0)
        disable(t, node, op->disabled);
}

void judge_leave(struct trial *t, struct op_leave *op)
{
    struct mirror_node *node = known_node(t, op->node);
    struct row_node *row;

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
    end_bound(t, node, CAUSE_SHUTDOWN, "the node leaves");
    node_review(t, node);
}

/* ---- what people say ---- */

/* Stops what is live on a node that drains; arg: the grace, below 0 the job's own. */
static void drain_one(struct trial *t, struct row_attempt *live, const void *arg)
{
    int64_t grace_ms = *(const int64_t *)arg;

    if (grace_ms < 0)
        grace_ms = mirror_job(t->mirror, live->job)->grace_ms;
    attempt_stop(t, live, &(struct attempt_stop){ CAUSE_DRAINED, grace_ms, "its node drains", 0 });
}

/* A closed node keeps its reason until another one is said. */
static void set_reason(struct row_node *row, const struct op_cordon *op, bool is_closed,
                       int64_t now)
{
    bool was_closed = row->is_cordoned;

    if (is_closed && was_closed && !(op->reason && *op->reason))
        return;
    row_set(&row->cordoned_by, is_closed ? op->by : "");
    row_set(&row->cordon_reason, is_closed ? op->reason : "");
    row->cordoned_at = !is_closed ? 0 : was_closed ? row->cordoned_at : now;
}

void judge_cordon(struct trial *t, struct op_cordon *op)
{
    struct mirror_node *node = known_node(t, op->node);
    bool is_closed = op->is_cordoned || op->is_draining, is_draining, is_other_reason;
    struct row_node *row;

    if (!node)
        return;
    is_draining = op->is_draining || (op->is_cordoned && node->row->is_draining);
    is_other_reason =
        is_closed && op->reason && *op->reason && !text_eq(op->reason, node->row->cordon_reason);
    if (node->row->is_cordoned != is_closed || node->row->is_draining != is_draining ||
        is_other_reason) {
        row = row_copy(ROW_NODE, node->row);
        set_reason(row, op, is_closed, t->now);
        row->facts += row->is_cordoned != is_closed || row->is_draining != is_draining;
        row->is_cordoned = is_closed;
        row->is_draining = is_draining;
        put_node(t, row,
                 op->is_draining   ? "node.draining"
                 : op->is_cordoned ? "node.cordoned"
                                   : "node.uncordoned");
    }
    if (is_closed)
        held_end_node(t, node, RELEASE_NODE_CHANGED);
    if (op->is_draining)
        each_live(t, node, drain_one, &op->grace_ms);
}

void judge_node_label(struct trial *t, struct op_node_label *op)
{
    struct mirror_node *node = known_node(t, op->node);
    const struct labels_rule rule = {
        .absent = "nobody set it: an agent's own labels are of its configuration",
    };
    CLEANUP(freep) char *set = NULL, *agents = NULL;
    struct row_node *row;

    if (!node)
        return;
    if (op->if_rev && op->if_rev != node->row->rev) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "node %s is at revision %" PRIu64 ", not %" PRIu64, op->node, node->row->rev,
                    op->if_rev);
        return;
    }
    set = judge_labels(t, node->row->set_labels, op->labels, &rule);
    if (!set)
        return;
    agents = text_copy(*node->row->set_labels ? node->row->agent_labels : node->row->labels);
    row = row_copy(ROW_NODE, node->row);
    row_set(&row->set_labels, text_eq(set, "{}") ? "" : set);
    lay_labels(row, agents);
    if (row_eq(ROW_NODE, row, node->row)) {
        row_free(ROW_NODE, row);
        return;
    }
    row->facts++;
    put_node(t, row, "node.labelled");
    held_end_node(t, node, RELEASE_NODE_CHANGED);
}

static void keep_generation(struct trial *t, uint64_t generation)
{
    CLEANUP(freep) char *text = text_format("%" PRIu64, generation);
    struct row_meta *row;

    if (generation <= past_generation(t))
        return;
    row = row_new(ROW_META);
    row_set(&row->name, "generation");
    row_set(&row->value, text);
    changes_put_quiet(t->changes, ROW_META, row);
}

void judge_node_delete(struct trial *t, struct op_node_delete *op)
{
    const struct mirror_node *node = known_node(t, op->name);
    const struct row_beat *beat;

    if (!node)
        return;
    if (node->row->state != NODE_LOST && node->row->state != NODE_GONE) {
        problem_set(t->problem, PROBLEM_CONFLICT,
                    "node %s is %s: only one that is lost or gone can be forgotten; stop its agent "
                    "first",
                    op->name, node_state_words[node->row->state]);
        return;
    }
    if (node->live.n || node->parts.n) {
        problem_set(t->problem, PROBLEM_CONFLICT, "node %s still holds %zu attempts and %zu places",
                    op->name, node->live.n, node->parts.n);
        return;
    }
    keep_generation(t, node->row->generation);
    beat = mirror_find(t->mirror, ROW_BEAT, op->name);
    if (beat)
        changes_del_quiet(t->changes, ROW_BEAT, beat);
    changes_del(t->changes, ROW_NODE, row_copy(ROW_NODE, node->row), "node.deleted");
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

/* Whether a lost node may run it on, beside the next try: its monitor does not end it. */
static bool is_kept(const struct trial *t, const struct row_attempt *attempt)
{
    return attempt->state != ATTEMPT_BOUND &&
           mirror_job(t->mirror, attempt->job)->keeps_on_disconnect;
}

/* Those that a node that is lost may run on, as a JSON list of names; they stand in its info until
 * it registers again, which ends them. */
static json_t *kept_of(const struct trial *t, const struct mirror_node *node)
{
    json_t *list = json_array();
    size_t n;
    struct row_attempt **rows = mirror_node_attempts(node, &n);

    for (size_t i = 0; i < n; i++) {
        char name[NAME_ATTEMPT_SIZE];

        if (!is_kept(t, rows[i]))
            continue;
        name_attempt(rows[i]->job, mirror_job(t->mirror, rows[i]->job)->groups[rows[i]->grp].name,
                     (uint32_t)rows[i]->idx, (uint32_t)rows[i]->number, name);
        json_array_append_new(list, json_string(name));
    }
    mem_free(rows);
    return list;
}

static void note_kept(const struct trial *t, const struct mirror_node *node, struct row_node *row)
{
    CLEANUP(json_decrefp) json_t *list = kept_of(t, node);
    CLEANUP(json_decrefp) json_t *info = json_loads(*row->info ? row->info : "{}", 0, NULL);
    CLEANUP(freep) char *text = NULL;

    if (json_array_size(list) == 0 || !info)
        return;
    json_object_set(info, "kept", list);
    text = json_dumps(info, JSON_COMPACT);
    row_set(&row->info, text);
}

static void lose_attempts(struct trial *t, struct mirror_node *node)
{
    while (node->live.n) {
        size_t n;
        struct row_attempt **rows = mirror_node_attempts(node, &n), *first = rows[0];
        mem_free(rows);
        attempt_end(
            t, first,
            &(struct attempt_end){ .cause = CAUSE_NODE_LOST,
                                   .message = is_kept(t, first)
                                                  ? "onDisconnect: keep: its container may run on "
                                                    "there until the node is heard of again"
                                                  : NULL });
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
    if (op->state == NODE_LOST)
        note_kept(t, node, row);
    put_node(t, row, type);
    if (op->state != NODE_LOST)
        return;
    held_end_node(t, node, RELEASE_NODE_CHANGED);
    lose_attempts(t, node);
}

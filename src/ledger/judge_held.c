/*
 * Judge of held room: evictions with the reservation that they serve, and how it ends.
 *
 * A part holds what its task asks on a node, for everybody but that task. It waits for the
 * attempts whose end makes its room; one that fits already waits for nothing. What ends a part is
 * in the transaction of what caused it, and a reservation is over with its last part: the row then
 * says what became of the room.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"

enum { ROOM_COMES_MS = 60000 /* beyond the grace of whoever makes room */ };

/* ---- what is free ---- */

bool part_waits(const struct trial *t, const struct mirror_part *part)
{
    for (size_t i = 0; i < part->n_waits; i++)
        if (mirror_live(t->mirror, &part->waits[i]))
            return true;
    return false;
}

int64_t free_now(const struct trial *t, const struct mirror_node *node,
                 const struct mirror_room *room)
{
    int64_t left = room->offered - room->used;

    for (size_t i = 0; i < node->parts.n; i++)
        if (!part_waits(t, node->parts.at[i]))
            left -= asked(node->parts.at[i]->group, room->resource);
    return left;
}

static bool is_key_of(const struct attempt_key *key, const struct row_attempt *row)
{
    return key->job == row->job && key->group == row->grp && key->index == row->idx &&
           key->number == row->number;
}

static bool is_among(const struct attempt_key *keys, size_t n, const struct row_attempt *row)
{
    for (size_t i = 0; i < n; i++)
        if (is_key_of(&keys[i], row))
            return true;
    return false;
}

/* Whether a part on the node waits for the end of this attempt. */
static bool is_waited_for(const struct mirror_node *node, const struct row_attempt *row)
{
    for (size_t i = 0; i < node->parts.n; i++)
        if (is_among(node->parts.at[i]->waits, node->parts.at[i]->n_waits, row))
            return true;
    return false;
}

/* Likewise, with more that may be waited for. */
static int64_t free_after(const struct trial *t, const struct mirror_node *node,
                          const struct mirror_room *room, const struct attempt_key *more, size_t n)
{
    int64_t left = room->offered - room->used - room->held;

    for (size_t i = 0; i < node->live.n; i++) {
        const struct row_attempt *row = node->live.at[i]->live;
        if (is_waited_for(node, row) || is_among(more, n, row))
            left += asked(&mirror_job(t->mirror, row->job)->groups[row->grp], room->resource);
    }
    return left;
}

int64_t free_then(const struct trial *t, const struct mirror_node *node,
                  const struct mirror_room *room)
{
    return node->parts.n ? free_after(t, node, room, NULL, 0) : room->offered - room->used;
}

/* ---- a reservation's row ---- */

static void put_reservation(struct trial *t, struct row_reservation *row, const char *type)
{
    changes_put(t->changes, ROW_RESERVATION, row, type);
}

/* Whether some part of the job's reservation waits yet; the longest grace of whom it waits for. */
static bool waits_yet(const struct trial *t, const struct mirror_job *job, int64_t *grace_ms)
{
    bool waits = false;

    *grace_ms = 0;
    for (size_t i = 0; i < job->parts.n; i++) {
        const struct mirror_part *part = job->parts.at[i];
        for (size_t k = 0; k < part->n_waits; k++) {
            const struct row_attempt *row = mirror_live(t->mirror, &part->waits[k]);
            if (!row)
                continue;
            waits = true;
            *grace_ms = row->grace_ms > *grace_ms ? row->grace_ms : *grace_ms;
        }
    }
    return waits;
}

static int64_t end_of_room(const struct trial *t, const struct mirror_job *job, int64_t ttl_ms)
{
    int64_t grace_ms;

    if (waits_yet(t, job, &grace_ms))
        return t->now + grace_ms + ROOM_COMES_MS;
    return ttl_ms ? t->now + ttl_ms : 0;
}

static bool waits_for(const struct mirror_job *job, const struct row_attempt *attempt)
{
    for (size_t i = 0; i < job->parts.n; i++)
        if (is_among(job->parts.at[i]->waits, job->parts.at[i]->n_waits, attempt))
            return true;
    return false;
}

void held_review(struct trial *t, struct mirror_node *node, const struct row_attempt *ended)
{
    size_t n;
    CLEANUP(freep) struct mirror_part **parts = mirror_node_parts(node, &n);
    uint64_t last = 0;

    for (size_t i = 0; i < n; i++) {
        struct mirror_job *job = mirror_job(t->mirror, parts[i]->row->job);
        struct row_reservation *row;
        int64_t grace_ms;
        if (job->row->id == last || !job->reservation)
            continue;
        last = job->row->id;
        if (!waits_for(job, ended) || waits_yet(t, job, &grace_ms))
            continue;
        row = row_copy(ROW_RESERVATION, job->reservation);
        row->until = end_of_room(t, job, row->ttl_ms);
        put_reservation(t, row, "reservation.ready");
    }
}

/* ---- ends ---- */

static void end_part(struct trial *t, const struct mirror_part *part, enum reservation_state state,
                     enum release why)
{
    struct row_part *row = row_copy(ROW_PART, part->row);

    row->state = state;
    row->why = why;
    changes_put(t->changes, ROW_PART, row,
                state == RESERVATION_USED ? "room.used" : "room.released");
}

/* How a part ends. */
struct end {
    enum reservation_state state;
    enum release why;
    uint64_t taken_by; /* the job that takes its room; 0 none */
};

/* After a part ended: the reservation is over with its last one. */
static void review(struct trial *t, struct mirror_job *job, const struct end *end)
{
    struct row_reservation *row;
    bool is_used = end->state == RESERVATION_USED;

    if (!job->reservation || (job->parts.n && (!is_used || job->reservation->is_used)))
        return;
    row = row_copy(ROW_RESERVATION, job->reservation);
    row->is_used = row->is_used || is_used;
    if (job->parts.n == 0) {
        row->state = row->is_used ? RESERVATION_USED : RESERVATION_ENDED;
        row->why = row->is_used ? RELEASE_NONE : end->why;
        row->taken_by = end->taken_by;
        row->ended_at = t->now;
        row->until = 0;
    }
    put_reservation(t, row,
                    row->state == RESERVATION_OPEN   ? "reservation.changed"
                    : row->state == RESERVATION_USED ? "reservation.used"
                                                     : "reservation.ended");
}

static void end_with(struct trial *t, const struct mirror_part *part, const struct end *end)
{
    struct mirror_job *job = mirror_job(t->mirror, part->row->job);

    end_part(t, part, end->state, end->why);
    review(t, job, end);
}

static void end_one(struct trial *t, const struct mirror_part *part, enum reservation_state state,
                    enum release why)
{
    end_with(t, part, &(struct end){ state, why, 0 });
}

void held_bound(struct trial *t, struct mirror_job *job, uint32_t grp, uint32_t idx,
                const char *node)
{
    const struct mirror_part *part = mirror_part(job, grp, idx);

    if (!part)
        return;
    if (strcmp(part->row->node, node) == 0)
        end_one(t, part, RESERVATION_USED, RELEASE_NONE);
    else
        end_one(t, part, RESERVATION_ENDED, RELEASE_MOVED);
}

void held_end_task(struct trial *t, struct mirror_job *job, uint32_t grp, uint32_t idx,
                   enum release why)
{
    const struct mirror_part *part = mirror_part(job, grp, idx);

    if (part)
        end_one(t, part, RESERVATION_ENDED, why);
}

static void end_job(struct trial *t, struct mirror_job *job, const struct end *end)
{
    size_t n;
    CLEANUP(freep) struct mirror_part **parts = mirror_job_parts(job, &n);

    for (size_t i = 0; i < n; i++)
        end_with(t, parts[i], end);
}

void held_end_job(struct trial *t, struct mirror_job *job, enum release why)
{
    end_job(t, job, &(struct end){ RESERVATION_ENDED, why, 0 });
}

void held_end_node(struct trial *t, struct mirror_node *node, enum release why)
{
    size_t n;
    CLEANUP(freep) struct mirror_part **parts = mirror_node_parts(node, &n);

    for (size_t i = 0; i < n; i++)
        end_one(t, parts[i], RESERVATION_ENDED, why);
}

/* Whether the node is short, all that comes free counted, in what a part holds there. */
static bool is_short(const struct trial *t, const struct mirror_node *node,
                     const struct mirror_part *part)
{
    for (size_t i = 0; i < node->rooms.n; i++) {
        const struct mirror_room *room = &node->rooms.at[i];
        if (strcmp(room->resource, "pods") == 0 && !node->is_pods_offered)
            continue;
        if (asked(part->group, room->resource) && free_then(t, node, room) < 0)
            return true;
    }
    return false;
}

void held_end_unfit(struct trial *t, struct mirror_node *node)
{
    size_t n;
    CLEANUP(freep) struct mirror_part **parts = mirror_node_parts(node, &n);

    for (size_t i = n; i-- > 0;)
        if (is_short(t, node, parts[i]))
            end_one(t, parts[i], RESERVATION_ENDED, RELEASE_NODE_CHANGED);
}

bool held_take(struct trial *t, const struct op_take *takes, size_t n, uint64_t taker)
{
    for (size_t i = 0; i < n; i++) {
        struct mirror_job *job = mirror_job(t->mirror, takes[i].job);
        if (!job || job->row->id == taker || !job->reservation ||
            (is_on(t, RULE_TAKE) && job->reservation->id != takes[i].reservation)) {
            problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                        "nothing is held for j-%" PRIu64 " that could be taken", takes[i].job);
            return false;
        }
        end_job(t, job, &(struct end){ RESERVATION_ENDED, RELEASE_TAKEN, taker });
    }
    return true;
}

void judge_release(struct trial *t, struct op_release *op)
{
    struct mirror_job *job = mirror_job(t->mirror, op->job);
    const struct row_reservation *row = job ? job->reservation : NULL;

    if (!trial_is_steward(t, op->fence))
        return;
    if (op->why <= RELEASE_NONE || op->why >= RELEASE_COUNT || op->why == RELEASE_TAKEN) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "held room is let go for a reason");
        return;
    }
    if (!row || row->id != op->reservation || (is_on(t, RULE_RELEASE) && row->rev != op->rev) ||
        (op->why == RELEASE_TIMED_OUT && (!row->until || row->until > t->now))) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "what is held for j-%" PRIu64 " is not what was seen", op->job);
        return;
    }
    held_end_job(t, job, op->why);
}

/* ---- victims ---- */

static enum wait_code judge_victim(const struct trial *t, const struct op_evict *op,
                                   const struct op_victim *victim, struct row_attempt **out)
{
    struct row_attempt *row = mirror_live(t->mirror, &victim->attempt);

    *out = row;
    if (!row || victim->attempt.job == op->job)
        return WAIT_CAPACITY_CHANGED;
    if (is_on(t, RULE_VICTIM) && (row->rev != victim->rev || row->is_stop_wanted))
        return WAIT_CAPACITY_CHANGED;
    return WAIT_NONE;
}

static size_t evict_all(struct trial *t, struct op_evict *op)
{
    char reason[120];
    size_t n_refused = 0;

    for (size_t i = 0; i < op->n_victims; i++) {
        struct op_victim *victim = &op->victims[i];
        struct row_attempt *row;
        victim->refused = judge_victim(t, op, victim, &row);
        n_refused += victim->refused != WAIT_NONE;
    }
    for (size_t i = 0; i < op->n_victims && !n_refused; i++) {
        const struct attempt_key *key = &op->victims[i].attempt;
        const struct row_attempt *row = mirror_live(t->mirror, key);
        const struct mirror_job *job = mirror_job(t->mirror, key->job);
        if (!row)
            continue; /* it ended with another one's end */
        snprintf(reason, sizeof(reason), op->job ? "%.60s for j-%" PRIu64 : "%.60s", op->reason,
                 op->job);
        attempt_stop(t, row,
                     &(struct attempt_stop){ CAUSE_EVICTED, job->grace_ms, reason, op->job });
    }
    return n_refused;
}

/* ---- rooms ---- */

/* Keys of attempts on one node whose end would make room. */
struct comers {
    VEC_OF(struct attempt_key) list;
};

static void add_comer(struct comers *comers, const struct row_attempt *row)
{
    if (!is_among(comers->list.at, comers->list.n, row))
        VEC_PUSH(&comers->list,
                 ((struct attempt_key){ row->job, (uint32_t)row->grp, (uint32_t)row->idx,
                                        (uint32_t)row->number }));
}

static bool has_after(const struct trial *t, const struct mirror_node *node, const char *resource,
                      int64_t value, const struct comers *comers)
{
    for (size_t i = 0; i < node->rooms.n; i++)
        if (strcmp(node->rooms.at[i].resource, resource) == 0)
            return value <=
                   free_after(t, node, &node->rooms.at[i], comers->list.at, comers->list.n);
    return value == 0;
}

static bool fits_after(const struct trial *t, const struct mirror_node *node,
                       const struct mirror_group *group, const struct comers *comers)
{
    for (size_t i = 0; i < group->n_asks; i++)
        if (!has_after(t, node, group->asks[i].resource, group->asks[i].value, comers))
            return false;
    return !node->is_pods_offered || has_after(t, node, "pods", asked(group, "pods"), comers);
}

static bool is_victim(const struct op_evict *op, const struct row_attempt *row)
{
    for (size_t i = 0; i < op->n_victims; i++)
        if (is_key_of(&op->victims[i].attempt, row))
            return true;
    return false;
}

/* Whom the room waits for: the group's own victims there, then others that are stopping, as many
 * as it takes. False: even so it does not fit. */
static bool find_comers(const struct trial *t, const struct op_evict *op,
                        const struct mirror_node *node, const struct mirror_group *group,
                        struct comers *comers)
{
    size_t n;
    CLEANUP(freep) struct row_attempt **rows = mirror_node_attempts(node, &n);

    for (size_t i = 0; i < n; i++)
        if (rows[i]->is_stop_wanted && (is_victim(op, rows[i]) || is_waited_for(node, rows[i])))
            add_comer(comers, rows[i]);
    for (size_t i = 0; i < n && !fits_after(t, node, group, comers); i++)
        if (rows[i]->is_stop_wanted)
            add_comer(comers, rows[i]);
    return !is_on(t, RULE_COMES_FREE) || fits_after(t, node, group, comers);
}

static void put_part(struct trial *t, struct row_part *row)
{
    row->state = RESERVATION_OPEN;
    row->why = RELEASE_NONE;
    changes_put(t->changes, ROW_PART, row, "room.held");
}

void held_put_part(struct trial *t, const struct mirror_job *job, uint64_t reservation,
                   const struct op_room *room, const char *waits)
{
    struct row_part *row = row_new(ROW_PART);

    row->job = job->row->id;
    row->grp = room->group;
    row->idx = room->index;
    row->reservation = reservation;
    row_set(&row->node, room->node);
    row_set(&row->waits, waits);
    put_part(t, row);
}

/* Room may be held on a machine that is on its way, to which nothing can be bound. */
static enum wait_code node_refuses_room(const struct trial *t, const struct mirror_node *node,
                                        uint64_t facts)
{
    if (!node || node->row->state != NODE_COMING)
        return node_refuses(t, node, facts);
    return row_node_is_closed(node->row) ? WAIT_NODE_CORDONED : WAIT_NONE;
}

static enum wait_code hold_room(struct trial *t, const struct op_evict *op, struct mirror_job *job,
                                const struct op_room *room)
{
    const struct mirror_task *task = mirror_task(job, room->group, room->index);
    const struct mirror_node *node = mirror_node(t->mirror, room->node);
    enum wait_code code = node_refuses_room(t, node, room->facts);
    struct comers comers = { 0 };
    CLEANUP(str_fini) struct str waits = { 0 };

    if (!task || task->state != TASK_PENDING || mirror_part(job, room->group, room->index))
        return WAIT_CAPACITY_CHANGED;
    if (code)
        return code;
    code = room_for(t, node, &job->groups[room->group]);
    if (code && !find_comers(t, op, node, &job->groups[room->group], &comers)) {
        VEC_FINI(&comers.list);
        return code;
    }
    if (comers.list.n)
        attempt_keys_write(comers.list.at, comers.list.n, &waits);
    VEC_FINI(&comers.list);
    held_put_part(t, job, op->reservation, room, str_text(&waits));
    return WAIT_NONE;
}

/* ---- one reservation follows another ---- */

static bool is_asked_again(const struct op_room *rooms, size_t n, const struct row_part *row)
{
    for (size_t i = 0; i < n; i++)
        if (rooms[i].group == row->grp && rooms[i].index == row->idx)
            return true;
    return false;
}

void held_carry_on(struct trial *t, struct mirror_job *job, uint64_t reservation,
                   const struct op_room *rooms, size_t n_rooms)
{
    size_t n;
    CLEANUP(freep) struct mirror_part **parts = mirror_job_parts(job, &n);
    struct row_part **rows = NEW0_N(struct row_part *, n + 1);

    for (size_t i = 0; i < n; i++)
        rows[i] = row_copy(ROW_PART, parts[i]->row);
    held_end_job(t, job, RELEASE_MOVED);
    for (size_t i = 0; i < n; i++) {
        if (is_asked_again(rooms, n_rooms, rows[i])) {
            row_free(ROW_PART, rows[i]);
            continue;
        }
        rows[i]->reservation = reservation;
        put_part(t, rows[i]);
    }
    mem_free(rows);
}

/* Their names, as a list in JSON. */
static void write_victims(const struct trial *t, const struct op_evict *op, struct str *out)
{
    char name[NAME_ATTEMPT_SIZE];

    str_add_char(out, '[');
    for (size_t i = 0; i < op->n_victims; i++) {
        const struct attempt_key *key = &op->victims[i].attempt;
        const struct mirror_job *job = mirror_job(t->mirror, key->job);
        name_attempt(key->job, job->groups[key->group].name, key->index, key->number, name);
        str_addf(out, "%s\"%s\"", i ? "," : "", name);
    }
    str_add_char(out, ']');
}

void held_open(struct trial *t, const struct mirror_job *job, const struct held_open *how)
{
    struct row_reservation *row = row_new(ROW_RESERVATION);

    row->job = how->job;
    row->id = how->id;
    row->purpose = how->purpose;
    row_set(&row->reason, how->reason);
    row_set(&row->decision, how->decision);
    row->version = how->version;
    row_set(&row->victims, how->victims);
    row->ttl_ms = how->ttl_ms;
    row->until = end_of_room(t, job, how->ttl_ms);
    row->made_at = t->now;
    put_reservation(t, row, "reservation.opened");
}

/* What is held without evictions is on machines on their way, in part at least. */
static bool is_for_machine(const struct trial *t, const struct op_evict *op)
{
    for (size_t i = 0; i < op->n_rooms && !op->n_victims; i++)
        if (mirror_node(t->mirror, op->rooms[i].node)->row->state == NODE_COMING)
            return true;
    return false;
}

static void open_reservation(struct trial *t, const struct op_evict *op,
                             const struct mirror_job *job)
{
    CLEANUP(str_fini) struct str victims = { 0 };

    write_victims(t, op, &victims);
    held_open(
        t, job,
        &(struct held_open){ .job = op->job,
                             .version = op->version,
                             .id = op->reservation,
                             .purpose = is_for_machine(t, op) ? PURPOSE_MACHINE : PURPOSE_EVICTION,
                             .reason = op->reason,
                             .decision = op->decision,
                             .victims = str_text(&victims),
                             .ttl_ms = op->ttl_ms });
}

void held_came(struct trial *t, struct mirror_node *node)
{
    size_t n;
    CLEANUP(freep) struct mirror_part **parts = mirror_node_parts(node, &n);
    uint64_t last = 0;

    for (size_t i = 0; i < n; i++) {
        const struct mirror_job *job = mirror_job(t->mirror, parts[i]->row->job);
        struct row_reservation *row;
        if (job->row->id == last || !job->reservation)
            continue;
        last = job->row->id;
        row = row_copy(ROW_RESERVATION, job->reservation);
        row->until = end_of_room(t, job, row->ttl_ms);
        put_reservation(t, row, "reservation.ready");
    }
}

static size_t hold_all(struct trial *t, struct op_evict *op, struct mirror_job *job)
{
    size_t n_refused = 0;

    op->reservation = t->changes->revision + 1;
    if (job->reservation)
        held_carry_on(t, job, op->reservation, op->rooms, op->n_rooms);
    for (size_t i = 0; i < op->n_rooms; i++) {
        op->rooms[i].refused = hold_room(t, op, job, &op->rooms[i]);
        n_refused += op->rooms[i].refused != WAIT_NONE;
    }
    if (!n_refused)
        open_reservation(t, op, job);
    return n_refused;
}

/* ---- the group ---- */

static bool is_group_good(struct trial *t, const struct op_evict *op)
{
    if (!op->reason || !*op->reason)
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "nothing is evicted without a reason");
    else if (op->n_victims + op->n_rooms == 0)
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "a group has parts");
    else if (op->n_rooms && !op->job)
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "room is held for a job");
    else
        return true;
    return false;
}

/* The job for whom, as it was decided on; else NULL and refused. */
static struct mirror_job *owner_of(struct trial *t, struct op_evict *op)
{
    enum wait_code code;
    const char *why;
    struct mirror_job *job = job_to_place(t, op->job, op->version, &code, &why);
    uint64_t open;
    bool is_ordered;

    if (!job) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE, "j-%" PRIu64 ": %s", op->job, why);
        return NULL;
    }
    open = job->reservation ? job->reservation->id : 0;
    /* Machines that were ordered in the same cycle have made it another one. */
    is_ordered = !op->n_victims && open && job->reservation->purpose == PURPOSE_MACHINE;
    if (!is_on(t, RULE_ONE_OPEN) || open == op->replaces || is_ordered)
        return job;
    problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                "j-%" PRIu64 ": what is held for it is not what was decided on", op->job);
    return NULL;
}

void judge_evict(struct trial *t, struct op_evict *op)
{
    struct mirror_job *job = NULL;
    size_t n_refused;

    op->reservation = 0;
    for (size_t i = 0; i < op->n_rooms; i++)
        op->rooms[i].refused = WAIT_NONE;
    if (!trial_is_steward(t, op->fence) || !is_group_good(t, op))
        return;
    if (op->job) {
        job = owner_of(t, op);
        if (!job || !held_take(t, op->takes, op->n_takes, op->job))
            return;
    }
    n_refused = evict_all(t, op);
    if (!n_refused && op->n_rooms)
        n_refused = hold_all(t, op, job);
    if (n_refused)
        problem_set(
            t->problem, PROBLEM_CHANGED_SINCE, "%s: %zu of its %zu parts are not as decided",
            op->job ? "room for a job" : "an eviction", n_refused, op->n_victims + op->n_rooms);
}

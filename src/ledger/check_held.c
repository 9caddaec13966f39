/*
 * The history checker, held room: what is held is counted for everybody but its owner, and ends with
 * what it was held for.
 */
#include "ledger/check_inside.h"

#include <inttypes.h>
#include <string.h>

#include "ledger/mirror.h"

/* ---- reservations and parts, one by one ---- */

void check_see_reservation(struct check *c, const struct row_reservation *was,
                           const struct row_reservation *row)
{
    if (!was && (row->state != RESERVATION_OPEN || row->id > c->rev))
        check_find(c, "a reservation begins as %s", reservation_state_words[row->state]);
    if (was && was->state != RESERVATION_OPEN)
        check_find(c, "a reservation that was over changed");
    if (row->state == RESERVATION_ENDED && row->why == RELEASE_NONE)
        check_find(c, "a reservation ended for no reason");
    if ((row->state == RESERVATION_USED) != (row->state != RESERVATION_OPEN && row->is_used))
        check_find(c, "a reservation was used, or was not, and says otherwise");
    if ((row->why == RELEASE_TAKEN && !row->taken_by) || row->taken_by == row->job ||
        (row->taken_by && row->state == RESERVATION_OPEN))
        check_find(c, "a reservation was taken by nobody, or was not, and says otherwise");
    if (!was && row->state == RESERVATION_OPEN)
        VEC_PUSH(&c->owners, row->job);
    for (size_t i = c->owners.n; row->state != RESERVATION_OPEN && i-- > 0;) {
        if (c->owners.at[i] != row->job)
            continue;
        VEC_SWAP_OUT(&c->owners, i);
        break;
    }
}

static void drop_part(struct check *c, size_t i)
{
    mem_free(c->parts.at[i].node);
    mem_free(c->parts.at[i].waits);
    VEC_SWAP_OUT(&c->parts, i);
}

static void end_part(struct check *c, const struct row_part *row)
{
    for (size_t i = 0; i < c->parts.n; i++) {
        const struct seen_part *part = &c->parts.at[i];
        if (part->job != row->job || part->grp != row->grp || part->idx != row->idx ||
            part->reservation != row->reservation)
            continue;
        drop_part(c, i);
        return;
    }
}

void check_see_part(struct check *c, const struct row_part *was, const struct row_part *row)
{
    struct seen_job *job = map_get_int(&c->jobs, row->job);
    struct seen_part part = { row->job, row->reservation, row->grp, row->idx, NULL, NULL, 0 };

    if (was && was->state != RESERVATION_OPEN)
        check_find(c, "room that was let go changed");
    if (row->state == RESERVATION_ENDED && row->why == RELEASE_NONE)
        check_find(c, "room was let go for no reason");
    if (row->state != RESERVATION_OPEN) {
        end_part(c, row);
        return;
    }
    if (!job || row->grp < 0 || (size_t)row->grp >= job->spec->n_groups || row->idx < 0 ||
        row->idx >= job->spec->groups[row->grp].replicas || !map_get(&c->nodes, row->node)) {
        check_find(c, "room is held for no task, or on no node");
        return;
    }
    if (was)
        check_find(c, "room that is held changed");
    if (!attempt_keys_read(row->waits, &part.waits, &part.n_waits))
        check_find(c, "what it waits for cannot be read");
    part.node = text_copy(row->node);
    VEC_PUSH(&c->parts, part);
}

/* ---- room: invariant 1 ---- */

static bool is_live(const struct check *c, const struct attempt_key *key)
{
    const struct seen_job *job = map_get_int(&c->jobs, key->job);
    uint32_t at;

    if (!job || key->group >= job->spec->n_groups ||
        key->index >= job->spec->groups[key->group].replicas)
        return false;
    at = check_task_at(job, key->group, key->index);
    return job->is_live[at] && job->numbers[at] == key->number;
}

static bool waits(const struct check *c, const struct seen_part *part)
{
    for (size_t i = 0; i < part->n_waits; i++)
        if (is_live(c, &part->waits[i]))
            return true;
    return false;
}

static int64_t asks(const struct check *c, uint64_t id, int64_t grp, const char *resource)
{
    const struct seen_job *job = map_get_int(&c->jobs, id);
    const struct amounts *amounts = &job->spec->groups[grp].holds;

    if (strcmp(resource, "pods") == 0)
        return 1000;
    for (size_t i = 0; i < amounts->n; i++)
        if (strcmp(amounts->at[i].resource, resource) == 0)
            return amounts->at[i].value;
    return 0;
}

static bool is_same(const struct attempt_key *a, const struct attempt_key *b)
{
    return a->job == b->job && a->group == b->group && a->index == b->index &&
           a->number == b->number;
}

/* Whether a part before the i-th on the same node waits for the same one. */
static bool is_counted(const struct check *c, size_t i, const struct attempt_key *key)
{
    for (size_t k = 0; k < i; k++)
        for (size_t w = 0; w < c->parts.at[k].n_waits; w++)
            if (strcmp(c->parts.at[k].node, c->parts.at[i].node) == 0 &&
                is_same(&c->parts.at[k].waits[w], key))
                return true;
    return false;
}

/* What is held on a node of a resource: now, and all of it less what comes free for it. */
static void add_held(const struct check *c, const char *node, const char *resource, int64_t *now,
                     int64_t *then)
{
    for (size_t i = 0; i < c->parts.n; i++) {
        const struct seen_part *part = &c->parts.at[i];
        if (strcmp(part->node, node) != 0)
            continue;
        *then += asks(c, part->job, part->grp, resource);
        if (!waits(c, part))
            *now += asks(c, part->job, part->grp, resource);
        for (size_t w = 0; w < part->n_waits; w++)
            if (is_live(c, &part->waits[w]) && !is_counted(c, i, &part->waits[w]))
                *then -= asks(c, part->waits[w].job, part->waits[w].group, resource);
    }
}

void check_held_room(struct check *c, const struct seen_node *node, const struct row_attempt *row)
{
    for (size_t i = 0; c->parts.n && i < node->uses.n; i++) {
        const struct use *use = &node->uses.at[i];
        int64_t now = use->used, then = use->used;
        if (!use->is_offered || !asks(c, row->job, row->grp, use->resource))
            continue;
        add_held(c, node->name, use->resource, &now, &then);
        if (now > use->offered || then > use->offered)
            check_find(c, "takes %s that is held for another", use->resource);
    }
    for (size_t i = 0; i < c->parts.n; i++)
        if (c->parts.at[i].job == row->job && c->parts.at[i].grp == row->grp &&
            c->parts.at[i].idx == row->idx)
            check_find(c, "is bound, and room is held for it yet");
}

/* ---- between transactions: invariant 5 ---- */

static void check_owner(struct check *c, const struct seen_part *part)
{
    struct row_job *key = row_new(ROW_JOB), *job = NULL;

    key->id = part->job;
    if (store_get(c->fold, ROW_JOB, key, (void **)&job, c->err) != 0 ||
        job_is_over((enum job_state)job->state) || job->state == JOB_STOPPING || job->is_held)
        check_find(c, "room is held on %s for j-%" PRIu64 ", which cannot use it", part->node,
                   part->job);
    row_free(ROW_JOB, job);
    row_free(ROW_JOB, key);
}

static void check_place(struct check *c, const struct seen_part *part)
{
    struct row_node *key = row_new(ROW_NODE), *node = NULL;

    row_set(&key->name, part->node);
    if (store_get(c->fold, ROW_NODE, key, (void **)&node, c->err) != 0 ||
        (node->state != NODE_READY && node->state != NODE_UNREACHABLE &&
         node->state != NODE_COMING) ||
        row_node_is_closed(node))
        check_find(c, "room is held on %s, which takes no work", part->node);
    row_free(ROW_NODE, node);
    row_free(ROW_NODE, key);
}

static bool has_part(const struct check *c, uint64_t job)
{
    for (size_t i = 0; i < c->parts.n; i++)
        if (c->parts.at[i].job == job)
            return true;
    return false;
}

static bool has_reservation(const struct check *c, uint64_t job)
{
    for (size_t i = 0; i < c->owners.n; i++)
        if (c->owners.at[i] == job)
            return true;
    return false;
}

void check_held_stands(struct check *c)
{
    for (size_t i = 0; i < c->parts.n; i++) {
        check_owner(c, &c->parts.at[i]);
        check_place(c, &c->parts.at[i]);
        if (!has_reservation(c, c->parts.at[i].job))
            check_find(c, "room is held that belongs to no reservation");
    }
    for (size_t i = 0; i < c->owners.n; i++)
        if (!has_part(c, c->owners.at[i]))
            check_find(c, "a reservation of j-%" PRIu64 " is open and holds nothing",
                       c->owners.at[i]);
}

void check_held_fini(struct check *c)
{
    while (c->parts.n)
        drop_part(c, 0);
    VEC_FINI(&c->parts);
    VEC_FINI(&c->owners);
}

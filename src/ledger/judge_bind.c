/*
 * Judge of binds: makes the attempts of all parts of a group, or of none. Each part is held
 * against the node as the parts before it left it; what is refused is told part by part.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <string.h>

/* Why a task waits if its node is short of this. */
static enum wait_code short_of(const char *resource)
{
    if (strcmp(resource, "cpu") == 0)
        return WAIT_INSUFFICIENT_CPU;
    if (strcmp(resource, "memory") == 0)
        return WAIT_INSUFFICIENT_MEMORY;
    if (strcmp(resource, "pods") == 0)
        return WAIT_INSUFFICIENT_SLOTS;
    if (strcmp(resource, "storage") == 0 || strcmp(resource, "ephemeral-storage") == 0)
        return WAIT_INSUFFICIENT_STORAGE;
    return strcmp(resource, "gpu") == 0 ? WAIT_INSUFFICIENT_DEVICE : WAIT_INSUFFICIENT_COUNTER;
}

int64_t asked(const struct mirror_group *group, const char *resource)
{
    if (strcmp(resource, "pods") == 0)
        return POD;
    for (size_t i = 0; i < group->n_asks; i++)
        if (strcmp(group->asks[i].resource, resource) == 0)
            return group->asks[i].value;
    return 0;
}

static bool is_offered(const struct mirror_node *node, const char *resource)
{
    for (size_t i = 0; i < node->rooms.n; i++) {
        const struct mirror_room *room = &node->rooms.at[i];
        if (strcmp(room->resource, resource) == 0)
            return true;
    }
    return false;
}

/* Beside the live attempts and what is held for others, in every dimension that the task asks. A
 * node that shrank below its use has none in that dimension, and takes nothing more until it fits
 * again. */
enum wait_code room_for(const struct trial *t, const struct mirror_node *node,
                        const struct mirror_group *group)
{
    for (size_t i = 0; i < node->rooms.n; i++) {
        const struct mirror_room *room = &node->rooms.at[i];
        int64_t value = asked(group, room->resource);
        if (strcmp(room->resource, "pods") == 0 && !node->is_pods_offered)
            continue;
        if (is_on(t, RULE_ROOM) && value > room->offered - room->used)
            return short_of(room->resource);
        if (value && node->parts.n && is_on(t, RULE_HELD) &&
            (value > free_now(t, node, room) || value > free_then(t, node, room)))
            return WAIT_RESERVED_FOR_OTHER;
    }
    for (size_t i = 0; i < group->n_asks; i++)
        if (group->asks[i].value && !is_offered(node, group->asks[i].resource))
            return short_of(group->asks[i].resource);
    return WAIT_NONE;
}

enum wait_code node_refuses(const struct trial *t, const struct mirror_node *node, uint64_t facts)
{
    if (!node || (is_on(t, RULE_NODE_READY) && !node_takes_work((enum node_state)node->row->state)))
        return WAIT_NODE_NOT_READY;
    if (is_on(t, RULE_CORDON) && row_node_is_closed(node->row))
        return WAIT_NODE_CORDONED;
    if (is_on(t, RULE_FACTS) && node->row->facts != facts)
        return WAIT_CAPACITY_CHANGED;
    return WAIT_NONE;
}

static bool is_over_cap(const struct mirror_account *account, const struct mirror_group *group)
{
    for (size_t i = 0; account && i < account->shares.n; i++) {
        const struct mirror_share *share = &account->shares.at[i];
        int64_t value = share->cap == MIRROR_NO_CAP ? 0 : asked(group, share->resource);
        if (value && value > share->cap - share->used)
            return true;
    }
    return false;
}

/* One more task of the job's queue, which those above it count as well. */
static bool queue_refuses(const struct trial *t, const struct mirror_job *job,
                          const struct mirror_group *group)
{
    const char *name = job->row->queue;

    for (; is_on(t, RULE_CAP) && name; name = mirror_queue_parent(t->mirror, name))
        if (is_over_cap(mirror_queue(t->mirror, name), group))
            return true;
    return false;
}

static bool namespace_refuses(const struct trial *t, const struct mirror_job *job,
                              const struct mirror_group *group)
{
    return is_on(t, RULE_QUOTA) && is_over_cap(mirror_namespace(t->mirror, job->row->ns), group);
}

static enum wait_code judge_part(const struct trial *t, const struct mirror_job *job,
                                 const struct op_bind_part *part)
{
    const struct mirror_task *task = mirror_task(job, part->group, part->index);
    const struct mirror_node *node = mirror_node(t->mirror, part->node);
    enum wait_code code;

    if (!task || (is_on(t, RULE_PENDING) && task->state != TASK_PENDING) ||
        (is_on(t, RULE_NUMBER) && part->number != task->number + 1))
        return WAIT_CAPACITY_CHANGED;
    code = node_refuses(t, node, part->facts);
    if (!code && (queue_refuses(t, job, &job->groups[part->group]) ||
                  namespace_refuses(t, job, &job->groups[part->group])))
        code = WAIT_OVER_CAP;
    return code ? code : room_for(t, node, &job->groups[part->group]);
}

static void bind_part(struct trial *t, const struct mirror_job *job, const struct op_bind *op,
                      const struct op_bind_part *part)
{
    const struct mirror_task *task = mirror_task(job, part->group, part->index);
    struct row_attempt *row = row_new(ROW_ATTEMPT);

    row->job = op->job;
    row->grp = part->group;
    row->idx = part->index;
    row->number = part->number;
    row_set(&row->node, part->node);
    row->generation = mirror_node(t->mirror, part->node)->row->generation;
    row->tries = task->tries;
    row->evictions = task->evictions;
    row_set(&row->decision, op->decision);
    row->bound_at = t->now;
    attempt_put(t, row);
}

static int refuse(struct trial *t, const struct op_bind *op, enum wait_code code, const char *why)
{
    for (size_t i = 0; i < op->n_parts; i++)
        if (!op->parts[i].refused)
            op->parts[i].refused = code;
    return problem_set(t->problem, PROBLEM_CHANGED_SINCE, "j-%" PRIu64 ": %s", op->job, why);
}

struct mirror_job *job_to_place(const struct trial *t, uint64_t id, uint64_t version,
                                enum wait_code *code, const char **why)
{
    struct mirror_job *job = mirror_job(t->mirror, id);

    *code = WAIT_CAPACITY_CHANGED;
    /* Nothing of such a job is pending, so this only says it better. */
    if (!job || job_is_over((enum job_state)job->row->state) || job->row->state == JOB_STOPPING) {
        *why = "it is over or stopping";
    } else if (is_on(t, RULE_HELD_JOB) && job->row->is_held) {
        *code = WAIT_HELD;
        *why = "it is held";
    } else if (job->row->is_suspended) {
        *code = WAIT_SUSPENDED;
        *why = "it is suspended";
    } else if (is_on(t, RULE_VERSION) && job->row->version != version) {
        *why = "it was changed since";
    } else {
        return job;
    }
    return NULL;
}

/* The tasks that are placed now stop holding room for themselves; then each part is judged. */
static size_t bind_all(struct trial *t, struct mirror_job *job, struct op_bind *op)
{
    size_t n_refused = 0;

    for (size_t i = 0; i < op->n_parts; i++)
        held_bound(t, job, op->parts[i].group, op->parts[i].index, op->parts[i].node);
    for (size_t i = 0; i < op->n_parts; i++) {
        op->parts[i].refused = judge_part(t, job, &op->parts[i]);
        if (op->parts[i].refused)
            n_refused++;
        else
            bind_part(t, job, op, &op->parts[i]);
    }
    return n_refused;
}

void judge_bind(struct trial *t, struct op_bind *op)
{
    struct mirror_job *job;
    enum wait_code code;
    const char *why;
    size_t n_refused;

    for (size_t i = 0; i < op->n_parts; i++)
        op->parts[i].refused = WAIT_NONE;
    if (!trial_is_steward(t, op->fence))
        return;
    job = job_to_place(t, op->job, op->version, &code, &why);
    if (!job) {
        refuse(t, op, code, why);
        return;
    }
    if (op->n_parts == 0) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "a group has parts");
        return;
    }
    if (!held_take(t, op->takes, op->n_takes, op->job))
        return;
    n_refused = bind_all(t, job, op);
    if (n_refused)
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "j-%" PRIu64 ": %zu of %zu parts cannot be placed as decided", op->job,
                    n_refused, op->n_parts);
    else if (is_on(t, RULE_GANG) && job->row->state == JOB_PENDING && !gang_is_whole(job))
        refuse(t, op, WAIT_GANG_INCOMPLETE, "so few would start less than its minimum");
    else
        job_review(t, job);
}

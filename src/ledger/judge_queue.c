/* Judge of queues and tokens. Queues make a tree below `root`; `default` is always there. */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/states.h"

static bool is_below(const struct mirror *mirror, const char *queue, const char *above)
{
    const struct row_queue *row = mirror_find(mirror, ROW_QUEUE, queue);

    for (; row; row = mirror_find(mirror, ROW_QUEUE, row->parent))
        if (strcmp(row->name, above) == 0)
            return true;
    return false;
}

/* The parent as it will be: root unless another is said; "" for root itself. */
static const char *parent_of(const struct op_queue_put *op)
{
    if (strcmp(op->name, "root") == 0)
        return op->parent ? op->parent : "";
    return op->parent && *op->parent ? op->parent : "root";
}

/* How many stand between a queue and one that is above it, and that one; or all above, of NULL. 0
 * if it is not above. */
static size_t steps_up(const struct mirror *mirror, const char *queue, const char *above)
{
    const struct row_queue *row = mirror_find(mirror, ROW_QUEUE, queue);
    size_t n = 0;

    while (row && !text_eq(row->name, above) && (row = mirror_find(mirror, ROW_QUEUE, row->parent)))
        n++;
    return row || !above ? n : 0;
}

/* A queue moves with all that is beneath it. */
static bool is_depth_valid(struct trial *t, const char *name, const char *parent)
{
    const struct row_queue *row = mirror_find(t->mirror, ROW_QUEUE, name);
    CLEANUP(freep) const char **names = NULL;
    size_t depth = steps_up(t->mirror, parent, NULL) + 1, below = 0, n;

    if (row && text_eq(row->parent, parent))
        return true; /* it stays where it is */
    names = mirror_names(t->mirror, ROW_QUEUE, &n);
    for (size_t i = 0; row && i < n; i++) {
        size_t steps = steps_up(t->mirror, names[i], name);
        below = steps > below ? steps : below;
    }
    if (depth + below <= QUEUE_DEPTH_MAX)
        return true;
    problem_add(t->problem, PROBLEM_INVALID_FIELD, "/parent",
                "below %s %s would have %zu queues above it; at most %d", parent,
                below ? "what is below it" : name, depth + below, QUEUE_DEPTH_MAX);
    return false;
}

static bool is_parent_valid(struct trial *t, const char *name, const char *parent)
{
    CLEANUP(freep) const char **names = NULL;
    const char *meant;
    size_t n;

    if (strcmp(name, "root") == 0) {
        if (*parent)
            problem_add(t->problem, PROBLEM_INVALID_FIELD, "/parent", "root has no parent");
        return !*parent;
    }
    if (!mirror_find(t->mirror, ROW_QUEUE, parent)) {
        names = mirror_names(t->mirror, ROW_QUEUE, &n);
        meant = nearest(parent, names, n);
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/parent", "there is no queue %s%s%s%s",
                    parent, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
        return false;
    }
    if (is_below(t->mirror, parent, name)) {
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/parent", "%s is below %s", parent, name);
        return false;
    }
    return is_depth_valid(t, name, parent);
}

/* ---- shares ---- */

static const json_t *share_of(const json_t *spec, const char *key, const char *resource)
{
    return json_object_get(json_object_get(spec, key), resource);
}

/* Refuses an amount of a queue that is above a bound; `of` says whose the bound is. */
static void refuse_share(struct trial *t, const char *key, const char *resource, int64_t value,
                         int64_t bound, const char *of)
{
    CLEANUP(str_fini) struct str amount = { 0 }, most = { 0 };
    CLEANUP(freep) char *pointer = text_format("/%s/%s", key, resource);

    quantity_format(value, quantity_unit_of(resource), &amount);
    quantity_format(bound, quantity_unit_of(resource), &most);
    problem_add(t->problem, PROBLEM_INVALID_FIELD, pointer, "%s is above %s, which is %s",
                str_text(&amount), of, str_text(&most));
}

/* No amount of `key` may be above the queue's own cap, for it could never be had. */
static void check_own_cap(struct trial *t, const json_t *spec, const char *key)
{
    const char *resource;
    json_t *value;

    json_object_foreach(json_object_get(spec, key), resource, value)
    {
        const json_t *cap = share_of(spec, "cap", resource);

        if (cap && json_integer_value(value) > json_integer_value(cap))
            refuse_share(t, key, resource, json_integer_value(value), json_integer_value(cap),
                         "the queue's own cap");
    }
}

/* What the queues below one are guaranteed together, of one resource. */
static int64_t guaranteed_below(const struct mirror *mirror, const char *parent, const char *but,
                                const char *resource)
{
    CLEANUP(freep) const char **names = NULL;
    int64_t sum = 0;
    size_t n;

    names = mirror_names(mirror, ROW_QUEUE, &n);
    for (size_t i = 0; i < n; i++) {
        const struct row_queue *row = mirror_find(mirror, ROW_QUEUE, names[i]);
        json_t *spec;

        if (strcmp(row->parent, parent) != 0 || strcmp(row->name, but) == 0)
            continue;
        spec = json_loads(row->spec, 0, NULL);
        sum += json_integer_value(share_of(spec, "guarantee", resource));
        json_decref(spec);
    }
    return sum;
}

/* A guarantee is kept out of the parent's: with those of its siblings it must fit in there. */
static void check_guarantee(struct trial *t, const char *name, const json_t *spec,
                            const struct row_queue *parent)
{
    json_t *above, *value;
    const char *resource;

    if (!parent)
        return;
    above = json_loads(parent->spec, 0, NULL);
    json_object_foreach(json_object_get(spec, "guarantee"), resource, value)
    {
        const json_t *kept = share_of(above, "guarantee", resource);
        const json_t *cap = share_of(above, "cap", resource);
        int64_t own = json_integer_value(value);
        int64_t all = own + guaranteed_below(t->mirror, parent->name, name, resource);
        CLEANUP(freep) char *of = NULL;

        if (kept && own > json_integer_value(kept)) {
            of = text_format("the guarantee of its parent %s", parent->name);
            refuse_share(t, "guarantee", resource, own, json_integer_value(kept), of);
        } else if (kept && all > json_integer_value(kept)) {
            of = text_format("(with its siblings) the guarantee of its parent %s", parent->name);
            refuse_share(t, "guarantee", resource, all, json_integer_value(kept), of);
        } else if (cap && own > json_integer_value(cap)) {
            of = text_format("the cap of its parent %s", parent->name);
            refuse_share(t, "guarantee", resource, own, json_integer_value(cap), of);
        }
    }
    json_decref(above);
}

/* What is promised below a queue must stay within what it is promised itself. */
static void check_below(struct trial *t, const char *name, const json_t *spec)
{
    const char *resource;
    json_t *value;

    json_object_foreach(json_object_get(spec, "guarantee"), resource, value)
    {
        int64_t below = guaranteed_below(t->mirror, name, "", resource);
        CLEANUP(freep) char *pointer = text_format("/guarantee/%s", resource);
        CLEANUP(str_fini) struct str amount = { 0 };

        if (below <= json_integer_value(value))
            continue;
        quantity_format(below, quantity_unit_of(resource), &amount);
        problem_add(t->problem, PROBLEM_INVALID_FIELD, pointer,
                    "the queues below it are guaranteed %s together", str_text(&amount));
    }
}

static bool are_shares_valid(struct trial *t, const struct op_queue_put *op)
{
    json_t *spec = op->spec && *op->spec ? json_loads(op->spec, 0, NULL) : NULL;

    check_own_cap(t, spec, "guarantee");
    check_own_cap(t, spec, "deserved");
    check_guarantee(t, op->name, spec, mirror_find(t->mirror, ROW_QUEUE, parent_of(op)));
    check_below(t, op->name, spec);
    json_decref(spec);
    return t->problem->code == PROBLEM_NONE;
}

static bool is_queue_valid(struct trial *t, const struct op_queue_put *op)
{
    if (!name_is_valid(op->name))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/name", "it must be [a-z0-9-]{1,63}");
    else if (op->state >= QUEUE_STATE_COUNT)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/state", "it is no state of a queue");
    else if (op->spec && *op->spec && !json_is_well(op->spec, '{'))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "", "its settings must be an object");
    else
        return is_parent_valid(t, op->name, parent_of(op)) && are_shares_valid(t, op);
    return false;
}

static bool is_due(struct trial *t, const struct op_queue_put *op, const struct row_queue *was)
{
    if (was && op->is_create)
        problem_set(t->problem, PROBLEM_CONFLICT, "queue %s exists", op->name);
    else if (!was && !op->is_create)
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no queue %s", op->name);
    else if (was && op->if_rev && op->if_rev != was->rev)
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "queue %s is at revision %" PRIu64 ", not %" PRIu64, op->name, was->rev,
                    op->if_rev);
    else
        return is_queue_valid(t, op);
    return false;
}

void judge_queue_put(struct trial *t, struct op_queue_put *op)
{
    const struct row_queue *was = mirror_find(t->mirror, ROW_QUEUE, op->name);
    struct row_queue *row;

    if (!is_due(t, op, was))
        return;
    row = was ? row_copy(ROW_QUEUE, was) : row_new(ROW_QUEUE);
    row_set(&row->name, op->name);
    row_set(&row->parent, parent_of(op));
    row_set(&row->spec, op->spec && *op->spec ? op->spec : "{}");
    row->state = op->state;
    if (!was)
        row->seq = t->changes->revision + 1;
    if (was && row_eq(ROW_QUEUE, row, was))
        row_free(ROW_QUEUE, row);
    else
        changes_put(t->changes, ROW_QUEUE, row, was ? "queue.changed" : "queue.created");
}

static const char *queue_child(const struct mirror *mirror, const char *name)
{
    CLEANUP(freep) const char **names = NULL;
    size_t n;

    names = mirror_names(mirror, ROW_QUEUE, &n);
    for (size_t i = 0; i < n; i++) {
        const struct row_queue *queue = mirror_find(mirror, ROW_QUEUE, names[i]);
        if (strcmp(queue->parent, name) == 0)
            return queue->name;
    }
    return NULL;
}

static size_t count_jobs(const struct mirror *mirror, const char *queue)
{
    size_t n = 0;

    MAP_EACH (entry, &mirror->jobs) {
        const struct mirror_job *job = entry->value;
        n += strcmp(job->row->queue, queue) == 0 && !job_is_over((enum job_state)job->row->state);
    }
    return n;
}

void judge_queue_delete(struct trial *t, struct op_queue_delete *op)
{
    const struct row_queue *row = mirror_find(t->mirror, ROW_QUEUE, op->name);
    const char *child;
    size_t n;

    if (!row) {
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no queue %s", op->name);
        return;
    }
    if (strcmp(op->name, "root") == 0 || strcmp(op->name, "default") == 0) {
        problem_set(t->problem, PROBLEM_CONFLICT, "queue %s is always there", op->name);
        return;
    }
    child = queue_child(t->mirror, op->name);
    n = count_jobs(t->mirror, op->name);
    if (child)
        problem_set(t->problem, PROBLEM_CONFLICT, "queue %s is the parent of %s", op->name, child);
    else if (n)
        problem_set(t->problem, PROBLEM_CONFLICT, "queue %s has %zu job%s not over", op->name, n,
                    n == 1 ? " that is" : "s that are");
    else
        changes_del(t->changes, ROW_QUEUE, row_copy(ROW_QUEUE, row), "queue.deleted");
}

/* ---- tokens ---- */

static bool are_rights_known(const char *rights)
{
    static const char *const known[] = { "admin", "user", "viewer", "agent" };

    for (size_t i = 0; rights && i < COUNT_OF(known); i++)
        if (strcmp(rights, known[i]) == 0)
            return true;
    return false;
}

void judge_token_put(struct trial *t, struct op_token_put *op)
{
    const struct row_token *was = mirror_find(t->mirror, ROW_TOKEN, op->hash);
    struct row_token *row;

    if (!are_rights_known(op->rights)) {
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/rights",
                    "they must be admin, user, viewer or agent");
        return;
    }
    row = was ? row_copy(ROW_TOKEN, was) : row_new(ROW_TOKEN);
    row_set(&row->hash, op->hash);
    row_set(&row->name, op->name);
    row_set(&row->user, op->user);
    row_set(&row->ns, op->ns);
    row_set(&row->rights, op->rights);
    row->until = op->until;
    if (was && row_eq(ROW_TOKEN, row, was))
        row_free(ROW_TOKEN, row);
    else
        changes_put(t->changes, ROW_TOKEN, row, was ? "token.changed" : "token.created");
}

void judge_token_delete(struct trial *t, struct op_token_delete *op)
{
    const struct row_token *row = mirror_find(t->mirror, ROW_TOKEN, op->hash);

    if (!row)
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no such token");
    else
        changes_del(t->changes, ROW_TOKEN, row_copy(ROW_TOKEN, row), "token.deleted");
}

/* Cycle, decisions to operations: see cycle_ops.h. */
#include "server/cycle_ops.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/str.h"
#include "server/feed.h"

enum {
    RELEASE_MOST = 100,
    ORDERS_MOST = 100,
    OVERDUE_MOST = 500 /* in one cycle; the others in the next */
};

static struct op *add_op(const struct cycle_ops_in *in, enum op_kind kind, struct cycle_ops *out)
{
    struct op *op = op_new(kind, in->done, NULL);

    op->arg = in->new_arg(op, in->maker);
    VEC_PUSH(out, op);
    return op;
}

/* Whether every part names a group of the job. */
static bool parts_are_known(const struct cycle_ops_in *in, const struct berth_group *group,
                            uint64_t job)
{
    for (size_t i = 0; i < group->n_parts; i++)
        if (feed_group_index(in->feed, job, group->parts[i].task.group) < 0)
            return false;
    return true;
}

/* The reservations whose room the group takes, as they were decided on; yours to free. */
static struct op_take *list_takes(const struct berth_group *group)
{
    struct op_take *takes = NEW0_N(struct op_take, group->n_takes + 1);

    for (size_t i = 0; i < group->n_takes; i++) /* a reservation's rank is its number */
        takes[i] = (struct op_take){ feed_job_number(group->takes[i].owner), group->takes[i].seq };
    return takes;
}

static void add_bind(const struct cycle_ops_in *in, const struct berth_group *group, uint64_t job,
                     struct cycle_ops *out)
{
    struct op_bind *bind = &add_op(in, OP_BIND, out)->bind;

    bind->job = job;
    bind->version = group->job_version;
    bind->fence = in->fence;
    bind->decision =
        text_format("%" PRIu64 "/%s", in->revision, group->action ? group->action : "");
    bind->parts = NEW0_N(struct op_bind_part, group->n_parts);
    bind->n_parts = group->n_parts;
    bind->takes = list_takes(group);
    bind->n_takes = group->n_takes;
    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];

        bind->parts[i] = (struct op_bind_part){
            .group = (uint32_t)feed_group_index(in->feed, job, part->task.group),
            .index = part->task.index,
            .number = part->task.attempt,
            .node = text_copy(part->node),
            .facts = part->facts,
        };
    }
}

static void add_fail(const struct cycle_ops_in *in, const struct berth_group *group, uint64_t job,
                     struct cycle_ops *out)
{
    const char *word = wait_codes[group->code].word;

    /* Without parts it is the job that fails. */
    for (size_t i = 0; i < group->n_parts || i == 0; i++) {
        struct op_fail *fail = &add_op(in, OP_FAIL, out)->fail;

        fail->job = job;
        fail->version = group->job_version;
        fail->fence = in->fence;
        fail->code = group->code;
        fail->reason =
            group->resource ? text_format("%s: %s", word, group->resource) : text_copy(word);
        if (i == group->n_parts)
            return;
        fail->is_task = true;
        fail->group = (uint32_t)feed_group_index(in->feed, job, group->parts[i].task.group);
        fail->index = group->parts[i].task.index;
    }
}

static void add_admit(const struct cycle_ops_in *in, const struct berth_group *group, uint64_t job,
                      struct cycle_ops *out)
{
    struct op_admit *admit = &add_op(in, OP_ADMIT, out)->admit;

    admit->job = job;
    admit->version = group->job_version;
    admit->is_admitted = group->kind == BERTH_GROUP_ADMIT;
    admit->fence = in->fence;
}

/* The ledger keeps texts; bytes travel as hex digits. */
static void add_memo(const struct cycle_ops_in *in, const struct berth_group *group,
                     struct cycle_ops *out)
{
    struct op_memo *memo = &add_op(in, OP_MEMO, out)->memo;
    const unsigned char *bytes = group->data;
    struct str hex = { 0 };

    memo->name = text_copy(group->name);
    memo->fence = in->fence;
    if (!bytes)
        return; /* forget it */
    for (size_t i = 0; i < group->size; i++)
        str_addf(&hex, "%02x", bytes[i]);
    memo->value = str_take(&hex);
}

/* Whether the ledger can name all that a group is about. */
static bool is_eviction_known(const struct cycle_ops_in *in, const struct berth_group *group)
{
    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];
        uint64_t job = feed_job_number(part->task.job);
        bool is_own = job == feed_job_number(group->job);

        if (feed_group_index(in->feed, job, part->task.group) < 0 ||
            (part->kind != BERTH_PART_EVICT && !is_own))
            return false;
    }
    return true;
}

static void add_victim(const struct cycle_ops_in *in, const struct berth_part *part,
                       struct op_evict *evict)
{
    uint64_t job = feed_job_number(part->task.job);

    evict->victims[evict->n_victims++] = (struct op_victim){
        .attempt = { job, (uint32_t)feed_group_index(in->feed, job, part->task.group),
                     part->task.index, part->task.attempt },
        .rev = part->version,
    };
}

/* The victims are stopped, and what that frees is held for whom they went. A part that could be
 * bound at once waits for nothing: it is bound with the others. */
static void add_evict(const struct cycle_ops_in *in, const struct berth_group *group,
                      struct cycle_ops *out)
{
    struct op_evict *evict = &add_op(in, OP_EVICT, out)->evict;
    const char *action = group->action ? group->action : "";
    struct feed_reservation open;

    evict->job = feed_job_number(group->job);
    evict->version = group->job_version;
    evict->fence = in->fence;
    evict->reason = text_copy(group->reason ? group->reason : action);
    evict->decision = text_format("%" PRIu64 "/%s", in->revision, action);
    evict->ttl_ms = group->until_ms > in->now_ms ? group->until_ms - in->now_ms : 0;
    evict->victims = NEW0_N(struct op_victim, group->n_parts + 1);
    evict->rooms = NEW0_N(struct op_room, group->n_parts + 1);
    evict->takes = list_takes(group);
    evict->n_takes = group->n_takes;
    if (evict->job && feed_reservation(in->feed, evict->job, &open))
        evict->replaces = open.id;
    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];

        if (part->kind == BERTH_PART_EVICT)
            add_victim(in, part, evict);
        else
            evict->rooms[evict->n_rooms++] = (struct op_room){
                .group = (uint32_t)feed_group_index(in->feed, evict->job, part->task.group),
                .index = part->task.index,
                .node = text_copy(part->node),
                .facts = part->facts,
            };
    }
}

/* A machine, and the room on it for whom it is ordered. Parts on other nodes come with groups of
 * their own. */
static void add_order(const struct cycle_ops_in *in, const struct berth_group *group,
                      struct cycle_ops *out)
{
    struct op_order *order = &add_op(in, OP_ORDER, out)->order;

    order->key = text_copy(group->name);
    order->pool = text_copy(group->pool ? group->pool : "");
    order->shape = feed_amounts_text(&group->shape);
    order->job = feed_job_number(group->job);
    order->version = group->job_version;
    order->decision =
        text_format("%" PRIu64 "/%s", in->revision, group->action ? group->action : "");
    order->ttl_ms = group->until_ms > in->now_ms ? group->until_ms - in->now_ms : 0;
    order->fence = in->fence;
    order->rooms = NEW0_N(struct op_room, group->n_parts + 1);
    for (size_t i = 0; i < group->n_parts; i++)
        order->rooms[order->n_rooms++] = (struct op_room){
            .group = (uint32_t)feed_group_index(in->feed, order->job, group->parts[i].task.group),
            .index = group->parts[i].task.index,
            .node = text_copy(group->name),
        };
}

static void release(const struct cycle_ops_in *in, const struct feed_reservation *open,
                    enum release why, struct cycle_ops *out)
{
    struct op_release *release = &add_op(in, OP_RELEASE, out)->release;

    release->job = open->job;
    release->reservation = open->id;
    release->rev = open->rev;
    release->why = why;
    release->fence = in->fence;
}

/* What is over by its time is released whatever the engine says: see cycle_ops_release_overdue. */
static void add_release(const struct cycle_ops_in *in, const struct berth_group *group,
                        struct cycle_ops *out)
{
    const char *name = group->name && text_begins(group->name, "r-") ? group->name + 2 : NULL;
    int why = states_find(group->reason ? group->reason : "", release_words, RELEASE_COUNT);
    struct feed_reservation open;

    if (why > RELEASE_NONE && why != RELEASE_TIMED_OUT &&
        feed_reservation(in->feed, feed_job_number(name), &open))
        release(in, &open, (enum release)why, out);
}

static void add_group(const struct cycle_ops_in *in, const struct berth_group *group,
                      struct cycle_ops *out)
{
    uint64_t job = feed_job_number(group->job);

    switch (group->kind) {
    case BERTH_GROUP_BIND:
        if (parts_are_known(in, group, job))
            add_bind(in, group, job, out);
        return;
    case BERTH_GROUP_FAIL:
        if (parts_are_known(in, group, job))
            add_fail(in, group, job, out);
        return;
    case BERTH_GROUP_ADMIT:
    case BERTH_GROUP_UNADMIT:
        add_admit(in, group, job, out);
        return;
    case BERTH_GROUP_MEMO:
        add_memo(in, group, out);
        return;
    case BERTH_GROUP_EVICT:
    case BERTH_GROUP_RESERVE:
        if (is_eviction_known(in, group))
            add_evict(in, group, out);
        return;
    case BERTH_GROUP_RELEASE:
        add_release(in, group, out);
        return;
    case BERTH_GROUP_ORDER:
        if (is_eviction_known(in, group))
            add_order(in, group, out);
        return;
    case BERTH_GROUP_KIND_COUNT:
        break;
    }
}

static enum wait_code waited_for(const struct verdicts *verdicts, uint64_t job)
{
    size_t n;
    const struct berth_verdict *verdict = verdicts_find(verdicts, job, &n);

    if (!verdict || !verdict->reason || verdict->reason->code == WAIT_NONE)
        return WAIT_NOT_YET_CONSIDERED;
    return verdict->reason->code;
}

void cycle_ops_fail_overdue(const struct cycle_ops_in *in, const struct verdicts *verdicts,
                            struct cycle_ops *out)
{
    struct feed_due due[OVERDUE_MOST];
    size_t n = feed_overdue(in->feed, in->now_ms, due, COUNT_OF(due));

    for (size_t i = 0; i < n; i++) {
        struct op_fail *fail = &add_op(in, OP_FAIL, out)->fail;

        fail->job = due[i].job;
        fail->version = due[i].version;
        fail->fence = in->fence;
        fail->code = waited_for(verdicts, due[i].job);
        fail->reason = text_copy("it had not started by its deadline");
    }
}

void cycle_ops_release_overdue(const struct cycle_ops_in *in, struct cycle_ops *out)
{
    struct feed_reservation over[RELEASE_MOST];
    size_t n = feed_to_release(in->feed, in->now_ms, over, COUNT_OF(over));

    for (size_t i = 0; i < n; i++)
        release(in, &over[i], RELEASE_TIMED_OUT, out);
}

void cycle_ops_fail_orders(const struct cycle_ops_in *in, int64_t ttl_ms, struct cycle_ops *out)
{
    const char *over[ORDERS_MOST];
    size_t n = feed_orders_over(in->feed, in->now_ms, ttl_ms, over, COUNT_OF(over));

    for (size_t i = 0; i < n; i++) {
        struct op_order_state *state = &add_op(in, OP_ORDER_STATE, out)->order_state;

        state->key = text_copy(over[i]);
        state->state = ORDER_FAILED;
        state->reason = text_copy("nobody brought it in time");
        state->fence = in->fence;
    }
}

void cycle_ops_stop_short(const struct cycle_ops_in *in, int64_t timeout_ms, struct cycle_ops *out)
{
    uint64_t job = 0;

    while ((job = feed_short(in->feed, in->now_ms, timeout_ms, job))) {
        struct op_evict *evict = &add_op(in, OP_EVICT, out)->evict;
        CLEANUP(freep)
        struct feed_attempt *running = feed_running(in->feed, job, &evict->n_victims);

        evict->fence = in->fence;
        evict->reason = text_copy("its gang ran short for too long");
        evict->decision = text_format("%" PRIu64 "/gangTimeout", in->revision);
        evict->victims = NEW0_N(struct op_victim, evict->n_victims + 1);
        for (size_t i = 0; i < evict->n_victims; i++)
            evict->victims[i] =
                (struct op_victim){ .attempt = running[i].key, .rev = running[i].rev };
    }
}

void cycle_ops_make(const struct cycle_ops_in *in, const struct berth_decisions *decisions,
                    struct cycle_ops *out)
{
    for (size_t i = 0; i < decisions->n_groups; i++)
        add_group(in, &decisions->groups[i], out);
}

/* The answer of a cycle: groups of decisions, and the digest over all of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/outside.h"
#include "engine/room.h"
#include "engine/session.h"
#include "engine/shape.h"
#include "engine/victims.h"

const char *const berth_group_kind_words[BERTH_GROUP_KIND_COUNT] = {
    [BERTH_GROUP_BIND] = "bind",       [BERTH_GROUP_EVICT] = "evict",
    [BERTH_GROUP_RESERVE] = "reserve", [BERTH_GROUP_RELEASE] = "release",
    [BERTH_GROUP_ORDER] = "order",     [BERTH_GROUP_ADMIT] = "admit",
    [BERTH_GROUP_UNADMIT] = "unadmit", [BERTH_GROUP_FAIL] = "fail",
    [BERTH_GROUP_MEMO] = "memo",
};

struct berth_amounts asks_show(const struct model *model, struct arena *arena,
                               const struct asks *asks)
{
    struct berth_amount *at = ARENA_NEW0_N(arena, struct berth_amount, asks->n + 1);
    size_t n = 0;

    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].dim != DIM_PODS)
            at[n++] =
                (struct berth_amount){ arena_text(arena, model->dims.at[asks->at[i].dim]->name),
                                       asks->at[i].value };
    return (struct berth_amounts){ at, n };
}

void kind_answers_begin(const struct session *s, struct kind *kind)
{
    if (kind->answered == s->number)
        return;
    kind->answered = s->number;
    kind->reason = NULL;
    kind->shown = NULL;
    kind->n_ever = UINT64_MAX;
}

static struct berth_amounts task_shows(struct session *s, const struct task *task)
{
    struct kind *kind = task->group->kind;

    if (task->extra && task->extra->has_holds)
        return asks_show(s->model, s->out, &task->extra->holds);
    kind_answers_begin(s, kind);
    if (!kind->shown) {
        struct berth_amounts *shown = ARENA_NEW0(s->out, struct berth_amounts);
        *shown = asks_show(s->model, s->out, &kind->asks);
        kind->shown = shown;
    }
    return *kind->shown;
}

static struct berth_task_ref task_refer(struct session *s, const struct task *task, const char *job,
                                        uint32_t attempt)
{
    return (struct berth_task_ref){
        .job = job ? job : arena_text(s->out, task->group->job->id),
        .group = arena_text(s->out, task->group->spec->name),
        .index = task->index,
        .attempt = attempt,
    };
}

static void part_fill(struct session *s, const struct op *op, const char *job,
                      struct berth_part *part)
{
    const struct task *task = op->task;
    bool own = job && strcmp(job, task->group->job->id) == 0;
    uint32_t attempt = op->kind == OP_EVICT ? task->attempt : task->attempt + 1;

    part->kind = op->kind == OP_EVICT      ? BERTH_PART_EVICT
                 : op->kind == OP_ALLOCATE ? BERTH_PART_BIND
                                           : BERTH_PART_RESERVE;
    part->task = task_refer(s, task, own ? job : NULL, attempt);
    part->version = op->kind == OP_EVICT ? task->version : 0;
    part->node = arena_text(s->out, op->node->id);
    part->facts = op->node->kept ? op->node->kept->facts : 0;
    part->generation = op->node->kept ? op->node->kept->generation : 0;
    part->holds = op->hold && op->hold->asks.n ? asks_show(s->model, s->out, &op->hold->asks)
                                               : task_shows(s, task);
    if (op->hold)
        hold_show(s->model, op->node, op->hold, s->out, part);
    part->score = op->kind == OP_EVICT ? 0 : op->score;
    part->reservation = op->reservation ? arena_text(s->out, op->reservation) : NULL;
    if (op->kind != OP_EVICT && task->group->spec->n_host_ports) {
        part->n_host_ports = task->group->spec->n_host_ports;
        part->host_ports = arena_copy(s->out, task->group->spec->host_ports,
                                      part->n_host_ports * sizeof(uint16_t));
    }
}

static struct berth_group *group_add(struct session *s, enum berth_group_kind kind,
                                     const struct job *job)
{
    struct berth_group *group = VEC_ADD(&s->groups);

    group->kind = kind;
    group->action = s->action;
    if (job) {
        group->job = arena_text(s->out, job->id);
        group->job_version = job->kept->version;
    }
    return group;
}

/* The parts of some ops: binds alone, or evictions with what they are for. */
static void add_parts(struct session *s, struct berth_group *group, const struct op *ops, size_t n,
                      bool binds)
{
    struct berth_part *parts = ARENA_NEW0_N(s->out, struct berth_part, group->n_parts + n + 1);
    size_t n_parts = group->n_parts;

    if (n_parts)
        memcpy(parts, group->parts, n_parts * sizeof(*parts));

    for (size_t i = 0; i < n; i++) {
        if (ops[i].kind == OP_UNPIPELINE || ops[i].kind == OP_FAIL || ops[i].kind == OP_TAKE ||
            (binds && ops[i].kind != OP_ALLOCATE))
            continue;
        part_fill(s, &ops[i], group->job, &parts[n_parts++]);
        if (ops[i].kind == OP_EVICT) {
            group->reason = ops[i].reason;
            s->n_evicted++;
        } else if (ops[i].kind == OP_ALLOCATE) {
            s->n_placed++;
        } else {
            s->n_reserved++;
        }
    }
    group->parts = parts;
    group->n_parts = n_parts;
}

static bool is_among(const struct berth_take *takes, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(takes[i].reservation, id) == 0)
            return true;
    return false;
}

/* The reservations that some ops take, in their order. Who loses one is tried no more. */
static void add_takes(struct session *s, struct berth_group *group, const struct op *ops, size_t n)
{
    struct berth_take *takes = ARENA_NEW0_N(s->out, struct berth_take, n + 1);

    for (size_t i = 0; i < n; i++) {
        const struct held_room *room = ops[i].room;
        if (ops[i].kind != OP_TAKE || is_among(takes, group->n_takes, room->by->id))
            continue;
        seat_of(s, room->job)->was_taken = true;
        group->reason = ops[i].reason;
        takes[group->n_takes++] =
            (struct berth_take){ arena_text(s->out, room->by->id),
                                 arena_text(s->out, room->job->id), room->by->seq };
    }
    group->takes = takes;
    s->n_taken += group->n_takes;
}

static int by_node(const void *a, const void *b)
{
    const struct berth_part *x = *(const struct berth_part *const *)a;
    const struct berth_part *y = *(const struct berth_part *const *)b;
    int cmp = strcmp(x->node, y->node);

    return cmp ? cmp : (x > y) - (x < y); /* they are in one array */
}

/* The evictions on a node among those that are sorted: where they begin, and how many. */
static size_t find_evictions(struct berth_part *const *sorted, size_t n, const char *node,
                             size_t *first)
{
    size_t low = 0, high = n, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle]->node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < n && strcmp(sorted[end]->node, node) == 0;)
        end++;
    *first = low;
    return end - low;
}

static bool is_evicted_by(struct berth_part *const *evictions, size_t n, const struct task *task)
{
    for (size_t i = 0; i < n; i++)
        if (evictions[i]->task.index == task->index &&
            strcmp(evictions[i]->task.job, task->group->job->id) == 0 &&
            strcmp(evictions[i]->task.group, task->group->spec->name) == 0)
            return true;
    return false;
}

/* What a reserved part waits for: the evictions of its group on its node, and others there who are
 * stopping already, if that takes them. */
static void list_waits(struct session *s, struct berth_part *part, struct berth_part *const *own,
                       size_t n_own)
{
    struct node *node = node_find(s->model, part->node);
    struct victims there =
        node && node->at != NOWHERE ? node_tasks(s, node) : (struct victims){ 0 };
    struct berth_task_ref *waits = ARENA_NEW0_N(s->out, struct berth_task_ref, n_own + there.n + 1);

    for (size_t i = 0; i < n_own; i++)
        waits[part->n_waits++] = own[i]->task;
    for (size_t i = 0; i < there.n; i++)
        if (room_waits_for(s->model, there.at[i]) && !is_evicted_by(own, n_own, there.at[i]))
            waits[part->n_waits++] = task_refer(s, there.at[i], NULL, there.at[i]->attempt);
    part->waits = waits;
}

static void add_waits(struct session *s, struct berth_group *group, struct berth_part *parts)
{
    struct berth_part **sorted = NEW0_N(struct berth_part *, group->n_parts + 1);
    size_t n = 0, first;

    for (size_t i = 0; i < group->n_parts; i++)
        if (parts[i].kind == BERTH_PART_EVICT)
            sorted[n++] = &parts[i];
    qsort(sorted, n, sizeof(struct berth_part *), by_node);
    for (size_t i = 0; i < group->n_parts; i++) {
        size_t n_own;
        if (parts[i].kind != BERTH_PART_RESERVE)
            continue;
        n_own = find_evictions(sorted, n, parts[i].node, &first);
        list_waits(s, &parts[i], &sorted[first], n_own);
    }
    free(sorted);
}

/* The reservation that is made with a group: its owner has one at most. */
static void name_reservation(struct session *s, struct berth_group *group)
{
    if (!group->job || s->policy->reservations != RESERVATIONS_DURABLE)
        return;
    group->name = arena_format(s->out, "r-%s", group->job);
    group->until_ms = s->policy->reservation_ttl_ms == BERTH_NEVER
                          ? 0
                          : s->in.now_ms + s->policy->reservation_ttl_ms;
}

static bool has_best_effort(const struct job *job)
{
    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].kind->best_effort)
            return true;
    return false;
}

/* Members that ask for nothing are placed by another action than the rest of a gang: up to its
 * minimum they begin together all the same, in one group. */
static struct berth_group *bind_group(struct session *s, const struct job *job, bool takes)
{
    struct seat *seat = job ? seat_of(s, (struct job *)job) : NULL;
    bool is_gang = job && !s->setup->is_reference && job->min_available > 1 && has_best_effort(job);
    struct berth_group *group;

    if (is_gang && seat->gang && !takes &&
        s->groups.at[seat->gang - 1].n_parts < job->min_available)
        return &s->groups.at[seat->gang - 1];
    group = group_add(s, BERTH_GROUP_BIND, job);
    if (is_gang && !seat->gang)
        seat->gang = s->groups.n;
    return group;
}

void answer_gangs(struct session *s)
{
    size_t n = 0;

    VEC_EACH (op, &s->log) {
        struct job *job = op->task->group->job;
        struct seat *seat = seat_of(s, job);
        struct berth_group *group;

        if (op->kind != OP_ALLOCATE || !op->is_sealed || !seat->gang ||
            job_n_ready(job) >= job->min_available)
            continue;
        group = &s->groups.at[seat->gang - 1];
        op->is_sealed = false; /* it waits */
        s->n_placed -= group->n_parts;
        group->n_parts = 0;
    }
    for (size_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i].kind != BERTH_GROUP_BIND || s->groups.at[i].n_parts)
            s->groups.at[n++] = s->groups.at[i];
    s->groups.n = n;
}

void answer_ops(struct session *s, const struct op *ops, size_t n, const struct job *job)
{
    bool evicts = false, binds = false, takes = false;
    struct berth_group *group;

    for (size_t i = 0; i < n; i++) {
        evicts = evicts || ops[i].kind == OP_EVICT;
        binds = binds || ops[i].kind == OP_ALLOCATE;
        takes = takes || ops[i].kind == OP_TAKE;
    }
    if (binds && job)
        seat_of(s, (struct job *)job)->was_bound = true;
    if (evicts || (takes && !binds)) {
        group = group_add(s, evicts ? BERTH_GROUP_EVICT : BERTH_GROUP_RESERVE, job);
        add_parts(s, group, ops, n, false);
        add_waits(s, group, (struct berth_part *)group->parts);
        name_reservation(s, group);
    } else if (binds) {
        group = bind_group(s, job, takes);
        add_parts(s, group, ops, n, true);
    } else {
        return;
    }
    if (takes)
        add_takes(s, group, ops, n);
}

void answer_admit(struct session *s, const struct job *job)
{
    group_add(s, BERTH_GROUP_ADMIT, job);
}

void answer_release(struct session *s, const char *id, const char *reason)
{
    struct berth_group *group = group_add(s, BERTH_GROUP_RELEASE, NULL);

    group->name = arena_text(s->out, id);
    group->reason = reason;
}

void answer_let_go(struct session *s, const struct job *job)
{
    struct seat *seat = seat_of(s, (struct job *)job);
    size_t first = s->groups.n;
    struct berth_group release;

    while (first && text_eq(s->groups.at[first - 1].job, job->id))
        first--;
    for (const struct held_room *room = seat->rooms; room; room = room->next) {
        seat->gang += seat->gang > first;
        answer_release(s, room->by->id, "MOVED");
        release = s->groups.at[s->groups.n - 1];
        memmove(&s->groups.at[first + 1], &s->groups.at[first],
                (s->groups.n - 1 - first) * sizeof(release));
        s->groups.at[first++] = release;
    }
}

void answer_unadmit(struct session *s, const struct job *job, enum wait_code code)
{
    group_add(s, BERTH_GROUP_UNADMIT, job)->code = code;
}

void answer_fail(struct session *s, const struct job *job, enum wait_code code,
                 const char *resource)
{
    struct berth_group *group = group_add(s, BERTH_GROUP_FAIL, job);

    group->code = code;
    group->resource = resource ? arena_text(s->out, resource) : NULL;
}

void answer_fail_task(struct session *s, const struct task *task, enum wait_code code,
                      const char *resource)
{
    struct berth_part *part = ARENA_NEW0(s->out, struct berth_part);
    struct berth_group *group;

    answer_fail(s, task->group->job, code, resource);
    group = &s->groups.at[s->groups.n - 1];
    part->task = task_refer(s, task, group->job, task->attempt);
    group->parts = part;
    group->n_parts = 1;
}

struct berth_group *answer_room(struct session *s, enum berth_group_kind kind,
                                const struct job *job, const struct op *ops, size_t n,
                                const struct node *node)
{
    struct berth_group *group = group_add(s, kind, job);
    struct berth_part *parts = ARENA_NEW0_N(s->out, struct berth_part, n + 1);

    for (size_t i = 0; i < n; i++) {
        bool is_meant = node ? ops[i].node == node : ops[i].node && ops[i].node->at != NOWHERE;
        if (ops[i].kind != OP_PIPELINE || !is_meant)
            continue;
        part_fill(s, &ops[i], group->job, &parts[group->n_parts++]);
        s->n_reserved++;
    }
    group->parts = parts;
    return group;
}

void answer_memo(struct session *s, const char *name, const void *data, size_t size)
{
    struct berth_group *group = group_add(s, BERTH_GROUP_MEMO, NULL);

    group->name = arena_text(s->out, name);
    group->data = arena_copy(s->out, data, size);
    group->size = size;
}

static const uint64_t digest_seeds[2][2] = { { 0x6265727468, 1 }, { 0x6265727468, 2 } };

static void fold(uint64_t digest[2], struct str *text)
{
    for (int i = 0; i < 2; i++) {
        uint64_t seed[2] = { digest_seeds[i][0] ^ digest[i], digest_seeds[i][1] };
        digest[i] = map_hash(seed, str_text(text), text->len);
    }
    str_clear(text);
}

void answer_digest(struct session *s, struct berth_decisions *out)
{
    CLEANUP(str_fini) struct str text = { 0 };
    uint64_t digest[2] = { 0 };

    str_addf(&text, "engine %s revision %" PRIu64 " now %" PRId64 " seed %" PRIu64 "\n",
             BERTH_ENGINE_VERSION, s->in.revision, s->in.now_ms, s->in.seed);
    str_add(&text, s->setup->profile);
    if (s->setup->kept)
        shape_write(shape_of[BERTH_CONFIG], s->setup->kept, 0, &text);
    for (size_t i = 0; i < s->setup->n_uses; i++) {
        const struct outside *outside = outside_of(&s->setup->uses[i]);
        str_addf(&text, " %s", s->setup->uses[i].plugin->name);
        if (outside)
            str_addf(&text, " %s %s", outside->given.version, outside->hash);
    }
    fold(digest, &text);
    for (size_t i = 0; i < out->n_groups; i++) {
        shape_write(&shape_group, &out->groups[i], 0, &text);
        fold(digest, &text);
    }
    for (size_t i = 0; i < out->n_verdicts; i++) {
        const struct berth_verdict *v = &out->verdicts[i];
        str_addf(&text, "%s/%s %" PRIu32, v->job, v->group ? v->group : "", v->n_tasks);
        /* Reasons are shared by many; each is written where it changes. */
        if (i == 0 || v->reason != out->verdicts[i - 1].reason)
            shape_write(&shape_reason, v->reason, 0, &text);
        if (text.len > 4096)
            fold(digest, &text);
    }
    str_addf(&text, "wake %" PRId64 " limited %d", out->wake_at_ms, out->limited);
    fold(digest, &text);
    snprintf(out->digest, sizeof(out->digest), "%016" PRIx64 "%016" PRIx64, digest[0], digest[1]);
}

/* The framework: see framework.h. How the answers of several plugins become one. */
#include "engine/framework.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/quantity.h"
#include "base/str.h"
#include "engine/devices.h"
#include "engine/session.h"
#include "engine/topology.h"

#define NO_HOOK BERTH_HOOK_COUNT /* it has no switch */

#define MEMBER(what, hook, member) [what] = { hook, offsetof(struct plugin, member) }
static const struct {
    enum berth_hook hook;
    size_t at;
} members[HOOKED_COUNT] = {
    MEMBER(HOOKED_JOB_ORDER, BERTH_HOOK_JOB_ORDER, job_order),
    MEMBER(HOOKED_TASK_ORDER, BERTH_HOOK_TASK_ORDER, task_order),
    MEMBER(HOOKED_QUEUE_ORDER, BERTH_HOOK_QUEUE_ORDER, queue_order),
    MEMBER(HOOKED_SUB_JOB_ORDER, BERTH_HOOK_SUB_JOB_ORDER, sub_job_order),
    MEMBER(HOOKED_VICTIM_QUEUE_ORDER, NO_HOOK, victim_queue_order),
    MEMBER(HOOKED_JOB_VALID, NO_HOOK, job_valid),
    MEMBER(HOOKED_JOB_READY, BERTH_HOOK_JOB_READY, job_ready),
    MEMBER(HOOKED_JOB_PIPELINED, BERTH_HOOK_JOB_PIPELINED, job_pipelined),
    MEMBER(HOOKED_JOB_STARVING, BERTH_HOOK_JOB_STARVING, job_starving),
    MEMBER(HOOKED_SUB_JOB_READY, BERTH_HOOK_SUB_JOB_READY, sub_job_ready),
    MEMBER(HOOKED_SUB_JOB_PIPELINED, BERTH_HOOK_SUB_JOB_PIPELINED, sub_job_pipelined),
    MEMBER(HOOKED_JOB_ENQUEUEABLE, BERTH_HOOK_JOB_ENQUEUED, job_enqueueable),
    MEMBER(HOOKED_JOB_ENQUEUED, BERTH_HOOK_JOB_ENQUEUED, job_enqueued),
    MEMBER(HOOKED_IS_LOCAL, NO_HOOK, is_local),
    MEMBER(HOOKED_PREDICATE_FIXED, BERTH_HOOK_PREDICATE, predicate_fixed),
    MEMBER(HOOKED_PREDICATE, BERTH_HOOK_PREDICATE, predicate),
    MEMBER(HOOKED_NEVER, BERTH_HOOK_PREDICATE, never),
    MEMBER(HOOKED_EXCLUDES, BERTH_HOOK_PREDICATE, excludes),
    MEMBER(HOOKED_SCORE, BERTH_HOOK_NODE_ORDER, score),
    MEMBER(HOOKED_RANK, BERTH_HOOK_NODE_ORDER, rank),
    MEMBER(HOOKED_DEVICE_ORDER, BERTH_HOOK_NODE_ORDER, device_order),
    MEMBER(HOOKED_SCORE_ALL, BERTH_HOOK_NODE_ORDER, score_all),
    MEMBER(HOOKED_PREEMPTABLE, BERTH_HOOK_PREEMPTABLE, preemptable),
    MEMBER(HOOKED_RECLAIMABLE, BERTH_HOOK_RECLAIMABLE, reclaimable),
    MEMBER(HOOKED_EVICTABLE, NO_HOOK, evictable),
    MEMBER(HOOKED_VICTIMS, BERTH_HOOK_VICTIM, victims),
    MEMBER(HOOKED_OVERUSED, BERTH_HOOK_OVERUSED, overused),
    MEMBER(HOOKED_PREEMPTIVE, BERTH_HOOK_PREEMPTIVE, preemptive),
    MEMBER(HOOKED_ALLOCATABLE, BERTH_HOOK_ALLOCATABLE, allocatable),
    MEMBER(HOOKED_STARTABLE, BERTH_HOOK_ALLOCATABLE, startable),
    MEMBER(HOOKED_DOMAIN_SCORES, BERTH_HOOK_HYPER_NODE_ORDER, domain_scores),
    MEMBER(HOOKED_GRADIENTS, BERTH_HOOK_HYPER_NODE_GRADIENT, gradients),
    MEMBER(HOOKED_DESERVED, NO_HOOK, deserved),
    MEMBER(HOOKED_FAIR_SHARE, NO_HOOK, fair_share),
    MEMBER(HOOKED_DEMAND, NO_HOOK, demand),
    MEMBER(HOOKED_ON_ALLOCATE, NO_HOOK, on_allocate),
    MEMBER(HOOKED_ON_DEALLOCATE, NO_HOOK, on_deallocate),
    MEMBER(HOOKED_CLOSE, NO_HOOK, close),
};

static bool is_hooked(const struct plugin_use *use, size_t what)
{
    void (*hook)(void);

    memcpy(&hook, (const char *)use->plugin + members[what].at, sizeof(hook));
    return hook &&
           (members[what].hook == NO_HOOK || (use->enabled & BERTH_HOOK_BIT(members[what].hook)));
}

void framework_hook(struct plugin_use *uses, size_t n, struct arena *arena,
                    struct hooked hooked[HOOKED_COUNT])
{
    for (size_t what = 0; what < HOOKED_COUNT; what++) {
        struct hooked *list = &hooked[what];
        *list = (struct hooked){ ARENA_NEW0_N(arena, struct plugin_use *, n + 1), 0 };
        for (size_t i = 0; i < n; i++)
            if (is_hooked(&uses[i], what))
                list->at[list->n++] = &uses[i];
    }
}

#define USES(use, s, what)                                                                         \
    for (struct plugin_use *const *at_ = (s)->setup->hooked[what].at,                              \
                                  *const *end_ = at_ + (s)->setup->hooked[what].n,                 \
                                  *use = at_ < end_ ? *at_ : NULL;                                 \
         at_ < end_; at_++, use = at_ < end_ ? *at_ : NULL)

/* --- Orders */

int job_plugin_cmp(struct session *s, const struct job *a, const struct job *b)
{
    USES (use, s, HOOKED_JOB_ORDER) {
        int cmp = use->plugin->job_order(s, use, a, b);
        if (cmp)
            return cmp;
    }
    return 0;
}

static int64_t created_at(const struct session *s, int64_t at_ms)
{
    return at_ms ? at_ms : s->in.now_ms;
}

static int by_time(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int job_cmp(struct session *s, const struct job *a, const struct job *b)
{
    int cmp = job_plugin_cmp(s, a, b);

    if (cmp)
        return cmp;
    if (s->policy->job_tie == JOB_TIE_SEQ)
        return job_rank_cmp(a, b);
    cmp = by_time(created_at(s, a->kept->created_at_ms), created_at(s, b->kept->created_at_ms));
    return cmp ? cmp : strcmp(a->id, b->id);
}

bool job_has_key(const struct session *s)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_JOB_ORDER];

    if (s->policy->job_tie != JOB_TIE_SEQ || hooked->n > JOB_KEYS)
        return false;
    for (size_t i = 0; i < hooked->n; i++)
        if (!hooked->at[i]->plugin->job_key)
            return false;
    return true;
}

void job_keys(struct session *s, const struct job *job, int64_t keys[JOB_KEYS])
{
    size_t i = 0;

    USES (use, s, HOOKED_JOB_ORDER)
        keys[i++] = use->plugin->job_key(s, use, job);
}

/* The queue that it hangs under, or NULL. */
static const struct queue *queue_above(const struct session *s, const struct queue *queue)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) nobody asks above the last one, see queue_depth */
    const struct queue *up = queue_find(s->model, queue->kept->parent);

    return up && up->kept ? up : NULL;
}

/* How many stand above it; in a circle it hangs under none. */
static size_t queue_depth(const struct session *s, const struct queue *queue)
{
    size_t depth = 0;

    while (depth <= QUEUE_DEPTH_MAX && (queue = queue_above(s, queue)))
        depth++;
    return depth <= QUEUE_DEPTH_MAX ? depth : 0;
}

/*
 * Where two branches part, what they part into says who goes first: plugins compare those, so with the
 * queues' own ranks who is first of three might hang on who is asked first. A queue stands among those
 * right beneath it.
 */
static void find_parting(const struct session *s, const struct queue **a, const struct queue **b)
{
    size_t n = queue_depth(s, *a), m = queue_depth(s, *b);

    for (; n > m && queue_above(s, *a) != *b; n--)
        *a = queue_above(s, *a);
    for (; m > n && queue_above(s, *b) != *a; m--)
        *b = queue_above(s, *b);
    for (; n && n == m && queue_above(s, *a) != queue_above(s, *b); n--, m--) {
        *a = queue_above(s, *a);
        *b = queue_above(s, *b);
    }
}

int queue_cmp(struct session *s, const struct queue *a, const struct queue *b)
{
    int cmp;

    USES (use, s, HOOKED_QUEUE_ORDER) {
        cmp = use->plugin->queue_order(s, use, a, b);
        if (cmp)
            return cmp;
    }
    if (!s->setup->is_reference && !text_eq(a->kept->parent, b->kept->parent))
        find_parting(s, &a, &b);
    if (s->policy->job_tie == JOB_TIE_SEQ)
        return queue_rank_cmp(a, b);
    cmp = by_time(created_at(s, a->kept->created_at_ms), created_at(s, b->kept->created_at_ms));
    return cmp ? cmp : strcmp(a->name, b->name);
}

static bool task_number(const struct task *task, int64_t *number)
{
    if (task->group->spec->replicas > 1) {
        *number = task->index;
        return true;
    }
    *number = task->group->number;
    return task->group->has_number;
}

int task_cmp(struct session *s, const struct task *a, const struct task *b)
{
    const struct group *x = a->group, *y = b->group;
    int64_t n, m;
    int cmp;

    USES (use, s, HOOKED_TASK_ORDER) {
        cmp = use->plugin->task_order(s, use, a, b);
        if (cmp)
            return cmp;
    }
    if (s->policy->job_tie == JOB_TIE_SEQ && x->job == y->job)
        return x != y ? (x->at < y->at ? -1 : 1) : (a->index > b->index) - (a->index < b->index);
    if (task_number(a, &n) && task_number(b, &m) && n != m)
        return n < m ? -1 : 1;
    n = x->spec->created_at_ms ? x->spec->created_at_ms : x->job->kept->created_at_ms;
    m = y->spec->created_at_ms ? y->spec->created_at_ms : y->job->kept->created_at_ms;
    cmp = by_time(created_at(s, n), created_at(s, m));
    if (!cmp)
        cmp = strcmp(x->kind->namespace_, y->kind->namespace_);
    if (!cmp)
        cmp = strcmp(x->spec->name, y->spec->name);
    if (!cmp && x->job != y->job)
        cmp = strcmp(x->job->id, y->job->id);
    return cmp ? cmp : (a->index > b->index) - (a->index < b->index);
}

int sub_job_cmp(struct session *s, const struct sub_job *a, const struct sub_job *b)
{
    USES (use, s, HOOKED_SUB_JOB_ORDER) {
        int cmp = use->plugin->sub_job_order(s, use, a, b);
        if (cmp)
            return cmp;
    }
    if (a->match_index != b->match_index)
        return a->match_index < b->match_index ? -1 : 1;
    return strcmp(a->id, b->id);
}

bool victim_queue_before(struct session *s, const struct queue *a, const struct queue *b,
                         const struct queue *for_queue)
{
    USES (use, s, HOOKED_VICTIM_QUEUE_ORDER) {
        int cmp = use->plugin->victim_queue_order(s, use, a, b, for_queue);
        if (cmp)
            return cmp < 0;
    }
    return queue_cmp(s, a, b) > 0;
}

/* --- Yes and no */

bool job_is_valid(struct session *s, const struct job *job, struct why *why)
{
    USES (use, s, HOOKED_JOB_VALID)
        if (!use->plugin->job_valid(s, use, job, why))
            return false;
    return true;
}

/* Whatever plugins there are: a job starts with its minimum or not at all. The reference leaves it to
 * the plugin gang. */
static bool has_minimum(const struct session *s, const struct job *job, uint32_t n_promised)
{
    uint32_t n = job_n_ready(job) + n_promised;

    return s->setup->is_reference || n >= job->min_available ||
           n + job_n_best_effort(job) >= job->min_available;
}

bool job_is_ready(struct session *s, const struct job *job)
{
    if (!has_minimum(s, job, 0))
        return false;
    USES (use, s, HOOKED_JOB_READY)
        if (!use->plugin->job_ready(s, use, job))
            return false;
    return true;
}

bool sub_job_is_ready(struct session *s, const struct sub_job *sub)
{
    if (!sub->is_grouped)
        return job_is_ready(s, sub->job);
    USES (use, s, HOOKED_SUB_JOB_READY)
        if (!use->plugin->sub_job_ready(s, use, sub))
            return false;
    return true;
}

/* A no is final; a yes ends the vote with its tier; nobody's word is a yes. */
#define TIERED_VOTE(s, what, use, ask)                                                             \
    size_t tier_ = 0;                                                                              \
    bool permitted_ = false;                                                                       \
    USES (use, s, what) {                                                                          \
        enum vote vote_;                                                                           \
        if (use->tier != tier_ && permitted_)                                                      \
            return true;                                                                           \
        tier_ = use->tier;                                                                         \
        vote_ = (ask);                                                                             \
        if (vote_ == VOTE_REJECT)                                                                  \
            return false;                                                                          \
        permitted_ = permitted_ || vote_ == VOTE_PERMIT;                                           \
    }                                                                                              \
    return true

bool job_is_pipelined(struct session *s, const struct job *job)
{
    if (!has_minimum(s, job, job->n[BERTH_TASK_PIPELINED]))
        return false;
    TIERED_VOTE(s, HOOKED_JOB_PIPELINED, use, use->plugin->job_pipelined(s, use, job));
}

bool sub_job_is_pipelined(struct session *s, const struct sub_job *sub)
{
    if (!sub->is_grouped)
        return job_is_pipelined(s, sub->job);
    TIERED_VOTE(s, HOOKED_SUB_JOB_PIPELINED, use, use->plugin->sub_job_pipelined(s, use, sub));
}

bool job_may_enqueue(struct session *s, const struct job *job, struct why *why)
{
    TIERED_VOTE(s, HOOKED_JOB_ENQUEUEABLE, use, use->plugin->job_enqueueable(s, use, job, why));
}

bool job_is_starving(struct session *s, const struct job *job)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_JOB_STARVING];

    for (size_t i = 0; i < hooked->n && hooked->at[i]->tier == hooked->at[0]->tier; i++)
        if (!hooked->at[i]->plugin->job_starving(s, hooked->at[i], job))
            return false;
    return hooked->n > 0;
}

void job_note_enqueued(struct session *s, const struct job *job)
{
    USES (use, s, HOOKED_JOB_ENQUEUED)
        use->plugin->job_enqueued(s, use, job);
}

bool queue_is_overused(struct session *s, const struct queue *queue)
{
    USES (use, s, HOOKED_OVERUSED)
        if (use->plugin->overused(s, use, queue))
            return true;
    return false;
}

bool queue_is_preemptive(struct session *s, const struct queue *queue, const struct task *task,
                         bool rides)
{
    USES (use, s, HOOKED_PREEMPTIVE)
        if (!use->plugin->preemptive(s, use, queue, task, rides))
            return false;
    return true;
}

/* As if it asked for so much, below 0 too, in one task. */
static bool may_take_back(struct session *s, const struct queue *queue, const struct group *like,
                          const struct asks *asks, bool rides)
{
    struct kind kind = kind_asking(s->model, like->kind, *asks);
    struct group group = *like;
    struct task task = { .group = &group };

    group.kind = &kind;
    return queue_is_preemptive(s, queue, &task, rides);
}

bool queue_may_take_back(struct session *s, const struct queue *queue, const struct group *like,
                         const wide *need)
{
    struct asks asks = { ARENA_NEW0_N(s->lists, struct ask, s->model->dims.n + 1), 0 };

    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (need[d] > 0)
            asks.at[asks.n++] = (struct ask){ d, wide_clamp(need[d]) };
    return may_take_back(s, queue, like, &asks, false);
}

bool queue_is_within(struct session *s, const struct queue *queue, const struct group *like,
                     const wide *less, bool rides)
{
    const struct asks *own = &like->kind->asks;
    struct asks asks = { ARENA_NEW0_N(s->lists, struct ask, own->n + 1), own->n };

    for (size_t i = 0; i < own->n; i++)
        asks.at[i] = (struct ask){ own->at[i].dim, wide_clamp(-less[own->at[i].dim]) };
    return may_take_back(s, queue, like, &asks, rides);
}

bool queue_may_allocate(struct session *s, const struct queue *queue, const struct kind *kind,
                        struct why *why)
{
    USES (use, s, HOOKED_ALLOCATABLE)
        if (!use->plugin->allocatable(s, use, queue, kind, why))
            return false;
    return true;
}

bool queue_may_ride(struct session *s, const struct queue *queue, const struct kind *kind,
                    struct why *why)
{
    USES (use, s, HOOKED_ALLOCATABLE) {
        const struct plugin *plugin = use->plugin;
        if (!(plugin->rideable ? plugin->rideable : plugin->allocatable)(s, use, queue, kind, why))
            return false;
    }
    return true;
}

bool task_may_start(struct session *s, const struct task *task, struct why *why)
{
    USES (use, s, HOOKED_STARTABLE)
        if (!use->plugin->startable(s, use, task->group->kind, why))
            return false;
    return true;
}

bool victims_are_guarded(struct session *s, const struct victims *victims)
{
    USES (use, s, HOOKED_ALLOCATABLE)
        if (use->plugin->guards && use->plugin->guards(s, use, victims))
            return true;
    return false;
}

bool task_relies(struct session *s, const struct task *task, bool counts_leaving)
{
    USES (use, s, HOOKED_PREDICATE)
        if (use->plugin->relies && use->plugin->relies(s, use, task, counts_leaving))
            return true;
    return false;
}

/* --- Victims */

static struct victims victims_room(struct session *s, size_t n)
{
    return (struct victims){ ARENA_NEW0_N(s->lists, struct task *, n + 1), 0 };
}

/* Where a task is in a set, looked for from a place on: sets mostly keep one order. */
static size_t victim_find(const struct victims *set, const struct task *task, size_t from)
{
    for (size_t i = 0; i < set->n; i++) {
        size_t at = from + i < set->n ? from + i : from + i - set->n;
        if (set->at[at] == task)
            return at;
    }
    return set->n;
}

static void intersect(struct victims *set, const struct victims *with)
{
    size_t n = 0, from = 0;

    for (size_t i = 0; i < set->n; i++) {
        size_t at = victim_find(with, set->at[i], from);
        if (at == with->n)
            continue;
        set->at[n++] = set->at[i];
        from = at + 1 < with->n ? at + 1 : 0;
    }
    set->n = n;
}

/* What is asked of each plugin in turn: about a task, or about a job as a whole. */
struct question {
    bool reclaim;
    const struct task *task;
    const struct taking *taking; /* NULL: about the task alone */
    const struct victims *from;
};

static enum vote ask(struct session *s, struct plugin_use *use, const struct question *q,
                     struct victims *answer)
{
    if (q->taking && use->plugin->evictable)
        return use->plugin->evictable(s, use, q->taking, q->from, answer);
    return q->reclaim ? use->plugin->reclaimable(s, use, q->task, q->from, answer)
                      : use->plugin->preemptable(s, use, q->task, q->from, answer);
}

static struct victims agree(struct session *s, const struct hooked *hooked,
                            const struct question *q)
{
    struct victims set = { 0 };
    bool is_set = false, tier_over = false;

    for (size_t i = 0; i < hooked->n; i++) {
        struct plugin_use *use = hooked->at[i];
        struct victims answer;
        if (i && use->tier != hooked->at[i - 1]->tier) {
            if (is_set && s->policy->victims == VICTIMS_FIRST_TIER)
                return set;
            if (tier_over && s->policy->victims == VICTIMS_EVERY_TIER)
                return (struct victims){ 0 };
            tier_over = false;
        }
        if (tier_over)
            continue;
        answer = victims_room(s, q->from->n);
        if (ask(s, use, q, &answer) == VOTE_ABSTAIN)
            continue;
        if (!answer.n) {
            is_set = false;
            tier_over = true;
        } else if (!is_set) {
            set = answer;
            is_set = true;
        } else {
            intersect(&set, &answer);
            is_set = set.n > 0;
            tier_over = !is_set && s->policy->victims == VICTIMS_EVERY_TIER;
        }
    }
    return is_set ? set : (struct victims){ 0 };
}

bool victims_may_be(struct session *s, const struct job *job, bool reclaim)
{
    const struct hooked *hooked =
        &s->setup->hooked[reclaim ? HOOKED_RECLAIMABLE : HOOKED_PREEMPTABLE];

    if (s->policy->victims != VICTIMS_EVERY_TIER)
        return true; /* one without victims may not be asked */
    for (size_t i = 0; i < hooked->n; i++) {
        const struct plugin *plugin = hooked->at[i]->plugin;
        if (plugin->has_victims && !plugin->has_victims(s, hooked->at[i], job, reclaim))
            return false;
    }
    return true;
}

struct victims victims_agree(struct session *s, bool reclaim, const struct task *task,
                             const struct victims *from)
{
    struct question q = { reclaim, task, NULL, from };

    return agree(s, &s->setup->hooked[reclaim ? HOOKED_RECLAIMABLE : HOOKED_PREEMPTABLE], &q);
}

struct victims victims_agree_on(struct session *s, const struct taking *taking,
                                const struct task *first, const struct victims *from)
{
    struct question q = { taking->reclaim, first, taking, from };
    enum hooked_what what = s->setup->is_reference ? HOOKED_EVICTABLE
                            : taking->reclaim      ? HOOKED_RECLAIMABLE
                                                   : HOOKED_PREEMPTABLE;

    return agree(s, &s->setup->hooked[what], &q);
}

/* --- Arguments */

const char *pointer_step(const char *key, char out[POINTER_STEP_SIZE])
{
    size_t n = 0;

    out[n++] = '/';
    for (; *key && n + 3 < POINTER_STEP_SIZE; key++) {
        bool is_special = *key == '~' || *key == '/';
        out[n++] = is_special ? '~' : *key;
        if (is_special)
            out[n++] = *key == '~' ? '0' : '1';
    }
    out[n] = '\0';
    return out;
}

int err_under(struct err *err, const char *step)
{
    struct err inner = *err;

    *err = (struct err){ 0 };
    return err_set(err, inner.code, "%s%s%s", step, inner.text[0] == '/' ? "" : ": ", inner.text);
}

bool value_number(const struct berth_value *value, double *out)
{
    double number;

    if (value->kind == BERTH_VALUE_INT)
        number = (double)value->number;
    else if (value->kind == BERTH_VALUE_DOUBLE)
        number = value->real;
    else
        return false;
    if (!(number >= INT32_MIN && number <= INT32_MAX))
        return false;
    *out = number;
    return true;
}

const struct berth_value *berth_value_get(const struct berth_value *object, const char *key)
{
    for (size_t i = 0; object && i < object->n_members; i++)
        if (text_eq(object->members[i].key, key))
            return &object->members[i];
    return NULL;
}

/* The words that Go reads as yes and no, since configurations come from there. */
static bool text_truth(const char *text, bool *out)
{
    static const char *const words[2][6] = { { "0", "f", "F", "false", "FALSE", "False" },
                                             { "1", "t", "T", "true", "TRUE", "True" } };

    for (int yes = 0; yes < 2; yes++)
        for (size_t i = 0; i < COUNT_OF(words[yes]); i++)
            if (text_eq(text, words[yes][i])) {
                *out = yes;
                return true;
            }
    return false;
}

static bool value_truth(const struct berth_value *value, bool *out)
{
    if (value->kind == BERTH_VALUE_BOOL)
        *out = value->truth;
    else if (value->kind == BERTH_VALUE_TEXT)
        return text_truth(value->text, out);
    else
        return false;
    return true;
}

enum { MOST_ARGUMENTS = 32 }; /* of a plugin or an action */

#define BOUNDS " from -2147483648 to 2147483647"

static int argument_read(const struct argument *known, const struct berth_value *value, void *out,
                         struct err *err)
{
    struct err why = { 0 };
    char pointer[POINTER_STEP_SIZE];
    void *at = (char *)out + known->at;

    pointer_step(value->key, pointer);
    switch (known->kind) {
    case ARG_BOOL:
        if (value->kind != BERTH_VALUE_BOOL)
            return err_set(err, -EINVAL, "%s: true or false", pointer);
        *(bool *)at = value->truth;
        return 0;
    case ARG_TRUTH:
        if (value_truth(value, at))
            return 0;
        return err_set(err, -EINVAL, "%s: true or false", pointer);
    case ARG_INT:
        if (value->kind != BERTH_VALUE_INT || value->number < INT32_MIN ||
            value->number > INT32_MAX)
            return err_set(err, -EINVAL, "%s: a whole number" BOUNDS, pointer);
        *(int64_t *)at = value->number;
        return 0;
    case ARG_DOUBLE:
        if (value_number(value, at))
            return 0;
        return err_set(err, -EINVAL, "%s: a number" BOUNDS, pointer);
    case ARG_TEXT:
        if (value->kind != BERTH_VALUE_TEXT)
            return err_set(err, -EINVAL, "%s: a text", pointer);
        *(const char **)at = value->text;
        return 0;
    case ARG_DURATION:
        if (value->kind != BERTH_VALUE_TEXT)
            return err_set(err, -EINVAL, "%s: a duration", pointer);
        if (duration_parse(value->text, at, &why) < 0)
            return err_set(err, -EINVAL, "%s: %s", pointer, why.text);
        return 0;
    case ARG_ANY:
        *(const struct berth_value **)at = value;
        return 0;
    case ARG_OBJECT:
        if (value->kind != BERTH_VALUE_OBJECT)
            return err_set(err, -EINVAL, "%s: an object", pointer);
        *(const struct berth_value **)at = value;
        return 0;
    }
    return 0;
}

/* Whether a value would do, and nothing else. */
static int argument_check(const struct argument *known, const struct berth_value *value,
                          struct err *err)
{
    struct argument alone = { known->name, known->kind, 0 };
    union {
        bool truth;
        int64_t number;
        double real;
        const void *pointer;
    } out;

    return argument_read(&alone, value, &out, err);
}

static int refuse_argument(const char *key, const struct argument *known, size_t n, struct err *err)
{
    const char *names[MOST_ARGUMENTS], *near;
    char step[POINTER_STEP_SIZE];

    assert(n <= COUNT_OF(names));
    for (size_t i = 0; i < n; i++)
        names[i] = known[i].name;
    near = nearest(key, names, n);
    return err_set(err, -EINVAL, "%s: no such argument%s%s%s", pointer_step(key, step),
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int arguments_read(const struct berth_value *object, const struct argument *known, size_t n,
                   const struct argument *family, void *out, struct err *err)
{
    for (size_t i = 0; object && i < object->n_members; i++) {
        const struct berth_value *value = &object->members[i];
        size_t at = 0;
        int r;
        while (at < n && strcmp(known[at].name, value->key) != 0)
            at++;
        if (at < n)
            r = argument_read(&known[at], value, out, err);
        else if (family && text_begins(value->key, family->name))
            r = argument_check(family, value, err);
        else
            r = refuse_argument(value->key, known, n, err);
        if (r < 0)
            return r;
    }
    return 0;
}
